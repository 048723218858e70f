/* SPDX-License-Identifier: MIT */
/* The last quarter of an hour of somebody who is followed: what his counters and signals were.
 *
 *  1. A moment without a page is a gap: no rate reaches over it, and nothing is carried on.
 *  2. Counters that go back began anew: no growth is told across that. */
#ifndef ADP_DASHBOARD_PAST_H
#define ADP_DASHBOARD_PAST_H

#include "runtime/dashboard/stand.h"

enum { ADP_PAST_MOMENTS = 900 };

struct adp_past; /* opaque; one thread at a time */

/* Growth between two moments. */
struct adp_growth {
    double s; /* how far they are apart; above 0 */
    double decisions, refused, faults;
};

/* NULL: out of memory. */
struct adp_past *adp_past_create(void);
void adp_past_destroy(struct adp_past *past);

/* A moment, later than those before; `stand` NULL: no page came. `at`: seconds since the epoch. */
void adp_past_add(struct adp_past *past, double at, const struct adp_stand *stand);
/* Growth from the oldest moment within `within_s` of the newest to the newest, if no gap lies
 * between. False: there is none. */
bool adp_past_growth(const struct adp_past *past, double within_s,
                     struct adp_growth *ret);
/* {"signals": [NAME…], "moments": [[at, decisions/s, refused/s, SIGNAL…]…]}, null where nothing is
 * known. */
void adp_past_write(const struct adp_past *past, struct adp_line *to);
/* The newest: {"per_s", "refused_per_s", "signals": {NAME: value}}. */
void adp_past_write_last(const struct adp_past *past, struct adp_line *to);

#endif
