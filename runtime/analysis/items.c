/* SPDX-License-Identifier: MIT */
/* The seven reporting items. Figures are the tally's; here they are held against what the
 * configuration disclosed. */
#include "runtime/analysis/items.h"

#include "runtime/analysis/finding.h"
#include "runtime/analysis/page.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { REPEATS = 3 }; /* from which on a spread says something */

const char *adp_evidence_word(enum adp_evidence evidence)
{
    static const char *const words[] = { "not_recorded", "evidenced", "failed" };
    return words[evidence];
}

const char *adp_evidence_mark(enum adp_evidence evidence)
{
    static const char *const marks[] = { "\u2014", "\u2713", "\u2717" };
    return marks[evidence];
}

static void say(struct adp_item *item, enum adp_evidence evidence, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

static void say(struct adp_item *item, enum adp_evidence evidence, const char *format,
                ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(item->fact, sizeof item->fact, format, args);
    va_end(args);
    item->evidence = evidence;
}

static void add_fact(struct adp_item *item, const char *name, bool recorded,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

static void add_fact(struct adp_item *item, const char *name, bool recorded,
                     const char *format, ...)
{
    if (item->n_facts == ADP_ITEM_FACTS)
        return;
    struct adp_item_fact *fact = &item->facts[item->n_facts++];
    va_list args;
    va_start(args, format);
    vsnprintf(fact->fact, sizeof fact->fact, format, args);
    va_end(args);
    fact->name = name;
    fact->recorded = recorded;
}

/* Something is said: a letter, a digit, or anything beyond ASCII; "", "  ", "{}" say nothing. */
static bool says(const char *text)
{
    for (; text && *text; text++)
        if ((*text & 0x80) || isalnum((unsigned char)*text))
            return true;
    return false;
}

/* ---- 1 and 2 --------------------------------------------------------------------------
 */

static void load(struct adp_item *item, const struct adp_run *run)
{
    double capacity = run->part->disclosure.capacity_rps;
    if (adp_run_watched(run))
        say(item, ADP_ITEM_NOT_RECORDED, "a watch sees no request");
    else if (isnan(capacity))
        say(item, ADP_ITEM_NOT_RECORDED, "no disclosure.capacity_rps that is a number");
    else if (!(capacity > 0))
        say(item, ADP_ITEM_NOT_RECORDED,
            "disclosure.capacity_rps is %s, which nothing can "
            "be held against",
            adp_page_exact(capacity).text);
    else if (isnan(run->rate))
        say(item, ADP_ITEM_NOT_RECORDED, "the offered rate is not known: no times");
    else
        say(item, ADP_ITEM_EVIDENCED,
            "offered at %s requests/s, %.2f times capacity_rps %s",
            adp_page_number(run->rate).text, run->rate / capacity,
            adp_page_exact(capacity).text);
}

static void deadline(struct adp_item *item, const struct adp_run *run)
{
    double slo = run->part->slo_ttft_ms,
           unloaded = run->part->disclosure.unloaded_ttft_ms;
    if (isnan(slo))
        say(item, ADP_ITEM_NOT_RECORDED, "no disclosure.slo.ttft_ms");
    else if (isnan(unloaded))
        say(item, ADP_ITEM_NOT_RECORDED,
            "no disclosure.unloaded_ttft_ms that is a number");
    else if (!(unloaded > 0))
        say(item, ADP_ITEM_NOT_RECORDED,
            "disclosure.unloaded_ttft_ms is %s, which nothing can be held against",
            adp_page_exact(unloaded).text);
    else if (slo < unloaded)
        say(item, ADP_ITEM_FAILED,
            "the SLO of %s ms cannot be met: unloaded_ttft_ms is %s already",
            adp_page_exact(slo).text, adp_page_exact(unloaded).text);
    else
        say(item, ADP_ITEM_EVIDENCED,
            "the SLO of %s ms is %.2f times unloaded_ttft_ms %s",
            adp_page_exact(slo).text, slo / unloaded, adp_page_exact(unloaded).text);
}

/* ---- 3 --------------------------------------------------------------------------------
 */

static void liveness(struct adp_item *item, const struct adp_run *run)
{
    const struct adp_part *part = run->part;
    if (run->finding == ADP_INERT)
        say(item, ADP_ITEM_FAILED,
            "INERT: it could be judged on %" PRIu64 " %s and never fired",
            part->judged ? part->judged : adp_part_own(part),
            adp_page_plural(part->judged, "decision", "decisions"));
    else if (run->finding == ADP_LIVE && part->refusals)
        say(item, ADP_ITEM_EVIDENCED,
            "LIVE: it refused on %" PRIu64 " of %" PRIu64 " decisions", part->refusals,
            part->lines);
    else if (run->finding == ADP_LIVE)
        say(item, ADP_ITEM_EVIDENCED, "LIVE: %s on %" PRIu64 " of %" PRIu64 " decisions",
            part->fired ? "a rule held" : "its margin reached 0",
            part->fired ? part->fired : part->margins_firing, part->lines);
    else
        say(item, ADP_ITEM_NOT_RECORDED, "UNKNOWN: %s",
            run->ground == ADP_GROUND_BASELINE ? "a baseline, by its own flag"
            : run->ground == ADP_GROUND_FAULTS ? "every verdict was a fault's"
            : run->ground == ADP_GROUND_NO_THRESHOLD
                ? "a gate has no fixed threshold in the log"
            : run->ground == ADP_GROUND_NO_DECISIONS
                ? "no decisions"
                : "what it reads was never supplied");
}

/* ---- 4 --------------------------------------------------------------------------------
 */

/* Is it a later piece of a run that is there already, under another configuration? */
static bool is_piece(const struct adp_run *runs, size_t i)
{
    const struct adp_part *part = runs[i].part;
    for (size_t k = 0; k < i && part->run; k++)
        if (runs[k].part->candidate == part->candidate && runs[k].decided &&
            runs[k].copy_of == ADP_NO_RUN && runs[k].part->run &&
            strcmp(runs[k].part->run, part->run) == 0)
            return true;
    return false;
}

static void repeats(struct adp_item *item, const struct adp_tally *tally,
                    const struct adp_run *run)
{
    size_t n_runs, n = 0, known = 0, copies = 0, pieces = 0;
    double low = NAN, high = NAN;
    const struct adp_run *runs = adp_tally_runs(tally, &n_runs);
    for (size_t i = 0; i < n_runs; i++) {
        if (!runs[i].decided || runs[i].part->candidate != run->part->candidate)
            continue;
        copies += runs[i].copy_of != ADP_NO_RUN;
        if (runs[i].copy_of != ADP_NO_RUN)
            continue;
        if (is_piece(runs, i)) {
            pieces++;
            continue;
        }
        n++;
        known += isnan(runs[i].goodput) ? 0 : 1;
        low = fmin(low, runs[i].goodput);
        high = fmax(high, runs[i].goodput);
    }
    if (copies)
        say(item, ADP_ITEM_FAILED, "%zu of %zu repeats %s the same measurement again",
            copies, n + copies, copies == 1 ? "is" : "are");
    else if (n < 2)
        say(item, ADP_ITEM_NOT_RECORDED, "one run was given%s: no spread",
            pieces ? ", under several configurations" : "");
    else if (n < REPEATS)
        say(item, ADP_ITEM_FAILED, "%zu repeats: a spread needs %d", n, REPEATS);
    else if (!known)
        say(item, ADP_ITEM_NOT_RECORDED, "%zu repeats; goodput is not known: no spread",
            n);
    else if (known < n)
        say(item, ADP_ITEM_NOT_RECORDED,
            "%zu repeats; goodput is known of %zu only: no spread of all", n, known);
    else
        say(item, ADP_ITEM_EVIDENCED, "%zu repeats, goodput %s to %s", n,
            adp_page_share(low).text, adp_page_share(high).text);
}

/* ---- 5 --------------------------------------------------------------------------------
 */

static bool is_provenance(const char *word)
{
    static const char *const known[] = { "fitted", "inherited", "default" };
    for (size_t i = 0; word && i < sizeof known / sizeof *known; i++)
        if (strcmp(word, known[i]) == 0)
            return true;
    return false;
}

static void provenance(struct adp_item *item, const struct adp_part *part)
{
    size_t said = 0, used = 0;
    for (size_t i = 0; i < part->n_params; i++) {
        const struct adp_part_param *param = &part->params[i];
        bool known = is_provenance(param->provenance);
        said += known;
        add_fact(item, param->name, known, known ? "%s" : "no provenance%s%.40s",
                 known               ? param->provenance
                 : param->provenance ? ": not one is "
                                     : "",
                 param->provenance ? param->provenance : "");
        if (!known && used < sizeof item->fact)
            used += (size_t)snprintf(item->fact + used, sizeof item->fact - used, "%s%s",
                                     used ? ", " : "no provenance: ", param->name);
    }
    if (!part->policy)
        say(item, ADP_ITEM_NOT_RECORDED, "no policy is named");
    else if (said < part->n_params)
        item->evidence = ADP_ITEM_NOT_RECORDED;
    else if (!part->has_params)
        say(item, ADP_ITEM_NOT_RECORDED, "the log does not say which parameters");
    else if (!part->n_params)
        say(item, ADP_ITEM_EVIDENCED, "%s has no parameters", part->policy);
    else
        say(item, ADP_ITEM_EVIDENCED, "every parameter says where its value is from");
}

/* ---- 6 --------------------------------------------------------------------------------
 */

static void metric(struct adp_item *item, const struct adp_run *run)
{
    static const char *const why[] = { [ADP_GOODPUT_NO_DECISIONS] = "nothing was offered",
                                       [ADP_GOODPUT_NO_OUTCOMES] = "no outcomes",
                                       [ADP_GOODPUT_NO_SLO] = "no ok, and no SLO",
                                       [ADP_GOODPUT_NO_TTFT] = "no ok, and no TTFT" };
    if (adp_run_watched(run))
        say(item, ADP_ITEM_NOT_RECORDED, "goodput is not known: a watch sees no request");
    else if (isnan(run->goodput))
        say(item, ADP_ITEM_NOT_RECORDED, "goodput is not known: %s",
            why[run->no_goodput]);
    else
        say(item, ADP_ITEM_EVIDENCED,
            "goodput is %" PRIu64 " that met the SLO over %" PRIu64 " offered: %s",
            run->met, run->offered,
            run->part->anonymous ? "requests, some without an id"
                                 : "distinct request ids");
}

/* ---- 7 --------------------------------------------------------------------------------
 */

static void add_text(struct adp_item *item, const char *name, const char *text)
{
    add_fact(item, name, says(text), "%s", says(text) ? text : "not said");
}

/* The policy that is flagged as the baseline of this experiment, among the runs read. */
static const char *baseline_of(const struct adp_tally *tally, const struct adp_run *run)
{
    size_t n;
    const struct adp_run *runs = adp_tally_runs(tally, &n);
    const char *experiment = run->part->experiment;
    if (run->part->baseline)
        return run->part->policy;
    for (size_t i = 0; i < n; i++) {
        const struct adp_part *part = runs[i].part;
        if (runs[i].decided && part->baseline && part->policy && part->experiment &&
            experiment && strcmp(part->experiment, experiment) == 0)
            return part->policy;
    }
    return NULL;
}

static void configuration(struct adp_item *item, const struct adp_tally *tally,
                          const struct adp_run *run)
{
    const struct adp_part_disclosure *d = &run->part->disclosure;
    const char *baseline = baseline_of(tally, run);
    size_t there = 0;
    add_text(item, "model", d->model);
    add_text(item, "engine version", d->engine);
    add_text(item, "hardware", d->hardware);
    add_text(item, "workload", d->workload);
    if (adp_run_watched(run))
        add_fact(item, "offered load", false, "a watch sees no request");
    else if (isnan(run->rate))
        add_fact(item, "offered load", false, "no times");
    else
        add_fact(item, "offered load", true, "%" PRIu64 " requests at %s/s", run->offered,
                 adp_page_number(run->rate).text);
    add_text(item, "SLO", d->slo);
    add_fact(item, "baseline", baseline, "%s",
             baseline ? baseline : "no run of this experiment that was read is one");
    for (size_t i = 0; i < item->n_facts; i++)
        there += item->facts[i].recorded;
    say(item, there == item->n_facts ? ADP_ITEM_EVIDENCED : ADP_ITEM_NOT_RECORDED,
        "%zu of %zu facts are there", there, item->n_facts);
}

void adp_items_of(const struct adp_tally *tally, const struct adp_run *run,
                  struct adp_item items[ADP_ITEMS])
{
    static const char *const titles[ADP_ITEMS] = {
        "capacity-relative load", "calibrated deadlines", "signal liveness",
        "repeats and spread",     "parameter provenance", "metric definition",
        "configuration",
    };
    memset(items, 0, ADP_ITEMS * sizeof *items);
    for (int i = 0; i < ADP_ITEMS; i++)
        items[i].title = titles[i];
    load(&items[0], run);
    deadline(&items[1], run);
    liveness(&items[2], run);
    repeats(&items[3], tally, run);
    provenance(&items[4], run->part);
    metric(&items[5], run);
    configuration(&items[6], tally, run);
}
