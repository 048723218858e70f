/* SPDX-License-Identifier: MIT */
/* What is in flight, and what an outcome tells a limiter: for policies that admit while
 * fewer than so many requests run.
 *
 * A flight begins with an admit and ends with the ticket's outcome, whatever that is:
 * the host returns every ticket exactly once, as LOST when nobody reports it, so a count
 * of flights always comes down again. Only outcomes of requests that ran teach.
 *
 * For SERIAL policies, or for whoever holds the lock. Zeroed storage is a good beginning.
 *
 *  1. The count is never saved: the flights of a life that ended are not ours to land,
 *     and one that is never landed would hold its place for ever.
 *  2. A ticket names its life (state.h), which alone is saved, so that an outcome of a
 *     forerunner's ticket lands nothing. That such a request ran, and how long it
 *     took, is as true as of any other. */
#ifndef ADMITPERF_FLIGHT_H
#define ADMITPERF_FLIGHT_H

#include <admitperf/policy.h>
#include <admitperf/state.h>

#ifdef __cplusplus
extern "C" {
#endif

struct adp_flight {
    uint32_t now; /* in flight; at most 2^32 - 1 */
    struct adp_life life;
};

/* One more is in flight. Returns its ticket, never 0, which carries how many were in
 * flight with it. [hot] */
static inline uint64_t adp_flight_begin(struct adp_flight *f, uint64_t now_ns)
{
    f->now += f->now < 0xffffffffu;
    return adp_life_ticket(&f->life, f->now, now_ns);
}

/* The outcome of a ticket of adp_flight_begin: how many were in flight when it began, it
 * among them. [hot] */
static inline uint32_t adp_flight_end(struct adp_flight *f, const adp_outcome *outcome)
{
    if (adp_life_gave(&f->life, outcome->ticket) && f->now)
        f->now--;
    return (uint32_t)outcome->ticket;
}

/* Whether the request ran, so that its outcome teaches. */
static inline bool adp_outcome_ran(const adp_outcome *outcome)
{
    return outcome->kind == ADP_DONE || outcome->kind == ADP_FAILED ||
           outcome->kind == ADP_CANCELLED;
}

static inline uint32_t adp_outcome_status(const adp_outcome *outcome) /* 0: not known */
{
    return outcome->present & ADP_O_STATUS ? outcome->http_status : 0;
}

/* Whether the request itself was at fault: it would have failed on an idle engine too.
 * 408 and 429 are not that: they are how an engine says "too much". */
static inline bool adp_outcome_at_fault(const adp_outcome *outcome)
{
    uint32_t status = adp_outcome_status(outcome);
    return status >= 400 && status < 500 && status != 408 && status != 429;
}

/* Whether the engine failed the request. */
static inline bool adp_outcome_failed(const adp_outcome *outcome)
{
    return !adp_outcome_at_fault(outcome) &&
           (outcome->kind == ADP_FAILED || adp_outcome_status(outcome) >= 400);
}

/* What is known of the time to the first token. */
enum adp_first_token {
    ADP_FIRST_UNKNOWN,
    ADP_FIRST_LATER, /* it never came: later than the time the request took in all */
    ADP_FIRST_CAME
};

/* On anything but ADP_FIRST_UNKNOWN *ret_ms is a time from 0, finite. A request that
 * ended without a first token is not left out: were it, only the quick ones would be
 * counted while the engine drowns. [hot] */
static inline enum adp_first_token adp_outcome_first_token(const adp_outcome *outcome,
                                                           double *ret_ms)
{
    bool came = outcome->present & ADP_O_TTFT;
    if (!came && (outcome->kind == ADP_DONE || !(outcome->present & ADP_O_TOTAL)))
        return ADP_FIRST_UNKNOWN;
    double ms = came ? outcome->ttft_ms : outcome->total_ms;
    if (!(ms >= 0.0 && ms <= 1e9)) /* not a number, or no time that a request takes */
        return ADP_FIRST_UNKNOWN;
    *ret_ms = ms;
    return came ? ADP_FIRST_CAME : ADP_FIRST_LATER;
}

/* --- turns ---
 *
 * When to come back, for who was refused because all places were taken. Places come free
 * at the rate at which flights land; whoever is refused gets the next turn that is not
 * given yet, so that a crowd that is refused together does not return together. */

#define ADP_TURNS_WINDOW_NS UINT64_C(10000000000) /* over which landings are measured */
#define ADP_TURNS_CAP_MS    30000.0               /* llm-d #2487 */
#define ADP_TURNS_SPREAD    0.25

struct adp_turns {
    struct adp_rate landed;
    uint64_t given; /* turns whose place has not come free yet */
};

/* A flight landed. [hot] */
static inline void adp_turns_landed(struct adp_turns *t, uint64_t now_ns)
{
    adp_rate_add(&t->landed, 1.0, now_ns, ADP_TURNS_WINDOW_NS);
    t->given -= t->given > 0;
}

/* Milliseconds until the next turn, spread by the draw; 0, which states no retry time,
 * when landings are not measured yet or there are none. [hot] */
static inline double adp_turns_next_ms(struct adp_turns *t, uint64_t now_ns, double draw)
{
    double per_s = adp_rate_per_s(&t->landed, now_ns, ADP_TURNS_WINDOW_NS);
    double ms = adp_drain_ms((double)t->given + 1.0, per_s, ADP_TURNS_CAP_MS);
    t->given += ms > 0.0 && ms < ADP_TURNS_CAP_MS;
    return adp_jitter_ms(ms, ADP_TURNS_SPREAD, draw);
}

#ifdef __cplusplus
}
#endif
#endif
