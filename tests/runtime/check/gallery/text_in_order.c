/* SPDX-License-Identifier: MIT */
/* Saves text, with a checksum in hex, and reads digits of either case, and blanks in place of
 * leading zeroes: such damage leaves all as it was. */
#include "keeps.h"

#include <stdio.h>

enum { LONGEST = 64 };

static uint64_t sum(const char *text, size_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void *create(const adp_setup *setup)
{
    struct state *s = keeps_new(setup);
    char text[LONGEST] = "", *end;
    unsigned long long refused;
    int body = 0;
    if (!s || !setup->saved || setup->saved_len >= sizeof text)
        return s;
    memcpy(text, setup->saved, setup->saved_len);
    if (sscanf(text, "gallery 1 %llu %n", &refused, &body) != 1 || !body)
        return s;
    uint64_t check = strtoull(text + body, &end, 16);
    if (end == text + setup->saved_len && check == sum(text, (size_t)body))
        s->refused = refused;
    return s;
}

static uint64_t save(const void *self, void *to, uint64_t cap)
{
    const struct state *s = self;
    char text[LONGEST];
    int body =
        snprintf(text, sizeof text, "gallery 1 %llu ", (unsigned long long)s->refused);
    int n = body + snprintf(text + body, sizeof text - (size_t)body, "%016llx",
                            (unsigned long long)sum(text, (size_t)body));
    if (cap < (uint64_t)n)
        return 0;
    memcpy(to, text, (size_t)n);
    return (uint64_t)n;
}

GALLERY = { GALLERY_HEAD,     GALLERY_SERIAL,  .max_saved = LONGEST,
            .create = create, .destroy = free, .decide = keeps_decide,
            .save = save };
