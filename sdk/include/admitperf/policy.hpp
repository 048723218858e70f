/* SPDX-License-Identifier: MIT */
/* Policies in C++17: <admitperf/policy.h> as a class.
 *
 *     struct mine : admitperf::policy {
 *         static constexpr const char *name = "mine";
 *         static constexpr adp_signal signals[] = { { "kv_pressure", "ratio", 0, 0 } };
 *         static admitperf::verdict decide(const admitperf::view &v);
 *     };
 *     ADMITPERF_POLICY(mine);        // the one exported name
 *
 * What the class declares, as public static constexpr members; all but `name` may be left
 * out: name, version, doc, signals, params, gates, card, threading, max_saved,
 * takes_config.
 *
 * What it does:
 *     verdict decide(const view &)   [hot] static: no instance, any number of threads.
 *                                    Else one thread at a time; with `threading =
 *                                    ADP_CONCURRENT` any number, and it must be const
 *     void outcome(const admitperf::outcome &)   [hot] optional; const as decide is
 *     mine(const setup &) or mine()              [control] what it throws, create reports
 *     std::string save() const                   [control] optional, with restore
 *     bool restore(std::string_view)             [control] takes on what save returned
 *                                    before a reload or restart; false, or a throw, when
 *                                    that cannot be believed whole: then a new instance
 *                                    starts afresh
 *
 *  1. What may be absent is an optional. A slot or place that the policy did not declare
 *     throws, it is never read.
 *  2. Nothing unwinds out of a policy. A decide that throws leaves no verdict, which the
 *     operator's on_error answers; create reports what(); everything else is swallowed.
 *     What a throw left behind in the state is the policy's own affair.
 *  3. The table is a constant: nothing runs when the policy is loaded.
 *  4. What the class has of these and could not be called (private, overloaded, a template,
 *     an alias, a base's member that is not accessible; a constructor of a setup that is
 *     private, deleted, one of two that fit, or takes it otherwise; a public one that takes
 *     one by pointer, and not any pointer; beside a static decide, in a class that is not
 *     abstract, one of setup or one that would run, a destructor that would, members with an
 *     initial value, what is virtual, and threading SERIAL) does not compile, it is never left
 *     out. So neither it nor its destructor is final: into such a class nobody can look.
 *     Constructors of several things are the author's own: nobody else calls them.
 *
 * Left to the author: no clock, no chance, no thread, no global that changes, no
 * thread_local with a destructor, no destructor that throws. What is said in policy.h
 * holds here. docs/writing-a-policy-cpp-rust.md has the build line. */
#ifndef ADMITPERF_POLICY_HPP
#define ADMITPERF_POLICY_HPP

#include <admitperf/policy.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#ifndef __cpp_exceptions
#error "the boundary is kept by catching: compile with exceptions, or write to policy.h"
#endif

namespace admitperf
{

class view;
class outcome;
class setup;
class verdict;

namespace detail
{

template <class T> std::optional<T> known(bool present, T value)
{
    return present ? std::optional<T>(value) : std::nullopt;
}

inline std::optional<std::string_view> text(const char *s)
{
    return s ? std::optional<std::string_view>(s) : std::nullopt;
}

inline void declared(bool is, const char *otherwise)
{
    if (!is)
        throw std::out_of_range(otherwise);
}

template <class P> struct boundary;

} // namespace detail

/* --- what the host passes; valid for the call --- */

/* What the host knows about this request. */
class facts
{
  public:
    explicit facts(const adp_request &raw) noexcept : r(raw)
    {
    }

    std::optional<std::string_view> tenant() const
    {
        return detail::text(r.tenant);
    }
    std::optional<std::string_view> session() const
    {
        return detail::text(r.session);
    }
    std::optional<std::string_view> slo_class() const
    {
        return detail::text(r.slo_class);
    }
    /* XXH3-64 of the tenant, and of the session, the same on every host. */
    std::optional<std::uint64_t> tenant_key() const
    {
        return detail::known(r.tenant != nullptr, r.tenant_key);
    }
    std::optional<std::uint64_t> session_key() const
    {
        return detail::known(r.session != nullptr, r.session_key);
    }
    std::optional<std::uint64_t> prompt_tokens() const
    {
        return detail::known((r.present & ADP_PROMPT) != 0, r.prompt_tokens);
    }
    std::optional<std::uint64_t> max_output_tokens() const
    {
        return detail::known((r.present & ADP_OUTPUT) != 0, r.max_output_tokens);
    }
    /* 0 normal, below 0 sheddable. */
    std::optional<std::int64_t> priority() const
    {
        return detail::known((r.present & ADP_PRIORITY) != 0, r.priority);
    }
    /* Milliseconds from now. */
    std::optional<double> ttft_deadline_ms() const
    {
        return detail::known((r.present & ADP_DEADLINE) != 0, r.ttft_deadline_ms);
    }

  private:
    const adp_request &r;
};

/* All that a policy may know when it decides. */
class view
{
  public:
    view(const adp_view &raw, std::uint32_t n_signals, std::uint32_t n_params) noexcept
        : v(raw), signals(n_signals), params(n_params)
    {
    }

    /* Monotonic; may run backwards between threads. */
    std::uint64_t now_ns() const noexcept
    {
        return v.now_ns;
    }
    /* In [0, 1), from the request id: a retry draws the same. */
    double draw() const noexcept
    {
        return v.draw;
    }
    facts request() const noexcept
    {
        return facts(*v.request);
    }

    /* The signal, aggregated over the pool; nothing while it is absent. */
    std::optional<double> signal(std::uint32_t slot) const
    {
        detail::declared(slot < signals, "a signal that is not declared");
        if (!(v.present >> slot & 1u))
            return std::nullopt;
        return v.signal[slot];
    }

    /* The parameter, validated, as in force now. */
    double param(std::uint32_t place) const
    {
        detail::declared(place < params, "a parameter that is not declared");
        return v.param[place];
    }

    /* Replicas with readings of their own; 0: none known. */
    std::uint32_t n_replicas() const noexcept
    {
        return v.n_replicas;
    }

    /* The signal on one replica. */
    std::optional<double> replica(std::uint32_t row, std::uint32_t slot) const
    {
        detail::declared(slot < signals, "a signal that is not declared");
        detail::declared(row < v.n_replicas, "a replica that is not there");
        if (!(v.replica_present[row] >> slot & 1u))
            return std::nullopt;
        return v.replica[static_cast<std::uint64_t>(row) * signals + slot];
    }

    /* Gates: an absent signal holds none. */
    bool ge(std::uint32_t slot, std::uint32_t place) const
    {
        const std::optional<double> value = signal(slot);
        return value && *value >= param(place);
    }
    bool gt(std::uint32_t slot, std::uint32_t place) const
    {
        const std::optional<double> value = signal(slot);
        return value && *value > param(place);
    }
    bool le(std::uint32_t slot, std::uint32_t place) const
    {
        const std::optional<double> value = signal(slot);
        return value && *value <= param(place);
    }
    bool lt(std::uint32_t slot, std::uint32_t place) const
    {
        const std::optional<double> value = signal(slot);
        return value && *value < param(place);
    }

  private:
    const adp_view &v;
    std::uint32_t signals, params;
};

/* What became of a ticket. */
class outcome
{
  public:
    explicit outcome(const adp_outcome &raw) noexcept : o(raw)
    {
    }

    /* A kind that this header does not know reads as lost: release, do not learn. */
    adp_end kind() const noexcept
    {
        return o.kind >= ADP_DONE && o.kind <= ADP_LOST ? static_cast<adp_end>(o.kind)
                                                        : ADP_LOST;
    }
    std::uint64_t ticket() const noexcept
    {
        return o.ticket;
    }
    std::uint64_t now_ns() const noexcept
    {
        return o.now_ns;
    }
    std::optional<double> ttft_ms() const
    {
        return detail::known((o.present & ADP_O_TTFT) != 0, o.ttft_ms);
    }
    std::optional<double> total_ms() const
    {
        return detail::known((o.present & ADP_O_TOTAL) != 0, o.total_ms);
    }
    std::optional<std::uint64_t> prompt_tokens() const
    {
        return detail::known((o.present & ADP_O_PROMPT) != 0, o.prompt_tokens);
    }
    std::optional<std::uint64_t> output_tokens() const
    {
        return detail::known((o.present & ADP_O_OUTPUT) != 0, o.output_tokens);
    }
    std::optional<std::uint32_t> http_status() const
    {
        return detail::known((o.present & ADP_O_STATUS) != 0, o.http_status);
    }

  private:
    const adp_outcome &o;
};

/* What the constructor is given. */
class setup
{
  public:
    setup(const adp_setup &raw, std::uint32_t n_params, bool takes) noexcept
        : s(raw), params(n_params), takes_config(takes)
    {
    }

    /* Processes that share a quota: divide rates by it; 1: alone. */
    std::uint32_t n_instances() const noexcept
    {
        return s.n_instances;
    }

    double param(std::uint32_t place) const
    {
        detail::declared(place < params, "a parameter that is not declared");
        return s.param[place];
    }

    /* The operator's `config:`, one JSON object. For who declares takes_config: of others
     * the host refuses it. */
    std::optional<std::string_view> config() const
    {
        detail::declared(takes_config, "a config, though takes_config is not declared");
        return detail::text(s.config);
    }

  private:
    const adp_setup &s;
    std::uint32_t params;
    bool takes_config;
};

/* --- the answer --- */

/* Made by admit, reject and defer: there is no undecided one. */
class verdict
{
  public:
    /* When to come back, milliseconds, rounded up; not above 0, or NaN: no time is
     * stated. */
    verdict &retry_after_ms(double ms) noexcept
    {
        adp_verdict rounded {};
        adp_defer(&rounded, 0, ADP_NONE, ms);
        w.retry_after_ms = rounded.retry_after_ms;
        w.set |= rounded.set;
        return *this;
    }
    /* Not 0: comes back in exactly one outcome, whatever the action. */
    verdict &ticket(std::uint64_t number) noexcept
    {
        w.ticket = number;
        return *this;
    }
    /* At or above 0 when it fires; where no gates are declared. */
    verdict &margin(double distance) noexcept
    {
        w.margin = distance;
        w.set |= ADP_SET_MARGIN;
        return *this;
    }
    /* The probability of refusal that `draw` was held against. */
    verdict &p(double probability) noexcept
    {
        w.p = probability;
        w.set |= ADP_SET_P;
        return *this;
    }

  private:
    verdict(adp_action action, std::uint32_t reason, std::uint32_t by) noexcept : w {}
    {
        w.action = action;
        w.reason = reason;
        w.binding = by;
    }

    /* Field by field: `size` and whatever lies behind `p` are the host's. */
    void write(adp_verdict &to) const noexcept
    {
        to.action = w.action;
        to.reason = w.reason;
        to.retry_after_ms = w.retry_after_ms;
        to.set = w.set;
        to.binding = w.binding;
        to.ticket = w.ticket;
        to.margin = w.margin;
        to.p = w.p;
    }

    adp_verdict w;
    friend verdict admit() noexcept;
    friend verdict reject(adp_reason, std::uint32_t) noexcept;
    friend verdict defer(adp_reason, std::uint32_t, double) noexcept;
    template <class P> friend struct detail::boundary;
};

inline verdict admit() noexcept
{
    return verdict(ADP_ADMIT, 0, ADP_NONE);
}

/* Do not come back soon. `by`: the signal that refuses, or ADP_NONE when none alone
 * does. */
inline verdict reject(adp_reason reason, std::uint32_t by) noexcept
{
    return verdict(ADP_REJECT, reason, by);
}

/* Come back in `ms` milliseconds. */
inline verdict defer(adp_reason reason, std::uint32_t by, double ms) noexcept
{
    return verdict(ADP_DEFER, reason, by).retry_after_ms(ms);
}

/* --- what a policy declares --- */

/* What a policy class inherits: nothing declared. */
struct policy {
    static constexpr const char *version = nullptr;
    static constexpr const char *doc = nullptr;
    static constexpr std::nullptr_t signals = nullptr;
    static constexpr std::nullptr_t params = nullptr;
    static constexpr std::nullptr_t gates = nullptr;
    static constexpr adp_card card = {};
    static constexpr adp_threading threading = ADP_SERIAL;
    static constexpr std::uint32_t max_saved = 0; /* bytes that save returns at most */
    static constexpr bool takes_config = false;   /* the constructor reads config() */
};

/* Makes a card, in the survey's words:
 *     static constexpr adp_card card = admitperf::card().unit("request"); */
class card
{
  public:
    constexpr card &unit(const char *word)
    {
        return set(&adp_card::unit, word);
    }
    constexpr card &setting(const char *word)
    {
        return set(&adp_card::setting, word);
    }
    constexpr card &slo_awareness(const char *word)
    {
        return set(&adp_card::slo_awareness, word);
    }
    constexpr card &signal_quantity(const char *word)
    {
        return set(&adp_card::signal_quantity, word);
    }
    constexpr card &signal_structure(const char *word)
    {
        return set(&adp_card::signal_structure, word);
    }
    constexpr card &metadata_assumed(const char *word)
    {
        return set(&adp_card::metadata_assumed, word);
    }
    constexpr card &portability(const char *word)
    {
        return set(&adp_card::portability, word);
    }
    constexpr card &source(const char *text)
    {
        return set(&adp_card::source, text);
    }
    constexpr card &margin_unit(const char *unit)
    {
        return set(&adp_card::margin_unit, unit);
    }
    constexpr card &baseline()
    {
        c.flags |= ADP_BASELINE;
        return *this;
    }
    constexpr operator adp_card() const
    {
        return c;
    }

  private:
    constexpr card &set(const char *adp_card::*field, const char *text)
    {
        c.*field = text;
        return *this;
    }
    adp_card c {};
};

/* --- the boundary --- */

namespace detail
{

template <class T, std::size_t N> constexpr std::uint32_t count(const T (&)[N])
{
    return static_cast<std::uint32_t>(N);
}
constexpr std::uint32_t count(std::nullptr_t)
{
    return 0;
}

/* What may be left out, NAME: `sees_NAME` where it can be called, one public function of no
 * template; `names_NAME` where the class has the name at all, whatever it is: a name that
 * both bases have is ambiguous. */
#define ADMITPERF_MEMBER(NAME)                                                           \
    struct other_##NAME {                                                                \
        int NAME;                                                                        \
    };                                                                                   \
    template <class P> struct both_##NAME : P, other_##NAME {                            \
    };                                                                                   \
    template <class P, class = void> struct sees_##NAME : std::false_type {              \
    };                                                                                   \
    template <class P>                                                                   \
    struct sees_##NAME<P, std::void_t<decltype(&P::NAME)>> : std::true_type {            \
    };                                                                                   \
    template <class P, bool final = std::is_final_v<P>, class = void>                    \
    struct names_##NAME : std::bool_constant<!final> {                                   \
    };                                                                                   \
    template <class P>                                                                   \
    struct names_##NAME<P, false, std::void_t<decltype(&both_##NAME<P>::NAME)>>          \
        : std::false_type {                                                              \
    };
ADMITPERF_MEMBER(decide)
ADMITPERF_MEMBER(outcome)
ADMITPERF_MEMBER(save)
ADMITPERF_MEMBER(restore)
#undef ADMITPERF_MEMBER

template <class P>
inline constexpr bool has_instance =
    std::is_member_function_pointer_v<decltype(&P::decide)>;

template <class P>
inline constexpr bool takes_setup = std::is_constructible_v<P, const setup &>;

/* P, made of anything: by the constructor that P has for it, whatever that is (private,
 * deleted, one of two), since any is better than `...`; and so not made where that cannot be
 * called. It has a copy's declaration of its own, since g++ takes one that P deleted for as
 * good as `...`. */
struct anything {
    explicit anything(...);
};
template <class P> struct or_anything : P, anything {
    using anything::anything;
    using P::P;
    or_anything(const or_anything &);
};

/* Whether P has a constructor for one of these that is left out, since nobody calls it
 * with them or nobody can. Without one of nothing there is no other to take in its place. */
template <class P, class... T>
inline constexpr bool leaves_out = std::is_default_constructible_v<P> &&
                                   ((std::is_constructible_v<P, T> ||
                                     !std::is_constructible_v<or_anything<P>, T>) ||
                                    ...);

/* Whether P has a public one for a pointer to a setup, not to any other thing as bool is. */
struct stranger {
};
template <class P> constexpr bool takes_pointer()
{
    return !std::is_constructible_v<P, stranger *> &&
           (std::is_constructible_v<P, setup *> ||
            std::is_constructible_v<P, adp_setup *>);
}

/* Whether an instance would begin or end with nothing done, if anybody can make one. */
template <class P> constexpr bool nothing_runs()
{
    if (std::is_default_constructible_v<P> &&
        !std::is_trivially_default_constructible_v<P>)
        return false;
    return !std::is_destructible_v<P> || std::is_trivially_destructible_v<P>;
}

/* Whether P itself says that one thread at a time may call it. */
template <class P> constexpr bool says_serial()
{
    if constexpr (std::is_same_v<decltype(P::threading), const adp_threading>)
        return P::threading == ADP_SERIAL && &P::threading != &policy::threading;
    else
        return static_cast<std::uint32_t>(P::threading) == ADP_SERIAL;
}
template <class P>
inline constexpr bool
    is_concurrent = static_cast<std::uint32_t>(P::threading) == ADP_CONCURRENT;

/* Runs foreign code; what it throws ends here. */
template <class F> void guarded(F &&f) noexcept
{
    try {
        f();
    } catch (...) {
    }
}

/* One line, cut to the host's room between characters. */
inline void say(const adp_setup &s, const char *problem) noexcept
{
    if (!s.error || !s.error_cap)
        return;
    std::size_t n = std::strlen(problem);
    if (n >= s.error_cap)
        for (n = s.error_cap - 1; n && (problem[n] & 0xc0) == 0x80; n--)
            ;
    for (std::size_t i = 0; i < n; i++) {
        const unsigned char byte = static_cast<unsigned char>(problem[i]);
        s.error[i] = byte < 0x20 || byte == 0x7f ? ' ' : problem[i];
    }
    s.error[n] = '\0';
}

/* The functions of the table. They are C's to every compiler this runs with, though a
 * template cannot be declared so. */
template <class P> struct boundary {
    static constexpr std::uint32_t n_signals = count(P::signals);
    static constexpr std::uint32_t n_params = count(P::params);
    static constexpr std::uint32_t n_gates = count(P::gates);

    static std::unique_ptr<P> construct(const setup &s)
    {
        if constexpr (takes_setup<P>) {
            return std::make_unique<P>(s);
        } else {
            (void)s;
            return std::make_unique<P>();
        }
    }

    static std::unique_ptr<P> make(const adp_setup &raw)
    {
        const setup s(raw, n_params, P::takes_config);
        std::unique_ptr<P> made = construct(s);
        if constexpr (sees_restore<P>::value) {
            const std::string_view saved(static_cast<const char *>(raw.saved),
                                         raw.saved ? raw.saved_len : 0);
            bool believed = false;
            if (raw.saved) {
                guarded([&] { believed = made->restore(saved); });
                if (!believed)
                    made = construct(s);
            }
        }
        return made;
    }

    static void *create(const adp_setup *raw) noexcept
    {
        try {
            return make(*raw).release();
        } catch (const std::bad_alloc &) {
            say(*raw, "out of memory");
        } catch (const std::exception &problem) {
            say(*raw, problem.what());
        } catch (...) {
            say(*raw, "it threw what is no std::exception");
        }
        return nullptr;
    }

    static void destroy(void *self) noexcept
    {
        guarded([self] { delete static_cast<P *>(self); });
    }

    static void decide(void *self, const adp_view *raw, adp_verdict *to) noexcept
    {
        guarded([=] {
            const view v(*raw, n_signals, n_params);
            if constexpr (has_instance<P>) {
                static_cast<P *>(self)->decide(v).write(*to);
            } else {
                (void)self;
                P::decide(v).write(*to);
            }
        });
    }

    static void take_outcome(void *self, const adp_outcome *raw) noexcept
    {
        guarded([=] { static_cast<P *>(self)->outcome(admitperf::outcome(*raw)); });
    }

    static std::uint64_t save(const void *self, void *to, std::uint64_t cap) noexcept
    {
        std::uint64_t written = 0;
        guarded([&] {
            const std::string bytes = static_cast<const P *>(self)->save();
            if (bytes.size() > cap)
                return;
            std::memcpy(to, bytes.data(), bytes.size());
            written = bytes.size();
        });
        return written;
    }

    static constexpr bool gates_are_declared()
    {
        for (std::uint32_t i = 0; i < n_gates; i++) {
            const adp_gate &gate = P::gates[i];
            if (gate.signal >= n_signals ||
                (gate.param != ADP_NONE && gate.param >= n_params))
                return false;
        }
        return true;
    }
};

/* What the class has, it has so that it can be called: never silently left out. */
template <class P> constexpr bool members_are_seen()
{
    static_assert(!std::is_final_v<P>, "a policy is not final: its private outcome, save "
                                       "and restore would not be seen");
    static_assert(sees_decide<P>::value,
                  "decide is one public function, neither overloaded nor a template, nor "
                  "any other thing of that name");
    static_assert(
        sees_outcome<P>::value || !names_outcome<P>::value,
        "outcome is one public function, neither overloaded nor a template, nor "
        "any other thing of that name");
    static_assert(sees_save<P>::value || !names_save<P>::value,
                  "save is one public function, neither overloaded nor a template, nor "
                  "any other thing of that name");
    static_assert(
        sees_restore<P>::value || !names_restore<P>::value,
        "restore is one public function, neither overloaded nor a template, nor "
        "any other thing of that name");
    static_assert(
        !has_instance<P> || takes_setup<P> || std::is_default_constructible_v<P>,
        "a policy is made by a public constructor of const admitperf::setup &, or "
        "of nothing");
    static_assert(
        takes_setup<P> || (!leaves_out<P, const setup &, setup &, setup, const setup,
                                       const adp_setup &, adp_setup &, adp_setup> &&
                           !takes_pointer<P>()),
        "the constructor takes a const admitperf::setup &, and is public and no "
        "other fits as well");
    static_assert(has_instance<P> || !takes_setup<P>,
                  "decide is static: there is no instance for the constructor");
    static_assert(
        has_instance<P> || !std::is_polymorphic_v<P> || std::is_abstract_v<P>,
        "decide is static: there is no instance for what is virtual, a destructor "
        "too");
    static_assert(
        has_instance<P> || std::is_polymorphic_v<P> || nothing_runs<P>(),
        "decide is static: there is no instance for a constructor or destructor, nor for "
        "members with an initial value");
    static_assert(
        has_instance<P> || !says_serial<P>(),
        "decide is static: any number of threads call it, threading is not SERIAL");
    return true;
}

} // namespace detail

/* The object that a policy exports; by ADMITPERF_POLICY. */
template <class P> constexpr adp_policy describe()
{
    static_assert(detail::members_are_seen<P>());
    using table = detail::boundary<P>;
    constexpr bool instance = detail::has_instance<P>;
    constexpr bool takes_outcomes = detail::sees_outcome<P>::value;
    constexpr bool saves = detail::sees_save<P>::value;

    static_assert(table::n_signals <= ADP_MAX_SIGNALS, "more than 64 signals");
    static_assert(table::n_params <= ADP_MAX_PARAMS, "more than 64 parameters");
    static_assert(table::n_gates <= ADP_MAX_GATES, "more than 64 gates");
    static_assert(instance || !(takes_outcomes || saves),
                  "decide is static: there is no instance for outcome and save");
    static_assert(saves == detail::sees_restore<P>::value,
                  "save and restore need another");
    static_assert(saves == (P::max_saved > 0), "save needs max_saved, and it alone");
    static_assert(P::max_saved <= ADP_MAX_SAVED, "max_saved is above a megabyte");
    static_assert(!P::takes_config || detail::takes_setup<P>,
                  "takes_config needs a constructor that takes a setup");

    adp_policy p {};
    p.magic = ADP_MAGIC;
    p.size = sizeof(adp_policy);
    p.abi_minor = ADP_ABI_MINOR;
    p.min_host_minor = ADP_ABI_MINOR;
    p.signal_size = sizeof(adp_signal);
    p.param_size = sizeof(adp_param);
    p.gate_size = sizeof(adp_gate);
    p.card_size = sizeof(adp_card);
    p.n_signals = table::n_signals;
    p.n_params = table::n_params;
    p.n_gates = table::n_gates;
    p.threading = instance ? static_cast<std::uint32_t>(P::threading)
                           : static_cast<std::uint32_t>(ADP_CONCURRENT);
    p.max_saved = P::max_saved;
    p.flags = P::takes_config ? static_cast<std::uint32_t>(ADP_TAKES_CONFIG) : 0u;
    p.name = P::name;
    p.version = P::version;
    p.doc = P::doc;
    p.signals = P::signals;
    p.params = P::params;
    p.gates = P::gates;
    p.card = &P::card;
    p.decide = table::decide;
    if constexpr (table::n_gates > 0)
        static_assert(table::gates_are_declared(), "a gate names what is not declared");
    if constexpr (instance) {
        if constexpr (detail::is_concurrent<P>)
            static_assert(
                std::is_invocable_v<decltype(&P::decide), const P &, const view &>,
                "decide of a CONCURRENT policy is const");
        p.create = table::create;
        p.destroy = table::destroy;
    }
    if constexpr (takes_outcomes) {
        if constexpr (detail::is_concurrent<P>)
            static_assert(
                std::is_invocable_v<decltype(&P::outcome), const P &, const outcome &>,
                "outcome of a CONCURRENT policy is const");
        p.outcome = table::take_outcome;
    }
    if constexpr (saves)
        p.save = table::save;
    return p;
}

} // namespace admitperf

/* The last line of a policy, outside every namespace. Variadic: a type may have commas. */
#define ADMITPERF_POLICY(...)                                                            \
    constexpr adp_policy admitperf_policy_v1 = ::admitperf::describe<__VA_ARGS__>()

#endif
