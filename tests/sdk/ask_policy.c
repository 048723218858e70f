/* SPDX-License-Identifier: MIT */
/* Asks a policy built elsewhere, for languages.test:
 *
 *     ask_policy declares FILE           prints its tables, as the loader found them
 *     ask_policy answers FILE SETTINGS   opens it in a runtime (SETTINGS go into `policy:`)
 *                                        and answers each line of stdin with one
 *     ask_policy keeps FILE FAIL_IN      calls it as a host would that saves its state;
 *                                        for the policies boundary.cc and boundary.rs
 *
 * A line of stdin: KV WAITING [KEY=VALUE]..., a reading that is absent is "-". Keys:
 * tenant session class prompt output priority deadline, and end=done|failed|..., which
 * reports that outcome at once. */
#include "runtime/host/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int say(const struct adp_error *err)
{
    char text[1024];
    adp_error_format(err, text, sizeof text);
    fprintf(stderr, "%s\n", text);
    return EXIT_FAILURE;
}

static const char *or_dash(const char *s)
{
    return s && *s ? s : "-";
}

/* --- declares --- */

static void print_card(struct adp_card c)
{
    const char *const words[] = { c.unit,
                                  c.setting,
                                  c.slo_awareness,
                                  c.signal_quantity,
                                  c.signal_structure,
                                  c.metadata_assumed,
                                  c.portability,
                                  c.source,
                                  c.margin_unit };
    printf("card");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        printf(" %s", words[i] ? words[i] : "-");
    printf(" %u\n", c.flags);
}

static int declares(const char *file)
{
    struct adp_loaded *loaded;
    struct adp_error err = { 0 };
    if (adp_loader_load(&loaded, file, NULL, &err) < 0)
        return say(&err);
    const struct adp_policy *p = &loaded->policy;
    printf("version %s\ndoc %s\n", p->version ? p->version : "-", p->doc ? p->doc : "-");
    for (uint32_t i = 0; i < p->n_signals; i++) {
        struct adp_signal s = adp_loaded_signal(loaded, i);
        printf("signal %s %s\n", s.name, s.unit);
    }
    for (uint32_t i = 0; i < p->n_params; i++) {
        struct adp_param q = adp_loaded_param(loaded, i);
        printf("param %s [%s] %s: %g to %g, %g, kind %u, flags %u\n", q.name, q.unit,
               q.doc ? q.doc : "-", q.lo, q.hi, q.dflt, q.kind, q.flags);
    }
    for (uint32_t i = 0; i < p->n_gates; i++) {
        struct adp_gate g = adp_loaded_gate(loaded, i);
        printf("gate %u: %u %u %d\n", g.rule, g.signal, g.op, (int)g.param);
    }
    print_card(adp_loaded_card(loaded));
    printf("threading %u, max_saved %u, minor %u for %u\n", p->threading, p->max_saved,
           p->abi_minor, p->min_host_minor);
    printf("create %d destroy %d outcome %d save %d\n", p->create != NULL,
           p->destroy != NULL, p->outcome != NULL, p->save != NULL);
    adp_loaded_destroy(loaded);
    return EXIT_SUCCESS;
}

/* --- answers --- */

static const char *const ends[] = {
    [ADP_DONE] = "done", [ADP_FAILED] = "failed", [ADP_CANCELLED] = "cancelled"
};

struct row {
    char kv[32], waiting[32];
    adp_facts facts;
    uint32_t end; /* 0: none reported */
};

static void take(struct row *row, const char *key, const char *value)
{
    adp_facts *f = &row->facts;
    if (strcmp(key, "tenant") == 0)
        f->tenant = value;
    else if (strcmp(key, "session") == 0)
        f->session = value;
    else if (strcmp(key, "class") == 0)
        f->slo_class = value;
    else if (strcmp(key, "prompt") == 0 && (f->present |= ADP_PROMPT))
        f->prompt_tokens = strtoull(value, NULL, 10);
    else if (strcmp(key, "output") == 0 && (f->present |= ADP_OUTPUT))
        f->max_output_tokens = strtoull(value, NULL, 10);
    else if (strcmp(key, "priority") == 0 && (f->present |= ADP_PRIORITY))
        f->priority = strtoll(value, NULL, 10);
    else if (strcmp(key, "deadline") == 0 && (f->present |= ADP_DEADLINE))
        f->ttft_deadline_ms = strtod(value, NULL);
    for (uint32_t end = ADP_DONE; end <= ADP_CANCELLED; end++)
        if (strcmp(key, "end") == 0 && strcmp(value, ends[end]) == 0)
            row->end = end;
}

/* Takes the line apart in place; the facts borrow from it. */
static int read_row(struct row *row, char *line)
{
    char *word;
    *row = (struct row) { .facts = { .size = sizeof row->facts } };
    line[strcspn(line, "\n")] = '\0';
    for (int i = 0; (word = strsep(&line, " ")); i++) {
        char *value = strchr(word, '=');
        if (i == 0) {
            snprintf(row->kv, sizeof row->kv, "%s", word);
        } else if (i == 1) {
            snprintf(row->waiting, sizeof row->waiting, "%s", word);
        } else if (value) {
            *value++ = '\0';
            take(row, word, value);
        }
    }
    return row->waiting[0] ? 0 : -1;
}

static void put(char *page, size_t cap, const char *metric, const char *value)
{
    size_t n = strlen(page);
    if (strcmp(value, "-") != 0)
        snprintf(page + n, cap - n, "%s %s\n", metric, value);
}

static int answer(adp_runtime *rt, adp_lane *lane, const struct row *row)
{
    static const char *const actions[] = { "undecided", "admit", "reject", "defer" };
    char page[256] = "up 1\n";
    struct adp_error err = { 0 };
    adp_decision d;
    put(page, sizeof page, "vllm:kv_cache_usage_perc", row->kv);
    put(page, sizeof page, "vllm:num_requests_waiting", row->waiting);
    if (adp_runtime_publish_text(rt, page, strlen(page), &err) < 0 ||
        adp_lane_decide(lane, &row->facts, &d) < 0)
        return say(&err);
    printf("%s %s %u %u %s\n", actions[d.policy_action], or_dash(d.reason), d.status,
           d.retry_after_ms, or_dash(d.fault));
    adp_result result = { .size = sizeof result, .end = row->end };
    if (row->end && adp_lane_outcome(lane, d.id, NULL, &result) < 0)
        return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

static int answers(const char *file, const char *settings)
{
    adp_runtime *rt = NULL;
    adp_lane *lane = NULL;
    adp_errors errors = { 0 };
    struct adp_error err = { 0 };
    char text[4096], line[512];
    snprintf(text, sizeof text,
             "version: 1\nlog: none\npolicy: { use: \"%s\", on_error: reject%s%s }\n",
             file, *settings ? ", " : "", settings);
    int code = adp_host_open_text(&rt, text, "t.yaml", "/", NULL, &errors);
    for (uint32_t i = 0; i < errors.n; i++)
        say(&errors.list[i]);
    adp_errors_free(&errors);
    if (code < 0)
        return EXIT_FAILURE;
    if (adp_runtime_start(rt, &err) < 0 || adp_lane_open(&lane, rt, &err) < 0)
        return say(&err);
    int status = EXIT_SUCCESS;
    while (status == EXIT_SUCCESS && fgets(line, sizeof line, stdin)) {
        struct row row;
        status = read_row(&row, line) < 0 ? EXIT_FAILURE : answer(rt, lane, &row);
    }
    adp_lane_close(lane);
    if (adp_runtime_close(rt, &err) < 0)
        return say(&err);
    printf("closed\n");
    return status;
}

/* --- keeps --- */

static void *instance(const struct adp_policy *p, const double *param, const char *config,
                      const void *saved, uint64_t len)
{
    char text[32] = ""; /* short, to be cut */
    struct adp_setup setup = { .size = sizeof setup,
                               .n_instances = 3,
                               .param = param,
                               .config = config,
                               .saved = saved,
                               .saved_len = len,
                               .error = text,
                               .error_cap = sizeof text };
    void *self = p->create(&setup);
    if (!self)
        printf("not created: %s\n", text);
    return self;
}

/* A host that knows more of a verdict than the policy does. */
struct later_verdict {
    struct adp_verdict known;
    unsigned char newer[16];
};

static void ask(const struct adp_policy *p, void *self, const char *class,
                uint64_t present, double kv, struct later_verdict *ret)
{
    const double signal[] = { kv, 99.0 };
    static const double param[] = { 0.0 };
    static const double replica[] = { 7.0, 8.0, 9.0, 0.25 }; /* the last is there */
    static const uint64_t replica_present[] = { 0, 2 };
    struct adp_request request = { .size = sizeof request, .slo_class = class };
    struct adp_view view = { .size = sizeof view,
                             .n_replicas = 2,
                             .now_ns = 99,
                             .present = present,
                             .draw = 0.75,
                             .signal = signal,
                             .param = param,
                             .replica = replica,
                             .replica_present = replica_present,
                             .request = &request };
    memset(ret, 0, sizeof *ret);
    memset(ret->newer, 0xa5, sizeof ret->newer);
    ret->known.size = sizeof *ret;
    ret->known.binding = ADP_NONE;
    p->decide(self, &view, &ret->known);
}

static void show(const char *what, const struct later_verdict *v)
{
    const struct adp_verdict *w = &v->known;
    bool untouched = w->size == sizeof *v;
    for (size_t i = 0; i < sizeof v->newer; i++)
        untouched &= v->newer[i] == 0xa5;
    printf("%s: action %u reason %u retry %u set %u binding %d ticket %" PRIu64
           " margin %g p %g%s\n",
           what, w->action, w->reason, w->retry_after_ms, w->set, (int)w->binding,
           w->ticket, w->margin, w->p, untouched ? "" : ", and more was written");
}

static void count(const struct adp_policy *p, void *self, const char *what)
{
    struct later_verdict v;
    ask(p, self, "count", 1, 0.5, &v);
    printf("%s: %u\n", what, v.known.retry_after_ms);
}

static void settle(const struct adp_policy *p, void *self, uint64_t ticket, uint32_t kind)
{
    struct adp_outcome o = {
        .size = sizeof o, .kind = kind, .present = ADP_O_TTFT, .ticket = ticket
    };
    o.ttft_ms = 1.0;
    p->outcome(self, &o);
}

/* Begins with what was saved, and says what is left of it. */
static void begin_with(const struct adp_policy *p, const double *param, const char *what,
                       const void *saved, uint64_t len)
{
    void *self = instance(p, param, NULL, saved, len);
    if (!self)
        return;
    count(p, self, what);
    p->destroy(self);
}

static void live(const struct adp_policy *p, const double *param)
{
    static const char *const classes[] = { "admit",    "all",   "draw",
                                           "replicas", "throw", "gates" };
    struct later_verdict v;
    unsigned char saved[64];
    void *self = instance(p, param, NULL, NULL, 0);
    if (!self)
        return;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        ask(p, self, classes[i], 1, 0.5, &v);
        show(classes[i], &v);
    }
    ask(p, self, "gates", 1, 0.0, &v);
    show("gates, at the threshold", &v);
    ask(p, self, "gates", 1, -0.5, &v);
    show("gates, below it", &v);
    ask(p, self, "gates", 0, 0.5, &v); /* it lies in the slot all the same */
    show("gates, absent", &v);
    settle(p, self, 1, ADP_DONE);
    settle(p, self, 2, ADP_FAILED);
    settle(p, self, 3, ADP_NOT_RUN);
    settle(p, self, 4, 77); /* of a later minor: as ADP_LOST */
    count(p, self, "counted");
    uint64_t n = p->save(self, saved, sizeof saved), less = n ? n - 1 : 0;
    printf("saved: %" PRIu64 "\n", n);
    printf("saved into too little: %" PRIu64 "\n", p->save(self, saved, less));
    p->destroy(self);
    begin_with(p, param, "restored", saved, n);
    begin_with(p, param, "restored from what was cut short", saved, less);
    if ((self = instance(p, param, "{\"a\":1}", NULL, 0)))
        p->destroy(self);
    printf("flags: policy %u, signals %u %u\n", p->flags, p->signals[0].flags,
           p->signals[1].flags);
}

static int keeps(const char *file, const char *fail_in)
{
    struct adp_loaded *loaded;
    struct adp_error err = { 0 };
    const double param[] = { strtod(fail_in, NULL) };
    if (adp_loader_load(&loaded, file, NULL, &err) < 0)
        return say(&err);
    live(&loaded->policy, param);
    adp_loaded_destroy(loaded);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    if (argc == 3 && strcmp(command, "declares") == 0)
        return declares(argv[2]);
    if (argc == 4 && strcmp(command, "answers") == 0)
        return answers(argv[2], argv[3]);
    if (argc == 4 && strcmp(command, "keeps") == 0)
        return keeps(argv[2], argv[3]);
    fprintf(stderr, "usage: ask_policy declares|answers|keeps FILE [SETTINGS]\n");
    return 2;
}
