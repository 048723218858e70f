/* SPDX-License-Identifier: MIT */
/* gateway: a small threaded gateway that asks AdmitPerf before it forwards.
 *
 *     gateway CONFIG PORT UPSTREAM_PORT
 *
 * Listens on 127.0.0.1 (PORT 0: any; it prints which) and relays to an engine there. Each
 * of its threads has a lane and serves one connection at a time, a request on each; the
 * main thread fetches the engine's /metrics each second and publishes them. SIGTERM ends
 * it: what is under way is served, and everything recorded is written.
 *
 * What a gateway for use needs beside: keep-alive, bodies without a length, TLS, deadlines,
 * a real HTTP parser. Here is what has to do with admission:
 *
 *   ask       before the upstream is connected; the answer's status and Retry-After are the
 *             client's, the reason goes into the body
 *   TTFT      at the first byte behind the head: engines send heads before they have a token
 *   outcome   once for each admitted request: done, failed (the engine's side broke, cut its
 *             answer, or said 5xx) or cancelled (the client left, while it sent or while it
 *             was answered; the engine is told by closing) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP, accept4 */
#endif

#include <admitperf/runtime.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 16, HEAD_CAP = 32 << 10, PAGE_CAP = 4 << 20 };

struct gateway {
    adp_runtime *rt;
    int listener;
    uint16_t upstream;
};

struct request {
    char head[HEAD_CAP + 1]; /* and what came behind it */
    size_t len, body_at;     /* body_at: where the head ends */
    size_t body_len;         /* as the head says */
    char id[80];
};

/* Where in an answer its next byte belongs. */
enum place { HEAD, BODY, SIZE, CHUNK, CHUNK_END, TRAILER, WHOLE, BROKEN };

/* What is seen of an answer as it passes. */
struct answer {
    enum place at;
    char line
        [256]; /* of a head, a chunk's size or a trailer; the rest of a longer one is not kept */
    size_t n_line;
    size_t n_seen;   /* bytes, of all */
    uint32_t status; /* 0: none yet. Interim answers (1xx) come before it and are none */
    int no_body;     /* it was asked by HEAD */
    int chunked, has_length;
    size_t left;    /* of the body, or of a chunk */
    double ttft_ms; /* below 0: no byte of a body yet */
};

/* Whose end forwarding broke at. */
enum forwarded { FORWARDED, CLIENT_LEFT, ENGINE_BROKE };

static int say(const adp_error *err)
{
    char text[1024];
    adp_error_print(err, text, sizeof text);
    fprintf(stderr, "gateway: %s\n", text);
    return 1;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* --- sockets --- */

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in) { .sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int dial(uint16_t port)
{
    struct sockaddr_in to = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* 0, or -1 when the other side is gone. */
static int send_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -1;
        bytes += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* --- the request --- */

/* A header's value, of `cap` bytes at most; 0 when there is none. */
static int header(const struct request *r, const char *name, char *to, size_t cap)
{
    size_t n = strlen(name);
    const char *line = strstr(r->head, "\r\n");
    for (; line && (size_t)(line - r->head) < r->body_at - 2;
         line = strstr(line + 2, "\r\n")) {
        const char *at = line + 2, *end = strstr(at, "\r\n");
        if (strncasecmp(at, name, n) != 0 || at[n] != ':' || !end)
            continue;
        at += n + 1;
        at += strspn(at, " \t");
        size_t len = (size_t)(end - at) < cap - 1 ? (size_t)(end - at) : cap - 1;
        memcpy(to, at, len);
        to[len] = '\0';
        return 1;
    }
    return 0;
}

/* Reads up to the end of the head. -1: gone, or too long. */
static int read_head(int client, struct request *r)
{
    char length[32];
    r->len = 0;
    for (;;) {
        ssize_t n = recv(client, r->head + r->len, HEAD_CAP - r->len, 0);
        if (n <= 0)
            return -1;
        r->len += (size_t)n;
        r->head[r->len] = '\0';
        char *end = strstr(r->head, "\r\n\r\n");
        if (!end)
            continue;
        r->body_at = (size_t)(end - r->head) + 4;
        r->body_len = header(r, "Content-Length", length, sizeof length)
                          ? strtoul(length, NULL, 10)
                          : 0;
        if (!header(r, "X-Request-Id", r->id, sizeof r->id))
            r->id[0] = '\0';
        return 0;
    }
}

/* The request line, our Connection, the other headers but theirs, the body. A client that
 * waits to be told so is told to send it: here, where the request is admitted. */
static enum forwarded forward(const struct request *r, int client, int upstream)
{
    const char *line = strstr(r->head, "\r\n") + 2, *end;
    size_t there = r->len - r->body_at;
    char bytes[16384];
    if (send_all(upstream, r->head, (size_t)(line - r->head)) < 0 ||
        send_all(upstream, "Connection: close\r\n", 19) < 0)
        return ENGINE_BROKE;
    for (; (end = strstr(line, "\r\n")) && end != line; line = end + 2)
        if (strncasecmp(line, "Connection:", 11) != 0 &&
            strncasecmp(line, "Expect:", 7) != 0 &&
            send_all(upstream, line, (size_t)(end + 2 - line)) < 0)
            return ENGINE_BROKE;
    if (send_all(upstream, "\r\n", 2) < 0 ||
        send_all(upstream, r->head + r->body_at, there) < 0)
        return ENGINE_BROKE;
    if (r->body_len > there && header(r, "Expect", bytes, sizeof bytes) &&
        send_all(client, "HTTP/1.1 100 Continue\r\n\r\n", 25) < 0)
        return CLIENT_LEFT;
    for (size_t left = r->body_len > there ? r->body_len - there : 0; left;) {
        ssize_t n = recv(client, bytes, left < sizeof bytes ? left : sizeof bytes, 0);
        if (n <= 0)
            return CLIENT_LEFT;
        if (send_all(upstream, bytes, (size_t)n) < 0)
            return ENGINE_BROKE;
        left -= (size_t)n;
    }
    return FORWARDED;
}

/* --- the answer --- */

static void refuse(int client, const adp_decision *d)
{
    char body[256], head[512], retry[64] = "";
    int n = snprintf(
        body, sizeof body,
        "{\"error\":{\"message\":\"not admitted\",\"type\":\"%s\",\"code\":\"%s\"}}",
        d->status == 429 ? "rate_limit_error" : "overloaded_error", d->reason);
    if (d->retry_after_ms)
        snprintf(retry, sizeof retry, "Retry-After: %u\r\n",
                 (d->retry_after_ms + 999) / 1000);
    int m = snprintf(
        head, sizeof head,
        "HTTP/1.1 %u Refused\r\nContent-Type: application/json\r\n"
        "Content-Length: %d\r\nX-Admit-Id: %016llx\r\n%sConnection: close\r\n\r\n",
        d->status, n, (unsigned long long)d->id, retry);
    if (send_all(client, head, (size_t)m) == 0)
        send_all(client, body, (size_t)n);
}

/* Where the body begins, now that the head has ended. */
static enum place body_of(struct answer *a)
{
    if (a->status < 200) { /* interim: the answer's head is still to come */
        a->status = 0;
        return HEAD;
    }
    if (a->no_body || a->status == 204 || a->status == 304)
        return WHOLE;
    if (a->chunked)
        return SIZE;
    return a->has_length && a->left == 0 ? WHOLE : BODY;
}

/* "HTTP/1.1 200 …"; 0 when it is nothing of the kind. */
static uint32_t status_of(const char *line)
{
    if (strncmp(line, "HTTP/1.", 7) != 0 || strlen(line) < 12 ||
        strspn(line + 9, "0123456789") != 3)
        return 0;
    return (uint32_t)strtoul(line + 9, NULL, 10);
}

static enum place head_line(struct answer *a)
{
    const char *value = strchr(a->line, ':');
    if (!a->status) {
        a->status = status_of(a->line);
        a->chunked = a->has_length = 0;
        return a->status ? HEAD : BROKEN;
    }
    if (!a->line[0])
        return body_of(a);
    if (value && strncasecmp(a->line, "Content-Length:", 15) == 0) {
        a->has_length = 1;
        a->left = strtoul(value + 1, NULL, 10);
    }
    if (value && strncasecmp(a->line, "Transfer-Encoding:", 18) == 0)
        a->chunked = strcasestr(value, "chunked") != NULL;
    return HEAD;
}

/* A line has ended: which place the next byte is in. */
static enum place next_place(struct answer *a)
{
    char *end;
    switch (a->at) {
    case HEAD:
        return head_line(a);
    case SIZE:
        a->left = strtoul(a->line, &end, 16);
        if (end == a->line)
            return BROKEN;
        return a->left ? CHUNK : TRAILER;
    case CHUNK_END:
        return SIZE;
    default: /* TRAILER */
        return a->line[0] ? TRAILER : WHOLE;
    }
}

static void look_at_line(struct answer *a, char c)
{
    if (c != '\n') {
        if (c != '\r' && a->n_line < sizeof a->line - 1)
            a->line[a->n_line++] = c;
        return;
    }
    a->line[a->n_line] = '\0';
    a->at = next_place(a);
    a->n_line = 0;
}

/* A byte of the body, or of a chunk. */
static void look_at_body(struct answer *a, double start_ms)
{
    if (a->ttft_ms < 0)
        a->ttft_ms = now_ms() - start_ms;
    if ((a->at == CHUNK || a->has_length) && --a->left == 0)
        a->at = a->at == CHUNK ? CHUNK_END : WHOLE;
}

static void look(struct answer *a, const char *bytes, size_t n, double start_ms)
{
    a->n_seen += n;
    for (size_t i = 0; i < n && a->at != WHOLE && a->at != BROKEN; i++) {
        if (a->at == BODY || a->at == CHUNK)
            look_at_body(a, start_ms);
        else
            look_at_line(a, bytes[i]);
    }
}

/* The engine has closed. A body that says nothing of its length ends so; any other has been
 * cut. */
static int ends_by_closing(const struct answer *a)
{
    return a->at == BODY && !a->has_length;
}

/* Relays until the answer is whole or either side is gone; enum adp_end. What a client that
 * has left is sent counts for nothing. */
static uint32_t relay(int client, int upstream, struct answer *a, double start_ms)
{
    char bytes[16384];
    struct pollfd both[2] = { { .fd = upstream, .events = POLLIN },
                              { .fd = client, .events = POLLRDHUP } };
    while (a->at != WHOLE) {
        if (poll(both, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            return ADP_FAILED;
        }
        if (both[1].revents)
            return ADP_CANCELLED;
        ssize_t n = recv(upstream, bytes, sizeof bytes, 0);
        if (n < 0 || (n == 0 && !ends_by_closing(a)))
            return ADP_FAILED;
        if (n == 0)
            break;
        if (send_all(client, bytes, (size_t)n) < 0)
            return ADP_CANCELLED;
        look(a, bytes, (size_t)n, start_ms);
    }
    return a->status < 500 ? ADP_DONE : ADP_FAILED;
}

/* Forwards and relays; enum adp_end. An engine that breaks while it is being sent to may have
 * said why. */
static uint32_t pass(struct gateway *g, int client, const struct request *r,
                     struct answer *a, double start_ms)
{
    uint32_t end = ADP_FAILED;
    int upstream = dial(g->upstream);
    if (upstream >= 0) {
        end = forward(r, client, upstream) == CLIENT_LEFT
                  ? ADP_CANCELLED
                  : relay(client, upstream, a, start_ms);
        close(upstream);
    }
    if (end == ADP_FAILED && !a->n_seen)
        send_all(client, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", 47);
    return end;
}

/* An admitted request, to its outcome. */
static void serve(struct gateway *g, adp_lane *lane, int client, const struct request *r,
                  uint64_t id)
{
    double start_ms = now_ms();
    struct answer a = { .ttft_ms = -1, .no_body = strncmp(r->head, "HEAD ", 5) == 0 };
    /* ok: -1, not known here. An initializer's 0 would say that it missed its SLO. */
    adp_result result = { .size = sizeof result, .present = ADP_O_TOTAL, .ok = -1 };
    result.end = pass(g, client, r, &a, start_ms);
    result.total_ms = now_ms() - start_ms;
    if (a.status) {
        result.present |= ADP_O_STATUS;
        result.status = a.status;
    }
    if (a.ttft_ms >= 0) {
        result.present |= ADP_O_TTFT;
        result.ttft_ms = a.ttft_ms;
    }
    adp_lane_outcome(lane, id, NULL, &result);
}

static void converse(struct gateway *g, adp_lane *lane, int client, struct request *r)
{
    adp_decision d;
    adp_facts facts = { .size = sizeof facts };
    if (read_head(client, r) < 0)
        return;
    facts.request_id = r->id[0] ? r->id : NULL;
    adp_lane_decide(lane, &facts, &d);
    if (d.admitted)
        serve(g, lane, client, r, d.id);
    else
        refuse(client, &d);
}

/* --- threads --- */

static void *work(void *arg)
{
    struct gateway *g = arg;
    adp_error err = { 0 };
    adp_lane *lane;
    struct request *r = malloc(sizeof *r);
    if (!r || adp_lane_open(&lane, g->rt, &err) < 0) {
        say(&err);
        free(r);
        return NULL;
    }
    for (;;) {
        int client = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (client < 0) /* shut down */
            break;
        converse(g, lane, client, r);
        shutdown(client,
                 SHUT_WR); /* before close, or unread bytes would take the answer back */
        close(client);
    }
    adp_lane_close(lane);
    free(r);
    return NULL;
}

/* Whatever goes wrong leaves the metrics as they are: they age until they are absent. */
static void fetch_metrics(struct gateway *g, char *page)
{
    static const char ask[] = "GET /metrics HTTP/1.0\r\nHost: engine\r\n\r\n";
    adp_error err = { 0 };
    size_t len = 0;
    ssize_t n = 0;
    int fd = dial(g->upstream);
    if (fd < 0)
        return;
    if (send_all(fd, ask, sizeof ask - 1) == 0)
        while (len < PAGE_CAP && (n = recv(fd, page + len, PAGE_CAP - len, 0)) > 0)
            len += (size_t)n;
    close(fd);
    page[len] = '\0';
    char *body = strstr(page, "\r\n\r\n");
    if (n != 0 || !body || strncmp(page + strcspn(page, " "), " 200", 4) != 0)
        return;
    body += 4;
    if (adp_runtime_publish_text(g->rt, body, len - (size_t)(body - page), &err) < 0)
        say(&err);
}

static int listen_on(uint16_t port)
{
    struct sockaddr_in at = loopback(port);
    socklen_t len = sizeof at;
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
        bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 128) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0) {
        perror("gateway: cannot listen");
        exit(1);
    }
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

/* Until SIGTERM or SIGINT, which are blocked in every thread and waited for here. */
static void run(struct gateway *g, const sigset_t *ends)
{
    pthread_t thread[THREADS];
    struct timespec interval = { .tv_sec = 1 };
    char *page = malloc(PAGE_CAP + 1);
    uint32_t n = 0;
    if (page)
        fetch_metrics(g, page);
    while (n < THREADS && pthread_create(&thread[n], NULL, work, g) == 0)
        n++;
    while (page && n && sigtimedwait(ends, NULL, &interval) < 0)
        fetch_metrics(g, page);
    shutdown(g->listener, SHUT_RD); /* every accept returns */
    while (n)
        pthread_join(thread[--n], NULL);
    free(page);
}

int main(int argc, char **argv)
{
    struct gateway g = { 0 };
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    sigset_t ends;
    if (argc != 4) {
        fprintf(stderr, "usage: gateway CONFIG PORT UPSTREAM_PORT\n");
        return 2;
    }
    int opened = adp_runtime_open(&g.rt, argv[1], &errors);
    for (uint32_t i = 0; i < errors.n; i++) /* mistakes, or, when it opened, notes */
        say(&errors.list[i]);
    adp_errors_free(&errors);
    if (opened < 0)
        return 1;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    if (adp_runtime_start(g.rt, &err) < 0) {
        adp_runtime_close(g.rt, NULL);
        return say(&err);
    }
    g.upstream = (uint16_t)strtoul(argv[3], NULL, 10);
    g.listener = listen_on((uint16_t)strtoul(argv[2], NULL, 10));
    run(&g, &ends);
    close(g.listener);
    return adp_runtime_close(g.rt, &err) < 0 ? say(&err) : 0;
}
