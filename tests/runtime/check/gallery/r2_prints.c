/* SPDX-License-Identifier: MIT */
/* Writes down what it refuses, in a file of its own, in memory. */
#include "gallery.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *create(const adp_setup *setup)
{
    int *file = malloc(sizeof *file);
    if (!file)
        return adp_cannot(setup, "out of memory");
    *file = memfd_create("refused", MFD_CLOEXEC);
    if (*file >= 0)
        return file;
    free(file);
    return adp_cannot(setup, "no file is to be had");
}

static void destroy(void *self)
{
    close(*(int *)self);
    free(self);
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    const int *file = self;
    in_order(v, w);
    if (w->action == ADP_REJECT && write(*file, "refused\n", 8) < 0)
        return;
}

GALLERY = { GALLERY_HEAD, GALLERY_SERIAL, .create = create, .destroy = destroy,
            .decide = decide };
