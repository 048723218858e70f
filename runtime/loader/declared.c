/* SPDX-License-Identifier: MIT */
/* What a policy declares, flat (runtime/loader/declared.h). */
#include "runtime/loader/declared.h"

#include "runtime/loader/loader.h"
#include "runtime/loader/table.h"

#include <string.h>

enum { NONE = 1, TEXT };

/* A place in `texts`. */
struct walk {
    char *at, *end;
    bool ok;
};

/* Every text of a record, in one order for who writes and who reads. */
static void each_text(struct adp_declared *d, void (*each)(struct walk *, const char **),
                      struct walk *walk)
{
    each(walk, &d->policy.name);
    each(walk, &d->policy.version);
    each(walk, &d->policy.doc);
    for (uint32_t i = 0; i < d->policy.n_signals; i++) {
        each(walk, &d->signals[i].name);
        each(walk, &d->signals[i].unit);
    }
    for (uint32_t i = 0; i < d->policy.n_params; i++) {
        each(walk, &d->params[i].name);
        each(walk, &d->params[i].unit);
        each(walk, &d->params[i].doc);
    }
    each(walk, &d->card.unit);
    each(walk, &d->card.setting);
    each(walk, &d->card.slo_awareness);
    each(walk, &d->card.signal_quantity);
    each(walk, &d->card.signal_structure);
    each(walk, &d->card.metadata_assumed);
    each(walk, &d->card.portability);
    each(walk, &d->card.source);
    each(walk, &d->card.margin_unit);
}

static void write_text(struct walk *walk, const char **text)
{
    size_t n = *text ? strlen(*text) + 1 : 0;
    walk->ok = walk->ok && (size_t)(walk->end - walk->at) > n;
    if (!walk->ok)
        return;
    *walk->at++ = *text ? TEXT : NONE;
    if (n)
        memcpy(walk->at, *text, n);
    walk->at += n;
}

static void read_text(struct walk *walk, const char **text)
{
    *text = NULL;
    walk->ok =
        walk->ok && walk->at < walk->end && (*walk->at == NONE || *walk->at == TEXT);
    if (!walk->ok || *walk->at++ == NONE)
        return;
    size_t room = (size_t)(walk->end - walk->at), n = strnlen(walk->at, room);
    walk->ok = n < room;
    if (!walk->ok)
        return;
    *text = walk->at;
    walk->at += n + 1;
}

static bool counts_are_sound(const struct adp_policy *p)
{
    return p->n_signals <= ADP_MAX_SIGNALS && p->n_params <= ADP_MAX_PARAMS &&
           p->n_gates <= ADP_MAX_GATES;
}

bool adp_declared_write(struct adp_declared *to, const struct adp_policy *policy)
{
    struct walk walk = { to->texts, to->texts + sizeof to->texts, true };
    if (!counts_are_sound(policy))
        return false;
    to->policy = *policy;
    for (uint32_t i = 0; i < policy->n_signals; i++)
        to->signals[i] = adp_table_signal(policy, i);
    for (uint32_t i = 0; i < policy->n_params; i++)
        to->params[i] = adp_table_param(policy, i);
    for (uint32_t i = 0; i < policy->n_gates; i++)
        to->gates[i] = adp_table_gate(policy, i);
    to->card = adp_table_card(policy);
    each_text(to, write_text, &walk);
    return walk.ok;
}

/* What stands for the functions of a policy that is elsewhere. */
static void *no_create(const adp_setup *setup)
{
    return adp_cannot(setup, "the policy is not loaded here");
}

static void no_decide(void *self, const adp_view *view, adp_verdict *verdict)
{
    (void)self;
    (void)view;
    (void)verdict;
}

static uint64_t no_save(const void *self, void *to, uint64_t cap)
{
    (void)self;
    (void)to;
    (void)cap;
    return 0;
}

/* No address of the other process stays. */
static void settle(struct adp_declared *d)
{
    struct adp_policy *p = &d->policy;
    p->magic = ADP_MAGIC;
    p->size = sizeof *p;
    p->signal_size = sizeof *p->signals;
    p->param_size = sizeof *p->params;
    p->gate_size = sizeof *p->gates;
    p->card_size = sizeof *p->card;
    p->signals = d->signals;
    p->params = d->params;
    p->gates = d->gates;
    p->card = p->card ? &d->card : NULL;
    p->create = p->create ? no_create : NULL;
    p->decide = p->decide ? no_decide : NULL;
    p->save = p->save ? no_save : NULL;
    p->destroy = NULL;
    p->outcome = NULL;
    p->extension = NULL;
}

int adp_declared_read(struct adp_declared *declared, const char *path,
                      struct adp_error *err)
{
    struct walk walk = { declared->texts, declared->texts + sizeof declared->texts,
                         true };
    if (counts_are_sound(&declared->policy)) {
        settle(declared);
        each_text(declared, read_text, &walk);
        if (walk.ok)
            return adp_loader_check(&declared->policy, path, err);
    }
    return adp_error_at(err, ADP_EABI, path, 0, 0,
                        "changed what was found in it as it was loaded");
}
