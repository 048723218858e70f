/* SPDX-License-Identifier: MIT */
/* For tests of reload: admits every request under a ticket of its own, counts what it was
 * asked and what came back, and saves that.
 *
 * A request whose SLO class is one of these words reads a count: it is deferred
 * (capacity_reserved) without a ticket and without being counted, and retry_after_ms is
 *     asked    requests admitted
 *     back     outcomes, of whatever kind
 *     lost     outcomes of kind LOST
 *     wrong    outcomes that came twice, or of a ticket never given out
 *     made     instances that this state has gone through
 * `format` is the number that saved bytes begin with: a state under another is refused
 * with a reason when `strict`, else the instance starts afresh. `cap` refuses (queue_depth)
 * from that many on. */
#include <admitperf/policy.h>

#include <stdlib.h>
#include <string.h>

#define WINDOW 65536u /* tickets out at once; a power of two */

struct counter {
    uint64_t format;
    uint64_t asked, back, lost, wrong, made;
    unsigned char out[WINDOW]; /* by ticket % WINDOW: 1: given out, not back */
};

enum { FORMAT, STRICT, CAP };
static const adp_param params[] = {
    { "format", "", NULL, 0, 100, 1, ADP_I64, 0 },
    { "strict", "", NULL, 0, 1, 0, ADP_BOOL, 0 },
    { "cap", "requests", NULL, 0, 1e12, 1e12, ADP_I64, 0 },
};

static void *create(const adp_setup *setup)
{
    struct counter *c = calloc(1, sizeof *c);
    if (!c)
        return adp_cannot(setup, "out of memory");
    if (setup->saved && setup->saved_len == sizeof *c)
        memcpy(c, setup->saved, sizeof *c);
    if (setup->saved && (double)c->format != setup->param[FORMAT]) {
        if (setup->param[STRICT] != 0.0) {
            free(c);
            return adp_cannot(setup, "it is of another format");
        }
        memset(c, 0, sizeof *c);
    }
    c->format = (uint64_t)setup->param[FORMAT];
    c->made++;
    return c;
}

static const uint64_t *count_of(const struct counter *c, const char *class)
{
    const struct {
        const char *name;
        const uint64_t *count;
    } counts[] = { { "asked", &c->asked },
                   { "back", &c->back },
                   { "lost", &c->lost },
                   { "wrong", &c->wrong },
                   { "made", &c->made } };
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (strcmp(counts[i].name, class) == 0)
            return counts[i].count;
    return NULL;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct counter *c = self;
    const uint64_t *count =
        v->request->slo_class ? count_of(c, v->request->slo_class) : NULL;
    if (count) {
        adp_defer(w, ADP_R_CAPACITY_RESERVED, ADP_NONE, (double)*count);
        return;
    }
    if ((double)c->asked >= v->param[CAP]) {
        adp_reject(w, ADP_R_QUEUE_DEPTH, ADP_NONE);
        return;
    }
    adp_admit(w);
    w->ticket = ++c->asked;
    c->wrong += c->out[w->ticket % WINDOW];
    c->out[w->ticket % WINDOW] = 1;
}

static void outcome(void *self, const adp_outcome *o)
{
    struct counter *c = self;
    c->back++;
    c->lost += o->kind == ADP_LOST;
    c->wrong += !c->out[o->ticket % WINDOW];
    c->out[o->ticket % WINDOW] = 0;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    if (cap < sizeof(struct counter))
        return 0;
    memcpy(to, self, sizeof(struct counter));
    return sizeof(struct counter);
}

#ifndef ADP_TEST_VERSION
#define ADP_TEST_VERSION "1"
#endif

const adp_policy admitperf_policy_v1 = {
    ADP_HEAD,
    .n_params = ADP_COUNT(params),
    .params = params,
    .name = "counter",
    .version = ADP_TEST_VERSION,
    .threading = ADP_SERIAL,
    .max_saved = sizeof(struct counter),
    .create = create,
    .destroy = free,
    .decide = decide,
    .outcome = outcome,
    .save = save,
};
