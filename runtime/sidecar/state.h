/* SPDX-License-Identifier: MIT */
/* What the sidecar is made of; private to this room. */
#ifndef ADP_SIDECAR_STATE_H
#define ADP_SIDECAR_STATE_H

#include "runtime/http/http.h"
#include "runtime/sidecar/answer.h"
#include "runtime/sidecar/board.h"
#include "runtime/sidecar/desk.h"
#include "runtime/sidecar/owed.h"
#include "runtime/sidecar/sidecar.h"
#include "runtime/sidecar/sockets.h"
#include "runtime/sidecar/spoa.h"
#include "runtime/sidecar/token.h"
#include "runtime/supervise/worker.h"

#include <limits.h>
#include <pthread.h>

#define ADP_MAX_LOOPS     12u
#define ADP_MAX_WAITERS   16u
#define ADP_RELOAD_ANSWER 4096u

/* A thread that answers HTTP. */
struct adp_loop {
    struct adp_sidecar *sidecar;
    uint32_t number;
    pthread_t thread;
    bool running; /* the thread is to be joined */
    struct adp_http_server *server;
    struct adp_desk desk;
    int woken; /* an eventfd: a reload's answer is there */
    /* For the supervisor: the first of its connections' places, that of the one at hand; and
     * that what is answered is not of this process's own. */
    uint32_t first_place, place;
    bool adopting;
    /* Guards what stands below. */
    pthread_mutex_t mutex;
    struct adp_http_counts seen;            /* the server's, as of the last tick */
    uint64_t answered[2 * ADP_MAX_WAITERS]; /* exchanges that `answer` is for */
    uint32_t n_answered, answer_status;
    char answer[ADP_RELOAD_ANSWER];
};

/* Who waits for a reload. */
struct adp_waiter {
    uint32_t loop;
    uint64_t exchange;
};

struct adp_sidecar {
    struct adp_sidecar_options options;
    char folder[PATH_MAX];     /* what relative paths in the configuration start from */
    struct adp_worker *worker; /* NULL: nobody is above */
    struct adp_beyond beyond;
    struct adp_owed_records found; /* what the worker before had recorded */
    _Atomic bool leaving;          /* told to step down */
    _Atomic uint32_t departed;     /* threads that will answer nobody any more */
    uint64_t saved_ns;             /* when the policies' states were saved last */
    bool noted[ADP_SCRAPE_MAX_TARGETS + 1]; /* said of each page, and of all together. The
                                               control thread's */
    struct adp_config *first;               /* whose `serve:` is in force */
    struct adp_config *config;      /* of the last reload: `scrape:`; may be `first` */
    struct adp_serve_setting serve; /* first's, with our own names filled in */
    adp_runtime *rt;
    struct adp_board board;
    struct adp_token token;

    struct adp_sockets sockets;

    struct adp_loop loop[ADP_MAX_LOOPS];
    uint32_t n_loops;
    struct adp_spoa *spoa;
    struct adp_desk spop_desk;
    int signals; /* a signalfd, of the first loop; -1: they are the supervisor's */
    uint64_t watchdog_ns,
        watched_ns; /* systemd's: half its time, and when it heard of us */
    char *datagram;

    /* Guards what stands below, and `scraper` against adp_scraper_wake. */
    pthread_mutex_t mutex;
    pthread_cond_t asked; /* something of it changed */
    struct adp_scraper *scraper;
    struct adp_waiter waiter[ADP_MAX_WAITERS];
    uint32_t n_waiters;
    bool reload, reopen, stop;
    uint32_t stops; /* signals to stop so far */
};

/* Says a sentence to people. */
void adp_sidecar_say(const struct adp_sidecar *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Asks the control thread for a reload; false: too many wait already. [any] */
bool adp_sidecar_ask_reload(struct adp_sidecar *s, const struct adp_waiter *waiter);
/* What answers HAProxy, if it is not there yet. Before the threads. [control] */
int adp_sidecar_make_spoa(struct adp_sidecar *s, adp_error *err);
/* Hands the token in force on to a worker that follows. [control] */
void adp_sidecar_keep_token(struct adp_sidecar *s);
/* As SIGHUP. [any] */
void adp_sidecar_reload(struct adp_sidecar *s);
/* As SIGTERM, with a bound of the caller's. [any] */
void adp_sidecar_stop_within(struct adp_sidecar *s, uint32_t within_ms);

/* loop.c: makes a loop's server and desk; answers everything that comes to it. */
int adp_loop_init(struct adp_loop *loop, struct adp_sidecar *s, uint32_t number,
                  adp_error *err);
void adp_loop_finish(struct adp_loop *loop);
/* Gives a reload's answer to those of this loop that wait for it. [any] */
void adp_loop_reloaded(struct adp_loop *loop, const struct adp_waiter *waiters,
                       uint32_t n, uint32_t status, const char *answer);

/* auth.c, decide.c: endpoints. */
void adp_auth_answer(struct adp_loop *loop, const struct adp_http_request *request);
void adp_decide_answer(struct adp_loop *loop, const struct adp_http_request *request);
void adp_outcome_answer(struct adp_loop *loop, const struct adp_http_request *request);
/* What they answer once it is decided, and again in place of another process. */
void adp_auth_reply(struct adp_loop *loop, uint64_t exchange, enum adp_gateway gateway,
                    const adp_decision *d);
void adp_decide_reply(struct adp_loop *loop, uint64_t exchange, bool always200,
                      const adp_decision *d);
void adp_outcome_reply(struct adp_loop *loop, uint64_t exchange,
                       enum adp_outcome_fate fate);
/* Whether the i-th endpoint of loop.c's decides. */
bool adp_loop_decides(uint32_t i);
/* Asks the i-th again. */
void adp_loop_answer_again(struct adp_loop *loop, const struct adp_http_request *request,
                           uint32_t i);
/* A status and one sentence, as an object. */
void adp_refuse(struct adp_loop *loop, const struct adp_http_request *request,
                uint32_t status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* 405: it takes these. */
void adp_refuse_method(struct adp_loop *loop, const struct adp_http_request *request,
                       const char *path, const char *allowed);

#endif
