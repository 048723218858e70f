/* SPDX-License-Identifier: MIT */
/* One connection, without its socket: bytes and time go in, requests and bytes come out.
 *
 *            first byte          head whole           body whole
 *     IDLE ──────────────► HEAD ────────────► BODY ────────────► delivered ─► IDLE
 *       │ idle_ms            │ head_ms, refusal  │ body_ms, refusal
 *       ▼                    ▼                   ▼
 *     CLOSED ◄── linger_ms, the client's end ── LINGER (answer written, sending side shut)
 *
 * Whoever drives it (server.c; tests) hands over what was read, writes what is ready, and asks
 * after each step what next. No call blocks, none reads a clock.
 *
 *  1. Slots form a ring in the order of requests. Answers go to `ready` only from the oldest one;
 *     those given early wait in their slots.
 *  2. Between calls `in` holds at most one head, one body with what is around its chunks, and
 *     what one read brought beyond them.
 *  3. At most 64 requests are owed an answer of which nothing was written: requests whose answers
 *     are ready count, so that at the end of such a batch it is written before more are read. */
#ifndef ADP_HTTP_CONN_H
#define ADP_HTTP_CONN_H

#include "runtime/http/buffer.h"
#include "runtime/http/chunks.h"
#include "runtime/http/head.h"
#include "runtime/http/http.h"

#define ADP_HTTP_MAX_OWED 64u

/* What the connections of a server share. One thread. */
struct adp_http_env {
    struct adp_http_limits limits; /* settled */
    struct adp_http_calls calls;
    struct adp_http_pool pool;
    struct adp_http_counts counts;
    struct adp_http_head head; /* of the request being delivered */
    char date[30];             /* "": answers carry none */
    bool draining;
};

/* A request that is due an answer. */
struct adp_http_slot {
    uint64_t exchange;
    struct adp_http_buffer held; /* its answer, while older ones are not whole */
    bool head, old, close;
    bool streaming; /* begun, of unknown length */
    bool answered;  /* whole */
};

enum adp_http_phase {
    ADP_HTTP_CLOSED,
    ADP_HTTP_IDLE,
    ADP_HTTP_READING_HEAD,
    ADP_HTTP_READING_BODY,
    ADP_HTTP_LINGER
};

struct adp_http_conn {
    struct adp_http_env *env;
    uint32_t index; /* of the connection among the server's */
    int fd;         /* for standing only */
    enum adp_http_phase phase;
    uint64_t since_ns; /* the phase's begin, or when it last became quiet */

    struct adp_http_buffer in; /* read, and not a whole request yet */
    struct adp_http_scan scan;
    size_t body_at,
        body_len; /* of a request whose head is whole; body_len if not chunked */
    bool chunked;
    struct adp_http_chunks chunks;
    bool continue_due; /* the client waits for 100 */
    size_t behind;     /* bytes that came behind the request being delivered */
    bool reaching;     /* bytes may be on their way from the socket */
    size_t held;       /* of what is read and not delivered: all of it, or 0 */

    struct adp_http_slot *slots; /* limits.pipelined of them */
    uint32_t first, n;
    uint64_t serial; /* of the last exchange; survives the connection */

    struct adp_http_buffer ready, flight; /* to be written; being written */
    size_t flight_at;
    uint64_t progress_ns; /* when the client last took something */
    uint32_t unwritten;   /* answers in `ready`, whole or begun */
    uint64_t heads;       /* adp_http_standing */

    bool last;  /* no more requests are taken */
    bool ended; /* the client has closed its sending side */
    bool
        linger; /* something may be left unread: no reset before the client has the answer */
    bool shut;   /* the driver was told to shut the sending side */
    bool failed; /* to be closed as it is */
};

/* Memory for a connection in the caller's storage, zeroed. UV_ENOMEM. */
int adp_http_conn_init(struct adp_http_conn *conn, struct adp_http_env *env,
                       uint32_t index);
void adp_http_conn_finish(struct adp_http_conn *conn);

void adp_http_conn_open(struct adp_http_conn *conn, int fd, uint64_t now_ns);
/* Takes up what another process owed. Returns the exchange. At most limits.pipelined. */
uint64_t adp_http_conn_owe(struct adp_http_conn *conn, bool head);
/* And what it had read behind those. */
void adp_http_conn_hand(struct adp_http_conn *conn, const void *unread, size_t len);
/* Ends it at once: exchanges that are not wholly answered are reported gone. */
void adp_http_conn_close(struct adp_http_conn *conn);

/* Bytes are about to be taken out of the socket, and are nowhere else until they are handed
 * over; false: there were none. */
void adp_http_conn_reach(struct adp_http_conn *conn, bool reaching);
/* What was read. Requests are delivered from inside it. The bytes may be changed. */
void adp_http_conn_input(struct adp_http_conn *conn, char *bytes, size_t len,
                         uint64_t now_ns);
/* Goes on with what is kept, when answers have made room. */
void adp_http_conn_resume(struct adp_http_conn *conn, uint64_t now_ns);
/* The client sends no more. */
void adp_http_conn_eof(struct adp_http_conn *conn, uint64_t now_ns);

/* Bytes to be written, borrowed until they are reported written; 0: none. */
size_t adp_http_conn_output(struct adp_http_conn *conn, uint64_t now_ns, char **ret);
/* The client took the first n of them. */
void adp_http_conn_wrote(struct adp_http_conn *conn, size_t n, uint64_t now_ns);
/* It took some, the driver knows not how many. */
void adp_http_conn_progress(struct adp_http_conn *conn, uint64_t now_ns);

/* Looks at the deadlines. Returns whether one was missed, so that what is next has changed. */
bool adp_http_conn_tick(struct adp_http_conn *conn, uint64_t now_ns);

enum adp_http_next {
    ADP_HTTP_READ, /* read on */
    ADP_HTTP_WAIT, /* do not read: answers are due first */
    ADP_HTTP_SHUT, /* shut the sending side, then read on; said once */
    ADP_HTTP_CLOSE /* close */
};
/* What next, once all output that can be written is. */
enum adp_http_next adp_http_conn_next(struct adp_http_conn *conn);
/* Whether adp_http_conn_resume has something to look at. */
bool adp_http_conn_may_resume(const struct adp_http_conn *conn);
/* Owes nothing, is owed nothing: may be closed for others' sake. */
bool adp_http_conn_is_quiet(const struct adp_http_conn *conn);
/* Within a request or an answer: nobody else could go on with it. */
bool adp_http_conn_is_partly(const struct adp_http_conn *conn);
/* The server drains: no more requests after what has begun. */
void adp_http_conn_drain(struct adp_http_conn *conn);
/* There are too many: answers 503, unasked. */
void adp_http_conn_turn_away(struct adp_http_conn *conn, uint64_t now_ns);

/* http.h; the exchange is this connection's. */
int adp_http_conn_answer(struct adp_http_conn *conn, uint64_t exchange,
                         const struct adp_http_answer *answer, bool stream);
int adp_http_conn_stream_write(struct adp_http_conn *conn, uint64_t exchange,
                               const void *part, size_t len);
int adp_http_conn_stream_end(struct adp_http_conn *conn, uint64_t exchange);

/* Which connection an exchange belongs to. */
uint32_t adp_http_exchange_index(uint64_t exchange);

#endif
