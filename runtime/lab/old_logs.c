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
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FIRST_LINE = ADP_LINE_MAX };

/* One of them: its name in an open folder, and its whole path. */
struct old_log {
    const struct adp_old_logs *of;
    int folder;
    const char *name, *path;
};

typedef int each_log(const struct old_log *log, size_t n_kept, struct adp_error *err);

/* r<n>.jsonl */
static bool is_log_name(const char *name)
{
    size_t digits = strspn(name + (name[0] == 'r'), "0123456789");
    return name[0] == 'r' && digits && strcmp(name + 1 + digits, ".jsonl") == 0;
}

static int refuse(const struct old_log *log, const char *what, struct adp_error *err)
{
    return adp_error_at(err, ADP_EINVAL, log->path, 0, 0,
                        "%s, so it is not replaced: expected a %s of experiment \"%s\"; "
                        "move it away or write to another folder",
                        what, log->of->notes ? "replay" : "log", log->of->experiment);
}

static int judge_first_line(const struct old_log *log, const char *line, size_t len,
                            struct adp_error *err)
{
    char what[128];
    const char *begin = log->of->notes ? log->of->notes : "";
    json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    const char *found = json_string_value(json_object_get(object, "experiment"));
    const char *notes = json_string_value(json_object_get(object, "notes"));
    bool named = found && strcmp(found, log->of->experiment) == 0;
    bool noted = strncmp(notes ? notes : "", begin, strlen(begin)) == 0;
    if (named)
        snprintf(what, sizeof what, "is no replay");
    else if (found)
        snprintf(what, sizeof what, "is a log of experiment \"%.64s\"", found);
    else
        snprintf(what, sizeof what, "is not a log of a known experiment");
    json_decref(object);
    return named && noted ? 0 : refuse(log, what, err);
}

static int judge_text(const struct old_log *log, FILE *f, struct adp_error *err)
{
    char *text = malloc(MOST_FIRST_LINE);
    if (!text)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    size_t len = fread(text, 1, MOST_FIRST_LINE, f);
    const char *feed = memchr(text, '\n', len);
    int failed = 0;
    if (ferror(f))
        failed = adp_error_at(err, ADP_EIO, log->path, 0, 0, "cannot read");
    else if (len)
        failed = judge_first_line(log, text, feed ? (size_t)(feed - text) : len, err);
    free(text);
    return failed;
}

/* Whatever its name, or that of a link to it. */
static bool is_input(const struct adp_old_logs *of, const struct stat *st)
{
    struct stat input;
    for (size_t i = 0; i < of->n_inputs; i++)
        if (stat(of->inputs[i], &input) == 0 && input.st_dev == st->st_dev &&
            input.st_ino == st->st_ino)
            return true;
    return false;
}

static int check(const struct old_log *log, size_t n_kept, struct adp_error *err)
{
    struct stat st;
    (void)n_kept;
    /* O_NONBLOCK: a pipe of that name must not hold us up before it is seen to be one. */
    int fd =
        openat(log->folder, log->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno != ELOOP)
        return adp_error_at(err, ADP_EIO, log->path, 0, 0, "cannot open: %s",
                            strerror(errno));
    bool regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    int failed = 0;
    FILE *f = NULL;
    if (!regular)
        failed = refuse(log, "is not a regular file", err);
    else if (is_input(log->of, &st))
        failed = refuse(log, "is a log that is to be read", err);
    else if (!(f = fdopen(fd, "r")))
        failed = adp_error_set(err, ADP_ENOMEM, "out of memory");
    else
        failed = judge_text(log, f, err);
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    return failed;
}

/* r1.jsonl to r<n>.jsonl */
static bool is_kept(const char *name, size_t n_kept)
{
    char kept[32];
    unsigned long n = strtoul(name + 1, NULL, 10);
    snprintf(kept, sizeof kept, "r%lu.jsonl", n);
    return n && n <= n_kept && strcmp(kept, name) == 0;
}

static int erase(const struct old_log *log, size_t n_kept, struct adp_error *err)
{
    if (!is_kept(log->name, n_kept) && unlinkat(log->folder, log->name, 0) != 0 &&
        errno != ENOENT)
        return adp_error_at(err, ADP_EIO, log->path, 0, 0, "cannot remove: %s",
                            strerror(errno));
    return 0;
}

static int walk_policy(const struct adp_old_logs *old, const char *policy, each_log *each,
                       size_t n_kept, struct adp_error *err)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s/%s", old->out, old->experiment, policy);
    if (n < 0 || (size_t)n + 1 + NAME_MAX >= sizeof path)
        return adp_error_at(err, ADP_EINVAL, old->out, 0, 0, "path is too long");
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
        const struct old_log log = { old, dirfd(d), e->d_name, path };
        failed = each(&log, n_kept, err);
    }
    closedir(d);
    return failed;
}

static int walk(const struct adp_old_logs *old, each_log *each, size_t n_kept,
                struct adp_error *err)
{
    int failed = 0;
    for (const char *const *p = old->policies; *p && !failed; p++)
        failed = walk_policy(old, *p, each, n_kept, err);
    return failed;
}

int adp_old_logs_check(const struct adp_old_logs *old, struct adp_error *err)
{
    return walk(old, check, 0, err);
}

int adp_old_logs_remove(const struct adp_old_logs *old, size_t n_kept,
                        struct adp_error *err)
{
    int failed = adp_old_logs_check(old, err);
    return failed ? failed : walk(old, erase, n_kept, err);
}

int adp_old_logs_take_folder(const char *out, const char *experiment, int *ret_fd,
                             struct adp_error *err)
{
    char path[4200];
    int n = snprintf(path, sizeof path, "%s/%s/", out, experiment);
    if (n < 0 || (size_t)n >= sizeof path)
        return adp_error_at(err, ADP_EINVAL, out, 0, 0, "path is too long");
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return adp_error_at(err, ADP_EIO, path, 0, 0, "the folder cannot be made: %s",
                                strerror(errno));
        *slash = '/';
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return adp_error_at(err, ADP_EIO, path, 0, 0, "the folder cannot be opened: %s",
                            strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int code = errno;
        close(fd);
        if (code == EWOULDBLOCK)
            return adp_error_at(
                err, ADP_ESTATE, path, 0, 0,
                "another demo or replay is writing here; wait for it, or name another "
                "folder with -o");
        return adp_error_at(err, ADP_EIO, path, 0, 0, "the folder cannot be locked: %s",
                            strerror(code));
    }
    *ret_fd = fd;
    return 0;
}
