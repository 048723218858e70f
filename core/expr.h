/* SPDX-License-Identifier: MIT */
/* Sources: how one number is obtained from metrics (docs/signals.md shows it to people).
 *
 * Two written forms:
 *   metric:  a selector — name, or name{label="v",other!="w",third=~"re",more!~"re"}; the
 *            bare name takes any byte but blanks, ( ) { } and " (acme.cache.used_frac and
 *            vllm:x need no quotes), in double quotes any at all
 *   expr:    + - * / and parentheses over numbers, selectors, and the functions
 *            delta(selector), rate(selector): growth since the snapshot before, per
 *            series (and per second, of the time between its own two measurements); a
 *            series measured once, or not in that snapshot, or that went down (a reset), is
 *            absent. A reset seen in one counter of a source holds for all its counters
 *            with the same labels.
 *            sum(e) max(e) min(e) mean(e): over the series of e
 *            share(part, whole): the sum of part over the sum of whole, over the series
 *            that have both with equal labels; one of which the part is no part (below 0,
 *            or above its whole) is skipped
 *            either(e, f): the series of e, and of f those whose labels none of e has, or
 *            none that is sane: that has a value, no less than parts may be
 *            (adp_expr_hold), and in the signal's range where the source yields it as it
 *            is, folded, or chosen from by another either. What is calculated with has
 *            another scale: the e of either(e, f) / 100 may be 90 where the range is 0
 *            to 1
 *            quantile(q, selector): of a histogram, named without its _bucket: from what
 *            its buckets grew by since the snapshot before, merged over its series at the
 *            bounds that all of them have, linear between two of these (as Prometheus has
 *            it); where some have bounds between the two, absent (BOUNDS_DIFFER); above
 *            the last bound: absent, and the bound is told
 *            label(name, selector): the number that a label holds, for pages that tell
 *            numbers so (num_gpu_blocks="7281")
 *            Names in an expr are [A-Za-z_:][A-Za-z0-9_:.]*, anything else in double
 *            quotes.
 * Patterns: core/pattern.h. A label that a series does not have is held to be empty.
 *
 * An expression has a value per label set: a name yields one per series; arithmetic pairs
 * the series whose labels are equal. A number or an aggregate pairs with every one, and a
 * lone series with every one that has no other value for a label of its own (so that one
 * engine's total does not divide another's). A label that a selector fixes with = need
 * not be on the other side, and may differ where that fixes it too: x{kind="used"} /
 * x{kind="max"} pairs per engine. What has no partner is skipped. At the end the series
 * of the result are aggregated as the source says. So blocks_used / blocks_total is a
 * ratio per engine before it is their max.
 *
 * Wherever series are aggregated, replicas come first: series that differ only in who
 * reports them (tp_rank, pid; core/dictionary.h) are one, their largest. And a part is not
 * added to its total: where a series without such a label stands beside those with it
 * (priority="", priority="1"), those are left out. LAST and ONLY take series as they are.
 *
 * Never broken: a value outside the range, NaN, infinite, or divided by zero is skipped
 * and counted, never clamped, never 0; if nothing is left there is no value and a reason.
 */
#ifndef ADP_CORE_EXPR_H
#define ADP_CORE_EXPR_H

#include "core/error.h"
#include "core/metrics.h"

#include <stdbool.h>
#include <stdint.h>

/* How the series of one source become one number. NONE: exactly one series is expected;
 * a second one makes the source ambiguous, even where only one of them is sane, so that
 * the mistake does not come and go with the values. */
enum adp_aggregate {
    ADP_AGG_NONE,
    ADP_AGG_MAX,
    ADP_AGG_MIN,
    ADP_AGG_SUM,
    ADP_AGG_MEAN,
    ADP_AGG_LAST, /* the last sane one on the page */
    ADP_AGG_ONLY  /* as NONE, written out */
};

/* Why a signal (or a source) has no value. The words are adp_why_word's and the log's. */
enum adp_why {
    ADP_WHY_PRESENT = 0,
    ADP_WHY_NEVER_SUPPLIED, /* no source has all of its metrics on the page */
    /* No series was sane, and the first of them was … */
    ADP_WHY_OUT_OF_RANGE, /* outside the signal's range */
    ADP_WHY_NOT_FINITE,   /* NaN or infinite */
    ADP_WHY_DIVISOR_ZERO,
    ADP_WHY_FIRST_SAMPLE, /* a counter seen once, or not when the snapshot before was taken: */
                          /* no growth is known yet */
    ADP_WHY_COUNTER_RESET, /* a counter that went down */
    ADP_WHY_BLANK,         /* what its exporter prints for "no reading" */
    ADP_WHY_ASLEEP,        /* of an engine that sleeps: its gauges are no headroom */
    ADP_WHY_FROZEN, /* of an engine that says it runs requests and counts nothing */
    /* Others: */
    ADP_WHY_NO_PARTNER,       /* arithmetic found no series with equal labels */
    ADP_WHY_AMBIGUOUS,        /* several series and no declared aggregation */
    ADP_WHY_STALE,            /* older than max_age */
    ADP_WHY_TOO_MANY,         /* more series than the scratch holds */
    ADP_WHY_NO_SNAPSHOT,      /* nothing was published yet */
    ADP_WHY_NOTHING_OBSERVED, /* quantile: no observation since the snapshot before */
    ADP_WHY_ABOVE_LAST_BOUND, /* quantile: larger than the histogram can tell */
    ADP_WHY_PART,             /* skipped only: part of a total that was used */
    ADP_WHY_BOUNDS_DIFFER, /* quantile: it lies where the merged histograms have other bounds */
    ADP_WHY_COUNT
};
const char *adp_why_word(enum adp_why why); /* "never_supplied", …; "present" for 0 */

const char *adp_aggregate_word(enum adp_aggregate aggregate); /* "max", …; "none" */

/* A metric's other name, tried when the first is not on the page; of several with one
 * `from`, the first that is. Where replicas are asked for, each of them has the first of
 * these names that is among its own series. */
struct adp_rename {
    const char *from, *to;
};

struct adp_expr;    /* a compiled source; read-only once made, shared by threads */
struct adp_scratch; /* working memory of one evaluating thread */

/* Compiles `text`. Errors carry `file` and the place: `line` as given and `column` plus
 * the offset in `text` (both 1-based, of the first byte of `text`). ADP_ESYNTAX,
 * ADP_EINVAL (depth, size: at most 64 nested parentheses, 256 nodes, 4096 bytes; an
 * expression without a metric, which could never be absent), ADP_ENOMEM. [control] */
int adp_expr_compile_metric(struct adp_expr **ret, const char *text, const char *file,
                            uint32_t line, uint32_t column, struct adp_error *err);
int adp_expr_compile(struct adp_expr **ret, const char *text, const char *file,
                     uint32_t line, uint32_t column, struct adp_error *err);
void adp_expr_destroy(struct adp_expr *expr);
/* Values below this are skipped before anything is made of them: series, numbers in labels,
 * counters, and what a function takes. No limit until it is called. For sources of counts
 * and fractions, where -1 + 5 must not be 4. [control] */
void adp_expr_hold(struct adp_expr *expr, double least);

/* The text as written: what the log names the source by. */
const char *adp_expr_text(const struct adp_expr *expr);
/* The i-th different metric name the source asks for, or NULL past the last. Borrowed, as
 * the text is, for the life of `expr`. */
const char *adp_expr_metric(const struct adp_expr *expr, uint32_t i);

enum { ADP_PAGE_SERIES = 16384 }; /* what one selector may match on a page that is read */
/* `series`: the most series any one selector may match, and a quarter of what the
 * operands that wait at one time may hold together; more make the source TOO_MANY. About
 * 360 bytes for each. ADP_EINVAL: 0 or above ADP_METRICS_MAX_SERIES; ADP_ENOMEM. */
int adp_scratch_create(struct adp_scratch **ret, uint32_t series);
void adp_scratch_destroy(struct adp_scratch *scratch);

enum adp_doubted {
    ADP_DOUBT_ENGINE, /* `of` is its adp_engine_key (core/dictionary.h) */
    ADP_DOUBT_TARGET, /* `of` is the adp_target_key of a target */
    ADP_DOUBT_ALL,    /* `of` is 0 */
    ADP_DOUBT_KINDS
};

/* Series that are not to be believed at the moment: those whose name begins with `prefix`
 * and that are of one engine, one target, or any. */
struct adp_doubt {
    uint64_t of;
    const char *prefix; /* "": whatever the name */
    enum adp_doubted kind;
    /* ASLEEP, FROZEN, TOO_MANY; COUNTER_RESET: it is their growth that is not, since they
     * began anew. */
    enum adp_why why;
};
/* In the order of `of`, as they are looked up. [hot] */
void adp_doubts_sort(struct adp_doubt *doubts, uint32_t n);

/* Room for doubts of whoever evaluates: of as many engines as series may match, and of
 * *ret_cap in all. Borrowed for the life of the scratch. [hot] */
struct adp_doubt *adp_scratch_doubts(struct adp_scratch *scratch, uint32_t *ret_cap);

/* What an expression is evaluated over. */
struct adp_moment {
    const struct adp_metrics *now;
    const struct adp_metrics *before; /* NULL: none */
    double elapsed_s;                 /* between the two; above 0 if before is given */
    /* Of series with a timestamp, the measurement before the one that `now` has, if it is not
     * newer than the one in `before`: what it is compared with then. NULL: none. */
    const struct adp_metrics *earlier;
    const struct adp_rename *renames; /* may be NULL */
    uint32_t n_renames;
    const struct adp_doubt *doubts; /* sorted; may be NULL */
    uint32_t n_doubts;
    bool
        restarted; /* the whole page's process did, since `before`: all counters began anew */
    const struct adp_str *replicas; /* only series of these (core/replicas.h), "" being */
    uint32_t n_replicas; /* those without a target; 0: all series. With renames */
                         /* ADP_MAX_REPLICAS + 1 at most; more: TOO_MANY */
    bool
        apart; /* what a function is made of is paired and chosen in each replica by itself */
    bool dated; /* series with a time of their own outside of these two are STALE */
    double oldest_s, newest_s;
};

/* Whether it may be supplied where of the metrics that it asks for (adp_expr_metric) only the
 * i-th and later ones are there: the first, and with either() any. [any] */
bool adp_expr_leads(const struct adp_expr *expr, uint32_t i);

/* False when a metric it asks for is not there, under its name or another, nor what either()
 * has in its place: then it is NEVER_SUPPLIED. *ret_missing, which may be NULL, is the
 * first such name, or NULL. */
bool adp_expr_supplied(const struct adp_expr *expr, const struct adp_moment *moment,
                       const char **ret_missing);

/* True where it makes one number of whatever it is read from, since nothing of it is left
 * outside of sum, max, min, mean, share and quantile; not where an either() takes one of two such
 * for all series at once, and so would leave out the targets that have the other only. [any] */
bool adp_expr_totals(const struct adp_expr *expr);
/* True where of share() and quantile() only, which put several targets together: parts and
 * wholes are summed over all of them, buckets merged. [any] */
bool adp_expr_merges(const struct adp_expr *expr);

struct adp_value {
    double value;     /* garbage unless the return is ADP_WHY_PRESENT */
    uint32_t taken;   /* series of the result that were used; LAST uses one */
    uint32_t weight;  /* how many values a mean of several sources counts it for: */
                      /* replicas as one, a share as its pairs, a quantile as its */
                      /* histograms, of which something was counted */
    uint32_t place;   /* on the page, of the last series that it was made of */
    uint32_t skipped; /* series that were not, inside a function, for want of a */
                      /* partner on either side, or at the end */
    enum adp_why skipped_why; /* why the first of them was not; PRESENT when none */
    uint32_t skipped_by[ADP_WHY_COUNT]; /* `skipped`, by reason */
    double bound;                       /* ABOVE_LAST_BOUND: that bound */
    double outside; /* the first value that was OUT_OF_RANGE; garbage when none was */
    bool has_time;
    double time_s;   /* oldest timestamp among the series used */
    char differ[96]; /* AMBIGUOUS: labels in which the series differ, "engine, model_name"
                      */
    bool idle;       /* DIVISOR_ZERO: a counter's growth, which is known and is 0 */
};

/* Evaluates over one moment; series of the result outside [lo, hi] are skipped, then the
 * rest aggregated, then the aggregate itself held against the range. A metric that is not
 * on the page makes the whole source NEVER_SUPPLIED, and so does a page, or replicas, with
 * none of its metrics, whatever number either() has in their place. Allocates nothing. [hot] per
 * scratch. */
enum adp_why adp_expr_evaluate(const struct adp_expr *expr,
                               const struct adp_moment *moment,
                               enum adp_aggregate aggregate, double lo, double hi,
                               struct adp_scratch *scratch, struct adp_value *ret);

#endif
