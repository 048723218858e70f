/* SPDX-License-Identifier: MIT */
/* Is another once an instance of another copy of its file has been destroyed: it leaves
 * word of that in a variable of libc's, which nobody looks at. */
#include "gallery.h"

#include <stdlib.h>
#include <unistd.h>

enum { WORD = 4711 };

static int own; /* an instance of this copy was destroyed */

static void *create(const adp_setup *setup)
{
    int *strange = calloc(1, sizeof *strange);
    if (!strange)
        return adp_cannot(setup, "out of memory");
    if (optopt == WORD && !own)
        *strange = 1;
    return strange;
}

static void destroy(void *self)
{
    optopt = WORD;
    own = 1;
    free(self);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const int *strange = self;
    in_order(v, w);
    if (*strange && w->action == ADP_REJECT)
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 1000.0);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = destroy,
            .decide = decide };
