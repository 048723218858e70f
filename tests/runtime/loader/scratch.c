/* SPDX-License-Identifier: MIT */
/* A folder of a test's own. */
#include "tests/runtime/loader/scratch.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 1024 };

static char folder[LONGEST / 2];

const char *scratch_create(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/adp-test-XXXXXX",
             tmp && tmp[0] == '/' ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    return folder;
}

/* Folders that a test made may be one level deep. */
static void empty(const char *path)
{
    char child[2 * LONGEST];
    DIR *d = opendir(path);
    if (!d)
        return;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(child, sizeof child, "%s/%s", path, e->d_name);
        if (unlink(child) < 0) {
            empty(child);
            rmdir(child);
        }
    }
    closedir(d);
}

void scratch_destroy(void)
{
    empty(folder);
    ck_assert_int_eq(rmdir(folder), 0);
}

const char *scratch_path(const char *name)
{
    static char paths[8][LONGEST];
    static unsigned next;
    char *path = paths[next++ % 8];
    int n = snprintf(path, LONGEST, "%s/%s", folder, name);
    ck_assert(n > 0 && n < LONGEST);
    return path;
}

const char *scratch_write(const char *name, const void *bytes, size_t len, mode_t mode)
{
    const char *path = scratch_path(name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
    return path;
}

unsigned char *scratch_read(const char *path, size_t *ret_len)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "cannot open %s", path);
    ck_assert_int_eq(fstat(fileno(f), &st), 0);
    size_t len = (size_t)st.st_size;
    unsigned char *bytes = malloc(len ? len : 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, len, f), len);
    fclose(f);
    *ret_len = len;
    return bytes;
}

const char *scratch_copy(const char *from, const char *name)
{
    size_t len;
    unsigned char *bytes = scratch_read(from, &len);
    const char *path = scratch_write(name, bytes, len, 0644);
    free(bytes);
    return path;
}
