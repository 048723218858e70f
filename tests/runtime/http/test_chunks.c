/* SPDX-License-Identifier: MIT */
#include "runtime/http/chunks.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *sent;
    const char *body;   /* NULL: refused or not whole */
    uint32_t status;    /* 0: not refused */
    const char *behind; /* what is left for the next request */
} rows[] = {
    { "one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello", 0, "" },
    { "two chunks", "5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n", "hello, world", 0, "" },
    { "no chunk", "0\r\n\r\n", "", 0, "" },
    { "size in both cases", "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
      "01234567890123456789", 0, "" },
    { "leading zeros", "0005\r\nhello\r\n000\r\n\r\n", "hello", 0, "" },
    { "extension", "5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n", "hello", 0, "" },
    { "trailers", "5\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n", "hello", 0, "" },
    { "more behind it", "5\r\nhello\r\n0\r\n\r\nGET /", "hello", 0, "GET /" },
    { "CR LF in the data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", 0, "" },
    { "not whole", "5\r\nhel", NULL, 0, NULL },
    { "without the last line", "5\r\nhello\r\n0\r\n", NULL, 0, NULL },

    { "no size", "\r\nhello\r\n0\r\n\r\n", NULL, 400, NULL },
    { "extension without size", ";a\r\n", NULL, 400, NULL },
    { "size that is none", "xyz\r\n", NULL, 400, NULL },
    { "negative size", "-5\r\n", NULL, 400, NULL },
    { "size with 0x", "0x5\r\nhello\r\n", NULL, 400, NULL },
    { "blank before the size", " 5\r\nhello\r\n", NULL, 400, NULL },
    { "blank behind the size", "5 \r\nhello\r\n", NULL, 400, NULL },
    { "size of 17 digits", "00000000000000005\r\n", NULL, 400, NULL },
    { "size over the bound", "15\r\n", NULL, 413, NULL },
    { "size of 64 bits", "ffffffffffffffff\r\n", NULL, 413, NULL },
    { "together over the bound", "14\r\n01234567890123456789\r\n1\r\n", NULL, 413, NULL },
    { "bare LF behind the size", "5\nhello\r\n0\r\n\r\n", NULL, 400, NULL },
    { "CR without LF behind the size", "5\rxhello\r\n", NULL, 400, NULL },
    { "bare LF in an extension", "5;a\nhello\r\n", NULL, 400, NULL },
    { "NUL-like control in an extension", "5;a\x01\r\nhello\r\n", NULL, 400, NULL },
    { "data longer than its size", "4\r\nhello\r\n", NULL, 400, NULL },
    { "bare LF behind the data", "5\r\nhello\n0\r\n\r\n", NULL, 400, NULL },
    { "bare LF at the end", "5\r\nhello\r\n0\r\n\n", NULL, 400, NULL },
    { "bare LF behind a trailer", "0\r\nA: b\n\r\n", NULL, 400, NULL },
    { "folded trailer", "0\r\nA: b\r\n c\r\n\r\n", NULL, 400, NULL },
    { "trailer without a name", "0\r\n: b\r\n\r\n", NULL, 400, NULL },
};

static struct adp_http_limits small_limits(void)
{
    struct adp_http_limits limits = { .body_bytes = 20, .chunk_bytes = 64 };
    ck_assert_int_eq(adp_http_limits_settle(&limits), 0);
    return limits;
}

/* Hands over `step` bytes more at a time. */
static void try_row(int i, size_t step)
{
    struct adp_http_limits limits = small_limits();
    struct adp_http_chunks chunks = { 0 };
    const struct adp_http_refusal *no = NULL;
    size_t len = strlen(rows[i].sent);
    char *bytes = malloc(len);
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, rows[i].sent, len);
    for (size_t n = 0; n < len && !no;) {
        n = len - n > step ? n + step : len;
        no = adp_http_chunks_decode(&chunks, bytes, n, &limits);
    }
    ck_assert_msg((no ? no->status : 0) == rows[i].status, "%s: %u", rows[i].name,
                  no ? no->status : 0);
    ck_assert_msg(chunks.done == (rows[i].body != NULL), "%s", rows[i].name);
    if (rows[i].body) {
        ck_assert_uint_eq(chunks.body_len, strlen(rows[i].body));
        ck_assert_mem_eq(bytes, rows[i].body, chunks.body_len);
        ck_assert_str_eq(rows[i].sent + chunks.read, rows[i].behind);
    }
    free(bytes);
}

START_TEST(a_chunked_body_is_read_in_one_way_or_refused)
{
    try_row(_i, SIZE_MAX);
}
END_TEST

START_TEST(the_same_however_it_is_split)
{
    for (size_t step = 1; step < 8; step++)
        try_row(_i, step);
}
END_TEST

/* 64 bytes may be around the chunks: "0;" and 62 of an extension are, one more is too much. */
START_TEST(what_is_around_the_chunks_is_bounded)
{
    struct adp_http_limits limits = small_limits();
    char bytes[65];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, "0;", 2);
    struct adp_http_chunks chunks = { 0 };
    ck_assert_ptr_null(adp_http_chunks_decode(&chunks, bytes, 64, &limits));
    const struct adp_http_refusal *no =
        adp_http_chunks_decode(&chunks, bytes, 65, &limits);
    ck_assert_ptr_nonnull(no);
    ck_assert_str_eq(no->reason, "too much around the chunks");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("chunks");
    TCase *t = tcase_create("chunks");
    const int n = sizeof rows / sizeof rows[0];
    tcase_add_loop_test(t, a_chunked_body_is_read_in_one_way_or_refused, 0, n);
    tcase_add_loop_test(t, the_same_however_it_is_split, 0, n);
    tcase_add_test(t, what_is_around_the_chunks_is_bounded);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
