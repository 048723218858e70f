/* SPDX-License-Identifier: MIT */
/* Several pages as one: every series with a label that says whose it is. */
#ifndef ADP_SCRAPE_POOL_H
#define ADP_SCRAPE_POOL_H

#include "core/line.h"
#include "core/metrics.h"
#include "core/replicas.h"

#define ADP_POOL_LABEL ADP_REPLICA_LABEL

/* Appends the series of `metrics` in Prometheus' text format, each with the label
 * target="NAME"; a label of that name which is there already becomes exported_target, or
 * where any series of the page has that too exported_exported_target, and so on: as Prometheus
 * itself has it, but that it looks at one series, so that two may become the same.
 * `measured_s`: when the page was measured, for series that carry no timestamp of their own,
 * in seconds since the epoch. Returns how many series are left out: those that have 64
 * labels and a `target` of their own. */
uint32_t adp_pool_write(struct adp_line *page, const struct adp_metrics *metrics,
                        const char *name, double measured_s);

#endif
