/* SPDX-License-Identifier: MIT */
/* A part of the tree as JSON: what a policy's create and every line of the log are given.
 *
 * Compact, ASCII, keys in the order written. Plain scalars that are numbers, true, false
 * or nothing (null) by YAML 1.2's core schema are that in JSON, everything else is a
 * string. Written with core/line.h and not with jansson, which prints 0.9 as
 * 0.90000000000000002: a number that nobody wrote. */
#ifndef ADP_RUNTIME_CONFIG_JSON_H
#define ADP_RUNTIME_CONFIG_JSON_H

#include "runtime/config/tree.h"

/* NULL: out of memory, marked. A number that JSON does not know (.inf, .nan) is told. */
const char *adp_json_of(struct adp_doc *doc, const struct adp_node *node);

#endif
