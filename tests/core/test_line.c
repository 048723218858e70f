/* SPDX-License-Identifier: MIT */
#include "core/line.h"
#include "core/pen.h"

#include "tests/core/failing.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

static void line_is(const struct adp_line *line, const char *text)
{
    ck_assert(!line->broken);
    ck_assert_msg(line->len == strlen(text) && !memcmp(line->text, text, line->len),
                  "\"%.*s\" is not \"%s\"", (int)line->len, line->text, text);
}

START_TEST(a_line_is_what_was_appended)
{
    struct adp_line line;
    adp_line_init(&line);
    adp_line_puts(&line, "{");
    adp_line_key(&line, "verdict");
    adp_line_string_or_null(&line, "admit");
    adp_line_key(&line, "reason");
    adp_line_string_or_null(&line, NULL);
    adp_line_key(&line, "at");
    adp_line_number(&line, 1796004541.25);
    adp_line_key(&line, "kv");
    adp_line_number(&line, NAN);
    adp_line_key(&line, "seq");
    adp_line_u64(&line, UINT64_MAX);
    adp_line_key(&line, "priority");
    adp_line_i64(&line, INT64_MIN);
    adp_line_key(&line, "request");
    adp_line_puts(&line, "{");
    adp_line_key(&line, "tenant");
    adp_line_string(&line, "", 0);
    adp_line_puts(&line, "}}");
    adp_line_put(&line, "\n", 1);
    line_is(&line, "{\"verdict\":\"admit\",\"reason\":null,\"at\":1796004541.25,"
                   "\"kv\":null,\"seq\":18446744073709551615,"
                   "\"priority\":-9223372036854775808,\"request\":{\"tenant\":\"\"}}\n");
    adp_line_finish(&line);
}
END_TEST

START_TEST(a_pair_is_a_key_and_its_value)
{
    struct adp_line line;
    adp_line_init(&line);
    adp_line_puts(&line, "{");
    adp_line_key_text(&line, "unit", "ms");
    adp_line_key_text(&line, "why", NULL);
    adp_line_key_number(&line, "min", 0.5);
    adp_line_key_number(&line, "max", (double)INFINITY);
    adp_line_key_u64(&line, "seq", 7);
    adp_line_key_bool(&line, "on", true);
    adp_line_key_bool(&line, "off", false);
    line_is(&line, "{\"unit\":\"ms\",\"why\":null,\"min\":0.5,\"max\":null,\"seq\":7,"
                   "\"on\":true,\"off\":false");
    adp_line_finish(&line);
}
END_TEST

START_TEST(a_key_begins_without_a_comma_where_nothing_stands_before_it)
{
    struct adp_line line;
    adp_line_init(&line);
    adp_line_key(&line, "a");
    line_is(&line, "\"a\":");
    adp_line_clear(&line);
    adp_line_puts(&line, "[");
    adp_line_key(&line, "a");
    line_is(&line, "[\"a\":");
    adp_line_clear(&line);
    adp_line_puts(&line, "\"{\"");
    adp_line_key(&line, "a");
    line_is(&line, "\"{\",\"a\":");
    adp_line_finish(&line);
}
END_TEST

#define TEXT(literal) literal, sizeof(literal) - 1
#define BAD           "\\ufffd"

static const struct {
    const char *text;
    size_t len;
    const char *json;
} strings[] = {
    { TEXT("plain ~ text/"), "plain ~ text/" },
    { TEXT("\"\\"), "\\\"\\\\" },
    { TEXT("\n\t\r\b\x1b"), "\\u000a\\u0009\\u000d\\u0008\\u001b" },
    { TEXT("a\0b"), "a\\u0000b" },
    { TEXT("\x7f"), "\\u007f" },
    { TEXT("\xc2\x80"), "\\u0080" },
    { TEXT("\xc3\xbcn\xc3\xafx"), "\\u00fcn\\u00efx" },
    { TEXT("\xdf\xbf"), "\\u07ff" },
    { TEXT("\xe0\xa0\x80"), "\\u0800" },
    { TEXT("\xe6\xa8\xa1\xe5\x9e\x8b"), "\\u6a21\\u578b" },
    { TEXT("\xed\x9f\xbf"), "\\ud7ff" },
    { TEXT("\xee\x80\x80"), "\\ue000" },
    { TEXT("\xef\xbf\xbf"), "\\uffff" },
    { TEXT("\xf0\x90\x80\x80"), "\\ud800\\udc00" },
    { TEXT("\xf0\x9f\x98\x80!"), "\\ud83d\\ude00!" },
    { TEXT("\xf4\x8f\xbf\xbf"), "\\udbff\\udfff" },
    /* not UTF-8: stray, overlong, surrogate, above U+10FFFF, cut, no byte of it at all */
    { TEXT("a\x80z"), "a" BAD "z" },
    { TEXT("\xc0\x80"), BAD BAD },
    { TEXT("\xc1\xbf"), BAD BAD },
    { TEXT("\xe0\x9f\xbf"), BAD BAD BAD },
    { TEXT("\xf0\x8f\xbf\xbf"), BAD BAD BAD BAD },
    { TEXT("\xed\xa0\x80"), BAD BAD BAD },
    { TEXT("\xed\xbf\xbf"), BAD BAD BAD },
    { TEXT("\xf4\x90\x80\x80"), BAD BAD BAD BAD },
    { TEXT("\xf5\x80\x80\x80"), BAD BAD BAD BAD },
    { TEXT("\xc3"), BAD },
    { TEXT("\xe6\xa8"), BAD BAD },
    { TEXT("\xf0\x9f\x98"), BAD BAD BAD },
    { TEXT("\xc3(\xe6\xa8("), BAD "(" BAD BAD "(" },
    { TEXT("\xfe\xff"), BAD BAD },
};

START_TEST(a_string_is_ascii_whatever_its_bytes)
{
    /* An exact copy: a look past the end is seen by ASan. */
    char *exact = malloc(strings[_i].len);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, strings[_i].text, strings[_i].len);
    struct adp_line line;
    adp_line_init(&line);
    adp_line_escaped(&line, exact, strings[_i].len);
    line_is(&line, strings[_i].json);
    adp_line_clear(&line);
    adp_line_string(&line, exact, strings[_i].len);
    ck_assert_uint_eq(line.len, strlen(strings[_i].json) + 2);
    ck_assert(line.text[0] == '"' && line.text[line.len - 1] == '"');
    ck_assert_mem_eq(line.text + 1, strings[_i].json, line.len - 2);
    ck_assert(adp_pen_keeps(exact, strings[_i].len) == !strstr(strings[_i].json, BAD));
    adp_line_finish(&line);
    free(exact);
}
END_TEST

START_TEST(a_line_grows_past_any_first_size_and_keeps_its_memory_when_cleared)
{
    struct adp_line line;
    adp_line_init(&line);
    for (int i = 0; i < 100000; i++)
        adp_line_put(&line, "0123456789", 10);
    ck_assert(!line.broken);
    ck_assert_uint_eq(line.len, 1000000);
    ck_assert_mem_eq(line.text + 999990, "0123456789", 10);
    adp_line_clear(&line);
    ck_assert_uint_eq(line.len, 0);
    fail_allocation(1);
    for (int i = 0; i < 100000; i++)
        adp_line_put(&line, "0123456789", 10);
    uint64_t needed = allocations;
    fail_allocation(0);
    ck_assert(!line.broken);
    ck_assert_uint_eq(needed, 0);
    adp_line_finish(&line);
}
END_TEST

START_TEST(room_asked_for_is_room)
{
    struct adp_line line;
    adp_line_init(&line);
    ck_assert(adp_line_reserve(&line, 5000));
    ck_assert_uint_ge(line.cap - line.len, 5000);
    ck_assert_uint_eq(line.len, 0);
    adp_line_finish(&line);
}
END_TEST

START_TEST(without_memory_a_line_is_broken_until_cleared)
{
    struct adp_line line;
    adp_line_init(&line);
    fail_allocation(1);
    adp_line_number(&line, 0.5);
    fail_allocation(0);
    ck_assert(line.broken);
    ck_assert_uint_eq(line.len, 0);
    adp_line_puts(&line, "there is memory again, but the beginning is lost");
    adp_line_u64(&line, 1);
    adp_line_i64(&line, -1);
    adp_line_key(&line, "k");
    adp_line_string(&line, "\n", 1);
    ck_assert_uint_eq(line.len, 0);
    adp_line_clear(&line);
    adp_line_puts(&line, "whole");
    line_is(&line, "whole");
    adp_line_finish(&line);
}
END_TEST

START_TEST(more_than_memory_can_hold_breaks_the_line_and_keeps_what_was_there)
{
    struct adp_line line;
    adp_line_init(&line);
    adp_line_puts(&line, "kept");
    ck_assert(!adp_line_reserve(&line, SIZE_MAX));
    ck_assert(!adp_line_reserve(&line, SIZE_MAX - 2));
    ck_assert(line.broken);
    ck_assert_uint_eq(line.len, 4);
    ck_assert_mem_eq(line.text, "kept", 4);
    adp_line_finish(&line);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("line");
    TCase *t = tcase_create("line");
    tcase_add_test(t, a_line_is_what_was_appended);
    tcase_add_test(t, a_pair_is_a_key_and_its_value);
    tcase_add_test(t, a_key_begins_without_a_comma_where_nothing_stands_before_it);
    tcase_add_loop_test(t, a_string_is_ascii_whatever_its_bytes, 0, COUNT(strings));
    tcase_add_test(t, a_line_grows_past_any_first_size_and_keeps_its_memory_when_cleared);
    tcase_add_test(t, room_asked_for_is_room);
    tcase_add_test(t, without_memory_a_line_is_broken_until_cleared);
    tcase_add_test(t, more_than_memory_can_hold_breaks_the_line_and_keeps_what_was_there);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
