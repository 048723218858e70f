/* SPDX-License-Identifier: MIT */
/* Where the pointers of a policy lead: one of this program's own, with one pointer of it
 * changed. A text that runs out of its file's memory is bad/no_end.c. */
#include "runtime/loader/image.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

static const adp_signal signals[] = { { "kv_pressure", "ratio", 0, 0 } };
static const adp_param params[] = {
    { "threshold", "ratio", NULL, 0.0, 1.0, 0.5, ADP_F64, 0 },
};
static const adp_gate gates[] = { { 0, 0, ADP_GE, 0 } };
static const adp_card card = { .unit = "request" };

static const adp_policy sound = { ADP_HEAD, ADP_TABLES(signals, params, gates),
                                  .name = "sound", .card = &card, .decide = decide };

/* Nothing is mapped in the first page. */
#define NOWHERE ((const void *)16)

static int check(const adp_policy *policy, struct adp_error *err)
{
    return adp_image_check(&sound, policy, "/x.so", err);
}

static void refused_as(const adp_policy *policy, const char *text)
{
    struct adp_error err = { 0 };
    ck_assert_int_eq(check(policy, &err), ADP_EABI);
    ck_assert_str_eq(err.file, "/x.so");
    ck_assert_str_eq(err.text, text);
}

START_TEST(what_lies_in_the_file_passes)
{
    struct adp_error err = { 0 };
    adp_policy p = sound;
    ck_assert_int_eq(check(&p, &err), 0);
    p.destroy = free; /* code of a library */
    ck_assert_int_eq(check(&p, &err), 0);
    adp_policy least = { ADP_HEAD, .name = "least", .decide = decide };
    ck_assert_int_eq(check(&least, &err), 0);
}
END_TEST

/* What is pointed to NOWHERE: a field of the head, or of a row, by its offset. */
enum of { HEAD, SIGNAL, PARAM, CARD };

static const struct {
    enum of of;
    size_t at;
    const char *text;
} wild[] = {
    { HEAD, offsetof(adp_policy, name),
      "the name lies at 0x10, outside of the file's memory" },
    { HEAD, offsetof(adp_policy, version),
      "the version lies at 0x10, outside of the file's memory" },
    { HEAD, offsetof(adp_policy, doc),
      "the doc lies at 0x10, outside of the file's memory" },
    { HEAD, offsetof(adp_policy, signals),
      "the table of signals at 0x10 does not lie in the file's memory whole" },
    { HEAD, offsetof(adp_policy, params),
      "the table of params at 0x10 does not lie in the file's memory whole" },
    { HEAD, offsetof(adp_policy, gates),
      "the table of gates at 0x10 does not lie in the file's memory whole" },
    { HEAD, offsetof(adp_policy, card),
      "the table of the card at 0x10 does not lie in the file's memory whole" },
    { HEAD, offsetof(adp_policy, create), "create is at 0x10, where no code is mapped" },
    { HEAD, offsetof(adp_policy, destroy),
      "destroy is at 0x10, where no code is mapped" },
    { HEAD, offsetof(adp_policy, decide), "decide is at 0x10, where no code is mapped" },
    { HEAD, offsetof(adp_policy, outcome),
      "outcome is at 0x10, where no code is mapped" },
    { HEAD, offsetof(adp_policy, save), "save is at 0x10, where no code is mapped" },
    { HEAD, offsetof(adp_policy, extension),
      "extension is at 0x10, where no code is mapped" },
    { SIGNAL, offsetof(adp_signal, name),
      "signal 1: the name lies at 0x10, outside of the file's memory" },
    { SIGNAL, offsetof(adp_signal, unit),
      "signal 1: the unit lies at 0x10, outside of the file's memory" },
    { PARAM, offsetof(adp_param, name),
      "parameter 1: the name lies at 0x10, outside of the file's memory" },
    { PARAM, offsetof(adp_param, unit),
      "parameter 1: the unit lies at 0x10, outside of the file's memory" },
    { PARAM, offsetof(adp_param, doc),
      "parameter 1: the doc lies at 0x10, outside of the file's memory" },
    { CARD, offsetof(adp_card, unit),
      "card: the unit lies at 0x10, outside of the file's memory" },
    { CARD, offsetof(adp_card, setting),
      "card: the setting lies at 0x10, outside of the file's memory" },
    { CARD, offsetof(adp_card, slo_awareness),
      "card: the slo_awareness lies at 0x10, outside of the file's memory" },
    { CARD, offsetof(adp_card, signal_quantity),
      "card: the signal_quantity lies at 0x10, outside of the file's memory" },
    { CARD, offsetof(adp_card, signal_structure),
      "card: the signal_structure lies at 0x10, outside of the file's memory" },
    { CARD, offsetof(adp_card, metadata_assumed),
      "card: the metadata_assumed lies at 0x10, outside of the file's memory" },
    { CARD, offsetof(adp_card, portability),
      "card: the portability lies at 0x10, outside of the file's memory" },
    { CARD, offsetof(adp_card, source),
      "card: the source lies at 0x10, outside of the file's memory" },
    { CARD, offsetof(adp_card, margin_unit),
      "card: the margin_unit lies at 0x10, outside of the file's memory" },
};
enum { N_WILD = sizeof wild / sizeof wild[0] };

START_TEST(a_pointer_that_leads_nowhere_is_refused_and_not_followed)
{
    static adp_signal two_signals[2];
    static adp_param two_params[2];
    static adp_card a_card;
    const void *nowhere = NOWHERE;
    adp_policy p = sound;
    two_signals[0] = two_signals[1] = signals[0];
    two_params[0] = two_params[1] = params[0];
    a_card = card;
    p.signals = two_signals;
    p.params = two_params;
    p.n_signals = p.n_params = 2;
    p.card = &a_card;
    char *const of[] = { [HEAD] = (char *)&p,
                         [SIGNAL] = (char *)&two_signals[1],
                         [PARAM] = (char *)&two_params[1],
                         [CARD] = (char *)&a_card };
    memcpy(of[wild[_i].of] + wild[_i].at, &nowhere, sizeof nowhere);
    refused_as(&p, wild[_i].text);
}
END_TEST

START_TEST(memory_that_is_not_the_files_is_refused)
{
    char text[160], *heap = malloc(8);
    adp_policy p = sound;
    ck_assert_ptr_nonnull(heap);
    memcpy(heap, "a doc", 6);
    p.doc = heap;
    snprintf(text, sizeof text, "the doc lies at %p, outside of the file's memory",
             (void *)heap);
    refused_as(&p, text);
    free(heap);
}
END_TEST

START_TEST(a_table_that_ends_beyond_its_segment_is_refused)
{
    char text[160];
    adp_policy p = sound;
    p.n_gates = ADP_MAX_GATES;
    p.gate_size = 65528; /* 4 MB, which the constants of this program have not */
    snprintf(text, sizeof text,
             "the table of gates at %p does not lie in the file's memory whole",
             (const void *)gates);
    refused_as(&p, text);
}
END_TEST

START_TEST(a_function_in_data_is_refused)
{
    char text[160];
    const void *data = gates;
    adp_policy p = sound;
    memcpy(&p.decide, &data, sizeof data);
    snprintf(text, sizeof text, "decide is at %p, where no code is mapped", data);
    refused_as(&p, text);
}
END_TEST

/* How many may be declared, and that a count needs its table, is for check.c to say: but
 * nothing is followed by such a count. */
START_TEST(a_count_that_cannot_be_is_left_to_the_check_of_tables)
{
    struct adp_error err = { 0 };
    adp_policy p = sound;
    p.n_signals = p.n_params = p.n_gates = UINT32_MAX;
    ck_assert_int_eq(check(&p, &err), 0);
    p.n_signals = p.n_params = p.n_gates = 1;
    p.signals = NULL;
    p.params = NULL;
    p.gates = NULL;
    p.decide = NULL;
    p.name = NULL;
    ck_assert_int_eq(check(&p, &err), 0);
}
END_TEST

START_TEST(an_entry_that_no_file_has_is_refused)
{
    char text[160];
    struct adp_error err = { 0 };
    adp_policy *heap = malloc(sizeof *heap);
    ck_assert_ptr_nonnull(heap);
    *heap = sound;
    snprintf(text, sizeof text, "the entry is at %p, in no file that is mapped",
             (void *)heap);
    ck_assert_int_eq(adp_image_check(heap, heap, "/x.so", &err), ADP_EABI);
    ck_assert_str_eq(err.text, text);
    free(heap);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("image");
    TCase *t = tcase_create("image");
    tcase_add_test(t, what_lies_in_the_file_passes);
    tcase_add_loop_test(t, a_pointer_that_leads_nowhere_is_refused_and_not_followed, 0,
                        N_WILD);
    tcase_add_test(t, memory_that_is_not_the_files_is_refused);
    tcase_add_test(t, a_table_that_ends_beyond_its_segment_is_refused);
    tcase_add_test(t, a_function_in_data_is_refused);
    tcase_add_test(t, a_count_that_cannot_be_is_left_to_the_check_of_tables);
    tcase_add_test(t, an_entry_that_no_file_has_is_refused);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
