/* SPDX-License-Identifier: MIT */
/* Making room for new logs without touching anybody else's. */
#include "runtime/lab/old_logs.h"

#include "runtime/analysis/lines.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FIRST_LINE = ADP_LINE_MAX };

typedef int each_log(int folder, const char *name, const char *path,
                     const char *experiment, struct adp_error *err);

/* r<n>.jsonl */
static bool is_log_name(const char *name)
{
    size_t digits = strspn(name + (name[0] == 'r'), "0123456789");
    return name[0] == 'r' && digits && strcmp(name + 1 + digits, ".jsonl") == 0;
}

static int refuse(const char *path, const char *experiment, const char *what,
                  struct adp_error *err)
{
    return adp_error_at(err, ADP_EINVAL, path, 0, 0,
                        "%s, so it is not replaced: expected a log of experiment \"%s\"; "
                        "move it away or write to another folder",
                        what, experiment);
}

static int judge_first_line(const char *line, size_t len, const char *path,
                            const char *experiment, struct adp_error *err)
{
    char what[128];
    json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    const char *found = json_string_value(json_object_get(object, "experiment"));
    bool ours = found && strcmp(found, experiment) == 0;
    if (found)
        snprintf(what, sizeof what, "is a log of experiment \"%.64s\"", found);
    else
        snprintf(what, sizeof what, "is not a log of a known experiment");
    json_decref(object);
    return ours ? 0 : refuse(path, experiment, what, err);
}

static int check(int folder, const char *name, const char *path, const char *experiment,
                 struct adp_error *err)
{
    struct stat st;
    /* O_NONBLOCK: a pipe of that name must not hold us up before it is seen to be one. */
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno != ELOOP)
        return adp_error_at(err, ADP_EIO, path, 0, 0, "cannot open: %s", strerror(errno));
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return refuse(path, experiment, "is not a regular file", err);
    }
    FILE *f = fdopen(fd, "r");
    char *text = f ? malloc(MOST_FIRST_LINE) : NULL;
    int failed = 0;
    if (!text) {
        failed = adp_error_set(err, ADP_ENOMEM, "out of memory");
    } else {
        size_t len = fread(text, 1, MOST_FIRST_LINE, f);
        const char *feed = memchr(text, '\n', len);
        if (ferror(f))
            failed = adp_error_at(err, ADP_EIO, path, 0, 0, "cannot read");
        else if (len)
            failed = judge_first_line(text, feed ? (size_t)(feed - text) : len, path,
                                      experiment, err);
    }
    free(text);
    if (f)
        fclose(f);
    else
        close(fd);
    return failed;
}

static int erase(int folder, const char *name, const char *path, const char *experiment,
                 struct adp_error *err)
{
    (void)experiment;
    if (unlinkat(folder, name, 0) != 0 && errno != ENOENT)
        return adp_error_at(err, ADP_EIO, path, 0, 0, "cannot remove: %s",
                            strerror(errno));
    return 0;
}

static int walk(each_log *each, const char *out, const char *experiment,
                const char *policy, struct adp_error *err)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s/%s", out, experiment, policy);
    if (n < 0 || (size_t)n + 1 + NAME_MAX >= sizeof path)
        return adp_error_at(err, ADP_EINVAL, out, 0, 0, "path is too long");
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? 0
                               : adp_error_at(err, ADP_EIO, path, 0, 0, "cannot open: %s",
                                              strerror(errno));
    int failed = 0;
    for (struct dirent *e = readdir(d); e && !failed; e = readdir(d)) {
        if (!is_log_name(e->d_name))
            continue;
        snprintf(path + n, sizeof path - (size_t)n, "/%s", e->d_name);
        failed = each(dirfd(d), e->d_name, path, experiment, err);
    }
    closedir(d);
    return failed;
}

int adp_old_logs_remove(const char *out, const char *experiment,
                        const char *const *policies, struct adp_error *err)
{
    each_log *const passes[] = { check, erase };
    for (int pass = 0; pass < 2; pass++) {
        for (const char *const *p = policies; *p; p++) {
            int failed = walk(passes[pass], out, experiment, *p, err);
            if (failed)
                return failed;
        }
    }
    return 0;
}
