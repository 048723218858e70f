/* SPDX-License-Identifier: MIT */
/* The texts that lines share (words.h). */
#include "runtime/host/words.h"

#include "core/write.h"
#include "runtime/loader/table.h"

#include <stdio.h>
#include <string.h>

/* Takes what `line` holds as one text of the packed list, and empties it. */
static void pack(struct adp_line *packed, struct adp_line *line)
{
    if (line->broken)
        packed->broken = true;
    adp_words_add(packed, line->text, line->len);
    adp_line_clear(line);
}

static void put_identity(struct adp_line *to, const struct adp_config *config)
{
    adp_line_puts(to, "\"experiment\":");
    adp_line_string_or_null(to, config->experiment);
    adp_line_key_text(to, "run", config->run);
    adp_line_key_text(to, "notes", config->notes);
}

static void put_tail(struct adp_line *to, const struct adp_config *config, uint64_t hash,
                     bool watched)
{
    char text[24];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    adp_line_puts(to, "\"v\":1");
    adp_line_key_text(to, "config", text);
    if (config->disclosure_json) {
        adp_line_key(to, "disclosure");
        adp_line_puts(to, config->disclosure_json);
    }
    if (watched)
        adp_line_puts(to, ",\"watch\":true");
}

static void put_policy(struct adp_line *to, const struct adp_loaded *loaded)
{
    adp_line_puts(to, "\"policy\":");
    adp_line_string_or_null(to, loaded->policy.name);
    adp_line_key_bool(to, "baseline", loaded->baseline);
}

static void put_params(struct adp_line *to, const struct adp_loaded *loaded,
                       const struct adp_params *params)
{
    adp_line_puts(to, "\"params\":{");
    for (uint32_t i = 0; i < params->n; i++)
        adp_line_key_number(to, adp_loaded_param(loaded, i).name, params->value[i]);
    adp_line_puts(to, "}");
    adp_line_key(to, "provenance");
    adp_line_puts(to, "{");
    for (uint32_t i = 0; i < params->n; i++)
        adp_line_key_text(to, adp_loaded_param(loaded, i).name,
                          adp_provenance_word(params->provenance[i]));
    adp_line_puts(to, "}");
}

const char *adp_host_op_word(uint32_t op)
{
    static const char *const words[] = {
        [ADP_GE] = ">=", [ADP_GT] = ">", [ADP_LE] = "<=", [ADP_LT] = "<"
    };
    return op >= ADP_GE && op <= ADP_LT ? words[op] : "?";
}

static void put_gates(struct adp_line *to, const struct adp_loaded *loaded,
                      const struct adp_signals *signals, const uint32_t *slot_of)
{
    adp_line_key(to, "gates");
    adp_line_puts(to, "[");
    for (uint32_t i = 0; i < loaded->policy.n_gates; i++) {
        struct adp_gate g = adp_loaded_gate(loaded, i);
        adp_line_puts(to, i ? ",{" : "{");
        adp_line_key_u64(to, "rule", g.rule);
        adp_line_key_text(to, "signal", adp_signals_name(signals, slot_of[g.signal]));
        adp_line_key_text(to, "op", adp_host_op_word(g.op));
        adp_line_key_text(to, "param",
                          g.param == ADP_NONE ? NULL
                                              : adp_loaded_param(loaded, g.param).name);
        adp_line_puts(to, "}");
    }
    adp_line_puts(to, "]");
}

static void put_card(struct adp_line *to, const struct adp_loaded *loaded,
                     const struct adp_signals *signals, const uint32_t *slot_of)
{
    struct adp_card card = adp_loaded_card(loaded);
    struct adp_card_text words[ADP_CARD_TEXTS];
    adp_card_texts(&card, words);
    adp_line_key(to, "card");
    adp_line_puts(to, "{");
    for (size_t i = 0; i < ADP_CARD_TEXTS; i++)
        adp_line_key_text(to, words[i].key, words[i].text);
    put_gates(to, loaded, signals, slot_of);
    adp_line_puts(to, "}");
}

static void pack_signals(struct adp_line *packed, struct adp_line *line,
                         const struct adp_signals *signals,
                         const struct adp_supply *supply, uint32_t n_supply)
{
    for (uint32_t i = 0; i < adp_signals_count(signals); i++) {
        adp_line_string_or_null(line, adp_signals_name(signals, i));
        adp_line_puts(line, ":");
        pack(packed, line);
        uint32_t n = adp_signals_sources(signals, i);
        bool supplied = false;
        for (uint32_t k = 0; k < n_supply; k++)
            supplied |= supply[k].signal == i;
        adp_words_add_count(packed, n + supplied);
        for (uint32_t s = 0; s < n; s++) {
            adp_line_string_or_null(
                line, adp_expr_text(adp_signals_source(signals, i, s, NULL)));
            pack(packed, line);
        }
        if (supplied) {
            adp_line_string_or_null(line, "host function");
            pack(packed, line);
        }
    }
}

int adp_host_words(struct adp_line *packed, const struct adp_edition *e,
                   const struct adp_host_scene *scene)
{
    const struct adp_config *config = e->config;
    struct adp_line line;
    adp_line_init(&line);
    put_identity(&line, config);
    pack(packed, &line);
    put_tail(&line, config, e->hash, scene && scene->watched);
    pack(packed, &line);
    for (uint32_t i = 0; i < config->n_policies; i++) {
        uint32_t slot_of[ADP_MAX_SIGNALS];
        adp_loader_bind(e->loaded[i], config->signals, slot_of, NULL);
        if (scene && scene->undecided)
            adp_line_puts(&line, "\"policy\":null,\"baseline\":false");
        else
            put_policy(&line, e->loaded[i]);
        pack(packed, &line);
        put_params(&line, e->loaded[i], &e->params[i]);
        put_card(&line, e->loaded[i], config->signals, slot_of);
        pack(packed, &line);
    }
    pack_signals(packed, &line, config->signals, e->supply, e->n_supply);
    adp_line_finish(&line);
    return packed->broken ? ADP_ENOMEM : 0;
}
