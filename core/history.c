/* SPDX-License-Identifier: MIT */
/* Pages remembered, and pulses (core/history.h).
 *
 * Four pages are held: the one being filled, the one kept last, and two of the past,
 * `young` and `old`. When `young` has grown a window old it becomes `old`, and the page of
 * now becomes `young`. One page may be last, young and old at a time.
 *
 * A pulse (core/dictionary.h) is kept for each engine of the page: the sum of its
 * counters, and since when that sum has stood. */
#include "core/history.h"

#include "core/dictionary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGES = ADP_HISTORY_PAGES,
    MAX_BEATING = 64 /* engines watched; more are believed */
};

struct page {
    struct adp_metrics *metrics; /* owned */
    uint64_t at_ns;
};

struct beating {
    const struct adp_pulse *pulse;
    uint64_t engine;
    double sum;
    uint64_t since_ns; /* when `sum` was first seen */
    uint64_t look;     /* the last look at it */
    bool running;
};

struct adp_history {
    uint64_t window_ns;
    struct page pages[PAGES];
    struct page *next, *last, *young, *old; /* of pages; all but next NULL at first */
    bool restarted;                         /* between `last` and the page looked at */
    uint64_t looks;
    struct beating beating[MAX_BEATING];
    uint32_t n_beating;
    struct adp_doubt doubts[MAX_BEATING];
};

int adp_history_create(struct adp_history **ret, uint64_t window_ns)
{
    struct adp_history *h = calloc(1, sizeof *h);
    if (!h)
        return ADP_ENOMEM;
    h->window_ns = window_ns;
    h->next = &h->pages[0];
    for (int i = 0; i < PAGES; i++)
        if (adp_metrics_create(&h->pages[i].metrics)) {
            adp_history_destroy(h);
            return ADP_ENOMEM;
        }
    *ret = h;
    return 0;
}

void adp_history_destroy(struct adp_history *h)
{
    if (!h)
        return;
    for (int i = 0; i < PAGES; i++)
        adp_metrics_destroy(h->pages[i].metrics);
    free(h);
}

struct adp_metrics *adp_history_next(struct adp_history *h)
{
    adp_metrics_clear(h->next->metrics);
    return h->next->metrics;
}

struct adp_metrics *adp_history_next_filled(struct adp_history *h)
{
    return h->next->metrics;
}

struct adp_metrics *adp_history_last(const struct adp_history *h, uint64_t *ret_at_ns)
{
    if (!h->last)
        return NULL;
    *ret_at_ns = h->last->at_ns;
    return h->last->metrics;
}

/* ---- signs of life ---- */

static const struct adp_series *next_series(const struct adp_metrics *m,
                                            const struct adp_series *s)
{
    return s->next == ADP_NO_SERIES ? NULL : adp_metrics_at(m, s->next);
}

static const struct adp_series *series_of(const struct adp_metrics *m, const char *name)
{
    uint32_t i = adp_metrics_find(m, name, strlen(name));
    return i == ADP_NO_SERIES ? NULL : adp_metrics_at(m, i);
}

/* NaN when the engine counts nothing that we know of: equal to nothing, it seems to move
 * with every look, and the engine is believed. */
static double sum_beats(const struct adp_metrics *m, const struct adp_pulse *pulse,
                        uint64_t engine)
{
    bool any = false;
    double sum = 0;
    for (size_t i = 0; i < sizeof pulse->beats / sizeof pulse->beats[0]; i++) {
        const struct adp_series *s =
            pulse->beats[i] ? series_of(m, pulse->beats[i]) : NULL;
        for (; s; s = next_series(m, s)) {
            if (adp_engine_key(s) != engine || !isfinite(s->value))
                continue;
            sum += s->value;
            any = true;
        }
    }
    return any ? sum : (double)NAN;
}

static struct beating *find_beating(struct adp_history *h, const struct adp_pulse *pulse,
                                    uint64_t engine)
{
    for (uint32_t i = 0; i < h->n_beating; i++)
        if (h->beating[i].pulse == pulse && h->beating[i].engine == engine)
            return &h->beating[i];
    if (h->n_beating == MAX_BEATING)
        return NULL;
    struct beating *b = &h->beating[h->n_beating++];
    *b = (struct beating) { .pulse = pulse, .engine = engine, .sum = (double)NAN };
    return b;
}

static void feel(struct adp_history *h, const struct adp_metrics *page,
                 const struct adp_pulse *pulse, const struct adp_series *running,
                 uint64_t now_ns)
{
    uint64_t engine = adp_engine_key(running);
    struct beating *b = find_beating(h, pulse, engine);
    if (!b)
        return;
    if (b->look == h->looks) { /* several ranks of one engine */
        b->running = b->running || running->value > 0;
        return;
    }
    b->look = h->looks;
    b->running = running->value > 0;
    double sum = sum_beats(page, pulse, engine);
    h->restarted = h->restarted || sum < b->sum;
    if (!(sum == b->sum))
        b->since_ns = now_ns;
    b->sum = sum;
}

/* Those that were not on the page any more make room: their numbers mean nothing later. */
static void forget_gone(struct adp_history *h)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < h->n_beating; i++)
        if (h->beating[i].look == h->looks)
            h->beating[kept++] = h->beating[i];
    h->n_beating = kept;
}

static uint32_t doubt_frozen(struct adp_history *h, const struct adp_metrics *page,
                             uint64_t now_ns)
{
    uint32_t n_pulses, n = 0;
    const struct adp_pulse *pulses = adp_pulses(&n_pulses);
    h->looks++;
    for (uint32_t i = 0; i < n_pulses; i++) {
        const struct adp_series *s = series_of(page, pulses[i].running);
        for (; s; s = next_series(page, s))
            feel(h, page, &pulses[i], s, now_ns);
    }
    forget_gone(h);
    for (uint32_t i = 0; i < h->n_beating; i++) {
        const struct beating *b = &h->beating[i];
        if (b->running && now_ns - b->since_ns >= ADP_FROZEN_NS)
            h->doubts[n++] = (struct adp_doubt) { .prefix = b->pulse->prefix,
                                                  .engine = b->engine,
                                                  .why = ADP_WHY_FROZEN };
    }
    return n;
}

/* ---- the past ---- */

/* When the page's own process started, if it is of one. */
static bool started_at(const struct adp_metrics *m, double *ret_s)
{
    const struct adp_series *s = series_of(m, "process_start_time_seconds");
    if (!s || s->next != ADP_NO_SERIES || !isfinite(s->value))
        return false;
    *ret_s = s->value;
    return true;
}

static bool process_restarted(const struct adp_metrics *before,
                              const struct adp_metrics *now)
{
    double a, b;
    return started_at(before, &a) && started_at(now, &b) && a != b;
}

/* The page that `page` is compared with, or NULL: there is none yet. */
static const struct page *before(const struct adp_history *h,
                                 const struct adp_metrics *page, uint64_t at_ns)
{
    const struct page *young = h->young, *old = h->old;
    if (!young || young->metrics == page) /* kept, and looked at once more */
        return old && old->metrics != page ? old : NULL;
    bool ripe = at_ns - young->at_ns >= h->window_ns;
    return old && !ripe ? old : young;
}

void adp_history_look(struct adp_history *h, const struct adp_metrics *page,
                      uint64_t at_ns, struct adp_moment *ret)
{
    *ret = (struct adp_moment) { .now = page, .doubts = h->doubts };
    h->restarted = false;
    ret->n_doubts = doubt_frozen(h, page, at_ns);
    const struct page *than = before(h, page, at_ns);
    if (!than || at_ns <= than->at_ns)
        return;
    ret->before = than->metrics;
    ret->elapsed_s = (double)(at_ns - than->at_ns) * 1e-9;
    ret->restarted = process_restarted(than->metrics, page);
    h->restarted = h->restarted || ret->restarted;
}

static struct page *free_page(struct adp_history *h)
{
    struct page *p = h->pages;
    while (p == h->last || p == h->young || p == h->old)
        p++; /* three of four at most */
    return p;
}

void adp_history_keep(struct adp_history *h, uint64_t at_ns)
{
    struct page *kept = h->next;
    kept->at_ns = at_ns;
    if (!h->young || h->restarted) {
        h->young = kept;
        h->old = NULL;
    } else if (at_ns - h->young->at_ns >= h->window_ns) {
        h->old = h->young;
        h->young = kept;
    }
    h->last = kept;
    h->next = free_page(h);
}
