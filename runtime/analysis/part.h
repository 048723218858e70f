/* SPDX-License-Identifier: MIT */
/* What one file says of one identity, as it is added up line by line.
 *
 * An identity is (experiment, policy, params, config, run), and the arm where arms are to
 * be kept apart. Kept apart by file until the
 * end, because only then is it known whether two files hold one run or the same run
 * twice. What must be counted by request and not by line is not here (requests.h). */
#ifndef ADP_ANALYSIS_PART_H
#define ADP_ANALYSIS_PART_H

#include "runtime/analysis/index.h"
#include "runtime/analysis/reader.h"
#include "runtime/analysis/numbers.h"
#include "runtime/analysis/course.h"
#include "runtime/analysis/stretch.h"

/* Bounds against hostile logs; beyond them `ignored` counts. */
#define ADP_PART_MAX_SIGNALS 256u
#define ADP_PART_MAX_GATES   ADP_MAX_GATES
#define ADP_PART_MAX_WRITERS 1024u
#define ADP_PART_MAX_WHYS    6u /* of one signal; more are not told apart */

struct adp_part_signal {
    char *name;
    struct adp_numbers sample; /* readings that were there */
    double magnitude;          /* sum of their absolute values */
    uint64_t last;             /* number of the line that gave the newest */
    /* Reasons that lines tell for its absence, "never_supplied" among them. */
    struct adp_part_why {
        char word[24];
        uint64_t n;
    } whys[ADP_PART_MAX_WHYS];
    uint32_t n_whys;
};

/* A gate, on every decision that was no fault, whose signal was there and whose threshold is known. */
struct adp_part_gate {
    uint32_t rule, op;
    char *signal, *param; /* param NULL: no fixed threshold */
    double threshold;     /* NaN: none */
    uint64_t read;        /* decisions that could be held against it */
    uint64_t held;
    double closest;       /* greatest signed distance to holding; >= 0 when it held
                           * (> and < do not hold at 0). NaN: never read */
    double closest_value; /* the reading it belongs to */
    double would;         /* the least strict threshold that would have fired the rule,
                           * other gates as they stood. NaN: they never held */
};

struct adp_part_rule {
    uint32_t rule;
    uint64_t held;              /* decisions on which all its gates held */
    struct adp_stretch stretch; /* … one after another */
};

struct adp_part {
    struct adp_store *store; /* of its tally */
    struct adp_key identity; /* hash of the five, file apart */
    uint64_t candidate; /* hash of experiment, policy and params: what repeats share */
    uint32_t file;
    char *experiment, *policy, *run, *config, *notes; /* NULL: not said */
    struct adp_part_param {
        char *name, *word; /* word: its JSON where it is no number */
        double value;
        char *provenance; /* NULL: not said */
    } * params;
    size_t n_params;
    bool has_params; /* its first line says which; it may say none */
    bool baseline;
    int arm; /* enum adp_arm when the tally keeps arms apart; else -1 */

    uint64_t lines; /* decisions, or states in a part made of states */
    uint64_t faults;
    uint64_t refusals;   /* the policy's own, enforced or not */
    uint64_t enforced;   /* of those */
    uint64_t unenforced; /* decisions the host was not bound by */
    uint64_t shadow;
    uint64_t anonymous; /* no request id */
    uint64_t watched;   /* marked as decisions of a watch */
    uint64_t not_finite;
    uint64_t omitted;     /* decisions whose metrics were left out of the line */
    uint64_t ignored;     /* readings, gates and writers beyond the bounds */
    uint64_t fingerprint; /* order-free hash of what was decided on what */
    double first_at, last_at;

    struct adp_part_signal *signals;
    size_t n_signals, cap_signals;
    /* Where the signals of lines of this print (reader.h) are kept; 0: none is known. */
    uint64_t print;
    uint16_t kept_at[ADP_PART_MAX_SIGNALS];
    struct adp_part_told {
        uint16_t signal, why;
    } told[ADP_PART_MAX_SIGNALS]; /* the reasons of such lines */
    uint32_t n_told;

    bool has_gates; /* some line's card says which gates there are */
    struct adp_part_gate *gates;
    size_t n_gates;
    struct adp_part_rule *rules;
    size_t n_rules, cap_rules;
    uint64_t
        judged; /* decisions, faults apart, on which every rule can be judged, or one held */
    uint64_t fired;           /* on which some rule held */
    uint64_t admitted_firing; /* the policy admitted though a rule held */
    uint64_t
        refused_unfired; /* the policy refused though every rule is known not to hold */
    uint64_t margins, margins_firing;
    double margin, least_margin; /* greatest and least; NaN: none stated */
    char *signal_quantity;

    struct adp_course course;
    struct adp_numbers prompt_tokens; /* of decisions whose requests say */
    double
        longest_tokens;  /* the greatest prompt and max output of those; NaN: none says */
    uint64_t open_ended; /* of those: say no max output, and count without one */
    struct adp_part_disclosure { /* of the first line; NULL, NaN: not said */
        char *model, *engine, *hardware, *workload, *slo;
        double capacity_rps, unloaded_ttft_ms;
        double kv_capacity_tokens, concurrency, request_tokens;
    } disclosure;

    double slo_ttft_ms; /* the first stated */
    uint64_t slo_changes;

    uint64_t *instances; /* hashes of the processes that wrote it, each once */
    size_t n_instances, cap_instances;
};

/* The hash of an entry's identity. */
struct adp_key adp_part_identity(const struct adp_entry *entry);
/* `part` is zeroed storage. 0 or ADP_ENOMEM; finish it in either case. The store must
 * outlive it. */
int adp_part_init(struct adp_part *part, struct adp_store *store, struct adp_key identity,
                  uint32_t file, const struct adp_entry *entry);
void adp_part_finish(struct adp_part *part);
/* A decision, or a state. 0, ADP_ENOMEM, ADP_EIO. */
int adp_part_add(struct adp_part *part, const struct adp_entry *entry);
/* Moves `from`, of the same identity, into `into`, which comes first. 0, ADP_ENOMEM,
 * ADP_EIO. */
int adp_part_merge(struct adp_part *into, struct adp_part *from);
/* Decisions that were the policy's own: all but the faults. What gates and margins are
 * counted over. */
uint64_t adp_part_own(const struct adp_part *part);
/* Do the same processes stand behind both? */
bool adp_part_share_writer(const struct adp_part *a, const struct adp_part *b);

/* "threshold=0.9, max_waiting=32", cut to `cap`. */
void adp_part_params(const struct adp_part *part, char *to, size_t cap);

/* Every one of its decisions was made beside a policy that governs. */
static inline bool adp_part_is_shadow(const struct adp_part *part)
{
    return part->lines && part->shadow == part->lines;
}

/* A hash of a text, 0 for one that is absent. */
uint64_t adp_text_hash(struct adp_text text);

#endif
