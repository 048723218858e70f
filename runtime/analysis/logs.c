/* SPDX-License-Identifier: MIT */
/* From paths to a tally. */
#include "runtime/analysis/logs.h"

#include "runtime/analysis/grow.h"
#include "runtime/analysis/lines.h"
#include "runtime/analysis/page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DEEPEST = 64, /* folders below the one given */
    SNIFF = 16    /* lines that show whether a found file is ours */
};

void adp_logs_finish(struct adp_log_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->paths[i].path);
    free(list->paths);
    adp_index_finish(&list->seen);
    *list = (struct adp_log_list) { 0 };
}

/* ---- finding ------------------------------------------------------------------------
 */

static int add_path(struct adp_log_list *list, const char *path, const struct stat *st,
                    bool found)
{
    bool is_new = true;
    if (st) {
        struct adp_key key = { st->st_dev, st->st_ino };
        uint32_t *at = adp_index_at(&list->seen, key, &is_new);
        if (!at)
            return ADP_ENOMEM;
        *at = 0;
    }
    if (!is_new)
        return 0;
    struct adp_log_path *paths =
        adp_grow(list->paths, &list->cap, list->n + 1, sizeof *paths);
    if (!paths)
        return ADP_ENOMEM;
    list->paths = paths;
    char *name = strdup(path);
    if (!name)
        return ADP_ENOMEM;
    paths[list->n++] = (struct adp_log_path) { name, found, false };
    return 0;
}

static bool skipped(const char *name)
{
    static const char *const names[] = { ".",     "..",         ".git", "node_modules",
                                         ".venv", "__pycache__" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_log(const char *name)
{
    size_t n = strlen(name), k = strlen(".jsonl");
    return n > k && strcmp(name + n - k, ".jsonl") == 0;
}

static int search(struct adp_log_list *list, const char *folder, unsigned depth,
                  struct adp_error *err);

/* One name in a folder. What vanishes or cannot be entered meanwhile is not there. */
static int visit(struct adp_log_list *list, const char *folder, const char *name,
                 unsigned depth, struct adp_error *err)
{
    char *path;
    struct stat st;
    const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    if (asprintf(&path, "%s%s%s", folder, slash, name) < 0)
        return ADP_ENOMEM;
    int e = 0;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        e = search(list, path, depth + 1, err);
    else if (is_log(name) && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        e = add_path(list, path, &st, true);
    free(path);
    return e;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    int c = adp_page_natural((*a)->d_name, (*b)->d_name);
    return c ? c : strcmp((*a)->d_name, (*b)->d_name);
}

static int search(struct adp_log_list *list, const char *folder, unsigned depth,
                  struct adp_error *err)
{
    struct dirent **names;
    int n = depth < DEEPEST ? scandir(folder, &names, NULL, by_name) : -1;
    if (n < 0)
        return depth ? 0
                     : adp_error_at(err, ADP_EIO, folder, 0, 0, "cannot be searched: %s",
                                    strerror(errno));
    int e = 0;
    for (int i = 0; i < n; i++) {
        if (!e && !skipped(names[i]->d_name))
            e = visit(list, folder, names[i]->d_name, depth, err);
        free(names[i]);
    }
    free(names);
    return e;
}

static int by_path(const void *a, const void *b)
{
    const struct adp_log_path *x = a, *y = b;
    int c = adp_page_natural(x->path, y->path);
    return c ? c : strcmp(x->path, y->path);
}

int adp_logs_find(struct adp_log_list *list, const char *path, struct adp_error *err)
{
    struct stat st;
    size_t before = list->n;
    int e;
    if (strcmp(path, "-") == 0) {
        e = add_path(list, path, NULL, false);
    } else if (stat(path, &st)) {
        int code = errno == ENOENT || errno == ENOTDIR ? ADP_ENOENT : ADP_EIO;
        return adp_error_at(err, code, path, 0, 0, "cannot be read: %s", strerror(errno));
    } else if (!S_ISDIR(st.st_mode)) {
        e = add_path(list, path, &st, false);
    } else {
        size_t known = list->seen.n;
        e = search(list, path, 0, err);
        if (!e && list->seen.n == known && list->n == before)
            e = adp_error_at(err, ADP_ENOENT, path, 0, 0, "holds no *.jsonl file");
    }
    if (e)
        return adp_error_set(err, e, "out of memory");
    if (list->n > before)
        qsort(list->paths + before, list->n - before, sizeof *list->paths, by_path);
    return 0;
}

/* ---- reading ------------------------------------------------------------------------
 */

static bool blank(const struct adp_raw_line *line)
{
    for (size_t i = 0; i < line->len; i++)
        if (!strchr(" \t\r", line->text[i]) || !line->text[i])
            return false;
    return !line->too_long;
}

/* 1: the line is ours, 0: it is not, ADP_ENOMEM. */
static int read_line(struct adp_reader *reader, struct adp_tally *tally, uint32_t file,
                     const struct adp_raw_line *line)
{
    struct adp_entry entry;
    enum adp_corrupt corrupt = ADP_CORRUPT_TOO_LONG;
    adp_tally_line(tally, file);
    if (blank(line))
        return 0;
    int read = line->too_long
                   ? 0
                   : adp_reader_line(reader, line->text, line->len, &entry, &corrupt);
    if (read < 0)
        return read;
    /* A last line without its end is counted as that, once; when it is whole all the
     * same, nothing of it can be missing, and what it says counts. */
    if (line->unterminated)
        adp_tally_corrupt(tally, file, ADP_CORRUPT_UNTERMINATED);
    else if (!read)
        adp_tally_corrupt(tally, file, corrupt);
    if (read && adp_tally_add(tally, file, line->offset, &entry))
        return ADP_ENOMEM;
    return read;
}

/* Reads the descriptor to its end, or, when `found`, only until it is clear that the file
 * is not ours: *ret_ours is then false. */
static int read_lines(struct adp_reader *reader, struct adp_lines *lines,
                      struct adp_tally *tally, uint32_t file, bool found, bool *ret_ours,
                      struct adp_error *err)
{
    struct adp_raw_line line;
    size_t ours = 0, others = 0;
    int e;
    while ((e = adp_lines_next(lines, &line, err)) > 0) {
        int read = read_line(reader, tally, file, &line);
        if (read < 0)
            return read;
        ours += (size_t)read;
        others += !read && !blank(&line);
        if (found && !ours && others == SNIFF)
            break;
    }
    *ret_ours = ours || !found || !others;
    return e < 0 ? e : 0;
}

static int read_file(struct adp_log_path *path, struct adp_reader *reader,
                     struct adp_tally *tally, struct adp_error *err)
{
    bool standard = strcmp(path->path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return adp_error_at(err, ADP_EIO, path->path, 0, 0, "cannot be read: %s",
                            strerror(errno));
    struct adp_lines *lines = adp_lines_create(fd);
    struct adp_error why = { 0 };
    uint32_t file;
    bool ours = true;
    int e = ADP_ENOMEM;
    if (lines && !adp_tally_file(tally, path->path, &file))
        e = read_lines(reader, lines, tally, file, path->found, &ours, &why);
    if (e)
        adp_error_at(err, e, path->path, 0, 0, "%s",
                     why.code ? why.text : "out of memory");
    path->foreign = !ours;
    adp_lines_destroy(lines);
    if (!standard)
        close(fd);
    return e;
}

int adp_logs_read(struct adp_log_list *list, size_t from, struct adp_tally *tally,
                  adp_logs_choose *choose, void *context, struct adp_error *err)
{
    struct adp_reader *reader = adp_reader_create();
    int e = reader ? 0 : adp_error_set(err, ADP_ENOMEM, "out of memory");
    for (size_t i = from; i < list->n && !e; i++) {
        struct adp_tally *file = adp_tally_create();
        e = file ? read_file(&list->paths[i], reader, file, err)
                 : adp_error_set(err, ADP_ENOMEM, "out of memory");
        bool wanted = !e && !list->paths[i].foreign && (!choose || choose(file, context));
        if (!wanted)
            adp_tally_destroy(file);
        else if (adp_tally_merge_take(tally, file))
            e = adp_error_set(err, ADP_ENOMEM, "out of memory");
    }
    adp_reader_destroy(reader);
    return e;
}
