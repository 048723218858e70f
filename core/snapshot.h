/* SPDX-License-Identifier: MIT */
/* Publishing: metrics become the signal vector that decisions are made on.
 *
 * Evaluated once, by the control thread, for one generation: indices of signals are a
 * generation's own. The vector goes into a free snapshot of the region's pool, the raw
 * metrics into the control lane as one record, and then the generation's `current` names
 * it. Metrics that are more than a line or the ring takes are left out of that record.
 *
 *  1. A lane enters a generation, and then only that generation's snapshot.
 *  2. It writes the index of the snapshot into its call slot, then the generation
 *     (seq_cst), and then looks at `current` again (seq_cst); if it moved, it starts over
 *     (adp_generation_enter_on). The publisher reuses only indices that no generation's
 *     `current` and no call slot names: it stores `current` (seq_cst), then loads a slot's
 *     generation (seq_cst), then its snapshot. If that load comes after the lane's store
 *     of the generation, it reads that store or a later one of the lane, all releases, and
 *     so sees the snapshot named before it. If it comes before, so does the store of
 *     `current`, and the lane, which looks at it later, starts over. With one more index
 *     than lanes and generations there always is one, so neither side waits.
 *  3. The metrics published last, and those that counters need (core/history.h), stay as
 *     they are until the next publish succeeds, so that they can be read anew, for
 *     another generation's sources, with the same growth of counters and the same age. */
#ifndef ADP_CORE_SNAPSHOT_H
#define ADP_CORE_SNAPSHOT_H

#include "core/metrics.h"
#include "core/region.h"
#include "core/signal.h"

struct adp_publisher; /* the control lane's producer */

/* Numbers snapshots on from those that the region has. ADP_ENOMEM. [control] */
int adp_publisher_create(struct adp_publisher **ret, struct adp_region *region,
                         bool recording, struct adp_error *err);
void adp_publisher_destroy(struct adp_publisher *publisher);

/* A source outside the metrics: asked at each publish and reading anew, before all others.
 * What is not finite or outside the signal's range is not used. Its readings name the
 * source behind the signal's last. */
struct adp_supply {
    uint32_t signal;
    double (*read)(void *user);
    void *user;
};
/* `supply`: borrowed until the next call; one at most for a signal. [control] */
void adp_publisher_supply(struct adp_publisher *publisher,
                          const struct adp_supply *supply, uint32_t n);

/* The signals (bit i: signal i) that policies read per replica (core/replicas.h); none
 * until it is called. [control] */
void adp_publisher_replicas(struct adp_publisher *publisher, uint64_t signals);

/* The metrics to fill for the next publish; cleared, or as an earlier publish, which is
 * forgotten, left them. [control] */
struct adp_metrics *adp_publisher_next(struct adp_publisher *publisher);
struct adp_metrics *adp_publisher_next_filled(struct adp_publisher *publisher);

/* Reads the signals from what adp_publisher_next was filled with and puts the result in
 * force for a generation. 0, or ADP_NOTE: in force, and err names a signal that is absent
 * because one of its sources is ambiguous, the source, and the labels that differ; or says
 * that there are more replicas than policies can be shown. [control] */
int adp_publisher_publish(struct adp_publisher *publisher,
                          const struct adp_signals *signals, uint32_t generation,
                          uint64_t mono_ns, uint64_t wall_ns, struct adp_error *err);
/* The same from the metrics published last (none: an empty page): they age, what the
 * supplies give does not. [control] */
int adp_publisher_again(struct adp_publisher *publisher,
                        const struct adp_signals *signals, uint32_t generation,
                        uint64_t mono_ns, uint64_t wall_ns, struct adp_error *err);
/* Whether anything was published. [control] */
bool adp_publisher_has_metrics(const struct adp_publisher *publisher);
/* Gives up a generation's snapshot; no call slot names the generation. [control] */
void adp_publisher_forget(struct adp_publisher *publisher, uint64_t generation);

/* The readings of the last publish, by index in the set; NULL before the first. */
const struct adp_reading *adp_publisher_readings(const struct adp_publisher *publisher);

/* The least that one engine tells of a signal (adp_signals_least), of the metrics published
 * last, as they were then. False: none. [control] */
bool adp_publisher_least(struct adp_publisher *publisher,
                         const struct adp_signals *signals, uint32_t signal, double *ret);

/* Records the texts that a generation's decisions share (core/record.h); `texts` is the
 * packed list. ADP_EFULL: the control lane is full. [control] */
int adp_publisher_generation(struct adp_publisher *publisher, uint32_t generation,
                             uint32_t n_policies, uint32_t n_signals, const void *texts,
                             uint32_t len, uint64_t wall_ns);
/* Records a failed scrape. [control] */
void adp_publisher_scrape_error(struct adp_publisher *publisher, const char *text,
                                uint64_t wall_ns);

#endif
