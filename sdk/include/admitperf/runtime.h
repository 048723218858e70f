/* SPDX-License-Identifier: MIT */
/* Embedding AdmitPerf: libadmitperf.so in a gateway's own process. Link with
 * `pkg-config --cflags --libs admitperf`; a whole program is examples/embed/embed.c.
 *
 *     adp_runtime *rt;
 *     adp_errors errors = { 0 };
 *     if (adp_runtime_open(&rt, "admitperf.yaml", &errors) < 0)
 *         ...                                   // every mistake of the file, with its place
 *     adp_runtime_start(rt, &err);              // after fork: the log's thread begins here
 *     adp_lane_open(&lane, rt, &err);           // one per thread that decides
 *     adp_runtime_publish_text(rt, page, len, &err);  // whenever you have scraped
 *     adp_lane_decide(lane, &facts, &d);        // for each request
 *     if (!d.admitted)
 *         refuse(d.status, d.retry_after_ms);
 *     adp_lane_outcome(lane, d.id, NULL, &result);    // when it is over
 *     adp_lane_close(lane);
 *     adp_runtime_close(rt, &err);              // writes everything
 *
 * Classes: [control] one at a time per runtime, may block; [hot] per lane, in the request
 * path: allocates nothing, takes no contended lock, makes no system call but reading the
 * clock; [any] any thread.
 *
 * Pointers may be NULL only where it is said; `err` and `errors` may always be.
 *
 * A decision never fails because of the log, and a policy's failure never reaches the
 * caller: `on_error` of the configuration answers in its place.
 *
 * Structs that begin with `size` are filled by the caller with sizeof: fields are only
 * ever appended. This header is a draft until it is versioned 1. */
#ifndef ADMITPERF_RUNTIME_H
#define ADMITPERF_RUNTIME_H

#include <admitperf/error.h>
#include <admitperf/policy.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ADP_API __attribute__((visibility("default")))

typedef struct adp_runtime adp_runtime;
typedef struct adp_lane adp_lane;

/* All that is wrong with a configuration. Zero-initialise; adp_errors_free when done. */
typedef struct adp_errors {
    adp_error *list; /* owned */
    uint32_t n, cap;
} adp_errors;

/* One raw metric of the host's. `labels` is NULL-terminated pairs (name, value, …, NULL)
 * or NULL. Strings are borrowed for the call. */
typedef struct adp_metric {
    const char *name;
    const char *const *labels;
    double value;
} adp_metric;

/* What is known about a request. Strings are borrowed for the call; NULL: not known. */
typedef struct adp_facts {
    uint32_t size;
    uint32_t present; /* enum adp_fact: which of the numbers are known */
    const char *request_id;
    const char *tenant, *session, *slo_class;
    uint64_t prompt_tokens, max_output_tokens;
    int64_t priority;
    double ttft_deadline_ms;
} adp_facts;

/* The answer for the host: a refusal that is not enforced says admit and 200 here. */
typedef struct adp_decision {
    uint32_t size;
    uint32_t admitted;       /* 1: forward it. 0: refuse with the status below */
    uint32_t action;         /* enum adp_action, for the host */
    uint32_t status;         /* HTTP status for the host, 200 when admitted */
    uint32_t retry_after_ms; /* 0: none stated. As a header: whole seconds, rounded up */
    uint32_t
        enforced; /* 0: the policy's verdict below was not enforced on this request */
    uint32_t policy_action; /* enum adp_action: what the policy (or on_error) said */
    uint32_t reserved;
    const char *reason; /* word of the policy's reason, or NULL; static */
    const char *fault;  /* why the policy's answer could not be used, or NULL; static */
    uint64_t id;        /* handle for adp_lane_outcome; X-Admit-Id in hexadecimal */
} adp_decision;

/* A fact of an outcome under a name of the host's own. */
typedef struct adp_extra {
    const char *name;
    const char *text; /* NULL: `number` is the value */
    double number;
} adp_extra;

/* What became of a request. */
typedef struct adp_result {
    uint32_t size;
    uint32_t
        end; /* enum adp_end: DONE, FAILED or CANCELLED; 0: not known, taken as DONE */
    uint32_t present; /* enum adp_measured */
    int32_t ok;       /* 1 met its SLO, 0 did not, -1 not known */
    uint32_t status;
    uint32_t n_extra;
    uint64_t prompt_tokens, output_tokens;
    double ttft_ms, total_ms;
    const adp_extra *extra;
} adp_result;

typedef struct adp_stats {
    uint32_t size;
    uint32_t lanes;     /* open now */
    uint64_t decisions; /* records of decisions made, dropped ones included */
    uint64_t outcomes;
    uint64_t dropped;      /* records lost because a ring was full */
    uint64_t lines, bytes; /* written to the log */
    uint64_t write_errors; /* failed writes; the bytes are kept and tried again */
    uint64_t lost_tickets; /* no outcome in time */
    uint64_t faults;
} adp_stats;

/* [control] Reads the configuration, loads the policies. On failure *ret is untouched and
 * every mistake is in `errors`. `text` form: `name` stands for the file in messages;
 * paths in it are relative to the current directory. */
ADP_API int adp_runtime_open(adp_runtime **ret, const char *path, adp_errors *errors);
ADP_API int adp_runtime_open_text(adp_runtime **ret, const char *text, const char *name,
                                  adp_errors *errors);
/* [control] Opens the log and starts its thread. After fork. */
ADP_API int adp_runtime_start(adp_runtime *rt, adp_error *err);
/* [control] Settles every ticket, writes all that was recorded, ends the thread, frees.
 * Lanes must be closed or idle. NULL is fine. ADP_EIO: some records could not be written
 * within two seconds; the error says how many. The runtime is gone in either case. */
ADP_API int adp_runtime_close(adp_runtime *rt, adp_error *err);

/* [any] A lane belongs to one thread at a time. ADP_EFULL: all 16 are open. */
ADP_API int adp_lane_open(adp_lane **ret, adp_runtime *rt, adp_error *err);
ADP_API void adp_lane_close(adp_lane *lane);

/* [control] Makes these the metrics in force. Negative: they are not, the ones before
 * stay, and age. ADP_NOTE (above 0): they are in force, and err says that a configured
 * source matches several series and declares no aggregation, so its signal is absent. */
ADP_API int adp_runtime_publish_text(adp_runtime *rt, const char *page, size_t len,
                                     adp_error *err);
ADP_API int adp_runtime_publish(adp_runtime *rt, const adp_metric *metrics, uint32_t n,
                                adp_error *err);

/* [hot] Decides on the metrics in force. `facts` may be NULL. Always fills `ret`; returns
 * 0, or ADP_ESTATE before start. */
ADP_API int adp_lane_decide(adp_lane *lane, const adp_facts *facts, adp_decision *ret);
/* [hot] Decides on these metrics, recorded with the request. */
ADP_API int adp_lane_decide_with(adp_lane *lane, const adp_metric *metrics, uint32_t n,
                                 const adp_facts *facts, adp_decision *ret);
/* [hot] Records what became of a request and returns its ticket to the policy, once. By
 * `id`, or, when id is 0, by `request_id`. 0; ADP_ENOENT: no such decision is waiting
 * (recorded all the same); ADP_ESTATE. */
ADP_API int adp_lane_outcome(adp_lane *lane, uint64_t id, const char *request_id,
                             const adp_result *result);

/* [any] */
ADP_API void adp_runtime_stats(const adp_runtime *rt, adp_stats *ret);
/* [control] Closes the log's file and opens its path anew, for whoever moves files away.
 * A file that was removed or replaced is noticed without it. */
ADP_API int adp_runtime_reopen(adp_runtime *rt, adp_error *err);
/* [control] Waits until what was recorded before the call is written: ADP_EIO after 2 s.
 */
ADP_API int adp_runtime_flush(adp_runtime *rt, adp_error *err);
ADP_API void adp_errors_free(adp_errors *errors);
/* "file:line:col: text", safe to print; returns the length. */
ADP_API size_t adp_error_print(const adp_error *err, char *to, size_t cap);
/* The version of the library, "0.1.0". */
ADP_API const char *adp_version(void);

#ifdef __cplusplus
}
#endif
#endif
