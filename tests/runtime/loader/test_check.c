/* SPDX-License-Identifier: MIT */
/* Declared tables against the contract of policy.h: one defect at a time, put into a
 * sound policy. */
#include "runtime/loader/loader.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sound policy with one of everything, and room to break it. */
struct sample {
    adp_policy policy;
    adp_signal signals[2];
    adp_param params[3];
    adp_gate gates[3];
    adp_card card;
};

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    (void)self;
    (void)to;
    (void)cap;
    return 0;
}

static void *create(const adp_setup *setup)
{
    return adp_cannot(setup, "not called");
}

static void make(struct sample *s)
{
    *s = (struct sample) {
        .policy = { ADP_HEAD, .name = "sample", .version = "1.0",
                    .doc = "a policy \xe2\x80\x94 in UTF-8 "
                           "\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf",
                    .n_signals = 2, .n_params = 3, .n_gates = 3, .decide = decide },
        .signals = { { .name = "kv_pressure", .unit = "ratio" },
                     { .name = "queue_depth", .unit = "requests" } },
        .params = { { .name = "threshold",
                      .unit = "ratio",
                      .hi = 1.0,
                      .kind = ADP_F64,
                      .flags = ADP_REQUIRED },
                    { .name = "max_waiting",
                      .unit = "requests",
                      .hi = 100.0,
                      .dflt = 32.0,
                      .kind = ADP_I64 },
                    { .name = "strict", .unit = "", .hi = 1.0, .kind = ADP_BOOL } },
        .gates = { { .rule = 0, .signal = 0, .op = ADP_GE, .param = 0 },
                   { .rule = 1, .signal = 1, .op = ADP_GT, .param = 1 },
                   { .rule = 1, .signal = 0, .op = ADP_LT, .param = ADP_NONE } },
        .card = { .unit = "request",
                  .setting = "online",
                  .slo_awareness = "throughput",
                  .signal_quantity = "kv_pressure",
                  .signal_structure = "scalar",
                  .metadata_assumed = "per-stage deadlines",
                  .portability = "A" },
    };
    s->policy.signals = s->signals;
    s->policy.params = s->params;
    s->policy.gates = s->gates;
    s->policy.card = &s->card;
}

START_TEST(a_sound_policy_passes)
{
    struct sample s;
    struct adp_error err = { 0 };
    make(&s);
    ck_assert_int_eq(adp_loader_check(&s.policy, "/p.so", &err), 0);
    ck_assert_str_eq(err.text, "");
}
END_TEST

START_TEST(a_policy_of_nothing_but_a_name_and_decide_passes)
{
    adp_policy p = { ADP_HEAD, .name = "p", .decide = decide };
    ck_assert_int_eq(adp_loader_check(&p, "/p.so", NULL), 0);
}
END_TEST

static char long_name[66], long_text[1026];

#define DEFECT(name, statement)                                                          \
    static void name(struct sample *s)                                                   \
    {                                                                                    \
        statement;                                                                       \
    }
DEFECT(no_name, s->policy.name = NULL)
DEFECT(empty_name, s->policy.name = "")
DEFECT(capital_name, s->policy.name = "Sample")
DEFECT(digit_name, s->policy.name = "1sample")
DEFECT(long_policy_name, s->policy.name = long_name)
DEFECT(bad_utf8, s->policy.doc = "caf\xe9")
DEFECT(overlong_utf8, s->policy.doc = "\xc0\xaf")
DEFECT(overlong_3_utf8, s->policy.doc = "\xe0\x9f\xbf")
DEFECT(overlong_4_utf8, s->policy.doc = "\xf0\x8f\xbf\xbf")
DEFECT(above_utf8, s->policy.doc = "\xf4\x90\x80\x80")
DEFECT(cut_utf8, s->policy.doc = "a\xe2\x82")
DEFECT(surrogate_utf8, s->policy.doc = "\xed\xa0\x80")
DEFECT(c1_control, s->policy.doc = "a\xc2\x9b"
                                   "31mb")
DEFECT(next_line, s->policy.version = "1\xc2\x85")
DEFECT(line_separator, s->policy.doc = "a\xe2\x80\xa8")
DEFECT(paragraph_separator, s->params[1].doc = "\xe2\x80\xa9")
DEFECT(right_to_left_mark, s->params[0].unit = "\xe2\x80\x8f")
DEFECT(right_to_left_override, s->card.source = "ab\xe2\x80\xae")
DEFECT(isolate, s->card.margin_unit = "\xe2\x81\xa6")
DEFECT(two_lines, s->policy.version = "1\n2")
DEFECT(long_doc, s->policy.doc = long_text)
DEFECT(many_signals, s->policy.n_signals = 65)
DEFECT(many_params, s->policy.n_params = 65)
DEFECT(many_gates, s->policy.n_gates = 65)
DEFECT(no_signals, s->policy.signals = NULL)
DEFECT(no_params, s->policy.params = NULL)
DEFECT(no_gates, s->policy.gates = NULL)
DEFECT(signal_no_name, s->signals[1].name = NULL)
DEFECT(signal_name, s->signals[1].name = "queue-depth")
DEFECT(signal_no_unit, s->signals[1].unit = NULL)
DEFECT(signal_flags, s->signals[1].flags = 4)
DEFECT(signal_twice, s->signals[1].name = "kv_pressure")
DEFECT(param_no_name, s->params[1].name = NULL)
DEFECT(param_name, s->params[1].name = "max waiting")
DEFECT(param_no_unit, s->params[1].unit = NULL)
DEFECT(param_doc, s->params[1].doc = "\x1b[2J")
DEFECT(param_twice, s->params[1].name = "threshold")
DEFECT(param_kind_0, s->params[1].kind = 0)
DEFECT(param_kind_4, s->params[1].kind = 4)
DEFECT(param_flags, s->params[1].flags = 9)
DEFECT(param_nan, s->params[0].lo = NAN)
DEFECT(param_infinite, s->params[0].hi = INFINITY)
DEFECT(param_dflt_nan, s->params[0].dflt = NAN)
DEFECT(param_order, s->params[0].lo = 2.0)
DEFECT(param_dflt_above, s->params[1].dflt = 101.0)
DEFECT(param_dflt_below, s->params[1].dflt = -1.0)
DEFECT(param_fraction, s->params[1].hi = 99.5)
DEFECT(param_too_big, s->params[1].hi = 18014398509481984.0)
DEFECT(param_bool_range, s->params[2].hi = 2.0)
DEFECT(gate_rule, s->gates[2].rule = 64)
DEFECT(gate_hole, s->gates[1].rule = s->gates[2].rule = 2)
DEFECT(gate_no_rule_0, s->gates[0].rule = 1)
DEFECT(gate_slot, s->gates[2].signal = 2)
DEFECT(gate_op_0, s->gates[2].op = 0)
DEFECT(gate_op_5, s->gates[2].op = 5)
DEFECT(gate_param, s->gates[2].param = 3)
DEFECT(card_unit, s->card.unit = "requests")
DEFECT(card_setting, s->card.setting = "on-line")
DEFECT(card_slo, s->card.slo_awareness = "latency")
DEFECT(card_quantity, s->card.signal_quantity = "kv-pressure")
DEFECT(card_structure, s->card.signal_structure = "dual_gate")
DEFECT(card_metadata, s->card.metadata_assumed = "slo class")
DEFECT(card_portability, s->card.portability = "C")
DEFECT(card_source, s->card.source = "a\tb")
DEFECT(card_flags, s->card.flags = 2)
DEFECT(card_baseline, s->card.flags = ADP_BASELINE)
DEFECT(threading, s->policy.threading = 2)
DEFECT(no_decide, s->policy.decide = NULL)
DEFECT(save_nothing, s->policy.create = create; s->policy.save = save)
DEFECT(save_much, s->policy.max_saved = 1048577)
DEFECT(policy_flags, s->policy.flags = 3)
DEFECT(policy_reserved, s->policy.reserved = 1)
DEFECT(save_no_instance, s->policy.save = save; s->policy.max_saved = 8)
DEFECT(config_no_instance, s->policy.flags = ADP_TAKES_CONFIG)
DEFECT(signal_reserved, s->signals[0].reserved = 1)

static const struct {
    void (*put)(struct sample *s);
    const char *text;
} defects[] = {
    { no_name, "the policy has no name" },
    { empty_name, "the policy is named \"\", expected [a-z][a-z0-9_]* of at most 63" },
    { capital_name,
      "the policy is named \"Sample\", expected [a-z][a-z0-9_]* of at most 63" },
    { digit_name,
      "the policy is named \"1sample\", expected [a-z][a-z0-9_]* of at most 63" },
    { long_policy_name,
      "the policy is named "
      "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", expected "
      "[a-z][a-z0-9_]* of at most 63" },
    { bad_utf8, "doc is not one line of UTF-8: byte 3 is 0xe9" },
    { overlong_utf8, "doc is not one line of UTF-8: byte 0 is 0xc0" },
    { overlong_3_utf8, "doc is not one line of UTF-8: byte 0 is 0xe0" },
    { overlong_4_utf8, "doc is not one line of UTF-8: byte 0 is 0xf0" },
    { above_utf8, "doc is not one line of UTF-8: byte 0 is 0xf4" },
    { cut_utf8, "doc is not one line of UTF-8: byte 1 is 0xe2" },
    { surrogate_utf8, "doc is not one line of UTF-8: byte 0 is 0xed" },
    { two_lines, "version is not one line of UTF-8: byte 1 is 0x0a" },
    { c1_control, "doc is not one line of plain text: byte 1 begins U+009B, which "
                  "controls a terminal or the direction of writing" },
    { next_line, "version is not one line of plain text: byte 1 begins U+0085, which "
                 "controls a terminal or the direction of writing" },
    { line_separator, "doc is not one line of plain text: byte 1 begins U+2028, which "
                      "controls a terminal or the direction of writing" },
    { paragraph_separator, "parameter 1 \"max_waiting\": doc is not one line of plain "
                           "text: byte 0 begins U+2029, which "
                           "controls a terminal or the direction of writing" },
    { right_to_left_mark, "parameter 0 \"threshold\": unit is not one line of plain "
                          "text: byte 0 begins U+200F, which "
                          "controls a terminal or the direction of writing" },
    { right_to_left_override,
      "card: source is not one line of plain text: byte 2 begins U+202E, which "
      "controls a terminal or the direction of writing" },
    { isolate,
      "card: margin_unit is not one line of plain text: byte 0 begins U+2066, which "
      "controls a terminal or the direction of writing" },
    { long_doc, "doc is longer than 1023 bytes" },
    { many_signals, "declares 65 signals, expected at most 64" },
    { many_params, "declares 65 params, expected at most 64" },
    { many_gates, "declares 65 gates, expected at most 64" },
    { no_signals, "declares 2 signals and no table of them" },
    { no_params, "declares 3 params and no table of them" },
    { no_gates, "declares 3 gates and no table of them" },
    { signal_no_name, "signal 1: it has no name" },
    { signal_name, "signal 1: it is named \"queue-depth\", expected [a-z][a-z0-9_]* of "
                   "at most 63" },
    { signal_no_unit, "signal 1 \"queue_depth\": has no unit" },
    { signal_flags,
      "signal 1 \"queue_depth\": flags 0x4, reserved 0x0 are not all known to this "
      "host" },
    { signal_reserved,
      "signal 0 \"kv_pressure\": flags 0x0, reserved 0x1 are not all known to this "
      "host" },
    { signal_twice, "signal 1 \"kv_pressure\": is declared twice, as signal 0 before" },
    { param_no_name, "parameter 1: it has no name" },
    { param_name, "parameter 1: it is named \"max waiting\", expected [a-z][a-z0-9_]* "
                  "of at most 63" },
    { param_no_unit,
      "parameter 1 \"max_waiting\": has no unit, expected \"\" where there is none" },
    { param_doc,
      "parameter 1 \"max_waiting\": doc is not one line of UTF-8: byte 0 is 0x1b" },
    { param_twice,
      "parameter 1 \"threshold\": is declared twice, as parameter 0 before" },
    { param_kind_0, "parameter 1 \"max_waiting\": kind is 0, expected 1 to 3" },
    { param_kind_4, "parameter 1 \"max_waiting\": kind is 4, expected 1 to 3" },
    { param_flags,
      "parameter 1 \"max_waiting\": flags 0x9 are not all known to this host" },
    { param_nan, "parameter 0 \"threshold\": lo nan, hi 1, dflt 0: expected finite "
                 "numbers" },
    { param_infinite, "parameter 0 \"threshold\": lo 0, hi inf, dflt 0: expected finite "
                      "numbers" },
    { param_dflt_nan, "parameter 0 \"threshold\": lo 0, hi 1, dflt nan: expected finite "
                      "numbers" },
    { param_order, "parameter 0 \"threshold\": lo 2 is above hi 1" },
    { param_dflt_above, "parameter 1 \"max_waiting\": dflt 101 is outside [0, 100]" },
    { param_dflt_below, "parameter 1 \"max_waiting\": dflt -1 is outside [0, 100]" },
    { param_fraction, "parameter 1 \"max_waiting\": lo 0, hi 99.5, dflt 32: expected "
                      "integers within 2^53" },
    { param_too_big, "parameter 1 \"max_waiting\": lo 0, hi 1.80144e+16, dflt 32: "
                     "expected integers within 2^53" },
    { param_bool_range,
      "parameter 2 \"strict\": lo 0, hi 2: expected 0 and 1 of a bool" },
    { gate_rule, "gate 2: rule is 64, expected below 64" },
    { gate_hole, "the gates leave out rule 1" },
    { gate_no_rule_0, "the gates leave out rule 0" },
    { gate_slot, "gate 2: signal is slot 2 of 2 declared" },
    { gate_op_0, "gate 2: op is 0, expected 1 to 4" },
    { gate_op_5, "gate 2: op is 5, expected 1 to 4" },
    { gate_param, "gate 2: param is place 3 of 3 declared" },
    { card_unit, "card: unit is \"requests\", expected request | agent-session | tenant; "
                 "nearest is \"request\"" },
    { card_setting, "card: setting is \"on-line\", expected online | offline | hybrid; "
                    "nearest is \"online\"" },
    { card_slo, "card: slo_awareness is \"latency\", expected deadline | throughput | "
                "fairness | cost | stability" },
    { card_quantity,
      "card: signal_quantity is \"kv-pressure\", expected kv_pressure | queue_depth | "
      "deadline_slack | wait_estimate | predicted_length | batch_state | rate | "
      "analytic; "
      "nearest is \"kv_pressure\"" },
    { card_structure,
      "card: signal_structure is \"dual_gate\", expected scalar | dual-gate | "
      "lp-composite | formal-bound; nearest is \"dual-gate\"" },
    { card_metadata,
      "card: metadata_assumed is \"slo class\", expected none | SLO class | deadlines | "
      "per-stage deadlines | session id | priority class; nearest is \"SLO class\"" },
    { card_portability, "card: portability is \"C\", expected A | B; nearest is \"A\"" },
    { card_source, "card: source is not one line of UTF-8: byte 1 is 0x09" },
    { card_flags, "card: flags 0x2, reserved 0x0 are not all known to this host" },
    { card_baseline,
      "card: it is a baseline, which refuses nothing, and declares 3 gates" },
    { threading, "threading is 2, expected 0 (serial) or 1 (concurrent)" },
    { no_decide, "has no decide" },
    { save_nothing, "has save but max_saved is 0: it could never write" },
    { save_much, "max_saved is 1048577, expected at most 1048576" },
    { policy_flags, "flags 0x3, reserved 0x0 are not all known to this host" },
    { policy_reserved, "flags 0x0, reserved 0x1 are not all known to this host" },
    { save_no_instance, "has no create, and so no instance to save" },
    { config_no_instance, "has no create, and so no instance to configure" },
};

START_TEST(a_defect_is_refused_by_its_row_and_what_was_expected)
{
    struct sample s;
    struct adp_error err = { 0 };
    make(&s);
    defects[_i].put(&s);
    ck_assert_int_eq(adp_loader_check(&s.policy, "/p.so", &err), ADP_EABI);
    ck_assert_str_eq(err.file, "/p.so");
    ck_assert_str_eq(err.text, defects[_i].text);
}
END_TEST

START_TEST(bounds_are_inclusive)
{
    struct sample s;
    make(&s);
    s.params[0].lo = s.params[0].hi = 1.0; /* one value: a constant, allowed */
    s.params[1].dflt = 100.0;
    s.params[1].hi = 9007199254740992.0;
    s.gates[0].rule = 1; /* and rule 0 is the others' */
    s.gates[1].rule = s.gates[2].rule = 0;
    long_name[63] = '\0';
    s.policy.name = long_name;
    long_text[1023] = '\0';
    s.policy.doc = long_text;
    s.policy.create = create;
    s.policy.save = save;
    s.policy.max_saved = 1048576;
    s.policy.flags = 1;
    s.signals[1].flags = 1;
    ck_assert_int_eq(adp_loader_check(&s.policy, "/p.so", NULL), 0);
}
END_TEST

START_TEST(the_default_of_a_required_parameter_may_lie_outside)
{
    struct sample s;
    make(&s);
    s.params[0].lo = 0.5; /* dflt is 0 */
    ck_assert_int_eq(adp_loader_check(&s.policy, "/p.so", NULL), 0);
}
END_TEST

int main(void)
{
    memset(long_name, 'a', sizeof long_name - 1);
    memset(long_text, 'a', sizeof long_text - 1);
    Suite *s = suite_create("check");
    TCase *t = tcase_create("check");
    tcase_add_test(t, a_sound_policy_passes);
    tcase_add_test(t, a_policy_of_nothing_but_a_name_and_decide_passes);
    tcase_add_loop_test(t, a_defect_is_refused_by_its_row_and_what_was_expected, 0,
                        sizeof defects / sizeof defects[0]);
    tcase_add_test(t, bounds_are_inclusive);
    tcase_add_test(t, the_default_of_a_required_parameter_may_lie_outside);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
