/* SPDX-License-Identifier: MIT */
/* What a process has that a policy may not change: how numbers are rounded, what happens on
 * signals, locale, folder, umask, environment, descriptors, threads, and what settings.h lists. */
#ifndef ADP_RUNTIME_CHECK_PROCESS_H
#define ADP_RUNTIME_CHECK_PROCESS_H

#include "runtime/check/settings.h"

#include <locale.h>
#include <signal.h>
#include <sys/types.h>

enum { ADP_PROCESS_FDS = 1024, ADP_PROCESS_ENV = 1 << 16 };

struct adp_descriptor {
    char path[64]; /* "": not open */
    dev_t dev;
    ino_t ino;
    int file_flags, flags; /* O_NONBLOCK and its kin; FD_CLOEXEC */
    off_t bytes;           /* of a regular file */
};

/* Large: not for a stack. */
struct adp_process {
    uint64_t fpu; /* control bits of the floating-point unit */
    int rounding;
    struct sigaction signals[NSIG];
    sigset_t blocked;
    char locale[512], folder[1024];
    locale_t thread_locale; /* uselocale's, of this thread */
    mode_t umask;
    size_t environment_bytes;
    uint32_t threads, n_fds; /* no descriptor is n_fds or above */
    char environment[ADP_PROCESS_ENV];
    struct adp_descriptor fds[ADP_PROCESS_FDS];
    struct adp_settings settings;
};

/* Rounding, traps, whether small numbers are flushed to 0, and x87 registers in use, of this
 * thread. */
uint64_t adp_process_fpu(void);
/* How many there are in this folder, "." and ".." too; 0: it cannot be read. */
uint32_t adp_process_entries(const char *folder);
/* Signals, locale, umask and folder as no policy would set them: whatever it sets then is a
 * change. Before the first look, and before handlers of one's own; `folder` is where it goes. */
void adp_process_set_odd(const char *folder);
/* Descriptors that are open as a host has some: whatever closes or changes them is seen. After
 * the fence, which closes what it finds. */
void adp_process_open_odd(void);
/* This thread blocks the signals that adp_process_set_odd leaves open, but for what a process
 * cannot do without, and lets through what that blocks. Twice: as before. */
void adp_process_block_others(void);
void adp_process_read(struct adp_process *ret);
/* Ends the check when the two differ: "<what> changed the umask: ...". Of descriptors those that
 * were open before. */
void adp_process_compare(struct adp_trial *trial, const char *what,
                         const struct adp_process *before,
                         const struct adp_process *after);
/* The same of what was made: descriptors, threads, memory that is locked. One file in
 * memory may be new, the loader's copy. */
void adp_process_compare_made(struct adp_trial *trial, const char *what,
                              const struct adp_process *before,
                              const struct adp_process *after);

#endif
