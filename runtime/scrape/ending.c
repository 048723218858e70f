/* SPDX-License-Identifier: MIT */
/* How a page ends (ending.h).
 *
 *  1. So many ways over the page and no more, whatever is on it: linear. Nothing is allocated
 *     but where it comes back to a name (struct families).
 *  2. Whatever is doubtful is left out: a name that was cut is any that begins with it. */
#include "runtime/scrape/ending.h"

#include "core/promtext.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct text {
    const char *p;
    size_t n;
};

/* What the last line is about. */
struct cut {
    struct text name;
    bool whole;  /* else it may be any name that begins so */
    bool header; /* a header's: of a family that has lines yet to come */
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
static struct text name_in_braces(struct text l, bool *ret_whole)
{
    const char *p = l.p + 1, *end = l.p + l.n;
    bool assigned = false;
    *ret_whole = false;
    for (; p < end && *p != '}'; p++) {
        if (*p != '"') {
            assigned = *p == '=' || (assigned && is_blank(*p));
            continue;
        }
        const char *from = p + 1, *behind;
        p = string_end(from, end);
        for (behind = p < end ? p + 1 : end; behind < end && is_blank(*behind);)
            behind++;
        if (!assigned && (behind == end || *behind != '=')) {
            *ret_whole = p < end;
            return (struct text) { from, (size_t)(p - from) };
        }
        assigned = false;
        if (p == end)
            break;
    }
    *ret_whole = p < end;
    return (struct text) { end, 0 };
}

/* The name of a sample; *ret_whole: it does not end with the line. */
static struct text name_of(struct text l, bool *ret_whole)
{
    size_t n = 0;
    if (l.n && *l.p == '{')
        return name_in_braces(l, ret_whole);
    while (n < l.n && !is_blank(l.p[n]) && l.p[n] != '{')
        n++;
    *ret_whole = n < l.n;
    return (struct text) { l.p, n };
}

/* The family that a HELP, TYPE or UNIT is of; empty when the comment is none of these. */
static struct text header_of(struct text l, bool *ret_whole)
{
    static const char *const words[] = { "HELP", "TYPE", "UNIT" };
    const char *p = l.p + 1, *end = l.p + l.n, *from;
    bool known = false;
    while (p < end && is_blank(*p))
        p++;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        known |= end - p > 4 && memcmp(p, words[i], 4) == 0 && is_blank(p[4]);
    *ret_whole = false;
    if (!known)
        return (struct text) { end, 0 };
    for (p += 4; p < end && is_blank(*p);)
        p++;
    bool quoted = p < end && *p == '"';
    from = p + quoted;
    if (quoted)
        p = string_end(from, end);
    else
        while (p < end && !is_blank(*p))
            p++;
    *ret_whole = p < end;
    return (struct text) { from, (size_t)(p - from) };
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

/* `cut` may have become the family with one of the suffixes. */
static bool begins_suffixed(struct text cut, struct text family)
{
    if (cut.n <= family.n || memcmp(cut.p, family.p, family.n) != 0)
        return false;
    for (size_t i = 0; i < SUFFIXES; i++)
        if (cut.n - family.n <= strlen(suffixes[i]) &&
            memcmp(suffixes[i], cut.p + family.n, cut.n - family.n) == 0)
            return true;
    return false;
}

static bool is_kin(struct text name, const struct cut *cut)
{
    struct text a = family_of(name);
    if (cut->header && cut->whole)
        return is_same(name, cut->name) || is_same(a, cut->name);
    if (is_same(a, family_of(cut->name)))
        return true;
    if (cut->whole)
        return false;
    if (cut->name.n <= name.n && memcmp(name.p, cut->name.p, cut->name.n) == 0)
        return true;
    return begins_suffixed(cut->name, a);
}

/* It stands there again, and not beside a relative of another name. */
static bool is_repeated(struct text name, const struct cut *cut)
{
    return cut->header || !cut->whole ? is_kin(name, cut) : is_same(name, cut->name);
}

/* --- the families of a page's begin --- */

enum { MOST_SLOTS = 1 << 17 }; /* twice as many as series are taken of a page */

struct families {
    struct text *slot; /* n 0: free */
    size_t slots, n;   /* slots: a power of two */
};

static struct text *slot_of(const struct families *f, struct text family)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (size_t i = 0; i < family.n; i++)
        hash = (hash ^ (unsigned char)family.p[i]) * UINT64_C(1099511628211);
    size_t at = (size_t)(hash ^ hash >> 32) & (f->slots - 1);
    while (f->slot[at].n && !is_same(f->slot[at], family))
        at = (at + 1) & (f->slots - 1);
    return &f->slot[at];
}

/* False: no memory, or more than a page may have. */
static bool families_init(struct families *f, const char *page, const char *end)
{
    size_t lines = 0;
    bool ignored;
    for (const char *p = page; p < end; p += line_at(p, end).n + 1)
        lines++;
    *f = (struct families) { .slots = 16 };
    while (f->slots < MOST_SLOTS && f->slots < 2 * lines)
        f->slots *= 2;
    f->slot = calloc(f->slots, sizeof *f->slot);
    if (!f->slot)
        return false;
    for (const char *p = page; p < end;) {
        struct text l = line_at(p, end), text = without_blanks(l);
        p = l.p + l.n + 1;
        if (!text.n || *text.p == '#')
            continue;
        struct text family = family_of(name_of(text, &ignored));
        struct text *slot = slot_of(f, family);
        f->n += !slot->n && family.n;
        *slot = family;
        if (f->n > f->slots / 2)
            return false;
    }
    return true;
}

/* --- the page --- */

/* What of the page stands in front of `end`, which is where a line begins. */
struct rest {
    const char *again; /* the first line of the name that was cut; NULL: none */
    bool kin;          /* lines of its family */
    bool others;       /* lines of other families */
    bool mixed;        /* such behind `again` */
};

static struct rest look(const char *page, const char *end, const struct cut *cut)
{
    struct rest rest = { 0 };
    bool ignored;
    for (const char *p = page; p < end;) {
        struct text l = line_at(p, end), text = without_blanks(l);
        p = l.p + l.n + 1;
        if (!text.n || *text.p == '#')
            continue;
        struct text name = name_of(text, &ignored);
        bool kin = is_kin(name, cut);
        rest.kin |= kin;
        rest.others |= !kin;
        rest.mixed |= !kin && rest.again;
        if (!rest.again && is_repeated(name, cut))
            rest.again = l.p;
    }
    return rest;
}

/* Blanks the lines of its family, and of those that `before` has not when it is given; line
 * numbers stay. Returns how many; *ret_left: others are left. */
static uint32_t blank(char *page, const char *end, const struct cut *cut,
                      const struct rest *rest, const struct families *before,
                      bool *ret_left)
{
    uint32_t n = 0;
    bool ignored;
    *ret_left = false;
    for (char *p = page; p < end;) {
        struct text l = line_at(p, end), text = without_blanks(l);
        char *at = p;
        p += l.n + 1;
        if (!text.n || *text.p == '#')
            continue;
        struct text name = name_of(text, &ignored);
        if (is_kin(name, cut) ||
            (before && l.p > rest->again && !slot_of(before, family_of(name))->n)) {
            memset(at, ' ', l.n);
            n++;
        } else
            *ret_left = true;
    }
    return n;
}

/* Leaves out what of the family stands in front of `end`. Returns how much of the page is
 * left. A page that comes back to a name is several, one behind the other: what the first has
 * only behind that name may lack its line in the last. */
static size_t leave_out(char *page, size_t end, const struct cut *cut, uint32_t *lines)
{
    struct rest rest = look(page, page + end, cut);
    struct families before = { 0 };
    bool left = rest.others;
    if (left && rest.kin) {
        if (rest.mixed && !families_init(&before, page, rest.again))
            left = false;
        else
            *lines +=
                blank(page, page + end, cut, &rest, rest.mixed ? &before : NULL, &left);
        free(before.slot);
    }
    return left || (!rest.kin && !*lines) ? end : 0;
}

/* A header that stands right in front of a name that was cut says what the name is. */
static void ask_header(const char *page, const char *end, struct cut *cut)
{
    bool whole;
    while (end > page) {
        struct text l = line_before(page, end - 1), text = without_blanks(l);
        end = l.p;
        if (!text.n)
            continue;
        struct text name =
            *text.p == '#' ? header_of(text, &whole) : (struct text) { text.p, 0 };
        if (name.n &&
            ((cut->name.n <= name.n && memcmp(name.p, cut->name.p, cut->name.n) == 0) ||
             begins_suffixed(cut->name, name))) {
            cut->name = name;
            cut->whole = true;
        }
        return;
    }
}

size_t adp_page_ending(char *page, size_t len, uint32_t *ret_lines)
{
    struct cut cut = { 0 };
    *ret_lines = 0;
    if (!len || page[len - 1] == '\n')
        return len;
    struct text last = line_before(page, page + len), text = without_blanks(last);
    if (!text.n || is_same(text, (struct text) { "# EOF", 5 }) ||
        adp_promtext_is_foreign(page, len))
        return len;
    const char *end = last.p;
    cut.header = *text.p == '#';
    cut.name = cut.header ? header_of(text, &cut.whole) : name_of(text, &cut.whole);
    if (cut.header && !cut.name.n)
        return (size_t)(end - page);
    if (!cut.header && !cut.whole)
        ask_header(page, end, &cut);
    uint32_t lines = !cut.header;
    while (end > page) { /* mostly they stand together */
        struct text l = line_before(page, end - 1), before = without_blanks(l);
        bool ignored;
        if (before.n && (*before.p == '#' || !is_kin(name_of(before, &ignored), &cut)))
            break;
        lines += before.n > 0;
        end = l.p;
    }
    size_t left = leave_out(page, (size_t)(end - page), &cut, &lines);
    *ret_lines = lines;
    return left;
}
