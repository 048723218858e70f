/* SPDX-License-Identifier: MIT */
/* Every allocation of ours fails once, in turn (linked with --wrap). libyaml's own are
 * not reached by this. */
#include "runtime/config/config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

/* Allocations that still succeed before the one that fails; negative: none fails. */
static long left = -1;

static bool fails(void)
{
    return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

static const char good[] =
    "version: 1\n"
    "disclosure: { model: m, slo: { ttft_ms: 1500 } }\n"
    "signals:\n"
    "  gpu_temp: { unit: celsius, range: [0, 120], sources: [{ expr: max(a) / b }] }\n"
    "aliases: { signals: { t: gpu_temp }, metrics: { a: b } }\n"
    "scrape: [{ name: a, url: \"http://a/\" }]\n"
    "policy: { use: ./a.so, params: { x: 1 }, provenance: { x: fitted }, config: { y: 1 "
    "} }\n"
    "shadow: [{ use: b }]\n";

/* Fails the n-th allocation for n = 0, 1, … until nothing is left to fail. Returns how
 * many did. */
static long fail_in_turn(const char *text, int when_whole)
{
    for (long n = 0;; n++) {
        struct adp_errors errors = { 0 };
        struct adp_config *config = NULL;
        left = n;
        int code =
            adp_config_read_text(&config, text, strlen(text), "t.yaml", "/", &errors);
        bool failed = left < 0;
        left = -1;
        ck_assert_int_eq(config != NULL, code == 0);
        /* A list of errors that could not grow loses errors, never that there were. */
        if (failed && when_whole == 0)
            ck_assert_int_eq(code, ADP_ENOMEM);
        else if (failed)
            ck_assert_int_lt(code, 0);
        else
            ck_assert_int_eq(code, when_whole);
        adp_config_destroy(config);
        adp_errors_free(&errors);
        if (!failed)
            return n;
    }
}

START_TEST(a_good_file_is_whole_or_refused)
{
    ck_assert_int_gt(fail_in_turn(good, 0), 20);
}
END_TEST

START_TEST(a_bad_file_is_never_taken)
{
    ck_assert_int_gt(fail_in_turn("version: 1\n"
                                  "policy: { use: a, enforce: 2 }\n",
                                  ADP_EINVAL),
                     10);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memory");
    TCase *t = tcase_create("memory");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_good_file_is_whole_or_refused);
    tcase_add_test(t, a_bad_file_is_never_taken);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
