/* SPDX-License-Identifier: MIT */
/* Parameters against their schema (params.h). */
#include "runtime/host/params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *kind_word(uint32_t kind)
{
    return kind == ADP_BOOL  ? "true or false"
           : kind == ADP_I64 ? "a whole number"
                             : "a number";
}

static const char *what_it_is(const struct adp_param *p)
{
    return p->doc && *p->doc ? p->doc : kind_word(p->kind);
}

/* A file that is cut off by what is not YAML may have named what is missing. */
static bool is_cut_off(const struct adp_errors *errors)
{
    for (size_t i = 0; i < errors->n; i++)
        if (errors->list[i].code == ADP_ESYNTAX)
            return true;
    return false;
}

static const struct adp_param_setting *find(const struct adp_policy_setting *setting,
                                            const char *name)
{
    for (uint32_t i = 0; i < setting->n_params; i++)
        if (strcmp(setting->params[i].name, name) == 0)
            return &setting->params[i];
    return NULL;
}

/* ` (unit)`, or nothing. */
static const char *unit_text(const struct adp_param *p, char *to, size_t cap)
{
    snprintf(to, cap, p->unit && *p->unit ? " %s" : "%s", p->unit ? p->unit : "");
    return to;
}

static bool check_value(const struct adp_param *p, const struct adp_param_setting *s,
                        const char *policy, const char *file, struct adp_errors *errors)
{
    char unit[80];
    enum adp_param_type want = p->kind == ADP_BOOL ? ADP_PARAM_BOOL : ADP_PARAM_NUMBER;
    if (s->type != want || (p->kind == ADP_I64 && s->value != rint(s->value))) {
        adp_errors_add(errors, ADP_EINVAL, file, s->place,
                       "policy %s: parameter %s: found %s, expected %s", policy, p->name,
                       s->written, kind_word(p->kind));
        return false;
    }
    if (!(s->value >= p->lo && s->value <= p->hi)) {
        adp_errors_add(errors, ADP_EINVAL, file, s->place,
                       "policy %s: parameter %s: found %s, expected %.12g to %.12g%s",
                       policy, p->name, s->written, p->lo, p->hi,
                       unit_text(p, unit, sizeof unit));
        return false;
    }
    return true;
}

static bool report_unknown(const struct adp_policy_setting *setting,
                           const struct adp_loaded *loaded, const char *file,
                           struct adp_errors *errors)
{
    const char *known[ADP_MAX_PARAMS + 1];
    uint32_t n = loaded->policy.n_params;
    bool fine = true;
    for (uint32_t i = 0; i < n; i++)
        known[i] = adp_loaded_param(loaded, i).name;
    known[n] = NULL;
    for (uint32_t i = 0; i < setting->n_params; i++) {
        const struct adp_param_setting *s = &setting->params[i];
        bool found = false;
        for (uint32_t k = 0; k < n && !found; k++)
            found = strcmp(known[k], s->name) == 0;
        if (found)
            continue;
        fine = false;
        const char *near = adp_error_nearest(s->name, known);
        if (near)
            adp_errors_add(errors, ADP_EINVAL, file, s->place,
                           "policy %s has no parameter \"%s\"; nearest is \"%s\"",
                           loaded->policy.name, s->name, near);
        else if (n)
            adp_errors_add(
                errors, ADP_EINVAL, file, s->place,
                "policy %s has no parameter \"%s\"; `admitperf policies %s` lists "
                "its parameters",
                loaded->policy.name, s->name,
                setting->path ? setting->path : loaded->policy.name);
        else
            adp_errors_add(errors, ADP_EINVAL, file, s->place,
                           "policy %s takes no parameters, found \"%s\"",
                           loaded->policy.name, s->name);
    }
    return fine;
}

bool adp_params_resolve(const struct adp_policy_setting *setting,
                        const struct adp_loaded *loaded, const char *file,
                        struct adp_params *ret, struct adp_errors *errors)
{
    const char *policy = loaded->policy.name;
    bool fine = report_unknown(setting, loaded, file, errors);
    ret->n = loaded->policy.n_params;
    for (uint32_t i = 0; i < ret->n; i++) {
        char unit[80];
        struct adp_param p = adp_loaded_param(loaded, i);
        const struct adp_param_setting *s = find(setting, p.name);
        ret->value[i] = s ? s->value : p.dflt;
        ret->provenance[i] = s && s->stated ? s->provenance : ADP_PROV_DEFAULT;
        if (s) {
            fine &= check_value(&p, s, policy, file, errors);
        } else if (p.flags & ADP_REQUIRED) {
            fine = false;
            if (is_cut_off(errors))
                continue;
            adp_errors_add(errors, ADP_EINVAL, file, setting->place,
                           "policy %s needs parameter %s (%s, %.12g to %.12g%s)", policy,
                           p.name, what_it_is(&p), p.lo, p.hi,
                           unit_text(&p, unit, sizeof unit));
        }
    }
    return fine;
}
