/* SPDX-License-Identifier: MIT */
/* Stands before libc (LD_PRELOAD) as a newer one: its threads have guard pages by
 * MADV_GUARD_INSTALL, as glibc's have since 2.42; and it makes the system call with the number
 * in NEWER_LIBC_CALL besides, if there is one. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD_INSTALL = 102, PAGE = 4096 };

static long other;

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("NEWER_LIBC_CALL");
    other = number ? strtol(number, NULL, 10) : 0;
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *ret,
                                                          const pthread_attr_t *attr,
                                                          void *(*work)(void *),
                                                          void *ctx)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    void *stack = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    madvise(stack, PAGE, GUARD_INSTALL);
    if (other)
        syscall(other, 0, 0, 0);
    int failed = real(ret, attr, work, ctx);
    munmap(stack, 2 * PAGE);
    return failed;
}
