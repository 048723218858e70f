/* SPDX-License-Identifier: MIT */
/* Records as they lie in a ring: fixed head, then variable parts in the order given. A
 * record begins on 8 bytes and `bytes` is a multiple of 8. All numbers are the writer's
 * own; a reader on the other side of a process boundary checks each against `bytes`
 * before use. */
#ifndef ADP_CORE_RECORD_H
#define ADP_CORE_RECORD_H

#include "core/region.h"
#include "core/replicas.h"

enum adp_record_kind {
    ADP_REC_PAD = 1,    /* fills the end of the ring */
    ADP_REC_DECISION,   /* one policy's verdict on one request */
    ADP_REC_OUTCOME,    /* what became of a request */
    ADP_REC_SNAPSHOT,   /* control lane: published metrics and their readings */
    ADP_REC_GENERATION, /* control lane: the words that decisions of a generation share */
    ADP_REC_SCRAPE_ERROR /* control lane: a failed scrape, as text */
};

struct adp_record {
    uint32_t bytes; /* with head and padding */
    uint16_t kind;
    uint16_t reserved;
    uint64_t seq;
    uint64_t at_ns; /* wall */
};

/* One signal's reading, where it goes into a record. */
struct adp_rec_reading {
    double value;
    double age_s;   /* since it was measured, when the record was made */
    int16_t source; /* -1: none */
    uint8_t why;    /* enum adp_why */
    uint8_t reserved[5];
};

/* Readings per replica, where they go into a record (core/replicas.h); then for each row
 * uint64_t present, by column, and double value[columns]. There are as many columns as bits
 * in `signals`. */
struct adp_rec_replicas {
    uint64_t signals;
    uint32_t rows, reserved;
};

enum adp_rec_fact { /* beside enum adp_fact in fact_bits */
                    ADP_REC_HAS_ID = 1u << 8,
                    ADP_REC_HAS_TENANT = 1u << 9,
                    ADP_REC_HAS_SESSION = 1u << 10,
                    ADP_REC_HAS_CLASS = 1u << 11
};

enum adp_rec_flag {
    ADP_REC_ENFORCED = 1u,
    ADP_REC_GOVERNED = 2u,  /* the arm */
    ADP_REC_SHADOW = 4u,    /* the role */
    ADP_REC_INLINE = 8u,    /* metrics came with the request: readings, then raw series */
    ADP_REC_TELLS = 16u,    /* those series are the lane's `shape` from here on */
    ADP_REC_VALUES = 32u,   /* in place of the series their values, in order of `shape` */
    ADP_REC_REPLICAS = 64u, /* readings per replica: struct adp_rec_replicas */
    ADP_REC_OMITTED = 128u  /* those series would not have fit: `shape` is how many
                               came */
};

enum adp_fault {
    ADP_FAULT_NONE,
    ADP_FAULT_UNDECIDED,
    ADP_FAULT_ACTION,
    ADP_FAULT_REASON,
    ADP_FAULT_SET,
    /* The process did not survive the call: recorded by whoever outlives it. */
    ADP_FAULT_SEGV,
    ADP_FAULT_BUS,
    ADP_FAULT_ABORT,
    ADP_FAULT_FPE,
    ADP_FAULT_ILL,
    ADP_FAULT_TRAP,
    ADP_FAULT_SYS,
    ADP_FAULT_SIGNAL, /* another one */
    ADP_FAULT_EXIT,
    ADP_FAULT_HANG,
    ADP_FAULT_MEMORY,
    ADP_FAULT_CAUGHT,      /* died for another reason while this request was decided */
    ADP_FAULT_QUARANTINED, /* the policy is not asked any more */
    ADP_FAULT_COUNT
};
/* "the policy set no action", …; NULL for 0. Static. */
const char *adp_fault_word(enum adp_fault fault);

struct adp_rec_decision {
    struct adp_record head;
    uint64_t mono_ns, id, snapshot; /* snapshot: number; 0: none, or metrics inline */
    uint64_t present;               /* signals by index in the set */
    double draw, p, margin;
    uint64_t prompt_tokens, max_output_tokens;
    int64_t priority;
    double ttft_deadline_ms;
    uint64_t decide_ns;
    uint32_t generation, retry_after_ms;
    uint32_t fact_bits, set, flags, reason, status;
    uint32_t binding;     /* index in the set, or ADP_NONE */
    uint32_t metrics_len; /* bytes of raw series, or of their values */
    uint8_t policy, action, fault, n_signals;
    uint8_t id_len, tenant_len, session_len, class_len;
    /* Number, with TELLS or VALUES; with OMITTED how many series came; with INLINE alone how
     * many of them are not here; else 0. */
    uint32_t shape;
    /* double value[n_signals], or struct adp_rec_reading[n_signals] when INLINE;
     * struct adp_rec_replicas and its rows, when REPLICAS; raw series (core/lane.h), or doubles when VALUES; id, tenant, session, class */
};

struct adp_rec_outcome {
    struct adp_record head;
    uint64_t id; /* 0: not known */
    uint64_t prompt_tokens, output_tokens;
    double ttft_ms, total_ms;
    uint32_t present; /* enum adp_measured */
    uint32_t end;     /* enum adp_end; 0: not stated */
    uint32_t status;
    int32_t ok;         /* -1: not known */
    uint32_t extra_len; /* bytes of struct adp_rec_extra, one after the other */
    uint32_t fact_bits; /* ADP_REC_HAS_ID */
    uint8_t id_len;
    uint8_t reserved[7];
    /* extra; id */
};

struct adp_rec_extra { /* a fact under the host's own name; then name, text */
    double number;
    uint32_t bytes; /* with head and padding to 8 */
    uint16_t name_len, text_len;
    uint8_t is_text, reserved[7];
};

struct adp_rec_snapshot {
    struct adp_record head;
    uint64_t mono_ns, number;
    uint32_t generation, n_signals;
    uint32_t metrics_len; /* bytes of the JSON object; 0: left out */
    uint32_t pool_len;    /* bytes of the JSON array of the replicas' names; 0: none */
    uint32_t n_series, reserved;
    /* struct adp_rec_reading[n_signals]; with pool_len struct adp_rec_replicas and its
     * rows; metrics; names */
};

/* Texts, each a uint32_t length and that many bytes, padded to 4:
 *   identity, tail, n_policies × (policy, terms), n_signals × (key, n_sources × source)
 */
struct adp_rec_generation {
    struct adp_record head;
    uint32_t generation, n_policies, n_signals, text_len;
};

struct adp_rec_text { /* SCRAPE_ERROR */
    struct adp_record head;
    uint32_t len, reserved;
};

#endif
