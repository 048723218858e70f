/* SPDX-License-Identifier: MIT */
/* The dashboard: the logs below the current folder, and who is followed, to browsers on this
 * machine.
 *
 *   create ─► follow… ─► run ─► destroy
 *                          └─ stop
 *
 *  1. It listens on loopback alone and answers only to a Host that is this machine by number or
 *     as localhost: a name that somebody else's server resolves to 127.0.0.1 (rebinding) gets
 *     nothing. There are no passwords, for there is nobody else.
 *  2. It writes nothing, and takes no other method than GET and HEAD.
 *  3. A path in a request must lead, links followed, below the folder.
 *  4. Nobody is asked for a page of metrics but those it was told to follow: no request names an
 *     address.
 *  5. Figures are those of `--json`, from the same functions; docs/dashboard.md has the
 *     endpoints. An answer is kept until a log that it was made from has changed. */
#ifndef ADP_DASHBOARD_SERVE_H
#define ADP_DASHBOARD_SERVE_H

#include <admitperf/error.h>

struct adp_scrape_target; /* runtime/scrape/scrape.h */

enum { ADP_DASHBOARD_LIVE = 8 }; /* whom one dashboard can follow */

struct adp_dashboard; /* opaque */

/* Listens on ADDRESS (runtime/http/listen.h), which must be one of loopback. ADP_EINVAL: it is
 * not; ADP_EIO: it cannot be listened on, or the folder not be read; ADP_ENOMEM. [control] */
int adp_dashboard_create(struct adp_dashboard **ret, const char *address,
                         struct adp_error *err);
/* Follows a sidecar or an engine from now on; the strings of `target` are borrowed for the life
 * of the dashboard, its times may be 0. ADP_EINVAL: no address; ADP_EFULL; ADP_EIO; ADP_ENOMEM.
 * [control], before it runs */
int adp_dashboard_follow(struct adp_dashboard *dashboard,
                         const struct adp_scrape_target *target, struct adp_error *err);
/* "http://127.0.0.1:9410/". Valid as long as the dashboard. */
const char *adp_dashboard_url(const struct adp_dashboard *dashboard);
/* Serves until stopped. [control] */
void adp_dashboard_run(struct adp_dashboard *dashboard);
/* Makes run return, soon. [any], also from a signal handler */
void adp_dashboard_stop(struct adp_dashboard *dashboard);
void adp_dashboard_destroy(struct adp_dashboard *dashboard);

#endif
