/* SPDX-License-Identifier: MIT */
/* How a page ends (ending.h). */
#include "runtime/scrape/ending.h"

#include <stdbool.h>
#include <string.h>

struct line {
    const char *p;
    size_t n;
};

/* The line that ends in front of `end`, which is not the start of the page. */
static struct line line_before(const char *page, const char *end)
{
    const char *p = end;
    while (p > page && p[-1] != '\n')
        p--;
    return (struct line) { p, (size_t)(end - p) };
}

static struct line without_blanks(struct line l)
{
    while (l.n && (*l.p == ' ' || *l.p == '\t')) {
        l.p++;
        l.n--;
    }
    while (l.n && (l.p[l.n - 1] == ' ' || l.p[l.n - 1] == '\t' || l.p[l.n - 1] == '\r'))
        l.n--;
    return l;
}

/* The name a sample begins with, quotes and all; *ret_whole: something follows it. */
static struct line name_of(struct line l, bool *ret_whole)
{
    const char *ends = l.n && *l.p == '{' ? ",}" : " \t{";
    size_t n = 0;
    while (n < l.n && !memchr(ends, l.p[n], strlen(ends)))
        n++;
    *ret_whole = n < l.n;
    return (struct line) { l.p, n };
}

enum { SUFFIXES = 5 };
static const char *const suffixes[SUFFIXES] = { "_bucket", "_sum", "_count", "_created",
                                                "_total" };

/* Without what tells the series of one histogram or counter apart. */
static struct line family_of(struct line name)
{
    size_t quote = name.n && name.p[name.n - 1] == '"';
    for (size_t i = 0; i < SUFFIXES; i++) {
        size_t n = strlen(suffixes[i]);
        if (name.n > n + quote &&
            memcmp(name.p + name.n - quote - n, suffixes[i], n) == 0)
            return (struct line) { name.p, name.n - quote - n };
    }
    name.n -= quote;
    return name;
}

/* A name that was cut may have been any that begins with it. */
static bool is_kin(struct line name, struct line cut, bool whole)
{
    struct line a = family_of(name), b = family_of(cut);
    if (a.n == b.n && memcmp(a.p, b.p, a.n) == 0)
        return true;
    if (whole)
        return false;
    if (cut.n <= a.n)
        return memcmp(a.p, cut.p, cut.n) == 0;
    for (size_t i = 0; memcmp(cut.p, a.p, a.n) == 0 && i < SUFFIXES; i++)
        if (cut.n - a.n <= strlen(suffixes[i]) &&
            memcmp(suffixes[i], cut.p + a.n, cut.n - a.n) == 0)
            return true;
    return false;
}

size_t adp_page_ending(const char *page, size_t len, uint32_t *ret_lines)
{
    bool whole, ignored;
    *ret_lines = 0;
    if (!len || page[len - 1] == '\n')
        return len;
    struct line last = line_before(page, page + len), text = without_blanks(last);
    if (!text.n || (text.n == 5 && memcmp(text.p, "# EOF", 5) == 0))
        return len;
    const char *end = last.p;
    if (*text.p == '#') /* a comment: the sample before it was ended */
        return (size_t)(end - page);
    struct line cut = name_of(text, &whole);
    *ret_lines = 1;
    while (end > page) {
        struct line l = line_before(page, end - 1), name = without_blanks(l);
        if (name.n && (*name.p == '#' || !is_kin(name_of(name, &ignored), cut, whole)))
            break;
        *ret_lines += name.n > 0;
        end = l.p;
    }
    return (size_t)(end - page);
}
