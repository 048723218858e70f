/* SPDX-License-Identifier: MIT */
/* Everything that weakens a page. Each sentence says what is so and what follows. */
#include "runtime/analysis/caveats.h"

#include "runtime/analysis/finding.h"
#include "runtime/analysis/grow.h"
#include "runtime/analysis/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void adp_caveats_finish(struct adp_caveats *caveats)
{
    for (size_t i = 0; i < caveats->n; i++)
        free(caveats->sentences[i]);
    free(caveats->sentences);
    *caveats = (struct adp_caveats) { 0 };
}

void adp_caveats_add(struct adp_caveats *caveats, const char *format, ...)
{
    char **all = adp_grow(caveats->sentences, &caveats->cap, caveats->n + 1, sizeof *all);
    if (!all) {
        caveats->broken = true;
        return;
    }
    caveats->sentences = all;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&all[caveats->n], format, args);
    va_end(args);
    if (len < 0)
        caveats->broken = true;
    else
        caveats->n++;
}

/* ---- the instrument ------------------------------------------------------------------
 */

static void corrupt(struct adp_caveats *caveats, const struct adp_log_file *file)
{
    for (int kind = 0; kind < ADP_CORRUPT_KINDS; kind++) {
        const struct adp_corrupt_count *count = &file->corrupt[kind];
        if (!count->n)
            continue;
        if (kind == ADP_CORRUPT_UNTERMINATED)
            adp_caveats_add(caveats,
                            "%s: the last line (%" PRIu64
                            ") has no end: the writer was cut "
                            "short, or is still writing",
                            file->path, count->first);
        else if (kind == ADP_CORRUPT_PACKED)
            adp_caveats_add(
                caveats,
                "%s: what is packed is damaged or cut short after line %" PRIu64
                ": nothing behind it was read",
                file->path, count->first);
        else
            adp_caveats_add(
                caveats, "%s: %" PRIu64 " corrupt %s (%s), the first is line %" PRIu64,
                file->path, count->n, adp_page_plural(count->n, "line", "lines"),
                adp_corrupt_word((enum adp_corrupt)kind), count->first);
    }
}

static void losses(struct adp_caveats *caveats, const struct adp_run *run)
{
    const struct adp_lanes_loss *loss = &run->loss;
    if (loss->unrecorded)
        adp_caveats_add(caveats,
                        "%" PRIu64
                        " %s missing and no line says so: the writers' numbering "
                        "has gaps. They are lost, or earlier pieces of the log were not "
                        "given",
                        loss->unrecorded,
                        adp_page_plural(loss->unrecorded, "record is", "records are"));
    if (loss->recorded)
        adp_caveats_add(caveats,
                        "%" PRIu64
                        " %s dropped by the writer, which says so: every count is "
                        "of what is left",
                        loss->recorded,
                        adp_page_plural(loss->recorded, "record was", "records were"));
    if (loss->damaged)
        adp_caveats_add(
            caveats,
            "%" PRIu64 " %s given up as damaged: how many records that cost is "
            "not known",
            loss->damaged, adp_page_plural(loss->damaged, "queue was", "queues were"));
    if (loss->repeated)
        adp_caveats_add(
            caveats,
            "%" PRIu64 " %s here more than once: lines were copied. Requests are "
            "counted once, readings are not",
            loss->repeated, adp_page_plural(loss->repeated, "record is", "records are"));
}

/* Pieces of the run that say again what others of it say. */
static void overlaps(struct adp_caveats *caveats, const struct adp_log_file *file)
{
    if (file->known)
        adp_caveats_add(caveats,
                        "%" PRIu64 " of the %" PRIu64 " lines of %s %s in another file, "
                        "too: each is counted once",
                        file->known, file->lines, file->path,
                        adp_page_plural(file->known, "stands", "stand"));
}

/* Where records have no numbers, lines that stand twice are known by what they say. */
static void twins(struct adp_caveats *caveats, const struct adp_run *run)
{
    if (run->twins && !run->loss.repeated) /* else said already */
        adp_caveats_add(caveats,
                        "%" PRIu64 " %s the same request, time and verdict as the one "
                        "before: lines were copied. Requests are counted once, readings "
                        "are not",
                        run->twins,
                        adp_page_plural(run->twins, "decision has", "decisions have"));
}

static void copies(struct adp_caveats *caveats, const struct adp_tally *tally,
                   const struct adp_run *run)
{
    size_t n_runs, n_files, n_again;
    const struct adp_run *runs = adp_tally_runs(tally, &n_runs);
    const struct adp_log_file *files = adp_tally_files(tally, &n_files);
    const struct adp_again *again = adp_tally_again(tally, &n_again);
    if (run->copy_of != ADP_NO_RUN) {
        const struct adp_run *first = &runs[run->copy_of];
        adp_caveats_add(caveats,
                        "it holds the same decisions and outcomes as %s (%s): one "
                        "measurement under two "
                        "names, not a repeat",
                        first->part->run ? first->part->run : "another run",
                        files[first->files[0]].path);
    }
    for (size_t i = 0; i < n_again; i++) {
        if (&runs[again[i].run] != run)
            continue;
        if (again[i].copy && again[i].left_out)
            adp_caveats_add(caveats,
                            "%s holds some of the same records, and %" PRIu64
                            " that no other file has: none of it is counted, for what is "
                            "no file cannot "
                            "be read twice. Give it first, or as a file",
                            files[again[i].file].path, again[i].left_out);
        else if (again[i].copy)
            adp_caveats_add(caveats, "%s holds the same records again: not counted twice",
                            files[again[i].file].path);
        else
            adp_caveats_add(
                caveats,
                "%s is another recording under the same experiment, policy and "
                "run: not counted, give it a run of its own",
                files[again[i].file].path);
    }
}

static void faults(struct adp_caveats *caveats, const struct adp_run *run)
{
    const struct adp_part *part = run->part;
    if (part->faults)
        adp_caveats_add(
            caveats,
            "the policy failed on %" PRIu64 " of %" PRIu64
            " %s; on_error answered in its place. %" PRIu64
            " %s refused by that: not counted as the policy's",
            part->faults, part->lines,
            adp_page_plural(part->lines, "decision", "decisions"), run->refused_by_fault,
            adp_page_plural(run->refused_by_fault, "request was", "requests were"));
    if (part->not_finite)
        adp_caveats_add(
            caveats, "%" PRIu64 " %s NaN, infinite or beyond any number: read as absent",
            part->not_finite,
            adp_page_plural(part->not_finite, "value is", "values are"));
    if (part->ignored)
        adp_caveats_add(caveats,
                        "%" PRIu64 " %s beyond what one page "
                        "holds (%u signals, %u gates): left out",
                        part->ignored,
                        adp_page_plural(part->ignored, "reading, gate or writer is",
                                        "readings, gates or writers are"),
                        ADP_PART_MAX_SIGNALS, ADP_PART_MAX_GATES);
    if (part->anonymous && !adp_run_watched(run))
        adp_caveats_add(
            caveats,
            "%" PRIu64 " of %" PRIu64 " %s no request id: each "
            "counts as a request of its own",
            part->anonymous, part->lines,
            adp_page_plural(part->lines, "decision carries", "decisions carry"));
}

/* Workers of one server, or repeats that were not told apart: the log cannot say. */
static void writers(struct adp_caveats *caveats, const struct adp_part *part)
{
    if (part->n_instances > 1)
        adp_caveats_add(caveats,
                        "written by %zu processes, counted together; if these are "
                        "repeats, give each its own `run:`",
                        part->n_instances);
}

void adp_caveats_of_instrument(struct adp_caveats *caveats, const struct adp_tally *tally,
                               const struct adp_run *run)
{
    size_t n;
    const struct adp_log_file *files = adp_tally_files(tally, &n);
    writers(caveats, run->part);
    copies(caveats, tally, run);
    for (size_t i = 0; i < run->n_files; i++)
        corrupt(caveats, &files[run->files[i]]);
    for (size_t i = 0; i < run->n_files; i++)
        overlaps(caveats, &files[run->files[i]]);
    losses(caveats, run);
    twins(caveats, run);
    faults(caveats, run);
    if (run->omitted)
        adp_caveats_add(caveats,
                        "%" PRIu64 " %s without the metrics, of which there were more "
                        "than a line may have: signals are as they were read then, "
                        "and cannot be read anew",
                        run->omitted,
                        adp_page_plural(run->omitted, "line is", "lines are"));
    if (run->scrape_errors)
        adp_caveats_add(
            caveats, "%" PRIu64 " %s failed: for those times the state is not known",
            run->scrape_errors, adp_page_plural(run->scrape_errors, "scrape", "scrapes"));
}

/* ---- the finding ---------------------------------------------------------------------
 */

static void absent_gates(struct adp_caveats *caveats, const struct adp_part *part)
{
    uint64_t own = adp_part_own(part);
    for (size_t i = 0; i < part->n_gates; i++) {
        const struct adp_part_gate *gate = &part->gates[i];
        const char *signal = gate->signal ? gate->signal : "(no signal)";
        char whys[ADP_FINDING_WHYS];
        adp_finding_whys(part, signal, whys);
        if (!adp_finding_fixed(gate))
            adp_caveats_add(
                caveats,
                "the gate on %s has no fixed threshold: it cannot be judged from "
                "the log",
                signal);
        else if (!adp_finding_supplied(part, signal) && *whys)
            adp_caveats_add(caveats, "%s, which a gate reads, was absent throughout: %s",
                            signal, whys);
        else if (!adp_finding_supplied(part, signal))
            adp_caveats_add(caveats, "%s, which a gate reads, was never supplied",
                            signal);
        else if (gate->read < own)
            adp_caveats_add(caveats,
                            "%s, which a gate reads, was absent on %" PRIu64
                            " of %" PRIu64 " %s%s",
                            signal, own - gate->read, own,
                            adp_page_plural(own, "decision", "decisions"),
                            part->faults ? " of its own" : "");
    }
}

void adp_caveats_of_finding(struct adp_caveats *caveats, const struct adp_run *run)
{
    const struct adp_part *part = run->part;
    if (!run->decided)
        return;
    if (!part->has_gates && !part->baseline && !part->margins)
        adp_caveats_add(caveats, "the log does not say which gates the policy has: it is "
                                 "judged by its refusals alone");
    absent_gates(caveats, part);
    if (part->baseline && part->refusals)
        adp_caveats_add(caveats, "it calls itself a baseline, and yet it refused");
    if (part->refused_unfired)
        adp_caveats_add(caveats,
                        "it refused on %" PRIu64 " %s on which none of its gates "
                        "explains it",
                        part->refused_unfired,
                        adp_page_plural(part->refused_unfired, "decision", "decisions"));
    if (part->admitted_firing)
        adp_caveats_add(caveats,
                        "it admitted on %" PRIu64 " %s on which a rule held: its gates "
                        "do not tell the whole of it",
                        part->admitted_firing,
                        adp_page_plural(part->admitted_firing, "decision", "decisions"));
    if (adp_run_watched(run))
        return;
    if (adp_part_is_shadow(part))
        adp_caveats_add(caveats,
                        "a shadow: it is asked beside the policy that governs, and "
                        "nobody acts on what it says");
    else if (part->unenforced)
        adp_caveats_add(caveats,
                        "%" PRIu64 " of %" PRIu64 " %s not enforced: the host "
                        "was told to admit",
                        part->unenforced, part->lines,
                        adp_page_plural(part->lines, "verdict was", "verdicts were"));
}

/* ---- what it cost --------------------------------------------------------------------
 */

void adp_caveats_of_cost(struct adp_caveats *caveats, const struct adp_run *run)
{
    if (adp_part_is_shadow(run->part))
        adp_caveats_add(caveats,
                        "a shadow governs nothing: what follows is what the governing "
                        "policy made of these requests");
    if (run->withheld)
        adp_caveats_add(caveats,
                        "%" PRIu64 " of %" PRIu64
                        " %s refused by the governing policy and did not meet the SLO",
                        run->withheld, run->offered,
                        adp_page_plural(run->withheld, "request was", "requests were"));
    uint64_t silent = run->admitted - run->answered - run->withheld;
    if (run->answered && silent)
        adp_caveats_add(
            caveats,
            "%" PRIu64 " of %" PRIu64 " admitted %s %s no outcome: %s missing the SLO",
            silent, run->admitted - run->withheld,
            adp_page_plural(run->admitted - run->withheld, "request", "requests"),
            adp_page_plural(silent, "has", "have"),
            adp_page_plural(silent, "it counts as", "they count as"));
    if (run->unjudged && !isnan(run->goodput))
        adp_caveats_add(caveats,
                        "%" PRIu64 " %s neither ok nor a ttft_ms that an SLO could "
                        "be held against: %s missing the SLO",
                        run->unjudged,
                        adp_page_plural(run->unjudged, "outcome says", "outcomes say"),
                        adp_page_plural(run->unjudged, "it counts as", "they count as"));
    if (run->ttft_off)
        adp_caveats_add(
            caveats,
            "%" PRIu64 " %s a ttft_ms below 0 or not finite: it was not "
            "counted",
            run->ttft_off,
            adp_page_plural(run->ttft_off, "outcome states", "outcomes state"));
    if (run->disagreed)
        adp_caveats_add(caveats,
                        "on %" PRIu64 " %s the host's ok and ttft_ms <= SLO disagree: "
                        "ok was taken",
                        run->disagreed,
                        adp_page_plural(run->disagreed, "outcome", "outcomes"));
    if (run->part->slo_changes)
        adp_caveats_add(caveats,
                        "the disclosed SLO changes within the run: the first was "
                        "taken");
    if (run->duplicates)
        adp_caveats_add(caveats,
                        "%" PRIu64 " %s more than the attempts there were: not counted",
                        run->duplicates,
                        adp_page_plural(run->duplicates, "outcome is", "outcomes are"));
    if (run->refused_outcomes)
        adp_caveats_add(
            caveats,
            "%" PRIu64 " %s to %s: the host reports its refusals, or went on in spite of "
            "the verdict, or answered an earlier attempt: not counted",
            run->refused_outcomes,
            adp_page_plural(run->refused_outcomes, "outcome belongs", "outcomes belong"),
            adp_page_plural(run->refused_outcomes, "a refused attempt",
                            "refused attempts"));
    if (run->orphans)
        adp_caveats_add(
            caveats, "%" PRIu64 " %s to no decision in the log: not counted",
            run->orphans,
            adp_page_plural(run->orphans, "outcome belongs", "outcomes belong"));
}
