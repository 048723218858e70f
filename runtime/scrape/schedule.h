/* SPDX-License-Identifier: MIT */
/* When to scrape: slots at a fixed distance from the first, whatever each one cost.
 *
 *  1. Slot k is due at first + k * interval: nothing adds up over a day.
 *  2. At most one per slot, and none that is late by more than half an interval: after a
 *     stall the slots that were slept through are passed over, not caught up with.
 *  3. Two begin at least half an interval apart. */
#ifndef ADP_SCRAPE_SCHEDULE_H
#define ADP_SCRAPE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct adp_schedule {
    uint64_t first_ns, interval_ns; /* interval above 0 */
    uint64_t next;                  /* slot that was neither taken nor passed over yet */
    uint64_t passed;                /* slots passed over in all */
};

/* The first slot is due at `first_ns`. */
void adp_schedule_init(struct adp_schedule *schedule, uint64_t first_ns,
                       uint64_t interval_ns);
uint64_t adp_schedule_due_ns(const struct adp_schedule *schedule);
/* True when a slot is to be used now; it is taken then. Else passes over what is too late.
 */
bool adp_schedule_take(struct adp_schedule *schedule, uint64_t now_ns);

#endif
