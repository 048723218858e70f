/* SPDX-License-Identifier: MIT */
/* For tests of the supervisor: takes its process down, in one of several ways, when it is
 * asked about a request of tenant "crash"; admits all others under a ticket, counts them, and
 * saves the counts.
 *
 * CRASH names the way, as a function here. A request whose SLO class is "asked", "back" or
 * "made" reads a count: it is deferred (capacity_reserved), not counted, and retry_after_ms
 * is the count plus 1. With tenant "create" the policy arms itself: the instance that is made
 * from its next saved state crashes in create. */
#include <admitperf/policy.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    uint64_t asked, back, made, armed;
};
struct crash {
    _Atomic uint64_t asked, back, made, armed;
};

__attribute__((no_sanitize("undefined"), unused)) static void by_segv(void)
{
    volatile uintptr_t nowhere = 0; /* which the compiler must not know */
    *(volatile int *)nowhere = 1;
}

__attribute__((unused)) static void by_abort(void)
{
    abort();
}

__attribute__((unused)) static void by_exit(void)
{
    exit(3);
}

__attribute__((unused)) static void by_hang(void)
{
    for (volatile int on = 1; on;)
        ;
}

__attribute__((noinline, unused)) static int deeper(int n)
{
    volatile char room[4096];
    memset((char *)room, n, sizeof room);
    int below = n < 0 ? 0 : deeper(n + 1);
    return below + room[n & 4095];
}

__attribute__((unused)) static void by_overflow(void)
{
    deeper(1);
}

/* Some at each request; never given back. */
__attribute__((unused)) static void by_leak(void)
{
    enum { PIECE = 24 << 20 };
    static _Atomic(void *) kept; /* where others may look, so it is written in full */
    void *piece = malloc(PIECE);
    if (piece)
        memset(piece, 1, PIECE);
    atomic_store(&kept, piece);
}

static void *create(const adp_setup *setup)
{
    struct crash *c = calloc(1, sizeof *c);
    struct counts was = { 0 };
    if (!c)
        return adp_cannot(setup, "out of memory");
    if (setup->saved && setup->saved_len == sizeof was)
        memcpy(&was, setup->saved, sizeof was);
    if (was.armed)
        abort();
    c->asked = was.asked;
    c->back = was.back;
    c->made = was.made + 1;
    return c;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct crash *c = self;
    const char *tenant = v->request->tenant ? v->request->tenant : "";
    const char *class = v->request->slo_class ? v->request->slo_class : "";
    uint64_t count = 0;
    if (strcmp(tenant, "crash") == 0)
        CRASH();
    if (strcmp(tenant, "create") == 0)
        c->armed = 1;
    if (strcmp(class, "asked") == 0)
        count = 1 + c->asked;
    else if (strcmp(class, "back") == 0)
        count = 1 + c->back;
    else if (strcmp(class, "made") == 0)
        count = 1 + c->made;
    if (count) {
        adp_defer(w, ADP_R_CAPACITY_RESERVED, ADP_NONE, (double)count);
        return;
    }
    adp_admit(w);
    w->ticket = 1 + atomic_fetch_add(&c->asked, 1);
}

static void outcome(void *self, const adp_outcome *o)
{
    struct crash *c = self;
    (void)o;
    atomic_fetch_add(&c->back, 1);
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct crash *c = self;
    struct counts now = { c->asked, c->back, c->made, c->armed };
    if (cap < sizeof now)
        return 0;
    memcpy(to, &now, sizeof now);
    return sizeof now;
}

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .name = NAME,
    .threading = ADP_CONCURRENT,
    .max_saved = sizeof(struct counts),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
