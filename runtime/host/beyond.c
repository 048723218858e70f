/* SPDX-License-Identifier: MIT */
/* What outlives the process (host.h): taking up what another one left, and leaving the same. */
#include "core/error.h"
#include "core/recover.h"
#include "runtime/host/state.h"

#include <stdlib.h>
#include <string.h>

const void *adp_host_find_saved(struct adp_edition *e, uint32_t i, size_t *ret_len)
{
    const struct adp_beyond *b = e->beyond;
    const struct adp_policy *policy = e->generation->member[i].policy;
    *ret_len = 0;
    if (!b || !policy->save || !policy->max_saved)
        return NULL;
    const void *saved = b->saved(b->ctx, e->key[i], ret_len, &e->saved_ns[i]);
    if (!saved)
        e->saved_ns[i] = 0;
    return saved;
}

bool adp_host_is_quarantined(const struct adp_edition *e, uint32_t i)
{
    return e->beyond && e->beyond->quarantined(e->beyond->ctx, e->key[i]);
}

/* Names of the policies in force, in their order, each with what ends it; none begins with '#'. */
static const char NAMES_KEY[] = "#policies";

static void save_names(const struct adp_beyond *b, const struct adp_edition *e)
{
    uint32_t n = e->generation->n_members;
    char *to = b->save_begin(b->ctx, NAMES_KEY, n * (ADP_SIGNAL_NAME + 2));
    size_t len = 0;
    if (!to)
        return;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = e->loaded[i]->policy.name;
        size_t more = strlen(name);
        memcpy(to + len, name, more);
        len += more;
        to[len++] = e->loaded[i]->baseline ? '*' : '\n';
    }
    b->save_end(b->ctx, len, e->clock->mono_ns(e->clock->ctx));
}

static const char *saved_names(const struct adp_edition *e, size_t *ret_len)
{
    uint64_t at_ns;
    const struct adp_beyond *b = e->beyond;
    return b ? b->saved(b->ctx, NAMES_KEY, ret_len, &at_ns) : NULL;
}

bool adp_host_follows(const struct adp_edition *e)
{
    size_t len;
    return saved_names(e, &len) != NULL;
}

/* The i-th name's length and what ends it; 0: there is none. */
static size_t find_name(const char *names, size_t len, uint32_t i, const char **ret)
{
    size_t at = 0, n = 0;
    for (uint32_t k = 0; at < len; k++, at += n + 1) {
        for (n = 0; at + n < len && names[at + n] != '\n' && names[at + n] != '*'; n++)
            ;
        *ret = names + at;
        if (k == i)
            return at + n < len && n <= ADP_SIGNAL_NAME ? n : 0;
    }
    return 0;
}

bool adp_host_stand_in(struct adp_edition *e, uint32_t i)
{
    size_t len = 0;
    const char *names = saved_names(e, &len), *name = NULL;
    size_t n = names ? find_name(names, len, i, &name) : 0;
    struct adp_loaded *loaded = n ? calloc(1, sizeof *loaded) : NULL;
    if (!loaded)
        return false;
    memcpy(e->name[i], name, n);
    loaded->policy.size = sizeof loaded->policy;
    loaded->policy.name = e->name[i];
    loaded->baseline = name[n] == '*';
    adp_loaded_destroy(e->loaded[i]);
    e->loaded[i] = loaded;
    e->params[i] = (struct adp_params) { 0 };
    e->generation->member[i].replica_slots = 0;
    e->generation->member[i].quarantined = true;
    return true;
}

void adp_host_within(const struct adp_edition *e, uint32_t i, bool begins)
{
    if (e->beyond)
        e->beyond->within(e->beyond->ctx, begins ? e->key[i] : NULL,
                          begins ? e->clock->mono_ns(e->clock->ctx) : 0);
}

void adp_host_announce(const struct adp_runtime *rt, const struct adp_edition *e)
{
    const struct adp_beyond *b = rt->options.beyond;
    const char *keys[ADP_MAX_POLICIES];
    uint32_t n = e->generation->n_members;
    for (uint32_t i = 0; i < n; i++)
        keys[i] = e->key[i];
    if (!b)
        return;
    b->policies(b->ctx, e->generation->number, keys, n);
    save_names(b, e);
}

void adp_host_take_over_region(const struct adp_runtime *rt, const struct adp_edition *e)
{
    uint64_t before = e->generation->number - 1;
    if (!rt->options.beyond)
        return;
    adp_recover_tickets(rt->region, e->generation, before, e->saved_ns);
    adp_recover_snapshot(rt->region, e->generation, before);
}

void adp_host_answered(adp_lane *lane)
{
    adp_runtime *rt = lane->host;
    const struct adp_generation *g =
        adp_generation_enter(lane->region, lane->number, &rt->generations);
    uint64_t now_ns = lane->clock->mono_ns(lane->clock->ctx);
    if (g && lane->recording)
        adp_recover_answered(lane->region, lane->number, g, now_ns,
                             adp_lane_wall(lane, now_ns));
    adp_generation_leave(lane->region, lane->number);
}

static void save_member(const struct adp_beyond *b, const struct adp_edition *e,
                        uint32_t i, uint64_t now_ns)
{
    struct adp_member *m = &e->generation->member[i];
    if (!m->self || !m->policy->save || !m->policy->max_saved || m->quarantined)
        return;
    void *to = b->save_begin(b->ctx, e->key[i], m->policy->max_saved);
    if (!to)
        return;
    adp_host_within(e, i, true);
    uint64_t n = adp_member_save(m, to, m->policy->max_saved);
    adp_host_within(e, i, false);
    b->save_end(b->ctx, n, now_ns);
}

int adp_host_save(adp_runtime *rt, struct adp_error *err)
{
    const struct adp_beyond *b = rt->options.beyond;
    if (!b)
        return adp_error_set(err, ADP_ESTATE, "nothing outlives this process");
    int code = adp_host_enter(rt, err);
    if (code < 0)
        return code;
    /* What is decided from now on is not in it. */
    uint64_t now = rt->clock.mono_ns(rt->clock.ctx);
    for (uint32_t i = 0; i < rt->edition->generation->n_members; i++)
        save_member(b, rt->edition, i, now);
    adp_host_leave(rt);
    return 0;
}
