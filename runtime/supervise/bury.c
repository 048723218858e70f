/* SPDX-License-Identifier: MIT */
/* A worker has ended: of what, in which policy, and what is to come next. */
#include "runtime/supervise/inner.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_DELAY_MS = 50, MOST_DELAY_MS = 5000, GOOD_LIFE_MS = 10000 };

static const uint64_t RENEW_NS = 50000000u;

const char *adp_cause_text(enum adp_cause cause)
{
    static const char *const texts[ADP_CAUSE_COUNT] = {
        [ADP_CAUSE_SIGNAL] = "died of a signal",
        [ADP_CAUSE_EXIT] = "exited",
        [ADP_CAUSE_HANG] = "did not return from a policy",
        [ADP_CAUSE_STALL] = "gave no sign of life",
        [ADP_CAUSE_MEMORY] = "grew beyond its memory",
    };
    return cause < ADP_CAUSE_COUNT && texts[cause] ? texts[cause] : "ended";
}

/* What is known of a death. */
struct death {
    enum adp_cause cause;
    int detail;
    bool outside; /* sent by somebody: says nothing of a policy */
    const char *policy;
    struct adp_death first; /* of the lanes that were in a policy */
    uint32_t in_policy;
};

static bool is_fatal(int signal)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL,
                               SIGTRAP, SIGSYS, SIGXCPU, SIGXFSZ };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i] == signal)
            return true;
    return false;
}

static struct death classify(const struct adp_supervisor *s, int status)
{
    struct death d = { .policy = "" };
    bool by_signal = WIFSIGNALED(status);
    d.detail = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
    if (s->sentence.cause) {
        d.cause = s->sentence.cause;
    } else {
        d.cause = by_signal ? ADP_CAUSE_SIGNAL : ADP_CAUSE_EXIT;
        d.outside = by_signal && !is_fatal(d.detail);
    }
    return d;
}

static enum adp_fault fault_of_signal(int signal)
{
    static const struct {
        int signal;
        enum adp_fault fault;
    } faults[] = { { SIGSEGV, ADP_FAULT_SEGV },  { SIGBUS, ADP_FAULT_BUS },
                   { SIGABRT, ADP_FAULT_ABORT }, { SIGFPE, ADP_FAULT_FPE },
                   { SIGILL, ADP_FAULT_ILL },    { SIGTRAP, ADP_FAULT_TRAP },
                   { SIGSYS, ADP_FAULT_SYS } };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (faults[i].signal == signal)
            return faults[i].fault;
    return ADP_FAULT_SIGNAL;
}

/* What is to be said of a lane that was in a policy. */
static enum adp_fault fault_of(const struct adp_supervisor *s, const struct death *d,
                               uint32_t lane)
{
    switch (d->cause) {
    case ADP_CAUSE_HANG:
        return lane == s->sentence.lane ? ADP_FAULT_HANG : ADP_FAULT_CAUGHT;
    case ADP_CAUSE_MEMORY:
        return ADP_FAULT_MEMORY;
    case ADP_CAUSE_EXIT:
        return ADP_FAULT_EXIT;
    case ADP_CAUSE_SIGNAL:
        return d->outside ? ADP_FAULT_CAUGHT : fault_of_signal(d->detail);
    default:
        return ADP_FAULT_CAUGHT;
    }
}

static bool is_suspect(const struct adp_supervisor *s, const struct death *d,
                       uint32_t lane)
{
    return !d->outside && d->cause != ADP_CAUSE_STALL &&
           (d->cause != ADP_CAUSE_HANG || lane == s->sentence.lane);
}

static void suspect(struct adp_supervisor *s, struct death *d, const char *name,
                    uint64_t now_ns)
{
    if (!*d->policy)
        d->policy = name;
    adp_suspect_name(s, name, now_ns);
}

static uint64_t wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether the positions of a ring can be what a producer and the drain left. */
static bool is_sound(const struct adp_supervisor *s, uint32_t lane)
{
    struct adp_ring *ring = adp_region_ring(s->region, lane);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    return tail - head <= adp_region_ring_bytes(s->region, lane) && !(tail & 7);
}

/* Rings it damaged would be lost to those that come after it. */
static void renew_rings(struct adp_supervisor *s)
{
    bool sound = true;
    for (uint32_t lane = 0; lane <= s->block.shape.region.lanes; lane++)
        sound &= is_sound(s, lane);
    if (!s->log || (sound && adp_log_counts(s->log).damaged == s->damaged))
        return;
    if (adp_log_renew(s->log, RENEW_NS))
        s->damaged = adp_log_counts(s->log).damaged;
}

static void look_at_lanes(struct adp_supervisor *s, struct death *d, uint64_t now_ns)
{
    for (uint32_t lane = 0; lane <= s->block.shape.region.lanes; lane++) {
        struct adp_death of;
        adp_recover_lane(s->region, lane, fault_of(s, d, lane), now_ns, wall_ns(), &of);
        s->counts.fault_records += of.records;
        if (!of.in_policy || !is_suspect(s, d, lane))
            continue;
        if (!d->in_policy++)
            d->first = of;
        const char *name = adp_supervise_name(s, of.generation, of.policy);
        if (name)
            suspect(s, d, name, now_ns);
    }
}

/* It stepped down, and was in a policy when it was told to. */
static void look_at_sentence(struct adp_supervisor *s, struct death *d, uint64_t now_ns)
{
    for (uint32_t i = 0; !d->in_policy && i < s->sentence.n_in; i++)
        suspect(s, d, s->sentence.in[i], now_ns);
    d->in_policy += s->sentence.n_in;
}

/* In create, save or destroy. */
static void look_within(struct adp_supervisor *s, struct death *d, uint64_t now_ns)
{
    char name[ADP_POLICY_NAME];
    struct adp_block_head *head = s->block.head;
    uint64_t since = atomic_load_explicit(&head->within_ns, memory_order_acquire);
    memcpy(name, head->within, sizeof name);
    atomic_store_explicit(&head->within_ns, 0, memory_order_relaxed);
    if (!since || d->outside || d->in_policy || !adp_block_name_is_sound(name))
        return;
    adp_suspect_name(s, name, now_ns);
    for (uint32_t i = 0; i < ADP_SUSPECTS; i++)
        if (!*d->policy && strcmp(s->suspect[i].name, name) == 0)
            d->policy = s->suspect[i].name;
    d->in_policy++;
}

/* Nobody was asked, and yet it may have been one of them: a heap that was damaged before,
 * memory taken bit by bit. What ends by itself is no policy's work. */
static bool may_be_anybody(const struct adp_supervisor *s, const struct death *d)
{
    return s->ready && !d->in_policy && !d->outside && d->cause != ADP_CAUSE_EXIT;
}

static void announce(const struct adp_supervisor *s, const struct death *d,
                     uint64_t now_ns)
{
    char id[ADP_ID_MAX + 1] = "";
    memcpy(id, d->first.id, d->first.id_len);
    adp_supervise_tell(s,
                       &(struct adp_news) { .what = ADP_WORKER_DIED,
                                            .pid = s->pid,
                                            .cause = d->cause,
                                            .detail = d->detail,
                                            .policy = d->policy,
                                            .id = id,
                                            .ms = (now_ns - s->spawned_ns) / 1000000u });
}

static void plan_next(struct adp_supervisor *s, const struct death *d, uint64_t now_ns)
{
    uint64_t delay_ms = 0;
    bool lived = s->ready && now_ns - s->spawned_ns >= GOOD_LIFE_MS * 1000000ull;
    /* What a policy explains ends with its quarantine. */
    if (lived || d->in_policy)
        s->failures = 0;
    else
        s->failures++;
    if (s->failures > 1) {
        uint32_t doublings = s->failures < 10 ? s->failures - 2 : 8;
        delay_ms = (uint64_t)FIRST_DELAY_MS << doublings;
        if (delay_ms > MOST_DELAY_MS)
            delay_ms = MOST_DELAY_MS;
        adp_supervise_tell(
            s, &(struct adp_news) { .what = ADP_RESTART_DELAYED, .ms = delay_ms });
    }
    s->spawn_at_ns = now_ns + delay_ms * 1000000u;
}

void adp_supervise_bury(struct adp_supervisor *s, int status, uint64_t now_ns)
{
    adp_supervise_read(s); /* what it had still said */
    if (s->control >= 0)
        close(s->control);
    s->control = -1;
    struct death d = classify(s, status);
    bool done = s->draining && d.cause == ADP_CAUSE_EXIT && d.detail == 0;
    if (!done)
        s->counts.deaths[d.cause]++;
    renew_rings(s);
    adp_suspect_begin(s);
    look_at_lanes(s, &d, now_ns);
    look_at_sentence(s, &d, now_ns);
    look_within(s, &d, now_ns);
    if (may_be_anybody(s, &d))
        adp_suspect_all(s, now_ns);
    memset(s->block.head->beat, 0, sizeof s->block.head->beat);
    if (!done)
        announce(s, &d, now_ns);
    adp_suspect_end(s, now_ns);
    uint64_t owed = adp_supervise_leave(s);
    s->died_ns = s->sentence.cause ? s->sentence.at_ns : now_ns;
    s->pid = 0;
    s->ready = false;
    s->spawn_at_ns = 0;
    if (atomic_load_explicit(&s->stopping, memory_order_relaxed) && !owed)
        return;
    if (!s->draining || (!done && owed && now_ns < s->drain_until_ns))
        plan_next(s, &d, now_ns);
}
