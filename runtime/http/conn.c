/* SPDX-License-Identifier: MIT */
/* One connection, without its socket. */
#include "runtime/http/conn.h"

#include "runtime/http/answer.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

/* An exchange: 16 bits of the connection, 48 of its serial, from 1. At a million requests a second
 * on one connection the serials last nine years. */
#define SERIAL_BITS 48
#define MAX_SERIAL  ((UINT64_C(1) << SERIAL_BITS) - 1)

uint32_t adp_http_exchange_index(uint64_t exchange)
{
    return (uint32_t)(exchange >> SERIAL_BITS);
}

int adp_http_conn_init(struct adp_http_conn *conn, struct adp_http_env *env,
                       uint32_t index)
{
    conn->env = env;
    conn->index = index;
    conn->slots = calloc(env->limits.pipelined, sizeof *conn->slots);
    return conn->slots ? 0 : UV_ENOMEM;
}

void adp_http_conn_finish(struct adp_http_conn *conn)
{
    adp_http_conn_close(conn);
    free(conn->slots);
    conn->slots = NULL;
}

static size_t unsent(const struct adp_http_conn *conn)
{
    return conn->flight.len - conn->flight_at + conn->ready.len;
}

static bool has_unread(const struct adp_http_conn *conn)
{
    return conn->phase == ADP_HTTP_READING_HEAD || conn->phase == ADP_HTTP_READING_BODY ||
           conn->behind;
}

static bool is_partly_read(const struct adp_http_conn *conn)
{
    return conn->reaching || (has_unread(conn) && !conn->held);
}

static bool is_partly_written(const struct adp_http_conn *conn)
{
    const struct adp_http_slot *first = &conn->slots[conn->first];
    /* A begun stream is no longer owed as a whole: it is partly written for good. */
    return conn->flight.len || (conn->n && first->streaming && !first->answered);
}

static void tell(struct adp_http_conn *conn)
{
    const struct adp_http_calls *calls = &conn->env->calls;
    if (!calls->standing)
        return;
    struct adp_http_standing standing = {
        .fd = conn->phase == ADP_HTTP_CLOSED ? -1 : conn->fd,
        .owed = conn->n + conn->unwritten,
        .heads = conn->heads,
        .last = conn->last,
        .partly_read = is_partly_read(conn),
        .unread = has_unread(conn) ? (uint32_t)conn->held : 0,
        .partly_written = is_partly_written(conn),
    };
    calls->standing(calls->ctx, conn->index, &standing);
}

/* Has bytes that were read kept by the caller. */
static void hold(struct adp_http_conn *conn, const char *bytes, size_t len, bool more)
{
    const struct adp_http_calls *calls = &conn->env->calls;
    bool kept = calls->hold && calls->hold(calls->ctx, conn->index, bytes, len, more);
    conn->held = kept ? (more ? conn->held : 0) + len : 0;
}

/* All that is read and not delivered. What is held already shrinks from its front. */
static void hold_rest(struct adp_http_conn *conn, const char *rest, size_t len)
{
    if (len <= conn->held)
        conn->held = len;
    else
        hold(conn, rest, len, false);
}

static void enter(struct adp_http_conn *conn, enum adp_http_phase phase, uint64_t now_ns)
{
    conn->phase = phase;
    conn->since_ns = now_ns;
}

void adp_http_conn_open(struct adp_http_conn *conn, int fd, uint64_t now_ns)
{
    struct adp_http_conn fresh = { .env = conn->env,
                                   .index = conn->index,
                                   .slots = conn->slots,
                                   .serial = conn->serial,
                                   .fd = fd,
                                   .progress_ns = now_ns };
    *conn = fresh;
    enter(conn, ADP_HTTP_IDLE, now_ns);
    conn->env->counts.connections++;
    conn->env->counts.open++;
    tell(conn);
}

static void gone(struct adp_http_conn *conn, const struct adp_http_slot *slot)
{
    const struct adp_http_calls *calls = &conn->env->calls;
    conn->env->counts.gone++;
    if (calls->gone)
        calls->gone(calls->ctx, slot->exchange);
}

/* Forgets the requests that are still due an answer. */
static void forget(struct adp_http_conn *conn)
{
    while (conn->n) {
        struct adp_http_slot slot = conn->slots[conn->first];
        conn->slots[conn->first] = (struct adp_http_slot) { 0 };
        conn->first = (conn->first + 1) % conn->env->limits.pipelined;
        conn->n--;
        adp_http_buffer_release(&conn->env->pool, &slot.held);
        if (!slot.answered)
            gone(conn, &slot);
    }
}

void adp_http_conn_close(struct adp_http_conn *conn)
{
    if (conn->phase == ADP_HTTP_CLOSED)
        return;
    conn->phase = ADP_HTTP_CLOSED; /* first: what `gone` answers finds nothing */
    conn->failed = true;
    conn->env->counts.open--;
    forget(conn);
    adp_http_buffer_release(&conn->env->pool, &conn->in);
    adp_http_buffer_release(&conn->env->pool, &conn->ready);
    adp_http_buffer_release(&conn->env->pool, &conn->flight);
    conn->flight_at = 0;
    tell(conn);
}

/* --- the ring */

static struct adp_http_slot *slot_at(const struct adp_http_conn *conn, uint32_t i)
{
    return &conn->slots[(conn->first + i) % conn->env->limits.pipelined];
}

static struct adp_http_slot *take_slot(struct adp_http_conn *conn, bool head)
{
    uint32_t owed = conn->n + conn->unwritten;
    struct adp_http_slot *slot = slot_at(conn, conn->n++);
    *slot = (struct adp_http_slot) { 0 };
    conn->serial = conn->serial == MAX_SERIAL ? 1 : conn->serial + 1;
    slot->exchange = ((uint64_t)conn->index << SERIAL_BITS) | conn->serial;
    slot->head = head;
    if (head && owed < ADP_HTTP_MAX_OWED)
        conn->heads |= UINT64_C(1) << owed;
    return slot;
}

static struct adp_http_slot *find_slot(const struct adp_http_conn *conn,
                                       uint64_t exchange)
{
    if (conn->phase == ADP_HTTP_CLOSED || conn->failed)
        return NULL;
    /* The ring holds the last n serials. */
    uint64_t back = (conn->serial - exchange) & MAX_SERIAL;
    if (back >= conn->n)
        return NULL;
    struct adp_http_slot *slot = slot_at(conn, conn->n - 1 - (uint32_t)back);
    return slot->exchange == exchange && !slot->answered ? slot : NULL;
}

/* Out of memory, or the client does not take what it asked for. */
static int fail(struct adp_http_conn *conn)
{
    conn->failed = true;
    return UV_ENOMEM;
}

static void pop(struct adp_http_conn *conn)
{
    struct adp_http_slot *slot = slot_at(conn, 0);
    bool close = slot->close;
    *slot = (struct adp_http_slot) { 0 };
    conn->first = (conn->first + 1) % conn->env->limits.pipelined;
    conn->n--;
    if (close) {
        /* Nothing follows an answer that says close. */
        conn->last = true;
        conn->linger |= conn->n > 0;
        forget(conn);
    }
}

static int append_ready(struct adp_http_conn *conn, const void *bytes, size_t len)
{
    return adp_http_buffer_append(&conn->env->pool, &conn->ready, bytes, len) < 0
               ? fail(conn)
               : 0;
}

static void send_continue(struct adp_http_conn *conn)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (!conn->continue_due || conn->n || conn->failed)
        return;
    conn->continue_due = false;
    append_ready(conn, text, sizeof text - 1);
}

/* Moves what can be sent from the slots to `ready`, in order. */
static void advance(struct adp_http_conn *conn)
{
    while (conn->n && !conn->failed) {
        struct adp_http_slot *slot = slot_at(conn, 0);
        if (slot->held.len) {
            if (append_ready(conn, slot->held.bytes, slot->held.len) < 0)
                return;
            conn->unwritten += slot->answered;
            adp_http_buffer_release(&conn->env->pool, &slot->held);
        }
        if (!slot->answered)
            return;
        pop(conn);
    }
    send_continue(conn);
}

/* Where a slot's bytes go. */
static struct adp_http_buffer *target_of(struct adp_http_conn *conn,
                                         struct adp_http_slot *slot)
{
    return slot == slot_at(conn, 0) ? &conn->ready : &slot->held;
}

static void answered(struct adp_http_conn *conn, struct adp_http_slot *slot)
{
    slot->answered = true;
    if (slot == slot_at(conn, 0) && !slot->held.len)
        conn->unwritten++;
    advance(conn);
}

static int write_answer(struct adp_http_conn *conn, struct adp_http_slot *slot,
                        const struct adp_http_answer *answer, bool stream)
{
    struct adp_http_env *env = conn->env;
    bool youngest = slot == slot_at(conn, conn->n - 1);
    bool close = slot->close || answer->close || (stream && slot->old) ||
                 (youngest && (env->draining || conn->ended));
    struct adp_http_manner manner = { .head = slot->head,
                                      .old = slot->old,
                                      .close = close,
                                      .stream = stream,
                                      .date = env->date };
    int r = adp_http_answer_append(&env->pool, target_of(conn, slot), answer, &manner);
    if (r < 0)
        return r == UV_ENOMEM ? fail(conn) : r;
    slot->close = close;
    conn->last |= close;
    return 0;
}

int adp_http_conn_answer(struct adp_http_conn *conn, uint64_t exchange,
                         const struct adp_http_answer *answer, bool stream)
{
    struct adp_http_slot *slot = find_slot(conn, exchange);
    if (!slot || slot->streaming)
        return UV_EPIPE;
    int r = write_answer(conn, slot, answer, stream);
    if (r < 0)
        return r;
    slot->streaming = stream && !adp_http_is_bodiless(answer->status);
    if (!slot->streaming)
        answered(conn, slot);
    return 0;
}

int adp_http_conn_stream_write(struct adp_http_conn *conn, uint64_t exchange,
                               const void *part, size_t len)
{
    struct adp_http_slot *slot = find_slot(conn, exchange);
    if (!slot || !slot->streaming)
        return UV_EPIPE;
    if (slot->head || !len)
        return 0;
    struct adp_http_buffer *to = target_of(conn, slot);
    size_t waiting = to == &conn->ready ? unsent(conn) : to->len;
    if (waiting > conn->env->limits.out_bytes)
        return UV_EAGAIN;
    int r = slot->old ? adp_http_buffer_append(&conn->env->pool, to, part, len)
                      : adp_http_chunk_append(&conn->env->pool, to, part, len);
    return r < 0 ? fail(conn) : 0;
}

int adp_http_conn_stream_end(struct adp_http_conn *conn, uint64_t exchange)
{
    struct adp_http_slot *slot = find_slot(conn, exchange);
    if (!slot || !slot->streaming)
        return UV_EPIPE;
    if (!slot->head && !slot->old &&
        adp_http_chunk_append(&conn->env->pool, target_of(conn, slot), NULL, 0) < 0)
        return fail(conn);
    answered(conn, slot);
    return 0;
}

uint64_t adp_http_conn_owe(struct adp_http_conn *conn, bool head)
{
    uint64_t exchange = take_slot(conn, head)->exchange;
    tell(conn);
    return exchange;
}

void adp_http_conn_hand(struct adp_http_conn *conn, const void *unread, size_t len)
{
    if (!len || conn->last)
        return;
    if (adp_http_buffer_append(&conn->env->pool, &conn->in, unread, len) < 0) {
        fail(conn);
        return;
    }
    conn->behind = len;
    hold_rest(conn, conn->in.bytes, len);
    tell(conn);
}

/* --- reading */

static bool may_take(const struct adp_http_conn *conn)
{
    return !conn->last && !conn->failed && conn->phase != ADP_HTTP_CLOSED &&
           conn->phase != ADP_HTTP_LINGER && conn->n < conn->env->limits.pipelined &&
           conn->n + conn->unwritten < ADP_HTTP_MAX_OWED &&
           unsent(conn) <= conn->env->limits.out_bytes;
}

/* Answers what is no request, and takes no more. */
static void refuse(struct adp_http_conn *conn, const struct adp_http_refusal *refusal,
                   uint64_t now_ns)
{
    char body[128];
    size_t len = strlen(refusal->reason);
    memcpy(body, refusal->reason, len);
    body[len] = '\n';
    struct adp_http_answer answer = { .status = refusal->status,
                                      .type = "text/plain",
                                      .body = body,
                                      .body_len = len + 1,
                                      .close = true };
    struct adp_http_slot *slot = take_slot(conn, false);
    conn->continue_due = false;
    enter(conn, ADP_HTTP_IDLE, now_ns);
    conn->last = conn->linger = true;
    if (write_answer(conn, slot, &answer, false) == 0)
        answered(conn, slot);
}

static void deliver(struct adp_http_conn *conn, struct adp_http_text body,
                    struct adp_http_text rest, uint64_t now_ns)
{
    struct adp_http_env *env = conn->env;
    const struct adp_http_head *head = &env->head;
    struct adp_http_slot *slot = take_slot(conn, head->method == ADP_HTTP_HEAD);
    slot->old = head->minor == 0;
    slot->close = !head->keep_alive;
    conn->last = slot->close;
    conn->continue_due = false;
    conn->scan = (struct adp_http_scan) { 0 };
    enter(conn, ADP_HTTP_IDLE, now_ns);
    conn->behind = conn->last ? 0 : rest.len; /* else nobody reads it */
    hold_rest(conn, rest.at, conn->behind);
    tell(conn);
    env->counts.requests++;
    struct adp_http_request request = { .exchange = slot->exchange,
                                        .method = head->method,
                                        .minor = head->minor,
                                        .path = head->path,
                                        .query = head->query,
                                        .host = head->host,
                                        .body = body,
                                        .fields = head->fields,
                                        .n_fields = head->n_fields,
                                        .now_ns = now_ns };
    env->calls.request(env->calls.ctx, &request);
}

/* The head of a request is whole: parses it, and sees what body is to come. */
static const struct adp_http_refusal *
begin_body(struct adp_http_conn *conn, const char *bytes, size_t len, uint64_t now_ns)
{
    static const struct adp_http_refusal too_large = { 413, "body too large" };
    struct adp_http_env *env = conn->env;
    struct adp_http_head *head = &env->head;
    const struct adp_http_refusal *no = adp_http_head_parse(
        head, bytes + conn->scan.start, conn->scan.end - conn->scan.start, &env->limits);
    if (no)
        return no;
    if (head->content_length > env->limits.body_bytes)
        return &too_large;
    conn->body_at = conn->scan.end;
    conn->body_len = (size_t)head->content_length;
    conn->chunked = head->chunked;
    conn->chunks = (struct adp_http_chunks) { 0 };
    enter(conn, ADP_HTTP_READING_BODY, now_ns);
    conn->continue_due = head->expects_continue &&
                         (head->chunked || head->content_length) && len == conn->body_at;
    send_continue(conn);
    return NULL;
}

/* Tries for one request at `bytes`. Returns how long it was if it was whole and delivered, 0 when
 * more is needed or it was refused. `kept`: the bytes are conn->in's, so that work done on them
 * stays. */
static size_t take_request(struct adp_http_conn *conn, char *bytes, size_t len, bool kept,
                           uint64_t now_ns)
{
    const struct adp_http_limits *limits = &conn->env->limits;
    const struct adp_http_refusal *no = NULL;
    bool parsed = false;
    if (conn->phase == ADP_HTTP_IDLE)
        enter(conn, ADP_HTTP_READING_HEAD, now_ns);
    if (conn->phase == ADP_HTTP_READING_HEAD) {
        no = adp_http_head_scan(&conn->scan, bytes, len, limits);
        if (!no && conn->scan.end) {
            no = begin_body(conn, bytes, len, now_ns);
            parsed = true;
        }
    }
    if (!no && conn->phase == ADP_HTTP_READING_BODY && conn->chunked && kept) {
        no = adp_http_chunks_decode(&conn->chunks, bytes + conn->body_at,
                                    len - conn->body_at, limits);
        conn->body_len = conn->chunks.body_len;
    }
    if (no) {
        refuse(conn, no, now_ns);
        conn->env->counts.refused++;
        return 0;
    }
    bool whole =
        conn->phase == ADP_HTTP_READING_BODY &&
        (conn->chunked ? conn->chunks.done : len - conn->body_at >= conn->body_len);
    if (!whole)
        return 0;
    /* The head was parsed when it came, and lies elsewhere now; what was accepted once is
     * accepted again. */
    if (!parsed)
        adp_http_head_parse(&conn->env->head, bytes + conn->scan.start,
                            conn->scan.end - conn->scan.start, limits);
    size_t body_at = conn->body_at;
    size_t used = body_at + (conn->chunked ? conn->chunks.read : conn->body_len);
    struct adp_http_text body = { bytes + body_at, conn->body_len };
    deliver(conn, body, (struct adp_http_text) { bytes + used, len - used }, now_ns);
    return used;
}

/* Takes all whole requests at `bytes`, as far as may be. Returns how many bytes they were. */
static size_t take_requests(struct adp_http_conn *conn, char *bytes, size_t len,
                            bool kept, uint64_t now_ns)
{
    size_t at = 0;
    while (at < len && may_take(conn)) {
        size_t n = take_request(conn, bytes + at, len - at, kept, now_ns);
        if (!n)
            break;
        at += n;
    }
    return at;
}

/* After a request that ends the connection, and after a refusal, nothing is kept. */
static bool drop_input(struct adp_http_conn *conn, size_t left)
{
    if (!conn->last && !conn->failed)
        return false;
    conn->linger |= left > 0;
    conn->behind = conn->held = 0;
    adp_http_buffer_release(&conn->env->pool, &conn->in);
    return true;
}

void adp_http_conn_resume(struct adp_http_conn *conn, uint64_t now_ns)
{
    struct adp_http_buffer *in = &conn->in;
    size_t used = take_requests(conn, in->bytes, in->len, true, now_ns);
    if (!drop_input(conn, in->len - used)) {
        in->len -= used;
        if (!in->len)
            adp_http_buffer_release(&conn->env->pool, in);
        else if (used)
            memmove(in->bytes, in->bytes + used, in->len);
        conn->behind = in->len;
    }
    tell(conn);
}

void adp_http_conn_reach(struct adp_http_conn *conn, bool reaching)
{
    conn->reaching = reaching;
    tell(conn);
}

void adp_http_conn_input(struct adp_http_conn *conn, char *bytes, size_t len,
                         uint64_t now_ns)
{
    conn->env->counts.bytes_in += len;
    conn->reaching = false;
    if (conn->phase == ADP_HTTP_LINGER || conn->phase == ADP_HTTP_CLOSED || !len)
        return;
    size_t used = 0;
    if (!conn->in.len) {
        conn->held = 0;
        used = take_requests(conn, bytes, len, false, now_ns);
    } else if (conn->held)
        hold(conn, bytes, len, true);
    if (drop_input(conn, len - used) || used == len) {
        tell(conn);
        return;
    }
    if (!conn->in.len)
        hold_rest(conn, bytes + used, len - used);
    if (adp_http_buffer_append(&conn->env->pool, &conn->in, bytes + used, len - used) < 0)
        fail(conn);
    else
        adp_http_conn_resume(conn, now_ns);
}

void adp_http_conn_eof(struct adp_http_conn *conn, uint64_t now_ns)
{
    conn->ended = conn->last = true;
    conn->continue_due = conn->reaching = false;
    conn->behind = conn->held = 0;
    adp_http_buffer_release(&conn->env->pool, &conn->in);
    if (conn->phase == ADP_HTTP_LINGER) {
        conn->failed = true;
        return;
    }
    enter(conn, ADP_HTTP_IDLE, now_ns);
    /* Who only asks and waits may close its side; who listens to a stream and closes, left. */
    for (uint32_t i = 0; i < conn->n; i++)
        if (slot_at(conn, i)->streaming && !slot_at(conn, i)->answered)
            conn->failed = true;
    tell(conn);
}

/* --- writing */

size_t adp_http_conn_output(struct adp_http_conn *conn, uint64_t now_ns, char **ret)
{
    if (!conn->flight.len && conn->ready.len) {
        conn->progress_ns = now_ns;
        conn->flight = conn->ready;
        conn->flight_at = 0;
        conn->ready = (struct adp_http_buffer) { 0 };
        conn->heads = conn->unwritten < 64 ? conn->heads >> conn->unwritten : 0;
        conn->unwritten = 0;
        tell(conn);
    }
    *ret = conn->flight.bytes ? conn->flight.bytes + conn->flight_at : NULL;
    return conn->flight.len - conn->flight_at;
}

void adp_http_conn_wrote(struct adp_http_conn *conn, size_t n, uint64_t now_ns)
{
    conn->env->counts.bytes_out += n;
    conn->flight_at += n;
    conn->progress_ns = now_ns;
    if (conn->flight_at < conn->flight.len)
        return;
    adp_http_buffer_release(&conn->env->pool, &conn->flight);
    conn->flight_at = 0;
    if (!conn->n && conn->phase == ADP_HTTP_IDLE)
        conn->since_ns = now_ns;
    tell(conn);
}

void adp_http_conn_progress(struct adp_http_conn *conn, uint64_t now_ns)
{
    conn->progress_ns = now_ns;
}

/* --- what next */

bool adp_http_conn_is_quiet(const struct adp_http_conn *conn)
{
    return conn->phase != ADP_HTTP_CLOSED && !conn->n && !unsent(conn);
}

bool adp_http_conn_is_partly(const struct adp_http_conn *conn)
{
    return conn->phase != ADP_HTTP_CLOSED &&
           (is_partly_read(conn) || is_partly_written(conn));
}

bool adp_http_conn_may_resume(const struct adp_http_conn *conn)
{
    return conn->in.len && may_take(conn) && conn->phase == ADP_HTTP_IDLE;
}

void adp_http_conn_turn_away(struct adp_http_conn *conn, uint64_t now_ns)
{
    static const struct adp_http_refusal full = { 503, "too many connections" };
    refuse(conn, &full, now_ns);
}

void adp_http_conn_drain(struct adp_http_conn *conn)
{
    if (conn->phase == ADP_HTTP_IDLE && !conn->in.len)
        conn->last = true;
}

enum adp_http_next adp_http_conn_next(struct adp_http_conn *conn)
{
    if (conn->failed || conn->phase == ADP_HTTP_CLOSED)
        return ADP_HTTP_CLOSE;
    if (conn->last && !conn->n && !unsent(conn)) {
        conn->linger |= conn->in.len > 0;
        if (!conn->linger || conn->ended)
            return ADP_HTTP_CLOSE;
        conn->phase = ADP_HTTP_LINGER;
        if (!conn->shut) {
            conn->shut = true;
            conn->since_ns = conn->progress_ns;
            return ADP_HTTP_SHUT;
        }
        return ADP_HTTP_READ;
    }
    if (conn->ended)
        return ADP_HTTP_WAIT;
    return may_take(conn) ? ADP_HTTP_READ : ADP_HTTP_WAIT;
}

static bool past(uint64_t since_ns, uint32_t ms, uint64_t now_ns)
{
    return now_ns > since_ns && now_ns - since_ns >= (uint64_t)ms * 1000000;
}

/* As refuse, for a deadline. */
static bool refuse_late(struct adp_http_conn *conn, uint64_t now_ns)
{
    static const struct adp_http_refusal head = { 408, "request head too slow" };
    static const struct adp_http_refusal body = { 408, "request body too slow" };
    conn->env->counts.timeouts++;
    refuse(conn, conn->phase == ADP_HTTP_READING_BODY ? &body : &head, now_ns);
    drop_input(conn, 0);
    return true;
}

static bool fail_late(struct adp_http_conn *conn, uint64_t *count)
{
    ++*count;
    conn->failed = true;
    return true;
}

bool adp_http_conn_tick(struct adp_http_conn *conn, uint64_t now_ns)
{
    struct adp_http_counts *counts = &conn->env->counts;
    const struct adp_http_limits *limits = &conn->env->limits;
    if (unsent(conn) && past(conn->progress_ns, limits->write_ms, now_ns))
        return fail_late(conn, &counts->stalled);
    switch (conn->phase) {
    case ADP_HTTP_IDLE:
        return adp_http_conn_is_quiet(conn) &&
               past(conn->since_ns, limits->idle_ms, now_ns) &&
               fail_late(conn, &counts->idle_closed);
    case ADP_HTTP_READING_HEAD:
    case ADP_HTTP_READING_BODY:
        if (!may_take(conn)) {
            conn->since_ns = now_ns; /* it is we who keep the client waiting */
            return false;
        }
        return past(conn->since_ns,
                    conn->phase == ADP_HTTP_READING_HEAD ? limits->head_ms
                                                         : limits->body_ms,
                    now_ns) &&
               refuse_late(conn, now_ns);
    case ADP_HTTP_LINGER:
        conn->failed |= past(conn->since_ns, limits->linger_ms, now_ns);
        return conn->failed;
    default:
        return false;
    }
}
