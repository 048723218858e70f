/* SPDX-License-Identifier: MIT */
/* What a policy header says, as an object file: one object of every public struct and enum
 * for abidiff to look at, and every named constant in a table, which it is blind to.
 * Compiled against today's header as each released minor, and against the header that was
 * released. With WITNESS_MAIN: a program that prints the table.
 *
 * What a minor adds stands here inside `#if WITNESS_MINOR >= k`; header.test finds what is
 * missing. WITNESS_MINOR is ADP_ABI_MINOR, or below it: then it is asked what became of the
 * earlier minor in the later one, where structs may be longer and nothing else may differ. */
#include POLICY_HEADER

#ifndef WITNESS_MINOR
#define WITNESS_MINOR ADP_ABI_MINOR
#endif

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN adp_signal witness_adp_signal;
SHOWN adp_param witness_adp_param;
SHOWN adp_gate witness_adp_gate;
SHOWN adp_card witness_adp_card;
SHOWN adp_request witness_adp_request;
SHOWN adp_view witness_adp_view;
SHOWN adp_verdict witness_adp_verdict;
SHOWN adp_outcome witness_adp_outcome;
SHOWN adp_setup witness_adp_setup;
SHOWN adp_policy witness_adp_policy;

SHOWN enum adp_action witness_adp_action;
SHOWN enum adp_threading witness_adp_threading;
SHOWN enum adp_policy_flag witness_adp_policy_flag;
SHOWN enum adp_signal_flag witness_adp_signal_flag;
SHOWN enum adp_op witness_adp_op;
SHOWN enum adp_kind witness_adp_kind;
SHOWN enum adp_param_flag witness_adp_param_flag;
SHOWN enum adp_card_flag witness_adp_card_flag;
SHOWN enum adp_set witness_adp_set;
SHOWN enum adp_fact witness_adp_fact;
SHOWN enum adp_measured witness_adp_measured;
SHOWN enum adp_end witness_adp_end;
SHOWN enum adp_reason witness_adp_reason;

/* The entry, declared by the header and defined as a policy does it. */
const adp_policy admitperf_policy_v1 = { ADP_HEAD };

/* A policy that uses the macros; as many of each as no other has. */
static const adp_signal two_signals[2] = { { 0 } };
static const adp_param three_params[3] = { { 0 } };
static const adp_gate five_gates[5] = { { 0 } };
SHOWN const adp_policy witness_filled = {
    ADP_HEAD,
    ADP_TABLES(two_signals, three_params, five_gates),
};

struct constant {
    const char *name;
    uint64_t value;
};

#define C(name)                                                                          \
    {                                                                                    \
#name, (uint64_t)(name)                                                          \
    }
SHOWN const struct constant witness_constants[] = {
    C(ADP_MAGIC),
    C(ADP_ABI_MINOR),
    C(ADP_NONE),
    C(ADP_MAX_SIGNALS),
    C(ADP_MAX_PARAMS),
    C(ADP_MAX_GATES),
    C(ADP_MAX_REPLICAS),
    C(ADP_MAX_SAVED),
    C(ADP_ADMIT),
    C(ADP_REJECT),
    C(ADP_DEFER),
    C(ADP_SERIAL),
    C(ADP_CONCURRENT),
    C(ADP_TAKES_CONFIG),
    C(ADP_REPLICAS),
    C(ADP_GE),
    C(ADP_GT),
    C(ADP_LE),
    C(ADP_LT),
    C(ADP_F64),
    C(ADP_I64),
    C(ADP_BOOL),
    C(ADP_REQUIRED),
    C(ADP_FIXED),
    C(ADP_BASELINE),
    C(ADP_SET_MARGIN),
    C(ADP_SET_P),
    C(ADP_SET_RETRY),
    C(ADP_PROMPT),
    C(ADP_OUTPUT),
    C(ADP_PRIORITY),
    C(ADP_DEADLINE),
    C(ADP_O_TTFT),
    C(ADP_O_TOTAL),
    C(ADP_O_PROMPT),
    C(ADP_O_OUTPUT),
    C(ADP_O_STATUS),
    C(ADP_DONE),
    C(ADP_FAILED),
    C(ADP_CANCELLED),
    C(ADP_NOT_RUN),
    C(ADP_LOST),
    C(ADP_R_KV_PRESSURE),
    C(ADP_R_QUEUE_DEPTH),
    C(ADP_R_CAPACITY_RESERVED),
    C(ADP_R_WAIT_ESTIMATE_EXCEEDED),
    C(ADP_R_DEADLINE_INFEASIBLE),
    C(ADP_R_PREDICTED_LENGTH),
    C(ADP_R_SIGNAL_STALE),
    C(ADP_R_TENANT_QUOTA),
    C(ADP_R_RATE_LIMIT),
    C(ADP_R_REQUEST_TOO_LARGE),
};

#ifdef WITNESS_MAIN
int main(void)
{
    const adp_policy *p = &admitperf_policy_v1;
    for (size_t i = 0; i < sizeof witness_constants / sizeof witness_constants[0]; i++)
        printf("%s %" PRIu64 "\n", witness_constants[i].name, witness_constants[i].value);
    printf("ADP_POLICY_SYMBOL %s\n", ADP_POLICY_SYMBOL);
    for (; p; p = p == &witness_filled ? NULL : &witness_filled) {
        printf("ADP_HEAD %x %u %u\n", p->magic, p->abi_minor, p->min_host_minor);
        printf("ADP_HEAD sizes are theirs %d %d %d %d %d\n", p->size == sizeof *p,
               p->signal_size == sizeof *p->signals, p->param_size == sizeof *p->params,
               p->gate_size == sizeof *p->gates, p->card_size == sizeof *p->card);
#if ADP_ABI_MINOR == WITNESS_MINOR
        printf("ADP_HEAD %u %u %u %u %u\n", p->size, p->signal_size, p->param_size,
               p->gate_size, p->card_size);
#endif
        printf("ADP_TABLES %u %u %u %d %d %d\n", p->n_signals, p->n_params, p->n_gates,
               p->signals == two_signals, p->params == three_params,
               p->gates == five_gates);
    }
    printf("ADP_COUNT %" PRIu64 " of %zu bytes\n", (uint64_t)ADP_COUNT(five_gates),
           sizeof(ADP_COUNT(five_gates)));
    adp_verdict w = { .size = offsetof(adp_verdict, ticket) + sizeof w.ticket };
    printf("ADP_HAS %d %d", ADP_HAS(&w, ticket), ADP_HAS(&w, margin));
    w.size--;
    printf(" %d\n", ADP_HAS(&w, ticket));
    return 0;
}
#endif
