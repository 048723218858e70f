/* SPDX-License-Identifier: MIT */
/* Denormal numbers are 0 from now on, as -Ofast would have it. */
#include "gallery.h"

__attribute__((constructor)) static void begin(void)
{
#if defined __x86_64__
    uint32_t mode;
    __asm__ volatile("stmxcsr %0" : "=m"(mode));
    mode |= 0x8040;
    __asm__ volatile("ldmxcsr %0" : : "m"(mode));
#elif defined __aarch64__
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    mode |= UINT64_C(1) << 24;
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#endif
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
