/* SPDX-License-Identifier: MIT */
/* The file being read: where its memory comes from and where its mistakes are told.
 * Every part of this room is given one; nothing here outlives the reading but what was
 * allocated in the arena. */
#ifndef ADP_RUNTIME_CONFIG_DOC_H
#define ADP_RUNTIME_CONFIG_DOC_H

#include "runtime/config/arena.h"
#include "runtime/config/config.h"

struct adp_doc {
    const char *file;   /* name in messages */
    const char *folder; /* absolute; what relative plugin paths start from */
    struct adp_arena *arena;
    struct adp_errors *errors;
    bool failed;        /* something was told, whether or not there was room to keep it */
    bool out_of_memory; /* what was read is not whole */
};

/* Tells a mistake. `code`: enum adp_code. */
void adp_doc_error(struct adp_doc *doc, int code, struct adp_place at, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* True when no further mistake would be kept. Looking for the nearest word is what costs
 * most in telling one, and is left out then: a file of nothing but mistakes is refused as
 * quickly as any other. */
bool adp_doc_is_full(const struct adp_doc *doc);

/* Passes on how another room answered: tells `err` as standing at `at`, marks the
 * document when memory ran out. True when `code` is no failure. */
bool adp_doc_passes(struct adp_doc *doc, int code, struct adp_place at,
                    const struct adp_error *err);

/* As adp_arena_alloc; NULL also marks the document out of memory. */
void *adp_doc_alloc(struct adp_doc *doc, size_t size);
/* A NUL-terminated copy of text[0..len), or NULL as above. */
char *adp_doc_copy(struct adp_doc *doc, const char *text, size_t len);
char *adp_doc_print(struct adp_doc *doc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
