/* SPDX-License-Identifier: MIT */
/* One decision and why. Verdict, reason and status are the policy's, as in the log;
 * whether the host was told them is said beside. */
#include "runtime/cli/explain.h"

#include "core/expr.h"
#include "core/line.h"
#include "core/number.h"
#include "core/reason.h"
#include "runtime/analysis/account.h"
#include "runtime/analysis/page.h"
#include "runtime/cli/say.h"
#include "runtime/host/reach.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *verdict_word(uint32_t action)
{
    return action == ADP_REJECT ? "reject" : action == ADP_DEFER ? "defer" : "admit";
}

static const struct adp_signals *signals(const struct adp_explained *e)
{
    return adp_host_config(e->runtime)->signals;
}

static bool is_present(const struct adp_explained *e, uint32_t signal)
{
    return e->why.present >> signal & 1u;
}

/* Present, and by sources of its own: what supplied it is known. */
static bool has_sources(const struct adp_explained *e, uint32_t signal)
{
    return is_present(e, signal) && e->why.readings && e->why.readings[signal].sources;
}

/* Why it is absent. */
static const char *why_of(const struct adp_explained *e, uint32_t signal)
{
    if (!e->why.readings)
        return adp_why_word(ADP_WHY_NO_SNAPSHOT);
    enum adp_why why = e->why.readings[signal].why;
    return adp_why_word(why == ADP_WHY_PRESENT ? ADP_WHY_STALE : why);
}

/* --- for people --- */

static void print_verdict(const struct adp_explained *e)
{
    const adp_decision *d = &e->decision;
    adp_page_put(stdout, "%s", verdict_word(d->policy_action));
    if (e->why.reason)
        adp_page_put(stdout, ": %s, status %u", adp_reason_word(e->why.reason),
                     e->why.status);
    if (e->why.retry_after_ms)
        adp_page_put(stdout, ", retry after %u ms", e->why.retry_after_ms);
    adp_page_put(stdout, "\n\n");
    if (d->fault)
        adp_page_put(
            stdout,
            "  fault     %s: the policy's answer could not be used, on_error spoke\n",
            d->fault);
}

static void print_enforcement(const struct adp_explained *e)
{
    double share = adp_host_config(e->runtime)->policies[0].enforce;
    const struct adp_loaded *policy = adp_host_policy(e->runtime, 0);
    adp_page_put(stdout, "  policy    %s%s%s\n", policy->policy.name,
                 policy->policy.version ? " " : "",
                 policy->policy.version ? policy->policy.version : "");
    adp_page_put(stdout, "  arm       %s: ", e->why.governed ? "governed" : "ungoverned");
    if (e->request_id)
        adp_page_put(stdout,
                     "this request id falls on %s of a split that governs below %s\n",
                     adp_page_value(e->why.arm).text, adp_page_value(share).text);
    else
        adp_page_put(
            stdout,
            "without a request id a request is governed when enforce is 1, and it "
            "is %s\n",
            adp_page_value(share).text);
    adp_page_put(stdout, "  enforced  %s: the host is told %s, %u\n",
                 e->decision.enforced ? "yes" : "no", verdict_word(e->decision.action),
                 e->decision.status);
}

/* "kv_pressure >= 0.9" */
static int gate_words(const struct adp_gate_state *g, char *to, size_t cap)
{
    return snprintf(to, cap, "%s %s %s", g->signal, g->op,
                    g->has_threshold ? adp_page_value(g->threshold).text
                                     : "(no fixed threshold)");
}

static void print_gate(const struct adp_gate_state *g, int width)
{
    char words[160];
    gate_words(g, words, sizeof words);
    adp_page_put(stdout, "  rule %u  %-*s", g->rule, width, words);
    if (!g->has_value)
        adp_page_put(stdout, "   absent: an absent signal holds no gate\n");
    else if (!g->has_threshold)
        adp_page_put(stdout, "   reads %s\n", adp_page_value(g->value).text);
    else if (g->held)
        adp_page_put(stdout, "   holds: reads %s, %s beyond\n",
                     adp_page_value(g->value).text, adp_page_value(g->distance).text);
    else
        adp_page_put(stdout, "   does not hold: reads %s, %s short\n",
                     adp_page_value(g->value).text,
                     adp_page_value(fabs(g->distance)).text);
}

/* What is disclosed, and the capacity that the engine tells where none is: one engine's, as
 * the concurrency is; of several the least, since kv_pressure is the fullest's. */
static struct adp_reach reach_of(const struct adp_explained *e)
{
    struct adp_reach reach = adp_host_config(e->runtime)->reach;
    if (!(reach.capacity_tokens > 0))
        reach.capacity_tokens = e->capacity_tokens;
    return reach;
}

/* kv_pressure as it reads above what there can be; else NaN. */
static double passed(const struct adp_explained *e, const struct adp_reach *reach)
{
    int kv = adp_signals_find(signals(e), "kv_pressure");
    bool above = adp_reach_known(reach) && kv >= 0 && is_present(e, (uint32_t)kv) &&
                 adp_reach_is_passed(reach, e->why.value[kv]);
    return above ? e->why.value[kv] : (double)NAN;
}

enum { REACH_TEXT = ADP_REACH_WORDS + 256 };

/* True, and a sentence in `to`, when the gate's threshold cannot be reached, or when a reading
 * says that what tells so is wrong. */
static bool is_out_of_reach(const struct adp_explained *e, const struct adp_gate_state *g,
                            char to[REACH_TEXT])
{
    struct adp_reach reach = reach_of(e);
    char words[ADP_REACH_WORDS], why[ADP_REACH_WHY];
    double read = passed(e, &reach);
    if (!g->has_threshold ||
        !adp_host_out_of_reach(&reach, g->signal, g->op, g->threshold, words))
        return false;
    snprintf(to, REACH_TEXT, "%s", words);
    if (isnan(read))
        return true;
    bool strict = strcmp(g->op, ">") == 0;
    adp_reach_why(&reach, g->threshold, strict, why);
    snprintf(to, REACH_TEXT,
             "by capacity kv_pressure could not %s %s, yet it reads %s, above the most "
             "that there can be: %s; so one of these is wrong",
             strict ? "exceed" : "reach", adp_page_value(g->threshold).text,
             adp_page_value(read).text, why);
    return true;
}

static void print_shadows(const struct adp_explained *e)
{
    struct adp_gate_state gates[ADP_MAX_GATES];
    char words[REACH_TEXT];
    for (uint32_t i = 1; i < adp_host_config(e->runtime)->n_policies; i++)
        for (uint32_t g = 0, n = adp_host_gates(e->runtime, i, gates); g < n; g++)
            if (is_out_of_reach(e, &gates[g], words))
                adp_page_put(stdout, "  shadow    %s, rule %u: %s\n",
                             adp_host_policy(e->runtime, i)->policy.name, gates[g].rule,
                             words);
}

static void print_gates(const struct adp_explained *e)
{
    if (!e->why.n_gates)
        return;
    int width = 0;
    char reach[REACH_TEXT];
    for (uint32_t i = 0; i < e->why.n_gates; i++) {
        char words[160];
        int n = gate_words(&e->why.gates[i], words, sizeof words);
        width = n > width ? n : width;
    }
    adp_page_put(stdout, "\nGates: a rule refuses when all of its gates hold\n");
    for (uint32_t i = 0; i < e->why.n_gates; i++)
        print_gate(&e->why.gates[i], width);
    for (uint32_t i = 0; i < e->why.n_gates; i++)
        if (is_out_of_reach(e, &e->why.gates[i], reach))
            adp_page_put(stdout, "  rule %u  %s\n", e->why.gates[i].rule, reach);
}

static bool is_read(const struct adp_explained *e, uint32_t signal)
{
    const struct adp_loaded *policy = adp_host_policy(e->runtime, 0);
    for (uint32_t i = 0; i < policy->policy.n_signals; i++) {
        if (adp_signals_find(signals(e), adp_loaded_signal(policy, i).name) ==
            (int)signal)
            return true;
    }
    return false;
}

/* The value that was not believed, and where it stands. */
static void print_outside(const struct adp_explained *e, uint32_t i,
                          const struct adp_reading *r)
{
    double lo, hi;
    adp_signals_range(signals(e), i, &lo, &hi);
    adp_page_put(stdout, ": %s, expected %s to %s", adp_page_value(r->outside).text,
                 adp_page_value(lo).text, adp_page_value(hi).text);
    if (r->source >= 0)
        adp_page_put(
            stdout, " in %s",
            adp_expr_text(adp_signals_source(signals(e), i, (uint32_t)r->source, NULL)));
}

/* Nobody supplies it and the policy does not ask for it. */
static bool is_idle(const struct adp_explained *e, uint32_t i)
{
    return !is_present(e, i) && !is_read(e, i) && e->why.readings &&
           e->why.readings[i].why == ADP_WHY_NEVER_SUPPLIED;
}

/* In one line, so that what was read does not drown in them. */
static void print_idle(const struct adp_explained *e)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < e->why.n_signals; i++)
        if (is_idle(e, i))
            adp_page_put(stdout, "%s%s", n++ ? ", " : "  -- never_supplied: ",
                         adp_signals_name(signals(e), i));
    if (n)
        adp_page_put(stdout, "\n");
}

static void print_signals(const struct adp_explained *e)
{
    adp_page_put(stdout, "\nSignals: * is read by the policy\n");
    for (uint32_t i = 0; i < e->why.n_signals; i++) {
        if (is_idle(e, i))
            continue;
        const char *mark = is_read(e, i) ? "*" : " ";
        const char *name = adp_signals_name(signals(e), i);
        if (is_present(e, i))
            adp_page_put(stdout, "%s %-16s %12s  from %s", mark, name,
                         adp_page_value(e->why.value[i]).text,
                         has_sources(e, i) ? "" : "the host");
        else
            adp_page_put(stdout, "%s %-16s %12s  absent: %s", mark, name, "--",
                         why_of(e, i));
        const struct adp_reading *r = e->why.readings ? &e->why.readings[i] : NULL;
        if (has_sources(e, i))
            adp_account_put_sources(stdout, signals(e), i, r);
        if (r && r->why == ADP_WHY_AMBIGUOUS && r->differ[0])
            adp_page_put(stdout, " (series differ in %s)", r->differ);
        if (r && r->why == ADP_WHY_OUT_OF_RANGE)
            print_outside(e, i, r);
        if (r && r->skipped && is_present(e, i))
            adp_page_put(stdout, " (%u series left out: %s)", r->skipped,
                         adp_why_word(r->skipped_why));
        adp_page_put(stdout, "\n");
    }
    print_idle(e);
}

void adp_explain_text(const struct adp_explained *e)
{
    print_verdict(e);
    print_enforcement(e);
    print_shadows(e);
    print_gates(e);
    print_signals(e);
}

/* --- for machines --- */

/* null unless `known`. */
static void put_number(struct adp_line *to, const char *key, bool known, double value)
{
    adp_line_key_number(to, key, known ? value : NAN);
}

static void put_signals(struct adp_line *to, const struct adp_explained *e)
{
    adp_line_key(to, "signals");
    adp_line_puts(to, "{");
    for (uint32_t i = 0; i < e->why.n_signals; i++) {
        adp_line_key(to, adp_signals_name(signals(e), i));
        adp_line_puts(to, "{");
        put_number(to, "value", is_present(e, i), e->why.value[i]);
        if (has_sources(e, i))
            adp_account_key_sources(to, signals(e), i, &e->why.readings[i]);
        else
            adp_line_key_text(to, "source", NULL);
        adp_line_key_text(to, "why", is_present(e, i) ? NULL : why_of(e, i));
        adp_line_puts(to, "}");
    }
    adp_line_puts(to, "}");
}

/* As in `report --json`: the tokens where nothing speaks against it. */
static void put_reach(struct adp_line *to, const struct adp_explained *e,
                      const struct adp_gate_state *g)
{
    struct adp_reach reach = reach_of(e);
    char words[REACH_TEXT];
    bool out = is_out_of_reach(e, g, words);
    adp_line_key_text(to, "out_of_reach", out ? words : NULL);
    put_number(to, "reachable_at_tokens", out && isnan(passed(e, &reach)),
               out ? adp_reach_tokens(&reach, g->threshold) : 0);
}

/* Each with those of its gates that cannot be reached. */
static void put_shadows(struct adp_line *to, const struct adp_explained *e)
{
    struct adp_gate_state gates[ADP_MAX_GATES];
    char words[REACH_TEXT];
    adp_line_key(to, "shadows");
    adp_line_puts(to, "[");
    for (uint32_t i = 1; i < adp_host_config(e->runtime)->n_policies; i++) {
        uint32_t n = adp_host_gates(e->runtime, i, gates);
        bool any = false;
        adp_line_puts(to, i > 1 ? ",{" : "{");
        adp_line_key_text(to, "policy", adp_host_policy(e->runtime, i)->policy.name);
        adp_line_key(to, "out_of_reach");
        adp_line_puts(to, "[");
        for (uint32_t g = 0; g < n; g++) {
            if (!is_out_of_reach(e, &gates[g], words))
                continue;
            adp_line_puts(to, any ? "," : "");
            adp_line_string(to, words, strlen(words));
            any = true;
        }
        adp_line_puts(to, "]}");
    }
    adp_line_puts(to, "]");
}

static void put_gates(struct adp_line *to, const struct adp_explained *e)
{
    adp_line_key(to, "gates");
    adp_line_puts(to, "[");
    for (uint32_t i = 0; i < e->why.n_gates; i++) {
        const struct adp_gate_state *g = &e->why.gates[i];
        adp_line_puts(to, i ? ",{" : "{");
        adp_line_key_u64(to, "rule", g->rule);
        adp_line_key_text(to, "signal", g->signal);
        adp_line_key_text(to, "op", g->op);
        put_number(to, "threshold", g->has_threshold, g->threshold);
        put_number(to, "value", g->has_value, g->value);
        put_number(to, "distance", g->has_threshold && g->has_value, g->distance);
        put_reach(to, e, g);
        adp_line_puts(to, "}");
    }
    adp_line_puts(to, "]");
}

void adp_explain_note(const struct adp_explained *e, bool metrics_given)
{
    const struct adp_loaded *policy = adp_host_policy(e->runtime, 0);
    for (uint32_t i = 0; i < e->why.n_signals; i++)
        if (is_read(e, i) && is_present(e, i))
            return;
    if (policy->policy.n_signals)
        adp_say(
            "note: %s: every signal that %s reads is absent, and an absent signal holds "
            "no gate",
            metrics_given ? "nothing to decide on came with the metrics"
                          : "no metrics were given (--metrics PAGE)",
            policy->policy.name);
}

int adp_explain_json(const struct adp_explained *e)
{
    struct adp_line to;
    adp_line_init(&to);
    adp_line_puts(&to, "{");
    adp_line_key_text(&to, "verdict", verdict_word(e->decision.policy_action));
    adp_line_key_u64(&to, "status", e->why.status);
    adp_line_key_text(&to, "reason", adp_reason_word(e->why.reason));
    put_number(&to, "retry_after_ms", e->why.retry_after_ms != 0, e->why.retry_after_ms);
    adp_line_key_bool(&to, "enforced", e->decision.enforced);
    adp_line_key_text(&to, "arm", e->why.governed ? "governed" : "ungoverned");
    adp_line_key_text(&to, "fault", e->decision.fault);
    adp_line_key_u64(&to, "cut_lines", e->cut_lines);
    put_signals(&to, e);
    put_gates(&to, e);
    put_shadows(&to, e);
    adp_line_puts(&to, "}\n");
    int code = to.broken ? ADP_ENOMEM : 0;
    if (code == 0)
        fwrite(to.text, 1, to.len, stdout);
    adp_line_finish(&to);
    return code;
}
