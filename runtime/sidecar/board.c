/* SPDX-License-Identifier: MIT */
/* The board (board.h). */
#include "runtime/sidecar/board.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void adp_board_init(struct adp_board *board)
{
    memset(board, 0, sizeof *board);
    pthread_mutex_init(&board->mutex, NULL);
}

void adp_board_finish(struct adp_board *board)
{
    pthread_mutex_destroy(&board->mutex);
}

uint64_t adp_board_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const struct adp_board_target *same(const struct adp_board_target *list,
                                           uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

void adp_board_targets(struct adp_board *board, const struct adp_scraper *scraper,
                       uint32_t n)
{
    struct adp_board_target before[ADP_SCRAPE_MAX_TARGETS];
    pthread_mutex_lock(&board->mutex);
    struct adp_board_copy *now = &board->now;
    uint32_t n_before = now->n_targets;
    memcpy(before, now->target, n_before * sizeof *before);
    now->n_targets = n;
    for (uint32_t i = 0; i < n; i++) {
        struct adp_board_target fresh = { 0 };
        snprintf(fresh.name, sizeof fresh.name, "%s", adp_scraper_name(scraper, i));
        const struct adp_board_target *old = same(before, n_before, fresh.name);
        now->target[i] = old ? *old : fresh;
    }
    pthread_mutex_unlock(&board->mutex);
}

static void copy_signals(struct adp_board_copy *to, const struct adp_signals *set,
                         const struct adp_reading *readings)
{
    to->n_signals = adp_signals_count(set);
    for (uint32_t i = 0; i < to->n_signals; i++) {
        struct adp_board_signal *s = &to->signal[i];
        snprintf(s->name, sizeof s->name, "%s", adp_signals_name(set, i));
        snprintf(s->unit, sizeof s->unit, "%s", adp_signals_unit(set, i));
        s->why = readings ? readings[i].why : ADP_WHY_NO_SNAPSHOT;
        s->value = readings ? readings[i].value : 0.0;
        s->age_s = readings ? readings[i].age_s : 0.0;
        s->expires_ns = readings ? readings[i].expires_ns : 0;
    }
}

void adp_board_readings(struct adp_board *board, const adp_runtime *rt)
{
    const struct adp_reading *readings = adp_host_readings(rt);
    pthread_mutex_lock(&board->mutex);
    copy_signals(&board->now, adp_host_config(rt)->signals, readings);
    pthread_mutex_unlock(&board->mutex);
}

void adp_board_published(struct adp_board *board, bool done)
{
    pthread_mutex_lock(&board->mutex);
    if (done)
        board->now.read_ns = adp_board_now_ns();
    board->now.publishes += done;
    board->now.publish_errors += !done;
    pthread_mutex_unlock(&board->mutex);
}

void adp_board_round(struct adp_board *board, const struct adp_scrape_round *round)
{
    uint64_t now_ns = adp_board_now_ns();
    pthread_mutex_lock(&board->mutex);
    struct adp_board_copy *now = &board->now;
    for (uint32_t i = 0; i < now->n_targets; i++) {
        struct adp_board_target *t = &now->target[i];
        if (!(round->came >> i & 1))
            continue;
        t->up = t->asked = true;
        t->came++;
        t->came_ns = now_ns;
    }
    for (uint32_t i = 0; i < round->n_failures; i++) {
        const struct adp_scrape_failure *f = &round->failures[i];
        if (f->target >= now->n_targets)
            continue;
        now->target[f->target].asked = true;
        now->target[f->target].up = false;
        now->target[f->target].failures[f->why]++;
    }
    pthread_mutex_unlock(&board->mutex);
}

void adp_board_reloaded(struct adp_board *board, bool done)
{
    pthread_mutex_lock(&board->mutex);
    board->now.reloads += done;
    board->now.reload_errors += !done;
    pthread_mutex_unlock(&board->mutex);
}

void adp_board_read(struct adp_board *board, struct adp_board_copy *ret)
{
    pthread_mutex_lock(&board->mutex);
    memcpy(ret, &board->now, sizeof *ret);
    pthread_mutex_unlock(&board->mutex);
}
