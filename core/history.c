/* SPDX-License-Identifier: MIT */
/* Pages remembered, pulses, and who began anew (core/history.h).
 *
 * Four pages are held: the one being filled, the one kept last, and two of the past,
 * `young` and `old`. When `young` has grown a window old it becomes `old`, and the page of
 * now becomes `young`. One page may be last, young and old at a time.
 *
 * A pulse (core/dictionary.h) is kept for each engine of the page: the sum of its signs, and
 * since when that sum has stood.
 *
 * A page may hold series that were not measured again since the page before, or since the page
 * compared with: their timestamp is the same. For these the measurement before is kept aside,
 * series by series. A page without timestamps has none, and costs nothing.
 *
 * Who began anew is marked, with the time of the page that shows it, for as long as a page
 * from before that may be compared with; when everybody did, those pages are forgotten
 * instead. */
#include "core/history.h"

#include "core/dictionary.h"
#include "core/replicas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for 64 targets of 32 engines. Those that find none are not believed. */
enum {
    PAGES = ADP_HISTORY_PAGES,
    MAX_BEATING = 2048,
    SLOTS = 2 * MAX_BEATING, /* a power of 2 */
    MAX_MARKS = 4096,        /* more: all began anew */
    MAX_DOUBTS = 8192,
    MAX_PULSES = 64,
    MOST_STARTS = 1024 /* processes of one page; of more nothing is said */
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* Beats, and when they were made. */
enum { MAX_WITNESSES = 2 * COUNT(((struct adp_pulse *)0)->beats) * MAX_PULSES };

struct page {
    struct adp_metrics *metrics; /* owned */
    uint64_t at_ns;
};

struct beating {
    const struct adp_pulse *pulse;
    uint64_t engine, target;    /* their keys */
    uint64_t look;              /* the last look at it */
    double sum, next_sum;       /* NaN: it counts nothing that we know */
    double time_s, next_time_s; /* newest of what was summed; NaN: some has none */
    uint64_t measured_ns;       /* the look at which that moved */
    uint64_t moved_ns;          /* when `sum` was first seen */
    uint64_t since_ns;          /* the same, or when it last said that nothing runs */
    bool running, lingers;
    bool has_moved; /* since it was first seen */
    bool anew;      /* at this look */
};

/* A counter of an engine, or the time when it was made: shows that the engine began anew. Few
 * of these are on any page, so what it takes to see that one is not is at hand. */
struct witness {
    const struct adp_pulse *pulse;
    const char *name;
    size_t len;
    uint64_t hash;  /* adp_metrics_hash */
    uint32_t first; /* series on the page looked at, or ADP_NO_SERIES */
    bool created;
};

/* Who began anew, shown by the page of `at_ns`. */
struct mark {
    struct adp_doubt doubt;
    uint64_t at_ns;
};

struct adp_history {
    uint64_t window_ns;
    struct witness witnesses[MAX_WITNESSES];
    uint32_t n_witnesses;
    struct page pages[PAGES];
    struct page *next, *last, *young, *old; /* of pages; all but next NULL at first */
    /* owned; of series of `last`, measured before that */
    struct adp_metrics *earlier, *spare;
    bool restarted; /* all of it, between `last` and the page looked at */
    uint64_t looks;
    struct beating beating[MAX_BEATING];
    uint32_t n_beating;
    uint32_t slots[SLOTS];        /* by pulse and engine: index and 1; open addressing */
    uint64_t crowded;             /* bit i: engines of pulse i found no room */
    struct mark marks[MAX_MARKS]; /* n_marks kept, then n_fresh of the last look */
    uint32_t n_marks, n_fresh;
    struct adp_doubt doubts[MAX_DOUBTS];
    uint32_t n_doubts;
};

static void add_witness(struct adp_history *h, const struct adp_pulse *pulse,
                        const char *name, bool created)
{
    if (!name)
        return;
    size_t len = strlen(name);
    h->witnesses[h->n_witnesses++] =
        (struct witness) { .pulse = pulse,
                           .name = name,
                           .len = len,
                           .hash = adp_metrics_hash(name, len),
                           .created = created };
}

static void list_witnesses(struct adp_history *h)
{
    uint32_t n;
    const struct adp_pulse *pulses = adp_pulses(&n);
    for (uint32_t i = 0; i < n && i < MAX_PULSES; i++)
        for (size_t k = 0; k < COUNT(pulses[i].beats); k++) {
            add_witness(h, &pulses[i], pulses[i].beats[k].name, false);
            add_witness(h, &pulses[i], pulses[i].beats[k].created, true);
        }
}

int adp_history_create(struct adp_history **ret, uint64_t window_ns)
{
    struct adp_history *h = calloc(1, sizeof *h);
    if (!h)
        return ADP_ENOMEM;
    h->window_ns = window_ns;
    list_witnesses(h);
    h->next = &h->pages[0];
    for (int i = 0; i < PAGES; i++)
        if (adp_metrics_create(&h->pages[i].metrics)) {
            adp_history_destroy(h);
            return ADP_ENOMEM;
        }
    if (adp_metrics_create(&h->earlier) || adp_metrics_create(&h->spare)) {
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
    adp_metrics_destroy(h->earlier);
    adp_metrics_destroy(h->spare);
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

static bool shows(const struct adp_series *s, const struct adp_sign *sign)
{
    if (!sign->label)
        return true;
    struct adp_str label = { sign->label, strlen(sign->label) };
    return adp_str_is(adp_label_of(s, label), sign->value);
}

/* The first series of a sign from `s` on. */
static const struct adp_series *next_of_sign(const struct adp_metrics *m,
                                             const struct adp_series *s,
                                             const struct adp_sign *sign)
{
    while (s && !shows(s, sign))
        s = next_series(m, s);
    return s;
}

static const struct adp_series *first_of_sign(const struct adp_metrics *m,
                                              const struct adp_sign *sign)
{
    return sign->name ? next_of_sign(m, series_of(m, sign->name), sign) : NULL;
}

/* The place in `slots` of an engine, or the free one where it would be. */
static uint32_t slot_of(const struct adp_history *h, const struct adp_pulse *pulse,
                        uint64_t engine)
{
    uint32_t at = (uint32_t)(engine ^ engine >> 32 ^ (uintptr_t)pulse >> 4) % SLOTS;
    while (h->slots[at] && (h->beating[h->slots[at] - 1].pulse != pulse ||
                            h->beating[h->slots[at] - 1].engine != engine))
        at = (at + 1) % SLOTS;
    return at;
}

static struct beating *find_beating(struct adp_history *h, const struct adp_pulse *pulse,
                                    uint64_t engine)
{
    uint32_t i = h->slots[slot_of(h, pulse, engine)];
    return i ? &h->beating[i - 1] : NULL;
}

/* NULL when there is no room. */
static struct beating *add_beating(struct adp_history *h, const struct adp_pulse *pulse,
                                   uint64_t engine)
{
    if (h->n_beating == MAX_BEATING)
        return NULL;
    struct beating *b = &h->beating[h->n_beating++];
    *b = (struct beating) {
        .pulse = pulse, .engine = engine, .sum = (double)NAN, .time_s = (double)NAN
    };
    h->slots[slot_of(h, pulse, engine)] = h->n_beating;
    return b;
}

/* A series that tells what runs. False: there is no room for its engine. */
static bool feel_running(struct adp_history *h, const struct adp_pulse *pulse,
                         const struct adp_series *running)
{
    uint64_t engine = adp_engine_key(running);
    struct beating *b = find_beating(h, pulse, engine);
    if (!b)
        b = add_beating(h, pulse, engine);
    if (!b)
        return false;
    if (b->look != h->looks) { /* not another rank of one engine */
        b->look = h->looks;
        b->target = adp_target_key(adp_replica_of(running));
        b->next_sum = (double)NAN;
        b->next_time_s = -(double)INFINITY;
        b->running = b->anew = false;
    }
    b->running = b->running || running->value > 0;
    b->lingers = b->lingers || adp_engine_lingers(running);
    return true;
}

static void feel_signs(struct adp_history *h, const struct adp_metrics *page,
                       const struct adp_pulse *pulse, const struct adp_sign *signs,
                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (const struct adp_series *s = first_of_sign(page, &signs[i]); s;
             s = next_of_sign(page, next_series(page, s), &signs[i])) {
            struct beating *b = find_beating(h, pulse, adp_engine_key(s));
            if (!b || !isfinite(s->value))
                continue;
            b->next_sum = isnan(b->next_sum) ? s->value : b->next_sum + s->value;
            if (!s->has_time)
                b->next_time_s = (double)NAN;
            else if (s->time_s > b->next_time_s)
                b->next_time_s = s->time_s;
        }
}

/* False: there is no room for some of its engines. */
static bool feel(struct adp_history *h, const struct adp_metrics *page,
                 const struct adp_pulse *pulse)
{
    const struct adp_series *s = first_of_sign(page, &pulse->running);
    bool room = true;
    if (!s)
        return true;
    for (; s; s = next_of_sign(page, next_series(page, s), &pulse->running))
        room = feel_running(h, pulse, s) && room;
    feel_signs(h, page, pulse, pulse->beats, COUNT(pulse->beats));
    feel_signs(h, page, pulse, pulse->stirs, COUNT(pulse->stirs));
    return room;
}

/* Without any sign the sum is NaN: equal to nothing, it seems to move with every look, and
 * the engine is believed. So it is with a time: without one, it is measured with every look. */
static void settle(struct beating *b, uint64_t now_ns)
{
    if (!(b->next_sum == b->sum)) {
        b->has_moved = b->has_moved || !isnan(b->sum);
        b->moved_ns = b->since_ns = now_ns;
    }
    if (!b->running)
        b->since_ns = now_ns;
    if (!(b->next_time_s == b->time_s))
        b->measured_ns = now_ns;
    b->sum = b->next_sum;
    b->time_s = b->next_time_s;
}

/* Those that were not on the page any more make room: their numbers mean nothing later. */
static void forget_gone(struct adp_history *h)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < h->n_beating; i++)
        if (h->beating[i].look == h->looks)
            h->beating[kept++] = h->beating[i];
    if (kept == h->n_beating) /* mostly: the table stays */
        return;
    h->n_beating = kept;
    memset(h->slots, 0, sizeof h->slots);
    for (uint32_t i = 0; i < kept; i++)
        h->slots[slot_of(h, h->beating[i].pulse, h->beating[i].engine)] = i + 1;
}

static void feel_all(struct adp_history *h, const struct adp_metrics *page,
                     uint64_t now_ns)
{
    uint32_t n;
    const struct adp_pulse *pulses = adp_pulses(&n);
    h->looks++;
    h->crowded = 0;
    for (uint32_t i = 0; i < n && i < MAX_PULSES; i++)
        if (!feel(h, page, &pulses[i]))
            h->crowded |= UINT64_C(1) << i;
    forget_gone(h);
    for (uint32_t i = 0; i < h->n_beating; i++)
        settle(&h->beating[i], now_ns);
}

/* How long its counters stand, as far as it was asked. */
static uint64_t stood_ns(const struct beating *b)
{
    return b->measured_ns > b->moved_ns ? b->measured_ns - b->moved_ns : 0;
}

/* An exporter may go on telling of an engine that is gone: its counters stand, while those
 * of another there move. */
static bool is_left_over(const struct adp_history *h, const struct beating *b)
{
    if (!b->lingers || stood_ns(b) < ADP_FROZEN_NS || isnan(b->sum))
        return false;
    for (uint32_t i = 0; i < h->n_beating; i++) {
        const struct beating *other = &h->beating[i];
        if (other->pulse == b->pulse && other->target == b->target && other->has_moved &&
            stood_ns(other) < ADP_FROZEN_NS)
            return true;
    }
    return false;
}

static bool is_frozen(const struct beating *b)
{
    return b->running && b->measured_ns > b->since_ns &&
           b->measured_ns - b->since_ns >= ADP_FROZEN_NS;
}

/* ---- who began anew ---- */

static bool same_doubt(const struct adp_doubt *a, const struct adp_doubt *b)
{
    return a->of == b->of && a->kind == b->kind && strcmp(a->prefix, b->prefix) == 0;
}

/* What was not so on the page of `than_ns` is now. It may be known since a page between. */
static void mark(struct adp_history *h, struct adp_doubt doubt, uint64_t than_ns,
                 uint64_t now_ns)
{
    for (uint32_t i = 0; i < h->n_marks + h->n_fresh; i++)
        if (h->marks[i].at_ns > than_ns && same_doubt(&h->marks[i].doubt, &doubt))
            return;
    if (h->n_marks + h->n_fresh == MAX_MARKS) {
        h->restarted = true;
        return;
    }
    h->marks[h->n_marks + h->n_fresh++] = (struct mark) { doubt, now_ns };
}

static void mark_engine(struct adp_history *h, const struct adp_pulse *pulse,
                        const struct adp_series *shown_by, uint64_t than_ns,
                        uint64_t now_ns)
{
    uint64_t engine = adp_engine_key(shown_by);
    struct beating *b = find_beating(h, pulse, engine);
    if (b && b->anew)
        return;
    if (b)
        b->anew = true;
    for (size_t i = 0; i < COUNT(pulse->prefixes) && pulse->prefixes[i]; i++)
        mark(h,
             (struct adp_doubt) { .of = engine,
                                  .prefix = pulse->prefixes[i],
                                  .kind = ADP_DOUBT_ENGINE,
                                  .why = ADP_WHY_COUNTER_RESET },
             than_ns, now_ns);
}

static void find_witnesses(struct adp_history *h, const struct adp_metrics *page)
{
    for (uint32_t i = 0; i < h->n_witnesses; i++) {
        struct witness *w = &h->witnesses[i];
        w->first = adp_metrics_find_hashed(page, w->name, w->len, w->hash);
    }
}

/* Engines of which a counter went down since `than`, or was made anew. */
static void compare_counters(struct adp_history *h, const struct adp_metrics *page,
                             const struct page *than, uint64_t now_ns)
{
    for (uint32_t i = 0; i < h->n_witnesses; i++) {
        const struct witness *w = &h->witnesses[i];
        const struct adp_series *s =
            w->first == ADP_NO_SERIES ? NULL : adp_metrics_at(page, w->first);
        for (; s; s = next_series(page, s)) {
            const struct adp_series *old = adp_metrics_same(than->metrics, s);
            if (old && (w->created ? s->value > old->value : s->value < old->value))
                mark_engine(h, w->pulse, s, than->at_ns, now_ns);
        }
    }
}

/* The process of `s`'s target, if it is the only one there. */
static bool is_alone(const struct adp_metrics *m, const struct adp_series *s)
{
    struct adp_str target = adp_replica_of(s);
    const struct adp_series *other = series_of(m, "process_start_time_seconds");
    for (; other; other = next_series(m, other))
        if (other != s && adp_str_same(adp_replica_of(other), target))
            return false;
    return true;
}

static bool has_targets(const struct adp_metrics *m)
{
    for (uint32_t i = 0; i < adp_metrics_count(m); i++)
        if (adp_replica_of(adp_metrics_at(m, i)).n)
            return true;
    return false;
}

/* A page's own process that started anew is the whole page, a target's is that target; and
 * beside targets what has none is one more. */
static void compare_starts(struct adp_history *h, const struct adp_metrics *page,
                           const struct page *than, uint64_t now_ns)
{
    const struct adp_series *s = series_of(page, "process_start_time_seconds");
    uint32_t n = 0;
    for (const struct adp_series *p = s; p; p = next_series(page, p))
        n++;
    for (; s && n <= MOST_STARTS; s = next_series(page, s)) {
        const struct adp_series *old = adp_metrics_same(than->metrics, s);
        if (!old || !isfinite(s->value) || !isfinite(old->value) ||
            s->value == old->value || !is_alone(page, s) || !is_alone(than->metrics, old))
            continue;
        struct adp_str target = adp_replica_of(s);
        if (!target.n && !has_targets(page))
            h->restarted = true;
        else
            mark(h,
                 (struct adp_doubt) { .of = adp_target_key(target),
                                      .prefix = "",
                                      .kind = ADP_DOUBT_TARGET,
                                      .why = ADP_WHY_COUNTER_RESET },
                 than->at_ns, now_ns);
    }
}

static void compare(struct adp_history *h, const struct adp_metrics *page,
                    const struct page *than, uint64_t now_ns)
{
    if (!than || than->metrics == page)
        return;
    compare_starts(h, page, than, now_ns);
    compare_counters(h, page, than, now_ns);
}

/* Whether every engine of the page did, so that nothing is left to compare. */
static bool all_anew(const struct adp_history *h)
{
    for (uint32_t i = 0; i < h->n_beating; i++)
        if (!h->beating[i].anew)
            return false;
    return h->n_beating > 0;
}

/* ---- doubts ---- */

static void add_doubt(struct adp_history *h, struct adp_doubt doubt)
{
    if (h->n_doubts < MAX_DOUBTS)
        h->doubts[h->n_doubts++] = doubt;
    else
        h->doubts[MAX_DOUBTS - 1] = (struct adp_doubt) { .prefix = "",
                                                         .kind = ADP_DOUBT_ALL,
                                                         .why = ADP_WHY_TOO_MANY };
}

static void doubt_names(struct adp_history *h, const struct adp_pulse *pulse,
                        struct adp_doubt doubt)
{
    for (size_t i = 0; i < COUNT(pulse->prefixes) && pulse->prefixes[i]; i++) {
        doubt.prefix = pulse->prefixes[i];
        add_doubt(h, doubt);
    }
}

/* Who is frozen, who found no room, and whose counters are not to be compared with `than`,
 * NULL: there is nothing to compare with. */
static void list_doubts(struct adp_history *h, const struct page *than)
{
    uint32_t n;
    const struct adp_pulse *pulses = adp_pulses(&n);
    h->n_doubts = 0;
    for (uint32_t i = 0; i < n && h->crowded; i++)
        if (h->crowded >> i & 1)
            doubt_names(
                h, &pulses[i],
                (struct adp_doubt) { .kind = ADP_DOUBT_ALL, .why = ADP_WHY_TOO_MANY });
    for (uint32_t i = 0; i < h->n_beating; i++) {
        const struct beating *b = &h->beating[i];
        if (is_frozen(b) || is_left_over(h, b))
            doubt_names(h, b->pulse,
                        (struct adp_doubt) { .of = b->engine,
                                             .kind = ADP_DOUBT_ENGINE,
                                             .why = ADP_WHY_FROZEN });
    }
    for (uint32_t i = 0; i < h->n_marks + h->n_fresh; i++)
        if (than && h->marks[i].at_ns > than->at_ns)
            add_doubt(h, h->marks[i].doubt);
    adp_doubts_sort(h->doubts, h->n_doubts);
}

/* ---- the past ---- */

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
    h->n_fresh = 0;
    feel_all(h, page, at_ns);
    const struct page *than = before(h, page, at_ns);
    if (than && at_ns <= than->at_ns)
        than = NULL;
    find_witnesses(h, page);
    compare(h, page, h->last, at_ns);
    if (h->last != than)
        compare(h, page, than, at_ns);
    if (than) {
        ret->before = than->metrics;
        ret->earlier = h->earlier;
        ret->elapsed_s = (double)(at_ns - than->at_ns) * 1e-9;
        ret->restarted = h->restarted;
    }
    list_doubts(h, than);
    ret->n_doubts = h->n_doubts;
    h->restarted = h->restarted || all_anew(h);
}

static struct page *free_page(struct adp_history *h)
{
    struct page *p = h->pages;
    while (p == h->last || p == h->young || p == h->old)
        p++; /* three of four at most */
    return p;
}

/* Those of the last look are kept, those that no page is old enough for are not. */
static void keep_marks(struct adp_history *h)
{
    uint64_t oldest_ns = h->old ? h->old->at_ns : h->young->at_ns;
    uint32_t n = h->n_marks + h->n_fresh, kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (h->marks[i].at_ns > oldest_ns)
            h->marks[kept++] = h->marks[i];
    h->n_marks = kept;
    h->n_fresh = 0;
}

/* Whether the page looked at shows that the series' engine or target did. */
static bool began_anew(const struct adp_history *h, const struct adp_series *s)
{
    if (!h->n_fresh)
        return false;
    uint64_t engine = adp_engine_key(s), target = adp_target_key(adp_replica_of(s));
    for (uint32_t i = h->n_marks; i < h->n_marks + h->n_fresh; i++) {
        const struct adp_doubt *d = &h->marks[i].doubt;
        if (d->of == (d->kind == ADP_DOUBT_ENGINE ? engine : target) &&
            adp_str_begins(s->name, d->prefix))
            return true;
    }
    return false;
}

/* The measurement before the one that the page to be kept has: that of the last page, or where
 * that is the same one, what was remembered then. One that finds no room is as if it had been
 * measured once. */
static void set_aside(struct adp_history *h, const struct adp_metrics *page)
{
    struct adp_metrics *to = h->spare;
    bool nothing = !h->last || h->restarted || !adp_metrics_timed(page);
    if (nothing && !adp_metrics_count(h->earlier))
        return;
    adp_metrics_clear(to);
    for (uint32_t i = 0; !nothing && i < adp_metrics_count(page); i++) {
        const struct adp_series *s = adp_metrics_at(page, i);
        const struct adp_series *was =
            s->has_time ? adp_metrics_same(h->last->metrics, s) : NULL;
        if (!was || !was->has_time || was->time_s > s->time_s || began_anew(h, s))
            continue;
        if (was->time_s == s->time_s)
            was = adp_metrics_same(h->earlier, s);
        if (was)
            adp_metrics_add(to, was->name, was->labels, was->n_labels, was->value, true,
                            was->time_s, NULL);
    }
    h->spare = h->earlier;
    h->earlier = to;
}

void adp_history_keep(struct adp_history *h, uint64_t at_ns)
{
    struct page *kept = h->next;
    kept->at_ns = at_ns;
    set_aside(h, kept->metrics);
    if (!h->young || h->restarted) {
        h->young = kept;
        h->old = NULL;
    } else if (at_ns - h->young->at_ns >= h->window_ns) {
        h->old = h->young;
        h->young = kept;
    }
    keep_marks(h);
    h->last = kept;
    h->next = free_page(h);
}
