/* SPDX-License-Identifier: MIT */
/* Loading a policy's shared object (docs/abi.md has the steps and every refusal).
 *
 *  1. The operator's file is never dlopened: a private copy is, that nobody can change
 *     any more (copy.h). Replacing or truncating the file cannot touch running code.
 *  2. What can be refused from the bytes is refused before any of them run: not an ELF
 *     file, another machine, no entry symbol, another major, a newer minor, writable by
 *     everybody, another sha256.
 *  3. Every refusal names the file (the error's `file`), what was found and what was
 *     expected.
 *  4. Code is never unmapped (no dlclose). The same bytes are mapped once per process and
 *     shared; at most ADP_LOADER_MAX different files per process.
 *  5. No code of the policy is called here. Its constructors, if it has any, run when it
 *     is mapped.
 *
 * The room: file.c reads, elf.c and entry.c look before anything runs, copy.c makes the
 * copy, loader.c maps, image.c sees where the declared pointers lead, check.c holds the
 * declared tables against the contract, declared.c carries them to another process, bind.c
 * resolves signals, find.c finds files by name. Parameter values are the host's. */
#ifndef ADP_RUNTIME_LOADER_H
#define ADP_RUNTIME_LOADER_H

#include "core/error.h"
#include "core/signal.h"

#include <admitperf/policy.h>
#include <stdbool.h>

#define ADP_LOADER_MAX       64u
#define ADP_LOADER_MAX_BYTES (64u << 20)

struct adp_loaded {
    /* Our copy of the head, zero-filled past what the policy's minor knew. Tables behind
     * it are the policy's, walked with the element sizes of the head. */
    struct adp_policy policy;
    char sha256[65];
    char path[1024]; /* the operator's file, absolute */
    bool baseline;   /* the card's flag */
};

/* Finds the file. `path`, if given, is absolute and is looked at as it is. Else NAME.so
 * is looked for in the folders of $ADMITPERF_PLUGIN_PATH (colon-separated; relative ones
 * are passed over, and said so), then, when the program that runs lies in its build tree
 * (BUILD/runtime/cli), in BUILD/plugins/.libs, then in the installed policy folder.
 * ADP_ENOENT names every place tried and the nearest name there; ADP_EINVAL: `name` is no
 * policy's name, or `path` is relative. `ret` is untouched on failure. [control] */
int adp_loader_find(const char *name, const char *path, char *ret, size_t cap,
                    struct adp_error *err);

/* Calls `each` with the path of every NAME.so on that search path: first folder first,
 * by name within a folder, each name once (what adp_loader_find would give). Nothing is
 * opened. ADP_ENOMEM. [control] */
int adp_loader_list(void (*each)(void *ctx, const char *path), void *ctx,
                    struct adp_error *err);

/* Copies, checks, maps and negotiates. `path` is absolute. `sha256`: expected, 64
 * lower-case hexadecimal digits, or NULL. The result is owned by the caller; the code
 * behind it stays for the life of the process. ADP_ENOENT; ADP_EABI: every refusal of the
 * file; ADP_EFULL: longer than ADP_LOADER_MAX_BYTES, or ADP_LOADER_MAX files are mapped;
 * ADP_EINVAL, ADP_EIO, ADP_ENOMEM. Any thread; loads wait for one another. [control] */
int adp_loader_load(struct adp_loaded **ret, const char *path, const char *sha256,
                    struct adp_error *err);
void adp_loaded_destroy(struct adp_loaded *loaded);

/* As adp_loader_load, up to the sound head: the declared tables are not looked at yet.
 * For the checker, which tells a file that cannot be mapped from one that declares
 * nonsense. *ret is the entry where it lies, for the life of the process. [control] */
int adp_loader_map(const struct adp_policy **ret, const char *path, const char *sha256,
                   struct adp_error *err);

/* Row i of a declared table, whatever size it had when compiled; fields newer than the
 * policy read as 0. `i` is below the policy's count. [any] */
struct adp_signal adp_loaded_signal(const struct adp_loaded *loaded, uint32_t i);
struct adp_param adp_loaded_param(const struct adp_loaded *loaded, uint32_t i);
struct adp_gate adp_loaded_gate(const struct adp_loaded *loaded, uint32_t i);
/* All NULL where the policy has no card. */
struct adp_card adp_loaded_card(const struct adp_loaded *loaded);

/* Everything about the declared tables that does not depend on the configuration: names,
 * words of the card, units, gate slots and ops, parameter bounds, threading, counts. Part
 * of load; public for the checker. The head is sound already, and its pointers may be
 * followed (image.h). ADP_EABI. [any] */
int adp_loader_check(const struct adp_policy *policy, const char *path,
                     struct adp_error *err);

/* Resolves the policy's signals against a set: slot_of[i] = index in the set, untouched
 * on failure. ADP_EABI names an unknown signal (with the nearest known) or a unit that
 * differs. [any] */
int adp_loader_bind(const struct adp_loaded *loaded, const struct adp_signals *set,
                    uint32_t slot_of[ADP_MAX_SIGNALS], struct adp_error *err);

#endif
