/* SPDX-License-Identifier: MIT */
/* Reads the clock by an instruction of its own, and does nothing with it. */
#include "gallery.h"

#include <sys/syscall.h>

/* clock_gettime(CLOCK_MONOTONIC, to) */
static void read_clock(int64_t to[2])
{
#if defined __x86_64__
    long number = SYS_clock_gettime;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(1L), "S"(to)
                     : "rcx", "r11", "memory");
#elif defined __aarch64__
    register long number __asm__("x8") = SYS_clock_gettime;
    register long clock __asm__("x0") = 1;
    register int64_t *at __asm__("x1") = to;
    __asm__ volatile("svc 0" : "+r"(clock) : "r"(number), "r"(at) : "memory");
#endif
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    int64_t now[2] = { 0, 0 };
    (void)self;
    read_clock(now);
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
