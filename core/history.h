/* SPDX-License-Identifier: MIT */
/* What is remembered from page to page: counters to subtract, and signs of life.
 *
 * A counter says something only against an earlier page. One second back is too near: a
 * request more or less decides a hit rate, and most seconds see no first token. So the
 * page before is one that is at least the window old and, once pages come regularly,
 * younger than two windows; in the beginning it is the oldest there is.
 *
 * An engine may die and its page go on: gauges that stand at 99 % for ever keep a gate
 * shut, or at 0 keep it open. While an engine has said for ADP_FROZEN_NS that requests run
 * in it, and none of its counters has moved in that time, what it says is doubted
 * (core/expr.h). So is what Ray goes on telling of a worker whose counters stand that long
 * while another's move. Time passes for an engine only when it is measured again: one whose
 * series come with the timestamp of the page before was not asked, or not heard.
 *
 *  1. Pages are given in the order of time. One that was not kept was never there.
 *  2. An engine of which a token counter went back or was made anew (_created), and a target
 *     whose process started anew, has no growth that reaches back before that page: all of
 *     its counters are doubted (COUNTER_RESET). When the page's own process did, or all its
 *     engines, the pages before it are forgotten.
 *  3. Of a series with a timestamp, the measurement before its last is remembered for as long
 *     as the last stands on the page, if it did not begin anew between the two.
 *  4. Of more engines than there is room for (2,048 in all), none of their make is believed.
 */
#ifndef ADP_CORE_HISTORY_H
#define ADP_CORE_HISTORY_H

#include "core/expr.h"
#include "core/metrics.h"

#define ADP_WINDOW_NS UINT64_C(10000000000)
#define ADP_FROZEN_NS UINT64_C(30000000000)

#define ADP_HISTORY_PAGES 4

struct adp_history;

/* window_ns 0: the page before is the last one kept. ADP_ENOMEM. [control], as all here. */
int adp_history_create(struct adp_history **ret, uint64_t window_ns);
void adp_history_destroy(struct adp_history *history);

/* The metrics to fill next; cleared. Borrowed until it is kept or asked for again. */
struct adp_metrics *adp_history_next(struct adp_history *history);
/* The same as it is: what it was filled with since it was last cleared. There are
 * ADP_HISTORY_PAGES different ones in all. */
struct adp_metrics *adp_history_next_filled(struct adp_history *history);

/* The page kept last and when it was measured, or NULL. Borrowed until the keep after the
 * next. */
struct adp_metrics *adp_history_last(const struct adp_history *history,
                                     uint64_t *ret_at_ns);

/* What `page`, filled next or kept last, is to be evaluated over; measured at `at_ns` on a
 * clock that does not go back. Renames are left out. Borrowed until the next call of this
 * or of adp_history_keep. */
void adp_history_look(struct adp_history *history, const struct adp_metrics *page,
                      uint64_t at_ns, struct adp_moment *ret);

/* The page filled last is part of the past from now on. After adp_history_look on it. */
void adp_history_keep(struct adp_history *history, uint64_t at_ns);

#endif
