/* SPDX-License-Identifier: MIT */
/* From paths to a tally. */
#include "runtime/analysis/logs.h"

#include "runtime/analysis/grow.h"
#include "runtime/analysis/lines.h"
#include "runtime/analysis/page.h"
#include "runtime/analysis/source.h"
#include "runtime/analysis/workers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
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
    static const char *const ends[] = { ".jsonl", ".jsonl.gz", ".jsonl.zst" };
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        if (n > k && strcmp(name + n - k, ends[i]) == 0)
            return true;
    }
    return false;
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

static int find(struct adp_log_list *list, const char *path, struct adp_error *err);

/* Is there something that the path, as a pattern, stands for? Then it is found. 1, 0, or
 * an error. */
static int find_pattern(struct adp_log_list *list, const char *path,
                        struct adp_error *err)
{
    glob_t found;
    struct stat st;
    if (!strpbrk(path, "*?[") || lstat(path, &st) == 0)
        return 0;
    int code = glob(path, 0, NULL, &found);
    if (code)
        return code == GLOB_NOSPACE ? ADP_ENOMEM : 0;
    int e = 0;
    for (size_t i = 0; i < found.gl_pathc && !e; i++)
        e = find(list, found.gl_pathv[i], err);
    globfree(&found);
    return e ? e : 1;
}

int adp_logs_find(struct adp_log_list *list, const char *path, struct adp_error *err)
{
    list->finds++;
    int e = find_pattern(list, path, err);
    if (e)
        return e > 0 ? 0 : adp_error_set(err, e, "out of memory");
    return find(list, path, err);
}

static int find(struct adp_log_list *list, const char *path, struct adp_error *err)
{
    struct stat st;
    size_t before = list->n;
    int e;
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
            e = adp_error_at(err, ADP_ENOENT, path, 0, 0,
                             "holds no *.jsonl file, packed or not");
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
 *
 * Files are cut into slices; workers take slices in their order, each into a tally of its
 * own. Whoever is done merges what can be merged in order: slices into their file's tally,
 * files into the tally. */

enum {
    SLICE_LEAST = 8 << 20, /* bytes that are worth a slice */
    SLICES = 4,            /* of a large file, for each worker */
    TELL_EVERY = 1 << 22   /* bytes */
};

struct slice {
    size_t path;
    uint64_t from, to;
    bool whole, last;              /* all of its file; the last of it */
    const struct adp_lanes *known; /* borrowed: records to be left out; NULL: none */
    struct adp_tally *tally;       /* owned */
    bool done, ours;
    int code; /* of the file: it cannot be read */
    struct adp_error why;
};

struct reading {
    struct adp_log_list *list;
    struct adp_tally *tally;
    adp_logs_choose *choose;
    void *context;
    struct slice *slices; /* owned */
    size_t n, cap;
    uint64_t total;
    bool sized; /* all sizes are known */

    pthread_mutex_t lock; /* guards all below */
    size_t next, merged;
    bool merging;
    uint64_t told;
    struct adp_tally *file; /* owned: slices merged so far of the file at hand */
    bool dropped;           /* that file: it is not ours, or cannot be read */
    int code;               /* the first error: of memory, or of a file that was named */
    struct adp_error why;
};

static bool blank(const struct adp_raw_line *line)
{
    for (size_t i = 0; i < line->len; i++)
        if (!strchr(" \t\r", line->text[i]) || !line->text[i])
            return false;
    return !line->too_long;
}

/* 1: the line is ours, 0: it is not, ADP_ENOMEM, ADP_EIO. */
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
    int e = read ? adp_tally_add(tally, file, line->offset, &entry) : 0;
    return e ? e : read;
}

static void tell(struct reading *r, uint64_t bytes)
{
    const struct adp_progress *progress = r->list->progress;
    if (!progress || !bytes)
        return;
    pthread_mutex_lock(&r->lock);
    r->told += bytes;
    progress->tell(progress->context, r->told, r->sized ? r->total : 0);
    pthread_mutex_unlock(&r->lock);
}

/* Reads to the end, or, when the file was found, only until it is clear that it is not
 * ours. 0; ADP_ENOMEM and ADP_EIO of the tally; of the file, with *ret_why. */
static int read_lines(struct reading *r, struct slice *slice, struct adp_reader *reader,
                      struct adp_lines *lines, uint32_t file, struct adp_error *ret_why)
{
    struct adp_raw_line line;
    bool found = r->list->paths[slice->path].found && slice->from == 0;
    uint64_t ours = 0, others = 0, told = 0;
    int e;
    while ((e = adp_lines_next(lines, &line, ret_why)) > 0) {
        int read = read_line(reader, slice->tally, file, &line);
        if (read < 0)
            return read;
        ours += (uint64_t)read;
        others += !read && !blank(&line);
        if (found && !ours && others == SNIFF)
            break;
        if (!slice->known && adp_lines_taken(lines) - told >= TELL_EVERY) {
            tell(r, adp_lines_taken(lines) - told);
            told = adp_lines_taken(lines);
        }
    }
    tell(r, slice->known ? 0 : adp_lines_taken(lines) - told);
    slice->ours = ours || !found || !others;
    if (!e && adp_lines_is_damaged(lines))
        adp_tally_corrupt(slice->tally, file, ADP_CORRUPT_PACKED);
    return e < 0 ? e : 0;
}

static int read_slice(struct reading *r, struct slice *slice, struct adp_reader *reader)
{
    const char *path = r->list->paths[slice->path].path;
    bool standard = strcmp(path, "-") == 0;
    uint32_t file;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    slice->ours = true;
    if (fd < 0) {
        slice->code = adp_error_at(&slice->why, ADP_EIO, path, 0, 0, "cannot be read: %s",
                                   strerror(errno));
        return 0;
    }
    struct adp_lines *lines = slice->whole
                                  ? adp_lines_create(fd)
                                  : adp_lines_create_slice(fd, slice->from, slice->to);
    struct adp_error why = { 0 };
    slice->tally = adp_tally_branch(r->tally);
    int e = ADP_ENOMEM;
    if (slice->tally)
        adp_tally_leave_out(slice->tally, slice->known);
    if (lines && slice->tally && !adp_tally_file(slice->tally, path, &file))
        e = read_lines(r, slice, reader, lines, file, &why);
    if (e && why.code) {
        slice->code = adp_error_at(&slice->why, e, path, 0, 0, "%s", why.text);
        e = 0;
    }
    adp_lines_destroy(lines);
    if (!standard)
        close(fd);
    return e;
}

/* ---- merging, in order ----------------------------------------------------------------
 */

static bool is_regular(const char *path)
{
    struct stat st;
    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Reads a file once more, without the records that are known; `*file` is replaced. */
static int read_again(struct reading *r, size_t path, const struct adp_lanes *known,
                      struct adp_tally **file)
{
    struct slice slice = { .path = path, .whole = true, .last = true, .known = known };
    struct adp_reader *reader = adp_reader_create();
    int e = reader ? read_slice(r, &slice, reader) : ADP_ENOMEM;
    adp_reader_destroy(reader);
    if (!e && slice.code) {
        r->why = slice.why;
        e = slice.code;
    }
    if (e) {
        adp_tally_destroy(slice.tally);
        return e;
    }
    adp_tally_leave_out(slice.tally, NULL);
    adp_tally_destroy(*file);
    *file = slice.tally;
    return 0;
}

/* All slices of the file are merged: is it wanted? Takes the file's tally. A file that shares
 * some of its records with those before it is read once more, for the others; what is no file
 * cannot be, and nor need one that has nothing else: finishing finds both. */
static int merge_file_take(struct reading *r, size_t number, struct adp_tally *file)
{
    struct adp_log_path *path = &r->list->paths[number];
    struct adp_lanes known = { 0 };
    uint32_t known_in = ADP_NO_RUN;
    path->read = true;
    if (r->choose && !r->choose(file, r->context)) {
        adp_tally_destroy(file);
        return 0;
    }
    int e = adp_tally_find_known(r->tally, file, &known, &known_in);
    bool again = !e && known_in != ADP_NO_RUN && adp_tally_has_more(file, &known) &&
                 is_regular(path->path);
    if (again)
        e = read_again(r, number, &known, &file);
    adp_lanes_finish(&known);
    if (e) {
        adp_tally_destroy(file);
        return e;
    }
    e = adp_tally_merge_take(r->tally, file);
    if (!e)
        e = adp_tally_file(r->tally, path->path, &path->file);
    if (!e && again)
        adp_tally_note_known(r->tally, path->file, known_in);
    return e;
}

/* The file cannot be read, or is not ours. */
static int drop_file(struct reading *r, struct slice *slice)
{
    struct adp_log_path *path = &r->list->paths[slice->path];
    if (r->dropped)
        return 0;
    r->dropped = true;
    if (!slice->code) {
        path->foreign = true;
        return 0;
    }
    if (slice->code == ADP_EIO && path->found)
        return pass_over(r->list, path->path, slice->why.text);
    r->why = slice->why;
    return slice->code;
}

/* The next slice in order; everything it holds is gone afterwards. */
static int merge_slice(struct reading *r, struct slice *slice)
{
    struct adp_tally *tally = slice->tally;
    int e = 0;
    slice->tally = NULL;
    if (slice->code || !slice->ours)
        e = drop_file(r, slice);
    if (e || r->dropped || !tally) {
        adp_tally_destroy(tally);
    } else if (!r->file) {
        r->file = tally;
    } else {
        e = adp_tally_merge_take(r->file, tally);
    }
    if (!slice->last)
        return e;
    struct adp_tally *file = r->file;
    r->file = NULL;
    if (e || r->dropped || !file)
        adp_tally_destroy(file);
    else
        e = merge_file_take(r, slice->path, file);
    r->dropped = false;
    return e;
}

/* Merges what is ready, unless somebody is at it. Called and returns with the lock. */
static void merge_ready(struct reading *r)
{
    if (r->merging)
        return;
    r->merging = true;
    while (!r->code && r->merged < r->n && r->slices[r->merged].done) {
        pthread_mutex_unlock(&r->lock);
        int e = merge_slice(r, &r->slices[r->merged]);
        pthread_mutex_lock(&r->lock);
        r->merged++;
        if (e && !r->code)
            r->code = e;
    }
    r->merging = false;
}

static void read_slices(void *context, unsigned worker)
{
    struct reading *r = context;
    struct adp_reader *reader = adp_reader_create();
    (void)worker;
    pthread_mutex_lock(&r->lock);
    if (!reader)
        r->code = ADP_ENOMEM;
    while (!r->code && r->next < r->n) {
        struct slice *slice = &r->slices[r->next++];
        pthread_mutex_unlock(&r->lock);
        int e = read_slice(r, slice, reader);
        pthread_mutex_lock(&r->lock);
        if (e && !r->code)
            r->code = e;
        slice->done = true;
        merge_ready(r);
    }
    pthread_mutex_unlock(&r->lock);
    adp_reader_destroy(reader);
}

/* ---- slicing --------------------------------------------------------------------------
 */

static int add_slice(struct reading *r, struct slice slice)
{
    struct slice *slices = adp_grow(r->slices, &r->cap, r->n + 1, sizeof *slices);
    if (!slices)
        return ADP_ENOMEM;
    r->slices = slices;
    slices[r->n++] = slice;
    return 0;
}

/* Bytes of a regular file, and whether they can be read in any order; 0 for others. */
static uint64_t size_of(const char *path, bool *ret_sliceable)
{
    struct stat st;
    char first[4];
    *ret_sliceable = false;
    int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    uint64_t size = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    ssize_t n = size ? pread(fd, first, sizeof first, 0) : 0;
    *ret_sliceable = n > 0 && !adp_source_is_packed(first, (size_t)n);
    close(fd);
    return size;
}

static int slice_file(struct reading *r, size_t path, unsigned workers)
{
    bool sliceable;
    uint64_t size = size_of(r->list->paths[path].path, &sliceable);
    uint64_t n = sliceable && workers > 1 ? size / SLICE_LEAST : 1;
    if (n > SLICES * workers)
        n = SLICES * workers;
    r->total += size;
    r->sized &= size > 0;
    if (n <= 1)
        return add_slice(r, (struct slice) { .path = path, .whole = true, .last = true });
    int e = 0;
    for (uint64_t i = 0; i < n && !e; i++) {
        /* The last one takes what has been added meanwhile. */
        bool last = i + 1 == n;
        e = add_slice(r, (struct slice) { .path = path,
                                          .from = size / n * i,
                                          .to = last ? UINT64_MAX : size / n * (i + 1),
                                          .last = last });
    }
    return e;
}

int adp_logs_read(struct adp_log_list *list, size_t from, struct adp_tally *tally,
                  adp_logs_choose *choose, void *context, struct adp_error *err)
{
    struct reading r = {
        .list = list, .tally = tally, .choose = choose, .context = context, .sized = true
    };
    unsigned workers = adp_workers_count();
    int e = pthread_mutex_init(&r.lock, NULL) ? ADP_ENOMEM : 0;
    if (e)
        return adp_error_set(err, e, "out of memory");
    for (size_t i = from; i < list->n && !e; i++)
        e = slice_file(&r, i, workers);
    /* A thread costs more than reading a little. */
    if (r.total < SLICE_LEAST || !r.n)
        workers = 1;
    else if (r.n < workers)
        workers = (unsigned)r.n;
    if (!e)
        adp_workers_run(workers, read_slices, &r);
    if (!e)
        e = r.code;
    for (size_t i = 0; i < r.n; i++)
        adp_tally_destroy(r.slices[i].tally);
    adp_tally_destroy(r.file);
    free(r.slices);
    pthread_mutex_destroy(&r.lock);
    if (e && r.why.code)
        return adp_error_at(err, e, r.why.file, 0, 0, "%s", r.why.text);
    return e ? adp_tally_fault(tally, e, err) : 0;
}

int adp_logs_gather(struct adp_log_list *list, const char *const *paths, size_t n,
                    struct adp_tally *tally, adp_logs_choose *choose, void *context,
                    struct adp_error *err)
{
    int e = 0;
    for (size_t i = 0; i < n && !e; i++)
        e = adp_logs_find(list, paths[i], err);
    if (!e)
        e = adp_logs_read(list, 0, tally, choose, context, err);
    return e ? e : adp_logs_any(list, 1, err);
}
