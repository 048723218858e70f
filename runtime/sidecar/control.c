/* SPDX-License-Identifier: MIT */
/* The control thread (control.h). */
#include "runtime/sidecar/control.h"

#include "core/error.h"
#include "core/line.h"
#include "runtime/sidecar/above.h"
#include "runtime/sidecar/notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP_NS UINT64_C(1000000000)

/* --- targets --- */

static struct adp_scrape_target target_of(const struct adp_scrape_setting *s)
{
    return (struct adp_scrape_target) {
        .name = s->name,
        .url = s->url,
        .interval_ns = s->interval_ns,
        .timeout_ns = s->timeout_ns,
        .bearer_file = s->bearer_file,
        .ca_file = s->ca_file,
        .cert_file = s->cert_file,
        .key_file = s->key_file,
        .insecure = s->insecure,
    };
}

/* Of what a configuration says, from which it borrows; NULL: of nothing. */
static int make_scraper(const struct adp_config *config, struct adp_scraper **ret,
                        adp_error *err)
{
    struct adp_scrape_target target[ADP_SCRAPE_MAX_TARGETS];
    uint32_t n = config->n_scrape;
    *ret = NULL;
    for (uint32_t i = 0; i < n; i++)
        target[i] = target_of(&config->scrape[i]);
    return n ? adp_scraper_create(ret, target, n, NULL, err) : 0;
}

int adp_control_begin(struct adp_sidecar *s, adp_error *err)
{
    int code = make_scraper(s->config, &s->scraper, err);
    if (code < 0)
        return code;
    adp_board_targets(&s->board, s->scraper, s->config->n_scrape);
    atomic_store(&s->board.ready, s->config->n_scrape == 0 || adp_above_has_snapshot(s));
    adp_board_readings(&s->board, s->rt);
    return 0;
}

/* --- a round of pages --- */

/* Once when it begins and once when it is over, not each second. */
static void say_failures(struct adp_sidecar *s, const struct adp_scrape_round *round)
{
    struct adp_board_copy *before = &s->board.now; /* written by this thread only */
    for (uint32_t i = 0; i < round->n_failures; i++) {
        const struct adp_scrape_failure *f = &round->failures[i];
        const struct adp_board_target *t = &before->target[f->target];
        if (f->target < before->n_targets && (t->up || !t->asked))
            adp_sidecar_say(s, "scrape: %s", f->text);
    }
    for (uint32_t i = 0; i < before->n_targets; i++)
        if (round->came >> i & 1 && before->target[i].asked && !before->target[i].up)
            adp_sidecar_say(s, "scrape: %s: pages come again", before->target[i].name);
}

/* What a target's page lacks, or all together, once until it lacks nothing. */
static void say_notes(struct adp_sidecar *s, const struct adp_scrape_round *round,
                      const struct adp_error *published)
{
    struct adp_error note;
    char text[sizeof note.file + 2 * sizeof note.text];
    for (uint32_t i = 0; i <= ADP_SCRAPE_MAX_TARGETS; i++) {
        bool any = adp_scraper_note(s->scraper, round, i, published, &note);
        if (any && !s->noted[i]) {
            adp_error_format(&note, text, sizeof text);
            adp_sidecar_say(s, "page: %s", text);
        }
        s->noted[i] = any;
    }
}

static void take_round(struct adp_sidecar *s, const struct adp_scrape_round *round)
{
    adp_error err = { 0 };
    say_failures(s, round);
    for (uint32_t i = 0; i < round->n_failures; i++)
        adp_host_scrape_failed(s->rt, round->failures[i].text, NULL);
    adp_board_round(&s->board, round);
    if (!round->page)
        return;
    int code = adp_host_publish_page(s->rt, round->page, round->len, round->format, &err);
    adp_board_published(&s->board, code >= 0);
    adp_board_readings(&s->board, s->rt);
    if (code < 0)
        adp_sidecar_say(s, "page: %s", err.text);
    else
        say_notes(s, round, &err);
    if (code >= 0)
        atomic_store(&s->board.ready, true);
}

/* --- reload --- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_targets(const struct adp_config *a, const struct adp_config *b)
{
    if (a->n_scrape != b->n_scrape)
        return false;
    for (uint32_t i = 0; i < a->n_scrape; i++) {
        const struct adp_scrape_setting *x = &a->scrape[i], *y = &b->scrape[i];
        if (!same_text(x->name, y->name) || !same_text(x->url, y->url) ||
            x->interval_ns != y->interval_ns || x->timeout_ns != y->timeout_ns ||
            !same_text(x->bearer_file, y->bearer_file) ||
            !same_text(x->ca_file, y->ca_file) ||
            !same_text(x->cert_file, y->cert_file) ||
            !same_text(x->key_file, y->key_file) || x->insecure != y->insecure)
            return false;
    }
    return true;
}

static bool same_listens(const struct adp_listen_settings *a,
                         const struct adp_listen_settings *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = same_text(a->list[i].address, b->list[i].address) &&
               same_text(a->list[i].group, b->list[i].group) &&
               a->list[i].mode == b->list[i].mode;
    return same;
}

static bool same_names(const struct adp_names_setting *a,
                       const struct adp_names_setting *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].n != b[i].n)
            return false;
        for (uint32_t k = 0; k < a[i].n; k++)
            if (strcmp(a[i].name[k], b[i].name[k]) != 0)
                return false;
    }
    return true;
}

static bool same_serve(const struct adp_serve_setting *a,
                       const struct adp_serve_setting *b)
{
    const uint64_t bounds[][2] = {
        { a->threads, b->threads },       { a->head_bytes, b->head_bytes },
        { a->body_bytes, b->body_bytes }, { a->connections, b->connections },
        { a->head_ns, b->head_ns },       { a->body_ns, b->body_ns },
        { a->idle_ns, b->idle_ns },       { a->write_ns, b->write_ns },
        { a->drain_ns, b->drain_ns },     { a->policy_ns, b->policy_ns },
        { a->alone, b->alone },           { a->memory_bytes, b->memory_bytes },
    };
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        if (bounds[i][0] != bounds[i][1])
            return false;
    double per_token = a->bytes_per_token - b->bytes_per_token;
    return !(per_token < 0.0 || per_token > 0.0) &&
           same_text(a->token_file, b->token_file) &&
           same_listens(&a->listen, &b->listen) &&
           same_listens(&a->outcomes, &b->outcomes) && same_listens(&a->spop, &b->spop) &&
           same_names(a->header, b->header, ADP_HEADERS) &&
           same_names(a->field, b->field, ADP_FIELDS);
}

/* Puts the targets of a configuration that is in force into being; it is taken. */
static void renew_targets_take(struct adp_sidecar *s, struct adp_config *config)
{
    struct adp_scraper *scraper = NULL;
    adp_error err = { 0 };
    bool same = same_targets(s->config, config);
    if (!same && make_scraper(config, &scraper, &err) < 0)
        adp_sidecar_say(s, "scrape: %s; the pages before go on", err.text);
    if (same || err.code < 0) { /* what scrapes borrows from the configuration before */
        adp_config_destroy(config);
        return;
    }
    pthread_mutex_lock(&s->mutex);
    struct adp_scraper *old = s->scraper;
    s->scraper = scraper;
    pthread_mutex_unlock(&s->mutex);
    adp_scraper_destroy(old);
    if (s->config != s->first)
        adp_config_destroy(s->config);
    s->config = config;
    memset(s->noted, 0, sizeof s->noted);
    adp_board_targets(&s->board, scraper, config->n_scrape);
    if (!s->config->n_scrape)
        atomic_store(&s->board.ready, true);
}

/* What was said of it, as an answer's list, and to people. */
static void put_errors(struct adp_sidecar *s, struct adp_line *out,
                       const adp_errors *errors)
{
    char text[1024];
    for (uint32_t i = 0; i < errors->n; i++) {
        adp_error_print(&errors->list[i], text, sizeof text);
        adp_sidecar_say(s, "reload: %s", text);
        if (out->len + 6 * strlen(text) + 64 > ADP_RELOAD_ANSWER)
            continue; /* people have it whole */
        if (out->text[out->len - 1] != '[')
            adp_line_put(out, ",", 1);
        adp_line_string(out, text, strlen(text));
    }
    adp_line_puts(out, "]}\n");
}

static void put_answer(struct adp_sidecar *s, struct adp_line *out, int code,
                       const adp_errors *errors)
{
    adp_stats stats = { .size = sizeof stats };
    char text[128];
    adp_runtime_stats(s->rt, &stats);
    snprintf(text, sizeof text,
             "{\"reloaded\":%s,\"generation\":%" PRIu64 ",\"config\":\"%016" PRIx64
             "\",\"%s\":[",
             code < 0 ? "false" : "true", stats.generation, stats.config,
             code < 0 ? "errors" : "notes");
    adp_line_puts(out, text);
    put_errors(s, out, errors);
    adp_sidecar_say(s,
                    code < 0 ? "reload: refused, the configuration before stays"
                             : "reload: generation %" PRIu64 " is in force",
                    stats.generation);
}

static int reload_text(struct adp_sidecar *s, const char *text, adp_errors *errors)
{
    static const struct adp_place nowhere = { 0 };
    struct adp_config *config = NULL;
    const char *path = s->options.config;
    adp_errors own = { 0 };
    adp_error err = { 0 };
    int code = adp_host_reload_text(s->rt, text, path, s->folder, errors);
    if (code < 0)
        return code;
    adp_above_keep(s, ADP_ABOVE_CONFIG, text);
    if (adp_token_read(&s->token, s->serve.token_file, &err) < 0)
        adp_errors_add(errors, ADP_NOTE, s->options.config, nowhere,
                       "%s; the token before stays", err.text);
    else
        adp_sidecar_keep_token(s);
    if (adp_config_read_text(&config, text, strlen(text), path, s->folder, &own) == 0) {
        if (!same_serve(&s->first->serve, &config->serve))
            adp_errors_add(errors, ADP_NOTE, s->options.config, nowhere,
                           "serve: differs, and is read at the start only");
        renew_targets_take(s, config);
    }
    adp_errors_free(&own);
    adp_board_readings(&s->board, s->rt);
    return 0;
}

static int reload(struct adp_sidecar *s, adp_errors *errors)
{
    char *text = NULL, folder[PATH_MAX]; /* the path's, which is s->folder */
    size_t len;
    int code = adp_config_load_file(&text, &len, folder, s->options.config, errors);
    if (code == 0)
        code = reload_text(s, text, errors);
    free(text);
    return code;
}

static void take_reload(struct adp_sidecar *s, const struct adp_waiter *waiters,
                        uint32_t n)
{
    struct adp_line out;
    adp_errors errors = { 0 };
    adp_line_init(&out);
    adp_notify("RELOADING=1");
    adp_above_reloading(s);
    int code = reload(s, &errors);
    adp_above_reloaded(s, code >= 0);
    adp_board_reloaded(&s->board, code >= 0);
    put_answer(s, &out, code, &errors);
    adp_line_put(&out, "", 1); /* with its NUL */
    for (uint32_t i = 0; i < s->n_loops; i++)
        adp_loop_reloaded(&s->loop[i], waiters, n,
                          out.broken ? 500
                          : code < 0 ? 422
                                     : 200,
                          out.broken ? "" : out.text);
    adp_notify("READY=1");
    adp_line_finish(&out);
    adp_errors_free(&errors);
}

/* --- the thread --- */

/* What was asked for since the last time; false: to stop. Without pages, waits for it. */
static bool take_asked(struct adp_sidecar *s)
{
    struct adp_waiter waiter[ADP_MAX_WAITERS];
    struct timespec until;
    pthread_mutex_lock(&s->mutex);
    if (!s->scraper && !s->stop && !s->reload && !s->reopen) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&s->asked, &s->mutex, &until);
    }
    bool stop = s->stop, again = s->reload, reopen = s->reopen;
    uint32_t n = s->n_waiters;
    memcpy(waiter, s->waiter, n * sizeof *waiter);
    s->n_waiters = 0;
    s->reload = s->reopen = false;
    pthread_mutex_unlock(&s->mutex);
    if (reopen)
        adp_runtime_reopen(s->rt, NULL);
    if (again)
        take_reload(s, waiter, n);
    return !stop;
}

void adp_control_run(struct adp_sidecar *s)
{
    struct adp_scrape_round round;
    while (take_asked(s)) {
        adp_above_save(s);
        if (s->scraper && adp_scraper_step(s->scraper, STEP_NS, &round))
            take_round(s, &round);
    }
}
