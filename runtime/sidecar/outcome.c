/* SPDX-License-Identifier: MIT */
/* Outcomes (outcome.h). */
#include "runtime/sidecar/outcome.h"

#include "core/number.h"
#include "runtime/sidecar/syslog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- finding a value --- */

/* Down "a.b.c"; of a list (a header's values) the first. */
static json_t *down(json_t *from, const char *path)
{
    char key[128 + 1];
    for (;;) {
        if (json_is_array(from))
            from = json_array_get(from, 0);
        if (!*path || !from)
            return from;
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        from = json_object_get(from, key);
        path += n + (path[n] == '.');
    }
}

/* Beside the id, or inside `outcome`, where the log has them. */
static json_t *find(const struct adp_outcome_line *line,
                    const struct adp_names_setting *names)
{
    json_t *inner = json_object_get(line->root, "outcome");
    for (uint32_t i = 0; i < names->n; i++) {
        json_t *value = down(line->root, names->name[i]);
        if (!value && json_is_object(inner))
            value = down(inner, names->name[i]);
        if (value)
            return value;
    }
    return NULL;
}

/* --- reading it --- */

static bool says_nothing(const char *text)
{
    return !*text || strcmp(text, "-") == 0;
}

static bool number_of(json_t *value, double *ret)
{
    double d;
    if (json_is_number(value))
        d = json_number_value(value);
    else if (!json_is_string(value) || says_nothing(json_string_value(value)) ||
             !adp_number_parse(json_string_value(value), json_string_length(value), &d))
        return false;
    if (!isfinite(d) || d < 0.0)
        return false;
    *ret = d;
    return true;
}

static const char *text_of(json_t *value)
{
    const char *text = json_string_value(value);
    return text && !says_nothing(text) ? text : NULL;
}

/* A number as /v1/decide takes it for a text. */
static const char *id_of(struct adp_outcome_line *line, json_t *value)
{
    if (json_is_integer(value))
        snprintf(line->number, sizeof line->number, "%" JSON_INTEGER_FORMAT,
                 json_integer_value(value));
    else if (json_is_real(value))
        snprintf(line->number, sizeof line->number, "%.17g", json_real_value(value));
    else
        return text_of(value);
    return line->number;
}

/* Up to 16 hexadecimal digits. */
static bool hex(const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    size_t len = strlen(text);
    if (!len || len > 16)
        return false;
    for (; *text; text++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *at = strchr(digits, *text);
        if (!at)
            return false;
        value = value << 4 | ((uint64_t)(at - digits) & 15);
    }
    *ret = value;
    return true;
}

static bool time_ms(const struct adp_outcome_line *line,
                    const struct adp_names_setting *fields, enum adp_field ms,
                    double *ret)
{
    static const double scale[] = { 1.0, 1e-3, 1e3 }; /* ms, us, s: their order */
    for (uint32_t i = 0; i < 3; i++) {
        double value;
        if (number_of(find(line, &fields[ms + i]), &value)) {
            *ret = value * scale[i];
            return isfinite(*ret);
        }
    }
    return false;
}

static bool tokens(const struct adp_outcome_line *line,
                   const struct adp_names_setting *field, uint64_t *ret)
{
    double value;
    if (!number_of(find(line, field), &value) || value > 1e15 || value != floor(value))
        return false;
    *ret = (uint64_t)value;
    return true;
}

/* HAProxy's: who ended it, and in which state. */
static uint32_t end_of_termination(const char *text)
{
    switch (text[0]) {
    case '-':
        return ADP_DONE;
    case 'C':
    case 'c':
        return ADP_CANCELLED;
    default:
        return ADP_FAILED;
    }
}

static uint32_t end_of(const struct adp_outcome_line *line,
                       const struct adp_names_setting *field, uint32_t status)
{
    static const struct {
        const char *word;
        uint32_t end;
    } words[] = { { "done", ADP_DONE },           { "failed", ADP_FAILED },
                  { "cancelled", ADP_CANCELLED }, { "canceled", ADP_CANCELLED },
                  { "completed", ADP_DONE },      { "error", ADP_FAILED },
                  { "aborted", ADP_CANCELLED } };
    const char *text = json_string_value(find(line, field));
    for (size_t i = 0; text && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].word, text) == 0)
            return words[i].end;
    size_t len = text ? strlen(text) : 0;
    if ((len == 2 || len == 4) && strspn(text, "-CcSsPLRIDUKNTHQMEVO") == len)
        return end_of_termination(text);
    return status == 499 ? ADP_CANCELLED : status >= 500 ? ADP_FAILED : 0;
}

static int32_t ok_of(json_t *value)
{
    const char *text = json_string_value(value);
    double number;
    if (json_is_boolean(value))
        return json_is_true(value);
    if (text && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        return *text == 't';
    return number_of(value, &number) && (number == 0.0 || number == 1.0) ? (int32_t)number
                                                                         : -1;
}

/* --- facts of the gateway's own --- */

static void add_extra(struct adp_outcome_line *line, const char *name, json_t *value)
{
    adp_result *r = &line->result;
    if (r->n_extra == ADP_OUTCOME_EXTRAS)
        return;
    adp_extra extra = { .name = name, .text = json_string_value(value) };
    if (json_is_number(value))
        extra.number = json_number_value(value);
    else if (json_is_boolean(value))
        extra.text = json_is_true(value) ? "true" : "false";
    else if (!extra.text)
        return;
    line->extra[r->n_extra++] = extra;
    r->extra = line->extra;
}

static bool is_taken(const char *key, const struct adp_names_setting *fields)
{
    for (uint32_t f = 0; f < ADP_FIELDS; f++)
        for (uint32_t i = 0; i < fields[f].n; i++)
            if (strcmp(fields[f].name[i], key) == 0)
                return true;
    return false;
}

static void take_extras(struct adp_outcome_line *line,
                        const struct adp_names_setting *fields)
{
    const struct adp_names_setting *stated = &fields[ADP_FIELD_EXTRA];
    const char *key;
    json_t *value;
    for (uint32_t i = 0; i < stated->n; i++) {
        const char *dot = strrchr(stated->name[i], '.');
        value = down(line->root, stated->name[i]);
        if (value)
            add_extra(line, dot ? dot + 1 : stated->name[i], value);
    }
    json_t *inner = json_object_get(line->root, "outcome");
    json_object_foreach(inner, key, value)
    {
        if (!is_taken(key, fields))
            add_extra(line, key, value);
    }
}

/* --- the line --- */

/* What the gateway says it did with the request. */
static enum adp_outcome_fate verdict_of(const struct adp_outcome_line *line,
                                        const struct adp_names_setting *fields)
{
    const char *word = json_string_value(find(line, &fields[ADP_FIELD_VERDICT]));
    if (!word)
        return ADP_FATE_SETTLED;
    if (strcmp(word, "defer") == 0 || strcmp(word, "reject") == 0)
        return ADP_FATE_REFUSED;
    /* Nothing: what it would know from our answer is not there. */
    bool unasked = strcmp(word, "bypass") == 0 || (says_nothing(word) && !line->id);
    return unasked ? ADP_FATE_BYPASS : ADP_FATE_SETTLED;
}

static void measure(struct adp_outcome_line *line, const struct adp_names_setting *fields)
{
    adp_result *r = &line->result;
    double status;
    if (number_of(find(line, &fields[ADP_FIELD_STATUS]), &status) && status < 1000.0 &&
        status == floor(status)) {
        r->status = (uint32_t)status;
        r->present |= ADP_O_STATUS;
    }
    if (time_ms(line, fields, ADP_FIELD_TTFT_MS, &r->ttft_ms))
        r->present |= ADP_O_TTFT;
    if (time_ms(line, fields, ADP_FIELD_TOTAL_MS, &r->total_ms))
        r->present |= ADP_O_TOTAL;
    if (tokens(line, &fields[ADP_FIELD_PROMPT_TOKENS], &r->prompt_tokens))
        r->present |= ADP_O_PROMPT;
    if (tokens(line, &fields[ADP_FIELD_OUTPUT_TOKENS], &r->output_tokens))
        r->present |= ADP_O_OUTPUT;
    r->ok = ok_of(find(line, &fields[ADP_FIELD_OK]));
    r->end = end_of(line, &fields[ADP_FIELD_END], r->status);
}

enum adp_outcome_fate adp_outcome_read(struct adp_outcome_line *ret, const char *text,
                                       size_t len, const struct adp_names_setting *fields,
                                       const char **ret_why)
{
    memset(ret, 0, sizeof *ret);
    ret->result.size = sizeof ret->result;
    ret->root = json_loadb(text, len, 0, NULL);
    if (!json_is_object(ret->root)) {
        *ret_why = ret->root ? "not an object" : "not JSON";
        return ADP_FATE_BAD;
    }
    const char *id = text_of(find(ret, &fields[ADP_FIELD_ID]));
    ret->request_id = id_of(ret, find(ret, &fields[ADP_FIELD_REQUEST_ID]));
    bool bad_id = id && !hex(id, &ret->id);
    enum adp_outcome_fate fate = verdict_of(ret, fields);
    if (fate != ADP_FATE_SETTLED)
        return fate;
    if (!ret->id && !ret->request_id) {
        *ret_why = bad_id ? "the id is not one of ours" : "neither id nor request_id";
        return ADP_FATE_BAD;
    }
    measure(ret, fields);
    take_extras(ret, fields);
    return ADP_FATE_SETTLED;
}

void adp_outcome_finish(struct adp_outcome_line *line)
{
    json_decref(line->root);
    line->root = NULL;
}

enum adp_outcome_fate adp_outcome_take(struct adp_desk *desk, const char *text,
                                       size_t len, const char **ret_why)
{
    struct adp_outcome_line line;
    enum adp_outcome_fate fate =
        adp_outcome_read(&line, text, len, desk->serve->field, ret_why);
    if (fate == ADP_FATE_SETTLED &&
        adp_lane_outcome(desk->lane, line.id, line.request_id, &line.result) < 0)
        fate = ADP_FATE_UNKNOWN;
    adp_outcome_finish(&line);
    adp_desk_count(&desk->counts.fates[fate], 1);
    return fate;
}

void adp_outcome_datagram(struct adp_desk *desk, const char *bytes, size_t len)
{
    const char *why;
    if (!adp_syslog_body(&bytes, &len)) {
        adp_desk_count(&desk->counts.fates[ADP_FATE_BAD], 1);
        return;
    }
    while (len) {
        const char *end = memchr(bytes, '\n', len);
        size_t n = end ? (size_t)(end - bytes) : len, blank = 0;
        while (blank < n && strchr(" \t\r", bytes[blank]) && bytes[blank])
            blank++;
        if (blank < n)
            adp_outcome_take(desk, bytes, n, &why);
        n += end != NULL;
        bytes += n;
        len -= n;
    }
}
