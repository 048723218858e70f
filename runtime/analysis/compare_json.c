/* SPDX-License-Identifier: MIT */
/* The comparison as JSON. */
#include "runtime/analysis/compare_json.h"

#include "runtime/analysis/report_json.h"

#include <math.h>

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
            "{s:o, s:I, s:o, s:o, s:o, s:o}", "run", adp_json_text(run->part->run),
            "offered", (json_int_t)run->offered, "refused_share", adp_json_number(share),
            "p50_ttft_ms", adp_json_number(run->ttft_p50), "p95_ttft_ms",
            adp_json_number(run->ttft_p95), "goodput", adp_json_number(run->goodput));
        if (json_array_append_new(list, one)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *caveats_of(const struct adp_compare *compare)
{
    json_t *list = json_array();
    for (size_t i = 0; i < compare->caveats.n; i++)
        if (json_array_append_new(list, json_string(compare->caveats.sentences[i]))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *candidate_of(const struct adp_candidate *candidate)
{
    const struct adp_side *side = &candidate->side;
    return json_pack(
        "{s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:o, s:o}", "policy",
        adp_json_text(side->part->policy), "params", adp_json_params(side->part), "runs",
        (json_int_t)side->n, "refused_share", adp_json_number(side->refused_share.median),
        "p95_ttft_ms", spread_of(&side->ttft_p95), "goodput", spread_of(&side->goodput),
        "checks", checks_of(candidate), "difference", "p95_ttft_ms",
        difference_of(&candidate->ttft_p95), "goodput",
        difference_of(&candidate->goodput), "equal_volume_goodput",
        spread_of(&candidate->equal_volume), "repeats", repeats_of(side));
}

int adp_compare_write_json(const struct adp_compare *compare, FILE *to)
{
    const struct adp_side *base = &compare->baseline;
    json_t *candidates = json_array();
    for (size_t i = 0; i < compare->n; i++)
        if (json_array_append_new(candidates, candidate_of(&compare->candidates[i]))) {
            json_decref(candidates);
            return ADP_ENOMEM;
        }
    json_t *baseline = json_pack(
        "{s:o, s:I, s:o, s:o, s:o}", "policy", adp_json_text(base->part->policy), "runs",
        (json_int_t)base->n, "p95_ttft_ms", spread_of(&base->ttft_p95), "goodput",
        spread_of(&base->goodput), "repeats", repeats_of(base));
    return adp_json_write_take(
        json_pack("{s:o, s:o, s:o, s:b, s:o}", "experiment",
                  adp_json_text(compare->experiment), "baseline", baseline, "candidates",
                  candidates, "arms", (int)compare->arms, "caveats", caveats_of(compare)),
        to);
}
