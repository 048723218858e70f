/* SPDX-License-Identifier: MIT */
/* What outlives a worker, as a host asks for it (core/beyond.h). */
#include "runtime/supervise/worker.h"

static const void *saved(void *ctx, const char *key, size_t *ret_len, uint64_t *ret_ns)
{
    return adp_worker_saved(ctx, key, ret_len, ret_ns);
}

static bool quarantined(void *ctx, const char *key)
{
    return adp_worker_order(ctx, key) == ADP_ORDER_QUARANTINE;
}

static void policies(void *ctx, uint32_t generation, const char *const *keys, uint32_t n)
{
    adp_worker_policies(ctx, generation, keys, n);
}

static void *save_begin(void *ctx, const char *key, size_t cap)
{
    return adp_worker_save_begin(ctx, key, cap);
}

static void save_end(void *ctx, size_t len, uint64_t now_ns)
{
    adp_worker_save_end(ctx, len, now_ns);
}

static void within(void *ctx, const char *key, uint64_t now_ns)
{
    adp_worker_within(ctx, key, now_ns);
}

static int move_log(void *ctx, const struct adp_log_options *log, bool only_try,
                    struct adp_error *err)
{
    return adp_worker_log(ctx, log, only_try, err);
}

void adp_worker_beyond(struct adp_worker *worker, struct adp_beyond *ret)
{
    *ret = (struct adp_beyond) {
        .region = adp_worker_region(worker),
        .recording = adp_worker_records(worker),
        .ctx = worker,
        .saved = saved,
        .quarantined = quarantined,
        .policies = policies,
        .save_begin = save_begin,
        .save_end = save_end,
        .within = within,
        .move_log = move_log,
    };
}
