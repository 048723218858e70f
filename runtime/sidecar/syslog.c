/* SPDX-License-Identifier: MIT */
/* Syslog's header (syslog.h). RFC 5424 6, RFC 3164 4.1.
 *
 * The older form is only a habit (date, host and tag may each be missing), but none of its
 * parts can hold a brace, so the message begins at the first. In the newer one structured
 * data may hold anything, and is walked. */
#include "runtime/sidecar/syslog.h"

#include <string.h>

/* "<0>" to "<191>"; 0: none there. */
static size_t priority(const char *p, size_t len)
{
    size_t at = 1;
    if (len < 3 || p[0] != '<')
        return 0;
    while (at < len && at < 4 && p[at] >= '0' && p[at] <= '9')
        at++;
    return at > 1 && at < len && p[at] == '>' ? at + 1 : 0;
}

/* Behind the next n words; len: they are not all there. */
static size_t words(const char *p, size_t len, size_t at, int n)
{
    while (n-- && at < len) {
        const char *blank = memchr(p + at, ' ', len - at);
        at = blank ? (size_t)(blank - p) + 1 : len;
    }
    return at;
}

/* Behind "-" or "[id name="value"]…"; len: it does not end. */
static size_t structured(const char *p, size_t len, size_t at)
{
    if (at < len && p[at] == '-')
        return at + 1;
    bool inside = false, quoted = false;
    for (; at < len && (inside || p[at] == '['); at++) {
        if (!inside)
            inside = true;
        else if (quoted && p[at] == '\\')
            at++;
        else if (p[at] == '"')
            quoted = !quoted;
        else if (p[at] == ']' && !quoted)
            inside = false;
    }
    return at < len ? at : len;
}

bool adp_syslog_body(const char **text, size_t *len)
{
    const char *p = *text;
    size_t n = *len, at = priority(p, n);
    if (at && n - at > 2 && p[at] == '1' && p[at + 1] == ' ') {
        /* VERSION TIMESTAMP HOSTNAME APP-NAME PROCID MSGID */
        at = structured(p, n, words(p, n, at, 6));
        while (at < n && p[at] != '{' && strchr(" \xef\xbb\xbf", p[at]) && p[at])
            at++;
    } else if (at) {
        const char *brace = memchr(p + at, '{', n - at);
        at = brace ? (size_t)(brace - p) : n;
    } else
        while (at < n &&
               (p[at] == ' ' || p[at] == '\n' || p[at] == '\r' || p[at] == '\t'))
            at++;
    if (at >= n || p[at] != '{')
        return false;
    *text = p + at;
    *len = n - at;
    return true;
}
