/* SPDX-License-Identifier: MIT */
/* Reading a shared object's exported names from its bytes, without running any of it.
 *
 *  1. The bytes are hostile: every offset is held against the length before it is used,
 *     and the work is linear in the length.
 *  2. It is read as the dynamic linker reads it, through the program headers and the
 *     dynamic section. Section headers are for tools, and may be absent or lie.
 *  3. It knows nothing of policies (entry.h). */
#ifndef ADP_RUNTIME_ELF_H
#define ADP_RUNTIME_ELF_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADP_ELF_NAME 255u /* longest name read; longer ones are passed over */

/* Offsets into `bytes`, checked by adp_elf_open. */
struct adp_elf {
    const uint8_t *bytes; /* borrowed */
    size_t len;
    size_t segments; /* program headers */
    uint32_t n_segments;
    size_t symbols, names;
    size_t n_symbols, names_len;
    size_t dynamic, dynamic_len; /* the dynamic section */
};

struct adp_elf_symbol {
    const char *name; /* in the file's bytes, NUL-terminated, at most ADP_ELF_NAME */
    uint64_t address, size;
    bool defined;  /* false: named, but expected from elsewhere */
    bool object;   /* initialised or zeroed data */
    bool function; /* neither: thread-local, untyped, … */
    bool unique;   /* STB_GNU_UNIQUE: one for all files of the process */
};

/* Checks that `bytes` are a 64-bit little-endian shared object for this machine and finds
 * its symbol table. ADP_EABI, with `path` as the error's file. `ret` borrows `bytes`.
 * [any] */
int adp_elf_open(struct adp_elf *ret, const uint8_t *bytes, size_t len, const char *path,
                 struct adp_error *err);

/* Symbol i, 0 <= i < n_symbols. False: local, unnamed, or its name is out of bounds. */
bool adp_elf_symbol(const struct adp_elf *elf, size_t i, struct adp_elf_symbol *ret);

/* Copies `size` bytes as they lie in the file at an address, before relocation. False:
 * they are not all in the file (zeroed data, or nowhere). */
bool adp_elf_read(const struct adp_elf *elf, uint64_t address, void *to, size_t size);

/* Value of the nth entry (from 0) of a DT_… tag. False: there are no more. [any] */
bool adp_elf_dynamic(const struct adp_elf *elf, int64_t tag, size_t nth, uint64_t *ret);
/* The text that such a value of DT_NEEDED, DT_RPATH, DT_RUNPATH stands for, in the file's
 * bytes; NULL when it is out of bounds. [any] */
const char *adp_elf_text(const struct adp_elf *elf, uint64_t value);
/* Whether mapping it makes the stack executable: it says so, or says nothing. [any] */
bool adp_elf_wants_executable_stack(const struct adp_elf *elf);

#endif
