/* SPDX-License-Identifier: MIT */
/* The sidecar: answers gateways over HTTP and SPOP, takes outcomes, scrapes, shows itself.
 *
 * This is the process that decides. It is given a configuration, and, if somebody else
 * opened them, the sockets to listen on; without, it opens them itself. Unless it is told to be
 * alone it is the worker of a supervisor (oversee.h), which has the sockets, the region and the
 * log, and goes on when a policy ends this process.
 *
 *     control   scrapes, publishes, reloads: whatever may take its time
 *     loop …    answer HTTP, each on its own lane; the first takes datagrams and signals
 *     spop      answers HAProxy, if it is configured
 *
 *  1. No request waits for a page, a reload, the log or another client.
 *  2. What cannot be told is absent: a page that does not come ages out; a request without
 *     an id is decided all the same; a wrong answer is never made up.
 *  3. SIGTERM and SIGINT (unless whoever started us ignores them): no new connections, what
 *     has begun is finished within the bound, outcomes that have arrived are taken, everything is written. SIGHUP: the
 *     configuration is read again, and the log opened anew.
 *  4. `serve:` is read at the start only; the token's file at each reload.
 *
 * Left to others: TLS and client certificates (a gateway or stunnel).
 *
 * The room: auth.c and decide.c answer requests, answer.c words decisions, facts.c and
 * outcome.c read what gateways tell, syslog.c and spop.c their formats, token.c who may
 * ask, desk.c is what each thread that answers has for itself, spoa.c and datagram.c have
 * the sockets, expose.c writes /metrics, board.c knows how it stands, inherit.c and
 * notify.c talk to systemd, sockets.c listens, check.c says what would be served, loop.c,
 * control.c and sidecar.c run it all; oversee.c is the supervisor, above.c what the worker has to
 * do with it, owed.c what a worker leaves to the next. */
#ifndef ADP_SIDECAR_SIDECAR_H
#define ADP_SIDECAR_SIDECAR_H

#include "runtime/config/config.h"

#include <stdio.h>

struct adp_sidecar;

/* A socket that somebody else opened. */
enum adp_socket_kind { ADP_SOCKET_HTTP, ADP_SOCKET_SPOP, ADP_SOCKET_OUTCOMES };
#define ADP_SOCKET_KINDS 3
struct adp_socket {
    int fd;
    enum adp_socket_kind kind;
};
#define ADP_MAX_SOCKETS 48u

/* Those that systemd hands over (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES): streams are for
 * HTTP, or for SPOP when they are named "spop"; datagrams are outcomes. The variables are
 * taken out of the environment. ADP_EINVAL: one is none of these. [control], at the start */
int adp_sidecar_inherit(struct adp_socket *ret, uint32_t *ret_n, adp_error *err);

struct adp_sidecar_options {
    const char *config; /* the file's path */
    const struct adp_socket
        *sockets; /* instead of those of that kind that the file names;
                                         taken, also on failure */
    uint32_t n_sockets;
    /* What happens, for people, one sentence at a time; from several threads. */
    void (*say)(void *ctx, const char *text);
    void *ctx;
};

/* Reads everything, loads the policies, listens. `errors`: what is wrong with the
 * configuration, notes too; `err`: what is wrong besides. From then on the process takes
 * SIGTERM and SIGINT (unless ignored) and SIGHUP by way of this. [control] */
int adp_sidecar_create(struct adp_sidecar **ret,
                       const struct adp_sidecar_options *options, adp_errors *errors,
                       adp_error *err);
/* Serves until it is told to stop. ADP_EIO: not everything could be written, or a thread
 * could not be started. [control] */
int adp_sidecar_run(struct adp_sidecar *sidecar, adp_error *err);
/* As SIGTERM. [any] */
void adp_sidecar_stop(struct adp_sidecar *sidecar);
void adp_sidecar_destroy(struct adp_sidecar *sidecar);

/* Where it listens, in words of http's listen.h; false: no such. [any] */
bool adp_sidecar_address(const struct adp_sidecar *sidecar, enum adp_socket_kind kind,
                         uint32_t i, char *to, size_t cap);
/* Whether this process was started as a worker; create then does the rest. [any] */
bool adp_sidecar_is_worker(void);

/* Checks what create would, without listening: *ret_log, PATH_MAX bytes, is where the log is to
 * go, "": there is none. [control] */
int adp_sidecar_look(const char *config, char *ret_log, adp_errors *errors,
                     adp_error *err);
/* Checks what create would, without listening, and says to `to` what would be served.
 * [control] */
int adp_sidecar_check(const char *config, FILE *to, adp_errors *errors, adp_error *err);

#endif
