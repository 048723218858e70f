/* SPDX-License-Identifier: MIT */
/* The wire that is libcurl: one GET per asking, bounded in time and bytes, and every way
 * it can fail under its own word. */
#ifndef ADP_SCRAPE_FETCH_H
#define ADP_SCRAPE_FETCH_H

#include "runtime/scrape/scrape.h"

struct adp_fetch;

/* `targets`, `at`: n of each, borrowed for its life. ADP_ENOMEM, ADP_EIO. [control] */
int adp_fetch_create(struct adp_fetch **ret, const struct adp_scrape_target *targets,
                     const struct adp_address *at, uint32_t n, struct adp_error *err);
void adp_fetch_destroy(struct adp_fetch *fetch);
/* Borrowed for its life. */
const struct adp_wire *adp_fetch_wire(const struct adp_fetch *fetch);

#endif
