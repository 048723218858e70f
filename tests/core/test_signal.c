/* SPDX-License-Identifier: MIT */
#include "core/dictionary.h"
#include "core/signal.h"

#include "core/promtext.h"
#include "tests/core/failing.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))
#define SECOND       1000000000ull

/* The clocks of every reading here. */
static const uint64_t now_ns = 100 * SECOND;
static const double wall_s = 1000;

static struct adp_signals *set;
static struct adp_scratch *scratch;
static struct adp_reading readings[ADP_MAX_KNOWN];

static void setup(void)
{
    ck_assert_int_eq(adp_signals_create(&set, NULL), 0);
    ck_assert_int_eq(adp_scratch_create(&scratch, 32), 0);
}

static void teardown(void)
{
    adp_signals_destroy(set);
    adp_scratch_destroy(scratch);
}

static uint32_t number_of(const char *name)
{
    int i = adp_signals_find(set, name);
    ck_assert_msg(i >= 0, "no signal %s", name);
    return (uint32_t)i;
}

/* As in a file: `expr` texts begin with '='. */
static void add_source(const char *signal, const char *text, enum adp_aggregate aggregate)
{
    struct adp_expr *source = NULL;
    int rc = *text == '=' ? adp_expr_compile(&source, text + 1, "c.yaml", 1, 1, NULL)
                          : adp_expr_compile_metric(&source, text, "c.yaml", 1, 1, NULL);
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(
        adp_signals_source_take(set, number_of(signal), source, aggregate, NULL), 0);
}

static struct adp_metrics *page_of(const char *text)
{
    struct adp_metrics *metrics = NULL;
    ck_assert_int_eq(adp_metrics_create(&metrics), 0);
    ck_assert_int_eq(adp_promtext_read(metrics, text, strlen(text), NULL, NULL), 0);
    return metrics;
}

/* Reads all signals from a page, and one before it unless that is NULL. */
static void read_pages(const char *page, const char *before)
{
    struct adp_metrics *now = page_of(page), *old = before ? page_of(before) : NULL;
    struct adp_moment moment = { .now = now, .before = old, .elapsed_s = 10 };
    adp_signals_read(set, &moment, now_ns, wall_s, scratch, readings);
    adp_metrics_destroy(old);
    adp_metrics_destroy(now);
}

static const struct adp_reading *read_signal(const char *signal, const char *page)
{
    read_pages(page, NULL);
    return &readings[number_of(signal)];
}

/* ---- the shipped dictionary ---- */

static const struct {
    const char *name, *unit;
    double lo, hi;
    uint64_t max_age_ns;
    const char *source; /* the first */
    enum adp_aggregate aggregate;
} shipped[] = {
    { "kv_pressure", "ratio", 0, 1, 5 * SECOND,
      "vllm:gpu_cache_usage_perc + 0 * max(vllm:kv_cache_usage_perc{pid!=\"\"})",
      ADP_AGG_MAX },
    { "queue_depth", "requests", 0, INFINITY, 5 * SECOND, "vllm:num_requests_waiting",
      ADP_AGG_SUM },
    { "running", "requests", 0, INFINITY, 5 * SECOND, "vllm:num_requests_running",
      ADP_AGG_SUM },
    { "gpu_util", "ratio", 0, 1, 30 * SECOND, "DCGM_FI_DEV_GPU_UTIL / 100",
      ADP_AGG_MEAN },
    { "prefix_hit_rate", "ratio", 0, 1, 30 * SECOND,
      "share(delta(vllm:prefix_cache_hits_total), "
      "delta(vllm:prefix_cache_queries_total))",
      ADP_AGG_MEAN },
    { "gpu_mem", "ratio", 0, 1, 30 * SECOND,
      "DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)", ADP_AGG_MAX },
    { "preemption_rate", "1/s", 0, INFINITY, 5 * SECOND,
      "rate(vllm:num_preemptions_total)", ADP_AGG_SUM },
    { "prefill_rate", "tokens/s", 0, INFINITY, 5 * SECOND,
      "rate(vllm:prompt_tokens_total)", ADP_AGG_SUM },
    { "decode_rate", "tokens/s", 0, INFINITY, 5 * SECOND,
      "rate(vllm:generation_tokens_total)", ADP_AGG_SUM },
    { "ttft_p95", "s", 0, INFINITY, 30 * SECOND,
      "quantile(0.95, vllm:time_to_first_token_seconds)", ADP_AGG_MAX },
    { "itl_p95", "s", 0, INFINITY, 30 * SECOND,
      "quantile(0.95, vllm:inter_token_latency_seconds)", ADP_AGG_MAX },
    { "kv_capacity", "tokens", 1, INFINITY, 60 * SECOND,
      "label(num_gpu_blocks, vllm:cache_config_info) * "
      "label(block_size, vllm:cache_config_info)",
      ADP_AGG_SUM },
};

START_TEST(the_shipped_signals_are_twelve)
{
    ck_assert_uint_eq(adp_signals_count(set), COUNT(shipped));
    uint32_t i = (uint32_t)_i;
    double lo, hi;
    adp_signals_range(set, i, &lo, &hi);
    ck_assert_str_eq(adp_signals_name(set, i), shipped[_i].name);
    ck_assert_str_eq(adp_signals_unit(set, i), shipped[_i].unit);
    ck_assert(lo == shipped[_i].lo && hi == shipped[_i].hi);
    ck_assert_uint_eq(adp_signals_age_limit(set, i), shipped[_i].max_age_ns);
    ck_assert_ptr_nonnull(adp_signals_about(set, i));
    ck_assert_str_eq(adp_expr_text(adp_signals_source(set, i, 0, NULL)),
                     shipped[_i].source);
    for (uint32_t n = 0; n < adp_signals_sources(set, i); n++) {
        enum adp_aggregate aggregate;
        adp_signals_source(set, i, n, &aggregate);
        ck_assert_int_eq(aggregate, shipped[_i].aggregate);
    }
}
END_TEST

static int source_numbered(const char *signal, const char *text)
{
    uint32_t s = number_of(signal);
    for (uint32_t i = 0; i < adp_signals_sources(set, s); i++)
        if (strcmp(adp_expr_text(adp_signals_source(set, s, i, NULL)), text) == 0)
            return (int)i;
    return -1;
}

/* Behind each source of vLLM's, the same as those who rewrite its names print it. */
START_TEST(a_source_is_followed_by_its_other_prefixes)
{
    ck_assert_int_eq(source_numbered("kv_pressure", "vllm:kv_cache_usage_perc"), 4);
    ck_assert_int_eq(source_numbered("kv_pressure", "ray_vllm:kv_cache_usage_perc"), 5);
    ck_assert_int_eq(source_numbered("kv_pressure", "ray_vllm_kv_cache_usage_perc"), 6);
    ck_assert_int_eq(source_numbered("kv_pressure", "vllm_kv_cache_usage_perc"), 7);
    ck_assert_int_eq(source_numbered("kv_pressure", "vllm:gpu_cache_usage_perc"), 8);
    ck_assert_int_ge(source_numbered("prefix_hit_rate",
                                     "share(delta(vllm_prefix_cache_hits_total), "
                                     "delta(vllm_prefix_cache_queries_total))"),
                     0);
    ck_assert_int_ge(source_numbered("queue_depth", "sglang_num_queue_reqs"), 0);
}
END_TEST

/* Two engines and two cards, the newest names; counters 10 s before. */
static const char loaded[] = "vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n"
                             "vllm:kv_cache_usage_perc{engine=\"1\"} 0.875\n"
                             "vllm:num_requests_waiting{engine=\"0\"} 3\n"
                             "vllm:num_requests_waiting{engine=\"1\"} 4\n"
                             "vllm:num_requests_waiting_by_reason{engine=\"0\"} 100\n"
                             "vllm:num_requests_running{engine=\"0\"} 48\n"
                             "vllm:num_requests_running{engine=\"1\"} 16\n"
                             "vllm:prefix_cache_hits_total{engine=\"0\"} 150\n"
                             "vllm:prefix_cache_queries_total{engine=\"0\"} 300\n"
                             "vllm:prefix_cache_hits_total{engine=\"1\"} 20\n"
                             "vllm:prefix_cache_queries_total{engine=\"1\"} 500\n"
                             "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50\n"
                             "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 100\n";
static const char loaded_before[] = "vllm:prefix_cache_hits_total{engine=\"0\"} 100\n"
                                    "vllm:prefix_cache_queries_total{engine=\"0\"} 200\n"
                                    "vllm:prefix_cache_hits_total{engine=\"1\"} 0\n"
                                    "vllm:prefix_cache_queries_total{engine=\"1\"} 400\n";

static const struct {
    const char *name;
    double value;
    uint32_t taken;
    int32_t
        source; /* the first but for kv_pressure: behind the old name of several pids */
} on_loaded[] = {
    { "kv_pressure", 0.875, 2, 4 },    { "queue_depth", 7, 2, 0 },
    { "running", 64, 2, 0 },           { "gpu_util", 0.75, 2, 0 },
    { "prefix_hit_rate", 0.35, 1, 0 }, /* (50 + 20) / (100 + 100) */
};

START_TEST(the_shipped_sources_read_a_page_of_two_engines)
{
    read_pages(loaded, loaded_before);
    const struct adp_reading *r = &readings[number_of(on_loaded[_i].name)];
    ck_assert_str_eq(adp_why_word(r->why), "present");
    ck_assert_double_eq_tol(r->value, on_loaded[_i].value, 1e-15);
    ck_assert_int_eq(r->source, on_loaded[_i].source);
    ck_assert_uint_eq(r->taken, on_loaded[_i].taken);
    ck_assert_uint_eq(r->skipped, 0);
}
END_TEST

/* What engines were seen to print. */
enum { ANY = -2, PART_OF_LMDEPLOY = 13 };
static const struct {
    const char *name, *signal, *page;
    enum adp_why why;
    int32_t source;
    double value;
    uint32_t skipped;
} real[] = {
    { "both names during vLLM's change of names: one source, the new", "kv_pressure",
      "vllm:gpu_cache_usage_perc 0.5\nvllm:kv_cache_usage_perc 0.25\n", 0, 4, 0.25, 0 },
    { "an old vLLM", "kv_pressure", "vllm:gpu_cache_usage_perc 0.5\n", 0, 8, 0.5, 0 },
    { "one worker of many writes, the others are 0", "kv_pressure",
      "vllm:kv_cache_usage_perc{engine=\"0\",pid=\"277\"} 0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",pid=\"273\"} 0.653\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",pid=\"271\"} 0\n",
      0, 4, 0.653, 0 },
    { "a negative use", "kv_pressure", "vllm:kv_cache_usage_perc{engine=\"3\"} -0.3875\n",
      ADP_WHY_OUT_OF_RANGE, 4, 0, 1 },
    { "a percentage is not clamped to full", "kv_pressure",
      "vllm:kv_cache_usage_perc 42\n", ADP_WHY_OUT_OF_RANGE, 4, 0, 1 },
    { "an idle engine's 0 is a value", "kv_pressure", "vllm:kv_cache_usage_perc 0.0\n", 0,
      4, 0, 0 },
    { "headers without samples are not 0", "queue_depth",
      "# HELP vllm:num_requests_waiting Number of requests waiting.\n"
      "# TYPE vllm:num_requests_waiting gauge\n",
      ADP_WHY_NEVER_SUPPLIED, -1, 0, 0 },
    { "the parts of a queue are not the queue", "queue_depth",
      "vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 3\n",
      ADP_WHY_NEVER_SUPPLIED, -1, 0, 0 },
    { "blank cards are left out of the mean", "gpu_util",
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 9223372036854775794\n"
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 30\nDCGM_FI_DEV_GPU_UTIL{gpu=\"2\"} 90\n",
      0, 0, 0.6, 1 },
    { "1 in GPU_UTIL is one percent", "gpu_util", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 1\n",
      0, 0, 0.01, 0 },
    { "a split card's 0 does not hide its parts", "gpu_util",
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",GPU_I_ID=\"7\"} 0\n"
      "DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",GPU_I_ID=\"7\"} 0.75\n",
      0, 1, 0.75, 0 },
    { "a whole card's 0 is a value", "gpu_util",
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",GPU_I_ID=\"\"} 0\n"
      "DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",GPU_I_ID=\"\"} 0.75\n",
      0, 0, 0, 0 },
    { "-1 and 5 waiting are not 4", "queue_depth",
      "lmdeploy:num_requests_waiting -1\nlmdeploy:num_api_requests_waiting 5\n",
      ADP_WHY_OUT_OF_RANGE, PART_OF_LMDEPLOY, 0, 1 },
    { "5 and -1 are the 5 that wait in the engine", "queue_depth",
      "lmdeploy:num_requests_waiting 5\nlmdeploy:num_api_requests_waiting -1\n", 0,
      PART_OF_LMDEPLOY + 1, 5, 0 },
    { "-5 of -10 tokens are not half of them", "kv_pressure",
      "tgi_batch_current_max_tokens -5\ntgi_batch_max_total_tokens -10\n",
      ADP_WHY_OUT_OF_RANGE, ANY, 0, 1 },
    { "-1 in each of -3 is no queue of 3", "queue_depth",
      "llm_d_epp_average_queue_size -1\nllm_d_epp_ready_endpoints -3\n",
      ADP_WHY_OUT_OF_RANGE, ANY, 0, 1 },
    { "-100 blocks of -16 tokens hold nothing that is known", "kv_capacity",
      "vllm:cache_config_info{num_gpu_blocks=\"-100\",block_size=\"-16\"} 1\n",
      ADP_WHY_OUT_OF_RANGE, 0, 0, 1 },
    { "a model's -1 does not shorten the other's queue", "queue_depth",
      "nv_trt_llm_request_metrics{model=\"a\",request_type=\"waiting\"} -1\n"
      "nv_trt_llm_request_metrics{model=\"b\",request_type=\"waiting\"} 4\n"
      "nv_inference_pending_request_count{model=\"a\"} 2\n",
      0, ANY, 6, 1 },
    { "nor does one that schedules more than is active", "queue_depth",
      "nv_trt_llm_request_metrics{model=\"a\",request_type=\"active\"} 1\n"
      "nv_trt_llm_request_metrics{model=\"a\",request_type=\"scheduled\"} 3\n"
      "nv_trt_llm_request_metrics{model=\"b\",request_type=\"active\"} 9\n"
      "nv_trt_llm_request_metrics{model=\"b\",request_type=\"scheduled\"} 4\n"
      "nv_inference_pending_request_count{model=\"a\"} 2\n",
      0, ANY, 7, 1 },
    { "of two models one says what waits, the other what is not scheduled", "queue_depth",
      "nv_trt_llm_request_metrics{model=\"a\",request_type=\"waiting\"} 2\n"
      "nv_trt_llm_request_metrics{model=\"a\",request_type=\"active\"} 8\n"
      "nv_trt_llm_request_metrics{model=\"a\",request_type=\"scheduled\"} 3\n"
      "nv_trt_llm_request_metrics{model=\"b\",request_type=\"active\"} 9\n"
      "nv_trt_llm_request_metrics{model=\"b\",request_type=\"scheduled\"} 4\n",
      0, ANY, 7, 0 },
    { "a pool of no endpoints has no pressure", "kv_pressure",
      "llm_d_epp_average_kv_cache_utilization 0\nllm_d_epp_ready_endpoints 0\n",
      ADP_WHY_DIVISOR_ZERO, ANY, 0, 1 },
    { "and no queue", "queue_depth",
      "inference_pool_average_queue_size 0\ninference_pool_ready_pods 0\n",
      ADP_WHY_DIVISOR_ZERO, ANY, 0, 1 },
    { "a hit rate needs two snapshots", "prefix_hit_rate",
      "vllm:prefix_cache_hits_total 5\nvllm:prefix_cache_queries_total 9\n",
      ADP_WHY_FIRST_SAMPLE, 0, 0, 1 },
};

START_TEST(what_engines_print_reads_as_a_value_or_as_absent)
{
    const struct adp_reading *r = read_signal(real[_i].signal, real[_i].page);
    ck_assert_msg(r->why == real[_i].why, "%s: %s", real[_i].name, adp_why_word(r->why));
    if (real[_i].source != ANY)
        ck_assert_int_eq(r->source, real[_i].source);
    ck_assert_msg(r->skipped == real[_i].skipped, "%s: %u skipped", real[_i].name,
                  r->skipped);
    if (!r->why)
        ck_assert_double_eq_tol(r->value, real[_i].value, 1e-15);
}
END_TEST

/* Pages of real engines, where they lie beside the source. */
static const struct {
    const char *file, *signal;
    enum adp_why why;
    int32_t source;
    double value;
    uint32_t taken;
} pages[] = {
    { "01_vllm_v0_0.4_2024-06.prom", "kv_pressure", 0, 8, 0, 1 },
    { "06_vllm_v1_2026-09_idle_admitperf.prom", "kv_pressure", 0, 4, 0, 1 },
    { "06_vllm_v1_2026-09_idle_admitperf.prom", "queue_depth", 0, 0, 0, 1 },
    { "06_vllm_v1_2026-09_idle_admitperf.prom", "gpu_util", ADP_WHY_NEVER_SUPPLIED, -1, 0,
      0 },
    { "08a_vllm_0.11_multiproc_pid_fragment.prom", "kv_pressure", 0, 4,
      0.6530455880475035, 8 },
    { "08b_vllm_dp2_fragment.prom", "kv_pressure", ADP_WHY_OUT_OF_RANGE, 4, 0, 0 },
    { "08b_vllm_dp2_fragment.prom", "running", 0, 0, 0, 2 },
    { "08c_vllm_0.10.0_both_names_fragment.prom", "kv_pressure", 0, 4,
      9.75010481363281e-06, 1 },
    { "08e_vllm_headers_without_samples_fragment.prom", "queue_depth",
      ADP_WHY_NEVER_SUPPLIED, -1, 0, 0 },
    { "22_dcgm_l4_2026-03.prom", "gpu_util", 0, 0, 0, 1 },
    { "24_dcgm_h100x8_pod_labels_fragment.prom", "gpu_util", 0, 0, 0, 8 },
};

START_TEST(real_pages_read_as_values_or_as_absent)
{
    static char text[1 << 17];
    char path[1024];
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/../shared/data/metrics/%s", source ? source : ".",
             pages[_i].file);
    FILE *f = fopen(path, "rb");
    if (!f) {
        printf("skipped: %s is not beside the source\n", pages[_i].file);
        return;
    }
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    const struct adp_reading *r = read_signal(pages[_i].signal, text);
    ck_assert_msg(r->why == pages[_i].why, "%s: %s", pages[_i].file,
                  adp_why_word(r->why));
    ck_assert_int_eq(r->source, pages[_i].source);
    ck_assert_uint_eq(r->taken, pages[_i].taken);
    if (!r->why)
        ck_assert_double_eq(r->value, pages[_i].value);
}
END_TEST

/* In docs/signals.md, under the signal's name: its sources in order, and nothing else. */
static void shows_sources(const char *text, const struct adp_signal_def *def)
{
    char word[512];
    snprintf(word, sizeof word, "\n**%s**: ", def->name);
    const char *at = strstr(text, word);
    ck_assert_msg(at != NULL, "%s", word);
    at = strchr(at + 1, '\n');
    for (const char *const *m = def->metrics; *m; m++) {
        snprintf(word, sizeof word, "\n- `%s`", *m + (**m == '='));
        ck_assert_msg(strncmp(at, word, strlen(word)) == 0, "%s: %.200s", word, at);
        at += strlen(word);
    }
    ck_assert_msg(strncmp(at, "\n\n", 2) == 0, "%s: %.200s", def->name, at);
}

/* Words in the table of docs/signals.md, in backquotes. */
START_TEST(the_document_shows_every_shipped_signal_and_reason)
{
    static char text[1 << 17];
    char path[1024], word[512];
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/docs/signals.md", source ? source : ".");
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s", path);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    uint32_t n;
    const struct adp_signal_def *defs = adp_dictionary(&n);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(word, sizeof word, "| `%s` |", defs[i].name);
        ck_assert_msg(strstr(text, word) != NULL, "%s", word);
        shows_sources(text, &defs[i]);
    }
    const struct adp_prefix *prefixes = adp_prefixes(&n);
    for (uint32_t i = 0; i < n; i++)
        for (const char *const *other = prefixes[i].others; *other; other++) {
            snprintf(word, sizeof word, "`%s`", *other);
            ck_assert_msg(strstr(text, word) != NULL, "%s", word);
        }
    for (int why = 1; why < ADP_WHY_COUNT; why++) {
        snprintf(word, sizeof word, "| `%s` |", adp_why_word((enum adp_why)why));
        ck_assert_msg(strstr(text, word) != NULL, "%s", word);
    }
    snprintf(word, sizeof word, "version %s", ADP_DICTIONARY_VERSION);
    ck_assert_msg(strstr(text, word) != NULL, "%s", word);
}
END_TEST

/* ---- sources in order ---- */

/* Signal "s": range [0, 1], 5 s; up to three sources of the operator's. */
static const struct {
    const char *name;
    const char *sources[3];
    enum adp_aggregate aggregate;
    const char *page;
    enum adp_why why;
    int32_t source;
    double value;
    uint32_t taken, skipped;
    enum adp_why skipped_why;
} ordered[] = {
/* The seed's own example. */
#define KV_WALL { "acme.cache.used_frac", "=blocks_used / blocks_total" }, ADP_AGG_NONE
    { "present", KV_WALL, "{\"acme.cache.used_frac\"} 0.5\n", 0, 0, 0.5, 1, 0, 0 },
    { "absent, the second supplies", KV_WALL, "blocks_used 1\nblocks_total 4\n", 0, 1,
      0.25, 1, 0, 0 },
    { "both there, the first wins", KV_WALL,
      "{\"acme.cache.used_frac\"} 0.5\nblocks_used 1\nblocks_total 4\n", 0, 0, 0.5, 1, 0,
      0 },
    { "out of range in the first, sane in the second", KV_WALL,
      "{\"acme.cache.used_frac\"} 50\nblocks_used 1\nblocks_total 4\n", 0, 1, 0.25, 1, 0,
      0 },
    { "NaN in the first, sane in the second", KV_WALL,
      "{\"acme.cache.used_frac\"} NaN\nblocks_used 1\nblocks_total 4\n", 0, 1, 0.25, 1, 0,
      0 },
    { "+Inf and nothing else", KV_WALL, "{\"acme.cache.used_frac\"} +Inf\n",
      ADP_WHY_NOT_FINITE, 0, 0, 0, 1, ADP_WHY_NOT_FINITE },
    { "division by zero", KV_WALL, "blocks_used 1\nblocks_total 0\n",
      ADP_WHY_DIVISOR_ZERO, 1, 0, 0, 1, ADP_WHY_DIVISOR_ZERO },
    { "half of the second is nothing", KV_WALL, "blocks_used 1\n", ADP_WHY_NEVER_SUPPLIED,
      -1, 0, 0, 0, 0 },
    { "nothing at all", KV_WALL, "other 1\n", ADP_WHY_NEVER_SUPPLIED, -1, 0, 0, 0, 0 },
    { "several fail: the first that was on the page gives the reason",
      { "a", "b", "c" },
      ADP_AGG_NONE,
      "b NaN\nc 7\n",
      ADP_WHY_NOT_FINITE,
      1,
      0,
      0,
      1,
      ADP_WHY_NOT_FINITE },
    { "and not the last",
      { "a", "b", "c" },
      ADP_AGG_NONE,
      "a 7\nb NaN\nc NaN\n",
      ADP_WHY_OUT_OF_RANGE,
      0,
      0,
      0,
      1,
      ADP_WHY_OUT_OF_RANGE },
    { "sources are never added together",
      { "a", "b" },
      ADP_AGG_SUM,
      "a 0.25\nb 0.5\n",
      0,
      0,
      0.25,
      1,
      0,
      0 },
    { "some series insane, the rest of the source used",
      { "a", "b" },
      ADP_AGG_MAX,
      "a{e=\"0\"} -1\na{e=\"1\"} 0.5\na{e=\"2\"} NaN\nb 0.75\n",
      0,
      0,
      0.5,
      1,
      2,
      ADP_WHY_OUT_OF_RANGE },
    { "all series insane, the next source",
      { "a", "b" },
      ADP_AGG_MAX,
      "a{e=\"0\"} -1\na{e=\"1\"} NaN\nb 0.75\n",
      0,
      1,
      0.75,
      1,
      0,
      0 },
    { "ambiguous is not hidden by the next source",
      { "a", "b" },
      ADP_AGG_NONE,
      "a{e=\"0\"} 0.25\na{e=\"1\"} 0.5\nb 0.75\n",
      ADP_WHY_AMBIGUOUS,
      0,
      0,
      0,
      0,
      0 },
    { "nor by what failed before it",
      { "c", "a", "b" },
      ADP_AGG_NONE,
      "c 9\na{e=\"0\"} 0.25\na{e=\"1\"} 0.5\nb 0.75\n",
      ADP_WHY_AMBIGUOUS,
      1,
      0,
      0,
      0,
      0 },
    { "a source before the ambiguous one supplies",
      { "b", "a" },
      ADP_AGG_NONE,
      "a{e=\"0\"} 0.25\na{e=\"1\"} 0.5\nb 0.75\n",
      0,
      0,
      0.75,
      1,
      0,
      0 },
    { "a counter's first sample, then a gauge",
      { "=delta(c)", "g" },
      ADP_AGG_NONE,
      "c 7\ng 0.5\n",
      0,
      1,
      0.5,
      1,
      0,
      0 },
    { "too many series, then a sane source",
      { "a{e=~\".*\"}", "b" },
      ADP_AGG_MAX,
      "a{e=\"0\"} 0\na{e=\"1\"} 0\na{e=\"2\"} 0\na{e=\"3\"} 0\na{e=\"4\"} 0\n"
      "a{e=\"5\"} 0\na{e=\"6\"} 0\na{e=\"7\"} 0\na{e=\"8\"} 0\nb 0.5\n",
      0,
      1,
      0.5,
      1,
      0,
      0 },
};

START_TEST(the_first_source_with_a_sane_value_wins)
{
    uint32_t s;
    ck_assert_int_eq(adp_signals_add(set, "s", "ratio", 0, 1, 5 * SECOND, &s, NULL), 0);
    for (int i = 0; i < 3 && ordered[_i].sources[i]; i++)
        add_source("s", ordered[_i].sources[i], ordered[_i].aggregate);
    adp_scratch_destroy(scratch);
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);

    const struct adp_reading *r = read_signal("s", ordered[_i].page);
    ck_assert_msg(r->why == ordered[_i].why, "%s: %s", ordered[_i].name,
                  adp_why_word(r->why));
    ck_assert_int_eq(r->source, ordered[_i].source);
    ck_assert_uint_eq(r->taken, ordered[_i].taken);
    ck_assert_uint_eq(r->skipped, ordered[_i].skipped);
    ck_assert_int_eq(r->skipped_why, ordered[_i].skipped_why);
    ck_assert_str_eq(r->differ, r->why == ADP_WHY_AMBIGUOUS ? "e" : "");
    if (!r->why)
        ck_assert_double_eq(r->value, ordered[_i].value);
    else
        ck_assert_uint_eq(r->expires_ns, 0);
}
END_TEST

START_TEST(where_nothing_was_counted_a_lifetime_does_not_answer)
{
    static const char page[] = "vllm:prefix_cache_hits_total 5\n"
                               "vllm:prefix_cache_queries_total 9\n"
                               "vllm:gpu_prefix_cache_hit_rate 0.75\n";
    read_pages(page, page);
    const struct adp_reading *r = &readings[number_of("prefix_hit_rate")];
    ck_assert_int_eq(r->why, ADP_WHY_DIVISOR_ZERO);
    ck_assert_int_eq(r->source, 0);
    /* a divisor that is no growth is as insane as any other value */
    add_source("prefix_hit_rate", "=delta(vllm:prefix_cache_hits_total) / none",
               ADP_AGG_MAX);
    add_source("prefix_hit_rate", "g", ADP_AGG_MAX);
    static const char other[] = "vllm:prefix_cache_hits_total 5\nnone 0\ng 0.25\n";
    read_pages(other, other);
    ck_assert_double_eq(readings[number_of("prefix_hit_rate")].value, 0.25);
}
END_TEST

/* Growth a second is growth. */
START_TEST(where_nothing_was_counted_a_second_a_lifetime_does_not_answer)
{
    static const char *const texts[] = { "=rate(h) / rate(q)",
                                         "=share(rate(h), rate(q))" };
    static const char page[] = "h 5\nq 9\nlifetime 0.75\n";
    add_source("prefix_hit_rate", texts[_i], ADP_AGG_MAX);
    add_source("prefix_hit_rate", "lifetime", ADP_AGG_MAX);
    read_pages(page, page);
    ck_assert_int_eq(readings[number_of("prefix_hit_rate")].why, ADP_WHY_DIVISOR_ZERO);
}
END_TEST

START_TEST(the_operators_sources_go_before_the_shipped_ones)
{
    add_source("kv_pressure", "mine", ADP_AGG_NONE);
    add_source("kv_pressure", "=mine / 100", ADP_AGG_MAX);
    uint32_t kv = number_of("kv_pressure");
    static const char *const texts[] = {
        "mine", "mine / 100",
        "vllm:gpu_cache_usage_perc + 0 * max(vllm:kv_cache_usage_perc{pid!=\"\"})",
        "ray_vllm:gpu_cache_usage_perc + 0 * max(ray_vllm:kv_cache_usage_perc{pid!=\"\"})"
    };
    static const enum adp_aggregate aggregates[] = { ADP_AGG_NONE, ADP_AGG_MAX,
                                                     ADP_AGG_MAX, ADP_AGG_MAX };
    for (uint32_t i = 0; i < 4; i++) {
        enum adp_aggregate aggregate;
        ck_assert_str_eq(adp_expr_text(adp_signals_source(set, kv, i, &aggregate)),
                         texts[i]);
        ck_assert_int_eq(aggregate, aggregates[i]);
        ck_assert_ptr_eq(adp_signals_source(set, kv, i, NULL),
                         adp_signals_source(set, kv, i, &aggregate));
    }
    const struct adp_reading *r =
        read_signal("kv_pressure", "vllm:kv_cache_usage_perc 1\n");
    ck_assert_int_eq(r->source, 6);
    r = read_signal("kv_pressure", "vllm:kv_cache_usage_perc 1\nmine 0.5\n");
    ck_assert_int_eq(r->source, 0);
    ck_assert_double_eq(r->value, 0.5);
}
END_TEST

/* 4 of 8 up to 1, all up to 3: the 0.95 * 8th is 3.6 of 4 of the way from 1 to 3. */
START_TEST(a_histograms_other_name_is_that_of_its_buckets)
{
    static const char page[] =
        "acme_ttft_bucket{le=\"1\"} 4\nacme_ttft_bucket{le=\"3\"} 8\n"
        "acme_ttft_bucket{le=\"+Inf\"} 8\n";
    static const char before[] =
        "acme_ttft_bucket{le=\"1\"} 0\nacme_ttft_bucket{le=\"3\"} 0\n"
        "acme_ttft_bucket{le=\"+Inf\"} 0\n";
    const struct adp_reading *r = &readings[number_of("ttft_p95")];
    ck_assert_int_eq(
        adp_signals_rename(set, "vllm:time_to_first_token_seconds", "acme_ttft", NULL),
        0);
    read_pages(page, before);
    ck_assert_int_eq(r->why, ADP_WHY_NEVER_SUPPLIED);
    ck_assert_int_eq(adp_signals_rename(set, "vllm:time_to_first_token_seconds_bucket",
                                        "acme_ttft_bucket", NULL),
                     0);
    read_pages(page, before);
    ck_assert_int_eq(r->why, 0);
    ck_assert_double_eq_tol(r->value, 2.8, 1e-12);
}
END_TEST

START_TEST(a_sleep_that_names_no_engine_is_of_all_of_its_target)
{
    static const char page[] =
        "vllm:engine_sleep_state{sleep_state=\"awake\"%s} 0\n"
        "vllm:kv_cache_usage_perc{engine=\"0\"%s} 0\n"
        "vllm:kv_cache_usage_perc{engine=\"0\",target=\"b\"} 0.5\n";
    char text[512];
    snprintf(text, sizeof text, page, ",target=\"a\"", ",target=\"a\"");
    const struct adp_reading *r = read_signal("kv_pressure", text);
    ck_assert_int_eq(r->why, 0);
    ck_assert_double_eq(r->value, 0.5);
    ck_assert_uint_eq(r->skipped_by[ADP_WHY_ASLEEP], 1);
    r = read_signal("kv_pressure", "vllm:engine_sleep_state{sleep_state=\"awake\"} 0\n"
                                   "vllm:kv_cache_usage_perc{engine=\"0\"} 0\n");
    ck_assert_int_eq(r->why, ADP_WHY_ASLEEP);
}
END_TEST

START_TEST(what_either_has_for_a_metric_that_is_not_there_feeds_too)
{
    add_source("queue_depth", "=either(first, second) + third", ADP_AGG_SUM);
    ck_assert_int_eq(adp_signals_rename(set, "second", "other", NULL), 0);
    ck_assert_double_eq(read_signal("queue_depth", "first 3\nthird 1\n")->value, 4);
    ck_assert_double_eq(read_signal("queue_depth", "second 5\nthird 1\n")->value, 6);
    ck_assert_double_eq(read_signal("queue_depth", "other 7\nthird 1\n")->value, 8);
    ck_assert_int_eq(read_signal("queue_depth", "third 1\n")->why,
                     ADP_WHY_NEVER_SUPPLIED);
    ck_assert_int_eq(read_signal("queue_depth", "second 5\n")->why,
                     ADP_WHY_NEVER_SUPPLIED);
}
END_TEST

START_TEST(a_renamed_metric_is_tried_second)
{
    ck_assert_int_eq(
        adp_signals_rename(set, "vllm:num_requests_waiting", "acme:waiting", NULL), 0);
    ck_assert_double_eq(read_signal("queue_depth", "acme:waiting 3\n")->value, 3);
    ck_assert_double_eq(
        read_signal("queue_depth", "acme:waiting 3\nvllm:num_requests_waiting 4\n")
            ->value,
        4);
}
END_TEST

START_TEST(a_signal_of_the_operators_is_read_like_a_shipped_one)
{
    uint32_t s;
    ck_assert_int_eq(
        adp_signals_add(set, "gpu_temp", "celsius", 0, 120, 30 * SECOND, &s, NULL), 0);
    ck_assert_uint_eq(s, COUNT(shipped));
    add_source("gpu_temp", "DCGM_FI_DEV_GPU_TEMP", ADP_AGG_MAX);
    ck_assert_ptr_null(adp_signals_about(set, s));
    const struct adp_reading *r =
        read_signal("gpu_temp", "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 61\n"
                                "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 74\n");
    ck_assert_double_eq(r->value, 74);
    ck_assert_uint_eq(r->expires_ns, now_ns + 30 * SECOND);
}
END_TEST

START_TEST(a_signal_without_sources_is_never_supplied)
{
    uint32_t s;
    ck_assert_int_eq(adp_signals_add(set, "s", "ratio", 0, 1, 1, &s, NULL), 0);
    const struct adp_reading *r = read_signal("s", "s 1\n");
    ck_assert_int_eq(r->why, ADP_WHY_NEVER_SUPPLIED);
    ck_assert_int_eq(r->source, -1);
}
END_TEST

START_TEST(without_a_snapshot_every_signal_says_so)
{
    struct adp_moment moment = { .now = NULL };
    adp_signals_read(set, &moment, now_ns, wall_s, scratch, readings);
    for (uint32_t i = 0; i < adp_signals_count(set); i++) {
        ck_assert_int_eq(readings[i].why, ADP_WHY_NO_SNAPSHOT);
        ck_assert_int_eq(readings[i].source, -1);
        ck_assert_uint_eq(readings[i].expires_ns, 0);
    }
}
END_TEST

START_TEST(engines_that_sleep_are_left_out_however_many)
{
    enum { ENGINES = 600, LINES = 160 };
    char *page = malloc((size_t)(ENGINES + 1) * LINES);
    ck_assert_ptr_nonnull(page);
    size_t n = 0;
    for (int i = 0; i < ENGINES; i++)
        n += (size_t)snprintf(
            page + n, LINES,
            "vllm:engine_sleep_state{engine=\"%d\",sleep_state=\"awake\"} %d\n"
            "vllm:kv_cache_usage_perc{engine=\"%d\"} %s\n",
            i, i == ENGINES - 1, i, i == ENGINES - 1 ? "0.5" : "0.75");
    adp_scratch_destroy(scratch);
    ck_assert_int_eq(adp_scratch_create(&scratch, 1024), 0);
    const struct adp_reading *r = read_signal("kv_pressure", page);
    ck_assert_double_eq(r->value, 0.5);
    ck_assert_uint_eq(r->taken, 1);
    ck_assert_uint_eq(r->skipped_by[ADP_WHY_ASLEEP], ENGINES - 1);
    /* where they find no room, nobody is believed */
    adp_scratch_destroy(scratch);
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    r = read_signal("running", "vllm:num_requests_running 1\n");
    ck_assert_int_eq(r->why, ADP_WHY_PRESENT);
    snprintf(page + n, LINES, "vllm:num_requests_running 1\n");
    r = read_signal("running", page);
    ck_assert_int_eq(r->why, ADP_WHY_TOO_MANY);
    free(page);
}
END_TEST

/* ---- pools: pages joined of several targets ---- */

#define A "target=\"a\""
#define B "target=\"b\""

/* Each target takes its own first source. `n_sources`: how many were taken in all. */
static const struct {
    const char *name, *signal, *page, *before;
    enum adp_why why;
    double value;
    uint32_t taken, skipped;
    const char *source; /* the first */
    int n_sources;
} pooled[] = {
    { "a full engine of one make is not hidden by an idle one of another", "kv_pressure",
      "vllm:kv_cache_usage_perc{" A "} 0.1\nsglang:token_usage{" B "} 0.99\n", NULL, 0,
      0.99, 2, 0, "vllm:kv_cache_usage_perc", 2 },
    { "in whatever order they are told", "kv_pressure",
      "sglang:token_usage{" B "} 0.99\nvllm:kv_cache_usage_perc{" A "} 0.1\n", NULL, 0,
      0.99, 2, 0, "vllm:kv_cache_usage_perc", 2 },
    { "nor its queue", "queue_depth",
      "vllm:num_requests_waiting{" A "} 7\nsglang:num_queue_reqs{" B "} 50\n", NULL, 0,
      57, 2, 0, "vllm:num_requests_waiting", 2 },
    { "while names change in an update, old and new are read", "kv_pressure",
      "vllm:gpu_cache_usage_perc{" A "} 0.9\nvllm:kv_cache_usage_perc{" B "} 0.2\n", NULL,
      0, 0.9, 2, 0, "vllm:kv_cache_usage_perc", 2 },
    { "one target's several processes do not choose for the other", "kv_pressure",
      "vllm:gpu_cache_usage_perc{" A "} 0.3\n"
      "vllm:kv_cache_usage_perc{" A ",pid=\"1\"} 0.9\n"
      "vllm:gpu_cache_usage_perc{" B "} 0.4\nvllm:kv_cache_usage_perc{" B "} 0.5\n",
      NULL, 0, 0.5, 2, 0,
      "vllm:gpu_cache_usage_perc + 0 * max(vllm:kv_cache_usage_perc{pid!=\"\"})", 2 },
    { "two sources of one target are still one", "kv_pressure",
      "vllm:gpu_cache_usage_perc{" A "} 0.9\nvllm:kv_cache_usage_perc{" A "} 0.2\n"
      "sglang:token_usage{" B "} 0.25\n",
      NULL, 0, 0.25, 2, 0, "vllm:kv_cache_usage_perc", 2 },
    { "an insane target is skipped and counted", "kv_pressure",
      "vllm:kv_cache_usage_perc{" A "} -0.4\nsglang:token_usage{" B "} 0.5\n", NULL, 0,
      0.5, 1, 1, "sglang:token_usage", 1 },
    { "also of one make", "kv_pressure",
      "vllm:kv_cache_usage_perc{" A "} NaN\nvllm:kv_cache_usage_perc{" B "} 0.5\n", NULL,
      0, 0.5, 1, 1, "vllm:kv_cache_usage_perc", 1 },
    { "when all are insane, the first source says why", "kv_pressure",
      "vllm:kv_cache_usage_perc{" A "} NaN\nsglang:token_usage{" B "} 7\n", NULL,
      ADP_WHY_NOT_FINITE, 0, 0, 2, "vllm:kv_cache_usage_perc", 0 },
    { "what has no target speaks too", "kv_pressure",
      "vllm:kv_cache_usage_perc{" A "} 0.1\nsglang:token_usage 0.75\n", NULL, 0, 0.75, 2,
      0, "vllm:kv_cache_usage_perc", 2 },
    { "a mean is over all cards", "gpu_util",
      "DCGM_FI_DEV_GPU_UTIL{" A ",gpu=\"0\"} 50\nDCGM_FI_DEV_GPU_UTIL{" A
      ",gpu=\"1\"} 100\n"
      "gpu_gfx_activity{" B ",gpu_id=\"0\"} 30\n",
      NULL, 0, 0.6, 3, 0, "DCGM_FI_DEV_GPU_UTIL / 100", 2 },
    { "of which one that several pods share is one", "gpu_util", /* (1 + 0) / 2 */
      "DCGM_FI_DEV_GPU_UTIL{" A ",gpu=\"0\",UUID=\"GPU-0\",pod=\"a\"} 100\n"
      "DCGM_FI_DEV_GPU_UTIL{" A ",gpu=\"0\",UUID=\"GPU-0\",pod=\"b\"} 100\n"
      "DCGM_FI_DEV_GPU_UTIL{" A ",gpu=\"0\",UUID=\"GPU-0\",pod=\"c\"} 100\n"
      "gpu_gfx_activity{" B ",gpu_id=\"0\"} 0\n",
      NULL, 0, 0.5, 4, 0, "DCGM_FI_DEV_GPU_UTIL / 100", 2 },
    { "as are the ranks of an engine", "prefix_hit_rate", /* (0.75 + 0.25) / 2 */
      "sglang:cache_hit_rate{" A ",tp_rank=\"0\"} 0.75\n"
      "sglang:cache_hit_rate{" A ",tp_rank=\"1\"} 0.75\n"
      "sglang:cache_hit_rate{" A ",tp_rank=\"2\"} 0.75\n"
      "lmdeploy:prefix_cache_hit_rate{" B "} 0.25\n",
      NULL, 0, 0.5, 4, 0, "sglang:cache_hit_rate{name=\"\"}", 2 },
    { "and a share counts for the engines that it is of", "prefix_hit_rate",
      /* (3 * (80 + 10 + 0) / (80 + 20 + 20) + 0.25) / 4: one had no request */
      "vllm:prefix_cache_hits_total{" A ",engine=\"0\"} 80\n"
      "vllm:prefix_cache_queries_total{" A ",engine=\"0\"} 80\n"
      "vllm:prefix_cache_hits_total{" A ",engine=\"1\"} 10\n"
      "vllm:prefix_cache_queries_total{" A ",engine=\"1\"} 20\n"
      "vllm:prefix_cache_hits_total{" A ",engine=\"2\"} 0\n"
      "vllm:prefix_cache_queries_total{" A ",engine=\"2\"} 0\n"
      "vllm:prefix_cache_hits_total{target=\"c\",engine=\"0\"} 0\n"
      "vllm:prefix_cache_queries_total{target=\"c\",engine=\"0\"} 20\n"
      "lmdeploy:prefix_cache_hit_rate{" B "} 0.25\n",
      "vllm:prefix_cache_hits_total{" A ",engine=\"0\"} 0\n"
      "vllm:prefix_cache_queries_total{" A ",engine=\"0\"} 0\n"
      "vllm:prefix_cache_hits_total{" A ",engine=\"1\"} 0\n"
      "vllm:prefix_cache_queries_total{" A ",engine=\"1\"} 0\n"
      "vllm:prefix_cache_hits_total{" A ",engine=\"2\"} 0\n"
      "vllm:prefix_cache_queries_total{" A ",engine=\"2\"} 0\n"
      "vllm:prefix_cache_hits_total{target=\"c\",engine=\"0\"} 0\n"
      "vllm:prefix_cache_queries_total{target=\"c\",engine=\"0\"} 0\n",
      0, 0.625, 2, 0,
      "share(delta(vllm:prefix_cache_hits_total), "
      "delta(vllm:prefix_cache_queries_total))",
      2 },
    { "a target that has no part in it says nothing", "gpu_util",
      "DCGM_FI_DEV_GPU_UTIL{" A ",gpu=\"0\"} 50\nvllm:num_requests_running{" B "} 1\n",
      NULL, 0, 0.5, 1, 0, "DCGM_FI_DEV_GPU_UTIL / 100", 1 },
    { "counters of one make are summed before they are divided", "prefix_hit_rate",
      /* (50 + 20) / (100 + 300) */
      "vllm:prefix_cache_hits_total{" A "} 150\nvllm:prefix_cache_queries_total{" A
      "} 300\n"
      "vllm:prefix_cache_hits_total{" B "} 20\nvllm:prefix_cache_queries_total{" B
      "} 300\n",
      "vllm:prefix_cache_hits_total{" A "} 100\nvllm:prefix_cache_queries_total{" A
      "} 200\n"
      "vllm:prefix_cache_hits_total{" B "} 0\nvllm:prefix_cache_queries_total{" B "} 0\n",
      0, 0.175, 1, 0, NULL, 1 },
    { "a target's requests that no engine has yet are added to each of its own",
      "queue_depth", /* (5 + 4) + (6 + 4), and (7 + 1) + (8 + 1) */
      "lmdeploy:num_requests_waiting{" A ",engine=\"0\"} 5\n"
      "lmdeploy:num_requests_waiting{" A ",engine=\"1\"} 6\n"
      "lmdeploy:num_api_requests_waiting{" A "} 4\n"
      "lmdeploy:num_requests_waiting{" B ",engine=\"0\"} 7\n"
      "lmdeploy:num_requests_waiting{" B ",engine=\"1\"} 8\n"
      "lmdeploy:num_api_requests_waiting{" B "} 1\n",
      NULL, 0, 36, 4, 0,
      "lmdeploy:num_requests_waiting + lmdeploy:num_api_requests_waiting", 1 },
    { "parts pair with wholes within their target", "prefix_hit_rate",
      /* (60 + 10) / (100 + 100) */
      "sglang:cached_tokens_total{" A ",cache_source=\"d\"} 60\n"
      "sglang:prompt_tokens_total{" A "} 100\nsglang:cache_hit_rate{" A "} 0.01\n"
      "sglang:cached_tokens_total{" B ",cache_source=\"d\"} 10\n"
      "sglang:prompt_tokens_total{" B "} 100\nsglang:cache_hit_rate{" B "} 0.01\n",
      "sglang:cached_tokens_total{" A ",cache_source=\"d\"} 0\n"
      "sglang:prompt_tokens_total{" A "} 0\n"
      "sglang:cached_tokens_total{" B ",cache_source=\"d\"} 0\n"
      "sglang:prompt_tokens_total{" B "} 0\n",
      0, 0.35, 1, 0,
      "share(delta(sglang:cached_tokens_total), delta(sglang:prompt_tokens_total))", 1 },
    { "a target without requests is not asked for its lifetime", "prefix_hit_rate",
      "vllm:prefix_cache_hits_total{" A "} 150\nvllm:prefix_cache_queries_total{" A
      "} 300\n"
      "vllm:prefix_cache_hits_total{" B "} 0\nvllm:prefix_cache_queries_total{" B "} 0\n"
      "vllm:gpu_prefix_cache_hit_rate{" B "} 0.875\n",
      "vllm:prefix_cache_hits_total{" A "} 100\nvllm:prefix_cache_queries_total{" A
      "} 200\n"
      "vllm:prefix_cache_hits_total{" B "} 0\nvllm:prefix_cache_queries_total{" B "} 0\n",
      0, 0.5, 1, 1, NULL, 1 },
};

static int count_bits(uint64_t bits)
{
    int n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

START_TEST(each_target_of_a_pool_takes_its_own_first_source)
{
    read_pages(pooled[_i].page, pooled[_i].before);
    uint32_t signal = number_of(pooled[_i].signal);
    const struct adp_reading *r = &readings[signal];
    ck_assert_msg(r->why == pooled[_i].why, "%s: %s", pooled[_i].name,
                  adp_why_word(r->why));
    if (!r->why)
        ck_assert_double_eq_tol(r->value, pooled[_i].value, 1e-15);
    ck_assert_msg(r->taken == pooled[_i].taken && r->skipped == pooled[_i].skipped,
                  "%s: %u taken, %u skipped", pooled[_i].name, r->taken, r->skipped);
    ck_assert_int_ge(r->source, 0);
    if (pooled[_i].source)
        ck_assert_str_eq(
            adp_expr_text(adp_signals_source(set, signal, (uint32_t)r->source, NULL)),
            pooled[_i].source);
    ck_assert_int_eq(count_bits(r->sources), pooled[_i].n_sources);
    if (!r->why)
        ck_assert(r->sources >> r->source & 1);
}
END_TEST

/* The operator's sources of a signal "s", in [0, 100]. */
static const struct {
    const char *name, *sources[2];
    enum adp_aggregate aggregate[2];
    const char *page;
    enum adp_why why;
    double value;
    uint32_t taken;
} pooled_own[] = {
    { "one that expects one series is ambiguous in a pool",
      { "x" },
      { ADP_AGG_NONE },
      "x{" A "} 1\nx{" B "} 2\n",
      ADP_WHY_AMBIGUOUS,
      0,
      0 },
    { "also where one value is insane",
      { "x" },
      { ADP_AGG_NONE },
      "x{" A "} 1\nx{" B "} NaN\n",
      ADP_WHY_AMBIGUOUS,
      0,
      0 },
    { "not where one target has it",
      { "x" },
      { ADP_AGG_NONE },
      "x{" A "} 1\ny{" B "} 2\n",
      0,
      1,
      1 },
    { "two such, of two targets, are several without an aggregation",
      { "x", "y" },
      { ADP_AGG_NONE, ADP_AGG_NONE },
      "x{" A "} 1\ny{" B "} 2\n",
      ADP_WHY_AMBIGUOUS,
      0,
      0 },
    { "the aggregation that is declared goes for both",
      { "x", "y" },
      { ADP_AGG_NONE, ADP_AGG_SUM },
      "x{" A "} 1\ny{" B "} 2\n",
      0,
      3,
      2 },
    { "of two declared the first",
      { "x", "y" },
      { ADP_AGG_MIN, ADP_AGG_MAX },
      "x{" A "} 1\ny{" B "} 2\n",
      0,
      1,
      2 },
    { "a sum beyond the range is absent, not cut",
      { "x", "y" },
      { ADP_AGG_SUM, ADP_AGG_SUM },
      "x{" A "} 70\ny{" B "} 60\n",
      ADP_WHY_OUT_OF_RANGE,
      0,
      2 },
    { "targets that are insane each are not sane together",
      { "=mean(x)" },
      { ADP_AGG_MAX },
      "x{" A "} 150\nx{" B "} -50\n",
      ADP_WHY_OUT_OF_RANGE,
      0,
      0 },
    { "a total, or parts where there is none, by each target", /* 1 + 2, and 40 */
      { "=either(sum(x), y)" },
      { ADP_AGG_SUM },
      "x{" A ",e=\"0\"} 1\nx{" A ",e=\"1\"} 2\ny{" A "} 50\ny{" B "} 40\n",
      0,
      43,
      2 },
    { "and the other way round", /* 3, and 5 + 6 */
      { "=either(x, sum(y))" },
      { ADP_AGG_SUM },
      "x{" A "} 3\ny{" B ",e=\"0\"} 5\ny{" B ",e=\"1\"} 6\n",
      0,
      14,
      2 },
    { "totals", /* the larger of 3 and 40 */
      { "=either(sum(x), sum(y))" },
      { ADP_AGG_MAX },
      "x{" A "} 3\ny{" B "} 40\n",
      0,
      40,
      2 },
    { "calculated with", /* (3 + 1) + (40 + 1) */
      { "=either(2 * max(x), y) / 2 + 1" },
      { ADP_AGG_SUM },
      "x{" A "} 3\ny{" B "} 80\n",
      0,
      45,
      2 },
    { "which are several without an aggregation",
      { "=either(sum(x), y)" },
      { ADP_AGG_NONE },
      "x{" A "} 3\ny{" B "} 40\n",
      ADP_WHY_AMBIGUOUS,
      0,
      0 },
    { "a number in its place speaks for nobody without a metric", /* of a only */
      { "=either(x, 7)" },
      { ADP_AGG_SUM },
      "x{" A "} 3\nz{" B "} 1\n",
      0,
      3,
      1 },
    { "but for who has one that is insane", /* 3 and 7 */
      { "=either(x, 7)" },
      { ADP_AGG_SUM },
      "x{" A "} 3\nx{" B "} NaN\n",
      0,
      10,
      2 },
    { "what is one of its target's is none of the pool's", /* 9 / 10 of a */
      { "=x / y" },
      { ADP_AGG_MAX },
      "x{" A ",e=\"0\"} 5\nx{" A ",e=\"1\"} 9\ny{" A "} 10\nx{" B "} 2\ny{" B "} 10\n",
      0,
      0.9,
      3 },
    { "also where all are shaped so", /* 0.5 + 0.75 + 0.25 + 1 */
      { "=x / y" },
      { ADP_AGG_SUM },
      "x{" A ",e=\"0\"} 2\nx{" A ",e=\"1\"} 3\ny{" A "} 4\n"
      "x{" B ",e=\"0\"} 2\nx{" B ",e=\"1\"} 8\ny{" B "} 8\n",
      0,
      2.5,
      4 },
    { "and on what has no target", /* 0.5 + 0.75 + 0.25 */
      { "=x / y" },
      { ADP_AGG_SUM },
      "x{" A ",e=\"0\"} 2\nx{" A ",e=\"1\"} 3\ny{" A "} 4\nx 2\ny 8\n",
      0,
      1.5,
      3 },
    { "and in a function of all", /* 0.5 + 0.75 + 0.25 */
      { "=sum(x / y)" },
      { ADP_AGG_NONE },
      "x{" A ",e=\"0\"} 2\nx{" A ",e=\"1\"} 3\ny{" A "} 4\nx{" B "} 2\ny{" B "} 8\n",
      0,
      1.5,
      1 },
    { "several are ambiguous however they are paired",
      { "=x / y" },
      { ADP_AGG_NONE },
      "x{" A ",e=\"0\"} 2\ny{" A "} 4\nx{" B ",e=\"0\"} 3\ny{" B "} 4\n",
      ADP_WHY_AMBIGUOUS,
      0,
      0 },
    { "functions are each target's own where an aggregate says what of them is",
      { "=max(x) / max(y)" }, /* 9 / 10 of a, not 9 / 100 */
      { ADP_AGG_MAX },
      "x{" A ",e=\"0\"} 9\nx{" A ",e=\"1\"} 1\ny{" A "} 10\nx{" B "} 2\ny{" B "} 100\n",
      0,
      0.9,
      2 },
    { "and of all where nothing does", /* (2 + 6) / (10 + 6) */
      { "=sum(x) / sum(y)" },
      { ADP_AGG_NONE },
      "x{" A "} 2\ny{" A "} 10\nx{" B "} 6\ny{" B "} 6\n",
      0,
      0.5,
      1 },
    { "a share of what is calculated is of all", /* (1 + 3) / (4 + 12) */
      { "=100 * share(max(x), max(x) + y) / 100" },
      { ADP_AGG_MEAN },
      "x{" A "} 1\ny{" A ",e=\"0\"} 3\nx{" B "} 3\ny{" B ",e=\"0\"} 9\n",
      0,
      0.25,
      1 },
    { "but beside what is each target's own it is too", /* 10 * 1/4 + 20 * 3/4 */
      { "=x * share(y, z)" },
      { ADP_AGG_SUM },
      "x{" A "} 10\ny{" A "} 1\nz{" A "} 4\nx{" B "} 20\ny{" B "} 3\nz{" B "} 4\n",
      0,
      17.5,
      2 },
    { "the last is the last on the page, whichever source is first",
      { "x", "y" },
      { ADP_AGG_LAST, ADP_AGG_LAST },
      "y{" A "} 1\nx{" B "} 2\n",
      0,
      2,
      1 },
    { "also the other way round",
      { "x", "y" },
      { ADP_AGG_LAST, ADP_AGG_LAST },
      "x{" B "} 2\ny{" A "} 1\n",
      0,
      1,
      1 },
    { "and of targets that are told in turn",
      { "x" },
      { ADP_AGG_LAST },
      "x{" A ",e=\"0\"} 1\nx{" B "} 2\nx{" A ",e=\"1\"} 3\nx{" B ",e=\"1\"} NaN\n",
      0,
      3,
      1 },
    { "and of what is made of several",
      { "=max(x) + 0 * max(y)" },
      { ADP_AGG_LAST },
      "x{" B "} 2\nx{" A "} 1\ny{" A "} 1\ny{" B "} 1\n",
      0,
      2,
      1 },
    { "metrics that no target has alone are put together",
      { "=sum(x) / sum(y)", "x" },
      { ADP_AGG_MAX, ADP_AGG_MAX },
      "x{" A "} 8\ny{" B "} 2\n",
      0,
      4,
      1 },
    { "but not where one has them",
      { "=sum(x) / sum(y)", "x" },
      { ADP_AGG_MAX, ADP_AGG_MAX },
      "x{" A "} 8\ny{" A "} 2\nx{" B "} 32\n",
      0,
      32,
      2 },
};

START_TEST(the_operators_sources_are_chosen_by_each_target_too)
{
    uint32_t s;
    ck_assert_int_eq(adp_signals_add(set, "s", "x", 0, 100, 5 * SECOND, &s, NULL), 0);
    for (int i = 0; i < 2 && pooled_own[_i].sources[i]; i++)
        add_source("s", pooled_own[_i].sources[i], pooled_own[_i].aggregate[i]);
    const struct adp_reading *r = read_signal("s", pooled_own[_i].page);
    ck_assert_msg(r->why == pooled_own[_i].why, "%s: %s", pooled_own[_i].name,
                  adp_why_word(r->why));
    if (r->why == ADP_WHY_AMBIGUOUS)
        ck_assert_str_eq(r->differ, "target");
    ck_assert_uint_eq(r->taken, pooled_own[_i].taken);
    if (!r->why)
        ck_assert_double_eq(r->value, pooled_own[_i].value);
    else
        ck_assert(!r->expires_ns && !r->sources);
}
END_TEST

/* ---- pools of random shapes ---- */

/* Small numbers, the same on every run. */
static uint32_t dice_state;

static uint32_t dice(uint32_t faces)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (dice_state >> 16) % faces;
}

static const char *const random_values[] = { "1", "2", "3", "5", "8", "12", "0", "NaN" };

/* Up to four series of `metric`, with a label each or without, of the target whose label is
 * given; one is told by two ranks. */
static void add_random_series(char *page, size_t size, const char *metric,
                              const char *target)
{
    static const char *const labels[] = { "", "e=\"0\",", "e=\"1\",", "e=\"2\"," };
    static const char *const ranks[] = { "", "tp_rank=\"0\",", "tp_rank=\"1\"," };
    uint32_t which = dice(4) ? dice(16) : 1u << dice(4);
    for (uint32_t i = 0; i < 4; i++)
        if (which >> i & 1) {
            const char *value = random_values[dice(COUNT(random_values))];
            for (uint32_t rank = 0; rank <= (i == 3); rank++) {
                size_t n = strlen(page);
                snprintf(page + n, size - n, "%s{%s%s%s} %s\n", metric, labels[i],
                         ranks[i == 3 ? 1 + rank : 0], target, value);
            }
        }
}

static const char *const random_sources[] = { "x",
                                              "=x / y",
                                              "=x + y / z",
                                              "=(x - y) / (x + z)",
                                              "=either(x, y) * z",
                                              "=either(sum(x), y)",
                                              "=x / max(y)",
                                              "=max(x) / max(y)",
                                              "=sum(x / y) - min(z)",
                                              "=x * share(y, z)" };

/* What the targets' own readings come to. */
static double expected_of(enum adp_aggregate how, const struct adp_reading *alone,
                          uint32_t n, uint32_t *ret_taken)
{
    double value = 0;
    uint32_t taken = 0, weight = 0;
    for (uint32_t i = 0; i < n; i++) {
        double v = alone[i].value;
        if (alone[i].why != ADP_WHY_PRESENT)
            continue;
        if (how == ADP_AGG_SUM)
            value += v;
        else if (how == ADP_AGG_MEAN) {
            value += v * alone[i].weight;
            weight += alone[i].weight;
        } else if (!taken || (how == ADP_AGG_MAX ? v > value : v < value))
            value = v;
        taken += alone[i].taken;
    }
    *ret_taken = taken;
    return weight ? value / weight : value;
}

START_TEST(a_pools_value_follows_from_what_each_target_yields_alone)
{
    static const enum adp_aggregate hows[] = { ADP_AGG_SUM, ADP_AGG_MAX, ADP_AGG_MIN,
                                               ADP_AGG_MEAN };
    static const char *const targets[] = { A, B, "target=\"c\"", "" };
    enum adp_aggregate how = hows[_i % COUNT(hows)];
    uint32_t s, first, present = 0;
    dice_state = (uint32_t)_i;
    ck_assert_int_eq(adp_signals_add(set, "s", "x", -1000, 1000, SECOND, &s, NULL), 0);
    add_source("s", random_sources[_i / COUNT(hows)], how);
    add_source("s", "z", how);
    ck_assert_int_eq(
        adp_signals_add(set, "first", "x", -1000, 1000, SECOND, &first, NULL), 0);
    add_source("first", random_sources[_i / COUNT(hows)], how);
    for (int round = 0; round < 300; round++) {
        char page[4096] = "", own[COUNT(targets)][1024] = { "" };
        struct adp_reading alone[COUNT(targets)];
        uint32_t n = 2 + dice(COUNT(targets) - 1), taken;
        bool any = false;
        for (uint32_t i = 0; i < n; i++) {
            const char *target = targets[(i + (uint32_t)round) % COUNT(targets)];
            add_random_series(own[i], sizeof own[i], "x", target);
            add_random_series(own[i], sizeof own[i], "y", target);
            add_random_series(own[i], sizeof own[i], "z", target);
            strcat(page, own[i]);
            alone[i] = *read_signal("s", own[i]);
            any = any || readings[first].why != ADP_WHY_NEVER_SUPPLIED;
        }
        double expected = expected_of(how, alone, n, &taken);
        const struct adp_reading *r = read_signal("s", page);
        if (!any) /* then it is read across them */
            continue;
        ck_assert_msg((r->why == ADP_WHY_PRESENT) == (taken > 0), "%s of\n%s",
                      adp_why_word(r->why), page);
        if (!taken)
            continue;
        present++;
        ck_assert_msg(fabs(r->value - expected) < 1e-9, "%g, expected %g, of\n%s",
                      r->value, expected, page);
        ck_assert_msg(r->taken == taken, "%u taken, expected %u, of\n%s", r->taken, taken,
                      page);
    }
    ck_assert_uint_gt(present, 100);
}
END_TEST

/* A pool of one target's copies is as that one; of sums so many times it. */
static const char *const copied_sources[] = { "=share(x, y)", "=share(x, x + y)",
                                              "=1 - share(x, max(y) + z)",
                                              "=100 * share(either(x, y), z) / 100" };

START_TEST(a_pool_of_copies_is_as_one_of_them)
{
    uint32_t s, present = 0;
    dice_state = (uint32_t)_i;
    ck_assert_int_eq(adp_signals_add(set, "s", "x", -1000, 1000, SECOND, &s, NULL), 0);
    add_source("s", copied_sources[_i], ADP_AGG_MEAN);
    for (int round = 0; round < 300; round++) {
        char page[2048] = "", own[1024] = "";
        for (char target = 'a'; target <= 'b'; target++) {
            char label[] = "target=\"?\"";
            uint32_t from = (uint32_t)(round * 7919);
            label[8] = target;
            dice_state = from;
            own[0] = '\0';
            add_random_series(own, sizeof own, "x", label);
            add_random_series(own, sizeof own, "y", label);
            add_random_series(own, sizeof own, "z", label);
            strcat(page, own);
        }
        struct adp_reading alone = *read_signal("s", own);
        if (alone.why == ADP_WHY_NEVER_SUPPLIED)
            continue;
        const struct adp_reading *r = read_signal("s", page);
        ck_assert_msg(r->why == alone.why, "%s, alone %s, of\n%s", adp_why_word(r->why),
                      adp_why_word(alone.why), page);
        if (alone.why)
            continue;
        present++;
        ck_assert_msg(fabs(r->value - alone.value) < 1e-9, "%g, alone %g, of\n%s",
                      r->value, alone.value, page);
    }
    ck_assert_uint_gt(present, 50);
}
END_TEST

/* The operator's signal "s" is read from `source`; "m" may be called m2 or m3 and "n" n2. Pages
 * are 10 s apart. `replicas`: what a and b read by themselves, NaN: nothing. */
static const struct {
    const char *name, *source;
    enum adp_aggregate aggregate;
    const char *page, *before;
    double value;
    uint32_t taken;
    double replicas[2];
} pooled_names[] = {
    { "one has the name and the other the alias", /* 5 + 40 */
      "m",
      ADP_AGG_SUM,
      "m{" A "} 5\nm2{" B "} 40\n",
      NULL,
      45,
      2,
      { 5, 40 } },
    { "in whatever order",
      "m",
      ADP_AGG_SUM,
      "m2{" B "} 40\nm{" A "} 5\n",
      NULL,
      45,
      2,
      { 5, 40 } },
    { "nobody has the name, and each another alias", /* 7 + 40 */
      "m",
      ADP_AGG_SUM,
      "m2{" B "} 40\nm3{" A "} 7\n",
      NULL,
      47,
      2,
      { 7, 40 } },
    { "who has both is asked for the name only", /* 5 + 40, not 100 */
      "m",
      ADP_AGG_SUM,
      "m{" A "} 5\nm2{" A "} 100\nm2{" B "} 40\nm3{" B "} 300\n",
      NULL,
      45,
      2,
      { 5, 40 } },
    { "also where the matcher leaves nothing of it", /* as on a page of one: only b's */
      "m{k=\"x\"}",
      ADP_AGG_SUM,
      "m{" A ",k=\"y\"} 5\nm2{" A ",k=\"x\"} 100\nm2{" B ",k=\"x\"} 40\n",
      NULL,
      40,
      1,
      { NAN, 40 } },
    { "what has no target is one more target", /* 5 + 40 + 2 */
      "m",
      ADP_AGG_SUM,
      "m{" A "} 5\nm2{" B "} 40\nm3 2\n",
      NULL,
      47,
      3,
      { 5, 40 } },
    { "both sides of a division", /* the larger of 3/4 and 9/10 */
      "=m / n",
      ADP_AGG_MAX,
      "m{" A "} 3\nn{" A "} 4\nm2{" B "} 9\nn2{" B "} 10\n",
      NULL,
      0.9,
      2,
      { 0.75, 0.9 } },
    { "counters grow under the name that each has", /* 100/10 + 50/10 a second */
      "=rate(m)",
      ADP_AGG_SUM,
      "m{" A "} 300\nm2{" B "} 60\n",
      "m{" A "} 200\nm2{" B "} 10\n",
      15,
      2,
      { 10, 5 } },
    { "a restart is seen under it too", /* n2 of b went back: only a's 100 of 200 */
      "=delta(m) / delta(n)",
      ADP_AGG_MAX,
      "m{" A "} 300\nn{" A "} 400\nm2{" B "} 60\nn2{" B "} 3\n",
      "m{" A "} 200\nn{" A "} 200\nm2{" B "} 10\nn2{" B "} 9\n",
      0.5,
      1,
      { 0.5, NAN } },
    { "and hides nobody's who has the first", /* n{b} is no part of it: a's 100 + b's 50 */
      "=delta(m) + 0 * delta(n)",
      ADP_AGG_SUM,
      "m{" A "} 300\nn{" A "} 400\nm2{" B "} 60\nn{" B "} 20\nn2{" B "} 3\n",
      "m{" A "} 200\nn{" A "} 200\nm2{" B "} 10\nn{" B "} 10\nn2{" B "} 9\n",
      150,
      2,
      { 100, 50 } },
};

START_TEST(each_target_of_a_pool_has_the_first_name_that_it_has)
{
    static struct adp_replicas table;
    static const struct adp_str names[] = { { "a", 1 }, { "b", 1 } };
    static const char *const others[][2] = { { "m", "m2" },
                                             { "n", "n2" },
                                             { "m", "m3" } };
    uint32_t s;
    ck_assert_int_eq(adp_signals_add(set, "s", "x", 0, 1000, 5 * SECOND, &s, NULL), 0);
    add_source("s", pooled_names[_i].source, pooled_names[_i].aggregate);
    for (int i = 0; i < COUNT(others); i++)
        ck_assert_int_eq(adp_signals_rename(set, others[i][0], others[i][1], NULL), 0);

    read_pages(pooled_names[_i].page, pooled_names[_i].before);
    const struct adp_reading *r = &readings[s];
    ck_assert_int_eq(r->why, 0);
    ck_assert_double_eq_tol(r->value, pooled_names[_i].value, 1e-12);
    ck_assert_msg(r->taken == pooled_names[_i].taken, "%s: %u taken",
                  pooled_names[_i].name, r->taken);

    struct adp_metrics *now = page_of(pooled_names[_i].page);
    struct adp_metrics *before =
        pooled_names[_i].before ? page_of(pooled_names[_i].before) : NULL;
    struct adp_moment moment = { .now = now, .before = before, .elapsed_s = 10 };
    struct adp_bound bound;
    adp_signals_bind(set, now, &bound);
    adp_replicas_begin(&table, 2, UINT64_C(1) << s);
    adp_signals_read_replicas(set, &bound, &moment, now_ns, wall_s, scratch, names,
                              &table);
    for (uint32_t row = 0; row < 2; row++) {
        double expected = pooled_names[_i].replicas[row];
        ck_assert_msg((table.present[row] == 1) == !isnan(expected), "%s: row %u",
                      pooled_names[_i].name, row);
        if (!isnan(expected))
            ck_assert_double_eq_tol(table.value[row], expected, 1e-12);
    }
    adp_metrics_destroy(before);
    adp_metrics_destroy(now);
}
END_TEST

/* What one engine's cache holds at the least, of those that kv_capacity counts: blocks times
 * their size, or as it is told. The wall clock is at 1000 s, and 60 s are too old. NaN: the
 * signal is absent. */
#define CACHE(labels, blocks)                                                            \
    "vllm:cache_config_info{" labels "num_gpu_blocks=\"" blocks                          \
    "\",block_size=\"16\"} 1\n"
#define SLEEPS(labels) "vllm:engine_sleep_state{" labels "sleep_state=\"awake\"} 0\n"

static const struct {
    const char *name, *own; /* own: a source of the operator's, or NULL */
    enum adp_aggregate aggregate;
    const char *page;
    double least, sum;
} leasts[] = {
    { "of one engine its own", NULL, 0, CACHE("", "1000"), 16000, 16000 },
    { "of two of one page the smaller's", NULL, 0,
      CACHE("engine=\"0\",", "1000") CACHE("engine=\"1\",", "500"), 8000, 24000 },
    { "one that sleeps is not counted", NULL, 0,
      CACHE("engine=\"0\",", "1000") CACHE("engine=\"1\",", "500")
          SLEEPS("engine=\"1\","),
      16000, 16000 },
    { "nor what cannot be", NULL, 0,
      CACHE("engine=\"0\",", "1000") CACHE("engine=\"1\",", "0"), 16000, 16000 },
    { "of a pool of two makes each by its own source", NULL, 0,
      CACHE(A ",", "24000") "sglang:max_total_num_tokens{" B "} 92962\n", 92962, 476962 },
    { "whichever is the first", NULL, 0,
      CACHE(A ",", "1000") "sglang:max_total_num_tokens{" B "} 92962\n", 16000, 108962 },
    { "a target of several engines has one that is the least", NULL, 0,
      CACHE(A ",engine=\"0\",", "1000") CACHE(A ",engine=\"1\",", "500")
          CACHE(B ",", "2000"),
      8000, 56000 },
    { "one that sleeps in a pool is not counted", NULL, 0,
      CACHE(A ",", "1000") SLEEPS(A ",") "sglang:max_total_num_tokens{" B "} 92962\n",
      92962, 92962 },
    { "nor one that is too old", NULL, 0,
      CACHE(A ",", "1000") "sglang:max_total_num_tokens{" B "} 5 900000\n", 16000,
      16000 },
    { "what has no target is one more", NULL, 0,
      CACHE(A ",", "1000") "sglang:max_total_num_tokens 500\n", 500, 16500 },
    { "one source of the operator's is taken as it is", "mine", ADP_AGG_NONE,
      "mine 7000\n", 7000, 7000 },
    { "as is the last", "mine", ADP_AGG_LAST, "mine{e=\"0\"} 5\nmine{e=\"1\"} 7000\n",
      7000, 7000 },
    { "a mean has a least too", "mine", ADP_AGG_MEAN,
      "mine{e=\"0\"} 4000\nmine{e=\"1\"} 8000\n", 4000, 6000 },
    { "what a target makes one number of is one", "=sum(mine)", ADP_AGG_SUM,
      "mine{" A ",e=\"0\"} 1000\nmine{" A ",e=\"1\"} 2000\nmine{" B "} 7000\n", 3000,
      10000 },
    { "metrics that no target has alone are read of all", "=sum(mine) / sum(n)",
      ADP_AGG_MAX, "mine{" A "} 8000\nn{" B "} 2\n", 4000, 4000 },
    { "what is absent has none", NULL, 0, "other 1\n", NAN, NAN },
    { "in a pool neither", NULL, 0, "other{" A "} 1\nother{" B "} 1\n", NAN, NAN },
};

START_TEST(the_least_is_one_engines_of_those_that_are_counted)
{
    uint32_t capacity = number_of("kv_capacity");
    if (leasts[_i].own)
        add_source("kv_capacity", leasts[_i].own, leasts[_i].aggregate);
    struct adp_metrics *now = page_of(leasts[_i].page);
    struct adp_moment moment = { .now = now };
    struct adp_bound bound;
    double least = -1;
    adp_signals_bind(set, now, &bound);
    bool known = adp_signals_least(set, &bound, &moment, capacity, now_ns, wall_s,
                                   scratch, &least);
    ck_assert_msg(known == !isnan(leasts[_i].least), "%s", leasts[_i].name);
    ck_assert_msg(least == (known ? leasts[_i].least : -1), "%s: %.17g", leasts[_i].name,
                  least);
    /* and the reading is as it was */
    adp_signals_read_bound(set, &bound, &moment, now_ns, wall_s, scratch, readings);
    ck_assert_int_eq(readings[capacity].why == ADP_WHY_PRESENT, known);
    if (known)
        ck_assert_msg(readings[capacity].value == leasts[_i].sum, "%s: %.17g in all",
                      leasts[_i].name, readings[capacity].value);
    moment.now = NULL;
    ck_assert(!adp_signals_least(set, &bound, &moment, capacity, now_ns, wall_s, scratch,
                                 &least));
    adp_metrics_destroy(now);
}
END_TEST

/* The wall clock is at 1000 s. */
START_TEST(a_pool_is_as_old_as_its_oldest_source)
{
    const struct adp_reading *r =
        read_signal("kv_pressure", "vllm:kv_cache_usage_perc{" A "} 0.25 999000\n"
                                   "sglang:token_usage{" B "} 0.5 996000\n");
    ck_assert_double_eq(r->value, 0.5);
    ck_assert_double_eq_tol(r->age_s, 4, 1e-9);
    ck_assert_uint_eq(r->expires_ns, now_ns + SECOND);
    r = read_signal("kv_pressure", "vllm:kv_cache_usage_perc{" A "} 0.25 999000\n"
                                   "sglang:token_usage{" B "} 0.5 990000\n");
    ck_assert_double_eq(r->value, 0.25);
    ck_assert_double_eq_tol(r->age_s, 1, 1e-9);
}
END_TEST

START_TEST(a_pool_of_more_targets_than_have_room_is_absent)
{
    char page[32 * 300];
    size_t n = 0;
    for (int i = 0; i < 257; i++)
        n += (size_t)snprintf(page + n, sizeof page - n, "running{target=\"%d\"} 1\n", i);
    add_source("running", "running", ADP_AGG_SUM);
    ck_assert_int_eq(read_signal("running", page)->why, ADP_WHY_TOO_MANY);
    ck_assert_int_eq(readings[number_of("kv_pressure")].why, ADP_WHY_NEVER_SUPPLIED);
}
END_TEST

/* ---- age; the wall clock is at 1000 s, max_age is 5 s ---- */

static const struct {
    const char *name, *page;
    enum adp_why why;
    int32_t source;
    double age_s;
    uint64_t left_ns; /* from now until it expires */
} dated[] = {
    { "no timestamp is measured now", "a 0.5\n", 0, 0, 0, 5 * SECOND },
    { "2 s old", "a 0.5 998000\n", 0, 0, 2, 3 * SECOND },
    { "a clock ahead of ours makes nothing younger than now", "a 0.5 1007000\n", 0, 0, 0,
      5 * SECOND },
    { "just within", "a 0.5 995001\n", 0, 0, 4.999, SECOND / 1000 },
    { "exactly max_age is absent", "a 0.5 995000\n", ADP_WHY_STALE, 0, 5, 0 },
    { "old", "a 0.5 900000\n", ADP_WHY_STALE, 0, 100, 0 },
    { "from the epoch", "a 0.5 0\n", ADP_WHY_STALE, 0, 1000, 0 },
    { "stale, the next source supplies", "a 0.5 900000\nb 0.25\n", 0, 1, 0, 5 * SECOND },
    { "stale, and the next one is insane", "a 0.5 900000\nb 25\n", ADP_WHY_STALE, 0, 100,
      0 },
    { "insane, and the next one is stale", "a 50\nb 0.25 900000\n", ADP_WHY_OUT_OF_RANGE,
      0, 0, 0 },
    { "of several series the stale one is skipped",
      "a{engine=\"0\"} 0.5 900000\na{engine=\"1\"} 0.25 999000\n", 0, 0, 1, 4 * SECOND },
    { "a minute ahead is a clock ahead", "a 0.5 1060000\n", 0, 0, 0, 5 * SECOND },
    { "more is no time of now", "a 0.5 1060001\n", ADP_WHY_STALE, 0, -60.001, 0 },
    { "microseconds are far ahead, and the next one supplies",
      "a 0.5 1000000000\nb 0.25\n", 0, 1, 0, 5 * SECOND },
    { "the oldest of several series counts",
      "a{e=\"0\"} 0.5 999000\na{e=\"1\"} 0.25 996000\na{e=\"2\"} 0.25\n", 0, 0, 4,
      SECOND },
};

START_TEST(a_metrics_own_timestamp_makes_a_reading_old)
{
    uint32_t s;
    ck_assert_int_eq(adp_signals_add(set, "s", "ratio", 0, 1, 9, &s, NULL), 0);
    adp_signals_max_age(set, s, 5 * SECOND);
    add_source("s", "a", ADP_AGG_MAX);
    add_source("s", "b", ADP_AGG_MAX);
    const struct adp_reading *r = read_signal("s", dated[_i].page);
    ck_assert_msg(r->why == dated[_i].why, "%s: %s", dated[_i].name,
                  adp_why_word(r->why));
    ck_assert_int_eq(r->source, dated[_i].source);
    ck_assert_double_eq_tol(r->age_s, dated[_i].age_s, 1e-9);
    if (r->why)
        ck_assert_uint_eq(r->expires_ns, 0);
    else /* milliseconds are not exact in seconds: to the microsecond */
        ck_assert_msg(fabs((double)r->expires_ns - (double)now_ns -
                           (double)dated[_i].left_ns) < 1e3,
                      "%s: %ju", dated[_i].name, (uintmax_t)r->expires_ns);
}
END_TEST

START_TEST(an_age_limit_without_end_never_expires)
{
    adp_signals_max_age(set, number_of("running"), UINT64_MAX);
    const struct adp_reading *r = read_signal("running", "vllm:num_requests_running 3\n");
    ck_assert_uint_eq(r->expires_ns, UINT64_MAX);
    r = read_signal("running", "vllm:num_requests_running 3 0\n");
    ck_assert_int_eq(r->why, ADP_WHY_PRESENT);
    ck_assert_double_eq(r->age_s, 1000);
}
END_TEST

/* ---- the set ---- */

static const struct {
    const char *name;
    double lo, hi;
    const char *message;
} refusals[] = {
    { "kv_pressure", 0, 1, "signal \"kv_pressure\" is known already" },
    { "Kv", 0, 1,
      "malformed signal name, found \"Kv\", expected a letter, then letters, digits and "
      "_, "
      "all lower case, at most 63" },
    { "", 0, 1,
      "malformed signal name, found \"\", expected a letter, then letters, digits and _, "
      "all lower case, at most 63" },
    { "9a", 0, 1,
      "malformed signal name, found \"9a\", expected a letter, then letters, digits and "
      "_, "
      "all lower case, at most 63" },
    { "a.b", 0, 1,
      "malformed signal name, found \"a.b\", expected a letter, then letters, digits and "
      "_, all lower case, at most 63" },
    { "a234567890123456789012345678901234567890123456789012345678901234", 0, 1,
      "malformed signal name, found "
      "\"a234567890123456789012345678901234567890123456789012345678901234\", expected a "
      "letter, then letters, digits and _, all lower case, at most 63" },
    { "a", 1, 0, "the range of \"a\" holds no number" },
    { "a", NAN, 1, "the range of \"a\" holds no number" },
    { "a", 0, NAN, "the range of \"a\" holds no number" },
    { "a", INFINITY, INFINITY, "the range of \"a\" holds no number" },
    { "a", -INFINITY, -INFINITY, "the range of \"a\" holds no number" },
};

START_TEST(a_signal_that_cannot_be_is_refused)
{
    struct adp_error err = { 0 };
    uint32_t s = 77;
    int rc = adp_signals_add(set, refusals[_i].name, "ratio", refusals[_i].lo,
                             refusals[_i].hi, SECOND, &s, &err);
    ck_assert_int_eq(rc, ADP_EINVAL);
    ck_assert_str_eq(err.text, refusals[_i].message);
    ck_assert_uint_eq(s, 77);
    ck_assert_uint_eq(adp_signals_count(set), COUNT(shipped));
}
END_TEST

START_TEST(a_name_of_63_bytes_is_the_longest)
{
    char name[64];
    uint32_t s;
    memset(name, 'a', 63);
    name[63] = '\0';
    ck_assert_int_eq(adp_signals_add(set, name, "ratio", 0, 0, SECOND, &s, NULL), 0);
    ck_assert_uint_eq(number_of(name), s);
}
END_TEST

START_TEST(an_alias_finds_the_signal_and_is_a_known_name)
{
    struct adp_error err = { 0 };
    uint32_t kv = number_of("kv_pressure");
    ck_assert_int_eq(adp_signals_alias(set, "cache_pressure", kv, NULL), 0);
    ck_assert_uint_eq(number_of("cache_pressure"), kv);
    ck_assert_str_eq(adp_signals_name(set, kv), "kv_pressure");
    const char *const *names = adp_signals_names(set);
    uint32_t n = 0;
    while (names[n])
        n++;
    ck_assert_uint_eq(n, COUNT(shipped) + 1);
    ck_assert_str_eq(names[0], "kv_pressure");
    ck_assert_str_eq(names[n - 1], "cache_pressure");

    uint32_t s;
    ck_assert_int_eq(adp_signals_alias(set, "running", kv, &err), ADP_EINVAL);
    ck_assert_str_eq(err.text, "signal \"running\" is known already");
    ck_assert_int_eq(adp_signals_alias(set, "cache_pressure", kv, NULL), ADP_EINVAL);
    ck_assert_int_eq(adp_signals_add(set, "cache_pressure", "x", 0, 1, 1, &s, NULL),
                     ADP_EINVAL);
    ck_assert_int_eq(adp_signals_alias(set, "other", 99, NULL), ADP_EINVAL);
    ck_assert_int_eq(adp_signals_find(set, "other"), -1);
}
END_TEST

START_TEST(every_bound_is_told_and_not_overrun)
{
    char name[16];
    uint32_t s = 0;
    for (int i = COUNT(shipped); i < (int)ADP_MAX_KNOWN; i++) {
        snprintf(name, sizeof name, "s%d", i);
        ck_assert_int_eq(adp_signals_add(set, name, "x", 0, 1, 1, &s, NULL), 0);
    }
    ck_assert_int_eq(adp_signals_add(set, "more", "x", 0, 1, 1, &s, NULL), ADP_EFULL);
    for (uint32_t i = 0; i < ADP_MAX_SOURCES; i++)
        add_source(name, "a", ADP_AGG_MAX);
    struct adp_expr *source = NULL;
    ck_assert_int_eq(adp_expr_compile_metric(&source, "a", "c.yaml", 1, 1, NULL), 0);
    ck_assert_int_eq(adp_signals_source_take(set, s, source, ADP_AGG_MAX, NULL),
                     ADP_EFULL);
    ck_assert_int_eq(adp_expr_compile_metric(&source, "a", "c.yaml", 1, 1, NULL), 0);
    ck_assert_int_eq(adp_signals_source_take(set, 99, source, ADP_AGG_MAX, NULL),
                     ADP_EINVAL);
    for (uint32_t i = 0; i < ADP_MAX_RENAMES; i++)
        ck_assert_int_eq(adp_signals_rename(set, "a", "b", NULL), 0);
    ck_assert_int_eq(adp_signals_rename(set, "a", "b", NULL), ADP_EFULL);
    /* more names than there is room for in the index of sources: all are still asked */
    const struct adp_reading *r = read_signal(name, "b 0.5\n");
    ck_assert_int_eq(r->why, ADP_WHY_PRESENT);
    ck_assert_int_eq(r->source, 0);
    ck_assert_double_eq(
        read_signal("kv_pressure", "llamacpp:kv_cache_usage_ratio 0.25\n")->value, 0.25);
    for (int i = (int)ADP_MAX_KNOWN; i < 256; i++) {
        snprintf(name, sizeof name, "alias%d", i);
        ck_assert_int_eq(adp_signals_alias(set, name, s, NULL), 0);
    }
    ck_assert_int_eq(adp_signals_alias(set, "more", s, NULL), ADP_EFULL);
}
END_TEST

START_TEST(a_metric_without_a_name_is_not_renamed)
{
    ck_assert_int_eq(adp_signals_rename(set, "", "b", NULL), ADP_EINVAL);
    ck_assert_int_eq(adp_signals_rename(set, "a", "", NULL), ADP_EINVAL);
}
END_TEST

/* ---- explaining ---- */

static const struct {
    const char *signal, *page;
    bool near;
    const char *source, *metric;
} nearest[] = {
    { "kv_pressure", "llamacpp:requests_deferred 1\n", true,
      "llamacpp:kv_cache_usage_ratio", "llamacpp:kv_cache_usage_ratio" },
    { "kv_pressure", "vllm:num_requests_running 1\n", true, "vllm:kv_cache_usage_perc",
      "vllm:kv_cache_usage_perc" },
    { "kv_pressure", "ray_vllm_num_requests_running 1\n", true,
      "ray_vllm_kv_cache_usage_perc", "ray_vllm_kv_cache_usage_perc" },
    /* whose exporter's names begin alike is no engine of theirs */
    { "gpu_mem", "gpu_cache_usage_perc 0.5\nnum_requests_running 1\n", false,
      "DCGM_FI_DEV_FB_USED_PERCENT", "DCGM_FI_DEV_FB_USED_PERCENT" },
    /* half of what a source needs is nearer than a prefix */
    { "kv_pressure", "tgi_queue_size 1\ntgi_batch_max_total_tokens 5\nvllm:x 1\n", true,
      "tgi_batch_current_max_tokens / tgi_batch_max_total_tokens",
      "tgi_batch_current_max_tokens" },
    { "prefix_hit_rate", "vllm:num_requests_running 1\n", true,
      "share(delta(vllm:prefix_cache_hits_total), "
      "delta(vllm:prefix_cache_queries_total))",
      "vllm:prefix_cache_hits_total" },
    { "gpu_util", "vllm:num_requests_running 1\n", false, "DCGM_FI_DEV_GPU_UTIL / 100",
      "DCGM_FI_DEV_GPU_UTIL" },
    /* all there, and yet nothing to read: a counter seen once */
    { "prefill_rate", "sglang:prompt_tokens_total 1\n", true,
      "rate(sglang:prompt_tokens_total)", NULL },
    { "ttft_p95", "sglang:prompt_tokens_total 1\n", true,
      "quantile(0.95, sglang:time_to_first_token_seconds)",
      "sglang:time_to_first_token_seconds_bucket" },
};

START_TEST(the_nearest_source_is_of_the_engine_that_runs)
{
    struct adp_metrics *page = page_of(nearest[_i].page);
    uint32_t signal = number_of(nearest[_i].signal), source = 77;
    const char *metric = "none";
    bool near = adp_signals_nearest(set, signal, page, &source, &metric);
    ck_assert_str_eq(adp_expr_text(adp_signals_source(set, signal, source, NULL)),
                     nearest[_i].source);
    ck_assert_pstr_eq(metric, nearest[_i].metric);
    ck_assert(near == nearest[_i].near);
    adp_metrics_destroy(page);
}
END_TEST

START_TEST(a_signal_without_sources_has_none_near)
{
    struct adp_metrics *page = page_of("a 1\n");
    uint32_t s, source = 77;
    const char *metric = "none";
    ck_assert_int_eq(adp_signals_add(set, "s", "x", 0, 1, SECOND, &s, NULL), 0);
    ck_assert(!adp_signals_nearest(set, s, page, &source, &metric));
    ck_assert_ptr_null(metric);
    ck_assert_uint_eq(source, 0);
    adp_metrics_destroy(page);
}
END_TEST

START_TEST(what_no_current_engine_prints_is_not_the_nearest)
{
    struct adp_metrics *page = page_of("a 1\n");
    uint32_t s, source = 77;
    const char *metric = "none";
    ck_assert_int_eq(adp_signals_add(set, "s", "x", 0, 1, SECOND, &s, NULL), 0);
    add_source("s", "my:gpu_prefix_cache_hit_rate", ADP_AGG_MAX);
    add_source("s", "mine", ADP_AGG_MAX);
    ck_assert(!adp_signals_nearest(set, s, page, &source, &metric));
    ck_assert_uint_eq(source, 1);
    ck_assert_pstr_eq(metric, "mine");
    adp_metrics_destroy(page);
}
END_TEST

START_TEST(what_is_skipped_of_a_source_is_counted_by_reason)
{
    struct adp_metrics *page = page_of("vllm:gpu_cache_usage_perc{engine=\"0\"} 0.5\n"
                                       "vllm:gpu_cache_usage_perc{engine=\"1\"} 1.5\n"
                                       "vllm:gpu_cache_usage_perc{engine=\"2\"} NaN\n");
    struct adp_moment moment = { .now = page };
    adp_signals_read(set, &moment, now_ns, wall_s, scratch, readings);
    const struct adp_reading *r = &readings[number_of("kv_pressure")];
    ck_assert_str_eq(adp_why_word(r->why), "present");
    ck_assert_double_eq(r->value, 0.5);
    ck_assert_int_eq(r->source,
                     source_numbered("kv_pressure", "vllm:gpu_cache_usage_perc"));
    ck_assert_uint_eq(r->taken, 1);
    ck_assert_uint_eq(r->skipped, 2);
    ck_assert_uint_eq(r->skipped_by[ADP_WHY_OUT_OF_RANGE], 1);
    ck_assert_uint_eq(r->skipped_by[ADP_WHY_NOT_FINITE], 1);
    adp_metrics_destroy(page);
}
END_TEST

/* Used: the queue, a histogram by any of its series, what tells life and sleep. No use:
 * the process, creation times, labels that inform. */
START_TEST(metrics_that_no_signal_uses_are_told_once_each)
{
    static const char text[] = "vllm:num_requests_waiting 1\n"
                               "vllm:num_requests_waiting_by_reason{reason=\"a\"} 1\n"
                               "vllm:num_requests_waiting_by_reason{reason=\"b\"} 1\n"
                               "vllm:time_to_first_token_seconds_sum 1\n"
                               "vllm:engine_sleep_state 1\n"
                               "vllm:iteration_tokens_total_count 1\n"
                               "vllm:e2e_request_latency_seconds_bucket{le=\"1\"} 1\n"
                               "vllm:e2e_request_latency_seconds_bucket{le=\"+Inf\"} 1\n"
                               "vllm:e2e_request_latency_seconds_count 1\n"
                               "vllm:e2e_request_latency_seconds_sum 1\n"
                               "vllm:e2e_request_latency_seconds_created 1\n"
                               "vllm:lora_requests_info 1\n"
                               "process_open_fds 1\npython_info 1\nacme_depth 1\n";
    static const char *const told[] = { "vllm:num_requests_waiting_by_reason",
                                        "vllm:e2e_request_latency_seconds",
                                        "acme_depth" };
    struct adp_metrics *page = page_of(text);
    struct adp_str name;
    uint32_t at = 0;
    for (int i = 0; i < COUNT(told); i++) {
        ck_assert(adp_signals_unused(set, page, &at, &name));
        ck_assert_msg(name.n == strlen(told[i]) && !memcmp(name.p, told[i], name.n),
                      "%.*s", (int)name.n, name.p);
    }
    ck_assert(!adp_signals_unused(set, page, &at, &name));
    ck_assert_int_eq(
        adp_signals_rename(set, "vllm:num_requests_waiting", "acme_depth", NULL), 0);
    ck_assert(adp_signals_uses(set, (struct adp_str) { "acme_depth", 10 }));
    adp_metrics_destroy(page);
}
END_TEST

/* One of each call that allocates. */
static int build(struct adp_signals **ret)
{
    struct adp_signals *s = NULL;
    uint32_t i;
    int rc = adp_signals_create(&s, NULL);
    if (!rc)
        rc = adp_signals_add(s, "s", "ratio", 0, 1, 1, &i, NULL);
    if (!rc)
        rc = adp_signals_alias(s, "t", i, NULL);
    if (!rc)
        rc = adp_signals_rename(s, "a", "b", NULL);
    if (rc)
        adp_signals_destroy(s);
    else
        *ret = s;
    return rc;
}

START_TEST(every_failed_allocation_is_reported_and_leaks_nothing)
{
    uint64_t n = 1;
    for (int rc = ADP_ENOMEM; rc; n++) {
        struct adp_signals *s = NULL;
        fail_allocation(n);
        rc = build(&s);
        fail_allocation(0);
        ck_assert_int_eq(rc, s ? 0 : ADP_ENOMEM);
        adp_signals_destroy(s);
    }
    ck_assert_uint_gt(n, 40); /* 5 signals, 6 sources of 6 pieces and more */
    adp_signals_destroy(NULL);
}
END_TEST

START_TEST(reading_allocates_nothing)
{
    struct adp_metrics *now = page_of(loaded), *before = page_of(loaded_before);
    struct adp_moment moment = { .now = now, .before = before, .elapsed_s = 10 };
    fail_allocation(0);
    adp_signals_read(set, &moment, now_ns, wall_s, scratch, readings);
    uint64_t made = allocations;
    ck_assert_uint_eq(made, 0);
    ck_assert_int_eq(readings[0].why, ADP_WHY_PRESENT);
    adp_metrics_destroy(before);
    adp_metrics_destroy(now);
    moment =
        (struct adp_moment) { .now = page_of("vllm:kv_cache_usage_perc{target=\"a\"} 1\n"
                                             "sglang:token_usage{target=\"b\"} 1\n") };
    fail_allocation(0);
    adp_signals_read(set, &moment, now_ns, wall_s, scratch, readings);
    made = allocations;
    ck_assert_uint_eq(made, 0);
    ck_assert_uint_eq(readings[0].taken, 2);
    adp_metrics_destroy((struct adp_metrics *)moment.now);

    /* and what is made of all targets */
    uint32_t of_all;
    ck_assert_int_eq(adp_signals_add(set, "of_all", "x", 0, 1, SECOND, &of_all, NULL), 0);
    add_source("of_all", "=share(x, y)", ADP_AGG_MEAN);
    moment = (struct adp_moment) { .now = page_of("x{" A "} 1\ny{" A "} 2\n"
                                                  "x{" B "} 2\ny{" B "} 10\n") };
    fail_allocation(0);
    adp_signals_read(set, &moment, now_ns, wall_s, scratch, readings);
    made = allocations;
    ck_assert_uint_eq(made, 0);
    ck_assert_double_eq(readings[of_all].value, 0.25); /* (1 + 2) / (2 + 10) */
    adp_metrics_destroy((struct adp_metrics *)moment.now);
}
END_TEST

static TCase *dictionary(void)
{
    TCase *t = tcase_create("dictionary");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, the_shipped_signals_are_twelve, 0, COUNT(shipped));
    tcase_add_test(t, a_source_is_followed_by_its_other_prefixes);
    tcase_add_loop_test(t, the_shipped_sources_read_a_page_of_two_engines, 0,
                        COUNT(on_loaded));
    tcase_add_loop_test(t, what_engines_print_reads_as_a_value_or_as_absent, 0,
                        COUNT(real));
    tcase_add_loop_test(t, real_pages_read_as_values_or_as_absent, 0, COUNT(pages));
    tcase_add_test(t, the_document_shows_every_shipped_signal_and_reason);
    return t;
}

static TCase *reading(void)
{
    TCase *t = tcase_create("reading");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, the_first_source_with_a_sane_value_wins, 0, COUNT(ordered));
    tcase_add_test(t, the_operators_sources_go_before_the_shipped_ones);
    tcase_add_test(t, a_renamed_metric_is_tried_second);
    tcase_add_test(t, a_histograms_other_name_is_that_of_its_buckets);
    tcase_add_test(t, a_sleep_that_names_no_engine_is_of_all_of_its_target);
    tcase_add_test(t, what_either_has_for_a_metric_that_is_not_there_feeds_too);
    tcase_add_test(t, where_nothing_was_counted_a_lifetime_does_not_answer);
    tcase_add_loop_test(t, where_nothing_was_counted_a_second_a_lifetime_does_not_answer,
                        0, 2);
    tcase_add_test(t, engines_that_sleep_are_left_out_however_many);
    tcase_add_loop_test(t, each_target_of_a_pool_takes_its_own_first_source, 0,
                        COUNT(pooled));
    tcase_add_loop_test(t, the_operators_sources_are_chosen_by_each_target_too, 0,
                        COUNT(pooled_own));
    tcase_add_loop_test(t, a_pools_value_follows_from_what_each_target_yields_alone, 0,
                        4 * COUNT(random_sources));
    tcase_add_loop_test(t, a_pool_of_copies_is_as_one_of_them, 0, COUNT(copied_sources));
    tcase_add_loop_test(t, each_target_of_a_pool_has_the_first_name_that_it_has, 0,
                        COUNT(pooled_names));
    tcase_add_loop_test(t, the_least_is_one_engines_of_those_that_are_counted, 0,
                        COUNT(leasts));
    tcase_add_test(t, a_pool_is_as_old_as_its_oldest_source);
    tcase_add_test(t, a_pool_of_more_targets_than_have_room_is_absent);
    tcase_add_test(t, a_signal_of_the_operators_is_read_like_a_shipped_one);
    tcase_add_test(t, a_signal_without_sources_is_never_supplied);
    tcase_add_test(t, without_a_snapshot_every_signal_says_so);
    tcase_add_loop_test(t, a_metrics_own_timestamp_makes_a_reading_old, 0, COUNT(dated));
    tcase_add_test(t, an_age_limit_without_end_never_expires);
    tcase_add_test(t, reading_allocates_nothing);
    return t;
}

static TCase *building(void)
{
    TCase *t = tcase_create("building");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, the_nearest_source_is_of_the_engine_that_runs, 0,
                        COUNT(nearest));
    tcase_add_test(t, a_signal_without_sources_has_none_near);
    tcase_add_test(t, what_no_current_engine_prints_is_not_the_nearest);
    tcase_add_test(t, what_is_skipped_of_a_source_is_counted_by_reason);
    tcase_add_test(t, metrics_that_no_signal_uses_are_told_once_each);
    tcase_add_loop_test(t, a_signal_that_cannot_be_is_refused, 0, COUNT(refusals));
    tcase_add_test(t, a_name_of_63_bytes_is_the_longest);
    tcase_add_test(t, an_alias_finds_the_signal_and_is_a_known_name);
    tcase_add_test(t, every_bound_is_told_and_not_overrun);
    tcase_add_test(t, a_metric_without_a_name_is_not_renamed);
    tcase_add_test(t, every_failed_allocation_is_reported_and_leaks_nothing);
    return t;
}

int main(void)
{
    Suite *s = suite_create("signal");
    suite_add_tcase(s, dictionary());
    suite_add_tcase(s, reading());
    suite_add_tcase(s, building());
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
