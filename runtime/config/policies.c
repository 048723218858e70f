/* SPDX-License-Identifier: MIT */
/* `policy:` and `shadow:`: which policies run, with which parameters.
 *
 * What a parameter must be is in the policy's own schema, which is known once it is
 * loaded; here its value is only told apart (number, bool, other) and its place kept. */
#include "core/error.h"
#include "runtime/config/json.h"
#include "runtime/config/sections.h"

#include <string.h>

enum { SHA256_DIGITS = 64 };

/* A policy as written; `setting` first, so that readers write into it. */
struct written {
    struct adp_policy_setting setting;
    const struct adp_node *mapping;
    const struct adp_key *keys; /* of the mapping */
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void read_use(struct adp_doc *doc, const struct adp_key *key,
                     const struct adp_node *value, void *into)
{
    struct adp_policy_setting *policy = into;
    policy->use_place = value->at;
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    const char *use = value->text;
    if (strchr(use, '/')) {
        adp_read_file(doc, key, value, into);
        if (policy->path)
            policy->use = use;
    } else if (ends_with(use, ".so"))
        adp_doc_error(doc, ADP_EINVAL, value->at,
                      "use is a file without its folder, found %s, expected \"./%.64s\"",
                      adp_phrase_found(value).text, use);
    else if (!adp_name_is_plain(use))
        adp_read_wrong(doc, key, value, "not a policy's name");
    else
        policy->use = use;
}

static void read_sha256(struct adp_doc *doc, const struct adp_key *key,
                        const struct adp_node *value, void *into)
{
    struct adp_policy_setting *policy = into;
    policy->sha256_place = value->at;
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    size_t len = strlen(value->text);
    if (len != SHA256_DIGITS || strspn(value->text, "0123456789abcdefABCDEF") != len) {
        adp_read_wrong(doc, key, value, "malformed");
        return;
    }
    char *digits = adp_doc_copy(doc, value->text, len);
    if (!digits)
        return;
    for (char *c = digits; *c; c++)
        if (*c >= 'A' && *c <= 'F')
            *c = (char)(*c - 'A' + 'a');
    policy->sha256 = digits;
}

static void read_config(struct adp_doc *doc, const struct adp_key *key,
                        const struct adp_node *value, void *into)
{
    struct adp_policy_setting *policy = into;
    policy->config_place = value->at;
    if (adp_read_is(doc, key, value, ADP_NODE_MAPPING))
        policy->config_json = adp_json_of(doc, value);
}

/* ---- parameters ---- */

static void read_param(struct adp_doc *doc, const struct adp_item *item,
                       struct adp_param_setting *param)
{
    const struct adp_node *value = item->value;
    struct adp_scalar scalar = adp_node_scalar(value);
    param->name = item->key->text;
    param->place = item->key->at;
    param->value_place = value->at;
    param->value = scalar.value;
    param->integral = scalar.kind == ADP_SCALAR_INTEGER;
    param->type = scalar.kind == ADP_SCALAR_BOOL ? ADP_PARAM_BOOL
                  : scalar.kind == ADP_SCALAR_INTEGER || scalar.kind == ADP_SCALAR_NUMBER
                      ? ADP_PARAM_NUMBER
                      : ADP_PARAM_OTHER;
    bool quoted = value->kind == ADP_NODE_SCALAR && !value->plain;
    param->written = adp_doc_print(doc, "%s%s", adp_phrase_found(value).text,
                                   quoted ? " in quotes" : "");
}

static void read_params(struct adp_doc *doc, const struct adp_key *key,
                        const struct adp_node *value, void *into)
{
    struct adp_policy_setting *policy = into;
    if (!adp_read_is(doc, key, value, ADP_NODE_MAPPING))
        return;
    if (value->n_items > ADP_MAX_PARAMS) {
        adp_doc_error(doc, ADP_EFULL, value->at,
                      "too many parameters, found %u, expected at most %u",
                      value->n_items, ADP_MAX_PARAMS);
        return;
    }
    policy->params = adp_doc_alloc(doc, value->n_items * sizeof *policy->params);
    if (!policy->params)
        return;
    for (const struct adp_item *item = value->items; item; item = item->next)
        if (item->value->kind != ADP_NODE_BROKEN)
            read_param(doc, item, &policy->params[policy->n_params++]);
}

const char *adp_provenance_word(enum adp_provenance provenance)
{
    static const char *const words[] = { "default", "fitted", "inherited" };
    return words[provenance];
}

static struct adp_param_setting *find_param(struct adp_policy_setting *policy,
                                            const char *name)
{
    for (uint32_t i = 0; i < policy->n_params; i++)
        if (strcmp(policy->params[i].name, name) == 0)
            return &policy->params[i];
    return NULL;
}

static void tell_no_param(struct adp_doc *doc, const struct adp_policy_setting *policy,
                          const struct adp_node *key)
{
    const char *names[ADP_MAX_PARAMS + 1] = { NULL };
    if (adp_doc_is_full(doc))
        return;
    for (uint32_t i = 0; i < policy->n_params; i++)
        names[i] = policy->params[i].name;
    /* Which of the two is misspelt, only the policy knows, and it is not loaded yet. */
    const char *near = adp_error_nearest(key->text, names);
    if (near)
        adp_doc_error(doc, ADP_EINVAL, key->at,
                      "provenance and params differ, found %s here and \"%s\" there, "
                      "expected one spelling, the policy's",
                      adp_phrase_found(key).text, near);
    else
        adp_doc_error(
            doc, ADP_EINVAL, key->at,
            "provenance of a parameter that is not in params, found %s, expected %s",
            adp_phrase_found(key).text,
            policy->n_params ? adp_phrase_nearest(key->text, names).text
                             : "no provenance without params");
}

static void read_one_provenance(struct adp_doc *doc, struct adp_policy_setting *policy,
                                const struct adp_item *item, bool params_known)
{
    static const char *const words[] = { "fitted", "inherited", "default", NULL };
    static const enum adp_provenance values[] = { ADP_PROV_FITTED, ADP_PROV_INHERITED,
                                                  ADP_PROV_DEFAULT };
    static const struct adp_key key = { .word = "provenance" };
    int i = adp_read_choice(doc, &key, item->value, words);
    struct adp_param_setting *param = find_param(policy, item->key->text);
    if (!param) {
        if (params_known)
            tell_no_param(doc, policy, item->key);
        return;
    }
    if (i < 0)
        return;
    param->stated = true;
    param->provenance = values[i];
    param->provenance_place = item->value->at;
}

static void read_provenance(struct adp_doc *doc, const struct adp_key *key,
                            const struct adp_node *value, void *into)
{
    struct written *written = into;
    const struct adp_node *mapping = written->mapping;
    const struct adp_item *params = adp_read_item(doc, written->keys, mapping, "params");
    if (!adp_read_is(doc, key, value, ADP_NODE_MAPPING))
        return;
    bool params_known = params ? written->setting.n_params == params->value->n_items &&
                                     !params->value->open
                               : !mapping->open;
    for (const struct adp_item *item = value->items; item; item = item->next)
        read_one_provenance(doc, &written->setting, item, params_known);
}

/* ---- the sections ---- */

static void read_not_in_shadow(struct adp_doc *doc, const struct adp_key *key,
                               const struct adp_node *value, void *into)
{
    (void)into;
    adp_doc_error(doc, ADP_EINVAL, value->at,
                  "%s has no meaning in shadow, found %s, expected it under policy: a "
                  "shadow's verdict is recorded and never enforced",
                  key->word, adp_phrase_found(value).text);
}

static const char *const on_error_words[] = {
    [ADP_ON_ERROR_ADMIT] = "admit", [ADP_ON_ERROR_REJECT] = "reject", NULL
};

static const struct adp_key common_keys[] = {
    { .word = "use",
      .read = read_use,
      .at = offsetof(struct written, setting.path),
      .expected = "the name of a shipped policy such as kv_threshold, or a path such as "
                  "./kv_wall.so",
      .required = true },
    { .word = "sha256", .read = read_sha256, .expected = "64 hexadecimal digits" },
    { .word = "params",
      .read = read_params,
      .expected = "a mapping of parameters to numbers, true or false" },
    { .word = "provenance",
      .read = read_provenance, /* behind params, which it refers to */
      .expected = "a mapping of parameters to fitted, inherited or default" },
    { .word = "config", .read = read_config, .expected = "a mapping for the policy" },
    { 0 },
};

static const struct adp_key policy_keys[] = {
    { .word = "enforce",
      .read = adp_read_number,
      .at = offsetof(struct written, setting.enforce),
      .lo = 0.0,
      .hi = 1.0,
      .expected = "a number from 0 to 1" },
    { .word = "on_error",
      .read = adp_read_word,
      .at = offsetof(struct written, setting.on_error),
      .words = on_error_words },
    { .keys = common_keys },
};

static const struct adp_key shadow_keys[] = {
    { .word = "enforce", .read = read_not_in_shadow },
    { .word = "on_error", .read = read_not_in_shadow },
    { .keys = common_keys },
};

static void read_policy(struct adp_doc *doc, const struct adp_key *key,
                        const struct adp_node *value, struct adp_policy_setting *policy)
{
    struct written written = { .setting = *policy, .mapping = value, .keys = key->keys };
    written.setting.place = value->at;
    adp_read_mapping(doc, key, value, &written);
    *policy = written.setting;
}

void adp_section_policy(struct adp_doc *doc, const struct adp_key *key,
                        const struct adp_node *value, void *into)
{
    struct adp_config *config = into;
    struct adp_key mapping = *key;
    mapping.keys = policy_keys;
    read_policy(doc, &mapping, value, &config->policies[0]);
}

void adp_section_shadow(struct adp_doc *doc, const struct adp_key *key,
                        const struct adp_node *value, void *into)
{
    struct adp_config *config = into;
    struct adp_key mapping = { .word = "shadow",
                               .keys = shadow_keys,
                               .expected = "a mapping with use" };
    if (!adp_read_is(doc, key, value, ADP_NODE_LIST))
        return;
    for (const struct adp_item *item = value->items; item; item = item->next) {
        if (config->n_policies == ADP_CONFIG_MAX_POLICIES) {
            adp_doc_error(doc, ADP_EFULL, item->value->at,
                          "too many policies in shadow, found %u, expected at most %u",
                          value->n_items, ADP_CONFIG_MAX_POLICIES - 1);
            return;
        }
        read_policy(doc, &mapping, item->value, &config->policies[config->n_policies++]);
    }
}
