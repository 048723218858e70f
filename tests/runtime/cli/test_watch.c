/* SPDX-License-Identifier: MIT */
/* Watching a simulated engine by a simulated clock, into a real log. */
#include "runtime/cli/watch.h"
#include "tests/runtime/host/flush.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000ull
#define S  1000000000ull

#define WALL_S 1700000000ull

/* The engine: asked at second k of the watch, it has used k % 100 of its 100 blocks. It
 * takes up to half a second to say so, and from second 1000 on, for ten seconds, it does
 * not answer. */
static struct {
    uint64_t now, ready_ns, asked, first_ns, last_ns;
    uint64_t stalls; /* from this asking on it does not answer at all; 0: never */
    bool busy;
    const char *always; /* this page, whatever the second; NULL: none */
    char page[128];
} engine;

static uint64_t mono(void *ctx)
{
    (void)ctx;
    return engine.now;
}

static uint64_t wall(void *ctx)
{
    (void)ctx;
    return WALL_S * S + engine.now;
}

static uint64_t meter(void *ctx)
{
    (void)ctx;
    return 0;
}

static void ask(void *ctx, uint32_t target)
{
    (void)ctx;
    (void)target;
    if (!engine.asked)
        engine.first_ns = engine.now;
    engine.last_ns = engine.now;
    engine.ready_ns = engine.now + engine.asked * 37 % 500 * MS;
    engine.asked++;
    if (engine.stalls && engine.asked >= engine.stalls)
        engine.ready_ns = UINT64_MAX;
    engine.busy = true;
}

static void wait_for(void *ctx, uint64_t ns)
{
    (void)ctx;
    uint64_t until = engine.now + ns;
    if (engine.busy && engine.ready_ns < until)
        until = engine.ready_ns;
    if (until > engine.now)
        engine.now = until;
}

static bool take(void *ctx, struct adp_fetched *ret)
{
    (void)ctx;
    if (!engine.busy || engine.now < engine.ready_ns)
        return false;
    uint64_t k = engine.asked - 1;
    engine.busy = false;
    *ret = (struct adp_fetched) { .why = ADP_SCRAPE_FINE };
    if (k >= 1000 && k < 1010) {
        ret->why = ADP_SCRAPE_NOT_FOUND;
        snprintf(ret->text, sizeof ret->text, "gone for a while");
        return true;
    }
    if (engine.always)
        snprintf(engine.page, sizeof engine.page, "%s", engine.always);
    else
        snprintf(engine.page, sizeof engine.page, "vllm:kv_cache_usage_perc 0.%02u\n",
                 (unsigned)(k % 100));
    ret->page = engine.page;
    ret->len = strlen(ret->page);
    return true;
}

static void wake(void *ctx)
{
    (void)ctx;
}

static const struct adp_wire wire = { NULL, ask, wait_for, take, wake };
static const struct adp_clock clock_of_the_engine = { NULL, wall, mono, meter };
static const volatile sig_atomic_t going_on = 0;

static char folder[] = "/tmp/admitperf-watch-XXXXXX";
static char path[256];
static struct adp_host_scene scene;
static adp_runtime *runtime;
static struct adp_scraper *scraper;

static void set_up(void)
{
    memset(&engine, 0, sizeof engine);
    engine.now = 100 * S;
    snprintf(path, sizeof path, "%s/%d.jsonl", folder, (int)getpid());
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS ":" TEST_POLICIES, 1);
}

static void open_both(const char *policies)
{
    char yaml[1024];
    adp_errors errors = { 0 };
    scene = (struct adp_host_scene) { .log_path = path };
    const struct adp_host_options host = {
        .clock = &clock_of_the_engine, .lanes = 1, .own_thread = true, .scene = &scene
    };
    snprintf(yaml, sizeof yaml, "version: 1\n%s", policies);
    int code = adp_host_open_text(&runtime, yaml, "t.yaml", NULL, &host, &errors);
    ck_assert_msg(code == 0, "%s", errors.n ? errors.list[0].text : "");
    adp_errors_free(&errors);
    ck_assert_int_eq(adp_runtime_start(runtime, NULL), 0);
    const struct adp_scrape_target target = {
        .name = "v0", .url = "http://engine", .interval_ns = S, .timeout_ns = S
    };
    const struct adp_scrape_options options = { .clock = &clock_of_the_engine,
                                                .wire = &wire };
    ck_assert_int_eq(adp_scraper_create(&scraper, &target, 1, &options, NULL), 0);
}

static void close_both(void)
{
    adp_scraper_destroy(scraper);
    ck_assert_int_eq(adp_runtime_close(runtime, NULL), 0);
}

/* Lines of the log that hold `what`. */
static unsigned lines_with(const char *what)
{
    char *line = NULL;
    size_t cap = 0;
    unsigned n = 0;
    FILE *f = fopen(path, "re");
    ck_assert_ptr_nonnull(f);
    while (getline(&line, &cap, f) > 0)
        n += strstr(line, what) != NULL;
    free(line);
    fclose(f);
    return n;
}

static void flush(void *ctx, const struct adp_watched *so_far)
{
    (void)ctx;
    if (so_far->samples % 100 == 0)
        ck_assert_int_eq(flush_all(runtime), 0);
}

static struct adp_watched watch_for(uint64_t ns, bool decides)
{
    struct adp_watch w = { .runtime = runtime,
                           .scraper = scraper,
                           .clock = &clock_of_the_engine,
                           .for_ns = ns,
                           .decides = decides,
                           .stop = &going_on,
                           .on_round = flush };
    struct adp_watched watched;
    ck_assert_int_eq(adp_watch_run(&w, &watched, NULL), 0);
    return watched;
}

START_TEST(an_hour_is_3600_samples_and_drifts_less_than_one_interval)
{
    open_both("policy: { use: no_admission }\n");
    struct adp_watched watched = watch_for(3600 * S, false);
    close_both();
    ck_assert_uint_eq(watched.samples + watched.failures, 3600);
    ck_assert_uint_eq(engine.first_ns, 100 * S);
    ck_assert_uint_lt(engine.last_ns - 3699 * S, S); /* 0: the last of 3600 slots */
    ck_assert_uint_eq(watched.passed, 0);
    ck_assert_uint_eq(lines_with("\"signals\":{\"kv_pressure\":"), 3590);
    ck_assert_uint_eq(lines_with("\"verdict\""), 0);
}
END_TEST

START_TEST(a_failure_is_a_line_and_no_sample)
{
    open_both("policy: { use: no_admission }\n");
    struct adp_watched watched = watch_for(1100 * S, false);
    close_both();
    ck_assert_uint_eq(watched.failures, 10);
    ck_assert_uint_eq(watched.why[ADP_SCRAPE_NOT_FOUND], 10);
    ck_assert_uint_eq(watched.samples, 1090);
    ck_assert_uint_eq(lines_with("\"scrape_error\":\"v0: not_found: gone for a while\""),
                      10);
    ck_assert_uint_eq(lines_with("\"signals\""), 1090);
}
END_TEST

/* Asked at 0, 1, 2 and never again: 2 s later the time is over, and 0.2 s are waited. */
START_TEST(what_has_not_come_at_the_end_is_a_failure)
{
    engine.stalls = 3;
    open_both("policy: { use: no_admission }\n");
    struct adp_watched watched = watch_for(4 * S, false);
    close_both();
    ck_assert_uint_eq(watched.samples, 2);
    ck_assert_uint_eq(watched.failures, 1);
    ck_assert_uint_eq(watched.why[ADP_SCRAPE_UNFINISHED], 1);
    ck_assert_uint_eq(
        lines_with("\"scrape_error\":\"v0: unfinished: cut short by the end, "
                   "2.2 s after it was asked for\""),
        1);
}
END_TEST

/* The 4th page takes 3 * 37 ms, and is asked for 50 ms before the end. */
START_TEST(what_is_about_to_come_at_the_end_is_a_sample)
{
    open_both("policy: { use: no_admission }\n");
    struct adp_watched watched = watch_for(3050 * MS, false);
    close_both();
    ck_assert_uint_eq(engine.asked, 4);
    ck_assert_uint_eq(watched.samples, 4);
    ck_assert_uint_eq(watched.failures, 0);
}
END_TEST

START_TEST(each_sample_asks_every_policy_once_and_enforces_nothing)
{
    open_both("policy: { use: kv_threshold, params: { threshold: 0.9 }, enforce: 0 }\n"
              "shadow: [ { use: kv_threshold, params: { threshold: 0.5 } } ]\n");
    struct adp_watched watched = watch_for(1000 * S, true);
    close_both();
    ck_assert_uint_eq(watched.samples, 1000);
    ck_assert_uint_eq(lines_with("\"verdict\""), 2000);
    /* 90 to 99 of each 100 for one, 50 to 99 for the other. */
    ck_assert_uint_eq(lines_with("\"verdict\":\"reject\""), 100 + 500);
    ck_assert_uint_eq(lines_with("\"enforced\":true"), 0);
    ck_assert_uint_eq(lines_with("\"outcome\""), 0);
}
END_TEST

START_TEST(tickets_come_back_at_once_as_not_run)
{
    open_both("policy: { use: ticket_echo, enforce: 0 }\n");
    watch_for(3 * S, true);
    adp_lane *lane;
    adp_decision d = { .size = sizeof d };
    adp_facts facts = { .size = sizeof facts, .slo_class = "count" };
    ck_assert_int_eq(adp_lane_open(&lane, runtime, NULL), 0);
    struct adp_explanation why;
    ck_assert_int_eq(adp_host_explain(lane, &facts, &d, &why), 0);
    ck_assert_uint_eq(why.retry_after_ms, 3000); /* three, not run */
    adp_lane_close(lane);
    close_both();
    ck_assert_uint_eq(lines_with("\"outcome\""), 0);
}
END_TEST

#define CUT                                                                              \
    "the last line has no newline and may be cut: 2 lines left out, of its metric and "  \
    "of any that may lack one"
#define TWICE "1 of its series stand there more than once: the last value is taken"

static const struct {
    const char *page, *note; /* NULL: none */
} notes[] = {
    { "a 1\nb 2\n", NULL },
    { "a 1\nb{e=\"0\"} 2\nb{e=\"1\"} 3", CUT },
    { "a 1\na 2\nb 3\n", TWICE },
    { "a 1\na 2\nb{e=\"0\"} 2\nb{e=\"1\"} 3", CUT "; " TWICE },
    { "a 1\na\na 2\n", "value is missing; 1 of its lines left out; " TWICE },
};

static void take_note(void *ctx, uint32_t target, const struct adp_error *note)
{
    struct adp_error *last = ctx;
    ck_assert_uint_eq(target, 0);
    *last = *note;
}

START_TEST(what_of_a_page_is_left_out_is_one_note_of_its_target)
{
    open_both("policy: { use: no_admission }\n");
    engine.always = notes[_i].page;
    struct adp_error note = { 0 };
    struct adp_watch w = { .runtime = runtime,
                           .scraper = scraper,
                           .clock = &clock_of_the_engine,
                           .for_ns = S,
                           .stop = &going_on,
                           .on_note = take_note,
                           .ctx = &note };
    struct adp_watched watched;
    ck_assert_int_eq(adp_watch_run(&w, &watched, NULL), 0);
    close_both();
    ck_assert_uint_eq(watched.samples, 1);
    ck_assert_int_eq(note.code, notes[_i].note ? ADP_NOTE : 0);
    ck_assert_str_eq(note.file, notes[_i].note ? "v0" : "");
    ck_assert_str_eq(note.text, notes[_i].note ? notes[_i].note : "");
}
END_TEST

START_TEST(a_sample_that_names_no_policy_says_so)
{
    open_both("policy: { use: no_admission }\n");
    close_both();
    unlink(path);
    scene.undecided = true;
    adp_errors errors = { 0 };
    const struct adp_host_options host = {
        .clock = &clock_of_the_engine, .lanes = 1, .own_thread = true, .scene = &scene
    };
    ck_assert_int_eq(adp_host_open_text(&runtime,
                                        "version: 1\npolicy: { use: no_admission }\n",
                                        "t.yaml", NULL, &host, &errors),
                     0);
    ck_assert_int_eq(adp_runtime_start(runtime, NULL), 0);
    ck_assert_int_eq(adp_runtime_publish_text(runtime, "a 1\n", 4, NULL), 0);
    ck_assert_int_eq(adp_runtime_close(runtime, NULL), 0);
    ck_assert_uint_eq(lines_with("\"policy\":null,\"baseline\":false"), 1);
}
END_TEST

static void tear_down(void)
{
    unlink(path);
}

int main(void)
{
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    Suite *suite = suite_create("watch");
    TCase *tc = tcase_create("watch");
    tcase_set_timeout(tc, 30);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, an_hour_is_3600_samples_and_drifts_less_than_one_interval);
    tcase_add_test(tc, a_failure_is_a_line_and_no_sample);
    tcase_add_test(tc, what_has_not_come_at_the_end_is_a_failure);
    tcase_add_test(tc, what_is_about_to_come_at_the_end_is_a_sample);
    tcase_add_test(tc, each_sample_asks_every_policy_once_and_enforces_nothing);
    tcase_add_test(tc, tickets_come_back_at_once_as_not_run);
    tcase_add_loop_test(tc, what_of_a_page_is_left_out_is_one_note_of_its_target, 0,
                        sizeof notes / sizeof notes[0]);
    tcase_add_test(tc, a_sample_that_names_no_policy_says_so);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    rmdir(folder);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
