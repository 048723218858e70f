/* SPDX-License-Identifier: MIT */
/* The drain (core/drain.h): reading rings, and remembering what lines refer to. What a
 * line looks like is core/write.c's. */
#include "core/drain.h"

#include "core/keys.h"
#include "core/record.h"
#include "core/write.h"

#include <stdlib.h>
#include <string.h>

enum { SNAPSHOTS_KEPT = 256, INLINE_KEPT = 64, GENERATIONS_KEPT = 16, ROOM_PIECES = 16 };

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
    uint32_t first;                   /* lane the next run begins with, from 0 */
    uint64_t newest;                  /* snapshot's number */
    uint64_t mark[ADP_MAX_LANES + 1]; /* tails */
    struct adp_line opening;
    bool opened; /* the lines of the last run begin with it */
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

bool adp_drain_opened(const struct adp_drain *drain)
{
    return drain->opened && drain->opening.len && !drain->opening.broken;
}

struct adp_drained adp_drain_count(const struct adp_drain *drain)
{
    return drain->count;
}

uint64_t adp_drain_instance(const struct adp_drain *drain)
{
    return adp_region_instance(drain->region);
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

/* What a decision says of its lane's shapes. False: out of memory. */
static bool take_shape(struct adp_drain *d, const struct adp_rec_decision *r,
                       const struct adp_decision_parts *parts, uint32_t lane,
                       bool *ret_bad)
{
    if (r->flags & ADP_REC_VALUES) {
        *ret_bad =
            !(r->flags & ADP_REC_INLINE) || parts->series_len % sizeof(double) ||
            !adp_keys_knows(d->keys, lane, r->shape, parts->series_len / sizeof(double));
        return true;
    }
    if (!(r->flags & ADP_REC_TELLS))
        return true;
    int told = adp_keys_tell(d->keys, lane, r->shape, parts->series, parts->series_len);
    *ret_bad = told == ADP_ESYNTAX;
    return told != ADP_ENOMEM;
}

static bool take_decision(struct adp_drain *d, const struct adp_record *rec,
                          uint32_t lane, struct adp_line *to, bool *ret_bad)
{
    const struct adp_rec_decision *r = (const struct adp_rec_decision *)(const void *)rec;
    struct adp_decision_parts parts;
    if (rec->bytes < sizeof *r || !adp_write_split(r, &parts)) {
        *ret_bad = true;
        return true;
    }
    if (!take_shape(d, r, &parts, lane, ret_bad) || *ret_bad)
        return *ret_bad;
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
    struct adp_snapshot_parts parts;
    if (rec->bytes < sizeof *r || !adp_write_split_snapshot(r, &parts)) {
        *ret_bad = true;
        return true;
    }
    struct adp_seen *seen = &d->snapshot[r->number % d->n_snapshots];
    if (!adp_seen_set(seen, r, &parts, d->inline_metrics))
        return false;
    size_t start = to->len;
    adp_write_snapshot(to, r, &parts, words_of(d, r->generation), tag(d, lane, rec->seq));
    if (to->broken)
        return false;
    adp_line_clear(&d->opening);
    adp_line_put(&d->opening, to->text + start, to->len - start);
    d->opened = true;
    d->newest = r->number;
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

enum step { TAKEN, HELD, NO_MEMORY, DAMAGED };

/* Whether a record names what the control lane has not told yet. */
static bool names_unknown(const struct adp_drain *d, const struct adp_record *rec)
{
    const struct adp_rec_decision *r = (const struct adp_rec_decision *)(const void *)rec;
    return rec->kind == ADP_REC_DECISION && rec->bytes >= sizeof *r &&
           (r->snapshot > d->newest || !words_of(d, r->generation));
}

/* The loss before a record, if any, and its line. */
static enum step put_record(struct adp_drain *d, uint32_t lane,
                            const struct adp_record *rec, struct adp_line *to)
{
    struct lane_state *l = &d->lane[lane];
    size_t start = to->len;
    struct adp_drained before = d->count;
    if (rec->seq > l->next_seq &&
        !put_loss(d, lane, "record", rec->seq - l->next_seq, rec->at_ns, to))
        return NO_MEMORY;
    size_t line = to->len;
    bool bad = false;
    bool taken = take(d, rec, lane, to, &bad);
    if (!taken || bad) {
        to->len = start;
        d->count = before;
        return bad ? DAMAGED : NO_MEMORY;
    }
    d->count.lines += to->len > line;
    l->wordless += rec->kind == ADP_REC_GENERATION;
    l->next_seq = rec->seq + 1;
    l->last_at_ns = rec->at_ns;
    l->has_at = true;
    return TAKEN;
}

/* How far to go with a ring. */
struct leg {
    uint64_t tail;
    size_t budget; /* bytes of lines */
    uint64_t most; /* records */
    bool patient;  /* not to what names something unknown */
    size_t begin;  /* control: lines already there, which a snapshot may not follow */
};

/* One record at `at`, of which `left` bytes may be read, unless the leg ends before it. */
static enum step step(struct adp_drain *d, uint32_t lane, const uint8_t *at,
                      uint64_t left, const struct leg *leg, struct adp_line *to,
                      uint64_t *ret_bytes)
{
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
    if (rec->seq < d->lane[lane].next_seq)
        return DAMAGED;
    if ((leg->patient && names_unknown(d, rec)) ||
        (rec->kind == ADP_REC_SNAPSHOT && to->len > leg->begin))
        return HELD;
    return put_record(d, lane, rec, to);
}

/* Gives the writer the room of what has been read. */
static void free_room(struct adp_drain *d, uint32_t lane)
{
    /* Release: we have read the records. */
    atomic_store_explicit(&adp_region_ring(d->region, lane)->head, d->lane[lane].head,
                          memory_order_release);
}

/* Drains one ring: TAKEN when it is at its tail or abandoned, or as far as the leg goes. Room
 * is given back in pieces: a writer that fills a full ring would otherwise get in one record
 * between two it must drop, and each such gap is a line. */
static enum step drain_ring(struct adp_drain *d, uint32_t lane, struct leg leg,
                            struct adp_line *to)
{
    const uint8_t *at = adp_region_bytes_of(d->region, lane);
    uint64_t size = adp_region_ring_bytes(d->region, lane);
    struct lane_state *l = &d->lane[lane];
    if (l->damaged)
        return TAKEN;
    uint64_t given = l->head;
    enum step did = leg.tail - l->head > size ? DAMAGED : TAKEN;
    while (did == TAKEN && l->head != leg.tail && to->len < leg.budget && leg.most--) {
        uint64_t offset = l->head & (size - 1), bytes = 0;
        uint64_t to_tail = leg.tail - l->head, to_end = size - offset;
        did = step(d, lane, at + offset, to_tail < to_end ? to_tail : to_end, &leg, to,
                   &bytes);
        if (did != TAKEN)
            break;
        l->head += bytes;
        if (l->head - given >= size / ROOM_PIECES) {
            free_room(d, lane);
            given = l->head;
        }
    }
    if (l->head != given)
        free_room(d, lane);
    if (did == NO_MEMORY)
        to->broken = true;
    if (did != DAMAGED)
        return did;
    abandon(d, lane, l->last_at_ns, to);
    return TAKEN;
}

static bool at_tail(const struct adp_drain *d, uint32_t lane, uint64_t tail)
{
    return d->lane[lane].damaged || d->lane[lane].head == tail;
}

/* The lanes that are open to hosts, beginning with another one each run: under a load that
 * fills the budget the first one would be the only one. HELD if one of them is. */
static enum step drain_lanes(struct adp_drain *d, const uint64_t *tail, bool patient,
                             struct adp_line *to, size_t budget)
{
    enum step all = TAKEN;
    uint32_t n = d->n_lanes - 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t lane = 1 + (d->first + i) % n;
        struct leg leg = {
            .tail = tail[lane], .budget = budget, .most = UINT64_MAX, .patient = patient
        };
        enum step did = drain_ring(d, lane, leg, to);
        if (did == NO_MEMORY)
            return did;
        if (did == HELD)
            all = HELD;
    }
    return all;
}

static void read_tails(const struct adp_drain *d, uint64_t *tail)
{
    /* Lanes first, control last: what a decision refers to was in the control lane before
     * the decision was in its own. */
    for (uint32_t lane = d->n_lanes; lane-- > 0;)
        tail[lane] = atomic_load_explicit(&adp_region_ring(d->region, lane)->tail,
                                          memory_order_acquire);
}

bool adp_drain_run(struct adp_drain *drain, struct adp_line *to, size_t budget)
{
    uint64_t tail[ADP_MAX_LANES + 1];
    size_t begin = to->len;
    read_tails(drain, tail);
    drain->opened = false;
    for (;;) {
        bool told = at_tail(drain, 0, tail[0]);
        enum step did = drain_lanes(drain, tail, !told, to, budget);
        if (did == NO_MEMORY || told)
            break;
        uint64_t most = did == HELD ? 1 : UINT64_MAX;
        struct leg leg = {
            .tail = tail[0], .budget = budget, .most = most, .begin = begin
        };
        if (to->len >= budget || drain_ring(drain, 0, leg, to) != TAKEN)
            break;
    }
    drain->first = (drain->first + 1) % (drain->n_lanes - 1);
    for (uint32_t lane = 0; lane < drain->n_lanes; lane++)
        if (!at_tail(drain, lane, tail[lane]))
            return true;
    return false;
}

void adp_drain_renew(struct adp_drain *drain)
{
    for (uint32_t lane = 0; lane < drain->n_lanes; lane++) {
        struct lane_state *l = &drain->lane[lane];
        struct adp_ring *ring = adp_region_ring(drain->region, lane);
        if (!l->damaged)
            continue;
        l->damaged = false;
        l->head = 0;
        ring->seen_head = 0;
        atomic_store_explicit(&ring->tail, 0, memory_order_relaxed);
        atomic_store_explicit(&ring->dropped, 0, memory_order_relaxed);
        atomic_store_explicit(&ring->next_seq, l->next_seq, memory_order_relaxed);
        /* Release: whoever finds room here finds all of that. */
        atomic_store_explicit(&ring->head, 0, memory_order_release);
    }
}

unsigned adp_drain_fill(const struct adp_drain *drain)
{
    uint64_t fullest = 0;
    for (uint32_t lane = 0; lane < drain->n_lanes; lane++) {
        /* Relaxed: an estimate. */
        uint64_t tail = atomic_load_explicit(&adp_region_ring(drain->region, lane)->tail,
                                             memory_order_relaxed);
        uint64_t size = adp_region_ring_bytes(drain->region, lane);
        uint64_t used = tail - drain->lane[lane].head;
        uint64_t percent = used < size ? used * 100 / size : 100;
        if (!drain->lane[lane].damaged && percent > fullest)
            fullest = percent;
    }
    return (unsigned)fullest;
}

void adp_drain_mark(struct adp_drain *drain)
{
    read_tails(drain, drain->mark);
}

bool adp_drain_reached(const struct adp_drain *drain)
{
    for (uint32_t lane = 0; lane < drain->n_lanes; lane++)
        /* As a distance, like all positions: a mark is at most a ring ahead. */
        if (!drain->lane[lane].damaged &&
            (int64_t)(drain->mark[lane] - drain->lane[lane].head) > 0)
            return false;
    return true;
}

static uint64_t lane_left(const struct adp_drain *d, uint32_t lane)
{
    const struct lane_state *l = &d->lane[lane];
    uint64_t next = atomic_load_explicit(&adp_region_ring(d->region, lane)->next_seq,
                                         memory_order_relaxed);
    return l->damaged || next <= l->next_seq ? 0 : next - l->next_seq;
}

/* Of a ring's queued records those that will be no line. The walk ends where the ring makes no
 * sense: draining it would abandon it there. */
static uint64_t wordless_left(const struct adp_drain *d, uint32_t lane)
{
    const uint8_t *ring = adp_region_bytes_of(d->region, lane);
    uint64_t size = adp_region_ring_bytes(d->region, lane);
    uint64_t at = d->lane[lane].head, n = 0;
    uint64_t left = atomic_load_explicit(&adp_region_ring(d->region, lane)->tail,
                                         memory_order_acquire) -
                    at;
    while (!d->lane[lane].damaged && left >= 8 && left <= size) {
        uint64_t offset = at & (size - 1);
        uint32_t words[2];
        memcpy(words, ring + offset, sizeof words);
        if (words[0] < 8 || words[0] % 8 || words[0] > left || words[0] > size - offset)
            break;
        n += (words[1] & 0xffff) == ADP_REC_GENERATION;
        at += words[0];
        left -= words[0];
    }
    return n;
}

uint64_t adp_drain_left(const struct adp_drain *drain)
{
    uint64_t left = 0;
    for (uint32_t lane = 0; lane < drain->n_lanes; lane++) {
        uint64_t records = lane_left(drain, lane), no = wordless_left(drain, lane);
        left += records > no ? records - no : 0;
    }
    return left;
}

void adp_drain_end(struct adp_drain *drain, struct adp_line *to, uint64_t at_ns)
{
    for (uint32_t lane = 0; lane < drain->n_lanes; lane++) {
        uint64_t left = lane_left(drain, lane);
        if (left && put_loss(drain, lane, "record", left, at_ns, to))
            drain->lane[lane].next_seq += left;
    }
}
