/* SPDX-License-Identifier: MIT */
/* Shapes of pages: keeping the text (core/page_shape.h). Growing is by doubling, so that
 * pages of one size are soon kept without allocating. */
#include "core/page_shape.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TEXT = 64 << 10, FIRST_VALUES = 512 };

void adp_page_shape_clear(struct adp_page_shape *shape)
{
    shape->len = 0;
    shape->n_values = 0;
    shape->tail = 0;
    shape->whole = false;
}

void adp_page_shape_finish(struct adp_page_shape *shape)
{
    free(shape->text);
    free(shape->values);
    *shape = (struct adp_page_shape) { 0 };
}

bool adp_page_shape_add(struct adp_page_shape *shape, struct adp_page_value value)
{
    if (shape->n_values == shape->cap_values) {
        uint32_t cap = shape->cap_values ? 2 * shape->cap_values : FIRST_VALUES;
        struct adp_page_value *values = realloc(shape->values, cap * sizeof *values);
        if (!values)
            return false;
        shape->values = values;
        shape->cap_values = cap;
    }
    shape->values[shape->n_values++] = value;
    return true;
}

bool adp_page_shape_end(struct adp_page_shape *shape, const char *page, size_t len,
                        size_t tail)
{
    if (len > ADP_PAGE_SHAPE_MAX_TEXT)
        return false;
    if (len > shape->cap) {
        size_t cap = shape->cap ? shape->cap : FIRST_TEXT;
        while (cap < len)
            cap *= 2;
        char *text = malloc(cap);
        if (!text)
            return false;
        free(shape->text);
        shape->text = text;
        shape->cap = cap;
    }
    memcpy(shape->text, page, len);
    shape->len = len;
    shape->tail = (uint32_t)tail;
    return true;
}
