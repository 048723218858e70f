/* SPDX-License-Identifier: MIT */
/* Facts (facts.h). */
#include "runtime/sidecar/facts.h"

#include "core/number.h"

#include <math.h>
#include <string.h>

const char *const adp_fact_names[] = {
    [ADP_HEADER_REQUEST_ID] = "request_id",
    [ADP_HEADER_TENANT] = "tenant",
    [ADP_HEADER_SESSION] = "session",
    [ADP_HEADER_SLO_CLASS] = "slo_class",
    [ADP_HEADER_PRIORITY] = "priority",
    [ADP_HEADER_PROMPT_TOKENS] = "prompt_tokens",
    [ADP_HEADER_PROMPT_BYTES] = "prompt_bytes",
    [ADP_HEADER_MAX_OUTPUT_TOKENS] = "max_output_tokens",
    [ADP_HEADER_TTFT_DEADLINE_MS] = "ttft_deadline_ms",
    [ADP_HEADERS] = NULL,
};

/* Ours first, then what llm-d and the Gateway API Inference Extension call it. */
static const struct adp_names_setting our_headers[ADP_HEADERS] = {
    [ADP_HEADER_REQUEST_ID] = { { "x-request-id" }, 1 },
    [ADP_HEADER_TENANT] = { { "x-tenant", "x-llm-d-inference-fairness-id",
                              "x-gateway-inference-fairness-id" },
                            3 },
    [ADP_HEADER_SESSION] = { { "x-session-id" }, 1 },
    [ADP_HEADER_SLO_CLASS] = { { "x-slo-class", "x-llm-d-inference-objective",
                                 "x-gateway-inference-objective" },
                               3 },
    [ADP_HEADER_PRIORITY] = { { "x-priority" }, 1 },
    [ADP_HEADER_PROMPT_TOKENS] = { { "x-prompt-tokens" }, 1 },
    [ADP_HEADER_PROMPT_BYTES] = { { "x-body-bytes" }, 1 },
    [ADP_HEADER_MAX_OUTPUT_TOKENS] = { { "x-max-output-tokens" }, 1 },
    [ADP_HEADER_TTFT_DEADLINE_MS] = { { "x-ttft-deadline-ms", "x-llm-d-slo-ttft-ms",
                                        "x-slo-ttft-ms" },
                                      3 },
};

/* Those of the configurations in infra/gateways, and of Caddy's own log. */
static const struct adp_names_setting our_fields[ADP_FIELDS] = {
    [ADP_FIELD_ID] = { { "id", "resp_headers.X-Admit-Id" }, 2 },
    [ADP_FIELD_REQUEST_ID] = { { "request_id", "resp_headers.X-Request-Id" }, 2 },
    [ADP_FIELD_VERDICT] = { { "verdict", "resp_headers.X-Admit-Verdict" }, 2 },
    [ADP_FIELD_STATUS] = { { "status" }, 1 },
    [ADP_FIELD_OK] = { { "ok" }, 1 },
    [ADP_FIELD_END] = { { "end" }, 1 },
    [ADP_FIELD_TTFT_MS] = { { "ttft_ms" }, 1 },
    [ADP_FIELD_TTFT_US] = { { "ttft_us" }, 1 },
    [ADP_FIELD_TTFT_S] = { { "ttft_s" }, 1 },
    [ADP_FIELD_TOTAL_MS] = { { "total_ms" }, 1 },
    [ADP_FIELD_TOTAL_US] = { { "total_us" }, 1 },
    [ADP_FIELD_TOTAL_S] = { { "total_s", "duration" }, 2 },
    [ADP_FIELD_PROMPT_TOKENS] = { { "prompt_tokens" }, 1 },
    [ADP_FIELD_OUTPUT_TOKENS] = { { "output_tokens" }, 1 },
};

void adp_facts_settle(struct adp_serve_setting *serve)
{
    for (uint32_t i = 0; i < ADP_HEADERS; i++)
        if (!serve->header[i].n)
            serve->header[i] = our_headers[i];
    for (uint32_t i = 0; i < ADP_FIELDS; i++)
        if (!serve->field[i].n)
            serve->field[i] = our_fields[i];
}

int adp_facts_find(const char *name, size_t len)
{
    if (len == 2 && memcmp(name, "id", 2) == 0)
        return ADP_HEADER_REQUEST_ID;
    for (int i = 0; adp_fact_names[i]; i++)
        if (strlen(adp_fact_names[i]) == len && memcmp(adp_fact_names[i], name, len) == 0)
            return i;
    return -1;
}

/* A whole number of at most 15 digits: what a double, and so the log, holds exactly. */
static bool whole(const char *text, bool with_sign, int64_t *ret)
{
    bool negative = with_sign && *text == '-';
    int64_t value = 0;
    text += negative;
    size_t len = strlen(text);
    if (!len || len > 15)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (*text - '0');
    }
    *ret = negative ? -value : value;
    return true;
}

static bool put_number(const struct adp_desk *desk, adp_facts *f, enum adp_header fact,
                       const char *text)
{
    int64_t n = 0;
    double d;
    double per_token = desk->serve->bytes_per_token;
    switch (fact) {
    case ADP_HEADER_PRIORITY:
        if (!whole(text, true, &n))
            return false;
        f->priority = n;
        f->present |= ADP_PRIORITY;
        return true;
    case ADP_HEADER_PROMPT_TOKENS:
        if (!whole(text, false, &n))
            return false;
        f->prompt_tokens = (uint64_t)n;
        f->present |= ADP_PROMPT;
        return true;
    case ADP_HEADER_PROMPT_BYTES:
        if (!*text || f->present & ADP_PROMPT || !(per_token > 0.0))
            return true; /* nothing to make of it */
        if (!whole(text, false, &n))
            return false;
        f->prompt_tokens = (uint64_t)((double)n / per_token);
        f->present |= ADP_PROMPT;
        return true;
    case ADP_HEADER_MAX_OUTPUT_TOKENS:
        if (!whole(text, false, &n))
            return false;
        f->max_output_tokens = (uint64_t)n;
        f->present |= ADP_OUTPUT;
        return true;
    default:
        if (!adp_number_parse(text, strlen(text), &d) || !isfinite(d) || d < 0.0)
            return false;
        f->ttft_deadline_ms = d;
        f->present |= ADP_DEADLINE;
        return true;
    }
}

bool adp_facts_put(struct adp_desk *desk, adp_facts *facts, enum adp_header fact,
                   const char *text)
{
    const char **const texts[] = { [ADP_HEADER_REQUEST_ID] = &facts->request_id,
                                   [ADP_HEADER_TENANT] = &facts->tenant,
                                   [ADP_HEADER_SESSION] = &facts->session,
                                   [ADP_HEADER_SLO_CLASS] = &facts->slo_class };
    if ((size_t)fact < sizeof texts / sizeof texts[0]) {
        if (*text) /* an empty header is one that the gateway had no value for */
            *texts[fact] = text;
        return true;
    }
    bool known = put_number(desk, facts, fact, text);
    if (!known)
        adp_desk_count(&desk->counts.bad_facts, 1);
    return known;
}

/* A bit for each length that a field's name has: most names that are looked for are not there,
 * and differ from those that are in that already. */
static uint64_t lengths_of(const struct adp_http_request *request)
{
    uint64_t lengths = 0;
    for (size_t i = 0; i < request->n_fields; i++)
        lengths |= UINT64_C(1) << request->fields[i].name.len % 64;
    return lengths;
}

adp_facts adp_facts_of_headers(struct adp_desk *desk,
                               const struct adp_http_request *request)
{
    adp_facts facts = { .size = sizeof facts };
    uint64_t lengths = lengths_of(request);
    for (uint32_t fact = 0; fact < ADP_HEADERS; fact++) {
        const struct adp_names_setting *names = &desk->serve->header[fact];
        const struct adp_http_text *value = NULL;
        for (uint32_t i = 0; i < names->n && !value; i++)
            if (lengths >> strlen(names->name[i]) % 64 & 1)
                value = adp_http_field_find(request, names->name[i]);
        const char *text = value ? adp_desk_text(desk, value->at, value->len) : NULL;
        if (text)
            adp_facts_put(desk, &facts, (enum adp_header)fact, text);
    }
    return facts;
}
