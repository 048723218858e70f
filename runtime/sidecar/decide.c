/* SPDX-License-Identifier: MIT */
/* POST /v1/decide and POST /v1/outcome: objects in, objects out.
 *
 * A misspelt fact would be a policy that decides on less than the host believes, so what
 * is not known is refused with the nearest word, and nothing is decided. */
#include "core/error.h"
#include "runtime/sidecar/above.h"
#include "runtime/sidecar/facts.h"
#include "runtime/sidecar/outcome.h"
#include "runtime/sidecar/plain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_METRICS = 4096, MOST_LABELS = 32 };

static void answer_object(struct adp_loop *loop, uint64_t exchange, uint32_t status,
                          const struct adp_http_field *fields, size_t n)
{
    const struct adp_line *out = &loop->desk.out;
    const struct adp_http_answer answer = {
        .status = out->broken ? 500 : status,
        .type = "application/json",
        .fields = fields,
        .n_fields = n,
        .body = out->text,
        .body_len = out->broken ? 0 : out->len,
    };
    adp_http_answer(loop->server, exchange, &answer);
}

static void refuse(struct adp_loop *loop, const struct adp_http_request *request,
                   uint32_t status, const struct adp_http_field *field, const char *text)
{
    struct adp_line *out = &loop->desk.out;
    adp_line_clear(out);
    adp_line_puts(out, "{\"error\":{\"message\":");
    adp_line_string(out, text, strlen(text));
    adp_line_puts(out, "}}\n");
    const uint64_t note[3] = { status };
    adp_above_owe(loop, ADP_OWED_REFUSED, note);
    answer_object(loop, request->exchange, status, field, field != NULL);
}

void adp_refuse(struct adp_loop *loop, const struct adp_http_request *request,
                uint32_t status, const char *format, ...)
{
    static const struct adp_http_field bearer = { { "WWW-Authenticate", 16 },
                                                  { "Bearer", 6 } };
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    refuse(loop, request, status, status == 401 ? &bearer : NULL, text);
}

void adp_refuse_method(struct adp_loop *loop, const struct adp_http_request *request,
                       const char *path, const char *allowed)
{
    const struct adp_http_field allow = { { "Allow", 5 }, { allowed, strlen(allowed) } };
    char text[128];
    snprintf(text, sizeof text, "%s takes %s", path, allowed);
    refuse(loop, request, 405, &allow, text);
}

/* --- what is asked --- */

struct asked {
    json_t *root; /* owned */
    adp_facts facts;
    adp_metric *metrics; /* owned; NULL: the ones in force */
    const char **labels; /* owned; what they borrow */
    uint32_t n_metrics, n_labels;
    char wrong[256];
};

static bool wrong(struct asked *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool wrong(struct asked *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(a->wrong, sizeof a->wrong, format, args);
    va_end(args);
    return false;
}

static bool unknown(struct asked *a, const char *what, const char *key,
                    const char *const *known)
{
    const char *near = adp_error_nearest(key, known);
    return wrong(a, "unknown %s \"%.64s\"%s%s%s", what, key,
                 near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static bool put_fact(struct adp_desk *desk, struct asked *a, enum adp_header fact,
                     const char *key, const char *text)
{
    return adp_facts_put(desk, &a->facts, fact, text) ||
           wrong(a, "fact \"%s\" is not a number of its kind, found \"%.64s\"", key,
                 text);
}

static bool take_fact(struct adp_desk *desk, struct asked *a, const char *key,
                      json_t *value)
{
    int fact = adp_facts_find(key, strlen(key));
    const char *text = json_string_value(value);
    char number[32];
    if (fact < 0)
        return unknown(a, "fact", key, adp_fact_names);
    if (json_is_null(value))
        return true;
    if (json_is_integer(value))
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT,
                 json_integer_value(value));
    else if (json_is_real(value))
        snprintf(number, sizeof number, "%.17g", json_real_value(value));
    else if (!text)
        return wrong(a, "fact \"%s\" is neither text nor a number", key);
    text = text ? text : adp_desk_text(desk, number, strlen(number));
    if (fact == ADP_HEADER_REQUEST_ID && a->facts.request_id)
        return wrong(a, "request_id is given twice");
    return put_fact(desk, a, (enum adp_header)fact, key, text);
}

static bool take_facts(struct adp_desk *desk, struct asked *a, json_t *facts)
{
    const char *key;
    json_t *value;
    if (!json_is_object(facts))
        return wrong(a, "facts is not an object");
    json_object_foreach(facts, key, value)
    {
        if (!take_fact(desk, a, key, value))
            return false;
    }
    return true;
}

/* --- metrics given with a request --- */

static bool take_labels(struct asked *a, adp_metric *metric, json_t *labels)
{
    const char *key;
    json_t *value;
    if (!labels)
        return true;
    if (!json_is_object(labels) || json_object_size(labels) > MOST_LABELS)
        return wrong(a, "labels of \"%.64s\" are not an object of at most %d",
                     metric->name, MOST_LABELS);
    metric->labels = a->labels + a->n_labels;
    json_object_foreach(labels, key, value)
    {
        if (!json_is_string(value))
            return wrong(a, "label \"%.64s\" is not text", key);
        a->labels[a->n_labels++] = key;
        a->labels[a->n_labels++] = json_string_value(value);
    }
    a->labels[a->n_labels++] = NULL;
    return true;
}

/* null: known to be unknown, so left out. */
static bool take_metric(struct asked *a, const char *name, json_t *labels, json_t *value)
{
    adp_metric *metric = &a->metrics[a->n_metrics];
    if (!name || !*name)
        return wrong(a, "a metric without a name");
    if (json_is_null(value))
        return true;
    if (!json_is_number(value))
        return wrong(a, "metric \"%.64s\" is not a number", name);
    *metric = (adp_metric) { .name = name, .value = json_number_value(value) };
    a->n_metrics++;
    return take_labels(a, metric, labels);
}

/* { NAME: VALUE, … } or [ { name, labels, value }, … ] */
static bool take_metrics(struct asked *a, json_t *metrics)
{
    static const char *const known[] = { "name", "labels", "value", NULL };
    size_t n =
        json_is_object(metrics) ? json_object_size(metrics) : json_array_size(metrics);
    const char *key;
    json_t *value;
    size_t i;
    if (!json_is_object(metrics) && !json_is_array(metrics))
        return wrong(a, "metrics is neither an object nor a list");
    if (n > MOST_METRICS)
        return wrong(a, "more than %d metrics", MOST_METRICS);
    a->metrics = calloc(n + 1, sizeof *a->metrics);
    a->labels = json_is_array(metrics)
                    ? calloc(n * (2 * MOST_LABELS + 1) + 1, sizeof *a->labels)
                    : NULL;
    if (!a->metrics || (json_is_array(metrics) && !a->labels))
        return wrong(a, "out of memory");
    if (json_is_object(metrics)) {
        json_object_foreach(metrics, key, value)
        {
            if (!take_metric(a, key, NULL, value))
                return false;
        }
    }
    json_array_foreach(metrics, i, value)
    {
        json_t *each;
        json_object_foreach(value, key, each)
        {
            if (strcmp(key, "name") != 0 && strcmp(key, "labels") != 0 &&
                strcmp(key, "value") != 0)
                return unknown(a, "key of a metric", key, known);
        }
        if (!take_metric(a, json_string_value(json_object_get(value, "name")),
                         json_object_get(value, "labels"),
                         json_object_get(value, "value")))
            return false;
    }
    return true;
}

/* False with nothing that is wrong: a text does not fit the desk. */
static bool take_plain(struct adp_desk *desk, struct asked *a,
                       const struct adp_plain *plain)
{
    for (uint32_t i = 0; i < plain->n; i++) {
        enum adp_header fact = plain->told[i].fact;
        const char *text = adp_desk_text(desk, plain->told[i].at, plain->told[i].len);
        if (!text || !put_fact(desk, a, fact, adp_fact_names[fact], text))
            return false;
    }
    return true;
}

static bool read_asked(struct adp_desk *desk, struct asked *a,
                       const struct adp_http_request *request)
{
    static const char *const known[] = { "request_id", "facts", "metrics", NULL };
    struct adp_plain plain;
    json_error_t where;
    const char *key;
    json_t *value;
    a->facts.size = sizeof a->facts;
    if (adp_plain_read(&plain, request->body.at, request->body.len)) {
        if (take_plain(desk, a, &plain) || *a->wrong)
            return *a->wrong == '\0';
        adp_desk_clear(desk);
        a->facts = (adp_facts) { .size = sizeof a->facts };
    }
    a->root = json_loadb(request->body.at ? request->body.at : "", request->body.len,
                         JSON_REJECT_DUPLICATES, &where);
    if (!a->root)
        return wrong(a, "line %d: %s", where.line, where.text);
    if (!json_is_object(a->root))
        return wrong(a, "not an object");
    json_object_foreach(a->root, key, value)
    {
        bool fine = true;
        if (strcmp(key, "request_id") == 0)
            fine = take_fact(desk, a, key, value);
        else if (strcmp(key, "facts") == 0)
            fine = take_facts(desk, a, value);
        else if (strcmp(key, "metrics") == 0)
            fine = json_is_null(value) || take_metrics(a, value);
        else
            fine = unknown(a, "key", key, known);
        if (!fine)
            return false;
    }
    return true;
}

/* --- what is answered --- */

static void put_decision(struct adp_line *out, const adp_decision *d)
{
    char id[ADP_HEX + 1];
    adp_answer_hex(d->id, id);
    adp_line_clear(out);
    adp_line_puts(out, "{\"admitted\":");
    adp_line_puts(out, d->admitted ? "true" : "false");
    adp_line_key(out, "verdict");
    adp_line_string(out, adp_answer_action(d->policy_action),
                    strlen(adp_answer_action(d->policy_action)));
    adp_line_key_u64(out, "status", d->status);
    adp_line_key_text(out, "reason", d->reason);
    adp_line_key(out, "retry_after_ms");
    if (d->retry_after_ms)
        adp_line_u64(out, d->retry_after_ms);
    else
        adp_line_puts(out, "null");
    adp_line_key_bool(out, "enforced", d->enforced);
    adp_line_key(out, "id");
    adp_line_string(out, id, ADP_HEX);
    if (d->fault) {
        adp_line_key(out, "fault");
        adp_line_string(out, d->fault, strlen(d->fault));
    }
    adp_line_puts(out, "}\n");
}

void adp_decide_reply(struct adp_loop *loop, uint64_t exchange, bool always200,
                      const adp_decision *d)
{
    struct adp_answer_fields fields;
    adp_answer_fields(&fields, d);
    put_decision(&loop->desk.out, d);
    answer_object(loop, exchange, always200 ? 200 : d->status, fields.field, fields.n);
}

static void decide(struct adp_loop *loop, const struct adp_http_request *request,
                   struct adp_owed_manner manner, const struct asked *a)
{
    adp_decision d;
    adp_desk_decide(&loop->desk, &a->facts, a->metrics, a->n_metrics, &d);
    adp_above_owe_decision(loop, ADP_OWED_DECIDE, manner, &d);
    adp_decide_reply(loop, request->exchange, manner.always200, &d);
}

void adp_decide_answer(struct adp_loop *loop, const struct adp_http_request *request)
{
    struct asked a = { 0 };
    struct adp_http_text word;
    const struct adp_owed_manner manner = { .always200 = adp_http_query_find(
                                                request, "always200", &word) };
    /* Reading it takes long enough for another thread to end us. */
    adp_above_owe_decision(loop, ADP_OWED_DECIDE, manner, NULL);
    adp_desk_clear(&loop->desk);
    if (read_asked(&loop->desk, &a, request))
        decide(loop, request, manner, &a);
    else
        adp_refuse(loop, request, 400, "%s", a.wrong);
    json_decref(a.root);
    free(a.metrics);
    free(a.labels);
}

void adp_outcome_reply(struct adp_loop *loop, uint64_t exchange,
                       enum adp_outcome_fate fate)
{
    struct adp_line *out = &loop->desk.out;
    adp_line_clear(out);
    adp_line_puts(out, "{\"outcome\":\"");
    adp_line_puts(out, adp_outcome_fate_word(fate));
    adp_line_puts(out, "\"}\n");
    answer_object(loop, exchange, 200, NULL, 0);
}

void adp_outcome_answer(struct adp_loop *loop, const struct adp_http_request *request)
{
    const char *why = NULL;
    adp_above_owe(loop, ADP_OWED_OUTCOME, NULL);
    enum adp_outcome_fate fate = adp_outcome_take(
        &loop->desk, request->body.at ? request->body.at : "", request->body.len, &why);
    if (fate == ADP_FATE_BAD) {
        adp_refuse(loop, request, 400, "%s", why);
        return;
    }
    const uint64_t note[3] = { 1 + (uint64_t)fate };
    adp_above_owe(loop, ADP_OWED_OUTCOME, note);
    adp_outcome_reply(loop, request->exchange, fate);
}
