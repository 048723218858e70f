/* SPDX-License-Identifier: MIT */
/* Parameters as written, held against the schema a policy declares. */
#ifndef ADP_RUNTIME_HOST_PARAMS_H
#define ADP_RUNTIME_HOST_PARAMS_H

#include "runtime/config/config.h"
#include "runtime/loader/loader.h"

struct adp_params {
    uint32_t n;
    double value[ADP_MAX_PARAMS];
    enum adp_provenance provenance[ADP_MAX_PARAMS];
};

/* Fills `ret` from the settings and the schema's defaults. Every mistake goes into
 * `errors`: unknown name (with the nearest), missing, wrong type, not integral, out of
 * range. False when there was one. [control] */
bool adp_params_resolve(const struct adp_policy_setting *setting,
                        const struct adp_loaded *loaded, const char *file,
                        struct adp_params *ret, struct adp_errors *errors);

#endif
