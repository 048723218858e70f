/* SPDX-License-Identifier: MIT */
/* How a page ends (ending.h).
 *
 *  1. Three ways over the page and no more, whatever is on it: linear.
 *  2. Nothing is written to it before it is known that something is left. */
#include "runtime/scrape/ending.h"

#include "core/promtext.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct text {
    const char *p;
    size_t n;
};

static bool is_same(struct text a, struct text b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* --- lines --- */

/* The line that ends in front of `end`, which is not the start of the page. */
static struct text line_before(const char *page, const char *end)
{
    const char *p = end;
    while (p > page && p[-1] != '\n')
        p--;
    return (struct text) { p, (size_t)(end - p) };
}

/* The line that begins at `p`, without its newline. */
static struct text line_at(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return (struct text) { p, (size_t)((newline ? newline : end) - p) };
}

static struct text without_blanks(struct text l)
{
    while (l.n && is_blank(*l.p)) {
        l.p++;
        l.n--;
    }
    while (l.n && (is_blank(l.p[l.n - 1]) || l.p[l.n - 1] == '\r'))
        l.n--;
    return l;
}

/* --- names: as they are read, bare or in quotes --- */

/* From behind a quote to the next one, or `end`. */
static const char *string_end(const char *p, const char *end)
{
    while (p < end && *p != '"')
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p;
}

/* Among the labels the string that is neither a label's name nor its value. */
static struct text name_in_braces(struct text l)
{
    const char *p = l.p + 1, *end = l.p + l.n;
    bool assigned = false;
    for (; p < end && *p != '}'; p++) {
        if (*p != '"') {
            assigned = *p == '=' || (assigned && is_blank(*p));
            continue;
        }
        const char *from = p + 1, *behind;
        p = string_end(from, end);
        for (behind = p < end ? p + 1 : end; behind < end && is_blank(*behind);)
            behind++;
        if (!assigned && (behind == end || *behind != '='))
            return (struct text) { from, (size_t)(p - from) };
        assigned = false;
        if (p == end)
            break;
    }
    return (struct text) { end, 0 };
}

static struct text name_of(struct text l)
{
    size_t n = 0;
    if (l.n && *l.p == '{')
        return name_in_braces(l);
    while (n < l.n && !is_blank(l.p[n]) && l.p[n] != '{')
        n++;
    return (struct text) { l.p, n };
}

/* It has come as far as into its value: `l` ends in no blank. */
static bool is_sample(struct text l)
{
    const char *p = l.p, *end = l.p + l.n;
    while (p < end && !is_blank(*p) && *p != '{')
        p++;
    while (p < end && is_blank(*p))
        p++;
    for (bool labels = p < end && *p == '{'; labels && p < end; p++) {
        labels = *p != '}';
        if (*p == '"' && (p = string_end(p + 1, end)) == end)
            break;
    }
    return *l.p != '#' && p < end;
}

enum { SUFFIXES = 5 };
static const char *const suffixes[SUFFIXES] = { "_bucket", "_sum", "_count", "_created",
                                                "_total" };

/* Without what tells the series of one histogram or counter apart. */
static struct text family_of(struct text name)
{
    for (size_t i = 0; i < SUFFIXES; i++) {
        size_t n = strlen(suffixes[i]);
        if (name.n > n && memcmp(name.p + name.n - n, suffixes[i], n) == 0)
            return (struct text) { name.p, name.n - n };
    }
    return name;
}

/* --- the families of a page --- */

enum { MOST_SLOTS = 1 << 17 }; /* twice as many as series are taken of a page */

struct family {
    struct text name;  /* n 0: free */
    const char *first; /* its first line */
    uint32_t lines;
    bool found; /* from behind: its last line was */
    bool out;
};

struct families {
    struct family *slot; /* owned */
    size_t slots, n;     /* slots: a power of two */
    uint32_t lines;      /* of those that are not left out */
    bool mixed;          /* the page came back to one */
};

static struct family *slot_of(const struct families *f, struct text name)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ (unsigned char)name.p[i]) * UINT64_C(1099511628211);
    size_t at = (size_t)(hash ^ hash >> 32) & (f->slots - 1);
    while (f->slot[at].name.n && !is_same(f->slot[at].name, name))
        at = (at + 1) & (f->slots - 1);
    return &f->slot[at];
}

/* The family of the line's sample; NULL: it has none, or one without a name. */
static struct family *family_at(const struct families *f, struct text line,
                                struct text *ret_name)
{
    struct text text = without_blanks(line);
    if (!text.n || *text.p == '#')
        return NULL;
    *ret_name = family_of(name_of(text));
    return ret_name->n ? slot_of(f, *ret_name) : NULL;
}

/* False: no memory, or more than a page may have. */
static bool families_init(struct families *f, const char *page, const char *end)
{
    size_t lines = 0;
    const struct family *before = NULL;
    for (const char *p = page; p < end; p += line_at(p, end).n + 1)
        lines++;
    *f = (struct families) { .slots = 16 };
    while (f->slots < MOST_SLOTS && f->slots < 2 * lines)
        f->slots *= 2;
    f->slot = calloc(f->slots, sizeof *f->slot);
    for (const char *p = page; f->slot && p < end;) {
        struct text line = line_at(p, end), name;
        struct family *family = family_at(f, line, &name);
        p = line.p + line.n + 1;
        if (!family)
            continue;
        f->mixed |= family->name.n && family != before;
        if (!family->name.n) {
            *family = (struct family) { .name = name, .first = line.p };
            f->n++;
        }
        family->lines++;
        f->lines++;
        before = family;
        if (f->n > f->slots / 2)
            return false;
    }
    return f->slot != NULL;
}

/* The last line's, and each that has behind its own last line one of a family that began
 * before it: the page came back to that, and would have come back to this. */
static void leave_out(struct families *f, const char *page, const char *end)
{
    const char *began = end; /* the first of those behind */
    bool last = true;
    while (end > page) {
        struct text line = line_before(page, end), name;
        struct family *family = family_at(f, line, &name);
        end = line.p > page ? line.p - 1 : page;
        if (!family)
            continue;
        if (!family->found && (last || began < family->first)) {
            family->out = true;
            f->lines -= family->lines;
        }
        family->found = true;
        last = false;
        if (family->first < began)
            began = family->first;
    }
}

/* Lines keep their numbers. From behind, since a family is known by the text of its first line.
 * Returns how many samples are left out. */
static uint32_t blank(const struct families *f, char *page, const char *end)
{
    uint32_t n = 0;
    while (end > page) {
        struct text line = line_before(page, end), name;
        const struct family *family = family_at(f, line, &name);
        end = line.p > page ? line.p - 1 : page;
        if (family && family->out) {
            memset(page + (line.p - page), ' ', line.n);
            n++;
        }
    }
    return n;
}

size_t adp_page_ending(char *page, size_t len, uint32_t *ret_lines)
{
    *ret_lines = 0;
    if (!len || page[len - 1] == '\n' || adp_promtext_is_foreign(page, len))
        return len;
    char *from = page + (len >= 3 && memcmp(page, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    const char *end = page + len;
    struct text last = line_before(from, end), text = without_blanks(last);
    if (is_same(text, (struct text) { "# EOF", 5 }))
        return len;
    if (text.n && !is_sample(text))
        return 0;
    struct families families;
    bool read = families_init(&families, from, end);
    size_t left = 0;
    if (read && !text.n)
        left = families.mixed ? 0 : len;
    else if (read) {
        leave_out(&families, from, end);
        if (families.lines) {
            *ret_lines = 1 + blank(&families, from, last.p > from ? last.p - 1 : from);
            left = (size_t)(last.p - page);
        }
    }
    free(families.slot);
    return left;
}

size_t adp_page_ended(const char *page, size_t len)
{
    size_t n = len;
    while (n && page[n - 1] != '\n')
        n--;
    return n ? n : len;
}
