/* SPDX-License-Identifier: MIT */
/* The comparison as JSON. */
#include "runtime/analysis/compare_json.h"

#include "runtime/analysis/report_json.h"

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

static json_t *candidate_of(const struct adp_candidate *candidate)
{
    const struct adp_side *side = &candidate->side;
    return json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "policy",
                     adp_json_text(side->part->policy), "params",
                     adp_json_params(side->part), "runs", (json_int_t)side->n,
                     "refused_share", adp_json_number(side->refused_share.median),
                     "p95_ttft_ms", spread_of(&side->ttft_p95), "goodput",
                     spread_of(&side->goodput), "checks", checks_of(candidate));
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
    json_t *baseline =
        json_pack("{s:o, s:I, s:o, s:o}", "policy", adp_json_text(base->part->policy),
                  "runs", (json_int_t)base->n, "p95_ttft_ms", spread_of(&base->ttft_p95),
                  "goodput", spread_of(&base->goodput));
    return adp_json_write_take(json_pack("{s:o, s:o, s:o}", "experiment",
                                         adp_json_text(compare->experiment), "baseline",
                                         baseline, "candidates", candidates),
                               to);
}
