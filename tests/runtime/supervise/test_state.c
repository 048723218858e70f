/* SPDX-License-Identifier: MIT */
/* Saved state: whole or not there. */
#include "runtime/supervise/own.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct adp_worker w;
static void *memory;

static void begin(void)
{
    const struct adp_block_shape shape = { { 1, 1 << 16, 1 << 16, 16 }, 4, 4096 };
    size_t bytes = adp_block_bytes(&shape);
    ck_assert_uint_gt(bytes, 0);
    memory = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    ck_assert_ptr_nonnull(memory);
    memset(memory, 0, bytes);
    memset(&w, 0, sizeof w);
    adp_block_view(&w.block, &shape, memory);
}

static void end(void)
{
    free(memory);
}

static void save(const char *name, const char *text, uint64_t now_ns)
{
    void *to = adp_worker_save_begin(&w, name, 100);
    ck_assert_ptr_nonnull(to);
    memcpy(to, text, strlen(text));
    adp_worker_save_end(&w, strlen(text), now_ns);
}

static void expect(const char *name, const char *text, uint64_t saved_ns)
{
    size_t len = 0;
    uint64_t at = 0;
    const void *is = adp_worker_saved(&w, name, &len, &at);
    if (!text) {
        ck_assert_ptr_null(is);
        return;
    }
    ck_assert_ptr_nonnull(is);
    ck_assert_uint_eq(len, strlen(text));
    ck_assert_mem_eq(is, text, len);
    ck_assert_uint_eq(at, saved_ns);
}

START_TEST(the_last_whole_save_counts)
{
    expect("a", NULL, 0);
    save("a", "one", 10);
    save("b", "other", 11);
    expect("a", "one", 10);
    save("a", "two", 20);
    expect("a", "two", 20);
    save("a", "three", 30);
    expect("a", "three", 30);
    expect("b", "other", 11);
}
END_TEST

START_TEST(one_that_was_cut_short_leaves_the_one_before)
{
    save("a", "one", 10);
    void *to = adp_worker_save_begin(&w, "a", 100); /* and dies */
    memcpy(to, "tw", 2);
    expect("a", "one", 10);
    save("a", "two", 20);
    expect("a", "two", 20);
    adp_worker_save_begin(&w, "a", 100);
    adp_worker_save_end(&w, 0, 30); /* nothing to be saved */
    expect("a", "two", 20);
}
END_TEST

START_TEST(a_changed_byte_is_no_state)
{
    save("a", "one", 10);
    save("a", "two", 20);
    /* The second save went to the other copy. */
    uint32_t copy = w.block.states[0].copy[0].turn == 2 ? 0 : 1;
    adp_block_state(&w.block, 0, copy)[1] ^= 1;
    expect("a", "one", 10);
    w.block.states[0].copy[1 - copy].saved_ns++;
    expect("a", NULL, 0);
}
END_TEST

START_TEST(a_length_beyond_its_room_is_no_state)
{
    save("a", "one", 10);
    uint32_t copy = w.block.states[0].copy[0].turn == 1 ? 0 : 1;
    w.block.states[0].copy[copy].len = UINT64_MAX;
    expect("a", NULL, 0);
}
END_TEST

START_TEST(what_is_ordered_afresh_is_gone)
{
    save("keep", "k", 1);
    save("afresh", "a", 2);
    save("shut_out", "q", 3);
    w.welcome.n_orders = 2;
    memcpy(w.welcome.order[0].name, "afresh", 7);
    w.welcome.order[0].order = ADP_ORDER_AFRESH;
    memcpy(w.welcome.order[1].name, "shut_out", 9);
    w.welcome.order[1].order = ADP_ORDER_QUARANTINE;
    ck_assert_int_eq(adp_worker_order(&w, "afresh"), ADP_ORDER_AFRESH);
    ck_assert_int_eq(adp_worker_order(&w, "keep"), ADP_ORDER_RESTORE);
    adp_state_clear_ordered(&w);
    expect("keep", "k", 1);
    expect("afresh", NULL, 0);
    expect("shut_out", NULL, 0);
}
END_TEST

START_TEST(what_has_no_place_is_refused)
{
    char name[ADP_POLICY_NAME + 8];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    ck_assert_ptr_null(adp_worker_save_begin(&w, name, 1)); /* too long */
    ck_assert_ptr_null(adp_worker_save_begin(&w, "", 1));
    ck_assert_ptr_null(adp_worker_save_begin(&w, "A b", 1));
    ck_assert_ptr_null(adp_worker_save_begin(&w, "a", 4097));
    ck_assert_ptr_nonnull(adp_worker_save_begin(&w, "a", 4096));
    for (int i = 0; i < ADP_STATES - 1; i++) {
        snprintf(name, sizeof name, "n%d", i);
        save(name, "x", 1);
    }
    ck_assert_ptr_null(adp_worker_save_begin(&w, "one_more", 1));
    save("n0", "again", 2);
    expect("n0", "again", 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("state");
    TCase *t = tcase_create("state");
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, the_last_whole_save_counts);
    tcase_add_test(t, one_that_was_cut_short_leaves_the_one_before);
    tcase_add_test(t, a_changed_byte_is_no_state);
    tcase_add_test(t, a_length_beyond_its_room_is_no_state);
    tcase_add_test(t, what_is_ordered_afresh_is_gone);
    tcase_add_test(t, what_has_no_place_is_refused);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
