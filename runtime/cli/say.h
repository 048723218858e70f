/* SPDX-License-Identifier: MIT */
/* What goes to stderr, words for a shell, and whether a terminal is there to see it in colour. */
#ifndef ADP_RUNTIME_CLI_SAY_H
#define ADP_RUNTIME_CLI_SAY_H

#include <admitperf/runtime.h>

#include <stdbool.h>
#include <stdio.h>

/* "admitperf: TEXT" and a line feed on stderr; adp_say_plain leaves the name out. Foreign
 * bytes in it cannot drive a terminal, and what looks like an address is shown without its
 * secrets (core/veil.h). */
void adp_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void adp_say_plain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "admitperf: file:line:col: text". */
void adp_say_error(const struct adp_error *err);
void adp_say_errors(const struct adp_errors *errors);

/* Writes `word` to `to` so that a shell reads it as one word. */
void adp_say_word(FILE *to, const char *word);
/* As that, of a path to a command that follows: -a as ./-a, which is no option. */
void adp_say_path(FILE *to, const char *path);

/* `stream` is a terminal that may be written to in colour: neither NO_COLOR is set (to
 * anything but "", https://no-color.org) nor TERM is dumb. */
bool adp_say_colour(FILE *stream);

#endif
