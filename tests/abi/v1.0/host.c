/* SPDX-License-Identifier: MIT */
/* The smallest host of v1.0: what it may rely on in any policy of major 1 that asks for no
 * later minor. Compiled against the header beside it, for ever as it is.
 *
 *     host FILE.so [PARAM=VALUE | @SIGNAL=VALUE | prompt=N | priority=N | draw=X]...
 *
 * Reads the tables by the sizes in the head, creates an instance with those parameters and
 * the defaults of the others, asks once, settles a ticket, saves, restores, asks again.
 * Prints both answers, "admit" or "reject 1 slot 0"; exit status 0. Anything that is not as
 * v1.0 has it: a line on stderr, and 1. */
#include "policy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void must(int holds, const char *what)
{
    if (!holds)
        fail(what);
}

/* Row i of a table whose rows may have grown since. */
static void row(void *to, size_t known, const void *table, uint32_t i, size_t size)
{
    must(size >= known && size % 8 == 0, "a row is smaller than in v1.0");
    memcpy(to, (const char *)table + i * size, known);
}

struct asked {
    double param[ADP_MAX_PARAMS], signal[ADP_MAX_SIGNALS];
    adp_request request;
    adp_view view;
};

static void read_tables(const adp_policy *p, struct asked *a)
{
    must(p->n_signals <= ADP_MAX_SIGNALS && p->n_params <= ADP_MAX_PARAMS &&
             p->n_gates <= ADP_MAX_GATES,
         "a table is longer than v1.0 has them");
    for (uint32_t i = 0; i < p->n_params; i++) {
        adp_param param;
        row(&param, sizeof param, p->params, i, p->param_size);
        a->param[i] = param.flags & ADP_REQUIRED ? param.hi : param.dflt;
    }
    for (uint32_t i = 0; i < p->n_gates; i++) {
        adp_gate gate;
        row(&gate, sizeof gate, p->gates, i, p->gate_size);
        must(gate.signal < p->n_signals && gate.op >= ADP_GE && gate.op <= ADP_LT,
             "a gate is none of v1.0");
    }
    must(!p->card || p->card_size >= sizeof(adp_card),
         "the card is smaller than in v1.0");
}

/* NAME=VALUE of the command line. */
static void take(const adp_policy *p, struct asked *a, const char *word)
{
    const char *equals = strchr(word, '=');
    must(equals != NULL, "expected NAME=VALUE");
    size_t n = (size_t)(equals - word);
    double value = strtod(equals + 1, NULL);
    for (uint32_t i = 0; i < p->n_params; i++) {
        adp_param param;
        row(&param, sizeof param, p->params, i, p->param_size);
        if (strlen(param.name) == n && memcmp(param.name, word, n) == 0) {
            a->param[i] = value;
            return;
        }
    }
    for (uint32_t i = 0; i < p->n_signals && word[0] == '@'; i++) {
        adp_signal signal;
        row(&signal, sizeof signal, p->signals, i, p->signal_size);
        if (strlen(signal.name) == n - 1 && memcmp(signal.name, word + 1, n - 1) == 0) {
            a->signal[i] = value;
            a->view.present |= UINT64_C(1) << i;
            return;
        }
    }
    if (strncmp(word, "prompt=", 7) == 0) {
        a->request.prompt_tokens = (uint64_t)value;
        a->request.present |= ADP_PROMPT;
    } else if (strncmp(word, "priority=", 9) == 0) {
        a->request.priority = (int64_t)value;
        a->request.present |= ADP_PRIORITY;
    } else if (strncmp(word, "draw=", 5) == 0) {
        a->view.draw = value;
    } else {
        fail(word);
    }
}

static void *make(const adp_policy *p, const struct asked *a, const void *saved,
                  uint64_t len)
{
    char error[256] = "";
    adp_setup setup = { .size = sizeof setup,
                        .n_instances = 1,
                        .param = a->param,
                        .saved = saved,
                        .saved_len = len,
                        .error = error,
                        .error_cap = sizeof error };
    if (!p->create)
        return NULL;
    void *self = p->create(&setup);
    must(self != NULL, error);
    return self;
}

static void ask(const adp_policy *p, void *self, struct asked *a)
{
    adp_verdict w = { .size = sizeof w, .binding = ADP_NONE };
    a->view.now_ns += 1000000;
    p->decide(self, &a->view, &w);
    must(w.action >= ADP_ADMIT && w.action <= ADP_DEFER, "an action that v1.0 has not");
    must(w.size == sizeof w, "the verdict's size is the host's");
    if (w.action == ADP_ADMIT) {
        printf("admit\n");
    } else {
        must(w.reason >= ADP_R_KV_PRESSURE && w.reason <= ADP_R_REQUEST_TOO_LARGE,
             "a reason that v1.0 has not");
        printf("%s %u slot %d\n", w.action == ADP_REJECT ? "reject" : "defer", w.reason,
               (int)w.binding);
    }
    if (w.ticket) {
        adp_outcome o = { .size = sizeof o,
                          .kind = w.action == ADP_ADMIT ? ADP_DONE : ADP_NOT_RUN,
                          .ticket = w.ticket,
                          .now_ns = a->view.now_ns };
        must(p->outcome != NULL, "a ticket, and no outcome to take it back");
        p->outcome(self, &o);
    }
}

/* A new instance of what the old one saved. */
static void *succeed(const adp_policy *p, void *self, const struct asked *a)
{
    static char saved[ADP_MAX_SAVED];
    must(p->max_saved <= ADP_MAX_SAVED, "max_saved is above v1.0's");
    uint64_t len = p->save ? p->save(self, saved, p->max_saved) : 0;
    must(len <= p->max_saved, "save wrote more than max_saved");
    if (p->destroy && self)
        p->destroy(self);
    return make(p, a, len ? saved : NULL, len);
}

int main(int argc, char **argv)
{
    struct asked a = {
        .view = { .size = sizeof a.view, .now_ns = 1000000000, .draw = 0.5 },
        .request = { .size = sizeof a.request }
    };
    must(argc >= 2, "expected FILE.so");
    void *code = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!code)
        fail(dlerror());
    const adp_policy *p = dlsym(code, ADP_POLICY_SYMBOL);
    must(p != NULL, "no " ADP_POLICY_SYMBOL);
    must(p->magic == ADP_MAGIC && p->size >= sizeof(adp_policy),
         "a head that v1.0 has not");
    must(p->min_host_minor == 0, "it asks for a later minor");
    a.view.signal = a.signal;
    a.view.param = a.param;
    a.view.request = &a.request;
    read_tables(p, &a);
    for (int i = 2; i < argc; i++)
        take(p, &a, argv[i]);
    void *self = make(p, &a, NULL, 0);
    ask(p, self, &a);
    self = succeed(p, self, &a);
    ask(p, self, &a);
    if (p->destroy && self)
        p->destroy(self);
    return 0;
}
