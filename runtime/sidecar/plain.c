/* SPDX-License-Identifier: MIT */
/* Plain requests (plain.h). Each step answers whether it is plain so far. */
#include "runtime/sidecar/plain.h"

#include "runtime/sidecar/facts.h"

#include <string.h>

enum { MOST_DIGITS = 18 }; /* fits any 64 bits */

struct scan {
    const char *at, *end;
    struct adp_plain *to;
};

/* The next byte that is no blank; '\0' at the end, which a body that is plain never holds. */
static char next(struct scan *s)
{
    while (s->at < s->end &&
           (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
        s->at++;
    return s->at < s->end ? *s->at : '\0';
}

static bool take(struct scan *s, char what)
{
    bool there = next(s) == what;
    s->at += there;
    return there;
}

/* A text that stands for itself, byte for byte. */
static bool take_text(struct scan *s, const char **ret, size_t *ret_len)
{
    if (!take(s, '"'))
        return false;
    const char *begin = s->at;
    for (; s->at < s->end; s->at++) {
        unsigned char c = (unsigned char)*s->at;
        if (c == '"') {
            *ret = begin;
            *ret_len = (size_t)(s->at++ - begin);
            return true;
        }
        if (c < ' ' || c == '\\' || c > '~')
            return false;
    }
    return false;
}

/* A whole number as it is printed again. */
static bool take_number(struct scan *s, const char **ret, size_t *ret_len)
{
    const char *begin = s->at, *digits = begin + (*begin == '-');
    for (s->at = digits; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
        ;
    size_t n = (size_t)(s->at - digits);
    if (!n || n > MOST_DIGITS || (*digits == '0' && (n > 1 || digits > begin)))
        return false;
    *ret = begin;
    *ret_len = (size_t)(s->at - begin);
    char after = next(s);
    return after == ',' || after == '}';
}

static bool take_value(struct scan *s, enum adp_header fact)
{
    const char *at;
    size_t len;
    char first = next(s);
    if (first == '\0')
        return false;
    if (first == 'n') { /* the same as not telling it */
        bool null = s->end - s->at >= 4 && memcmp(s->at, "null", 4) == 0;
        s->at += null ? 4 : 0;
        return null;
    }
    if (first == '"' ? !take_text(s, &at, &len) : !take_number(s, &at, &len))
        return false;
    s->to->told[s->to->n].fact = fact;
    s->to->told[s->to->n].at = at;
    s->to->told[s->to->n++].len = len;
    return true;
}

/* Between the braces of an object, each key once. `inside`: of facts. */
static bool take_object(struct scan *s, bool inside)
{
    uint32_t seen = 0;
    if (!take(s, '{'))
        return false;
    if (take(s, '}'))
        return true;
    do {
        const char *key;
        size_t len;
        if (!take_text(s, &key, &len) || !take(s, ':'))
            return false;
        bool facts = !inside && len == 5 && memcmp(key, "facts", 5) == 0;
        int fact = facts ? (int)ADP_HEADERS : adp_facts_find(key, len);
        if (fact < 0 ||
            (!inside && !facts && !(len == 10 && fact == ADP_HEADER_REQUEST_ID)))
            return false;
        if (seen & 1u << fact)
            return false;
        seen |= 1u << fact;
        if (facts ? !take_object(s, true) : !take_value(s, (enum adp_header)fact))
            return false;
    } while (take(s, ','));
    return take(s, '}');
}

bool adp_plain_read(struct adp_plain *ret, const char *body, size_t len)
{
    struct scan s = { body, body + len, ret };
    ret->n = 0;
    uint32_t ids = 0;
    bool plain = body && take_object(&s, false) && next(&s) == '\0' && s.at == s.end;
    for (uint32_t i = 0; plain && i < ret->n; i++)
        ids += ret->told[i].fact == ADP_HEADER_REQUEST_ID;
    return plain && ids <= 1;
}
