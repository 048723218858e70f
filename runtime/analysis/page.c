/* SPDX-License-Identifier: MIT */
/* Text pages. Log text is UTF-8 already; what is escaped is what a terminal obeys. */
#include "runtime/analysis/page.h"

#include "core/error.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static struct adp_digits number(const char *format, double value)
{
    struct adp_digits digits = { "--" };
    if (!isnan(value))
        snprintf(digits.text, sizeof digits.text, format, value);
    return digits;
}

struct adp_digits adp_page_number(double value)
{
    double size = fabs(value);
    bool whole = value == floor(value);
    return number(size < 1e7 && (whole || size >= 1000) ? "%.0f" : "%.3g", value);
}

struct adp_digits adp_page_exact(double value)
{
    return number("%.10g", value);
}

struct adp_digits adp_page_percent(double share)
{
    return number("%.1f%%", 100 * share);
}

struct adp_digits adp_page_share(double share)
{
    return number("%.3f", share);
}

/* C0, DEL, and C1 in its UTF-8 form; newlines are the formats' own. */
static bool drives_terminal(const unsigned char *s)
{
    return (s[0] < 0x20 && s[0] != '\n') || s[0] == 0x7f ||
           (s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f);
}

/* The text with such bytes as \xNN, allocated; NULL when memory is out. */
static char *plain(const char *format, va_list args)
{
    char *text;
    if (vasprintf(&text, format, args) < 0)
        return NULL;
    char *to = malloc(4 * strlen(text) + 1), *at = to;
    for (const unsigned char *s = (unsigned char *)text; to && *s; s++) {
        if (!drives_terminal(s)) {
            *at++ = (char)*s;
            continue;
        }
        int n = s[0] == 0xc2 ? 2 : 1;
        for (int i = 0; i < n; i++)
            at += snprintf(at, 5, "\\x%02x", s[i]);
        s += n - 1;
    }
    if (to)
        *at = '\0';
    free(text);
    return to;
}

/* Columns: code points, which is right but for wide and combining ones. */
static int columns(const char *s, size_t n)
{
    int width = 0;
    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)s[i] & 0xc0) != 0x80;
    return width;
}

void adp_page_put(FILE *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = plain(format, args);
    va_end(args);
    if (text)
        fputs(text, to);
    free(text);
}

/* Words from column `at` on, where the cursor is, further lines from `rest` on. */
static void wrap(FILE *to, int at, int rest, const char *text)
{
    bool fresh = true;
    for (const char *s = text + strspn(text, " \n"); *s;) {
        size_t n = strcspn(s, " \n");
        int width = columns(s, n);
        if (!fresh && at + 1 + width > ADP_PAGE_WIDTH) {
            fprintf(to, "\n%*s", rest, "");
            at = rest;
            fresh = true;
        }
        fprintf(to, "%s%.*s", fresh ? "" : " ", (int)n, s);
        at += width + (fresh ? 0 : 1);
        fresh = false;
        s += n;
        s += strspn(s, " \n");
    }
    fputc('\n', to);
}

void adp_page_wrap(FILE *to, int first, int rest, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = plain(format, args);
    va_end(args);
    fprintf(to, "%*s", first, "");
    wrap(to, first, rest, text ? text : "");
    free(text);
}

void adp_page_field(FILE *to, int column, const char *label, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = plain(format, args);
    va_end(args);
    adp_page_name(to, label, column - 2);
    wrap(to, column, column, text ? text : "");
    free(text);
}

void adp_page_heading(FILE *to, const char *heading)
{
    fprintf(to, "\n%s\n", heading);
}

void adp_page_rule(FILE *to)
{
    fputc('\n', to);
    for (int i = 0; i < ADP_PAGE_WIDTH; i++)
        fputc('-', to);
    fputs("\n\n", to);
}

void adp_page_name(FILE *to, const char *name, int width)
{
    int used = columns(name, strlen(name));
    adp_page_put(to, "  %s", name);
    if (used <= width)
        fprintf(to, "%*s", width - used, "");
    else
        fprintf(to, "\n  %*s", width, "");
}

const char *adp_page_plural(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

int adp_page_end(FILE *to)
{
    return fflush(to) || ferror(to) ? ADP_EIO : 0;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

int adp_page_natural(const char *a, const char *b)
{
    while (*a && *b) {
        if (digit(*a) && digit(*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            int c = n != m ? (n > m) - (n < m) : strncmp(a, b, n);
            if (c)
                return c;
            a += n;
            b += m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return (*a != '\0') - (*b != '\0');
}
