/* SPDX-License-Identifier: MIT */
/* Lines of the log from records (core/write.h). The order of keys is
 * docs/log-format.md's. */
#include "core/write.h"

#include "core/expr.h"
#include "core/reason.h"

#include <stdlib.h>
#include <string.h>

#define BILLION 1000000000u

/* --- small pieces --- */

/* Nanoseconds as seconds with microseconds, trailing zeros cut: 12.05, 3.0. */
static void put_seconds(struct adp_line *to, uint64_t ns)
{
    char digits[8];
    uint32_t us = (uint32_t)(ns % BILLION / 1000);
    adp_line_u64(to, ns / BILLION);
    digits[0] = '.';
    for (int i = 6; i >= 1; i--, us /= 10)
        digits[i] = (char)('0' + us % 10);
    size_t n = 7;
    while (n > 2 && digits[n - 1] == '0')
        n--;
    adp_line_put(to, digits, n);
}

static void put_hex(struct adp_line *to, uint64_t value)
{
    char text[18];
    text[0] = text[17] = '"';
    for (int i = 16; i >= 1; i--, value >>= 4)
        text[i] = "0123456789abcdef"[value & 15];
    adp_line_put(to, text, sizeof text);
}

static void put_str(struct adp_line *to, struct adp_str s)
{
    adp_line_put(to, s.p, s.n);
}

/* Text that is JSON members already, behind what is there. */
static void put_members(struct adp_line *to, struct adp_str members)
{
    if (!members.n)
        return;
    adp_line_puts(to, ",");
    put_str(to, members);
}

static void put_bool(struct adp_line *to, bool value)
{
    adp_line_puts(to, value ? "true" : "false");
}

static void put_tag(struct adp_line *to, struct adp_tag tag)
{
    adp_line_key(to, "instance");
    put_hex(to, tag.instance);
    adp_line_key(to, "lane");
    adp_line_u64(to, tag.lane);
    adp_line_key(to, "seq");
    adp_line_u64(to, tag.seq);
}

static void begin(struct adp_line *to, uint64_t at_ns)
{
    adp_line_puts(to, "{\"at\":");
    put_seconds(to, at_ns);
}

static void end(struct adp_line *to)
{
    adp_line_puts(to, "}\n");
}

/* --- words of a generation --- */

void adp_words_add(struct adp_line *packed, const char *text, size_t len)
{
    adp_words_add_count(packed, (uint32_t)len);
    adp_line_put(packed, text, len);
    adp_line_put(packed, "\0\0\0", (4 - len % 4) % 4);
}

void adp_words_add_count(struct adp_line *packed, uint32_t count)
{
    adp_line_put(packed, (const char *)&count, sizeof count);
}

static bool cut_count(struct adp_str *rest, uint32_t *ret)
{
    if (rest->n < sizeof *ret)
        return false;
    memcpy(ret, rest->p, sizeof *ret);
    rest->p += sizeof *ret;
    rest->n -= sizeof *ret;
    return true;
}

static bool cut_text(struct adp_str *rest, struct adp_str *ret)
{
    uint32_t len;
    if (!cut_count(rest, &len))
        return false;
    uint64_t padded = ((uint64_t)len + 3) & ~3ull;
    if (padded > rest->n)
        return false;
    *ret = (struct adp_str) { rest->p, len };
    rest->p += padded;
    rest->n -= padded;
    return true;
}

static bool cut_signal(struct adp_words *w, uint32_t i, struct adp_str *rest)
{
    if (!cut_text(rest, &w->key[i]) || !cut_count(rest, &w->n_sources[i]) ||
        w->n_sources[i] > ADP_MAX_SOURCES)
        return false;
    for (uint32_t s = 0; s < w->n_sources[i]; s++)
        if (!cut_text(rest, &w->source[i][s]))
            return false;
    return true;
}

static bool cut_all(struct adp_words *w, struct adp_str rest)
{
    if (w->n_policies > ADP_MAX_POLICIES || w->n_signals > ADP_MAX_KNOWN)
        return false;
    if (!cut_text(&rest, &w->identity) || !cut_text(&rest, &w->tail))
        return false;
    for (uint32_t i = 0; i < w->n_policies; i++)
        if (!cut_text(&rest, &w->policy[i]) || !cut_text(&rest, &w->terms[i]))
            return false;
    for (uint32_t i = 0; i < w->n_signals; i++)
        if (!cut_signal(w, i, &rest))
            return false;
    return true;
}

bool adp_words_set(struct adp_words *words, const struct adp_rec_generation *record,
                   bool *ret_bad)
{
    struct adp_words new = { .generation = record->generation,
                             .n_policies = record->n_policies,
                             .n_signals = record->n_signals };
    new.text = malloc(record->text_len ? record->text_len : 1);
    if (!new.text)
        return false;
    memcpy(new.text, record + 1, record->text_len);
    if (!cut_all(&new, (struct adp_str) { new.text, record->text_len })) {
        free(new.text);
        *ret_bad = true;
        return true;
    }
    free(words->text);
    *words = new;
    return true;
}

void adp_words_finish(struct adp_words *words)
{
    free(words->text);
    *words = (struct adp_words) { 0 };
}

/* --- snapshots seen --- */

bool adp_seen_set(struct adp_seen *seen, const struct adp_rec_snapshot *record,
                  bool keep_metrics)
{
    const struct adp_rec_reading *readings =
        (const struct adp_rec_reading *)(const void *)(record + 1);
    char *metrics = NULL;
    if (!seen->reading)
        seen->reading = calloc(ADP_MAX_KNOWN, sizeof *seen->reading);
    if (keep_metrics && record->metrics_len)
        metrics = malloc(record->metrics_len);
    if (!seen->reading || (keep_metrics && record->metrics_len && !metrics))
        return false;
    seen->number = record->number;
    seen->mono_ns = record->mono_ns;
    seen->n = record->n_signals;
    memcpy(seen->reading, readings, record->n_signals * sizeof *readings);
    free(seen->metrics);
    seen->metrics = metrics;
    seen->metrics_len = metrics ? record->metrics_len : 0;
    if (metrics)
        memcpy(metrics, readings + record->n_signals, record->metrics_len);
    return true;
}

void adp_seen_finish(struct adp_seen *seen)
{
    free(seen->reading);
    free(seen->metrics);
    *seen = (struct adp_seen) { 0 };
}

/* --- signals, sources, whys, ages --- */

/* What is known of one signal when a line is written. */
struct told {
    bool present, explained; /* explained: source, why and age are known */
    double value, age_s;
    int32_t source;
    enum adp_why why;
};

struct signals {
    uint32_t n;
    struct told told[ADP_MAX_KNOWN];
};

static void key_of(struct adp_line *to, const struct adp_words *words, uint32_t i,
                   bool *first)
{
    if (!*first)
        adp_line_puts(to, ",");
    *first = false;
    put_str(to, words->key[i]);
}

/* Ages are kept to the microsecond. */
static void put_age(struct adp_line *to, double age_s)
{
    put_seconds(to, age_s > 0 ? (uint64_t)(age_s * 1e9 + 0.5) : 0);
}

static void put_signals(struct adp_line *to, const struct adp_words *words,
                        const struct signals *s)
{
    bool first = true;
    adp_line_key(to, "signals");
    adp_line_puts(to, "{");
    for (uint32_t i = 0; i < s->n; i++) {
        key_of(to, words, i, &first);
        if (s->told[i].present)
            adp_line_number(to, s->told[i].value);
        else
            adp_line_puts(to, "null");
    }
    adp_line_puts(to, "}");

    first = true;
    adp_line_key(to, "sources");
    adp_line_puts(to, "{");
    for (uint32_t i = 0; i < s->n; i++) {
        const struct told *t = &s->told[i];
        if (!t->present || !t->explained || t->source < 0 ||
            (uint32_t)t->source >= words->n_sources[i])
            continue;
        key_of(to, words, i, &first);
        put_str(to, words->source[i][t->source]);
    }
    adp_line_puts(to, "}");
}

static void put_whys(struct adp_line *to, const struct adp_words *words,
                     const struct signals *s)
{
    bool first = true;
    adp_line_key(to, "whys");
    adp_line_puts(to, "{");
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->told[i].present || !s->told[i].explained)
            continue;
        key_of(to, words, i, &first);
        adp_line_string_or_null(to, adp_why_word(s->told[i].why));
    }
    adp_line_puts(to, "}");

    first = true;
    adp_line_key(to, "ages");
    adp_line_puts(to, "{");
    for (uint32_t i = 0; i < s->n; i++) {
        if (!s->told[i].present || !s->told[i].explained)
            continue;
        key_of(to, words, i, &first);
        put_age(to, s->told[i].age_s);
    }
    adp_line_puts(to, "}");
}

static enum adp_why why_of(uint8_t number)
{
    return number < ADP_WHY_COUNT ? (enum adp_why)number : ADP_WHY_NEVER_SUPPLIED;
}

static struct told told_by_reading(const struct adp_rec_reading *r, double later_s)
{
    return (struct told) { .present = r->why == ADP_WHY_PRESENT,
                           .explained = true,
                           .value = r->value,
                           .age_s = r->age_s + later_s,
                           .source = r->source,
                           .why = why_of(r->why) };
}

/* A decision on a snapshot: values from the record, the rest from the snapshot it names.
 * What the snapshot had and the decision had not is what aged out in between. */
static struct told told_by_snapshot(const struct adp_rec_decision *r, double value,
                                    uint32_t i, const struct adp_seen *seen)
{
    struct told t = { .present = r->present >> i & 1u, .value = value };
    if (!r->snapshot) {
        t.explained = true;
        t.why = ADP_WHY_NO_SNAPSHOT;
        return t;
    }
    if (!seen || i >= seen->n)
        return t;
    double later_s =
        r->mono_ns > seen->mono_ns ? (double)(r->mono_ns - seen->mono_ns) * 1e-9 : 0.0;
    bool present = t.present;
    t = told_by_reading(&seen->reading[i], later_s);
    t.value = value;
    if (t.present && !present)
        t.why = ADP_WHY_STALE;
    t.present = present;
    return t;
}

/* --- decisions --- */

static bool cut_name(const uint8_t **at, size_t *left, uint8_t len, struct adp_str *ret)
{
    if (len > *left)
        return false;
    *ret = (struct adp_str) { (const char *)*at, len };
    *at += len;
    *left -= len;
    return true;
}

bool adp_write_split(const struct adp_rec_decision *record,
                     struct adp_decision_parts *ret)
{
    const uint8_t *at = (const uint8_t *)(record + 1);
    size_t left = record->head.bytes - sizeof *record;
    bool with = record->flags & ADP_REC_INLINE;
    size_t each = with ? sizeof(struct adp_rec_reading) : sizeof(double);
    *ret = (struct adp_decision_parts) { 0 };
    if (record->n_signals > ADP_MAX_KNOWN || record->n_signals * each > left)
        return false;
    if (with)
        ret->inline_reading = (const struct adp_rec_reading *)(const void *)at;
    else
        ret->value = (const double *)(const void *)at;
    at += record->n_signals * each;
    left -= record->n_signals * each;
    if (record->metrics_len > left)
        return false;
    if (record->metrics_len)
        ret->series = at;
    at += record->metrics_len;
    left -= record->metrics_len;
    return cut_name(&at, &left, record->id_len, &ret->id) &&
           cut_name(&at, &left, record->tenant_len, &ret->tenant) &&
           cut_name(&at, &left, record->session_len, &ret->session) &&
           cut_name(&at, &left, record->class_len, &ret->slo_class);
}

static void put_request(struct adp_line *to, const struct adp_rec_decision *r,
                        const struct adp_decision_parts *parts)
{
    adp_line_key(to, "request");
    adp_line_puts(to, "{");
    const struct {
        uint32_t bit;
        const char *key;
        struct adp_str text;
    } texts[] = { { ADP_REC_HAS_TENANT, "tenant", parts->tenant },
                  { ADP_REC_HAS_SESSION, "session", parts->session },
                  { ADP_REC_HAS_CLASS, "slo_class", parts->slo_class } };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!(r->fact_bits & texts[i].bit))
            continue;
        adp_line_key(to, texts[i].key);
        adp_line_string(to, texts[i].text.p, texts[i].text.n);
    }
    if (r->fact_bits & ADP_PRIORITY) {
        adp_line_key(to, "priority");
        adp_line_i64(to, r->priority);
    }
    if (r->fact_bits & ADP_PROMPT) {
        adp_line_key(to, "prompt_tokens");
        adp_line_u64(to, r->prompt_tokens);
    }
    if (r->fact_bits & ADP_OUTPUT) {
        adp_line_key(to, "max_output_tokens");
        adp_line_u64(to, r->max_output_tokens);
    }
    if (r->fact_bits & ADP_DEADLINE) {
        adp_line_key(to, "ttft_deadline_ms");
        adp_line_number(to, r->ttft_deadline_ms);
    }
    adp_line_puts(to, "}");
}

static const char *action_word(uint32_t action)
{
    return action == ADP_REJECT ? "reject" : action == ADP_DEFER ? "defer" : "admit";
}

static void put_verdict(struct adp_line *to, const struct adp_rec_decision *r)
{
    adp_line_key(to, "verdict");
    adp_line_string_or_null(to, action_word(r->action));
    adp_line_key(to, "reason");
    adp_line_string_or_null(to, adp_reason_word(r->reason));
    adp_line_key(to, "status");
    adp_line_u64(to, r->status);
    adp_line_key(to, "retry_after_ms");
    if (r->set & ADP_SET_RETRY)
        adp_line_u64(to, r->retry_after_ms);
    else
        adp_line_puts(to, "null");
    adp_line_key(to, "decide_us");
    adp_line_u64(to, r->decide_ns / 1000);
    adp_line_key(to, "decide_ns");
    adp_line_u64(to, r->decide_ns);
    adp_line_key(to, "enforced");
    put_bool(to, r->flags & ADP_REC_ENFORCED);
    adp_line_key(to, "fault");
    adp_line_string_or_null(to, adp_fault_word((enum adp_fault)r->fault));
}

static void put_inputs(struct adp_line *to, const struct adp_rec_decision *r,
                       const struct adp_words *words)
{
    adp_line_key(to, "mono_ns");
    adp_line_u64(to, r->mono_ns);
    adp_line_key(to, "draw");
    adp_line_number(to, r->draw);
    if (r->set & ADP_SET_P) {
        adp_line_key(to, "p");
        adp_line_number(to, r->p);
    }
    if (r->set & ADP_SET_MARGIN) {
        adp_line_key(to, "margin");
        adp_line_number(to, r->margin);
    }
    if (words && r->binding < words->n_signals) {
        struct adp_str key = words->key[r->binding];
        adp_line_key(to, "binding");
        adp_line_put(to, key.p, key.n ? key.n - 1 : 0); /* without its colon */
    }
}

static void put_metrics(struct adp_line *to, const struct adp_rec_decision *r,
                        const struct adp_decision_parts *parts,
                        const struct adp_seen *seen, bool inline_metrics)
{
    if (parts->metrics) {
        adp_line_key(to, "metrics");
        adp_metrics_write(parts->metrics, to);
    } else if (inline_metrics && seen && seen->metrics) {
        adp_line_key(to, "metrics");
        adp_line_put(to, seen->metrics, seen->metrics_len);
    }
    if (r->snapshot) {
        adp_line_key(to, "snapshot");
        adp_line_u64(to, r->snapshot);
    }
}

static void tell_all(struct signals *s, const struct adp_rec_decision *r,
                     const struct adp_decision_parts *parts,
                     const struct adp_words *words, const struct adp_seen *seen)
{
    s->n = r->n_signals < words->n_signals ? r->n_signals : words->n_signals;
    for (uint32_t i = 0; i < s->n; i++)
        s->told[i] = parts->inline_reading
                         ? told_by_reading(&parts->inline_reading[i], 0)
                         : told_by_snapshot(r, parts->value[i], i, seen);
}

void adp_write_decision(struct adp_line *to, const struct adp_rec_decision *record,
                        const struct adp_decision_parts *parts,
                        const struct adp_words *words, const struct adp_seen *seen,
                        bool inline_metrics, struct adp_tag tag)
{
    const struct adp_rec_decision *r = record;
    bool known = words && r->policy < words->n_policies;
    begin(to, r->head.at_ns);
    if (known) {
        put_members(to, words->identity);
        put_members(to, words->policy[r->policy]);
        put_members(to, words->terms[r->policy]);
    }
    adp_line_key(to, "request_id");
    if (r->fact_bits & ADP_REC_HAS_ID)
        adp_line_string(to, parts->id.p, parts->id.n);
    else
        adp_line_puts(to, "null");
    adp_line_key(to, "id");
    put_hex(to, r->id);
    put_metrics(to, r, parts, seen, inline_metrics);
    struct signals s = { 0 };
    if (words) {
        tell_all(&s, r, parts, words, seen);
        put_signals(to, words, &s);
    }
    put_verdict(to, r);
    if (words) {
        put_whys(to, words, &s);
        put_members(to, words->tail);
    }
    adp_line_key(to, "role");
    adp_line_puts(to, r->flags & ADP_REC_SHADOW ? "\"shadow\"" : "\"governing\"");
    adp_line_key(to, "arm");
    adp_line_puts(to, r->flags & ADP_REC_GOVERNED ? "\"governed\"" : "\"ungoverned\"");
    put_request(to, r, parts);
    put_inputs(to, r, words);
    put_tag(to, tag);
    end(to);
}

/* --- the others --- */

static const char *end_word(uint32_t end)
{
    switch (end) {
    case ADP_DONE:
        return "done";
    case ADP_FAILED:
        return "failed";
    case ADP_CANCELLED:
        return "cancelled";
    default:
        return NULL;
    }
}

/* True for a name of ours that this outcome says already: a key is written once. */
static bool is_said(const struct adp_rec_outcome *r, const char *name, size_t len)
{
    const struct {
        const char *name;
        bool said;
    } ours[] = {
        { "ttft_ms", r->present & ADP_O_TTFT },
        { "total_ms", r->present & ADP_O_TOTAL },
        { "ok", r->ok >= 0 },
        { "status", r->present & ADP_O_STATUS },
        { "prompt_tokens", r->present & ADP_O_PROMPT },
        { "output_tokens", r->present & ADP_O_OUTPUT },
        { "end", end_word(r->end) != NULL },
    };
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (ours[i].said && strlen(ours[i].name) == len &&
            !memcmp(ours[i].name, name, len))
            return true;
    return false;
}

static void put_extra(struct adp_line *to, const struct adp_rec_outcome *r,
                      const uint8_t *at, size_t left)
{
    struct adp_rec_extra e;
    while (left >= sizeof e) {
        memcpy(&e, at, sizeof e);
        if (e.bytes > left || e.bytes < sizeof e + e.name_len + (size_t)e.text_len)
            return;
        const char *name = (const char *)at + sizeof e;
        at += e.bytes;
        left -= e.bytes;
        if (is_said(r, name, e.name_len))
            continue;
        if (to->len && to->text[to->len - 1] != '{')
            adp_line_puts(to, ",");
        adp_line_string(to, name, e.name_len);
        adp_line_puts(to, ":");
        if (e.is_text)
            adp_line_string(to, name + e.name_len, e.text_len);
        else
            adp_line_number(to, e.number);
    }
}

static void put_measured(struct adp_line *to, const struct adp_rec_outcome *r)
{
    if (r->present & ADP_O_TTFT) {
        adp_line_key(to, "ttft_ms");
        adp_line_number(to, r->ttft_ms);
    }
    if (r->present & ADP_O_TOTAL) {
        adp_line_key(to, "total_ms");
        adp_line_number(to, r->total_ms);
    }
    if (r->ok >= 0) {
        adp_line_key(to, "ok");
        put_bool(to, r->ok > 0);
    }
    if (r->present & ADP_O_STATUS) {
        adp_line_key(to, "status");
        adp_line_u64(to, r->status);
    }
    if (r->present & ADP_O_PROMPT) {
        adp_line_key(to, "prompt_tokens");
        adp_line_u64(to, r->prompt_tokens);
    }
    if (r->present & ADP_O_OUTPUT) {
        adp_line_key(to, "output_tokens");
        adp_line_u64(to, r->output_tokens);
    }
    if (end_word(r->end)) {
        adp_line_key(to, "end");
        adp_line_string_or_null(to, end_word(r->end));
    }
}

void adp_write_outcome(struct adp_line *to, const struct adp_rec_outcome *record,
                       struct adp_tag tag)
{
    const uint8_t *extra = (const uint8_t *)(record + 1);
    begin(to, record->head.at_ns);
    adp_line_key(to, "request_id");
    if (record->fact_bits & ADP_REC_HAS_ID)
        adp_line_string(to, (const char *)extra + record->extra_len, record->id_len);
    else
        adp_line_puts(to, "null");
    adp_line_key(to, "id");
    if (record->id)
        put_hex(to, record->id);
    else
        adp_line_puts(to, "null");
    adp_line_key(to, "outcome");
    adp_line_puts(to, "{");
    put_measured(to, record);
    put_extra(to, record, extra, record->extra_len);
    adp_line_puts(to, "}");
    adp_line_key(to, "v");
    adp_line_u64(to, 1);
    put_tag(to, tag);
    end(to);
}

void adp_write_snapshot(struct adp_line *to, const struct adp_rec_snapshot *record,
                        const struct adp_words *words, struct adp_tag tag)
{
    const struct adp_rec_reading *readings =
        (const struct adp_rec_reading *)(const void *)(record + 1);
    begin(to, record->head.at_ns);
    if (words && words->n_policies) {
        put_members(to, words->identity);
        put_members(to, words->policy[0]);
    }
    adp_line_key(to, "snapshot");
    adp_line_u64(to, record->number);
    adp_line_key(to, "mono_ns");
    adp_line_u64(to, record->mono_ns);
    if (record->metrics_len) {
        adp_line_key(to, "metrics");
        adp_line_put(to, (const char *)(readings + record->n_signals),
                     record->metrics_len);
    }
    struct signals s = { 0 };
    if (words) {
        s.n = record->n_signals < words->n_signals ? record->n_signals : words->n_signals;
        for (uint32_t i = 0; i < s.n; i++)
            s.told[i] = told_by_reading(&readings[i], 0);
        put_signals(to, words, &s);
        put_whys(to, words, &s);
        put_members(to, words->tail);
    } else {
        adp_line_key(to, "signals");
        adp_line_puts(to, "{}");
    }
    put_tag(to, tag);
    end(to);
}

void adp_write_scrape_error(struct adp_line *to, const struct adp_rec_text *record,
                            struct adp_tag tag)
{
    begin(to, record->head.at_ns);
    adp_line_key(to, "scrape_error");
    adp_line_string(to, (const char *)(record + 1), record->len);
    adp_line_key(to, "v");
    adp_line_u64(to, 1);
    put_tag(to, tag);
    end(to);
}

void adp_write_loss(struct adp_line *to, const char *what, uint64_t count, bool has_since,
                    uint64_t since_ns, uint64_t until_ns, struct adp_tag tag)
{
    begin(to, until_ns);
    adp_line_key(to, "dropped");
    adp_line_puts(to, "{");
    adp_line_key(to, "what");
    adp_line_string_or_null(to, what);
    adp_line_key(to, "count");
    adp_line_u64(to, count);
    adp_line_key(to, "since");
    if (has_since)
        put_seconds(to, since_ns);
    else
        adp_line_puts(to, "null");
    adp_line_key(to, "until");
    put_seconds(to, until_ns);
    adp_line_puts(to, "}");
    adp_line_key(to, "v");
    adp_line_u64(to, 1);
    put_tag(to, tag);
    end(to);
}
