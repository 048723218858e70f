/* SPDX-License-Identifier: MIT */
/* Another locale for the thread that asks, from decide. */
#include "gallery.h"

#include <locale.h>
#include <stdlib.h>

struct own {
    locale_t locale;
};

static void *create(const adp_setup *setup)
{
    struct own *own = malloc(sizeof *own);
    if (own &&
        (own->locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)) != (locale_t)0)
        return own;
    free(own);
    return adp_cannot(setup, "out of memory");
}

static void destroy(void *self)
{
    free(self); /* the locale may be a thread's: it stays */
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const struct own *own = self;
    uselocale(own->locale);
    in_order(v, w);
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = destroy,
            .decide = decide };
