/* SPDX-License-Identifier: MIT */
/* What runs side by side, for TSan: lanes deciding, outcomes crossing lanes, a publisher,
 * the log's thread. Every decision must be a line or an accounted loss, every ticket
 * settled once. */
#include "tests/core/stage.h"

#include "core/log.h"

#include <pthread.h>
#include <unistd.h>

enum { EACH = 20000, SHARED = 256 };

static struct stage stage;
static _Atomic uint64_t given, returned; /* tickets */
static _Atomic uint64_t handles[SHARED]; /* lane 0's, settled by lane 1 */
static unsigned serial_count;            /* guarded by the host: the policy is SERIAL */

static void decide(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    static const uint32_t kv = 0;
    (void)self;
    serial_count++;
    /* The two signals of a snapshot belong together: queue is always kv × 100. */
    if (adp_has(v, kv) && v->signal[1] != v->signal[kv] * 100) {
        adp_reject(w, ADP_R_KV_PRESSURE, ADP_NONE);
        return;
    }
    adp_admit(w);
    w->ticket = atomic_fetch_add(&given, 1) + 1;
}

static void outcome(void *self, const struct adp_outcome *o)
{
    (void)self;
    (void)o;
    serial_count++;
    atomic_fetch_add(&returned, 1);
}

static const struct adp_signal reads[] = { { "kv_pressure", "ratio", 0, 0 },
                                           { "queue_depth", "requests", 0, 0 } };
static const struct adp_policy policy = {
    ADP_HEAD,          .n_signals = 2,          .signals = reads,
    .name = "threads", .threading = ADP_SERIAL, .decide = decide,
    .outcome = outcome
};

static void *run_lane(void *arg)
{
    struct adp_lane *lane = arg;
    for (unsigned i = 0; i < EACH; i++) {
        char id[24];
        snprintf(id, sizeof id, "%u-%u", lane->number, i);
        struct adp_facts facts = { .size = sizeof facts, .request_id = id };
        struct adp_decision d;
        adp_decide(lane, &stage.generations, &facts, NULL, &d, NULL);
        ck_assert_uint_eq(d.admitted, 1);
        uint64_t other = atomic_exchange(&handles[i % SHARED], d.id);
        struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
        struct adp_name none = { 0 }, kept;
        if (other)
            adp_ticket_settle(lane, &stage.generations, other, &none, &o, &other, &kept);
    }
    return NULL;
}

static _Atomic int stop;

static void *run_publisher(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        /* Halves and their hundredfolds are exact doubles. */
        stage_publish(&stage, i % 2 ? 0.5 : 0.25, i % 2 ? 50 : 25);
        usleep(50);
    }
    return NULL;
}

START_TEST(threads_share_a_runtime_without_loss_or_doubles)
{
    const struct adp_policy *policies[] = { &policy, NULL };
    struct adp_log *log;
    char path[] = "/tmp/adp-threads-XXXXXX";
    close(mkstemp(path));
    stage_open(&stage, policies, 1 << 20, 1024);
    struct adp_log_options options = { .path = path,
                                       .poll_ms = 1,
                                       .clock = &stage.clock };
    ck_assert_int_eq(adp_log_open_take(&log, &options, stage.drain, NULL), 0);
    ck_assert_int_eq(adp_log_start(log, NULL), 0);
    stage.drain = NULL;

    pthread_t lanes[2], publisher;
    pthread_create(&publisher, NULL, run_publisher, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&lanes[i], NULL, run_lane, stage.lane[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(lanes[i], NULL);
    atomic_store(&stop, 1);
    pthread_join(publisher, NULL);
    for (uint32_t lane = 1; lane <= 2; lane++)
        adp_ticket_lose_all(stage.region, lane, &stage.generations, 0);
    ck_assert_int_eq(adp_log_close(log, NULL), 0);

    ck_assert_uint_eq(given, 2 * EACH);
    ck_assert_uint_eq(returned, 2 * EACH);
    ck_assert_uint_eq(serial_count, 4 * EACH);
    uint64_t dropped = adp_region_ring(stage.region, 1)->dropped +
                       adp_region_ring(stage.region, 2)->dropped;
    uint64_t lines = 0, lost = 0;
    FILE *f = fopen(path, "r");
    static char line[1 << 16];
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        ck_assert_ptr_nonnull(j);
        lines += json_object_get(j, "verdict") != NULL;
        json_t *loss = json_object_get(j, "dropped");
        if (loss && json_integer_value(json_object_get(j, "lane")) > 0)
            lost += (uint64_t)json_integer_value(json_object_get(loss, "count"));
        json_decref(j);
    }
    fclose(f);
    unlink(path);
    ck_assert_uint_eq(lost, dropped);
    ck_assert_uint_eq(lines + lost, 2 * EACH);
    stage_close(&stage);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("threads");
    TCase *t = tcase_create("threads");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, threads_share_a_runtime_without_loss_or_doubles);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK); /* TSan and fork do not go together */
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
