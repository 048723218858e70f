/* SPDX-License-Identifier: MIT */
#include "core/history.h"

#include "core/dictionary.h"
#include "core/promtext.h"
#include "tests/core/failing.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))
#define SECOND       1000000000ull

static struct adp_history *history;
static struct adp_moment moment;

static void setup(void)
{
    ck_assert_int_eq(adp_history_create(&history, ADP_WINDOW_NS), 0);
}

static void teardown(void)
{
    adp_history_destroy(history);
}

/* A page is looked at `at_s`, and kept. */
static void give(const char *page, unsigned at_s)
{
    struct adp_metrics *now = adp_history_next(history);
    ck_assert_int_eq(adp_promtext_read(now, page, strlen(page), NULL, NULL), 0);
    adp_history_look(history, now, at_s * SECOND, &moment);
    adp_history_keep(history, at_s * SECOND);
}

static double value_of(const struct adp_metrics *metrics)
{
    return adp_metrics_at(metrics, 0)->value;
}

/* Pages come every second; the counter says when. With a window of 10 s the one before is
 * the first, until there is one 10 s old and younger than 20 s. */
START_TEST(the_page_before_is_one_to_two_windows_old)
{
    char page[32];
    for (unsigned s = 0; s < 60; s++) {
        snprintf(page, sizeof page, "c %u\n", s);
        give(page, 100 + s);
        ck_assert_double_eq(value_of(moment.now), s);
        if (s == 0) {
            ck_assert_ptr_null(moment.before);
            continue;
        }
        unsigned before = s < 20 ? 0 : s / 10 * 10 - 10;
        if (s % 10 == 0) /* the younger one is ripe now */
            before = s - 10;
        ck_assert_double_eq(value_of(moment.before), before);
        ck_assert_double_eq_tol(moment.elapsed_s, s - before, 1e-9);
        ck_assert(!moment.restarted);
        ck_assert_uint_eq(moment.n_doubts, 0);
    }
}
END_TEST

START_TEST(pages_rarer_than_the_window_are_compared_with_the_last)
{
    give("c 1\n", 100);
    give("c 2\n", 130);
    ck_assert_double_eq(value_of(moment.before), 1);
    give("c 3\n", 160);
    ck_assert_double_eq(value_of(moment.before), 2);
    ck_assert_double_eq_tol(moment.elapsed_s, 30, 1e-9);
}
END_TEST

START_TEST(without_a_window_the_page_before_is_the_last)
{
    adp_history_destroy(history);
    ck_assert_int_eq(adp_history_create(&history, 0), 0);
    for (unsigned s = 0; s < 5; s++) {
        char page[32];
        snprintf(page, sizeof page, "c %u\n", s);
        give(page, 100 + s);
        if (s)
            ck_assert_double_eq(value_of(moment.before), s - 1);
    }
}
END_TEST

START_TEST(a_page_that_was_not_kept_was_never_there)
{
    give("c 1\n", 100);
    struct adp_metrics *now = adp_history_next(history);
    ck_assert_int_eq(adp_promtext_read(now, "c 2\n", 4, NULL, NULL), 0);
    adp_history_look(history, now, 120 * SECOND, &moment);
    give("c 3\n", 121);
    ck_assert_double_eq(value_of(moment.before), 1);
}
END_TEST

START_TEST(two_pages_of_one_time_have_no_rate)
{
    give("c 1\n", 100);
    give("c 2\n", 100);
    ck_assert_ptr_null(moment.before);
    give("c 3\n", 99);
    ck_assert_ptr_null(moment.before);
}
END_TEST

START_TEST(the_last_page_may_be_looked_at_once_more)
{
    uint64_t at_ns = 0;
    ck_assert_ptr_null(adp_history_last(history, &at_ns));
    give("c 1\n", 100);
    struct adp_metrics *last = adp_history_last(history, &at_ns);
    ck_assert_double_eq(value_of(last), 1);
    ck_assert_uint_eq(at_ns, 100 * SECOND);
    adp_history_look(history, last, at_ns, &moment);
    ck_assert_ptr_eq(moment.now, last);
    ck_assert_ptr_null(moment.before);
    give("c 2\n", 111); /* it is the younger one now, and the first the older */
    last = adp_history_last(history, &at_ns);
    adp_history_look(history, last, at_ns, &moment);
    ck_assert_double_eq(value_of(moment.now), 2);
    ck_assert_double_eq(value_of(moment.before), 1);
    ck_assert_double_eq_tol(moment.elapsed_s, 11, 1e-9);
    /* filling the next page leaves it as it is */
    struct adp_metrics *next = adp_history_next(history);
    ck_assert_int_eq(adp_promtext_read(next, "c 3\n", 4, NULL, NULL), 0);
    ck_assert_double_eq(value_of(last), 2);
}
END_TEST

START_TEST(a_restart_forgets_the_pages_before_it)
{
    give("c 5\nprocess_start_time_seconds 1000\n", 100);
    give("c 6\nprocess_start_time_seconds 1000\n", 101);
    ck_assert(!moment.restarted);
    give("c 7\nprocess_start_time_seconds 1001.5\n", 102);
    ck_assert(moment.restarted);
    give("c 8\nprocess_start_time_seconds 1001.5\n", 103);
    ck_assert(!moment.restarted);
    ck_assert_double_eq(value_of(moment.before), 7);
}
END_TEST

START_TEST(processes_of_several_say_nothing_of_the_page)
{
    give("c 5\nprocess_start_time_seconds{p=\"1\"} 1\nprocess_start_time_seconds 2\n",
         100);
    give("c 6\nprocess_start_time_seconds{p=\"1\"} 9\nprocess_start_time_seconds 2\n",
         101);
    ck_assert(!moment.restarted);
}
END_TEST

START_TEST(counters_that_went_back_forget_the_pages_before_it)
{
    give("sglang:prompt_tokens_total 50\nsglang:num_running_reqs 1\n", 100);
    give("sglang:prompt_tokens_total 60\nsglang:num_running_reqs 1\n", 101);
    give("sglang:prompt_tokens_total 3\nsglang:num_running_reqs 1\n", 102);
    ck_assert_double_eq(value_of(moment.before), 50);
    give("sglang:prompt_tokens_total 70\nsglang:num_running_reqs 1\n", 103);
    ck_assert_double_eq(value_of(moment.before), 3);
}
END_TEST

/* ---- signs of life ---- */

#define RUNS0 "vllm:num_requests_running{engine=\"0\"} 3\n"
#define RUNS1 "vllm:num_requests_running{engine=\"1\"} 3\n"
#define REST0 "vllm:num_requests_running{engine=\"0\"} 0\n"

/* `then` is given 10, 20, … s after `first`; doubts after `last_s`. */
static const struct {
    const char *name, *first, *then;
    unsigned last_s;
    uint32_t doubts;
} lives[] = {
    { "standing still for 20 s is a pause",
      RUNS0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n",
      RUNS0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n", 20, 0 },
    { "for 30 s it is frozen", RUNS0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n",
      RUNS0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n", 30, 1 },
    { "an idle engine may stand still",
      REST0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n",
      REST0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n", 60, 0 },
    { "one that counts nothing cannot be judged", RUNS0, RUNS0, 60, 0 },
    { "what moved between two pages alone has stood since",
      RUNS0 "vllm:generation_tokens_total{engine=\"0\"} 5\n",
      RUNS0 "vllm:generation_tokens_total{engine=\"0\"} 6\n", 30, 0 },
    { "and is frozen 30 s after that",
      RUNS0 "vllm:generation_tokens_total{engine=\"0\"} 5\n",
      RUNS0 "vllm:generation_tokens_total{engine=\"0\"} 6\n", 40, 1 },
    { "another engine's counters are not its own",
      RUNS0 RUNS1 "vllm:prompt_tokens_total{engine=\"0\"} 5\n"
                  "vllm:prompt_tokens_total{engine=\"1\"} 5\n",
      RUNS0 RUNS1 "vllm:prompt_tokens_total{engine=\"0\"} 5\n"
                  "vllm:prompt_tokens_total{engine=\"1\"} 5\n",
      30, 2 },
    { "an engine is one, whatever rank runs",
      "sglang:num_running_reqs{tp_rank=\"0\"} 0\nsglang:num_running_reqs{tp_rank=\"1\"} "
      "2\n"
      "sglang:generation_tokens_total 5\n",
      "sglang:num_running_reqs{tp_rank=\"0\"} 0\nsglang:num_running_reqs{tp_rank=\"1\"} "
      "2\n"
      "sglang:generation_tokens_total 5\n",
      30, 1 },
    { "an engine under the other prefix of its names",
      "sglang_num_running_reqs 2\nsglang_generation_tokens_total 5\n",
      "sglang_num_running_reqs 2\nsglang_generation_tokens_total 5\n", 30, 1 },
    { "NIM's names have no prefix: each kind is doubted by itself",
      "num_requests_running 1\ngpu_cache_usage_perc 0.5\nprompt_tokens_total 5\n",
      "num_requests_running 1\ngpu_cache_usage_perc 0.5\nprompt_tokens_total 5\n", 30,
      7 },
    { "NIM that counts works", "num_requests_running 1\ngeneration_tokens_total 5\n",
      "num_requests_running 1\ngeneration_tokens_total 6\n", 30, 0 },
    { "llama.cpp's steps count while its tokens stand",
      "llamacpp:requests_processing 1\nllamacpp:tokens_predicted_total 5\n"
      "llamacpp:n_decode_total 1\n",
      "llamacpp:requests_processing 1\nllamacpp:tokens_predicted_total 5\n"
      "llamacpp:n_decode_total 2\n",
      30, 0 },
#define SAME(page) page, page
    { "SGLang under its old names",
      SAME("sglang:num_requests_running 2\nsglang:generation_tokens_total 5\n"), 30, 1 },
    { "trtllm-serve",
      SAME("trtllm_num_requests_running 2\ntrtllm_request_success_total 5\n"), 30, 1 },
    { "whose blocks grow in number between two ends of requests",
      "trtllm_num_requests_running 2\ntrtllm_request_success_total 5\n"
      "trtllm_kv_cache_utilization 0.25\n",
      "trtllm_num_requests_running 2\ntrtllm_request_success_total 5\n"
      "trtllm_kv_cache_utilization 0.26\n",
      30, 0 },
    { "Triton, and what waits in front of it",
      SAME("nv_trt_llm_request_metrics{request_type=\"scheduled\"} 2\nnv_inference_count "
           "5\n"),
      30, 2 },
    { "Triton with none scheduled, whatever is its most",
      SAME(
          "nv_trt_llm_request_metrics{request_type=\"scheduled\"} 0\n"
          "nv_trt_llm_request_metrics{request_type=\"max\"} 512\nnv_inference_count 5\n"),
      30, 0 },
    { "Triton's iterations count",
      "nv_trt_llm_request_metrics{request_type=\"scheduled\"} 2\nnv_inference_count 5\n"
      "nv_trt_llm_general_metrics{general_type=\"iteration_counter\"} 7\n",
      "nv_trt_llm_request_metrics{request_type=\"scheduled\"} 2\nnv_inference_count 5\n"
      "nv_trt_llm_general_metrics{general_type=\"iteration_counter\"} 8\n",
      30, 0 },
    { "its clock does not",
      "nv_trt_llm_request_metrics{request_type=\"scheduled\"} 2\nnv_inference_count 5\n"
      "nv_trt_llm_general_metrics{general_type=\"timestamp\"} 7\n",
      "nv_trt_llm_request_metrics{request_type=\"scheduled\"} 2\nnv_inference_count 5\n"
      "nv_trt_llm_general_metrics{general_type=\"timestamp\"} 8\n",
      30, 2 },
    { "Dynamo's frontend",
      SAME("dynamo_frontend_inflight_requests 2\ndynamo_frontend_requests_total 5\n"), 30,
      1 },
    { "to which requests come",
      "dynamo_frontend_inflight_requests 2\ndynamo_frontend_requests_total 5\n",
      "dynamo_frontend_inflight_requests 3\ndynamo_frontend_requests_total 5\n", 30, 0 },
    { "Dynamo's worker",
      SAME("dynamo_component_inflight_requests 2\n"
           "dynamo_component_response_bytes_total 5\n"),
      30, 1 },
};

START_TEST(an_engine_that_runs_and_counts_nothing_is_doubted)
{
    give(lives[_i].first, 100);
    for (unsigned s = 10; s <= lives[_i].last_s; s += 10)
        give(lives[_i].then, 100 + s);
    ck_assert_msg(moment.n_doubts == lives[_i].doubts, "%s: %u", lives[_i].name,
                  moment.n_doubts);
    for (uint32_t i = 0; i < moment.n_doubts; i++)
        ck_assert_int_eq(moment.doubts[i].why, ADP_WHY_FROZEN);
}
END_TEST

START_TEST(one_that_moves_again_is_believed_again)
{
    static const char *const pages[] = { RUNS0
                                         "vllm:prompt_tokens_total{engine=\"0\"} 5\n",
                                         RUNS0
                                         "vllm:prompt_tokens_total{engine=\"0\"} 6\n" };
    give(pages[0], 100);
    give(pages[0], 140);
    ck_assert_uint_eq(moment.n_doubts, 1);
    ck_assert_str_eq(moment.doubts[0].prefix, "vllm:");
    give(pages[1], 141);
    ck_assert_uint_eq(moment.n_doubts, 0);
    /* one that was gone for a while starts anew */
    give(pages[1], 160);
    give("c 1\n", 170);
    give(pages[1], 180);
    ck_assert_uint_eq(moment.n_doubts, 0);
    give(pages[1], 209);
    ck_assert_uint_eq(moment.n_doubts, 0);
    give(pages[1], 210);
    ck_assert_uint_eq(moment.n_doubts, 1);
}
END_TEST

/* An idle engine's counters stood: with its first request it is not frozen at once. */
START_TEST(only_time_in_which_requests_run_counts)
{
    give(REST0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n", 100);
    give(REST0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n", 190);
    give(RUNS0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n", 200);
    ck_assert_uint_eq(moment.n_doubts, 0);
    give(RUNS0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n", 219);
    ck_assert_uint_eq(moment.n_doubts, 0);
    give(RUNS0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n", 220);
    ck_assert_uint_eq(moment.n_doubts, 1);
    give(REST0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n", 230);
    give(RUNS0 "vllm:prompt_tokens_total{engine=\"0\"} 5\n", 240);
    ck_assert_uint_eq(moment.n_doubts, 0);
}
END_TEST

static uint32_t count_doubts(enum adp_why why)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < moment.n_doubts; i++)
        n += moment.doubts[i].why == why;
    return n;
}

/* `n` engines that run and do not count. */
static void give_frozen(int n)
{
    enum { LINES = 100 };
    char *page = malloc((size_t)n * LINES);
    ck_assert_ptr_nonnull(page);
    size_t len = 0;
    for (int i = 0; i < n; i++)
        len += (size_t)snprintf(page + len, LINES,
                                "vllm:num_requests_running{engine=\"%d\"} 1\n"
                                "vllm:prompt_tokens_total{engine=\"%d\"} 1\n",
                                i, i);
    give(page, 100);
    give(page, 200);
    free(page);
}

START_TEST(every_engine_of_a_large_pool_is_watched)
{
    give_frozen(2048);
    ck_assert_uint_eq(count_doubts(ADP_WHY_FROZEN), 2048);
    ck_assert_uint_eq(moment.n_doubts, 2048);
}
END_TEST

START_TEST(of_more_engines_than_are_watched_none_is_believed)
{
    give_frozen(2049);
    ck_assert_uint_eq(count_doubts(ADP_WHY_TOO_MANY), 1);
    ck_assert_int_eq(moment.doubts[0].kind, ADP_DOUBT_ALL);
    ck_assert_str_eq(moment.doubts[0].prefix, "vllm:");
}
END_TEST

#define WORKER(id, runs, counted)                                                        \
    "ray_vllm_num_requests_running{WorkerId=\"" id "\"} " runs                           \
    "\nray_vllm_prompt_tokens_total{WorkerId=\"" id "\"} " counted "\n"

/* Ray tells of a worker that is gone: its counters stand while the new one's move. */
START_TEST(what_is_left_of_a_worker_is_dropped)
{
    give(WORKER("old", "0", "7") WORKER("new", "1", "0"), 100);
    give(WORKER("old", "0", "7") WORKER("new", "1", "5"), 120);
    ck_assert_uint_eq(moment.n_doubts, 0);
    give(WORKER("old", "0", "7") WORKER("new", "1", "9"), 130);
    ck_assert_uint_eq(count_doubts(ADP_WHY_FROZEN), 1);
    ck_assert_uint_eq(moment.doubts[0].of, adp_engine_key(adp_metrics_at(moment.now, 0)));
    /* while all rest, none is known to be gone */
    give(WORKER("old", "0", "7") WORKER("new", "0", "9"), 160);
    ck_assert_uint_eq(moment.n_doubts, 0);
}
END_TEST

START_TEST(a_worker_that_just_came_does_not_drop_others)
{
    give(WORKER("a", "0", "7"), 100);
    give(WORKER("a", "0", "7") WORKER("b", "0", "0"), 125);
    give(WORKER("a", "0", "7") WORKER("b", "0", "0"), 135);
    ck_assert_uint_eq(moment.n_doubts, 0);
}
END_TEST

/* ---- series with timestamps ---- */

/* Asked every 40 s, and on every page: it says that requests run, and has counted more each
 * time it was asked, but for the last. */
START_TEST(who_was_not_asked_again_is_not_frozen)
{
    for (unsigned s = 0; s <= 160; s += 10) {
        char page[200];
        unsigned asked_s = s / 40 * 40, counted = asked_s < 120 ? asked_s : 120;
        snprintf(page, sizeof page,
                 "vllm:num_requests_running{target=\"b\"} 3 %u000\n"
                 "vllm:prompt_tokens_total{target=\"b\"} %u %u000\n",
                 1000 + asked_s, counted, 1000 + asked_s);
        give(page, 100 + s);
        /* at 160 s it was asked, and has stood since 120 s */
        ck_assert_msg(count_doubts(ADP_WHY_FROZEN) == (s == 160), "at %u s", s);
    }
}
END_TEST

/* A worker asked every 40 s beside one of another target asked every 10 s. */
START_TEST(a_worker_that_was_not_asked_again_is_not_left_over)
{
    for (unsigned s = 0; s <= 70; s += 10) {
        char page[300];
        unsigned asked_s = s / 40 * 40;
        snprintf(page, sizeof page,
                 "ray_vllm_num_requests_running{WorkerId=\"x\"} 0 %u000\n"
                 "ray_vllm_prompt_tokens_total{WorkerId=\"x\"} %u %u000\n"
                 "ray_vllm_num_requests_running{WorkerId=\"y\"} 0 %u000\n"
                 "ray_vllm_prompt_tokens_total{WorkerId=\"y\"} %u %u000\n",
                 1000 + asked_s, asked_s, 1000 + asked_s, 1000 + s, s, 1000 + s);
        give(page, 100 + s);
        ck_assert_msg(count_doubts(ADP_WHY_FROZEN) == 0, "at %u s", s);
    }
}
END_TEST

/* Two targets count 200 a second each; a is asked every second, b every `every_s`. What is not
 * asked again stays on the page with its time. */
static const struct {
    unsigned every_s, for_s;
} paces[] = { { 1, 40 }, { 4, 60 }, { 9, 60 }, { 15, 70 }, { 30, 100 }, { 45, 200 } };

START_TEST(a_rate_of_a_pool_is_the_sum_of_the_targets_own)
{
    struct adp_expr *expr = NULL;
    struct adp_scratch *scratch = NULL;
    unsigned every_s = paces[_i].every_s;
    ck_assert_int_eq(adp_expr_compile(&expr, "rate(c)", NULL, 1, 1, NULL), 0);
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    for (unsigned s = 0; s <= paces[_i].for_s; s++) {
        char page[128];
        struct adp_value v;
        unsigned b_s = s / every_s * every_s;
        snprintf(page, sizeof page,
                 "c{target=\"a\"} %u %u000\nc{target=\"b\"} %u %u000\n", 200 * s,
                 1000 + s, 200 * b_s, 1000 + b_s);
        give(page, 100 + s);
        enum adp_why why =
            adp_expr_evaluate(expr, &moment, ADP_AGG_SUM, 0, 1e9, scratch, &v);
        ck_assert_int_eq(why, s ? ADP_WHY_PRESENT : ADP_WHY_FIRST_SAMPLE);
        if (!s)
            continue;
        ck_assert_uint_eq(v.skipped_by[ADP_WHY_FIRST_SAMPLE], s < every_s);
        ck_assert_msg(v.value == (s < every_s ? 200 : 400), "%.17g at %u s", v.value, s);
    }
    adp_scratch_destroy(scratch);
    adp_expr_destroy(expr);
}
END_TEST

/* The engine of target b is exchanged: its counter is new on the page at `came_s`, and pages
 * come every second. The page before is one of 0, 10, 20, ... s, that of s - 10 where s is
 * such a time and else the one 10 to 20 s back (as in the first test here), so that the
 * counter is on it from `known_s` on. */
static const struct {
    unsigned came_s, known_s;
} exchanged[] = { { 5, 20 }, { 10, 20 }, { 11, 30 }, { 15, 30 }, { 20, 30 }, { 21, 40 } };

START_TEST(a_counter_grows_once_it_is_on_the_page_before)
{
    struct adp_expr *expr = NULL;
    struct adp_scratch *scratch = NULL;
    ck_assert_int_eq(adp_expr_compile(&expr, "rate(c)", NULL, 1, 1, NULL), 0);
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    for (unsigned s = 0; s <= 45; s++) {
        char page[128];
        struct adp_value v;
        snprintf(page, sizeof page, "old{target=\"b\"} 1\n");
        if (s >= exchanged[_i].came_s)
            snprintf(page, sizeof page, "c{target=\"b\"} %u\n", 3 * s);
        give(page, 100 + s);
        enum adp_why why =
            adp_expr_evaluate(expr, &moment, ADP_AGG_SUM, 0, 1e9, scratch, &v);
        ck_assert_msg(why == (s < exchanged[_i].came_s    ? ADP_WHY_NEVER_SUPPLIED
                              : s < exchanged[_i].known_s ? ADP_WHY_FIRST_SAMPLE
                                                          : ADP_WHY_PRESENT),
                      "%s at %u s", adp_why_word(why), s);
        if (why == ADP_WHY_PRESENT)
            ck_assert_double_eq_tol(v.value, 3, 1e-12);
    }
    adp_scratch_destroy(scratch);
    adp_expr_destroy(expr);
}
END_TEST

#define STARTS(of_b)                                                                     \
    "process_start_time_seconds{target=\"a\"} 1\n"                                       \
    "process_start_time_seconds{target=\"b\"} " of_b "\n"

/* Measured at 0 and 30 s and begun anew between: at 45 s the page compared with tells the same
 * measurement, and the one before it is another life's. */
START_TEST(what_was_measured_before_a_restart_is_not_remembered)
{
    static const struct {
        const char *page;
        unsigned at_s;
    } pages[] = {
        { "c{target=\"a\"} 5 1000000\n" STARTS("1") "c{target=\"b\"} 9 1000000\n", 100 },
        { "c{target=\"a\"} 5 1030000\n" STARTS("2") "c{target=\"b\"} 90 1030000\n", 130 },
        { "c{target=\"a\"} 6 1045000\n" STARTS("2") "c{target=\"b\"} 90 1030000\n", 145 }
    };
    for (unsigned i = 0; i < 3; i++)
        give(pages[i].page, pages[i].at_s);
    ck_assert_ptr_nonnull(moment.earlier);
    uint32_t last = adp_metrics_find(moment.now, "c", 1);
    const struct adp_series *b =
        adp_metrics_at(moment.now, adp_metrics_at(moment.now, last)->next);
    ck_assert_double_eq(b->value, 90);
    ck_assert_ptr_null(adp_metrics_same(moment.earlier, b));
}
END_TEST

START_TEST(a_page_without_timestamps_has_no_earlier_measurements)
{
    give("c 1\n", 100);
    give("c 2\n", 110);
    give("c 3\n", 120);
    ck_assert_uint_eq(adp_metrics_count(moment.earlier), 0);
}
END_TEST

/* ---- who began anew ---- */

#define ENGINE(e, tokens)                                                                \
    "vllm:num_requests_running{engine=\"" e "\"} 1\n"                                    \
    "vllm:prompt_tokens_total{engine=\"" e "\"} " tokens "\n"

/* One of two engines: what is compared with a page from before is marked, until there is
 * one from after; the other's pages stay. */
START_TEST(an_engine_that_began_anew_is_marked_until_its_past_is_over)
{
    char page[256];
    for (unsigned s = 0; s <= 40; s++) {
        /* engine 1 starts over at 15 s */
        snprintf(page, sizeof page,
                 "vllm:num_requests_running{engine=\"0\"} 1\n"
                 "vllm:prompt_tokens_total{engine=\"0\"} %u\n"
                 "vllm:num_requests_running{engine=\"1\"} 1\n"
                 "vllm:prompt_tokens_total{engine=\"1\"} %u\n",
                 s, s < 15 ? 1000 + s : s);
        give(page, 100 + s);
        /* the page before is that of 0 s until 19 s, of 10 s until 29 s, then of 20 s */
        bool marked = s >= 15 && s < 30;
        ck_assert_msg(count_doubts(ADP_WHY_COUNTER_RESET) == marked, "at %u s", s);
        ck_assert(!moment.restarted);
        if (marked)
            ck_assert_uint_eq(moment.doubts[0].of,
                              adp_engine_key(adp_metrics_at(moment.now, 3)));
        if (s == 15)
            ck_assert_double_eq_tol(moment.elapsed_s, 15, 1e-9);
    }
}
END_TEST

START_TEST(an_engine_that_was_away_and_began_anew_is_marked)
{
    give(ENGINE("0", "5") ENGINE("1", "500"), 100);
    give(ENGINE("0", "6"), 105);
    give(ENGINE("0", "7") ENGINE("1", "3"), 106);
    ck_assert_uint_eq(count_doubts(ADP_WHY_COUNTER_RESET), 1);
    give(ENGINE("0", "8") ENGINE("1", "600"), 107); /* past what it was */
    ck_assert_uint_eq(count_doubts(ADP_WHY_COUNTER_RESET), 1);
}
END_TEST

#define CREATED(e, at) "vllm:prompt_tokens_created{engine=\"" e "\"} " at "\n"

START_TEST(a_counter_that_was_made_anew_shows_it)
{
    give(ENGINE("0", "5") CREATED("0", "1000") ENGINE("1", "5") CREATED("1", "1000"),
         100);
    give(ENGINE("0", "6") CREATED("0", "1000") ENGINE("1", "7") CREATED("1", "1100.5"),
         101);
    ck_assert_uint_eq(count_doubts(ADP_WHY_COUNTER_RESET), 1);
    ck_assert_uint_eq(moment.doubts[0].of, adp_engine_key(adp_metrics_at(moment.now, 3)));
}
END_TEST

/* c_total and c_count have c_created beside them, whatever the engine. */
START_TEST(every_counter_is_known_by_the_name_of_its_making)
{
    uint32_t n, created = 0;
    const struct adp_pulse *pulses = adp_pulses(&n);
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < COUNT(pulses[i].beats) && pulses[i].beats[k].name; k++) {
            const struct adp_sign *beat = &pulses[i].beats[k];
            size_t stem = strlen(beat->name) - strlen("_total");
            bool counts = strcmp(beat->name + stem, "_total") == 0 ||
                          strcmp(beat->name + stem, "_count") == 0;
            ck_assert_msg(counts == (beat->created != NULL), "%s", beat->name);
            if (!counts)
                continue;
            ck_assert_msg(strncmp(beat->created, beat->name, stem) == 0, "%s",
                          beat->name);
            ck_assert_str_eq(beat->created + stem, "_created");
            created++;
        }
    ck_assert_uint_ge(created, n);
}
END_TEST

#define TARGET(t, start)                                                                 \
    "c{target=\"" t "\"} 1\nprocess_start_time_seconds{target=\"" t "\"} " start "\n"

START_TEST(a_target_whose_process_began_anew_is_marked_and_no_other)
{
    give(TARGET("a", "1000") TARGET("b", "1000"), 100);
    give(TARGET("a", "1000") TARGET("b", "1001"), 101);
    ck_assert(!moment.restarted);
    ck_assert_uint_eq(moment.n_doubts, 1);
    ck_assert_int_eq(moment.doubts[0].kind, ADP_DOUBT_TARGET);
    ck_assert_uint_eq(moment.doubts[0].of, adp_target_key((struct adp_str) { "b", 1 }));
    ck_assert_str_eq(moment.doubts[0].prefix, "");
    give(TARGET("a", "1000") TARGET("b", "1001"), 102);
    ck_assert_uint_eq(moment.n_doubts, 1);
    give(TARGET("a", "1000") TARGET("b", "1001"), 120);
    ck_assert_uint_eq(moment.n_doubts, 1);
    give(TARGET("a", "1000") TARGET("b", "1001"), 130); /* compared with 120 */
    ck_assert_uint_eq(moment.n_doubts, 0);
}
END_TEST

/* Series without a target beside those of one: a counts 1 a second, and the others, begun anew
 * between 100 and 110 s, stand at 400 and were at 5. Theirs is no growth of 39.5 a second. */
static const struct {
    const char *name, *a_started, *others; /* `others` with their start to be filled in */
} loose[] = {
    { "two processes", "process_start_time_seconds{target=\"a\"} 1000\n",
      "process_start_time_seconds %u\n" },
    { "one that tells when it started", "", "process_start_time_seconds %u\n" },
    { "an empty label is none", "", "process_start_time_seconds{target=\"\"} %u\n" },
};

START_TEST(what_has_no_target_began_anew_as_one_more_of_them)
{
    struct adp_expr *expr = NULL;
    struct adp_scratch *scratch = NULL;
    char page[256];
    ck_assert_int_eq(adp_expr_compile(&expr, "rate(c)", NULL, 1, 1, NULL), 0);
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    for (unsigned s = 0; s <= 10; s += 10) {
        size_t n = (size_t)snprintf(page, sizeof page, "c{target=\"a\"} %u\nc %u\n%s",
                                    100 + s, s ? 400 : 5, loose[_i].a_started);
        snprintf(page + n, sizeof page - n, loose[_i].others, s ? 1001 : 1000);
        give(page, 100 + s);
    }
    ck_assert_msg(!moment.restarted, "%s", loose[_i].name);
    ck_assert_uint_eq(moment.n_doubts, 1);
    ck_assert_int_eq(moment.doubts[0].kind, ADP_DOUBT_TARGET);
    ck_assert_uint_eq(moment.doubts[0].of, adp_target_key((struct adp_str) { "", 0 }));
    struct adp_value v;
    ck_assert_int_eq(adp_expr_evaluate(expr, &moment, ADP_AGG_SUM, 0, 1e9, scratch, &v),
                     0);
    ck_assert_double_eq(v.value, 1);
    ck_assert_uint_eq(v.skipped_by[ADP_WHY_COUNTER_RESET], 1);
    adp_scratch_destroy(scratch);
    adp_expr_destroy(expr);
}
END_TEST

START_TEST(several_processes_of_a_target_say_nothing_of_it)
{
#define WORKERS(start)                                                                   \
    TARGET("a", "1") "process_start_time_seconds{p=\"1\",target=\"a\"} " start "\n"
    give(WORKERS("5") TARGET("b", "1"), 100);
    give(WORKERS("6") TARGET("b", "1"), 101);
    ck_assert_uint_eq(moment.n_doubts, 0);
}
END_TEST

START_TEST(a_look_that_is_not_kept_marks_nothing)
{
    give(ENGINE("0", "5") ENGINE("1", "500"), 100);
    struct adp_metrics *now = adp_history_next(history);
    static const char page[] = ENGINE("0", "6") ENGINE("1", "3");
    ck_assert_int_eq(adp_promtext_read(now, page, strlen(page), NULL, NULL), 0);
    adp_history_look(history, now, 101 * SECOND, &moment);
    ck_assert_uint_eq(moment.n_doubts, 1);
    give(ENGINE("0", "6") ENGINE("1", "501"), 102);
    ck_assert_uint_eq(moment.n_doubts, 0);
}
END_TEST

START_TEST(without_memory_there_is_none)
{
    for (uint64_t n = 1;; n++) {
        struct adp_history *h = NULL;
        fail_allocation(n);
        int code = adp_history_create(&h, 0);
        fail_allocation(0);
        adp_history_destroy(h);
        if (!code) {
            ck_assert_uint_ge(n, 5); /* itself and four pages */
            break;
        }
        ck_assert_int_eq(code, ADP_ENOMEM);
        ck_assert_ptr_null(h);
    }
}
END_TEST

/* ---- what is known of labels and names ---- */

static const struct {
    const char *series, *label;
    enum adp_label_role role;
} roles[] = {
    { "a{tp_rank=\"0\"} 1\n", "tp_rank", ADP_LABEL_REPLICA },
    { "a{pid=\"0\"} 1\n", "pid", ADP_LABEL_REPLICA },
    { "a{dp_rank=\"0\"} 1\n", "dp_rank", ADP_LABEL_PARTITION },
    { "a{engine=\"0\"} 1\n", "engine", ADP_LABEL_PARTITION },
    { "a{tp_rank_=\"0\"} 1\n", "tp_rank_", ADP_LABEL_PARTITION },
    { "a{priority=\"0\"} 1\n", "priority", ADP_LABEL_BREAKDOWN },
    { "a{pod=\"0\"} 1\n", "pod", ADP_LABEL_PARTITION },
    { "a{pod=\"0\",UUID=\"x\"} 1\n", "pod", ADP_LABEL_REPLICA },
    { "a{pod=\"0\",UUID=\"x\"} 1\n", "UUID", ADP_LABEL_PARTITION },
};

START_TEST(a_label_has_its_role)
{
    give(roles[_i].series, 1);
    struct adp_str label = { roles[_i].label, strlen(roles[_i].label) };
    ck_assert_int_eq((int)adp_label_role(adp_metrics_at(moment.now, 0), label),
                     (int)roles[_i].role);
}
END_TEST

START_TEST(an_engine_is_told_by_its_labels_and_not_by_its_ranks)
{
    give("a{engine=\"0\",tp_rank=\"0\"} 1\nb{engine=\"0\",model=\"m\"} "
         "1\nc{engine=\"1\"} 1\n"
         "d 1\ne{model=\"x\"} 1\nf{WorkerId=\"0\"} 1\n",
         1);
    uint64_t key[6];
    for (uint32_t i = 0; i < 6; i++)
        key[i] = adp_engine_key(adp_metrics_at(moment.now, i));
    ck_assert_uint_eq(key[0], key[1]);
    ck_assert_uint_ne(key[0], key[2]);
    ck_assert_uint_ne(key[0], key[3]);
    ck_assert_uint_eq(key[3], key[4]);
    ck_assert_uint_ne(key[0], key[5]);
}
END_TEST

/* Of names under `prefix`: how life shows, and sleep. */
static const struct adp_pulse *pulse_of(const char *prefix)
{
    uint32_t n;
    const struct adp_pulse *pulses = adp_pulses(&n);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(pulses[i].prefixes[0], prefix) == 0)
            return &pulses[i];
    return NULL;
}

static const struct adp_sleep *sleep_of(const char *prefix)
{
    uint32_t n;
    const struct adp_sleep *sleeps = adp_sleeps(&n);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(sleeps[i].prefix, prefix) == 0)
            return &sleeps[i];
    return NULL;
}

/* The same name behind either prefix. */
static bool are_one(const char *a, const char *a_prefix, const char *b,
                    const char *b_prefix)
{
    if (!a || !b)
        return a == b;
    size_t na = strlen(a_prefix), nb = strlen(b_prefix);
    return strncmp(a, a_prefix, na) == 0 && strncmp(b, b_prefix, nb) == 0 &&
           strcmp(a + na, b + nb) == 0;
}

START_TEST(an_engine_lives_and_sleeps_alike_under_every_prefix_of_its_names)
{
    uint32_t n;
    const struct adp_prefix *prefixes = adp_prefixes(&n);
    for (uint32_t i = 0; i < n; i++)
        for (const char *const *other = prefixes[i].others; *other; other++) {
            const char *own = prefixes[i].prefix;
            const struct adp_pulse *a = pulse_of(own), *b = pulse_of(*other);
            const struct adp_sleep *c = sleep_of(own), *d = sleep_of(*other);
            ck_assert_msg(!a == !b && !c == !d, "%s", *other);
            ck_assert(!a || are_one(a->running.name, own, b->running.name, *other));
            for (int k = 0; a && k < COUNT(a->beats); k++)
                ck_assert_msg(are_one(a->beats[k].name, own, b->beats[k].name, *other),
                              "%s %d", *other, k);
            ck_assert(!c || are_one(c->metric, own, d->metric, *other));
        }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("history");
    TCase *t = tcase_create("history");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, the_page_before_is_one_to_two_windows_old);
    tcase_add_test(t, pages_rarer_than_the_window_are_compared_with_the_last);
    tcase_add_test(t, without_a_window_the_page_before_is_the_last);
    tcase_add_test(t, a_page_that_was_not_kept_was_never_there);
    tcase_add_test(t, two_pages_of_one_time_have_no_rate);
    tcase_add_test(t, the_last_page_may_be_looked_at_once_more);
    tcase_add_test(t, a_restart_forgets_the_pages_before_it);
    tcase_add_test(t, processes_of_several_say_nothing_of_the_page);
    tcase_add_test(t, counters_that_went_back_forget_the_pages_before_it);
    tcase_add_loop_test(t, an_engine_that_runs_and_counts_nothing_is_doubted, 0,
                        COUNT(lives));
    tcase_add_test(t, one_that_moves_again_is_believed_again);
    tcase_add_test(t, only_time_in_which_requests_run_counts);
    tcase_add_test(t, every_engine_of_a_large_pool_is_watched);
    tcase_add_test(t, of_more_engines_than_are_watched_none_is_believed);
    tcase_add_test(t, what_is_left_of_a_worker_is_dropped);
    tcase_add_test(t, a_worker_that_just_came_does_not_drop_others);
    tcase_add_test(t, who_was_not_asked_again_is_not_frozen);
    tcase_add_test(t, a_worker_that_was_not_asked_again_is_not_left_over);
    tcase_add_loop_test(t, a_counter_grows_once_it_is_on_the_page_before, 0,
                        COUNT(exchanged));
    tcase_add_loop_test(t, a_rate_of_a_pool_is_the_sum_of_the_targets_own, 0,
                        COUNT(paces));
    tcase_add_test(t, what_was_measured_before_a_restart_is_not_remembered);
    tcase_add_test(t, a_page_without_timestamps_has_no_earlier_measurements);
    tcase_add_test(t, an_engine_that_began_anew_is_marked_until_its_past_is_over);
    tcase_add_test(t, an_engine_that_was_away_and_began_anew_is_marked);
    tcase_add_test(t, a_counter_that_was_made_anew_shows_it);
    tcase_add_test(t, every_counter_is_known_by_the_name_of_its_making);
    tcase_add_test(t, a_target_whose_process_began_anew_is_marked_and_no_other);
    tcase_add_loop_test(t, what_has_no_target_began_anew_as_one_more_of_them, 0,
                        COUNT(loose));
    tcase_add_test(t, several_processes_of_a_target_say_nothing_of_it);
    tcase_add_test(t, a_look_that_is_not_kept_marks_nothing);
    tcase_add_test(t, without_memory_there_is_none);
    tcase_add_loop_test(t, a_label_has_its_role, 0, COUNT(roles));
    tcase_add_test(t, an_engine_is_told_by_its_labels_and_not_by_its_ranks);
    tcase_add_test(t, an_engine_lives_and_sleeps_alike_under_every_prefix_of_its_names);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
