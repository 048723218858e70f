/* SPDX-License-Identifier: MIT-0 */
/* @NAME@: rejects when the KV cache is nearly full and requests wait as well. */
#include <admitperf/policy.hpp>

namespace
{

struct rule : admitperf::policy {
    /* Places in the tables below, and so in the view. */
    enum : std::uint32_t { KV, QUEUE };
    enum : std::uint32_t { THRESHOLD, MAX_WAITING };

    static constexpr const char *name = "@NAME@";
    static constexpr const char *version = "0.1";
    static constexpr const char *doc =
        "rejects when the KV cache is nearly full and requests wait as well";
    static constexpr adp_signal signals[] = {
        { "kv_pressure", "ratio", 0, 0 },
        { "queue_depth", "requests", 0, 0 },
    };
    static constexpr adp_param params[] = {
        { "threshold", "ratio", "first gate: at or above", 0, 1, 0.90, ADP_F64, 0 },
        { "max_waiting", "requests", "second gate: above", 0, 1e6, 32, ADP_I64, 0 },
    };
    /* When decide refuses, as data: reports judge from it whether it could have. Gates
     * of one rule must all hold, one rule is enough. */
    static constexpr adp_gate gates[] = {
        { 0, KV, ADP_GE, THRESHOLD },
        { 0, QUEUE, ADP_GT, MAX_WAITING },
    };
    static constexpr adp_card card = admitperf::card()
                                         .unit("request")
                                         .setting("online")
                                         .signal_quantity("kv_pressure")
                                         .signal_structure("dual-gate")
                                         .metadata_assumed("none")
                                         .portability("A");

    /* An absent signal holds no gate: what nobody measured refuses nobody. */
    static admitperf::verdict decide(const admitperf::view &v)
    {
        if (v.ge(KV, THRESHOLD) && v.gt(QUEUE, MAX_WAITING))
            return admitperf::reject(ADP_R_KV_PRESSURE, KV);
        return admitperf::admit();
    }
};

} // namespace

ADMITPERF_POLICY(rule);
