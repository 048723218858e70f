/* SPDX-License-Identifier: MIT */
/* Replay: reading the trace, asking the policies. */
#include "runtime/lab/replay.h"

#include "core/clock.h"
#include "core/lane.h"
#include "core/line.h"
#include "runtime/analysis/workers.h"
#include "runtime/host/host.h"
#include "runtime/lab/old_logs.h"
#include "runtime/lab/tape.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BASELINE "no_admission"
#define NOTES    "replay of " /* a replay is known by */

enum {
    RING_KB = 1024,
    LEAST_KB = 64,     /* where nothing is recorded */
    FLUSH_EVERY = 128, /* decisions; of 4 KB at most, half a ring */
    SIGNALS = ADP_MAX_KNOWN
};

/* A metric of the recorded signals: `name` as it is in the trace, `metric` as we give it. */
struct fed {
    char name[ADP_SIGNAL_NAME + 1], metric[ADP_SIGNAL_NAME + 8];
};

/* How a signal reaches a policy that is asked without metrics. */
struct slot {
    uint32_t fed, signal; /* its number in the trace, and in the policy's set */
    double lo, hi;        /* what is outside is absent, as it would be with metrics */
};

struct gate {
    uint32_t rule;
    const struct slot
        *slot;        /* of the same asked; NULL: its reading is not in the trace */
    double threshold; /* NaN: it has none */
    bool up, strict, swept;
};

/* A signal that the policy reads. */
struct want {
    const struct slot *slot; /* as a gate's */
    char name[ADP_SIGNAL_NAME + 1];
    bool named; /* by its card, as what it goes by */
    bool seen;  /* on some decision, over all logs */
};

/* One runtime that is asked. It has a clock, and where in the trace it is, of its own: it
 * goes through a batch alone, on whatever thread. */
struct asked {
    const struct replay *replay;
    struct adp_replay_ask ask;
    char path[1400]; /* its log while it is written; "": none */
    struct adp_host_scene scene;
    struct adp_clock clock;
    uint64_t wall_ns, mono_ns;
    uint64_t n;              /* of takes so far, over all logs */
    double earliest, latest; /* of the log at hand; NaN: no time so far */
    uint64_t backward;       /* takes whose time is behind the latest */
    bool diverged;           /* first in this log: first_at is a time of its clock */
    struct slot slots[SIGNALS];
    size_t n_slots;
    double values[SIGNALS];
    struct gate gates[ADP_MAX_GATES];
    size_t n_gates;
    struct want wants[ADP_MAX_SIGNALS];
    size_t n_wants;
    bool judged; /* some decision by the gates, over all logs */
    adp_runtime *runtime;
    adp_lane *lane;
    struct adp_replay_said *said;   /* a policy, or */
    struct adp_replay_point *point; /* a point of the sweep */
    int code;
    struct adp_error why;
};

struct replay {
    const struct adp_replay_options *options;
    struct adp_replay_result *result;
    struct adp_tape_kind kind;   /* of the log at hand */
    struct adp_tape_input input; /* path "": nobody asked for standard input */
    char run[32], notes[256], sweep_params[512];
    char folder[1200];   /* of the experiment's logs */
    char beside[1224];   /* in it, where they are until all are whole; "": not there */
    int taken;           /* the folder, open; -1: it is not */
    const char **inputs; /* owned: where the logs are read */
    const char *names[ADP_REPLAY_POLICIES + 2];
    struct fed fed[SIGNALS];
    const char *fed_names[SIGNALS];
    size_t n_fed;
    struct asked asked[ADP_REPLAY_POLICIES + 1 + ADP_REPLAY_POINTS];
    size_t n_asked;
    const struct adp_batch *batches; /* what is asked about now */
    unsigned n_batches;
    _Atomic size_t next; /* of the asked, who goes through them next */
};

static uint64_t wall_of(void *ctx)
{
    const struct asked *asked = ctx;
    return asked->wall_ns;
}

static uint64_t mono_of(void *ctx)
{
    const struct asked *asked = ctx;
    return asked->mono_ns;
}

/* What a policy takes is in its log's lines; where there are none nobody looks. */
static uint64_t meter_of(void *ctx)
{
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Where a log is read; "-" is standard input. */
static const char *place_of(const struct replay *r, size_t log)
{
    const char *path = r->options->logs[log];
    return strcmp(path, "-") == 0 ? r->input.path : path;
}

/* ---- asking --------------------------------------------------------------------------- */

/* What is out of range is absent, as it would be with metrics. */
static double reading_of(const struct slot *slot, const struct adp_take *take)
{
    double value = slot ? take->value[slot->fed] : NAN;
    return slot && value >= slot->lo && value <= slot->hi ? value : NAN;
}

/* The recorded signals as metrics. */
static uint32_t feed(const struct replay *r, const struct adp_take *take,
                     adp_metric *metrics)
{
    uint32_t n = 0;
    for (size_t i = 0; i < r->n_fed; i++)
        if (!isnan(take->value[i]))
            metrics[n++] = (adp_metric) { r->fed[i].metric, NULL, take->value[i] };
    return n;
}

/* The same as the values that reading those metrics would give. */
static void set_values(struct asked *asked, const struct adp_take *take)
{
    uint64_t present = 0;
    for (size_t i = 0; i < asked->n_slots; i++) {
        const struct slot *slot = &asked->slots[i];
        double value = reading_of(slot, take);
        bool is_there = !isnan(value);
        asked->values[slot->signal] = is_there ? value : 0;
        present |= (uint64_t)is_there << slot->signal;
    }
    asked->lane->values = asked->values;
    asked->lane->values_present = present;
}

static void fill_facts(const struct adp_take *take, adp_facts *ret)
{
    *ret = (adp_facts) {
        .size = sizeof *ret,
        .request_id = adp_take_string(take, ADP_TAKE_ID),
        .tenant = adp_take_string(take, ADP_TAKE_TENANT),
        .session = adp_take_string(take, ADP_TAKE_SESSION),
        .slo_class = adp_take_string(take, ADP_TAKE_CLASS),
    };
    if (take->prompt_tokens >= 0 && take->prompt_tokens < 1e15) {
        ret->present |= ADP_PROMPT;
        ret->prompt_tokens = (uint64_t)take->prompt_tokens;
    }
    if (take->max_output_tokens >= 0 && take->max_output_tokens < 1e15) {
        ret->present |= ADP_OUTPUT;
        ret->max_output_tokens = (uint64_t)take->max_output_tokens;
    }
    if (fabs(take->priority) < 1e15) {
        ret->present |= ADP_PRIORITY;
        ret->priority = (int64_t)take->priority;
    }
    if (!isnan(take->ttft_deadline_ms)) {
        ret->present |= ADP_DEADLINE;
        ret->ttft_deadline_ms = take->ttft_deadline_ms;
    }
}

/* The threshold in force: as configured, else the schema's default. */
static double threshold_of(const struct asked *asked, const struct adp_loaded *loaded,
                           uint32_t param)
{
    struct adp_param schema = adp_loaded_param(loaded, param);
    const struct adp_policy_setting *setting =
        &adp_host_config(asked->runtime)->policies[0];
    for (uint32_t i = 0; i < setting->n_params; i++)
        if (strcmp(setting->params[i].name, schema.name) == 0)
            return setting->params[i].value;
    return schema.dflt;
}

/* How far a gate lies beyond its threshold; NaN: not known. */
static double distance_of(const struct gate *gate, const struct adp_take *take)
{
    double value = reading_of(gate->slot, take);
    return gate->up ? value - gate->threshold : gate->threshold - value;
}

enum truth { NO, YES, UNKNOWN };

static enum truth truth_of(const struct gate *gate, const struct adp_take *take)
{
    double distance = distance_of(gate, take);
    if (isnan(distance))
        return UNKNOWN;
    return (gate->strict ? distance > 0 : distance >= 0) ? YES : NO;
}

/* A conjunction with a gate that does not hold is false, whatever is not known. */
static enum truth rule_truth(const struct asked *asked, const struct adp_take *take,
                             uint32_t rule)
{
    enum truth truth = YES;
    for (size_t i = 0; i < asked->n_gates && truth != NO; i++)
        if (asked->gates[i].rule == rule) {
            enum truth one = truth_of(&asked->gates[i], take);
            truth = one == YES ? truth : one;
        }
    return truth;
}

/* Do the gates say yes or no of it? */
static bool is_judged(const struct asked *asked, const struct adp_take *take)
{
    bool unknown = !asked->n_gates;
    for (size_t i = 0; i < asked->n_gates; i++) {
        enum truth truth = rule_truth(asked, take, asked->gates[i].rule);
        if (truth == YES)
            return true;
        unknown |= truth == UNKNOWN;
    }
    return !unknown;
}

/* What was there to judge by. */
static void note_signals(struct asked *asked, const struct adp_take *take)
{
    for (size_t i = 0; i < asked->n_wants; i++) {
        struct want *want = &asked->wants[i];
        if (!want->seen && want->slot)
            want->seen = !isnan(reading_of(want->slot, take)) ||
                         (take->rows && take->columns >> want->slot->fed & 1);
    }
    if (!asked->judged)
        asked->judged = is_judged(asked, take);
}

/* Do the other gates of its rule hold? */
static bool others_hold(const struct asked *asked, const struct adp_take *take, size_t i)
{
    for (size_t k = 0; k < asked->n_gates; k++) {
        const struct gate *gate = &asked->gates[k];
        if (k == i || gate->rule != asked->gates[i].rule)
            continue;
        if (truth_of(gate, take) != YES)
            return false;
    }
    return true;
}

/* How near the gates on the swept parameter came, the others of their rules holding. */
static void approach(const struct asked *asked, const struct adp_take *take)
{
    for (size_t i = 0; i < asked->n_gates; i++)
        if (asked->gates[i].swept && others_hold(asked, take, i))
            asked->point->closest =
                fmax(asked->point->closest, distance_of(&asked->gates[i], take));
}

static void note(struct asked *asked, const struct adp_take *take,
                 const adp_decision *decision)
{
    bool refuses = decision->policy_action != ADP_ADMIT && !decision->fault;
    struct adp_replay_said *said = asked->said;
    if (asked->point) {
        asked->point->asked++;
        asked->point->refused += refuses;
        approach(asked, take);
        return;
    }
    said->asked++;
    said->refused += refuses;
    said->faults += decision->fault != NULL;
    if (!decision->fault)
        note_signals(asked, take);
    if (asked->replay->kind.watch)
        return;
    if (take->fault || decision->fault) {
        said->not_held++;
        return;
    }
    said->agree[take->refused][refuses]++;
    if (take->refused != refuses && !said->first) {
        said->first = asked->n;
        said->first_at = take->at;
        asked->diverged = true;
    }
}

/* The time of the take. Lanes are written one after another: time never goes back. */
static void set_time(struct asked *asked, const struct adp_take *take)
{
    if (!isnan(take->at)) {
        asked->backward += take->at < asked->latest;
        asked->earliest = fmin(asked->earliest, take->at);
        asked->latest = fmax(asked->latest, take->at);
        asked->wall_ns = take->at > 0 && take->at < 1e10 ? (uint64_t)(take->at * 1e9) : 0;
    }
    uint64_t mono = take->mono_ns >= 0 ? (uint64_t)take->mono_ns : asked->wall_ns;
    if (mono > asked->mono_ns)
        asked->mono_ns = mono;
}

static const struct slot *slot_of_fed(const struct asked *asked, uint32_t fed)
{
    for (size_t i = 0; i < asked->n_slots; i++)
        if (asked->slots[i].fed == fed)
            return &asked->slots[i];
    return NULL;
}

/* What was recorded per replica stands in place of what metrics or a snapshot would tell. */
static void set_replicas(const struct asked *asked, const struct adp_take *take)
{
    struct adp_replicas *seen = &asked->lane->replicas->seen;
    const double *cells = adp_take_cells(take);
    uint64_t signals = 0;
    for (uint64_t left = take->columns; left; left &= left - 1) {
        const struct slot *slot = slot_of_fed(asked, (uint32_t)__builtin_ctzll(left));
        signals |= slot ? UINT64_C(1) << slot->signal : 0;
    }
    bool fits = adp_replicas_fit(take->rows, signals);
    adp_replicas_begin(seen, fits ? take->rows : 0, signals);
    for (uint64_t left = take->columns; left; left &= left - 1) {
        const struct slot *slot = slot_of_fed(asked, (uint32_t)__builtin_ctzll(left));
        for (uint32_t row = 0; slot && row < seen->rows; row++)
            if (cells[row] >= slot->lo && cells[row] <= slot->hi) /* NaN is not */
                adp_replicas_set(seen, row, slot->signal, cells[row], UINT64_MAX);
        cells += take->rows;
    }
    asked->lane->has_replicas = true;
}

/* How many decisions with readings like these go into half a ring. */
static uint64_t flush_every(const struct adp_take *take)
{
    uint32_t cells = take->rows * (uint32_t)__builtin_popcountll(take->columns);
    return cells ? FLUSH_EVERY / (1 + cells / 256) + 1 : FLUSH_EVERY;
}

static int ask(struct asked *asked, const struct adp_take *take)
{
    adp_decision decision = { .size = sizeof decision };
    adp_metric metrics[SIGNALS];
    adp_facts facts;
    fill_facts(take, &facts);
    set_time(asked, take);
    asked->n++;
    /* A recorded draw is drawn again; without one an id has the draw of its hash. */
    asked->lane->has_draw = take->draw >= 0 && take->draw < 1;
    asked->lane->draw = take->draw;
    set_replicas(asked, take);
    int e;
    if (asked->path[0]) {
        uint32_t n = feed(asked->replay, take, metrics);
        e = adp_lane_decide_with(asked->lane, metrics, n, &facts, &decision);
    } else {
        set_values(asked, take);
        e = adp_lane_decide(asked->lane, &facts, &decision);
    }
    if (e < 0)
        return adp_error_set(&asked->why, e, "the runtime does not decide");
    note(asked, take, &decision);
    if (asked->path[0] && asked->n % flush_every(take) == 0 &&
        adp_runtime_flush(asked->runtime, &asked->why) < 0)
        return ADP_EIO;
    return 0;
}

/* One of the asked through all that was read, in its order. */
static int ask_batches(struct asked *asked)
{
    const struct replay *r = asked->replay;
    int e = 0;
    for (unsigned i = 0; i < r->n_batches && !e; i++) {
        const char *at = r->batches[i].takes, *end = at + r->batches[i].len;
        while (at < end && !e) {
            const struct adp_take *take = (const struct adp_take *)(const void *)at;
            e = ask(asked, take);
            at += take->size;
        }
    }
    return e;
}

static void ask_some(void *of, unsigned worker)
{
    struct replay *r = of;
    (void)worker;
    for (;;) {
        /* Relaxed: a number for each, no more; who waits for the threads sees the rest. */
        size_t i = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed);
        if (i >= r->n_asked)
            return;
        r->asked[i].code = ask_batches(&r->asked[i]);
    }
}

/* All of them, side by side: they share nothing but what they read. */
static int ask_all(struct replay *r, struct adp_error *err)
{
    unsigned n = adp_workers_count();
    for (unsigned i = 0; i < r->n_batches; i++)
        r->result->decisions += r->batches[i].n;
    atomic_store_explicit(&r->next, 0, memory_order_relaxed);
    adp_workers_run(n < r->n_asked ? n : (unsigned)r->n_asked, ask_some, r);
    for (size_t i = 0; i < r->n_asked; i++)
        if (r->asked[i].code < 0) {
            if (err && !err->code)
                *err = r->asked[i].why;
            return adp_error_set(err, r->asked[i].code, "out of memory");
        }
    return 0;
}

/* ---- runtimes ------------------------------------------------------------------------- */

static int add_fed(struct replay *r, const char *name)
{
    for (size_t i = 0; i < r->n_fed; i++)
        if (strcmp(r->fed[i].name, name) == 0)
            return 0;
    if (r->n_fed == SIGNALS)
        return ADP_EFULL;
    struct fed *fed = &r->fed[r->n_fed++];
    snprintf(fed->name, sizeof fed->name, "%s", name);
    snprintf(fed->metric, sizeof fed->metric, "replay:%.*s", ADP_SIGNAL_NAME, name);
    r->fed_names[r->n_fed - 1] = fed->name;
    return 0;
}

/* Where each signal comes from; those only the policy knows with the unit it wants. */
static void put_signals(struct replay *r, struct adp_line *to,
                        const struct adp_loaded *loaded)
{
    uint32_t shipped;
    const struct adp_signal_def *dictionary = adp_dictionary(&shipped);
    adp_line_puts(to, "\"signals\":{");
    for (uint32_t i = 0; i < shipped + loaded->policy.n_signals; i++) {
        struct adp_signal own = { 0 };
        bool known = i < shipped;
        if (!known)
            own = adp_loaded_signal(loaded, i - shipped);
        for (uint32_t k = 0; !known && k < shipped; k++)
            if (strcmp(dictionary[k].name, own.name) == 0)
                own.name = NULL, k = shipped;
        const char *name = known ? dictionary[i].name : own.name;
        if (!name || add_fed(r, name))
            continue;
        adp_line_key(to, name);
        adp_line_puts(to, "{\"max_age\":\"1d\"");
        if (!known) {
            adp_line_key(to, "unit");
            adp_line_string(to, own.unit, strlen(own.unit));
        }
        adp_line_puts(to, ",\"sources\":[{\"metric\":\"replay:");
        adp_line_puts(to, name);
        adp_line_puts(to, "\"}]}");
    }
    adp_line_puts(to, "}");
}

/* The configuration: JSON is YAML. */
static void put_config(struct replay *r, struct adp_line *to, const struct asked *asked,
                       const struct adp_loaded *loaded)
{
    adp_line_puts(to, "{\"version\":1,\"experiment\":");
    adp_line_string(to, r->result->experiment, strlen(r->result->experiment));
    const char *salt = r->kind.experiment;
    if (*salt) {
        adp_line_puts(to, ",\"split_salt\":");
        adp_line_string(to, salt, strlen(salt));
    }
    adp_line_puts(to, ",");
    put_signals(r, to, loaded);
    adp_line_puts(to, ",\"policy\":{\"use\":");
    adp_line_string(to, asked->ask.use, strlen(asked->ask.use));
    if (asked->ask.params && *asked->ask.params) {
        adp_line_puts(to, ",\"params\":{");
        adp_line_puts(to, asked->ask.params);
        adp_line_puts(to, "}");
    }
    adp_line_puts(to, "},\"log\":{\"metrics\":\"inline\"}}");
    adp_line_put(to, "", 1);
}

static int load(const char *use, struct adp_loaded **ret, struct adp_error *err)
{
    char found[1024], here[1024], path[2100];
    if (strchr(use, '/') && *use != '/') {
        if (!getcwd(here, sizeof here))
            return adp_error_at(err, ADP_EIO, use, 0, 0, "no current folder: %s",
                                strerror(errno));
        snprintf(path, sizeof path, "%s/%s", here, use);
        use = path;
    }
    const char *given = strchr(use, '/') ? use : NULL;
    int e = adp_loader_find(given ? "policy" : use, given, found, sizeof found, err);
    return e ? e : adp_loader_load(ret, found, NULL, err);
}

static uint32_t fed_of(const struct replay *r, const char *name)
{
    for (uint32_t i = 0; i < r->n_fed; i++)
        if (strcmp(name, r->fed[i].name) == 0)
            return i;
    return SIGNALS;
}

/* How the recorded signals reach it without metrics. */
static void set_slots(const struct replay *r, struct asked *asked)
{
    const struct adp_signals *signals = adp_host_config(asked->runtime)->signals;
    asked->n_slots = 0;
    for (uint32_t i = 0; i < adp_signals_count(signals) && i < SIGNALS; i++) {
        uint32_t fed = fed_of(r, adp_signals_name(signals, i));
        struct slot *slot = &asked->slots[asked->n_slots];
        if (fed == SIGNALS)
            continue;
        *slot = (struct slot) { .fed = fed, .signal = i };
        adp_signals_range(signals, i, &slot->lo, &slot->hi);
        asked->n_slots++;
    }
}

static void set_wants(const struct replay *r, struct asked *asked)
{
    const struct adp_loaded *loaded = adp_host_policy(asked->runtime, 0);
    struct adp_card card = adp_loaded_card(loaded);
    asked->n_wants = loaded->policy.n_signals;
    for (uint32_t i = 0; i < loaded->policy.n_signals; i++) {
        struct want *want = &asked->wants[i];
        const char *name = adp_loaded_signal(loaded, i).name;
        want->slot = slot_of_fed(asked, fed_of(r, name));
        want->named = card.signal_quantity && strcmp(card.signal_quantity, name) == 0;
        snprintf(want->name, sizeof want->name, "%s", name);
    }
}

static void set_gates(const struct replay *r, struct asked *asked)
{
    const struct adp_loaded *loaded = adp_host_policy(asked->runtime, 0);
    const char *swept = r->options->sweep.param;
    asked->n_gates = loaded->policy.n_gates;
    for (uint32_t i = 0; i < loaded->policy.n_gates; i++) {
        struct adp_gate gate = adp_loaded_gate(loaded, i);
        bool has = gate.param != ADP_NONE;
        asked->gates[i] = (struct gate) {
            .rule = gate.rule,
            .slot = slot_of_fed(asked,
                                fed_of(r, adp_loaded_signal(loaded, gate.signal).name)),
            .threshold = has ? threshold_of(asked, loaded, gate.param) : NAN,
            .up = gate.op == ADP_GE || gate.op == ADP_GT,
            .strict = gate.op == ADP_GT || gate.op == ADP_LT,
            .swept = has && swept &&
                     strcmp(adp_loaded_param(loaded, gate.param).name, swept) == 0,
        };
    }
}

static int open_asked(struct replay *r, struct asked *asked, struct adp_error *err)
{
    asked->replay = r;
    asked->wall_ns = asked->mono_ns = 0;
    asked->earliest = asked->latest = NAN;
    asked->backward = 0;
    asked->diverged = false;
    asked->clock = (struct adp_clock) { asked, wall_of, mono_of,
                                        asked->path[0] ? meter_of : mono_of };
    const struct adp_host_options options = {
        .clock = &asked->clock,
        .own_thread = true,
        .no_log = !asked->path[0],
        .lanes = 1,
        .ring_kb = asked->path[0] ? RING_KB : LEAST_KB,
        .control_kb = RING_KB, /* no snapshots: metrics come with the decisions */
        .scene = asked->path[0] ? &asked->scene : NULL,
    };
    struct adp_loaded *loaded;
    struct adp_line text;
    char name[96];
    adp_errors errors = { 0 };
    int e = load(asked->ask.use, &loaded, err);
    if (e)
        return e;
    adp_line_init(&text);
    put_config(r, &text, asked, loaded);
    snprintf(name, sizeof name, "--policy %.80s", asked->ask.use);
    e = text.broken ? ADP_ENOMEM
                    : adp_host_open_text(&asked->runtime, text.text, name, ".", &options,
                                         &errors);
    adp_line_finish(&text);
    adp_loaded_destroy(loaded);
    if (e < 0 && errors.n && !r->result->errors.n) {
        r->result->errors = errors;
        if (err && !err->code)
            *err = errors.list[0];
    } else {
        adp_errors_free(&errors);
    }
    if (e >= 0)
        e = adp_runtime_start(asked->runtime, err);
    if (e >= 0)
        e = adp_lane_open(&asked->lane, asked->runtime, err);
    if (e >= 0) {
        set_slots(r, asked);
        set_wants(r, asked);
        set_gates(r, asked);
    }
    return e < 0 ? adp_error_set(err, e, "the runtime does not begin") : 0;
}

static int close_asked(struct asked *asked, struct adp_error *err)
{
    int e = 0;
    if (asked->lane)
        adp_lane_close(asked->lane);
    if (asked->runtime)
        e = adp_runtime_close(asked->runtime, err);
    asked->lane = NULL;
    asked->runtime = NULL;
    return e;
}

static bool is_taken(const struct adp_replay_result *result, const char *name)
{
    for (size_t i = 0; i < result->n_said; i++)
        if (strcmp(result->said[i].name, name) == 0)
            return true;
    return false;
}

/* The policies' folders, each once: "kv_threshold", "kv_threshold-2". */
static void name_policy(struct replay *r, struct adp_replay_said *said, const char *use)
{
    const char *slash = strrchr(use, '/'), *base = slash ? slash + 1 : use;
    const char *dot = strrchr(base, '.');
    int len = (int)(dot && slash ? (size_t)(dot - base) : strlen(base)), n = 1;
    char plain[48];
    snprintf(plain, sizeof plain, "%.*s", len, base);
    snprintf(said->name, sizeof said->name, "%s", plain);
    while (is_taken(r->result, said->name))
        snprintf(said->name, sizeof said->name, "%s-%d", plain, ++n);
}

static void plan_policy(struct replay *r, const struct adp_replay_ask *ask, bool baseline)
{
    struct adp_replay_said *said = &r->result->said[r->result->n_said];
    name_policy(r, said, ask->use);
    said->baseline = baseline;
    snprintf(said->params, sizeof said->params, "%s", ask->params ? ask->params : "");
    r->result->n_said++;
    r->asked[r->n_asked++] = (struct asked) { .ask = *ask, .said = said };
}

/* In decimals as somebody would write it: 0.3, not 0.30000000000000004. */
static void write_value(char *to, size_t cap, double value)
{
    snprintf(to, cap, "%.15g", value);
}

/* The sweep's points: the first policy's parameters, and one more. */
static void plan_sweep(struct replay *r)
{
    const struct adp_replay_sweep *sweep = &r->options->sweep;
    struct adp_replay_result *result = r->result;
    if (!sweep->param)
        return;
    snprintf(result->swept, sizeof result->swept, "%s", sweep->param);
    for (uint32_t i = 0; i < sweep->n && i < ADP_REPLAY_POINTS; i++) {
        char text[32];
        long double last = sweep->n > 1 ? sweep->n - 1 : 1;
        long double value = (sweep->lo * (last - i) + sweep->hi * i) / last;
        write_value(text, sizeof text, (double)value);
        struct adp_replay_point *point = &result->points[result->n_points++];
        *point =
            (struct adp_replay_point) { .value = strtod(text, NULL), .closest = NAN };
        r->asked[r->n_asked++] =
            (struct asked) { .ask = r->options->asks[0], .point = point };
    }
}

static void plan(struct replay *r)
{
    static const struct adp_replay_ask baseline = { BASELINE, NULL };
    bool there = false;
    for (size_t i = 0; i < r->options->n_asks; i++) {
        bool is = strcmp(r->options->asks[i].use, BASELINE) == 0;
        there |= is;
        plan_policy(r, &r->options->asks[i], is);
    }
    if (!there)
        plan_policy(r, &baseline, true);
    plan_sweep(r);
}

/* The first policy's parameters, the swept one at this value in place of what was given. */
static void write_point(struct replay *r, double value)
{
    const char *at = r->options->asks[0].params, *param = r->options->sweep.param;
    size_t key = strlen(param), used = 0, cap = sizeof r->sweep_params;
    while (at && *at) {
        size_t n = strcspn(at, ",");
        bool swept = strncmp(at, param, key) == 0 && at[key] == ':';
        if (!swept && used + n + 2 < cap) {
            memcpy(r->sweep_params + used, at, n);
            memcpy(r->sweep_params + used + n, ", ", 2);
            used += n + 2;
        }
        at += n;
        at += strspn(at, ", ");
    }
    char text[32];
    write_value(text, sizeof text, value);
    snprintf(r->sweep_params + used, cap - used, "%s: %s", param, text);
}

/* Opens the runtimes for one log; those of the sweep with their value written in. */
static int open_all(struct replay *r, size_t log, struct adp_error *err)
{
    const char *path = r->options->logs[log];
    snprintf(r->run, sizeof r->run, "r%zu", log + 1);
    snprintf(r->notes, sizeof r->notes, NOTES "%.200s: open loop", path);
    r->n_fed = 0;
    for (size_t i = 0; i < r->n_asked; i++) {
        struct asked *asked = &r->asked[i];
        if (asked->point) {
            write_point(r, asked->point->value);
            asked->ask.params = r->sweep_params;
        } else if (r->options->out) {
            snprintf(asked->path, sizeof asked->path, "%s/%s-%s.part", r->beside,
                     asked->said->name, r->run);
            asked->scene = (struct adp_host_scene) { .experiment = r->result->experiment,
                                                     .run = r->run,
                                                     .notes = r->notes,
                                                     .log_path = asked->path,
                                                     .watched = r->kind.watched };
        }
        int e = open_asked(r, asked, err);
        if (e)
            return e;
    }
    return 0;
}

/* Whether every policy loads and takes its parameters, before anything is written. */
static int rehearse(struct replay *r, struct adp_error *err)
{
    int e = 0;
    for (size_t i = 0; i < r->n_asked && !e; i++) {
        struct asked *asked = &r->asked[i];
        if (asked->point) {
            write_point(r, asked->point->value);
            asked->ask.params = r->sweep_params;
        }
        e = open_asked(r, asked, err);
        int code = close_asked(asked, err);
        e = e ? e : code;
    }
    return e;
}

static int close_all(struct replay *r, struct adp_error *err)
{
    int e = 0;
    for (size_t i = 0; i < r->n_asked; i++) {
        int code = close_asked(&r->asked[i], err);
        e = e ? e : code;
    }
    return e;
}

static bool is_stopped(const struct replay *r)
{
    return r->options->stop && *r->options->stop;
}

/* ---- one log after another ------------------------------------------------------------ */

/* Durations are between the earliest and the latest time, so never below 0. */
static void note_time(struct replay *r)
{
    const struct asked *any = &r->asked[0];
    if (!isnan(any->latest))
        r->result->seconds += any->latest - any->earliest;
    r->result->backward += any->backward;
    for (size_t i = 0; i < r->n_asked; i++)
        if (r->asked[i].diverged)
            r->asked[i].said->first_at -= r->asked[i].earliest;
}

static int ask_trace(struct replay *r, const char *path, struct adp_error *err)
{
    struct adp_tape *tape;
    struct adp_replay_result *result = r->result;
    int e = adp_tape_open(&tape, path, &r->kind, r->fed_names, r->n_fed, r->options->stop,
                          err);
    if (e < 0)
        return e;
    while ((e = adp_tape_next(tape, &r->batches, &r->n_batches, err)) > 0)
        if ((e = ask_all(r, err)) < 0)
            break;
    struct adp_tape_count count = adp_tape_counts(tape);
    result->others += count.others;
    result->samples += count.samples;
    result->failed += count.failed;
    result->corrupt += count.corrupt;
    result->draws += count.draws;
    result->anonymous += count.anonymous;
    note_time(r);
    adp_tape_close(tape);
    return e;
}

static int replay_log(struct replay *r, size_t i, struct adp_error *err)
{
    const char *path = r->options->logs[i];
    uint64_t decisions = r->result->decisions, failed = r->result->failed;
    /* The first one's is known. */
    int e = i ? adp_tape_find(place_of(r, i), r->options->stop, &r->kind, err) : 0;
    if (!e)
        r->result->watched |= r->kind.watched;
    if (!e && !*r->result->recorded)
        snprintf(r->result->recorded, sizeof r->result->recorded, "%s", r->kind.recorded);
    if (!e)
        e = open_all(r, i, err);
    if (!e)
        e = ask_trace(r, place_of(r, i), err);
    int unwritten = close_all(r, err);
    if (e || unwritten)
        return e ? e : unwritten;
    if (r->result->decisions > decisions || is_stopped(r))
        return 0;
    return adp_error_at(
        err, ADP_EINVAL, path, 0, 0,
        r->result->failed > failed
            ? "every sample of this trace failed: nothing is known of the "
              "engine, so nothing can be replayed"
            : "holds no decisions and no samples: nothing to replay");
}

/* ---- what could be judged ---------------------------------------------------------------
 * As report judges of the logs (finding.c). */

/* With thresholds for all gates, no judged decision means that readings were missing; with
 * some unknown, only a gate that was never read means that. */
static bool is_starved(const struct asked *asked)
{
    bool all_fixed = true, unread = false;
    for (size_t i = 0; i < asked->n_gates; i++) {
        const struct gate *gate = &asked->gates[i];
        bool seen = false;
        for (size_t k = 0; k < asked->n_wants; k++)
            seen |= asked->wants[k].slot == gate->slot && asked->wants[k].seen;
        all_fixed &= !isnan(gate->threshold);
        unread |= !isnan(gate->threshold) && !seen;
    }
    return asked->n_gates && (all_fixed || unread);
}

/* Without gates: what it reads is what its card names, or else anything. */
static bool is_blind(const struct asked *asked)
{
    bool any = false;
    for (size_t i = 0; i < asked->n_wants; i++) {
        if (asked->wants[i].named)
            return !asked->wants[i].seen;
        any |= asked->wants[i].seen;
    }
    return asked->n_wants && !any;
}

static void judge(const struct asked *asked)
{
    struct adp_replay_said *said = asked->said;
    for (size_t i = 0; said && i < asked->n_wants; i++)
        if (!asked->wants[i].seen)
            snprintf(said->never[said->n_never++], sizeof said->never[0], "%s",
                     asked->wants[i].name);
    if (!said || said->refused || said->baseline || !said->asked)
        return;
    said->unjudged = said->faults == said->asked ||
                     (!asked->judged && is_starved(asked)) ||
                     (!asked->n_gates && is_blind(asked));
}

/* ---- where the logs go ------------------------------------------------------------------
 * They are written beside what is there, under names that no reader takes for logs, and
 * take its place when all of them are whole. */

static struct adp_old_logs old_logs(const struct replay *r)
{
    return (struct adp_old_logs) { .out = r->options->out,
                                   .experiment = r->result->experiment,
                                   .policies = r->names,
                                   .notes = NOTES,
                                   .inputs = r->inputs,
                                   .n_inputs = r->options->n_logs };
}

static int list_inputs(struct replay *r, struct adp_error *err)
{
    r->inputs = calloc(r->options->n_logs + 1, sizeof *r->inputs);
    if (!r->inputs)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    for (size_t i = 0; i < r->options->n_logs; i++)
        r->inputs[i] = place_of(r, i);
    return 0;
}

static int make_room(struct replay *r, struct adp_error *err)
{
    const struct adp_replay_result *result = r->result;
    for (size_t i = 0; i < result->n_said; i++)
        r->names[i] = result->said[i].name;
    int n = snprintf(r->folder, sizeof r->folder, "%s/%s", r->options->out,
                     result->experiment);
    if (n < 0 || (size_t)n >= sizeof r->folder)
        return adp_error_at(err, ADP_EINVAL, r->options->out, 0, 0, "path is too long");
    int e = list_inputs(r, err);
    const struct adp_old_logs old = old_logs(r);
    if (!e)
        e = adp_old_logs_check(&old, err);
    if (!e)
        e = adp_old_logs_take_folder(old.out, old.experiment, &r->taken, err);
    if (e)
        return e;
    snprintf(r->beside, sizeof r->beside, "%s/.replay-XXXXXX", r->folder);
    if (mkdtemp(r->beside))
        return 0;
    *r->beside = '\0';
    return adp_error_at(err, ADP_EIO, r->folder, 0, 0, "no folder can be made in it: %s",
                        strerror(errno));
}

static int put_in_place(const struct replay *r, const char *policy, size_t log,
                        struct adp_error *err)
{
    char from[1400], to[1400];
    snprintf(to, sizeof to, "%s/%s", r->folder, policy);
    if (mkdir(to, 0777) < 0 && errno != EEXIST)
        return adp_error_at(err, ADP_EIO, to, 0, 0, "the folder cannot be made: %s",
                            strerror(errno));
    snprintf(from, sizeof from, "%s/%s-r%zu.part", r->beside, policy, log + 1);
    snprintf(to, sizeof to, "%s/%s/r%zu.jsonl", r->folder, policy, log + 1);
    return rename(from, to) == 0
               ? 0
               : adp_error_at(err, ADP_EIO, to, 0, 0, "cannot be put in place: %s",
                              strerror(errno));
}

/* All logs are whole: they stand in place of the earlier ones. */
static int put_all_in_place(struct replay *r, struct adp_error *err)
{
    const struct adp_old_logs old = old_logs(r);
    int e = adp_old_logs_check(&old, err);
    for (size_t i = 0; i < r->result->n_said && !e; i++)
        for (size_t log = 0; log < r->options->n_logs && !e; log++)
            e = put_in_place(r, r->names[i], log, err);
    if (!e)
        e = adp_old_logs_remove(&old, r->options->n_logs, err);
    if (!e)
        snprintf(r->result->folder, sizeof r->result->folder, "%s", r->folder);
    return e;
}

/* What is not in place goes. A folder that holds nothing else goes with it. */
static void clear_beside(struct replay *r)
{
    char path[1400];
    for (size_t i = 0; *r->beside && i < r->result->n_said; i++)
        for (size_t log = 0; log < r->options->n_logs; log++) {
            snprintf(path, sizeof path, "%s/%s-r%zu.part", r->beside, r->names[i],
                     log + 1);
            unlink(path);
        }
    if (*r->beside && rmdir(r->beside) == 0)
        rmdir(r->folder);
    if (r->taken >= 0)
        close(r->taken);
    free(r->inputs);
}

/* An experiment's name may be part of a path. */
static void name_experiment(struct replay *r)
{
    struct adp_replay_result *result = r->result;
    if (r->options->experiment)
        snprintf(result->experiment, sizeof result->experiment, "%s",
                 r->options->experiment);
    else
        snprintf(result->experiment, sizeof result->experiment, "replay-%.100s",
                 *r->kind.experiment ? r->kind.experiment : "unnamed");
    for (char *c = result->experiment; !r->options->experiment && *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
            *c = '-';
}

int adp_replay_run(const struct adp_replay_options *options,
                   struct adp_replay_result *ret, struct adp_error *err)
{
    struct replay *r = calloc(1, sizeof *r);
    *ret = (struct adp_replay_result) { 0 };
    if (!r)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    r->options = options;
    r->result = ret;
    plan(r);
    r->input.fd = r->taken = -1;
    int e = 0;
    for (size_t i = 0; i < options->n_logs && !e; i++)
        if (strcmp(options->logs[i], "-") == 0 && !*r->input.path)
            e = adp_tape_keep_input(&r->input, options->stop, err);
    if (!e)
        e = adp_tape_find(place_of(r, 0), options->stop, &r->kind, err);
    if (!e) {
        name_experiment(r);
        e = rehearse(r, err);
    }
    if (!e && options->out)
        e = make_room(r, err);
    for (size_t i = 0; i < options->n_logs && !e && !is_stopped(r); i++)
        e = replay_log(r, i, err);
    ret->interrupted = !e && is_stopped(r);
    if (!e && !ret->interrupted && options->out)
        e = put_all_in_place(r, err);
    for (size_t i = 0; i < r->n_asked; i++)
        judge(&r->asked[i]);
    clear_beside(r);
    if (r->input.fd >= 0)
        close(r->input.fd);
    free(r);
    return e;
}
