/* SPDX-License-Identifier: MIT */
/* Requests for a policy under check: a stream of views and outcomes that follows from a
 * seed and from the policy's own answers, and from nothing else.
 *
 *  1. The same plan and the same answers make the same stream, in any process.
 *  2. What may not be read is there to be read: absent slots, unknown facts and
 *     unmeasured numbers hold what the plan says, 0 unless it says otherwise.
 *  3. Facts, draw and replicas lie now and then at the edge of what the header allows.
 *  4. Without a word in the plan the stream is mild: time goes forward, outcomes come
 *     soon, are DONE, FAILED or, for who was refused, NOT_RUN, and tell of seconds. What is
 *     less mild is for the checks that ask for it, so that each finds its own kind of
 *     mistake. */
#ifndef ADP_RUNTIME_CHECK_TRAFFIC_H
#define ADP_RUNTIME_CHECK_TRAFFIC_H

#include "runtime/check/verdict.h"

enum { ADP_TRAFFIC_PENDING = 4096 };

/* Which signals, facts and replicas a request has. */
enum adp_presence { ADP_PRESENCE_MIXED, ADP_PRESENCE_ALL, ADP_PRESENCE_NONE };

/* What fills the places that may not be read: adp_traffic_fill_word says it. The last one is
 * drawn for each place anew. */
enum { ADP_FILLS = 10 };
const char *adp_traffic_fill_word(uint32_t fill);

/* Zero but for the seed: mild. */
struct adp_plan {
    uint64_t seed;
    enum adp_presence presence;
    uint32_t fill_signals, fill_facts, fill_measures; /* below ADP_FILLS; 0: zero */
    bool every_end;    /* outcomes of every kind, NOT_RUN for the admitted too */
    bool rough;        /* outcomes with statuses and times as a bad day has them */
    bool no_replicas;  /* never a reading per replica */
    bool no_edges;     /* nothing at the edge of what is allowed */
    bool still;        /* the clock stands still */
    bool many;         /* tenants and sessions by the thousand, priorities of any size */
    uint32_t only_end; /* enum adp_end of every outcome of the admitted; 0: as above */
    uint32_t pending;  /* outcomes that wait at most; 0: 32 */
    uint64_t start_ns; /* of the clock; 0: 10^12 */
};

struct adp_traffic {
    const struct adp_subject *subject;
    const double *param;    /* borrowed: what readings are aimed at, */
    const double *in_force; /* and what views say; the same, unless a check changes it */
    struct adp_plan plan;
    uint64_t seed, now_ns;
    uint64_t fill_seed;   /* of what fills places, where that is drawn */
    struct adp_view view; /* the one at hand */
    struct adp_request request;
    double signal[ADP_MAX_SIGNALS];
    double replica[ADP_MAX_REPLICAS * ADP_MAX_SIGNALS];
    uint64_t replica_present[ADP_MAX_REPLICAS];
    char tenant[24], session[24]; /* of plan.many */
    uint64_t ticket[ADP_TRAFFIC_PENDING];
    uint32_t n_pending;
    uint64_t settled; /* outcomes given so far */
};

void adp_traffic_init(struct adp_traffic *t, const struct adp_subject *subject,
                      const struct adp_plan *plan, const double *param);
/* The next request; valid until the one after. */
const struct adp_view *adp_traffic_next(struct adp_traffic *t);
/* Takes the answer to it: keeps the ticket, or gives it back; some of those that wait get
 * their outcome. */
void adp_traffic_answered(struct adp_traffic *t, const struct adp_instance *instance,
                          const struct adp_verdict *verdict);
/* Gives every ticket back that waits, with this enum adp_end; 0: as the plan has it. */
void adp_traffic_settle(struct adp_traffic *t, const struct adp_instance *instance,
                        uint32_t end);

/* One instance and its traffic. */
struct adp_play {
    const struct adp_subject *subject;
    struct adp_instance instance;
    struct adp_traffic traffic;
};

/* Creates an instance for it; ends the process when create refuses. */
void adp_play_open(struct adp_play *play, const struct adp_subject *subject,
                   const struct adp_plan *plan, const struct adp_start *start);
/* One request, its answer, some outcomes. */
struct adp_said adp_play_step(struct adp_play *play);
/* Settles what waits and destroys the instance. */
void adp_play_close(struct adp_play *play);
/* All three: n answers of a fresh instance into said[]. */
void adp_play_all(const struct adp_subject *subject, const struct adp_plan *plan,
                  const struct adp_start *start, struct adp_said *said, uint32_t n);

/* An instance whose tickets have all come back is left alone for `days`, and is asked n
 * requests, a second between them, as is a new one; if it admits next to none where the new
 * one admits, n more without any readings, and n with an hour between them. The check ends
 * if so it does still: what it has learnt may show, and what it has spent, but not for ever.
 * `how` it came there, for the message. */
void adp_play_must_recover(struct adp_play *play, const struct adp_start *fresh,
                           uint32_t days, uint32_t n, const char *how);

/* The first place where two streams of answers differ; n: nowhere. */
uint32_t adp_play_differ(const struct adp_said *a, const struct adp_said *b, uint32_t n);

#endif
