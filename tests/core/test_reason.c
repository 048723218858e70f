/* SPDX-License-Identifier: MIT */
#include "core/reason.h"

#include <check.h>
#include <stdlib.h>

/* Statuses from the design: 503 capacity, 429 client, 413 never; llm-d moves capacity to
 * 429, Dynamo to 529, and nothing else. */
static const struct {
    uint32_t reason;
    const char *word;
    uint32_t standard, llm_d, dynamo;
} rows[] = {
    { ADP_R_KV_PRESSURE, "kv_pressure", 503, 429, 529 },
    { ADP_R_QUEUE_DEPTH, "queue_depth", 503, 429, 529 },
    { ADP_R_CAPACITY_RESERVED, "capacity_reserved", 503, 429, 529 },
    { ADP_R_WAIT_ESTIMATE_EXCEEDED, "wait_estimate_exceeded", 503, 429, 529 },
    { ADP_R_DEADLINE_INFEASIBLE, "deadline_infeasible", 503, 429, 529 },
    { ADP_R_PREDICTED_LENGTH, "predicted_length", 503, 429, 529 },
    { ADP_R_SIGNAL_STALE, "signal_stale", 503, 429, 529 },
    { ADP_R_TENANT_QUOTA, "tenant_quota", 429, 429, 429 },
    { ADP_R_RATE_LIMIT, "rate_limit", 429, 429, 429 },
    { ADP_R_REQUEST_TOO_LARGE, "request_too_large", 413, 413, 413 },
    { ADP_R_POLICY_ERROR, "policy_error", 503, 429, 529 },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

START_TEST(every_reason_has_one_word_and_one_status_per_profile)
{
    ck_assert_str_eq(adp_reason_word(rows[_i].reason), rows[_i].word);
    ck_assert_uint_eq(adp_reason_status(rows[_i].reason, ADP_PROFILE_STANDARD),
                      rows[_i].standard);
    ck_assert_uint_eq(adp_reason_status(rows[_i].reason, ADP_PROFILE_LLM_D),
                      rows[_i].llm_d);
    ck_assert_uint_eq(adp_reason_status(rows[_i].reason, ADP_PROFILE_DYNAMO),
                      rows[_i].dynamo);
}
END_TEST

START_TEST(admitted_is_200_in_every_profile)
{
    for (int p = ADP_PROFILE_STANDARD; p <= ADP_PROFILE_DYNAMO; p++)
        ck_assert_uint_eq(adp_reason_status(0, (enum adp_profile)p), 200);
}
END_TEST

START_TEST(policies_may_name_the_vocabulary_and_nothing_else)
{
    for (int i = 0; i < ROWS; i++)
        ck_assert(adp_reason_open(rows[i].reason) ==
                  (rows[i].reason != ADP_R_POLICY_ERROR));
    ck_assert(!adp_reason_open(0));
    ck_assert(!adp_reason_open(ADP_R_REQUEST_TOO_LARGE + 1));
    ck_assert(!adp_reason_open(UINT32_MAX));
    ck_assert_ptr_null(adp_reason_word(0));
    ck_assert_ptr_null(adp_reason_word(ADP_R_REQUEST_TOO_LARGE + 1));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reason");
    TCase *t = tcase_create("reason");
    tcase_add_loop_test(t, every_reason_has_one_word_and_one_status_per_profile, 0, ROWS);
    tcase_add_test(t, admitted_is_200_in_every_profile);
    tcase_add_test(t, policies_may_name_the_vocabulary_and_nothing_else);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
