/* SPDX-License-Identifier: MIT */
/* The drain (core/drain.h): reading rings, and remembering what lines refer to. What a
 * line looks like is core/write.c's. */
#include "core/drain.h"

#include "core/keys.h"
#include "core/record.h"
#include "core/write.h"

#include <stdlib.h>
#include <string.h>

enum { SNAPSHOTS_KEPT = 256, INLINE_KEPT = 64, GENERATIONS_KEPT = 16 };

struct lane_state {
    uint64_t head;     /* ours: the ring's is for the writer to read */
    uint64_t next_seq; /* what the next record should say */
    uint64_t
        wordless; /* records so far that are no line: lines are numbered without them */
    uint64_t last_at_ns;
    bool has_at, damaged;
};

struct adp_drain {
    const struct adp_region *region;
    bool inline_metrics;
    uint32_t n_lanes, n_snapshots;
    struct lane_state lane[ADP_MAX_LANES + 1];
    struct adp_words generation[GENERATIONS_KEPT]; /* by number % GENERATIONS_KEPT */
    struct adp_seen *snapshot;                     /* by number % n_snapshots */
    struct adp_keys *keys;                         /* of raw series in decisions */
    uint8_t *record;                               /* our copy of it, 8-aligned */
    size_t record_cap;
    struct adp_line opening;
    struct adp_drained count;
};

int adp_drain_create(struct adp_drain **ret, const struct adp_region *region,
                     bool inline_metrics, struct adp_error *err)
{
    struct adp_drain *d = calloc(1, sizeof *d);
    if (!d)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    d->region = region;
    d->inline_metrics = inline_metrics;
    d->n_lanes = adp_region_shape(region)->lanes + 1;
    d->n_snapshots = inline_metrics ? INLINE_KEPT : SNAPSHOTS_KEPT;
    d->snapshot = calloc(d->n_snapshots, sizeof *d->snapshot);
    adp_line_init(&d->opening);
    if (!d->snapshot || adp_keys_create(&d->keys) < 0) {
        adp_drain_destroy(d);
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    *ret = d;
    return 0;
}

void adp_drain_destroy(struct adp_drain *drain)
{
    if (!drain)
        return;
    for (uint32_t i = 0; i < GENERATIONS_KEPT; i++)
        adp_words_finish(&drain->generation[i]);
    for (uint32_t i = 0; drain->snapshot && i < drain->n_snapshots; i++)
        adp_seen_finish(&drain->snapshot[i]);
    free(drain->snapshot);
    adp_keys_destroy(drain->keys);
    free(drain->record);
    adp_line_finish(&drain->opening);
    free(drain);
}

const struct adp_line *adp_drain_opening(const struct adp_drain *drain)
{
    return &drain->opening;
}

struct adp_drained adp_drain_count(const struct adp_drain *drain)
{
    return drain->count;
}

static struct adp_tag tag(const struct adp_drain *d, uint32_t lane, uint64_t seq)
{
    return (struct adp_tag) { .instance = adp_region_instance(d->region),
                              .lane = lane,
                              .seq = seq - d->lane[lane].wordless };
}

/* Drops what an allocation failure left half-written. */
static bool whole(struct adp_line *to, size_t start)
{
    if (!to->broken)
        return true;
    to->len = start;
    return false;
}

static bool put_loss(struct adp_drain *d, uint32_t lane, const char *what, uint64_t count,
                     uint64_t until_ns, struct adp_line *to)
{
    struct lane_state *l = &d->lane[lane];
    size_t start = to->len;
    adp_write_loss(to, what, count, l->has_at, l->last_at_ns, until_ns,
                   tag(d, lane, l->next_seq));
    if (!whole(to, start))
        return false;
    d->count.lines++;
    d->count.dropped += count;
    return true;
}

static void abandon(struct adp_drain *d, uint32_t lane, uint64_t at_ns,
                    struct adp_line *to)
{
    put_loss(d, lane, "ring", 0, at_ns, to);
    d->lane[lane].damaged = true;
    d->count.damaged++;
}

static const struct adp_words *words_of(const struct adp_drain *d, uint32_t number)
{
    const struct adp_words *w = &d->generation[number % GENERATIONS_KEPT];
    return w->text && w->generation == number ? w : NULL;
}

/* --- kinds; each returns false when memory ran out, and then has written nothing. Bytes
 * that make no sense are a damaged ring: *ret_bad. --- */

static bool take_decision(struct adp_drain *d, const struct adp_record *rec,
                          uint32_t lane, struct adp_line *to, bool *ret_bad)
{
    const struct adp_rec_decision *r = (const struct adp_rec_decision *)(const void *)rec;
    struct adp_decision_parts parts;
    if (rec->bytes < sizeof *r || !adp_write_split(r, &parts)) {
        *ret_bad = true;
        return true;
    }
    struct adp_seen *seen = &d->snapshot[r->snapshot % d->n_snapshots];
    if (!r->snapshot || seen->number != r->snapshot)
        seen = NULL;
    adp_write_decision(to, r, &parts, words_of(d, r->generation), seen, d->keys,
                       d->inline_metrics, tag(d, lane, rec->seq));
    return !to->broken;
}

static bool take_outcome(struct adp_drain *d, const struct adp_record *rec, uint32_t lane,
                         struct adp_line *to, bool *ret_bad)
{
    const struct adp_rec_outcome *r = (const struct adp_rec_outcome *)(const void *)rec;
    if (rec->bytes < sizeof *r ||
        (uint64_t)r->extra_len + r->id_len > rec->bytes - sizeof *r) {
        *ret_bad = true;
        return true;
    }
    adp_write_outcome(to, r, tag(d, lane, rec->seq));
    return !to->broken;
}

static bool take_snapshot(struct adp_drain *d, const struct adp_record *rec,
                          uint32_t lane, struct adp_line *to, bool *ret_bad)
{
    const struct adp_rec_snapshot *r = (const struct adp_rec_snapshot *)(const void *)rec;
    if (rec->bytes < sizeof *r || r->n_signals > ADP_MAX_KNOWN ||
        r->n_signals * sizeof(struct adp_rec_reading) + (uint64_t)r->metrics_len >
            rec->bytes - sizeof *r) {
        *ret_bad = true;
        return true;
    }
    struct adp_seen *seen = &d->snapshot[r->number % d->n_snapshots];
    if (!adp_seen_set(seen, r, d->inline_metrics))
        return false;
    size_t start = to->len;
    adp_write_snapshot(to, r, words_of(d, r->generation), tag(d, lane, rec->seq));
    if (to->broken)
        return false;
    adp_line_clear(&d->opening);
    adp_line_put(&d->opening, to->text + start, to->len - start);
    return true;
}

static bool take_generation(struct adp_drain *d, const struct adp_record *rec,
                            bool *ret_bad)
{
    const struct adp_rec_generation *r =
        (const struct adp_rec_generation *)(const void *)rec;
    if (rec->bytes < sizeof *r || r->text_len > rec->bytes - sizeof *r) {
        *ret_bad = true;
        return true;
    }
    return adp_words_set(&d->generation[r->generation % GENERATIONS_KEPT], r, ret_bad);
}

static bool take_scrape_error(struct adp_drain *d, const struct adp_record *rec,
                              uint32_t lane, struct adp_line *to, bool *ret_bad)
{
    const struct adp_rec_text *r = (const struct adp_rec_text *)(const void *)rec;
    if (rec->bytes < sizeof *r || r->len > rec->bytes - sizeof *r) {
        *ret_bad = true;
        return true;
    }
    adp_write_scrape_error(to, r, tag(d, lane, rec->seq));
    return !to->broken;
}

static bool take(struct adp_drain *d, const struct adp_record *rec, uint32_t lane,
                 struct adp_line *to, bool *ret_bad)
{
    switch (rec->kind) {
    case ADP_REC_DECISION:
        return take_decision(d, rec, lane, to, ret_bad);
    case ADP_REC_OUTCOME:
        return take_outcome(d, rec, lane, to, ret_bad);
    case ADP_REC_SNAPSHOT:
        return take_snapshot(d, rec, lane, to, ret_bad);
    case ADP_REC_GENERATION:
        return take_generation(d, rec, ret_bad);
    case ADP_REC_SCRAPE_ERROR:
        return take_scrape_error(d, rec, lane, to, ret_bad);
    default:
        *ret_bad = true;
        return true;
    }
}

/* --- rings --- */

static const struct adp_record *copy_out(struct adp_drain *d, const uint8_t *at,
                                         uint32_t bytes)
{
    if (bytes > d->record_cap) {
        uint8_t *more = realloc(d->record, bytes);
        if (!more)
            return NULL;
        d->record = more;
        d->record_cap = bytes;
    }
    memcpy(d->record, at, bytes);
    /* What the copy says of its size is what we checked, whatever the ring says by now.
     */
    memcpy(d->record, &bytes, sizeof bytes);
    return (const struct adp_record *)(const void *)d->record;
}

enum step { TAKEN, NO_MEMORY, DAMAGED };

/* One record at `at`, of which `left` bytes may be read. Loss before it, if any, and the
 * line. */
static enum step step(struct adp_drain *d, uint32_t lane, const uint8_t *at,
                      uint64_t left, struct adp_line *to, uint64_t *ret_bytes)
{
    struct lane_state *l = &d->lane[lane];
    uint32_t words[2];
    if (left < sizeof words)
        return DAMAGED;
    memcpy(words, at, sizeof words);
    uint32_t bytes = words[0];
    bool pad = (words[1] & 0xffff) == ADP_REC_PAD;
    if (bytes > left || bytes % 8 || bytes < (pad ? 8 : sizeof(struct adp_record)))
        return DAMAGED;
    *ret_bytes = bytes;
    if (pad)
        return TAKEN;
    const struct adp_record *rec = copy_out(d, at, bytes);
    if (!rec)
        return NO_MEMORY;
    if (rec->seq < l->next_seq)
        return DAMAGED;
    size_t start = to->len;
    struct adp_drained before = d->count;
    if (rec->seq > l->next_seq &&
        !put_loss(d, lane, "record", rec->seq - l->next_seq, rec->at_ns, to))
        return NO_MEMORY;
    size_t line = to->len;
    bool bad = false;
    if (!take(d, rec, lane, to, &bad)) {
        to->len = start;
        d->count = before;
        return NO_MEMORY;
    }
    if (bad) {
        to->len = start;
        d->count = before;
        return DAMAGED;
    }
    d->count.lines += to->len > line;
    l->wordless += rec->kind == ADP_REC_GENERATION;
    l->next_seq = rec->seq + 1;
    l->last_at_ns = rec->at_ns;
    l->has_at = true;
    return TAKEN;
}

/* Drains one ring up to `tail`. True when something is left before it. */
static bool drain_ring(struct adp_drain *d, uint32_t lane, uint64_t tail,
                       struct adp_line *to, size_t budget)
{
    struct adp_ring *ring = adp_region_ring(d->region, lane);
    const uint8_t *at = adp_region_bytes_of(d->region, lane);
    uint64_t size = adp_region_ring_bytes(d->region, lane);
    uint64_t head = d->lane[lane].head;
    if (d->lane[lane].damaged)
        return false;
    if (tail - head > size) {
        abandon(d, lane, d->lane[lane].last_at_ns, to);
        return false;
    }
    while (head != tail && to->len < budget) {
        uint64_t offset = head & (size - 1), bytes = 0;
        uint64_t left = tail - head < size - offset ? tail - head : size - offset;
        enum step did = step(d, lane, at + offset, left, to, &bytes);
        if (did == NO_MEMORY)
            return true;
        if (did == DAMAGED) {
            abandon(d, lane, d->lane[lane].last_at_ns, to);
            return false;
        }
        head += bytes;
        d->lane[lane].head = head;
        /* Release: we have read the record; the writer may have the room. */
        atomic_store_explicit(&ring->head, head, memory_order_release);
    }
    return head != tail;
}

bool adp_drain_run(struct adp_drain *drain, struct adp_line *to, size_t budget)
{
    uint64_t tail[ADP_MAX_LANES + 1];
    /* Lanes first, control last: what a decision refers to was in the control lane before
     * the decision was in its own. */
    for (uint32_t lane = drain->n_lanes; lane-- > 0;)
        tail[lane] = atomic_load_explicit(&adp_region_ring(drain->region, lane)->tail,
                                          memory_order_acquire);
    if (drain_ring(drain, 0, tail[0], to, budget))
        return true;
    bool left = false;
    for (uint32_t lane = 1; lane < drain->n_lanes; lane++)
        left |= drain_ring(drain, lane, tail[lane], to, budget);
    return left;
}

void adp_drain_end(struct adp_drain *drain, struct adp_line *to, uint64_t at_ns)
{
    for (uint32_t lane = 0; lane < drain->n_lanes; lane++) {
        struct lane_state *l = &drain->lane[lane];
        uint64_t next = atomic_load_explicit(
            &adp_region_ring(drain->region, lane)->next_seq, memory_order_relaxed);
        if (l->damaged || next <= l->next_seq)
            continue;
        if (put_loss(drain, lane, "record", next - l->next_seq, at_ns, to))
            l->next_seq = next;
    }
}
