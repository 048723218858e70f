/* SPDX-License-Identifier: MIT */
/* Sockets that are listened on: opened from an address, or looked at when they were inherited.
 * Those of datagrams, which a server may watch (adp_http_server_watch), are opened alike.
 *
 *  1. A unix socket is for nobody else until it has its mode and group.
 *  2. A path is taken over only from a socket nobody listens on, never from another kind of file.
 *
 * Which descriptors were inherited (LISTEN_FDS, a supervisor's message) is the caller's to know.
 * Errors: http.h. */
#ifndef ADP_HTTP_LISTEN_H
#define ADP_HTTP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adp_http_listen_options {
    uint32_t mode;     /* of a unix socket; 0: 0660 */
    const char *group; /* of a unix socket, a name or a number; NULL: the process's */
    bool datagrams;    /* a socket of these, which is bound and accepts nobody */
};

/* Opens "HOST:PORT", "[ADDRESS]:PORT" or "unix:PATH" and listens. HOST is a number or a name, of
 * which the first address is taken; an empty one is an error, so that all interfaces are only
 * listened on when "0.0.0.0" or "[::]" is written. "[::]" takes IPv6 alone. PORT may be 0: any.
 * *ret_fd does not block, is closed on exec and is the caller's. UV_EINVAL: not such an address;
 * UV_ENAMETOOLONG: a path over 107 bytes; UV_ENOENT: no such group or folder; UV_EADDRINUSE:
 * somebody listens there, or the path is another file; UV_EAI_…: the name; whatever else the
 * system says. [control] */
int adp_http_listen(const char *address, const struct adp_http_listen_options *options,
                    int *ret_fd);

/* Whether an inherited descriptor can be listened on as it is; sets O_NONBLOCK and FD_CLOEXEC.
 * UV_EINVAL: not a listening stream socket of TCP or unix. [control] */
int adp_http_listen_inherited(int fd);

/* Writes where a socket listens in the form above, NUL-terminated. UV_ENOBUFS. [any] */
int adp_http_listen_address(int fd, char *to, size_t cap);

/* Closes the descriptor and, of a unix socket, takes the path away if it is still this socket's.
 * Not for what was inherited: that path is somebody else's. [control] */
void adp_http_listen_close(int fd);

/* Takes the path of a unix socket away if nobody listens there any more: for whoever closed it
 * otherwise. `address`: in the form above; one that is no unix socket's is left alone. [control] */
void adp_http_listen_remove(const char *address, bool datagrams);

#endif
