/* SPDX-License-Identifier: MIT */
/* Rows of the tables a policy declares. */
#include "runtime/loader/table.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* `to` is zeroed by the caller. */
static void row(const void *table, uint16_t size, uint32_t i, void *to, size_t want)
{
    memcpy(to, (const char *)table + (size_t)i * size, size < want ? size : want);
}

struct adp_signal adp_table_signal(const struct adp_policy *policy, uint32_t i)
{
    struct adp_signal signal = { 0 };
    row(policy->signals, policy->signal_size, i, &signal, sizeof signal);
    return signal;
}

struct adp_param adp_table_param(const struct adp_policy *policy, uint32_t i)
{
    struct adp_param param = { 0 };
    row(policy->params, policy->param_size, i, &param, sizeof param);
    return param;
}

struct adp_gate adp_table_gate(const struct adp_policy *policy, uint32_t i)
{
    struct adp_gate gate = { 0 };
    row(policy->gates, policy->gate_size, i, &gate, sizeof gate);
    return gate;
}

struct adp_card adp_table_card(const struct adp_policy *policy)
{
    struct adp_card card = { 0 };
    if (policy->card)
        row(policy->card, policy->card_size, 0, &card, sizeof card);
    return card;
}

void adp_card_texts(const struct adp_card *card, struct adp_card_text ret[ADP_CARD_TEXTS])
{
    const struct adp_card_text texts[] = {
        { "unit", card->unit },
        { "setting", card->setting },
        { "slo_awareness", card->slo_awareness },
        { "signal_quantity", card->signal_quantity },
        { "signal_structure", card->signal_structure },
        { "metadata_assumed", card->metadata_assumed },
        { "portability", card->portability },
        { "source", card->source },
        { "margin_unit", card->margin_unit },
    };
    static_assert(sizeof texts / sizeof texts[0] == ADP_CARD_TEXTS, "every text");
    memcpy(ret, texts, sizeof texts);
}
