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
    for (size_t i = 0; i < list->n_unread; i++) {
        free(list->unread[i].path);
        free(list->unread[i].why);
    }
    free(list->paths);
    free(list->unread);
    adp_index_finish(&list->seen);
    adp_index_finish(&list->noted);
    *list = (struct adp_log_list) { 0 };
}

/* ---- finding ------------------------------------------------------------------------
 */

/* Room for one more path. `st` NULL: it is no file that could be met again. */
static int add_path(struct adp_log_list *list, const char *path, const struct stat *st,
                    bool found)
{
    struct adp_log_path *paths =
        adp_grow(list->paths, &list->cap, list->n + 1, sizeof *paths);
    if (!paths)
        return ADP_ENOMEM;
    list->paths = paths;
    struct adp_log_path new = { .found = found,
                                .given = list->finds,
                                .file = ADP_NO_RUN };
    if (st) {
        bool is_new;
        new.key = (struct adp_key) { st->st_dev, st->st_ino };
        uint32_t *at = adp_index_at(&list->seen, new.key, &is_new);
        if (!at)
            return ADP_ENOMEM;
        if (!is_new) {
            paths[*at].given = list->finds;
            return 0;
        }
        *at = (uint32_t)list->n;
    }
    new.path = strdup(path);
    if (!new.path)
        return ADP_ENOMEM;
    paths[list->n++] = new;
    return 0;
}

/* Notes that `path` is passed over, once. */
static int pass_over(struct adp_log_list *list, const char *path, const char *why)
{
    struct adp_key key = { adp_text_hash((struct adp_text) { path, strlen(path) }), 0 };
    struct adp_log_unread *all =
        adp_grow(list->unread, &list->cap_unread, list->n_unread + 1, sizeof *all);
    if (!all)
        return ADP_ENOMEM;
    list->unread = all;
    uint32_t *known = adp_index_find(&list->noted, key);
    if (known) {
        all[*known].given = list->finds;
        return 0;
    }
    bool is_new;
    struct adp_log_unread unread = { strdup(path), strdup(why), list->finds };
    uint32_t *at =
        unread.path && unread.why ? adp_index_at(&list->noted, key, &is_new) : NULL;
    if (!at) {
        free(unread.path);
        free(unread.why);
        return ADP_ENOMEM;
    }
    *at = (uint32_t)list->n_unread;
    all[list->n_unread++] = unread;
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

/* What bears the name of a log: is it one? `st` is of what the name leads to. */
static int visit_log(struct adp_log_list *list, const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return pass_over(list, path,
                         errno == ENOENT ? "a link to nothing" : strerror(errno));
    if (S_ISREG(st.st_mode))
        return add_path(list, path, &st, true);
    return pass_over(list, path,
                     S_ISDIR(st.st_mode)    ? "a link to a folder: such are not followed"
                     : S_ISFIFO(st.st_mode) ? "a pipe, not a file"
                                            : "not a file");
}

/* One name in a folder. What vanishes meanwhile is not there. */
static int visit(struct adp_log_list *list, const char *folder, const char *name,
                 unsigned depth, struct adp_error *err)
{
    char *path;
    struct stat st;
    const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    if (asprintf(&path, "%s%s%s", folder, slash, name) < 0)
        return ADP_ENOMEM;
    int e = 0;
    if (lstat(path, &st))
        e = errno == ENOENT ? 0 : pass_over(list, folder, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        e = search(list, path, depth + 1, err);
    else if (is_log(name))
        e = visit_log(list, path);
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
    if (depth == DEEPEST)
        return pass_over(list, folder, "too many folders deep");
    int n = scandir(folder, &names, NULL, by_name);
    if (n < 0 && errno == ENOMEM)
        return ADP_ENOMEM;
    if (n < 0 && depth)
        return errno == ENOENT ? 0 : pass_over(list, folder, strerror(errno));
    if (n < 0)
        return adp_error_at(err, ADP_EIO, folder, 0, 0, "cannot be searched: %s",
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

/* Did the newest find come upon anything, new or not, readable or not? */
static bool came_upon(const struct adp_log_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->paths[i].given == list->finds)
            return true;
    for (size_t i = 0; i < list->n_unread; i++)
        if (list->unread[i].given == list->finds)
            return true;
    return false;
}

/* Orders the paths from `from` on, and says in `seen` where they stand now. */
static void order(struct adp_log_list *list, size_t from)
{
    if (list->n > from)
        qsort(list->paths + from, list->n - from, sizeof *list->paths, by_path);
    for (size_t i = from; i < list->n; i++) {
        uint32_t *at = adp_index_find(&list->seen, list->paths[i].key);
        if (at)
            *at = (uint32_t)i;
    }
}

int adp_logs_find(struct adp_log_list *list, const char *path, struct adp_error *err)
{
    struct stat st;
    size_t before = list->n;
    int e;
    list->finds++;
    if (!*path)
        return adp_error_at(err, ADP_ENOENT, "\"\"", 0, 0, "an empty path names no log");
    if (strcmp(path, "-") == 0) {
        e = add_path(list, path, NULL, false);
    } else if (stat(path, &st)) {
        int code = errno == ENOENT || errno == ENOTDIR ? ADP_ENOENT : ADP_EIO;
        return adp_error_at(err, code, path, 0, 0, "cannot be read: %s", strerror(errno));
    } else if (!S_ISDIR(st.st_mode)) {
        e = add_path(list, path, &st, false);
    } else {
        e = search(list, path, 0, err);
        if (!e && !came_upon(list))
            e = adp_error_at(err, ADP_ENOENT, path, 0, 0, "holds no *.jsonl file");
    }
    if (e)
        return adp_error_set(err, e, "out of memory");
    order(list, before);
    return 0;
}

int adp_logs_any(const struct adp_log_list *list, uint32_t given, struct adp_error *err)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->paths[i].read && list->paths[i].given >= given)
            return 0;
    for (size_t i = 0; i < list->n_unread; i++)
        if (list->unread[i].given >= given)
            return adp_error_at(err, ADP_EIO, list->unread[i].path, 0, 0,
                                "%s; nothing else is there to read", list->unread[i].why);
    return 0;
}

void adp_logs_unread(const struct adp_log_list *list, FILE *to)
{
    for (size_t i = 0; i < list->n_unread; i++)
        adp_page_put(to, "not read: %s: %s\n", list->unread[i].path, list->unread[i].why);
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

/* By the first bytes: NULL, or what the way out is. */
static const char *unpacker(const struct adp_raw_line *line)
{
    static const struct {
        char magic[5];
        size_t len;
        const char *with;
    } kinds[] = { { "\x1f\x8b", 2, "zcat" }, { "\x28\xb5\x2f\xfd", 4, "zstdcat" } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (line->len >= kinds[i].len &&
            memcmp(line->text, kinds[i].magic, kinds[i].len) == 0)
            return kinds[i].with;
    return NULL;
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
        const char *with = line.number == 1 ? unpacker(&line) : NULL;
        if (with)
            return adp_error_set(err, ADP_EINVAL,
                                 "is compressed: %s FILE | admitperf report -", with);
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
    path->read = !e;
    adp_lines_destroy(lines);
    if (!standard)
        close(fd);
    return e;
}

/* Reads one file, and merges it if it is wanted. */
static int take_file(struct adp_log_list *list, size_t i, struct adp_reader *reader,
                     struct adp_tally *tally, adp_logs_choose *choose, void *context,
                     struct adp_error *err)
{
    struct adp_log_path *path = &list->paths[i];
    struct adp_error why = { 0 };
    struct adp_tally *file = adp_tally_create();
    int e = file ? read_file(path, reader, file, &why) : ADP_ENOMEM;
    if (e || path->foreign || (choose && !choose(file, context)))
        adp_tally_destroy(file);
    else if (adp_tally_merge_take(tally, file) ||
             adp_tally_file(tally, path->path, &path->file))
        e = ADP_ENOMEM;
    if (!e)
        return 0;
    if (e == ADP_ENOMEM)
        return adp_error_set(err, e, "out of memory");
    return path->found ? pass_over(list, path->path, why.text)
                       : adp_error_at(err, e, path->path, 0, 0, "%s", why.text);
}

int adp_logs_read(struct adp_log_list *list, size_t from, struct adp_tally *tally,
                  adp_logs_choose *choose, void *context, struct adp_error *err)
{
    struct adp_reader *reader = adp_reader_create();
    int e = reader ? 0 : ADP_ENOMEM;
    for (size_t i = from; i < list->n && !e; i++)
        e = take_file(list, i, reader, tally, choose, context, err);
    adp_reader_destroy(reader);
    return e ? adp_error_set(err, e, "out of memory") : 0;
}
