/* SPDX-License-Identifier: MIT */
/* The numbers of every page.
 *
 * While lines come in: parts (one per file and identity) add up what is counted by line,
 * events hold what is counted by request. At the end parts become runs, files become logs
 * (the files one run is spread over), events are settled, percentiles taken. */
#include "runtime/analysis/tally.h"

#include "runtime/analysis/finding.h"
#include "runtime/analysis/grow.h"
#include "runtime/analysis/requests.h"
#include "runtime/analysis/workers.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Words that lines say over and over, numbered in the order of their coming. What comes
 * after the last number goes by one word. */
enum { MAX_WORDS = 64 };
#define OTHER_WORDS "(others)"

struct words {
    char *word[MAX_WORDS]; /* owned, each */
    size_t len[MAX_WORDS];
    size_t n, last; /* last: the one found last */
};

/* Which part the lines of a print belong to. */
struct recent {
    uint64_t print; /* 0: none */
    uint32_t file, part;
};
enum { RECENT = 8 }; /* a power of 2 */

struct adp_tally {
    struct adp_log_file *files;
    size_t n_files, cap_files;
    struct adp_index file_by_name;
    struct adp_index writers; /* of what was merged; the numbers say nothing */

    struct adp_part **parts; /* owned, each */
    size_t n_parts, cap_parts;
    struct adp_index part_by_key; /* identity and file */

    struct adp_store *store;
    struct adp_events events;
    struct adp_origin *origins; /* owned */
    size_t n_origins, cap_origins;
    struct words reasons, tenants, priorities;
    struct recent recent[RECENT];
    bool arms_apart;
    const struct adp_lanes *known; /* borrowed: records to be left out; or NULL */

    /* From finish on */
    struct adp_run *runs;
    size_t n_runs;
    struct adp_requests *requests;       /* by run */
    struct adp_run_signal **run_signals; /* by run; owned, each */
    uint32_t *files_of_runs;             /* what run.files points into */
    struct adp_again *again;
    size_t n_again, cap_again;
    uint32_t *run_of_part, *logs, *ranks;
};

/* A tally that is one more owner of the store. */
static struct adp_tally *create_on(struct adp_store *store)
{
    struct adp_tally *tally = calloc(1, sizeof *tally);
    if (tally)
        tally->store = adp_store_share(store);
    return tally;
}

struct adp_tally *adp_tally_create(void)
{
    struct adp_store *store = adp_store_create(ADP_STORE_MEMORY);
    struct adp_tally *tally = store ? create_on(store) : NULL;
    adp_store_release(store);
    return tally;
}

struct adp_tally *adp_tally_branch(const struct adp_tally *tally)
{
    struct adp_tally *branch = create_on(tally->store);
    if (branch)
        branch->arms_apart = tally->arms_apart;
    return branch;
}

void adp_tally_keep_arms_apart(struct adp_tally *tally)
{
    tally->arms_apart = true;
}

int adp_tally_fault(const struct adp_tally *tally, int code, struct adp_error *err)
{
    return code == ADP_EIO ? adp_store_fault(tally->store, err)
                           : adp_error_set(err, code, "out of memory");
}

static void finish_words(struct words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free(words->word[i]);
}

static void finish_origin(struct adp_origin *origin)
{
    free(origin->files);
    free(origin->parts);
    free(origin->reasons);
    free(origin->tenants);
    free(origin->priorities);
}

static void destroy_part(struct adp_part *part)
{
    if (!part)
        return;
    adp_part_finish(part);
    free(part);
}

static void destroy_runs(struct adp_tally *tally)
{
    for (size_t i = 0; tally->requests && i < tally->n_runs; i++)
        adp_requests_finish(tally->store, &tally->requests[i]);
    for (size_t i = 0; tally->run_signals && i < tally->n_runs; i++)
        free(tally->run_signals[i]);
    free(tally->runs);
    free(tally->requests);
    free(tally->run_signals);
    free(tally->files_of_runs);
    free(tally->again);
    free(tally->run_of_part);
    free(tally->logs);
    free(tally->ranks);
}

void adp_tally_destroy(struct adp_tally *tally)
{
    if (!tally)
        return;
    destroy_runs(tally);
    for (size_t i = 0; i < tally->n_files; i++) {
        free(tally->files[i].path);
        adp_lanes_finish(&tally->files[i].lanes);
        destroy_part(tally->files[i].state);
    }
    for (size_t i = 0; i < tally->n_parts; i++)
        destroy_part(tally->parts[i]);
    finish_words(&tally->reasons);
    finish_words(&tally->tenants);
    finish_words(&tally->priorities);
    for (size_t i = 0; i < tally->n_origins; i++)
        finish_origin(&tally->origins[i]);
    free(tally->origins);
    free(tally->files);
    free(tally->parts);
    adp_events_finish(tally->store, &tally->events);
    adp_store_release(tally->store);
    adp_index_finish(&tally->file_by_name);
    adp_index_finish(&tally->writers);
    adp_index_finish(&tally->part_by_key);
    free(tally);
}

/* ---- adding -------------------------------------------------------------------------
 */

int adp_tally_file(struct adp_tally *tally, const char *path, uint32_t *ret)
{
    struct adp_log_file *files =
        adp_grow(tally->files, &tally->cap_files, tally->n_files + 1, sizeof *files);
    if (!files)
        return ADP_ENOMEM;
    tally->files = files;
    char *name = strdup(path);
    bool is_new = false;
    struct adp_key key = { adp_text_hash((struct adp_text) { path, strlen(path) }), 0 };
    uint32_t *at = name ? adp_index_at(&tally->file_by_name, key, &is_new) : NULL;
    if (!at) {
        free(name);
        return ADP_ENOMEM;
    }
    if (is_new) {
        *at = (uint32_t)tally->n_files;
        files[tally->n_files++] = (struct adp_log_file) {
            .path = name, .last_at = NAN, .least_capacity = NAN, .known_in = ADP_NO_RUN
        };
    } else {
        free(name);
    }
    *ret = *at;
    return 0;
}

void adp_tally_line(struct adp_tally *tally, uint32_t file)
{
    tally->files[file].lines++;
}

void adp_tally_corrupt(struct adp_tally *tally, uint32_t file, enum adp_corrupt kind)
{
    struct adp_corrupt_count *count = &tally->files[file].corrupt[kind];
    if (!count->n++)
        count->first = tally->files[file].lines;
}

/* Takes in `part`'s storage unless it fails. */
static int enter_part(struct adp_tally *tally, struct adp_part *part, uint32_t number)
{
    struct adp_part **parts =
        adp_grow(tally->parts, &tally->cap_parts, tally->n_parts + 1, sizeof *parts);
    if (!parts)
        return ADP_ENOMEM;
    tally->parts = parts;
    parts[number] = part;
    tally->n_parts++;
    return 0;
}

static struct adp_key part_key(struct adp_key identity, uint32_t file)
{
    return (struct adp_key) { identity.high, identity.low + file };
}

static int find_part(struct adp_tally *tally, uint32_t file,
                     const struct adp_entry *entry, uint32_t *ret)
{
    struct adp_key identity = adp_part_identity(entry);
    bool is_new;
    if (tally->arms_apart)
        identity.high += entry->enforced; /* a hash: one more is another one */
    uint32_t *at = adp_index_at(&tally->part_by_key, part_key(identity, file), &is_new);
    if (!at)
        return ADP_ENOMEM;
    if (is_new) {
        *at = (uint32_t)tally->n_parts;
        struct adp_part *part = calloc(1, sizeof *part);
        if (!part || adp_part_init(part, tally->store, identity, file, entry) ||
            enter_part(tally, part, *at)) {
            destroy_part(part);
            return ADP_ENOMEM;
        }
        if (tally->arms_apart)
            part->arm = entry->enforced ? ADP_ARM_GOVERNED : ADP_ARM_UNGOVERNED;
    }
    *ret = *at;
    return 0;
}

/* Lines of one print have one identity. */
static int part_of(struct adp_tally *tally, uint32_t file, const struct adp_entry *entry,
                   uint32_t *ret)
{
    uint64_t print = entry->print;
    if (print && tally->arms_apart)
        print += entry->enforced;
    struct recent *recent = &tally->recent[print & (RECENT - 1)];
    if (print && recent->print == print && recent->file == file) {
        *ret = recent->part;
        return 0;
    }
    int e = find_part(tally, file, entry, ret);
    if (!e && print)
        *recent = (struct recent) { print, file, *ret };
    return e;
}

static bool is_word(const struct words *words, size_t i, struct adp_text word)
{
    return words->len[i] == word.len && memcmp(words->word[i], word.text, word.len) == 0;
}

static int word_of(struct words *words, struct adp_text word, uint8_t *ret)
{
    if (!word.text)
        word = (struct adp_text) { "", 0 };
    if (words->last >= words->n || !is_word(words, words->last, word))
        for (words->last = 0; words->last < words->n; words->last++)
            if (is_word(words, words->last, word))
                break;
    if (words->last == MAX_WORDS)
        words->last = MAX_WORDS - 1;
    *ret = (uint8_t)words->last;
    if (words->last < words->n)
        return 0;
    if (words->n == MAX_WORDS - 1)
        word = (struct adp_text) { OTHER_WORDS, sizeof OTHER_WORDS - 1 };
    words->word[words->n] = strndup(word.text, word.len);
    if (!words->word[words->n])
        return ADP_ENOMEM;
    words->len[words->n++] = word.len;
    return 0;
}

/* The priority as a word: "" when there is none. */
static int priority_of(struct adp_tally *tally, double priority, uint8_t *ret)
{
    char text[32] = "";
    if (!isnan(priority))
        snprintf(text, sizeof text, "%.10g", priority);
    return word_of(&tally->priorities, (struct adp_text) { text, strlen(text) }, ret);
}

static int add_decision(struct adp_tally *tally, uint32_t file, uint64_t offset,
                        const struct adp_entry *entry)
{
    struct adp_event event = adp_event_of(entry, file, offset);
    if (part_of(tally, file, entry, &event.owner) ||
        word_of(&tally->reasons, entry->reason, &event.reason) ||
        word_of(&tally->tenants, entry->facts.tenant, &event.tenant) ||
        priority_of(tally, entry->facts.priority, &event.priority))
        return ADP_ENOMEM;
    tally->files[file].decisions++;
    int e = adp_events_add(tally->store, &tally->events, &event);
    return e ? e : adp_part_add(tally->parts[event.owner], entry);
}

static int add_outcome(struct adp_tally *tally, uint32_t file, uint64_t offset,
                       const struct adp_entry *entry)
{
    struct adp_event event = adp_event_of(entry, file, offset);
    tally->files[file].outcomes++;
    tally->files[file].outcome_print += adp_event_print(&event);
    return adp_events_add(tally->store, &tally->events, &event);
}

/* What one target's cache holds: the signal is the sum of all. */
static double least_capacity(const struct adp_entry *entry)
{
    static const char name[] = "kv_capacity";
    double least = NAN;
    for (size_t i = 0; i < entry->n_replicas; i++) {
        const struct adp_log_column *column = &entry->replicas[i];
        if (column->name.len != strlen(name) ||
            memcmp(column->name.text, name, strlen(name)) != 0)
            continue;
        for (size_t k = 0; k < column->n; k++)
            least = fmin(least, column->value[k]);
    }
    return least;
}

/* What else states say matters only where nothing was decided. */
static int add_state(struct adp_tally *tally, uint32_t file,
                     const struct adp_entry *entry)
{
    struct adp_log_file *f = &tally->files[file];
    f->states++;
    f->omitted += entry->metrics_omitted;
    f->least_capacity = fmin(f->least_capacity, least_capacity(entry));
    if (f->decisions)
        return 0;
    if (!f->state) {
        f->state = calloc(1, sizeof *f->state);
        if (!f->state ||
            adp_part_init(f->state, tally->store, adp_part_identity(entry), file, entry))
            return ADP_ENOMEM;
    }
    return adp_part_add(f->state, entry);
}

static bool is_known(const struct adp_tally *tally, const struct adp_entry *entry,
                     uint64_t instance)
{
    bool again = entry->kind == ADP_ENTRY_STATE || entry->kind == ADP_ENTRY_LOSS;
    return tally->known && entry->lane >= 0 && entry->seq >= 0 &&
           adp_lanes_hold(tally->known, instance, entry->lane, entry->seq, again);
}

int adp_tally_add(struct adp_tally *tally, uint32_t file, uint64_t offset,
                  const struct adp_entry *entry)
{
    struct adp_log_file *f = &tally->files[file];
    struct adp_entry timed = *entry;
    /* An entry without a time belongs where it stands. */
    if (isnan(timed.at))
        timed.at = f->last_at;
    f->last_at = timed.at;
    uint64_t instance = adp_text_hash(entry->instance);
    if (is_known(tally, entry, instance)) {
        f->known++;
        return 0;
    }
    if (entry->lane >= 0 && entry->seq >= 0 && entry->kind != ADP_ENTRY_LOSS &&
        adp_lanes_seen(&f->lanes, instance, entry->lane, entry->seq,
                       entry->kind == ADP_ENTRY_STATE))
        return ADP_ENOMEM;
    switch (entry->kind) {
    case ADP_ENTRY_DECISION:
        return add_decision(tally, file, offset, &timed);
    case ADP_ENTRY_OUTCOME:
        return add_outcome(tally, file, offset, &timed);
    case ADP_ENTRY_STATE:
        return add_state(tally, file, &timed);
    case ADP_ENTRY_LOSS:
        return adp_lanes_dropped(&f->lanes, instance, entry->lane, entry->seq,
                                 (uint64_t)entry->lost);
    case ADP_ENTRY_SCRAPE_ERROR:
        f->scrape_errors++;
    }
    return 0;
}

/* ---- merging ------------------------------------------------------------------------
 */

static int merge_file(struct adp_log_file *to, struct adp_log_file *from)
{
    for (int kind = 0; kind < ADP_CORRUPT_KINDS; kind++) {
        struct adp_corrupt_count *count = &to->corrupt[kind],
                                 *more = &from->corrupt[kind];
        if (!count->n && more->n)
            count->first = to->lines + more->first;
        count->n += more->n;
    }
    to->lines += from->lines;
    to->known += from->known;
    to->decisions += from->decisions;
    to->outcomes += from->outcomes;
    to->outcome_print += from->outcome_print;
    to->states += from->states;
    to->scrape_errors += from->scrape_errors;
    to->omitted += from->omitted;
    to->least_capacity = fmin(to->least_capacity, from->least_capacity);
    if (!isnan(from->last_at))
        to->last_at = from->last_at;
    if (!to->state) {
        to->state = from->state;
        from->state = NULL;
    } else if (from->state) {
        int e = adp_part_merge(to->state, from->state);
        if (e)
            return e;
    }
    return adp_lanes_merge(&to->lanes, &from->lanes);
}

static int move_files(struct adp_tally *into, struct adp_tally *from, uint32_t *files)
{
    for (size_t i = 0; i < from->n_files; i++) {
        int e = adp_tally_file(into, from->files[i].path, &files[i]);
        if (!e)
            e = adp_lanes_enter(&from->files[i].lanes, &into->writers);
        if (!e)
            e = merge_file(&into->files[files[i]], &from->files[i]);
        if (e)
            return e;
        if (into->files[files[i]].state)
            into->files[files[i]].state->file = files[i];
    }
    return 0;
}

static int move_parts(struct adp_tally *into, struct adp_tally *from,
                      const uint32_t *files, uint32_t *parts)
{
    for (size_t i = 0; i < from->n_parts; i++) {
        struct adp_part *part = from->parts[i];
        bool is_new;
        struct adp_key key = part_key(part->identity, files[part->file]);
        uint32_t *at = adp_index_at(&into->part_by_key, key, &is_new);
        if (!at)
            return ADP_ENOMEM;
        if (is_new)
            *at = (uint32_t)into->n_parts;
        parts[i] = *at;
        part->file = files[part->file];
        int e =
            is_new ? enter_part(into, part, *at) : adp_part_merge(into->parts[*at], part);
        if (e)
            return e;
        if (!is_new)
            free(part);
        from->parts[i] = NULL;
    }
    return 0;
}

static int move_words(struct words *into, const struct words *from, uint8_t *moves)
{
    for (size_t i = 0; i < from->n; i++)
        if (word_of(into, (struct adp_text) { from->word[i], from->len[i] }, &moves[i]))
            return ADP_ENOMEM;
    return 0;
}

/* What `from` took in from others is two moves away. */
static void compose(struct adp_origin *origin, const struct adp_origin *moves,
                    const struct adp_tally *from)
{
    for (size_t i = 0; i < origin->n_files; i++)
        origin->files[i] = moves->files[origin->files[i]];
    for (size_t i = 0; i < origin->n_parts; i++)
        origin->parts[i] = moves->parts[origin->parts[i]];
    for (size_t i = 0; i < MAX_WORDS; i++) {
        if (origin->reasons[i] < from->reasons.n)
            origin->reasons[i] = moves->reasons[origin->reasons[i]];
        if (origin->tenants[i] < from->tenants.n)
            origin->tenants[i] = moves->tenants[origin->tenants[i]];
        if (origin->priorities[i] < from->priorities.n)
            origin->priorities[i] = moves->priorities[origin->priorities[i]];
    }
}

/* Enters how the numbers of `from` are moved; the events' blocks will name it. */
static int new_origin(struct adp_tally *into, struct adp_tally *from,
                      struct adp_origin **ret)
{
    struct adp_origin *all = adp_grow(into->origins, &into->cap_origins,
                                      into->n_origins + 1 + from->n_origins, sizeof *all);
    if (!all)
        return ADP_ENOMEM;
    into->origins = all;
    struct adp_origin *moves = &all[into->n_origins++];
    *moves = (struct adp_origin) {
        .n_files = from->n_files,
        .n_parts = from->n_parts,
        .files = calloc(from->n_files + 1, sizeof *moves->files),
        .parts = calloc(from->n_parts + 1, sizeof *moves->parts),
        .reasons = calloc(MAX_WORDS, sizeof *moves->reasons),
        .tenants = calloc(MAX_WORDS, sizeof *moves->tenants),
        .priorities = calloc(MAX_WORDS, sizeof *moves->priorities),
    };
    *ret = moves;
    return moves->files && moves->parts && moves->reasons && moves->tenants &&
                   moves->priorities
               ? 0
               : ADP_ENOMEM;
}

static int move_events(struct adp_tally *into, struct adp_tally *from,
                       const struct adp_origin *moves)
{
    uint32_t origin = (uint32_t)into->n_origins;
    for (size_t i = 0; i < from->n_origins; i++) {
        compose(&from->origins[i], moves, from);
        into->origins[into->n_origins++] = from->origins[i];
    }
    from->n_origins = 0;
    for (size_t i = 0; i < ADP_EVENT_PILES; i++) {
        int e = adp_pile_merge(into->store, &into->events.piles[i], from->store,
                               &from->events.piles[i], sizeof(struct adp_event), origin);
        if (e)
            return e;
    }
    into->events.n += from->events.n;
    into->events.by_handle += from->events.by_handle;
    return 0;
}

int adp_tally_merge_take(struct adp_tally *into, struct adp_tally *from)
{
    struct adp_origin *moves;
    int e = new_origin(into, from, &moves);
    if (!e)
        e = move_files(into, from, moves->files);
    if (!e)
        e = move_parts(into, from, moves->files, moves->parts);
    if (!e && (move_words(&into->reasons, &from->reasons, moves->reasons) ||
               move_words(&into->tenants, &from->tenants, moves->tenants) ||
               move_words(&into->priorities, &from->priorities, moves->priorities)))
        e = ADP_ENOMEM;
    if (!e)
        e = move_events(into, from, moves);
    adp_tally_destroy(from);
    return e;
}

/* ---- records that stand in several files ----------------------------------------------
 */

static bool has_identity(const struct adp_tally *file, struct adp_key identity)
{
    for (size_t i = 0; i < file->n_parts; i++)
        if (file->parts[i]->identity.high == identity.high &&
            file->parts[i]->identity.low == identity.low)
            return true;
    return false;
}

/* Do both hold decisions of one identity? A piece without decisions may be anybody's. */
static bool may_share(const struct adp_tally *tally, uint32_t number,
                      const struct adp_tally *file)
{
    if (!tally->files[number].decisions || !file->n_parts)
        return true;
    for (size_t i = 0; i < tally->n_parts; i++)
        if (tally->parts[i]->file == number &&
            has_identity(file, tally->parts[i]->identity))
            return true;
    return false;
}

int adp_tally_find_known(const struct adp_tally *tally, struct adp_tally *file,
                         struct adp_lanes *ret, uint32_t *ret_file)
{
    struct adp_lanes *lanes = &file->files[0].lanes;
    *ret_file = ADP_NO_RUN;
    if (!adp_lanes_any_entered(lanes, &tally->writers))
        return 0;
    for (uint32_t i = 0; i < tally->n_files; i++) {
        struct adp_lanes *others = &tally->files[i].lanes;
        if (!adp_lanes_overlap(lanes, others) || !may_share(tally, i, file))
            continue;
        if (*ret_file == ADP_NO_RUN)
            *ret_file = i;
        if (adp_lanes_merge(ret, others))
            return ADP_ENOMEM;
    }
    adp_lanes_settle(ret);
    return 0;
}

bool adp_tally_has_more(struct adp_tally *file, const struct adp_lanes *known)
{
    struct adp_lanes *lanes = &file->files[0].lanes;
    return !file->n_parts || adp_lanes_beyond(lanes, known, false) ||
           adp_lanes_beyond(lanes, known, true);
}

void adp_tally_leave_out(struct adp_tally *tally, const struct adp_lanes *known)
{
    tally->known = known;
}

void adp_tally_note_known(struct adp_tally *tally, uint32_t file, uint32_t known_in)
{
    tally->files[file].known_in = known_in;
}

/* ---- finishing: parts become runs ----------------------------------------------------
 */

/* A run in the making. */
struct group {
    struct adp_part *part; /* the first; later ones are merged into it at the end */
    uint32_t next;         /* another run of the same identity; ADP_NO_RUN: none */
};

static int note_again(struct adp_tally *tally, uint32_t file, uint32_t run, bool copy,
                      uint64_t left_out)
{
    struct adp_again *again =
        adp_grow(tally->again, &tally->cap_again, tally->n_again + 1, sizeof *again);
    if (!again)
        return ADP_ENOMEM;
    tally->again = again;
    again[tally->n_again++] = (struct adp_again) { file, run, copy, left_out };
    return 0;
}

/* How a part stands to a run of its identity. Files are one run when a process wrote in
 * both and no record stands in both; where a run has a name, anything else is that run
 * again; where it has none, the file tells runs apart unless they hold the same. */
enum kinship { ANOTHER, MORE, COPY, AGAIN };

static enum kinship kinship(struct adp_tally *tally, uint32_t run, const uint32_t *placed,
                            size_t n_placed, const struct adp_part *part)
{
    bool shared = false, same = false, overlap = false;
    for (size_t i = 0; i < n_placed; i++) {
        const struct adp_part *other = tally->parts[placed[i]];
        if (tally->run_of_part[placed[i]] != run)
            continue;
        const struct adp_log_file *a = &tally->files[other->file];
        const struct adp_log_file *b = &tally->files[part->file];
        shared |= adp_part_share_writer(other, part) || b->known_in == other->file;
        same |= other->lines == part->lines && other->fingerprint == part->fingerprint &&
                a->outcome_print == b->outcome_print;
        overlap |= adp_lanes_overlap(&tally->files[other->file].lanes,
                                     &tally->files[part->file].lanes);
    }
    if (overlap || same)
        return COPY;
    return shared ? MORE : part->run ? AGAIN : ANOTHER;
}

/* The part is not counted with the run, its own. Of a copy that could not be read twice something
 * may be left out that is nowhere else. */
static int leave_out(struct adp_tally *tally, const struct adp_part *part, uint32_t run,
                     bool copy)
{
    struct adp_log_file *file = &tally->files[part->file];
    struct adp_lanes known = { 0 };
    uint64_t left_out = copy ? 0 : part->lines;
    int e = 0;
    for (size_t i = 0; i < tally->n_parts && !e && copy; i++)
        if (tally->parts[i]->file != part->file && tally->run_of_part[i] == run &&
            tally->parts[i]->identity.low == part->identity.low)
            e = adp_lanes_merge(&known, &tally->files[tally->parts[i]->file].lanes);
    adp_lanes_settle(&known);
    if (copy && known.n && !e)
        left_out = adp_lanes_beyond(&file->lanes, &known, false);
    adp_lanes_finish(&known);
    return e ? e : note_again(tally, part->file, run, copy, left_out);
}

/* Finds the run of the part `placed[n_placed]`, or makes one. `first` maps an identity to
 * its first run. */
static int place_part(struct adp_tally *tally, struct adp_index *first,
                      struct group *groups, const uint32_t *placed, size_t n_placed)
{
    uint32_t number = placed[n_placed];
    struct adp_part *part = tally->parts[number];
    bool is_new;
    uint32_t *link = adp_index_at(first, part->identity, &is_new);
    if (!link)
        return ADP_ENOMEM;
    if (is_new)
        *link = ADP_NO_RUN;
    for (; *link != ADP_NO_RUN; link = &groups[*link].next) {
        enum kinship kin = kinship(tally, *link, placed, n_placed, part);
        if (kin == ANOTHER)
            continue;
        tally->run_of_part[number] = kin == MORE ? *link : ADP_NO_RUN;
        return kin == MORE ? 0 : leave_out(tally, part, *link, kin == COPY);
    }
    *link = (uint32_t)tally->n_runs;
    tally->run_of_part[number] = *link;
    groups[tally->n_runs++] = (struct group) { part, ADP_NO_RUN };
    return 0;
}

/* A file without decisions is a run of its own, of its states or of nothing. */
static int place_file(struct adp_tally *tally, uint32_t file, struct group *groups)
{
    struct adp_log_file *f = &tally->files[file];
    if (!f->state) {
        struct adp_entry nothing = { .at = NAN, .margin = NAN, .slo_ttft_ms = NAN };
        f->state = calloc(1, sizeof *f->state);
        if (!f->state || adp_part_init(f->state, tally->store,
                                       adp_part_identity(&nothing), file, &nothing))
            return ADP_ENOMEM;
    }
    groups[tally->n_runs++] = (struct group) { f->state, ADP_NO_RUN };
    return 0;
}

/* Part numbers in the order of their files and first lines: a counting sort. */
static int order_parts(const struct adp_tally *tally, uint32_t *ret)
{
    size_t *next = calloc(tally->n_files + 1, sizeof *next);
    if (!next)
        return ADP_ENOMEM;
    for (size_t i = 0; i < tally->n_parts; i++)
        next[tally->parts[i]->file + 1]++;
    for (size_t i = 1; i <= tally->n_files; i++)
        next[i] += next[i - 1];
    for (uint32_t i = 0; i < tally->n_parts; i++)
        ret[next[tally->parts[i]->file]++] = i;
    free(next);
    return 0;
}

static int place_parts(struct adp_tally *tally, struct group *groups)
{
    uint32_t *order = calloc(tally->n_parts + 1, sizeof *order);
    struct adp_index first = { 0 };
    int e = order ? order_parts(tally, order) : ADP_ENOMEM;
    for (size_t i = 0; i < tally->n_parts && !e; i++)
        e = place_part(tally, &first, groups, order, i);
    adp_index_finish(&first);
    free(order);
    return e;
}

/* ---- finishing: files become logs ----------------------------------------------------
 */

/* Files of one run are one log, named by its lowest file. */
static uint32_t log_of(const struct adp_tally *tally, uint32_t file)
{
    while (tally->logs[file] != file)
        file = tally->logs[file];
    return file;
}

static void join_logs(struct adp_tally *tally, uint32_t a, uint32_t b)
{
    a = log_of(tally, a);
    b = log_of(tally, b);
    tally->logs[a > b ? a : b] = a > b ? b : a;
}

/* In a log files follow one another by their first time. */
struct rank {
    uint32_t log, file;
    double first_at;
};

static int by_log_and_time(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->log != y->log)
        return x->log < y->log ? -1 : 1;
    double s = isnan(x->first_at) ? -INFINITY : x->first_at;
    double t = isnan(y->first_at) ? -INFINITY : y->first_at;
    if (s != t)
        return s < t ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

static int rank_files(struct adp_tally *tally)
{
    struct rank *ranks = calloc(tally->n_files + 1, sizeof *ranks);
    if (!ranks)
        return ADP_ENOMEM;
    for (uint32_t i = 0; i < tally->n_files; i++)
        ranks[i] = (struct rank) { log_of(tally, i), i, NAN };
    for (size_t i = 0; i < tally->n_parts; i++) {
        struct rank *rank = &ranks[tally->parts[i]->file];
        double at = tally->parts[i]->first_at;
        if (isnan(rank->first_at) || at < rank->first_at)
            rank->first_at = at;
    }
    qsort(ranks, tally->n_files, sizeof *ranks, by_log_and_time);
    for (uint32_t i = 0; i < tally->n_files; i++)
        tally->ranks[ranks[i].file] = i;
    free(ranks);
    return 0;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* May the file without decisions be a later or earlier piece of the part's log (rotation
 * cuts anywhere)? A process wrote in both, and the states, if any, name the same run. */
static bool continues(const struct adp_tally *tally, const struct adp_log_file *file,
                      const struct adp_part *part)
{
    const struct adp_part *state = file->state;
    bool named = !state || (same_text(state->experiment, part->experiment) &&
                            same_text(state->run, part->run) &&
                            same_text(state->config, part->config));
    return named && adp_lanes_share_writer(&file->lanes, &tally->files[part->file].lanes);
}

/* Joins a file without decisions to the one log it continues. False: there is none, or
 * more than one. */
static bool fold(struct adp_tally *tally, uint32_t file)
{
    uint32_t log = ADP_NO_RUN;
    if (tally->files[file].known_in != ADP_NO_RUN) {
        join_logs(tally, file, tally->files[file].known_in);
        return true;
    }
    for (size_t k = 0; k < tally->n_parts; k++) {
        uint32_t other = log_of(tally, tally->parts[k]->file);
        if (tally->run_of_part[k] == ADP_NO_RUN || other == log ||
            !continues(tally, &tally->files[file], tally->parts[k]))
            continue;
        if (log != ADP_NO_RUN)
            return false;
        log = other;
    }
    if (log != ADP_NO_RUN)
        join_logs(tally, file, log);
    return log != ADP_NO_RUN;
}

/* Joins the files of each run, and what was seen of their lanes in the lowest of them. */
static int make_logs(struct adp_tally *tally, struct group *groups)
{
    for (uint32_t i = 0; i < tally->n_files; i++)
        tally->logs[i] = i;
    for (size_t k = 0; k < tally->n_parts; k++)
        if (tally->run_of_part[k] != ADP_NO_RUN)
            join_logs(tally, groups[tally->run_of_part[k]].part->file,
                      tally->parts[k]->file);
    for (uint32_t i = 0; i < tally->n_files; i++)
        if (!tally->files[i].decisions && !fold(tally, i) && place_file(tally, i, groups))
            return ADP_ENOMEM;
    if (tally->n_files && rank_files(tally))
        return ADP_ENOMEM;
    for (uint32_t i = 0; i < tally->n_files; i++) {
        tally->logs[i] = log_of(tally, i);
        if (tally->logs[i] != i &&
            adp_lanes_merge(&tally->files[tally->logs[i]].lanes, &tally->files[i].lanes))
            return ADP_ENOMEM;
    }
    return 0;
}

/* ---- finishing: runs -----------------------------------------------------------------
 */

/* Says which files each run stands in: those of its log. Their lists lie one after
 * another in one array; runs of one log (a policy and its shadows) share a list. */
static int list_files(struct adp_tally *tally)
{
    const uint32_t **lists = calloc(tally->n_files + 1, sizeof *lists);
    size_t *counts = calloc(tally->n_files + 1, sizeof *counts), n = 0;
    if (lists && counts)
        for (uint32_t log = 0; log < tally->n_files; log++) {
            if (tally->logs[log] != log)
                continue;
            lists[log] = tally->files_of_runs + n;
            for (uint32_t i = log; i < tally->n_files; i++)
                if (tally->logs[i] == log) {
                    tally->files_of_runs[n++] = i;
                    counts[log]++;
                }
        }
    for (size_t i = 0; lists && counts && i < tally->n_runs; i++) {
        uint32_t log = tally->logs[tally->runs[i].part->file];
        tally->runs[i].files = lists[log];
        tally->runs[i].n_files = counts[log];
    }
    int e = lists && counts ? 0 : ADP_ENOMEM;
    free(lists);
    free(counts);
    return e;
}

static int make_runs(struct adp_tally *tally, const struct group *groups)
{
    tally->runs = calloc(tally->n_runs + 1, sizeof *tally->runs);
    tally->requests = calloc(tally->n_runs + 1, sizeof *tally->requests);
    tally->run_signals = calloc(tally->n_runs + 1, sizeof(void *));
    tally->files_of_runs = calloc(tally->n_files + 1, sizeof *tally->files_of_runs);
    if (!tally->runs || !tally->requests || !tally->run_signals || !tally->files_of_runs)
        return ADP_ENOMEM;
    for (uint32_t i = 0; i < tally->n_runs; i++) {
        struct adp_run *run = &tally->runs[i];
        run->part = groups[i].part;
        run->copy_of = ADP_NO_RUN;
        run->decided = tally->files[run->part->file].decisions > 0;
        run->first_arrival = run->last_arrival = run->rate = run->goodput = NAN;
    }
    if (list_files(tally))
        return ADP_ENOMEM;
    for (uint32_t k = 0; k < tally->n_parts; k++) {
        uint32_t i = tally->run_of_part[k];
        struct adp_part *part = tally->parts[k];
        int e = i != ADP_NO_RUN && part != groups[i].part
                    ? adp_part_merge(groups[i].part, part)
                    : 0;
        if (e)
            return e;
    }
    return 0;
}

static int settle_requests(struct adp_tally *tally)
{
    for (size_t i = 0; i < tally->n_runs; i++) {
        tally->requests[i].run = &tally->runs[i];
        tally->requests[i].slo_ttft_ms = tally->runs[i].part->slo_ttft_ms;
    }
    struct adp_join join = { .store = tally->store,
                             .events = &tally->events,
                             .origins = tally->origins,
                             .files = tally->files,
                             .n_files = tally->n_files,
                             .n_runs = tally->n_runs,
                             .n_reasons = tally->reasons.n,
                             .n_tenants = tally->tenants.n,
                             .n_priorities = tally->priorities.n,
                             .logs = tally->logs,
                             .ranks = tally->ranks,
                             .run_of_part = tally->run_of_part,
                             .requests = tally->requests };
    int e = adp_requests_join(&join);
    adp_events_finish(tally->store, &tally->events);
    return e;
}

/* Two runs of one candidate that hold the same decisions and outcomes are one
 * measurement.
 */
static int find_copies(struct adp_tally *tally)
{
    struct adp_index seen = { 0 };
    for (uint32_t i = 0; i < tally->n_runs; i++) {
        struct adp_run *run = &tally->runs[i];
        if (!run->decided)
            continue;
        bool is_new;
        struct adp_key key = { run->part->candidate + run->part->lines,
                               run->part->fingerprint +
                                   tally->requests[i].outcome_print };
        uint32_t *at = adp_index_at(&seen, key, &is_new);
        if (!at) {
            adp_index_finish(&seen);
            return ADP_ENOMEM;
        }
        if (is_new)
            *at = i;
        else
            run->copy_of = *at;
    }
    adp_index_finish(&seen);
    return 0;
}

/* ---- finishing: figures --------------------------------------------------------------
 */

/* A sample whose percentiles a page shows, and where they go. */
struct wanted {
    const struct adp_numbers *sample;
    double *p50, *p95;
    double *at; /* ADP_TTFT_SHARES of them; NULL: not asked for */
};

const double adp_ttft_shares[ADP_TTFT_SHARES] = { .01, .05, .10, .20, .25, .30, .40, .50,
                                                  .60, .70, .75, .80, .90, .95, .99, 1 };

struct ranking {
    struct adp_store *store;
    struct wanted *wanted; /* owned */
    size_t n, cap;
    uint64_t values;
    atomic_size_t next;
    int errors[ADP_WORKERS];
};

static int want(struct ranking *ranking, const struct adp_numbers *sample, double *p50,
                double *p95, double *at)
{
    struct wanted *all =
        adp_grow(ranking->wanted, &ranking->cap, ranking->n + 1, sizeof *all);
    if (!all)
        return ADP_ENOMEM;
    ranking->wanted = all;
    ranking->values += sample->pile.n;
    *p50 = *p95 = NAN;
    for (int i = 0; at && i < ADP_TTFT_SHARES; i++)
        at[i] = NAN;
    if (sample->pile.n)
        all[ranking->n++] = (struct wanted) { sample, p50, p95, at };
    return 0;
}

/* All of a sample's at once: to find one costs as many passes over it as to find them all. */
static int rank_sample(struct adp_store *store, const struct wanted *wanted)
{
    static const double few[] = { 0.50, 0.95 };
    const double *shares = wanted->at ? adp_ttft_shares : few;
    size_t n = wanted->at ? ADP_TTFT_SHARES : sizeof few / sizeof *few;
    double ranks[ADP_TTFT_SHARES];
    int e = adp_numbers_ranks(store, wanted->sample, shares, n, ranks);
    for (size_t i = 0; i < n && !e; i++) {
        if (shares[i] == few[0])
            *wanted->p50 = ranks[i];
        if (shares[i] == few[1])
            *wanted->p95 = ranks[i];
        if (wanted->at)
            wanted->at[i] = ranks[i];
    }
    return e;
}

static void rank_samples(void *context, unsigned worker)
{
    struct ranking *ranking = context;
    int *e = &ranking->errors[worker];
    for (size_t i; !*e && (i = atomic_fetch_add(&ranking->next, 1)) < ranking->n;)
        *e = rank_sample(ranking->store, &ranking->wanted[i]);
}

/* Fewer are not worth a thread. */
enum { VALUES_PER_WORKER = 256 << 10 };

static int rank_all(struct ranking *ranking)
{
    unsigned n = adp_workers_count();
    if (ranking->values / VALUES_PER_WORKER + 1 < n)
        n = (unsigned)(ranking->values / VALUES_PER_WORKER) + 1;
    adp_workers_run(n, rank_samples, ranking);
    for (unsigned i = 0; i < n; i++)
        if (ranking->errors[i])
            return ranking->errors[i];
    return 0;
}

static int fill_signals(struct adp_tally *tally, struct adp_run *run,
                        struct ranking *ranking)
{
    const struct adp_part *part = run->part;
    struct adp_run_signal *signals = calloc(part->n_signals + 1, sizeof *signals);
    tally->run_signals[run - tally->runs] = signals;
    if (!signals)
        return ADP_ENOMEM;
    run->signals = signals;
    run->n_signals = part->n_signals;
    for (size_t i = 0; i < part->n_signals; i++) {
        const struct adp_numbers *sample = &part->signals[i].sample;
        struct adp_run_signal *signal = &signals[i];
        if (want(ranking, sample, &signal->p50, &signal->p95, NULL))
            return ADP_ENOMEM;
        signal->name = part->signals[i].name;
        signal->n = sample->pile.n;
        signal->absent = 1 - (double)signal->n / (double)part->lines;
        signal->min = adp_numbers_min(sample);
        signal->max = adp_numbers_max(sample);
        double mean = part->signals[i].magnitude / (double)signal->n;
        signal->moved =
            signal->max > signal->min ? (signal->max - signal->min) / mean : 0;
    }
    return 0;
}

static int fill_percentiles(struct adp_tally *tally)
{
    struct ranking ranking = { .store = tally->store };
    int e = 0;
    for (size_t i = 0; i < tally->n_runs && !e; i++) {
        struct adp_run *run = &tally->runs[i];
        const struct adp_requests *requests = &tally->requests[i];
        e = run->part->lines ? fill_signals(tally, run, &ranking) : 0;
        run->ttft_n = requests->ttft.pile.n;
        if (!e)
            e = want(&ranking, &requests->ttft, &run->ttft_p50, &run->ttft_p95,
                     run->ttft_at);
        for (int arm = 0; arm < ADP_ARMS && !e; arm++) {
            struct adp_arm_count *count = &run->arms[arm];
            count->ttft_n = requests->ttft_by_arm[arm].pile.n;
            e = want(&ranking, &requests->ttft_by_arm[arm], &count->ttft_p50,
                     &count->ttft_p95, NULL);
        }
    }
    if (!e)
        e = rank_all(&ranking);
    free(ranking.wanted);
    return e;
}

static void fill_moved(struct adp_run *run)
{
    for (size_t i = 0; i < run->n_signals; i++)
        if (run->signals[i].moved > (run->most_moved ? run->most_moved->moved : 0))
            run->most_moved = &run->signals[i];
}

static int most_first(const void *a, const void *b)
{
    const struct adp_reason_count *x = a, *y = b;
    uint64_t n = x->n + x->unheeded, m = y->n + y->unheeded;
    return n != m ? (n < m) - (n > m) : strcmp(x->word, y->word);
}

static void fill_reasons(struct adp_tally *tally, struct adp_run *run,
                         struct adp_requests *requests)
{
    size_t n = 0;
    for (size_t i = 0; i < tally->reasons.n; i++) {
        struct adp_reason_count count = requests->reasons[i];
        count.word = tally->reasons.word[i];
        if (count.n || count.unheeded)
            requests->reasons[n++] = count;
    }
    if (n)
        qsort(requests->reasons, n, sizeof *requests->reasons, most_first);
    run->reasons = requests->reasons;
    run->n_reasons = n;
}

static int most_offered(const void *a, const void *b)
{
    const struct adp_group_count *x = a, *y = b;
    if (!*x->word != !*y->word)
        return *x->word ? -1 : 1;
    if (x->offered != y->offered)
        return x->offered > y->offered ? -1 : 1;
    return strcmp(x->word, y->word);
}

/* How many groups there are; 0 when no request says which it is of. */
static size_t fill_groups(const struct words *words, struct adp_group_count *groups)
{
    size_t n = 0;
    bool any = false;
    for (size_t i = 0; i < words->n; i++) {
        struct adp_group_count group = groups[i];
        group.word = words->word[i];
        if (!group.offered)
            continue;
        any |= *group.word != '\0';
        groups[n++] = group;
    }
    if (n)
        qsort(groups, n, sizeof *groups, most_offered);
    return any ? n : 0;
}

/* Nothing served is nothing met, whether or not anyone watched. */
static void fill_goodput(struct adp_run *run)
{
    if (!run->offered)
        run->no_goodput = ADP_GOODPUT_NO_DECISIONS;
    else if (run->admitted > run->withheld && !run->answered)
        run->no_goodput = ADP_GOODPUT_NO_OUTCOMES;
    else if (run->answered && run->unjudged == run->answered)
        run->no_goodput =
            isnan(run->part->slo_ttft_ms) ? ADP_GOODPUT_NO_SLO : ADP_GOODPUT_NO_TTFT;
    else
        run->goodput = (double)run->met / (double)run->offered;
}

static void fill_instrument(struct adp_tally *tally, struct adp_run *run)
{
    run->least_capacity = NAN;
    for (size_t i = 0; i < run->n_files; i++) {
        const struct adp_log_file *file = &tally->files[run->files[i]];
        run->least_capacity = fmin(run->least_capacity, file->least_capacity);
        for (int kind = 0; kind < ADP_CORRUPT_KINDS; kind++)
            run->corrupt_lines += file->corrupt[kind].n;
        run->scrape_errors += file->scrape_errors;
        run->orphans += file->orphans;
        run->states += file->states;
        run->omitted += file->omitted;
    }
    run->omitted += run->part->omitted;
    run->loss = adp_lanes_loss(&tally->files[tally->logs[run->files[0]]].lanes);
}

static void fill_run(struct adp_tally *tally, struct adp_run *run)
{
    struct adp_requests *requests = &tally->requests[run - tally->runs];
    fill_moved(run);
    fill_reasons(tally, run, requests);
    run->n_tenants = fill_groups(&tally->tenants, requests->tenants);
    run->n_priorities = fill_groups(&tally->priorities, requests->priorities);
    run->tenants = run->n_tenants ? requests->tenants : NULL;
    run->priorities = run->n_priorities ? requests->priorities : NULL;
    double span = run->last_arrival - run->first_arrival;
    if (run->offered > 1 && span > 0)
        run->rate = (double)(run->offered - 1) / span;
    fill_goodput(run);
    fill_instrument(tally, run);
    adp_finding_judge(run);
}

int adp_tally_finish(struct adp_tally *tally)
{
    size_t most = tally->n_parts + tally->n_files + 1;
    struct group *groups = calloc(most, sizeof *groups);
    tally->run_of_part = calloc(tally->n_parts + 1, sizeof *tally->run_of_part);
    tally->logs = calloc(tally->n_files + 1, sizeof *tally->logs);
    tally->ranks = calloc(tally->n_files + 1, sizeof *tally->ranks);
    int e = ADP_ENOMEM;
    if (!groups || !tally->run_of_part || !tally->logs || !tally->ranks)
        goto out;
    if (place_parts(tally, groups) || make_logs(tally, groups)) {
        tally->n_runs = 0; /* none is made yet */
        goto out;
    }
    e = make_runs(tally, groups);
    if (!e)
        e = settle_requests(tally);
    if (!e)
        e = find_copies(tally);
    if (!e)
        e = fill_percentiles(tally);
    for (size_t i = 0; i < tally->n_runs && !e; i++)
        fill_run(tally, &tally->runs[i]);
out:
    free(groups);
    return e;
}

int adp_tally_settle(struct adp_tally *tally, struct adp_error *err)
{
    int e = adp_tally_finish(tally);
    return e ? adp_tally_fault(tally, e, err) : 0;
}

/* ---- what came of it -----------------------------------------------------------------
 */

const struct adp_part *const *adp_tally_parts(const struct adp_tally *tally,
                                              size_t *ret_n)
{
    *ret_n = tally->n_parts;
    return (const struct adp_part *const *)tally->parts;
}

const struct adp_run *adp_tally_runs(const struct adp_tally *tally, size_t *ret_n)
{
    *ret_n = tally->n_runs;
    return tally->runs;
}

const struct adp_log_file *adp_tally_files(const struct adp_tally *tally, size_t *ret_n)
{
    *ret_n = tally->n_files;
    return tally->files;
}

const struct adp_again *adp_tally_again(const struct adp_tally *tally, size_t *ret_n)
{
    *ret_n = tally->n_again;
    return tally->again;
}
