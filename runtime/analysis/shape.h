/* SPDX-License-Identifier: MIT */
/* Lines that differ from one that is known to be JSON in nothing but some of its scalars.
 *
 * A log repeats itself: of a line's 1,300 bytes a thousand stand in the line before. A
 * shape is such a line cut into literals, which must come again byte by byte, and slots,
 * each of which takes any one scalar. A line that matches is read without being parsed:
 * what its literals say is known, and its slots' scalars are handed out.
 *
 * Why no corrupt line can pass: the line learned from was accepted by a parser that checks
 * all of it (once the tokens that JSON lacks are taken for null). A line that matches
 * differs from it only where a scalar stands that is JSON's by its grammar (a number, a
 * string of printable ASCII without escapes, true, false, null), or one of those tokens.
 * A scalar in a scalar's place leaves JSON JSON. Whatever is less plain does not match,
 * and goes to the parser: an escape, a byte beyond ASCII, a whole number of more than 18
 * digits, any of more than 40, an exponent. */
#ifndef ADP_ANALYSIS_SHAPE_H
#define ADP_ANALYSIS_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ADP_SHAPE_SLOTS = 1024, ADP_SHAPE_DEPTH = 8 };

enum adp_token_kind {
    ADP_TOKEN_NULL,
    ADP_TOKEN_TRUE,
    ADP_TOKEN_FALSE,
    ADP_TOKEN_TEXT,
    ADP_TOKEN_NUMBER,
    ADP_TOKEN_NOT_FINITE /* NaN, Infinity, -Infinity */
};

/* A scalar of a line. text, len: a string's inside, a number's characters; borrowed from
 * the line. A number is (negative ? -1 : 1) * mantissa / 10^decimals, unless mantissa is UINT64_MAX:
 * then its characters alone say what it is. */
struct adp_token {
    const char *text;
    uint64_t mantissa;
    uint32_t len;
    uint8_t kind, decimals;
    bool negative, integer;
};

/* Where a scalar stands: the keys that lead to it, from the outermost. A key is NULL for an
 * element of an array. Lines that nest deeper than ADP_SHAPE_DEPTH are not learned. */
struct adp_shape_path {
    const char *key[ADP_SHAPE_DEPTH];
    size_t len[ADP_SHAPE_DEPTH];
    size_t depth;
};

enum { ADP_SHAPE_LITERAL = -1, ADP_SHAPE_REFUSE = -2 };
/* Says what a scalar is: ADP_SHAPE_LITERAL, or a slot with this number (from 0, for the
 * caller's use), or that lines like this are not to be learned at all. */
typedef int adp_shape_choose(const struct adp_shape_path *path, void *context);

struct adp_shape; /* opaque */

/* Learns the line, which a parser has accepted. NULL: it is refused, has too many slots, a
 * key with an escape, or memory is out; nothing is lost by that but time. */
struct adp_shape *adp_shape_create(const char *line, size_t len, adp_shape_choose *choose,
                                   void *context);
void adp_shape_destroy(struct adp_shape *shape);

size_t adp_shape_slots(const struct adp_shape *shape);
/* What `choose` said of the slot. */
int adp_shape_number(const struct adp_shape *shape, size_t slot);
/* The same for two shapes when they have the same literals, and else not (a 64-bit hash);
 * never 0. */
uint64_t adp_shape_print(const struct adp_shape *shape);

/* Does the line match? Then `tokens`, one for each slot, are set. Bytes after the line are
 * not read. */
bool adp_shape_match(const struct adp_shape *shape, const char *line, size_t len,
                     struct adp_token *tokens);

#ifdef __cplusplus
}
#endif
#endif
