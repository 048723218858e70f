/* SPDX-License-Identifier: MIT */
/* Whatever waits is found, however ids hash. The hashes here are made, not computed. */
#include "core/ticket.h"

#include "tests/core/stage.h"

#include <pthread.h>
#include <sched.h>

enum { SLOTS = 4096, BUCKETS = SLOTS * ADP_INDEX_PER_TICKET };

enum { MANY = 110000 };

static struct stage stage;
static _Atomic uint64_t done, lost;
/* How often the ticket of request i came back, and how; settlers see their own. */
static _Atomic uint8_t came[MANY], came_lost[MANY];

static void decide(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

static void outcome(void *self, const struct adp_outcome *o)
{
    (void)self;
    atomic_fetch_add(o->kind == ADP_LOST ? &lost : &done, 1);
    atomic_fetch_add(&came[o->ticket - 1], 1);
    if (o->kind == ADP_LOST)
        atomic_fetch_add(&came_lost[o->ticket - 1], 1);
}

static const struct adp_policy policy = { ADP_HEAD, .name = "tickets",
                                          .threading = ADP_CONCURRENT, .decide = decide,
                                          .outcome = outcome };

static void open_stage(void)
{
    const struct adp_policy *policies[] = { &policy, NULL };
    stage_open(&stage, policies, 1 << 16, SLOTS);
    stage.generation->ticket_ns = UINT64_C(1) << 60;
    done = lost = 0;
    for (uint64_t i = 0; i < MANY; i++)
        came[i] = came_lost[i] = 0;
}

/* How the hash of request i comes about. */
static uint64_t all_the_same(uint64_t i)
{
    (void)i;
    return 0x0123456789abcdef;
}

static uint64_t one_bucket(uint64_t i)
{
    return i * BUCKETS + 7;
}

static uint64_t three_buckets(uint64_t i)
{
    return i / 3 * BUCKETS + i % 3;
}

static uint64_t scattered(uint64_t i)
{
    i *= 0x9e3779b97f4a7c15;
    return i ^ i >> 29;
}

static uint64_t (*const hashes[])(uint64_t i) = { all_the_same, one_bucket, three_buckets,
                                                  scattered };
enum { HASHES = sizeof hashes / sizeof hashes[0] };

static void name_it(struct adp_name *name, uint64_t i, uint64_t (*hash)(uint64_t i))
{
    char text[24];
    snprintf(text, sizeof text, "r%llu", (unsigned long long)i);
    adp_name_set(name, text);
    name->hash = hash(i);
}

static uint64_t now_ns = 1;

static uint64_t take(uint64_t i, uint64_t (*hash)(uint64_t i))
{
    const uint64_t tickets[ADP_MAX_POLICIES] = { i + 1 };
    struct adp_name name;
    name_it(&name, i, hash);
    return adp_ticket_take(stage.lane[0], &stage.generations, stage.generation, &name,
                           tickets, now_ns);
}

/* Its handle; 0: not found. */
static uint64_t settle(struct adp_lane *by, uint64_t i, uint64_t (*hash)(uint64_t i))
{
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    struct adp_name name, kept;
    uint64_t handle = 0;
    name_it(&name, i, hash);
    int code = adp_ticket_settle(by, &stage.generations, 0, &name, &o, &handle, &kept);
    if (code == ADP_ENOENT)
        return 0;
    ck_assert_int_eq(code, 0);
    ck_assert_uint_eq(kept.n, name.n);
    ck_assert_mem_eq(kept.p, name.p, name.n);
    return handle;
}

/* Whether something waits under this handle; it is settled. */
static bool settle_handle(struct adp_lane *by, uint64_t handle)
{
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    struct adp_name none = { 0 }, kept;
    uint64_t again = 0;
    int code =
        adp_ticket_settle(by, &stage.generations, handle, &none, &o, &again, &kept);
    ck_assert(code == ADP_ENOENT || (code == 0 && again == handle));
    return code == 0;
}

/* The order in which n are settled: from the oldest, from the newest, here and there. */
static uint64_t in_order(uint64_t k, unsigned order, uint64_t n)
{
    return order == 0 ? k : order == 1 ? n - 1 - k : k * 1367 % n;
}

/* Twice as many as there are slots: as many are LOST. */
START_TEST(every_request_that_waits_is_found_by_its_id_once)
{
    uint64_t (*hash)(uint64_t i) = hashes[_i % HASHES];
    static uint64_t handle[2 * SLOTS];
    open_stage();
    for (uint64_t i = 0; i < 2 * SLOTS; i++)
        handle[i] = take(i, hash);
    ck_assert_uint_eq(lost, SLOTS);
    for (uint64_t k = 0; k < 2 * SLOTS; k++) {
        uint64_t i = in_order(k, (unsigned)_i / HASHES, 2 * SLOTS);
        if (came_lost[i] && i % 97)
            continue;
        ck_assert_uint_eq(settle(stage.lane[1], i, hash), came_lost[i] ? 0 : handle[i]);
        if (k % 64 == 0)
            ck_assert_uint_eq(settle(stage.lane[1], i, hash), 0);
    }
    ck_assert_uint_eq(done, SLOTS);
    for (uint64_t i = 0; i < 2 * SLOTS; i++)
        ck_assert_uint_eq(came[i], 1);
    stage_close(&stage);
}
END_TEST

/* --- what waits long --- */

START_TEST(a_long_request_is_found_behind_a_hundred_thousand_short_ones)
{
    uint64_t (*hash)(uint64_t i) = hashes[_i % HASHES];
    open_stage();
    uint64_t first = take(0, hash), second = take(1, hash);
    for (uint64_t i = 2; i < 100002; i++)
        ck_assert(settle_handle(stage.lane[0], take(i, hash)));
    ck_assert_uint_eq(lost, 0);
    ck_assert(settle_handle(stage.lane[1], first));
    ck_assert_uint_eq(settle(stage.lane[1], 1, hash), second);
    ck_assert(!settle_handle(stage.lane[1], first));
    ck_assert_uint_eq(settle(stage.lane[1], 1, hash), 0);
    stage_close(&stage);
}
END_TEST

/* They stay from the start, one behind the other, while as many as there is room for come
 * and go in between. */
enum { STAY = 3000, GONE_AFTER = 900 };

START_TEST(three_thousand_stay_while_a_hundred_thousand_come_and_go)
{
    uint64_t (*hash)(uint64_t i) = hashes[_i % HASHES];
    static uint64_t handle[MANY];
    open_stage();
    for (uint64_t i = 0; i < STAY + 100000; i++) {
        handle[i] = take(i, hash);
        if (i >= STAY + GONE_AFTER)
            ck_assert(settle_handle(stage.lane[1], handle[i - GONE_AFTER]));
    }
    ck_assert_uint_eq(lost, 0);
    for (uint64_t k = 0; k < STAY; k++) {
        uint64_t i = in_order(k, (unsigned)_i / HASHES, STAY);
        if (k % 2)
            ck_assert(settle_handle(stage.lane[1], handle[i]));
        else
            ck_assert_uint_eq(settle(stage.lane[1], i, hash), handle[i]);
    }
    ck_assert_uint_eq(lost, 0);
    stage_close(&stage);
}
END_TEST

/* 64 slots of 4,096 would be free in each time around if 4,032 stayed: as many as that may.
 * All that stay on top are LOST, each told once, and no more than one at an admission. */
START_TEST(sixty_three_of_sixty_four_slots_may_wait_for_good)
{
    enum { MOST = SLOTS / 64 * 63, MORE = SLOTS - 10, SHORT = 20000 };
    uint64_t stay = _i ? MORE : MOST;
    open_stage();
    for (uint64_t i = 0; i < stay + SHORT; i++) {
        uint64_t before = lost, handle = take(i, scattered);
        ck_assert_uint_le(lost, before + 1);
        if (i >= stay)
            ck_assert(settle_handle(stage.lane[1], handle));
    }
    ck_assert(_i ? lost > 0 && lost <= MORE - MOST : lost == 0);
    for (uint64_t i = 0; i < stay; i++)
        ck_assert_uint_eq(settle(stage.lane[1], i, scattered) != 0, !came_lost[i]);
    for (uint64_t i = 0; i < stay + SHORT; i++)
        ck_assert_uint_eq(came[i], 1);
    stage_close(&stage);
}
END_TEST

/* All slots are taken for good: each more makes one LOST, of which it takes the place. What
 * steps were kept are gone after that many admissions at most; then it looks at one slot. */
START_TEST(one_too_many_makes_one_lost)
{
    open_stage();
    for (uint64_t i = 0; i < 3 * SLOTS; i++) {
        uint32_t turn = stage.lane[0]->next_ticket;
        take(i, one_bucket);
        ck_assert_uint_eq(lost, i < SLOTS ? 0 : i + 1 - SLOTS);
        if (i >= 2 * SLOTS)
            ck_assert_uint_eq(stage.lane[0]->next_ticket, turn + 1);
    }
    for (uint64_t i = 0; i < 3 * SLOTS; i++)
        ck_assert_uint_eq(came[i], came_lost[i]);
    stage_close(&stage);
}
END_TEST

/* A waits at 2 … 12; at 11 it is linked again, behind B of 5, which waits to 15. By then
 * the cursor stands at B. */
START_TEST(what_was_linked_again_is_given_up_at_its_own_time)
{
    enum { ROUND_OF_DECISIONS = SLOTS / 8 + 1 };
    open_stage();
    stage.generation->ticket_ns = 10;
    now_ns = 1;
    for (uint64_t i = 0; i < 10; i++)
        settle_handle(stage.lane[0], take(i, scattered));
    now_ns = 2;
    take(10, scattered);
    now_ns = 5;
    for (uint64_t i = 11; i < SLOTS + 5; i++) /* as far as before A's turn */
        if (i == SLOTS + 4)
            take(i, scattered);
        else
            settle_handle(stage.lane[0], take(i, scattered));
    now_ns = 11;
    for (uint64_t i = SLOTS + 5; i < SLOTS + 15; i++)
        settle_handle(stage.lane[0], take(i, scattered));
    ck_assert_uint_eq(lost, 0);
    now_ns = 12;
    for (int i = 0; i < 2 * ROUND_OF_DECISIONS; i++)
        adp_ticket_unslotted(stage.lane[0], &stage.generations, now_ns);
    ck_assert_uint_eq(lost, 0);
    now_ns = 13;
    for (int i = 0; i < ROUND_OF_DECISIONS; i++)
        adp_ticket_unslotted(stage.lane[0], &stage.generations, now_ns);
    ck_assert_uint_eq(lost, 1);
    ck_assert_uint_eq(came_lost[10], 1);
    now_ns = 16;
    for (int i = 0; i < ROUND_OF_DECISIONS; i++)
        adp_ticket_unslotted(stage.lane[0], &stage.generations, now_ns);
    ck_assert_uint_eq(came_lost[SLOTS + 4], 1);
    ck_assert_uint_eq(lost, 2);
    now_ns = 1;
    stage_close(&stage);
}
END_TEST

START_TEST(of_requests_of_one_id_the_newest_is_found_first)
{
    open_stage();
    uint64_t first = take(1, one_bucket), second = take(1, one_bucket);
    ck_assert_uint_eq(settle(stage.lane[1], 1, one_bucket), second);
    ck_assert_uint_eq(settle(stage.lane[1], 1, one_bucket), first);
    ck_assert_uint_eq(settle(stage.lane[1], 1, one_bucket), 0);
    stage_close(&stage);
}
END_TEST

/* Handles of other regions, as of an earlier run, with the same slots in use. */
START_TEST(a_handle_of_another_region_finds_nothing)
{
    enum { REGIONS = 100, EACH = 64 };
    static uint64_t foreign[REGIONS][EACH];
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    struct adp_name none = { 0 }, kept;
    uint64_t handle;
    for (unsigned r = 0; r < REGIONS; r++) {
        stage_instance = 1 + r; /* the worst: one after the other */
        open_stage();
        for (uint64_t i = 0; i < EACH; i++)
            foreign[r][i] = take(i, scattered);
        for (unsigned k = 0; k < r * EACH; k++)
            ck_assert_int_eq(adp_ticket_settle(stage.lane[1], &stage.generations,
                                               foreign[k / EACH][k % EACH], &none, &o,
                                               &handle, &kept),
                             ADP_ENOENT);
        ck_assert_int_eq(adp_ticket_settle(stage.lane[1], &stage.generations,
                                           foreign[r][0], &none, &o, &handle, &kept),
                         0);
        stage_close(&stage);
    }
}
END_TEST

/* As after a death: whatever the index says, and slots that lead anywhere. */
START_TEST(what_waits_is_found_after_its_writer_has_died)
{
    const uint64_t saved[ADP_MAX_POLICIES] = { UINT64_MAX }; /* all are known */
    open_stage();
    for (uint64_t i = 0; i < SLOTS + 100; i++)
        take(i, three_buckets);
    struct adp_ticket_slot *slots = adp_region_tickets(stage.region, 1);
    for (uint32_t i = 0; i < BUCKETS; i++)
        adp_region_index(stage.region, 1)[i] = _i ? i * 2654435761u : i;
    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i].older = _i ? i * 2246822519u : slots[i].turn;
    ck_assert_uint_eq(adp_ticket_inherit(stage.region, 1, stage.generation, 1, saved),
                      SLOTS);
    adp_ticket_resume(stage.lane[0]);
    take(SLOTS + 100, three_buckets); /* in place of one */
    ck_assert_uint_eq(lost, 101);
    for (uint64_t i = 0; i <= SLOTS + 100; i++)
        ck_assert_uint_eq(settle(stage.lane[1], i, three_buckets) != 0, !came_lost[i]);
    stage_close(&stage);
}
END_TEST

/* Few, here and there among the slots, some linked again just before. */
START_TEST(what_waits_far_apart_is_found_after_its_writer_has_died)
{
    enum { APART = 250, SHORT = 5 * SLOTS + 1234 };
    const uint64_t saved[ADP_MAX_POLICIES] = { UINT64_MAX }; /* all are known */
    uint64_t (*hash)(uint64_t i) = hashes[_i % HASHES], waiting = 0, n = 0;
    static bool stays[MANY];
    open_stage();
    for (; n < SHORT; n++) {
        uint64_t handle = take(n, hash);
        stays[n] = n % APART == 3;
        if (stays[n])
            waiting++;
        else
            ck_assert(settle_handle(stage.lane[1], handle));
    }
    memset((void *)adp_region_index(stage.region, 1), 0x5a, BUCKETS * sizeof(uint32_t));
    ck_assert_uint_eq(adp_ticket_inherit(stage.region, 1, stage.generation, 1, saved),
                      waiting);
    adp_ticket_resume(stage.lane[0]);
    for (; n < 2 * SHORT; n++)
        ck_assert(settle_handle(stage.lane[1], take(n, hash)));
    for (uint64_t i = 0; i < SHORT; i++)
        if (stays[i])
            ck_assert_uint_ne(settle(stage.lane[1], i, hash), 0);
    ck_assert_uint_eq(lost, 0);
    stage_close(&stage);
}
END_TEST

/* --- while the lane goes on --- */

#if defined __SANITIZE_THREAD__ /* some thirty times slower */
enum { ALONE = 0, ROUNDS = 24, LONG = 500, WALKED = 500 };
#else
enum { ALONE = 1, ROUNDS = 160, LONG = 2000, WALKED = STAY };
#endif
enum { SETTLERS = 2, BLOCK = 256, WINDOW = 900 };

static struct {
    uint64_t (*hash)(uint64_t i);
    _Atomic uint64_t taken, settled[SETTLERS]; /* all below */
    _Atomic uint64_t missed;
} shared;

/* Of those that were there first, 2 a block; they are linked again and again meanwhile. */
static void settle_long(uint64_t block)
{
    for (uint64_t i = 2 * block; i < 2 * block + 2; i++)
        if (!settle(stage.lane[1], in_order(i, 2, LONG), shared.hash))
            atomic_fetch_add(&shared.missed, 1);
}

/* Every second block, each backwards. */
static void *run_settler(void *arg)
{
    unsigned s = *(const unsigned *)arg;
    for (uint64_t block = s; block < ROUNDS; block += SETTLERS) {
        while (atomic_load(&shared.taken) < (block + 1) * BLOCK)
            sched_yield();
        for (uint64_t k = BLOCK; k-- > 0;)
            if (!settle(stage.lane[1], LONG + block * BLOCK + k, shared.hash))
                atomic_fetch_add(&shared.missed, 1);
        settle_long(block);
        atomic_store(&shared.settled[s], (block + 1) * BLOCK);
    }
    atomic_store(&shared.settled[s], UINT64_MAX);
    return NULL;
}

static uint64_t all_settled_below(void)
{
    uint64_t a = atomic_load(&shared.settled[0]), b = atomic_load(&shared.settled[1]);
    return a < b ? a : b;
}

START_TEST(settlers_find_everything_while_the_lane_takes)
{
    pthread_t thread[SETTLERS];
    static const unsigned number[SETTLERS] = { 0, 1 };
    shared.hash = hashes[_i];
    shared.missed = shared.taken = shared.settled[0] = shared.settled[1] = 0;
    open_stage();
    for (uint64_t i = 0; i < LONG; i++)
        take(i, shared.hash);
    for (unsigned s = 0; s < SETTLERS; s++)
        pthread_create(&thread[s], NULL, run_settler, (void *)&number[s]);
    for (uint64_t i = 0; i < ROUNDS * BLOCK; i++) {
        while (i >= WINDOW && all_settled_below() <= i - WINDOW)
            sched_yield();
        take(LONG + i, shared.hash);
        atomic_store(&shared.taken, i + 1);
    }
    for (unsigned s = 0; s < SETTLERS; s++)
        pthread_join(thread[s], NULL);
    ck_assert_uint_eq(shared.missed, 0);
    ck_assert_uint_eq(lost, 0);
    ck_assert_uint_eq(done, ROUNDS * BLOCK + 2 * ROUNDS);
    for (uint64_t k = 2 * ROUNDS; k < LONG; k++)
        ck_assert_uint_ne(settle(stage.lane[1], in_order(k, 2, LONG), shared.hash), 0);
    stage_close(&stage);
}
END_TEST

static _Atomic bool all_looked_for;

static void *look_for_long(void *arg)
{
    (void)arg;
    for (uint64_t k = 0; k < WALKED; k += 8)
        if (!settle(stage.lane[1], in_order(k, 2, WALKED), shared.hash))
            atomic_fetch_add(&shared.missed, 1);
    all_looked_for = true;
    return NULL;
}

/* One chain, or a few: each walk is long, and what it looks for is linked again before it. */
START_TEST(what_is_linked_again_during_a_walk_is_found)
{
    pthread_t thread;
    shared.hash = hashes[_i];
    shared.missed = 0;
    all_looked_for = false;
    open_stage();
    for (uint64_t i = 0; i < WALKED; i++)
        take(i, shared.hash);
    pthread_create(&thread, NULL, look_for_long, NULL);
    while (!all_looked_for)
        settle_handle(stage.lane[0], take(WALKED, shared.hash));
    pthread_join(thread, NULL);
    ck_assert_uint_eq(shared.missed, 0);
    ck_assert_uint_eq(lost, 0);
    stage_close(&stage);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ticket");
    TCase *t = tcase_create("ticket"), *threads = tcase_create("threads");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, of_requests_of_one_id_the_newest_is_found_first);
    tcase_add_test(t, a_handle_of_another_region_finds_nothing);
    tcase_add_loop_test(t, what_waits_is_found_after_its_writer_has_died, 0, 2);
    tcase_add_loop_test(t, what_waits_far_apart_is_found_after_its_writer_has_died, 0,
                        HASHES);
    tcase_add_loop_test(t, a_long_request_is_found_behind_a_hundred_thousand_short_ones,
                        0, HASHES);
    tcase_add_loop_test(t, three_thousand_stay_while_a_hundred_thousand_come_and_go, 0,
                        3 * HASHES);
    tcase_add_loop_test(t, sixty_three_of_sixty_four_slots_may_wait_for_good, 0, 2);
    tcase_add_test(t, one_too_many_makes_one_lost);
    tcase_add_test(t, what_was_linked_again_is_given_up_at_its_own_time);
    tcase_add_loop_test(t, every_request_that_waits_is_found_by_its_id_once, 0,
                        3 * HASHES);
    tcase_set_timeout(threads, 120);
    tcase_add_loop_test(threads, settlers_find_everything_while_the_lane_takes, 0,
                        HASHES);
    tcase_add_loop_test(threads, what_is_linked_again_during_a_walk_is_found, 0, HASHES);
    if (ALONE) /* what one thread does is nothing to TSan */
        suite_add_tcase(s, t);
    suite_add_tcase(s, threads);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK); /* TSan and fork do not go together */
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
