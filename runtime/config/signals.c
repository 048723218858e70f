/* SPDX-License-Identifier: MIT */
/* `signals:` and `aliases:`: the deployment's own sources and names, into the set.
 *
 * A signal that is wrong in some part is declared all the same, so that what refers to it
 * is not told to be unknown as well. */
#include "core/error.h"
#include "runtime/config/sections.h"

#include <math.h>
#include <string.h>

/* Of signals declared here without one: as that of the shipped gauges. */
#define DECLARED_MAX_AGE_NS 5000000000u

/* One entry of `signals:` as written. */
struct entry {
    const char *name;
    struct adp_place at; /* of the name */
    const char *unit;
    uint64_t max_age_ns; /* 0: not written */
    double lo, hi;
    enum adp_aggregate aggregate;
    const struct adp_node *sources; /* or NULL */
};

#define SOURCES "a list such as [{ metric: NAME }, { expr: A / B }]"

/* One source as written. */
struct written_source {
    const struct adp_node *metric, *expr; /* or NULL */
    enum adp_aggregate aggregate;
};

/* ---- the values of an entry ---- */

static void read_aggregate(struct adp_doc *doc, const struct adp_key *key,
                           const struct adp_node *value, void *into)
{
    const char *words[ADP_AGG_ONLY + 1] = { NULL };
    for (int i = ADP_AGG_NONE + 1; i <= ADP_AGG_ONLY; i++)
        words[i - 1] = adp_aggregate_word((enum adp_aggregate)i);
    int i = adp_read_choice(doc, key, value, words);
    if (i >= 0)
        *(enum adp_aggregate *)((char *)into + key->at) = (enum adp_aggregate)(i + 1);
}

/* A bound of a range: a number, or .inf. */
static bool read_bound(struct adp_doc *doc, const struct adp_key *key,
                       const struct adp_node *value, double *ret)
{
    struct adp_scalar scalar = adp_node_scalar(value);
    bool good = scalar.kind == ADP_SCALAR_INTEGER || scalar.kind == ADP_SCALAR_NUMBER ||
                (scalar.kind == ADP_SCALAR_NOT_FINITE && isinf(scalar.value) &&
                 strpbrk(value->text, "nN")); /* not 1e999 */
    if (good)
        *ret = scalar.value;
    else if (value->kind != ADP_NODE_BROKEN)
        adp_doc_error(
            doc, ADP_EINVAL, value->at,
            "a bound of %s is not a number, found %s, expected a number, .inf or "
            "-.inf",
            key->word, adp_phrase_found(value).text);
    return good;
}

static void read_range(struct adp_doc *doc, const struct adp_key *key,
                       const struct adp_node *value, void *into)
{
    struct entry *entry = into;
    double lo = 0.0, hi = 0.0;
    if (!adp_read_is(doc, key, value, ADP_NODE_LIST))
        return;
    if (value->n_items != 2) {
        if (!value->open)
            adp_doc_error(doc, ADP_EINVAL, value->at,
                          "%s is not a pair, found %u values, expected %s", key->word,
                          value->n_items, key->expected);
        return;
    }
    const struct adp_node *first = value->items->value,
                          *second = value->items->next->value;
    bool has_lo = read_bound(doc, key, first, &lo);
    bool has_hi = read_bound(doc, key, second, &hi);
    if (!has_lo || !has_hi)
        return;
    if (lo > hi || lo == HUGE_VAL || hi == -HUGE_VAL) {
        adp_doc_error(doc, ADP_EINVAL, value->at,
                      "%s is empty, found [%.16s, %.16s], expected the lower bound first",
                      key->word, first->text, second->text);
        return;
    }
    entry->lo = lo;
    entry->hi = hi;
}

static const struct adp_key entry_keys[] = {
    { .word = "max_age",
      .read = adp_read_duration,
      .at = offsetof(struct entry, max_age_ns),
      .lo = 1e6,
      .hi = 86400e9,
      .expected = "a duration from 1ms to 1d, such as 5s" },
    { .word = "unit",
      .read = adp_read_text,
      .at = offsetof(struct entry, unit),
      .hi = 63,
      .expected = "a word such as ratio, of at most 63 bytes" },
    { .word = "range", .read = read_range, .expected = "two numbers such as [0, 1]" },
    { .word = "aggregate",
      .read = read_aggregate,
      .at = offsetof(struct entry, aggregate) },
    { .word = "sources",
      .read = adp_read_node,
      .at = offsetof(struct entry, sources),
      .expected = SOURCES },
    { 0 },
};

/* ---- sources ---- */

static const struct adp_key source_keys[] = {
    { .word = "metric",
      .read = adp_read_node,
      .at = offsetof(struct written_source, metric),
      .expected = "the name of a metric" },
    { .word = "expr",
      .read = adp_read_node,
      .at = offsetof(struct written_source, expr),
      .expected = "an expression such as used / total" },
    { .word = "aggregate",
      .read = read_aggregate,
      .at = offsetof(struct written_source, aggregate) },
    { 0 },
};

/* Compiles one source; its mistakes are told where they stand inside the text. */
static struct adp_expr *compile(struct adp_doc *doc, const struct written_source *written)
{
    const struct adp_key *key = &source_keys[written->metric ? 0 : 1];
    const struct adp_node *value = written->metric ? written->metric : written->expr;
    if (!adp_read_is(doc, key, value, ADP_NODE_SCALAR))
        return NULL;
    struct adp_expr *expr = NULL;
    struct adp_error err = { 0 };
    /* Messages name columns of their own ("the quote of column 9"): given where the text
     * stands in its line, they are the file's. */
    uint32_t base = value->text_column ? value->text_column : 1;
    int code = written->metric ? adp_expr_compile_metric(&expr, value->text, doc->file,
                                                         value->at.line, base, &err)
                               : adp_expr_compile(&expr, value->text, doc->file,
                                                  value->at.line, base, &err);
    size_t offset = err.column > base ? err.column - base : 0, len = strlen(value->text);
    struct adp_place at = adp_node_place_in(value, offset < len ? offset : len);
    return adp_doc_passes(doc, code, at, &err) ? expr : NULL;
}

static void read_source(struct adp_doc *doc, const struct adp_node *value,
                        const struct entry *entry, struct adp_signals *set, int signal)
{
    static const struct adp_key key = { .word = "a source",
                                        .keys = source_keys,
                                        .expected =
                                            "{ metric: NAME } or { expr: A / B }" };
    struct written_source written = { .aggregate = entry->aggregate };
    adp_read_mapping(doc, &key, value, &written);
    if (value->kind != ADP_NODE_MAPPING)
        return;
    if (written.metric && written.expr) {
        adp_doc_error(doc, ADP_EINVAL, value->at,
                      "a source has both metric and expr, expected one of them");
        return;
    }
    if (!written.metric && !written.expr) {
        if (!value->open && !adp_read_item(doc, source_keys, value, "metric") &&
            !adp_read_item(doc, source_keys, value, "expr"))
            adp_doc_error(doc, ADP_EINVAL, value->at,
                          "a source has neither metric nor expr, expected %s",
                          key.expected);
        return;
    }
    struct adp_expr *expr = compile(doc, &written);
    if (!expr || signal < 0) {
        adp_expr_destroy(expr);
        return;
    }
    struct adp_error err = { 0 };
    int code =
        adp_signals_source_take(set, (uint32_t)signal, expr, written.aggregate, &err);
    adp_doc_passes(doc, code, value->at, &err);
}

static void read_sources(struct adp_doc *doc, const struct entry *entry,
                         struct adp_signals *set, int signal)
{
    static const struct adp_key key = { .word = "sources", .expected = SOURCES };
    if (!adp_read_is(doc, &key, entry->sources, ADP_NODE_LIST))
        return;
    for (const struct adp_item *i = entry->sources->items; i; i = i->next)
        read_source(doc, i->value, entry, set, signal);
}

/* ---- an entry ---- */

static const struct adp_item *item_of(struct adp_doc *doc, const struct adp_node *value,
                                      const char *word)
{
    return adp_read_item(doc, entry_keys, value, word);
}

static uint64_t shortest_interval(const struct adp_config *config)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < config->n_scrape; i++)
        if (config->scrape[i].interval_ns < least)
            least = config->scrape[i].interval_ns;
    return config->n_scrape ? least : 0;
}

/* A reading that is too old before the next scrape brings another would be absent most of
 * the time, and a policy that reads it would admit everything meanwhile. */
static void check_max_age(struct adp_doc *doc, const struct adp_config *config,
                          const struct entry *entry, const struct adp_node *value)
{
    uint64_t interval = shortest_interval(config);
    uint64_t age = entry->max_age_ns ? entry->max_age_ns : DECLARED_MAX_AGE_NS;
    const struct adp_item *written = item_of(doc, value, "max_age");
    if (age >= interval || (written && !entry->max_age_ns))
        return;
    adp_doc_error(doc, ADP_EINVAL, written ? written->value->at : entry->at,
                  "max_age of %.63s is below the shortest scrape interval, found %gs%s, "
                  "expected at least %gs",
                  entry->name, (double)age / 1e9, written ? "" : " (when not written)",
                  (double)interval / 1e9);
}

/* Unit and range of a shipped signal are part of what its name means. */
static void refuse_shipped(struct adp_doc *doc, const struct entry *entry,
                           const struct adp_node *value, const char *word)
{
    const struct adp_item *item = item_of(doc, value, word);
    if (item)
        adp_doc_error(doc, ADP_EINVAL, item->key->at,
                      "%s of the shipped signal %.63s cannot be changed, expected a "
                      "signal of another name",
                      word, entry->name);
}

static void require_new(struct adp_doc *doc, const struct entry *entry,
                        const struct adp_node *value, const char *word,
                        const char *example)
{
    if (!value->open && !item_of(doc, value, word))
        adp_doc_error(doc, ADP_EINVAL, entry->at,
                      "no %s in the new signal %.63s, expected %s", word, entry->name,
                      example);
}

/* Index of the new signal in the set, or -1. */
static int declare(struct adp_doc *doc, const struct entry *entry,
                   struct adp_signals *set)
{
    uint32_t index;
    struct adp_error err = { 0 };
    int code = adp_signals_add(
        set, entry->name, entry->unit ? entry->unit : "?", entry->lo, entry->hi,
        entry->max_age_ns ? entry->max_age_ns : DECLARED_MAX_AGE_NS, &index, &err);
    if (code == ADP_EFULL) {
        uint32_t n_shipped;
        adp_dictionary(&n_shipped);
        adp_doc_error(doc, code, entry->at,
                      "signal %.63s is one more than the %u new ones that can be "
                      "declared: %u are known in all, the %u shipped ones among them",
                      entry->name, ADP_MAX_KNOWN - n_shipped, ADP_MAX_KNOWN, n_shipped);
        return -1;
    }
    return adp_doc_passes(doc, code, entry->at, &err) ? (int)index : -1;
}

static void check_new(struct adp_doc *doc, const struct entry *entry,
                      const struct adp_node *value, const struct adp_signals *set)
{
    bool bare = entry->sources && !value->open && !item_of(doc, value, "unit") &&
                !item_of(doc, value, "range");
    const char *near = bare && !adp_doc_is_full(doc)
                           ? adp_error_nearest(entry->name, adp_signals_names(set))
                           : NULL;
    if (near) {
        adp_doc_error(doc, ADP_EINVAL, entry->at,
                      "unknown signal, found \"%.63s\", expected \"%s\" (a new signal "
                      "needs unit, range and sources)",
                      entry->name, near);
        return;
    }
    require_new(doc, entry, value, "unit", "unit: such as celsius");
    require_new(doc, entry, value, "range", "range: such as [0, 120] or [0, .inf]");
    require_new(doc, entry, value, "sources", "sources: with at least one");
    const struct adp_node *sources = entry->sources;
    if (sources && sources->kind == ADP_NODE_LIST && !sources->open && !sources->items)
        adp_doc_error(doc, ADP_EINVAL, sources->at,
                      "sources of the new signal %.63s is empty, expected at least one",
                      entry->name);
}

static void check_shipped(struct adp_doc *doc, const struct entry *entry,
                          const struct adp_node *value)
{
    refuse_shipped(doc, entry, value, "unit");
    refuse_shipped(doc, entry, value, "range");
    const struct adp_item *aggregate = item_of(doc, value, "aggregate");
    if (aggregate && !entry->sources && !value->open)
        adp_doc_error(
            doc, ADP_EINVAL, aggregate->key->at,
            "aggregate of %.63s applies to no source, expected sources beside it "
            "(shipped sources have their own)",
            entry->name);
}

static void check_signal_name(struct adp_doc *doc, const struct adp_node *name,
                              const char *what)
{
    if (!adp_name_is_plain(name->text))
        adp_doc_error(doc, ADP_EINVAL, name->at,
                      "%s is malformed, found %s, expected [a-z][a-z0-9_]* of at most %u "
                      "bytes",
                      what, adp_phrase_found(name).text, ADP_SIGNAL_NAME);
}

static void read_entry(struct adp_doc *doc, const struct adp_item *item,
                       struct adp_config *config)
{
    static const struct adp_key key = { .word = "a signal",
                                        .keys = entry_keys,
                                        .expected = "a mapping with sources" };
    struct adp_signals *set = config->signals;
    const struct adp_node *value = item->value;
    struct entry entry = {
        .name = item->key->text, .at = item->key->at, .lo = -HUGE_VAL, .hi = HUGE_VAL
    };
    check_signal_name(doc, item->key, "a signal's name");
    adp_read_mapping(doc, &key, value, &entry);
    if (value->kind != ADP_NODE_MAPPING)
        return;

    int signal = adp_signals_find(set, entry.name);
    bool shipped = signal >= 0;
    if (shipped) {
        check_shipped(doc, &entry, value);
        if (entry.max_age_ns)
            adp_signals_max_age(set, (uint32_t)signal, entry.max_age_ns);
    } else {
        check_new(doc, &entry, value, set);
        if (adp_name_is_plain(entry.name))
            signal = declare(doc, &entry, set);
    }
    if (entry.max_age_ns || !shipped)
        check_max_age(doc, config, &entry, value);
    if (entry.sources)
        read_sources(doc, &entry, set, signal);
}

void adp_section_signals(struct adp_doc *doc, const struct adp_key *key,
                         const struct adp_node *value, void *into)
{
    if (!adp_read_is(doc, key, value, ADP_NODE_MAPPING))
        return;
    for (const struct adp_item *item = value->items; item; item = item->next)
        read_entry(doc, item, into);
}

/* ---- aliases ---- */

static void tell_no_signal(struct adp_doc *doc, const struct adp_node *value,
                           const struct adp_signals *set)
{
    if (!adp_doc_is_full(doc))
        adp_doc_error(doc, ADP_EINVAL, value->at,
                      "an alias of an unknown signal, found %s, expected %s",
                      adp_phrase_found(value).text,
                      adp_phrase_nearest(value->text, adp_signals_names(set)).text);
}

static void read_signal_alias(struct adp_doc *doc, const struct adp_item *item,
                              struct adp_signals *set)
{
    static const struct adp_key key = { .word = "an alias",
                                        .expected = "the name of a signal" };
    const struct adp_node *name = item->key, *value = item->value;
    check_signal_name(doc, name, "an alias");
    if (!adp_read_is(doc, &key, value, ADP_NODE_SCALAR))
        return;
    int signal = adp_signals_find(set, value->text);
    if (signal < 0) {
        tell_no_signal(doc, value, set);
        return;
    }
    if (!adp_name_is_plain(name->text))
        return;
    struct adp_error err = { 0 };
    int code = adp_signals_alias(set, name->text, (uint32_t)signal, &err);
    adp_doc_passes(doc, code, name->at, &err);
}

static void read_signal_aliases(struct adp_doc *doc, const struct adp_key *key,
                                const struct adp_node *value, void *into)
{
    struct adp_config *config = into;
    if (!adp_read_is(doc, key, value, ADP_NODE_MAPPING))
        return;
    for (const struct adp_item *item = value->items; item; item = item->next)
        read_signal_alias(doc, item, config->signals);
}

static void read_metric_aliases(struct adp_doc *doc, const struct adp_key *key,
                                const struct adp_node *value, void *into)
{
    static const struct adp_key name = { .word = "a metric's other name",
                                         .expected = "the name on your page" };
    struct adp_config *config = into;
    if (!adp_read_is(doc, key, value, ADP_NODE_MAPPING))
        return;
    for (const struct adp_item *item = value->items; item; item = item->next) {
        if (!adp_read_is(doc, &name, item->value, ADP_NODE_SCALAR))
            continue;
        struct adp_error err = { 0 };
        int code =
            adp_signals_rename(config->signals, item->key->text, item->value->text, &err);
        adp_doc_passes(doc, code, item->key->at, &err);
    }
}

static const struct adp_key alias_keys[] = {
    { .word = "signals",
      .read = read_signal_aliases,
      .expected = "a mapping of new names to signals" },
    { .word = "metrics",
      .read = read_metric_aliases,
      .expected = "a mapping of metrics' names to the names on your page" },
    { 0 },
};

void adp_section_aliases(struct adp_doc *doc, const struct adp_key *key,
                         const struct adp_node *value, void *into)
{
    struct adp_key mapping = *key;
    mapping.keys = alias_keys;
    adp_read_mapping(doc, &mapping, value, into);
}
