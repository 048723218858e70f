/* SPDX-License-Identifier: MIT */
/* Publishing (core/snapshot.h). */
#include "core/snapshot.h"

#include "core/history.h"
#include "core/line.h"
#include "core/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct adp_publisher {
    struct adp_region *region;
    bool recording, has_readings;
    struct adp_history *history;
    struct adp_metrics *empty; /* stands for the page before the first */
    uint64_t last_wall_ns;     /* when the page published last was measured */
    uint64_t number;
    const struct adp_supply *supply;
    uint32_t n_supply;
    struct adp_scratch *scratch;
    struct adp_line json, pool; /* metrics; names of replicas, empty without any */
    struct adp_reading readings[ADP_MAX_KNOWN];
    uint64_t replica_signals;           /* that policies read */
    bool too_many;                      /* replicas, and a policy reads them */
    struct adp_replicas replicas, told; /* told: what the record says of them */
};

/* Of the writer before; 0: there was none. What lies there may be anything: a number beyond
 * 2^53 no writer reaches, and no reader of JSON takes. */
static uint64_t last_number(const struct adp_region *region)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < adp_region_snapshots(region); i++) {
        uint64_t number = adp_region_snapshot(region, i)->number;
        last = number > last && number < 1ull << 53 ? number : last;
    }
    return last;
}

int adp_publisher_create(struct adp_publisher **ret, struct adp_region *region,
                         bool recording, struct adp_error *err)
{
    struct adp_publisher *p = calloc(1, sizeof *p);
    if (!p)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    p->region = region;
    p->recording = recording;
    p->number = last_number(region);
    adp_line_init(&p->json);
    adp_line_init(&p->pool);
    if (adp_history_create(&p->history, ADP_WINDOW_NS) < 0 ||
        adp_metrics_create(&p->empty) < 0 ||
        adp_scratch_create(&p->scratch, ADP_PAGE_SERIES) < 0) {
        adp_publisher_destroy(p);
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    *ret = p;
    return 0;
}

void adp_publisher_destroy(struct adp_publisher *publisher)
{
    if (!publisher)
        return;
    adp_history_destroy(publisher->history);
    adp_metrics_destroy(publisher->empty);
    adp_scratch_destroy(publisher->scratch);
    adp_line_finish(&publisher->json);
    adp_line_finish(&publisher->pool);
    free(publisher);
}

struct adp_metrics *adp_publisher_next(struct adp_publisher *publisher)
{
    return adp_history_next(publisher->history);
}

struct adp_metrics *adp_publisher_next_filled(struct adp_publisher *publisher)
{
    return adp_history_next_filled(publisher->history);
}

bool adp_publisher_has_metrics(const struct adp_publisher *publisher)
{
    uint64_t at_ns;
    return adp_history_last(publisher->history, &at_ns) != NULL;
}

void adp_publisher_supply(struct adp_publisher *publisher,
                          const struct adp_supply *supply, uint32_t n)
{
    publisher->supply = supply;
    publisher->n_supply = n;
}

void adp_publisher_replicas(struct adp_publisher *publisher, uint64_t signals)
{
    publisher->replica_signals = signals;
}

const struct adp_reading *adp_publisher_readings(const struct adp_publisher *publisher)
{
    return publisher->has_readings ? publisher->readings : NULL;
}

static bool in_use(const struct adp_region *region, uint64_t named)
{
    for (uint64_t g = 0; g < ADP_GENERATIONS; g++)
        if (atomic_load_explicit(adp_region_current(region, g), memory_order_relaxed) ==
            named)
            return true;
    uint32_t lanes = adp_region_shape(region)->lanes;
    for (uint32_t lane = 1; lane <= lanes; lane++) {
        struct adp_call *call = adp_region_call(region, lane);
        /* For its order only: the snapshot is named before the generation. */
        atomic_load_explicit(&call->generation, memory_order_seq_cst);
        if (atomic_load_explicit(&call->snapshot, memory_order_acquire) == named)
            return true;
    }
    return false;
}

/* An index that nobody reads, and that nobody will (core/snapshot.h, 2). */
static uint64_t free_snapshot(const struct adp_region *region)
{
    uint32_t n = adp_region_snapshots(region);
    for (uint64_t named = 1; named <= n; named++)
        if (!in_use(region, named))
            return named;
    return 0; /* not reached: there are more indices than lanes and generations */
}

static void fill(struct adp_snapshot *to, const struct adp_reading *readings, uint32_t n,
                 const struct adp_replicas *replicas, uint64_t number, uint64_t mono_ns)
{
    adp_replicas_copy(&to->replicas, replicas);
    to->number = number;
    to->mono_ns = mono_ns;
    to->first_expiry_ns = UINT64_MAX;
    to->present = 0;
    to->n = n;
    for (uint32_t i = 0; i < n; i++) {
        bool there = readings[i].why == ADP_WHY_PRESENT;
        to->value[i] = there ? readings[i].value : 0.0;
        to->expires_ns[i] = there ? readings[i].expires_ns : 0;
        if (there)
            to->present |= 1ull << i;
        if (there && readings[i].expires_ns < to->first_expiry_ns)
            to->first_expiry_ns = readings[i].expires_ns;
    }
}

static void record(struct adp_publisher *p, const struct adp_metrics *page, uint32_t n,
                   uint32_t generation, uint64_t mono_ns, uint64_t wall_ns)
{
    if (!p->recording)
        return;
    adp_line_clear(&p->json);
    adp_metrics_write(page, &p->json);
    size_t len = p->json.broken ? 0 : p->json.len;
    size_t pool_len = p->pool.broken ? 0 : p->pool.len;
    adp_replicas_narrow(&p->told, &p->replicas, adp_replicas_told(&p->replicas), mono_ns);
    size_t bytes = sizeof(struct adp_rec_snapshot) + n * sizeof(struct adp_rec_reading) +
                   (pool_len ? adp_replicas_bytes(&p->told) : 0) + pool_len;
    /* Rather than none: decisions will name it. */
    if (len > ADP_LINE_MAX || bytes + len > adp_ring_most(p->region, 0))
        len = 0;
    bytes += len;
    struct adp_rec_snapshot *r =
        adp_ring_begin(p->region, 0, bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes);
    if (!r)
        return;
    r->head.kind = ADP_REC_SNAPSHOT;
    r->head.at_ns = wall_ns;
    r->mono_ns = mono_ns;
    r->number = p->number;
    r->generation = generation;
    r->n_signals = n;
    r->metrics_len = (uint32_t)len;
    r->pool_len = (uint32_t)pool_len;
    r->n_series = adp_metrics_count(page);
    r->reserved = 0;
    struct adp_rec_reading *to = (struct adp_rec_reading *)(void *)(r + 1);
    for (uint32_t i = 0; i < n; i++)
        to[i] = (struct adp_rec_reading) { .value = p->readings[i].value,
                                           .age_s = p->readings[i].age_s,
                                           .source = (int16_t)p->readings[i].source,
                                           .why = (uint8_t)p->readings[i].why };
    uint8_t *at = (uint8_t *)(to + n);
    if (pool_len)
        at = adp_replicas_encode(&p->told, at);
    memcpy(at, p->json.text ? p->json.text : "", len);
    memcpy(at + len, p->pool.text ? p->pool.text : "", pool_len);
    adp_ring_commit(p->region, 0, (uint32_t)bytes);
}

/* Both in force all the same: a note, not an error. */
static int note_too_many(const struct adp_publisher *p, struct adp_error *err)
{
    if (!p->too_many)
        return 0;
    return adp_error_set(err, ADP_NOTE,
                         "the metrics tell of more than %u replicas, or of more readings "
                         "of them than %u: policies are shown none",
                         ADP_MAX_REPLICAS, ADP_REPLICA_CELLS);
}

static int note_ambiguous(const struct adp_publisher *p,
                          const struct adp_signals *signals, uint32_t n,
                          struct adp_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_reading *r = &p->readings[i];
        if (r->why != ADP_WHY_AMBIGUOUS)
            continue;
        const struct adp_expr *source =
            adp_signals_source(signals, i, (uint32_t)r->source, NULL);
        return adp_error_set(
            err, ADP_NOTE,
            "signal %s: source \"%s\" matches several series that differ in "
            "%s; declare aggregate: max, min, sum, mean or last, or narrow it "
            "with a label matcher",
            adp_signals_name(signals, i), adp_expr_text(source), r->differ);
    }
    return note_too_many(p, err);
}

/* Readings of metrics that were measured `age_ns` ago. */
static void grow_old(struct adp_publisher *p, uint32_t n, uint64_t age_ns,
                     uint64_t mono_ns)
{
    for (uint32_t i = 0; i < n && age_ns; i++) {
        struct adp_reading *r = &p->readings[i];
        if (r->why != ADP_WHY_PRESENT && r->why != ADP_WHY_STALE)
            continue;
        r->age_s += (double)age_ns * 1e-9;
        if (r->why == ADP_WHY_PRESENT && r->expires_ns <= mono_ns)
            r->why = ADP_WHY_STALE;
    }
}

/* The host's own source goes first. What it cannot say is left to the others, and is the
 * reason only when no other source was there. */
static void ask_supply(struct adp_publisher *p, const struct adp_supply *s,
                       const struct adp_signals *signals, uint64_t mono_ns)
{
    struct adp_reading *r = &p->readings[s->signal];
    double lo, hi, value = s->read(s->user);
    uint64_t limit = adp_signals_age_limit(signals, s->signal);
    adp_signals_range(signals, s->signal, &lo, &hi);
    struct adp_reading own = {
        .why = isfinite(value) ? ADP_WHY_OUT_OF_RANGE : ADP_WHY_NOT_FINITE,
        .source = (int32_t)adp_signals_sources(signals, s->signal),
    };
    if (isfinite(value) && value >= lo && value <= hi) {
        own.why = ADP_WHY_PRESENT;
        own.value = value;
        own.taken = 1;
        own.expires_ns = limit > UINT64_MAX - mono_ns ? UINT64_MAX : mono_ns + limit;
    } else if (r->why != ADP_WHY_NEVER_SUPPLIED) {
        return;
    }
    *r = own;
}

static void list_pool(struct adp_line *to, const struct adp_str *names, uint32_t rows)
{
    adp_line_clear(to);
    for (uint32_t i = 0; i < rows; i++) {
        adp_line_puts(to, i ? "," : "[");
        adp_line_string(to, names[i].p, names[i].n);
    }
    if (rows)
        adp_line_puts(to, "]");
}

/* All signals for the record, if they fit: the log of a watch can be replayed by a policy
 * that nobody thought of then. Else those that policies read. */
static void evaluate_replicas(struct adp_publisher *p, const struct adp_signals *signals,
                              const struct adp_bound *bound,
                              const struct adp_moment *moment, uint64_t measured_ns)
{
    struct adp_str names[ADP_MAX_REPLICAS];
    uint32_t n = adp_signals_count(signals), rows = 0;
    uint64_t all = n == ADP_MAX_KNOWN ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    uint64_t wanted = p->replica_signals & all;
    bool any = bound->pool || !bound->loose;
    if (any && (p->recording || wanted))
        rows = adp_replicas_names(moment->now, names);
    if (p->recording && adp_replicas_fit(rows, all))
        wanted = all;
    p->too_many = p->replica_signals && !adp_replicas_fit(rows, wanted);
    if (!adp_replicas_fit(rows, wanted))
        rows = 0;
    list_pool(&p->pool, names, p->recording ? rows : 0);
    adp_replicas_begin(&p->replicas, rows, wanted);
    adp_signals_read_replicas(signals, bound, moment, measured_ns,
                              (double)p->last_wall_ns * 1e-9, p->scratch, names,
                              &p->replicas);
}

/* `page`: filled next or published last, measured at `measured_ns`. */
static void evaluate(struct adp_publisher *p, const struct adp_metrics *page,
                     const struct adp_signals *signals, uint64_t measured_ns,
                     uint64_t mono_ns)
{
    struct adp_moment moment = { .now = page };
    struct adp_bound bound;
    if (page != p->empty)
        adp_history_look(p->history, page, measured_ns, &moment);
    adp_signals_bind(signals, page, &bound);
    adp_signals_read_bound(signals, &bound, &moment, measured_ns,
                           (double)p->last_wall_ns * 1e-9, p->scratch, p->readings);
    evaluate_replicas(p, signals, &bound, &moment, measured_ns);
    grow_old(p, adp_signals_count(signals),
             mono_ns > measured_ns ? mono_ns - measured_ns : 0, mono_ns);
    for (uint32_t i = 0; i < p->n_supply; i++)
        ask_supply(p, &p->supply[i], signals, mono_ns);
    p->has_readings = true;
}

/* Reads `page` and puts it in force. */
static void put(struct adp_publisher *p, const struct adp_metrics *page,
                const struct adp_signals *signals, uint32_t generation,
                uint64_t measured_ns, uint64_t mono_ns, uint64_t wall_ns)
{
    uint32_t n = adp_signals_count(signals);
    evaluate(p, page, signals, measured_ns, mono_ns);
    p->number++;

    uint64_t named = free_snapshot(p->region);
    fill(adp_region_snapshot(p->region, (uint32_t)named - 1), p->readings, n,
         &p->replicas, p->number, mono_ns);
    /* The record goes first: a decision that names this snapshot is drained after it. */
    record(p, page, n, generation, mono_ns, wall_ns);
    atomic_store_explicit(adp_region_current(p->region, generation), named,
                          memory_order_seq_cst);
}

int adp_publisher_again(struct adp_publisher *publisher,
                        const struct adp_signals *signals, uint32_t generation,
                        uint64_t mono_ns, uint64_t wall_ns, struct adp_error *err)
{
    struct adp_publisher *p = publisher;
    uint64_t measured_ns = mono_ns;
    const struct adp_metrics *page = adp_history_last(p->history, &measured_ns);
    put(p, page ? page : p->empty, signals, generation, measured_ns, mono_ns, wall_ns);
    return note_ambiguous(p, signals, adp_signals_count(signals), err);
}

int adp_publisher_publish(struct adp_publisher *publisher,
                          const struct adp_signals *signals, uint32_t generation,
                          uint64_t mono_ns, uint64_t wall_ns, struct adp_error *err)
{
    struct adp_publisher *p = publisher;
    p->last_wall_ns = wall_ns;
    put(p, adp_history_next_filled(p->history), signals, generation, mono_ns, mono_ns,
        wall_ns);
    adp_history_keep(p->history, mono_ns);
    return note_ambiguous(p, signals, adp_signals_count(signals), err);
}

bool adp_publisher_least(struct adp_publisher *publisher,
                         const struct adp_signals *signals, uint32_t signal, double *ret)
{
    struct adp_publisher *p = publisher;
    struct adp_moment moment;
    struct adp_bound bound;
    uint64_t measured_ns;
    const struct adp_metrics *page = adp_history_last(p->history, &measured_ns);
    if (!page)
        return false;
    adp_history_look(p->history, page, measured_ns, &moment);
    adp_signals_bind(signals, page, &bound);
    return adp_signals_least(signals, &bound, &moment, signal, measured_ns,
                             (double)p->last_wall_ns * 1e-9, p->scratch, ret);
}

void adp_publisher_forget(struct adp_publisher *publisher, uint64_t generation)
{
    atomic_store_explicit(adp_region_current(publisher->region, generation), 0,
                          memory_order_seq_cst);
}

int adp_publisher_generation(struct adp_publisher *publisher, uint32_t generation,
                             uint32_t n_policies, uint32_t n_signals, const void *texts,
                             uint32_t len, uint64_t wall_ns)
{
    atomic_store_explicit(adp_region_newest(publisher->region), generation,
                          memory_order_release);
    if (!publisher->recording)
        return 0;
    struct adp_rec_generation *r =
        adp_ring_begin(publisher->region, 0, (uint32_t)sizeof *r + len);
    if (!r)
        return ADP_EFULL;
    r->head.kind = ADP_REC_GENERATION;
    r->head.at_ns = wall_ns;
    r->generation = generation;
    r->n_policies = n_policies;
    r->n_signals = n_signals;
    r->text_len = len;
    memcpy(r + 1, texts, len);
    adp_ring_commit(publisher->region, 0, (uint32_t)sizeof *r + len);
    return 0;
}

void adp_publisher_scrape_error(struct adp_publisher *publisher, const char *text,
                                uint64_t wall_ns)
{
    if (!publisher->recording)
        return;
    uint32_t len = (uint32_t)strnlen(text, 4096);
    struct adp_rec_text *r =
        adp_ring_begin(publisher->region, 0, (uint32_t)sizeof *r + len);
    if (!r)
        return;
    r->head.kind = ADP_REC_SCRAPE_ERROR;
    r->head.at_ns = wall_ns;
    r->len = len;
    r->reserved = 0;
    memcpy(r + 1, text, len);
    adp_ring_commit(publisher->region, 0, (uint32_t)sizeof *r + len);
}
