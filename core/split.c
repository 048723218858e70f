/* SPDX-License-Identifier: MIT */
/* The enforcement split (core/split.h). */
#include "core/split.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { AT_ONCE = 512 }; /* longest salt, NUL and id that are hashed from one buffer */

double adp_split_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

static XXH128_hash_t hash_parts(const char *salt, size_t salt_len, const char *id,
                                size_t id_len)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, salt, salt_len);
    XXH3_128bits_update(&state, "", 1);
    XXH3_128bits_update(&state, id, id_len);
    return XXH3_128bits_digest(&state);
}

struct adp_split adp_split_of(const char *salt, size_t salt_len, const char *id,
                              size_t id_len)
{
    char joined[AT_ONCE];
    XXH128_hash_t h;
    if (salt_len < AT_ONCE && id_len < AT_ONCE - salt_len) {
        memcpy(joined, salt, salt_len);
        joined[salt_len] = '\0';
        memcpy(joined + salt_len + 1, id, id_len);
        h = XXH3_128bits(joined, salt_len + 1 + id_len);
    } else {
        h = hash_parts(salt, salt_len, id, id_len);
    }
    return (struct adp_split) { .arm = adp_split_unit(h.high64),
                                .draw = adp_split_unit(h.low64) };
}
