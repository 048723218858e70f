/* SPDX-License-Identifier: MIT */
/* The texts in runtime/cli/templates, as they are in the program: embed.awk makes them
 * C when it is built, so that what is installed needs no folder of its own. In a text,
 * @NAME@ stands for the policy's name and @EXT@ for the end of its source's. */
#ifndef ADP_RUNTIME_CLI_TEMPLATES_H
#define ADP_RUNTIME_CLI_TEMPLATES_H

struct adp_template {
    const char *name; /* of the file in runtime/cli/templates */
    const char *text;
};

/* Ends with a NULL name. */
extern const struct adp_template adp_templates[];

#endif
