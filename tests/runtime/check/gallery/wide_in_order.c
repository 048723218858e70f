/* SPDX-License-Identifier: MIT */
/* Nothing is wrong with it; it declares as much as may be: as many signals as a configuration
 * takes, all by replica, 64 parameters, 64 gates. */
#include "gallery.h"

#define OWN(n)                                                                           \
    {                                                                                    \
        .name = "own_" #n, .unit = "requests", .flags = ADP_REPLICAS                     \
    }
#define P(n)                                                                             \
    {                                                                                    \
        .name = "limit_" #n, .unit = "requests", .lo = -1e300, .hi = 1e300,              \
        .dflt = 9##n, .kind = ADP_F64                                                    \
    }
#define G(n)                                                                             \
    {                                                                                    \
        .rule = (n) / 2, .signal = (n) % 53, .op = ADP_GE, .param = (n)                  \
    }

/* clang-format off */
static const adp_signal wide_signals[] = {
    { .name = "kv_pressure", .unit = "ratio", .flags = ADP_REPLICAS },
    OWN(00), OWN(01), OWN(02), OWN(03), OWN(04), OWN(05), OWN(06), OWN(07), OWN(08),
    OWN(09), OWN(10), OWN(11), OWN(12), OWN(13), OWN(14), OWN(15), OWN(16), OWN(17),
    OWN(18), OWN(19), OWN(20), OWN(21), OWN(22), OWN(23), OWN(24), OWN(25), OWN(26),
    OWN(27), OWN(28), OWN(29), OWN(30), OWN(31), OWN(32), OWN(33), OWN(34), OWN(35),
    OWN(36), OWN(37), OWN(38), OWN(39), OWN(40), OWN(41), OWN(42), OWN(43), OWN(44),
    OWN(45), OWN(46), OWN(47), OWN(48), OWN(49), OWN(50), OWN(51),
};
static const adp_param wide_params[] = {
    P(00), P(01), P(02), P(03), P(04), P(05), P(06), P(07), P(08), P(09), P(10),
    P(11), P(12), P(13), P(14), P(15), P(16), P(17), P(18), P(19), P(20), P(21),
    P(22), P(23), P(24), P(25), P(26), P(27), P(28), P(29), P(30), P(31), P(32),
    P(33), P(34), P(35), P(36), P(37), P(38), P(39), P(40), P(41), P(42), P(43),
    P(44), P(45), P(46), P(47), P(48), P(49), P(50), P(51), P(52), P(53), P(54),
    P(55), P(56), P(57), P(58), P(59), P(60), P(61), P(62), P(63),
};
static const adp_gate wide_gates[] = {
    G(0), G(1), G(2), G(3), G(4), G(5), G(6), G(7), G(8), G(9), G(10), G(11), G(12),
    G(13), G(14), G(15), G(16), G(17), G(18), G(19), G(20), G(21), G(22), G(23),
    G(24), G(25), G(26), G(27), G(28), G(29), G(30), G(31), G(32), G(33), G(34),
    G(35), G(36), G(37), G(38), G(39), G(40), G(41), G(42), G(43), G(44), G(45),
    G(46), G(47), G(48), G(49), G(50), G(51), G(52), G(53), G(54), G(55), G(56),
    G(57), G(58), G(59), G(60), G(61), G(62), G(63),
};
/* clang-format on */

static void decide(void *self, const adp_view *v, adp_verdict *w)
{
    (void)self;
    for (uint32_t i = 0; i + 1 < ADP_COUNT(wide_gates); i += 2) {
        const adp_gate *a = &wide_gates[i], *b = &wide_gates[i + 1];
        if (adp_ge(v, a->signal, a->param) && adp_ge(v, b->signal, b->param)) {
            adp_reject(w, ADP_R_QUEUE_DEPTH, a->signal);
            return;
        }
    }
    adp_admit(w);
}

GALLERY = { GALLERY_HEAD, ADP_TABLES(wide_signals, wide_params, wide_gates),
            .card = &card, .threading = ADP_CONCURRENT, .decide = decide };
