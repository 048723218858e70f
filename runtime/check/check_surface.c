/* SPDX-License-Identifier: MIT */
/* What a policy declares. */
#include "runtime/check/checks.h"

#include "core/dictionary.h"
#include "core/error.h"
#include "runtime/check/subject.h"
#include "runtime/check/trap.h"
#include "runtime/loader/image.h"

#include <string.h>

void adp_check_tables_are_sound(struct adp_trial *trial)
{
    const struct adp_policy *entry;
    struct adp_policy head = { 0 };
    struct adp_error err = { 0 };
    adp_trap_fence(trial);
    adp_trial_at(trial, ADP_CALL_LOAD);
    if (adp_loader_map(&entry, trial->path, trial->sha256, &err) < 0)
        adp_trial_fail(trial, "the file %s", err.text);
    adp_trial_at(trial, ADP_CALL_TABLES);
    memcpy(&head, entry, entry->size < sizeof head ? entry->size : sizeof head);
    if (adp_image_check(entry, &head, trial->path, &err) < 0 ||
        adp_loader_check(&head, trial->path, &err) < 0)
        adp_trial_fail(trial, "%s", err.text);
    adp_trial_at(trial, ADP_CALL_NONE);
    trial->slate->signals = head.n_signals;
    snprintf(trial->slate->policy, sizeof trial->slate->policy, "%s", head.name);
    if (trial->options->config && !(head.flags & ADP_TAKES_CONFIG))
        adp_trial_fail(trial, "a config is given, as with `config:`, but it does not "
                              "declare ADP_TAKES_CONFIG: the host would refuse it");
}

static const char *nearest_shipped(const char *name)
{
    uint32_t n;
    const struct adp_signal_def *shipped = adp_dictionary(&n);
    const char *names[ADP_MAX_KNOWN + 1] = { NULL };
    for (uint32_t i = 0; i < n && i < ADP_MAX_KNOWN; i++)
        names[i] = shipped[i].name;
    return adp_error_nearest(name, names);
}

void adp_check_signals_are_known(struct adp_trial *trial)
{
    struct adp_subject subject;
    struct adp_signals *set;
    struct adp_error err = { 0 };
    uint32_t slot_of[ADP_MAX_SIGNALS], n_shipped;
    adp_subject_load(&subject, trial, trial->path);
    if (adp_subject_signals(&set, subject.loaded, &err) < 0)
        adp_trial_fail(trial, "its signals cannot be declared: %s", err.text);
    if (adp_loader_bind(subject.loaded, set, slot_of, &err) < 0)
        adp_trial_fail(trial, "%s", err.text);
    adp_dictionary(&n_shipped);
    for (uint32_t i = 0; i < subject.policy->n_signals; i++) {
        if (slot_of[i] < n_shipped)
            continue;
        const char *name = adp_subject_slot(&subject, i);
        const char *near = nearest_shipped(name);
        adp_trial_note(trial,
                       "%s is no shipped signal%s%s: the operator has to declare it",
                       name, near ? ", nearest is " : "", near ? near : "");
    }
    adp_signals_destroy(set);
}

void adp_check_unknown_extension(struct adp_trial *trial)
{
    static const char *const ids[] = { "nobody.nothing/1", "", "admitperf.unknown/999" };
    struct adp_subject subject;
    adp_subject_load(&subject, trial, trial->path);
    if (!subject.policy->extension)
        adp_trial_skip(trial, "it offers none");
    adp_trial_at(trial, ADP_CALL_EXTENSION);
    for (uint32_t i = 0; i < 2 * sizeof ids / sizeof ids[0]; i++)
        if (subject.policy->extension(ids[i / 2]))
            adp_trial_fail(trial, "extension(\"%s\") is not NULL", ids[i / 2]);
    adp_trial_at(trial, ADP_CALL_NONE);
}
