/* SPDX-License-Identifier: MIT */
/* LIVE, INERT or UNKNOWN. */
#include "runtime/analysis/finding.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *adp_finding_word(enum adp_finding finding)
{
    switch (finding) {
    case ADP_LIVE:
        return "LIVE";
    case ADP_INERT:
        return "INERT";
    case ADP_UNKNOWN:
        break;
    }
    return "UNKNOWN";
}

const char *adp_finding_op(uint32_t op)
{
    static const char *const words[] = { NULL, ">=", ">", "<=", "<" };
    return words[op <= ADP_LT ? op : 0];
}

bool adp_finding_fixed(const struct adp_part_gate *gate)
{
    return gate->op && !isnan(gate->threshold);
}

static const struct adp_part_signal *signal_of(const struct adp_part *part,
                                               const char *name)
{
    for (size_t i = 0; name && i < part->n_signals; i++)
        if (strcmp(part->signals[i].name, name) == 0)
            return &part->signals[i];
    return NULL;
}

bool adp_finding_supplied(const struct adp_part *part, const char *name)
{
    const struct adp_part_signal *signal = signal_of(part, name);
    return signal && signal->sample.pile.n > 0;
}

/* Of those not in `said` the one on most lines, the first of equals; NULL: none is left. */
static const struct adp_part_why *next_why(const struct adp_part_signal *signal,
                                           uint32_t said)
{
    const struct adp_part_why *most = NULL;
    for (uint32_t i = 0; i < signal->n_whys; i++)
        if (!(said >> i & 1u) && (!most || signal->whys[i].n > most->n))
            most = &signal->whys[i];
    return most;
}

void adp_finding_whys(const struct adp_part *part, const char *name,
                      char to[ADP_FINDING_WHYS])
{
    enum { MOST = 3 };
    const struct adp_part_signal *signal = signal_of(part, name);
    const struct adp_part_why *why = signal ? next_why(signal, 0) : NULL;
    uint64_t left = part->lines;
    uint32_t said = 0, n = 0;
    size_t used = 0;
    to[0] = '\0';
    if (!why || (signal->n_whys == 1 && strcmp(why->word, "never_supplied") == 0))
        return;
    if (why->n == part->lines) {
        snprintf(to, ADP_FINDING_WHYS, "%s", why->word);
        return;
    }
    for (; why && n < MOST; why = next_why(signal, said), n++) {
        said |= 1u << (why - signal->whys);
        used += (size_t)snprintf(to + used, ADP_FINDING_WHYS - used,
                                 n ? ", %s %" PRIu64 : "%s %" PRIu64, why->word, why->n);
        if (!n)
            used += (size_t)snprintf(to + used, ADP_FINDING_WHYS - used, " of %" PRIu64,
                                     part->lines);
        left -= why->n < left ? why->n : left;
    }
    if (left)
        snprintf(to + used, ADP_FINDING_WHYS - used, ", no reason or others %" PRIu64,
                 left);
}

const struct adp_part_param *adp_finding_threshold(const struct adp_part *part)
{
    static const char *const names[] = { "threshold", "max_waiting", "min_hit_rate" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < part->n_params; k++)
            if (strcmp(part->params[k].name, names[i]) == 0 &&
                !isnan(part->params[k].value))
                return &part->params[k];
    return NULL;
}

static void set(struct adp_run *run, enum adp_finding finding, enum adp_ground ground)
{
    run->finding = finding;
    run->ground = ground;
}

/* Gates are declared: are the readings to judge them by there? With thresholds for all of
 * them, no judged decision means that readings were missing; with some thresholds
 * unknown, only a gate that was never read means that. */
static bool starved(const struct adp_part *part)
{
    bool all_fixed = true, unread = false;
    for (size_t i = 0; i < part->n_gates; i++) {
        bool fixed = adp_finding_fixed(&part->gates[i]);
        all_fixed &= fixed;
        unread |= fixed && !part->gates[i].read;
    }
    return part->n_gates && (all_fixed || unread);
}

/* A gate that moves, or whose parameter the line does not have: nothing can be held against it. */
static bool unfixed(const struct adp_part *part)
{
    for (size_t i = 0; i < part->n_gates; i++)
        if (!adp_finding_fixed(&part->gates[i]))
            return true;
    return false;
}

/* No gates, no margin: what it reads is what its card names, or else anything. */
static bool blind(const struct adp_part *part)
{
    bool any = false;
    for (size_t i = 0; i < part->n_signals; i++) {
        if (part->signal_quantity &&
            strcmp(part->signals[i].name, part->signal_quantity) == 0)
            return !part->signals[i].sample.pile.n;
        any |= part->signals[i].sample.pile.n > 0;
    }
    return part->n_signals && !any;
}

void adp_finding_judge(struct adp_run *run)
{
    const struct adp_part *part = run->part;
    if (!run->decided)
        set(run, ADP_UNKNOWN, ADP_GROUND_NO_DECISIONS);
    else if (part->refusals)
        set(run, ADP_LIVE, ADP_GROUND_REFUSED);
    else if (part->fired)
        set(run, ADP_LIVE, ADP_GROUND_RULE);
    else if (part->margins_firing)
        set(run, ADP_LIVE, ADP_GROUND_MARGIN);
    else if (part->baseline)
        set(run, ADP_UNKNOWN, ADP_GROUND_BASELINE);
    else if (part->faults == part->lines)
        set(run, ADP_UNKNOWN, ADP_GROUND_FAULTS);
    else if (part->judged)
        set(run, ADP_INERT, ADP_GROUND_GATES);
    else if (starved(part))
        set(run, ADP_UNKNOWN, ADP_GROUND_NO_SIGNALS);
    else if (part->margins)
        set(run, ADP_INERT, ADP_GROUND_MARGIN);
    else if (unfixed(part))
        set(run, ADP_UNKNOWN, ADP_GROUND_NO_THRESHOLD);
    else if (blind(part))
        set(run, ADP_UNKNOWN, ADP_GROUND_NO_SIGNALS);
    else
        set(run, ADP_INERT, ADP_GROUND_SILENCE);
}
