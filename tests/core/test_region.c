/* SPDX-License-Identifier: MIT */
#include "core/region.h"

#include "core/record.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { RING = 1 << 16 };

static const struct adp_shape shape = {
    .lanes = 2, .ring_bytes = RING, .control_bytes = RING, .tickets = 16
};
static void *memory;
static struct adp_region *region;

static void setup(void)
{
    size_t bytes = adp_region_bytes(&shape);
    memory = aligned_alloc(ADP_LINE_BYTES, bytes);
    ck_assert_ptr_nonnull(memory);
    memset(memory, 0, bytes);
    ck_assert_int_eq(adp_region_create(&region, memory, bytes, &shape, 7, NULL), 0);
}

static void teardown(void)
{
    adp_region_destroy(region);
    free(memory);
}

/* Puts one record; false when it was dropped. */
static bool put(uint32_t lane, uint32_t bytes)
{
    struct adp_record *r = adp_ring_begin(region, lane, bytes);
    if (!r)
        return false;
    r->kind = ADP_REC_OUTCOME;
    adp_ring_commit(region, lane, bytes);
    return true;
}

/* Takes what is there; returns how many records, checks that their numbers are `from`, ….
 */
static unsigned take_all(uint32_t lane, uint64_t *from)
{
    struct adp_ring *ring = adp_region_ring(region, lane);
    uint8_t *at = adp_region_bytes_of(region, lane);
    uint64_t head = ring->head, tail = ring->tail;
    unsigned n = 0;
    while (head != tail) {
        struct adp_record *r = (struct adp_record *)(void *)(at + head % RING);
        if (r->kind != ADP_REC_PAD) {
            ck_assert_uint_eq(r->seq, *from);
            (*from)++;
            n++;
        }
        head += r->bytes;
    }
    ring->head = head;
    return n;
}

START_TEST(a_full_ring_drops_the_newest_and_uses_up_its_number)
{
    /* 65,536 / 4,096 = 16 records fit, the next three do not. */
    for (int i = 0; i < 16; i++)
        ck_assert(put(1, 4096));
    for (int i = 0; i < 3; i++)
        ck_assert(!put(1, 4096));
    uint64_t next = 0;
    ck_assert_uint_eq(take_all(1, &next), 16);
    ck_assert_uint_eq(next, 16);
    ck_assert(put(1, 4096));
    next = 19;
    ck_assert_uint_eq(take_all(1, &next), 1);
    ck_assert_uint_eq(adp_region_ring(region, 1)->dropped, 3);
    ck_assert_uint_eq(adp_region_ring(region, 1)->next_seq, 20);
}
END_TEST

START_TEST(records_of_any_size_wrap_without_loss)
{
    uint64_t next = 0, put_count = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        ck_assert(put(2, 32 + i * 7 % 5000));
        put_count++;
        if (i % 3 == 0)
            take_all(2, &next);
    }
    take_all(2, &next);
    ck_assert_uint_eq(next, put_count);
}
END_TEST

START_TEST(a_record_above_half_of_the_ring_is_dropped_not_split)
{
    ck_assert_uint_eq(adp_ring_most(region, 1), RING / 2);
    ck_assert(!put(1, RING / 2 + 1));
    ck_assert(put(1, RING / 2));
}
END_TEST

/* At every place: also where all but eight bytes of it are passed over. */
START_TEST(an_empty_ring_takes_the_longest_record_wherever_it_is)
{
    uint64_t next = 0, place = 0, most = adp_ring_most(region, 1);
    struct adp_ring *ring = adp_region_ring(region, 1);
    for (uint64_t i = 0; i < RING / 8; i++) {
        ring->head = ring->tail = place = i * 8;
        ck_assert_msg(put(1, (uint32_t)most), "at %ju", (uintmax_t)place);
        ck_assert_uint_eq(take_all(1, &next), 1);
    }
    ck_assert_uint_eq(ring->dropped, 0);
}
END_TEST

START_TEST(lanes_and_control_do_not_touch_each_other)
{
    uint64_t a = 0, b = 0, c = 0;
    for (int i = 0; i < 5; i++)
        ck_assert(put(0, 64) && put(1, 128) && put(2, 256));
    ck_assert_uint_eq(take_all(0, &a), 5);
    ck_assert_uint_eq(take_all(1, &b), 5);
    ck_assert_uint_eq(take_all(2, &c), 5);
}
END_TEST

START_TEST(nothing_overlaps)
{
    /* Fill each part with its own byte; every part must still hold its own. */
    memset(adp_region_bytes_of(region, 0), 1, RING);
    memset(adp_region_bytes_of(region, 1), 2, RING);
    memset(adp_region_tickets(region, 1), 3, 16 * sizeof(struct adp_ticket_slot));
    memset((void *)adp_region_index(region, 1), 4,
           16 * ADP_INDEX_PER_TICKET * sizeof(uint32_t));
    memset(adp_region_bytes_of(region, 2), 5, RING);
    for (uint32_t i = 0; i < adp_region_snapshots(region); i++)
        memset(adp_region_snapshot(region, i), 6, sizeof(struct adp_snapshot));
    ck_assert_uint_eq(adp_region_bytes_of(region, 0)[RING - 1], 1);
    ck_assert_uint_eq(adp_region_bytes_of(region, 1)[0], 2);
    ck_assert_uint_eq(adp_region_bytes_of(region, 1)[RING - 1], 2);
    ck_assert_uint_eq(((uint8_t *)&adp_region_tickets(region, 1)[15])[0], 3);
    ck_assert_uint_eq(adp_region_index(region, 1)[63], 0x04040404u);
    ck_assert_uint_eq(adp_region_bytes_of(region, 2)[RING - 1], 5);
    ck_assert_uint_eq(adp_region_ring(region, 0)->tail, 0);
    ck_assert_uint_eq(adp_region_ring(region, 2)->tail, 0);
    ck_assert_uint_eq(*adp_region_current(region, 0), 0);
}
END_TEST

static const struct adp_shape unsound[] = {
    { .lanes = 0, .ring_bytes = RING, .control_bytes = RING, .tickets = 16 },
    { .lanes = 65, .ring_bytes = RING, .control_bytes = RING, .tickets = 16 },
    { .lanes = 1, .ring_bytes = RING + 8, .control_bytes = RING, .tickets = 16 },
    { .lanes = 1, .ring_bytes = 4096, .control_bytes = RING, .tickets = 16 },
    { .lanes = 1, .ring_bytes = RING, .control_bytes = 0, .tickets = 16 },
    { .lanes = 1, .ring_bytes = RING, .control_bytes = RING, .tickets = 17 },
};

START_TEST(unsound_shapes_are_refused)
{
    ck_assert_uint_eq(adp_region_bytes(&unsound[_i]), 0);
    struct adp_region *r = NULL;
    ck_assert_int_eq(adp_region_create(&r, memory, 1 << 20, &unsound[_i], 1, NULL),
                     ADP_EINVAL);
    ck_assert_ptr_null(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("region");
    TCase *t = tcase_create("region");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_full_ring_drops_the_newest_and_uses_up_its_number);
    tcase_add_test(t, records_of_any_size_wrap_without_loss);
    tcase_add_test(t, a_record_above_half_of_the_ring_is_dropped_not_split);
    tcase_add_test(t, an_empty_ring_takes_the_longest_record_wherever_it_is);
    tcase_add_test(t, lanes_and_control_do_not_touch_each_other);
    tcase_add_test(t, nothing_overlaps);
    tcase_add_loop_test(t, unsound_shapes_are_refused, 0,
                        sizeof unsound / sizeof unsound[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
