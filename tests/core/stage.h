/* SPDX-License-Identifier: MIT */
/* A stage for tests of the deciding core: a small region, an injected clock, policies
 * written in the test, a drain whose lines are read back with jansson. Included by one
 * file of a program. */
#ifndef ADP_TESTS_CORE_STAGE_H
#define ADP_TESTS_CORE_STAGE_H

#include "core/decide.h"
#include "core/drain.h"
#include "core/snapshot.h"
#include "core/ticket.h"
#include "core/write.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct stage {
    uint64_t now_ns; /* the injected clock: mono; wall is 1,000 s ahead of it */
    struct adp_clock clock;
    void *memory;
    struct adp_region *region;
    struct adp_publisher *publisher;
    struct adp_lane *lane[2];
    struct adp_signals *signals;
    struct adp_generation *generation;
    struct adp_generations generations;
    struct adp_drain *drain;
    struct adp_line lines;
};

static uint64_t stage_instance = 0xabc; /* for the next stage_open */

/* Atomic: a log's thread asks for the wall clock while the test goes on. */
static uint64_t stage_mono(void *ctx)
{
    return __atomic_load_n(&((struct stage *)ctx)->now_ns, __ATOMIC_RELAXED);
}

static uint64_t stage_wall(void *ctx)
{
    return stage_mono(ctx) + 1000000000000u;
}

static uint64_t stage_meter(void *ctx)
{
    return stage_mono(ctx);
}

/* The words a host would record, as small as they may be. */
static void stage_words(struct stage *s)
{
    struct adp_line packed;
    adp_line_init(&packed);
    const char *const texts[] = { "\"experiment\":\"e\"", "\"v\":1" };
    for (int i = 0; i < 2; i++)
        adp_words_add(&packed, texts[i], strlen(texts[i]));
    for (uint32_t i = 0; i < s->generation->n_members; i++) {
        char name[64];
        int n = snprintf(name, sizeof name, "\"policy\":\"p%u\"", i);
        adp_words_add(&packed, name, (size_t)n);
        adp_words_add(&packed, "\"params\":{}", strlen("\"params\":{}"));
    }
    for (uint32_t i = 0; i < adp_signals_count(s->signals); i++) {
        char key[80];
        int n = snprintf(key, sizeof key, "\"%s\":", adp_signals_name(s->signals, i));
        adp_words_add(&packed, key, (size_t)n);
        uint32_t sources = adp_signals_sources(s->signals, i);
        adp_words_add_count(&packed, sources);
        for (uint32_t k = 0; k < sources; k++) {
            struct adp_line text;
            adp_line_init(&text);
            adp_line_string_or_null(
                &text, adp_expr_text(adp_signals_source(s->signals, i, k, NULL)));
            adp_words_add(&packed, text.text, text.len);
            adp_line_finish(&text);
        }
    }
    adp_publisher_generation(s->publisher, 1, s->generation->n_members,
                             adp_signals_count(s->signals), packed.text,
                             (uint32_t)packed.len, stage_wall(s));
    adp_line_finish(&packed);
}

/* `policies`: NULL-terminated; the first governs. Each policy's own signals are bound by
 * name. */
static void stage_open(struct stage *s, const struct adp_policy *const *policies,
                       uint32_t ring_bytes, uint32_t tickets)
{
    static const double params[ADP_MAX_PARAMS] = { 0.9, 32 };
    struct adp_shape shape = {
        .lanes = 2, .ring_bytes = ring_bytes, .control_bytes = 1 << 20, .tickets = tickets
    };
    memset(s, 0, sizeof *s);
    s->now_ns = 5000000000u;
    s->clock = (struct adp_clock) { s, stage_wall, stage_mono, stage_meter };
    size_t bytes = adp_region_bytes(&shape);
    s->memory = aligned_alloc(ADP_LINE_BYTES, (bytes + 63) & ~(size_t)63);
    ck_assert_ptr_nonnull(s->memory);
    memset(s->memory, 0, bytes);
    ck_assert_int_eq(
        adp_region_create(&s->region, s->memory, bytes, &shape, stage_instance, NULL), 0);
    ck_assert_int_eq(adp_publisher_create(&s->publisher, s->region, true, NULL), 0);
    ck_assert_int_eq(adp_signals_create(&s->signals, NULL), 0);
    for (uint32_t i = 0; i < 2; i++)
        ck_assert_int_eq(
            adp_lane_create(&s->lane[i], s->region, i + 1, &s->clock, true, NULL), 0);
    ck_assert_int_eq(adp_drain_create(&s->drain, s->region, false, NULL), 0);
    adp_line_init(&s->lines);

    size_t size = (sizeof *s->generation + 63) & ~(size_t)63;
    s->generation = aligned_alloc(ADP_LINE_BYTES, size);
    ck_assert_ptr_nonnull(s->generation);
    memset(s->generation, 0, size);
    struct adp_generation *g = s->generation;
    g->number = 1;
    g->enforce = 1.0;
    g->salt = "e";
    g->salt_len = 1;
    g->ticket_ns = 10000000000u;
    g->signals = s->signals;
    g->n_signals = adp_signals_count(s->signals);
    for (; policies[g->n_members]; g->n_members++) {
        struct adp_member *m = &g->member[g->n_members];
        m->policy = policies[g->n_members];
        m->param = params;
        m->self = s;
        uint64_t per_replica = 0;
        for (uint32_t i = 0; i < m->policy->n_signals; i++) {
            int known = adp_signals_find(s->signals, m->policy->signals[i].name);
            ck_assert_int_ge(known, 0);
            m->slot_of[i] = (uint32_t)known;
            if (m->policy->signals[i].flags & ADP_REPLICAS)
                per_replica |= UINT64_C(1) << i;
        }
        adp_member_reads_replicas(g, m, per_replica);
    }
    adp_publisher_replicas(s->publisher, g->replica_signals);
    s->generations.table[1] = g;
    s->generations.current = 1;
    stage_words(s);
}

static void stage_close(struct stage *s)
{
    adp_line_finish(&s->lines);
    adp_drain_destroy(s->drain);
    for (uint32_t i = 0; i < 2; i++)
        adp_lane_destroy(s->lane[i]);
    adp_publisher_destroy(s->publisher);
    adp_signals_destroy(s->signals);
    adp_region_destroy(s->region);
    free(s->generation);
    free(s->memory);
}

/* Publishes kv and queue under vLLM's names; a negative value leaves that metric out. */
static inline void stage_publish(struct stage *s, double kv, double queue)
{
    struct adp_metrics *m = adp_publisher_next(s->publisher);
    const struct {
        const char *name;
        double value;
    } given[] = { { "vllm:kv_cache_usage_perc", kv },
                  { "vllm:num_requests_waiting", queue } };
    for (int i = 0; i < 2; i++)
        if (given[i].value >= 0)
            ck_assert_int_eq(
                adp_metrics_add(m,
                                (struct adp_str) { given[i].name, strlen(given[i].name) },
                                NULL, 0, given[i].value, false, 0, NULL),
                0);
    ck_assert_int_eq(adp_publisher_publish(s->publisher, s->signals, 1, s->now_ns,
                                           stage_wall(s), NULL),
                     0);
}

static inline struct adp_decision stage_decide(struct stage *s, const char *id)
{
    struct adp_facts facts = { .size = sizeof facts, .request_id = id };
    struct adp_decision d;
    ck_assert_int_eq(adp_decide(s->lane[0], &s->generations, &facts, NULL, &d, NULL), 0);
    return d;
}

/* Drains everything into an array of parsed lines; every line must parse. */
static inline json_t *stage_lines(struct stage *s)
{
    json_t *all = json_array();
    adp_line_clear(&s->lines);
    while (adp_drain_run(s->drain, &s->lines, SIZE_MAX))
        ;
    const char *at = s->lines.text, *end = at ? at + s->lines.len : at;
    while (at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        ck_assert_ptr_nonnull(nl);
        json_error_t error;
        json_t *line = json_loadb(at, (size_t)(nl - at), JSON_REJECT_DUPLICATES, &error);
        ck_assert_msg(line != NULL, "%s: %.*s", error.text, (int)(nl - at), at);
        json_array_append_new(all, line);
        at = nl + 1;
    }
    return all;
}

/* The i-th line that has `key`; NULL when there is none. */
static inline json_t *stage_line(json_t *all, const char *key, size_t i)
{
    size_t at;
    json_t *line;
    json_array_foreach(all, at,
                       line) if (json_object_get(line, key) && i-- == 0) return line;
    return NULL;
}

static inline const char *stage_text(json_t *line, const char *key)
{
    return json_string_value(json_object_get(line, key));
}

#endif
