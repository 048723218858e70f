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

static bool add_text(struct adp_page_shape *shape, const char *text, size_t len)
{
    if (len > ADP_PAGE_SHAPE_MAX_TEXT - shape->len)
        return false;
    if (shape->cap - shape->len < len) {
        size_t cap = shape->cap ? shape->cap : FIRST_TEXT;
        while (cap - shape->len < len)
            cap *= 2;
        char *grown = realloc(shape->text, cap);
        if (!grown)
            return false;
        shape->text = grown;
        shape->cap = cap;
    }
    memcpy(shape->text + shape->len, text, len);
    shape->len += len;
    return true;
}

static bool reserve_value(struct adp_page_shape *shape)
{
    if (shape->n_values < shape->cap_values)
        return true;
    uint32_t cap = shape->cap_values ? 2 * shape->cap_values : FIRST_VALUES;
    struct adp_page_value *values = realloc(shape->values, cap * sizeof *values);
    if (!values)
        return false;
    shape->values = values;
    shape->cap_values = cap;
    return true;
}

void adp_page_value_set(struct adp_page_value *value, const char *text, size_t len)
{
    value->len = len <= ADP_PAGE_VALUE_MAX ? (uint8_t)len : 0;
    memcpy(value->text, text, value->len);
}

bool adp_page_shape_add(struct adp_page_shape *shape, const char *gap, size_t len,
                        const char *value, size_t value_len)
{
    if (!reserve_value(shape) || !add_text(shape, gap, len))
        return false;
    struct adp_page_value *v = &shape->values[shape->n_values++];
    v->gap = (uint32_t)len;
    adp_page_value_set(v, value, value_len);
    return true;
}

bool adp_page_shape_end(struct adp_page_shape *shape, const char *tail, size_t len)
{
    if (!add_text(shape, tail, len))
        return false;
    shape->tail = (uint32_t)len;
    return true;
}
