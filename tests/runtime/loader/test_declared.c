/* SPDX-License-Identifier: MIT */
#include "runtime/loader/declared.h"

#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void decide(void *self, const adp_view *view, adp_verdict *verdict)
{
    (void)self;
    (void)view;
    adp_admit(verdict);
}

static const adp_signal signals[] = { { .name = "kv_pressure", .unit = "ratio" } };
static const adp_param params[] = {
    { .name = "threshold", .unit = "ratio", .hi = 1.0, .dflt = 0.5, .kind = ADP_F64 },
    { .name = "strict", .unit = "", .doc = "", .hi = 1.0, .kind = ADP_BOOL },
};
static const adp_gate gates[] = { { .op = ADP_GE } };
static const adp_card card = { .setting = "online", .margin_unit = "ratio" };
static const adp_policy policy = { ADP_HEAD,         ADP_TABLES(signals, params, gates),
                                   .name = "sample", .doc = "a text",
                                   .card = &card,    .decide = decide };

static struct adp_declared *written(void)
{
    struct adp_declared *d = calloc(1, sizeof *d);
    ck_assert(d && adp_declared_write(d, &policy));
    return d;
}

/* Elsewhere: another address, and nothing of the first left. */
static struct adp_declared *carried(void)
{
    struct adp_declared *from = written(), *to = malloc(sizeof *to);
    ck_assert(to != NULL);
    memcpy(to, from, sizeof *to);
    memset(from, 0xff, sizeof *from);
    free(from);
    return to;
}

START_TEST(what_is_read_elsewhere_is_what_was_declared)
{
    struct adp_declared *d = carried();
    ck_assert_int_eq(adp_declared_read(d, "/p.so", NULL), 0);
    const struct adp_policy *p = &d->policy;
    ck_assert_str_eq(p->name, "sample");
    ck_assert_ptr_null(p->version);
    ck_assert_str_eq(p->doc, "a text");
    ck_assert_uint_eq(p->n_signals, 1);
    ck_assert_str_eq(p->signals[0].name, "kv_pressure");
    ck_assert_uint_eq(p->n_params, 2);
    ck_assert_double_eq(p->params[0].dflt, 0.5);
    ck_assert_ptr_null(p->params[0].doc);
    ck_assert_str_eq(p->params[1].unit, "");
    ck_assert_str_eq(p->params[1].doc, "");
    ck_assert_uint_eq(p->gates[0].op, ADP_GE);
    ck_assert_ptr_null(p->card->unit);
    ck_assert_str_eq(p->card->setting, "online");
    ck_assert_str_eq(p->card->margin_unit, "ratio");
    ck_assert(p->decide && p->decide != decide); /* not to be called here */
    ck_assert(!p->create && !p->save && !p->destroy && !p->outcome && !p->extension);
    free(d);
}
END_TEST

static void more_signals(struct adp_declared *d)
{
    d->policy.n_signals = ADP_MAX_SIGNALS + 1;
}

static void most_params(struct adp_declared *d)
{
    d->policy.n_params = UINT32_MAX;
}

static void a_strange_mark(struct adp_declared *d)
{
    d->texts[0] = 7;
}

static void no_end(struct adp_declared *d)
{
    memset(d->texts + 1, 'a', sizeof d->texts - 1);
}

static void ones(struct adp_declared *d)
{
    memset(d, 0xff, sizeof *d);
}

static void nothing(struct adp_declared *d)
{
    memset(d, 0, sizeof *d);
}

static void an_escape(struct adp_declared *d)
{
    d->texts[1] = 0x1b; /* the first of the name */
}

static void no_functions(struct adp_declared *d)
{
    d->policy.decide = NULL;
}

static void a_gate_of_no_signal(struct adp_declared *d)
{
    d->gates[0].signal = 1;
}

static const char changed[] = "changed what was found in it as it was loaded";
static const struct {
    void (*spoil)(struct adp_declared *d);
    const char *text;
} spoilt[] = {
    { more_signals, changed },
    { most_params, changed },
    { a_strange_mark, changed },
    { no_end, changed },
    { ones, changed },
    { nothing, changed },
    { an_escape, "the policy is named \"\x1b"
                 "ample\", expected [a-z][a-z0-9_]* of at most 63" },
    { no_functions, "has no decide" },
    { a_gate_of_no_signal, "gate 0: signal is slot 1 of 1 declared" },
};

START_TEST(a_record_that_another_wrote_into_is_refused)
{
    struct adp_declared *d = carried();
    struct adp_error err = { 0 };
    spoilt[_i].spoil(d);
    ck_assert_int_eq(adp_declared_read(d, "/p.so", &err), ADP_EABI);
    ck_assert_str_eq(err.file, "/p.so");
    ck_assert_str_eq(err.text, spoilt[_i].text);
    free(d);
}
END_TEST

/* All eight of them, and all but the lowest. */
START_TEST(a_byte_whose_bits_are_turned_over_breaks_no_bound)
{
    struct adp_declared *sound = written(), *d = malloc(sizeof *d);
    ck_assert(d != NULL);
    for (size_t at = 0; at < offsetof(struct adp_declared, texts) + 200; at++) {
        memcpy(d, sound, sizeof *d);
        ((unsigned char *)d)[at] ^= (unsigned char)_i;
        if (adp_declared_read(d, "/p.so", NULL) == 0)
            ck_assert_uint_le(strlen(d->policy.name), 63);
    }
    free(sound);
    free(d);
}
END_TEST

START_TEST(the_longest_that_can_be_declared_has_room)
{
    static char text[1024];
    static adp_signal most_signals[ADP_MAX_SIGNALS];
    static adp_param most[ADP_MAX_PARAMS];
    memset(text, 'a', sizeof text - 1);
    const adp_card full = { text, text, text, text, text, text, text, text, text, 0, 0 };
    for (size_t i = 0; i < ADP_MAX_SIGNALS; i++)
        most_signals[i].name = most_signals[i].unit = text;
    for (size_t i = 0; i < ADP_MAX_PARAMS; i++)
        most[i].name = most[i].unit = most[i].doc = text;
    const adp_policy fullest = { ADP_HEAD,        ADP_TABLES(most_signals, most, gates),
                                 .name = text,    .version = text,
                                 .doc = text,     .card = &full,
                                 .decide = decide };
    struct adp_declared *d = calloc(1, sizeof *d);
    ck_assert(d && adp_declared_write(d, &fullest));
    free(d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("declared");
    TCase *tcase = tcase_create("declared");
    tcase_add_test(tcase, what_is_read_elsewhere_is_what_was_declared);
    tcase_add_loop_test(tcase, a_record_that_another_wrote_into_is_refused, 0,
                        sizeof spoilt / sizeof *spoilt);
    tcase_add_loop_test(tcase, a_byte_whose_bits_are_turned_over_breaks_no_bound, 254,
                        256);
    tcase_add_test(tcase, the_longest_that_can_be_declared_has_room);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
