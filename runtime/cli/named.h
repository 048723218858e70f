/* SPDX-License-Identifier: MIT */
/* A policy as it is named on a command line: NAME[:PARAM=VALUE,…], where NAME is a shipped
 * policy's or, with a '/' in it, a file's path. */
#ifndef ADP_RUNTIME_CLI_NAMED_H
#define ADP_RUNTIME_CLI_NAMED_H

#include "runtime/config/config.h"

enum { ADP_NAMED_TEXT = 2048 };

struct adp_named {
    struct adp_policy_setting setting; /* points into what follows: do not move */
    struct adp_param_setting params[ADP_MAX_PARAMS];
    char text[ADP_NAMED_TEXT];    /* as written, taken apart */
    char written[ADP_NAMED_TEXT]; /* values as messages have them */
    char path[ADP_CONFIG_MAX_PATH + 1];
};

/* Reads the whole of `text`. Names and values of parameters are held against the policy's
 * schema by the host, as those of a file are. `number`: which one it is; the places in the
 * setting carry it, for adp_named_errors. ADP_EINVAL: err says what is wrong. [any] */
int adp_named_read(struct adp_named *ret, const char *text, uint32_t number,
                   struct adp_error *err);

/* Errors that stand at such a place are of the command line: "--policy TEXT" becomes their
 * file. `texts` are the texts by number. */
void adp_named_errors(struct adp_errors *errors, const char *const *texts, uint32_t n);

/* Whether a policy's word alone is a path: with a '/' in it, or .so at its end. [any] */
bool adp_named_is_path(const char *word);

/* The file that such a word means, absolute: a path from here, else a name to be looked for as
 * `use: NAME` is. ADP_ENOENT, ADP_EINVAL, ADP_EIO. [any] */
int adp_named_file(const char *word, char *to, size_t cap, struct adp_error *err);

#endif
