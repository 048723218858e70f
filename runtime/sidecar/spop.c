/* SPDX-License-Identifier: MIT */
/* SPOP (spop.h). Section numbers are those of HAProxy's doc/SPOE.txt. */
#include "runtime/sidecar/spop.h"

#include "core/error.h"
#include "runtime/sidecar/answer.h"
#include "runtime/sidecar/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_CAP = 65536, ACK_MAX = 1024, HEAD = 4, LEAST_FRAME = 256 };

/* 3.2.2 */
enum {
    HAPROXY_HELLO = 1,
    HAPROXY_DISCONNECT = 2,
    NOTIFY = 3,
    AGENT_HELLO = 101,
    AGENT_DISCONNECT = 102,
    ACK = 103
};
enum { FLAG_FIN = 1, FLAG_ABORT = 2 };

/* 3.1 */
enum {
    T_NULL,
    T_BOOL,
    T_INT32,
    T_UINT32,
    T_INT64,
    T_UINT64,
    T_IPV4,
    T_IPV6,
    T_STRING,
    T_BINARY
};

/* 3.5 */
enum why {
    FINE = 0,
    INVALID = 4,
    TOO_BIG = 3,
    NO_VERSION = 7,
    NO_SIZE = 6,
    BAD_VERSION = 8,
    BAD_SIZE = 9,
    FRAGMENTED = 10
};

struct adp_spop {
    struct adp_desk *desk;
    uint32_t frame; /* agreed */
    bool greeted, over;
    void (*decided)(void *ctx, const adp_decision *d); /* NULL: nobody asks */
    void *ctx;
    size_t in_len, out_len;
    char in[HEAD + ADP_SPOP_FRAME];
    char out[OUT_CAP];
};

int adp_spop_create(struct adp_spop **ret, struct adp_desk *desk)
{
    struct adp_spop *s = malloc(sizeof *s);
    if (!s)
        return ADP_ENOMEM;
    s->desk = desk;
    s->frame = ADP_SPOP_FRAME;
    s->greeted = s->over = false;
    s->decided = NULL;
    s->in_len = s->out_len = 0;
    *ret = s;
    return 0;
}

void adp_spop_destroy(struct adp_spop *spop)
{
    free(spop);
}

/* --- reading; `at` NULL once something was not there --- */

struct cursor {
    const uint8_t *at, *end;
};

static uint8_t take_byte(struct cursor *c)
{
    if (!c->at || c->at == c->end) {
        c->at = NULL;
        return 0;
    }
    return *c->at++;
}

/* 3.1: a byte up to 239, or 4 bits more and then 7 for each byte. */
static uint64_t take_varint(struct cursor *c)
{
    uint8_t byte = take_byte(c);
    uint64_t value = byte;
    if (byte < 240)
        return value;
    for (unsigned shift = 4;; shift += 7) {
        byte = take_byte(c);
        if (!c->at || shift > 60) {
            c->at = NULL;
            return 0;
        }
        value += (uint64_t)byte << shift;
        if (byte < 128)
            return value;
    }
}

struct bytes {
    const char *p;
    size_t n;
};

static struct bytes take_bytes(struct cursor *c, uint64_t n)
{
    struct bytes b = { NULL, 0 };
    if (!c->at || n > (uint64_t)(c->end - c->at)) {
        c->at = NULL;
        return b;
    }
    b = (struct bytes) { (const char *)c->at, (size_t)n };
    c->at += n;
    return b;
}

static struct bytes take_string(struct cursor *c)
{
    return take_bytes(c, take_varint(c));
}

struct value {
    int type;
    bool truth;
    uint64_t number; /* integers; signed ones as two's complement */
    struct bytes text;
};

static struct value take_value(struct cursor *c)
{
    uint8_t head = take_byte(c);
    struct value v = { .type = head & 15, .truth = head & 16 };
    switch (v.type) {
    case T_NULL:
    case T_BOOL:
        break;
    case T_INT32:
    case T_UINT32:
    case T_INT64:
    case T_UINT64:
        v.number = take_varint(c);
        break;
    case T_IPV4:
        take_bytes(c, 4);
        break;
    case T_IPV6:
        take_bytes(c, 16);
        break;
    case T_STRING:
    case T_BINARY:
        v.text = take_string(c);
        break;
    default:
        c->at = NULL;
    }
    return v;
}

/* --- writing; room was looked at before --- */

static void put_byte(struct adp_spop *s, uint8_t byte)
{
    s->out[s->out_len++] = (char)byte;
}

static void put_varint(struct adp_spop *s, uint64_t value)
{
    if (value < 240) {
        put_byte(s, (uint8_t)value);
        return;
    }
    put_byte(s, (uint8_t)(value | 240));
    for (value = (value - 240) >> 4; value >= 128; value = (value - 128) >> 7)
        put_byte(s, (uint8_t)(value | 128));
    put_byte(s, (uint8_t)value);
}

static void put_string(struct adp_spop *s, const char *text)
{
    size_t n = strlen(text);
    put_varint(s, n);
    memcpy(s->out + s->out_len, text, n);
    s->out_len += n;
}

/* Where the frame begins; put_end writes its length there. */
static size_t put_head(struct adp_spop *s, uint8_t type, uint64_t stream, uint64_t frame)
{
    size_t at = s->out_len;
    s->out_len += HEAD;
    put_byte(s, type);
    put_byte(s, 0);
    put_byte(s, 0);
    put_byte(s, 0);
    put_byte(s, FLAG_FIN);
    put_varint(s, stream);
    put_varint(s, frame);
    return at;
}

static void put_end(struct adp_spop *s, size_t at)
{
    size_t n = s->out_len - at - HEAD;
    for (size_t i = 0; i < HEAD; i++)
        s->out[at + i] = (char)(n >> (8 * (HEAD - 1 - i)));
}

static void put_number_pair(struct adp_spop *s, const char *key, uint64_t value)
{
    put_string(s, key);
    put_byte(s, T_UINT32);
    put_varint(s, value);
}

static void put_text_pair(struct adp_spop *s, const char *key, const char *value)
{
    put_string(s, key);
    put_byte(s, T_STRING);
    put_string(s, value);
}

/* 3.4: SET-VAR with its three arguments, the scope being the transaction. */
static void put_var(struct adp_spop *s, const char *name)
{
    put_byte(s, 1);
    put_byte(s, 3);
    put_byte(s, 2);
    put_string(s, name);
}

static void put_text_var(struct adp_spop *s, const char *name, const char *value)
{
    put_var(s, name);
    put_byte(s, T_STRING);
    put_string(s, value);
}

static void put_number_var(struct adp_spop *s, const char *name, uint64_t value)
{
    put_var(s, name);
    put_byte(s, T_UINT32);
    put_varint(s, value);
}

/* --- frames --- */

static void say_goodbye(struct adp_spop *s, enum why why, const char *message)
{
    size_t at = put_head(s, AGENT_DISCONNECT, 0, 0);
    put_number_pair(s, "status-code", (uint64_t)why);
    put_text_pair(s, "message", message);
    put_end(s, at);
    s->over = true;
}

static bool is(struct bytes text, const char *word)
{
    return text.n == strlen(word) && memcmp(text.p, word, text.n) == 0;
}

/* "2.0" among "1.0, 2.0". */
static bool speaks_2(struct bytes versions)
{
    for (size_t i = 0; i + 3 <= versions.n; i++) {
        bool begins = i == 0 || versions.p[i - 1] == ' ' || versions.p[i - 1] == ',';
        bool ends =
            i + 3 == versions.n || versions.p[i + 3] == ',' || versions.p[i + 3] == ' ';
        if (begins && ends && memcmp(versions.p + i, "2.0", 3) == 0)
            return true;
    }
    return false;
}

/* 3.2.4, 3.2.5 */
static void greet(struct adp_spop *s, struct cursor *c)
{
    bool has_version = false, speaks = false, healthcheck = false;
    uint64_t size = 0;
    while (c->at && c->at < c->end) {
        struct bytes key = take_string(c);
        struct value v = take_value(c);
        if (!c->at)
            break;
        if (is(key, "supported-versions") && v.type == T_STRING) {
            has_version = true;
            speaks = speaks_2(v.text);
        } else if (is(key, "max-frame-size") && v.type >= T_INT32 && v.type <= T_UINT64)
            size = v.number;
        else if (is(key, "healthcheck"))
            healthcheck = v.type == T_BOOL && v.truth;
    }
    if (!c->at || s->greeted)
        say_goodbye(s, INVALID, s->greeted ? "a second hello" : "a hello that is cut");
    else if (!has_version)
        say_goodbye(s, NO_VERSION, "no supported-versions");
    else if (!speaks)
        say_goodbye(s, BAD_VERSION, "2.0 is spoken here");
    else if (!size)
        say_goodbye(s, NO_SIZE, "no max-frame-size");
    else if (size < LEAST_FRAME)
        say_goodbye(s, BAD_SIZE, "frames of at least 256 bytes");
    if (s->over)
        return;
    s->frame = size < ADP_SPOP_FRAME ? (uint32_t)size : ADP_SPOP_FRAME;
    size_t at = put_head(s, AGENT_HELLO, 0, 0);
    put_text_pair(s, "version", "2.0");
    put_number_pair(s, "max-frame-size", s->frame);
    put_text_pair(s, "capabilities", "pipelining");
    put_end(s, at);
    s->greeted = true;
    s->over = healthcheck;
}

/* A fact as text, whatever type it came in; NULL: not known. */
static const char *text_of(struct adp_desk *desk, const struct value *v)
{
    char number[24];
    int n = 0;
    if (v->type == T_STRING || v->type == T_BINARY)
        return memchr(v->text.p ? v->text.p : "", '\0', v->text.n)
                   ? NULL
                   : adp_desk_text(desk, v->text.p, v->text.n);
    if (v->type == T_INT32 || v->type == T_INT64)
        n = snprintf(number, sizeof number, "%" PRId64, (int64_t)v->number);
    else if (v->type == T_UINT32 || v->type == T_UINT64)
        n = snprintf(number, sizeof number, "%" PRIu64, v->number);
    return n > 0 ? adp_desk_text(desk, number, (size_t)n) : NULL;
}

/* 3.2.6: one message; the facts it tells are added. False: it is cut. */
static bool take_message(struct adp_spop *s, struct cursor *c, adp_facts *facts)
{
    take_string(c);
    for (uint8_t n = take_byte(c); c->at && n; n--) {
        struct bytes key = take_string(c);
        struct value v = take_value(c);
        int fact = c->at ? adp_facts_find(key.p, key.n) : -1;
        const char *text = fact >= 0 ? text_of(s->desk, &v) : NULL;
        if (text)
            adp_facts_put(s->desk, facts, (enum adp_header)fact, text);
    }
    return c->at != NULL;
}

static void put_decision(struct adp_spop *s, const adp_decision *d)
{
    char id[ADP_HEX + 1];
    adp_answer_hex(d->id, id);
    put_text_var(s, "verdict", adp_answer_verdict(d));
    put_number_var(s, "status", d->status);
    put_text_var(s, "id", id);
    put_number_var(s, "enforced", d->enforced);
    if (d->admitted)
        return;
    put_text_var(s, "reason", d->reason ? d->reason : "");
    if (d->retry_after_ms) {
        put_number_var(s, "retry", adp_answer_seconds(d->retry_after_ms));
        put_number_var(s, "retry_ms", d->retry_after_ms);
    }
}

static void decide(struct adp_spop *s, struct cursor *c, uint64_t stream, uint64_t frame)
{
    adp_facts facts = { .size = sizeof facts };
    adp_decision d;
    bool any = false, whole = true;
    adp_desk_clear(s->desk);
    while (whole && c->at < c->end) {
        whole = take_message(s, c, &facts);
        any = true;
    }
    if (!whole) {
        say_goodbye(s, INVALID, "a message that is cut");
        return;
    }
    size_t at = put_head(s, ACK, stream, frame);
    if (any) { /* one decision a frame, however its facts are spread over messages */
        adp_desk_decide(s->desk, &facts, NULL, 0, &d);
        if (s->decided)
            s->decided(s->ctx, &d);
        put_decision(s, &d);
    }
    put_end(s, at);
}

/* 3.2.1 */
struct head {
    uint8_t type;
    uint32_t flags;
    uint64_t stream, frame;
};

static struct head take_head(struct cursor *c)
{
    struct head h = { .type = take_byte(c) };
    for (int i = 0; i < 4; i++)
        h.flags = h.flags << 8 | take_byte(c);
    h.stream = take_varint(c);
    h.frame = take_varint(c);
    return h;
}

static void take_frame(struct adp_spop *s, const uint8_t *p, size_t n)
{
    struct cursor c = { p, p + n };
    struct head h = take_head(&c);
    if (!c.at)
        say_goodbye(s, INVALID, "a frame without a head");
    else if (!(h.flags & FLAG_FIN) || h.flags & FLAG_ABORT)
        say_goodbye(s, FRAGMENTED, "fragments are not taken");
    else if (h.type == HAPROXY_HELLO)
        greet(s, &c);
    else if (h.type == HAPROXY_DISCONNECT)
        say_goodbye(s, FINE, "bye");
    else if (h.type != NOTIFY || !s->greeted)
        say_goodbye(s, INVALID, s->greeted ? "an unknown frame" : "no hello first");
    else
        decide(s, &c, h.stream, h.frame);
}

/* --- bytes --- */

char *adp_spop_room(struct adp_spop *spop, size_t *ret_cap)
{
    *ret_cap = sizeof spop->in - spop->in_len;
    return spop->in + spop->in_len;
}

static uint32_t length_at(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

enum adp_spop_next adp_spop_feed(struct adp_spop *spop, size_t n)
{
    struct adp_spop *s = spop;
    size_t at = 0;
    bool full = false;
    s->in_len += n;
    while (!s->over && s->in_len - at >= HEAD) {
        uint32_t len = length_at(s->in + at);
        full = OUT_CAP - s->out_len < 2 * ACK_MAX;
        if (full)
            break;
        if (len > s->frame)
            say_goodbye(s, TOO_BIG, "a frame that is too big");
        else if (s->in_len - at - HEAD < len)
            break;
        else {
            take_frame(s, (const uint8_t *)s->in + at + HEAD, len);
            at += HEAD + len;
        }
    }
    s->in_len -= at;
    memmove(s->in, s->in + at, s->in_len);
    return s->over ? ADP_SPOP_OVER : full ? ADP_SPOP_WAIT : ADP_SPOP_READ;
}

const char *adp_spop_out(const struct adp_spop *spop, size_t *ret_len)
{
    *ret_len = spop->out_len;
    return spop->out;
}

void adp_spop_sent(struct adp_spop *spop, size_t n)
{
    spop->out_len -= n;
    memmove(spop->out, spop->out + n, spop->out_len);
}

void adp_spop_end(struct adp_spop *spop)
{
    if (!spop->over && OUT_CAP - spop->out_len >= ACK_MAX)
        say_goodbye(spop, FINE, "stopping");
    spop->over = true;
}

/* --- going on in another's place --- */

size_t adp_spop_frame(const char *bytes, size_t n)
{
    return n < HEAD ? 0 : HEAD + (size_t)length_at(bytes);
}

bool adp_spop_asks(const char *bytes, size_t n, uint64_t *ret_stream, uint64_t *ret_frame)
{
    const uint8_t *p = (const uint8_t *)bytes;
    struct cursor c = { p + HEAD, p + n };
    struct head h = take_head(&c);
    if (!c.at || h.type != NOTIFY || !(h.flags & FLAG_FIN) || h.flags & FLAG_ABORT)
        return false;
    *ret_stream = h.stream;
    *ret_frame = h.frame;
    return true;
}

uint32_t adp_spop_agreed(const struct adp_spop *spop)
{
    return spop->greeted ? spop->frame : 0;
}

bool adp_spop_resume(struct adp_spop *spop, uint32_t agreed)
{
    if (agreed < LEAST_FRAME || agreed > ADP_SPOP_FRAME)
        return false;
    spop->frame = agreed;
    spop->greeted = true;
    return true;
}

void adp_spop_watch(struct adp_spop *spop,
                    void (*decided)(void *ctx, const adp_decision *d), void *ctx)
{
    spop->decided = decided;
    spop->ctx = ctx;
}

bool adp_spop_answer(struct adp_spop *spop, uint64_t stream, uint64_t frame,
                     const adp_decision *d)
{
    if (OUT_CAP - spop->out_len < 2 * ACK_MAX)
        return false;
    size_t at = put_head(spop, ACK, stream, frame);
    put_decision(spop, d);
    put_end(spop, at);
    return true;
}
