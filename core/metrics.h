/* SPDX-License-Identifier: MIT */
/* Metrics: the raw series of one moment, under their own names. Filled from a page of
 * text (core/promtext.h) or one by one; read by sources (core/expr.h) and by the log.
 *
 *  1. A series is a name, labels and a finite or non-finite value, exactly as given:
 *     nothing is judged here.
 *  2. Two series with one name and the same labels (in any order) are one: the last value
 *     stays, `duplicates` counts. A label without a value tells it from nothing.
 *  3. All strings live in the object's own storage; adp_metrics_clear keeps the memory,
 *     so that a page of a known shape is read again without allocating.
 *  4. What was cleared lies there, out of sight, until something is added: a page of the
 *     same shape brings it back and sets its values (core/page_shape.h). */
#ifndef ADP_CORE_METRICS_H
#define ADP_CORE_METRICS_H

#include "core/error.h"
#include "core/line.h"
#include "core/page_shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ADP_METRICS_MAX_SERIES  65536u   /* per object */
#define ADP_METRICS_MAX_LABELS  64u      /* per series, not counting ... */
#define ADP_METRICS_OWN_LABEL   "target" /* ... which joined pages add to each */
#define ADP_METRICS_MOST_LABELS (ADP_METRICS_MAX_LABELS + 1u) /* both: for arrays */
#define ADP_METRICS_MAX_TEXT    (16u << 20) /* bytes of names and labels in all */

/* Bytes that are somebody else's; not NUL-terminated. */
struct adp_str {
    const char *p;
    size_t n;
};

static inline bool adp_str_same(struct adp_str a, struct adp_str b)
{
    return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

static inline bool adp_str_is(struct adp_str a, const char *text)
{
    return adp_str_same(a, (struct adp_str) { text, strlen(text) });
}

static inline bool adp_str_begins(struct adp_str a, const char *text)
{
    size_t n = strlen(text);
    return a.n >= n && memcmp(a.p, text, n) == 0;
}

static inline bool adp_str_ends(struct adp_str a, const char *text)
{
    size_t n = strlen(text);
    return a.n >= n && memcmp(a.p + a.n - n, text, n) == 0;
}

/* As memcmp, a prefix first: the order of labels in a series. */
static inline int adp_str_compare(struct adp_str a, struct adp_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

struct adp_label {
    struct adp_str name, value;
};

struct adp_series {
    struct adp_str name;
    const struct adp_label *labels; /* sorted by name */
    uint32_t n_labels;
    uint32_t next; /* next series of this name, in page order; ADP_NO_SERIES at the end */
    double value;
    bool has_time;
    double time_s; /* seconds since the epoch; only if has_time */
};
#define ADP_NO_SERIES 0xffffffffu

/* The first label from i on that has a value, or n_labels: one without is none. [any] */
static inline uint32_t adp_label_told(const struct adp_series *s, uint32_t i)
{
    while (i < s->n_labels && !s->labels[i].value.n)
        i++;
    return i;
}

/* The value of a label; empty: it has none. [any] */
static inline struct adp_str adp_label_of(const struct adp_series *s, struct adp_str name)
{
    for (uint32_t i = 0; i < s->n_labels; i++)
        if (adp_str_same(s->labels[i].name, name))
            return s->labels[i].value;
    return (struct adp_str) { "", 0 };
}

struct adp_metrics;

/* Create, destroy, clear and add are [control]; what takes a const object is [any] as
 * long as none of those runs on it. ADP_ENOMEM. Destroying NULL is fine. */
int adp_metrics_create(struct adp_metrics **ret);
void adp_metrics_destroy(struct adp_metrics *metrics);
void adp_metrics_clear(struct adp_metrics *metrics);

/* Adds one series; copies every string. `labels` may be NULL when n_labels is 0; they
 * need not be sorted. A series that is there already gets the value and time given, and
 * keeps its place. ADP_EFULL past a bound above (64 labels and "target" are within it),
 * ADP_EINVAL for an empty name, also of a label, or a label given twice, ADP_ENOMEM. On
 * failure nothing is added. */
int adp_metrics_add(struct adp_metrics *metrics, struct adp_str name,
                    const struct adp_label *labels, uint32_t n_labels, double value,
                    bool has_time, double time_s, struct adp_error *err);

/* The same for labels that lie in `text` in this order, as between the braces of a page's
 * line; "": they lie anywhere. Where nothing else is in it than the signs that labels must
 * have, it is copied as it is. */
int adp_metrics_add_read(struct adp_metrics *metrics, struct adp_str name,
                         struct adp_str text, const struct adp_label *labels,
                         uint32_t n_labels, double value, bool has_time, double time_s,
                         struct adp_error *err);

/* The shape of the page that this was filled from; whoever fills it may leave one. It is
 * forgotten when something is added after a clear. Borrowed, as the object is. */
struct adp_page_shape *adp_metrics_shape(struct adp_metrics *metrics);
/* After a clear: shows again what was cleared, if that has a whole shape; its values are
 * then to be set. False: there is nothing, and it stays empty. */
bool adp_metrics_restore(struct adp_metrics *metrics);
/* Series i, below the count, has this value on the page that is compared with the shape.
 * [control] */
void adp_metrics_repeat(struct adp_metrics *metrics, uint32_t i, double value,
                        bool has_time, double time_s);

/* All series in the order they were first added; borrowed until clear or destroy. */
uint32_t adp_metrics_count(const struct adp_metrics *metrics);
const struct adp_series *adp_metrics_at(const struct adp_metrics *metrics, uint32_t i);
/* First series of exactly this name, or ADP_NO_SERIES; follow `next` for the others. */
uint32_t adp_metrics_find(const struct adp_metrics *metrics, const char *name,
                          size_t len);
/* The same with the hash of the name at hand; a name that is not there costs next to
 * nothing. */
uint64_t adp_metrics_hash(const char *name, size_t len);
uint32_t adp_metrics_find_hashed(const struct adp_metrics *metrics, const char *name,
                                 size_t len, uint64_t hash);
/* The names that series have, each once, by their hashes. */
uint32_t adp_metrics_names(const struct adp_metrics *metrics);
uint64_t adp_metrics_name_hash(const struct adp_metrics *metrics, uint32_t i);
/* The series with the name and the labels (sorted by name) of `as`, or NULL. `as` may
 * belong to another object or to none; its value is not looked at. */
const struct adp_series *adp_metrics_same(const struct adp_metrics *metrics,
                                          const struct adp_series *as);
/* Another value for series `i`, without a time. [control] */
void adp_metrics_set(struct adp_metrics *metrics, uint32_t i, double value);
uint32_t adp_metrics_duplicates(const struct adp_metrics *metrics);
/* Whether any series has a timestamp: known without looking at them. */
bool adp_metrics_timed(const struct adp_metrics *metrics);
/* Whether any name ends in _created; likewise. */
bool adp_metrics_tells_created(const struct adp_metrics *metrics);
/* Newest timestamp of any series, seconds since the epoch; false when none has one. */
bool adp_metrics_newest(const struct adp_metrics *metrics, double *ret_s);

/* Appends the JSON object of all series: the key is the bare name when it is the only
 * series of that name and has no label "target", or has no labels, else
 * `name{label="value",…}` with \\, \" and \n escaped in values; the value a number, or
 * null when it is not finite. */
void adp_metrics_write(const struct adp_metrics *metrics, struct adp_line *line);
/* Appends the i-th key alone, without its quotes. */
void adp_metrics_write_key(const struct adp_metrics *metrics, uint32_t i,
                           struct adp_line *line);

#endif
