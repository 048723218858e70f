/* SPDX-License-Identifier: MIT */
/* A sheet: the metrics given with a request, and what is known of their shape. A host gives
 * the same series with every request, in the same order, and only numbers change; so a
 * sheet that is filled with what it holds already has its values set, and nothing is looked
 * up by name: neither the series, nor which sources they supply, nor, in the log, their
 * keys (core/keys.h). It leaves to the lane what to read from them and when.
 *
 *  1. What is remembered (names as given, or ids) describes the metrics as they are: it is
 *     forgotten before anything else is put in. Whoever fills `metrics` by hand calls
 *     adp_sheet_forget first.
 *  2. Remembered only when each thing given became a series of its own, the i-th the i-th.
 *  3. A shape has a number that no other filling of the sheet had; two sheets that start
 *     with 0 and 1 have no number in common. */
#ifndef ADP_CORE_SHEET_H
#define ADP_CORE_SHEET_H

#include "core/metrics.h"
#include "core/signal.h"

#include <admitperf/runtime.h>

struct adp_sheet {
    struct adp_metrics *metrics; /* owned */

    /* Of what was given: `n` of them, 0: nothing is known. */
    uint32_t n;
    bool by_id;
    uint32_t *id; /* owned */
    uint32_t cap_id;
    char *text; /* owned; what was given by name, as it was given */
    size_t text_len, cap_text;

    /* Of what was given: it cannot be a series, or there are too many. */
    uint32_t left_out;

    uint32_t shape; /* its number; 0: none, it cannot be told in a record */
    bool again;     /* the same was given twice: it is worth telling */
    bool told;      /* a record of the lane says what that shape is */
    uint32_t number;

    uint32_t bound_for; /* number of the generation whose sources these are; 0: none */
    struct adp_bound bound;
};

/* `number`: 0 or 1. ADP_ENOMEM, and nothing is to be finished. [control] */
int adp_sheet_init(struct adp_sheet *sheet, uint32_t number);
void adp_sheet_finish(struct adp_sheet *sheet);

/* Puts these in, in place of what was there. One that cannot be a series is absent,
 * and counted. [hot]:
 * allocates until it has held as many; 512 with 64 KiB of names never do. */
void adp_sheet_fill(struct adp_sheet *sheet, const adp_metric *metrics, uint32_t n);
/* The same by number: id i is series i - 1 of `interned`, which has `known`. */
void adp_sheet_fill_ids(struct adp_sheet *sheet, const struct adp_metrics *interned,
                        uint32_t known, const adp_sample *samples, uint32_t n);
void adp_sheet_forget(struct adp_sheet *sheet);

/* The sources of a generation's signals that these metrics supply. [hot] */
const struct adp_bound *adp_sheet_bound(struct adp_sheet *sheet, uint32_t generation,
                                        const struct adp_signals *signals);

/* Adds one of the host's. ADP_EINVAL: no name; as adp_metrics_add. */
int adp_sheet_add(struct adp_metrics *to, const adp_metric *metric,
                  struct adp_error *err);

#endif
