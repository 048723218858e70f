/* SPDX-License-Identifier: MIT */
/* Every shipped policy that saves and gives tickets, over a reload: whatever was saved, and
 * whenever, the tickets of the instance that is made of it are none of its forerunner's. */
#include "tests/plugins/stage.h"

#include <glob.h>

static const struct { /* what has no default */
    const char *policy, *param;
    double value;
} required[] = {
    { "prefill_backlog", "ttft_slo_ms", 1e6 },
    { "prefill_backlog", "prefill_tokens_per_s", 1e6 },
    { "priority_holdback", "min_ceiling", 0.5 },
    { "tenant_fair", "max_lead", 1000 },
};

/* They count no flights and settle no charge, and give one ticket to all. */
static const char *const one_for_all[] = { "codel_wait_inspired", "dagor_inspired",
                                           "success_rate" };

static struct stage s;

/* Opens the policy of a file; whether its tickets are told apart. */
static bool opened(const char *file)
{
    char name[64];
    const char *base = strrchr(file, '/') + 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "."), base);
    stage_open(&s, name);
    for (int i = 0; i < STAGE_SIGNALS; i++)
        s.signal[i] = 0; /* there is room */
    for (int i = 0; i < STAGE_N(required); i++)
        if (!strcmp(name, required[i].policy))
            stage_set(&s, required[i].param, required[i].value);
    for (int i = 0; i < STAGE_N(one_for_all); i++)
        if (!strcmp(name, one_for_all[i]))
            return false;
    return s.loaded->policy.save && s.loaded->policy.outcome;
}

static uint64_t ticket_at(uint64_t ms)
{
    stage_tokens(&s, 1, 1);
    uint64_t ticket = stage_ask(&s, ms)->ticket;
    ck_assert_uint_ne(ticket, 0);
    return ticket;
}

/* `given` tickets before the save; then the forerunner goes on, and so does the new one. */
static void reload_after(unsigned given, uint64_t ms)
{
    static unsigned char saved[STAGE_SAVED];
    uint64_t forerunners[3];
    stage_create(&s, NULL, 0);
    for (unsigned i = 0; i < given; i++)
        ticket_at(ms);
    uint64_t len = stage_save(&s, saved);
    for (int i = 0; i < STAGE_N(forerunners); i++)
        forerunners[i] = ticket_at(ms);
    stage_restart(&s, saved, len);
    for (int i = 0; i < STAGE_N(forerunners); i++) {
        uint64_t own = ticket_at(ms);
        for (int k = 0; k < STAGE_N(forerunners); k++)
            ck_assert_msg(own != forerunners[k], "%s, %u given before the save",
                          s.loaded->policy.name, given);
    }
    s.loaded->policy.destroy(s.self);
}

START_TEST(no_ticket_is_one_of_the_forerunners)
{
    glob_t files;
    int told_apart = 0;
    ck_assert_int_eq(glob(PLUGINS "/*.so", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (opened(files.gl_pathv[i])) {
            told_apart++;
            for (unsigned given = 0; given < 4; given++)
                for (uint64_t ms = 0; ms < 20; ms++)
                    reload_after(given, ms);
        }
        adp_loaded_destroy(s.loaded);
    }
    globfree(&files);
    ck_assert_int_ge(told_apart, 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lives");
    TCase *t = tcase_create("lives");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, no_ticket_is_one_of_the_forerunners);
    suite_add_tcase(suite, t);
    return stage_run(suite);
}
