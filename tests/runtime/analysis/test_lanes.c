/* SPDX-License-Identifier: MIT */
#include "runtime/analysis/lanes.h"

#include <check.h>
#include <stdlib.h>

enum { A = 1, B = 2 }; /* instances */

static void seen(struct adp_lanes *lanes, uint64_t instance, int64_t lane, int64_t from,
                 int64_t past)
{
    for (int64_t seq = from; seq < past; seq++)
        ck_assert_int_eq(adp_lanes_seen(lanes, instance, lane, seq, false), 0);
}

START_TEST(whole_numbering_has_no_loss)
{
    struct adp_lanes lanes = { 0 };
    seen(&lanes, A, 0, 0, 10);
    seen(&lanes, A, 1, 0, 3);
    seen(&lanes, B, 0, 0, 1);
    struct adp_lanes_loss loss = adp_lanes_loss(&lanes);
    ck_assert_uint_eq(loss.unrecorded, 0);
    ck_assert_uint_eq(loss.recorded, 0);
    ck_assert_uint_eq(loss.repeated, 0);
    adp_lanes_finish(&lanes);
}
END_TEST

START_TEST(a_gap_is_a_loss_of_its_own_writer_only)
{
    struct adp_lanes lanes = { 0 };
    seen(&lanes, A, 0, 0, 5);
    seen(&lanes, A, 0, 8, 10); /* 5 6 7 missing */
    seen(&lanes, B, 0, 5, 8);  /* another writer's 5 6 7; its 0 … 4 missing */
    ck_assert_uint_eq(adp_lanes_loss(&lanes).unrecorded, 3 + 5);
    adp_lanes_finish(&lanes);
}
END_TEST

START_TEST(a_dropped_line_accounts_for_its_own_gap_only)
{
    struct adp_lanes lanes = { 0 };
    seen(&lanes, A, 0, 0, 5);
    seen(&lanes, A, 0, 8, 10);
    seen(&lanes, A, 0, 12, 13);                                 /* 10 11 missing too */
    ck_assert_int_eq(adp_lanes_dropped(&lanes, A, 0, 5, 3), 0); /* 5 6 7 */
    struct adp_lanes_loss loss = adp_lanes_loss(&lanes);
    ck_assert_uint_eq(loss.recorded, 3);
    ck_assert_uint_eq(loss.unrecorded, 2);
    adp_lanes_finish(&lanes);
}
END_TEST

START_TEST(a_dropped_line_without_a_place_accounts_by_number)
{
    struct adp_lanes lanes = { 0 };
    seen(&lanes, A, 0, 0, 5);
    seen(&lanes, A, 0, 8, 10);
    adp_lanes_dropped(&lanes, 0, -1, -1, 2);
    struct adp_lanes_loss loss = adp_lanes_loss(&lanes);
    ck_assert_uint_eq(loss.recorded, 2);
    ck_assert_uint_eq(loss.unrecorded, 1);
    adp_lanes_dropped(&lanes, 0, -1, -1, 5);
    ck_assert_uint_eq(adp_lanes_loss(&lanes).unrecorded, 0);
    adp_lanes_finish(&lanes);
}
END_TEST

/* 5 6 7 in two lines of which one stands twice, as after `cat`; 2 of no place, which may be others. */
START_TEST(a_dropped_line_that_stands_twice_accounts_once)
{
    struct adp_lanes lanes = { 0 }, more = { 0 };
    seen(&lanes, A, 0, 0, 5);
    seen(&lanes, A, 0, 8, 10);
    adp_lanes_dropped(&lanes, A, 0, 5, 2);
    adp_lanes_dropped(&lanes, A, 0, 7, 1);
    adp_lanes_dropped(&more, A, 0, 5, 2);
    adp_lanes_dropped(&more, 0, -1, -1, 2);
    ck_assert_uint_eq(adp_lanes_loss(&lanes).recorded, 3);
    ck_assert_int_eq(adp_lanes_merge(&lanes, &more), 0);
    ck_assert_uint_eq(adp_lanes_loss(&lanes).recorded, 3 + 2);
    ck_assert_uint_eq(adp_lanes_loss(&lanes).unrecorded, 0);
    adp_lanes_finish(&lanes);
    adp_lanes_finish(&more);
}
END_TEST

START_TEST(a_damaged_queue_is_a_loss_of_unknown_size)
{
    struct adp_lanes lanes = { 0 };
    adp_lanes_dropped(&lanes, A, 0, 5, 0);
    ck_assert_uint_eq(adp_lanes_loss(&lanes).damaged, 1);
    ck_assert_uint_eq(adp_lanes_loss(&lanes).recorded, 0);
    adp_lanes_finish(&lanes);
}
END_TEST

START_TEST(order_and_halves_do_not_matter)
{
    struct adp_lanes a = { 0 }, b = { 0 };
    seen(&a, A, 0, 6, 9);
    seen(&a, A, 0, 0, 2);
    seen(&b, A, 0, 3, 6);
    ck_assert_int_eq(adp_lanes_merge(&a, &b), 0);
    struct adp_lanes_loss loss = adp_lanes_loss(&a);
    ck_assert_uint_eq(loss.unrecorded, 1); /* 2 */
    ck_assert_uint_eq(loss.repeated, 0);
    adp_lanes_finish(&a);
    adp_lanes_finish(&b);
}
END_TEST

START_TEST(records_that_stand_twice_are_counted)
{
    struct adp_lanes lanes = { 0 };
    seen(&lanes, A, 0, 0, 10);
    seen(&lanes, A, 0, 4, 7);
    ck_assert_uint_eq(adp_lanes_loss(&lanes).repeated, 3);
    adp_lanes_finish(&lanes);
}
END_TEST

START_TEST(a_snapshot_fills_its_place_and_may_stand_again)
{
    struct adp_lanes a = { 0 }, b = { 0 };
    seen(&a, A, 0, 1, 4);
    adp_lanes_seen(&a, A, 0, 0, true);
    adp_lanes_seen(&b, A, 0, 0, true);
    seen(&b, A, 0, 4, 6);
    ck_assert(!adp_lanes_overlap(&a, &b));
    ck_assert(adp_lanes_share_writer(&a, &b));
    ck_assert_uint_eq(adp_lanes_loss(&a).unrecorded, 0);
    adp_lanes_merge(&a, &b);
    ck_assert_uint_eq(adp_lanes_loss(&a).unrecorded, 0);
    ck_assert_uint_eq(adp_lanes_loss(&a).repeated, 0);
    seen(&b, A, 0, 3, 4);
    ck_assert(adp_lanes_overlap(&a, &b));
    adp_lanes_finish(&a);
    adp_lanes_finish(&b);
}
END_TEST

START_TEST(what_is_beyond_another_is_counted_once_whatever_its_order)
{
    struct adp_lanes known = { 0 }, more = { 0 };
    seen(&known, A, 0, 4, 7);
    seen(&known, A, 0, 0, 2);
    seen(&known, A, 0, 5, 9); /* 0 1 4 … 8 */
    adp_lanes_settle(&known);
    seen(&more, A, 0, 6, 12); /* 9 10 11 are new */
    seen(&more, A, 0, 8, 10);
    seen(&more, A, 0, 1, 4); /* 2 3 */
    seen(&more, B, 0, 0, 2); /* 0 1 of another */
    seen(&more, 0, 0, 0, 1); /* of nobody: not known to be anybody's */
    ck_assert_uint_eq(adp_lanes_beyond(&more, &known, false), 3 + 2 + 2 + 1);
    ck_assert_uint_eq(adp_lanes_beyond(&more, &known, true), 0);
    static const bool there[] = { 1, 1, 0, 0, 1, 1, 1, 1, 1, 0 };
    for (int64_t seq = 0; seq < 10; seq++) {
        ck_assert_int_eq(adp_lanes_hold(&known, A, 0, seq, false), there[seq]);
        ck_assert(!adp_lanes_hold(&known, A, 0, seq, true));
        ck_assert(!adp_lanes_hold(&known, B, 0, seq, false));
    }
    adp_lanes_finish(&known);
    adp_lanes_finish(&more);
}
END_TEST

START_TEST(writers_without_a_name_are_not_the_same)
{
    struct adp_lanes a = { 0 }, b = { 0 };
    seen(&a, 0, 0, 0, 4);
    seen(&b, 0, 0, 0, 4);
    ck_assert(!adp_lanes_overlap(&a, &b));
    ck_assert(!adp_lanes_share_writer(&a, &b));
    adp_lanes_finish(&a);
    adp_lanes_finish(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lanes");
    TCase *t = tcase_create("lanes");
    tcase_add_test(t, whole_numbering_has_no_loss);
    tcase_add_test(t, a_gap_is_a_loss_of_its_own_writer_only);
    tcase_add_test(t, a_dropped_line_accounts_for_its_own_gap_only);
    tcase_add_test(t, a_dropped_line_without_a_place_accounts_by_number);
    tcase_add_test(t, a_dropped_line_that_stands_twice_accounts_once);
    tcase_add_test(t, a_damaged_queue_is_a_loss_of_unknown_size);
    tcase_add_test(t, order_and_halves_do_not_matter);
    tcase_add_test(t, records_that_stand_twice_are_counted);
    tcase_add_test(t, a_snapshot_fills_its_place_and_may_stand_again);
    tcase_add_test(t, what_is_beyond_another_is_counted_once_whatever_its_order);
    tcase_add_test(t, writers_without_a_name_are_not_the_same);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
