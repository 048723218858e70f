/* SPDX-License-Identifier: MIT */
/* The ways in which a host brings metrics: pages with bad lines, names, numbers, functions
 * of its own. */
#include "tests/runtime/host/stage.h"

#include <math.h>

#define QUEUE "policy: { use: queue_depth, params: { max_waiting: 5 } }\n"

static uint64_t now_ns;

static uint64_t injected(void *ctx)
{
    (void)ctx;
    return now_ns;
}

static const struct adp_clock clock_of_ours = { NULL, injected, injected, injected };
static const struct adp_host_options options = { .clock = &clock_of_ours,
                                                 .own_thread = true };

static void setup_clock(void)
{
    setup();
    now_ns = 1000000000000u;
}

/* --- text --- */

START_TEST(lines_that_are_left_out_are_counted_and_the_first_is_named)
{
    static const char page[] = "vllm:num_requests_waiting 3\n"
                               "bad{ 1\n"
                               "worse many\n";
    adp_runtime *rt = started(yaml("log", QUEUE), &options);
    adp_error err = { 0 };
    ck_assert_int_eq(adp_runtime_publish_text(rt, page, strlen(page), &err), ADP_NOTE);
    ck_assert_int_eq(err.code, ADP_NOTE);
    ck_assert_uint_eq(err.line, 2);
    ck_assert_msg(strstr(err.text, "; 2 of its lines left out") != NULL, "%s", err.text);
    ck_assert_int_eq(adp_runtime_publish_text(rt, page, strlen(page), NULL), ADP_NOTE);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(bad_lines_do_not_hide_an_ambiguous_source)
{
    static const char page[] =
        "acme_wait{engine=\"0\"} 5\nacme_wait{engine=\"1\"} 6\nx y\n";
    adp_runtime *rt = started(
        yaml("log",
             "signals: { queue_depth: { sources: [ { metric: acme_wait } ] } }\n" QUEUE),
        &options);
    adp_error err = { 0 };
    ck_assert_int_eq(adp_runtime_publish_text(rt, page, strlen(page), &err), ADP_NOTE);
    ck_assert_uint_eq(err.line, 3);
    ck_assert_msg(strstr(err.text, "1 of its lines left out; signal queue_depth: source "
                                   "\"acme_wait\" matches several series") != NULL,
                  "%s", err.text);
    adp_runtime_close(rt, NULL);
}
END_TEST

/* --- numbers --- */

START_TEST(a_metric_has_one_number_whatever_the_order_of_its_labels)
{
    static const char *const ab[] = { "a", "1", "b", "2", NULL };
    static const char *const ba[] = { "b", "2", "a", "1", NULL };
    static const char *const ac[] = { "a", "1", "b", "3", NULL };
    adp_runtime *rt = opened(yaml("log", QUEUE), &options);
    uint32_t id[5] = { 0 };
    ck_assert_int_eq(adp_runtime_intern(rt, "m", ab, &id[0], NULL), 0);
    ck_assert_int_eq(adp_runtime_intern(rt, "m", ac, &id[1], NULL), 0);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    ck_assert_int_eq(adp_runtime_intern(rt, "m", NULL, &id[2], NULL), 0);
    ck_assert_int_eq(adp_runtime_intern(rt, "m", ba, &id[3], NULL), 0);
    ck_assert_int_eq(adp_runtime_intern(rt, "m", ac, &id[4], NULL), 0);
    ck_assert_uint_eq(id[0], 1);
    ck_assert_uint_eq(id[1], 2);
    ck_assert_uint_eq(id[2], 3);
    ck_assert_uint_eq(id[3], 1);
    ck_assert_uint_eq(id[4], 2);
    ck_assert_int_eq(adp_runtime_intern(rt, "", NULL, &id[0], NULL), ADP_EINVAL);
    ck_assert_int_eq(adp_runtime_intern(rt, NULL, NULL, &id[0], NULL), ADP_EINVAL);
    ck_assert_uint_eq(id[0], 1);
    adp_runtime_close(rt, NULL);
}
END_TEST

/* The lines of the log that have `key`, without what tells them apart in time. */
static json_t *plain_lines(const char *file, const char *key)
{
    static const char *const here[] = { "metrics", "signals", "sources", "whys" };
    json_t *all = lines(file, key), *plain = json_array();
    size_t i;
    json_t *line;
    json_array_foreach(all, i, line)
    {
        json_t *one = json_object();
        for (int k = 0; k < 4; k++)
            if (json_object_get(line, here[k]))
                json_object_set(one, here[k], json_object_get(line, here[k]));
        json_array_append_new(plain, one);
    }
    json_decref(all);
    return plain;
}

START_TEST(publishing_by_numbers_is_publishing_by_names)
{
    /* Each row is one publish: which of three metrics, in which order. The same shape often
     * enough that each of the publisher's pages is filled again without names, then others,
     * one id twice, none, a page of text between. */
    static const struct {
        uint32_t n;
        unsigned metric[4];
    } rows[] = { { 3, { 0, 1, 2 } }, { 3, { 0, 1, 2 } }, { 3, { 0, 1, 2 } },
                 { 3, { 0, 1, 2 } }, { 3, { 0, 1, 2 } }, { 2, { 2, 0 } },
                 { 3, { 0, 1, 2 } }, { 3, { 1, 0, 2 } }, { 3, { 1, 1, 0 } },
                 { 3, { 1, 1, 0 } }, { 3, { 1, 1, 0 } }, { 3, { 1, 1, 0 } },
                 { 0, { 0 } },       { 3, { 0, 1, 2 } }, { 3, { 0, 1, 2 } } };
    static const char *const zero[] = { "engine", "0", NULL };
    static const adp_metric metrics[] = { { "vllm:num_requests_waiting", zero, 0 },
                                          { "vllm:kv_cache_usage_perc", zero, 0 },
                                          { "plain", NULL, 0 } };
    adp_runtime *by_names = started(yaml("names", QUEUE), &options);
    adp_runtime *by_ids = started(yaml("ids", QUEUE), &options);
    uint32_t id[3];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(
            adp_runtime_intern(by_ids, metrics[i].name, metrics[i].labels, &id[i], NULL),
            0);
    for (unsigned row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        adp_metric named[4];
        adp_sample numbered[4];
        for (uint32_t i = 0; i < rows[row].n; i++) {
            double value = (row * 4 + i) / 128.0;
            named[i] = metrics[rows[row].metric[i]];
            named[i].value = value;
            numbered[i] = (adp_sample) { .id = id[rows[row].metric[i]], .value = value };
        }
        now_ns += 1000000000u;
        ck_assert_int_eq(adp_runtime_publish(by_names, named, rows[row].n, NULL), 0);
        ck_assert_int_eq(adp_runtime_publish_ids(by_ids, numbered, rows[row].n, NULL), 0);
        if (row % 6 == 5) {
            publish(by_names, "other 1\n");
            publish(by_ids, "other 1\n");
        }
        if (row == 3) {
            reloads(by_names, yaml("names", QUEUE));
            reloads(by_ids, yaml("ids", QUEUE));
        }
    }
    adp_runtime_close(by_names, NULL);
    adp_runtime_close(by_ids, NULL);
    json_t *names = plain_lines("names", "metrics"), *ids = plain_lines("ids", "metrics");
    ck_assert_uint_eq(json_array_size(names), 15 + 2 + 1);
    for (size_t i = 0; i < json_array_size(names); i++)
        ck_assert_msg(json_equal(json_array_get(names, i), json_array_get(ids, i)),
                      "publish %zu: %s", i, json_dumps(json_array_get(ids, i), 0));
    json_decref(names);
    json_decref(ids);
}
END_TEST

START_TEST(deciding_by_numbers_is_deciding_by_names)
{
    /* Each row is one request: which of four metrics. The same twice and more, others, one id
     * twice, none; a second passes every third time, so that counters grow and the lane's
     * two sheets change places. */
    static const struct {
        uint32_t n;
        unsigned metric[4];
    } rows[] = { { 4, { 0, 1, 2, 3 } }, { 4, { 0, 1, 2, 3 } }, { 4, { 0, 1, 2, 3 } },
                 { 4, { 0, 1, 2, 3 } }, { 4, { 0, 1, 2, 3 } }, { 4, { 0, 1, 2, 3 } },
                 { 2, { 1, 0 } },       { 2, { 1, 0 } },       { 4, { 0, 1, 2, 3 } },
                 { 3, { 1, 1, 0 } },    { 3, { 1, 1, 0 } },    { 0, { 0 } },
                 { 4, { 0, 1, 2, 3 } }, { 4, { 0, 1, 2, 3 } }, { 4, { 0, 1, 2, 3 } } };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    static const char *const zero[] = { "engine", "0", NULL };
    static const adp_metric metrics[] = { { "vllm:num_requests_waiting", zero, 0 },
                                          { "vllm:kv_cache_usage_perc", zero, 0 },
                                          { "vllm:prefix_cache_hits_total", zero, 0 },
                                          { "vllm:prefix_cache_queries_total", zero,
                                            0 } };
    adp_runtime *by_names = started(yaml("names", QUEUE), &options);
    adp_runtime *by_ids = started(yaml("ids", QUEUE), &options);
    adp_lane *names_lane = lane_of(by_names), *ids_lane = lane_of(by_ids);
    uint32_t id[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(
            adp_runtime_intern(by_ids, metrics[i].name, metrics[i].labels, &id[i], NULL),
            0);
    for (unsigned row = 0; row < ROWS; row++) {
        adp_metric named[4];
        adp_sample numbered[4];
        adp_decision a, b;
        for (uint32_t i = 0; i < rows[row].n; i++) {
            double value = (row * 4 + i) / 64.0;
            named[i] = metrics[rows[row].metric[i]];
            named[i].value = value;
            numbered[i] = (adp_sample) { .id = id[rows[row].metric[i]], .value = value };
        }
        now_ns += row % 3 ? 1000u : 1500000000u;
        ck_assert_int_eq(adp_lane_decide_with(names_lane, named, rows[row].n, NULL, &a),
                         0);
        ck_assert_int_eq(adp_lane_decide_ids(ids_lane, numbered, rows[row].n, NULL, &b),
                         0);
        ck_assert_uint_eq(a.status, b.status);
        if (row == 4) {
            reloads(by_names, yaml("names", QUEUE));
            reloads(by_ids, yaml("ids", QUEUE));
        }
    }
    adp_lane_close(names_lane);
    adp_lane_close(ids_lane);
    adp_runtime_close(by_names, NULL);
    adp_runtime_close(by_ids, NULL);
    json_t *names = plain_lines("names", "verdict"), *ids = plain_lines("ids", "verdict");
    ck_assert_uint_eq(json_array_size(names), ROWS);
    for (size_t i = 0; i < ROWS; i++)
        ck_assert_msg(json_equal(json_array_get(names, i), json_array_get(ids, i)),
                      "request %zu: %s", i, json_dumps(json_array_get(ids, i), 0));
    /* Row 3, a second and a half after row 0: hits grew from 2/64 to 14/64, queries from
     * 3/64 to 15/64. */
    json_t *grown = json_object_get(json_array_get(names, 3), "signals");
    ck_assert(json_number_value(json_object_get(grown, "prefix_hit_rate")) == 1.0);
    ck_assert(json_number_value(json_object_get(grown, "queue_depth")) == 12 / 64.0);
    json_decref(names);
    json_decref(ids);
}
END_TEST

START_TEST(a_number_that_was_not_given_out_is_left_out_of_a_decision)
{
    adp_runtime *rt = started(yaml("log", QUEUE), &options);
    adp_lane *lane = lane_of(rt);
    adp_sample samples[] = { { .id = 1, .value = 7 }, { .id = 2, .value = 9 } };
    adp_decision d;
    uint32_t id;
    ck_assert_int_eq(adp_lane_decide_ids(lane, samples, 2, NULL, &d), 0);
    ck_assert_uint_eq(d.admitted, 1);
    ck_assert_int_eq(adp_runtime_intern(rt, "vllm:num_requests_waiting", NULL, &id, NULL),
                     0);
    ck_assert_int_eq(adp_lane_decide_ids(lane, samples, 2, NULL, &d), 0);
    ck_assert_uint_eq(d.admitted, 0);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = plain_lines("log", "verdict");
    json_t *want = json_pack("{s:i}", "vllm:num_requests_waiting", 7);
    ck_assert_uint_eq(
        json_object_size(json_object_get(json_array_get(all, 0), "metrics")), 0);
    ck_assert(json_equal(json_object_get(json_array_get(all, 1), "metrics"), want));
    json_decref(want);
    json_decref(all);
}
END_TEST

START_TEST(a_number_that_was_not_given_out_publishes_nothing)
{
    adp_runtime *rt = started(yaml("log", QUEUE), &options);
    adp_lane *lane = lane_of(rt);
    adp_error err = { 0 };
    uint32_t id;
    ck_assert_int_eq(adp_runtime_intern(rt, "vllm:num_requests_waiting", NULL, &id, NULL),
                     0);
    adp_sample samples[] = { { .id = id, .value = 7 }, { .id = 2, .value = 1 } };
    ck_assert_int_eq(adp_runtime_publish_ids(rt, samples, 1, NULL), 0);
    ck_assert_uint_eq(decide(lane, NULL).admitted, 0);
    samples[0].value = 0;
    ck_assert_int_eq(adp_runtime_publish_ids(rt, samples, 2, &err), ADP_EINVAL);
    ck_assert_str_eq(err.text, "sample 1: no metric has the id 2, they go from 1 to 1");
    ck_assert_uint_eq(decide(lane, NULL).admitted, 0);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(what_is_no_series_publishes_nothing)
{
    static const char *const labels[][3] = { { "", "1", NULL },
                                             { "engine", NULL, NULL },
                                             { NULL } };
    static const struct {
        const char *name;
        int labels;
        const char *says;
    } bad[] = {
        { "y", 0, "label name is empty" },
        { "y", 1, "metric y: label engine has no value" },
        { "", 2, "metric name is empty" },
        { NULL, 2, "a metric without a name" },
    };
    adp_runtime *rt = started(yaml("log", QUEUE), &options);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        adp_error err = { 0 };
        uint32_t id = 7;
        adp_metric metric = { bad[i].name, labels[bad[i].labels], 1 };
        ck_assert_int_eq(adp_runtime_publish(rt, &metric, 1, &err), ADP_EINVAL);
        ck_assert_str_eq(err.text, bad[i].says);
        ck_assert_int_eq(adp_runtime_intern(rt, metric.name, metric.labels, &id, NULL),
                         ADP_EINVAL);
        ck_assert_uint_eq(id, 7);
    }
    adp_runtime_close(rt, NULL);
}
END_TEST

/* The longest line of `log` that has `key`; -1: none. For free. */
static ssize_t longest(const char *key, char **ret)
{
    char *line = NULL, wanted[64];
    size_t cap = 0;
    ssize_t n, most = -1;
    *ret = NULL;
    snprintf(wanted, sizeof wanted, "\"%s\":", key);
    FILE *f = fopen(in_folder("log"), "r");
    ck_assert_ptr_nonnull(f);
    while ((n = getline(&line, &cap, f)) > 0)
        if (strstr(line, wanted) && n > most) {
            most = n;
            free(*ret);
            *ret = strdup(line);
        }
    free(line);
    fclose(f);
    return most;
}

/* A label so long that the snapshot's line has 50 bytes to spare: a decision says more. */
START_TEST(a_snapshot_that_leaves_a_decision_no_room_is_counted_in_it)
{
    enum { MOST = 4 << 20, FIRST = 1000 };
    static char value[MOST + 1];
    const char *const large[] = { "l", value, NULL }, *const small[] = { "l", "b", NULL };
    const adp_metric metrics[] = { { "m", large, 1 }, { "m", small, 2 } };
    char text[1024], *line;
    snprintf(text, sizeof text,
             "version: 1\nexperiment: e\nrun: r1\nlog: { path: \"%s/log\", metrics: "
             "inline }\n" QUEUE,
             folder);
    adp_runtime *rt = started(text, &options);
    adp_lane *lane = lane_of(rt);
    memset(value, 'x', FIRST);
    ck_assert_int_eq(adp_runtime_publish(rt, metrics, 2, NULL), 0);
    ck_assert_int_eq(flush_all(rt), 0);
    ssize_t n = longest("mono_ns", &line);
    free(line);
    memset(value, 'x', FIRST + MOST - 50 - (size_t)n);
    ck_assert_int_eq(adp_runtime_publish(rt, metrics, 2, NULL), 0);
    ck_assert_int_eq(flush_all(rt), 0);
    ck_assert_int_gt(longest("mono_ns", &line), MOST - 100); /* the snapshot has it */
    free(line);
    decide(lane, "r1");
    adp_lane_close(lane);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
    ck_assert_int_gt(longest("verdict", &line), 0);
    json_t *j = json_loads(line, 0, NULL);
    ck_assert_ptr_null(json_object_get(j, "metrics"));
    ck_assert_int_eq(json_integer_value(json_object_get(j, "metrics_omitted")), 2);
    json_decref(j);
    free(line);
}
END_TEST

/* --- functions --- */

static double said;
static unsigned asked;

static double say(void *user)
{
    ck_assert_ptr_eq(user, &said);
    asked++;
    return said;
}

static adp_runtime *supplied(const char *body)
{
    adp_runtime *rt = opened(yaml("log", body), &options);
    ck_assert_int_eq(adp_runtime_source(rt, "queue_depth", say, &said, NULL), 0);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    asked = 0;
    return rt;
}

START_TEST(a_host_function_is_the_first_source_and_says_so_in_the_log)
{
    adp_runtime *rt = supplied(QUEUE);
    adp_lane *lane = lane_of(rt);
    said = 7;
    publish(rt, "vllm:num_requests_waiting 1\n");
    ck_assert_uint_eq(decide(lane, NULL).admitted, 0);
    said = NAN; /* not known: the metrics are asked */
    publish(rt, "vllm:num_requests_waiting 1\n");
    ck_assert_uint_eq(decide(lane, NULL).admitted, 1);
    said = -1; /* out of range */
    publish(rt, "vllm:num_requests_waiting 9\n");
    ck_assert_uint_eq(decide(lane, NULL).admitted, 0);
    publish(rt, "other 1\n");
    ck_assert_uint_eq(decide(lane, NULL).admitted, 1);
    ck_assert_uint_eq(asked, 4);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines("log", "metrics");
    static const char *const source[] = { "host function", "vllm:num_requests_waiting",
                                          "vllm:num_requests_waiting" };
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(
            word(json_object_get(json_array_get(all, i), "sources"), "queue_depth"),
            source[i]);
    json_decref(all);
    all = lines("log", "verdict");
    ck_assert_str_eq(word(json_object_get(json_array_get(all, 3), "whys"), "queue_depth"),
                     "out_of_range");
    json_decref(all);
}
END_TEST

/* What a function of the host's gets from each call that it must not make. */
static struct {
    adp_runtime *rt;
    int code[16];
    unsigned n;
} inside;

static double call_everything(void *user)
{
    const adp_sample sample = { .id = 1 };
    adp_lane *lane = NULL;
    adp_stats stats = { .size = sizeof stats };
    adp_runtime *rt = inside.rt;
    uint32_t id;
    (void)user;
    const int code[] = {
        adp_runtime_publish(rt, NULL, 0, NULL),
        adp_runtime_publish_text(rt, "", 0, NULL),
        adp_runtime_publish_ids(rt, &sample, 1, NULL),
        adp_runtime_intern(rt, "m", NULL, &id, NULL),
        adp_runtime_source(rt, "queue_depth", call_everything, NULL, NULL),
        adp_runtime_refresh(rt, NULL),
        adp_runtime_start(rt, NULL),
        adp_runtime_reload(rt, NULL, NULL),
        adp_runtime_reload_text(rt, "", "t", NULL),
        adp_runtime_reopen(rt, NULL),
        adp_runtime_flush(rt, NULL),
        adp_runtime_stats(rt, &stats),
        adp_lane_open(&lane, rt, NULL),
        adp_runtime_close(rt, NULL),
    };
    inside.n = sizeof code / sizeof code[0];
    memcpy(inside.code, code, sizeof code);
    return 7;
}

START_TEST(a_host_function_that_calls_the_runtime_is_told_so_by_every_call)
{
    adp_runtime *rt = opened(yaml("log", QUEUE), &options);
    adp_stats stats = { .size = sizeof stats };
    ck_assert_int_eq(adp_runtime_source(rt, "queue_depth", call_everything, NULL, NULL),
                     0);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    inside.rt = rt;
    inside.n = 0;
    publish(rt, "other 1\n");
    ck_assert_uint_eq(inside.n, 14);
    for (unsigned i = 0; i < inside.n; i++)
        ck_assert_msg(inside.code[i] == ADP_ESTATE, "call %u: %d", i, inside.code[i]);
    ck_assert_int_eq(adp_runtime_stats(rt, &stats), 0); /* outside it goes on */
    adp_lane *lane = lane_of(rt);
    ck_assert_uint_eq(decide(lane, NULL).admitted, 0);
    adp_lane_close(lane);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

START_TEST(a_refresh_asks_functions_and_lets_metrics_age)
{
    adp_runtime *rt = supplied("signals: { kv_pressure: { max_age: 5s } }\n" QUEUE);
    adp_lane *lane = lane_of(rt);
    said = 7;
    ck_assert_int_eq(adp_runtime_refresh(rt, NULL), 0); /* before any metrics */
    ck_assert_uint_eq(decide(lane, NULL).admitted, 0);
    publish(rt, "vllm:kv_cache_usage_perc 0.5\n");
    for (int i = 1; i <= 5; i++) {
        now_ns += 1000000000u;
        said = i + 1;
        ck_assert_int_eq(adp_runtime_refresh(rt, NULL), 0);
        ck_assert_uint_eq(decide(lane, NULL).admitted, i < 5);
    }
    now_ns += 60000000000u; /* what a function said ages too */
    ck_assert_uint_eq(decide(lane, NULL).admitted, 1);
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
    json_t *all = lines("log", "verdict");
    for (size_t i = 1; i <= 5; i++) {
        json_t *line = json_array_get(all, i);
        json_t *kv = json_object_get(json_object_get(line, "signals"), "kv_pressure");
        ck_assert(number(line, "signals", "queue_depth") == (double)i + 1);
        ck_assert(i < 5 ? json_number_value(kv) == 0.5 : json_is_null(kv));
    }
    ck_assert_str_eq(word(json_object_get(json_array_get(all, 5), "whys"), "kv_pressure"),
                     "stale");
    json_decref(all);
}
END_TEST

START_TEST(a_host_function_stays_over_a_reload_that_knows_its_signal)
{
    adp_runtime *rt =
        opened(yaml("log", "signals: { acme_load: { unit: ratio, range: [0, 1], sources: "
                           "[ { metric: x } ] } }\n" QUEUE),
               &options);
    ck_assert_int_eq(adp_runtime_source(rt, "queue_depth", say, &said, NULL), 0);
    ck_assert_int_eq(adp_runtime_source(rt, "acme_load", say, &said, NULL), 0);
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    adp_lane *lane = lane_of(rt);
    said = 7;
    reloads(rt, yaml("log", QUEUE));
    ck_assert_uint_eq(errors.n, 1);
    ck_assert_msg(error_has("the host supplies signal acme_load, which is not known: its "
                            "function is not used"),
                  "%s", all_errors());
    ck_assert_uint_eq(decide(lane, NULL).admitted, 0); /* asked by the reload itself */
    adp_lane_close(lane);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(a_function_for_no_signal_or_twice_or_late_is_refused)
{
    adp_error err = { 0 }, twice = { 0 }, late = { 0 };
    adp_runtime *rt = opened(yaml("log", QUEUE), &options);
    ck_assert_int_eq(adp_runtime_source(rt, "queue_dept", say, &said, &err), ADP_EINVAL);
    ck_assert_str_eq(err.text, "no signal \"queue_dept\"; nearest is \"queue_depth\"");
    ck_assert_int_eq(adp_runtime_source(rt, "queue_depth", say, &said, NULL), 0);
    ck_assert_int_eq(adp_runtime_source(rt, "queue_depth", say, &said, &twice),
                     ADP_EINVAL);
    ck_assert_str_eq(twice.text, "signal queue_depth has a function already");
    ck_assert_int_eq(adp_runtime_start(rt, NULL), 0);
    ck_assert_int_eq(adp_runtime_source(rt, "running", say, &said, &late), ADP_ESTATE);
    adp_runtime_close(rt, NULL);
}
END_TEST

START_TEST(a_host_function_is_part_of_the_configuration_hash)
{
    adp_runtime *with = supplied(QUEUE),
                *without = started(yaml("log2", QUEUE), &options);
    ck_assert_uint_ne(stats(with).config, stats(without).config);
    adp_runtime_close(with, NULL);
    adp_runtime_close(without, NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("publish");
    TCase *t = tcase_create("publish");
    tcase_add_checked_fixture(t, setup_clock, teardown);
    tcase_add_test(t, lines_that_are_left_out_are_counted_and_the_first_is_named);
    tcase_add_test(t, bad_lines_do_not_hide_an_ambiguous_source);
    tcase_add_test(t, a_metric_has_one_number_whatever_the_order_of_its_labels);
    tcase_add_test(t, publishing_by_numbers_is_publishing_by_names);
    tcase_add_test(t, a_number_that_was_not_given_out_publishes_nothing);
    tcase_add_test(t, what_is_no_series_publishes_nothing);
    tcase_add_test(t, a_snapshot_that_leaves_a_decision_no_room_is_counted_in_it);
    tcase_add_test(t, deciding_by_numbers_is_deciding_by_names);
    tcase_add_test(t, a_number_that_was_not_given_out_is_left_out_of_a_decision);
    tcase_add_test(t, a_host_function_is_the_first_source_and_says_so_in_the_log);
    tcase_add_test(t, a_host_function_that_calls_the_runtime_is_told_so_by_every_call);
    tcase_add_test(t, a_refresh_asks_functions_and_lets_metrics_age);
    tcase_add_test(t, a_host_function_stays_over_a_reload_that_knows_its_signal);
    tcase_add_test(t, a_function_for_no_signal_or_twice_or_late_is_refused);
    tcase_add_test(t, a_host_function_is_part_of_the_configuration_hash);
    suite_add_tcase(s, t);
    return run_suite(s, CK_FORK_GETENV);
}
