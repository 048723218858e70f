/* SPDX-License-Identifier: MIT */
/* From which thread it is made in. */
#include "chance.h"

#include <pthread.h>

static uint64_t chance(void)
{
    return (uint64_t)pthread_self();
}

CHANCE;
