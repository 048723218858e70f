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

static int spread(const struct adp_side *side, figure *of, struct adp_spread *ret)
{
    double *values = calloc(side->n + 1, sizeof *values);
    size_t n = 0;
    if (!values)
        return ADP_ENOMEM;
    for (size_t i = 0; i < side->n; i++)
        if (!isnan(of(side->runs[i])))
            values[n++] = of(side->runs[i]);
    *ret = (struct adp_spread) { NAN, NAN, NAN, n };
    if (n) {
        qsort(values, n, sizeof *values, ascending);
        ret->min = values[0];
        ret->max = values[n - 1];
        ret->median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    }
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

static struct adp_check same_load(const struct adp_side *base,
                                  const struct adp_side *side)
{
    size_t pairs = base->n < side->n ? base->n : side->n;
    double widest = 0;
    bool timed = true;
    for (size_t k = 0; k < pairs; k++) {
        const struct adp_run *a = base->runs[k], *b = side->runs[k];
        double count = apart((double)a->offered, (double)b->offered);
        double rate = apart(a->rate, b->rate); /* NaN: a rate is not known */
        if (count > SAME_LOAD)
            return answer(ADP_NO, "%s offered %" PRIu64 " requests, %s %" PRIu64,
                          run_name(a), a->offered, run_name(b), b->offered);
        if (rate > SAME_LOAD)
            return answer(ADP_NO, "%s came at %s requests/s, %s at %s", run_name(a),
                          adp_page_number(a->rate).text, run_name(b),
                          adp_page_number(b->rate).text);
        timed &= !isnan(a->rate) && !isnan(b->rate);
        widest = fmax(widest, fmax(count, isnan(rate) ? 0 : rate));
    }
    if (base->n != side->n)
        return answer(ADP_NOT_ASKED, "%zu repeats against %zu: some have no counterpart",
                      base->n, side->n);
    if (!timed)
        return answer(ADP_NOT_ASKED, "the rate of some run is not known: no times");
    return answer(ADP_YES, "count and rate within %s, pair by pair",
                  adp_page_percent(widest).text);
}

static struct adp_check outcomes(const struct adp_side *base, const struct adp_side *side)
{
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
    bool disjoint = a->max < b->min || b->max < a->min;
    return answer(disjoint ? ADP_YES : ADP_NO, "%s to %s against %s to %s",
                  adp_page_share(b->min).text, adp_page_share(b->max).text,
                  adp_page_share(a->min).text, adp_page_share(a->max).text);
}

void adp_versus_check(struct adp_candidate *candidate, const struct adp_side *baseline)
{
    const struct adp_side *side = &candidate->side;
    candidate->checks[ADP_CHECK_FIRED] = fired(side);
    candidate->checks[ADP_CHECK_SAME_LOAD] = same_load(baseline, side);
    candidate->checks[ADP_CHECK_OUTCOMES] = outcomes(baseline, side);
    candidate->checks[ADP_CHECK_SEPARATED] = separated(baseline, side);
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
