/* SPDX-License-Identifier: MIT */
/* Reach: the arithmetic (core/reach.h). */
#include "core/reach.h"

#include <math.h>
#include <stdio.h>

/* 10 * 900 / 10000 and 0.9 are equal, whatever the doubles between them make of it. */
#define ROUNDING 1e-12

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

bool adp_reach_is_short_of(const struct adp_reach *reach, double threshold, bool strict)
{
    double ceiling = adp_reach_ceiling(reach);
    return fabs(ceiling - threshold) <= ROUNDING * threshold ? strict
                                                             : ceiling < threshold;
}

bool adp_reach_is_passed(const struct adp_reach *reach, double reading)
{
    return reading > adp_reach_ceiling(reach) * (1 + ROUNDING);
}

void adp_reach_why(const struct adp_reach *reach, double threshold, bool strict,
                   char to[ADP_REACH_WHY])
{
    double takes = adp_reach_tokens(reach, threshold);
    char tail[64] = "no length of theirs reaches that";
    if (isfinite(takes))
        snprintf(tail, sizeof tail, "it takes requests of %s%.6g tokens",
                 strict ? "more than " : "", takes);
    snprintf(to, ADP_REACH_WHY,
             "%.6g requests of %.6g tokens fill %.3g of a cache of %.6g, and %s",
             reach->concurrency, reach->request_tokens, adp_reach_ceiling(reach),
             reach->capacity_tokens, tail);
}
