/* SPDX-License-Identifier: MIT */
/* A folder of a test's own, with files in it, taken away at the end. Failures are the
 * test's failures. */
#ifndef ADP_TESTS_SCRATCH_H
#define ADP_TESTS_SCRATCH_H

#include <stddef.h>
#include <sys/stat.h>

/* Makes the folder (mode 0700) and returns its absolute path. For tcase fixtures. */
const char *scratch_create(void);
void scratch_destroy(void);

/* Absolute path of a name in the folder; good until eight more were asked for. */
const char *scratch_path(const char *name);
const char *scratch_write(const char *name, const void *bytes, size_t len, mode_t mode);
/* Copies a file into the folder (mode 0644). */
const char *scratch_copy(const char *from, const char *name);
/* A whole file, malloc'd. */
unsigned char *scratch_read(const char *path, size_t *ret_len);

#endif
