/* SPDX-License-Identifier: MIT */
/* The bytes of a file, unpacked when they are packed. */
#include "runtime/analysis/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { RAW = 128 << 10 };

enum form { UNKNOWN, PLAIN, GZIP, ZSTANDARD };

struct adp_source {
    int fd;
    enum form form;
    bool ended; /* the descriptor */
    bool whole; /* what was unpacked so far ends where a member or a frame does */
    bool damaged;
    uint64_t taken;
    size_t at, n; /* in raw: what is not used yet */
    z_stream gzip;
    bool gzip_begun;
    ZSTD_DStream *zstandard;
    unsigned char raw[RAW];
};

static const struct {
    unsigned char magic[4];
    size_t len;
    enum form form;
} forms[] = { { { 0x1f, 0x8b }, 2, GZIP }, { { 0x28, 0xb5, 0x2f, 0xfd }, 4, ZSTANDARD } };

/* A frame that holds nothing of the text, as pzstd and others put first: 0x184D2A50 to …5F. */
static bool is_skippable(const unsigned char *first, size_t len)
{
    return len >= 4 && (first[0] & 0xf0) == 0x50 && first[1] == 0x2a &&
           first[2] == 0x4d && first[3] == 0x18;
}

static enum form form_of(const void *first, size_t len)
{
    if (is_skippable(first, len))
        return ZSTANDARD;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (len >= forms[i].len && memcmp(first, forms[i].magic, forms[i].len) == 0)
            return forms[i].form;
    return PLAIN;
}

bool adp_source_is_packed(const void *first, size_t len)
{
    return form_of(first, len) != PLAIN;
}

struct adp_source *adp_source_create(int fd)
{
    struct adp_source *source = malloc(sizeof *source);
    if (!source)
        return NULL;
    memset(source, 0, offsetof(struct adp_source, raw));
    source->fd = fd;
    return source;
}

void adp_source_destroy(struct adp_source *source)
{
    if (!source)
        return;
    if (source->gzip_begun)
        inflateEnd(&source->gzip);
    ZSTD_freeDStream(source->zstandard);
    free(source);
}

bool adp_source_is_damaged(const struct adp_source *source)
{
    return source->damaged;
}

uint64_t adp_source_taken(const struct adp_source *source)
{
    return source->taken;
}

static ssize_t read_some(struct adp_source *source, void *to, size_t cap,
                         struct adp_error *err)
{
    ssize_t got;
    do
        got = read(source->fd, to, cap);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return adp_error_set(err, ADP_EIO, "cannot be read: %s", strerror(errno));
    source->ended = got == 0;
    source->taken += (uint64_t)got;
    return got;
}

/* Enough of the beginning to know the form by; a pipe may give a byte at a time. */
static int find_form(struct adp_source *source, struct adp_error *err)
{
    while (source->n < sizeof forms->magic && !source->ended) {
        ssize_t got = read_some(source, source->raw + source->n, RAW - source->n, err);
        if (got < 0)
            return (int)got;
        source->n += (size_t)got;
    }
    source->form = form_of(source->raw, source->n);
    if (source->form == GZIP) {
        if (inflateInit2(&source->gzip, 15 + 16) != Z_OK)
            return ADP_ENOMEM;
        source->gzip_begun = true;
    } else if (source->form == ZSTANDARD) {
        source->zstandard = ZSTD_createDStream();
        if (!source->zstandard)
            return ADP_ENOMEM;
    }
    return 0;
}

static ssize_t read_plain(struct adp_source *source, char *to, size_t cap,
                          struct adp_error *err)
{
    if (source->at == source->n)
        return source->ended ? 0 : read_some(source, to, cap, err);
    size_t n = source->n - source->at < cap ? source->n - source->at : cap;
    memcpy(to, source->raw + source->at, n);
    source->at += n;
    return (ssize_t)n;
}

/* Unpacks from raw; returns how many bytes came out, or -1: damaged. */
static ssize_t inflate_some(struct adp_source *source, char *to, size_t cap)
{
    z_stream *z = &source->gzip;
    if (source->whole && inflateReset(z) != Z_OK)
        return -1;
    z->next_in = source->raw + source->at;
    z->avail_in = (uInt)(source->n - source->at);
    z->next_out = (unsigned char *)to;
    z->avail_out = (uInt)cap;
    int code = inflate(z, Z_NO_FLUSH);
    source->at = source->n - z->avail_in;
    source->whole = code == Z_STREAM_END;
    return code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR
               ? (ssize_t)(cap - z->avail_out)
               : -1;
}

static ssize_t decompress_some(struct adp_source *source, char *to, size_t cap)
{
    ZSTD_inBuffer in = { source->raw, source->n, source->at };
    ZSTD_outBuffer out = { to, cap, 0 };
    size_t left = ZSTD_decompressStream(source->zstandard, &out, &in);
    source->at = in.pos;
    if (ZSTD_isError(left))
        return -1;
    source->whole = left == 0;
    return (ssize_t)out.pos;
}

static ssize_t read_packed(struct adp_source *source, char *to, size_t cap,
                           struct adp_error *err)
{
    while (!source->damaged) {
        if (source->at == source->n && !source->ended) {
            ssize_t got = read_some(source, source->raw, RAW, err);
            if (got < 0)
                return got;
            source->at = 0;
            source->n = (size_t)got;
        }
        if (source->at == source->n && source->ended && source->whole)
            return 0;
        size_t before = source->at;
        ssize_t n = source->form == GZIP ? inflate_some(source, to, cap)
                                         : decompress_some(source, to, cap);
        if (n > 0)
            return n;
        /* Nothing came, and nothing more can. */
        source->damaged = n < 0 || (source->ended && source->at == before);
    }
    return 0;
}

ssize_t adp_source_read(struct adp_source *source, char *to, size_t cap,
                        struct adp_error *err)
{
    if (source->form == UNKNOWN) {
        int e = find_form(source, err);
        if (e)
            return e;
    }
    return source->form == PLAIN ? read_plain(source, to, cap, err)
                                 : read_packed(source, to, cap, err);
}
