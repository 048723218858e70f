/* SPDX-License-Identifier: MIT */
/* Thresholds out of reach (reach.h): said when a configuration is loaded, since a run
 * under such a one shows nothing but that. */
#include "runtime/host/reach.h"

#include "runtime/host/words.h"

#include <stdio.h>
#include <string.h>

bool adp_host_out_of_reach(const struct adp_reach *reach, const char *signal,
                           const char *op, double threshold, char to[ADP_REACH_WORDS])
{
    if (op[0] != '>' || strcmp(signal, "kv_pressure") != 0 || !adp_reach_known(reach))
        return false;
    char why[ADP_REACH_WHY];
    bool strict = op[1] != '=';
    if (!adp_reach_is_short_of(reach, threshold, strict))
        return false;
    adp_reach_why(reach, threshold, strict, why);
    snprintf(to, ADP_REACH_WORDS, "kv_pressure cannot %s %.6g: %s",
             strict ? "exceed" : "reach", threshold, why);
    return true;
}

static void note_gate(const struct adp_config *c, uint32_t policy,
                      const struct adp_loaded *loaded, struct adp_gate gate,
                      double threshold, adp_errors *errors)
{
    char words[ADP_REACH_WORDS];
    const char *declared = adp_loaded_signal(loaded, gate.signal).name;
    int signal = adp_signals_find(c->signals, declared);
    if (signal >= 0 &&
        adp_host_out_of_reach(&c->reach, adp_signals_name(c->signals, (uint32_t)signal),
                              adp_host_op_word(gate.op), threshold, words))
        adp_errors_add(errors, ADP_NOTE, c->file, c->policies[policy].place,
                       "policy %s: %s", loaded->policy.name, words);
}

void adp_host_note_reach(const struct adp_config *config,
                         struct adp_loaded *const *loaded,
                         const struct adp_params *params, adp_errors *errors)
{
    for (uint32_t i = 0; i < config->n_policies; i++)
        for (uint32_t g = 0; g < loaded[i]->policy.n_gates; g++) {
            struct adp_gate gate = adp_loaded_gate(loaded[i], g);
            if (gate.param != ADP_NONE)
                note_gate(config, i, loaded[i], gate, params[i].value[gate.param],
                          errors);
        }
}
