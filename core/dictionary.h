/* SPDX-License-Identifier: MIT */
/* What is known of engines and exporters, apart from the signals themselves
 * (core/signal.h): what their labels and values mean. One file, core/dictionary.c, holds
 * all of it as tables. */
#ifndef ADP_CORE_DICTIONARY_H
#define ADP_CORE_DICTIONARY_H

#include "core/metrics.h"

/* What it means that two series differ in a label. */
enum adp_label_role {
    ADP_LABEL_PARTITION, /* different things: engines, models, GPUs; every unknown label */
    ADP_LABEL_REPLICA,   /* the same thing, told by several: ranks, processes */
    ADP_LABEL_BREAKDOWN  /* where it is not empty, a part of the series without it */
};

/* Of a label of this series: a GPU has its UUID, and is told once for each pod on it.
 * [hot] */
enum adp_label_role adp_label_role(const struct adp_series *series, struct adp_str label);

/* True for what the series' exporter prints when it has no reading (DCGM's 2147483632 and
 * the like, which are numbers like any other; 0 % for a card that is split). [hot] */
bool adp_metric_is_blank(const struct adp_series *series);

/* Which engine of the page a series belongs to: the hash of the labels that tell engines
 * apart (engine, WorkerId, …); one value for all series of a page without any. [hot] */
uint64_t adp_engine_key(const struct adp_series *series);
/* False: whatever it says is of all engines of its target. */
bool adp_engine_is_named(const struct adp_series *series);

/* The same of a target of a joined page, for all series that it has. [hot] */
uint64_t adp_target_key(struct adp_str target);

/* True for a series of an engine that its exporter may go on telling of when it is gone:
 * Ray's workers. [any] */
bool adp_engine_lingers(const struct adp_series *series);

/* Other prefixes that an engine's names are seen with: "vllm:" is "ray_vllm:", "ray_vllm_"
 * or "vllm_" behind those who rewrite it. Each shipped source is followed by the same with
 * each of them. */
struct adp_prefix {
    const char *prefix;
    const char *others[4]; /* NULL-terminated */
};
const struct adp_prefix *adp_prefixes(uint32_t *ret_n);

/* Series of a metric, or those of them with this label at this value. */
struct adp_sign {
    const char *name, *label, *value; /* name NULL: none; label NULL: all */
    const char *created; /* the metric that says when a counter was made; NULL: none */
};

/* How an engine shows that it works: while `running` is above 0, one of `beats` or of
 * `stirs` moves. Beats are counters, and an engine of which one went down began anew; stirs
 * are gauges, for engines that count when a request ends. */
struct adp_pulse {
    const char *prefixes[8]; /* of its names; NULL-terminated where fewer */
    struct adp_sign running;
    struct adp_sign beats[4], stirs[2];
};
const struct adp_pulse *adp_pulses(uint32_t *ret_n);

/* How an engine shows that it sleeps: the metric, with this label at this value, is 0. */
struct adp_sleep {
    const char *prefix;
    const char *metric, *label, *value;
};
const struct adp_sleep *adp_sleeps(uint32_t *ret_n);

/* True for what no current version of its engine prints, though pages of old ones have it:
 * nobody is told to look for it. */
bool adp_metric_is_gone(const char *name);

/* True for metrics that no admission signal could be made of: the exporter's own process,
 * what runs it, creation times, HTTP. */
bool adp_metric_is_noise(struct adp_str name);

#endif
