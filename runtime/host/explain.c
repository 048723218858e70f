/* SPDX-License-Identifier: MIT */
/* Why a decision came out as it did (host.h). */
#include "runtime/host/state.h"
#include "runtime/host/words.h"

#include <string.h>

/* `trace`: NULL without values. */
static struct adp_gate_state gate_state(const adp_runtime *rt, uint32_t policy,
                                        const struct adp_trace *trace, uint32_t i)
{
    const struct adp_loaded *loaded = rt->edition->loaded[policy];
    struct adp_gate gate = adp_loaded_gate(loaded, i);
    uint32_t known = rt->edition->generation->member[policy].slot_of[gate.signal];
    struct adp_gate_state s = {
        .rule = gate.rule,
        .signal = adp_signals_name(rt->edition->config->signals, known),
        .op = adp_host_op_word(gate.op),
        .has_threshold = gate.param != ADP_NONE,
        .has_value = trace && trace->present >> known & 1u,
    };
    if (s.has_threshold)
        s.threshold = rt->edition->params[policy].value[gate.param];
    if (s.has_value)
        s.value = trace->value[known];
    if (!s.has_value || !s.has_threshold)
        return s;
    bool above = gate.op == ADP_GE || gate.op == ADP_GT;
    bool inclusive = gate.op == ADP_GE || gate.op == ADP_LE;
    s.distance = above ? s.value - s.threshold : s.threshold - s.value;
    s.held = inclusive ? s.distance >= 0 : s.distance > 0;
    return s;
}

int adp_host_explain(adp_lane *lane, const adp_facts *facts, adp_decision *ret,
                     struct adp_explanation *ret_why)
{
    adp_runtime *rt = lane->host;
    struct adp_trace trace;
    int code = adp_host_enter(rt, NULL);
    if (code < 0)
        return code;
    adp_decide(lane, &rt->generations, facts, NULL, ret, &trace);
    *ret_why = (struct adp_explanation) {
        .n_signals = rt->edition->generation->n_signals,
        .readings = adp_publisher_readings(rt->publisher),
        .present = trace.present,
        .n_gates = rt->edition->loaded[0]->policy.n_gates,
        .arm = trace.split.arm,
        .draw = trace.split.draw,
        .governed = trace.governed,
        .reason = trace.verdict.reason,
        .status =
            adp_reason_status(trace.verdict.reason, rt->edition->generation->profile),
        .retry_after_ms =
            trace.verdict.set & ADP_SET_RETRY ? trace.verdict.retry_after_ms : 0,
    };
    memcpy(ret_why->value, trace.value, sizeof ret_why->value);
    for (uint32_t i = 0; i < ret_why->n_gates && i < ADP_MAX_GATES; i++)
        ret_why->gates[i] = gate_state(rt, 0, &trace, i);
    adp_host_leave(rt);
    return 0;
}

bool adp_host_least(adp_runtime *rt, uint32_t signal, double *ret)
{
    if (adp_host_enter(rt, NULL) < 0)
        return false;
    const struct adp_reading *readings = adp_publisher_readings(rt->publisher);
    bool counted =
        readings && readings[signal].why == ADP_WHY_PRESENT && readings[signal].sources;
    bool known =
        counted &&
        adp_publisher_least(rt->publisher, rt->edition->generation->signals, signal, ret);
    adp_host_leave(rt);
    return known;
}

uint32_t adp_host_gates(const adp_runtime *rt, uint32_t policy,
                        struct adp_gate_state ret[ADP_MAX_GATES])
{
    uint32_t n = rt->edition->loaded[policy]->policy.n_gates;
    n = n < ADP_MAX_GATES ? n : ADP_MAX_GATES;
    for (uint32_t i = 0; i < n; i++)
        ret[i] = gate_state(rt, policy, NULL, i);
    return n;
}
