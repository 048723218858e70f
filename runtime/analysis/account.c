/* SPDX-License-Identifier: MIT */
/* The account of a page (account.h). */
#include "runtime/analysis/account.h"

#include "core/dictionary.h"
#include "core/error.h"
#include "core/line.h"
#include "runtime/analysis/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- what both say --- */

static const char *source_text(const struct adp_account *a, uint32_t signal)
{
    int32_t source = a->reading[signal].source;
    return source < 0 ? NULL
                      : adp_expr_text(
                            adp_signals_source(a->set, signal, (uint32_t)source, NULL));
}

/* The sources that supplied it are bits; takes the lowest of them and gives its text. */
static const char *take_source(const struct adp_signals *set, uint32_t signal,
                               uint64_t *left)
{
    uint32_t source = (uint32_t)__builtin_ctzll(*left);
    *left &= *left - 1;
    return adp_expr_text(adp_signals_source(set, signal, source, NULL));
}

void adp_account_put_sources(FILE *to, const struct adp_signals *set, uint32_t signal,
                             const struct adp_reading *reading)
{
    uint64_t left = reading->sources;
    for (const char *glue = ""; left; glue = " and ")
        adp_page_put(to, "%s%s", glue, take_source(set, signal, &left));
}

void adp_account_key_sources(struct adp_line *to, const struct adp_signals *set,
                             uint32_t signal, const struct adp_reading *reading)
{
    static const char glue[] = " and ";
    uint64_t left = reading->sources;
    if (!left) {
        adp_line_key_text(to, "source", NULL);
        return;
    }
    adp_line_key(to, "source");
    adp_line_puts(to, "\"");
    while (left) {
        const char *text = take_source(set, signal, &left);
        adp_line_escaped(to, text, strlen(text));
        adp_line_puts(to, left ? glue : "\"");
    }
}

/* What would feed an absent signal: of its nearest source what the page lacks. False: none
 * of its sources could be fed by one more metric. */
static bool wanted(const struct adp_account *a, uint32_t signal, const char **ret_source,
                   const char **ret_metric)
{
    uint32_t source;
    if (a->reading[signal].why != ADP_WHY_NEVER_SUPPLIED ||
        !adp_signals_nearest(a->set, signal, a->page, &source, ret_metric))
        return false;
    *ret_source = adp_expr_text(adp_signals_source(a->set, signal, source, NULL));
    return true;
}

/* --- a page, for people --- */

static void print_skipped(FILE *to, const struct adp_reading *r)
{
    const char *lead = "; left out: ";
    for (int why = 0; why < ADP_WHY_COUNT; why++)
        if (r->skipped_by[why]) {
            adp_page_put(to, "%s%u %s", lead, r->skipped_by[why],
                         adp_why_word((enum adp_why)why));
            lead = ", ";
        }
}

static void print_present(FILE *to, const struct adp_account *a, uint32_t i)
{
    const struct adp_reading *r = &a->reading[i];
    adp_page_put(to, "from ");
    adp_account_put_sources(to, a->set, i, r);
    adp_page_put(to, "  (%u series", r->taken);
    print_skipped(to, r);
    if (r->age_s > 0)
        adp_page_put(to, "; %s s old", adp_page_value(r->age_s).text);
    adp_page_put(to, ")\n");
}

/* Why, and the way out. */
static void print_absent(FILE *to, const struct adp_account *a, uint32_t i)
{
    const struct adp_reading *r = &a->reading[i];
    const char *source = source_text(a, i), *metric = NULL;
    adp_page_put(to, "absent: %s", adp_why_word(r->why));
    if (wanted(a, i, &source, &metric)) {
        if (metric && strcmp(metric, source) == 0)
            adp_page_put(to, "; %s would feed it", metric);
        else if (metric)
            adp_page_put(to, "; %s would feed %s", metric, source);
        else
            adp_page_put(to, "; %s has its metrics here under other labels", source);
    } else if (r->why == ADP_WHY_FIRST_SAMPLE) {
        if (a->twice)
            adp_page_put(to, "; %s was not on the page before", source);
        else
            adp_page_put(to, "; %s needs a second page: --twice", source);
    } else if (r->why == ADP_WHY_ABOVE_LAST_BOUND) {
        adp_page_put(to, "; more than %s in %s", adp_page_value(r->bound).text, source);
    } else if (r->why == ADP_WHY_OUT_OF_RANGE) {
        double lo, hi;
        adp_signals_range(a->set, i, &lo, &hi);
        adp_page_put(to, ": %s in %s, expected %s to %s", adp_page_value(r->outside).text,
                     source, adp_page_value(lo).text, adp_page_value(hi).text);
        print_skipped(to, r);
    } else if (r->why == ADP_WHY_STALE && r->age_s < 0) {
        adp_page_put(to,
                     " in %s: its timestamp is %s s in the future; the text format has "
                     "milliseconds, OpenMetrics seconds",
                     source, adp_page_value(-r->age_s).text);
        print_skipped(to, r);
    } else if (r->why == ADP_WHY_AMBIGUOUS) {
        adp_page_put(to, "; series of %s differ in %s, declare aggregate:", source,
                     r->differ);
    } else if (source) {
        adp_page_put(to, " in %s", source);
        print_skipped(to, r);
    }
    adp_page_put(to, "\n");
}

static void print_unused(FILE *to, const struct adp_account *a)
{
    uint32_t at = 0, n = 0;
    struct adp_str name;
    while (adp_signals_unused(a->set, a->page, &at, &name)) {
        if (n++ == 0)
            adp_page_put(to, "\nOn the page, used by no signal, and maybe worth one:\n");
        adp_page_put(to, "  %.*s\n", (int)name.n, name.p);
    }
}

void adp_account_print(const struct adp_account *account, FILE *to)
{
    const struct adp_account *a = account;
    adp_page_put(to, "%s: %u series\n", a->name, adp_metrics_count(a->page));
    fputc('\n', to);
    for (uint32_t i = 0; i < adp_signals_count(a->set); i++) {
        bool present = a->reading[i].why == ADP_WHY_PRESENT;
        adp_page_put(to, "  %-16s %12s %-9s ", adp_signals_name(a->set, i),
                     present ? adp_page_value(a->reading[i].value).text : "--",
                     adp_signals_unit(a->set, i));
        if (present)
            print_present(to, a, i);
        else
            print_absent(to, a, i);
    }
    print_unused(to, a);
}

/* --- a page, for machines --- */

static void put_skipped(struct adp_line *to, const struct adp_reading *r)
{
    adp_line_key_u64(to, "skipped", r->skipped);
    adp_line_key(to, "skipped_by");
    adp_line_puts(to, "{");
    for (int why = 0; why < ADP_WHY_COUNT; why++)
        if (r->skipped_by[why])
            adp_line_key_u64(to, adp_why_word((enum adp_why)why), r->skipped_by[why]);
    adp_line_puts(to, "}");
}

static void put_reading(struct adp_line *to, const struct adp_account *a, uint32_t i)
{
    const struct adp_reading *r = &a->reading[i];
    bool present = r->why == ADP_WHY_PRESENT;
    const char *source = NULL, *metric = NULL;
    wanted(a, i, &source, &metric);
    adp_line_key(to, adp_signals_name(a->set, i));
    adp_line_puts(to, "{");
    adp_line_key_number(to, "value", present ? r->value : (double)NAN);
    adp_line_key_text(to, "unit", adp_signals_unit(a->set, i));
    adp_account_key_sources(to, a->set, i, r);
    adp_line_key_text(to, "why", present ? NULL : adp_why_word(r->why));
    adp_line_key_u64(to, "series", present ? r->taken : 0);
    put_skipped(to, r);
    adp_line_key_number(to, "age_s", present ? r->age_s : (double)NAN);
    adp_line_key_text(to, "wants", metric);
    adp_line_puts(to, "}");
}

/* Writes what was built. */
static int finish(struct adp_line *built, FILE *to)
{
    int code = built->broken ? ADP_ENOMEM : 0;
    if (code == 0)
        fwrite(built->text, 1, built->len, to);
    adp_line_finish(built);
    return code;
}

int adp_account_json(const struct adp_account *account, FILE *to)
{
    const struct adp_account *a = account;
    struct adp_line line;
    uint32_t at = 0;
    struct adp_str name;
    adp_line_init(&line);
    adp_line_puts(&line, "{");
    adp_line_key_text(&line, "page", a->name);
    adp_line_key_u64(&line, "bad_lines", a->bad_lines);
    adp_line_key_u64(&line, "cut_lines", a->cut_lines);
    adp_line_key_u64(&line, "duplicates", a->duplicates);
    adp_line_key(&line, "signals");
    adp_line_puts(&line, "{");
    for (uint32_t i = 0; i < adp_signals_count(a->set); i++)
        put_reading(&line, a, i);
    adp_line_puts(&line, "}");
    adp_line_key(&line, "unused");
    adp_line_puts(&line, "[");
    for (const char *comma = ""; adp_signals_unused(a->set, a->page, &at, &name);
         comma = ",") {
        adp_line_puts(&line, comma);
        adp_line_string(&line, name.p, name.n);
    }
    adp_line_puts(&line, "]}\n");
    return finish(&line, to);
}

/* --- the signals themselves --- */

/* A shipped signal by that name, or NULL. */
static const struct adp_signal_def *shipped(const char *name)
{
    uint32_t n;
    const struct adp_signal_def *def = adp_dictionary(&n);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(def[i].name, name) == 0)
            return &def[i];
    return NULL;
}

/* `text` as the dictionary's table writes it; "=" marks an expression there. */
static bool is_written(const struct adp_signal_def *def, const char *text)
{
    for (const char *const *m = def->metrics; *m; m++)
        if (strcmp(**m == '=' ? *m + 1 : *m, text) == 0)
            return true;
    return false;
}

/* Sources of the operator's, and the shipped ones as they are written: not the same again
 * under each other prefix. */
static void print_sources(FILE *to, const struct adp_signals *set, uint32_t signal)
{
    const struct adp_signal_def *def = shipped(adp_signals_name(set, signal));
    bool own = true;
    for (uint32_t k = 0; k < adp_signals_sources(set, signal); k++) {
        const char *text = adp_expr_text(adp_signals_source(set, signal, k, NULL));
        bool written = def && is_written(def, text);
        own &= !written;
        if (own || written)
            adp_page_put(to, "    %s\n", text);
    }
}

static void print_prefixes(FILE *to)
{
    uint32_t n;
    const struct adp_prefix *p = adp_prefixes(&n);
    adp_page_put(to, "Names are taken under other prefixes too:");
    for (uint32_t i = 0; i < n; i++)
        for (const char *const *o = p[i].others;
             o < p[i].others + sizeof p[i].others / sizeof *o && *o; o++)
            adp_page_put(to, "%s %s for %s", i || o > p[i].others ? "," : "", *o,
                         p[i].prefix);
    adp_page_put(to, "\n");
}

void adp_account_print_set(const struct adp_signals *set, FILE *to)
{
    fputs("Signals, and the sources that are tried for each, in order; the first that "
          "yields\na sane value wins. Dictionary " ADP_DICTIONARY_VERSION ".\n\n",
          to);
    for (uint32_t i = 0; i < adp_signals_count(set); i++) {
        double lo, hi;
        const char *about = adp_signals_about(set, i);
        adp_signals_range(set, i, &lo, &hi);
        adp_page_put(to, "%s  %s", adp_signals_name(set, i), adp_signals_unit(set, i));
        if (isfinite(lo) && isfinite(hi))
            adp_page_put(to, ", %s to %s", adp_page_value(lo).text,
                         adp_page_value(hi).text);
        else if (isfinite(lo))
            adp_page_put(to, ", from %s", adp_page_value(lo).text);
        else if (isfinite(hi))
            adp_page_put(to, ", up to %s", adp_page_value(hi).text);
        adp_page_put(to, ", at most %s s old%s%s\n",
                     adp_page_value((double)adp_signals_age_limit(set, i) * 1e-9).text,
                     about ? ": " : "", about ? about : "");
        print_sources(to, set, i);
        adp_page_put(to, "\n");
    }
    print_prefixes(to);
}

static void put_declared(struct adp_line *to, const struct adp_signals *set, uint32_t i)
{
    double lo, hi;
    adp_signals_range(set, i, &lo, &hi);
    adp_line_key(to, adp_signals_name(set, i));
    adp_line_puts(to, "{");
    adp_line_key_text(to, "unit", adp_signals_unit(set, i));
    adp_line_key(to, "range");
    adp_line_puts(to, "[");
    adp_line_number(to, lo);
    adp_line_puts(to, ",");
    adp_line_number(to, hi);
    adp_line_puts(to, "]");
    adp_line_key_number(to, "max_age_s", (double)adp_signals_age_limit(set, i) * 1e-9);
    adp_line_key_text(to, "about", adp_signals_about(set, i));
    adp_line_key(to, "sources");
    adp_line_puts(to, "[");
    for (uint32_t k = 0; k < adp_signals_sources(set, i); k++) {
        enum adp_aggregate aggregate;
        const struct adp_expr *e = adp_signals_source(set, i, k, &aggregate);
        adp_line_puts(to, k ? ",{" : "{");
        adp_line_key_text(to, "source", adp_expr_text(e));
        adp_line_key_text(to, "aggregate",
                          aggregate == ADP_AGG_NONE ? NULL
                                                    : adp_aggregate_word(aggregate));
        adp_line_puts(to, "}");
    }
    adp_line_puts(to, "]}");
}

int adp_account_set_json(const struct adp_signals *set, FILE *to)
{
    struct adp_line line;
    adp_line_init(&line);
    adp_line_puts(&line, "{");
    adp_line_key_text(&line, "dictionary", ADP_DICTIONARY_VERSION);
    adp_line_key(&line, "signals");
    adp_line_puts(&line, "{");
    for (uint32_t i = 0; i < adp_signals_count(set); i++)
        put_declared(&line, set, i);
    adp_line_puts(&line, "}}\n");
    return finish(&line, to);
}
