/* SPDX-License-Identifier: MIT */
/* The sidecar's supervisor: the process that has the sockets, the region and the log, and runs no
 * policy; its worker, the same program, is a sidecar (sidecar.h).
 *
 *     look       in a process of its own, since policies are loaded for it: is all well, and
 *                where does the log go?
 *     oversee    sockets, region, log; workers, one after the other
 *
 *  1. What is wrong with the configuration, a policy, an address or the log is told before
 *     anything is served, and ends it. A worker that exits before any was ready ends it too.
 *  2. systemd knows this process: it is told here of start, reload and stop, and its watchdog fed. */
#ifndef ADP_SIDECAR_OVERSEE_H
#define ADP_SIDECAR_OVERSEE_H

#include "runtime/sidecar/sidecar.h"

struct adp_oversight {
    struct adp_sidecar_options sidecar;
    /* Says what is wrong, all of it. */
    void (*say_errors)(void *ctx, const adp_errors *errors, const adp_error *err);
    const char *program;     /* of the worker; borrowed, as all here */
    const char *const *argv; /* its arguments; NULL-terminated */
};

/* Whether the file asks for a supervisor. What is wrong with it does not matter here: then no.
 * [control] */
bool adp_oversee_is_asked(const char *config);
/* Serves until it is told to stop. Needs a process with one thread that has loaded no policy.
 * ADP_EINVAL: something is wrong that was said already (err is untouched); ADP_EIO, ADP_ENOMEM,
 * ADP_EFULL. [control] */
int adp_oversee(const struct adp_oversight *oversight, adp_error *err);

#endif
