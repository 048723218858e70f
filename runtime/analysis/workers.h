/* SPDX-License-Identifier: MIT */
/* A few threads that do one thing and are done. */
#ifndef ADP_ANALYSIS_WORKERS_H
#define ADP_ANALYSIS_WORKERS_H

enum { ADP_WORKERS = 8 }; /* at most: what each needs is memory */

/* The processors we may run on, up to ADP_WORKERS; at least 1. */
unsigned adp_workers_count(void);

/* Calls work(context, i) for each i below n, at once; returns when all have. Where a thread
 * cannot be started its call is made by the caller. */
void adp_workers_run(unsigned n, void (*work)(void *context, unsigned i), void *context);

#endif
