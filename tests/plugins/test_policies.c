/* SPDX-License-Identifier: MIT */
/* The shipped policies, as the loader gives them: views worked out by hand, and what each
 * must say. One shape for all: at most two signals and two parameters. */
#include "runtime/loader/loader.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ABSENT NAN /* in a row: the slot's bit is clear, and the value is garbage */
#define NONE   ADP_NONE

static const struct {
    const char *policy;
    double param[2];
    double signal[2];
    uint32_t action, reason, binding;
    uint32_t retry; /* 0: ADP_SET_RETRY is not set */
} rows[] = {
    { "no_admission", { 0 }, { 0 }, ADP_ADMIT, 0, NONE, 0 },

    /* kv_pressure >= threshold */
    { "kv_threshold", { 0.9 }, { 0.0 }, ADP_ADMIT, 0, NONE, 0 },
    { "kv_threshold", { 0.9 }, { 0.8999999999 }, ADP_ADMIT, 0, NONE, 0 },
    { "kv_threshold", { 0.9 }, { 0.9 }, ADP_REJECT, ADP_R_KV_PRESSURE, 0, 0 },
    { "kv_threshold", { 0.9 }, { 1.0 }, ADP_REJECT, ADP_R_KV_PRESSURE, 0, 0 },
    { "kv_threshold", { 0.0 }, { 0.0 }, ADP_REJECT, ADP_R_KV_PRESSURE, 0, 0 },
    { "kv_threshold", { 0.9 }, { ABSENT }, ADP_ADMIT, 0, NONE, 0 },
    { "kv_threshold", { 0.0 }, { ABSENT }, ADP_ADMIT, 0, NONE, 0 },

    /* queue_depth > max_waiting; retry_after_ms 0 is "not given" */
    { "queue_depth", { 105, 0 }, { 0 }, ADP_ADMIT, 0, NONE, 0 },
    { "queue_depth", { 105, 0 }, { 105 }, ADP_ADMIT, 0, NONE, 0 },
    { "queue_depth", { 105, 0 }, { 106 }, ADP_REJECT, ADP_R_QUEUE_DEPTH, 0, 0 },
    { "queue_depth", { 0, 0 }, { 1 }, ADP_REJECT, ADP_R_QUEUE_DEPTH, 0, 0 },
    { "queue_depth", { 105, 200 }, { 105 }, ADP_ADMIT, 0, NONE, 0 },
    { "queue_depth", { 105, 200 }, { 106 }, ADP_DEFER, ADP_R_QUEUE_DEPTH, 0, 200 },
    { "queue_depth", { 105, 1 }, { 106 }, ADP_DEFER, ADP_R_QUEUE_DEPTH, 0, 1 },
    { "queue_depth",
      { 105, 86400000 },
      { 106 },
      ADP_DEFER,
      ADP_R_QUEUE_DEPTH,
      0,
      86400000 },
    { "queue_depth", { 0, 0 }, { ABSENT }, ADP_ADMIT, 0, NONE, 0 },
    { "queue_depth", { 0, 200 }, { ABSENT }, ADP_ADMIT, 0, NONE, 0 },

    /* kv_pressure >= threshold and prefix_hit_rate < min_hit_rate */
    { "dual_gate", { 0.9, 0.5 }, { 0.95, 0.4 }, ADP_REJECT, ADP_R_KV_PRESSURE, 0, 0 },
    { "dual_gate", { 0.9, 0.5 }, { 0.9, 0.0 }, ADP_REJECT, ADP_R_KV_PRESSURE, 0, 0 },
    { "dual_gate", { 0.9, 0.5 }, { 0.95, 0.5 }, ADP_ADMIT, 0, NONE, 0 },
    { "dual_gate", { 0.9, 0.5 }, { 0.95, 0.6 }, ADP_ADMIT, 0, NONE, 0 },
    { "dual_gate", { 0.9, 0.5 }, { 0.89, 0.4 }, ADP_ADMIT, 0, NONE, 0 },
    { "dual_gate", { 0.9, 0.5 }, { 0.89, 0.6 }, ADP_ADMIT, 0, NONE, 0 },
    { "dual_gate", { 0.9, 0.5 }, { ABSENT, 0.4 }, ADP_ADMIT, 0, NONE, 0 },
    { "dual_gate", { 0.9, 0.5 }, { 0.95, ABSENT }, ADP_ADMIT, 0, NONE, 0 },
    { "dual_gate", { 0.9, 0.5 }, { ABSENT, ABSENT }, ADP_ADMIT, 0, NONE, 0 },
    { "dual_gate", { 0.9, 0.0 }, { 0.95, 0.0 }, ADP_ADMIT, 0, NONE, 0 },
};

static struct adp_loaded *load(const char *name)
{
    char path[1024];
    struct adp_loaded *loaded = NULL;
    struct adp_error err = { 0 };
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS, 1);
    int r = adp_loader_find(name, NULL, path, sizeof path, &err);
    if (r == 0)
        r = adp_loader_load(&loaded, path, NULL, &err);
    ck_assert_msg(r == 0, "%s: %s", err.file, err.text);
    ck_assert_str_eq(loaded->policy.name, name);
    return loaded;
}

/* Whether the declared gates hold, by their own operators: some rule all of whose gates
 * do. */
static bool gates_hold(const struct adp_loaded *loaded, const adp_view *v)
{
    bool some = false, all = true;
    for (uint32_t i = 0; i < loaded->policy.n_gates; i++) {
        struct adp_gate g = adp_loaded_gate(loaded, i);
        bool holds = g.op == ADP_GE   ? adp_ge(v, g.signal, g.param)
                     : g.op == ADP_GT ? adp_gt(v, g.signal, g.param)
                     : g.op == ADP_LE ? adp_le(v, g.signal, g.param)
                                      : adp_lt(v, g.signal, g.param);
        ck_assert_uint_eq(g.rule, 0); /* all four have one rule at most */
        all = all && holds;
        some = true;
    }
    return some && all;
}

/* What an absent slot may hold: none of it may change the answer. */
static const double garbage[] = { 0.0, 1.0, -1.0, NAN, INFINITY, 1e308 };

START_TEST(a_policy_answers_as_worked_out_by_hand)
{
    struct adp_loaded *loaded = load(rows[_i].policy);
    for (size_t k = 0; k < sizeof garbage / sizeof garbage[0]; k++) {
        double signal[2];
        uint64_t present = 0;
        for (unsigned i = 0; i < 2; i++) {
            bool absent = isnan(rows[_i].signal[i]) || i >= loaded->policy.n_signals;
            signal[i] = absent ? garbage[k] : rows[_i].signal[i];
            present |= absent ? 0 : UINT64_C(1) << i;
        }
        const adp_request request = { .size = sizeof request };
        const adp_view view = { .size = sizeof view,
                                .present = present,
                                .signal = signal,
                                .param = rows[_i].param,
                                .request = &request };
        adp_verdict verdict = { .size = sizeof verdict, .binding = ADP_NONE };
        loaded->policy.decide(NULL, &view, &verdict);
        ck_assert_uint_eq(verdict.action, rows[_i].action);
        ck_assert_uint_eq(verdict.reason, rows[_i].reason);
        ck_assert_uint_eq(verdict.binding, rows[_i].binding);
        ck_assert_uint_eq(verdict.retry_after_ms, rows[_i].retry);
        ck_assert_uint_eq(verdict.set, rows[_i].retry ? ADP_SET_RETRY : 0);
        ck_assert_uint_eq(verdict.ticket, 0);
        ck_assert(gates_hold(loaded, &view) == (verdict.action != ADP_ADMIT));
    }
    adp_loaded_destroy(loaded);
}
END_TEST

static const struct {
    const char *policy;
    bool baseline;
    const char *quantity, *slo, *structure;
    const char *signals[2], *params[2];
    bool required[2];
    double lo[2], hi[2];
} cards[] = {
    { "no_admission", true, NULL, NULL, NULL, { NULL }, { NULL }, { 0 }, { 0 }, { 0 } },
    { "kv_threshold",
      false,
      "kv_pressure",
      "throughput",
      "scalar",
      { "kv_pressure" },
      { "threshold" },
      { true },
      { 0 },
      { 1 } },
    { "queue_depth",
      false,
      "queue_depth",
      "stability",
      "scalar",
      { "queue_depth" },
      { "max_waiting", "retry_after_ms" },
      { true, false },
      { 0, 0 },
      { 1e9, 86400000 } },
    { "dual_gate",
      false,
      "kv_pressure",
      "throughput",
      "dual-gate",
      { "kv_pressure", "prefix_hit_rate" },
      { "threshold", "min_hit_rate" },
      { true, true },
      { 0, 0 },
      { 1, 1 } },
};

START_TEST(a_policy_declares_what_the_survey_asks)
{
    struct adp_loaded *loaded = load(cards[_i].policy);
    const struct adp_card card = adp_loaded_card(loaded);
    ck_assert(loaded->baseline == cards[_i].baseline);
    ck_assert_str_eq(card.unit, "request");
    ck_assert_str_eq(card.setting, "online");
    ck_assert_str_eq(card.metadata_assumed, "none");
    ck_assert_str_eq(card.portability, "A");
    ck_assert_pstr_eq(card.signal_quantity, cards[_i].quantity);
    ck_assert_pstr_eq(card.slo_awareness, cards[_i].slo);
    ck_assert_pstr_eq(card.signal_structure, cards[_i].structure);
    ck_assert_ptr_nonnull(card.source);
    ck_assert_ptr_nonnull(loaded->policy.doc);
    ck_assert_uint_eq(loaded->policy.threading, ADP_CONCURRENT);
    ck_assert_ptr_null(loaded->policy.create);

    uint32_t n_signals = 0, n_params = 0;
    for (; n_signals < 2 && cards[_i].signals[n_signals]; n_signals++)
        ck_assert_str_eq(adp_loaded_signal(loaded, n_signals).name,
                         cards[_i].signals[n_signals]);
    for (; n_params < 2 && cards[_i].params[n_params]; n_params++) {
        struct adp_param p = adp_loaded_param(loaded, n_params);
        ck_assert_str_eq(p.name, cards[_i].params[n_params]);
        ck_assert(!!(p.flags & ADP_REQUIRED) == cards[_i].required[n_params]);
        ck_assert_double_eq(p.lo, cards[_i].lo[n_params]);
        ck_assert_double_eq(p.hi, cards[_i].hi[n_params]);
        ck_assert_ptr_nonnull(p.doc);
    }
    ck_assert_uint_eq(loaded->policy.n_signals, n_signals);
    ck_assert_uint_eq(loaded->policy.n_params, n_params);
    adp_loaded_destroy(loaded);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("policies");
    TCase *t = tcase_create("policies");
    tcase_add_loop_test(t, a_policy_answers_as_worked_out_by_hand, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_loop_test(t, a_policy_declares_what_the_survey_asks, 0,
                        sizeof cards / sizeof cards[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
