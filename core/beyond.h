/* SPDX-License-Identifier: MIT */
/* What a runtime needs of whatever outlives its process. The host asks it, a supervisor's worker
 * answers it (runtime/supervise/worker.h), and neither room knows the other. */
#ifndef ADP_CORE_BEYOND_H
#define ADP_CORE_BEYOND_H

#include "core/log.h"
#include "core/region.h"

/* What outlives this process: a region that somebody else drains, and what policies saved
 * into it. The functions are called by [control] calls of the runtime, with `ctx`. A key is a
 * policy's name, with "#2" behind it for the second of that name; or "#" and a word. */
struct adp_beyond {
    struct adp_region *region; /* as another writer left it, or fresh */
    bool recording;
    void *ctx;
    /* What was saved under a key, and when, mono; NULL: nothing. Used until the call ends. */
    const void *(*saved)(void *ctx, const char *key, size_t *ret_len,
                         uint64_t *ret_saved_ns);
    /* Whether the policy is not to be created and not to be asked, until a reload. */
    bool (*quarantined)(void *ctx, const char *key);
    /* The keys of a generation's policies, before it is in force. */
    void (*policies)(void *ctx, uint32_t generation, const char *const *keys, uint32_t n);
    /* A place for `cap` bytes to be saved under a key, NULL: none; and how many were. */
    void *(*save_begin)(void *ctx, const char *key, size_t cap);
    void (*save_end)(void *ctx, size_t len, uint64_t now_ns);
    /* Around create, save and destroy; NULL: over. */
    void (*within)(void *ctx, const char *key, uint64_t now_ns);
    /* Has the log go elsewhere from now on (path, rotation, keep), or only tries whether it
     * could. NULL: it cannot. */
    int (*move_log)(void *ctx, const struct adp_log_options *log, bool only_try,
                    struct adp_error *err);
};

#endif
