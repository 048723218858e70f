/* SPDX-License-Identifier: MIT */
/* YAML as a tree in which everything knows its place.
 *
 * Read from libyaml's events, not with its document loader, which takes the second of two
 * equal keys without a word and has no bound on depth.
 *
 *  1. Bounded: bytes and depth (config.h), nodes, and anchors. An alias counts as
 *     everything it stands for, so walking a tree is bounded like the tree.
 *  2. A key stands once in its mapping; its second writing is told and left out.
 *  3. Of YAML's features tags, directives, merge keys, several documents and keys that
 *     are not scalars are refused by name: a configuration that needs them would not be
 *     read as its author means it by anyone.
 *  4. After an error that ends the reading (syntax, a bound) the tree holds what came
 *     before it, and every collection that was not finished is marked `open`: nothing may
 *     be called missing from it.
 *
 * What a scalar means (a number, a word) is left to read.h. */
#ifndef ADP_RUNTIME_CONFIG_TREE_H
#define ADP_RUNTIME_CONFIG_TREE_H

#include "runtime/config/doc.h"

#define ADP_TREE_MAX_NODES   16384u
#define ADP_TREE_MAX_ANCHORS 64u

enum adp_node_kind {
    ADP_NODE_SCALAR,
    ADP_NODE_LIST,
    ADP_NODE_MAPPING,
    ADP_NODE_BROKEN /* it is there, and what is wrong with it has been told */
};

struct adp_item {
    const struct adp_node *key; /* a scalar; NULL in a list */
    const struct adp_node *value;
    struct adp_item *next;
};

/* A node may hang in several places (aliases), so the links are in the items. */
struct adp_node {
    enum adp_node_kind kind;
    struct adp_place at; /* of the first byte, an opening quote included */
    bool open;           /* cut off by an error */

    /* Scalar. */
    const char *text;     /* NUL-terminated, holds no other NUL */
    bool plain;           /* written without quotes, and not as a block */
    uint32_t text_column; /* of text[0] when the text stands in the file as it is, on one
                             line; else 0 */

    /* List and mapping. */
    struct adp_item *items; /* in the order written */
    uint32_t n_items;

    uint32_t nodes;  /* in it, itself and whatever aliases stand for included */
    uint32_t height; /* collections on the longest way down, itself included; scalar: 0 */
};

/* Reads text[0..len). False: nothing could be read. True: *ret is what could, which is
 * NULL for a file that holds nothing. Either way mistakes are told to the document. */
bool adp_tree_read(const struct adp_node **ret, const char *text, size_t len,
                   struct adp_doc *doc);

/* The item at `key`, and its value: NULL where there is none, as in all that is no
 * mapping. A reader that has read by a table asks adp_read_item (read.h). */
const struct adp_item *adp_node_item(const struct adp_node *node, const char *key);
const struct adp_node *adp_node_find(const struct adp_node *node, const char *key);
/* True for what YAML reads as nothing: an empty value, ~, null. */
bool adp_node_is_nothing(const struct adp_node *node);
/* The place of text[offset] of a scalar: exact when text_column is known, else the place
 * of the scalar. Columns count characters, offsets bytes. */
struct adp_place adp_node_place_in(const struct adp_node *scalar, size_t offset);

#endif
