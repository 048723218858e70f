/* SPDX-License-Identifier: MIT */
/* Connections: whatever the bytes and however they are split, requests are whole, the split
 * changes nothing, nothing is delivered after a refusal, and the bounds hold. Chunked bodies that
 * llhttp accepts too must be the same bytes there.
 *
 * The first byte of the input is the seed of the splits. */
#include "runtime/http/conn.h"

#include <llhttp.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

enum { HEAD_BYTES = 512, BODY_BYTES = 256, CHUNK_BYTES = 256, TRANSCRIPT = 1 << 16 };

struct trial {
    struct adp_http_env env;
    struct adp_http_conn conn;
    bool refused; /* something was, so nothing more may be delivered */
    size_t heard_len, sent_len;
    char heard[TRANSCRIPT]; /* requests, as delivered */
    char sent[TRANSCRIPT];  /* answers */
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void note(struct trial *trial, struct adp_http_text text)
{
    size_t n = sizeof trial->heard - trial->heard_len;
    n = text.len < n ? text.len : n;
    if (n)
        memcpy(trial->heard + trial->heard_len, text.at, n);
    trial->heard_len += n;
}

static void on_request(void *ctx, const struct adp_http_request *request)
{
    struct trial *trial = ctx;
    must(!trial->refused);
    must(request->path.len && (request->path.at[0] == '/' || request->path.at[0] == '*'));
    must(request->body.len <= BODY_BYTES && request->n_fields <= 8 &&
         request->minor <= 1);
    must(request->host.at || request->minor == 0);
    note(trial, request->path);
    note(trial, request->query);
    for (size_t i = 0; i < request->n_fields; i++) {
        must(request->fields[i].name.len > 0);
        must(!request->fields[i].value.len ||
             !memchr(request->fields[i].value.at, '\n', request->fields[i].value.len));
        note(trial, request->fields[i].name);
        note(trial, request->fields[i].value);
    }
    note(trial, request->body);
    note(trial, (struct adp_http_text) { "\n", 1 });
    struct adp_http_answer answer = { .status = 200, .body = "ok", .body_len = 2 };
    must(adp_http_conn_answer(&trial->conn, request->exchange, &answer, false) == 0);
}

static void settle(struct trial *trial)
{
    char *bytes;
    size_t n;
    do {
        while ((n = adp_http_conn_output(&trial->conn, 1, &bytes)) > 0) {
            size_t room = sizeof trial->sent - trial->sent_len;
            memcpy(trial->sent + trial->sent_len, bytes, n < room ? n : room);
            trial->sent_len += n < room ? n : room;
            adp_http_conn_wrote(&trial->conn, n, 1);
        }
        trial->refused = trial->env.counts.refused > 0;
        if (!adp_http_conn_may_resume(&trial->conn))
            break;
        adp_http_conn_resume(&trial->conn, 1);
    } while (true);
    adp_http_conn_next(&trial->conn);
    /* A head, a body, what is around its chunks, and what one read brought. */
    must(trial->conn.in.len <= HEAD_BYTES + BODY_BYTES + CHUNK_BYTES + 65536);
}

/* Hands over all at once, or split as the seed says, each from a copy of exactly its size. */
static struct trial *run(const uint8_t *bytes, size_t len, bool split, uint32_t seed)
{
    struct trial *trial = calloc(1, sizeof *trial);
    must(trial != NULL);
    trial->env.limits = (struct adp_http_limits) { .head_bytes = HEAD_BYTES,
                                                   .fields = 8,
                                                   .body_bytes = BODY_BYTES,
                                                   .chunk_bytes = CHUNK_BYTES,
                                                   .pipelined = 3 };
    must(adp_http_limits_settle(&trial->env.limits) == 0);
    trial->env.calls = (struct adp_http_calls) { .ctx = trial, .request = on_request };
    must(adp_http_conn_init(&trial->conn, &trial->env, 0) == 0);
    adp_http_conn_open(&trial->conn, -1, 1);
    while (len) {
        seed = seed * 1664525 + 1013904223;
        size_t n = split ? 1 + (seed >> 24) % 40 : len;
        n = n < len ? n : len;
        char *copy = malloc(n);
        must(copy != NULL);
        memcpy(copy, bytes, n);
        adp_http_conn_input(&trial->conn, copy, n, 1);
        free(copy);
        settle(trial);
        bytes += n;
        len -= n;
    }
    return trial;
}

/* Whether 100 is sent depends on what has come by then, rightly. */
static void leave_out_continue(struct trial *trial)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const size_t n = sizeof text - 1;
    char *at;
    while ((at = memmem(trial->sent, trial->sent_len, text, n)) != NULL) {
        trial->sent_len -= n;
        memmove(at, at + n, trial->sent_len - (size_t)(at - trial->sent));
    }
}

static void finish(struct trial *trial)
{
    must(trial->env.counts.gone == 0);
    adp_http_conn_finish(&trial->conn);
    adp_http_pool_finish(&trial->env.pool);
    free(trial);
}

/* --- what llhttp makes of the same chunks */

struct other {
    char body[BODY_BYTES];
    size_t len;
    bool whole;
};

static int take_body(llhttp_t *parser, const char *at, size_t len)
{
    struct other *other = parser->data;
    if (len > sizeof other->body - other->len)
        return HPE_USER;
    memcpy(other->body + other->len, at, len);
    other->len += len;
    return 0;
}

static int take_whole(llhttp_t *parser)
{
    struct other *other = parser->data;
    other->whole = true;
    return HPE_PAUSED;
}

static void compare_chunks(const uint8_t *bytes, size_t len)
{
    static const char head[] = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    const llhttp_settings_t settings = { .on_body = take_body,
                                         .on_message_complete = take_whole };
    struct adp_http_limits limits = { .body_bytes = BODY_BYTES, .chunk_bytes = 1 << 20 };
    struct adp_http_chunks chunks = { 0 };
    struct other other = { .len = 0 };
    llhttp_t parser;
    char *copy = malloc(len + 1);
    must(copy != NULL);
    memcpy(copy, bytes, len);
    must(adp_http_limits_settle(&limits) == 0);
    const struct adp_http_refusal *no =
        adp_http_chunks_decode(&chunks, copy, len, &limits);
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = &other;
    must(llhttp_execute(&parser, head, sizeof head - 1) == HPE_OK);
    llhttp_execute(&parser, (const char *)bytes, len);
    if (!no && chunks.done && other.whole) {
        must(other.len == chunks.body_len);
        must(memcmp(other.body, copy, other.len) == 0);
        must((const uint8_t *)llhttp_get_error_pos(&parser) == bytes + chunks.read);
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    if (!len)
        return 0;
    struct trial *whole = run(input + 1, len - 1, false, 0);
    struct trial *split = run(input + 1, len - 1, true, input[0]);
    leave_out_continue(whole);
    leave_out_continue(split);
    must(whole->heard_len == split->heard_len && whole->sent_len == split->sent_len);
    must(memcmp(whole->heard, split->heard, whole->heard_len) == 0);
    must(memcmp(whole->sent, split->sent, whole->sent_len) == 0);
    finish(whole);
    finish(split);
    compare_chunks(input + 1, len - 1);
    return 0;
}
