/* SPDX-License-Identifier: MIT */
/* Sources, the writing half: text into a program (core/expr_program.h), and the words.
 *
 *   sum      = product { ("+" | "-") product }
 *   product  = unary { ("*" | "/") unary }
 *   unary    = { "-" } operand
 *   operand  = number | selector | "(" sum ")" | fold "(" sum ")"
 *            | two "(" sum "," sum ")"
 *            | growth "(" selector ")" | "quantile" "(" number "," selector ")"
 *            | "label" "(" (name | quoted) "," selector ")"
 *   fold     = "sum" | "max" | "min" | "mean"
 *   two      = "share" | "either"
 *   growth   = "delta" | "rate"
 *   selector = (name | quoted) [ "{" [ matcher { "," matcher } [ "," ] ] "}" ]
 *   matcher  = (name | quoted) ("=" | "!=" | "=~" | "!~") quoted
 *
 * A word is a function only where "(" follows it, so a metric may be called sum.
 *
 *  1. All storage is sized from the text before reading starts: a step takes at least one
 *     byte of it, a matcher two quotes, and a string ends where a byte follows that is
 *     not part of it, which leaves room for its NUL.
 *  2. Recursion is bounded by MAX_NESTING. */
#include "core/expr_program.h"

#include "core/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 4096, MAX_NESTING = 64 };

/* Longest found token shown in a message, and room for it with quotes and dots. */
enum { FOUND_BYTES = 40, FOUND_SIZE = FOUND_BYTES + 8 };

static const char *const why_words[] = {
    [ADP_WHY_PRESENT] = "present",
    [ADP_WHY_NEVER_SUPPLIED] = "never_supplied",
    [ADP_WHY_OUT_OF_RANGE] = "out_of_range",
    [ADP_WHY_NOT_FINITE] = "not_finite",
    [ADP_WHY_DIVISOR_ZERO] = "divisor_zero",
    [ADP_WHY_FIRST_SAMPLE] = "first_sample",
    [ADP_WHY_COUNTER_RESET] = "counter_reset",
    [ADP_WHY_BLANK] = "blank",
    [ADP_WHY_ASLEEP] = "asleep",
    [ADP_WHY_FROZEN] = "frozen",
    [ADP_WHY_NO_PARTNER] = "no_partner",
    [ADP_WHY_AMBIGUOUS] = "ambiguous",
    [ADP_WHY_STALE] = "stale",
    [ADP_WHY_TOO_MANY] = "too_many",
    [ADP_WHY_NO_SNAPSHOT] = "no_snapshot",
    [ADP_WHY_NOTHING_OBSERVED] = "nothing_observed",
    [ADP_WHY_ABOVE_LAST_BOUND] = "above_last_bound",
    [ADP_WHY_PART] = "part_of_total",
    [ADP_WHY_BOUNDS_DIFFER] = "bounds_differ",
};

const char *adp_why_word(enum adp_why why)
{
    return (unsigned)why < ADP_WHY_COUNT ? why_words[why] : "unknown";
}

static const char *const aggregate_words[] = {
    [ADP_AGG_NONE] = "none", [ADP_AGG_MAX] = "max",   [ADP_AGG_MIN] = "min",
    [ADP_AGG_SUM] = "sum",   [ADP_AGG_MEAN] = "mean", [ADP_AGG_LAST] = "last",
    [ADP_AGG_ONLY] = "only",
};
enum { N_AGGREGATES = sizeof aggregate_words / sizeof aggregate_words[0] };

const char *adp_aggregate_word(enum adp_aggregate aggregate)
{
    return (unsigned)aggregate < N_AGGREGATES ? aggregate_words[aggregate] : "unknown";
}

static const char *const function_words[] = { "delta",    "rate",  "sum",   "max",
                                              "min",      "mean",  "share", "either",
                                              "quantile", "label", NULL };
static const struct adp_step function_steps[] = {
    { .kind = ADP_STEP_DELTA },
    { .kind = ADP_STEP_RATE },
    { .kind = ADP_STEP_FOLD, .fold = ADP_AGG_SUM },
    { .kind = ADP_STEP_FOLD, .fold = ADP_AGG_MAX },
    { .kind = ADP_STEP_FOLD, .fold = ADP_AGG_MIN },
    { .kind = ADP_STEP_FOLD, .fold = ADP_AGG_MEAN },
    { .kind = ADP_STEP_SHARE },
    { .kind = ADP_STEP_EITHER },
    { .kind = ADP_STEP_QUANTILE },
    { .kind = ADP_STEP_LABEL },
};

struct reader {
    struct adp_expr *expr;
    const char *text;
    size_t len, at;
    uint32_t depth;
    const char *file;
    uint32_t line, column; /* of text[0] */
    struct adp_error *err;
};

/* ---- messages ---- */

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
    return is_name_start(c) || is_digit(c) || c == '.';
}

static uint32_t column_of(const struct reader *r, size_t at)
{
    return r->column + (uint32_t)at;
}

/* How many bytes at `at` a person would call one thing: a word, a quoted text less its
 * closing quote, a run of bytes outside ASCII, or one byte. */
static size_t token_length(const struct reader *r, size_t at)
{
    const char *t = r->text;
    size_t n = 1;
    if (is_name_byte(t[at]))
        while (is_name_byte(t[at + n]))
            n++;
    else if (t[at] == '"')
        n += strcspn(t + at + 1, "\"");
    else if ((unsigned char)t[at] >= 0x80)
        while ((unsigned char)t[at + n] >= 0x80)
            n++;
    return n;
}

static void print_found(const struct reader *r, size_t at, char to[FOUND_SIZE])
{
    if (at >= r->len) {
        snprintf(to, FOUND_SIZE, "the end");
        return;
    }
    size_t n = token_length(r, at);
    bool cut = n > FOUND_BYTES, quoted = r->text[at] == '"';
    snprintf(to, FOUND_SIZE, "%s%.*s%s\"", quoted ? "" : "\"", cut ? FOUND_BYTES : (int)n,
             r->text + at, cut ? "..." : "");
}

static int refuse(struct reader *r, size_t at, const char *what, const char *expected)
{
    char found[FOUND_SIZE];
    print_found(r, at, found);
    return adp_error_at(r->err, ADP_ESYNTAX, r->file, r->line, column_of(r, at),
                        "%s, found %s, expected %s", what, found, expected);
}

static int out_of_memory(const struct reader *r)
{
    return adp_error_at(r->err, ADP_ENOMEM, r->file, r->line, r->column, "out of memory");
}

/* ---- tokens ---- */

static void skip_blanks(struct reader *r)
{
    while (r->at < r->len && strchr(" \t\r\n", r->text[r->at]))
        r->at++;
}

static char next(struct reader *r)
{
    skip_blanks(r);
    return r->text[r->at]; /* NUL at the end */
}

/* A text in double quotes: \\, \" and \n are escapes, and as on a metrics page a
 * backslash before anything else stays, so that a pattern's \. can be written as is. */
static int read_quoted(struct reader *r, struct adp_str *ret)
{
    struct adp_expr *e = r->expr;
    char *to = e->strings + e->n_strings;
    size_t open = r->at++, n = 0;
    while (r->at < r->len && r->text[r->at] != '"') {
        char c = r->text[r->at++], then = r->text[r->at];
        if (c == '\\' && (then == '\\' || then == '"' || then == 'n')) {
            c = then == 'n' ? '\n' : then;
            r->at++;
        }
        to[n++] = c;
    }
    if (r->at >= r->len) {
        char what[64];
        snprintf(what, sizeof what, "the quote of column %u is not closed",
                 column_of(r, open));
        return refuse(r, r->at, what, "another quote");
    }
    r->at++;
    to[n] = '\0';
    e->n_strings += (uint32_t)n + 1;
    *ret = (struct adp_str) { .p = to, .n = n };
    return 0;
}

static size_t word_length(const struct reader *r)
{
    size_t n = 0;
    while (is_name_byte(r->text[r->at + n]))
        n++;
    return n;
}

static struct adp_str keep(struct reader *r, const char *bytes, size_t n)
{
    struct adp_expr *e = r->expr;
    char *to = e->strings + e->n_strings;
    memcpy(to, bytes, n);
    to[n] = '\0';
    e->n_strings += (uint32_t)n + 1;
    return (struct adp_str) { .p = to, .n = n };
}

/* A name, bare or quoted. `expected` completes the message when there is none. */
static int read_name(struct reader *r, const char *what, const char *expected,
                     struct adp_str *ret)
{
    char c = next(r);
    if (c == '"') {
        size_t open = r->at;
        int rc = read_quoted(r, ret);
        if (!rc && !ret->n)
            return refuse(r, open, "a name is empty", expected);
        return rc;
    }
    if (!is_name_start(c))
        return refuse(r, r->at, what, expected);
    size_t n = word_length(r);
    *ret = keep(r, r->text + r->at, n);
    r->at += n;
    return 0;
}

/* ---- selectors ---- */

static int read_matcher_kind(struct reader *r, enum adp_matcher_kind *ret)
{
    static const char *const words[] = { "=~", "!~", "!=", "=", NULL };
    static const enum adp_matcher_kind kinds[] = { ADP_MATCH_LIKE, ADP_MATCH_UNLIKE,
                                                   ADP_MATCH_UNEQUAL, ADP_MATCH_EQUAL };
    next(r);
    for (unsigned i = 0; words[i]; i++) {
        size_t n = strlen(words[i]);
        if (strncmp(r->text + r->at, words[i], n) == 0) {
            *ret = kinds[i];
            r->at += n;
            return 0;
        }
    }
    return refuse(r, r->at, "a label is not compared with anything", "=, !=, =~ or !~");
}

static int read_pattern(struct reader *r, size_t at, struct adp_matcher *matcher)
{
    const char *why = NULL;
    int rc =
        adp_pattern_compile(&matcher->pattern, matcher->value.p, matcher->value.n, &why);
    if (rc == ADP_ENOMEM)
        return out_of_memory(r);
    if (rc) {
        char found[FOUND_SIZE];
        print_found(r, at, found);
        return adp_error_at(r->err, rc, r->file, r->line, column_of(r, at),
                            "%s, found %s, expected a pattern of docs/signals.md", why,
                            found);
    }
    return 0;
}

static int read_matcher(struct reader *r)
{
    struct adp_matcher *matcher = &r->expr->matchers[r->expr->n_matchers];
    int rc = read_name(r, "a label is missing", "a label name or \"}\"", &matcher->label);
    if (!rc)
        rc = read_matcher_kind(r, &matcher->kind);
    if (rc)
        return rc;
    if (next(r) != '"')
        return refuse(r, r->at, "a label's value is missing", "a text in double quotes");
    size_t open = r->at;
    rc = read_quoted(r, &matcher->value);
    if (rc)
        return rc;
    r->expr->n_matchers++;
    if (matcher->kind == ADP_MATCH_LIKE || matcher->kind == ADP_MATCH_UNLIKE)
        rc = read_pattern(r, open, matcher);
    return rc;
}

/* What may follow a metric's name: its labels. */
static int read_matchers(struct reader *r, struct adp_selector *selector)
{
    uint32_t first = r->expr->n_matchers;
    if (next(r) != '{')
        return 0;
    r->at++;
    while (next(r) != '}') {
        int rc = read_matcher(r);
        if (rc)
            return rc;
        if (next(r) == ',')
            r->at++;
        else if (next(r) != '}')
            return refuse(r, r->at, "a label's value ends here", "\",\" or \"}\"");
    }
    r->at++;
    selector->matchers = r->expr->matchers + first;
    selector->n_matchers = r->expr->n_matchers - first;
    return 0;
}

static int emit(struct reader *r, size_t at, struct adp_step step)
{
    if (r->expr->n_steps == ADP_EXPR_STEPS)
        return adp_error_at(r->err, ADP_EINVAL, r->file, r->line, column_of(r, at),
                            "the expression has more than %d parts", ADP_EXPR_STEPS);
    r->expr->steps[r->expr->n_steps++] = step;
    return 0;
}

static int finish_selector(struct reader *r, size_t at, struct adp_str name,
                           struct adp_step step)
{
    struct adp_selector selector = { .name = name.p,
                                     .name_len = name.n,
                                     .hash = adp_metrics_hash(name.p, name.n) };
    int rc = read_matchers(r, &selector);
    if (!rc && next(r) == '[')
        rc = refuse(r, r->at, "a metric has a range",
                    "none: rate and delta compare with the page 10 to 20 s before");
    step.selector = r->expr->n_selectors;
    if (!rc)
        rc = emit(r, at, step);
    if (!rc)
        r->expr->selectors[r->expr->n_selectors++] = selector;
    return rc;
}

/* A histogram's name goes on in _bucket. The name was the last text kept, and the call
 * around it is longer than what is added. */
static void name_buckets(struct reader *r, struct adp_str *name)
{
    static const char suffix[] = "_bucket";
    size_t n = sizeof suffix - 1;
    if (name->n >= n && memcmp(name->p + name->n - n, suffix, n) == 0)
        return;
    memcpy(r->expr->strings + r->expr->n_strings - 1, suffix, sizeof suffix);
    r->expr->n_strings += (uint32_t)n;
    name->n += n;
}

static int read_selector(struct reader *r, struct adp_step step)
{
    struct adp_str name;
    next(r);
    size_t at = r->at;
    int rc = read_name(r, "a metric is missing", "a metric name", &name);
    if (!rc && step.kind == ADP_STEP_QUANTILE)
        name_buckets(r, &name);
    return rc ? rc : finish_selector(r, at, name, step);
}

/* ---- expressions ---- */

static int read_sum(struct reader *r);

static int enter(struct reader *r)
{
    if (r->depth == MAX_NESTING)
        return adp_error_at(r->err, ADP_EINVAL, r->file, r->line, column_of(r, r->at),
                            "parentheses are nested deeper than %d", MAX_NESTING);
    r->depth++;
    r->at++;
    return 0;
}

static int leave(struct reader *r, size_t open, const char *expected)
{
    if (next(r) != ')') {
        char what[64];
        snprintf(what, sizeof what, "the \"(\" of column %u is not closed",
                 column_of(r, open));
        return refuse(r, r->at, what, expected);
    }
    r->depth--;
    r->at++;
    return 0;
}

static int read_group(struct reader *r)
{
    size_t open = r->at;
    int rc = enter(r);
    if (!rc)
        rc = read_sum(r);
    return rc ? rc : leave(r, open, "+, -, *, / or \")\"");
}

static int unknown_function(struct reader *r, size_t len)
{
    char word[FOUND_SIZE];
    snprintf(word, sizeof word, "%.*s", (int)(len < FOUND_BYTES ? len : FOUND_BYTES),
             r->text + r->at);
    const char *nearest = adp_error_nearest(word, function_words);
    if (nearest)
        return adp_error_at(r->err, ADP_ESYNTAX, r->file, r->line, column_of(r, r->at),
                            "unknown function, found \"%s\", did you mean \"%s\"", word,
                            nearest);
    return refuse(r, r->at, "unknown function",
                  "delta, rate, sum, max, min, mean, share, either, quantile or label");
}

/* Takes letters along, so that 0x10 and 1e3x are refused whole and not cut in two. */
static int read_plain_number(struct reader *r, double *ret)
{
    const char *t = r->text + r->at;
    size_t n = 0;
    while (is_name_byte(t[n]) ||
           (n && (t[n] == '+' || t[n] == '-') && (t[n - 1] == 'e' || t[n - 1] == 'E')))
        n++;
    if (!adp_number_parse(t, n, ret) || isnan(*ret))
        return refuse(r, r->at, "not a number", "digits with an optional point and e");
    if (!isfinite(*ret))
        return refuse(r, r->at, "a number is too large", "one below 1.8e308");
    r->at += n;
    return 0;
}

/* What stands before the comma of quantile(q, …) and label(name, …). */
static int read_first_argument(struct reader *r, struct adp_step *step)
{
    int rc;
    next(r);
    size_t at = r->at;
    if (step->kind == ADP_STEP_LABEL)
        rc = read_name(r, "a label is missing", "a label name", &step->label);
    else
        rc = read_plain_number(r, &step->number);
    if (!rc && (step->number < 0 || step->number > 1))
        rc = refuse(r, at, "a quantile is out of range", "a number from 0 to 1");
    if (!rc && next(r) != ',')
        rc = refuse(r, r->at, "the metric is missing", "\",\" and a metric");
    r->at += !rc;
    return rc;
}

/* At the "(" of a function of two. */
static int read_two(struct reader *r)
{
    size_t open = r->at;
    int rc = enter(r);
    if (!rc)
        rc = read_sum(r);
    if (!rc && next(r) != ',')
        rc = refuse(r, r->at, "the second operand is missing", "+, -, *, / or \",\"");
    r->at += !rc;
    if (!rc)
        rc = read_sum(r);
    return rc ? rc : leave(r, open, "+, -, *, / or \")\"");
}

/* At a word that "(" follows. */
static int read_call(struct reader *r, size_t len)
{
    size_t at = r->at;
    unsigned f = 0;
    while (function_words[f] && (strlen(function_words[f]) != len ||
                                 memcmp(function_words[f], r->text + at, len) != 0))
        f++;
    if (!function_words[f])
        return unknown_function(r, len);
    r->at += len;
    next(r);
    size_t open = r->at;
    if (function_steps[f].kind == ADP_STEP_FOLD) {
        int rc = read_group(r);
        return rc ? rc : emit(r, at, function_steps[f]);
    }
    struct adp_step step = function_steps[f];
    if (step.kind == ADP_STEP_SHARE || step.kind == ADP_STEP_EITHER) {
        int rc = read_two(r);
        return rc ? rc : emit(r, at, step);
    }
    int rc = enter(r);
    if (!rc && (step.kind == ADP_STEP_QUANTILE || step.kind == ADP_STEP_LABEL))
        rc = read_first_argument(r, &step);
    if (!rc)
        rc = read_selector(r, step);
    return rc ? rc : leave(r, open, "\")\" after one metric");
}

static int read_number(struct reader *r)
{
    double number;
    size_t at = r->at;
    int rc = read_plain_number(r, &number);
    return rc ? rc
              : emit(r, at,
                     (struct adp_step) { .kind = ADP_STEP_NUMBER, .number = number });
}

static int read_operand(struct reader *r)
{
    char c = next(r);
    if (c == '(')
        return read_group(r);
    if (is_digit(c) || c == '.')
        return read_number(r);
    if (is_name_start(c)) {
        size_t n = word_length(r), past = r->at + n;
        while (r->text[past] && strchr(" \t\r\n", r->text[past]))
            past++;
        if (r->text[past] == '(')
            return read_call(r, n);
    } else if (c != '"') {
        return refuse(r, r->at, "an operand is missing",
                      "a number, a metric, a function or \"(\"");
    }
    return read_selector(r, (struct adp_step) { .kind = ADP_STEP_SERIES });
}

static int read_unary(struct reader *r)
{
    bool negative = false;
    next(r);
    size_t at = r->at;
    for (; next(r) == '-'; r->at++)
        negative = !negative;
    int rc = read_operand(r);
    if (!rc && negative)
        rc = emit(r, at, (struct adp_step) { .kind = ADP_STEP_NEGATE });
    return rc;
}

static int read_product(struct reader *r)
{
    int rc = read_unary(r);
    for (char c = next(r); !rc && (c == '*' || c == '/'); c = next(r)) {
        size_t at = r->at++;
        rc = read_unary(r);
        if (!rc)
            rc = emit(r, at,
                      (struct adp_step) { .kind = c == '*' ? ADP_STEP_MULTIPLY
                                                           : ADP_STEP_DIVIDE });
    }
    return rc;
}

static int read_sum(struct reader *r)
{
    int rc = read_product(r);
    for (char c = next(r); !rc && (c == '+' || c == '-'); c = next(r)) {
        size_t at = r->at++;
        rc = read_product(r);
        if (!rc)
            rc = emit(r, at,
                      (struct adp_step) { .kind = c == '+' ? ADP_STEP_ADD
                                                           : ADP_STEP_SUBTRACT });
    }
    return rc;
}

static uint32_t operands(enum adp_step_kind kind)
{
    switch (kind) {
    case ADP_STEP_NUMBER:
    case ADP_STEP_SERIES:
    case ADP_STEP_DELTA:
    case ADP_STEP_RATE:
    case ADP_STEP_LABEL:
    case ADP_STEP_QUANTILE:
        return 0;
    case ADP_STEP_NEGATE:
    case ADP_STEP_FOLD:
        return 1;
    default:
        return 2;
    }
}

/* The step behind which the operand begins that step `last` makes. */
static uint32_t before_operand(const struct adp_step *steps, uint32_t last)
{
    uint32_t i = last;
    for (uint32_t wanted = operands(steps[i].kind); wanted;)
        wanted = wanted - 1 + operands(steps[--i].kind);
    return i - 1;
}

/* From the end on: what the source yields, and what it is only folded or chosen from. */
static void find_ends(struct adp_step *steps, uint32_t n)
{
    steps[n - 1].ends = true;
    for (uint32_t i = n; i-- > 1;) {
        if (!steps[i].ends)
            continue;
        if (steps[i].kind == ADP_STEP_FOLD || steps[i].kind == ADP_STEP_EITHER)
            steps[i - 1].ends = true;
        if (steps[i].kind == ADP_STEP_EITHER)
            steps[before_operand(steps, i - 1)].ends = true;
    }
}

/* What a program is, as its steps go: of an operand that waits. */
struct shape {
    uint32_t first; /* its first step */
    bool bare;      /* it has no labels */
    bool series;    /* it has series that no share() or quantile() has put together */
};

/* Notes from where to where the outermost functions take what they are made of, and what the
 * whole may be read from several targets together for. */
static void find_shape(struct adp_expr *expr)
{
    struct shape stack[ADP_EXPR_STEPS];
    uint32_t top = 0;
    bool once = false; /* some either() has a side without labels */
    for (uint32_t i = 0; i < expr->n_steps; i++) {
        enum adp_step_kind kind = expr->steps[i].kind;
        if (operands(kind) == 0) {
            bool merged = kind == ADP_STEP_QUANTILE, number = kind == ADP_STEP_NUMBER;
            stack[top++] = (struct shape) { i, merged || number, !merged && !number };
            continue;
        }
        struct shape last = stack[top - 1], *to = &stack[top - operands(kind)];
        top -= operands(kind) - 1;
        once = once || (kind == ADP_STEP_EITHER && (to->bare || last.bare));
        to->bare = to->bare && last.bare;
        to->series = (to->series || last.series) && kind != ADP_STEP_SHARE;
        if (kind == ADP_STEP_FOLD || kind == ADP_STEP_SHARE) {
            to->bare = true;
            expr->steps[to->first].until = i;
        }
    }
    expr->totals = stack[0].bare && !once;
    expr->merges = expr->totals && !stack[0].series;
}

static int read_expression(struct reader *r)
{
    int rc = read_sum(r);
    if (rc)
        return rc;
    find_ends(r->expr->steps, r->expr->n_steps);
    find_shape(r->expr);
    if (next(r))
        return refuse(r, r->at, "the expression cannot go on here",
                      "+, -, *, / or the end");
    if (!r->expr->n_selectors)
        return adp_error_at(
            r->err, ADP_EINVAL, r->file, r->line, r->column,
            "the expression names no metric, so it could never be absent");
    return 0;
}

/* ---- metric: ---- */

/* A bare name goes up to its labels. Blanks and parentheses inside it are nearly always
 * an expression under the wrong key, which would read as a metric that never comes. */
static int read_bare_metric(struct reader *r, struct adp_str *ret)
{
    next(r);
    size_t n = strcspn(r->text + r->at, "{");
    while (n && strchr(" \t\r\n", r->text[r->at + n - 1]))
        n--;
    if (!n)
        return refuse(r, r->at, "a metric is missing", "a metric name");
    size_t bare = strcspn(r->text + r->at, " \t\r\n()\"}{");
    if (bare < n)
        return refuse(r, r->at + bare, "a bare metric name ends here",
                      "\"{\", the end, or the name in double quotes (expr: takes "
                      "expressions)");
    *ret = keep(r, r->text + r->at, n);
    r->at += n;
    return 0;
}

static int read_metric(struct reader *r)
{
    struct adp_str name;
    size_t at = r->at;
    int rc = next(r) == '"' ? read_name(r, "", "a metric name", &name)
                            : read_bare_metric(r, &name);
    if (!rc)
        rc = finish_selector(r, at, name, (struct adp_step) { .kind = ADP_STEP_SERIES });
    if (!rc && next(r))
        rc = refuse(r, r->at, "the metric cannot go on here", "the end");
    return rc;
}

/* ---- the object ---- */

static size_t count_quotes(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '"';
    return n;
}

static struct adp_expr *blank_expr(const char *text, size_t len)
{
    size_t steps = len < ADP_EXPR_STEPS ? len : ADP_EXPR_STEPS;
    struct adp_expr *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->text = calloc(1, len + 1);
    e->strings = calloc(1, len + 1);
    e->steps = calloc(steps + 1, sizeof *e->steps);
    e->selectors = calloc(steps + 1, sizeof *e->selectors);
    e->matchers = calloc(count_quotes(text) / 2 + 1, sizeof *e->matchers);
    if (!e->text || !e->strings || !e->steps || !e->selectors || !e->matchers) {
        adp_expr_destroy(e);
        return NULL;
    }
    memcpy(e->text, text, len);
    e->least = -(double)INFINITY;
    return e;
}

static int compile(struct adp_expr **ret, struct reader *r, int (*read)(struct reader *))
{
    r->len = strlen(r->text);
    if (r->len > MAX_BYTES)
        return adp_error_at(r->err, ADP_EINVAL, r->file, r->line, column_of(r, MAX_BYTES),
                            "the source is longer than %d bytes", MAX_BYTES);
    r->expr = blank_expr(r->text, r->len);
    if (!r->expr)
        return out_of_memory(r);
    int rc = read(r);
    if (rc) {
        adp_expr_destroy(r->expr);
        return rc;
    }
    *ret = r->expr;
    return 0;
}

int adp_expr_compile_metric(struct adp_expr **ret, const char *text, const char *file,
                            uint32_t line, uint32_t column, struct adp_error *err)
{
    struct reader r = {
        .text = text, .file = file, .line = line, .column = column, .err = err
    };
    return compile(ret, &r, read_metric);
}

int adp_expr_compile(struct adp_expr **ret, const char *text, const char *file,
                     uint32_t line, uint32_t column, struct adp_error *err)
{
    struct reader r = {
        .text = text, .file = file, .line = line, .column = column, .err = err
    };
    return compile(ret, &r, read_expression);
}

void adp_expr_destroy(struct adp_expr *expr)
{
    if (!expr)
        return;
    for (uint32_t i = 0; i < expr->n_matchers; i++)
        adp_pattern_destroy(expr->matchers[i].pattern);
    free(expr->matchers);
    free(expr->selectors);
    free(expr->steps);
    free(expr->strings);
    free(expr->text);
    free(expr);
}

void adp_expr_hold(struct adp_expr *expr, double least)
{
    expr->least = least;
}

bool adp_expr_totals(const struct adp_expr *expr)
{
    return expr->totals;
}

bool adp_expr_merges(const struct adp_expr *expr)
{
    return expr->merges;
}

const char *adp_expr_text(const struct adp_expr *expr)
{
    return expr->text;
}

static bool named_before(const struct adp_expr *expr, uint32_t selector)
{
    for (uint32_t i = 0; i < selector; i++)
        if (strcmp(expr->selectors[i].name, expr->selectors[selector].name) == 0)
            return true;
    return false;
}

const char *adp_expr_metric(const struct adp_expr *expr, uint32_t i)
{
    for (uint32_t s = 0; s < expr->n_selectors; s++)
        if (!named_before(expr, s) && i-- == 0)
            return expr->selectors[s].name;
    return NULL;
}
