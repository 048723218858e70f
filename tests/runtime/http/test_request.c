/* SPDX-License-Identifier: MIT */
#include "runtime/http/http.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static struct adp_http_text text_of(const char *word)
{
    return (struct adp_http_text) { word, strlen(word) };
}

START_TEST(a_field_is_found_whatever_the_case_of_its_letters)
{
    const struct adp_http_field fields[] = {
        { text_of("X-Request-ID"), text_of("first") },
        { text_of("x-request-id"), text_of("second") },
        { text_of("X-Request-I["), text_of("'[' is no letter: not X-Request-I{") },
    };
    struct adp_http_request request = { .fields = fields, .n_fields = 3 };
    const struct adp_http_text *found = adp_http_field_find(&request, "x-request-id");
    ck_assert_ptr_eq(found, &fields[0].value);
    ck_assert_ptr_null(adp_http_field_find(&request, "x-request"));
    ck_assert_ptr_null(adp_http_field_find(&request, "x-request-id2"));
    ck_assert_ptr_null(adp_http_field_find(&request, "x-request-i{"));
}
END_TEST

static const struct {
    const char *query, *name, *value; /* NULL: not there */
} queries[] = {
    { "profile=nginx", "profile", "nginx" },
    { "a=b&profile=nginx", "profile", "nginx" },
    { "profile=a&profile=b", "profile", "a" },
    { "always200", "always200", "" },
    { "a&always200&b", "always200", "" },
    { "profile=", "profile", "" },
    { "profile=a=b", "profile", "a=b" },
    { "xprofile=a", "profile", NULL },
    { "profilex=a", "profile", NULL },
    { "", "profile", NULL },
    { "&&", "profile", NULL },
    { "&", "", "" }, /* the pair before '&' has the empty name */
};

START_TEST(a_query_gives_the_first_pair_of_a_name)
{
    struct adp_http_request request = { .query = text_of(queries[_i].query) };
    struct adp_http_text value = text_of("untouched");
    bool found = adp_http_query_find(&request, queries[_i].name, &value);
    ck_assert_int_eq(found, queries[_i].value != NULL);
    ck_assert(
        adp_http_text_is(value, queries[_i].value ? queries[_i].value : "untouched"));
}
END_TEST

START_TEST(no_query_has_no_pair)
{
    struct adp_http_request request = { 0 };
    struct adp_http_text value;
    ck_assert(!adp_http_query_find(&request, "a", &value));
}
END_TEST

static const struct {
    const char *text;
    bool plus;
    size_t cap;
    const char *decoded; /* NULL: refused */
} codes[] = {
    { "plain", false, 5, "plain" },
    { "plain", false, 4, NULL },
    { "%2Fa%2f", false, 9, "/a/" },
    { "%2", false, 9, NULL },
    { "%", false, 9, NULL },
    { "%2g", false, 9, NULL },
    { "%zz", false, 9, NULL },
    { "a+b", false, 9, "a+b" },
    { "a+b", true, 9, "a b" },
    { "%00", false, 9, NULL },
    { "%c3%A4", false, 2, "\xc3\xa4" },
    { "", false, 0, "" },
};

START_TEST(percent_encoding_is_undone_or_refused)
{
    char to[16];
    size_t n =
        adp_http_decode(text_of(codes[_i].text), codes[_i].plus, to, codes[_i].cap);
    ck_assert_uint_eq(n, codes[_i].decoded ? strlen(codes[_i].decoded) : SIZE_MAX);
    if (codes[_i].decoded)
        ck_assert_mem_eq(to, codes[_i].decoded, n);
}
END_TEST

START_TEST(limits_of_zero_become_the_stated_defaults)
{
    struct adp_http_limits limits = { .body_ms = 7 };
    ck_assert_int_eq(adp_http_limits_settle(&limits), 0);
    ck_assert_uint_eq(limits.head_bytes, 16384);
    ck_assert_uint_eq(limits.fields, 64);
    ck_assert_uint_eq(limits.body_bytes, 1048576);
    ck_assert_uint_eq(limits.chunk_bytes, 65536);
    ck_assert_uint_eq(limits.connections, 1024);
    ck_assert_uint_eq(limits.pipelined, 32);
    ck_assert_uint_eq(limits.out_bytes, 262144);
    ck_assert_uint_eq(limits.head_ms, 10000);
    ck_assert_uint_eq(limits.body_ms, 7);
    ck_assert_uint_eq(limits.idle_ms, 60000);
    ck_assert_uint_eq(limits.write_ms, 30000);
    ck_assert_uint_eq(limits.linger_ms, 2000);
}
END_TEST

START_TEST(a_limit_above_its_bound_is_refused)
{
    struct adp_http_limits limits = { .pipelined = 65 };
    ck_assert_int_eq(adp_http_limits_settle(&limits), UV_EINVAL);
    ck_assert_uint_eq(limits.head_bytes, 0); /* untouched */
    limits = (struct adp_http_limits) { .fields = 257 };
    ck_assert_int_eq(adp_http_limits_settle(&limits), UV_EINVAL);
    limits = (struct adp_http_limits) { .connections = 65001 };
    ck_assert_int_eq(adp_http_limits_settle(&limits), UV_EINVAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("request");
    TCase *t = tcase_create("request");
    tcase_add_test(t, a_field_is_found_whatever_the_case_of_its_letters);
    tcase_add_loop_test(t, a_query_gives_the_first_pair_of_a_name, 0,
                        sizeof queries / sizeof queries[0]);
    tcase_add_test(t, no_query_has_no_pair);
    tcase_add_loop_test(t, percent_encoding_is_undone_or_refused, 0,
                        sizeof codes / sizeof codes[0]);
    tcase_add_test(t, limits_of_zero_become_the_stated_defaults);
    tcase_add_test(t, a_limit_above_its_bound_is_refused);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
