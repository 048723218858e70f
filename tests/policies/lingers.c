/* SPDX-License-Identifier: MIT */
/* Takes its time being mapped: with ADP_TEST_LINGERS="OUT IN", two descriptors, its
 * constructor writes a byte to the one and waits for one from the other. */
#include <admitperf/policy.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void linger(void)
{
    const char *fds = getenv("ADP_TEST_LINGERS");
    int out, in;
    char byte = 0;
    if (!fds || sscanf(fds, "%d %d", &out, &in) != 2)
        return;
    if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
        abort();
}

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

const adp_policy admitperf_policy_v1 = { ADP_HEAD, .name = "lingers",
                                         .threading = ADP_CONCURRENT, .decide = decide };
