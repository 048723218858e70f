/* SPDX-License-Identifier: MIT */
/* Readings per replica: of metrics that several engines tell, what each says by itself.
 * Policies that declare a signal with ADP_REPLICAS see them beside the pool's reading.
 *
 * Here is the table and how it is narrowed down to what a decision sees. Its cells are read
 * by adp_signals_read_replicas (core/signal.h).
 *
 *  1. A replica is a value of the label `target`, which joined pages have
 *     (runtime/scrape/pool.h); rows are in the order of the page. Metrics without the label
 *     have no replicas.
 *  2. A cell is read as the pool's reading is, of the replica's own series only. It is
 *     present or not: one that failed has no row, one that does not tell a signal, or told
 *     it too long ago, has an absent cell. None is ever 0 for want of a reading.
 *  3. All rows or none: of more than the table holds, part of the pool would pass for it. */
#ifndef ADP_CORE_REPLICAS_H
#define ADP_CORE_REPLICAS_H

#include "core/metrics.h"

#include <admitperf/policy.h>

#define ADP_REPLICA_LABEL ADP_METRICS_OWN_LABEL
#define ADP_REPLICA_CELLS 4096u /* rows times columns at most */

struct adp_replicas {
    uint64_t signals; /* bit i: signal i of the set has a column; in their order */
    uint32_t rows;    /* 0: no readings per replica */
    uint32_t columns;
    uint64_t first_expiry_ns;           /* the earliest of expires_ns of present cells */
    uint64_t present[ADP_MAX_REPLICAS]; /* of a row; bit c: column c */
    double value[ADP_REPLICA_CELLS];    /* row * columns + column; 0 where absent */
    uint64_t expires_ns[ADP_REPLICA_CELLS]; /* likewise; absent from then on */
};

/* How many bits are set. Written out: the compiler's own is a call into its library, for
 * processors that cannot count. [any] */
static inline uint32_t adp_replicas_count(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) +
           (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* Whether a table of these fits. [any] */
static inline bool adp_replicas_fit(uint32_t rows, uint64_t signals)
{
    return rows <= ADP_MAX_REPLICAS &&
           rows * adp_replicas_count(signals) <= ADP_REPLICA_CELLS;
}

/* Which replica the series is of: its label's value; empty: of none. [any] */
struct adp_str adp_replica_of(const struct adp_series *series);

/* The names of the replicas that the metrics tell of, in their order, borrowed from the
 * metrics: how many, or ADP_MAX_REPLICAS + 1 when there are more. [any] */
uint32_t adp_replicas_names(const struct adp_metrics *metrics,
                            struct adp_str names[ADP_MAX_REPLICAS]);

/* Empties the table and gives it rows and columns, all cells absent. They fit. [any] */
void adp_replicas_begin(struct adp_replicas *table, uint32_t rows, uint64_t signals);
/* Sets a cell of the signal's column to a reading that is used until `expires_ns`. */
void adp_replicas_set(struct adp_replicas *table, uint32_t row, uint32_t signal,
                      double value, uint64_t expires_ns);

/* Whether a table that another process left is one, of a set of so many signals: nothing
 * that is done with it leaves its bounds. [any] */
bool adp_replicas_sound(const struct adp_replicas *table, uint32_t n_signals);

/* The signals that some row has a reading of: bits as in `signals`. [any] */
uint64_t adp_replicas_told(const struct adp_replicas *table);
/* The whole table, expiries too. */
void adp_replicas_copy(struct adp_replicas *to, const struct adp_replicas *from);

/* What `from` still says at `now_ns`, in the columns of `signals` that it has. Expiries are
 * left out: they are for one moment. [hot] */
void adp_replicas_narrow(struct adp_replicas *to, const struct adp_replicas *from,
                         uint64_t signals, uint64_t now_ns);

/* The table as it lies in a record (core/record.h): bytes needed, and written to `to`. A
 * multiple of 8. [hot] */
size_t adp_replicas_bytes(const struct adp_replicas *table);
uint8_t *adp_replicas_encode(const struct adp_replicas *table, uint8_t *to);

/* The table as a view wants it: rows of `n_slots` values, presence by slot. `slot_of[i]` is
 * the signal of slot i; slots without their bit in `slots` are absent. Both arrays have room
 * for the rows. [hot] */
void adp_replicas_spread(const struct adp_replicas *table, const uint32_t *slot_of,
                         uint32_t n_slots, uint64_t slots, double *value,
                         uint64_t *present);

#endif
