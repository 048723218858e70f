/* SPDX-License-Identifier: MIT */
/* The server with real sockets, in this process and thread: the loop is turned by hand until what
 * is expected is there. Time is injected. */
#include "runtime/http/http.h"

#include "runtime/http/listen.h"

#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define SECOND     UINT64_C(1000000000)
#define FIRST_DATE "Date: Thu, 01 Jan 1970 00:00:01 GMT\r\n"
#define OK(body)   "HTTP/1.1 200 OK\r\n" FIRST_DATE "Content-Length: 2\r\n\r\n" body

enum { MAX_KEPT = 64, MANY_TURNS = 100000 };

struct stand {
    struct adp_http_server *server;
    uint64_t now_ns;
    bool later;
    uint64_t kept[MAX_KEPT];
    unsigned n_kept, n_gone, n_readable, n_ticks;
    unsigned closed[128]; /* by slot: how often its descriptor became -1 */
    uint64_t due_in;      /* bytes that clients have sent */
    int port;
    char path[64]; /* of a unix socket */
};

static struct stand stand;

static void answer(uint64_t exchange, const char *body)
{
    struct adp_http_answer a = { .status = 200, .body = body, .body_len = strlen(body) };
    ck_assert_int_eq(adp_http_answer(stand.server, exchange, &a), 0);
}

static void on_request(void *ctx, const struct adp_http_request *request)
{
    (void)ctx;
    stand.kept[stand.n_kept++ % MAX_KEPT] = request->exchange;
    if (!stand.later)
        answer(request->exchange, "ok");
}

static void on_gone(void *ctx, uint64_t exchange)
{
    (void)ctx;
    (void)exchange;
    stand.n_gone++;
}

static void on_standing(void *ctx, uint32_t slot,
                        const struct adp_http_standing *standing)
{
    (void)ctx;
    stand.closed[slot] += standing->fd == -1;
}

static void on_tick(void *ctx, uint64_t now_ns)
{
    (void)ctx;
    ck_assert_uint_eq(now_ns, stand.now_ns);
    stand.n_ticks++;
}

static uint64_t mono_ns(void *ctx)
{
    (void)ctx;
    return stand.now_ns;
}

static int64_t wall_s(void *ctx)
{
    (void)ctx;
    return (int64_t)(stand.now_ns / SECOND);
}

static void create(struct adp_http_limits limits)
{
    struct adp_http_options options = {
        .calls = { .request = on_request,
                   .gone = on_gone,
                   .standing = on_standing,
                   .tick = on_tick },
        .limits = limits,
        .clock = { .mono_ns = mono_ns, .wall_s = wall_s },
    };
    memset(&stand, 0, sizeof stand);
    stand.now_ns = SECOND;
    ck_assert_int_eq(adp_http_server_create(&stand.server, &options), 0);
}

static void listen_tcp(void)
{
    char told[64];
    int fd = -1;
    ck_assert_int_eq(adp_http_listen("127.0.0.1:0", NULL, &fd), 0);
    ck_assert_int_eq(adp_http_listen_address(fd, told, sizeof told), 0);
    stand.port = (int)strtol(strrchr(told, ':') + 1, NULL, 10);
    ck_assert_int_eq(adp_http_server_listen_take(stand.server, fd), 0);
}

static int dial(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)stand.port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_ge(fd, 0);
    int r = connect(fd, (struct sockaddr *)&to, sizeof to);
    ck_assert(r == 0 || errno == EINPROGRESS);
    return fd;
}

/* Sends, turning the loop while the socket is full. */
static void say(int fd, const char *text)
{
    size_t len = strlen(text);
    for (unsigned i = 0; len; i++) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
        adp_http_server_step(stand.server);
        ck_assert_uint_lt(i, MANY_TURNS);
    }
}

/* What the client gets: reads until `len` bytes or the end are there, turning the loop. The end
 * is written as "<end>", a reset as "<reset>". */
static const char *hear(int fd, size_t len)
{
    static char text[1 << 20];
    size_t have = 0;
    for (unsigned i = 0; have < len; i++) {
        ssize_t n = recv(fd, text + have, sizeof text - 16 - have, 0);
        if (n > 0) {
            have += (size_t)n;
            continue;
        }
        if (n == 0 || (errno != EAGAIN && errno != ENOTCONN)) {
            snprintf(text + have, 16, "%s", n == 0 ? "<end>" : "<reset>");
            return text;
        }
        adp_http_server_step(stand.server);
        if (i > MANY_TURNS)
            break; /* the comparison shows what is missing */
    }
    text[have] = '\0';
    return text;
}

static void hears(int fd, const char *expected)
{
    ck_assert_str_eq(hear(fd, strlen(expected)), expected);
}

/* As hears, up to the end of the connection. */
static void hears_last(int fd, const char *expected)
{
    char all[1024];
    snprintf(all, sizeof all, "%s<end>", expected);
    ck_assert_str_eq(hear(fd, SIZE_MAX), all);
}

static void turn_until(bool (*holds)(void))
{
    for (unsigned i = 0; !holds(); i++) {
        adp_http_server_step(stand.server);
        ck_assert_uint_lt(i, MANY_TURNS);
    }
}

static struct adp_http_counts counts(void)
{
    return adp_http_server_counts(stand.server);
}

static bool asked_once(void)
{
    return stand.n_kept == 1;
}

static bool asked_twice(void)
{
    return stand.n_kept == 2;
}

static bool all_is_in(void)
{
    return counts().bytes_in == stand.due_in;
}

static bool none_open(void)
{
    return counts().open == 0;
}

static void tick(uint64_t later_ns)
{
    stand.now_ns += later_ns;
    adp_http_server_tick(stand.server);
}

/* --- serving */

START_TEST(requests_over_tcp_are_answered_one_by_one_and_pipelined)
{
    create((struct adp_http_limits) { 0 });
    listen_tcp();
    int c = dial();
    say(c, GET("/a"));
    hears(c, OK("ok"));
    say(c, GET("/b") GET("/c"));
    hears(c, OK("ok") OK("ok"));
    ck_assert_uint_eq(counts().connections, 1);
    ck_assert_uint_eq(counts().requests, 3);
    ck_assert_uint_eq(counts().bytes_in, 3 * strlen(GET("/a")));
    ck_assert_uint_eq(counts().bytes_out, 3 * strlen(OK("ok")));
    close(c);
    turn_until(none_open);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(a_unix_socket_serves_as_tcp_does)
{
    char address[80];
    int fd = -1;
    create((struct adp_http_limits) { 0 });
    snprintf(stand.path, sizeof stand.path, "/tmp/adp-server-%ld", (long)getpid());
    snprintf(address, sizeof address, "unix:%s", stand.path);
    ck_assert_int_eq(adp_http_listen(address, NULL, &fd), 0);
    ck_assert_int_eq(adp_http_server_listen_take(stand.server, fd), 0);
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    snprintf(to.sun_path, sizeof to.sun_path, "%s", stand.path);
    int c = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(connect(c, (struct sockaddr *)&to, sizeof to), 0);
    say(c, GET("/a"));
    hears(c, OK("ok"));
    close(c);
    adp_http_server_destroy(stand.server);
    unlink(stand.path);
}
END_TEST

START_TEST(answers_given_later_leave_by_themselves)
{
    create((struct adp_http_limits) { .pipelined = 2 });
    listen_tcp();
    stand.later = true;
    int c = dial();
    say(c, GET("/a") GET("/b") GET("/c"));
    turn_until(asked_twice);
    answer(stand.kept[1], "b!");
    answer(stand.kept[0], "a!");
    ck_assert_uint_eq(stand.n_kept, 2); /* the third is not delivered from in here */
    hears(c, OK("a!") OK("b!"));
    answer(stand.kept[2], "c!");
    hears(c, OK("c!"));
    close(c);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(a_client_that_leaves_is_reported_and_its_exchange_is_void)
{
    struct adp_http_answer a = { .status = 200 };
    create((struct adp_http_limits) { 0 });
    listen_tcp();
    stand.later = true;
    int c = dial();
    say(c, GET("/a"));
    turn_until(asked_once);
    struct linger reset = { .l_onoff = 1, .l_linger = 0 };
    ck_assert_int_eq(setsockopt(c, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    close(c);
    turn_until(none_open);
    ck_assert_uint_eq(stand.n_gone, 1);
    ck_assert_int_eq(adp_http_answer(stand.server, stand.kept[0], &a), UV_EPIPE);
    ck_assert_int_eq(adp_http_answer(stand.server, 0, &a), UV_EPIPE);
    ck_assert_int_eq(adp_http_answer(stand.server, UINT64_MAX, &a), UV_EPIPE);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(a_refused_client_reads_why_before_the_end)
{
    create((struct adp_http_limits) { .body_bytes = 10 });
    listen_tcp();
    int c = dial();
    say(c,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world and more");
    hears_last(c,
               "HTTP/1.1 413 Content Too Large\r\n" FIRST_DATE "Content-Length: 15\r\n"
               "Connection: close\r\nContent-Type: text/plain\r\n\r\nbody too large\n");
    close(c);
    turn_until(none_open);
    ck_assert_uint_eq(counts().refused, 1);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(the_date_follows_the_clock)
{
    create((struct adp_http_limits) { 0 });
    listen_tcp();
    int c = dial();
    tick(1000 * SECOND); /* 1001 s after 1970 began */
    say(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    hears_last(c, "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:16:41 GMT\r\n"
                  "Content-Length: 2\r\nConnection: close\r\n\r\nok");
    close(c);
    adp_http_server_destroy(stand.server);
}
END_TEST

/* --- clients that are slow, silent or many */

static bool is_writing(void)
{
    return counts().bytes_out > 0;
}

START_TEST(a_client_that_reads_nothing_holds_nobody_else_up)
{
    static char large[4 << 20];
    struct adp_http_answer a = { .status = 200, .body = large, .body_len = sizeof large };
    create((struct adp_http_limits) { .write_ms = 30000 });
    listen_tcp();
    stand.later = true;
    int slow = dial();
    say(slow, GET("/a"));
    turn_until(asked_once);
    ck_assert_int_eq(adp_http_answer(stand.server, stand.kept[0], &a), 0);
    turn_until(is_writing);
    stand.later = false;
    int c = dial();
    say(c, GET("/b"));
    hears(c, OK("ok"));
    tick(0); /* sees what there is left to write */
    tick(29 * SECOND);
    ck_assert_uint_eq(counts().open, 2);
    tick(2 * SECOND);
    ck_assert_uint_eq(counts().open, 1);
    ck_assert_uint_eq(counts().stalled, 1);
    close(slow);
    close(c);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(a_slow_client_that_reads_at_all_gets_everything)
{
    static char large[4 << 20];
    struct adp_http_answer a = { .status = 200, .body = large, .body_len = sizeof large };
    create((struct adp_http_limits) { .write_ms = 1000 });
    listen_tcp();
    stand.later = true;
    int c = dial();
    say(c, GET("/a"));
    turn_until(asked_once);
    ck_assert_int_eq(adp_http_answer(stand.server, stand.kept[0], &a), 0);
    size_t have = 0;
    char piece[65536];
    for (unsigned i = 0; have < sizeof large; i++) {
        ssize_t n = recv(c, piece, sizeof piece, 0);
        have += n > 0 ? (size_t)n : 0;
        adp_http_server_step(stand.server);
        if (i % 16 == 0)
            tick(SECOND / 2);
        ck_assert_uint_lt(i, MANY_TURNS);
    }
    ck_assert_uint_eq(counts().stalled, 0);
    close(c);
    adp_http_server_destroy(stand.server);
}
END_TEST

static bool all_served(void)
{
    return counts().requests == 9;
}

START_TEST(a_dribbled_head_ends_at_its_time_and_others_are_served_meanwhile)
{
    const char head[] = "GET / HTT";
    create((struct adp_http_limits) { .head_ms = 10000 });
    listen_tcp();
    int slow = dial(), c = dial();
    for (unsigned i = 0; i < 9; i++) {
        const char byte[2] = { head[i], '\0' };
        say(slow, byte);
        say(c, GET("/b"));
        stand.due_in += 1 + strlen(GET("/b"));
        turn_until(all_is_in); /* read before the clock goes on */
        tick(SECOND);
    }
    turn_until(all_served);
    ck_assert_uint_eq(counts().timeouts, 0);
    tick(SECOND);
    ck_assert_uint_eq(counts().timeouts, 1);
    ck_assert_ptr_nonnull(strstr(hear(slow, SIZE_MAX), "408 Request Timeout"));
    close(slow);
    close(c);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(when_all_connections_are_taken_the_longest_idle_makes_room)
{
    create((struct adp_http_limits) { .connections = 2 });
    listen_tcp();
    int a = dial();
    say(a, GET("/a"));
    hears(a, OK("ok"));
    stand.now_ns += 1;
    int b = dial();
    say(b, GET("/b"));
    hears(b, OK("ok"));
    stand.now_ns += 1;
    int c = dial();
    say(c, GET("/c"));
    hears(c, OK("ok"));
    hears_last(a, "");
    say(b, GET("/b")); /* still there */
    hears(b, OK("ok"));
    ck_assert_uint_eq(counts().evicted, 1);
    ck_assert_uint_eq(counts().open, 2);
    close(a);
    close(b);
    close(c);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(who_is_owed_an_answer_never_makes_room_and_the_newcomer_is_turned_away)
{
    create((struct adp_http_limits) { .connections = 1 });
    listen_tcp();
    stand.later = true;
    int a = dial();
    say(a, GET("/a"));
    turn_until(asked_once);
    int b = dial();
    hears_last(
        b, "HTTP/1.1 503 Service Unavailable\r\n" FIRST_DATE "Content-Length: 21\r\n"
           "Connection: close\r\nContent-Type: text/plain\r\n\r\ntoo many connections\n");
    ck_assert_uint_eq(counts().turned_away, 1);
    answer(stand.kept[0], "ok");
    hears(a, OK("ok"));
    close(a);
    close(b);
    turn_until(none_open);
    adp_http_server_destroy(stand.server);
}
END_TEST

/* More come at once than there are spare connections: the rest wait unaccepted until some have
 * gone, and each is told in the end. */
START_TEST(beyond_all_bounds_newcomers_wait_for_their_turn)
{
    int many[3 * ADP_HTTP_SPARE];
    create((struct adp_http_limits) { .connections = 1 });
    listen_tcp();
    stand.later = true;
    int a = dial();
    say(a, GET("/a"));
    turn_until(asked_once);
    for (unsigned i = 0; i < 3 * ADP_HTTP_SPARE; i++)
        many[i] = dial();
    for (unsigned i = 0; i < 3 * ADP_HTTP_SPARE; i++) {
        hears_last(many[i], "HTTP/1.1 503 Service Unavailable\r\n" FIRST_DATE
                            "Content-Length: 21\r\n"
                            "Connection: close\r\nContent-Type: text/plain\r\n\r\n"
                            "too many connections\n");
        close(many[i]);
    }
    ck_assert_uint_eq(counts().turned_away, 3 * ADP_HTTP_SPARE);
    ck_assert_uint_eq(counts().evicted, 0);
    answer(stand.kept[0], "ok");
    hears(a, OK("ok"));
    close(a);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(connections_come_and_go_in_the_same_memory)
{
    create((struct adp_http_limits) { .connections = 4 });
    listen_tcp();
    for (unsigned i = 0; i < 200; i++) {
        int c = dial();
        say(c, GET("/a"));
        hears(c, OK("ok"));
        close(c);
        turn_until(none_open);
    }
    ck_assert_uint_eq(counts().connections, 200);
    ck_assert_uint_eq(counts().evicted, 0);
    unsigned closed = 0, slots = 0;
    for (unsigned i = 0; i < 128; i++) {
        closed += stand.closed[i];
        slots += stand.closed[i] > 0;
    }
    ck_assert_uint_eq(closed, 200);
    ck_assert_uint_le(slots, 4 + ADP_HTTP_SPARE);
    adp_http_server_destroy(stand.server);
}
END_TEST

/* --- taking over, watching, ending */

START_TEST(an_adopted_connection_gets_what_it_is_owed_and_goes_on)
{
    int pair[2];
    uint64_t exchanges[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    create((struct adp_http_limits) { 0 });
    struct adp_http_standing standing = { .fd = pair[0], .owed = 2, .heads = 2 };
    ck_assert_int_eq(adp_http_server_adopt_take(stand.server, &standing, NULL, exchanges),
                     0);
    answer(exchanges[1], "ok");
    answer(exchanges[0], "ok");
    hears(pair[1], OK("ok") OK(""));
    say(pair[1], GET("/a"));
    hears(pair[1], OK("ok"));
    close(pair[1]);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(an_adopted_connection_goes_on_with_what_was_read_and_what_is_in_the_socket)
{
    static const char unread[] = GET("/a") "GET /b HTTP";
    int pair[2];
    uint64_t exchanges[1];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    create((struct adp_http_limits) { 0 });
    struct adp_http_standing standing = { .fd = pair[0],
                                          .owed = 1,
                                          .unread = sizeof unread - 1 };
    say(pair[1], "/1.1\r\nHost: a\r\n\r\n");
    ck_assert_int_eq(
        adp_http_server_adopt_take(stand.server, &standing, unread, exchanges), 0);
    answer(exchanges[0], "ok");
    hears(pair[1], OK("ok") OK("ok") OK("ok"));
    close(pair[1]);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(what_cannot_be_adopted_is_closed_and_refused)
{
    int pair[2];
    char byte;
    uint64_t exchanges[64];
    create((struct adp_http_limits) { .pipelined = 2 });
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    struct adp_http_standing standing = { .fd = pair[0], .owed = 3 };
    ck_assert_int_eq(adp_http_server_adopt_take(stand.server, &standing, NULL, exchanges),
                     UV_EINVAL);
    ck_assert_int_eq(read(pair[1], &byte, 1), 0);
    close(pair[1]);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    standing = (struct adp_http_standing) { .fd = pair[0], .partly_written = true };
    ck_assert_int_eq(adp_http_server_adopt_take(stand.server, &standing, NULL, exchanges),
                     UV_EINVAL);
    close(pair[1]);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(what_does_not_listen_is_refused)
{
    create((struct adp_http_limits) { 0 });
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(adp_http_server_listen_take(stand.server, fd), UV_EINVAL);
    ck_assert_int_eq(close(fd), -1); /* it was taken */
    adp_http_server_destroy(stand.server);
}
END_TEST

static void on_readable(void *ctx, int fd)
{
    uint64_t n;
    ck_assert_ptr_eq(ctx, &stand);
    ck_assert_int_eq(read(fd, &n, sizeof n), sizeof n);
    stand.n_readable += (unsigned)n;
}

static bool was_readable(void)
{
    return stand.n_readable == 3;
}

START_TEST(a_watched_descriptor_calls_when_it_can_be_read)
{
    create((struct adp_http_limits) { 0 });
    int fd = eventfd(0, EFD_NONBLOCK);
    ck_assert_int_eq(adp_http_server_watch(stand.server, fd, on_readable, &stand), 0);
    adp_http_server_step(stand.server);
    ck_assert_uint_eq(stand.n_readable, 0);
    ck_assert_int_eq(eventfd_write(fd, 3), 0);
    turn_until(was_readable);
    adp_http_server_destroy(stand.server);
    close(fd);
}
END_TEST

START_TEST(draining_ends_once_all_that_had_begun_is_answered)
{
    create((struct adp_http_limits) { 0 });
    listen_tcp();
    stand.later = true;
    int idle = dial(), busy = dial();
    say(busy, GET("/a"));
    turn_until(asked_once);
    adp_http_server_drain(stand.server, 3600 * 1000);
    hears_last(idle, "");
    ck_assert(adp_http_server_step(stand.server)); /* busy is owed an answer */
    answer(stand.kept[0], "ok");
    hears_last(busy, "HTTP/1.1 200 OK\r\n" FIRST_DATE "Content-Length: 2\r\n"
                     "Connection: close\r\n\r\nok");
    ck_assert(!adp_http_server_step(stand.server));
    /* Nobody listens any more. */
    int late = dial();
    struct pollfd p = { .fd = late, .events = POLLOUT };
    ck_assert_int_eq(poll(&p, 1, 1000), 1);
    ck_assert(p.revents & (POLLERR | POLLHUP));
    close(idle);
    close(busy);
    close(late);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(leaving_ends_where_nothing_is_half_done_and_closes_nothing)
{
    create((struct adp_http_limits) { 0 });
    listen_tcp();
    int idle = dial(), begun = dial(), owed = dial();
    say(idle, GET("/a"));
    turn_until(asked_once);
    hears(idle, OK("ok"));
    stand.later = true;
    say(owed, GET("/b"));
    turn_until(asked_twice);
    say(begun, "GET /c HT");
    stand.due_in = strlen(GET("/a") GET("/b") "GET /c HT");
    turn_until(all_is_in);
    adp_http_server_leave(stand.server, 3600 * 1000);
    say(idle, GET("/d")); /* is for the next process */
    for (int i = 0; i < 5; i++)
        ck_assert(adp_http_server_step(stand.server));
    ck_assert_uint_eq(stand.n_kept, 2);
    say(begun, "TP/1.1\r\nHost: x\r\n\r\n");
    while (adp_http_server_step(stand.server))
        ;
    ck_assert_uint_eq(stand.n_kept, 3);
    ck_assert_uint_eq(counts().open, 3);
    ck_assert_uint_eq(stand.n_gone, 0);
    close(idle);
    close(begun);
    close(owed);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(leaving_does_not_wait_longer_than_it_may)
{
    create((struct adp_http_limits) { 0 });
    listen_tcp();
    int begun = dial();
    say(begun, "GET /c HT");
    stand.due_in = strlen("GET /c HT");
    turn_until(all_is_in);
    adp_http_server_leave(stand.server, 0);
    while (adp_http_server_step(stand.server))
        ;
    ck_assert_uint_eq(counts().open, 1);
    close(begun);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(draining_cuts_off_what_does_not_end_in_its_time)
{
    create((struct adp_http_limits) { 0 });
    listen_tcp();
    stand.later = true;
    int busy = dial();
    say(busy, GET("/a"));
    turn_until(asked_once);
    adp_http_server_drain(stand.server, 3600 * 1000);
    adp_http_server_step(stand.server);
    adp_http_server_drain(stand.server, 7200 * 1000); /* never lengthened */
    adp_http_server_drain(stand.server, 0);
    turn_until(none_open);
    ck_assert_uint_eq(stand.n_gone, 1);
    ck_assert(!adp_http_server_step(stand.server));
    close(busy);
    adp_http_server_destroy(stand.server);
}
END_TEST

static void *drain_from_outside(void *server)
{
    adp_http_server_drain(server, 0);
    return NULL;
}

START_TEST(run_returns_when_another_thread_drains)
{
    pthread_t thread;
    create((struct adp_http_limits) { 0 });
    listen_tcp();
    ck_assert_int_eq(pthread_create(&thread, NULL, drain_from_outside, stand.server), 0);
    adp_http_server_run(stand.server);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_ge(stand.n_ticks, 1);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(two_servers_share_a_listening_socket)
{
    struct adp_http_options options = { .calls = { .request = on_request } };
    struct adp_http_server *second = NULL;
    int fd = -1;
    char told[64];
    create((struct adp_http_limits) { 0 });
    ck_assert_int_eq(adp_http_listen("127.0.0.1:0", NULL, &fd), 0);
    ck_assert_int_eq(adp_http_listen_address(fd, told, sizeof told), 0);
    stand.port = (int)strtol(strrchr(told, ':') + 1, NULL, 10);
    ck_assert_int_eq(adp_http_server_create(&second, &options), 0);
    ck_assert_int_eq(adp_http_server_listen_take(second, dup(fd)), 0);
    ck_assert_int_eq(adp_http_server_listen_take(stand.server, fd), 0);
    adp_http_server_drain(second, 0);
    ck_assert(!adp_http_server_step(second)); /* closes its duplicate alone */
    adp_http_server_destroy(second);
    int c = dial();
    say(c, GET("/a"));
    hears(c, OK("ok"));
    close(c);
    adp_http_server_destroy(stand.server);
}
END_TEST

START_TEST(a_server_without_a_request_function_is_none)
{
    struct adp_http_options options = { 0 };
    struct adp_http_server *server = NULL;
    ck_assert_int_eq(adp_http_server_create(&server, &options), UV_EINVAL);
    ck_assert_ptr_null(server);
    adp_http_server_destroy(NULL);
}
END_TEST

START_TEST(a_signal_handler_of_the_program_is_left_in_place)
{
    signal(SIGPIPE, SIG_DFL);
    create((struct adp_http_limits) { 0 });
    adp_http_server_destroy(stand.server);
    struct sigaction now;
    ck_assert_int_eq(sigaction(SIGPIPE, NULL, &now), 0);
    ck_assert(now.sa_handler == SIG_IGN);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("server");
    TCase *t = tcase_create("server");
    tcase_add_test(t, requests_over_tcp_are_answered_one_by_one_and_pipelined);
    tcase_add_test(t, a_unix_socket_serves_as_tcp_does);
    tcase_add_test(t, answers_given_later_leave_by_themselves);
    tcase_add_test(t, a_client_that_leaves_is_reported_and_its_exchange_is_void);
    tcase_add_test(t, a_refused_client_reads_why_before_the_end);
    tcase_add_test(t, the_date_follows_the_clock);
    tcase_add_test(t, a_client_that_reads_nothing_holds_nobody_else_up);
    tcase_add_test(t, a_slow_client_that_reads_at_all_gets_everything);
    tcase_add_test(t, a_dribbled_head_ends_at_its_time_and_others_are_served_meanwhile);
    tcase_add_test(t, when_all_connections_are_taken_the_longest_idle_makes_room);
    tcase_add_test(
        t, who_is_owed_an_answer_never_makes_room_and_the_newcomer_is_turned_away);
    tcase_add_test(t, beyond_all_bounds_newcomers_wait_for_their_turn);
    tcase_add_test(t, connections_come_and_go_in_the_same_memory);
    tcase_add_test(t, an_adopted_connection_gets_what_it_is_owed_and_goes_on);
    tcase_add_test(
        t, an_adopted_connection_goes_on_with_what_was_read_and_what_is_in_the_socket);
    tcase_add_test(t, what_cannot_be_adopted_is_closed_and_refused);
    tcase_add_test(t, what_does_not_listen_is_refused);
    tcase_add_test(t, a_watched_descriptor_calls_when_it_can_be_read);
    tcase_add_test(t, draining_ends_once_all_that_had_begun_is_answered);
    tcase_add_test(t, draining_cuts_off_what_does_not_end_in_its_time);
    tcase_add_test(t, leaving_ends_where_nothing_is_half_done_and_closes_nothing);
    tcase_add_test(t, leaving_does_not_wait_longer_than_it_may);
    tcase_add_test(t, run_returns_when_another_thread_drains);
    tcase_add_test(t, two_servers_share_a_listening_socket);
    tcase_add_test(t, a_server_without_a_request_function_is_none);
    tcase_add_test(t, a_signal_handler_of_the_program_is_left_in_place);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
