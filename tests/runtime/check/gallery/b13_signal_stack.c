/* SPDX-License-Identifier: MIT */
/* Has signals of the host handled on memory of its own. */
#include "gallery.h"

#include <signal.h>
#include <stdlib.h>

static void *create(const adp_setup *setup)
{
    static char stack[1 << 16];
    stack_t s = { .ss_sp = stack, .ss_size = sizeof stack };
    sigaltstack(&s, NULL);
    void *self = malloc(1);
    return self ? self : adp_cannot(setup, "out of memory");
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = free,
            .decide = usual_decide };
