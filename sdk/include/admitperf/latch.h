/* SPDX-License-Identifier: MIT */
/* Gates that remember: hysteresis, and the probe that keeps a closed gate from closing
 * for ever.
 *
 * Both are for the request path of any policy, CONCURRENT ones too: each word is one
 * relaxed atomic that stands alone, and it is written only while the gate is, or was,
 * closed, so that an open gate shares its line between cores. Two threads that meet at an
 * edge may see it one call apart; neither can leave a gate shut.
 *
 * Zeroed storage is an open gate. A policy that keeps either in its saved state may
 * restore it as it was: a time that lies in the future by more than ADP_SKEW_NS is of
 * another clock (the machine was restarted) and counts as long past. */
#ifndef ADMITPERF_LATCH_H
#define ADMITPERF_LATCH_H

#include <admitperf/state.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- hysteresis ---
 *
 *                reading >= close_at
 *        OPEN ───────────────────────► CLOSED
 *          ▲   reading < open_below       │
 *          ├──────────────────────────────┤
 *          ├── hold_ns since the last reading at or above close_at
 *          └── absent_ns since the last reading of any kind
 *
 * The last edge is the one that is forgotten: a latch that clears only on a reading stays
 * shut for ever once the reading stops (Dynamo #10564, #11168). */

struct adp_hysteresis {
    uint64_t closed;  /* 0 or 1 */
    uint64_t high_ns; /* last reading at or above close_at; valid while closed */
    uint64_t seen_ns; /* last reading; likewise */
};

struct adp_hysteresis_rule {
    double close_at;    /* closes at or above this */
    double open_below;  /* opens below this; at or above close_at: no hysteresis */
    uint64_t hold_ns;   /* longest time between the two; 0: for as long as it takes */
    uint64_t absent_ns; /* longest time without a reading; 0: opens at once */
};

/* Takes a reading (`present`: there is one; NaN is none) and says whether the gate is
 * closed now. [hot], any number of threads. */
static inline bool adp_hysteresis_closed(struct adp_hysteresis *h,
                                         const struct adp_hysteresis_rule *rule,
                                         bool present, double reading, uint64_t now_ns)
{
    bool there = present && reading == reading, still;
    if (there && reading >= rule->close_at) {
        __atomic_store_n(&h->high_ns, now_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&h->seen_ns, now_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&h->closed, 1, __ATOMIC_RELAXED);
        return true;
    }
    if (!__atomic_load_n(&h->closed, __ATOMIC_RELAXED))
        return false;
    if (there) {
        uint64_t high_ns = __atomic_load_n(&h->high_ns, __ATOMIC_RELAXED);
        still = reading >= rule->open_below &&
                !(rule->hold_ns && adp_time_past(now_ns, high_ns, rule->hold_ns));
        __atomic_store_n(&h->seen_ns, now_ns, __ATOMIC_RELAXED);
    } else {
        uint64_t seen_ns = __atomic_load_n(&h->seen_ns, __ATOMIC_RELAXED);
        still = !adp_time_past(now_ns, seen_ns, rule->absent_ns);
    }
    if (!still)
        __atomic_store_n(&h->closed, 0, __ATOMIC_RELAXED);
    return still;
}

/* --- probe ---
 *
 * An engine that gets no work does not step, an engine that does not step does not
 * refresh its gauges, and a gate that closed on such a gauge gives it no work: one
 * reading of 99 % can shut it for ever (vLLM #29928; Dynamo #14213; vllm-metal #479). So
 * when nothing was admitted since the gate closed and the reading has not moved either,
 * one request in `every_ns` goes through and makes the engine speak.
 *
 *     if (!closed)
 *         adp_probe_open(&p), admit
 *     else if (the request is not for this gate)
 *         adp_probe_admitted(&p, now), admit
 *     else if (adp_probe_due(&p, reading, now, every))
 *         admit: it is the probe
 *     else
 *         refuse
 *
 * A policy that states a margin leaves it unset for the probe: the gate holds, and the
 * request is admitted all the same. */

struct adp_probe {
    uint64_t closed;  /* 0 or 1 */
    uint64_t reading; /* bits of the reading at which nothing moved; valid while closed */
    uint64_t last_ns; /* when it last moved, or something was admitted; likewise */
};

/* The gate is open, or its reading is not what refuses. [hot], any number of threads. */
static inline void adp_probe_open(struct adp_probe *p)
{
    if (__atomic_load_n(&p->closed, __ATOMIC_RELAXED))
        __atomic_store_n(&p->closed, 0, __ATOMIC_RELAXED);
}

/* The gate is closed, and a request passed beside it: the engine has work. [hot], any
 * number of threads. */
static inline void adp_probe_admitted(struct adp_probe *p, uint64_t now_ns)
{
    if (__atomic_load_n(&p->closed, __ATOMIC_RELAXED))
        __atomic_store_n(&p->last_ns, now_ns, __ATOMIC_RELAXED);
}

/* The gate is closed and would refuse: whether this request is let through. `reading` is
 * what closed the gate, bit for bit (any fixed number for "absent"); every_ns 0: never.
 * Of threads that ask at once only one gets yes. [hot], any number of threads. */
static inline bool adp_probe_due(struct adp_probe *p, double reading, uint64_t now_ns,
                                 uint64_t every_ns)
{
    uint64_t bits, last_ns;
    memcpy(&bits, &reading, sizeof bits);
    if (!every_ns)
        return false;
    if (!__atomic_load_n(&p->closed, __ATOMIC_RELAXED) ||
        __atomic_load_n(&p->reading, __ATOMIC_RELAXED) != bits) {
        __atomic_store_n(&p->reading, bits, __ATOMIC_RELAXED);
        __atomic_store_n(&p->last_ns, now_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&p->closed, 1, __ATOMIC_RELAXED);
        return false;
    }
    last_ns = __atomic_load_n(&p->last_ns, __ATOMIC_RELAXED);
    return adp_time_past(now_ns, last_ns, every_ns) &&
           __atomic_compare_exchange_n(&p->last_ns, &last_ns, now_ns, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
}
#endif
#endif
