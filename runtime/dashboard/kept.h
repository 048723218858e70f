/* SPDX-License-Identifier: MIT */
/* Answers that were made, by what was asked, each with a print of all logs that making it read:
 * another print, and it is made anew. The last sixteen. [any]: a lock of its own guards all. */
#ifndef ADP_DASHBOARD_KEPT_H
#define ADP_DASHBOARD_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adp_kept; /* opaque */

/* NULL: out of memory. */
struct adp_kept *adp_kept_create(void);
void adp_kept_destroy(struct adp_kept *kept);

/* A copy of the answer, the caller's to free. False: there is none, or no memory for it. */
bool adp_kept_find(struct adp_kept *kept, const char *asked, uint64_t print, char **ret,
                   size_t *ret_len);
/* Keeps a copy in place of the oldest; nothing when memory is short. */
void adp_kept_add(struct adp_kept *kept, const char *asked, uint64_t print,
                  const char *body, size_t len);

#endif
