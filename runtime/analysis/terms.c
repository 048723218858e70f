/* SPDX-License-Identifier: MIT */
/* Every term that a page prints, in words. */
#include "runtime/analysis/terms.h"

#include "runtime/analysis/page.h"
#include "runtime/analysis/report_json.h"

#include <ctype.h>
#include <string.h>

static const char COUNTING[] = "Counting", VERDICTS[] = "Verdicts",
                  FINDING[] = "The finding", SIGNALS[] = "Signals",
                  WHYS[] = "Why a signal is absent", COMPARING[] = "Comparing",
                  RECORD[] = "The record", REASONS[] = "Reasons", CARD[] = "The card",
                  ITEMS[] = "Reporting items";

static const struct adp_term terms[] = {
    { "offered", COUNTING,
      "All requests that arrived: distinct request ids. A retry is the same request; a "
      "decision without an id is one of its own.",
      true },
    { "admitted", COUNTING,
      "Requests the host was told to admit, by their last verdict. A refusal that was "
      "not "
      "enforced admits.",
      false },
    { "refused", COUNTING,
      "Requests whose last verdict is an enforced reject or defer of the policy's own. "
      "What "
      "on_error refused for it is counted apart.",
      false },
    { "served", COUNTING, "The same requests as admitted, seen from the engine.", false },
    { "goodput", COUNTING,
      "Requests that met their SLO over requests offered. Over offered, not admitted: a "
      "refusal is a miss. The host's ok decides; without it, TTFT within the disclosed "
      "SLO. "
      "Not known when there are no outcomes.",
      true },
    { "SLO", COUNTING,
      "Service level objective: here the longest time to first token that is still good, "
      "disclosure.slo.ttft_ms.",
      true },
    { "TTFT", COUNTING, "Time to first token, in ms, of served requests.", true },
    { "p50", COUNTING,
      "Median by nearest rank: of n values in order, number ceil(0.50 n).", false },
    { "p95", COUNTING,
      "95th percentile by nearest rank: of n values in order, number ceil(0.95 n). A "
      "value "
      "that was measured, never one in between.",
      false },
    { "median", COUNTING,
      "Over repeats: the middle run; of an even number, the mean of the two in the "
      "middle.",
      false },
    { "rate", COUNTING,
      "Offered requests per second: (offered - 1) / (last arrival - first arrival).",
      false },

    { "decision", VERDICTS, "One policy's answer to one request: one line of the log.",
      false },
    { "verdict", VERDICTS,
      "admit, defer or reject: the policy's, whether or not it was enforced.", false },
    { "admit", VERDICTS, "Forward the request.", false },
    { "defer", VERDICTS, "Refuse for now: come back after retry_after_ms.", false },
    { "reject", VERDICTS, "Refuse: do not come back soon.", false },
    { "reason", VERDICTS,
      "Why a request was refused: a word of a closed vocabulary, from which its HTTP "
      "status "
      "follows.",
      false },
    { "enforced", VERDICTS,
      "The host was bound by the verdict. A refusal that was not enforced was served.",
      false },
    { "enforce", VERDICTS, "The share of requests that a policy governs; 0 is a shadow.",
      false },
    { "governing", VERDICTS, "The role of the policy whose verdict the host gets.",
      false },
    { "shadow", VERDICTS,
      "The role of a policy that is asked and recorded and never enforced.", false },
    { "governed", VERDICTS, "The arm of requests that get the policy's verdict.", false },
    { "ungoverned", VERDICTS,
      "The arm of requests that are admitted whatever the policy says, which is "
      "recorded.",
      false },
    { "arm", VERDICTS,
      "The side of the enforcement split a request falls on, governed or ungoverned, by "
      "its "
      "id.",
      false },
    { "fault", VERDICTS,
      "The policy failed, and on_error answered. Never counted as the policy's "
      "judgement.",
      false },
    { "on_error", VERDICTS,
      "What answers when a policy fails: admit, unless set to reject.", false },

    { "liveness", FINDING, "Could the policy have fired at all, in this run?", true },
    { "LIVE", FINDING,
      "The policy refused, or all gates of one of its rules held together, or its margin "
      "reached 0; a shadow counts.",
      true },
    { "INERT", FINDING,
      "The policy could be judged and never fired: its signals were there and stayed on "
      "the "
      "near side of its thresholds. The run says nothing about it.",
      true },
    { "UNKNOWN", FINDING,
      "Nothing can be said: no decisions, a baseline, or signals that were never "
      "supplied. "
      "Not the same as INERT, where the answer is known.",
      true },
    { "gate", FINDING, "A condition a policy declares: signal, operator, parameter.",
      false },
    { "rule", FINDING,
      "Gates that must hold together for the policy to refuse. Several rules: any of "
      "them.",
      false },
    { "threshold", FINDING, "The parameter a gate holds its signal against.", false },
    { "held", FINDING, "Decisions on which the gate's condition was true.", false },
    { "closest", FINDING,
      "The reading that came nearest to making the gate hold, or went furthest beyond.",
      false },
    { "distance", FINDING,
      "How far the closest reading lay on the firing side of the threshold, in the "
      "signal's "
      "unit: negative is short of it; > and < do not hold at 0.",
      false },
    { "margin", FINDING,
      "What a policy without gates states of itself: at or above 0 when it fires.",
      false },
    { "moved", FINDING,
      "How much a signal moved: its range over the mean of its magnitude, so that "
      "signals of "
      "any unit compare.",
      false },

    { "signal", SIGNALS, "A named quantity that policies decide on.", false },
    { "metric", SIGNALS, "A raw series, under the name its exporter gave it.", false },
    { "source", SIGNALS, "One way to obtain a signal from metrics.", false },
    { "absent", SIGNALS,
      "The share of decisions on which the signal had no value. Absent is never zero, "
      "and "
      "never in a range.",
      false },
    { "state sample", SIGNALS,
      "A line that holds metrics and signals without a decision: a snapshot, or what "
      "watch "
      "writes.",
      false },

    { "running", SIGNALS, "Requests that the engine works on. A signal.", false },
    { "gpu_util", SIGNALS, "Share of time in which the GPU was busy. A signal, a ratio.",
      false },
    { "gpu_mem", SIGNALS, "Share of the GPU's memory in use. A signal, a ratio.", false },
    { "prefix_hit_rate", SIGNALS,
      "Share of prompt tokens found in the cache since the page before. A signal, a "
      "ratio.",
      false },
    { "preemption_rate", SIGNALS,
      "Requests a second that were put back for want of KV cache. A signal.", false },
    { "prefill_rate", SIGNALS,
      "Prompt tokens a second that the engine took in. A signal.", false },
    { "decode_rate", SIGNALS, "Tokens a second that the engine put out. A signal.",
      false },
    { "ttft_p95", SIGNALS,
      "95th percentile of time to first token, in seconds, since the page before. A "
      "signal.",
      false },
    { "itl_p95", SIGNALS,
      "95th percentile of the time between tokens, in seconds, since the page before. A "
      "signal.",
      false },
    { "kv_capacity", SIGNALS, "How many tokens the KV cache holds. A signal.", false },

    { "never supplied", WHYS,
      "No source has all of its metrics on the page; on every decision: shown as --.",
      false },
    { "out_of_range", WHYS,
      "A value outside the signal's range: most often a percentage in a ratio's place. "
      "It is left out, never clamped.",
      false },
    { "not_finite", WHYS,
      "NaN or infinite, as some exporters print before the first request.", false },
    { "divisor_zero", WHYS,
      "A ratio with nothing below the line: no lookup yet, a capacity of 0.", false },
    { "first_sample", WHYS,
      "A counter that was seen once: what it grew by is not known before the second "
      "page.",
      false },
    { "counter_reset", WHYS,
      "A counter went down, as after a restart of its engine: growth is known from the "
      "next page on.",
      false },
    { "blank", WHYS, "What its exporter prints for \"no reading\".", false },
    { "asleep", WHYS, "Its engine sleeps: gauges of a sleeping engine are no headroom.",
      false },
    { "frozen", WHYS,
      "Its engine says that it runs requests and has counted nothing for 30 s: it is not "
      "believed.",
      false },
    { "no_partner", WHYS,
      "Arithmetic between metrics found no series with the same labels.", false },
    { "ambiguous", WHYS,
      "Several series, and the source declares no aggregate: nothing is guessed.",
      false },
    { "stale", WHYS, "Older than max_age: the page, or its timestamp.", false },
    { "too_many", WHYS, "More series than can be held at once.", false },
    { "no_snapshot", WHYS, "No page was published yet.", false },
    { "nothing_observed", WHYS,
      "A percentile of nothing: no observation came since the page before.", false },
    { "above_last_bound", WHYS,
      "A percentile beyond the histogram's last finite bucket: how far cannot be said.",
      false },
    { "bounds_differ", WHYS,
      "Histograms with different buckets, and none that all have tells where the "
      "percentile lies.",
      false },
    { "part_of_total", WHYS,
      "A series that another, which was used, holds already. Left out, and no loss.",
      false },
    { "no reason or others", WHYS,
      "Lines that give no reason for an absence, or one more than a page tells apart.",
      false },

    { "experiment", COMPARING,
      "The question asked. Policies in one experiment claim to have faced the same "
      "conditions.",
      false },
    { "run", COMPARING, "One recording of one policy; a repeat of it has another name.",
      false },
    { "repeat", COMPARING,
      "A run of the same policy with the same parameters. Repeat k is held against "
      "repeat k.",
      true },
    { "baseline", COMPARING,
      "What others are compared with: a policy that says so of itself, and refuses "
      "nothing "
      "by design.",
      true },
    { "candidate", COMPARING,
      "One policy with one set of parameters, held against the baseline.", false },
    { "copy", COMPARING,
      "The same decisions and outcomes under another name or in another file. Not a "
      "repeat.",
      false },
    { "same load", COMPARING,
      "Offered count and rate within 10 %, repeat against repeat; arrivals and prompt "
      "lengths, too, or as far apart as chance makes of so many.",
      false },
    { "separated", COMPARING,
      "The ranges of goodput over the repeats of the two sides do not overlap. With one "
      "repeat this cannot be asked.",
      false },
    { "not a result", COMPARING,
      "One of the four checks failed or could not be asked: the numbers stand there to "
      "be "
      "looked at, not to be quoted.",
      false },

    { "outcome", RECORD, "What became of a request, as the host told it.", false },
    { "orphan outcome", RECORD,
      "An outcome whose request was decided nowhere in the log.", false },
    { "duplicate outcome", RECORD,
      "An outcome more than there were attempts of its request.", false },
    { "corrupt line", RECORD,
      "A line that is not UTF-8, not JSON, not an object, of no known kind, longer than "
      "1 "
      "MiB, or cut off at the end.",
      false },
    { "dropped", RECORD, "Records the writer could not keep, and says so in a line.",
      false },
    { "unrecorded loss", RECORD,
      "Records missing from a writer's numbering that no line accounts for.", false },
    { "scrape error", RECORD, "Metrics that could not be fetched.", false },
    { "writer", RECORD, "A process that wrote in the log.", false },
    { "config", RECORD,
      "The hash of settings, plugin files and dictionary a line was decided under.",
      false },
    { "disclosure", RECORD,
      "What the operator states and a log cannot know: model, engine, hardware, "
      "workload, "
      "SLO.",
      true },
    { "notes", RECORD, "Free words on a run.", false },
    { "parameters", RECORD, "The policy's settings, as in force.", false },

    { "kv_pressure", REASONS, "503: the KV cache is too full. Also a signal, a ratio.",
      true },
    { "queue_depth", REASONS, "503: too many requests wait. Also a signal.", true },
    { "capacity_reserved", REASONS, "503: what is free is kept for others.", false },
    { "wait_estimate_exceeded", REASONS, "503: it would wait too long.", false },
    { "deadline_infeasible", REASONS, "503: its deadline cannot be met.", false },
    { "predicted_length", REASONS, "503: it is expected to run too long.", true },
    { "signal_stale", REASONS, "503: what the policy decides on is too old.", false },
    { "policy_error", REASONS, "503: the policy failed and on_error refuses. A fault.",
      false },
    { "tenant_quota", REASONS, "429: the tenant has used its share.", false },
    { "rate_limit", REASONS, "429: requests come too fast.", false },
    { "request_too_large", REASONS, "413: it can never be served.", false },

    { "unit", CARD, "What is admitted: request, agent-session or tenant.", true },
    { "setting", CARD, "online, offline or hybrid.", true },
    { "slo_awareness", CARD,
      "What the policy serves: deadline, throughput, fairness, cost or stability.",
      true },
    { "signal_quantity", CARD, "The kind of quantity the policy reads.", true },
    { "signal_structure", CARD,
      "How it reads it: scalar, dual-gate, lp-composite or formal-bound.", true },
    { "scalar", CARD, "One signal against one threshold.", true },
    { "dual-gate", CARD,
      "Two gates that must hold together: one signal's range says nothing of its "
      "liveness.",
      true },
    { "lp-composite", CARD, "The answer of a linear program over several signals.",
      true },
    { "formal-bound", CARD, "A proven bound on response time against a deadline.", true },
    { "metadata_assumed", CARD, "What the policy must know of a request.", true },
    { "portability", CARD,
      "A: decidable at ingress from what an engine shows. B: needs control of batch "
      "formation.",
      true },
    { "provenance", CARD,
      "Where a parameter's value comes from: fitted to this system, inherited from "
      "elsewhere, "
      "or the default.",
      true },

    { "fitted", CARD, "Of a parameter: found on this system.", false },
    { "inherited", CARD, "Of a parameter: taken from elsewhere, such as a paper.",
      false },
    { "default", CARD,
      "Of a parameter: the policy's own, or nobody said where it is from.", false },

    { "evidenced", ITEMS, "The log holds the fact that the item rests on: ✓.", false },
    { "failed", ITEMS, "The log holds a fact that speaks against it: ✗.", false },
    { "not recorded", ITEMS, "The log does not say: —.", false },
    { "capacity-relative load", ITEMS, "Item 1: offered rate over serveable capacity.",
      true },
    { "calibrated deadlines", ITEMS, "Item 2: SLO over unloaded latency.", true },
    { "signal liveness", ITEMS, "Item 3: did the quantity reach the threshold?", true },
    { "repeats and spread", ITEMS, "Item 4: how many runs, how far apart.", true },
    { "parameter provenance", ITEMS, "Item 5: where each value comes from.", true },
    { "metric definition", ITEMS, "Item 6: what goodput is divided by.", true },
    { "configuration disclosure", ITEMS,
      "Item 7: model, engine version, hardware, workload, offered load, SLO, and which "
      "baseline was run.",
      true },
};

enum { TERMS = sizeof terms / sizeof *terms };

const struct adp_term *adp_terms(size_t *ret_n)
{
    *ret_n = TERMS;
    return terms;
}

static int plain(char c)
{
    return c == '-' || c == '_' ? ' ' : tolower((unsigned char)c);
}

static bool same(const char *a, const char *b)
{
    while (*a && plain(*a) == plain(*b)) {
        a++;
        b++;
    }
    return !*a && !*b;
}

const struct adp_term *adp_term_find(const char *word)
{
    for (size_t i = 0; i < TERMS; i++)
        if (same(terms[i].word, word))
            return &terms[i];
    return NULL;
}

static const char SURVEY[] =
    "[survey]: the term is used in the sense of the survey of sixteen papers on "
    "admission "
    "control that AdmitPerf for Python, and so this one, is aligned with.";

static void print_term(FILE *to, const struct adp_term *term)
{
    adp_page_field(to, 28, term->word, "%s%s", term->meaning,
                   term->survey ? " [survey]" : "");
}

int adp_terms_print(FILE *to, const char *word, struct adp_error *err)
{
    const struct adp_term *term = word ? adp_term_find(word) : NULL;
    if (word && !term) {
        const char *words[TERMS + 1] = { NULL };
        for (size_t i = 0; i < TERMS; i++)
            words[i] = terms[i].word;
        const char *nearest = adp_error_nearest(word, words);
        for (size_t i = 0; i < TERMS && !nearest && *word; i++)
            nearest = strcasestr(words[i], word) ? words[i] : NULL;
        return adp_error_set(err, ADP_ENOENT, "\"%s\" is not a term%s%s%s", word,
                             nearest ? ", did you mean \"" : "",
                             nearest ? nearest : "; without a word, all are listed",
                             nearest ? "\"?" : "");
    }
    if (term) {
        print_term(to, term);
        if (term->survey) {
            adp_page_put(to, "\n");
            adp_page_wrap(to, 0, 0, "%s", SURVEY);
        }
        return adp_page_end(to);
    }
    for (size_t i = 0; i < TERMS; i++) {
        if (!i || terms[i].group != terms[i - 1].group)
            adp_page_put(to, i ? "\n%s\n" : "%s\n", terms[i].group);
        print_term(to, &terms[i]);
    }
    adp_page_put(to, "\n");
    adp_page_wrap(to, 0, 0, "%s", SURVEY);
    return adp_page_end(to);
}

int adp_terms_json(FILE *to)
{
    json_t *list = json_array();
    for (size_t i = 0; i < TERMS; i++)
        if (json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b}", "term",
                                                  terms[i].word, "group", terms[i].group,
                                                  "meaning", terms[i].meaning, "survey",
                                                  (int)terms[i].survey))) {
            json_decref(list);
            return ADP_ENOMEM;
        }
    return adp_json_write_take(json_pack("{s:o}", "terms", list), to);
}
