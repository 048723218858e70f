/* SPDX-License-Identifier: MIT */
/* Replay: what another policy would have said, decision by decision, over a recorded trace.
 *
 *     log ─ tape ─► signals, facts, time ─► the runtime, under that time ─► logs
 *
 * Each recorded decision (or, in a trace without decisions, each watch sample) is asked
 * again through the same decide path: its signals come in as metrics `replay:NAME` (where
 * no log is written, as the values these would give), its facts, its id and its draw with
 * it. (The original records no draw: then the split's salt
 * is the recorded experiment.) A baseline, no_admission, is asked beside.
 *
 *  1. Open loop: signals are those of the recorded run. What another policy refuses would
 *     have relieved the engine, and that is not in them. So a page is right for a policy
 *     without state up to its first divergence from the recorded one, and after that says
 *     what it would have said to the load there was. The page says so.
 *  2. One pass over the trace, however many policies and sweep points there are; slices of it
 *     are read side by side, and then the policies asked side by side, each in the order of
 *     the log.
 *  3. A file may hold several runs; the first one is replayed, the rest is counted. */
#ifndef ADP_RUNTIME_LAB_REPLAY_H
#define ADP_RUNTIME_LAB_REPLAY_H

#include "core/error.h"

#include <admitperf/runtime.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { ADP_REPLAY_POLICIES = 8, ADP_REPLAY_POINTS = 100 };

/* A policy to be asked: NAME, or a file; and its parameters, "k: v, k: v". */
struct adp_replay_ask {
    const char *use, *params;
};

/* One parameter of the first policy, at n values from lo to hi, evenly. */
struct adp_replay_sweep {
    const char *param; /* NULL: none */
    double lo, hi;
    uint32_t n;
};

struct adp_replay_options {
    const char *const *logs; /* each a run: r1, r2, …; "-" is standard input */
    size_t n_logs;
    const struct adp_replay_ask *asks;
    size_t n_asks;
    struct adp_replay_sweep sweep;
    const char *experiment;   /* NULL: replay-E, E being the recorded one's */
    const char *out;          /* NULL: no logs are written */
    volatile const int *stop; /* not 0: leave off; may be NULL */
};

/* What one policy said, over all logs. */
struct adp_replay_said {
    char name[64], params[256];
    bool baseline;
    uint64_t asked, refused, faults;
    uint64_t agree[2][2]; /* by the recorded policy's, then by this one's: 0 admits */
    uint64_t not_held;    /* against the recorded one: a fault answered one of them */
    uint64_t first;       /* number of the first divergence, from 1; 0: none */
    double first_at;
    bool unjudged; /* refused nothing, and could not: what it needs was not there, or it
                      failed each time */
    char never[ADP_MAX_SIGNALS]
              [64]; /* signals that it reads, and that were never there */
    size_t n_never;
};

struct adp_replay_point {
    double value;
    uint64_t asked, refused;
    double closest; /* greatest signed distance of its rules to firing; NaN: not known */
};

struct adp_replay_result {
    char experiment[128]; /* of what was written */
    char recorded[160];   /* the recorded policy with its parameters; "": watch samples */
    char folder[1200];    /* of the logs; "": none were written */
    bool
        interrupted; /* the page is of what was asked until then, and there are no logs */
    bool watched;    /* no request stands behind what was replayed */
    uint64_t decisions, samples, failed; /* replayed; watch samples; failed scrapes */
    uint64_t others;                     /* decisions of other runs, and of shadows */
    uint64_t corrupt;                    /* lines */
    uint64_t draws;                      /* recorded, and drawn again */
    uint64_t anonymous; /* decisions with neither draw nor id: drawn anew */
    double seconds;     /* from the earliest to the latest time of each log */
    uint64_t backward;  /* of the replayed, whose time is behind one before */
    struct adp_replay_said said[ADP_REPLAY_POLICIES + 1];
    size_t n_said;
    char swept[64];
    struct adp_replay_point points[ADP_REPLAY_POINTS];
    size_t n_points;
    adp_errors errors; /* of a policy's configuration; adp_errors_free */
};

/* ADP_EINVAL: a policy or its parameters (ret->errors has all), every sample failed, or
 * nothing to replay, or a log in the way that is no replay of that experiment, or is to be
 * read; ADP_ESTATE: somebody else writes there; ADP_ENOENT, ADP_EIO, ADP_ENOMEM. Earlier
 * replays of the same policies as that experiment are replaced, when all is written; if it
 * fails, or is stopped, they stay, and there are no new ones. */
int adp_replay_run(const struct adp_replay_options *options,
                   struct adp_replay_result *ret, struct adp_error *err);

/* At most 80 columns. ADP_EIO. */
int adp_replay_print(const struct adp_replay_result *result, FILE *to);
/* ADP_EIO, ADP_ENOMEM. */
int adp_replay_json(const struct adp_replay_result *result, FILE *to);

#endif
