/* SPDX-License-Identifier: MIT */
/* Records as lines of the log (docs/log-format.md). Pure formatting; what a record refers
 * to is handed in. */
#ifndef ADP_CORE_WRITE_H
#define ADP_CORE_WRITE_H

#include "core/keys.h"
#include "core/line.h"
#include "core/metrics.h"
#include "core/record.h"

/* The texts that the decisions of one generation share, ready to be copied into lines. */
struct adp_words {
    uint32_t generation, n_policies, n_signals;
    char *text; /* owned; NULL: not set */
    struct adp_str identity, tail;
    struct adp_str policy[ADP_MAX_POLICIES], terms[ADP_MAX_POLICIES];
    struct adp_str key[ADP_MAX_KNOWN];
    struct adp_str source[ADP_MAX_KNOWN][ADP_MAX_SOURCES];
    uint32_t n_sources[ADP_MAX_KNOWN];
    size_t signals_room; /* bytes that the signals of a line may take */
};
/* Copies and cuts the texts of a record. False: out of memory. *ret_bad: they are not
 * whole. */
bool adp_words_set(struct adp_words *words, const struct adp_rec_generation *record,
                   bool *ret_bad);
void adp_words_finish(struct adp_words *words);
/* The writer's side: appends one text, or a count, to a packed list. */
void adp_words_add(struct adp_line *packed, const char *text, size_t len);
void adp_words_add_count(struct adp_line *packed, uint32_t count);

/* Where the variable parts of a snapshot lie; false when they exceed its bytes. */
struct adp_snapshot_parts {
    const struct adp_rec_reading *reading;
    const struct adp_rec_replicas *replicas; /* NULL: none */
    struct adp_str metrics, pool;            /* JSON; n 0: none */
};
bool adp_write_split_snapshot(const struct adp_rec_snapshot *record,
                              struct adp_snapshot_parts *ret);

/* What decisions need to know of the snapshot they name. */
struct adp_seen {
    uint64_t number, mono_ns; /* number 0: none */
    uint32_t n, n_series;
    struct adp_rec_reading
        *reading;  /* owned, ADP_MAX_KNOWN of them; NULL before the first */
    char *metrics; /* owned; the raw JSON object, if kept */
    size_t metrics_len;
    /* What decisions that saw just this say of their signals, in the words of that
     * generation; 0: not written yet. The writer's own. */
    uint32_t told_generation;
    struct adp_line told;
    size_t told_whys;
};
bool adp_seen_set(struct adp_seen *seen, const struct adp_rec_snapshot *record,
                  const struct adp_snapshot_parts *parts, bool keep_metrics);
void adp_seen_finish(struct adp_seen *seen);

/* Where the variable parts of a decision lie; false when its lengths exceed its bytes. */
struct adp_decision_parts {
    const double *value;                          /* without INLINE */
    const struct adp_rec_reading *inline_reading; /* with INLINE */
    const struct adp_rec_replicas *replicas;      /* with REPLICAS; else NULL */
    const uint8_t *series;                        /* with INLINE: packed, or doubles */
    uint32_t series_len;
    struct adp_str id, tenant, session, slo_class;
};
bool adp_write_split(const struct adp_rec_decision *record,
                     struct adp_decision_parts *ret);

struct adp_tag { /* who wrote it, and which it is */
    uint64_t instance, seq;
    uint32_t lane;
};

/* Each appends one whole line with its newline. `words`, `seen` may be NULL: then what
 * they would say is left out. `keys`: for metrics that came with the request; it knows the
 * shape of values (adp_keys_knows). Metrics that would make it longer than ADP_LINE_MAX are
 * left out, and how many there were is said instead. */
void adp_write_decision(struct adp_line *to, const struct adp_rec_decision *record,
                        const struct adp_decision_parts *parts,
                        const struct adp_words *words, struct adp_seen *seen,
                        struct adp_keys *keys, bool inline_metrics, struct adp_tag tag);
void adp_write_outcome(struct adp_line *to, const struct adp_rec_outcome *record,
                       struct adp_tag tag);
void adp_write_snapshot(struct adp_line *to, const struct adp_rec_snapshot *record,
                        const struct adp_snapshot_parts *parts,
                        const struct adp_words *words, struct adp_tag tag);
void adp_write_scrape_error(struct adp_line *to, const struct adp_rec_text *record,
                            struct adp_tag tag);
void adp_write_loss(struct adp_line *to, const char *what, uint64_t count, bool has_since,
                    uint64_t since_ns, uint64_t until_ns, struct adp_tag tag);

#endif
