/* SPDX-License-Identifier: MIT */
/* The seven reporting items of the survey, each with the fact it rests on.
 *
 * An item is evidenced by what the log says, never by the presence of something that could
 * say it; failed when the log says the opposite; and otherwise not recorded. */
#ifndef ADP_ANALYSIS_ITEMS_H
#define ADP_ANALYSIS_ITEMS_H

#include "runtime/analysis/tally.h"

enum adp_evidence { ADP_ITEM_NOT_RECORDED, ADP_ITEM_EVIDENCED, ADP_ITEM_FAILED };

enum { ADP_ITEMS = 7, ADP_ITEM_FACTS = 8 };

struct adp_item {
    const char *title;
    enum adp_evidence evidence;
    char fact[256]; /* what it rests on, or what is missing */
    struct adp_item_fact {
        const char *name;
        bool recorded;
        char fact[256];
    } facts
        [ADP_ITEM_FACTS]; /* of the last item, and of the fifth: one for each parameter */
    size_t n_facts;
};

/* The items of one run; other runs of the tally are its repeats and baseline. */
void adp_items_of(const struct adp_tally *tally, const struct adp_run *run,
                  struct adp_item items[ADP_ITEMS]);

/* "evidenced", "failed", "not_recorded"; and "✓", "✗", "—". */
const char *adp_evidence_word(enum adp_evidence evidence);
const char *adp_evidence_mark(enum adp_evidence evidence);

#endif
