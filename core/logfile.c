/* SPDX-License-Identifier: MIT */
/* The file of a log (core/logfile.h). */
#include "core/logfile.h"

#include "core/descriptor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ATTEMPTS = 64, /* at a path whose file others replace as fast as we look */
    ROTATE_AGAIN = 1024 * 1024, /* bytes more before a failed rotation is tried again */
    ROTATED_PATH = ADP_LOGFILE_PATH + 32,
    REMOVALS = 64,    /* of files at one listing */
    UNLISTED = 16,    /* files kept, for one rotation more without a listing */
    STEPS = 64,       /* names that others have, before a rotation is given up */
    NAME_BYTES = 255, /* of a file */
    WRITER_BITS = 16,
    WRITER = (1 << WRITER_BITS) - 1,
    DAY_MS = 86400000
};

/* What a rotated file has behind its log's name. A stamp is milliseconds since 1970, and the
 * writer in the lowest 16 bits; text of stamps sorts as the stamps do. */
static const char pattern[] = ".ddddddddTdddddd.dddZ-xxxx";

/* --- opening and closing --- */

static bool is_too_long_to_rotate(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strlen(slash ? slash + 1 : path) + sizeof pattern - 1 > NAME_BYTES;
}

int adp_logfile_move(struct adp_logfile *file, const char *path, uint64_t rotate_bytes,
                     uint32_t keep, struct adp_error *err)
{
    size_t n = strlen(path);
    if (n >= sizeof file->path)
        return adp_error_set(err, ADP_EINVAL, "the log's path is too long");
    if (rotate_bytes && is_too_long_to_rotate(path))
        return adp_error_set(err, ADP_EINVAL,
                             "the log's name is too long for rotated files, which have "
                             "%zu characters more: at most %d in all",
                             sizeof pattern - 1, NAME_BYTES);
    adp_logfile_close(file);
    memcpy(file->path, path, n + 1);
    file->rotate_bytes = rotate_bytes;
    file->keep = keep;
    file->rotate_at = 0;
    file->unlisted = 0;
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
    fd = adp_descriptor_keep_take(fd);
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

/* The name a file has now, by the kernel, which needs neither a look at its folders nor a
 * root that they are below. Empty: not to be known. */
static void name_of(int fd, char to[ADP_LOGFILE_PATH])
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, to, ADP_LOGFILE_PATH);
    to[n > 0 && n < ADP_LOGFILE_PATH ? n : 0] = '\0';
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
    name_of(fd, file->name);
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

/* Whether a file that is not to be seen at the path is still where it was opened: one may not
 * look there any more, or has another root. What cannot be known is taken for rotated where
 * files are. */
static bool is_in_its_place(const struct adp_logfile *file)
{
    char now[ADP_LOGFILE_PATH];
    name_of(file->fd, now);
    return now[0] && file->name[0] ? strcmp(now, file->name) == 0 : !file->rotate_bytes;
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
        if (code < 0 && ours.st_nlink > 0 && (file->current || is_in_its_place(file))) {
            file->troubles++;
            return look_at_end(file, &ours, ret_place);
        }
        if (code < 0)
            return code;
    }
    return -EWOULDBLOCK;
}

/* --- rotated names --- */

static uint64_t ms_of(uint64_t stamp)
{
    return stamp >> WRITER_BITS;
}

/* Dates by Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days,
 * days_from_civil. Not by gmtime_r and timegm: glibc's read TZ from the environment, which
 * the host may be changing, and take the lock of localtime, which stays locked for ever in a
 * child of a fork that came while another thread had it. */
static void write_stamp(uint64_t stamp, char to[sizeof pattern])
{
    uint64_t ms = ms_of(stamp), day = ms / DAY_MS % 1000000, z = day + 719468;
    unsigned of_day = (unsigned)(ms % DAY_MS);
    unsigned era = (unsigned)(z / 146097), of_era = (unsigned)(z % 146097);
    unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
    unsigned m = (5 * of_year + 2) / 153; /* from March */
    unsigned of_month = of_year - (153 * m + 2) / 5 + 1;
    unsigned month = m < 10 ? m + 3 : m - 9;
    year += era * 400 + (month <= 2);
    snprintf(to, sizeof pattern, ".%04u%02u%02uT%02u%02u%02u.%03uZ-%04x", year % 10000,
             month % 100, of_month % 100, of_day / 3600000 % 24, of_day / 60000 % 60,
             of_day / 1000 % 60, of_day % 1000, (unsigned)(stamp & WRITER));
}

static unsigned number(const char *digits, int n)
{
    unsigned value = 0;
    for (int i = 0; i < n; i++)
        value = value * 10 + (unsigned)(digits[i] - '0');
    return value;
}

static uint64_t days_since_1970(unsigned year, unsigned month, unsigned day)
{
    unsigned y = year - (month <= 2), of_era = y % 400;
    unsigned of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return (uint64_t)y / 400 * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
           of_year - 719468;
}

static bool is_like_a_stamp(const char *text)
{
    for (size_t i = 0; pattern[i]; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        bool hex = digit || (text[i] >= 'a' && text[i] <= 'f');
        if (pattern[i] == 'd' ? !digit : pattern[i] == 'x' ? !hex : text[i] != pattern[i])
            return false;
    }
    return true;
}

/* 0: it begins with none, as we would write it. */
static uint64_t read_stamp(const char *text)
{
    char again[sizeof pattern];
    if (!is_like_a_stamp(text) || number(text + 1, 4) < 1970)
        return 0;
    uint64_t ms = DAY_MS * days_since_1970(number(text + 1, 4), number(text + 5, 2),
                                           number(text + 7, 2)) +
                  3600000u * number(text + 10, 2) + 60000u * number(text + 12, 2) +
                  1000u * number(text + 14, 2) + number(text + 17, 3);
    uint64_t stamp = ms << WRITER_BITS;
    for (const char *x = text + 22; x < text + 26; x++)
        stamp += (uint64_t)(*x <= '9' ? *x - '0' : *x - 'a' + 10) << 4 * (text + 25 - x);
    write_stamp(stamp, again); /* no 31st of June */
    return strncmp(text, again, sizeof again - 1) == 0 ? stamp : 0;
}

/* Where in a path its stamp goes: before ".jsonl", or at the end. */
static size_t stem_of(const char *path)
{
    size_t n = strlen(path), end = strlen(".jsonl");
    return n > end && strcmp(path + n - end, ".jsonl") == 0 ? n - end : n;
}

static void rotated_name(const char *path, uint64_t stamp, char to[ROTATED_PATH])
{
    size_t stem = stem_of(path);
    char text[sizeof pattern];
    write_stamp(stamp, text);
    snprintf(to, ROTATED_PATH, "%.*s%s%s", (int)stem, path, text, path + stem);
}

/* The stamp of a name in the path's folder; 0: it is no rotated file of this path. */
static uint64_t stamp_of(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/'), *own = slash ? slash + 1 : path;
    const char *tail = path + stem_of(path);
    size_t n = (size_t)(tail - own);
    uint64_t stamp = strncmp(name, own, n) == 0 ? read_stamp(name + n) : 0;
    return stamp && strcmp(name + n + sizeof pattern - 1, tail) == 0 ? stamp : 0;
}

/* --- rotation --- */

/* A file to be put aside. */
struct turn {
    char path[ADP_LOGFILE_PATH]; /* of the file itself, not of a link to it */
    uint64_t now_ms, horizon;    /* stamps from there on are not ours */
    bool listed;
    uint64_t n;                /* of our files, when listed */
    uint64_t oldest[REMOVALS]; /* of them, ascending */
    size_t n_oldest;
};

/* A link stays, and what it leads to is rotated where it is. */
static int resolve(const struct adp_logfile *file, char to[ADP_LOGFILE_PATH])
{
    struct stat st;
    if (lstat(file->path, &st) == 0 && S_ISLNK(st.st_mode))
        return realpath(file->path, to) ? 0 : -errno;
    memcpy(to, file->path, strlen(file->path) + 1);
    return 0;
}

static DIR *open_folder(const char *path)
{
    char folder[ADP_LOGFILE_PATH];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    memcpy(folder, path, n);
    folder[n] = '\0';
    return opendir(n ? folder : ".");
}

static void note_stamp(struct turn *turn, uint64_t stamp)
{
    turn->n++;
    if (turn->n_oldest == REMOVALS && stamp >= turn->oldest[REMOVALS - 1])
        return;
    size_t i = turn->n_oldest < REMOVALS ? turn->n_oldest++ : REMOVALS - 1;
    for (; i > 0 && turn->oldest[i - 1] > stamp; i--)
        turn->oldest[i] = turn->oldest[i - 1];
    turn->oldest[i] = stamp;
}

/* Learns the newest stamp, and which are the oldest. */
static void list(struct adp_logfile *file, struct turn *turn)
{
    DIR *folder = open_folder(turn->path);
    turn->n = 0;
    turn->n_oldest = 0;
    turn->listed = folder != NULL;
    if (!folder) {
        file->troubles++; /* nothing will be removed */
        return;
    }
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) {
        uint64_t stamp = stamp_of(turn->path, e->d_name);
        if (!stamp || stamp >= turn->horizon ||
            (e->d_type != DT_REG && e->d_type != DT_UNKNOWN))
            continue;
        note_stamp(turn, stamp);
        if (stamp > file->newest)
            file->newest = stamp;
    }
    closedir(folder);
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

/* The time, or as soon as possible behind the newest that is known. */
static uint64_t next_stamp(const struct adp_logfile *file, const struct turn *turn)
{
    uint64_t ms = turn->now_ms;
    if (ms <= ms_of(file->newest))
        ms = ms_of(file->newest) + 1;
    return ms << WRITER_BITS | file->writer;
}

/* Gives the file its stamp, for good. */
static int put_aside(struct adp_logfile *file, struct turn *turn)
{
    char to[ROTATED_PATH];
    int code = -EEXIST;
    for (int i = 0; code == -EEXIST && i < STEPS; i++) {
        uint64_t stamp = next_stamp(file, turn);
        rotated_name(turn->path, stamp, to);
        code = rename_new(turn->path, to);
        if (code == 0 || code == -EEXIST)
            file->newest = stamp;
        if (code == -EEXIST && i == 0)
            list(file, turn); /* what has it may have many behind it */
    }
    return code;
}

/* Behind the newest `keep`, of what was listed before one more came. Some of it, where it is
 * too much: then the folder is listed again next time. */
static void remove_oldest(struct adp_logfile *file, const struct turn *turn)
{
    uint64_t due = turn->n + 1 > file->keep ? turn->n + 1 - file->keep : 0;
    char name[ROTATED_PATH];
    for (size_t i = 0; i < turn->n_oldest && i < due; i++) {
        rotated_name(turn->path, turn->oldest[i], name);
        if (unlink(name) < 0 && errno != ENOENT)
            file->troubles++;
    }
    file->unlisted = due > REMOVALS ? 0 : file->keep / UNLISTED;
}

static int make_way(struct adp_logfile *file, uint64_t wall_ns)
{
    struct turn turn;
    int code = resolve(file, turn.path);
    if (code < 0)
        return code;
    if (!file->keep)
        return unlink(turn.path) < 0 ? -errno : 0;
    turn.now_ms = wall_ns / 1000000;
    turn.horizon = (turn.now_ms + DAY_MS + 1) << WRITER_BITS;
    turn.listed = false;
    /* The clock was set back by more than a day: whoever starts now does not know it. */
    if (file->newest >= turn.horizon)
        file->newest = 0;
    if (!file->unlisted)
        list(file, &turn);
    code = put_aside(file, &turn);
    if (code == -ENOENT) /* somebody has just taken it */
        return 0;
    if (code < 0)
        return code;
    if (turn.listed)
        remove_oldest(file, &turn);
    else if (file->unlisted)
        file->unlisted--;
    return 0;
}

static void rotate(struct adp_logfile *file, uint64_t wall_ns)
{
    bool ours = file->current && (file->locked || file->lockless);
    if (ours && make_way(file, wall_ns) == 0) {
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
    if (room < file->due)
        room = file->due;
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

/* A file that begins with an opening of more than half of rotate_bytes takes as much again of
 * lines: else there would be a file for every few of them, and `keep` would keep no more. Not
 * one that has something already: it would take that for each that opens it. */
static void begin_with(struct adp_logfile *file, size_t front)
{
    file->front = front;
    if (file->size == 0 && front > file->rotate_bytes / 2)
        file->due = 2 * (uint64_t)front;
}

/* What is written again, and the opening of a new file before it. */
static void begin(struct adp_logfile *file, struct adp_line *lines, size_t *written,
                  enum place place, const struct adp_line *opening)
{
    size_t start = line_start(lines, *written), front = opening->len;
    *written = start;
    if (place == NEW) {
        file->fresh = false;
        file->due = 0;
        if (start == 0 && file->front)
            begin_with(file, file->front);
    }
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
    begin_with(file, front);
    file->repeated = true;
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

/* Those that end in `n` bytes, the opening not among them where it is repeated. */
static uint64_t count_lines(const struct adp_logfile *file, const struct adp_line *lines,
                            size_t from, size_t n)
{
    uint64_t count = 0;
    const char *at = lines->text + from, *end = at + n;
    if (file->repeated && from < file->front)
        at = n < file->front - from ? end : lines->text + file->front;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        count++;
        at++;
    }
    return count;
}

static void note_written(struct adp_logfile *file, const struct adp_line *lines, size_t n,
                         size_t *written)
{
    file->lines += count_lines(file, lines, *written, n);
    *written += n;
    file->bytes += n;
    file->size += n;
    file->due -= n < file->due ? n : file->due;
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
                      const struct adp_line *opening, uint64_t wall_ns)
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
            rotate(file, wall_ns);
    }
    unlock(file);
    if (code == 0)
        file->front = 0;
    return code;
}
