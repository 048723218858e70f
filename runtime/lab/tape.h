/* SPDX-License-Identifier: MIT */
/* A tape: what a replay needs of a recorded trace, in the order of the log, in batches.
 *
 * A plain file is read in slices by as many threads as there are processors; a pipe, or a
 * packed file, by one. Each call gives what each of them has read since the last, side by
 * side: batch 0 before batch 1. Lines are those of one run's governing decisions, or, where
 * it is a watch trace, the samples; of all else there are counts. Nothing passes silently:
 * a line that cannot be read is counted.
 *
 * It decides nothing, and says nothing of what was recorded but what is in the lines. */
#ifndef ADP_RUNTIME_LAB_TAPE_H
#define ADP_RUNTIME_LAB_TAPE_H

#include "core/error.h"
#include "runtime/analysis/index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which trace it is, of what run. */
struct adp_tape_kind {
    bool watch;              /* no decision in it: its samples are what there is */
    bool watched;            /* that, or its decisions are a watch's, on its samples */
    struct adp_key identity; /* of the first governing decision's run */
    char experiment[256];    /* as recorded; "": none */
    char recorded[160];      /* the policy and its parameters; "": watch */
};

enum adp_take_text {
    ADP_TAKE_ID,
    ADP_TAKE_TENANT,
    ADP_TAKE_SESSION,
    ADP_TAKE_CLASS,
    ADP_TAKE_TEXTS
};

/* One recorded decision, or sample. Numbers: NaN is absent. */
struct adp_take {
    uint32_t size;                 /* bytes to the next */
    uint32_t text[ADP_TAKE_TEXTS]; /* where each begins, from here; 0: absent */
    bool refused, fault;
    double at, draw;
    int64_t mono_ns; /* -1: absent */
    double priority, prompt_tokens, max_output_tokens, ttft_deadline_ms;
    /* Readings per replica: bit i: signal i of those asked for has a column; 0: there are
     * none, or of different lengths, or too many. */
    uint64_t columns;
    uint32_t rows;  /* of each column; at most ADP_MAX_REPLICAS */
    uint32_t cells; /* where they begin, from here: one column after the other */
    double value[]; /* of each signal asked for */
};

struct adp_batch {
    char *takes; /* owned by the tape: struct adp_take, one after the other */
    size_t len, cap, n;
};

struct adp_tape_count {
    uint64_t others;    /* decisions of shadows and of other runs */
    uint64_t samples;   /* watch samples and snapshots */
    uint64_t failed;    /* scrapes */
    uint64_t corrupt;   /* lines, and packed bytes that are damaged */
    uint64_t draws;     /* takes with a draw */
    uint64_t anonymous; /* takes with neither draw nor id */
};

/* A trace is read twice, which standard input may bear once only: gives a path by which it
 * can be, until `fd` is closed (then not -1: what it holds is in a nameless file in TMPDIR).
 * ADP_EIO. */
struct adp_tape_input {
    int fd;
    char path[32];
};
int adp_tape_keep_input(struct adp_tape_input *ret, volatile const int *stop,
                        struct adp_error *err);

struct adp_tape; /* opaque */

/* Reads as far as the first governing decision. A text that does not fit is cut short.
 * `stop` not 0: leave off; may be NULL. ADP_ENOENT, ADP_EIO, ADP_ENOMEM. */
int adp_tape_find(const char *path, volatile const int *stop, struct adp_tape_kind *ret,
                  struct adp_error *err);

/* All borrowed for its life. `signals`: their names. */
int adp_tape_open(struct adp_tape **ret, const char *path,
                  const struct adp_tape_kind *kind, const char *const *signals, size_t n,
                  volatile const int *stop, struct adp_error *err);
void adp_tape_close(struct adp_tape *tape);

/* 1: *ret are the next *ret_n batches, in order, until the next call; they may be empty.
 * 0: the end, or stopped. ADP_EIO, ADP_ENOMEM. */
int adp_tape_next(struct adp_tape *tape, const struct adp_batch **ret, unsigned *ret_n,
                  struct adp_error *err);

/* Of what was given so far. */
struct adp_tape_count adp_tape_counts(const struct adp_tape *tape);

static inline const char *adp_take_string(const struct adp_take *take,
                                          enum adp_take_text which)
{
    return take->text[which] ? (const char *)take + take->text[which] : NULL;
}

static inline const double *adp_take_cells(const struct adp_take *take)
{
    return (const double *)(const void *)((const char *)take + take->cells);
}

#endif
