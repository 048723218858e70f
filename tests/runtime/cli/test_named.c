/* SPDX-License-Identifier: MIT */
#include "runtime/cli/named.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct adp_named named;
static struct adp_error err;

static void forget(void)
{
    memset(&named, 0, sizeof named);
    memset(&err, 0, sizeof err);
}

static const struct {
    const char *text, *use;
    uint32_t n;
    struct {
        const char *name, *written;
        enum adp_param_type type;
        double value;
        bool integral;
    } param[3];
} good[] = {
    { "no_admission", "no_admission", 0, { { 0 } } },
    { "kv_threshold:threshold=0.9",
      "kv_threshold",
      1,
      { { "threshold", "\"0.9\"", ADP_PARAM_NUMBER, 0.9, false } } },
    { "a:b=-3,c=true,d=false",
      "a",
      3,
      { { "b", "\"-3\"", ADP_PARAM_NUMBER, -3, true },
        { "c", "\"true\"", ADP_PARAM_BOOL, 1, false },
        { "d", "\"false\"", ADP_PARAM_BOOL, 0, false } } },
    { "a:b=1e3,c=0x10,d=inf",
      "a",
      3,
      { { "b", "\"1e3\"", ADP_PARAM_NUMBER, 1000, false },
        { "c", "\"0x10\"", ADP_PARAM_OTHER, 0, false },
        { "d", "\"inf\"", ADP_PARAM_OTHER, 0, false } } },
};

START_TEST(a_policy_and_its_parameters_are_read)
{
    ck_assert_msg(adp_named_read(&named, good[_i].text, 0, &err) == 0, "%s", err.text);
    ck_assert_str_eq(named.setting.use, good[_i].use);
    ck_assert_ptr_null(named.setting.path);
    ck_assert_uint_eq(named.setting.n_params, good[_i].n);
    for (uint32_t i = 0; i < good[_i].n; i++) {
        const struct adp_param_setting *p = &named.setting.params[i];
        ck_assert_str_eq(p->name, good[_i].param[i].name);
        ck_assert_str_eq(p->written, good[_i].param[i].written);
        ck_assert_int_eq(p->type, good[_i].param[i].type);
        ck_assert(p->type == ADP_PARAM_OTHER || p->value == good[_i].param[i].value);
        ck_assert_int_eq(p->integral, good[_i].param[i].integral);
    }
}
END_TEST

START_TEST(a_path_is_of_the_current_directory_and_may_hold_colons)
{
    char here[4096], path[8192];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_int_eq(adp_named_read(&named, "./a:b/mine.so:x=1", 0, &err), 0);
    snprintf(path, sizeof path, "%s/./a:b/mine.so", here);
    ck_assert_str_eq(named.setting.path, path);
    ck_assert_uint_eq(named.setting.n_params, 1);
    forget();
    ck_assert_int_eq(adp_named_read(&named, "/lib/mine.so", 0, &err), 0);
    ck_assert_str_eq(named.setting.path, "/lib/mine.so");
}
END_TEST

static const struct {
    const char *text, *says;
} bad[] = {
    { "", "no policy is named" },
    { ":threshold=1", "no policy is named" },
    { "mine.so", "expected ./mine.so" },
    { "a:", "not a parameter, found \"\"" },
    { "a:b", "not a parameter, found \"b\"" },
    { "a:b=", "not a parameter, found \"b=\"" },
    { "a:=1", "not a parameter, found \"=1\"" },
    { "a:b=1,", "not a parameter, found \"\"" },
    { "a:b,c=1", "not a parameter, found \"b\"" },
    { "a:b=1,b=2", "parameter b is given twice" },
};

START_TEST(what_cannot_be_read_is_told)
{
    ck_assert_int_eq(adp_named_read(&named, bad[_i].text, 0, &err), ADP_EINVAL);
    ck_assert_msg(strstr(err.text, bad[_i].says) != NULL, "%s", err.text);
}
END_TEST

START_TEST(lengths_and_counts_are_bounded)
{
    char text[ADP_NAMED_TEXT + 8] = "a:";
    size_t len = 2;
    for (unsigned i = 0; i < ADP_MAX_PARAMS; i++)
        len +=
            (size_t)snprintf(text + len, sizeof text - len, "%sp%u=1", i ? "," : "", i);
    ck_assert_int_eq(adp_named_read(&named, text, 0, &err), 0);
    ck_assert_uint_eq(named.setting.n_params, ADP_MAX_PARAMS);
    snprintf(text + len, sizeof text - len, ",q=1");
    ck_assert_int_eq(adp_named_read(&named, text, 0, NULL), ADP_EFULL);
    memset(text, 'a', sizeof text);
    text[ADP_NAMED_TEXT - 2] = '\0';
    ck_assert_int_eq(adp_named_read(&named, text, 0, NULL), 0);
    text[ADP_NAMED_TEXT - 2] = 'a';
    text[ADP_NAMED_TEXT - 1] = '\0';
    ck_assert_int_eq(adp_named_read(&named, text, 0, NULL), ADP_EINVAL);
    /* As short as parameters can be: what is written of them has room. */
    memset(text, '1', ADP_NAMED_TEXT - 2);
    memcpy(text, "a:b=", 4);
    text[ADP_NAMED_TEXT - 2] = '\0';
    ck_assert_int_eq(adp_named_read(&named, text, 0, NULL), 0);
    ck_assert_uint_eq(strlen(named.params[0].written), ADP_NAMED_TEXT - 2 - 4 + 2);
}
END_TEST

START_TEST(its_errors_name_the_option_and_those_of_a_file_stay)
{
    static const char *const texts[] = { "a:b=1", "c:d=2" };
    struct adp_errors errors = { 0 };
    ck_assert_int_eq(adp_named_read(&named, texts[1], 1, &err), 0);
    adp_errors_add(&errors, ADP_EINVAL, "c.yaml", named.params[0].value_place, "x");
    adp_errors_add(&errors, ADP_EINVAL, "c.yaml", (struct adp_place) { 7, 3 }, "y");
    adp_named_errors(&errors, texts, 2);
    ck_assert_str_eq(errors.list[0].file, "c.yaml");
    ck_assert_uint_eq(errors.list[0].line, 7);
    ck_assert_str_eq(errors.list[1].file, "--policy c:d=2");
    ck_assert_uint_eq(errors.list[1].line, 0);
    adp_errors_free(&errors);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("named");
    TCase *tc = tcase_create("named");
    tcase_add_checked_fixture(tc, forget, NULL);
    tcase_add_loop_test(tc, a_policy_and_its_parameters_are_read, 0,
                        sizeof good / sizeof good[0]);
    tcase_add_test(tc, a_path_is_of_the_current_directory_and_may_hold_colons);
    tcase_add_loop_test(tc, what_cannot_be_read_is_told, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(tc, lengths_and_counts_are_bounded);
    tcase_add_test(tc, its_errors_name_the_option_and_those_of_a_file_stay);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
