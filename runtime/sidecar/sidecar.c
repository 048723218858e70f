/* SPDX-License-Identifier: MIT */
/* The sidecar as a whole (sidecar.h): life, sockets, signals. control.c is its first
 * thread's work. */
#include "runtime/sidecar/sidecar.h"

#include "core/error.h"
#include "runtime/http/listen.h"
#include "runtime/sidecar/control.h"
#include "runtime/sidecar/datagram.h"
#include "runtime/sidecar/facts.h"
#include "runtime/sidecar/notify.h"
#include "runtime/sidecar/state.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
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

/* --- sockets --- */

static bool is_given(const struct adp_sidecar *s, enum adp_socket_kind kind)
{
    for (uint32_t i = 0; i < s->options.n_sockets; i++)
        if (s->options.sockets[i].kind == kind)
            return true;
    return false;
}

/* Whether an inherited socket can be reached from this machine only. */
static bool is_local(int fd)
{
    struct sockaddr_storage at = { 0 };
    socklen_t len = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return false;
    if (at.ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)&at)->sin_addr.s_addr) >> 24 == 127;
    if (at.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&at)->sin6_addr);
    return at.ss_family == AF_UNIX;
}

static int add_socket(struct adp_sidecar *s, int fd, enum adp_socket_kind kind,
                      bool opened, adp_error *err)
{
    if (s->n_sockets == ADP_MAX_SOCKETS) {
        close(fd);
        return adp_error_set(err, ADP_EFULL, "more than %u sockets", ADP_MAX_SOCKETS);
    }
    s->opened[s->n_sockets] = opened;
    s->socket[s->n_sockets++] = (struct adp_socket) { fd, kind };
    return 0;
}

static int take_given(struct adp_sidecar *s, adp_error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < s->options.n_sockets; i++) {
        const struct adp_socket *given = &s->options.sockets[i];
        int added = add_socket(s, given->fd, given->kind, false, err);
        bool closed = given->kind != ADP_SOCKET_HTTP || !s->serve.token_file;
        if (code == 0 && added == 0 && closed && !is_local(given->fd))
            code =
                adp_error_set(err, ADP_EINVAL,
                              "a socket that was handed over can be reached from other "
                              "machines, which needs serve.token_file (and never for "
                              "SPOP and outcomes)");
        if (code == 0)
            code = added;
    }
    s->options.n_sockets = 0;
    return code;
}

static int open_one(struct adp_sidecar *s, const struct adp_listen_setting *listen,
                    enum adp_socket_kind kind, adp_error *err)
{
    const struct adp_http_listen_options options = {
        .mode = listen->mode,
        .group = listen->group,
        .datagrams = kind == ADP_SOCKET_OUTCOMES,
    };
    int fd, code = adp_http_listen(listen->address, &options, &fd);
    if (code < 0)
        return adp_error_set(err, ADP_EIO, "%s: cannot listen: %s", listen->address,
                             adp_http_error_text(code));
    if (options.datagrams)
        adp_datagram_widen(fd);
    return add_socket(s, fd, kind, true, err);
}

static int open_all(struct adp_sidecar *s, const struct adp_listen_settings *listen,
                    enum adp_socket_kind kind, adp_error *err)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < listen->n; i++)
        code = open_one(s, &listen->list[i], kind, err);
    return code;
}

static int open_sockets(struct adp_sidecar *s, adp_error *err)
{
    struct adp_listen_setting own = { .address = ADP_DEFAULT_LISTEN, .local = true };
    const struct adp_listen_settings ours = { &own, 1 };
    const struct adp_listen_settings *named[] = {
        [ADP_SOCKET_HTTP] = s->serve.listen.n ? &s->serve.listen : &ours,
        [ADP_SOCKET_SPOP] = &s->serve.spop,
        [ADP_SOCKET_OUTCOMES] = &s->serve.outcomes,
    };
    bool open[3];
    for (int kind = 0; kind < 3; kind++)
        open[kind] = !is_given(s, (enum adp_socket_kind)kind);
    int code = take_given(s, err);
    for (int kind = 0; code == 0 && kind < 3; kind++)
        if (open[kind])
            code = open_all(s, named[kind], (enum adp_socket_kind)kind, err);
    return code;
}

bool adp_sidecar_address(const struct adp_sidecar *sidecar, enum adp_socket_kind kind,
                         uint32_t i, char *to, size_t cap)
{
    for (uint32_t k = 0; k < sidecar->n_sockets; k++) {
        if (sidecar->socket[k].kind != kind || i--)
            continue;
        return kind == ADP_SOCKET_OUTCOMES
                   ? adp_datagram_address(sidecar->socket[k].fd, to, cap)
                   : adp_http_listen_address(sidecar->socket[k].fd, to, cap) == 0;
    }
    return false;
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

static void on_sighup(struct adp_sidecar *s)
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
            on_sighup(s);
        else
            adp_sidecar_stop(s);
    }
}

static int watch_signals(struct adp_sidecar *s, adp_error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    /* Before any thread is made: all inherit it. */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals < 0
               ? adp_error_set(err, ADP_EIO, "no signalfd: %s", strerror(errno))
               : 0;
}

/* --- create --- */

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

static int make_spoa(struct adp_sidecar *s, adp_error *err)
{
    if (s->spoa)
        return 0;
    int code = adp_desk_init(&s->spop_desk, s->rt, &s->serve, 65536, err);
    return code < 0 ? code : adp_spoa_create(&s->spoa, &s->spop_desk, err);
}

static int attach(struct adp_sidecar *s, adp_error *err)
{
    int code = watch_fd(s, s->signals, on_signal, err);
    for (uint32_t i = 0; code == 0 && i < s->n_sockets; i++) {
        int fd = s->socket[i].fd;
        switch (s->socket[i].kind) {
        case ADP_SOCKET_HTTP:
            code = hand_out(s, fd, err);
            break;
        case ADP_SOCKET_OUTCOMES:
            code = watch_fd(s, fd, on_datagrams, err);
            break;
        default:
            code = make_spoa(s, err);
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

static int create(struct adp_sidecar *s, adp_errors *errors, adp_error *err)
{
    const struct adp_host_options host = { .serving = true };
    adp_errors again = { 0 };
    int code = watch_signals(s, err);
    if (code == 0)
        code = adp_host_open(&s->rt, s->options.config, &host, errors);
    if (code == 0) {
        /* Again, for ourselves: the runtime's own goes with a reload. */
        code = adp_config_read_file(&s->first, s->options.config, &again);
        if (code < 0)
            adp_error_set(err, code, "%s changed while it was read", s->options.config);
        adp_errors_free(&again);
    }
    if (code < 0)
        return code;
    s->config = s->first;
    s->serve = s->first->serve;
    adp_facts_settle(&s->serve);
    s->datagram = malloc(ADP_DATAGRAM_MAX);
    if (!s->datagram)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    code = adp_token_read(&s->token, s->serve.token_file, err);
    if (code == 0)
        code = open_sockets(s, err);
    if (code == 0)
        code = adp_runtime_start(s->rt, err);
    if (code == 0)
        code = make_loops(s, err);
    if (code == 0)
        code = attach(s, err);
    return code < 0 ? code : adp_control_begin(s, err);
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
    take_given(s, NULL); /* not yet, when it failed early */
    for (uint32_t i = 0; i < s->n_loops; i++)
        adp_loop_finish(&s->loop[i]);
    adp_spoa_destroy(s->spoa);
    adp_desk_finish(&s->spop_desk);
    for (uint32_t i = 0; i < s->n_sockets; i++) {
        if (s->opened[i])
            adp_http_listen_close(s->socket[i].fd);
        else
            close(s->socket[i].fd);
    }
    adp_scraper_destroy(s->scraper);
    adp_runtime_close(s->rt, NULL);
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
    for (uint32_t i = 0; i < s->n_sockets; i++)
        while (s->socket[i].kind == ADP_SOCKET_OUTCOMES &&
               adp_datagram_take(&s->loop[0].desk, s->socket[i].fd, s->datagram))
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
    int code = start_threads(s, err);
    if (code == 0) {
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

void adp_sidecar_stop(struct adp_sidecar *sidecar)
{
    struct adp_sidecar *s = sidecar;
    uint64_t within = s->serve.drain_ns ? s->serve.drain_ns : DEFAULT_DRAIN_NS;
    pthread_mutex_lock(&s->mutex);
    bool again = s->stops++;
    s->stop = true;
    wake(s);
    pthread_mutex_unlock(&s->mutex);
    atomic_store(&s->board.stopping, true);
    if (!again)
        adp_sidecar_say(s, "stopping; within %g s, at once if told again",
                        (double)within * 1e-9);
    for (uint32_t i = 0; i < s->n_loops; i++)
        adp_http_server_drain(s->loop[i].server,
                              again ? 0 : (uint32_t)(within / 1000000));
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
