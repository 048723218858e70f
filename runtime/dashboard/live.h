/* SPDX-License-Identifier: MIT */
/* Somebody who is followed: a sidecar, or an engine. A thread of its own asks for his page of
 * metrics each second and makes events of it, for whoever looks.
 *
 *  1. He is asked once a second, however many look, also while nobody does: who comes later sees
 *     the minutes before.
 *  2. What is not there is told as that. A page that cannot be had makes no event that holds
 *     figures; the last one stays, with its age.
 *  3. Events are whole texts of server-sent events: "past", "page", "down" (docs/dashboard.md).
 *     Only the newest is ever waiting. */
#ifndef ADP_DASHBOARD_LIVE_H
#define ADP_DASHBOARD_LIVE_H

#include "core/error.h"
#include "core/line.h"
#include "runtime/scrape/scrape.h"

struct adp_live; /* opaque */

/* `target`: its strings are borrowed for the life of this; times in it may be 0. `fd`: an eventfd
 * that is written when there is something new; borrowed. ADP_EINVAL: no address; ADP_EIO;
 * ADP_ENOMEM. [control] */
int adp_live_create(struct adp_live **ret, const struct adp_scrape_target *target, int fd,
                    struct adp_error *err);
/* [control] */
void adp_live_destroy(struct adp_live *live);

/* His address, without what may be secret. Borrowed for its life. */
const char *adp_live_name(const struct adp_live *live);
/* For who begins to look: what was, and how it stands. `ret_serial`: of the last event in it. */
void adp_live_begin(struct adp_live *live, struct adp_line *to, uint64_t *ret_serial);
/* The newest event, if it is newer than *serial, which becomes its. False: it is not. */
bool adp_live_newest(struct adp_live *live, struct adp_line *to, uint64_t *serial);
/* What his newest page supplies, as `signals --json`. False: none has come. */
bool adp_live_account(struct adp_live *live, struct adp_line *to);

#endif
