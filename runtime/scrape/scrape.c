/* SPDX-License-Identifier: MIT */
/* Scraping (scrape.h).
 *
 * A target: idle ─ due ─► asked ─ came, failed ─► idle. A round is open from the first
 * asking (or the first answer that no open round waits for) until it is given out. */
#include "runtime/scrape/scrape.h"

#include "core/promtext.h"
#include "core/veil.h"
#include "runtime/scrape/ending.h"
#include "runtime/scrape/fetch.h"
#include "runtime/scrape/pool.h"
#include "runtime/scrape/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HELD_AT_LEAST_NS 5000000000u

struct target {
    struct adp_schedule schedule;
    uint64_t slept;  /* of the slots passed over, those due while we did not look */
    uint64_t missed; /* slots that were, since one was last taken or passed over */
    bool asked;
    bool in_round;    /* the round that is open waits for it */
    bool answered;    /* came or failed in the round that is open */
    bool fresh;       /* came in it */
    const char *page; /* the last one's bytes, the wire's; while fresh */
    size_t len;
    uint64_t asked_ns;
    enum adp_promtext_format format; /* as declared */
    /* What came in the round that is open, and what is held: a page that cannot be used must
     * not cost the one before. */
    struct came {
        struct adp_metrics *metrics; /* owned; NULL with a single target */
        uint64_t at_ns, wall_ns;
    } came, held;
    bool whole; /* `held` is a page that came */
};

struct adp_scraper {
    struct adp_scrape_target *given; /* owned; strings borrowed */
    struct adp_address *at;
    struct target *target;
    uint32_t n;
    bool started;     /* a first step was made, and the schedules with it */
    uint64_t look_ns; /* when slots and answers were looked at last */
    struct adp_clock clock;
    struct adp_fetch *fetch; /* NULL: the wire is not ours */
    const struct adp_wire *wire;
    struct adp_metrics *tried; /* a single target's page, read to see that it is one */
    bool open;
    uint64_t opened_ns, patience_ns;
    uint32_t n_fresh;
    struct adp_scrape_left *left; /* of each target's fresh page */
    struct adp_scrape_failure *failures;
    uint32_t n_failures;
    struct adp_line page;
};

/* --- time --- */

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t machine_wall(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_REALTIME);
}

static uint64_t machine_mono(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_MONOTONIC);
}

static uint64_t now_ns(const struct adp_scraper *s)
{
    return s->clock.mono_ns(s->clock.ctx);
}

/* --- life --- */

/* at->shown becomes what logs, pages and messages call it, with a name or without. */
static int check(const struct adp_scrape_target *t, struct adp_address *at,
                 struct adp_error *err)
{
    struct adp_error why = { 0 };
    if (adp_address_read(t->url, at, &why) < 0)
        return adp_error_set(err, ADP_EINVAL, "%s%s%s", t->name ? t->name : "",
                             t->name ? ": " : "", why.text);
    const char *name = t->name ? t->name : at->shown;
    if (!t->interval_ns || !t->timeout_ns)
        return adp_error_set(err, ADP_EINVAL, "%s: no interval or no timeout", name);
    if (!t->cert_file != !t->key_file)
        return adp_error_set(err, ADP_EINVAL,
                             "%s: a certificate and its key are given together", name);
    if (t->name)
        adp_veil(t->name, at->shown, sizeof at->shown);
    return 0;
}

/* What is shown of an address leaves its query out: of those that look alike the second is
 * NAME#2, since a replica is known by its name. */
static void tell_apart(struct adp_scraper *s)
{
    for (uint32_t i = s->n; i-- > 1;) {
        char *shown = s->at[i].shown;
        size_t len = strlen(shown);
        unsigned alike = 1;
        for (uint32_t j = 0; j < i; j++)
            alike += strcmp(s->at[j].shown, shown) == 0;
        if (alike > 1)
            snprintf(shown + len, sizeof s->at[i].shown - len, "#%u", alike);
    }
}

static int fill(struct adp_scraper *s, const struct adp_scrape_target *targets,
                struct adp_error *err)
{
    uint64_t shortest = UINT64_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        int code = check(&targets[i], &s->at[i], err);
        if (code < 0)
            return code;
        s->given[i] = targets[i];
        s->given[i].name = s->at[i].shown;
        if (targets[i].interval_ns < shortest)
            shortest = targets[i].interval_ns;
        if (s->n > 1 && (adp_metrics_create(&s->target[i].came.metrics) < 0 ||
                         adp_metrics_create(&s->target[i].held.metrics) < 0))
            return adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    tell_apart(s);
    s->patience_ns = shortest / 10 * 9;
    return 0;
}

int adp_scraper_create(struct adp_scraper **ret, const struct adp_scrape_target *targets,
                       uint32_t n, const struct adp_scrape_options *options,
                       struct adp_error *err)
{
    static const struct adp_clock machine = { NULL, machine_wall, machine_mono,
                                              machine_mono };
    if (n == 0 || n > ADP_SCRAPE_MAX_TARGETS)
        return adp_error_set(err, ADP_EINVAL, "%u pages to scrape, expected 1 to %u", n,
                             ADP_SCRAPE_MAX_TARGETS);
    struct adp_scraper *s = calloc(1, sizeof *s);
    if (!s)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    s->clock = options && options->clock ? *options->clock : machine;
    s->n = n;
    adp_line_init(&s->page);
    s->given = calloc(n, sizeof *s->given);
    s->at = calloc(n, sizeof *s->at);
    s->target = calloc(n, sizeof *s->target);
    s->left = calloc(n, sizeof *s->left);
    s->failures = calloc(n + 1, sizeof *s->failures); /* and one of ours */
    int code = s->given && s->at && s->target && s->left && s->failures ? 0 : ADP_ENOMEM;
    if (code == 0)
        code = adp_metrics_create(&s->tried);
    if (code < 0)
        adp_error_set(err, code, "out of memory");
    else
        code = fill(s, targets, err);
    if (code == 0 && options && options->wire)
        s->wire = options->wire;
    else if (code == 0 &&
             (code = adp_fetch_create(&s->fetch, s->given, s->at, n, err)) == 0)
        s->wire = adp_fetch_wire(s->fetch);
    if (code < 0)
        adp_scraper_destroy(s);
    else
        *ret = s;
    return code;
}

void adp_scraper_destroy(struct adp_scraper *scraper)
{
    if (!scraper)
        return;
    adp_fetch_destroy(scraper->fetch);
    for (uint32_t i = 0; scraper->target && i < scraper->n; i++) {
        adp_metrics_destroy(scraper->target[i].came.metrics);
        adp_metrics_destroy(scraper->target[i].held.metrics);
    }
    adp_metrics_destroy(scraper->tried);
    adp_line_finish(&scraper->page);
    free(scraper->given);
    free(scraper->at);
    free(scraper->target);
    free(scraper->left);
    free(scraper->failures);
    free(scraper);
}

const char *adp_scraper_name(const struct adp_scraper *scraper, uint32_t target)
{
    return scraper->given[target].name;
}

bool adp_scraper_note(const struct adp_scraper *scraper,
                      const struct adp_scrape_round *round, uint32_t target,
                      const struct adp_error *published, struct adp_error *ret)
{
    bool joined = target == ADP_SCRAPE_MAX_TARGETS, single = scraper->n == 1;
    struct adp_error note = { 0 };
    if (joined != single)
        note = *published;
    if (!joined && target >= scraper->n)
        return false;
    if (!joined) {
        struct adp_scrape_left left = round->left[target];
        if (single)
            left.bad_lines = 0;
        adp_scrape_left_note(&left, &note);
    }
    if (!note.code)
        return false;
    if (!note.file[0])
        snprintf(note.file, sizeof note.file, "%s",
                 joined ? "the joined page" : adp_scraper_name(scraper, target));
    *ret = note;
    return true;
}

void adp_scraper_wake(struct adp_scraper *scraper)
{
    scraper->wire->wake(scraper->wire->ctx);
}

/* --- one answer --- */

static void fail(struct adp_scraper *s, uint32_t i, enum adp_scrape_why why,
                 const char *text)
{
    struct adp_scrape_failure *f = &s->failures[s->n_failures++];
    f->target = i;
    f->why = why;
    snprintf(f->text, sizeof f->text, "%.128s: %s: %s", s->given[i].name,
             adp_scrape_why_word(why), text);
}

/* The wire saw a page that is whole; here it is read. */
static void keep(struct adp_scraper *s, uint32_t i, const struct adp_fetched *got)
{
    struct target *t = &s->target[i];
    struct adp_metrics *to = t->came.metrics ? t->came.metrics : s->tried;
    struct adp_promtext_found found = { 0 };
    struct adp_error err = { 0 };
    uint32_t cut;
    size_t len = adp_page_ending(got->page, got->len, &cut);
    bool none = !len && got->len; /* it was cut, or it is no page at all */
    if (none)
        len = adp_page_ended(got->page, got->len);
    int code = adp_promtext_read_as(to, got->format, got->page, len, &found, &err);
    if (code < 0) {
        char text[200];
        snprintf(text, sizeof text, "line %u: %.150s", err.line, err.text);
        fail(s, i,
             code == ADP_ENOMEM  ? ADP_SCRAPE_NO_MEMORY
             : code == ADP_EFULL ? ADP_SCRAPE_TOO_BIG
                                 : ADP_SCRAPE_NOT_METRICS,
             err.line ? text : err.text);
        return;
    }
    if (none || (cut && !found.samples)) {
        fail(s, i, ADP_SCRAPE_CUT, ADP_LEFT_NOTHING);
        return;
    }
    t->fresh = true;
    t->page = got->page;
    t->len = len;
    t->format = got->format;
    s->left[i] = (struct adp_scrape_left) {
        .bad_lines = found.bad_lines,
        .first_bad_line = found.first_bad_line,
        .first_bad_column = found.first_bad_column,
        .first_bad_why = found.first_bad_why,
        .cut_lines = cut,
        .duplicates = adp_metrics_duplicates(to),
    };
    t->came.at_ns = now_ns(s);
    t->came.wall_ns = s->clock.wall_ns(s->clock.ctx);
    s->n_fresh++;
}

static void collect(struct adp_scraper *s)
{
    struct adp_fetched got;
    while (s->wire->take(s->wire->ctx, &got)) {
        struct target *t = &s->target[got.target];
        if (!s->open) {
            s->open = true;
            s->opened_ns = t->schedule.first_ns;
        }
        t->asked = t->in_round = false;
        t->answered = true;
        if (got.why == ADP_SCRAPE_FINE)
            keep(s, got.target, &got);
        else
            fail(s, got.target, got.why, got.text);
    }
}

/* --- asking --- */

/* One that answered in the open round waits for the next: its page is the wire's, lent until
 * it is asked again, and a round has one answer of each. */
static void ask_due(struct adp_scraper *s)
{
    uint64_t now = now_ns(s);
    for (uint32_t i = 0; i < s->n; i++) {
        struct target *t = &s->target[i];
        uint64_t passed = t->schedule.passed;
        if (t->asked || t->answered)
            continue;
        bool taken = adp_schedule_take(&t->schedule, now);
        passed = t->schedule.passed - passed;
        t->slept += passed < t->missed ? passed : t->missed;
        if (taken || passed)
            t->missed = 0;
        if (!taken)
            continue;
        if (!s->open) {
            s->open = true;
            s->opened_ns = now;
        }
        t->asked = t->in_round = true;
        t->asked_ns = now;
        s->wire->ask(s->wire->ctx, i);
    }
}

/* We looked at `meant` at the latest, and not again until now: slots that came due since are to
 * be blamed on no page, if that is long enough for one to be too late (schedule.h). */
static void look(struct adp_scraper *s, uint64_t meant)
{
    uint64_t now = now_ns(s);
    for (uint32_t i = 0; now > meant && i < s->n; i++) {
        const struct adp_schedule *schedule = &s->target[i].schedule;
        uint64_t due = adp_schedule_due_ns(schedule), step = schedule->interval_ns;
        if (due < meant)
            due += (meant - due + step - 1) / step * step;
        if (now - meant > step / 2 && due <= now)
            s->target[i].missed += (now - due) / step + 1;
    }
    s->look_ns = now;
}

static void start(struct adp_scraper *s, uint64_t now)
{
    for (uint32_t i = 0; i < s->n; i++)
        adp_schedule_init(&s->target[i].schedule, now, s->given[i].interval_ns);
    s->started = true;
    s->look_ns = now;
}

/* When something is to be done again, if nothing comes. */
static uint64_t next_ns(const struct adp_scraper *s)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        uint64_t due = adp_schedule_due_ns(&s->target[i].schedule);
        if (!s->target[i].asked && !s->target[i].answered && due < next)
            next = due;
    }
    if (s->open && (s->n_fresh || s->n_failures) && s->opened_ns + s->patience_ns < next)
        next = s->opened_ns + s->patience_ns;
    return next;
}

/* --- a round --- */

static bool is_over(const struct adp_scraper *s)
{
    if (!s->open || (!s->n_fresh && !s->n_failures))
        return false;
    bool waited_for = false;
    for (uint32_t i = 0; i < s->n; i++)
        waited_for |= s->target[i].in_round;
    return !waited_for || now_ns(s) >= s->opened_ns + s->patience_ns;
}

uint64_t adp_scrape_held_ns(uint64_t interval_ns)
{
    return 3 * interval_ns > HELD_AT_LEAST_NS ? 3 * interval_ns : HELD_AT_LEAST_NS;
}

static bool is_held(const struct adp_scraper *s, uint32_t i, uint64_t now)
{
    const struct target *t = &s->target[i];
    return t->whole && now - t->held.at_ns <= adp_scrape_held_ns(t->schedule.interval_ns);
}

/* What of it is on the round's page; NULL: nothing. */
static const struct came *is_on(const struct adp_scraper *s, uint32_t i, uint64_t now)
{
    const struct target *t = &s->target[i];
    if (t->fresh)
        return &t->came;
    return is_held(s, i, now) ? &t->held : NULL;
}

/* Pages that are fine each may be too much together: the largest is not taken, so that it
 * costs itself and not the pool. What is held of it stays, where there is room for that. */
static void make_room(struct adp_scraper *s, uint64_t now)
{
    for (;;) {
        uint64_t all = 0;
        uint32_t largest = 0, most = 0;
        for (uint32_t i = 0; i < s->n; i++) {
            const struct came *on = is_on(s, i, now);
            uint32_t n = on ? adp_metrics_count(on->metrics) : 0;
            all += n;
            if (n >= most && n) {
                most = n;
                largest = i;
            }
        }
        if (all <= ADP_METRICS_MAX_SERIES)
            return;
        char text[160];
        snprintf(text, sizeof text,
                 "its %u series are more than the others' %llu leave room for, %u in all",
                 most, (unsigned long long)(all - most), ADP_METRICS_MAX_SERIES);
        struct target *t = &s->target[largest];
        if (t->fresh) {
            s->n_fresh--;
            t->fresh = false;
            fail(s, largest, ADP_SCRAPE_TOO_BIG, text);
        } else
            t->whole = false;
    }
}

static void write_pool(struct adp_scraper *s, struct adp_scrape_round *ret)
{
    uint64_t now = now_ns(s);
    adp_line_clear(&s->page);
    make_room(s, now);
    ret->fresh = s->n_fresh;
    for (uint32_t i = 0; i < s->n; i++) {
        struct target *t = &s->target[i];
        const struct came *on = is_on(s, i, now);
        if (on)
            s->left[i].no_room = adp_pool_write(&s->page, on->metrics, s->given[i].name,
                                                (double)on->wall_ns * 1e-9);
        ret->held += on == &t->held;
        ret->gone += !on;
    }
    if (s->page.broken) { /* the page before stays, and ages */
        fail(s, 0, ADP_SCRAPE_NO_MEMORY, "out of memory");
        return;
    }
    if (!s->n_fresh)
        return;
    ret->page = s->page.text ? s->page.text : "";
    ret->len = s->page.len;
    ret->format = ADP_PROMTEXT_TEXT; /* ours, whatever theirs were */
}

/* What came is what is held from now on. */
static void hold(struct target *t)
{
    const struct came before = t->held;
    if (!t->fresh)
        return;
    t->held = t->came;
    t->came = before;
    t->whole = true;
}

static void close_round(struct adp_scraper *s, struct adp_scrape_round *ret)
{
    *ret = (struct adp_scrape_round) { .fresh = s->n_fresh };
    if (s->n > 1 && s->n_fresh)
        write_pool(s, ret);
    else if (s->n_fresh) {
        ret->page = s->target[0].page;
        ret->len = s->target[0].len;
        ret->format = s->target[0].format;
    } else
        ret->gone = s->n;
    for (uint32_t i = 0; i < s->n; i++) {
        if (!s->target[i].fresh)
            s->left[i] = (struct adp_scrape_left) { 0 };
        ret->bad_lines += s->left[i].bad_lines;
        ret->cut_lines += s->left[i].cut_lines;
        ret->came |= (uint64_t)s->target[i].fresh << i;
        ret->passed += s->target[i].schedule.passed;
        ret->slept += s->target[i].slept;
        hold(&s->target[i]);
        s->target[i].answered = s->target[i].fresh = s->target[i].in_round = false;
    }
    ret->left = s->left;
    ret->failures = s->failures;
    ret->n_failures = s->n_failures;
    s->n_fresh = s->n_failures = 0;
    s->open = false;
}

bool adp_scraper_step(struct adp_scraper *scraper, uint64_t wait_ns,
                      struct adp_scrape_round *ret)
{
    struct adp_scraper *s = scraper;
    uint64_t now = now_ns(s), until = now + wait_ns < now ? UINT64_MAX : now + wait_ns;
    if (!s->started)
        start(s, now);
    look(s, s->look_ns);
    ask_due(s);
    collect(s);
    if (!is_over(s)) {
        uint64_t next = next_ns(s);
        now = now_ns(s);
        next = next < until ? next : until;
        s->wire->wait(s->wire->ctx, next > now ? next - now : 0);
        look(s, next > now ? next : now);
        collect(s);
    }
    if (!is_over(s))
        return false;
    close_round(s, ret);
    return true;
}

static bool is_asked(const struct adp_scraper *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->target[i].asked)
            return true;
    return false;
}

static void give_up(struct adp_scraper *s)
{
    char text[96];
    uint64_t now = now_ns(s);
    for (uint32_t i = 0; i < s->n; i++) {
        struct target *t = &s->target[i];
        if (!t->asked)
            continue;
        snprintf(text, sizeof text, "cut short by the end, %.3g s after it was asked for",
                 (double)(now - t->asked_ns) * 1e-9);
        t->asked = t->in_round = false;
        s->open = true;
        fail(s, i, ADP_SCRAPE_UNFINISHED, text);
    }
}

bool adp_scraper_end(struct adp_scraper *scraper, uint64_t wait_ns,
                     struct adp_scrape_round *ret)
{
    struct adp_scraper *s = scraper;
    uint64_t now = now_ns(s), until = now + wait_ns;
    collect(s);
    for (; is_asked(s) && now < until; now = now_ns(s)) {
        s->wire->wait(s->wire->ctx, until - now);
        collect(s);
    }
    give_up(s);
    if (!s->open || (!s->n_fresh && !s->n_failures))
        return false;
    close_round(s, ret);
    return true;
}
