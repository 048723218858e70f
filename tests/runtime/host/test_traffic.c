/* SPDX-License-Identifier: MIT */
/* Reload under traffic, for TSan too: two threads decide and settle, each also what the
 * other decided, while configurations take over from one another and metrics are
 * published. Nothing is lost or doubled: each record is a line or a counted loss, each
 * ticket comes back once, each count of a policy with a state goes on, and each line
 * names the configuration that it was decided under.
 *
 * ADP_TEST_DECISIONS: decisions of each thread, for a long run. */
#include "tests/runtime/host/stage.h"

#include <pthread.h>
#include <stdatomic.h>

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { DECISIONS = 8000 };
#else
enum { DECISIONS = 60000 };
#endif
enum { RELOADS = 20, BURST = 10, THREADS = 2, SHARED = 512, LANES = 17, SERIES = 2 };

static adp_runtime *rt;
static unsigned long each;
static _Atomic uint64_t handles[SHARED]; /* decided, to be settled by whoever comes by */
static _Atomic bool stop;
static _Atomic uint64_t decided, reloads_made;
static _Atomic uint64_t settled, given_up;
static uint64_t hash[SERIES]; /* of the two configurations */
static _Atomic uint32_t interned;

/* Two configurations that take turns. */
static const char *turn(unsigned i)
{
    static char text[2][1024];
    snprintf(text[i % 2], sizeof text[0],
             "version: 1\nexperiment: e\nrun: r1\nlog: { path: \"%s/log\" }\n"
             "policy: { use: kv_threshold, params: { threshold: %s } }\n"
             "shadow: [ { use: ./counter.so } ]\n",
             folder, i % 2 ? "0.75" : "0.875");
    return text[i % 2];
}

/* Check's own assertions are for one thread. */
static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n%s", what, all_errors());
    abort();
}

static int settle_one(adp_lane *lane, uint64_t id)
{
    adp_result done = { .size = sizeof done, .end = ADP_DONE, .ok = -1 };
    return adp_lane_outcome(lane, id, NULL, &done);
}

/* On the metric that was interned last, whose value is its number. */
static int decide_by_number(adp_lane *lane, const adp_facts *facts, adp_decision *ret)
{
    uint32_t id = atomic_load(&interned);
    const adp_sample samples[] = { { .id = 1, .value = 0.25 },
                                   { .id = id, .value = id } };
    return adp_lane_decide_ids(lane, samples, 2, facts, ret);
}

static void intern_next(void)
{
    uint32_t next = atomic_load(&interned) + 1, id = 0;
    char name[16];
    snprintf(name, sizeof name, "m%u", next);
    must(adp_runtime_intern(rt, name, NULL, &id, NULL) == 0 && id == next, "no number");
    atomic_store(&interned, next);
}

static void *decide_and_settle(void *arg)
{
    adp_lane *lane = arg;
    for (unsigned long i = 0;
         i < each || (i < 10 * each && atomic_load(&reloads_made) < RELOADS); i++) {
        char id[32];
        adp_facts facts = { .size = sizeof facts, .request_id = id };
        adp_decision d;
        snprintf(id, sizeof id, "%p-%lu", arg, i);
        must((i % 3 ? adp_lane_decide(lane, &facts, &d)
                    : decide_by_number(lane, &facts, &d)) == 0 &&
                 d.admitted,
             "not admitted");
        atomic_fetch_add(&decided, 1);
        if (i % BURST == 0)
            usleep(200); /* the log may keep up */
        uint64_t other = atomic_exchange(&handles[i % SHARED], d.id);
        if (other) {
            /* Given up: the lane has taken all its slots since. The policy was told. */
            bool waited = settle_one(lane, other) == 0;
            must(settle_one(lane, other) == ADP_ENOENT, "a ticket came back twice");
            atomic_fetch_add(waited ? &settled : &given_up, 1);
        }
    }
    return NULL;
}

static void *reload_again_and_again(void *arg)
{
    (void)arg;
    for (unsigned i = 1; !atomic_load(&stop); i++) {
        int code = reload(rt, turn(i));
        /* Fifteen since the log was last written, in the two seconds that it is waited for. */
        if (code == ADP_EFULL && flush_all(rt) == 0)
            code = reload(rt, turn(i));
        must(code == 0, "not reloaded");
        atomic_fetch_add(&reloads_made, 1);
        adp_stats s = { .size = sizeof s };
        must(adp_runtime_stats(rt, &s) == 0, "no counts");
        hash[i % 2] = s.config;
        usleep(2000);
    }
    return NULL;
}

static void *publish_again_and_again(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        if (i % 8 == 0 && interned < 60000) /* the same often enough to be told */
            intern_next();
        publish(rt, i % 2
                        ? "vllm:kv_cache_usage_perc 0.5\n"
                        : "vllm:kv_cache_usage_perc 0.25\nvllm:num_requests_waiting 3\n");
        usleep(1000);
    }
    return NULL;
}

/* --- reading back --- */

struct seen {
    uint64_t decisions[2];          /* governing, shadow */
    uint64_t outcomes, lost, given; /* given: with metrics by number */
    uint64_t next[LANES];           /* by lane: the number that comes next */
};

static uint64_t number_at(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    ck_assert_msg(at != NULL, "%s in %s", key, line);
    return strtoull(at + strlen(key), NULL, 10);
}

static bool has(const char *line, const char *text)
{
    return strstr(line, text) != NULL;
}

static void look_at(const char *line, struct seen *seen)
{
    uint64_t lane = number_at(line, "\"lane\":"), seq = number_at(line, "\"seq\":");
    ck_assert_uint_lt(lane, LANES);
    ck_assert_msg(seq == seen->next[lane], "%llu after %llu: %s", (unsigned long long)seq,
                  (unsigned long long)seen->next[lane], line);
    seen->next[lane] = seq + 1;
    if (has(line, "\"dropped\":{")) {
        uint64_t count = number_at(line, "\"count\":");
        seen->next[lane] = seq + count;
        seen->lost += lane ? count : 0;
    } else if (has(line, "\"outcome\":{")) {
        seen->outcomes++;
    } else if (has(line, "\"verdict\":")) {
        char config[64];
        bool second = has(line, "\"threshold\":0.75");
        bool shadow = has(line, "\"role\":\"shadow\"");
        ck_assert_msg(shadow || second || has(line, "\"threshold\":0.875"), "%s", line);
        snprintf(config, sizeof config, "\"config\":\"%016llx\"",
                 (unsigned long long)hash[second]);
        ck_assert_msg(shadow || has(line, config), "%s", line);
        seen->decisions[shadow]++;
        const char *given = strstr(line, "\"metrics\":{");
        if (given) {
            char want[64];
            uint64_t id = number_at(given, ",\"m");
            snprintf(want, sizeof want,
                     "\"metrics\":{\"vllm:kv_cache_usage_perc\":0.25,\"m%llu\":%llu}",
                     (unsigned long long)id, (unsigned long long)id);
            ck_assert_msg(strncmp(given, want, strlen(want)) == 0, "%s", line);
            seen->given++;
        }
    }
}

static void read_log(struct seen *seen)
{
    static char line[1 << 16];
    FILE *f = fopen(in_folder("log"), "r");
    ck_assert_ptr_nonnull(f);
    for (unsigned long i = 0; fgets(line, sizeof line, f); i++) {
        if (i % 64 == 0) {
            json_t *j = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
            ck_assert_msg(j != NULL, "%s", line);
            json_decref(j);
        }
        look_at(line, seen);
    }
    fclose(f);
}

START_TEST(under_traffic_no_record_no_ticket_no_count_is_lost_or_doubled)
{
    const char *wish = getenv("ADP_TEST_DECISIONS");
    pthread_t deciding[THREADS], reloading, publishing;
    adp_lane *lane[THREADS];
    struct seen seen = { 0 };
    each = wish ? strtoul(wish, NULL, 10) : DECISIONS;
    const struct adp_host_options roomy = { .ring_kb = 8192 };
    rt = started(turn(0), &roomy);
    hash[0] = stats(rt).config;
    uint32_t id;
    ck_assert_int_eq(adp_runtime_intern(rt, "vllm:kv_cache_usage_perc", NULL, &id, NULL),
                     0);
    interned = id;
    intern_next();
    for (int i = 0; i < THREADS; i++)
        lane[i] = lane_of(rt);
    pthread_create(&publishing, NULL, publish_again_and_again, NULL);
    pthread_create(&reloading, NULL, reload_again_and_again, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&deciding[i], NULL, decide_and_settle, lane[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(deciding[i], NULL);
    atomic_store(&stop, true);
    pthread_join(reloading, NULL);
    pthread_join(publishing, NULL);
    for (int i = 0; i < SHARED; i++)
        if (handles[i]) {
            bool waited = settle(lane[0], handles[i]) == 0;
            atomic_fetch_add(waited ? &settled : &given_up, 1);
        }
    ck_assert_uint_eq(settled + given_up, decided);

    /* The counter is a shadow: what it says is in its line. Let it be asked while the log
     * has room, so that these lines are there. */
    ck_assert_int_eq(flush_all(rt), 0);
    static const char *const counts[] = { "asked", "back", "lost", "wrong", "made" };
    for (int i = 0; i < 5; i++)
        ask(lane[0], counts[i]);
    ck_assert_int_eq(flush_all(rt), 0);
    adp_stats s = stats(rt);
    ck_assert_uint_eq(s.generation, reloads_made + 1);
    ck_assert_uint_eq(s.generations, 1); /* all the others have ended */
    ck_assert_uint_eq(s.decisions, 2 * (decided + 5));
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);

    read_log(&seen);
    ck_assert_uint_eq(seen.lost, s.dropped);
    ck_assert_uint_gt(seen.given, 0);
    ck_assert_uint_eq(seen.decisions[0] + seen.decisions[1] + seen.outcomes + seen.lost,
                      s.decisions + s.outcomes);

    json_t *all = lines("log", "retry_after_ms");
    uint64_t said[5] = { 0 };
    size_t n = 0, at;
    json_t *line;
    json_array_foreach(all, at, line) if (json_is_string(json_object_get(line, "reason")))
    {
        ck_assert_uint_lt(n, 5);
        said[n++] = (uint64_t)json_integer_value(json_object_get(line, "retry_after_ms"));
    }
    ck_assert_uint_eq(n, 5);
    ck_assert_uint_eq(said[0], decided);
    ck_assert_uint_eq(said[1], decided);
    ck_assert_uint_eq(said[2], given_up);
    ck_assert_uint_eq(s.lost_tickets, given_up);
    ck_assert_uint_eq(said[3], 0);
    ck_assert_uint_eq(said[4], reloads_made + 1);
    json_decref(all);
    printf("%llu decisions, %llu reloads, %llu records dropped, %llu tickets given up\n",
           (unsigned long long)decided, (unsigned long long)reloads_made,
           (unsigned long long)s.dropped, (unsigned long long)given_up);
}
END_TEST

static void *count_and_intern(void *arg)
{
    adp_runtime *opening = arg;
    uint32_t id;
    adp_stats s = { .size = sizeof s };
    while (!atomic_load(&stop)) {
        int code = adp_runtime_stats(opening, &s);
        must(code == 0 || (code == ADP_ESTATE && s.lanes == 0), "stats");
        must(adp_runtime_intern(opening, "a", NULL, &id, NULL) == 0, "intern");
        adp_host_log_queue(opening);
    }
    return NULL;
}

START_TEST(counts_can_be_asked_for_while_the_runtime_is_being_started)
{
    pthread_t thread;
    adp_runtime *opening = opened(turn(0), NULL);
    atomic_store(&stop, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, count_and_intern, opening), 0);
    ck_assert_int_eq(adp_runtime_start(opening, NULL), 0);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    ck_assert_int_eq(adp_runtime_close(opening, NULL), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("traffic");
    TCase *t = tcase_create("traffic");
    tcase_set_timeout(t, 0);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, under_traffic_no_record_no_ticket_no_count_is_lost_or_doubled);
    suite_add_tcase(s, t);
    TCase *start = tcase_create("start");
    tcase_add_checked_fixture(start, setup, teardown);
    tcase_add_test(start, counts_can_be_asked_for_while_the_runtime_is_being_started);
    suite_add_tcase(s, start);
    return run_suite(s, CK_NOFORK); /* TSan and fork do not go together */
}
