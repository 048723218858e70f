/* SPDX-License-Identifier: MIT */
/* Lines of the log from records (core/write.h). The order of keys is
 * docs/log-format.md's. */
#include "core/write.h"

#include "core/expr.h"
#include "core/pen.h"
#include "core/reason.h"

#include <stdlib.h>
#include <string.h>

/* --- small pieces ---
 *
 * A line is written with a pen into room made for all of it: what is bounded by itself is in
 * FIXED_ROOM, the texts of the generation, the host's strings and the metrics are added. */

enum {
    /* Of a decision, the longest: its keys and their punctuation are below 800 bytes; 22
     * numbers of ADP_NUMBER_MAX, 3 times and 2 hexadecimal ones below 850; 7 words of ours
     * below 280. */
    FIXED_ROOM = 2048,
    WORD_ROOM = 64 /* a word of ours with its quotes: why, reason, fault */
};

/* Room for `more` bytes at the end of the line; NULL when memory is out. */
static char *open_room(struct adp_line *to, size_t more)
{
    return adp_line_reserve(to, more) ? to->text + to->len : NULL;
}

static void close_room(struct adp_line *to, const char *p)
{
    to->len = (size_t)(p - to->text);
}

static char *put_str(char *p, struct adp_str s)
{
    return adp_pen_put(p, s.p, s.n);
}

/* Text that is JSON members already, behind what is there. */
static char *put_members(char *p, struct adp_str members)
{
    if (!members.n)
        return p;
    *p++ = ',';
    return put_str(p, members);
}

/* Behind what is in an object already. */
static char *put_comma(char *p)
{
    if (p[-1] != '{')
        *p++ = ',';
    return p;
}

/* A key as it stands in the line, behind a comma unless it is the first of its object. */
static char *put_next(char *p, const char *key)
{
    return adp_pen_text(put_comma(p), key);
}

static char *put_request_id(char *p, uint32_t fact_bits, const char *id, size_t len)
{
    p = adp_pen_text(p, ",\"request_id\":");
    return fact_bits & ADP_REC_HAS_ID ? adp_pen_string(p, id, len)
                                      : adp_pen_text(p, "null");
}

static char *put_tag(char *p, struct adp_tag tag)
{
    p = adp_pen_text(p, ",\"instance\":");
    p = adp_pen_hex(p, tag.instance);
    p = adp_pen_text(p, ",\"lane\":");
    p = adp_pen_u64(p, tag.lane);
    p = adp_pen_text(p, ",\"seq\":");
    return adp_pen_u64(p, tag.seq);
}

static char *begin(char *p, uint64_t at_ns)
{
    p = adp_pen_text(p, "{\"at\":");
    return adp_pen_seconds(p, at_ns);
}

static char *end(char *p)
{
    return adp_pen_text(p, "}\n");
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

/* The most that the signals of one line take: each is named in four objects at most, with
 * a value, a source, an age or a why. */
static size_t signals_room(const struct adp_words *w)
{
    size_t room = 0;
    for (uint32_t i = 0; i < w->n_signals; i++) {
        size_t longest = 0;
        for (uint32_t k = 0; k < w->n_sources[i]; k++)
            if (w->source[i][k].n > longest)
                longest = w->source[i][k].n;
        room += 4 * (w->key[i].n + 1) + longest + ADP_NUMBER_MAX + ADP_PEN_SECONDS +
                WORD_ROOM;
    }
    return room;
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
    new.signals_room = signals_room(&new);
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
                  const struct adp_snapshot_parts *parts, bool keep_metrics)
{
    char *metrics = NULL;
    if (!seen->reading)
        seen->reading = calloc(ADP_MAX_KNOWN, sizeof *seen->reading);
    if (keep_metrics && record->metrics_len)
        metrics = malloc(record->metrics_len);
    if (!seen->reading || (keep_metrics && record->metrics_len && !metrics))
        return false;
    seen->number = record->number;
    seen->told_generation = 0;
    seen->mono_ns = record->mono_ns;
    seen->n = record->n_signals;
    seen->n_series = record->n_series;
    memcpy(seen->reading, parts->reading, record->n_signals * sizeof *seen->reading);
    free(seen->metrics);
    seen->metrics = metrics;
    seen->metrics_len = metrics ? record->metrics_len : 0;
    if (metrics)
        memcpy(metrics, parts->metrics.p, record->metrics_len);
    return true;
}

void adp_seen_finish(struct adp_seen *seen)
{
    free(seen->reading);
    free(seen->metrics);
    adp_line_finish(&seen->told);
    *seen = (struct adp_seen) { 0 };
}

/* --- signals, sources, whys, ages --- */

/* How long after the snapshot a decision was made. */
static double later_than(const struct adp_rec_decision *r, const struct adp_seen *seen)
{
    return r->mono_ns > seen->mono_ns
               ? (double)(int64_t)(r->mono_ns - seen->mono_ns) * 1e-9
               : 0.0;
}

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

/* The i-th signal's key, behind a comma unless it is the first of its object. */
static char *put_key(char *p, const struct adp_words *words, uint32_t i)
{
    return put_str(put_comma(p), words->key[i]);
}

static char *put_signals(char *p, const struct adp_words *words, const struct signals *s)
{
    p = adp_pen_text(p, ",\"signals\":{");
    for (uint32_t i = 0; i < s->n; i++) {
        p = put_key(p, words, i);
        p = s->told[i].present ? adp_pen_number(p, s->told[i].value)
                               : adp_pen_text(p, "null");
    }
    p = adp_pen_text(p, "},\"sources\":{");
    for (uint32_t i = 0; i < s->n; i++) {
        const struct told *t = &s->told[i];
        if (!t->present || !t->explained || t->source < 0 ||
            (uint32_t)t->source >= words->n_sources[i])
            continue;
        p = put_key(p, words, i);
        p = put_str(p, words->source[i][t->source]);
    }
    *p++ = '}';
    return p;
}

static char *put_whys(char *p, const struct adp_words *words, const struct signals *s)
{
    p = adp_pen_text(p, ",\"whys\":{");
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->told[i].present || !s->told[i].explained)
            continue;
        p = put_key(p, words, i);
        p = adp_pen_word(p, adp_why_word(s->told[i].why));
    }
    *p++ = '}';
    return p;
}

/* Ages are kept to the microsecond. Of what was measured at once all are the same, and
 * written once. */
struct aged {
    uint64_t ns;
    char text[ADP_PEN_SECONDS];
    size_t len;
};

static void spell_age(struct aged *to, uint64_t ns)
{
    to->ns = ns;
    to->len = (size_t)(adp_pen_seconds(to->text, ns) - to->text);
}

static char *put_age(char *p, double age_s, struct aged *last)
{
    uint64_t ns = age_s > 0 ? (uint64_t)(int64_t)(age_s * 1e9 + 0.5) : 0;
    if (ns != last->ns)
        spell_age(last, ns);
    memcpy(p, last->text, sizeof last->text);
    return p + last->len;
}

static char *put_ages(char *p, const struct adp_words *words, const struct signals *s)
{
    struct aged last;
    spell_age(&last, 0);
    p = adp_pen_text(p, ",\"ages\":{");
    for (uint32_t i = 0; i < s->n; i++) {
        if (!s->told[i].present || !s->told[i].explained)
            continue;
        p = put_key(p, words, i);
        p = put_age(p, s->told[i].age_s, &last);
    }
    *p++ = '}';
    return p;
}

/* The same of a decision that saw just what its snapshot holds. */
static char *put_ages_seen(char *p, const struct adp_words *words,
                           const struct adp_rec_decision *r, const struct adp_seen *seen,
                           struct aged *last)
{
    double later_s = later_than(r, seen);
    p = adp_pen_text(p, ",\"ages\":{");
    for (uint64_t there = r->present; there; there &= there - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(there);
        if (i >= seen->n || i >= words->n_signals)
            break;
        p = put_key(p, words, i);
        p = put_age(p, seen->reading[i].age_s + later_s, last);
    }
    *p++ = '}';
    return p;
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
    bool present = t.present;
    t = told_by_reading(&seen->reading[i], later_than(r, seen));
    t.value = value;
    if (t.present && !present)
        t.why = ADP_WHY_STALE;
    t.present = present;
    return t;
}

/* --- decisions --- */

/* Rows and columns within `left` bytes; how many they take, 0: they do not. */
static size_t replicas_bytes(const uint8_t *at, size_t left)
{
    const struct adp_rec_replicas *r = (const struct adp_rec_replicas *)(const void *)at;
    if (left < sizeof *r || r->rows > ADP_MAX_REPLICAS)
        return 0;
    size_t columns = adp_replicas_count(r->signals);
    size_t bytes = sizeof *r + r->rows * (sizeof(uint64_t) + columns * sizeof(double));
    return bytes <= left ? bytes : 0;
}

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
    if (record->flags & ADP_REC_REPLICAS) {
        size_t bytes = replicas_bytes(at, left);
        if (!bytes)
            return false;
        ret->replicas = (const struct adp_rec_replicas *)(const void *)at;
        at += bytes;
        left -= bytes;
    }
    if (record->metrics_len > left)
        return false;
    ret->series = at;
    ret->series_len = record->metrics_len;
    at += record->metrics_len;
    left -= record->metrics_len;
    return cut_name(&at, &left, record->id_len, &ret->id) &&
           cut_name(&at, &left, record->tenant_len, &ret->tenant) &&
           cut_name(&at, &left, record->session_len, &ret->session) &&
           cut_name(&at, &left, record->class_len, &ret->slo_class);
}

bool adp_write_split_snapshot(const struct adp_rec_snapshot *record,
                              struct adp_snapshot_parts *ret)
{
    const uint8_t *at = (const uint8_t *)(record + 1);
    size_t left = record->head.bytes - sizeof *record;
    size_t readings = record->n_signals * sizeof(struct adp_rec_reading);
    *ret = (struct adp_snapshot_parts) { 0 };
    if (record->n_signals > ADP_MAX_KNOWN || readings > left)
        return false;
    ret->reading = (const struct adp_rec_reading *)(const void *)at;
    at += readings;
    left -= readings;
    if (record->pool_len) {
        size_t bytes = replicas_bytes(at, left);
        if (!bytes)
            return false;
        ret->replicas = (const struct adp_rec_replicas *)(const void *)at;
        at += bytes;
        left -= bytes;
    }
    if ((uint64_t)record->metrics_len + record->pool_len > left)
        return false;
    ret->metrics = (struct adp_str) { (const char *)at, record->metrics_len };
    ret->pool =
        (struct adp_str) { (const char *)at + record->metrics_len, record->pool_len };
    return true;
}

/* --- readings per replica --- */

static size_t replicas_room(const struct adp_words *words,
                            const struct adp_rec_replicas *r)
{
    size_t columns = adp_replicas_count(r->signals);
    return words->signals_room + columns * (2 + r->rows * (ADP_NUMBER_MAX + 1u));
}

/* One signal's readings, row by row. */
static char *put_column(char *p, const struct adp_rec_replicas *r, uint32_t columns,
                        uint32_t column)
{
    const uint8_t *row = (const uint8_t *)(r + 1);
    size_t row_bytes = sizeof(uint64_t) + columns * sizeof(double);
    *p++ = '[';
    for (uint32_t i = 0; i < r->rows; i++, row += row_bytes) {
        uint64_t present;
        double value;
        memcpy(&present, row, sizeof present);
        memcpy(&value, row + sizeof present + column * sizeof value, sizeof value);
        if (i)
            *p++ = ',';
        p = present >> column & 1u ? adp_pen_number(p, value) : adp_pen_text(p, "null");
    }
    *p++ = ']';
    return p;
}

static char *put_replicas(char *p, const struct adp_words *words,
                          const struct adp_rec_replicas *r)
{
    uint32_t columns = adp_replicas_count(r->signals), column = 0;
    p = adp_pen_text(p, ",\"replicas\":{");
    for (uint64_t left = r->signals; left; left &= left - 1, column++) {
        uint32_t signal = (uint32_t)__builtin_ctzll(left);
        if (signal >= words->n_signals)
            break;
        p = put_key(p, words, signal);
        p = put_column(p, r, columns, column);
    }
    *p++ = '}';
    return p;
}

static char *put_request(char *p, const struct adp_rec_decision *r,
                         const struct adp_decision_parts *parts)
{
    p = adp_pen_text(p, ",\"request\":{");
    if (r->fact_bits & ADP_REC_HAS_TENANT) {
        p = put_next(p, "\"tenant\":");
        p = adp_pen_string(p, parts->tenant.p, parts->tenant.n);
    }
    if (r->fact_bits & ADP_REC_HAS_SESSION) {
        p = put_next(p, "\"session\":");
        p = adp_pen_string(p, parts->session.p, parts->session.n);
    }
    if (r->fact_bits & ADP_REC_HAS_CLASS) {
        p = put_next(p, "\"slo_class\":");
        p = adp_pen_string(p, parts->slo_class.p, parts->slo_class.n);
    }
    if (r->fact_bits & ADP_PRIORITY) {
        p = put_next(p, "\"priority\":");
        p = adp_pen_i64(p, r->priority);
    }
    if (r->fact_bits & ADP_PROMPT) {
        p = put_next(p, "\"prompt_tokens\":");
        p = adp_pen_u64(p, r->prompt_tokens);
    }
    if (r->fact_bits & ADP_OUTPUT) {
        p = put_next(p, "\"max_output_tokens\":");
        p = adp_pen_u64(p, r->max_output_tokens);
    }
    if (r->fact_bits & ADP_DEADLINE) {
        p = put_next(p, "\"ttft_deadline_ms\":");
        p = adp_pen_number(p, r->ttft_deadline_ms);
    }
    *p++ = '}';
    return p;
}

static const char *action_word(uint32_t action)
{
    return action == ADP_REJECT ? "reject" : action == ADP_DEFER ? "defer" : "admit";
}

static char *put_verdict(char *p, const struct adp_rec_decision *r)
{
    p = adp_pen_text(p, ",\"verdict\":");
    p = adp_pen_word(p, action_word(r->action));
    p = adp_pen_text(p, ",\"reason\":");
    p = adp_pen_word(p, adp_reason_word(r->reason));
    p = adp_pen_text(p, ",\"status\":");
    p = adp_pen_u64(p, r->status);
    p = adp_pen_text(p, ",\"retry_after_ms\":");
    p = r->set & ADP_SET_RETRY ? adp_pen_u64(p, r->retry_after_ms)
                               : adp_pen_text(p, "null");
    p = adp_pen_text(p, ",\"decide_us\":");
    p = adp_pen_u64(p, r->decide_ns / 1000);
    p = adp_pen_text(p, ",\"decide_ns\":");
    p = adp_pen_u64(p, r->decide_ns);
    p = adp_pen_text(p, ",\"enforced\":");
    p = adp_pen_bool(p, r->flags & ADP_REC_ENFORCED);
    p = adp_pen_text(p, ",\"fault\":");
    return adp_pen_word(p, adp_fault_word((enum adp_fault)r->fault));
}

static char *put_inputs(char *p, const struct adp_rec_decision *r,
                        const struct adp_words *words)
{
    p = adp_pen_text(p, ",\"mono_ns\":");
    p = adp_pen_u64(p, r->mono_ns);
    p = adp_pen_text(p, ",\"draw\":");
    p = adp_pen_number(p, r->draw);
    if (r->set & ADP_SET_P) {
        p = adp_pen_text(p, ",\"p\":");
        p = adp_pen_number(p, r->p);
    }
    if (r->set & ADP_SET_MARGIN) {
        p = adp_pen_text(p, ",\"margin\":");
        p = adp_pen_number(p, r->margin);
    }
    if (words && r->binding < words->n_signals && words->key[r->binding].n) {
        struct adp_str key = words->key[r->binding];
        p = adp_pen_text(p, ",\"binding\":");
        p = adp_pen_put(p, key.p, key.n - 1); /* without its colon */
    }
    return p;
}

/* What a decision's line says of the metrics of its snapshot. */
enum snapshot_metrics { NAMED, WRITTEN, COUNTED };

static void put_snapshot_metrics(struct adp_line *to, const struct adp_seen *seen,
                                 enum snapshot_metrics how)
{
    if (how == WRITTEN && seen->metrics) {
        adp_line_key(to, "metrics");
        adp_line_put(to, seen->metrics, seen->metrics_len);
    } else if (how != NAMED && seen->n_series) {
        adp_line_key_u64(to, "metrics_omitted", seen->n_series);
    }
}

static void put_metrics(struct adp_line *to, const struct adp_rec_decision *r,
                        const struct adp_decision_parts *parts,
                        const struct adp_seen *seen, struct adp_keys *keys,
                        enum snapshot_metrics how, uint32_t lane)
{
    if (r->flags & ADP_REC_OMITTED) {
        adp_line_key_u64(to, "metrics_omitted", r->shape);
    } else if (r->flags & ADP_REC_VALUES) {
        adp_line_key(to, "metrics");
        adp_keys_write_values(keys, lane, r->shape,
                              (const double *)(const void *)parts->series, to);
    } else if (r->flags & ADP_REC_INLINE) {
        adp_line_key(to, "metrics");
        adp_keys_write(keys, parts->series, parts->series_len, to);
        if (r->shape && !(r->flags & ADP_REC_TELLS))
            adp_line_key_u64(to, "metrics_omitted", r->shape);
    } else if (seen) {
        put_snapshot_metrics(to, seen, how);
    }
    if (r->snapshot)
        adp_line_key_u64(to, "snapshot", r->snapshot);
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

/* True when a decision saw exactly what its snapshot holds, as nearly all do: what is said
 * of its signals then is the same text, but for their ages. */
static bool is_as_seen(const struct adp_rec_decision *r,
                       const struct adp_decision_parts *parts,
                       const struct adp_seen *seen)
{
    if (!parts->value || !r->snapshot || !seen || r->n_signals != seen->n)
        return false;
    for (uint32_t i = 0; i < seen->n; i++) {
        bool present = r->present >> i & 1u;
        if (present != (seen->reading[i].why == ADP_WHY_PRESENT) ||
            (present &&
             memcmp(&parts->value[i], &seen->reading[i].value, sizeof(double)) != 0))
            return false;
    }
    return true;
}

/* Keeps that text with the snapshot: signals and sources, then, from told_whys on, whys. */
static bool keep_told(struct adp_seen *seen, const struct adp_words *words,
                      const struct signals *s)
{
    adp_line_clear(&seen->told);
    char *p = open_room(&seen->told, FIXED_ROOM + words->signals_room);
    if (!p)
        return false;
    p = put_signals(p, words, s);
    seen->told_whys = (size_t)(p - seen->told.text);
    close_room(&seen->told, put_whys(p, words, s));
    seen->told_generation = words->generation;
    return true;
}

/* The line up to its metrics, and the rest of it. Each false: out of memory. */
static bool put_head(struct adp_line *to, const struct adp_rec_decision *r,
                     const struct adp_decision_parts *parts,
                     const struct adp_words *words)
{
    bool known = words && r->policy < words->n_policies;
    size_t room = FIXED_ROOM + ADP_PEN_ESCAPE * parts->id.n;
    if (known)
        room +=
            words->identity.n + words->policy[r->policy].n + words->terms[r->policy].n;
    char *p = open_room(to, room);
    if (!p)
        return false;
    p = begin(p, r->head.at_ns);
    if (known) {
        p = put_members(p, words->identity);
        p = put_members(p, words->policy[r->policy]);
        p = put_members(p, words->terms[r->policy]);
    }
    p = put_request_id(p, r->fact_bits, parts->id.p, parts->id.n);
    p = adp_pen_text(p, ",\"id\":");
    close_room(to, adp_pen_hex(p, r->id));
    return true;
}

static bool put_rest(struct adp_line *to, const struct adp_rec_decision *r,
                     const struct adp_decision_parts *parts,
                     const struct adp_words *words, struct adp_seen *seen,
                     struct adp_tag tag)
{
    struct signals s; /* not zeroed: s.n says how much of it is set */
    struct aged last; /* spelled here, so that it has arrived where it is copied from */
    bool kept = false;
    spell_age(&last, seen && r->mono_ns > seen->mono_ns ? r->mono_ns - seen->mono_ns : 0);
    size_t room = FIXED_ROOM + ADP_PEN_ESCAPE * (parts->tenant.n + parts->session.n +
                                                 parts->slo_class.n);
    s.n = 0;
    if (words) {
        room += words->signals_room + words->tail.n;
        kept = is_as_seen(r, parts, seen);
        bool written = kept && seen->told_generation == words->generation;
        if (!written)
            tell_all(&s, r, parts, words, seen);
        if (kept && !written)
            kept = keep_told(seen, words, &s);
        if (kept)
            room += seen->told.len;
        if (parts->replicas)
            room += replicas_room(words, parts->replicas);
    }
    char *p = open_room(to, room);
    if (!p)
        return false;
    if (kept)
        p = adp_pen_put(p, seen->told.text, seen->told_whys);
    else if (words)
        p = put_signals(p, words, &s);
    p = put_verdict(p, r);
    if (kept)
        p = adp_pen_put(p, seen->told.text + seen->told_whys,
                        seen->told.len - seen->told_whys);
    else if (words)
        p = put_whys(p, words, &s);
    if (words) {
        p = kept ? put_ages_seen(p, words, r, seen, &last) : put_ages(p, words, &s);
        if (parts->replicas)
            p = put_replicas(p, words, parts->replicas);
        p = put_members(p, words->tail);
    }
    p = r->flags & ADP_REC_SHADOW ? adp_pen_text(p, ",\"role\":\"shadow\"")
                                  : adp_pen_text(p, ",\"role\":\"governing\"");
    p = r->flags & ADP_REC_GOVERNED ? adp_pen_text(p, ",\"arm\":\"governed\"")
                                    : adp_pen_text(p, ",\"arm\":\"ungoverned\"");
    p = put_request(p, r, parts);
    p = put_inputs(p, r, words);
    p = put_tag(p, tag);
    close_room(to, end(p));
    return true;
}

static bool is_too_long(const struct adp_line *line, size_t start)
{
    return !line->broken && line->len - start > ADP_LINE_MAX + 1; /* and its newline */
}

static void put_decision(struct adp_line *to, const struct adp_rec_decision *r,
                         const struct adp_decision_parts *parts,
                         const struct adp_words *words, struct adp_seen *seen,
                         struct adp_keys *keys, enum snapshot_metrics how,
                         struct adp_tag tag)
{
    if (!put_head(to, r, parts, words))
        return;
    put_metrics(to, r, parts, seen, keys, how, tag.lane);
    put_rest(to, r, parts, words, seen, tag);
}

/* The record, its series but a count: of those that are here, and of those that are not. */
static struct adp_rec_decision without_series(const struct adp_rec_decision *record,
                                              const struct adp_decision_parts *parts)
{
    const uint32_t forms = ADP_REC_TELLS | ADP_REC_VALUES;
    struct adp_rec_decision r = *record;
    if (!(r.flags & ADP_REC_INLINE) || r.flags & ADP_REC_OMITTED)
        return r;
    uint32_t missing = r.flags & forms ? 0 : r.shape;
    r.shape = r.flags & ADP_REC_VALUES ? parts->series_len / (uint32_t)sizeof(double)
                                       : adp_keys_count(parts->series, parts->series_len);
    r.shape += missing;
    r.flags = (r.flags & ~forms) | ADP_REC_OMITTED;
    return r;
}

void adp_write_decision(struct adp_line *to, const struct adp_rec_decision *record,
                        const struct adp_decision_parts *parts,
                        const struct adp_words *words, struct adp_seen *seen,
                        struct adp_keys *keys, bool inline_metrics, struct adp_tag tag)
{
    size_t start = to->len;
    put_decision(to, record, parts, words, seen, keys, inline_metrics ? WRITTEN : NAMED,
                 tag);
    if (!is_too_long(to, start))
        return;
    struct adp_rec_decision bare = without_series(record, parts);
    to->len = start;
    put_decision(to, &bare, parts, words, seen, keys, inline_metrics ? COUNTED : NAMED,
                 tag);
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

/* Whether one of the extras at `at` is written as `name` is. */
static bool comes_again(const char *name, size_t name_len, const uint8_t *at, size_t left)
{
    struct adp_rec_extra e;
    for (; left >= sizeof e; at += e.bytes, left -= e.bytes) {
        memcpy(&e, at, sizeof e);
        if (e.bytes > left || e.bytes < sizeof e + e.name_len + (size_t)e.text_len)
            return false;
        if (adp_pen_alike((const char *)at + sizeof e, e.name_len, name, name_len))
            return true;
    }
    return false;
}

/* Of those that are written under one name, the last. */
static char *put_extra(char *p, const struct adp_rec_outcome *r, const uint8_t *at,
                       size_t left)
{
    struct adp_rec_extra e;
    while (left >= sizeof e) {
        memcpy(&e, at, sizeof e);
        if (e.bytes > left || e.bytes < sizeof e + e.name_len + (size_t)e.text_len)
            return p;
        const char *name = (const char *)at + sizeof e;
        at += e.bytes;
        left -= e.bytes;
        if (is_said(r, name, e.name_len) || comes_again(name, e.name_len, at, left))
            continue;
        p = adp_pen_string(put_comma(p), name, e.name_len);
        *p++ = ':';
        p = e.is_text ? adp_pen_string(p, name + e.name_len, e.text_len)
                      : adp_pen_number(p, e.number);
    }
    return p;
}

static char *put_measured(char *p, const struct adp_rec_outcome *r)
{
    if (r->present & ADP_O_TTFT) {
        p = put_next(p, "\"ttft_ms\":");
        p = adp_pen_number(p, r->ttft_ms);
    }
    if (r->present & ADP_O_TOTAL) {
        p = put_next(p, "\"total_ms\":");
        p = adp_pen_number(p, r->total_ms);
    }
    if (r->ok >= 0) {
        p = put_next(p, "\"ok\":");
        p = adp_pen_bool(p, r->ok > 0);
    }
    if (r->present & ADP_O_STATUS) {
        p = put_next(p, "\"status\":");
        p = adp_pen_u64(p, r->status);
    }
    if (r->present & ADP_O_PROMPT) {
        p = put_next(p, "\"prompt_tokens\":");
        p = adp_pen_u64(p, r->prompt_tokens);
    }
    if (r->present & ADP_O_OUTPUT) {
        p = put_next(p, "\"output_tokens\":");
        p = adp_pen_u64(p, r->output_tokens);
    }
    if (end_word(r->end)) {
        p = put_next(p, "\"end\":");
        p = adp_pen_word(p, end_word(r->end));
    }
    return p;
}

void adp_write_outcome(struct adp_line *to, const struct adp_rec_outcome *record,
                       struct adp_tag tag)
{
    const struct adp_rec_outcome *r = record;
    const uint8_t *extra = (const uint8_t *)(r + 1);
    /* An extra is longer in its record than its number and punctuation are, escaped. */
    char *p =
        open_room(to, FIXED_ROOM + ADP_PEN_ESCAPE * ((size_t)r->extra_len + r->id_len));
    if (!p)
        return;
    p = begin(p, r->head.at_ns);
    p = put_request_id(p, r->fact_bits, (const char *)extra + r->extra_len, r->id_len);
    p = adp_pen_text(p, ",\"id\":");
    p = r->id ? adp_pen_hex(p, r->id) : adp_pen_text(p, "null");
    p = adp_pen_text(p, ",\"outcome\":{");
    p = put_measured(p, r);
    p = put_extra(p, r, extra, r->extra_len);
    p = adp_pen_text(p, "},\"v\":1");
    p = put_tag(p, tag);
    close_room(to, end(p));
}

/* A snapshot's line up to its metrics, and the rest of it. Each false: out of memory. */
static bool put_snapshot_head(struct adp_line *to, const struct adp_rec_snapshot *r,
                              const struct adp_words *words)
{
    bool known = words && words->n_policies;
    size_t room = FIXED_ROOM;
    if (known)
        room += words->identity.n + words->policy[0].n;
    char *p = open_room(to, room);
    if (!p)
        return false;
    p = begin(p, r->head.at_ns);
    if (known) {
        p = put_members(p, words->identity);
        p = put_members(p, words->policy[0]);
    }
    p = adp_pen_text(p, ",\"snapshot\":");
    p = adp_pen_u64(p, r->number);
    p = adp_pen_text(p, ",\"mono_ns\":");
    close_room(to, adp_pen_u64(p, r->mono_ns));
    return true;
}

static bool put_snapshot_rest(struct adp_line *to, const struct adp_rec_snapshot *r,
                              const struct adp_snapshot_parts *parts,
                              const struct adp_words *words, struct adp_tag tag)
{
    struct signals s; /* not zeroed: s.n says how much of it is set */
    size_t room = FIXED_ROOM + (words ? words->signals_room + words->tail.n : 0);
    if (words && parts->replicas)
        room += replicas_room(words, parts->replicas) + parts->pool.n;
    char *p = open_room(to, room);
    if (!p)
        return false;
    if (words) {
        s.n = r->n_signals < words->n_signals ? r->n_signals : words->n_signals;
        for (uint32_t i = 0; i < s.n; i++)
            s.told[i] = told_by_reading(&parts->reading[i], 0);
        p = put_signals(p, words, &s);
        p = put_whys(p, words, &s);
        p = put_ages(p, words, &s);
        if (parts->replicas) {
            p = adp_pen_text(p, ",\"pool\":");
            p = put_str(p, parts->pool);
            p = put_replicas(p, words, parts->replicas);
        }
        p = put_members(p, words->tail);
    } else {
        p = adp_pen_text(p, ",\"signals\":{}");
    }
    p = put_tag(p, tag);
    close_room(to, end(p));
    return true;
}

/* Without `metrics`, how many there were. */
static void put_snapshot(struct adp_line *to, const struct adp_rec_snapshot *r,
                         const struct adp_snapshot_parts *parts, struct adp_str metrics,
                         const struct adp_words *words, struct adp_tag tag)
{
    if (!put_snapshot_head(to, r, words))
        return;
    if (metrics.n) {
        adp_line_key(to, "metrics");
        adp_line_put(to, metrics.p, metrics.n);
    } else if (r->n_series) {
        adp_line_key_u64(to, "metrics_omitted", r->n_series);
    }
    put_snapshot_rest(to, r, parts, words, tag);
}

void adp_write_snapshot(struct adp_line *to, const struct adp_rec_snapshot *record,
                        const struct adp_snapshot_parts *parts,
                        const struct adp_words *words, struct adp_tag tag)
{
    size_t start = to->len;
    put_snapshot(to, record, parts, parts->metrics, words, tag);
    if (!is_too_long(to, start))
        return;
    to->len = start;
    put_snapshot(to, record, parts, (struct adp_str) { 0 }, words, tag);
}

void adp_write_scrape_error(struct adp_line *to, const struct adp_rec_text *record,
                            struct adp_tag tag)
{
    char *p = open_room(to, FIXED_ROOM + ADP_PEN_ESCAPE * (size_t)record->len);
    if (!p)
        return;
    p = begin(p, record->head.at_ns);
    p = adp_pen_text(p, ",\"scrape_error\":");
    p = adp_pen_string(p, (const char *)(record + 1), record->len);
    p = adp_pen_text(p, ",\"v\":1");
    p = put_tag(p, tag);
    close_room(to, end(p));
}

void adp_write_loss(struct adp_line *to, const char *what, uint64_t count, bool has_since,
                    uint64_t since_ns, uint64_t until_ns, struct adp_tag tag)
{
    char *p = open_room(to, FIXED_ROOM);
    if (!p)
        return;
    p = begin(p, until_ns);
    p = adp_pen_text(p, ",\"dropped\":{\"what\":");
    p = adp_pen_word(p, what);
    p = adp_pen_text(p, ",\"count\":");
    p = adp_pen_u64(p, count);
    p = adp_pen_text(p, ",\"since\":");
    p = has_since ? adp_pen_seconds(p, since_ns) : adp_pen_text(p, "null");
    p = adp_pen_text(p, ",\"until\":");
    p = adp_pen_seconds(p, until_ns);
    p = adp_pen_text(p, "},\"v\":1");
    p = put_tag(p, tag);
    close_room(to, end(p));
}
