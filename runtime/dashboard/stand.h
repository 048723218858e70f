/* SPDX-License-Identifier: MIT */
/* How somebody stands, by the page of metrics that he shows: a sidecar of ours (docs/serving.md),
 * or an engine, of which the signals are known that its page supplies.
 *
 * Absence is never zero: what a page does not have is null. */
#ifndef ADP_DASHBOARD_STAND_H
#define ADP_DASHBOARD_STAND_H

#include "core/line.h"
#include "core/metrics.h"
#include "core/signal.h"

struct adp_account;

struct adp_stand {
    bool sidecar;
    /* Of governing policies, since the process began; NaN: of no sidecar. */
    double decisions, refused, faults;
    uint32_t n_signals;
    struct adp_stand_signal {
        struct adp_str name, unit, why; /* why: it is absent; else empty */
        double value, age_s;            /* NaN: absent, not known */
    } signal[ADP_MAX_KNOWN];
};

/* Of the account's page. Borrowed from it, until it is read anew. */
void adp_stand_read(const struct adp_account *account, struct adp_stand *ret);
/* Members of an object, with a comma before the first: docs/dashboard.md, "Live". */
void adp_stand_write(const struct adp_account *account, const struct adp_stand *stand,
                     struct adp_line *to);

#endif
