/* SPDX-License-Identifier: MIT */
/* The shipped signals. A change of meaning, range, unit or source is a change of
 * ADP_DICTIONARY_VERSION; docs/signals.md shows the same table to people.
 *
 * max_age: an engine's gauges are of the moment and old after a few scrapes. The GPU
 * exporter measures every 1 to 30 s, so that a shorter limit would call it stale between
 * two of its own samples. A hit rate is a mean over a whole interval and follows the
 * traffic's mix, not its level, so that it stays true for longer than a queue does.
 *
 * Engines print kv use as a fraction although the name says "perc"; DCGM's GPU_UTIL is a
 * percentage. It is divided per card before the mean, so that its blank sentinels
 * (2147483632 and the like) fall out of the range one by one. */
#include "core/signal.h"

#include <math.h>

#define SECONDS(n) ((uint64_t)(n)*1000000000u)

static const char *const kv_pressure[] = {
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc", /* its name before vLLM 0.9.2 */
    NULL,
};
static const char *const queue_depth[] = { "vllm:num_requests_waiting", NULL };
static const char *const running[] = { "vllm:num_requests_running", NULL };
static const char *const gpu_util[] = { "=DCGM_FI_DEV_GPU_UTIL / 100", NULL };
static const char *const prefix_hit_rate[] = {
    "=sum(delta(vllm:prefix_cache_hits_total)) / "
    "sum(delta(vllm:prefix_cache_queries_total))",
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
      .aggregate = ADP_AGG_ONLY, /* the source sums over the engines itself */
      .max_age_ns = SECONDS(30),
      .about =
          "share of prompt tokens found in the prefix cache since the snapshot before",
      .metrics = prefix_hit_rate },
};

const struct adp_signal_def *adp_dictionary(uint32_t *ret_n)
{
    *ret_n = sizeof dictionary / sizeof dictionary[0];
    return dictionary;
}
