/* SPDX-License-Identifier: MIT */
/* From a configuration to an edition: load, bind, check parameters, create. */
#include "runtime/host/state.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const uint64_t TICKET_NS =
    600ull * 1000000000u; /* ten minutes to report an outcome */

/* The place is the configuration's; the policy file that the error is about, if it is
 * about one, goes before its text. */
static void add(struct adp_errors *errors, const struct adp_edition *e,
                struct adp_place place, const struct adp_error *err)
{
    adp_errors_add(errors, err->code, e->config->file, place, "%s%s%s", err->file,
                   err->file[0] ? ": " : "", err->text);
}

static int load(struct adp_edition *e, uint32_t i, struct adp_errors *errors)
{
    const struct adp_policy_setting *s = &e->config->policies[i];
    struct adp_error err = { 0 };
    char path[PATH_MAX];
    if (adp_loader_find(s->use, s->path, path, sizeof path, &err) < 0 ||
        adp_loader_load(&e->loaded[i], path, s->sha256, &err) < 0) {
        add(errors, e, s->use_place, &err);
        return err.code;
    }
    return 0;
}

/* What a member is, but for its instance. */
static void describe(struct adp_edition *e, uint32_t i)
{
    const struct adp_policy_setting *s = &e->config->policies[i];
    struct adp_member *m = &e->generation->member[i];
    m->policy = &e->loaded[i]->policy;
    m->param = e->params[i].value;
    m->reject_on_error = s->on_error == ADP_ON_ERROR_REJECT;
}

int adp_host_create(struct adp_edition *e, uint32_t i, const void *saved,
                    uint64_t saved_len, struct adp_errors *errors)
{
    const struct adp_policy_setting *s = &e->config->policies[i];
    struct adp_member *m = &e->generation->member[i];
    char text[256] = "";
    struct adp_setup setup = {
        .size = sizeof setup,
        .n_instances = (uint32_t)e->config->instance_count,
        .param = e->params[i].value,
        .config = s->config_json,
        .saved = saved,
        .saved_len = saved_len,
        .error = text,
        .error_cap = sizeof text,
    };
    if (!m->policy->create)
        return 0;
    adp_host_within(e, i, true);
    m->self = m->policy->create(&setup);
    adp_host_within(e, i, false);
    text[sizeof text - 1] = '\0';
    if (m->self)
        return 0;
    adp_errors_add(errors, ADP_EINVAL, e->config->file, s->place,
                   saved ? "policy %s does not take over the state of the one before: %s"
                         : "policy %s could not be created: %s",
                   m->policy->name, *text ? text : "it gave no reason");
    return ADP_EINVAL;
}

/* By its key a policy is known to editions and processes after this one. */
static void set_keys(struct adp_edition *e)
{
    for (uint32_t i = 0; i < e->generation->n_members; i++) {
        const char *name = e->loaded[i]->policy.name;
        uint32_t nth = 1;
        for (uint32_t k = 0; k < i; k++)
            nth += strcmp(e->loaded[k]->policy.name, name) == 0;
        snprintf(e->key[i], sizeof e->key[i], nth > 1 ? "%s#%u" : "%s", name, nth);
    }
}

/* The member whose state the i-th takes over. */
static struct adp_member *forerunner(const struct adp_edition *e, uint32_t i,
                                     const struct adp_edition *before)
{
    if (!before || !e->loaded[i]->policy.create)
        return NULL;
    for (uint32_t k = 0; k < before->generation->n_members; k++) {
        struct adp_member *m = &before->generation->member[k];
        if (strcmp(before->key[k], e->key[i]) == 0)
            return m->self && m->policy->save && m->policy->max_saved ? m : NULL;
    }
    return NULL;
}

/* A reading that is stale before the next scrape comes would leave the policy mostly blind. */
static bool check_ages(struct adp_edition *e, uint32_t i, struct adp_errors *errors)
{
    const struct adp_config *c = e->config;
    const struct adp_member *m = &e->generation->member[i];
    bool fine = true;
    for (uint32_t slot = 0; slot < e->loaded[i]->policy.n_signals; slot++)
        for (uint32_t k = 0; k < c->n_scrape; k++) {
            uint64_t age = adp_signals_age_limit(c->signals, m->slot_of[slot]);
            if (age >= c->scrape[k].interval_ns)
                continue;
            fine = false;
            adp_errors_add(
                errors, ADP_EINVAL, c->file, c->scrape[k].place,
                "policy %s reads %s, whose max_age of %g s is below the interval of "
                "%g s at which %s is scraped; raise max_age or scrape more often",
                e->loaded[i]->policy.name, adp_signals_name(c->signals, m->slot_of[slot]),
                (double)age * 1e-9, (double)c->scrape[k].interval_ns * 1e-9,
                c->scrape[k].name);
        }
    return fine;
}

static bool check_config(const struct adp_edition *e, uint32_t i,
                         struct adp_errors *errors)
{
    const struct adp_policy_setting *s = &e->config->policies[i];
    const struct adp_policy *policy = &e->loaded[i]->policy;
    if (!s->config_json || policy->flags & ADP_TAKES_CONFIG)
        return true;
    adp_errors_add(errors, ADP_EINVAL, e->config->file, s->config_place,
                   "policy %s takes no config", policy->name);
    return false;
}

static void read_replicas(struct adp_edition *e, uint32_t i)
{
    uint64_t slots = 0;
    for (uint32_t slot = 0; slot < e->loaded[i]->policy.n_signals; slot++)
        if (adp_loaded_signal(e->loaded[i], slot).flags & ADP_REPLICAS)
            slots |= UINT64_C(1) << slot;
    adp_member_reads_replicas(e->generation, &e->generation->member[i], slots);
}

/* One policy, from file to bound and checked; its instance comes when all are fine. A draft has
 * no `use` where what was written is no use: that is reported already. */
static bool prepare(struct adp_edition *e, uint32_t i, struct adp_errors *errors)
{
    const struct adp_policy_setting *s = &e->config->policies[i];
    struct adp_error err = { 0 };
    if (!s->use || load(e, i, errors) < 0)
        return false;
    bool fine =
        adp_params_resolve(s, e->loaded[i], e->config->file, &e->params[i], errors);
    fine = check_config(e, i, errors) && fine;
    if (adp_loader_bind(e->loaded[i], e->config->signals,
                        e->generation->member[i].slot_of, &err) < 0) {
        add(errors, e, s->use_place, &err);
        return false;
    }
    read_replicas(e, i);
    return check_ages(e, i, errors) && fine;
}

static void hash_text(XXH3_state_t *state, const char *text)
{
    XXH3_64bits_update(state, text ? text : "\1", text ? strlen(text) + 1 : 1);
}

static void hash_policy(XXH3_state_t *state, const struct adp_edition *e, uint32_t i)
{
    const struct adp_policy_setting *s = &e->config->policies[i];
    hash_text(state, e->loaded[i]->sha256);
    hash_text(state, s->config_json);
    XXH3_64bits_update(state, e->params[i].value, e->params[i].n * sizeof(double));
    XXH3_64bits_update(state, &s->enforce, sizeof s->enforce);
    XXH3_64bits_update(state, &s->on_error, sizeof s->on_error);
}

static void hash_signal(XXH3_state_t *state, const struct adp_signals *set, uint32_t i)
{
    double range[2];
    uint64_t age = adp_signals_age_limit(set, i);
    adp_signals_range(set, i, &range[0], &range[1]);
    hash_text(state, adp_signals_name(set, i));
    hash_text(state, adp_signals_unit(set, i));
    XXH3_64bits_update(state, range, sizeof range);
    XXH3_64bits_update(state, &age, sizeof age);
    for (uint32_t k = 0; k < adp_signals_sources(set, i); k++) {
        enum adp_aggregate aggregate;
        hash_text(state, adp_expr_text(adp_signals_source(set, i, k, &aggregate)));
        XXH3_64bits_update(state, &aggregate, sizeof aggregate);
    }
}

/* What a decision depends on, and nothing else: not who is told apart by it (experiment, run,
 * notes), not where the log goes. So the repeats of one candidate have one hash, and lines with
 * different ones were not decided alike. */
static uint64_t hash_all(const struct adp_edition *e)
{
    const struct adp_config *c = e->config;
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    hash_text(&state, ADP_DICTIONARY_VERSION);
    for (uint32_t i = 0; i < c->n_policies; i++)
        hash_policy(&state, e, i);
    for (uint32_t i = 0; i < adp_signals_count(c->signals); i++)
        hash_signal(&state, c->signals, i);
    for (uint32_t i = 0; i < adp_signals_renames(c->signals); i++) {
        struct adp_rename r = adp_signals_renamed(c->signals, i);
        hash_text(&state, r.from);
        hash_text(&state, r.to);
    }
    for (uint32_t i = 0; i < e->n_supply; i++)
        hash_text(&state, adp_signals_name(c->signals, e->supply[i].signal));
    hash_text(&state, c->split_salt);
    hash_text(&state, c->disclosure_json);
    XXH3_64bits_update(&state, &c->status_profile, sizeof c->status_profile);
    return XXH3_64bits_digest(&state);
}

/* As the scene has it; else the configuration's template. */
static int fill_log_path(const struct adp_runtime *rt, const struct adp_edition *e,
                         char *ret, size_t cap, struct adp_error *err)
{
    const struct adp_host_scene *scene = rt->options.scene;
    if (!scene)
        return adp_config_log_path(e->config, e->loaded[0]->policy.name, ret, cap, err);
    if (strlen(scene->log_path) >= cap)
        return adp_error_set(err, ADP_EFULL,
                             "the path of the log is too long, expected less than %zu "
                             "bytes",
                             cap);
    memcpy(ret, scene->log_path, strlen(scene->log_path) + 1);
    return 0;
}

/* Relative paths start where the process was at open, after a chdir too. */
static int place_log(const struct adp_runtime *rt, struct adp_edition *e,
                     struct adp_errors *errors)
{
    char path[PATH_MAX], whole[2 * PATH_MAX];
    struct adp_place nowhere = { 0 };
    struct adp_error err = { 0 };
    if (e->config->log_none || rt->options.no_log)
        return 0;
    if (fill_log_path(rt, e, path, sizeof path, &err) < 0) {
        add(errors, e, nowhere, &err);
        return err.code;
    }
    bool relative = *path != '/';
    snprintf(whole, sizeof whole, "%s%s%s", relative ? rt->folder : "",
             relative ? "/" : "", path);
    e->log_path = strdup(whole);
    if (!e->log_path) {
        adp_errors_add(errors, ADP_ENOMEM, e->config->file, nowhere, "out of memory");
        return ADP_ENOMEM;
    }
    return 0;
}

static struct adp_generation *generation_new(const struct adp_config *c, uint32_t number)
{
    size_t bytes = (sizeof(struct adp_generation) + ADP_LINE_BYTES - 1) &
                   ~(size_t)(ADP_LINE_BYTES - 1);
    struct adp_generation *g = aligned_alloc(ADP_LINE_BYTES, bytes);
    if (!g)
        return NULL;
    memset(g, 0, bytes);
    g->number = number;
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

/* An instance that has no forerunner in this process; in one before, perhaps. */
static int create(struct adp_edition *e, uint32_t i, const struct adp_edition *before,
                  struct adp_errors *errors)
{
    struct adp_member *m = &e->generation->member[i];
    size_t len = 0;
    m->quarantined |= !before && adp_host_is_quarantined(e, i);
    if (m->quarantined)
        return 0;
    const void *saved = before ? NULL : adp_host_find_saved(e, i, &len);
    struct adp_errors unread = { 0 };
    bool restored = saved && adp_host_create(e, i, saved, len, &unread) == 0;
    adp_errors_free(&unread);
    if (restored)
        return 0;
    e->saved_ns[i] = 0; /* a process that starts must not fail of what another left */
    int code = adp_host_create(e, i, NULL, 0, errors);
    /* Nor of what was fine before: the policy then is as one that failed. */
    m->quarantined = code < 0 && !before && adp_host_follows(e);
    return m->quarantined ? 0 : code;
}

/* Everything but the instances that take over a state. */
static int fill(struct adp_edition *e, const struct adp_runtime *rt,
                const struct adp_edition *before, struct adp_errors *errors)
{
    uint32_t n = e->config->n_policies;
    bool fine = errors->n == 0;
    for (uint32_t i = 0; i < n; i++)
        if (prepare(e, i, errors) || (!before && adp_host_stand_in(e, i)))
            describe(e, i);
        else
            fine = false;
    if (fine)
        set_keys(e);
    for (uint32_t i = 0; fine && i < n; i++) {
        e->forerunner[i] = forerunner(e, i, before);
        if (!e->forerunner[i])
            fine &= create(e, i, before, errors) == 0;
    }
    if (!fine || place_log(rt, e, errors) < 0)
        return errors->n ? errors->list[0].code : ADP_EINVAL;
    return 0;
}

int adp_host_assemble_take(struct adp_edition **ret, struct adp_runtime *rt,
                           struct adp_config *config, uint32_t number,
                           const struct adp_edition *before, struct adp_errors *errors)
{
    struct adp_place nowhere = { 0 };
    struct adp_edition *e = calloc(1, sizeof *e);
    struct adp_generation *g = e ? generation_new(config, number) : NULL;
    if (!g) {
        adp_errors_add(errors, ADP_ENOMEM, config->file, nowhere, "out of memory");
        adp_config_destroy(config);
        free(e);
        return ADP_ENOMEM;
    }
    e->config = config;
    e->generation = g;
    e->beyond = rt->options.beyond;
    e->clock = &rt->clock;
    int code = fill(e, rt, before, errors);
    if (code == 0)
        adp_host_assign_tallies(rt, e);
    if (code < 0) {
        adp_edition_destroy(e);
        return code;
    }
    *ret = e;
    return 0;
}

void adp_host_seal(const struct adp_runtime *rt, struct adp_edition *e,
                   struct adp_errors *errors)
{
    struct adp_place nowhere = { 0 };
    for (uint32_t i = 0; i < rt->n_source; i++) {
        const struct adp_host_source *s = &rt->source[i];
        int signal = adp_signals_find(e->config->signals, s->signal);
        if (signal < 0 ||
            adp_signals_sources(e->config->signals, (uint32_t)signal) == ADP_MAX_SOURCES)
            adp_errors_add(errors, ADP_NOTE, e->config->file, nowhere,
                           "the host supplies signal %s, which %s: its function is not "
                           "used",
                           s->signal,
                           signal < 0 ? "is not known"
                                      : "has no room for one more source");
        else
            e->supply[e->n_supply++] =
                (struct adp_supply) { (uint32_t)signal, s->read, s->user };
    }
    e->hash = hash_all(e);
}

void adp_edition_destroy(struct adp_edition *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < e->generation->n_members; i++) {
        struct adp_member *m = &e->generation->member[i];
        if (!m->self || !m->policy->destroy)
            continue;
        adp_host_within(e, i, true);
        m->policy->destroy(m->self);
        adp_host_within(e, i, false);
    }
    for (uint32_t i = 0; i < ADP_MAX_POLICIES; i++)
        adp_loaded_destroy(e->loaded[i]);
    free(e->generation);
    free(e->log_path);
    adp_config_destroy(e->config);
    free(e);
}
