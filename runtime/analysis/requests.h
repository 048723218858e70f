/* SPDX-License-Identifier: MIT */
/* Requests out of lines: which decisions are one request's, which outcome is whose, and
 * what therefore was offered, refused, served and met.
 *
 * Each decision and each outcome is one small event, found again by the hash of its
 * request id. Events are collected in piles by the first bits of that hash, in any order,
 * and wait in the store; joining takes one pile after another into memory, and cuts piles
 * that are too large for it. Only the events of a single id are never cut.
 *
 * Which outcome is whose, in this order:
 *  1. the decision whose handle it names;
 *  2. without a handle, the decision of the same request id that stands nearest before it
 *     in its log, or, when none does, nearest after: lanes are written one after another,
 *     so an outcome may come first.
 *     With a decision go those of the same call: the shadows, and any of the same handle.
 *
 * An outcome of a call in which the host was told to refuse is counted as such and adds nothing.
 * A place says less than a handle: told by it alone, an outcome with a TTFT, or ok, is taken for
 * one of the served attempts all the same, unless these have outcomes without it. */
#ifndef ADP_ANALYSIS_REQUESTS_H
#define ADP_ANALYSIS_REQUESTS_H

#include "runtime/analysis/numbers.h"
#include "runtime/analysis/tally.h"

struct adp_event {
    struct adp_key key; /* hash of the request id, or of the handle when there is no id */
    uint64_t offset;    /* in the file */
    uint64_t handle;    /* hash of (instance, handle); 0: none */
    double number;      /* decision: at; outcome: ttft_ms. NaN: absent */
    uint32_t file;
    uint32_t owner;   /* decision: its part */
    uint8_t reason;   /* decision: index of adp_requests.reasons */
    uint8_t tenant;   /* decision: index of adp_requests.tenants */
    uint8_t priority; /* decision: index of adp_requests.priorities */
    uint8_t verdict;  /* enum adp_action; 0: an outcome */
    int8_t ok;        /* outcome */
    uint8_t end;      /* outcome: enum adp_end */
    bool off : 1;     /* outcome: its ttft_ms is below 0 or not finite: `number` is NaN */
    bool enforced : 1, fault : 1, shadow : 1;
    bool by_handle : 1; /* outcome: its key is that of the handle, its request id being
                           unknown */
    /* Found in joining, of a request that was decided more than once: */
    bool
        refused : 1; /* the host was told to refuse in this call, the decision's or outcome's */
    bool placed : 1; /* outcome: its call was told by its place alone */
};

enum { ADP_EVENT_PILES = 16 };

struct adp_events {
    struct adp_pile piles[ADP_EVENT_PILES];
    uint64_t n, by_handle;
};

/* 0, ADP_ENOMEM, ADP_EIO. */
int adp_events_add(struct adp_store *store, struct adp_events *events,
                   const struct adp_event *event);
void adp_events_finish(struct adp_store *store, struct adp_events *events);

/* What numbers in the events of a merged tally are in this one. Block origin k is
 * origins[k - 1]; 0 is the tally's own. */
struct adp_origin {
    uint32_t *files, *parts; /* owned */
    size_t n_files, n_parts;
    uint8_t *reasons, *tenants, *priorities; /* owned */
};

/* What joining counts of one run, beside what stands in adp_run itself. */
struct adp_requests {
    struct adp_run *run;
    double slo_ttft_ms;     /* NaN: none */
    uint64_t outcome_print; /* sum of the prints of its outcomes */
    struct adp_numbers ttft, ttft_by_arm[ADP_ARMS];
    struct adp_reason_count *reasons;             /* by event.reason; `word` is not set */
    struct adp_group_count *tenants, *priorities; /* by event; `word` is not set */
};

struct adp_join {
    struct adp_store *store;
    struct adp_events *events;
    const struct adp_origin *origins;
    struct adp_log_file *files;
    size_t n_files, n_runs;
    size_t n_reasons, n_tenants, n_priorities;
    const uint32_t *logs;          /* by file: the log it is part of */
    const uint32_t *ranks;         /* by file: its place in that log */
    const uint32_t *run_of_part;   /* ADP_NO_RUN: not counted */
    struct adp_requests *requests; /* by run: zeroed but for run and slo_ttft_ms */
};

/* The event of a decision or an outcome; owner, reason, tenant and priority are not set. */
struct adp_event adp_event_of(const struct adp_entry *entry, uint32_t file,
                              uint64_t offset);

/* A hash of what an outcome says of which request; sums of them know outcomes again. */
uint64_t adp_event_print(const struct adp_event *outcome);

/* Settles every request into its runs. 0, ADP_ENOMEM, ADP_EIO. */
int adp_requests_join(struct adp_join *join);
void adp_requests_finish(struct adp_store *store, struct adp_requests *requests);

#endif
