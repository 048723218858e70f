/* SPDX-License-Identifier: MIT */
/* Waiting for the log: a flush waits two seconds, and a sanitizer's drain, or a machine on which
 * others want the processors, may take longer for full rings. */
#ifndef ADP_TESTS_HOST_FLUSH_H
#define ADP_TESTS_HOST_FLUSH_H

#include <admitperf/runtime.h>

/* As adp_runtime_flush, for a minute at most. */
static inline int flush_all(adp_runtime *rt)
{
    int code = ADP_EIO;
    for (int i = 0; code == ADP_EIO && i < 30; i++)
        code = adp_runtime_flush(rt, NULL);
    return code;
}

#endif
