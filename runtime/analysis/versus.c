/* SPDX-License-Identifier: MIT */
/* The arithmetic of a comparison. */
#include "runtime/analysis/versus.h"

#include "runtime/analysis/grow.h"
#include "runtime/analysis/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* How far two loads may lie apart and still be the same. */
static const double SAME_LOAD = 0.10;

/* ---- sides ---------------------------------------------------------------------------
 */

int adp_side_add(struct adp_side *side, const struct adp_run *run)
{
    const struct adp_run **runs =
        adp_grow(side->runs, &side->cap, side->n + 1, sizeof *runs);
    if (!runs)
        return ADP_ENOMEM;
    side->runs = runs;
    runs[side->n++] = run;
    if (!side->part)
        side->part = run->part;
    return 0;
}

void adp_side_finish(struct adp_side *side)
{
    free(side->runs);
    *side = (struct adp_side) { 0 };
}

static int by_name(const void *a, const void *b)
{
    const struct adp_run *x = *(const struct adp_run *const *)a;
    const struct adp_run *y = *(const struct adp_run *const *)b;
    int c = adp_page_natural(x->part->run ? x->part->run : "",
                             y->part->run ? y->part->run : "");
    return c ? c : (x > y) - (x < y); /* runs of one array: the order of their files */
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

typedef double figure(const struct adp_run *run);

/* Orders the values, which are n, none of them NaN. */
static struct adp_spread spread_of(double *values, size_t n)
{
    struct adp_spread spread = { NAN, NAN, NAN, n };
    if (!n)
        return spread;
    qsort(values, n, sizeof *values, ascending);
    spread.min = values[0];
    spread.max = values[n - 1];
    spread.median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return spread;
}

static int spread(const struct adp_side *side, figure *of, struct adp_spread *ret)
{
    double *values = calloc(side->n + 1, sizeof *values);
    size_t n = 0;
    if (!values)
        return ADP_ENOMEM;
    for (size_t i = 0; i < side->n; i++)
        if (!isnan(of(side->runs[i])))
            values[n++] = of(side->runs[i]);
    *ret = spread_of(values, n);
    free(values);
    return 0;
}

static double offered(const struct adp_run *run)
{
    return (double)run->offered;
}

static double refused_share(const struct adp_run *run)
{
    return run->offered ? (double)run->refused / (double)run->offered : NAN;
}

static double ttft_p50(const struct adp_run *run)
{
    return run->ttft_p50;
}

static double ttft_p95(const struct adp_run *run)
{
    return run->ttft_p95;
}

static double goodput(const struct adp_run *run)
{
    return run->goodput;
}

int adp_side_settle(struct adp_side *side)
{
    qsort(side->runs, side->n, sizeof *side->runs, by_name);
    if (spread(side, offered, &side->offered) ||
        spread(side, refused_share, &side->refused_share) ||
        spread(side, ttft_p50, &side->ttft_p50) ||
        spread(side, ttft_p95, &side->ttft_p95) || spread(side, goodput, &side->goodput))
        return ADP_ENOMEM;
    return 0;
}

/* ---- the four checks -----------------------------------------------------------------
 */

static struct adp_check answer(enum adp_answer given, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static struct adp_check answer(enum adp_answer given, const char *format, ...)
{
    struct adp_check check = { given, "" };
    va_list args;
    va_start(args, format);
    vsnprintf(check.why, sizeof check.why, format, args);
    va_end(args);
    return check;
}

/* Its own verdicts, enforced: a fault is not the policy's, and what was not enforced
 * changed nothing. */
static struct adp_check fired(const struct adp_side *side)
{
    size_t n = 0, unenforced = 0;
    for (size_t i = 0; i < side->n; i++) {
        n += side->runs[i]->part->enforced > 0;
        unenforced += !side->runs[i]->part->enforced && side->runs[i]->part->refusals;
    }
    if (n == side->n)
        return answer(ADP_YES, "refused in %zu of %zu", n, side->n);
    if (unenforced)
        return answer(ADP_NO,
                      "refused in %zu of %zu; in %zu its refusals were not enforced", n,
                      side->n, unenforced);
    return answer(ADP_NO, "refused in %zu of %zu", n, side->n);
}

static const char *run_name(const struct adp_run *run)
{
    return run->part->run ? run->part->run : "(unnamed)";
}

/* |a - b| as a share of the larger; 0 when both are 0. */
static double apart(double a, double b)
{
    double larger = a > b ? a : b;
    return larger > 0 ? fabs(a - b) / larger : 0;
}

/* ---- are two loads the same? -----------------------------------------------------------
 */

/* Requests from which on a distribution says something. */
enum { ENOUGH = 100 };

/* The share of the run's decisions that came within `after` seconds of the first. Within a
 * bin they are taken to come evenly. */
static double arrived(const struct adp_run *run, double after)
{
    const struct adp_course *course = &run->part->course;
    double at = run->part->first_at + after, n = 0, all = 0;
    for (size_t i = 0; i < course->n; i++) {
        double begin = (course->first + (double)i) * course->width;
        double share = (at - begin) / course->width;
        double here = (double)course->bins[i].decisions;
        n += here * fmin(1, fmax(0, share));
        all += here;
    }
    return n / all;
}

/* How far the two courses of arrival lie apart, at most: a share of all requests. */
static double arrivals_apart(const struct adp_run *a, const struct adp_run *b)
{
    enum { POINTS = 128 };
    double most = 0, span = fmax(a->part->last_at - a->part->first_at,
                                 b->part->last_at - b->part->first_at);
    for (int i = 1; i < POINTS; i++) {
        double after = span * i / POINTS;
        most = fmax(most, fabs(arrived(a, after) - arrived(b, after)));
    }
    return most;
}

/* What chance alone makes of two samples of so many: the critical value of the two-sample
 * Kolmogorov-Smirnov test, which one pair in a hundred passes (Smirnov, 1948). */
static double by_chance(uint64_t a, uint64_t b)
{
    double n = (double)a, m = (double)b;
    return 1.63 * sqrt((n + m) / (n * m));
}

static const double QUANTILES[] = { 0.10, 0.25, 0.50, 0.75, 0.90, 0.95 };
enum { N_QUANTILES = sizeof QUANTILES / sizeof *QUANTILES };

/* How the prompts' lengths of two runs lie apart. NaN: too few requests state them. */
struct prompts {
    double widest; /* of the quantiles, as shares of the larger */
    double a, b,
        quantile; /* where it is the widest that chance does not make; NaN: nowhere */
};

/* How far the two distributions lie apart at each of the points. */
static int gaps_at(const struct adp_part *p, const struct adp_part *q,
                   const double *points, size_t n, double *ret)
{
    uint64_t within_p[2 * N_QUANTILES], within_q[2 * N_QUANTILES];
    int e = adp_numbers_within(p->store, &p->prompt_tokens, points, n, within_p);
    if (!e)
        e = adp_numbers_within(q->store, &q->prompt_tokens, points, n, within_q);
    for (size_t i = 0; i < n && !e; i++)
        ret[i] = fabs((double)within_p[i] / (double)p->prompt_tokens.pile.n -
                      (double)within_q[i] / (double)q->prompt_tokens.pile.n);
    return e;
}

static int prompts_apart(const struct adp_run *a, const struct adp_run *b,
                         struct prompts *ret)
{
    const struct adp_part *p = a->part, *q = b->part;
    uint64_t n = p->prompt_tokens.pile.n, m = q->prompt_tokens.pile.n;
    double at[2 * N_QUANTILES], *x = at, *y = at + N_QUANTILES, gaps[2 * N_QUANTILES];
    *ret = (struct prompts) { NAN, NAN, NAN, NAN };
    if (n < ENOUGH || m < ENOUGH)
        return 0;
    int e = adp_numbers_ranks(p->store, &p->prompt_tokens, QUANTILES, N_QUANTILES, x);
    if (!e)
        e = adp_numbers_ranks(q->store, &q->prompt_tokens, QUANTILES, N_QUANTILES, y);
    for (int i = 0; i < N_QUANTILES && !e; i++)
        ret->widest = fmax(ret->widest, apart(x[i], y[i]));
    if (e || ret->widest <= SAME_LOAD)
        return e;
    e = gaps_at(p, q, at, 2 * N_QUANTILES, gaps);
    double most = 0;
    for (int i = 0; i < N_QUANTILES && !e; i++)
        if (apart(x[i], y[i]) > SAME_LOAD && apart(x[i], y[i]) >= most &&
            fmax(gaps[i], gaps[i + N_QUANTILES]) > by_chance(n, m)) {
            most = apart(x[i], y[i]);
            *ret = (struct prompts) { ret->widest, x[i], y[i], QUANTILES[i] };
        }
    return e;
}

/* What is known of how alike the pairs are. */
struct likeness {
    double counts, rates, arrivals, prompts; /* the widest difference; NaN: not known */
    bool timed;
};

/* One pair. *ret_check is set when it is not the same load. */
static int match_pair(const struct adp_run *a, const struct adp_run *b,
                      struct likeness *like, struct adp_check *ret_check)
{
    double count = apart((double)a->offered, (double)b->offered);
    double rate = apart(a->rate, b->rate); /* NaN: a rate is not known */
    double times = NAN;
    struct prompts prompts;
    int e = prompts_apart(a, b, &prompts);
    if (!isnan(rate) && a->offered >= ENOUGH && b->offered >= ENOUGH)
        times = arrivals_apart(a, b);
    if (count > SAME_LOAD)
        *ret_check = answer(ADP_NO, "%s offered %" PRIu64 " requests, %s %" PRIu64,
                            run_name(a), a->offered, run_name(b), b->offered);
    else if (rate > SAME_LOAD)
        *ret_check = answer(ADP_NO, "%s came at %s requests/s, %s at %s", run_name(a),
                            adp_page_number(a->rate).text, run_name(b),
                            adp_page_number(b->rate).text);
    else if (times > fmax(SAME_LOAD, by_chance(a->offered, b->offered)))
        *ret_check = answer(ADP_NO,
                            "%s and %s: %s of the requests had come in the one when they "
                            "had not in the other",
                            run_name(a), run_name(b), adp_page_percent(times).text);
    else if (!isnan(prompts.quantile))
        *ret_check = answer(ADP_NO, "the p%.0f of prompt tokens is %s in %s, %s in %s",
                            100 * prompts.quantile, adp_page_number(prompts.a).text,
                            run_name(a), adp_page_number(prompts.b).text, run_name(b));
    like->counts = fmax(like->counts, count);
    like->rates = fmax(like->rates, rate);
    like->arrivals = fmax(like->arrivals, times);
    like->prompts = fmax(like->prompts, prompts.widest);
    like->timed &= !isnan(rate);
    return e;
}

static int same_load(const struct adp_side *base, const struct adp_side *side,
                     struct adp_check *ret)
{
    size_t pairs = base->n < side->n ? base->n : side->n;
    struct likeness like = { NAN, NAN, NAN, NAN, true };
    struct adp_check check = { .answer = ADP_YES };
    for (size_t k = 0; k < pairs && check.answer == ADP_YES; k++) {
        int e = match_pair(base->runs[k], side->runs[k], &like, &check);
        if (e)
            return e;
    }
    if (check.answer == ADP_YES && base->n != side->n)
        check = answer(ADP_NOT_ASKED, "%zu repeats against %zu: some have no counterpart",
                       base->n, side->n);
    if (check.answer == ADP_YES && !like.timed)
        check = answer(ADP_NOT_ASKED, "the rate of some run is not known: no times");
    if (check.answer == ADP_YES)
        check = answer(ADP_YES, "count and rate within %s, pair by pair%s%s%s%s%s",
                       adp_page_percent(fmax(like.counts, like.rates)).text,
                       isnan(like.arrivals) ? "" : "; arrivals within ",
                       isnan(like.arrivals) ? "" : adp_page_percent(like.arrivals).text,
                       isnan(like.prompts) ? "" : "; prompt tokens within ",
                       isnan(like.prompts) ? "" : adp_page_percent(like.prompts).text,
                       like.prompts > SAME_LOAD ? ", as chance makes it" : "");
    *ret = check;
    return 0;
}

/* Arms are drawn by lot from one stream: their counts differ as the split says. */
static int same_stream(const struct adp_side *base, const struct adp_side *side,
                       struct adp_check *ret)
{
    uint64_t governed = 0, all = 0;
    struct prompts prompts = { NAN, NAN, NAN, NAN };
    for (size_t k = 0; k < side->n; k++)
        governed += side->runs[k]->offered;
    for (size_t k = 0; k < base->n; k++)
        all += base->runs[k]->offered;
    all += governed;
    for (size_t k = 0; k < base->n && k < side->n && isnan(prompts.quantile); k++) {
        int e = prompts_apart(base->runs[k], side->runs[k], &prompts);
        if (e)
            return e;
    }
    if (base->n != side->n)
        *ret = answer(ADP_NOT_ASKED, "%zu repeats against %zu: some have one arm only",
                      base->n, side->n);
    else if (!isnan(prompts.quantile))
        *ret = answer(ADP_NO, "the p%.0f of prompt tokens is %s ungoverned, %s governed",
                      100 * prompts.quantile, adp_page_number(prompts.a).text,
                      adp_page_number(prompts.b).text);
    else
        *ret = answer(ADP_YES, "one stream, split by lot: %s governed",
                      adp_page_percent((double)governed / (double)all).text);
    return 0;
}

static bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || !(a < b || a > b || isnan(a) || isnan(b));
}

static const char *policy_name(const struct adp_run *run)
{
    return run->part->policy ? run->part->policy : "(no policy named)";
}

/* A run whose SLO is not the baseline's first one's; NULL: all were judged alike. */
static const struct adp_run *other_slo(const struct adp_side *base,
                                       const struct adp_side *side)
{
    double slo = base->runs[0]->part->slo_ttft_ms;
    for (size_t i = 0; i < base->n; i++)
        if (!same_number(base->runs[i]->part->slo_ttft_ms, slo))
            return base->runs[i];
    for (size_t i = 0; i < side->n; i++)
        if (!same_number(side->runs[i]->part->slo_ttft_ms, slo))
            return side->runs[i];
    return NULL;
}

static struct adp_check outcomes(const struct adp_side *base, const struct adp_side *side)
{
    const struct adp_run *other = other_slo(base, side);
    if (other)
        return answer(ADP_NO,
                      "the SLOs differ: TTFT within %s ms in %s %s, %s ms in %s %s",
                      adp_page_exact(base->runs[0]->part->slo_ttft_ms).text,
                      policy_name(base->runs[0]), run_name(base->runs[0]),
                      adp_page_exact(other->part->slo_ttft_ms).text, policy_name(other),
                      run_name(other));
    size_t all = base->n + side->n, n = base->goodput.n + side->goodput.n;
    return answer(n == all ? ADP_YES : ADP_NO, "in %zu of %zu runs", n, all);
}

static struct adp_check separated(const struct adp_side *base,
                                  const struct adp_side *side)
{
    const struct adp_spread *a = &base->goodput, *b = &side->goodput;
    if (base->n < 2 || side->n < 2)
        return answer(ADP_NOT_ASKED, "one repeat has no range: this cannot be asked");
    if (a->n < base->n || b->n < side->n)
        return answer(ADP_NOT_ASKED, "goodput is not known for every run");
    if (other_slo(base, side))
        return answer(ADP_NOT_ASKED, "goodput is not of one SLO");
    bool disjoint = a->max < b->min || b->max < a->min;
    return answer(disjoint ? ADP_YES : ADP_NO, "%s to %s against %s to %s",
                  adp_page_share(b->min).text, adp_page_share(b->max).text,
                  adp_page_share(a->min).text, adp_page_share(a->max).text);
}

/* ---- beside the checks ------------------------------------------------------------------
 */

enum { DRAWS = 10000 };

/* splitmix64 (Steele, Lea and Flood, OOPSLA 2014): the same draws every time. */
static uint64_t next_draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Where the middle 95 of 100 means of n differences drawn from these lie. */
static int resample(const double *differences, size_t n, double *ret_low,
                    double *ret_high)
{
    double *means = calloc(DRAWS, sizeof *means);
    uint64_t state = 1;
    if (!means)
        return ADP_ENOMEM;
    for (size_t i = 0; i < DRAWS; i++) {
        for (size_t k = 0; k < n; k++)
            means[i] += differences[next_draw(&state) % n];
        means[i] /= (double)n;
    }
    qsort(means, DRAWS, sizeof *means, ascending);
    *ret_low = means[DRAWS / 40 - 1];
    *ret_high = means[DRAWS - DRAWS / 40];
    free(means);
    return 0;
}

static int difference(const struct adp_side *base, const struct adp_side *side,
                      figure *of, struct adp_difference *ret)
{
    size_t pairs = base->n < side->n ? base->n : side->n, n = 0;
    double *differences = calloc(pairs + 1, sizeof *differences), sum = 0;
    int e = 0;
    *ret = (struct adp_difference) { NAN, NAN, NAN, 0 };
    if (!differences)
        return ADP_ENOMEM;
    for (size_t k = 0; k < pairs; k++) {
        double by = of(side->runs[k]) - of(base->runs[k]);
        if (isnan(by))
            continue;
        differences[n++] = by;
        sum += by;
    }
    ret->pairs = n;
    if (n)
        ret->mean = sum / (double)n;
    if (n > 1)
        e = resample(differences, n, &ret->low, &ret->high);
    free(differences);
    return e;
}

static int equal_volume(const struct adp_side *base, const struct adp_side *side,
                        struct adp_spread *ret)
{
    size_t pairs = base->n < side->n ? base->n : side->n, n = 0;
    double *values = calloc(pairs + 1, sizeof *values);
    if (!values)
        return ADP_ENOMEM;
    for (size_t k = 0; k < pairs; k++) {
        double value = goodput(base->runs[k]) * (1 - refused_share(side->runs[k]));
        if (!isnan(value))
            values[n++] = value;
    }
    *ret = spread_of(values, n);
    free(values);
    return 0;
}

int adp_versus_check(struct adp_candidate *candidate, const struct adp_side *baseline,
                     bool arms)
{
    const struct adp_side *side = &candidate->side;
    struct adp_check *load = &candidate->checks[ADP_CHECK_SAME_LOAD];
    candidate->checks[ADP_CHECK_FIRED] = fired(side);
    candidate->checks[ADP_CHECK_OUTCOMES] = outcomes(baseline, side);
    candidate->checks[ADP_CHECK_SEPARATED] = separated(baseline, side);
    int e = arms ? same_stream(baseline, side, load) : same_load(baseline, side, load);
    if (!e)
        e = difference(baseline, side, goodput, &candidate->goodput);
    if (!e)
        e = difference(baseline, side, ttft_p95, &candidate->ttft_p95);
    return e ? e : equal_volume(baseline, side, &candidate->equal_volume);
}

bool adp_versus_one_slo(const struct adp_side *a, const struct adp_side *b)
{
    return !other_slo(a, b);
}

bool adp_versus_holds(const struct adp_candidate *candidate)
{
    for (int i = 0; i < ADP_CHECKS; i++)
        if (candidate->checks[i].answer != ADP_YES)
            return false;
    return true;
}

const char *adp_check_title(enum adp_check_name check)
{
    static const char *const titles[] = { "fired in every repeat", "same load",
                                          "outcomes recorded",
                                          "goodput ranges do not overlap" };
    return titles[check];
}

const char *adp_check_word(enum adp_check_name check)
{
    static const char *const words[] = { "fired", "same_load", "outcomes", "separated" };
    return words[check];
}
