/* SPDX-License-Identifier: MIT */
#include "core/expr.h"

#include "core/dictionary.h"

#include "core/promtext.h"
#include "core/replicas.h"
#include "tests/core/failing.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

enum form { METRIC, EXPR };

static int compile(struct adp_expr **ret, enum form form, const char *text,
                   struct adp_error *err)
{
    return form == METRIC ? adp_expr_compile_metric(ret, text, "c.yaml", 3, 10, err)
                          : adp_expr_compile(ret, text, "c.yaml", 3, 10, err);
}

static struct adp_expr *compiled(enum form form, const char *text)
{
    struct adp_expr *expr = NULL;
    struct adp_error err = { 0 };
    int rc = compile(&expr, form, text, &err);
    ck_assert_msg(rc == 0, "%s: column %u: %s", text, err.column, err.text);
    return expr;
}

static struct adp_metrics *page_of(const char *text)
{
    struct adp_metrics *metrics = NULL;
    struct adp_promtext_found found;
    ck_assert_int_eq(adp_metrics_create(&metrics), 0);
    ck_assert_int_eq(adp_promtext_read(metrics, text, strlen(text), &found, NULL), 0);
    ck_assert_uint_eq(found.bad_lines, 0);
    return metrics;
}

/* ---- what is refused ---- */

static const struct {
    enum form form;
    const char *text;
    int code;
    uint32_t column; /* 10 is the first byte of the text */
    const char *message;
} refusals[] = {
    { EXPR, "", ADP_ESYNTAX, 10,
      "an operand is missing, found the end, expected a number, a metric, a function or "
      "\"(\"" },
    { EXPR, "used /", ADP_ESYNTAX, 16,
      "an operand is missing, found the end, expected a number, a metric, a function or "
      "\"(\"" },
    { EXPR, "used / * total", ADP_ESYNTAX, 17,
      "an operand is missing, found \"*\", expected a number, a metric, a function or "
      "\"(\"" },
    { EXPR, "+used", ADP_ESYNTAX, 10,
      "an operand is missing, found \"+\", expected a number, a metric, a function or "
      "\"(\"" },
    { EXPR, "()", ADP_ESYNTAX, 11,
      "an operand is missing, found \")\", expected a number, a metric, a function or "
      "\"(\"" },
    { EXPR, "used total", ADP_ESYNTAX, 15,
      "the expression cannot go on here, found \"total\", expected +, -, *, / or the "
      "end" },
    { EXPR, "used % 2", ADP_ESYNTAX, 15,
      "the expression cannot go on here, found \"%\", expected +, -, *, / or the end" },
    { EXPR, "used)", ADP_ESYNTAX, 14,
      "the expression cannot go on here, found \")\", expected +, -, *, / or the end" },
    { EXPR, "used \"two words\"", ADP_ESYNTAX, 15,
      "the expression cannot go on here, found \"two words\", expected +, -, *, / or the "
      "end" },
    { EXPR, "used \xc3\xa9\xc3\xa9 2", ADP_ESYNTAX, 15,
      "the expression cannot go on here, found \"\xc3\xa9\xc3\xa9\", expected +, -, *, / "
      "or the end" },
    { EXPR, "2 * (used + 1", ADP_ESYNTAX, 23,
      "the \"(\" of column 14 is not closed, found the end, expected +, -, *, / or "
      "\")\"" },
    { EXPR, "(used total)", ADP_ESYNTAX, 16,
      "the \"(\" of column 10 is not closed, found \"total\", expected +, -, *, / or "
      "\")\"" },
    /* numbers */
    { EXPR, "0x10 * used", ADP_ESYNTAX, 10,
      "not a number, found \"0x10\", expected digits with an optional point and e" },
    { EXPR, "used / 1e3x", ADP_ESYNTAX, 17,
      "not a number, found \"1e3x\", expected digits with an optional point and e" },
    { EXPR, "used * 1e", ADP_ESYNTAX, 17,
      "not a number, found \"1e\", expected digits with an optional point and e" },
    { EXPR, "used * .", ADP_ESYNTAX, 17,
      "not a number, found \".\", expected digits with an optional point and e" },
    { EXPR, "used * 1e999", ADP_ESYNTAX, 17,
      "a number is too large, found \"1e999\", expected one below 1.8e308" },
    /* functions */
    { EXPR, "quantile(1.5, h)", ADP_ESYNTAX, 19,
      "a quantile is out of range, found \"1.5\", expected a number from 0 to 1" },
    { EXPR, "quantile(h, 0.5)", ADP_ESYNTAX, 19,
      "not a number, found \"h\", expected digits with an optional point and e" },
    { EXPR, "quantile(0.5)", ADP_ESYNTAX, 22,
      "the metric is missing, found \")\", expected \",\" and a metric" },
    { EXPR, "quantile(0.5, sum(h))", ADP_ESYNTAX, 27,
      "the \"(\" of column 18 is not closed, found \"(\", expected \")\" after one "
      "metric" },
    { EXPR, "label(h)", ADP_ESYNTAX, 17,
      "the metric is missing, found \")\", expected \",\" and a metric" },
    { EXPR, "label(1, h)", ADP_ESYNTAX, 16,
      "a label is missing, found \"1\", expected a label name" },
    { EXPR, "1 - summ(used)", ADP_ESYNTAX, 14,
      "unknown function, found \"summ\", did you mean \"sum\"" },
    { EXPR, "detla(hits)", ADP_ESYNTAX, 10,
      "unknown function, found \"detla\", did you mean \"delta\"" },
    { EXPR, "avg (used)", ADP_ESYNTAX, 10,
      "unknown function, found \"avg\", expected delta, rate, sum, max, min, mean, "
      "share, either, "
      "quantile or label" },
    { EXPR, "sum(used", ADP_ESYNTAX, 18,
      "the \"(\" of column 13 is not closed, found the end, expected +, -, *, / or "
      "\")\"" },
    { EXPR, "rate(hits + 1)", ADP_ESYNTAX, 20,
      "the \"(\" of column 14 is not closed, found \"+\", expected \")\" after one "
      "metric" },
    { EXPR, "delta(sum(hits))", ADP_ESYNTAX, 19,
      "the \"(\" of column 15 is not closed, found \"(\", expected \")\" after one "
      "metric" },
    { EXPR, "delta(3)", ADP_ESYNTAX, 16,
      "a metric is missing, found \"3\", expected a metric name" },
    /* labels */
    { EXPR, "used{", ADP_ESYNTAX, 15,
      "a label is missing, found the end, expected a label name or \"}\"" },
    { EXPR, "used{engine}", ADP_ESYNTAX, 21,
      "a label is not compared with anything, found \"}\", expected =, !=, =~ or !~" },
    { EXPR, "used{engine==\"0\"}", ADP_ESYNTAX, 22,
      "a label's value is missing, found \"=\", expected a text in double quotes" },
    { EXPR, "used{engine=0}", ADP_ESYNTAX, 22,
      "a label's value is missing, found \"0\", expected a text in double quotes" },
    { EXPR, "used{engine='0'}", ADP_ESYNTAX, 22,
      "a label's value is missing, found \"'\", expected a text in double quotes" },
    { EXPR, "used{engine=\"0}", ADP_ESYNTAX, 25,
      "the quote of column 22 is not closed, found the end, expected another quote" },
    { EXPR, "used{engine=\"0\" x", ADP_ESYNTAX, 26,
      "a label's value ends here, found \"x\", expected \",\" or \"}\"" },
    { EXPR, "used{,}", ADP_ESYNTAX, 15,
      "a label is missing, found \",\", expected a label name or \"}\"" },
    { EXPR, "used{engine=~\"a(b\"}", ADP_ESYNTAX, 23,
      "a \"(\" is not closed, found \"a(b\", expected a pattern of docs/signals.md" },
    { EXPR, "\"\" / 2", ADP_ESYNTAX, 10,
      "a name is empty, found \"\", expected a metric name" },
    { EXPR, "share(a)", ADP_ESYNTAX, 17,
      "the second operand is missing, found \")\", expected +, -, *, / or \",\"" },
    { EXPR, "either(a, b", ADP_ESYNTAX, 21,
      "the \"(\" of column 16 is not closed, found the end, expected +, -, *, / or "
      "\")\"" },
    { EXPR, "share(a, )", ADP_ESYNTAX, 19,
      "an operand is missing, found \")\", expected a number, a metric, a function or "
      "\"(\"" },
    /* no metric at all */
    { EXPR, "1 / 2", ADP_EINVAL, 10,
      "the expression names no metric, so it could never be absent" },
    /* metric: */
    { METRIC, "", ADP_ESYNTAX, 10,
      "a metric is missing, found the end, expected a metric name" },
    { METRIC, "{engine=\"0\"}", ADP_ESYNTAX, 10,
      "a metric is missing, found \"{\", expected a metric name" },
    { METRIC, "used / total", ADP_ESYNTAX, 14,
      "a bare metric name ends here, found \" \", expected \"{\", the end, or the name "
      "in "
      "double quotes (expr: takes expressions)" },
    { METRIC, "sum(used)", ADP_ESYNTAX, 13,
      "a bare metric name ends here, found \"(\", expected \"{\", the end, or the name "
      "in "
      "double quotes (expr: takes expressions)" },
    { METRIC, "used{a=\"b\"} / 2", ADP_ESYNTAX, 22,
      "the metric cannot go on here, found \"/\", expected the end" },
    { METRIC, "\"used", ADP_ESYNTAX, 15,
      "the quote of column 10 is not closed, found the end, expected another quote" },
    { METRIC, "\"\"", ADP_ESYNTAX, 10,
      "a name is empty, found \"\", expected a metric name" },
};

START_TEST(a_mistake_is_told_with_its_column_and_what_was_expected)
{
    struct adp_expr *expr = NULL;
    struct adp_error err = { 0 };
    int rc = compile(&expr, refusals[_i].form, refusals[_i].text, &err);
    ck_assert_int_eq(rc, refusals[_i].code);
    ck_assert_str_eq(err.text, refusals[_i].message);
    ck_assert_uint_eq(err.column, refusals[_i].column);
    ck_assert_int_eq(err.code, refusals[_i].code);
    ck_assert_uint_eq(err.line, 3);
    ck_assert_str_eq(err.file, "c.yaml");
    ck_assert_ptr_null(expr);
    ck_assert_int_eq(compile(&expr, refusals[_i].form, refusals[_i].text, NULL), rc);
}
END_TEST

START_TEST(a_long_word_is_cut_in_the_message)
{
    struct adp_expr *expr = NULL;
    struct adp_error err = { 0 };
    ck_assert_int_eq(
        compile(&expr, EXPR, "a a123456789b123456789c123456789d123456789e123", &err),
        ADP_ESYNTAX);
    ck_assert_str_eq(
        err.text, "the expression cannot go on here, found "
                  "\"a123456789b123456789c123456789d123456789...\", expected +, -, *, / "
                  "or the end");
}
END_TEST

/* n times `left`, then `core`, then n times `right`, in the caller's buffer. */
static void nest(char *to, const char *left, const char *core, const char *right, int n)
{
    *to = '\0';
    for (int i = 0; i < n; i++)
        to = stpcpy(to, left);
    to = stpcpy(to, core);
    for (int i = 0; i < n; i++)
        to = stpcpy(to, right);
}

static const struct {
    const char *left, *core, *right;
    int n;
    uint32_t column; /* of the mistake; 0: none */
    const char *message;
} bounds[] = {
    { "(", "a", ")", 64, 0, NULL },
    { "(", "a", ")", 65, 10 + 64, "parentheses are nested deeper than 64" },
    { "sum(", "a", ")", 64, 0, NULL },
    { "sum(", "a", ")", 65, 10 + 4 * 64 + 3, "parentheses are nested deeper than 64" },
    /* a + 1 + 1 …: 1 + 2n parts, so 127 make 255 and 128 make 257 */
    { "", "a", "+1", 127, 0, NULL },
    { "", "a", "+1", 128, 10 + 1 + 2 * 127, "the expression has more than 256 parts" },
    /* a minus more or less is not a part of its own */
    { "-", "a", "", 1000, 0, NULL },
    { "", "a", " ", 4095, 0, NULL },
    { "", "a", " ", 4096, 10 + 4096, "the source is longer than 4096 bytes" },
};

START_TEST(depth_and_size_are_bounded)
{
    static char text[8192];
    struct adp_expr *expr = NULL;
    struct adp_error err = { 0 };
    nest(text, bounds[_i].left, bounds[_i].core, bounds[_i].right, bounds[_i].n);
    int rc = compile(&expr, EXPR, text, &err);
    if (bounds[_i].message) {
        ck_assert_int_eq(rc, ADP_EINVAL);
        ck_assert_str_eq(err.text, bounds[_i].message);
        ck_assert_uint_eq(err.column, bounds[_i].column);
        ck_assert_ptr_null(expr);
    } else {
        ck_assert_msg(rc == 0, "%s", err.text);
        adp_expr_destroy(expr);
    }
}
END_TEST

START_TEST(every_failed_allocation_is_reported_and_leaks_nothing)
{
    uint64_t n = 1;
    for (;; n++) {
        struct adp_expr *expr = NULL;
        struct adp_error err = { 0 };
        fail_allocation(n);
        int rc =
            compile(&expr, EXPR, "sum(a{b=~\"c|d\",e!~\"f.*\"}) / max(delta(g))", &err);
        fail_allocation(0);
        if (!rc) {
            adp_expr_destroy(expr);
            break;
        }
        ck_assert_int_eq(rc, ADP_ENOMEM);
        ck_assert_int_eq(err.code, ADP_ENOMEM);
        ck_assert_str_eq(err.text, "out of memory");
        ck_assert_ptr_null(expr);
    }
    ck_assert_uint_eq(n, 9); /* the expression, its five parts and two patterns */
}
END_TEST

START_TEST(scratch_reports_a_failed_allocation)
{
    for (uint64_t n = 1; n <= 3; n++) {
        struct adp_scratch *scratch = NULL;
        fail_allocation(n);
        int rc = adp_scratch_create(&scratch, 8);
        fail_allocation(0);
        ck_assert_int_eq(rc, ADP_ENOMEM);
        ck_assert_ptr_null(scratch);
    }
    struct adp_scratch *scratch = NULL;
    ck_assert_int_eq(adp_scratch_create(&scratch, 0), ADP_EINVAL);
    ck_assert_int_eq(adp_scratch_create(&scratch, ADP_METRICS_MAX_SERIES + 1),
                     ADP_EINVAL);
    ck_assert_ptr_null(scratch);
    adp_scratch_destroy(NULL);
    adp_expr_destroy(NULL);
}
END_TEST

/* ---- what a source says of itself ---- */

START_TEST(a_source_names_each_metric_once_and_keeps_its_text)
{
    struct adp_expr *e = compiled(EXPR, " a{x=\"1\"} / (a{x=\"2\"} + \"b c\") ");
    ck_assert_str_eq(adp_expr_text(e), " a{x=\"1\"} / (a{x=\"2\"} + \"b c\") ");
    ck_assert_str_eq(adp_expr_metric(e, 0), "a");
    ck_assert_str_eq(adp_expr_metric(e, 1), "b c");
    ck_assert_ptr_null(adp_expr_metric(e, 2));
    adp_expr_destroy(e);
}
END_TEST

START_TEST(each_reason_has_its_own_word)
{
    ck_assert_str_eq(adp_why_word(ADP_WHY_PRESENT), "present");
    ck_assert_str_eq(adp_why_word(ADP_WHY_DIVISOR_ZERO), "divisor_zero");
    for (int i = 0; i < ADP_WHY_COUNT; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(adp_why_word((enum adp_why)i),
                             adp_why_word((enum adp_why)j));
    ck_assert_str_eq(adp_why_word(ADP_WHY_COUNT), "unknown");
}
END_TEST

START_TEST(each_aggregation_has_its_own_word)
{
    ck_assert_str_eq(adp_aggregate_word(ADP_AGG_NONE), "none");
    ck_assert_str_eq(adp_aggregate_word(ADP_AGG_ONLY), "only");
    for (int i = 0; i <= ADP_AGG_ONLY; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(adp_aggregate_word((enum adp_aggregate)i),
                             adp_aggregate_word((enum adp_aggregate)j));
}
END_TEST

/* ---- what is read ---- */

#define ANY      -INFINITY, INFINITY
#define FRACTION 0, 1
#define COUNTS   0, INFINITY

#define E0 "{engine=\"0\"}"
#define E1 "{engine=\"1\"}"
#define E2 "{engine=\"2\"}"
#define E3 "{engine=\"3\"}"

/* Triton's way: one name, the kind in a label. */
#define BLOCKS                                                                           \
    "b{kind=\"used\",model=\"x\"} 3\nb{kind=\"max\",model=\"x\"} 4\n"                    \
    "b{kind=\"used\",model=\"y\"} 1\nb{kind=\"max\",model=\"y\"} 5\n"

#define HISTOGRAM(le_1, le_2, le_4, all)                                                 \
    "h_bucket{le=\"1\"} " le_1 "\nh_bucket{le=\"2\"} " le_2 "\n"                         \
    "h_bucket{le=\"4\"} " le_4 "\nh_bucket{le=\"+Inf\"} " all "\nh_count " all "\n"

/* Each with the bounds 1 and 2 and none above; given are those up to 1 and all. */
#define TWO_ENGINES(one_of_0, all_of_0, one_of_1, all_of_1)                              \
    "h_bucket{le=\"+Inf\",e=\"0\"} " all_of_0 "\nh_bucket{le=\"1\",e=\"1\"} " one_of_1   \
    "\nh_bucket{le=\"1\",e=\"0\"} " one_of_0 "\nh_bucket{le=\"2\",e=\"0\"} " all_of_0    \
    "\nh_bucket{le=\"2\",e=\"1\"} " all_of_1 "\nh_bucket{le=\"+Inf\",e=\"1\"} " all_of_1 \
    "\n"

/* The one with the bound 1, the other with 1 and 2. */
#define LAST_BOUNDS(one_of_0, all_of_0, one_of_1, two_of_1, all_of_1)                    \
    "h_bucket{e=\"0\",le=\"1\"} " one_of_0 "\nh_bucket{e=\"0\",le=\"+Inf\"} " all_of_0   \
    "\nh_bucket{e=\"1\",le=\"1\"} " one_of_1 "\nh_bucket{e=\"1\",le=\"2\"} " two_of_1    \
    "\nh_bucket{e=\"1\",le=\"+Inf\"} " all_of_1 "\n"

/* The one with the bounds 1, 2 and 4, the other with 2 and 4, and none above. */
#define TWO_BOUNDS(one_of_0, two_of_0, all_of_0, two_of_1, all_of_1)                     \
    "h_bucket{e=\"0\",le=\"1\"} " one_of_0 "\nh_bucket{e=\"0\",le=\"2\"} " two_of_0      \
    "\nh_bucket{e=\"0\",le=\"4\"} " all_of_0 "\nh_bucket{e=\"0\",le=\"+Inf\"} " all_of_0 \
    "\nh_bucket{e=\"1\",le=\"2\"} " two_of_1 "\nh_bucket{e=\"1\",le=\"4\"} " all_of_1    \
    "\nh_bucket{e=\"1\",le=\"+Inf\"} " all_of_1 "\n"

#define RANKS(dp_0_tp_0, dp_0_tp_1, dp_1)                                                \
    "r{dp_rank=\"0\",tp_rank=\"0\"} " dp_0_tp_0 "\n"                                     \
    "r{dp_rank=\"0\",tp_rank=\"1\"} " dp_0_tp_1 "\n"                                     \
    "r{dp_rank=\"1\",tp_rank=\"0\"} " dp_1 "\n"

static const struct row {
    const char *name;
    enum form form;
    const char *text;
    const char *page, *before; /* before NULL: none; 10 s apart */
    enum adp_aggregate aggregate;
    double lo, hi;
    enum adp_why why;
    double value;
    uint32_t taken, skipped;
    enum adp_why skipped_why;
    const char *differ; /* NULL: "" */
} rows[] = {
    /* names */
    { "a bare metric with points and a colon", METRIC, "acme.cache.used_frac:x",
      "{\"acme.cache.used_frac:x\"} 0.5\n", NULL, ADP_AGG_NONE, FRACTION, 0, 0.5, 1, 0, 0,
      NULL },
    { "a bare metric with a dash and a slash", METRIC, "acme-cache/used",
      "{\"acme-cache/used\"} 0.5\n", NULL, ADP_AGG_NONE, FRACTION, 0, 0.5, 1, 0, 0,
      NULL },
    { "blanks around a metric", METRIC, "  used  { engine = \"1\" , }  ",
      "used" E0 " 1\nused" E1 " 2\n", NULL, ADP_AGG_NONE, ANY, 0, 2, 1, 0, 0, NULL },
    { "a quoted metric may hold anything", METRIC, "\"a {b} (c)\"", "{\"a {b} (c)\"} 7\n",
      NULL, ADP_AGG_NONE, ANY, 0, 7, 1, 0, 0, NULL },
    { "escapes in quotes", EXPR, "\"a\\\"b\\\\c\"", "{\"a\\\"b\\\\c\"} 7\n", NULL,
      ADP_AGG_NONE, ANY, 0, 7, 1, 0, 0, NULL },
    { "names in an expression", EXPR, "vllm:waiting + acme.waiting",
      "vllm:waiting 3\n{\"acme.waiting\"} 4\n", NULL, ADP_AGG_NONE, ANY, 0, 7, 1, 0, 0,
      NULL },
    { "a function's name without a parenthesis is a metric", EXPR, "sum + rate",
      "sum 1\nrate 2\n", NULL, ADP_AGG_NONE, ANY, 0, 3, 1, 0, 0, NULL },
    { "a name is matched whole", METRIC, "waiting", "waiting_by_reason 9\n", NULL,
      ADP_AGG_NONE, ANY, ADP_WHY_NEVER_SUPPLIED, 0, 0, 0, 0, NULL },

    /* arithmetic: precedence, association, signs, numbers */
    { "* before +", EXPR, "a + a * 10", "a 2\n", NULL, ADP_AGG_NONE, ANY, 0, 22, 1, 0, 0,
      NULL },
    { "- is taken from the left", EXPR, "a - 3 - 2", "a 10\n", NULL, ADP_AGG_NONE, ANY, 0,
      5, 1, 0, 0, NULL },
    { "/ is taken from the left", EXPR, "a / 4 / 5", "a 100\n", NULL, ADP_AGG_NONE, ANY,
      0, 5, 1, 0, 0, NULL },
    { "parentheses", EXPR, "(a + a) * 10", "a 2\n", NULL, ADP_AGG_NONE, ANY, 0, 40, 1, 0,
      0, NULL },
    { "unary minus", EXPR, "-a * 2 - -3", "a 2\n", NULL, ADP_AGG_NONE, ANY, 0, -1, 1, 0,
      0, NULL },
    { "two minuses are none", EXPR, "- -a", "a 2\n", NULL, ADP_AGG_NONE, ANY, 0, 2, 1, 0,
      0, NULL },
    { "1e3, .5 and 2.5E-1", EXPR, "a * 1e3 + .5 + 2.5E-1", "a 2\n", NULL, ADP_AGG_NONE,
      ANY, 0, 2000.75, 1, 0, 0, NULL },
    { "1e+2", EXPR, "a+1e+2+a", "a 2\n", NULL, ADP_AGG_NONE, ANY, 0, 104, 1, 0, 0, NULL },

    /* absence */
    { "present", METRIC, "a", "a 0\n", NULL, ADP_AGG_NONE, FRACTION, 0, 0, 1, 0, 0,
      NULL },
    { "absent", METRIC, "a", "b 1\n", NULL, ADP_AGG_NONE, FRACTION,
      ADP_WHY_NEVER_SUPPLIED, 0, 0, 0, 0, NULL },
    { "a header without samples", METRIC, "a", "# TYPE a gauge\n", NULL, ADP_AGG_MAX,
      FRACTION, ADP_WHY_NEVER_SUPPLIED, 0, 0, 0, 0, NULL },
    { "half of an expression", EXPR, "a / b", "a" E0 " 1\na" E1 " 1\n", NULL, ADP_AGG_MAX,
      ANY, ADP_WHY_NEVER_SUPPLIED, 0, 0, 0, 0, NULL },
    { "a sum of nothing is not 0", EXPR, "sum(a) + 1", "b 1\n", NULL, ADP_AGG_NONE, ANY,
      ADP_WHY_NEVER_SUPPLIED, 0, 0, 0, 0, NULL },
    { "no series with that label", METRIC, "a{engine=\"7\"}", "a" E0 " 1\n", NULL,
      ADP_AGG_MAX, ANY, ADP_WHY_NEVER_SUPPLIED, 0, 0, 0, 0, NULL },

    /* insane values */
    { "below the range", METRIC, "a", "a -0.3875\n", NULL, ADP_AGG_NONE, FRACTION,
      ADP_WHY_OUT_OF_RANGE, 0, 0, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "above the range", METRIC, "a", "a 42\n", NULL, ADP_AGG_NONE, FRACTION,
      ADP_WHY_OUT_OF_RANGE, 0, 0, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "the ends of the range are in it", METRIC, "a", "a" E0 " 0\na" E1 " 1\n", NULL,
      ADP_AGG_SUM, FRACTION, 0, 1, 2, 0, 0, NULL },
    { "NaN", METRIC, "a", "a NaN\n", NULL, ADP_AGG_NONE, ANY, ADP_WHY_NOT_FINITE, 0, 0, 1,
      ADP_WHY_NOT_FINITE, NULL },
    { "+Inf is not finite, whatever the range", METRIC, "a", "a +Inf\n", NULL,
      ADP_AGG_NONE, COUNTS, ADP_WHY_NOT_FINITE, 0, 0, 1, ADP_WHY_NOT_FINITE, NULL },
    { "-Inf", METRIC, "a", "a -Inf\n", NULL, ADP_AGG_NONE, ANY, ADP_WHY_NOT_FINITE, 0, 0,
      1, ADP_WHY_NOT_FINITE, NULL },
    { "NaN is not mended by arithmetic", EXPR, "a * 0 + 1", "a NaN\n", NULL, ADP_AGG_NONE,
      ANY, ADP_WHY_NOT_FINITE, 0, 0, 1, ADP_WHY_NOT_FINITE, NULL },
    { "an infinite divisor does not make 0", EXPR, "a / b", "a 1\nb +Inf\n", NULL,
      ADP_AGG_NONE, ANY, ADP_WHY_NOT_FINITE, 0, 0, 1, ADP_WHY_NOT_FINITE, NULL },
    { "overflow", EXPR, "a * a", "a 1e200\n", NULL, ADP_AGG_NONE, ANY, ADP_WHY_NOT_FINITE,
      0, 0, 1, ADP_WHY_NOT_FINITE, NULL },
    { "divided by zero", EXPR, "a / b", "a 5\nb 0\n", NULL, ADP_AGG_NONE, ANY,
      ADP_WHY_DIVISOR_ZERO, 0, 0, 1, ADP_WHY_DIVISOR_ZERO, NULL },
    { "zero by zero", EXPR, "a / b", "a 0\nb 0\n", NULL, ADP_AGG_NONE, ANY,
      ADP_WHY_DIVISOR_ZERO, 0, 0, 1, ADP_WHY_DIVISOR_ZERO, NULL },
    { "divided by minus zero", EXPR, "a / b", "a 5\nb -0\n", NULL, ADP_AGG_NONE, ANY,
      ADP_WHY_DIVISOR_ZERO, 0, 0, 1, ADP_WHY_DIVISOR_ZERO, NULL },
    { "one over a division by zero is not 0", EXPR, "1 / (a / b)", "a 5\nb 0\n", NULL,
      ADP_AGG_NONE, ANY, ADP_WHY_DIVISOR_ZERO, 0, 0, 1, ADP_WHY_DIVISOR_ZERO, NULL },

    /* several series: some insane, the rest used */
    { "a sentinel of -1 is skipped", METRIC, "a", "a" E0 " -1\na" E1 " 0.25\n", NULL,
      ADP_AGG_MAX, FRACTION, 0, 0.25, 1, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "a sentinel would be the min", METRIC, "a", "a" E0 " 0.5\na" E1 " -1\n", NULL,
      ADP_AGG_MIN, FRACTION, 0, 0.5, 1, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "NaN first in a max", METRIC, "a", "a" E0 " NaN\na" E1 " 0.25\n", NULL, ADP_AGG_MAX,
      FRACTION, 0, 0.25, 1, 1, ADP_WHY_NOT_FINITE, NULL },
    { "the first reason is kept", METRIC, "a", "a" E0 " 7\na" E1 " NaN\na" E2 " 0.5\n",
      NULL, ADP_AGG_MAX, FRACTION, 0, 0.5, 1, 2, ADP_WHY_OUT_OF_RANGE, NULL },
    { "none is left", METRIC, "a", "a" E0 " NaN\na" E1 " 7\n", NULL, ADP_AGG_MAX,
      FRACTION, ADP_WHY_NOT_FINITE, 0, 0, 2, ADP_WHY_NOT_FINITE, NULL },
    { "blank sentinels of a card fall out before the mean", EXPR, "util / 100",
      "util{gpu=\"0\"} 2147483632\nutil{gpu=\"1\"} 50\nutil{gpu=\"2\"} 100\n"
      "util{gpu=\"3\"} 9223372036854775794\n",
      NULL, ADP_AGG_MEAN, FRACTION, 0, 0.75, 2, 2, ADP_WHY_OUT_OF_RANGE, NULL },

    /* aggregations over 2, 9, 4 */
    { "max", METRIC, "a", "a" E0 " 2\na" E1 " 9\na" E2 " 4\n", NULL, ADP_AGG_MAX, ANY, 0,
      9, 3, 0, 0, NULL },
    { "min", METRIC, "a", "a" E0 " 2\na" E1 " 9\na" E2 " 4\n", NULL, ADP_AGG_MIN, ANY, 0,
      2, 3, 0, 0, NULL },
    { "sum", METRIC, "a", "a" E0 " 2\na" E1 " 9\na" E2 " 4\n", NULL, ADP_AGG_SUM, ANY, 0,
      15, 3, 0, 0, NULL },
    { "mean", METRIC, "a", "a" E0 " 2\na" E1 " 9\na" E2 " 4\n", NULL, ADP_AGG_MEAN, ANY,
      0, 5, 3, 0, 0, NULL },
    { "last", METRIC, "a", "a" E0 " 2\na" E1 " 9\na" E2 " 4\n", NULL, ADP_AGG_LAST, ANY,
      0, 4, 1, 0, 0, NULL },
    { "the last sane one", METRIC, "a", "a" E0 " 2\na" E1 " 9\na" E2 " NaN\n", NULL,
      ADP_AGG_LAST, ANY, 0, 9, 1, 1, ADP_WHY_NOT_FINITE, NULL },
    { "the aggregate is held against the range too", METRIC, "a",
      "a" E0 " 0.75\na" E1 " 0.5\n", NULL, ADP_AGG_SUM, FRACTION, ADP_WHY_OUT_OF_RANGE, 0,
      0, 2, ADP_WHY_OUT_OF_RANGE, NULL },
    { "a sum that overflows", METRIC, "a", "a" E0 " 1e308\na" E1 " 1e308\n", NULL,
      ADP_AGG_SUM, ANY, ADP_WHY_NOT_FINITE, 0, 0, 2, ADP_WHY_NOT_FINITE, NULL },

    /* ambiguous */
    { "two series and no aggregation", METRIC, "a", "a" E0 " 0.1\na" E1 " 0.2\n", NULL,
      ADP_AGG_NONE, FRACTION, ADP_WHY_AMBIGUOUS, 0, 0, 0, 0, "engine" },
    { "only, written out", METRIC, "a", "a" E0 " 0.1\na" E1 " 0.2\n", NULL, ADP_AGG_ONLY,
      FRACTION, ADP_WHY_AMBIGUOUS, 0, 0, 0, 0, "engine" },
    { "labels that do not differ are not named", METRIC, "a",
      "a{engine=\"0\",host=\"h\",model_name=\"x\"} 1\n"
      "a{engine=\"0\",host=\"h\",model_name=\"y\"} 1\n"
      "a{engine=\"1\",host=\"h\",model_name=\"x\"} 1\n",
      NULL, ADP_AGG_NONE, ANY, ADP_WHY_AMBIGUOUS, 0, 0, 0, 0, "model_name, engine" },
    { "a label that one of them lacks differs", METRIC, "a", "a 1\na{priority=\"1\"} 1\n",
      NULL, ADP_AGG_NONE, ANY, ADP_WHY_AMBIGUOUS, 0, 0, 0, 0, "priority" },
    { "ambiguous even when one alone is sane", METRIC, "a", "a" E0 " -1\na" E1 " 0.2\n",
      NULL, ADP_AGG_NONE, FRACTION, ADP_WHY_AMBIGUOUS, 0, 0, 0, 0, "engine" },
    { "an expression is ambiguous in its result", EXPR, "a / b",
      "a" E0 " 1\na" E1 " 1\nb" E0 " 2\nb" E1 " 2\n", NULL, ADP_AGG_NONE, ANY,
      ADP_WHY_AMBIGUOUS, 0, 0, 0, 0, "engine" },
    { "a function inside declares it", EXPR, "max(a)", "a" E0 " 1\na" E1 " 3\n", NULL,
      ADP_AGG_NONE, ANY, 0, 3, 1, 0, 0, NULL },

    /* pairing */
    { "a ratio per engine before the max", EXPR, "used / total",
      "used" E0 " 90\ntotal" E0 " 1000\nused" E1 " 50\ntotal" E1 " 100\n", NULL,
      ADP_AGG_MAX, FRACTION, 0, 0.5, 2, 0, 0, NULL },
    { "pairs are found in any order", EXPR, "used - total",
      "used" E0 " 1\nused" E1 " 2\nused" E2 " 3\n"
      "total" E2 " 30\ntotal" E0 " 10\ntotal" E1 " 20\n",
      NULL, ADP_AGG_MIN, ANY, 0, -27, 3, 0, 0, NULL },
    { "what has no partner is skipped, on both sides", EXPR, "used / total",
      "used" E0 " 1\nused" E1 " 2\nused" E2 " 3\n"
      "total" E1 " 4\ntotal" E2 " 4\ntotal" E3 " 4\n",
      NULL, ADP_AGG_SUM, ANY, 0, 1.25, 2, 2, ADP_WHY_NO_PARTNER, NULL },
    { "nothing has a partner", EXPR, "used / total",
      "used" E0 " 1\nused" E1 " 2\ntotal" E2 " 4\ntotal" E3 " 4\n", NULL, ADP_AGG_SUM,
      ANY, ADP_WHY_NO_PARTNER, 0, 0, 4, ADP_WHY_NO_PARTNER, NULL },
    { "one engine divides by zero, the other is used", EXPR, "used / total",
      "used" E0 " 1\nused" E1 " 2\ntotal" E0 " 0\ntotal" E1 " 4\n", NULL, ADP_AGG_MAX,
      ANY, 0, 0.5, 1, 1, ADP_WHY_DIVISOR_ZERO, NULL },
    { "a number pairs with every one", EXPR, "100 - a", "a" E0 " 1\na" E1 " 2\n", NULL,
      ADP_AGG_SUM, ANY, 0, 197, 2, 0, 0, NULL },
    { "a function's value pairs with every one", EXPR, "a / sum(a)",
      "a" E0 " 1\na" E1 " 3\n", NULL, ADP_AGG_MAX, ANY, 0, 0.75, 2, 0, 0, NULL },
    { "a lone series without labels pairs with every one", EXPR, "limit - a",
      "limit 10\na" E0 " 1\na" E1 " 2\n", NULL, ADP_AGG_SUM, ANY, 0, 17, 2, 0, 0, NULL },
    { "a lone series pairs with those that share its labels", EXPR, "a / limit",
      "limit{model=\"x\"} 10\n"
      "a{engine=\"0\",model=\"x\"} 1\na{engine=\"1\",model=\"x\"} 2\n"
      "a{engine=\"0\",model=\"y\"} 5\n",
      NULL, ADP_AGG_SUM, ANY, 0, 0.3, 2, 1, ADP_WHY_NO_PARTNER, NULL },
    { "one engine's total does not divide another's use", EXPR, "used / total",
      "used" E0 " 1\nused" E1 " 2\ntotal" E0 " 4\n", NULL, ADP_AGG_MAX, ANY, 0, 0.25, 1,
      1, ADP_WHY_NO_PARTNER, NULL },
    { "two lone series with different labels", EXPR, "avg * pods",
      "avg{pool=\"p\"} 2\npods{name=\"p\"} 3\n", NULL, ADP_AGG_NONE, ANY, 0, 6, 1, 0, 0,
      NULL },
    { "two lone series of different engines", EXPR, "a / b", "a" E0 " 1\nb" E1 " 2\n",
      NULL, ADP_AGG_NONE, ANY, ADP_WHY_NO_PARTNER, 0, 0, 2, ADP_WHY_NO_PARTNER, NULL },
    { "a lone series keeps its labels in further arithmetic", EXPR, "(a + limit) / b",
      "a" E0 " 1\nlimit 1\nb" E0 " 4\nb" E1 " 8\n", NULL, ADP_AGG_NONE, ANY, 0, 0.5, 1, 1,
      ADP_WHY_NO_PARTNER, NULL },
    { "labels fixed with = take no part in pairing", EXPR,
      "b{kind=\"used\"} / b{kind=\"max\"}", BLOCKS, NULL, ADP_AGG_MAX, FRACTION, 0, 0.75,
      2, 0, 0, NULL },
    { "and need not be on the other side", EXPR, "b{kind=\"used\"} / total",
      BLOCKS "total{model=\"y\"} 2\ntotal{model=\"x\"} 12\n", NULL, ADP_AGG_MAX, FRACTION,
      0, 0.5, 2, 0, 0, NULL },
    { "but are compared where only one side fixes them", EXPR, "b{kind=\"used\"} - b",
      BLOCKS, NULL, ADP_AGG_SUM, ANY, 0, 0, 2, 2, ADP_WHY_NO_PARTNER, NULL },
    { "a label without a value is none", EXPR, "a / b",
      "a{e=\"0\",x=\"\"} 1\nb{e=\"0\"} 4\na{e=\"1\"} 2\nb{e=\"1\",y=\"\"} 4\n", NULL,
      ADP_AGG_SUM, ANY, 0, 0.75, 2, 0, 0, NULL },
    { "labels compared otherwise stay labels", EXPR,
      "b{kind!=\"max\"} / b{kind=~\"max\"}", BLOCKS, NULL, ADP_AGG_MAX, ANY,
      ADP_WHY_NO_PARTNER, 0, 0, 4, ADP_WHY_NO_PARTNER, NULL },

    /* functions */
    { "mean inside", EXPR, "mean(a) * 2", "a" E0 " 1\na" E1 " 3\n", NULL, ADP_AGG_NONE,
      ANY, 0, 4, 1, 0, 0, NULL },
    { "min inside", EXPR, "min(a + 1)", "a" E0 " 1\na" E1 " 3\n", NULL, ADP_AGG_NONE, ANY,
      0, 2, 1, 0, 0, NULL },
    { "a function skips NaN and counts it", EXPR, "sum(a)", "a" E0 " NaN\na" E1 " 3\n",
      NULL, ADP_AGG_NONE, ANY, 0, 3, 1, 1, ADP_WHY_NOT_FINITE, NULL },
    { "a function with nothing sane passes the reason on", EXPR, "1 + sum(a)",
      "a" E0 " NaN\na" E1 " NaN\n", NULL, ADP_AGG_NONE, ANY, ADP_WHY_NOT_FINITE, 0, 0, 2,
      ADP_WHY_NOT_FINITE, NULL },

    /* matchers */
    { "equal", METRIC, "a{engine=\"1\"}", "a" E0 " 1\na" E1 " 2\n", NULL, ADP_AGG_NONE,
      ANY, 0, 2, 1, 0, 0, NULL },
    { "unequal", METRIC, "a{engine!=\"1\"}", "a" E0 " 1\na" E1 " 2\n", NULL, ADP_AGG_NONE,
      ANY, 0, 1, 1, 0, 0, NULL },
    { "like, the whole value", METRIC, "a{m=~\"ll.ma|x\"}",
      "a{m=\"llama\"} 1\na{m=\"my-llama\"} 2\na{m=\"x\"} 4\n", NULL, ADP_AGG_SUM, ANY, 0,
      5, 2, 0, 0, NULL },
    { "unlike", METRIC, "a{m!~\"ll.ma|x\"}",
      "a{m=\"llama\"} 1\na{m=\"my-llama\"} 2\na{m=\"x\"} 4\n", NULL, ADP_AGG_SUM, ANY, 0,
      2, 1, 0, 0, NULL },
    { "a backslash of a pattern needs no doubling", METRIC, "a{m=~\"1\\.5\"}",
      "a{m=\"1.5\"} 1\na{m=\"1x5\"} 2\n", NULL, ADP_AGG_SUM, ANY, 0, 1, 1, 0, 0, NULL },
    { "a missing label is empty", METRIC, "a{priority=\"\"}",
      "a 1\na{priority=\"1\"} 2\na{priority=\"\",x=\"y\"} 4\n", NULL, ADP_AGG_SUM, ANY, 0,
      5, 2, 0, 0, NULL },
    { "a missing label is not equal to something", METRIC, "a{priority!=\"1\"}",
      "a 1\na{priority=\"1\"} 2\n", NULL, ADP_AGG_SUM, ANY, 0, 1, 1, 0, 0, NULL },
    { "all matchers must hold", METRIC, "a{x=\"1\",y=\"2\"}",
      "a{x=\"1\",y=\"2\"} 1\na{x=\"1\",y=\"3\"} 2\na{x=\"0\",y=\"2\"} 4\n", NULL,
      ADP_AGG_SUM, ANY, 0, 1, 1, 0, 0, NULL },
    { "quoted label names", METRIC, "a{\"x.y\"=\"1\"}",
      "a{\"x.y\"=\"1\"} 1\na{\"x.y\"=\"2\"} 2\n", NULL, ADP_AGG_SUM, ANY, 0, 1, 1, 0, 0,
      NULL },

    /* counters, 10 s apart */
    { "delta", EXPR, "delta(c)", "c 70\n", "c 50\n", ADP_AGG_NONE, ANY, 0, 20, 1, 0, 0,
      NULL },
    { "rate", EXPR, "rate(c)", "c 70\n", "c 50\n", ADP_AGG_NONE, ANY, 0, 2, 1, 0, 0,
      NULL },
    { "a counter that stood still grew by 0", EXPR, "delta(c)", "c 50\n", "c 50\n",
      ADP_AGG_NONE, ANY, 0, 0, 1, 0, 0, NULL },
    { "the first snapshot of all", EXPR, "delta(c)", "c 70\n", NULL, ADP_AGG_NONE, ANY,
      ADP_WHY_FIRST_SAMPLE, 0, 0, 1, ADP_WHY_FIRST_SAMPLE, NULL },
    { "the first sample of a counter", EXPR, "rate(c)", "c 70\n", "d 1\n", ADP_AGG_NONE,
      ANY, ADP_WHY_FIRST_SAMPLE, 0, 0, 1, ADP_WHY_FIRST_SAMPLE, NULL },
    { "a counter that is gone", EXPR, "delta(c)", "d 70\n", "c 1\n", ADP_AGG_NONE, ANY,
      ADP_WHY_NEVER_SUPPLIED, 0, 0, 0, 0, NULL },
    { "a reset", EXPR, "delta(c)", "c 3\n", "c 50\n", ADP_AGG_NONE, ANY,
      ADP_WHY_COUNTER_RESET, 0, 0, 1, ADP_WHY_COUNTER_RESET, NULL },
    { "NaN in the snapshot before", EXPR, "delta(c)", "c 3\n", "c NaN\n", ADP_AGG_NONE,
      ANY, ADP_WHY_NOT_FINITE, 0, 0, 1, ADP_WHY_NOT_FINITE, NULL },
    { "counters grow per series", EXPR, "delta(c)", "c" E1 " 7\nc" E0 " 12\n",
      "c" E0 " 10\nc" E1 " 4\n", ADP_AGG_SUM, ANY, 0, 5, 2, 0, 0, NULL },
    { "one engine restarted, the others count", EXPR, "sum(delta(c))",
      "c" E0 " 3\nc" E1 " 7\nc" E2 " 1\n", "c" E0 " 10\nc" E1 " 4\n", ADP_AGG_NONE, ANY,
      0, 3, 1, 2, ADP_WHY_COUNTER_RESET, NULL },
    { "a ratio of summed deltas", EXPR, "sum(delta(hits)) / sum(delta(queries))",
      "hits" E0 " 160\nqueries" E0 " 300\nhits" E1 " 10\nqueries" E1 " 400\n",
      "hits" E0 " 100\nqueries" E0 " 200\nhits" E1 " 10\nqueries" E1 " 300\n",
      ADP_AGG_ONLY, FRACTION, 0, 0.3, 1, 0, 0, NULL },
    { "no queries since the snapshot before", EXPR,
      "sum(delta(hits)) / sum(delta(queries))", "hits 5\nqueries 9\n",
      "hits 5\nqueries 9\n", ADP_AGG_ONLY, FRACTION, ADP_WHY_DIVISOR_ZERO, 0, 0, 1,
      ADP_WHY_DIVISOR_ZERO, NULL },
    /* Engine 0 restarted: its hits went 10 -> 0 -> 40, which looks like 30 more; its
     * queries 900 -> 0 -> 50 show it. Engine 1 alone counts: 20 of 100. */
    { "a restart seen in one counter holds for the others", EXPR,
      "sum(delta(hits)) / sum(delta(queries))",
      "hits" E0 " 40\nqueries" E0 " 50\nhits" E1 " 50\nqueries" E1 " 300\n",
      "hits" E0 " 10\nqueries" E0 " 900\nhits" E1 " 30\nqueries" E1 " 200\n",
      ADP_AGG_ONLY, FRACTION, 0, 0.2, 1, 2, ADP_WHY_COUNTER_RESET, NULL },
    { "labels select counters", EXPR,
      "delta(t{mode=\"hit\"}) / (delta(t{mode=\"hit\"}) + delta(t{mode=\"miss\"}))",
      "t{mode=\"hit\"} 40\nt{mode=\"miss\"} 20\n",
      "t{mode=\"hit\"} 10\nt{mode=\"miss\"} 10\n", ADP_AGG_NONE, FRACTION, 0, 0.75, 1, 0,
      0, NULL },
/* shares */
#define SHARE        "share(delta(hits), delta(queries))"
#define SANE1        "hits" E1 " 50\nqueries" E1 " 300\n" /* 20 of 100 */
#define SANE1_BEFORE "hits" E1 " 30\nqueries" E1 " 200\n"
    { "one whose part is larger than its whole is left out", EXPR, SHARE,
      "hits" E0 " 160\nqueries" E0 " 300\n" SANE1,
      "hits" E0 " 110\nqueries" E0 " 260\n" SANE1_BEFORE, ADP_AGG_MEAN, FRACTION,
      ADP_WHY_PRESENT, 20.0 / 100, 1, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "its parts and wholes are summed", EXPR, SHARE,
      "hits" E0 " 160\nqueries" E0 " 400\n" SANE1,
      "hits" E0 " 110\nqueries" E0 " 200\n" SANE1_BEFORE, ADP_AGG_MEAN, FRACTION, 0,
      70.0 / 300, 1, 0, 0, NULL },
    { "one that has no part does not enlarge the whole", EXPR, SHARE,
      "queries" E0 " 300\n" SANE1, "queries" E0 " 0\n" SANE1_BEFORE, ADP_AGG_MEAN,
      FRACTION, 0, 0.2, 1, 1, ADP_WHY_NO_PARTNER, NULL },
    { "nor one whose part is no number", EXPR, SHARE,
      "hits" E0 " NaN\nqueries" E0 " 300\n" SANE1,
      "hits" E0 " 0\nqueries" E0 " 0\n" SANE1_BEFORE, ADP_AGG_MEAN, FRACTION, 0, 0.2, 1,
      1, ADP_WHY_NOT_FINITE, NULL },
    { "nor one whose part is seen first", EXPR, SHARE,
      "hits" E0 " 7\nqueries" E0 " 300\n" SANE1, "queries" E0 " 0\n" SANE1_BEFORE,
      ADP_AGG_MEAN, FRACTION, 0, 0.2, 1, 1, ADP_WHY_FIRST_SAMPLE, NULL },
    { "one that counts nothing changes nothing", EXPR, SHARE,
      "hits" E0 " 7\nqueries" E0 " 9\n" SANE1,
      "hits" E0 " 7\nqueries" E0 " 9\n" SANE1_BEFORE, ADP_AGG_MEAN, FRACTION, 0, 0.2, 1,
      0, 0, NULL },
    { "a share of nothing is nothing", EXPR, SHARE, "hits 7\nqueries 9\n",
      "hits 7\nqueries 9\n", ADP_AGG_MEAN, FRACTION, ADP_WHY_DIVISOR_ZERO, 0, 0, 1,
      ADP_WHY_DIVISOR_ZERO, NULL },
    { "all parts are larger than their wholes", EXPR, SHARE, "hits 9\nqueries 3\n",
      "hits 1\nqueries 1\n", ADP_AGG_MEAN, ANY, ADP_WHY_OUT_OF_RANGE, 0, 0, 1,
      ADP_WHY_OUT_OF_RANGE, NULL },
    { "a negative part is no part", EXPR, "share(a, b)",
      "a" E0 " -1\nb" E0 " 2\na" E1 " 1\nb" E1 " 4\n", NULL, ADP_AGG_MEAN, ANY, 0, 0.25,
      1, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "one total is no part of several wholes", EXPR, SHARE,
      "hits 9\nqueries" E0 " 20\nqueries" E1 " 30\n",
      "hits 1\nqueries" E0 " 10\nqueries" E1 " 20\n", ADP_AGG_MEAN, ANY,
      ADP_WHY_NO_PARTNER, 0, 0, 3, ADP_WHY_NO_PARTNER, NULL },
    { "ranks that tell the same are one", EXPR, "share(a, b)",
      "a{tp_rank=\"0\"} 1\nb{tp_rank=\"0\"} 4\na{tp_rank=\"1\"} 2\nb{tp_rank=\"1\"} 5\n",
      NULL, ADP_AGG_MEAN, ANY, 0, 0.4, 1, 0, 0, NULL },
    { "the whole may be a sum", EXPR,
      "share(delta(t{mode=\"hit\"}), delta(t{mode=\"hit\"}) + delta(t{mode=\"miss\"}))",
      "t{mode=\"hit\"} 40\nt{mode=\"miss\"} 20\n",
      "t{mode=\"hit\"} 10\nt{mode=\"miss\"} 10\n", ADP_AGG_NONE, FRACTION, 0, 0.75, 1, 0,
      0, NULL },

    /* either */
    { "the first, and the second where that is not", EXPR, "either(a, b)",
      "a" E0 " 1\nb" E0 " 10\nb" E1 " 20\n", NULL, ADP_AGG_SUM, ANY, 0, 21, 2, 0, 0,
      NULL },
    { "in any order", EXPR, "either(a, b)",
      "b" E1 " 20\nb" E0 " 10\na" E2 " 4\na" E0 " 1\n", NULL, ADP_AGG_SUM, ANY, 0, 25, 3,
      0, 0, NULL },
    { "or where that is insane", EXPR, "either(a, b)", "a" E0 " NaN\nb" E0 " 10\n", NULL,
      ADP_AGG_SUM, ANY, 0, 10, 1, 1, ADP_WHY_NOT_FINITE, NULL },
    { "both insane: the first says why", EXPR, "either(a, 1 / b)",
      "a" E0 " NaN\nb" E0 " 0\n", NULL, ADP_AGG_SUM, ANY, ADP_WHY_NOT_FINITE, 0, 0, 1,
      ADP_WHY_NOT_FINITE, NULL },
    { "a label that one side fixes is none", EXPR,
      "either(t{k=\"w\"}, t{k=\"a\"} - t{k=\"s\"})",
      "t{k=\"w\",m=\"0\"} 2\nt{k=\"a\",m=\"0\"} 9\nt{k=\"s\",m=\"0\"} 1\n"
      "t{k=\"a\",m=\"1\"} 7\nt{k=\"s\",m=\"1\"} 3\n",
      NULL, ADP_AGG_SUM, ANY, 0, 6, 2, 0, 0, NULL },
    { "none of the first", EXPR, "either(a{x=\"1\"}, a)", "a" E0 " 1\na" E1 " 3\n", NULL,
      ADP_AGG_SUM, ANY, 0, 4, 2, 0, 0, NULL },
    { "none of the second", EXPR, "either(a, a{x=\"1\"})", "a" E0 " 1\na" E1 " 3\n", NULL,
      ADP_AGG_SUM, ANY, 0, 4, 2, 0, 0, NULL },
    { "none of either", EXPR, "either(a{x=\"1\"}, a{x=\"2\"})", "a" E0 " 1\n", NULL,
      ADP_AGG_SUM, ANY, ADP_WHY_NEVER_SUPPLIED, 0, 0, 0, 0, NULL },
    { "the first is not there at all", EXPR, "either(a, b)", "b" E0 " 10\nb" E1 " 20\n",
      NULL, ADP_AGG_SUM, ANY, 0, 30, 2, 0, 0, NULL },
    { "nor the second", EXPR, "either(a, b)", "a" E0 " 10\n", NULL, ADP_AGG_SUM, ANY, 0,
      10, 1, 0, 0, NULL },
    { "a sum of it", EXPR, "sum(either(a, b)) + c", "b" E0 " 10\nb" E1 " 20\nc 1\n", NULL,
      ADP_AGG_NONE, ANY, 0, 31, 1, 0, 0, NULL },
    { "a total or all of these", EXPR, "either(sum(a), b)",
      "a" E0 " 1\nb" E0 " 10\nb" E1 " 20\n", NULL, ADP_AGG_SUM, ANY, 0, 1, 1, 0, 0,
      NULL },
    { "all of these or a total", EXPR, "either(a, sum(b))",
      "a" E0 " NaN\na" E1 " NaN\nb" E0 " 10\n", NULL, ADP_AGG_SUM, ANY, 0, 10, 1, 2,
      ADP_WHY_NOT_FINITE, NULL },
    { "of totals", EXPR, "either(sum(a), sum(b))", "a" E0 " 1\nb" E0 " 10\nb" E1 " 20\n",
      NULL, ADP_AGG_NONE, ANY, 0, 1, 1, 0, 0, NULL },
    /* either, in a range of 0 to 1: what is outside gives way, label set by label set */
    { "a first outside the range is not sane", EXPR, "either(a, b)", /* 0.4 and 0.2 */
      "a" E0 " 1.75\nb" E0 " 0.4\na" E1 " 0.2\nb" E1 " 0.9\n", NULL, ADP_AGG_MAX,
      FRACTION, 0, 0.4, 2, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "below it neither", EXPR, "either(a, b)", "a -0.5\nb 0.25\n", NULL, ADP_AGG_NONE,
      FRACTION, 0, 0.25, 1, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "both outside: the first says why", EXPR, "either(a, b)", "a 1.75\nb 2\n", NULL,
      ADP_AGG_NONE, FRACTION, ADP_WHY_OUT_OF_RANGE, 0, 0, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "and one without a second is skipped", EXPR, "either(a, b)",
      "a" E0 " 1.75\na" E1 " 0.2\nb" E1 " 0.9\n", NULL, ADP_AGG_MAX, FRACTION, 0, 0.2, 1,
      1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "folded it is the signal still", EXPR, "max(either(a, b))",
      "a" E0 " 1.75\nb" E0 " 0.4\na" E1 " 0.2\nb" E1 " 0.9\n", NULL, ADP_AGG_NONE,
      FRACTION, 0, 0.4, 1, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "and chosen from once more", EXPR, "either(a, either(b, c))",
      "a 1.75\nb -3\nc 0.25\n", NULL, ADP_AGG_NONE, FRACTION, 0, 0.25, 1, 2,
      ADP_WHY_OUT_OF_RANGE, NULL },
    { "on either side", EXPR, /* of two insane the first is counted */
      "either(either(a, b), c)", "a 1.75\nb -3\nc 0.25\n", NULL, ADP_AGG_NONE, FRACTION,
      0, 0.25, 1, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "a total outside gives way to the other", EXPR,
      "either(sum(a), sum(b))", /* 1.5; 0.75 */
      "a" E0 " 0.5\na" E1 " 1\nb" E0 " 0.25\nb" E1 " 0.5\n", NULL, ADP_AGG_NONE, FRACTION,
      0, 0.75, 1, 1, ADP_WHY_OUT_OF_RANGE, NULL },
    { "what is calculated with has its own scale", EXPR, "either(a, b) / 100",
      "a 70\nb 0.4\n", NULL, ADP_AGG_NONE, FRACTION, 0, 0.7, 1, 0, 0, NULL },
    { "and the result has the signal's", EXPR, "either(either(a, b) / 100, c)", /* 1.7 */
      "a 170\nb 0.4\nc 0.5\n", NULL, ADP_AGG_NONE, FRACTION, 0, 0.5, 1, 1,
      ADP_WHY_OUT_OF_RANGE, NULL },
    { "whatever stands beside it", EXPR, "either(c, either(a, b) / 100)", /* 0.7 */
      "a 70\nb 0.4\nc 5\n", NULL, ADP_AGG_NONE, FRACTION, 0, 0.7, 1, 1,
      ADP_WHY_OUT_OF_RANGE, NULL },
    { "a negative one is another scale", EXPR, "-either(a, b)", "a -0.5\nb -0.25\n", NULL,
      ADP_AGG_NONE, FRACTION, 0, 0.5, 1, 0, 0, NULL },

    /* histograms: 10 observations up to 1, 40 up to 2, 50 up to 4 */
    { "a quantile between two bounds", EXPR, "quantile(0.75, h)",
      HISTOGRAM("10", "50", "100", "100"), HISTOGRAM("0", "0", "0", "0"), ADP_AGG_NONE,
      ANY, 0, 3, 1, 0, 0, NULL },
    { "a quantile on a bound", EXPR, "quantile(.5, h)",
      HISTOGRAM("10", "50", "100", "100"), HISTOGRAM("0", "0", "0", "0"), ADP_AGG_NONE,
      ANY, 0, 2, 1, 0, 0, NULL },
    { "a quantile in the first bucket starts at 0", EXPR, "quantile( 5e-2 , h )",
      HISTOGRAM("10", "50", "100", "100"), HISTOGRAM("0", "0", "0", "0"), ADP_AGG_NONE,
      ANY, 0, 0.5, 1, 0, 0, NULL },
    { "what was observed before does not count", EXPR, "quantile(0.5, h)",
      HISTOGRAM("1000", "1010", "1010", "1010"),
      HISTOGRAM("1000", "1000", "1000", "1000"), ADP_AGG_NONE, ANY, 0, 1.5, 1, 0, 0,
      NULL },
    { "the bucket may be named itself, and its labels matched", EXPR,
      "quantile(0.5, h_bucket{le!=\"4\"})", HISTOGRAM("10", "50", "100", "100"),
      HISTOGRAM("0", "0", "0", "0"), ADP_AGG_NONE, ANY, 0, 2, 1, 0, 0, NULL },
    { "a bound that is written in two ways is one", EXPR, "quantile(0.75, h)",
      HISTOGRAM("10", "50", "100", "100") "h_bucket{le=\"2.0\"} 50\n",
      HISTOGRAM("0", "0", "0", "0") "h_bucket{le=\"2.0\"} 0\n", ADP_AGG_NONE, ANY, 0, 3,
      1, 0, 0, NULL },
    { "above the last bound", EXPR, "quantile(0.95, h)",
      HISTOGRAM("10", "50", "60", "100"), HISTOGRAM("0", "0", "0", "0"), ADP_AGG_NONE,
      ANY, ADP_WHY_ABOVE_LAST_BOUND, 0, 0, 1, ADP_WHY_ABOVE_LAST_BOUND, NULL },
    { "nothing was observed", EXPR, "quantile(0.95, h)",
      HISTOGRAM("10", "50", "60", "100"), HISTOGRAM("10", "50", "60", "100"),
      ADP_AGG_NONE, ANY, ADP_WHY_NOTHING_OBSERVED, 0, 0, 1, ADP_WHY_NOTHING_OBSERVED,
      NULL },
    { "a histogram seen once", EXPR, "quantile(0.95, h)",
      HISTOGRAM("10", "50", "60", "100"), NULL, ADP_AGG_NONE, ANY, ADP_WHY_FIRST_SAMPLE,
      0, 0, 4, ADP_WHY_FIRST_SAMPLE, NULL },
    { "a histogram that is not there", EXPR, "quantile(0.95, h)", "h 1\nh_count 3\n",
      NULL, ADP_AGG_NONE, ANY, ADP_WHY_NEVER_SUPPLIED, 0, 0, 0, 0, NULL },
    { "buckets without the one that counts all", EXPR, "quantile(0.5, h)",
      "h_bucket{le=\"1\"} 5\n", "h_bucket{le=\"1\"} 0\n", ADP_AGG_NONE, ANY,
      ADP_WHY_NO_PARTNER, 0, 0, 1, ADP_WHY_NO_PARTNER, NULL },
    /* 10 up to 1 and 10 up to 2 together: the 15th of 20 is half way through the second */
    { "two engines are merged", EXPR, "quantile(0.75, h)",
      TWO_ENGINES("10", "10", "0", "10"), TWO_ENGINES("0", "0", "0", "0"), ADP_AGG_NONE,
      ANY, 0, 1.5, 1, 0, 0, NULL },
    /* engine 1 went back to 4 of up to 1: the other alone, 10 up to 1 */
    { "a reset in one bucket costs its histogram", EXPR, "quantile(0.5, h)",
      TWO_ENGINES("10", "10", "4", "900"), TWO_ENGINES("0", "0", "5", "100"),
      ADP_AGG_NONE, ANY, 0, 0.5, 1, 3, ADP_WHY_COUNTER_RESET, NULL },
    /* Of 20 half may lie anywhere below 2: who has the bound 1 says of the other nothing. */
    { "where bounds differ nothing can be told", EXPR, "quantile(0.5, h)",
      TWO_BOUNDS("10", "10", "10", "10", "10"), TWO_BOUNDS("0", "0", "0", "0", "0"),
      ADP_AGG_NONE, ANY, ADP_WHY_BOUNDS_DIFFER, 0, 0, 1, ADP_WHY_BOUNDS_DIFFER, NULL },
    /* 4 of 20 below 2, 16 between 2 and 4, which both have: (10 - 4) / 16 of it */
    { "where they agree it can", EXPR, "quantile(0.5, h)",
      TWO_BOUNDS("2", "2", "10", "2", "10"), TWO_BOUNDS("0", "0", "0", "0", "0"),
      ADP_AGG_NONE, ANY, 0, 2.75, 1, 0, 0, NULL },
    { "who observed nothing may have any bounds", EXPR, "quantile(0.5, h)",
      TWO_BOUNDS("0", "0", "0", "10", "10"), TWO_BOUNDS("0", "0", "0", "0", "0"),
      ADP_AGG_NONE, ANY, 0, 1, 1, 0, 0, NULL },
    { "bounds of which none is common tell nothing", EXPR, "quantile(0.5, h)",
      "h_bucket{e=\"0\",le=\"1\"} 9\nh_bucket{e=\"0\",le=\"+Inf\"} 9\n"
      "h_bucket{e=\"1\",le=\"2\"} 9\nh_bucket{e=\"1\",le=\"+Inf\"} 9\n",
      "h_bucket{e=\"0\",le=\"1\"} 0\nh_bucket{e=\"0\",le=\"+Inf\"} 0\n"
      "h_bucket{e=\"1\",le=\"2\"} 0\nh_bucket{e=\"1\",le=\"+Inf\"} 0\n",
      ADP_AGG_NONE, ANY, ADP_WHY_BOUNDS_DIFFER, 0, 0, 1, ADP_WHY_BOUNDS_DIFFER, NULL },
    /* 9 up to 1, and of the other 9 between 1 and 2, where the first has no bound */
    { "also above the last bound that is common", EXPR, "quantile(0.75, h)",
      LAST_BOUNDS("9", "9", "0", "9", "9"), LAST_BOUNDS("0", "0", "0", "0", "0"),
      ADP_AGG_NONE, ANY, ADP_WHY_BOUNDS_DIFFER, 0, 0, 1, ADP_WHY_BOUNDS_DIFFER, NULL },
    /* 9 + 3 of 18 up to 1: half of them are in it, 9 of 12 of the way */
    { "and not below it", EXPR, "quantile(0.5, h)", LAST_BOUNDS("9", "9", "3", "9", "9"),
      LAST_BOUNDS("0", "0", "0", "0", "0"), ADP_AGG_NONE, ANY, 0, 0.75, 1, 0, 0, NULL },
    { "above a bound that is the last of all it is told", EXPR, "quantile(0.75, h)",
      "h_bucket{e=\"0\",le=\"1\"} 1\nh_bucket{e=\"0\",le=\"+Inf\"} 9\n"
      "h_bucket{e=\"1\",le=\"1\"} 1\nh_bucket{e=\"1\",le=\"+Inf\"} 9\n",
      "h_bucket{e=\"0\",le=\"1\"} 0\nh_bucket{e=\"0\",le=\"+Inf\"} 0\n"
      "h_bucket{e=\"1\",le=\"1\"} 0\nh_bucket{e=\"1\",le=\"+Inf\"} 0\n",
      ADP_AGG_NONE, ANY, ADP_WHY_ABOVE_LAST_BOUND, 0, 0, 1, ADP_WHY_ABOVE_LAST_BOUND,
      NULL },
    /* growth by each series' own time, whatever the pages' */
    { "a rate is over the time of its own series", EXPR, "rate(c)",
      "c{e=\"0\"} 1100 10000\nc{e=\"1\"} 700 6000\n",
      "c{e=\"0\"} 100 0\nc{e=\"1\"} 100 0\n", ADP_AGG_SUM, ANY, 0, 200, 2, 0, 0, NULL },
    { "which may begin before the page compared with", EXPR, "rate(c)",
      "c{e=\"0\"} 1100 10000\nc{e=\"1\"} 1500 10000\n",
      "c{e=\"0\"} 100 0\nc{e=\"1\"} 100 -4000\n", ADP_AGG_SUM, ANY, 0, 200, 2, 0, 0,
      NULL },
    { "what was not measured again did not grow by 0", EXPR, "delta(c)",
      "c{e=\"0\"} 5 4000\nc{e=\"1\"} 9 0\n", "c{e=\"0\"} 1 0\nc{e=\"1\"} 9 0\n",
      ADP_AGG_SUM, ANY, 0, 4, 1, 1, ADP_WHY_FIRST_SAMPLE, NULL },
    { "what was measured before has no growth", EXPR, "rate(c)", "c 9 1000\n",
      "c 5 2000\n", ADP_AGG_SUM, ANY, ADP_WHY_COUNTER_RESET, 0, 0, 1,
      ADP_WHY_COUNTER_RESET, NULL },
    { "nobody knows how long it took", EXPR, "rate(c)", "c 9 3000\n", "c 5\n",
      ADP_AGG_SUM, ANY, ADP_WHY_FIRST_SAMPLE, 0, 0, 1, ADP_WHY_FIRST_SAMPLE, NULL },
    { "nor here", EXPR, "rate(c)", "c 9\n", "c 5 3000\n", ADP_AGG_SUM, ANY,
      ADP_WHY_FIRST_SAMPLE, 0, 0, 1, ADP_WHY_FIRST_SAMPLE, NULL },
    /* what says itself that it was made anew, whatever its name */
    { "a counter made anew that passed its old value", EXPR, "delta(x_total)",
      "x_total 9\nx_created 20\n", "x_total 5\nx_created 10\n", ADP_AGG_SUM, ANY,
      ADP_WHY_COUNTER_RESET, 0, 0, 1, ADP_WHY_COUNTER_RESET, NULL },
    { "one without an ending", EXPR, "delta(x)", "x 9\nx_created 20.5\n",
      "x 5\nx_created 20\n", ADP_AGG_SUM, ANY, ADP_WHY_COUNTER_RESET, 0, 0, 1,
      ADP_WHY_COUNTER_RESET, NULL },
    { "made when it was is not made anew", EXPR, "delta(x_total)",
      "x_total 9\nx_created 20\n", "x_total 5\nx_created 20\n", ADP_AGG_SUM, ANY, 0, 4, 1,
      0, 0, NULL },
    { "a time of making that is first told now says nothing", EXPR, "delta(x_total)",
      "x_total 9\nx_created 20\n", "x_total 5\n", ADP_AGG_SUM, ANY, 0, 4, 1, 0, 0, NULL },
    { "another's making is not its own", EXPR, "delta(x_total)",
      "x_total{e=\"0\"} 9\nx_created{e=\"0\"} 20\nx_total{e=\"1\"} 7\nx_created{e=\"1\"} "
      "10\n",
      "x_total{e=\"0\"} 5\nx_created{e=\"0\"} 10\nx_total{e=\"1\"} 5\nx_created{e=\"1\"} "
      "10\n",
      ADP_AGG_SUM, ANY, 0, 2, 1, 1, ADP_WHY_COUNTER_RESET, NULL },
    { "a histogram made anew, bucket by bucket", EXPR, "quantile(0.5, h)",
      "h_bucket{le=\"1\"} 9\nh_bucket{le=\"+Inf\"} 9\nh_created 20\n",
      "h_bucket{le=\"1\"} 5\nh_bucket{le=\"+Inf\"} 5\nh_created 10\n", ADP_AGG_NONE, ANY,
      ADP_WHY_COUNTER_RESET, 0, 0, 2, ADP_WHY_COUNTER_RESET, NULL },
    { "of two histograms that one", EXPR, "quantile(0.5, h)",
      "h_bucket{e=\"0\",le=\"1\"} 9\nh_bucket{e=\"0\",le=\"+Inf\"} 9\nh_created{e=\"0\"} "
      "20\n"
      "h_bucket{e=\"1\",le=\"1\"} 9\nh_bucket{e=\"1\",le=\"+Inf\"} 9\nh_created{e=\"1\"} "
      "10\n",
      "h_bucket{e=\"0\",le=\"1\"} 5\nh_bucket{e=\"0\",le=\"+Inf\"} 5\nh_created{e=\"0\"} "
      "10\n"
      "h_bucket{e=\"1\",le=\"1\"} 5\nh_bucket{e=\"1\",le=\"+Inf\"} 5\nh_created{e=\"1\"} "
      "10\n",
      ADP_AGG_NONE, ANY, 0, 0.5, 1, 2, ADP_WHY_COUNTER_RESET, NULL },
    { "hits made anew are no share of queries that were not", EXPR,
      "share(delta(h_total), delta(q_total))", "h_total 9\nh_created 20\nq_total 20\n",
      "h_total 5\nh_created 10\nq_total 10\n", ADP_AGG_MEAN, ANY, ADP_WHY_COUNTER_RESET,
      0, 0, 1, ADP_WHY_COUNTER_RESET, NULL },
    { "a histogram told by two ranks is one", EXPR, "quantile(0.5, h)",
      "h_bucket{tp_rank=\"0\",le=\"1\"} 10\nh_bucket{tp_rank=\"0\",le=\"+Inf\"} 10\n"
      "h_bucket{tp_rank=\"1\",le=\"1\"} 0\nh_bucket{tp_rank=\"1\",le=\"+Inf\"} 10\n",
      "h_bucket{tp_rank=\"0\",le=\"1\"} 0\nh_bucket{tp_rank=\"0\",le=\"+Inf\"} 0\n"
      "h_bucket{tp_rank=\"1\",le=\"1\"} 0\nh_bucket{tp_rank=\"1\",le=\"+Inf\"} 0\n",
      ADP_AGG_NONE, ANY, 0, 0.5, 1, 0, 0, NULL },
    { "a bound that is no number", EXPR, "quantile(0.5, h)",
      "h_bucket{le=\"x\"} 5\nh_bucket{le=\"+Inf\"} 5\n",
      "h_bucket{le=\"x\"} 0\nh_bucket{le=\"+Inf\"} 0\n", ADP_AGG_NONE, ANY,
      ADP_WHY_NOT_FINITE, 0, 0, 2, ADP_WHY_NOT_FINITE, NULL },
    /* numbers in labels */
    { "a number that a label holds", EXPR, "label(n, info) * label(\"b\", info)",
      "info{n=\"7281\",b=\"16\"} 1\n", NULL, ADP_AGG_NONE, ANY, 0, 116496, 1, 0, 0,
      NULL },
    { "a label that holds a word", EXPR, "label(n, info)", "info{n=\"None\"} 1\n", NULL,
      ADP_AGG_NONE, ANY, ADP_WHY_NOT_FINITE, 0, 0, 1, ADP_WHY_NOT_FINITE, NULL },
    { "a label that is not there", EXPR, "label(n, info)", "info{m=\"1\"} 1\n", NULL,
      ADP_AGG_NONE, ANY, ADP_WHY_NOT_FINITE, 0, 0, 1, ADP_WHY_NOT_FINITE, NULL },
    { "a metric may be called like a function", EXPR, "label + quantile",
      "label 1\nquantile 2\n", NULL, ADP_AGG_NONE, ANY, 0, 3, 1, 0, 0, NULL },
    /* replicas: data parallel 0 told by two ranks */
    { "ranks are one before engines are added", METRIC, "r", RANKS("5", "5", "7"), NULL,
      ADP_AGG_SUM, COUNTS, 0, 12, 3, 0, 0, NULL },
    { "ranks are one in a written sum", EXPR, "sum(r)", RANKS("5", "5", "7"), NULL,
      ADP_AGG_NONE, COUNTS, 0, 12, 1, 0, 0, NULL },
    { "of ranks the largest counts", METRIC, "r", RANKS("0", "5", "7"), NULL, ADP_AGG_SUM,
      COUNTS, 0, 12, 3, 0, 0, NULL },
    { "and before the smallest is sought", METRIC, "r", RANKS("0", "5", "7"), NULL,
      ADP_AGG_MIN, COUNTS, 0, 5, 3, 0, 0, NULL },
    { "and before the mean", METRIC, "r", RANKS("0", "5", "7"), NULL, ADP_AGG_MEAN,
      COUNTS, 0, 6, 3, 0, 0, NULL },
    { "the last is the last, rank or not", METRIC, "r", RANKS("0", "5", "7"), NULL,
      ADP_AGG_LAST, COUNTS, 0, 7, 1, 0, 0, NULL },
    { "ranks without an aggregation are several", METRIC, "r", RANKS("5", "5", "7"), NULL,
      ADP_AGG_NONE, COUNTS, ADP_WHY_AMBIGUOUS, 0, 0, 0, 0, "tp_rank, dp_rank" },
    { "an insane rank stands for nothing", METRIC, "r", RANKS("NaN", "5", "7"), NULL,
      ADP_AGG_SUM, COUNTS, 0, 12, 2, 1, ADP_WHY_NOT_FINITE, NULL },
    { "a pid is a replica", METRIC, "r",
      "r{pid=\"277\"} 0\nr{pid=\"275\"} 0.5\nr{pid=\"1\"} 0\n", NULL, ADP_AGG_MEAN,
      FRACTION, 0, 0.5, 3, 0, 0, NULL },
    { "a GPU told for two pods is one", METRIC, "g",
      "g{UUID=\"A\",pod=\"x\"} 50\ng{UUID=\"A\",pod=\"y\"} 50\ng{UUID=\"B\"} 100\n", NULL,
      ADP_AGG_MEAN, COUNTS, 0, 75, 3, 0, 0, NULL },
    { "two pods are two where no GPU is told", METRIC, "g",
      "g{pod=\"x\"} 50\ng{pod=\"y\"} 50\ng 110\n", NULL, ADP_AGG_MEAN, COUNTS, 0, 70, 3,
      0, 0, NULL },
    /* parts */
    { "parts are not added to their total", METRIC, "q",
      "q{priority=\"1\"} 4\nq{priority=\"\"} 10\nq{priority=\"2\"} 6\n", NULL,
      ADP_AGG_SUM, COUNTS, 0, 10, 1, 2, ADP_WHY_PART, NULL },
    { "a total may lack the label", METRIC, "q", "q 10\nq{priority=\"1\"} 4\n", NULL,
      ADP_AGG_SUM, COUNTS, 0, 10, 1, 1, ADP_WHY_PART, NULL },
    { "parts without a total are all there is", METRIC, "q",
      "q{reason=\"capacity\"} 3\nq{reason=\"deferred\"} 4\n", NULL, ADP_AGG_SUM, COUNTS,
      0, 7, 2, 0, 0, NULL },
    { "the total of another engine is not theirs", METRIC, "q",
      "q{e=\"0\"} 10\nq{e=\"1\",priority=\"1\"} 4\n", NULL, ADP_AGG_SUM, COUNTS, 0, 14, 2,
      0, 0, NULL },
    { "an insane total is none", METRIC, "q", "q NaN\nq{priority=\"1\"} 4\n", NULL,
      ADP_AGG_SUM, COUNTS, 0, 4, 1, 1, ADP_WHY_NOT_FINITE, NULL },
    /* blanks: used and free of a card that says neither would make a half */
    { "blanks are no numbers", EXPR, "DCGM_USED / (DCGM_USED + DCGM_FREE)",
      "DCGM_USED 2147483632\nDCGM_FREE 2147483632\n", NULL, ADP_AGG_MAX, FRACTION,
      ADP_WHY_BLANK, 0, 0, 1, ADP_WHY_BLANK, NULL },
    { "a blank of 64 bits", METRIC, "DCGM_T", "DCGM_T 9223372036854775794\n", NULL,
      ADP_AGG_MAX, COUNTS, ADP_WHY_BLANK, 0, 0, 1, ADP_WHY_BLANK, NULL },
    { "a blank double", METRIC, "DCGM_T", "DCGM_T 140737488355328.000000\n", NULL,
      ADP_AGG_MAX, COUNTS, ADP_WHY_BLANK, 0, 0, 1, ADP_WHY_BLANK, NULL },
    { "a number beside the blanks", METRIC, "DCGM_T", "DCGM_T 2147483631\n", NULL,
      ADP_AGG_MAX, COUNTS, 0, 2147483631, 1, 0, 0, NULL },
    { "others may count that far", METRIC, "tokens", "tokens 2147483632\n", NULL,
      ADP_AGG_MAX, COUNTS, 0, 2147483632, 1, 0, 0, NULL },
};

static void check_row(const struct row *row, struct adp_scratch *scratch)
{
    struct adp_expr *expr = compiled(row->form, row->text);
    struct adp_metrics *now = page_of(row->page);
    struct adp_metrics *before = row->before ? page_of(row->before) : NULL;
    struct adp_moment moment = { .now = now, .before = before, .elapsed_s = 10 };
    struct adp_value v;

    enum adp_why why =
        adp_expr_evaluate(expr, &moment, row->aggregate, row->lo, row->hi, scratch, &v);
    ck_assert_msg(why == row->why, "%s: why %s, not %s", row->name, adp_why_word(why),
                  adp_why_word(row->why));
    if (why == ADP_WHY_PRESENT)
        ck_assert_msg(fabs(v.value - row->value) <= 1e-15 * fabs(row->value),
                      "%s: %.17g, not %.17g", row->name, v.value, row->value);
    ck_assert_msg(v.taken == row->taken, "%s: %u taken", row->name, v.taken);
    ck_assert_msg(v.skipped == row->skipped, "%s: %u skipped", row->name, v.skipped);
    ck_assert_msg(v.skipped_why == row->skipped_why, "%s: skipped as %s", row->name,
                  adp_why_word(v.skipped_why));
    ck_assert_msg(!strcmp(v.differ, row->differ ? row->differ : ""), "%s: differ in %s",
                  row->name, v.differ);
    ck_assert(v.has_time == (v.taken && adp_metrics_timed(now)));
    uint32_t by_reason = 0;
    for (int w = 0; w < ADP_WHY_COUNT; w++)
        by_reason += v.skipped_by[w];
    ck_assert_uint_eq(by_reason, v.skipped);

    adp_metrics_destroy(before);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
}

START_TEST(a_source_yields_a_sane_value_or_a_reason)
{
    struct adp_scratch *scratch = NULL;
    ck_assert_int_eq(adp_scratch_create(&scratch, 16), 0);
    check_row(&rows[_i], scratch);
    check_row(&rows[_i], scratch); /* a used scratch makes no difference */
    adp_scratch_destroy(scratch);
}
END_TEST

/* What a source reads from a page, with renames if there are any. */
static enum adp_why read_page(const char *text, const char *page,
                              enum adp_aggregate aggregate, uint32_t series,
                              const struct adp_rename *renames, uint32_t n_renames,
                              struct adp_value *ret)
{
    struct adp_expr *expr = compiled(EXPR, text);
    struct adp_metrics *now = page_of(page);
    struct adp_scratch *scratch = NULL;
    ck_assert_int_eq(adp_scratch_create(&scratch, series), 0);
    struct adp_moment moment = { .now = now, .renames = renames, .n_renames = n_renames };
    enum adp_why why = adp_expr_evaluate(expr, &moment, aggregate, ANY, scratch, ret);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
    return why;
}

static const struct {
    const char *name, *page;
    enum adp_why why;
    double value;
} renamed[] = {
    { "the source's own name comes first", "a 1\nb 2\nc 3\n", 0, 1 },
    { "then the first other name that is there", "b 2\nc 3\n", 0, 2 },
    { "then the next", "c 3\n", 0, 3 },
    { "a name of another metric does not count", "d 4\n", ADP_WHY_NEVER_SUPPLIED, 0 },
    { "an insane value under the own name stays insane", "a NaN\nb 2\n",
      ADP_WHY_NOT_FINITE, 0 },
};

START_TEST(another_name_is_tried_second)
{
    static const struct adp_rename renames[] = { { "x", "d" },
                                                 { "a", "b" },
                                                 { "a", "c" } };
    struct adp_value v;
    enum adp_why why = read_page("a", renamed[_i].page, ADP_AGG_NONE, 8, renames, 3, &v);
    ck_assert_int_eq(why, renamed[_i].why);
    if (!why)
        ck_assert_double_eq(v.value, renamed[_i].value);
}
END_TEST

START_TEST(a_counter_under_another_name_grows_too)
{
    static const struct adp_rename renames[] = { { "a", "b" } };
    struct adp_expr *expr = compiled(EXPR, "delta(a)");
    struct adp_metrics *now = page_of("b 5\n"), *before = page_of("b 3\n");
    struct adp_scratch *scratch = NULL;
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    struct adp_moment moment = {
        .now = now, .before = before, .elapsed_s = 1, .renames = renames, .n_renames = 1
    };
    struct adp_value v;
    ck_assert_int_eq(adp_expr_evaluate(expr, &moment, ADP_AGG_NONE, ANY, scratch, &v), 0);
    ck_assert_double_eq(v.value, 2);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(before);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
}
END_TEST

START_TEST(names_are_chosen_for_so_many_replicas_and_no_more)
{
    static const struct adp_rename renames[] = { { "a", "b" } };
    static struct adp_str names[ADP_MAX_REPLICAS + 2];
    struct adp_expr *expr = compiled(EXPR, "a");
    struct adp_metrics *now = page_of("a{target=\"x\"} 1\nb{target=\"y\"} 2\n");
    struct adp_scratch *scratch = NULL;
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    for (int i = 0; i < COUNT(names); i++)
        names[i] = (struct adp_str) { "none", 4 };
    struct adp_moment moment = { .now = now,
                                 .renames = renames,
                                 .n_renames = 1,
                                 .replicas = names,
                                 .n_replicas = COUNT(names) - 1 };
    struct adp_value v;
    names[0] = (struct adp_str) { "x", 1 };
    names[COUNT(names) - 2] =
        (struct adp_str) { "y", 1 }; /* the last there is room for */
    ck_assert_int_eq(adp_expr_evaluate(expr, &moment, ADP_AGG_SUM, ANY, scratch, &v), 0);
    ck_assert_double_eq(v.value, 3);
    moment.n_replicas++;
    ck_assert_int_eq(adp_expr_evaluate(expr, &moment, ADP_AGG_SUM, ANY, scratch, &v),
                     ADP_WHY_TOO_MANY);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
}
END_TEST

/* Timestamps on a page are milliseconds. */
static const struct {
    const char *text, *page;
    enum adp_aggregate aggregate;
    bool has_time;
    double time_s;
} timed[] = {
    { "a", "a 1 1500\n", ADP_AGG_NONE, true, 1.5 },
    { "a", "a 1\n", ADP_AGG_NONE, false, 0 },
    { "a", "a" E0 " 1 3000\na" E1 " 1 2000\na" E2 " 1\n", ADP_AGG_SUM, true, 2 },
    { "a", "a" E0 " NaN 1000\na" E1 " 1 2000\n", ADP_AGG_SUM, true, 2 },
    { "a", "a" E0 " 1 1000\na" E1 " 1 2000\n", ADP_AGG_LAST, true, 2 },
    { "a", "a" E0 " 1 1000\na" E1 " 1\n", ADP_AGG_LAST, false, 0 },
    { "a / b", "a 1 3000\nb 2 2000\n", ADP_AGG_NONE, true, 2 },
    { "a / b", "a 1\nb 2 2000\n", ADP_AGG_NONE, true, 2 },
    { "2 * sum(a)", "a" E0 " 1 3000\na" E1 " 1 2000\n", ADP_AGG_NONE, true, 2 },
};

START_TEST(a_value_is_as_old_as_the_oldest_timestamp_in_it)
{
    struct adp_value v;
    ck_assert_int_eq(
        read_page(timed[_i].text, timed[_i].page, timed[_i].aggregate, 8, NULL, 0, &v),
        0);
    ck_assert_int_eq(v.has_time, timed[_i].has_time);
    if (v.has_time)
        ck_assert_double_eq(v.time_s, timed[_i].time_s);
}
END_TEST

#define THREE(name) name E0 " 1\n" name E1 " 1\n" name E2 " 1\n"

static const struct {
    const char *text, *page;
    uint32_t series;
    enum adp_why why;
} crowded[] = {
    { "a", THREE("a"), 3, ADP_WHY_PRESENT },
    { "a", THREE("a"), 2, ADP_WHY_TOO_MANY },
    { "sum(a)", THREE("a"), 2, ADP_WHY_TOO_MANY },
    { "a{engine=\"1\"}", THREE("a"), 1, ADP_WHY_PRESENT },
    /* four full operands wait at one time, a fifth does not fit */
    { "a+(a+(a+a))", THREE("a"), 3, ADP_WHY_PRESENT },
    { "a+(a+(a+(a+a)))", THREE("a"), 3, ADP_WHY_TOO_MANY },
    { "a+a+a+a+a+a+a+a", THREE("a"), 3, ADP_WHY_PRESENT },
    { "sum(a)+(sum(a)+(sum(a)+(sum(a)+sum(a))))", THREE("a"), 3, ADP_WHY_PRESENT },
};

START_TEST(more_series_than_the_scratch_holds_are_refused_not_cut)
{
    struct adp_value v;
    enum adp_why why = read_page(crowded[_i].text, crowded[_i].page, ADP_AGG_SUM,
                                 crowded[_i].series, NULL, 0, &v);
    ck_assert_str_eq(adp_why_word(why), adp_why_word(crowded[_i].why));
}
END_TEST

/* A page with two series of `a` that differ in all of the labels. */
static void differing_page(char *to, size_t size, const char *const *labels, int n)
{
    size_t len = 0;
    for (int value = 1; value <= 2; value++) {
        len += (size_t)snprintf(to + len, size - len, "a{");
        for (int i = 0; i < n; i++)
            len += (size_t)snprintf(to + len, size - len, "%s=\"%d\",", labels[i], value);
        len += (size_t)snprintf(to + len, size - len, "} 1\n");
    }
}

/* Of the 96 bytes, 6 are kept for ", ..." and NUL. Six names of 13 bytes and their
 * commas take 88 of the 90; a seventh would take 103. */
START_TEST(names_of_labels_that_do_not_fit_are_told_by_dots)
{
    static const char *const labels[] = { "label_number0", "label_number1",
                                          "label_number2", "label_number3",
                                          "label_number4", "label_number5",
                                          "label_number6", "label_number7" };
    char page[1024];
    struct adp_value v;
    differing_page(page, sizeof page, labels, COUNT(labels));
    ck_assert_int_eq(read_page("a", page, ADP_AGG_NONE, 8, NULL, 0, &v),
                     ADP_WHY_AMBIGUOUS);
    ck_assert_str_eq(v.differ, "label_number0, label_number1, label_number2, "
                               "label_number3, label_number4, label_number5, ...");
}
END_TEST

START_TEST(a_name_of_a_label_that_does_not_fit_leaves_only_dots)
{
    static const char *const labels[] = {
        "a23456789b123456789c123456789d123456789e123456789"
        "f123456789g123456789h123456789i123456789j123456789"
    };
    char page[1024];
    struct adp_value v;
    differing_page(page, sizeof page, labels, COUNT(labels));
    ck_assert_int_eq(read_page("a", page, ADP_AGG_NONE, 8, NULL, 0, &v),
                     ADP_WHY_AMBIGUOUS);
    ck_assert_str_eq(v.differ, "...");
}
END_TEST

/* Every a{e="i"} has its b; in the other order, so that each search is the longest. And
 * no c has one. 4,000 by 4,000 comparisons of labels would be felt. */
START_TEST(a_crowd_of_series_is_paired_one_by_one)
{
    enum { CROWD = 4000 };
    struct adp_metrics *now = NULL;
    struct adp_scratch *scratch = NULL;
    struct adp_value v;
    ck_assert_int_eq(adp_metrics_create(&now), 0);
    ck_assert_int_eq(adp_scratch_create(&scratch, CROWD), 0);
    for (int i = 0; i < 3 * CROWD; i++) {
        char value[16];
        int number = i < CROWD ? i : i < 2 * CROWD ? 2 * CROWD - 1 - i : i;
        struct adp_label label = { { "e", 1 }, { value, 0 } };
        label.value.n = (size_t)snprintf(value, sizeof value, "%d", number);
        struct adp_str name = { &"abc"[i / CROWD], 1 };
        ck_assert_int_eq(adp_metrics_add(now, name, &label, 1, number, false, 0, NULL),
                         0);
    }
    struct adp_moment moment = { .now = now };
    struct adp_expr *paired = compiled(EXPR, "a - b"),
                    *strangers = compiled(EXPR, "a - c");
    ck_assert_int_eq(adp_expr_evaluate(paired, &moment, ADP_AGG_MAX, 0, 0, scratch, &v),
                     0);
    ck_assert_uint_eq(v.taken, CROWD);
    ck_assert_int_eq(adp_expr_evaluate(strangers, &moment, ADP_AGG_MAX, ANY, scratch, &v),
                     ADP_WHY_NO_PARTNER);
    ck_assert_uint_eq(v.skipped, 2 * CROWD);
    adp_expr_destroy(strangers);
    adp_expr_destroy(paired);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(now);
}
END_TEST

START_TEST(no_metrics_at_all_is_no_snapshot)
{
    struct adp_expr *expr = compiled(METRIC, "a");
    struct adp_scratch *scratch = NULL;
    struct adp_moment moment = { .now = NULL };
    struct adp_value v;
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    ck_assert_int_eq(adp_expr_evaluate(expr, &moment, ADP_AGG_MAX, ANY, scratch, &v),
                     ADP_WHY_NO_SNAPSHOT);
    adp_scratch_destroy(scratch);
    adp_expr_destroy(expr);
}
END_TEST

/* A doubted engine's series are skipped, whatever they say; names it only begins alike
 * with, and other engines, are believed. */
START_TEST(a_doubted_engine_is_left_out)
{
    struct adp_expr *expr = compiled(EXPR, "v:kv + 0 * v:kv");
    struct adp_metrics *now =
        page_of("v:kv" E0 " 0.5\nv:kv{engine=\"1\",rank=\"x\"} 0.9\nother" E1 " 1\n");
    struct adp_scratch *scratch = NULL;
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    struct adp_doubt doubts[] = {
        { .prefix = "v:",
          .of = adp_engine_key(adp_metrics_at(now, 2)),
          .why = ADP_WHY_FROZEN },
        { .prefix = "w:",
          .of = adp_engine_key(adp_metrics_at(now, 0)),
          .why = ADP_WHY_ASLEEP },
    };
    struct adp_doubt *other = &doubts[doubts[0].of < doubts[1].of];
    adp_doubts_sort(doubts, 2);
    struct adp_moment moment = { .now = now, .doubts = doubts, .n_doubts = 2 };
    struct adp_value v;
    ck_assert_int_eq(adp_expr_evaluate(expr, &moment, ADP_AGG_MAX, FRACTION, scratch, &v),
                     0);
    ck_assert_double_eq(v.value, 0.5);
    ck_assert_uint_eq(v.skipped_by[ADP_WHY_FROZEN], 1);
    other->prefix = "v:k";
    enum adp_why why =
        adp_expr_evaluate(expr, &moment, ADP_AGG_MAX, FRACTION, scratch, &v);
    ck_assert(why == ADP_WHY_ASLEEP || why == ADP_WHY_FROZEN);
    ck_assert_uint_eq(v.skipped_by[ADP_WHY_ASLEEP], 1);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
}
END_TEST

/* Two engines of each of two targets, and what has no target. */
#define FOUR(name, v)                                                                    \
    name "{engine=\"0\",target=\"a\"} " v "\n" name "{engine=\"1\",target=\"a\"} " v     \
         "\n" name "{engine=\"0\",target=\"b\"} " v "\n" name                            \
         "{engine=\"1\",target=\"b\"} " v "\n" name " " v "\n"

/* Doubts of series 1 (engine 1 of target a), of target b, of all. */
static const struct {
    const char *name, *text, *prefix;
    enum adp_doubted kind;
    enum adp_why why;
    uint32_t skipped;
} doubted[] = {
    { "what grew is doubted of one that began anew", "delta(v:c)", "v:", ADP_DOUBT_ENGINE,
      ADP_WHY_COUNTER_RESET, 1 },
    { "not what it is", "v:c", "v:", ADP_DOUBT_ENGINE, ADP_WHY_COUNTER_RESET, 0 },
    { "of a target, all engines", "delta(v:c)", "", ADP_DOUBT_TARGET,
      ADP_WHY_COUNTER_RESET, 2 },
    { "and no others", "delta(v:c)", "w:", ADP_DOUBT_TARGET, ADP_WHY_COUNTER_RESET, 0 },
    { "of a make, all", "v:c", "v:", ADP_DOUBT_ALL, ADP_WHY_TOO_MANY, 5 },
    { "and no others", "v:c", "w:", ADP_DOUBT_ALL, ADP_WHY_TOO_MANY, 0 },
};

START_TEST(an_engine_a_target_or_a_make_is_doubted)
{
    struct adp_metrics *now = page_of(FOUR("v:c", "7")),
                       *before = page_of(FOUR("v:c", "4"));
    struct adp_scratch *scratch = NULL;
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    const uint64_t of[] = { adp_engine_key(adp_metrics_at(now, 1)),
                            adp_target_key((struct adp_str) { "b", 1 }), 0 };
    struct adp_doubt doubt = { .of = of[doubted[_i].kind],
                               .prefix = doubted[_i].prefix,
                               .kind = doubted[_i].kind,
                               .why = doubted[_i].why };
    struct adp_moment moment = {
        .now = now, .before = before, .elapsed_s = 1, .doubts = &doubt, .n_doubts = 1
    };
    struct adp_expr *expr = compiled(EXPR, doubted[_i].text);
    struct adp_value v;
    adp_expr_evaluate(expr, &moment, ADP_AGG_MAX, ANY, scratch, &v);
    ck_assert_msg(v.skipped_by[doubted[_i].why] == doubted[_i].skipped, "%s: %u",
                  doubted[_i].name, v.skipped);
    ck_assert_uint_eq(v.skipped, doubted[_i].skipped);
    ck_assert_uint_eq(v.taken, 5 - doubted[_i].skipped);
    adp_expr_destroy(expr);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(before);
    adp_metrics_destroy(now);
}
END_TEST

/* Three of each are no more than 4; together they are. */
START_TEST(either_holds_no_more_series_than_there_is_room_for)
{
    struct adp_metrics *now = page_of("a" E0 " 1\na" E1 " 1\na" E2 " 1\n"
                                      "b{f=\"0\"} 1\nb{f=\"1\"} 1\nb{f=\"2\"} 1\n");
    struct adp_expr *expr = compiled(EXPR, "either(a, b)");
    struct adp_moment moment = { .now = now };
    struct adp_value v;
    for (uint32_t room = 4; room <= 6; room += 2) {
        struct adp_scratch *scratch = NULL;
        ck_assert_int_eq(adp_scratch_create(&scratch, room), 0);
        ck_assert_int_eq(adp_expr_evaluate(expr, &moment, ADP_AGG_SUM, ANY, scratch, &v),
                         room < 6 ? ADP_WHY_TOO_MANY : ADP_WHY_PRESENT);
        adp_scratch_destroy(scratch);
    }
    ck_assert_double_eq(v.value, 6);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
}
END_TEST

START_TEST(doubts_are_found_however_many)
{
    enum { N = 1000 };
    static struct adp_doubt doubts[N];
    struct adp_metrics *now = page_of("v:c" E0 " 1\nv:c" E1 " 2\nv:c" E2 " 3\n");
    struct adp_expr *expr = compiled(EXPR, "v:c");
    struct adp_scratch *scratch = NULL;
    struct adp_value v;
    for (uint32_t i = 0; i < N; i++)
        doubts[i] = (struct adp_doubt) {
            .of = i * UINT64_C(0x9e3779b97f4a7c15), .prefix = "v:", .why = ADP_WHY_FROZEN
        };
    doubts[N / 2].of = adp_engine_key(adp_metrics_at(now, 1));
    adp_doubts_sort(doubts, N);
    for (uint32_t i = 1; i < N; i++)
        ck_assert_uint_lt(doubts[i - 1].of, doubts[i].of);
    struct adp_moment moment = { .now = now, .doubts = doubts, .n_doubts = N };
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    ck_assert_int_eq(adp_expr_evaluate(expr, &moment, ADP_AGG_SUM, ANY, scratch, &v), 0);
    ck_assert_double_eq(v.value, 4);
    ck_assert_uint_eq(v.skipped_by[ADP_WHY_FROZEN], 1);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
}
END_TEST

/* What a source says of `now`, in *ret or why not. Takes both pages. */
static enum adp_why grown(const char *source, struct adp_metrics *before,
                          struct adp_metrics *now, bool restarted, struct adp_value *ret)
{
    struct adp_moment moment = {
        .now = now, .before = before, .elapsed_s = 1, .restarted = restarted
    };
    struct adp_expr *expr = compiled(EXPR, source);
    struct adp_scratch *scratch = NULL;
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    enum adp_why why = adp_expr_evaluate(expr, &moment, ADP_AGG_NONE, ANY, scratch, ret);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(before);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
    return why;
}

/* 64 labels and a target: what joined pages may have. */
static void put_crowded(char *to, size_t cap, int counted, int created)
{
    char labels[1000];
    int n = 0;
    for (unsigned i = 0; i < ADP_METRICS_MAX_LABELS; i++)
        n += snprintf(labels + n, sizeof labels - (size_t)n, "l%u=\"v\",", i);
    snprintf(to, cap, "x_total{%starget=\"t\"} %d\nx_created{%starget=\"t\"} %d\n",
             labels, counted, labels, created);
}

START_TEST(a_counter_with_as_many_labels_as_may_be_tells_when_it_was_made)
{
    char text[2500];
    struct adp_value v;
    put_crowded(text, sizeof text, 9, 20);
    struct adp_metrics *now = page_of(text);
    put_crowded(text, sizeof text, 5, 10);
    struct adp_metrics *before = page_of(text);
    ck_assert_uint_eq(adp_metrics_at(now, 0)->n_labels, ADP_METRICS_MAX_LABELS + 1);
    ck_assert_int_eq(grown("delta(x_total)", before, now, false, &v),
                     ADP_WHY_COUNTER_RESET);
}
END_TEST

START_TEST(a_restart_of_the_page_stops_every_counter)
{
    struct adp_value v;
    ck_assert_int_eq(grown("delta(c)", page_of("c 3\n"), page_of("c 9\n"), true, &v),
                     ADP_WHY_COUNTER_RESET);
}
END_TEST

START_TEST(what_is_above_the_last_bound_is_told)
{
    struct adp_metrics *now = page_of(HISTOGRAM("0", "1", "2", "100"));
    struct adp_metrics *before = page_of(HISTOGRAM("0", "0", "0", "0"));
    struct adp_value v;
    ck_assert_int_eq(grown("quantile(0.95, h)", before, now, false, &v),
                     ADP_WHY_ABOVE_LAST_BOUND);
    ck_assert_double_eq(v.bound, 4);
}
END_TEST

START_TEST(the_first_metric_that_is_missing_is_named)
{
    struct adp_expr *expr = compiled(EXPR, "a / (b + quantile(0.5, h))");
    struct adp_metrics *now = page_of("a 1\nbb 2\n");
    struct adp_rename renames[] = { { "b", "bb" }, { "h_bucket", "g_bucket" } };
    struct adp_moment moment = { .now = now };
    const char *missing = NULL;
    ck_assert(!adp_expr_supplied(expr, &moment, &missing));
    ck_assert_str_eq(missing, "b");
    moment.renames = renames;
    moment.n_renames = 2;
    ck_assert(!adp_expr_supplied(expr, &moment, &missing));
    ck_assert_str_eq(missing, "h_bucket");
    ck_assert_int_eq(adp_metrics_add(now, (struct adp_str) { "g_bucket", 8 }, NULL, 0, 1,
                                     false, 0, NULL),
                     0);
    ck_assert(adp_expr_supplied(expr, &moment, &missing));
    ck_assert_ptr_null(missing);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
}
END_TEST

/* Held to at least 0, and not. */
static const struct {
    const char *text, *page, *before;
    enum adp_why held;
    double held_value, value;
} holds[] = {
    { "a + b", "a -1\nb 5\n", NULL, ADP_WHY_OUT_OF_RANGE, 0, 4 },
    { "a * b", "a -2\nb -5\n", NULL, ADP_WHY_OUT_OF_RANGE, 0, 10 },
    { "a / b", "a -2\nb -4\n", NULL, ADP_WHY_OUT_OF_RANGE, 0, 0.5 },
    { "a - b", "a 2\nb 4\n", NULL, 0, -2, -2 }, /* the signal's range is asked then */
    { "sum(a)", "a" E0 " -1\na" E1 " 5\n", NULL, 0, 5, 4 },
    { "sum(a - b)", "a" E0 " 1\nb" E0 " 3\na" E1 " 5\nb" E1 " 1\n", NULL, 0, 4, 2 },
    { "label(n, a)", "a{n=\"-3\"} 1\n", NULL, ADP_WHY_OUT_OF_RANGE, 0, -3 },
    { "delta(a)", "a 5\n", "a -7\n", ADP_WHY_OUT_OF_RANGE, 0, 12 },
    { "delta(a)", "a -5\n", "a -7\n", ADP_WHY_OUT_OF_RANGE, 0, 2 },
    { "a", "a -0\n", NULL, 0, 0, 0 },
    { "either(a - b, c)", "a 1\nb 3\nc 5\n", NULL, 0, 5, -2 },
    { "either(a - b, c) + 1", "a 1\nb 3\nc 5\n", NULL, 0, 6, -1 },
};

START_TEST(parts_are_held_up_where_it_is_asked_for)
{
    struct adp_metrics *now = page_of(holds[_i].page);
    struct adp_metrics *before = holds[_i].before ? page_of(holds[_i].before) : NULL;
    struct adp_moment moment = { .now = now, .before = before, .elapsed_s = 1 };
    struct adp_scratch *scratch = NULL;
    struct adp_value v;
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    struct adp_expr *expr = compiled(EXPR, holds[_i].text);
    ck_assert_int_eq(adp_expr_evaluate(expr, &moment, ADP_AGG_SUM, ANY, scratch, &v), 0);
    ck_assert_double_eq(v.value, holds[_i].value);
    adp_expr_hold(expr, 0);
    enum adp_why why = adp_expr_evaluate(expr, &moment, ADP_AGG_SUM, ANY, scratch, &v);
    ck_assert_msg(why == holds[_i].held, "%s: %s", holds[_i].text, adp_why_word(why));
    if (!why)
        ck_assert_double_eq(v.value, holds[_i].held_value);
    else
        ck_assert(v.outside < 0 && v.skipped == 1);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(before);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
}
END_TEST

START_TEST(evaluating_allocates_nothing)
{
    struct adp_expr *expr = compiled(
        EXPR, "sum(delta(a{engine=~\"0|1\"})) / (max(b) + b{engine!=\"x\"}) - -c "
              "+ sum(r) + quantile(0.5, h)");
    struct adp_metrics *now = page_of(THREE("a") THREE("b") "c 1\n" RANKS("1", "2", "3")
                                          HISTOGRAM("1", "2", "3", "3"));
    struct adp_metrics *before = page_of(THREE("a") HISTOGRAM("0", "0", "0", "0"));
    struct adp_scratch *scratch = NULL;
    ck_assert_int_eq(adp_scratch_create(&scratch, 8), 0);
    struct adp_moment moment = { .now = now, .before = before, .elapsed_s = 1 };
    struct adp_value v;
    fail_allocation(0);
    enum adp_why summed = adp_expr_evaluate(expr, &moment, ADP_AGG_SUM, ANY, scratch, &v);
    enum adp_why ambiguous =
        adp_expr_evaluate(expr, &moment, ADP_AGG_NONE, ANY, scratch, &v);
    uint64_t made = allocations;
    ck_assert_int_eq(summed, ADP_WHY_PRESENT);
    ck_assert_int_eq(ambiguous, ADP_WHY_AMBIGUOUS);
    ck_assert_uint_eq(made, 0);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(before);
    adp_metrics_destroy(now);
    adp_expr_destroy(expr);
}
END_TEST

static TCase *written(void)
{
    TCase *t = tcase_create("written");
    tcase_add_loop_test(t, a_mistake_is_told_with_its_column_and_what_was_expected, 0,
                        COUNT(refusals));
    tcase_add_test(t, a_long_word_is_cut_in_the_message);
    tcase_add_loop_test(t, depth_and_size_are_bounded, 0, COUNT(bounds));
    tcase_add_test(t, every_failed_allocation_is_reported_and_leaks_nothing);
    tcase_add_test(t, scratch_reports_a_failed_allocation);
    tcase_add_test(t, a_source_names_each_metric_once_and_keeps_its_text);
    tcase_add_test(t, each_reason_has_its_own_word);
    tcase_add_test(t, each_aggregation_has_its_own_word);
    return t;
}

static TCase *evaluated(void)
{
    TCase *t = tcase_create("evaluated");
    tcase_add_loop_test(t, a_source_yields_a_sane_value_or_a_reason, 0, COUNT(rows));
    tcase_add_loop_test(t, another_name_is_tried_second, 0, COUNT(renamed));
    tcase_add_test(t, a_counter_under_another_name_grows_too);
    tcase_add_test(t, names_are_chosen_for_so_many_replicas_and_no_more);
    tcase_add_loop_test(t, a_value_is_as_old_as_the_oldest_timestamp_in_it, 0,
                        COUNT(timed));
    tcase_add_loop_test(t, more_series_than_the_scratch_holds_are_refused_not_cut, 0,
                        COUNT(crowded));
    tcase_add_test(t, names_of_labels_that_do_not_fit_are_told_by_dots);
    tcase_add_test(t, a_name_of_a_label_that_does_not_fit_leaves_only_dots);
    tcase_add_test(t, a_crowd_of_series_is_paired_one_by_one);
    tcase_add_test(t, no_metrics_at_all_is_no_snapshot);
    tcase_add_test(t, a_doubted_engine_is_left_out);
    tcase_add_loop_test(t, an_engine_a_target_or_a_make_is_doubted, 0, COUNT(doubted));
    tcase_add_test(t, doubts_are_found_however_many);
    tcase_add_test(t, either_holds_no_more_series_than_there_is_room_for);
    tcase_add_test(t, a_counter_with_as_many_labels_as_may_be_tells_when_it_was_made);
    tcase_add_test(t, a_restart_of_the_page_stops_every_counter);
    tcase_add_test(t, what_is_above_the_last_bound_is_told);
    tcase_add_test(t, the_first_metric_that_is_missing_is_named);
    tcase_add_loop_test(t, parts_are_held_up_where_it_is_asked_for, 0, COUNT(holds));
    tcase_add_test(t, evaluating_allocates_nothing);
    return t;
}

int main(void)
{
    Suite *s = suite_create("expr");
    suite_add_tcase(s, written());
    suite_add_tcase(s, evaluated());
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
