/* SPDX-License-Identifier: MIT */
/* State that a policy keeps: time that has passed, a measured rate, a table of tenants,
 * tickets, and all of it as bytes that survive a restart.
 *
 * What it leaves to others: chance (draw.h), gates that remember (latch.h), locking.
 * Unlike those two, what is here is for SERIAL policies, or for whoever holds the lock.
 *
 *  1. Nothing allocates: the policy hands over storage in create, and every size is known
 * there. Nothing fails for want of room: a full table gives up its longest idle row.
 *  2. Zeroed storage is a good beginning (a table: after adp_table_init).
 *  3. Saved bytes are believed only whole: a blob that is empty, cut short, of another
 * layout or damaged is refused, and the policy starts afresh.
 *  4. Saved times may be of another clock, which began again with the machine. Nothing
 * here waits for such a time to come: one that lies ahead by more than ADP_SKEW_NS is
 * past. */
#ifndef ADMITPERF_STATE_H
#define ADMITPERF_STATE_H

#include <admitperf/draw.h>

#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- time --- */

/* view.now_ns may run backwards between threads by less than this. */
#define ADP_SKEW_NS UINT64_C(1000000000)

/* Whether `span_ns` or more has passed since `then_ns`, which another thread, or another
 * clock, may have written. */
static inline bool adp_time_past(uint64_t now_ns, uint64_t then_ns, uint64_t span_ns)
{
    if (now_ns >= then_ns)
        return now_ns - then_ns >= span_ns;
    return span_ns == 0 || then_ns - now_ns > ADP_SKEW_NS;
}

/* Time between calls, no nanosecond of it counted twice. */
struct adp_stopwatch {
    uint64_t last_ns; /* valid while running */
    uint64_t running; /* 0 or 1 */
};

/* Nanoseconds since the lap before; 0 for the first, and for a step backwards. [hot] */
static inline uint64_t adp_stopwatch_lap(struct adp_stopwatch *s, uint64_t now_ns)
{
    uint64_t last_ns = s->last_ns;
    if (s->running && now_ns < last_ns && last_ns - now_ns <= ADP_SKEW_NS)
        return 0; /* the watch stays ahead: this time was counted already */
    uint64_t lap_ns = s->running && now_ns > last_ns ? now_ns - last_ns : 0;
    s->running = 1;
    s->last_ns = now_ns;
    return lap_ns;
}

/* --- rate ---
 *
 * Events per second over a sliding window, from two counts: the share of the window
 * before that the sliding one still covers, and the window that runs. It is the mean over
 * the whole window, never over the time since the oldest event (Envoy #33739), and there
 * is none until one window has passed: a handful of events after a start is no rate. */
struct adp_rate {
    uint64_t start_ns; /* of the window that runs; valid while windows > 0 */
    uint64_t windows;  /* 0: nothing seen; 1: the first runs; 2: measured */
    double now, before;
};

/* Rolls the windows on to `now_ns`. [hot] */
static inline void adp_rate_roll(struct adp_rate *r, uint64_t now_ns, uint64_t window_ns)
{
    bool foreign = now_ns < r->start_ns && r->start_ns - now_ns > ADP_SKEW_NS;
    if (!r->windows || foreign) {
        r->start_ns = now_ns;
        r->windows = 1;
        r->now = r->before = 0.0;
        return;
    }
    uint64_t gone = now_ns > r->start_ns ? (now_ns - r->start_ns) / window_ns : 0;
    if (!gone)
        return;
    r->before = gone == 1 ? r->now : 0.0;
    r->now = 0.0;
    r->windows = 2;
    r->start_ns += gone * window_ns;
}

/* Counts `amount` more; `window_ns` above 0, the same in every call. [hot] */
static inline void adp_rate_add(struct adp_rate *r, double amount, uint64_t now_ns,
                                uint64_t window_ns)
{
    adp_rate_roll(r, now_ns, window_ns);
    r->now += amount;
}

/* Per second, over the window that ends now; 0 when nothing is measured. [hot] */
static inline double adp_rate_per_s(struct adp_rate *r, uint64_t now_ns,
                                    uint64_t window_ns)
{
    adp_rate_roll(r, now_ns, window_ns);
    if (r->windows < 2)
        return 0.0;
    double window = (double)window_ns;
    double gone = now_ns > r->start_ns ? (double)(now_ns - r->start_ns) : 0.0;
    return (r->before * (1.0 - gone / window) + r->now) / (window * 1e-9);
}

/* Milliseconds until `amount` has drained at `per_s`, at most `cap_ms`; 0, which states
 * no retry time, when nothing drains or nothing is measured: a guess would be worse than
 * silence (llm-d #2487). */
static inline double adp_drain_ms(double amount, double per_s, double cap_ms)
{
    if (!(per_s > 0.0) || !(amount > 0.0))
        return 0.0;
    double ms = amount / per_s * 1e3;
    return ms < cap_ms ? ms : cap_ms;
}

/* --- saved bytes ---
 *
 * A part is a head and a body; parts may follow one another in one blob. Little-endian,
 * as the whole ABI is. */

struct adp_saved {
    uint32_t magic, layout;
    uint64_t len; /* of the body */
    uint64_t sum; /* over layout, len and body */
};

#define ADP_SAVED_MAGIC 0x53504441u /* "ADPS" */
/* Bytes of a part whose body has `len`: for adp_policy.max_saved. */
#define ADP_SAVED_BYTES(len) ((uint32_t)(sizeof(struct adp_saved) + (len)))

static inline uint64_t adp_saved_sum(uint32_t layout, const void *body, uint64_t len)
{
    const unsigned char *at = (const unsigned char *)body;
    uint64_t sum = adp_mix64((uint64_t)layout << 32 ^ len ^ ADP_SAVED_MAGIC);
    for (; len >= 8; at += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sum = adp_mix64(sum ^ word);
    }
    uint64_t rest = 0;
    if (len)
        memcpy(&rest, at, (size_t)len);
    return adp_mix64(sum ^ rest ^ len << 56);
}

/* Puts the head before a body of `len` bytes that already lies at `to` + sizeof(struct
 * adp_saved). Returns the part's bytes. [control] */
static inline uint64_t adp_saved_seal(void *to, uint32_t layout, uint64_t len)
{
    const unsigned char *body = (const unsigned char *)to + sizeof(struct adp_saved);
    struct adp_saved head;
    head.magic = ADP_SAVED_MAGIC;
    head.layout = layout;
    head.len = len;
    head.sum = adp_saved_sum(layout, body, len);
    memcpy(to, &head, sizeof head);
    return sizeof head + len;
}

/* The body of the part that `saved` begins with, NULL when it cannot be believed: too
 * short (or NULL), no part of ours, another layout, damaged. On success *ret_len is its
 * length. Borrowed from `saved`, not aligned. [control] */
static inline const void *adp_saved_open(const void *saved, uint64_t saved_len,
                                         uint32_t layout, uint64_t *ret_len)
{
    struct adp_saved head;
    if (!saved || saved_len < sizeof head)
        return NULL;
    memcpy(&head, saved, sizeof head);
    const void *body = (const unsigned char *)saved + sizeof head;
    if (head.magic != ADP_SAVED_MAGIC || head.layout != layout ||
        head.len > saved_len - sizeof head ||
        head.sum != adp_saved_sum(layout, body, head.len))
        return NULL;
    *ret_len = head.len;
    return body;
}

/* Writes a plain struct as one part. `layout` is a number of the policy's own: a new one
 * whenever the struct changes. Returns the bytes written, 0 when `cap` is too small.
 * [control] */
static inline uint64_t adp_saved_write(void *to, uint64_t cap, uint32_t layout,
                                       const void *state, uint64_t len)
{
    if (cap < sizeof(struct adp_saved) || cap - sizeof(struct adp_saved) < len)
        return 0;
    memcpy((unsigned char *)to + sizeof(struct adp_saved), state, (size_t)len);
    return adp_saved_seal(to, layout, len);
}

/* Reads it back. Returns the bytes of the part, or 0 and leaves `ret_state` untouched
 * when it is refused. [control] */
static inline uint64_t adp_saved_read(const void *saved, uint64_t saved_len,
                                      uint32_t layout, void *ret_state, uint64_t len)
{
    uint64_t body_len = 0;
    const void *body = adp_saved_open(saved, saved_len, layout, &body_len);
    if (!body || body_len != len)
        return 0;
    memcpy(ret_state, body, (size_t)len);
    return sizeof(struct adp_saved) + len;
}

/* --- lives ---
 *
 * A life is that of one instance, and the upper half of each ticket that it gives. An
 * instance that was restored also gets outcomes of its forerunner's tickets, of those too
 * that were given after the save: were tickets numbered on from what was saved, these two
 * would give the same ones, and the outcome of one request would settle another.
 *
 * Saved with the state, and read back through adp_life_restore. Of two lives in a row none
 * has the other's number, whether the forerunner gave its first ticket before it was saved
 * or after: one has an even number, the other an odd one. Of two that know nothing of each
 * other (what was saved was refused, or was restored twice) hardly any, as it is of the
 * time of the first ticket. */
struct adp_life {
    uint32_t number; /* 0: it gave no ticket yet */
    uint32_t before; /* the forerunner's, or one that is odd or even as its will be */
};

/* After it was read back: from here on it is another life. [control] */
static inline void adp_life_restore(struct adp_life *life)
{
    life->before = life->number ? life->number : life->before + 1u;
    life->number = 0;
}

/* A ticket of this life, never 0, with a number of the policy's own in its lower half:
 * that of the ticket, where a table is kept of them. [hot] */
static inline uint64_t adp_life_ticket(struct adp_life *life, uint32_t own,
                                       uint64_t now_ns)
{
    if (!life->number) {
        life->number = life->before + 1u + 2u * (uint32_t)(adp_mix64(now_ns) >> 36);
        life->number += 2u * !life->number; /* it wraps at 2^32; 2 is even as 0 is */
    }
    return (uint64_t)life->number << 32 | own;
}

/* Whether this life gave the ticket. [hot] */
static inline bool adp_life_gave(const struct adp_life *life, uint64_t ticket)
{
    return life->number && ticket >> 32 == life->number;
}

/* --- table ---
 *
 * Rows of one size, found by a 64-bit key (request.tenant_key, a ticket), at most
 * `capacity` of them. A new key in a full table takes the place of the row that was
 * touched longest ago. One flat block without pointers in it:
 *
 *     struct adp_table | uint32_t bucket[buckets] | capacity × (struct adp_row, payload)
 *
 * Rows of a bucket are a chain, all rows in use a list from the longest idle to the last
 * touched. Everything but saving and restoring is O(1), for keys that are hashes. */

#define ADP_NO_ROW 0xffffffffu

struct adp_table {
    uint32_t capacity, count;
    uint32_t payload; /* bytes, a multiple of 8 */
    uint32_t buckets; /* a power of two */
    uint32_t oldest, newest;
    uint32_t unused; /* chain of the rows that hold nothing */
    uint32_t reserved;
};

struct adp_row {
    uint64_t key;
    uint64_t used_ns;      /* when it was touched last */
    uint32_t chain;        /* next row of its bucket */
    uint32_t older, newer; /* neighbours in the list */
    uint32_t reserved;
};

static inline uint32_t adp_table_buckets(uint32_t capacity)
{
    uint32_t buckets = 2; /* an even number keeps the rows aligned */
    while (buckets < capacity && buckets < UINT32_C(1) << 31)
        buckets *= 2;
    return buckets;
}

static inline uint32_t adp_table_payload(uint32_t payload)
{
    return (payload + 7u) & ~7u;
}

/* Bytes of the block for `capacity` rows (1 to 2^24) of `payload` bytes (at most 2^16).
 */
static inline uint64_t adp_table_bytes(uint32_t capacity, uint32_t payload)
{
    return sizeof(struct adp_table) +
           adp_table_buckets(capacity) * (uint64_t)sizeof(uint32_t) +
           capacity * (uint64_t)(sizeof(struct adp_row) + adp_table_payload(payload));
}

static inline uint32_t *adp_table_bucket(struct adp_table *t, uint64_t key)
{
    uint32_t *bucket = (uint32_t *)(void *)(t + 1);
    return bucket + (adp_mix64(key) & (t->buckets - 1u));
}

static inline struct adp_row *adp_table_row(struct adp_table *t, uint32_t i)
{
    unsigned char *rows = (unsigned char *)(t + 1) + t->buckets * sizeof(uint32_t);
    return (struct adp_row *)(void *)(rows +
                                      i * (sizeof(struct adp_row) + (size_t)t->payload));
}

/* Makes an empty table of a block of adp_table_bytes(capacity, payload) bytes, aligned
 * for uint64_t; also empties one. [control] */
static inline struct adp_table *adp_table_init(void *block, uint32_t capacity,
                                               uint32_t payload)
{
    struct adp_table *t = (struct adp_table *)block;
    memset(t, 0, sizeof *t);
    t->capacity = capacity;
    t->payload = adp_table_payload(payload);
    t->buckets = adp_table_buckets(capacity);
    t->oldest = t->newest = ADP_NO_ROW;
    memset(t + 1, 0xff, t->buckets * sizeof(uint32_t)); /* ADP_NO_ROW in each */
    for (uint32_t i = 0; i < capacity; i++)
        adp_table_row(t, i)->chain = i + 1 < capacity ? i + 1 : ADP_NO_ROW;
    t->unused = 0;
    return t;
}

static inline void adp_table_unlist(struct adp_table *t, struct adp_row *row)
{
    *(row->older == ADP_NO_ROW ? &t->oldest : &adp_table_row(t, row->older)->newer) =
        row->newer;
    *(row->newer == ADP_NO_ROW ? &t->newest : &adp_table_row(t, row->newer)->older) =
        row->older;
}

static inline void adp_table_list(struct adp_table *t, struct adp_row *row, uint32_t i)
{
    row->older = t->newest;
    row->newer = ADP_NO_ROW;
    *(t->newest == ADP_NO_ROW ? &t->oldest : &adp_table_row(t, t->newest)->newer) = i;
    t->newest = i;
}

static inline uint32_t adp_table_index(struct adp_table *t, uint64_t key)
{
    uint32_t i = *adp_table_bucket(t, key);
    while (i != ADP_NO_ROW && adp_table_row(t, i)->key != key)
        i = adp_table_row(t, i)->chain;
    return i;
}

/* The payload of a key, or NULL. Does not touch it. Valid until the key is removed or
 * evicted. [hot] */
static inline void *adp_table_find(struct adp_table *t, uint64_t key)
{
    uint32_t i = adp_table_index(t, key);
    return i == ADP_NO_ROW ? NULL : adp_table_row(t, i) + 1;
}

/* The longest idle row, which the next new key in a full table replaces: its payload, or
 * NULL in an empty table. On success *ret_key is its key and *ret_used_ns the time it was
 * last touched; both may be NULL. [hot] */
static inline void *adp_table_oldest(struct adp_table *t, uint64_t *ret_key,
                                     uint64_t *ret_used_ns)
{
    if (t->oldest == ADP_NO_ROW)
        return NULL;
    struct adp_row *row = adp_table_row(t, t->oldest);
    if (ret_key)
        *ret_key = row->key;
    if (ret_used_ns)
        *ret_used_ns = row->used_ns;
    return row + 1;
}

/* Whether a new key would evict. [hot] */
static inline bool adp_table_full(const struct adp_table *t)
{
    return t->count == t->capacity;
}

/* Forgets a key; whether it was there. [hot] */
static inline bool adp_table_remove(struct adp_table *t, uint64_t key)
{
    uint32_t *link = adp_table_bucket(t, key);
    while (*link != ADP_NO_ROW && adp_table_row(t, *link)->key != key)
        link = &adp_table_row(t, *link)->chain;
    if (*link == ADP_NO_ROW)
        return false;
    uint32_t i = *link;
    struct adp_row *row = adp_table_row(t, i);
    *link = row->chain;
    adp_table_unlist(t, row);
    row->chain = t->unused;
    t->unused = i;
    t->count--;
    return true;
}

/* The payload of a key, now the last touched. A key that was not there gets a zeroed one;
 * in a full table the longest idle row makes room for it: who must settle something of
 * that row first asks adp_table_full and adp_table_oldest. On return *ret_new says
 * whether the key is new; may be NULL. Never NULL. [hot] */
static inline void *adp_table_touch(struct adp_table *t, uint64_t key, uint64_t now_ns,
                                    bool *ret_new)
{
    uint32_t i = adp_table_index(t, key);
    if (ret_new)
        *ret_new = i == ADP_NO_ROW;
    if (i == ADP_NO_ROW) {
        if (adp_table_full(t))
            adp_table_remove(t, adp_table_row(t, t->oldest)->key);
        i = t->unused;
        struct adp_row *fresh = adp_table_row(t, i);
        uint32_t *bucket = adp_table_bucket(t, key);
        t->unused = fresh->chain;
        fresh->key = key;
        fresh->chain = *bucket;
        *bucket = i;
        memset(fresh + 1, 0, t->payload);
        t->count++;
    } else {
        adp_table_unlist(t, adp_table_row(t, i));
    }
    struct adp_row *row = adp_table_row(t, i);
    row->used_ns = now_ns;
    adp_table_list(t, row, i);
    return row + 1;
}

/* The row after `row` (NULL: the first), from the longest idle to the last touched; NULL
 * at the end. Its payload is at `row + 1`. The table must not change in between. O(1) a
 * row: decide may walk a small table, or the part of a large one that was touched lately,
 * by adp_table_prev. */
static inline struct adp_row *adp_table_next(struct adp_table *t,
                                             const struct adp_row *row)
{
    uint32_t i = row ? row->newer : t->oldest;
    return i == ADP_NO_ROW ? NULL : adp_table_row(t, i);
}

/* The row before `row` (NULL: the last touched), from there to the longest idle. */
static inline struct adp_row *adp_table_prev(struct adp_table *t,
                                             const struct adp_row *row)
{
    uint32_t i = row ? row->older : t->newest;
    return i == ADP_NO_ROW ? NULL : adp_table_row(t, i);
}

/* Bytes that adp_table_save writes at most: for adp_policy.max_saved. */
#define ADP_TABLE_SAVED_BYTES(capacity, payload)                                         \
    ADP_SAVED_BYTES(8u + (capacity) * (16u + (((payload) + 7u) & ~7u)))

/* Writes all rows as one part, the longest idle first; `layout` as in adp_saved_write.
 * Returns the bytes written, 0 when `cap` is too small. [control] */
static inline uint64_t adp_table_save(const struct adp_table *table, void *to,
                                      uint64_t cap, uint32_t layout)
{
    struct adp_table *t = (struct adp_table *)table; /* only read */
    const uint64_t row_bytes = 16u + (uint64_t)t->payload;
    const uint64_t len = 8u + t->count * row_bytes;
    const uint32_t head[2] = { t->payload, t->count };
    if (cap < sizeof(struct adp_saved) || cap - sizeof(struct adp_saved) < len)
        return 0;
    unsigned char *at = (unsigned char *)to + sizeof(struct adp_saved);
    memcpy(at, head, sizeof head);
    at += sizeof head;
    for (struct adp_row *row = adp_table_next(t, NULL); row;
         row = adp_table_next(t, row), at += row_bytes) {
        memcpy(at, &row->key, 8);
        memcpy(at + 8, &row->used_ns, 8);
        memcpy(at + 16, row + 1, t->payload);
    }
    return adp_saved_seal(to, layout, len);
}

/* Fills a table, emptied first, from what adp_table_save wrote; when it has less room,
 * the longest idle are left out. Returns the bytes of the part, or 0 and an empty table
 * when it is refused. [control] */
static inline uint64_t adp_table_restore(struct adp_table *t, const void *saved,
                                         uint64_t saved_len, uint32_t layout)
{
    uint64_t len = 0;
    uint32_t head[2]; /* payload, count */
    const uint64_t row_bytes = 16u + (uint64_t)t->payload;
    adp_table_init(t, t->capacity, t->payload);
    const unsigned char *at =
        (const unsigned char *)adp_saved_open(saved, saved_len, layout, &len);
    if (!at || len < sizeof head)
        return 0;
    memcpy(head, at, sizeof head);
    if (head[0] != t->payload || len != sizeof head + head[1] * row_bytes)
        return 0;
    at += sizeof head;
    for (uint32_t i = 0; i < head[1]; i++, at += row_bytes) {
        uint64_t key, used_ns;
        memcpy(&key, at, 8);
        memcpy(&used_ns, at + 8, 8);
        memcpy(adp_table_touch(t, key, used_ns, NULL), at + 16, t->payload);
    }
    return sizeof(struct adp_saved) + len;
}

#ifdef __cplusplus
}
#endif
#endif
