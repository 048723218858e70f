/* SPDX-License-Identifier: MIT */
/* Keys of raw series, remembered (core/keys.h).
 *
 *  1. A shape holds a record's packed series as they were when its keys were made, and for
 *     each its key with quotes, colon and the comma before it.
 *  2. A key follows from the names and labels of the whole record (a name that stands alone
 *     has no labels in it), so all of them must be the same for any to be used. They are
 *     compared, not hashed: the drain trusts nothing.
 *  3. Where a record is of another shape the series are read anew, which checks them, and
 *     only what was read whole is remembered.
 *  4. What a lane told is its own, and lasts until it tells another shape in its place:
 *     records come in order, so one that names a shape comes behind the one that told it. */
#include "core/keys.h"

#include "core/error.h"
#include "core/lane.h"
#include "core/pen.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHAPES = 4, /* hosts with two or three kinds of request; by length */
    TOLD = 2    /* of each lane */
};

/* Keys, one behind the other. Some bytes behind the last may be read. */
struct list {
    struct adp_line text;
    uint32_t *end; /* owned; where each key ends in `text` */
    uint32_t n, cap;
};

struct shape {
    uint8_t *series; /* owned; packed */
    size_t len, cap;
    struct list keys; /* n 0: nothing is remembered */
};

struct told {
    uint32_t shape; /* 0: none yet */
    struct list keys;
};

struct adp_keys {
    struct adp_metrics *metrics; /* of the record at hand */
    struct shape shape[SHAPES];
    struct told told[ADP_MAX_LANES + 1][TOLD];
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

static void list_finish(struct list *keys)
{
    adp_line_finish(&keys->text);
    free(keys->end);
}

/* The room that n keys of a list and their numbers take in a line, with brackets. */
static size_t list_room(const struct list *keys)
{
    return keys->text.len + keys->n * (size_t)ADP_NUMBER_MAX + ADP_PEN_SLACK + 2;
}

/* Makes a list of all keys; its n is 0 when memory is out. */
static bool list_make(struct list *keys, const struct adp_metrics *metrics)
{
    uint32_t n = adp_metrics_count(metrics);
    keys->n = 0;
    if (n > keys->cap) {
        uint32_t *end = realloc(keys->end, n * sizeof *end);
        if (!end)
            return false;
        keys->end = end;
        keys->cap = n;
    }
    adp_line_clear(&keys->text);
    for (uint32_t i = 0; i < n; i++) {
        adp_line_puts(&keys->text, i ? ",\"" : "\"");
        adp_metrics_write_key(metrics, i, &keys->text);
        adp_line_puts(&keys->text, "\":");
        keys->end[i] = (uint32_t)keys->text.len;
    }
    if (!adp_line_reserve(&keys->text, ADP_PEN_SLACK) || keys->text.len > UINT32_MAX)
        return false;
    memset(keys->text.text + keys->text.len, 0, ADP_PEN_SLACK);
    keys->n = n;
    return true;
}

void adp_keys_destroy(struct adp_keys *keys)
{
    if (!keys)
        return;
    for (uint32_t i = 0; i < SHAPES; i++) {
        free(keys->shape[i].series);
        list_finish(&keys->shape[i].keys);
    }
    for (uint32_t i = 0; i < (ADP_MAX_LANES + 1) * TOLD; i++)
        list_finish(&keys->told[i / TOLD][i % TOLD].keys);
    adp_metrics_destroy(keys->metrics);
    free(keys);
}

/* Writes a record of the same length by the keys remembered, where there is room for them
 * and a number each; NULL when it is of another shape. */
static char *write_known(const struct shape *s, const uint8_t *series, char *p)
{
    const char *key = s->keys.text.text;
    uint32_t from = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < s->keys.n; i++) {
        double value;
        size_t n = adp_lane_step(s->series + at, s->len - at);
        if (memcmp(series + at + sizeof value, s->series + at + sizeof value,
                   n - sizeof value) != 0)
            return NULL;
        memcpy(&value, series + at, sizeof value);
        p = adp_pen_slack(p, key + from, s->keys.end[i] - from);
        p = adp_pen_number(p, value);
        from = s->keys.end[i];
        at += n;
    }
    return p;
}

uint32_t adp_keys_count(const uint8_t *series, size_t len)
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
    s->keys.n = 0;
    if (!n || adp_keys_count(series, len) != n)
        return;
    if (len > s->cap) {
        uint8_t *more = realloc(s->series, len);
        if (!more)
            return;
        s->series = more;
        s->cap = len;
    }
    memcpy(s->series, series, len);
    s->len = len;
    list_make(&s->keys, metrics);
}

void adp_keys_write(struct adp_keys *keys, const uint8_t *series, size_t len,
                    struct adp_line *to)
{
    struct shape *s = &keys->shape[len / 8 % SHAPES];
    if (s->keys.n && s->len == len) {
        if (!adp_line_reserve(to, list_room(&s->keys)))
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

/* --- what lanes told --- */

int adp_keys_tell(struct adp_keys *keys, uint32_t lane, uint32_t shape,
                  const uint8_t *series, size_t len)
{
    struct told *told = &keys->told[lane][shape % TOLD];
    int read = adp_lane_decode(series, len, keys->metrics);
    if (read < 0)
        return read;
    if (!shape || adp_keys_count(series, len) != adp_metrics_count(keys->metrics))
        return ADP_ESYNTAX;
    told->shape = 0;
    if (!list_make(&told->keys, keys->metrics))
        return ADP_ENOMEM;
    told->shape = shape;
    return 0;
}

bool adp_keys_knows(const struct adp_keys *keys, uint32_t lane, uint32_t shape, size_t n)
{
    const struct told *told = &keys->told[lane][shape % TOLD];
    return shape && told->shape == shape && told->keys.n == n;
}

void adp_keys_write_values(const struct adp_keys *keys, uint32_t lane, uint32_t shape,
                           const double *value, struct adp_line *to)
{
    const struct list *list = &keys->told[lane][shape % TOLD].keys;
    if (!adp_line_reserve(to, list_room(list)))
        return;
    const char *key = list->text.text;
    char *p = to->text + to->len;
    uint32_t from = 0;
    *p++ = '{';
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t end = list->end[i];
        p = adp_pen_slack(p, key + from, end - from);
        p = adp_pen_number(p, value[i]);
        from = end;
    }
    *p++ = '}';
    to->len = (size_t)(p - to->text);
}
