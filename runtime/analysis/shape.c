/* SPDX-License-Identifier: MIT */
/* Lines that differ in some of their scalars only.
 *
 * A shape is a copy of the line learned from, and slots: where the literal before each
 * lies in that copy. Learning walks JSON that is known to be valid, so it looks for the
 * ends of things and judges nothing; matching judges every byte that it does not compare. */
#include "runtime/analysis/shape.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct slot {
    uint32_t from, len; /* the literal before it, in the copy */
    int32_t number;
};

struct adp_shape {
    struct slot *slots; /* owned */
    size_t n, cap;
    uint32_t tail, tail_len; /* the literal after the last slot */
    uint64_t print;
    char *copy; /* owned */
};

void adp_shape_destroy(struct adp_shape *shape)
{
    if (!shape)
        return;
    free(shape->slots);
    free(shape->copy);
    free(shape);
}

/* ---- tokens -------------------------------------------------------------------------- */

enum { MOST_DIGITS = 18, MOST_CHARACTERS = 40 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Past the digits at `p`; *value goes on with them, and is worth something while there are
 * at most MOST_DIGITS. Eight at a time (Daniel Lemire, "Quickly parsing eight digits"):
 * with all digits of a double, numbers are a third of a line. */
static const char *scan_digits(const char *p, const char *end, uint64_t *value)
{
    const uint64_t zeros = 0x3030303030303030u, high = 0xf0f0f0f0f0f0f0f0u;
    for (uint64_t eight; end - p >= 8; p += 8) {
        memcpy(&eight, p, sizeof eight);
        eight = le64toh(eight);
        if ((eight & high) != zeros || ((eight + 0x0606060606060606u) & high) != zeros)
            break;
        eight -= zeros;
        eight = eight * 10 + (eight >> 8);
        eight = (((eight & 0x000000ff000000ffu) * 0x000f424000000064u) +
                 (((eight >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >>
                32;
        *value = *value * 100000000 + eight;
    }
    while (p < end && is_digit(*p))
        *value = *value * 10 + (uint64_t)(*p++ - '0');
    return p;
}

/* Both scanners return where the token ends, or NULL. */
static const char *scan_number(const char *p, const char *end, struct adp_token *ret)
{
    const char *start = p;
    uint64_t mantissa = 0;
    ret->negative = *p == '-';
    p += ret->negative;
    const char *digits = p;
    p = scan_digits(p, end, &mantissa);
    ptrdiff_t whole = p - digits, decimals = 0;
    if (!whole || (whole > 1 && *digits == '0'))
        return NULL;
    ret->integer = p == end || *p != '.';
    if (!ret->integer) {
        const char *point = ++p;
        p = scan_digits(p, end, &mantissa);
        decimals = p - point;
        if (!decimals)
            return NULL;
    }
    if (p < end && (*p == 'e' || *p == 'E'))
        return NULL;
    if (whole + decimals > MOST_DIGITS) {
        /* Digits of a double below 0.1: whoever wants its value reads the characters. */
        if (ret->integer || whole + decimals > MOST_CHARACTERS)
            return NULL;
        mantissa = UINT64_MAX;
    }
    ret->kind = ADP_TOKEN_NUMBER;
    ret->text = start;
    ret->len = (uint32_t)(p - start);
    ret->mantissa = mantissa;
    ret->decimals = (uint8_t)decimals;
    return p;
}

/* Has one of the eight bytes its high bit set, or is it below a blank, '"' or '\\'?
 * (A byte after such a one may be taken for one too: then we look closer, no more.) */
static bool plain(uint64_t eight)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    uint64_t quote = eight ^ (ones * '"'), slash = eight ^ (ones * '\\');
    uint64_t odd = (eight - ones * ' ') | (quote - ones) | (slash - ones) | eight;
    return !(odd & high);
}

/* `p` is past the opening quote. */
static const char *scan_text(const char *p, const char *end, struct adp_token *ret)
{
    const char *start = p;
    for (uint64_t eight; end - p >= 8; p += 8) {
        memcpy(&eight, p, sizeof eight);
        if (!plain(eight))
            break;
    }
    while (p < end && *p != '"') {
        if (*p == '\\' || (unsigned char)*p < ' ' || (unsigned char)*p >= 0x80)
            return NULL;
        p++;
    }
    if (p == end)
        return NULL;
    ret->kind = ADP_TOKEN_TEXT;
    ret->text = start;
    ret->len = (uint32_t)(p - start);
    return p + 1;
}

static const char *scan_word(const char *p, const char *end, struct adp_token *ret)
{
    static const struct {
        char word[10];
        uint8_t len, kind;
    } words[] = {
        { "null", 4, ADP_TOKEN_NULL },           { "true", 4, ADP_TOKEN_TRUE },
        { "false", 5, ADP_TOKEN_FALSE },         { "NaN", 3, ADP_TOKEN_NOT_FINITE },
        { "Infinity", 8, ADP_TOKEN_NOT_FINITE }, { "-Infinity", 9, ADP_TOKEN_NOT_FINITE }
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (end - p >= words[i].len && memcmp(p, words[i].word, words[i].len) == 0) {
            ret->kind = words[i].kind;
            ret->text = p;
            ret->len = words[i].len;
            return p + words[i].len;
        }
    return NULL;
}

static const char *scan(const char *p, const char *end, struct adp_token *ret)
{
    if (p == end)
        return NULL;
    if (*p == '"')
        return scan_text(p + 1, end, ret);
    if (is_digit(*p) || (*p == '-' && end - p > 1 && p[1] != 'I'))
        return scan_number(p, end, ret);
    return scan_word(p, end, ret);
}

/* ---- matching ------------------------------------------------------------------------ */

bool adp_shape_match(const struct adp_shape *shape, const char *line, size_t len,
                     struct adp_token *tokens)
{
    const char *p = line, *end = line + len;
    for (size_t i = 0; i < shape->n; i++) {
        const struct slot *slot = &shape->slots[i];
        if ((size_t)(end - p) < slot->len ||
            memcmp(p, shape->copy + slot->from, slot->len) != 0)
            return false;
        p = scan(p + slot->len, end, &tokens[i]);
        if (!p)
            return false;
    }
    /* What follows a scalar is a literal that begins with a comma, a blank or a bracket:
     * so a token ends where it must, and "12x" or "nullx" match nothing. */
    return (size_t)(end - p) == shape->tail_len &&
           memcmp(p, shape->copy + shape->tail, shape->tail_len) == 0;
}

/* ---- learning ------------------------------------------------------------------------ */

struct walk {
    struct adp_shape *shape;
    const char *p, *end, *line;
    const char *literal; /* where the literal at hand begins */
    struct adp_shape_path path;
    adp_shape_choose *choose;
    void *context;
};

static void skip_blanks(struct walk *w)
{
    while (w->p < w->end && (*w->p == ' ' || *w->p == '\t' || *w->p == '\r'))
        w->p++;
}

/* From a quote to past its counterpart; false: it holds an escape, or does not end. */
static bool skip_text(struct walk *w, bool *ret_plain)
{
    *ret_plain = true;
    for (w->p++; w->p < w->end && *w->p != '"'; w->p++)
        if (*w->p == '\\') {
            *ret_plain = false;
            w->p++;
        }
    return w->p++ < w->end;
}

static bool add_slot(struct walk *w, int number)
{
    struct adp_shape *shape = w->shape;
    if (shape->n == ADP_SHAPE_SLOTS)
        return false;
    if (shape->n == shape->cap) {
        size_t cap = shape->cap ? 2 * shape->cap : 32;
        struct slot *slots = realloc(shape->slots, cap * sizeof *slots);
        if (!slots)
            return false;
        shape->slots = slots;
        shape->cap = cap;
    }
    shape->slots[shape->n++] = (struct slot) { .from = (uint32_t)(w->literal - w->line),
                                               .len = (uint32_t)(w->p - w->literal),
                                               .number = number };
    return true;
}

static bool walk_scalar(struct walk *w)
{
    int number = w->choose(&w->path, w->context);
    bool is_plain = true;
    if (number == ADP_SHAPE_REFUSE || (number >= 0 && !add_slot(w, number)))
        return false;
    if (*w->p == '"') {
        if (!skip_text(w, &is_plain))
            return false;
    } else {
        while (w->p < w->end && !strchr(",]} \t\r", *w->p))
            w->p++;
    }
    if (number >= 0)
        w->literal = w->p;
    return true;
}

static bool walk_key(struct walk *w)
{
    const char *key = w->p + 1;
    bool is_plain;
    if (w->p == w->end || *w->p != '"' || !skip_text(w, &is_plain) || !is_plain)
        return false;
    w->path.key[w->path.depth - 1] = key;
    w->path.len[w->path.depth - 1] = (size_t)(w->p - 1 - key);
    skip_blanks(w);
    w->p++; /* the colon */
    skip_blanks(w);
    return w->p < w->end;
}

static bool walk_value(struct walk *w)
{
    if (*w->p != '{' && *w->p != '[')
        return walk_scalar(w);
    bool object = *w->p++ == '{';
    if (w->path.depth == ADP_SHAPE_DEPTH)
        return false;
    w->path.key[w->path.depth] = NULL;
    w->path.len[w->path.depth++] = 0;
    for (skip_blanks(w); w->p < w->end && *w->p != '}' && *w->p != ']'; skip_blanks(w)) {
        if (*w->p == ',') {
            w->p++;
            skip_blanks(w);
        }
        if ((object && !walk_key(w)) || w->p == w->end || !walk_value(w))
            return false;
    }
    w->path.depth--;
    return w->p++ < w->end;
}

/* The literals' hash, and which scalars stand between them as slots. */
static uint64_t print_of(const struct adp_shape *shape)
{
    uint64_t hash = shape->n;
    for (size_t i = 0; i < shape->n; i++)
        hash = XXH3_64bits_withSeed(shape->copy + shape->slots[i].from,
                                    shape->slots[i].len, hash + 1);
    hash = XXH3_64bits_withSeed(shape->copy + shape->tail, shape->tail_len, hash + 1);
    return hash ? hash : 1;
}

struct adp_shape *adp_shape_create(const char *line, size_t len, adp_shape_choose *choose,
                                   void *context)
{
    struct adp_shape *shape = len < UINT32_MAX ? calloc(1, sizeof *shape) : NULL;
    if (!shape)
        return NULL;
    struct walk walk = { .shape = shape,
                         .p = line,
                         .end = line + len,
                         .line = line,
                         .literal = line,
                         .choose = choose,
                         .context = context };
    shape->copy = malloc(len + 1);
    skip_blanks(&walk);
    if (!shape->copy || walk.p == walk.end || !walk_value(&walk)) {
        adp_shape_destroy(shape);
        return NULL;
    }
    memcpy(shape->copy, line, len);
    shape->tail = (uint32_t)(walk.literal - line);
    shape->tail_len = (uint32_t)(walk.end - walk.literal);
    shape->print = print_of(shape);
    return shape;
}

size_t adp_shape_slots(const struct adp_shape *shape)
{
    return shape->n;
}

int adp_shape_number(const struct adp_shape *shape, size_t slot)
{
    return shape->slots[slot].number;
}

uint64_t adp_shape_print(const struct adp_shape *shape)
{
    return shape->print;
}
