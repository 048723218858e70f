/* SPDX-License-Identifier: MIT */
/* What is above this process, when it is the worker of a supervisor (oversee.h): the region and
 * the log, the sockets, the configuration in force, connections that the worker before left, and
 * word of when to stop. Without one above, everything here does nothing.
 *
 *  1. Signals that end or reload are the supervisor's: whoever sends them to all of us (a
 *     terminal, systemd) means it.
 *  2. The configuration in force and the token outlive a worker: their files may be others by
 *     then, which nobody has asked for.
 *  3. A connection's place is its loop's number times all that a loop may have, and its own;
 *     HAProxy's come behind those of the loops. */
#ifndef ADP_SIDECAR_ABOVE_H
#define ADP_SIDECAR_ABOVE_H

#include "runtime/sidecar/owed.h"
#include "runtime/sidecar/state.h"

/* Of each socket that is handed to the worker, its kind as a digit. */
#define ADP_ABOVE_SOCKETS_ENV "ADMITPERF_SOCKETS"

/* Finds it, before any thread is started; 0 also when there is none. [control] */
int adp_above_attach(struct adp_sidecar *s, adp_error *err);
/* Gives it up, connections and all that is recorded stay above. [control] */
void adp_above_detach(struct adp_sidecar *s);
/* The sockets to listen on. [control] */
int adp_above_sockets(struct adp_sidecar *s, adp_error *err);
/* Of how many connections a loop has places. */
uint32_t adp_above_places(const struct adp_serve_setting *serve);

/* What a worker hands on to the next one. */
enum adp_above_text {
    ADP_ABOVE_CONFIG, /* the configuration in force */
    ADP_ABOVE_SERVE,  /* the one whose `serve:` is in force: the first */
    ADP_ABOVE_TOKEN
};
/* What the one before had; NULL: nothing. Owned by the caller. [control] */
char *adp_above_kept(const struct adp_sidecar *s, enum adp_above_text what);
/* What is in force from now on. [control] */
void adp_above_keep(struct adp_sidecar *s, enum adp_above_text what, const char *text);
/* Whether the worker before left metrics that are in force still. [control] */
bool adp_above_has_snapshot(const struct adp_sidecar *s);

/* Adopts what the worker before left, and answers what it owed. Before the threads. [control] */
void adp_above_adopt(struct adp_sidecar *s);
/* Requests are answered from now on. Before the threads. [control] */
void adp_above_ready(struct adp_sidecar *s);
/* A reload begins, and is over: made, or refused. [control] */
void adp_above_reloading(struct adp_sidecar *s);
void adp_above_reloaded(struct adp_sidecar *s, bool made);
/* Saves the policies' states, if a second has passed. [control] */
void adp_above_save(struct adp_sidecar *s);

/* The first loop's: word from above. */
int adp_above_watch(struct adp_sidecar *s, adp_error *err);

/* What runtime/http is given: NULL without one above. [hot] */
void adp_above_stand(void *loop, uint32_t slot, const struct adp_http_standing *standing);
bool adp_above_hold(void *loop, uint32_t slot, const void *bytes, size_t len, bool more);
/* Says what the newest request of the connection at hand asks for, and again when more is known.
 * [hot] */
void adp_above_owe(struct adp_loop *loop, uint32_t kind, const uint64_t note[3]);
void adp_above_owe_decision(struct adp_loop *loop, uint32_t kind,
                            struct adp_owed_manner manner, const adp_decision *d);
/* The loop lives, `now_ns`; 0: it has ended. [hot] */
void adp_above_beat(struct adp_loop *loop, uint64_t now_ns);
/* A thread of this adp_sidecar answers nobody any more. */
void adp_above_depart(void *sidecar);

#endif
