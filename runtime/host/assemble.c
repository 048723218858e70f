/* SPDX-License-Identifier: MIT */
/* From a configuration to a generation: load, bind, check parameters, create. */
#include "runtime/host/state.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const uint64_t TICKET_NS =
    600ull * 1000000000u; /* ten minutes to report an outcome */

/* The place is the configuration's; the policy file that the error is about, if it is
 * about one, goes before its text. */
static void add(struct adp_errors *errors, const struct adp_runtime *rt,
                struct adp_place place, const struct adp_error *err)
{
    adp_errors_add(errors, err->code, rt->config->file, place, "%s%s%s", err->file,
                   err->file[0] ? ": " : "", err->text);
}

static int load(struct adp_runtime *rt, uint32_t i, struct adp_errors *errors)
{
    const struct adp_policy_setting *s = &rt->config->policies[i];
    struct adp_error err = { 0 };
    char path[PATH_MAX];
    if (adp_loader_find(s->use, s->path, path, sizeof path, &err) < 0 ||
        adp_loader_load(&rt->loaded[i], path, s->sha256, &err) < 0) {
        add(errors, rt, s->use_place, &err);
        return err.code;
    }
    return 0;
}

static int create(struct adp_runtime *rt, uint32_t i, struct adp_errors *errors)
{
    const struct adp_policy_setting *s = &rt->config->policies[i];
    struct adp_member *m = &rt->generation->member[i];
    char text[256] = "";
    struct adp_setup setup = {
        .size = sizeof setup,
        .n_instances = (uint32_t)rt->config->instance_count,
        .param = rt->params[i].value,
        .config = s->config_json,
        .error = text,
        .error_cap = sizeof text,
    };
    m->policy = &rt->loaded[i]->policy;
    m->param = rt->params[i].value;
    m->reject_on_error = s->on_error == ADP_ON_ERROR_REJECT;
    if (s->config_json && !m->policy->create) {
        adp_errors_add(errors, ADP_EINVAL, rt->config->file, s->place,
                       "policy %s takes no config", m->policy->name);
        return ADP_EINVAL;
    }
    if (!m->policy->create)
        return 0;
    m->self = m->policy->create(&setup);
    text[sizeof text - 1] = '\0';
    if (m->self)
        return 0;
    adp_errors_add(errors, ADP_EINVAL, rt->config->file, s->place,
                   "policy %s could not be created: %s", m->policy->name,
                   *text ? text : "it gave no reason");
    return ADP_EINVAL;
}

/* One policy, from file to bound and checked; its instance comes when all are fine. */
static bool prepare(struct adp_runtime *rt, uint32_t i, struct adp_errors *errors)
{
    const struct adp_policy_setting *s = &rt->config->policies[i];
    struct adp_error err = { 0 };
    if (load(rt, i, errors) < 0)
        return false;
    bool fine =
        adp_params_resolve(s, rt->loaded[i], rt->config->file, &rt->params[i], errors);
    if (adp_loader_bind(rt->loaded[i], rt->config->signals,
                        rt->generation->member[i].slot_of, &err) < 0) {
        add(errors, rt, s->use_place, &err);
        fine = false;
    }
    return fine;
}

static uint64_t hash_all(const struct adp_runtime *rt)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, &rt->config->hash, sizeof rt->config->hash);
    for (uint32_t i = 0; i < rt->config->n_policies; i++)
        XXH3_64bits_update(&state, rt->loaded[i]->sha256, sizeof rt->loaded[i]->sha256);
    XXH3_64bits_update(&state, ADP_DICTIONARY_VERSION, sizeof ADP_DICTIONARY_VERSION);
    return XXH3_64bits_digest(&state);
}

/* {experiment}, {policy} and {run} of the configured path; config has refused other
 * braces. */
static int expand(const struct adp_runtime *rt, char *to, size_t cap)
{
    const struct adp_config *c = rt->config;
    const struct {
        const char *word, *value;
    } known[] = {
        { "{experiment}", c->experiment ? c->experiment : "unnamed" },
        { "{policy}", rt->loaded[0]->policy.name },
        { "{run}", c->run ? c->run : "r1" },
    };
    size_t at = 0;
    for (const char *p = c->log_path; *p;) {
        const char *piece = p;
        size_t len = 1, skip = 1;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
            size_t n = strlen(known[k].word);
            if (strncmp(p, known[k].word, n) == 0) {
                piece = known[k].value;
                len = strlen(piece);
                skip = n;
            }
        }
        if (at + len >= cap)
            return ADP_EINVAL;
        memcpy(to + at, piece, len);
        at += len;
        p += skip;
    }
    to[at] = '\0';
    return 0;
}

static int place_log(struct adp_runtime *rt, struct adp_errors *errors)
{
    char path[PATH_MAX], here[PATH_MAX], whole[2 * PATH_MAX];
    struct adp_place nowhere = { 0 };
    if (rt->config->log_none || rt->options.no_log)
        return 0;
    if (expand(rt, path, sizeof path) < 0 ||
        (*path != '/' && !getcwd(here, sizeof here))) {
        adp_errors_add(errors, ADP_EINVAL, rt->config->file, nowhere,
                       "the log's path is too long");
        return ADP_EINVAL;
    }
    if (*path == '/')
        snprintf(whole, sizeof whole, "%s", path);
    else
        snprintf(whole, sizeof whole, "%s/%s", here, path);
    rt->log_path = strdup(whole);
    if (!rt->log_path) {
        adp_errors_add(errors, ADP_ENOMEM, rt->config->file, nowhere, "out of memory");
        return ADP_ENOMEM;
    }
    return 0;
}

static struct adp_generation *generation_new(const struct adp_config *c)
{
    size_t bytes = (sizeof(struct adp_generation) + ADP_LINE_BYTES - 1) &
                   ~(size_t)(ADP_LINE_BYTES - 1);
    struct adp_generation *g = aligned_alloc(ADP_LINE_BYTES, bytes);
    if (!g)
        return NULL;
    memset(g, 0, bytes);
    g->number = 1;
    g->n_members = c->n_policies;
    g->n_signals = adp_signals_count(c->signals);
    g->enforce = c->policies[0].enforce;
    g->salt = c->split_salt ? c->split_salt : c->experiment ? c->experiment : "";
    g->salt_len = strlen(g->salt);
    g->profile = c->status_profile;
    g->ticket_ns = TICKET_NS;
    g->signals = c->signals;
    return g;
}

int adp_host_assemble(struct adp_runtime *rt, struct adp_errors *errors)
{
    uint32_t n = rt->config->n_policies;
    struct adp_place nowhere = { 0 };
    rt->generation = generation_new(rt->config);
    if (!rt->generation) {
        adp_errors_add(errors, ADP_ENOMEM, rt->config->file, nowhere, "out of memory");
        return ADP_ENOMEM;
    }
    bool fine = true;
    for (uint32_t i = 0; i < n; i++)
        fine &= prepare(rt, i, errors);
    for (uint32_t i = 0; fine && i < n; i++)
        fine &= create(rt, i, errors) == 0;
    if (!fine || place_log(rt, errors) < 0)
        return errors->n ? errors->list[0].code : ADP_EINVAL;
    rt->hash = hash_all(rt);
    rt->generations.table[rt->generation->number % ADP_GENERATIONS] = rt->generation;
    atomic_store_explicit(&rt->generations.current, rt->generation->number,
                          memory_order_release);
    return 0;
}

void adp_host_disassemble(struct adp_runtime *rt)
{
    for (uint32_t i = 0; rt->generation && i < rt->generation->n_members; i++) {
        struct adp_member *m = &rt->generation->member[i];
        if (m->self && m->policy->destroy)
            m->policy->destroy(m->self);
    }
    for (uint32_t i = 0; i < ADP_MAX_POLICIES; i++)
        adp_loaded_destroy(rt->loaded[i]);
    free(rt->generation);
    free(rt->log_path);
    adp_config_destroy(rt->config);
}
