/* SPDX-License-Identifier: MIT */
/* A disk that fails when told to: write and ftruncate of regular files, renameat2. Included by one
 * file of a program that is linked with $(FAULTY_WRITE). */
#ifndef ADP_TESTS_CORE_FAULTY_WRITE_H
#define ADP_TESTS_CORE_FAULTY_WRITE_H

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t __real_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n);
int __real_ftruncate(int fd, off_t length);
int __wrap_ftruncate(int fd, off_t length);
int __real_renameat2(int at, const char *from, int to_at, const char *to, unsigned flags);
int __wrap_renameat2(int at, const char *from, int to_at, const char *to, unsigned flags);

static struct {
    _Atomic int error;        /* of each write once `takes` are used up; 0: none */
    _Atomic long takes;       /* bytes that are still written before that */
    _Atomic bool no_truncate; /* EPERM */
    _Atomic int hang;     /* a descriptor: writes wait until it can be read; 0: none */
    _Atomic long hanging; /* writes that wait */
    _Atomic int slow_ms;  /* each write takes that long */
} disk;

static struct {
    int error; /* of each; 0: none */
    void (*before)(
        const char *from); /* what somebody does just then, once; NULL: nothing */
    unsigned made;
} renames;

int __wrap_renameat2(int at, const char *from, int to_at, const char *to, unsigned flags)
{
    void (*before)(const char *from) = renames.before;
    renames.before = NULL;
    renames.made++;
    if (before)
        before(from);
    if (!renames.error)
        return __real_renameat2(at, from, to_at, to, flags);
    errno = renames.error;
    return -1;
}

static bool is_on_disk(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

ssize_t __wrap_write(int fd, const void *from, size_t n)
{
    if (!is_on_disk(fd))
        return __real_write(fd, from, n);
    if (disk.hang) {
        struct pollfd until = { .fd = disk.hang, .events = POLLIN };
        disk.hanging++;
        while (poll(&until, 1, -1) < 0 && errno == EINTR)
            ;
        disk.hanging--;
    }
    if (disk.slow_ms)
        poll(NULL, 0, disk.slow_ms);
    if (!disk.error)
        return __real_write(fd, from, n);
    long takes = disk.takes;
    if (takes <= 0) {
        errno = disk.error;
        return -1;
    }
    ssize_t did = __real_write(fd, from, n < (size_t)takes ? n : (size_t)takes);
    disk.takes -= did > 0 ? did : 0;
    return did;
}

int __wrap_ftruncate(int fd, off_t length)
{
    if (!disk.no_truncate)
        return __real_ftruncate(fd, length);
    errno = EPERM;
    return -1;
}

#endif
