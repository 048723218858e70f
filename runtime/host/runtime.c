/* SPDX-License-Identifier: MIT */
/* <admitperf/runtime.h>: opening, starting, lanes, deciding, counting, closing. Reload and
 * publishing are files of their own. */
#include "core/error.h"
#include "runtime/host/reach.h"
#include "runtime/host/state.h"
#include "runtime/host/words.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* A ring holds what comes at 0.9 M/s in 15 ms: the log's thread sleeps 5 when nothing came,
 * and may then wait for a processor. */
enum { LANES = 16, RING_KB = 4096, CONTROL_KB = 8192, TICKETS = 4096 };

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

void adp_host_note_unused(const struct adp_config *c, adp_errors *errors)
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
void adp_host_set_scene(const struct adp_runtime *rt, struct adp_config *c)
{
    const struct adp_host_scene *scene = rt->options.scene;
    if (!scene)
        return;
    if (!c->split_salt)
        c->split_salt = c->experiment ? c->experiment : "";
    c->experiment = scene->experiment;
    c->run = scene->run;
    c->notes = scene->notes;
    c->disclosure_json = scene->disclosure_json;
    c->log_none = false;
    c->rotate_bytes = 0;
}

/* The current directory and, of a file, its path from there. */
static int note_paths(adp_runtime *rt, const char *path)
{
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here))
        here[0] = '\0'; /* paths then start at the root, or are absolute */
    size_t n = strlen(here) + (path ? strlen(path) : 0) + 2;
    rt->folder = strdup(here);
    rt->path = path ? malloc(n) : NULL;
    if (!rt->folder || (path && !rt->path))
        return ADP_ENOMEM;
    if (path)
        snprintf(rt->path, n, "%s%s%s", *path == '/' ? "" : here, *path == '/' ? "" : "/",
                 path);
    return 0;
}

/* Where the kernel does not know such pages, a child is not told apart. */
static int make_here(adp_runtime *rt)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at =
        mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return ADP_ENOMEM;
    madvise(at, page, MADV_WIPEONFORK);
    rt->here = at;
    atomic_store_explicit(rt->here, ADP_HERE_OURS, memory_order_relaxed);
    return 0;
}

static int open_config(adp_runtime **ret, struct adp_config *config, const char *path,
                       const struct adp_host_options *options, adp_errors *errors)
{
    struct adp_place nowhere = { 0 };
    adp_runtime *rt = calloc(1, sizeof *rt);
    if (!rt || note_paths(rt, path) < 0 || make_here(rt) < 0) {
        adp_errors_add(errors, ADP_ENOMEM, config->file, nowhere, "out of memory");
        adp_config_destroy(config);
        if (rt) {
            free(rt->folder);
            free(rt->path);
        }
        free(rt);
        return ADP_ENOMEM;
    }
    if (options)
        rt->options = *options;
    adp_host_set_scene(rt, config);
    rt->clock = options && options->clock ? *options->clock : machine;
    pthread_mutex_init(&rt->control_mutex, NULL);
    pthread_mutex_init(&rt->lanes_mutex, NULL);
    rt->oldest = 1;
    if (rt->options.beyond)
        rt->oldest += (uint32_t)atomic_load_explicit(
            adp_region_newest(rt->options.beyond->region), memory_order_acquire);
    int code = adp_host_assemble_take(&rt->edition, rt, config, rt->oldest, NULL, errors);
    if (code < 0) {
        adp_runtime_close(rt, NULL);
        return code;
    }
    if (!rt->options.serving)
        adp_host_note_unused(config, errors);
    adp_host_note_reach(config, rt->edition->loaded, rt->edition->params, errors);
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
        code = open_config(ret, config, path, options, to);
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
        code = open_config(ret, config, NULL, options, to);
    adp_errors_free(&unread);
    return code;
}

int adp_host_open_config_take(adp_runtime **ret, struct adp_config *config,
                              const struct adp_host_options *options, adp_errors *errors)
{
    return open_config(ret, config, NULL, options, errors);
}

/* A thread is not cancelled between the two: it would leave half of a runtime. */
static int forbid_cancel(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static int allow_cancel(int before, int code)
{
    int ours;
    pthread_setcancelstate(before, &ours);
    return code;
}

int adp_runtime_open(adp_runtime **ret, const char *path, adp_errors *errors)
{
    adp_errors_free(errors);
    int before = forbid_cancel();
    return allow_cancel(before, adp_host_open(ret, path, NULL, errors));
}

int adp_runtime_open_text(adp_runtime **ret, const char *text, const char *name,
                          adp_errors *errors)
{
    adp_errors_free(errors);
    int before = forbid_cancel();
    return allow_cancel(before, adp_host_open_text(ret, text, name, ".", NULL, errors));
}

const struct adp_config *adp_host_config(const adp_runtime *rt)
{
    return rt->edition->config;
}

const struct adp_loaded *adp_host_policy(const adp_runtime *rt, uint32_t i)
{
    return i < rt->edition->config->n_policies ? rt->edition->loaded[i] : NULL;
}

const char *adp_host_log_path(const adp_runtime *rt)
{
    return rt->edition->log_path;
}

/* --- control --- */

/* A child that inherited the runtime before it was started, at its first call: the locks
 * may be held by threads of the parent, which are not here, and are made anew. What such a
 * thread was in the middle of stays as it was. Between taking the lock and writing `within`,
 * and from there to letting go, nothing is half done. */
static void settle(adp_runtime *rt)
{
    uint32_t seen = ADP_HERE_UNKNOWN;
    if (atomic_compare_exchange_strong_explicit(rt->here, &seen, ADP_HERE_SETTLING,
                                                memory_order_acquire,
                                                memory_order_acquire)) {
        bool torn = atomic_load_explicit(&rt->within, memory_order_relaxed) != 0;
        pthread_mutex_init(&rt->control_mutex, NULL);
        pthread_mutex_init(&rt->lanes_mutex, NULL);
        atomic_store_explicit(rt->here, torn ? ADP_HERE_TORN : ADP_HERE_OURS,
                              memory_order_release);
    }
    while (atomic_load_explicit(rt->here, memory_order_acquire) == ADP_HERE_SETTLING)
        sched_yield();
}

/* Whether a thread of the parent was in a [control] call when this process was forked. */
static bool is_torn(adp_runtime *rt)
{
    if (adp_host_is_inherited(rt))
        return false;
    settle(rt);
    return atomic_load_explicit(rt->here, memory_order_acquire) == ADP_HERE_TORN;
}

int adp_host_enter(adp_runtime *rt, adp_error *err)
{
    int code = adp_host_lock(rt, err);
    if (code < 0 || adp_host_is_started(rt))
        return code;
    adp_host_leave(rt);
    return adp_error_set(err, ADP_ESTATE, "the runtime is not started");
}

/* Relaxed: a thread finds itself there only where it has put itself. */
bool adp_host_is_within(const adp_runtime *rt)
{
    return atomic_load_explicit(&rt->within, memory_order_relaxed) == pthread_self();
}

int adp_host_lock(adp_runtime *rt, adp_error *err)
{
    if (adp_host_is_inherited(rt))
        return adp_error_set(err, ADP_ESTATE,
                             "the runtime was started by another process, before a fork; "
                             "open one here, or start after the fork");
    if (is_torn(rt))
        return adp_error_set(err, ADP_ESTATE,
                             "another thread was in a call of the runtime when this "
                             "process was forked; open one here");
    if (adp_host_is_within(rt))
        return adp_error_set(err, ADP_ESTATE,
                             "this thread is in a call of the runtime already: a "
                             "function that is a source must not call it");
    /* A call that ended in the middle would leave it locked. A thread that does nothing else
     * is cancelled before it has begun. */
    pthread_testcancel();
    int before = forbid_cancel();
    pthread_mutex_lock(&rt->control_mutex);
    rt->cancel_state = before;
    /* Acquire: nothing is begun before it is written, for a child of fork. */
    atomic_exchange_explicit(&rt->within, pthread_self(), memory_order_acq_rel);
    return 0;
}

void adp_host_leave(adp_runtime *rt)
{
    int before = rt->cancel_state;
    atomic_store_explicit(&rt->within, 0, memory_order_release);
    pthread_mutex_unlock(&rt->control_mutex);
    allow_cancel(before, 0);
}

/* --- start --- */

static int make_region(adp_runtime *rt, adp_error *err)
{
    struct adp_shape shape = {
        .lanes = rt->options.lanes ? rt->options.lanes : LANES,
        .ring_bytes = (rt->options.ring_kb ? rt->options.ring_kb : RING_KB) << 10,
        .control_bytes = (rt->options.control_kb ? rt->options.control_kb : CONTROL_KB)
                         << 10,
        .tickets = TICKETS,
    };
    uint64_t instance = rt->options.instance;
    if (rt->options.beyond) {
        rt->region = rt->options.beyond->region;
        return 0;
    }
    if (!instance && getrandom(&instance, sizeof instance, 0) != sizeof instance)
        return adp_error_set(err, ADP_EIO, "no random number to be had: %s",
                             strerror(errno));
    rt->memory_bytes = adp_region_bytes(&shape);
    void *at = mmap(NULL, rt->memory_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return adp_error_set(err, ADP_ENOMEM, "no memory for the region of %zu bytes",
                             rt->memory_bytes);
    rt->memory = at;
    return adp_region_create(&rt->region, at, rt->memory_bytes, &shape, instance, err);
}

int adp_host_record_words(adp_runtime *rt, const struct adp_edition *e, adp_error *err)
{
    struct adp_line packed;
    adp_line_init(&packed);
    const struct adp_host_scene *scene = rt->options.scene;
    int code = adp_host_words(&packed, e, scene);
    if (code < 0)
        adp_error_set(err, code, "out of memory");
    else if ((code = adp_publisher_generation(
                  rt->publisher, e->generation->number, e->config->n_policies,
                  e->generation->n_signals, packed.text, (uint32_t)packed.len,
                  rt->clock.wall_ns(rt->clock.ctx))) < 0)
        adp_error_set(err, code,
                      "the log is not being written, and has no room for the words of a "
                      "configuration");
    adp_line_finish(&packed);
    return code;
}

struct adp_log_options adp_host_log_options(const adp_runtime *rt,
                                            const struct adp_edition *e)
{
    return (struct adp_log_options) {
        .path = e->log_path,
        .rotate_bytes = e->config->rotate_bytes,
        .keep = e->config->keep,
        .clock = &rt->clock,
    };
}

static int open_log(adp_runtime *rt, adp_error *err)
{
    struct adp_drain *drain;
    int code = adp_drain_create(&drain, rt->region, rt->edition->config->log_inline, err);
    if (code < 0)
        return code;
    const struct adp_log_options options = adp_host_log_options(rt, rt->edition);
    code = adp_log_open_take(&rt->log, &options, drain, err);
    if (code == 0 && !rt->options.own_thread)
        code = adp_log_start(rt->log, err);
    return code;
}

/* The first edition, and what it is recorded to. */
static int start(adp_runtime *rt, adp_error *err)
{
    struct adp_edition *e = rt->edition;
    bool recording = adp_host_is_recording(rt);
    if (adp_host_is_started(rt))
        return adp_error_set(err, ADP_ESTATE, "the runtime is started already");
    if (rt->region)
        return adp_error_set(err, ADP_ESTATE, "the runtime could not be started before");
    adp_host_seal(rt, e, NULL);
    int code = make_region(rt, err);
    if (code == 0)
        code = adp_publisher_create(&rt->publisher, rt->region, recording, err);
    if (code == 0)
        code = adp_host_record_words(rt, e, err);
    if (code == 0 && recording && !rt->options.beyond)
        code = open_log(rt, err);
    if (code < 0)
        return code;
    adp_publisher_supply(rt->publisher, e->supply, e->n_supply);
    adp_publisher_replicas(rt->publisher, e->generation->replica_signals);
    rt->edition_of[rt->oldest % ADP_GENERATIONS] = e;
    adp_host_take_over_region(rt, e);
    adp_host_announce(rt, e);
    adp_generation_add(&rt->generations, e->generation);
    adp_generation_switch(&rt->generations, rt->oldest);
    atomic_store_explicit(&rt->started, true, memory_order_release);
    return 0;
}

int adp_runtime_start(adp_runtime *rt, adp_error *err)
{
    int code = adp_host_lock(rt, err);
    if (code < 0)
        return code;
    code = start(rt, err);
    adp_host_leave(rt);
    return code;
}

/* --- lanes --- */

/* Memory for all that is the lane's in the region, before it decides. Where the kernel does
 * not know how (before 5.14), the first lap finds it page by page. */
static void prefault(const struct adp_region *region, uint32_t lane)
{
#ifdef MADV_POPULATE_WRITE
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)adp_region_ring(region, lane) & ~(page - 1);
    uintptr_t to = (uintptr_t)adp_region_bytes_of(region, lane) +
                   adp_region_ring_bytes(region, lane);
    madvise((void *)from, to - from, MADV_POPULATE_WRITE);
#else
    (void)region, (void)lane;
#endif
}

int adp_lane_open(adp_lane **ret, adp_runtime *rt, adp_error *err)
{
    int code = adp_host_enter(rt, err);
    if (code < 0)
        return code;
    uint32_t lanes = adp_region_shape(rt->region)->lanes;
    pthread_mutex_lock(&rt->lanes_mutex);
    uint32_t i = 0;
    while (i < lanes && rt->lane_open[i])
        i++;
    if (i == lanes) {
        code = adp_error_set(err, ADP_EFULL, "all %u lanes are open", lanes);
    } else if (!rt->lane[i]) {
        prefault(rt->region, i + 1);
        code = adp_lane_create(&rt->lane[i], rt->region, i + 1, &rt->clock,
                               adp_host_is_recording(rt), err);
    }
    if (code == 0) {
        rt->lane[i]->host = rt;
        rt->lane_open[i] = true;
        *ret = rt->lane[i];
    }
    pthread_mutex_unlock(&rt->lanes_mutex);
    adp_host_leave(rt);
    return code;
}

void adp_lane_close(adp_lane *lane)
{
    if (!lane)
        return;
    adp_runtime *rt = lane->host;
    if (adp_host_is_inherited(rt))
        return;
    pthread_mutex_lock(&rt->lanes_mutex);
    rt->lane_open[lane->number - 1] = false;
    pthread_mutex_unlock(&rt->lanes_mutex);
}

/* --- deciding --- */

/* Bytes of what callers fill, as version 1 had it: who says less has filled no such thing. */
enum {
    FACTS_1 = offsetof(adp_facts, ttft_deadline_ms) + sizeof(double),
    RESULT_1 = offsetof(adp_result, extra) + sizeof(const adp_extra *)
};

/* Nothing is decided and nothing recorded; the host goes on. */
static int decide_nothing(adp_decision *ret, int code)
{
    *ret = (adp_decision) {
        .size = sizeof *ret, .admitted = 1, .action = ADP_ADMIT, .status = 200
    };
    return code;
}

/* 0, or why nothing can be decided. */
static int may_decide(const adp_runtime *rt, const adp_facts *facts)
{
    if (adp_host_is_inherited(rt))
        return ADP_ESTATE;
    return facts && facts->size < FACTS_1 ? ADP_EINVAL : 0;
}

int adp_lane_decide(adp_lane *lane, const adp_facts *facts, adp_decision *ret)
{
    adp_runtime *rt = lane->host;
    int code = may_decide(rt, facts);
    if (code < 0)
        return decide_nothing(ret, code);
    return adp_decide(lane, &rt->generations, facts, NULL, ret, NULL);
}

int adp_lane_decide_with(adp_lane *lane, const adp_metric *metrics, uint32_t n,
                         const adp_facts *facts, adp_decision *ret)
{
    adp_runtime *rt = lane->host;
    int code = may_decide(rt, facts);
    if (code < 0)
        return decide_nothing(ret, code);
    adp_sheet_fill(adp_lane_sheet(lane), metrics, n);
    return adp_decide(lane, &rt->generations, facts, lane->now, ret, NULL);
}

int adp_lane_decide_ids(adp_lane *lane, const adp_sample *samples, uint32_t n,
                        const adp_facts *facts, adp_decision *ret)
{
    adp_runtime *rt = lane->host;
    int code = may_decide(rt, facts);
    if (code < 0)
        return decide_nothing(ret, code);
    /* Acquire: their names are there. */
    uint32_t known = atomic_load_explicit(&rt->n_interned, memory_order_acquire);
    adp_sheet_fill_ids(adp_lane_sheet(lane), known ? rt->interned : NULL, known, samples,
                       n);
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
    if (adp_host_is_inherited(rt))
        return ADP_ESTATE;
    if (result->size < RESULT_1 ||
        result->end > ADP_CANCELLED) /* not run and lost are for us to say */
        return ADP_EINVAL;
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

static void count_lanes(adp_runtime *rt, adp_stats *s)
{
    uint32_t lanes = adp_region_shape(rt->region)->lanes;
    pthread_mutex_lock(&rt->lanes_mutex);
    s->lost_tickets = rt->settled_lost;
    s->generation = rt->edition->generation->number;
    s->config = rt->edition->hash;
    s->generations = s->generation - rt->oldest + 1;
    for (uint32_t i = 0; i < lanes; i++) {
        struct adp_lane *l = rt->lane[i];
        if (!l)
            continue;
        s->lanes += rt->lane_open[i];
        s->decisions += atomic_load_explicit(&l->decisions, memory_order_relaxed);
        s->outcomes += atomic_load_explicit(&l->outcomes, memory_order_relaxed);
        s->faults += atomic_load_explicit(&l->faults, memory_order_relaxed);
        s->lost_tickets += atomic_load_explicit(&l->lost_tickets, memory_order_relaxed);
    }
    for (uint32_t i = 0; i <= lanes; i++)
        s->dropped += atomic_load_explicit(&adp_region_ring(rt->region, i)->dropped,
                                           memory_order_relaxed);
    pthread_mutex_unlock(&rt->lanes_mutex);
}

int adp_runtime_stats(const adp_runtime *rt, adp_stats *ret)
{
    adp_stats s = { 0 };
    size_t n = ret->size < sizeof s ? ret->size : sizeof s;
    if (ret->size < offsetof(adp_stats, generation))
        return ADP_EINVAL;
    int code =
        adp_host_is_inherited(rt) || adp_host_is_within(rt) || !adp_host_is_started(rt)
            ? ADP_ESTATE
            : 0;
    if (code == 0)
        count_lanes((adp_runtime *)rt, &s); /* for its mutex */
    if (code == 0 && rt->log) {
        struct adp_log_count c = adp_log_counts(rt->log);
        s.lines = c.lines;
        s.bytes = c.bytes;
        s.write_errors = c.write_errors;
    }
    s.size = (uint32_t)n;
    memcpy(ret, &s, n);
    return code;
}

int adp_runtime_reopen(adp_runtime *rt, adp_error *err)
{
    int code = adp_host_enter(rt, err);
    if (code < 0)
        return code;
    if (rt->log)
        adp_log_reopen(rt->log);
    adp_host_leave(rt);
    return 0;
}

int adp_runtime_flush(adp_runtime *rt, adp_error *err)
{
    int code = adp_host_enter(rt, err);
    if (code < 0)
        return code;
    if (rt->log)
        code = adp_log_flush(rt->log, err);
    adp_host_reclaim(rt);
    adp_host_leave(rt);
    return code;
}

static void free_all(adp_runtime *rt)
{
    for (uint32_t i = 0; i < ADP_MAX_LANES; i++)
        adp_lane_destroy(rt->lane[i]);
    adp_publisher_destroy(rt->publisher);
    for (uint32_t n = rt->oldest;
         adp_host_is_started(rt) && n < rt->edition->generation->number; n++)
        adp_edition_destroy(rt->edition_of[n % ADP_GENERATIONS]);
    adp_edition_destroy(rt->edition);
    if (!rt->options.beyond)
        adp_region_destroy(rt->region);
    if (rt->memory)
        munmap(rt->memory, rt->memory_bytes);
    if (rt->here)
        munmap(rt->here, (size_t)sysconf(_SC_PAGESIZE));
    adp_metrics_destroy(rt->interned);
    for (uint32_t i = 0; i < ADP_PUBLISHER_METRICS; i++)
        free(rt->filled[i].id);
    free(rt->folder);
    free(rt->path);
    pthread_mutex_destroy(&rt->lanes_mutex);
    pthread_mutex_destroy(&rt->control_mutex);
    free(rt);
}

int adp_runtime_close(adp_runtime *rt, adp_error *err)
{
    if (!rt)
        return 0;
    if (adp_host_is_inherited(rt) || is_torn(rt) || adp_host_is_within(rt))
        return adp_host_lock(rt, err); /* says which */
    int before = forbid_cancel();
    for (uint32_t i = 0; rt->region && i < adp_region_shape(rt->region)->lanes; i++)
        if (rt->lane[i])
            rt->settled_lost += adp_ticket_lose_all(rt->region, i + 1, &rt->generations,
                                                    rt->clock.mono_ns(rt->clock.ctx));
    int code = adp_log_close(rt->log, err);
    free_all(rt);
    return allow_cancel(before, code);
}

size_t adp_error_print(const adp_error *err, char *to, size_t cap)
{
    return adp_error_format(err, to, cap);
}

const char *adp_version(void)
{
    return ADP_VERSION;
}
