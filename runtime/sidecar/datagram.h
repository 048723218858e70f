/* SPDX-License-Identifier: MIT */
/* Sockets that outcomes come to as datagrams: UDP, unix. */
#ifndef ADP_SIDECAR_DATAGRAM_H
#define ADP_SIDECAR_DATAGRAM_H

#include "runtime/config/config.h"
#include "runtime/sidecar/desk.h"

#define ADP_DATAGRAM_MAX 65536u

/* Opens one. ADP_EIO says why not: the port is taken, no such folder, no such group. */
int adp_datagram_open(const struct adp_listen_setting *listen, int *ret_fd,
                      adp_error *err);
/* Takes those that are there, 256 at most, so that requests come in between. `buffer`:
 * ADP_DATAGRAM_MAX bytes. False: none is left. */
bool adp_datagram_take(struct adp_desk *desk, int fd, char *buffer);
void adp_datagram_close(int fd, bool opened);
/* "udp:127.0.0.1:9401", "unixgram:/path". */
bool adp_datagram_address(int fd, char *to, size_t cap);

#endif
