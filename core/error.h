/* SPDX-License-Identifier: MIT */
/* Filling and printing struct adp_error. */
#ifndef ADP_CORE_ERROR_H
#define ADP_CORE_ERROR_H

#include <admitperf/error.h>
#include <stddef.h>

/* Records an error without a place, unless one is recorded already. `err` may be NULL.
 * Returns `code`, so that `return adp_error_set(err, …)` reads well. [any] */
int adp_error_set(struct adp_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As adp_error_set, with a place. `file` may be NULL; line and column 1-based, 0 for
 * none. */
int adp_error_at(struct adp_error *err, int code, const char *file, uint32_t line,
                 uint32_t column, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Writes "file:line:col: text", leaving out what is not known, NUL-terminated and cut to
 * `cap`; of NULL nothing. Control bytes and bytes above 0x7e that foreign input put into
 * it are written as "\xNN", so that an error cannot drive a terminal. Returns the length
 * written. [any] */
size_t adp_error_format(const struct adp_error *err, char *to, size_t cap);

/* The word of `words` (NULL-terminated) nearest to `word`: within 1 edit for words up to
 * 4 bytes, 2 up to 8, 3 above; NULL when none is. Optimal string alignment distance.
 * [any] */
const char *adp_error_nearest(const char *word, const char *const *words);

#endif
