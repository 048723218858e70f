/* SPDX-License-Identifier: MIT */
/* The compiled form of a source. Only core/expr.c, which writes it, and
 * core/expr_evaluate.c, which runs it, include this.
 *
 * A program is a list of steps in postfix order over a stack of vectors: a number or a
 * selector pushes one, an operator takes two and pushes one, a fold takes and pushes one.
 *
 *  1. Every program leaves exactly one vector and never takes from an empty stack.
 *  2. It holds at least one selector: a source without a metric would never be absent. */
#ifndef ADP_CORE_EXPR_PROGRAM_H
#define ADP_CORE_EXPR_PROGRAM_H

#include "core/expr.h"
#include "core/pattern.h"

/* The most steps that a program has, and so the most vectors that wait at one time. */
enum { ADP_EXPR_STEPS = 256 };

enum adp_step_kind {
    ADP_STEP_NUMBER,
    ADP_STEP_SERIES,   /* of a selector */
    ADP_STEP_DELTA,    /* growth of a selector's series */
    ADP_STEP_RATE,     /* the same, per second */
    ADP_STEP_LABEL,    /* the numbers in a label of a selector's series */
    ADP_STEP_QUANTILE, /* of the growth of a selector's buckets */
    ADP_STEP_NEGATE,
    ADP_STEP_ADD,
    ADP_STEP_SUBTRACT,
    ADP_STEP_MULTIPLY,
    ADP_STEP_DIVIDE,
    ADP_STEP_SHARE,  /* takes two */
    ADP_STEP_EITHER, /* takes two */
    ADP_STEP_FOLD
};

struct adp_step {
    enum adp_step_kind kind;
    enum adp_aggregate fold; /* FOLD */
    uint32_t selector;       /* SERIES, DELTA, RATE, LABEL, QUANTILE: index */
    double number;           /* NUMBER; QUANTILE: which, 0 to 1 */
    struct adp_str label;    /* LABEL */
    uint32_t until; /* the outermost FOLD or SHARE whose operands begin here; 0: none */
    bool ends; /* its value is the source's, or that is only folded or chosen from it */
};

enum adp_matcher_kind {
    ADP_MATCH_EQUAL,
    ADP_MATCH_UNEQUAL,
    ADP_MATCH_LIKE,
    ADP_MATCH_UNLIKE
};

/* A label that a series does not have is held to be empty, as Prometheus does. */
struct adp_matcher {
    enum adp_matcher_kind kind;
    struct adp_str label, value;
    struct adp_pattern *pattern; /* owned; LIKE, UNLIKE */
};

struct adp_selector {
    const char *name; /* NUL-terminated */
    size_t name_len;
    uint64_t hash; /* of the name: adp_metrics_hash */
    const struct adp_matcher *matchers;
    uint32_t n_matchers;
};

struct adp_expr {
    char *text;    /* as written */
    char *strings; /* names and label values, unescaped, each NUL-terminated */
    struct adp_step *steps;
    struct adp_selector *selectors;
    struct adp_matcher *matchers;
    uint32_t n_strings, n_steps, n_selectors, n_matchers;
    bool totals, merges; /* adp_expr_totals, adp_expr_merges */
    double least;        /* below it nothing that it adds, divides or folds makes sense */
};

#endif
