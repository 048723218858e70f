/* SPDX-License-Identifier: MIT */
/* Datagrams (datagram.h). */
#include "runtime/sidecar/datagram.h"

#include "runtime/http/listen.h"
#include "runtime/sidecar/outcome.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* What a burst may bring before we come to it: 16,000 small lines or so. */
enum { RECEIVE_BYTES = 8 << 20, AT_ONCE = 256 };

void adp_datagram_widen(int fd)
{
    int bytes = RECEIVE_BYTES;
    /* Beyond the system's limit it is cut to that. */
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

bool adp_datagram_take(struct adp_desk *desk, int fd, char *buffer)
{
    for (int i = 0; i < AT_ONCE; i++) {
        ssize_t n = recv(fd, buffer, ADP_DATAGRAM_MAX, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n > 0)
            adp_outcome_datagram(desk, buffer, (size_t)n);
    }
    return true;
}

bool adp_datagram_address(int fd, char *to, size_t cap)
{
    char address[160];
    if (adp_http_listen_address(fd, address, sizeof address) < 0)
        return false;
    bool unixes = strncmp(address, "unix:", 5) == 0;
    int n = snprintf(to, cap, unixes ? "unixgram:%s" : "udp:%s",
                     unixes ? address + 5 : address);
    return n > 0 && (size_t)n < cap;
}
