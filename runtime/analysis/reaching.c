/* SPDX-License-Identifier: MIT */
/* Thresholds out of reach (reaching.h). */
#include "runtime/analysis/reaching.h"

#include "runtime/analysis/finding.h"
#include "runtime/analysis/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GATED "kv_pressure"

static const struct adp_run_signal *signal_of(const struct adp_run *run, const char *name)
{
    for (size_t i = 0; i < run->n_signals; i++)
        if (run->signals[i].n && strcmp(run->signals[i].name, name) == 0)
            return &run->signals[i];
    return NULL;
}

bool adp_reaching_of(const struct adp_run *run, struct adp_reaching *ret)
{
    const struct adp_part *part = run->part;
    const struct adp_part_disclosure *told = &part->disclosure;
    const struct adp_run_signal *capacity = signal_of(run, "kv_capacity");
    const struct adp_run_signal *kv = signal_of(run, GATED);
    struct adp_reaching r = {
        .reach = { told->kv_capacity_tokens, told->concurrency, told->request_tokens },
        .passed = NAN,
    };
    if (!(r.reach.capacity_tokens > 0) && capacity) {
        r.reach.capacity_tokens =
            isnan(run->least_capacity) ? capacity->min : run->least_capacity;
        r.capacity_seen = true;
    }
    if (!(r.reach.request_tokens > 0)) {
        r.reach.request_tokens = part->longest_tokens;
        r.length_seen = true;
        r.open_ended = part->open_ended > 0;
    }
    if (!adp_reach_known(&r.reach))
        return false;
    r.ceiling = adp_reach_ceiling(&r.reach);
    if (kv && adp_reach_is_passed(&r.reach, kv->max))
        r.passed = kv->max;
    *ret = r;
    return true;
}

static bool is_upward(const struct adp_part_gate *gate)
{
    return adp_finding_fixed(gate) && (gate->op == ADP_GE || gate->op == ADP_GT) &&
           gate->signal && strcmp(gate->signal, GATED) == 0;
}

bool adp_reaching_misses(const struct adp_reaching *reaching,
                         const struct adp_part_gate *gate)
{
    return is_upward(gate) && isnan(reaching->passed) &&
           adp_reach_is_short_of(&reaching->reach, gate->threshold, gate->op == ADP_GT);
}

static const char *where_from(const struct adp_reaching *r)
{
    static const char *const words[2][2] = {
        { "as disclosed", "the length is the longest request's here" },
        { "the capacity is what the engine tells",
          "the capacity is what the engine tells, the length the longest request's "
          "here" },
    };
    return words[r->capacity_seen][r->length_seen];
}

bool adp_reaching_words(const struct adp_run *run, const struct adp_part_gate *gate,
                        char to[ADP_REACHING_WORDS])
{
    struct adp_reaching r;
    char why[ADP_REACH_WHY];
    if (!is_upward(gate) || !adp_reaching_of(run, &r) ||
        !adp_reach_is_short_of(&r.reach, gate->threshold, gate->op == ADP_GT))
        return false;
    bool strict = gate->op == ADP_GT;
    const char *verb = strict ? "exceed" : "reach";
    adp_reach_why(&r.reach, gate->threshold, strict, why);
    if (isnan(r.passed))
        snprintf(to, ADP_REACHING_WORDS, GATED " cannot %s %s: %s (%s%s)", verb,
                 adp_page_exact(gate->threshold).text, why, where_from(&r),
                 r.open_ended ? ", without what some may generate" : "");
    else
        snprintf(to, ADP_REACHING_WORDS,
                 "By capacity " GATED " could not %s %s, yet it was %s, above the most "
                 "that there can be: %s (%s), so one of these is wrong",
                 verb, adp_page_exact(gate->threshold).text,
                 adp_page_number(r.passed).text, why, where_from(&r));
    return true;
}
