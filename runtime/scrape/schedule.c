/* SPDX-License-Identifier: MIT */
/* When to scrape (schedule.h). */
#include "runtime/scrape/schedule.h"

void adp_schedule_init(struct adp_schedule *schedule, uint64_t first_ns,
                       uint64_t interval_ns)
{
    *schedule =
        (struct adp_schedule) { .first_ns = first_ns, .interval_ns = interval_ns };
}

uint64_t adp_schedule_due_ns(const struct adp_schedule *schedule)
{
    return schedule->first_ns + schedule->next * schedule->interval_ns;
}

bool adp_schedule_take(struct adp_schedule *schedule, uint64_t now_ns)
{
    if (now_ns < adp_schedule_due_ns(schedule))
        return false;
    uint64_t since = now_ns - schedule->first_ns;
    uint64_t slot = since / schedule->interval_ns;
    bool late = since - slot * schedule->interval_ns > schedule->interval_ns / 2;
    schedule->passed += slot - schedule->next + (late ? 1 : 0);
    schedule->next = slot + 1;
    return !late;
}
