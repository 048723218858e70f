/* SPDX-License-Identifier: MIT */
/* Reading values out of the tree: one table per mapping says which keys it may hold, how
 * each value is read, and in which words a wrong one is answered.
 *
 *     static const struct adp_key scrape_keys[] = {
 *         { .word = "interval", .read = adp_read_duration, .at = offsetof(...),
 *           .lo = 1e8, .hi = 3.6e12, .expected = "a duration from 100ms to 1h, …" },
 *         { 0 }
 *     };
 *
 *  1. A reader either writes its field or tells one mistake and leaves the field as it
 *     was: what is wrong in one place never hides what is wrong in another.
 *  2. Types are strict. A number is a plain scalar; text takes any scalar as written, so
 *     `run: 1` is the text "1" and `notes: no` is the text "no".
 *  3. Keys are read in the order of the table, whatever their order in the file, so that
 *     one may depend on another that stands before it in the table.
 *  4. Mistakes read `WORD is …, found …, expected …`, `expected` taken from the table. */
#ifndef ADP_RUNTIME_CONFIG_READ_H
#define ADP_RUNTIME_CONFIG_READ_H

#include "runtime/config/tree.h"

/* A key that a mapping may hold. */
struct adp_key {
    const char *word; /* NULL ends a table, or goes on with `keys` as one */
    /* Reads `value` into the field at `at` of `into`. */
    void (*read)(struct adp_doc *doc, const struct adp_key *key,
                 const struct adp_node *value, void *into);
    size_t at;
    const char *expected;     /* phrase for messages */
    double lo, hi;            /* inclusive: number; integer; duration, ns; size, bytes;
                                 text: hi is the most bytes */
    const char *const *words; /* adp_read_word: NULL-terminated, the index is the value */
    const struct adp_key *keys; /* adp_read_mapping */
    bool required;
};

/* The mapping itself: every key by its table, unknown and missing ones told. The fields
 * of the mapping inside lie in the same `into`. */
void adp_read_mapping(struct adp_doc *doc, const struct adp_key *key,
                      const struct adp_node *value, void *into);
/* What was read as `word` of a mapping with these keys: it stands under that word, or,
 * where that is missing, under one that is most likely it misspelt. The misspelling is
 * told, and must hide neither what is wrong below it, nor make the key seem to be missing:
 * whatever is asked about a mapping behind its reading is asked here. NULL: neither is
 * there, `value` is no mapping, or no further mistake would be kept. */
const struct adp_item *adp_read_item(struct adp_doc *doc, const struct adp_key *keys,
                                     const struct adp_node *value, const char *word);
/* Scalars. The field is: */
void adp_read_text(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                   void *into); /* const char *; 1 to hi bytes */
void adp_read_name(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                   void *into); /* const char *; fit for a file's name, at most 128 */
void adp_read_file(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                   void *into); /* const char *; a file's path, absolute: a relative one
                                   starts from the folder of the file that is read */
void adp_read_number(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                     void *into); /* double */
void adp_read_integer(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                      void *into); /* uint32_t */
void adp_read_duration(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                       void *into); /* uint64_t, ns */
void adp_read_size(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                   void *into); /* uint64_t, bytes */
void adp_read_word(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                   void *into); /* an enum: the index in `words` */
/* const struct adp_node *: kept, for the owner of the mapping to read. */
void adp_read_node(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                   void *into);

/* What a scalar says. */
enum adp_scalar_kind {
    ADP_SCALAR_TEXT,    /* also everything in quotes */
    ADP_SCALAR_NOTHING, /* empty, ~, null */
    ADP_SCALAR_BOOL,
    ADP_SCALAR_INTEGER, /* digits and a sign */
    ADP_SCALAR_NUMBER,
    ADP_SCALAR_NOT_FINITE /* .inf, .nan, and numbers no double holds */
};
struct adp_scalar {
    enum adp_scalar_kind kind;
    double value; /* BOOL: 0 or 1; unset for TEXT and NOTHING */
};
struct adp_scalar adp_node_scalar(const struct adp_node *node);

/* A short piece of a message. */
struct adp_phrase {
    char text[320];
};
/* What stands there: `"word"`, cut after 64 bytes; `a mapping`, `a list`, `nothing`. */
struct adp_phrase adp_phrase_found(const struct adp_node *node);
/* The known word nearest to `word`, or else all that are known: `"policy"`,
 * `one of "admit", "reject"`. */
struct adp_phrase adp_phrase_nearest(const char *word, const char *const *known);

/* Tells `WORD is WRONG, found …, expected …`. */
void adp_read_wrong(struct adp_doc *doc, const struct adp_key *key,
                    const struct adp_node *value, const char *wrong);
/* False when a path of `len` bytes is longer than ADP_CONFIG_MAX_PATH; tells it. */
bool adp_read_fits(struct adp_doc *doc, const struct adp_key *key,
                   const struct adp_node *value, size_t len);
/* True when the value is of that kind; else tells it. */
bool adp_read_is(struct adp_doc *doc, const struct adp_key *key,
                 const struct adp_node *value, enum adp_node_kind kind);
/* Looks a scalar up in `words` (NULL-terminated): its index, or -1, told. */
int adp_read_choice(struct adp_doc *doc, const struct adp_key *key,
                    const struct adp_node *value, const char *const *words);

/* False when something in it steers a terminal or the direction of writing (core/glyph.h). */
bool adp_text_is_printable(const char *text);
/* True for [a-z][a-z0-9_]* of at most ADP_SIGNAL_NAME bytes: signals, shipped policies.
 */
bool adp_name_is_plain(const char *name);

#endif
