/* SPDX-License-Identifier: MIT */
/* Less to do harm with (runtime/check/sandbox.h): limits, and the fence. */
#include "runtime/check/sandbox.h"

#include "runtime/check/fence.h"
#include "runtime/check/sanitized.h"

#include <sys/resource.h>

static void limit(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit r;
    if (getrlimit(what, &r) != 0)
        return;
    if (r.rlim_max != RLIM_INFINITY && r.rlim_max < most)
        most = r.rlim_max;
    r.rlim_cur = r.rlim_max = most;
    setrlimit(what, &r);
}

bool adp_sandbox_enter(uint32_t limit_s, void (*refused)(int number))
{
    limit(RLIMIT_CPU, 2 * limit_s);
    limit(RLIMIT_FSIZE, 64u << 20);
    if (!ADP_SANITIZED)
        limit(RLIMIT_DATA, 512u << 20);
    return adp_fence_raise(ADP_FENCE_LOOK, refused);
}
