/* SPDX-License-Identifier: MIT */
/* For tests of the host: admits every request under a ticket of its own, 1, 2, 3, …, and
 * counts what comes back.
 *
 * A request of SLO class "count" reads the counts: it is deferred (capacity_reserved)
 * without a ticket, and retry_after_ms is
 *     done + 10 failed + 100 cancelled + 1000 not_run + 10000 lost + 100000 wrong
 * so that up to nine of each are read off the digits. "Wrong" is an outcome of a ticket
 * that was never given out or came back before, or of no known kind. */
#include <admitperf/policy.h>

#include <stdlib.h>
#include <string.h>

#define MAX_TICKETS 4096u

struct echo {
    uint32_t given;                      /* tickets 1 .. given are out or back */
    uint32_t counts[ADP_LOST + 1];       /* by enum adp_end; [0] counts the wrong ones */
    unsigned char back[MAX_TICKETS + 1]; /* 1: its outcome has come */
};

static void *create(const adp_setup *setup)
{
    (void)setup;
    return calloc(1, sizeof(struct echo));
}

static uint32_t digits(const struct echo *echo)
{
    const uint32_t *n = echo->counts;
    return n[ADP_DONE] + 10 * n[ADP_FAILED] + 100 * n[ADP_CANCELLED] +
           1000 * n[ADP_NOT_RUN] + 10000 * n[ADP_LOST] + 100000 * n[0];
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct echo *echo = self;
    const char *class = v->request->slo_class;
    if (class && strcmp(class, "count") == 0) {
        adp_defer(w, ADP_R_CAPACITY_RESERVED, ADP_NONE, digits(echo));
        return;
    }
    adp_admit(w);
    if (echo->given < MAX_TICKETS)
        w->ticket = ++echo->given;
}

static void outcome(void *self, const adp_outcome *o)
{
    struct echo *echo = self;
    if (o->ticket < 1 || o->ticket > echo->given || echo->back[o->ticket] ||
        o->kind < ADP_DONE || o->kind > ADP_LOST) {
        echo->counts[0]++;
        return;
    }
    echo->back[o->ticket] = 1;
    echo->counts[o->kind]++;
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,         .name = "ticket_echo", .version = "1.0", .threading = ADP_SERIAL,
    .create = create, .destroy = free,       .decide = decide, .outcome = outcome,
};
