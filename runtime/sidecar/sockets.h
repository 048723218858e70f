/* SPDX-License-Identifier: MIT */
/* The sockets that are listened on: those that somebody handed over, and in their place, kind by
 * kind, those that the configuration names. */
#ifndef ADP_SIDECAR_SOCKETS_H
#define ADP_SIDECAR_SOCKETS_H

#include "runtime/sidecar/sidecar.h"

#define ADP_DEFAULT_LISTEN "127.0.0.1:9400"

struct adp_sockets {
    struct adp_socket list[ADP_MAX_SOCKETS];
    bool opened[ADP_MAX_SOCKETS]; /* by us: a unix socket's path is to be taken away */
    uint32_t n;
};

/* Takes what is given, also on failure, and opens the rest. ADP_EINVAL: one that was given can be
 * reached from other machines, and may not; ADP_EIO: cannot listen; ADP_EFULL. [control] */
int adp_sockets_open(struct adp_sockets *sockets, const struct adp_serve_setting *serve,
                     const struct adp_socket *given, uint32_t n_given, adp_error *err);
/* Adds one as it is; it is taken, also on failure. ADP_EFULL. [control] */
int adp_sockets_add_take(struct adp_sockets *sockets, struct adp_socket socket,
                         bool opened, adp_error *err);
/* Closes all, and takes the paths of those away that we opened. [control] */
void adp_sockets_close(struct adp_sockets *sockets);

/* Where the i-th of a kind listens, in words of http's listen.h; false: no such. [any] */
bool adp_sockets_address(const struct adp_sockets *sockets, enum adp_socket_kind kind,
                         uint32_t i, char *to, size_t cap);
/* Says them all to people. [control] */
void adp_sockets_say(const struct adp_sockets *sockets,
                     const struct adp_sidecar_options *options);

/* Nobody is to wait in vain: streams of ours refuse from now on, in whichever process they are
 * listened on; those that were handed over stay as they are. */
void adp_sockets_refuse(const struct adp_sockets *sockets);
/* Raises the limit of descriptors to what is allowed; true: `connections` of them and what else is
 * open may be more than that, which `to` says. [control], at the start */
bool adp_sockets_are_scarce(uint64_t connections, char *to, size_t cap);

#endif
