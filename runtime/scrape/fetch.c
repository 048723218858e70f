/* SPDX-License-Identifier: MIT */
/* The wire that is libcurl (fetch.h).
 *
 *  1. A target has one easy handle for its life, so that its connection is kept.
 *  2. The deadline is one for all of it: name, connection, handshake, redirect, page.
 *  3. A redirect is followed by us and not by curl: once, and only to the same scheme, host
 *     and port, so that a token goes nowhere else.
 *  4. The environment's proxies are not used: engines stand beside us.
 *  5. An answer is not believed when more than it announced lies behind it: what curl read
 *     with it, and what waits in the socket when curl is through with it. What arrives
 *     later, or encrypted, is not seen; never is it taken for the next answer.
 *  6. curl's own words go into a text only for TLS, where they are about certificates. */
#include "runtime/scrape/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEAD_MAX = 64 << 10,  /* bytes of an answer's head */
    TOKEN_MAX = 16 << 10, /* bytes of a bearer file */
    FIRST_CAP = 64 << 10
};

struct flight {
    const struct adp_scrape_target *target;
    const struct adp_address *at;
    CURL *easy;
    struct curl_slist *headers;
    char *page; /* owned; kept from one asking to the next */
    size_t len, cap, head;
    uint64_t arrived;     /* bytes of body that came, also beyond the length announced */
    curl_socket_t socket; /* it made last; CURL_SOCKET_BAD: closed again */
    bool excess;          /* bytes wait behind the answer */
    bool flying, ended, redirected, chunked;
    enum adp_promtext_format format;
    uint64_t spent_us; /* before the redirect */
    struct adp_fetched result;
    char error[CURL_ERROR_SIZE];
};

struct adp_fetch {
    CURLM *multi;
    struct flight *flight;
    uint32_t n;
    struct adp_wire wire;
};

/* --- how it ended --- */

static void end(struct flight *f, enum adp_scrape_why why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void end(struct flight *f, enum adp_scrape_why why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->result.text, sizeof f->result.text, format, args);
    va_end(args);
    f->result.why = why;
    f->ended = true;
}

static const char *seconds(uint64_t ns, char *to, size_t cap)
{
    if (ns < 1000000000u)
        snprintf(to, cap, "%g ms", (double)ns / 1e6);
    else
        snprintf(to, cap, "%g s", (double)ns / 1e9);
    return to;
}

static void end_timeout(struct flight *f)
{
    char within[32];
    curl_off_t connected = 0;
    curl_easy_getinfo(f->easy, CURLINFO_CONNECT_TIME_T, &connected);
    seconds(f->target->timeout_ns, within, sizeof within);
    if (f->len)
        end(f, ADP_SCRAPE_TIMEOUT, "the page was not whole within %s, %zu bytes came",
            within, f->len);
    else
        end(f, ADP_SCRAPE_TIMEOUT, "no %s within %s", connected ? "answer" : "connection",
            within);
}

static void end_connect(struct flight *f)
{
    long number = 0;
    curl_easy_getinfo(f->easy, CURLINFO_OS_ERRNO, &number);
    if (number == ECONNREFUSED || number == ENOENT)
        end(f, ADP_SCRAPE_CONNECTION_REFUSED, "%s",
            number == ENOENT ? "there is no such socket" : "nobody listens there");
    else
        end(f, ADP_SCRAPE_UNREACHABLE, "%s",
            number ? strerror((int)number) : "no connection");
}

static void end_lost(struct flight *f)
{
    end(f, ADP_SCRAPE_CUT, "the connection was lost after %zu bytes of the page", f->len);
}

static void end_failed(struct flight *f, CURLcode code)
{
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        end_timeout(f);
        return;
    case CURLE_COULDNT_RESOLVE_HOST:
        end(f, ADP_SCRAPE_DNS, "the host's name is not known");
        return;
    case CURLE_COULDNT_CONNECT:
        end_connect(f);
        return;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        end_lost(f);
        return;
    case CURLE_GOT_NOTHING:
        end(f, ADP_SCRAPE_CUT, "the connection was closed without an answer");
        return;
    case CURLE_OUT_OF_MEMORY:
        end(f, ADP_SCRAPE_NO_MEMORY, "out of memory");
        return;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_USE_SSL_FAILED:
        if (strstr(f->error, "wrong version number")) /* OpenSSL, of the first bytes */
            end(f, ADP_SCRAPE_TLS,
                "what answers does not speak TLS; an address without it begins with "
                "http://");
        else
            end(f, ADP_SCRAPE_TLS, "%s", *f->error ? f->error : curl_easy_strerror(code));
        return;
    case CURLE_FILESIZE_EXCEEDED:
        end(f, ADP_SCRAPE_TOO_BIG, "more than %u bytes are announced", ADP_PAGE_MAX);
        return;
    default:
        /* HTTP/0.9, no status line, an encoding nobody asked for. */
        end(f, ADP_SCRAPE_NOT_HTTP, "what answers does not speak HTTP as it should: %s",
            curl_easy_strerror(code));
    }
}

static void end_status(struct flight *f, long status)
{
    switch (status) {
    case 401:
    case 403:
        end(f, ADP_SCRAPE_UNAUTHORIZED, "status %ld, %s", status,
            f->target->bearer_file ? "the token is not taken" : "a token is asked for");
        return;
    case 404:
        end(f, ADP_SCRAPE_NOT_FOUND, "status 404, no page at this path");
        return;
    case 501:
        end(f, ADP_SCRAPE_NOT_IMPLEMENTED,
            "status 501, the engine was started without metrics");
        return;
    default:
        end(f, ADP_SCRAPE_STATUS, "status %ld, expected 200", status);
    }
}

/* --- what came --- */

static const char *looks_like(const char *page, size_t len)
{
    size_t i = 0;
    while (i < len &&
           (page[i] == ' ' || page[i] == '\t' || page[i] == '\r' || page[i] == '\n'))
        i++;
    if (i == len)
        return "the page is empty";
    if (len >= 2 && (unsigned char)page[0] == 0x1f && (unsigned char)page[1] == 0x8b)
        return "the page is compressed, which was not asked for";
    if (page[i] == '<')
        return "the page is HTML or XML";
    if (page[i] == '[') /* a brace may begin a sample: that is seen when it is read */
        return "the page is JSON";
    return NULL;
}

/* The last line that says something is "# EOF". */
static bool has_eof(const char *page, size_t len)
{
    while (len && (page[len - 1] == '\n' || page[len - 1] == '\r'))
        len--;
    return len >= 5 && memcmp(page + len - 5, "# EOF", 5) == 0 &&
           (len == 5 || page[len - 6] == '\n');
}

static void judge_page(struct flight *f)
{
    curl_off_t announced = -1;
    curl_easy_getinfo(f->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    const char *other = looks_like(f->page, f->len);
    if (other)
        end(f, ADP_SCRAPE_NOT_METRICS, "%s", other);
    else if (announced >= 0 && f->arrived > (uint64_t)announced)
        end(f, ADP_SCRAPE_CUT, "%lld bytes are announced and more came",
            (long long)announced);
    else if (f->excess)
        end(f, ADP_SCRAPE_CUT, "more came behind the end of the page");
    else if (announced < 0 && !f->chunked && f->page[f->len - 1] != '\n')
        /* Closing is the only end that such an answer has; so the format's must do. */
        end(f, ADP_SCRAPE_CUT,
            "the connection was closed in the middle of a line, after %zu bytes", f->len);
    else if (f->format == ADP_PROMTEXT_OPENMETRICS && !has_eof(f->page, f->len))
        end(f, ADP_SCRAPE_CUT, "an OpenMetrics page without its # EOF, after %zu bytes",
            f->len);
    else {
        f->result.page = f->page;
        f->result.len = f->len;
        f->result.format = f->format;
        end(f, ADP_SCRAPE_FINE, "%s", "");
    }
}

/* --- curl's callbacks --- */

/* Line feeds are tolerated behind an answer, as RFC 9112, 2.2, has it. */
static bool has_excess(curl_socket_t socket)
{
    char c[16];
    ssize_t n = recv(socket, c, sizeof c, MSG_PEEK | MSG_DONTWAIT);
    for (ssize_t i = 0; i < n; i++)
        if (c[i] != '\r' && c[i] != '\n')
            return true;
    return false;
}

static void look_behind(struct flight *f, curl_socket_t socket)
{
    if (socket != CURL_SOCKET_BAD && strncasecmp(f->at->url, "https:", 6) != 0)
        f->excess |= has_excess(socket);
}

static int on_open(void *ctx, curl_socket_t socket, curlsocktype purpose)
{
    struct flight *f = ctx;
    (void)purpose;
    f->socket = socket;
    return CURL_SOCKOPT_OK;
}

/* curl closes before it says that the answer has ended. It does not say whose connection it
 * is; mostly that of who opened it. */
static int on_close(void *ctx, curl_socket_t socket)
{
    struct adp_fetch *fetch = ctx;
    for (uint32_t i = 0; i < fetch->n; i++) {
        struct flight *f = &fetch->flight[i];
        if (f->socket != socket)
            continue;
        if (f->flying)
            look_behind(f, socket);
        f->socket = CURL_SOCKET_BAD;
    }
    return close(socket);
}

/* CURLOPT_MAXFILESIZE knows announced lengths only. */
static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
    struct flight *f = ctx;
    size_t bytes = size * n;
    if (bytes > ADP_PAGE_MAX - f->len) {
        end(f, ADP_SCRAPE_TOO_BIG, "more than %u bytes", ADP_PAGE_MAX);
        return 0;
    }
    if (f->cap - f->len < bytes) {
        size_t cap = f->cap ? f->cap : FIRST_CAP;
        while (cap - f->len < bytes)
            cap *= 2;
        char *page = realloc(f->page, cap);
        if (!page) {
            end(f, ADP_SCRAPE_NO_MEMORY, "out of memory");
            return 0;
        }
        f->page = page;
        f->cap = cap;
    }
    memcpy(f->page + f->len, data, bytes);
    f->len += bytes;
    return bytes;
}

/* The value of the header `name`, or NULL. `line` is not NUL-terminated. */
static const char *header(const char *line, size_t len, const char *name, size_t *ret_len)
{
    size_t n = strlen(name);
    if (len < n || strncasecmp(line, name, n) != 0)
        return NULL;
    *ret_len = len - n;
    return line + n;
}

static bool has(const char *text, size_t len, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= len; i++)
        if (strncasecmp(text + i, word, n) == 0)
            return true;
    return false;
}

static enum adp_promtext_format declared(const char *value, size_t len)
{
    char type[64]; /* and perhaps some of its parameters, which change nothing */
    while (len && (value[len - 1] == '\r' || value[len - 1] == '\n'))
        len--;
    snprintf(type, sizeof type, "%.*s", len < sizeof type ? (int)len : 63, value);
    return adp_promtext_format(type);
}

static size_t on_head(char *data, size_t size, size_t n, void *ctx)
{
    struct flight *f = ctx;
    size_t bytes = size * n, len;
    const char *value;
    f->head += bytes;
    if (f->head > HEAD_MAX) {
        end(f, ADP_SCRAPE_NOT_HTTP, "a head of more than %d bytes", HEAD_MAX);
        return 0;
    }
    if (bytes >= 5 && memcmp(data, "HTTP/", 5) == 0) { /* of one more answer */
        f->chunked = false;
        f->format = ADP_PROMTEXT_UNSAID;
    }
    if ((value = header(data, bytes, "transfer-encoding:", &len)))
        f->chunked = has(value, len, "chunked");
    else if ((value = header(data, bytes, "content-type:", &len)))
        f->format = declared(value, len);
    return bytes;
}

/* What came as body, before curl cuts it to the announced length. Nothing is shown. */
static int on_debug(CURL *easy, curl_infotype type, char *data, size_t size, void *ctx)
{
    struct flight *f = ctx;
    (void)easy;
    if (type == CURLINFO_DATA_IN)
        f->arrived += size;
    else if (type == CURLINFO_TEXT && has(data, size, "leftovers after chunking"))
        f->excess = true;
    return 0;
}

/* --- asking --- */

/* The token, without the blanks around it. False: ended. */
static bool read_token(struct flight *f, char *to, size_t cap)
{
    const char *file = f->target->bearer_file;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, to, cap - 1);
    int number = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0) {
        end(f, ADP_SCRAPE_CREDENTIALS, "cannot read the bearer file %.150s: %s", file,
            strerror(number));
        return false;
    }
    while (n && (unsigned char)to[n - 1] <= ' ')
        n--;
    size_t start = 0;
    while (start < (size_t)n && (unsigned char)to[start] <= ' ')
        start++;
    memmove(to, to + start, (size_t)n - start);
    to[(size_t)n - start] = '\0';
    for (const char *c = to; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c > '~') {
            end(f, ADP_SCRAPE_CREDENTIALS,
                (unsigned char)*c > '~'
                    ? "the bearer file %.150s holds a byte that no token has"
                    : "the bearer file %.150s holds more than one word",
                file);
            return false;
        }
    if (!*to || strlen(to) != (size_t)n - start || (size_t)n == cap - 1) {
        end(f, ADP_SCRAPE_CREDENTIALS, "the bearer file %.150s holds no token", file);
        return false;
    }
    return true;
}

static bool add_header(struct flight *f, const char *line)
{
    struct curl_slist *more = curl_slist_append(f->headers, line);
    if (!more) {
        end(f, ADP_SCRAPE_NO_MEMORY, "out of memory");
        return false;
    }
    f->headers = more;
    return true;
}

static bool set_headers(struct flight *f)
{
    static const char lead[] = "Authorization: Bearer ";
    char line[sizeof lead + TOKEN_MAX];
    curl_slist_free_all(f->headers);
    f->headers = NULL;
    if (!add_header(f, "Accept: text/plain;version=0.0.4;q=1,*/*;q=0.1"))
        return false;
    if (f->target->bearer_file) {
        memcpy(line, lead, sizeof lead);
        bool fine =
            read_token(f, line + sizeof lead - 1, TOKEN_MAX) && add_header(f, line);
        explicit_bzero(line, sizeof line);
        if (!fine)
            return false;
    }
    return curl_easy_setopt(f->easy, CURLOPT_HTTPHEADER, f->headers) == CURLE_OK;
}

static void fly(struct adp_fetch *fetch, struct flight *f, uint64_t left_ms)
{
    f->len = f->head = 0;
    f->arrived = 0;
    f->excess = false;
    f->error[0] = '\0';
    curl_easy_setopt(f->easy, CURLOPT_TIMEOUT_MS, (long)(left_ms ? left_ms : 1));
    if (curl_multi_add_handle(fetch->multi, f->easy) == CURLM_OK)
        f->flying = true;
    else
        end(f, ADP_SCRAPE_NO_MEMORY, "out of memory");
}

static void ask(void *ctx, uint32_t target)
{
    struct adp_fetch *fetch = ctx;
    struct flight *f = &fetch->flight[target];
    f->ended = f->redirected = false;
    f->spent_us = 0;
    f->result = (struct adp_fetched) { .target = target };
    if (!set_headers(f))
        return;
    if (curl_easy_setopt(f->easy, CURLOPT_URL, f->at->url) != CURLE_OK)
        end(f, ADP_SCRAPE_NO_MEMORY, "out of memory");
    else
        fly(fetch, f, f->target->timeout_ns / 1000000u);
}

/* --- one redirect --- */

static bool same_part(CURLU *a, CURLU *b, CURLUPart part)
{
    char *x = NULL, *y = NULL;
    bool same = curl_url_get(a, part, &x, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                curl_url_get(b, part, &y, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                strcasecmp(x, y) == 0;
    curl_free(x);
    curl_free(y);
    return same;
}

static bool same_origin(const char *from, const char *to)
{
    CURLU *a = curl_url(), *b = curl_url();
    bool same = a && b && curl_url_set(a, CURLUPART_URL, from, 0) == CURLUE_OK &&
                curl_url_set(b, CURLUPART_URL, to, 0) == CURLUE_OK &&
                same_part(a, b, CURLUPART_SCHEME) && same_part(a, b, CURLUPART_HOST) &&
                same_part(a, b, CURLUPART_PORT);
    curl_url_cleanup(a);
    curl_url_cleanup(b);
    return same;
}

static void redirect(struct adp_fetch *fetch, struct flight *f, long status)
{
    char *to = NULL;
    curl_off_t us = 0;
    curl_easy_getinfo(f->easy, CURLINFO_REDIRECT_URL, &to);
    curl_easy_getinfo(f->easy, CURLINFO_TOTAL_TIME_T, &us);
    f->spent_us += us > 0 ? (uint64_t)us : 0;
    uint64_t left_ms = f->target->timeout_ns / 1000000u;
    left_ms = left_ms > f->spent_us / 1000u ? left_ms - f->spent_us / 1000u : 0;
    if (!to)
        end(f, ADP_SCRAPE_STATUS, "status %ld without a place to go to", status);
    else if (f->redirected)
        end(f, ADP_SCRAPE_REDIRECT, "status %ld, redirected a second time", status);
    else if (!same_origin(f->at->url, to))
        end(f, ADP_SCRAPE_REDIRECT,
            "status %ld, redirected to another scheme, host or port", status);
    else if (!left_ms)
        end_timeout(f);
    else if (curl_easy_setopt(f->easy, CURLOPT_URL, to) != CURLE_OK)
        end(f, ADP_SCRAPE_NO_MEMORY, "out of memory");
    else {
        f->redirected = true;
        fly(fetch, f, left_ms);
    }
}

/* --- ending --- */

static void land(struct adp_fetch *fetch, struct flight *f, CURLcode code)
{
    long status = 0;
    curl_socket_t socket = CURL_SOCKET_BAD; /* kept open */
    curl_easy_getinfo(f->easy, CURLINFO_ACTIVESOCKET, &socket);
    look_behind(f, socket);
    curl_multi_remove_handle(fetch->multi, f->easy);
    f->flying = false;
    if (f->ended) /* by a callback, which then made curl fail */
        return;
    curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK)
        end_failed(f, code);
    else if (status == 301 || status == 302 || status == 303 || status == 307 ||
             status == 308)
        redirect(fetch, f, status);
    else if (status != 200)
        end_status(f, status);
    else
        judge_page(f);
}

static void perform(struct adp_fetch *fetch)
{
    int running, left;
    struct CURLMsg *m;
    curl_multi_perform(fetch->multi, &running);
    while ((m = curl_multi_info_read(fetch->multi, &left))) {
        char *flight = NULL;
        if (m->msg != CURLMSG_DONE)
            continue;
        CURLcode code = m->data.result; /* gone with the handle */
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &flight);
        land(fetch, (struct flight *)(void *)flight, code);
    }
}

static bool any_ended(const struct adp_fetch *fetch)
{
    for (uint32_t i = 0; i < fetch->n; i++)
        if (fetch->flight[i].ended)
            return true;
    return false;
}

static void wait_for(void *ctx, uint64_t ns)
{
    struct adp_fetch *fetch = ctx;
    uint64_t ms = (ns + 999999u) / 1000000u;
    perform(fetch);
    if (any_ended(fetch))
        return;
    curl_multi_poll(fetch->multi, NULL, 0, ms > 60000 ? 60000 : (int)ms, NULL);
    perform(fetch);
}

static bool take(void *ctx, struct adp_fetched *ret)
{
    struct adp_fetch *fetch = ctx;
    for (uint32_t i = 0; i < fetch->n; i++)
        if (fetch->flight[i].ended && !fetch->flight[i].flying) {
            fetch->flight[i].ended = false;
            *ret = fetch->flight[i].result;
            return true;
        }
    return false;
}

static void wake(void *ctx)
{
    struct adp_fetch *fetch = ctx;
    curl_multi_wakeup(fetch->multi);
}

/* --- life --- */

static void set_tls(struct flight *f)
{
    const struct adp_scrape_target *t = f->target;
    if (t->ca_file)
        curl_easy_setopt(f->easy, CURLOPT_CAINFO, t->ca_file);
    if (t->cert_file)
        curl_easy_setopt(f->easy, CURLOPT_SSLCERT, t->cert_file);
    if (t->key_file)
        curl_easy_setopt(f->easy, CURLOPT_SSLKEY, t->key_file);
    if (t->insecure) {
        curl_easy_setopt(f->easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(f->easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static bool set_up(struct adp_fetch *fetch, struct flight *f)
{
    f->easy = curl_easy_init();
    if (!f->easy)
        return false;
    curl_easy_setopt(f->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(f->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(f->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(f->easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(f->easy, CURLOPT_USERAGENT, "admitperf/" ADP_VERSION);
    curl_easy_setopt(f->easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)ADP_PAGE_MAX);
    curl_easy_setopt(f->easy, CURLOPT_ERRORBUFFER, f->error);
    curl_easy_setopt(f->easy, CURLOPT_PRIVATE, (void *)f);
    curl_easy_setopt(f->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(f->easy, CURLOPT_WRITEDATA, (void *)f);
    curl_easy_setopt(f->easy, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(f->easy, CURLOPT_HEADERDATA, (void *)f);
    curl_easy_setopt(f->easy, CURLOPT_DEBUGFUNCTION, on_debug);
    curl_easy_setopt(f->easy, CURLOPT_DEBUGDATA, (void *)f);
    curl_easy_setopt(f->easy, CURLOPT_VERBOSE, 1L); /* or on_debug is not called */
    f->socket = CURL_SOCKET_BAD;
    curl_easy_setopt(f->easy, CURLOPT_SOCKOPTFUNCTION, on_open);
    curl_easy_setopt(f->easy, CURLOPT_SOCKOPTDATA, (void *)f);
    curl_easy_setopt(f->easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(f->easy, CURLOPT_CLOSESOCKETDATA, (void *)fetch);
    if (f->at->socket[0])
        curl_easy_setopt(f->easy, CURLOPT_UNIX_SOCKET_PATH, f->at->socket);
    set_tls(f);
    return true;
}

int adp_fetch_create(struct adp_fetch **ret, const struct adp_scrape_target *targets,
                     const struct adp_address *at, uint32_t n, struct adp_error *err)
{
    /* Counted by curl, and safe in threads since 7.84. */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return adp_error_set(err, ADP_EIO, "libcurl cannot be used");
    struct adp_fetch *fetch = calloc(1, sizeof *fetch);
    if (!fetch) {
        curl_global_cleanup();
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    fetch->wire = (struct adp_wire) { fetch, ask, wait_for, take, wake };
    fetch->multi = curl_multi_init();
    fetch->flight = calloc(n, sizeof *fetch->flight);
    bool fine = fetch->multi && fetch->flight;
    for (uint32_t i = 0; fine && i < n; i++) {
        fetch->flight[i].target = &targets[i];
        fetch->flight[i].at = &at[i];
        fetch->n = i + 1;
        fine = set_up(fetch, &fetch->flight[i]);
    }
    if (!fine) {
        adp_fetch_destroy(fetch);
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    *ret = fetch;
    return 0;
}

void adp_fetch_destroy(struct adp_fetch *fetch)
{
    if (!fetch)
        return;
    for (uint32_t i = 0; i < fetch->n; i++) {
        struct flight *f = &fetch->flight[i];
        if (f->flying)
            curl_multi_remove_handle(fetch->multi, f->easy);
        curl_easy_cleanup(f->easy);
        curl_slist_free_all(f->headers);
        free(f->page);
    }
    curl_multi_cleanup(fetch->multi); /* closes what is kept: on_close */
    free(fetch->flight);
    free(fetch);
    curl_global_cleanup();
}

const struct adp_wire *adp_fetch_wire(const struct adp_fetch *fetch)
{
    return &fetch->wire;
}
