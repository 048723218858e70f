/* SPDX-License-Identifier: MIT */
/* The file of a log (core/logfile.h). */
#include "core/logfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ATTEMPTS = 64, /* at a path whose file others replace as fast as we look */
    ROTATE_AGAIN = 1024 * 1024, /* bytes more before a failed rotation is tried again */
    LAST = 9999999,             /* of a rotated file's numbers: a date has a digit more */
    ROTATED_PATH = ADP_LOGFILE_PATH + 24,
    REMOVALS = 64, /* of files at one listing */
    STEPS = 16,    /* names that others may have taken, before the folder is listed */
    LISTINGS = 4
};

/* --- opening and closing --- */

int adp_logfile_move(struct adp_logfile *file, const char *path, uint64_t rotate_bytes,
                     uint32_t keep, struct adp_error *err)
{
    size_t n = strlen(path);
    if (n >= sizeof file->path)
        return adp_error_set(err, ADP_EINVAL, "the log's path is too long");
    adp_logfile_close(file);
    memcpy(file->path, path, n + 1);
    file->rotate_bytes = rotate_bytes;
    file->keep = keep;
    file->rotate_at = 0;
    file->highest = 0;
    file->listed = false;
    return 0;
}

int adp_logfile_init(struct adp_logfile *file, const char *path, uint64_t rotate_bytes,
                     uint32_t keep, struct adp_error *err)
{
    *file = (struct adp_logfile) { .fd = -1, .end = UINT64_MAX };
    return adp_logfile_move(file, path, rotate_bytes, keep, err);
}

void adp_logfile_close(struct adp_logfile *file)
{
    /* A child of fork may share our descriptor, and then closing it unlocks nothing. */
    if (file->locked)
        flock(file->fd, LOCK_UN);
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    file->locked = false;
}

static int make_folders(const char *path)
{
    char folder[ADP_LOGFILE_PATH];
    memcpy(folder, path, strlen(path) + 1);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0777) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return 0;
}

/* O_NONBLOCK: a FIFO that nobody reads is an error now, not a thread that hangs. */
static int open_path(const char *path, int access)
{
    int flags = access | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = open(path, flags, 0666);
    if (fd < 0 && errno == ENOENT && make_folders(path) == 0)
        fd = open(path, flags, 0666);
    return fd < 0 ? -errno : fd;
}

/* Reading serves to see how a file ends; whoever may only append does without. Not for a
 * FIFO, which would be its own reader then. */
static int open_best(const char *path, bool *ret_readable)
{
    struct stat st;
    bool other = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    int fd = other ? -EACCES : open_path(path, O_RDWR);
    *ret_readable = fd >= 0;
    return fd == -EACCES ? open_path(path, O_WRONLY) : fd;
}

int adp_logfile_open(struct adp_logfile *file)
{
    struct stat st;
    bool readable;
    int fd = open_best(file->path, &readable);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0) {
        int code = -errno;
        close(fd);
        return code;
    }
    adp_logfile_close(file);
    file->fd = fd;
    file->regular = S_ISREG(st.st_mode);
    file->readable = readable;
    file->fresh = true;
    file->within = false;
    file->size = (uint64_t)st.st_size;
    file->bare = file->size == 0;
    file->end = UINT64_MAX;
    file->rotate_at = 0;
    file->reopen = false;
    return 0;
}

const char *adp_logfile_reason(const struct adp_logfile *file, int code)
{
    struct stat st;
    if (code == -ENXIO && stat(file->path, &st) == 0 && S_ISFIFO(st.st_mode))
        return "it is a FIFO, and nobody reads it";
    return strerror(-code);
}

/* --- one file among several processes --- */

static int lock(struct adp_logfile *file)
{
    if (file->locked)
        return 0;
    while (flock(file->fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK) {
            file->lockless = true;
            return 0;
        }
        if (file->misses < ADP_LOGFILE_MISSES) {
            file->misses++;
            return -EWOULDBLOCK;
        }
        return 0;
    }
    file->locked = true;
    file->lockless = false;
    file->misses = 0;
    return 0;
}

/* Not in the middle of a line: others would append to its beginning. */
static void unlock(struct adp_logfile *file)
{
    if (!file->locked || file->within)
        return;
    flock(file->fd, LOCK_UN);
    file->locked = false;
}

/* What our descriptor is now; false when it is not what is at the path. */
static bool is_current(const struct adp_logfile *file, struct stat *ret_ours)
{
    struct stat theirs;
    return fstat(file->fd, ret_ours) == 0 && stat(file->path, &theirs) == 0 &&
           ret_ours->st_dev == theirs.st_dev && ret_ours->st_ino == theirs.st_ino;
}

static int end_line(struct adp_logfile *file)
{
    char last = '\n';
    if (file->readable && file->size > 0 &&
        pread(file->fd, &last, 1, (off_t)file->size - 1) < 0)
        return -errno;
    if (last == '\n')
        return 0;
    /* Without the lock it may be a write under way: wait until it looks the same twice. */
    if (!file->locked && file->size != file->cut) {
        file->cut = file->size;
        return -EWOULDBLOCK;
    }
    ssize_t n;
    do
        n = write(file->fd, "\n", 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        return n < 0 ? -errno : -EIO;
    file->size++;
    file->bytes++;
    return 0;
}

enum place {
    SAME,  /* go on where the last write ended */
    AGAIN, /* somebody has written behind it: a line that was begun begins again */
    NEW    /* another file */
};

/* Others may have written since: then their last line may lack its end. */
static int look_at_end(struct adp_logfile *file, const struct stat *ours,
                       enum place *ret_place)
{
    file->size = (uint64_t)ours->st_size;
    if (!file->regular || file->size == file->end)
        return 0;
    int code = end_line(file);
    if (code < 0)
        return code;
    if (file->within && *ret_place == SAME)
        *ret_place = AGAIN;
    file->within = false;
    file->end = file->size;
    return 0;
}

/* The file at the path, locked, and where in it we are. */
static int enter(struct adp_logfile *file, enum place *ret_place)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        struct stat ours = { 0 };
        int code = file->fd < 0 ? adp_logfile_open(file) : 0;
        if (code < 0)
            return code;
        *ret_place = file->fresh ? NEW : SAME;
        code = lock(file);
        if (code < 0)
            return code;
        file->current = is_current(file, &ours);
        if (file->current && !file->reopen)
            return look_at_end(file, &ours, ret_place);
        code = adp_logfile_open(file);
        if (code < 0 && ours.st_nlink > 0) {
            file->troubles++;
            return look_at_end(file, &ours, ret_place);
        }
        if (code < 0)
            return code;
    }
    return -EWOULDBLOCK;
}

/* --- rotation --- */

/* Where in the path its number goes: before ".jsonl", or at the end. */
static size_t stem_of(const struct adp_logfile *file)
{
    size_t n = strlen(file->path), end = strlen(".jsonl");
    return n > end && strcmp(file->path + n - end, ".jsonl") == 0 ? n - end : n;
}

static void rotated_name(const struct adp_logfile *file, uint64_t number,
                         char to[ROTATED_PATH])
{
    size_t stem = stem_of(file);
    snprintf(to, ROTATED_PATH, "%.*s.%llu%s", (int)stem, file->path,
             (unsigned long long)number, file->path + stem);
}

/* The number of a name in the path's folder; 0: it is no rotated file of this path, as we
 * name them. */
static uint64_t number_of(const struct adp_logfile *file, const char *name)
{
    const char *slash = strrchr(file->path, '/');
    const char *own = slash ? slash + 1 : file->path, *tail = file->path + stem_of(file);
    size_t n = (size_t)(tail - own);
    uint64_t number = 0;
    if (strncmp(name, own, n) != 0 || name[n] != '.' || name[n + 1] == '0')
        return 0;
    for (name += n + 1; *name >= '0' && *name <= '9' && number <= LAST;)
        number = number * 10 + (uint64_t)(*name++ - '0');
    return strcmp(name, tail) == 0 && number <= LAST ? number : 0;
}

static DIR *open_folder(const struct adp_logfile *file)
{
    char folder[ADP_LOGFILE_PATH];
    const char *slash = strrchr(file->path, '/');
    size_t n = slash ? (size_t)(slash - file->path) + 1 : 0;
    memcpy(folder, file->path, n);
    folder[n] = '\0';
    return opendir(n ? folder : ".");
}

static void remove_rotated(struct adp_logfile *file, uint64_t number)
{
    char name[ROTATED_PATH];
    rotated_name(file, number, name);
    if (unlink(name) < 0 && errno != ENOENT)
        file->troubles++;
}

/* Learns the highest number there is, and removes what `keep`, lowered since, or somebody
 * who died did not: some of it; where there is more, the folder is listed again next time.
 * A folder that may not be listed is gone through name by name (put_aside). */
static void list(struct adp_logfile *file)
{
    DIR *folder = open_folder(file);
    int removed = 0;
    if (!folder)
        return;
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) {
        uint64_t number = number_of(file, e->d_name);
        if (number > file->highest)
            file->highest = number;
    }
    rewinddir(folder);
    for (const struct dirent *e; removed < REMOVALS && (e = readdir(folder)) != NULL;) {
        uint64_t number = number_of(file, e->d_name);
        if (!number || number + file->keep > file->highest)
            continue;
        remove_rotated(file, number);
        removed++;
    }
    closedir(folder);
    file->listed = removed < REMOVALS;
}

/* While the newest file we know of is there, so are all that others put behind it since,
 * unless somebody takes them away out of turn: then the next number is the first that is
 * free. When it is gone, others may have gone on by more than `keep`. */
static bool knows_highest(const struct adp_logfile *file)
{
    char name[ROTATED_PATH];
    struct stat st;
    rotated_name(file, file->highest, name);
    return file->listed && file->highest && lstat(name, &st) == 0;
}

/* Never over another file. Where the kernel or the file system cannot promise that of a
 * rename (EPERM: a filter of system calls that does not know it either), by a second name:
 * a death between the two leaves both. */
static int rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL && errno != EPERM)
        return -errno;
    if (link(from, to) < 0)
        return -errno;
    if (unlink(from) == 0)
        return 0;
    int code = -errno;
    unlink(to);
    return code;
}

/* Gives the file the number behind the highest, for good; -EOVERFLOW: there is none. */
static int put_aside(struct adp_logfile *file)
{
    char to[ROTATED_PATH];
    if (!knows_highest(file))
        list(file);
    for (int i = 0; i < STEPS + LISTINGS; i++) {
        if (file->highest >= LAST)
            return -EOVERFLOW;
        rotated_name(file, file->highest + 1, to);
        int code = rename_new(file->path, to);
        if (code == -ENOENT) /* somebody has just taken it */
            return 0;
        if (code < 0 && code != -EEXIST)
            return code;
        file->highest++;
        if (code == 0) {
            if (file->highest > file->keep)
                remove_rotated(file, file->highest - file->keep);
            return 0;
        }
        if (i >= STEPS)
            list(file);
    }
    return -EEXIST;
}

static int make_way(struct adp_logfile *file)
{
    if (file->keep)
        return put_aside(file);
    return unlink(file->path) < 0 ? -errno : 0;
}

static void rotate(struct adp_logfile *file)
{
    bool ours = file->current && (file->locked || file->lockless);
    if (ours && make_way(file) == 0) {
        adp_logfile_close(file);
        return;
    }
    file->troubles++;
    file->rotate_at = file->size + ROTATE_AGAIN;
}

/* --- writing --- */

static size_t line_start(const struct adp_line *lines, size_t at)
{
    while (at > 0 && lines->text[at - 1] != '\n')
        at--;
    return at;
}

/* Bytes of whole lines that the file takes before it is full; 0: rotate it first. */
static size_t fitting(const struct adp_logfile *file, const struct adp_line *lines,
                      size_t written)
{
    const char *from = lines->text + written;
    size_t rest = lines->len - written;
    uint64_t full =
        file->rotate_bytes > file->rotate_at ? file->rotate_bytes : file->rotate_at;
    if (!file->rotate_bytes || !file->regular)
        return rest;
    uint64_t room = full > file->size ? full - file->size : 0;
    if (rest <= room)
        return rest;
    const char *last = room ? memrchr(from, '\n', (size_t)room) : NULL;
    if (last)
        return (size_t)(last - from) + 1;
    if (!file->bare && !file->within)
        return 0;
    const char *first = memchr(from, '\n', rest);
    return first ? (size_t)(first - from) + 1 : rest;
}

/* What is written again, and the opening of a new file before it. */
static void begin(struct adp_logfile *file, struct adp_line *lines, size_t *written,
                  enum place place, const struct adp_line *opening)
{
    size_t start = line_start(lines, *written), front = opening->len;
    *written = start;
    if (place == NEW)
        file->fresh = false;
    /* An opening that is still at the front was for a file that never got it. */
    if (place != NEW || !front || opening->broken || (start == 0 && file->front))
        return;
    if (!adp_line_reserve(lines, front)) {
        lines->broken = false; /* rather a file without its opening than none */
        return;
    }
    memmove(lines->text + front, lines->text + start, lines->len - start);
    memcpy(lines->text, opening->text, front);
    lines->len += front - start;
    *written = 0;
    file->front = front;
}

/* Takes back the beginning of a line that a failed write left at the end of the file. Under
 * the lock only, and only if nobody has appended behind it all the same. */
static void take_back(struct adp_logfile *file, const struct adp_line *lines,
                      size_t *written)
{
    struct stat st;
    size_t fragment = *written - line_start(lines, *written);
    if (!file->within || !file->locked || !file->regular || fragment > file->end ||
        fstat(file->fd, &st) < 0 || (uint64_t)st.st_size != file->end ||
        ftruncate(file->fd, (off_t)(file->end - fragment)) < 0)
        return;
    *written -= fragment;
    file->within = false;
    file->end -= fragment;
    file->size = file->end;
    file->bytes -= fragment;
}

static void note_written(struct adp_logfile *file, const struct adp_line *lines, size_t n,
                         size_t *written)
{
    *written += n;
    file->bytes += n;
    file->size += n;
    if (file->regular) {
        /* Behind our own bytes, wherever others have appended meanwhile. */
        off_t end = lseek(file->fd, 0, SEEK_CUR);
        file->end = end < 0 ? UINT64_MAX : (uint64_t)end;
    }
    file->within = lines->text[*written - 1] != '\n';
    if (*written > file->front)
        file->bare = false;
    if (*written >= file->front)
        file->front = 0;
}

/* Appends the next n bytes. */
static int append(struct adp_logfile *file, const struct adp_line *lines, size_t n,
                  size_t *written)
{
    for (size_t until = *written + n; *written < until;) {
        ssize_t did = write(file->fd, lines->text + *written, until - *written);
        if (did < 0 && errno == EINTR)
            continue;
        if (did <= 0) {
            int code = did < 0 ? -errno : -EIO;
            take_back(file, lines, written);
            return code;
        }
        note_written(file, lines, (size_t)did, written);
    }
    return 0;
}

int adp_logfile_write(struct adp_logfile *file, struct adp_line *lines, size_t *written,
                      const struct adp_line *opening)
{
    int code = 0;
    while (code == 0 && *written < lines->len) {
        enum place place;
        code = enter(file, &place);
        if (code < 0)
            break;
        if (place != SAME)
            begin(file, lines, written, place, opening);
        size_t n = fitting(file, lines, *written);
        if (n)
            code = append(file, lines, n, written);
        else
            rotate(file);
    }
    unlock(file);
    if (code == 0)
        file->front = 0;
    return code;
}
