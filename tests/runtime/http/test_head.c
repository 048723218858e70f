/* SPDX-License-Identifier: MIT */
#include "runtime/http/head.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct adp_http_limits limits_of(void)
{
    struct adp_http_limits limits = { 0 };
    ck_assert_int_eq(adp_http_limits_settle(&limits), 0);
    return limits;
}

/* Scans and parses one head that is all there. NULL: accepted, and `end` is behind it. */
static const struct adp_http_refusal *read_head(struct adp_http_head *head,
                                                const char *text, size_t len,
                                                const struct adp_http_limits *limits)
{
    struct adp_http_scan scan = { 0 };
    const struct adp_http_refusal *no = adp_http_head_scan(&scan, text, len, limits);
    if (no)
        return no;
    ck_assert_uint_eq(scan.end, len);
    return adp_http_head_parse(head, text + scan.start, scan.end - scan.start, limits);
}

#define H "Host: a\r\n"

static const struct {
    const char *name, *head;
    uint32_t status; /* 0: accepted */
    const char *reason;
} rows[] = {
    /* lines */
    { "plain", "GET / HTTP/1.1\r\n" H "\r\n", 0, NULL },
    { "empty lines before it", "\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n", 0, NULL },
    { "bare LF before it", "\nGET / HTTP/1.1\r\n" H "\r\n", 400,
      "line feed without carriage return" },
    { "bare LF after the request line", "GET / HTTP/1.1\n" H "\r\n", 400,
      "line feed without carriage return" },
    { "bare LF after a field", "GET / HTTP/1.1\r\nHost: a\n\r\n", 400,
      "line feed without carriage return" },
    { "bare LF at the end", "GET / HTTP/1.1\r\n" H "\n", 400,
      "line feed without carriage return" },
    { "CR in the request line", "GET /\ra HTTP/1.1\r\n" H "\r\n", 400,
      "not a request line" },
    { "CR in a value", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400,
      "malformed header field" },
    { "folded", "GET / HTTP/1.1\r\n" H "A: b\r\n c\r\n\r\n", 400, "folded header field" },
    { "folded with a tab", "GET / HTTP/1.1\r\n" H "A: b\r\n\tc\r\n\r\n", 400,
      "folded header field" },
    { "folded first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400,
      "folded header field" },

    /* protocols that are not this one */
    { "TLS", "\x16\x03\x01\x02", 400, "not a request line" },
    { "HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\n", 505, "HTTP version not supported" },
    { "HTTP/0.9", "GET /\r\n\r\n", 400, "not a request line" },
    { "version 0.9", "GET / HTTP/0.9\r\n\r\n", 505, "HTTP version not supported" },
    { "version 1.2", "GET / HTTP/1.2\r\n" H "\r\n", 505, "HTTP version not supported" },
    { "version 2.0", "GET / HTTP/2.0\r\n" H "\r\n", 505, "HTTP version not supported" },
    { "version 1.10", "GET / HTTP/1.10\r\n" H "\r\n", 400, "not a request line" },
    { "version 1", "GET / HTTP/1\r\n" H "\r\n", 400, "not a request line" },
    { "lower case", "GET / http/1.1\r\n" H "\r\n", 400, "not a request line" },
    { "RTSP", "GET / RTSP/1.0\r\n\r\n", 400, "not a request line" },
    { "ICE", "SOURCE / ICE/1.0\r\n\r\n", 400, "not a request line" },

    /* the request line */
    { "unknown method", "BREW / HTTP/1.1\r\n" H "\r\n", 501, "method not implemented" },
    { "CONNECT", "CONNECT a:443 HTTP/1.1\r\n" H "\r\n", 501, "method not implemented" },
    { "method in lower case", "get / HTTP/1.1\r\n" H "\r\n", 400, "not a request line" },
    { "method with a comma", "GE,T / HTTP/1.1\r\n" H "\r\n", 400, "not a request line" },
    { "two blanks before the target", "GET  / HTTP/1.1\r\n" H "\r\n", 400,
      "malformed request target" },
    { "two blanks behind it", "GET /  HTTP/1.1\r\n" H "\r\n", 400,
      "malformed request target" },
    { "blank at the end", "GET / HTTP/1.1 \r\n" H "\r\n", 400, "not a request line" },
    { "tab for a blank", "GET\t/ HTTP/1.1\r\n" H "\r\n", 400, "not a request line" },
    { "no target", "GET HTTP/1.1\r\n" H "\r\n", 400, "not a request line" },
    { "relative target", "GET a HTTP/1.1\r\n" H "\r\n", 400, "malformed request target" },
    { "fragment", "GET /a#b HTTP/1.1\r\n" H "\r\n", 400, "malformed request target" },
    { "8 bits in the target", "GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n", 400,
      "malformed request target" },
    { "DEL in the target", "GET /\x7f HTTP/1.1\r\n" H "\r\n", 400,
      "malformed request target" },
    { "* to GET", "GET * HTTP/1.1\r\n" H "\r\n", 400, "malformed request target" },
    { "* to OPTIONS", "OPTIONS * HTTP/1.1\r\n" H "\r\n", 0, NULL },
    { "absolute", "GET http://A/b?c HTTP/1.1\r\n" H "\r\n", 0, NULL },
    { "absolute, without a path", "GET http://a HTTP/1.1\r\n" H "\r\n", 0, NULL },
    { "absolute, of another host", "GET http://b/ HTTP/1.1\r\n" H "\r\n", 400,
      "Host differs from the request target" },
    { "absolute, of another port", "GET http://a:80/ HTTP/1.1\r\n" H "\r\n", 400,
      "Host differs from the request target" },
    { "absolute, without Host in 1.0", "GET http://a/ HTTP/1.0\r\n\r\n", 0, NULL },
    { "absolute, with a user", "GET http://u@a/ HTTP/1.1\r\n" H "\r\n", 400,
      "malformed request target" },
    { "absolute, without a host", "GET http:///b HTTP/1.1\r\n" H "\r\n", 400,
      "malformed request target" },
    { "another scheme", "GET ftp://a/ HTTP/1.1\r\n" H "\r\n", 400,
      "malformed request target" },

    /* Host */
    { "no Host", "GET / HTTP/1.1\r\n\r\n", 400, "no Host" },
    { "no Host in 1.0", "GET / HTTP/1.0\r\n\r\n", 0, NULL },
    { "empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400, "malformed Host" },
    { "blank Host", "GET / HTTP/1.1\r\nHost: \t \r\n\r\n", 400, "malformed Host" },
    { "empty Host in 1.0", "GET / HTTP/1.0\r\nHost:\r\n\r\n", 400, "malformed Host" },
    { "two Hosts", "GET / HTTP/1.1\r\n" H "hOST: b\r\n\r\n", 400, "more than one Host" },
    { "two equal Hosts", "GET / HTTP/1.1\r\n" H H "\r\n", 400, "more than one Host" },
    { "Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "malformed Host" },
    { "Host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400, "malformed Host" },
    { "Host of IPv6", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 0, NULL },

    /* fields */
    { "empty name", "GET / HTTP/1.1\r\n" H ": b\r\n\r\n", 400, "malformed header field" },
    { "no colon", "GET / HTTP/1.1\r\n" H "A\r\n\r\n", 400, "malformed header field" },
    { "blank before the colon", "GET / HTTP/1.1\r\n" H "A : b\r\n\r\n", 400,
      "malformed header field" },
    { "blank in a name", "GET / HTTP/1.1\r\n" H "A b: c\r\n\r\n", 400,
      "malformed header field" },
    { "slash in a name", "GET / HTTP/1.1\r\n" H "A/b: c\r\n\r\n", 400,
      "malformed header field" },
    { "control in a value", "GET / HTTP/1.1\r\n" H "A: b\x01\r\n\r\n", 400,
      "malformed header field" },
    { "DEL in a value", "GET / HTTP/1.1\r\n" H "A: \x7f\r\n\r\n", 400,
      "malformed header field" },
    { "8 bits in a value", "GET / HTTP/1.1\r\n" H "A: \xc3\xa4\r\n\r\n", 0, NULL },
    { "empty value", "GET / HTTP/1.1\r\n" H "A:\r\n\r\n", 0, NULL },

    /* lengths */
    { "length", "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\n", 0, NULL },
    { "length with zeros", "POST / HTTP/1.1\r\n" H "Content-Length: 005\r\n\r\n", 0,
      NULL },
    { "length with blanks", "POST / HTTP/1.1\r\n" H "Content-Length:  5  \r\n\r\n", 0,
      NULL },
    { "length +5", "POST / HTTP/1.1\r\n" H "Content-Length: +5\r\n\r\n", 400,
      "malformed Content-Length" },
    { "length -5", "POST / HTTP/1.1\r\n" H "Content-Length: -5\r\n\r\n", 400,
      "malformed Content-Length" },
    { "length 0x5", "POST / HTTP/1.1\r\n" H "Content-Length: 0x5\r\n\r\n", 400,
      "malformed Content-Length" },
    { "length 5,5", "POST / HTTP/1.1\r\n" H "Content-Length: 5,5\r\n\r\n", 400,
      "malformed Content-Length" },
    { "length 5 5", "POST / HTTP/1.1\r\n" H "Content-Length: 5 5\r\n\r\n", 400,
      "malformed Content-Length" },
    { "empty length", "POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n", 400,
      "malformed Content-Length" },
    { "length of 19 digits",
      "POST / HTTP/1.1\r\n" H "Content-Length: 0000000000000000005\r\n\r\n", 400,
      "malformed Content-Length" },
    { "length over 64 bits",
      "POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999\r\n\r\n", 400,
      "malformed Content-Length" },
    { "two lengths",
      "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400,
      "conflicting message lengths" },
    { "two equal lengths",
      "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400,
      "conflicting message lengths" },
    { "length and chunked",
      "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
      400, "conflicting message lengths" },
    { "chunked and length",
      "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
      400, "conflicting message lengths" },
    { "chunked", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n", 0, NULL },
    { "Chunked", "POST / HTTP/1.1\r\n" H "transfer-encoding: CHUNKED\r\n\r\n", 0, NULL },
    { "chunked twice",
      "POST / HTTP/1.1\r\n" H
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      400, "conflicting message lengths" },
    { "gzip, chunked", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n",
      501, "transfer coding not implemented" },
    { "identity", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n", 501,
      "transfer coding not implemented" },
    { "xchunked", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n", 501,
      "transfer coding not implemented" },
    { "chunked in 1.0", "POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n", 400,
      "Transfer-Encoding in HTTP/1.0" },

    /* the rest */
    { "expects 100", "POST / HTTP/1.1\r\n" H "Expect: 100-continue\r\n\r\n", 0, NULL },
    { "expects 200", "POST / HTTP/1.1\r\n" H "Expect: 200-ok\r\n\r\n", 417,
      "expectation not supported" },
    { "upgrade is ignored",
      "GET / HTTP/1.1\r\n" H "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n", 0, NULL },
};

START_TEST(a_head_is_read_in_exactly_one_way_or_refused)
{
    struct adp_http_limits limits = limits_of();
    struct adp_http_head head;
    const struct adp_http_refusal *no =
        read_head(&head, rows[_i].head, strlen(rows[_i].head), &limits);
    /* llhttp and we both look at lengths; whoever sees it first words it. */
    ck_assert_msg((no ? no->status : 0) == rows[_i].status, "%s: %u %s", rows[_i].name,
                  no ? no->status : 0, no ? no->reason : "accepted");
    if (no)
        ck_assert_msg(strcmp(no->reason, rows[_i].reason) == 0, "%s: %s", rows[_i].name,
                      no->reason);
}
END_TEST

/* As above, but arriving byte by byte: the same answer, and never later than whole. */
START_TEST(the_same_byte_by_byte)
{
    struct adp_http_limits limits = limits_of();
    struct adp_http_head head;
    struct adp_http_scan scan = { 0 };
    const struct adp_http_refusal *no = NULL;
    size_t len = strlen(rows[_i].head);
    for (size_t n = 1; n <= len && !no && !scan.end; n++)
        no = adp_http_head_scan(&scan, rows[_i].head, n, &limits);
    if (!no) {
        ck_assert_uint_eq(scan.end, len);
        no = adp_http_head_parse(&head, rows[_i].head + scan.start, scan.end - scan.start,
                                 &limits);
    }
    ck_assert_msg((no ? no->status : 0) == rows[_i].status, "%s", rows[_i].name);
    if (no)
        ck_assert_str_eq(no->reason, rows[_i].reason);
}
END_TEST

START_TEST(a_nul_is_refused_wherever_it_is)
{
    struct adp_http_limits limits = limits_of();
    const char text[] = "GET /a HTTP/1.1\r\nHost: a\r\nAb: cd\r\n\r\n";
    const size_t len = sizeof text - 1;
    for (size_t i = 0; i < len; i++) {
        char bytes[sizeof text];
        struct adp_http_head head;
        struct adp_http_scan scan = { 0 };
        memcpy(bytes, text, len);
        bytes[i] = '\0';
        const struct adp_http_refusal *no =
            adp_http_head_scan(&scan, bytes, len, &limits);
        if (!no && !scan.end)
            continue; /* of an end of line: the head goes on */
        if (!no)
            no = adp_http_head_parse(&head, bytes + scan.start, scan.end - scan.start,
                                     &limits);
        ck_assert_msg(no != NULL, "accepted with a NUL at %zu", i);
    }
}
END_TEST

static void is(struct adp_http_text text, const char *expected)
{
    ck_assert_msg(adp_http_text_is(text, expected), "\"%.*s\", not \"%s\"", (int)text.len,
                  text.at, expected);
}

START_TEST(a_head_says_what_was_sent)
{
    struct adp_http_limits limits = limits_of();
    struct adp_http_head head;
    const char text[] =
        "POST http://example.org:9400/v1/decide?always200&a=b HTTP/1.1\r\n"
        "Host: example.org:9400\r\n"
        "X-Request-Id:\t r 1 \t\r\n"
        "EXPECT: 100-Continue\r\n"
        "Empty:\r\n"
        "content-length: 12\r\n\r\n";
    ck_assert_ptr_null(read_head(&head, text, sizeof text - 1, &limits));
    ck_assert_int_eq(head.method, ADP_HTTP_POST);
    ck_assert_uint_eq(head.minor, 1);
    is(head.path, "/v1/decide");
    is(head.query, "always200&a=b");
    is(head.host, "example.org:9400");
    ck_assert_uint_eq(head.content_length, 12);
    ck_assert(head.expects_continue && head.keep_alive && !head.chunked);
    ck_assert_uint_eq(head.n_fields, 5);
    is(head.fields[1].name, "X-Request-Id");
    is(head.fields[1].value, "r 1");
    is(head.fields[3].name, "Empty");
    is(head.fields[3].value, "");
}
END_TEST

static const struct {
    const char *head;
    bool keeps;
} kept[] = {
    { "GET / HTTP/1.1\r\n" H "\r\n", true },
    { "GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n", false },
    { "GET / HTTP/1.1\r\n" H "Connection: te, CLOSE\r\n\r\n", false },
    { "GET / HTTP/1.0\r\n\r\n", false },
    { "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true },
};

START_TEST(connections_are_kept_as_the_client_asks)
{
    struct adp_http_limits limits = limits_of();
    struct adp_http_head head;
    ck_assert_ptr_null(read_head(&head, kept[_i].head, strlen(kept[_i].head), &limits));
    ck_assert_int_eq(head.keep_alive, kept[_i].keeps);
}
END_TEST

START_TEST(an_expectation_of_http_1_0_is_ignored)
{
    struct adp_http_limits limits = limits_of();
    struct adp_http_head head;
    const char text[] =
        "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
    ck_assert_ptr_null(read_head(&head, text, sizeof text - 1, &limits));
    ck_assert(!head.expects_continue);
}
END_TEST

START_TEST(a_head_of_the_bound_passes_and_one_byte_more_is_431)
{
    struct adp_http_limits limits = limits_of();
    struct adp_http_head head;
    const char text[] = "GET / HTTP/1.1\r\nHost: abc\r\n\r\n"; /* 16 + 11 + 2 */
    limits.head_bytes = 29;
    ck_assert_ptr_null(read_head(&head, text, 29, &limits));
    limits.head_bytes = 28;
    const struct adp_http_refusal *no = read_head(&head, text, 29, &limits);
    ck_assert_ptr_nonnull(no);
    ck_assert_uint_eq(no->status, 431);
    limits.head_bytes = 15; /* not even the request line */
    no = read_head(&head, text, 29, &limits);
    ck_assert_ptr_nonnull(no);
    ck_assert_uint_eq(no->status, 414);
}
END_TEST

START_TEST(empty_lines_before_a_head_count_towards_its_bound)
{
    struct adp_http_limits limits = limits_of();
    struct adp_http_scan scan = { 0 };
    limits.head_bytes = 4;
    ck_assert_ptr_null(adp_http_head_scan(&scan, "\r\n\r\n", 4, &limits));
    ck_assert_ptr_nonnull(adp_http_head_scan(&scan, "\r\n\r\n\r\n", 6, &limits));
}
END_TEST

START_TEST(a_line_without_end_is_refused_once_it_is_too_long)
{
    struct adp_http_limits limits = limits_of();
    struct adp_http_scan scan = { 0 };
    char text[64];
    memset(text, 'A', sizeof text);
    limits.head_bytes = 63;
    ck_assert_ptr_null(adp_http_head_scan(&scan, text, 63, &limits));
    ck_assert_ptr_nonnull(adp_http_head_scan(&scan, text, 64, &limits));
}
END_TEST

START_TEST(as_many_fields_as_the_bound_pass_and_one_more_is_431)
{
    struct adp_http_limits limits = limits_of();
    struct adp_http_head head;
    const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nB: c\r\n\r\n";
    limits.fields = 2;
    ck_assert_ptr_null(read_head(&head, text, sizeof text - 1, &limits));
    limits.fields = 1;
    const struct adp_http_refusal *no = read_head(&head, text, sizeof text - 1, &limits);
    ck_assert_ptr_nonnull(no);
    ck_assert_uint_eq(no->status, 431);
}
END_TEST

/* RFC 9110, 5.6.2. */
START_TEST(a_token_is_letters_digits_and_fifteen_signs)
{
    static const char may[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789!#$%&'*+-.^_`|~";
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        ck_assert_msg(adp_http_is_token(&byte, 1) ==
                          (memchr(may, byte, sizeof may - 1) != NULL),
                      "byte %d", c);
    }
    ck_assert(!adp_http_is_token("", 0));
    ck_assert(!adp_http_is_token("a b", 3));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("head");
    TCase *t = tcase_create("head");
    const int n = sizeof rows / sizeof rows[0];
    tcase_add_loop_test(t, a_head_is_read_in_exactly_one_way_or_refused, 0, n);
    tcase_add_loop_test(t, the_same_byte_by_byte, 0, n);
    tcase_add_test(t, a_nul_is_refused_wherever_it_is);
    tcase_add_test(t, a_head_says_what_was_sent);
    tcase_add_loop_test(t, connections_are_kept_as_the_client_asks, 0,
                        sizeof kept / sizeof kept[0]);
    tcase_add_test(t, an_expectation_of_http_1_0_is_ignored);
    tcase_add_test(t, a_head_of_the_bound_passes_and_one_byte_more_is_431);
    tcase_add_test(t, empty_lines_before_a_head_count_towards_its_bound);
    tcase_add_test(t, a_line_without_end_is_refused_once_it_is_too_long);
    tcase_add_test(t, as_many_fields_as_the_bound_pass_and_one_more_is_431);
    tcase_add_test(t, a_token_is_letters_digits_and_fifteen_signs);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
