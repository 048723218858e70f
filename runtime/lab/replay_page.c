/* SPDX-License-Identifier: MIT */
/* The page of a replay. What is true of it stands before what it says. */
#include "core/line.h"
#include "runtime/analysis/page.h"
#include "runtime/lab/replay.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NAME = 26 };

static double share(uint64_t n, uint64_t of)
{
    return of ? (double)n / (double)of : NAN;
}

static void print_truth(FILE *to, const struct adp_replay_result *result)
{
    bool watch = !*result->recorded;
    adp_page_heading(to, "WHAT IS TRUE OF THIS PAGE");
    if (result->interrupted)
        adp_page_wrap(
            to, 2, 4,
            "! Interrupted: it is of what was asked until then, not of the whole "
            "trace. No logs were written; earlier ones are as they were.");
    adp_page_wrap(
        to, 2, 4,
        "! Open loop: the signals are those of the recorded run. What another "
        "policy refuses would have relieved the engine, and what it admits would "
        "have loaded it; neither is in them.");
    adp_page_wrap(
        to, 2, 4,
        "! Nothing is served, so no outcomes come back: a policy that counts what "
        "is in flight only ever counts up.");
    if (!watch)
        adp_page_wrap(
            to, 2, 4,
            "! For a policy without state each answer is right up to its first "
            "divergence from the recorded one; behind it, it is an answer to the "
            "load there was.");
    if (result->watched)
        adp_page_wrap(
            to, 2, 4,
            "! Samples are not requests: a share is a duty cycle, the part of the "
            "samples on which the policy would have refused.");
    if (result->anonymous && !watch)
        adp_page_wrap(
            to, 2, 4,
            "! %" PRIu64
            " decisions have neither a recorded draw nor an id: a random policy draws "
            "anew.",
            result->anonymous);
    if (result->failed)
        adp_page_wrap(to, 2, 4, "! %" PRIu64 " scrapes had failed.", result->failed);
    if (result->corrupt)
        adp_page_wrap(to, 2, 4, "! %" PRIu64 " corrupt lines were passed over.",
                      result->corrupt);
    if (result->backward)
        adp_page_wrap(to, 2, 4,
                      "! On %" PRIu64
                      " %s the recorded time goes back (a clock that was set "
                      "back, or several writers): seconds are from the earliest time.",
                      result->backward, *result->recorded ? "decisions" : "samples");
    if (result->others)
        adp_page_wrap(to, 2, 4,
                      "! %" PRIu64 " decisions are of shadows or of other runs than the "
                      "first: not replayed.",
                      result->others);
}

/* Signals that were never there: "a, b". */
static void list_never(const struct adp_replay_said *said, char *to, size_t cap)
{
    size_t used = 0;
    to[0] = '\0';
    for (size_t i = 0; i < said->n_never && used < cap; i++)
        used +=
            (size_t)snprintf(to + used, cap - used, i ? ", %s" : "%s", said->never[i]);
}

static void print_judged(FILE *to, const struct adp_replay_said *said)
{
    char never[ADP_MAX_SIGNALS * 66];
    const char *were = said->n_never > 1 ? "were" : "was";
    list_never(said, never, sizeof never);
    if (said->unjudged && said->faults == said->asked)
        adp_page_wrap(
            to, 4, 6,
            "UNKNOWN: %s failed on every decision; on_error answered, the policy "
            "never did.",
            said->name);
    else if (said->unjudged && said->n_never)
        adp_page_wrap(to, 4, 6, "UNKNOWN: %s could not be judged: %s %s never there.",
                      said->name, never, were);
    else if (said->unjudged)
        adp_page_wrap(to, 4, 6,
                      "UNKNOWN: %s could not be judged: the signals it reads were never "
                      "there together.",
                      said->name);
    else if (said->n_never && said->asked)
        adp_page_wrap(to, 4, 6, "%s %s never there.", never, were);
}

static void print_said(FILE *to, const struct adp_replay_result *result)
{
    bool watch = !*result->recorded;
    adp_page_heading(to, "WHAT EACH WOULD HAVE SAID");
    adp_page_name(to, "policy", NAME);
    fprintf(to, "%10s%10s%10s%14s\n", "asked", result->watched ? "duty" : "refused",
            "faults", watch ? "" : "divergences");
    for (size_t i = 0; i < result->n_said; i++) {
        const struct adp_replay_said *said = &result->said[i];
        char name[96], divergences[32] = "";
        snprintf(name, sizeof name, "%s%s", said->name,
                 said->baseline ? " (baseline)" : "");
        if (!watch)
            snprintf(divergences, sizeof divergences, "%" PRIu64,
                     said->agree[0][1] + said->agree[1][0]);
        adp_page_name(to, name, NAME);
        adp_page_put(to, "%10" PRIu64 "%10s%10" PRIu64 "%14s\n", said->asked,
                     adp_page_percent(share(said->refused, said->asked)).text,
                     said->faults, divergences);
        if (*said->params)
            adp_page_wrap(to, 4, 6, "%s", said->params);
        print_judged(to, said);
    }
}

static void print_agreement(FILE *to, const struct adp_replay_result *result)
{
    if (!*result->recorded)
        return;
    adp_page_heading(to, "AGREEMENT WITH THE RECORDED POLICY");
    for (size_t i = 0; i < result->n_said; i++) {
        const struct adp_replay_said *said = &result->said[i];
        adp_page_name(to, said->name, NAME);
        adp_page_put(to, "%18s%18s\n", "it admits", "it refuses");
        adp_page_name(to, "  recorded: admitted", NAME);
        adp_page_put(to, "%18" PRIu64 "%18" PRIu64 "\n", said->agree[0][0],
                     said->agree[0][1]);
        adp_page_name(to, "  recorded: refused", NAME);
        adp_page_put(to, "%18" PRIu64 "%18" PRIu64 "\n", said->agree[1][0],
                     said->agree[1][1]);
        if (said->first)
            adp_page_wrap(to, 4, 6, "first divergence: decision %" PRIu64 ", %s s in",
                          said->first, adp_page_number(said->first_at).text);
        else if (said->asked == said->not_held)
            adp_page_wrap(to, 4, 6, "nothing can be held against the recorded answers");
        else
            adp_page_wrap(to, 4, 6, "no divergence: every answer is the recorded one's");
        if (said->not_held)
            adp_page_wrap(to, 4, 6,
                          "not in the table: %" PRIu64
                          ", where a fault was recorded, or is one here",
                          said->not_held);
    }
}

/* A bar of at most 24 columns. */
static void print_bar(FILE *to, double part)
{
    int n = isnan(part) ? 0 : (int)(part * 24 + 0.5);
    for (int i = 0; i < n; i++)
        fputs("\u2588", to);
    fputc('\n', to);
}

static void print_sweep(FILE *to, const struct adp_replay_result *result)
{
    char title[96];
    if (!result->n_points)
        return;
    snprintf(title, sizeof title, "SWEEP OF %s", result->swept);
    adp_page_heading(to, title);
    adp_page_wrap(
        to, 2, 2,
        "Distance: how far beyond its threshold the gate on %s came at most, the "
        "other gates of its rule holding; below 0 it never fired.",
        result->swept);
    adp_page_name(to, result->swept, 14);
    fprintf(to, "%10s%12s\n", "refused", "distance");
    for (size_t i = 0; i < result->n_points; i++) {
        const struct adp_replay_point *point = &result->points[i];
        double part = share(point->refused, point->asked);
        adp_page_name(to, adp_page_exact(point->value).text, 14);
        adp_page_put(to, "%10s%12s  ", adp_page_percent(part).text,
                     adp_page_number(point->closest).text);
        print_bar(to, part);
    }
}

int adp_replay_print(const struct adp_replay_result *result, FILE *to)
{
    bool watch = !*result->recorded;
    if (watch)
        adp_page_wrap(to, 0, 2, "Replay of %" PRIu64 " samples over %s s.",
                      result->decisions, adp_page_number(result->seconds).text);
    else
        adp_page_wrap(to, 0, 2, "Replay of %" PRIu64 " decisions of %s over %s s.",
                      result->decisions, result->recorded,
                      adp_page_number(result->seconds).text);
    adp_page_field(to, 15, "written to", "%s",
                   *result->folder ? result->folder : "nowhere: the page is all");
    print_truth(to, result);
    print_said(to, result);
    print_agreement(to, result);
    print_sweep(to, result);
    return adp_page_end(to);
}

/* ---- JSON ----------------------------------------------------------------------------- */

static void put_text(struct adp_line *to, const char *key, const char *text)
{
    adp_line_key_text(to, key, *text ? text : NULL);
}

static void put_said(struct adp_line *to, const struct adp_replay_said *said, bool watch)
{
    adp_line_puts(to, "{");
    put_text(to, "policy", said->name);
    put_text(to, "params", said->params);
    adp_line_key_bool(to, "baseline", said->baseline);
    adp_line_key_u64(to, "asked", said->asked);
    adp_line_key_u64(to, "refused", said->refused);
    adp_line_key_u64(to, "faults", said->faults);
    adp_line_key(to, "judged");
    adp_line_puts(to, said->baseline ? "null" : said->unjudged ? "false" : "true");
    adp_line_key(to, "never_there");
    adp_line_puts(to, "[");
    for (size_t i = 0; i < said->n_never; i++) {
        adp_line_puts(to, i ? "," : "");
        adp_line_string(to, said->never[i], strlen(said->never[i]));
    }
    adp_line_puts(to, "]");
    adp_line_key(to, "agreement");
    if (watch) {
        adp_line_puts(to, "null}");
        return;
    }
    adp_line_puts(to, "{");
    adp_line_key_u64(to, "both_admit", said->agree[0][0]);
    adp_line_key_u64(to, "only_it_refuses", said->agree[0][1]);
    adp_line_key_u64(to, "only_recorded_refuses", said->agree[1][0]);
    adp_line_key_u64(to, "both_refuse", said->agree[1][1]);
    adp_line_key_u64(to, "faults_left_out", said->not_held);
    adp_line_key(to, "first_divergence");
    if (said->first) {
        adp_line_puts(to, "{");
        adp_line_key_u64(to, "decision", said->first);
        adp_line_key_number(to, "after_s", said->first_at);
        adp_line_puts(to, "}}}");
    } else {
        adp_line_puts(to, "null}}");
    }
}

static void put_points(struct adp_line *to, const struct adp_replay_result *result)
{
    adp_line_key(to, "sweep");
    if (!result->n_points) {
        adp_line_puts(to, "null");
        return;
    }
    adp_line_puts(to, "{");
    put_text(to, "param", result->swept);
    adp_line_key(to, "points");
    adp_line_puts(to, "[");
    for (size_t i = 0; i < result->n_points; i++) {
        const struct adp_replay_point *point = &result->points[i];
        adp_line_puts(to, i ? ",{" : "{");
        adp_line_key_number(to, "value", point->value);
        adp_line_key_number(to, "refused_share", share(point->refused, point->asked));
        adp_line_key_number(to, "closest", point->closest);
        adp_line_puts(to, "}");
    }
    adp_line_puts(to, "]}");
}

int adp_replay_json(const struct adp_replay_result *result, FILE *to)
{
    struct adp_line line;
    bool watch = !*result->recorded;
    adp_line_init(&line);
    adp_line_puts(&line, "{");
    put_text(&line, "experiment", result->experiment);
    put_text(&line, "folder", result->folder);
    put_text(&line, "recorded", result->recorded);
    put_text(&line, "trace", watch ? "samples" : "decisions");
    adp_line_key_bool(&line, "interrupted", result->interrupted);
    adp_line_key_u64(&line, "replayed", result->decisions);
    adp_line_key_number(&line, "seconds", result->seconds);
    adp_line_key_u64(&line, "times_going_back", result->backward);
    adp_line_key_u64(&line, "not_replayed", result->others);
    adp_line_key_u64(&line, "scrape_errors", result->failed);
    adp_line_key_u64(&line, "corrupt_lines", result->corrupt);
    adp_line_key_u64(&line, "anonymous", result->anonymous);
    adp_line_key_u64(&line, "draws", result->draws);
    adp_line_key(&line, "policies");
    adp_line_puts(&line, "[");
    for (size_t i = 0; i < result->n_said; i++) {
        if (i)
            adp_line_puts(&line, ",");
        put_said(&line, &result->said[i], watch);
    }
    adp_line_puts(&line, "]");
    put_points(&line, result);
    adp_line_puts(&line, "}\n");
    int e = line.broken ? ADP_ENOMEM : 0;
    if (!e && fwrite(line.text, 1, line.len, to) != line.len)
        e = ADP_EIO;
    adp_line_finish(&line);
    return e ? e : adp_page_end(to);
}
