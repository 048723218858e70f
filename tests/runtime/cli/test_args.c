/* SPDX-License-Identifier: MIT */
/* What each form of a command line is read as. The words that go to stderr are claims of
 * the scripts beside this file. */
#include "runtime/cli/args.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_DEPTH = 256, MOST_WORDS = 8 };

static const struct adp_option options[] = {
    { 'o', "output", "DIR", "folder" },
    { 'j', "json", NULL, "as JSON" },
    { OPT_DEPTH, "depth", "N", "a number" },
    { 0 },
};

static const struct adp_command command = {
    .name = "test",
    .does = "d",
    .synopsis = "s",
    .about = "a",
    .options = options,
    .example = "e",
    .exits = "x",
};

/* What is read, written as "o=DIR j depth=N +operand"; "!n": stopped with exit code n. */
static const struct {
    const char *words[MOST_WORDS];
    const char *read;
} lines[] = {
    { { NULL }, "" },
    { { "-o", "d", NULL }, "o=d " },
    { { "-od", NULL }, "o=d " },
    { { "--output", "d", NULL }, "o=d " },
    { { "--output=d", NULL }, "o=d " },
    { { "--output=", NULL }, "o= " },
    { { "--output=a=b", NULL }, "o=a=b " },
    { { "-o", "--json", NULL }, "o=--json " },
    { { "-o", "-", NULL }, "o=- " },
    { { "--json", "-j", NULL }, "j j " },
    { { "a", "--json", "b", NULL }, "+a j +b " },
    { { "-", NULL }, "+- " },
    { { "", NULL }, "+ " },
    { { "--", "--json", "--", NULL }, "+--json +-- " },
    { { "--depth", "-3", NULL }, "256=-3 " },
    { { "--outpu", "d", NULL }, "!2" },
    { { "--", NULL }, "" },
    { { "-o", NULL }, "!2" },
    { { "--json=1", NULL }, "!2" },
    { { "-jo", NULL }, "!2" },
    { { "-x", NULL }, "!2" },
    { { "a", "--nothing-like-it", NULL }, "+a !2" },
    { { "--help=no", NULL }, "!2" },
    { { "--json", "--help", "--nothing", NULL }, "j !0" },
    { { "-h", NULL }, "!0" },
    { { "--", "-h", NULL }, "+-h " },
};

START_TEST(each_form_is_read_as_written)
{
    char read[256] = "";
    char operands[256] = "", *words[MOST_WORDS];
    memcpy(words, lines[_i].words, sizeof words);
    int n_words = 0;
    while (words[n_words])
        n_words++;
    struct adp_args args = adp_args_of(&command, n_words, words, 0);
    for (int o; (o = adp_args_next(&args)) != ADP_ARGS_END;) {
        size_t n = strlen(read);
        if (o == ADP_ARGS_STOP) {
            snprintf(read + n, sizeof read - n, "!%d", args.exit);
            break;
        }
        if (o == ADP_ARGS_OPERAND)
            snprintf(read + n, sizeof read - n, "+%s ", args.value);
        else if (o == 'j')
            snprintf(read + n, sizeof read - n, "j ");
        else if (o == 'o')
            snprintf(read + n, sizeof read - n, "o=%s ", args.value);
        else
            snprintf(read + n, sizeof read - n, "%d=%s ", o, args.value);
    }
    ck_assert_str_eq(read, lines[_i].read);
    for (size_t i = 0; i < args.n_operands; i++) {
        size_t n = strlen(operands);
        snprintf(operands + n, sizeof operands - n, "+%s ", adp_args_operands(&args)[i]);
        ck_assert_ptr_nonnull(strstr(read, operands + n));
    }
}
END_TEST

static const struct {
    const char *text;
    uint64_t lo, hi;
    bool fits;
    uint64_t value;
} counts[] = {
    { "1", 1, 1000, true, 1 },
    { "1000", 1, 1000, true, 1000 },
    { "0007", 1, 1000, true, 7 },
    { "0", 0, 0, true, 0 },
    { "18446744073709551615", 0, UINT64_MAX, true, UINT64_MAX },
    { "18446744073709551616", 0, UINT64_MAX, false, 0 },
    { "99999999999999999999999", 0, UINT64_MAX, false, 0 },
    { "0", 1, 1000, false, 0 },
    { "1001", 1, 1000, false, 0 },
    { "6", 0, 5, false, 0 },
    { "10", 0, 5, false, 0 },
    { "", 0, 5, false, 0 },
    { "-1", 0, 5, false, 0 },
    { "+1", 0, 5, false, 0 },
    { " 1", 0, 5, false, 0 },
    { "1x", 0, 5, false, 0 },
    { "1.0", 0, 5, false, 0 },
    { "0x1", 0, 5, false, 0 },
    { "\xff", 0, 5, false, 0 },
};

START_TEST(a_count_is_plain_digits_within_its_bounds)
{
    uint64_t value = 42;
    struct adp_args args = { .command = &command,
                             .option = &options[2],
                             .value = counts[_i].text };
    bool fits = adp_args_count(&args, counts[_i].lo, counts[_i].hi, &value);
    ck_assert_int_eq(fits, counts[_i].fits);
    ck_assert_uint_eq(value, fits ? counts[_i].value : 42);
    ck_assert_int_eq(args.exit, fits ? 0 : 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("args");
    TCase *t = tcase_create("args");
    tcase_add_loop_test(t, each_form_is_read_as_written, 0,
                        sizeof lines / sizeof lines[0]);
    tcase_add_loop_test(t, a_count_is_plain_digits_within_its_bounds, 0,
                        sizeof counts / sizeof counts[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
