/* SPDX-License-Identifier: MIT */
/* For languages.test: a policy whose state is the library's containers, that passes every
 * check. Admits while fewer than `limit` requests are in flight. stateful.rs is the same
 * in Rust. */
#include <admitperf/policy.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

/* The tickets given: of a life, which begins with each restore, and a number in it. */
struct last {
    std::uint32_t life, number;
};

struct stateful : admitperf::policy {
    enum : std::uint32_t { LIMIT };
    enum { MOST = 1000 };
    static constexpr std::uint64_t SEAL = 0x9e3779b97f4a7c15;

    static constexpr const char *name = "stateful";
    static constexpr adp_param params[] = { { "limit", "requests", nullptr, 1, MOST, 8,
                                              ADP_I64, 0 } };
    static constexpr std::uint32_t max_saved = 16;

    stateful() : given(std::make_unique<last>(last { 1, 0 }))
    {
        open.reserve(MOST);
        for (const char *kind :
             { "admitted", "a name too long to lie in the string itself" })
            seen.emplace(kind, 0u);
    }

    /* Nothing is allocated from here on. */
    admitperf::verdict decide(const admitperf::view &v)
    {
        const double over = static_cast<double>(open.size()) - v.param(LIMIT);
        if (over >= 0)
            return admitperf::reject(ADP_R_CAPACITY_RESERVED, ADP_NONE).margin(over);
        seen.begin()->second++;
        given->number++;
        open.push_back(std::uint64_t { given->life } << 32 | given->number);
        return admitperf::admit().margin(over).ticket(open.back());
    }

    void outcome(const admitperf::outcome &o)
    {
        const auto at = std::find(open.begin(), open.end(), o.ticket());
        if (at != open.end())
            open.erase(at);
    }

    /* What is in flight is not saved: nobody would take it back. */
    std::string save() const
    {
        const std::uint64_t words[] = { given->life, seal(given->life) };
        return std::string(reinterpret_cast<const char *>(words), sizeof words);
    }

    bool restore(std::string_view saved)
    {
        std::uint64_t words[2];
        if (saved.size() != sizeof words)
            return false;
        std::memcpy(words, saved.data(), sizeof words);
        if (words[1] != seal(words[0]))
            return false;
        given->life = static_cast<std::uint32_t>(words[0]) + 1;
        return true;
    }

  private:
    static std::uint64_t seal(std::uint64_t life)
    {
        return (life ^ SEAL) * SEAL;
    }

    std::vector<std::uint64_t> open; /* tickets; never longer than MOST */
    std::map<std::string, unsigned> seen;
    std::unique_ptr<last> given;
};

} // namespace

ADMITPERF_POLICY(stateful);
