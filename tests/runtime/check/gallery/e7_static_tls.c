/* SPDX-License-Identifier: MIT */
/* A thread-local variable of the kind that a process has room for at its start. */
#include "gallery.h"

static __thread __attribute__((tls_model("initial-exec"))) volatile int calls;

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    calls++;
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
