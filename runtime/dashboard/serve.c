/* SPDX-License-Identifier: MIT */
/* The dashboard: who may ask, and who answers.
 *
 * The loop's thread answers what is known at once: the page, terms, the dictionary, how somebody
 * who is followed stands (live.h). What reads logs is handed on (work.h). */
#include "runtime/dashboard/serve.h"

#include "core/error.h"
#include "core/signal.h"
#include "runtime/analysis/terms.h"
#include "runtime/dashboard/live.h"
#include "runtime/dashboard/reply.h"
#include "runtime/dashboard/work.h"
#include "runtime/http/listen.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MOST_VIEWERS = 32, OUT_BYTES = 65536 };

/* A client that is told how somebody stands. */
struct viewer {
    uint64_t exchange; /* 0: free */
    struct adp_live *live;
    uint64_t serial; /* of the event told last */
};

struct adp_dashboard {
    struct adp_http_server *server;
    struct adp_work *work;
    char url[128];
    char hosts[4][80]; /* what Host may be */
    char *root;        /* owned; the folder, no links in it */
    struct adp_live *live[ADP_DASHBOARD_LIVE];
    size_t n_live;
    int news; /* an eventfd: one of those has something new */
    struct viewer viewers[MOST_VIEWERS];
};

/* ---- what is known --------------------------------------------------------------------
 */

/* In the order in which they are tried. NULL: out of memory. */
static json_t *sources_of(const struct adp_signal_def *def)
{
    json_t *sources = json_array();
    for (const char *const *metric = def->metrics; *metric; metric++)
        if (json_array_append_new(sources, json_string(*metric + (**metric == '=')))) {
            json_decref(sources);
            return NULL;
        }
    return sources;
}

static json_t *signal_of(const struct adp_signal_def *def)
{
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:s, s:f, s:s, s:o}", "name", def->name, "unit", def->unit,
        "low", isfinite(def->lo) ? json_real(def->lo) : json_null(), "high",
        isfinite(def->hi) ? json_real(def->hi) : json_null(), "aggregate",
        adp_aggregate_word(def->aggregate), "max_age_s", (double)def->max_age_ns / 1e9,
        "about", def->about, "sources", sources_of(def));
}

/* {"version", "signals": […]}. NULL: out of memory. */
static json_t *dictionary(void)
{
    uint32_t n;
    const struct adp_signal_def *defs = adp_dictionary(&n);
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++)
        if (json_array_append_new(list, signal_of(&defs[i]))) {
            json_decref(list);
            return NULL;
        }
    return json_pack("{s:s, s:o}", "version", ADP_DICTIONARY_VERSION, "signals", list);
}

static int write_dictionary(FILE *to)
{
    json_t *doc = dictionary();
    int e = !doc ? ADP_ENOMEM : json_dumpf(doc, to, JSON_ENSURE_ASCII) ? ADP_EIO : 0;
    json_decref(doc);
    return e;
}

/* What no log has a part in. */
static void answer_known(struct adp_dashboard *dashboard,
                         const struct adp_http_request *request, int (*write)(FILE *to))
{
    char *body = NULL;
    size_t len;
    FILE *to = open_memstream(&body, &len);
    int e = to ? write(to) : ADP_ENOMEM;
    if (to && fclose(to))
        e = ADP_ENOMEM;
    if (e)
        adp_reply_error(dashboard->server, request->exchange, 500, "out of memory");
    else
        adp_reply_json(dashboard->server, request->exchange, body, len);
    free(body);
}

/* ---- who is followed ------------------------------------------------------------------
 */

static void answer_line(struct adp_dashboard *dashboard, uint64_t exchange,
                        struct adp_line *line)
{
    if (line->broken)
        adp_reply_error(dashboard->server, exchange, 500, "out of memory");
    else
        adp_reply_json(dashboard->server, exchange, line->text, line->len);
    adp_line_finish(line);
}

static void answer_targets(struct adp_dashboard *dashboard, uint64_t exchange)
{
    struct adp_line line;
    adp_line_init(&line);
    adp_line_puts(&line, "{\"targets\":[");
    for (size_t i = 0; i < dashboard->n_live; i++) {
        adp_line_puts(&line, i ? "," : "");
        adp_line_string_or_null(&line, adp_live_name(dashboard->live[i]));
    }
    adp_line_puts(&line, "]}\n");
    answer_line(dashboard, exchange, &line);
}

/* The one that target=NUMBER names, from 0; NULL: there is no such, and that was said. */
static struct adp_live *live_of(struct adp_dashboard *dashboard,
                                const struct adp_http_request *request)
{
    struct adp_http_text text;
    if (adp_http_query_find(request, "target", &text) && text.len == 1 &&
        *text.at >= '0' && (size_t)(*text.at - '0') < dashboard->n_live)
        return dashboard->live[*text.at - '0'];
    adp_reply_error(dashboard->server, request->exchange, 404,
                    "nobody of that number is followed: dashboard --live ADDRESS");
    return NULL;
}

static void answer_supply(struct adp_dashboard *dashboard,
                          const struct adp_http_request *request)
{
    struct adp_live *live = live_of(dashboard, request);
    struct adp_line line;
    adp_line_init(&line);
    if (!live)
        return;
    if (adp_live_account(live, &line))
        answer_line(dashboard, request->exchange, &line);
    else
        adp_reply_error(dashboard->server, request->exchange, 404,
                        "no page has come from there yet");
}

static void begin_viewing(struct adp_dashboard *dashboard,
                          const struct adp_http_request *request)
{
    struct adp_live *live = live_of(dashboard, request);
    struct adp_http_server *server = dashboard->server;
    struct viewer *viewer = dashboard->viewers;
    struct adp_line first;
    while (viewer < dashboard->viewers + MOST_VIEWERS && viewer->exchange)
        viewer++;
    if (!live)
        return;
    if (viewer == dashboard->viewers + MOST_VIEWERS) {
        adp_reply_error(server, request->exchange, 503, "too many are looking");
        return;
    }
    adp_line_init(&first);
    adp_live_begin(live, &first, &viewer->serial);
    if (first.broken)
        adp_reply_error(server, request->exchange, 500, "out of memory");
    else if (request->method == ADP_HTTP_HEAD)
        adp_reply_json(server, request->exchange, "", 0);
    else if (adp_reply_events(server, request->exchange, first.text, first.len) == 0) {
        viewer->exchange = request->exchange;
        viewer->live = live;
    }
    adp_line_finish(&first);
}

/* Who has not taken what he was told before is told nothing more until he has, and then the
 * newest: he waits, and nobody else. */
static void on_news(void *ctx, int fd)
{
    struct adp_dashboard *dashboard = ctx;
    struct adp_line line;
    uint64_t n;
    ssize_t got = read(fd, &n, sizeof n);
    (void)got; /* each event is found by its number */
    adp_line_init(&line);
    for (struct viewer *v = dashboard->viewers; v < dashboard->viewers + MOST_VIEWERS;
         v++) {
        uint64_t serial = v->serial;
        adp_line_clear(&line);
        if (!v->exchange || !adp_live_newest(v->live, &line, &serial) || line.broken)
            continue;
        if (adp_http_stream_write(dashboard->server, v->exchange, line.text, line.len) ==
            0)
            v->serial = serial;
    }
    adp_line_finish(&line);
}

/* ---- requests -------------------------------------------------------------------------
 */

static void on_done(void *ctx, int fd)
{
    struct adp_dashboard *dashboard = ctx;
    struct adp_worked done;
    (void)fd;
    while (adp_work_next(dashboard->work, &done)) {
        if (done.code)
            adp_reply_code(dashboard->server, done.exchange, done.code, &done.err);
        else
            adp_reply_json(dashboard->server, done.exchange, done.body, done.len);
        free(done.body);
    }
}

static void on_gone(void *ctx, uint64_t exchange)
{
    struct adp_dashboard *dashboard = ctx;
    for (int i = 0; i < MOST_VIEWERS; i++)
        if (dashboard->viewers[i].exchange == exchange)
            dashboard->viewers[i] = (struct viewer) { 0 };
    adp_work_forget(dashboard->work, exchange);
}

static bool host_is_ours(const struct adp_dashboard *dashboard,
                         const struct adp_http_request *request)
{
    for (size_t i = 0; request->host.at && i < 4; i++)
        if (dashboard->hosts[i][0] &&
            adp_http_text_is(request->host, dashboard->hosts[i]))
            return true;
    return false;
}

/* Whether it was answered. */
static bool answer_at_once(struct adp_dashboard *dashboard,
                           const struct adp_http_request *request)
{
    struct adp_http_text text;
    if (adp_reply_asset(dashboard->server, request))
        return true;
    if (adp_http_text_is(request->path, "/api/terms"))
        answer_known(dashboard, request, adp_terms_json);
    else if (adp_http_text_is(request->path, "/api/signals"))
        answer_known(dashboard, request, write_dictionary);
    else if (adp_http_text_is(request->path, "/api/targets"))
        answer_targets(dashboard, request->exchange);
    else if (adp_http_text_is(request->path, "/api/live"))
        begin_viewing(dashboard, request);
    else if (adp_http_text_is(request->path, "/api/supply") &&
             adp_http_query_find(request, "target", &text))
        answer_supply(dashboard, request);
    else
        return false;
    return true;
}

static void on_request(void *ctx, const struct adp_http_request *request)
{
    struct adp_dashboard *dashboard = ctx;
    struct adp_question *question;
    struct adp_error err = { 0 };
    if (!host_is_ours(dashboard, request)) {
        adp_reply_error(
            dashboard->server, request->exchange, 421,
            "this is a dashboard of the machine it runs on: ask by number or as "
            "localhost");
        return;
    }
    if (request->method != ADP_HTTP_GET && request->method != ADP_HTTP_HEAD) {
        adp_reply_error(dashboard->server, request->exchange, 405,
                        "nothing can be changed here");
        return;
    }
    if (answer_at_once(dashboard, request))
        return;
    int e = adp_question_read(dashboard->root, request, &question, &err);
    if (e)
        adp_reply_code(dashboard->server, request->exchange, e, &err);
    else if (adp_work_add_take(dashboard->work, question))
        adp_reply_error(dashboard->server, request->exchange, 503,
                        "too much is being read at the moment");
}

/* ---- its life -------------------------------------------------------------------------
 */

/* Listens, and learns under which names. */
static int listen_on(struct adp_dashboard *dashboard, const char *address,
                     struct adp_error *err)
{
    char where[64];
    int fd;
    int e = adp_http_listen(address, NULL, &fd);
    if (e)
        return adp_error_set(err, ADP_EIO, "cannot listen on %s: %s", address,
                             adp_http_error_text(e));
    e = adp_http_listen_address(fd, where, sizeof where);
    bool loopback =
        !e && (strncmp(where, "127.", 4) == 0 || strncmp(where, "[::1]:", 6) == 0);
    if (!loopback) {
        adp_http_listen_close(fd);
        return adp_error_set(err, ADP_EINVAL,
                             "%s is not of this machine alone: the dashboard has no "
                             "passwords, so it takes 127.0.0.1:PORT or [::1]:PORT",
                             address);
    }
    const char *port = strrchr(where, ':');
    snprintf(dashboard->url, sizeof dashboard->url, "http://%s/", where);
    snprintf(dashboard->hosts[0], sizeof dashboard->hosts[0], "%s", where);
    snprintf(dashboard->hosts[1], sizeof dashboard->hosts[1], "localhost%s", port);
    snprintf(dashboard->hosts[2], sizeof dashboard->hosts[2], "127.0.0.1%s", port);
    snprintf(dashboard->hosts[3], sizeof dashboard->hosts[3], "[::1]%s", port);
    e = adp_http_server_listen_take(dashboard->server, fd);
    return e ? adp_error_set(err, ADP_EIO, "cannot listen on %s: %s", address,
                             adp_http_error_text(e))
             : 0;
}

int adp_dashboard_create(struct adp_dashboard **ret, const char *address,
                         struct adp_error *err)
{
    struct adp_dashboard *dashboard = calloc(1, sizeof *dashboard);
    struct adp_http_options options = { 0 };
    if (!dashboard)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    options.calls.ctx = dashboard;
    options.calls.request = on_request;
    options.calls.gone = on_gone;
    options.limits.body_bytes = 1024;
    options.limits.connections = 64;
    options.limits.out_bytes = OUT_BYTES;
    dashboard->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    dashboard->root = realpath(".", NULL);
    int e = !dashboard->root ? adp_error_set(err, ADP_EIO, "the folder is gone")
            : dashboard->news < 0
                ? adp_error_set(err, ADP_EIO, "no eventfd: %s", strerror(errno))
                : adp_work_create(&dashboard->work, err);
    if (!e && adp_http_server_create(&dashboard->server, &options))
        e = adp_error_set(err, ADP_ENOMEM, "out of memory");
    if (!e &&
        (adp_http_server_watch(dashboard->server, adp_work_fd(dashboard->work), on_done,
                               dashboard) ||
         adp_http_server_watch(dashboard->server, dashboard->news, on_news, dashboard)))
        e = adp_error_set(err, ADP_ENOMEM, "out of memory");
    if (!e)
        e = listen_on(dashboard, address, err);
    if (e) {
        adp_dashboard_destroy(dashboard);
        return e;
    }
    *ret = dashboard;
    return 0;
}

int adp_dashboard_follow(struct adp_dashboard *dashboard,
                         const struct adp_scrape_target *target, struct adp_error *err)
{
    if (dashboard->n_live == ADP_DASHBOARD_LIVE)
        return adp_error_set(err, ADP_EFULL, "at most %d addresses can be followed",
                             ADP_DASHBOARD_LIVE);
    int e = adp_live_create(&dashboard->live[dashboard->n_live], target, dashboard->news,
                            err);
    if (!e)
        dashboard->n_live++;
    return e;
}

const char *adp_dashboard_url(const struct adp_dashboard *dashboard)
{
    return dashboard->url;
}

void adp_dashboard_run(struct adp_dashboard *dashboard)
{
    adp_http_server_run(dashboard->server);
}

void adp_dashboard_stop(struct adp_dashboard *dashboard)
{
    adp_http_server_drain(dashboard->server, 200);
}

void adp_dashboard_destroy(struct adp_dashboard *dashboard)
{
    if (!dashboard)
        return;
    adp_http_server_destroy(dashboard->server);
    for (size_t i = 0; i < dashboard->n_live; i++)
        adp_live_destroy(dashboard->live[i]);
    adp_work_destroy(dashboard->work);
    if (dashboard->news >= 0)
        close(dashboard->news);
    free(dashboard->root);
    free(dashboard);
}
