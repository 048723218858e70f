/* SPDX-License-Identifier: MIT */
/* The parts of the file, one .c each. All are readers as read.h's tables call them,
 * into a struct adp_config. */
#ifndef ADP_RUNTIME_CONFIG_SECTIONS_H
#define ADP_RUNTIME_CONFIG_SECTIONS_H

#include "runtime/config/read.h"

void adp_section_disclosure(struct adp_doc *, const struct adp_key *,
                            const struct adp_node *, void *into);
void adp_section_log(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                     void *into);
void adp_section_scrape(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                        void *into);
void adp_section_serve(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                       void *into);
/* policies[0], and the ones after it; the array holds ADP_CONFIG_MAX_POLICIES. */
void adp_section_policy(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                        void *into);
void adp_section_shadow(struct adp_doc *, const struct adp_key *, const struct adp_node *,
                        void *into);
/* Into config->signals, which exists. */
void adp_section_signals(struct adp_doc *, const struct adp_key *,
                         const struct adp_node *, void *into);
void adp_section_aliases(struct adp_doc *, const struct adp_key *,
                         const struct adp_node *, void *into);

#endif
