/* SPDX-License-Identifier: MIT */
/* Verdicts counted by policy, over lanes and reloads. */
#include "runtime/host/host.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char seen[2048];

static void note(void *ctx, const struct adp_host_verdicts *v)
{
    (void)ctx;
    size_t at = strlen(seen);
    snprintf(seen + at, sizeof seen - at, "%s %s %s %s %s %llu\n", v->policy,
             v->shadow ? "shadow" : "governing", v->verdict, *v->reason ? v->reason : "-",
             v->enforced ? "enforced" : "free", (unsigned long long)v->n);
}

static const char *counted(const adp_runtime *rt)
{
    seen[0] = '\0';
    adp_host_each_verdicts(rt, note, NULL);
    return seen;
}

static adp_runtime *start(const char *body)
{
    adp_runtime *rt = NULL;
    adp_errors errors = { 0 };
    char text[1024];
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS, 1);
    snprintf(text, sizeof text, "version: 1\nlog: none\n%s", body);
    int code = adp_host_open_text(&rt, text, "t.yaml", TEST_POLICIES, NULL, &errors);
    ck_assert_msg(code == 0, "%s", errors.n ? errors.list[0].text : "");
    adp_errors_free(&errors);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    return rt;
}

static void decide(adp_runtime *rt, double waiting)
{
    adp_lane *lane;
    adp_decision d;
    const adp_metric queue = { "vllm:num_requests_waiting", NULL, waiting };
    ck_assert_int_eq(adp_lane_open(&lane, rt, NULL), 0);
    adp_lane_decide_with(lane, &queue, 1, NULL, &d);
    adp_lane_close(lane);
}

static void reload(adp_runtime *rt, const char *body)
{
    char text[1024];
    snprintf(text, sizeof text, "version: 1\nlog: none\n%s", body);
    ck_assert_int_eq(adp_host_reload_text(rt, text, "t.yaml", TEST_POLICIES, NULL), 0);
}

#define QUEUE "{ use: queue_depth, params: { max_waiting: 4 } }\n"

START_TEST(verdicts_are_counted_by_policy_role_and_reason)
{
    adp_runtime *rt = start("policy: { use: no_admission }\nshadow:\n  - " QUEUE);
    decide(rt, 9);
    decide(rt, 9);
    decide(rt, 1);
    ck_assert_str_eq(counted(rt), "no_admission governing admit - enforced 3\n"
                                  "queue_depth shadow admit - free 1\n"
                                  "queue_depth shadow reject queue_depth free 2\n");
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(a_fault_is_not_counted_as_the_policys_verdict)
{
    adp_runtime *rt = start("policy: { use: ./undecided.so, on_error: reject }\n");
    decide(rt, 1);
    ck_assert_str_eq(counted(rt), "undecided governing fault policy_error enforced 1\n");
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(a_reload_takes_no_count_away_and_gives_none_to_another)
{
    adp_runtime *rt = start("policy: " QUEUE);
    decide(rt, 9);
    reload(rt, "policy: { use: no_admission }\n");
    decide(rt, 9);
    reload(rt, "policy: " QUEUE);
    decide(rt, 9);
    ck_assert_str_eq(counted(rt), "queue_depth governing reject queue_depth enforced 2\n"
                                  "no_admission governing admit - enforced 1\n");
    adp_runtime_close(rt, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tally");
    TCase *t = tcase_create("tally");
    tcase_add_test(t, verdicts_are_counted_by_policy_role_and_reason);
    tcase_add_test(t, a_fault_is_not_counted_as_the_policys_verdict);
    tcase_add_test(t, a_reload_takes_no_count_away_and_gives_none_to_another);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
