/* SPDX-License-Identifier: MIT */
/* For languages.test: goes wrong on request, and otherwise says what it was given.
 * boundary.rs is the same in Rust. What it does is chosen by the request's SLO class, and
 * by `fail_in` for what is no decision. */
#include <admitperf/policy.hpp>

#include <new>
#include <vector>

namespace
{

enum fail_in { NOWHERE, CREATE, CREATE_OTHER, OUTCOME, SAVE, RESTORE, DESTROY };

struct boundary : admitperf::policy {
    enum : std::uint32_t { KV, QUEUE };
    enum : std::uint32_t { FAIL_IN };

    static constexpr const char *name = "boundary";
    static constexpr adp_signal signals[] = {
        { "kv_pressure", "ratio", 0, 0 }, { "queue_depth", "requests", ADP_REPLICAS, 0 }
    };
    static constexpr adp_param params[] = { { "fail_in", "", nullptr, 0, 6, 0, ADP_I64,
                                              0 } };
    static constexpr std::uint32_t max_saved = 24;
    static constexpr bool takes_config = true;

    explicit boundary(const admitperf::setup &setup)
        : fails(static_cast<fail_in>(static_cast<int>(setup.param(FAIL_IN))))
    {
        if (fails == CREATE)
            throw std::runtime_error("cannot begin:\néééééééééé");
        if (const auto config = setup.config())
            throw std::runtime_error("config " + std::string(*config));
        if (fails == CREATE_OTHER)
            throw 7;
    }

    ~boundary() noexcept(false)
    {
        if (fails == DESTROY)
            throw std::runtime_error("the end");
    }

    admitperf::verdict decide(const admitperf::view &v)
    {
        const admitperf::facts f = v.request();
        const std::string_view c = f.slo_class().value_or("");
        if (c == "throw")
            throw std::runtime_error("no");
        if (c == "throw_other")
            throw 7;
        if (c == "out_of_memory")
            throw std::bad_alloc();
        if (c == "slot")
            return admitperf::admit().margin(v.signal(2).value_or(0));
        if (c == "place")
            return admitperf::admit().margin(v.param(1));
        if (c == "replica")
            return admitperf::admit().margin(v.replica(v.n_replicas(), KV).value_or(0));
        if (c == "facts")
            return admitperf::defer(ADP_R_TENANT_QUOTA, ADP_NONE, digits(f));
        if (c == "count")
            return admitperf::defer(ADP_R_CAPACITY_RESERVED, ADP_NONE, counts());
        if (c == "all")
            return admitperf::defer(ADP_R_QUEUE_DEPTH, KV, 1.2)
                .margin(-1.5)
                .p(0.25)
                .ticket(9);
        if (c == "draw")
            return admitperf::admit().p(v.draw()).margin(static_cast<double>(v.now_ns()));
        if (c == "replicas")
            return admitperf::admit()
                .p(v.replica(0, QUEUE).value_or(0.125))
                .margin(*v.replica(1, QUEUE));
        if (c == "gates")
            return admitperf::admit()
                .margin(v.signal(KV).value_or(-1))
                .ticket(holding(v));
        return admitperf::admit().ticket(++given);
    }

    void outcome(const admitperf::outcome &o)
    {
        if (fails == OUTCOME)
            throw std::runtime_error("no");
        ended.at(o.kind())++;
    }

    std::string save() const
    {
        if (fails == SAVE)
            throw std::runtime_error("no");
        return std::string(reinterpret_cast<const char *>(ended.data()),
                           ended.size() * sizeof ended[0]);
    }

    bool restore(std::string_view saved)
    {
        if (saved.size() != ended.size() * sizeof ended[0])
            return false;
        std::memcpy(ended.data(), saved.data(), saved.size());
        if (fails == RESTORE)
            throw std::runtime_error("no");
        return true;
    }

  private:
    /* A bit for each of >= > <= < that holds. */
    static std::uint64_t holding(const admitperf::view &v)
    {
        return (v.ge(KV, FAIL_IN) ? 1u : 0u) + (v.gt(KV, FAIL_IN) ? 2u : 0u) +
               (v.le(KV, FAIL_IN) ? 4u : 0u) + (v.lt(KV, FAIL_IN) ? 8u : 0u);
    }

    /* One digit for each: 9 where it is not known. */
    static double digits(const admitperf::facts &f)
    {
        double n = static_cast<double>(f.prompt_tokens().value_or(9));
        n += 10 * static_cast<double>(f.max_output_tokens().value_or(9));
        n += 100 * static_cast<double>(f.priority().value_or(9));
        n += 1000 * f.ttft_deadline_ms().value_or(9);
        n += f.tenant() && f.tenant_key() && *f.tenant() == "acme" ? 10000 : 90000;
        n += f.session() && f.session_key() && *f.session() == "s1" ? 100000 : 900000;
        return n;
    }

    double counts() const
    {
        return ended[ADP_DONE] + 10 * ended[ADP_FAILED] + 100 * ended[ADP_CANCELLED] +
               1000 * ended[ADP_NOT_RUN] + 10000 * ended[ADP_LOST];
    }

    fail_in fails;
    std::uint64_t given = 0;
    std::vector<std::uint32_t> ended = std::vector<std::uint32_t>(ADP_LOST + 1);
};

} // namespace

ADMITPERF_POLICY(boundary);
