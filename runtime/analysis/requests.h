/* SPDX-License-Identifier: MIT */
/* Requests out of lines: which decisions are one request's, which outcome is whose, and
 * what therefore was offered, refused, served and met.
 *
 * Each decision and each outcome is one small event, found again by the hash of its
 * request id. Events may be collected anywhere in any order; sorting them by request is
 * all that joining takes. (Spilling them to disk by hash changes nothing above.)
 *
 * Which outcome is whose, in this order:
 *  1. the decision whose handle it names;
 *  2. without a handle, the decision of the same request id that stands nearest before it
 *     in its log, or, when none does, nearest after: lanes are written one after another,
 *     so an outcome may come first.
 *     With a decision go those of the same call: the shadows, and any of the same handle. */
#ifndef ADP_ANALYSIS_REQUESTS_H
#define ADP_ANALYSIS_REQUESTS_H

#include "runtime/analysis/sample.h"
#include "runtime/analysis/tally.h"

struct adp_event {
    struct adp_key key; /* hash of the request id, or of the handle when there is no id */
    uint64_t place;     /* log << 32 | file in the log: set by join */
    uint64_t offset;    /* in the file */
    uint64_t handle;    /* hash of (instance, handle); 0: none */
    double number;      /* decision: at; outcome: ttft_ms. NaN: absent */
    uint32_t file;
    uint32_t owner;  /* decision: its part; join makes it its run, or ADP_NO_RUN */
    uint8_t reason;  /* index of adp_requests.reasons */
    uint8_t verdict; /* enum adp_action; 0: an outcome */
    int8_t ok;       /* outcome */
    uint8_t end;     /* outcome: enum adp_end */
    bool off;        /* outcome: its ttft_ms is below 0 or not finite: `number` is NaN */
    bool enforced, fault, shadow;
    bool by_handle; /* outcome: its key is that of the handle, its request id being
                       unknown */
};

/* What joining counts of one run, beside what stands in adp_run itself. */
struct adp_requests {
    struct adp_run *run;
    double slo_ttft_ms;     /* NaN: none */
    uint64_t outcome_print; /* sum of the prints of its outcomes */
    struct adp_sample ttft;
    struct adp_reason_count *reasons; /* indexed by event.reason; `word` is not set */
};

struct adp_join {
    struct adp_event *events;
    size_t n;
    struct adp_log_file *files;
    const uint32_t *logs;          /* by file: the log it is part of */
    const uint32_t *ranks;         /* by file: its place in that log */
    const uint32_t *run_of_part;   /* ADP_NO_RUN: not counted */
    struct adp_requests *requests; /* by run */
};

/* The event of a decision or an outcome. */
struct adp_event adp_event_of(const struct adp_entry *entry, uint32_t file,
                              uint64_t offset);

/* A hash of what an outcome says of which request; sums of them know outcomes again. */
uint64_t adp_event_print(const struct adp_event *outcome);

/* Sorts the events and settles every request into its runs. 0 or ADP_ENOMEM. */
int adp_requests_join(struct adp_join *join);

#endif
