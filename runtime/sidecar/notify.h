/* SPDX-License-Identifier: MIT */
/* Telling systemd how we stand: sd_notify(3). Ours, because it is one datagram, and
 * libsystemd would bring a library and its loader into a program that has no other use for
 * it. */
#ifndef ADP_SIDECAR_NOTIFY_H
#define ADP_SIDECAR_NOTIFY_H

#include <stdint.h>

/* Sends the text ("READY=1") to $NOTIFY_SOCKET, if there is one. Whoever does not read there is
 * waited for a second. [any] */
void adp_notify(const char *text);

/* How often systemd is to be told "WATCHDOG=1": half of what its watchdog waits ($WATCHDOG_USEC,
 * $WATCHDOG_PID); 0: it has none for us. [any] */
uint64_t adp_notify_period_ns(void);
/* Tells it, without waiting. [any] */
void adp_notify_watchdog(void);

#endif
