/* SPDX-License-Identifier: MIT */
/* Reading a metrics page: a scanner that goes over each line once.
 *
 * This decides what a line says; what a series is worth (range, scale, freshness) is
 * decided by those who read it. HELP and TYPE are comments here: TYPE lies often enough
 * (counters called gauges, averages called counters) that sources go by names alone.
 *
 *  1. A line either becomes one series, whole, or counts as one bad line: never a number
 *     that the page does not say.
 *  2. No byte at or past the end of the line is read, and no line is copied: names and
 *     values are handed over as they lie in the page. Only values with escapes are
 *     written out, into one piece of memory as long as the page.
 *  3. A failed read leaves no series.
 *  4. A page that is compared instead of read (read_again) gives what reading it would:
 *     the same bytes around the values are the same series, the same bad lines, the same
 *     format. Whatever else it holds sends it back to be read. */
#include "core/promtext.h"
#include "core/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Why a line is bad. */
static const char name_malformed[] = "metric name is malformed";
static const char name_missing[] = "metric name is missing";
static const char name_empty[] = "metric name is empty";
static const char name_twice[] = "metric name is given twice";
static const char label_malformed[] = "label name is malformed";
static const char label_empty[] = "label name is empty";
static const char label_twice[] = "label is given twice";
static const char label_unquoted[] = "label value is not in quotes";
static const char label_unseparated[] = "label is not followed by a comma or a brace";
static const char labels_open[] = "label list is not closed";
static const char quotes_open[] = "quotes are not closed";
static const char value_missing[] = "value is missing";
static const char value_malformed[] = "value is not a number";
static const char time_malformed[] = "timestamp is not a number";
static const char text_behind[] = "text behind the value";

struct scan {
    const char *p;           /* the next byte; where a line turned out bad */
    const char *begin, *end; /* of the line, without its newline and the \r before it */
    const char *newline;     /* or the end of the page */
    const char *page_end;
    uint32_t line; /* 1-based */
    char *plain;   /* free room for unescaped text; NULL: no escapes on the page */
    bool openmetrics, over; /* over: # EOF was the last line read */
    struct adp_page_shape
        *shape;      /* to be written; NULL once the page has proved to be none */
    const char *gap; /* where its next gap begins */
    const char *value_at, *value_end;
    struct adp_metrics *metrics;
    struct adp_promtext_found found;
    struct adp_str first_bad; /* that line from there on */

    bool model; /* the sample before was written plainly: no quoted names, no escapes */
    uint32_t n_before; /* its labels; those from n_labels on still stand in `labels` */

    /* the sample being read, or of the one before what is not read yet */
    struct adp_str name;
    struct adp_str text; /* of the labels, between the braces */
    uint32_t n_labels;   /* also past the room for them: the count is refused later */
    struct adp_label labels[ADP_METRICS_MOST_LABELS];
    double value;
    bool has_time;
    double time_s;
};

enum { BLANK = 1, NAME_FIRST = 2, NAME_REST = 4, LABEL_FIRST = 8, LABEL_REST = 16 };
enum { ANY_NAME = NAME_FIRST | NAME_REST | LABEL_FIRST | LABEL_REST };

/* Dots are no letters of the grammar, but exporters print them. */
static const unsigned char kinds[256] = {
    [' '] = BLANK,
    ['\t'] = BLANK,
    ['a' ... 'z'] = ANY_NAME,
    ['A' ... 'Z'] = ANY_NAME,
    ['_'] = ANY_NAME,
    ['0' ... '9'] = NAME_REST | LABEL_REST,
    ['.'] = NAME_REST | LABEL_REST,
    [':'] = NAME_FIRST | NAME_REST,
};

static bool is_kind(char c, unsigned kind)
{
    return kinds[(unsigned char)c] & kind;
}

static bool at(const struct scan *s, char c)
{
    return s->p < s->end && *s->p == c;
}

static void skip_blanks(struct scan *s)
{
    while (s->p < s->end && is_kind(*s->p, BLANK))
        s->p++;
}

/* The bytes up to a blank or the end. */
static struct adp_str token(struct scan *s)
{
    const char *from = s->p;
    while (s->p < s->end && !is_kind(*s->p, BLANK))
        s->p++;
    return (struct adp_str) { from, (size_t)(s->p - from) };
}

/* A bare name; empty when the next byte begins none. */
static struct adp_str bare(struct scan *s, unsigned first, unsigned rest)
{
    const char *from = s->p, *p = from, *end = s->end;
    if (p < end && is_kind(*p, first))
        do
            p++;
        while (p < end && is_kind(*p, rest));
    s->p = p;
    return (struct adp_str) { from, (size_t)(p - from) };
}

/* How many bytes of `text` are here. A line mostly differs from the one before in little: the
 * same name, the same labels, one other value. */
static size_t count_same(const struct scan *s, struct adp_str text)
{
    const size_t word = sizeof(uint64_t);
    size_t left = (size_t)(s->end - s->p), n = text.n < left ? text.n : left, i = 0;
    while (n >= word) {
        uint64_t here, there;
        memcpy(&here, s->p + i, word);
        memcpy(&there, text.p + i, word);
        if (here != there) /* the first byte is the lowest */
            return i + (size_t)__builtin_ctzll(here ^ there) / 8;
        if (i == n - word)
            return n;
        i = i + word <= n - word ? i + word : n - word; /* the last, some of it again */
    }
    while (i < n && s->p[i] == text.p[i])
        i++;
    return i;
}

/* ---- labels ---- */

/* What is in quotes, `from` behind the first, unescaped. An escape that is none keeps its
 * backslash. */
static const char *unescape(struct scan *s, const char *from, struct adp_str *ret)
{
    char *to = s->plain;
    const char *p = from;
    s->model = false;
    for (; p < s->end && *p != '"'; p++) {
        char next = p + 1 < s->end ? p[1] : '\0';
        if (*p != '\\' || (next != '\\' && next != '"' && next != 'n')) {
            *to++ = *p;
            continue;
        }
        *to++ = next == 'n' ? '\n' : next;
        p++;
    }
    if (p == s->end)
        return quotes_open;
    *ret = (struct adp_str) { s->plain, (size_t)(to - s->plain) };
    s->plain = to;
    s->p = p + 1;
    return NULL;
}

static inline const char *read_quoted(struct scan *s, struct adp_str *ret)
{
    const char *from = s->p + 1, *quote = from;
    while (quote < s->end && *quote != '"' && *quote != '\\')
        quote++;
    if (quote < s->end && *quote == '\\')
        return unescape(s, from, ret);
    if (quote == s->end)
        return quotes_open;
    size_t n = (size_t)(quote - from);
    *ret = (struct adp_str) { from, n };
    s->p = quote + 1;
    return NULL;
}

/* The name of the metric, as a lone string among the labels. */
static const char *take_quoted_name(struct scan *s, struct adp_str name)
{
    if (s->name.n)
        return name_twice;
    if (!name.n)
        return name_empty;
    s->name = name;
    return NULL;
}

static const char *read_label_value(struct scan *s, struct adp_str name)
{
    struct adp_str value;
    skip_blanks(s);
    if (!at(s, '"'))
        return label_unquoted;
    const char *why = read_quoted(s, &value);
    if (!why && s->n_labels++ < ADP_METRICS_MOST_LABELS)
        s->labels[s->n_labels - 1] = (struct adp_label) { name, value };
    return why;
}

static const char *read_label(struct scan *s)
{
    struct adp_str name;
    bool quoted = at(s, '"');
    const char *why = NULL;
    if (quoted) {
        s->model = false;
        why = read_quoted(s, &name);
    } else
        name = bare(s, LABEL_FIRST, LABEL_REST);
    if (why)
        return why;
    skip_blanks(s);
    if (!at(s, '='))
        return quoted ? take_quoted_name(s, name) : label_malformed;
    if (!name.n)
        return quoted ? label_empty : label_malformed;
    s->p++;
    return read_label_value(s, name);
}

/* A line mostly has the labels of the line before, with one other value. Takes those of its
 * labels that are the same and those that differ in their values only, up to the first that
 * is neither; *ret_closed: that was all, and the closing brace. */
static const char *read_known_labels(struct scan *s, bool *ret_closed)
{
    struct adp_str there = { s->text.p, s->text.n + 1 };
    for (;;) {
        size_t same = count_same(s, there);
        ptrdiff_t by = s->p - there.p;
        const char *end = there.p + same;
        struct adp_label *known = &s->labels[s->n_labels];
        for (; s->n_labels < s->n_before; s->n_labels++, known++) {
            const char *quote = known->value.p + known->value.n;
            if (quote >= end)
                break;
            known->name.p += by;
            known->value.p += by;
            s->p = known->value.p + known->value.n + 1;
        }
        *ret_closed = same == there.n;
        if (*ret_closed) {
            s->p = end + by;
            return NULL;
        }
        if (s->n_labels == s->n_before || known->value.p > end)
            return NULL;
        there.n = (size_t)(there.p + there.n - (known->value.p + known->value.n + 1));
        there.p = known->value.p + known->value.n + 1;
        s->p = known->value.p - 1 + by;
        known->name.p += by;
        const char *why = read_quoted(s, &known->value);
        if (why)
            return why;
        s->n_labels++;
    }
}

/* From behind the opening brace to behind the closing one. */
static const char *read_labels(struct scan *s)
{
    const char *from = s->p;
    bool closed = false;
    const char *why = s->n_before ? read_known_labels(s, &closed) : NULL;
    for (bool behind = s->n_labels > 0; !why && !closed; behind = true) {
        skip_blanks(s);
        if (behind && at(s, ',')) {
            s->p++;
            skip_blanks(s);
            behind = false;
        }
        closed = at(s, '}');
        if (closed)
            s->p++;
        else if (s->p == s->end)
            why = labels_open;
        else
            why = behind ? label_unseparated : read_label(s);
    }
    s->text = (struct adp_str) { from, (size_t)(s->p - from) - closed };
    return why;
}

/* ---- samples ---- */

static const char *read_value(struct scan *s)
{
    skip_blanks(s);
    s->value_at = s->p;
    if (s->p == s->end)
        return value_missing;
    const char *behind = adp_number_scan(s->p, s->page_end, &s->value);
    if (!behind || (behind < s->end && !is_kind(*behind, BLANK)))
        return value_malformed;
    s->p = s->value_end = behind;
    return NULL;
}

/* OpenMetrics' are seconds, and so are those with a point; an integer of 64 bits is
 * milliseconds. */
static bool read_time_text(struct adp_str text, bool openmetrics, double *ret_s)
{
    double value;
    if (!adp_number_parse(text.p, text.n, &value) || !isfinite(value))
        return false;
    if (openmetrics || memchr(text.p, '.', text.n)) {
        *ret_s = value;
        return true;
    }
    for (size_t i = 0; i < text.n; i++) /* no exponent */
        if (text.p[i] == 'e' || text.p[i] == 'E')
            return false;
    *ret_s = value / 1000.0;
    return fabs(value) <= 0x1p63;
}

/* An optional timestamp and OpenMetrics' exemplar, of which nothing is read. */
static const char *read_rest(struct scan *s)
{
    skip_blanks(s);
    if (s->p < s->end && *s->p != '#') {
        const char *from = s->p;
        double time_s;
        if (!read_time_text(token(s), s->openmetrics, &time_s)) {
            s->p = from;
            return time_malformed;
        }
        s->has_time = true;
        s->time_s = time_s;
        skip_blanks(s);
    }
    if (s->p == s->end)
        return NULL;
    const char *from = s->p++;
    skip_blanks(s);
    if (s->openmetrics && *from == '#' && at(s, '{'))
        return NULL;
    s->p = from;
    return text_behind;
}

static const char *read_sample(struct scan *s)
{
    size_t same = s->model ? count_same(s, s->name) : 0;
    s->n_before = s->model && s->n_labels <= ADP_METRICS_MOST_LABELS ? s->n_labels : 0;
    s->model = true;
    s->n_labels = 0;
    s->has_time = false;
    const char *why = NULL;
    s->name.p = s->p;
    s->p += same;
    bare(s, same ? NAME_REST : NAME_FIRST, NAME_REST);
    s->name.n = (size_t)(s->p - s->name.p);
    if (!at(s, '{')) {
        if (s->p < s->end && !is_kind(*s->p, BLANK))
            return name_malformed;
        skip_blanks(s);
    }
    if (at(s, '{')) {
        s->p++;
        why = read_labels(s);
    }
    if (!why && !s->name.n)
        why = name_missing;
    if (!why)
        why = read_value(s);
    return why || s->p == s->end ? why : read_rest(s);
}

static void count_bad(struct scan *s, const char *why)
{
    s->model = false;
    if (!s->found.bad_lines++) {
        s->found.first_bad_line = s->line;
        s->found.first_bad_why = why;
        s->found.first_bad_column = (uint32_t)(s->p - s->begin) + 1;
        s->first_bad = (struct adp_str) { s->p, (size_t)(s->end - s->p) };
    }
}

/* The line is series number adp_metrics_count - 1, unless it repeats one: then values and
 * series do not go in step, and the page has no shape worth keeping. */
static void keep_shape(struct scan *s)
{
    struct adp_page_value value = { .gap = (uint32_t)(s->value_at - s->gap),
                                    .len = (uint32_t)(s->newline - s->value_at),
                                    .alone = s->value_end == s->newline,
                                    .value = s->value };
    if (s->shape &&
        (adp_metrics_duplicates(s->metrics) || !adp_page_shape_add(s->shape, value)))
        s->shape = NULL;
    s->gap = s->newline;
}

/* Fails only for what costs the whole page. */
static int read_line(struct scan *s, struct adp_error *err)
{
    skip_blanks(s);
    if (s->p == s->end)
        return 0;
    if (s->over && s->openmetrics)
        return adp_error_set(err, ADP_ESYNTAX, "text behind # EOF, expected the end");
    if (*s->p == '#') {
        s->over = s->end - s->p == 5 && !memcmp(s->p, "# EOF", 5);
        return 0;
    }
    const struct adp_str nowhere = { NULL, 0 };
    const char *why = read_sample(s);
    if (!why) {
        int code = adp_metrics_add_read(s->metrics, s->name, s->model ? s->text : nowhere,
                                        s->labels, s->n_labels, s->value, s->has_time,
                                        s->time_s, err);
        if (!code) {
            s->found.samples++;
            keep_shape(s);
            return 0;
        }
        if (code != ADP_EINVAL)
            return code;
        if (err)
            err->code = 0; /* costs the line only */
        s->p = s->begin;
        why = label_twice;
    }
    count_bad(s, why);
    return 0;
}

static int read_lines(struct scan *s, const char *page, const char *end,
                      struct adp_error *err)
{
    while (page < end) {
        const char *newline = memchr(page, '\n', (size_t)(end - page));
        s->line++;
        s->begin = s->p = page;
        s->end = s->newline = newline ? newline : end;
        page = newline ? newline + 1 : end;
        if (s->end > s->begin && s->end[-1] == '\r')
            s->end--;
        int code = read_line(s, err);
        if (code)
            return code;
    }
    return 0;
}

/* ---- what is no page ---- */

/* A label or a lone string begins the braces of a sample; an object has a key and a
 * colon. `p` is behind the brace. */
static bool begins_sample(const char *p, const char *end)
{
    struct scan s = { .p = p, .end = end };
    skip_blanks(&s);
    if (!at(&s, '"')) {
        bool named = bare(&s, LABEL_FIRST, LABEL_REST).n > 0;
        skip_blanks(&s);
        return named && at(&s, '=');
    }
    for (s.p++; s.p < end && *s.p != '"' && *s.p != '\n'; s.p++)
        if (*s.p == '\\' && s.p + 1 < end)
            s.p++;
    if (!at(&s, '"'))
        return false;
    s.p++;
    skip_blanks(&s);
    return !at(&s, ':');
}

/* What the bytes are instead of a metrics page, and where that shows; NULL when they may
 * be one. */
static const char *foreign(const char *page, const char *end, const char **ret_at)
{
    const char *p = page;
    while (p < end && (is_kind(*p, BLANK) || *p == '\n' || *p == '\r'))
        p++;
    *ret_at = p;
    if (p == end)
        return NULL;
    if (end - p > 1 && p[0] == '\x1f' && p[1] == '\x8b')
        return "gzip";
    if (*p == '<')
        return "HTML or XML";
    if (*p == '[' || (*p == '{' && !begins_sample(p + 1, end)))
        return "JSON";
    *ret_at = memchr(p, '\0', (size_t)(end - p));
    return *ret_at ? "binary data (a NUL byte)" : NULL;
}

static size_t byte_order_mark(const char *page, size_t len)
{
    return len >= 3 && !memcmp(page, "\xef\xbb\xbf", 3) ? 3 : 0;
}

bool adp_promtext_is_foreign(const char *page, size_t len)
{
    const char *where;
    return len && foreign(page + byte_order_mark(page, len), page + len, &where);
}

static int refuse_foreign(const char *page, const char *where, const char *what,
                          struct adp_error *err)
{
    uint32_t line = 1;
    const char *begin = page;
    for (const char *p = page; p < where; p++)
        if (*p == '\n') {
            line++;
            begin = p + 1;
        }
    return adp_error_at(err, ADP_ESYNTAX, NULL, line, (uint32_t)(where - begin) + 1,
                        "looks like %s, expected a metrics page", what);
}

static int refuse_all_bad(const struct scan *s, struct adp_error *err)
{
    int shown = s->first_bad.n < 40 ? (int)s->first_bad.n : 40;
    return adp_error_at(err, ADP_ESYNTAX, NULL, s->found.first_bad_line,
                        s->found.first_bad_column,
                        "no line of the page is a sample: %s, found \"%.*s\"",
                        s->found.first_bad_why, shown, s->first_bad.p);
}

/* ---- the same page again ---- */

/* What follows a value on its line, from `p`: the time and the end of the line, or NULL
 * when it is not what may follow. */
static const char *read_rest_again(const char *p, const char *end, bool openmetrics,
                                   bool *ret_has_time, double *ret_time_s)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    struct scan s = { .p = p, .openmetrics = openmetrics };
    s.newline = s.end = newline ? newline : end;
    if (s.end > p && s.end[-1] == '\r')
        s.end--;
    /* an exemplar may hold any text but what makes the page none */
    if ((p < s.end && !is_kind(*p, BLANK)) || memchr(p, '\0', (size_t)(s.end - p)) ||
        read_rest(&s))
        return NULL;
    *ret_has_time = s.has_time;
    *ret_time_s = s.time_s;
    return s.newline;
}

/* The value that the shape has, which stands at `text` there, stands at `p` too. It is asked
 * of long ones only, which take time to read and often stay: when things were created. */
static bool is_kept(const struct adp_page_value *value, const char *text, const char *p,
                    const char *end)
{
    enum { LONG = 9 };
    size_t n = value->len;
    return n >= LONG && value->alone && (size_t)(end - p) > n && p[n] == '\n' &&
           memcmp(p, text, n) == 0;
}

/* Compares the page with the shape and sets the values. False: it is another page. */
static bool read_again(struct adp_metrics *metrics, const char *page, const char *end)
{
    const struct adp_page_shape *shape = adp_metrics_shape(metrics);
    const char *p = page, *text = shape->text;
    for (uint32_t i = 0; i < shape->n_values; i++) {
        const struct adp_page_value *known = &shape->values[i];
        if ((size_t)(end - p) < known->gap || memcmp(p, text, known->gap) != 0)
            return false;
        text += known->gap;
        p += known->gap;
        double value = known->value, time_s = 0.0;
        bool has_time = false;
        p = is_kept(known, text, p, end) ? p + known->len
                                         : adp_number_scan(p, end, &value);
        if (!p)
            return false;
        if (p < end && *p != '\n') {
            p = read_rest_again(p, end, shape->openmetrics, &has_time, &time_s);
            if (!p)
                return false;
        }
        adp_metrics_repeat(metrics, i, value, has_time, time_s);
        text += known->len;
    }
    return (size_t)(end - p) == shape->tail && memcmp(p, text, shape->tail) == 0;
}

static bool compare(struct adp_metrics *metrics, enum adp_promtext_format format,
                    const char *page, const char *end, struct adp_promtext_found *ret)
{
    const struct adp_page_shape *shape = adp_metrics_shape(metrics);
    if (shape->format != (int)format || !adp_metrics_restore(metrics))
        return false;
    if (!read_again(metrics, page, end)) {
        adp_metrics_clear(metrics);
        return false;
    }
    *ret = (struct adp_promtext_found) { .samples = shape->n_values,
                                         .bad_lines = shape->bad_lines,
                                         .first_bad_line = shape->first_bad_line,
                                         .first_bad_column = shape->first_bad_column,
                                         .first_bad_why = shape->first_bad_why,
                                         .openmetrics = shape->openmetrics,
                                         .repeated = true };
    return true;
}

/* The shape is whole with the page that it is of. */
static void finish_shape(struct scan *s, const char *page, const char *end,
                         enum adp_promtext_format format)
{
    if (!s->shape || !s->shape->n_values ||
        !adp_page_shape_end(s->shape, page, (size_t)(end - page), (size_t)(end - s->gap)))
        return;
    s->shape->bad_lines = s->found.bad_lines;
    s->shape->first_bad_line = s->found.first_bad_line;
    s->shape->first_bad_column = s->found.first_bad_column;
    s->shape->first_bad_why = s->found.first_bad_why;
    s->shape->openmetrics = s->openmetrics;
    s->shape->format = (int)format;
    s->shape->whole = true;
}

/* ---- the page ---- */

/* True when the last line that is not empty is # EOF. */
static bool ends_with_eof(const char *page, const char *end)
{
    while (end > page && (is_kind(end[-1], BLANK) || end[-1] == '\n' || end[-1] == '\r'))
        end--;
    if (end - page < 5 || memcmp(end - 5, "# EOF", 5) != 0)
        return false;
    end -= 5;
    while (end > page && is_kind(end[-1], BLANK))
        end--;
    return end == page || end[-1] == '\n';
}

static int read_page(struct scan *s, const char *page, const char *end,
                     struct adp_error *err)
{
    const char *where;
    const char *what = foreign(page, end, &where);
    if (what)
        return refuse_foreign(page, where, what, err);
    char *plain = NULL;
    if (memchr(page, '\\', (size_t)(end - page))) {
        plain = malloc((size_t)(end - page));
        if (!plain)
            return adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    s->plain = plain;
    struct adp_error why = { 0 };
    int code = read_lines(s, page, end, &why);
    free(plain);
    if (code)
        return adp_error_at(err, code, NULL, s->line, 1, "%s", why.text);
    if (s->openmetrics && !s->over)
        return adp_error_at(err, ADP_ESYNTAX, NULL, s->line ? s->line : 1, 1,
                            "the page is cut off, expected # EOF at the end");
    if (s->found.bad_lines && !s->found.samples)
        return refuse_all_bad(s, err);
    return 0;
}

/* Sorts what a header holds before its parameters; parameters change nothing. */
enum adp_promtext_format adp_promtext_format(const char *content_type)
{
    static const struct {
        const char *type;
        enum adp_promtext_format format;
    } known[] = { { "text/plain", ADP_PROMTEXT_TEXT },
                  { "application/openmetrics-text", ADP_PROMTEXT_OPENMETRICS } };
    size_t n = 0;
    if (!content_type)
        return ADP_PROMTEXT_UNSAID;
    content_type += strspn(content_type, " \t");
    n = strcspn(content_type, "; \t,");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t k = 0;
        while (k < n && known[i].type[k] &&
               (content_type[k] == known[i].type[k] ||
                (content_type[k] | 0x20) == known[i].type[k]))
            k++;
        if (k == n && !known[i].type[k])
            return known[i].format;
    }
    return ADP_PROMTEXT_UNSAID;
}

int adp_promtext_read_as(struct adp_metrics *metrics, enum adp_promtext_format format,
                         const char *page, size_t len, struct adp_promtext_found *ret,
                         struct adp_error *err)
{
    adp_metrics_clear(metrics);
    if (len > UINT32_MAX)
        return adp_error_set(err, ADP_EFULL, "page of more than %u bytes", UINT32_MAX);
    size_t mark = byte_order_mark(page, len);
    len -= mark;
    page = len ? page + mark : ""; /* NULL may be given with 0 */
    const char *end = page + len;
    struct adp_promtext_found found;
    if (compare(metrics, format, page, end, ret ? ret : &found))
        return 0;
    struct scan s = { .metrics = metrics, .gap = page, .page_end = end };
    s.openmetrics = format == ADP_PROMTEXT_OPENMETRICS ||
                    (format == ADP_PROMTEXT_UNSAID && ends_with_eof(page, end));
    s.shape = adp_metrics_shape(metrics);
    adp_page_shape_clear(s.shape);
    int code = read_page(&s, page, end, err);
    if (code) {
        adp_metrics_clear(metrics);
        return code;
    }
    finish_shape(&s, page, end, format);
    s.found.openmetrics = s.openmetrics;
    if (ret)
        *ret = s.found;
    return 0;
}

int adp_promtext_read(struct adp_metrics *metrics, const char *page, size_t len,
                      struct adp_promtext_found *ret, struct adp_error *err)
{
    return adp_promtext_read_as(metrics, ADP_PROMTEXT_UNSAID, page, len, ret, err);
}
