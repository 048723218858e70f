/* SPDX-License-Identifier: MIT */
/* The layout of every struct that crosses the policy ABI, and every constant of it,
 * written down: what a policy compiled last year believes. A change here is a change of
 * the major version, an addition is a new row at the end of its struct. */
#include <admitperf/policy.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct field {
    const char *of, *name;
    size_t at, size;     /* as compiled */
    size_t expected;     /* offset, by hand */
    size_t whole;        /* sizeof the struct, as compiled */
    size_t expected_end; /* of the last field: sizeof the struct, by hand; else 0 */
};

#define F(type, name, expected)                                                          \
    {                                                                                    \
#type, #name, offsetof(type, name), sizeof(((type *)0)->name), expected,         \
            sizeof(type), 0                                                              \
    }
#define LAST(type, name, expected, end)                                                  \
    {                                                                                    \
#type, #name, offsetof(type, name), sizeof(((type *)0)->name), expected,         \
            sizeof(type), end                                                            \
    }

static const struct field fields[] = {
    F(adp_signal, name, 0),
    F(adp_signal, unit, 8),
    F(adp_signal, flags, 16),
    LAST(adp_signal, reserved, 20, 24),

    F(adp_param, name, 0),
    F(adp_param, unit, 8),
    F(adp_param, doc, 16),
    F(adp_param, lo, 24),
    F(adp_param, hi, 32),
    F(adp_param, dflt, 40),
    F(adp_param, kind, 48),
    LAST(adp_param, flags, 52, 56),

    F(adp_gate, rule, 0),
    F(adp_gate, signal, 4),
    F(adp_gate, op, 8),
    LAST(adp_gate, param, 12, 16),

    F(adp_card, unit, 0),
    F(adp_card, setting, 8),
    F(adp_card, slo_awareness, 16),
    F(adp_card, signal_quantity, 24),
    F(adp_card, signal_structure, 32),
    F(adp_card, metadata_assumed, 40),
    F(adp_card, portability, 48),
    F(adp_card, source, 56),
    F(adp_card, margin_unit, 64),
    F(adp_card, flags, 72),
    LAST(adp_card, reserved, 76, 80),

    F(adp_request, size, 0),
    F(adp_request, present, 4),
    F(adp_request, tenant, 8),
    F(adp_request, session, 16),
    F(adp_request, slo_class, 24),
    F(adp_request, tenant_key, 32),
    F(adp_request, session_key, 40),
    F(adp_request, prompt_tokens, 48),
    F(adp_request, max_output_tokens, 56),
    F(adp_request, priority, 64),
    LAST(adp_request, ttft_deadline_ms, 72, 80),

    F(adp_view, size, 0),
    F(adp_view, n_replicas, 4),
    F(adp_view, now_ns, 8),
    F(adp_view, present, 16),
    F(adp_view, draw, 24),
    F(adp_view, signal, 32),
    F(adp_view, param, 40),
    F(adp_view, replica, 48),
    F(adp_view, replica_present, 56),
    LAST(adp_view, request, 64, 72),

    F(adp_verdict, size, 0),
    F(adp_verdict, action, 4),
    F(adp_verdict, reason, 8),
    F(adp_verdict, retry_after_ms, 12),
    F(adp_verdict, set, 16),
    F(adp_verdict, binding, 20),
    F(adp_verdict, ticket, 24),
    F(adp_verdict, margin, 32),
    LAST(adp_verdict, p, 40, 48),

    F(adp_outcome, size, 0),
    F(adp_outcome, kind, 4),
    F(adp_outcome, present, 8),
    F(adp_outcome, http_status, 12),
    F(adp_outcome, ticket, 16),
    F(adp_outcome, now_ns, 24),
    F(adp_outcome, prompt_tokens, 32),
    F(adp_outcome, output_tokens, 40),
    F(adp_outcome, ttft_ms, 48),
    LAST(adp_outcome, total_ms, 56, 64),

    F(adp_setup, size, 0),
    F(adp_setup, n_instances, 4),
    F(adp_setup, param, 8),
    F(adp_setup, config, 16),
    F(adp_setup, saved, 24),
    F(adp_setup, saved_len, 32),
    F(adp_setup, error, 40),
    LAST(adp_setup, error_cap, 48, 56),

    F(adp_policy, magic, 0),
    F(adp_policy, size, 4),
    F(adp_policy, abi_minor, 8),
    F(adp_policy, min_host_minor, 10),
    F(adp_policy, signal_size, 12),
    F(adp_policy, param_size, 14),
    F(adp_policy, gate_size, 16),
    F(adp_policy, card_size, 18),
    F(adp_policy, n_signals, 20),
    F(adp_policy, n_params, 24),
    F(adp_policy, n_gates, 28),
    F(adp_policy, threading, 32),
    F(adp_policy, max_saved, 36),
    F(adp_policy, flags, 40),
    F(adp_policy, reserved, 44),
    F(adp_policy, name, 48),
    F(adp_policy, version, 56),
    F(adp_policy, doc, 64),
    F(adp_policy, signals, 72),
    F(adp_policy, params, 80),
    F(adp_policy, gates, 88),
    F(adp_policy, card, 96),
    F(adp_policy, create, 104),
    F(adp_policy, destroy, 112),
    F(adp_policy, decide, 120),
    F(adp_policy, outcome, 128),
    F(adp_policy, save, 136),
    LAST(adp_policy, extension, 144, 152),
};

START_TEST(a_field_is_where_it_was)
{
    ck_assert_msg(fields[_i].at == fields[_i].expected, "%s.%s is at %zu, expected %zu",
                  fields[_i].of, fields[_i].name, fields[_i].at, fields[_i].expected);
}
END_TEST

/* Each field begins where the one before ends, and the last ends the struct: so there is
 * no padding, and no field that the table leaves out. */
START_TEST(the_fields_listed_are_all_there_are)
{
    const struct field *f = &fields[_i];
    if (f->expected_end) {
        ck_assert_uint_eq(f->at + f->size, f->expected_end);
        ck_assert_uint_eq(f->whole, f->expected_end);
        return;
    }
    ck_assert_str_eq(f[1].of, f->of);
    ck_assert_msg(f->at + f->size == f[1].at, "something lies between %s.%s and .%s",
                  f->of, f->name, f[1].name);
}
END_TEST

static const struct {
    const char *name;
    uint64_t is, expected;
} constants[] = {
    { "ADP_MAGIC", ADP_MAGIC, 0x31504441 },
    { "ADP_ABI_MINOR", ADP_ABI_MINOR, 0 },
    { "ADP_NONE", ADP_NONE, 4294967295 },
    { "ADP_MAX_SIGNALS", ADP_MAX_SIGNALS, 64 },
    { "ADP_MAX_PARAMS", ADP_MAX_PARAMS, 64 },
    { "ADP_MAX_GATES", ADP_MAX_GATES, 64 },
    { "ADP_MAX_REPLICAS", ADP_MAX_REPLICAS, 256 },
    { "ADP_MAX_SAVED", ADP_MAX_SAVED, 1048576 },
    { "ADP_TAKES_CONFIG", ADP_TAKES_CONFIG, 1 },
    { "ADP_REPLICAS", ADP_REPLICAS, 1 },
    { "ADP_ADMIT", ADP_ADMIT, 1 },
    { "ADP_REJECT", ADP_REJECT, 2 },
    { "ADP_DEFER", ADP_DEFER, 3 },
    { "ADP_SERIAL", ADP_SERIAL, 0 },
    { "ADP_CONCURRENT", ADP_CONCURRENT, 1 },
    { "ADP_GE", ADP_GE, 1 },
    { "ADP_GT", ADP_GT, 2 },
    { "ADP_LE", ADP_LE, 3 },
    { "ADP_LT", ADP_LT, 4 },
    { "ADP_F64", ADP_F64, 1 },
    { "ADP_I64", ADP_I64, 2 },
    { "ADP_BOOL", ADP_BOOL, 3 },
    { "ADP_REQUIRED", ADP_REQUIRED, 1 },
    { "ADP_FIXED", ADP_FIXED, 2 },
    { "ADP_BASELINE", ADP_BASELINE, 1 },
    { "ADP_SET_MARGIN", ADP_SET_MARGIN, 1 },
    { "ADP_SET_P", ADP_SET_P, 2 },
    { "ADP_SET_RETRY", ADP_SET_RETRY, 4 },
    { "ADP_PROMPT", ADP_PROMPT, 1 },
    { "ADP_OUTPUT", ADP_OUTPUT, 2 },
    { "ADP_PRIORITY", ADP_PRIORITY, 4 },
    { "ADP_DEADLINE", ADP_DEADLINE, 8 },
    { "ADP_O_TTFT", ADP_O_TTFT, 1 },
    { "ADP_O_TOTAL", ADP_O_TOTAL, 2 },
    { "ADP_O_PROMPT", ADP_O_PROMPT, 4 },
    { "ADP_O_OUTPUT", ADP_O_OUTPUT, 8 },
    { "ADP_O_STATUS", ADP_O_STATUS, 16 },
    { "ADP_DONE", ADP_DONE, 1 },
    { "ADP_FAILED", ADP_FAILED, 2 },
    { "ADP_CANCELLED", ADP_CANCELLED, 3 },
    { "ADP_NOT_RUN", ADP_NOT_RUN, 4 },
    { "ADP_LOST", ADP_LOST, 5 },
    { "ADP_R_KV_PRESSURE", ADP_R_KV_PRESSURE, 1 },
    { "ADP_R_QUEUE_DEPTH", ADP_R_QUEUE_DEPTH, 2 },
    { "ADP_R_CAPACITY_RESERVED", ADP_R_CAPACITY_RESERVED, 3 },
    { "ADP_R_WAIT_ESTIMATE_EXCEEDED", ADP_R_WAIT_ESTIMATE_EXCEEDED, 4 },
    { "ADP_R_DEADLINE_INFEASIBLE", ADP_R_DEADLINE_INFEASIBLE, 5 },
    { "ADP_R_PREDICTED_LENGTH", ADP_R_PREDICTED_LENGTH, 6 },
    { "ADP_R_SIGNAL_STALE", ADP_R_SIGNAL_STALE, 7 },
    { "ADP_R_TENANT_QUOTA", ADP_R_TENANT_QUOTA, 8 },
    { "ADP_R_RATE_LIMIT", ADP_R_RATE_LIMIT, 9 },
    { "ADP_R_REQUEST_TOO_LARGE", ADP_R_REQUEST_TOO_LARGE, 10 },
};

START_TEST(a_constant_is_what_it_was)
{
    ck_assert_msg(constants[_i].is == constants[_i].expected, "%s is %llu, expected %llu",
                  constants[_i].name, (unsigned long long)constants[_i].is,
                  (unsigned long long)constants[_i].expected);
}
END_TEST

START_TEST(the_magic_reads_adp1_in_the_file)
{
    const uint32_t magic = ADP_MAGIC;
    ck_assert_int_eq(memcmp(&magic, "ADP1", 4), 0);
    ck_assert_str_eq(ADP_POLICY_SYMBOL, "admitperf_policy_v1");
}
END_TEST

START_TEST(a_field_newer_than_the_writer_is_not_there)
{
    adp_view v = { .size = offsetof(adp_view, draw) };
    ck_assert(ADP_HAS(&v, present));
    ck_assert(!ADP_HAS(&v, draw));
    v.size = offsetof(adp_view, draw) + sizeof v.draw - 1; /* half of it is not it */
    ck_assert(!ADP_HAS(&v, draw));
    v.size++;
    ck_assert(ADP_HAS(&v, draw));
}
END_TEST

/* value, threshold, and which of >= > <= < hold */
static const struct {
    double value, threshold;
    int ge, gt, le, lt;
} gates[] = {
    { 0.89, 0.9, 0, 0, 1, 1 },
    { 0.9, 0.9, 1, 0, 1, 0 },
    { 0.91, 0.9, 1, 1, 0, 0 },
};

START_TEST(a_gate_holds_by_its_operator_and_never_on_an_absent_signal)
{
    const double signal[] = { 7.0, gates[_i].value }, param[] = { gates[_i].threshold };
    adp_view v = { .size = sizeof v, .present = 2, .signal = signal, .param = param };
    ck_assert_int_eq(adp_ge(&v, 1, 0), gates[_i].ge);
    ck_assert_int_eq(adp_gt(&v, 1, 0), gates[_i].gt);
    ck_assert_int_eq(adp_le(&v, 1, 0), gates[_i].le);
    ck_assert_int_eq(adp_lt(&v, 1, 0), gates[_i].lt);
    v.present = 1;
    ck_assert(!adp_ge(&v, 1, 0) && !adp_gt(&v, 1, 0) && !adp_le(&v, 1, 0) &&
              !adp_lt(&v, 1, 0));
    v.present = UINT64_C(1) << 63;
    ck_assert(adp_has(&v, 63) && !adp_has(&v, 62));
}
END_TEST

static const struct {
    double ms;
    uint32_t retry_after_ms, set;
} defers[] = {
    { 200.0, 200, ADP_SET_RETRY },
    { 0.25, 1, ADP_SET_RETRY },
    { 199.01, 200, ADP_SET_RETRY },
    { 0.0, 0, 0 },
    { -1.0, 0, 0 },
    { 4294967295.0, 4294967295u, ADP_SET_RETRY },
    { 1e300, 4294967295u, ADP_SET_RETRY },
};

START_TEST(a_retry_time_is_rounded_up_and_only_stated_above_zero)
{
    adp_verdict w = { .size = sizeof w, .binding = ADP_NONE };
    adp_defer(&w, ADP_R_QUEUE_DEPTH, 3, defers[_i].ms);
    ck_assert_uint_eq(w.action, ADP_DEFER);
    ck_assert_uint_eq(w.reason, ADP_R_QUEUE_DEPTH);
    ck_assert_uint_eq(w.binding, 3);
    ck_assert_uint_eq(w.retry_after_ms, defers[_i].retry_after_ms);
    ck_assert_uint_eq(w.set, defers[_i].set);
}
END_TEST

static const struct {
    double margin, at, above; /* as stated by adp_margin, by adp_margin_above */
} margins[] = {
    { 0.5, 0.5, 0.5 },        { -0.5, -0.5, -0.5 },       { 0.0, 0.0, -0x1p-53 },
    { -0.0, -0.0, -0x1p-53 }, { 5e-324, 5e-324, 5e-324 },
};

START_TEST(a_margin_that_fires_only_above_0_is_never_0)
{
    adp_verdict w = { .size = sizeof w };
    adp_margin(&w, margins[_i].margin);
    ck_assert(w.margin == margins[_i].at && w.set == ADP_SET_MARGIN);
    w.set = 0;
    adp_margin_above(&w, margins[_i].margin);
    ck_assert(w.margin == margins[_i].above && w.set == ADP_SET_MARGIN);
}
END_TEST

/* Exponent field 1023 - 53 = 0x3ca, fraction 0, sign set. */
START_TEST(the_hair_below_0_is_minus_2_to_the_minus_53_by_its_bits)
{
    adp_verdict w = { .size = sizeof w };
    uint64_t bits;
    adp_margin_above(&w, 0.0);
    memcpy(&bits, &w.margin, sizeof bits);
    ck_assert_uint_eq(bits, UINT64_C(0xbca0000000000000));
}
END_TEST

START_TEST(a_policy_that_cannot_says_why_in_the_room_it_has)
{
    char error[] = "............";
    adp_setup setup = { .size = sizeof setup, .error = error, .error_cap = 8 };
    ck_assert_ptr_null(adp_cannot(&setup, "out of memory"));
    ck_assert_mem_eq(error, "out of \0....", 12);
    setup.error_cap = sizeof error;
    adp_cannot(&setup, "short");
    ck_assert_str_eq(error, "short");
    setup.error_cap = 0;
    adp_cannot(&setup, "nothing");
    ck_assert_str_eq(error, "short");
    setup.error = NULL;
    setup.error_cap = 8;
    ck_assert_ptr_null(adp_cannot(&setup, "nowhere"));
}
END_TEST

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

int main(void)
{
    Suite *s = suite_create("layout");
    TCase *t = tcase_create("layout");
    tcase_add_loop_test(t, a_field_is_where_it_was, 0, N(fields));
    tcase_add_loop_test(t, the_fields_listed_are_all_there_are, 0, N(fields));
    tcase_add_loop_test(t, a_constant_is_what_it_was, 0, N(constants));
    tcase_add_test(t, the_magic_reads_adp1_in_the_file);
    tcase_add_test(t, a_field_newer_than_the_writer_is_not_there);
    tcase_add_loop_test(t, a_gate_holds_by_its_operator_and_never_on_an_absent_signal, 0,
                        N(gates));
    tcase_add_loop_test(t, a_retry_time_is_rounded_up_and_only_stated_above_zero, 0,
                        N(defers));
    tcase_add_loop_test(t, a_margin_that_fires_only_above_0_is_never_0, 0, N(margins));
    tcase_add_test(t, the_hair_below_0_is_minus_2_to_the_minus_53_by_its_bits);
    tcase_add_test(t, a_policy_that_cannot_says_why_in_the_room_it_has);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
