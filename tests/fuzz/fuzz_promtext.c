/* SPDX-License-Identifier: MIT */
/* Any bytes as a metrics page. Beyond not crashing: the counts agree, each series is
 * found again, the series spelled out as a page read back as the same series, and the
 * page compared with itself, or with a change in it, gives what reading it gives. */
#include "core/number.h"
#include "core/promtext.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void spell_quoted(struct adp_line *page, struct adp_str text)
{
    adp_line_put(page, "\"", 1);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\\' || c == '"' || c == '\n')
            adp_line_put(page, "\\", 1);
        adp_line_put(page, c == '\n' ? "n" : &c, 1);
    }
    adp_line_put(page, "\"", 1);
}

static void spell_value(struct adp_line *page, double value)
{
    if (isnan(value))
        adp_line_puts(page, "NaN");
    else if (isinf(value))
        adp_line_puts(page, value > 0 ? "+Inf" : "-Inf");
    else
        adp_line_number(page, value);
}

static void spell(struct adp_line *page, const struct adp_metrics *m)
{
    for (uint32_t i = 0; i < adp_metrics_count(m); i++) {
        const struct adp_series *s = adp_metrics_at(m, i);
        adp_line_puts(page, "{");
        spell_quoted(page, s->name);
        for (uint32_t k = 0; k < s->n_labels; k++) {
            adp_line_puts(page, ",");
            spell_quoted(page, s->labels[k].name);
            adp_line_puts(page, "=");
            spell_quoted(page, s->labels[k].value);
        }
        adp_line_puts(page, "} ");
        spell_value(page, s->value);
        adp_line_puts(page, "\n");
    }
}

static void same_series(const struct adp_metrics *a, const struct adp_metrics *b)
{
    must(adp_metrics_count(a) == adp_metrics_count(b));
    for (uint32_t i = 0; i < adp_metrics_count(a); i++) {
        const struct adp_series *s = adp_metrics_at(a, i);
        must(adp_metrics_same(a, s) == s);
        must(adp_metrics_same(b, s) == adp_metrics_at(b, i));
        double x = s->value, y = adp_metrics_at(b, i)->value;
        must(isnan(x) ? isnan(y) : !memcmp(&x, &y, sizeof x));
        must(!s->has_time || isfinite(s->time_s));
        uint32_t first = adp_metrics_find(a, s->name.p, s->name.n);
        must(first <= i);
        must(s->next == ADP_NO_SERIES || (s->next > i && s->next < adp_metrics_count(a)));
    }
}

/* Only printable ASCII, whatever was on the page. */
static void plain_log(const struct adp_metrics *m)
{
    struct adp_line line;
    adp_line_init(&line);
    adp_metrics_write(m, &line);
    must(!line.broken);
    for (size_t i = 0; i < line.len; i++)
        must(line.text[i] >= 0x20 && line.text[i] <= 0x7e);
    adp_line_finish(&line);
}

/* Reads `page` into `m`, which knows another, and into a new one: no difference. */
static void same_as_fresh(struct adp_metrics *m, const char *page, size_t len)
{
    struct adp_metrics *fresh = NULL;
    struct adp_promtext_found found = { 0 }, plain = { 0 };
    must(!adp_metrics_create(&fresh));
    int code = adp_promtext_read(m, page, len, &found, NULL);
    must(code == adp_promtext_read(fresh, page, len, &plain, NULL));
    must(found.samples == plain.samples && found.bad_lines == plain.bad_lines);
    must(found.first_bad_line == plain.first_bad_line && !plain.repeated);
    must(found.first_bad_column == plain.first_bad_column);
    must(found.first_bad_why == plain.first_bad_why);
    must(found.openmetrics == plain.openmetrics);
    must(adp_metrics_duplicates(m) == adp_metrics_duplicates(fresh));
    same_series(fresh, m);
    adp_metrics_destroy(fresh);
}

/* The same bytes once more, then with one byte another, then as they were. */
static void read_repeatedly(struct adp_metrics *m, const uint8_t *input, size_t len)
{
    char *page = malloc(len + 1);
    must(page != NULL);
    memcpy(page, input, len);
    same_as_fresh(m, page, len);
    for (size_t i = len / 3; i < len; i += len / 3 + 1) {
        page[i] = page[i] == '7' ? ' ' : '7';
        same_as_fresh(m, page, len);
        page[i] = (char)input[i];
        same_as_fresh(m, page, len);
    }
    free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    struct adp_metrics *m = NULL, *again = NULL;
    struct adp_promtext_found found = { 0 };
    struct adp_error err = { 0 };
    must(!adp_metrics_create(&m) && !adp_metrics_create(&again));
    int code = adp_promtext_read(m, (const char *)input, len, &found, &err);
    must(code == err.code);
    if (code) {
        must(adp_metrics_count(m) == 0 && err.text[0] && err.line && err.column);
    } else {
        must(found.samples == adp_metrics_count(m) + adp_metrics_duplicates(m));
        must(!found.bad_lines == !found.first_bad_line);
        must(!found.bad_lines == !found.first_bad_column);
        must(!found.bad_lines == !found.first_bad_why);
        struct adp_line page;
        adp_line_init(&page);
        spell(&page, m);
        must(!page.broken);
        must(!adp_promtext_read(again, page.text, page.len, &found, NULL));
        must(found.bad_lines == 0);
        same_series(m, again);
        plain_log(m);
        adp_line_finish(&page);
    }
    read_repeatedly(m, input, len);
    adp_metrics_destroy(m);
    adp_metrics_destroy(again);
    return 0;
}
