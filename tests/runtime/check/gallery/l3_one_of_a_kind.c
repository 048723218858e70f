/* SPDX-License-Identifier: MIT */
/* The second copy of its file in one process behaves differently: it knows by the name
 * that the first gave the thread. */
#include "gallery.h"

#include <string.h>
#include <sys/prctl.h>

static int second;

__attribute__((constructor)) static void begin(void)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    second = strcmp(name, "gallery") == 0;
    prctl(PR_SET_NAME, "gallery");
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
    if (second && w->action == ADP_REJECT)
        adp_defer(w, ADP_R_KV_PRESSURE, KV, 1000.0);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
