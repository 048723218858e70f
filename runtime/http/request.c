/* SPDX-License-Identifier: MIT */
/* Reading what a request says, and settling limits. */
#include "runtime/http/http.h"
#include "runtime/http/head.h"

#include <string.h>
#include <uv.h>

const struct adp_http_text *adp_http_field_find(const struct adp_http_request *request,
                                                const char *name)
{
    size_t len = strlen(name); /* most differ in that already */
    for (size_t i = 0; i < request->n_fields; i++)
        if (request->fields[i].name.len == len &&
            adp_http_is_name(request->fields[i].name, name))
            return &request->fields[i].value;
    return NULL;
}

bool adp_http_text_is(struct adp_http_text text, const char *word)
{
    size_t len = strlen(word);
    return text.len == len && (!len || memcmp(text.at, word, len) == 0);
}

bool adp_http_query_find(const struct adp_http_request *request, const char *name,
                         struct adp_http_text *ret)
{
    const char *at = request->query.at;
    size_t left = request->query.len, want = strlen(name);
    while (left) {
        const char *end = memchr(at, '&', left);
        size_t len = end ? (size_t)(end - at) : left;
        const char *equals = memchr(at, '=', len);
        size_t named = equals ? (size_t)(equals - at) : len;
        if (named == want && memcmp(at, name, want) == 0) {
            size_t skip = equals ? named + 1 : named;
            *ret = (struct adp_http_text) { at + skip, len - skip };
            return true;
        }
        at += end ? len + 1 : len;
        left -= end ? len + 1 : len;
    }
    return false;
}

size_t adp_http_decode(struct adp_http_text text, bool plus, char *to, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '%') {
            int high = text.len - i > 2 ? adp_http_hex(text.at[i + 1]) : -1;
            int low = text.len - i > 2 ? adp_http_hex(text.at[i + 2]) : -1;
            if (high < 0 || low < 0)
                return SIZE_MAX;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        if (!c || n == cap)
            return SIZE_MAX;
        to[n++] = c;
    }
    return n;
}

int adp_http_limits_settle(struct adp_http_limits *limits)
{
    const uint32_t most_ms = 24u * 3600 * 1000;
    const struct {
        uint32_t *value, usual, most;
    } rows[] = {
        { &limits->head_bytes, 16384, 1 << 20 },
        { &limits->fields, 64, ADP_HTTP_MAX_FIELDS },
        { &limits->body_bytes, 1 << 20, 1 << 30 },
        { &limits->chunk_bytes, 65536, 1 << 24 },
        { &limits->connections, 1024, 65000 },
        { &limits->pipelined, 32, 64 },
        { &limits->out_bytes, 262144, 1 << 28 },
        { &limits->head_ms, 10000, most_ms },
        { &limits->body_ms, 30000, most_ms },
        { &limits->idle_ms, 60000, most_ms },
        { &limits->write_ms, 30000, most_ms },
        { &limits->linger_ms, 2000, most_ms },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (*rows[i].value > rows[i].most)
            return UV_EINVAL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!*rows[i].value)
            *rows[i].value = rows[i].usual;
    return 0;
}
