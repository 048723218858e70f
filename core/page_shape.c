/* SPDX-License-Identifier: MIT */
/* Shapes: keeping the text (core/page_shape.h). Growing is by doubling, so that pages of one
 * size are soon kept without allocating. */
#include "core/page_shape.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TEXT = 64 << 10, FIRST_GAPS = 512 };

void adp_page_shape_clear(struct adp_page_shape *shape)
{
    shape->len = 0;
    shape->n_values = 0;
    shape->n_gaps = 0;
    shape->whole = false;
}

void adp_page_shape_finish(struct adp_page_shape *shape)
{
    free(shape->text);
    free(shape->gaps);
    *shape = (struct adp_page_shape) { 0 };
}

static bool reserve_text(struct adp_page_shape *shape, size_t more)
{
    size_t cap = shape->cap ? shape->cap : FIRST_TEXT;
    if (more > ADP_PAGE_SHAPE_MAX_TEXT - shape->len)
        return false;
    while (cap - shape->len < more)
        cap *= 2;
    if (cap == shape->cap)
        return true;
    char *text = realloc(shape->text, cap);
    if (!text)
        return false;
    shape->text = text;
    shape->cap = cap;
    return true;
}

static bool reserve_gap(struct adp_page_shape *shape)
{
    if (shape->n_gaps < shape->cap_gaps)
        return true;
    uint32_t cap = shape->cap_gaps ? 2 * shape->cap_gaps : FIRST_GAPS;
    uint32_t *gaps = realloc(shape->gaps, cap * sizeof *gaps);
    if (!gaps)
        return false;
    shape->gaps = gaps;
    shape->cap_gaps = cap;
    return true;
}

bool adp_page_shape_add(struct adp_page_shape *shape, const char *text, size_t len)
{
    if (!reserve_text(shape, len) || !reserve_gap(shape))
        return false;
    memcpy(shape->text + shape->len, text, len);
    shape->len += len;
    shape->gaps[shape->n_gaps++] = (uint32_t)len;
    return true;
}
