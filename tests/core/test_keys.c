/* SPDX-License-Identifier: MIT */
#include "core/keys.h"

#include "core/lane.h"
#include "tests/core/failing.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Series as a host gives them: name, then label pairs. */
struct given {
    const char *name;
    const char *label[2], *value[2];
    double number;
};

static struct adp_str str(const char *text)
{
    return (struct adp_str) { text, strlen(text) };
}

static struct adp_metrics *metrics_of(const struct given *given, size_t n)
{
    struct adp_metrics *metrics;
    ck_assert_int_eq(adp_metrics_create(&metrics), 0);
    for (size_t i = 0; i < n; i++) {
        struct adp_label labels[2];
        uint32_t n_labels = 0;
        for (; n_labels < 2 && given[i].label[n_labels]; n_labels++)
            labels[n_labels] = (struct adp_label) { str(given[i].label[n_labels]),
                                                    str(given[i].value[n_labels]) };
        ck_assert_int_eq(adp_metrics_add(metrics, str(given[i].name), labels, n_labels,
                                         given[i].number, false, 0, NULL),
                         0);
    }
    return metrics;
}

/* Packs the series, has them written, and says whether that is what adp_metrics_write
 * writes of them. */
static void writes_as_metrics_do(struct adp_keys *keys, const struct given *given,
                                 size_t n)
{
    struct adp_metrics *metrics = metrics_of(given, n);
    size_t len = adp_lane_encode(metrics, NULL, 0);
    uint8_t *packed = malloc(len ? len : 1);
    struct adp_line want, got;
    ck_assert_ptr_nonnull(packed);
    adp_lane_encode(metrics, packed, len);
    adp_line_init(&want);
    adp_line_init(&got);
    adp_metrics_write(metrics, &want);
    adp_keys_write(keys, packed, len, &got);
    ck_assert_uint_eq(got.len, want.len);
    ck_assert_mem_eq(got.text, want.text, want.len);
    adp_line_finish(&want);
    adp_line_finish(&got);
    adp_metrics_destroy(metrics);
    free(packed);
}

static struct given page[] = {
    { "vllm:waiting", { "engine", "model" }, { "0", "a \"b\"\n" }, 3 },
    { "vllm:waiting", { "engine", "model" }, { "1", "a \"b\"\n" }, 0.5 },
    { "vllm:kv", { "engine" }, { "0" }, 0.8734 },
    { "no_number", { NULL }, { NULL }, NAN },
    { "\xe6\xa8\xa1", { NULL }, { NULL }, 1e300 },
};
enum { PAGE = sizeof page / sizeof page[0] };

START_TEST(the_first_record_and_those_after_it_are_written_alike)
{
    struct adp_keys *keys;
    ck_assert_int_eq(adp_keys_create(&keys), 0);
    for (int i = 0; i < 3; i++) {
        struct given now[PAGE];
        memcpy(now, page, sizeof page);
        now[2].number += i;
        now[4].number = i ? -1.5 * i : INFINITY;
        writes_as_metrics_do(keys, now, PAGE);
    }
    adp_keys_destroy(keys);
}
END_TEST

/* Records of one length, so that they meet in one place, and differ in one byte. */
static const struct given alike[][2] = {
    { { "one", { "engine" }, { "0" }, 1 }, { "two", { "engine" }, { "0" }, 2 } },
    { { "one", { "engine" }, { "0" }, 1 }, { "one", { "engine" }, { "1" }, 2 } },
    { { "one", { "engine" }, { "2" }, 1 }, { "one", { "engine" }, { "1" }, 2 } },
    { { "one", { "engime" }, { "0" }, 1 }, { "two", { "engine" }, { "0" }, 2 } },
    { { "onf", { "engine" }, { "0" }, 1 }, { "two", { "engine" }, { "0" }, 2 } },
};

START_TEST(a_byte_that_differs_makes_other_keys)
{
    struct adp_keys *keys;
    ck_assert_int_eq(adp_keys_create(&keys), 0);
    for (size_t i = 0; i < sizeof alike / sizeof alike[0]; i++)
        for (size_t k = 0; k < sizeof alike / sizeof alike[0]; k++) {
            writes_as_metrics_do(keys, alike[i], 2);
            writes_as_metrics_do(keys, alike[k], 2);
        }
    adp_keys_destroy(keys);
}
END_TEST

START_TEST(no_series_at_all_are_an_empty_object)
{
    struct adp_keys *keys;
    struct adp_line line;
    ck_assert_int_eq(adp_keys_create(&keys), 0);
    adp_line_init(&line);
    adp_keys_write(keys, (const uint8_t *)"", 0, &line);
    adp_keys_write(keys, (const uint8_t *)"", 0, &line);
    ck_assert_uint_eq(line.len, 4);
    ck_assert_mem_eq(line.text, "{}{}", 4);
    adp_line_finish(&line);
    adp_keys_destroy(keys);
}
END_TEST

/* A record that lies about its sizes, before and after an honest one of its length. */
START_TEST(bytes_that_are_not_whole_are_an_empty_object)
{
    struct adp_keys *keys;
    struct adp_line line;
    struct adp_metrics *metrics = metrics_of(page, PAGE);
    size_t len = adp_lane_encode(metrics, NULL, 0);
    uint8_t *packed = malloc(len), *lie = malloc(len);
    ck_assert_ptr_nonnull(packed);
    ck_assert_ptr_nonnull(lie);
    adp_lane_encode(metrics, packed, len);
    memcpy(lie, packed, len);
    memset(lie + 8, 0xff, 4); /* the first one's bytes */
    ck_assert_int_eq(adp_keys_create(&keys), 0);
    adp_line_init(&line);
    for (int i = 0; i < 3; i++) {
        size_t before = line.len;
        adp_keys_write(keys, lie, len, &line);
        ck_assert_uint_eq(line.len, before + 2);
        adp_keys_write(keys, packed, len, &line);
        ck_assert_uint_gt(line.len, before + 4);
    }
    adp_line_finish(&line);
    adp_keys_destroy(keys);
    adp_metrics_destroy(metrics);
    free(packed);
    free(lie);
}
END_TEST

START_TEST(without_memory_the_line_is_broken_or_whole)
{
    struct adp_metrics *metrics = metrics_of(page, PAGE);
    size_t len = adp_lane_encode(metrics, NULL, 0);
    uint8_t *packed = malloc(len);
    struct adp_line want;
    ck_assert_ptr_nonnull(packed);
    adp_lane_encode(metrics, packed, len);
    adp_line_init(&want);
    adp_metrics_write(metrics, &want);
    for (uint64_t nth = 1; nth < 12; nth++) {
        struct adp_keys *keys;
        struct adp_line line;
        ck_assert_int_eq(adp_keys_create(&keys), 0);
        adp_line_init(&line);
        fail_allocation(nth);
        adp_keys_write(keys, packed, len, &line);
        fail_allocation(0);
        if (!line.broken) {
            ck_assert_uint_eq(line.len, want.len);
            ck_assert_mem_eq(line.text, want.text, want.len);
        }
        adp_line_clear(&line);
        adp_keys_write(keys, packed, len, &line);
        ck_assert(!line.broken);
        ck_assert_mem_eq(line.text, want.text, want.len);
        adp_line_finish(&line);
        adp_keys_destroy(keys);
    }
    adp_line_finish(&want);
    adp_metrics_destroy(metrics);
    free(packed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keys");
    TCase *tcase = tcase_create("keys");
    tcase_add_test(tcase, the_first_record_and_those_after_it_are_written_alike);
    tcase_add_test(tcase, a_byte_that_differs_makes_other_keys);
    tcase_add_test(tcase, no_series_at_all_are_an_empty_object);
    tcase_add_test(tcase, bytes_that_are_not_whole_are_an_empty_object);
    tcase_add_test(tcase, without_memory_the_line_is_broken_or_whole);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
