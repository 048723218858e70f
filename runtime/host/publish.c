/* SPDX-License-Identifier: MIT */
/* <admitperf/runtime.h>, "Metrics": pages of text, metrics by name or by number, and what
 * the host supplies itself, into the snapshot in force.
 *
 * Interned metrics are the series of one struct adp_metrics that is only added to; an id
 * is a series' place, and 1. A publish by ids fills the publisher's next metrics from
 * there, or, when those were filled with the same ids last, sets their values only. */
#include "core/error.h"
#include "core/promtext.h"
#include "runtime/host/state.h"

#include <stdlib.h>
#include <string.h>

static int publish(adp_runtime *rt, adp_error *err)
{
    adp_host_reclaim(rt);
    const struct adp_generation *g = rt->edition->generation;
    return adp_publisher_publish(rt->publisher, g->signals, g->number,
                                 rt->clock.mono_ns(rt->clock.ctx),
                                 rt->clock.wall_ns(rt->clock.ctx), err);
}

/* What is remembered of these metrics of the publisher's. */
static struct adp_filled *filled_of(adp_runtime *rt, const struct adp_metrics *metrics)
{
    struct adp_filled *f = rt->filled;
    while (f->metrics && f->metrics != metrics)
        f++;
    f->metrics = metrics;
    return f;
}

/* The metrics to fill, emptied. */
static struct adp_metrics *next_metrics(adp_runtime *rt)
{
    struct adp_metrics *next = adp_publisher_next(rt->publisher);
    filled_of(rt, next)->n = 0;
    return next;
}

/* --- text --- */

/* In force all the same. `published`: what publishing noted, if it did. */
static int note_bad_lines(const struct adp_promtext_found *found,
                          const adp_error *published, adp_error *err)
{
    return adp_error_at(err, ADP_NOTE, NULL, found->first_bad_line,
                        found->first_bad_column, "%s; %u of its lines left out%s%s",
                        found->first_bad_why, found->bad_lines,
                        published->code ? "; " : "", published->text);
}

int adp_host_publish_page(adp_runtime *rt, const char *page, size_t len,
                          enum adp_promtext_format format, adp_error *err)
{
    struct adp_promtext_found found;
    adp_error note = { 0 };
    int code = adp_host_enter(rt, err);
    if (code < 0)
        return code;
    code = adp_promtext_read_as(next_metrics(rt), format, page, len, &found, err);
    if (code == 0)
        code = publish(rt, found.bad_lines ? &note : err);
    if (code >= 0 && found.bad_lines)
        code = note_bad_lines(&found, &note, err);
    adp_host_leave(rt);
    return code;
}

int adp_runtime_publish_text(adp_runtime *rt, const char *page, size_t len,
                             adp_error *err)
{
    return adp_host_publish_page(rt, page, len, ADP_PROMTEXT_UNSAID, err);
}

/* --- names --- */

int adp_runtime_publish(adp_runtime *rt, const adp_metric *metrics, uint32_t n,
                        adp_error *err)
{
    int code = adp_host_enter(rt, err);
    if (code < 0)
        return code;
    struct adp_metrics *to = next_metrics(rt);
    for (uint32_t i = 0; code == 0 && i < n; i++)
        code = adp_sheet_add(to, &metrics[i], err);
    if (code == 0)
        code = publish(rt, err);
    adp_host_leave(rt);
    return code;
}

/* --- numbers --- */

static int intern(adp_runtime *rt, const adp_metric *metric, uint32_t *ret_id,
                  adp_error *err)
{
    if (!rt->interned && adp_metrics_create(&rt->interned) < 0)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    uint32_t before = adp_metrics_count(rt->interned);
    adp_metric numbered = *metric;
    numbered.value = before + 1.0; /* what a series that is new holds from now on */
    int code = adp_sheet_add(rt->interned, &numbered, err);
    if (code < 0)
        return code;
    uint32_t id = before + 1;
    if (adp_metrics_count(rt->interned) == before) {
        /* It was there, and holds the number just given: the one that differs from its
         * place. Put right again. */
        uint32_t i = 0;
        while (adp_metrics_at(rt->interned, i)->value != numbered.value)
            i++;
        adp_metrics_set(rt->interned, i, i + 1.0);
        id = i + 1;
    }
    atomic_store_explicit(&rt->n_interned, adp_metrics_count(rt->interned),
                          memory_order_release);
    *ret_id = id;
    return 0;
}

int adp_runtime_intern(adp_runtime *rt, const char *name, const char *const *labels,
                       uint32_t *ret_id, adp_error *err)
{
    int code = adp_host_lock(rt, err);
    if (code < 0)
        return code;
    code = intern(rt, &(adp_metric) { name, labels, 0 }, ret_id, err);
    adp_host_leave(rt);
    return code;
}

static bool same_ids(const struct adp_filled *f, const adp_sample *samples, uint32_t n)
{
    if (!n || f->n != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (f->id[i] != samples[i].id)
            return false;
    return true;
}

static int check_ids(const adp_runtime *rt, const adp_sample *samples, uint32_t n,
                     adp_error *err)
{
    uint32_t known = rt->interned ? adp_metrics_count(rt->interned) : 0;
    for (uint32_t i = 0; i < n; i++)
        if (samples[i].id < 1 || samples[i].id > known)
            return adp_error_set(err, ADP_EINVAL,
                                 "sample %u: no metric has the id %u, they go from 1 to "
                                 "%u",
                                 i, samples[i].id, known);
    return 0;
}

/* Remembers what was filled in. Without memory for it, or when an id came twice, it is
 * filled again the next time. */
static void remember(struct adp_filled *f, const adp_sample *samples, uint32_t n)
{
    f->n = 0;
    if (adp_metrics_count(f->metrics) != n)
        return;
    if (n > f->cap) {
        uint32_t *more = realloc(f->id, n * sizeof *more);
        if (!more)
            return;
        f->id = more;
        f->cap = n;
    }
    for (uint32_t i = 0; i < n; i++)
        f->id[i] = samples[i].id;
    f->n = n;
}

static int fill_by_ids(adp_runtime *rt, const adp_sample *samples, uint32_t n,
                       adp_error *err)
{
    struct adp_metrics *to = adp_publisher_next_filled(rt->publisher);
    struct adp_filled *f = filled_of(rt, to);
    int code = check_ids(rt, samples, n, err);
    if (code < 0)
        return code;
    if (same_ids(f, samples, n)) {
        for (uint32_t i = 0; i < n; i++)
            adp_metrics_set(to, i, samples[i].value);
        return 0;
    }
    next_metrics(rt);
    for (uint32_t i = 0; code == 0 && i < n; i++) {
        const struct adp_series *s = adp_metrics_at(rt->interned, samples[i].id - 1);
        code = adp_metrics_add(to, s->name, s->labels, s->n_labels, samples[i].value,
                               false, 0, err);
    }
    if (code == 0)
        remember(f, samples, n);
    return code;
}

int adp_runtime_publish_ids(adp_runtime *rt, const adp_sample *samples, uint32_t n,
                            adp_error *err)
{
    int code = adp_host_enter(rt, err);
    if (code < 0)
        return code;
    code = fill_by_ids(rt, samples, n, err);
    if (code == 0)
        code = publish(rt, err);
    adp_host_leave(rt);
    return code;
}

/* --- functions --- */

static int add_source(adp_runtime *rt, const char *signal, adp_source_fn read, void *user,
                      adp_error *err)
{
    const struct adp_signals *set = rt->edition->config->signals;
    int at = adp_signals_find(set, signal);
    const char *nearest =
        at < 0 ? adp_error_nearest(signal, adp_signals_names(set)) : NULL;
    if (adp_host_is_started(rt))
        return adp_error_set(err, ADP_ESTATE, "the runtime is started already");
    if (at < 0)
        return adp_error_set(err, ADP_EINVAL, "no signal \"%.64s\"%s%s%s", signal,
                             nearest ? "; nearest is \"" : "", nearest ? nearest : "",
                             nearest ? "\"" : "");
    if (adp_signals_sources(set, (uint32_t)at) == ADP_MAX_SOURCES)
        return adp_error_set(err, ADP_EFULL, "signal %s has %u sources already", signal,
                             ADP_MAX_SOURCES);
    const char *name = adp_signals_name(set, (uint32_t)at);
    for (uint32_t i = 0; i < rt->n_source; i++)
        if (strcmp(rt->source[i].signal, name) == 0)
            return adp_error_set(err, ADP_EINVAL, "signal %s has a function already",
                                 name);
    struct adp_host_source *s = &rt->source[rt->n_source++]; /* at most one a signal */
    memcpy(s->signal, name, strlen(name) + 1);
    s->read = read;
    s->user = user;
    return 0;
}

int adp_runtime_source(adp_runtime *rt, const char *signal, adp_source_fn read,
                       void *user, adp_error *err)
{
    int code = adp_host_lock(rt, err);
    if (code < 0)
        return code;
    code = add_source(rt, signal, read, user, err);
    adp_host_leave(rt);
    return code;
}

int adp_runtime_refresh(adp_runtime *rt, adp_error *err)
{
    int code = adp_host_enter(rt, err);
    if (code < 0)
        return code;
    adp_host_reclaim(rt);
    const struct adp_generation *g = rt->edition->generation;
    code = adp_publisher_again(rt->publisher, g->signals, g->number,
                               rt->clock.mono_ns(rt->clock.ctx),
                               rt->clock.wall_ns(rt->clock.ctx), err);
    adp_host_leave(rt);
    return code;
}
