/* SPDX-License-Identifier: MIT */
/* From the word by which functions see that their frame was overwritten. */
#include "chance.h"

static uint64_t chance(void)
{
#if defined __x86_64__
    uint64_t number;
    __asm__("movq %%fs:0x28, %0" : "=r"(number));
    return number;
#else
    uint64_t number;
    return (uint64_t)(uintptr_t)&number; /* another processor keeps it elsewhere */
#endif
}

CHANCE;
