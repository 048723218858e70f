/* SPDX-License-Identifier: MIT */
/* adp_loader_bind: a policy's signals found in the set that the configuration built. */
#include "runtime/loader/loader.h"

#include <string.h>

static int bind_one(const struct adp_loaded *loaded, const struct adp_signals *set,
                    uint32_t i, uint32_t *ret, struct adp_error *err)
{
    struct adp_signal s = adp_loaded_signal(loaded, i);
    int at = adp_signals_find(set, s.name);
    if (at < 0) {
        const char *nearest = adp_error_nearest(s.name, adp_signals_names(set));
        return adp_error_at(err, ADP_EABI, loaded->path, 0, 0,
                            "reads signal \"%s\", which is neither shipped nor declared"
                            "%s%s%s",
                            s.name, nearest ? "; nearest is \"" : "",
                            nearest ? nearest : "", nearest ? "\"" : "");
    }
    const char *unit = adp_signals_unit(set, (uint32_t)at);
    if (strcmp(unit, s.unit) != 0)
        return adp_error_at(err, ADP_EABI, loaded->path, 0, 0,
                            "reads signal \"%s\" in \"%.64s\", it is declared in \"%s\"",
                            s.name, s.unit, unit);
    *ret = (uint32_t)at;
    return 0;
}

int adp_loader_bind(const struct adp_loaded *loaded, const struct adp_signals *set,
                    uint32_t slot_of[ADP_MAX_SIGNALS], struct adp_error *err)
{
    uint32_t found[ADP_MAX_SIGNALS];
    uint32_t n = loaded->policy.n_signals;
    for (uint32_t i = 0; i < n; i++) {
        int r = bind_one(loaded, set, i, &found[i], err);
        if (r < 0)
            return r;
    }
    if (n)
        memcpy(slot_of, found, n * sizeof found[0]);
    return 0;
}
