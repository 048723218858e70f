/* SPDX-License-Identifier: MIT */
/* Pages remembered, and pulses (core/history.h).
 *
 * Three pages are held: the one being filled, and two of the past, `young` and `old`. When
 * `young` has grown a window old it becomes `old`, and the page of now becomes `young`.
 * In the beginning both are the first page.
 *
 * A pulse (core/dictionary.h) is kept for each engine of the page: the sum of its
 * counters, and since when that sum has stood. */
#include "core/history.h"

#include "core/dictionary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BEATING = 64 }; /* engines watched; more are believed */

struct past {
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
    struct adp_metrics *now;   /* owned */
    struct past young, old;    /* old.metrics NULL: there is no past but young */
    struct adp_metrics *spare; /* owned; NULL when three are in use */
    bool has_past, restarted;  /* restarted: since the last page kept */
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
    if (adp_metrics_create(&h->now) || adp_metrics_create(&h->young.metrics) ||
        adp_metrics_create(&h->spare)) {
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
    adp_metrics_destroy(h->now);
    adp_metrics_destroy(h->young.metrics);
    adp_metrics_destroy(h->old.metrics);
    adp_metrics_destroy(h->spare);
    free(h);
}

struct adp_metrics *adp_history_next(struct adp_history *h)
{
    adp_metrics_clear(h->now);
    return h->now;
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

/* False when the engine counts nothing that we know of: then nothing can be said. */
static bool sum_beats(const struct adp_metrics *m, const struct adp_pulse *pulse,
                      uint64_t engine, double *ret)
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
    *ret = sum;
    return any;
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

static void feel(struct adp_history *h, const struct adp_pulse *pulse,
                 const struct adp_series *running, uint64_t now_ns)
{
    uint64_t engine = adp_engine_key(running);
    struct beating *b = find_beating(h, pulse, engine);
    double sum;
    if (!b)
        return;
    if (b->look == h->looks) { /* several ranks of one engine */
        b->running = b->running || running->value > 0;
        return;
    }
    b->look = h->looks;
    b->running = running->value > 0;
    if (!sum_beats(h->now, pulse, engine, &sum)) {
        b->running = false;
        return;
    }
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

static uint32_t doubt_frozen(struct adp_history *h, uint64_t now_ns)
{
    uint32_t n_pulses, n = 0;
    const struct adp_pulse *pulses = adp_pulses(&n_pulses);
    h->looks++;
    for (uint32_t i = 0; i < n_pulses; i++) {
        const struct adp_series *s = series_of(h->now, pulses[i].running);
        for (; s; s = next_series(h->now, s))
            feel(h, &pulses[i], s, now_ns);
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

void adp_history_look(struct adp_history *h, uint64_t now_ns, struct adp_moment *ret)
{
    *ret = (struct adp_moment) { .now = h->now, .doubts = h->doubts };
    h->restarted = false;
    ret->n_doubts = doubt_frozen(h, now_ns);
    if (!h->has_past)
        return;
    const struct past *before = &h->young;
    if (h->old.metrics && now_ns - h->young.at_ns < h->window_ns)
        before = &h->old;
    if (process_restarted(before->metrics, h->now)) {
        h->restarted = true;
        ret->restarted = true;
    }
    if (now_ns <= before->at_ns)
        return;
    ret->before = before->metrics;
    ret->elapsed_s = (double)(now_ns - before->at_ns) * 1e-9;
}

/* The page of now becomes `young`, and another one is filled next. */
static void become_young(struct adp_history *h, uint64_t now_ns)
{
    struct adp_metrics *young = h->young.metrics;
    h->young = (struct past) { .metrics = h->now, .at_ns = now_ns };
    h->now = young;
    h->has_past = true;
}

void adp_history_keep(struct adp_history *h, uint64_t now_ns)
{
    if (!h->has_past || h->restarted) {
        if (h->old.metrics)
            h->spare = h->old.metrics;
        h->old.metrics = NULL;
        become_young(h, now_ns);
        return;
    }
    if (now_ns - h->young.at_ns < h->window_ns)
        return;
    struct adp_metrics *free_one = h->old.metrics ? h->old.metrics : h->spare;
    h->spare = NULL;
    h->old = h->young;
    h->young.metrics = free_one;
    become_young(h, now_ns);
}
