/* SPDX-License-Identifier: MIT */
/* Outcomes that come as datagrams: UDP, unix. Sockets are opened and closed by http's listen.h. */
#ifndef ADP_SIDECAR_DATAGRAM_H
#define ADP_SIDECAR_DATAGRAM_H

#include "runtime/sidecar/desk.h"

#define ADP_DATAGRAM_MAX 65536u

/* Makes room in a socket for a burst. */
void adp_datagram_widen(int fd);
/* Takes those that are there, 256 at most, so that requests come in between. `buffer`:
 * ADP_DATAGRAM_MAX bytes. False: none is left. */
bool adp_datagram_take(struct adp_desk *desk, int fd, char *buffer);
/* "udp:127.0.0.1:9401", "unixgram:/path". */
bool adp_datagram_address(int fd, char *to, size_t cap);

#endif
