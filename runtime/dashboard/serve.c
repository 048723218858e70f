/* SPDX-License-Identifier: MIT */
/* The dashboard: what is asked for, what is answered.
 *
 * Answers are made on the loop's thread: one person looks, and a log is read by all processors
 * as it is. Answers that were made are kept by what was asked, with a print of all logs that
 * answering would read: their names, sizes and times. */
#include "runtime/dashboard/serve.h"

#include "core/error.h"
#include "core/signal.h"
#include "runtime/analysis/compare.h"
#include "runtime/analysis/experiments.h"
#include "runtime/analysis/logs.h"
#include "runtime/analysis/report.h"
#include "runtime/analysis/terms.h"
#include "runtime/dashboard/asset.h"
#include "runtime/http/http.h"
#include "runtime/http/listen.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KEPT = 16, MOST_PATHS = 256, MOST_TEXT = 4096 };

/* An answer, and what it was made from. */
struct kept {
    char *asked; /* owned; NULL: free */
    uint64_t print;
    char *body; /* owned */
    size_t len;
};

struct adp_dashboard {
    struct adp_http_server *server;
    char url[128];
    char hosts[4][80]; /* what Host may be */
    char *root;        /* owned; the folder, no links in it */
    struct kept kept[KEPT];
    unsigned next; /* which is given up */
};

/* ---- what a request names -------------------------------------------------------------
 */

/* The values of a name in the query, decoded; each owned, and so is the list. */
struct values {
    char *all[MOST_PATHS];
    size_t n;
};

static void values_finish(struct values *values)
{
    for (size_t i = 0; i < values->n; i++)
        free(values->all[i]);
}

static bool add_value(struct values *values, struct adp_http_text text)
{
    char *value = malloc(text.len + 1);
    size_t n = value ? adp_http_decode(text, true, value, text.len) : SIZE_MAX;
    if (n == SIZE_MAX || values->n == MOST_PATHS) {
        free(value);
        return false;
    }
    value[n] = '\0';
    values->all[values->n++] = value;
    return true;
}

/* False: one cannot be read, or there are too many. */
static bool values_of(const struct adp_http_request *request, const char *name,
                      struct values *values)
{
    const char *at = request->query.at;
    const char *end = at ? at + request->query.len : at;
    size_t len = strlen(name);
    while (at && at < end) {
        const char *past = memchr(at, '&', (size_t)(end - at));
        past = past ? past : end;
        if ((size_t)(past - at) > len && memcmp(at, name, len) == 0 && at[len] == '=') {
            struct adp_http_text text = { at + len + 1, (size_t)(past - at) - len - 1 };
            if (!add_value(values, text))
                return false;
        }
        at = past + 1;
    }
    return true;
}

/* Does the path lead below the folder, links followed? What is not there leads nowhere. */
static int confine(const struct adp_dashboard *dashboard, const char *path,
                   struct adp_error *err)
{
    char *real = realpath(path, NULL);
    size_t len = strlen(dashboard->root);
    if (!real)
        return adp_error_set(err, ADP_ENOENT, "%s: no such log below the folder", path);
    bool below =
        strncmp(real, dashboard->root, len) == 0 &&
        (real[len] == '/' || real[len] == '\0' || strcmp(dashboard->root, "/") == 0);
    free(real);
    return below
               ? 0
               : adp_error_set(err, ADP_ENOENT, "%s: no such log below the folder", path);
}

/* The paths a request names under `name`, every one confined. */
static int paths_of(const struct adp_dashboard *dashboard,
                    const struct adp_http_request *request, const char *name,
                    struct values *values, struct adp_error *err)
{
    if (!values_of(request, name, values))
        return adp_error_set(err, ADP_EINVAL, "the values of %s cannot be read", name);
    for (size_t i = 0; i < values->n; i++) {
        /* "-" is standard input, and a pattern is more than one path. */
        if (values->all[i][0] == '-' && !values->all[i][1])
            return adp_error_set(err, ADP_ENOENT, "-: no such log below the folder");
        int e = confine(dashboard, values->all[i], err);
        if (e)
            return e;
    }
    return 0;
}

/* ---- answers that were made -----------------------------------------------------------
 */

static uint64_t mix(uint64_t print, const void *bytes, size_t n)
{
    const unsigned char *c = bytes; /* FNV-1a, for change and not for trust */
    for (size_t i = 0; i < n; i++)
        print = (print ^ c[i]) * 0x100000001b3u;
    return print;
}

/* A print of the logs below these paths. What cannot be looked at prints as absent: reading it
 * says why. */
static uint64_t print_of(const char *const *paths, size_t n)
{
    struct adp_log_list logs = { 0 };
    uint64_t print = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        adp_logs_find(&logs, paths[i], NULL);
    for (size_t i = 0; i < logs.n; i++) {
        struct stat st = { 0 };
        print = mix(print, logs.paths[i].path, strlen(logs.paths[i].path) + 1);
        if (stat(logs.paths[i].path, &st))
            continue;
        print = mix(print, &st.st_ino, sizeof st.st_ino);
        print = mix(print, &st.st_size, sizeof st.st_size);
        print = mix(print, &st.st_mtim, sizeof st.st_mtim);
    }
    for (size_t i = 0; i < logs.n_unread; i++)
        print = mix(print, logs.unread[i].path, strlen(logs.unread[i].path) + 1);
    adp_logs_finish(&logs);
    return print;
}

static struct kept *find_kept(struct adp_dashboard *dashboard, const char *asked)
{
    for (int i = 0; i < KEPT; i++)
        if (dashboard->kept[i].asked && strcmp(dashboard->kept[i].asked, asked) == 0)
            return &dashboard->kept[i];
    return NULL;
}

static void drop(struct kept *kept)
{
    free(kept->asked);
    free(kept->body);
    *kept = (struct kept) { 0 };
}

/* Takes the body; keeps nothing when memory is short. */
static const struct kept *keep_take(struct adp_dashboard *dashboard, const char *asked,
                                    uint64_t print, char *body, size_t len)
{
    struct kept *kept = find_kept(dashboard, asked);
    if (!kept)
        kept = &dashboard->kept[dashboard->next++ % KEPT];
    drop(kept);
    *kept = (struct kept) { strdup(asked), print, body, len };
    return kept;
}

/* ---- making them ----------------------------------------------------------------------
 */

/* A question: how to answer it, from what. */
struct question {
    struct values logs; /* confined; none: the folder */
    char *experiment;   /* borrowed from `names`; NULL: none */
    struct values names;
    int (*write)(const struct question *question, FILE *to, struct adp_error *err);
};

static const char *const everything[] = { "." };

static const char *const *roots(const struct question *question, size_t *ret_n)
{
    *ret_n = question->logs.n ? question->logs.n : 1;
    return question->logs.n ? (const char *const *)question->logs.all : everything;
}

static int write_experiments(const struct question *question, FILE *to,
                             struct adp_error *err)
{
    struct adp_experiments *experiments;
    int e = adp_experiments_read(everything, 1, &experiments, err);
    (void)question;
    if (e == ADP_ENOENT) { /* nothing was recorded yet */
        fputs("{\"experiments\":[],\"not_counted\":[],\"mixtures\":[]}\n", to);
        return 0;
    }
    if (e)
        return e;
    e = adp_experiments_json(experiments, to);
    adp_experiments_destroy(experiments);
    return e ? adp_error_set(err, e, "out of memory") : 0;
}

static int write_report(const struct question *question, FILE *to, struct adp_error *err)
{
    struct adp_report *report;
    size_t n;
    const char *const *paths = roots(question, &n);
    int e = adp_report_read(paths, n, &report, err);
    if (e)
        return e;
    e = adp_report_json(report, to);
    adp_report_destroy(report);
    return e ? adp_error_set(err, e, "out of memory") : 0;
}

static int finish_compare(int e, struct adp_compare *compare, FILE *to,
                          struct adp_error *err)
{
    if (e)
        return e;
    e = adp_compare_json(compare, to);
    adp_compare_destroy(compare);
    return e ? adp_error_set(err, e, "out of memory") : 0;
}

static int write_compare(const struct question *question, FILE *to, struct adp_error *err)
{
    struct adp_compare *compare = NULL;
    int e = adp_compare_experiment(question->experiment, everything, 1, &compare, err);
    return finish_compare(e, compare, to, err);
}

static int write_sides(const struct question *question, FILE *to, struct adp_error *err)
{
    struct adp_compare *compare = NULL;
    char *const *sides = question->logs.all;
    int e = adp_compare_paths(sides[0], sides[1], &compare, err);
    return finish_compare(e, compare, to, err);
}

static int write_arms(const struct question *question, FILE *to, struct adp_error *err)
{
    struct adp_compare *compare = NULL;
    size_t n;
    const char *const *paths = roots(question, &n);
    int e = adp_compare_arms(paths, n, &compare, err);
    return finish_compare(e, compare, to, err);
}

/* What is compared: experiment=NAME, arms=LOG…, or baseline=LOG&policy=LOG. */
static int ask_compare(const struct adp_dashboard *dashboard,
                       const struct adp_http_request *request, struct question *question,
                       struct adp_error *err)
{
    if (!values_of(request, "experiment", &question->names))
        return adp_error_set(err, ADP_EINVAL, "the value of experiment cannot be read");
    if (question->names.n) {
        question->experiment = question->names.all[0];
        question->write = write_compare;
        return 0;
    }
    int e = paths_of(dashboard, request, "arms", &question->logs, err);
    question->write = write_arms;
    if (e || question->logs.n)
        return e;
    question->write = write_sides;
    e = paths_of(dashboard, request, "baseline", &question->logs, err);
    if (!e && question->logs.n == 1)
        e = paths_of(dashboard, request, "policy", &question->logs, err);
    if (!e && question->logs.n != 2)
        e = adp_error_set(err, ADP_EINVAL,
                          "what is compared? experiment=NAME, arms=LOG, or "
                          "baseline=LOG&policy=LOG");
    return e;
}

static int ask(const struct adp_dashboard *dashboard,
               const struct adp_http_request *request, struct question *question,
               struct adp_error *err)
{
    if (adp_http_text_is(request->path, "/api/experiments")) {
        question->write = write_experiments;
        return 0;
    }
    if (adp_http_text_is(request->path, "/api/report")) {
        question->write = write_report;
        return paths_of(dashboard, request, "log", &question->logs, err);
    }
    if (adp_http_text_is(request->path, "/api/compare"))
        return ask_compare(dashboard, request, question, err);
    return adp_error_set(err, ADP_ENOENT, "there is nothing here by that name");
}

/* ---- HTTP -----------------------------------------------------------------------------
 */

#define FIELD(NAME, VALUE)                                                               \
    {                                                                                    \
        { NAME, sizeof NAME - 1 },                                                       \
        {                                                                                \
            VALUE, sizeof VALUE - 1                                                      \
        }                                                                                \
    }

static const struct adp_http_field fields[] = {
    FIELD("Content-Security-Policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
          "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    FIELD("X-Content-Type-Options", "nosniff"),
    FIELD("Referrer-Policy", "no-referrer"),
    FIELD("Cross-Origin-Resource-Policy", "same-origin"),
    FIELD("Cross-Origin-Opener-Policy", "same-origin"),
    FIELD("Cache-Control", "no-store"),
};

static void answer(struct adp_dashboard *dashboard,
                   const struct adp_http_request *request, uint32_t status,
                   const char *type, const char *body, size_t len)
{
    struct adp_http_answer whole = { .status = status,
                                     .type = type,
                                     .fields = fields,
                                     .n_fields = sizeof fields / sizeof *fields,
                                     .body = body,
                                     .body_len = len };
    /* A client that is gone needs no answer. */
    adp_http_answer(dashboard->server, request->exchange, &whole);
}

static const char type_json[] = "application/json";

static void answer_error(struct adp_dashboard *dashboard,
                         const struct adp_http_request *request, uint32_t status,
                         const char *why)
{
    static const char failed[] = "{\"error\":\"out of memory\"}\n";
    json_t *body = json_pack("{s:s}", "error", why);
    char *text = body ? json_dumps(body, JSON_ENSURE_ASCII) : NULL;
    json_decref(body);
    answer(dashboard, request, status, type_json, text ? text : failed,
           text ? strlen(text) : sizeof failed - 1);
    free(text);
}

static void answer_code(struct adp_dashboard *dashboard,
                        const struct adp_http_request *request, int code,
                        const struct adp_error *err)
{
    char why[sizeof err->text + PATH_MAX + 4];
    uint32_t status = code == ADP_ENOENT ? 404 : code == ADP_EINVAL ? 400 : 500;
    snprintf(why, sizeof why, "%s%s%s", err->file[0] ? err->file : "",
             err->file[0] ? ": " : "", err->text);
    answer_error(dashboard, request, status, why);
}

/* Answers from what was kept, or makes it. */
static void answer_question(struct adp_dashboard *dashboard,
                            const struct adp_http_request *request,
                            const struct question *question)
{
    char asked[MOST_TEXT];
    struct adp_error err = { 0 };
    size_t n, len;
    const char *const *paths = roots(question, &n);
    uint64_t print = print_of(paths, n);
    bool keeps = request->path.len + request->query.len + 2 <= sizeof asked;
    if (keeps)
        snprintf(asked, sizeof asked, "%.*s?%.*s", (int)request->path.len,
                 request->path.at, (int)request->query.len,
                 request->query.at ? request->query.at : "");
    const struct kept *kept = keeps ? find_kept(dashboard, asked) : NULL;
    if (kept && kept->print == print) {
        answer(dashboard, request, 200, type_json, kept->body, kept->len);
        return;
    }
    char *body = NULL;
    FILE *to = open_memstream(&body, &len);
    int e = to ? question->write(question, to, &err)
               : adp_error_set(&err, ADP_ENOMEM, "out of memory");
    if (to && fclose(to) && !e)
        e = adp_error_set(&err, ADP_ENOMEM, "out of memory");
    if (e)
        answer_code(dashboard, request, e, &err);
    else
        answer(dashboard, request, 200, type_json, body, len);
    if (!e && keeps)
        keep_take(dashboard, asked, print, body, len);
    else
        free(body);
}

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
        answer_error(dashboard, request, 500, "out of memory");
    else
        answer(dashboard, request, 200, type_json, body, len);
    free(body);
}

/* The page itself. */
static bool answer_asset(struct adp_dashboard *dashboard,
                         const struct adp_http_request *request)
{
    static const struct {
        const char *path, *type;
        const struct adp_asset *asset;
    } assets[] = {
        { "/", "text/html; charset=utf-8", &adp_asset_shell },
        { "/page.css", "text/css; charset=utf-8", &adp_asset_style },
        { "/page.js", "text/javascript; charset=utf-8", &adp_asset_script },
        { "/uplot.js", "text/javascript; charset=utf-8", &adp_asset_uplot },
    };
    for (size_t i = 0; i < sizeof assets / sizeof *assets; i++)
        if (adp_http_text_is(request->path, assets[i].path)) {
            answer(dashboard, request, 200, assets[i].type, assets[i].asset->text,
                   assets[i].asset->len);
            return true;
        }
    return false;
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

static void on_request(void *ctx, const struct adp_http_request *request)
{
    struct adp_dashboard *dashboard = ctx;
    struct question question = { 0 };
    struct adp_error err = { 0 };
    if (!host_is_ours(dashboard, request)) {
        answer_error(dashboard, request, 421,
                     "this is a dashboard of the machine it runs on: ask by number or as "
                     "localhost");
        return;
    }
    if (request->method != ADP_HTTP_GET && request->method != ADP_HTTP_HEAD) {
        answer_error(dashboard, request, 405, "nothing can be changed here");
        return;
    }
    if (answer_asset(dashboard, request))
        return;
    if (adp_http_text_is(request->path, "/api/terms")) {
        answer_known(dashboard, request, adp_terms_json);
        return;
    }
    if (adp_http_text_is(request->path, "/api/signals")) {
        answer_known(dashboard, request, write_dictionary);
        return;
    }
    int e = ask(dashboard, request, &question, &err);
    if (e)
        answer_code(dashboard, request, e, &err);
    else
        answer_question(dashboard, request, &question);
    values_finish(&question.logs);
    values_finish(&question.names);
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
    options.limits.body_bytes = 1024;
    options.limits.connections = 64;
    dashboard->root = realpath(".", NULL);
    int e = dashboard->root ? 0 : adp_error_set(err, ADP_EIO, "the folder is gone");
    if (!e && adp_http_server_create(&dashboard->server, &options))
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
    for (int i = 0; i < KEPT; i++)
        drop(&dashboard->kept[i]);
    free(dashboard->root);
    free(dashboard);
}
