/* SPDX-License-Identifier: MIT */
/* Looking at the living worker: call slots, beats, memory. It can lie about all but the last,
 * and harms nobody but itself. */
#include "runtime/supervise/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STEP_DOWN_MS = 500,
    STEP_DOWN_LOOK_MS = 5,
    STEP_DOWN_BYTES = 256 << 20 /* beyond twice its limit: then it is killed at once */
};
static const uint64_t MS = 1000000u;

static void put_down(struct adp_supervisor *s, enum adp_cause cause, uint32_t lane,
                     uint64_t start_ns)
{
    s->sentence = (struct adp_sentence) {
        .cause = cause, .lane = lane, .start_ns = start_ns, .at_ns = adp_supervise_now()
    };
    kill(s->pid, SIGKILL);
}

static void note_policies_in(struct adp_supervisor *s)
{
    struct adp_sentence *t = &s->sentence;
    for (uint32_t lane = 0; lane <= s->block.shape.region.lanes; lane++) {
        const struct adp_call *call = adp_region_call(s->region, lane);
        /* Acquire: who sees a start sees the policy it is about. */
        if (!atomic_load_explicit(&call->start_ns, memory_order_acquire))
            continue;
        uint64_t in = atomic_load_explicit(&call->policy, memory_order_relaxed);
        const char *name = adp_supervise_name(s, (uint32_t)(in >> 8), in & 0xff);
        if (name && t->n_in < ADP_MAX_POLICIES)
            memcpy(t->in[t->n_in++], name, ADP_POLICY_NAME);
    }
}

/* It goes by itself, with nothing half written; whoever it asked just then is remembered, since
 * nobody will be asked when it ends. */
static void have_step_down(struct adp_supervisor *s)
{
    if (!s->ready || !adp_supervise_say(s, ADP_MESSAGE_STEP_DOWN, STEP_DOWN_MS)) {
        put_down(s, ADP_CAUSE_MEMORY, 0, 0);
        return;
    }
    /* Its time runs from when it was told, whatever passed since the caller looked at a clock. */
    uint64_t now_ns = adp_supervise_now();
    s->sentence = (struct adp_sentence) { .cause = ADP_CAUSE_MEMORY,
                                          .at_ns = now_ns,
                                          .kill_ns = now_ns + STEP_DOWN_MS * MS };
    note_policies_in(s);
    s->look_ns = now_ns + STEP_DOWN_LOOK_MS * MS;
}

/* The call that has lasted longest, if it has lasted too long: others may wait for its policy.
 * 0: none. */
static uint64_t find_hang(const struct adp_supervisor *s, uint64_t now_ns,
                          uint32_t *ret_lane)
{
    uint64_t limit_ns = s->options.hang_ms * MS, oldest = 0;
    for (uint32_t lane = 0; lane <= s->block.shape.region.lanes; lane++) {
        const struct adp_call *call = adp_region_call(s->region, lane);
        uint64_t start = atomic_load_explicit(&call->start_ns, memory_order_acquire);
        if (!start || start >= now_ns || now_ns - start <= limit_ns ||
            (oldest && start >= oldest))
            continue;
        oldest = start;
        *ret_lane = lane;
    }
    return oldest;
}

/* Creating an instance may take as long as starting may. */
static bool is_stuck_within(const struct adp_supervisor *s, uint64_t now_ns)
{
    uint64_t since =
        atomic_load_explicit(&s->block.head->within_ns, memory_order_acquire);
    return s->ready && since && since < now_ns &&
           now_ns - since > s->options.stall_ms * MS;
}

static bool has_stalled(const struct adp_supervisor *s, uint64_t now_ns)
{
    for (uint32_t i = 0; i < ADP_WORKER_THREADS; i++) {
        uint64_t beat =
            atomic_load_explicit(&s->block.head->beat[i].ns, memory_order_relaxed);
        if (beat && beat < now_ns && now_ns - beat > s->options.stall_ms * MS)
            return true;
    }
    return false;
}

/* Resident and not shared: what policies and their host have allocated. 0: not known. */
static uint64_t memory_of(pid_t pid)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    char *at = text;
    unsigned long long pages[3]; /* size, resident, shared */
    for (int i = 0; i < 3; i++) {
        char *end;
        errno = 0;
        pages[i] = strtoull(at, &end, 10);
        if (end == at || errno)
            return 0;
        at = end;
    }
    return pages[1] > pages[2] ? (pages[1] - pages[2]) * (uint64_t)sysconf(_SC_PAGESIZE)
                               : 0;
}

static void see_it_step_down(struct adp_supervisor *s, uint64_t now_ns)
{
    if (!s->sentence.kill_ns)
        return;
    s->look_ns = now_ns + STEP_DOWN_LOOK_MS * MS;
    if (now_ns < s->sentence.kill_ns &&
        memory_of(s->pid) / 2 <= s->options.memory_bytes + STEP_DOWN_BYTES / 2)
        return;
    s->sentence.kill_ns = 0;
    kill(s->pid, SIGKILL);
}

void adp_supervise_watch(struct adp_supervisor *s, uint64_t now_ns)
{
    uint32_t lane = 0;
    if (!s->pid)
        return;
    if (s->sentence.cause) {
        see_it_step_down(s, now_ns);
        return;
    }
    uint64_t start = find_hang(s, now_ns, &lane);
    if (start)
        put_down(s, ADP_CAUSE_HANG, lane, start);
    else if (is_stuck_within(s, now_ns) || (s->ready && has_stalled(s, now_ns)))
        put_down(s, ADP_CAUSE_STALL, 0, 0);
    else if (!s->ready && now_ns - s->spawned_ns > s->options.start_ms * MS)
        put_down(s, ADP_CAUSE_STALL, 0, 0);
    else if (s->options.memory_bytes && memory_of(s->pid) > s->options.memory_bytes)
        have_step_down(s);
}
