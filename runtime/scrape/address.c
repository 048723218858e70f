/* SPDX-License-Identifier: MIT */
/* Where a page is (address.h). */
#include "runtime/scrape/address.h"

#include "core/veil.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define EXPECTED "expected http://HOST:PORT/metrics, https://HOST or unix:/SOCKET"

/* Schemes may be written in any case (RFC 3986, 3.1). */
static const char *behind(const char *text, const char *start)
{
    size_t n = strlen(start);
    return strncasecmp(text, start, n) == 0 ? text + n : NULL;
}

bool adp_address_is(const char *text)
{
    return strstr(text, "://") || behind(text, "unix:/");
}

/* Only what may stand in an address: curl would send the rest as it is, and a line feed
 * would end our request. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text > '~')
            return false;
    return true;
}

static int read_unix(const char *rest, struct adp_address *ret, struct adp_error *err)
{
    const char *colon = strchr(rest, ':');
    size_t len = colon ? (size_t)(colon - rest) : strlen(rest);
    const char *path = colon ? colon + 1 : "/metrics";
    if (*rest != '/' || len < 2 || len > ADP_SOCKET_MAX)
        return adp_error_set(err, ADP_EINVAL,
                             "not a unix socket's path, expected 2 to %d bytes that "
                             "begin with /",
                             ADP_SOCKET_MAX);
    if (*path != '/')
        return adp_error_set(err, ADP_EINVAL,
                             "what follows the socket is not a path, expected "
                             "unix:/SOCKET:/PATH");
    struct adp_address at;
    memcpy(at.socket, rest, len);
    at.socket[len] = '\0';
    snprintf(at.url, sizeof at.url, "http://localhost%s", path);
    snprintf(at.shown, sizeof at.shown, "unix:%s:%s", at.socket, path);
    *ret = at;
    return 0;
}

/* HOST, [ADDRESS] and perhaps :PORT, up to `end`: what is wrong, or NULL. */
static const char *wrong_with(const char *host, const char *end)
{
    const char *colon = memchr(host, ':', (size_t)(end - host));
    unsigned long port = 0;
    if (*host == '[') {
        const char *bracket = memchr(host, ']', (size_t)(end - host));
        if (!bracket)
            return "an address in brackets that are not closed, " EXPECTED;
        if (bracket == host + 1 || (bracket + 1 < end && bracket[1] != ':'))
            return "an address in brackets that is none, " EXPECTED;
        colon = bracket + 1 < end ? bracket + 1 : NULL;
    }
    if (!colon)
        return NULL;
    for (const char *c = colon + 1; c < end; c++) {
        if (*c < '0' || *c > '9')
            return "a port that is no number, " EXPECTED;
        port = port < 100000 ? port * 10 + (unsigned)(*c - '0') : port;
    }
    return port < 1 || port > 65535 ? "a port that is none, expected 1 to 65535" : NULL;
}

/* `host`: what follows the scheme of `len` bytes. */
static int read_http(const char *text, size_t len, struct adp_address *ret,
                     struct adp_error *err)
{
    const char *host = text + len;
    size_t name = strcspn(host, "/?#");
    const char *rest = host + name;
    const char *bare = host; /* behind user and password */
    for (const char *c = host; c < rest; c++)
        if (*c == '@')
            bare = c + 1;
    if (bare == rest || *bare == ':')
        return adp_error_set(err, ADP_EINVAL, "an address without a host, " EXPECTED);
    const char *wrong = wrong_with(bare, rest);
    if (wrong)
        return adp_error_set(err, ADP_EINVAL, "%s", wrong);
    const char *path = *rest == '/' ? "" : "/metrics";
    struct adp_address at = { .socket = "" };
    snprintf(at.url, sizeof at.url, "%.*s%s%s", (int)(rest - text), text, path, rest);
    snprintf(at.shown, sizeof at.shown, "%.*s%.*s%s%s", (int)len, text,
             (int)(rest - bare), bare, path, rest);
    *ret = at;
    return 0;
}

int adp_address_read(const char *text, struct adp_address *ret, struct adp_error *err)
{
    if (strlen(text) > ADP_ADDRESS_MAX)
        return adp_error_set(err, ADP_EINVAL, "an address of more than %d bytes",
                             ADP_ADDRESS_MAX);
    if (!is_plain(text))
        return adp_error_set(err, ADP_EINVAL,
                             "an address with a blank, a control byte or a byte that is "
                             "not ASCII: write it as %%xx");
    struct adp_address at;
    int code;
    if (behind(text, "unix:"))
        code = read_unix(behind(text, "unix:"), &at, err);
    else if (behind(text, "http://"))
        code = read_http(text, strlen("http://"), &at, err);
    else if (behind(text, "https://"))
        code = read_http(text, strlen("https://"), &at, err);
    else
        code = adp_error_set(err, ADP_EINVAL, "not an address, " EXPECTED);
    if (code < 0)
        return code;
    *ret = at;
    adp_veil(at.shown, ret->shown, sizeof ret->shown);
    return 0;
}
