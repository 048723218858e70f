/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include "tests/core/failing.h"

#include <uv.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define OK(body)  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" body

static const struct adp_http_limits usual = { 0 };

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        n++;
    return n;
}

static void starts(const char *text, const char *with)
{
    ck_assert_msg(strncmp(text, with, strlen(with)) == 0, "\"%.60s\", not \"%s\"", text,
                  with);
}

static void ends(const char *text, const char *with)
{
    size_t len = strlen(text), n = strlen(with);
    ck_assert_msg(len >= n && strcmp(text + len - n, with) == 0, "\"%s\", not \"…%s\"",
                  text, with);
}

/* --- requests and answers */

START_TEST(a_request_is_delivered_and_its_answer_sent)
{
    struct driver *d = driver_create(usual);
    driver_send(d, GET("/a?b=c"));
    ck_assert_str_eq(d->seen, "GET /a?b=c []\n");
    ck_assert_str_eq(d->out, OK("ok"));
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_destroy(d);
}
END_TEST

static const struct {
    const char *name, *sent, *seen;
} splits[] = {
    { "two requests", GET("/a") GET("/b"), "GET /a []\nGET /b []\n" },
    { "a body", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" GET("/b"),
      "POST /a [hello]\nGET /b []\n" },
    { "an empty body",
      "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" GET("/b"),
      "POST /a []\nGET /b []\n" },
    { "a body of GET",
      "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" GET("/b"),
      "GET /a [abc]\nGET /b []\n" },
    { "chunks",
      "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nT: u\r\n\r\n" GET("/b"),
      "POST /a [hello!]\nGET /b []\n" },
    { "two chunked ones",
      "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
      "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n",
      "POST /a [a]\nPOST /b [b]\n" },
    { "empty lines between", "\r\n" GET("/a") "\r\n\r\n" GET("/b"),
      "GET /a []\nGET /b []\n" },
    { "an offer to upgrade",
      "GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" GET(
          "/b"),
      "GET /a []\nGET /b []\n" },
};

/* Every split of the bytes into three reads. */
START_TEST(how_bytes_are_split_into_reads_changes_nothing)
{
    size_t len = strlen(splits[_i].sent);
    struct driver *d = driver_create(usual);
    for (size_t a = 0; a <= len; a++) {
        for (size_t b = a; b <= len; b += 1 + len / 16) {
            d->seen_len = d->out_len = 0;
            driver_send_bytes(d, splits[_i].sent, a);
            driver_send_bytes(d, splits[_i].sent + a, b - a);
            driver_send_bytes(d, splits[_i].sent + b, len - b);
            ck_assert_msg(strcmp(d->seen, splits[_i].seen) == 0, "%s at %zu, %zu: %s",
                          splits[_i].name, a, b, d->seen);
            ck_assert_uint_eq(count(d->out, OK("ok")), 2);
            ck_assert_uint_eq(d->out_len, 2 * strlen(OK("ok")));
            ck_assert_int_eq(d->next, ADP_HTTP_READ);
        }
    }
    ck_assert_ptr_null(d->conn.in.bytes); /* nothing is kept between requests */
    driver_destroy(d);
}
END_TEST

START_TEST(answers_given_out_of_order_are_sent_in_order)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a") GET("/b") GET("/c"));
    driver_answer(d, d->kept[2], "c!");
    driver_answer(d, d->kept[1], "b!");
    driver_settle(d);
    ck_assert_str_eq(d->out, "");
    driver_answer(d, d->kept[0], "a!");
    driver_settle(d);
    ck_assert_str_eq(d->out, OK("a!") OK("b!") OK("c!"));
    driver_destroy(d);
}
END_TEST

START_TEST(an_exchange_is_answered_once_and_never_for_another)
{
    struct adp_http_answer answer = { .status = 200 };
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a"));
    uint64_t first = d->kept[0];
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_eq(adp_http_exchange_index(first), 7);
    ck_assert_int_eq(adp_http_conn_answer(&d->conn, first + 1, &answer, false), UV_EPIPE);
    ck_assert_int_eq(adp_http_conn_answer(&d->conn, first - 1, &answer, false), UV_EPIPE);
    ck_assert_int_eq(adp_http_conn_answer(&d->conn, first, &answer, false), 0);
    ck_assert_int_eq(adp_http_conn_answer(&d->conn, first, &answer, false), UV_EPIPE);
    driver_settle(d);
    driver_send(d, GET("/b"));
    ck_assert_int_eq(adp_http_conn_answer(&d->conn, first, &answer, false), UV_EPIPE);
    /* The connection ends, and another one takes its place. */
    adp_http_conn_close(&d->conn);
    ck_assert_uint_eq(d->n_gone, 1);
    ck_assert_uint_eq(d->gone[0], d->kept[1]);
    adp_http_conn_open(&d->conn, 43, d->now_ns);
    driver_send(d, GET("/c"));
    ck_assert_int_eq(adp_http_conn_answer(&d->conn, d->kept[1], &answer, false),
                     UV_EPIPE);
    ck_assert_int_eq(adp_http_conn_answer(&d->conn, d->kept[2], &answer, false), 0);
    driver_destroy(d);
}
END_TEST

START_TEST(an_answer_that_would_break_the_head_is_not_sent)
{
    struct adp_http_field field = { { "A", 1 }, { "b\r\nSet-Cookie: c", 16 } };
    struct adp_http_answer answer = { .status = 200, .fields = &field, .n_fields = 1 };
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a"));
    ck_assert_int_eq(adp_http_conn_answer(&d->conn, d->kept[0], &answer, false),
                     UV_EINVAL);
    driver_answer(d, d->kept[0], "ok"); /* it still waits */
    driver_settle(d);
    ck_assert_str_eq(d->out, OK("ok"));
    driver_destroy(d);
}
END_TEST

START_TEST(head_is_answered_without_the_body_but_with_its_length)
{
    struct driver *d = driver_create(usual);
    driver_send(d, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" GET("/b"));
    ck_assert_str_eq(d->out, OK("") OK("ok"));
    driver_destroy(d);
}
END_TEST

/* --- the end of a connection */

START_TEST(connection_close_ends_it_after_the_answer)
{
    struct driver *d = driver_create(usual);
    driver_send(d, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    ck_assert_str_eq(d->out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                             "Connection: close\r\n\r\nok");
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    driver_destroy(d);
}
END_TEST

START_TEST(what_follows_connection_close_is_not_delivered)
{
    struct driver *d = driver_create(usual);
    driver_send(d, "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" GET("/b"));
    ck_assert_str_eq(d->seen, "GET /a []\n");
    ck_assert_int_eq(d->next, ADP_HTTP_SHUT); /* so that no reset overtakes the answer */
    driver_destroy(d);
}
END_TEST

START_TEST(http_1_0_is_closed_unless_it_asks_to_be_kept)
{
    struct driver *d = driver_create(usual);
    driver_send(d, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    ck_assert_str_eq(d->out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                             "Connection: keep-alive\r\n\r\nok");
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_send(d, "GET / HTTP/1.0\r\n\r\n");
    ends(d->out, "Connection: close\r\n\r\nok");
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    driver_destroy(d);
}
END_TEST

START_TEST(an_answer_that_closes_drops_the_requests_behind_it)
{
    struct adp_http_answer answer = { .status = 200, .close = true };
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a") GET("/b"));
    ck_assert_int_eq(adp_http_conn_answer(&d->conn, d->kept[0], &answer, false), 0);
    driver_settle(d);
    ck_assert_uint_eq(count(d->out, "HTTP/1.1"), 1);
    ck_assert_uint_eq(d->n_gone, 1);
    ck_assert_uint_eq(d->gone[0], d->kept[1]);
    ck_assert_int_eq(d->next, ADP_HTTP_SHUT);
    driver_destroy(d);
}
END_TEST

START_TEST(who_closes_its_side_after_asking_still_gets_its_answers)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a") GET("/b"));
    adp_http_conn_eof(&d->conn, d->now_ns);
    driver_settle(d);
    ck_assert_int_eq(d->next, ADP_HTTP_WAIT);
    driver_answer(d, d->kept[0], "ok");
    driver_answer(d, d->kept[1], "ok");
    driver_settle(d);
    ck_assert_uint_eq(count(d->out, "HTTP/1.1 200 OK"), 2);
    ck_assert_uint_eq(d->n_gone, 0);
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    driver_destroy(d);
}
END_TEST

START_TEST(a_request_that_is_not_whole_at_the_end_is_never_delivered)
{
    struct driver *d = driver_create(usual);
    driver_send(d, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell");
    adp_http_conn_eof(&d->conn, d->now_ns);
    driver_settle(d);
    ck_assert_str_eq(d->seen, "");
    ck_assert_str_eq(d->out, "");
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    driver_destroy(d);
}
END_TEST

/* --- refusals */

START_TEST(a_refusal_says_why_closes_and_reads_no_more)
{
    struct driver *d = driver_create(usual);
    driver_send(d, GET("/a") "GET / HTTP/1.1\nHost: a\n\n" GET("/b"));
    ck_assert_str_eq(d->out,
                     OK("ok") "HTTP/1.1 400 Bad Request\r\nContent-Length: 34\r\n"
                              "Connection: close\r\nContent-Type: text/plain\r\n\r\n"
                              "line feed without carriage return\n");
    driver_destroy(d);
}
END_TEST

START_TEST(after_a_refusal_what_comes_is_read_and_ignored_for_a_while)
{
    struct driver *d = driver_create((struct adp_http_limits) { .linger_ms = 2000 });
    driver_send(d, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n");
    starts(d->out, "HTTP/1.1 413 Content Too Large\r\n");
    ends(d->out, "\r\n\r\nbody too large\n");
    ck_assert_int_eq(d->next, ADP_HTTP_SHUT);
    size_t len = d->out_len;
    driver_send(d, GET("/b"));
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    ck_assert_str_eq(d->seen, "");
    ck_assert_uint_eq(d->out_len, len);
    ck_assert_ptr_null(d->conn.in.bytes);
    driver_tick(d, 2 * SECOND - 1);
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_tick(d, 1);
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    driver_destroy(d);
}
END_TEST

START_TEST(a_refusal_waits_for_the_answers_before_it)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a") "BREW / HTTP/1.1\r\nHost: a\r\n\r\n");
    ck_assert_str_eq(d->out, "");
    driver_answer(d, d->kept[0], "ok");
    driver_settle(d);
    starts(d->out, OK("ok") "HTTP/1.1 501 Not Implemented\r\n");
    driver_destroy(d);
}
END_TEST

START_TEST(a_body_of_the_bound_passes_and_one_byte_more_is_413)
{
    const struct adp_http_limits limits = { .body_bytes = 5 };
    struct driver *d = driver_create(limits);
    driver_send(d, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    driver_send(d, "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "5\r\nhello\r\n0\r\n\r\n");
    ck_assert_str_eq(d->seen, "POST /a [hello]\nPOST /b [hello]\n");
    d->out_len = 0;
    driver_send(d, "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "5\r\nhello\r\n1\r\n");
    starts(d->out, "HTTP/1.1 413 Content Too Large\r\n");
    driver_destroy(d);
    d = driver_create(limits);
    driver_send(d, "POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n");
    starts(d->out, "HTTP/1.1 413 Content Too Large\r\n");
    driver_destroy(d);
}
END_TEST

/* --- 100-continue */

START_TEST(who_waits_for_100_gets_it_before_the_body)
{
    struct driver *d = driver_create(usual);
    driver_send(d, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                   "Content-Length: 5\r\n\r\n");
    ck_assert_str_eq(d->out, "HTTP/1.1 100 Continue\r\n\r\n");
    driver_send(d, "hello");
    ck_assert_str_eq(d->seen, "POST / [hello]\n");
    ck_assert_str_eq(d->out, "HTTP/1.1 100 Continue\r\n\r\n" OK("ok"));
    driver_destroy(d);
}
END_TEST

START_TEST(who_sends_the_body_at_once_gets_no_100)
{
    struct driver *d = driver_create(usual);
    driver_send(d, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                   "Content-Length: 5\r\n\r\nhello");
    ck_assert_str_eq(d->out, OK("ok"));
    driver_destroy(d);
}
END_TEST

START_TEST(the_100_waits_for_the_answers_before_it)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a") "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                             "Content-Length: 5\r\n\r\n");
    ck_assert_str_eq(d->out, "");
    driver_answer(d, d->kept[0], "ok");
    driver_settle(d);
    ck_assert_str_eq(d->out, OK("ok") "HTTP/1.1 100 Continue\r\n\r\n");
    driver_destroy(d);
}
END_TEST

START_TEST(a_body_too_large_is_refused_instead_of_100)
{
    struct driver *d = driver_create((struct adp_http_limits) { .body_bytes = 4 });
    driver_send(d, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                   "Content-Length: 5\r\n\r\n");
    starts(d->out, "HTTP/1.1 413 ");
    ck_assert_uint_eq(count(d->out, "100 Continue"), 0);
    driver_destroy(d);
}
END_TEST

/* --- bounds */

START_TEST(no_more_requests_are_read_than_may_be_due)
{
    struct driver *d = driver_create((struct adp_http_limits) { .pipelined = 2 });
    d->later = true;
    driver_send(d, GET("/a") GET("/b") GET("/c") GET("/d"));
    ck_assert_str_eq(d->seen, "GET /a []\nGET /b []\n");
    ck_assert_int_eq(d->next, ADP_HTTP_WAIT);
    driver_answer(d, d->kept[0], "ok");
    driver_settle(d);
    ck_assert_str_eq(d->seen, "GET /a []\nGET /b []\nGET /c []\n");
    driver_answer(d, d->kept[1], "ok");
    driver_answer(d, d->kept[2], "ok");
    driver_settle(d);
    driver_answer(d, d->kept[3], "ok");
    driver_settle(d);
    ck_assert_uint_eq(count(d->out, OK("ok")), 4);
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_destroy(d);
}
END_TEST

START_TEST(no_more_requests_are_read_while_the_client_takes_nothing)
{
    struct driver *d = driver_create((struct adp_http_limits) { .out_bytes = 100 });
    d->takes = 0;
    /* An answer is 40 bytes: after the third, 120 wait. */
    driver_send(d, GET("/a") GET("/b") GET("/c") GET("/d"));
    ck_assert_str_eq(d->seen, "GET /a []\nGET /b []\nGET /c []\n");
    ck_assert_int_eq(d->next, ADP_HTTP_WAIT);
    d->takes = SIZE_MAX;
    driver_settle(d);
    ck_assert_uint_eq(count(d->out, OK("ok")), 4);
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_destroy(d);
}
END_TEST

START_TEST(requests_beyond_64_wait_until_answers_are_written)
{
    struct driver *d = driver_create((struct adp_http_limits) { .pipelined = 64 });
    char many[100 * sizeof GET("/a")] = "";
    for (unsigned i = 0; i < 100; i++)
        memcpy(many + i * strlen(GET("/a")), GET("/a"), strlen(GET("/a")) + 1);
    adp_http_conn_input(&d->conn, many, strlen(many), d->now_ns);
    ck_assert_uint_eq(d->n_kept, 64);
    driver_settle(d);
    ck_assert_uint_eq(d->n_kept, 100);
    ck_assert_uint_eq(count(d->out, OK("ok")), 100);
    driver_destroy(d);
}
END_TEST

START_TEST(pipelined_answers_leave_in_one_write)
{
    struct driver *d = driver_create(usual);
    char eight[8 * sizeof GET("/a")] = "", *bytes;
    for (unsigned i = 0; i < 8; i++)
        memcpy(eight + i * strlen(GET("/a")), GET("/a"), strlen(GET("/a")) + 1);
    adp_http_conn_input(&d->conn, eight, strlen(eight), d->now_ns);
    ck_assert_uint_eq(adp_http_conn_output(&d->conn, d->now_ns, &bytes),
                      8 * strlen(OK("ok")));
    driver_destroy(d);
}
END_TEST

/* --- time */

START_TEST(a_head_has_its_time_however_it_dribbles)
{
    const char head[] = "GET / HTTP/1.1\r\nHost: a\r\n";
    struct driver *d = driver_create((struct adp_http_limits) { .head_ms = 10000 });
    driver_tick(d, 5 * SECOND); /* before its first byte it has not begun */
    for (unsigned i = 0; i < 10; i++) {
        ck_assert_str_eq(d->out, "");
        driver_send_bytes(d, head + i, 1);
        driver_tick(d, SECOND);
    }
    starts(d->out, "HTTP/1.1 408 Request Timeout\r\n");
    ends(d->out, "\r\n\r\nrequest head too slow\n");
    ck_assert_int_eq(d->next, ADP_HTTP_SHUT);
    ck_assert_uint_eq(d->env.counts.timeouts, 1);
    ck_assert_uint_eq(d->env.counts.refused, 0);
    driver_destroy(d);
}
END_TEST

START_TEST(a_body_has_its_time_however_it_dribbles)
{
    struct driver *d = driver_create((struct adp_http_limits) { .body_ms = 30000 });
    driver_send(d, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
    for (unsigned i = 0; i < 29; i++) {
        driver_send(d, "x");
        driver_tick(d, SECOND);
    }
    ck_assert_str_eq(d->out, "");
    driver_tick(d, SECOND);
    starts(d->out, "HTTP/1.1 408 Request Timeout\r\n");
    ends(d->out, "\r\n\r\nrequest body too slow\n");
    driver_destroy(d);
}
END_TEST

START_TEST(an_idle_connection_is_closed_without_a_word)
{
    struct driver *d = driver_create((struct adp_http_limits) { .idle_ms = 60000 });
    driver_tick(d, 59 * SECOND);
    driver_send(d, GET("/a")); /* begins it anew */
    driver_tick(d, 60 * SECOND - 1);
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_tick(d, 1);
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    ck_assert_str_eq(d->out, OK("ok"));
    ck_assert_uint_eq(d->env.counts.idle_closed, 1);
    driver_destroy(d);
}
END_TEST

START_TEST(waiting_for_our_answer_is_not_idle)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a"));
    driver_tick(d, 3600 * SECOND);
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_answer(d, d->kept[0], "ok");
    driver_settle(d);
    driver_tick(d, 59 * SECOND); /* idle time counts from the answer */
    ck_assert_str_eq(d->out, OK("ok"));
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_destroy(d);
}
END_TEST

START_TEST(the_time_a_client_waits_for_us_is_not_counted_against_it)
{
    struct driver *d = driver_create((struct adp_http_limits) { .pipelined = 1 });
    d->later = true;
    driver_send(d, GET("/a") "GET /b");
    driver_tick(d, 100 * SECOND);
    ck_assert_str_eq(d->out, "");
    driver_answer(d, d->kept[0], "ok");
    driver_settle(d);
    driver_send(d, " HTTP/1.1\r\nHost: a\r\n\r\n");
    ck_assert_str_eq(d->seen, "GET /a []\nGET /b []\n");
    driver_destroy(d);
}
END_TEST

START_TEST(who_takes_nothing_of_its_answer_is_dropped)
{
    struct driver *d = driver_create((struct adp_http_limits) { .write_ms = 30000 });
    d->takes = 10;
    driver_send(d, GET("/a"));
    driver_tick(d, 29 * SECOND);
    d->takes = 1;
    driver_settle(d); /* one byte is progress */
    driver_tick(d, 30 * SECOND - 1);
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_tick(d, 1);
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    ck_assert_uint_eq(d->env.counts.stalled, 1);
    driver_destroy(d);
}
END_TEST

/* --- streams */

static void stream(struct driver *d, uint64_t exchange)
{
    struct adp_http_answer answer = { .status = 200, .type = "text/event-stream" };
    ck_assert_int_eq(adp_http_conn_answer(&d->conn, exchange, &answer, true), 0);
}

#define STREAM                                                                           \
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"                                  \
    "Content-Type: text/event-stream\r\n\r\n"

START_TEST(a_stream_is_sent_in_chunks_and_the_connection_goes_on)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a"));
    stream(d, d->kept[0]);
    driver_settle(d);
    ck_assert_str_eq(d->out, STREAM);
    ck_assert_int_eq(adp_http_conn_stream_write(&d->conn, d->kept[0], "data: 1\n\n", 9),
                     0);
    driver_settle(d);
    ck_assert_int_eq(adp_http_conn_stream_end(&d->conn, d->kept[0]), 0);
    driver_settle(d);
    ck_assert_str_eq(d->out, STREAM "9\r\ndata: 1\n\n\r\n0\r\n\r\n");
    ck_assert_int_eq(adp_http_conn_stream_end(&d->conn, d->kept[0]), UV_EPIPE);
    ck_assert_int_eq(adp_http_conn_stream_write(&d->conn, d->kept[0], "x", 1), UV_EPIPE);
    d->later = false;
    driver_send(d, GET("/b"));
    ends(d->out, OK("ok"));
    driver_destroy(d);
}
END_TEST

START_TEST(a_stream_waits_for_the_answers_before_it)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a") GET("/b") GET("/c"));
    stream(d, d->kept[1]);
    ck_assert_int_eq(adp_http_conn_stream_write(&d->conn, d->kept[1], "1", 1), 0);
    driver_answer(d, d->kept[2], "c!");
    driver_settle(d);
    ck_assert_str_eq(d->out, "");
    driver_answer(d, d->kept[0], "a!");
    driver_settle(d);
    ck_assert_str_eq(d->out, OK("a!") STREAM "1\r\n1\r\n");
    ck_assert_int_eq(adp_http_conn_stream_write(&d->conn, d->kept[1], "2", 1), 0);
    ck_assert_int_eq(adp_http_conn_stream_end(&d->conn, d->kept[1]), 0);
    driver_settle(d);
    ck_assert_str_eq(d->out, OK("a!") STREAM "1\r\n1\r\n1\r\n2\r\n0\r\n\r\n" OK("c!"));
    driver_destroy(d);
}
END_TEST

START_TEST(a_stream_to_a_client_that_takes_nothing_says_so)
{
    struct driver *d = driver_create((struct adp_http_limits) { .out_bytes = 100 });
    d->later = true;
    d->takes = 0;
    driver_send(d, GET("/a"));
    stream(d, d->kept[0]); /* 84 bytes of head: below the bound */
    ck_assert_int_eq(adp_http_conn_stream_write(&d->conn, d->kept[0], "0123456789", 10),
                     0);
    /* 10 and "a\r\n", "\r\n" more: 99 */
    ck_assert_int_eq(adp_http_conn_stream_write(&d->conn, d->kept[0], "0123456789", 10),
                     0);
    ck_assert_int_eq(adp_http_conn_stream_write(&d->conn, d->kept[0], "x", 1), UV_EAGAIN);
    d->takes = SIZE_MAX;
    driver_settle(d);
    ck_assert_int_eq(adp_http_conn_stream_write(&d->conn, d->kept[0], "x", 1), 0);
    driver_destroy(d);
}
END_TEST

START_TEST(a_stream_to_http_1_0_ends_with_the_connection)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    stream(d, d->kept[0]);
    ck_assert_int_eq(adp_http_conn_stream_write(&d->conn, d->kept[0], "12", 2), 0);
    ck_assert_int_eq(adp_http_conn_stream_end(&d->conn, d->kept[0]), 0);
    driver_settle(d);
    ck_assert_str_eq(d->out, "HTTP/1.1 200 OK\r\nConnection: close\r\n"
                             "Content-Type: text/event-stream\r\n\r\n12");
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    driver_destroy(d);
}
END_TEST

START_TEST(a_stream_to_head_sends_no_part)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    stream(d, d->kept[0]);
    ck_assert_int_eq(adp_http_conn_stream_write(&d->conn, d->kept[0], "12", 2), 0);
    ck_assert_int_eq(adp_http_conn_stream_end(&d->conn, d->kept[0]), 0);
    driver_settle(d);
    ck_assert_str_eq(d->out, STREAM);
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_destroy(d);
}
END_TEST

START_TEST(who_closes_its_side_while_listening_to_a_stream_has_left)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a"));
    stream(d, d->kept[0]);
    driver_settle(d);
    adp_http_conn_eof(&d->conn, d->now_ns);
    driver_settle(d);
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    ck_assert_uint_eq(d->n_gone, 1);
    ck_assert_uint_eq(d->gone[0], d->kept[0]);
    driver_destroy(d);
}
END_TEST

/* --- standing, draining */

START_TEST(what_is_owed_is_told_before_a_request_is_delivered)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    ck_assert_int_eq(d->standing.fd, 42);
    driver_send(d, "GET /");
    ck_assert(d->standing.partly_read && !d->standing.owed);
    driver_send(d, " HTTP/1.1\r\nHost: a\r\n\r\n");
    ck_assert_uint_eq(d->in_request.owed, 1);
    ck_assert(!d->in_request.partly_read && !d->in_request.partly_written);
    driver_send(d, "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    ck_assert_uint_eq(d->standing.owed, 2);
    ck_assert_uint_eq(d->standing.heads, 2);
    ck_assert(d->standing.last);
    d->takes = 1;
    driver_answer(d, d->kept[0], "ok");
    driver_settle(d);
    ck_assert(d->standing.partly_written);
    ck_assert_uint_eq(d->standing.owed, 1);
    ck_assert_uint_eq(d->standing.heads, 1);
    d->takes = SIZE_MAX;
    driver_settle(d);
    ck_assert(!d->standing.partly_written);
    driver_answer(d, d->kept[1], "ok");
    driver_settle(d);
    ck_assert_int_eq(d->standing.fd, -1);
    ck_assert_uint_eq(d->standing.owed, 0);
    driver_destroy(d);
}
END_TEST

START_TEST(what_is_on_its_way_out_of_the_socket_counts_as_partly_read)
{
    struct driver *d = driver_create(usual);
    adp_http_conn_reach(&d->conn, true);
    ck_assert(d->standing.partly_read);
    adp_http_conn_reach(&d->conn, false);
    ck_assert(!d->standing.partly_read);
    adp_http_conn_reach(&d->conn, true);
    driver_send(d, GET("/a"));
    ck_assert(!d->in_request.partly_read);
    ck_assert_uint_eq(d->in_request.owed, 1);
    ck_assert(!d->standing.partly_read);
    driver_destroy(d);
}
END_TEST

START_TEST(requests_behind_the_one_being_delivered_count_as_partly_read)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a") GET("/b"));
    /* As told before the second: both owed, nothing behind. */
    ck_assert_uint_eq(d->in_request.owed, 2);
    ck_assert(!d->in_request.partly_read);
    driver_send(d, GET("/c") "GET");
    ck_assert_uint_eq(d->in_request.owed, 3);
    ck_assert(d->in_request.partly_read);
    driver_destroy(d);
}
END_TEST

/* What stands as read and not delivered. */
static bool is_unread(const struct driver *d, const struct adp_http_standing *s,
                      const char *text)
{
    size_t len = strlen(text);
    return !s->partly_read && s->unread == len && d->held_len >= len &&
           memcmp(d->held + d->held_len - len, text, len) == 0;
}

START_TEST(what_is_read_and_no_request_yet_is_held)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    d->holds = sizeof d->held;
    driver_send(d, GET("/a") GET("/b") "GE");
    ck_assert(is_unread(d, &d->in_request, "GE"));
    ck_assert(is_unread(d, &d->standing, "GE"));
    driver_send(d, "T /c HTTP/1.1\r\nHost: a\r\n");
    ck_assert(is_unread(d, &d->standing, "GET /c HTTP/1.1\r\nHost: a\r\n"));
    driver_send(d, "\r\n" GET("/d"));
    ck_assert(is_unread(d, &d->in_request, ""));
    ck_assert_uint_eq(d->in_request.owed, 4);
    ck_assert(is_unread(d, &d->standing, ""));
    /* As it was read, though chunks are decoded where they lie. */
    driver_send(
        d, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok");
    driver_send(d, "\r\n1\r\n!");
    ck_assert(is_unread(d, &d->standing,
                        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                        "chunked\r\n\r\n2\r\nok\r\n1\r\n!"));
    driver_send(d, "\r\n0\r\n\r\n" GET("/e"));
    ck_assert(is_unread(d, &d->in_request, ""));
    driver_destroy(d);
}
END_TEST

START_TEST(what_is_too_much_to_be_held_is_partly_read)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    d->holds = 40;
    driver_send(d, "POST / HTTP/1.1\r\nHost: a\r\n");
    ck_assert(is_unread(d, &d->standing, "POST / HTTP/1.1\r\nHost: a\r\n"));
    driver_send(d, "Content-Length: 3\r\n\r\no");
    ck_assert(d->standing.partly_read && !d->standing.unread);
    driver_send(d, "k!"
                   "GET");
    ck_assert(is_unread(d, &d->in_request, "GET"));
    ck_assert(is_unread(d, &d->standing, "GET"));
    /* Behind a last request nothing is read. */
    driver_send(d, " / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET");
    ck_assert(is_unread(d, &d->in_request, "") && d->in_request.last);
    driver_destroy(d);
}
END_TEST

START_TEST(an_adopted_connection_goes_on_with_what_was_read)
{
    struct driver *d = driver_create(usual);
    d->holds = sizeof d->held;
    uint64_t a = adp_http_conn_owe(&d->conn, false);
    adp_http_conn_hand(&d->conn, GET("/b") "GET /c H", strlen(GET("/b") "GET /c H"));
    ck_assert_uint_eq(d->standing.owed, 1);
    ck_assert(is_unread(d, &d->standing, GET("/b") "GET /c H"));
    driver_answer(d, a, "ok");
    driver_settle(d);
    ck_assert_str_eq(d->seen, "GET /b []\n");
    driver_send(d, "TTP/1.1\r\nHost: a\r\n\r\n");
    ck_assert_str_eq(d->seen, "GET /b []\nGET /c []\n");
    ck_assert_str_eq(d->out, OK("ok") OK("ok") OK("ok"));
    driver_destroy(d);
}
END_TEST

START_TEST(an_adopted_connection_is_answered_what_it_is_owed)
{
    struct driver *d = driver_create(usual);
    uint64_t a = adp_http_conn_owe(&d->conn, true);
    uint64_t b = adp_http_conn_owe(&d->conn, false);
    ck_assert_uint_eq(d->standing.owed, 2);
    ck_assert_uint_eq(d->standing.heads, 1);
    driver_answer(d, b, "b!");
    driver_answer(d, a, "a!");
    driver_settle(d);
    ck_assert_str_eq(d->out, OK("") OK("b!"));
    driver_send(d, GET("/c"));
    ends(d->out, OK("ok"));
    driver_destroy(d);
}
END_TEST

START_TEST(draining_finishes_what_has_begun_and_says_close)
{
    struct driver *d = driver_create(usual);
    d->later = true;
    driver_send(d, GET("/a") GET("/b"));
    d->env.draining = true;
    adp_http_conn_drain(&d->conn);
    driver_settle(d);
    ck_assert_int_eq(d->next, ADP_HTTP_WAIT);
    driver_answer(d, d->kept[0], "ok");
    driver_answer(d, d->kept[1], "ok");
    driver_settle(d);
    ck_assert_str_eq(d->out, OK("ok") "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                                      "Connection: close\r\n\r\nok");
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    driver_destroy(d);
}
END_TEST

START_TEST(draining_reads_a_begun_request_to_its_end)
{
    struct driver *d = driver_create(usual);
    driver_send(d, "GET / HTTP/1.1\r\n");
    d->env.draining = true;
    adp_http_conn_drain(&d->conn);
    driver_settle(d);
    ck_assert_int_eq(d->next, ADP_HTTP_READ);
    driver_send(d, "Host: a\r\n\r\n");
    ends(d->out, "Connection: close\r\n\r\nok");
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    driver_destroy(d);
}
END_TEST

START_TEST(draining_closes_what_is_idle)
{
    struct driver *d = driver_create(usual);
    driver_send(d, GET("/a"));
    d->env.draining = true;
    adp_http_conn_drain(&d->conn);
    driver_settle(d);
    ck_assert_int_eq(d->next, ADP_HTTP_CLOSE);
    driver_destroy(d);
}
END_TEST

/* --- memory */

START_TEST(requests_on_a_kept_connection_allocate_nothing)
{
    struct driver *d = driver_create(usual);
    const char *post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    char bytes[256];
    for (unsigned round = 0; round < 3; round++) {
        if (round == 1)
            fail_allocation(
                0); /* begins the count: the first round has filled the pool */
        for (unsigned i = 0; i < 50; i++) {
            /* Whole, in two reads, and pipelined. */
            memcpy(bytes, post, strlen(post));
            adp_http_conn_input(&d->conn, bytes, strlen(post), d->now_ns);
            driver_settle(d);
            memcpy(bytes, post, strlen(post));
            adp_http_conn_input(&d->conn, bytes, 20, d->now_ns);
            adp_http_conn_input(&d->conn, bytes + 20, strlen(post) - 20, d->now_ns);
            driver_settle(d);
            memcpy(bytes, GET("/a") GET("/b"), strlen(GET("/a") GET("/b")));
            adp_http_conn_input(&d->conn, bytes, strlen(GET("/a") GET("/b")), d->now_ns);
            driver_settle(d);
            d->out_len = d->seen_len = 0;
        }
    }
    ck_assert_uint_eq(allocations, 0);
    ck_assert_uint_eq(d->env.counts.requests, 600);
    ck_assert_ptr_null(d->conn.in.bytes);
    ck_assert_ptr_null(d->conn.ready.bytes);
    ck_assert_ptr_null(d->conn.flight.bytes);
    driver_destroy(d);
}
END_TEST

/* Fails the nth allocation while requests of every kind go through: the connection is closed, or
 * the request was not touched by it. Ends with the first n that is not reached. */
START_TEST(without_memory_a_connection_is_closed_and_nothing_else_breaks)
{
    bool reached = true;
    for (uint64_t n = 1; reached; n++) {
        struct driver *d = driver_create(usual);
        char bytes[512] =
            GET("/a") GET("/b") "POST / HTTP/1.1\r\nHost: a\r\n"
                                "Transfer-Encoding: chunked\r\n\r\n5\r\nhel";
        struct adp_http_answer answer = { .status = 200 };
        d->later = true;
        fail_allocation(n);
        adp_http_conn_input(&d->conn, bytes, strlen(bytes), d->now_ns);
        int b = adp_http_conn_answer(&d->conn, d->kept[1], &answer, false);
        int a = adp_http_conn_answer(&d->conn, d->kept[0], &answer, false);
        reached = allocations >= n;
        fail_allocation(0);
        ck_assert(b == 0 || b == UV_ENOMEM || b == UV_EPIPE);
        ck_assert(a == 0 || a == UV_ENOMEM || a == UV_EPIPE);
        driver_settle(d);
        ck_assert_int_eq(d->next, reached ? ADP_HTTP_CLOSE : ADP_HTTP_READ);
        driver_destroy(d);
        ck_assert_uint_lt(n, 20);
    }
}
END_TEST

static void add_answers(TCase *t)
{
    tcase_add_test(t, a_request_is_delivered_and_its_answer_sent);
    tcase_add_loop_test(t, how_bytes_are_split_into_reads_changes_nothing, 0,
                        sizeof splits / sizeof splits[0]);
    tcase_add_test(t, answers_given_out_of_order_are_sent_in_order);
    tcase_add_test(t, an_exchange_is_answered_once_and_never_for_another);
    tcase_add_test(t, an_answer_that_would_break_the_head_is_not_sent);
    tcase_add_test(t, head_is_answered_without_the_body_but_with_its_length);
    tcase_add_test(t, connection_close_ends_it_after_the_answer);
    tcase_add_test(t, what_follows_connection_close_is_not_delivered);
    tcase_add_test(t, http_1_0_is_closed_unless_it_asks_to_be_kept);
    tcase_add_test(t, an_answer_that_closes_drops_the_requests_behind_it);
    tcase_add_test(t, who_closes_its_side_after_asking_still_gets_its_answers);
    tcase_add_test(t, a_request_that_is_not_whole_at_the_end_is_never_delivered);
    tcase_add_test(t, a_stream_is_sent_in_chunks_and_the_connection_goes_on);
    tcase_add_test(t, a_stream_waits_for_the_answers_before_it);
    tcase_add_test(t, a_stream_to_a_client_that_takes_nothing_says_so);
    tcase_add_test(t, a_stream_to_http_1_0_ends_with_the_connection);
    tcase_add_test(t, a_stream_to_head_sends_no_part);
    tcase_add_test(t, who_closes_its_side_while_listening_to_a_stream_has_left);
}

static void add_bounds(TCase *t)
{
    tcase_add_test(t, a_refusal_says_why_closes_and_reads_no_more);
    tcase_add_test(t, after_a_refusal_what_comes_is_read_and_ignored_for_a_while);
    tcase_add_test(t, a_refusal_waits_for_the_answers_before_it);
    tcase_add_test(t, a_body_of_the_bound_passes_and_one_byte_more_is_413);
    tcase_add_test(t, who_waits_for_100_gets_it_before_the_body);
    tcase_add_test(t, who_sends_the_body_at_once_gets_no_100);
    tcase_add_test(t, the_100_waits_for_the_answers_before_it);
    tcase_add_test(t, a_body_too_large_is_refused_instead_of_100);
    tcase_add_test(t, no_more_requests_are_read_than_may_be_due);
    tcase_add_test(t, no_more_requests_are_read_while_the_client_takes_nothing);
    tcase_add_test(t, requests_beyond_64_wait_until_answers_are_written);
    tcase_add_test(t, pipelined_answers_leave_in_one_write);
    tcase_add_test(t, a_head_has_its_time_however_it_dribbles);
    tcase_add_test(t, a_body_has_its_time_however_it_dribbles);
    tcase_add_test(t, an_idle_connection_is_closed_without_a_word);
    tcase_add_test(t, waiting_for_our_answer_is_not_idle);
    tcase_add_test(t, the_time_a_client_waits_for_us_is_not_counted_against_it);
    tcase_add_test(t, who_takes_nothing_of_its_answer_is_dropped);
}

static void add_life(TCase *t)
{
    tcase_add_test(t, what_is_owed_is_told_before_a_request_is_delivered);
    tcase_add_test(t, requests_behind_the_one_being_delivered_count_as_partly_read);
    tcase_add_test(t, what_is_on_its_way_out_of_the_socket_counts_as_partly_read);
    tcase_add_test(t, what_is_read_and_no_request_yet_is_held);
    tcase_add_test(t, what_is_too_much_to_be_held_is_partly_read);
    tcase_add_test(t, an_adopted_connection_goes_on_with_what_was_read);
    tcase_add_test(t, an_adopted_connection_is_answered_what_it_is_owed);
    tcase_add_test(t, draining_finishes_what_has_begun_and_says_close);
    tcase_add_test(t, draining_reads_a_begun_request_to_its_end);
    tcase_add_test(t, draining_closes_what_is_idle);
    tcase_add_test(t, requests_on_a_kept_connection_allocate_nothing);
    tcase_add_test(t, without_memory_a_connection_is_closed_and_nothing_else_breaks);
}

int main(void)
{
    Suite *s = suite_create("conn");
    TCase *t = tcase_create("conn");
    add_answers(t);
    add_bounds(t);
    add_life(t);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
