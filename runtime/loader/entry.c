/* SPDX-License-Identifier: MIT */
/* The entry object of a policy. */
#include "runtime/loader/entry.h"

#include "runtime/loader/elf.h"

#include <stdio.h>
#include <string.h>

#define ENTRY_PREFIX "admitperf_policy_v"
#define MAJOR        1 /* the one in ADP_POLICY_SYMBOL */

/* Sizes at minor 0 of the major: what every policy of it has at least. */
enum {
    POLICY_SIZE = 152,
    SIGNAL_SIZE = 24,
    PARAM_SIZE = 56,
    GATE_SIZE = 16,
    CARD_SIZE = 80
};

/* What a look through the exported names found. */
struct found {
    bool entry, undefined, function, other;
    struct adp_elf_symbol symbol; /* `entry` */
    char majors[64];              /* objects of other majors: "1, 2" */
    char near[64];                /* the exported name that is nearest, or "" */
    size_t n_exported;
};

static void note_major(struct found *found, const char *major)
{
    size_t n = strlen(found->majors);
    snprintf(found->majors + n, sizeof found->majors - n, "%s%s", n ? ", " : "", major);
}

/* "12" of "admitperf_policy_v12"; NULL for any other name. */
static const char *major_of(const char *name)
{
    size_t n = strlen(ENTRY_PREFIX);
    if (strncmp(name, ENTRY_PREFIX, n) != 0 || !name[n] ||
        strspn(name + n, "0123456789") != strlen(name + n))
        return NULL;
    return name + n;
}

static void note(struct found *found, const struct adp_elf_symbol *s)
{
    const char *major = major_of(s->name);
    if (strcmp(s->name, ADP_POLICY_SYMBOL) == 0) {
        found->entry = s->defined && s->object;
        found->undefined = !s->defined;
        found->function = s->defined && s->function;
        found->other = s->defined && !s->object && !s->function;
        found->symbol = *s;
        return;
    }
    if (!s->defined)
        return;
    found->n_exported++;
    if (major && s->object)
        note_major(found, major);
    const char *const candidates[] = { s->name, NULL };
    if (!found->near[0] && (strncmp(s->name, "admitperf", strlen("admitperf")) == 0 ||
                            adp_error_nearest(ADP_POLICY_SYMBOL, candidates)))
        snprintf(found->near, sizeof found->near, "%s", s->name);
}

static int refuse(const struct found *found, const char *path, struct adp_error *err)
{
    if (found->undefined)
        return adp_error_at(err, ADP_EABI, path, 0, 0, "uses %s but does not define it",
                            ADP_POLICY_SYMBOL);
    if (found->function || found->other)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "exports %s as %s, expected a constant object of type "
                            "adp_policy",
                            ADP_POLICY_SYMBOL,
                            found->function ? "a function" : "neither data nor code");
    if (found->majors[0])
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "is written for major %s of the policy ABI, this host speaks "
                            "major %d",
                            found->majors, MAJOR);
    if (found->near[0])
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "exports no object %s; nearest is %s", ADP_POLICY_SYMBOL,
                            found->near);
    return adp_error_at(err, ADP_EABI, path, 0, 0,
                        "exports no object %s, nor a name like it among its %zu",
                        ADP_POLICY_SYMBOL, found->n_exported);
}

int adp_entry_examine(const uint8_t *bytes, size_t len, const char *path,
                      uint64_t *ret_room, struct adp_error *err)
{
    struct adp_elf elf;
    int r = adp_elf_open(&elf, bytes, len, path, err);
    if (r < 0)
        return r;
    struct found found = { 0 };
    struct adp_elf_symbol s;
    for (size_t i = 0; i < elf.n_symbols && !found.entry; i++)
        if (adp_elf_symbol(&elf, i, &s))
            note(&found, &s);
    if (!found.entry)
        return refuse(&found, path, err);

    struct adp_policy head = { 0 };
    size_t want = found.symbol.size < sizeof head ? found.symbol.size : sizeof head;
    if (!adp_elf_read(&elf, found.symbol.address, &head, want))
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "has no initial value for %s, expected a constant object",
                            ADP_POLICY_SYMBOL);
    r = adp_entry_check_head(&head, found.symbol.size, path, err);
    if (r == 0)
        *ret_room = found.symbol.size;
    return r;
}

static int check_element(const char *what, uint32_t size, uint32_t least,
                         const char *path, struct adp_error *err)
{
    if (size < least || size % sizeof(uint64_t) != 0)
        return adp_error_at(
            err, ADP_EABI, path, 0, 0,
            "has the wrong size: %s is %u bytes, expected at least %u and "
            "a multiple of 8",
            what, size, least);
    return 0;
}

int adp_entry_check_head(const struct adp_policy *head, uint64_t room, const char *path,
                         struct adp_error *err)
{
    /* A head too short for magic and size reads as zeroes: wrong magic. */
    if (head->magic != ADP_MAGIC)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "has the wrong magic 0x%08x, expected 0x%08x (\"ADP1\")",
                            head->magic, ADP_MAGIC);
    int r = check_element("adp_policy", head->size, POLICY_SIZE, path, err);
    if (r < 0)
        return r;
    if (head->size > room)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "has the wrong size: adp_policy says %u bytes, its symbol "
                            "holds %llu",
                            head->size, (unsigned long long)room);
    if (head->min_host_minor > ADP_ABI_MINOR)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "needs a newer host: one of minor %u of major %d or later, "
                            "this host speaks minor %d; compile it with "
                            "-DADP_ABI_MINOR=%d to run here",
                            head->min_host_minor, MAJOR, ADP_ABI_MINOR, ADP_ABI_MINOR);
    if (head->min_host_minor > head->abi_minor)
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "asks for hosts of minor %u though compiled against minor %u",
                            head->min_host_minor, head->abi_minor);
    if ((r = check_element("adp_signal", head->signal_size, SIGNAL_SIZE, path, err)) <
            0 ||
        (r = check_element("adp_param", head->param_size, PARAM_SIZE, path, err)) < 0 ||
        (r = check_element("adp_gate", head->gate_size, GATE_SIZE, path, err)) < 0 ||
        (r = check_element("adp_card", head->card_size, CARD_SIZE, path, err)) < 0)
        return r;
    return 0;
}
