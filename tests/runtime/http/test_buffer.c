/* SPDX-License-Identifier: MIT */
#include "runtime/http/buffer.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(what_is_appended_stays_when_the_buffer_grows)
{
    struct adp_http_pool pool = { 0 };
    struct adp_http_buffer b = { 0 };
    for (unsigned i = 0; i < 10000; i++)
        ck_assert_int_eq(adp_http_buffer_append(&pool, &b, "abcde", 5), 0);
    ck_assert_uint_eq(b.len, 50000);
    for (unsigned i = 0; i < 10000; i++)
        ck_assert_mem_eq(b.bytes + 5 * i, "abcde", 5);
    adp_http_buffer_release(&pool, &b);
    adp_http_pool_finish(&pool);
}
END_TEST

START_TEST(a_released_block_is_the_next_ones)
{
    struct adp_http_pool pool = { 0 };
    struct adp_http_buffer a = { 0 }, b = { 0 };
    ck_assert_int_eq(adp_http_buffer_append(&pool, &a, "x", 1), 0);
    char *block = a.bytes;
    adp_http_buffer_release(&pool, &a);
    ck_assert_ptr_null(a.bytes);
    ck_assert_int_eq(adp_http_buffer_append(&pool, &b, "y", 1), 0);
    ck_assert_ptr_eq(b.bytes, block);
    adp_http_buffer_release(&pool, &b);
    adp_http_pool_finish(&pool);
}
END_TEST

START_TEST(a_pooled_block_that_is_too_small_grows)
{
    struct adp_http_pool pool = { 0 };
    struct adp_http_buffer a = { 0 };
    ck_assert_int_eq(adp_http_buffer_append(&pool, &a, "x", 1), 0);
    adp_http_buffer_release(&pool, &a);
    char *room = adp_http_buffer_room(&pool, &a, 3 * ADP_HTTP_BLOCK);
    ck_assert_ptr_nonnull(room);
    memset(room, 'x', 3 * ADP_HTTP_BLOCK);
    adp_http_buffer_release(&pool, &a);
    adp_http_pool_finish(&pool);
}
END_TEST

START_TEST(the_pool_keeps_no_more_and_no_larger_than_stated)
{
    static struct adp_http_buffer many[ADP_HTTP_POOL_BLOCKS + 1];
    struct adp_http_pool pool = { 0 };
    struct adp_http_buffer large = { 0 };
    ck_assert_ptr_nonnull(adp_http_buffer_room(&pool, &large, ADP_HTTP_POOL_LARGEST + 1));
    adp_http_buffer_release(&pool, &large);
    ck_assert_uint_eq(pool.n, 0);
    for (unsigned i = 0; i <= ADP_HTTP_POOL_BLOCKS; i++)
        ck_assert_int_eq(adp_http_buffer_append(&pool, &many[i], "x", 1), 0);
    for (unsigned i = 0; i <= ADP_HTTP_POOL_BLOCKS; i++)
        adp_http_buffer_release(&pool, &many[i]);
    ck_assert_uint_eq(pool.n, ADP_HTTP_POOL_BLOCKS);
    adp_http_pool_finish(&pool);
}
END_TEST

START_TEST(more_than_there_can_be_is_out_of_memory)
{
    struct adp_http_pool pool = { 0 };
    struct adp_http_buffer a = { 0 };
    ck_assert_int_eq(adp_http_buffer_append(&pool, &a, "x", 1), 0);
    ck_assert_ptr_null(adp_http_buffer_room(&pool, &a, SIZE_MAX));
    ck_assert_uint_eq(a.len, 1);
    ck_assert_int_eq(a.bytes[0], 'x');
    adp_http_buffer_release(&pool, &a);
    adp_http_pool_finish(&pool);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("buffer");
    TCase *t = tcase_create("buffer");
    tcase_add_test(t, what_is_appended_stays_when_the_buffer_grows);
    tcase_add_test(t, a_released_block_is_the_next_ones);
    tcase_add_test(t, a_pooled_block_that_is_too_small_grows);
    tcase_add_test(t, the_pool_keeps_no_more_and_no_larger_than_stated);
    tcase_add_test(t, more_than_there_can_be_is_out_of_memory);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
