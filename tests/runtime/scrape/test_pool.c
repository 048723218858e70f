/* SPDX-License-Identifier: MIT */
#include "core/promtext.h"
#include "runtime/scrape/pool.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *page;
    double measured_s;
    const char *pooled;
} pages[] = {
    { "a 1\n", 1, "a{target=\"x\\\"y\"} 1 1000\n" },
    { "a{b=\"c\"} 0.25\n", 1, "a{b=\"c\",target=\"x\\\"y\"} 0.25 1000\n" },
    /* a target of its own, under the first name that is free: Prometheus'
     * resolveConflictingExposedLabels (scrape/scrape.go); what is empty is none */
    { "a{target=\"t\"} 1\n", 1, "a{exported_target=\"t\",target=\"x\\\"y\"} 1 1000\n" },
    { "a{exported_target=\"e\"} 1\n", 1,
      "a{exported_target=\"e\",target=\"x\\\"y\"} 1 1000\n" },
    { "a{exported_target=\"e\",target=\"t\"} 1\n", 1,
      "a{exported_target=\"e\",exported_exported_target=\"t\",target=\"x\\\"y\"} 1 "
      "1000\n" },
    { "a{exported_exported_target=\"f\",target=\"t\"} 1\n", 1,
      "a{exported_exported_target=\"f\",exported_target=\"t\",target=\"x\\\"y\"} 1 "
      "1000\n" },
    { "a{exported_exported_target=\"f\",exported_target=\"e\",target=\"t\"} 1\n", 1,
      "a{exported_exported_target=\"f\",exported_target=\"e\","
      "exported_exported_exported_target=\"t\",target=\"x\\\"y\"} 1 1000\n" },
    { "a{exported_target=\"\",target=\"t\"} 1\n", 1,
      "a{exported_target=\"t\",target=\"x\\\"y\"} 1 1000\n" },
    { "a{target=\"\"} 1\n", 1, "a{target=\"x\\\"y\"} 1 1000\n" },
    { "{\"my.name\",\"l.m\"=\"v\"} 1\n", 1,
      "{\"my.name\",\"l.m\"=\"v\",target=\"x\\\"y\"} 1 1000\n" },
    { "a NaN\n", 1, "a{target=\"x\\\"y\"} NaN 1000\n" },
    { "a +Inf\n", 1, "a{target=\"x\\\"y\"} +Inf 1000\n" },
    { "a -Inf\n", 1, "a{target=\"x\\\"y\"} -Inf 1000\n" },
    { "a{b=\"\\\\ \\\" \\n\"} 1\n", 1,
      "a{b=\"\\\\ \\\" \\n\",target=\"x\\\"y\"} 1 1000\n" },
    { "a 1\n", 1700000000.25, "a{target=\"x\\\"y\"} 1 1700000000250\n" },
    { "a 1 1600000000000\n", 1700000000, "a{target=\"x\\\"y\"} 1 1600000000000\n" },
    /* no time of its own is none */
    { "a 1 0\n", 1700000000, "a{target=\"x\\\"y\"} 1 0\n" },
    { "a 1 -0\n", 1700000000, "a{target=\"x\\\"y\"} 1 0\n" },
    { "a 1 0.0\n# EOF\n", 1700000000, "a{target=\"x\\\"y\"} 1 0\n" },
    { "a 1 -1.5\n# EOF\n", 1700000000, "a{target=\"x\\\"y\"} 1 -1500\n" },
    { "a 1 1e300\n# EOF\n", 1700000000, "a{target=\"x\\\"y\"} 1 9000000000000000000\n" },
    { "a 1 9223372036854775807\n", 1700000000,
      "a{target=\"x\\\"y\"} 1 9000000000000000000\n" },
};

START_TEST(each_series_says_whose_it_is_and_when_it_was_measured)
{
    struct adp_metrics *metrics;
    struct adp_line page;
    adp_line_init(&page);
    ck_assert_int_eq(adp_metrics_create(&metrics), 0);
    ck_assert_int_eq(
        adp_promtext_read(metrics, pages[_i].page, strlen(pages[_i].page), NULL, NULL),
        0);
    adp_pool_write(&page, metrics, "x\"y", pages[_i].measured_s);
    ck_assert_uint_eq(page.len, strlen(pages[_i].pooled));
    ck_assert_msg(memcmp(page.text, pages[_i].pooled, page.len) == 0, "%.*s",
                  (int)page.len, page.text);
    /* And it can be read. */
    ck_assert_int_eq(adp_promtext_read(metrics, page.text, page.len, NULL, NULL), 0);
    ck_assert_uint_eq(adp_metrics_count(metrics), 1);
    adp_metrics_destroy(metrics);
    adp_line_finish(&page);
}
END_TEST

/* Prometheus, which looks at each series alone, would make the first two one. */
START_TEST(series_that_are_two_stay_two)
{
    static const char text[] = "a{target=\"x\"} 5\na{exported_target=\"x\"} 3\na 1\n";
    static const char pooled[] = "a{exported_exported_target=\"x\",target=\"t\"} 5 1000\n"
                                 "a{exported_target=\"x\",target=\"t\"} 3 1000\n"
                                 "a{target=\"t\"} 1 1000\n";
    struct adp_metrics *metrics;
    struct adp_line page;
    adp_line_init(&page);
    ck_assert_int_eq(adp_metrics_create(&metrics), 0);
    ck_assert_int_eq(adp_promtext_read(metrics, text, strlen(text), NULL, NULL), 0);
    adp_pool_write(&page, metrics, "t", 1);
    ck_assert_uint_eq(page.len, strlen(pooled));
    ck_assert_mem_eq(page.text, pooled, page.len);
    adp_metrics_destroy(metrics);
    adp_line_finish(&page);
}
END_TEST

/* 64 labels are room enough; 64 and a `target` of its own are not. */
START_TEST(a_series_without_room_for_the_label_is_left_out_and_counted)
{
    char text[ADP_METRICS_MAX_LABELS * 16 + 64] = "a{", *p = text + 2;
    struct adp_metrics *metrics;
    struct adp_line page;
    for (unsigned i = 0; i < ADP_METRICS_MAX_LABELS; i++)
        p += snprintf(p, 16, "l%u=\"v\",", i);
    snprintf(p, 32, "%s} 1\nb 2\n", _i ? "target=\"own\"" : "");
    adp_line_init(&page);
    ck_assert_int_eq(adp_metrics_create(&metrics), 0);
    ck_assert_int_eq(adp_promtext_read(metrics, text, strlen(text), NULL, NULL), 0);
    ck_assert_uint_eq(adp_pool_write(&page, metrics, "x", 2.5), (unsigned)_i);
    ck_assert_int_eq(adp_promtext_read(metrics, page.text, page.len, NULL, NULL), 0);
    ck_assert_uint_eq(adp_metrics_count(metrics), _i ? 1 : 2);
    ck_assert_uint_eq(adp_metrics_at(metrics, 0)->n_labels,
                      _i ? 1 : ADP_METRICS_MAX_LABELS + 1);
    adp_metrics_destroy(metrics);
    adp_line_finish(&page);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    TCase *tc = tcase_create("pool");
    tcase_add_loop_test(tc, each_series_says_whose_it_is_and_when_it_was_measured, 0,
                        sizeof pages / sizeof pages[0]);
    tcase_add_test(tc, series_that_are_two_stay_two);
    tcase_add_loop_test(tc, a_series_without_room_for_the_label_is_left_out_and_counted,
                        0, 2);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
