/* SPDX-License-Identifier: MIT */
/* A client that asks the sidecar as fast as it answers, or so many times a second: over a few
 * connections, each with several requests on their way. One thread, which costs less for
 * a request than the sidecar does.
 *
 *     load auth    ADDRESS CONNECTIONS WINDOW SECONDS RATE
 *     load settle  …        as auth, and tells the outcome of each answer
 *     load spop    …        as HAProxy asks, NOTIFY frames pipelined
 *
 * ADDRESS: HOST:PORT or unix:PATH. WINDOW: requests of a connection that may wait for their
 * answer. RATE: requests a second in all; 0: as many as are answered. Prints
 *
 *     asked=N answered=N settled=N wrong=N seconds=S p50_us=N p99_us=N
 *
 *  1. Every request has an id of its own.
 *  2. What was asked is waited for at the end, 10 s; `wrong` are answers that are not what
 *     an admitted request, or a settled outcome, is answered.
 *  3. A time is from the write that held the request to the read that held its answer. */
#include "bench/measure.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    PEERS = 64,
    WINDOW = 64, /* at most */
    AGENDA =
        256, /* answers of a connection that are due: a power of two above 2 × WINDOW */
    IN = 1 << 16,
    OUT = 1 << 16,
    TIMES = 1 << 20, /* the last ones are kept */
    PATIENCE_S = 10
};

enum kind { AUTH, OUTCOME, SPOP };

struct due {
    enum kind kind;
    uint64_t since_ns;
};

struct peer {
    int fd;
    size_t n_in, n_out;
    uint32_t first, last; /* of the agenda */
    uint32_t waits;       /* of those, requests that are decided */
    uint32_t n_ids;
    struct due agenda[AGENDA];
    char id[WINDOW][16]; /* to be settled */
    char in[IN], out[OUT];
};

static struct {
    enum kind kind;
    bool settle;
    uint32_t n, window;
    double seconds, rate;
    uint64_t asked, answered, settled, wrong, start_ns;
    struct peer *peer;
    uint32_t *times_us;
} load;

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
    exit(EXIT_FAILURE);
}

/* --- connections --- */

static int connect_unix(const char *path)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (strlen(path) >= sizeof to.sun_path)
        fail(path);
    memcpy(to.sun_path, path, strlen(path));
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        fail(path);
    return fd;
}

static int connect_tcp(const char *address)
{
    char host[256];
    const char *colon = strrchr(address, ':');
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *to;
    int yes = 1;
    if (!colon || (size_t)(colon - address) >= sizeof host)
        fail(address);
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    if (getaddrinfo(host, colon + 1, &hints, &to))
        fail(address);
    int fd = socket(to->ai_family, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) < 0)
        fail(address);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    freeaddrinfo(to);
    return fd;
}

static int connect_to(const char *address)
{
    return strncmp(address, "unix:", 5) ? connect_tcp(address)
                                        : connect_unix(address + 5);
}

static void write_out(struct peer *peer)
{
    for (size_t done = 0; done < peer->n_out;) {
        ssize_t n = write(peer->fd, peer->out + done, peer->n_out - done);
        if (n < 0)
            fail("write");
        done += (size_t)n;
    }
    peer->n_out = 0;
}

static void put(struct peer *peer, const void *bytes, size_t n)
{
    if (peer->n_out + n > OUT)
        fail("too much to be written at once");
    memcpy(peer->out + peer->n_out, bytes, n);
    peer->n_out += n;
}

/* --- SPOP (HAProxy's doc/SPOE.txt, 3.2) --- */

static void put_word(struct peer *peer, const char *word)
{
    unsigned char n = (unsigned char)strlen(word); /* below 240: one byte says it */
    put(peer, &n, 1);
    put(peer, word, n);
}

static size_t begin_frame(struct peer *peer, unsigned char type, unsigned char ids)
{
    const unsigned char head[] = { 0, 0, 0, 0, type, 0, 0, 0, 1, ids, ids };
    size_t at = peer->n_out;
    put(peer, head, sizeof head);
    return at;
}

static void end_frame(struct peer *peer, size_t at)
{
    size_t n = peer->n_out - at - 4;
    peer->out[at + 2] = (char)(n >> 8);
    peer->out[at + 3] = (char)n;
}

/* Bytes of the frame that is there whole; 0: none is. */
static size_t frame_at(const char *in, size_t n_in)
{
    const unsigned char *length = (const unsigned char *)in;
    size_t n = n_in < 4 ? 0 : (size_t)length[2] << 8 | length[3];
    return n && n_in >= n + 4 ? n + 4 : 0;
}

static void greet(struct peer *peer)
{
    size_t at = begin_frame(peer, 1, 0);
    put_word(peer, "supported-versions");
    put(peer, "\x08", 1);
    put_word(peer, "2.0");
    put_word(peer, "max-frame-size");
    put(peer, "\x03\xfc\xf0\x06", 4); /* 16380 */
    put_word(peer, "capabilities");
    put(peer, "\x08", 1);
    put_word(peer, "pipelining");
    end_frame(peer, at);
    write_out(peer);
    while (!frame_at(peer->in, peer->n_in)) {
        ssize_t got = read(peer->fd, peer->in + peer->n_in, IN - peer->n_in);
        if (got <= 0)
            fail("no hello of the agent's");
        peer->n_in += (size_t)got;
    }
    if (peer->in[4] != 101)
        fail("the agent's hello");
    peer->n_in = 0; /* nothing follows it until something is asked */
}

/* --- asking --- */

static void await(struct peer *peer, enum kind kind, uint64_t now_ns)
{
    if (peer->last - peer->first == AGENDA)
        fail("too many answers are due");
    peer->agenda[peer->last++ % AGENDA] = (struct due) { kind, now_ns };
}

static void put_auth(struct peer *peer, const char *id)
{
    static const char head[] = "GET /v1/auth HTTP/1.1\r\nHost: h\r\nX-Tenant: t\r\n"
                               "X-Request-Id: ";
    put(peer, head, sizeof head - 1);
    put(peer, id, strlen(id));
    put(peer, "\r\n\r\n", 4);
}

static void put_notify(struct peer *peer, const char *id)
{
    size_t at = begin_frame(peer, 3, 1);
    put_word(peer, "admit");
    put(peer, "\x02", 1);
    put_word(peer, "request_id");
    put(peer, "\x08", 1);
    put_word(peer, id);
    put_word(peer, "tenant");
    put(peer, "\x08\x01t", 3);
    end_frame(peer, at);
}

static void put_outcomes(struct peer *peer, uint64_t now_ns)
{
    for (uint32_t i = 0; i < peer->n_ids; i++) {
        char body[128], head[160];
        int n =
            snprintf(body, sizeof body,
                     "{\"id\":\"%.16s\",\"status\":200,\"ttft_ms\":12.5}", peer->id[i]);
        int h = snprintf(head, sizeof head,
                         "POST /v1/outcome HTTP/1.1\r\nHost: h\r\nContent-Length: %d"
                         "\r\n\r\n",
                         n);
        put(peer, head, (size_t)h);
        put(peer, body, (size_t)n);
        await(peer, OUTCOME, now_ns);
    }
    peer->n_ids = 0;
}

static void ask(struct peer *peer, uint64_t n, uint64_t now_ns)
{
    put_outcomes(peer, now_ns);
    for (; n; n--) {
        char id[40];
        snprintf(id, sizeof id, "load-%016" PRIx64, load.asked++);
        if (load.kind == SPOP)
            put_notify(peer, id);
        else
            put_auth(peer, id);
        await(peer, load.kind, now_ns);
        peer->waits++;
    }
    write_out(peer);
}

/* --- answers --- */

static bool holds(const char *in, size_t n, const char *what)
{
    return memmem(in, n, what, strlen(what)) != NULL;
}

/* Bytes of the answer that is there whole; 0: none is. */
static size_t answer_at(const char *in, size_t n_in)
{
    static const char length[] = "\r\nContent-Length: ";
    const char *end = memmem(in, n_in, "\r\n\r\n", 4);
    if (!end)
        return 0;
    size_t head = (size_t)(end - in) + 4;
    const char *told = memmem(in, head, length, sizeof length - 1);
    size_t body = told ? strtoul(told + sizeof length - 1, NULL, 10) : 0;
    return n_in >= head + body ? head + body : 0;
}

static void take_auth(struct peer *peer, const char *in, size_t n)
{
    static const char name[] = "\r\nX-Admit-Id: ";
    const char *id = memmem(in, n, name, sizeof name - 1);
    bool well = id && !memcmp(in, "HTTP/1.1 200", 12);
    load.wrong += !well;
    if (well && load.settle)
        memcpy(peer->id[peer->n_ids++], id + sizeof name - 1, 16);
}

static void take_answer(struct peer *peer, const char *in, size_t n, uint64_t now_ns)
{
    struct due due = peer->agenda[peer->first++ % AGENDA];
    if (due.kind == OUTCOME) {
        bool well = holds(in, n, "settled");
        load.settled += well;
        load.wrong += !well;
        return;
    }
    if (due.kind == AUTH)
        take_auth(peer, in, n);
    else
        load.wrong += in[4] != 103 || !holds(in, n, "admit");
    load.times_us[load.answered++ % TIMES] = (uint32_t)((now_ns - due.since_ns) / 1000);
    peer->waits--;
}

static void take(struct peer *peer)
{
    ssize_t got = recv(peer->fd, peer->in + peer->n_in, IN - peer->n_in, MSG_DONTWAIT);
    uint64_t now_ns = bench_now_ns();
    size_t at = 0;
    if (got == 0 || (got < 0 && errno != EAGAIN))
        fail("a connection ended");
    peer->n_in += got > 0 ? (size_t)got : 0;
    for (size_t n; peer->first != peer->last; at += n) {
        const char *in = peer->in + at;
        n = load.kind == SPOP ? frame_at(in, peer->n_in - at)
                              : answer_at(in, peer->n_in - at);
        if (!n)
            break;
        take_answer(peer, in, n, now_ns);
    }
    memmove(peer->in, peer->in + at, peer->n_in - at);
    peer->n_in -= at;
}

/* --- all together --- */

/* How many more may be asked now. */
static uint64_t allowed(uint64_t now_ns)
{
    double passed = (double)(now_ns - load.start_ns) / 1e9;
    if (passed >= load.seconds)
        return 0;
    uint64_t by_now = load.rate > 0 ? (uint64_t)(load.rate * passed) : UINT64_MAX;
    return by_now > load.asked ? by_now - load.asked : 0;
}

static bool turn(bool asking)
{
    struct pollfd polled[PEERS];
    bool any = false;
    for (uint32_t i = 0; i < load.n; i++) {
        struct peer *peer = &load.peer[i];
        uint64_t now_ns = bench_now_ns(), may = asking ? allowed(now_ns) : 0;
        uint64_t room = load.window - peer->waits;
        if (may || peer->n_ids)
            ask(peer, may < room ? may : room, now_ns);
        any |= peer->first != peer->last;
        polled[i] = (struct pollfd) { .fd = peer->fd, .events = POLLIN };
    }
    if (poll(polled, load.n, 1) < 0)
        fail("poll");
    for (uint32_t i = 0; i < load.n; i++)
        if (polled[i].revents)
            take(&load.peer[i]);
    return any;
}

static void read_arguments(char **argv)
{
    load.kind = strcmp(argv[1], "spop") ? AUTH : SPOP;
    load.settle = !strcmp(argv[1], "settle");
    load.n = (uint32_t)strtoul(argv[3], NULL, 10);
    load.window = (uint32_t)strtoul(argv[4], NULL, 10);
    load.seconds = strtod(argv[5], NULL);
    load.rate = strtod(argv[6], NULL);
    if (!load.n || load.n > PEERS || !load.window || load.window > WINDOW)
        fail("CONNECTIONS or WINDOW");
    load.peer = calloc(load.n, sizeof *load.peer);
    load.times_us = calloc(TIMES, sizeof *load.times_us);
    if (!load.peer || !load.times_us)
        fail("memory");
    for (uint32_t i = 0; i < load.n; i++) {
        load.peer[i].fd = connect_to(argv[2]);
        if (load.kind == SPOP)
            greet(&load.peer[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr,
                "load: auth|settle|spop ADDRESS CONNECTIONS WINDOW SECONDS RATE\n");
        return EXIT_FAILURE;
    }
    read_arguments(argv);
    load.start_ns = bench_now_ns();
    uint64_t end_ns = load.start_ns + (uint64_t)(load.seconds * 1e9), now_ns;
    while ((now_ns = bench_now_ns()) < end_ns)
        turn(true);
    while (turn(false) && bench_now_ns() < end_ns + PATIENCE_S * UINT64_C(1000000000))
        ;
    size_t n = load.answered < TIMES ? (size_t)load.answered : TIMES;
    bench_sort(load.times_us, n);
    printf("asked=%" PRIu64 " answered=%" PRIu64 " settled=%" PRIu64 " wrong=%" PRIu64
           " seconds=%.3f p50_us=%.0f p99_us=%.0f\n",
           load.asked, load.answered, load.settled, load.wrong,
           (double)(now_ns - load.start_ns) / 1e9, bench_rank(load.times_us, n, 0.5),
           bench_rank(load.times_us, n, 0.99));
    free(load.peer);
    free(load.times_us);
    return load.answered == load.asked && !load.wrong ? EXIT_SUCCESS : EXIT_FAILURE;
}
