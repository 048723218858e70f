/* SPDX-License-Identifier: MIT */
/* The supervisor (supervise.h): making it, and its loop. */
#include "core/error.h"
#include "runtime/supervise/heeded.h"
#include "runtime/supervise/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LANES = 16,
    RING_BYTES = 1 << 20,
    CONTROL_BYTES = 8 << 20,
    TICKETS = 4096,
    CONNECTIONS = 1040,
    STATE_BYTES = 1 << 20,
    HANG_MS = 500,
    STALL_MS = 10000,
    START_MS = 30000,
    DRAIN_MS = 10000,
    WINDOW_MS = 60000,
    LONGEST_LOOK_MS = 100,
    GRACE_MS = 1000 /* beyond the drain's time, for the worker to exit */
};
static const uint64_t MS = 1000000u;

uint64_t adp_supervise_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void adp_supervise_tell(const struct adp_supervisor *s, const struct adp_news *news)
{
    struct adp_news whole = *news;
    whole.policy = news->policy ? news->policy : "";
    whole.id = news->id ? news->id : "";
    whole.text = news->text ? news->text : "";
    if (s->options.told)
        s->options.told(s->options.ctx, &whole);
}

/* --- making --- */

static void set_default(uint32_t *value, uint32_t dflt)
{
    if (!*value)
        *value = dflt;
}

static void set_defaults(struct adp_supervisor_options *o)
{
    if (!o->shape.lanes)
        o->shape = (struct adp_shape) { LANES, RING_BYTES, CONTROL_BYTES, TICKETS };
    set_default(&o->connections, CONNECTIONS);
    set_default(&o->state_bytes, STATE_BYTES);
    set_default(&o->hang_ms, HANG_MS);
    set_default(&o->stall_ms, STALL_MS);
    set_default(&o->start_ms, START_MS);
    set_default(&o->drain_ms, DRAIN_MS);
    set_default(&o->window_ms, WINDOW_MS);
}

static int copy_argv(struct adp_supervisor *s, const char *const *argv,
                     const char *program)
{
    s->program = strdup(program ? program : argv[0]);
    size_t n = 0;
    while (argv[n])
        n++;
    s->argv = calloc(n + 1, sizeof *s->argv);
    for (size_t i = 0; s->argv && i < n; i++) {
        s->argv[i] = strdup(argv[i]);
        if (!s->argv[i])
            return ADP_ENOMEM;
    }
    return s->argv && s->program ? 0 : ADP_ENOMEM;
}

static int take_options(struct adp_supervisor *s, const struct adp_supervisor_options *o,
                        struct adp_error *err)
{
    s->options = *o;
    set_defaults(&s->options);
    if (!o->argv || !o->argv[0] || o->n_listeners > ADP_SUPERVISE_LISTENERS)
        return adp_error_set(err, ADP_EINVAL,
                             "a supervisor needs a program, and takes %u listeners",
                             ADP_SUPERVISE_LISTENERS);
    for (uint32_t i = 0; i < o->n_listeners; i++)
        fcntl(s->listener[i] = o->listeners[i], F_SETFD, 0); /* inherited */
    s->block.shape = (struct adp_block_shape) { s->options.shape, s->options.connections,
                                                s->options.state_bytes };
    if (!adp_block_bytes(&s->block.shape))
        return adp_error_set(err, ADP_EINVAL, "the region's shape is out of bounds");
    if (copy_argv(s, o->argv, o->program) < 0)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    if (!s->options.instance &&
        getrandom(&s->options.instance, sizeof s->options.instance, 0) !=
            (ssize_t)sizeof s->options.instance)
        return adp_error_set(err, ADP_EIO, "no random number to be had: %s",
                             strerror(errno));
    return 0;
}

/* Its size can never change: a worker that cuts it would have us die of SIGBUS. */
static int make_region(struct adp_supervisor *s, struct adp_error *err)
{
    size_t bytes = adp_block_bytes(&s->block.shape);
    size_t region = adp_region_bytes(&s->options.shape);
    s->region_fd = memfd_create("admitperf-region", MFD_ALLOW_SEALING);
    if (s->region_fd < 0 || ftruncate(s->region_fd, (off_t)bytes) < 0 ||
        fcntl(s->region_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return adp_error_set(err, ADP_EIO, "cannot make the region of %zu bytes: %s%s",
                             bytes, strerror(errno),
                             errno == EFBIG ? " (RLIMIT_FSIZE, ulimit -f)" : "");
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->region_fd, 0);
    if (at == MAP_FAILED)
        return adp_error_set(err, ADP_ENOMEM, "cannot map the region of %zu bytes: %s",
                             bytes, strerror(errno));
    struct adp_block_shape shape = s->block.shape;
    adp_block_view(&s->block, &shape, at);
#ifdef MADV_POPULATE_WRITE
    if (madvise(at, region, MADV_POPULATE_WRITE) < 0 && errno == ENOMEM)
        return adp_error_set(err, ADP_ENOMEM, "no memory for the region of %zu bytes",
                             region);
#endif
    return adp_region_create(&s->region, at, region, &s->options.shape,
                             s->options.instance, err);
}

static int make_tables(struct adp_supervisor *s, struct adp_error *err)
{
    uint32_t n = s->options.connections;
    s->kept = calloc(n, sizeof *s->kept);
    s->left = calloc(n, sizeof *s->left);
    if (!s->kept || !s->left)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        s->kept[i].fd = -1;
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake < 0)
        return adp_error_set(err, ADP_EIO, "cannot make an eventfd: %s", strerror(errno));
    return 0;
}

static int open_log(struct adp_supervisor *s, struct adp_error *err)
{
    struct adp_drain *drain;
    if (!s->options.log)
        return 0;
    s->log_options = *s->options.log;
    int code = adp_drain_create(&drain, s->region, s->options.log_inline, err);
    if (code == 0)
        code = adp_log_open_take(&s->log, &s->log_options, drain, err);
    return code == 0 ? adp_log_start(s->log, err) : code;
}

/* A descriptor for each connection, twice for a moment at a restart. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int adp_supervisor_create(struct adp_supervisor **ret,
                          const struct adp_supervisor_options *options,
                          struct adp_error *err)
{
    struct adp_supervisor *s = calloc(1, sizeof *s);
    if (!s)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    s->region_fd = s->control = s->signals = s->wake = -1;
    int code = take_options(s, options, err);
    if (code == 0)
        code = make_region(s, err);
    if (code == 0)
        code = make_tables(s, err);
    if (code == 0)
        code = open_log(s, err);
    if (code < 0) {
        adp_supervisor_destroy(s);
        return code;
    }
    raise_descriptors();
    *ret = s;
    return 0;
}

/* --- counts --- */

struct adp_supervised adp_supervisor_counts(const struct adp_supervisor *supervisor)
{
    struct adp_supervised counts = supervisor->counts;
    if (supervisor->log) {
        struct adp_log_count log = adp_log_counts(supervisor->log);
        counts.log_lines = log.lines;
        counts.log_bytes = log.bytes;
        counts.log_dropped = log.dropped;
        counts.rings_damaged = log.damaged;
        counts.log_write_errors = log.write_errors;
        counts.log_pending = log.pending;
    }
    return counts;
}

static void publish_counts(struct adp_supervisor *s)
{
    struct adp_supervised counts = adp_supervisor_counts(s);
    uint64_t word[sizeof counts / sizeof(uint64_t)];
    memcpy(word, &counts, sizeof counts);
    for (size_t i = 0; i < sizeof word / sizeof word[0]; i++)
        atomic_store_explicit(&s->block.head->counts.word[i], word[i],
                              memory_order_relaxed);
}

/* --- the loop --- */

static void our_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    adp_add_unless_ignored(set, SIGTERM);
    adp_add_unless_ignored(set, SIGINT);
    sigaddset(set, SIGHUP);
}

static void close_listeners(struct adp_supervisor *s)
{
    for (uint32_t i = 0; i < s->options.n_listeners; i++)
        close(s->listener[i]);
    s->options.n_listeners = 0;
}

static void begin_drain(struct adp_supervisor *s)
{
    if (s->draining) { /* asked twice: at once */
        if (s->pid)
            kill(s->pid, SIGKILL);
        s->drain_until_ns = 0;
        return;
    }
    s->draining = true;
    s->drain_until_ns = adp_supervise_now() + s->options.drain_ms * MS;
    adp_supervise_say(s, ADP_MESSAGE_DRAIN, s->options.drain_ms);
    adp_supervise_tell(
        s, &(struct adp_news) { .what = ADP_DRAINING, .ms = s->options.drain_ms });
    close_listeners(s); /* with the worker's gone too, nobody is kept waiting in vain */
}

static void read_signals(struct adp_supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) {
            begin_drain(s);
        } else if (info.ssi_signo == SIGHUP) {
            if (s->log)
                adp_log_reopen(s->log);
            s->reload_due = true;
            adp_supervise_say(s, ADP_MESSAGE_RELOAD, 0);
        }
    }
    uint64_t n;
    if (read(s->wake, &n, sizeof n) == (ssize_t)sizeof n)
        begin_drain(s);
}

static void reap(struct adp_supervisor *s)
{
    int status;
    pid_t pid;
    do
        pid = s->pid ? waitpid(s->pid, &status, WNOHANG) : 0;
    while (pid < 0 && errno == EINTR);
    if (pid > 0)
        adp_supervise_bury(s, status, adp_supervise_now());
}

static uint64_t look_interval_ns(const struct adp_supervisor *s)
{
    uint64_t ms = s->options.hang_ms / 4;
    ms = ms < 5 ? 5 : ms > LONGEST_LOOK_MS ? LONGEST_LOOK_MS : ms;
    return ms * MS;
}

/* What is due by time. */
static void look(struct adp_supervisor *s)
{
    uint64_t now = adp_supervise_now();
    if (now < s->look_ns)
        return;
    s->look_ns = now + look_interval_ns(s);
    if (s->options.tick)
        s->options.tick(s->options.ctx, now);
    adp_supervise_watch(s, now);
    adp_supervise_sweep(s);
    publish_counts(s);
    if (s->draining && s->pid && now > s->drain_until_ns + GRACE_MS * MS)
        kill(s->pid, SIGKILL);
}

/* Starts the next worker when its time has come. ADP_EIO: not even the first. */
static int start_due(struct adp_supervisor *s, struct adp_error *err)
{
    struct adp_error own = { 0 };
    uint64_t now = adp_supervise_now();
    if (s->pid || !s->spawn_at_ns || now < s->spawn_at_ns)
        return 0;
    bool first = !s->died_ns && !s->failures;
    if (!first)
        s->counts.restarts++;
    publish_counts(s);
    if (adp_supervise_spawn(s, &own) < 0) {
        if (first)
            return adp_error_set(err, ADP_EIO, "%s", own.text);
        s->failures++;
        s->spawn_at_ns = now + 1000 * MS; /* no memory, no process: it will pass */
        return 0;
    }
    if (s->reload_due) /* the one before did not come to it */
        adp_supervise_say(s, ADP_MESSAGE_RELOAD, 0);
    if (s->draining)
        adp_supervise_say(
            s, ADP_MESSAGE_DRAIN,
            s->drain_until_ns > now ? (uint32_t)((s->drain_until_ns - now) / MS) : 0);
    return 0;
}

static int wait_ms(const struct adp_supervisor *s)
{
    uint64_t now = adp_supervise_now(), until = s->look_ns;
    if (!s->pid && s->spawn_at_ns && s->spawn_at_ns < until)
        until = s->spawn_at_ns;
    return until <= now ? 0 : (int)((until - now + MS - 1) / MS);
}

static int run(struct adp_supervisor *s, struct adp_error *err)
{
    int code = 0;
    s->spawn_at_ns = 1; /* now */
    while (code == 0 && !(s->draining && !s->pid && !s->spawn_at_ns)) {
        code = start_due(s, err);
        struct pollfd fds[3] = { { s->signals, POLLIN, 0 },
                                 { s->wake, POLLIN, 0 },
                                 { s->control, POLLIN, 0 } };
        if (code == 0 && poll(fds, 3, wait_ms(s)) < 0 && errno != EINTR)
            code = adp_error_set(err, ADP_EIO, "poll: %s", strerror(errno));
        read_signals(s);
        adp_supervise_read(s);
        reap(s);
        look(s);
    }
    return code;
}

static int end_log(struct adp_supervisor *s, struct adp_error *err)
{
    struct adp_error own = { 0 };
    adp_supervise_close_kept(s);
    adp_supervise_close_left(s);
    if (!s->log)
        return 0;
    adp_log_flush(s->log, NULL);
    struct adp_supervised last = adp_supervisor_counts(s);
    int code = adp_log_close(s->log, &own);
    s->log = NULL;
    s->counts = last;
    if (code < 0) {
        adp_supervise_tell(
            s, &(struct adp_news) { .what = ADP_LOG_FAILED, .text = own.text });
        adp_error_set(err, code, "%s", own.text);
    }
    return code;
}

int adp_supervisor_run(struct adp_supervisor *supervisor, struct adp_error *err)
{
    struct adp_supervisor *s = supervisor;
    sigset_t ours, before;
    our_signals(&ours);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    s->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    int code = 0;
    if (s->signals < 0)
        code = adp_error_set(err, ADP_EIO, "signalfd: %s", strerror(errno));
    if (code == 0)
        code = run(s, err);
    if (s->signals >= 0)
        close(s->signals);
    s->signals = -1;
    int ended = end_log(s, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code < 0 ? code : ended;
}

void adp_supervisor_stop(struct adp_supervisor *supervisor)
{
    uint64_t one = 1;
    atomic_store_explicit(&supervisor->stopping, true, memory_order_relaxed);
    ssize_t n = write(supervisor->wake, &one, sizeof one);
    (void)n; /* full: it was asked often enough */
}

void adp_supervisor_destroy(struct adp_supervisor *supervisor)
{
    struct adp_supervisor *s = supervisor;
    if (!s)
        return;
    if (s->log)
        adp_log_close(s->log, NULL);
    adp_region_destroy(s->region);
    if (s->block.at)
        munmap(s->block.at, s->block.bytes);
    const int fds[] = { s->region_fd, s->control, s->wake };
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (size_t i = 0; s->argv && s->argv[i]; i++)
        free(s->argv[i]);
    free(s->argv);
    free(s->program);
    free(s->kept);
    free(s->left);
    free(s);
}
