/* SPDX-License-Identifier: MIT */
/* Those who read logs, so that the loop never does: a long one keeps nobody waiting for the page,
 * for what is live, or for another log.
 *
 *  1. Questions are answered in the order in which they come, two at a time: reading a log takes
 *     all processors as it is.
 *  2. A question whose client is gone before it was begun is not answered. One that was begun is,
 *     and kept (kept.h). */
#ifndef ADP_DASHBOARD_WORK_H
#define ADP_DASHBOARD_WORK_H

#include "runtime/dashboard/question.h"

struct adp_work; /* opaque */

/* What became of a question. */
struct adp_worked {
    uint64_t exchange;
    int code; /* 0: body is the answer; else err has the words */
    struct adp_error err;
    char *body; /* the caller's to free */
    size_t len;
};

/* ADP_EIO, ADP_ENOMEM. [control] */
int adp_work_create(struct adp_work **ret, struct adp_error *err);
/* Waits for what was begun. [control] */
void adp_work_destroy(struct adp_work *work);

/* Can be read when something is done. Borrowed for its life. */
int adp_work_fd(const struct adp_work *work);
/* Takes the question, also on failure. ADP_EFULL: too many wait. */
int adp_work_add_take(struct adp_work *work, struct adp_question *question);
/* The next that is done; false: none. */
bool adp_work_next(struct adp_work *work, struct adp_worked *ret);
/* Its client is gone. */
void adp_work_forget(struct adp_work *work, uint64_t exchange);

#endif
