/* SPDX-License-Identifier: MIT */
#include "core/promtext.h"

#include "tests/core/failing.h"

#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

/* Reads from an exact copy, so that a look past the end is seen by ASan. */
static int read_exact(struct adp_metrics *m, const char *page, size_t len,
                      struct adp_promtext_found *ret, struct adp_error *err)
{
    char *exact = malloc(len ? len : 1);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, page, len);
    int code = adp_promtext_read(m, exact, len, ret, err);
    memset(exact, '?', len);
    free(exact);
    return code;
}

static struct adp_metrics *create(void)
{
    struct adp_metrics *m = NULL;
    ck_assert_int_eq(adp_metrics_create(&m), 0);
    return m;
}

struct text {
    char at[4096];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format,
                                                      ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->n, sizeof t->at - t->n, format, args);
    va_end(args);
    t->n += (size_t)n;
    ck_assert_uint_lt(t->n, sizeof t->at);
}

/* Every series as `name{label=value,…} number @time;`, nothing escaped. */
static void dump(const struct adp_metrics *m, struct text *t)
{
    t->n = 0;
    t->at[0] = '\0';
    for (uint32_t i = 0; i < adp_metrics_count(m); i++) {
        const struct adp_series *s = adp_metrics_at(m, i);
        put(t, "%.*s", (int)s->name.n, s->name.p);
        for (uint32_t k = 0; k < s->n_labels; k++)
            put(t, "%c%.*s=%.*s", k ? ',' : '{', (int)s->labels[k].name.n,
                s->labels[k].name.p, (int)s->labels[k].value.n, s->labels[k].value.p);
        put(t, "%s %.15g", s->n_labels ? "}" : "", s->value);
        if (s->has_time)
            put(t, " @%.15g", s->time_s);
        put(t, ";");
    }
}

static const struct {
    const char *page, *series;
} pages[] = {
    { "", "" },
    { "\n\n  \t\n", "" },
    { "# HELP a b\n# TYPE a gauge\n#\n# anything\n#EOF", "" },
    { "a 1\n", "a 1;" },
    { "a 1", "a 1;" },
    { "a 1\r\nb 2\r\n\r\n", "a 1;b 2;" },
    { "\xef\xbb\xbf"
      "a 1\n",
      "a 1;" },
    { "\xef\xbb\xbf", "" },
    { "  a\t \t1 \t\n", "a 1;" },
    { "a{} 1\nb { } 2\n", "a 1;b 2;" },
    { "a{l=\"v\"}1\n", "a{l=v} 1;" },
    { "\ta\t{ l\t=\t\"v\" ,\tm = \"w\" , } 1\n", "a{l=v,m=w} 1;" },
    { "a{z=\"1\",b=\"2\",_x9=\"\"} 1\n", "a{_x9=,b=2,z=1} 1;" },
    { "a:b_c9:d 1\n:x 2\n_y 3\n", "a:b_c9:d 1;:x 2;_y 3;" },
    { "acme.cache.used_frac{data.center=\"x\"} 0.5\n",
      "acme.cache.used_frac{data.center=x} 0.5;" },
    /* every byte that ends something, where it ends nothing */
    { "a{l=\"}{,=# \t\",m=\"{'method': 'prefill'}\"} 1\n",
      "a{l=}{,=# \t,m={'method': 'prefill'}} 1;" },
    { "a{l=\"q\\\"b\\\\n\\nz\"} 1\n", "a{l=q\"b\\n\nz} 1;" },
    { "a{l=\"\\\\\",m=\"\\\"\"} 1\n", "a{l=\\,m=\"} 1;" },
    { "a{l=\"\\t\\x\\\xc3\xa9\"} 1\n", "a{l=\\t\\x\\\xc3\xa9} 1;" },
    { "a{l=\"plain\"} 1\n# back\\slash\nb{l=\"\\n\",m=\"plain\"} 2\n",
      "a{l=plain} 1;b{l=\n,m=plain} 2;" },
    { "a{l=\"\xc3\xbc\xe6\xa8\xa1\xff\"} 1\n", "a{l=\xc3\xbc\xe6\xa8\xa1\xff} 1;" },
    /* names in quotes, as Prometheus 3 writes them */
    { "{\"my.metric\"} 1\n", "my.metric 1;" },
    { "{\"my.metric\",\"l l\"=\"v\",m=\"w\",} 1\n", "my.metric{l l=v,m=w} 1;" },
    { " { \"my\\\"\\\\\\nmetric\" , l = \"v\" } 1\n", "my\"\\\nmetric{l=v} 1;" },
    { "{l=\"v\",\"a\"} 1\n", "a{l=v} 1;" },
    { "a{\"l.l\"=\"v\"} 1\n", "a{l.l=v} 1;" },
    { "\n{\"a\"} 1\n{\"b\",l=\"v\"} 2", "a 1;b{l=v} 2;" },
    /* values */
    { "a NaN\nb +Inf\nc -Inf\nd nan\ne inf\n", "a nan;b inf;c -inf;d nan;e inf;" },
    { "a 1.15891634176e+011\nb 1e999\nc -0.3875\nd .5\ne 5.\n",
      "a 115891634176;b inf;c -0.3875;d 0.5;e 5;" },
    { "a 9223372036854775794\n", "a 9.22337203685478e+18;" },
    /* timestamps: milliseconds, or with a point seconds */
    { "a 1 1395066363000\n", "a 1 @1395066363;" },
    { "a 1 1395066363250 \n", "a 1 @1395066363.25;" },
    { "a 1 -3982045\n", "a 1 @-3982.045;" },
    { "a 1 1395066363.25\nb{l=\"v\"} 2\t1.5e3\n", "a 1 @1395066363.25;b{l=v} 2 @1500;" },
    { "a 1 9223372036854775807\n", "a 1 @9.22337203685478e+15;" },
    /* exemplars, and timestamps in seconds, where # EOF says that it is OpenMetrics */
    { "a 1 # {trace_id=\"x\"} 0.02 1796004541.240248\nb 2 1.5 # {} 3\nc 3 #{\n# EOF",
      "a 1;b 2 @1.5;c 3;" },
    { "a 1 1395066363\nb 2 1.3950663635e9\nc 3 -1\n# EOF\n",
      "a 1 @1395066363;b 2 @1395066363.5;c 3 @-1;" },
    { "# TYPE a counter\n# UNIT a seconds\na_total{l=\"#\"} 1 # {t=\"}\"} 1\na_created "
      "5\n"
      "# EOF\n",
      "a_total{l=#} 1;a_created 5;" },
    /* the last of two stays, in the place of the first */
    { "a{l=\"1\",m=\"2\"} 1\nb 2\na{m=\"2\",l=\"1\"} 3\n", "a{l=1,m=2} 3;b 2;" },
    /* headers anywhere, twice, wrong */
    { "a 1\n# TYPE a counter\nb 2\n# TYPE a gauge\n# TYPE\na{l=\"v\"} 3\n",
      "a 1;b 2;a{l=v} 3;" },
    { "# HELP a with \"quotes\" {braces} and \\n\na 1\n", "a 1;" },
};

START_TEST(a_well_formed_page_is_read_as_it_says)
{
    struct adp_metrics *m = create();
    struct adp_promtext_found found;
    struct adp_error err = { 0 };
    struct text t;
    int code = read_exact(m, pages[_i].page, strlen(pages[_i].page), &found, &err);
    ck_assert_msg(code == 0, "%s: %s", pages[_i].page, err.text);
    dump(m, &t);
    ck_assert_str_eq(t.at, pages[_i].series);
    ck_assert_uint_eq(found.samples, adp_metrics_count(m) + adp_metrics_duplicates(m));
    ck_assert_uint_eq(found.bad_lines, 0);
    ck_assert_uint_eq(found.first_bad_line, 0);
    ck_assert_ptr_null(found.first_bad_why);
    ck_assert_int_eq(err.code, 0);
    adp_metrics_destroy(m);
}
END_TEST

/* Each stands between two good lines, and alone. `found`: what the error of a page of bad
 * lines only shows. */
static const struct {
    const char *line, *why;
    uint32_t column;
    const char *found;
} bad[] = {
    { "a ERROR - FAILED TO CONVERT TO STRING", "value is not a number", 3,
      "ERROR - FAILED TO CONVERT TO STRING" },
    { "a{l=\"v\"} GPU-00000000-0000", "value is not a number", 10, "GPU-00000000-0000" },
    { "a{l=\"v\"} ", "value is missing", 10, "" },
    { "a", "value is missing", 2, "" },
    { "a{l=\"v\"}", "value is missing", 9, "" },
    { "a 580.105.08", "value is not a number", 3, "580.105.08" },
    { "a 0x10", "value is not a number", 3, "0x10" },
    { "a 1_000", "value is not a number", 3, "1_000" },
    { "a 1,5", "value is not a number", 3, "1,5" },
    { "a nan(1)", "value is not a number", 3, "nan(1)" },
    { "a 1#", "value is not a number", 3, "1#" },
    { "a \"1\"", "value is not a number", 3, "\"1\"" },
    { "a 1 x", "timestamp is not a number", 5, "x" },
    { "a 5 GB", "timestamp is not a number", 5, "GB" },
    { "a 1 1e3", "timestamp is not a number", 5, "1e3" },
    { "a 1 NaN", "timestamp is not a number", 5, "NaN" },
    { "a 1 1.e999", "timestamp is not a number", 5, "1.e999" },
    { "a 1 99999999999999999999", "timestamp is not a number", 5,
      "99999999999999999999" },
    { "a 1 2 3", "text behind the value", 7, "3" },
    { "a 1 # a comment", "text behind the value", 5, "# a comment" },
    { "a 1 2 #", "text behind the value", 7, "#" },
    { "a 1 # {t=\"x\"} 1", "text behind the value", 5, "# {t=\"x\"} 1" },
    { "a 1395066363.5 1395066363 # {} 1", "text behind the value", 27, "# {} 1" },
    { "a-b 1", "metric name is malformed", 2, "-b 1" },
    { "9a 1", "metric name is malformed", 1, "9a 1" },
    { ".a 1", "metric name is malformed", 1, ".a 1" },
    { "\xc3\xa9 1", "metric name is malformed", 1, "\\xc3\\xa9 1" },
    { "\"a\" 1", "metric name is malformed", 1, "\"a\" 1" },
    { "= 1", "metric name is malformed", 1, "= 1" },
    { "} 1", "metric name is malformed", 1, "} 1" },
    { "a\rb 1", "metric name is malformed", 2, "\\x0db 1" },
    { "{l=\"v\"} 1", "metric name is missing", 8, " 1" },
    { "{\"\"} 1", "metric name is empty", 4, "} 1" },
    { "a{\"b\"} 1", "metric name is given twice", 6, "} 1" },
    { "{\"a\",\"b\"} 1", "metric name is given twice", 9, "} 1" },
    { "a{step=0} 1", "label value is not in quotes", 8, "0} 1" },
    { "a{l='v'} 1", "label value is not in quotes", 5, "'v'} 1" },
    { "a{l=} 1", "label value is not in quotes", 5, "} 1" },
    { "a{l=\"v} 1", "quotes are not closed", 5, "\"v} 1" },
    { "a{l=\"v\\\"} 1", "quotes are not closed", 5, "\"v\\\"} 1" },
    { "a{l=\"v\\", "quotes are not closed", 5, "\"v\\" },
    { "a{\"l", "quotes are not closed", 3, "\"l" },
    { "a{", "label list is not closed", 3, "" },
    { "a{l=\"v\"", "label list is not closed", 8, "" },
    { "a{l=\"v\",", "label list is not closed", 9, "" },
    { "a{l=\"v\" m=\"w\"} 1", "label is not followed by a comma or a brace", 9,
      "m=\"w\"} 1" },
    { "a{l=\"v\"w\"} 1", "label is not followed by a comma or a brace", 8, "w\"} 1" },
    { "a{,} 1", "label name is malformed", 3, ",} 1" },
    { "a{l=\"v\",,} 1", "label name is malformed", 9, ",} 1" },
    { "a{l} 1", "label name is malformed", 4, "} 1" },
    { "a{=\"v\"} 1", "label name is malformed", 3, "=\"v\"} 1" },
    { "a{9=\"v\"} 1", "label name is malformed", 3, "9=\"v\"} 1" },
    { "a{x:y=\"v\"} 1", "label name is malformed", 4, ":y=\"v\"} 1" },
    { "a{l-m=\"v\"} 1", "label name is malformed", 4, "-m=\"v\"} 1" },
    { "a{\"\"=\"v\"} 1", "label name is empty", 5, "=\"v\"} 1" },
    { "a{l=\"v\",l=\"w\"} 1", "label is given twice", 1, "a{l=\"v\",l=\"w\"} 1" },
    { "{", "label list is not closed", 2, "" },
    { "[]", "metric name is malformed", 1, "[]" },
    { "<html>", "metric name is malformed", 1, "<html>" },
    { "{\"key\": 1}", "label is not followed by a comma or a brace", 7, ": 1}" },
};

START_TEST(a_bad_line_costs_that_line)
{
    struct adp_metrics *m = create();
    struct adp_promtext_found found;
    struct adp_error err = { 0 };
    struct text page = { .n = 0 }, t;
    put(&page, "first{l=\"\\\\\"} 1\n# TYPE x gauge\n%s\n%s\nlast 2\n", bad[_i].line,
        bad[_i].line);
    int code = read_exact(m, page.at, page.n, &found, &err);
    ck_assert_msg(code == 0, "%s: %s", bad[_i].line, err.text);
    dump(m, &t);
    ck_assert_str_eq(t.at, "first{l=\\} 1;last 2;");
    ck_assert_uint_eq(found.samples, 2);
    ck_assert_uint_eq(found.bad_lines, 2);
    ck_assert_uint_eq(found.first_bad_line, 3);
    ck_assert_pstr_eq(found.first_bad_why, bad[_i].why);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_page_of_bad_lines_only_is_no_page)
{
    struct adp_metrics *m = create();
    struct adp_promtext_found found = { .samples = 77 };
    struct adp_error err = { 0 };
    struct text page = { .n = 0 }, expected = { .n = 0 };
    char text[1024];
    put(&page, "# comment\n\n%s", bad[_i].line);
    ck_assert_int_eq(read_exact(m, page.at, page.n, &found, &err), ADP_ESYNTAX);
    snprintf(err.file, sizeof err.file, "page");
    adp_error_format(&err, text, sizeof text);
    put(&expected, "page:3:%u: no line of the page is a sample: %s, found \"%s\"",
        bad[_i].column, bad[_i].why, bad[_i].found);
    ck_assert_str_eq(text, expected.at);
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    ck_assert_uint_eq(found.samples, 77);
    adp_metrics_destroy(m);
}
END_TEST

#define TEXT(literal) literal, sizeof(literal) - 1

static const struct {
    const char *page;
    size_t len;
    uint32_t line, column;
    const char *text;
} foreign[] = {
    { TEXT("[]"), 1, 1, "looks like JSON, expected a metrics page" },
    { TEXT("\n \t[{\"a\":1}]"), 2, 3, "looks like JSON, expected a metrics page" },
    { TEXT("{\"key\":1}"), 1, 1, "looks like JSON, expected a metrics page" },
    { TEXT("{\"k\\\"ey\" : 1}\na 1\n"), 1, 1,
      "looks like JSON, expected a metrics page" },
    { TEXT("{\n  \"a\": 1\n}"), 1, 1, "looks like JSON, expected a metrics page" },
    { TEXT("{}"), 1, 1, "looks like JSON, expected a metrics page" },
    { TEXT("{"), 1, 1, "looks like JSON, expected a metrics page" },
    { TEXT("{\""), 1, 1, "looks like JSON, expected a metrics page" },
    { TEXT("{\"\\"), 1, 1, "looks like JSON, expected a metrics page" },
    { TEXT("{'a': 1}"), 1, 1, "looks like JSON, expected a metrics page" },
    { TEXT("{a: 1}"), 1, 1, "looks like JSON, expected a metrics page" },
    { TEXT("\xef\xbb\xbf[]"), 1, 1, "looks like JSON, expected a metrics page" },
    { TEXT("<!DOCTYPE html>\n<title>sign in</title>"), 1, 1,
      "looks like HTML or XML, expected a metrics page" },
    { TEXT("\r\n<html>"), 2, 1, "looks like HTML or XML, expected a metrics page" },
    { TEXT("\x1f\x8b\x08\0\0\0"), 1, 1, "looks like gzip, expected a metrics page" },
    { TEXT("a 1\nb\0 2\n"), 2, 2,
      "looks like binary data (a NUL byte), expected a metrics page" },
    { TEXT("a 1\n\0"), 2, 1,
      "looks like binary data (a NUL byte), expected a metrics page" },
    { TEXT("\0"), 1, 1, "looks like binary data (a NUL byte), expected a metrics page" },
    { TEXT("null"), 1, 5,
      "no line of the page is a sample: value is missing, found \"\"" },
    { TEXT("404 page not found\n"), 1, 1,
      "no line of the page is a sample: metric name is malformed, found \"404 page not "
      "found\"" },
    { TEXT("a 1 upstream connect error or disconnect/reset before headers"), 1, 5,
      "no line of the page is a sample: timestamp is not a number, found \"upstream "
      "connect error or disconnect/res\"" },
};

START_TEST(what_is_no_metrics_page_is_refused_by_name_and_place)
{
    struct adp_metrics *m = create();
    struct adp_promtext_found found = { .samples = 77 };
    struct adp_error err = { 0 };
    ck_assert_int_eq(read_exact(m, "old 1\n", 6, NULL, NULL), 0);
    ck_assert_int_eq(read_exact(m, foreign[_i].page, foreign[_i].len, &found, &err),
                     ADP_ESYNTAX);
    ck_assert_int_eq(err.code, ADP_ESYNTAX);
    ck_assert_str_eq(err.text, foreign[_i].text);
    ck_assert_uint_eq(err.line, foreign[_i].line);
    ck_assert_uint_eq(err.column, foreign[_i].column);
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    ck_assert_uint_eq(found.samples, 77);
    ck_assert_int_eq(read_exact(m, foreign[_i].page, foreign[_i].len, NULL, NULL),
                     ADP_ESYNTAX);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_page_begins_with_nothing_of_the_page_before)
{
    struct adp_metrics *m = create();
    struct adp_promtext_found found;
    struct text t;
    ck_assert_int_eq(read_exact(m, "a 1\na 2\nb x\n", 12, &found, NULL), 0);
    ck_assert_uint_eq(found.bad_lines, 1);
    ck_assert_uint_eq(found.samples, 2);
    ck_assert_uint_eq(adp_metrics_duplicates(m), 1);
    ck_assert_int_eq(read_exact(m, "b 3\n", 4, &found, NULL), 0);
    dump(m, &t);
    ck_assert_str_eq(t.at, "b 3;");
    ck_assert_uint_eq(found.bad_lines, 0);
    ck_assert_uint_eq(adp_metrics_duplicates(m), 0);
    ck_assert_int_eq(adp_promtext_read(m, NULL, 0, &found, NULL), 0);
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    adp_metrics_destroy(m);
}
END_TEST

static const struct {
    const char *page;
    bool openmetrics;
} ends[] = {
    { "a 1\n# EOF\n", true },
    { "a 1\n# EOF", true },
    { "# EOF\n", true },
    { "a 1\n# EOF\n\n", true },
    { "a 1\n", false },
    { "", false },
    { "a 1\n# EOF\nb 2\n", false },
    { "a 1\n# EOFX", false },
    { "a 1\n#EOF\n", false },
    { "a 1\n# EOF\n# x", false },
    { "a 1\n# EO", false },
    { "a 1\r\n# EOF\r\n", true },
};

START_TEST(only_a_last_line_of_eof_makes_it_openmetrics)
{
    struct adp_metrics *m = create();
    struct adp_promtext_found found;
    ck_assert_int_eq(read_exact(m, ends[_i].page, strlen(ends[_i].page), &found, NULL),
                     0);
    ck_assert(found.openmetrics == ends[_i].openmetrics);
    adp_metrics_destroy(m);
}
END_TEST

static const struct {
    const char *type;
    enum adp_promtext_format format;
} types[] = {
    { "text/plain", ADP_PROMTEXT_TEXT },
    { "text/plain; version=0.0.4; charset=utf-8", ADP_PROMTEXT_TEXT },
    { " Text/Plain;version=1.0.0;escaping=allow-utf-8", ADP_PROMTEXT_TEXT },
    { "application/openmetrics-text; version=1.0.0; charset=utf-8",
      ADP_PROMTEXT_OPENMETRICS },
    { "application/openmetrics-text", ADP_PROMTEXT_OPENMETRICS },
    { "text/html; charset=utf-8", ADP_PROMTEXT_UNSAID },
    { "application/json", ADP_PROMTEXT_UNSAID },
    { "text/plainer", ADP_PROMTEXT_UNSAID },
    { "text", ADP_PROMTEXT_UNSAID },
    { "", ADP_PROMTEXT_UNSAID },
    { NULL, ADP_PROMTEXT_UNSAID },
};

START_TEST(the_format_is_what_the_content_type_begins_with)
{
    ck_assert_int_eq((int)adp_promtext_format(types[_i].type), (int)types[_i].format);
}
END_TEST

/* `series` NULL: the page is refused with `why`. */
static const struct {
    enum adp_promtext_format format;
    const char *page, *series;
    uint32_t bad_lines, line;
    const char *why;
} declared[] = {
    { ADP_PROMTEXT_TEXT, "a 1 5000\n# EOF\n", "a 1 @5;", 0, 0, NULL },
    { ADP_PROMTEXT_TEXT, "a 1\n# EOF\nb 2\n", "a 1;b 2;", 0, 0, NULL },
    { ADP_PROMTEXT_TEXT, "a 1 # {} 1\nb 2\n# EOF\n", "b 2;", 1, 0, NULL },
    { ADP_PROMTEXT_UNSAID, "a 1 5000\n", "a 1 @5;", 0, 0, NULL },
    { ADP_PROMTEXT_UNSAID, "a 1 5000\n# EOF\n", "a 1 @5000;", 0, 0, NULL },
    { ADP_PROMTEXT_OPENMETRICS, "a 1 5000\n# EOF\n", "a 1 @5000;", 0, 0, NULL },
    { ADP_PROMTEXT_OPENMETRICS, "a 1 # {} 1\n# EOF\n\n", "a 1;", 0, 0, NULL },
    { ADP_PROMTEXT_OPENMETRICS, "a 1\n", NULL, 0, 1,
      "the page is cut off, expected # EOF at the end" },
    { ADP_PROMTEXT_OPENMETRICS, "", NULL, 0, 1,
      "the page is cut off, expected # EOF at the end" },
    { ADP_PROMTEXT_OPENMETRICS, "a 1\nb 2\n# EO", NULL, 0, 3,
      "the page is cut off, expected # EOF at the end" },
    { ADP_PROMTEXT_OPENMETRICS, "a 1\n# EOF\nb 2\n# EOF\n", NULL, 0, 3,
      "text behind # EOF, expected the end" },
    { ADP_PROMTEXT_OPENMETRICS, "a 1\n# EOF\n# x\n", NULL, 0, 3,
      "text behind # EOF, expected the end" },
    { ADP_PROMTEXT_OPENMETRICS, "[]", NULL, 0, 1,
      "looks like JSON, expected a metrics page" },
};

START_TEST(a_page_is_read_as_what_it_was_declared_to_be)
{
    struct adp_metrics *m = create();
    struct adp_promtext_found found = { .samples = 77 };
    struct adp_error err = { 0 };
    struct text t;
    int code = adp_promtext_read_as(m, declared[_i].format, declared[_i].page,
                                    strlen(declared[_i].page), &found, &err);
    ck_assert_int_eq(code, declared[_i].series ? 0 : ADP_ESYNTAX);
    dump(m, &t);
    ck_assert_str_eq(t.at, declared[_i].series ? declared[_i].series : "");
    if (declared[_i].series) {
        ck_assert_uint_eq(found.bad_lines, declared[_i].bad_lines);
    } else {
        ck_assert_str_eq(err.text, declared[_i].why);
        ck_assert_uint_eq(err.line, declared[_i].line);
        ck_assert_uint_eq(found.samples, 77);
    }
    adp_metrics_destroy(m);
}
END_TEST

/* ---- the same page again ---- */

/* `then` is read after `first`; `repeated`: by comparing. */
static const struct {
    const char *first, *then;
    bool repeated;
} again[] = {
    { "a 1\n", "a 2\n", true },
    { "a 1\n", "a 1\n", true },
    /* long values that stay, and some that seem to */
    { "a 1.79e+09876\n", "a 1.79e+09876\n", true },
    { "a 1795075675.25\nb 1\n", "a 1795075675.25\nb 2\n", true },
    { "a 1795075675.25\n", "a 1795075675.26\n", true },
    { "a 1795075675.25\n", "a 1795075675.251\n", true },
    { "a 1795075675.25\n", "a 1795075675.2\n", true },
    { "a 1795075675.25\n", "a 1795075675.25 3\n", true },
    { "a 1795075675.25", "a 1795075675.25", true },
    { "a 1795075675.25 1000\n", "a 1795075675.25 2000\n", true },
    { "a 1795075675.25 1000\n", "a 1795075675.25 1000\n", true },
    { "a 1795075675.25\n", "a 1795075675.25x\n", false },
    { "a 1", "a -12.5e3", true },
    { "a 1\n", "a NaN\n", true },
    { "a 1\n", "a 123456789012345678901234567890\n", true },
    { "a 1\n", "a   2\n",
      false }, /* blanks are part of the shape; the reading is the same */
    { "a 1\n", "a 2  \n", true },
    { "a 1\n", "a 2 5000\n", true },
    { "a 1 5000\n", "a 2 6000\n", true },
    { "a 1 5000\n", "a 2\n", true },
    { "a 1\r\nb 2\r\n", "a 3\r\nb 4\r\n", true },
    { "a 1\nb 2\n", "a 3\r\nb 4\n", true }, /* it is stripped all the same */
    { "# TYPE a gauge\na{l=\"v\"} 1\n# x\nb{l=\"v\"} 2\n",
      "# TYPE a gauge\na{l=\"v\"} 3\n# x\nb{l=\"v\"} 4\n", true },
    { "a{l=\"v\"} 1\nb 2\n", "a{l=\"w\"} 1\nb 2\n", false },
    { "a{l=\"v\"} 1\nb 2\n", "a{l=\"v\"} 1\nc 2\n", false },
    { "a 1\nb 2\n", "a 1\n", false },
    { "a 1\n", "a 1\nb 2\n", false },
    { "a 1\n", "", false },
    { "a 1\n", "a 1", false },
    { "a 1\n", "a x\nb 1\n", false },
    { "a 1\nb 2\n", "a 3\nb x\n", false },
    { "a 1\nb 2\n", "a 3\nb 4 x\n", false },
    { "a 1\nb 2\n", "a 3\nb 4x\n", false },
    { "a 1\nb 2\n", "a 3\nb\n", false },
    { "a x\nb 2\n", "a x\nb 3\n", true }, /* a bad line that says the same again */
    { "a x\nb 2\n", "a y\nb 3\n", false },
    { "a x\nb 2\n", "a 1\nb 3\n", false },
    { "a 1\na 2\n", "a 3\na 4\n", false }, /* duplicates have no shape */
    { "a 1 # {t=\"x\"} 2\n# EOF\n", "a 3 # {t=\"longer\"} 4 5\n# EOF\n", true },
    { "a 1 5\n# EOF\n", "a 1 6\n# EOF\n", true },
    { "a 1 5\n# EOF\n", "a 1 6\n", false },
    { "a 1\n# EOF\n", "a 1 x\n# EOF\nb 1\n", false },
    { "{\"a.b\",\"l\"=\"\\\"\"} 1\n", "{\"a.b\",\"l\"=\"\\\"\"} 2\n", true },
    { "\xef\xbb\xbf"
      "a 1\n",
      "\xef\xbb\xbf"
      "a 2\n",
      true },
};

static void expect_same_found(const struct adp_promtext_found *a,
                              const struct adp_promtext_found *b)
{
    ck_assert_uint_eq(a->samples, b->samples);
    ck_assert_uint_eq(a->bad_lines, b->bad_lines);
    ck_assert_uint_eq(a->first_bad_line, b->first_bad_line);
    ck_assert_uint_eq(a->first_bad_column, b->first_bad_column);
    ck_assert_pstr_eq(a->first_bad_why, b->first_bad_why);
    ck_assert(a->openmetrics == b->openmetrics);
}

START_TEST(a_page_compared_gives_what_reading_it_gives)
{
    struct adp_metrics *m = create(), *fresh = create();
    struct adp_promtext_found found = { 0 }, plain = { 0 };
    struct text t, expected;
    read_exact(m, again[_i].first, strlen(again[_i].first), NULL, NULL);
    int code = read_exact(m, again[_i].then, strlen(again[_i].then), &found, NULL);
    int plain_code =
        read_exact(fresh, again[_i].then, strlen(again[_i].then), &plain, NULL);
    ck_assert_int_eq(code, plain_code);
    dump(m, &t);
    dump(fresh, &expected);
    ck_assert_str_eq(t.at, expected.at);
    expect_same_found(&found, &plain);
    ck_assert_msg(found.repeated == again[_i].repeated, "%s", again[_i].then);
    ck_assert(!plain.repeated);
    adp_metrics_destroy(m);
    adp_metrics_destroy(fresh);
}
END_TEST

START_TEST(a_long_value_that_comes_back_is_the_one_of_now)
{
    static const char *const scrapes[] = { "a 1795075675.25\n", "a 1795075675.26\n",
                                           "a 1795075675.25\n" };
    struct adp_metrics *m = create();
    struct adp_promtext_found found;
    for (int i = 0; i < COUNT(scrapes); i++)
        ck_assert_int_eq(read_exact(m, scrapes[i], strlen(scrapes[i]), &found, NULL), 0);
    ck_assert(found.repeated);
    ck_assert(adp_metrics_at(m, 0)->value == 1795075675.25);
    adp_metrics_destroy(m);
}
END_TEST

/* ---- a line and the line before it ---- */

/* Some like others but for a byte. */
static const char *const near[] = {
    "m 1",
    "m{} 1",
    "m{l=\"v\"} 1",
    "m{l=\"v\",} 1",
    "m{l=\"v\"}",
    "m{l=\"v\"",
    "m{l=\"v",
    "m{l=\"v\"} x",
    "m{l=\"\"} 1",
    "m{l=\"w\"} 1",
    "m{l=\"vv\"} 1",
    "m{l=\"v\\\"\"} 1",
    "m{l=\"v\\x\"} 1",
    "m{l=\"v\" } 1",
    "m{l =\"v\"} 1",
    "m{ll=\"v\"} 1",
    "m{k=\"v\"} 1",
    "m{\"l\"=\"v\"} 1",
    "m{l=\"v\"m=\"w\"} 1",
    "m{l=\"v\",m=\"w\"} 1",
    "m{l=\"v\",m=\"w\",n=\"x\"} 1 5",
    "m{l=\"v\",m=\"x\",n=\"x\"} 1",
    "m{l=\"w\",m=\"w\",n=\"y\"} 1 # {} 1",
    "m{l=\"v\",m=\"ww\",n=\"\"} 1",
    "m{l=\"v\",m=\"w\",m=\"x\"} 1",
    "m{l=\"v\",k=\"w\",n=\"x\"} 1",
    "m{n=\"x\",l=\"v\",m=\"w\"} 1",
    "mm{l=\"v\",m=\"w\",n=\"x\"} 1",
    "m_long_name_of_a_metric_bucket{l=\"a value that is long\",m=\"w\"} 1",
    "m_long_name_of_a_metric_bucket{l=\"a value that is longer\",m=\"w\"} 1",
    "m_long_name_of_a_metric_sum{l=\"a value that is lon\",m=\"w\"} 1",
    "{\"m\",l=\"v\"} 1",
    "{\"m.m\",l=\"v\"} 1",
    "9{l=\"v\"} 1",
    "# m{l=\"v\"} 1",
    "",
};

/* Reads `first` with what follows it and gives what its last line says. */
static void last_of(const char *first, const char *then, struct text *ret,
                    struct adp_promtext_found *ret_found)
{
    struct adp_metrics *m = create();
    struct text page = { .n = 0 };
    put(&page, "last_resort 0\n%s\n%s\n", first, then);
    ck_assert_int_eq(read_exact(m, page.at, page.n, ret_found, NULL), 0);
    if (adp_metrics_duplicates(m)) {
        ret->n = 0;
        put(ret, "one of those before");
    } else {
        dump(m, ret);
    }
    adp_metrics_destroy(m);
}

START_TEST(a_line_says_the_same_behind_any_other)
{
    struct adp_promtext_found before, alone, both;
    struct text a, b, expected = { .n = 0 }, got;
    const char *first = near[_i];
    for (int k = 0; k < COUNT(near); k++) {
        last_of(first, "", &a, &before);
        last_of("", near[k], &b, &alone);
        last_of(first, near[k], &got, &both);
        ck_assert_uint_eq(both.samples, before.samples + alone.samples - 1);
        ck_assert_uint_eq(both.bad_lines, before.bad_lines + alone.bad_lines);
        if (alone.bad_lines && !before.bad_lines) {
            ck_assert_uint_eq(both.first_bad_line, alone.first_bad_line);
            ck_assert_uint_eq(both.first_bad_column, alone.first_bad_column);
            ck_assert_pstr_eq(both.first_bad_why, alone.first_bad_why);
        }
        expected.n = 0;
        put(&expected, "%s%s", a.at, b.at + strlen("last_resort 0;"));
        if (strcmp(got.at, "one of those before") != 0)
            ck_assert_str_eq(got.at, expected.at);
    }
}
END_TEST

START_TEST(another_declaration_is_not_compared)
{
    struct adp_metrics *m = create();
    struct adp_promtext_found found;
    struct text t;
    ck_assert_int_eq(read_exact(m, "a 1 5\n# EOF\n", 12, &found, NULL), 0);
    ck_assert_int_eq(
        adp_promtext_read_as(m, ADP_PROMTEXT_TEXT, "a 1 5\n# EOF\n", 12, &found, NULL),
        0);
    ck_assert(!found.repeated);
    dump(m, &t);
    ck_assert_str_eq(t.at, "a 1 @0.005;");
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(what_was_added_since_is_no_part_of_the_page)
{
    struct adp_metrics *m = create();
    struct adp_promtext_found found;
    struct adp_str x = { "x", 1 };
    struct text t;
    ck_assert_int_eq(read_exact(m, "a 1\n", 4, NULL, NULL), 0);
    ck_assert_int_eq(adp_metrics_add(m, x, NULL, 0, 7, false, 0, NULL), 0);
    ck_assert_int_eq(read_exact(m, "a 2\n", 4, &found, NULL), 0);
    ck_assert(!found.repeated);
    dump(m, &t);
    ck_assert_str_eq(t.at, "a 2;");
    adp_metrics_clear(m);
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    ck_assert_uint_eq(adp_metrics_find(m, "a", 1), ADP_NO_SERIES);
    ck_assert_int_eq(adp_metrics_add(m, x, NULL, 0, 7, false, 0, NULL), 0);
    dump(m, &t);
    ck_assert_str_eq(t.at, "x 7;");
    ck_assert_uint_eq(adp_metrics_find(m, "a", 1), ADP_NO_SERIES);
    ck_assert_int_eq(read_exact(m, "a 3\n", 4, &found, NULL), 0);
    ck_assert(!found.repeated);
    ck_assert_int_eq(read_exact(m, "a 4\n", 4, &found, NULL), 0);
    ck_assert(found.repeated);
    adp_metrics_destroy(m);
}
END_TEST

/* ---- bounds ---- */

static char *long_page(uint32_t lines, const char *end, size_t *ret_len)
{
    size_t cap = (size_t)lines * 32 + strlen(end) + 1;
    char *page = malloc(cap);
    ck_assert_ptr_nonnull(page);
    size_t n = 0;
    for (uint32_t i = 0; i < lines; i++)
        n += (size_t)snprintf(page + n, cap - n, "m{i=\"%u\"} %u\n", i, i);
    n += (size_t)snprintf(page + n, cap - n, "%s", end);
    *ret_len = n;
    return page;
}

START_TEST(too_many_series_refuse_the_page_and_name_the_line)
{
    struct adp_metrics *m = create();
    struct adp_error err = { 0 };
    size_t len;
    char *page = long_page(ADP_METRICS_MAX_SERIES, "", &len);
    ck_assert_int_eq(adp_promtext_read(m, page, len, NULL, NULL), 0);
    ck_assert_uint_eq(adp_metrics_count(m), ADP_METRICS_MAX_SERIES);
    free(page);
    page = long_page(ADP_METRICS_MAX_SERIES, "m{i=\"7\"} 1\n\nn 1\n", &len);
    ck_assert_int_eq(adp_promtext_read(m, page, len, NULL, &err), ADP_EFULL);
    ck_assert_str_eq(err.text, "more than 65536 series");
    ck_assert_uint_eq(err.line, ADP_METRICS_MAX_SERIES + 3);
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    free(page);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(too_many_labels_refuse_the_page_and_name_the_line)
{
    struct adp_metrics *m = create();
    struct adp_error err = { 0 };
    struct text page = { .n = 0 };
    put(&page, "b{l=\"\",l=\"\"} 1\nm{"); /* what that line lacked is forgotten */
    for (uint32_t i = 0; i < ADP_METRICS_MAX_LABELS; i++)
        put(&page, "l%u=\"\",", i);
    size_t n = page.n;
    put(&page, "} 1");
    ck_assert_int_eq(read_exact(m, page.at, page.n, NULL, &err), 0);
    ck_assert_uint_eq(adp_metrics_at(m, 0)->n_labels, ADP_METRICS_MAX_LABELS);
    page.n = n;
    put(&page, "x=\"\",y=\"\"");
    for (int i = 0; i < 100; i++) /* nor is there room for as many */
        put(&page, ",target=\"\"");
    put(&page, "} 1");
    ck_assert_int_eq(read_exact(m, page.at, page.n, NULL, &err), ADP_EFULL);
    ck_assert_str_eq(err.text, "more than 64 labels on one series");
    ck_assert_uint_eq(err.line, 2);
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_line_may_be_as_long_as_the_text_of_a_page)
{
    struct adp_metrics *m = create();
    size_t len = ADP_METRICS_MAX_TEXT;
    char *page = malloc(len + 16);
    ck_assert_ptr_nonnull(page);
    memset(page, 'x', len + 16);
    memcpy(page, "m{l=\"\\n", 7);
    memcpy(page + len, "\"} 1\n", 5);
    ck_assert_int_eq(adp_promtext_read(m, page, len + 5, NULL, NULL), 0);
    ck_assert_uint_eq(adp_metrics_at(m, 0)->labels[0].value.n, len - 6);
    ck_assert_int_eq(adp_metrics_at(m, 0)->labels[0].value.p[0], '\n');
    free(page);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_page_longer_than_any_line_number_is_refused_unread)
{
    struct adp_metrics *m = create();
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_promtext_read(m, "a 1\n", (size_t)UINT32_MAX + 1, NULL, &err),
                     ADP_EFULL);
    ck_assert_str_eq(err.text, "page of more than 4294967295 bytes");
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(without_memory_the_page_is_refused_and_can_be_read_again)
{
    size_t len;
    char *page = long_page(3000, "x{l=\"\\\\\"} 1\n", &len);
    uint64_t failed = 0;
    for (uint64_t n = 1;; n++, failed++) {
        struct adp_metrics *m = create();
        struct adp_error err = { 0 };
        fail_allocation(n);
        int code = adp_promtext_read(m, page, len, NULL, &err);
        bool reached = allocations >= n;
        fail_allocation(0);
        if (code) {
            ck_assert_int_eq(code, ADP_ENOMEM);
            ck_assert_str_eq(err.text, "out of memory");
            ck_assert_uint_eq(adp_metrics_count(m), 0);
            ck_assert_int_eq(adp_promtext_read(m, page, len, NULL, NULL), 0);
        }
        /* without memory for its shape, a page is read as well as with it */
        ck_assert_uint_eq(adp_metrics_count(m), 3001);
        ck_assert_int_eq(adp_promtext_read(m, page, len, NULL, NULL), 0);
        ck_assert_uint_eq(adp_metrics_count(m), 3001);
        adp_metrics_destroy(m);
        if (!reached)
            break;
    }
    ck_assert_uint_ge(failed, 5);
    free(page);
}
END_TEST

START_TEST(a_page_of_a_known_shape_is_read_without_allocating)
{
    struct adp_metrics *m = create();
    size_t len;
    char *page = long_page(3000, "", &len);
    ck_assert_int_eq(adp_promtext_read(m, page, len, NULL, NULL), 0);
    ck_assert_int_eq(adp_promtext_read(m, page, len, NULL, NULL), 0);
    fail_allocation(1);
    int code = adp_promtext_read(m, page, len, NULL, NULL);
    uint64_t needed = allocations;
    fail_allocation(0);
    ck_assert_int_eq(code, 0);
    ck_assert_uint_eq(needed, 0);
    free(page);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_page_cut_anywhere_is_read_up_to_there)
{
    static const char page[] = "# HELP a \\n\na{l=\"\\\"}\",m=\"w\"} 12.5 # {t=\"x\"} 1\n"
                               "{\"b\",l=\"v\"} -1e3 1395066363000\nc NaN\n# EOF\n";
    struct adp_metrics *m = create();
    for (size_t n = 0; n < sizeof page; n++) {
        struct adp_promtext_found found = { 0 };
        int code = read_exact(m, page, n, &found, NULL);
        /* until # EOF allows it, the exemplar makes a bad line, at first the only one */
        ck_assert(code == 0 || (code == ADP_ESYNTAX && n < 63));
        ck_assert_uint_eq(found.samples, adp_metrics_count(m));
        ck_assert_uint_le(found.bad_lines, 2);
        ck_assert_uint_le(found.samples, 3);
    }
    adp_metrics_destroy(m);
}
END_TEST

/* ---- pages of real engines, when they lie beside the source ---- */

/* `bad`: lines that are no samples. MLC prints label values without quotes. */
static const struct {
    const char *file;
    uint32_t samples, bad;
} real[] = {
    { "01_vllm_v0_0.4_2024-06.prom", 120, 0 },
    { "02_vllm_v0_0.7_2025-01_fragment.prom", 29, 0 },
    { "03_vllm_v1_0.11_2025-11_idle.prom", 379, 0 },
    { "04_vllm_v1_2026-03_idle_kops.prom", 395, 0 },
    { "05_vllm_v1_2026-05_loaded_lmcache.prom", 415, 0 },
    { "06_vllm_v1_2026-09_idle_admitperf.prom", 405, 0 },
    { "07_lmcache_2026-05_loaded.prom", 105, 0 },
    { "08a_vllm_0.11_multiproc_pid_fragment.prom", 8, 0 },
    { "08b_vllm_dp2_fragment.prom", 3, 0 },
    { "08c_vllm_0.10.0_both_names_fragment.prom", 5, 0 },
    { "08d_vllm_lora_info_fragment.prom", 3, 0 },
    { "08e_vllm_headers_without_samples_fragment.prom", 0, 0 },
    { "09_ray_serve_vllm_2.32_2024-12_fragment.prom", 27, 0 },
    { "10_sglang_0.3.6_2024-11_docs.prom", 135, 0 },
    { "11_sglang_0.4_docs_loaded.prom", 33, 0 },
    { "12_sglang_0.5_dynamo_worker_2026-01.prom", 227, 0 },
    { "13_sglang_dp8_fragment.prom", 9, 0 },
    { "14_trtllm_dynamo_worker_2026-01.prom", 124, 0 },
    { "15_triton_trtllm_backend_fragment.prom", 20, 0 },
    { "16_dynamo_frontend_2026-01.prom", 89, 0 },
    { "17_nim_1.x_2024-10.prom", 111, 0 },
    { "18a_llamacpp_2025-08_kv_ratio.prom", 10, 0 },
    { "18b_llamacpp_2025_no_kv.prom", 10, 0 },
    { "19_tgis_ibm_vllm_fragment.prom", 15, 0 },
    { "20_lmdeploy_generated.prom", 309, 0 },
    { "21_mlc_llm_generated.txt", 20, 9 },
    { "22_dcgm_l4_2026-03.prom", 23, 0 },
    { "23_dcgm_a800x8_mig_fragment.prom", 37, 0 },
    { "24_dcgm_h100x8_pod_labels_fragment.prom", 30, 0 },
    { "25_dcgm_readme_fragment.prom", 3, 0 },
    { "26_amd_device_metrics_mini.prom", 5, 0 },
    { "27_llmd_epp_pool_goldens.prom", 12, 0 },
    { "28_node_exporter_1.5.0.prom", 507, 0 },
    { "29_client_python_0.16_plain.prom", 24, 0 },
    { "30_client_python_0.16_openmetrics.om", 24, 0 },
    { "31_client_python_0.16_multiprocess.prom", 11, 0 },
};

static void real_path(char *to, size_t cap, const char *file)
{
    const char *source = getenv("srcdir");
    snprintf(to, cap, "%s/../shared/data/metrics/%s", source ? source : ".", file);
}

/* The whole file, to be freed, or NULL when it is not there. */
static char *slurp(const char *file, size_t *ret_len)
{
    char path[1024];
    real_path(path, sizeof path, file);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *page = malloc(1 << 20);
    ck_assert_ptr_nonnull(page);
    *ret_len = fread(page, 1, 1 << 20, f);
    fclose(f);
    return page;
}

START_TEST(a_real_page_has_the_samples_it_is_known_to_have)
{
    size_t len;
    char *page = slurp(real[_i].file, &len);
    if (!page)
        return; /* no_real_page_is_left_out says so */
    struct adp_metrics *m = create();
    struct adp_promtext_found found;
    struct adp_error err = { 0 };
    int code = read_exact(m, page, len, &found, &err);
    ck_assert_msg(!code, "%s: %u: %s", real[_i].file, err.line, err.text);
    ck_assert_uint_eq(found.samples, real[_i].samples);
    ck_assert_uint_eq(found.bad_lines, real[_i].bad);
    ck_assert(found.openmetrics == (strstr(real[_i].file, ".om") != NULL));
    struct adp_promtext_found again_found;
    ck_assert_int_eq(read_exact(m, page, len, &again_found, NULL), 0);
    ck_assert(again_found.repeated ==
              (found.samples > 0 && adp_metrics_duplicates(m) == 0));
    expect_same_found(&again_found, &found);
    adp_metrics_destroy(m);
    free(page);
}
END_TEST

START_TEST(the_empty_list_of_trtllm_serve_is_no_page)
{
    size_t len;
    char *page = slurp("32_trtllm_serve_metrics_empty.json", &len);
    if (!page)
        return; /* no_real_page_is_left_out says so */
    struct adp_metrics *m = create();
    ck_assert_int_eq(read_exact(m, page, len, NULL, NULL), ADP_ESYNTAX);
    adp_metrics_destroy(m);
    free(page);
}
END_TEST

START_TEST(no_real_page_is_left_out)
{
    char path[1024];
    real_path(path, sizeof path, "");
    DIR *d = opendir(path);
    if (!d) {
        printf("skipped: real pages: no ../shared/data/metrics beside the source\n");
        return;
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        bool known = e->d_name[0] == '.' || !strcmp(e->d_name, "README.md") ||
                     !strcmp(e->d_name, "32_trtllm_serve_metrics_empty.json");
        for (int i = 0; !known && i < COUNT(real); i++)
            known = !strcmp(e->d_name, real[i].file);
        ck_assert_msg(known, "%s is in no test", e->d_name);
    }
    closedir(d);
}
END_TEST

static const struct {
    const char *file, *name, *labels; /* labels as "name=value" of one, or "" */
    double value;
} facts[] = {
    { "08a_vllm_0.11_multiproc_pid_fragment.prom", "vllm:kv_cache_usage_perc", "pid=273",
      0.6530455880475035 },
    { "08b_vllm_dp2_fragment.prom", "vllm:kv_cache_usage_perc", "engine=3",
      -0.3875395987328405 },
    { "17_nim_1.x_2024-10.prom", "num_request_max", "", 64 },
    { "19_tgis_ibm_vllm_fragment.prom", "tgi_batch_inference_duration_bucket",
      "method={'method': 'prefill'}", 0.0 },
    { "25_dcgm_readme_fragment.prom", "DCGM_FI_DEV_MEMORY_TEMP", "gpu=0", 0x1p63 },
    { "29_client_python_0.16_plain.prom", "engine_kv_usage",
      "model_name=quote\"back\\slash\nnewline,comma}brace", 0.5 },
    { "30_client_python_0.16_openmetrics.om", "engine_kv_usage", "model_name=big",
      115891634176.0 },
    { "30_client_python_0.16_openmetrics.om", "engine_ttft_seconds_bucket", "le=0.05",
      1.0 },
};

static bool has_label(const struct adp_series *s, const char *label)
{
    bool has = !*label;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        struct text t = { .n = 0 };
        put(&t, "%.*s=%.*s", (int)s->labels[i].name.n, s->labels[i].name.p,
            (int)s->labels[i].value.n, s->labels[i].value.p);
        has |= !strcmp(t.at, label);
    }
    return has;
}

START_TEST(a_real_page_says_what_it_is_known_to_say)
{
    size_t len;
    char *page = slurp(facts[_i].file, &len);
    if (!page)
        return; /* no_real_page_is_left_out says so */
    struct adp_metrics *m = create();
    ck_assert_int_eq(read_exact(m, page, len, NULL, NULL), 0);
    uint32_t i = adp_metrics_find(m, facts[_i].name, strlen(facts[_i].name));
    while (i != ADP_NO_SERIES && !has_label(adp_metrics_at(m, i), facts[_i].labels))
        i = adp_metrics_at(m, i)->next;
    ck_assert_uint_ne(i, ADP_NO_SERIES);
    ck_assert(adp_metrics_at(m, i)->value == facts[_i].value);
    adp_metrics_destroy(m);
    free(page);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("promtext");
    TCase *t = tcase_create("promtext");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_well_formed_page_is_read_as_it_says, 0, COUNT(pages));
    tcase_add_loop_test(t, a_bad_line_costs_that_line, 0, COUNT(bad));
    tcase_add_loop_test(t, a_page_of_bad_lines_only_is_no_page, 0, COUNT(bad));
    tcase_add_loop_test(t, what_is_no_metrics_page_is_refused_by_name_and_place, 0,
                        COUNT(foreign));
    tcase_add_test(t, a_page_begins_with_nothing_of_the_page_before);
    tcase_add_loop_test(t, only_a_last_line_of_eof_makes_it_openmetrics, 0, COUNT(ends));
    tcase_add_loop_test(t, the_format_is_what_the_content_type_begins_with, 0,
                        COUNT(types));
    tcase_add_loop_test(t, a_page_is_read_as_what_it_was_declared_to_be, 0,
                        COUNT(declared));
    tcase_add_loop_test(t, a_page_compared_gives_what_reading_it_gives, 0, COUNT(again));
    tcase_add_test(t, a_long_value_that_comes_back_is_the_one_of_now);
    tcase_add_loop_test(t, a_line_says_the_same_behind_any_other, 0, COUNT(near));
    tcase_add_test(t, another_declaration_is_not_compared);
    tcase_add_test(t, what_was_added_since_is_no_part_of_the_page);
    tcase_add_test(t, too_many_series_refuse_the_page_and_name_the_line);
    tcase_add_test(t, too_many_labels_refuse_the_page_and_name_the_line);
    tcase_add_test(t, a_line_may_be_as_long_as_the_text_of_a_page);
    tcase_add_test(t, a_page_longer_than_any_line_number_is_refused_unread);
    tcase_add_test(t, without_memory_the_page_is_refused_and_can_be_read_again);
    tcase_add_test(t, a_page_of_a_known_shape_is_read_without_allocating);
    tcase_add_test(t, a_page_cut_anywhere_is_read_up_to_there);
    tcase_add_loop_test(t, a_real_page_has_the_samples_it_is_known_to_have, 0,
                        COUNT(real));
    tcase_add_test(t, the_empty_list_of_trtllm_serve_is_no_page);
    tcase_add_test(t, no_real_page_is_left_out);
    tcase_add_loop_test(t, a_real_page_says_what_it_is_known_to_say, 0, COUNT(facts));
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
