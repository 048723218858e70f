/* SPDX-License-Identifier: MIT */
/* The host: wires configuration, policies, signals, region and log into the runtime that
 * <admitperf/runtime.h> describes, which this room implements.
 *
 * Here is what only our own programs need beside it: injected time, a log written by the
 * caller's own thread, and the explanation of a decision. */
#ifndef ADP_RUNTIME_HOST_H
#define ADP_RUNTIME_HOST_H

#include "core/beyond.h"
#include "core/clock.h"
#include "core/decide.h"
#include "core/log.h"
#include "core/promtext.h"
#include "runtime/config/config.h"
#include "runtime/loader/loader.h"

#include <admitperf/runtime.h>

/* What the log says of where its decisions were made, and where it goes, whatever the
 * configuration says: for decisions that are not made where it speaks of. Requests split
 * as they would there. Borrowed for the life of the runtime. */
struct adp_host_scene {
    const char *experiment, *run, *notes;
    const char *disclosure_json;
    const char *log_path; /* the file, no template; never rotated */
    bool undecided;       /* nothing is decided, so samples name no policy */
    bool watched;         /* decisions are of samples, not of requests: lines say so */
};

struct adp_host_options {
    const struct adp_clock *clock; /* NULL: the machine's */
    uint64_t instance;             /* names this writer in the log; 0: made up */
    bool own_thread;     /* no log thread: adp_runtime_flush and close do the writing */
    bool no_log;         /* record nothing, whatever the configuration says */
    uint32_t lanes;      /* 0: 16 */
    uint32_t ring_kb;    /* of each lane, a power of two; 0: 4096 */
    uint32_t control_kb; /* of the ring of snapshots and words, likewise; 0: 8192 */
    const struct adp_beyond *beyond; /* NULL: nothing outlives it. Else no log is written
                                      here; the sizes are the region's */
    const struct adp_host_scene *scene; /* NULL: as configured */
    bool serving; /* serve: and scrape: are the caller's, and not reported as unused */
};

/* As adp_runtime_open and adp_runtime_open_text. `folder`: what relative plugin paths in
 * the text start from. `options` may be NULL; it is copied, what it points to borrowed
 * for the life of the runtime. Where a process before had this in force (`beyond`), a policy that
 * cannot be had any more is in quarantine, and why is in `errors` also on success. */
int adp_host_open(adp_runtime **ret, const char *path,
                  const struct adp_host_options *options, adp_errors *errors);
int adp_host_open_text(adp_runtime **ret, const char *text, const char *name,
                       const char *folder, const struct adp_host_options *options,
                       adp_errors *errors);

/* The same of a configuration that is there already: a draft, with what is wrong with it in
 * `errors`. It is taken, also on failure; strings put into it are borrowed for the life of
 * the runtime. [control] */
int adp_host_open_config_take(adp_runtime **ret, struct adp_config *config,
                              const struct adp_host_options *options, adp_errors *errors);

/* As adp_runtime_reload_text, with the folder. [control] */
int adp_host_reload_text(adp_runtime *rt, const char *text, const char *name,
                         const char *folder, adp_errors *errors);

/* Saves the state of all policies that have some to what is beyond: to be called each second
 * or so. ADP_ESTATE: nothing is. [control] */
int adp_host_save(adp_runtime *rt, struct adp_error *err);

/* Records a request that was answered by on_error in place of a process that had not come to
 * decide it (core/recover.h). [hot], the lane's thread */
void adp_host_answered(adp_lane *lane);

/* Of the configuration in force. Borrowed until the next reload. [control] */
const struct adp_config *adp_host_config(const adp_runtime *rt);
const struct adp_loaded *adp_host_policy(const adp_runtime *rt, uint32_t i);
/* The file the log goes to, absolute; NULL: none. */
const char *adp_host_log_path(const adp_runtime *rt);

/* --- Counts, for pages of metrics --- */

/* So many verdicts of one kind. Strings are borrowed for the call. */
struct adp_host_verdicts {
    const char *policy;
    bool shadow;
    const char *verdict; /* "admit", "defer", "reject"; "fault": on_error answered */
    const char *reason;  /* "" for none */
    bool enforced;
    uint64_t n; /* above 0 */
};
/* Those of every policy since the runtime was opened, over reloads too. More than 23
 * policies in that time: the others are counted together as "other". [any] */
void adp_host_each_verdicts(const adp_runtime *rt,
                            void (*each)(void *ctx, const struct adp_host_verdicts *v),
                            void *ctx);

/* What waits for the log: bytes recorded and not yet read, of how many there is room for,
 * and bytes of lines that are not written. [any] */
struct adp_host_queue {
    uint64_t bytes, cap, lines_bytes;
};
struct adp_host_queue adp_host_log_queue(const adp_runtime *rt);

/* How one gate of the governing policy stood. */
struct adp_gate_state {
    uint32_t rule;
    const char *signal;
    const char *op; /* ">=", ">", "<=", "<" */
    bool has_threshold, has_value;
    double threshold, value;
    double distance; /* beyond the threshold; below 0: that much is missing. Needs both */
    bool held;
};

struct adp_explanation {
    uint32_t n_signals; /* of the set, in its order */
    const struct adp_reading
        *readings;    /* borrowed until the next publish; NULL: none yet */
    uint64_t present; /* what the policy saw: readings less what aged out since */
    double value[ADP_MAX_KNOWN];
    uint32_t n_gates;
    struct adp_gate_state gates[ADP_MAX_GATES];
    double arm, draw;
    bool governed;
    uint32_t reason;         /* of the policy's verdict; 0: admitted */
    uint32_t status;         /* of the policy's verdict, enforced or not */
    uint32_t retry_after_ms; /* of the policy's verdict; 0: none stated */
};

/* The least that one engine tells of a signal whose reading, which is there, counts several
 * together (adp_signals_least). False: the metrics published last tell none. [control] */
bool adp_host_least(adp_runtime *rt, uint32_t signal, double *ret);

/* adp_lane_decide, and why. [control] */
int adp_host_explain(adp_lane *lane, const adp_facts *facts, adp_decision *ret,
                     struct adp_explanation *ret_why);

/* The gates of policy i as they are in force, without values. Returns how many. [control] */
uint32_t adp_host_gates(const adp_runtime *rt, uint32_t policy,
                        struct adp_gate_state ret[ADP_MAX_GATES]);

/* --- Watching: metrics without requests --- */

/* Asks every policy about the metrics in force, for no request of anybody's: recorded as a
 * decision, and every ticket given back at once as not run. [hot] */
int adp_host_sample(adp_lane *lane, adp_decision *ret);

/* adp_runtime_publish_text of a page whose format was declared. [control] */
int adp_host_publish_page(adp_runtime *rt, const char *page, size_t len,
                          enum adp_promtext_format format, adp_error *err);

/* Records that metrics could not be had; the ones in force stay, and age. ADP_ESTATE.
 * [control] */
int adp_host_scrape_failed(adp_runtime *rt, const char *text, adp_error *err);

/* The readings of the last publish, by index in the configuration's signals; NULL before
 * the first. Borrowed until the next. [control] */
const struct adp_reading *adp_host_readings(const adp_runtime *rt);

#endif
