/* SPDX-License-Identifier: MIT */
/* Several pages as one (pool.h). */
#include "runtime/scrape/pool.h"

#include "core/number.h"

#include <math.h>
#include <string.h>

#define FARTHEST_S 9e15
#define EXPORTED   "exported_"

/* In double quotes; the escapes of the text format. */
static void put_quoted(struct adp_line *page, const char *text, size_t len)
{
    adp_line_put(page, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\' || text[i] == '"')
            adp_line_put(page, "\\", 1);
        if (text[i] == '\n')
            adp_line_puts(page, "\\n");
        else
            adp_line_put(page, text + i, 1);
    }
    adp_line_put(page, "\"", 1);
}

static bool is_plain(struct adp_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && c != ':' && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return name.n > 0;
}

static void put_value(struct adp_line *page, double value)
{
    char text[ADP_NUMBER_MAX];
    if (isnan(value))
        adp_line_puts(page, " NaN");
    else if (isinf(value))
        adp_line_puts(page, value > 0 ? " +Inf" : " -Inf");
    else {
        adp_line_put(page, " ", 1);
        adp_line_put(page, text, adp_number_print(text, value));
    }
}

/* In milliseconds. A time that they cannot tell is as far away as they can: without any, the
 * series would pass for one of now. */
static void put_time(struct adp_line *page, double time_s)
{
    time_s = fmin(fmax(time_s, -FARTHEST_S), FARTHEST_S);
    adp_line_put(page, " ", 1);
    adp_line_i64(page, (int64_t)floor(time_s * 1e3));
}

/* Whether it is the pool's label with so many EXPORTED before it. */
static bool is_exported(struct adp_str name, uint32_t times)
{
    const size_t n = sizeof EXPORTED - 1;
    for (; times && adp_str_begins(name, EXPORTED); times--)
        name = (struct adp_str) { name.p + n, name.n - n };
    return !times && adp_str_is(name, ADP_POOL_LABEL);
}

static bool has_exported(const struct adp_metrics *metrics, uint32_t times)
{
    uint32_t n = adp_metrics_count(metrics);
    for (uint32_t k = 0; k < n; k++) {
        const struct adp_series *s = adp_metrics_at(metrics, k);
        for (uint32_t i = 0; i < s->n_labels; i++)
            if (s->labels[i].value.n && is_exported(s->labels[i].name, times))
                return true;
    }
    return false;
}

/* The pool's own name, which is taken, with so many EXPORTED before it. */
static void put_label_name(struct adp_line *page, struct adp_str name, uint32_t times)
{
    bool own = is_exported(name, 0);
    for (uint32_t i = 0; own && i < times; i++)
        adp_line_puts(page, EXPORTED);
    if (is_plain(name) && !memchr(name.p, ':', name.n))
        adp_line_put(page, name.p, name.n);
    else
        put_quoted(page, name.p, name.n);
}

static void put_labels(struct adp_line *page, const struct adp_series *s,
                       const char *name, bool plain, uint32_t times)
{
    adp_line_put(page, "{", 1);
    if (!plain) {
        put_quoted(page, s->name.p, s->name.n);
        adp_line_put(page, ",", 1);
    }
    for (uint32_t i = 0; i < s->n_labels; i++) {
        const struct adp_label *l = &s->labels[i];
        if (!l->value.n && (is_exported(l->name, 0) || is_exported(l->name, times)))
            continue; /* tells nothing, and its name is wanted */
        put_label_name(page, l->name, times);
        adp_line_put(page, "=", 1);
        put_quoted(page, l->value.p, l->value.n);
        adp_line_put(page, ",", 1);
    }
    adp_line_puts(page, ADP_POOL_LABEL "=");
    put_quoted(page, name, strlen(name));
    adp_line_put(page, "}", 1);
}

uint32_t adp_pool_write(struct adp_line *page, const struct adp_metrics *metrics,
                        const char *name, double measured_s)
{
    uint32_t n = adp_metrics_count(metrics), left_out = 0, times = 0;
    /* Until it is no other's; a page that has more of them is made to be one. */
    while (times < ADP_METRICS_MAX_LABELS && has_exported(metrics, times))
        times++;
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_series *s = adp_metrics_at(metrics, i);
        bool plain = is_plain(s->name);
        if (s->n_labels > ADP_METRICS_MAX_LABELS) { /* a target of its own among them */
            left_out++;
            continue;
        }
        if (plain)
            adp_line_put(page, s->name.p, s->name.n);
        put_labels(page, s, name, plain, times);
        put_value(page, s->value);
        put_time(page, s->has_time ? s->time_s : measured_s);
        adp_line_put(page, "\n", 1);
    }
    return left_out;
}
