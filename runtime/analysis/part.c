/* SPDX-License-Identifier: MIT */
/* What one file says of one identity. Order-free but for what is kept of the first line
 * (notes, SLO): adding the same lines in any order, or in two halves merged, gives the
 * same figures. */
#include "runtime/analysis/part.h"

#include "core/error.h"
#include "runtime/analysis/grow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static char *copy(struct adp_text text)
{
    char *to = malloc(text.len + 1);
    if (to) {
        memcpy(to, text.text, text.len);
        to[text.len] = '\0';
    }
    return to;
}

/* Sets *to unless the text is absent. */
static int keep(char **to, struct adp_text text)
{
    if (!text.text)
        return 0;
    *to = copy(text);
    return *to ? 0 : ADP_ENOMEM;
}

static bool same(const char *kept, struct adp_text text)
{
    if (!kept || !text.text)
        return !kept && !text.text;
    return strlen(kept) == text.len && memcmp(kept, text.text, text.len) == 0;
}

uint64_t adp_text_hash(struct adp_text text)
{
    if (!text.text)
        return 0;
    uint64_t hash = XXH3_64bits(text.text, text.len);
    return hash ? hash : 1;
}

/* ---- identity -----------------------------------------------------------------------
 */

static void digest(XXH3_state_t *state, struct adp_text text)
{
    /* The length keeps neighbours apart, and absent apart from empty. */
    uint64_t len = text.text ? text.len : UINT64_MAX;
    XXH3_128bits_update(state, &len, sizeof len);
    if (text.text)
        XXH3_128bits_update(state, text.text, text.len);
}

static uint64_t setting_hash(const struct adp_setting *setting)
{
    double value = setting->value == 0 ? 0 : setting->value; /* -0 is 0 */
    uint64_t seed = isnan(value) ? adp_text_hash(setting->word) : 0;
    if (!isnan(value))
        seed = XXH3_64bits(&value, sizeof value);
    return XXH3_64bits_withSeed(setting->name.text, setting->name.len, seed);
}

static void digest_candidate(XXH3_state_t *state, const struct adp_entry *entry)
{
    XXH3_128bits_reset(state);
    digest(state, entry->experiment);
    digest(state, entry->policy);
    uint64_t params = entry->n_params; /* a sum: their order says nothing */
    for (size_t i = 0; i < entry->n_params; i++)
        params += setting_hash(&entry->params[i]);
    XXH3_128bits_update(state, &params, sizeof params);
}

struct adp_key adp_part_identity(const struct adp_entry *entry)
{
    XXH3_state_t state;
    digest_candidate(&state, entry);
    digest(&state, entry->run);
    digest(&state, entry->config);
    XXH128_hash_t hash = XXH3_128bits_digest(&state);
    return (struct adp_key) { hash.high64, hash.low64 };
}

static int by_name(const void *a, const void *b)
{
    const struct adp_part_param *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int keep_params(struct adp_part *part, const struct adp_entry *entry)
{
    if (!entry->n_params)
        return 0;
    part->params = calloc(entry->n_params, sizeof *part->params);
    if (!part->params)
        return ADP_ENOMEM;
    for (size_t i = 0; i < entry->n_params; i++) {
        struct adp_part_param *param = &part->params[i];
        const struct adp_setting *setting = &entry->params[i];
        param->value = setting->value;
        param->name = copy(setting->name);
        if (!param->name)
            return ADP_ENOMEM;
        part->n_params++;
        if ((isnan(param->value) && keep(&param->word, setting->word)) ||
            keep(&param->provenance, setting->provenance))
            return ADP_ENOMEM;
    }
    qsort(part->params, part->n_params, sizeof *part->params, by_name);
    return 0;
}

static int keep_disclosure(struct adp_part_disclosure *to,
                           const struct adp_disclosure *from)
{
    to->capacity_rps = from->capacity_rps;
    to->unloaded_ttft_ms = from->unloaded_ttft_ms;
    to->kv_capacity_tokens = from->kv_capacity_tokens;
    to->concurrency = from->concurrency;
    to->request_tokens = from->request_tokens;
    return keep(&to->model, from->model) || keep(&to->engine, from->engine) ||
                   keep(&to->hardware, from->hardware) ||
                   keep(&to->workload, from->workload) || keep(&to->slo, from->slo)
               ? ADP_ENOMEM
               : 0;
}

int adp_part_init(struct adp_part *part, struct adp_store *store, struct adp_key identity,
                  uint32_t file, const struct adp_entry *entry)
{
    XXH3_state_t state;
    part->store = store;
    digest_candidate(&state, entry);
    part->candidate = XXH3_128bits_digest(&state).low64;
    part->identity = identity;
    part->file = file;
    part->first_at = part->last_at = part->margin = part->slo_ttft_ms = NAN;
    part->least_margin = part->longest_tokens = NAN;
    part->arm = -1;
    part->has_params = entry->has_params;
    if (keep(&part->experiment, entry->experiment) ||
        keep(&part->policy, entry->policy) || keep(&part->run, entry->run) ||
        keep(&part->config, entry->config) || keep(&part->notes, entry->notes) ||
        keep(&part->signal_quantity, entry->signal_quantity) ||
        keep_disclosure(&part->disclosure, &entry->disclosure))
        return ADP_ENOMEM;
    return keep_params(part, entry);
}

void adp_part_finish(struct adp_part *part)
{
    for (size_t i = 0; i < part->n_params; i++) {
        free(part->params[i].name);
        free(part->params[i].word);
        free(part->params[i].provenance);
    }
    for (size_t i = 0; i < part->n_signals; i++) {
        free(part->signals[i].name);
        adp_numbers_finish(part->store, &part->signals[i].sample);
    }
    for (size_t i = 0; i < part->n_gates; i++) {
        free(part->gates[i].signal);
        free(part->gates[i].param);
    }
    free(part->experiment);
    free(part->policy);
    free(part->run);
    free(part->config);
    free(part->notes);
    free(part->signal_quantity);
    free(part->params);
    free(part->signals);
    free(part->gates);
    free(part->rules);
    free(part->instances);
    free(part->disclosure.model);
    free(part->disclosure.engine);
    free(part->disclosure.hardware);
    free(part->disclosure.workload);
    free(part->disclosure.slo);
    adp_course_finish(&part->course);
    adp_numbers_finish(part->store, &part->prompt_tokens);
    *part = (struct adp_part) { 0 };
}

/* ---- signals ------------------------------------------------------------------------
 */

/* `hint`: where it stood on other lines, most likely. NULL: out of memory, or, with
 * *full, one too many. */
static struct adp_part_signal *signal_of(struct adp_part *part, struct adp_text name,
                                         size_t hint, bool *full)
{
    if (hint < part->n_signals && same(part->signals[hint].name, name))
        return &part->signals[hint];
    for (size_t i = 0; i < part->n_signals; i++)
        if (same(part->signals[i].name, name))
            return &part->signals[i];
    *full = part->n_signals == ADP_PART_MAX_SIGNALS;
    if (*full)
        return NULL;
    struct adp_part_signal *signals =
        adp_grow(part->signals, &part->cap_signals, part->n_signals + 1, sizeof *signals);
    if (!signals)
        return NULL;
    part->signals = signals;
    struct adp_part_signal *signal = &signals[part->n_signals];
    *signal = (struct adp_part_signal) { .name = copy(name) };
    if (!signal->name)
        return NULL;
    part->n_signals++;
    return signal;
}

/* NULL: no reason of ours, or one too many. */
static struct adp_part_why *why_of(struct adp_part_signal *signal, struct adp_text word)
{
    struct adp_part_why *why = signal->whys;
    if (!word.text || !word.len || word.len >= sizeof why->word)
        return NULL;
    for (; why < signal->whys + signal->n_whys; why++)
        if (same(why->word, word))
            return why;
    if (signal->n_whys == ADP_PART_MAX_WHYS)
        return NULL;
    memcpy(why->word, word.text, word.len);
    signal->n_whys++;
    return why;
}

static int add_whys(struct adp_part *part, const struct adp_entry *entry)
{
    part->n_told = 0;
    for (size_t i = 0; i < entry->n_whys; i++) {
        bool full = false;
        struct adp_part_signal *signal = signal_of(part, entry->whys[i].name, i, &full);
        if (!signal && !full)
            return ADP_ENOMEM;
        struct adp_part_why *why = signal ? why_of(signal, entry->whys[i].why) : NULL;
        if (!why)
            continue;
        why->n++;
        if (part->n_told < ADP_PART_MAX_SIGNALS)
            part->told[part->n_told++] =
                (struct adp_part_told) { (uint16_t)(signal - part->signals),
                                         (uint16_t)(why - signal->whys) };
        else
            part->print = 0; /* more keys than signals: some stand twice */
    }
    return 0;
}

static void add_same_whys(struct adp_part *part)
{
    for (uint32_t i = 0; i < part->n_told; i++)
        part->signals[part->told[i].signal].whys[part->told[i].why].n++;
}

static int add_instance(struct adp_part *part, uint64_t instance)
{
    if (!instance || (part->n_instances && part->instances[0] == instance))
        return 0;
    for (size_t i = 0; i < part->n_instances; i++)
        if (part->instances[i] == instance)
            return 0;
    if (part->n_instances == ADP_PART_MAX_WRITERS) {
        part->ignored++;
        return 0;
    }
    uint64_t *all = adp_grow(part->instances, &part->cap_instances, part->n_instances + 1,
                             sizeof *all);
    if (!all)
        return ADP_ENOMEM;
    part->instances = all;
    all[part->n_instances++] = instance;
    return 0;
}

static int add_reading(struct adp_part *part, struct adp_part_signal *signal,
                       double value)
{
    /* A key written twice on one line is one reading. */
    if (isnan(value) || signal->last == part->lines)
        return 0;
    signal->last = part->lines;
    signal->magnitude += fabs(value);
    return adp_numbers_add(part->store, &signal->sample, value);
}

static int add_signals(struct adp_part *part, const struct adp_entry *entry)
{
    bool fits = entry->n_signals <= ADP_PART_MAX_SIGNALS;
    part->print = 0;
    for (size_t i = 0; i < entry->n_signals; i++) {
        bool full = false;
        struct adp_part_signal *signal =
            signal_of(part, entry->signals[i].name, i, &full);
        if (!signal && !full)
            return ADP_ENOMEM;
        part->ignored += full;
        fits &= !full;
        if (full)
            continue;
        if (fits)
            part->kept_at[i] = (uint16_t)(signal - part->signals);
        int e = add_reading(part, signal, entry->signals[i].value);
        if (e)
            return e;
    }
    part->print = fits ? entry->print : 0;
    return 0;
}

/* Lines of one print name the same signals in the same order. */
static int add_same_signals(struct adp_part *part, const struct adp_entry *entry)
{
    for (size_t i = 0; i < entry->n_signals; i++) {
        int e =
            add_reading(part, &part->signals[part->kept_at[i]], entry->signals[i].value);
        if (e)
            return e;
    }
    add_same_whys(part);
    return 0;
}

/* What names and lists a line holds: the same on all lines of its print. */
static int add_words(struct adp_part *part, const struct adp_entry *entry)
{
    if (!part->notes && keep(&part->notes, entry->notes))
        return ADP_ENOMEM;
    int e = add_signals(part, entry);
    if (e)
        return e;
    return add_whys(part, entry) || add_instance(part, adp_text_hash(entry->instance))
               ? ADP_ENOMEM
               : 0;
}

static double reading_of(const struct adp_entry *entry, struct adp_text name)
{
    for (size_t i = 0; name.text && i < entry->n_signals; i++)
        if (entry->signals[i].name.len == name.len &&
            memcmp(entry->signals[i].name.text, name.text, name.len) == 0)
            return entry->signals[i].value;
    return NAN;
}

/* ---- gates --------------------------------------------------------------------------
 */

enum truth { NO, YES, UNKNOWN };

/* One gate on one line. */
struct held_gate {
    struct adp_part_gate *gate;
    double value;
    enum truth truth;
};

static double threshold_of(const struct adp_entry *entry, struct adp_text param)
{
    for (size_t i = 0; param.text && i < entry->n_params; i++)
        if (entry->params[i].name.len == param.len &&
            memcmp(entry->params[i].name.text, param.text, param.len) == 0)
            return entry->params[i].value;
    return NAN;
}

static bool is_gate(const struct adp_part_gate *gate, const struct adp_entry_gate *line)
{
    return gate->rule == line->rule && gate->op == line->op &&
           same(gate->signal, line->signal) && same(gate->param, line->param);
}

/* The array is made whole at the first gate, so that gates stay where they are. */
static struct adp_part_gate *new_gate(struct adp_part *part, bool *full)
{
    if (!part->gates)
        part->gates = calloc(ADP_PART_MAX_GATES, sizeof *part->gates);
    *full = part->gates && part->n_gates == ADP_PART_MAX_GATES;
    return part->gates && !*full ? &part->gates[part->n_gates++] : NULL;
}

/* As signal_of. */
static struct adp_part_gate *gate_of(struct adp_part *part, const struct adp_entry *entry,
                                     size_t i, bool *full)
{
    const struct adp_entry_gate *line = &entry->gates[i];
    if (i < part->n_gates && is_gate(&part->gates[i], line))
        return &part->gates[i];
    for (size_t k = 0; k < part->n_gates; k++)
        if (is_gate(&part->gates[k], line))
            return &part->gates[k];
    struct adp_part_gate *gate = new_gate(part, full);
    if (!gate)
        return NULL;
    gate->rule = line->rule;
    gate->op = line->op;
    gate->threshold = line->op ? threshold_of(entry, line->param) : NAN;
    gate->closest = gate->closest_value = gate->would = NAN;
    bool kept = !keep(&gate->signal, line->signal) && !keep(&gate->param, line->param);
    return kept ? gate : NULL;
}

static enum truth holds(uint32_t op, double value, double threshold)
{
    if (isnan(value) || isnan(threshold))
        return UNKNOWN;
    switch (op) {
    case ADP_GE:
        return value >= threshold ? YES : NO;
    case ADP_GT:
        return value > threshold ? YES : NO;
    case ADP_LE:
        return value <= threshold ? YES : NO;
    case ADP_LT:
        return value < threshold ? YES : NO;
    }
    return UNKNOWN;
}

static bool upward(uint32_t op)
{
    return op == ADP_GE || op == ADP_GT;
}

static void add_gate(struct held_gate *held)
{
    struct adp_part_gate *gate = held->gate;
    held->truth = holds(gate->op, held->value, gate->threshold);
    if (held->truth == UNKNOWN)
        return;
    double distance =
        upward(gate->op) ? held->value - gate->threshold : gate->threshold - held->value;
    gate->read++;
    gate->held += held->truth == YES;
    if (isnan(gate->closest) || distance > gate->closest) {
        gate->closest = distance;
        gate->closest_value = held->value;
    }
}

/* What threshold of this gate would have let the rule fire here, other gates as they are?
 */
static void add_would(const struct held_gate *held, size_t n, size_t i)
{
    struct adp_part_gate *gate = held[i].gate;
    if (held[i].truth == UNKNOWN)
        return;
    for (size_t k = 0; k < n; k++)
        if (k != i && held[k].gate->rule == gate->rule && held[k].truth != YES)
            return;
    double value = held[i].value;
    if (isnan(gate->would) ||
        (upward(gate->op) ? value > gate->would : value < gate->would))
        gate->would = value;
}

static struct adp_part_rule *rule_of(struct adp_part *part, uint32_t rule)
{
    for (size_t i = 0; i < part->n_rules; i++)
        if (part->rules[i].rule == rule)
            return &part->rules[i];
    struct adp_part_rule *rules =
        adp_grow(part->rules, &part->cap_rules, part->n_rules + 1, sizeof *rules);
    if (!rules)
        return NULL;
    part->rules = rules;
    rules[part->n_rules] = (struct adp_part_rule) { .rule = rule };
    return &rules[part->n_rules++];
}

/* A conjunction that holds one false gate is false, whatever the unknown ones are. */
static enum truth rule_truth(const struct held_gate *held, size_t n, uint32_t rule)
{
    enum truth truth = YES;
    for (size_t i = 0; i < n; i++) {
        if (held[i].gate->rule != rule)
            continue;
        if (held[i].truth == NO)
            return NO;
        if (held[i].truth == UNKNOWN)
            truth = UNKNOWN;
    }
    return truth;
}

/* Rules are ORed. */
static int add_rules(struct adp_part *part, const struct held_gate *held, size_t n,
                     double at, enum truth *ret)
{
    *ret = NO;
    for (size_t i = 0; i < n; i++) {
        uint32_t number = held[i].gate->rule;
        bool earlier = false;
        for (size_t k = 0; k < i && !earlier; k++)
            earlier = held[k].gate->rule == number;
        if (earlier)
            continue;
        struct adp_part_rule *rule = rule_of(part, number);
        if (!rule)
            return ADP_ENOMEM;
        enum truth truth = rule_truth(held, n, number);
        rule->held += truth == YES;
        adp_stretch_add(&rule->stretch, truth == YES, at);
        if (truth == YES || (truth == UNKNOWN && *ret == NO))
            *ret = truth;
    }
    return 0;
}

static int add_gates(struct adp_part *part, const struct adp_entry *entry)
{
    struct held_gate held[ADP_PART_MAX_GATES];
    size_t n = 0, given = entry->n_gates;
    if (given > ADP_PART_MAX_GATES)
        given = ADP_PART_MAX_GATES;
    part->ignored += entry->n_gates - given;
    part->has_gates |= entry->has_gates;
    /* What on_error answered says nothing of how the policy would have judged: a fault's
     * line names the gates there are, and is held against none of them. */
    for (size_t i = 0; i < given; i++) {
        bool full = false;
        struct adp_part_gate *gate = gate_of(part, entry, i, &full);
        if (!gate && !full)
            return ADP_ENOMEM;
        part->ignored += full;
        if (!gate || entry->fault)
            continue;
        held[n] = (struct held_gate) { gate, reading_of(entry, entry->gates[i].signal),
                                       UNKNOWN };
        add_gate(&held[n++]);
    }
    if (!n)
        return 0;
    for (size_t i = 0; i < n; i++)
        add_would(held, n, i);
    enum truth truth;
    int e = add_rules(part, held, n, entry->at, &truth);
    if (e)
        return e;
    part->judged += truth != UNKNOWN;
    part->fired += truth == YES;
    bool refuses = entry->verdict != ADP_ADMIT;
    part->admitted_firing += !refuses && truth == YES;
    part->refused_unfired += refuses && truth == NO;
    return 0;
}

/* ---- a line -------------------------------------------------------------------------
 */

/* What was decided on what. A sum over lines, so that their order says nothing. */
static uint64_t fingerprint(const struct adp_entry *entry)
{
    uint64_t hash = XXH3_64bits(&entry->at, sizeof entry->at);
    hash ^= adp_text_hash(entry->request_id) * 3 + (uint64_t)entry->verdict;
    for (size_t i = 0; i < entry->n_signals; i++)
        hash = XXH3_64bits_withSeed(&entry->signals[i].value, sizeof(double), hash);
    return hash;
}

static void add_margin(struct adp_part *part, double margin)
{
    if (isnan(margin))
        return;
    part->margins++;
    part->margins_firing += margin >= 0;
    if (isnan(part->margin) || margin > part->margin)
        part->margin = margin;
    if (isnan(part->least_margin) || margin < part->least_margin)
        part->least_margin = margin;
}

static void add_verdict(struct adp_part *part, const struct adp_entry *entry)
{
    bool own_refusal = entry->verdict != ADP_ADMIT && !entry->fault;
    part->baseline |= entry->baseline;
    part->faults += entry->fault;
    part->omitted += entry->metrics_omitted;
    part->refusals += own_refusal;
    part->enforced += own_refusal && entry->enforced;
    part->unenforced += !entry->enforced;
    part->shadow += entry->shadow;
    part->anonymous += !entry->request_id.text;
    part->watched += entry->watch;
    part->fingerprint += fingerprint(entry);
    if (!entry->fault)
        add_margin(part, entry->margin);
    if (!isnan(entry->slo_ttft_ms)) {
        if (isnan(part->slo_ttft_ms))
            part->slo_ttft_ms = entry->slo_ttft_ms;
        part->slo_changes += part->slo_ttft_ms != entry->slo_ttft_ms;
    }
}

static void add_time(struct adp_part *part, double first, double last)
{
    if (isnan(part->first_at) || first < part->first_at)
        part->first_at = first;
    if (isnan(part->last_at) || last > part->last_at)
        part->last_at = last;
}

/* Where the decision falls in time, and what was read there. */
static int add_to_course(struct adp_part *part, const struct adp_entry *entry)
{
    int e = 0;
    struct adp_course_bin *bin = adp_course_at(&part->course, entry->at, &e);
    if (!bin)
        return e;
    bin->decisions++;
    bin->refusals +=
        entry->verdict != ADP_ADMIT && !entry->fault && entry->kind == ADP_ENTRY_DECISION;
    bool mapped = entry->print && entry->print == part->print;
    for (size_t i = 0; i < entry->n_signals; i++) {
        bool full;
        size_t at = i;
        if (isnan(entry->signals[i].value))
            continue;
        if (mapped)
            at = part->kept_at[i];
        else {
            struct adp_part_signal *kept =
                signal_of(part, entry->signals[i].name, i, &full);
            at = kept ? (size_t)(kept - part->signals) : ADP_COURSE_SIGNALS;
        }
        adp_course_read(bin, at, entry->signals[i].value);
    }
    return 0;
}

/* How long the request is: what a prompt is told with. */
static int add_length(struct adp_part *part, const struct adp_entry_facts *facts)
{
    bool open = isnan(facts->max_output_tokens);
    double tokens = facts->prompt_tokens + (open ? 0 : facts->max_output_tokens);
    part->open_ended += open;
    part->longest_tokens = fmax(part->longest_tokens, tokens);
    return adp_numbers_add(part->store, &part->prompt_tokens, facts->prompt_tokens);
}

int adp_part_add(struct adp_part *part, const struct adp_entry *entry)
{
    part->lines++;
    part->not_finite += entry->not_finite;
    add_time(part, entry->at, entry->at);
    int e = entry->print && entry->print == part->print ? add_same_signals(part, entry)
                                                        : add_words(part, entry);
    if (!e)
        e = add_to_course(part, entry);
    if (e || entry->kind != ADP_ENTRY_DECISION)
        return e;
    if (!isnan(entry->facts.prompt_tokens))
        e = add_length(part, &entry->facts);
    if (e)
        return e;
    add_verdict(part, entry);
    return add_gates(part, entry);
}

/* ---- merging ------------------------------------------------------------------------
 */

static void merge_whys(struct adp_part_signal *to, const struct adp_part_signal *from)
{
    for (uint32_t i = 0; i < from->n_whys; i++) {
        struct adp_text word = { from->whys[i].word, strlen(from->whys[i].word) };
        struct adp_part_why *why = why_of(to, word);
        if (why)
            why->n += from->whys[i].n;
    }
}

/* `to` says where the first signals of `from` are now. */
static int merge_signals(struct adp_part *into, struct adp_part *from,
                         size_t to_course[ADP_COURSE_SIGNALS])
{
    for (size_t i = 0; i < ADP_COURSE_SIGNALS; i++)
        to_course[i] = ADP_COURSE_SIGNALS;
    for (size_t i = 0; i < from->n_signals; i++) {
        struct adp_part_signal *signal = &from->signals[i];
        bool full = false;
        struct adp_text name = { signal->name, strlen(signal->name) };
        struct adp_part_signal *to = signal_of(into, name, i, &full);
        if (full) {
            into->ignored += signal->sample.pile.n;
            continue;
        }
        int e =
            to ? adp_numbers_merge(into->store, &to->sample, from->store, &signal->sample)
               : ADP_ENOMEM;
        if (e)
            return e;
        if (i < ADP_COURSE_SIGNALS)
            to_course[i] = (size_t)(to - into->signals);
        to->magnitude += signal->magnitude;
        merge_whys(to, signal);
    }
    return 0;
}

static void merge_gate(struct adp_part_gate *to, const struct adp_part_gate *gate)
{
    to->read += gate->read;
    to->held += gate->held;
    if (isnan(to->closest) || gate->closest > to->closest) {
        to->closest = gate->closest;
        to->closest_value = gate->closest_value;
    }
    if (isnan(to->would) ||
        (upward(gate->op) ? gate->would > to->would : gate->would < to->would))
        to->would = gate->would;
}

static int merge_gates(struct adp_part *into, struct adp_part *from)
{
    bool joined = isnan(into->last_at) || !(from->first_at < into->last_at);
    for (size_t i = 0; i < from->n_gates; i++) {
        struct adp_part_gate *gate = &from->gates[i], *to = NULL;
        struct adp_entry_gate line = {
            gate->rule, gate->op, { gate->signal, 0 }, { gate->param, 0 }
        };
        line.signal.len = gate->signal ? strlen(gate->signal) : 0;
        line.param.len = gate->param ? strlen(gate->param) : 0;
        for (size_t k = 0; k < into->n_gates && !to; k++)
            if (is_gate(&into->gates[k], &line))
                to = &into->gates[k];
        if (to) {
            merge_gate(to, gate);
            continue;
        }
        bool full = false;
        to = new_gate(into, &full);
        if (!to && !full)
            return ADP_ENOMEM;
        if (full) {
            into->ignored += gate->read;
            continue;
        }
        *to = *gate;
        gate->signal = gate->param = NULL; /* moved */
    }
    for (size_t i = 0; i < from->n_rules; i++) {
        struct adp_part_rule *rule = rule_of(into, from->rules[i].rule);
        if (!rule)
            return ADP_ENOMEM;
        adp_stretch_merge(&rule->stretch, &from->rules[i].stretch, joined);
        rule->held += from->rules[i].held;
    }
    return 0;
}

static void merge_counts(struct adp_part *into, const struct adp_part *from)
{
    into->baseline |= from->baseline;
    into->has_gates |= from->has_gates;
    into->lines += from->lines;
    into->faults += from->faults;
    into->refusals += from->refusals;
    into->enforced += from->enforced;
    into->unenforced += from->unenforced;
    into->shadow += from->shadow;
    into->anonymous += from->anonymous;
    into->watched += from->watched;
    into->not_finite += from->not_finite;
    into->omitted += from->omitted;
    into->ignored += from->ignored;
    into->fingerprint += from->fingerprint;
    into->judged += from->judged;
    into->fired += from->fired;
    into->admitted_firing += from->admitted_firing;
    into->refused_unfired += from->refused_unfired;
    into->margins += from->margins;
    into->margins_firing += from->margins_firing;
    into->longest_tokens = fmax(into->longest_tokens, from->longest_tokens);
    into->open_ended += from->open_ended;
    if (isnan(into->margin) || from->margin > into->margin)
        into->margin = from->margin;
    if (isnan(into->least_margin) || from->least_margin < into->least_margin)
        into->least_margin = from->least_margin;
    if (!isnan(from->slo_ttft_ms) && !isnan(into->slo_ttft_ms))
        into->slo_changes += from->slo_ttft_ms != into->slo_ttft_ms;
    if (isnan(into->slo_ttft_ms))
        into->slo_ttft_ms = from->slo_ttft_ms;
    into->slo_changes += from->slo_changes;
    add_time(into, from->first_at, from->last_at);
}

int adp_part_merge(struct adp_part *into, struct adp_part *from)
{
    if (!into->notes) {
        into->notes = from->notes;
        from->notes = NULL;
    }
    size_t to_course[ADP_COURSE_SIGNALS];
    into->print = 0;
    int e = merge_signals(into, from, to_course);
    if (!e)
        e = adp_course_merge(&into->course, &from->course, to_course);
    if (!e)
        e = adp_numbers_merge(into->store, &into->prompt_tokens, from->store,
                              &from->prompt_tokens);
    if (!e)
        e = merge_gates(into, from);
    if (e)
        return e;
    for (size_t i = 0; i < from->n_instances; i++)
        if (add_instance(into, from->instances[i]))
            return ADP_ENOMEM;
    merge_counts(into, from);
    adp_part_finish(from);
    return 0;
}

uint64_t adp_part_own(const struct adp_part *part)
{
    return part->lines - part->faults;
}

bool adp_part_share_writer(const struct adp_part *a, const struct adp_part *b)
{
    for (size_t i = 0; i < a->n_instances; i++)
        for (size_t k = 0; k < b->n_instances; k++)
            if (a->instances[i] == b->instances[k])
                return true;
    return false;
}

void adp_part_params(const struct adp_part *part, char *to, size_t cap)
{
    size_t used = 0;
    to[0] = '\0';
    for (size_t i = 0; i < part->n_params && used < cap; i++) {
        const struct adp_part_param *param = &part->params[i];
        const char *comma = i ? ", " : "";
        int n = isnan(param->value) ? snprintf(to + used, cap - used, "%s%s=%s", comma,
                                               param->name, param->word)
                                    : snprintf(to + used, cap - used, "%s%s=%.10g", comma,
                                               param->name, param->value);
        used += n > 0 ? (size_t)n : 0;
    }
}
