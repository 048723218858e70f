/* SPDX-License-Identifier: MIT */
/* The finding in words. */
#include "runtime/analysis/finding_words.h"

#include "runtime/analysis/finding.h"
#include "runtime/analysis/page.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *adp_finding_subject(const struct adp_run *run)
{
    return run->part->policy ? run->part->policy
           : run->decided    ? "the policy (the log does not name it)"
                             : "the log";
}

static const char *decisions(const struct adp_run *run, uint64_t n)
{
    return adp_run_watched(run) ? adp_page_plural(n, "sample", "samples")
                                : adp_page_plural(n, "decision", "decisions");
}

static void print_live(FILE *to, const struct adp_run *run)
{
    const char *name = adp_finding_subject(run);
    const struct adp_part *part = run->part;
    const char *requests = adp_page_plural(run->offered, "request", "requests");
    if (run->refused)
        adp_page_wrap(to, 0, 2, "LIVE: %s refused %" PRIu64 " of %" PRIu64 " %s (%s)%s",
                      name, run->refused, run->offered, requests,
                      adp_page_percent((double)run->refused / (double)run->offered).text,
                      run->unheeded ? ", and more that was not enforced." : ".");
    else if (run->unheeded && adp_run_watched(run))
        adp_page_wrap(
            to, 0, 2,
            "LIVE: %s would have refused at %" PRIu64 " of %" PRIu64 " %s (%s).", name,
            run->unheeded, run->offered, decisions(run, run->offered),
            adp_page_percent((double)run->unheeded / (double)run->offered).text);
    else if (run->unheeded)
        adp_page_wrap(
            to, 0, 2,
            "LIVE: %s would have refused %" PRIu64 " of %" PRIu64 " %s (%s); %s", name,
            run->unheeded, run->offered, requests,
            adp_page_percent((double)run->unheeded / (double)run->offered).text,
            adp_part_is_shadow(part) ? "a shadow: nothing of it was enforced, and what "
                                       "became of the requests is "
                                       "the governing policy's doing."
                                     : "none of it was enforced, and all were served.");
    else if (part->refusals)
        adp_page_wrap(
            to, 0, 2, "LIVE: %s refused on %" PRIu64 " %s, and %s admitted in the end.",
            name, part->refusals, decisions(run, part->refusals),
            part->refusals == 1 ? "the request was" : "every one of those requests was");
    else if (part->fired)
        adp_page_wrap(to, 0, 2,
                      "LIVE: a rule of %s held on %" PRIu64 " of %" PRIu64
                      " %s, though it refused nothing.",
                      name, part->fired, adp_part_own(part),
                      decisions(run, adp_part_own(part)));
    else
        adp_page_wrap(to, 0, 2,
                      "LIVE: the margin of %s reached 0 on %" PRIu64 " of %" PRIu64
                      " %s, though it refused nothing.",
                      name, part->margins_firing, part->margins,
                      decisions(run, part->margins));
}

static void print_inert(FILE *to, const struct adp_run *run)
{
    const struct adp_part *part = run->part;
    const struct adp_part_gate *gate = part->n_gates == 1 ? &part->gates[0] : NULL;
    if (run->ground == ADP_GROUND_GATES && gate && gate->signal)
        adp_page_wrap(to, 0, 2,
                      "INERT: %s never fired on %" PRIu64
                      " %s: it needs %s %s %s, and the nearest was %s.",
                      adp_finding_subject(run), part->judged,
                      decisions(run, part->judged), gate->signal,
                      adp_finding_op(gate->op), adp_page_exact(gate->threshold).text,
                      adp_page_number(gate->closest_value).text);
    else if (run->ground == ADP_GROUND_GATES)
        adp_page_wrap(to, 0, 2,
                      "INERT: %s could be judged on %" PRIu64 " of %" PRIu64
                      " %s and never fired.",
                      adp_finding_subject(run), part->judged, adp_part_own(part),
                      decisions(run, adp_part_own(part)));
    else if (run->ground == ADP_GROUND_MARGIN)
        adp_page_wrap(to, 0, 2,
                      "INERT: %s never fired on %" PRIu64
                      " %s: its margin came no nearer to 0 than %s.",
                      adp_finding_subject(run), part->margins,
                      decisions(run, part->margins), adp_page_number(part->margin).text);
    else
        adp_page_wrap(to, 0, 2, "INERT: %s decided %" PRIu64 " %s and refused nothing.",
                      adp_finding_subject(run), adp_part_own(part),
                      adp_page_plural(adp_part_own(part), "time", "times"));
}

/* "a, b" of the signals the policy reads that nothing supplied; up to three. How many they are. */
static unsigned list_unsupplied(const struct adp_part *part, char *to, size_t cap)
{
    unsigned n = 0;
    to[0] = '\0';
    for (size_t i = 0; i < part->n_gates; i++) {
        const char *signal = part->gates[i].signal;
        size_t used = strlen(to);
        bool again = false;
        for (size_t k = 0; k < i && signal && !again; k++)
            again = part->gates[k].signal && strcmp(part->gates[k].signal, signal) == 0;
        if (!signal || again || adp_finding_supplied(part, signal) || n == 3)
            continue;
        char whys[ADP_FINDING_WHYS];
        adp_finding_whys(part, signal, whys);
        snprintf(to + used, cap - used, *whys ? "%s%s (%s)" : "%s%s", n++ ? ", " : "",
                 signal, whys);
    }
    if (!n && part->signal_quantity && !part->n_gates)
        n = snprintf(to, cap, "%s", part->signal_quantity) > 0;
    return n;
}

static void print_unknown(FILE *to, const struct adp_run *run)
{
    const struct adp_part *part = run->part;
    char signals[768];
    switch (run->ground) {
    case ADP_GROUND_NO_DECISIONS:
        if (run->states)
            adp_page_wrap(to, 0, 2,
                          "UNKNOWN: no decisions, %" PRIu64
                          " state %s. A policy could have "
                          "fired here only on values in the ranges below.",
                          run->states, adp_page_plural(run->states, "sample", "samples"));
        else
            adp_page_wrap(to, 0, 2, "UNKNOWN: the log holds no decisions.");
        return;
    case ADP_GROUND_BASELINE:
        adp_page_wrap(
            to, 0, 2,
            "UNKNOWN: %s is the baseline, by its own flag. It refuses nothing, by "
            "design; it is what others are compared with.",
            adp_finding_subject(run));
        return;
    case ADP_GROUND_FAULTS:
        adp_page_wrap(
            to, 0, 2,
            "UNKNOWN: %s failed on every decision; on_error answered, the policy "
            "never did.",
            adp_finding_subject(run));
        return;
    case ADP_GROUND_NO_THRESHOLD:
        adp_page_wrap(to, 0, 2,
                      "UNKNOWN: %s refused nothing, and could not be judged: the log has "
                      "no fixed threshold for a gate of it.",
                      adp_finding_subject(run));
        return;
    default:
        break;
    }
    unsigned n = list_unsupplied(part, signals, sizeof signals);
    if (n)
        adp_page_wrap(
            to, 0, 2,
            strchr(signals, '(')
                ? "UNKNOWN: %s could not be judged: %s %s absent throughout."
                : "UNKNOWN: %s could not be judged: %s %s never supplied by the "
                  "metrics.",
            adp_finding_subject(run), signals, adp_page_plural(n, "was", "were"));
    else
        adp_page_wrap(to, 0, 2,
                      "UNKNOWN: %s could not be judged: the signals it reads were never "
                      "there together.",
                      adp_finding_subject(run));
}

void adp_finding_print(FILE *to, const struct adp_run *run)
{
    switch (run->finding) {
    case ADP_LIVE:
        print_live(to, run);
        return;
    case ADP_INERT:
        print_inert(to, run);
        return;
    case ADP_UNKNOWN:
        print_unknown(to, run);
    }
}

const char *adp_finding_no_goodput(enum adp_no_goodput why)
{
    switch (why) {
    case ADP_GOODPUT_NO_DECISIONS:
        return "no request was offered";
    case ADP_GOODPUT_NO_OUTCOMES:
        return "no outcomes were recorded";
    case ADP_GOODPUT_NO_SLO:
        return "no outcome says ok, and there is no SLO to hold ttft_ms against";
    case ADP_GOODPUT_NO_TTFT:
        return "no outcome says ok, or has a ttft_ms to hold against the SLO";
    case ADP_GOODPUT_KNOWN:
        break;
    }
    return "";
}
