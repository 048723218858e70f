/* SPDX-License-Identifier: MIT */
/* The report: reading, checking, and the page as text.
 *
 * Order of a page: the finding; what weakens it; liveness; the signals; what it did; what
 * weakens the cost; the cost; over time; the seven items; the instrument. A number never
 * stands before what weakens it. */
#include "runtime/analysis/report.h"

#include "runtime/analysis/caveats.h"
#include "runtime/analysis/finding.h"
#include "runtime/analysis/finding_words.h"
#include "runtime/analysis/items.h"
#include "runtime/analysis/logs.h"
#include "runtime/analysis/overtime.h"
#include "runtime/analysis/page.h"
#include "runtime/analysis/reaching.h"
#include "runtime/analysis/report_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct adp_report {
    struct adp_tally *tally;
    struct adp_log_list logs;
};

void adp_report_destroy(struct adp_report *report)
{
    if (!report)
        return;
    adp_tally_destroy(report->tally);
    adp_logs_finish(&report->logs);
    free(report);
}

/* Folders of somebody else's *.jsonl are not ours to report on. */
static int check_ours(const struct adp_report *report, struct adp_error *err)
{
    size_t n;
    const struct adp_log_file *files = adp_tally_files(report->tally, &n);
    const struct adp_log_file *other = NULL;
    bool ours = false;
    for (size_t i = 0; i < n; i++) {
        ours |= files[i].decisions || files[i].outcomes || files[i].states ||
                files[i].scrape_errors;
        for (int kind = 0; kind < ADP_CORRUPT_UNTERMINATED; kind++)
            if (files[i].corrupt[kind].n && !other)
                other = &files[i];
    }
    if (other && !ours)
        return adp_error_at(err, ADP_EINVAL, other->path, 0, 0,
                            "is no log: none of its lines is one of a log's");
    for (size_t i = 0; i < report->logs.n; i++)
        if (!report->logs.paths[i].foreign)
            return 0;
    return adp_error_at(err, ADP_ENOENT, report->logs.n ? report->logs.paths[0].path : "",
                        0, 0,
                        "no log of decisions was found here: no line is one of ours");
}

int adp_report_read(const char *const *paths, size_t n, struct adp_report **ret,
                    struct adp_error *err)
{
    return adp_report_read_telling(paths, n, NULL, ret, err);
}

int adp_report_read_telling(const char *const *paths, size_t n,
                            const struct adp_progress *progress, struct adp_report **ret,
                            struct adp_error *err)
{
    struct adp_report *report = calloc(1, sizeof *report);
    if (!report)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    report->logs.progress = progress;
    report->tally = adp_tally_create();
    int e = report->tally ? 0 : adp_error_set(err, ADP_ENOMEM, "out of memory");
    if (!e)
        e = adp_logs_gather(&report->logs, paths, n, report->tally, NULL, NULL, err);
    if (!e)
        e = check_ours(report, err);
    if (!e)
        e = adp_tally_settle(report->tally, err);
    if (e) {
        adp_report_destroy(report);
        return e;
    }
    *ret = report;
    return 0;
}

/* ---- check ---------------------------------------------------------------------------
 */

/* "policy run: " of the run. */
static void put_name(FILE *to, const struct adp_run *run)
{
    const char *named = run->part->run;
    adp_page_put(to, "%s%s%s", adp_finding_subject(run), named ? " " : "",
                 named ? named : "");
}

/* Failed items; the third apart, which the finding says already. */
static bool check_items(const struct adp_tally *tally, const struct adp_run *run,
                        FILE *why)
{
    enum { LIVENESS = 2 };
    struct adp_item items[ADP_ITEMS];
    bool good = true;
    adp_items_of(tally, run, items);
    for (int i = 0; i < ADP_ITEMS; i++) {
        if (i == LIVENESS || items[i].evidence != ADP_ITEM_FAILED)
            continue;
        good = false;
        if (!why)
            continue;
        put_name(why, run);
        adp_page_put(why, ": item %d, %s: %s\n", i + 1, items[i].title, items[i].fact);
    }
    return good;
}

/* Was something given that is this run's by name, and is counted nowhere? */
static bool check_left_out(const struct adp_tally *tally, const struct adp_run *run,
                           FILE *why)
{
    size_t n, n_again;
    const struct adp_run *runs = adp_tally_runs(tally, &n);
    const struct adp_log_file *files = adp_tally_files(tally, &n);
    const struct adp_again *again = adp_tally_again(tally, &n_again);
    bool good = true;
    for (size_t i = 0; i < n_again; i++) {
        if (&runs[again[i].run] != run || !again[i].left_out)
            continue;
        good = false;
        if (!why)
            continue;
        put_name(why, run);
        adp_page_put(why, ": %" PRIu64 " %s of %s %s left out\n", again[i].left_out,
                     adp_page_plural(again[i].left_out, "record", "records"),
                     files[again[i].file].path,
                     adp_page_plural(again[i].left_out, "is", "are"));
    }
    return good;
}

bool adp_report_check(const struct adp_report *report, FILE *why)
{
    size_t n;
    const struct adp_run *runs = adp_tally_runs(report->tally, &n);
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        const struct adp_run *run = &runs[i];
        bool claim = run->finding == ADP_LIVE || (run->decided && run->part->baseline);
        if (!claim && why) {
            put_name(why, run);
            adp_page_put(why, " is %s and not a baseline\n",
                         adp_finding_word(run->finding));
        }
        if (run->loss.unrecorded && why) {
            put_name(why, run);
            adp_page_put(
                why, ": %" PRIu64 " %s missing unrecorded\n", run->loss.unrecorded,
                adp_page_plural(run->loss.unrecorded, "record is", "records are"));
        }
        good &= claim && !run->loss.unrecorded;
        if (!check_left_out(report->tally, run, why))
            good = false;
        if (run->decided && !check_items(report->tally, run, why))
            good = false;
    }
    return good;
}

static const char *decisions(uint64_t n)
{
    return adp_page_plural(n, "decision", "decisions");
}

/* ---- whose it is ---------------------------------------------------------------------
 */

static void print_param(FILE *to, const struct adp_part_param *param, bool first)
{
    adp_page_field(to, 15, first ? "parameters" : "", "%s=%s", param->name,
                   isnan(param->value) ? param->word : adp_page_exact(param->value).text);
}

static void print_who(FILE *to, const struct adp_report *report,
                      const struct adp_run *run)
{
    size_t n;
    const struct adp_log_file *files = adp_tally_files(report->tally, &n);
    const struct adp_part *part = run->part;
    fputc('\n', to);
    if (part->experiment)
        adp_page_field(to, 15, "experiment", "%s", part->experiment);
    if (part->policy)
        adp_page_field(to, 15, "policy", "%s%s%s", part->policy,
                       part->baseline ? " (baseline)" : "",
                       part->shadow || adp_run_watched(run) ? " (shadow)" : "");
    for (size_t i = 0; i < part->n_params; i++)
        print_param(to, &part->params[i], i == 0);
    if (part->run)
        adp_page_field(to, 15, "run", "%s", part->run);
    if (part->notes)
        adp_page_field(to, 15, "notes", "%s", part->notes);
    for (size_t i = 0; i < run->n_files; i++)
        adp_page_field(to, 15, i ? "" : "log", "%s", files[run->files[i]].path);
}

static void print_caveats(FILE *to, const struct adp_caveats *caveats)
{
    for (size_t i = 0; i < caveats->n; i++)
        adp_page_wrap(to, 2, 4, "! %s.", caveats->sentences[i]);
}

/* ---- could it have fired -------------------------------------------------------------
 */

static void print_gate(FILE *to, const struct adp_part *part,
                       const struct adp_part_gate *gate)
{
    char what[160], held[48];
    bool fixed = adp_finding_fixed(gate);
    snprintf(what, sizeof what, "%" PRIu32 "  %s %s %s", gate->rule,
             gate->signal ? gate->signal : "?",
             adp_finding_op(gate->op) ? adp_finding_op(gate->op) : "?",
             fixed ? adp_page_exact(gate->threshold).text : "(not fixed)");
    adp_page_name(to, what, 36);
    snprintf(held, sizeof held, "%" PRIu64 " of %" PRIu64, gate->held,
             adp_part_own(part));
    char distance[40] = "--";
    if (gate->read)
        snprintf(distance, sizeof distance, "%s%s", gate->closest >= 0 ? "+" : "",
                 adp_page_number(gate->closest).text);
    adp_page_put(to, "%10s %11s  %s\n", adp_page_number(gate->closest_value).text,
                 distance, held);
}

/* What the gate's signal did around its threshold. */
static void print_range(FILE *to, const struct adp_run *run,
                        const struct adp_part_gate *gate)
{
    double own = (double)adp_part_own(run->part);
    for (size_t i = 0; gate->read && gate->signal && i < run->n_signals; i++)
        if (strcmp(run->signals[i].name, gate->signal) == 0)
            adp_page_wrap(to, 5, 7, "%s lay between %s and %s; the gate held on %s.",
                          gate->signal, adp_page_number(run->signals[i].min).text,
                          adp_page_number(run->signals[i].max).text,
                          adp_page_percent((double)gate->held / own).text);
}

/* By the arithmetic of capacity, whatever the load. */
static void print_reach(FILE *to, const struct adp_run *run,
                        const struct adp_part_gate *gate)
{
    char words[ADP_REACHING_WORDS];
    if (adp_reaching_words(run, gate, words))
        adp_page_wrap(to, 5, 7, "%s.", words);
}

/* "12 decisions, 1.5 s"; seconds are left out where times are not known. */
static void print_stretch(FILE *to, const struct adp_part_rule *rule)
{
    const struct adp_span *longest = &rule->stretch.longest;
    double seconds = longest->to - longest->from;
    if (!longest->n)
        return;
    adp_page_wrap(
        to, 2, 4, "Rule %" PRIu32 " held longest on %" PRIu64 " %s%s%s%s.", rule->rule,
        longest->n, adp_page_plural(longest->n, "decision", "decisions in a row"),
        isnan(seconds) ? "" : ", for ",
        isnan(seconds) ? "" : adp_page_number(seconds).text, isnan(seconds) ? "" : " s");
}

static void print_rules(FILE *to, const struct adp_part *part)
{
    for (size_t i = 0; i < part->n_rules; i++) {
        const struct adp_part_rule *rule = &part->rules[i];
        size_t gates = 0;
        for (size_t k = 0; k < part->n_gates; k++)
            gates += part->gates[k].rule == rule->rule;
        if (gates > 1)
            adp_page_wrap(to, 2, 4,
                          "Rule %" PRIu32
                          " needs all of its %zu gates at once: they held "
                          "together on %" PRIu64 " of %" PRIu64 " %s.",
                          rule->rule, gates, rule->held, adp_part_own(part),
                          decisions(adp_part_own(part)));
        print_stretch(to, rule);
    }
}

/* Which threshold would have fired: the highest for >= and >, the lowest for <= and <. */
static void print_would(FILE *to, const struct adp_part *part,
                        const struct adp_part_gate *gate)
{
    bool upward = gate->op == ADP_GE || gate->op == ADP_GT;
    bool strict = gate->op == ADP_GT || gate->op == ADP_LT;
    bool alone = true;
    for (size_t i = 0; i < part->n_gates; i++)
        alone &= &part->gates[i] == gate || part->gates[i].rule != gate->rule;
    if (isnan(gate->would))
        adp_page_wrap(to, 2, 4,
                      "No threshold on %s would have fired rule %" PRIu32
                      ": its other gates held on no decision on which it was read.",
                      gate->signal, gate->rule);
    else
        adp_page_wrap(to, 2, 4, "The %s threshold on %s that would have fired%s is %s%s.",
                      upward ? "highest" : "lowest", gate->signal,
                      alone ? "" : ", its other gates as they were,",
                      strict ? upward ? "anything below " : "anything above " : "",
                      adp_page_exact(gate->would).text);
}

static void print_moved(FILE *to, const struct adp_run *run)
{
    const struct adp_run_signal *moved = run->most_moved;
    if (moved)
        adp_page_wrap(
            to, 2, 4,
            "The signal that moved most is %s: from %s to %s, %s times its mean.",
            moved->name, adp_page_number(moved->min).text,
            adp_page_number(moved->max).text, adp_page_number(moved->moved).text);
    else
        adp_page_wrap(to, 2, 4, "No signal moved.");
}

/* For logs that do not say how the threshold is used: what can be said all the same. */
static void print_threshold_note(FILE *to, const struct adp_run *run)
{
    const struct adp_part_param *param = adp_finding_threshold(run->part);
    const char *name = run->part->signal_quantity;
    for (size_t i = 0; param && name && i < run->n_signals; i++)
        if (strcmp(run->signals[i].name, name) == 0 && run->signals[i].n)
            adp_page_wrap(
                to, 2, 4,
                "%s is %s; %s, which the policy's card names, lay between %s and "
                "%s.",
                param->name, adp_page_exact(param->value).text, name,
                adp_page_number(run->signals[i].min).text,
                adp_page_number(run->signals[i].max).text);
}

/* The heading would stand over nothing. */
static const char *no_gates(const struct adp_part *part)
{
    return part->has_gates ? "The log says that the policy has no gates."
                           : "The log names no gates.";
}

static void print_liveness(FILE *to, const struct adp_run *run)
{
    const struct adp_part *part = run->part;
    if (!run->decided || (part->baseline && run->finding == ADP_UNKNOWN))
        return;
    adp_page_heading(to, "COULD IT HAVE FIRED");
    if (part->n_gates) {
        adp_page_name(to, "rule and gate", 36);
        fputs("   closest    distance  held\n", to);
    }
    for (size_t i = 0; i < part->n_gates; i++) {
        print_gate(to, part, &part->gates[i]);
        print_range(to, run, &part->gates[i]);
        print_reach(to, run, &part->gates[i]);
    }
    print_rules(to, part);
    if (part->margins)
        adp_page_wrap(
            to, 2, 4,
            "Its margin, which is at or above 0 when it fires, lay between %s and %s; at "
            "or above 0 on %" PRIu64 " of %" PRIu64 " %s.",
            adp_page_number(part->least_margin).text, adp_page_number(part->margin).text,
            part->margins_firing, part->margins, decisions(part->margins));
    if (!part->n_gates) {
        adp_page_wrap(to, 2, 4, "%s", no_gates(part));
        print_threshold_note(to, run);
    }
    if (run->finding != ADP_INERT)
        return;
    for (size_t i = 0; i < part->n_gates; i++)
        if (part->gates[i].read && part->gates[i].signal)
            print_would(to, part, &part->gates[i]);
    print_moved(to, run);
    adp_page_wrap(
        to, 2, 4,
        "What this run shows is what happens without the policy: its latencies and "
        "goodput are no evidence about it.");
}

/* ---- signals, what it did, cost, items, instrument ---------------------------------------------
 */

enum { NAME = 22 };

/* One line for all signals that nobody supplied: most engines lack several, and what could
 * be read must not drown in them. False: out of memory. */
static bool print_unsupplied(FILE *to, const struct adp_run *run)
{
    char *names = NULL;
    size_t len = 0, n = 0;
    FILE *list = open_memstream(&names, &len);
    for (size_t i = 0; list && i < run->n_signals; i++) {
        char whys[ADP_FINDING_WHYS];
        adp_finding_whys(run->part, run->signals[i].name, whys);
        if (!run->signals[i].n && !whys[0])
            fprintf(list, "%s%s", n++ ? ", " : "", run->signals[i].name);
    }
    bool fine = list && fclose(list) == 0;
    if (fine && n)
        adp_page_wrap(to, 2, 4, "-- never supplied: %s", names);
    free(names);
    return fine;
}

static int print_signals(FILE *to, const struct adp_run *run)
{
    if (!run->n_signals)
        return 0;
    adp_page_heading(to, "WHICH SIGNALS MOVED");
    adp_page_name(to, "signal", NAME);
    fprintf(to, "%9s%9s%9s%9s%9s%9s\n", "min", "p50", "p95", "max", "n", "absent");
    for (size_t i = 0; i < run->n_signals; i++) {
        const struct adp_run_signal *signal = &run->signals[i];
        char whys[ADP_FINDING_WHYS];
        adp_finding_whys(run->part, signal->name, whys);
        if (!signal->n && !whys[0])
            continue;
        if (!signal->n) {
            char label[96];
            snprintf(label, sizeof label, "%-*.60s%9s", NAME, signal->name, "--");
            adp_page_field(to, NAME + 14, label, "absent%s %s",
                           strchr(whys, ' ') ? ":" : " throughout:", whys);
            continue;
        }
        adp_page_name(to, signal->name, NAME);
        fprintf(to, "%9s%9s%9s%9s%9" PRIu64 "%9s\n", adp_page_number(signal->min).text,
                adp_page_number(signal->p50).text, adp_page_number(signal->p95).text,
                adp_page_number(signal->max).text, signal->n,
                adp_page_percent(signal->absent).text);
    }
    return print_unsupplied(to, run) ? 0 : ADP_ENOMEM;
}

static void print_reasons(FILE *to, const struct adp_run *run)
{
    if (!run->n_reasons)
        return;
    adp_page_name(to, "reason", NAME);
    fprintf(to, "%9s%11s%18s\n", "refused", "of offered", "not enforced");
    for (size_t i = 0; i < run->n_reasons; i++) {
        const struct adp_reason_count *reason = &run->reasons[i];
        adp_page_name(to, *reason->word ? reason->word : "(no reason given)", NAME);
        fprintf(to, "%9" PRIu64 "%11s%18" PRIu64 "\n", reason->n,
                adp_page_percent((double)reason->n / (double)run->offered).text,
                reason->unheeded);
    }
    if (run->deferred)
        adp_page_wrap(to, 2, 4,
                      "%" PRIu64 " of the refused %s deferred: told to come back.",
                      run->deferred, adp_page_plural(run->deferred, "was", "were"));
}

enum { MOST_GROUPS = 20 }; /* lines; the rest are in the JSON */

static void print_groups(FILE *to, const char *title,
                         const struct adp_group_count *groups, size_t n)
{
    if (!n)
        return;
    fputc('\n', to);
    adp_page_name(to, title, NAME);
    fprintf(to, "%9s%11s%11s%14s\n", "offered", "refused", "of its own", "not enforced");
    for (size_t i = 0; i < n && i < MOST_GROUPS; i++) {
        adp_page_name(to, *groups[i].word ? groups[i].word : "(not said)", NAME);
        fprintf(
            to, "%9" PRIu64 "%11" PRIu64 "%11s%14" PRIu64 "\n", groups[i].offered,
            groups[i].refused,
            adp_page_percent((double)groups[i].refused / (double)groups[i].offered).text,
            groups[i].unheeded);
    }
    if (n > MOST_GROUPS)
        adp_page_put(to, "  and %zu more\n", n - MOST_GROUPS);
}

static double share(uint64_t n, uint64_t of)
{
    return of ? (double)n / (double)of : NAN;
}

/* Both sides of an enforcement split, where there are two. */
static void print_arms(FILE *to, const struct adp_run *run)
{
    static const char *const names[ADP_ARMS] = { "ungoverned", "governed" };
    if (!run->arms[0].offered || !run->arms[1].offered)
        return;
    fputc('\n', to);
    adp_page_name(to, "arm", NAME);
    fprintf(to, "%9s%14s%11s%11s%11s\n", "offered", "said refuse", "p50 ms", "p95 ms",
            "goodput");
    for (int arm = ADP_ARMS - 1; arm >= 0; arm--) {
        const struct adp_arm_count *count = &run->arms[arm];
        double goodput = isnan(run->goodput) ? NAN : share(count->met, count->offered);
        adp_page_name(to, names[arm], NAME);
        fprintf(to, "%9" PRIu64 "%14s%11s%11s%11s\n", count->offered,
                adp_page_percent(share(count->refusals, count->offered)).text,
                adp_page_number(count->ttft_p50).text,
                adp_page_number(count->ttft_p95).text, adp_page_share(goodput).text);
    }
    adp_page_wrap(to, 2, 4,
                  "Both arms share one engine: what the policy refuses in the one frees "
                  "capacity for the other, so the difference between them is less than "
                  "governing all would make. `admitperf compare --arms` asks the rest.");
}

/* Of a watch: what it would have done. */
static void print_would_do(FILE *to, const struct adp_run *run)
{
    adp_page_heading(to, "WHAT IT WOULD HAVE DONE");
    adp_page_put(to, "  would have refused at %" PRIu64 " of %" PRIu64 " %s (%s)\n",
                 run->unheeded, run->offered,
                 adp_page_plural(run->offered, "sample", "samples"),
                 adp_page_percent(share(run->unheeded, run->offered)).text);
    for (size_t i = 0; i < run->n_reasons; i++) {
        const struct adp_reason_count *reason = &run->reasons[i];
        adp_page_name(to, *reason->word ? reason->word : "(no reason given)", NAME);
        fprintf(to, "%9" PRIu64 "%11s\n", reason->unheeded,
                adp_page_percent(share(reason->unheeded, run->offered)).text);
    }
    adp_page_wrap(
        to, 2, 4,
        "A watch sees no request: what this would have cost or bought cannot be "
        "said.");
}

static void print_did(FILE *to, const struct adp_run *run)
{
    if (!run->decided || !run->offered)
        return;
    if (adp_run_watched(run)) {
        print_would_do(to, run);
        return;
    }
    if (adp_part_is_shadow(run->part)) {
        adp_page_heading(to, "WHAT IT WOULD HAVE DONE");
        adp_page_put(to, "  refused %s of %" PRIu64 " offered; it is a shadow\n",
                     adp_page_percent(share(run->unheeded, run->offered)).text,
                     run->offered);
        print_reasons(to, run);
        print_groups(to, "tenant", run->tenants, run->n_tenants);
        print_groups(to, "priority", run->priorities, run->n_priorities);
        return;
    }
    adp_page_heading(to, "WHAT IT DID");
    adp_page_put(to, "  admitted %s, rejected %s, deferred %s",
                 adp_page_percent(share(run->admitted, run->offered)).text,
                 adp_page_percent(share(run->refused - run->deferred, run->offered)).text,
                 adp_page_percent(share(run->deferred, run->offered)).text);
    if (run->refused_by_fault)
        adp_page_put(to, ", by a fault %s",
                     adp_page_percent(share(run->refused_by_fault, run->offered)).text);
    adp_page_put(to, " of %" PRIu64 " offered\n", run->offered);
    print_reasons(to, run);
    print_groups(to, "tenant", run->tenants, run->n_tenants);
    print_groups(to, "priority", run->priorities, run->n_priorities);
    print_arms(to, run);
}

static void print_cost(FILE *to, const struct adp_run *run,
                       const struct adp_caveats *caveats)
{
    double slo = run->part->slo_ttft_ms;
    if (!run->decided || adp_run_watched(run))
        return;
    adp_page_heading(to, "WHAT IT COST");
    print_caveats(to, caveats);
    const char *words = adp_part_is_shadow(run->part)
                            ? "offered %" PRIu64 "; the governing policy let %" PRIu64
                              " through and refused %" PRIu64 "%s%s%s"
                            : "offered %" PRIu64 ", admitted %" PRIu64
                              ", refused %" PRIu64 "%s%s%s";
    adp_page_wrap(to, 2, 4, words, run->offered, run->admitted - run->withheld,
                  adp_part_is_shadow(run->part) ? run->withheld : run->refused,
                  isnan(run->rate) ? "" : "; offered at ",
                  isnan(run->rate) ? "" : adp_page_number(run->rate).text,
                  isnan(run->rate) ? "" : " requests/s");
    if (run->refused_by_fault)
        adp_page_put(to, "  refused by a fault %" PRIu64 "\n", run->refused_by_fault);
    if (run->cancelled || run->failed)
        adp_page_wrap(to, 2, 4,
                      "%" PRIu64 " of %" PRIu64 " served %s an outcome; of these %" PRIu64
                      " cancelled, %" PRIu64 " failed",
                      run->answered, run->admitted - run->withheld,
                      adp_page_plural(run->admitted - run->withheld, "request has",
                                      "requests have"),
                      run->cancelled, run->failed);
    if (run->ttft_n)
        adp_page_put(
            to, "  TTFT of served requests: p50 %s ms, p95 %s ms  (%" PRIu64 " %s)\n",
            adp_page_number(run->ttft_p50).text, adp_page_number(run->ttft_p95).text,
            run->ttft_n, adp_page_plural(run->ttft_n, "request", "requests"));
    else
        fputs("  TTFT of served requests: not recorded\n", to);
    if (isnan(run->goodput)) {
        adp_page_wrap(to, 2, 4, "goodput: not known; %s",
                      adp_finding_no_goodput(run->no_goodput));
        return;
    }
    adp_page_wrap(to, 2, 4,
                  "goodput %s: %" PRIu64 " of %" PRIu64
                  " offered met the SLO (the host's ok%s%s%s)",
                  adp_page_share(run->goodput).text, run->met, run->offered,
                  isnan(slo) ? "" : ", or else TTFT within ",
                  isnan(slo) ? "" : adp_page_exact(slo).text, isnan(slo) ? "" : " ms");
}

/* "  ✓ 1 title           fact"; marks are one column and several bytes. */
static void print_item(FILE *to, int number, const struct adp_item *item)
{
    char label[64];
    snprintf(label, sizeof label, "%s %d %s", adp_evidence_mark(item->evidence), number,
             item->title);
    adp_page_field(to, 32, label, "%s", item->fact);
    for (size_t i = 0; item->evidence == ADP_ITEM_NOT_RECORDED && i < item->n_facts;
         i++) {
        const struct adp_item_fact *fact = &item->facts[i];
        snprintf(label, sizeof label, "      %s %.40s",
                 adp_evidence_mark(fact->recorded ? ADP_ITEM_EVIDENCED
                                                  : ADP_ITEM_NOT_RECORDED),
                 fact->name);
        adp_page_field(to, 32, label, "%s", fact->fact);
    }
    /* Evidenced, each fact is what the mark rests on, too. */
    for (size_t i = 0; item->evidence == ADP_ITEM_EVIDENCED && i < item->n_facts; i++)
        adp_page_wrap(to, 32, 34, "%s: %s", item->facts[i].name, item->facts[i].fact);
}

static void print_items(FILE *to, const struct adp_report *report,
                        const struct adp_run *run)
{
    struct adp_item items[ADP_ITEMS];
    size_t n[3] = { 0 };
    if (!run->decided)
        return;
    adp_items_of(report->tally, run, items);
    for (int i = 0; i < ADP_ITEMS; i++)
        n[items[i].evidence]++;
    adp_page_heading(to, "THE SEVEN ITEMS");
    for (int i = 0; i < ADP_ITEMS; i++)
        print_item(to, i + 1, &items[i]);
    adp_page_put(to, "  %zu evidenced, %zu failed, %zu not recorded\n",
                 n[ADP_ITEM_EVIDENCED], n[ADP_ITEM_FAILED], n[ADP_ITEM_NOT_RECORDED]);
}

static void print_instrument(FILE *to, const struct adp_run *run)
{
    adp_page_heading(to, "THE INSTRUMENT");
    adp_page_put(to,
                 "  decisions %" PRIu64 "   outcomes %" PRIu64 "   state samples %" PRIu64
                 "   writers %zu\n",
                 run->decided ? run->part->lines : 0, run->outcomes, run->states,
                 run->part->n_instances);
    adp_page_put(to,
                 "  lost: recorded %" PRIu64 ", unrecorded %" PRIu64
                 "   corrupt lines %" PRIu64 "   faults %" PRIu64 "\n",
                 run->loss.recorded, run->loss.unrecorded, run->corrupt_lines,
                 run->part->faults);
    adp_page_put(to,
                 "  scrape errors %" PRIu64 "   outcomes: orphan %" PRIu64
                 ", duplicate %" PRIu64 ", of refused %" PRIu64 "\n",
                 run->scrape_errors, run->orphans, run->duplicates,
                 run->refused_outcomes);
    adp_page_put(to, "  TTFT out of range %" PRIu64 "   metrics omitted %" PRIu64 "\n",
                 run->ttft_off, run->omitted);
}

/* A page from which a caveat is missing for want of memory must not stand. */
static int print_run(FILE *to, const struct adp_report *report, const struct adp_run *run,
                     bool alone)
{
    struct adp_caveats page = { 0 }, cost = { 0 };
    for (size_t i = 0; alone && i < report->logs.n_unread; i++)
        adp_caveats_add(&page, "not read: %s: %s", report->logs.unread[i].path,
                        report->logs.unread[i].why);
    adp_caveats_of_instrument(&page, report->tally, run);
    adp_caveats_of_finding(&page, run);
    adp_caveats_of_cost(&cost, run);
    int e = page.broken || cost.broken ? ADP_ENOMEM : 0;
    if (!e) {
        adp_finding_print(to, run);
        print_who(to, report, run);
        if (page.n)
            adp_page_heading(to, "WHAT WEAKENS THIS PAGE");
        print_caveats(to, &page);
        print_liveness(to, run);
        e = print_signals(to, run);
        print_did(to, run);
        print_cost(to, run, &cost);
        if (!e)
            e = adp_overtime_print(to, run);
        print_items(to, report, run);
        print_instrument(to, run);
    }
    adp_caveats_finish(&page);
    adp_caveats_finish(&cost);
    return e;
}

int adp_report_print(const struct adp_report *report, FILE *to)
{
    size_t n;
    const struct adp_run *runs = adp_tally_runs(report->tally, &n);
    if (n > 1)
        adp_page_put(to, "%zu runs, told apart by what their lines say.\n\n", n);
    /* What weakens one run's page stands on it; with several this weakens them all. */
    if (n > 1 && report->logs.n_unread) {
        for (size_t i = 0; i < report->logs.n_unread; i++)
            adp_page_wrap(to, 0, 2, "! not read: %s: %s.", report->logs.unread[i].path,
                          report->logs.unread[i].why);
        fputc('\n', to);
    }
    for (size_t i = 0; i < n; i++) {
        if (i)
            adp_page_rule(to);
        int e = print_run(to, report, &runs[i], n == 1);
        if (e)
            return e;
    }
    for (size_t i = 0; i < report->logs.n; i++)
        if (report->logs.paths[i].foreign)
            adp_page_put(to, "\nNot read, for no line of it is one of ours: %s\n",
                         report->logs.paths[i].path);
    return adp_page_end(to);
}

void adp_report_unread(const struct adp_report *report, FILE *to)
{
    adp_logs_unread(&report->logs, to);
}

int adp_report_json(const struct adp_report *report, FILE *to)
{
    return adp_report_write_json(report->tally, &report->logs, to);
}
