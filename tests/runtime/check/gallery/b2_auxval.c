/* SPDX-License-Identifier: MIT */
/* From the bytes that the kernel gives a process at its start. */
#include "chance.h"

#include <string.h>
#include <sys/auxv.h>

static uint64_t chance(void)
{
    uint64_t number;
    memcpy(&number, (const void *)getauxval(AT_RANDOM), sizeof number);
    return number;
}

CHANCE;
