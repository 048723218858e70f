/* SPDX-License-Identifier: MIT */
/* Reach: the arithmetic (core/reach.h). */
#include "core/reach.h"

#include <math.h>

static bool is_known(double value)
{
    return value > 0 && isfinite(value);
}

bool adp_reach_known(const struct adp_reach *reach)
{
    return is_known(reach->capacity_tokens) && is_known(reach->concurrency) &&
           is_known(reach->request_tokens);
}

double adp_reach_ceiling(const struct adp_reach *reach)
{
    double full = reach->concurrency * (reach->request_tokens / reach->capacity_tokens);
    return full < 1 ? full : 1;
}

double adp_reach_tokens(const struct adp_reach *reach, double threshold)
{
    return threshold * reach->capacity_tokens / reach->concurrency;
}
