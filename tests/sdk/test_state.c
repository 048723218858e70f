/* SPDX-License-Identifier: MIT */
/* State that policies keep (admitperf/state.h): time, rates, saved bytes, tables. */
#include <admitperf/policy.h>
#include <admitperf/state.h>

#include <check.h>
#include <math.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/* --- time --- */

static const struct {
    uint64_t now, then, span;
    bool past;
} times[] = {
    { 10, 10, 0, true },
    { 10, 11, 0, true },
    { 10, 10, 1, false },
    { 11, 10, 1, true },
    { 10, 11, 1, false },
    { 0, ADP_SKEW_NS, 1, false },
    { 0, ADP_SKEW_NS + 1, 1, true },
    { 0, UINT64_MAX, UINT64_MAX, true },
    { UINT64_MAX, 0, UINT64_MAX, true },
    { UINT64_MAX, 1, UINT64_MAX, false },
};

START_TEST(a_span_is_past_when_it_went_by_or_can_never_come)
{
    ck_assert(adp_time_past(times[_i].now, times[_i].then, times[_i].span) ==
              times[_i].past);
}
END_TEST

static const struct {
    uint64_t at_ns, lap_ns;
} laps[] = {
    { 0, 0 }, /* the first */
    { 5, 5 }, /* a start at 0 is a start */
    { 5, 0 },
    { 3, 0 }, /* another thread's, a little behind */
    { 6, 1 }, /* and nothing counted twice */
    { 6 + 90 * S, 90 * S },
    { 7, 0 }, /* another clock: begins anew */
    { 9, 2 },
    { 9 + 2 * S, 2 * S },
    { 9 + S, 0 }, /* a second behind is a thread */
    { 9 + 2 * S + 4, 4 },
    { 9 + S + 3, 0 }, /* more is a clock */
    { 9 + S + 5, 2 },
};

START_TEST(no_nanosecond_is_counted_twice)
{
    struct adp_stopwatch w = { 0 };
    for (unsigned i = 0; i < sizeof laps / sizeof laps[0]; i++)
        ck_assert_msg(adp_stopwatch_lap(&w, laps[i].at_ns) == laps[i].lap_ns, "lap %u",
                      i);
}
END_TEST

/* --- rate: a window of 10 s --- */

static const struct {
    const char *claim;
    struct {
        uint64_t at_ms;
        double add; /* before the question */
        double per_s;
    } step[7];
} rates[] = {
    { "there is none until a window has passed",
      { { 0, 40, 0 },
        { 5000, 10, 0 },
        { 9999, 0, 0 },
        { 10000, 0, 5.0 }, /* 50 in the ten seconds before */
        { 15000, 0, 2.5 }, /* half of them still count */
        { 17500, 0, 1.25 },
        { 19000, 0, 0.5 } } },
    { "it is the mean over the whole window",
      { { 0, 0, 0 },
        { 9000, 30, 0 },
        { 10000, 0, 3.0 },
        { 12000, 16, 4.0 }, /* (30·0.8 + 16) / 10 */
        { 20000, 0, 1.6 },
        { 24000, 4, 1.36 }, /* (16·0.6 + 4) / 10 */
        { 29000, 0, 0.56 } } },
    { "silence of a whole window is no rate",
      { { 0, 50, 0 },
        { 10000, 0, 5.0 },
        { 30000, 0, 0 }, /* two windows on */
        { 30000, 20, 2.0 },
        { 40000, 0, 2.0 },
        { 1000000, 0, 0 },
        { 1000000, 10, 1.0 } } },
    { "another clock begins anew, another thread does not",
      { { 90000, 50, 0 },
        { 100000, 10, 6.0 },
        { 99500, 0, 6.0 },
        { 10, 7, 0 },
        { 10010, 0, 0.7 },
        { 10010, 0, 0.7 },
        { 15010, 0, 0.35 } } },
};

START_TEST(a_rate_is_measured_over_its_window)
{
    struct adp_rate r = { 0 };
    for (unsigned i = 0; i < 7; i++) {
        uint64_t now_ns = rates[_i].step[i].at_ms * MS;
        if (rates[_i].step[i].add > 0)
            adp_rate_add(&r, rates[_i].step[i].add, now_ns, 10 * S);
        double per_s = adp_rate_per_s(&r, now_ns, 10 * S);
        ck_assert_msg(fabs(per_s - rates[_i].step[i].per_s) < 1e-12, "%s: step %u: %.17g",
                      rates[_i].claim, i, per_s);
    }
}
END_TEST

static const struct {
    double amount, per_s, ms;
} drains[] = {
    { 10, 4, 2500 }, { 1000, 4, 30000 }, { 10, 0, 0 },
    { 10, -1, 0 },   { 0, 4, 0 },        { -1, 4, 0 },
    { 10, NAN, 0 },  { NAN, 4, 0 },      { 10, 1e-300, 30000 },
};

START_TEST(a_drain_time_is_stated_only_when_something_drains)
{
    ck_assert(adp_drain_ms(drains[_i].amount, drains[_i].per_s, 30000) == drains[_i].ms);
}
END_TEST

/* --- saved bytes --- */

struct kept {
    double level;
    uint64_t at;
    uint32_t n, pad;
};
static const struct kept kept = { 12.5, 77, 3, 0 };
enum { LAYOUT = 7, KEPT = ADP_SAVED_BYTES(sizeof(struct kept)) };

START_TEST(what_was_saved_is_read_back)
{
    unsigned char blob[KEPT + 5] = { 0 };
    struct kept back = { 0 };
    ck_assert_uint_eq(adp_saved_write(blob, sizeof blob, LAYOUT, &kept, sizeof kept),
                      KEPT);
    ck_assert_uint_eq(adp_saved_read(blob, sizeof blob, LAYOUT, &back, sizeof back),
                      KEPT);
    ck_assert_mem_eq(&back, &kept, sizeof kept);
    /* from any address */
    unsigned char moved[KEPT + 1];
    memcpy(moved + 1, blob, KEPT);
    back.level = 0;
    ck_assert_uint_eq(adp_saved_read(moved + 1, KEPT, LAYOUT, &back, sizeof back), KEPT);
    ck_assert(back.level == 12.5);
}
END_TEST

START_TEST(nothing_is_written_where_it_does_not_fit)
{
    unsigned char blob[KEPT];
    memset(blob, 0xa5, sizeof blob);
    for (uint64_t cap = 0; cap < KEPT; cap++)
        ck_assert_uint_eq(adp_saved_write(blob, cap, LAYOUT, &kept, sizeof kept), 0);
    for (unsigned i = 0; i < sizeof blob; i++)
        ck_assert_uint_eq(blob[i], 0xa5);
}
END_TEST

/* A blob of our own, made bad in one way. */
static void spoil(unsigned char *blob, uint64_t *len, uint32_t *layout, int how)
{
    switch (how) {
    case 0:
        *len = 0;
        break;
    case 1:
        *len = 23;
        break;
    case 2:
        *len -= 1;
        break;
    case 3:
        *layout = LAYOUT + 1;
        break;
    case 4:
        memset(blob, 0, (size_t)*len);
        break;
    case 5:
        for (uint64_t i = 0; i < *len; i++)
            blob[i] = (unsigned char)adp_mix64(i + 1);
        break;
    default: /* a body said to be longer than anything */
        memset(blob + 8, 0xff, 8);
        break;
    }
}

START_TEST(a_spoilt_blob_is_refused_and_leaves_the_state_alone)
{
    unsigned char blob[KEPT];
    uint64_t len = sizeof blob;
    uint32_t layout = LAYOUT;
    struct kept back = { .level = 1 };
    adp_saved_write(blob, sizeof blob, LAYOUT, &kept, sizeof kept);
    spoil(blob, &len, &layout, _i);
    ck_assert_uint_eq(adp_saved_read(blob, len, layout, &back, sizeof back), 0);
    ck_assert(back.level == 1 && back.at == 0);
}
END_TEST

START_TEST(any_flipped_bit_and_any_other_length_is_refused)
{
    unsigned char blob[KEPT];
    struct kept back = { 0 };
    adp_saved_write(blob, sizeof blob, LAYOUT, &kept, sizeof kept);
    for (unsigned bit = 0; bit < 8 * sizeof blob; bit++) {
        blob[bit / 8] = (unsigned char)(blob[bit / 8] ^ 1u << bit % 8);
        ck_assert_uint_eq(adp_saved_read(blob, KEPT, LAYOUT, &back, sizeof back), 0);
        blob[bit / 8] = (unsigned char)(blob[bit / 8] ^ 1u << bit % 8);
    }
    for (uint64_t len = 0; len < KEPT; len++)
        ck_assert_uint_eq(adp_saved_read(blob, len, LAYOUT, &back, sizeof back), 0);
    ck_assert_uint_eq(adp_saved_read(blob, KEPT, LAYOUT, &back, sizeof back - 8), 0);
    ck_assert_uint_eq(adp_saved_read(NULL, 0, LAYOUT, &back, sizeof back), 0);
    ck_assert_uint_eq(adp_saved_read(NULL, KEPT, LAYOUT, &back, sizeof back), 0);
}
END_TEST

/* --- table --- */

/* A table of its own, its block exactly as long as was asked for: ASan sees past it. */
static struct adp_table *table(uint32_t capacity, uint32_t payload)
{
    void *block = malloc((size_t)adp_table_bytes(capacity, payload));
    ck_assert_ptr_nonnull(block);
    return adp_table_init(block, capacity, payload);
}

static double *touch(struct adp_table *t, uint64_t key, uint64_t now_ns)
{
    return (double *)adp_table_touch(t, key, now_ns, NULL);
}

START_TEST(a_key_keeps_its_row_and_a_new_one_begins_at_zero)
{
    struct adp_table *t = table(4, sizeof(double));
    bool fresh = false;
    double *a = (double *)adp_table_touch(t, 0, 1, &fresh); /* key 0 is a key */
    ck_assert(fresh && *a == 0.0);
    *a = 1.5;
    double *b = (double *)adp_table_touch(t, UINT64_MAX, 2, &fresh);
    ck_assert(fresh && *b == 0.0 && b != a);
    ck_assert_ptr_eq(adp_table_touch(t, 0, 3, &fresh), a);
    ck_assert(!fresh && *a == 1.5);
    ck_assert_ptr_eq(adp_table_find(t, UINT64_MAX), b);
    ck_assert_ptr_null(adp_table_find(t, 7));
    ck_assert_uint_eq(t->count, 2);
    free(t);
}
END_TEST

START_TEST(a_full_table_gives_up_the_longest_idle)
{
    struct adp_table *t = table(3, sizeof(double));
    uint64_t key = 0, used_ns = 0;
    ck_assert_ptr_null(adp_table_oldest(t, &key, &used_ns));
    *touch(t, 10, 1) = 10;
    *touch(t, 20, 2) = 20;
    *touch(t, 30, 3) = 30;
    touch(t, 10, 4);       /* now 20 is the longest idle */
    adp_table_find(t, 20); /* looking is not touching */
    ck_assert(adp_table_full(t));
    ck_assert(*(double *)adp_table_oldest(t, &key, &used_ns) == 20);
    ck_assert(key == 20 && used_ns == 2);
    ck_assert(*touch(t, 40, 5) == 0.0);
    ck_assert_ptr_null(adp_table_find(t, 20));
    ck_assert(*(double *)adp_table_find(t, 10) == 10);
    ck_assert(*(double *)adp_table_find(t, 30) == 30);
    ck_assert(*touch(t, 50, 6) == 0.0); /* 30 goes */
    ck_assert_ptr_null(adp_table_find(t, 30));
    ck_assert_uint_eq(t->count, 3);
    free(t);
}
END_TEST

START_TEST(a_removed_key_is_gone_and_makes_room)
{
    struct adp_table *t = table(2, 1); /* a payload of one byte takes eight */
    touch(t, 1, 1);
    touch(t, 2, 2);
    ck_assert(adp_table_remove(t, 1));
    ck_assert(!adp_table_remove(t, 1));
    ck_assert(!adp_table_full(t));
    touch(t, 3, 3);
    ck_assert_ptr_nonnull(adp_table_find(t, 2)); /* nobody had to go */
    ck_assert(adp_table_remove(t, 2) && adp_table_remove(t, 3));
    ck_assert_ptr_null(adp_table_next(t, NULL));
    ck_assert_ptr_null(adp_table_oldest(t, NULL, NULL));
    free(t);
}
END_TEST

/* Against a list kept the slow way: 200,000 steps on 64 keys and 16 rows, then every key,
 * the order and the payloads must be the same. */
START_TEST(a_long_history_ends_as_a_plain_list_would)
{
    enum { ROWS = 16, KEYS = 64, DOINGS = 200000 };
    struct adp_table *t = table(ROWS, sizeof(double));
    uint64_t list[ROWS]; /* the longest idle first */
    unsigned n = 0;
    double value[KEYS] = { 0 };
    for (unsigned i = 0; i < DOINGS; i++) {
        uint64_t bits = adp_mix64(i), key = bits % KEYS;
        unsigned at = 0;
        while (at < n && list[at] != key)
            at++;
        if (bits >> 32 & 1) { /* remove */
            ck_assert(adp_table_remove(t, key) == (at < n));
        } else {
            if (at == n)
                value[key] = 0;
            double *row = touch(t, key, i);
            ck_assert(*row == value[key]);
            *row = value[key] = i;
            if (at == n && n == ROWS)
                at = 0;
        }
        if (at < n) {
            memmove(list + at, list + at + 1, (n - at - 1) * sizeof list[0]);
            n--;
        }
        if (!(bits >> 32 & 1))
            list[n++] = key;
        ck_assert_uint_eq(t->count, n);
        ck_assert(adp_table_full(t) == (n == ROWS));
    }
    unsigned i = 0;
    for (struct adp_row *row = adp_table_next(t, NULL); row;
         row = adp_table_next(t, row)) {
        ck_assert_uint_eq(row->key, list[i]);
        ck_assert(*(double *)(void *)(row + 1) == value[list[i]]);
        i++;
    }
    ck_assert_uint_eq(i, n);
    for (struct adp_row *row = adp_table_prev(t, NULL); row; row = adp_table_prev(t, row))
        ck_assert_uint_eq(row->key, list[--i]);
    ck_assert_uint_eq(i, 0);
    free(t);
}
END_TEST

START_TEST(one_row_is_a_table_too)
{
    struct adp_table *t = table(1, 24);
    touch(t, 1, 1)[2] = 9;
    ck_assert(touch(t, 2, 2)[2] == 0.0);
    ck_assert_ptr_null(adp_table_find(t, 1));
    ck_assert_uint_eq(t->count, 1);
    free(t);
}
END_TEST

enum { SAVED = ADP_TABLE_SAVED_BYTES(4, sizeof(double)) };

/* Keys 10, 30, 20 in the order of their last use. */
static uint64_t saved_three(unsigned char *blob)
{
    struct adp_table *t = table(4, sizeof(double));
    *touch(t, 10, 1) = 1.0;
    *touch(t, 20, 2) = 2.0;
    *touch(t, 30, 3) = 3.0;
    touch(t, 20, 4);
    uint64_t len = adp_table_save(t, blob, SAVED, LAYOUT);
    free(t);
    return len;
}

START_TEST(a_table_is_restored_in_the_order_of_use)
{
    unsigned char blob[SAVED];
    uint64_t len = saved_three(blob), key = 0, used_ns = 0;
    ck_assert_uint_eq(len, 24 + 8 + 3 * 24);
    struct adp_table *t = table(4, sizeof(double));
    touch(t, 99, 9); /* what was there goes */
    ck_assert_uint_eq(adp_table_restore(t, blob, len, LAYOUT), len);
    ck_assert_uint_eq(t->count, 3);
    ck_assert_ptr_null(adp_table_find(t, 99));
    ck_assert(*(double *)adp_table_find(t, 20) == 2.0);
    ck_assert(*(double *)adp_table_oldest(t, &key, &used_ns) == 1.0);
    ck_assert(key == 10 && used_ns == 1);
    ck_assert(adp_table_remove(t, 10));
    ck_assert(*(double *)adp_table_oldest(t, &key, &used_ns) == 3.0);
    /* and what it then saves is what it read */
    ck_assert_uint_eq(adp_table_restore(t, blob, len, LAYOUT), len);
    unsigned char again[SAVED];
    ck_assert_uint_eq(adp_table_save(t, again, sizeof again, LAYOUT), len);
    ck_assert_mem_eq(again, blob, len);
    free(t);
}
END_TEST

START_TEST(a_smaller_table_keeps_the_last_used)
{
    unsigned char blob[SAVED];
    uint64_t len = saved_three(blob);
    struct adp_table *t = table(2, sizeof(double));
    ck_assert_uint_eq(adp_table_restore(t, blob, len, LAYOUT), len);
    ck_assert_ptr_null(adp_table_find(t, 10));
    ck_assert_ptr_nonnull(adp_table_find(t, 20));
    ck_assert_ptr_nonnull(adp_table_find(t, 30));
    free(t);
}
END_TEST

START_TEST(a_full_table_fits_exactly_where_it_said)
{
    struct adp_table *t = table(4, sizeof(double));
    for (uint64_t key = 0; key < 9; key++)
        touch(t, key, key);
    unsigned char *blob = malloc(SAVED);
    ck_assert_ptr_nonnull(blob);
    ck_assert_uint_eq(adp_table_save(t, blob, SAVED - 1, LAYOUT), 0);
    ck_assert_uint_eq(adp_table_save(t, blob, 0, LAYOUT), 0);
    ck_assert_uint_eq(adp_table_save(t, blob, SAVED, LAYOUT), SAVED);
    free(blob);
    free(t);
}
END_TEST

START_TEST(a_spoilt_table_is_refused_and_left_empty)
{
    unsigned char blob[SAVED];
    uint64_t len = saved_three(blob);
    uint32_t layout = LAYOUT;
    struct adp_table *t = table(4, sizeof(double));
    touch(t, 99, 9);
    spoil(blob, &len, &layout, _i);
    ck_assert_uint_eq(adp_table_restore(t, blob, len, layout), 0);
    ck_assert_uint_eq(t->count, 0);
    ck_assert_ptr_null(adp_table_find(t, 99));
    touch(t, 1, 1); /* and works */
    ck_assert_uint_eq(t->count, 1);
    free(t);
}
END_TEST

/* Sealed, so the sum is right, but no table of these rows. */
START_TEST(a_whole_part_that_is_no_table_of_this_shape_is_refused)
{
    static const uint32_t bodies[][4] = {
        { 8, 4, 0, 0 }, { 16, 0, 0, 0 }, { 8, 0xffffffff, 0, 0 }, { 8, 0, 0, 0 }, { 0 },
    };
    unsigned char blob[SAVED];
    uint64_t body_len = _i == 4 ? 4 : 16;
    uint64_t len = adp_saved_write(blob, sizeof blob, LAYOUT, bodies[_i], body_len);
    struct adp_table *t = table(4, sizeof(double));
    ck_assert_uint_gt(len, 0);
    ck_assert_uint_eq(adp_table_restore(t, blob, len, LAYOUT), 0);
    ck_assert_uint_eq(t->count, 0);
    free(t);
}
END_TEST

START_TEST(parts_follow_one_another)
{
    unsigned char blob[KEPT + SAVED];
    uint64_t at = adp_saved_write(blob, sizeof blob, LAYOUT, &kept, sizeof kept);
    uint64_t len = at + saved_three(blob + at), got = 0;
    struct kept back;
    struct adp_table *t = table(4, sizeof(double));
    got = adp_saved_read(blob, len, LAYOUT, &back, sizeof back);
    ck_assert_uint_eq(got, at);
    ck_assert_uint_eq(got + adp_table_restore(t, blob + got, len - got, LAYOUT), len);
    ck_assert_uint_eq(t->count, 3);
    free(t);
}
END_TEST

#define N(a) (int)(sizeof(a) / sizeof((a)[0]))

/* --- lives --- */

START_TEST(a_life_knows_its_own_tickets_from_those_of_another)
{
    struct adp_life life = { 0, 0 };
    ck_assert(!adp_life_gave(&life, 0) && !adp_life_gave(&life, 7)); /* it gave none */
    uint64_t first = adp_life_ticket(&life, 0, 5);
    uint64_t second = adp_life_ticket(&life, 1, 9 * S);
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_eq(second, first + 1); /* whatever the time */
    ck_assert(adp_life_gave(&life, first) && adp_life_gave(&life, second));

    const struct adp_life saved = life; /* and the forerunner goes on */
    adp_life_restore(&life);
    ck_assert(!adp_life_gave(&life, first));
    const struct adp_life unused = life;
    ck_assert_uint_ne(adp_life_ticket(&life, 1, 9 * S), second);
    ck_assert(!adp_life_gave(&life, second));

    life = unused; /* saved and restored again before it gave a ticket */
    adp_life_restore(&life);
    ck_assert_uint_ne(adp_life_ticket(&life, 1, 9 * S), second);

    life = saved; /* the same bytes once more, later */
    adp_life_restore(&life);
    struct adp_life again = saved, fresh = { 0, 0 };
    adp_life_restore(&again);
    ck_assert_uint_ne(adp_life_ticket(&life, 1, 1), adp_life_ticket(&again, 1, 2));
    ck_assert_uint_ne(adp_life_ticket(&fresh, 0, 6), first); /* nothing was believed */
}
END_TEST

/* Saved before it gave a ticket, and then it goes on. Beyond it, the one after the next. */
START_TEST(lives_saved_before_their_first_ticket_give_none_of_each_other)
{
    static const struct adp_life forerunners[] = { { 0, 0 },
                                                   { 0, 1 },
                                                   { 0, UINT32_MAX } };
    for (uint64_t now_ns = 0; now_ns < 2000; now_ns++) {
        struct adp_life first = forerunners[now_ns % 3], second = first, third;
        adp_life_restore(&second);
        third = second;
        adp_life_restore(&third);
        uint64_t given = adp_life_ticket(&first, 1, now_ns);
        ck_assert(!adp_life_gave(&second, given));
        ck_assert_uint_ne(adp_life_ticket(&second, 1, now_ns), given);
        ck_assert(!adp_life_gave(&second, given));
        ck_assert_uint_ne(adp_life_ticket(&third, 1, now_ns), given);
        /* at another time too: 2^28 times, odd against even */
        second = forerunners[now_ns % 3];
        adp_life_restore(&second);
        adp_life_ticket(&second, 1, now_ns * 977);
        ck_assert_uint_ne(first.number % 2, second.number % 2);
        ck_assert(first.number && second.number && third.number);
    }
}
END_TEST

START_TEST(a_long_row_of_lives_never_gives_the_ticket_of_the_one_before)
{
    struct adp_life life = { UINT32_MAX, 0 };
    uint64_t before = (uint64_t)UINT32_MAX << 32;
    for (unsigned i = 0; i < 10000; i++) { /* wraps some hundred times */
        adp_life_restore(&life);
        uint64_t ticket = adp_life_ticket(&life, 0, i / 2);
        ck_assert(ticket != before && ticket >> 32 != 0);
        before = ticket;
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("state");
    TCase *t = tcase_create("state");
    tcase_add_loop_test(t, a_span_is_past_when_it_went_by_or_can_never_come, 0, N(times));
    tcase_add_test(t, no_nanosecond_is_counted_twice);
    tcase_add_test(t, a_life_knows_its_own_tickets_from_those_of_another);
    tcase_add_test(t, lives_saved_before_their_first_ticket_give_none_of_each_other);
    tcase_add_test(t, a_long_row_of_lives_never_gives_the_ticket_of_the_one_before);
    tcase_add_loop_test(t, a_rate_is_measured_over_its_window, 0, N(rates));
    tcase_add_loop_test(t, a_drain_time_is_stated_only_when_something_drains, 0,
                        N(drains));
    tcase_add_test(t, what_was_saved_is_read_back);
    tcase_add_test(t, nothing_is_written_where_it_does_not_fit);
    tcase_add_loop_test(t, a_spoilt_blob_is_refused_and_leaves_the_state_alone, 0, 7);
    tcase_add_test(t, any_flipped_bit_and_any_other_length_is_refused);
    tcase_add_test(t, a_key_keeps_its_row_and_a_new_one_begins_at_zero);
    tcase_add_test(t, a_full_table_gives_up_the_longest_idle);
    tcase_add_test(t, a_removed_key_is_gone_and_makes_room);
    tcase_add_test(t, a_long_history_ends_as_a_plain_list_would);
    tcase_add_test(t, one_row_is_a_table_too);
    tcase_add_test(t, a_table_is_restored_in_the_order_of_use);
    tcase_add_test(t, a_smaller_table_keeps_the_last_used);
    tcase_add_test(t, a_full_table_fits_exactly_where_it_said);
    tcase_add_loop_test(t, a_spoilt_table_is_refused_and_left_empty, 0, 7);
    tcase_add_loop_test(t, a_whole_part_that_is_no_table_of_this_shape_is_refused, 0, 5);
    tcase_add_test(t, parts_follow_one_another);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
