/* SPDX-License-Identifier: MIT */
/* Answers of a policy: whether they can be used, whether two are the same, and in words. */
#ifndef ADP_RUNTIME_CHECK_VERDICT_H
#define ADP_RUNTIME_CHECK_VERDICT_H

#include "runtime/check/subject.h"

/* A verdict without what was left unset: equal ones are equal bytes. The ticket is the
 * policy's own, only whether there is one counts. */
struct adp_said {
    uint32_t action, reason, retry_after_ms, set, binding, ticket;
    double margin, p;
};

struct adp_said adp_verdict_said(const struct adp_verdict *verdict);
bool adp_verdict_same(const struct adp_said *a, const struct adp_said *b);
/* An action and, where it needs one, an open reason: the host can use it. */
bool adp_verdict_usable(const struct adp_verdict *verdict);
/* "rejects (kv_pressure, slot 0), margin 0.25". Returns `to`. */
const char *adp_verdict_words(const struct adp_said *said, char *to, size_t cap);

/* What is wrong with a verdict by itself, in words; false: nothing. */
bool adp_verdict_fault(const struct adp_policy *policy, const struct adp_verdict *verdict,
                       char *to, size_t cap);

#endif
