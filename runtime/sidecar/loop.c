/* SPDX-License-Identifier: MIT */
/* A loop: one thread, one HTTP server, the endpoints by their paths. */
#include "core/error.h"
#include "runtime/sidecar/above.h"
#include "runtime/sidecar/expose.h"
#include "runtime/sidecar/notify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void answer_text(struct adp_loop *loop, const struct adp_http_request *request,
                        uint32_t status, const char *type, const char *text, size_t len)
{
    const struct adp_http_answer answer = {
        .status = status, .type = type, .body = text, .body_len = len
    };
    adp_http_answer(loop->server, request->exchange, &answer);
}

static void answer_word(struct adp_loop *loop, const struct adp_http_request *request,
                        uint32_t status, const char *text)
{
    answer_text(loop, request, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* --- how it stands --- */

static void answer_health(struct adp_loop *loop, const struct adp_http_request *request)
{
    answer_word(loop, request, 200, "ok\n");
}

static void answer_ready(struct adp_loop *loop, const struct adp_http_request *request)
{
    struct adp_board *board = &loop->sidecar->board;
    if (atomic_load(&board->stopping))
        answer_word(loop, request, 503, "stopping\n");
    else if (atomic_load(&board->ready))
        answer_word(loop, request, 200, "ready\n");
    else
        answer_word(loop, request, 503, "no page of metrics has come yet\n");
}

static void add_counts(struct adp_http_counts *to, const struct adp_http_counts *more)
{
    to->connections += more->connections;
    to->open += more->open;
    to->requests += more->requests;
    to->refused += more->refused;
    to->timeouts += more->timeouts;
    to->idle_closed += more->idle_closed;
    to->stalled += more->stalled;
    to->evicted += more->evicted;
    to->turned_away += more->turned_away;
    to->gone += more->gone;
}

static void answer_metrics(struct adp_loop *loop, const struct adp_http_request *request)
{
    struct adp_sidecar *s = loop->sidecar;
    struct adp_board_copy board;
    struct adp_expose from = { .rt = s->rt, .board = &board, .worker = s->worker };
    for (uint32_t i = 0; i < s->n_loops; i++) {
        struct adp_loop *l = &s->loop[i];
        pthread_mutex_lock(&l->mutex);
        struct adp_http_counts seen = l->seen;
        pthread_mutex_unlock(&l->mutex);
        if (l == loop)
            seen = adp_http_server_counts(l->server);
        add_counts(&from.http, &seen);
        from.desk[from.n_desks++] = &l->desk.counts;
    }
    if (s->spoa) {
        from.desk[from.n_desks++] = &s->spop_desk.counts;
        adp_spoa_counts(s->spoa, &from.spop_connections, &from.spop_frames);
    }
    from.open = adp_expose_is_open(adp_http_field_find(request, "accept"));
    adp_board_read(&s->board, &board);
    adp_line_clear(&loop->desk.out);
    adp_expose_write(&loop->desk.out, &from);
    if (loop->desk.out.broken)
        adp_refuse(loop, request, 500, "out of memory");
    else
        answer_text(loop, request, 200, adp_expose_type(from.open), loop->desk.out.text,
                    loop->desk.out.len);
}

/* --- reload: asked of the control thread, answered when it is done --- */

static void answer_reload(struct adp_loop *loop, const struct adp_http_request *request)
{
    struct adp_waiter waiter = { loop->number, request->exchange };
    if (!adp_sidecar_ask_reload(loop->sidecar, &waiter))
        adp_refuse(loop, request, 503, "too many wait for a reload already");
}

void adp_loop_reloaded(struct adp_loop *loop, const struct adp_waiter *waiters,
                       uint32_t n, uint32_t status, const char *answer)
{
    uint64_t one = 1;
    pthread_mutex_lock(&loop->mutex);
    /* Behind those of a reload before, if they are there still: this one is newer. */
    for (uint32_t i = 0; i < n; i++)
        if (waiters[i].loop == loop->number && loop->n_answered < 2 * ADP_MAX_WAITERS)
            loop->answered[loop->n_answered++] = waiters[i].exchange;
    loop->answer_status = status;
    snprintf(loop->answer, sizeof loop->answer, "%s", answer);
    bool any = loop->n_answered;
    pthread_mutex_unlock(&loop->mutex);
    if (any)
        (void)!write(loop->woken, &one, sizeof one);
}

static void on_woken(void *ctx, int fd)
{
    struct adp_loop *loop = ctx;
    uint64_t count;
    (void)!read(fd, &count, sizeof count);
    pthread_mutex_lock(&loop->mutex);
    const struct adp_http_answer answer = { .status = loop->answer_status,
                                            .type = "application/json",
                                            .body = loop->answer,
                                            .body_len = strlen(loop->answer) };
    for (uint32_t i = 0; i < loop->n_answered; i++)
        adp_http_answer(loop->server, loop->answered[i], &answer);
    loop->n_answered = 0;
    pthread_mutex_unlock(&loop->mutex);
}

/* --- paths --- */

static const struct endpoint {
    const char *path;
    bool get, post;
    bool open; /* without the token: says nothing that is anybody's */
    void (*answer)(struct adp_loop *loop, const struct adp_http_request *request);
} endpoints[] = {
    { "/v1/decide", false, true, false, adp_decide_answer },
    { "/v1/outcome", false, true, false, adp_outcome_answer },
    { "/v1/reload", false, true, false, answer_reload },
    { "/metrics", true, false, false, answer_metrics },
    { "/healthz", true, false, true, answer_health },
    { "/readyz", true, false, true, answer_ready },
};

/* /v1/auth, and everything below: the hottest, so looked at first. Any method: Envoy hands
 * on its client's. */
static bool is_auth(struct adp_http_text path)
{
    static const char word[] = "/v1/auth";
    size_t n = sizeof word - 1;
    return path.len >= n && memcmp(path.at, word, n) == 0 &&
           (path.len == n || path.at[n] == '/');
}

static void answer_endpoint(struct adp_loop *loop, const struct adp_http_request *request,
                            const struct endpoint *e)
{
    bool get = request->method == ADP_HTTP_GET || request->method == ADP_HTTP_HEAD;
    bool post = request->method == ADP_HTTP_POST;
    if (!e->open && !adp_token_allows(&loop->sidecar->token, request))
        adp_refuse(loop, request, 401, "a token is needed: Authorization: Bearer TOKEN");
    else if (!(e->get && get) && !(e->post && post))
        adp_refuse_method(loop, request, e->path, e->post ? "POST" : "GET, HEAD");
    else
        e->answer(loop, request);
}

bool adp_loop_decides(uint32_t i)
{
    return i < sizeof endpoints / sizeof endpoints[0] &&
           endpoints[i].answer == adp_decide_answer;
}

void adp_loop_answer_again(struct adp_loop *loop, const struct adp_http_request *request,
                           uint32_t i)
{
    if (i < sizeof endpoints / sizeof endpoints[0] && endpoints[i].get)
        endpoints[i].answer(loop, request);
    else
        adp_refuse(loop, request, 503, "this was lost when a policy failed");
}

static void on_request(void *ctx, const struct adp_http_request *request)
{
    struct adp_loop *loop = ctx;
    if (is_auth(request->path)) {
        if (adp_token_allows(&loop->sidecar->token, request))
            adp_auth_answer(loop, request);
        else
            adp_refuse(loop, request, 401, "a token is needed: X-Admit-Token: TOKEN");
        return;
    }
    for (size_t i = 0; i < sizeof endpoints / sizeof endpoints[0]; i++)
        if (adp_http_text_is(request->path, endpoints[i].path)) {
            adp_above_owe(loop, ADP_OWED_ENDPOINT + (uint32_t)i, NULL);
            answer_endpoint(loop, request, &endpoints[i]);
            return;
        }
    adp_refuse(
        loop, request, 404,
        "expected /v1/auth, /v1/decide, /v1/outcome, /v1/reload, /metrics, /healthz "
        "or /readyz");
}

static void on_tick(void *ctx, uint64_t now_ns)
{
    struct adp_loop *loop = ctx;
    struct adp_sidecar *s = loop->sidecar;
    adp_above_beat(loop, now_ns);
    if (!loop->number && s->watchdog_ns && now_ns - s->watched_ns >= s->watchdog_ns) {
        s->watched_ns = now_ns;
        adp_notify_watchdog();
    }
    pthread_mutex_lock(&loop->mutex);
    loop->seen = adp_http_server_counts(loop->server);
    pthread_mutex_unlock(&loop->mutex);
}

/* --- life --- */

/* As many as there can be: who sends more is not asked about, and a gateway may fail open. */
enum { MOST_FIELDS = 256 };

static uint32_t ms(uint64_t ns)
{
    return (uint32_t)((ns + 999999) / 1000000);
}

static struct adp_http_options options_of(struct adp_loop *loop)
{
    const struct adp_serve_setting *serve = &loop->sidecar->serve;
    bool above = loop->sidecar->worker;
    return (struct adp_http_options) {
        .calls = { .ctx = loop,
                   .request = on_request,
                   .standing = above ? adp_above_stand : NULL,
                   .hold = above ? adp_above_hold : NULL,
                   .tick = on_tick },
        .limits = { .head_bytes = (uint32_t)serve->head_bytes,
                    .fields = MOST_FIELDS,
                    .body_bytes = (uint32_t)serve->body_bytes,
                    .connections = serve->connections,
                    /* As many as one process may have to answer in another's place. */
                    .pipelined = above ? ADP_OWED_MAX : 0,
                    .head_ms = ms(serve->head_ns),
                    .body_ms = ms(serve->body_ns),
                    .idle_ms = ms(serve->idle_ns),
                    .write_ms = ms(serve->write_ns) },
    };
}

int adp_loop_init(struct adp_loop *loop, struct adp_sidecar *s, uint32_t number,
                  adp_error *err)
{
    loop->sidecar = s;
    loop->number = number;
    loop->first_place = number * adp_above_places(&s->serve);
    pthread_mutex_init(&loop->mutex, NULL);
    loop->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->woken < 0)
        return adp_error_set(err, ADP_EIO, "no eventfd: %s", strerror(errno));
    struct adp_http_options options = options_of(loop);
    int code = adp_http_limits_settle(&options.limits);
    if (code == 0)
        code = adp_http_server_create(&loop->server, &options);
    if (code == 0)
        code = adp_http_server_watch(loop->server, loop->woken, on_woken, loop);
    if (code < 0)
        return adp_error_set(err, ADP_EIO, "%s", adp_http_error_text(code));
    return adp_desk_init(&loop->desk, s->rt, &s->serve,
                         2 * (size_t)options.limits.head_bytes, err);
}

void adp_loop_finish(struct adp_loop *loop)
{
    adp_http_server_destroy(loop->server);
    adp_desk_finish(&loop->desk);
    if (loop->woken >= 0)
        close(loop->woken);
    pthread_mutex_destroy(&loop->mutex);
}
