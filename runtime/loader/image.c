/* SPDX-License-Identifier: MIT */
#include "runtime/loader/image.h"

#include "runtime/loader/table.h"

#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A mapped file's segments. The headers are the linker's, and stay: nothing is unmapped. */
struct image {
    uintptr_t base;
    const ElfW(Phdr) * segment;
    uint32_t n;
};

/* What is being checked. */
struct check {
    struct image image;
    const char *path;
    struct adp_error *err;
    char row[32]; /* "signal 2: ", or "" */
};

/* Bytes from `at` to the end of its segment, if that has all of `flags`; 0: it lies
 * elsewhere. */
static size_t room_at(const struct image *image, uintptr_t at, uint32_t flags)
{
    for (uint32_t i = 0; i < image->n; i++) {
        const ElfW(Phdr) *p = &image->segment[i];
        uintptr_t from = image->base + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags && at >= from &&
            at - from < p->p_memsz)
            return p->p_memsz - (at - from);
    }
    return 0;
}

/* For dl_iterate_phdr, which stops at the first that holds the address. */
struct search {
    uintptr_t at;
    uint32_t flags;
    struct image found;
};

static int find(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct search *search = ctx;
    struct image image = { info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum };
    (void)size;
    if (!room_at(&image, search->at, search->flags))
        return 0;
    search->found = image;
    return 1;
}

static bool mapped_at(struct image *ret, uintptr_t at, uint32_t flags)
{
    struct search search = { .at = at, .flags = flags };
    if (!dl_iterate_phdr(find, &search))
        return false;
    *ret = search.found;
    return true;
}

static int check_text(const struct check *c, const char *field, const char *text)
{
    if (!text)
        return 0;
    size_t room = room_at(&c->image, (uintptr_t)text, PF_R);
    if (!room)
        return adp_error_at(c->err, ADP_EABI, c->path, 0, 0,
                            "%sthe %s lies at %p, outside of the file's memory", c->row,
                            field, (const void *)text);
    if (strnlen(text, room) == room)
        return adp_error_at(c->err, ADP_EABI, c->path, 0, 0,
                            "%sthe %s is not ended by a NUL", c->row, field);
    return 0;
}

static int check_table(const struct check *c, const char *what, const void *table,
                       uint32_t rows, uint16_t size)
{
    if (!table || room_at(&c->image, (uintptr_t)table, PF_R) >= (size_t)rows * size)
        return 0;
    return adp_error_at(c->err, ADP_EABI, c->path, 0, 0,
                        "the table of %s at %p does not lie in the file's memory whole",
                        what, table);
}

static int check_signals(struct check *c, const struct adp_policy *p)
{
    int r = 0;
    if (!p->signals || p->n_signals > ADP_MAX_SIGNALS)
        return 0;
    if ((r = check_table(c, "signals", p->signals, p->n_signals, p->signal_size)) < 0)
        return r;
    for (uint32_t i = 0; r == 0 && i < p->n_signals; i++) {
        struct adp_signal s = adp_table_signal(p, i);
        snprintf(c->row, sizeof c->row, "signal %u: ", i);
        if ((r = check_text(c, "name", s.name)) == 0)
            r = check_text(c, "unit", s.unit);
    }
    c->row[0] = '\0';
    return r;
}

static int check_params(struct check *c, const struct adp_policy *p)
{
    int r = 0;
    if (!p->params || p->n_params > ADP_MAX_PARAMS)
        return 0;
    if ((r = check_table(c, "params", p->params, p->n_params, p->param_size)) < 0)
        return r;
    for (uint32_t i = 0; r == 0 && i < p->n_params; i++) {
        struct adp_param q = adp_table_param(p, i);
        snprintf(c->row, sizeof c->row, "parameter %u: ", i);
        if ((r = check_text(c, "name", q.name)) == 0 &&
            (r = check_text(c, "unit", q.unit)) == 0)
            r = check_text(c, "doc", q.doc);
    }
    c->row[0] = '\0';
    return r;
}

static int check_gates(const struct check *c, const struct adp_policy *p)
{
    if (p->n_gates > ADP_MAX_GATES)
        return 0;
    return check_table(c, "gates", p->gates, p->n_gates, p->gate_size);
}

static int check_card(struct check *c, const struct adp_policy *p)
{
    int r = check_table(c, "the card", p->card, 1, p->card_size);
    if (r < 0)
        return r;
    struct adp_card card = adp_table_card(p);
    struct adp_card_text rows[ADP_CARD_TEXTS];
    adp_card_texts(&card, rows);
    snprintf(c->row, sizeof c->row, "card: ");
    for (size_t i = 0; r == 0 && i < ADP_CARD_TEXTS; i++)
        r = check_text(c, rows[i].key, rows[i].text);
    c->row[0] = '\0';
    return r;
}

static int check_functions(const struct check *c, const struct adp_policy *p)
{
    const struct {
        const char *name;
        uintptr_t at;
    } rows[] = {
        { "create", (uintptr_t)p->create }, { "destroy", (uintptr_t)p->destroy },
        { "decide", (uintptr_t)p->decide }, { "outcome", (uintptr_t)p->outcome },
        { "save", (uintptr_t)p->save },     { "extension", (uintptr_t)p->extension },
    };
    struct image anywhere;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].at && !mapped_at(&anywhere, rows[i].at, PF_X))
            return adp_error_at(c->err, ADP_EABI, c->path, 0, 0,
                                "%s is at 0x%llx, where no code is mapped", rows[i].name,
                                (unsigned long long)rows[i].at);
    return 0;
}

int adp_image_check(const struct adp_policy *entry, const struct adp_policy *policy,
                    const char *path, struct adp_error *err)
{
    struct check c = { .path = path, .err = err };
    int r;
    if (!mapped_at(&c.image, (uintptr_t)entry, PF_R))
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "the entry is at %p, in no file that is mapped",
                            (const void *)entry);
    if ((r = check_text(&c, "name", policy->name)) < 0 ||
        (r = check_text(&c, "version", policy->version)) < 0 ||
        (r = check_text(&c, "doc", policy->doc)) < 0 ||
        (r = check_signals(&c, policy)) < 0 || (r = check_params(&c, policy)) < 0 ||
        (r = check_gates(&c, policy)) < 0 || (r = check_card(&c, policy)) < 0)
        return r;
    return check_functions(&c, policy);
}
