/* SPDX-License-Identifier: MIT */
/* Publishing: metrics become the signal vector that decisions are made on.
 *
 * Evaluated once, by the control thread. The vector goes into a free snapshot of the
 * region's pool, the raw metrics into the control lane as one record, and then `current`
 * names it.
 *
 * Reclamation: a lane writes the index of the snapshot it reads into its call slot, and
 * then looks at `current` again (both seq_cst); if it moved, it starts over. The
 * publisher reuses only indices that are neither current nor in any call slot. With one
 * more index than lanes there always is one, so neither side waits. */
#ifndef ADP_CORE_SNAPSHOT_H
#define ADP_CORE_SNAPSHOT_H

#include "core/clock.h"
#include "core/metrics.h"
#include "core/region.h"
#include "core/signal.h"

struct adp_publisher; /* the control lane's producer */

int adp_publisher_create(struct adp_publisher **ret, struct adp_region *region,
                         bool recording, struct adp_error *err);
void adp_publisher_destroy(struct adp_publisher *publisher);

/* The metrics to fill for the next publish; cleared. What was published before is
 * remembered as far as counters need it (core/history.h). */
struct adp_metrics *adp_publisher_next(struct adp_publisher *publisher);

/* Reads the signals from what adp_publisher_next was filled with and puts the result in
 * force. `generation`: number, for the log. 0, or ADP_NOTE: in force, and err names a
 * signal that is absent because one of its sources is ambiguous, the source, and the
 * labels that differ. [control] */
int adp_publisher_publish(struct adp_publisher *publisher,
                          const struct adp_signals *signals, uint32_t generation,
                          uint64_t mono_ns, uint64_t wall_ns, struct adp_error *err);

/* The readings of the last publish, by index in the set; NULL before the first. */
const struct adp_reading *adp_publisher_readings(const struct adp_publisher *publisher);

/* Records the texts that a generation's decisions share (core/record.h); `texts` is the
 * packed list. [control] */
void adp_publisher_generation(struct adp_publisher *publisher, uint32_t generation,
                              uint32_t n_policies, uint32_t n_signals, const void *texts,
                              uint32_t len, uint64_t wall_ns);
/* Records a failed scrape. [control] */
void adp_publisher_scrape_error(struct adp_publisher *publisher, const char *text,
                                uint64_t wall_ns);

/* Enters the snapshot in force: returns it and names it in the lane's call slot, or NULL
 * when there is none. Until adp_snapshot_leave it stays as it is. [hot] */
const struct adp_snapshot *adp_snapshot_enter(const struct adp_region *region,
                                              uint32_t lane);
void adp_snapshot_leave(const struct adp_region *region, uint32_t lane);

#endif
