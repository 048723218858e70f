/* SPDX-License-Identifier: MIT */
#include "core/sheet.h"

#include "core/lane.h"
#include "tests/core/failing.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3 };

static struct adp_sheet sheet;

static void setup(void)
{
    ck_assert_int_eq(adp_sheet_init(&sheet, 1), 0);
}

static void teardown(void)
{
    adp_sheet_finish(&sheet);
}

static bool is_text(struct adp_str s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

/* Series i is this metric, whose labels are sorted. */
static void holds(uint32_t i, const adp_metric *m)
{
    const struct adp_series *s = adp_metrics_at(sheet.metrics, i);
    ck_assert(is_text(s->name, m->name));
    ck_assert(s->value == m->value);
    uint32_t n = 0;
    for (const char *const *l = m->labels; l && l[0]; l += 2, n++) {
        ck_assert_uint_lt(n, s->n_labels);
        ck_assert(is_text(s->labels[n].name, l[0]));
        ck_assert(is_text(s->labels[n].value, l[1]));
    }
    ck_assert_uint_eq(s->n_labels, n);
}

/* --- by name --- */

static const char *const zero[] = { "engine", "0", NULL };
static const char *const one[] = { "engine", "1", NULL };
static const char *const two[] = { "engine", "0", "model", "m", NULL };
static const char *const longer[] = { "engine", "01", NULL };

static const adp_metric first[] = { { "kv", zero, 1 }, { "queue", NULL, 2 } };

/* What is given after `first`. */
static const struct {
    const char *what;
    uint32_t n;
    adp_metric given[MOST];
    bool same;
} rows[] = {
    { "the same with other values",
      2,
      { { "kv", zero, 3 }, { "queue", NULL, 4 } },
      true },
    { "another name", 2, { { "kv2", zero, 3 }, { "queue", NULL, 4 } }, false },
    { "the beginning of a name", 2, { { "k", zero, 3 }, { "queue", NULL, 4 } }, false },
    { "another value of a label", 2, { { "kv", one, 3 }, { "queue", NULL, 4 } }, false },
    { "a longer one", 2, { { "kv", longer, 3 }, { "queue", NULL, 4 } }, false },
    { "a label more", 2, { { "kv", two, 3 }, { "queue", NULL, 4 } }, false },
    { "a label less", 2, { { "kv", NULL, 3 }, { "queue", NULL, 4 } }, false },
    { "labels where there were none",
      2,
      { { "kv", zero, 3 }, { "queue", zero, 4 } },
      false },
    { "another order", 2, { { "queue", NULL, 4 }, { "kv", zero, 3 } }, false },
    { "one less", 1, { { "kv", zero, 3 } }, false },
    { "one more",
      3,
      { { "kv", zero, 3 }, { "queue", NULL, 4 }, { "x", NULL, 5 } },
      false },
    { "nothing", 0, { { NULL, NULL, 0 } }, false },
};

START_TEST(a_sheet_holds_what_was_given_last)
{
    adp_sheet_fill(&sheet, first, 2);
    uint32_t shape = sheet.shape;
    ck_assert_uint_ne(shape, 0);
    ck_assert(!sheet.again);
    adp_sheet_fill(&sheet, rows[_i].given, rows[_i].n);
    ck_assert_uint_eq(adp_metrics_count(sheet.metrics), rows[_i].n);
    for (uint32_t i = 0; i < rows[_i].n; i++)
        holds(i, &rows[_i].given[i]);
    ck_assert_msg((sheet.shape == shape) == rows[_i].same, "%s", rows[_i].what);
    ck_assert_int_eq(sheet.again, rows[_i].same);
    ck_assert_uint_eq(sheet.n, rows[_i].n);
}
END_TEST

START_TEST(the_same_again_is_not_built_again)
{
    char name[] = "kv"; /* a host's own string, in another place each time */
    adp_sheet_fill(&sheet, first, 2);
    const char *stored = adp_metrics_at(sheet.metrics, 0)->name.p;
    adp_metric again[] = { { name, zero, 7 }, { "queue", NULL, 8 } };
    fail_allocation(1);
    adp_sheet_fill(&sheet, again, 2);
    fail_allocation(0);
    ck_assert_ptr_eq(adp_metrics_at(sheet.metrics, 0)->name.p, stored);
    holds(0, &again[0]);
}
END_TEST

START_TEST(what_is_no_series_of_its_own_is_not_remembered)
{
    static const char *const nameless[] = { "", "1", NULL };
    static const char *const valueless[] = { "engine", NULL };
    static const adp_metric bad[][2] = {
        { { "kv", zero, 1 }, { "kv", zero, 2 } }, /* one series, given twice */
        { { "kv", zero, 2 }, { "", NULL, 2 } },   /* no name */
        { { NULL, NULL, 2 }, { "kv", zero, 2 } },
        { { "kv", nameless, 2 }, { "kv", zero, 2 } },
        { { "kv", zero, 2 }, { "kv", valueless, 2 } },
    };
    for (int i = 0; i < 5; i++)
        for (int times = 0; times < 2; times++) {
            adp_sheet_fill(&sheet, bad[i], 2);
            ck_assert_uint_eq(adp_metrics_count(sheet.metrics), 1);
            ck_assert(adp_metrics_at(sheet.metrics, 0)->value == 2);
            ck_assert_uint_eq(sheet.n, 0);
            ck_assert_uint_eq(sheet.shape, 0);
        }
}
END_TEST

START_TEST(a_name_that_no_record_can_tell_has_no_shape)
{
    static char name[UINT16_MAX + 2];
    memset(name, 'n', sizeof name - 1);
    for (int less = 0; less < 2; less++) {
        adp_metric m = { name + less, NULL, 1 };
        adp_sheet_fill(&sheet, &m, 1);
        ck_assert_uint_eq(sheet.n, 1);
        ck_assert_int_eq(sheet.shape != 0, less); /* 65,536 bytes, then 65,535 */
    }
}
END_TEST

/* --- by number --- */

static struct adp_metrics *interned(void)
{
    struct adp_metrics *all;
    ck_assert_int_eq(adp_metrics_create(&all), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(adp_sheet_add(all, &first[i], NULL), 0);
    return all;
}

START_TEST(ids_stand_for_what_was_interned)
{
    struct adp_metrics *all = interned();
    adp_sample samples[] = { { 2, 0, 5 }, { 1, 0, 6 } };
    adp_sheet_fill_ids(&sheet, all, 2, samples, 2);
    uint32_t shape = sheet.shape;
    ck_assert_uint_ne(shape, 0);
    holds(0, &(adp_metric) { "queue", NULL, 5 });
    holds(1, &(adp_metric) { "kv", zero, 6 });
    samples[1].value = 9;
    adp_sheet_fill_ids(&sheet, all, 2, samples, 2);
    ck_assert_uint_eq(sheet.shape, shape);
    ck_assert(sheet.again);
    holds(1, &(adp_metric) { "kv", zero, 9 });
    samples[0].id = 1;
    samples[1].id = 2;
    adp_sheet_fill_ids(&sheet, all, 2, samples, 2);
    ck_assert_uint_ne(sheet.shape, shape);
    holds(0, &(adp_metric) { "kv", zero, 5 });
    adp_metrics_destroy(all);
}
END_TEST

START_TEST(ids_that_were_not_given_out_are_left_out_each_time)
{
    struct adp_metrics *all = interned();
    const adp_sample samples[] = { { 0, 0, 5 }, { 1, 0, 6 }, { 3, 0, 7 } };
    for (int times = 0; times < 2; times++) {
        adp_sheet_fill_ids(&sheet, all, 2, samples, 3);
        ck_assert_uint_eq(adp_metrics_count(sheet.metrics), 1);
        holds(0, &(adp_metric) { "kv", zero, 6 });
        ck_assert_uint_eq(sheet.shape, 0);
    }
    adp_sheet_fill_ids(&sheet, NULL, 0, samples, 3); /* nothing interned yet */
    ck_assert_uint_eq(adp_metrics_count(sheet.metrics), 0);
    adp_metrics_destroy(all);
}
END_TEST

START_TEST(names_and_ids_in_turn_are_not_taken_for_each_other)
{
    struct adp_metrics *all = interned();
    const adp_sample samples[] = { { 2, 0, 5 }, { 1, 0, 6 } };
    for (int i = 0; i < 2; i++) {
        adp_sheet_fill(&sheet, first, 2);
        holds(0, &first[0]);
        adp_sheet_fill_ids(&sheet, all, 2, samples, 2);
        holds(0, &(adp_metric) { "queue", NULL, 5 });
    }
    adp_metrics_destroy(all);
}
END_TEST

/* --- memory --- */

START_TEST(without_memory_to_remember_it_is_filled_all_the_same)
{
    enum { MANY = 600 }; /* more than there is room for to begin with */
    static adp_sample samples[MANY];
    static char name[MANY][16];
    struct adp_metrics *all;
    ck_assert_int_eq(adp_metrics_create(&all), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "m%u", i);
        adp_metric m = { name[i], NULL, 0 };
        ck_assert_int_eq(adp_sheet_add(all, &m, NULL), 0);
        ck_assert_int_eq(adp_sheet_add(sheet.metrics, &m, NULL), 0); /* it has the room */
        samples[i] = (adp_sample) { i + 1, 0, i };
    }
    fail_allocation(1);
    adp_sheet_fill_ids(&sheet, all, MANY, samples, MANY);
    fail_allocation(0);
    ck_assert_uint_eq(adp_metrics_count(sheet.metrics), MANY);
    ck_assert_uint_eq(sheet.n, 0);
    adp_sheet_fill_ids(&sheet, all, MANY, samples, MANY);
    ck_assert_uint_eq(sheet.n, MANY);
    holds(MANY - 1, &(adp_metric) { name[MANY - 1], NULL, MANY - 1 });
    adp_metrics_destroy(all);
}
END_TEST

/* 64 labels and one that is called `last`. */
static adp_metric crowded(const char *last)
{
    static char names[ADP_METRICS_MAX_LABELS][8];
    static const char *labels[2 * ADP_METRICS_MOST_LABELS + 1];
    uint32_t n = 0;
    for (uint32_t i = 0; i < ADP_METRICS_MAX_LABELS; i++) {
        snprintf(names[i], sizeof names[i], "l%u", i);
        labels[n++] = names[i];
        labels[n++] = "v";
    }
    labels[n++] = last;
    labels[n++] = "v";
    labels[n] = NULL;
    return (adp_metric) { "kv", labels, 1 };
}

START_TEST(a_target_is_no_label_too_many)
{
    struct adp_metrics *all = sheet.metrics;
    struct adp_error err;
    adp_metric m = crowded("other");
    ck_assert_int_eq(adp_sheet_add(all, &m, &err), ADP_EFULL);
    ck_assert_uint_eq(adp_metrics_count(all), 0);
    m = crowded("target");
    ck_assert_int_eq(adp_sheet_add(all, &m, NULL), 0);
    ck_assert_uint_eq(adp_metrics_at(all, 0)->n_labels, ADP_METRICS_MAX_LABELS + 1);

    static _Alignas(8) uint8_t record[4096];
    size_t len = adp_lane_encode(all, record, sizeof record);
    ck_assert_uint_gt(len, 0);
    adp_metrics_clear(all);
    ck_assert_int_eq(adp_lane_decode(record, len, all), 0);
    ck_assert_uint_eq(adp_metrics_count(all), 1);
    ck_assert_uint_eq(adp_metrics_at(all, 0)->n_labels, ADP_METRICS_MAX_LABELS + 1);
}
END_TEST

START_TEST(no_memory_leaves_nothing_behind)
{
    for (uint64_t nth = 1;; nth++) {
        struct adp_sheet other;
        fail_allocation(nth);
        int code = adp_sheet_init(&other, 0);
        bool failed = allocations >= nth;
        fail_allocation(0);
        if (code == 0)
            adp_sheet_finish(&other);
        ck_assert_int_eq(code, failed ? ADP_ENOMEM : 0);
        if (!failed)
            break;
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sheet");
    TCase *t = tcase_create("sheet");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_sheet_holds_what_was_given_last, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_test(t, the_same_again_is_not_built_again);
    tcase_add_test(t, what_is_no_series_of_its_own_is_not_remembered);
    tcase_add_test(t, a_name_that_no_record_can_tell_has_no_shape);
    tcase_add_test(t, ids_stand_for_what_was_interned);
    tcase_add_test(t, ids_that_were_not_given_out_are_left_out_each_time);
    tcase_add_test(t, names_and_ids_in_turn_are_not_taken_for_each_other);
    tcase_add_test(t, without_memory_to_remember_it_is_filled_all_the_same);
    tcase_add_test(t, a_target_is_no_label_too_many);
    tcase_add_test(t, no_memory_leaves_nothing_behind);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
