/* SPDX-License-Identifier: MIT */
/* What several policies on a request share, by a count: the linker puts counters in front
 * of the functions that gather, so whoever gathers for each policy is found out. */
#include "tests/core/stage.h"

enum { POLICIES = 4 };

static struct stage stage;
static unsigned entered, left, read_metrics, asked, clocks;

const struct adp_snapshot *__real_adp_snapshot_enter(const struct adp_region *region,
                                                     uint32_t lane, uint64_t generation);
const struct adp_snapshot *__wrap_adp_snapshot_enter(const struct adp_region *region,
                                                     uint32_t lane, uint64_t generation);
const struct adp_snapshot *__wrap_adp_snapshot_enter(const struct adp_region *region,
                                                     uint32_t lane, uint64_t generation)
{
    entered++;
    return __real_adp_snapshot_enter(region, lane, generation);
}

void __real_adp_snapshot_leave(const struct adp_region *region, uint32_t lane);
void __wrap_adp_snapshot_leave(const struct adp_region *region, uint32_t lane);
void __wrap_adp_snapshot_leave(const struct adp_region *region, uint32_t lane)
{
    left++;
    __real_adp_snapshot_leave(region, lane);
}

void __real_adp_lane_read(struct adp_lane *lane, const struct adp_signals *signals,
                          const struct adp_metrics *metrics, uint64_t mono_ns,
                          uint64_t wall_ns);
void __wrap_adp_lane_read(struct adp_lane *lane, const struct adp_signals *signals,
                          const struct adp_metrics *metrics, uint64_t mono_ns,
                          uint64_t wall_ns);
void __wrap_adp_lane_read(struct adp_lane *lane, const struct adp_signals *signals,
                          const struct adp_metrics *metrics, uint64_t mono_ns,
                          uint64_t wall_ns)
{
    read_metrics++;
    __real_adp_lane_read(lane, signals, metrics, mono_ns, wall_ns);
}

static uint64_t count_clock(void *ctx)
{
    clocks++;
    return stage_mono(ctx);
}

/* Each policy sees what the others see. */
static void decide(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    ck_assert_uint_eq(v->present & 1, 1);
    ck_assert(v->signal[0] == 0.5);
    asked++;
    adp_admit(w);
}

static const struct adp_signal reads[] = { { "kv_pressure", "ratio", 0, 0 } };
static const struct adp_policy policy = {
    ADP_HEAD,       .name = "gather", .threading = ADP_CONCURRENT,
    .n_signals = 1, .signals = reads, .decide = decide
};

START_TEST(several_policies_cost_one_gather)
{
    const struct adp_policy *policies[POLICIES + 1] = { NULL };
    struct adp_decision d;
    for (int i = 0; i < POLICIES; i++)
        policies[i] = &policy;
    stage_open(&stage, policies, 1 << 16, 16);
    stage_publish(&stage, 0.5, 3);
    /* Two of the three clocks: the meter runs for each policy, that is what it is for. */
    stage.clock.mono_ns = stage.clock.wall_ns = count_clock;
    stage_decide(&stage, "a");
    ck_assert_uint_eq(asked, POLICIES);
    ck_assert_uint_eq(entered, 1);
    ck_assert_uint_eq(left, 1);
    ck_assert_uint_eq(read_metrics, 0);
    ck_assert_uint_eq(clocks, 2);

    struct adp_metrics *given = stage.lane[0]->now;
    static const char name[] = "vllm:kv_cache_usage_perc";
    adp_metrics_clear(given);
    ck_assert_int_eq(adp_metrics_add(given, (struct adp_str) { name, strlen(name) }, NULL,
                                     0, 0.5, false, 0, NULL),
                     0);
    ck_assert_int_eq(adp_decide(stage.lane[0], &stage.generations, NULL, given, &d, NULL),
                     0);
    ck_assert_uint_eq(asked, 2 * POLICIES);
    ck_assert_uint_eq(entered, 1);
    ck_assert_uint_eq(read_metrics, 1);
    ck_assert_uint_eq(clocks, 4);
    stage_close(&stage);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gather");
    TCase *t = tcase_create("gather");
    tcase_add_test(t, several_policies_cost_one_gather);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
