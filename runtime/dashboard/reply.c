/* SPDX-License-Identifier: MIT */
/* What answers look like (reply.h). */
#include "runtime/dashboard/reply.h"

#include "runtime/analysis/report_json.h"
#include "runtime/dashboard/asset.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(NAME, VALUE)                                                               \
    {                                                                                    \
        { NAME, sizeof NAME - 1 },                                                       \
        {                                                                                \
            VALUE, sizeof VALUE - 1                                                      \
        }                                                                                \
    }

/* The last two only with what is packed for some, and what is. */
static const struct adp_http_field fields[] = {
    FIELD("Content-Security-Policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
          "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    FIELD("X-Content-Type-Options", "nosniff"),
    FIELD("Referrer-Policy", "no-referrer"),
    FIELD("Cross-Origin-Resource-Policy", "same-origin"),
    FIELD("Cross-Origin-Opener-Policy", "same-origin"),
    FIELD("Cache-Control", "no-store"),
    FIELD("Vary", "Accept-Encoding"),
    FIELD("Content-Encoding", "gzip"),
};
enum { ALL_FIELDS = sizeof fields / sizeof *fields, PLAIN_FIELDS = ALL_FIELDS - 2 };

static const char type_json[] = "application/json";

static void answer(struct adp_http_server *server, uint64_t exchange,
                   const struct adp_http_answer *what)
{
    struct adp_http_answer whole = *what;
    whole.fields = fields;
    if (!whole.n_fields)
        whole.n_fields = PLAIN_FIELDS;
    adp_http_answer(server, exchange, &whole);
}

void adp_reply_json(struct adp_http_server *server, uint64_t exchange, const char *body,
                    size_t len)
{
    answer(server, exchange,
           &(struct adp_http_answer) {
               .status = 200, .type = type_json, .body = body, .body_len = len });
}

void adp_reply_error(struct adp_http_server *server, uint64_t exchange, uint32_t status,
                     const char *why)
{
    static const char failed[] = "{\"error\":\"out of memory\"}\n";
    json_t *body = json_pack("{s:o}", "error", adp_json_text(why));
    char *text = body ? json_dumps(body, JSON_ENSURE_ASCII) : NULL;
    json_decref(body);
    answer(server, exchange,
           &(struct adp_http_answer) { .status = status,
                                       .type = type_json,
                                       .body = text ? text : failed,
                                       .body_len =
                                           text ? strlen(text) : sizeof failed - 1 });
    free(text);
}

void adp_reply_code(struct adp_http_server *server, uint64_t exchange, int code,
                    const struct adp_error *err)
{
    char why[sizeof err->file + sizeof err->text + 4];
    bool meant = code == ADP_EINVAL || code == ADP_ESYNTAX || code == ADP_EFULL;
    snprintf(why, sizeof why, "%s%s%s", err->file[0] ? err->file : "",
             err->file[0] ? ": " : "", err->text);
    adp_reply_error(server, exchange, code == ADP_ENOENT ? 404 : meant ? 400 : 500, why);
}

/* Is the coding named, and not refused with a weight of 0 (RFC 9110, 12.5.3)? */
static bool takes(struct adp_http_text one, const char *coding)
{
    static const char blanks[] = " \t";
    size_t n = 0, len = strlen(coding);
    while (one.len && strchr(blanks, *one.at)) {
        one.at++;
        one.len--;
    }
    while (n < one.len && one.at[n] != ';' && !strchr(blanks, one.at[n]))
        n++;
    if (n != len || strncasecmp(one.at, coding, len) != 0)
        return false;
    const char *weight = memmem(one.at + n, one.len - n, "q=", 2);
    if (!weight)
        return true;
    for (const char *c = weight + 2; c < one.at + one.len; c++)
        if (*c >= '1' && *c <= '9')
            return true;
    return false;
}

bool adp_reply_may_pack(const struct adp_http_text *accepts)
{
    const char *at = accepts ? accepts->at : NULL;
    const char *end = at ? at + accepts->len : NULL;
    while (at && at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *past = comma ? comma : end;
        if (takes((struct adp_http_text) { at, (size_t)(past - at) }, "gzip"))
            return true;
        at = past + 1;
    }
    return false;
}

bool adp_reply_asset(struct adp_http_server *server,
                     const struct adp_http_request *request)
{
    static const struct {
        const char *path, *type;
        const struct adp_asset *asset;
    } assets[] = {
        { "/", "text/html; charset=utf-8", &adp_asset_shell },
        { "/page.css", "text/css; charset=utf-8", &adp_asset_style },
        { "/page.js", "text/javascript; charset=utf-8", &adp_asset_script },
        { "/uplot.js", "text/javascript; charset=utf-8", &adp_asset_uplot },
    };
    bool packed = adp_reply_may_pack(adp_http_field_find(request, "Accept-Encoding"));
    for (size_t i = 0; i < sizeof assets / sizeof *assets; i++) {
        const struct adp_asset *asset = assets[i].asset;
        if (!adp_http_text_is(request->path, assets[i].path))
            continue;
        answer(server, request->exchange,
               &(struct adp_http_answer) {
                   .status = 200,
                   .type = assets[i].type,
                   .n_fields = packed ? ALL_FIELDS : ALL_FIELDS - 1,
                   .body = packed ? asset->packed : asset->text,
                   .body_len = packed ? asset->packed_len : asset->len });
        return true;
    }
    return false;
}

int adp_reply_events(struct adp_http_server *server, uint64_t exchange, const char *first,
                     size_t len)
{
    return adp_http_stream_begin(server, exchange,
                                 &(struct adp_http_answer) { .status = 200,
                                                             .type = "text/event-stream",
                                                             .fields = fields,
                                                             .n_fields = PLAIN_FIELDS,
                                                             .body = first,
                                                             .body_len = len });
}
