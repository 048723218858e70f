/* SPDX-License-Identifier: MIT */
/* What the benches run on (bench/stand.h). */
#include "bench/stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_LINE = 160, PAGES = 8 };

_Noreturn void stand_fail(const char *what, const adp_error *err)
{
    char text[1024] = "";
    if (err)
        adp_error_print(err, text, sizeof text);
    fprintf(stderr, "bench: %s%s%s\n", what, err ? ": " : "", text);
    exit(1);
}

void stand_path(const char *name, char *to, size_t cap)
{
    const char *folder = getenv("BENCH_DIR");
    snprintf(to, cap, "%s/%s", folder && *folder ? folder : "bench", name);
}

adp_runtime *stand_open(const struct stand_options *options)
{
    char log[512], text[2048];
    adp_runtime *rt;
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    if (options->log[0] == '/')
        snprintf(log, sizeof log, "%s", options->log);
    else
        stand_path(options->log, log, sizeof log);
    snprintf(
        text, sizeof text,
        "version: 1\n"
        "experiment: bench\n"
        "run: r1\n"
        "policy: { use: \"%s/five_signals.so\", params: { share: %s, count: 1e6 } }\n"
        "log: { path: \"%s\" }\n",
        BENCH_POLICIES, options->refuse ? "0.5" : "1.0", log);
    struct adp_host_options host = { .own_thread = options->own_thread };
    int code = adp_host_open_text(&rt, text, "bench.yaml", ".", &host, &errors);
    if (code < 0)
        stand_fail("cannot open", errors.n ? &errors.list[0] : NULL);
    adp_errors_free(&errors);
    if (adp_runtime_start(rt, &err) < 0)
        stand_fail("cannot start", &err);
    return rt;
}

void stand_close(adp_runtime *rt)
{
    adp_error err = { 0 };
    if (adp_runtime_close(rt, &err) < 0)
        stand_fail("cannot close", &err);
}

void stand_flush(adp_runtime *rt)
{
    adp_error err = { 0 };
    if (adp_runtime_flush(rt, &err) < 0)
        stand_fail("cannot write", &err);
}

void stand_publish(adp_runtime *rt, uint32_t n_series)
{
    size_t len;
    adp_error err = { 0 };
    char *page = stand_page(n_series, &len);
    if (adp_runtime_publish_text(rt, page, len, &err) < 0 ||
        adp_runtime_publish_text(rt, page, len, &err) < 0)
        stand_fail("cannot publish", &err);
    free(page);
}

/* --- metrics --- */

static const char *const one_engine[] = { "engine", "0", "model_name", "llama", NULL };
static const char *const one_card[] = { "gpu", "0", NULL };

/* 12,345 of 27,613 blocks, and the like: a share has 16 digits, a count few. */
static const adp_metric five[] = {
    { "vllm:kv_cache_usage_perc", one_engine, 24345.0 / 27613.0 },
    { "vllm:num_requests_waiting", one_engine, 3 },
    { "vllm:num_requests_running", one_engine, 61 },
    { "DCGM_FI_DEV_GPU_UTIL", one_card, 97 },
    { "vllm:prefix_cache_hits_total", one_engine, 81920 },
    { "vllm:prefix_cache_queries_total", one_engine, 123456 },
};
enum { FIVE = sizeof five / sizeof five[0] };

/* What the rest of an engine's page is: buckets, their counts in no order. */
struct bucket {
    char name[64], le[16];
    const char *labels[8];
};

static const adp_metric *make(uint32_t n)
{
    adp_metric *all = calloc(n ? n : 1, sizeof *all);
    struct bucket *bucket = calloc(n ? n : 1, sizeof *bucket);
    if (!all || !bucket)
        stand_fail("out of memory", NULL);
    for (uint32_t i = 0; i < n; i++) {
        struct bucket *b = &bucket[i];
        if (i < FIVE) {
            all[i] = five[i];
            continue;
        }
        snprintf(b->name, sizeof b->name, "vllm:request_stage_%u_seconds_bucket", i / 20);
        snprintf(b->le, sizeof b->le, "%g", 0.001 * (1 << i % 20));
        const char *const labels[] = { "engine",     "0",     "le", b->le,
                                       "model_name", "llama", NULL, NULL };
        memcpy(b->labels, labels, sizeof labels);
        all[i] = (adp_metric) { b->name, b->labels, (double)(i * 2654435761u % 100000) };
    }
    return all;
}

const adp_metric *stand_metrics(uint32_t n_series)
{
    static struct {
        uint32_t n;
        const adp_metric *metrics;
    } made[PAGES];
    uint32_t i = 0;
    while (i < PAGES && made[i].metrics && made[i].n != n_series)
        i++;
    if (i == PAGES)
        stand_fail("too many sizes of pages", NULL);
    if (!made[i].metrics) {
        made[i].n = n_series;
        made[i].metrics = make(n_series);
    }
    return made[i].metrics;
}

char *stand_page(uint32_t n_series, size_t *ret_len)
{
    const adp_metric *metrics = stand_metrics(n_series);
    size_t cap = (size_t)n_series * PAGE_LINE + 1, len = 0;
    char *page = malloc(cap);
    if (!page)
        stand_fail("out of memory", NULL);
    for (uint32_t i = 0; i < n_series; i++) {
        len += (size_t)snprintf(page + len, cap - len, "%s", metrics[i].name);
        for (const char *const *l = metrics[i].labels; *l; l += 2)
            len += (size_t)snprintf(page + len, cap - len, "%c%s=\"%s\"",
                                    l == metrics[i].labels ? '{' : ',', l[0], l[1]);
        len += (size_t)snprintf(page + len, cap - len, "} %.17g\n", metrics[i].value);
    }
    *ret_len = len;
    return page;
}

/* --- ids --- */

const char *stand_id(uint64_t i)
{
    static char ids[STAND_IDS][40];
    if (!ids[0][0])
        for (uint32_t k = 0; k < STAND_IDS; k++) {
            uint64_t r = (k + 1) * UINT64_C(0x9e3779b97f4a7c15);
            snprintf(ids[k], sizeof ids[k], "%08x-%04x-4%03x-8%03x-%012llx",
                     (unsigned)(r >> 32), (unsigned)(r & 0xffff), k & 0xfff,
                     (unsigned)(r >> 20 & 0xfff),
                     (unsigned long long)(r * r & 0xffffffffffff));
        }
    return ids[i % STAND_IDS];
}
