/* SPDX-License-Identifier: MIT */
/* Characters that are not to reach a terminal as they are. */
#include "core/glyph.h"

#include <stddef.h>

struct range {
    uint32_t first, last;
};

static bool is_in(const struct range *ranges, size_t n, uint32_t point)
{
    for (size_t i = 0; i < n; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

uint32_t adp_glyph_at(const char *text, int *ret_n)
{
    static const struct {
        unsigned char mask, lead;
    } forms[] = { { 0x80, 0 }, { 0xe0, 0xc0 }, { 0xf0, 0xe0 }, { 0xf8, 0xf0 } };
    const unsigned char *s = (const unsigned char *)text;
    for (int n = 1; n <= 4; n++) {
        uint32_t point = s[0] & (uint32_t)(unsigned char)~forms[n - 1].mask;
        int k = 1;
        if ((s[0] & forms[n - 1].mask) != forms[n - 1].lead)
            continue;
        for (; k < n && (s[k] & 0xc0) == 0x80; k++)
            point = point << 6 | (s[k] & 0x3fu);
        *ret_n = n;
        if (k == n)
            return point;
        break;
    }
    *ret_n = 1;
    return s[0] >= 0x80 && s[0] < 0xa0 ? s[0] : 0xfffd;
}

bool adp_glyph_steers(uint32_t point)
{
    static const struct range ranges[] = {
        { 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x61c, 0x61c },
        { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x2069 },
    };
    return is_in(ranges, sizeof ranges / sizeof *ranges, point);
}

bool adp_glyph_hidden(uint32_t point)
{
    static const struct range ranges[] = {
        { 0xad, 0xad },       { 0x180e, 0x180e },   { 0x200b, 0x200d },
        { 0x2060, 0x2065 },   { 0x206a, 0x206f },   { 0xfeff, 0xfeff },
        { 0xfff9, 0xfffb },   { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
        { 0xe0000, 0xe007f },
    };
    return adp_glyph_steers(point) ||
           is_in(ranges, sizeof ranges / sizeof *ranges, point);
}
