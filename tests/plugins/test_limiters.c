/* SPDX-License-Identifier: MIT */
/* Policies that admit by what is in flight, on the host's own deciding core: whatever
 * becomes of the outcomes, they open again. */
#include "tests/core/stage.h"
#include "runtime/loader/loader.h"

static const char *const limiters[] = { "aimd_inspired", "gradient2_inspired" };
enum { N = sizeof limiters / sizeof limiters[0], LIMIT = 20, TICKETS = 64 };

static struct adp_loaded *loaded;
static double params[ADP_MAX_PARAMS];
static void *instance;
static struct stage stage;

/* The limiter governs, or is the shadow of what does. */
static void open_with(const char *name, const struct adp_policy *governs,
                      uint32_t tickets)
{
    char path[1024];
    struct adp_error err = { 0 };
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS, 1);
    int r = adp_loader_find(name, NULL, path, sizeof path, &err);
    if (r == 0)
        r = adp_loader_load(&loaded, path, NULL, &err);
    ck_assert_msg(r == 0, "%s: %s", err.file, err.text);
    const struct adp_policy *limiter = &loaded->policy;
    for (uint32_t i = 0; i < limiter->n_params; i++)
        params[i] = adp_loaded_param(loaded, i).dflt;
    const struct adp_setup setup = { .size = sizeof setup,
                                     .n_instances = 1,
                                     .param = params };
    const struct adp_policy *alone[] = { limiter, NULL };
    const struct adp_policy *shadow[] = { governs, limiter, NULL };
    stage_open(&stage, governs ? shadow : alone, 1 << 16, tickets);
    struct adp_member *member = &stage.generation->member[governs != NULL];
    member->self = limiter->create(&setup);
    ck_assert_ptr_nonnull(member->self);
    member->param = params;
    instance = member->self;
}

static void close_all(void)
{
    stage_close(&stage);
    loaded->policy.destroy(instance);
    adp_loaded_destroy(loaded);
}

static unsigned admitted_of(unsigned n)
{
    unsigned admitted = 0;
    for (unsigned i = 0; i < n; i++)
        admitted += stage_decide(&stage, NULL).admitted;
    return admitted;
}

START_TEST(it_opens_again_though_no_outcome_ever_comes)
{
    open_with(limiters[_i], NULL, TICKETS);
    ck_assert_uint_eq(admitted_of(100), LIMIT);
    for (int round = 0; round < 5; round++) {
        stage.now_ns += stage.generation->ticket_ns; /* they may still come */
        ck_assert_uint_eq(admitted_of(100), 0);
        stage.now_ns++;
        ck_assert_uint_eq(admitted_of(1), 0); /* refused, but it gives up the first */
        ck_assert_uint_eq(admitted_of(LIMIT), LIMIT);
        ck_assert_uint_eq(admitted_of(100), 0);
    }
    close_all();
}
END_TEST

START_TEST(it_opens_again_though_the_table_of_tickets_is_small)
{
    open_with(limiters[_i], NULL, 16); /* below the limit: the oldest is lost each time */
    ck_assert_uint_eq(admitted_of(100), 100);
    close_all();
}
END_TEST

static void rejects(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_reject(w, ADP_R_KV_PRESSURE, ADP_NONE);
}

START_TEST(a_request_that_another_policy_refused_holds_no_place)
{
    static const struct adp_policy closed = { ADP_HEAD, .name = "closed",
                                              .decide = rejects };
    open_with(limiters[_i], &closed, TICKETS);
    for (int i = 0; i < 100; i++) {
        ck_assert_uint_eq(stage_decide(&stage, NULL).admitted, 0);
        json_t *lines = stage_lines(&stage);
        json_t *shadow = stage_line(lines, "verdict", 1);
        ck_assert_str_eq(stage_text(shadow, "verdict"), "admit");
        json_decref(lines);
    }
    close_all();
}
END_TEST

START_TEST(outcomes_make_room_whichever_lane_brings_them)
{
    open_with(limiters[_i], NULL, TICKETS);
    struct adp_name no_id = { 0 }, id;
    uint64_t handle;
    const struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE };
    for (unsigned i = 0; i < 1000; i++) {
        struct adp_decision d = stage_decide(&stage, NULL);
        ck_assert_uint_eq(d.admitted, 1);
        ck_assert_int_eq(adp_ticket_settle(stage.lane[i % 2], &stage.generations, d.id,
                                           &no_id, &o, &handle, &id),
                         0);
    }
    close_all();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("limiters");
    TCase *t = tcase_create("limiters");
    tcase_add_loop_test(t, it_opens_again_though_no_outcome_ever_comes, 0, N);
    tcase_add_loop_test(t, it_opens_again_though_the_table_of_tickets_is_small, 0, N);
    tcase_add_loop_test(t, a_request_that_another_policy_refused_holds_no_place, 0, N);
    tcase_add_loop_test(t, outcomes_make_room_whichever_lane_brings_them, 0, N);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
