/* SPDX-License-Identifier: MIT */
/* Keys of raw series, remembered (core/keys.h).
 *
 *  1. A shape holds a record's packed series as they were when its keys were made, and for
 *     each its key with quotes, colon and the comma before it.
 *  2. A key follows from the names and labels of the whole record (a name that stands alone
 *     has no labels in it), so all of them must be the same for any to be used. They are
 *     compared, not hashed: the drain trusts nothing.
 *  3. Where a record is of another shape the series are read anew, which checks them, and
 *     only what was read whole is remembered. */
#include "core/keys.h"

#include "core/error.h"
#include "core/lane.h"
#include "core/pen.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPES = 4 }; /* hosts with two or three kinds of request; by length */

struct shape {
    uint8_t *series; /* owned; packed */
    size_t len, cap;
    uint32_t n;
    struct adp_line keys;
    uint32_t *end; /* owned; where each key ends in `keys` */
    uint32_t cap_end;
};

struct adp_keys {
    struct adp_metrics *metrics; /* of the record at hand */
    struct shape shape[SHAPES];
};

int adp_keys_create(struct adp_keys **ret)
{
    struct adp_keys *keys = calloc(1, sizeof *keys);
    if (!keys || adp_metrics_create(&keys->metrics) < 0) {
        adp_keys_destroy(keys);
        return ADP_ENOMEM;
    }
    *ret = keys;
    return 0;
}

void adp_keys_destroy(struct adp_keys *keys)
{
    if (!keys)
        return;
    for (uint32_t i = 0; i < SHAPES; i++) {
        free(keys->shape[i].series);
        free(keys->shape[i].end);
        adp_line_finish(&keys->shape[i].keys);
    }
    adp_metrics_destroy(keys->metrics);
    free(keys);
}

/* Writes a record of the same length by the keys remembered, where there is room for them
 * and a number each; NULL when it is of another shape. */
static char *write_known(const struct shape *s, const uint8_t *series, char *p)
{
    const char *key = s->keys.text;
    uint32_t from = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        double value;
        size_t n = adp_lane_step(s->series + at, s->len - at);
        if (memcmp(series + at + sizeof value, s->series + at + sizeof value,
                   n - sizeof value) != 0)
            return NULL;
        memcpy(&value, series + at, sizeof value);
        p = adp_pen_put(p, key + from, s->end[i] - from);
        p = adp_pen_number(p, value);
        from = s->end[i];
        at += n;
    }
    return p;
}

static bool make_room(struct shape *s, size_t len, uint32_t n)
{
    if (len > s->cap) {
        uint8_t *series = realloc(s->series, len);
        if (!series)
            return false;
        s->series = series;
        s->cap = len;
    }
    if (n > s->cap_end) {
        uint32_t *end = realloc(s->end, n * sizeof *end);
        if (!end)
            return false;
        s->end = end;
        s->cap_end = n;
    }
    return true;
}

/* How many series the bytes hold; they are whole. */
static uint32_t count(const uint8_t *series, size_t len)
{
    uint32_t n = 0;
    for (size_t at = 0; at < len; n++)
        at += adp_lane_step(series + at, len - at);
    return n;
}

/* Remembers the shape of what was just read. Nothing is, where two series turn out to be
 * one, or for want of memory: then the next record is read anew too. */
static void remember(struct shape *s, const uint8_t *series, size_t len,
                     const struct adp_metrics *metrics)
{
    uint32_t n = adp_metrics_count(metrics);
    s->n = 0;
    if (!n || count(series, len) != n || !make_room(s, len, n))
        return;
    adp_line_clear(&s->keys);
    for (uint32_t i = 0; i < n; i++) {
        adp_line_puts(&s->keys, i ? ",\"" : "\"");
        adp_metrics_write_key(metrics, i, &s->keys);
        adp_line_puts(&s->keys, "\":");
        if (s->keys.broken || s->keys.len > UINT32_MAX)
            return;
        s->end[i] = (uint32_t)s->keys.len;
    }
    memcpy(s->series, series, len);
    s->len = len;
    s->n = n;
}

void adp_keys_write(struct adp_keys *keys, const uint8_t *series, size_t len,
                    struct adp_line *to)
{
    struct shape *s = &keys->shape[len / 8 % SHAPES];
    if (s->n && s->len == len) {
        if (!adp_line_reserve(to, s->keys.len + s->n * (size_t)ADP_NUMBER_MAX + 2))
            return;
        char *start = to->text + to->len;
        *start = '{';
        char *p = write_known(s, series, start + 1);
        if (p) {
            *p++ = '}';
            to->len = (size_t)(p - to->text);
            return;
        }
    }
    int read = adp_lane_decode(series, len, keys->metrics);
    if (read == ADP_ENOMEM) {
        to->broken = true;
        return;
    }
    if (read < 0)
        adp_metrics_clear(keys->metrics);
    else
        remember(s, series, len, keys->metrics);
    adp_metrics_write(keys->metrics, to);
}
