/* SPDX-License-Identifier: MIT */
/* The sidecar as a whole (sidecar.h): life, sockets, signals. control.c is its first
 * thread's work. */
#include "runtime/sidecar/sidecar.h"

#include "core/error.h"
#include "runtime/sidecar/above.h"
#include "runtime/sidecar/control.h"
#include "runtime/sidecar/datagram.h"
#include "runtime/sidecar/facts.h"
#include "runtime/sidecar/notify.h"
#include "runtime/sidecar/state.h"
#include "runtime/supervise/heeded.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DEFAULT_DRAIN_NS UINT64_C(10000000000)

void adp_sidecar_say(const struct adp_sidecar *s, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (!s->options.say)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    s->options.say(s->options.ctx, text);
}

bool adp_sidecar_is_worker(void)
{
    return adp_worker_is_supervised();
}

bool adp_sidecar_address(const struct adp_sidecar *sidecar, enum adp_socket_kind kind,
                         uint32_t i, char *to, size_t cap)
{
    return adp_sockets_address(&sidecar->sockets, kind, i, to, cap);
}

/* --- what the first loop does besides --- */

static void on_datagrams(void *ctx, int fd)
{
    struct adp_sidecar *s = ctx;
    adp_datagram_take(&s->loop[0].desk, fd, s->datagram);
}

/* With the mutex: control.c waits for either. */
static void wake(struct adp_sidecar *s)
{
    pthread_cond_signal(&s->asked);
    if (s->scraper)
        adp_scraper_wake(s->scraper);
}

void adp_sidecar_reload(struct adp_sidecar *s)
{
    pthread_mutex_lock(&s->mutex);
    s->reload = s->reopen = true;
    wake(s);
    pthread_mutex_unlock(&s->mutex);
}

static void on_signal(void *ctx, int fd)
{
    struct adp_sidecar *s = ctx;
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGHUP)
            adp_sidecar_reload(s);
        else
            adp_sidecar_stop(s);
    }
}

static int watch_signals(struct adp_sidecar *s, adp_error *err)
{
    sigset_t set;
    sigemptyset(&set);
    adp_add_unless_ignored(&set, SIGTERM);
    adp_add_unless_ignored(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    /* Before any thread is made: all inherit it. */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals < 0
               ? adp_error_set(err, ADP_EIO, "no signalfd: %s", strerror(errno))
               : 0;
}

/* --- create --- */

static int open_sockets(struct adp_sidecar *s, adp_error *err)
{
    uint32_t given = s->options.n_sockets;
    s->options.n_sockets = 0; /* taken from here on */
    return s->worker
               ? adp_above_sockets(s, err)
               : adp_sockets_open(&s->sockets, &s->serve, s->options.sockets, given, err);
}

static int watch_fd(struct adp_sidecar *s, int fd, void (*readable)(void *, int),
                    adp_error *err)
{
    int code = adp_http_server_watch(s->loop[0].server, fd, readable, s);
    return code < 0 ? adp_error_set(err, ADP_EIO, "%s", adp_http_error_text(code)) : 0;
}

/* Every loop gets a duplicate of each socket of HTTP. */
static int hand_out(struct adp_sidecar *s, int fd, adp_error *err)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < s->n_loops; i++) {
        int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (own < 0)
            return adp_error_set(err, ADP_EIO, "no descriptor: %s", strerror(errno));
        code = adp_http_server_listen_take(s->loop[i].server, own);
    }
    return code < 0 ? adp_error_set(err, ADP_EIO, "cannot listen: %s",
                                    adp_http_error_text(code))
                    : 0;
}

int adp_sidecar_make_spoa(struct adp_sidecar *s, adp_error *err)
{
    if (s->spoa)
        return 0;
    int code = adp_desk_init(&s->spop_desk, s->rt, &s->serve, 65536, err);
    if (code == 0)
        code = adp_spoa_create(&s->spoa, &s->spop_desk, err);
    if (code == 0 && s->worker)
        adp_spoa_supervise(s->spoa, s->worker, s->n_loops * adp_above_places(&s->serve),
                           adp_above_depart, s);
    return code;
}

static int attach(struct adp_sidecar *s, adp_error *err)
{
    int code =
        s->worker ? adp_above_watch(s, err) : watch_fd(s, s->signals, on_signal, err);
    for (uint32_t i = 0; code == 0 && i < s->sockets.n; i++) {
        int fd = s->sockets.list[i].fd;
        switch (s->sockets.list[i].kind) {
        case ADP_SOCKET_HTTP:
            code = hand_out(s, fd, err);
            break;
        case ADP_SOCKET_OUTCOMES:
            code = watch_fd(s, fd, on_datagrams, err);
            break;
        default:
            code = adp_sidecar_make_spoa(s, err);
            if (code == 0)
                code = adp_spoa_listen(s->spoa, fd, err);
        }
    }
    return code;
}

static int make_loops(struct adp_sidecar *s, adp_error *err)
{
    uint32_t n = s->serve.threads ? s->serve.threads : 1;
    int code = 0;
    while (code == 0 && s->n_loops < n) {
        struct adp_loop *loop = &s->loop[s->n_loops++];
        code = adp_loop_init(loop, s, s->n_loops - 1, err);
    }
    return code;
}

static int read_again(struct adp_sidecar *s, struct adp_config **ret, const char *text,
                      adp_error *err)
{
    adp_errors again = { 0 };
    int code = adp_config_read_text(ret, text, strlen(text), s->options.config, s->folder,
                                    &again);
    adp_errors_free(&again);
    return code < 0 ? adp_error_set(err, code, "out of memory") : 0;
}

/* The configuration into the runtime, and again for ourselves: the runtime's own goes with a
 * reload. `serve`: the one whose `serve:` is in force. */
static int open_text(struct adp_sidecar *s, const char *text, const char *serve,
                     adp_errors *errors, adp_error *err)
{
    const struct adp_host_options host = { .serving = true,
                                           .beyond = s->worker ? &s->beyond : NULL };
    int code =
        adp_host_open_text(&s->rt, text, s->options.config, s->folder, &host, errors);
    if (code == 0)
        code = read_again(s, &s->first, serve, err);
    s->config = s->first;
    if (code == 0 && serve != text)
        code = read_again(s, &s->config, text, err);
    return code;
}

/* Notes were told when it came into force; not so what has become of policies since. */
static void say_lost(const struct adp_sidecar *s, const adp_errors *errors)
{
    char text[1024];
    for (uint32_t i = 0; i < errors->n; i++) {
        if (errors->list[i].code == ADP_NOTE)
            continue;
        adp_error_print(&errors->list[i], text, sizeof text);
        adp_sidecar_say(
            s,
            "%s; the policy is in quarantine: until a reload it is not asked, "
            "and every request is admitted",
            text);
    }
}

/* The file's; or, of a worker that follows another, what was in force. */
static int open_config(struct adp_sidecar *s, adp_errors *errors, adp_error *err)
{
    char *text = NULL, *kept = adp_above_kept(s, ADP_ABOVE_CONFIG);
    char *serve = kept ? adp_above_kept(s, ADP_ABOVE_SERVE) : NULL;
    adp_errors unread = { 0 }; /* what became of the file does not matter */
    size_t len;
    int code = adp_config_load_file(&text, &len, s->folder, s->options.config,
                                    kept ? &unread : errors);
    adp_errors_free(&unread);
    if (kept) {
        free(text);
        text = kept;
        code = 0;
    }
    if (code == 0)
        code = open_text(s, text, serve ? serve : text, errors, err);
    if (code == 0)
        adp_above_keep(s, ADP_ABOVE_CONFIG, text);
    if (code == 0 && !serve)
        adp_above_keep(s, ADP_ABOVE_SERVE, text);
    if (code == 0 && kept) {
        say_lost(s, errors);
        adp_errors_free(errors);
    }
    free(serve);
    free(text);
    return code;
}

void adp_sidecar_keep_token(struct adp_sidecar *s)
{
    char text[ADP_TOKEN_MAX + 1];
    if (adp_token_text(&s->token, text, sizeof text))
        adp_above_keep(s, ADP_ABOVE_TOKEN, text);
    explicit_bzero(text, sizeof text);
}

/* As the configuration. */
static int open_token(struct adp_sidecar *s, adp_error *err)
{
    char *kept = s->serve.token_file ? adp_above_kept(s, ADP_ABOVE_TOKEN) : NULL;
    int code = kept ? adp_token_set(&s->token, kept, err)
                    : adp_token_read(&s->token, s->serve.token_file, err);
    if (code == 0)
        adp_sidecar_keep_token(s);
    free(kept);
    return code;
}

static int begin_signals(struct adp_sidecar *s, adp_error *err)
{
    s->watchdog_ns = s->worker ? 0 : adp_notify_period_ns();
    return s->worker ? 0 : watch_signals(s, err);
}

static void say_scarce(const struct adp_sidecar *s)
{
    char text[256];
    uint64_t threads = s->serve.threads ? s->serve.threads : 1;
    uint64_t spop = s->serve.spop.n ? ADP_SPOA_CONNECTIONS : 0;
    if (adp_sockets_are_scarce(threads * adp_above_places(&s->serve) + spop, text,
                               sizeof text))
        adp_sidecar_say(s, "%s", text);
}

static int create(struct adp_sidecar *s, adp_errors *errors, adp_error *err)
{
    int code = adp_above_attach(s, err);
    if (code == 0)
        code = begin_signals(s, err);
    if (code == 0)
        code = open_config(s, errors, err);
    if (code < 0)
        return code;
    s->serve = s->first->serve;
    adp_facts_settle(&s->serve);
    s->datagram = malloc(ADP_DATAGRAM_MAX);
    if (!s->datagram)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    code = open_token(s, err);
    if (code == 0)
        code = open_sockets(s, err);
    if (code == 0 && !s->worker) /* else it was said above */
        say_scarce(s);
    if (code == 0)
        code = adp_runtime_start(s->rt, err);
    if (code == 0)
        code = make_loops(s, err);
    if (code == 0)
        code = attach(s, err);
    if (code == 0)
        code = adp_control_begin(s, err);
    if (code == 0)
        adp_above_adopt(s);
    return code;
}

int adp_sidecar_create(struct adp_sidecar **ret,
                       const struct adp_sidecar_options *options, adp_errors *errors,
                       adp_error *err)
{
    struct adp_sidecar *s = calloc(1, sizeof *s);
    if (!s) {
        for (uint32_t i = 0; i < options->n_sockets; i++)
            close(options->sockets[i].fd);
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    s->options = *options;
    s->signals = -1;
    for (uint32_t i = 0; i < ADP_MAX_LOOPS; i++)
        s->loop[i].woken = -1;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->asked, NULL);
    adp_board_init(&s->board);
    int code = create(s, errors, err);
    if (code < 0) {
        adp_sidecar_destroy(s);
        return code;
    }
    *ret = s;
    return 0;
}

void adp_sidecar_destroy(struct adp_sidecar *sidecar)
{
    struct adp_sidecar *s = sidecar;
    if (!s)
        return;
    for (uint32_t i = 0; i < s->options.n_sockets; i++)
        close(s->options.sockets[i].fd); /* not taken yet: it failed early */
    for (uint32_t i = 0; i < s->n_loops; i++)
        adp_loop_finish(&s->loop[i]);
    adp_spoa_destroy(s->spoa);
    adp_desk_finish(&s->spop_desk);
    adp_sockets_close(&s->sockets);
    adp_scraper_destroy(s->scraper);
    adp_runtime_close(s->rt, NULL);
    adp_above_detach(s);
    adp_token_finish(&s->token);
    if (s->config != s->first)
        adp_config_destroy(s->config);
    adp_config_destroy(s->first);
    if (s->signals >= 0)
        close(s->signals);
    free(s->datagram);
    adp_board_finish(&s->board);
    pthread_cond_destroy(&s->asked);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

/* --- run --- */

static void *serve(void *ctx)
{
    struct adp_loop *loop = ctx;
    adp_http_server_run(loop->server);
    adp_above_beat(loop, 0);
    adp_above_depart(loop->sidecar);
    return NULL;
}

static int start_threads(struct adp_sidecar *s, adp_error *err)
{
    for (uint32_t i = 0; i < s->n_loops; i++) {
        int code = pthread_create(&s->loop[i].thread, NULL, serve, &s->loop[i]);
        if (code)
            return adp_error_set(err, ADP_EIO, "no thread: %s", strerror(code));
        s->loop[i].running = true;
    }
    return s->spoa ? adp_spoa_start(s->spoa, err) : 0;
}

static void join_threads(struct adp_sidecar *s)
{
    adp_spoa_stop(s->spoa);
    for (uint32_t i = 0; i < s->n_loops; i++)
        if (s->loop[i].running) {
            pthread_join(s->loop[i].thread, NULL);
            s->loop[i].running = false;
        }
}

/* What came while the loops ended. */
static void take_the_rest(struct adp_sidecar *s)
{
    for (uint32_t i = 0; i < s->sockets.n; i++)
        while (s->sockets.list[i].kind == ADP_SOCKET_OUTCOMES &&
               adp_datagram_take(&s->loop[0].desk, s->sockets.list[i].fd, s->datagram))
            ;
}

/* Before the runtime goes. */
static void close_lanes(struct adp_sidecar *s)
{
    for (uint32_t i = 0; i < s->n_loops; i++) {
        adp_lane_close(s->loop[i].desk.lane);
        s->loop[i].desk.lane = NULL;
    }
    adp_lane_close(s->spop_desk.lane);
    s->spop_desk.lane = NULL;
}

int adp_sidecar_run(struct adp_sidecar *sidecar, adp_error *err)
{
    struct adp_sidecar *s = sidecar;
    adp_above_ready(
        s); /* all is adopted: threads have places of their own from here on */
    int code = start_threads(s, err);
    if (code == 0) {
        if (!s->worker)
            adp_sockets_say(&s->sockets, &s->options);
        adp_notify("READY=1");
        adp_control_run(s);
        adp_notify("STOPPING=1");
    } else
        adp_sidecar_stop(s);
    join_threads(s);
    take_the_rest(s);
    close_lanes(s);
    int closed = adp_runtime_close(s->rt, err);
    s->rt = NULL;
    return code < 0 ? code : closed;
}

/* --- from anywhere --- */

/* Returns whether it was told before. */
static bool note_stop(struct adp_sidecar *s)
{
    pthread_mutex_lock(&s->mutex);
    bool again = s->stops++;
    s->stop = true;
    wake(s);
    pthread_mutex_unlock(&s->mutex);
    atomic_store(&s->board.stopping, true);
    return again;
}

static void drain(struct adp_sidecar *s, uint32_t within_ms)
{
    adp_sockets_refuse(&s->sockets);
    for (uint32_t i = 0; i < s->n_loops; i++)
        adp_http_server_drain(s->loop[i].server, within_ms);
}

void adp_sidecar_stop(struct adp_sidecar *sidecar)
{
    struct adp_sidecar *s = sidecar;
    uint64_t within = s->serve.drain_ns ? s->serve.drain_ns : DEFAULT_DRAIN_NS;
    bool again = note_stop(s);
    if (!again)
        adp_sidecar_say(s, "stopping; within %g s, at once if told again",
                        (double)within * 1e-9);
    drain(s, again ? 0 : (uint32_t)(within / 1000000));
}

void adp_sidecar_stop_within(struct adp_sidecar *s, uint32_t within_ms)
{
    note_stop(s);
    drain(s, within_ms);
}

bool adp_sidecar_ask_reload(struct adp_sidecar *s, const struct adp_waiter *waiter)
{
    pthread_mutex_lock(&s->mutex);
    bool room = s->n_waiters < ADP_MAX_WAITERS;
    if (room) {
        s->waiter[s->n_waiters++] = *waiter;
        s->reload = true;
        wake(s);
    }
    pthread_mutex_unlock(&s->mutex);
    return room;
}
