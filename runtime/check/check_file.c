/* SPDX-License-Identifier: MIT */
/* What a policy's file is, from its bytes: nothing of it is mapped. */
#include "runtime/check/checks.h"

#include "runtime/loader/elf.h"
#include "runtime/loader/entry.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

#define ENTRY_PREFIX "admitperf_policy_v"

/* What comes first of a list, for people: "a, b, c and 12 more". */
struct names {
    char text[240];
    size_t at, n;
};

static void add_name(struct names *names, const char *name)
{
    int more = 0;
    if (names->n++ < 5 && names->at < sizeof names->text)
        more = snprintf(names->text + names->at, sizeof names->text - names->at,
                        "%s%.64s", names->n > 1 ? ", " : "", name);
    names->at += more > 0 ? (size_t)more : 0;
}

static const char *list(struct names *names)
{
    if (names->n > 5 && names->at < sizeof names->text)
        snprintf(names->text + names->at, sizeof names->text - names->at, " and %zu more",
                 names->n - 5);
    return names->text;
}

static struct adp_elf open_elf(struct adp_trial *trial)
{
    struct adp_elf elf;
    struct adp_error err = { 0 };
    if (adp_elf_open(&elf, trial->bytes, trial->len, trial->path, &err) < 0)
        adp_trial_fail(trial, "the file %s", err.text);
    return elf;
}

void adp_check_is_shared_object(struct adp_trial *trial)
{
    open_elf(trial);
}

void adp_check_declares_entry(struct adp_trial *trial)
{
    struct adp_error err = { 0 };
    uint64_t room;
    if (adp_entry_examine(trial->bytes, trial->len, trial->path, &room, &err) < 0)
        adp_trial_fail(trial, "the file %s", err.text);
}

void adp_check_exports_one_name(struct adp_trial *trial)
{
    struct adp_elf elf = open_elf(trial);
    struct names others = { 0 }, unique = { 0 };
    struct adp_elf_symbol s;
    for (size_t i = 0; i < elf.n_symbols; i++) {
        if (!adp_elf_symbol(&elf, i, &s) || !s.defined)
            continue;
        if (s.unique)
            add_name(&unique, s.name);
        if (strncmp(s.name, ENTRY_PREFIX, strlen(ENTRY_PREFIX)) != 0)
            add_name(&others, s.name);
    }
    if (unique.n)
        adp_trial_fail(trial, "unique in the whole process (STB_GNU_UNIQUE): %s",
                       list(&unique));
    if (others.n)
        adp_trial_fail(trial, "exported beside the entry: %s", list(&others));
}

static bool is_ours(const char *name)
{
    return strncmp(name, "adp_", 4) == 0 || strncmp(name, "admitperf_", 10) == 0;
}

void adp_check_asks_nothing_of_host(struct adp_trial *trial)
{
    struct adp_elf elf = open_elf(trial);
    struct names asked = { 0 };
    struct adp_elf_symbol s;
    uint64_t value;
    for (size_t i = 0; i < elf.n_symbols; i++)
        if (adp_elf_symbol(&elf, i, &s) && !s.defined && is_ours(s.name))
            add_name(&asked, s.name);
    if (asked.n)
        adp_trial_fail(trial, "it calls into the host: %s", list(&asked));
    for (size_t i = 0; adp_elf_dynamic(&elf, DT_NEEDED, i, &value); i++) {
        const char *library = adp_elf_text(&elf, value);
        if (library && strncmp(library, "libadmitperf", 12) == 0)
            adp_trial_fail(trial, "it is linked with %.64s", library);
    }
}

/* Why a folder may not be searched for libraries; NULL: it may. */
static const char *folder_fault(const char *folder)
{
    struct stat st;
    if (strncmp(folder, "$ORIGIN", 7) == 0 || strncmp(folder, "${ORIGIN}", 9) == 0)
        return "leads from the place of the runtime's private copy";
    if (folder[0] != '/')
        return "leads from whatever the current directory is";
    if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_mode & S_IWOTH)
        return "can be written to by everybody";
    return NULL;
}

static void check_path(struct adp_trial *trial, const char *tag, const char *path)
{
    for (const char *at = path;; at++) {
        char folder[256];
        size_t n = strcspn(at, ":");
        snprintf(folder, sizeof folder, "%.*s", (int)(n < 255 ? n : 255), at);
        const char *fault = folder_fault(folder);
        if (fault)
            adp_trial_fail(trial, "%s has \"%s\", which %s", tag, folder, fault);
        at += n;
        if (!*at)
            return;
    }
}

void adp_check_has_no_search_path(struct adp_trial *trial)
{
    struct adp_elf elf = open_elf(trial);
    const struct {
        int64_t tag;
        const char *word;
    } tags[] = { { DT_RPATH, "RPATH" }, { DT_RUNPATH, "RUNPATH" } };
    uint64_t value;
    for (size_t k = 0; k < sizeof tags / sizeof tags[0]; k++)
        for (size_t i = 0; adp_elf_dynamic(&elf, tags[k].tag, i, &value); i++) {
            const char *path = adp_elf_text(&elf, value);
            if (path)
                check_path(trial, tags[k].word, path);
        }
}

static bool has_flag(const struct adp_elf *elf, uint64_t flag)
{
    uint64_t flags;
    return adp_elf_dynamic(elf, DT_FLAGS, 0, &flags) && flags & flag;
}

void adp_check_keeps_memory_protected(struct adp_trial *trial)
{
    struct adp_elf elf = open_elf(trial);
    uint64_t value;
    if (adp_elf_dynamic(&elf, DT_TEXTREL, 0, &value) || has_flag(&elf, DF_TEXTREL))
        adp_trial_fail(trial, "it has text relocations: its code is written to when it "
                              "is loaded");
    if (adp_elf_wants_executable_stack(&elf))
        adp_trial_fail(trial, "it makes the stacks of the whole process executable");
}

void adp_check_has_no_static_tls(struct adp_trial *trial)
{
    struct adp_elf elf = open_elf(trial);
    if (has_flag(&elf, DF_STATIC_TLS))
        adp_trial_fail(trial, "it has thread-local variables in static TLS "
                              "(DF_STATIC_TLS), of which a process has little");
}
