/* SPDX-License-Identifier: MIT */
/* Writes a log of any size to stdout, for measuring what reads it.
 *
 *     make_log [DECISIONS [SHAPE [SEED]]]
 *
 * 400,000 decisions of shape `original` are 566 MB: lines as the Python original writes them
 * (its separators, ten metrics of a loaded engine with every digit, five signals), and an
 * outcome for each request that was admitted, 128 decisions later, as a busy gateway writes
 * them. Shape `ours` has the keys and the separators of this runtime. The same words give
 * the same bytes. The readings are a walk: kv_pressure
 * goes up and down a few times a minute, and crosses the threshold 0.9 at its tops. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LATER = 128 }; /* decisions between an admission and its outcome; a power of 2 */

static uint64_t state;

/* xorshift64*: figures need no better. */
static double draw(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (double)((state * 2685821657736338717u) >> 11) / 9007199254740992.0;
}

struct engine {
    double at, kv, hit, util;
    unsigned waiting, running;
};

static void move(struct engine *e, uint64_t n)
{
    e->at += 0.02 * draw();
    double tide = 0.62 + 0.33 * sin((double)n / 900.0);
    e->kv = fmin(0.999, fmax(0.01, tide + 0.02 * (draw() - 0.5)));
    e->running = (unsigned)(e->kv * 48);
    e->waiting = e->kv > 0.85 ? (unsigned)((e->kv - 0.85) * 900 * draw()) : 0;
    e->hit = 0.35 + 0.1 * draw();
    e->util = floor(60 + 40 * e->kv);
}

struct words {
    const char *comma, *colon;
};

/* `"key": value` pieces are put together here; the separators differ, the words do not. */
static void put(const struct words *w, const char *text)
{
    for (; *text; text++)
        if (*text == ',')
            fputs(w->comma, stdout);
        else if (*text == ':' && text[-1] == '"')
            fputs(w->colon, stdout);
        else
            putchar(*text);
}

static void put_metrics(const struct words *w, const struct engine *e, uint64_t n)
{
    const struct {
        const char *name;
        double value;
    } metrics[] = {
        { "vllm:kv_cache_usage_perc", e->kv },
        { "vllm:num_requests_running", e->running },
        { "vllm:num_requests_waiting", e->waiting },
        { "vllm:prefix_cache_hits_total", floor((double)n * 812 * e->hit) },
        { "vllm:prefix_cache_queries_total", floor((double)n * 812) },
        { "vllm:num_preemptions_total", floor((double)n / 700) },
        { "vllm:prompt_tokens_total", floor((double)n * 1033.7) },
        { "vllm:time_to_first_token_seconds_sum", (double)n * 0.41 * e->kv },
        { "DCGM_FI_DEV_GPU_UTIL", e->util },
        { "process_resident_memory_bytes", 2147483648.0 + (double)(n % 4096) * 4096 },
    };
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        printf("%s\"%s\"%s%.17g%s", i ? w->comma : "", metrics[i].name, w->colon,
               metrics[i].value, metrics[i].value == floor(metrics[i].value) ? ".0" : "");
}

static void put_signals(const struct words *w, const struct engine *e)
{
    printf("\"kv_pressure\"%s%.17g%s\"queue_depth\"%s%u.0%s\"running\"%s%u.0%s", w->colon,
           e->kv, w->comma, w->colon, e->waiting, w->comma, w->colon, e->running,
           w->comma);
    printf("\"gpu_util\"%s%.17g%s\"prefix_hit_rate\"%s%.17g", w->colon, e->util / 100,
           w->comma, w->colon, e->hit);
}

static void put_decision(const struct words *w, const struct engine *e, uint64_t n,
                         bool ours)
{
    bool refuse = e->kv >= 0.9;
    printf("{\"at\"%s%.6f%s", w->colon, e->at, w->comma);
    put(w,
        "\"experiment\":\"reading\",\"run\":\"r1\",\"notes\":null,"
        "\"policy\":\"kv_threshold\",\"baseline\":false,\"params\":{\"threshold\":0.9},"
        "\"provenance\":{\"threshold\":\"fitted\"},\"card\":{\"unit\":\"request\","
        "\"setting\":\"online\",\"slo_awareness\":\"throughput\","
        "\"signal_quantity\":\"kv_pressure\",\"signal_structure\":\"scalar\"");
    if (ours)
        put(w, ",\"gates\":[{\"rule\":0,\"signal\":\"kv_pressure\",\"op\":\">=\","
               "\"param\":\"threshold\"}]");
    printf("}%s\"request_id\"%s\"%016" PRIx64 "%04" PRIx64 "\"%s\"metrics\"%s{", w->comma,
           w->colon, n * 0x9e3779b97f4a7c15u, n & 0xffff, w->comma, w->colon);
    put_metrics(w, e, n);
    printf("}%s\"signals\"%s{", w->comma, w->colon);
    put_signals(w, e);
    printf("}%s", w->comma);
    put(w, "\"sources\":{\"kv_pressure\":\"vllm:kv_cache_usage_perc\",\"queue_depth\":"
           "\"vllm:num_requests_waiting\",\"running\":\"vllm:num_requests_running\","
           "\"gpu_util\":\"_dcgm_gpu_util\",\"prefix_hit_rate\":\"_vllm_prefix_hit_"
           "rate\"},");
    put(w, refuse ? "\"verdict\":\"reject\",\"reason\":\"kv_pressure\",\"status\":503,"
                  : "\"verdict\":\"admit\",\"reason\":null,\"status\":200,");
    put(w, "\"retry_after_ms\":null,\"decide_us\":");
    printf("%u%s", 20 + (unsigned)(draw() * 20), w->comma);
    put(w, "\"enforced\":true,\"fault\":null");
    if (ours)
        printf(
            "%s\"v\":1,\"role\":\"governing\",\"arm\":\"governed\",\"mono_ns\":%" PRIu64
            ",\"draw\":%.17g,\"instance\":\"58df1948c94a75a0\",\"lane\":1,\"seq\":"
            "%" PRIu64,
            w->comma, n * 10000019, draw(), n);
    puts("}");
}

static void put_outcome(const struct words *w, const struct engine *e, uint64_t n)
{
    double ttft = 180 + e->waiting * 25 + 90 * draw();
    printf("{\"at\"%s%.6f%s\"request_id\"%s\"%016" PRIx64 "%04" PRIx64 "\"%s", w->colon,
           e->at, w->comma, w->colon, n * 0x9e3779b97f4a7c15u, n & 0xffff, w->comma);
    printf("\"outcome\"%s{\"ttft_ms\"%s%.3f%s\"ok\"%s%s%s\"status\"%s200}}\n", w->colon,
           w->colon, ttft, w->comma, w->colon, ttft <= 1500 ? "true" : "false", w->comma,
           w->colon);
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 400000;
    bool ours = argc > 2 && strcmp(argv[2], "ours") == 0;
    struct words w = ours ? (struct words) { ",", ":" } : (struct words) { ", ", ": " };
    bool admitted[LATER] = { false };
    struct engine e = { .at = 1790000000 };
    state = 0x9e3779b97f4a7c15u ^ (argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    if (argc > 4 || (argc > 2 && !ours && strcmp(argv[2], "original") != 0) || !n) {
        fputs("usage: make_log [DECISIONS [original|ours [SEED]]]\n", stderr);
        return 2;
    }
    for (uint64_t i = 0; i < n + LATER; i++) {
        bool *then = &admitted[i % LATER];
        move(&e, i);
        if (*then)
            put_outcome(&w, &e, i - LATER);
        *then = i < n && e.kv < 0.9;
        if (i < n)
            put_decision(&w, &e, i, ours);
    }
    return fflush(stdout) || ferror(stdout);
}
