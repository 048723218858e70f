/* SPDX-License-Identifier: MIT */
/* A chunked body, decoded where it lies. */
#include "runtime/http/chunks.h"

#include <string.h>

enum {
    SIZE,      /* hexadecimal digits */
    EXTENSION, /* behind ';', up to CR; ignored */
    SIZE_LF,   /* CR was there */
    DATA,      /* `left` bytes */
    DATA_CR,   /* behind them */
    DATA_LF,
    TRAILER,    /* lines behind the last chunk, ignored, up to an empty one */
    TRAILER_LF, /* CR was there */
    MAX_DIGITS = 16
};

static const struct adp_http_refusal malformed = { 400, "malformed chunk" };
static const struct adp_http_refusal framing = { 400, "too much around the chunks" };
static const struct adp_http_refusal too_large = { 413, "body too large" };

static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
}

static const struct adp_http_refusal *take_size(struct adp_http_chunks *chunks, char c,
                                                const struct adp_http_limits *limits)
{
    int digit = adp_http_hex(c);
    if (digit >= 0) {
        if (++chunks->digits > MAX_DIGITS)
            return &malformed;
        chunks->left = chunks->left * 16 + (uint64_t)digit;
        /* At most 16 digits and the bound: no overflow. */
        return chunks->left > limits->body_bytes - chunks->body_len ? &too_large : NULL;
    }
    if (!chunks->digits || (c != ';' && c != '\r'))
        return &malformed;
    chunks->state = c == ';' ? EXTENSION : SIZE_LF;
    return NULL;
}

/* A byte of a trailer line: of a field, or the CR that ends it. */
static const struct adp_http_refusal *take_trailer(struct adp_http_chunks *chunks, char c)
{
    if (c == '\r') {
        chunks->state = TRAILER_LF;
        return NULL;
    }
    bool folded = !chunks->line && (c == ' ' || c == '\t' || c == ':');
    chunks->line++;
    return is_control(c) || folded ? &malformed : NULL;
}

static const struct adp_http_refusal *expect(struct adp_http_chunks *chunks, char c,
                                             char expected, uint32_t then)
{
    chunks->state = then;
    return c == expected ? NULL : &malformed;
}

static const struct adp_http_refusal *take(struct adp_http_chunks *chunks, char c,
                                           const struct adp_http_limits *limits)
{
    switch (chunks->state) {
    case SIZE:
        return take_size(chunks, c, limits);
    case EXTENSION:
        if (c == '\r')
            chunks->state = SIZE_LF;
        return c != '\r' && is_control(c) ? &malformed : NULL;
    case SIZE_LF:
        chunks->digits = 0;
        return expect(chunks, c, '\n', chunks->left ? DATA : TRAILER);
    case DATA_CR:
        return expect(chunks, c, '\r', DATA_LF);
    case DATA_LF:
        return expect(chunks, c, '\n', SIZE);
    case TRAILER:
        return take_trailer(chunks, c);
    default: /* TRAILER_LF */
        chunks->done = c == '\n' && !chunks->line;
        chunks->line = 0;
        return expect(chunks, c, '\n', TRAILER);
    }
}

const struct adp_http_refusal *
adp_http_chunks_decode(struct adp_http_chunks *chunks, char *bytes, size_t len,
                       const struct adp_http_limits *limits)
{
    while (!chunks->done && chunks->read < len) {
        if (chunks->state == DATA) {
            size_t n = len - chunks->read;
            if (n > chunks->left)
                n = (size_t)chunks->left;
            memmove(bytes + chunks->body_len, bytes + chunks->read, n);
            chunks->body_len += n;
            chunks->read += n;
            chunks->left -= n;
            if (!chunks->left)
                chunks->state = DATA_CR;
            continue;
        }
        const struct adp_http_refusal *no = take(chunks, bytes[chunks->read], limits);
        chunks->read++;
        if (no)
            return no;
        if (chunks->read - chunks->body_len > limits->chunk_bytes)
            return &framing;
    }
    return NULL;
}
