/* SPDX-License-Identifier: MIT */
/* Signals: the named quantities policies decide on, and how each is read from metrics.
 *
 *  1. Absence is never zero: a reading is present with a value, or absent with a reason.
 *  2. Out of range is skipped, never clamped.
 *  3. Sources are tried in order and the first that yields a sane value wins; two sources
 *     are never added together. The operator's go before the shipped ones.
 *  4. Scale is fixed by the metric's name, never guessed from its value.
 *  5. Several series need a declared aggregation. A source of the operator's that matches
 *     several without one makes the signal absent (ambiguous): trying the next source
 *     would hide the mistake. */
#ifndef ADP_CORE_SIGNAL_H
#define ADP_CORE_SIGNAL_H

#include "core/expr.h"
#include "core/replicas.h"

#define ADP_MAX_KNOWN          64u /* signals one set may hold: one presence word */
#define ADP_MAX_SOURCES        64u /* per signal */
#define ADP_SIGNAL_NAME        63u /* longest name, [a-z][a-z0-9_]* */
#define ADP_MAX_RENAMES        256u
#define ADP_DICTIONARY_VERSION "0.3.0"

/* A signal as declared, by us (core/dictionary.c) or by the operator. */
struct adp_signal_def {
    const char *name, *unit;
    double lo, hi;                /* inclusive; infinite where open */
    enum adp_aggregate aggregate; /* of shipped sources */
    uint64_t max_age_ns;          /* older readings are absent */
    const char *about;            /* one sentence for people */
    const char *const
        *metrics; /* shipped sources in order, NULL-terminated: a text that */
                  /* begins with '=' is an expr, else a metric */
};

/* The shipped dictionary; *ret_n entries. */
const struct adp_signal_def *adp_dictionary(uint32_t *ret_n);

/* Of a series' own timestamp: more than this ahead of now it is no time of now (a clock that is
 * wrong, or another unit). */
#define ADP_AHEAD_S 60.0

struct adp_signals; /* a set: built by one thread, then read-only and shared */

/* A set with the shipped dictionary in it. ADP_ENOMEM. [control] */
int adp_signals_create(struct adp_signals **ret, struct adp_error *err);
void adp_signals_destroy(struct adp_signals *set);

/* Declares a new signal; strings are copied. ADP_EINVAL: name known already or malformed,
 * range empty; ADP_EFULL; ADP_ENOMEM. *ret is its index, stable for the life of the set.
 */
int adp_signals_add(struct adp_signals *set, const char *name, const char *unit,
                    double lo, double hi, uint64_t max_age_ns, uint32_t *ret,
                    struct adp_error *err);
/* Adds a source of the operator's behind those added before it and ahead of the shipped
 * ones. `aggregate` NONE: the source must match one series. The expression is taken, also
 * on failure. ADP_EFULL; ADP_EINVAL: no such signal. */
int adp_signals_source_take(struct adp_signals *set, uint32_t signal,
                            struct adp_expr *source, enum adp_aggregate aggregate,
                            struct adp_error *err);
void adp_signals_max_age(struct adp_signals *set, uint32_t signal, uint64_t max_age_ns);
/* Another name for a signal. ADP_EINVAL: taken or malformed; ADP_EFULL: 256 names in all;
 * ADP_ENOMEM. */
int adp_signals_alias(struct adp_signals *set, const char *name, uint32_t signal,
                      struct adp_error *err);
/* Another name for a metric, tried second (core/expr.h). ADP_EINVAL: empty; ADP_EFULL;
 * ADP_ENOMEM. */
int adp_signals_rename(struct adp_signals *set, const char *from, const char *to,
                       struct adp_error *err);

uint32_t adp_signals_renames(const struct adp_signals *set);
struct adp_rename adp_signals_renamed(const struct adp_signals *set, uint32_t i);

uint32_t adp_signals_count(const struct adp_signals *set);
/* Index by name or alias; -1 when not known. */
int adp_signals_find(const struct adp_signals *set, const char *name);
/* Borrowed for the life of the set. */
const char *adp_signals_name(const struct adp_signals *set, uint32_t signal);
const char *adp_signals_unit(const struct adp_signals *set, uint32_t signal);
const char *adp_signals_about(const struct adp_signals *set,
                              uint32_t signal); /* or NULL */
void adp_signals_range(const struct adp_signals *set, uint32_t signal, double *ret_lo,
                       double *ret_hi);
uint64_t adp_signals_age_limit(const struct adp_signals *set, uint32_t signal);
uint32_t adp_signals_sources(const struct adp_signals *set, uint32_t signal);
/* `ret_aggregate` may be NULL. */
const struct adp_expr *adp_signals_source(const struct adp_signals *set, uint32_t signal,
                                          uint32_t source,
                                          enum adp_aggregate *ret_aggregate);
/* All known names and aliases, NULL-terminated, for "nearest" messages; borrowed until
 * the set changes. */
const char *const *adp_signals_names(const struct adp_signals *set);

/* What was read for one signal. */
struct adp_reading {
    enum adp_why why; /* PRESENT, or the reason of the source that came nearest */
    int32_t source;   /* which source supplied it, or was nearest; -1: none on the page */
    /* Bit i: source i supplied it, or a part of it: several only of a pool, and then `source`
     * is the first; 0 unless PRESENT. */
    uint64_t sources;
    double value;        /* garbage unless PRESENT */
    double age_s;        /* when read; 0 unless the metric carried a timestamp */
    uint64_t expires_ns; /* on the clock of `now_ns`: absent from then on; 0 unless */
                         /* PRESENT */
    uint32_t taken, skipped;
    uint32_t weight, place; /* as in adp_value */
    enum adp_why skipped_why;
    uint32_t skipped_by[ADP_WHY_COUNT];
    double bound;    /* ABOVE_LAST_BOUND: it is more than this */
    double outside;  /* the first value that was OUT_OF_RANGE; garbage when none was */
    char differ[96]; /* AMBIGUOUS */
};

/* Reads every signal of the set: readings[0 .. count). `now_ns` is the monotonic clock at
 * which the metrics were measured, `wall_s` the wall clock that their timestamps are held
 * against. The set's own renames are used, whatever `moment` brings; one without metrics
 * makes every reading NO_SNAPSHOT. Allocates nothing. [hot] per scratch.
 * A stale source yields no sane value, so the next one is tried, and so is one that is out of
 * range or incomplete; but not one that divides by a counter's growth of 0: nothing
 * happened, and what a lifetime says does not answer it. "Nearest" source, for the reason:
 * the first one whose metrics were on the page.
 *
 * Of a pool, which is metrics with several targets (core/replicas.h), each target takes its
 * own first source, and what that yields of its series alone is what it adds: the source's
 * aggregate is made of these, and of several sources' the signal's. Only what adp_expr_merges
 * is read from all who took it, and what adp_expr_totals where no aggregate is declared. A
 * source of the operator's whose metrics no target has alone is read from all. */
void adp_signals_read(const struct adp_signals *set, const struct adp_moment *moment,
                      uint64_t now_ns, double wall_s, struct adp_scratch *scratch,
                      struct adp_reading *readings);

/* Which sources of each signal a page supplies (adp_expr_supplied), and whether it is of
 * several targets: it depends on its series only, not on their values, so where the same
 * series come again it is found once. */
struct adp_bound {
    uint64_t there[ADP_MAX_KNOWN]; /* bit i: source i */
    bool pool;                     /* the metrics are of several targets */
    bool loose;                    /* and some of none */
};
/* [hot] */
void adp_signals_bind(const struct adp_signals *set, const struct adp_metrics *metrics,
                      struct adp_bound *ret);
/* As adp_signals_read, from metrics with the series of those that were bound. [hot] */
void adp_signals_read_bound(const struct adp_signals *set, const struct adp_bound *bound,
                            const struct adp_moment *moment, uint64_t now_ns,
                            double wall_s, struct adp_scratch *scratch,
                            struct adp_reading *readings);

/* Fills the table, which has its rows and columns (adp_replicas_begin): each signal of each
 * replica as above, from the series of that one only. What is absent is left absent. [hot] */
void adp_signals_read_replicas(const struct adp_signals *set,
                               const struct adp_bound *bound,
                               const struct adp_moment *moment, uint64_t now_ns,
                               double wall_s, struct adp_scratch *scratch,
                               const struct adp_str *names, struct adp_replicas *table);

/* The least that one engine tells of a signal whose reading counts several together: of what
 * the reading counts, each target by its own source, so that who sleeps or is too old is left
 * out. One number that a source makes of several, as sum(x), is one engine's here. False:
 * there is no reading. [hot] */
bool adp_signals_least(const struct adp_signals *set, const struct adp_bound *bound,
                       const struct adp_moment *moment, uint32_t signal, uint64_t now_ns,
                       double wall_s, struct adp_scratch *scratch, double *ret);

/* For a signal that no source supplies: the source that would come nearest on this page,
 * and the metric that it lacks. Nearest is the one with most of its metrics there; of
 * several, one whose metrics carry a prefix that the page has ("vllm:"), since that is
 * the engine that runs; then the one that lacks fewest; then the first. *ret_metric is
 * NULL when the page has all of them, if perhaps under other labels. True when the source
 * is near: the page has one of its metrics, or its prefix. False: nothing on the page
 * comes near, and it is the first of those that ask for fewest; without any, *ret_metric
 * is NULL and *ret_source 0. What no current engine prints is none of them, unless the
 * page has it (adp_metric_is_gone). [any] */
bool adp_signals_nearest(const struct adp_signals *set, uint32_t signal,
                         const struct adp_metrics *metrics, uint32_t *ret_source,
                         const char **ret_metric);

/* True when some source of some signal asks for a metric of this name, or for another
 * series of the same histogram; or when it tells whether an engine lives or sleeps.
 * [any] */
bool adp_signals_uses(const struct adp_signals *set, struct adp_str metric);

/* The next name on the page, from series *at on, that no signal uses and that might be
 * worth one (core/dictionary.h says what is not); a histogram is named once, without its
 * suffix. False: no more. Start with *at = 0. [any] */
bool adp_signals_unused(const struct adp_signals *set, const struct adp_metrics *metrics,
                        uint32_t *at, struct adp_str *ret_name);

#endif
