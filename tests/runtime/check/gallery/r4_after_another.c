/* SPDX-License-Identifier: MIT */
/* Is another once an instance of another copy of its file has been destroyed: it leaves
 * word of that in the thread's name. */
#include "gallery.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static int own; /* an instance of this copy was destroyed */

static void *create(const adp_setup *setup)
{
    int *strange = calloc(1, sizeof *strange);
    char name[16] = "";
    if (!strange)
        return adp_cannot(setup, "out of memory");
    prctl(PR_GET_NAME, name);
    if (strange && strcmp(name, "gone") == 0 && !own)
        *strange = 1;
    return strange;
}

static void destroy(void *self)
{
    prctl(PR_SET_NAME, "gone");
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
