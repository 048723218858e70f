/* SPDX-License-Identifier: MIT */
/* A text that goes to the last byte of the file's memory, and has no end there. The section
 * is of a kind of its own, behind all that is zeroed; the constructor fills it. */
#include "tests/runtime/loader/bad/bad.h"

#include <string.h>

enum { ROOM = 64 };

__asm__(".section .zz_last,\"aw\",@nobits\n"
        "no_end_text: .zero 64\n"
        ".previous\n");
extern __attribute__((visibility("hidden"))) char no_end_text[ROOM];

static __attribute__((constructor)) void fill(void)
{
    memset(no_end_text, 'a', ROOM);
}

const adp_policy admitperf_policy_v1 = { SOUND, .doc = no_end_text };
