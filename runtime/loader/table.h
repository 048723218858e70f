/* SPDX-License-Identifier: MIT */
/* Rows of the tables a policy declares, whatever size its compiler gave them. */
#ifndef ADP_RUNTIME_TABLE_H
#define ADP_RUNTIME_TABLE_H

#include <admitperf/policy.h>

/* Row i as this host knows it: fields newer than the policy read as 0, fields newer than
 * the host are left out. `i` is below the declared count. [any] */
struct adp_signal adp_table_signal(const struct adp_policy *policy, uint32_t i);
struct adp_param adp_table_param(const struct adp_policy *policy, uint32_t i);
struct adp_gate adp_table_gate(const struct adp_policy *policy, uint32_t i);
/* All zero where the policy has none. */
struct adp_card adp_table_card(const struct adp_policy *policy);

enum { ADP_CARD_TEXTS = 9 };

struct adp_card_text {
    const char *key; /* the field's name, also in logs and JSON */
    const char *text;
};

/* The card's texts in the order of policy.h; NULL where it says nothing. They are the
 * policy's own. [any] */
void adp_card_texts(const struct adp_card *card,
                    struct adp_card_text ret[ADP_CARD_TEXTS]);

#endif
