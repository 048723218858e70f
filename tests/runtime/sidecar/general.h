/* SPDX-License-Identifier: MIT */
/* What is plain, held against the general parser: for tests and for the fuzzer. */
#ifndef ADP_TESTS_SIDECAR_GENERAL_H
#define ADP_TESTS_SIDECAR_GENERAL_H

#include "runtime/sidecar/facts.h"
#include "runtime/sidecar/plain.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* As decide.c takes a value: its text, or its number printed; null tells nothing. */
static inline bool general_tells(const struct adp_plain *plain, uint32_t *at,
                                 const char *key, const json_t *value)
{
    char number[32];
    const char *text = json_string_value(value);
    if (json_is_null(value))
        return true;
    if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT,
                 json_integer_value(value));
        text = number;
    }
    if (!text || *at == plain->n)
        return false;
    uint32_t i = (*at)++;
    return adp_facts_find(key, strlen(key)) == (int)plain->told[i].fact &&
           strlen(text) == plain->told[i].len &&
           !memcmp(text, plain->told[i].at, strlen(text));
}

/* Whether the general parser reads the same facts, in the same order, and nothing else. */
static inline bool general_agrees(const struct adp_plain *plain, const char *body,
                                  size_t len)
{
    json_t *root = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL), *value, *fact;
    const char *key, *name;
    uint32_t at = 0;
    bool alike = json_is_object(root);
    json_object_foreach(root, key, value)
    {
        if (!strcmp(key, "facts")) {
            alike &= json_is_object(value);
            json_object_foreach(value, name, fact)
            {
                alike &= general_tells(plain, &at, name, fact);
            }
        } else
            alike &= !strcmp(key, "request_id") && general_tells(plain, &at, key, value);
    }
    json_decref(root);
    return alike && at == plain->n;
}

#endif
