/* SPDX-License-Identifier: MIT */
/* The entry object of a policy: which major of the ABI a file speaks, and whether this
 * host can read the head it declares. Asked of the bytes before they are mapped, and of
 * the mapped object again. */
#ifndef ADP_RUNTIME_ENTRY_H
#define ADP_RUNTIME_ENTRY_H

#include "core/error.h"

#include <admitperf/policy.h>
#include <stddef.h>
#include <stdint.h>

/* Finds admitperf_policy_v1 among the exported names of an ELF file and holds its head
 * against this host. ADP_EABI: no ELF file for this machine, another major (names those
 * found), no entry (names what looks like one), or a head that is refused. *ret_room:
 * bytes that the object has, by its symbol. [any] */
int adp_entry_examine(const uint8_t *bytes, size_t len, const char *path,
                      uint64_t *ret_room, struct adp_error *err);

/* Magic, size, minor and element sizes. Reads the integers of the head only, no pointer.
 * `room`: bytes that the object has. ADP_EABI. [any] */
int adp_entry_check_head(const struct adp_policy *head, uint64_t room, const char *path,
                         struct adp_error *err);

#endif
