/* SPDX-License-Identifier: MIT */
/* The demo: the simulated engine driven through the real runtime. */
#include "runtime/lab/demo.h"

#include "runtime/host/host.h"
#include "runtime/lab/engine.h"
#include "runtime/lab/old_logs.h"

#include <admitperf/runtime.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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
    uint64_t now_ns; /* simulated */
    struct adp_clock clock;
    char sha256[N_POLICIES][65]; /* of the files as first loaded; "" before */
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

/* A YAML double-quoted scalar. Bytes above 0x7e stay as they are: a name that is no UTF-8
 * is then refused with the rest of the configuration. */
static void quote(FILE *yaml, const char *text)
{
    fputc('"', yaml);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
            fprintf(yaml, "\\x%02x", c);
        else
            fputc(c, yaml);
    }
    fputc('"', yaml);
}

/* The configuration of one run; freed by the caller. NULL: out of memory. */
static char *configure(const struct demo *demo, const struct policy *policy,
                       uint32_t repeat)
{
    const struct adp_demo_options *o = demo->options;
    char path[4200];
    char *text = NULL;
    size_t len;
    FILE *yaml = open_memstream(&text, &len);
    if (!yaml)
        return NULL;
    fprintf(yaml, "version: 1\nexperiment: %s\nrun: r%u\n", ADP_DEMO_EXPERIMENT, repeat);
    if (o->traffic)
        fputs("notes: simulated engine, no GPU; traffic read from a file\n", yaml);
    else
        fprintf(yaml, "notes: simulated engine, no GPU; seed %" PRIu64 "\n", o->seed);
    fprintf(yaml,
            "disclosure:\n"
            "  model: simulated\n"
            "  engine: \"%u slots, FIFO queue, %u KV tokens, tick %u ms\"\n"
            "  hardware: none\n"
            "  workload: \"%s%u KV tokens per request\"\n"
            "  slo: { ttft_ms: %u }\n"
            "  unloaded_ttft_ms: %u\n",
            ADP_ENGINE_SLOTS, ADP_ENGINE_KV_TOKENS, ADP_ENGINE_TICK_MS,
            o->traffic ? "" : "400 requests, Poisson, mean 10 per tick, 7..16 ticks, ",
            ADP_ENGINE_REQUEST_TOKENS, ADP_ENGINE_SLO_MS, ADP_ENGINE_TTFT_MS);
    fprintf(yaml, "policy: { use: %s%s", policy->name, policy->settings);
    /* Every repeat is to run the code that the first one loaded. */
    if (*demo->sha256[policy - policies])
        fprintf(yaml, ", sha256: %s", demo->sha256[policy - policies]);
    fputs(" }\nlog: { path: ", yaml);
    snprintf(path, sizeof path, "%s/{experiment}/{policy}/{run}.jsonl", o->out);
    quote(yaml, path);
    fputs(" }\n", yaml);
    bool broken = ferror(yaml) != 0;
    broken |= fclose(yaml) != 0;
    if (!broken)
        return text;
    free(text);
    return NULL;
}

static int open_runtime(adp_runtime **ret, struct demo *demo, const struct policy *policy,
                        uint32_t repeat, struct adp_error *err)
{
    char name[64];
    adp_errors errors = { 0 };
    /* One thread decides, and writes after each request: a small region does. */
    const struct adp_host_options options = {
        .clock = &demo->clock,
        .own_thread = true,
        .lanes = 1,
        .ring_kb = 256,
    };
    snprintf(name, sizeof name, "demo %s r%u", policy->name, repeat);
    char *yaml = configure(demo, policy, repeat);
    int failed = yaml ? adp_host_open_text(ret, yaml, name, ".", &options, &errors)
                      : adp_error_set(err, ADP_ENOMEM, "out of memory");
    if (failed && errors.n && err && !err->code)
        *err = errors.list[0];
    if (!failed)
        memcpy(demo->sha256[policy - policies], adp_host_policy(*ret, 0)->sha256,
               sizeof demo->sha256[0]);
    adp_errors_free(&errors);
    free(yaml);
    return failed;
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
    int failed = open_runtime(&run.runtime, demo, policy, repeat, err);
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
    for (const struct policy *p = policies; p < policies + N_POLICIES; p++) {
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
    int failed = 0;
    for (const struct policy *p = policies; p < policies + N_POLICIES && !failed; p++) {
        adp_runtime *runtime = NULL;
        failed = open_runtime(&runtime, demo, p, 1, err);
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

/* Takes the experiment's folder for this demo alone, making it if need be: *ret is open until
 * the end. Another demo in it would mix its lines with ours. */
static int take_folder(const char *out, int *ret, struct adp_error *err)
{
    char path[4200];
    int n = snprintf(path, sizeof path, "%s/%s/", out, ADP_DEMO_EXPERIMENT);
    if (n < 0 || (size_t)n >= sizeof path)
        return adp_error_at(err, ADP_EINVAL, out, 0, 0, "path is too long");
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return adp_error_at(err, ADP_EIO, path, 0, 0, "the folder cannot be made: %s",
                                strerror(errno));
        *slash = '/';
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return adp_error_at(err, ADP_EIO, path, 0, 0, "the folder cannot be opened: %s",
                            strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int code = errno;
        close(fd);
        if (code == EWOULDBLOCK)
            return adp_error_at(
                err, ADP_ESTATE, path, 0, 0,
                "another demo is writing here; wait for it, or name another "
                "folder with -o");
        return adp_error_at(err, ADP_EIO, path, 0, 0, "the folder cannot be locked: %s",
                            strerror(code));
    }
    *ret = fd;
    return 0;
}

int adp_demo_run(const struct adp_demo_options *options, struct adp_demo_result *ret,
                 struct adp_error *err)
{
    struct demo demo = { .options = options, .result = ret };
    demo.clock = (struct adp_clock) { &demo, simulated_ns, simulated_ns, real_ns };
    *ret = (struct adp_demo_result) { 0 };
    int folder = -1;
    int failed = rehearse(&demo, err);
    if (!failed)
        failed = take_folder(options->out, &folder, err);
    if (!failed)
        failed = adp_old_logs_remove(options->out, ADP_DEMO_EXPERIMENT, adp_demo_policies,
                                     err);
    for (uint32_t r = 1; r <= options->repeats && !failed && !stopped(&demo); r++)
        failed = run_repeat(&demo, r, err);
    ret->stopped = stopped(&demo);
    if (folder >= 0)
        close(folder);
    return failed;
}
