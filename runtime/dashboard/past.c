/* SPDX-License-Identifier: MIT */
/* The last quarter of an hour (past.h). */
#include "runtime/dashboard/past.h"

#include <math.h>
#include <stdlib.h>

struct moment {
    double at;
    bool up;       /* a page came */
    uint32_t life; /* another one: counters cannot be subtracted */
    double decisions, refused, faults;
    double value[ADP_MAX_KNOWN]; /* by the number of its name */
};

struct adp_past {
    char names[ADP_MAX_KNOWN][ADP_SIGNAL_NAME + 1]; /* of signals that had a value */
    uint32_t n_names;
    uint32_t first, n; /* moments: a ring */
    struct moment moments[ADP_PAST_MOMENTS];
};

struct adp_past *adp_past_create(void)
{
    return calloc(1, sizeof(struct adp_past));
}

void adp_past_destroy(struct adp_past *past)
{
    free(past);
}

static const struct moment *at(const struct adp_past *past, uint32_t i)
{
    return &past->moments[(past->first + i) % ADP_PAST_MOMENTS];
}

/* ADP_MAX_KNOWN: there is no more room. */
static uint32_t name_of(struct adp_past *past, struct adp_str name)
{
    for (uint32_t i = 0; i < past->n_names; i++)
        if (adp_str_is(name, past->names[i]))
            return i;
    if (past->n_names == ADP_MAX_KNOWN || name.n > ADP_SIGNAL_NAME)
        return ADP_MAX_KNOWN;
    memcpy(past->names[past->n_names], name.p, name.n);
    return past->n_names++;
}

static void fill(struct adp_past *past, struct moment *new, const struct adp_stand *stand)
{
    new->decisions = stand->decisions;
    new->refused = stand->refused;
    new->faults = stand->faults;
    for (uint32_t i = 0; i < stand->n_signals; i++) {
        const struct adp_stand_signal *signal = &stand->signal[i];
        uint32_t k =
            isfinite(signal->value) ? name_of(past, signal->name) : ADP_MAX_KNOWN;
        if (k < ADP_MAX_KNOWN)
            new->value[k] = signal->value;
    }
}

/* Did the counters go on? Those of no sidecar never do. */
static bool goes_on(const struct moment *before, const struct moment *now)
{
    return before->up && now->up && now->decisions >= before->decisions &&
           now->refused >= before->refused && now->faults >= before->faults;
}

void adp_past_add(struct adp_past *past, double when, const struct adp_stand *stand)
{
    const struct moment none = { 0 };
    const struct moment *last = past->n ? at(past, past->n - 1) : &none;
    uint32_t life = last->life;
    if (past->n == ADP_PAST_MOMENTS)
        past->first = (past->first + 1) % ADP_PAST_MOMENTS;
    else
        past->n++;
    struct moment *new = &past->moments[(past->first + past->n - 1) % ADP_PAST_MOMENTS];
    /* In a full ring the new one is where the first was, never where the last is. */
    *new = (struct moment) { .at = when, .up = stand };
    for (uint32_t i = 0; i < ADP_MAX_KNOWN; i++)
        new->value[i] = NAN;
    if (stand)
        fill(past, new, stand);
    new->life = goes_on(last, new) ? life : life + 1;
}

static bool grew(const struct moment *before, const struct moment *now,
                 struct adp_growth *ret)
{
    if (!before->up || !now->up || before->life != now->life || now->at <= before->at)
        return false;
    *ret = (struct adp_growth) { now->at - before->at, now->decisions - before->decisions,
                                 now->refused - before->refused,
                                 now->faults - before->faults };
    return true;
}

bool adp_past_growth(const struct adp_past *past, double within_s, struct adp_growth *ret)
{
    bool found = false;
    if (past->n < 2)
        return false;
    const struct moment *now = at(past, past->n - 1);
    for (uint32_t i = past->n - 1; i-- > 0;) {
        const struct moment *before = at(past, i);
        if (now->at - before->at > within_s || !grew(before, now, ret))
            break;
        found = true;
    }
    return found;
}

/* To a thousandth. */
static void put(struct adp_line *to, double value)
{
    adp_line_number(to, round(value * 1000) / 1000);
}

/* Since the moment before; NaN where nothing is known. */
static struct adp_growth growth_of(const struct adp_past *past, uint32_t i)
{
    struct adp_growth growth = { 1, NAN, NAN, NAN };
    if (i)
        grew(at(past, i - 1), at(past, i), &growth);
    return growth;
}

static void put_moment(const struct adp_past *past, uint32_t i, struct adp_line *to)
{
    const struct moment *now = at(past, i);
    struct adp_growth growth = growth_of(past, i);
    adp_line_puts(to, i ? ",[" : "[");
    put(to, now->at);
    adp_line_puts(to, ",");
    put(to, growth.decisions / growth.s);
    adp_line_puts(to, ",");
    put(to, growth.refused / growth.s);
    for (uint32_t k = 0; k < past->n_names; k++) {
        adp_line_puts(to, ",");
        adp_line_number(to, now->value[k]);
    }
    adp_line_puts(to, "]");
}

void adp_past_write(const struct adp_past *past, struct adp_line *to)
{
    adp_line_puts(to, "{");
    adp_line_key(to, "signals");
    adp_line_puts(to, "[");
    for (uint32_t k = 0; k < past->n_names; k++) {
        adp_line_puts(to, k ? "," : "");
        adp_line_string(to, past->names[k], strlen(past->names[k]));
    }
    adp_line_puts(to, "]");
    adp_line_key(to, "moments");
    adp_line_puts(to, "[");
    for (uint32_t i = 0; i < past->n; i++)
        put_moment(past, i, to);
    adp_line_puts(to, "]}");
}

void adp_past_write_last(const struct adp_past *past, struct adp_line *to)
{
    const struct moment *now = at(past, past->n - 1);
    struct adp_growth growth = growth_of(past, past->n - 1);
    adp_line_puts(to, "{");
    adp_line_key(to, "per_s");
    put(to, growth.decisions / growth.s);
    adp_line_key(to, "refused_per_s");
    put(to, growth.refused / growth.s);
    adp_line_key(to, "signals");
    adp_line_puts(to, "{");
    for (uint32_t k = 0; k < past->n_names; k++) {
        if (!isfinite(now->value[k]))
            continue;
        if (to->len && to->text[to->len - 1] != '{')
            adp_line_puts(to, ",");
        adp_line_string(to, past->names[k], strlen(past->names[k]));
        adp_line_puts(to, ":");
        adp_line_number(to, now->value[k]);
    }
    adp_line_puts(to, "}}");
}
