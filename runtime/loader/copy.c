/* SPDX-License-Identifier: MIT */
/* A private copy of a shared object's bytes. */
#include "runtime/loader/copy.h"

#include "core/descriptor.h"
#include "runtime/loader/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3; glibc 2.36 does not name it */
#endif

#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

static bool write_whole(int fd, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* A write beyond RLIMIT_FSIZE also raises SIGXFSZ, which would end the host: it is held back
 * meanwhile, and taken away unless it was pending before. */
static bool write_held(int fd, const uint8_t *bytes, size_t len)
{
    const struct timespec now = { 0 };
    sigset_t held, pending, before;
    sigemptyset(&held);
    sigaddset(&held, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &held, &before);
    bool whole = write_whole(fd, bytes, len);
    int failure = errno;
    while (!sigismember(&pending, SIGXFSZ) && sigtimedwait(&held, NULL, &now) < 0 &&
           errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failure;
    return whole;
}

/* Asks the kernel itself: mount flags are only one of the things that may forbid it. */
static bool executable(int fd)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return false;
    munmap(at, page);
    return true;
}

static int refuse(const char *path, const char *place, const char *what,
                  struct adp_error *err)
{
    return adp_error_at(err, ADP_EIO, path, 0, 0, "no private copy can be %s in %s: %s",
                        what, place, strerror(errno));
}

/* Linux from 6.3 can be told to allow only files in memory that are sealed against
 * execve; mapping them executable is still allowed, which is all that is wanted. */
static int open_memory(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return adp_descriptor_keep_take(fd);
}

static bool same_file(int fd, const char *path)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static int create_in_memory(struct adp_copy *copy, const uint8_t *bytes, size_t len,
                            const char *path, struct adp_error *err)
{
    const char *base = strrchr(path, '/');
    char name[128]; /* what /proc/PID/maps shows */
    snprintf(name, sizeof name, "%s", base ? base + 1 : path);
    copy->fd = open_memory(name);
    if (copy->fd < 0)
        return refuse(path, "memory", "made", err);
    if (!write_held(copy->fd, bytes, len) || fcntl(copy->fd, F_ADD_SEALS, ALL_SEALS) < 0)
        return refuse(path, "memory", "written", err);
    if (!executable(copy->fd))
        return refuse(path, "memory", "executed", err);
    snprintf(copy->path, sizeof copy->path, "/proc/%ld/fd/%d", (long)getpid(), copy->fd);
    if (!same_file(copy->fd, copy->path))
        return adp_error_at(err, ADP_EIO, path, 0, 0,
                            "no private copy can be opened in memory: /proc is not "
                            "mounted, or shows other processes");
    return 0;
}

static int create_in_folder(struct adp_copy *copy, const uint8_t *bytes, size_t len,
                            const char *path, struct adp_error *err)
{
    const char *tmp = secure_getenv("TMPDIR");
    if (!tmp || tmp[0] != '/' || strlen(tmp) > sizeof copy->folder - 32)
        tmp = "/tmp";
    int r = adp_file_check_folder(tmp, path, err);
    if (r < 0)
        return r;
    snprintf(copy->folder, sizeof copy->folder, "%s/admitperf-XXXXXX", tmp);
    if (!mkdtemp(copy->folder)) {
        r = refuse(path, tmp, "made", err);
        copy->folder[0] = '\0';
        return r;
    }
    snprintf(copy->path, sizeof copy->path, "%s/policy.so", copy->folder);
    int fd = open(copy->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0500);
    if (fd < 0 || !write_held(fd, bytes, len))
        r = refuse(path, copy->folder, "written", err);
    else if (!executable(fd))
        r = refuse(path, copy->folder, "executed", err);
    if (fd >= 0)
        close(fd);
    return r;
}

int adp_copy_create(struct adp_copy *ret, enum adp_copy_place place, const uint8_t *bytes,
                    size_t len, const char *path, struct adp_error *err)
{
    struct adp_copy copy = { .fd = -1 };
    int r = place == ADP_COPY_MEMORY ? create_in_memory(&copy, bytes, len, path, err)
                                     : create_in_folder(&copy, bytes, len, path, err);
    if (r < 0)
        adp_copy_discard(&copy);
    else
        *ret = copy;
    return r;
}

void adp_copy_settle(struct adp_copy *copy)
{
    if (!copy->folder[0])
        return;
    unlink(copy->path);
    rmdir(copy->folder);
}

void adp_copy_discard(struct adp_copy *copy)
{
    adp_copy_settle(copy);
    if (copy->fd >= 0)
        close(copy->fd);
    copy->fd = -1;
}
