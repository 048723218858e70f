/* SPDX-License-Identifier: MIT */
/* The control thread: scrapes, publishes, reloads. */
#ifndef ADP_SIDECAR_CONTROL_H
#define ADP_SIDECAR_CONTROL_H

#include "runtime/sidecar/state.h"

/* Makes the scraper of the configuration's targets. */
int adp_control_begin(struct adp_sidecar *s, adp_error *err);
/* Until it is told to stop. */
void adp_control_run(struct adp_sidecar *s);

#endif
