/* SPDX-License-Identifier: MIT */
/* Watching (watch.h). */
#include "runtime/cli/watch.h"

#include "core/error.h"

#include <stdio.h>
#include <string.h>

/* A signal that comes just before the wait does not end it: so long it may take to be
 * seen. */
#define STEP_NS 200000000u

static int take_failures(const struct adp_watch *w, const struct adp_scrape_round *round,
                         struct adp_watched *so_far, struct adp_error *err)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < round->n_failures; i++) {
        const struct adp_scrape_failure *f = &round->failures[i];
        so_far->failures++;
        so_far->why[f->why]++;
        if (w->on_failure)
            w->on_failure(w->ctx, f);
        code = adp_host_scrape_failed(w->runtime, f->text, err);
    }
    return code;
}

/* Pages that are fine each may be too much together. */
static int take_refusal(const struct adp_watch *w, const struct adp_error *why,
                        struct adp_watched *so_far, struct adp_error *err)
{
    char text[sizeof why->text + 32];
    snprintf(text, sizeof text, "all pages: too_big: %s", why->text);
    if (why->code != ADP_EFULL)
        return adp_error_set(err, why->code, "%s", why->text);
    so_far->failures++;
    so_far->why[ADP_SCRAPE_TOO_BIG]++;
    return adp_host_scrape_failed(w->runtime, text, err);
}

static void take_notes(const struct adp_watch *w, const struct adp_scrape_round *round,
                       const struct adp_error *published)
{
    struct adp_error note;
    for (uint32_t i = 0; w->on_note && i <= ADP_SCRAPE_MAX_TARGETS; i++)
        if (adp_scraper_note(w->scraper, round, i, published, &note))
            w->on_note(w->ctx, i, &note);
}

static int take_page(const struct adp_watch *w, adp_lane *lane,
                     const struct adp_scrape_round *round, struct adp_watched *so_far,
                     struct adp_error *err)
{
    struct adp_error note = { 0 };
    adp_decision decision = { .size = sizeof decision };
    int code =
        adp_host_publish_page(w->runtime, round->page, round->len, round->format, &note);
    if (code < 0)
        return take_refusal(w, &note, so_far, err);
    take_notes(w, round, &note);
    so_far->samples++;
    if (w->decides && (code = adp_host_sample(lane, &decision)) < 0)
        return adp_error_set(err, code, "the runtime does not decide");
    return 0;
}

static int take_round(const struct adp_watch *w, adp_lane *lane,
                      const struct adp_scrape_round *round, struct adp_watched *so_far,
                      struct adp_error *err)
{
    so_far->passed = round->passed;
    so_far->slept = round->slept;
    int code = take_failures(w, round, so_far, err);
    if (code == 0 && round->page)
        code = take_page(w, lane, round, so_far, err);
    if (w->on_round)
        w->on_round(w->ctx, so_far);
    return code;
}

int adp_watch_run(const struct adp_watch *watch, struct adp_watched *ret,
                  struct adp_error *err)
{
    const struct adp_clock *clock = watch->clock;
    uint64_t start = clock->mono_ns(clock->ctx);
    struct adp_scrape_round round;
    struct adp_watched so_far = { 0 };
    adp_lane *lane = NULL;
    int code = adp_lane_open(&lane, watch->runtime, err);
    while (code == 0 && !*watch->stop && so_far.elapsed_ns < watch->for_ns) {
        uint64_t left = watch->for_ns - so_far.elapsed_ns;
        bool over =
            adp_scraper_step(watch->scraper, left < STEP_NS ? left : STEP_NS, &round);
        so_far.elapsed_ns = clock->mono_ns(clock->ctx) - start;
        if (over)
            code = take_round(watch, lane, &round, &so_far, err);
    }
    /* what was asked for in time and is about to come is no failure */
    if (code == 0 && adp_scraper_end(watch->scraper, STEP_NS, &round))
        code = take_round(watch, lane, &round, &so_far, err);
    adp_lane_close(lane);
    *ret = so_far;
    return code;
}
