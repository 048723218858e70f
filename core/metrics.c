/* SPDX-License-Identifier: MIT */
/* Metrics: storage of one moment's series.
 *
 * Where things lie:
 *
 *   chunks     text and label arrays, in the order of adding; never moved before clear,
 *              which makes one chunk of them all. Each name is stored once; the labels of
 *              a series lie in one piece, `name="value",name="value"`, as on most pages,
 *              and are hashed in one go, those without a value behind the others and not
 *              hashed.
 *   segments   the series, SEGMENT of them each; never moved, so that a borrowed series
 *              stays where it is while others are added.
 *   names      one per distinct name: the chain of its series.
 *   by_name, by_labels
 *              hash tables: name -> names[], name and labels -> series.
 *
 *  1. A series is in by_labels exactly once, and in the chain of its name exactly once.
 *  2. Everything that can fail happens before anything is changed: a failed add leaves no
 *     trace but memory kept for later.
 *  3. After clear all memory is kept; the same adds in the same order allocate nothing.
 *  4. While `cleared`, everything is as it was and nothing of it is shown; the first add
 *     wipes it. A shape that is whole has as many values as there are series.
 *
 * The hashes are unseeded: who writes the page can make them collide. The bounds of the
 * header bound that. */
#include "core/metrics.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdlib.h>
#include <string.h>

enum {
    SEGMENT = 512,
    SEGMENTS = ADP_METRICS_MAX_SERIES / SEGMENT,
    FIRST_SLOTS = 1024, /* a page of 400 series needs no more */
    FIRST_NAMES = 128,
    TABLE_USED = 32, /* metrics given with a request are often fewer */
    LABEL_MARKS = 4, /* ="", of each label */
    CHUNK = 64 << 10
};

struct chunk {
    struct chunk *next;
    size_t cap;
    char at[];
};

/* Where the next byte goes. What lies behind it may be overwritten. */
struct mark {
    struct chunk *chunk;
    size_t used;
};

struct stored {
    struct adp_series series;
    uint64_t hash; /* of name and labels */
    uint32_t name; /* into names */
};

struct name {
    struct adp_str text;
    uint64_t hash;
    uint32_t first, last; /* series; chained by adp_series.next */
    uint32_t count;
};

/* Open addressing, linear probing, at most half full. */
struct table {
    struct slot {
        uint32_t check; /* high half of the hash */
        uint32_t index; /* ADP_NO_SERIES: free */
    } * slots;
    size_t mask;
    uint32_t n_used;
    uint32_t
        used[TABLE_USED]; /* the slots of the first ones put: clearing few is cheap */
};

struct adp_metrics {
    struct chunk *chunks; /* at least one */
    struct mark top;
    struct stored *segments[SEGMENTS]; /* the first; NULL from the first never used */
    uint32_t n_series;
    struct name *names;
    uint32_t n_names, cap_names;
    struct table by_name, by_labels;
    uint64_t
        name_bits[8]; /* a bit for the hash of each name: says no at once, or maybe */
    size_t text;      /* bytes of names and labels held */
    uint32_t duplicates;
    bool timed; /* some series has, or had since it was cleared, a timestamp */
    bool tells_created;
    bool cleared;
    struct adp_page_shape shape;
};

static struct stored *stored_at(const struct adp_metrics *m, uint32_t i)
{
    return &m->segments[i / SEGMENT][i % SEGMENT];
}

/* ---- chunks ---- */

static struct chunk *chunk_create(size_t cap)
{
    struct chunk *c = malloc(sizeof *c + cap);
    if (c) {
        c->next = NULL;
        c->cap = cap;
    }
    return c;
}

static void chunks_destroy(struct chunk *c)
{
    while (c) {
        struct chunk *next = c->next;
        free(c);
        c = next;
    }
}

/* `size` bytes at a multiple of `align`, borrowed until clear; NULL when memory is out.
 * A chunk too small for this is left out until the next clear. */
static inline void *take(struct adp_metrics *m, size_t size, size_t align)
{
    size_t at = (m->top.used + align - 1) & ~(align - 1);
    while (at > m->top.chunk->cap || m->top.chunk->cap - at < size) {
        struct chunk **next = &m->top.chunk->next;
        if (!*next)
            *next = chunk_create(size > CHUNK ? size : CHUNK);
        if (!*next)
            return NULL;
        m->top.chunk = *next;
        at = 0;
    }
    m->top.used = at + size;
    return m->top.chunk->at + at;
}

/* One chunk as large as all, so that the next page of this size fits into it and chunks
 * of odd sizes do not pile up. Without memory for it all stay. */
static void join_chunks(struct adp_metrics *m)
{
    size_t cap = 0;
    for (struct chunk *c = m->chunks; c; c = c->next)
        cap += c->cap;
    if (m->chunks->next) {
        struct chunk *one = chunk_create(cap);
        if (one) {
            chunks_destroy(m->chunks);
            m->chunks = one;
        }
    }
    m->top = (struct mark) { m->chunks, 0 };
}

/* ---- tables ---- */

static void table_wipe(struct table *t)
{
    memset(t->slots, 0xff, (t->mask + 1) * sizeof *t->slots);
    t->n_used = 0;
}

static void table_clear(struct table *t)
{
    if (t->n_used > TABLE_USED) {
        table_wipe(t);
        return;
    }
    for (uint32_t i = 0; i < t->n_used; i++)
        t->slots[t->used[i]].index = ADP_NO_SERIES;
    t->n_used = 0;
}

static int table_init(struct table *t, size_t slots)
{
    t->slots = malloc(slots * sizeof *t->slots);
    if (!t->slots)
        return ADP_ENOMEM;
    t->mask = slots - 1;
    table_wipe(t);
    return 0;
}

static void table_put(struct table *t, uint64_t hash, uint32_t index)
{
    size_t i = hash & t->mask;
    while (t->slots[i].index != ADP_NO_SERIES)
        i = (i + 1) & t->mask;
    t->slots[i] = (struct slot) { (uint32_t)(hash >> 32), index };
    if (t->n_used < TABLE_USED)
        t->used[t->n_used] = (uint32_t)i;
    t->n_used++;
}

/* The next index from slot *at on that may be the one sought, or ADP_NO_SERIES. */
static uint32_t table_next(const struct table *t, uint64_t hash, size_t *at)
{
    for (size_t i = *at;; i = (i + 1) & t->mask) {
        struct slot s = t->slots[i];
        if (s.index != ADP_NO_SERIES && s.check != (uint32_t)(hash >> 32))
            continue;
        *at = (i + 1) & t->mask;
        return s.index;
    }
}

/* ---- names ---- */

static uint64_t hash_text(struct adp_str text)
{
    return XXH3_64bits(text.p, text.n);
}

/* Which word of name_bits, and which bit in it. */
static size_t word_of(uint64_t hash)
{
    return (size_t)(hash >> 61);
}

static uint64_t bit_of(uint64_t hash)
{
    return UINT64_C(1) << (hash >> 55 & 63);
}

static uint32_t find_name(const struct adp_metrics *m, struct adp_str name, uint64_t hash)
{
    if (!(m->name_bits[word_of(hash)] & bit_of(hash)))
        return ADP_NO_SERIES;
    size_t at = hash & m->by_name.mask;
    uint32_t i = ADP_NO_SERIES;
    while (!m->cleared && (i = table_next(&m->by_name, hash, &at)) != ADP_NO_SERIES)
        if (adp_str_same(m->names[i].text, name))
            break;
    return i;
}

/* As find_name, with the hash; on a page the series of one name mostly stand together. */
static uint32_t find_next_name(const struct adp_metrics *m, struct adp_str name,
                               uint64_t *ret_hash)
{
    if (m->n_series) {
        uint32_t last = stored_at(m, m->n_series - 1)->name;
        *ret_hash = m->names[last].hash;
        if (adp_str_same(m->names[last].text, name))
            return last;
    }
    *ret_hash = hash_text(name);
    return find_name(m, name, *ret_hash);
}

/* Makes room for one more name, in the table too. */
static int reserve_name(struct adp_metrics *m)
{
    if (m->n_names == m->cap_names) {
        struct name *names = realloc(m->names, 2 * m->cap_names * sizeof *names);
        if (!names)
            return ADP_ENOMEM;
        m->names = names;
        m->cap_names *= 2;
    }
    if (m->n_names < m->by_name.mask / 2)
        return 0;
    struct table larger;
    if (table_init(&larger, 2 * (m->by_name.mask + 1)))
        return ADP_ENOMEM;
    for (uint32_t i = 0; i < m->n_names; i++)
        table_put(&larger, m->names[i].hash, i);
    free(m->by_name.slots);
    m->by_name = larger;
    return 0;
}

/* ---- series ---- */

static uint64_t mix(uint64_t name_hash, uint64_t labels_hash)
{
    return labels_hash + name_hash * UINT64_C(0x9e3779b97f4a7c15); /* odd: 2^64 / 1.618 */
}

/* Writes a label and a comma: its bytes and LABEL_MARKS more. *label then lies there.
 * Returns what is behind. */
static char *put_label(char *to, struct adp_label *label)
{
    char *p = to;
    memcpy(p, label->name.p, label->name.n);
    label->name.p = p;
    p += label->name.n;
    *p++ = '=';
    *p++ = '"';
    if (label->value.n)
        memcpy(p, label->value.p, label->value.n);
    label->value.p = p;
    p += label->value.n;
    *p++ = '"';
    *p++ = ',';
    return p;
}

/* The bytes of labels as they are hashed; SIZE_MAX: they are more than `cap`. */
static size_t flatten(const struct adp_label *labels, uint32_t n, char *to, size_t cap)
{
    char *p = to;
    for (uint32_t i = 0; i < n; i++) {
        struct adp_label label = labels[i];
        size_t left = cap - (size_t)(p - to);
        if (!label.value.n)
            continue;
        if (left <= LABEL_MARKS || label.name.n > left - LABEL_MARKS ||
            label.value.n > left - LABEL_MARKS - label.name.n)
            return SIZE_MAX;
        p = put_label(p, &label);
    }
    return (size_t)(p - to) - (p > to); /* less the comma behind the last */
}

/* The hash of labels that lie anywhere: what XXH3_64bits gives for them in one piece. Its
 * state is 576 bytes to set up, so that few bytes are better put together first. */
static uint64_t hash_labels(const struct adp_label *labels, uint32_t n)
{
    char flat[256];
    size_t bytes = flatten(labels, n, flat, sizeof flat);
    if (bytes != SIZE_MAX)
        return XXH3_64bits(flat, bytes);
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    const char *before = "";
    for (uint32_t i = 0; i < n; i++) {
        if (!labels[i].value.n)
            continue;
        XXH3_64bits_update(&state, before, strlen(before));
        XXH3_64bits_update(&state, labels[i].name.p, labels[i].name.n);
        XXH3_64bits_update(&state, "=\"", 2);
        XXH3_64bits_update(&state, labels[i].value.p, labels[i].value.n);
        before = "\",";
    }
    XXH3_64bits_update(&state, before, strlen(before) > 0);
    return XXH3_64bits_digest(&state);
}

static bool same_labels(const struct adp_series *a, const struct adp_series *b)
{
    uint32_t i = adp_label_told(a, 0), j = adp_label_told(b, 0);
    for (; i < a->n_labels && j < b->n_labels;
         i = adp_label_told(a, i + 1), j = adp_label_told(b, j + 1))
        if (!adp_str_same(a->labels[i].name, b->labels[j].name) ||
            !adp_str_same(a->labels[i].value, b->labels[j].value))
            return false;
    return i == a->n_labels && j == b->n_labels;
}

/* The series of names[name] with the labels of `as`, which hash to `hash` with it. */
static inline struct stored *find_stored(const struct adp_metrics *m, uint32_t name,
                                         const struct adp_series *as, uint64_t hash)
{
    size_t at = hash & m->by_labels.mask;
    uint32_t i;
    while ((i = table_next(&m->by_labels, hash, &at)) != ADP_NO_SERIES) {
        struct stored *s = stored_at(m, i);
        if (s->name == name && same_labels(&s->series, as))
            return s;
    }
    return NULL;
}

/* Makes room for one more series, in the table too. */
static int reserve_series(struct adp_metrics *m)
{
    struct stored **segment = &m->segments[m->n_series / SEGMENT];
    if (!*segment)
        *segment = malloc(SEGMENT * sizeof **segment);
    if (!*segment)
        return ADP_ENOMEM;
    if (m->n_series < m->by_labels.mask / 2)
        return 0;
    struct table larger;
    if (table_init(&larger, 2 * (m->by_labels.mask + 1)))
        return ADP_ENOMEM;
    for (uint32_t i = 0; i < m->n_series; i++)
        table_put(&larger, stored_at(m, i)->hash, i);
    free(m->by_labels.slots);
    m->by_labels = larger;
    return 0;
}

/* As adp_str_compare > 0; the first byte mostly decides. */
static inline bool comes_after(struct adp_str a, struct adp_str b)
{
    if (a.n && b.n && a.p[0] != b.p[0])
        return (unsigned char)a.p[0] > (unsigned char)b.p[0];
    return adp_str_compare(a, b) > 0;
}

/* Few, and on most pages sorted already. */
static void sort_labels(struct adp_label *labels, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        if (!comes_after(labels[i - 1].name, labels[i].name))
            continue;
        struct adp_label moving = labels[i];
        uint32_t j = i;
        for (; j > 0 && comes_after(labels[j - 1].name, moving.name); j--)
            labels[j] = labels[j - 1];
        labels[j] = moving;
    }
}

/* What can be said of a series without looking at the others; its labels' bytes. */
static int check_given(struct adp_str name, const struct adp_label *labels, uint32_t n,
                       size_t *ret_bytes, struct adp_error *err)
{
    if (!name.n)
        return adp_error_set(err, ADP_EINVAL, "metric name is empty");
    uint32_t own = 0;
    for (uint32_t i = 0; i < n && n == ADP_METRICS_MOST_LABELS; i++)
        own |= adp_str_is(labels[i].name, ADP_METRICS_OWN_LABEL);
    if (n - own > ADP_METRICS_MAX_LABELS)
        return adp_error_set(err, ADP_EFULL, "more than %u labels on one series",
                             ADP_METRICS_MAX_LABELS);
    size_t bytes = 0, longest = name.n;
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_label *l = &labels[i];
        size_t longer = l->name.n > l->value.n ? l->name.n : l->value.n;
        if (!l->name.n)
            return adp_error_set(err, ADP_EINVAL, "label name is empty");
        longest = longer > longest ? longer : longest;
        bytes += l->name.n + l->value.n;
    }
    /* what is too long in itself makes a sum that says nothing */
    if (longest > ADP_METRICS_MAX_TEXT || name.n + bytes > ADP_METRICS_MAX_TEXT)
        return adp_error_set(err, ADP_EFULL, "more than %u bytes of names and labels",
                             ADP_METRICS_MAX_TEXT);
    *ret_bytes = bytes;
    return 0;
}

/* Copies labels that are `text`, whole and as they are to lie; false: something is to be
 * done about them. */
static bool copy_text(struct adp_label *copy, char *to, struct adp_str text,
                      const struct adp_label *labels, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_label *l = &labels[i];
        if (!l->value.n || (i && !comes_after(l->name, l[-1].name)))
            return false;
        copy[i].name = (struct adp_str) { to + (l->name.p - text.p), l->name.n };
        copy[i].value = (struct adp_str) { to + (l->value.p - text.p), l->value.n };
    }
    memcpy(to, text.p, text.n);
    return true;
}

/* Copies labels sorted, one by one; the length of what is to be hashed into *ret_hashed. */
static int copy_sorted(struct adp_label *copy, char *to, const struct adp_label *labels,
                       uint32_t n, size_t *ret_hashed, struct adp_error *err)
{
    memcpy(copy, labels, n * sizeof *copy);
    sort_labels(copy, n);
    for (uint32_t i = 1; i < n; i++)
        if (adp_str_same(copy[i - 1].name, copy[i].name))
            return adp_error_set(err, ADP_EINVAL, "label given twice: \"%.*s\"",
                                 copy[i].name.n < 64 ? (int)copy[i].name.n : 64,
                                 copy[i].name.p);
    char *end = to;
    for (uint32_t i = 0; i < n; i++)
        if (copy[i].value.n)
            end = put_label(end, &copy[i]);
    *ret_hashed = (size_t)(end - to) - (end > to); /* less the comma behind the last */
    for (uint32_t i = 0; i < n; i++)
        if (!copy[i].value.n)
            end = put_label(end, &copy[i]);
    return 0;
}

/* Copies, sorts and hashes the labels, of `bytes`: fills series.labels and n_labels of *to,
 * and hash with that of the labels alone. */
static int copy_labels(struct adp_metrics *m, struct adp_str text,
                       const struct adp_label *labels, uint32_t n, size_t bytes,
                       struct stored *to, struct adp_error *err)
{
    size_t hashed = 0, size = bytes + n * LABEL_MARKS;
    if (!n) {
        to->hash = XXH3_64bits("", 0);
        return 0;
    }
    struct adp_label *copy = take(m, n * sizeof *copy + size, _Alignof(struct adp_label));
    if (!copy)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    char *at = (char *)(copy + n);
    /* with nothing but the marks and commas between there is nothing else in it */
    if (text.n == size - 1 && copy_text(copy, at, text, labels, n)) {
        hashed = text.n;
    } else {
        int code = copy_sorted(copy, at, labels, n, &hashed, err);
        if (code)
            return code;
    }
    to->series.labels = copy;
    to->series.n_labels = n;
    to->hash = XXH3_64bits(at, hashed);
    return 0;
}

/* A name without series yet; room is reserved. */
static uint32_t append_name(struct adp_metrics *m, char *text, struct adp_str name,
                            uint64_t hash)
{
    memcpy(text, name.p, name.n);
    name.p = text;
    m->names[m->n_names] = (struct name) {
        .text = name, .hash = hash, .first = ADP_NO_SERIES, .last = ADP_NO_SERIES
    };
    m->text += name.n;
    m->name_bits[word_of(hash)] |= bit_of(hash);
    m->tells_created |= name.n > sizeof "_created" - 1 && adp_str_ends(name, "_created");
    table_put(&m->by_name, hash, m->n_names);
    return m->n_names++;
}

/* `new` is whole but for what ties it to its name: `name` names an entry, or is
 * ADP_NO_SERIES for a name never seen. `bytes` are its labels'. */
static int append(struct adp_metrics *m, struct stored *new, struct adp_str name,
                  uint64_t name_hash, size_t bytes, struct adp_error *err)
{
    bool first = new->name == ADP_NO_SERIES;
    size_t more = bytes + (first ? name.n : 0);
    if (m->n_series == ADP_METRICS_MAX_SERIES)
        return adp_error_set(err, ADP_EFULL, "more than %u series",
                             ADP_METRICS_MAX_SERIES);
    if (more > ADP_METRICS_MAX_TEXT - m->text)
        return adp_error_set(err, ADP_EFULL, "more than %u bytes of names and labels",
                             ADP_METRICS_MAX_TEXT);
    char *text = first ? take(m, name.n, 1) : NULL;
    if ((first && !text) || reserve_series(m) || (first && reserve_name(m)))
        return adp_error_set(err, ADP_ENOMEM, "out of memory");

    if (first)
        new->name = append_name(m, text, name, name_hash);
    struct name *of = &m->names[new->name];
    new->series.name = of->text;
    if (of->count)
        stored_at(m, of->last)->series.next = m->n_series;
    else
        of->first = m->n_series;
    of->last = m->n_series;
    of->count++;
    m->text += bytes;
    *stored_at(m, m->n_series) = *new;
    table_put(&m->by_labels, new->hash, m->n_series);
    m->n_series++;
    return 0;
}

static void wipe(struct adp_metrics *m)
{
    join_chunks(m);
    table_clear(&m->by_name);
    table_clear(&m->by_labels);
    adp_page_shape_clear(&m->shape);
    memset(m->name_bits, 0, sizeof m->name_bits);
    m->n_series = 0;
    m->n_names = 0;
    m->text = 0;
    m->duplicates = 0;
    m->cleared = m->timed = m->tells_created = false;
}

int adp_metrics_add(struct adp_metrics *m, struct adp_str name,
                    const struct adp_label *labels, uint32_t n_labels, double value,
                    bool has_time, double time_s, struct adp_error *err)
{
    return adp_metrics_add_read(m, name, (struct adp_str) { NULL, 0 }, labels, n_labels,
                                value, has_time, time_s, err);
}

int adp_metrics_add_read(struct adp_metrics *m, struct adp_str name, struct adp_str text,
                         const struct adp_label *labels, uint32_t n_labels, double value,
                         bool has_time, double time_s, struct adp_error *err)
{
    size_t bytes = 0;
    if (m->cleared)
        wipe(m);
    m->shape.whole = false;
    int code = check_given(name, labels, n_labels, &bytes, err);
    if (code)
        return code;
    struct mark before = m->top;
    struct stored new = { .series = { .next = ADP_NO_SERIES,
                                      .value = value,
                                      .has_time = has_time,
                                      .time_s = has_time ? time_s : 0.0 } };
    code = copy_labels(m, text, labels, n_labels, bytes, &new, err);
    if (code)
        goto undo;
    uint64_t name_hash;
    new.name = find_next_name(m, name, &name_hash);
    new.hash = mix(name_hash, new.hash);
    struct stored *old = new.name == ADP_NO_SERIES
                             ? NULL
                             : find_stored(m, new.name, &new.series, new.hash);
    if (!old) {
        code = append(m, &new, name, name_hash, bytes, err);
        if (code)
            goto undo;
        m->timed |= has_time;
        return 0;
    }
    m->timed |= has_time;
    old->series.value = value;
    old->series.has_time = has_time;
    old->series.time_s = new.series.time_s;
    m->duplicates++;
undo: /* the copy of the labels is not needed */
    m->top = before;
    return code;
}

/* ---- the object ---- */

int adp_metrics_create(struct adp_metrics **ret)
{
    struct adp_metrics *m = calloc(1, sizeof *m);
    if (!m)
        return ADP_ENOMEM;
    m->chunks = chunk_create(CHUNK);
    m->names = malloc(FIRST_NAMES * sizeof *m->names);
    m->cap_names = FIRST_NAMES;
    m->segments[0] = malloc(SEGMENT * sizeof *m->segments[0]);
    if (!m->chunks || !m->names || !m->segments[0] ||
        table_init(&m->by_name, FIRST_SLOTS / 4) ||
        table_init(&m->by_labels, FIRST_SLOTS)) {
        adp_metrics_destroy(m);
        return ADP_ENOMEM;
    }
    m->top = (struct mark) { m->chunks, 0 };
    *ret = m;
    return 0;
}

void adp_metrics_destroy(struct adp_metrics *m)
{
    if (!m)
        return;
    chunks_destroy(m->chunks);
    for (size_t i = 0; i < SEGMENTS; i++)
        free(m->segments[i]);
    free(m->names);
    free(m->by_name.slots);
    free(m->by_labels.slots);
    adp_page_shape_finish(&m->shape);
    free(m);
}

void adp_metrics_clear(struct adp_metrics *m)
{
    if (m->shape.whole)
        m->cleared = true;
    else
        wipe(m);
}

/* ---- the same page again ---- */

struct adp_page_shape *adp_metrics_shape(struct adp_metrics *m)
{
    return &m->shape;
}

bool adp_metrics_restore(struct adp_metrics *m)
{
    if (!m->cleared || !m->shape.whole)
        return false;
    m->cleared = m->timed = false;
    return true;
}

void adp_metrics_repeat(struct adp_metrics *m, uint32_t i, double value, bool has_time,
                        double time_s)
{
    struct adp_series *s = &stored_at(m, i)->series;
    s->value = value;
    s->has_time = has_time;
    s->time_s = time_s;
    m->timed |= has_time;
}

/* ---- reading ---- */

uint32_t adp_metrics_count(const struct adp_metrics *m)
{
    return m->cleared ? 0 : m->n_series;
}

const struct adp_series *adp_metrics_at(const struct adp_metrics *m, uint32_t i)
{
    return &stored_at(m, i)->series;
}

uint32_t adp_metrics_find(const struct adp_metrics *m, const char *name, size_t len)
{
    return adp_metrics_find_hashed(m, name, len, adp_metrics_hash(name, len));
}

uint64_t adp_metrics_hash(const char *name, size_t len)
{
    return hash_text((struct adp_str) { name, len });
}

uint32_t adp_metrics_find_hashed(const struct adp_metrics *m, const char *name,
                                 size_t len, uint64_t hash)
{
    uint32_t i = find_name(m, (struct adp_str) { name, len }, hash);
    return i == ADP_NO_SERIES ? i : m->names[i].first;
}

uint32_t adp_metrics_names(const struct adp_metrics *m)
{
    return m->cleared ? 0 : m->n_names;
}

uint64_t adp_metrics_name_hash(const struct adp_metrics *m, uint32_t i)
{
    return m->names[i].hash;
}

const struct adp_series *adp_metrics_same(const struct adp_metrics *m,
                                          const struct adp_series *as)
{
    uint64_t name_hash = hash_text(as->name);
    uint32_t name = find_name(m, as->name, name_hash);
    if (name == ADP_NO_SERIES)
        return NULL;
    uint64_t hash = mix(name_hash, hash_labels(as->labels, as->n_labels));
    const struct stored *s = find_stored(m, name, as, hash);
    return s ? &s->series : NULL;
}

void adp_metrics_set(struct adp_metrics *m, uint32_t i, double value)
{
    m->shape.whole = false;
    adp_metrics_repeat(m, i, value, false, 0.0);
}

uint32_t adp_metrics_duplicates(const struct adp_metrics *m)
{
    return m->cleared ? 0 : m->duplicates;
}

bool adp_metrics_timed(const struct adp_metrics *m)
{
    return !m->cleared && m->timed;
}

bool adp_metrics_tells_created(const struct adp_metrics *m)
{
    return !m->cleared && m->tells_created;
}

bool adp_metrics_newest(const struct adp_metrics *m, double *ret_s)
{
    bool found = false;
    double newest = 0.0;
    for (uint32_t i = 0; i < adp_metrics_count(m); i++) {
        const struct adp_series *s = adp_metrics_at(m, i);
        if (s->has_time && (!found || s->time_s > newest)) {
            found = true;
            newest = s->time_s;
        }
    }
    if (found)
        *ret_s = newest;
    return found;
}

/* ---- writing ---- */

/* Escaped twice: for the quotes of the label, and these for the JSON string around. */
static void write_label_value(struct adp_line *line, struct adp_str value)
{
    size_t from = 0;
    for (size_t i = 0; i < value.n; i++) {
        const char *twice = value.p[i] == '\\'   ? "\\\\\\\\"
                            : value.p[i] == '"'  ? "\\\\\\\""
                            : value.p[i] == '\n' ? "\\\\n"
                                                 : NULL;
        if (!twice)
            continue;
        adp_line_escaped(line, value.p + from, i - from);
        adp_line_puts(line, twice);
        from = i + 1;
    }
    adp_line_escaped(line, value.p + from, value.n - from);
}

static void write_labels(struct adp_line *line, const struct adp_series *s)
{
    for (uint32_t i = 0; i < s->n_labels; i++) {
        adp_line_put(line, i ? "," : "{", 1);
        adp_line_escaped(line, s->labels[i].name.p, s->labels[i].name.n);
        adp_line_puts(line, "=\\\"");
        write_label_value(line, s->labels[i].value);
        adp_line_puts(line, "\\\"");
    }
    if (s->n_labels)
        adp_line_put(line, "}", 1);
}

void adp_metrics_write_key(const struct adp_metrics *m, uint32_t i, struct adp_line *line)
{
    const struct adp_str own = { ADP_METRICS_OWN_LABEL,
                                 sizeof ADP_METRICS_OWN_LABEL - 1 };
    const struct stored *s = stored_at(m, i);
    adp_line_escaped(line, s->series.name.p, s->series.name.n);
    /* Whose it is of a pool does not go without saying, though it is the only one. */
    if (m->names[s->name].count > 1 || adp_label_of(&s->series, own).n)
        write_labels(line, &s->series);
}

void adp_metrics_write(const struct adp_metrics *m, struct adp_line *line)
{
    adp_line_put(line, "{", 1);
    for (uint32_t i = 0; i < adp_metrics_count(m); i++) {
        adp_line_puts(line, i ? ",\"" : "\"");
        adp_metrics_write_key(m, i, line);
        adp_line_puts(line, "\":");
        adp_line_number(line, stored_at(m, i)->series.value);
    }
    adp_line_put(line, "}", 1);
}
