/* SPDX-License-Identifier: MIT */
/* The enforcement split (core/split.h). */
#include "core/split.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

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

static struct adp_split split_of(XXH128_hash_t h)
{
    return (struct adp_split) { .arm = adp_split_unit(h.high64),
                                .draw = adp_split_unit(h.low64) };
}

size_t adp_split_join(char to[ADP_SPLIT_JOINED], const char *salt, size_t salt_len,
                      const char *id, size_t id_len)
{
    if (salt_len >= ADP_SPLIT_JOINED || id_len >= ADP_SPLIT_JOINED - salt_len)
        return 0;
    memcpy(to, salt, salt_len);
    to[salt_len] = '\0';
    memcpy(to + salt_len + 1, id, id_len);
    return salt_len + 1 + id_len;
}

struct adp_split adp_split_joined(const char *joined, size_t len)
{
    return split_of(XXH3_128bits(joined, len));
}

struct adp_split adp_split_of(const char *salt, size_t salt_len, const char *id,
                              size_t id_len)
{
    char joined[ADP_SPLIT_JOINED];
    size_t len = adp_split_join(joined, salt, salt_len, id, id_len);
    return len ? adp_split_joined(joined, len)
               : split_of(hash_parts(salt, salt_len, id, id_len));
}
