/* SPDX-License-Identifier: MIT */
/* The comparison as JSON. */
#include "runtime/analysis/compare_json.h"

#include "runtime/analysis/compare_words.h"
#include "runtime/analysis/finding.h"
#include "runtime/analysis/page.h"
#include "runtime/analysis/report_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *spread_of(const struct adp_spread *spread)
{
    return json_pack("{s:o, s:o, s:o}", "median", adp_json_number(spread->median), "min",
                     adp_json_number(spread->min), "max", adp_json_number(spread->max));
}

static json_t *checks_of(const struct adp_candidate *candidate)
{
    json_t *checks = json_object();
    for (int i = 0; i < ADP_CHECKS; i++) {
        enum adp_answer answer = candidate->checks[i].answer;
        json_t *value = answer == ADP_NOT_ASKED ? json_null() : json_boolean(answer);
        if (json_object_set_new(checks, adp_check_word((enum adp_check_name)i), value)) {
            json_decref(checks);
            return NULL;
        }
    }
    return checks;
}

static json_t *difference_of(const struct adp_difference *by)
{
    return json_pack("{s:o, s:o, s:o, s:I}", "mean", adp_json_number(by->mean), "low",
                     adp_json_number(by->low), "high", adp_json_number(by->high), "pairs",
                     (json_int_t)by->pairs);
}

static json_t *repeats_of(const struct adp_side *side)
{
    json_t *list = json_array();
    for (size_t i = 0; i < side->n; i++) {
        const struct adp_run *run = side->runs[i];
        double share = run->offered ? (double)run->refused / (double)run->offered : NAN;
        json_t *one = json_pack(
            "{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:s}", "run",
            adp_json_text(run->part->run), "offered", (json_int_t)run->offered,
            "refused_share", adp_json_number(share), "p50_ttft_ms",
            adp_json_number(run->ttft_p50), "p95_ttft_ms", adp_json_number(run->ttft_p95),
            "goodput", adp_json_number(run->goodput), "ttft_within",
            adp_json_quantiles(run), "verdict", adp_finding_word(run->finding));
        if (json_array_append_new(list, one)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* The checks in words: what was asked, what was found, and what follows when it is not yes. */
static json_t *grounds_of(const struct adp_candidate *candidate)
{
    json_t *list = json_array();
    for (int i = 0; i < ADP_CHECKS; i++) {
        enum adp_check_name name = (enum adp_check_name)i;
        const struct adp_check *check = &candidate->checks[i];
        const char *follows =
            check->answer == ADP_YES ? NULL : adp_compare_follows(name, check->answer);
        if (json_array_append_new(list,
                                  json_pack("{s:s, s:s, s:o, s:o, s:o}", "check",
                                            adp_check_word(name), "title",
                                            adp_check_title(name), "holds",
                                            check->answer == ADP_NOT_ASKED
                                                ? json_null()
                                                : json_boolean(check->answer == ADP_YES),
                                            "fact", adp_json_text(check->why), "follows",
                                            adp_json_text(follows)))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* [[label, sentence]…] as the page says what it bought. */
static json_t *words_of(const struct adp_compare *compare,
                        const struct adp_candidate *candidate)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < adp_compare_n_words(); i++) {
        struct adp_sentence sentence;
        if (adp_sentence_begin(&sentence)) {
            json_decref(list);
            return NULL;
        }
        const char *label = adp_compare_words_print(sentence.to, compare, candidate, i);
        char *text = adp_sentence_end(&sentence);
        size_t skip =
            text && strncmp(text, label, strlen(label)) == 0 ? strlen(label) : 0;
        json_t *one =
            text ? json_pack("[s, s]", label, text + skip + (skip && text[skip] == ' '))
                 : NULL;
        bool said = text && *text;
        free(text);
        if (one && !said)
            json_decref(one);
        else if (json_array_append_new(list, one)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* The greatest reading of each signal over the repeats. */
static json_t *maxima_of(const struct adp_side *side)
{
    json_t *maxima = json_object();
    for (size_t i = 0; i < side->n; i++)
        for (size_t k = 0; k < side->runs[i]->n_signals; k++) {
            const char *name = side->runs[i]->signals[k].name;
            if (json_object_set_new(maxima, name,
                                    adp_json_number(adp_side_greatest(side, name)))) {
                json_decref(maxima);
                return NULL;
            }
        }
    return maxima;
}

/* What both sides have. */
static json_t *more_of(const struct adp_side *side)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "offered",
                     adp_json_number(side->offered.median), "p50_ttft_ms",
                     adp_json_number(side->ttft_p50.median), "greatest", maxima_of(side),
                     "slo_ttft_ms", adp_json_number(side->part->slo_ttft_ms));
}

/* Takes both. */
static json_t *joined(json_t *all, json_t *more)
{
    bool whole = all && more && !json_object_update(all, more);
    json_decref(more);
    if (!whole)
        json_decref(all);
    return whole ? all : NULL;
}

static json_t *candidate_of(const struct adp_compare *compare,
                            const struct adp_candidate *candidate)
{
    const struct adp_side *side = &candidate->side;
    json_t *all = json_pack(
        "{s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:o, s:o, s:o, s:o}", "policy",
        adp_json_text(side->part->policy), "params", adp_json_params(side->part), "runs",
        (json_int_t)side->n, "refused_share", adp_json_number(side->refused_share.median),
        "p95_ttft_ms", spread_of(&side->ttft_p95), "goodput", spread_of(&side->goodput),
        "checks", checks_of(candidate), "difference", "p95_ttft_ms",
        difference_of(&candidate->ttft_p95), "goodput",
        difference_of(&candidate->goodput), "equal_volume_goodput",
        spread_of(&candidate->equal_volume), "repeats", repeats_of(side), "grounds",
        grounds_of(candidate), "words", words_of(compare, candidate));
    return joined(all, more_of(side));
}

int adp_compare_write_json(const struct adp_compare *compare, FILE *to)
{
    const struct adp_side *base = &compare->baseline;
    json_t *candidates = json_array();
    for (size_t i = 0; i < compare->n; i++)
        if (json_array_append_new(candidates,
                                  candidate_of(compare, &compare->candidates[i]))) {
            json_decref(candidates);
            return ADP_ENOMEM;
        }
    json_t *baseline =
        joined(json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "policy",
                         adp_json_text(base->part->policy), "runs", (json_int_t)base->n,
                         "p95_ttft_ms", spread_of(&base->ttft_p95), "goodput",
                         spread_of(&base->goodput), "repeats", repeats_of(base), "params",
                         adp_json_params(base->part), "refused_share",
                         adp_json_number(base->refused_share.median)),
               more_of(base));
    return adp_json_write_take(json_pack("{s:o, s:o, s:o, s:b, s:o}", "experiment",
                                         adp_json_text(compare->experiment), "baseline",
                                         baseline, "candidates", candidates, "arms",
                                         (int)compare->arms, "caveats",
                                         adp_json_caveats(&compare->caveats)),
                               to);
}
