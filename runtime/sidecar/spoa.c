/* SPDX-License-Identifier: MIT */
/* HAProxy's connections (spoa.h). */
#include "runtime/sidecar/spoa.h"

#include "core/error.h"
#include "runtime/host/host.h"
#include "runtime/sidecar/board.h"
#include "runtime/sidecar/owed.h"
#include "runtime/sidecar/spop.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LISTENERS = 16, EVENTS = 64, TURNS = 16, PERIOD_MS = 1000, LEAVING_MS = 5 };
/* As limits.head and limits.idle where they are not set. */
static const uint64_t FRAME_NS = UINT64_C(10000000000), IDLE_NS = UINT64_C(60000000000);

/* One connection. */
struct peer {
    int fd; /* -1: free */
    struct adp_spop *spop;
    enum adp_spop_next next;
    uint32_t events;   /* what epoll waits for */
    uint64_t waits_ns; /* since when it has had something to take, or to send first; 0 */
    bool stirred;      /* since it was looked at last: */
    uint64_t quiet_ns; /* nothing came; 0: something has */
    uint64_t begun_ns; /* the same frame has begun and is not whole; 0: it has not */
    /* For the supervisor: */
    struct adp_spoa *of;
    uint32_t owed;  /* acknowledgements of which nothing was sent */
    uint32_t stale; /* bytes at the front of the socket that were taken as frames */
    bool within;    /* something was read that is no whole NOTIFY */
    bool writing;   /* something was sent that is no whole frame */
    bool noted;     /* the newest owed is this: */
    uint64_t stream, frame;
};

struct adp_spoa {
    struct adp_desk *desk;
    int epoll, woken;
    int listener[LISTENERS];
    uint32_t n_listeners, n_peers;
    struct adp_worker *worker; /* NULL: nobody is above */
    uint32_t first_place;
    void (*departed)(void *ctx);
    void *departed_ctx;
    bool accepting;
    bool leaving;              /* the thread has seen that there is: */
    _Atomic uint64_t leave_ns; /* when to be gone at the latest; 0: it need not */
    pthread_t thread;
    bool running;
    _Atomic bool stop;
    _Atomic uint64_t connections;
    struct peer peer[ADP_SPOA_CONNECTIONS];
};

/* What an event is of: a peer, or one of these. */
static const uint64_t WOKEN = UINT64_MAX, LISTENER = 1u << 16;

static int watch(const struct adp_spoa *s, int op, int fd, uint32_t events, uint64_t of)
{
    struct epoll_event event = { .events = events, .data.u64 = of };
    return epoll_ctl(s->epoll, op, fd, &event);
}

int adp_spoa_create(struct adp_spoa **ret, struct adp_desk *desk, adp_error *err)
{
    struct adp_spoa *s = calloc(1, sizeof *s);
    if (!s)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    s->desk = desk;
    s->accepting = true;
    for (uint32_t i = 0; i < ADP_SPOA_CONNECTIONS; i++)
        s->peer[i].fd = -1;
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->epoll < 0 || s->woken < 0 ||
        watch(s, EPOLL_CTL_ADD, s->woken, EPOLLIN, WOKEN) < 0) {
        adp_error_set(err, ADP_EIO, "no descriptors: %s", strerror(errno));
        adp_spoa_destroy(s);
        return ADP_EIO;
    }
    *ret = s;
    return 0;
}

int adp_spoa_listen(struct adp_spoa *spoa, int fd, adp_error *err)
{
    if (spoa->n_listeners == LISTENERS)
        return adp_error_set(err, ADP_EFULL, "more than %d sockets for SPOP", LISTENERS);
    if (watch(spoa, EPOLL_CTL_ADD, fd, EPOLLIN, LISTENER + spoa->n_listeners) < 0)
        return adp_error_set(err, ADP_EIO, "cannot wait for connections: %s",
                             strerror(errno));
    spoa->listener[spoa->n_listeners++] = fd;
    return 0;
}

/* --- for the supervisor --- */

/* Tells this protocol from HTTP, whose notes have that bit for the 64th of those owed at most. */
static const uint64_t OURS = UINT64_C(1) << 63;
enum { MOST_OWED = 32, STALE = 32 /* from this bit on, above what was agreed to */ };

static uint32_t place_of(const struct adp_spoa *s, const struct peer *p)
{
    return s->first_place + (uint32_t)(p - s->peer);
}

static bool is_partly_read(const struct peer *p)
{
    return p->within || !adp_spop_agreed(p->spop);
}

static void tell(struct adp_spoa *s, const struct peer *p)
{
    if (!s->worker)
        return;
    const struct adp_standing now = {
        .fd = p->fd,
        .owed = p->owed,
        .note = OURS | (uint64_t)p->stale << STALE | adp_spop_agreed(p->spop),
        .last = p->next == ADP_SPOP_OVER,
        .partly_read = is_partly_read(p),
        .partly_written = p->writing,
    };
    adp_worker_stand(s->worker, place_of(s, p), &now);
}

static void tell_gone(struct adp_spoa *s, const struct peer *p)
{
    const struct adp_standing now = { .fd = -1 };
    if (s->worker)
        adp_worker_stand(s->worker, place_of(s, p), &now);
}

static void note(struct peer *p, const adp_decision *d)
{
    uint64_t words[3];
    if (!p->noted || !adp_owed_write_frame(words, p->stream, p->frame, d))
        return;
    if (!d)
        adp_owed_mark_frame(words, p->of->desk->lane);
    adp_worker_owe(p->of->worker, place_of(p->of, p), ADP_OWED_SPOP, words);
}

static void on_decided(void *ctx, const adp_decision *d)
{
    note(ctx, d);
}

void adp_spoa_supervise(struct adp_spoa *spoa, struct adp_worker *worker,
                        uint32_t first_place, void (*departed)(void *ctx), void *ctx)
{
    spoa->departed = departed;
    spoa->departed_ctx = ctx;
    spoa->worker = worker;
    spoa->first_place = first_place;
}

bool adp_spoa_was(const struct adp_held *held)
{
    return held->standing.note & OURS && held->standing.owed <= MOST_OWED;
}

/* --- accepting --- */

/* Listeners wake us only while there is room, and descriptors. */
static void set_accepting(struct adp_spoa *s, bool accepting)
{
    accepting &= !s->leaving && s->n_peers < ADP_SPOA_CONNECTIONS;
    if (s->accepting == accepting)
        return;
    s->accepting = accepting;
    for (uint32_t i = 0; i < s->n_listeners; i++)
        watch(s, accepting ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, s->listener[i], EPOLLIN,
              LISTENER + i);
}

static void drop(struct adp_spoa *s, struct peer *p)
{
    tell_gone(s, p);
    close(p->fd);
    adp_spop_destroy(p->spop);
    *p = (struct peer) { .fd = -1 };
    s->n_peers--;
    set_accepting(s, true);
}

/* NULL: closed, there was no memory for it. */
static struct peer *take_peer(struct adp_spoa *s, int fd)
{
    uint32_t i = 0;
    int one = 1;
    while (s->peer[i].fd >= 0)
        i++;
    struct peer *p = &s->peer[i];
    /* Of a unix socket this fails, and is not needed. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (adp_spop_create(&p->spop, s->desk) < 0) {
        close(fd);
        return NULL;
    }
    p->fd = fd;
    p->of = s;
    p->waits_ns = adp_board_now_ns();
    s->n_peers++;
    if (s->worker)
        adp_spop_watch(p->spop, on_decided, p);
    return p;
}

static void begin_peer(struct adp_spoa *s, struct peer *p, uint32_t events)
{
    p->events = events;
    if (watch(s, EPOLL_CTL_ADD, p->fd, events, (uint64_t)(p - s->peer)) < 0)
        drop(s, p);
}

static void accept_peer(struct adp_spoa *s, int fd)
{
    struct peer *p = take_peer(s, fd);
    if (!p)
        return;
    atomic_fetch_add_explicit(&s->connections, 1, memory_order_relaxed);
    tell(s, p);
    begin_peer(s, p, EPOLLIN);
}

static void accept_peers(struct adp_spoa *s, int listener)
{
    for (int turn = 0; turn < TURNS && s->n_peers < ADP_SPOA_CONNECTIONS; turn++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) { /* of those that do not pass at once, the most likely is EMFILE */
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                set_accepting(s, false);
            return;
        }
        accept_peer(s, fd);
    }
    if (s->n_peers == ADP_SPOA_CONNECTIONS)
        set_accepting(s, false);
}

/* --- reading and writing --- */

/* False: the connection is gone. */
static bool send_out(struct adp_spoa *s, struct peer *p)
{
    size_t len;
    const char *out = adp_spop_out(p->spop, &len);
    if (!len)
        return true;
    p->owed = 0;
    p->noted = false;
    p->writing = true;
    tell(s, p);
    for (; len; out = adp_spop_out(p->spop, &len)) {
        ssize_t n = send(p->fd, out, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        adp_spop_sent(p->spop, (size_t)n);
        p->waits_ns = 0;
    }
    p->writing = false;
    tell(s, p);
    return true;
}

/* Bytes of a frame that is not whole. */
static size_t begun(const struct peer *p)
{
    size_t left;
    adp_spop_room(p->spop, &left);
    return ADP_SPOP_FRAME + 4 - left;
}

/* As many as there are of `cap` bytes. False: the connection is gone. */
static bool take_bytes(struct peer *p, char *room, size_t cap)
{
    ssize_t n = recv(p->fd, room, cap, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return false;
    if (n > 0) {
        size_t before = begun(p);
        p->next = adp_spop_feed(p->spop, (size_t)n);
        if (begun(p) < before + (size_t)n) /* one is whole: what is there is another */
            p->begun_ns = 0;
    }
    return true;
}

/* One whole frame of those that were looked at. It stays in the socket, and is told as to be taken
 * out of it: should this process end of it, the next one answers it and finds the others there. */
static void take_frame(struct adp_spoa *s, struct peer *p, const char *seen, size_t len)
{
    size_t cap;
    p->noted = adp_spop_agreed(p->spop) &&
               adp_spop_asks(seen, len, &p->stream, &p->frame) &&
               p->stream <= UINT32_MAX && p->frame <= UINT32_MAX;
    p->within = !p->noted;
    p->owed += p->noted;
    p->stale += (uint32_t)len;
    tell(s, p);
    note(p, NULL);
    memcpy(adp_spop_room(p->spop, &cap), seen, len);
    p->next = adp_spop_feed(p->spop, len);
    p->within = p->next == ADP_SPOP_WAIT; /* it lies there, and will be owed to nobody */
}

/* What was taken as frames, out of the socket. False: the connection is gone. */
static bool take_stale(struct adp_spoa *s, struct peer *p)
{
    char seen[ADP_SPOP_FRAME];
    bool within = p->within;
    p->within = true; /* until it is told how far that came */
    tell(s, p);
    while (p->stale) {
        size_t most = p->stale < sizeof seen ? p->stale : sizeof seen;
        ssize_t n = recv(p->fd, seen, most, MSG_DONTWAIT);
        if (n <= 0) /* it was there a moment ago */
            return false;
        p->stale -= (uint32_t)n;
    }
    p->within = within;
    tell(s, p);
    return true;
}

/* Bytes of a frame that is not whole, up to its end: it is taken apart from those behind it. */
static bool take_part(struct adp_spoa *s, struct peer *p, char *room, size_t cap,
                      size_t have)
{
    size_t len = have ? adp_spop_frame(room - have, have) : 0;
    size_t most = len > have ? len - have : 4 - have % 4;
    p->within = true;
    p->noted = false;
    tell(s, p);
    bool there = take_bytes(p, room, most < cap ? most : cap);
    size_t left;
    adp_spop_room(p->spop, &left);
    p->within = left < cap + have;
    return there;
}

/* Frames that are there, one after the other. */
static bool receive_apart(struct adp_spoa *s, struct peer *p)
{
    char seen[ADP_SPOP_FRAME];
    size_t cap, at = 0, len;
    char *room = adp_spop_room(p->spop, &cap);
    size_t have = begun(p);
    if (have)
        return take_part(s, p, room, cap, have);
    ssize_t n = recv(p->fd, seen, sizeof seen, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return false;
    while (n > 0 && p->next == ADP_SPOP_READ && p->owed < MOST_OWED &&
           (len = adp_spop_frame(seen + at, (size_t)n - at)) > 0 &&
           len <= (size_t)n - at) {
        take_frame(s, p, seen + at, len);
        at += len;
    }
    if (at)
        return take_stale(s, p);
    return n <= 0 || take_part(s, p, room, cap, 0);
}

/* False: the connection is gone. */
static bool receive(struct adp_spoa *s, struct peer *p)
{
    size_t cap;
    if (s->worker)
        return receive_apart(s, p);
    char *room = adp_spop_room(p->spop, &cap);
    return take_bytes(p, room, cap);
}

/* --- going on for another process --- */

static bool answer_owed(struct peer *p, const struct adp_held *held,
                        const adp_decision *fault, const struct adp_owed_records *until)
{
    for (uint32_t k = 0; k < held->standing.owed; k++) {
        const struct adp_owed *o = &held->owed[k];
        uint64_t stream, frame;
        adp_decision d = *fault;
        if (o->kind != ADP_OWED_SPOP)
            return false; /* which frame it was nobody said */
        if (!adp_owed_read_frame(o->note, &stream, &frame, &d) &&
            !adp_owed_frame_told(o->note, p->of->desk->lane->region, &d) &&
            !adp_owed_frame_is_recorded(o->note, until))
            adp_host_answered(p->of->desk->lane);
        if (!adp_spop_answer(p->spop, stream, frame, &d))
            return false;
    }
    return true;
}

void adp_spoa_adopt_take(struct adp_spoa *spoa, const struct adp_held *held,
                         const adp_decision *fault, const struct adp_owed_records *until)
{
    struct peer *p = NULL;
    if (spoa->n_peers < ADP_SPOA_CONNECTIONS)
        p = take_peer(spoa, held->standing.fd);
    else
        close(held->standing.fd);
    if (!p)
        return;
    p->owed = held->standing.owed;
    p->stale = (uint32_t)((held->standing.note & ~OURS) >> STALE);
    bool sound = adp_spop_resume(p->spop, (uint32_t)(held->standing.note & UINT32_MAX)) &&
                 p->stale <= ADP_SPOP_FRAME && take_stale(spoa, p) &&
                 answer_owed(p, held, fault, until);
    tell(spoa, p);
    if (sound)
        begin_peer(spoa, p, EPOLLIN | (p->owed ? (uint32_t)EPOLLOUT : 0));
    else
        drop(spoa, p);
}

/* --- serving --- */

static bool may_read(const struct adp_spoa *s, const struct peer *p)
{
    return p->next == ADP_SPOP_READ && (!s->leaving || is_partly_read(p));
}

static void wait_for(struct adp_spoa *s, struct peer *p)
{
    size_t left;
    adp_spop_out(p->spop, &left);
    uint32_t wanted =
        (may_read(s, p) ? (uint32_t)EPOLLIN : 0) | (left ? (uint32_t)EPOLLOUT : 0);
    if (wanted != p->events) /* seldom: answers are taken as they are given */
        watch(s, EPOLL_CTL_MOD, p->fd, wanted, (uint64_t)(p - s->peer));
    p->events = wanted;
}

/* Reads, answers, and says what to wait for. */
static void serve(struct adp_spoa *s, uint32_t i, uint32_t events)
{
    struct peer *p = &s->peer[i];
    size_t left;
    if (p->fd < 0)
        return;
    bool there = true;
    p->stirred = true;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && may_read(s, p))
        there = receive(s, p);
    there = there && send_out(s, p);
    adp_spop_out(p->spop, &left);
    while (there && p->next == ADP_SPOP_WAIT && !left) {
        p->next = adp_spop_feed(p->spop, 0);
        there = send_out(s, p);
        adp_spop_out(p->spop, &left);
    }
    if (!there || (p->next == ADP_SPOP_OVER && !left)) {
        drop(s, p);
        return;
    }
    if (left && !p->waits_ns)
        p->waits_ns = adp_board_now_ns();
    wait_for(s, p);
}

static void say_goodbye(struct adp_spoa *s, struct peer *p)
{
    adp_spop_end(p->spop);
    send_out(s, p);
    drop(s, p);
}

static bool past(uint64_t since_ns, uint64_t limit_ns, uint64_t usual_ns, uint64_t now_ns)
{
    return since_ns && now_ns - since_ns > (limit_ns ? limit_ns : usual_ns);
}

/* Those that take nothing, never said hello, do not come to the end of a frame, or say nothing. */
static void drop_stalled(struct adp_spoa *s)
{
    const struct adp_serve_setting *serve = s->desk->serve;
    uint64_t now = adp_board_now_ns();
    for (uint32_t i = 0; i < ADP_SPOA_CONNECTIONS; i++) {
        struct peer *p = &s->peer[i];
        if (p->fd < 0)
            continue;
        p->quiet_ns = p->stirred || !p->quiet_ns ? now : p->quiet_ns;
        p->begun_ns = !begun(p) || p->next != ADP_SPOP_READ ? 0
                      : p->begun_ns                         ? p->begun_ns
                                                            : now;
        p->stirred = false;
        if (past(p->waits_ns, 0, ADP_SPOA_STALL_NS, now) ||
            past(p->begun_ns, serve->head_ns, FRAME_NS, now))
            drop(s, p);
        else if (past(p->quiet_ns, serve->idle_ns, IDLE_NS, now))
            say_goodbye(s, p);
    }
}

static void handle(struct adp_spoa *s, const struct epoll_event *event)
{
    uint64_t of = event->data.u64;
    uint64_t count;
    if (of == WOKEN)
        (void)!read(s->woken, &count, sizeof count);
    else if (of >= LISTENER)
        accept_peers(s, s->listener[of - LISTENER]);
    else
        serve(s, (uint32_t)of, event->events);
}

/* Goodbyes, as far as they can be sent at once. */
static void end_all(struct adp_spoa *s)
{
    for (uint32_t i = 0; i < ADP_SPOA_CONNECTIONS; i++) {
        struct peer *p = &s->peer[i];
        if (p->fd < 0)
            continue;
        /* What has arrived is answered first. */
        if (p->next == ADP_SPOP_READ && receive(s, p))
            send_out(s, p);
        say_goodbye(s, p);
    }
}

/* Reads on only where something has begun. */
static void begin_leaving(struct adp_spoa *s)
{
    s->leaving = true;
    set_accepting(s, false);
    for (uint32_t i = 0; i < ADP_SPOA_CONNECTIONS; i++)
        if (s->peer[i].fd >= 0)
            wait_for(s, &s->peer[i]);
}

/* Whether the thread may end, since it was asked to leave. */
static bool has_left(struct adp_spoa *s)
{
    uint64_t at_ns = atomic_load_explicit(&s->leave_ns, memory_order_acquire);
    if (!at_ns)
        return false;
    if (!s->leaving)
        begin_leaving(s);
    for (uint32_t i = 0; i < ADP_SPOA_CONNECTIONS; i++) {
        const struct peer *p = &s->peer[i];
        if (p->fd >= 0 && (is_partly_read(p) || p->writing))
            return adp_board_now_ns() >= at_ns;
    }
    return true;
}

static void *run(void *ctx)
{
    struct adp_spoa *s = ctx;
    struct epoll_event events[EVENTS];
    uint64_t looked = adp_board_now_ns();
    while (!atomic_load_explicit(&s->stop, memory_order_acquire)) {
        if (has_left(s)) {
            s->departed(s->departed_ctx);
            return NULL;
        }
        int n = epoll_wait(s->epoll, events, EVENTS, s->leaving ? LEAVING_MS : PERIOD_MS);
        for (int i = 0; i < n; i++)
            handle(s, &events[i]);
        uint64_t now = adp_board_now_ns();
        if (now - looked > (uint64_t)PERIOD_MS * 1000000u) {
            drop_stalled(s);
            set_accepting(s, true); /* there may be descriptors again */
            looked = now;
        }
    }
    end_all(s);
    return NULL;
}

/* --- life --- */

int adp_spoa_start(struct adp_spoa *spoa, adp_error *err)
{
    int code = pthread_create(&spoa->thread, NULL, run, spoa);
    if (code)
        return adp_error_set(err, ADP_EIO, "no thread for SPOP: %s", strerror(code));
    spoa->running = true;
    return 0;
}

void adp_spoa_leave(struct adp_spoa *spoa, uint32_t within_ms)
{
    uint64_t one = 1;
    atomic_store_explicit(&spoa->leave_ns,
                          adp_board_now_ns() + within_ms * UINT64_C(1000000),
                          memory_order_release);
    (void)!write(spoa->woken, &one, sizeof one);
}

void adp_spoa_stop(struct adp_spoa *spoa)
{
    uint64_t one = 1;
    if (!spoa || !spoa->running)
        return;
    atomic_store_explicit(&spoa->stop, true, memory_order_release);
    (void)!write(spoa->woken, &one, sizeof one);
    pthread_join(spoa->thread, NULL);
    spoa->running = false;
}

void adp_spoa_destroy(struct adp_spoa *spoa)
{
    if (!spoa)
        return;
    adp_spoa_stop(spoa);
    for (uint32_t i = 0; i < ADP_SPOA_CONNECTIONS; i++)
        if (spoa->peer[i].fd >= 0)
            drop(spoa, &spoa->peer[i]);
    if (spoa->epoll >= 0)
        close(spoa->epoll);
    if (spoa->woken >= 0)
        close(spoa->woken);
    free(spoa);
}

void adp_spoa_counts(const struct adp_spoa *spoa, uint64_t *ret_connections,
                     uint64_t *ret_frames)
{
    *ret_connections = atomic_load_explicit(&spoa->connections, memory_order_relaxed);
    *ret_frames = 0;
    for (uint32_t i = 0; i <= ADP_DESK_BOUNDS; i++)
        *ret_frames +=
            atomic_load_explicit(&spoa->desk->counts.decided[i], memory_order_relaxed);
}
