/* SPDX-License-Identifier: MIT */
/* What a supervisor is made of; private to the room.
 *
 * supervise.c makes it and runs its loop, spawn.c starts a worker, hold.c keeps connections,
 * watch.c looks at the living worker, bury.c sees to a dead one, suspect.c remembers which
 * policies workers died of. One thread; the log has its own. */
#ifndef ADP_SUPERVISE_INNER_H
#define ADP_SUPERVISE_INNER_H

#include "core/recover.h"
#include "runtime/supervise/block.h"

#include <sys/types.h>

enum { ADP_SUSPECTS = ADP_STATES, ADP_DEATHS_KEPT = 3 };

/* A policy that workers died of. */
struct adp_suspect {
    char name[ADP_POLICY_NAME];
    uint64_t died_ns[ADP_DEATHS_KEPT]; /* the newest first; 0: none */
    uint64_t deaths;                   /* all of them, over reloads too */
    enum adp_order order;              /* for the next worker */
    bool fresh;                        /* suspected at the last death */
};

/* A connection of which we have a duplicate. */
struct adp_kept {
    int fd; /* -1: none */
    uint64_t use;
};

/* Why we killed it. */
struct adp_sentence {
    enum adp_cause cause; /* 0: we did not */
    uint32_t lane;        /* HANG: where; 0: the control thread */
    uint64_t start_ns;    /* of that call */
    uint64_t at_ns;
    uint64_t
        kill_ns;   /* MEMORY: it was told to step down, and is killed then; 0: it was */
    uint32_t n_in; /* MEMORY: policies that lanes were in when it was seen */
    char in[ADP_MAX_POLICIES][ADP_POLICY_NAME];
};

struct adp_supervisor {
    struct adp_supervisor_options options; /* defaults filled in */
    int listener[ADP_SUPERVISE_LISTENERS];
    char **argv, *program; /* owned */
    struct adp_log_options log_options;

    struct adp_block block;
    int region_fd;
    struct adp_region *region;
    struct adp_log *log; /* NULL: none */
    int signals, wake;   /* signalfd, eventfd */

    pid_t pid; /* 0: no worker */
    int control;
    bool ready;
    uint64_t spawned_ns, died_ns; /* died_ns: of the one before; 0: it was the first */
    struct adp_sentence sentence;
    uint64_t spawn_at_ns; /* when to start the next one; 0: not */
    uint64_t damaged;     /* rings abandoned and begun anew so far */
    uint32_t failures;    /* in a row that no policy explains */

    struct adp_kept *kept; /* by place */
    int *left;             /* descriptors of block.left; -1: taken */
    uint32_t n_left;

    struct adp_policies_message policies[ADP_GENERATIONS]; /* by number % …, sound */
    uint32_t newest;                                       /* generation */
    struct adp_suspect suspect[ADP_SUSPECTS];

    bool reload_due;       /* asked for, and no worker has begun with it */
    _Atomic bool stopping; /* adp_supervisor_stop was called: no further worker */
    bool draining;
    uint64_t drain_until_ns, look_ns; /* look_ns: when watch.c looks next */
    struct adp_supervised counts;
};

/* The monotonic clock. */
uint64_t adp_supervise_now(void);
void adp_supervise_tell(const struct adp_supervisor *s, const struct adp_news *news);

/* --- spawn.c */
/* Starts a worker. ADP_EIO. */
int adp_supervise_spawn(struct adp_supervisor *s, struct adp_error *err);
/* Sends a message without more to it; false: not taken. */
bool adp_supervise_say(const struct adp_supervisor *s, enum adp_message_kind kind,
                       uint32_t number);

/* --- hold.c */
/* Reads the control socket until it is empty. */
void adp_supervise_read(struct adp_supervisor *s);
/* Closes duplicates of connections that the worker has closed. */
void adp_supervise_sweep(struct adp_supervisor *s);
/* The worker is dead: what can be gone on with is left to the next, the rest closed. Returns
 * how many answers are owed. */
uint64_t adp_supervise_leave(struct adp_supervisor *s);
void adp_supervise_close_left(struct adp_supervisor *s);
void adp_supervise_close_kept(struct adp_supervisor *s);

/* --- watch.c */
/* Kills the worker if it hangs, stalls or does not get ready; has one that has grown too large
 * step down, and kills it if it does not. */
void adp_supervise_watch(struct adp_supervisor *s, uint64_t now_ns);

/* --- bury.c */
/* The worker ended with this status. */
void adp_supervise_bury(struct adp_supervisor *s, int status, uint64_t now_ns);

/* --- suspect.c */
/* The name of a policy; NULL: not known. */
const char *adp_supervise_name(const struct adp_supervisor *s, uint32_t generation,
                               uint32_t policy);
void adp_suspect_begin(struct adp_supervisor *s); /* a death */
void adp_suspect_name(struct adp_supervisor *s, const char *name, uint64_t now_ns);
void adp_suspect_all(struct adp_supervisor *s, uint64_t now_ns);
void adp_suspect_end(struct adp_supervisor *s, uint64_t now_ns); /* orders are made */
void adp_suspect_clear(struct adp_supervisor *s);                /* a reload */

#endif
