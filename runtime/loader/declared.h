/* SPDX-License-Identifier: MIT */
/* What a policy declares, flat, so that one process can look at a file and another speak of it.
 *
 *  1. The record has no pointer that its reader follows and no length that it trusts: what
 *     was written there by anybody else reads as an error or as a declaration.
 *  2. What has been read holds against the whole contract of the loader, names and texts
 *     included: it is asked again (adp_loader_check), as of a policy that was loaded here.
 *  3. No function of the policy can be called through it. That it has a create, a decide or
 *     a save is kept; the others read as if there were none. */
#ifndef ADP_RUNTIME_DECLARED_H
#define ADP_RUNTIME_DECLARED_H

#include "core/error.h"

#include <admitperf/policy.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    /* name, version and doc; name and unit of each signal; name, unit and doc of each
     * parameter; the card's nine: each at most 1,023 bytes, a mark and a NUL */
    ADP_DECLARED_ROOM =
        (3 + 2 * (int)ADP_MAX_SIGNALS + 3 * (int)ADP_MAX_PARAMS + 9) * 1025
};

struct adp_declared {
    struct adp_policy policy;
    struct adp_signal signals[ADP_MAX_SIGNALS];
    struct adp_param params[ADP_MAX_PARAMS];
    struct adp_gate gates[ADP_MAX_GATES];
    struct adp_card card;
    char texts[ADP_DECLARED_ROOM]; /* in the order of each_text, a mark before each */
};

/* `policy`: a loaded one's (loader.h). False: there is not room for its texts, which cannot
 * be with one that was loaded. */
bool adp_declared_write(struct adp_declared *to, const struct adp_policy *policy);

/* Makes `declared`, which nobody else may write to any more, a policy of this process: the
 * tables and texts of declared->policy lie in it from here on. Only once. ADP_EABI: it is no
 * record, or declares what the loader refuses; it is not to be read then. `path`: for the
 * error. [any] */
int adp_declared_read(struct adp_declared *declared, const char *path,
                      struct adp_error *err);

#endif
