/* SPDX-License-Identifier: MIT */
/* The board: how the sidecar stands, written by the control thread, read by those that
 * answer /metrics and /readyz.
 *
 * `mutex` guards everything but the atomics; held for copies only. */
#ifndef ADP_SIDECAR_BOARD_H
#define ADP_SIDECAR_BOARD_H

#include "core/signal.h"
#include "runtime/host/host.h"
#include "runtime/scrape/scrape.h"

#include <pthread.h>
#include <stdatomic.h>

struct adp_board_signal {
    char name[ADP_SIGNAL_NAME + 1];
    char unit[64]; /* what config/signals.c takes, whole */
    enum adp_why why;
    double value, age_s; /* at `read_ns` */
    uint64_t expires_ns;
};

struct adp_board_target {
    char name[ADP_CONFIG_MAX_NAME + 8]; /* as scrape.h shows it: with "..." and "#64" */
    bool up, asked;
    uint64_t came, came_ns; /* pages; when the last did, 0: never */
    uint64_t failures[ADP_SCRAPE_WHYS];
};

struct adp_board_copy {
    uint32_t n_signals, n_targets;
    uint64_t read_ns; /* when the signals were */
    uint64_t publishes, publish_errors;
    uint64_t reloads, reload_errors;
    struct adp_board_signal signal[ADP_MAX_KNOWN];
    struct adp_board_target target[ADP_SCRAPE_MAX_TARGETS];
};

struct adp_board {
    pthread_mutex_t mutex;
    struct adp_board_copy now;
    _Atomic bool ready, stopping;
};

void adp_board_init(struct adp_board *board);
void adp_board_finish(struct adp_board *board);
/* Of a new configuration, `n` of them by the scraper's names; those that stay keep their
 * counts. [control] */
void adp_board_targets(struct adp_board *board, const struct adp_scraper *scraper,
                       uint32_t n);
/* Of the metrics in force. [control] */
void adp_board_readings(struct adp_board *board, const adp_runtime *rt);
/* A page was put in force, or could not be. [control] */
void adp_board_published(struct adp_board *board, bool done);
void adp_board_round(struct adp_board *board, const struct adp_scrape_round *round);
void adp_board_reloaded(struct adp_board *board, bool done);
/* [any] */
void adp_board_read(struct adp_board *board, struct adp_board_copy *ret);
uint64_t adp_board_now_ns(void);

#endif
