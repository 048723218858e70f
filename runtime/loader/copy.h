/* SPDX-License-Identifier: MIT */
/* A private copy of a shared object's bytes, under a name that can be dlopened.
 *
 * Why a copy: the dynamic linker maps a file, and whoever overwrites or truncates that
 * file changes or kills running code. Why a name of its own: it hands back what it has
 * mapped under the same name or inode already, so a file replaced under its old name
 * would bring the old code.
 *
 * First choice is an anonymous file in memory (memfd): no folder is needed, a read-only
 * or noexec file system does not matter, nothing is left behind by a crash, and once
 * sealed nobody can change it, ourselves included. Its name, /proc/PID/fd/N, is unique
 * for as long as N stays open, and lets a debugger of the same user read the symbols.
 * Where that is forbidden or /proc is not mounted, a file in a fresh folder of $TMPDIR
 * or /tmp, removed once it is mapped. */
#ifndef ADP_RUNTIME_COPY_H
#define ADP_RUNTIME_COPY_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

enum adp_copy_place { ADP_COPY_MEMORY, ADP_COPY_FOLDER };

struct adp_copy {
    int fd;           /* of ADP_COPY_MEMORY; else -1 */
    char folder[256]; /* of ADP_COPY_FOLDER; else "" */
    char path[320];   /* what to dlopen */
};

/* Writes the copy and sees that it may be executed from there. `path`: the operator's
 * file, for the error. ADP_EIO: this place does not serve, with the reason. [control] */
int adp_copy_create(struct adp_copy *ret, enum adp_copy_place place, const uint8_t *bytes,
                    size_t len, const char *path, struct adp_error *err);

/* Once it is mapped: takes the file's name away, keeps the descriptor of one in memory
 * open for the life of the process. */
void adp_copy_settle(struct adp_copy *copy);
/* When it is not mapped: takes all of it away. */
void adp_copy_discard(struct adp_copy *copy);

#endif
