/* SPDX-License-Identifier: MIT */
/* The shipped signals, and what else is known of engines. A change of meaning, range, unit
 * or source is a change of ADP_DICTIONARY_VERSION; docs/signals.md shows the same table to
 * people.
 *
 * Order of sources: an engine's own names from new to old, then the same engine seen from
 * outside (a frontend, a pool). Engines print their names under one prefix each, so on the
 * page of one engine only its own lines can answer; on a page of several targets each target
 * takes its own first source (core/signal.h).
 *
 * Scale is fixed here, by name: most "perc" and "percent" are fractions, most GPU
 * utilisations are percentages, and SGLang's hit rate was a percentage while its label was
 * called "name". A percentage is divided series by series, before the mean, so that insane
 * ones fall out of the range one by one.
 *
 * max_age: an engine's gauges are of the moment and old after a few scrapes. The GPU
 * exporter measures every 1 to 30 s, so that a shorter limit would call it stale between
 * two of its own samples. A hit rate is a mean over a whole interval and follows the
 * traffic's mix, not its level, so that it stays true for longer than a queue does.
 *
 * Parts: all of these are counts and fractions, so that what is below 0 is skipped before it
 * is added, multiplied or divided (adp_expr_hold): -1 + 5 is no queue of 4.
 *
 * Left out on purpose: lifetime means (vllm:avg_*, llamacpp:prompt_tokens_seconds,
 * n_busy_slots_per_decode) are no readings of the moment; sglang:utilization and
 * fwd_occupancy are no GPU use. */
#include "core/dictionary.h"
#include "core/signal.h"

#include <math.h>
#include <string.h>

#define SECONDS(n) ((uint64_t)(n)*1000000000u)

static const char *const kv_pressure[] = {
    /* vLLM: kv_ since 0.9.2, gpu_ before, and beside it until 0.11. Told by several
     * processes, kv_ keeps the last word of each (until 0.11, vLLM #28792) and gpu_ the
     * newest: where there are both, the old name is right. */
    "=vllm:gpu_cache_usage_perc + 0 * max(vllm:kv_cache_usage_perc{pid!=\"\"})",
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
    "sglang:token_usage",
    "=tgi_batch_current_max_tokens / tgi_batch_max_total_tokens",
    "=nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"used\"} / "
    "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\"}",
    "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\"}",
    "trtllm_kv_cache_utilization",
    "=trtllm_kv_cache_used_blocks / trtllm_kv_cache_max_blocks",
    "llamacpp:kv_cache_usage_ratio",
    "lmdeploy:gpu_cache_usage_perc",
    /* Dynamo's worker says 0 of 0 blocks when its engine tells it nothing. */
    "=dynamo_component_kvstats_gpu_cache_usage_percent * "
    "(dynamo_component_kvstats_total_blocks / dynamo_component_kvstats_total_blocks)",
    "=dynamo_component_gpu_cache_usage_percent * "
    "(dynamo_component_total_blocks / dynamo_component_total_blocks)",
    "gpu_cache_usage_perc", /* NIM */
    "kv_cache_usage_perc",
    /* Means over the pods of a pool: of none they are 0. */
    "=llm_d_epp_average_kv_cache_utilization * "
    "(llm_d_epp_ready_endpoints / llm_d_epp_ready_endpoints)",
    "=inference_pool_average_kv_cache_utilization * "
    "(inference_pool_ready_pods / inference_pool_ready_pods)",
    NULL,
};

static const char *const queue_depth[] = {
    "vllm:num_requests_waiting",
    "sglang:num_queue_reqs",
    "sglang:num_requests_waiting", /* until 0.4.0 */
    "tgi_queue_size",
    /* Per model what waits, which until early 2024 was told by two others; and in front of
     * the models. */
    "=sum(either(nv_trt_llm_request_metrics{request_type=\"waiting\"}, "
    "nv_trt_llm_request_metrics{request_type=\"active\"} - "
    "nv_trt_llm_request_metrics{request_type=\"scheduled\"})) + "
    "sum(nv_inference_pending_request_count)",
    "=either(nv_trt_llm_request_metrics{request_type=\"waiting\"}, "
    "nv_trt_llm_request_metrics{request_type=\"active\"} - "
    "nv_trt_llm_request_metrics{request_type=\"scheduled\"})",
    "trtllm_num_requests_waiting",
    "llamacpp:requests_deferred",
    "=lmdeploy:num_requests_waiting + lmdeploy:num_api_requests_waiting",
    "lmdeploy:num_requests_waiting",
    "num_requests_waiting", /* NIM */
    "dynamo_frontend_queued_requests",
    "=llm_d_epp_average_queue_size * llm_d_epp_ready_endpoints * "
    "(llm_d_epp_ready_endpoints / llm_d_epp_ready_endpoints)",
    "=inference_pool_average_queue_size * inference_pool_ready_pods * "
    "(inference_pool_ready_pods / inference_pool_ready_pods)",
    NULL,
};

static const char *const running[] = {
    "vllm:num_requests_running",
    "sglang:num_running_reqs",
    "sglang:num_requests_running",
    "tgi_batch_current_size",
    "nv_trt_llm_request_metrics{request_type=\"scheduled\"}",
    "trtllm_num_requests_running",
    "llamacpp:requests_processing",
    "lmdeploy:num_requests_running",
    "num_requests_running", /* NIM */
    "=dynamo_frontend_inflight_requests - dynamo_frontend_queued_requests",
    "=llm_d_epp_average_running_requests * llm_d_epp_ready_endpoints * "
    "(llm_d_epp_ready_endpoints / llm_d_epp_ready_endpoints)",
    NULL,
};

static const char *const gpu_util[] = {
    "=DCGM_FI_DEV_GPU_UTIL / 100", /* not there for a GPU split by MIG */
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "=gpu_gfx_activity / 100", /* AMD */
    "=amd_gpu_gfx_activity / 100",
    "=gpu_usage{GPU_UUID!=\"\"} / 100", /* AMD, early */
    "nv_gpu_utilization",               /* Triton */
    NULL,
};

static const char *const gpu_mem[] = {
    "=DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)",
    "DCGM_FI_DEV_FB_USED_PERCENT",
    "=gpu_used_vram / gpu_total_vram",
    "=amd_gpu_used_vram / amd_gpu_total_vram",
    "=nv_gpu_memory_used_bytes / nv_gpu_memory_total_bytes",
    NULL,
};

static const char *const prefix_hit_rate[] = {
    "=share(delta(vllm:prefix_cache_hits_total), "
    "delta(vllm:prefix_cache_queries_total))",
    "=share(delta(vllm:gpu_prefix_cache_hits_total), " /* V1 until 0.9.1, in blocks */
    "delta(vllm:gpu_prefix_cache_queries_total))",
    "=share(delta(vllm:prefix_cache_hits), " /* simulators */
    "delta(vllm:prefix_cache_queries))",
    "vllm:gpu_prefix_cache_hit_rate", /* V0; -1 when off */
    "=share(delta(sglang:realtime_tokens_total{mode=\"prefill_cache\"}), "
    "delta(sglang:realtime_tokens_total{mode=\"prefill_cache\"}) + "
    "delta(sglang:realtime_tokens_total{mode=\"prefill_compute\"}))",
    "=share(delta(sglang:cached_tokens_total), delta(sglang:prompt_tokens_total))",
    "sglang:cache_hit_rate{name=\"\"}",         /* of the last prefill batch */
    "=sglang:cache_hit_rate{name!=\"\"} / 100", /* until 0.4.0 */
    "trtllm_kv_cache_hit_rate",
    "=share(delta(llamacpp:prompt_tokens_cached_total), "
    "delta(llamacpp:prompt_tokens_cached_total) + "
    "delta(llamacpp:prompt_tokens_total))",
    "lmdeploy:prefix_cache_hit_rate",
    NULL,
};

static const char *const preemption_rate[] = {
    "=rate(vllm:num_preemptions_total)",
    "=rate(vllm:num_preemptions)",
    "=rate(sglang:num_retractions_sum)", /* counted when a request ends */
    NULL,
};

static const char *const prefill_rate[] = {
    "=rate(vllm:prompt_tokens_total)",
    "=rate(sglang:prompt_tokens_total)",
    "=rate(tgi_request_input_length_sum)",
    "=rate(llamacpp:prompt_tokens_total)",
    "=rate(lmdeploy:prompt_tokens_total)",
    "=rate(prompt_tokens_total)", /* NIM */
    "=rate(dynamo_frontend_input_sequence_tokens_sum)",
    NULL,
};

static const char *const decode_rate[] = {
    "=rate(vllm:generation_tokens_total)",
    "=rate(sglang:generation_tokens_total)",
    "=rate(tgi_request_generated_tokens_sum)",
    "=rate(llamacpp:tokens_predicted_total)",
    "=rate(lmdeploy:generation_tokens_total)",
    "=rate(generation_tokens_total)", /* NIM */
    "=rate(dynamo_frontend_output_sequence_tokens_sum)",
    NULL,
};

static const char *const ttft_p95[] = {
    "=quantile(0.95, vllm:time_to_first_token_seconds)",
    "=quantile(0.95, sglang:time_to_first_token_seconds)",
    "=quantile(0.95, trtllm_time_to_first_token_seconds)",
    "=quantile(0.95, lmdeploy:time_to_first_token_seconds)",
    "=quantile(0.95, time_to_first_token_seconds)", /* NIM */
    "=quantile(0.95, dynamo_frontend_time_to_first_token_seconds)",
    NULL,
};

static const char *const itl_p95[] = {
    "=quantile(0.95, vllm:inter_token_latency_seconds)",
    "=quantile(0.95, vllm:time_per_output_token_seconds)", /* the same until 0.11 */
    "=quantile(0.95, sglang:inter_token_latency_seconds)",
    "=quantile(0.95, sglang:time_per_output_token_seconds)",
    "=quantile(0.95, lmdeploy:time_per_output_token_seconds)",
    "=quantile(0.95, time_per_output_token_seconds)", /* NIM */
    "=quantile(0.95, dynamo_frontend_inter_token_latency_seconds)",
    /* a request's mean, which hides its stalls: better than nothing, and last */
    "=quantile(0.95, trtllm_time_per_output_token_seconds)",
    "=quantile(0.95, tgi_request_mean_time_per_token_duration)",
    NULL,
};

static const char *const kv_capacity[] = {
    "=label(num_gpu_blocks, vllm:cache_config_info) * "
    "label(block_size, vllm:cache_config_info)",
    "sglang:max_total_num_tokens",
    "tgi_batch_max_total_tokens",
    "=nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\"} * "
    "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"tokens_per\"}",
    "=trtllm_kv_cache_max_blocks * trtllm_kv_cache_tokens_per_block",
    "=dynamo_frontend_model_total_kv_blocks * dynamo_frontend_model_kv_cache_block_size",
    NULL,
};

static const struct adp_signal_def dictionary[] = {
    { .name = "kv_pressure",
      .unit = "ratio",
      .lo = 0,
      .hi = 1,
      .aggregate = ADP_AGG_MAX, /* a full engine must not hide behind an idle one */
      .max_age_ns = SECONDS(5),
      .about = "share of the KV cache in use, of the fullest engine",
      .metrics = kv_pressure },
    { .name = "queue_depth",
      .unit = "requests",
      .lo = 0,
      .hi = INFINITY,
      .aggregate = ADP_AGG_SUM,
      .max_age_ns = SECONDS(5),
      .about = "requests waiting in the engines",
      .metrics = queue_depth },
    { .name = "running",
      .unit = "requests",
      .lo = 0,
      .hi = INFINITY,
      .aggregate = ADP_AGG_SUM,
      .max_age_ns = SECONDS(5),
      .about = "requests being served by the engines",
      .metrics = running },
    { .name = "gpu_util",
      .unit = "ratio",
      .lo = 0,
      .hi = 1,
      .aggregate = ADP_AGG_MEAN,
      .max_age_ns = SECONDS(30),
      .about = "share of time in which the GPUs were busy, their mean",
      .metrics = gpu_util },
    { .name = "prefix_hit_rate",
      .unit = "ratio",
      .lo = 0,
      .hi = 1,
      .aggregate = ADP_AGG_MEAN, /* counters are summed over the engines by the source */
      .max_age_ns = SECONDS(30),
      .about =
          "share of prompt tokens found in the prefix cache since the snapshot before",
      .metrics = prefix_hit_rate },
    { .name = "gpu_mem",
      .unit = "ratio",
      .lo = 0,
      .hi = 1,
      .aggregate = ADP_AGG_MAX,
      .max_age_ns = SECONDS(30),
      .about = "share of the GPUs' memory in use, of the fullest",
      .metrics = gpu_mem },
    { .name = "preemption_rate",
      .unit = "1/s",
      .lo = 0,
      .hi = INFINITY,
      .aggregate = ADP_AGG_SUM,
      .max_age_ns = SECONDS(5),
      .about = "requests a second that the engines put back for want of KV cache",
      .metrics = preemption_rate },
    { .name = "prefill_rate",
      .unit = "tokens/s",
      .lo = 0,
      .hi = INFINITY,
      .aggregate = ADP_AGG_SUM,
      .max_age_ns = SECONDS(5),
      .about = "prompt tokens a second",
      .metrics = prefill_rate },
    { .name = "decode_rate",
      .unit = "tokens/s",
      .lo = 0,
      .hi = INFINITY,
      .aggregate = ADP_AGG_SUM,
      .max_age_ns = SECONDS(5),
      .about = "generated tokens a second",
      .metrics = decode_rate },
    { .name = "ttft_p95",
      .unit = "s",
      .lo = 0,
      .hi = INFINITY,
      .aggregate = ADP_AGG_MAX,
      .max_age_ns = SECONDS(30),
      .about = "time to first token that 95 % stayed below since the snapshot before",
      .metrics = ttft_p95 },
    { .name = "itl_p95",
      .unit = "s",
      .lo = 0,
      .hi = INFINITY,
      .aggregate = ADP_AGG_MAX,
      .max_age_ns = SECONDS(30),
      .about = "time between two tokens that 95 % stayed below since the snapshot before",
      .metrics = itl_p95 },
    { .name = "kv_capacity",
      .unit = "tokens",
      .lo = 1, /* 0 is what is printed before it is known */
      .hi = INFINITY,
      .aggregate = ADP_AGG_SUM,
      .max_age_ns = SECONDS(60),
      .about = "tokens that the engines' KV caches hold",
      .metrics = kv_capacity },
};

const struct adp_signal_def *adp_dictionary(uint32_t *ret_n)
{
    *ret_n = sizeof dictionary / sizeof dictionary[0];
    return dictionary;
}

/* ---- names ---- */

static const struct adp_prefix prefixes[] = {
    /* Ray's wrapper, to 2.43 and since; smg and the adapters of Prometheus */
    { "vllm:", { "ray_vllm:", "ray_vllm_", "vllm_" } },
    { "sglang:", { "sglang_" } },
};

const struct adp_prefix *adp_prefixes(uint32_t *ret_n)
{
    *ret_n = sizeof prefixes / sizeof prefixes[0];
    return prefixes;
}

bool adp_metric_is_noise(struct adp_str name)
{
    static const char *const begins[] = { "python_",   "process_", "go_",    "node_",
                                          "promhttp_", "http_",    "scrape_" };
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (adp_str_begins(name, begins[i]))
            return true;
    return adp_str_ends(name, "_created") || adp_str_ends(name, "_info");
}

/* ---- labels ---- */

#define WORD(text)                                                                       \
    {                                                                                    \
        text, sizeof text - 1                                                            \
    }

/* The list ends with an empty word. */
static bool is_one_of(struct adp_str label, const struct adp_str *words)
{
    for (; words->n; words++)
        if (adp_str_same(label, *words))
            return true;
    return false;
}

static const struct adp_str replicas[] = { WORD("tp_rank"),     WORD("pp_rank"),
                                           WORD("moe_ep_rank"), WORD("cp_rank"),
                                           WORD("pid"),         { 0 } };
static const struct adp_str breakdowns[] = {
    WORD("priority"),        WORD("reason"),
    WORD("request_type"),    WORD("kv_cache_block_type"),
    WORD("source"),          WORD("mode"),
    WORD("finished_reason"), { 0 }
};
/* Who uses a GPU; DCGM tells a shared one once for each. */
static const struct adp_str users[] = { WORD("pod"),
                                        WORD("namespace"),
                                        WORD("container"),
                                        WORD("pod_name"),
                                        WORD("pod_namespace"),
                                        WORD("container_name"),
                                        WORD("exported_pod"),
                                        WORD("exported_namespace"),
                                        WORD("exported_container"),
                                        { 0 } };

static bool is_of_gpu(const struct adp_series *series)
{
    for (uint32_t i = 0; i < series->n_labels; i++)
        if (adp_str_is(series->labels[i].name, "UUID"))
            return true;
    return false;
}

enum adp_label_role adp_label_role(const struct adp_series *series, struct adp_str label)
{
    if (is_one_of(label, replicas))
        return ADP_LABEL_REPLICA;
    if (is_one_of(label, breakdowns))
        return ADP_LABEL_BREAKDOWN;
    return is_one_of(label, users) && is_of_gpu(series) ? ADP_LABEL_REPLICA
                                                        : ADP_LABEL_PARTITION;
}

/* Labels that tell engines apart. Ranks are not among them: an engine's counters are told
 * by one of its ranks, or by none. */
static const struct adp_str engines[] = {
    WORD("engine"),
    WORD("WorkerId"),
    WORD("ReplicaId"),
    WORD("worker_addr"),
    WORD("instance"),
    WORD("target"), /* of several pages joined by us */
    { 0 },
};

/* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_on(uint64_t hash, struct adp_str text)
{
    for (size_t i = 0; i < text.n; i++)
        hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(0x100000001b3);
    return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

uint64_t adp_engine_key(const struct adp_series *series)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < series->n_labels; i++)
        if (is_one_of(series->labels[i].name, engines))
            key = hash_on(hash_on(key, series->labels[i].name), series->labels[i].value);
    return key;
}

bool adp_engine_is_named(const struct adp_series *series)
{
    for (uint32_t i = 0; i < series->n_labels; i++)
        if (is_one_of(series->labels[i].name, engines) &&
            !adp_str_is(series->labels[i].name, ADP_METRICS_OWN_LABEL))
            return true;
    return false;
}

uint64_t adp_target_key(struct adp_str target)
{
    return hash_on(UINT64_C(0x9e3779b97f4a7c15), target);
}

/* vLLM's of V0, under any prefix. */
bool adp_metric_is_gone(const char *name)
{
    return adp_str_ends((struct adp_str) { name, strlen(name) },
                        "gpu_prefix_cache_hit_rate");
}

bool adp_engine_lingers(const struct adp_series *series)
{
    for (uint32_t i = 0; i < series->n_labels; i++)
        if (adp_str_is(series->labels[i].name, "WorkerId"))
            return true;
    return false;
}

/* ---- values ---- */

/* dcgm_structs.h: each type's blank, and seven kinds of "not there" above it. As doubles,
 * those of 64 bits are all 2^63. */
static const struct {
    double lo, hi;
} blanks[] = { { 2147483632.0, 2147483639.0 },
               { 140737488355328.0, 140737488355335.0 },
               { 9223372036854775807.0, 9223372036854775808.0 } };

bool adp_metric_is_blank(const struct adp_series *series)
{
    /* Of a card that is split (MIG), DCGM has no use: some versions then say 0. */
    static const struct adp_str split = WORD("GPU_I_ID");
    double value = series->value;
    if (value == 0)
        return adp_str_is(series->name, "DCGM_FI_DEV_GPU_UTIL") &&
               adp_label_of(series, split).n;
    if (value < blanks[0].lo || !adp_str_begins(series->name, "DCGM_"))
        return false;
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++)
        if (value >= blanks[i].lo && value <= blanks[i].hi)
            return true;
    return false;
}

/* ---- signs of life ---- */

#define SIGN(name)                                                                       \
    {                                                                                    \
        name, NULL, NULL, NULL                                                           \
    }
/* The time at which a counter was made stands beside it: c_total has c_created. */
#define COUNTER(stem, end)                                                               \
    {                                                                                    \
        stem end, NULL, NULL, stem "_created"                                            \
    }
/* An engine's own, under each prefix that its names are seen with (adp_prefixes). */
#define VLLM_PULSE(prefix)                                                               \
    {                                                                                    \
        .prefixes = { prefix }, .running = SIGN(prefix "num_requests_running"),          \
        .beats = {                                                                       \
            COUNTER(prefix "generation_tokens", "_total"),                               \
            COUNTER(prefix "prompt_tokens", "_total"),                                   \
            COUNTER(prefix "iteration_tokens_total", "_count"),                          \
        },                                                                               \
    }
/* Under the name that it gives to what runs: one until 0.4.0, another since. */
#define SGLANG_PULSE(prefix, name)                                                       \
    {                                                                                    \
        .prefixes = { prefix }, .running = SIGN(prefix name),                            \
        .beats = {                                                                       \
            COUNTER(prefix "generation_tokens", "_total"),                               \
            COUNTER(prefix "prompt_tokens", "_total"),                                   \
            COUNTER(prefix "realtime_tokens", "_total"),                                 \
        },                                                                               \
    }
#define VLLM_SLEEP(prefix)                                                               \
    {                                                                                    \
        prefix, prefix "engine_sleep_state", "sleep_state", "awake"                      \
    }

static const struct adp_pulse pulses[] = {
    VLLM_PULSE("vllm:"),
    VLLM_PULSE("ray_vllm:"),
    VLLM_PULSE("ray_vllm_"),
    VLLM_PULSE("vllm_"),
    SGLANG_PULSE("sglang:", "num_running_reqs"),
    SGLANG_PULSE("sglang_", "num_running_reqs"),
    SGLANG_PULSE("sglang:", "num_requests_running"),
    SGLANG_PULSE("sglang_", "num_requests_running"),
    /* NIM: its names have no prefix in common */
    { .prefixes = { "num_requests_", "gpu_cache_usage_perc", "kv_cache_usage_perc",
                    "prompt_tokens_total", "generation_tokens_total",
                    "time_to_first_token_seconds", "time_per_output_token_seconds" },
      .running = SIGN("num_requests_running"),
      .beats = { COUNTER("generation_tokens", "_total"),
                 COUNTER("prompt_tokens", "_total") } },
    { .prefixes = { "tgi_" },
      .running = SIGN("tgi_batch_current_size"),
      .beats = { COUNTER("tgi_batch_inference", "_count") } },
    /* tokens are counted when a request ends, steps as they are made */
    { .prefixes = { "llamacpp:" },
      .running = SIGN("llamacpp:requests_processing"),
      .beats = { COUNTER("llamacpp:n_decode", "_total"),
                 COUNTER("llamacpp:tokens_predicted", "_total"),
                 COUNTER("llamacpp:prompt_tokens", "_total") } },
    { .prefixes = { "lmdeploy:" },
      .running = SIGN("lmdeploy:num_requests_running"),
      .beats = { COUNTER("lmdeploy:generation_tokens", "_total"),
                 COUNTER("lmdeploy:prompt_tokens", "_total"),
                 COUNTER("lmdeploy:iteration_tokens_total", "_count") } },
    /* these count when a request begins or ends: between, its blocks grow in number */
    { .prefixes = { "trtllm_" },
      .running = SIGN("trtllm_num_requests_running"),
      .beats = { COUNTER("trtllm_request_success", "_total"),
                 COUNTER("trtllm_request_queue_time_seconds", "_count"),
                 COUNTER("trtllm_time_to_first_token_seconds", "_count"),
                 COUNTER("trtllm_time_per_output_token_seconds", "_count") },
      .stirs = { SIGN("trtllm_kv_cache_utilization"),
                 SIGN("trtllm_kv_cache_used_blocks") } },
    { .prefixes = { "nv_trt_llm_", "nv_inference_pending_request_count" },
      .running = { "nv_trt_llm_request_metrics", "request_type", "scheduled", NULL },
      .beats = { COUNTER("nv_inference", "_count"),
                 COUNTER("nv_inference_exec", "_count"),
                 SIGN("nv_inference_request_success") },
      .stirs = { { "nv_trt_llm_general_metrics", "general_type", "iteration_counter",
                   NULL },
                 { "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "used",
                   NULL } } },
    /* a frontend also works while no engine does: requests come */
    { .prefixes = { "dynamo_frontend_" },
      .running = SIGN("dynamo_frontend_inflight_requests"),
      .beats = { COUNTER("dynamo_frontend_requests", "_total"),
                 COUNTER("dynamo_frontend_time_to_first_token_seconds", "_count"),
                 COUNTER("dynamo_frontend_inter_token_latency_seconds", "_count"),
                 COUNTER("dynamo_frontend_output_sequence_tokens", "_count") },
      .stirs = { SIGN("dynamo_frontend_inflight_requests"),
                 SIGN("dynamo_frontend_queued_requests") } },
    { .prefixes = { "dynamo_component_" },
      .running = SIGN("dynamo_component_inflight_requests"),
      .beats = { COUNTER("dynamo_component_requests", "_total"),
                 COUNTER("dynamo_component_request_bytes", "_total"),
                 COUNTER("dynamo_component_response_bytes", "_total") },
      .stirs = { SIGN("dynamo_component_kvstats_active_blocks"),
                 SIGN("dynamo_component_gpu_cache_usage_percent") } },
};

const struct adp_pulse *adp_pulses(uint32_t *ret_n)
{
    *ret_n = sizeof pulses / sizeof pulses[0];
    return pulses;
}

static const struct adp_sleep sleeps[] = {
    VLLM_SLEEP("vllm:"),
    VLLM_SLEEP("ray_vllm:"),
    VLLM_SLEEP("ray_vllm_"),
    VLLM_SLEEP("vllm_"),
};

const struct adp_sleep *adp_sleeps(uint32_t *ret_n)
{
    *ret_n = sizeof sleeps / sizeof sleeps[0];
    return sleeps;
}
