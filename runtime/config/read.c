/* SPDX-License-Identifier: MIT */
/* Reading values out of the tree, by tables of keys. */
#include "runtime/config/read.h"

#include "core/error.h"
#include "core/glyph.h"
#include "core/number.h"
#include "core/veil.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_KEYS = 32, SHOWN_BYTES = 64 };

static void *field(const struct adp_key *key, void *into)
{
    return (char *)into + key->at;
}

/* ---- phrases ---- */

struct adp_phrase adp_phrase_found(const struct adp_node *node)
{
    struct adp_phrase phrase = { "nothing" };
    if (node->kind == ADP_NODE_MAPPING)
        snprintf(phrase.text, sizeof phrase.text, "a mapping");
    else if (node->kind == ADP_NODE_LIST)
        snprintf(phrase.text, sizeof phrase.text, "a list");
    else if (node->kind == ADP_NODE_SCALAR && !adp_node_is_nothing(node)) {
        char shown[SHOWN_BYTES + 8];
        adp_veil(node->text, shown, sizeof shown);
        size_t len = strnlen(shown, SHOWN_BYTES + 1);
        bool cut = len > SHOWN_BYTES;
        /* Never in the middle of a character. */
        while (len > SHOWN_BYTES || (cut && ((unsigned char)shown[len] & 0xc0) == 0x80))
            len--;
        snprintf(phrase.text, sizeof phrase.text, "\"%.*s%s\"", (int)len, shown,
                 cut ? "..." : "");
    }
    return phrase;
}

struct adp_phrase adp_phrase_nearest(const char *word, const char *const *known)
{
    struct adp_phrase phrase = { "" };
    const char *nearest = adp_error_nearest(word, known);
    if (nearest) {
        snprintf(phrase.text, sizeof phrase.text, "\"%s\"", nearest);
        return phrase;
    }
    size_t at = (size_t)snprintf(phrase.text, sizeof phrase.text, "%s",
                                 known[0] && known[1] ? "one of " : "");
    for (uint32_t i = 0; known[i]; i++) {
        size_t room = sizeof phrase.text - at;
        const char *comma = i ? ", " : "";
        /* Leaves room for the dots. */
        if (strlen(comma) + strlen(known[i]) + 2 + sizeof ", ..." > room) {
            snprintf(phrase.text + at, room, ", ...");
            break;
        }
        at += (size_t)snprintf(phrase.text + at, room, "%s\"%s\"", comma, known[i]);
    }
    return phrase;
}

void adp_read_wrong(struct adp_doc *doc, const struct adp_key *key,
                    const struct adp_node *value, const char *wrong)
{
    adp_doc_error(doc, ADP_EINVAL, value->at, "%s is %s, found %s, expected %s",
                  key->word, wrong, adp_phrase_found(value).text, key->expected);
}

bool adp_read_fits(struct adp_doc *doc, const struct adp_key *key,
                   const struct adp_node *value, size_t len)
{
    if (len > ADP_CONFIG_MAX_PATH)
        adp_doc_error(doc, ADP_EINVAL, value->at,
                      "%s is too long, found %zu bytes, expected at most %u", key->word,
                      len, ADP_CONFIG_MAX_PATH);
    return len <= ADP_CONFIG_MAX_PATH;
}

bool adp_read_is(struct adp_doc *doc, const struct adp_key *key,
                 const struct adp_node *value, enum adp_node_kind kind)
{
    static const char *const wrong[] = { "not text", "not a list", "not a mapping" };
    if (value->kind == kind && (kind != ADP_NODE_SCALAR || !adp_node_is_nothing(value)))
        return true;
    if (value->kind != ADP_NODE_BROKEN)
        adp_read_wrong(doc, key, value, wrong[kind]);
    return false;
}

/* ---- mappings ---- */

/* The key behind `key`; NULL behind the last. */
static const struct adp_key *next_key(const struct adp_key *key)
{
    key++;
    return key->word ? key : key->keys;
}

static const struct adp_key *find_key(const struct adp_key *key, const char *word)
{
    while (key && strcmp(key->word, word) != 0)
        key = next_key(key);
    return key;
}

static void known_words(const struct adp_key *keys, const char *ret[MAX_KEYS + 1])
{
    uint32_t n = 0;
    for (const struct adp_key *k = keys; k && n < MAX_KEYS; k = next_key(k))
        ret[n++] = k->word;
    ret[n] = NULL;
}

static void tell_unknown(struct adp_doc *doc, const struct adp_key *mapping,
                         const struct adp_node *key)
{
    const char *known[MAX_KEYS + 1];
    if (adp_doc_is_full(doc))
        return;
    known_words(mapping->keys, known);
    adp_doc_error(doc, ADP_EINVAL, key->at, "unknown key in %s, found %s, expected %s",
                  mapping->word, adp_phrase_found(key).text,
                  adp_phrase_nearest(key->text, known).text);
}

const struct adp_item *adp_read_item(struct adp_doc *doc, const struct adp_key *keys,
                                     const struct adp_node *value, const char *word)
{
    const struct adp_item *item = adp_node_item(value, word);
    if (item || value->kind != ADP_NODE_MAPPING || adp_doc_is_full(doc))
        return item;
    const char *known[MAX_KEYS + 1];
    known_words(keys, known);
    for (item = value->items; item; item = item->next) {
        const char *nearest = find_key(keys, item->key->text)
                                  ? NULL
                                  : adp_error_nearest(item->key->text, known);
        if (nearest && strcmp(nearest, word) == 0)
            return item;
    }
    return NULL;
}

static void read_key(struct adp_doc *doc, const struct adp_key *key,
                     const struct adp_key *mapping, const struct adp_node *value,
                     void *into)
{
    const struct adp_item *item = adp_read_item(doc, mapping->keys, value, key->word);
    if (item && item->value->kind != ADP_NODE_BROKEN)
        key->read(doc, key, item->value, into);
    else if (!item && key->required && !value->open)
        adp_doc_error(doc, ADP_EINVAL, value->at, "no %s in %s, expected %s", key->word,
                      mapping->word, key->expected);
}

void adp_read_mapping(struct adp_doc *doc, const struct adp_key *key,
                      const struct adp_node *value, void *into)
{
    if (!adp_read_is(doc, key, value, ADP_NODE_MAPPING))
        return;
    for (const struct adp_item *item = value->items; item; item = item->next)
        if (!find_key(key->keys, item->key->text))
            tell_unknown(doc, key, item->key);
    for (const struct adp_key *k = key->keys; k; k = next_key(k))
        read_key(doc, k, key, value, into);
}

void adp_read_node(struct adp_doc *doc, const struct adp_key *key,
                   const struct adp_node *value, void *into)
{
    (void)doc;
    *(const struct adp_node **)field(key, into) = value;
}

/* ---- text ---- */

void adp_read_text(struct adp_doc *doc, const struct adp_key *key,
                   const struct adp_node *value, void *into)
{
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    size_t len = strlen(value->text);
    if (len == 0)
        adp_read_wrong(doc, key, value, "empty");
    else if ((double)len > key->hi)
        adp_read_wrong(doc, key, value, "too long");
    else
        *(const char **)field(key, into) = value->text;
}

bool adp_text_is_printable(const char *text)
{
    for (int bytes; *text; text += bytes)
        if (adp_glyph_steers(adp_glyph_at(text, &bytes)))
            return false;
    return true;
}

void adp_read_file(struct adp_doc *doc, const struct adp_key *key,
                   const struct adp_node *value, void *into)
{
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    const char *text = value->text;
    size_t len = strlen(text);
    if (len == 0 || text[len - 1] == '/' || !adp_text_is_printable(text)) {
        adp_read_wrong(doc, key, value, "not a file's path");
        return;
    }
    const char *rest = strncmp(text, "./", 2) == 0 ? text + 2 : text;
    const char *folder = strcmp(doc->folder, "/") == 0 ? "" : doc->folder;
    const char *path = *text == '/' ? text : adp_doc_print(doc, "%s/%s", folder, rest);
    if (path && adp_read_fits(doc, key, value, strlen(path)))
        *(const char **)field(key, into) = path;
}

/* What keeps a text from being part of a file's path, or NULL. */
static const char *path_fault(const char *text)
{
    if (!text[0])
        return "empty";
    if (strlen(text) > ADP_CONFIG_MAX_NAME)
        return "too long";
    if (text[0] == '.' || strchr(text, '/') || !adp_text_is_printable(text))
        return "not fit for a path";
    return NULL;
}

void adp_read_name(struct adp_doc *doc, const struct adp_key *key,
                   const struct adp_node *value, void *into)
{
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    const char *fault = path_fault(value->text);
    if (fault)
        adp_read_wrong(doc, key, value, fault);
    else
        *(const char **)field(key, into) = value->text;
}

bool adp_name_is_plain(const char *name)
{
    if (*name < 'a' || *name > 'z' || strlen(name) > ADP_SIGNAL_NAME)
        return false;
    for (; *name; name++)
        if (!(*name >= 'a' && *name <= 'z') && !(*name >= '0' && *name <= '9') &&
            *name != '_')
            return false;
    return true;
}

int adp_read_choice(struct adp_doc *doc, const struct adp_key *key,
                    const struct adp_node *value, const char *const *words)
{
    for (int i = 0; value->kind == ADP_NODE_SCALAR && words[i]; i++)
        if (strcmp(words[i], value->text) == 0)
            return i;
    if (value->kind != ADP_NODE_BROKEN && !adp_doc_is_full(doc))
        adp_doc_error(doc, ADP_EINVAL, value->at, "unknown %s, found %s, expected %s",
                      key->word, adp_phrase_found(value).text,
                      adp_phrase_nearest(value->text ? value->text : "", words).text);
    return -1;
}

void adp_read_word(struct adp_doc *doc, const struct adp_key *key,
                   const struct adp_node *value, void *into)
{
    int i = adp_read_choice(doc, key, value, key->words);
    if (i >= 0)
        *(unsigned *)field(key, into) = (unsigned)i;
}

/* ---- numbers ---- */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* True for text that looks like a number: digits first, behind a sign and a point. */
static bool looks_numeric(const char *text)
{
    text += *text == '-' || *text == '+';
    text += *text == '.';
    return *text >= '0' && *text <= '9';
}

/* The words of YAML 1.2's core schema. */
struct adp_scalar adp_node_scalar(const struct adp_node *node)
{
    static const char *const yes[] = { "true", "True", "TRUE", NULL };
    static const char *const no[] = { "false", "False", "FALSE", NULL };
    static const char *const inf[] = { ".inf", ".Inf", ".INF", NULL };
    static const char *const nan_words[] = { ".nan", ".NaN", ".NAN", NULL };
    struct adp_scalar scalar = { ADP_SCALAR_TEXT, 0.0 };
    const char *text = node->text;

    if (node->kind != ADP_NODE_SCALAR || !node->plain)
        return scalar;
    if (adp_node_is_nothing(node))
        scalar.kind = ADP_SCALAR_NOTHING;
    else if (is_one_of(text, yes) || is_one_of(text, no))
        scalar =
            (struct adp_scalar) { ADP_SCALAR_BOOL, is_one_of(text, yes) ? 1.0 : 0.0 };
    else if (is_one_of(text, nan_words))
        scalar = (struct adp_scalar) { ADP_SCALAR_NOT_FINITE, (double)NAN };
    else if (is_one_of(text + (*text == '-' || *text == '+'), inf))
        scalar = (struct adp_scalar) { ADP_SCALAR_NOT_FINITE,
                                       *text == '-' ? -HUGE_VAL : HUGE_VAL };
    else if (looks_numeric(text) && adp_number_parse(text, strlen(text), &scalar.value)) {
        bool integer = !strpbrk(text, ".eE");
        scalar.kind = !isfinite(scalar.value) ? ADP_SCALAR_NOT_FINITE
                      : integer               ? ADP_SCALAR_INTEGER
                                              : ADP_SCALAR_NUMBER;
    }
    return scalar;
}

/* Reads a number within the key's bounds, or tells what it is instead. */
static bool read_bounded(struct adp_doc *doc, const struct adp_key *key,
                         const struct adp_node *value, bool integral, double *ret)
{
    struct adp_scalar scalar = adp_node_scalar(value);
    bool is_number = scalar.kind == ADP_SCALAR_INTEGER ||
                     (scalar.kind == ADP_SCALAR_NUMBER && !integral);
    if (value->kind == ADP_NODE_SCALAR && !value->plain)
        adp_read_wrong(doc, key, value, "text in quotes");
    else if (scalar.kind == ADP_SCALAR_NOT_FINITE)
        adp_read_wrong(doc, key, value, "not finite");
    else if (!is_number)
        adp_read_wrong(doc, key, value, integral ? "not a whole number" : "not a number");
    else if (!(scalar.value >= key->lo && scalar.value <= key->hi))
        adp_read_wrong(doc, key, value, "out of range");
    else {
        *ret = scalar.value;
        return true;
    }
    return false;
}

void adp_read_number(struct adp_doc *doc, const struct adp_key *key,
                     const struct adp_node *value, void *into)
{
    double number;
    if (read_bounded(doc, key, value, false, &number))
        *(double *)field(key, into) = number;
}

void adp_read_integer(struct adp_doc *doc, const struct adp_key *key,
                      const struct adp_node *value, void *into)
{
    double number;
    if (read_bounded(doc, key, value, true, &number))
        *(uint32_t *)field(key, into) = (uint32_t)number;
}

/* A duration or a size: its unit is part of the text, so quotes do not matter. */
static void read_quantity(struct adp_doc *doc, const struct adp_key *key,
                          const struct adp_node *value, const char *not_one,
                          bool (*parse)(const char *text, uint64_t *ret), void *into)
{
    uint64_t quantity;
    if (value->kind != ADP_NODE_SCALAR || !parse(value->text, &quantity))
        adp_read_wrong(doc, key, value, not_one);
    else if ((double)quantity < key->lo || (double)quantity > key->hi)
        adp_read_wrong(doc, key, value, "out of range");
    else
        *(uint64_t *)field(key, into) = quantity;
}

void adp_read_duration(struct adp_doc *doc, const struct adp_key *key,
                       const struct adp_node *value, void *into)
{
    read_quantity(doc, key, value, "not a duration", adp_config_duration, into);
}

void adp_read_size(struct adp_doc *doc, const struct adp_key *key,
                   const struct adp_node *value, void *into)
{
    read_quantity(doc, key, value, "not a size", adp_config_size, into);
}
