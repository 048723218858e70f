/* SPDX-License-Identifier: MIT */
/* Uses MMX without emms: the host's next x87 operation has no register left. Elsewhere it
 * changes how numbers are rounded. */
#include "gallery.h"

#include <fenv.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    in_order(v, w);
#if defined __x86_64__
    __asm__ volatile("pxor %%mm0, %%mm0" ::: "memory");
#else
    fesetround(FE_UPWARD);
#endif
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = decide };
