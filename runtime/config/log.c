/* SPDX-License-Identifier: MIT */
/* `log:`: where decisions are recorded. */
#include "core/error.h"
#include "runtime/config/sections.h"

#include <stdio.h>
#include <string.h>

static const char *const places[] = { "experiment", "policy", "run", NULL };

/* ---- the template ---- */

/* A stretch of a template: text as it is, or a word in braces. */
struct piece {
    const char *begin;
    size_t len;
    int place; /* index in `places`; -1: text; -2: an unknown word; -3: a stray brace */
};

/* The piece that begins at `at`. */
static struct piece next_piece(const char *at)
{
    if (*at == '}')
        return (struct piece) { at, 1, -3 };
    if (*at != '{')
        return (struct piece) { at, strcspn(at, "{}"), -1 };
    size_t len = strcspn(at + 1, "{}");
    if (at[1 + len] != '}')
        return (struct piece) { at, 1, -3 };
    struct piece piece = { at, len + 2, -2 };
    for (int i = 0; places[i]; i++)
        if (strlen(places[i]) == len && memcmp(places[i], at + 1, len) == 0)
            piece.place = i;
    return piece;
}

static void tell_piece(struct adp_doc *doc, const struct adp_node *value,
                       struct piece piece)
{
    struct adp_place at = adp_node_place_in(value, (size_t)(piece.begin - value->text));
    if (piece.place == -3) {
        adp_doc_error(doc, ADP_EINVAL, at,
                      "path has a brace without its other, found \"%c\", expected "
                      "{experiment}, {policy} or {run}",
                      *piece.begin);
        return;
    }
    const char *word = adp_doc_copy(doc, piece.begin + 1, piece.len - 2);
    if (!word)
        return;
    const char *nearest = adp_error_nearest(word, places);
    adp_doc_error(doc, ADP_EINVAL, at,
                  "unknown word in path, found {%.64s}, expected %s%s%s", word,
                  nearest ? "{" : "{experiment}, {policy} or {run}",
                  nearest ? nearest : "", nearest ? "}" : "");
}

static void read_path(struct adp_doc *doc, const struct adp_key *key,
                      const struct adp_node *value, void *into)
{
    struct adp_config *config = into;
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return;
    size_t len = strlen(value->text);
    if (!adp_read_fits(doc, key, value, len))
        return;
    if (len == 0 || value->text[len - 1] == '/' || !adp_text_is_printable(value->text)) {
        adp_read_wrong(doc, key, value, "not a file's path");
        return;
    }
    bool good = true;
    for (const char *at = value->text; *at;) {
        struct piece piece = next_piece(at);
        if (piece.place < -1) {
            tell_piece(doc, value, piece);
            good = false;
        }
        at += piece.len;
    }
    if (good)
        config->log_path = value->text;
}

int adp_config_log_path(const struct adp_config *config, const char *policy, char *ret,
                        size_t cap, struct adp_error *err)
{
    const char *words[] = { config->experiment ? config->experiment : "unnamed", policy,
                            config->run ? config->run : "r1" };
    char path[ADP_CONFIG_MAX_PATH + 1];
    size_t at = 0;
    for (const char *c = config->log_path; *c;) {
        struct piece piece = next_piece(c);
        const char *text = piece.place >= 0 ? words[piece.place] : piece.begin;
        size_t len = piece.place >= 0 ? strlen(text) : piece.len;
        if (len >= sizeof path - at || len >= cap - at)
            return adp_error_set(err, ADP_EFULL,
                                 "the path of the log is too long, expected at most %u "
                                 "bytes",
                                 ADP_CONFIG_MAX_PATH);
        memcpy(path + at, text, len);
        at += len;
        c += piece.len;
    }
    memcpy(ret, path, at);
    ret[at] = '\0';
    return 0;
}

/* ---- the section ---- */

static const char *const metrics_words[] = { "snapshot", "inline", NULL };

static void read_metrics(struct adp_doc *doc, const struct adp_key *key,
                         const struct adp_node *value, void *into)
{
    struct adp_config *config = into;
    int i = adp_read_choice(doc, key, value, metrics_words);
    if (i >= 0)
        config->log_inline = i == 1;
}

static const struct adp_key log_keys[] = {
    { .word = "path",
      .read = read_path,
      .expected = "a path such as experiments/{experiment}/{policy}/{run}.jsonl" },
    { .word = "rotate",
      .read = adp_read_size,
      .at = offsetof(struct adp_config, rotate_bytes),
      .lo = 0.0,
      .hi = 1099511627776.0,
      .expected = "a size up to 1024GiB such as 1GiB, or 0 for never" },
    { .word = "keep",
      .read = adp_read_integer,
      .at = offsetof(struct adp_config, keep),
      .lo = 1.0,
      .hi = 10000.0,
      .expected = "a whole number from 1 to 10000" },
    { .word = "metrics", .read = read_metrics },
    { 0 },
};

void adp_section_log(struct adp_doc *doc, const struct adp_key *key,
                     const struct adp_node *value, void *into)
{
    struct adp_config *config = into;
    struct adp_key mapping = *key;
    if (value->kind == ADP_NODE_SCALAR && strcmp(value->text, "none") == 0) {
        config->log_none = true;
        return;
    }
    mapping.keys = log_keys;
    adp_read_mapping(doc, &mapping, value, config);
}
