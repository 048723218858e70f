/* SPDX-License-Identifier: MIT */
/* <admitperf/runtime.h>: opening, starting, lanes, publishing, deciding, closing. */
#include "core/error.h"
#include "core/promtext.h"
#include "runtime/host/reach.h"
#include "runtime/host/state.h"
#include "runtime/host/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

enum { LANES = 16, RING_KB = 1024, CONTROL_BYTES = 8 << 20, TICKETS = 4096 };

/* --- time --- */

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t machine_wall(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_REALTIME);
}

static uint64_t machine_mono(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_MONOTONIC);
}

static const struct adp_clock machine = { NULL, machine_wall, machine_mono,
                                          machine_mono };

/* --- open --- */

static void note_unused(const struct adp_config *c, adp_errors *errors)
{
    struct adp_place nowhere = { 0 };
    if (c->has_scrape)
        adp_errors_add(errors, ADP_NOTE, c->file, nowhere,
                       "scrape: is not used in-process; the host publishes its metrics");
    if (c->has_serve)
        adp_errors_add(errors, ADP_NOTE, c->file, nowhere,
                       "serve: is not used in-process");
}

/* But for the log's path, which is no template: assemble.c takes it from the scene. */
static void set_scene(struct adp_config *c, const struct adp_host_scene *scene)
{
    if (!c->split_salt)
        c->split_salt = c->experiment ? c->experiment : "";
    c->experiment = scene->experiment;
    c->run = scene->run;
    c->notes = scene->notes;
    c->disclosure_json = scene->disclosure_json;
    c->log_none = false;
    c->rotate_bytes = 0;
}

static int open_config(adp_runtime **ret, struct adp_config *config,
                       const struct adp_host_options *options, adp_errors *errors)
{
    struct adp_place nowhere = { 0 };
    adp_runtime *rt = calloc(1, sizeof *rt);
    if (!rt) {
        adp_errors_add(errors, ADP_ENOMEM, config->file, nowhere, "out of memory");
        adp_config_destroy(config);
        return ADP_ENOMEM;
    }
    rt->config = config;
    if (options)
        rt->options = *options;
    if (options && options->scene)
        set_scene(config, options->scene);
    rt->clock = options && options->clock ? *options->clock : machine;
    pthread_mutex_init(&rt->lanes_mutex, NULL);
    int code = adp_host_assemble(rt, errors);
    if (code < 0) {
        adp_runtime_close(rt, NULL);
        return code;
    }
    note_unused(config, errors);
    adp_host_note_reach(config, rt->loaded, rt->params, errors);
    *ret = rt;
    return 0;
}

int adp_host_open(adp_runtime **ret, const char *path,
                  const struct adp_host_options *options, adp_errors *errors)
{
    struct adp_config *config;
    adp_errors unread = { 0 }, *to = errors ? errors : &unread;
    int code = adp_config_draft_file(&config, path, to);
    if (code >= 0)
        code = open_config(ret, config, options, to);
    adp_errors_free(&unread);
    return code;
}

int adp_host_open_text(adp_runtime **ret, const char *text, const char *name,
                       const char *folder, const struct adp_host_options *options,
                       adp_errors *errors)
{
    struct adp_config *config;
    adp_errors unread = { 0 }, *to = errors ? errors : &unread;
    int code = adp_config_draft_text(&config, text, strlen(text), name, folder, to);
    if (code >= 0)
        code = open_config(ret, config, options, to);
    adp_errors_free(&unread);
    return code;
}

int adp_runtime_open(adp_runtime **ret, const char *path, adp_errors *errors)
{
    return adp_host_open(ret, path, NULL, errors);
}

int adp_runtime_open_text(adp_runtime **ret, const char *text, const char *name,
                          adp_errors *errors)
{
    return adp_host_open_text(ret, text, name, ".", NULL, errors);
}

const struct adp_config *adp_host_config(const adp_runtime *rt)
{
    return rt->config;
}

const struct adp_loaded *adp_host_policy(const adp_runtime *rt, uint32_t i)
{
    return i < rt->config->n_policies ? rt->loaded[i] : NULL;
}

const char *adp_host_log_path(const adp_runtime *rt)
{
    return rt->log_path;
}

/* --- start --- */

static int make_region(adp_runtime *rt, adp_error *err)
{
    struct adp_shape shape = {
        .lanes = rt->options.lanes ? rt->options.lanes : LANES,
        .ring_bytes = (rt->options.ring_kb ? rt->options.ring_kb : RING_KB) << 10,
        .control_bytes = CONTROL_BYTES,
        .tickets = TICKETS,
    };
    uint64_t instance = rt->options.instance;
    if (!instance && getrandom(&instance, sizeof instance, 0) != sizeof instance)
        return adp_error_set(err, ADP_EIO, "no random number to be had: %s",
                             strerror(errno));
    rt->memory_bytes = adp_region_bytes(&shape);
    void *at = mmap(NULL, rt->memory_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED)
        return adp_error_set(err, ADP_ENOMEM, "no memory for the region of %zu bytes",
                             rt->memory_bytes);
    rt->memory = at;
    return adp_region_create(&rt->region, at, rt->memory_bytes, &shape, instance, err);
}

static int record_words(adp_runtime *rt, adp_error *err)
{
    struct adp_line packed;
    adp_line_init(&packed);
    int code = adp_host_words(&packed, rt->config, rt->loaded, rt->params, rt->hash);
    if (code == 0)
        adp_publisher_generation(rt->publisher, rt->generation->number,
                                 rt->config->n_policies, rt->generation->n_signals,
                                 packed.text, (uint32_t)packed.len,
                                 rt->clock.wall_ns(rt->clock.ctx));
    else
        adp_error_set(err, code, "out of memory");
    adp_line_finish(&packed);
    return code;
}

static int open_log(adp_runtime *rt, adp_error *err)
{
    struct adp_drain *drain;
    int code = adp_drain_create(&drain, rt->region, rt->config->log_inline, err);
    if (code < 0)
        return code;
    struct adp_log_options options = {
        .path = rt->log_path,
        .rotate_bytes = rt->config->rotate_bytes,
        .keep = rt->config->keep,
        .clock = &rt->clock,
    };
    code = adp_log_open_take(&rt->log, &options, drain, err);
    if (code == 0 && !rt->options.own_thread)
        code = adp_log_start(rt->log, err);
    return code;
}

int adp_runtime_start(adp_runtime *rt, adp_error *err)
{
    if (rt->started)
        return adp_error_set(err, ADP_ESTATE, "the runtime is started already");
    bool recording = rt->log_path != NULL;
    int code = make_region(rt, err);
    if (code == 0)
        code = adp_publisher_create(&rt->publisher, rt->region, recording, err);
    if (code == 0)
        code = record_words(rt, err);
    if (code == 0 && recording)
        code = open_log(rt, err);
    rt->started = code == 0;
    return code;
}

/* --- lanes --- */

int adp_lane_open(adp_lane **ret, adp_runtime *rt, adp_error *err)
{
    if (!rt->started)
        return adp_error_set(err, ADP_ESTATE, "the runtime is not started");
    uint32_t lanes = adp_region_shape(rt->region)->lanes;
    pthread_mutex_lock(&rt->lanes_mutex);
    uint32_t i = 0;
    while (i < lanes && rt->lane_open[i])
        i++;
    int code = 0;
    if (i == lanes)
        code = adp_error_set(err, ADP_EFULL, "all %u lanes are open", lanes);
    else if (!rt->lane[i])
        code = adp_lane_create(&rt->lane[i], rt->region, i + 1, &rt->clock,
                               rt->log_path != NULL, err);
    if (code == 0) {
        rt->lane[i]->host = rt;
        rt->lane_open[i] = true;
        *ret = rt->lane[i];
    }
    pthread_mutex_unlock(&rt->lanes_mutex);
    return code;
}

void adp_lane_close(adp_lane *lane)
{
    if (!lane)
        return;
    adp_runtime *rt = lane->host;
    pthread_mutex_lock(&rt->lanes_mutex);
    rt->lane_open[lane->number - 1] = false;
    pthread_mutex_unlock(&rt->lanes_mutex);
}

/* --- publishing --- */

static int publish(adp_runtime *rt, adp_error *err)
{
    return adp_publisher_publish(rt->publisher, rt->config->signals,
                                 rt->generation->number, rt->clock.mono_ns(rt->clock.ctx),
                                 rt->clock.wall_ns(rt->clock.ctx), err);
}

int adp_runtime_publish_text(adp_runtime *rt, const char *page, size_t len,
                             adp_error *err)
{
    if (!rt->started)
        return adp_error_set(err, ADP_ESTATE, "the runtime is not started");
    int code = adp_promtext_read(adp_publisher_next(rt->publisher), page, len, NULL, err);
    return code < 0 ? code : publish(rt, err);
}

static int add_metric(struct adp_metrics *to, const adp_metric *m, adp_error *err)
{
    struct adp_label labels[ADP_METRICS_MAX_LABELS];
    uint32_t n = 0;
    if (!m->name)
        return adp_error_set(err, ADP_EINVAL, "a metric without a name");
    for (const char *const *l = m->labels; l && l[0] && l[1]; l += 2) {
        if (n == ADP_METRICS_MAX_LABELS)
            return adp_error_set(err, ADP_EFULL, "metric %s: more than %u labels",
                                 m->name, ADP_METRICS_MAX_LABELS);
        labels[n].name = (struct adp_str) { l[0], strlen(l[0]) };
        labels[n++].value = (struct adp_str) { l[1], strlen(l[1]) };
    }
    return adp_metrics_add(to, (struct adp_str) { m->name, strlen(m->name) }, labels, n,
                           m->value, false, 0, err);
}

int adp_runtime_publish(adp_runtime *rt, const adp_metric *metrics, uint32_t n,
                        adp_error *err)
{
    if (!rt->started)
        return adp_error_set(err, ADP_ESTATE, "the runtime is not started");
    struct adp_metrics *to = adp_publisher_next(rt->publisher);
    for (uint32_t i = 0; i < n; i++) {
        int code = add_metric(to, &metrics[i], err);
        if (code < 0)
            return code;
    }
    return publish(rt, err);
}

/* --- deciding --- */

int adp_lane_decide(adp_lane *lane, const adp_facts *facts, adp_decision *ret)
{
    adp_runtime *rt = lane->host;
    return adp_decide(lane, &rt->generations, facts, NULL, ret, NULL);
}

int adp_lane_decide_with(adp_lane *lane, const adp_metric *metrics, uint32_t n,
                         const adp_facts *facts, adp_decision *ret)
{
    adp_runtime *rt = lane->host;
    adp_metrics_clear(lane->now);
    for (uint32_t i = 0; i < n; i++)
        add_metric(lane->now, &metrics[i], NULL); /* one that does not fit is absent */
    return adp_decide(lane, &rt->generations, facts, lane->now, ret, NULL);
}

static struct adp_outcome outcome_of(const adp_result *r, uint64_t now_ns)
{
    return (struct adp_outcome) {
        .size = sizeof(struct adp_outcome),
        .kind = r->end ? r->end : ADP_DONE,
        .present = r->present,
        .http_status = r->status,
        .now_ns = now_ns,
        .prompt_tokens = r->prompt_tokens,
        .output_tokens = r->output_tokens,
        .ttft_ms = r->ttft_ms,
        .total_ms = r->total_ms,
    };
}

int adp_lane_outcome(adp_lane *lane, uint64_t id, const char *request_id,
                     const adp_result *result)
{
    adp_runtime *rt = lane->host;
    struct adp_name name, kept;
    adp_name_set(&name, request_id);
    struct adp_outcome outcome = outcome_of(result, rt->clock.mono_ns(rt->clock.ctx));
    int code = adp_ticket_settle(lane, &rt->generations, id, &name, &outcome, &id, &kept);
    if (code == 0 && kept.p)
        adp_lane_put_outcome(lane, id, &kept, result);
    else
        adp_lane_put_outcome(lane, id, &name, result);
    return code;
}

/* --- counts, flush, close --- */

void adp_runtime_stats(const adp_runtime *rt, adp_stats *ret)
{
    adp_runtime *r = (adp_runtime *)rt; /* for its mutexes */
    adp_stats s = { .size = sizeof s, .lost_tickets = rt->settled_lost };
    if (rt->started) {
        pthread_mutex_lock(&r->lanes_mutex);
        uint32_t lanes = adp_region_shape(rt->region)->lanes;
        for (uint32_t i = 0; i < lanes; i++) {
            struct adp_lane *l = rt->lane[i];
            if (!l)
                continue;
            s.lanes += rt->lane_open[i];
            s.decisions += atomic_load_explicit(&l->decisions, memory_order_relaxed);
            s.outcomes += atomic_load_explicit(&l->outcomes, memory_order_relaxed);
            s.faults += atomic_load_explicit(&l->faults, memory_order_relaxed);
            s.lost_tickets +=
                atomic_load_explicit(&l->lost_tickets, memory_order_relaxed);
        }
        for (uint32_t i = 0; i <= lanes; i++)
            s.dropped += atomic_load_explicit(&adp_region_ring(rt->region, i)->dropped,
                                              memory_order_relaxed);
        pthread_mutex_unlock(&r->lanes_mutex);
    }
    if (rt->log) {
        struct adp_log_count c = adp_log_counts(rt->log);
        s.lines = c.lines;
        s.bytes = c.bytes;
        s.write_errors = c.write_errors;
    }
    *ret = s;
}

int adp_runtime_reopen(adp_runtime *rt, adp_error *err)
{
    if (!rt->started)
        return adp_error_set(err, ADP_ESTATE, "the runtime is not started");
    if (rt->log)
        adp_log_reopen(rt->log);
    return 0;
}

int adp_runtime_flush(adp_runtime *rt, adp_error *err)
{
    return rt->log ? adp_log_flush(rt->log, err) : 0;
}

int adp_runtime_close(adp_runtime *rt, adp_error *err)
{
    if (!rt)
        return 0;
    for (uint32_t i = 0; rt->region && i < adp_region_shape(rt->region)->lanes; i++)
        if (rt->lane[i])
            rt->settled_lost += adp_ticket_lose_all(rt->region, i + 1, &rt->generations,
                                                    rt->clock.mono_ns(rt->clock.ctx));
    int code = adp_log_close(rt->log, err);
    for (uint32_t i = 0; i < ADP_MAX_LANES; i++)
        adp_lane_destroy(rt->lane[i]);
    adp_publisher_destroy(rt->publisher);
    adp_region_destroy(rt->region);
    if (rt->memory)
        munmap(rt->memory, rt->memory_bytes);
    adp_host_disassemble(rt);
    pthread_mutex_destroy(&rt->lanes_mutex);
    free(rt);
    return code;
}

size_t adp_error_print(const adp_error *err, char *to, size_t cap)
{
    return adp_error_format(err, to, cap);
}

const char *adp_version(void)
{
    return ADP_VERSION;
}
