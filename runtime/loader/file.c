/* SPDX-License-Identifier: MIT */
/* Reading the operator's file. */
#include "runtime/loader/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <nettle/sha2.h>
#include <nettle/version.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *type_word(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISCHR(mode)  ? "a character device"
           : S_ISBLK(mode)  ? "a block device"
           : S_ISSOCK(mode) ? "a socket"
                            : "no regular file";
}

static int refuse_open(const char *path, int error, struct adp_error *err)
{
    struct stat st;
    if (error == ENOENT)
        return adp_error_at(err, ADP_ENOENT, path, 0, 0, "there is no such file");
    if (error == ENXIO && stat(path, &st) == 0) /* a socket does not open */
        return adp_error_at(err, ADP_EABI, path, 0, 0, "is %s, expected a shared object",
                            type_word(st.st_mode));
    return adp_error_at(err, ADP_EIO, path, 0, 0, "cannot be opened: %s",
                        strerror(error));
}

int adp_file_check_folder(const char *folder, const char *path, struct adp_error *err)
{
    struct stat st;
    if (stat(folder, &st) < 0)
        return adp_error_at(err, errno == ENOENT ? ADP_ENOENT : ADP_EIO, path, 0, 0,
                            "its folder %s cannot be seen: %s", folder, strerror(errno));
    if (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "lies in %s, which everybody may write to (mode %04o), "
                            "expected a folder of its owner's",
                            folder, (unsigned)(st.st_mode & 07777));
    return 0;
}

/* Holds the folder of `place`, the path of `path` or of what it links to, against the
 * rule. */
static int check_parent(const char *place, const char *path, struct adp_error *err)
{
    char folder[PATH_MAX];
    size_t n = (size_t)(strrchr(place, '/') - place);
    if (n >= sizeof folder)
        return adp_error_at(err, ADP_EINVAL, path, 0, 0, "the path is too long");
    memcpy(folder, place, n);
    folder[n] = '\0';
    return adp_file_check_folder(n ? folder : "/", path, err);
}

static int check_place(const char *path, struct adp_error *err)
{
    char real[PATH_MAX];
    int r = check_parent(path, path, err);
    if (r < 0)
        return r;
    if (!realpath(path, real))
        return refuse_open(path, errno, err);
    return check_parent(real, path, err);
}

static int check_file(const struct stat *st, size_t most, const char *path,
                      struct adp_error *err)
{
    if (!S_ISREG(st->st_mode))
        return adp_error_at(err, ADP_EABI, path, 0, 0, "is %s, expected a shared object",
                            type_word(st->st_mode));
    if (st->st_mode & S_IWOTH)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "is writable by everybody (mode %04o), expected %04o or less",
                            (unsigned)(st->st_mode & 07777), 0775u);
    if ((uint64_t)st->st_size > most)
        return adp_error_at(err, ADP_EFULL, path, 0, 0,
                            "has %lld bytes, expected at most %zu",
                            (long long)st->st_size, most);
    return 0;
}

/* Reads until the end; a file that is not as long as `size` any more is being written. */
static int read_whole(int fd, uint8_t *bytes, size_t size, const char *path,
                      struct adp_error *err)
{
    size_t len = 0;
    for (;;) {
        ssize_t n = read(fd, bytes + len, size + 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return adp_error_at(err, ADP_EIO, path, 0, 0, "cannot be read: %s",
                                strerror(errno));
        if (n == 0)
            break;
        len += (size_t)n;
        if (len > size)
            break;
    }
    if (len != size)
        return adp_error_at(err, ADP_EIO, path, 0, 0,
                            "changed while it was read: it had %zu bytes", size);
    return 0;
}

static void hash(const uint8_t *bytes, size_t len, char ret[65])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    sha256_update(&ctx, len, bytes);
#if NETTLE_VERSION_MAJOR >= 4 /* which dropped the length */
    sha256_digest(&ctx, digest);
#else
    sha256_digest(&ctx, sizeof digest, digest);
#endif
    for (size_t i = 0; i < sizeof digest; i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[2 * sizeof digest] = '\0';
}

int adp_file_read(struct adp_file *ret, const char *path, size_t most,
                  struct adp_error *err)
{
    if (path[0] != '/')
        return adp_error_at(err, ADP_EINVAL, path, 0, 0,
                            "the path is relative, expected an absolute one");
    int r = check_place(path, err);
    if (r < 0)
        return r;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return refuse_open(path, errno, err);

    uint8_t *bytes = NULL;
    struct stat st;
    if (fstat(fd, &st) < 0) {
        r = adp_error_at(err, ADP_EIO, path, 0, 0, "cannot be examined: %s",
                         strerror(errno));
        goto out;
    }
    if ((r = check_file(&st, most, path, err)) < 0)
        goto out;
    size_t size = (size_t)st.st_size;
    bytes = malloc(size + 1); /* one more, to see whether it grows */
    if (!bytes) {
        r = adp_error_at(err, ADP_ENOMEM, path, 0, 0, "out of memory");
        goto out;
    }
    if ((r = read_whole(fd, bytes, size, path, err)) < 0)
        goto out;
    ret->bytes = bytes;
    ret->len = size;
    hash(bytes, size, ret->sha256);
    bytes = NULL;
out:
    free(bytes);
    close(fd);
    return r;
}

void adp_file_finish(struct adp_file *file)
{
    free(file->bytes);
    *file = (struct adp_file) { 0 };
}
