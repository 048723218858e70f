/* SPDX-License-Identifier: MIT */
/* The scraper over a simulated wire and clock: who answers when is a script. */
#include "runtime/scrape/scrape.h"

#include "tests/core/failing.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
#define S  1000000000ull

enum { MOST = 4 };

/* Simulated engines. */
static struct {
    uint64_t now;
    struct {
        uint64_t takes_ns; /* an answer; UINT64_MAX: none ever */
        enum adp_scrape_why why;
        const char *page;
        enum adp_promtext_format format;
        bool asked;
        uint64_t ready_ns;
        uint32_t times; /* it was asked */
        uint64_t asked_at[8];
    } engine[MOST];
    uint64_t stall_ns; /* added to the next wait: the machine slept */
} world;

static uint64_t mono(void *ctx)
{
    (void)ctx;
    return world.now;
}

static uint64_t wall(void *ctx)
{
    (void)ctx;
    return 1700000000u * S + world.now;
}

static void ask(void *ctx, uint32_t i)
{
    (void)ctx;
    if (world.engine[i].asked) /* Check's own claims allocate: see failing.h */
        abort();
    world.engine[i].asked = true;
    world.engine[i].ready_ns = world.engine[i].takes_ns == UINT64_MAX
                                   ? UINT64_MAX
                                   : world.now + world.engine[i].takes_ns;
    world.engine[i].asked_at[world.engine[i].times++ % 8] = world.now;
}

static void wait_for(void *ctx, uint64_t ns)
{
    (void)ctx;
    uint64_t until = world.now + ns;
    for (int i = 0; i < MOST; i++)
        if (world.engine[i].asked && world.engine[i].ready_ns < until)
            until = world.engine[i].ready_ns;
    world.now = (until > world.now ? until : world.now) + world.stall_ns;
    world.stall_ns = 0;
}

static bool take(void *ctx, struct adp_fetched *ret)
{
    (void)ctx;
    for (uint32_t i = 0; i < MOST; i++)
        if (world.engine[i].asked && world.engine[i].ready_ns <= world.now) {
            world.engine[i].asked = false;
            *ret = (struct adp_fetched) { .target = i, .why = world.engine[i].why };
            if (ret->why == ADP_SCRAPE_FINE) {
                ret->page = (char *)world.engine[i].page; /* an array where written to */
                ret->len = strlen(ret->page);
                ret->format = world.engine[i].format;
            } else
                snprintf(ret->text, sizeof ret->text, "as the script has it");
            return true;
        }
    return false;
}

static void wake(void *ctx)
{
    (void)ctx;
}

static const struct adp_wire wire = { NULL, ask, wait_for, take, wake };
static const struct adp_clock clock_of_the_world = { NULL, wall, mono, mono };
static const struct adp_scrape_options options = { .clock = &clock_of_the_world,
                                                   .wire = &wire };

static struct adp_scraper *open_scraper(uint32_t n, uint64_t interval_ns,
                                        uint64_t timeout_ns)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    struct adp_scrape_target targets[MOST] = { 0 };
    struct adp_scraper *s;
    struct adp_error err = { 0 };
    memset(&world, 0, sizeof world);
    world.now = 100 * S;
    for (uint32_t i = 0; i < n; i++) {
        targets[i] = (struct adp_scrape_target) { .name = names[i],
                                                  .url = "http://engine/metrics",
                                                  .interval_ns = interval_ns,
                                                  .timeout_ns = timeout_ns };
        world.engine[i].page = "up 1\n";
        world.engine[i].takes_ns = 10 * MS;
    }
    ck_assert_msg(adp_scraper_create(&s, targets, n, &options, &err) == 0, "%s",
                  err.text);
    return s;
}

/* The next round, waiting as long as it takes. */
static struct adp_scrape_round next_round(struct adp_scraper *s)
{
    struct adp_scrape_round round;
    for (int i = 0; i < 1000; i++)
        if (adp_scraper_step(s, 10 * S, &round))
            return round;
    ck_abort_msg("no round");
    return round;
}

static void page_is(const struct adp_scrape_round *round, const char *page)
{
    ck_assert_ptr_nonnull(round->page);
    ck_assert_msg(round->len == strlen(page) &&
                      memcmp(round->page, page, round->len) == 0,
                  "%.*s", (int)round->len, round->page);
}

START_TEST(an_hour_of_scraping_drifts_less_than_one_interval)
{
    struct adp_scraper *s = open_scraper(1, S, S);
    for (uint64_t k = 0; k < 3600; k++) {
        world.engine[0].takes_ns = (k * 37 % 500) * MS; /* 0 to 0.5 s */
        struct adp_scrape_round round = next_round(s);
        page_is(&round, "up 1\n");
        ck_assert_uint_eq(round.passed, 0);
        uint64_t asked = world.engine[0].asked_at[k % 8];
        ck_assert_uint_eq(asked, 100 * S + k * S);
    }
    ck_assert_uint_eq(world.engine[0].times, 3600);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(after_a_stall_there_is_no_burst)
{
    struct adp_scraper *s = open_scraper(1, S, S);
    next_round(s);
    world.stall_ns = 7 * S; /* of the wait for slot 101 */
    struct adp_scrape_round round = next_round(s);
    ck_assert_uint_eq(world.engine[0].times, 2);
    ck_assert_uint_eq(world.engine[0].asked_at[1], 108 * S);
    ck_assert_uint_eq(round.passed, 7); /* 101 to 107 */
    next_round(s);
    ck_assert_uint_eq(world.engine[0].asked_at[2], 109 * S);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(a_slow_target_is_not_asked_again_before_it_answered)
{
    struct adp_scraper *s = open_scraper(1, S, 5 * S);
    world.engine[0].takes_ns = 2300 * MS;
    next_round(s); /* 100 to 102.3, so slots 101 and 102 have nobody to ask */
    next_round(s); /* 102.3 is not too late for slot 102 */
    ck_assert_uint_eq(world.engine[0].asked_at[1], 102 * S + 300 * MS);
    struct adp_scrape_round round = next_round(s); /* 104.6 is, for slot 104: 105 */
    ck_assert_uint_eq(world.engine[0].asked_at[2], 105 * S);
    ck_assert_uint_eq(round.passed, 3); /* 101, 103, 104 */
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(a_failure_is_a_round_without_a_page_and_says_why)
{
    struct adp_scraper *s = open_scraper(1, S, S);
    next_round(s);
    world.engine[0].why = ADP_SCRAPE_TIMEOUT;
    struct adp_scrape_round round = next_round(s);
    ck_assert_ptr_null(round.page);
    ck_assert_uint_eq(round.n_failures, 1);
    ck_assert_int_eq(round.failures[0].why, ADP_SCRAPE_TIMEOUT);
    ck_assert_str_eq(round.failures[0].text, "a: timeout: as the script has it");
    ck_assert_uint_eq(round.gone, 1);
    world.engine[0].why = ADP_SCRAPE_FINE;
    round = next_round(s);
    page_is(&round, "up 1\n");
    ck_assert_uint_eq(round.n_failures, 0);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(what_reads_as_no_metrics_is_a_failure)
{
    struct adp_scraper *s = open_scraper(1, S, S);
    world.engine[0].page = "{\"status\":\"ok\"}";
    struct adp_scrape_round round = next_round(s);
    ck_assert_ptr_null(round.page);
    ck_assert_uint_eq(round.n_failures, 1);
    ck_assert_int_eq(round.failures[0].why, ADP_SCRAPE_NOT_METRICS);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(bad_lines_cost_themselves_and_are_counted)
{
    struct adp_scraper *s = open_scraper(1, S, S);
    world.engine[0].page = "up 1\nb none\n";
    struct adp_scrape_round round = next_round(s);
    page_is(&round, "up 1\nb none\n");
    ck_assert_uint_eq(round.bad_lines, 1);
    adp_scraper_destroy(s);
}
END_TEST

/* Of a pool: which page it was, though none of it is on the one that is given out. */
START_TEST(what_is_left_out_is_told_of_the_page_it_stands_on)
{
    struct adp_scraper *s = open_scraper(3, S, S);
    struct adp_error note = { 0 };
    char unended[] = "up 1\nq 5\nq 6"; /* written to */
    world.engine[1].page = "up 1\nb {} none\nup 2\n";
    world.engine[2].page = unended;
    struct adp_scrape_round round = next_round(s);
    ck_assert(!adp_scrape_left_note(&round.left[0], &note));
    ck_assert(adp_scrape_left_note(&round.left[1], &note));
    ck_assert_uint_eq(note.line, 2);
    ck_assert_uint_eq(note.column, 6);
    ck_assert_str_eq(
        note.text,
        "value is not a number; 1 of its lines left out; 1 of its series stand "
        "there more than once: the last value is taken");
    note.code = 0;
    ck_assert(adp_scrape_left_note(&round.left[2], &note));
    ck_assert_str_eq(note.text,
                     "the last line has no newline and may be cut: 2 lines left out, "
                     "of its metric and of any that may lack one");
    world.engine[1].why = ADP_SCRAPE_NOT_FOUND; /* held is not told again */
    round = next_round(s);
    note.code = 0;
    ck_assert(!adp_scrape_left_note(&round.left[1], &note));
    adp_scraper_destroy(s);
}
END_TEST

/* As whoever publishes rounds says it: what publishing noted is of the page that was published, and
 * that is the target's own where there is only one. */
START_TEST(a_note_names_the_page_it_is_about)
{
    static const struct adp_error nothing = { 0 };
    struct adp_error published = { .code = ADP_NOTE, .line = 7, .text = "of publishing" };
    struct adp_error note;
    struct adp_scraper *s = open_scraper(1, S, S);
    world.engine[0].page = "up 1\nb none\nq 1\nq 2\n";
    struct adp_scrape_round round = next_round(s);
    ck_assert(adp_scraper_note(s, &round, 0, &published, &note));
    ck_assert_str_eq(note.file, adp_scraper_name(s, 0));
    ck_assert_uint_eq(note.line, 7);
    ck_assert_str_eq(note.text,
                     "of publishing; 1 of its series stand there more than once: "
                     "the last value is taken");
    ck_assert(!adp_scraper_note(s, &round, 1, &published, &note));
    ck_assert(!adp_scraper_note(s, &round, ADP_SCRAPE_MAX_TARGETS, &published, &note));
    adp_scraper_destroy(s);

    s = open_scraper(2, S, S);
    world.engine[1].page = "up 1\nb none\n";
    round = next_round(s);
    ck_assert(!adp_scraper_note(s, &round, 0, &published, &note));
    ck_assert(adp_scraper_note(s, &round, 1, &published, &note));
    ck_assert_str_eq(note.file, adp_scraper_name(s, 1));
    ck_assert_uint_eq(note.line, 2);
    ck_assert_str_eq(note.text, "value is not a number; 1 of its lines left out");
    ck_assert(adp_scraper_note(s, &round, ADP_SCRAPE_MAX_TARGETS, &published, &note));
    ck_assert_str_eq(note.file, "the joined page");
    ck_assert_str_eq(note.text, "of publishing");
    ck_assert(!adp_scraper_note(s, &round, ADP_SCRAPE_MAX_TARGETS, &nothing, &note));
    adp_scraper_destroy(s);
}
END_TEST

/* 64 labels, and a `target` of its own that goes on as another (test_pool.c). */
START_TEST(a_label_without_room_is_told_in_words)
{
    struct adp_scrape_left left = { .no_room = 3 };
    struct adp_error note = { 0 };
    ck_assert(adp_scrape_left_note(&left, &note));
    ck_assert_str_eq(note.text,
                     "3 series left out, whose 65 labels leave no room for \"target\"");
}
END_TEST

START_TEST(what_the_last_line_is_about_is_left_out_without_its_newline)
{
    struct adp_scraper *s = open_scraper(1, S, S);
    char together[] = "up 1\nq{e=\"0\"} 5\nq{e=\"1\"} 12"; /* written to */
    world.engine[0].page = together;
    struct adp_scrape_round round = next_round(s);
    page_is(&round, "up 1\n          \n");
    ck_assert_uint_eq(round.cut_lines, 2);
    char apart[] = "q 5\nr 3\nq 40\nr 3";
    world.engine[0].page = apart;
    round = next_round(s);
    page_is(&round, "q 5\n   \nq 40\n");
    ck_assert_uint_eq(round.cut_lines, 2);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(a_page_of_which_nothing_is_sure_to_be_whole_was_cut)
{
    static const char *const cut[] = { "q 5",          "q 5\nr 3\nq 4",
                                       "up 1\n#",      "up 1\n# HELP q of",
                                       "up 1\nq{e=\"", "# TYPE q gauge\nq{e=\"" };
    struct adp_scraper *s = open_scraper(1, S, S);
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
        world.engine[0].page = cut[i];
        struct adp_scrape_round round = next_round(s);
        ck_assert_ptr_null(round.page);
        ck_assert_uint_eq(round.n_failures, 1);
        ck_assert_msg(round.failures[0].why == ADP_SCRAPE_CUT, "%s: %s", cut[i],
                      round.failures[0].text);
    }
    world.engine[0].page = "Not Found"; /* looks like a sample, and is no page */
    struct adp_scrape_round round = next_round(s);
    ck_assert_int_eq(round.failures[0].why, ADP_SCRAPE_NOT_METRICS);
    adp_scraper_destroy(s);
}
END_TEST

/* Asked at 0 s and 1 s; then it sleeps from before 2 s, when nothing is awaited, to 5.2 s: slots 2,
 * 3, 4 are passed over and 5 is taken. That page takes 3.5 s, to 8.7 s: 6, 7 and, being more than
 * half an interval late, 8. */
START_TEST(slots_are_blamed_on_a_page_or_on_a_sleep)
{
    struct adp_scraper *s = open_scraper(1, S, 10 * S);
    next_round(s);
    next_round(s);
    world.stall_ns = 3200 * MS;
    world.engine[0].takes_ns = 3500 * MS;
    struct adp_scrape_round round = next_round(s);
    ck_assert_uint_eq(round.passed, 3);
    ck_assert_uint_eq(round.slept, 3);
    world.engine[0].takes_ns = 10 * MS;
    round = next_round(s);
    ck_assert_uint_eq(world.now, 109010 * MS);
    ck_assert_uint_eq(round.passed, 6);
    ck_assert_uint_eq(round.slept, 3);
    adp_scraper_destroy(s);
}
END_TEST

/* As above, but asleep while a page is awaited that is there when it wakes. */
START_TEST(a_page_that_came_during_a_sleep_is_not_blamed)
{
    struct adp_scraper *s = open_scraper(1, S, 10 * S);
    next_round(s);
    world.engine[0].takes_ns = 100 * MS;
    struct adp_scrape_round round;
    ck_assert(!adp_scraper_step(s, 990 * MS, &round)); /* to slot 1 */
    ck_assert_uint_eq(world.now, 101 * S);
    world.stall_ns = 3 * S;
    ck_assert(adp_scraper_step(s, 200 * MS, &round));
    ck_assert_uint_eq(world.now, 104100 * MS);
    round = next_round(s); /* slot 4; 2 and 3 are gone */
    ck_assert_uint_eq(round.passed, 2);
    ck_assert_uint_eq(round.slept, 2);
    adp_scraper_destroy(s);
}
END_TEST

/* One has come, one takes 150 ms, one never answers: of an hour's interval a second is over. */
START_TEST(the_end_gives_what_came_and_fails_what_did_not)
{
    struct adp_scraper *s = open_scraper(3, 3600 * S, 3600 * S);
    struct adp_scrape_round round;
    world.engine[1].takes_ns = 1150 * MS;
    world.engine[2].takes_ns = UINT64_MAX;
    while (world.now < 101 * S)
        ck_assert(!adp_scraper_step(s, 101 * S - world.now, &round));
    ck_assert(adp_scraper_end(s, 200 * MS, &round));
    ck_assert_uint_eq(round.came, 3);
    ck_assert_uint_eq(round.n_failures, 1);
    ck_assert_uint_eq(round.failures[0].target, 2);
    ck_assert_int_eq(round.failures[0].why, ADP_SCRAPE_UNFINISHED);
    ck_assert_str_eq(round.failures[0].text,
                     "c: unfinished: cut short by the end, 1.2 s after it was asked for");
    ck_assert_uint_eq(world.now, 101200 * MS);
    ck_assert(!adp_scraper_end(s, 200 * MS, &round));
    ck_assert_uint_eq(world.now, 101200 * MS);
    adp_scraper_destroy(s);
}
END_TEST

static char *many_series(uint32_t n)
{
    char *page = malloc(n * 20 + 1), *p = page;
    ck_assert_ptr_nonnull(page);
    for (uint32_t i = 0; i < n; i++)
        p += snprintf(p, 20, "a{i=\"%u\"} 1\n", i);
    return page;
}

/* 40,000 and 30,000 and one are more than 65,536. */
START_TEST(of_pages_that_are_too_much_together_the_largest_fails_by_name)
{
    struct adp_scraper *s = open_scraper(3, S, S);
    char *first = many_series(40000), *second = many_series(30000);
    world.engine[0].page = first;
    world.engine[1].page = second;
    struct adp_scrape_round round = next_round(s);
    ck_assert_ptr_nonnull(round.page);
    ck_assert_uint_eq(round.fresh, 2);
    ck_assert_uint_eq(round.came, 6);
    ck_assert_uint_eq(round.gone, 1);
    ck_assert_uint_eq(round.n_failures, 1);
    ck_assert_int_eq(round.failures[0].why, ADP_SCRAPE_TOO_BIG);
    ck_assert_str_eq(round.failures[0].text,
                     "a: too_big: its 40000 series are more than the others' 30001 leave "
                     "room for, 65536 in all");
    adp_scraper_destroy(s);
    free(first);
    free(second);
}
END_TEST

START_TEST(a_page_of_several_formats_is_in_ours)
{
    struct adp_scraper *s = open_scraper(2, S, S);
    world.engine[0].page = "up 1 432000\n# EOF\n";
    world.engine[0].format = ADP_PROMTEXT_OPENMETRICS;
    world.engine[1].page = "up 2 432000\n# EOF\n";
    world.engine[1].format = ADP_PROMTEXT_TEXT;
    struct adp_scrape_round round = next_round(s);
    page_is(&round, "up{target=\"a\"} 1 432000000\nup{target=\"b\"} 2 432000\n");
    ck_assert_int_eq(round.format, ADP_PROMTEXT_TEXT);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(several_targets_make_one_page_per_slot)
{
    struct adp_scraper *s = open_scraper(2, S, S);
    world.engine[1].page = "up 2\n";
    world.engine[1].takes_ns = 300 * MS;
    struct adp_scrape_round round = next_round(s);
    page_is(&round,
            "up{target=\"a\"} 1 1700000100010\nup{target=\"b\"} 2 1700000100300\n");
    ck_assert_uint_eq(world.now, 100 * S + 300 * MS);
    ck_assert_uint_eq(round.fresh, 2);
    next_round(s);
    ck_assert_uint_eq(world.engine[0].asked_at[1], 101 * S);
    ck_assert_uint_eq(world.engine[1].asked_at[1], 101 * S);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(targets_that_are_shown_alike_are_told_apart)
{
    static const char *const urls[] = { "http://engine/metrics?key=x",
                                        "http://other/metrics",
                                        "http://me:word@engine/metrics?key=y",
                                        "http://engine/metrics?key=z",
                                        "unix:/tmp/v?key=x",
                                        "http://named/metrics" };
    static const char *const names[] = { "http://engine/metrics?...",
                                         "http://other/metrics",
                                         "http://engine/metrics?...#2",
                                         "http://engine/metrics?...#3",
                                         "unix:/tmp/v?...",
                                         "...@h:80" };
    struct adp_scrape_target targets[6] = { 0 };
    struct adp_scraper *s;
    for (int i = 0; i < 6; i++)
        targets[i] = (struct adp_scrape_target) { .url = urls[i],
                                                  .interval_ns = S,
                                                  .timeout_ns = S };
    targets[5].name = "me:word@h:80"; /* names that were given are shown no otherwise */
    ck_assert_int_eq(adp_scraper_create(&s, targets, 6, &options, NULL), 0);
    for (uint32_t i = 0; i < 6; i++)
        ck_assert_str_eq(adp_scraper_name(s, i), names[i]);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(one_that_fails_is_held_with_its_time_and_then_gone)
{
    struct adp_scraper *s = open_scraper(2, S, S);
    next_round(s);
    world.engine[1].why = ADP_SCRAPE_CONNECTION_REFUSED;
    /* It came at 100.01; 5 s later it is gone. */
    for (int k = 1; k <= 4; k++) {
        struct adp_scrape_round round = next_round(s);
        char page[96];
        snprintf(page, sizeof page,
                 "up{target=\"a\"} 1 170000010%d010\nup{target=\"b\"} 1 1700000100010\n",
                 k);
        page_is(&round, page);
        ck_assert_uint_eq(round.held, 1);
        ck_assert_str_eq(round.failures[0].text,
                         "b: connection_refused: as the script has it");
    }
    struct adp_scrape_round round = next_round(s); /* 105.01: exactly 5 s */
    ck_assert_uint_eq(round.held, 1);
    round = next_round(s);
    page_is(&round, "up{target=\"a\"} 1 1700000106010\n");
    ck_assert_uint_eq(round.held, 0);
    ck_assert_uint_eq(round.gone, 1);
    world.engine[1].why = ADP_SCRAPE_FINE;
    round = next_round(s);
    page_is(&round,
            "up{target=\"a\"} 1 1700000107010\nup{target=\"b\"} 1 1700000107010\n");
    adp_scraper_destroy(s);
}
END_TEST

/* So many series of name x. To be freed. */
static char *wide_page(unsigned series)
{
    char *page = malloc(16 * (size_t)series + 1), *p = page;
    ck_assert_ptr_nonnull(page);
    for (unsigned i = 0; i < series; i++)
        p += snprintf(p, 16, "x{a=\"%u\"} 1\n", i);
    return page;
}

/* Asked at 100, 101, ...; each page comes 10 ms later. */
START_TEST(one_that_cannot_be_read_is_held_like_any_that_fails)
{
    char *wide = wide_page(ADP_METRICS_MAX_SERIES + 1);
    const struct {
        const char *page;
        enum adp_scrape_why why;
    } bad[] = { { "q 5", ADP_SCRAPE_CUT },
                { "q 5\n# HE", ADP_SCRAPE_CUT },
                { "hello world\n", ADP_SCRAPE_NOT_METRICS },
                { "[]", ADP_SCRAPE_NOT_METRICS },
                { wide, ADP_SCRAPE_TOO_BIG } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct adp_scraper *s = open_scraper(2, S, S);
        next_round(s);
        world.engine[1].page = bad[i].page;
        for (unsigned k = 1; k <= 2; k++) {
            struct adp_scrape_round round = next_round(s);
            char page[96];
            snprintf(page, sizeof page,
                     "up{target=\"a\"} 1 170000010%u010\nup{target=\"b\"} 1 "
                     "1700000100010\n",
                     k);
            page_is(&round, page);
            ck_assert_uint_eq(round.held, 1);
            ck_assert_uint_eq(round.gone, 0);
            ck_assert_uint_eq(round.n_failures, 1);
            ck_assert_int_eq(round.failures[0].why, bad[i].why);
        }
        world.engine[1].page = "up 2\n";
        struct adp_scrape_round round = next_round(s);
        page_is(&round, "up{target=\"a\"} 1 1700000103010\n"
                        "up{target=\"b\"} 2 1700000103010\n");
        adp_scraper_destroy(s);
    }
    free(wide);
}
END_TEST

/* 65,536 of one and 1 of the other are one too many. */
START_TEST(a_page_that_has_no_room_in_the_pool_costs_not_what_is_held_of_it)
{
    char *wide = wide_page(ADP_METRICS_MAX_SERIES);
    struct adp_scraper *s = open_scraper(2, S, S);
    next_round(s);
    world.engine[1].page = wide;
    struct adp_scrape_round round = next_round(s);
    page_is(&round, "up{target=\"a\"} 1 1700000101010\n"
                    "up{target=\"b\"} 1 1700000100010\n");
    ck_assert_uint_eq(round.held, 1);
    ck_assert_uint_eq(round.came, 1);
    ck_assert_int_eq(round.failures[0].why, ADP_SCRAPE_TOO_BIG);
    /* The same where it is the only one that came. */
    world.engine[0].why = ADP_SCRAPE_TIMEOUT;
    round = next_round(s);
    ck_assert_ptr_null(round.page);
    ck_assert_uint_eq(round.n_failures, 2);
    world.engine[0].why = ADP_SCRAPE_FINE;
    world.engine[1].why = ADP_SCRAPE_TIMEOUT;
    round = next_round(s);
    page_is(&round, "up{target=\"a\"} 1 1700000103010\n"
                    "up{target=\"b\"} 1 1700000100010\n");
    adp_scraper_destroy(s);
    free(wide);
}
END_TEST

START_TEST(all_failing_is_a_round_without_a_page)
{
    struct adp_scraper *s = open_scraper(2, S, S);
    next_round(s);
    world.engine[0].why = world.engine[1].why = ADP_SCRAPE_NOT_FOUND;
    struct adp_scrape_round round = next_round(s);
    ck_assert_ptr_null(round.page);
    ck_assert_uint_eq(round.n_failures, 2);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(a_stalled_target_does_not_hold_the_others_up)
{
    struct adp_scraper *s = open_scraper(2, S, 5 * S);
    world.engine[1].takes_ns = 5 * S;
    world.engine[1].why = ADP_SCRAPE_TIMEOUT;
    for (uint64_t k = 0; k < 5; k++) {
        struct adp_scrape_round round = next_round(s);
        char page[48];
        snprintf(page, sizeof page, "up{target=\"a\"} 1 170000010%d010\n", (int)k);
        page_is(&round, page);
        /* In slot 100 both are waited for; later the stalled one was not asked. */
        ck_assert_uint_eq(world.now, 100 * S + k * S + (k == 0 ? 900 * MS : 10 * MS));
        ck_assert_uint_eq(round.n_failures, 0);
    }
    struct adp_scrape_round round = next_round(s); /* the failure, at 105 s */
    ck_assert_uint_eq(round.n_failures, 1);
    ck_assert_int_eq(round.failures[0].why, ADP_SCRAPE_TIMEOUT);
    ck_assert_uint_eq(world.now, 105 * S);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(a_step_waits_no_longer_than_it_may)
{
    struct adp_scraper *s = open_scraper(1, S, 5 * S);
    struct adp_scrape_round round;
    world.engine[0].takes_ns = 3 * S;
    ck_assert(!adp_scraper_step(s, 250 * MS, &round));
    ck_assert_uint_eq(world.now, 100 * S + 250 * MS);
    adp_scraper_destroy(s);
}
END_TEST

/* Whichever allocation fails: no page, a reason, and the next is whole again. */
START_TEST(without_memory_there_is_a_reason_and_never_half_a_page)
{
    struct adp_scraper *s = NULL;
    unsigned failed_rounds = 0;
    for (unsigned long nth = 1; nth < 40; nth++) {
        adp_scraper_destroy(s);
        s = open_scraper(2, S, S);
        fail_allocation(nth);
        struct adp_scrape_round round = next_round(s);
        fail_allocation(0);
        if (round.n_failures) {
            failed_rounds++;
            ck_assert_int_eq(round.failures[0].why, ADP_SCRAPE_NO_MEMORY);
        } else
            page_is(&round, "up{target=\"a\"} 1 1700000100010\n"
                            "up{target=\"b\"} 1 1700000100010\n");
        round = next_round(s);
        page_is(&round, "up{target=\"a\"} 1 1700000101010\n"
                        "up{target=\"b\"} 1 1700000101010\n");
    }
    ck_assert_uint_gt(failed_rounds, 0);
    adp_scraper_destroy(s);
}
END_TEST

START_TEST(without_memory_there_is_no_scraper)
{
    const struct adp_scrape_target target = { .url = "http://h",
                                              .interval_ns = S,
                                              .timeout_ns = S };
    struct adp_scraper *s = NULL;
    unsigned long nth = 1;
    int code = ADP_ENOMEM;
    for (; code == ADP_ENOMEM; nth++) {
        fail_allocation(nth);
        code = adp_scraper_create(&s, &target, 1, NULL, NULL);
        fail_allocation(0);
        ck_assert(code == 0 ? s != NULL : s == NULL);
    }
    ck_assert_int_eq(code, 0);
    ck_assert_uint_gt(nth, 5);
    adp_scraper_destroy(s);
}
END_TEST

static const struct {
    struct adp_scrape_target target;
    const char *says;
} wrong[] = {
    { { .url = "h:8000", .interval_ns = S, .timeout_ns = S }, "not an address" },
    { { .name = "n", .url = "x", .interval_ns = S, .timeout_ns = S },
      "n: not an address" },
    { { .url = "http://u:p@h/m?s", .timeout_ns = S }, "http://h/m?...: no interval" },
    { { .url = "http://h/m", .interval_ns = S, .timeout_ns = S, .cert_file = "c" },
      "given together" },
};

START_TEST(a_target_that_cannot_be_is_refused)
{
    struct adp_scraper *s = NULL;
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_scraper_create(&s, &wrong[_i].target, 1, NULL, &err),
                     ADP_EINVAL);
    ck_assert_msg(strstr(err.text, wrong[_i].says) != NULL, "%s", err.text);
    ck_assert_ptr_null(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scrape");
    TCase *tc = tcase_create("scrape");
    tcase_add_test(tc, an_hour_of_scraping_drifts_less_than_one_interval);
    tcase_add_test(tc, after_a_stall_there_is_no_burst);
    tcase_add_test(tc, a_slow_target_is_not_asked_again_before_it_answered);
    tcase_add_test(tc, a_failure_is_a_round_without_a_page_and_says_why);
    tcase_add_test(tc, what_reads_as_no_metrics_is_a_failure);
    tcase_add_test(tc, bad_lines_cost_themselves_and_are_counted);
    tcase_add_test(tc, slots_are_blamed_on_a_page_or_on_a_sleep);
    tcase_add_test(tc, a_page_that_came_during_a_sleep_is_not_blamed);
    tcase_add_test(tc, the_end_gives_what_came_and_fails_what_did_not);
    tcase_add_test(tc, what_is_left_out_is_told_of_the_page_it_stands_on);
    tcase_add_test(tc, a_note_names_the_page_it_is_about);
    tcase_add_test(tc, a_label_without_room_is_told_in_words);
    tcase_add_test(tc, what_the_last_line_is_about_is_left_out_without_its_newline);
    tcase_add_test(tc, a_page_of_which_nothing_is_sure_to_be_whole_was_cut);
    tcase_add_test(tc, a_page_of_several_formats_is_in_ours);
    tcase_add_test(tc, of_pages_that_are_too_much_together_the_largest_fails_by_name);
    tcase_add_test(tc, several_targets_make_one_page_per_slot);
    tcase_add_test(tc, targets_that_are_shown_alike_are_told_apart);
    tcase_add_test(tc, one_that_fails_is_held_with_its_time_and_then_gone);
    tcase_add_test(tc, one_that_cannot_be_read_is_held_like_any_that_fails);
    tcase_add_test(tc, a_page_that_has_no_room_in_the_pool_costs_not_what_is_held_of_it);
    tcase_add_test(tc, all_failing_is_a_round_without_a_page);
    tcase_add_test(tc, a_stalled_target_does_not_hold_the_others_up);
    tcase_add_test(tc, a_step_waits_no_longer_than_it_may);
    tcase_add_test(tc, without_memory_there_is_a_reason_and_never_half_a_page);
    tcase_add_test(tc, without_memory_there_is_no_scraper);
    tcase_add_loop_test(tc, a_target_that_cannot_be_is_refused, 0,
                        sizeof wrong / sizeof wrong[0]);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
