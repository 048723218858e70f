/* SPDX-License-Identifier: MIT */
/* Reload: one edition takes over from another, under traffic; those before end when nothing
 * of theirs is waited for. Files, policies and the log's path are checked before anything
 * is touched (assemble.c); how a generation is entered and left is core/generation.h's.
 *
 *  1. Whatever fails, the edition before is in force and has its state: all that can fail
 *     comes before the switch.
 *  2. What lines of the new edition refer to (its words, its snapshot) is recorded before
 *     the switch, so that the drain meets it first.
 *  3. State moves while nobody is inside (the gate): save, create, heir. Only an instance
 *     that has an heir is ended early.
 *  4. An edition ends, the oldest first, when no call slot names it, no ticket of it waits
 *     and the drain has taken its last records: until then its number is not given again,
 *     so that one number always means one edition, for tickets, snapshots and words.
 *  5. At most ADP_GENERATIONS are alive. For one more, the log is flushed, and if that
 *     does not help the oldest's tickets are LOST. */
#include "core/error.h"
#include "runtime/host/reach.h"
#include "runtime/host/state.h"
#include "runtime/host/words.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The gate is closed for 10 ms at most while somebody is inside, once in each tenth of a
 * second, and for ten of them before the reload is given up. */
enum {
    CLOSED_NS = 10000000,
    TRY_NS = 100000000,
    TRIES = 10,
    YIELDS = 10,
    LOOK_NS = 100000
};

static const struct adp_place nowhere;

/* --- time: the machine's, whatever clock the runtime was given --- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Until then, and not for a rest of the time that each signal makes longer by the timer's
 * slack: signals that come faster than that would keep it for ever. */
static void sleep_until(uint64_t ns)
{
    struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* --- ending --- */

static bool is_drained(const adp_runtime *rt, const struct adp_edition *e)
{
    for (uint32_t lane = 0;
         adp_host_is_recording(rt) && lane <= adp_region_shape(rt->region)->lanes; lane++)
        if (atomic_load_explicit(&adp_region_ring(rt->region, lane)->head,
                                 memory_order_acquire) < e->tail[lane])
            return false;
    return true;
}

/* Nobody is inside any more, nobody will be: what it decided on can go. */
static void leave(adp_runtime *rt, struct adp_edition *e)
{
    adp_publisher_forget(rt->publisher, e->generation->number);
    for (uint32_t lane = 0; lane <= adp_region_shape(rt->region)->lanes; lane++)
        e->tail[lane] = atomic_load_explicit(&adp_region_ring(rt->region, lane)->tail,
                                             memory_order_acquire);
    e->left = true;
}

static uint32_t in_force(const adp_runtime *rt)
{
    return rt->edition->generation->number;
}

void adp_host_reclaim(struct adp_runtime *rt)
{
    for (uint32_t n = rt->oldest; n < in_force(rt); n++) {
        struct adp_edition *e = rt->edition_of[n % ADP_GENERATIONS];
        if (!e->left && !adp_generation_named(rt->region, n))
            leave(rt, e);
    }
    while (rt->oldest < in_force(rt)) {
        struct adp_edition *e = rt->edition_of[rt->oldest % ADP_GENERATIONS];
        if (!e->left || adp_generation_waiting(rt->region, rt->oldest) ||
            !is_drained(rt, e))
            return;
        adp_generation_remove(&rt->generations, rt->oldest);
        rt->edition_of[rt->oldest % ADP_GENERATIONS] = NULL;
        adp_edition_destroy(e);
        pthread_mutex_lock(&rt->lanes_mutex);
        rt->oldest++;
        pthread_mutex_unlock(&rt->lanes_mutex);
    }
}

static void lose_oldest(adp_runtime *rt)
{
    uint64_t lost = 0, now = rt->clock.mono_ns(rt->clock.ctx);
    for (uint32_t lane = 1; lane <= adp_region_shape(rt->region)->lanes; lane++)
        lost += adp_ticket_lose_generation(rt->region, lane, &rt->generations, rt->oldest,
                                           now);
    pthread_mutex_lock(&rt->lanes_mutex);
    rt->settled_lost += lost;
    pthread_mutex_unlock(&rt->lanes_mutex);
}

static bool is_full(const adp_runtime *rt)
{
    return in_force(rt) + 1 - rt->oldest == ADP_GENERATIONS;
}

/* A place in the table for the next number. */
static int make_room(adp_runtime *rt, struct adp_errors *errors)
{
    adp_host_reclaim(rt);
    if (is_full(rt)) {
        lose_oldest(rt);
        adp_host_reclaim(rt);
    }
    if (is_full(rt) &&
        rt->log) { /* faster than the log's thread comes by, or a bad disk */
        adp_log_flush(rt->log, NULL);
        adp_host_reclaim(rt);
    }
    if (!is_full(rt))
        return 0;
    adp_errors_add(errors, ADP_EFULL, rt->edition->config->file, nowhere,
                   "%u configurations are still in use: the log has not been written "
                   "since %u reloads",
                   ADP_GENERATIONS, ADP_GENERATIONS - 1);
    return ADP_EFULL;
}

/* --- state --- */

/* What a lane is inside, for the message. */
static const char *inside(const adp_runtime *rt, uint32_t lane)
{
    const struct adp_generation *g = rt->edition->generation;
    const struct adp_call *call = adp_region_call(rt->region, lane);
    uint64_t i = atomic_load_explicit(&call->policy, memory_order_relaxed) & 0xff;
    if (!atomic_load_explicit(&call->start_ns, memory_order_acquire))
        return "an outcome";
    return i < g->n_members ? g->member[i].policy->name : "a policy";
}

/* The lane that is inside the generation in force at `until`; 0: nobody is any more. */
static uint32_t look_until(const adp_runtime *rt, uint64_t until)
{
    for (int look = 0;; look++) {
        uint32_t lane = adp_generation_named(rt->region, in_force(rt));
        uint64_t now = now_ns();
        if (!lane || now >= until)
            return lane;
        if (look < YIELDS)
            sched_yield();
        else
            sleep_until(now + LOOK_NS);
    }
}

/* Waits until nobody is inside the generation in force, and the gate is closed then. */
static int close_gate(adp_runtime *rt, struct adp_errors *errors)
{
    uint32_t lane = 0;
    for (int try = 0; try < TRIES; try++) {
        uint64_t begun = now_ns();
        adp_generation_close(&rt->generations);
        lane = look_until(rt, begun + CLOSED_NS);
        if (!lane)
            return 0;
        adp_generation_open(&rt->generations);
        sleep_until(begun + TRY_NS);
    }
    adp_errors_add(errors, ADP_ESTATE, rt->edition->config->file, nowhere,
                   "a policy has to hand over its state, and %s has not returned for a "
                   "second on lane %u",
                   inside(rt, lane), lane);
    return ADP_ESTATE;
}

static int move_state(struct adp_edition *e, uint32_t i, struct adp_errors *errors)
{
    const struct adp_member *from = e->forerunner[i];
    uint64_t cap = from->policy->max_saved;
    void *saved = malloc(cap);
    if (!saved) {
        adp_errors_add(errors, ADP_ENOMEM, e->config->file, nowhere, "out of memory");
        return ADP_ENOMEM;
    }
    adp_host_within(e, i, true);
    uint64_t n = from->policy->save(from->self, saved, cap);
    adp_host_within(e, i, false);
    int code = ADP_EABI;
    if (n > cap)
        adp_errors_add(errors, ADP_EABI, e->config->file, nowhere,
                       "policy %s says it saved %llu bytes, its max_saved is %llu",
                       from->policy->name, (unsigned long long)n,
                       (unsigned long long)cap);
    else
        code = adp_host_create(e, i, n ? saved : NULL, n, errors);
    if (n == 0)
        e->forerunner[i] = NULL; /* nothing to inherit: the two go on side by side */
    free(saved);
    return code;
}

/* The gate is closed. On failure nothing was changed on the members before. */
static int move_states(struct adp_edition *e, struct adp_errors *errors)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < e->generation->n_members; i++)
        if (e->forerunner[i])
            code = move_state(e, i, errors);
    return code;
}

static void name_heirs(struct adp_edition *e)
{
    for (uint32_t i = 0; i < e->generation->n_members; i++)
        if (e->forerunner[i])
            e->forerunner[i]->heir = &e->generation->member[i];
}

/* Whose state moved has no more to do. */
static void end_forerunners(struct adp_edition *e)
{
    for (uint32_t i = 0; i < e->generation->n_members; i++) {
        struct adp_member *m = e->forerunner[i];
        if (!m)
            continue;
        if (m->policy->destroy) {
            adp_host_within(e, i, true);
            m->policy->destroy(m->self);
            adp_host_within(e, i, false);
        }
        m->self = NULL;
        e->forerunner[i] = NULL;
    }
}

static bool has_state_to_move(const struct adp_edition *e)
{
    for (uint32_t i = 0; i < e->generation->n_members; i++)
        if (e->forerunner[i])
            return true;
    return false;
}

/* --- taking over --- */

/* What the drain must know before a decision refers to it; nobody refers to it yet. */
static int record(adp_runtime *rt, struct adp_edition *e, struct adp_errors *errors)
{
    adp_error err = { 0 };
    const struct adp_generation *g = e->generation;
    int code = adp_host_record_words(rt, e, &err);
    if (code < 0) {
        adp_errors_add(errors, code, e->config->file, nowhere, "%s", err.text);
        return code;
    }
    adp_publisher_supply(rt->publisher, e->supply, e->n_supply);
    adp_publisher_replicas(rt->publisher, g->replica_signals);
    if (!adp_publisher_has_metrics(rt->publisher) && !e->n_supply)
        return 0;
    if (adp_publisher_again(rt->publisher, g->signals, g->number,
                            rt->clock.mono_ns(rt->clock.ctx),
                            rt->clock.wall_ns(rt->clock.ctx), &err) > 0)
        adp_errors_add(errors, ADP_NOTE, e->config->file, nowhere, "%s", err.text);
    return 0;
}

static void put_in_force(adp_runtime *rt, struct adp_edition *e)
{
    uint32_t number = e->generation->number;
    adp_host_announce(rt, e);
    adp_generation_add(&rt->generations, e->generation);
    rt->edition_of[number % ADP_GENERATIONS] = e;
    adp_generation_switch(&rt->generations, number);
    pthread_mutex_lock(&rt->lanes_mutex);
    rt->edition = e;
    pthread_mutex_unlock(&rt->lanes_mutex);
}

static int take_over(adp_runtime *rt, struct adp_edition *e, struct adp_errors *errors)
{
    bool gate = has_state_to_move(e);
    int code = gate ? close_gate(rt, errors) : 0;
    if (code < 0)
        return code;
    code = move_states(e, errors);
    if (code == 0)
        code = record(rt, e, errors);
    if (code < 0) {
        adp_publisher_supply(rt->publisher, rt->edition->supply, rt->edition->n_supply);
        adp_publisher_replicas(rt->publisher, rt->edition->generation->replica_signals);
        if (gate)
            adp_generation_open(&rt->generations);
        return code;
    }
    name_heirs(e);
    put_in_force(rt, e);
    end_forerunners(e);
    return 0;
}

/* --- the log --- */

static bool same_path(const struct adp_edition *a, const struct adp_edition *b)
{
    return !a->log_path || strcmp(a->log_path, b->log_path) == 0;
}

static bool same_log(const struct adp_edition *a, const struct adp_edition *b)
{
    return same_path(a, b) && a->config->rotate_bytes == b->config->rotate_bytes &&
           a->config->keep == b->config->keep;
}

/* Ours, or that of whoever drains what we record. Only tried, or moved there. */
static int place_log(const struct adp_runtime *rt, const struct adp_log_options *log,
                     bool only_try, struct adp_error *err)
{
    const struct adp_beyond *b = rt->options.beyond;
    if (b)
        return b->move_log ? b->move_log(b->ctx, log, only_try, err) : 0;
    if (only_try)
        return adp_log_try(log, err);
    return rt->log ? adp_log_move(rt->log, log, err) : 0;
}

/* What cannot change while lanes are open; and a new file can be opened, or the one there is
 * be rotated. */
static int check_log(const adp_runtime *rt, const struct adp_edition *e,
                     struct adp_errors *errors)
{
    const struct adp_edition *old = rt->edition;
    const struct adp_log_options log = adp_host_log_options(rt, e);
    adp_error err = { 0 };
    int code = ADP_EINVAL;
    if (!old->log_path != !e->log_path)
        adp_errors_add(errors, code, e->config->file, nowhere,
                       "log: %s, which a reload cannot change; close and open anew",
                       e->log_path ? "was none and is a file" : "was a file and is none");
    else if (e->log_path && old->config->log_inline != e->config->log_inline)
        adp_errors_add(errors, code, e->config->file, nowhere,
                       "log.metrics differs, which a reload cannot change; close and "
                       "open anew");
    else if (same_log(old, e))
        return 0;
    else if (rt->options.beyond && !rt->options.beyond->move_log && !same_path(old, e))
        adp_errors_add(errors, code, e->config->file, nowhere,
                       "log.path differs, which a reload cannot change here; start anew");
    else if ((code = place_log(rt, &log, true, &err)) < 0)
        adp_errors_add(errors, code, e->config->file, nowhere, "%s", err.text);
    return code;
}

/* Everything decided before goes to the file before. It could be opened a moment ago: that
 * it cannot be now is no reason to undo what is in force. */
static void move_log(adp_runtime *rt, const struct adp_edition *old,
                     const struct adp_edition *e, struct adp_errors *errors)
{
    const struct adp_log_options log = adp_host_log_options(rt, e);
    adp_error err = { 0 };
    if (adp_host_is_recording(rt) && !same_log(old, e) &&
        place_log(rt, &log, false, &err) < 0)
        adp_errors_add(errors, ADP_NOTE, e->config->file, nowhere,
                       "the log goes on where it was: %s", err.text);
}

/* --- the calls --- */

static int reload(adp_runtime *rt, struct adp_config *config, struct adp_errors *errors)
{
    struct adp_edition *old = rt->edition, *e = NULL;
    adp_host_set_scene(rt, config);
    int code = adp_host_assemble_take(&e, rt, config, in_force(rt) + 1, old, errors);
    if (code < 0)
        return code;
    code = check_log(rt, e, errors);
    if (code == 0)
        code = make_room(rt, errors);
    if (code == 0) {
        adp_host_seal(rt, e, errors);
        if (!rt->options.serving)
            adp_host_note_unused(e->config, errors);
        adp_host_note_reach(e->config, e->loaded, e->params, errors);
        code = take_over(rt, e, errors);
    }
    if (code < 0) {
        adp_edition_destroy(e);
        return code;
    }
    move_log(rt, old, e, errors);
    adp_host_reclaim(rt);
    return 0;
}

/* Errors into a list that is empty at first, the caller's or our own. */
static int begin(adp_runtime *rt, adp_errors *errors)
{
    adp_error err = { 0 };
    adp_errors_free(errors);
    int code = adp_host_enter(rt, &err);
    if (code < 0)
        adp_errors_add(errors, code, "", nowhere, "%s", err.text);
    return code;
}

int adp_runtime_reload(adp_runtime *rt, const char *path, adp_errors *errors)
{
    struct adp_config *config;
    adp_errors unread = { 0 }, *to = errors ? errors : &unread;
    int code = begin(rt, to);
    if (code < 0)
        goto out;
    if (!path)
        path = rt->path;
    if (path)
        code = adp_config_draft_file(&config, path, to);
    else
        adp_errors_add(to, code = ADP_EINVAL, rt->edition->config->file, nowhere,
                       "opened from text, so there is no file to read again");
    if (code >= 0)
        code = reload(rt, config, to);
    adp_host_leave(rt);
out:
    adp_errors_free(&unread);
    return code;
}

int adp_runtime_reload_text(adp_runtime *rt, const char *text, const char *name,
                            adp_errors *errors)
{
    return adp_host_reload_text(rt, text, name, ".", errors);
}

int adp_host_reload_text(adp_runtime *rt, const char *text, const char *name,
                         const char *folder, adp_errors *errors)
{
    struct adp_config *config;
    adp_errors unread = { 0 }, *to = errors ? errors : &unread;
    int code = begin(rt, to);
    if (code == 0) {
        code = adp_config_draft_text(&config, text, strlen(text), name, folder, to);
        if (code >= 0)
            code = reload(rt, config, to);
        adp_host_leave(rt);
    }
    adp_errors_free(&unread);
    return code;
}
