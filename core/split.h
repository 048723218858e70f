/* SPDX-License-Identifier: MIT */
/* The enforcement split: which arm a request is on, and the chance it draws.
 *
 * Both come from one XXH3-128 over (salt, NUL, request id): the high half decides the
 * arm, the low half is the policy's draw, so the two are independent, and both are the
 * same in every process, on every machine, after every restart and in a replay. A retried
 * id gets the same. */
#ifndef ADP_CORE_SPLIT_H
#define ADP_CORE_SPLIT_H

#include <stddef.h>
#include <stdint.h>

struct adp_split {
    double arm;  /* [0, 1): governed when below the enforced share */
    double draw; /* [0, 1) */
};

/* [hot] */
struct adp_split adp_split_of(const char *salt, size_t salt_len, const char *id,
                              size_t id_len);

/* The same in two steps, for whoever has something to do in between: what was just put
 * together byte by byte cannot be read in large pieces at once. Join returns the length, or
 * 0 when it is too long for that. [hot] */
enum { ADP_SPLIT_JOINED = 512 };
size_t adp_split_join(char to[ADP_SPLIT_JOINED], const char *salt, size_t salt_len,
                      const char *id, size_t id_len);
struct adp_split adp_split_joined(const char *joined, size_t len);

/* 53 bits of `bits` as a number in [0, 1). */
double adp_split_unit(uint64_t bits);

#endif
