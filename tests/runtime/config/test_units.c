/* SPDX-License-Identifier: MIT */
#include "runtime/config/config.h"

#include <check.h>
#include <stdlib.h>

static const struct {
    const char *text;
    bool good;
    uint64_t ns;
} durations[] = {
    { "0s", true, 0 },
    { "1ns", true, 1 },
    { "1us", true, 1000 },
    { "500ms", true, 500000000 },
    { "1.5s", true, 1500000000 },
    { ".5s", true, 500000000 },
    { "0.1ms", true, 100000 },
    { "2m", true, 120000000000 },
    { "1h", true, 3600000000000 },
    { "1d", true, 86400000000000 },
    { "0.4ns", true, 0 }, /* the nearest whole number of ns */
    { "0.6ns", true, 1 },
    { "100000d", true, 8640000000000000000 },
    { "200000d", false, 0 }, /* 2^63 ns is 106751.99 days */
    { "1e400s", false, 0 },
    { "", false, 0 },
    { "5", false, 0 },
    { "s", false, 0 },
    { "-1s", false, 0 },
    { "+1s", false, 0 },
    { "5 s", false, 0 },
    { " 5s", false, 0 },
    { "5s ", false, 0 },
    { "5S", false, 0 },
    { "5sec", false, 0 },
    { "1m30s", false, 0 },
    { "1,5s", false, 0 },
    { "1.2.3s", false, 0 },
    { ".s", false, 0 },
    { "1e3s", false, 0 },
    { "0x1s", false, 0 },
    { "nans", false, 0 },
    { "infs", false, 0 },
};

START_TEST(durations_are_a_number_and_a_unit)
{
    uint64_t ns = 77;
    ck_assert_int_eq(adp_config_duration(durations[_i].text, &ns), durations[_i].good);
    ck_assert_uint_eq(ns, durations[_i].good ? durations[_i].ns : 77);
}
END_TEST

static const struct {
    const char *text;
    bool good;
    uint64_t bytes;
} sizes[] = {
    { "0", true, 0 },
    { "1048576", true, 1048576 },
    { "7B", true, 7 },
    { "1KiB", true, 1024 },
    { "1MiB", true, 1048576 },
    { "1GiB", true, 1073741824 },
    { "1kB", true, 1000 },
    { "1MB", true, 1000000 },
    { "1GB", true, 1000000000 },
    { "1.5KiB", true, 1536 },
    { "8589934591GiB", true, 9223372035781033984 }, /* 2^63 - 2^30 */
    { "8589934592GiB", false, 0 },                  /* 2^63 */
    { "", false, 0 },
    { "1KB", false, 0 }, /* neither 1000 nor 1024 for certain */
    { "1K", false, 0 },
    { "1M", false, 0 },
    { "1gib", false, 0 },
    { "1 GiB", false, 0 },
    { "-1", false, 0 },
    { "1GiBs", false, 0 },
};

START_TEST(sizes_are_a_number_and_perhaps_a_unit)
{
    uint64_t bytes = 77;
    ck_assert_int_eq(adp_config_size(sizes[_i].text, &bytes), sizes[_i].good);
    ck_assert_uint_eq(bytes, sizes[_i].good ? sizes[_i].bytes : 77);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("units");
    TCase *t = tcase_create("units");
    tcase_add_loop_test(t, durations_are_a_number_and_a_unit, 0,
                        sizeof durations / sizeof durations[0]);
    tcase_add_loop_test(t, sizes_are_a_number_and_perhaps_a_unit, 0,
                        sizeof sizes / sizeof sizes[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
