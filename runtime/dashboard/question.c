/* SPDX-License-Identifier: MIT */
/* Questions (question.h). */
#include "runtime/dashboard/question.h"

#include "core/error.h"
#include "core/number.h"
#include "runtime/analysis/compare.h"
#include "runtime/analysis/experiments.h"
#include "runtime/analysis/logs.h"
#include "runtime/analysis/report.h"
#include "runtime/dashboard/supply.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_USUAL = 40, MOST_EXCERPTS = 16 };

/* ---- what a request names -------------------------------------------------------------
 */

static void values_finish(struct adp_values *values)
{
    for (size_t i = 0; i < values->n; i++)
        free(values->all[i]);
}

static bool add_value(struct adp_values *values, struct adp_http_text text)
{
    char *value = malloc(text.len + 1);
    size_t n = value ? adp_http_decode(text, true, value, text.len) : SIZE_MAX;
    if (n == SIZE_MAX || values->n == ADP_QUESTION_PATHS) {
        free(value);
        return false;
    }
    value[n] = '\0';
    values->all[values->n++] = value;
    return true;
}

/* The values of a name in the query, decoded. False: one cannot be read, or there are too many. */
static bool values_of(const struct adp_http_request *request, const char *name,
                      struct adp_values *values)
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
static int confine(const char *root, const char *path, struct adp_error *err)
{
    char *real = realpath(path, NULL);
    size_t len = strlen(root);
    if (!real)
        return adp_error_set(err, ADP_ENOENT, "%s: no such log below the folder", path);
    bool below = strncmp(real, root, len) == 0 &&
                 (real[len] == '/' || real[len] == '\0' || strcmp(root, "/") == 0);
    free(real);
    return below
               ? 0
               : adp_error_set(err, ADP_ENOENT, "%s: no such log below the folder", path);
}

/* The paths a request names under `name`, every one confined. */
static int paths_of(const char *root, const struct adp_http_request *request,
                    const char *name, struct adp_values *values, struct adp_error *err)
{
    if (!values_of(request, name, values))
        return adp_error_set(err, ADP_EINVAL, "the values of %s cannot be read", name);
    for (size_t i = 0; i < values->n; i++) {
        /* "-" is standard input, and a pattern is more than one path. */
        if (values->all[i][0] == '-' && !values->all[i][1])
            return adp_error_set(err, ADP_ENOENT, "-: no such log below the folder");
        int e = confine(root, values->all[i], err);
        if (e)
            return e;
    }
    return 0;
}

/* ---- what answering reads --------------------------------------------------------------
 */

static const char *const everything[] = { "." };

static const char *const *roots(const struct adp_question *question, size_t *ret_n)
{
    *ret_n = question->logs.n ? question->logs.n : 1;
    return question->logs.n ? (const char *const *)question->logs.all : everything;
}

static uint64_t mix(uint64_t print, const void *bytes, size_t n)
{
    const unsigned char *c = bytes; /* FNV-1a, for change and not for trust */
    for (size_t i = 0; i < n; i++)
        print = (print ^ c[i]) * 0x100000001b3u;
    return print;
}

/* What cannot be looked at prints as absent: reading it says why. */
uint64_t adp_question_print(const struct adp_question *question)
{
    size_t n;
    const char *const *paths = roots(question, &n);
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

/* ---- answering -------------------------------------------------------------------------
 */

static int write_experiments(const struct adp_question *question, FILE *to,
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

static int write_report(const struct adp_question *question, FILE *to,
                        struct adp_error *err)
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

static int write_compare(const struct adp_question *question, FILE *to,
                         struct adp_error *err)
{
    struct adp_compare *compare = NULL;
    int e = adp_compare_experiment(question->names.all[0], everything, 1, &compare, err);
    return finish_compare(e, compare, to, err);
}

static int write_sides(const struct adp_question *question, FILE *to,
                       struct adp_error *err)
{
    struct adp_compare *compare = NULL;
    char *const *sides = question->logs.all;
    int e = adp_compare_paths(sides[0], sides[1], &compare, err);
    return finish_compare(e, compare, to, err);
}

static int write_arms(const struct adp_question *question, FILE *to,
                      struct adp_error *err)
{
    struct adp_compare *compare = NULL;
    size_t n;
    const char *const *paths = roots(question, &n);
    int e = adp_compare_arms(paths, n, &compare, err);
    return finish_compare(e, compare, to, err);
}

static int write_lines(const struct adp_question *question, FILE *to,
                       struct adp_error *err)
{
    struct adp_excerpt one = question->excerpt;
    int e = 0;
    fputs("{\"logs\":[", to);
    for (size_t i = 0; !e && i < question->logs.n; i++) {
        one.path = question->logs.all[i];
        fputs(i ? "," : "", to);
        e = adp_excerpt_json(&one, to, err);
    }
    fputs("]}\n", to);
    return e;
}

static int write_supply(const struct adp_question *question, FILE *to,
                        struct adp_error *err)
{
    return adp_supply_file_json(question->logs.all[0], to, err);
}

/* ---- asking ----------------------------------------------------------------------------
 */

/* What is compared: experiment=NAME, arms=LOG…, or baseline=LOG&policy=LOG. */
static int ask_compare(const char *root, const struct adp_http_request *request,
                       struct adp_question *question, struct adp_error *err)
{
    if (!values_of(request, "experiment", &question->names))
        return adp_error_set(err, ADP_EINVAL, "the value of experiment cannot be read");
    if (question->names.n) {
        question->write = write_compare;
        return 0;
    }
    int e = paths_of(root, request, "arms", &question->logs, err);
    question->write = write_arms;
    if (e || question->logs.n)
        return e;
    question->write = write_sides;
    e = paths_of(root, request, "baseline", &question->logs, err);
    if (!e && question->logs.n == 1)
        e = paths_of(root, request, "policy", &question->logs, err);
    if (!e && question->logs.n != 2)
        e = adp_error_set(err, ADP_EINVAL,
                          "what is compared? experiment=NAME, arms=LOG, or "
                          "baseline=LOG&policy=LOG");
    return e;
}

/* The first value of that name; NULL: it has none. It lives in `names`. */
static int one_of(const struct adp_http_request *request, const char *name,
                  struct adp_question *question, const char **ret, struct adp_error *err)
{
    size_t before = question->names.n;
    if (!values_of(request, name, &question->names))
        return adp_error_set(err, ADP_EINVAL, "the value of %s cannot be read", name);
    *ret = question->names.n > before ? question->names.all[before] : NULL;
    return 0;
}

/* A whole number from 1 to `most`; as it was where the request names none. */
static int count_of(const struct adp_http_request *request, const char *name,
                    uint64_t most, struct adp_question *question, uint64_t *ret,
                    struct adp_error *err)
{
    const char *text = NULL;
    double n;
    int e = one_of(request, name, question, &text, err);
    if (e || !text)
        return e;
    if (!adp_number_parse(text, strlen(text), &n) || !(n >= 1 && n <= (double)most) ||
        n != floor(n))
        return adp_error_set(err, ADP_EINVAL, "%s is a whole number from 1 on", name);
    *ret = (uint64_t)n;
    return 0;
}

static int ask_around(const struct adp_http_request *request,
                      struct adp_question *question, struct adp_error *err)
{
    struct adp_excerpt *asked = &question->excerpt;
    const char *at = NULL, *of = NULL;
    int e = one_of(request, "at", question, &at, err);
    if (!e)
        e = one_of(request, "of", question, &of, err);
    if (e)
        return e;
    if (at && !(adp_number_parse(at, strlen(at), &asked->at) && isfinite(asked->at)))
        return adp_error_set(err, ADP_EINVAL, "at is seconds since the epoch");
    if (of && !adp_excerpt_find(of, &asked->of))
        return adp_error_set(err, ADP_EINVAL, "there is no kind of lines by that name");
    asked->around = at || !of;
    if (!at && !of && !asked->line)
        return adp_error_set(err, ADP_EINVAL,
                             "which lines? at=SECONDS, line=NUMBER, or of=KIND");
    return 0;
}

/* Lines: log=PATH…, and at=SECONDS, line=NUMBER, or of=KIND with what narrows it. */
static int ask_lines(const char *root, const struct adp_http_request *request,
                     struct adp_question *question, struct adp_error *err)
{
    struct adp_excerpt *asked = &question->excerpt;
    uint64_t most = MOST_USUAL;
    int e = paths_of(root, request, "log", &question->logs, err);
    if (!e && (!question->logs.n || question->logs.n > MOST_EXCERPTS))
        e = adp_error_set(err, ADP_EINVAL, "of which log? log=PATH, up to %d times",
                          MOST_EXCERPTS);
    if (!e)
        e = count_of(request, "line", UINT64_C(1) << 52, question, &asked->line, err);
    if (!e)
        e = count_of(request, "most", ADP_EXCERPT_MOST, question, &most, err);
    if (!e)
        e = ask_around(request, question, err);
    if (!e)
        e = one_of(request, "policy", question, &asked->policy, err);
    if (!e)
        e = one_of(request, "run", question, &asked->run, err);
    if (!e)
        e = one_of(request, "reason", question, &asked->reason, err);
    asked->most = (uint32_t)most;
    question->write = write_lines;
    return e;
}

static int ask_supply(const char *root, const struct adp_http_request *request,
                      struct adp_question *question, struct adp_error *err)
{
    int e = paths_of(root, request, "page", &question->logs, err);
    question->write = write_supply;
    return !e && question->logs.n != 1
               ? adp_error_set(err, ADP_EINVAL,
                               "of which page? page=PATH, or target=NUMBER")
               : e;
}

static int ask(const char *root, const struct adp_http_request *request,
               struct adp_question *question, struct adp_error *err)
{
    if (adp_http_text_is(request->path, "/api/experiments")) {
        question->write = write_experiments;
        return 0;
    }
    if (adp_http_text_is(request->path, "/api/report")) {
        question->write = write_report;
        return paths_of(root, request, "log", &question->logs, err);
    }
    if (adp_http_text_is(request->path, "/api/compare"))
        return ask_compare(root, request, question, err);
    if (adp_http_text_is(request->path, "/api/lines"))
        return ask_lines(root, request, question, err);
    if (adp_http_text_is(request->path, "/api/supply"))
        return ask_supply(root, request, question, err);
    return adp_error_set(err, ADP_ENOENT, "there is nothing here by that name");
}

/* What an answer is kept by. Lines are not kept: they are many, and read quickly. */
static void name_it(const struct adp_http_request *request, struct adp_question *question)
{
    size_t len = request->path.len + request->query.len + 2;
    if (question->write == write_lines || question->write == write_supply ||
        len > ADP_QUESTION_TEXT)
        return;
    question->asked = malloc(len);
    if (question->asked)
        snprintf(question->asked, len, "%.*s?%.*s", (int)request->path.len,
                 request->path.at, (int)request->query.len,
                 request->query.at ? request->query.at : "");
}

int adp_question_read(const char *root, const struct adp_http_request *request,
                      struct adp_question **ret, struct adp_error *err)
{
    struct adp_question *question = calloc(1, sizeof *question);
    if (!question)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    question->exchange = request->exchange;
    question->excerpt.at = NAN;
    int e = ask(root, request, question, err);
    if (e) {
        adp_question_destroy(question);
        return e;
    }
    name_it(request, question);
    *ret = question;
    return 0;
}

int adp_question_write(const struct adp_question *question, FILE *to,
                       struct adp_error *err)
{
    return question->write(question, to, err);
}

void adp_question_destroy(struct adp_question *question)
{
    if (!question)
        return;
    values_finish(&question->logs);
    values_finish(&question->names);
    free(question->asked);
    free(question);
}
