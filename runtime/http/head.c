/* SPDX-License-Identifier: MIT */
/* The head of a request. */
#include "runtime/http/head.h"

#include <llhttp.h>
#include <string.h>
#include <strings.h>

#define REFUSE(name, code, text)                                                         \
    static const struct adp_http_refusal name = { code, text }

REFUSE(bare_lf, 400, "line feed without carriage return");
REFUSE(bad_request_line, 400, "not a request line");
REFUSE(folded, 400, "folded header field");
REFUSE(bad_field, 400, "malformed header field");
REFUSE(bad_target, 400, "malformed request target");
REFUSE(no_host, 400, "no Host");
REFUSE(bad_host, 400, "malformed Host");
REFUSE(other_host, 400, "Host differs from the request target");
REFUSE(two_hosts, 400, "more than one Host");
REFUSE(bad_length, 400, "malformed Content-Length");
REFUSE(two_lengths, 400, "conflicting message lengths");
REFUSE(old_chunked, 400, "Transfer-Encoding in HTTP/1.0");
REFUSE(disagree, 400, "ambiguous request");
REFUSE(head_too_long, 431, "request head too long");
REFUSE(target_too_long, 414, "request target too long");
REFUSE(too_many_fields, 431, "too many header fields");
REFUSE(unknown_method, 501, "method not implemented");
REFUSE(unknown_coding, 501, "transfer coding not implemented");
REFUSE(unknown_version, 505, "HTTP version not supported");
REFUSE(unknown_expectation, 417, "expectation not supported");

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
    return is_upper(c) || is_digit(c) || (c >= 'a' && c <= 'z');
}

bool adp_http_is_token(const char *at, size_t len)
{
    /* A bit for each letter, digit, and of !#$%&'*+-.^_`|~: it is asked of every byte of
     * every name that is written. */
    static const uint64_t bits[2] = { UINT64_C(0x3ff6cfa00000000),
                                      UINT64_C(0x57ffffffc7fffffe) };
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)at[i];
        if (c >= 128 || !(bits[c / 64] >> c % 64 & 1))
            return false;
    }
    return len > 0;
}

bool adp_http_is_name(struct adp_http_text text, const char *name)
{
    return text.len == strlen(name) && strncasecmp(text.at, name, text.len) == 0;
}

int adp_http_hex(char c)
{
    if (is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* --- where it ends */

/* A line that ends with CR LF at `cr`. */
static const struct adp_http_refusal *take_line(struct adp_http_scan *scan,
                                                const char *bytes, size_t cr,
                                                const struct adp_http_limits *limits)
{
    if (cr == scan->line && !scan->lines)
        scan->start =
            cr + 2; /* RFC 9112, 2.2: empty lines before a request are ignored */
    else if (cr == scan->line)
        scan->end = cr + 2;
    else if (scan->lines && (bytes[scan->line] == ' ' || bytes[scan->line] == '\t'))
        return &folded;
    else if (++scan->lines > limits->fields + 1)
        return &too_many_fields;
    scan->line = cr + 2;
    return NULL;
}

const struct adp_http_refusal *adp_http_head_scan(struct adp_http_scan *scan,
                                                  const char *bytes, size_t len,
                                                  const struct adp_http_limits *limits)
{
    while (!scan->end && scan->seen < len) {
        /* The first byte of a request tells most of what is none: TLS, another protocol. */
        char first = bytes[scan->line];
        if (!scan->lines && !is_upper(first) && first != '\r' && first != '\n')
            return &bad_request_line;
        const char *lf = memchr(bytes + scan->seen, '\n', len - scan->seen);
        size_t at = lf ? (size_t)(lf - bytes) : len;
        scan->seen = lf ? at + 1 : len;
        if (scan->seen > limits->head_bytes)
            return scan->lines ? &head_too_long : &target_too_long;
        if (!lf)
            break;
        if (at == scan->line || bytes[at - 1] != '\r')
            return &bare_lf;
        const struct adp_http_refusal *no = take_line(scan, bytes, at - 1, limits);
        if (no)
            return no;
    }
    return NULL;
}

/* --- the request line */

static enum adp_http_method method_of(struct adp_http_text word)
{
    static const char *const names[] = {
        [ADP_HTTP_GET] = "GET",       [ADP_HTTP_HEAD] = "HEAD",
        [ADP_HTTP_POST] = "POST",     [ADP_HTTP_PUT] = "PUT",
        [ADP_HTTP_DELETE] = "DELETE", [ADP_HTTP_OPTIONS] = "OPTIONS",
    };
    static const char *const others[] = { "PATCH",  "TRACE",  "PROPFIND", "PROPPATCH",
                                          "MKCOL",  "COPY",   "MOVE",     "LOCK",
                                          "UNLOCK", "SEARCH", "REPORT",   "PURGE" };
    for (unsigned i = ADP_HTTP_GET; i < sizeof names / sizeof names[0]; i++)
        if (adp_http_text_is(word, names[i]))
            return (enum adp_http_method)i;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (adp_http_text_is(word, others[i]))
            return ADP_HTTP_OTHER;
    return 0;
}

static const struct adp_http_refusal *read_version(struct adp_http_head *head,
                                                   struct adp_http_text word)
{
    if (word.len != 8 || memcmp(word.at, "HTTP/", 5) != 0 || !is_digit(word.at[5]) ||
        word.at[6] != '.' || !is_digit(word.at[7]))
        return &bad_request_line;
    if (word.at[5] != '1' || word.at[7] > '1')
        return &unknown_version;
    head->minor = (uint32_t)(word.at[7] - '0');
    return NULL;
}

/* What may be in a Host or an authority: no '@', whose left side is nobody's business here. */
static bool is_host(struct adp_http_text host)
{
    for (size_t i = 0; i < host.len; i++)
        if (!host.at[i] ||
            (!is_alnum(host.at[i]) && !strchr("-._~%!$&'()*+,;=:[]", host.at[i])))
            return false;
    return host.len > 0;
}

/* Origin form, absolute form, or "*". */
static const struct adp_http_refusal *read_target(struct adp_http_head *head,
                                                  struct adp_http_text target)
{
    for (size_t i = 0; i < target.len; i++)
        if (target.at[i] <= ' ' || target.at[i] > '~' || target.at[i] == '#')
            return &bad_target;
    size_t scheme = 0;
    if (target.len > 7 && strncasecmp(target.at, "http://", 7) == 0)
        scheme = 7;
    else if (target.len > 8 && strncasecmp(target.at, "https://", 8) == 0)
        scheme = 8;
    size_t path = scheme;
    if (scheme) {
        while (path < target.len && target.at[path] != '/' && target.at[path] != '?')
            path++;
        head->authority = (struct adp_http_text) { target.at + scheme, path - scheme };
        if (!is_host(head->authority))
            return &bad_target;
    }
    const char *from = target.at + path;
    size_t len = target.len - path;
    const char *mark = memchr(from, '?', len);
    head->query = (struct adp_http_text) { 0 };
    head->path = (struct adp_http_text) { from, mark ? (size_t)(mark - from) : len };
    if (mark)
        head->query = (struct adp_http_text) { mark + 1, len - head->path.len - 1 };
    if (scheme && !head->path.len)
        head->path = (struct adp_http_text) { "/", 1 };
    bool star = head->method == ADP_HTTP_OPTIONS && adp_http_text_is(target, "*");
    return star || (head->path.len && head->path.at[0] == '/') ? NULL : &bad_target;
}

/* METHOD SP TARGET SP VERSION, with one blank each. */
static const struct adp_http_refusal *read_request_line(struct adp_http_head *head,
                                                        const char *bytes, size_t len)
{
    const char *one = memchr(bytes, ' ', len);
    const char *two = memrchr(bytes, ' ', len);
    if (!one || one == two)
        return &bad_request_line;
    struct adp_http_text method = { bytes, (size_t)(one - bytes) };
    struct adp_http_text target = { one + 1, (size_t)(two - one) - 1 };
    struct adp_http_text version = { two + 1, (size_t)(bytes + len - two) - 1 };
    if (!adp_http_is_token(method.at, method.len))
        return &bad_request_line;
    const struct adp_http_refusal *no = read_version(head, version);
    if (no)
        return no;
    head->method = method_of(method);
    if (!head->method)
        return &unknown_method;
    return read_target(head, target);
}

/* --- the fields */

struct parse {
    llhttp_t parser;
    struct adp_http_head *head;
    size_t max;
    bool valued; /* the last field has its value */
    bool
        ambiguous; /* llhttp gave something in pieces, or more of it than there are lines */
};

static int take_name(llhttp_t *parser, const char *at, size_t len)
{
    struct parse *p = parser->data;
    struct adp_http_head *head = p->head;
    if (head->n_fields == p->max) {
        p->ambiguous = true;
        return HPE_USER;
    }
    head->fields[head->n_fields].name = (struct adp_http_text) { at, len };
    head->fields[head->n_fields].value = (struct adp_http_text) { at + len, 0 };
    head->n_fields++;
    p->valued = false;
    return 0;
}

static int take_value(llhttp_t *parser, const char *at, size_t len)
{
    struct parse *p = parser->data;
    struct adp_http_field *field = &p->head->fields[p->head->n_fields - 1];
    if (p->valued) {
        p->ambiguous = true;
        return HPE_USER;
    }
    p->valued = true;
    while (len && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    field->value = (struct adp_http_text) { at, len };
    return 0;
}

static int take_end(llhttp_t *parser)
{
    (void)parser;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_header_field = take_name,
    .on_header_value = take_value,
    .on_headers_complete = take_end,
};

static const struct adp_http_refusal *read_length(struct adp_http_head *head,
                                                  struct adp_http_text value)
{
    uint64_t n = 0;
    if (!value.len || value.len > 18)
        return &bad_length;
    for (size_t i = 0; i < value.len; i++) {
        if (!is_digit(value.at[i]))
            return &bad_length;
        n = n * 10 + (uint64_t)(value.at[i] - '0');
    }
    head->content_length = n;
    return NULL;
}

/* What a field means to the server itself. The counts of each are in `seen`. */
struct seen {
    unsigned hosts, lengths, codings;
};

static const struct adp_http_refusal *read_field(struct adp_http_head *head,
                                                 const struct adp_http_field *field,
                                                 struct seen *seen)
{
    if (!field->name.len)
        return &bad_field;
    switch (field->name.len) {
    case 4:
        if (!adp_http_is_name(field->name, "host"))
            return NULL;
        head->host = field->value;
        if (++seen->hosts > 1)
            return &two_hosts;
        return is_host(field->value) ? NULL : &bad_host;
    case 6:
        if (!adp_http_is_name(field->name, "expect"))
            return NULL;
        head->expects_continue = true;
        return adp_http_is_name(field->value, "100-continue") ? NULL
                                                              : &unknown_expectation;
    case 14:
        if (!adp_http_is_name(field->name, "content-length"))
            return NULL;
        seen->lengths++;
        return read_length(head, field->value);
    case 17:
        if (!adp_http_is_name(field->name, "transfer-encoding"))
            return NULL;
        seen->codings++;
        head->chunked = true;
        return adp_http_is_name(field->value, "chunked") ? NULL : &unknown_coding;
    default:
        return NULL;
    }
}

static const struct adp_http_refusal *read_fields(struct adp_http_head *head)
{
    struct seen seen = { 0 };
    for (size_t i = 0; i < head->n_fields; i++) {
        const struct adp_http_refusal *no = read_field(head, &head->fields[i], &seen);
        if (no)
            return no;
    }
    if (seen.lengths + seen.codings > 1)
        return &two_lengths;
    if (head->chunked && head->minor == 0)
        return &old_chunked;
    if (head->minor == 1 && !seen.hosts)
        return &no_host;
    /* RFC 9112, 3.2.2 lets the target win; a client that means one says so twice. */
    if (head->authority.len && seen.hosts &&
        (head->authority.len != head->host.len ||
         strncasecmp(head->authority.at, head->host.at, head->host.len) != 0))
        return &other_host;
    /* RFC 9110, 10.1.1: an expectation in HTTP/1.0 is ignored. */
    head->expects_continue = head->expects_continue && head->minor == 1;
    return NULL;
}

static const struct adp_http_refusal *refusal_of(llhttp_errno_t error)
{
    switch (error) {
    case HPE_INVALID_CONTENT_LENGTH:
        return &bad_length;
    case HPE_UNEXPECTED_CONTENT_LENGTH:
    case HPE_INVALID_TRANSFER_ENCODING:
        return &two_lengths;
    case HPE_INVALID_URL:
        return &bad_target;
    default:
        return &bad_field;
    }
}

const struct adp_http_refusal *adp_http_head_parse(struct adp_http_head *ret,
                                                   const char *bytes, size_t len,
                                                   const struct adp_http_limits *limits)
{
    struct parse p = { .head = ret, .max = limits->fields };
    ret->n_fields = 0;
    ret->content_length = 0;
    ret->chunked = ret->expects_continue = false;
    ret->host = ret->authority = (struct adp_http_text) { 0 };
    const char *cr = memchr(bytes, '\r', len);
    const struct adp_http_refusal *no =
        cr ? read_request_line(ret, bytes, (size_t)(cr - bytes)) : &bad_request_line;
    if (no)
        return no;
    llhttp_init(&p.parser, HTTP_REQUEST, &settings);
    p.parser.data = &p;
    llhttp_errno_t error = llhttp_execute(&p.parser, bytes, len);
    if (p.ambiguous)
        return &disagree;
    if (error != HPE_PAUSED)
        return error == HPE_OK ? &disagree : refusal_of(error);
    no = read_fields(ret);
    if (no)
        return no;
    if (llhttp_get_error_pos(&p.parser) != bytes + len ||
        p.parser.content_length != ret->content_length ||
        ret->chunked != ((p.parser.flags & F_CHUNKED) != 0))
        return &disagree;
    ret->keep_alive = llhttp_should_keep_alive(&p.parser) != 0;
    return NULL;
}
