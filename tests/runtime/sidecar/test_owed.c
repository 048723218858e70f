/* SPDX-License-Identifier: MIT */
/* What is owed, in three words. */
#include "runtime/sidecar/owed.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    adp_decision d;
    struct adp_owed_manner manner;
} rows[] = {
    { { .admitted = 1,
        .action = ADP_ADMIT,
        .policy_action = ADP_ADMIT,
        .status = 200,
        .enforced = 1,
        .id = 0x0102030405060708 },
      { ADP_GATEWAY_NATIVE, false } },
    { { .action = ADP_DEFER,
        .policy_action = ADP_DEFER,
        .status = 503,
        .enforced = 1,
        .retry_after_ms = UINT32_MAX,
        .reason = "queue_depth",
        .id = UINT64_MAX },
      { ADP_GATEWAY_NGINX, false } },
    { { .action = ADP_REJECT,
        .policy_action = ADP_REJECT,
        .status = 413,
        .enforced = 1,
        .reason = "request_too_large" },
      { ADP_GATEWAY_ENVOY, false } },
    /* Not enforced: the host is told admit, the policy said something else. */
    { { .admitted = 1,
        .action = ADP_ADMIT,
        .policy_action = ADP_DEFER,
        .status = 200,
        .reason = "kv_pressure",
        .id = 1 },
      { ADP_GATEWAY_NATIVE, true } },
    { { .action = ADP_REJECT,
        .policy_action = ADP_REJECT,
        .status = 529,
        .enforced = 1,
        .reason = "policy_error",
        .fault = "the policy set no action" },
      { ADP_GATEWAY_NATIVE, true } },
};

static bool same_word(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

START_TEST(a_decision_comes_back_as_it_was_made)
{
    const adp_decision *d = &rows[_i].d;
    struct adp_owed_manner manner = { ADP_GATEWAY_NATIVE, false };
    adp_decision got = { 0 };
    uint64_t note[3];
    adp_owed_write(note, rows[_i].manner, d);
    ck_assert(adp_owed_read(note, &manner, &got));
    ck_assert_int_eq(manner.gateway, rows[_i].manner.gateway);
    ck_assert(manner.always200 == rows[_i].manner.always200);
    ck_assert_uint_eq(got.admitted, d->admitted);
    ck_assert_uint_eq(got.action, d->action);
    ck_assert_uint_eq(got.policy_action, d->policy_action);
    ck_assert_uint_eq(got.status, d->status);
    ck_assert_uint_eq(got.enforced, d->enforced);
    ck_assert_uint_eq(got.retry_after_ms, d->retry_after_ms);
    ck_assert_uint_eq(got.id, d->id);
    ck_assert(same_word(got.reason, d->reason));
    ck_assert(!got.fault == !d->fault); /* which one is in the line */
}
END_TEST

START_TEST(a_frame_comes_back_with_its_numbers)
{
    const adp_decision *d = &rows[_i].d;
    adp_decision got = { 0 };
    uint64_t note[3], stream = 0, frame = 0;
    ck_assert(adp_owed_write_frame(note, UINT32_MAX, 239, d));
    ck_assert(adp_owed_read_frame(note, &stream, &frame, &got));
    ck_assert_uint_eq(stream, UINT32_MAX);
    ck_assert_uint_eq(frame, 239);
    ck_assert_uint_eq(got.admitted, d->admitted);
    ck_assert_uint_eq(got.action, d->action);
    ck_assert_uint_eq(got.status, d->status);
    ck_assert_uint_eq(got.enforced, d->enforced);
    ck_assert_uint_eq(got.retry_after_ms, d->retry_after_ms);
    ck_assert_uint_eq(got.id, d->id);
    ck_assert(same_word(got.reason, d->reason));
    ck_assert(adp_owed_write_frame(note, 1, 2, NULL));
    ck_assert(!adp_owed_read_frame(note, &stream, &frame, &got));
    ck_assert_uint_eq(stream, 1);
    ck_assert_uint_eq(frame, 2);
    ck_assert(!adp_owed_write_frame(note, 1ull << 32, 2, NULL));
    ck_assert(!adp_owed_write_frame(note, 1, 1ull << 32, NULL));
}
END_TEST

START_TEST(what_was_not_decided_says_how_it_is_to_be_answered)
{
    struct adp_owed_manner manner = { ADP_GATEWAY_NATIVE, false };
    adp_decision d = { .id = 7 };
    uint64_t note[3];
    adp_owed_write(note, (struct adp_owed_manner) { ADP_GATEWAY_ENVOY, true }, NULL);
    ck_assert(!adp_owed_read(note, &manner, &d));
    ck_assert_int_eq(manner.gateway, ADP_GATEWAY_ENVOY);
    ck_assert(manner.always200);
    ck_assert_uint_eq(d.id, 7);
}
END_TEST

/* A worker that scribbles over its notes leaves answers that could have been given. */
START_TEST(garbage_is_read_as_a_decision_that_could_have_been_made)
{
    const uint64_t words[] = { 0, 1, UINT64_MAX, 0x8000000000000001, 0x5555555555555555 };
    enum { N = sizeof words / sizeof words[0] };
    for (int i = 0; i < N * N; i++) {
        const uint64_t note[3] = { 1, words[i % N], words[i / N] };
        struct adp_owed_manner manner;
        adp_decision d = { .admitted = 1, .status = 200, .action = ADP_ADMIT };
        adp_owed_read(note, &manner, &d);
        ck_assert_int_le(manner.gateway, ADP_GATEWAY_ENVOY);
        ck_assert(d.admitted ? d.status == 200 : d.status >= 400 && d.status <= 599);
        ck_assert(d.action == ADP_ADMIT || d.action == ADP_DEFER ||
                  d.action == ADP_REJECT);
    }
}
END_TEST

static const struct {
    enum adp_on_error on_error;
    double enforce;
    enum adp_profile profile;
    uint32_t admitted, status;
} faults[] = {
    { ADP_ON_ERROR_ADMIT, 1.0, ADP_PROFILE_STANDARD, 1, 200 },
    { ADP_ON_ERROR_REJECT, 1.0, ADP_PROFILE_STANDARD, 0, 503 },
    { ADP_ON_ERROR_REJECT, 1.0, ADP_PROFILE_DYNAMO, 0, 529 },
    { ADP_ON_ERROR_REJECT, 0.5, ADP_PROFILE_STANDARD, 1, 200 }, /* the arm is not known */
    { ADP_ON_ERROR_REJECT, 0.0, ADP_PROFILE_STANDARD, 1, 200 },
};

START_TEST(a_policy_that_failed_is_answered_for_by_on_error)
{
    struct adp_policy_setting policy = { .on_error = faults[_i].on_error,
                                         .enforce = faults[_i].enforce };
    const struct adp_config config = { .policies = &policy,
                                       .n_policies = 1,
                                       .status_profile = faults[_i].profile };
    adp_decision d;
    adp_owed_fault(&config, &d);
    ck_assert_uint_eq(d.admitted, faults[_i].admitted);
    ck_assert_uint_eq(d.status, faults[_i].status);
    ck_assert(same_word(d.reason, faults[_i].admitted ? NULL : "policy_error"));
    ck_assert_ptr_nonnull(d.fault);
    ck_assert_uint_eq(d.id, 0);
}
END_TEST

static void make_record(const struct adp_region *region, uint32_t lane)
{
    ck_assert_ptr_nonnull(adp_ring_begin(region, lane, 64));
    adp_ring_commit(region, lane, 64);
}

START_TEST(a_mark_tells_whether_its_lane_recorded_since)
{
    const struct adp_shape shape = { 2, 1 << 16, 1 << 16, 16 };
    size_t bytes = adp_region_bytes(&shape);
    void *at = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    struct adp_region *region = NULL;
    struct adp_owed_records until;
    uint64_t note[3] = { 0 }, frame[3], manner[3];
    ck_assert_ptr_nonnull(at);
    memset(at, 0, bytes);
    ck_assert_int_eq(adp_region_create(&region, at, bytes, &shape, 1, NULL), 0);
    struct adp_lane *lane = calloc(1, sizeof *lane);
    ck_assert_ptr_nonnull(lane);
    lane->region = region;
    lane->number = 2;
    adp_owed_write(note, (struct adp_owed_manner) { ADP_GATEWAY_NGINX, true }, NULL);
    memcpy(manner, note, sizeof manner);
    ck_assert(adp_owed_write_frame(frame, 7, 9, NULL));
    adp_owed_mark(note, lane);
    adp_owed_mark_frame(frame, lane);
    ck_assert_uint_eq(note[2], manner[2]); /* which says how to answer */
    make_record(region, 1);                /* somebody else's */
    adp_owed_count(&until, region);
    ck_assert(!adp_owed_is_recorded(note, &until));
    ck_assert(!adp_owed_frame_is_recorded(frame, &until));
    make_record(region, 2);
    ck_assert(!adp_owed_is_recorded(note, &until)); /* it was later */
    adp_owed_count(&until, region);
    ck_assert(adp_owed_is_recorded(note, &until));
    ck_assert(adp_owed_frame_is_recorded(frame, &until));
    note[1] = ADP_MAX_LANES + 1; /* no lane could have said that */
    ck_assert(!adp_owed_is_recorded(note, &until));
    free(lane);
    adp_region_destroy(region);
    free(at);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("owed");
    TCase *t = tcase_create("notes");
    tcase_add_loop_test(t, a_decision_comes_back_as_it_was_made, 0,
                        (int)(sizeof rows / sizeof rows[0]));
    tcase_add_loop_test(t, a_frame_comes_back_with_its_numbers, 0,
                        (int)(sizeof rows / sizeof rows[0]));
    tcase_add_test(t, what_was_not_decided_says_how_it_is_to_be_answered);
    tcase_add_test(t, a_mark_tells_whether_its_lane_recorded_since);
    tcase_add_test(t, garbage_is_read_as_a_decision_that_could_have_been_made);
    tcase_add_loop_test(t, a_policy_that_failed_is_answered_for_by_on_error, 0,
                        (int)(sizeof faults / sizeof faults[0]));
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
