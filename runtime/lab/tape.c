/* SPDX-License-Identifier: MIT */
/* Reading a trace for a replay.
 *
 * Invariants:
 *  1. Between two calls of adp_tape_next no thread runs: slices are read side by side and
 *     waited for, and then asked about side by side by whoever called. So nothing is
 *     locked, and the order is that of the file.
 *  2. A take borrows nothing from the lines: their buffer is gone by the time it is used.
 *  3. Memory is that of a few slices, whatever the size of the trace. */
#include "runtime/lab/tape.h"

#include "runtime/analysis/lines.h"
#include "runtime/analysis/part.h"
#include "runtime/analysis/reader.h"
#include "runtime/analysis/source.h"
#include "runtime/analysis/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SLICE = 4 << 20, /* bytes of lines in a batch */
    TEXT_MOST = 4095,
    SHAPES = 16,
    SIGNALS = 64
};

/* Where the signals of lines with the same print go; and whether they are of our run. */
struct known {
    uint64_t print; /* 0: not used */
    bool ours;
    size_t n, n_columns;
    uint8_t to[SIGNALS];        /* SIGNALS: nobody asked for it */
    uint8_t column_to[SIGNALS]; /* likewise, of readings per replica */
};

/* What one thread has. */
struct worker {
    struct adp_tape *tape;
    struct adp_reader *reader; /* owned */
    struct known known[SHAPES];
    unsigned next_known;
    uint64_t from, to;
    struct adp_tape_count count;
    struct adp_tape_kind found; /* where that is what is read for */
    int code;
    struct adp_error why;
};

struct adp_tape {
    const char *path;
    const struct adp_tape_kind *kind; /* NULL: it is to be found */
    const char *const *signals;
    size_t n_signals;
    volatile const int *stop;
    int fd;
    bool sliceable, ended;
    uint64_t size, at;
    struct adp_lines *lines; /* owned; where it cannot be sliced */
    unsigned n;
    struct worker worker[ADP_WORKERS];
    struct adp_batch batch[ADP_WORKERS];
};

static int open_trace(const char *path, struct adp_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd
                   : adp_error_at(err, errno == ENOENT ? ADP_ENOENT : ADP_EIO, path, 0, 0,
                                  "cannot be read: %s", strerror(errno));
}

static bool is_stopped(volatile const int *stop)
{
    return stop && *stop;
}

/* ---- standard input ------------------------------------------------------------------- */

/* Not every file system knows O_TMPFILE. */
static int open_nameless(const char *folder)
{
    char path[1024];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    int n = snprintf(path, sizeof path, "%s/admitperf-XXXXXX", folder);
    if (n < 0 || (size_t)n >= sizeof path)
        return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static bool write_all(int fd, const char *from, size_t len)
{
    while (len) {
        ssize_t n = write(fd, from, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        len -= (size_t)n;
    }
    return true;
}

/* All that standard input has; what came before the stop is what there is. */
static bool copy_input(int to, volatile const int *stop)
{
    char block[1 << 16];
    while (!is_stopped(stop)) {
        ssize_t n = read(STDIN_FILENO, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        if (!write_all(to, block, (size_t)n))
            return false;
    }
    return true;
}

int adp_tape_keep_input(struct adp_tape_input *ret, volatile const int *stop,
                        struct adp_error *err)
{
    struct stat st;
    struct adp_tape_input input = { .fd = -1 };
    const char *folder = getenv("TMPDIR");
    if (fstat(STDIN_FILENO, &st) || !S_ISREG(st.st_mode)) {
        input.fd = open_nameless(folder && *folder ? folder : "/tmp");
        if (input.fd < 0 || !copy_input(input.fd, stop)) {
            int e = adp_error_at(err, ADP_EIO, "-", 0, 0,
                                 "cannot be kept in %s to be read twice: %s",
                                 folder && *folder ? folder : "/tmp", strerror(errno));
            if (input.fd >= 0)
                close(input.fd);
            return e;
        }
    }
    snprintf(input.path, sizeof input.path, "/proc/self/fd/%d",
             input.fd < 0 ? STDIN_FILENO : input.fd);
    *ret = input;
    return 0;
}

/* ---- what it is ----------------------------------------------------------------------- */

static int note_kind(struct adp_tape_kind *kind, const struct adp_entry *entry)
{
    struct adp_part part = { 0 };
    char params[128];
    struct adp_store *store = adp_store_create(0);
    kind->watch = false;
    kind->watched = entry->watch;
    kind->identity = adp_part_identity(entry);
    int e = store ? adp_part_init(&part, store, kind->identity, 0, entry) : ADP_ENOMEM;
    adp_part_params(&part, params, sizeof params);
    if (!e)
        snprintf(kind->recorded, sizeof kind->recorded, "%.60s%s%.90s%s",
                 part.policy ? part.policy : "(no policy named)", *params ? " (" : "",
                 params, *params ? ")" : "");
    adp_part_finish(&part);
    adp_store_release(store);
    return e;
}

/* Reading to find out: is this what decides it? */
static int look(struct adp_tape_kind *found, const struct adp_entry *entry)
{
    struct adp_text experiment = entry->experiment;
    if (experiment.text && !*found->experiment)
        snprintf(found->experiment, sizeof found->experiment, "%.*s", (int)experiment.len,
                 experiment.text);
    return entry->kind == ADP_ENTRY_DECISION && !entry->shadow ? note_kind(found, entry)
                                                               : 0;
}

/* ---- takes ---------------------------------------------------------------------------- */

static bool is_named(struct adp_text text, const char *name)
{
    return strlen(name) == text.len && memcmp(name, text.text, text.len) == 0;
}

static uint8_t place_of(const struct adp_tape *tape, struct adp_text name)
{
    for (size_t k = 0; k < tape->n_signals && k < SIGNALS; k++)
        if (is_named(name, tape->signals[k]))
            return (uint8_t)k;
    return SIGNALS;
}

static void learn(const struct adp_tape *tape, const struct adp_entry *entry,
                  struct known *ret)
{
    struct adp_key identity = adp_part_identity(entry);
    ret->print = entry->print;
    ret->ours = identity.high == tape->kind->identity.high &&
                identity.low == tape->kind->identity.low;
    ret->n = entry->n_signals < SIGNALS ? entry->n_signals : SIGNALS;
    for (size_t i = 0; i < ret->n; i++)
        ret->to[i] = place_of(tape, entry->signals[i].name);
    ret->n_columns = entry->n_replicas < SIGNALS ? entry->n_replicas : SIGNALS;
    for (size_t i = 0; i < ret->n_columns; i++)
        ret->column_to[i] = place_of(tape, entry->replicas[i].name);
}

/* What is known of lines like this; of the last few kinds it is looked up. */
static const struct known *know(struct worker *w, const struct adp_entry *entry)
{
    for (unsigned i = 0; entry->print && i < SHAPES; i++)
        if (w->known[i].print == entry->print)
            return &w->known[i];
    struct known *known = &w->known[w->next_known++ % SHAPES];
    learn(w->tape, entry, known);
    return known;
}

static bool make_room(struct adp_batch *batch, size_t more)
{
    if (batch->cap - batch->len >= more)
        return true;
    size_t cap = batch->cap ? 2 * batch->cap : 1 << 20;
    while (cap - batch->len < more)
        cap *= 2;
    char *takes = realloc(batch->takes, cap);
    if (!takes)
        return false;
    batch->takes = takes;
    batch->cap = cap;
    return true;
}

static uint32_t put_text(struct adp_take *take, size_t *at, struct adp_text text)
{
    if (!text.text)
        return 0;
    size_t len = text.len < TEXT_MOST ? text.len : TEXT_MOST;
    char *to = (char *)take + *at;
    uint32_t from = (uint32_t)*at;
    memcpy(to, text.text, len);
    to[len] = '\0';
    *at += len + 1;
    return from;
}

/* How many rows the columns have; 0 where they are not of one length. */
static uint32_t rows_of(const struct adp_entry *entry, const struct known *known)
{
    size_t rows = known->n_columns ? entry->replicas[0].n : 0;
    for (size_t i = 0; i < known->n_columns; i++)
        if (entry->replicas[i].n != rows)
            return 0;
    return rows <= ADP_MAX_REPLICAS ? (uint32_t)rows : 0;
}

/* The columns that are asked for, in the order of `signals`. There is room for them. */
static void put_cells(struct adp_take *take, size_t *at, const struct adp_entry *entry,
                      const struct known *known, uint32_t rows)
{
    take->rows = rows;
    take->cells = (uint32_t)*at;
    for (uint8_t k = 0; rows && k < SIGNALS; k++)
        for (size_t i = 0; i < known->n_columns; i++)
            if (known->column_to[i] == k && !(take->columns >> k & 1)) {
                take->columns |= UINT64_C(1) << k;
                memcpy((char *)take + *at, entry->replicas[i].value,
                       rows * sizeof(double));
                *at += rows * sizeof(double);
            }
}

static int take(struct worker *w, struct adp_batch *batch, const struct adp_entry *entry,
                const struct known *known)
{
    const struct adp_entry_facts *f = &entry->facts;
    size_t n = w->tape->n_signals, at = sizeof(struct adp_take) + n * sizeof(double);
    uint32_t rows = rows_of(entry, known);
    size_t cells = rows * known->n_columns * sizeof(double);
    if (!make_room(batch, at + cells + ADP_TAKE_TEXTS * (TEXT_MOST + 1) + sizeof(double)))
        return ADP_ENOMEM;
    struct adp_take *t = (struct adp_take *)(void *)(batch->takes + batch->len);
    *t = (struct adp_take) { .refused = entry->verdict != ADP_ADMIT,
                             .fault = entry->fault,
                             .at = entry->at,
                             .draw = entry->draw,
                             .mono_ns = entry->mono_ns,
                             .priority = f->priority,
                             .prompt_tokens = f->prompt_tokens,
                             .max_output_tokens = f->max_output_tokens,
                             .ttft_deadline_ms = f->ttft_deadline_ms };
    for (size_t i = 0; i < n; i++)
        t->value[i] = NAN;
    for (size_t i = 0; i < known->n; i++)
        if (known->to[i] < n)
            t->value[known->to[i]] = entry->signals[i].value;
    put_cells(t, &at, entry, known, rows);
    t->text[ADP_TAKE_ID] = put_text(t, &at, entry->request_id);
    t->text[ADP_TAKE_TENANT] = put_text(t, &at, f->tenant);
    t->text[ADP_TAKE_SESSION] = put_text(t, &at, f->session);
    t->text[ADP_TAKE_CLASS] = put_text(t, &at, f->slo_class);
    t->size = (uint32_t)((at + sizeof(double) - 1) & ~(sizeof(double) - 1));
    batch->len += t->size;
    batch->n++;
    bool drawn = entry->draw >= 0 && entry->draw < 1;
    w->count.draws += drawn;
    w->count.anonymous += !drawn && !entry->request_id.text;
    return 0;
}

static int add(struct worker *w, struct adp_batch *batch, const struct adp_entry *entry)
{
    bool watch = w->tape->kind->watch;
    const struct known *known;
    switch (entry->kind) {
    case ADP_ENTRY_DECISION:
        if (!watch && !entry->shadow && (known = know(w, entry))->ours)
            return take(w, batch, entry, known);
        w->count.others++;
        return 0;
    case ADP_ENTRY_STATE:
        w->count.samples++;
        return watch ? take(w, batch, entry, know(w, entry)) : 0;
    case ADP_ENTRY_SCRAPE_ERROR:
        w->count.failed++;
        return 0;
    case ADP_ENTRY_OUTCOME:
    case ADP_ENTRY_LOSS:
        break;
    }
    return 0;
}

/* ---- batches -------------------------------------------------------------------------- */

/* Fills a batch; *ret_ended when the lines did not last, or it was stopped. */
static int fill(struct worker *w, struct adp_lines *lines, struct adp_batch *batch,
                bool *ret_ended)
{
    struct adp_raw_line line;
    uint64_t bytes = 0;
    int e;
    *ret_ended = false;
    while ((w->tape->sliceable || bytes < SLICE) && w->found.watch) {
        struct adp_entry entry;
        enum adp_corrupt corrupt;
        if ((e = adp_lines_next(lines, &line, &w->why)) < 0)
            return e;
        bool damaged = !e && adp_lines_is_damaged(lines);
        *ret_ended = !e || is_stopped(w->tape->stop);
        w->count.corrupt += damaged;
        if (*ret_ended)
            return 0;
        bytes += line.len;
        e = line.too_long
                ? 0
                : adp_reader_line(w->reader, line.text, line.len, &entry, &corrupt);
        if (e > 0)
            e = w->tape->kind ? add(w, batch, &entry) : look(&w->found, &entry);
        else if (!e)
            w->count.corrupt += line.too_long || line.len;
        if (e < 0)
            return e;
    }
    return 0;
}

static void read_slice(void *of, unsigned i)
{
    struct adp_tape *tape = of;
    struct worker *w = &tape->worker[i];
    bool ended;
    struct adp_lines *lines = adp_lines_create_slice(tape->fd, w->from, w->to);
    w->code = lines ? fill(w, lines, &tape->batch[i], &ended) : ADP_ENOMEM;
    adp_lines_destroy(lines);
}

/* The next slices, one for each worker, side by side. */
static unsigned read_slices(struct adp_tape *tape)
{
    unsigned n = 0;
    for (; n < tape->n && tape->at < tape->size; n++) {
        uint64_t left = tape->size - tape->at;
        tape->worker[n].from = tape->at;
        tape->at += left < SLICE ? left : SLICE;
        /* What is appended meanwhile belongs to the last. */
        tape->worker[n].to = tape->at == tape->size ? UINT64_MAX : tape->at;
    }
    adp_workers_run(n, read_slice, tape);
    tape->ended = tape->at == tape->size || is_stopped(tape->stop);
    return n;
}

int adp_tape_next(struct adp_tape *tape, const struct adp_batch **ret, unsigned *ret_n,
                  struct adp_error *err)
{
    if (tape->ended)
        return 0;
    for (unsigned i = 0; i < tape->n; i++)
        tape->batch[i].len = tape->batch[i].n = 0;
    unsigned n = 1;
    if (tape->sliceable)
        n = read_slices(tape);
    else
        tape->worker[0].code =
            fill(&tape->worker[0], tape->lines, &tape->batch[0], &tape->ended);
    for (unsigned i = 0; i < n; i++)
        if (tape->worker[i].code < 0) {
            if (err && !err->code && tape->worker[i].why.code)
                *err = tape->worker[i].why;
            return adp_error_set(err, tape->worker[i].code, "out of memory");
        }
    *ret = tape->batch;
    *ret_n = n;
    return 1;
}

struct adp_tape_count adp_tape_counts(const struct adp_tape *tape)
{
    struct adp_tape_count all = { 0 };
    for (unsigned i = 0; i < tape->n; i++) {
        const struct adp_tape_count *count = &tape->worker[i].count;
        all.others += count->others;
        all.samples += count->samples;
        all.failed += count->failed;
        all.corrupt += count->corrupt;
        all.draws += count->draws;
        all.anonymous += count->anonymous;
    }
    return all;
}

/* ---- open and close ------------------------------------------------------------------- */

/* A plain file that is worth it. */
static void measure(struct adp_tape *tape)
{
    struct stat st;
    char first[8];
    if (fstat(tape->fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= SLICE)
        return;
    ssize_t n = pread(tape->fd, first, sizeof first, 0);
    tape->sliceable = n > 0 && !adp_source_is_packed(first, (size_t)n);
    tape->size = (uint64_t)st.st_size;
}

int adp_tape_open(struct adp_tape **ret, const char *path,
                  const struct adp_tape_kind *kind, const char *const *signals, size_t n,
                  volatile const int *stop, struct adp_error *err)
{
    struct adp_tape *tape = calloc(1, sizeof *tape);
    if (!tape)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    tape->path = path;
    tape->kind = kind;
    tape->signals = signals;
    tape->n_signals = n;
    tape->stop = stop;
    int e = tape->fd = open_trace(path, err);
    if (e >= 0)
        measure(tape);
    tape->n = tape->sliceable ? adp_workers_count() : 1;
    if (e >= 0 && !tape->sliceable && !(tape->lines = adp_lines_create(tape->fd)))
        e = ADP_ENOMEM;
    for (unsigned i = 0; e >= 0 && i < tape->n; i++) {
        tape->worker[i].tape = tape;
        tape->worker[i].found.watch = tape->worker[i].found.watched = true;
        if (!(tape->worker[i].reader = adp_reader_create()))
            e = ADP_ENOMEM;
    }
    if (e < 0) {
        adp_tape_close(tape);
        return adp_error_set(err, e, "out of memory");
    }
    *ret = tape;
    return 0;
}

void adp_tape_close(struct adp_tape *tape)
{
    if (!tape)
        return;
    for (unsigned i = 0; i < tape->n; i++) {
        adp_reader_destroy(tape->worker[i].reader);
        free(tape->batch[i].takes);
    }
    adp_lines_destroy(tape->lines);
    if (tape->fd >= 0)
        close(tape->fd);
    free(tape);
}

int adp_tape_find(const char *path, volatile const int *stop, struct adp_tape_kind *ret,
                  struct adp_error *err)
{
    struct adp_tape_kind kind = { .watch = true, .watched = true };
    const struct adp_batch *batches;
    struct adp_tape *tape;
    unsigned n;
    int e = adp_tape_open(&tape, path, NULL, NULL, 0, stop, err);
    if (e < 0)
        return e;
    while (kind.watch && (e = adp_tape_next(tape, &batches, &n, err)) > 0)
        for (unsigned i = 0; i < n && kind.watch; i++) {
            struct adp_tape_kind before = kind, *found = &tape->worker[i].found;
            kind = *found;
            if (*before.experiment)
                memcpy(kind.experiment, before.experiment, sizeof kind.experiment);
        }
    adp_tape_close(tape);
    if (e < 0)
        return e;
    *ret = kind;
    return 0;
}
