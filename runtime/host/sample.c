/* SPDX-License-Identifier: MIT */
/* Watching (host.h): what an engine showed, and what policies would have made of it. */
#include "core/error.h"
#include "runtime/host/state.h"

int adp_host_sample(adp_lane *lane, adp_decision *ret)
{
    adp_runtime *rt = lane->host;
    int code = adp_lane_decide(lane, NULL, ret);
    if (code < 0)
        return code;
    struct adp_outcome not_run = { .size = sizeof not_run,
                                   .kind = ADP_NOT_RUN,
                                   .now_ns = rt->clock.mono_ns(rt->clock.ctx) };
    struct adp_name none, kept;
    uint64_t handle;
    adp_name_set(&none, NULL);
    /* Nothing waits when it was refused. */
    adp_ticket_settle(lane, &rt->generations, ret->id, &none, &not_run, &handle, &kept);
    return 0;
}

int adp_host_scrape_failed(adp_runtime *rt, const char *text, adp_error *err)
{
    int code = adp_host_enter(rt, err);
    if (code < 0)
        return code;
    adp_publisher_scrape_error(rt->publisher, text, rt->clock.wall_ns(rt->clock.ctx));
    adp_host_leave(rt);
    return 0;
}

const struct adp_reading *adp_host_readings(const adp_runtime *rt)
{
    return adp_host_is_started(rt) ? adp_publisher_readings(rt->publisher) : NULL;
}
