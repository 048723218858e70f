/* SPDX-License-Identifier: MIT */
/* Which policies workers died of, and what the next worker is to do with them.
 *
 *  1. Deaths count for window_ms. The first: restore; the second: afresh; the third:
 *     quarantine, which stays until a reload.
 *  2. Whom the last death does not concern is restored. */
#include "runtime/supervise/inner.h"

#include <string.h>

const char *adp_supervise_name(const struct adp_supervisor *s, uint32_t generation,
                               uint32_t policy)
{
    const struct adp_policies_message *m = &s->policies[generation % ADP_GENERATIONS];
    return generation && m->head.number == generation && policy < m->n ? m->name[policy]
                                                                       : NULL;
}

void adp_suspect_begin(struct adp_supervisor *s)
{
    for (uint32_t i = 0; i < ADP_SUSPECTS; i++) {
        struct adp_suspect *p = &s->suspect[i];
        p->fresh = false;
        if (p->order != ADP_ORDER_QUARANTINE)
            p->order = ADP_ORDER_RESTORE;
    }
}

/* Whether a's place is the one to give away: a free one, or the last death longer ago. */
static bool goes_before(const struct adp_suspect *a, const struct adp_suspect *b)
{
    return !a->name[0] == !b->name[0] ? a->died_ns[0] < b->died_ns[0] : !a->name[0];
}

/* A free place, or that of the one whose last death is the longest ago. */
static struct adp_suspect *place(struct adp_supervisor *s, const char *name)
{
    struct adp_suspect *best = NULL;
    for (uint32_t i = 0; i < ADP_SUSPECTS; i++) {
        struct adp_suspect *p = &s->suspect[i];
        if (strcmp(p->name, name) == 0)
            return p;
        if (p->order != ADP_ORDER_QUARANTINE && (!best || goes_before(p, best)))
            best = p;
    }
    if (!best)
        return NULL;
    *best = (struct adp_suspect) { .order = ADP_ORDER_RESTORE };
    memcpy(best->name, name, strnlen(name, ADP_POLICY_NAME - 1));
    return best;
}

void adp_suspect_name(struct adp_supervisor *s, const char *name, uint64_t now_ns)
{
    struct adp_suspect *p = place(s, name);
    if (!p || p->fresh)
        return;
    p->fresh = true;
    p->deaths++;
    memmove(&p->died_ns[1], &p->died_ns[0], (ADP_DEATHS_KEPT - 1) * sizeof p->died_ns[0]);
    p->died_ns[0] = now_ns;
}

void adp_suspect_all(struct adp_supervisor *s, uint64_t now_ns)
{
    const char *name;
    for (uint32_t i = 0; (name = adp_supervise_name(s, s->newest, i)) != NULL; i++)
        adp_suspect_name(s, name, now_ns);
}

static uint32_t deaths(const struct adp_supervisor *s, const struct adp_suspect *p,
                       uint64_t now_ns)
{
    uint64_t window_ns = s->options.window_ms * 1000000ull;
    uint32_t n = 0;
    for (uint32_t i = 0; i < ADP_DEATHS_KEPT; i++)
        n += p->died_ns[i] && now_ns - p->died_ns[i] <= window_ns;
    return n;
}

void adp_suspect_end(struct adp_supervisor *s, uint64_t now_ns)
{
    for (uint32_t i = 0; i < ADP_SUSPECTS; i++) {
        struct adp_suspect *p = &s->suspect[i];
        if (!p->fresh || p->order == ADP_ORDER_QUARANTINE)
            continue;
        uint32_t n = deaths(s, p, now_ns);
        p->order = n >= 3   ? ADP_ORDER_QUARANTINE
                   : n == 2 ? ADP_ORDER_AFRESH
                            : ADP_ORDER_RESTORE;
        if (p->order != ADP_ORDER_QUARANTINE)
            continue;
        s->counts.quarantined++;
        adp_supervise_tell(
            s, &(struct adp_news) { .what = ADP_POLICY_QUARANTINED, .policy = p->name });
    }
}

void adp_suspect_clear(struct adp_supervisor *s)
{
    for (uint32_t i = 0; i < ADP_SUSPECTS; i++) {
        struct adp_suspect *p = &s->suspect[i];
        memset(p->died_ns, 0, sizeof p->died_ns);
        p->order = ADP_ORDER_RESTORE;
        p->fresh = false;
    }
    s->counts.quarantined = 0;
}
