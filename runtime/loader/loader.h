/* SPDX-License-Identifier: MIT */
/* Loading a policy's shared object.
 *
 *  1. The operator's file is never dlopened: a private copy is, in a folder only we can
 * write, removed once it is mapped. Replacing or truncating the file cannot touch running
 * code.
 *  2. What can be refused from the bytes is refused before any of them run: not an ELF
 * file, another machine, no entry symbol, another major, writable by everybody, another
 * sha256.
 *  3. Every refusal names the file, what was expected and what was found.
 *  4. Code is never unmapped (no dlclose). The same bytes are mapped once per process and
 *     shared; at most ADP_LOADER_MAX different files per process. */
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

/* Finds the file: `path` if given, else NAME.so in the folders of $ADMITPERF_PLUGIN_PATH
 * (colon-separated, absolute ones only), then in the installed policy folder. ADP_ENOENT
 * names every place tried, and the nearest name found there. [control] */
int adp_loader_find(const char *name, const char *path, char *ret, size_t cap,
                    struct adp_error *err);

/* Copies, checks, maps and negotiates. `sha256`: expected, or NULL. The result is owned
 * by the caller; the code behind it stays for the life of the process. ADP_ENOENT,
 * ADP_EABI, ADP_EIO, ADP_EFULL, ADP_ENOMEM. [control] */
int adp_loader_load(struct adp_loaded **ret, const char *path, const char *sha256,
                    struct adp_error *err);
void adp_loaded_destroy(struct adp_loaded *loaded);

/* Element i of a declared table, whatever size its elements had when compiled; fields
 * newer than the policy read as 0. */
struct adp_signal adp_loaded_signal(const struct adp_loaded *loaded, uint32_t i);
struct adp_param adp_loaded_param(const struct adp_loaded *loaded, uint32_t i);
struct adp_gate adp_loaded_gate(const struct adp_loaded *loaded, uint32_t i);
struct adp_card adp_loaded_card(const struct adp_loaded *loaded);

/* Everything about the declared tables that does not depend on the configuration: names,
 * words of the card, units, gate slots and ops, parameter bounds, threading, counts. Part
 * of load; public for the checker. */
int adp_loader_check(const struct adp_policy *policy, const char *path,
                     struct adp_error *err);

/* Resolves the policy's signals against a set: slot_of[i] = index in the set. ADP_EABI
 * names an unknown signal (with the nearest known) or a unit that differs. */
int adp_loader_bind(const struct adp_loaded *loaded, const struct adp_signals *set,
                    uint32_t slot_of[ADP_MAX_SIGNALS], struct adp_error *err);

/* The shipped policies' folder, or every folder of the search path: calls `each` with the
 * path of every *.so found, first folder first, each name once. */
void adp_loader_list(void (*each)(void *ctx, const char *path), void *ctx);

#endif
