/* SPDX-License-Identifier: MIT */
/* A small HTTP/1.1 server (RFC 9110, 9112): one thread, one loop, whole requests in, answers out.
 *
 * It knows nothing of admission. Requests reach one function of the caller's, whole: head and a
 * bounded body. The answer may be given there or later, by the request's `exchange`; whatever the
 * order in which answers are given, they are sent in the order of the requests.
 *
 *  1. One request is delivered at most once, and never a part of one. What cannot be read in
 *     exactly one way (docs/http.md has the list) is refused with 4xx or 5xx and a short reason,
 *     and the connection is closed: what follows it would be guesswork.
 *  2. Everything a client can make grow has a bound in adp_http_limits, and everything it can make
 *     wait a deadline. A byte now and then extends none of them but `write_ms`.
 *  3. A connection that is idle or between requests costs its struct and no buffer. Requests on a
 *     connection that is kept alive allocate nothing: buffers come from a pool and go back.
 *  4. Answers to requests that came together leave in one write.
 *  5. When all connections are taken, the one that has waited longest without owing us or being
 *     owed anything makes room: clients that do nothing cannot keep others out. So it does when the
 *     process has no descriptor left; if nobody can, clients wait unaccepted until there is one.
 *  6. An exchange whose client is gone is named by nothing: answering it does nothing and says so.
 *
 * Left to others: who may ask (tokens), paths and what they mean, TLS and client certificates (a
 * gateway or stunnel in front; nothing here encrypts), decoding of contents, LISTEN_FDS,
 * signals. The rooms of this project are unknown here, so errors are libuv's negative codes
 * (-errno, UV_EAI_…): adp_http_error_text() words them, and whoever has the operator's
 * configuration at hand adds the place.
 *
 * Threads: a server belongs to the thread that calls adp_http_server_run(); functions marked
 * [loop] are called there, by way of the calls below. Several servers, each with its own thread
 * and connections, may share listening sockets. Creating the first one makes the process ignore
 * SIGPIPE unless it catches it: libuv writes to sockets that may be closed.
 *
 * The room: listen.c opens sockets, server.c drives libuv, conn.c is one connection without a
 * socket, head.c and chunks.c read, request.c looks things up in what was read, answer.c writes,
 * buffer.c has the memory. */
#ifndef ADP_HTTP_H
#define ADP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adp_http_server;

/* Borrowed bytes, not terminated. */
struct adp_http_text {
    const char *at;
    size_t len;
};

struct adp_http_field {
    struct adp_http_text name, value;
};

/* Any other method is answered 501, but those that HTTP's extensions have names for, and TRACE: they
 * are OTHER. Which of these a path takes is its own business. */
enum adp_http_method {
    ADP_HTTP_GET = 1,
    ADP_HTTP_HEAD, /* answered as GET; the body is counted and left out here */
    ADP_HTTP_POST,
    ADP_HTTP_PUT,
    ADP_HTTP_DELETE,
    ADP_HTTP_OPTIONS,
    ADP_HTTP_OTHER
};

/* A request. All of it is borrowed until the call it is given to returns. */
struct adp_http_request {
    uint64_t exchange; /* what to answer by; never 0 */
    enum adp_http_method method;
    uint32_t minor;             /* HTTP/1.0 or 1.1 */
    struct adp_http_text path;  /* as sent, not decoded; begins with '/', or is "*" */
    struct adp_http_text query; /* without the '?', not decoded; at == NULL: none */
    struct adp_http_text host;  /* at == NULL: none, which only HTTP/1.0 may leave out */
    struct adp_http_text body;
    const struct adp_http_field
        *fields; /* in the order sent, values without blanks around */
    size_t n_fields;
    uint64_t now_ns; /* the clock's, when its last byte was read */
};

/* The value of the first field of this name, NULL if none has it. Letters' case does not matter.
 * Borrowed from the request. [any] */
const struct adp_http_text *adp_http_field_find(const struct adp_http_request *request,
                                                const char *name);

/* Whether the text is these characters exactly. [any] */
bool adp_http_text_is(struct adp_http_text text, const char *word);

/* Looks up NAME=VALUE among the &-separated pairs of the query, the first one of that name.
 * `ret` gets the value as it was sent; a NAME without '=' has an empty one. [any] */
bool adp_http_query_find(const struct adp_http_request *request, const char *name,
                         struct adp_http_text *ret);

/* Undoes percent-encoding, and '+' for a blank when `plus`. Writes at most `cap` bytes, no NUL
 * behind them, and returns how many; SIZE_MAX: a '%' without two hexadecimal digits, a NUL, or it
 * does not fit. [any] */
size_t adp_http_decode(struct adp_http_text text, bool plus, char *to, size_t cap);

/* --- answers */

/* Everything borrowed for the call only. */
struct adp_http_answer {
    uint32_t status;                     /* 200 to 599 */
    const char *type;                    /* Content-Type; NULL: none */
    const struct adp_http_field *fields; /* more fields, sent as they are */
    size_t n_fields;
    const void *body; /* none is sent for 204, 304 and to HEAD */
    size_t body_len;
    bool close; /* Connection: close, and nothing more is read from this client */
};

/* Answers an exchange, once. Content-Length, Date and Connection are added here. 0 also when the
 * client is slow: what it does not take yet is kept, up to `write_ms`. UV_EPIPE: the exchange is
 * over, or its client gone; UV_EINVAL: a status out of range, or a field that would break the
 * head (control characters, a name that is no token or one of ours: Connection, Content-Length,
 * Transfer-Encoding), and the exchange still waits; UV_ENOMEM: the connection is closed.
 * [loop] */
int adp_http_answer(struct adp_http_server *server, uint64_t exchange,
                    const struct adp_http_answer *answer);

/* Begins an answer of unknown length, for server-sent events: chunked for HTTP/1.1, up to the end
 * of the connection for 1.0. The answer's body is its first part. As adp_http_answer. [loop] */
int adp_http_stream_begin(struct adp_http_server *server, uint64_t exchange,
                          const struct adp_http_answer *answer);
/* Sends a part, whole or not at all. UV_EAGAIN: the client has more than `out_bytes` still to
 * take; drop the part, or try again later. UV_EPIPE, UV_ENOMEM as above. A stream to HEAD takes
 * parts and sends none. [loop] */
int adp_http_stream_write(struct adp_http_server *server, uint64_t exchange,
                          const void *part, size_t len);
/* Ends it well. UV_EPIPE. [loop] */
int adp_http_stream_end(struct adp_http_server *server, uint64_t exchange);

/* --- limits */

/* 0 in any of them: the default. */
struct adp_http_limits {
    uint32_t head_bytes;  /* request line, fields and empty line; 16384, at most 1 MiB */
    uint32_t fields;      /* 64, at most 256 */
    uint32_t body_bytes;  /* 1 MiB, at most 1 GiB */
    uint32_t chunk_bytes; /* of a chunked body, all that is not body: sizes, extensions,
                             trailers; 65536 */
    uint32_t connections; /* 1024, at most 65000 */
    uint32_t
        pipelined; /* requests of one connection whose answers are due; 32, at most 64.
                             More are not read until then */
    uint32_t
        out_bytes; /* answers of one connection not taken by the client; 256 KiB. With more,
                             no more of its requests are read, and streams pause */
    uint32_t head_ms;  /* from a request's first byte to the end of its head; 10000 */
    uint32_t body_ms;  /* from there to the end of its body; 30000 */
    uint32_t idle_ms;  /* between requests, and before the first; 60000 */
    uint32_t write_ms; /* that a client with an answer to take takes nothing; 30000 */
    uint32_t
        linger_ms; /* after a refusal, reading what the client still sends, so that it sees
                             the answer before a reset; 2000 */
};

/* Connections besides limits.connections that are being closed or turned away. With all of these
 * taken too, new ones wait unaccepted. */
#define ADP_HTTP_SPARE 16u

/* Puts defaults in place of zeros. UV_EINVAL: one is above its bound. [any] */
int adp_http_limits_settle(struct adp_http_limits *limits);

/* --- the server */

/* Where a connection stands, for whoever must be able to answer in this process's place. It is
 * told before a request is delivered and around each read and write, so that a death at any
 * moment, of this thread or of another, leaves what was true. */
struct adp_http_standing {
    int fd; /* -1: closed */
    uint32_t
        owed; /* whole requests, oldest first, of whose answers no byte was written */
    uint64_t heads; /* bit i: the i-th oldest of them asks with HEAD */
    bool last;      /* no more requests are read after these */
    bool
        partly_read; /* a request has begun and is not whole, or may have: it is being read;
                              and not all of it is held */
    /* Bytes that were read and are no request yet: the last so many of those given to `hold`. */
    uint32_t unread;
    bool partly_written /* an answer has begun and is not whole */;
};

/* The caller's functions, all called on the loop's thread. None may destroy the server. */
struct adp_http_calls {
    void *ctx;
    /* A request. Answer it here, or keep its exchange and answer later; one that is never
     * answered holds its connection until the client goes. */
    void (*request)(void *ctx, const struct adp_http_request *request);
    /* May be NULL. The client of an exchange that is not fully answered went away, or was cut
     * off; for a stream also when the client only closed its sending side. Not called for
     * answers that were given whole. */
    void (*gone)(void *ctx, uint64_t exchange);
    /* May be NULL. `slot` is below limits.connections + ADP_HTTP_SPARE and names the connection
     * until its fd is -1. */
    void (*standing)(void *ctx, uint32_t slot, const struct adp_http_standing *standing);
    /* May be NULL. Bytes that were read from this connection, to be kept in place of those given
     * before, or behind them; which of them still count is told by `standing`. False: they are
     * not kept. Called only where a read brought something else than whole requests, one by one. */
    bool (*hold)(void *ctx, uint32_t slot, const void *bytes, size_t len, bool more);
    /* May be NULL. About every 100 ms while the loop runs, busy or not. */
    void (*tick)(void *ctx, uint64_t now_ns);
};

struct adp_http_clock {
    void *ctx;
    uint64_t (*mono_ns)(void *ctx);
    int64_t (*wall_s)(void *ctx); /* seconds since the epoch, for Date */
};

struct adp_http_options {
    struct adp_http_calls calls;
    struct adp_http_limits limits;
    struct adp_http_clock clock; /* mono_ns == NULL: the system's clocks */
};

/* Since the server was created; [loop], or once run() has returned. */
struct adp_http_counts {
    uint64_t connections; /* accepted and adopted */
    uint64_t open;        /* of them, now */
    uint64_t requests;    /* delivered */
    uint64_t refused;     /* answered 4xx or 5xx here, timeouts apart */
    uint64_t timeouts;    /* head, body: 408 */
    uint64_t idle_closed; /* nothing came for idle_ms */
    uint64_t stalled;     /* dropped after write_ms, with an answer not taken */
    uint64_t evicted;     /* closed to make room */
    uint64_t turned_away; /* answered 503: all connections taken, none could make room */
    uint64_t gone;        /* exchanges that lost their client */
    uint64_t bytes_in, bytes_out;
};

/* Everything in `options` is copied. UV_EINVAL: no request function, or a limit above its bound;
 * UV_ENOMEM, UV_EMFILE. [control] */
int adp_http_server_create(struct adp_http_server **ret,
                           const struct adp_http_options *options);
/* Closes everything at once, without answers; exchanges are still reported gone. NULL is fine.
 * [control], not while it runs */
void adp_http_server_destroy(struct adp_http_server *server);

/* Accepts from a listening stream socket, TCP or unix (listen.h; or inherited). The descriptor is
 * taken, also on failure; a socket shared with another server or process is given as a duplicate,
 * and whoever takes the path of a unix socket away in the end (adp_http_listen_close) keeps one.
 * UV_EINVAL: not a listening stream socket; UV_ENOMEM. [control] or [loop] */
int adp_http_server_listen_take(struct adp_http_server *server, int fd);

/* Goes on with a connection that another process accepted, and that owes these answers (see
 * adp_http_standing; it was neither partly read nor partly written), after which come those to
 * what is in the `unread` bytes, and in the socket behind them. exchanges[0..owed-1], oldest
 * first, are what to answer them by, as HTTP/1.1. The descriptor is taken, also on failure.
 * UV_EINVAL: not a connected stream socket, or owed > limits.pipelined; UV_EMFILE: no connection
 * is free; UV_ENOMEM. [control] or [loop] */
int adp_http_server_adopt_take(struct adp_http_server *server,
                               const struct adp_http_standing *standing,
                               const void *unread, uint64_t *exchanges);

/* Calls `readable` whenever the descriptor can be read without blocking: an eventfd to be woken
 * by other threads, a signalfd, datagrams. Borrowed until the server is destroyed. UV_EEXIST,
 * UV_ENOMEM and what epoll says. [control] or [loop] */
int adp_http_server_watch(struct adp_http_server *server, int fd,
                          void (*readable)(void *ctx, int fd), void *ctx);

/* Serves until drained. [control] */
void adp_http_server_run(struct adp_http_server *server);
/* One turn of the loop that does not wait: for tests and for a loop around this one. Returns
 * whether anything is left to serve. [control] */
bool adp_http_server_step(struct adp_http_server *server);
/* Looks at all deadlines now, as the loop does every 100 ms by itself. [loop] */
void adp_http_server_tick(struct adp_http_server *server);

/* Stops accepting, closes what is idle, lets what has begun finish, every answer saying
 * Connection: close; after `within_ms` of the real time the rest is cut off and run() returns.
 * Streams do not end by themselves. A second call shortens the time, never lengthens it. [any],
 * also from a signal handler */
void adp_http_server_drain(struct adp_http_server *server, uint32_t within_ms);

/* For a process whose connections another goes on with: stops accepting, reads only on where a
 * request has begun, and takes no other; once no connection is partly read or partly written, or
 * after `within_ms`, run() returns and leaves all of them open as they were told to stand. The
 * first call's time holds. [any] */
void adp_http_server_leave(struct adp_http_server *server, uint32_t within_ms);

struct adp_http_counts adp_http_server_counts(const struct adp_http_server *server);

/* The sentence for a negative code of this room's. Static. [any] */
const char *adp_http_error_text(int code);

#endif
