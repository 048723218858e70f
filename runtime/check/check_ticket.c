/* SPDX-License-Identifier: MIT */
/* Whether a policy takes its tickets back as the contract says they may come: once each,
 * at any time, in any order, by every end; and leaves alone what is not its own. */
#include "runtime/check/checks.h"

#include "runtime/check/traffic.h"

/* One stream; what is wrong with an answer ends the check. */
static uint64_t play(const struct adp_subject *subject, const double *param,
                     const struct adp_plan *plan, uint32_t n, uint32_t end)
{
    struct adp_play p;
    struct adp_start start = { .param = param };
    struct adp_answer answer;
    char fault[200];
    adp_play_open(&p, subject, plan, &start);
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_view *view = adp_traffic_next(&p.traffic);
        adp_subject_decide(subject, &p.instance, view, &answer);
        if (answer.verdict.ticket && !subject->policy->outcome)
            adp_trial_fail(subject->trial,
                           "on request %u it sets a ticket, but has no outcome to take "
                           "it back",
                           i + 1);
        if (adp_verdict_fault(subject->policy, &answer.verdict, fault, sizeof fault))
            adp_trial_fail(subject->trial, "%s (request %u, %s)", fault, i + 1,
                           subject->trial->slate->doing);
        adp_traffic_answered(&p.traffic, &p.instance, &answer.verdict);
    }
    p.traffic.now_ns += UINT64_C(3600000000000); /* an hour later */
    adp_traffic_settle(&p.traffic, &p.instance, end);
    uint64_t settled = p.traffic.settled;
    adp_play_close(&p);
    return settled;
}

/* One of two instances with the same past is also given outcomes of tickets that it never
 * set, of requests that did not run or are lost: there is nothing to take back and nothing
 * to learn, so both go on alike. Only who saves is asked: a host gives tickets of another
 * to nobody but an instance that was made of what the other saved. */
static void check_strangers(const struct adp_subject *subject, const double *param,
                            uint64_t seed, uint32_t n)
{
    struct adp_trial *trial = subject->trial;
    struct adp_plan plan = { .seed = adp_subject_next(&seed) };
    struct adp_start start = { .param = param };
    struct adp_play alone, disturbed;
    char first[200], second[200];
    if (!subject->policy->save)
        return;
    adp_trial_doing(trial, "with outcomes of tickets that it never set");
    adp_play_open(&alone, subject, &plan, &start);
    adp_play_open(&disturbed, subject, &plan, &start);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t end = adp_subject_next(&seed) & 1 ? ADP_NOT_RUN : ADP_LOST;
        adp_subject_settle(subject, &disturbed.instance, adp_subject_next(&seed) | 1, end,
                           disturbed.traffic.now_ns);
        struct adp_said a = adp_play_step(&alone), b = adp_play_step(&disturbed);
        if (!adp_verdict_same(&a, &b))
            adp_trial_fail(
                trial,
                "on request %u it %s, but one that was given outcomes (not_run, "
                "lost) of tickets that it never set %s",
                i + 1, adp_verdict_words(&a, first, sizeof first),
                adp_verdict_words(&b, second, sizeof second));
    }
    adp_play_close(&alone);
    adp_play_close(&disturbed);
}

/* Two with the same past and the same requests, of which one's tickets are lost and the
 * other's end in a way that it cannot know. */
static void check_unknown_end(const struct adp_subject *subject, const double *param,
                              uint64_t seed, uint32_t n)
{
    enum { UNKNOWN = 9 };
    struct adp_plan lost = { .seed = seed, .only_end = ADP_LOST };
    struct adp_plan unknown = { .seed = seed, .only_end = UNKNOWN };
    struct adp_start start = { .param = param };
    struct adp_play first, second;
    char a[200], b[200];
    adp_trial_doing(subject->trial, "with outcomes of kind %d, which is new", UNKNOWN);
    adp_play_open(&first, subject, &lost, &start);
    adp_play_open(&second, subject, &unknown, &start);
    for (uint32_t i = 0; i < n; i++) {
        struct adp_said x = adp_play_step(&first), y = adp_play_step(&second);
        if (!adp_verdict_same(&x, &y))
            adp_trial_fail(subject->trial,
                           "on request %u it %s, but with outcomes of kind %d, which "
                           "read as lost, it %s",
                           i + 1, adp_verdict_words(&x, a, sizeof a), UNKNOWN,
                           adp_verdict_words(&y, b, sizeof b));
    }
    adp_play_close(&first);
    adp_play_close(&second);
}

/* Whatever it held back for requests that are over by now, it gives back: a limiter whose
 * count never goes down again refuses everybody in the end. */
static void check_settles(const struct adp_subject *subject, enum adp_values values,
                          uint64_t *seed, uint32_t n)
{
    enum { AFTERWARDS = 300, DAYS = 3650 }; /* a bucket that fills by the day is full */
    static const struct {
        uint32_t end;
        const char *how;
    } rows[] = {
        { ADP_DONE, "when all its requests are done" },
        { ADP_NOT_RUN, "when none of its requests was run" },
        { ADP_LOST, "when all its tickets are lost" },
        { ADP_CANCELLED, "when all its requests were cancelled" },
        { 0, "when some of its requests have failed" },
    };
    double param[ADP_MAX_PARAMS];
    adp_subject_params(subject, values, seed, param);
    struct adp_start start = { .param = param };
    bool takes = adp_subject_takes(subject, &start);
    for (size_t i = 0; takes && i < sizeof rows / sizeof rows[0]; i++) {
        /* A prompt of 2^64 tokens may well count for ten years. */
        struct adp_plan plan = { .seed = adp_subject_next(seed),
                                 .no_edges = true,
                                 .rough = true,
                                 .only_end = rows[i].end };
        struct adp_play p;
        adp_trial_doing(subject->trial, "%s", rows[i].how);
        adp_play_open(&p, subject, &plan, &start);
        for (uint32_t k = 0; k < n; k++)
            adp_play_step(&p);
        adp_traffic_settle(&p.traffic, &p.instance, rows[i].end);
        adp_play_must_recover(&p, &start, DAYS, AFTERWARDS, rows[i].how);
        adp_play_close(&p);
    }
}

/* --- once, and not twice --- */

/* Asks the same request until it is refused `patience` times on end; how often it was admitted
 * with a ticket, the tickets behind those in held[]. */
static uint32_t fill_up(const struct adp_subject *subject,
                        const struct adp_instance *instance, const struct adp_view *view,
                        uint32_t patience, uint64_t *held, uint32_t room)
{
    uint32_t refused = 0, n = 0;
    while (refused < patience && n < room) {
        struct adp_answer answer;
        adp_subject_decide(subject, instance, view, &answer);
        if (answer.verdict.action == ADP_ADMIT && answer.verdict.ticket) {
            held[n++] = answer.verdict.ticket;
            refused = 0;
        } else {
            refused++;
        }
    }
    return n;
}

/* An instance that takes no more of one request, while the clock stands still: where one of
 * those that it holds is given back, and there is nothing to learn from it, there is room
 * for one like it. Half as many more may be probes, or a latch that opens. */
static void check_once(const struct adp_subject *subject, const struct adp_start *start,
                       enum adp_presence presence, uint32_t end, uint64_t seed)
{
    enum { ROOM = 2 * ADP_TRAFFIC_PENDING, FULL = 50, AGAIN = 8, ROUNDS = 64 };
    struct adp_trial *trial = subject->trial;
    uint64_t *held = adp_trial_shared(trial, ROOM * sizeof *held);
    struct adp_traffic *t = adp_trial_shared(trial, sizeof *t);
    struct adp_plan plan = { .seed = seed, .presence = presence, .no_edges = true };
    struct adp_instance instance;
    uint32_t returned = 0, admitted = 0;
    adp_traffic_init(t, subject, &plan, start->param);
    adp_subject_must_create(&instance, subject, start);
    const struct adp_view *view = adp_traffic_next(t);
    uint32_t n = fill_up(subject, &instance, view, FULL, held, ADP_TRAFFIC_PENDING);
    bool is_full = n < ADP_TRAFFIC_PENDING;
    while (is_full && returned < ROUNDS && n) {
        adp_subject_settle(subject, &instance, held[--n], end, view->now_ns);
        returned++;
        uint32_t more = fill_up(subject, &instance, view, AGAIN, held + n, ROOM - n);
        admitted += more;
        n += more;
    }
    while (n)
        adp_subject_settle(subject, &instance, held[--n], end, view->now_ns);
    adp_subject_destroy(subject, &instance);
    if (admitted > returned + returned / 2 + AGAIN)
        adp_trial_fail(
            trial,
            "when it takes no more, %u tickets come back as %s, one by one, and "
            "it takes %u more of the same request: it takes them back twice",
            returned, end == ADP_LOST ? "lost" : "not run", admitted);
}

static void check_once_each(const struct adp_subject *subject, enum adp_values values,
                            uint64_t *seed)
{
    static const uint32_t ends[] = { ADP_NOT_RUN, ADP_LOST };
    static const enum adp_presence presences[] = { ADP_PRESENCE_NONE, ADP_PRESENCE_ALL };
    double param[ADP_MAX_PARAMS];
    adp_subject_params(subject, values, seed, param);
    struct adp_start start = { .param = param };
    bool takes = adp_subject_takes(subject, &start);
    adp_trial_plain(subject->trial);
    for (int i = 0; takes && i < 4; i++)
        check_once(subject, &start, presences[i / 2], ends[i % 2],
                   adp_subject_next(seed));
}

void adp_check_takes_tickets_back(struct adp_trial *trial)
{
    enum { REQUESTS = 6000, OTHERS = 1500, SETS = 4, SETTLED = 4000 };
    static const struct {
        const char *doing;
        struct adp_plan plan;
        uint32_t end; /* of those that still wait */
    } rows[] = {
        { "with outcomes of every kind", { .every_end = true }, 0 },
        { "with thousands of outcomes that wait",
          { .pending = ADP_TRAFFIC_PENDING },
          ADP_DONE },
        { "with thousands of tickets that are lost",
          { .pending = ADP_TRAFFIC_PENDING },
          ADP_LOST },
        { "with one outcome at a time", { .every_end = true, .pending = 1 }, 0 },
    };
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed, settled = 0;
    uint32_t n = adp_trial_share(trial, REQUESTS);
    adp_subject_load(&subject, trial, trial->path);
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, param);
    n = n < ADP_TRAFFIC_PENDING + 500 ? ADP_TRAFFIC_PENDING + 500 : n;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct adp_plan plan = rows[i].plan;
        plan.seed = adp_subject_next(&seed);
        plan.rough = true;
        adp_trial_doing(trial, "%s", rows[i].doing);
        settled += play(&subject, param, &plan, n, rows[i].end);
    }
    n = adp_trial_share(trial, OTHERS);
    if (subject.policy->outcome)
        check_strangers(&subject, param, adp_subject_next(&seed), n < 400 ? 400 : n);
    for (uint32_t i = 0; settled && i < SETS; i++)
        check_settles(&subject, i ? ADP_VALUES_RANDOM : ADP_VALUES_TYPICAL, &seed,
                      SETTLED);
    for (uint32_t i = 0; settled && i < SETS; i++)
        check_once_each(&subject, i ? ADP_VALUES_RANDOM : ADP_VALUES_TYPICAL, &seed);
    if (settled)
        check_unknown_end(&subject, param, adp_subject_next(&seed), OTHERS);
    if (!settled)
        adp_trial_skip(trial, "it set no ticket on any request");
}
