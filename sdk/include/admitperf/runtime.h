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
 *     adp_runtime_reload(rt, NULL, &errors);    // the file was edited
 *     adp_lane_close(lane);
 *     adp_runtime_close(rt, &err);              // writes everything
 *
 * Classes: [control] any thread, may block; the runtime lets in one at a time. Close is
 * the last. [hot] the thread that has the lane, in the request path: allocates nothing,
 * takes no contended lock, makes no system call but reading the clock. [any] any thread.
 * The exceptions of [hot], all bounded: metrics given with a request allocate until the
 * lane has seen as many (512 series under 120 names, in 64 KiB of text, never do); a
 * thread that finds a policy of one thread at a time, or a reload that hands state over,
 * at work yields its core until that is done.
 *
 * Pointers may be NULL only where it is said; `err` and `errors` may always be. A thread
 * is not cancelled (pthread_cancel) inside a [control] call, but where it begins.
 *
 * A decision never fails because of the log, and a policy's failure never reaches the
 * caller: `on_error` of the configuration answers in its place.
 *
 * Fork: a runtime belongs to the process that starts it. Open before the fork if you like,
 * start after it. In a child that inherits a started runtime every call returns
 * ADP_ESTATE and does nothing (decisions say admit); what it holds is not freed. The child
 * may open and start its own, with the same log, whatever threads of the parent were doing
 * in here (docs/embedding.md: what glibc's linker leaves).
 * One that inherits an opened runtime may start that, unless another thread was in a call
 * of it at the fork: what that was doing is half done for good, so here too every call
 * returns ADP_ESTATE. (Needs Linux 4.14.)
 *
 * Structs that begin with `size` are filled by the caller with sizeof: fields are only
 * ever appended. A size below what version 1 has is ADP_EINVAL, in every call; a larger
 * one is of a later header, whose further fields are not looked at. adp_decision alone is
 * filled by the library: its size need not be set, and it never grows. This header is a
 * draft until it is versioned 1. */
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
 * or NULL. Strings are borrowed for the call. It is no series, and ADP_EINVAL or left out
 * as each call says, without a name, or with a label that is given twice, whose name is
 * empty, or whose value is NULL; a label whose value is empty is as none. */
typedef struct adp_metric {
    const char *name;
    const char *const *labels;
    double value;
} adp_metric;

/* A value of an interned metric. */
typedef struct adp_sample {
    uint32_t id; /* from adp_runtime_intern */
    uint32_t reserved;
    double value;
} adp_sample;

/* A signal's value as the host knows it, in the signal's unit: NaN when it does not. What
 * is out of the signal's range counts as not known. Called by publish, refresh and reload
 * on their thread; must not call the runtime: [control] calls and stats answer ADP_ESTATE
 * from there, and do nothing. It must return: one that leaves by an exception or by
 * longjmp leaves the runtime locked for good, so in C++ it is noexcept, and says NaN for
 * what it has caught. */
typedef double (*adp_source_fn)(void *user);

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

/* The answer for the host: a refusal that is not enforced says admit and 200 here. Filled
 * by the library; never grows. */
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
    uint64_t lost_tickets; /* no outcome in time, or too many were waiting at once */
    uint64_t faults;
    uint64_t generation;  /* of the configuration in force: 1, and 1 more each reload */
    uint64_t config;      /* its hash, as in the log's lines */
    uint64_t generations; /* alive: in force, or waiting for outcomes and for the log */
} adp_stats;

/* --- Life --- */

/* [control] Reads the configuration, loads the policies. On failure *ret is untouched and
 * every mistake is in `errors` (emptied first). */
ADP_API int adp_runtime_open(adp_runtime **ret, const char *path, adp_errors *errors);
/* [control] The same from text: `name` stands for the file in messages; paths in it are
 * relative to the current directory. */
ADP_API int adp_runtime_open_text(adp_runtime **ret, const char *text, const char *name,
                                  adp_errors *errors);
/* [control] Makes `read` the first source of a signal, before those of the configuration,
 * which are asked when it gives no sane value. The log names it "host function". Before
 * start. `user` is borrowed until close. It stays over reloads; a configuration that does
 * not know the signal, or gives it 64 sources, leaves it unused. Metrics given with a request
 * do not ask it.
 * ADP_EINVAL: no such signal (where one is near, it is named), or it has a function
 * already; ADP_EFULL: it has 64 sources; ADP_ESTATE. */
ADP_API int adp_runtime_source(adp_runtime *rt, const char *signal, adp_source_fn read,
                               void *user, adp_error *err);
/* [control] Opens the log and starts its thread. After fork. ADP_EIO, ADP_ENOMEM,
 * ADP_ESTATE. */
ADP_API int adp_runtime_start(adp_runtime *rt, adp_error *err);
/* [control] Reads the configuration again and puts it in force, under traffic. Negative:
 * the one before stays, as it is, and `errors` (emptied first) says everything that is
 * wrong. `path` NULL: the file it was opened from; opened from text: ADP_EINVAL.
 *
 * Policies are loaded anew from their files and made anew. One that saves its state hands
 * it to the policy of the same name (the first to the first), with the outcomes its
 * requests still wait for; meanwhile, and only then, requests wait too: for as long as
 * its save and create take, and for 10 ms at most when somebody is still inside it. One
 * that saves nothing starts afresh, and the instance before takes back its own tickets.
 * The new policy refuses the state: nothing changes.
 *
 * Each line carries the `config` it was decided under. When the log's path changed, what
 * was decided before the call goes to the old file, or, where that cannot be written for
 * 2 s, to the new one; what is decided during it, to either. Metrics stay in force and
 * are read anew; lanes, interned ids and waiting outcomes stay, these over at most 15
 * reloads. ADP_EINVAL: also when `log` turns from none to a file or back, log.metrics
 * changes, or the log's name is too long to be rotated; ADP_EFULL: 16 generations are
 * alive, because the log cannot be written for 2 s (requests alone never cause it: the
 * oldest's tickets are LOST then); ADP_ESTATE: not started, or a policy that has to hand
 * over its state does not return for a second; ADP_EIO: the new log cannot be opened. */
ADP_API int adp_runtime_reload(adp_runtime *rt, const char *path, adp_errors *errors);
/* [control] The same from text, as adp_runtime_open_text. */
ADP_API int adp_runtime_reload_text(adp_runtime *rt, const char *text, const char *name,
                                    adp_errors *errors);
/* [control] Settles every ticket, writes all that was recorded, ends the thread, frees.
 * Lanes must be closed or idle. NULL is fine. ADP_EIO: some records could not be written
 * within two seconds; the error says how many. The runtime is gone in either case, but not
 * in a child that inherited it (ADP_ESTATE). */
ADP_API int adp_runtime_close(adp_runtime *rt, adp_error *err);

/* [control] A lane belongs to one thread at a time. ADP_EFULL: all 16 are open; ADP_ESTATE.
 */
ADP_API int adp_lane_open(adp_lane **ret, adp_runtime *rt, adp_error *err);
/* [any] Makes no outcome: requests decided on it may be settled on any lane. */
ADP_API void adp_lane_close(adp_lane *lane);

/* --- Metrics --- */

/* [control] Makes these the metrics in force. Negative: they are not, the ones before
 * stay, and age. ADP_NOTE (above 0): they are in force, and err says what is wrong with
 * them: lines of the page that were skipped (how many, the first, and why), a configured
 * source that matches several series and declares no aggregation, so its signal is
 * absent. ADP_ESYNTAX: not a metrics page; ADP_EFULL; ADP_EINVAL; ADP_ESTATE.
 * A last line without a newline is read like any other, since some engines end their pages
 * so: whether the page is whole is the host's to know (its length as declared, its last
 * chunk), and a number that was cut off would pass for a shorter one. Our commands, which
 * cannot know it of a file, may leave that line's metric out. */
ADP_API int adp_runtime_publish_text(adp_runtime *rt, const char *page, size_t len,
                                     adp_error *err);
/* [control] The same from names, labels and values. */
ADP_API int adp_runtime_publish(adp_runtime *rt, const adp_metric *metrics, uint32_t n,
                                adp_error *err);
/* [control] A number for a metric, above 0, the same each time; `labels` as in adp_metric.
 * For the life of the runtime, over reloads too. Before start or after. ADP_EFULL: 65,536
 * of them, or 16 MiB of names and labels in all; ADP_EINVAL; ADP_ENOMEM; ADP_ESTATE. */
ADP_API int adp_runtime_intern(adp_runtime *rt, const char *name,
                               const char *const *labels, uint32_t *ret_id,
                               adp_error *err);
/* [control] As adp_runtime_publish, of interned metrics: the ones that are left out are
 * not on this page. While ids and their order stay the same, only numbers are copied.
 * ADP_EINVAL: an id that was not given out. */
ADP_API int adp_runtime_publish_ids(adp_runtime *rt, const adp_sample *samples,
                                    uint32_t n, adp_error *err);
/* [control] Asks the host's own sources anew. The metrics published last stay in force,
 * and age. */
ADP_API int adp_runtime_refresh(adp_runtime *rt, adp_error *err);

/* --- Requests --- */

/* [hot] Decides on the metrics in force. `facts` may be NULL. Always fills `ret`; returns
 * 0; ADP_ESTATE in a child that inherited the runtime, or ADP_EINVAL when facts->size is
 * too small: `ret` then says admit, nothing is recorded, and no policy was asked. */
ADP_API int adp_lane_decide(adp_lane *lane, const adp_facts *facts, adp_decision *ret);
/* [hot] Decides on these metrics, recorded with the request: up to 2 MiB of them, beyond
 * that the line says how many there were. Read are the first 65,536 series; one that is
 * given more than once is one series with the last of its values, wherever that stands. One
 * that adp_runtime_publish would refuse is left out, and the request is decided on the others.
 * What is left out of the line is counted in it (`metrics_omitted`). */
ADP_API int adp_lane_decide_with(adp_lane *lane, const adp_metric *metrics, uint32_t n,
                                 const adp_facts *facts, adp_decision *ret);
/* [hot] The same, of interned metrics: the cheap way to give many. An id that was not given
 * out is left out, and counted. While ids and their order stay the same from one request
 * of a lane to its next, only numbers are copied; the line in the log is the same as by
 * name. */
ADP_API int adp_lane_decide_ids(adp_lane *lane, const adp_sample *samples, uint32_t n,
                                const adp_facts *facts, adp_decision *ret);
/* [hot] Records what became of a request and returns its ticket to the policy, once. By
 * `id`, or, when id is 0, by `request_id`. 0; ADP_ENOENT: no such decision is waiting
 * (recorded all the same); ADP_EINVAL: `end` is none of DONE, FAILED, CANCELLED and 0,
 * or result->size is too small (nothing is recorded, the ticket waits on); ADP_ESTATE.
 *
 * Requests wait ten minutes each, and over at most 15 reloads, however many others come
 * and go on their lane meanwhile; those beyond are LOST to their policy. A lane has 4,096
 * places: up to 4,032 requests may wait for their whole time; when more do, an admission
 * may make one of them LOST, not the oldest of all, but one.
 *
 * Of several that wait under one `request_id`, one call settles one: on the lane of the
 * lowest number (`lane` in the lines) that has such a request, there the one that was
 * admitted last; but of those behind which 4,000 or more others were admitted on the
 * lane, or which are settled while it admits, any. Whoever has the handle settles the one
 * that is meant.
 *
 * Extras are recorded in their order up to 128 of them and 4,096 bytes of names and texts
 * in all; what does not fit, or has no name, is left out, and of several under one name (as
 * it is written: bytes that are no UTF-8 look alike) all but the last, also when that one
 * does not fit. A handle is this runtime's: one of another, or of an earlier run, is
 * ADP_ENOENT but for one chance in 4 billion (each runtime counts 32 bits of its handles
 * from a random number; where one of two counts happens to begin within the other's, which
 * for N million requests of a lane is about N in 9 million, more of them meet). */
ADP_API int adp_lane_outcome(adp_lane *lane, uint64_t id, const char *request_id,
                             const adp_result *result);

/* --- The log, and the rest --- */

/* [any] Fills as much of *ret as ret->size says. ADP_EINVAL: it is less than the first
 * version had, and nothing is filled; ADP_ESTATE. */
ADP_API int adp_runtime_stats(const adp_runtime *rt, adp_stats *ret);
/* [control] Closes the log's file and opens its path anew, for whoever moves files away.
 * A file that was removed or replaced is noticed without it. */
ADP_API int adp_runtime_reopen(adp_runtime *rt, adp_error *err);
/* [control] Waits until what was recorded before the call is written: ADP_EIO after 2 s.
 */
ADP_API int adp_runtime_flush(adp_runtime *rt, adp_error *err);
/* [any] Frees what the list holds, and leaves it empty. */
ADP_API void adp_errors_free(adp_errors *errors);
/* [any] "file:line:col: text", safe to print; returns the length. Of NULL nothing: 0. */
ADP_API size_t adp_error_print(const adp_error *err, char *to, size_t cap);
/* [any] The version of the library, "0.1.0". */
ADP_API const char *adp_version(void);

#ifdef __cplusplus
}
#endif
#endif
