/* SPDX-License-Identifier: MIT */
/* Signals: the set, and reading it.
 *
 * What a source yields is core/expr.c's; here is which source is asked, how old its
 * answer may be, and which reason is kept when none answers.
 *
 *  1. In `sources` the operator's own come first, `n_own` of them, in the order given.
 *  2. `names` holds every name and alias and ends with NULL; names[i] is one of the
 *     signal owner[i].
 *  3. An index, once given, stays. A failed call leaves the set as it was. */
#include "core/signal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 256 };

struct source {
    struct adp_expr *expr; /* owned */
    enum adp_aggregate aggregate;
};

struct signal {
    const char *name;  /* in `names` */
    char *unit;        /* owned */
    const char *about; /* static; NULL: the operator's signal */
    double lo, hi;
    uint64_t max_age_ns;
    uint32_t n_sources, n_own;
    struct source sources[ADP_MAX_SOURCES];
};

struct adp_signals {
    uint32_t n, n_names, n_renames;
    struct signal signals[ADP_MAX_KNOWN];
    char *names[MAX_NAMES + 1]; /* owned */
    uint32_t owner[MAX_NAMES];
    struct adp_rename renames[ADP_MAX_RENAMES]; /* strings: rename_text */
    char *rename_text[ADP_MAX_RENAMES];         /* owned: from, NUL, to, NUL */
};

/* ---- building ---- */

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

static bool is_signal_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return name[0] >= 'a' && name[0] <= 'z' && !name[n] && n <= ADP_SIGNAL_NAME;
}

/* Adds a name of signal `owner`, which may be the one about to be added. */
static int add_name(struct adp_signals *set, const char *name, uint32_t owner,
                    struct adp_error *err)
{
    if (!is_signal_name(name))
        return adp_error_set(
            err, ADP_EINVAL,
            "malformed signal name, found \"%.100s\", expected a letter, "
            "then letters, digits and _, all lower case, at most %u",
            name, ADP_SIGNAL_NAME);
    if (adp_signals_find(set, name) >= 0)
        return adp_error_set(err, ADP_EINVAL, "signal \"%s\" is known already", name);
    if (set->n_names == MAX_NAMES)
        return adp_error_set(err, ADP_EFULL, "more than %d names of signals", MAX_NAMES);
    char *copy = copy_text(name);
    if (!copy)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    set->names[set->n_names] = copy;
    set->owner[set->n_names] = owner;
    set->n_names++;
    return 0;
}

static bool holds_nothing(double lo, double hi)
{
    return !(lo <= hi) || lo == (double)INFINITY || hi == -(double)INFINITY;
}

int adp_signals_add(struct adp_signals *set, const char *name, const char *unit,
                    double lo, double hi, uint64_t max_age_ns, uint32_t *ret,
                    struct adp_error *err)
{
    if (holds_nothing(lo, hi))
        return adp_error_set(err, ADP_EINVAL, "the range of \"%.100s\" holds no number",
                             name);
    if (set->n == ADP_MAX_KNOWN)
        return adp_error_set(err, ADP_EFULL, "more than %u signals", ADP_MAX_KNOWN);
    char *copy = copy_text(unit);
    if (!copy)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    int rc = add_name(set, name, set->n, err);
    if (rc) {
        free(copy);
        return rc;
    }
    set->signals[set->n] = (struct signal) { .name = set->names[set->n_names - 1],
                                             .unit = copy,
                                             .lo = lo,
                                             .hi = hi,
                                             .max_age_ns = max_age_ns };
    *ret = set->n++;
    return 0;
}

int adp_signals_alias(struct adp_signals *set, const char *name, uint32_t signal,
                      struct adp_error *err)
{
    if (signal >= set->n)
        return adp_error_set(err, ADP_EINVAL, "no signal has the number %u", signal);
    return add_name(set, name, signal, err);
}

int adp_signals_rename(struct adp_signals *set, const char *from, const char *to,
                       struct adp_error *err)
{
    size_t n_from = strlen(from) + 1, n_to = strlen(to) + 1;
    if (n_from == 1 || n_to == 1)
        return adp_error_set(err, ADP_EINVAL, "a metric's name is empty");
    if (set->n_renames == ADP_MAX_RENAMES)
        return adp_error_set(err, ADP_EFULL, "more than %u metrics are renamed",
                             ADP_MAX_RENAMES);
    char *text = malloc(n_from + n_to);
    if (!text)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    memcpy(text, from, n_from);
    memcpy(text + n_from, to, n_to);
    set->rename_text[set->n_renames] = text;
    set->renames[set->n_renames] =
        (struct adp_rename) { .from = text, .to = text + n_from };
    set->n_renames++;
    return 0;
}

/* Puts a source at place `at` of a signal, moving those behind it. */
static int insert_source(struct adp_signals *set, uint32_t signal, uint32_t at,
                         struct source source, struct adp_error *err)
{
    struct signal *s = &set->signals[signal];
    if (s->n_sources == ADP_MAX_SOURCES)
        return adp_error_set(err, ADP_EFULL, "signal \"%s\" has more than %u sources",
                             s->name, ADP_MAX_SOURCES);
    memmove(&s->sources[at + 1], &s->sources[at],
            (s->n_sources - at) * sizeof s->sources[0]);
    s->sources[at] = source;
    s->n_sources++;
    return 0;
}

int adp_signals_source_take(struct adp_signals *set, uint32_t signal,
                            struct adp_expr *source, enum adp_aggregate aggregate,
                            struct adp_error *err)
{
    int rc;
    if (signal >= set->n)
        rc = adp_error_set(err, ADP_EINVAL, "no signal has the number %u", signal);
    else
        rc = insert_source(set, signal, set->signals[signal].n_own,
                           (struct source) { .expr = source, .aggregate = aggregate },
                           err);
    if (rc)
        adp_expr_destroy(source);
    else
        set->signals[signal].n_own++;
    return rc;
}

static int add_shipped_source(struct adp_signals *set, uint32_t signal, const char *text,
                              enum adp_aggregate aggregate, struct adp_error *err)
{
    struct source source = { .aggregate = aggregate };
    int rc = *text == '='
                 ? adp_expr_compile(&source.expr, text + 1, "dictionary", 1, 2, err)
                 : adp_expr_compile_metric(&source.expr, text, "dictionary", 1, 1, err);
    if (rc)
        return rc;
    rc = insert_source(set, signal, set->signals[signal].n_sources, source, err);
    if (rc)
        adp_expr_destroy(source.expr);
    return rc;
}

static int add_shipped(struct adp_signals *set, const struct adp_signal_def *def,
                       struct adp_error *err)
{
    uint32_t signal;
    int rc = adp_signals_add(set, def->name, def->unit, def->lo, def->hi, def->max_age_ns,
                             &signal, err);
    if (rc)
        return rc;
    set->signals[signal].about = def->about;
    for (uint32_t i = 0; def->metrics[i] && !rc; i++)
        rc = add_shipped_source(set, signal, def->metrics[i], def->aggregate, err);
    return rc;
}

int adp_signals_create(struct adp_signals **ret, struct adp_error *err)
{
    uint32_t n;
    const struct adp_signal_def *defs = adp_dictionary(&n);
    struct adp_signals *set = calloc(1, sizeof *set);
    if (!set)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++) {
        int rc = add_shipped(set, &defs[i], err);
        if (rc) {
            adp_signals_destroy(set);
            return rc;
        }
    }
    *ret = set;
    return 0;
}

void adp_signals_destroy(struct adp_signals *set)
{
    if (!set)
        return;
    for (uint32_t i = 0; i < set->n; i++) {
        for (uint32_t s = 0; s < set->signals[i].n_sources; s++)
            adp_expr_destroy(set->signals[i].sources[s].expr);
        free(set->signals[i].unit);
    }
    for (uint32_t i = 0; i < set->n_names; i++)
        free(set->names[i]);
    for (uint32_t i = 0; i < set->n_renames; i++)
        free(set->rename_text[i]);
    free(set);
}

void adp_signals_max_age(struct adp_signals *set, uint32_t signal, uint64_t max_age_ns)
{
    set->signals[signal].max_age_ns = max_age_ns;
}

/* ---- asking ---- */

uint32_t adp_signals_renames(const struct adp_signals *set)
{
    return set->n_renames;
}

struct adp_rename adp_signals_renamed(const struct adp_signals *set, uint32_t i)
{
    return set->renames[i];
}

uint32_t adp_signals_count(const struct adp_signals *set)
{
    return set->n;
}

int adp_signals_find(const struct adp_signals *set, const char *name)
{
    for (uint32_t i = 0; i < set->n_names; i++)
        if (strcmp(set->names[i], name) == 0)
            return (int)set->owner[i];
    return -1;
}

const char *adp_signals_name(const struct adp_signals *set, uint32_t signal)
{
    return set->signals[signal].name;
}

const char *adp_signals_unit(const struct adp_signals *set, uint32_t signal)
{
    return set->signals[signal].unit;
}

const char *adp_signals_about(const struct adp_signals *set, uint32_t signal)
{
    return set->signals[signal].about;
}

void adp_signals_range(const struct adp_signals *set, uint32_t signal, double *ret_lo,
                       double *ret_hi)
{
    *ret_lo = set->signals[signal].lo;
    *ret_hi = set->signals[signal].hi;
}

uint64_t adp_signals_age_limit(const struct adp_signals *set, uint32_t signal)
{
    return set->signals[signal].max_age_ns;
}

uint32_t adp_signals_sources(const struct adp_signals *set, uint32_t signal)
{
    return set->signals[signal].n_sources;
}

const struct adp_expr *adp_signals_source(const struct adp_signals *set, uint32_t signal,
                                          uint32_t source,
                                          enum adp_aggregate *ret_aggregate)
{
    const struct source *s = &set->signals[signal].sources[source];
    if (ret_aggregate)
        *ret_aggregate = s->aggregate;
    return s->expr;
}

const char *const *adp_signals_names(const struct adp_signals *set)
{
    return (const char *const *)set->names;
}

/* ---- reading ---- */

/* Dates what a source yielded: how old it is, until when it may be used. A timestamp in
 * the future is a clock ahead of ours, not a negative age. */
static void date(struct adp_reading *reading, const struct adp_value *value,
                 uint64_t max_age_ns, uint64_t now_ns, double wall_s)
{
    double age_s = value->has_time ? wall_s - value->time_s : 0;
    if (age_s < 0)
        age_s = 0;
    reading->age_s = age_s;
    if (!(age_s * 1e9 < (double)max_age_ns)) { /* also when it is not a number */
        reading->why = ADP_WHY_STALE;
        return;
    }
    uint64_t left_ns = max_age_ns - (uint64_t)(age_s * 1e9);
    reading->expires_ns = left_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + left_ns;
}

static struct adp_reading ask(const struct signal *signal, uint32_t source,
                              const struct adp_moment *moment, uint64_t now_ns,
                              double wall_s, struct adp_scratch *scratch)
{
    const struct source *s = &signal->sources[source];
    struct adp_value value;
    struct adp_reading reading = { .source = (int32_t)source };
    reading.why = adp_expr_evaluate(s->expr, moment, s->aggregate, signal->lo, signal->hi,
                                    scratch, &value);
    reading.taken = value.taken;
    reading.skipped = value.skipped;
    reading.skipped_why = value.skipped_why;
    memcpy(reading.differ, value.differ, sizeof reading.differ);
    if (reading.why == ADP_WHY_PRESENT) {
        reading.value = value.value;
        date(&reading, &value, signal->max_age_ns, now_ns, wall_s);
    }
    return reading;
}

static struct adp_reading read_signal(const struct signal *signal,
                                      const struct adp_moment *moment, uint64_t now_ns,
                                      double wall_s, struct adp_scratch *scratch)
{
    struct adp_reading nearest = { .why = ADP_WHY_NEVER_SUPPLIED, .source = -1 };
    for (uint32_t i = 0; i < signal->n_sources; i++) {
        struct adp_reading reading = ask(signal, i, moment, now_ns, wall_s, scratch);
        if (reading.why == ADP_WHY_PRESENT || reading.why == ADP_WHY_AMBIGUOUS)
            return reading;
        if (nearest.source < 0 && reading.why != ADP_WHY_NEVER_SUPPLIED)
            nearest = reading;
    }
    return nearest;
}

void adp_signals_read(const struct adp_signals *set, const struct adp_moment *moment,
                      uint64_t now_ns, double wall_s, struct adp_scratch *scratch,
                      struct adp_reading *readings)
{
    struct adp_moment own = *moment;
    own.renames = set->renames;
    own.n_renames = set->n_renames;
    for (uint32_t i = 0; i < set->n; i++) {
        if (moment->now)
            readings[i] = read_signal(&set->signals[i], &own, now_ns, wall_s, scratch);
        else
            readings[i] =
                (struct adp_reading) { .why = ADP_WHY_NO_SNAPSHOT, .source = -1 };
    }
}
