/* SPDX-License-Identifier: MIT */
/* Sheets (core/sheet.h): filling one, and seeing that it is filled with the same. */
#include "core/sheet.h"

#include "core/lane.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_IDS = 512,
    FIRST_TEXT = 80 << 10 /* 64 KiB of names, and what stands between them */
};

int adp_sheet_init(struct adp_sheet *sheet, uint32_t number)
{
    *sheet = (struct adp_sheet) { .number = number };
    sheet->id = malloc(FIRST_IDS * sizeof *sheet->id);
    sheet->cap_id = FIRST_IDS;
    sheet->text = malloc(FIRST_TEXT);
    sheet->cap_text = FIRST_TEXT;
    if (adp_metrics_create(&sheet->metrics) == 0 && sheet->id && sheet->text)
        return 0;
    adp_sheet_finish(sheet);
    return ADP_ENOMEM;
}

void adp_sheet_finish(struct adp_sheet *sheet)
{
    adp_metrics_destroy(sheet->metrics);
    free(sheet->id);
    free(sheet->text);
    *sheet = (struct adp_sheet) { 0 };
}

void adp_sheet_forget(struct adp_sheet *sheet)
{
    sheet->n = 0;
    sheet->left_out = 0;
    sheet->shape = 0;
    sheet->again = sheet->told = false;
    sheet->bound_for = 0;
}

const struct adp_bound *adp_sheet_bound(struct adp_sheet *sheet, uint32_t generation,
                                        const struct adp_signals *signals)
{
    if (sheet->bound_for != generation)
        adp_signals_bind(signals, sheet->metrics, &sheet->bound);
    sheet->bound_for = generation;
    return &sheet->bound;
}

int adp_sheet_add(struct adp_metrics *to, const adp_metric *metric, struct adp_error *err)
{
    struct adp_label labels[ADP_METRICS_MOST_LABELS];
    uint32_t n = 0;
    if (!metric->name)
        return adp_error_set(err, ADP_EINVAL, "a metric without a name");
    for (const char *const *l = metric->labels; l && l[0]; l += 2) {
        if (!l[1])
            return adp_error_set(err, ADP_EINVAL, "metric %s: label %s has no value",
                                 metric->name, l[0]);
        if (n == ADP_METRICS_MOST_LABELS)
            return adp_error_set(err, ADP_EFULL, "metric %s: more than %u labels",
                                 metric->name, ADP_METRICS_MAX_LABELS);
        labels[n].name = (struct adp_str) { l[0], strlen(l[0]) };
        labels[n++].value = (struct adp_str) { l[1], strlen(l[1]) };
    }
    struct adp_str name = { metric->name, strlen(metric->name) };
    return adp_metrics_add(to, name, labels, n, metric->value, false, 0, err);
}

/* --- what a shape is --- */

/* What is in there now came from `n` things that are remembered. */
static void settle(struct adp_sheet *sheet, uint32_t n, bool by_id)
{
    if (!n || adp_metrics_count(sheet->metrics) != n)
        return;
    sheet->n = n;
    sheet->by_id = by_id;
    bool fits = true;
    for (uint32_t i = 0; i < n; i++)
        fits &= adp_lane_packs(adp_metrics_at(sheet->metrics, i));
    sheet->number += 2;
    if (sheet->number < 2) /* once around: 0 says none */
        sheet->number += 2;
    sheet->shape = fits ? sheet->number : 0;
}

/* --- by name --- */

/* The text of one that was given: how many labels, then each string as its length and its
 * bytes with the NUL. The length is for getting on: what is compared ends at its own NUL,
 * wherever that of the host's string may be. */
static const char *is_next(const char *at, const char *string)
{
    uint32_t len;
    memcpy(&len, at, sizeof len);
    at += sizeof len;
    return strcmp(at, string) == 0 ? at + len + 1 : NULL;
}

static const char *is_next_metric(const char *at, const adp_metric *m)
{
    uint32_t n;
    memcpy(&n, at, sizeof n);
    at = m->name ? is_next(at + sizeof n, m->name) : NULL;
    const char *const *l = m->labels;
    for (; at && n; n--, l += 2) {
        if (!l || !l[0] || !l[1])
            return NULL;
        at = is_next(at, l[0]);
        if (at)
            at = is_next(at, l[1]);
    }
    return l && l[0] ? NULL : at;
}

static bool has_names(const struct adp_sheet *sheet, const adp_metric *metrics,
                      uint32_t n)
{
    const char *at = sheet->text;
    if (!n || sheet->n != n || sheet->by_id)
        return false;
    for (uint32_t i = 0; at && i < n; i++)
        at = is_next_metric(at, &metrics[i]);
    return at != NULL;
}

/* Room for `more` bytes of text; NULL: out of memory. */
static char *text_room(struct adp_sheet *sheet, size_t more)
{
    size_t need = sheet->text_len + more;
    if (need > sheet->cap_text) {
        char *text = realloc(sheet->text, 2 * need);
        if (!text)
            return NULL;
        sheet->text = text;
        sheet->cap_text = 2 * need;
    }
    char *at = sheet->text + sheet->text_len;
    sheet->text_len = need;
    return at;
}

static bool keep_string(struct adp_sheet *sheet, const char *string)
{
    uint32_t len = (uint32_t)strlen(string); /* a series has it: at most 16 MiB */
    char *at = text_room(sheet, sizeof len + len + 1);
    if (!at)
        return false;
    memcpy(at, &len, sizeof len);
    memcpy(at + sizeof len, string, len + 1);
    return true;
}

static bool keep_metric(struct adp_sheet *sheet, const adp_metric *m)
{
    uint32_t n = 0;
    size_t where = sheet->text_len;
    if (!text_room(sheet, sizeof n) || !keep_string(sheet, m->name))
        return false;
    for (const char *const *l = m->labels; l && l[0] && l[1]; l += 2, n++)
        if (!keep_string(sheet, l[0]) || !keep_string(sheet, l[1]))
            return false;
    memcpy(sheet->text + where, &n, sizeof n);
    return true;
}

void adp_sheet_fill(struct adp_sheet *sheet, const adp_metric *metrics, uint32_t n)
{
    if (has_names(sheet, metrics, n)) {
        for (uint32_t i = 0; i < n; i++)
            adp_metrics_set(sheet->metrics, i, metrics[i].value);
        sheet->again = true;
        return;
    }
    adp_sheet_forget(sheet);
    adp_metrics_clear(sheet->metrics);
    sheet->text_len = 0;
    bool kept = true;
    for (uint32_t i = 0; i < n; i++) {
        bool added = adp_sheet_add(sheet->metrics, &metrics[i], NULL) == 0;
        sheet->left_out += !added;
        kept = kept && added && keep_metric(sheet, &metrics[i]);
    }
    if (kept)
        settle(sheet, n, false);
}

/* --- by number --- */

/* Sets the values as long as the ids are those of before. */
static bool set_values(struct adp_sheet *sheet, const adp_sample *samples, uint32_t n)
{
    if (!n || sheet->n != n || !sheet->by_id)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (sheet->id[i] != samples[i].id)
            return false;
        adp_metrics_set(sheet->metrics, i, samples[i].value);
    }
    sheet->again = true;
    return true;
}

static bool keep_ids(struct adp_sheet *sheet, const adp_sample *samples, uint32_t n)
{
    if (n > sheet->cap_id) {
        uint32_t *id = realloc(sheet->id, n * sizeof *id);
        if (!id)
            return false;
        sheet->id = id;
        sheet->cap_id = n;
    }
    for (uint32_t i = 0; i < n; i++)
        sheet->id[i] = samples[i].id;
    return true;
}

void adp_sheet_fill_ids(struct adp_sheet *sheet, const struct adp_metrics *interned,
                        uint32_t known, const adp_sample *samples, uint32_t n)
{
    if (set_values(sheet, samples, n))
        return;
    adp_sheet_forget(sheet);
    adp_metrics_clear(sheet->metrics);
    for (uint32_t i = 0; i < n; i++) {
        if (samples[i].id < 1 || samples[i].id > known) {
            sheet->left_out++;
            continue;
        }
        const struct adp_series *s = adp_metrics_at(interned, samples[i].id - 1);
        sheet->left_out +=
            adp_metrics_add(sheet->metrics, s->name, s->labels, s->n_labels,
                            samples[i].value, false, 0, NULL) < 0;
    }
    if (keep_ids(sheet, samples, n))
        settle(sheet, n, true);
}
