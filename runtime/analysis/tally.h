/* SPDX-License-Identifier: MIT */
/* The numbers of every page.
 *
 *   create ─► file, add … ─► merge … ─► finish ─► runs and files, read-only
 *
 * Lines are added one by one; two tallies (of two files, or of two halves of one) merge
 * into what one would have been; finish settles what only the whole can tell: which files
 * hold one run and which hold it again, which outcome belongs to which request, what was
 * refused, served, met. No page computes a number that is not here.
 *
 * How things are counted: docs/reading-a-report.md.
 *
 * Facts of a file that name no identity (corrupt lines, failed scrapes, losses, orphan
 * outcomes) weaken every run the file holds and are counted with each. */
#ifndef ADP_ANALYSIS_TALLY_H
#define ADP_ANALYSIS_TALLY_H

#include "core/error.h"
#include "runtime/analysis/lanes.h"
#include "runtime/analysis/part.h"

#define ADP_NO_RUN UINT32_MAX

struct adp_corrupt_count {
    uint64_t n, first; /* first: line number, 0 when there is none */
};

struct adp_log_file {
    char *path;
    uint64_t lines; /* blank ones too */
    struct adp_corrupt_count corrupt[ADP_CORRUPT_KINDS];
    uint64_t decisions, outcomes, states, scrape_errors;
    uint64_t omitted;       /* states whose metrics were left out of the line */
    uint64_t orphans;       /* outcomes of no decision in reach */
    uint64_t outcome_print; /* order-free hash of its outcomes */
    struct adp_lanes lanes; /* of what is counted */
    uint64_t known;    /* lines left out, since a file before holds the same records */
    uint32_t known_in; /* … that file, the first of them; ADP_NO_RUN: none is left out */
    struct adp_part
        *state;     /* owned; what its states say. NULL: none, or it decides too */
    double last_at; /* of the last line that said; NaN */
    double
        least_capacity; /* kv_capacity of the target with the least; NaN: of none alone */
};

struct adp_reason_count {
    const char *word;
    uint64_t n;        /* requests refused for it */
    uint64_t unheeded; /* that would have been, had it been enforced */
};

/* Requests of one tenant, or of one priority. */
struct adp_group_count {
    const char *word; /* "": the requests that do not say */
    uint64_t offered, refused, unheeded, met;
};

/* Which side of the enforcement split. */
enum adp_arm { ADP_ARM_UNGOVERNED, ADP_ARM_GOVERNED, ADP_ARMS };

struct adp_arm_count {
    uint64_t offered;
    uint64_t refusals; /* the policy's last verdict was to refuse; heeded or not */
    uint64_t answered, met;
    uint64_t ttft_n;
    double ttft_p50, ttft_p95; /* ms, served requests; NaN */
};

/* The shares at which the TTFT of a run is known, ascending; the last is 1. */
enum { ADP_TTFT_SHARES = ADP_NUMBERS_RANKS };
extern const double adp_ttft_shares[ADP_TTFT_SHARES];

struct adp_run_signal {
    const char *name;
    uint64_t n;    /* readings that were there */
    double absent; /* share of lines without one */
    double min, p50, p95, max;
    double moved; /* (max - min) / mean of |reading|: how much it moved, unit-free */
};

enum adp_finding { ADP_UNKNOWN, ADP_INERT, ADP_LIVE };

/* What the finding rests on. */
enum adp_ground {
    ADP_GROUND_NO_DECISIONS, /* UNKNOWN */
    ADP_GROUND_BASELINE,     /* UNKNOWN */
    ADP_GROUND_FAULTS,       /* UNKNOWN: every verdict was on_error's */
    ADP_GROUND_NO_SIGNALS,   /* UNKNOWN: what it reads was never supplied */
    ADP_GROUND_NO_THRESHOLD, /* UNKNOWN: a gate's threshold is not in the log */
    ADP_GROUND_GATES,        /* INERT: judged by its gates */
    ADP_GROUND_MARGIN,       /* INERT, LIVE: judged by its margin */
    ADP_GROUND_SILENCE,      /* INERT: no gates, no margin; it refused nothing */
    ADP_GROUND_RULE,         /* LIVE: a rule's gates all held */
    ADP_GROUND_REFUSED       /* LIVE: it refused */
};

/* Why there is no goodput. */
enum adp_no_goodput {
    ADP_GOODPUT_KNOWN,
    ADP_GOODPUT_NO_DECISIONS,
    ADP_GOODPUT_NO_OUTCOMES,
    ADP_GOODPUT_NO_SLO, /* no outcome says ok, and ttft_ms has no SLO to be held against */
    ADP_GOODPUT_NO_TTFT /* there is one, but no outcome says ok or has a ttft_ms */
};

/* One identity. All of it belongs to the tally. */
struct adp_run {
    const struct adp_part *part; /* what its lines say */
    const uint32_t *files;       /* the files of its log, by number, ascending */
    size_t n_files;
    uint32_t copy_of; /* run of other name that holds the same decisions; or ADP_NO_RUN */

    enum adp_finding finding;
    enum adp_ground ground;
    bool decided; /* false: a log of states, or of nothing */

    /* Requests, each once, by its last verdict. offered = admitted + refused +
     * refused_by_fault. */
    uint64_t offered;
    uint64_t admitted; /* the host was told to admit */
    uint64_t refused;  /* enforced, the policy's */
    uint64_t deferred; /* of those */
    uint64_t refused_by_fault;
    uint64_t unheeded; /* of admitted: refused by the policy, not enforced */
    uint64_t twins;    /* decisions without a handle that say what the one before says */
    const struct adp_reason_count *reasons; /* most first */
    size_t n_reasons;
    double first_arrival, last_arrival; /* of requests; NaN */
    double rate;                        /* (offered - 1) / (last - first), 1/s; NaN */

    struct adp_arm_count arms[ADP_ARMS]; /* by the last verdict's */
    /* Most offered first; those that do not say come last. NULL: none says. */
    const struct adp_group_count *tenants, *priorities;
    size_t n_tenants, n_priorities;

    uint64_t outcomes;          /* that found their request */
    uint64_t answered;          /* admitted requests that have one */
    uint64_t met, unjudged;     /* of answered: met the SLO; cannot be said */
    uint64_t cancelled, failed; /* of answered: how they ended */
    uint64_t ttft_off;          /* outcomes whose ttft_ms is below 0 or not finite */
    uint64_t disagreed;         /* host's ok against ttft_ms <= SLO */
    uint64_t duplicates;        /* more outcomes than attempts */
    uint64_t refused_outcomes;  /* of requests, or of attempts, that were refused */
    uint64_t
        withheld; /* of admitted: a shadow's; the governing policy refused, no outcome is due */
    double goodput; /* NaN: see no_goodput */
    enum adp_no_goodput no_goodput;
    uint64_t ttft_n;
    double ttft_p50, ttft_p95;       /* ms, served requests; NaN */
    double ttft_at[ADP_TTFT_SHARES]; /* ms: that share of them took no longer; NaN */

    const struct adp_run_signal *signals;
    size_t n_signals;
    const struct adp_run_signal *most_moved; /* NULL: none moved */

    /* The instrument: sums over its files. */
    uint64_t corrupt_lines, scrape_errors, orphans, states;
    uint64_t omitted;      /* lines without their metrics: its decisions, and states */
    double least_capacity; /* of one target, as its files have it; NaN */
    struct adp_lanes_loss loss;
};

/* Policies were asked about samples (`admitperf watch`), and no request stands behind a
 * decision. Its lines say so; of a log that was written before they did: none has an id, an
 * outcome or was enforced, and each has its sample. Every line of a watch is a shadow's,
 * whatever its role. [any] */
static inline bool adp_run_watched(const struct adp_run *run)
{
    const struct adp_part *part = run->part;
    if (part->watched)
        return run->decided && part->watched == part->lines;
    return run->decided && part->anonymous == part->lines &&
           part->unenforced == part->lines && !run->outcomes && !run->orphans &&
           !part->prompt_tokens.pile.n && run->states >= part->lines &&
           run->states - part->lines <= part->n_instances;
}

/* A file that holds again what is counted already, and so is not. */
struct adp_again {
    uint32_t file, run; /* the run it was counted as */
    bool copy;          /* the same records; else another recording under the same name */
    uint64_t left_out;  /* records that no file counted has: of decisions and outcomes */
};

struct adp_tally; /* opaque */

/* NULL: out of memory. */
struct adp_tally *adp_tally_create(void);
/* One that shares the memory of another; the two may be added to by different threads. */
struct adp_tally *adp_tally_branch(const struct adp_tally *tally);
void adp_tally_destroy(struct adp_tally *tally);

/* From here on the two arms of a split are two identities. Before the first line; branches
 * made afterwards do the same. */
void adp_tally_keep_arms_apart(struct adp_tally *tally);

/* The number of the file of this name, new or known. 0 or ADP_ENOMEM. */
int adp_tally_file(struct adp_tally *tally, const char *path, uint32_t *ret);
/* A line of `file` was read, whatever it is. */
void adp_tally_line(struct adp_tally *tally, uint32_t file);
/* It is an entry; `offset` is its place in the file, different for every line. 0,
 * ADP_ENOMEM, ADP_EIO. */
int adp_tally_add(struct adp_tally *tally, uint32_t file, uint64_t offset,
                  const struct adp_entry *entry);
/* It is corrupt. The last line counts as unterminated beside what it else is. */
void adp_tally_corrupt(struct adp_tally *tally, uint32_t file, enum adp_corrupt kind);

/* Adds all of `from`, which is destroyed. Parts of one file are merged in their order.
 * 0, or ADP_ENOMEM, ADP_EIO: both are then fit for destroying only (`from` is gone). */
int adp_tally_merge_take(struct adp_tally *into, struct adp_tally *from);

/* Settles. Nothing can be added afterwards. 0, ADP_ENOMEM, ADP_EIO. */
int adp_tally_finish(struct adp_tally *tally);
/* The same, and says what is wrong. */
int adp_tally_settle(struct adp_tally *tally, struct adp_error *err);
/* What one of the above failed with, for people: memory, or the place for what does not
 * fit in it. Returns `code`. */
int adp_tally_fault(const struct adp_tally *tally, int code, struct adp_error *err);

/* Which of the records in `file`, a tally of one file, are in `tally` already, in a file that holds
 * a run of the same identity, or of none that it names: *ret, zeroed, becomes what those files hold, settled, and
 * *ret_file the first of them; ADP_NO_RUN: none are. 0 or ADP_ENOMEM; *ret is to be finished in
 * either case. */
int adp_tally_find_known(const struct adp_tally *tally, struct adp_tally *file,
                         struct adp_lanes *ret, uint32_t *ret_file);
/* Is there anything in `file` beside what is `known`? One without decisions always has: only its
 * lines can tell it from a piece of the log. */
bool adp_tally_has_more(struct adp_tally *file, const struct adp_lanes *known);
/* From here on a line whose record is in `known`, borrowed, is counted as known and as nothing
 * else. */
void adp_tally_leave_out(struct adp_tally *tally, const struct adp_lanes *known);
/* Lines of `file` were left out, since `known_in` holds their records. */
void adp_tally_note_known(struct adp_tally *tally, uint32_t file, uint32_t known_in);

/* The identities that decided something, before finish, in no order: for choosing. */
const struct adp_part *const *adp_tally_parts(const struct adp_tally *tally,
                                              size_t *ret_n);
/* After finish: in the order of files and, in one, of first lines. Then, undecided, each
 * file that holds no decision and is not a piece of a log that does. */
const struct adp_run *adp_tally_runs(const struct adp_tally *tally, size_t *ret_n);
const struct adp_log_file *adp_tally_files(const struct adp_tally *tally, size_t *ret_n);
const struct adp_again *adp_tally_again(const struct adp_tally *tally, size_t *ret_n);

#endif
