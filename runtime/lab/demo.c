/* SPDX-License-Identifier: MIT */
/* The demo: the simulated engine driven through the real runtime. */
#include "runtime/lab/demo.h"

#include "runtime/host/host.h"
#include "runtime/lab/engine.h"
#include "runtime/lab/old_logs.h"

#include <admitperf/runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* 105 = floor((1500 - 180) / 50 * 48 / 12): the SLO leaves 26.4 ticks of waiting, in
 * which 48 slots of 12 ticks each take up 105 requests. So it is fitted to the SLO; 0.90
 * is what people write without looking at one. */
static const struct policy {
    const char *name, *settings;
} policies[] = {
    { "no_admission", "" },
    { "kv_threshold",
      ", params: { threshold: 0.90 }, provenance: { threshold: default }" },
    { "queue_depth",
      ", params: { max_waiting: 105 }, provenance: { max_waiting: fitted }" },
};

enum { N_POLICIES = sizeof policies / sizeof policies[0] };

const char *const adp_demo_policies[] = { "no_admission", "kv_threshold", "queue_depth",
                                          NULL };

struct demo {
    const struct adp_demo_options *options;
    struct adp_demo_result *result;
    const struct policy *policies; /* that are run, one after the other */
    unsigned n_policies;
    char experiment[ADP_CONFIG_MAX_NAME + sizeof ADP_DEMO_EXPERIMENT "-"];
    uint64_t now_ns; /* simulated */
    struct adp_clock clock;
    /* Of the files as first loaded, those of shadows too; "" before. */
    char sha256[N_POLICIES][ADP_MAX_POLICIES][65];
    /* Of the runtime that is open; there is one at a time. */
    struct adp_host_scene scene;
    char run[16], notes[80], disclosure[512], log_path[5000];
};

/* One policy facing the traffic of one repeat. */
struct run {
    struct demo *demo;
    const struct adp_traffic *traffic;
    adp_runtime *runtime;
    adp_lane *lane;
    uint64_t *id; /* of each request's decision */
};

static uint64_t simulated_ns(void *ctx)
{
    const struct demo *demo = ctx;
    return demo->now_ns;
}

static uint64_t real_ns(void *ctx)
{
    struct timespec now;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int decide(void *ctx, uint32_t request, uint64_t now_ms,
                  const struct adp_engine_state *state, struct adp_error *err)
{
    struct run *run = ctx;
    struct demo *demo = run->demo;
    const adp_metric metrics[] = {
        { "vllm:kv_cache_usage_perc", NULL, state->kv },
        { "vllm:num_requests_running", NULL, state->running },
        { "vllm:num_requests_waiting", NULL, state->waiting },
    };
    adp_facts facts = { .size = sizeof facts,
                        .request_id = run->traffic->arrivals[request].id };
    adp_decision decision = { .size = sizeof decision };

    if (demo->options->stop && *demo->options->stop)
        return ADP_ENGINE_STOP;
    /* Written before more is recorded, so that no ring is ever near full. */
    int failed = adp_runtime_flush(run->runtime, err);
    if (failed)
        return failed;
    demo->now_ns = now_ms * 1000000u;
    failed = adp_runtime_publish(run->runtime, metrics, ADP_COUNT(metrics), err);
    if (!failed)
        failed = adp_lane_decide(run->lane, &facts, &decision);
    if (failed)
        return adp_error_set(err, failed, "the runtime does not decide");
    demo->result->decisions++;
    run->id[request] = decision.id;
    return decision.admitted ? ADP_ENGINE_ADMIT : ADP_ENGINE_REFUSE;
}

static int outcome(void *ctx, const struct adp_engine_outcome *o, struct adp_error *err)
{
    struct run *run = ctx;
    bool done = o->end == ADP_DONE;
    adp_result result = {
        .size = sizeof result,
        .end = o->end,
        .ok = o->started ? o->ok : -1,
        .present = (o->started ? (uint32_t)ADP_O_TTFT : 0u) |
                   (done ? (uint32_t)ADP_O_STATUS : 0u),
        .status = done ? 200 : 0,
        .ttft_ms = (double)o->ttft_ms,
    };
    run->demo->now_ns = o->now_ms * 1000000u;
    int failed = adp_lane_outcome(run->lane, run->id[o->request],
                                  run->traffic->arrivals[o->request].id, &result);
    /* ENOENT: its ticket was given up, too many or for too long; it is recorded all the
     * same. */
    if (failed && failed != ADP_ENOENT)
        return adp_error_set(err, failed, "the runtime takes no outcome");
    return adp_runtime_flush(run->runtime, err);
}

/* What the lines of this repeat say of where they come from. */
static void set_scene(struct demo *demo, const struct policy *policy, uint32_t repeat)
{
    const struct adp_demo_options *o = demo->options;
    snprintf(demo->run, sizeof demo->run, "r%u", repeat);
    if (o->traffic)
        snprintf(demo->notes, sizeof demo->notes,
                 "simulated engine, no GPU; traffic read from a file");
    else
        snprintf(demo->notes, sizeof demo->notes,
                 "simulated engine, no GPU; seed %" PRIu64, o->seed);
    snprintf(demo->disclosure, sizeof demo->disclosure,
             "{\"model\":\"simulated\","
             "\"engine\":\"%u slots, FIFO queue, %u KV tokens, tick %u ms\","
             "\"hardware\":\"none\","
             "\"workload\":\"%s%u KV tokens per request\","
             "\"slo\":{\"ttft_ms\":%u},\"unloaded_ttft_ms\":%u}",
             ADP_ENGINE_SLOTS, ADP_ENGINE_KV_TOKENS, ADP_ENGINE_TICK_MS,
             o->traffic ? "" : "400 requests, Poisson, mean 10 per tick, 7..16 ticks, ",
             ADP_ENGINE_REQUEST_TOKENS, ADP_ENGINE_SLO_MS, ADP_ENGINE_TTFT_MS);
    snprintf(demo->log_path, sizeof demo->log_path, "%s/%s/%s/%s.jsonl", o->out,
             demo->experiment, policy->name, demo->run);
    demo->scene = (struct adp_host_scene) {
        .experiment = demo->experiment,
        .run = demo->run,
        .notes = demo->notes,
        .disclosure_json = demo->disclosure,
        .log_path = demo->log_path,
    };
}

/* Every repeat is to run the code that the first one loaded. */
static int hold_to_files(const adp_runtime *runtime, char (*sha256)[65],
                         struct adp_error *err)
{
    const struct adp_loaded *loaded;
    for (uint32_t i = 0; (loaded = adp_host_policy(runtime, i)); i++) {
        if (!*sha256[i])
            memcpy(sha256[i], loaded->sha256, sizeof sha256[i]);
        if (strcmp(sha256[i], loaded->sha256) == 0)
            continue;
        return adp_error_at(err, ADP_ESTATE, loaded->path, 0, 0,
                            "is another file than when the demo began");
    }
    return 0;
}

/* On failure, the result has everything that is wrong with it, `err` the first. */
static int open_runtime(adp_runtime **ret, struct demo *demo, const struct policy *policy,
                        const struct adp_host_options *options, struct adp_error *err)
{
    char yaml[256], name[80];
    adp_errors errors = { 0 };
    adp_runtime *runtime;
    snprintf(yaml, sizeof yaml, "version: 1\nexperiment: %s\npolicy: { use: %s%s }\n",
             ADP_DEMO_EXPERIMENT, policy->name, policy->settings);
    snprintf(name, sizeof name, "demo %s", policy->name);
    int failed = demo->options->config
                     ? adp_host_open(&runtime, demo->options->config, options, &errors)
                     : adp_host_open_text(&runtime, yaml, name, ".", options, &errors);
    if (failed) {
        if (errors.n && err && !err->code)
            *err = errors.list[0];
        /* What was read is a text of our own: there is no line to go and look at. */
        for (size_t i = 0; i < errors.n && !demo->options->config; i++)
            errors.list[i].line = errors.list[i].column = 0;
        demo->result->errors = errors;
        return failed;
    }
    adp_errors_free(&errors); /* notes on what is unused in-process */
    failed = hold_to_files(runtime, demo->sha256[policy - demo->policies], err);
    if (failed)
        adp_runtime_close(runtime, NULL);
    else
        *ret = runtime;
    return failed;
}

static int open_repeat(adp_runtime **ret, struct demo *demo, const struct policy *policy,
                       uint32_t repeat, struct adp_error *err)
{
    /* One thread decides, and writes after each request: a small region does. */
    const struct adp_host_options options = {
        .clock = &demo->clock,
        .own_thread = true,
        .lanes = 1,
        .ring_kb = 256,
        .scene = &demo->scene,
    };
    set_scene(demo, policy, repeat);
    return open_runtime(ret, demo, policy, &options, err);
}

static int run_once(struct demo *demo, const struct policy *policy, uint32_t repeat,
                    const struct adp_traffic *traffic, struct adp_error *err)
{
    struct run run = { .demo = demo, .traffic = traffic };
    const struct adp_engine_calls calls = { &run, decide, outcome };
    demo->now_ns = 0;
    run.id = calloc(traffic->n, sizeof *run.id);
    if (!run.id)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    int failed = open_repeat(&run.runtime, demo, policy, repeat, err);
    if (!failed)
        failed = adp_runtime_start(run.runtime, err);
    if (!failed)
        failed = adp_lane_open(&run.lane, run.runtime, err);
    if (!failed)
        failed = adp_engine_run(traffic, &calls, err);
    if (run.lane)
        adp_lane_close(run.lane);
    int unwritten = run.runtime ? adp_runtime_close(run.runtime, err) : 0;
    free(run.id);
    return failed ? failed : unwritten;
}

static bool stopped(const struct demo *demo)
{
    return demo->options->stop && *demo->options->stop;
}

static int read_traffic(struct adp_traffic *ret, const char *folder, const char *policy,
                        uint32_t repeat, struct adp_error *err)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s-r%u.csv", folder, policy, repeat);
    if (n < 0 || (size_t)n >= sizeof path)
        return adp_error_at(err, ADP_EINVAL, folder, 0, 0, "path is too long");
    return adp_traffic_read_file(ret, path, err);
}

/* All policies on one repeat: on the very same traffic where it is drawn. */
static int run_repeat(struct demo *demo, uint32_t repeat, struct adp_error *err)
{
    const struct adp_demo_options *o = demo->options;
    struct adp_traffic traffic = { 0 };
    int failed = 0;
    if (!o->traffic)
        failed = adp_traffic_draw(&traffic, o->seed, repeat, err);
    const struct policy *end = demo->policies + demo->n_policies;
    for (const struct policy *p = demo->policies; p < end; p++) {
        if (failed || stopped(demo))
            break;
        if (o->traffic) {
            adp_traffic_finish(&traffic);
            failed = read_traffic(&traffic, o->traffic, p->name, repeat, err);
        }
        if (o->progress)
            o->progress(o->ctx, p->name, repeat);
        if (!failed)
            failed = run_once(demo, p, repeat, &traffic, err);
    }
    adp_traffic_finish(&traffic);
    return failed;
}

/* Whether every run could begin: policies load, traffic reads. */
static int rehearse(struct demo *demo, struct adp_error *err)
{
    const struct adp_demo_options *o = demo->options;
    const struct policy *end = demo->policies + demo->n_policies;
    int failed = 0;
    for (const struct policy *p = demo->policies; p < end && !failed; p++) {
        adp_runtime *runtime = NULL;
        failed = open_repeat(&runtime, demo, p, 1, err);
        if (!failed)
            failed = adp_runtime_close(runtime, err);
        for (uint32_t r = 1; o->traffic && r <= o->repeats && !failed; r++) {
            struct adp_traffic traffic;
            failed = read_traffic(&traffic, o->traffic, p->name, r, err);
            if (!failed)
                adp_traffic_finish(&traffic);
        }
    }
    return failed;
}

/* Who governs in the configuration, and what its experiment is called here. */
static int read_config(struct demo *demo, struct policy *ret, char name[64],
                       struct adp_error *err)
{
    const struct adp_host_options options = { .no_log = true };
    struct adp_demo_result *result = demo->result;
    adp_runtime *runtime;
    int failed = open_runtime(&runtime, demo, &policies[0], &options, err);
    if (failed)
        return failed;
    const char *experiment = adp_host_config(runtime)->experiment;
    snprintf(name, 64, "%s", adp_host_policy(runtime, 0)->policy.name);
    snprintf(demo->experiment, sizeof demo->experiment, ADP_DEMO_EXPERIMENT "-%s",
             experiment ? experiment : "unnamed");
    *ret = (struct policy) { name, "" };
    demo->policies = ret;
    demo->n_policies = 1;
    int n = snprintf(result->folder, sizeof result->folder, "%s/%s/%s",
                     demo->options->out, demo->experiment, name);
    failed = adp_runtime_close(runtime, err);
    if (n < 0 || (size_t)n >= sizeof result->folder)
        return adp_error_at(err, ADP_EINVAL, demo->options->out, 0, 0,
                            "path is too long");
    return failed;
}

int adp_demo_run(const struct adp_demo_options *options, struct adp_demo_result *ret,
                 struct adp_error *err)
{
    struct demo demo = { .options = options,
                         .result = ret,
                         .policies = policies,
                         .n_policies = N_POLICIES,
                         .experiment = ADP_DEMO_EXPERIMENT };
    char name[64];
    struct policy theirs;
    const char *const names[] = { name, NULL };
    demo.clock = (struct adp_clock) { &demo, simulated_ns, simulated_ns, real_ns };
    const struct adp_old_logs old = { .out = options->out,
                                      .experiment = demo.experiment,
                                      .policies =
                                          options->config ? names : adp_demo_policies };
    *ret = (struct adp_demo_result) { 0 };
    int folder = -1;
    int failed = options->config ? read_config(&demo, &theirs, name, err) : 0;
    if (!failed)
        failed = rehearse(&demo, err);
    if (!failed)
        failed = adp_old_logs_take_folder(options->out, demo.experiment, &folder, err);
    if (!failed)
        failed = adp_old_logs_remove(&old, 0, err);
    for (uint32_t r = 1; r <= options->repeats && !failed && !stopped(&demo); r++)
        failed = run_repeat(&demo, r, err);
    ret->stopped = stopped(&demo);
    if (folder >= 0)
        close(folder);
    return failed;
}
