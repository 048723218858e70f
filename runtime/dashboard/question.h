/* SPDX-License-Identifier: MIT */
/* Questions about what is below the folder: from a request's path and query to what is to be
 * read, and how that becomes JSON.
 *
 *  1. A question holds nothing of the request it was read from: it is answered later, by
 *     another thread.
 *  2. Every path in it leads, links followed, below the folder. */
#ifndef ADP_DASHBOARD_QUESTION_H
#define ADP_DASHBOARD_QUESTION_H

#include "runtime/analysis/excerpt.h"
#include "runtime/http/http.h"

#include <stdio.h>

enum { ADP_QUESTION_PATHS = 256, ADP_QUESTION_TEXT = 4096 };

/* Texts, each owned. */
struct adp_values {
    char *all[ADP_QUESTION_PATHS];
    size_t n;
};

struct adp_question {
    uint64_t exchange;
    char
        *asked; /* owned: path and query, what an answer is kept by; NULL: none is kept */
    struct adp_values logs;     /* none: the folder */
    struct adp_values names;    /* what else it names */
    struct adp_excerpt excerpt; /* of lines; points into the two above */
    int (*write)(const struct adp_question *question, FILE *to, struct adp_error *err);
};

/* `root`: the folder, which is the current one, without links in it. *ret is the caller's.
 * ADP_ENOENT: there is no such question, or nothing at a path; ADP_EINVAL; ADP_ENOMEM.
 * [any] */
int adp_question_read(const char *root, const struct adp_http_request *request,
                      struct adp_question **ret, struct adp_error *err);
void adp_question_destroy(struct adp_question *question);

/* The answer: JSON. [any], one thread for each question */
int adp_question_write(const struct adp_question *question, FILE *to,
                       struct adp_error *err);
/* A print of the logs that answering reads: their names, sizes, times. [any] */
uint64_t adp_question_print(const struct adp_question *question);

#endif
