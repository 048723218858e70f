/* SPDX-License-Identifier: MIT */
/* What a policy declares. */
#include "runtime/check/checks.h"

#include "runtime/check/subject.h"
#include "runtime/check/trap.h"
#include "runtime/loader/table.h"

#include <link.h>
#include <string.h>

/* --- pointers --- */

/* The file's segments in memory: what a policy declares must lie there, since nothing
 * else lives as long as its code. */
struct image {
    const void *entry;
    uintptr_t from[16], to[16];
    uint32_t n;
};

static int find_image(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct image *image = ctx, found = { .entry = image->entry };
    bool holds = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && found.n < 16; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_R))
            continue;
        found.from[found.n] = from;
        found.to[found.n++] = to;
        holds |= (uintptr_t)image->entry >= from && (uintptr_t)image->entry < to;
    }
    if (holds)
        *image = found;
    return holds;
}

/* Bytes of the image from `at` on; 0: it lies elsewhere. */
static size_t room_at(const struct image *image, const void *at)
{
    for (uint32_t i = 0; i < image->n; i++)
        if ((uintptr_t)at >= image->from[i] && (uintptr_t)at < image->to[i])
            return image->to[i] - (uintptr_t)at;
    return 0;
}

static void check_text(struct adp_trial *trial, const struct image *image,
                       const char *what, uint32_t row, const char *text)
{
    if (!text)
        return;
    size_t room = room_at(image, text);
    if (!room)
        adp_trial_fail(trial, "the %s (%u) lies at %p, outside of the file's memory",
                       what, row, (const void *)text);
    if (strnlen(text, room) == room)
        adp_trial_fail(trial, "the %s (%u) is not ended by a NUL", what, row);
}

static void check_table(struct adp_trial *trial, const struct image *image,
                        const char *what, const void *table, uint64_t rows, uint64_t size)
{
    if (table && rows && room_at(image, table) < rows * size)
        adp_trial_fail(trial, "the table of %s does not lie in the file's memory whole",
                       what);
}

static void check_rows(struct adp_trial *trial, const struct image *image,
                       const struct adp_policy *p)
{
    for (uint32_t i = 0; p->signals && i < p->n_signals; i++) {
        struct adp_signal s = adp_table_signal(p, i);
        check_text(trial, image, "name of a signal", i, s.name);
        check_text(trial, image, "unit of a signal", i, s.unit);
    }
    for (uint32_t i = 0; p->params && i < p->n_params; i++) {
        struct adp_param q = adp_table_param(p, i);
        check_text(trial, image, "name of a parameter", i, q.name);
        check_text(trial, image, "unit of a parameter", i, q.unit);
        check_text(trial, image, "doc of a parameter", i, q.doc);
    }
    struct adp_card c = adp_table_card(p);
    const char *const words[] = { c.unit,
                                  c.setting,
                                  c.slo_awareness,
                                  c.signal_quantity,
                                  c.signal_structure,
                                  c.metadata_assumed,
                                  c.portability,
                                  c.source,
                                  c.margin_unit };
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++)
        check_text(trial, image, "word of the card", i, words[i]);
}

static void check_pointers(struct adp_trial *trial, const struct adp_policy *entry,
                           const struct adp_policy *p)
{
    struct image image = { .entry = entry };
    dl_iterate_phdr(find_image, &image);
    if (!image.n)
        adp_trial_fail(trial, "the entry lies at %p, in no file that is loaded",
                       (const void *)entry);
    check_text(trial, &image, "name", 0, p->name);
    check_text(trial, &image, "version", 0, p->version);
    check_text(trial, &image, "doc", 0, p->doc);
    check_table(trial, &image, "signals", p->signals, p->n_signals, p->signal_size);
    check_table(trial, &image, "parameters", p->params, p->n_params, p->param_size);
    check_table(trial, &image, "gates", p->gates, p->n_gates, p->gate_size);
    check_table(trial, &image, "the card", p->card, 1, p->card_size);
    check_rows(trial, &image, p);
}

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
    check_pointers(trial, entry, &head);
    if (adp_loader_check(&head, trial->path, &err) < 0)
        adp_trial_fail(trial, "%s", err.text);
    adp_trial_at(trial, ADP_CALL_NONE);
    snprintf(trial->slate->policy, sizeof trial->slate->policy, "%s", head.name);
    if (trial->options->config && !(head.flags & ADP_TAKES_CONFIG))
        adp_trial_fail(trial, "a config is given, as with `config:`, but it does not "
                              "declare ADP_TAKES_CONFIG: the host would refuse it");
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
    for (uint32_t i = 0; i < subject.policy->n_signals; i++)
        if (slot_of[i] >= n_shipped)
            adp_trial_note(trial,
                           "%s is no shipped signal: the operator has to declare "
                           "it",
                           adp_subject_slot(&subject, i));
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
