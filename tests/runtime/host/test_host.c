/* SPDX-License-Identifier: MIT */
/* The runtime as a host sees it: real configuration text, policies loaded as .so, a real
 * log. */
#include "runtime/host/host.h"
#include "tests/runtime/host/flush.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char text[8192];
static adp_errors errors;

static void setup(void)
{
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS, 1);
    strcpy(folder, "/tmp/adp-host-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    errors = (adp_errors) { 0 };
}

static void teardown(void)
{
    char command[128];
    adp_errors_free(&errors);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* `body` behind version, experiment, run and a log in our folder. */
static const char *yaml(const char *body)
{
    snprintf(
        text, sizeof text,
        "version: 1\nexperiment: e\nrun: r1\nlog: { path: \"%s/{policy}.jsonl\" }\n%s",
        folder, body);
    return text;
}

static const char *all_errors(void)
{
    static char all[8192];
    all[0] = '\0';
    for (uint32_t i = 0; i < errors.n; i++) {
        char one[1024];
        adp_error_print(&errors.list[i], one, sizeof one);
        strncat(all, one, sizeof all - strlen(all) - 2);
        strcat(all, "\n");
    }
    return all;
}

static adp_runtime *start(const char *body)
{
    adp_runtime *rt = NULL;
    adp_error err = { 0 };
    int code =
        adp_host_open_text(&rt, yaml(body), "t.yaml", TEST_POLICIES, NULL, &errors);
    ck_assert_msg(code == 0, "%s", all_errors());
    code = adp_runtime_start(rt, &err);
    ck_assert_msg(code == 0, "%s", err.text);
    return rt;
}

static adp_lane *lane_of(adp_runtime *rt)
{
    adp_lane *lane = NULL;
    ck_assert_int_eq(adp_lane_open(&lane, rt, NULL), 0);
    return lane;
}

static adp_decision decide(adp_lane *lane, const char *id)
{
    adp_facts facts = { .size = sizeof facts, .request_id = id };
    adp_decision d;
    ck_assert_int_eq(adp_lane_decide(lane, &facts, &d), 0);
    return d;
}

/* The lines of the log that have `key`. */
static json_t *lines(const char *policy, const char *key)
{
    static char line[1 << 16];
    char path[160];
    json_t *all = json_array();
    snprintf(path, sizeof path, "%s/%s.jsonl", folder, policy);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_msg(j != NULL, "%s", line);
        if (json_object_get(j, key))
            json_array_append(all, j);
        json_decref(j);
    }
    fclose(f);
    return all;
}

static const char *word(json_t *line, const char *key)
{
    return json_string_value(json_object_get(line, key));
}

#define PAGE(kv, waiting)                                                                \
    "vllm:kv_cache_usage_perc{engine=\"0\"} " kv "\n"                                    \
    "vllm:num_requests_waiting{engine=\"0\"} " waiting "\n"

static void publish(adp_runtime *rt, const char *page)
{
    adp_error err = { 0 };
    int code = adp_runtime_publish_text(rt, page, strlen(page), &err);
    ck_assert_msg(code == 0, "%s", err.text);
}

/* --- opening --- */

static const struct {
    const char *name, *body, *says;
} refused[] = {
    { "unknown parameter", "policy: { use: kv_threshold, params: { treshold: 0.9 } }\n",
      "t.yaml:5:40: policy kv_threshold has no parameter \"treshold\"; nearest is "
      "\"threshold\"" },
    { "missing parameter", "policy: { use: kv_threshold }\n",
      "policy kv_threshold needs parameter threshold" },
    { "out of range", "policy: { use: kv_threshold, params: { threshold: 1.5 } }\n",
      "parameter threshold: found \"1.5\", expected 0 to 1 ratio" },
    { "not a number", "policy: { use: kv_threshold, params: { threshold: high } }\n",
      "parameter threshold: found \"high\", expected a number" },
    { "not finite", "policy: { use: kv_threshold, params: { threshold: .nan } }\n",
      "parameter threshold" },
    { "not whole", "policy: { use: queue_depth, params: { max_waiting: 10.5 } }\n",
      "parameter max_waiting: found \"10.5\", expected a whole number" },
    { "takes none", "policy: { use: no_admission, params: { x: 1 } }\n",
      "policy no_admission takes no parameters, found \"x\"" },
    { "no such policy", "policy: { use: kv_treshold, params: { threshold: 0.9 } }\n",
      "nearest is \"kv_threshold\"" },
    { "no such file", "policy: { use: ./missing.so }\n", "missing.so" },
    { "a signal nobody knows",
      "policy: { use: ./declared_only.so, params: { threshold: 90 } }\n",
      "t.yaml:5:16: " },
    { "config for a policy that takes none",
      "policy: { use: no_admission, config: { a: 1 } }\n",
      "t.yaml:5:38: policy no_admission takes no config" },
    { "config for a policy that has instances and takes none",
      "policy: { use: ./ticket_echo.so, config: { a: 1 } }\n",
      "t.yaml:5:42: policy ticket_echo takes no config" },
    { "a config that the policy does not know",
      "policy: { use: ./takes_config.so, config: { b: 1 } }\n",
      "policy takes_config could not be created: it knows no config but {\"a\":1}" },
};

START_TEST(what_a_policy_cannot_accept_is_refused_at_its_place)
{
    adp_runtime *rt = NULL;
    int code = adp_host_open_text(&rt, yaml(refused[_i].body), "t.yaml", TEST_POLICIES,
                                  NULL, &errors);
    ck_assert_int_lt(code, 0);
    ck_assert_ptr_null(rt);
    ck_assert_msg(strstr(all_errors(), refused[_i].says) != NULL, "%s: %s",
                  refused[_i].name, all_errors());
}
END_TEST

START_TEST(mistakes_of_all_policies_are_reported_together)
{
    adp_runtime *rt = NULL;
    adp_host_open_text(
        &rt,
        yaml("policy: { use: kv_threshold, params: { threshold: 2 } }\n"
             "shadow:\n"
             "  - { use: queue_depth }\n"
             "  - { use: dual_gate, params: { threshold: 0.9, min: 1 } }\n"),
        "t.yaml", TEST_POLICIES, NULL, &errors);
    const char *all = all_errors();
    ck_assert_ptr_nonnull(strstr(all, "found \"2\", expected 0 to 1"));
    ck_assert_ptr_nonnull(strstr(all, "needs parameter max_waiting"));
    ck_assert_ptr_nonnull(strstr(all, "has no parameter \"min\""));
    ck_assert_ptr_nonnull(strstr(all, "needs parameter min_hit_rate"));
}
END_TEST

START_TEST(mistakes_of_the_file_and_of_its_policies_are_reported_together)
{
    adp_runtime *rt = NULL;
    int code =
        adp_host_open_text(&rt,
                           yaml("nots: x\n"
                                "policy: { use: kv_threshold, params: { threshold: 2 }, "
                                "enforce: 7 }\n"
                                "shadow: [ { use: 3 }, { use: nowhere } ]\n"),
                           "t.yaml", TEST_POLICIES, NULL, &errors);
    ck_assert_int_lt(code, 0);
    ck_assert_ptr_null(rt);
    const char *all = all_errors();
    ck_assert_ptr_nonnull(strstr(all, "t.yaml:5:1: unknown key"));
    ck_assert_ptr_nonnull(strstr(all, "found \"2\", expected 0 to 1"));
    ck_assert_ptr_nonnull(strstr(all, "found \"7\""));
    ck_assert_ptr_nonnull(strstr(all, "there is no policy \"nowhere\""));
    ck_assert_uint_eq(errors.list[0].line, 5); /* in the file's order */
}
END_TEST

START_TEST(a_reading_that_is_stale_before_the_next_scrape_is_refused)
{
    adp_runtime *rt = NULL;
    adp_host_open_text(
        &rt,
        yaml("scrape: [ { name: a, url: \"http://127.0.0.1:1/metrics\", interval: 15s } "
             "]\n"
             "policy: { use: kv_threshold, params: { threshold: 0.9 } }\n"),
        "t.yaml", TEST_POLICIES, NULL, &errors);
    ck_assert_ptr_null(rt);
    ck_assert_ptr_nonnull(strstr(
        all_errors(), "policy kv_threshold reads kv_pressure, whose max_age of 5 s is "
                      "below the interval of 15 s at which a is scraped"));
}
END_TEST

START_TEST(unused_parts_are_noted_not_refused)
{
    adp_runtime *rt =
        start("scrape: [ { name: a, url: \"http://127.0.0.1:1/metrics\" } ]\n"
              "policy: { use: no_admission }\n");
    ck_assert_uint_eq(errors.n, 1);
    ck_assert_int_eq(errors.list[0].code, ADP_NOTE);
    ck_assert_ptr_nonnull(strstr(errors.list[0].text, "scrape: is not used in-process"));
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

/* 64 * 2168 = 138752 of 384000 is 0.36; 0.9 * 384000 / 64 = 5400. A threshold of 0.3, and
 * one that nothing is known about, are not worth a word. */
static const struct {
    const char *body, *note;
} reaches[] = {
    { "disclosure: { kv_capacity_tokens: 384000, concurrency: 64, request_tokens: 2168 "
      "}\n"
      "policy: { use: kv_threshold, params: { threshold: 0.9 } }\n",
      "policy kv_threshold: kv_pressure cannot reach 0.9: 64 requests of 2168 tokens "
      "fill "
      "0.361 of a cache of 384000, and it takes requests of 5400 tokens" },
    { "disclosure: { kv_capacity_tokens: 384000, concurrency: 64, request_tokens: 2168 "
      "}\n"
      "policy: { use: no_admission }\n"
      "shadow: [ { use: kv_threshold, params: { threshold: 0.9 } } ]\n",
      "policy kv_threshold: kv_pressure cannot reach 0.9: 64 requests of 2168 tokens "
      "fill "
      "0.361 of a cache of 384000, and it takes requests of 5400 tokens" },
    { "disclosure: { kv_capacity_tokens: 384000, concurrency: 64, request_tokens: 2168 "
      "}\n"
      "policy: { use: kv_threshold, params: { threshold: 0.3 } }\n",
      NULL },
    { "disclosure: { concurrency: 64, request_tokens: 2168 }\n"
      "policy: { use: kv_threshold, params: { threshold: 0.9 } }\n",
      NULL },
};

START_TEST(a_threshold_out_of_reach_is_noted)
{
    adp_runtime *rt = start(reaches[_i].body);
    ck_assert_uint_eq(errors.n, reaches[_i].note ? 1 : 0);
    if (reaches[_i].note) {
        ck_assert_int_eq(errors.list[0].code, ADP_NOTE);
        ck_assert_str_eq(errors.list[0].text, reaches[_i].note);
    }
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

START_TEST(calls_at_the_wrong_time_say_so)
{
    adp_runtime *rt = NULL;
    adp_lane *lane = NULL;
    adp_error err = { 0 };
    ck_assert_int_eq(adp_host_open_text(&rt, yaml("policy: { use: no_admission }\n"), "t",
                                        TEST_POLICIES, NULL, &errors),
                     0);
    ck_assert_int_eq(adp_lane_open(&lane, rt, &err), ADP_ESTATE);
    ck_assert_str_eq(err.text, "the runtime is not started");
    ck_assert_int_eq(adp_runtime_publish_text(rt, "a 1\n", 4, NULL), ADP_ESTATE);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), ADP_ESTATE);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

START_TEST(a_list_with_old_mistakes_is_emptied_by_open)
{
    adp_runtime *rt = NULL;
    char good[256];
    ck_assert_int_lt(adp_runtime_open_text(&rt, "version: 2\n", "t.yaml", &errors), 0);
    ck_assert_uint_gt(errors.n, 0);
    snprintf(good, sizeof good,
             "version: 1\nlog: none\npolicy: { use: kv_threshold, params: { threshold: "
             "0.9 } }\n");
    ck_assert_msg(adp_runtime_open_text(&rt, good, "t.yaml", &errors) == 0, "%s",
                  all_errors());
    ck_assert_uint_eq(errors.n, 0);
    adp_runtime_close(rt, NULL);
    ck_assert_int_lt(adp_runtime_open(&rt, "/nowhere/a.yaml", &errors), 0);
    uint32_t once = errors.n;
    ck_assert_int_lt(adp_runtime_open(&rt, "/nowhere/a.yaml", &errors), 0);
    ck_assert_uint_eq(errors.n, once);
}
END_TEST

static _Atomic int calls;

static void flush(adp_runtime *rt)
{
    adp_runtime_flush(rt, NULL);
}

static void reopen(adp_runtime *rt)
{
    adp_runtime_reopen(rt, NULL);
}

static void reload(adp_runtime *rt)
{
    adp_runtime_reload_text(rt, text, "t.yaml", NULL);
}

static void (*const control[])(adp_runtime *rt) = { flush, reopen, reload };

static struct {
    adp_runtime *rt;
    int control;
} caller;

/* ASan does not hear of frames that cancelling unwinds, and takes what is there later for an
 * overflow. */
#if defined __SANITIZE_ADDRESS__
static const bool can_cancel = false;
#else
static const bool can_cancel = true;
#endif

/* Does nothing else, so it is cancelled in, before or behind one of its calls. */
static void *call_on_and_on(void *arg)
{
    (void)arg;
    for (;;) {
        control[caller.control](caller.rt);
        calls++;
    }
    return NULL;
}

START_TEST(a_thread_that_is_cancelled_leaves_the_runtime_to_the_others)
{
    if (!can_cancel) {
        printf("skipped: cancelling: not under ASan\n");
        return;
    }
    adp_runtime *rt =
        start("policy: { use: kv_threshold, params: { threshold: 0.9 } }\n");
    adp_lane *lane = lane_of(rt);
    caller.rt = rt;
    caller.control = _i;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *end;
        calls = 0;
        ck_assert_int_eq(pthread_create(&thread, NULL, call_on_and_on, NULL), 0);
        while (calls < 1 + i % 3)
            decide(lane, "r");
        pthread_cancel(thread);
        pthread_join(thread, &end);
        ck_assert_ptr_eq(end, PTHREAD_CANCELED);
        ck_assert_int_eq(flush_all(rt), 0);
    }
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

static double no_source(void *user)
{
    (void)user;
    return NAN;
}

START_TEST(whoever_wants_no_errors_gets_the_code)
{
    adp_runtime *rt = NULL;
    ck_assert_int_lt(adp_runtime_open_text(&rt, "version: 2\n", "t", NULL), 0);
    ck_assert_int_lt(adp_runtime_open(&rt, "/nowhere/at/all.yaml", NULL), 0);
    ck_assert_ptr_null(rt);
    ck_assert_int_eq(
        adp_runtime_open_text(&rt, yaml("policy: { use: no_admission }\n"), "t", NULL),
        0);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    ck_assert_int_lt(adp_runtime_reload_text(rt, "version: 2\n", "t", NULL), 0);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), ADP_ESTATE);
    ck_assert_int_lt(adp_runtime_reload(rt, "/nowhere/at/all.yaml", NULL), 0);
    ck_assert_int_eq(adp_runtime_reload(rt, NULL, NULL), ADP_EINVAL);
    ck_assert_int_lt(adp_runtime_publish_text(rt, "\"\n", 2, NULL), 0);
    static const char twice[] = "a 1\na{b=\"1\",b=\"2\"} 1\n";
    ck_assert_int_eq(adp_runtime_publish_text(rt, twice, sizeof twice - 1, NULL),
                     ADP_NOTE);
    static const adp_metric nameless = { 0 };
    ck_assert_int_eq(adp_runtime_publish(rt, &nameless, 1, NULL), ADP_EINVAL);
    static const adp_sample unknown = { .id = 7 };
    ck_assert_int_eq(adp_runtime_publish_ids(rt, &unknown, 1, NULL), ADP_EINVAL);
    uint32_t id;
    ck_assert_int_eq(adp_runtime_intern(rt, "", NULL, &id, NULL), ADP_EINVAL);
    ck_assert_int_eq(adp_runtime_source(rt, "kv_presure", no_source, NULL, NULL),
                     ADP_ESTATE);
    adp_lane *lane = NULL;
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(adp_lane_open(&lane, rt, NULL), 0);
    ck_assert_int_eq(adp_lane_open(&lane, rt, NULL), ADP_EFULL);
    char said[4] = "old";
    ck_assert_uint_eq(adp_error_print(NULL, said, sizeof said), 0);
    ck_assert_str_eq(said, "");
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
    ck_assert_int_eq(adp_runtime_close(NULL, NULL), 0);
    adp_errors_free(NULL);
    ck_assert_int_eq(
        adp_runtime_open_text(&rt, yaml("policy: { use: no_admission }\n"), "t", NULL),
        0);
    ck_assert_int_eq(adp_runtime_refresh(rt, NULL), ADP_ESTATE);
    ck_assert_int_eq(adp_runtime_reopen(rt, NULL), ADP_ESTATE);
    ck_assert_int_eq(adp_runtime_flush(rt, NULL), ADP_ESTATE);
    ck_assert_int_eq(adp_runtime_source(rt, "kv_presure", no_source, NULL, NULL),
                     ADP_EINVAL);
    char log[128];
    snprintf(log, sizeof log, "%s/no_admission.jsonl", folder);
    unlink(log);
    ck_assert_int_eq(mkdir(log, 0700), 0);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), ADP_EIO);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

/* --- deciding --- */

START_TEST(the_shipped_policy_refuses_at_its_threshold_and_the_line_says_all)
{
    adp_runtime *rt = start("notes: \"8k prompts\"\n"
                            "disclosure: { model: qwen, slo: { ttft_ms: 1500 } }\n"
                            "policy: { use: kv_threshold, params: { threshold: 0.90 }, "
                            "provenance: { threshold: fitted } }\n");
    adp_lane *lane = lane_of(rt);
    publish(rt, PAGE("0.9", "3"));
    adp_decision d = decide(lane, "req-1");
    ck_assert_uint_eq(d.status, 503);
    ck_assert_str_eq(d.reason, "kv_pressure");
    adp_lane_close(lane);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);

    json_t *all = lines("kv_threshold", "verdict"), *line = json_array_get(all, 0);
    ck_assert_uint_eq(json_array_size(all), 1);
    ck_assert_str_eq(word(line, "experiment"), "e");
    ck_assert_str_eq(word(line, "run"), "r1");
    ck_assert_str_eq(word(line, "notes"), "8k prompts");
    ck_assert_str_eq(word(line, "policy"), "kv_threshold");
    ck_assert(json_is_false(json_object_get(line, "baseline")));
    json_t *params = json_pack("{s:f}", "threshold", 0.9);
    json_t *found = json_object_get(line, "params");
    ck_assert_uint_eq(json_object_size(found), 1);
    ck_assert(json_number_value(json_object_get(found, "threshold")) == 0.9);
    json_decref(params);
    ck_assert_str_eq(word(json_object_get(line, "provenance"), "threshold"), "fitted");
    json_t *card = json_object_get(line, "card");
    ck_assert_str_eq(word(card, "signal_quantity"), "kv_pressure");
    json_t *gate = json_array_get(json_object_get(card, "gates"), 0);
    json_t *want = json_pack("{s:i,s:s,s:s,s:s}", "rule", 0, "signal", "kv_pressure",
                             "op", ">=", "param", "threshold");
    ck_assert(json_equal(gate, want));
    json_decref(want);
    ck_assert_str_eq(word(line, "verdict"), "reject");
    ck_assert_str_eq(word(line, "binding"), "kv_pressure");
    ck_assert_str_eq(word(json_object_get(line, "sources"), "kv_pressure"),
                     "vllm:kv_cache_usage_perc");
    ck_assert_str_eq(word(json_object_get(line, "whys"), "gpu_util"), "never_supplied");
    ck_assert_str_eq(word(json_object_get(line, "disclosure"), "model"), "qwen");
    ck_assert_uint_eq(strlen(word(line, "config")), 16);
    ck_assert_uint_eq(strlen(word(line, "instance")), 16);
    /* The raw metrics are in the snapshot it names. */
    json_t *snapshots = lines("kv_threshold", "mono_ns"),
           *snapshot = json_array_get(snapshots, 0);
    ck_assert_int_eq(json_integer_value(json_object_get(line, "snapshot")),
                     json_integer_value(json_object_get(snapshot, "snapshot")));
    ck_assert(json_number_value(json_object_get(json_object_get(snapshot, "metrics"),
                                                "vllm:num_requests_waiting")) == 3.0);
    json_decref(snapshots);
    json_decref(all);
}
END_TEST

START_TEST(a_parameter_left_to_the_schema_has_provenance_default)
{
    adp_runtime *rt = start("policy: { use: queue_depth, params: { max_waiting: 5 } }\n");
    adp_lane *lane = lane_of(rt);
    decide(lane, "a");
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines("queue_depth", "verdict"), *line = json_array_get(all, 0);
    ck_assert_str_eq(word(json_object_get(line, "provenance"), "retry_after_ms"),
                     "default");
    json_decref(all);
}
END_TEST

START_TEST(a_signal_declared_only_in_yaml_feeds_a_policy_of_somebody_elses)
{
    adp_runtime *rt =
        start("signals:\n"
              "  gpu_temp: { unit: celsius, range: [0, 120], sources: "
              "[ { metric: DCGM_FI_DEV_GPU_TEMP, aggregate: max } ] }\n"
              "policy: { use: ./declared_only.so, params: { threshold: 90 } }\n");
    adp_lane *lane = lane_of(rt);
    publish(rt,
            "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 71\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 93\n");
    ck_assert_uint_eq(decide(lane, "a").admitted, 0);
    publish(rt,
            "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 71\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 193\n");
    ck_assert_uint_eq(decide(lane, "b").admitted,
                      1); /* 193 is outside the range: skipped */
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(an_ambiguous_source_is_said_at_publish_and_the_signal_is_absent)
{
    adp_runtime *rt =
        start("signals: { queue_depth: { sources: [ { metric: acme_wait } ] } }\n"
              "policy: { use: queue_depth, params: { max_waiting: 5 } }\n");
    adp_lane *lane = lane_of(rt);
    const char *page = "acme_wait{engine=\"0\"} 50\nacme_wait{engine=\"1\"} 60\n"
                       "vllm:num_requests_waiting 70\n";
    adp_error err = { 0 };
    ck_assert_int_eq(adp_runtime_publish_text(rt, page, strlen(page), &err), ADP_NOTE);
    ck_assert_ptr_nonnull(strstr(err.text,
                                 "signal queue_depth: source \"acme_wait\" matches "
                                 "several series that differ in engine"));
    ck_assert_uint_eq(decide(lane, "a").admitted, 1);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines("queue_depth", "verdict");
    ck_assert_str_eq(word(json_object_get(json_array_get(all, 0), "whys"), "queue_depth"),
                     "ambiguous");
    json_decref(all);
}
END_TEST

START_TEST(a_broken_page_keeps_the_metrics_before)
{
    adp_runtime *rt =
        start("policy: { use: kv_threshold, params: { threshold: 0.9 } }\n");
    adp_lane *lane = lane_of(rt);
    publish(rt, PAGE("0.95", "3"));
    const char *page = "<html>login</html>";
    ck_assert_int_eq(adp_runtime_publish_text(rt, page, strlen(page), NULL), ADP_ESYNTAX);
    ck_assert_uint_eq(decide(lane, "a").admitted, 0);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(metrics_given_with_a_request_are_judged_and_recorded_with_it)
{
    static const char *const labels[] = { "engine", "0", NULL };
    const adp_metric given[] = { { "vllm:kv_cache_usage_perc", labels, 0.97 },
                                 { "DCGM_FI_DEV_GPU_UTIL", NULL, 40 } };
    adp_runtime *rt =
        start("policy: { use: kv_threshold, params: { threshold: 0.9 } }\n");
    adp_lane *lane = lane_of(rt);
    adp_decision d;
    ck_assert_int_eq(adp_lane_decide_with(lane, given, 2, NULL, &d), 0);
    ck_assert_uint_eq(d.status, 503);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines("kv_threshold", "verdict"), *line = json_array_get(all, 0);
    ck_assert_uint_eq(json_object_size(json_object_get(line, "metrics")), 2);
    ck_assert(json_number_value(
                  json_object_get(json_object_get(line, "signals"), "gpu_util")) == 0.4);
    json_decref(all);
}
END_TEST

static const struct {
    const char *name, *body, *verdict, *fault;
    unsigned status;
} faults[] = {
    { "undecided admits", "policy: { use: ./undecided.so }\n", "admit",
      "the policy set no action", 200 },
    { "undecided, told to reject", "policy: { use: ./undecided.so, on_error: reject }\n",
      "reject", "the policy set no action", 503 },
    { "a reason out of the vocabulary", "policy: { use: ./bad_reason.so }\n", "admit",
      "the policy refused without a known reason", 200 },
};

START_TEST(a_policy_that_fails_is_answered_by_on_error_and_named_in_the_line)
{
    adp_runtime *rt = start(faults[_i].body);
    adp_lane *lane = lane_of(rt);
    adp_decision d = decide(lane, "a");
    ck_assert_msg(d.status == faults[_i].status, "%s", faults[_i].name);
    char policy[64];
    snprintf(policy, sizeof policy, "%s", adp_host_policy(rt, 0)->policy.name);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines(policy, "verdict"), *line = json_array_get(all, 0);
    ck_assert_str_eq(word(line, "verdict"), faults[_i].verdict);
    ck_assert_str_eq(word(line, "fault"), faults[_i].fault);
    json_decref(all);
}
END_TEST

START_TEST(shadows_see_the_request_and_do_not_govern)
{
    adp_runtime *rt =
        start("policy: { use: no_admission }\n"
              "shadow: [ { use: kv_threshold, params: { threshold: 0.5 } }, "
              "{ use: queue_depth, params: { max_waiting: 100 } } ]\n");
    adp_lane *lane = lane_of(rt);
    publish(rt, PAGE("0.6", "3"));
    ck_assert_uint_eq(decide(lane, "a").admitted, 1);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines("no_admission", "verdict");
    ck_assert_uint_eq(json_array_size(all), 3);
    ck_assert(json_is_true(json_object_get(json_array_get(all, 0), "baseline")));
    ck_assert_str_eq(word(json_array_get(all, 1), "verdict"), "reject");
    ck_assert_str_eq(word(json_array_get(all, 1), "role"), "shadow");
    ck_assert_str_eq(word(json_array_get(all, 2), "verdict"), "admit");
    json_decref(all);
}
END_TEST

START_TEST(outcomes_by_handle_and_by_id_are_recorded_and_settle_once)
{
    static const adp_extra extra[] = { { "model", "qwen", 0 } };
    adp_result done = { .size = sizeof done,
                        .end = ADP_DONE,
                        .present = ADP_O_TTFT | ADP_O_STATUS,
                        .ok = 1,
                        .status = 200,
                        .ttft_ms = 418,
                        .n_extra = 1,
                        .extra = extra };
    adp_runtime *rt = start("policy: { use: ./ticket_echo.so }\n");
    adp_lane *lane = lane_of(rt);
    adp_decision a = decide(lane, "a");
    decide(lane, "b");
    static const uint32_t not_hosts[] = { ADP_NOT_RUN, ADP_LOST, 6, UINT32_MAX };
    for (size_t i = 0; i < sizeof not_hosts / sizeof not_hosts[0]; i++) {
        adp_result other = done;
        other.end = not_hosts[i];
        ck_assert_int_eq(adp_lane_outcome(lane, a.id, NULL, &other), ADP_EINVAL);
    }
    ck_assert_int_eq(adp_lane_outcome(lane, a.id, NULL, &done), 0);
    ck_assert_int_eq(adp_lane_outcome(lane, 0, "b", &done), 0);
    ck_assert_int_eq(adp_lane_outcome(lane, a.id, NULL, &done), ADP_ENOENT);
    ck_assert_int_eq(adp_lane_outcome(lane, 0, "nobody", &done), ADP_ENOENT);
    adp_facts count = { .size = sizeof count, .slo_class = "count" };
    adp_decision d;
    adp_lane_decide(lane, &count, &d);
    ck_assert_uint_eq(d.retry_after_ms, 2); /* two done, nothing else */
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines("ticket_echo", "outcome");
    ck_assert_uint_eq(json_array_size(all), 4);
    json_t *first = json_array_get(all, 0);
    ck_assert_str_eq(word(first, "request_id"), "a"); /* known from the handle */
    ck_assert_str_eq(word(json_object_get(first, "outcome"), "model"), "qwen");
    ck_assert_str_eq(word(json_array_get(all, 3), "request_id"), "nobody");
    ck_assert(json_is_null(json_object_get(json_array_get(all, 3), "id")));
    json_decref(all);
}
END_TEST

/* Structs of a later header are longer; of an earlier one there is none. A decision's own size
 * is the library's to say. */
static const struct {
    uint32_t more, size; /* more: beyond the struct's own, else `size` */
    bool taken;
} sizes[] = { { 0, 0, false }, { 0, 4, false }, { 0, UINT32_MAX, true },
              { 1, 0, true },  { 1, 64, true }, { 0, 8, false } };

START_TEST(a_size_below_the_first_version_is_refused_by_every_call)
{
    adp_runtime *rt = start("policy: { use: ./ticket_echo.so }\n");
    adp_lane *lane = lane_of(rt);
    adp_facts facts = { .request_id = "f" };
    adp_result result = { .end = ADP_DONE, .ok = -1 };
    adp_metric metric = { "a", NULL, 1 };
    adp_sample sample = { 0 };
    adp_decision d;
    ck_assert_int_eq(adp_runtime_intern(rt, "a", NULL, &sample.id, NULL), 0);
    uint32_t of_facts = sizes[_i].more ? (uint32_t)sizeof facts : 0;
    uint32_t of_result = sizes[_i].more ? (uint32_t)sizeof result : 0;
    facts.size = of_facts + sizes[_i].size;
    result.size = of_result + sizes[_i].size;
    int expected = sizes[_i].taken ? 0 : ADP_EINVAL;
    for (int call = 0; call < 3; call++) {
        memset(&d, 0xff, sizeof d);
        int code = call == 0   ? adp_lane_decide(lane, &facts, &d)
                   : call == 1 ? adp_lane_decide_with(lane, &metric, 1, &facts, &d)
                               : adp_lane_decide_ids(lane, &sample, 1, &facts, &d);
        ck_assert_int_eq(code, expected);
        ck_assert_uint_eq(d.size, sizeof d);
        ck_assert(d.admitted == 1 && d.status == 200 && !d.fault);
        ck_assert_int_eq(d.id != 0, sizes[_i].taken);
    }
    d = decide(lane, "r");
    ck_assert_int_eq(adp_lane_outcome(lane, d.id, NULL, &result), expected);
    result.size = sizeof result; /* what was refused waits on */
    ck_assert_int_eq(adp_lane_outcome(lane, d.id, NULL, &result),
                     sizes[_i].taken ? ADP_ENOENT : 0);
    adp_stats s = { .size = sizes[_i].more ? (uint32_t)sizeof s : sizes[_i].size };
    ck_assert_int_eq(adp_runtime_stats(rt, &s), expected);
    s.size = sizeof s;
    ck_assert_int_eq(adp_runtime_stats(rt, &s), 0);
    ck_assert_uint_eq(s.decisions, sizes[_i].taken ? 4 : 1);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(lanes_are_counted_reused_and_bounded)
{
    adp_lane *lane[17] = { 0 };
    adp_error err = { 0 };
    adp_runtime *rt = start("policy: { use: no_admission }\n");
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(adp_lane_open(&lane[i], rt, NULL), 0);
    ck_assert_int_eq(adp_lane_open(&lane[16], rt, &err), ADP_EFULL);
    ck_assert_str_eq(err.text, "all 16 lanes are open");
    adp_lane_close(lane[3]);
    ck_assert_int_eq(adp_lane_open(&lane[16], rt, NULL), 0);
    adp_decision d = decide(lane[16], "x");
    ck_assert_uint_eq(d.admitted, 1);
    adp_stats s = { .size = sizeof s };
    adp_runtime_stats(rt, &s);
    ck_assert_uint_eq(s.lanes, 16);
    ck_assert_uint_eq(s.decisions, 1);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(half_enforced_splits_by_id_and_says_so)
{
    adp_runtime *rt = start(
        "policy: { use: kv_threshold, params: { threshold: 0.5 }, enforce: 0.5 }\n");
    adp_lane *lane = lane_of(rt);
    publish(rt, PAGE("0.9", "0"));
    unsigned turned_away = 0;
    for (int i = 0; i < 1000; i++) {
        char id[16];
        snprintf(id, sizeof id, "r%d", i);
        adp_decision d = decide(lane, id);
        ck_assert_uint_eq(d.admitted, !d.enforced);
        ck_assert_uint_eq(decide(lane, id).enforced, d.enforced);
        turned_away += !d.admitted;
    }
    /* Binomial(1000, 1/2): four standard deviations are 63. */
    ck_assert_uint_gt(turned_away, 437);
    ck_assert_uint_lt(turned_away, 563);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

/* --- explaining --- */

START_TEST(an_explanation_shows_each_gate_with_its_distance)
{
    adp_runtime *rt = start(
        "policy: { use: dual_gate, params: { threshold: 0.75, min_hit_rate: 0.5 } }\n");
    adp_lane *lane = lane_of(rt);
    publish(rt, PAGE("0.5", "0"));
    adp_decision d;
    struct adp_explanation why;
    ck_assert_int_eq(adp_host_explain(lane, NULL, &d, &why), 0);
    ck_assert_uint_eq(why.n_gates, 2);
    ck_assert_str_eq(why.gates[0].signal, "kv_pressure");
    ck_assert_str_eq(why.gates[0].op, ">=");
    ck_assert(why.gates[0].threshold == 0.75 && why.gates[0].value == 0.5);
    ck_assert(why.gates[0].distance == -0.25 && !why.gates[0].held);
    ck_assert_str_eq(why.gates[1].signal, "prefix_hit_rate");
    ck_assert(!why.gates[1].has_value && !why.gates[1].held);
    ck_assert_uint_eq(why.status, 200);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(log_none_records_nothing_and_decides)
{
    adp_runtime *rt = NULL;
    ck_assert_int_eq(
        adp_runtime_open_text(
            &rt, "version: 1\nlog: none\npolicy: { use: no_admission }\n", "t", &errors),
        0);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    adp_lane *lane = lane_of(rt);
    ck_assert_uint_eq(decide(lane, "a").admitted, 1);
    ck_assert_ptr_null(adp_host_log_path(rt));
    adp_lane_close(lane);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

/* Which of 32 ids are governed, as bits. */
static uint32_t arms(const struct adp_host_options *options)
{
    static const char body[] =
        "version: 1\nexperiment: e\nnotes: real\nlog: none\n"
        "policy: { use: kv_threshold, params: { threshold: 0.5 }, enforce: 0.5 }\n";
    adp_runtime *rt = NULL;
    uint32_t governed = 0;
    ck_assert_int_eq(adp_host_open_text(&rt, body, "t", ".", options, &errors), 0);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    adp_lane *lane = lane_of(rt);
    publish(rt, PAGE("0.9", "0"));
    for (int i = 0; i < 32; i++) {
        char id[16];
        snprintf(id, sizeof id, "r%d", i);
        governed |= (uint32_t)decide(lane, id).enforced << i;
    }
    adp_lane_close(lane);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
    return governed;
}

START_TEST(a_scene_is_what_lines_say_and_leaves_the_split_as_it_is)
{
    char path[80];
    snprintf(path, sizeof path, "%s/{run}.jsonl", folder);
    const struct adp_host_scene scene = { .experiment = "staged",
                                          .run = "r7",
                                          .notes = "not real",
                                          .disclosure_json = "{\"model\":\"none\"}",
                                          .log_path = path };
    const struct adp_host_options staged = { .scene = &scene };
    uint32_t as_configured = arms(NULL);
    ck_assert_uint_ne(as_configured, 0);
    ck_assert_uint_ne(as_configured, UINT32_MAX);
    ck_assert_uint_eq(arms(&staged), as_configured);
    json_t *all = lines("{run}", "verdict");
    ck_assert_uint_eq(json_array_size(all), 32);
    json_t *line = json_array_get(all, 31);
    ck_assert_str_eq(word(line, "experiment"), "staged");
    ck_assert_str_eq(word(line, "run"), "r7");
    ck_assert_str_eq(word(line, "notes"), "not real");
    ck_assert_str_eq(word(json_object_get(line, "disclosure"), "model"), "none");
    json_decref(all);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("host");
    TCase *t = tcase_create("host");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, what_a_policy_cannot_accept_is_refused_at_its_place, 0,
                        sizeof refused / sizeof refused[0]);
    tcase_add_test(t, mistakes_of_all_policies_are_reported_together);
    tcase_add_test(t, mistakes_of_the_file_and_of_its_policies_are_reported_together);
    tcase_add_test(t, a_reading_that_is_stale_before_the_next_scrape_is_refused);
    tcase_add_test(t, unused_parts_are_noted_not_refused);
    tcase_add_loop_test(t, a_threshold_out_of_reach_is_noted, 0,
                        (int)(sizeof reaches / sizeof reaches[0]));
    tcase_add_test(t, calls_at_the_wrong_time_say_so);
    tcase_add_test(t, a_list_with_old_mistakes_is_emptied_by_open);
    tcase_add_loop_test(t, a_thread_that_is_cancelled_leaves_the_runtime_to_the_others, 0,
                        3);
    tcase_add_test(t, whoever_wants_no_errors_gets_the_code);
    tcase_add_test(t, the_shipped_policy_refuses_at_its_threshold_and_the_line_says_all);
    tcase_add_test(t, a_parameter_left_to_the_schema_has_provenance_default);
    tcase_add_test(t, a_signal_declared_only_in_yaml_feeds_a_policy_of_somebody_elses);
    tcase_add_test(t, an_ambiguous_source_is_said_at_publish_and_the_signal_is_absent);
    tcase_add_test(t, a_broken_page_keeps_the_metrics_before);
    tcase_add_test(t, metrics_given_with_a_request_are_judged_and_recorded_with_it);
    tcase_add_loop_test(t,
                        a_policy_that_fails_is_answered_by_on_error_and_named_in_the_line,
                        0, sizeof faults / sizeof faults[0]);
    tcase_add_test(t, shadows_see_the_request_and_do_not_govern);
    tcase_add_test(t, outcomes_by_handle_and_by_id_are_recorded_and_settle_once);
    tcase_add_loop_test(t, a_size_below_the_first_version_is_refused_by_every_call, 0,
                        sizeof sizes / sizeof sizes[0]);
    tcase_add_test(t, lanes_are_counted_reused_and_bounded);
    tcase_add_test(t, half_enforced_splits_by_id_and_says_so);
    tcase_add_test(t, an_explanation_shows_each_gate_with_its_distance);
    tcase_add_test(t, log_none_records_nothing_and_decides);
    tcase_add_test(t, a_scene_is_what_lines_say_and_leaves_the_split_as_it_is);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
