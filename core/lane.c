/* SPDX-License-Identifier: MIT */
/* Lanes: working memory, string facts, raw series and outcomes as records (core/lane.h).
 */
#include "core/lane.h"

#include "core/line.h"
#include "core/pen.h"
#include "core/record.h"
#include "core/ticket.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const uint64_t LEAST_WINDOW_NS =
    1000000000u; /* growth of counters is read over this */

int adp_lane_create(struct adp_lane **ret, struct adp_region *region, uint32_t number,
                    const struct adp_clock *clock, bool recording, struct adp_error *err)
{
    struct adp_lane *lane =
        aligned_alloc(ADP_LINE_BYTES, (sizeof *lane + ADP_LINE_BYTES - 1) &
                                          ~(size_t)(ADP_LINE_BYTES - 1));
    if (!lane)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    memset(lane, 0, sizeof *lane);
    lane->region = region;
    lane->clock = clock;
    lane->number = number;
    lane->recording = recording;
    lane->call = adp_region_call(region, number);
    lane->tickets = adp_region_tickets(region, number);
    lane->index = adp_region_index(region, number);
    lane->ticket_mask = adp_region_shape(region)->tickets - 1;
    lane->wall_at_ns = 0 - (uint64_t)LEAST_WINDOW_NS; /* long ago */
    if (adp_sheet_init(&lane->sheet[0], 0) < 0 ||
        adp_sheet_init(&lane->sheet[1], 1) < 0 ||
        adp_scratch_create(&lane->scratch, ADP_LANE_SERIES) < 0 ||
        !(lane->replicas = calloc(1, sizeof *lane->replicas))) {
        adp_lane_destroy(lane);
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    lane->now = lane->sheet[0].metrics;
    lane->before = lane->sheet[1].metrics;
    adp_ticket_resume(lane);
    *ret = lane;
    return 0;
}

void adp_lane_destroy(struct adp_lane *lane)
{
    if (!lane)
        return;
    adp_sheet_finish(&lane->sheet[0]);
    adp_sheet_finish(&lane->sheet[1]);
    adp_scratch_destroy(lane->scratch);
    free(lane->replicas);
    free(lane);
}

static size_t put_hex(char *to, uint64_t value)
{
    for (int i = 15; i >= 0; i--, value >>= 4)
        to[i] = "0123456789abcdef"[value & 15];
    return 16;
}

size_t adp_name_set(struct adp_name *name, const char *text)
{
    name->p = NULL;
    name->n = 0;
    name->hash = 0;
    if (!text)
        return 0;
    size_t len = strlen(text);
    memset(name->own, 0, sizeof name->own);
    name->p = name->own;
    if (len <= ADP_ID_MAX && adp_pen_keeps(text, len)) {
        memcpy(name->own, text, len);
        name->n = (uint8_t)len;
        /* Of the host's bytes, the same as ours: ours were written this moment. */
        name->hash = XXH3_64bits(text, len);
        return len;
    }
    XXH128_hash_t h = XXH3_128bits(text, len);
    memcpy(name->own, "xxh3:", 5);
    size_t at = 5;
    at += put_hex(name->own + at, h.high64);
    at += put_hex(name->own + at, h.low64);
    name->n = (uint8_t)at;
    name->hash = XXH3_64bits(name->own, at);
    return len;
}

struct adp_sheet *adp_lane_sheet(struct adp_lane *lane)
{
    lane->given = &lane->sheet[lane->now == lane->sheet[1].metrics];
    return lane->given;
}

static struct adp_moment moment_of(const struct adp_lane *lane,
                                   const struct adp_metrics *metrics, uint64_t mono_ns)
{
    struct adp_moment moment = { .now = metrics };
    uint64_t since = mono_ns > lane->before_ns ? mono_ns - lane->before_ns : 0;
    if (lane->has_before && since) {
        moment.before = lane->before;
        moment.elapsed_s = (double)since * 1e-9;
    }
    return moment;
}

void adp_lane_read(struct adp_lane *lane, const struct adp_signals *signals,
                   const struct adp_bound *bound, const struct adp_metrics *metrics,
                   uint64_t mono_ns, uint64_t wall_ns)
{
    struct adp_moment moment = moment_of(lane, metrics, mono_ns);
    double wall_s = (double)wall_ns * 1e-9;
    if (bound)
        adp_signals_read_bound(signals, bound, &moment, mono_ns, wall_s, lane->scratch,
                               lane->readings);
    else
        adp_signals_read(signals, &moment, mono_ns, wall_s, lane->scratch,
                         lane->readings);
}

void adp_lane_read_replicas(struct adp_lane *lane, const struct adp_signals *set,
                            uint64_t signals, const struct adp_bound *bound,
                            const struct adp_metrics *metrics, uint64_t mono_ns,
                            uint64_t wall_ns)
{
    struct adp_replicas *seen = &lane->replicas->seen;
    struct adp_moment moment = moment_of(lane, metrics, mono_ns);
    struct adp_str names[ADP_MAX_REPLICAS];
    struct adp_bound own;
    uint32_t rows = adp_replicas_names(metrics, names);
    adp_replicas_begin(seen, adp_replicas_fit(rows, signals) ? rows : 0, signals);
    if (!seen->rows)
        return;
    if (!bound) {
        adp_signals_bind(set, metrics, &own);
        bound = &own;
    }
    adp_signals_read_replicas(set, bound, &moment, mono_ns, (double)wall_ns * 1e-9,
                              lane->scratch, names, seen);
}

void adp_lane_keep(struct adp_lane *lane, uint64_t mono_ns)
{
    if (lane->has_before && mono_ns - lane->before_ns < LEAST_WINDOW_NS)
        return;
    struct adp_metrics *before = lane->before;
    lane->before = lane->now;
    lane->now = before;
    lane->before_ns = mono_ns;
    lane->has_before = true;
}

/* --- raw series --- */

struct packed_series {
    double value;
    uint32_t bytes; /* of this series, with head and padding */
    uint16_t name_len, n_labels;
    /* n_labels × two uint16_t lengths; name; each label's name and value */
};

static size_t packed_size(const struct adp_series *s)
{
    size_t n = sizeof(struct packed_series) + s->n_labels * 4u + s->name.n;
    for (uint32_t i = 0; i < s->n_labels; i++)
        n += s->labels[i].name.n + s->labels[i].value.n;
    return (n + 7) & ~(size_t)7;
}

bool adp_lane_packs(const struct adp_series *s)
{
    if (s->name.n > UINT16_MAX)
        return false;
    for (uint32_t i = 0; i < s->n_labels; i++)
        if (s->labels[i].name.n > UINT16_MAX || s->labels[i].value.n > UINT16_MAX)
            return false;
    return true;
}

static uint8_t *put(uint8_t *to, const void *from, size_t n)
{
    if (n)
        memcpy(to, from, n);
    return to + n;
}

static void pack(const struct adp_series *s, uint8_t *to, size_t bytes)
{
    struct packed_series head = { .value = s->value,
                                  .bytes = (uint32_t)bytes,
                                  .name_len = (uint16_t)s->name.n,
                                  .n_labels = (uint16_t)s->n_labels };
    uint8_t *end = to + bytes;
    to = put(to, &head, sizeof head);
    for (uint32_t i = 0; i < s->n_labels; i++) {
        uint16_t lens[2] = { (uint16_t)s->labels[i].name.n,
                             (uint16_t)s->labels[i].value.n };
        to = put(to, lens, sizeof lens);
    }
    to = put(to, s->name.p, s->name.n);
    for (uint32_t i = 0; i < s->n_labels; i++) {
        to = put(to, s->labels[i].name.p, s->labels[i].name.n);
        to = put(to, s->labels[i].value.p, s->labels[i].value.n);
    }
    memset(to, 0, (size_t)(end - to));
}

size_t adp_lane_encode(const struct adp_metrics *metrics, uint8_t *to, size_t cap)
{
    size_t need = 0;
    uint32_t count = adp_metrics_count(metrics);
    for (uint32_t i = 0; i < count; i++) {
        const struct adp_series *s = adp_metrics_at(metrics, i);
        if (adp_lane_packs(s))
            need += packed_size(s);
    }
    if (need > cap)
        return need;
    for (uint32_t i = 0; i < count; i++) {
        const struct adp_series *s = adp_metrics_at(metrics, i);
        if (!adp_lane_packs(s))
            continue;
        size_t n = packed_size(s);
        pack(s, to, n);
        to += n;
    }
    return need;
}

size_t adp_lane_step(const uint8_t *from, size_t left)
{
    struct packed_series head;
    if (left < sizeof head)
        return 0;
    memcpy(&head, from, sizeof head);
    if (head.bytes > left || head.bytes < sizeof head || head.bytes % 8)
        return 0;
    return head.bytes;
}

/* One series. ADP_ESYNTAX: it is not whole; ADP_ENOMEM. */
static int unpack(const uint8_t *from, size_t left, struct adp_metrics *metrics,
                  size_t *ret_bytes)
{
    struct packed_series head;
    struct adp_label labels[ADP_METRICS_MOST_LABELS];
    uint16_t lens[ADP_METRICS_MOST_LABELS][2];
    if (!adp_lane_step(from, left))
        return ADP_ESYNTAX;
    memcpy(&head, from, sizeof head);
    if (head.n_labels > ADP_METRICS_MOST_LABELS)
        return ADP_ESYNTAX;
    size_t at = sizeof head, need = at + head.n_labels * 4u + head.name_len;
    if (need > head.bytes)
        return ADP_ESYNTAX;
    memcpy(lens, from + at, head.n_labels * 4u);
    at += head.n_labels * 4u;
    for (uint32_t i = 0; i < head.n_labels; i++)
        need += lens[i][0] + lens[i][1];
    if (need > head.bytes)
        return ADP_ESYNTAX;
    struct adp_str name = { (const char *)from + at, head.name_len };
    at += head.name_len;
    for (uint32_t i = 0; i < head.n_labels; i++) {
        labels[i].name = (struct adp_str) { (const char *)from + at, lens[i][0] };
        at += lens[i][0];
        labels[i].value = (struct adp_str) { (const char *)from + at, lens[i][1] };
        at += lens[i][1];
    }
    int added =
        adp_metrics_add(metrics, name, labels, head.n_labels, head.value, false, 0, NULL);
    if (added < 0)
        return added == ADP_ENOMEM ? ADP_ENOMEM : ADP_ESYNTAX;
    *ret_bytes = head.bytes;
    return 0;
}

int adp_lane_decode(const uint8_t *from, size_t len, struct adp_metrics *metrics)
{
    adp_metrics_clear(metrics);
    for (size_t at = 0; at < len;) {
        size_t n = 0;
        int code = unpack(from + at, len - at, metrics, &n);
        if (code < 0)
            return code;
        at += n;
    }
    return 0;
}

/* --- outcomes --- */

enum {
    EXTRAS = 128,      /* of one outcome */
    EXTRA_TEXT = 4096, /* bytes of their names and texts; below UINT16_MAX */
    EXTRA_PADDED = sizeof(struct adp_rec_extra) + 7
};

/* What an outcome still takes. */
struct room {
    size_t extras, text;
};

/* Takes out those between that are written as `name` is. */
static uint8_t *remove_extra(uint8_t *from, const uint8_t *to, const char *name,
                             size_t len, struct room *room)
{
    struct adp_rec_extra e;
    uint8_t *kept = from;
    for (const uint8_t *at = from; at < to; at += e.bytes) {
        memcpy(&e, at, sizeof e);
        if (adp_pen_alike((const char *)at + sizeof e, e.name_len, name, len)) {
            room->extras++;
            room->text += (size_t)e.name_len + e.text_len;
            continue;
        }
        memmove(kept, at, e.bytes);
        kept += e.bytes;
    }
    return kept;
}

static bool has_room(const struct room *room, size_t name_len, size_t text_len)
{
    return room->extras && name_len <= room->text && text_len <= room->text - name_len;
}

/* The host's own facts. What no longer fits is left out whole, and with it what is there under
 * its name: the last is what counts. */
static uint8_t *put_extra(const struct adp_result *result, uint8_t *from)
{
    struct room room = { EXTRAS, EXTRA_TEXT };
    uint8_t *to = from;
    for (uint32_t i = 0; i < result->n_extra; i++) {
        const struct adp_extra *extra = &result->extra[i];
        size_t name_len = extra->name ? strlen(extra->name) : 0;
        if (!name_len)
            continue;
        size_t text_len = extra->text ? strlen(extra->text) : 0;
        if (!has_room(&room, name_len, text_len))
            to = remove_extra(from, to, extra->name, name_len, &room);
        if (!has_room(&room, name_len, text_len))
            continue;
        room.text -= name_len + text_len;
        room.extras--;
        size_t bytes = (EXTRA_PADDED + name_len + text_len) & ~(size_t)7;
        struct adp_rec_extra head = { .number = extra->number,
                                      .bytes = (uint32_t)bytes,
                                      .name_len = (uint16_t)name_len,
                                      .text_len = (uint16_t)text_len,
                                      .is_text = extra->text != NULL };
        uint8_t *at = put(to, &head, sizeof head);
        at = put(at, extra->name, name_len);
        at = put(at, extra->text, text_len);
        memset(at, 0, (size_t)(to + bytes - at));
        to += bytes;
    }
    return to;
}

void adp_lane_put_outcome(struct adp_lane *lane, uint64_t id,
                          const struct adp_name *request, const struct adp_result *result)
{
    uint64_t outcomes = atomic_load_explicit(&lane->outcomes, memory_order_relaxed);
    atomic_store_explicit(&lane->outcomes, outcomes + 1, memory_order_relaxed);
    if (!lane->recording)
        return;
    size_t extras = result->n_extra < EXTRAS ? result->n_extra : EXTRAS;
    size_t extra_cap = extras ? extras * EXTRA_PADDED + EXTRA_TEXT : 0;
    struct adp_rec_outcome *r = adp_ring_begin(
        lane->region, lane->number, (uint32_t)(sizeof *r + extra_cap + ADP_ID_MAX));
    if (!r)
        return;
    r->head.kind = ADP_REC_OUTCOME;
    r->head.at_ns = lane->clock->wall_ns(lane->clock->ctx);
    r->id = id;
    r->prompt_tokens = result->prompt_tokens;
    r->output_tokens = result->output_tokens;
    r->ttft_ms = result->ttft_ms;
    r->total_ms = result->total_ms;
    r->present = result->present;
    r->end = result->end;
    r->status = result->status;
    r->ok = result->ok;
    r->fact_bits = request->p ? ADP_REC_HAS_ID : 0;
    r->id_len = request->p ? request->n : 0;
    uint8_t *extra = (uint8_t *)(r + 1);
    uint8_t *to = put_extra(result, extra);
    r->extra_len = (uint32_t)(to - extra);
    to = put(to, request->p, r->id_len);
    adp_ring_commit(lane->region, lane->number, (uint32_t)(to - (uint8_t *)r));
}
