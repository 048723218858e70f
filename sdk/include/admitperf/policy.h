/* SPDX-License-Identifier: MIT */
/* AdmitPerf policy ABI.
 *
 * A policy is one shared object that exports one constant object, admitperf_policy_v1.
 * The runtime reads who it is, which signals it wants and which parameters it takes
 * before any of its code is called, and then asks it, for each request: admit, defer or
 * reject?
 *
 * The smallest policy is about 30 lines: examples/kv_wall/kv_wall.c.
 *
 * Rules (docs/abi.md refers to them by number):
 *
 *  1. A verdict is a function of (instance state, view). A policy reads no clock, no
 *     entropy, no file, starts no thread, keeps no global: all it may know is in the
 *     view, and every field of the view can be rebuilt from the log. That is what makes
 *     replay possible.
 *  2. Unset is never zero. A clear bit, a NULL, action 0 mean "not there"; the value in
 *     an absent slot is garbage and must not be read.
 *  3. Every call passes one struct that begins with `size`, the bytes its writer knew.
 *     Fields are only ever appended, constants and words only ever added, inside
 *     `#if ADP_ABI_MINOR >= k`; use ADP_HAS before reading a field newer than your
 *     `min_host_minor`. Arrays that a policy declares carry their element size in the
 *     head of adp_policy, so both sides may grow. What a host passes may know more than
 *     you: bits that you do not know are to be ignored, a kind of outcome that you do not
 *     know reads as ADP_LOST. What a policy declares or answers may not: an unknown flag
 *     or word is refused, an unknown action or reason is a fault.
 *  4. Nothing is freed across the boundary, nothing unwinds across it (no throw, panic,
 *     longjmp). View, verdict, outcome and setup die when the call returns; strings and
 *     tables that a policy declares live as long as its code, which is never unmapped.
 *  5. Every function has a class. [control]: one at a time per instance, never beside
 *     another call on it (but save, see there). [hot]: in the request path, as
 *     `threading` says; must not block, allocate, make a system call.
 *  6. Only fixed-width integers, double, pointers and NUL-terminated UTF-8 cross. 64-bit
 *     little-endian only.
 *  7. Every ticket that a policy sets comes back in exactly one outcome, at any time, in
 *     any order, over a reload and a restart too. Where a new instance is made of what
 *     save wrote, it gets the outcomes of the tickets that its forerunner set, also of
 *     those set after that save (none of these where the process died: nobody gets
 *     them). For a ticket that it does not know it takes nothing back, and ADP_NOT_RUN
 *     and ADP_LOST of such a ticket it ignores. An instance that saves nothing keeps its
 *     own tickets until all are settled, then it is destroyed.
 *
 * Version: the major is in the symbol's name, the minor in `abi_minor`. A host refuses a
 * policy whose `min_host_minor` is above its own minor, and names both. Compile with
 * -DADP_ABI_MINOR=n to write for hosts of minor n and later: newer fields then do not
 * exist. Major 1 will not change: nothing below is ever moved, renamed, given another
 * type, value or meaning, or taken away; what is new stands at the end, under a minor of
 * its own. tests/abi holds each released minor. */
#ifndef ADMITPERF_POLICY_H
#define ADMITPERF_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define ADP_SAME(c) static_assert(c, #c)
extern "C" {
#else
#define ADP_SAME(c) _Static_assert(c, #c)
#endif

#define ADP_MAGIC         0x31504441u /* "ADP1", little-endian */
#define ADP_POLICY_SYMBOL "admitperf_policy_v1"
#ifndef ADP_ABI_MINOR
#define ADP_ABI_MINOR 0
#endif
#define ADP_NONE         0xffffffffu /* "no slot": adp_gate.param, adp_verdict.binding */
#define ADP_MAX_SIGNALS  64u         /* slots one policy may declare: one presence word */
#define ADP_MAX_PARAMS   64u
#define ADP_MAX_GATES    64u
#define ADP_MAX_REPLICAS 256u       /* rows of adp_view.replica at most */
#define ADP_MAX_SAVED    (1u << 20) /* adp_policy.max_saved at most; bytes */

/* True when the struct that `p` points to was written by someone who knew field `f`. */
#define ADP_HAS(p, f) ((p)->size >= offsetof(__typeof__(*(p)), f) + sizeof((p)->f))

/* adp_verdict.action. Zero is no action: a policy that leaves it has failed, and the
 * operator's on_error answers in its place. */
enum adp_action {
    ADP_ADMIT = 1,
    ADP_REJECT = 2, /* do not come back soon */
    ADP_DEFER = 3   /* come back after retry_after_ms */
};

/* adp_policy.threading: how many threads may be inside decide and outcome of one
 * instance. */
enum adp_threading {
    ADP_SERIAL = 0,    /* one; the host sees to it */
    ADP_CONCURRENT = 1 /* any number; the policy sees to it. Stateless ones are this */
};

/* adp_policy.flags */
enum adp_policy_flag {
    ADP_TAKES_CONFIG = 1u /* create reads setup->config; else a `config:` is refused */
};

/* adp_signal.flags */
enum adp_signal_flag {
    ADP_REPLICAS = 1u /* view.replica of this slot is read: the host fills and logs it */
};

/* adp_gate.op: the gate holds when `signal op param`. An absent signal holds no gate. */
enum adp_op { ADP_GE = 1, ADP_GT = 2, ADP_LE = 3, ADP_LT = 4 };

/* adp_param.kind. All travel as double; I64 and BOOL are integral within 2^53. */
enum adp_kind { ADP_F64 = 1, ADP_I64 = 2, ADP_BOOL = 3 };

/* adp_param.flags */
enum adp_param_flag {
    ADP_REQUIRED = 1u, /* must be configured; `dflt` is not used */
    ADP_FIXED = 2u     /* a change needs a new instance */
};

/* adp_card.flags */
enum adp_card_flag {
    ADP_BASELINE = 1u /* what others are compared with: it refuses nothing, by design */
};

/* adp_verdict.set: which of the optional fields the policy filled. */
enum adp_set { ADP_SET_MARGIN = 1u, ADP_SET_P = 2u, ADP_SET_RETRY = 4u };

/* adp_request.present: which numbers the host knows. Strings are NULL when not known. */
enum adp_fact { ADP_PROMPT = 1u, ADP_OUTPUT = 2u, ADP_PRIORITY = 4u, ADP_DEADLINE = 8u };

/* adp_outcome.present */
enum adp_measured {
    ADP_O_TTFT = 1u,
    ADP_O_TOTAL = 2u,
    ADP_O_PROMPT = 4u,
    ADP_O_OUTPUT = 8u,
    ADP_O_STATUS = 16u
};

/* adp_outcome.kind: how the one outcome of a ticket came about. Another: as ADP_LOST. */
enum adp_end {
    ADP_DONE = 1,      /* ran to its end */
    ADP_FAILED = 2,    /* ran; upstream error or timeout */
    ADP_CANCELLED = 3, /* ran; the client left */
    ADP_NOT_RUN = 4, /* admitted here, another verdict governed: release, do not learn */
    ADP_LOST = 5     /* no outcome in time, or no room for it: release, do not learn */
};

/* adp_verdict.reason: a closed vocabulary, so that refusals compare across deployments.
 * The word and the HTTP status belong to the host: 503 for capacity, 429 for causes the
 * client can change by sending less, 413 for a request that can never be served. */
enum adp_reason {
    ADP_R_KV_PRESSURE = 1,            /* 503 */
    ADP_R_QUEUE_DEPTH = 2,            /* 503 */
    ADP_R_CAPACITY_RESERVED = 3,      /* 503 */
    ADP_R_WAIT_ESTIMATE_EXCEEDED = 4, /* 503 */
    ADP_R_DEADLINE_INFEASIBLE = 5,    /* 503 */
    ADP_R_PREDICTED_LENGTH = 6,       /* 503 */
    ADP_R_SIGNAL_STALE = 7,           /* 503 */
    ADP_R_TENANT_QUOTA = 8,           /* 429 */
    ADP_R_RATE_LIMIT = 9,             /* 429 */
    ADP_R_REQUEST_TOO_LARGE = 10      /* 413 */
};

/* A signal the policy reads. Its place in adp_policy.signals is its slot in the view. A
 * configuration knows 64 signals, the 12 shipped ones among them, so an operator can declare
 * 52 that are not shipped. */
typedef struct adp_signal {
    const char *name;  /* [a-z][a-z0-9_]*, at most 63; shipped or declared in YAML */
    const char *unit;  /* exactly as declared there: "ratio", "requests", … */
    uint32_t flags;    /* enum adp_signal_flag */
    uint32_t reserved; /* 0 */
} adp_signal;

/* A parameter. Its place in adp_policy.params is its place in view.param. The host
 * validates the operator's values against this before create: unknown names, wrong types,
 * values outside [lo, hi] never reach a policy. */
typedef struct adp_param {
    const char *name;    /* [a-z][a-z0-9_]*, at most 63 */
    const char *unit;    /* as a signal's; "" when it has none */
    const char *doc;     /* one line, for `admitperf policies`; or NULL */
    double lo, hi, dflt; /* finite, lo <= dflt <= hi; integral where kind says so */
    uint32_t kind;       /* enum adp_kind */
    uint32_t flags;      /* enum adp_param_flag */
} adp_param;

/* A condition under which the policy refuses. The gates of one rule are ANDed, rules are
 * ORed: two independent thresholds are two rules, a dual gate is one rule of two gates.
 * Reports judge from these whether the policy could have fired, so they must agree with
 * decide. */
typedef struct adp_gate {
    uint32_t rule;   /* rule number, from 0, none left out */
    uint32_t signal; /* slot */
    uint32_t op;     /* enum adp_op */
    uint32_t param;  /* the threshold's place in params; ADP_NONE: no fixed threshold */
} adp_gate;

/* What the policy is, in the survey's words (`admitperf terms`). NULL: not stated. */
typedef struct adp_card {
    /* request | agent-session | tenant */
    const char *unit;
    /* online | offline | hybrid */
    const char *setting;
    /* deadline | throughput | fairness | cost | stability */
    const char *slo_awareness;
    /* kv_pressure | queue_depth | deadline_slack | wait_estimate | predicted_length |
     * batch_state | rate | analytic */
    const char *signal_quantity;
    /* scalar | dual-gate | lp-composite | formal-bound */
    const char *signal_structure;
    /* none | SLO class | deadlines | per-stage deadlines | session id | priority class */
    const char *metadata_assumed;
    /* A: decidable at ingress | B: needs batch formation */
    const char *portability;
    /* Paper and section, or project and file; free text. */
    const char *source;
    /* Unit of verdict.margin, where no gates are declared. */
    const char *margin_unit;
    uint32_t flags;    /* enum adp_card_flag */
    uint32_t reserved; /* 0 */
} adp_card;

/* What the host knows about this request. A string of more than 64 bytes, or one that is
 * not UTF-8, comes as it is recorded, "xxh3:" and the 32 hexadecimal digits of its
 * XXH3-128. The keys are of exactly the text that comes, so all of this can be rebuilt
 * from the log. */
typedef struct adp_request {
    uint32_t size, present; /* present: bits of enum adp_fact */
    const char *tenant;     /* NULL: not known */
    const char *session;    /* NULL: not known */
    const char *slo_class;  /* NULL: not known */
    uint64_t tenant_key;    /* XXH3-64 of tenant, the same on every host; or garbage */
    uint64_t session_key;   /* XXH3-64 of session, likewise */
    uint64_t prompt_tokens; /* ADP_PROMPT */
    uint64_t max_output_tokens; /* ADP_OUTPUT */
    int64_t priority; /* ADP_PRIORITY; 0 normal, above more urgent, below sheddable */
    double ttft_deadline_ms; /* ADP_DEADLINE; milliseconds from now_ns; finite */
} adp_request;

/* All that a policy may know when it decides. */
typedef struct adp_view {
    uint32_t size;
    uint32_t n_replicas;  /* rows of `replica`; 0: no reading per replica */
    uint64_t now_ns;      /* monotonic; may run backwards between threads, and begins anew
                           * with the machine */
    uint64_t present;     /* bit i: slot i holds a value */
    double draw;          /* [0, 1), from the request id; a retry draws the same */
    const double *signal; /* by slot, aggregated over the pool */
    const double *param;  /* by place in params, validated, as in force now */
    /* replica[r * n_signals + slot], at most ADP_MAX_REPLICAS rows; replica_present[r] is
     * to a row what `present` is to `signal`, clear in slots without ADP_REPLICAS. */
    const double *replica;
    const uint64_t *replica_present;
    const adp_request *request; /* never NULL */
} adp_view;

/* The answer. The host zeroes it, sets `size` and `binding` = ADP_NONE, and passes it to
 * decide. */
typedef struct adp_verdict {
    uint32_t size;
    uint32_t action;         /* enum adp_action */
    uint32_t reason;         /* enum adp_reason; 0 when admitted */
    uint32_t retry_after_ms; /* ADP_SET_RETRY */
    uint32_t set;            /* bits of enum adp_set */
    uint32_t binding; /* slot of the signal that refused, for the log; or ADP_NONE */
    uint64_t ticket;  /* not 0: comes back in exactly one outcome, whatever the action */
    /* ADP_SET_MARGIN: where no gates are declared, how far from firing; >= 0 when it fires.
     * Beside ADP_R_REQUEST_TOO_LARGE and ADP_R_SIGNAL_STALE, no matters of load, any. */
    double margin;
    double p; /* ADP_SET_P: probability of refusal that `draw` was held against */
} adp_verdict;

/* What became of a ticket. */
typedef struct adp_outcome {
    uint32_t size;
    uint32_t kind;    /* enum adp_end */
    uint32_t present; /* bits of enum adp_measured */
    uint32_t http_status;
    uint64_t ticket;
    uint64_t now_ns;
    uint64_t prompt_tokens, output_tokens; /* as the engine counted them */
    double ttft_ms, total_ms; /* since the request came, as the host measured them */
} adp_outcome;

/* What create is given. */
typedef struct adp_setup {
    uint32_t size;
    uint32_t n_instances; /* processes that share a quota: divide rates by it; 1: alone */
    const double *param;  /* by place in params */
    const char *config;   /* the operator's `config:`, one JSON object; NULL: none, or no
                           * ADP_TAKES_CONFIG */
    /* What save wrote before a reload or restart; or NULL. It may come of another
     * version of the policy, or be damaged: bytes that are not believed whole mean to
     * start afresh (or to refuse, with a reason), never a guess. Of any alignment. */
    const void *saved;
    uint64_t saved_len; /* at most ADP_MAX_SAVED */
    /* On failure: one sentence, lower case, no full stop, with its NUL in error_cap bytes
     * (0: none is wanted). */
    char *error;
    uint64_t error_cap;
} adp_setup;

/* The exported object. ADP_HEAD and ADP_TABLES below fill most of it. */
typedef struct adp_policy {
    uint32_t magic;          /* ADP_MAGIC */
    uint32_t size;           /* sizeof(adp_policy) */
    uint16_t abi_minor;      /* the header compiled with */
    uint16_t min_host_minor; /* the oldest host it runs on */
    uint16_t signal_size, param_size, gate_size, card_size; /* sizeof of each element */
    uint32_t n_signals, n_params, n_gates;
    uint32_t threading;        /* enum adp_threading */
    uint32_t max_saved;        /* bytes that save writes at most; <= ADP_MAX_SAVED */
    uint32_t flags;            /* enum adp_policy_flag */
    uint32_t reserved;         /* 0 */
    const char *name;          /* [a-z][a-z0-9_]*, at most 63; never NULL */
    const char *version, *doc; /* one line each; or NULL */
    const adp_signal *signals;
    const adp_param *params;
    const adp_gate *gates;
    const adp_card *card; /* or NULL */

    /* [control] Makes an instance; NULL with setup->error filled on failure. A policy
     * without create is stateless: `self` is NULL in every call, and it declares neither
     * save nor ADP_TAKES_CONFIG. */
    void *(*create)(const adp_setup *setup);
    /* [control] Ends an instance. May be NULL. */
    void (*destroy)(void *self);
    /* [hot] Fills the verdict. Must set an action. */
    void (*decide)(void *self, const adp_view *view, adp_verdict *verdict);
    /* [hot] Takes back a ticket. NULL: the policy sets none. */
    void (*outcome)(void *self, const adp_outcome *outcome);
    /* [control] Writes the state into `to`, of any alignment, and returns the bytes
     * written, 0 for none or when `cap` is too small. Changes nothing. The host keeps
     * other calls on the instance of a SERIAL policy off meanwhile; on a CONCURRENT one
     * it may run beside decide and outcome, and writes something that holds together all
     * the same. NULL: starts afresh after every reload. */
    uint64_t (*save)(const void *self, void *to, uint64_t cap);
    /* [control] The table of an optional feature, by its id ("vendor.feature/1"); NULL
     * for an id that it does not know. Of no instance, at any time. May be NULL. */
    const void *(*extension)(const char *id);
} adp_policy;

/* The one exported name of a policy. */
extern __attribute__((visibility("default"))) const adp_policy admitperf_policy_v1;

#define ADP_COUNT(a) (uint32_t)(sizeof(a) / sizeof((a)[0]))
#define ADP_HEAD                                                                         \
    .magic = ADP_MAGIC, .size = sizeof(adp_policy), .abi_minor = ADP_ABI_MINOR,          \
    .min_host_minor = ADP_ABI_MINOR, .signal_size = sizeof(adp_signal),                  \
    .param_size = sizeof(adp_param), .gate_size = sizeof(adp_gate),                      \
    .card_size = sizeof(adp_card)
#define ADP_TABLES(s, p, g)                                                              \
    .n_signals = ADP_COUNT(s), .n_params = ADP_COUNT(p), .n_gates = ADP_COUNT(g),        \
    .signals = (s), .params = (p), .gates = (g)

/* Gates, as a policy writes them in decide: an absent signal holds none. */
static inline int adp_has(const adp_view *v, uint32_t slot)
{
    return (int)(v->present >> slot & 1u);
}

static inline int adp_ge(const adp_view *v, uint32_t slot, uint32_t param)
{
    return adp_has(v, slot) && v->signal[slot] >= v->param[param];
}

static inline int adp_gt(const adp_view *v, uint32_t slot, uint32_t param)
{
    return adp_has(v, slot) && v->signal[slot] > v->param[param];
}

static inline int adp_le(const adp_view *v, uint32_t slot, uint32_t param)
{
    return adp_has(v, slot) && v->signal[slot] <= v->param[param];
}

static inline int adp_lt(const adp_view *v, uint32_t slot, uint32_t param)
{
    return adp_has(v, slot) && v->signal[slot] < v->param[param];
}

/* Answers. `slot`: the signal that refuses, or ADP_NONE when none alone does. */
static inline void adp_admit(adp_verdict *w)
{
    w->action = ADP_ADMIT;
}

static inline void adp_reject(adp_verdict *w, uint32_t reason, uint32_t slot)
{
    w->action = ADP_REJECT;
    w->reason = reason;
    w->binding = slot;
}

/* `ms`: when to come back, milliseconds, rounded up. Not above 0, or NaN: no retry time
 * is stated. */
static inline void adp_defer(adp_verdict *w, uint32_t reason, uint32_t slot, double ms)
{
    w->action = ADP_DEFER;
    w->reason = reason;
    w->binding = slot;
    if (ms > 0.0) {
        w->retry_after_ms = ms >= 4294967295.0 ? 4294967295u : (uint32_t)ms;
        w->retry_after_ms += w->retry_after_ms < ms && w->retry_after_ms < 4294967295u;
        w->set |= ADP_SET_RETRY;
    }
}

/* States how far a refusal is off, in card.margin_unit: for a rule that fires at 0 and
 * above. */
static inline void adp_margin(adp_verdict *w, double margin)
{
    w->margin = margin;
    w->set |= ADP_SET_MARGIN;
}

/* The same for a rule that fires only above 0, so that the margin never says "fires" of an
 * admit: 0 itself becomes a hair less: 2^-53, exactly, in digits that C++ before 17 reads
 * too. */
static inline void adp_margin_above(adp_verdict *w, double margin)
{
    adp_margin(w, margin == 0.0 ? -1.1102230246251565404236316680908203125e-16 : margin);
}

/* Says why there is no instance: `return adp_cannot(setup, "…");` in create. One sentence,
 * lower case, no full stop. */
static inline void *adp_cannot(const adp_setup *setup, const char *why)
{
    if (setup->error && setup->error_cap) {
        uint64_t n = 0;
        for (; why[n] && n + 1 < setup->error_cap; n++)
            setup->error[n] = why[n];
        setup->error[n] = '\0';
    }
    return NULL;
}

ADP_SAME(sizeof(void *) == 8 && sizeof(double) == 8);
ADP_SAME(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
#if ADP_ABI_MINOR == 0
ADP_SAME(sizeof(adp_signal) == 24 && sizeof(adp_param) == 56 && sizeof(adp_gate) == 16);
ADP_SAME(sizeof(adp_card) == 80 && sizeof(adp_request) == 80 && sizeof(adp_view) == 72);
ADP_SAME(sizeof(adp_verdict) == 48 && sizeof(adp_outcome) == 64 &&
         sizeof(adp_setup) == 56);
ADP_SAME(sizeof(adp_policy) == 152);
#endif
#undef ADP_SAME

#ifdef __cplusplus
}
#endif
#endif
