/* SPDX-License-Identifier: MIT */
/* Spelling JSON into room that was made before (core/pen.h). */
#include "core/pen.h"

static const uint64_t billion = 1000000000;

static uint64_t repeat(unsigned char c)
{
    return UINT64_C(0x0101010101010101) * c;
}

char *adp_pen_seconds(char *to, uint64_t ns)
{
    to = adp_pen_u64(to, ns / billion);
    *to++ = '.';
    return to + adp_number_print_places(to, (uint32_t)(ns % billion / 1000));
}

/* The eight digits of `value` in memory order, the first in the lowest byte. Lanes of 32, 16
 * and 8 bits are each split in two; a digit above 9 is 39 further on, at 'a'. */
static uint64_t eight_hex(uint32_t value)
{
    uint64_t x = value >> 16 | (uint64_t)(value & 0xffff) << 32;
    x = (x >> 8 & UINT64_C(0x000000ff000000ff)) | (x & UINT64_C(0x000000ff000000ff))
                                                      << 16;
    x = (x >> 4 & UINT64_C(0x000f000f000f000f)) | (x & UINT64_C(0x000f000f000f000f)) << 8;
    uint64_t letters = (x + repeat(6)) >> 4 & repeat(1);
    return x + repeat('0') + letters * ('a' - '0' - 10);
}

char *adp_pen_hex(char *to, uint64_t value)
{
    uint64_t high = eight_hex((uint32_t)(value >> 32)), low = eight_hex((uint32_t)value);
    to[0] = to[17] = '"';
    memcpy(to + 1, &high, sizeof high);
    memcpy(to + 9, &low, sizeof low);
    return to + ADP_PEN_HEX;
}

/* What JSON takes as it is, and a terminal too. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c <= 0x7e && c != '"' && c != '\\';
}

/* Whether one of eight bytes is 0: exact as a yes or no, though not as to which. */
static bool has_zero(uint64_t x)
{
    return (x - repeat(1)) & ~x & repeat(0x80);
}

/* is_plain of eight bytes at once. */
static bool are_plain(uint64_t x)
{
    return !(x & repeat(0x80)) && !has_zero(x & repeat(0x60)) /* below 0x20 */
           && !has_zero(x ^ repeat(0x7f)) && !has_zero(x ^ repeat('"')) &&
           !has_zero(x ^ repeat('\\'));
}

static char *put_unit(char *to, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = { '\\',
                     'u',
                     hex[unit >> 12 & 15],
                     hex[unit >> 8 & 15],
                     hex[unit >> 4 & 15],
                     hex[unit & 15] };
    return adp_pen_put(to, text, sizeof text);
}

static char *put_code_point(char *to, uint32_t c)
{
    if (c == '"' || c == '\\') {
        *to++ = '\\';
        *to++ = (char)c;
        return to;
    }
    if (c <= 0xffff)
        return put_unit(to, c);
    to = put_unit(to, 0xd800 + ((c - 0x10000) >> 10));
    return put_unit(to, 0xdc00 + ((c - 0x10000) & 0x3ff));
}

/* One code point of well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no
 * surrogates, nothing above U+10FFFF). Returns its length, or 0. `len` above 0. */
static size_t read_utf8(const unsigned char *p, size_t len, uint32_t *ret)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (!n || n > len || p[0] > 0xf4)
        return 0;
    uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if (c < least[n] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
        return 0;
    *ret = c;
    return n;
}

/* Eight bytes at a time, the last of them again where they do not come out even. */
static bool is_ascii(const char *text, size_t len)
{
    uint64_t eight, all = 0;
    for (size_t at = 0; at + sizeof eight <= len; at += sizeof eight) {
        memcpy(&eight, text + at, sizeof eight);
        all |= eight;
    }
    if (len >= sizeof eight) {
        memcpy(&eight, text + len - sizeof eight, sizeof eight);
        return !((all | eight) & repeat(0x80));
    }
    for (size_t at = 0; at < len; at++)
        all |= (unsigned char)text[at];
    return !(all & 0x80);
}

bool adp_pen_keeps(const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    uint32_t c;
    if (is_ascii(text, len))
        return true;
    while (p < end) {
        size_t n = *p < 0x80 ? 1 : read_utf8(p, (size_t)(end - p), &c);
        if (!n)
            return false;
        p += n;
    }
    return true;
}

/* As it is written: the point, or U+FFFD for a byte. */
static uint32_t next_point(const unsigned char **p, const unsigned char *end)
{
    uint32_t c = 0xfffd;
    size_t n = read_utf8(*p, (size_t)(end - *p), &c);
    *p += n ? n : 1;
    return c;
}

bool adp_pen_alike(const char *a, size_t a_len, const char *b, size_t b_len)
{
    const unsigned char *p = (const unsigned char *)a, *p_end = p + a_len;
    const unsigned char *q = (const unsigned char *)b, *q_end = q + b_len;
    while (p < p_end && q < q_end)
        if (next_point(&p, p_end) != next_point(&q, q_end))
            return false;
    return p == p_end && q == q_end;
}

char *adp_pen_repaired(char *to, const char *text, size_t len)
{
    static const char unknown[] = "\xef\xbf\xbd"; /* U+FFFD */
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    _Static_assert(sizeof unknown - 1 == ADP_PEN_REPAIR,
                   "the longest that a byte becomes");
    while (p < end) {
        uint32_t c;
        size_t n = read_utf8(p, (size_t)(end - p), &c);
        to = n ? adp_pen_put(to, (const char *)p, n)
               : adp_pen_put(to, unknown, ADP_PEN_REPAIR);
        p += n ? n : 1;
    }
    return to;
}

/* Whether nothing in it needs escaping; `len` is eight or more. */
static bool is_all_plain(const char *text, size_t len)
{
    uint64_t eight;
    for (size_t at = 0; at + sizeof eight <= len; at += sizeof eight) {
        memcpy(&eight, text + at, sizeof eight);
        if (!are_plain(eight))
            return false;
    }
    memcpy(&eight, text + len - sizeof eight, sizeof eight);
    return are_plain(eight);
}

char *adp_pen_escaped(char *to, const char *text, size_t len)
{
    if (len >= sizeof(uint64_t) && is_all_plain(text, len))
        return adp_pen_put(to, text, len);
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    while (p < end) {
        uint64_t eight;
        if (end - p >= 8) {
            memcpy(&eight, p, sizeof eight);
            if (are_plain(eight)) {
                memcpy(to, &eight, sizeof eight);
                to += sizeof eight;
                p += sizeof eight;
                continue;
            }
        }
        if (is_plain(*p)) {
            *to++ = (char)*p++;
            continue;
        }
        uint32_t c = 0xfffd;
        size_t n = read_utf8(p, (size_t)(end - p), &c);
        to = put_code_point(to, c);
        p += n ? n : 1;
    }
    return to;
}
