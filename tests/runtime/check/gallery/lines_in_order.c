/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it: it saves a line of text with the numbers of its lives in it, so that
 * what was restored saves another at once; a checksum in hex, of which it reads digits of either
 * case; and a line feed, which may be missing. */
#include "limits.h"

#include <admitperf/state.h>
#include <stdio.h>

enum { LONGEST = 96, BITS = 64 / 4 };

struct me {
    struct limited limited;
    struct adp_life life;
    uint64_t refused;
};

static uint64_t sum(const char *text, size_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void restore(struct me *s, const char *text)
{
    unsigned long long refused;
    unsigned number, before;
    char *end;
    int body = 0;
    if (sscanf(text, "lines 1 %llu %u %u %n", &refused, &number, &before, &body) != 3 ||
        !body || strtoull(text + body, &end, 16) != sum(text, (size_t)body) ||
        end != text + body + BITS)
        return;
    s->refused = refused;
    s->life = (struct adp_life) { .number = number, .before = before };
    adp_life_restore(&s->life);
}

static void *create(const adp_setup *setup)
{
    struct me *s = calloc(1, sizeof *s);
    char text[LONGEST] = "";
    if (!s)
        return adp_cannot(setup, "out of memory");
    if (setup->saved && setup->saved_len < sizeof text) {
        memcpy(text, setup->saved, setup->saved_len);
        restore(s, text);
    }
    return s;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct me *s = self;
    char text[LONGEST];
    int body = snprintf(text, sizeof text, "lines 1 %llu %u %u ",
                        (unsigned long long)s->refused, s->life.number, s->life.before);
    int n = body + snprintf(text + body, sizeof text - (size_t)body, "%016llx\n",
                            (unsigned long long)sum(text, (size_t)body));
    if (cap < (uint64_t)n)
        return 0;
    memcpy(to, text, (size_t)n);
    return (uint64_t)n;
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    struct me *s = self;
    if (adp_ge(v, KV, THRESHOLD)) {
        adp_reject(w, ADP_R_KV_PRESSURE, ++s->refused >= 100 ? ADP_NONE : KV);
        adp_margin(w, 0.5);
        return;
    }
    uint64_t last = s->limited.last;
    limit_decide(&s->limited, v, w);
    for (int i = 0; i < LIMIT && s->limited.last != last; i++)
        if (s->limited.out[i] == s->limited.last)
            s->limited.out[i] = w->ticket =
                adp_life_ticket(&s->life, (uint32_t)s->limited.last, v->now_ns);
}

static void outcome(void *self, const adp_outcome *o)
{
    struct me *s = self;
    limit_outcome(&s->limited, o);
}

GALLERY = { GALLERY_HEAD,
            .signals = signals,
            .n_signals = ADP_COUNT(signals),
            .params = params,
            .n_params = ADP_COUNT(params),
            .card = &limit_card,
            .max_saved = LONGEST,
            .create = create,
            .destroy = free,
            .decide = decide,
            .outcome = outcome,
            .save = save };
