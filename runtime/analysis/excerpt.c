/* SPDX-License-Identifier: MIT */
/* Lines of a log as they stand (excerpt.h).
 *
 * A log is nearly, not wholly, in the order of time: several processes write into one file.
 * So the nearest line is looked for in all of it, and those around it are read again: of a
 * plain file from where they begin, of a packed one from its beginning. */
#include "runtime/analysis/excerpt.h"

#include "core/line.h"
#include "runtime/analysis/lines.h"
#include "runtime/analysis/reader.h"
#include "runtime/analysis/source.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const words[ADP_EXCERPT_OFS] = {
    [ADP_EXCERPT_ANY] = "any",
    [ADP_EXCERPT_DECISIONS] = "decisions",
    [ADP_EXCERPT_ADMITTED] = "admitted",
    [ADP_EXCERPT_REFUSED] = "refused",
    [ADP_EXCERPT_NOT_ENFORCED] = "not_enforced",
    [ADP_EXCERPT_FAULTS] = "faults",
    [ADP_EXCERPT_OUTCOMES] = "outcomes",
    [ADP_EXCERPT_STATES] = "states",
    [ADP_EXCERPT_LOSSES] = "losses",
    [ADP_EXCERPT_SCRAPE_ERRORS] = "scrape_errors",
    [ADP_EXCERPT_CORRUPT] = "corrupt",
};

const char *adp_excerpt_word(enum adp_excerpt_of of)
{
    return words[of];
}

bool adp_excerpt_find(const char *word, enum adp_excerpt_of *ret)
{
    for (int i = 0; i < ADP_EXCERPT_OFS; i++)
        if (strcmp(words[i], word) == 0) {
            *ret = (enum adp_excerpt_of)i;
            return true;
        }
    return false;
}

/* A log that is being read, from its beginning or from where a line begins. */
struct text {
    int fd;
    struct adp_lines *lines;
    struct adp_reader *reader;
    uint64_t before; /* lines that were passed over */
    bool packed;
};

/* A line, and what it says. */
struct found {
    struct adp_raw_line raw;
    struct adp_entry entry;
    bool blank, readable;
    enum adp_corrupt corrupt;
};

static void text_close(struct text *text)
{
    adp_reader_destroy(text->reader);
    adp_lines_destroy(text->lines);
    if (text->fd >= 0)
        close(text->fd);
    *text = (struct text) { .fd = -1 };
}

static int open_file(const char *path, struct text *text, struct adp_error *err)
{
    struct stat st;
    unsigned char first[4] = { 0 };
    text->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (text->fd < 0)
        return adp_error_set(err, errno == ENOENT ? ADP_ENOENT : ADP_EIO, "%s: %s", path,
                             strerror(errno));
    if (fstat(text->fd, &st) || !S_ISREG(st.st_mode))
        return adp_error_set(err, ADP_ENOENT, "%s: not a file", path);
    ssize_t n = pread(text->fd, first, sizeof first, 0);
    text->packed = n > 0 && adp_source_is_packed(first, (size_t)n);
    return 0;
}

/* From the line that is number `before` + 1 and begins at `offset`. */
static int text_open(const char *path, uint64_t before, uint64_t offset,
                     struct text *text, struct adp_error *err)
{
    int e = open_file(path, text, err);
    if (e)
        return e;
    text->reader = adp_reader_create();
    text->lines = text->packed
                      ? adp_lines_create(text->fd)
                      : adp_lines_create_slice(text->fd, offset, (uint64_t)INT64_MAX);
    if (!text->reader || !text->lines)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    text->before = text->packed ? 0 : before;
    struct adp_raw_line passed;
    for (uint64_t i = 0; text->packed && i < before; i++)
        if ((e = adp_lines_next(text->lines, &passed, err)) <= 0)
            return e;
    return 0;
}

static bool is_blank(const struct adp_raw_line *line)
{
    for (size_t i = 0; i < line->len; i++)
        if (!line->text[i] || !strchr(" \t\r", line->text[i]))
            return false;
    return !line->too_long;
}

/* As adp_lines_next. */
static int text_next(struct text *text, struct found *ret, struct adp_error *err)
{
    int n = adp_lines_next(text->lines, &ret->raw, err);
    if (n <= 0)
        return n;
    ret->raw.number += text->before;
    ret->corrupt = ADP_CORRUPT_TOO_LONG;
    ret->blank = is_blank(&ret->raw);
    int read = ret->blank || ret->raw.too_long
                   ? 0
                   : adp_reader_line(text->reader, ret->raw.text, ret->raw.len,
                                     &ret->entry, &ret->corrupt);
    if (read < 0)
        return adp_error_set(err, read, "out of memory");
    ret->readable = read;
    return 1;
}

/* --- which lines */

/* Nothing said is as good as an empty word. */
static bool is_of(struct adp_text text, const char *wanted)
{
    size_t len = text.text ? text.len : 0;
    return !wanted ||
           (strlen(wanted) == len && (!len || memcmp(text.text, wanted, len) == 0));
}

static bool decides_so(const struct adp_entry *entry, enum adp_excerpt_of of)
{
    bool refuses = entry->verdict == ADP_DEFER || entry->verdict == ADP_REJECT;
    bool binds = entry->enforced && !entry->shadow;
    switch (of) {
    case ADP_EXCERPT_DECISIONS:
        return true;
    case ADP_EXCERPT_ADMITTED:
        return !refuses || !binds;
    case ADP_EXCERPT_REFUSED:
        return refuses && binds && !entry->fault;
    case ADP_EXCERPT_NOT_ENFORCED:
        return refuses && !binds && !entry->fault;
    case ADP_EXCERPT_FAULTS:
        return entry->fault;
    default:
        return false;
    }
}

static bool is_wanted(const struct adp_excerpt *asked, const struct found *line)
{
    const struct adp_entry *entry = &line->entry;
    if (asked->of == ADP_EXCERPT_ANY)
        return true;
    if (line->blank)
        return false;
    if (asked->of == ADP_EXCERPT_CORRUPT)
        return !line->readable || line->raw.unterminated;
    if (!line->readable)
        return false;
    switch (entry->kind) {
    case ADP_ENTRY_DECISION:
        return is_of(entry->policy, asked->policy) && is_of(entry->run, asked->run) &&
               is_of(entry->reason, asked->reason) && decides_so(entry, asked->of);
    case ADP_ENTRY_OUTCOME:
        return asked->of == ADP_EXCERPT_OUTCOMES;
    case ADP_ENTRY_STATE:
        return asked->of == ADP_EXCERPT_STATES;
    case ADP_ENTRY_LOSS:
        return asked->of == ADP_EXCERPT_LOSSES;
    case ADP_ENTRY_SCRAPE_ERROR:
        return asked->of == ADP_EXCERPT_SCRAPE_ERRORS;
    default:
        return false;
    }
}

/* --- as JSON */

static const char *kind_of(const struct found *line)
{
    if (line->blank)
        return "blank";
    if (!line->readable)
        return "corrupt";
    switch (line->entry.kind) {
    case ADP_ENTRY_DECISION:
        return "decision";
    case ADP_ENTRY_OUTCOME:
        return "outcome";
    case ADP_ENTRY_STATE:
        return "state";
    case ADP_ENTRY_LOSS:
        return "loss";
    default:
        return "scrape_error";
    }
}

static void put_line(struct adp_line *to, const struct found *line, bool first)
{
    const struct adp_raw_line *raw = &line->raw;
    size_t len = raw->len < ADP_EXCERPT_TEXT ? raw->len : ADP_EXCERPT_TEXT;
    bool corrupt = !line->readable && !line->blank;
    adp_line_puts(to, first ? "\n{" : ",\n{");
    adp_line_key_u64(to, "line", raw->number);
    adp_line_key_number(to, "at", line->readable ? line->entry.at : (double)NAN);
    adp_line_key_text(to, "kind", kind_of(line));
    adp_line_key_text(to, "why",
                      raw->unterminated ? adp_corrupt_word(ADP_CORRUPT_UNTERMINATED)
                      : corrupt         ? adp_corrupt_word(line->corrupt)
                                        : NULL);
    adp_line_key(to, "text");
    adp_line_string(to, raw->text, len);
    adp_line_key(to, "cut");
    adp_line_puts(to, raw->too_long || len < raw->len ? "true}" : "false}");
}

static void put_number_or_null(struct adp_line *to, const char *key, uint64_t n)
{
    adp_line_key(to, key);
    if (n)
        adp_line_u64(to, n);
    else
        adp_line_puts(to, "null");
}

/* What comes behind the lines, and all of it to `to`. */
static int finish(struct adp_line *line, FILE *to, struct adp_error *err)
{
    adp_line_puts(line, "}\n");
    int e = line->broken ? adp_error_set(err, ADP_ENOMEM, "out of memory") : 0;
    if (!e)
        fwrite(line->text, 1, line->len, to);
    return e;
}

/* --- around */

/* Where to begin, so that the line wanted stands in the middle. */
struct place {
    uint64_t here, before,
        offset; /* its number; lines before the first, where that begins */
};

static bool is_nearer(const struct adp_excerpt *asked, const struct found *line,
                      double *least)
{
    if (asked->line)
        return line->raw.number == asked->line;
    double apart = line->readable ? fabs(line->entry.at - asked->at) : (double)NAN;
    if (!(apart < *least))
        return false;
    *least = apart;
    return true;
}

static int look(const struct adp_excerpt *asked, struct place *ret, struct adp_error *err)
{
    struct text text = { .fd = -1 };
    struct found line;
    uint64_t begins[ADP_EXCERPT_MOST / 2 + 1]; /* of the last `back` + 1 lines */
    uint64_t back = asked->most / 2;
    double least = INFINITY;
    bool done = false;
    int n = text_open(asked->path, 0, 0, &text, err);
    for (; n == 0 && !done && (n = text_next(&text, &line, err)) > 0; n = 0) {
        uint64_t number = line.raw.number;
        begins[number % (back + 1)] = line.raw.offset;
        if (!is_nearer(asked, &line, &least))
            continue;
        ret->here = number;
        ret->before = number > back ? number - 1 - back : 0;
        ret->offset = begins[(ret->before + 1) % (back + 1)];
        done = asked->line;
    }
    text_close(&text);
    return n;
}

static int put_around(const struct adp_excerpt *asked, struct adp_line *to,
                      struct adp_error *err)
{
    struct text text = { .fd = -1 };
    struct found line;
    struct place place = { 0 };
    uint32_t put = 0;
    int n = look(asked, &place, err);
    put_number_or_null(to, "here", place.here);
    adp_line_key(to, "lines");
    adp_line_puts(to, "[");
    if (n == 0 && place.here)
        n = text_open(asked->path, place.before, place.offset, &text, err);
    while (n == 0 && place.here && put < asked->most &&
           (n = text_next(&text, &line, err)) > 0) {
        put_line(to, &line, put++ == 0);
        n = 0;
    }
    text_close(&text);
    adp_line_puts(to, "]");
    return n;
}

/* --- of a kind */

static int put_of(const struct adp_excerpt *asked, struct adp_line *to,
                  struct adp_error *err)
{
    struct text text = { .fd = -1 };
    struct found line;
    uint64_t all = 0, next = 0;
    uint32_t put = 0;
    adp_line_key(to, "here");
    adp_line_puts(to, "null");
    adp_line_key(to, "lines");
    adp_line_puts(to, "[");
    int n = text_open(asked->path, 0, 0, &text, err);
    while (n == 0 && (n = text_next(&text, &line, err)) > 0) {
        n = 0;
        if (!is_wanted(asked, &line))
            continue;
        all++;
        if (line.raw.number < asked->line)
            continue;
        if (put < asked->most)
            put_line(to, &line, put++ == 0);
        else if (!next)
            next = line.raw.number;
    }
    text_close(&text);
    adp_line_puts(to, "]");
    adp_line_key_u64(to, "n", all);
    put_number_or_null(to, "next", next);
    return n;
}

int adp_excerpt_json(const struct adp_excerpt *asked, FILE *to, struct adp_error *err)
{
    struct adp_line line;
    adp_line_init(&line);
    adp_line_puts(&line, "{");
    adp_line_key_text(&line, "log", asked->path);
    adp_line_key_text(&line, "of",
                      asked->around ? words[ADP_EXCERPT_ANY] : words[asked->of]);
    int e = asked->around ? put_around(asked, &line, err) : put_of(asked, &line, err);
    if (!e)
        e = finish(&line, to, err);
    adp_line_finish(&line);
    return e;
}
