/* SPDX-License-Identifier: MIT */
/* The report as JSON. */
#include "runtime/analysis/report_json.h"

#include "core/line.h"
#include "core/pen.h"
#include "runtime/analysis/finding.h"
#include "runtime/analysis/finding_words.h"
#include "runtime/analysis/items.h"
#include "runtime/analysis/page.h"
#include "runtime/analysis/reaching.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *adp_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *adp_json_text(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (!text || adp_pen_keeps(text, len))
        return text ? json_stringn(text, len) : json_null();
    char *repaired = malloc(len * ADP_PEN_REPAIR);
    if (!repaired)
        return NULL;
    char *end = adp_pen_repaired(repaired, text, len);
    json_t *string = json_stringn(repaired, (size_t)(end - repaired));
    free(repaired);
    return string;
}

json_t *adp_json_params(const struct adp_part *part)
{
    json_t *params = json_object();
    for (size_t i = 0; i < part->n_params; i++) {
        const struct adp_part_param *param = &part->params[i];
        json_t *value = isnan(param->value)
                            ? json_loads(param->word, JSON_DECODE_ANY, NULL)
                            : adp_json_number(param->value);
        if (json_object_set_new(params, param->name, value)) {
            json_decref(params);
            return NULL;
        }
    }
    return params;
}

json_t *adp_json_caveats(const struct adp_caveats *caveats)
{
    json_t *list = caveats->broken ? NULL : json_array();
    for (size_t i = 0; list && i < caveats->n; i++)
        if (json_array_append_new(list, adp_json_text(caveats->sentences[i]))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

json_t *adp_json_quantiles(const struct adp_run *run)
{
    json_t *list = json_array();
    for (int i = 0; run->ttft_n && i < ADP_TTFT_SHARES; i++)
        if (json_array_append_new(list,
                                  json_pack("[o, o]", adp_json_number(adp_ttft_shares[i]),
                                            adp_json_number(run->ttft_at[i])))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* ---- writing: as jansson would, but for numbers, which are as short as reads back
 * ------ */

static void put_value(struct adp_line *line, json_t *value, int depth);

static void put_break(struct adp_line *line, int depth)
{
    adp_line_puts(line, "\n");
    for (int i = 0; i < depth; i++)
        adp_line_puts(line, "  ");
}

static void put_object(struct adp_line *line, json_t *object, int depth)
{
    const char *key;
    json_t *value;
    bool first = true;
    adp_line_puts(line, "{");
    json_object_foreach(object, key, value)
    {
        adp_line_puts(line, first ? "" : ",");
        put_break(line, depth + 1);
        adp_line_string(line, key, strlen(key));
        adp_line_puts(line, ": ");
        put_value(line, value, depth + 1);
        first = false;
    }
    if (!first)
        put_break(line, depth);
    adp_line_puts(line, "}");
}

static void put_array(struct adp_line *line, json_t *array, int depth)
{
    size_t i;
    json_t *value;
    adp_line_puts(line, "[");
    json_array_foreach(array, i, value)
    {
        adp_line_puts(line, i ? "," : "");
        put_break(line, depth + 1);
        put_value(line, value, depth + 1);
    }
    if (json_array_size(array))
        put_break(line, depth);
    adp_line_puts(line, "]");
}

static void put_value(struct adp_line *line, json_t *value, int depth)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        put_object(line, value, depth);
        return;
    case JSON_ARRAY:
        put_array(line, value, depth);
        return;
    case JSON_STRING:
        adp_line_string(line, json_string_value(value), json_string_length(value));
        return;
    case JSON_INTEGER:
        adp_line_i64(line, json_integer_value(value));
        return;
    case JSON_REAL:
        adp_line_number(line, json_real_value(value));
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        adp_line_puts(line, json_is_true(value) ? "true" : "false");
        return;
    case JSON_NULL:
        adp_line_puts(line, "null");
    }
}

int adp_json_write_take(json_t *doc, FILE *to)
{
    struct adp_line line;
    if (!doc)
        return ADP_ENOMEM;
    adp_line_init(&line);
    put_value(&line, doc, 0);
    adp_line_puts(&line, "\n");
    json_decref(doc);
    int e = line.broken ? ADP_ENOMEM : 0;
    if (!e && fwrite(line.text, 1, line.len, to) != line.len)
        e = ADP_EIO;
    adp_line_finish(&line);
    return e ? e : adp_page_end(to);
}

/* ---- the report ----------------------------------------------------------------------
 */

static json_t *reasons_of(const struct adp_run *run)
{
    json_t *reasons = json_object();
    for (size_t i = 0; i < run->n_reasons; i++)
        if (run->reasons[i].n &&
            json_object_set_new(reasons, run->reasons[i].word,
                                json_integer((json_int_t)run->reasons[i].n))) {
            json_decref(reasons);
            return NULL;
        }
    return reasons;
}

static json_t *unheeded_of(const struct adp_run *run)
{
    json_t *reasons = json_object();
    for (size_t i = 0; i < run->n_reasons; i++)
        if (run->reasons[i].unheeded &&
            json_object_set_new(reasons, run->reasons[i].word,
                                json_integer((json_int_t)run->reasons[i].unheeded))) {
            json_decref(reasons);
            return NULL;
        }
    return reasons;
}

static json_t *signal_of(const struct adp_run_signal *signal)
{
    if (!signal->n)
        return json_null();
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "min", adp_json_number(signal->min), "p50",
        adp_json_number(signal->p50), "p95", adp_json_number(signal->p95), "max",
        adp_json_number(signal->max), "n", (json_int_t)signal->n, "absent",
        adp_json_number(signal->absent), "moved", adp_json_number(signal->moved));
}

static json_t *signals_of(const struct adp_run *run)
{
    json_t *signals = json_object();
    for (size_t i = 0; i < run->n_signals; i++)
        if (json_object_set_new(signals, run->signals[i].name,
                                signal_of(&run->signals[i]))) {
            json_decref(signals);
            return NULL;
        }
    return signals;
}

/* Why signals that no line supplied were absent; "": never supplied. */
static json_t *absent_of(const struct adp_run *run)
{
    json_t *absent = json_object();
    for (size_t i = 0; i < run->n_signals; i++) {
        char whys[ADP_FINDING_WHYS];
        adp_finding_whys(run->part, run->signals[i].name, whys);
        if (!run->signals[i].n &&
            json_object_set_new(absent, run->signals[i].name, json_string(whys))) {
            json_decref(absent);
            return NULL;
        }
    }
    return absent;
}

static json_t *reach_words_of(const struct adp_run *run, const struct adp_part_gate *gate)
{
    char words[ADP_REACHING_WORDS];
    return adp_json_text(adp_reaching_words(run, gate, words) ? words : NULL);
}

/* How full the cache can get at all; null: too little is known. */
static json_t *reach_of(const struct adp_run *run)
{
    struct adp_reaching r;
    if (!adp_reaching_of(run, &r))
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:s, s:b, s:o}", "kv_capacity_tokens",
                     adp_json_number(r.reach.capacity_tokens), "concurrency",
                     adp_json_number(r.reach.concurrency), "request_tokens",
                     adp_json_number(r.reach.request_tokens), "ceiling",
                     adp_json_number(r.ceiling), "capacity_from",
                     r.capacity_seen ? "seen" : "disclosed", "length_from",
                     r.length_seen ? "seen" : "disclosed", "output_left_out",
                     (int)r.open_ended, "passed", adp_json_number(r.passed));
}

/* Of a gate on kv_pressure, when it is known how full the cache can get. */
static json_t *reachable_at(const struct adp_run *run, const struct adp_part_gate *gate)
{
    struct adp_reaching r;
    double tokens = adp_reaching_of(run, &r) && adp_reaching_misses(&r, gate)
                        ? adp_reach_tokens(&r.reach, gate->threshold)
                        : NAN;
    return adp_json_number(tokens);
}

static json_t *gates_of(const struct adp_run *run)
{
    const struct adp_part *part = run->part;
    json_t *gates = json_array();
    for (size_t i = 0; i < part->n_gates; i++) {
        const struct adp_part_gate *gate = &part->gates[i];
        json_t *one = json_pack(
            "{s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "rule",
            (json_int_t)gate->rule, "signal", adp_json_text(gate->signal), "op",
            adp_json_text(adp_finding_op(gate->op)), "threshold",
            adp_json_number(gate->threshold), "closest",
            adp_json_number(gate->closest_value), "held", (json_int_t)gate->held, "read",
            (json_int_t)gate->read, "distance", adp_json_number(gate->closest), "would",
            adp_json_number(gate->would), "out_of_reach", reach_words_of(run, gate),
            "reachable_at_tokens", reachable_at(run, gate));
        if (json_array_append_new(gates, one)) {
            json_decref(gates);
            return NULL;
        }
    }
    return gates;
}

static json_t *rules_of(const struct adp_part *part)
{
    json_t *rules = json_array();
    for (size_t i = 0; i < part->n_rules; i++) {
        const struct adp_part_rule *rule = &part->rules[i];
        const struct adp_span *longest = &rule->stretch.longest;
        json_t *one = json_pack(
            "{s:I, s:I, s:{s:I, s:o}}", "rule", (json_int_t)rule->rule, "held",
            (json_int_t)rule->held, "longest", "decisions", (json_int_t)longest->n,
            "seconds", adp_json_number(longest->n ? longest->to - longest->from : NAN));
        if (json_array_append_new(rules, one)) {
            json_decref(rules);
            return NULL;
        }
    }
    return rules;
}

static json_t *margin_of(const struct adp_part *part)
{
    return part->margins
               ? json_pack("{s:o, s:o, s:I, s:I}", "min",
                           adp_json_number(part->least_margin), "max",
                           adp_json_number(part->margin), "n", (json_int_t)part->margins,
                           "firing", (json_int_t)part->margins_firing)
               : json_null();
}

static json_t *groups_of(const char *key, const struct adp_group_count *groups, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *one =
            json_pack("{s:o, s:I, s:I, s:I, s:I}", key,
                      adp_json_text(*groups[i].word ? groups[i].word : NULL), "offered",
                      (json_int_t)groups[i].offered, "refused",
                      (json_int_t)groups[i].refused, "not_enforced",
                      (json_int_t)groups[i].unheeded, "met", (json_int_t)groups[i].met);
        if (json_array_append_new(list, one)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *arm_of(const struct adp_run *run, const struct adp_arm_count *arm)
{
    double goodput = arm->offered && !isnan(run->goodput)
                         ? (double)arm->met / (double)arm->offered
                         : NAN;
    return json_pack("{s:I, s:I, s:o, s:{s:o, s:o, s:I}}", "offered",
                     (json_int_t)arm->offered, "refusals", (json_int_t)arm->refusals,
                     "goodput", adp_json_number(goodput), "ttft_ms", "p50",
                     adp_json_number(arm->ttft_p50), "p95",
                     adp_json_number(arm->ttft_p95), "n", (json_int_t)arm->ttft_n);
}

static json_t *arms_of(const struct adp_run *run)
{
    return json_pack("{s:o, s:o}", "governed", arm_of(run, &run->arms[ADP_ARM_GOVERNED]),
                     "ungoverned", arm_of(run, &run->arms[ADP_ARM_UNGOVERNED]));
}

static json_t *bin_of(const struct adp_run *run, size_t i)
{
    const struct adp_course *course = &run->part->course;
    const struct adp_course_bin *bin = &course->bins[i];
    json_t *signals = json_object();
    for (size_t k = 0; k < run->n_signals && k < ADP_COURSE_SIGNALS; k++) {
        const struct adp_course_reading *reading = &bin->signals[k];
        json_t *one = reading->n
                          ? json_pack("{s:o, s:o, s:o}", "mean",
                                      adp_json_number(reading->sum / (double)reading->n),
                                      "min", adp_json_number(reading->min), "max",
                                      adp_json_number(reading->max))
                          : json_null();
        if (json_object_set_new(signals, run->signals[k].name, one)) {
            json_decref(signals);
            return NULL;
        }
    }
    return json_pack("{s:o, s:I, s:I, s:o}", "at",
                     adp_json_number((course->first + (double)i) * course->width),
                     "decisions", (json_int_t)bin->decisions, "refusals",
                     (json_int_t)bin->refusals, "signals", signals);
}

static json_t *over_time_of(const struct adp_run *run)
{
    const struct adp_course *course = &run->part->course;
    json_t *bins = json_array();
    for (size_t i = 0; i < course->n; i++)
        if (json_array_append_new(bins, bin_of(run, i))) {
            json_decref(bins);
            return NULL;
        }
    return json_pack("{s:o, s:o}", "bin_s",
                     adp_json_number(course->n ? course->width : NAN), "bins", bins);
}

static json_t *facts_of(const struct adp_item *item)
{
    json_t *facts = json_array();
    for (size_t i = 0; i < item->n_facts; i++)
        if (json_array_append_new(facts, json_pack("{s:s, s:b, s:s}", "name",
                                                   item->facts[i].name, "recorded",
                                                   (int)item->facts[i].recorded, "fact",
                                                   item->facts[i].fact))) {
            json_decref(facts);
            return NULL;
        }
    return facts;
}

static json_t *items_of(const struct adp_tally *tally, const struct adp_run *run)
{
    struct adp_item items[ADP_ITEMS];
    json_t *list = json_array();
    adp_items_of(tally, run, items);
    for (int i = 0; i < ADP_ITEMS && run->decided; i++) {
        json_t *one =
            json_pack("{s:i, s:s, s:s, s:s, s:o}", "item", i + 1, "title", items[i].title,
                      "evidence", adp_evidence_word(items[i].evidence), "fact",
                      items[i].fact, "facts", facts_of(&items[i]));
        if (json_array_append_new(list, one)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *instrument_of(const struct adp_run *run)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
        "dropped", (json_int_t)(run->loss.recorded + run->loss.unrecorded),
        "corrupt_lines", (json_int_t)run->corrupt_lines, "faults",
        (json_int_t)run->part->faults, "scrape_errors", (json_int_t)run->scrape_errors,
        "orphan_outcomes", (json_int_t)run->orphans, "duplicate_outcomes",
        (json_int_t)run->duplicates, "dropped_unrecorded",
        (json_int_t)run->loss.unrecorded, "decisions",
        (json_int_t)(run->decided ? run->part->lines : 0), "outcomes",
        (json_int_t)run->outcomes, "states", (json_int_t)run->states, "writers",
        (json_int_t)run->part->n_instances, "refused_outcomes",
        (json_int_t)run->refused_outcomes, "ttft_out_of_range", (json_int_t)run->ttft_off,
        "metrics_omitted", (json_int_t)run->omitted);
}

/* Where each parameter's value comes from; null: the log does not say. */
static json_t *provenance_of(const struct adp_part *part)
{
    json_t *provenance = json_object();
    for (size_t i = 0; i < part->n_params; i++)
        if (json_object_set_new(provenance, part->params[i].name,
                                adp_json_text(part->params[i].provenance))) {
            json_decref(provenance);
            return NULL;
        }
    return provenance;
}

static json_t *logs_of(const struct adp_tally *tally, const struct adp_run *run)
{
    size_t n;
    const struct adp_log_file *files = adp_tally_files(tally, &n);
    json_t *logs = json_array();
    for (size_t i = 0; i < run->n_files; i++)
        if (json_array_append_new(logs, adp_json_text(files[run->files[i]].path))) {
            json_decref(logs);
            return NULL;
        }
    return logs;
}

/* As the page says it. */
static json_t *finding_of(const struct adp_run *run)
{
    struct adp_sentence sentence;
    if (adp_sentence_begin(&sentence))
        return NULL;
    adp_finding_print(sentence.to, run);
    char *text = adp_sentence_end(&sentence);
    json_t *finding = text ? adp_json_text(text) : NULL;
    free(text);
    return finding;
}

static json_t *weakness_of(const struct adp_tally *tally, const struct adp_run *run)
{
    struct adp_caveats caveats = { 0 };
    adp_caveats_of_instrument(&caveats, tally, run);
    adp_caveats_of_finding(&caveats, run);
    json_t *list = adp_json_caveats(&caveats);
    adp_caveats_finish(&caveats);
    return list;
}

static json_t *cost_of(const struct adp_run *run)
{
    struct adp_caveats caveats = { 0 };
    adp_caveats_of_cost(&caveats, run);
    json_t *list = adp_json_caveats(&caveats);
    adp_caveats_finish(&caveats);
    const char *unknown = adp_finding_no_goodput(run->no_goodput);
    return json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:o}", "caveats", list,
                     "slo_ttft_ms", adp_json_number(run->part->slo_ttft_ms), "answered",
                     (json_int_t)run->answered, "met", (json_int_t)run->met, "cancelled",
                     (json_int_t)run->cancelled, "failed", (json_int_t)run->failed,
                     "no_goodput", adp_json_text(*unknown ? unknown : NULL));
}

/* What a page says in words, and whose it is. */
static json_t *words_of(const struct adp_tally *tally, const struct adp_run *run)
{
    const struct adp_part *part = run->part;
    const struct adp_run_signal *moved = run->most_moved;
    return json_pack(
        "{s:o, s:o, s:o, s:b, s:b, s:o, s:o, s:I, s:o, s:o, s:o, s:I, s:I, s:o}",
        "finding", finding_of(run), "notes", adp_json_text(part->notes), "logs",
        logs_of(tally, run), "shadow", (int)(part->shadow > 0), "watched",
        (int)adp_run_watched(run), "provenance", provenance_of(part), "caveats",
        weakness_of(tally, run), "decisions", (json_int_t)adp_part_own(part),
        "most_moved", adp_json_text(moved ? moved->name : NULL), "absent", absent_of(run),
        "cost", cost_of(run), "deferred", (json_int_t)run->deferred, "refused_by_fault",
        (json_int_t)run->refused_by_fault, "by_reason_not_enforced", unheeded_of(run));
}

/* Of requests; a watch saw none. */
static json_t *requests_of(const struct adp_run *run, uint64_t n)
{
    return adp_run_watched(run) ? json_null() : json_integer((json_int_t)n);
}

static json_t *run_of(const struct adp_tally *tally, const struct adp_run *run)
{
    const struct adp_part *part = run->part;
    bool watched = adp_run_watched(run);
    json_t *ttft =
        json_pack("{s:o, s:o, s:I, s:o}", "p50", adp_json_number(run->ttft_p50), "p95",
                  adp_json_number(run->ttft_p95), "n", (json_int_t)run->ttft_n, "within",
                  adp_json_quantiles(run));
    json_t *more = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "reach", reach_of(run),
        "samples", watched ? json_integer((json_int_t)run->offered) : json_null(),
        "params", adp_json_params(part), "rules", rules_of(part), "margin",
        margin_of(part), "rate", adp_json_number(watched ? NAN : run->rate),
        "not_enforced", (json_int_t)run->unheeded, "tenants",
        groups_of("tenant", run->tenants, run->n_tenants), "priorities",
        groups_of("priority", run->priorities, run->n_priorities), "arms", arms_of(run),
        "over_time", over_time_of(run));
    json_t *all = json_pack(
        "{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "verdict", adp_finding_word(run->finding), "baseline", (int)part->baseline,
        "policy", adp_json_text(part->policy), "experiment",
        adp_json_text(part->experiment), "run", adp_json_text(part->run), "offered",
        requests_of(run, run->offered), "admitted", requests_of(run, run->admitted),
        "refused", (json_int_t)run->refused, "by_reason", reasons_of(run), "signals",
        signals_of(run), "gates", gates_of(run), "ttft_ms", ttft, "goodput",
        adp_json_number(run->goodput), "instrument", instrument_of(run), "items",
        items_of(tally, run));
    json_t *words = words_of(tally, run);
    bool whole = all && more && words && !json_object_update(all, more) &&
                 !json_object_update(all, words);
    json_decref(words);
    json_decref(more);
    if (!whole) {
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *unread_of(const struct adp_log_list *logs)
{
    json_t *list = json_array();
    for (size_t i = 0; logs && i < logs->n_unread; i++)
        if (json_array_append_new(
                list, json_pack("{s:o, s:o}", "log", adp_json_text(logs->unread[i].path),
                                "why", adp_json_text(logs->unread[i].why)))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

int adp_report_write_json(const struct adp_tally *tally, const struct adp_log_list *logs,
                          FILE *to)
{
    size_t n;
    const struct adp_run *runs = adp_tally_runs(tally, &n);
    json_t *list = json_array(), *first = NULL;
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, run_of(tally, &runs[i]))) {
            json_decref(list);
            return ADP_ENOMEM;
        }
    if (n != 1)
        return adp_json_write_take(
            json_pack("{s:o, s:o}", "runs", list, "not_read", unread_of(logs)), to);
    first = json_incref(json_array_get(list, 0));
    json_decref(list);
    if (json_object_set_new(first, "not_read", unread_of(logs))) {
        json_decref(first);
        return ADP_ENOMEM;
    }
    return adp_json_write_take(first, to);
}
