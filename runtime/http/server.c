/* SPDX-License-Identifier: MIT */
/* The server: libuv's loop around connections.
 *
 * What happens to a peer is done in one place, settle(): write what is ready, deliver what has
 * room now, then read on, wait, shut or close. It runs right after what was read, and for answers
 * given later in the next turn of the loop: so no request is delivered, and nobody reported gone,
 * from inside the caller's own call of adp_http_answer(). */
#include "runtime/http/http.h"

#include "runtime/http/answer.h"
#include "runtime/http/conn.h"
#include "runtime/http/listen.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum { TICK_MS = 100, READ_BYTES = 65536, ACCEPTS = 64 /* in one turn */ };

union stream {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

/* A connection and its socket. Memory is reused, never given back before the server ends. */
struct peer {
    struct adp_http_conn conn;
    struct adp_http_server *server;
    union stream io;
    uv_write_t write;
    uv_shutdown_t shutdown;
    size_t queued;      /* bytes libuv had still to write when last looked at */
    struct peer *free;  /* the next free one */
    struct peer *later; /* the next one to be settled */
    bool open;          /* the socket; until libuv has closed it */
    bool busy;          /* inside settle() */
    bool writing, reading, is_later;
};

/* Polled, and not libuv's: that goes on accepting for as long as it fails. */
struct listener {
    uv_poll_t poll;
    struct adp_http_server *server;
    struct listener *next;
    int fd, family;
    bool waiting; /* connections wait for a peer, or a descriptor */
};

struct watch {
    uv_poll_t poll;
    void (*readable)(void *ctx, int fd);
    void *ctx;
    struct watch *next;
    int fd;
};

struct adp_http_server {
    struct adp_http_env env;
    struct adp_http_clock clock;
    uv_loop_t loop;
    uv_timer_t timer, cut_off, left_at;
    uv_async_t asked;
    uv_idle_t turn;
    struct listener *listeners;
    struct watch *watches;
    struct peer **peers; /* max_peers of them, n_peers made */
    uint32_t max_peers, n_peers;
    struct peer *free, *later;
    /* UINT32_MAX: not asked for. Relaxed: uv_async_send orders them */
    _Atomic uint32_t drain_ms, leave_ms;
    bool leaving, left;
    int64_t date_s;
    char scratch[READ_BYTES]; /* what was just read */
};

static uint64_t now_of(const struct adp_http_server *server)
{
    return server->clock.mono_ns(server->clock.ctx);
}

static uint64_t system_mono_ns(void *ctx)
{
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int64_t system_wall_s(void *ctx)
{
    (void)ctx;
    return time(NULL);
}

/* --- peers */

static void settle(struct peer *peer);
static void on_turn(uv_idle_t *idle);

static struct peer *free_peer(struct adp_http_server *server)
{
    struct peer *peer = server->free;
    if (peer) {
        server->free = peer->free;
        return peer;
    }
    if (server->n_peers == server->max_peers)
        return NULL;
    peer = calloc(1, sizeof *peer);
    if (!peer || adp_http_conn_init(&peer->conn, &server->env, server->n_peers) < 0) {
        free(peer);
        return NULL;
    }
    peer->server = server;
    server->peers[server->n_peers++] = peer;
    return peer;
}

static void return_peer(struct peer *peer)
{
    peer->free = peer->server->free;
    peer->server->free = peer;
}

static void accept_waiting(struct adp_http_server *server);

/* When draining, the last to go ends the loop. */
static void end_if_drained(struct adp_http_server *server)
{
    if (server->env.draining && !server->env.counts.open)
        uv_stop(&server->loop);
}

/* When leaving, run() returns when nobody is within a request or an answer. */
static void end_if_left(struct adp_http_server *server)
{
    if (!server->leaving || server->left)
        return;
    for (uint32_t i = 0; i < server->n_peers; i++) {
        const struct peer *peer = server->peers[i];
        if (peer->open && adp_http_conn_is_partly(&peer->conn))
            return;
    }
    server->left = true;
    uv_stop(&server->loop);
}

static void on_peer_closed(uv_handle_t *handle)
{
    struct peer *peer = handle->data;
    peer->open = false;
    return_peer(peer);
    accept_waiting(peer->server);
    end_if_drained(peer->server);
}

static void close_peer(struct peer *peer)
{
    if (!peer->open || uv_is_closing(&peer->io.handle))
        return;
    uv_close(&peer->io.handle,
             on_peer_closed); /* first: nothing is written from here on */
    adp_http_conn_close(&peer->conn);
}

/* Has it settled in the next turn of the loop. */
static void settle_later(struct peer *peer)
{
    struct adp_http_server *server = peer->server;
    if (peer->busy || peer->is_later)
        return;
    peer->is_later = true;
    peer->later = server->later;
    server->later = peer;
    uv_idle_start(&server->turn, on_turn);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct peer *peer = handle->data;
    (void)suggested;
    adp_http_conn_reach(&peer->conn, true); /* this is called right before the read */
    *ret = uv_buf_init(peer->server->scratch, READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct peer *peer = stream->data;
    if (n == 0)
        adp_http_conn_reach(&peer->conn, false);
    if (n == 0 || uv_is_closing(&peer->io.handle))
        return;
    peer->busy = true;
    if (n > 0)
        adp_http_conn_input(&peer->conn, buffer->base, (size_t)n, now_of(peer->server));
    else if (n == UV_EOF)
        adp_http_conn_eof(&peer->conn, now_of(peer->server));
    else
        peer->conn.failed = true;
    peer->busy = false;
    if (n == UV_EOF) {
        uv_read_stop(stream);
        peer->reading = false;
    }
    settle(peer);
}

static void set_reading(struct peer *peer, bool reading)
{
    if (peer->reading == reading)
        return;
    peer->reading = reading;
    if (!reading)
        uv_read_stop(&peer->io.stream);
    else if (uv_read_start(&peer->io.stream, on_alloc, on_read) < 0)
        close_peer(peer);
}

static void on_written(uv_write_t *write, int status)
{
    struct peer *peer = write->data;
    peer->writing = false;
    if (uv_is_closing(&peer->io.handle))
        return;
    if (status < 0)
        peer->conn.failed = true;
    else
        adp_http_conn_wrote(&peer->conn, peer->conn.flight.len - peer->conn.flight_at,
                            now_of(peer->server));
    settle(peer);
}

/* Writes what can be written at once, and leaves the rest to libuv. */
static void flush(struct peer *peer)
{
    char *bytes;
    size_t len;
    while (!peer->writing && !peer->conn.failed &&
           (len = adp_http_conn_output(&peer->conn, now_of(peer->server), &bytes)) > 0) {
        /* A length of libuv's is 32 bits wide. */
        uv_buf_t buffer = uv_buf_init(bytes, len > INT32_MAX ? INT32_MAX : (unsigned)len);
        int n = uv_try_write(&peer->io.stream, &buffer, 1);
        if (n == UV_EAGAIN)
            n = 0;
        if (n > 0)
            adp_http_conn_wrote(&peer->conn, (size_t)n, now_of(peer->server));
        if (n >= 0 && (size_t)n < len) {
            buffer = uv_buf_init(bytes + n, (unsigned)(len - (size_t)n));
            peer->write.data = peer;
            peer->writing = true;
            peer->queued = SIZE_MAX;
            n = uv_write(&peer->write, &peer->io.stream, &buffer, 1, on_written);
        }
        if (n < 0) {
            peer->writing = false;
            peer->conn.failed = true;
        }
    }
}

static void on_shut(uv_shutdown_t *shutdown, int status)
{
    (void)shutdown;
    (void)status; /* a socket that cannot be shut is closed by its deadline */
}

static void settle(struct peer *peer)
{
    if (peer->busy || !peer->open || uv_is_closing(&peer->io.handle))
        return;
    peer->busy = true;
    flush(peer);
    while (adp_http_conn_may_resume(&peer->conn)) {
        adp_http_conn_resume(&peer->conn, now_of(peer->server));
        flush(peer);
    }
    peer->busy = false;
    switch (adp_http_conn_next(&peer->conn)) {
    case ADP_HTTP_READ:
        set_reading(peer, !peer->conn.ended && (!peer->server->leaving ||
                                                adp_http_conn_is_partly(&peer->conn)));
        break;
    case ADP_HTTP_WAIT:
        set_reading(peer, false);
        break;
    case ADP_HTTP_SHUT:
        if (uv_shutdown(&peer->shutdown, &peer->io.stream, on_shut) < 0)
            close_peer(peer);
        else
            set_reading(peer, true);
        break;
    case ADP_HTTP_CLOSE:
        close_peer(peer);
        break;
    }
    end_if_left(peer->server);
}

/* Settles those that wait for it; who comes back while this runs is for the next turn. */
static void on_turn(uv_idle_t *idle)
{
    struct adp_http_server *server = idle->data;
    struct peer *peer = server->later;
    server->later = NULL;
    uv_idle_stop(idle);
    while (peer) {
        struct peer *next = peer->later;
        peer->is_later = false;
        settle(peer);
        peer = next;
    }
}

/* --- connections come */

static int init_stream(struct adp_http_server *server, union stream *io, int family)
{
    return family == AF_UNIX ? uv_pipe_init(&server->loop, &io->pipe, 0)
                             : uv_tcp_init(&server->loop, &io->tcp);
}

static int begin_peer(struct peer *peer, int family)
{
    int r = init_stream(peer->server, &peer->io, family);
    if (r < 0) {
        return_peer(peer);
        return r;
    }
    peer->io.handle.data = peer;
    peer->open = true;
    peer->writing = peer->reading = false;
    return 0;
}

/* The socket is there: the connection begins. */
static void welcome(struct peer *peer, int family)
{
    uv_os_fd_t fd = -1;
    if (family != AF_UNIX)
        uv_tcp_nodelay(&peer->io.tcp, 1);
    uv_fileno(&peer->io.handle, &fd);
    adp_http_conn_open(&peer->conn, fd, now_of(peer->server));
}

/* The connection that has waited longest while nothing is owed. */
static struct peer *longest_quiet(struct adp_http_server *server)
{
    struct peer *found = NULL;
    for (uint32_t i = 0; i < server->n_peers; i++) {
        struct peer *peer = server->peers[i];
        if (peer->open && adp_http_conn_is_quiet(&peer->conn) &&
            (!found || peer->conn.since_ns < found->conn.since_ns))
            found = peer;
    }
    return found;
}

/* Whether one more may be served, after closing what may be closed for it. Those turned away
 * before go first or with the others: they are beyond the limit themselves. */
static bool make_room(struct adp_http_server *server)
{
    const uint64_t limit = server->env.limits.connections;
    struct peer *oldest;
    while (server->env.counts.open >= limit && (oldest = longest_quiet(server)) != NULL) {
        server->env.counts.evicted += oldest->conn.phase != ADP_HTTP_LINGER;
        close_peer(oldest);
    }
    return server->env.counts.open < limit;
}

static int open_stream(union stream *io, int family, int fd)
{
    return family == AF_UNIX ? uv_pipe_open(&io->pipe, fd) : uv_tcp_open(&io->tcp, fd);
}

/* Makes a descriptor free, as when all connections are taken; false: there is none to be had. */
static bool spare_descriptor(struct adp_http_server *server)
{
    struct peer *oldest = longest_quiet(server);
    if (!oldest)
        return false;
    server->env.counts.evicted++;
    close_peer(oldest);
    return true;
}

/* Whether another may be accepted at once, after that failed. */
static bool go_on_after(struct adp_http_server *server, int failure)
{
    switch (failure) {
    case EINTR:
    case ECONNABORTED:
        return true;
    case EMFILE:
    case ENFILE:
        return spare_descriptor(server);
    default:
        return false;
    }
}

static void begin_connection(struct listener *listener, struct peer *peer, int fd)
{
    struct adp_http_server *server = listener->server;
    if (begin_peer(peer, listener->family) < 0) {
        close(fd);
        return;
    }
    if (open_stream(&peer->io, listener->family, fd) < 0) {
        close(fd);
        uv_close(&peer->io.handle, on_peer_closed);
        return;
    }
    bool room = make_room(server);
    welcome(peer, listener->family);
    if (!room) {
        server->env.counts.turned_away++;
        adp_http_conn_turn_away(&peer->conn, now_of(server));
    }
    settle(peer);
}

/* False: none is there, or the next ones have to wait. */
static bool accept_one(struct listener *listener)
{
    struct peer *peer = free_peer(listener->server);
    if (!peer) {
        listener->waiting = true;
        return false;
    }
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        begin_connection(listener, peer, fd);
        return true;
    }
    int failure = errno;
    return_peer(peer);
    if (failure == EAGAIN)
        return false;
    listener->waiting = !go_on_after(listener->server, failure);
    return !listener->waiting;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS && accept_one(listener); i++)
        ;
    if (listener->waiting)
        uv_poll_stop(poll);
}

/* There may be room again. */
static void accept_waiting(struct adp_http_server *server)
{
    for (struct listener *l = server->listeners; l; l = l->next)
        if (l->waiting && !uv_is_closing((uv_handle_t *)&l->poll)) {
            l->waiting = false;
            uv_poll_start(&l->poll, UV_READABLE, on_connection);
        }
}

static int family_of(int fd)
{
    int domain = 0;
    socklen_t len = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ? -1 : domain;
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;
    struct listener **at = &listener->server->listeners;
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    close(listener->fd);
    free(listener);
}

int adp_http_server_listen_take(struct adp_http_server *server, int fd)
{
    int r = adp_http_listen_inherited(fd);
    struct listener *listener = r == 0 ? calloc(1, sizeof *listener) : NULL;
    if (!listener) {
        close(fd);
        return r < 0 ? r : UV_ENOMEM;
    }
    listener->server = server;
    listener->family = family_of(fd);
    listener->fd = fd;
    r = uv_poll_init(&server->loop, &listener->poll, fd);
    if (r < 0) {
        close(fd);
        free(listener);
        return r;
    }
    listener->poll.data = listener;
    listener->next = server->listeners;
    server->listeners = listener;
    r = uv_poll_start(&listener->poll, UV_READABLE, on_connection);
    if (r < 0)
        uv_close((uv_handle_t *)&listener->poll, on_listener_closed);
    return r;
}

int adp_http_server_adopt_take(struct adp_http_server *server,
                               const struct adp_http_standing *standing,
                               const void *unread, uint64_t *exchanges)
{
    int family = family_of(standing->fd), r;
    struct peer *peer = NULL;
    if (standing->owed > server->env.limits.pipelined || standing->partly_read ||
        standing->partly_written ||
        (family != AF_UNIX && family != AF_INET && family != AF_INET6))
        r = UV_EINVAL;
    else if (server->env.counts.open >= server->env.limits.connections ||
             !(peer = free_peer(server)))
        r = UV_EMFILE;
    else
        r = begin_peer(peer, family);
    if (r < 0) {
        close(standing->fd);
        return r;
    }
    r = open_stream(&peer->io, family, standing->fd);
    if (r < 0) {
        close(standing->fd);
        uv_close(&peer->io.handle, on_peer_closed);
        return r;
    }
    welcome(peer, family);
    for (uint32_t i = 0; i < standing->owed; i++)
        exchanges[i] = adp_http_conn_owe(&peer->conn, (standing->heads >> i) & 1);
    adp_http_conn_hand(&peer->conn, unread, standing->last ? 0 : standing->unread);
    peer->conn.last = standing->last || (server->env.draining && !peer->conn.in.len);
    settle_later(peer);
    return 0;
}

/* --- answers */

static struct peer *peer_of(struct adp_http_server *server, uint64_t exchange)
{
    uint32_t index = adp_http_exchange_index(exchange);
    return index < server->n_peers ? server->peers[index] : NULL;
}

/* What was answered outside of settle() is sent in the next turn. */
static int answered(struct peer *peer, int r)
{
    if (r == 0 || r == UV_ENOMEM)
        settle_later(peer);
    return r;
}

int adp_http_answer(struct adp_http_server *server, uint64_t exchange,
                    const struct adp_http_answer *answer)
{
    struct peer *peer = peer_of(server, exchange);
    if (!peer)
        return UV_EPIPE;
    return answered(peer, adp_http_conn_answer(&peer->conn, exchange, answer, false));
}

int adp_http_stream_begin(struct adp_http_server *server, uint64_t exchange,
                          const struct adp_http_answer *answer)
{
    struct peer *peer = peer_of(server, exchange);
    if (!peer)
        return UV_EPIPE;
    return answered(peer, adp_http_conn_answer(&peer->conn, exchange, answer, true));
}

int adp_http_stream_write(struct adp_http_server *server, uint64_t exchange,
                          const void *part, size_t len)
{
    struct peer *peer = peer_of(server, exchange);
    if (!peer)
        return UV_EPIPE;
    return answered(peer, adp_http_conn_stream_write(&peer->conn, exchange, part, len));
}

int adp_http_stream_end(struct adp_http_server *server, uint64_t exchange)
{
    struct peer *peer = peer_of(server, exchange);
    if (!peer)
        return UV_EPIPE;
    return answered(peer, adp_http_conn_stream_end(&peer->conn, exchange));
}

/* --- time */

/* A write that is under way makes progress when libuv has less of it left. */
static void look_at_write(struct peer *peer, uint64_t now_ns)
{
    if (!peer->writing)
        return;
    size_t queued = uv_stream_get_write_queue_size(&peer->io.stream);
    if (queued < peer->queued)
        adp_http_conn_progress(&peer->conn, now_ns);
    peer->queued = queued;
}

static void set_date(struct adp_http_server *server)
{
    int64_t wall_s = server->clock.wall_s ? server->clock.wall_s(server->clock.ctx) : -1;
    if (wall_s == server->date_s || wall_s < 0)
        return;
    server->date_s = wall_s;
    adp_http_date_write(server->env.date, wall_s);
}

void adp_http_server_tick(struct adp_http_server *server)
{
    const struct adp_http_calls *calls = &server->env.calls;
    uint64_t now_ns = now_of(server);
    set_date(server);
    accept_waiting(server);
    for (uint32_t i = 0; i < server->n_peers; i++) {
        struct peer *peer = server->peers[i];
        if (!peer->open || uv_is_closing(&peer->io.handle))
            continue;
        look_at_write(peer, now_ns);
        if (adp_http_conn_tick(&peer->conn, now_ns))
            settle(peer);
    }
    if (calls->tick)
        calls->tick(calls->ctx, now_ns);
}

static void on_timer(uv_timer_t *timer)
{
    adp_http_server_tick(timer->data);
}

/* --- draining */

static void close_all_peers(struct adp_http_server *server)
{
    for (uint32_t i = 0; i < server->n_peers; i++)
        close_peer(server->peers[i]);
}

static void on_cut_off(uv_timer_t *timer)
{
    struct adp_http_server *server = timer->data;
    close_all_peers(server);
    end_if_drained(server);
}

static void close_listeners(struct adp_http_server *server)
{
    for (struct listener *l = server->listeners; l; l = l->next)
        if (!uv_is_closing((uv_handle_t *)&l->poll))
            uv_close((uv_handle_t *)&l->poll, on_listener_closed);
}

static void drain(struct adp_http_server *server, uint32_t within_ms)
{
    bool first = !server->env.draining;
    server->env.draining = true;
    if (first || uv_timer_get_due_in(&server->cut_off) > within_ms)
        uv_timer_start(&server->cut_off, on_cut_off, within_ms, 0);
    close_listeners(server);
    for (uint32_t i = 0; i < server->n_peers; i++) {
        struct peer *peer = server->peers[i];
        if (!peer->open)
            continue;
        adp_http_conn_drain(&peer->conn);
        settle(peer);
    }
    end_if_drained(server);
}

static void on_left(uv_timer_t *timer)
{
    struct adp_http_server *server = timer->data;
    server->left = true;
    uv_stop(&server->loop);
}

static void leave(struct adp_http_server *server, uint32_t within_ms)
{
    if (server->leaving)
        return;
    server->leaving = true;
    uv_timer_start(&server->left_at, on_left, within_ms, 0);
    close_listeners(server);
    for (uint32_t i = 0; i < server->n_peers; i++)
        settle(server->peers[i]);
    end_if_left(server);
}

static void on_asked(uv_async_t *async)
{
    struct adp_http_server *server = async->data;
    uint32_t drain_ms = atomic_load_explicit(&server->drain_ms, memory_order_relaxed);
    uint32_t leave_ms = atomic_load_explicit(&server->leave_ms, memory_order_relaxed);
    if (leave_ms != UINT32_MAX)
        leave(server, leave_ms);
    if (drain_ms != UINT32_MAX)
        drain(server, drain_ms);
}

void adp_http_server_leave(struct adp_http_server *server, uint32_t within_ms)
{
    uint32_t none = UINT32_MAX;
    atomic_compare_exchange_strong_explicit(&server->leave_ms, &none, within_ms,
                                            memory_order_relaxed, memory_order_relaxed);
    uv_async_send(&server->asked);
}

void adp_http_server_drain(struct adp_http_server *server, uint32_t within_ms)
{
    uint32_t asked = atomic_load_explicit(&server->drain_ms, memory_order_relaxed);
    while (within_ms < asked && !atomic_compare_exchange_weak_explicit(
                                    &server->drain_ms, &asked, within_ms,
                                    memory_order_relaxed, memory_order_relaxed)) {
    }
    uv_async_send(&server->asked);
}

/* --- the server */

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = poll->data;
    (void)status;
    (void)events;
    watch->readable(watch->ctx, watch->fd);
}

static void on_watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

int adp_http_server_watch(struct adp_http_server *server, int fd,
                          void (*readable)(void *ctx, int fd), void *ctx)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return UV_ENOMEM;
    int r = uv_poll_init(&server->loop, &watch->poll, fd);
    if (r < 0) {
        free(watch);
        return r;
    }
    watch->poll.data = watch;
    watch->readable = readable;
    watch->ctx = ctx;
    watch->fd = fd;
    watch->next = server->watches;
    server->watches = watch;
    return uv_poll_start(&watch->poll, UV_READABLE, on_readable);
}

void adp_http_server_run(struct adp_http_server *server)
{
    adp_http_server_tick(server);
    while (!server->left && (!server->env.draining || server->env.counts.open))
        uv_run(&server->loop, UV_RUN_DEFAULT);
}

bool adp_http_server_step(struct adp_http_server *server)
{
    uv_run(&server->loop, UV_RUN_NOWAIT);
    return !server->left && (!server->env.draining || server->env.counts.open);
}

struct adp_http_counts adp_http_server_counts(const struct adp_http_server *server)
{
    return server->env.counts;
}

const char *adp_http_error_text(int code)
{
    switch (code) {
    case UV_EADDRINUSE:
        return "somebody listens there already, or the path is another kind of file";
    case UV_ESRCH:
        return "no such group";
    case UV_EAI_NONAME:
        return "no such host";
    default:
        return code < 0 ? uv_strerror(code) : "no error";
    }
}

/* Writing to a socket whose client is gone raises it, and libuv does not prevent that. */
static void ignore_sigpipe(void)
{
    struct sigaction old;
    if (sigaction(SIGPIPE, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
        old.sa_handler == SIG_DFL)
        signal(SIGPIPE, SIG_IGN);
}

/* The loop and its five handles. Either all of it is there or none. */
static int init_loop(struct adp_http_server *server)
{
    int r = uv_loop_init(&server->loop);
    if (r < 0)
        return r;
    uv_timer_init(&server->loop, &server->timer);
    uv_timer_init(&server->loop, &server->cut_off);
    uv_timer_init(&server->loop, &server->left_at);
    uv_idle_init(&server->loop, &server->turn);
    server->timer.data = server->cut_off.data = server->left_at.data = server->turn.data =
        server->asked.data = server;
    r = uv_async_init(&server->loop, &server->asked, on_asked);
    if (r < 0) {
        uv_loop_close(&server->loop); /* none of the others has been started */
        return r;
    }
    uv_timer_start(&server->timer, on_timer, TICK_MS, TICK_MS);
    return 0;
}

int adp_http_server_create(struct adp_http_server **ret,
                           const struct adp_http_options *options)
{
    struct adp_http_limits limits = options->limits;
    int r = options->calls.request ? adp_http_limits_settle(&limits) : UV_EINVAL;
    if (r < 0)
        return r;
    struct adp_http_server *server = calloc(1, sizeof *server);
    if (!server)
        return UV_ENOMEM;
    server->env.limits = limits;
    server->env.calls = options->calls;
    server->clock = options->clock;
    if (!server->clock.mono_ns)
        server->clock = (struct adp_http_clock) { .mono_ns = system_mono_ns,
                                                  .wall_s = system_wall_s };
    server->date_s = -1;
    server->max_peers = limits.connections + ADP_HTTP_SPARE;
    atomic_init(&server->drain_ms, UINT32_MAX);
    atomic_init(&server->leave_ms, UINT32_MAX);
    server->peers = calloc(server->max_peers, sizeof(struct peer *));
    r = server->peers ? init_loop(server) : UV_ENOMEM;
    if (r < 0) {
        free(server->peers);
        free(server);
        return r;
    }
    ignore_sigpipe();
    set_date(server);
    *ret = server;
    return 0;
}

void adp_http_server_destroy(struct adp_http_server *server)
{
    if (!server)
        return;
    close_listeners(server);
    for (struct watch *w = server->watches; w; w = w->next)
        uv_close((uv_handle_t *)&w->poll, on_watch_closed);
    server->env.draining = true; /* nobody who waits is accepted any more */
    close_all_peers(server);
    uv_close((uv_handle_t *)&server->timer, NULL);
    uv_close((uv_handle_t *)&server->cut_off, NULL);
    uv_close((uv_handle_t *)&server->left_at, NULL);
    uv_close((uv_handle_t *)&server->turn, NULL);
    uv_close((uv_handle_t *)&server->asked, NULL);
    while (uv_loop_close(&server->loop) == UV_EBUSY)
        uv_run(&server->loop, UV_RUN_DEFAULT);
    for (uint32_t i = 0; i < server->n_peers; i++) {
        adp_http_conn_finish(&server->peers[i]->conn);
        free(server->peers[i]);
    }
    adp_http_pool_finish(&server->env.pool);
    free(server->peers);
    free(server);
}
