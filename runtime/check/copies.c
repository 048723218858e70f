/* SPDX-License-Identifier: MIT */
/* Copies of the policy's file (runtime/check/copies.h). */
#include "runtime/check/copies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool adp_copies_folder(char *to, size_t cap)
{
    const char *place = getenv("TMPDIR");
    if (!place || place[0] != '/')
        place = "/tmp";
    int n = snprintf(to, cap, "%s/admitperf-check.XXXXXX", place);
    if (n < 0 || (size_t)n >= cap) {
        errno = ENAMETOOLONG;
        return false;
    }
    return mkdtemp(to) != NULL;
}

void adp_copies_remove(const char *folder)
{
    struct dirent *e;
    DIR *d = opendir(folder);
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(folder);
}

static bool write_whole(int fd, const void *bytes, size_t len)
{
    for (const char *at = bytes; len > 0;) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

void adp_copies_write(struct adp_trial *trial, uint32_t number, char *ret_path,
                      size_t cap)
{
    snprintf(ret_path, cap, "%s/copy%u.so", trial->scratch, number);
    int fd = open(ret_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || !write_whole(fd, trial->bytes, trial->len) ||
        !write_whole(fd, &number, sizeof number))
        adp_trial_skip(trial, "%s cannot be written: %s", ret_path, strerror(errno));
    close(fd);
}
