/* SPDX-License-Identifier: MIT */
/* One configuration taking over from another: what stays, what moves, what is refused. */
#include "tests/runtime/host/stage.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#define KV(threshold)                                                                    \
    "policy: { use: kv_threshold, params: { threshold: " #threshold " } }\n"
#define COUNTER(params) "policy: { use: ./counter.so, params: { " params " } }\n"
#define PAGE(kv)        "vllm:kv_cache_usage_perc{engine=\"0\"} " kv "\n"

/* --- what takes over --- */

START_TEST(the_new_parameters_decide_on_the_metrics_published_before)
{
    adp_runtime *rt = started(yaml("log", KV(0.9)), NULL);
    adp_lane *lane = lane_of(rt);
    publish(rt, PAGE("0.8"));
    ck_assert_uint_eq(decide(lane, "a").admitted, 1);
    adp_stats before = stats(rt);
    reloads(rt, yaml("log", KV(0.7)));
    ck_assert_uint_eq(decide(lane, "b").admitted, 0);
    adp_stats after = stats(rt);
    ck_assert_uint_eq(before.generation, 1);
    ck_assert_uint_eq(after.generation, 2);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);

    json_t *all = lines("log", "verdict");
    ck_assert_uint_eq(json_array_size(all), 2);
    char hash[17];
    for (int i = 0; i < 2; i++) {
        json_t *line = json_array_get(all, (size_t)i);
        snprintf(hash, sizeof hash, "%016llx",
                 (unsigned long long)(i ? after : before).config);
        ck_assert_str_eq(word(line, "config"), hash);
        ck_assert(number(line, "params", "threshold") == (i ? 0.7 : 0.9));
        ck_assert(number(line, "signals", "kv_pressure") == 0.8);
    }
    ck_assert_uint_ne(before.config, after.config);
    json_decref(all);
}
END_TEST

START_TEST(a_signal_that_is_new_is_read_from_the_metrics_published_before)
{
    adp_runtime *rt = started(yaml("log", KV(0.9)), NULL);
    adp_lane *lane = lane_of(rt);
    publish(rt, "temperature{gpu=\"0\"} 71\ntemperature{gpu=\"1\"} 93\n");
    reloads(rt, yaml("log", "signals:\n"
                            "  gpu_temp: { unit: celsius, range: [0, 120], sources: "
                            "[ { metric: temperature, aggregate: max } ] }\n"
                            "policy: { use: ./declared_only.so, params: "
                            "{ threshold: 90 } }\n"));
    ck_assert_uint_eq(decide(lane, "a").admitted, 0);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

static uint64_t now_ns;

static uint64_t injected(void *ctx)
{
    (void)ctx;
    return now_ns;
}

START_TEST(a_rate_goes_on_and_readings_do_not_get_younger)
{
    /* 100 preemptions in 10 s are 10/s. max_age of 5 s counts from the publish, whatever
     * was reloaded since. */
    static const char body[] =
        "signals: { acme_rate: { unit: 1/s, range: [0, .inf], max_age: 5s, sources: "
        "[ { expr: rate(acme_preemptions) } ] } }\npolicy: { use: no_admission }\n";
    const struct adp_clock clock = { NULL, injected, injected, injected };
    const struct adp_host_options options = { .clock = &clock, .own_thread = true };
    now_ns = 1000000000000u;
    adp_runtime *rt = started(yaml("log", body), &options);
    adp_lane *lane = lane_of(rt);
    publish(rt, "acme_preemptions 100\n");
    now_ns += 10000000000u;
    publish(rt, "acme_preemptions 200\n");
    decide(lane, "a");
    now_ns += 4000000000u;
    reloads(rt, yaml("log", body));
    decide(lane, "b");
    now_ns += 1000000000u;
    decide(lane, "c");
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines("log", "verdict");
    for (size_t i = 0; i < 2; i++)
        ck_assert(number(json_array_get(all, i), "signals", "acme_rate") == 10.0);
    ck_assert(number(json_array_get(all, 1), "ages", "acme_rate") == 4.0);
    ck_assert_str_eq(word(json_object_get(json_array_get(all, 2), "whys"), "acme_rate"),
                     "stale");
    json_decref(all);
}
END_TEST

START_TEST(a_policy_replaced_on_disk_takes_over_at_reload_and_not_before)
{
    char command[512];
    adp_runtime *rt;
    snprintf(command, sizeof command, "cp '%s/counter.so' '%s/p.so'", TEST_POLICIES,
             folder);
    ck_assert_int_eq(system(command), 0);
    char body[256];
    snprintf(body, sizeof body, "policy: { use: \"%s/p.so\" }\n", folder);
    rt = started(yaml("log", body), NULL);
    adp_lane *lane = lane_of(rt);
    decide(lane, "a");
    snprintf(command, sizeof command,
             "cp '%s/counter_2.so' '%s/q.so' && mv '%s/q.so' '%s/p.so'", TEST_POLICIES,
             folder, folder, folder);
    ck_assert_int_eq(system(command), 0);
    decide(lane, "b");
    ck_assert_str_eq(adp_host_policy(rt, 0)->policy.version, "1");
    reloads(rt, yaml("log", body));
    ck_assert_str_eq(adp_host_policy(rt, 0)->policy.version, "2");
    decide(lane, "c");
    ck_assert_uint_eq(ask(lane, "asked"), 3); /* and it took the state with it */
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

/* --- state and tickets --- */

START_TEST(a_state_that_is_saved_goes_on_and_outcomes_find_the_heir)
{
    adp_runtime *rt = started(yaml("log", COUNTER("cap: 100")), NULL);
    adp_lane *lane = lane_of(rt);
    uint64_t first = decide(lane, "a").id;
    decide(lane, "b");
    reloads(rt, yaml("log", COUNTER("cap: 4")));
    uint64_t third = decide(lane, "c").id;
    reloads(rt, yaml("log", COUNTER("cap: 5")));
    ck_assert_uint_eq(ask(lane, "made"), 3);
    ck_assert_uint_eq(ask(lane, "asked"), 3);
    ck_assert_int_eq(settle(lane, first), 0);
    ck_assert_int_eq(settle(lane, third), 0);
    ck_assert_int_eq(settle(lane, first), ADP_ENOENT);
    adp_result done = { .size = sizeof done, .end = ADP_DONE, .ok = -1 };
    ck_assert_int_eq(adp_lane_outcome(lane, 0, "b", &done), 0);
    ck_assert_uint_eq(ask(lane, "back"), 3);
    ck_assert_uint_eq(ask(lane, "wrong"), 0);
    decide(lane, "d");
    decide(lane, "e");
    ck_assert_uint_eq(decide(lane, "f").admitted, 0); /* the fifth was the last */
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(without_save_each_instance_takes_back_its_own_tickets_and_then_ends)
{
    static const char body[] = "policy: { use: ./ticket_echo.so }\n";
    adp_runtime *rt = started(yaml("log", body), NULL);
    adp_lane *lane = lane_of(rt);
    uint64_t a = decide(lane, "a").id;
    reloads(rt, yaml("log", body));
    ck_assert_uint_eq(ask(lane, "count"), 0);
    uint64_t b = decide(lane, "b").id; /* its ticket 1, like a's */
    ck_assert_int_eq(settle(lane, a), 0);
    ck_assert_uint_eq(ask(lane, "count"), 0);
    ck_assert_int_eq(settle(lane, b), 0);
    ck_assert_uint_eq(ask(lane, "count"), 1);
    ck_assert_int_eq(flush_all(rt), 0);
    ck_assert_uint_eq(stats(rt).generations, 1);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(members_are_matched_by_name_then_by_order)
{
    /* Governing and shadow change places, and a third of the name starts afresh. */
    static const char before[] = "policy: { use: ./counter.so, params: { cap: 1 } }\n"
                                 "shadow: [ { use: no_admission } ]\n";
    static const char after[] = "policy: { use: no_admission }\n"
                                "shadow: [ { use: ./counter.so }, "
                                "{ use: ./counter_2.so, params: { cap: 1 } } ]\n";
    adp_runtime *rt = started(yaml("log", before), NULL);
    adp_lane *lane = lane_of(rt);
    decide(lane, "a");
    reloads(rt, yaml("log", after));
    ask(lane, "asked");
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines("log", "verdict");
    ck_assert_uint_eq(json_array_size(all), 5);
    ck_assert(json_integer_value(
                  json_object_get(json_array_get(all, 3), "retry_after_ms")) == 1);
    ck_assert(json_integer_value(
                  json_object_get(json_array_get(all, 4), "retry_after_ms")) == 0);
    json_decref(all);
}
END_TEST

/* --- what is beyond --- */

static char calls[256]; /* keys, "." where it is over */

static const void *nothing_saved(void *ctx, const char *key, size_t *ret_len,
                                 uint64_t *ret_saved_ns)
{
    (void)ctx, (void)key, (void)ret_len, (void)ret_saved_ns;
    return NULL;
}

static bool no_quarantine(void *ctx, const char *key)
{
    (void)ctx, (void)key;
    return false;
}

static void no_news(void *ctx, uint32_t generation, const char *const *keys, uint32_t n)
{
    (void)ctx, (void)generation, (void)keys, (void)n;
}

static void *no_room(void *ctx, const char *key, size_t cap)
{
    (void)ctx, (void)key, (void)cap;
    return NULL;
}

static void note_within(void *ctx, const char *key, uint64_t at_ns)
{
    size_t at = strlen(calls);
    (void)ctx, (void)at_ns;
    snprintf(calls + at, sizeof calls - at, "%s", key ? key : ".");
}

START_TEST(what_is_beyond_knows_of_each_call_into_a_policy_at_a_reload)
{
    const struct adp_shape shape = { 1, 1 << 16, 1 << 20, 16 };
    size_t bytes = adp_region_bytes(&shape);
    void *at = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    struct adp_beyond beyond = { .saved = nothing_saved,
                                 .quarantined = no_quarantine,
                                 .policies = no_news,
                                 .save_begin = no_room,
                                 .within = note_within };
    const struct adp_host_options options = { .beyond = &beyond };
    ck_assert_ptr_nonnull(at);
    memset(at, 0, bytes);
    ck_assert_int_eq(adp_region_create(&beyond.region, at, bytes, &shape, 1, NULL), 0);
    calls[0] = '\0';
    adp_runtime *rt = started(yaml("log", COUNTER("cap: 4")), &options);
    ck_assert_str_eq(calls, "counter."); /* create */
    adp_lane *lane = lane_of(rt);
    decide(lane, "a"); /* or there is nothing to save */
    adp_lane_close(lane);
    calls[0] = '\0';
    reloads(rt, yaml("log", COUNTER("cap: 5")));
    ck_assert_str_eq(calls, "counter.counter.counter."); /* save, create, destroy */
    adp_runtime_close(rt, NULL);
    ck_assert_str_eq(calls, "counter.counter.counter.counter.");
    adp_region_destroy(beyond.region);
    free(at);
}
END_TEST

/* A log that somebody else writes: whether it could be moved is asked before anything is
 * touched. */
static struct {
    char tried[512], moved[512];
    int answer;
} elsewhere;

static int note_move(void *ctx, const struct adp_log_options *log, bool only_try,
                     struct adp_error *err)
{
    (void)ctx;
    snprintf(only_try ? elsewhere.tried : elsewhere.moved, sizeof elsewhere.tried, "%s",
             log->path);
    return elsewhere.answer < 0
               ? adp_error_set(err, elsewhere.answer, "there is no such place")
               : 0;
}

START_TEST(a_log_that_somebody_else_writes_is_moved_by_them)
{
    const struct adp_shape shape = { 1, 1 << 16, 1 << 20, 16 };
    size_t bytes = adp_region_bytes(&shape);
    void *at = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    struct adp_beyond beyond = { .recording = true,
                                 .saved = nothing_saved,
                                 .quarantined = no_quarantine,
                                 .policies = no_news,
                                 .save_begin = no_room,
                                 .within = note_within };
    const struct adp_host_options options = { .beyond = &beyond };
    ck_assert_ptr_nonnull(at);
    memset(at, 0, bytes);
    memset(&elsewhere, 0, sizeof elsewhere);
    ck_assert_int_eq(adp_region_create(&beyond.region, at, bytes, &shape, 1, NULL), 0);
    adp_runtime *rt = started(yaml("log", KV(0.5)), &options);
    ck_assert_int_eq(reload(rt, yaml("other", KV(0.5))), ADP_EINVAL);
    ck_assert_msg(error_has("which a reload cannot change here"), "%s", all_errors());
    beyond.move_log = note_move;
    elsewhere.answer = ADP_EIO;
    ck_assert_int_eq(reload(rt, yaml("other", KV(0.5))), ADP_EIO);
    ck_assert_msg(error_has("there is no such place"), "%s", all_errors());
    ck_assert_uint_eq(stats(rt).generation, 1);
    ck_assert_str_eq(elsewhere.moved, "");
    elsewhere.answer = 0;
    reloads(rt, yaml("log", KV(0.6)));
    ck_assert_str_eq(elsewhere.moved, ""); /* it stays where it is */
    reloads(rt, yaml("other", KV(0.5)));
    ck_assert_str_eq(elsewhere.moved, elsewhere.tried);
    ck_assert_str_eq(elsewhere.moved, adp_host_log_path(rt));
    adp_runtime_close(rt, NULL);
    adp_region_destroy(beyond.region);
    free(at);
}
END_TEST

START_TEST(a_state_that_is_refused_keeps_the_old_configuration)
{
    adp_runtime *rt = started(yaml("log", COUNTER("format: 1")), NULL);
    adp_lane *lane = lane_of(rt);
    decide(lane, "a");
    ck_assert_int_eq(reload(rt, yaml("log", COUNTER("format: 2, strict: true"))),
                     ADP_EINVAL);
    ck_assert_msg(error_has("t.yaml:5:9: policy counter does not take over the state of "
                            "the one before: it is of another format"),
                  "%s", all_errors());
    ck_assert_uint_eq(stats(rt).generation, 1);
    decide(lane, "b");
    ck_assert_uint_eq(ask(lane, "asked"), 2);
    ck_assert_uint_eq(ask(lane, "made"), 1);
    reloads(rt, yaml("log", COUNTER("format: 2"))); /* not believed: afresh */
    ck_assert_uint_eq(ask(lane, "asked"), 0);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

/* --- what is refused --- */

static const struct {
    const char *name, *body, *says[3];
} refused[] = {
    { "all mistakes",
      "policy: { use: kv_threshold, params: { treshold: 2 }, enforce: 7 }\nnots: x\n",
      { "has no parameter \"treshold\"", "enforce",
        "t.yaml:6:1: unknown key in the file, found \"nots\"" } },
    { "no such policy", "policy: { use: kv_treshold }\n", { "kv_treshold" } },
    { "no YAML", "policy: {\n", { "t.yaml:" } },
};

START_TEST(a_bad_file_keeps_the_old_and_says_everything)
{
    adp_runtime *rt = started(yaml("log", KV(0.5)), NULL);
    adp_lane *lane = lane_of(rt);
    publish(rt, PAGE("0.8"));
    ck_assert_int_lt(reload(rt, yaml("log", refused[_i].body)), 0);
    for (int i = 0; i < 3 && refused[_i].says[i]; i++)
        ck_assert_msg(error_has(refused[_i].says[i]), "%s", all_errors());
    ck_assert_uint_eq(stats(rt).generation, 1);
    ck_assert_uint_eq(decide(lane, "a").admitted, 0);
    reloads(rt, yaml("log", KV(0.9)));
    ck_assert_uint_eq(errors.n, 0); /* those of the try before are gone */
    ck_assert_uint_eq(decide(lane, "b").admitted, 1);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(a_file_is_read_again_from_where_it_was_after_a_chdir)
{
    adp_runtime *rt = NULL;
    char here[256];
    FILE *f = fopen(in_folder("c.yaml"), "w");
    fputs(yaml("log", KV(0.9)), f);
    fclose(f);
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(adp_runtime_open(&rt, "c.yaml", &errors), 0);
    ck_assert_int_eq(chdir(here), 0);
    ck_assert_int_eq(adp_runtime_reload(rt, NULL, &errors), ADP_ESTATE);
    ck_assert(error_has("the runtime is not started"));
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    publish(rt, PAGE("0.8"));
    f = fopen(in_folder("c.yaml"), "w");
    fputs(yaml("log", KV(0.7)), f);
    fclose(f);
    ck_assert_int_eq(adp_runtime_reload(rt, NULL, &errors), 0);
    adp_lane *lane = lane_of(rt);
    ck_assert_uint_eq(decide(lane, "a").admitted, 0);
    ck_assert_int_eq(adp_runtime_reload(rt, in_folder("none.yaml"), &errors), ADP_ENOENT);
    ck_assert_uint_eq(decide(lane, "b").admitted, 0);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    adp_errors_free(&errors);
    rt = started(yaml("log", KV(0.7)), NULL);
    ck_assert_int_eq(adp_runtime_reload(rt, NULL, &errors), ADP_EINVAL);
    ck_assert(error_has("opened from text"));
    adp_runtime_close(rt, NULL);
}
END_TEST

static char gate[128];

static void *dawdle(void *arg)
{
    adp_facts facts = { .size = sizeof facts, .tenant = gate };
    adp_decision d;
    adp_lane_decide(arg, &facts, &d);
    return NULL;
}

START_TEST(a_policy_that_does_not_return_refuses_the_reload_and_holds_nobody)
{
    static const char body[] = "policy: { use: ./dawdler.so }\n";
    pthread_t thread;
    adp_runtime *rt = started(yaml("log", body), NULL);
    adp_lane *lane = lane_of(rt), *other = lane_of(rt);
    snprintf(gate, sizeof gate, "%s/gate", folder);
    close(open(gate, O_CREAT | O_WRONLY, 0600));
    pthread_create(&thread, NULL, dawdle, lane);
    while (stats(rt).decisions == 0 && reload(rt, yaml("log", body)) == 0)
        ; /* until the thread is inside */
    ck_assert_msg(error_has("dawdler has not returned for a second on lane 1"), "%s",
                  all_errors());
    uint64_t generation = stats(rt).generation;
    ck_assert_uint_eq(decide(other, "a").admitted, 1); /* the gate is open again */
    unlink(gate);
    pthread_join(thread, NULL);
    reloads(rt, yaml("log", body));
    ck_assert_uint_eq(stats(rt).generation, generation + 1);
    adp_runtime_close(rt, NULL);
}
END_TEST

/* --- in a storm of signals --- */

static _Atomic uint64_t handled, decided;
static _Atomic bool calm;

static void note_signal(int signal_number)
{
    (void)signal_number;
    handled++;
}

/* To the thread that reloads: the next one when the one before has been handled. */
static void *interrupt_it(void *arg)
{
    const pthread_t *reloading = arg;
    for (uint64_t sent = 0; !calm;)
        if (handled == sent && pthread_kill(*reloading, SIGUSR1) == 0)
            sent++;
    return NULL;
}

static void *decide_on(void *arg)
{
    while (!calm) {
        decide(arg, NULL);
        decided++;
    }
    return NULL;
}

/* They come faster than a timer is exact, until the reload has returned. */
START_TEST(a_storm_of_signals_keeps_no_reload_and_no_request_before_its_gate)
{
    static const char body[] = "policy: { use: ./dawdler.so }\n";
    struct sigaction note = { .sa_handler = note_signal };
    pthread_t inside, storm, deciding, self = pthread_self();
    adp_runtime *rt = started(yaml("log", body), NULL);
    adp_lane *lane = lane_of(rt), *other = lane_of(rt);
    snprintf(gate, sizeof gate, "%s/gate", folder);
    close(open(gate, O_CREAT | O_WRONLY, 0600));
    sigaction(SIGUSR1, &note, NULL);
    pthread_create(&inside, NULL, dawdle, lane);
    pthread_create(&deciding, NULL, decide_on, other);
    pthread_create(&storm, NULL, interrupt_it, &self);
    uint64_t before;
    int code;
    do {
        before = decided;
        code = reload(rt, yaml("log", body));
    } while (code == 0); /* until the thread is inside */
    uint64_t between = decided - before;
    calm = true;
    pthread_join(storm, NULL);
    pthread_join(deciding, NULL);
    unlink(gate);
    pthread_join(inside, NULL);
    ck_assert_int_eq(code, ADP_ESTATE);
    ck_assert(error_has("dawdler has not returned for a second on lane 1"));
    ck_assert_uint_ge(between, 9); /* behind each gate but the last */
    adp_runtime_close(rt, NULL);
}
END_TEST

/* --- how many --- */

START_TEST(requests_without_outcome_never_stop_a_reload_the_oldest_are_lost)
{
    adp_runtime *rt = started(yaml("log", "policy: { use: ./ticket_echo.so }\n"), NULL);
    adp_lane *lane = lane_of(rt);
    for (int i = 0; i < 40; i++) {
        decide(lane, NULL);
        ck_assert_int_eq(flush_all(rt), 0);
        reloads(rt, yaml("log", "policy: { use: ./ticket_echo.so }\n"));
        ck_assert_uint_le(stats(rt).generations, 16);
    }
    ck_assert_uint_eq(stats(rt).generations, 16);
    ck_assert_uint_eq(stats(rt).lost_tickets, 25); /* 40, but for those of 15 before */
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(a_log_that_cannot_be_written_stops_reloads_and_no_line_lacks_its_words)
{
    const struct adp_host_options options = { .own_thread = true };
    ck_assert_int_eq(symlink("/dev/full", in_folder("log")), 0);
    adp_runtime *rt = started(yaml("log", KV(0.9)), &options);
    adp_lane *lane = lane_of(rt);
    char body[128];
    int n = 0;
    for (int code = 0; code == 0; n++) {
        settle(lane, decide(lane, NULL).id);
        snprintf(body, sizeof body,
                 "policy: { use: kv_threshold, params: { threshold: 0.%02d } }\n", n + 1);
        code = reload(rt, yaml("log", body));
    }
    /* 15 more than one, and what the log took into its memory before the disk said no. */
    ck_assert_int_ge(n, 16);
    ck_assert_int_lt(n, 64);
    ck_assert_msg(error_has("16 configurations are still in use: the log has not been "
                            "written since 15 reloads"),
                  "%s", all_errors());
    ck_assert_int_eq(unlink(in_folder("log")), 0);
    ck_assert_int_eq(flush_all(rt), 0);
    ck_assert_uint_eq(stats(rt).generations, 1);
    reloads(rt, yaml("log", KV(0.9)));
    decide(lane, NULL);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines("log", "verdict");
    ck_assert_uint_eq(json_array_size(all), (size_t)n + 1);
    for (size_t i = 1; i < (size_t)n; i++)
        ck_assert(number(json_array_get(all, i), "params", "threshold") ==
                  (double)i / 100);
    json_decref(all);
}
END_TEST

/* --- the log --- */

START_TEST(a_log_that_moves_leaves_the_past_behind_and_starts_with_the_snapshot)
{
    adp_runtime *rt = started(yaml("one", KV(0.9)), NULL);
    adp_lane *lane = lane_of(rt);
    publish(rt, PAGE("0.8"));
    for (int i = 0; i < 100; i++)
        decide(lane, "before");
    reloads(rt, yaml("two/three", KV(0.9)));
    for (int i = 0; i < 100; i++)
        decide(lane, "after");
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *one = lines("one", "verdict"), *two = lines("two/three", NULL);
    ck_assert_uint_eq(json_array_size(one), 100);
    ck_assert_uint_eq(json_array_size(two), 101);
    ck_assert(number(json_array_get(two, 0), "signals", "kv_pressure") == 0.8);
    for (size_t i = 1; i <= 100; i++) {
        ck_assert_str_eq(word(json_array_get(two, i), "request_id"), "after");
        ck_assert(json_equal(json_object_get(json_array_get(two, i), "snapshot"),
                             json_object_get(json_array_get(two, 0), "snapshot")));
    }
    json_decref(one);
    json_decref(two);
}
END_TEST

static const struct {
    const char *name, *text, *says;
} unmovable[] = {
    { "none", "version: 1\nlog: none\npolicy: { use: no_admission }\n",
      "log: was a file and is none, which a reload cannot change" },
    { "inline",
      "version: 1\nlog: { path: /tmp/x, metrics: inline }\npolicy: { use: no_admission "
      "}\n",
      "log.metrics differs, which a reload cannot change" },
    { "a folder that cannot be",
      "version: 1\nlog: { path: /proc/self/no/log }\npolicy: { use: no_admission }\n",
      "cannot open the log /proc/self/no/log" },
};

START_TEST(what_a_log_cannot_become_is_refused)
{
    adp_runtime *rt = started(yaml("log", KV(0.9)), NULL);
    ck_assert_int_lt(reload(rt, unmovable[_i].text), 0);
    ck_assert_msg(error_has(unmovable[_i].says), "%s", all_errors());
    ck_assert_uint_eq(stats(rt).generation, 1);
    adp_runtime_close(rt, NULL);
}
END_TEST

/* 230 bytes, and 26 more of a rotated file. */
START_TEST(a_rotation_that_the_name_of_the_log_leaves_no_room_for_is_refused)
{
    char name[231], text[1024];
    memset(name, 'n', 230);
    name[230] = '\0';
    adp_runtime *rt = started(yaml(name, KV(0.9)), NULL);
    snprintf(text, sizeof text,
             "version: 1\nexperiment: e\nrun: r1\nlog: { path: \"%s/%s\", rotate: 1MiB "
             "}\n" KV(0.9),
             folder, name);
    ck_assert_int_eq(reload(rt, text), ADP_EINVAL);
    ck_assert_msg(error_has("too long for rotated files"), "%s", all_errors());
    ck_assert_uint_eq(stats(rt).generation, 1);
    reloads(rt, yaml(name, KV(0.8)));
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(counts_are_filled_as_far_as_the_caller_knows_them)
{
    struct {
        adp_stats s;
        uint64_t behind;
    } box = { .behind = 7 };
    adp_runtime *rt = started(yaml("log", KV(0.9)), NULL);
    box.s.size = offsetof(adp_stats, generation);
    box.s.generation = 5;
    ck_assert_int_eq(adp_runtime_stats(rt, &box.s), 0);
    ck_assert_uint_eq(box.s.size, offsetof(adp_stats, generation));
    ck_assert_uint_eq(box.s.generation, 5);
    box.s.size = sizeof box; /* of a later header */
    ck_assert_int_eq(adp_runtime_stats(rt, &box.s), 0);
    ck_assert_uint_eq(box.s.size, sizeof box.s);
    ck_assert_uint_eq(box.behind, 7);
    box.s.size = 4;
    ck_assert_int_eq(adp_runtime_stats(rt, &box.s), ADP_EINVAL);
    adp_runtime_close(rt, NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reload");
    TCase *t = tcase_create("reload");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, the_new_parameters_decide_on_the_metrics_published_before);
    tcase_add_test(t, a_signal_that_is_new_is_read_from_the_metrics_published_before);
    tcase_add_test(t, a_rate_goes_on_and_readings_do_not_get_younger);
    tcase_add_test(t, a_policy_replaced_on_disk_takes_over_at_reload_and_not_before);
    tcase_add_test(t, a_state_that_is_saved_goes_on_and_outcomes_find_the_heir);
    tcase_add_test(t,
                   without_save_each_instance_takes_back_its_own_tickets_and_then_ends);
    tcase_add_test(t, members_are_matched_by_name_then_by_order);
    tcase_add_test(t, what_is_beyond_knows_of_each_call_into_a_policy_at_a_reload);
    tcase_add_test(t, a_log_that_somebody_else_writes_is_moved_by_them);
    tcase_add_test(t, a_state_that_is_refused_keeps_the_old_configuration);
    tcase_add_loop_test(t, a_bad_file_keeps_the_old_and_says_everything, 0,
                        sizeof refused / sizeof refused[0]);
    tcase_add_test(t, a_file_is_read_again_from_where_it_was_after_a_chdir);
    tcase_add_test(t, a_policy_that_does_not_return_refuses_the_reload_and_holds_nobody);
    tcase_add_test(t, a_storm_of_signals_keeps_no_reload_and_no_request_before_its_gate);
    tcase_add_test(t, requests_without_outcome_never_stop_a_reload_the_oldest_are_lost);
    tcase_add_test(
        t, a_log_that_cannot_be_written_stops_reloads_and_no_line_lacks_its_words);
    tcase_add_test(t,
                   a_log_that_moves_leaves_the_past_behind_and_starts_with_the_snapshot);
    tcase_add_loop_test(t, what_a_log_cannot_become_is_refused, 0,
                        sizeof unmovable / sizeof unmovable[0]);
    tcase_add_test(t, a_rotation_that_the_name_of_the_log_leaves_no_room_for_is_refused);
    tcase_add_test(t, counts_are_filled_as_far_as_the_caller_knows_them);
    suite_add_tcase(s, t);
    return run_suite(s, CK_FORK_GETENV);
}
