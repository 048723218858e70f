/* SPDX-License-Identifier: MIT */
/* Where the pointers of a mapped policy lead. They come from the file, like all it
 * declares, and following a wild one would end the host.
 *
 *  1. What a policy declares lies in its own file's memory, since nothing else lives as
 *     long as its code: readable segments, each table whole, each text with its end.
 *  2. Its functions lie in code that is mapped, its own or a library's (`.destroy = free`).
 *  3. What a table says is not looked at (check.c), beyond the pointers in its rows. NULL,
 *     and counts above what may be declared, are left to that too. */
#ifndef ADP_RUNTIME_IMAGE_H
#define ADP_RUNTIME_IMAGE_H

#include "core/error.h"

#include <admitperf/policy.h>

/* `entry`: where it is mapped; `policy`: our copy of it, whose sizes are sound. ADP_EABI
 * says which pointer, and where it leads. [any] */
int adp_image_check(const struct adp_policy *entry, const struct adp_policy *policy,
                    const char *path, struct adp_error *err);

#endif
