/* SPDX-License-Identifier: MIT */
/* kv_wall in C++: rejects when the KV cache is nearly full, defers when the queue is
 * long. */
#include <admitperf/policy.hpp>

namespace
{

struct kv_wall : admitperf::policy {
    enum : std::uint32_t { KV, QUEUE };
    enum : std::uint32_t { THRESHOLD, MAX_WAITING };

    static constexpr const char *name = "kv_wall_cpp";
    static constexpr const char *doc =
        "rejects when the KV cache is nearly full, defers when the queue is long";
    static constexpr adp_signal signals[] = {
        { "kv_pressure", "ratio", 0, 0 },
        { "queue_depth", "requests", 0, 0 },
    };
    static constexpr adp_param params[] = {
        { "threshold", "ratio", "rejects at or above", 0, 1, 0.90, ADP_F64, 0 },
        { "max_waiting", "requests", "defers above", 0, 1e6, 32, ADP_I64, 0 },
    };
    static constexpr adp_gate gates[] = {
        { 0, KV, ADP_GE, THRESHOLD },
        { 1, QUEUE, ADP_GT, MAX_WAITING },
    };
    static constexpr adp_card card = admitperf::card()
                                         .unit("request")
                                         .signal_quantity("kv_pressure")
                                         .signal_structure("scalar");

    static admitperf::verdict decide(const admitperf::view &v)
    {
        if (v.ge(KV, THRESHOLD))
            return admitperf::reject(ADP_R_KV_PRESSURE, KV);
        if (v.gt(QUEUE, MAX_WAITING))
            return admitperf::defer(ADP_R_QUEUE_DEPTH, QUEUE, 200);
        return admitperf::admit();
    }
};

} // namespace

ADMITPERF_POLICY(kv_wall);
