/* SPDX-License-Identifier: MIT */
/* A few threads that do one thing and are done. */
#include "runtime/analysis/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

unsigned adp_workers_count(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n > ADP_WORKERS ? ADP_WORKERS : (unsigned)n;
}

struct call {
    void (*work)(void *context, unsigned i);
    void *context;
    unsigned i;
    pthread_t thread;
    bool started;
};

static void *make_call(void *of)
{
    const struct call *call = of;
    call->work(call->context, call->i);
    return NULL;
}

void adp_workers_run(unsigned n, void (*work)(void *context, unsigned i), void *context)
{
    struct call calls[ADP_WORKERS];
    for (unsigned i = 1; i < n; i++) {
        calls[i] = (struct call) { .work = work, .context = context, .i = i };
        calls[i].started = !pthread_create(&calls[i].thread, NULL, make_call, &calls[i]);
    }
    work(context, 0);
    for (unsigned i = 1; i < n; i++)
        if (calls[i].started)
            pthread_join(calls[i].thread, NULL);
        else
            work(context, i);
}
