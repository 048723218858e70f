/* SPDX-License-Identifier: MIT */
/* The account of a page: what it can feed, from where, and what it lacks; and without a
 * page, what could be fed. For people, or one object for machines. */
#ifndef ADP_ANALYSIS_ACCOUNT_H
#define ADP_ANALYSIS_ACCOUNT_H

#include "core/line.h"
#include "core/signal.h"

#include <stdio.h>

struct adp_account {
    const struct adp_signals *set;
    const struct adp_metrics *page;
    const char *name;              /* of the page */
    bool twice;                    /* counters were compared with an earlier page */
    uint32_t bad_lines, cut_lines; /* of all pages read: not read; left out at an end */
    uint32_t duplicates;           /* of their series, whose last value was taken */
    struct adp_reading reading[ADP_MAX_KNOWN]; /* by index in the set */
};

void adp_account_print(const struct adp_account *account, FILE *to);
/* ADP_ENOMEM: nothing was written. */
int adp_account_json(const struct adp_account *account, FILE *to);

/* The sources that supplied a reading, "a and b": several only of a pool, of which each target
 * takes its own. For people; and for machines as the key "source", null where none did. */
void adp_account_put_sources(FILE *to, const struct adp_signals *set, uint32_t signal,
                             const struct adp_reading *reading);
void adp_account_key_sources(struct adp_line *to, const struct adp_signals *set,
                             uint32_t signal, const struct adp_reading *reading);

/* The signals themselves. */
void adp_account_print_set(const struct adp_signals *set, FILE *to);
int adp_account_set_json(const struct adp_signals *set, FILE *to);

#endif
