/* SPDX-License-Identifier: MIT */
/* What a comparison says in words. */
#include "runtime/analysis/compare_words.h"

#include "runtime/analysis/page.h"

#include <math.h>
#include <string.h>

const char *adp_side_policy(const struct adp_part *part)
{
    if (part->arm >= 0)
        return part->arm == ADP_ARM_GOVERNED ? "governed" : "ungoverned";
    return part->policy ? part->policy : "(no policy named)";
}

/* The greatest reading of a signal over the repeats; NaN: never supplied. */
double adp_side_greatest(const struct adp_side *side, const char *signal)
{
    double most = NAN;
    for (size_t i = 0; i < side->n; i++)
        for (size_t k = 0; k < side->runs[i]->n_signals; k++)
            if (strcmp(side->runs[i]->signals[k].name, signal) == 0)
                most = fmax(most, side->runs[i]->signals[k].max);
    return most;
}

/* What follows from a check that is not yes. */
const char *adp_compare_follows(enum adp_check_name check, enum adp_answer answer)
{
    static const char *const failed[] = {
        "the policy did not act in every repeat, so the difference is not its doing",
        "the sides did not face the same load",
        "without outcomes, judged by one SLO, nobody knows what was served in time",
        "the ranges overlap; the difference is inside the spread between runs"
    };
    static const char *const unasked[] = {
        "it is not known whether the policy acted",
        "the sides are not known to have faced the same load",
        "it is not known what was served in time",
        "without ranges, a difference smaller than the spread between runs is none"
    };
    return answer == ADP_NO ? failed[check] : unasked[check];
}

static void print_checks_of(FILE *to, const struct adp_candidate *candidate,
                            enum adp_answer answer)
{
    for (int i = 0; i < ADP_CHECKS; i++)
        if (candidate->checks[i].answer == answer)
            adp_page_wrap(to, 2, 4, "%s %s: %s.", answer == ADP_NO ? "NO" : "--",
                          adp_check_title((enum adp_check_name)i),
                          adp_compare_follows((enum adp_check_name)i, answer));
}

/* What the checks allow to be said of the numbers that follow: every one that failed,
 * then those that could not be asked. */
static void print_standing(FILE *to, const struct adp_candidate *candidate)
{
    bool failed = false;
    if (adp_versus_holds(candidate))
        return;
    for (int i = 0; i < ADP_CHECKS; i++)
        failed |= candidate->checks[i].answer == ADP_NO;
    adp_page_wrap(to, 2, 2, failed ? "NOT A RESULT" : "NOT A RESULT YET");
    print_checks_of(to, candidate, ADP_NO);
    print_checks_of(to, candidate, ADP_NOT_ASKED);
}

/* "2630 (2530-2830)" */
struct shown {
    char text[3 * sizeof(struct adp_digits) + 8];
};

static struct shown show(const struct adp_spread *spread,
                         struct adp_digits (*digits)(double))
{
    struct shown shown;
    if (spread->n > 1 && spread->min != spread->max)
        snprintf(shown.text, sizeof shown.text, "%s (%s-%s)", digits(spread->median).text,
                 digits(spread->min).text, digits(spread->max).text);
    else
        snprintf(shown.text, sizeof shown.text, "%s", digits(spread->median).text);
    return shown;
}

enum { FIELD = 14 };

static void print_tail(FILE *to, const struct adp_side *base, const struct adp_side *side)
{
    static const char label[] = "p95 TTFT";
    double a = base->ttft_p95.median, b = side->ttft_p95.median;
    struct shown from = show(&base->ttft_p95, adp_page_number);
    struct shown into = show(&side->ttft_p95, adp_page_number);
    const char *direction = a > b ? "lower" : "HIGHER";
    if (isnan(a) || isnan(b))
        adp_page_field(to, FIELD, label, "not known on both sides");
    else if (a == b)
        adp_page_field(to, FIELD, label, "unchanged: %s -> %s ms of served", from.text,
                       into.text);
    else if (a > 0 && b > 0)
        adp_page_field(to, FIELD, label, "%.2fx %s: %s -> %s ms of served",
                       a > b ? a / b : b / a, direction, from.text, into.text);
    else
        adp_page_field(to, FIELD, label, "%s: %s -> %s ms of served", direction,
                       from.text, into.text);
}

static void print_goodput(FILE *to, const struct adp_side *base,
                          const struct adp_side *side)
{
    double a = base->goodput.median, b = side->goodput.median;
    if (isnan(a) || isnan(b)) {
        adp_page_field(to, FIELD, "goodput", "not known on both sides");
        return;
    }
    struct shown from = show(&base->goodput, adp_page_share);
    struct shown into = show(&side->goodput, adp_page_share);
    if (!adp_versus_one_slo(base, side)) {
        adp_page_field(to, FIELD, "goodput", "%s and %s of offered, by different SLOs",
                       from.text, into.text);
        return;
    }
    adp_page_field(to, FIELD, "goodput", "%s: %s -> %s of offered",
                   a == b  ? "unchanged"
                   : b > a ? "up"
                           : "DOWN",
                   from.text, into.text);
}

/* What a goodput that fell was paid for. */
static void print_price(FILE *to, const struct adp_side *base,
                        const struct adp_side *side)
{
    double a = base->goodput.median, b = side->goodput.median;
    bool known = !isnan(base->ttft_p95.median) && !isnan(side->ttft_p95.median);
    if (b < a && side->ttft_p95.median < base->ttft_p95.median)
        adp_page_wrap(
            to, 2, 2,
            "The shorter tail was bought by refusing requests that could have been "
            "served in time. That is not a gain.");
    else if (b < a)
        adp_page_wrap(to, 2, 2,
                      "It refused requests that could have been served in time%s.",
                      known ? ", and the tail is no shorter for it" : "");
}

/* "+0.123" */
static struct adp_digits signed_digits(double value, struct adp_digits (*digits)(double))
{
    struct adp_digits with, without = digits(value);
    snprintf(with.text, sizeof with.text, "%s%.30s", value > 0 ? "+" : "", without.text);
    return with;
}

static void print_interval(FILE *to, const struct adp_difference *by,
                           struct adp_digits (*digits)(double), const char *unit)
{
    if (isnan(by->low))
        return;
    adp_page_field(
        to, FIELD, "",
        "repeat by repeat %s%s on average; of %zu pairs drawn again and again, "
        "95%% give %s to %s",
        signed_digits(by->mean, digits).text, unit, by->pairs,
        signed_digits(by->low, digits).text, signed_digits(by->high, digits).text);
}

/* Which it refused, told apart from how many. */
static void print_equal_volume(FILE *to, const struct adp_compare *compare,
                               const struct adp_candidate *candidate)
{
    const struct adp_spread *lot = &candidate->equal_volume;
    struct shown share = show(&candidate->side.refused_share, adp_page_percent);
    struct shown by_lot = show(lot, adp_page_share);
    if (isnan(lot->median) || !(candidate->side.refused_share.median > 0))
        return;
    adp_page_field(to, FIELD, "by lot",
                   "had %s refused %s by lot and served the rest as it did, its goodput "
                   "would be %s; the policy's is %s. What lies between is which requests "
                   "it refused, and what that spared the others",
                   adp_side_policy(compare->baseline.part), share.text, by_lot.text,
                   adp_page_share(candidate->side.goodput.median).text);
}

static void print_refused(FILE *to, const struct adp_candidate *candidate)
{
    struct shown share = show(&candidate->side.refused_share, adp_page_percent);
    adp_page_field(to, FIELD, "refused", "%s of offered", share.text);
}

unsigned adp_compare_n_words(void)
{
    return 8;
}

const char *adp_compare_words_print(FILE *to, const struct adp_compare *compare,
                                    const struct adp_candidate *candidate, unsigned i)
{
    const struct adp_side *base = &compare->baseline, *side = &candidate->side;
    switch (i) {
    case 0:
        print_standing(to, candidate);
        return "";
    case 1:
        print_refused(to, candidate);
        return "refused";
    case 2:
        print_tail(to, base, side);
        return "p95 TTFT";
    case 3:
        print_interval(to, &candidate->ttft_p95, adp_page_number, " ms");
        return "";
    case 4:
        print_goodput(to, base, side);
        return "goodput";
    case 5:
        if (adp_versus_one_slo(base, side))
            print_interval(to, &candidate->goodput, adp_page_share, "");
        return "";
    case 6:
        if (adp_versus_holds(
                candidate)) /* else it is not known to be the policy's doing */
            print_price(to, base, side);
        return "";
    default:
        if (adp_versus_one_slo(base, side))
            print_equal_volume(to, compare, candidate);
        return "by lot";
    }
}
