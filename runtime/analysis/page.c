/* SPDX-License-Identifier: MIT */
/* Text pages. Log text is UTF-8 already; what is escaped is what a terminal obeys or a
 * reader does not see. */
#include "runtime/analysis/page.h"

#include "core/error.h"
#include "core/glyph.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static struct adp_digits number(const char *format, double value)
{
    struct adp_digits digits = { "--" };
    if (!isnan(value))
        snprintf(digits.text, sizeof digits.text, format,
                 value == 0 ? 0.0 : value); /* not "-0" */
    return digits;
}

struct adp_digits adp_page_number(double value)
{
    double size = fabs(value);
    bool whole = value == floor(value);
    return number(size < 1e7 && (whole || size >= 1000) ? "%.0f" : "%.3g", value);
}

struct adp_digits adp_page_value(double value)
{
    return number("%.6g", value);
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

/* Newlines that `format` itself begins and ends with; any other is a name's. */
static size_t own_newlines(const char *format, size_t *ret_last)
{
    size_t n = strlen(format), first = strspn(format, "\n");
    *ret_last = 0;
    while (*ret_last < n && format[n - 1 - *ret_last] == '\n')
        ++*ret_last;
    return first;
}

/* The text with what is hidden, or is no UTF-8, as \xNN, allocated; NULL when memory is out. */
static char *plain(const char *format, va_list args)
{
    char *text;
    int len = vasprintf(&text, format, args);
    if (len < 0)
        return NULL;
    size_t last, first = own_newlines(format, &last), n = (size_t)len;
    char *to = malloc(4 * n + 1), *at = to;
    for (size_t i = 0; to && i < n;) {
        int bytes = 1;
        bool own = i < first || i >= n - last;
        uint32_t point = adp_glyph_at(text + i, &bytes);
        bool is_text = point != 0xfffd || bytes > 1;
        bool hides = !own && (adp_glyph_hidden(point) || !is_text);
        for (int k = 0; k < bytes; k++, i++) {
            if (hides)
                at += snprintf(at, 5, "\\x%02x", (unsigned char)text[i]);
            else
                *at++ = text[i];
        }
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

static char *plain_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *plain_of(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = plain(format, args);
    va_end(args);
    return text;
}

void adp_page_name(FILE *to, const char *name, int width)
{
    char *text = plain_of("%s", name);
    int used = text ? columns(text, strlen(text)) : 0;
    fprintf(to, "  %s", text ? text : "");
    free(text);
    if (used <= width)
        fprintf(to, "%*s", width - used, "");
    else
        fprintf(to, "\n  %*s", width, "");
}

const char *adp_page_plural(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

int adp_sentence_begin(struct adp_sentence *sentence)
{
    sentence->to = open_memstream(&sentence->text, &sentence->len);
    return sentence->to ? 0 : ADP_ENOMEM;
}

char *adp_sentence_end(struct adp_sentence *sentence)
{
    bool whole = !ferror(sentence->to);
    char *text = fclose(sentence->to) || !whole ? NULL : sentence->text;
    size_t n = 0;
    if (!text) {
        free(sentence->text);
        return NULL;
    }
    for (const char *c = text; *c; c++) {
        bool blank = *c == ' ' || *c == '\n';
        if (!blank)
            text[n++] = *c;
        else if (n && text[n - 1] != ' ')
            text[n++] = ' ';
    }
    text[n && text[n - 1] == ' ' ? n - 1 : n] = '\0';
    return text;
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
