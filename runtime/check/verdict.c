/* SPDX-License-Identifier: MIT */
/* Answers of a policy (runtime/check/verdict.h). */
#include "runtime/check/verdict.h"

#include "core/reason.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

struct adp_said adp_verdict_said(const struct adp_verdict *v)
{
    struct adp_said said;
    memset(&said, 0, sizeof said);
    said.action = v->action;
    said.reason = v->reason;
    said.set = v->set;
    said.binding = v->binding;
    said.ticket = v->ticket != 0;
    if (v->set & ADP_SET_RETRY)
        said.retry_after_ms = v->retry_after_ms;
    if (v->set & ADP_SET_MARGIN)
        said.margin = v->margin;
    if (v->set & ADP_SET_P)
        said.p = v->p;
    return said;
}

bool adp_verdict_same(const struct adp_said *a, const struct adp_said *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool adp_verdict_usable(const struct adp_verdict *v)
{
    if (v->action == ADP_ADMIT)
        return true;
    return (v->action == ADP_REJECT || v->action == ADP_DEFER) &&
           adp_reason_open(v->reason);
}

static size_t add(char *to, size_t cap, size_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static size_t add(char *to, size_t cap, size_t at, const char *format, ...)
{
    va_list args;
    if (at >= cap)
        return at;
    va_start(args, format);
    int n = vsnprintf(to + at, cap - at, format, args);
    va_end(args);
    return n < 0 ? at : at + (size_t)n;
}

const char *adp_verdict_words(const struct adp_said *s, char *to, size_t cap)
{
    static const char *const actions[] = { "sets no action", "admits", "rejects",
                                           "defers" };
    const char *reason = adp_reason_word(s->reason);
    size_t at = 0;
    if (s->action < sizeof actions / sizeof actions[0])
        at = add(to, cap, at, "%s", actions[s->action]);
    else
        at = add(to, cap, at, "sets action %u", s->action);
    if (s->reason)
        at = reason ? add(to, cap, at, " (%s)", reason)
                    : add(to, cap, at, " (reason %u)", s->reason);
    if (s->binding != ADP_NONE)
        at = add(to, cap, at, ", slot %u", s->binding);
    if (s->set & ADP_SET_RETRY)
        at = add(to, cap, at, ", retry after %u ms", s->retry_after_ms);
    if (s->set & ADP_SET_MARGIN)
        at = add(to, cap, at, ", margin %.17g", s->margin);
    if (s->set & ADP_SET_P)
        at = add(to, cap, at, ", p %.17g", s->p);
    if (s->ticket)
        add(to, cap, at, ", with a ticket");
    return to;
}

bool adp_verdict_fault(const struct adp_policy *policy, const struct adp_verdict *v,
                       char *to, size_t cap)
{
    const uint32_t known = ADP_SET_MARGIN | ADP_SET_P | ADP_SET_RETRY;
    if (v->size != sizeof *v)
        snprintf(to, cap, "size is %u, the host had set %zu", v->size, sizeof *v);
    else if (v->action == 0)
        snprintf(to, cap, "it sets no action");
    else if (v->action > ADP_DEFER)
        snprintf(to, cap, "action is %u, expected %d to %d", v->action, ADP_ADMIT,
                 ADP_DEFER);
    else if (v->action != ADP_ADMIT && !adp_reason_open(v->reason))
        snprintf(to, cap, "it refuses with reason %u, expected %d to %d", v->reason,
                 ADP_R_KV_PRESSURE, ADP_R_REQUEST_TOO_LARGE);
    else if (v->action == ADP_ADMIT && v->reason)
        snprintf(to, cap, "it admits with reason %u, expected 0", v->reason);
    else if (v->binding != ADP_NONE && v->binding >= policy->n_signals)
        snprintf(to, cap, "binding is slot %u of %u declared", v->binding,
                 policy->n_signals);
    else if (v->set & ~known)
        snprintf(to, cap, "set is 0x%x, not all of it known", v->set);
    else if (v->set & ADP_SET_RETRY && !v->retry_after_ms)
        snprintf(to, cap, "it sets a retry time of 0 ms");
    else if (v->set & ADP_SET_MARGIN && !isfinite(v->margin))
        snprintf(to, cap, "margin is %g, expected a finite number", v->margin);
    else if (v->set & ADP_SET_P && !(v->p >= 0.0 && v->p <= 1.0))
        snprintf(to, cap, "p is %.17g, expected a probability", v->p);
    else
        return false;
    return true;
}
