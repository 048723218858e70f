/* SPDX-License-Identifier: MIT */
/* Sources, the running half: a program (core/expr_program.h) over one moment.
 *
 * The stack holds vectors, the vectors hold elements: a series with the value computed so
 * far. What cannot be used stays in its vector with the reason until something has to
 * choose (a fold, or the end), so that it is counted once and can be named.
 *
 *  1. Nothing is allocated: every vector lies in the scratch, one behind the other, and a
 *     result is written over its operands.
 *  2. An element without a reason is finite.
 *  3. Elements of one vector come from one selector, or from two of which one stands in for
 *     the other (either), or are one element without labels; where replicas are read apart, one of
 *     each. They are no more than `series`.
 */
#include "core/dictionary.h"
#include "core/expr_program.h"
#include "core/number.h"
#include "core/replicas.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Vectors on the stack at one time may hold this many times what one selector may match:
 * room for a / (b + (c - d)). */
enum { OPERANDS = 4 };

/* Doubts that there is room for beside those of as many engines as there are series: of
 * targets, of all engines of a make, of engines under several prefixes. */
enum { MORE_DOUBTS = 512 };

struct element {
    const struct adp_series *series; /* whose labels; NULL: none */
    const struct adp_selector *from; /* what selected it; NULL with series */
    double value, time_s;
    double part;  /* of value; only in a share */
    uint64_t key; /* of its labels; only while vectors are joined, or series grouped */
    double le;    /* of a bucket; only in a quantile */
    enum adp_why why;
    uint32_t place;  /* on the page, of its series, or of the last that it was made of */
    uint32_t weight; /* in a mean: of a share, the pairs whose whole is not 0; else 1 */
    bool merged;     /* its replica stands for it */
    bool has_time;
    bool counted; /* why is set, and what it stands for is among the skipped already */
    bool growth;  /* it is what counters grew by */
    bool idle;    /* why is DIVISOR_ZERO, and that was growth */
    bool split; /* a bucket: below it, some histograms have bounds that others have not */
};

struct vector {
    uint32_t first, n;
    enum adp_why empty; /* why, when n is 0 */
};

struct adp_scratch {
    struct element *elements;
    uint32_t series, cap, used;
    uint32_t n_vectors;
    struct vector vectors[ADP_EXPR_STEPS];
    uint32_t *slots; /* twice as many as `series`, a power of 2: groups by key */
    struct adp_doubt *doubts;
};

struct run {
    const struct adp_expr *expr;
    const struct adp_moment *moment;
    struct adp_scratch *scratch;
    struct adp_value *value;
    uint32_t replica; /* of those asked for, the one that the last series was of */
    const struct adp_series *asked; /* when was it made anew? */
    bool anew;                      /* the answer */
    bool is_outside;                /* value->outside is told */
    bool any;                       /* something asked for has one of its metrics */
    double lo, hi;                  /* of the signal */
};

int adp_scratch_create(struct adp_scratch **ret, uint32_t series)
{
    if (!series || series > ADP_METRICS_MAX_SERIES)
        return ADP_EINVAL;
    struct adp_scratch *s = calloc(1, sizeof *s);
    if (!s)
        return ADP_ENOMEM;
    s->series = series;
    s->cap = series * OPERANDS;
    uint32_t slots = 2;
    while (slots < 2 * series)
        slots *= 2;
    s->elements = calloc(s->cap, sizeof *s->elements);
    s->slots = calloc(slots, sizeof *s->slots);
    s->doubts = calloc(series + MORE_DOUBTS, sizeof *s->doubts);
    if (!s->elements || !s->slots || !s->doubts) {
        adp_scratch_destroy(s);
        return ADP_ENOMEM;
    }
    *ret = s;
    return 0;
}

void adp_scratch_destroy(struct adp_scratch *scratch)
{
    if (!scratch)
        return;
    free(scratch->elements);
    free(scratch->slots);
    free(scratch->doubts);
    free(scratch);
}

struct adp_doubt *adp_scratch_doubts(struct adp_scratch *scratch, uint32_t *ret_cap)
{
    *ret_cap = scratch->series + MORE_DOUBTS;
    return scratch->doubts;
}

/* ---- labels ---- */

static bool matches(const struct adp_matcher *m, const struct adp_series *series)
{
    struct adp_str value = adp_label_of(series, m->label);
    switch (m->kind) {
    case ADP_MATCH_EQUAL:
        return adp_str_same(value, m->value);
    case ADP_MATCH_UNEQUAL:
        return !adp_str_same(value, m->value);
    case ADP_MATCH_LIKE:
        return adp_pattern_match(m->pattern, value.p, value.n);
    default:
        return !adp_pattern_match(m->pattern, value.p, value.n);
    }
}

/* Of the replicas that are asked for. Joined pages tell one after another. */
static bool is_asked(struct run *run, const struct adp_series *series)
{
    const struct adp_moment *moment = run->moment;
    if (!moment->n_replicas)
        return true;
    struct adp_str is = adp_replica_of(series);
    for (uint32_t tried = 0; tried < moment->n_replicas; tried++) {
        if (adp_str_same(is, moment->replicas[run->replica]))
            return true;
        run->replica = run->replica + 1 == moment->n_replicas ? 0 : run->replica + 1;
    }
    return false;
}

static bool selects(const struct adp_selector *selector, const struct adp_series *series)
{
    for (uint32_t i = 0; i < selector->n_matchers; i++)
        if (!matches(&selector->matchers[i], series))
            return false;
    return true;
}

/* True when the selector itself fixed this label with "=": the label then tells the
 * operand's series from nothing, and need not be on the other side. */
static bool is_pinned(const struct adp_selector *selector, struct adp_str label)
{
    for (uint32_t i = 0; i < selector->n_matchers; i++)
        if (selector->matchers[i].kind == ADP_MATCH_EQUAL &&
            adp_str_same(selector->matchers[i].label, label))
            return true;
    return false;
}

enum pairing {
    PAIR_EQUAL,     /* the same labels on both sides */
    PAIR_COMPATIBLE /* no label with two values; one side may have more labels */
};

/* Walks both sorted label lists at once. A label that both sides pinned is left out. */
static bool are_partners(const struct element *a, const struct element *b,
                         enum pairing pairing)
{
    uint32_t na = a->series ? a->series->n_labels : 0, i = 0;
    uint32_t nb = b->series ? b->series->n_labels : 0, j = 0;
    for (;;) {
        i = a->series ? adp_label_told(a->series, i) : 0;
        j = b->series ? adp_label_told(b->series, j) : 0;
        if (i == na && j == nb)
            return true;
        const struct adp_label *la = i < na ? &a->series->labels[i] : NULL;
        const struct adp_label *lb = j < nb ? &b->series->labels[j] : NULL;
        int order = !la ? 1 : !lb ? -1 : adp_str_compare(la->name, lb->name);
        if (order == 0) {
            if (!adp_str_same(la->value, lb->value) &&
                !(is_pinned(a->from, la->name) && is_pinned(b->from, lb->name)))
                return false;
        } else if (pairing == PAIR_EQUAL) {
            if (order < 0 ? !is_pinned(a->from, la->name) : !is_pinned(b->from, lb->name))
                return false;
        }
        i += order <= 0;
        j += order >= 0;
    }
}

/* ---- elements ---- */

static void skip(struct run *run, enum adp_why why, uint32_t n)
{
    if (n && !run->value->skipped)
        run->value->skipped_why = why;
    run->value->skipped += n;
    run->value->skipped_by[why] += n;
}

static void skip_element(struct run *run, struct element *e)
{
    if (!e->counted)
        skip(run, e->why, 1);
    e->counted = true;
}

static void note_outside(struct run *run, double value)
{
    if (!run->is_outside)
        run->value->outside = value;
    run->is_outside = true;
}

static void set_value(struct element *e, double value)
{
    e->value = value;
    e->why = isfinite(value) ? ADP_WHY_PRESENT : ADP_WHY_NOT_FINITE;
}

static enum adp_why judge(double value, double lo, double hi)
{
    if (!isfinite(value))
        return ADP_WHY_NOT_FINITE;
    return value < lo || value > hi ? ADP_WHY_OUT_OF_RANGE : ADP_WHY_PRESENT;
}

/* Below what parts of this source may be: no sum or product makes sense of it. */
static void hold_up(struct run *run, struct element *e)
{
    if (e->why != ADP_WHY_PRESENT || !(e->value < run->expr->least))
        return;
    e->why = ADP_WHY_OUT_OF_RANGE;
    note_outside(run, e->value);
}

/* A result is as old as the oldest timestamp that went into it. */
static void add_time(struct element *to, const struct element *from)
{
    if (from->has_time && (!to->has_time || from->time_s < to->time_s)) {
        to->has_time = true;
        to->time_s = from->time_s;
    }
}

static void apply(struct element *to, enum adp_step_kind kind, double a, double b)
{
    if (kind == ADP_STEP_SHARE) {
        bool sane = a >= 0 && a <= b;
        to->value = sane ? b : b != 0 ? a / b : a;
        to->part = a;
        to->weight = b != 0;
        to->why = sane ? ADP_WHY_PRESENT : ADP_WHY_OUT_OF_RANGE;
        return;
    }
    if (kind == ADP_STEP_DIVIDE && b == 0) {
        to->why = ADP_WHY_DIVISOR_ZERO;
        return;
    }
    set_value(to, kind == ADP_STEP_ADD        ? a + b
                  : kind == ADP_STEP_SUBTRACT ? a - b
                  : kind == ADP_STEP_MULTIPLY ? a * b
                                              : a / b);
}

/* a and b by value, since the result may be written over either; `labels` is the one of
 * the two whose labels it keeps. */
static struct element combine(enum adp_step_kind kind, struct element a, struct element b,
                              const struct element *labels)
{
    struct element result = { .series = labels->series,
                              .from = labels->from,
                              .place = labels->place,
                              .weight = 1 };
    add_time(&result, &a);
    add_time(&result, &b);
    if (!labels->series) {
        result.weight = a.weight > b.weight ? a.weight : b.weight;
        result.place = a.place > b.place ? a.place : b.place;
    }
    if (a.why == ADP_WHY_PRESENT && b.why == ADP_WHY_PRESENT) {
        apply(&result, kind, a.value, b.value);
        result.growth = a.growth && b.growth && kind != ADP_STEP_DIVIDE;
        result.idle = result.why == ADP_WHY_DIVISOR_ZERO && b.growth;
    } else {
        const struct element *bad = a.why != ADP_WHY_PRESENT ? &a : &b;
        result.why = bad->why;
        result.counted = bad->counted;
        result.idle = bad->idle;
    }
    return result;
}

/* ---- the stack ---- */

static struct vector *push(struct run *run)
{
    struct adp_scratch *s = run->scratch;
    struct vector *v = &s->vectors[s->n_vectors++];
    *v = (struct vector) { .first = s->used, .empty = ADP_WHY_NEVER_SUPPLIED };
    return v;
}

static struct vector *top(struct run *run)
{
    return &run->scratch->vectors[run->scratch->n_vectors - 1];
}

static struct element *elements_of(struct run *run, const struct vector *v)
{
    return run->scratch->elements + v->first;
}

/* Cuts the top vector to what has been written of it. */
static void set_length(struct run *run, uint32_t n, enum adp_why empty)
{
    struct vector *v = top(run);
    v->n = n;
    v->empty = empty;
    run->scratch->used = v->first + n;
}

static enum adp_why add_element(struct run *run, struct element e)
{
    struct adp_scratch *s = run->scratch;
    if (top(run)->n == s->series || s->used == s->cap)
        return ADP_WHY_TOO_MANY;
    s->elements[s->used++] = e;
    top(run)->n++;
    return ADP_WHY_PRESENT;
}

/* ---- selectors ---- */

/* The first series of the next name that the page has: the selector's own, then what else it
 * may be called, in order. *at is 0 at first. */
static uint32_t next_name(const struct adp_moment *moment,
                          const struct adp_selector *selector, uint32_t *at)
{
    uint32_t i = ADP_NO_SERIES;
    if (!*at)
        i = adp_metrics_find_hashed(moment->now, selector->name, selector->name_len,
                                    selector->hash);
    *at += !*at;
    while (i == ADP_NO_SERIES && *at <= moment->n_renames) {
        const struct adp_rename *rename = &moment->renames[(*at)++ - 1];
        if (strcmp(rename->from, selector->name) == 0)
            i = adp_metrics_find(moment->now, rename->to, strlen(rename->to));
    }
    return i;
}

static uint32_t first_series(const struct adp_moment *moment,
                             const struct adp_selector *selector)
{
    uint32_t at = 0;
    return next_name(moment, selector, &at);
}

/* Whether a name is chosen replica by replica: only where there are other names. */
static bool has_names_of_its_own(const struct adp_moment *moment)
{
    return moment->n_renames && moment->n_replicas;
}

/* What is there, step by step, as values would be. */
static bool is_supplied(const struct adp_expr *expr, const bool *there)
{
    bool stack[ADP_EXPR_STEPS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < expr->n_steps; i++) {
        const struct adp_step *step = &expr->steps[i];
        switch (step->kind) {
        case ADP_STEP_NUMBER:
            stack[n++] = true;
            break;
        case ADP_STEP_SERIES:
        case ADP_STEP_DELTA:
        case ADP_STEP_RATE:
        case ADP_STEP_LABEL:
        case ADP_STEP_QUANTILE:
            stack[n++] = there[step->selector];
            break;
        case ADP_STEP_NEGATE:
        case ADP_STEP_FOLD:
            break;
        case ADP_STEP_EITHER:
            n--;
            stack[n - 1] = stack[n - 1] || stack[n];
            break;
        default:
            n--;
            stack[n - 1] = stack[n - 1] && stack[n];
        }
    }
    return stack[0];
}

bool adp_expr_supplied(const struct adp_expr *expr, const struct adp_moment *moment,
                       const char **ret_missing)
{
    bool there[ADP_EXPR_STEPS];
    const char *missing = NULL;
    for (uint32_t i = 0; i < expr->n_selectors; i++) {
        there[i] = first_series(moment, &expr->selectors[i]) != ADP_NO_SERIES;
        if (!there[i] && !missing)
            missing = expr->selectors[i].name;
    }
    bool supplied = !missing || is_supplied(expr, there);
    if (ret_missing)
        *ret_missing = supplied ? NULL : missing;
    return supplied;
}

bool adp_expr_leads(const struct adp_expr *expr, uint32_t i)
{
    for (uint32_t k = 0; i && k < expr->n_steps; k++)
        if (expr->steps[k].kind == ADP_STEP_EITHER)
            return true;
    return i == 0;
}

/* What a series is compared with, and how long before it that was measured, below 0 if it was
 * after: what the snapshot before had, or where it was not measured again since, the
 * measurement before that one. NULL: it was measured once, or with and without a timestamp,
 * so that nobody knows how long it took. */
static const struct adp_series *measured_before(const struct adp_moment *moment,
                                                const struct adp_series *series,
                                                double *ret_s)
{
    const struct adp_series *before =
        moment->before ? adp_metrics_same(moment->before, series) : NULL;
    if (!before || before->has_time != series->has_time)
        return NULL;
    *ret_s = moment->elapsed_s;
    if (!series->has_time)
        return before;
    if (before->time_s == series->time_s)
        before = moment->earlier ? adp_metrics_same(moment->earlier, series) : NULL;
    if (before)
        *ret_s = series->time_s - before->time_s;
    return before;
}

/* ---- when a counter was made ---- */

enum { LONGEST_CREATED = 512 }; /* longer names are never asked for _created */

/* The first series that may tell when a counter of this name was made: of c_total, or of the
 * histogram c, that is c_created. */
static uint32_t first_created(const struct adp_metrics *m, struct adp_str name)
{
    static const char *const ends[] = { "_total", "_bucket", "_count", "_sum" };
    static const char created[] = "_created";
    char text[LONGEST_CREATED + sizeof created];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t n = strlen(ends[i]);
        if (name.n <= n || !adp_str_ends(name, ends[i]))
            continue;
        name.n -= n;
        break;
    }
    if (name.n > LONGEST_CREATED)
        return ADP_NO_SERIES;
    memcpy(text, name.p, name.n);
    memcpy(text + name.n, created, sizeof created - 1);
    return adp_metrics_find(m, text, name.n + sizeof created - 1);
}

/* Whether it has no label with a value but those of `as`, and these all but a bucket's le. */
static bool is_of_family(const struct adp_series *s, const struct adp_series *as)
{
    for (uint32_t i = 0, k = 0;; i++, k++) {
        i = adp_label_told(s, i);
        k = adp_label_told(as, k);
        if (i < s->n_labels && adp_str_is(s->labels[i].name, "le"))
            i = adp_label_told(s, i + 1);
        if (k < as->n_labels && adp_str_is(as->labels[k].name, "le"))
            k = adp_label_told(as, k + 1);
        if (i >= s->n_labels || k >= as->n_labels)
            return i >= s->n_labels && k >= as->n_labels;
        if (!adp_str_same(s->labels[i].name, as->labels[k].name) ||
            !adp_str_same(s->labels[i].value, as->labels[k].value))
            return false;
    }
}

static const struct adp_series *created_of(const struct adp_metrics *m, uint32_t first,
                                           const struct adp_series *series)
{
    struct adp_label labels[ADP_METRICS_MOST_LABELS];
    struct adp_series probe = { .name = adp_metrics_at(m, first)->name,
                                .labels = labels };
    for (uint32_t i = 0; i < series->n_labels; i++)
        if (!adp_str_is(series->labels[i].name, "le"))
            labels[probe.n_labels++] = series->labels[i];
    return adp_metrics_same(m, &probe);
}

/* True when the counter says itself that it was made anew since. Of a histogram it is asked
 * once for all buckets. */
static bool was_made_anew(struct run *run, const struct adp_series *series)
{
    const struct adp_moment *moment = run->moment;
    if (!adp_metrics_tells_created(moment->now))
        return false;
    if (run->asked && adp_str_same(run->asked->name, series->name) &&
        is_of_family(run->asked, series))
        return run->anew;
    uint32_t first = first_created(moment->now, series->name);
    const struct adp_series *now =
        first == ADP_NO_SERIES ? NULL : created_of(moment->now, first, series);
    double elapsed_s;
    const struct adp_series *then = now ? measured_before(moment, now, &elapsed_s) : NULL;
    run->asked = series;
    run->anew = then && now->value > then->value;
    return run->anew;
}

/* ---- growth ---- */

/* How far one counter went since the snapshot before, and in how long; of one that was
 * OUT_OF_RANGE then, what it was. */
static enum adp_why grow(struct run *run, const struct adp_series *series, double *ret,
                         double *ret_s)
{
    const struct adp_moment *moment = run->moment;
    double elapsed_s = 0;
    const struct adp_series *before = measured_before(moment, series, &elapsed_s);
    if (!isfinite(series->value) || (before && !isfinite(before->value)))
        return ADP_WHY_NOT_FINITE;
    if (!before)
        return ADP_WHY_FIRST_SAMPLE;
    if (series->value < before->value || !(elapsed_s > 0) || moment->restarted ||
        was_made_anew(run, series))
        return ADP_WHY_COUNTER_RESET;
    if (before->value < run->expr->least) {
        *ret = before->value;
        return ADP_WHY_OUT_OF_RANGE;
    }
    *ret = series->value - before->value;
    *ret_s = elapsed_s;
    return ADP_WHY_PRESENT;
}

/* Whether the selector's counter with the labels of `as` went down. */
static bool has_restarted(struct run *run, const struct adp_selector *selector,
                          const struct adp_series *as)
{
    const struct adp_series *other = NULL;
    uint32_t at = 0, first;
    while (!other && (first = next_name(run->moment, selector, &at)) != ADP_NO_SERIES) {
        struct adp_series probe = *as;
        probe.name = adp_metrics_at(run->moment->now, first)->name;
        other = adp_metrics_same(run->moment->now, &probe);
        if (!has_names_of_its_own(run->moment))
            break;
    }
    double growth, elapsed_s;
    return other && grow(run, other, &growth, &elapsed_s) == ADP_WHY_COUNTER_RESET;
}

/* True when another counter of the source, with the same labels, went down: its engine
 * restarted, and this one has only grown past its old value since. Used, it would make a
 * ratio of the two halves of different intervals. */
static bool restarted(struct run *run, const struct adp_step *self,
                      const struct adp_series *series)
{
    for (uint32_t i = 0; i < run->expr->n_steps; i++) {
        const struct adp_step *step = &run->expr->steps[i];
        if (step == self || (step->kind != ADP_STEP_DELTA && step->kind != ADP_STEP_RATE))
            continue;
        if (has_restarted(run, &run->expr->selectors[step->selector], series))
            return true;
    }
    return false;
}

/* A shell sort, with Knuth's gaps: in place, few, and often sorted. */
void adp_doubts_sort(struct adp_doubt *doubts, uint32_t n)
{
    uint32_t gap = 1;
    while (gap < n / 3)
        gap = 3 * gap + 1;
    for (; gap; gap /= 3)
        for (uint32_t i = gap; i < n; i++) {
            struct adp_doubt moving = doubts[i];
            uint32_t j = i;
            for (; j >= gap && doubts[j - gap].of > moving.of; j -= gap)
                doubts[j] = doubts[j - gap];
            doubts[j] = moving;
        }
}

static uint32_t first_doubt(const struct adp_moment *moment, uint64_t of)
{
    uint32_t low = 0, high = moment->n_doubts;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (moment->doubts[middle].of < of)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Why the series is not to be believed, whatever it says: nothing is worse than another, but
 * a counter that began anew is told only where it is believed otherwise. `growth`: it is
 * asked what it grew by. */
static enum adp_why doubt(const struct adp_moment *moment,
                          const struct adp_series *series, bool growth)
{
    enum adp_why why = adp_metric_is_blank(series) ? ADP_WHY_BLANK : ADP_WHY_PRESENT;
    if (!moment->n_doubts)
        return why;
    const uint64_t of[ADP_DOUBT_KINDS] = { adp_engine_key(series),
                                           adp_target_key(adp_replica_of(series)), 0 };
    for (int kind = 0; kind < ADP_DOUBT_KINDS; kind++)
        for (uint32_t i = first_doubt(moment, of[kind]);
             i < moment->n_doubts && moment->doubts[i].of == of[kind]; i++) {
            const struct adp_doubt *d = &moment->doubts[i];
            if ((int)d->kind != kind || !adp_str_begins(series->name, d->prefix))
                continue;
            if (d->why != ADP_WHY_COUNTER_RESET)
                return d->why;
            if (growth)
                why = d->why;
        }
    return why;
}

static void set_label(struct element *e, struct adp_str label)
{
    struct adp_str text = adp_label_of(e->series, label);
    double value;
    set_value(e, adp_number_parse(text.p, text.n, &value) ? value : (double)NAN);
}

static void set_growth(struct run *run, const struct adp_step *step, struct element *e)
{
    double growth = 0, elapsed_s = 0;
    e->why = grow(run, e->series, &growth, &elapsed_s);
    if (e->why == ADP_WHY_PRESENT && restarted(run, step, e->series))
        e->why = ADP_WHY_COUNTER_RESET;
    if (e->why == ADP_WHY_OUT_OF_RANGE)
        note_outside(run, growth);
    if (e->why != ADP_WHY_PRESENT)
        return;
    if (step->kind == ADP_STEP_RATE)
        apply(e, ADP_STEP_DIVIDE, growth, elapsed_s);
    else
        set_value(e, growth);
}

/* The value that an element starts with. */
static void set_first(struct run *run, const struct adp_step *step, struct element *e)
{
    if (step->kind == ADP_STEP_SERIES)
        set_value(e, e->series->value);
    else if (step->kind == ADP_STEP_LABEL)
        set_label(e, step->label);
    else
        set_growth(run, step, e);
    hold_up(run, e);
}

/* The time of the first that is not of now is told. */
static enum adp_why judge_time(struct run *run, double time_s)
{
    const struct adp_moment *m = run->moment;
    if (!m->dated || (time_s > m->oldest_s && time_s <= m->newest_s))
        return ADP_WHY_PRESENT;
    if (!run->value->has_time)
        run->value->time_s = time_s;
    run->value->has_time = true;
    return ADP_WHY_STALE;
}

/* Replicas by the name that they have for a metric: a bit each, in the order of the moment. */
enum { NAMED_WORDS = (ADP_MAX_REPLICAS + 1 + 63) / 64 };
struct named {
    uint64_t before[NAMED_WORDS]; /* under a name that was read already */
    uint64_t now[NAMED_WORDS];    /* under the one that is being read */
};

/* Notes that the replica has the name; true if it is the first that it has. */
static bool is_first_name(struct named *named, uint32_t replica)
{
    uint64_t bit = UINT64_C(1) << replica % 64;
    named->now[replica / 64] |= bit;
    return !(named->before[replica / 64] & bit);
}

/* `from`: the first series of a name. `named`: whose names are told apart; NULL: all have
 * this one. */
static enum adp_why add_series(struct run *run, const struct adp_step *step,
                               uint32_t from, struct named *named)
{
    const struct adp_selector *selector = &run->expr->selectors[step->selector];
    const struct adp_series *series;
    for (uint32_t i = from; i != ADP_NO_SERIES; i = series->next) {
        series = adp_metrics_at(run->moment->now, i);
        if (!is_asked(run, series))
            continue;
        run->any = true;
        if ((named && !is_first_name(named, run->replica)) || !selects(selector, series))
            continue;
        struct element e = { .series = series,
                             .from = selector,
                             .place = i,
                             .weight = 1,
                             .has_time = series->has_time,
                             .time_s = series->time_s,
                             .growth = step->kind != ADP_STEP_SERIES &&
                                       step->kind != ADP_STEP_LABEL };
        e.why = doubt(run->moment, series, e.growth);
        if (e.why == ADP_WHY_PRESENT && series->has_time)
            e.why = judge_time(run, series->time_s);
        if (e.why == ADP_WHY_PRESENT)
            set_first(run, step, &e);
        enum adp_why why = add_element(run, e);
        if (why != ADP_WHY_PRESENT)
            return why;
    }
    return ADP_WHY_PRESENT;
}

static enum adp_why push_series(struct run *run, const struct adp_step *step)
{
    const struct adp_moment *moment = run->moment;
    const struct adp_selector *selector = &run->expr->selectors[step->selector];
    push(run);
    if (!has_names_of_its_own(moment))
        return add_series(run, step, first_series(moment, selector), NULL);
    if (moment->n_replicas > ADP_MAX_REPLICAS + 1)
        return ADP_WHY_TOO_MANY;
    struct named named = { 0 };
    enum adp_why why = ADP_WHY_PRESENT;
    for (uint32_t at = 0, first;
         why == ADP_WHY_PRESENT &&
         (first = next_name(moment, selector, &at)) != ADP_NO_SERIES;) {
        why = add_series(run, step, first, &named);
        for (int i = 0; i < NAMED_WORDS; i++)
            named.before[i] |= named.now[i];
    }
    return why;
}

/* ---- arithmetic ---- */

enum side { LEFT, RIGHT };

/* One element, standing on `side` of the operator, with every one of `many`; the results
 * are written from `to` on. */
static uint32_t spread(struct run *run, enum adp_step_kind kind, enum side side,
                       const struct element *one_at, struct vector many,
                       struct element *to)
{
    const struct element one = *one_at;
    uint32_t n = 0;
    for (uint32_t i = 0; i < many.n; i++) {
        const struct element e = elements_of(run, &many)[i];
        const struct element *labels = &e;
        if (!are_partners(&one, &e, PAIR_COMPATIBLE)) {
            skip(run, ADP_WHY_NO_PARTNER, 1);
            continue;
        }
        if (many.n == 1 && one.series &&
            (!e.series || one.series->n_labels > e.series->n_labels))
            labels = &one;
        to[n++] =
            side == LEFT ? combine(kind, one, e, labels) : combine(kind, e, one, labels);
    }
    if (!n)
        skip(run, ADP_WHY_NO_PARTNER, 1); /* the one itself */
    return n;
}

/* Partners have the same key: it is made of the labels that neither side fixed. Pages of
 * thousands of series that have no partner would take seconds without it. */
static void set_keys(struct element *e, uint32_t n, const struct adp_selector *other)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_series *series = e[i].series;
        e[i].key = 0;
        for (uint32_t l = 0; l < series->n_labels; l++) {
            struct adp_str name = series->labels[l].name, value = series->labels[l].value;
            if (!value.n || is_pinned(e[i].from, name) || is_pinned(other, name))
                continue;
            e[i].key = XXH3_64bits_withSeed(name.p, name.n, e[i].key);
            e[i].key = XXH3_64bits_withSeed(value.p, value.n, e[i].key);
        }
    }
}

/* Which of n elements, after set_keys, has the labels of `e`; n: none. Pages list the series
 * of one family in the order of the other, so the search starts behind the last find. */
static uint32_t find_partner(const struct element *e, const struct element *of,
                             uint32_t n, uint32_t *start)
{
    for (uint32_t tried = 0, i = *start; tried < n; tried++) {
        uint32_t next = i + 1 == n ? 0 : i + 1;
        if (e->key == of[i].key && are_partners(e, &of[i], PAIR_EQUAL)) {
            *start = next;
            return i;
        }
        i = next;
    }
    return n;
}

/* Each element of `a` with the one of `b` that has its labels. */
static uint32_t join(struct run *run, enum adp_step_kind kind, struct vector a,
                     struct vector b, struct element *to)
{
    struct element *as = elements_of(run, &a), *bs = elements_of(run, &b);
    uint32_t n = 0, start = 0;
    set_keys(as, a.n, bs->from);
    set_keys(bs, b.n, as->from);
    for (uint32_t i = 0; i < a.n; i++) {
        uint32_t j = find_partner(&as[i], bs, b.n, &start);
        if (j < b.n)
            to[n++] = combine(kind, as[i], bs[j], &as[i]);
    }
    skip(run, ADP_WHY_NO_PARTNER, a.n - n);
    skip(run, ADP_WHY_NO_PARTNER, b.n > n ? b.n - n : 0);
    return n;
}

/* A lone total would be the whole, or the part, of several. */
static bool pairs_strictly(enum adp_step_kind kind, const struct element *a, uint32_t n_a,
                           const struct element *b, uint32_t n_b)
{
    return kind == ADP_STEP_SHARE && n_a + n_b > 2 && a->series && b->series;
}

static void operate(struct run *run, enum adp_step_kind kind)
{
    struct vector b = *top(run);
    run->scratch->n_vectors--;
    struct vector a = *top(run);
    struct element *to = elements_of(run, &a);
    if (!a.n || !b.n)
        set_length(run, 0, a.n ? b.empty : a.empty);
    else if (pairs_strictly(kind, to, a.n, elements_of(run, &b), b.n))
        set_length(run, join(run, kind, a, b, to), ADP_WHY_NO_PARTNER);
    else if (b.n == 1)
        set_length(run, spread(run, kind, RIGHT, elements_of(run, &b), a, to),
                   ADP_WHY_NO_PARTNER);
    else if (a.n == 1)
        set_length(run, spread(run, kind, LEFT, to, b, to), ADP_WHY_NO_PARTNER);
    else
        set_length(run, join(run, kind, a, b, to), ADP_WHY_NO_PARTNER);
}

static void negate(struct run *run)
{
    struct element *e = elements_of(run, top(run));
    for (uint32_t i = 0; i < top(run)->n; i++)
        e[i].value = -e[i].value;
}

static bool any_present(const struct element *e, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (e[i].why == ADP_WHY_PRESENT)
            return true;
    return false;
}

/* Marks of each pair with equal labels the one that is left out. */
static void choose_by_labels(struct element *as, uint32_t n_a, struct element *bs,
                             uint32_t n_b)
{
    uint32_t start = 0;
    set_keys(as, n_a, bs->from);
    set_keys(bs, n_b, as->from);
    for (uint32_t i = 0; i < n_a; i++) {
        uint32_t j = find_partner(&as[i], bs, n_b, &start);
        if (j == n_b)
            continue;
        bool first = as[i].why == ADP_WHY_PRESENT || bs[j].why != ADP_WHY_PRESENT;
        (first ? &bs[j] : &as[i])->merged = true;
    }
}

/* What is chosen from is sane where it is no less than parts may be, and in the signal's range
 * where `ends`: what is chosen is held against that anyhow. */
static void judge_choice(struct run *run, struct element *e, uint32_t n, bool ends)
{
    for (uint32_t i = 0; i < n; i++) {
        hold_up(run, &e[i]);
        if (!ends || e[i].why != ADP_WHY_PRESENT)
            continue;
        e[i].why = judge(e[i].value, run->lo, run->hi);
        if (e[i].why == ADP_WHY_OUT_OF_RANGE)
            note_outside(run, e[i].value);
    }
}

/* Of two elements of the same labels the first, or where that has no sane value the second;
 * where one side has no labels, one side. Both vectors lie one behind the other: what is left
 * out is closed up. */
static enum adp_why either(struct run *run, bool ends)
{
    struct vector b = *top(run);
    run->scratch->n_vectors--;
    struct vector a = *top(run);
    struct element *as = elements_of(run, &a), *bs = elements_of(run, &b);
    uint32_t kept = 0;
    judge_choice(run, as, a.n, ends);
    judge_choice(run, bs, b.n, ends);
    if (a.n && b.n && as->series && bs->series) {
        choose_by_labels(as, a.n, bs, b.n);
    } else if (a.n && b.n) {
        bool first = any_present(as, a.n) || !any_present(bs, b.n);
        for (uint32_t i = 0; i < (first ? b.n : a.n); i++)
            (first ? bs : as)[i].merged = true;
    }
    for (uint32_t i = 0; i < a.n + b.n; i++) {
        if (!as[i].merged)
            as[kept++] = as[i];
        else if (i < a.n)
            skip_element(run, &as[i]);
    }
    if (kept > run->scratch->series)
        return ADP_WHY_TOO_MANY;
    set_length(run, kept, a.n ? b.empty : a.empty);
    return ADP_WHY_PRESENT;
}

/* ---- replicas and parts ---- */

/* What two series may differ in and still be in one group. */
enum leaving_out { REPLICAS = 1, BREAKDOWNS = 2, BOUNDS = 4 };

static bool leaves_out(const struct adp_series *series, struct adp_str label,
                       unsigned left_out)
{
    if ((left_out & BOUNDS) && adp_str_is(label, "le"))
        return true;
    enum adp_label_role role = adp_label_role(series, label);
    return (role == ADP_LABEL_REPLICA && (left_out & REPLICAS)) ||
           (role == ADP_LABEL_BREAKDOWN && (left_out & BREAKDOWNS));
}

static void set_group(struct element *e, unsigned left_out)
{
    const struct adp_series *series = e->series;
    e->key = 0;
    for (uint32_t i = 0; series && i < series->n_labels; i++) {
        struct adp_str name = series->labels[i].name, value = series->labels[i].value;
        if (!value.n || leaves_out(series, name, left_out))
            continue;
        e->key = XXH3_64bits_withSeed(name.p, name.n, e->key);
        e->key = XXH3_64bits_withSeed(value.p, value.n, e->key);
    }
}

/* The element of the same key that was here first; `i` itself if it is the first. */
static uint32_t first_of_group(struct run *run, const struct element *e, uint32_t i,
                               uint32_t mask)
{
    uint32_t *slots = run->scratch->slots;
    uint32_t at = (uint32_t)(e[i].key ^ e[i].key >> 32) & mask;
    while (slots[at] && e[slots[at] - 1].key != e[i].key)
        at = (at + 1) & mask;
    if (!slots[at])
        slots[at] = i + 1;
    return slots[at] - 1;
}

static uint32_t clear_groups(struct run *run, uint32_t n)
{
    uint32_t slots = 2;
    while (slots < 2 * n)
        slots *= 2;
    memset(run->scratch->slots, 0, slots * sizeof *run->scratch->slots);
    return slots - 1;
}

static bool is_part(const struct element *e)
{
    for (uint32_t i = 0; e->series && i < e->series->n_labels; i++) {
        const struct adp_label *label = &e->series->labels[i];
        if (label->value.n &&
            adp_label_role(e->series, label->name) == ADP_LABEL_BREAKDOWN)
            return true;
    }
    return false;
}

static bool has_replicas_or_parts(const struct element *e, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t l = 0; e[i].series && l < e[i].series->n_labels; l++)
            if (adp_label_role(e[i].series, e[i].series->labels[l].name) !=
                ADP_LABEL_PARTITION)
                return true;
    return false;
}

/* Parts whose total is there are left out. Totals enter their group first, so that a part
 * finds its own. */
static void drop_parts(struct run *run, struct element *e, uint32_t n)
{
    uint32_t mask = clear_groups(run, n);
    for (uint32_t i = 0; i < n; i++) {
        set_group(&e[i], REPLICAS | BREAKDOWNS);
        if (e[i].why == ADP_WHY_PRESENT && !is_part(&e[i]))
            first_of_group(run, e, i, mask);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (e[i].why != ADP_WHY_PRESENT || !is_part(&e[i]))
            continue;
        uint32_t first = first_of_group(run, e, i, mask);
        if (first != i && !is_part(&e[first]))
            e[i].why = ADP_WHY_PART;
    }
}

/* Of several that tell the same, the largest is taken. */
static void merge_replicas(struct run *run, struct element *e, uint32_t n)
{
    uint32_t mask = clear_groups(run, n);
    for (uint32_t i = 0; i < n; i++) {
        if (e[i].why != ADP_WHY_PRESENT)
            continue;
        set_group(&e[i], REPLICAS);
        uint32_t first = first_of_group(run, e, i, mask);
        if (first == i)
            continue;
        if (e[i].value > e[first].value) {
            e[first].value = e[i].value;
            e[first].part = e[i].part;
            e[first].weight = e[i].weight;
        }
        add_time(&e[first], &e[i]);
        e[i].merged = true;
    }
}

static void group(struct run *run, struct element *e, uint32_t n)
{
    if (n < 2 || !has_replicas_or_parts(e, n))
        return;
    drop_parts(run, e, n);
    merge_replicas(run, e, n);
}

/* ---- aggregation ---- */

/* One element of those without a reason; `ret_used` is how many went into it. */
static struct element fold(const struct element *e, uint32_t n, enum adp_aggregate how,
                           uint32_t *ret_used)
{
    struct element result = { .why = ADP_WHY_PRESENT, .growth = true };
    uint32_t used = 0, merged = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (e[i].why != ADP_WHY_PRESENT)
            continue;
        if (e[i].merged) {
            merged++;
            continue;
        }
        result.part += e[i].part;
        result.weight += e[i].weight;
        if (used++ == 0)
            result.value = e[i].value;
        else if (how == ADP_AGG_SUM || how == ADP_AGG_MEAN)
            result.value += e[i].value;
        else if (how == ADP_AGG_MAX ? e[i].value > result.value
                                    : e[i].value < result.value)
            result.value = e[i].value;
        if (e[i].place > result.place)
            result.place = e[i].place;
        result.growth = result.growth && e[i].growth;
        add_time(&result, &e[i]);
    }
    if (how == ADP_AGG_MEAN && used)
        result.value /= used;
    set_value(&result, result.value);
    *ret_used = used + merged;
    return result;
}

/* The one without a reason that is the last on the page. */
static struct element last(const struct element *e, uint32_t n, uint32_t *ret_used)
{
    struct element result = { .why = ADP_WHY_PRESENT };
    *ret_used = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (e[i].why != ADP_WHY_PRESENT || e[i].place < result.place)
            continue;
        result = e[i];
        *ret_used = 1;
    }
    return result;
}

static void fold_elements(struct run *run, enum adp_aggregate how)
{
    struct vector v = *top(run);
    struct element *e = elements_of(run, &v);
    uint32_t used;
    if (!v.n)
        return;
    for (uint32_t i = 0; i < v.n; i++)
        hold_up(run, &e[i]);
    group(run, e, v.n);
    for (uint32_t i = 0; i < v.n; i++)
        if (e[i].why != ADP_WHY_PRESENT)
            skip_element(run, &e[i]);
    struct element result = fold(e, v.n, how, &used);
    if (!used)
        result = (struct element) { .why = e[0].why, .counted = true, .idle = e[0].idle };
    e[0] = result;
    set_length(run, 1, ADP_WHY_PRESENT);
}

/* The series of a function are one to what it stands in. */
static void fold_top(struct run *run, enum adp_aggregate how)
{
    fold_elements(run, how);
    if (top(run)->n)
        elements_of(run, top(run))->weight = 1;
}

/* Makes one ratio of the pairs on top: each a whole, with its part. */
static void fold_shares(struct run *run)
{
    struct element *e = elements_of(run, top(run));
    uint32_t n = top(run)->n;
    for (uint32_t i = 0; i < n; i++)
        if (e[i].why == ADP_WHY_OUT_OF_RANGE && !e[i].counted)
            note_outside(run, e[i].value);
    fold_elements(run, ADP_AGG_SUM);
    if (!n || e->why != ADP_WHY_PRESENT)
        return;
    apply(e, ADP_STEP_DIVIDE, e->part, e->value);
    e->idle = e->why == ADP_WHY_DIVISOR_ZERO && e->growth;
    e->growth = false;
}

/* ---- quantiles ---- */

/* Buckets in the order of their bounds, or (not `by_le`) histogram by histogram first. */
static bool comes_before(const struct element *a, const struct element *b, bool by_le)
{
    return by_le || a->key == b->key ? a->le < b->le : a->key < b->key;
}

/* A heap sort: bounded on any input, in place, and without the memory that qsort asks
 * for. */
static void sort_buckets(struct element *e, uint32_t n, bool by_le)
{
    for (uint32_t start = n / 2, end = n; end > 1;) {
        if (start > 0) {
            start--;
        } else {
            struct element last = e[--end];
            e[end] = e[0];
            e[0] = last;
        }
        uint32_t root = start;
        for (uint32_t child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && comes_before(&e[child], &e[child + 1], by_le))
                child++;
            if (!comes_before(&e[root], &e[child], by_le))
                break;
            struct element moved = e[root];
            e[root] = e[child];
            e[child] = moved;
        }
    }
}

static void read_bound(struct element *e)
{
    struct adp_str le = adp_label_of(e->series, (struct adp_str) { "le", 2 });
    if (!adp_number_parse(le.p, le.n, &e->le) || isnan(e->le)) {
        e->le = 0;
        if (e->why == ADP_WHY_PRESENT)
            e->why = ADP_WHY_NOT_FINITE;
    }
}

/* A histogram of which one bucket cannot be used is no histogram, and one that observed nothing
 * adds nothing, whatever its bounds. Moves the others forward; *ret_n buckets, of as many
 * histograms as are returned. */
static uint32_t keep_whole(struct run *run, struct element *e, uint32_t *ret_n,
                           bool *ret_idle)
{
    uint32_t n = *ret_n, kept = 0, histograms = 0;
    *ret_idle = false;
    for (uint32_t from = 0, to; from < n; from = to) {
        enum adp_why why = ADP_WHY_PRESENT;
        bool observed = false;
        for (to = from; to < n && e[to].key == e[from].key; to++) {
            if (why == ADP_WHY_PRESENT)
                why = e[to].why;
            observed = observed || e[to].value > 0;
        }
        if (why != ADP_WHY_PRESENT) {
            skip(run, why, to - from);
            continue;
        }
        if (!observed && isinf(e[to - 1].le)) {
            *ret_idle = true;
            continue;
        }
        uint32_t first = kept;
        for (uint32_t i = from; i < to; i++) {
            if (e[i].merged)
                continue;
            /* le="1" and le="1.0" are one bound, told twice */
            if (kept == first || e[kept - 1].le != e[i].le)
                e[kept++] = e[i];
            else if (e[kept - 1].value < e[i].value)
                e[kept - 1].value = e[i].value;
        }
        histograms++;
    }
    *ret_n = kept;
    return histograms;
}

/* The q-th of what was observed between two snapshots; `e` in the order of bounds, each
 * of `histograms` with its own bucket or none. A bound that not all have is none of the sum;
 * and what lies between two bounds that all have is not spread evenly there, if some know
 * better. */
static enum adp_why find_quantile(struct element *e, uint32_t n, uint32_t histograms,
                                  double q, double *ret, double *ret_bound)
{
    uint32_t bounds = 0;
    bool split = false;
    for (uint32_t i = 0, same; i < n; i += same) {
        struct element one = e[i];
        for (same = 1; i + same < n && e[i + same].le == one.le; same++)
            one.value += e[i + same].value;
        if (same < histograms) {
            split = true;
            continue;
        }
        one.split = split;
        split = false;
        if (bounds && one.value < e[bounds - 1].value)
            one.value = e[bounds - 1].value; /* read while it was being counted up */
        e[bounds++] = one;
    }
    if (!bounds || isfinite(e[bounds - 1].le))
        return ADP_WHY_NO_PARTNER;
    double total = e[bounds - 1].value, rank = q * total;
    if (!(total > 0))
        return ADP_WHY_NOTHING_OBSERVED;
    uint32_t i = 0;
    while (e[i].value < rank)
        i++;
    if (e[i].split)
        return ADP_WHY_BOUNDS_DIFFER;
    if (i == bounds - 1) {
        *ret_bound = i ? e[i - 1].le : (double)INFINITY;
        return ADP_WHY_ABOVE_LAST_BOUND;
    }
    double low = i ? e[i - 1].le : e[i].le > 0 ? 0 : e[i].le;
    double below = i ? e[i - 1].value : 0, inside = e[i].value - below;
    *ret = inside > 0 ? low + (e[i].le - low) * ((rank - below) / inside) : e[i].le;
    return ADP_WHY_PRESENT;
}

/* Makes one value of the buckets on top. */
static void take_quantile(struct run *run, double q)
{
    struct vector v = *top(run);
    struct element *e = elements_of(run, &v);
    if (!v.n)
        return;
    for (uint32_t i = 0; i < v.n; i++)
        read_bound(&e[i]);
    if (has_replicas_or_parts(e, v.n))
        merge_replicas(run, e, v.n);
    for (uint32_t i = 0; i < v.n; i++)
        set_group(&e[i], REPLICAS | BOUNDS);
    struct element result = { .why = e[0].why };
    sort_buckets(e, v.n, false);
    for (uint32_t i = 0; i < v.n; i++) {
        add_time(&result, &e[i]);
        if (e[i].place > result.place)
            result.place = e[i].place;
    }
    bool idle;
    uint32_t n = v.n, histograms = keep_whole(run, e, &n, &idle);
    double value = 0;
    if (!histograms && idle) {
        result.why = ADP_WHY_NOTHING_OBSERVED;
    } else if (histograms) {
        sort_buckets(e, n, true);
        result.why = find_quantile(e, n, histograms, q, &value, &run->value->bound);
    } else if (result.why == ADP_WHY_PRESENT) {
        result.why = run->value->skipped_why;
    }
    result.weight = histograms;
    if (result.why == ADP_WHY_PRESENT)
        set_value(&result, value);
    else
        result.counted = !histograms && !idle; /* among the skipped, bucket by bucket */
    e[0] = result;
    set_length(run, 1, ADP_WHY_PRESENT);
}

/* ---- the end ---- */

/* The labels in which series of one vector differ, each once. */
struct differences {
    struct adp_str names[16];
    uint32_t n;
};

static void note_difference(struct differences *d, struct adp_str name)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (adp_str_same(d->names[i], name))
            return;
    if (d->n < sizeof d->names / sizeof d->names[0])
        d->names[d->n++] = name;
}

static void compare_labels(const struct adp_series *a, const struct adp_series *b,
                           struct differences *d)
{
    for (uint32_t i = 0; i < a->n_labels; i++)
        if (!adp_str_same(a->labels[i].value, adp_label_of(b, a->labels[i].name)))
            note_difference(d, a->labels[i].name);
    for (uint32_t i = 0; i < b->n_labels; i++)
        if (!adp_str_same(b->labels[i].value, adp_label_of(a, b->labels[i].name)))
            note_difference(d, b->labels[i].name);
}

/* "engine, model_name"; names that find no room become "..." at the end. */
static void print_differences(const struct differences *d, char *to, size_t size)
{
    static const char more[] = ", ...";
    size_t len = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        const char *glue = len ? ", " : "";
        if (len + strlen(glue) + d->names[i].n > size - sizeof more) {
            const char *end = len ? more : more + 2;
            memcpy(to + len, end, strlen(end) + 1);
            return;
        }
        memcpy(to + len, glue, strlen(glue));
        len += strlen(glue);
        memcpy(to + len, d->names[i].p, d->names[i].n);
        len += d->names[i].n;
    }
    to[len] = '\0';
}

/* Two series that differ in a label cannot both equal the first in it. */
static void name_differences(const struct element *e, uint32_t n, struct adp_value *value)
{
    struct differences d = { .n = 0 };
    for (uint32_t i = 1; i < n; i++)
        compare_labels(e[0].series, e[i].series, &d);
    print_differences(&d, value->differ, sizeof value->differ);
}

/* Nothing was judged: then nothing was skipped either. */
static enum adp_why not_judged(struct adp_value *value, enum adp_why why)
{
    value->skipped = 0;
    value->skipped_why = ADP_WHY_PRESENT;
    memset(value->skipped_by, 0, sizeof value->skipped_by);
    return why;
}

static enum adp_why settle(struct run *run, enum adp_aggregate how, double lo, double hi)
{
    struct adp_value *value = run->value;
    struct vector v = *top(run);
    struct element *e = elements_of(run, &v);
    if (!v.n)
        return v.empty == ADP_WHY_NEVER_SUPPLIED ? not_judged(value, v.empty) : v.empty;
    if (how == ADP_AGG_NONE)
        how = ADP_AGG_ONLY;
    if (how == ADP_AGG_ONLY && v.n > 1) {
        name_differences(e, v.n, value);
        return ADP_WHY_AMBIGUOUS;
    }
    for (uint32_t i = v.n; i-- > 0;) /* backwards: the first that is outside stays */
        if (e[i].why == ADP_WHY_PRESENT &&
            (e[i].why = judge(e[i].value, lo, hi)) == ADP_WHY_OUT_OF_RANGE &&
            !run->is_outside)
            value->outside = e[i].value;
    if (how != ADP_AGG_LAST && how != ADP_AGG_ONLY)
        group(run, e, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        if (e[i].why != ADP_WHY_PRESENT)
            skip_element(run, &e[i]);
    }
    uint32_t used;
    struct element result =
        how == ADP_AGG_LAST ? last(e, v.n, &used) : fold(e, v.n, how, &used);
    if (!used) {
        value->idle = e[0].idle;
        return e[0].why;
    }
    enum adp_why why = judge(result.value, lo, hi);
    if (why != ADP_WHY_PRESENT) {
        note_outside(run, result.value);
        skip(run, why, used);
        return why;
    }
    value->value = result.value;
    value->taken = used;
    value->weight = result.weight;
    value->place = result.place;
    value->has_time = result.has_time;
    value->time_s = result.time_s;
    return ADP_WHY_PRESENT;
}

static enum adp_why run_step(struct run *run, const struct adp_step *step)
{
    switch (step->kind) {
    case ADP_STEP_NUMBER:
        push(run);
        return add_element(run, (struct element) { .value = step->number, .weight = 1 });
    case ADP_STEP_SERIES:
    case ADP_STEP_DELTA:
    case ADP_STEP_RATE:
    case ADP_STEP_LABEL:
        return push_series(run, step);
    case ADP_STEP_QUANTILE: {
        enum adp_why why = push_series(run, step);
        if (why == ADP_WHY_PRESENT)
            take_quantile(run, step->number);
        return why;
    }
    case ADP_STEP_NEGATE:
        negate(run);
        return ADP_WHY_PRESENT;
    case ADP_STEP_FOLD:
        fold_top(run, step->fold);
        return ADP_WHY_PRESENT;
    case ADP_STEP_SHARE:
        operate(run, step->kind);
        fold_shares(run);
        return ADP_WHY_PRESENT;
    case ADP_STEP_EITHER:
        return either(run, step->ends);
    default:
        operate(run, step->kind);
        return ADP_WHY_PRESENT;
    }
}

/* Puts the top vector behind the one below it, which ends where it begins. */
static enum adp_why append_top(struct run *run)
{
    struct vector last = *top(run);
    run->scratch->n_vectors--;
    struct vector *v = top(run);
    if (!v->n && v->empty == ADP_WHY_NEVER_SUPPLIED)
        v->empty = last.empty;
    v->n += last.n;
    return v->n > run->scratch->series ? ADP_WHY_TOO_MANY : ADP_WHY_PRESENT;
}

/* The steps from `first` on that the function at `until` takes, of one replica. */
static enum adp_why run_operands(struct run *run, uint32_t first, uint32_t until)
{
    enum adp_why why = ADP_WHY_PRESENT;
    for (uint32_t i = first; i < until && why == ADP_WHY_PRESENT; i++)
        why = run_step(run, &run->expr->steps[i]);
    if (why == ADP_WHY_PRESENT && run->expr->steps[until].kind == ADP_STEP_SHARE)
        operate(run, ADP_STEP_SHARE);
    return why;
}

/* A function of all replicas, of what each of them has for it by itself: a lone series of one
 * of them pairs with all of its own, and with nobody else's. */
static enum adp_why run_apart(struct run *run, uint32_t first, uint32_t until)
{
    const struct adp_moment *all = run->moment;
    const struct adp_step *function = &run->expr->steps[until];
    struct adp_moment one = *all;
    enum adp_why why = ADP_WHY_PRESENT;
    one.n_replicas = 1;
    run->moment = &one;
    push(run);
    for (uint32_t i = 0; i < all->n_replicas && why == ADP_WHY_PRESENT; i++) {
        one.replicas = &all->replicas[i];
        run->replica = 0;
        why = run_operands(run, first, until);
        if (why == ADP_WHY_PRESENT)
            why = append_top(run);
    }
    run->moment = all;
    if (why != ADP_WHY_PRESENT)
        return why;
    if (function->kind == ADP_STEP_SHARE)
        fold_shares(run);
    else
        fold_top(run, function->fold);
    return ADP_WHY_PRESENT;
}

static enum adp_why run_steps(struct run *run)
{
    const struct adp_expr *expr = run->expr;
    for (uint32_t i = 0; i < expr->n_steps; i++) {
        uint32_t until = run->moment->apart ? expr->steps[i].until : 0;
        enum adp_why why =
            until ? run_apart(run, i, until) : run_step(run, &expr->steps[i]);
        if (why != ADP_WHY_PRESENT)
            return why;
        i = until ? until : i;
    }
    return ADP_WHY_PRESENT;
}

/* Field by field, and of `differ` its end only: most of it is never looked at. */
static void clear_value(struct adp_value *v)
{
    v->value = v->bound = v->time_s = 0;
    v->taken = v->weight = v->place = v->skipped = 0;
    v->skipped_why = ADP_WHY_PRESENT;
    for (int i = 0; i < ADP_WHY_COUNT; i++)
        v->skipped_by[i] = 0;
    v->has_time = v->idle = false;
    v->differ[0] = '\0';
}

enum adp_why adp_expr_evaluate(const struct adp_expr *expr,
                               const struct adp_moment *moment,
                               enum adp_aggregate aggregate, double lo, double hi,
                               struct adp_scratch *scratch, struct adp_value *ret)
{
    struct run run = { .expr = expr,
                       .moment = moment,
                       .scratch = scratch,
                       .value = ret,
                       .lo = lo,
                       .hi = hi };
    clear_value(ret);
    if (!moment->now)
        return ADP_WHY_NO_SNAPSHOT;
    scratch->used = 0;
    scratch->n_vectors = 0;
    enum adp_why why = run_steps(&run);
    if (why != ADP_WHY_PRESENT)
        return not_judged(ret, why);
    if (!run.any)
        return not_judged(ret, ADP_WHY_NEVER_SUPPLIED);
    return settle(&run, aggregate, lo, hi);
}
