/* SPDX-License-Identifier: MIT */
/* One line of a log as a struct (docs/log-format.md).
 *
 * Reads our lines, the Python original's, and older ones that lack keys: what a line does
 * not say is absent here, never zero and never false. What a line says wrongly (a number
 * where a word belongs) is absent too. A line that cannot be read at all is named by kind
 * and is the caller's to count: nothing passes silently. */
#ifndef ADP_ANALYSIS_READER_H
#define ADP_ANALYSIS_READER_H

#include <admitperf/policy.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Readable bytes that must follow a line; what they hold does not matter. */
#define ADP_READER_PADDING 64u

/* A borrowed piece of UTF-8, a NUL in it written out as "\x00". `text` NULL: the line says
 * null, or nothing. */
struct adp_text {
    const char *text;
    size_t len;
};

enum adp_entry_kind {
    ADP_ENTRY_DECISION = 1,
    ADP_ENTRY_OUTCOME,
    ADP_ENTRY_LOSS,
    ADP_ENTRY_SCRAPE_ERROR,
    ADP_ENTRY_STATE /* a snapshot or a watch sample */
};

/* Why a line is no entry. The last three are found by whoever splits lines. */
enum adp_corrupt {
    ADP_CORRUPT_NOT_UTF8,
    ADP_CORRUPT_NOT_JSON,
    ADP_CORRUPT_NOT_OBJECT,
    ADP_CORRUPT_UNKNOWN, /* an object, but of none of the five kinds */
    ADP_CORRUPT_TOO_LONG,
    ADP_CORRUPT_UNTERMINATED,
    ADP_CORRUPT_PACKED, /* no line: what is packed is damaged, or cut short, here */
    ADP_CORRUPT_KINDS
};

/* A signal and its reading. NaN: absent. */
struct adp_log_reading {
    struct adp_text name;
    double value;
};

/* A signal's readings per replica, in the order of the pool. NaN: absent. */
struct adp_log_column {
    struct adp_text name;
    const double *value;
    size_t n;
};

/* Why a signal was absent: "out_of_range", …. */
struct adp_log_why {
    struct adp_text name, why;
};

/* What the configuration discloses: what a log cannot know by itself. */
struct adp_disclosure {
    struct adp_text model, engine, hardware, workload;
    struct adp_text slo; /* its JSON */
    double capacity_rps, unloaded_ttft_ms;
    double kv_capacity_tokens, concurrency, request_tokens; /* core/reach.h */
};

/* A parameter. `value` is NaN when it is no number (the original takes anything);
 * `word` is then its JSON, and empty otherwise. */
struct adp_setting {
    struct adp_text name, word;
    double value;
    struct adp_text provenance; /* "fitted", …; absent: the line does not say */
};

struct adp_entry_gate {
    uint32_t rule;
    uint32_t op; /* enum adp_op; 0: not one we know */
    struct adp_text signal, param;
};

/* What the host said of a request. */
struct adp_entry_facts {
    struct adp_text tenant, session, slo_class;
    double priority, prompt_tokens, max_output_tokens,
        ttft_deadline_ms; /* NaN: not said */
};

/* Everything borrowed from the reader and the line, until the reader's next line.
 * Numbers: NaN is absent. */
struct adp_entry {
    enum adp_entry_kind kind;
    /* Two entries with the same print, 0 apart, say the same but for: at, lane, seq,
     * not_finite, the values of signals and of replicas, request_id, handle, and the decision's and the
     * outcome's own (marked *). So what follows from identity, params, gates and names need be looked up
     * once only. */
    uint64_t print;
    double at;                /* seconds since the epoch */
    struct adp_text instance; /* which writing process */
    int64_t lane, seq;        /* -1: absent */
    uint32_t not_finite;      /* NaN and infinities in the line, read as absent */
    bool metrics_omitted;     /* more than a line may have: signals are there as ever */

    /* Decisions and states */
    struct adp_text experiment, run, notes, policy, config;
    bool baseline;
    bool watch; /* of `admitperf watch`: a sample, or a decision on one */
    const struct adp_log_reading *signals;
    size_t n_signals;
    const struct adp_log_column *replicas; /* where the line has them */
    size_t n_replicas;
    const struct adp_log_why *whys; /* of those absent, where the line says */
    size_t n_whys;

    /* Decisions and outcomes */
    struct adp_text request_id;
    struct adp_text handle; /* "id" */

    /* Decisions */
    const struct adp_setting *params;
    size_t n_params;
    bool has_params; /* the line says which; it may say none */
    const struct adp_entry_gate *gates;
    size_t n_gates;
    bool has_gates;                  /* the card says which; it may say none */
    struct adp_text signal_quantity; /* of the card */
    enum adp_action verdict;         /* * */
    struct adp_text reason;          /* * */
    bool enforced; /* * true when the line does not say: it was the answer */
    bool shadow;   /* * role */
    bool fault;    /* * the verdict is on_error's, not the policy's */
    double margin; /* * >= 0 when the policy fires */
    struct adp_entry_facts facts; /* * of the request */
    double draw;                  /* * */
    int64_t mono_ns;              /* * -1: absent */
    struct adp_disclosure disclosure;
    double slo_ttft_ms; /* disclosure.slo.ttft_ms */

    /* Outcomes, all * */
    double ttft_ms;
    bool ttft_given; /* the key is there, whatever it holds */
    int ok;          /* 1 met its SLO, 0 did not, -1 the host does not say */
    uint32_t end;    /* enum adp_end: done, failed or cancelled; 0: it does not say */

    /* Losses */
    double lost; /* records */
};

struct adp_reader; /* opaque; one per thread */

/* NULL: out of memory. */
struct adp_reader *adp_reader_create(void);
void adp_reader_destroy(struct adp_reader *reader);

/* Reads `line[0..len)`, ADP_READER_PADDING more bytes being readable.
 * 1: *ret is the entry. 0: it is none, *ret_corrupt says why (one of the first four).
 * ADP_ENOMEM. */
int adp_reader_line(struct adp_reader *reader, const char *line, size_t len,
                    struct adp_entry *ret, enum adp_corrupt *ret_corrupt);

/* "not JSON", …: for pages. */
const char *adp_corrupt_word(enum adp_corrupt corrupt);

#ifdef __cplusplus
}
#endif
#endif
