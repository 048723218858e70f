/* SPDX-License-Identifier: MIT */
/* The policy under check, in the process that tries it: loaded, with parameters made up
 * from its schema, and called so that the slate knows where it is.
 *
 * What it leaves to others: which requests are asked (traffic.h) and what is thought of
 * the answers (verdict.h). */
#ifndef ADP_RUNTIME_CHECK_SUBJECT_H
#define ADP_RUNTIME_CHECK_SUBJECT_H

#include "core/signal.h"
#include "runtime/check/trial.h"
#include "runtime/loader/loader.h"

/* How the policy is called; a check puts its own in place to lay structs out another way.
 * NULL: as they are. */
struct adp_calls {
    void *(*create)(const struct adp_policy *policy, const struct adp_setup *setup);
    void (*decide)(const struct adp_policy *policy, void *self,
                   const struct adp_view *view, struct adp_verdict *verdict);
    void (*outcome)(const struct adp_policy *policy, void *self,
                    const struct adp_outcome *outcome);
};

struct adp_subject {
    struct adp_trial *trial;
    struct adp_loaded *loaded;
    const struct adp_policy *policy;                 /* of `loaded` */
    double lo[ADP_MAX_SIGNALS], hi[ADP_MAX_SIGNALS]; /* by slot; hi may be infinite */
    /* By place in params: what was given, or the default, or a number well inside. */
    double usual[ADP_MAX_PARAMS];
    bool given[ADP_MAX_PARAMS];
    struct adp_calls calls;
};

/* The dictionary's signals, and those of the policy's that it does not have, as an
 * operator would declare them. Owned by the caller. ADP_ENOMEM, ADP_EINVAL. */
int adp_subject_signals(struct adp_signals **ret, const struct adp_loaded *loaded,
                        struct adp_error *err);

/* Loads `path` (the trial's own, or a copy). Ends the process when it cannot. */
void adp_subject_load(struct adp_subject *ret, struct adp_trial *trial, const char *path);

/* Numbers from a seed: splitmix64. */
uint64_t adp_subject_next(uint64_t *seed);
double adp_subject_unit(uint64_t *seed); /* [0, 1) */

/* Values for the parameters. TYPICAL: the usual ones; RANDOM: some of them others, inside
 * the bounds. */
enum adp_values { ADP_VALUES_TYPICAL, ADP_VALUES_RANDOM };
void adp_subject_params(const struct adp_subject *subject, enum adp_values values,
                        uint64_t *seed, double ret[ADP_MAX_PARAMS]);
/* One at a time: `which` 0 is TYPICAL; then of each parameter two, it alone another: low and
 * high in its bounds, or turned over. False, and nothing in ret, where that is no other.
 * `which` is below adp_subject_sets. */
bool adp_subject_set(const struct adp_subject *subject, uint32_t which,
                     double ret[ADP_MAX_PARAMS]);
uint32_t adp_subject_sets(const struct adp_subject *subject);

/* What create is given. Zero: these parameters and nothing else. */
struct adp_start {
    const double *param;
    const void *saved;
    uint64_t saved_len;
    uint32_t n_instances; /* 0: 1 */
};

struct adp_instance {
    void *self;
    bool made;
    char error[256]; /* when it was not */
};

/* A policy without create is made at once. What create left in `error` is the caller's to
 * judge. */
void adp_subject_create(struct adp_instance *ret, const struct adp_subject *subject,
                        const struct adp_start *start);
/* As adp_subject_create, and ends the process when there is none. */
void adp_subject_must_create(struct adp_instance *ret, const struct adp_subject *subject,
                             const struct adp_start *start);
void adp_subject_destroy(const struct adp_subject *subject, struct adp_instance *i);
/* Whether create makes one of it, which is gone again: to refuse parameters that are not the
 * defaults is its good right. */
bool adp_subject_takes(const struct adp_subject *subject, const struct adp_start *start);

/* Prepares the verdict as a host does, and asks. Behind it lies room: a policy that
 * writes further is for one check to find, and not for all of them to die of. */
struct adp_answer {
    struct adp_verdict verdict;
    uint64_t beyond[8];
};
void adp_subject_decide(const struct adp_subject *subject,
                        const struct adp_instance *instance, const struct adp_view *view,
                        struct adp_answer *ret);
void adp_subject_outcome(const struct adp_subject *subject,
                         const struct adp_instance *instance,
                         const struct adp_outcome *outcome);
/* The outcome of a ticket of which nothing is known but its end. */
void adp_subject_settle(const struct adp_subject *subject,
                        const struct adp_instance *instance, uint64_t ticket,
                        uint32_t end, uint64_t now_ns);
/* What save says it wrote of at most `cap` bytes; of a policy that has one. */
uint64_t adp_subject_save(const struct adp_subject *subject,
                          const struct adp_instance *instance, void *to, uint64_t cap);

/* The slot's name, for messages. */
const char *adp_subject_slot(const struct adp_subject *subject, uint32_t slot);

#endif
