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
 *   outcome   once for each admitted request: done, failed (the engine's side broke, or said
 *             5xx) or cancelled (the client left; the engine is told by closing) */
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

/* What is seen of an answer as it passes. */
struct answer {
    char tail[7]; /* the last bytes: where a head or a chunked body may end */
    char start[16];
    size_t n_start;
    int in_body;
    double ttft_ms; /* below 0: no byte of a body yet */
};

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

/* The request line, our Connection, the other headers but theirs, the body. */
static int forward(const struct request *r, int client, int upstream)
{
    const char *line = strstr(r->head, "\r\n") + 2, *end;
    char bytes[16384];
    if (send_all(upstream, r->head, (size_t)(line - r->head)) < 0 ||
        send_all(upstream, "Connection: close\r\n", 19) < 0)
        return -1;
    for (; (end = strstr(line, "\r\n")) && end != line; line = end + 2)
        if (strncasecmp(line, "Connection:", 11) != 0 &&
            send_all(upstream, line, (size_t)(end + 2 - line)) < 0)
            return -1;
    size_t there = r->len - r->body_at;
    if (send_all(upstream, "\r\n", 2) < 0 ||
        send_all(upstream, r->head + r->body_at, there) < 0)
        return -1;
    for (size_t left = r->body_len > there ? r->body_len - there : 0; left;) {
        ssize_t n = recv(client, bytes, left < sizeof bytes ? left : sizeof bytes, 0);
        if (n <= 0 || send_all(upstream, bytes, (size_t)n) < 0)
            return -1;
        left -= (size_t)n;
    }
    return 0;
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

static void look(struct answer *a, const char *bytes, size_t n, double start_ms)
{
    for (size_t i = 0; i < n; i++) {
        if (a->in_body && a->ttft_ms < 0)
            a->ttft_ms = now_ms() - start_ms;
        if (a->n_start < sizeof a->start - 1)
            a->start[a->n_start++] = bytes[i];
        memmove(a->tail, a->tail + 1, sizeof a->tail - 1);
        a->tail[sizeof a->tail - 1] = bytes[i];
        a->in_body |= memcmp(a->tail + 3, "\r\n\r\n", 4) == 0;
    }
}

/* The client has all of it, though the engine has not closed yet. */
static int is_whole(const struct answer *a)
{
    return a->in_body && memcmp(a->tail, "\r\n0\r\n\r\n", 7) == 0;
}

/* Relays until the engine is done or either side is gone; enum adp_end. */
static uint32_t relay(int client, int upstream, struct answer *a, double start_ms)
{
    char bytes[16384];
    struct pollfd both[2] = { { .fd = upstream, .events = POLLIN },
                              { .fd = client, .events = POLLRDHUP } };
    for (;;) {
        if (poll(both, 2, -1) < 0 && errno != EINTR)
            return ADP_FAILED;
        if (both[1].revents && !both[0].revents)
            return is_whole(a) ? ADP_DONE : ADP_CANCELLED;
        if (!both[0].revents)
            continue;
        ssize_t n = recv(upstream, bytes, sizeof bytes, 0);
        if (n < 0)
            return ADP_FAILED;
        if (n == 0)
            return a->in_body && a->start[9] < '5' ? ADP_DONE : ADP_FAILED;
        if (send_all(client, bytes, (size_t)n) < 0)
            return ADP_CANCELLED;
        look(a, bytes, (size_t)n, start_ms);
    }
}

/* An admitted request, to its outcome. */
static void serve(struct gateway *g, adp_lane *lane, int client, const struct request *r,
                  uint64_t id)
{
    double start_ms = now_ms();
    struct answer a = { .ttft_ms = -1 };
    adp_result result = { .size = sizeof result, .end = ADP_FAILED, .ok = -1 };
    int upstream = dial(g->upstream);
    if (upstream >= 0 && forward(r, client, upstream) == 0)
        result.end = relay(client, upstream, &a, start_ms);
    else
        send_all(client, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", 47);
    if (upstream >= 0)
        close(upstream);
    result.present = ADP_O_TOTAL;
    result.total_ms = now_ms() - start_ms;
    if (a.n_start > 12) {
        result.present |= ADP_O_STATUS;
        result.status = (uint32_t)strtoul(a.start + 9, NULL, 10);
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
