/* SPDX-License-Identifier: MIT */
/* Replay: reading the trace, asking the policies. */
#include "runtime/lab/replay.h"

#include "core/clock.h"
#include "core/lane.h"
#include "core/line.h"
#include "runtime/analysis/lines.h"
#include "runtime/analysis/part.h"
#include "runtime/analysis/reader.h"
#include "runtime/host/host.h"
#include "runtime/lab/old_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BASELINE "no_admission"

enum {
    RING_KB = 1024,
    FLUSH_EVERY = 128, /* decisions; of 4 KB at most, half a ring */
    SIGNALS = ADP_MAX_KNOWN,
    ID = 4096
};

/* A metric of the recorded signals: `name` as it is in the trace, `metric` as we give it. */
struct fed {
    char name[ADP_SIGNAL_NAME + 1], metric[ADP_SIGNAL_NAME + 8];
};

/* One runtime that is asked. */
struct asked {
    struct adp_replay_ask ask;
    char path[1400]; /* of its log; "": none */
    struct adp_host_scene scene;
    adp_runtime *runtime;
    adp_lane *lane;
    struct adp_replay_said *said;   /* a policy, or */
    struct adp_replay_point *point; /* a point of the sweep */
};

struct replay {
    const struct adp_replay_options *options;
    struct adp_replay_result *result;
    struct adp_clock clock;
    uint64_t wall_ns, mono_ns;
    char salt[256], run[32], notes[256], sweep_params[512];
    struct adp_key identity; /* of the run that is replayed */
    uint64_t print;          /* whose identity is known to be that; 0: none */
    bool begun, watch;       /* watch: samples are what is replayed */
    double first_at, last_at;
    struct fed fed[SIGNALS];
    size_t n_fed;
    struct asked asked[ADP_REPLAY_POLICIES + 1 + ADP_REPLAY_POINTS];
    size_t n_asked;
};

static uint64_t wall_of(void *ctx)
{
    const struct replay *r = ctx;
    return r->wall_ns;
}

static uint64_t mono_of(void *ctx)
{
    const struct replay *r = ctx;
    return r->mono_ns;
}

static uint64_t meter_of(void *ctx)
{
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the trace ------------------------------------------------------------------------ */

typedef int each_entry(struct replay *r, const struct adp_entry *entry, int *ret_done,
                       struct adp_error *err);

static int read_trace(struct replay *r, const char *path, each_entry *each, bool count,
                      struct adp_error *err)
{
    struct adp_reader *reader = adp_reader_create();
    int fd = open(path, O_RDONLY | O_CLOEXEC), done = 0, e = 0;
    if (fd < 0) {
        adp_reader_destroy(reader);
        return adp_error_at(err, errno == ENOENT ? ADP_ENOENT : ADP_EIO, path, 0, 0,
                            "cannot be read: %s", strerror(errno));
    }
    struct adp_lines *lines = adp_lines_create(fd);
    struct adp_raw_line line;
    if (!lines || !reader)
        e = ADP_ENOMEM;
    while (!e && !done && (e = adp_lines_next(lines, &line, err)) > 0) {
        struct adp_entry entry;
        enum adp_corrupt corrupt;
        bool stop = r->options->stop && *r->options->stop;
        e = line.too_long || stop
                ? 0
                : adp_reader_line(reader, line.text, line.len, &entry, &corrupt);
        done |= stop;
        if (e > 0)
            e = each(r, &entry, &done, err);
        else if (!e && count && line.len)
            r->result->corrupt++;
    }
    adp_lines_destroy(lines);
    adp_reader_destroy(reader);
    close(fd);
    return e < 0 ? adp_error_set(err, e, "out of memory") : 0;
}

/* The first decision that governed says what is replayed. */
static int find_decision(struct replay *r, const struct adp_entry *entry, int *ret_done,
                         struct adp_error *err)
{
    (void)err;
    struct adp_text experiment = entry->experiment;
    if (experiment.text && !*r->salt)
        snprintf(r->salt, sizeof r->salt, "%.*s", (int)experiment.len, experiment.text);
    if (entry->kind != ADP_ENTRY_DECISION || entry->shadow)
        return 0;
    r->watch = false;
    r->identity = adp_part_identity(entry);
    *ret_done = 1;
    struct adp_part part = { 0 };
    char params[128];
    struct adp_store *store = adp_store_create(0);
    int e = store ? adp_part_init(&part, store, r->identity, 0, entry) : ADP_ENOMEM;
    adp_part_params(&part, params, sizeof params);
    if (!e)
        snprintf(r->result->recorded, sizeof r->result->recorded, "%.60s%s%.90s%s",
                 part.policy ? part.policy : "(no policy named)", *params ? " (" : "",
                 params, *params ? ")" : "");
    adp_part_finish(&part);
    adp_store_release(store);
    return e;
}

/* Is it of the run that is replayed? */
static bool is_ours(struct replay *r, const struct adp_entry *entry)
{
    if (entry->shadow)
        return false;
    if (entry->print && entry->print == r->print)
        return true;
    struct adp_key identity = adp_part_identity(entry);
    if (identity.high != r->identity.high || identity.low != r->identity.low)
        return false;
    r->print = entry->print;
    return true;
}

/* ---- asking --------------------------------------------------------------------------- */

/* The recorded signals as metrics. */
static uint32_t feed(struct replay *r, const struct adp_entry *entry, adp_metric *metrics)
{
    uint32_t n = 0;
    for (size_t i = 0; i < entry->n_signals; i++) {
        const struct adp_log_reading *reading = &entry->signals[i];
        if (isnan(reading->value))
            continue;
        for (size_t k = 0; k < r->n_fed; k++)
            if (strlen(r->fed[k].name) == reading->name.len &&
                memcmp(r->fed[k].name, reading->name.text, reading->name.len) == 0) {
                metrics[n++] = (adp_metric) { r->fed[k].metric, NULL, reading->value };
                break;
            }
    }
    return n;
}

/* A borrowed text as a string in `to`; NULL when it is absent. */
static const char *string_of(struct adp_text text, char to[ID])
{
    if (!text.text)
        return NULL;
    snprintf(to, ID, "%.*s", (int)text.len, text.text);
    return to;
}

static void fill_facts(const struct adp_entry *entry, char text[4][ID], adp_facts *ret)
{
    const struct adp_entry_facts *f = &entry->facts;
    *ret = (adp_facts) {
        .size = sizeof *ret,
        .request_id = string_of(entry->request_id, text[0]),
        .tenant = string_of(f->tenant, text[1]),
        .session = string_of(f->session, text[2]),
        .slo_class = string_of(f->slo_class, text[3]),
    };
    if (f->prompt_tokens >= 0 && f->prompt_tokens < 1e15) {
        ret->present |= ADP_PROMPT;
        ret->prompt_tokens = (uint64_t)f->prompt_tokens;
    }
    if (f->max_output_tokens >= 0 && f->max_output_tokens < 1e15) {
        ret->present |= ADP_OUTPUT;
        ret->max_output_tokens = (uint64_t)f->max_output_tokens;
    }
    if (fabs(f->priority) < 1e15) {
        ret->present |= ADP_PRIORITY;
        ret->priority = (int64_t)f->priority;
    }
    if (!isnan(f->ttft_deadline_ms)) {
        ret->present |= ADP_DEADLINE;
        ret->ttft_deadline_ms = f->ttft_deadline_ms;
    }
}

static double reading_of(const struct adp_entry *entry, const char *name)
{
    for (size_t i = 0; i < entry->n_signals; i++)
        if (strlen(name) == entry->signals[i].name.len &&
            memcmp(name, entry->signals[i].name.text, entry->signals[i].name.len) == 0)
            return entry->signals[i].value;
    return NAN;
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

/* How far gate i lies beyond its threshold; NaN: not known. */
static double distance_of(const struct asked *asked, const struct adp_loaded *loaded,
                          const struct adp_entry *entry, uint32_t i)
{
    struct adp_gate gate = adp_loaded_gate(loaded, i);
    if (gate.param == ADP_NONE)
        return NAN;
    double value = reading_of(entry, adp_loaded_signal(loaded, gate.signal).name);
    double threshold = threshold_of(asked, loaded, gate.param);
    bool up = gate.op == ADP_GE || gate.op == ADP_GT;
    return up ? value - threshold : threshold - value;
}

/* Do the other gates of its rule hold? */
static bool others_hold(const struct asked *asked, const struct adp_loaded *loaded,
                        const struct adp_entry *entry, uint32_t i)
{
    uint32_t rule = adp_loaded_gate(loaded, i).rule;
    for (uint32_t k = 0; k < loaded->policy.n_gates; k++) {
        struct adp_gate gate = adp_loaded_gate(loaded, k);
        double distance =
            k != i && gate.rule == rule ? distance_of(asked, loaded, entry, k) : 1;
        bool strict = gate.op == ADP_GT || gate.op == ADP_LT;
        if (!(strict ? distance > 0 : distance >= 0))
            return false;
    }
    return true;
}

/* How near the gates on the swept parameter came, the others of their rules holding. */
static void approach(const struct replay *r, const struct asked *asked,
                     const struct adp_entry *entry)
{
    const struct adp_loaded *loaded = adp_host_policy(asked->runtime, 0);
    for (uint32_t i = 0; i < loaded->policy.n_gates; i++) {
        struct adp_gate gate = adp_loaded_gate(loaded, i);
        if (gate.param == ADP_NONE || strcmp(adp_loaded_param(loaded, gate.param).name,
                                             r->options->sweep.param) != 0)
            continue;
        if (others_hold(asked, loaded, entry, i))
            asked->point->closest =
                fmax(asked->point->closest, distance_of(asked, loaded, entry, i));
    }
}

static void note(struct replay *r, struct asked *asked, const struct adp_entry *entry,
                 const adp_decision *decision)
{
    bool refuses = decision->policy_action != ADP_ADMIT && !decision->fault;
    bool refused = entry->verdict != ADP_ADMIT;
    struct adp_replay_said *said = asked->said;
    if (asked->point) {
        asked->point->asked++;
        asked->point->refused += refuses;
        approach(r, asked, entry);
        return;
    }
    said->asked++;
    said->refused += refuses;
    said->faults += decision->fault != NULL;
    if (r->watch || entry->fault || decision->fault)
        return;
    said->agree[refused][refuses]++;
    if (refused != refuses && !said->first) {
        said->first = r->result->decisions;
        said->first_at = entry->at - r->first_at;
    }
}

/* A recorded draw is drawn again; without one an id has the draw of its hash. */
static void set_draw(struct replay *r, const struct adp_entry *entry)
{
    bool drawn = entry->draw >= 0 && entry->draw < 1;
    r->result->draws += drawn;
    r->result->anonymous += !drawn && !entry->request_id.text;
    for (size_t i = 0; i < r->n_asked; i++) {
        r->asked[i].lane->has_draw = drawn;
        r->asked[i].lane->draw = entry->draw;
    }
}

/* What was recorded per replica stands in place of what metrics would tell. Columns of
 * different lengths are none of ours. */
static void set_replicas(const struct asked *asked, const struct adp_entry *entry)
{
    const struct adp_signals *set = adp_host_config(asked->runtime)->signals;
    struct adp_replicas *seen = &asked->lane->replicas->seen;
    size_t rows = entry->n_replicas ? entry->replicas[0].n : 0;
    int of[SIGNALS];
    uint64_t signals = 0;
    for (size_t i = 0; i < entry->n_replicas && i < SIGNALS; i++) {
        char name[ADP_SIGNAL_NAME + 1];
        const struct adp_log_column *c = &entry->replicas[i];
        snprintf(name, sizeof name, "%.*s", (int)c->name.len, c->name.text);
        of[i] = c->n == rows ? adp_signals_find(set, name) : -1;
        if (of[i] >= 0)
            signals |= UINT64_C(1) << of[i];
    }
    bool fits = rows <= ADP_MAX_REPLICAS && adp_replicas_fit((uint32_t)rows, signals);
    adp_replicas_begin(seen, fits ? (uint32_t)rows : 0, signals);
    for (uint32_t row = 0; row < seen->rows; row++)
        for (size_t i = 0; i < entry->n_replicas && i < SIGNALS; i++)
            if (of[i] >= 0 && !isnan(entry->replicas[i].value[row]))
                adp_replicas_set(seen, row, (uint32_t)of[i],
                                 entry->replicas[i].value[row], UINT64_MAX);
    asked->lane->has_replicas = true;
}

/* How many decisions with readings like these go into half a ring. */
static uint64_t flush_every(const struct adp_entry *entry)
{
    size_t cells = 0;
    for (size_t i = 0; i < entry->n_replicas; i++)
        cells += entry->replicas[i].n;
    return cells ? FLUSH_EVERY / (1 + cells / 256) + 1 : FLUSH_EVERY;
}

/* The time of the entry. Lanes are written one after another: time never goes back. */
static void set_time(struct replay *r, const struct adp_entry *entry)
{
    if (!isnan(entry->at)) {
        if (!r->begun)
            r->first_at = entry->at;
        r->last_at = fmax(entry->at, r->begun ? r->last_at : entry->at);
        r->wall_ns = entry->at > 0 && entry->at < 1e10 ? (uint64_t)(entry->at * 1e9) : 0;
    }
    uint64_t mono = entry->mono_ns >= 0 ? (uint64_t)entry->mono_ns : r->wall_ns;
    if (mono > r->mono_ns)
        r->mono_ns = mono;
    r->begun = true;
}

static int ask_all(struct replay *r, const struct adp_entry *entry, struct adp_error *err)
{
    static _Thread_local char text[4][ID];
    adp_metric metrics[SIGNALS];
    adp_facts facts;
    uint32_t n = feed(r, entry, metrics);
    fill_facts(entry, text, &facts);
    set_time(r, entry);
    r->result->decisions++;
    set_draw(r, entry);
    for (size_t i = 0; i < r->n_asked; i++) {
        struct asked *asked = &r->asked[i];
        adp_decision decision = { .size = sizeof decision };
        set_replicas(asked, entry);
        int e = adp_lane_decide_with(asked->lane, metrics, n, &facts, &decision);
        if (e < 0)
            return adp_error_set(err, e, "the runtime does not decide");
        note(r, asked, entry, &decision);
        if (asked->path[0] && r->result->decisions % flush_every(entry) == 0 &&
            adp_runtime_flush(asked->runtime, err) < 0)
            return ADP_EIO;
    }
    return 0;
}

static int replay_entry(struct replay *r, const struct adp_entry *entry, int *ret_done,
                        struct adp_error *err)
{
    (void)ret_done;
    switch (entry->kind) {
    case ADP_ENTRY_DECISION:
        if (!r->watch && is_ours(r, entry))
            return ask_all(r, entry, err);
        r->result->others++;
        return 0;
    case ADP_ENTRY_STATE:
        r->result->samples++;
        return r->watch ? ask_all(r, entry, err) : 0;
    case ADP_ENTRY_SCRAPE_ERROR:
        r->result->failed++;
        return 0;
    case ADP_ENTRY_OUTCOME:
    case ADP_ENTRY_LOSS:
        break;
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
    if (*r->salt) {
        adp_line_puts(to, ",\"split_salt\":");
        adp_line_string(to, r->salt, strlen(r->salt));
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

static int open_asked(struct replay *r, struct asked *asked, struct adp_error *err)
{
    const struct adp_host_options options = {
        .clock = &r->clock,
        .own_thread = true,
        .no_log = !asked->path[0],
        .lanes = 1,
        .ring_kb = RING_KB,
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

/* The sweep's points: the first policy's parameters, and one more. */
static void plan_sweep(struct replay *r)
{
    const struct adp_replay_sweep *sweep = &r->options->sweep;
    struct adp_replay_result *result = r->result;
    if (!sweep->param)
        return;
    snprintf(result->swept, sizeof result->swept, "%s", sweep->param);
    for (uint32_t i = 0; i < sweep->n && i < ADP_REPLAY_POINTS; i++) {
        double share = sweep->n > 1 ? (double)i / (sweep->n - 1) : 0;
        struct adp_replay_point *point = &result->points[result->n_points++];
        *point = (struct adp_replay_point) {
            .value = sweep->lo + share * (sweep->hi - sweep->lo), .closest = NAN
        };
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
    snprintf(r->sweep_params + used, cap - used, "%s: %.10g", param, value);
}

/* Opens the runtimes for one log; those of the sweep with their value written in. */
static int open_all(struct replay *r, size_t log, struct adp_error *err)
{
    const char *path = r->options->logs[log];
    snprintf(r->run, sizeof r->run, "r%zu", log + 1);
    snprintf(r->notes, sizeof r->notes, "replay of %.200s: open loop", path);
    r->mono_ns = 0;
    r->n_fed = 0;
    for (size_t i = 0; i < r->n_asked; i++) {
        struct asked *asked = &r->asked[i];
        if (asked->point) {
            write_point(r, asked->point->value);
            asked->ask.params = r->sweep_params;
        } else {
            snprintf(asked->path, sizeof asked->path, "%s/%s/%s.jsonl", r->result->folder,
                     asked->said->name, r->run);
            asked->scene = (struct adp_host_scene) { .experiment = r->result->experiment,
                                                     .run = r->run,
                                                     .notes = r->notes,
                                                     .log_path = asked->path };
        }
        r->n_fed = 0; /* the same for all but for what one policy alone reads */
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
        r->n_fed = 0;
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

/* ---- one log after another ------------------------------------------------------------ */

static int find_kind(struct replay *r, const char *path, struct adp_error *err)
{
    r->watch = true;
    r->print = 0;
    r->begun = false;
    r->salt[0] = '\0';
    return read_trace(r, path, find_decision, false, err);
}

static int replay_log(struct replay *r, size_t i, struct adp_error *err)
{
    const char *path = r->options->logs[i];
    uint64_t decisions = r->result->decisions, failed = r->result->failed;
    int e = find_kind(r, path, err);
    if (!e)
        e = open_all(r, i, err);
    if (!e)
        e = read_trace(r, path, replay_entry, true, err);
    int unwritten = close_all(r, err);
    if (e || unwritten)
        return e ? e : unwritten;
    if (r->begun)
        r->result->seconds += r->last_at - r->first_at;
    if (r->result->decisions > decisions || (r->options->stop && *r->options->stop))
        return 0;
    return adp_error_at(
        err, ADP_EINVAL, path, 0, 0,
        r->result->failed > failed
            ? "every sample of this trace failed: nothing is known of the "
              "engine, so nothing can be replayed"
            : "holds no decisions and no samples: nothing to replay");
}

/* Folders of the experiment; only its own logs are replaced. */
static int make_room(struct replay *r, struct adp_error *err)
{
    const char *names[ADP_REPLAY_POLICIES + 2] = { 0 };
    struct adp_replay_result *result = r->result;
    for (size_t i = 0; i < result->n_said; i++)
        names[i] = result->said[i].name;
    int n = snprintf(result->folder, sizeof result->folder, "%s/%s", r->options->out,
                     result->experiment);
    if (n < 0 || (size_t)n >= sizeof result->folder)
        return adp_error_at(err, ADP_EINVAL, r->options->out, 0, 0, "path is too long");
    return adp_old_logs_remove(r->options->out, result->experiment, names, err);
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
                 *r->salt ? r->salt : "unnamed");
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
    r->clock = (struct adp_clock) { r, wall_of, mono_of, meter_of };
    plan(r);
    int e = find_kind(r, options->logs[0], err);
    if (!e) {
        name_experiment(r);
        e = rehearse(r, err);
    }
    if (!e)
        e = make_room(r, err);
    for (size_t i = 0; i < options->n_logs && !e; i++)
        e = replay_log(r, i, err);
    free(r);
    return e;
}
