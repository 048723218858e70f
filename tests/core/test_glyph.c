/* SPDX-License-Identifier: MIT */
#include "core/glyph.h"

#include <check.h>
#include <stdlib.h>

static const struct {
    const char *text;
    uint32_t point;
    int n;
} texts[] = {
    { "A", 0x41, 1 },
    { "\x1b[31m", 0x1b, 1 },
    { "\xc2\x9b", 0x9b, 2 },
    { "\xe2\x80\xae", 0x202e, 3 },
    { "\xf0\x9f\x98\x80", 0x1f600, 4 },
    { "\x9b", 0x9b, 1 },       /* a C1 control of a one-byte terminal */
    { "\xe9t", 0xfffd, 1 },    /* Latin-1 */
    { "\xe2\x80", 0xfffd, 1 }, /* cut short by the end */
    { "\xff", 0xfffd, 1 },
    { "\xc0\x9b", 0x1b, 2 }, /* overlong: what a lax terminal makes of it */
    { "", 0, 1 },
};

START_TEST(a_character_is_read_with_its_length)
{
    int n = 0;
    ck_assert_uint_eq(adp_glyph_at(texts[_i].text, &n), texts[_i].point);
    ck_assert_int_eq(n, texts[_i].n);
}
END_TEST

/* First and last of each range, and their neighbours. */
static const struct {
    uint32_t point;
    bool steers, hidden;
} points[] = {
    { 0x00, true, true },      { 0x0a, true, true },      { 0x1b, true, true },
    { 0x1f, true, true },      { 0x20, false, false },    { 0x7e, false, false },
    { 0x7f, true, true },      { 0x80, true, true },      { 0x85, true, true },
    { 0x9b, true, true },      { 0x9f, true, true },      { 0xa0, false, false },
    { 0xad, false, true },     { 0xe9, false, false },    { 0x61b, false, false },
    { 0x61c, true, true },     { 0x61d, false, false },   { 0x200a, false, false },
    { 0x200b, false, true },   { 0x200d, false, true },   { 0x200e, true, true },
    { 0x200f, true, true },    { 0x2010, false, false },  { 0x2027, false, false },
    { 0x2028, true, true },    { 0x2029, true, true },    { 0x202a, true, true },
    { 0x202e, true, true },    { 0x202f, false, false },  { 0x2060, false, true },
    { 0x2065, false, true },   { 0x2066, true, true },    { 0x2069, true, true },
    { 0x206a, false, true },   { 0x2070, false, false },  { 0xfeff, false, true },
    { 0xfffd, false, false },  { 0xe0001, false, true },  { 0xe0080, false, false },
    { 0x1f600, false, false }, { 0x10ffff, false, false }
};

START_TEST(what_steers_and_what_is_not_seen_are_told_apart)
{
    ck_assert_int_eq(adp_glyph_steers(points[_i].point), points[_i].steers);
    ck_assert_int_eq(adp_glyph_hidden(points[_i].point), points[_i].hidden);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("glyph");
    TCase *tcase = tcase_create("glyph");
    tcase_add_loop_test(tcase, a_character_is_read_with_its_length, 0,
                        sizeof texts / sizeof *texts);
    tcase_add_loop_test(tcase, what_steers_and_what_is_not_seen_are_told_apart, 0,
                        sizeof points / sizeof *points);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
