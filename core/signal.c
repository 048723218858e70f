/* SPDX-License-Identifier: MIT */
/* Signals: the set, and reading it.
 *
 * What a source yields is core/expr.c's; here is which source is asked, how old its
 * answer may be, and which reason is kept when none answers.
 *
 *  1. In `sources` the operator's own come first, `n_own` of them, in the order given.
 *  2. `names` holds every name and alias and ends with NULL; names[i] is one of the
 *     signal owner[i].
 *  3. An index, once given, stays. A failed call leaves the set as it was.
 *  4. `feeds` has each source under the name that its expression asks for first, of either()
 *     under all of them, and under the other names of these. Most sources are of engines
 *     that are not there, so reading starts from the names on the page and never looks at
 *     those. */
#include "core/signal.h"

#include "core/dictionary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 256, FEEDS = 2 * ADP_MAX_KNOWN * ADP_MAX_SOURCES };

/* A source, under the hash of a metric's name. */
struct feed {
    uint64_t hash;
    uint16_t signal, source;
    bool used;
};

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
    struct feed feeds[FEEDS]; /* open addressing, linear probing; a hash several times */
    uint32_t n_feeds;
    bool crowded; /* more names than it has room for: all sources are looked at */
};

/* ---- which source asks for what ---- */

static void add_feed(struct adp_signals *set, const char *metric, uint32_t signal,
                     uint32_t source)
{
    if (set->n_feeds == FEEDS / 2) {
        set->crowded = true;
        return;
    }
    uint64_t hash = adp_metrics_hash(metric, strlen(metric));
    uint32_t at = (uint32_t)hash % FEEDS;
    while (set->feeds[at].used)
        at = (at + 1) % FEEDS;
    set->feeds[at] = (struct feed) { hash, (uint16_t)signal, (uint16_t)source, true };
    set->n_feeds++;
}

static void feed_source(struct adp_signals *set, uint32_t signal, uint32_t source)
{
    const struct adp_expr *expr = set->signals[signal].sources[source].expr;
    const char *metric;
    for (uint32_t i = 0; (metric = adp_expr_metric(expr, i)); i++)
        if (adp_expr_leads(expr, i))
            add_feed(set, metric, signal, source);
}

/* Whom `rename.from` feeds, `rename.to` feeds too. */
static void index_rename(struct adp_signals *set, struct adp_rename rename)
{
    for (uint32_t i = 0; i < set->n; i++)
        for (uint32_t k = 0; k < set->signals[i].n_sources; k++) {
            const struct adp_expr *source = set->signals[i].sources[k].expr;
            const char *metric;
            for (uint32_t m = 0; (metric = adp_expr_metric(source, m)); m++)
                if (adp_expr_leads(source, m) && strcmp(metric, rename.from) == 0)
                    add_feed(set, rename.to, i, k);
        }
}

/* After sources were added, which moves those behind them. */
static void index_sources(struct adp_signals *set)
{
    memset(set->feeds, 0, sizeof set->feeds);
    set->n_feeds = 0;
    set->crowded = false;
    for (uint32_t i = 0; i < set->n; i++)
        for (uint32_t k = 0; k < set->signals[i].n_sources; k++)
            feed_source(set, i, k);
    for (uint32_t r = 0; r < set->n_renames; r++)
        index_rename(set, set->renames[r]);
}

/* A bit for each source that a metric on the page leads to (adp_expr_leads). */
static void find_fed(const struct adp_signals *set, const struct adp_metrics *metrics,
                     uint64_t fed[ADP_MAX_KNOWN])
{
    memset(fed, set->crowded ? 0xff : 0, ADP_MAX_KNOWN * sizeof *fed);
    uint32_t n = set->crowded ? 0 : adp_metrics_names(metrics);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t hash = adp_metrics_name_hash(metrics, i);
        for (uint32_t at = (uint32_t)hash % FEEDS; set->feeds[at].used;
             at = (at + 1) % FEEDS)
            if (set->feeds[at].hash == hash)
                fed[set->feeds[at].signal] |= 1ull << set->feeds[at].source;
    }
}

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
    index_rename(set, set->renames[set->n_renames++]);
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
    index_sources(set);
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
    adp_expr_hold(source.expr, 0); /* counts and fractions, all of them */
    rc = insert_source(set, signal, set->signals[signal].n_sources, source, err);
    if (rc)
        adp_expr_destroy(source.expr);
    return rc;
}

/* `text` with every `from` in it written `to`; owned by the caller, NULL without memory. */
static char *replace(const char *text, const char *from, const char *to)
{
    size_t n = 0, n_from = strlen(from), n_to = strlen(to);
    for (const char *p = text; (p = strstr(p, from)); p += n_from)
        n++;
    char *copy = malloc(strlen(text) + n * n_to + 1), *end = copy;
    if (!copy)
        return NULL;
    for (const char *p; (p = strstr(text, from)); text = p + n_from) {
        memcpy(end, text, (size_t)(p - text));
        end += p - text;
        memcpy(end, to, n_to);
        end += n_to;
    }
    memcpy(end, text, strlen(text) + 1);
    return copy;
}

/* The source, and the same under each other prefix that its engine is known by. */
static int add_shipped_variants(struct adp_signals *set, uint32_t signal,
                                const char *text, enum adp_aggregate aggregate,
                                struct adp_error *err)
{
    uint32_t n;
    const struct adp_prefix *prefixes = adp_prefixes(&n);
    int rc = add_shipped_source(set, signal, text, aggregate, err);
    for (uint32_t i = 0; i < n; i++) {
        if (!strstr(text, prefixes[i].prefix))
            continue;
        for (const char *const *other = prefixes[i].others; *other && !rc; other++) {
            char *variant = replace(text, prefixes[i].prefix, *other);
            if (!variant)
                return adp_error_set(err, ADP_ENOMEM, "out of memory");
            rc = add_shipped_source(set, signal, variant, aggregate, err);
            free(variant);
        }
    }
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
        rc = add_shipped_variants(set, signal, def->metrics[i], def->aggregate, err);
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
    index_sources(set);
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

/* ---- reading one ---- */

/* Dates what a source yielded: how old it is, until when it may be used. A timestamp a little
 * in the future is a clock ahead of ours, not a negative age. */
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

/* A reading without a value. Field by field, and of `differ` its end only: a copy of all of
 * it, most of which is never looked at, was a quarter of the time that reading takes. */
static void start(struct adp_reading *ret, enum adp_why why, int32_t source)
{
    ret->why = why;
    ret->source = source;
    ret->value = ret->age_s = ret->bound = ret->outside = 0;
    ret->expires_ns = ret->sources = 0;
    ret->taken = ret->weight = ret->place = ret->skipped = 0;
    ret->skipped_why = ADP_WHY_PRESENT;
    for (int i = 0; i < ADP_WHY_COUNT; i++)
        ret->skipped_by[i] = 0;
    ret->differ[0] = '\0';
}

/* True when the source had the last word, though it may have no value: nothing was counted
 * that it could be made of. */
static bool ask(const struct signal *signal, uint32_t source,
                const struct adp_moment *moment, uint64_t now_ns, double wall_s,
                struct adp_scratch *scratch, struct adp_reading *ret)
{
    const struct source *s = &signal->sources[source];
    struct adp_value value;
    struct adp_moment dated = *moment;
    dated.dated = true;
    dated.oldest_s = wall_s - (double)signal->max_age_ns * 1e-9;
    dated.newest_s = wall_s + ADP_AHEAD_S;
    enum adp_why why = adp_expr_evaluate(s->expr, &dated, s->aggregate, signal->lo,
                                         signal->hi, scratch, &value);
    start(ret, why, (int32_t)source);
    if (why == ADP_WHY_STALE && value.has_time)
        ret->age_s = wall_s - value.time_s;
    ret->taken = value.taken;
    ret->weight = value.weight;
    ret->place = value.place;
    ret->skipped = value.skipped;
    ret->skipped_why = value.skipped_why;
    ret->bound = value.bound;
    ret->outside = value.outside;
    if (value.skipped)
        memcpy(ret->skipped_by, value.skipped_by, sizeof ret->skipped_by);
    if (value.differ[0])
        memcpy(ret->differ, value.differ, sizeof ret->differ);
    if (why == ADP_WHY_PRESENT) {
        ret->value = value.value;
        date(ret, &value, signal->max_age_ns, now_ns, wall_s);
    }
    if (ret->why == ADP_WHY_PRESENT)
        ret->sources = UINT64_C(1) << source;
    return ret->why == ADP_WHY_PRESENT || ret->why == ADP_WHY_AMBIGUOUS || value.idle;
}

/* `there`: the sources that have something to say. The first answer is written in place, and
 * stays, as the nearest, until a later one is final. */
static void read_signal(const struct signal *signal, uint64_t there,
                        const struct adp_moment *moment, uint64_t now_ns, double wall_s,
                        struct adp_scratch *scratch, struct adp_reading *ret)
{
    struct adp_reading later, *to = ret;
    start(ret, ADP_WHY_NEVER_SUPPLIED, -1);
    for (; there; there &= there - 1) {
        bool last = ask(signal, (uint32_t)__builtin_ctzll(there), moment, now_ns, wall_s,
                        scratch, to);
        bool idle = to->why == ADP_WHY_DIVISOR_ZERO;
        if (last && to != ret && !idle)
            *ret = *to;
        if (last)
            return;
        if (to == ret && ret->why == ADP_WHY_NEVER_SUPPLIED)
            start(ret, ADP_WHY_NEVER_SUPPLIED, -1);
        else
            to = &later;
    }
}

/* ---- reading a pool ---- */

enum { MAX_GROUPS = ADP_MAX_REPLICAS + 1 };

/* The targets of a joined page; what has none is one more, without a name. */
struct pool {
    struct adp_str names[MAX_GROUPS];
    uint32_t n;
};

enum { OPEN, SPOKE, SILENT }; /* SILENT: it has no value, and no source is to be asked */

/* One signal of a pool while its sources are asked. */
struct choosing {
    const struct signal *signal;
    const struct pool *pool;
    struct adp_moment moment; /* its replicas: those that are asked */
    uint64_t now_ns;
    double wall_s;
    struct adp_scratch *scratch;
    uint8_t state[MAX_GROUPS];
    uint8_t failed[MAX_GROUPS];      /* the first source that failed for it, and 1 */
    bool parted[MAX_GROUPS];         /* and had a value for it alone, but not for all */
    uint16_t who[MAX_GROUPS];        /* the m that are taken together */
    struct adp_str some[MAX_GROUPS]; /* their names */
    uint32_t m;
    enum adp_aggregate how; /* between sources */
    struct adp_reading *ret;
};

static void take_group(struct choosing *c, uint32_t group)
{
    c->some[c->m] = c->pool->names[group];
    c->who[c->m++] = (uint16_t)group;
}

/* Asks a source of those that were taken, all at once. */
static void ask_taken(struct choosing *c, uint32_t source, struct adp_reading *ret)
{
    c->moment.replicas = c->some;
    c->moment.n_replicas = c->m;
    c->moment.apart = true;
    ask(c->signal, source, &c->moment, c->now_ns, c->wall_s, c->scratch, ret);
    c->moment.apart = false;
}

static bool ask_one(struct choosing *c, uint32_t source, uint32_t group,
                    struct adp_reading *ret)
{
    c->moment.replicas = &c->pool->names[group];
    c->moment.n_replicas = 1;
    return ask(c->signal, source, &c->moment, c->now_ns, c->wall_s, c->scratch, ret);
}

/* Adds what was left out of `r` to what was left out before. */
static void add_skipped(struct adp_reading *to, const struct adp_reading *r)
{
    if (!to->skipped)
        to->skipped_why = r->skipped_why;
    to->skipped += r->skipped;
    for (int i = 0; i < ADP_WHY_COUNT; i++)
        to->skipped_by[i] += r->skipped_by[i];
}

static bool is_for_one(enum adp_aggregate aggregate)
{
    return aggregate == ADP_AGG_NONE || aggregate == ADP_AGG_ONLY;
}

static double combined(enum adp_aggregate how, const struct adp_reading *a,
                       const struct adp_reading *b)
{
    switch (how) {
    case ADP_AGG_MAX:
        return a->value > b->value ? a->value : b->value;
    case ADP_AGG_MIN:
        return a->value < b->value ? a->value : b->value;
    case ADP_AGG_SUM:
        return a->value + b->value;
    case ADP_AGG_MEAN:
        return (a->value * a->weight + b->value * b->weight) /
               ((double)a->weight + b->weight);
    default: /* the last is one of them; those for one series are not put together */
        return b->value;
    }
}

/* Of two the one that is the last on the page. */
static void keep_last(struct adp_reading *to, const struct adp_reading *r)
{
    struct adp_reading earlier = *to;
    if (r->place < to->place) {
        add_skipped(to, r);
        return;
    }
    *to = *r;
    add_skipped(to, &earlier);
}

/* Puts `r` beside what others gave. */
static void combine(enum adp_aggregate how, struct adp_reading *to,
                    const struct adp_reading *r)
{
    if (how == ADP_AGG_LAST) {
        keep_last(to, r);
        return;
    }
    to->value = combined(how, to, r);
    to->taken += r->taken;
    to->weight += r->weight;
    to->sources |= r->sources;
    if (r->age_s > to->age_s)
        to->age_s = r->age_s;
    if (r->expires_ns < to->expires_ns)
        to->expires_ns = r->expires_ns;
    add_skipped(to, r);
}

static void be_ambiguous(struct choosing *c, int32_t source)
{
    start(c->ret, ADP_WHY_AMBIGUOUS, source);
    memcpy(c->ret->differ, ADP_REPLICA_LABEL, sizeof ADP_REPLICA_LABEL);
}

/* What one source gave for those who took it, beside what those before it gave. False: it
 * cannot be told how the two go together. */
static bool add_reading(struct choosing *c, enum adp_aggregate how,
                        const struct adp_reading *r)
{
    struct adp_reading *ret = c->ret;
    if (is_for_one(c->how))
        c->how = how;
    if (ret->why != ADP_WHY_PRESENT)
        *ret = *r;
    else if (is_for_one(c->how))
        be_ambiguous(c, ret->source);
    else
        combine(c->how, ret, r);
    return ret->why == ADP_WHY_PRESENT;
}

static void fail(struct choosing *c, uint32_t group, uint32_t source, bool parted)
{
    if (c->failed[group])
        return;
    c->failed[group] = (uint8_t)(source + 1);
    c->parted[group] = parted;
}

/* Asks each target that still waits, by itself, and takes those that have a value. `ret` is
 * what the source's aggregate makes of what these say. *ret_had: how many have something for
 * it, whatever its value. False: one is ambiguous. */
static bool ask_each(struct choosing *c, uint32_t source, struct adp_reading *ret,
                     uint32_t *ret_had)
{
    struct adp_reading r;
    *ret_had = 0;
    c->m = 0;
    for (uint32_t g = 0; g < c->pool->n; g++) {
        if (c->state[g] == SPOKE)
            continue;
        bool last = ask_one(c, source, g, &r);
        *ret_had += r.why != ADP_WHY_NEVER_SUPPLIED;
        if (r.why == ADP_WHY_AMBIGUOUS) {
            *c->ret = r;
            return false;
        }
        if (r.why == ADP_WHY_NEVER_SUPPLIED || c->state[g] == SILENT)
            continue;
        if (r.why == ADP_WHY_PRESENT) {
            take_group(c, g);
            if (c->m == 1)
                *ret = r;
            else
                combine(c->signal->sources[source].aggregate, ret, &r);
            continue;
        }
        fail(c, g, source, false);
        if (last)
            c->state[g] = SILENT;
    }
    return true;
}

/* Whether a source makes one number of all who took it: of shares and quantiles, and where only a
 * function says how its series go together. Of all others each says its own. */
static bool is_of_all(const struct source *s)
{
    return adp_expr_merges(s->expr) ||
           (is_for_one(s->aggregate) && adp_expr_totals(s->expr));
}

/* The operator's, of metrics that no target has alone, before anybody spoke: of all. They are
 * asked without their names, which costs less, where nobody may have a name of its own for a
 * metric. */
static bool ask_across(struct choosing *c, uint32_t source)
{
    struct adp_reading r;
    c->moment.replicas = c->pool->names;
    c->moment.n_replicas = c->moment.n_renames ? c->pool->n : 0;
    bool last = ask(c->signal, source, &c->moment, c->now_ns, c->wall_s, c->scratch, &r);
    if (r.why != ADP_WHY_NEVER_SUPPLIED &&
        (last || c->ret->why == ADP_WHY_NEVER_SUPPLIED))
        *c->ret = r;
    return !last;
}

/* False: the signal's reading is made. */
static bool ask_source(struct choosing *c, uint32_t source)
{
    const struct source *s = &c->signal->sources[source];
    struct adp_reading r;
    uint32_t had;
    if (!ask_each(c, source, &r, &had))
        return false;
    if (!had && source < c->signal->n_own && c->ret->why != ADP_WHY_PRESENT)
        return ask_across(c, source);
    if (had > 1 && is_for_one(s->aggregate) && !is_of_all(s)) {
        be_ambiguous(c, (int32_t)source);
        return false;
    }
    if (!c->m)
        return true;
    if (c->m > 1 && is_of_all(s))
        ask_taken(c, source, &r);
    bool spoke = r.why == ADP_WHY_PRESENT;
    for (uint32_t i = 0; i < c->m; i++) {
        uint32_t g = c->who[i];
        if (spoke)
            c->state[g] = SPOKE;
        else
            fail(c, g, source, true);
    }
    return !spoke || add_reading(c, s->aggregate, &r);
}

static void account(struct choosing *c, const struct adp_reading *silent)
{
    if (silent->why == ADP_WHY_PRESENT)
        return;
    if (c->ret->why == ADP_WHY_NEVER_SUPPLIED)
        *c->ret = *silent;
    else
        add_skipped(c->ret, silent);
}

/* Of those that have no value: what was left out, and why, where nobody has one. */
static void account_silent(struct choosing *c, uint64_t there)
{
    for (; there; there &= there - 1) {
        uint32_t source = (uint32_t)__builtin_ctzll(there);
        struct adp_reading r;
        c->m = 0;
        for (uint32_t g = 0; g < c->pool->n; g++) {
            if (c->state[g] == SPOKE || c->failed[g] != source + 1)
                continue;
            if (c->parted[g]) {
                take_group(c, g);
                continue;
            }
            ask_one(c, source, g, &r);
            account(c, &r);
        }
        if (!c->m)
            continue;
        ask_taken(c, source, &r);
        account(c, &r);
    }
}

/* The aggregate of several sources' values, held against the range once more. */
static void judge_pool(const struct signal *signal, struct adp_reading *ret)
{
    if (ret->why != ADP_WHY_PRESENT ||
        (ret->value >= signal->lo && ret->value <= signal->hi && isfinite(ret->value)))
        return;
    ret->why = isfinite(ret->value) ? ADP_WHY_OUT_OF_RANGE : ADP_WHY_NOT_FINITE;
    ret->outside = ret->value;
    ret->expires_ns = ret->sources = 0;
}

static void read_pool(struct choosing *c, const struct signal *signal, uint64_t there,
                      struct adp_reading *ret)
{
    c->signal = signal;
    c->ret = ret;
    c->how = ADP_AGG_NONE;
    memset(c->state, 0, c->pool->n * sizeof c->state[0]);
    memset(c->failed, 0, c->pool->n * sizeof c->failed[0]);
    start(ret, ADP_WHY_NEVER_SUPPLIED, -1);
    for (uint64_t left = there; left; left &= left - 1)
        if (!ask_source(c, (uint32_t)__builtin_ctzll(left)))
            return;
    account_silent(c, there);
    judge_pool(signal, ret);
}

/* False: there are more than have names here. Such a pool is not read: which of them a reading
 * left out could not be told. */
static bool list_targets(const struct adp_bound *bound, const struct adp_metrics *metrics,
                         struct pool *ret)
{
    ret->n = adp_replicas_names(metrics, ret->names);
    if (ret->n > ADP_MAX_REPLICAS)
        return false;
    if (bound->loose)
        ret->names[ret->n++] = (struct adp_str) { .p = "", .n = 0 };
    return true;
}

static void read_pools(const struct adp_signals *set, const struct adp_bound *bound,
                       const struct adp_moment *own, uint64_t now_ns, double wall_s,
                       struct adp_scratch *scratch, struct adp_reading *readings)
{
    struct pool pool;
    struct choosing c = { .pool = &pool,
                          .moment = *own,
                          .now_ns = now_ns,
                          .wall_s = wall_s,
                          .scratch = scratch };
    bool fits = list_targets(bound, own->now, &pool);
    for (uint32_t i = 0; i < set->n; i++)
        if (fits)
            read_pool(&c, &set->signals[i], bound->there[i], &readings[i]);
        else
            start(&readings[i],
                  bound->there[i] ? ADP_WHY_TOO_MANY : ADP_WHY_NEVER_SUPPLIED, -1);
}

/* Whether the page is of several targets, or of one and of none. */
static void find_targets(const struct adp_metrics *m, struct adp_bound *ret)
{
    struct adp_str first = { 0 };
    ret->pool = ret->loose = false;
    for (uint32_t i = 0; i < adp_metrics_count(m); i++) {
        struct adp_str is = adp_replica_of(adp_metrics_at(m, i));
        if (i == 0)
            first = is;
        ret->loose = ret->loose || !is.n;
        ret->pool = ret->pool || !adp_str_same(is, first);
    }
}

/* ---- reading ---- */

/* Doubts being put together; those that find no room are doubts of all. */
struct doubts {
    struct adp_doubt *at;
    uint32_t n, cap;
};

/* Adds the engines that sleep. The last place is kept for all of them. */
static void doubt_sleeping(const struct adp_metrics *m, const struct adp_sleep *sleep,
                           struct doubts *d)
{
    uint32_t i = adp_metrics_find(m, sleep->metric, strlen(sleep->metric));
    struct adp_doubt doubt = { .prefix = sleep->prefix, .why = ADP_WHY_ASLEEP };
    struct adp_str label = { sleep->label, strlen(sleep->label) };
    for (; i != ADP_NO_SERIES; i = adp_metrics_at(m, i)->next) {
        const struct adp_series *s = adp_metrics_at(m, i);
        if (s->value != 0 || !adp_str_is(adp_label_of(s, label), sleep->value))
            continue;
        bool named = adp_engine_is_named(s);
        doubt.kind = named ? ADP_DOUBT_ENGINE : ADP_DOUBT_TARGET;
        doubt.of = named ? adp_engine_key(s) : adp_target_key(adp_replica_of(s));
        if (d->n < d->cap)
            d->at[d->n++] = doubt;
        else
            d->at[d->n - 1] = (struct adp_doubt) { .prefix = "",
                                                   .kind = ADP_DOUBT_ALL,
                                                   .why = ADP_WHY_TOO_MANY };
    }
}

/* The moment as the set sees it: with its renames, and what is known of sleep. */
static struct adp_moment own_moment(const struct adp_signals *set,
                                    const struct adp_moment *moment,
                                    struct adp_scratch *scratch)
{
    struct adp_moment own = *moment;
    struct doubts d = { .n = own.n_doubts };
    uint32_t n_sleeps;
    const struct adp_sleep *sleeps = adp_sleeps(&n_sleeps);
    own.renames = set->renames;
    own.n_renames = set->n_renames;
    d.at = adp_scratch_doubts(scratch, &d.cap);
    if (d.n > d.cap)
        d.n = 0;
    else if (d.n)
        memcpy(d.at, moment->doubts, d.n * sizeof *d.at);
    if (d.n < own.n_doubts)
        d.at[d.n++] = (struct adp_doubt) { .prefix = "",
                                           .kind = ADP_DOUBT_ALL,
                                           .why = ADP_WHY_TOO_MANY };
    for (uint32_t k = 0; k < n_sleeps && own.now; k++)
        doubt_sleeping(own.now, &sleeps[k], &d);
    adp_doubts_sort(d.at, d.n);
    own.doubts = d.at;
    own.n_doubts = d.n;
    return own;
}

void adp_signals_bind(const struct adp_signals *set, const struct adp_metrics *metrics,
                      struct adp_bound *ret)
{
    struct adp_moment moment = { .now = metrics,
                                 .renames = set->renames,
                                 .n_renames = set->n_renames };
    find_fed(set, metrics, ret->there);
    for (uint32_t i = 0; i < set->n; i++) {
        const struct signal *signal = &set->signals[i];
        for (uint32_t k = 0; k < signal->n_sources && ret->there[i] >> k; k++)
            if (ret->there[i] >> k & 1 &&
                !adp_expr_supplied(signal->sources[k].expr, &moment, NULL))
                ret->there[i] &= ~(UINT64_C(1) << k);
        if (signal->n_sources < ADP_MAX_SOURCES)
            ret->there[i] &= (UINT64_C(1) << signal->n_sources) - 1;
    }
    find_targets(metrics, ret);
}

void adp_signals_read(const struct adp_signals *set, const struct adp_moment *moment,
                      uint64_t now_ns, double wall_s, struct adp_scratch *scratch,
                      struct adp_reading *readings)
{
    struct adp_bound bound;
    if (moment->now)
        adp_signals_bind(set, moment->now, &bound);
    adp_signals_read_bound(set, &bound, moment, now_ns, wall_s, scratch, readings);
}

void adp_signals_read_bound(const struct adp_signals *set, const struct adp_bound *bound,
                            const struct adp_moment *moment, uint64_t now_ns,
                            double wall_s, struct adp_scratch *scratch,
                            struct adp_reading *readings)
{
    struct adp_moment own = own_moment(set, moment, scratch);
    if (moment->now && bound->pool) {
        read_pools(set, bound, &own, now_ns, wall_s, scratch, readings);
        return;
    }
    for (uint32_t i = 0; i < set->n; i++) {
        if (moment->now)
            read_signal(&set->signals[i], bound->there[i], &own, now_ns, wall_s, scratch,
                        &readings[i]);
        else
            readings[i] =
                (struct adp_reading) { .why = ADP_WHY_NO_SNAPSHOT, .source = -1 };
    }
}

static void read_replica(const struct adp_signals *set, const struct adp_bound *bound,
                         const struct adp_moment *own, uint64_t now_ns, double wall_s,
                         struct adp_scratch *scratch, uint32_t row,
                         struct adp_replicas *table)
{
    for (uint64_t left = table->signals; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        struct adp_reading r;
        read_signal(&set->signals[i], bound->there[i], own, now_ns, wall_s, scratch, &r);
        if (r.why == ADP_WHY_PRESENT)
            adp_replicas_set(table, row, i, r.value, r.expires_ns);
    }
}

void adp_signals_read_replicas(const struct adp_signals *set,
                               const struct adp_bound *bound,
                               const struct adp_moment *moment, uint64_t now_ns,
                               double wall_s, struct adp_scratch *scratch,
                               const struct adp_str *names, struct adp_replicas *table)
{
    struct adp_moment own = own_moment(set, moment, scratch);
    for (uint32_t row = 0; row < table->rows; row++) {
        own.replicas = &names[row];
        own.n_replicas = 1;
        read_replica(set, bound, &own, now_ns, wall_s, scratch, row, table);
    }
}

/* ---- the least of one engine ---- */

static bool read_least(const struct signal *signal, uint64_t there, struct choosing *c,
                       double *ret)
{
    struct adp_reading r;
    read_signal(signal, there, &c->moment, c->now_ns, c->wall_s, c->scratch, &r);
    if (r.why == ADP_WHY_PRESENT)
        *ret = r.value;
    return r.why == ADP_WHY_PRESENT;
}

/* Of each target by itself; of metrics that no target has alone, of all. */
static bool read_least_of_pool(const struct signal *signal, uint64_t there,
                               struct choosing *c, double *ret)
{
    bool any = false;
    for (uint32_t g = 0; g < c->pool->n; g++) {
        double value;
        c->moment.replicas = &c->pool->names[g];
        c->moment.n_replicas = 1;
        if (!read_least(signal, there, c, &value))
            continue;
        *ret = any && *ret < value ? *ret : value;
        any = true;
    }
    if (any)
        return true;
    struct adp_reading r;
    read_pool(c, signal, there, &r);
    if (r.why == ADP_WHY_PRESENT)
        *ret = r.value;
    return r.why == ADP_WHY_PRESENT;
}

bool adp_signals_least(const struct adp_signals *set, const struct adp_bound *bound,
                       const struct adp_moment *moment, uint32_t signal, uint64_t now_ns,
                       double wall_s, struct adp_scratch *scratch, double *ret)
{
    struct signal least = set->signals[signal];
    struct pool pool;
    struct choosing c = { .pool = &pool,
                          .moment = own_moment(set, moment, scratch),
                          .now_ns = now_ns,
                          .wall_s = wall_s,
                          .scratch = scratch };
    if (!moment->now)
        return false;
    for (uint32_t k = 0; k < least.n_sources; k++) {
        enum adp_aggregate *how = &least.sources[k].aggregate;
        if (!is_for_one(*how) && *how != ADP_AGG_LAST)
            *how = ADP_AGG_MIN;
    }
    if (!bound->pool)
        return read_least(&least, bound->there[signal], &c, ret);
    return list_targets(bound, moment->now, &pool) &&
           read_least_of_pool(&least, bound->there[signal], &c, ret);
}

/* ---- explaining ---- */

/* Up to a colon, or else to the first underscore: what an engine's names have in common. But
 * for "gpu_", with which both NIM's and AMD's exporter begin: there it is the whole name. */
static size_t prefix_length(const char *name, size_t n)
{
    const char *colon = memchr(name, ':', n);
    const char *low = memchr(name, '_', n);
    if (colon)
        return (size_t)(colon - name) + 1;
    return low && strncmp(name, "gpu_", 4) != 0 ? (size_t)(low - name) + 1 : n;
}

static bool has_prefix_of(const struct adp_metrics *m, const char *name)
{
    size_t n = prefix_length(name, strlen(name));
    for (uint32_t i = 0; i < adp_metrics_count(m); i++) {
        const struct adp_series *s = adp_metrics_at(m, i);
        if (s->name.n >= n && memcmp(s->name.p, name, n) == 0)
            return true;
    }
    return false;
}

struct nearness {
    uint32_t near; /* its metrics on the page, doubled, and one for a prefix in common */
    uint32_t absent; /* its other metrics */
    const char *missing;
};

static struct nearness nearness(const struct adp_signals *set,
                                const struct adp_expr *expr,
                                const struct adp_metrics *metrics)
{
    struct adp_moment moment = { .now = metrics,
                                 .renames = set->renames,
                                 .n_renames = set->n_renames };
    struct nearness found = { .near = has_prefix_of(metrics, adp_expr_metric(expr, 0)) };
    const char *name;
    for (uint32_t i = 0; (name = adp_expr_metric(expr, i)); i++) {
        bool there = adp_metrics_find(metrics, name, strlen(name)) != ADP_NO_SERIES;
        found.near += there ? 2 : 0;
        found.absent += !there;
    }
    adp_expr_supplied(expr, &moment, &found.missing);
    return found;
}

bool adp_signals_nearest(const struct adp_signals *set, uint32_t signal,
                         const struct adp_metrics *metrics, uint32_t *ret_source,
                         const char **ret_metric)
{
    const struct signal *s = &set->signals[signal];
    struct nearness nearest = { 0 };
    bool any = false;
    *ret_source = 0;
    for (uint32_t i = 0; i < s->n_sources; i++) {
        struct nearness next = nearness(set, s->sources[i].expr, metrics);
        if (next.near < 2 && adp_metric_is_gone(adp_expr_metric(s->sources[i].expr, 0)))
            continue;
        if (any && (next.near < nearest.near ||
                    (next.near == nearest.near && next.absent >= nearest.absent)))
            continue;
        any = true;
        nearest = next;
        *ret_source = i;
    }
    *ret_metric = nearest.missing;
    return nearest.near > 0;
}

enum { PARTS = 3 };
static const char *const suffixes[PARTS] = { "_bucket", "_count", "_sum" };

/* The family of a histogram's series: without the suffix. */
static struct adp_str family(struct adp_str name)
{
    for (size_t i = 0; i < PARTS; i++) {
        size_t n = strlen(suffixes[i]);
        if (name.n > n && memcmp(name.p + name.n - n, suffixes[i], n) == 0)
            return (struct adp_str) { name.p, name.n - n };
    }
    return name;
}

static bool is_named(struct adp_str metric, const char *name)
{
    struct adp_str of = family(metric);
    if (!of.n || strncmp(name, of.p, of.n) != 0)
        return false;
    return family((struct adp_str) { name, strlen(name) }).n == of.n;
}

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static bool is_one_of(struct adp_str metric, const struct adp_sign *signs, size_t n)
{
    for (size_t i = 0; i < n && signs[i].name; i++)
        if (is_named(metric, signs[i].name))
            return true;
    return false;
}

static bool is_sign_of_life(struct adp_str metric)
{
    uint32_t n;
    const struct adp_sleep *sleeps = adp_sleeps(&n);
    for (uint32_t i = 0; i < n; i++)
        if (is_named(metric, sleeps[i].metric))
            return true;
    const struct adp_pulse *pulses = adp_pulses(&n);
    for (uint32_t i = 0; i < n; i++)
        if (is_one_of(metric, pulses[i].beats, COUNT(pulses[i].beats)) ||
            is_one_of(metric, pulses[i].stirs, COUNT(pulses[i].stirs)))
            return true;
    return false;
}

bool adp_signals_uses(const struct adp_signals *set, struct adp_str metric)
{
    if (is_sign_of_life(metric))
        return true;
    for (uint32_t i = 0; i < set->n_renames; i++)
        if (is_named(metric, set->renames[i].to))
            return true;
    for (uint32_t i = 0; i < set->n; i++)
        for (uint32_t s = 0; s < set->signals[i].n_sources; s++) {
            const struct adp_expr *expr = set->signals[i].sources[s].expr;
            const char *name;
            for (uint32_t k = 0; (name = adp_expr_metric(expr, k)); k++)
                if (is_named(metric, name))
                    return true;
        }
    return false;
}

enum { FAMILY_MAX = 512 }; /* a longer one is named by each of its parts */

/* True when series i is the first of its name, and of its histogram. */
static bool is_first_of_family(const struct adp_metrics *m, uint32_t i)
{
    struct adp_str name = adp_metrics_at(m, i)->name;
    if (adp_metrics_find(m, name.p, name.n) != i)
        return false;
    struct adp_str base = family(name);
    char other[FAMILY_MAX + 8]; /* and the longest suffix */
    if (base.n == name.n || base.n > FAMILY_MAX)
        return true;
    memcpy(other, base.p, base.n);
    for (size_t k = 0; k < PARTS; k++) {
        size_t n = strlen(suffixes[k]);
        memcpy(other + base.n, suffixes[k], n);
        if (adp_metrics_find(m, other, base.n + n) < i) /* none is the largest */
            return false;
    }
    return true;
}

bool adp_signals_unused(const struct adp_signals *set, const struct adp_metrics *metrics,
                        uint32_t *at, struct adp_str *ret_name)
{
    for (; *at < adp_metrics_count(metrics); ++*at) {
        struct adp_str name = adp_metrics_at(metrics, *at)->name;
        if (adp_metric_is_noise(name) || !is_first_of_family(metrics, *at) ||
            adp_signals_uses(set, name))
            continue;
        *ret_name = family(name);
        ++*at;
        return true;
    }
    return false;
}
