/* SPDX-License-Identifier: MIT */
/* A check on its way: what it may look at, and how it says what it found.
 *
 * Its process writes to a slate that it shares with the process that waits for it, so
 * that after a crash it is still known what was being called.
 *
 *  1. fail and skip end the process at once: a check is a list of questions, and the
 * first that is answered badly is the answer.
 *  2. A check whose function returns has passed. */
#ifndef ADP_RUNTIME_CHECK_TRIAL_H
#define ADP_RUNTIME_CHECK_TRIAL_H

#include "runtime/check/check.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Shared memory. Nothing here is to be trusted further than text is: the policy may have
 * written into it. */
struct adp_slate {
    uint32_t status;             /* enum adp_check_status + 1; 0: nothing said */
    uint32_t creates, create_ms; /* calls that came back, and the time they took */
    double create_cost_ms;       /* what one takes, as the check for it found; or 0 */
    uint32_t spoils; /* not 0: its failure would be that of every check after it */
    uint32_t lacks; /* not 0: it was skipped for want of what the policy may have taken */
    uint32_t starved; /* not 0: it was skipped for want of time on a processor */
    uint32_t misused; /* not 0: `seen` is what is wrong with the parameters given */
    uint32_t mend;    /* enum adp_mend, where the check's own is not to the point */
    uint32_t signals; /* that the policy declares, once read */
    /* Written by every thread of the check, each for itself: relaxed. */
    _Atomic uint32_t view; /* number of the request at hand, from 1; 0: none */
    _Atomic uint32_t call; /* enum adp_called */
    char doing[160];       /* what is special about the requests at hand; or "" */
    char seen[ADP_CHECK_SEEN];
    char policy[64]; /* its name, once read */
};

/* How to mend what was seen, where that differs from what the check is about. The texts are
 * in check.c. */
enum adp_mend {
    ADP_MEND_USUAL, /* the check's own */
    ADP_MEND_MEMORY,
    ADP_MEND_ABORT,
    ADP_MEND_DIVISION,
    ADP_MEND_EXIT,
    ADP_MEND_COMPUTES,
    ADP_MEND_WAITS,
    /* From here on set by a check itself, and then in the place of its own. */
    ADP_MEND_REACHES_OUT, /* by the fence, and with a rule of its own */
    ADP_MEND_FEWER_SIGNALS,
    ADP_MEND_LESS_STACK,
    ADP_MEND_GIVE_PARAMETERS,
    ADP_MEND_TAKE_DEFAULTS,
    ADP_MEND_GIVE_CONFIG,
    ADP_MEND_LET_GO,
    ADP_MEND_LEAVE_ROOM,
    ADP_MENDS
};

/* What of the policy is being called. */
enum adp_called {
    ADP_CALL_NONE,
    ADP_CALL_LOAD,
    ADP_CALL_EXIT,
    ADP_CALL_UNLOAD,
    ADP_CALL_TABLES,
    ADP_CALL_CREATE,
    ADP_CALL_DECIDE,
    ADP_CALL_OUTCOME,
    ADP_CALL_SAVE,
    ADP_CALL_DESTROY,
    ADP_CALL_EXTENSION
};

struct adp_trial {
    const char *path, *sha256; /* the operator's file, and what it held */
    const uint8_t *bytes;
    size_t len;
    const struct adp_check_options *options;
    uint32_t seed;
    uint32_t limit_ms;       /* of the check at hand */
    double create_ms;        /* that a create takes; 0: not known yet, or no matter */
    int own_call;            /* that hinders the checks' own threads, or 0 (trap.h) */
    const char *scratch;     /* a folder of this run's own, absolute, mode 0700 */
    struct adp_slate *slate; /* shared with whoever waits */
};

/* What is being called, for whoever reads the slate afterwards. */
void adp_trial_at(struct adp_trial *trial, enum adp_called call);
/* What is special about the requests from here on; or that nothing is. */
void adp_trial_doing(struct adp_trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void adp_trial_plain(struct adp_trial *trial);

/* Passes, unless something fails later, and notes what is worth knowing. */
void adp_trial_note(struct adp_trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Ends this process. Safe in a signal's handler, once the text is made. */
_Noreturn void adp_trial_fail(struct adp_trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void adp_trial_skip(struct adp_trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What the check needs itself (memory, a thread, a process) is not to be had, and the policy is
 * there: whether that is its doing is found out afterwards, without it. If it is, this is a
 * failure, else a skip. */
_Noreturn void adp_trial_lack(struct adp_trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* If this check fails, that is how to mend it. */
void adp_trial_mend(struct adp_trial *trial, enum adp_mend mend);

/* If this check fails, those in whose `after` it stands are not asked, as after a crash. */
void adp_trial_spoils(struct adp_trial *trial);

/* `percent` of n, at least 1. */
uint32_t adp_trial_share(const struct adp_trial *trial, uint32_t n);

/* As adp_trial_share, of instances to be made: fewer where create is slow. */
uint32_t adp_trial_lives(const struct adp_trial *trial, uint32_t n);

struct adp_child;
/* Of one that did not finish. */
enum adp_mend adp_trial_mend_of(const struct adp_child *child);
/* A process that this check had made must have finished: if it said what is wrong this one
 * ends, and if it ended in another way that is the failure, `lead` before it; unless the
 * machine is at fault, which skips the check, and all others if it gave no time. */
void adp_trial_take_child(struct adp_trial *trial, const struct adp_child *child,
                          uint32_t limit_ms, const char *lead);

/* "in decide, request 17, with slots that are absent holding NaN"; "" when nothing of the
 * policy is being called. */
void adp_trial_where(const struct adp_slate *slate, char *to, size_t cap);

/* Memory that processes forked later share with this one; ends the process, as adp_trial_lack
 * does, when there is none. Never freed. */
void *adp_trial_shared(struct adp_trial *trial, size_t bytes);

#endif
