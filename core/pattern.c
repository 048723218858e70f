/* SPDX-License-Identifier: MIT */
/* Patterns: compiled to a small nondeterministic automaton, run over all of its states
 * at once (Thompson 1968; R. Cox, "Regular Expression Matching Can Be Simple And Fast").
 *
 *  1. Jumps are relative, so a piece of program can be moved to make room before it.
 *  2. A set of states is a bit per step; a step enters a set once, so that empty loops
 *     end and a byte of the value costs at most one visit of every step. */
#include "core/pattern.h"

#include "core/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 16, MAX_CLASSES = 16, SET_WORDS = ADP_PATTERN_STEPS / 64 };

/* REST: a byte that goes on with a character of UTF-8. */
enum kind { BYTE, ANY, REST, CLASS, JUMP, FORK, MATCH };

struct step {
    uint8_t kind;
    uint8_t byte;      /* BYTE: which; CLASS: index */
    int16_t to, other; /* JUMP, FORK: relative */
};

struct class
{
    uint64_t bits[4];
};

struct adp_pattern {
    uint32_t n, n_classes;
    struct step steps[ADP_PATTERN_STEPS];
    struct class classes[MAX_CLASSES];
};

struct reader {
    struct adp_pattern *pattern;
    const char *text;
    size_t at, len;
    uint32_t depth;
    const char **ret_why;
};

static int refuse(struct reader *r, int code, const char *why)
{
    *r->ret_why = why;
    return code;
}

/* Room for `n` steps at `at`; one is always kept for the final MATCH. */
static int make_room(struct reader *r, uint32_t at, uint32_t n)
{
    struct adp_pattern *p = r->pattern;
    if (p->n + n >= ADP_PATTERN_STEPS)
        return refuse(r, ADP_EINVAL, "the pattern is too long");
    memmove(&p->steps[at + n], &p->steps[at], (p->n - at) * sizeof p->steps[0]);
    p->n += n;
    return 0;
}

static int append(struct reader *r, struct step step)
{
    int rc = make_room(r, r->pattern->n, 1);
    if (!rc)
        r->pattern->steps[r->pattern->n - 1] = step;
    return rc;
}

static void class_add(struct class *class, unsigned from, unsigned to)
{
    for (unsigned c = from; c <= to; c++)
        class->bits[c / 64] |= 1ull << (c % 64);
}

/* The classes that have a letter. False: `letter` names none. */
static bool class_add_named(struct class *class, char letter)
{
    switch (letter) {
    case 'w':
        class_add(class, 'a', 'z');
        class_add(class, 'A', 'Z');
        class_add(class, '_', '_');
        /* fall through */
    case 'd':
        class_add(class, '0', '9');
        return true;
    case 's':
        class_add(class, '\t', '\n');
        class_add(class, '\f', '\r');
        class_add(class, ' ', ' ');
        return true;
    default:
        return false;
    }
}

static int append_class(struct reader *r, const struct class *class)
{
    struct adp_pattern *p = r->pattern;
    if (p->n_classes == MAX_CLASSES)
        return refuse(r, ADP_EINVAL, "the pattern has more than 16 classes");
    p->classes[p->n_classes] = *class;
    struct step step = { .kind = CLASS, .byte = (uint8_t)p->n_classes };
    p->n_classes++;
    return append(r, step);
}

/* What a character may have behind its first byte. */
static int append_rest(struct reader *r)
{
    int rc = append(r, (struct step) { .kind = FORK, .to = 1, .other = 3 });
    if (!rc)
        rc = append(r, (struct step) { .kind = REST });
    return rc ? rc : append(r, (struct step) { .kind = JUMP, .to = -2 });
}

static bool is_word_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Behind a backslash: punctuation stands for itself, a letter for its class or nothing.
 */
static int read_escape(struct reader *r, struct class *ret_class, int *ret_byte)
{
    if (r->at == r->len)
        return refuse(r, ADP_ESYNTAX, "a \"\\\" ends the pattern");
    unsigned char c = (unsigned char)r->text[r->at++];
    *ret_byte = -1;
    if (class_add_named(ret_class, (char)c))
        return 0;
    if (is_word_byte(c))
        return refuse(r, ADP_ESYNTAX,
                      "only \\d, \\w, \\s and punctuation follow a \"\\\"");
    *ret_byte = c;
    return 0;
}

/* One member of a class: a byte, a range, or \d and the like. */
static int read_member(struct reader *r, struct class *class)
{
    unsigned char from = (unsigned char)r->text[r->at++];
    int byte = from;
    if (from == '\\') {
        int rc = read_escape(r, class, &byte);
        if (rc || byte < 0)
            return rc;
    }
    int to = byte;
    if (r->at + 1 < r->len && r->text[r->at] == '-' && r->text[r->at + 1] != ']') {
        r->at++;
        to = (unsigned char)r->text[r->at++];
        if (to == '\\') {
            int rc = read_escape(r, class, &to);
            if (rc)
                return rc;
        }
    }
    if (to < byte)
        return refuse(r, ADP_ESYNTAX, "a range in \"[ ]\" goes backwards");
    class_add(class, (unsigned)byte, (unsigned)to);
    return 0;
}

static const struct {
    const char *name, *ranges; /* pairs of bytes, both ends of each range */
} named_classes[] = {
    { "[:alpha:]", "azAZ" },   { "[:digit:]", "09" },       { "[:alnum:]", "azAZ09" },
    { "[:lower:]", "az" },     { "[:upper:]", "AZ" },       { "[:xdigit:]", "afAF09" },
    { "[:space:]", "\t\r  " }, { "[:punct:]", "!/:@[`{~" }, { "[:word:]", "azAZ09__" },
};

/* At a "[" in a class: a class that has a name. */
static int read_named_class(struct reader *r, struct class *class)
{
    for (size_t i = 0; i < sizeof named_classes / sizeof named_classes[0]; i++) {
        size_t n = strlen(named_classes[i].name);
        if (r->len - r->at < n || memcmp(r->text + r->at, named_classes[i].name, n) != 0)
            continue;
        for (const char *p = named_classes[i].ranges; *p; p += 2)
            class_add(class, (unsigned char)p[0], (unsigned char)p[1]);
        r->at += n;
        return 0;
    }
    return refuse(r, ADP_ESYNTAX, "a class in \"[ ]\" is not known");
}

static bool opens_named_class(const struct reader *r)
{
    return r->text[r->at] == '[' && r->at + 1 < r->len &&
           strchr(":.=", r->text[r->at + 1]) && r->text[r->at + 1];
}

/* All characters that are not in it; of those outside ASCII, their first bytes. */
static void negate(struct class *class)
{
    for (unsigned i = 0; i < 4; i++)
        class->bits[i] = ~class->bits[i];
    class->bits[2] = 0; /* 0x80 to 0xbf begin no character */
}

static int read_class(struct reader *r)
{
    struct class class = { { 0 } };
    bool negated = r->at < r->len && r->text[r->at] == '^';
    if (negated)
        r->at++;
    size_t first = r->at;
    while (r->at < r->len && (r->text[r->at] != ']' || r->at == first)) {
        int rc =
            opens_named_class(r) ? read_named_class(r, &class) : read_member(r, &class);
        if (rc)
            return rc;
    }
    if (r->at >= r->len)
        return refuse(r, ADP_ESYNTAX, "a \"[\" is not closed");
    r->at++;
    if (class.bits[2] || class.bits[3])
        return refuse(r, ADP_ESYNTAX, "only ASCII is known in \"[ ]\"");
    if (negated)
        negate(&class);
    int rc = append_class(r, &class);
    return rc || !negated ? rc : append_rest(r);
}

static int read_choice(struct reader *r);

static int read_group(struct reader *r)
{
    if (r->depth == MAX_NESTING)
        return refuse(r, ADP_EINVAL, "the pattern is nested deeper than 16");
    if (r->len - r->at >= 1 && r->text[r->at] == '?') {
        if (r->len - r->at < 2 || r->text[r->at + 1] != ':')
            return refuse(r, ADP_ESYNTAX, "of \"(?\" only \"(?:\" is known");
        r->at += 2;
    }
    r->depth++;
    int rc = read_choice(r);
    r->depth--;
    if (rc)
        return rc;
    if (r->at == r->len)
        return refuse(r, ADP_ESYNTAX, "a \"(\" is not closed");
    r->at++;
    return 0;
}

static int read_atom(struct reader *r)
{
    unsigned char c = (unsigned char)r->text[r->at++];
    struct class class = { { 0 } };
    int byte = c, rc;
    switch (c) {
    case '(':
        return read_group(r);
    case '[':
        return read_class(r);
    case '.':
        rc = append(r, (struct step) { .kind = ANY });
        return rc ? rc : append_rest(r);
    case '*':
    case '+':
    case '?':
        return refuse(r, ADP_ESYNTAX, "a repetition has nothing to repeat");
    case '{':
    case '}':
        return refuse(r, ADP_ESYNTAX, "counted repetition \"{ }\" is not known");
    case '^':
    case '$':
        return refuse(r, ADP_ESYNTAX,
                      "\"^\" belongs in front and \"$\" at the end of a pattern");
    case '\\':
        rc = read_escape(r, &class, &byte);
        if (rc)
            return rc;
        if (byte < 0)
            return append_class(r, &class);
        /* fall through */
    default:
        return append(r, (struct step) { .kind = BYTE, .byte = (uint8_t)byte });
    }
}

/* An atom and what repeats it: the repetition is built around the atom's steps. */
static int read_repeated(struct reader *r)
{
    uint32_t first = r->pattern->n;
    int rc = read_atom(r);
    if (rc || r->at == r->len || !strchr("*+?", r->text[r->at]))
        return rc;
    char repeat = r->text[r->at++];
    if (r->at < r->len && r->text[r->at] && strchr("*+?", r->text[r->at]))
        return refuse(r, ADP_ESYNTAX, "a repetition repeats a repetition");
    int16_t size = (int16_t)(r->pattern->n - first);
    if (repeat == '+')
        return append(r,
                      (struct step) { .kind = FORK, .to = (int16_t)-size, .other = 1 });
    rc = make_room(r, first, 1);
    if (rc)
        return rc;
    int16_t past = (int16_t)(size + (repeat == '*' ? 2 : 1));
    r->pattern->steps[first] = (struct step) { .kind = FORK, .to = 1, .other = past };
    if (repeat == '?')
        return 0;
    return append(r, (struct step) { .kind = JUMP, .to = (int16_t) - (size + 1) });
}

static int read_sequence(struct reader *r)
{
    int rc = 0;
    while (!rc && r->at < r->len && r->text[r->at] != '|') {
        if (r->text[r->at] == ')')
            return r->depth ? 0 : refuse(r, ADP_ESYNTAX, "a \")\" closes nothing");
        rc = read_repeated(r);
    }
    return rc;
}

/* Alternatives: a fork before the first, a jump from its end over the others, which are
 * one choice again. The recursion is bounded: each level costs two steps. */
static int read_choice(struct reader *r)
{
    uint32_t first = r->pattern->n;
    int rc = read_sequence(r);
    if (rc || r->at == r->len || r->text[r->at] != '|')
        return rc;
    r->at++;
    int16_t size = (int16_t)(r->pattern->n - first);
    rc = make_room(r, first, 1);
    if (rc)
        return rc;
    r->pattern->steps[first] =
        (struct step) { .kind = FORK, .to = 1, .other = (int16_t)(size + 2) };
    uint32_t jump = r->pattern->n;
    rc = append(r, (struct step) { .kind = JUMP });
    if (!rc)
        rc = read_choice(r);
    if (!rc)
        r->pattern->steps[jump].to = (int16_t)(r->pattern->n - jump);
    return rc;
}

/* Anchors say what is the case anyway: the pattern is held against the whole value. */
static void drop_anchors(struct reader *r)
{
    if (r->len && r->text[0] == '^')
        r->at = 1;
    if (r->len == r->at || r->text[r->len - 1] != '$')
        return;
    size_t slashes = 0;
    while (slashes + 1 < r->len - r->at && r->text[r->len - 2 - slashes] == '\\')
        slashes++;
    if (slashes % 2 == 0)
        r->len--;
}

int adp_pattern_compile(struct adp_pattern **ret, const char *text, size_t len,
                        const char **ret_why)
{
    struct adp_pattern *pattern = calloc(1, sizeof *pattern);
    struct reader r = {
        .pattern = pattern, .text = text, .len = len, .ret_why = ret_why
    };
    if (!pattern)
        return refuse(&r, ADP_ENOMEM, "out of memory");
    drop_anchors(&r);
    int rc = read_choice(&r);
    if (rc) {
        free(pattern);
        return rc;
    }
    pattern->steps[pattern->n++] = (struct step) { .kind = MATCH };
    *ret = pattern;
    return 0;
}

void adp_pattern_destroy(struct adp_pattern *pattern)
{
    free(pattern);
}

static bool has(const uint64_t *set, uint32_t step)
{
    return set[step / 64] >> (step % 64) & 1;
}

/* Enters `step` and all that is reached from it without a byte. */
static void enter(const struct adp_pattern *p, uint64_t *set, uint32_t step)
{
    uint16_t waiting[ADP_PATTERN_STEPS];
    uint32_t n = 0;
    int32_t at = (int32_t)step;
    for (;;) {
        if (!has(set, (uint32_t)at)) {
            const struct step *s = &p->steps[at];
            set[at / 64] |= 1ull << (at % 64);
            if (s->kind == FORK)
                waiting[n++] = (uint16_t)(at + s->other);
            if (s->kind == FORK || s->kind == JUMP) {
                at += s->to;
                continue;
            }
        }
        if (!n)
            return;
        at = waiting[--n];
    }
}

static bool takes(const struct adp_pattern *p, const struct step *s, unsigned char byte)
{
    switch (s->kind) {
    case BYTE:
        return s->byte == byte;
    case ANY:
        return (byte & 0xc0) != 0x80;
    case REST:
        return (byte & 0xc0) == 0x80;
    case CLASS:
        return p->classes[s->byte].bits[byte / 64] >> (byte % 64) & 1;
    default:
        return false;
    }
}

bool adp_pattern_match(const struct adp_pattern *pattern, const char *value, size_t len)
{
    uint64_t now[SET_WORDS] = { 0 }, then[SET_WORDS];
    enter(pattern, now, 0);
    for (size_t i = 0; i < len; i++) {
        bool alive = false;
        memset(then, 0, sizeof then);
        for (uint32_t s = 0; s < pattern->n; s++) {
            if (!has(now, s) ||
                !takes(pattern, &pattern->steps[s], (unsigned char)value[i]))
                continue;
            enter(pattern, then, s + 1);
            alive = true;
        }
        if (!alive)
            return false;
        memcpy(now, then, sizeof now);
    }
    return has(now, pattern->n - 1);
}
