/* SPDX-License-Identifier: MIT */
/* Addresses without their secrets (veil.h). */
#include "core/veil.h"

#include <stdbool.h>
#include <string.h>

struct veiled {
    char *to;
    size_t n, cap;
};

static void put(struct veiled *v, const char *text, size_t n)
{
    if (n > v->cap - 1 - v->n)
        n = v->cap - 1 - v->n;
    memcpy(v->to + v->n, text, n);
    v->n += n;
    v->to[v->n] = '\0';
}

static const char *find(const char *from, const char *end, char c)
{
    return from < end ? memchr(from, c, (size_t)(end - from)) : NULL;
}

static const char *find_last(const char *from, const char *end, char c)
{
    return from < end ? memrchr(from, c, (size_t)(end - from)) : NULL;
}

/* Whatever its case. `word` is of lower-case letters. */
static bool is_word(const char *text, const char *word)
{
    while (*word && (*text | 0x20) == *word)
        text++, word++;
    return !*word;
}

/* Behind the scheme, however it is spelt; the start when there is none. */
static const char *authority(const char *text, const char *end)
{
    static const char *const schemes[] = { "http", "https", "unix" };
    const char *colon = find(text, end, ':'), *p = text;
    if (!colon)
        return text;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strlen(schemes[i]) == (size_t)(colon - text) && is_word(text, schemes[i]))
            p = colon + 1;
    if (end - colon > 2 && colon[1] == '/' && colon[2] == '/')
        p = colon + 1;
    while (p > text && p < end && *p == '/')
        p++;
    return p;
}

/* What stands for a port, and is none: a password whose @ was cut off. */
static const char *no_port(const char *host, const char *end)
{
    const char *bracket = end > host && *host == '[' ? find(host, end, ']') : NULL;
    const char *colon = find(bracket ? bracket : host, end, ':'), *p;
    if (!colon)
        return NULL;
    p = colon + 1;
    /* Our own way to say what is expected. */
    if (end - p >= 4 && memcmp(p, "PORT", 4) == 0)
        p += 4;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        continue;
    return p == end || *p == '/' || *p == '?' || *p == '#' ? NULL : colon + 1;
}

/* A query or fragment behind the start of a path or a port. */
static const char *query(const char *from, const char *end, bool address)
{
    for (const char *p = from; p < end; p++)
        if ((*p == '?' || *p == '#') && p + 1 < end &&
            (address || find(from, p, '/') || find(from, p, ':')))
            return p;
    return NULL;
}

/* Nothing but what we put there: "?...", and perhaps "#2"; and a sentence's colon. */
static bool was_veiled(const char *rest, const char *end)
{
    if (end - rest < 4 || memcmp(rest + 1, "...", 3) != 0)
        return false;
    rest += 4;
    if (rest < end && *rest == '#')
        for (rest++; rest < end && *rest >= '0' && *rest <= '9'; rest++)
            continue;
    return rest == end || (rest + 1 == end && *rest == ':');
}

static void put_veiled(struct veiled *v, const char *text, const char *end)
{
    const char *host = authority(text, end), *at = find_last(host, end, '@');
    bool address = host > text;
    const char *colon = find(host, end, ':'), *slash = find(host, end, '/');
    put(v, text, (size_t)(host - text));
    if (at && (address || colon || slash)) {
        put(v, "...", 3);
        host = at;
        address = true;
    } else if (address && host - text > 3 && memcmp(host - 3, "://", 3) == 0 &&
               (at = no_port(host, end))) {
        put(v, host, (size_t)(at - host));
        put(v, "...", 3);
        return;
    }
    const char *rest = query(host, end, address);
    put(v, host, (size_t)((rest ? rest : end) - host));
    if (rest && was_veiled(rest, end))
        put(v, rest, (size_t)(end - rest));
    else if (rest) {
        put(v, rest, 1);
        put(v, "...", 3);
    }
}

void adp_veil(const char *text, char *to, size_t cap)
{
    struct veiled v = { to, 0, cap };
    *to = '\0';
    put_veiled(&v, text, text + strlen(text));
}

/* Where the quoted word ends: at a quote that something of ours follows. Any other is the
 * word's own. */
static size_t quoted_length(const char *text)
{
    size_t n = 0;
    while (text[n] &&
           (text[n] != '"' || (text[n + 1] && !strchr(" \t\n,.;:)?", text[n + 1]))))
        n++;
    return n;
}

void adp_veil_words(const char *text, char *to, size_t cap)
{
    struct veiled v = { to, 0, cap };
    *to = '\0';
    for (bool quoted = false; *text; text++) {
        size_t n = quoted ? quoted_length(text) : strcspn(text, " \t\n\"");
        bool ours = !quoted && n && strchr(":,;", text[n - 1]); /* not the word's */
        put_veiled(&v, text, text + n - ours);
        text += n - ours;
        put(&v, text, ours);
        text += ours;
        if (!*text)
            return;
        put(&v, text, 1);
        quoted ^= *text == '"';
    }
}
