/* SPDX-License-Identifier: MIT */
/* Telling systemd how we stand: sd_notify(3). Ours, because it is one datagram, and
 * libsystemd would bring a library and its loader into a program that has no other use for
 * it. */
#ifndef ADP_SIDECAR_NOTIFY_H
#define ADP_SIDECAR_NOTIFY_H

/* Sends the text ("READY=1") to $NOTIFY_SOCKET, if there is one. [any] */
void adp_notify(const char *text);

#endif
