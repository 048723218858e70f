/* SPDX-License-Identifier: MIT */
/* Answers (answer.h). */
#include "runtime/sidecar/answer.h"

#include <string.h>

void adp_answer_hex(uint64_t value, char to[ADP_HEX + 1])
{
    for (size_t i = ADP_HEX; i-- > 0; value >>= 4)
        to[i] = "0123456789abcdef"[value & 15];
    to[ADP_HEX] = '\0';
}

const char *adp_answer_action(uint32_t action)
{
    return action == ADP_DEFER ? "defer" : action == ADP_REJECT ? "reject" : "admit";
}

const char *adp_answer_verdict(const adp_decision *d)
{
    return d->admitted ? "admit" : adp_answer_action(d->action);
}

uint32_t adp_answer_seconds(uint32_t ms)
{
    return ms / 1000 + (ms % 1000 != 0);
}

uint32_t adp_answer_status(const adp_decision *d, enum adp_gateway gateway)
{
    if (d->admitted)
        return 200;
    if (gateway == ADP_GATEWAY_NGINX)
        return 403;
    return gateway == ADP_GATEWAY_ENVOY && d->status >= 500 ? 429 : d->status;
}

/* --- headers --- */

static struct adp_http_text text(const char *at, size_t len)
{
    return (struct adp_http_text) { at, len };
}

static void add(struct adp_answer_fields *to, const char *name, const char *value)
{
    to->field[to->n++] =
        (struct adp_http_field) { text(name, strlen(name)), text(value, strlen(value)) };
}

/* Decimal, NUL-terminated, behind what is there; returns where it begins. */
static char *put_number(char **at, uint32_t value)
{
    char digits[12];
    size_t n = sizeof digits;
    digits[--n] = '\0';
    do
        digits[--n] = (char)('0' + value % 10);
    while (value /= 10);
    char *begin = *at;
    memcpy(begin, digits + n, sizeof digits - n);
    *at += sizeof digits - n;
    return begin;
}

void adp_answer_fields(struct adp_answer_fields *ret, const adp_decision *d)
{
    char *at = ret->text;
    ret->n = 0;
    add(ret, "X-Admit-Verdict", adp_answer_verdict(d));
    add(ret, "X-Admit-Status", put_number(&at, d->status));
    adp_answer_hex(d->id, at);
    add(ret, "X-Admit-Id", at);
    at += ADP_HEX + 1;
    if (d->policy_action != d->action)
        add(ret, "X-Admit-Policy", adp_answer_action(d->policy_action));
    if (d->admitted)
        return;
    add(ret, "X-Admit-Reason", d->reason ? d->reason : "policy_error");
    if (d->retry_after_ms) {
        add(ret, "Retry-After", put_number(&at, adp_answer_seconds(d->retry_after_ms)));
        add(ret, "X-Admit-Retry-After-Ms", put_number(&at, d->retry_after_ms));
    }
}
