/* SPDX-License-Identifier: MIT */
/* Which records are here: per writer, spans of numbers. A writer's lines come in order,
 * so that a whole log is usually one span; anything else is sorted out when asked. */
#include "runtime/analysis/lanes.h"

#include "core/error.h"
#include "runtime/analysis/grow.h"

struct span {
    uint64_t from, past; /* [from, past) */
};

struct spans {
    struct span *at; /* owned */
    size_t n, cap;
};

struct adp_lane_seen {
    struct adp_key key;  /* instance, lane */
    struct spans held;   /* records that can stand in one place only */
    struct spans filled; /* snapshots, and what is accounted for as dropped */
    struct spans lost;   /* the latter, again: a line that says so may stand twice */
};

void adp_lanes_finish(struct adp_lanes *lanes)
{
    for (size_t i = 0; i < lanes->n; i++) {
        free(lanes->lanes[i].held.at);
        free(lanes->lanes[i].filled.at);
        free(lanes->lanes[i].lost.at);
    }
    free(lanes->lanes);
    adp_index_finish(&lanes->by_key);
    *lanes = (struct adp_lanes) { 0 };
}

static struct adp_lane_seen *lane_of(struct adp_lanes *lanes, struct adp_key key)
{
    struct adp_lane_seen *all =
        adp_grow(lanes->lanes, &lanes->cap, lanes->n + 1, sizeof *all);
    if (!all)
        return NULL;
    lanes->lanes = all;
    bool is_new;
    uint32_t *at = adp_index_at(&lanes->by_key, key, &is_new);
    if (!at)
        return NULL;
    if (is_new) {
        *at = (uint32_t)lanes->n;
        all[lanes->n++] = (struct adp_lane_seen) { .key = key };
    }
    return &all[*at];
}

static int put(struct spans *spans, struct span span)
{
    if (spans->n && spans->at[spans->n - 1].past == span.from) {
        spans->at[spans->n - 1].past = span.past;
        return 0;
    }
    struct span *at = adp_grow(spans->at, &spans->cap, spans->n + 1, sizeof *at);
    if (!at)
        return ADP_ENOMEM;
    spans->at = at;
    at[spans->n++] = span;
    return 0;
}

int adp_lanes_seen(struct adp_lanes *lanes, uint64_t instance, int64_t lane, int64_t seq,
                   bool again)
{
    struct adp_lane_seen *seen =
        lane_of(lanes, (struct adp_key) { instance, (uint64_t)lane });
    struct span span = { (uint64_t)seq, (uint64_t)seq + 1 };
    return seen ? put(again ? &seen->filled : &seen->held, span) : ADP_ENOMEM;
}

int adp_lanes_dropped(struct adp_lanes *lanes, uint64_t instance, int64_t lane,
                      int64_t seq, uint64_t count)
{
    lanes->damaged += !count;
    if (lane < 0 || seq < 0 || !count) {
        lanes->loose += count;
        return 0;
    }
    struct adp_lane_seen *seen =
        lane_of(lanes, (struct adp_key) { instance, (uint64_t)lane });
    struct span span = { (uint64_t)seq, (uint64_t)seq + count };
    return seen && !put(&seen->filled, span) && !put(&seen->lost, span) ? 0 : ADP_ENOMEM;
}

static int put_all(struct spans *into, const struct spans *from)
{
    int e = 0;
    for (size_t i = 0; i < from->n && !e; i++)
        e = put(into, from->at[i]);
    return e;
}

int adp_lanes_merge(struct adp_lanes *into, const struct adp_lanes *from)
{
    into->loose += from->loose;
    into->damaged += from->damaged;
    for (size_t i = 0; i < from->n; i++) {
        const struct adp_lane_seen *lane = &from->lanes[i];
        struct adp_lane_seen *to = lane_of(into, lane->key);
        if (!to || put_all(&to->held, &lane->held) ||
            put_all(&to->filled, &lane->filled) || put_all(&to->lost, &lane->lost))
            return ADP_ENOMEM;
    }
    return 0;
}

static int by_from(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static void sort(struct spans *spans)
{
    if (spans->n > 1)
        qsort(spans->at, spans->n, sizeof *spans->at, by_from);
}

/* Numbers held twice: what each span shares with those before it. */
static uint64_t repeats(const struct spans *held)
{
    uint64_t next = 0, repeated = 0;
    for (size_t i = 0; i < held->n; i++) {
        const struct span *span = &held->at[i];
        if (span->from < next)
            repeated += (next < span->past ? next : span->past) - span->from;
        if (span->past > next)
            next = span->past;
    }
    return repeated;
}

/* Numbers in no span, below the highest in any. */
static uint64_t gaps(const struct spans *held, const struct spans *filled)
{
    uint64_t next = 0, missing = 0;
    for (size_t i = 0, k = 0; i < held->n || k < filled->n;) {
        bool first =
            k == filled->n || (i < held->n && held->at[i].from <= filled->at[k].from);
        const struct span *span = first ? &held->at[i++] : &filled->at[k++];
        if (span->from > next)
            missing += span->from - next;
        if (span->past > next)
            next = span->past;
    }
    return missing;
}

/* Numbers in `spans`, sorted, each once, and not in `known`, settled. NULL: nothing is known. */
static uint64_t beyond(const struct spans *spans, const struct spans *known)
{
    uint64_t next = 0, n = 0;
    for (size_t i = 0, k = 0; i < spans->n; i++) {
        uint64_t from = spans->at[i].from > next ? spans->at[i].from : next;
        uint64_t past = spans->at[i].past;
        if (past <= from)
            continue;
        next = past;
        n += past - from;
        while (known && k < known->n && known->at[k].past <= from)
            k++;
        for (size_t j = k; known && j < known->n && known->at[j].from < past; j++)
            n -= (known->at[j].past < past ? known->at[j].past : past) -
                 (known->at[j].from > from ? known->at[j].from : from);
    }
    return n;
}

struct adp_lanes_loss adp_lanes_loss(struct adp_lanes *lanes)
{
    struct adp_lanes_loss loss = { .recorded = lanes->loose, .damaged = lanes->damaged };
    for (size_t i = 0; i < lanes->n; i++) {
        struct adp_lane_seen *lane = &lanes->lanes[i];
        sort(&lane->held);
        sort(&lane->filled);
        loss.unrecorded += gaps(&lane->held, &lane->filled);
        loss.repeated += repeats(&lane->held);
        sort(&lane->lost);
        loss.recorded += beyond(&lane->lost, NULL);
    }
    loss.unrecorded -= loss.unrecorded < lanes->loose ? loss.unrecorded : lanes->loose;
    return loss;
}

static bool spans_overlap(const struct spans *a, const struct spans *b)
{
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->at[i].past <= b->at[k].from)
            i++;
        else if (b->at[k].past <= a->at[i].from)
            k++;
        else
            return true;
    }
    return false;
}

bool adp_lanes_overlap(struct adp_lanes *a, struct adp_lanes *b)
{
    for (size_t i = 0; i < a->n; i++) {
        const uint32_t *at = adp_index_find(&b->by_key, a->lanes[i].key);
        if (!at || !a->lanes[i].key.high)
            continue; /* an unnamed writer is not the same writer */
        sort(&a->lanes[i].held);
        sort(&b->lanes[*at].held);
        if (spans_overlap(&a->lanes[i].held, &b->lanes[*at].held))
            return true;
    }
    return false;
}

static void join(struct spans *spans)
{
    size_t n = 0;
    sort(spans);
    for (size_t i = 0; i < spans->n; i++) {
        struct span span = spans->at[i];
        if (!n || span.from > spans->at[n - 1].past)
            spans->at[n++] = span;
        else if (span.past > spans->at[n - 1].past)
            spans->at[n - 1].past = span.past;
    }
    spans->n = n;
}

void adp_lanes_settle(struct adp_lanes *lanes)
{
    for (size_t i = 0; i < lanes->n; i++) {
        join(&lanes->lanes[i].held);
        join(&lanes->lanes[i].filled);
    }
}

/* NULL: nothing of the lane is there, or its writer has no name and may be anybody. */
static const struct spans *spans_of(const struct adp_lanes *lanes, struct adp_key key,
                                    bool again)
{
    const uint32_t *at = key.high ? adp_index_find(&lanes->by_key, key) : NULL;
    if (!at)
        return NULL;
    return again ? &lanes->lanes[*at].filled : &lanes->lanes[*at].held;
}

bool adp_lanes_hold(const struct adp_lanes *lanes, uint64_t instance, int64_t lane,
                    int64_t seq, bool again)
{
    const struct spans *spans =
        spans_of(lanes, (struct adp_key) { instance, (uint64_t)lane }, again);
    size_t low = 0, high = spans ? spans->n : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->at[middle].past <= (uint64_t)seq)
            low = middle + 1;
        else
            high = middle;
    }
    return spans && low < spans->n && spans->at[low].from <= (uint64_t)seq;
}

uint64_t adp_lanes_beyond(struct adp_lanes *lanes, const struct adp_lanes *known,
                          bool again)
{
    uint64_t n = 0;
    for (size_t i = 0; i < lanes->n; i++) {
        struct adp_lane_seen *lane = &lanes->lanes[i];
        struct spans *spans = again ? &lane->filled : &lane->held;
        sort(spans);
        n += beyond(spans, spans_of(known, lane->key, again));
    }
    return n;
}

int adp_lanes_enter(const struct adp_lanes *lanes, struct adp_index *writers)
{
    bool is_new;
    for (size_t i = 0; i < lanes->n; i++)
        if (lanes->lanes[i].key.high &&
            !adp_index_at(writers, lanes->lanes[i].key, &is_new))
            return ADP_ENOMEM;
    return 0;
}

bool adp_lanes_any_entered(const struct adp_lanes *lanes, const struct adp_index *writers)
{
    for (size_t i = 0; i < lanes->n; i++)
        if (adp_index_find(writers, lanes->lanes[i].key))
            return true;
    return false;
}

bool adp_lanes_share_writer(const struct adp_lanes *a, const struct adp_lanes *b)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++)
            if (a->lanes[i].key.high && a->lanes[i].key.high == b->lanes[k].key.high)
                return true;
    return false;
}
