/* SPDX-License-Identifier: MIT */
#include "runtime/http/answer.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define FIELD(name, value)                                                               \
    {                                                                                    \
        { name, sizeof name - 1 },                                                       \
        {                                                                                \
            value, sizeof value - 1                                                      \
        }                                                                                \
    }

static const struct adp_http_field reason = FIELD("X-Admit-Reason", "queue_depth");

static const struct {
    const char *name;
    struct adp_http_answer answer;
    struct adp_http_manner manner;
    const char *sent;
} rows[] = {
    { "body",
      { .status = 200, .type = "text/plain", .body = "hello", .body_len = 5 },
      { .date = "" },
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello" },
    { "no body",
      { .status = 503 },
      { .date = "" },
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n" },
    { "a status without a phrase",
      { .status = 299 },
      { .date = "" },
      "HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n" },
    { "fields and a date",
      { .status = 429, .fields = &reason, .n_fields = 1 },
      { .date = "Sun, 06 Nov 1994 08:49:37 GMT" },
      "HTTP/1.1 429 Too Many Requests\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
      "Content-Length: 0\r\nX-Admit-Reason: queue_depth\r\n\r\n" },
    { "204 has no length",
      { .status = 204, .body = "x", .body_len = 1 },
      { .date = "" },
      "HTTP/1.1 204 No Content\r\n\r\n" },
    { "304 has no body",
      { .status = 304, .body = "x", .body_len = 1 },
      { .date = "" },
      "HTTP/1.1 304 Not Modified\r\n\r\n" },
    { "HEAD has the length alone",
      { .status = 200, .body = "hello", .body_len = 5 },
      { .date = "", .head = true },
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" },
    { "the last one",
      { .status = 200 },
      { .date = "", .close = true },
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" },
    { "kept in 1.0",
      { .status = 200 },
      { .date = "", .old = true },
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n" },
    { "a stream with its first part",
      { .status = 200, .body = "0123456789abcdef!", .body_len = 17 },
      { .date = "", .stream = true },
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
      "chunked\r\n\r\n11\r\n0123456789abcdef!\r\n" },
    { "a stream in 1.0",
      { .status = 200, .body = "x", .body_len = 1 },
      { .date = "", .stream = true, .old = true, .close = true },
      "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx" },
};

START_TEST(an_answer_is_framed_by_what_it_answers)
{
    struct adp_http_pool pool = { 0 };
    struct adp_http_buffer to = { 0 };
    ck_assert_int_eq(
        adp_http_answer_append(&pool, &to, &rows[_i].answer, &rows[_i].manner), 0);
    ck_assert_msg(to.len == strlen(rows[_i].sent) &&
                      memcmp(to.bytes, rows[_i].sent, to.len) == 0,
                  "%s: %.*s", rows[_i].name, (int)to.len, to.bytes);
    adp_http_buffer_release(&pool, &to);
    adp_http_pool_finish(&pool);
}
END_TEST

static const struct {
    const char *name;
    uint32_t status;
    const char *type;
    struct adp_http_field field;
} bad[] = {
    { "100", 100, NULL, FIELD("A", "b") },
    { "600", 600, NULL, FIELD("A", "b") },
    { "a type with a line", 200, "a\r\nB: c", FIELD("A", "b") },
    { "a value with CR", 200, NULL, FIELD("A", "b\rc") },
    { "a value with LF", 200, NULL, FIELD("A", "b\nc") },
    { "a value with NUL", 200, NULL, FIELD("A", "b\0c") },
    { "an empty name", 200, NULL, FIELD("", "b") },
    { "a name with a blank", 200, NULL, FIELD("A b", "c") },
    { "a name with a colon", 200, NULL, FIELD("A:", "c") },
    { "a length of its own", 200, NULL, FIELD("content-length", "5") },
    { "a coding of its own", 200, NULL, FIELD("Transfer-Encoding", "chunked") },
    { "a connection of its own", 200, NULL, FIELD("Connection", "close") },
};

START_TEST(what_would_break_the_head_is_refused_and_nothing_appended)
{
    struct adp_http_pool pool = { 0 };
    struct adp_http_buffer to = { 0 };
    struct adp_http_answer answer = { .status = bad[_i].status,
                                      .type = bad[_i].type,
                                      .fields = &bad[_i].field,
                                      .n_fields = 1 };
    struct adp_http_manner manner = { .date = "" };
    ck_assert_msg(adp_http_answer_append(&pool, &to, &answer, &manner) == UV_EINVAL, "%s",
                  bad[_i].name);
    ck_assert_uint_eq(to.len, 0);
}
END_TEST

static const struct {
    int64_t wall_s;
    const char *date;
} dates[] = {
    { 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
    { 784111777, "Sun, 06 Nov 1994 08:49:37 GMT" }, /* RFC 9110, 5.6.7 */
    { 951827696, "Tue, 29 Feb 2000 12:34:56 GMT" },
    { 1709251199, "Thu, 29 Feb 2024 23:59:59 GMT" },
    { 1709251200, "Fri, 01 Mar 2024 00:00:00 GMT" },
    { 4107542399, "Sun, 28 Feb 2100 23:59:59 GMT" }, /* no leap year */
    { 4107542400, "Mon, 01 Mar 2100 00:00:00 GMT" },
    { 253402300799, "Fri, 31 Dec 9999 23:59:59 GMT" },
};

START_TEST(dates_are_those_of_the_calendar)
{
    char to[30];
    adp_http_date_write(to, dates[_i].wall_s);
    ck_assert_str_eq(to, dates[_i].date);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("answer");
    TCase *t = tcase_create("answer");
    tcase_add_loop_test(t, an_answer_is_framed_by_what_it_answers, 0,
                        sizeof rows / sizeof rows[0]);
    tcase_add_loop_test(t, what_would_break_the_head_is_refused_and_nothing_appended, 0,
                        sizeof bad / sizeof bad[0]);
    tcase_add_loop_test(t, dates_are_those_of_the_calendar, 0,
                        sizeof dates / sizeof dates[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
