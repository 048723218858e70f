/* SPDX-License-Identifier: MIT */
/* Escaping is tested through lines (test_line.c); here is what only a pen does. */
#include "core/pen.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    uint64_t ns;
    const char *text;
} seconds[] = {
    { 0, "0.0" },
    { 999, "0.0" }, /* cut to the microsecond, not rounded */
    { 1000, "0.000001" },
    { 1999, "0.000001" },
    { 500000000, "0.5" },
    { 3000000000, "3.0" },
    { 12050000000, "12.05" },
    { 999999999, "0.999999" },
    { UINT64_C(1796004541240248000), "1796004541.240248" },
    { UINT64_MAX, "18446744073.709551" },
};

START_TEST(nanoseconds_are_seconds_cut_to_the_microsecond)
{
    char to[ADP_PEN_SECONDS + 1];
    memset(to, '#', sizeof to);
    char *end = adp_pen_seconds(to, seconds[_i].ns);
    ck_assert_int_eq(to[ADP_PEN_SECONDS], '#');
    *end = '\0';
    ck_assert_str_eq(to, seconds[_i].text);
}
END_TEST

START_TEST(hexadecimal_is_sixteen_digits_in_quotes)
{
    char to[ADP_PEN_HEX + 1];
    *adp_pen_hex(to, UINT64_C(0x00fedcba98765432)) = '\0';
    ck_assert_str_eq(to, "\"00fedcba98765432\"");
}
END_TEST

START_TEST(a_word_stands_in_quotes_and_none_is_null)
{
    char to[16];
    *adp_pen_word(to, "stale") = '\0';
    ck_assert_str_eq(to, "\"stale\"");
    *adp_pen_word(to, NULL) = '\0';
    ck_assert_str_eq(to, "null");
}
END_TEST

/* Every byte in every place of eight, among plain ones: a look at eight at once must see
 * just what a look at each sees. */
START_TEST(a_byte_is_escaped_wherever_it_stands)
{
    const unsigned char c = (unsigned char)_i;
    for (size_t at = 0; at < 11; at++) {
        char text[11], *exact = malloc(ADP_PEN_ESCAPE * sizeof text), want[8];
        ck_assert_ptr_nonnull(exact);
        memset(text, 'a', sizeof text);
        text[at] = (char)c;
        char *end = adp_pen_escaped(exact, text, sizeof text);
        if (c == '"' || c == '\\')
            snprintf(want, sizeof want, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            snprintf(want, sizeof want, "\\u%04x", c);
        else if (c > 0x7f)
            snprintf(want, sizeof want, "\\ufffd"); /* alone it is no UTF-8 */
        else
            snprintf(want, sizeof want, "%c", c);
        size_t n = strlen(want);
        ck_assert_uint_eq((size_t)(end - exact), sizeof text - 1 + n);
        ck_assert_mem_eq(exact + at, want, n);
        for (size_t i = 0; i < (size_t)(end - exact); i++)
            ck_assert(exact[i] == 'a' || (i >= at && i < at + n));
        free(exact);
    }
}
END_TEST

START_TEST(the_worst_text_fits_the_room_it_is_given)
{
    /* The end of the room is the end of the block: ASan sees a byte past it. */
    enum { LEN = 1000 };
    char text[LEN], *room = malloc(ADP_PEN_ESCAPE * LEN);
    ck_assert_ptr_nonnull(room);
    memset(text, 0x01, sizeof text);
    ck_assert_ptr_eq(adp_pen_escaped(room, text, LEN), room + ADP_PEN_ESCAPE * LEN);
    memset(text, 'x', sizeof text);
    ck_assert_ptr_eq(adp_pen_escaped(room, text, LEN), room + LEN);
    free(room);
}
END_TEST

START_TEST(a_text_is_repaired_byte_by_byte_where_it_is_no_utf8)
{
#define U "\xef\xbf\xbd"
    static const struct {
        const char *text, *repaired;
    } rows[] = {
        { "", "" },
        { "plain \x01\n\x7f\"", "plain \x01\n\x7f\"" }, /* escaping is the writer's */
        { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
          "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "p\xff\xc3\xa4", "p" U "\xc3\xa4" },
        { "cut \xe2\x82", "cut " U U },  /* a character that does not end */
        { "\xc0\xaf", U U },             /* a longer form than need be */
        { "\xed\xa0\x80", U U U },       /* a surrogate */
        { "\xf4\x90\x80\x80", U U U U }, /* above U+10FFFF */
    };
#undef U
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t len = strlen(rows[i].text), want = strlen(rows[i].repaired);
        /* The end of the room is the end of the block: ASan sees a byte past it. */
        char *room = malloc(len * ADP_PEN_REPAIR + 1);
        ck_assert_ptr_nonnull(room);
        char *end = adp_pen_repaired(room, rows[i].text, len);
        ck_assert_uint_eq((size_t)(end - room), want);
        ck_assert_mem_eq(room, rows[i].repaired, want);
        ck_assert(adp_pen_keeps(room, want));
        free(room);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pen");
    TCase *tcase = tcase_create("pen");
    tcase_add_loop_test(tcase, nanoseconds_are_seconds_cut_to_the_microsecond, 0,
                        (int)(sizeof seconds / sizeof seconds[0]));
    tcase_add_test(tcase, hexadecimal_is_sixteen_digits_in_quotes);
    tcase_add_test(tcase, a_word_stands_in_quotes_and_none_is_null);
    tcase_add_loop_test(tcase, a_byte_is_escaped_wherever_it_stands, 0, 256);
    tcase_add_test(tcase, the_worst_text_fits_the_room_it_is_given);
    tcase_add_test(tcase, a_text_is_repaired_byte_by_byte_where_it_is_no_utf8);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
