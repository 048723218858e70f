/* SPDX-License-Identifier: MIT */
/* `disclosure:`: what a log cannot know, written into every line of it. Checked key by
 * key so that a fact never goes missing by a slip of the pen, then kept as JSON as
 * written. */
#include "runtime/config/json.h"
#include "runtime/config/sections.h"

#include <float.h>

/* Only held against their tables; what is kept is the JSON. */
struct facts {
    const char *model, *engine, *hardware, *workload;
    double capacity_rps, unloaded_ttft_ms;
    double kv_capacity_tokens, concurrency, request_tokens;
    double ttft_ms, itl_ms, tpot_ms, total_ms;
};

/* A fact in words. What looks like a number is refused: the JSON would say a number. */
static void read_words(struct adp_doc *doc, const struct adp_key *key,
                       const struct adp_node *value, void *into)
{
    enum adp_scalar_kind kind = adp_node_scalar(value).kind;
    if (kind == ADP_SCALAR_TEXT)
        adp_read_text(doc, key, value, into);
    else
        adp_read_wrong(doc, key, value, "not text");
}

#define TEXT(name)                                                                       \
    {                                                                                    \
        .word = #name, .read = read_words, .at = offsetof(struct facts, name),           \
        .hi = 512,                                                                       \
        .expected = "text of at most 512 bytes, in quotes if it looks like a number"     \
    }
#define NUMBER(name)                                                                     \
    {                                                                                    \
        .word = #name, .read = adp_read_number, .at = offsetof(struct facts, name),      \
        .lo = DBL_MIN, .hi = DBL_MAX, .expected = "a number above 0"                     \
    }

static const struct adp_key slo_keys[] = {
    NUMBER(ttft_ms), NUMBER(itl_ms), NUMBER(tpot_ms), NUMBER(total_ms), { 0 },
};

static const struct adp_key disclosure_keys[] = {
    TEXT(model),
    TEXT(engine),
    TEXT(hardware),
    TEXT(workload),
    { .word = "slo",
      .read = adp_read_mapping,
      .keys = slo_keys,
      .expected = "a mapping such as { ttft_ms: 1500 }" },
    NUMBER(capacity_rps),
    NUMBER(unloaded_ttft_ms),
    NUMBER(kv_capacity_tokens),
    NUMBER(concurrency),
    NUMBER(request_tokens),
    { 0 },
};

void adp_section_disclosure(struct adp_doc *doc, const struct adp_key *key,
                            const struct adp_node *value, void *into)
{
    struct adp_config *config = into;
    struct adp_key mapping = *key;
    struct facts facts = { 0 };
    mapping.keys = disclosure_keys;
    adp_read_mapping(doc, &mapping, value, &facts);
    if (value->kind != ADP_NODE_MAPPING || doc->failed)
        return;
    config->disclosure_json = adp_json_of(doc, value);
    config->has_slo_ttft = facts.ttft_ms > 0.0;
    config->slo_ttft_ms = facts.ttft_ms;
    config->reach = (struct adp_reach) { .capacity_tokens = facts.kv_capacity_tokens,
                                         .concurrency = facts.concurrency,
                                         .request_tokens = facts.request_tokens };
}
