/* SPDX-License-Identifier: MIT */
/* What a runtime is made of; private to this room.
 *
 *   open:   one edition: config, loaded policies, params, instances, their generation
 *   start:  region, publisher, log; from then on it belongs to this process
 *   lanes:  made on demand, kept for the life of the runtime, reused after close
 *   reload: one more edition; the ones before stay while something of theirs is waited for
 *
 * The room: assemble.c makes an edition (params.c holds what is written against schemas),
 * reload.c has one take over from another and ends those that are over, beyond.c leaves
 * behind and takes up what outlives the process, publish.c brings metrics, words.c says what
 * lines share, reach.c what cannot happen, runtime.c is the rest of <admitperf/runtime.h>;
 * explain.c, sample.c and tally.c are the rest of host.h. */
#ifndef ADP_RUNTIME_HOST_STATE_H
#define ADP_RUNTIME_HOST_STATE_H

#include "core/history.h"
#include "core/log.h"
#include "core/snapshot.h"
#include "core/ticket.h"
#include "runtime/host/host.h"
#include "runtime/host/params.h"

#include <pthread.h>

/* What one configuration made. */
struct adp_edition {
    struct adp_config *config;
    struct adp_loaded *loaded[ADP_MAX_POLICIES];
    struct adp_params params[ADP_MAX_POLICIES];
    struct adp_generation *generation;
    /* Members whose instance comes by way of another's state; NULL: it has its own. */
    struct adp_member *forerunner[ADP_MAX_POLICIES];
    uint64_t hash;  /* the `config` key of every line */
    char *log_path; /* absolute; NULL: none */
    struct adp_supply supply[ADP_MAX_KNOWN];
    uint32_t n_supply;
    const struct adp_beyond *beyond; /* the runtime's; NULL: none */
    const struct adp_clock *clock;   /* the runtime's */
    uint64_t
        saved_ns[ADP_MAX_POLICIES]; /* of the state it was made from, beyond; 0: none */
    char key[ADP_MAX_POLICIES][ADP_SIGNAL_NAME + 5];
    char name[ADP_MAX_POLICIES]
             [ADP_SIGNAL_NAME + 1]; /* of those that others stand in for */
    /* Once another is in force, and no lane is inside this one any more: */
    bool left;
    uint64_t tail[ADP_MAX_LANES + 1]; /* what the rings held by then: its last records */
};

/* A signal that the host supplies itself. */
struct adp_host_source {
    char signal[ADP_SIGNAL_NAME + 1];
    adp_source_fn read;
    void *user;
};

/* The interned ids that one of the publisher's metrics was filled with last, one after the
 * other; n 0: with something else. */
struct adp_filled {
    const struct adp_metrics *metrics;
    uint32_t *id; /* owned */
    uint32_t n, cap;
};
enum { ADP_PUBLISHER_METRICS = ADP_HISTORY_PAGES };

/* Whose verdicts one of the lanes' tallies counts. The last takes all others'. */
struct adp_tally_of {
    char policy[ADP_SIGNAL_NAME +
                1]; /* a policy's name is as long as a signal's at most */
    bool shadow;
};

/* Whose the runtime is, as far as this process knows. */
enum adp_here {
    ADP_HERE_UNKNOWN,  /* a child of fork: the parent's, when that had started it */
    ADP_HERE_SETTLING, /* a child makes the locks anew */
    ADP_HERE_OURS,
    ADP_HERE_TORN /* a thread of the parent was in a [control] call of it */
};

struct adp_runtime {
    struct adp_host_options options;
    struct adp_clock clock;
    char
        *folder; /* the current directory at open; relative paths of the log start here */
    char *path;  /* the configuration's file, absolute; NULL: it was opened from text */
    struct adp_edition *edition;                     /* in force */
    struct adp_edition *edition_of[ADP_GENERATIONS]; /* by number; oldest … in force */
    uint32_t oldest;
    struct adp_generations generations;

    struct adp_host_source source[ADP_MAX_KNOWN];
    uint32_t n_source;
    /* id - 1 is the place; NULL before the first. Written as control, read by lanes too: of
     * the first n_interned (release behind each that is added) the names, which stay. */
    struct adp_metrics *interned;
    _Atomic uint32_t n_interned;
    struct adp_filled filled[ADP_PUBLISHER_METRICS];

    struct adp_tally_of tally_of[ADP_TALLIES];
    uint32_t n_tally; /* given out */

    _Atomic bool started; /* release: behind all that start makes */
    /* enum adp_here, in a page of its own that reads as 0 in a child. */
    _Atomic uint32_t *here;
    void *memory;
    size_t memory_bytes;
    struct adp_region *region;
    struct adp_publisher *publisher;
    struct adp_log *log;
    uint64_t settled_lost; /* tickets given up at close and at reload */

    /* Lets in one [control] call at a time; guards all of the above once started. */
    pthread_mutex_t control_mutex;
    _Atomic pthread_t within; /* who has it; 0: nobody */
    int cancel_state;         /* whether that thread could be cancelled before */
    /* Guards `lane`, `lane_open`, `tally_of` and `n_tally`: opening, closing and counting; `edition`, `oldest`
     * and `settled_lost` too, for counting. Taken after control_mutex. */
    pthread_mutex_t lanes_mutex;
    struct adp_lane *lane[ADP_MAX_LANES];
    bool lane_open[ADP_MAX_LANES];
};

/* Then all that start makes can be read. [any] */
static inline bool adp_host_is_started(const struct adp_runtime *rt)
{
    return atomic_load_explicit(&rt->started, memory_order_acquire);
}

/* Whether another process started it. No system call. [any] */
static inline bool adp_host_is_inherited(const struct adp_runtime *rt)
{
    return atomic_load_explicit(rt->here, memory_order_relaxed) == ADP_HERE_UNKNOWN &&
           adp_host_is_started(rt);
}

/* Whether there is anybody who drains what is recorded. [any] */
static inline bool adp_host_is_recording(const struct adp_runtime *rt)
{
    return rt->options.beyond ? rt->options.beyond->recording
                              : rt->edition->log_path != NULL;
}

/* Whether this thread is in a [control] call: one of the host's own functions calls. */
bool adp_host_is_within(const struct adp_runtime *rt);
/* Begins a [control] call, which adp_host_leave ends; until then the thread is not cancelled.
 * ADP_ESTATE: this thread is in one, or another process started the runtime. */
int adp_host_lock(struct adp_runtime *rt, struct adp_error *err);
/* The same on a runtime that is started. ADP_ESTATE. */
int adp_host_enter(struct adp_runtime *rt, struct adp_error *err);
void adp_host_leave(struct adp_runtime *rt);

/* Takes a configuration, loads its policies, resolves their parameters, creates their
 * instances; those whose state comes from a member of `before` (NULL: none) have none yet,
 * but a forerunner. Everything wrong goes into `errors`, which is empty or has what was
 * found before. On failure the configuration is gone too. */
int adp_host_assemble_take(struct adp_edition **ret, struct adp_runtime *rt,
                           struct adp_config *config, uint32_t number,
                           const struct adp_edition *before, struct adp_errors *errors);
/* Makes the instance of member i. `saved`: what its forerunner's save wrote; or NULL. */
int adp_host_create(struct adp_edition *e, uint32_t i, const void *saved,
                    uint64_t saved_len, struct adp_errors *errors);
/* Ends the instances and frees what adp_host_assemble made. NULL is fine. */
void adp_edition_destroy(struct adp_edition *e);

/* Says which tallies count what the edition's policies answer. */
void adp_host_assign_tallies(struct adp_runtime *rt, struct adp_edition *e);

/* Resolves the host's own sources and hashes it all: the last step before an edition is in
 * force. */
void adp_host_seal(const struct adp_runtime *rt, struct adp_edition *e,
                   struct adp_errors *errors);
/* Where the log of an edition goes. Borrows from both. */
struct adp_log_options adp_host_log_options(const adp_runtime *rt,
                                            const struct adp_edition *e);
/* Records the words that the lines of an edition share. ADP_ENOMEM, ADP_EFULL. */
int adp_host_record_words(struct adp_runtime *rt, const struct adp_edition *e,
                          struct adp_error *err);
/* beyond.c: state saved by a process before; sets saved_ns. */
const void *adp_host_find_saved(struct adp_edition *e, uint32_t i, size_t *ret_len);
bool adp_host_is_quarantined(const struct adp_edition *e, uint32_t i);
/* Whether a process before this one had the policies of this edition in force; puts in place of
 * the i-th, which cannot be had again, one that has its name and nothing else. */
bool adp_host_follows(const struct adp_edition *e);
bool adp_host_stand_in(struct adp_edition *e, uint32_t i);
/* Says that create, save or destroy of member i, or of its forerunner, begins or is over. */
void adp_host_within(const struct adp_edition *e, uint32_t i, bool begins);
/* Says whose policies come into force; of the first edition, takes over what waits and the
 * snapshot. */
void adp_host_announce(const struct adp_runtime *rt, const struct adp_edition *e);
void adp_host_take_over_region(const struct adp_runtime *rt, const struct adp_edition *e);
/* Ends the editions that nothing waits for any more. Between [control] calls. */
void adp_host_reclaim(struct adp_runtime *rt);
/* Notes of a configuration that are no errors. */
void adp_host_note_unused(const struct adp_config *c, struct adp_errors *errors);
/* What the scene of the options puts in place of the configuration. */
void adp_host_set_scene(const struct adp_runtime *rt, struct adp_config *c);

#endif
