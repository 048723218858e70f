/* SPDX-License-Identifier: MIT */
/* Somebody who is followed (live.h). */
#include "runtime/dashboard/live.h"

#include "runtime/dashboard/past.h"
#include "runtime/dashboard/stand.h"
#include "runtime/dashboard/supply.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVERY_NS   UINT64_C(1000000000)
#define TIMEOUT_NS UINT64_C(2000000000)
#define WAIT_NS    UINT64_C(60000000000)
#define RATE_S     10.5 /* rates are told over ten seconds, and pages come a little late */

struct adp_live {
    struct adp_scraper *scraper;
    struct adp_supply *supply; /* the thread's alone */
    struct adp_stand stand;    /* likewise */
    int fd;
    pthread_t thread;
    bool started;
    _Atomic bool over; /* relaxed: the wake that follows orders it */
    double wall_s;     /* at mono_s: events are told by a clock that does not go back */
    double mono_s, came_s; /* came: the last page, on that clock; NaN: none */

    pthread_mutex_t mutex; /* what is below */
    struct adp_past *past;
    uint64_t serial;            /* events so far */
    bool is_down;               /* the newest is `down` */
    struct adp_line page, down; /* events; empty: none yet */
    struct adp_line account;
};

static double clock_s(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double now_s(const struct adp_live *live)
{
    return live->wall_s + clock_s(CLOCK_MONOTONIC) - live->mono_s;
}

/* ---- events ---------------------------------------------------------------------------
 */

static void begin_event(struct adp_line *to, const char *name, double at)
{
    adp_line_clear(to);
    adp_line_puts(to, "event: ");
    adp_line_puts(to, name);
    adp_line_puts(to, "\ndata: {");
    adp_line_key_number(to, "at", round(at * 1000) / 1000);
}

static void end_event(struct adp_line *to)
{
    adp_line_puts(to, "}\n\n");
}

static void put_growth(const struct adp_past *past, struct adp_line *to)
{
    struct adp_growth growth;
    bool some = adp_past_growth(past, RATE_S, &growth);
    adp_line_key(to, "last");
    if (!some || isnan(growth.decisions)) {
        adp_line_puts(to, "null");
        return;
    }
    adp_line_puts(to, "{");
    adp_line_key_number(to, "s", round(growth.s * 1000) / 1000);
    adp_line_key_number(to, "decisions", growth.decisions);
    adp_line_key_number(to, "refused", growth.refused);
    adp_line_key_number(to, "faults", growth.faults);
    adp_line_puts(to, "}");
}

static void put_moment(const struct adp_past *past, struct adp_line *to)
{
    adp_line_key(to, "moment");
    adp_past_write_last(past, to);
}

/* Of the account; the old one stays where memory is short. */
static void keep_account(struct adp_live *live, const struct adp_account *account)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    int e = to ? adp_account_json(account, to) : ADP_ENOMEM;
    if (to && fclose(to))
        e = ADP_ENOMEM;
    if (!e) {
        pthread_mutex_lock(&live->mutex);
        adp_line_clear(&live->account);
        adp_line_put(&live->account, text, len);
        pthread_mutex_unlock(&live->mutex);
    }
    free(text);
}

static void tell(struct adp_live *live)
{
    const uint64_t one = 1;
    live->serial++;
    /* It only fails when it is at its greatest, and then it can be read. */
    ssize_t n = write(live->fd, &one, sizeof one);
    (void)n;
}

static void page_came(struct adp_live *live, double at, uint32_t bad_lines,
                      uint32_t cut_lines)
{
    struct adp_account *account = adp_supply_account(live->supply);
    account->cut_lines = cut_lines;
    account->name = adp_live_name(live);
    adp_stand_read(account, &live->stand);
    live->came_s = at;
    keep_account(live, account);
    pthread_mutex_lock(&live->mutex);
    adp_past_add(live->past, at, &live->stand);
    begin_event(&live->page, "page", at);
    adp_line_key_u64(&live->page, "bad_lines", bad_lines);
    put_growth(live->past, &live->page);
    adp_stand_write(account, &live->stand, &live->page);
    put_moment(live->past, &live->page);
    end_event(&live->page);
    live->is_down = false;
    tell(live);
    pthread_mutex_unlock(&live->mutex);
}

static void no_page(struct adp_live *live, double at, const char *why, const char *text)
{
    pthread_mutex_lock(&live->mutex);
    adp_past_add(live->past, at, NULL);
    begin_event(&live->down, "down", at);
    adp_line_key_text(&live->down, "why", why);
    adp_line_key_text(&live->down, "text", text);
    adp_line_key_number(&live->down, "for_s", /* since a page came; null: none ever */
                        round((at - live->came_s) * 1000) / 1000);
    put_moment(live->past, &live->down);
    end_event(&live->down);
    live->is_down = true;
    tell(live);
    pthread_mutex_unlock(&live->mutex);
}

static void look(struct adp_live *live, const struct adp_scrape_round *round)
{
    struct adp_error err = { 0 };
    double at = now_s(live);
    if (!round->page) {
        no_page(live, at, adp_scrape_why_word(round->failures[0].why),
                round->failures[0].text);
        return;
    }
    if (adp_supply_read(live->supply, round->page, round->len, round->format,
                        (uint64_t)(clock_s(CLOCK_MONOTONIC) * 1e9),
                        clock_s(CLOCK_REALTIME), &err) < 0)
        no_page(live, at, adp_scrape_why_word(ADP_SCRAPE_NOT_METRICS), err.text);
    else
        page_came(live, at, round->bad_lines, round->cut_lines);
}

static void *follow(void *of)
{
    struct adp_live *live = of;
    struct adp_scrape_round round;
    while (!atomic_load_explicit(&live->over, memory_order_relaxed))
        if (adp_scraper_step(live->scraper, WAIT_NS, &round))
            look(live, &round);
    return NULL;
}

/* ---- its life -------------------------------------------------------------------------
 */

static int start(struct adp_live *live, struct adp_error *err)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are the loop's thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int e = pthread_create(&live->thread, NULL, follow, live);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    live->started = !e;
    return e ? adp_error_set(err, ADP_EIO, "no thread: %s", strerror(e)) : 0;
}

int adp_live_create(struct adp_live **ret, const struct adp_scrape_target *target, int fd,
                    struct adp_error *err)
{
    struct adp_scrape_target one = *target;
    struct adp_live *live = calloc(1, sizeof *live);
    if (!live)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    if (!one.interval_ns)
        one.interval_ns = EVERY_NS;
    if (!one.timeout_ns)
        one.timeout_ns = TIMEOUT_NS;
    pthread_mutex_init(&live->mutex, NULL);
    live->fd = fd;
    live->wall_s = clock_s(CLOCK_REALTIME);
    live->mono_s = clock_s(CLOCK_MONOTONIC);
    live->came_s = NAN;
    adp_line_init(&live->page);
    adp_line_init(&live->down);
    adp_line_init(&live->account);
    live->past = adp_past_create();
    int e = live->past ? adp_scraper_create(&live->scraper, &one, 1, NULL, err)
                       : adp_error_set(err, ADP_ENOMEM, "out of memory");
    if (!e)
        e = adp_supply_create(&live->supply, err);
    if (!e)
        e = start(live, err);
    if (e) {
        adp_live_destroy(live);
        return e;
    }
    *ret = live;
    return 0;
}

void adp_live_destroy(struct adp_live *live)
{
    if (!live)
        return;
    atomic_store_explicit(&live->over, true, memory_order_relaxed);
    if (live->started) {
        adp_scraper_wake(live->scraper);
        pthread_join(live->thread, NULL);
    }
    adp_supply_destroy(live->supply);
    adp_scraper_destroy(live->scraper);
    adp_past_destroy(live->past);
    adp_line_finish(&live->page);
    adp_line_finish(&live->down);
    adp_line_finish(&live->account);
    pthread_mutex_destroy(&live->mutex);
    free(live);
}

/* ---- for who looks --------------------------------------------------------------------
 */

const char *adp_live_name(const struct adp_live *live)
{
    return adp_scraper_name(live->scraper, 0);
}

static void put(struct adp_line *to, const struct adp_line *event)
{
    to->broken |= event->broken;
    if (event->len)
        adp_line_put(to, event->text, event->len);
}

void adp_live_begin(struct adp_live *live, struct adp_line *to, uint64_t *ret_serial)
{
    pthread_mutex_lock(&live->mutex);
    adp_line_puts(to, "retry: 1000\n\nevent: past\ndata: ");
    adp_past_write(live->past, to);
    adp_line_puts(to, "\n\n");
    put(to, &live->page);
    if (live->is_down)
        put(to, &live->down);
    *ret_serial = live->serial;
    pthread_mutex_unlock(&live->mutex);
}

bool adp_live_newest(struct adp_live *live, struct adp_line *to, uint64_t *serial)
{
    pthread_mutex_lock(&live->mutex);
    bool newer = live->serial != *serial;
    if (newer)
        put(to, live->is_down ? &live->down : &live->page);
    *serial = live->serial;
    pthread_mutex_unlock(&live->mutex);
    return newer;
}

bool adp_live_account(struct adp_live *live, struct adp_line *to)
{
    pthread_mutex_lock(&live->mutex);
    bool some = live->account.len && !live->account.broken;
    if (some)
        put(to, &live->account);
    pthread_mutex_unlock(&live->mutex);
    return some;
}
