/* SPDX-License-Identifier: MIT */
/* The second copy of its file in one process behaves differently: it knows by a word that the
 * first left in a variable of libc's, which nobody looks at. */
#include "gallery.h"

#include <unistd.h>

enum { WORD = 4711 };

static int second;

__attribute__((constructor)) static void begin(void)
{
    second = optopt == WORD;
    optopt = WORD;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (second && w->action == ADP_REJECT)
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 1000.0);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
