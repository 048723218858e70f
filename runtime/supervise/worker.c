/* SPDX-License-Identifier: MIT */
/* The worker's side (worker.h): attaching, connections, life. Saved state is state.c's. */
#include "runtime/supervise/own.h"

#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* --- attaching --- */

static int control_of_environment(void)
{
    const char *text = getenv(ADP_SUPERVISE_ENV);
    char *end;
    if (!text || !*text)
        return -1;
    long fd = strtol(text, &end, 10);
    return *end || fd < 3 || fd > INT32_MAX ? -1 : (int)fd;
}

bool adp_worker_is_supervised(void)
{
    return control_of_environment() >= 0;
}

static int read_welcome(struct adp_worker *w, struct adp_error *err)
{
    ssize_t n = recv(w->control, &w->welcome, sizeof w->welcome, MSG_DONTWAIT);
    if (n == (ssize_t)sizeof w->welcome && w->welcome.head.kind == ADP_MESSAGE_WELCOME &&
        w->welcome.n_listeners <= ADP_SUPERVISE_LISTENERS &&
        w->welcome.n_orders <= ADP_STATES)
        return 0;
    return adp_error_set(err, ADP_ESTATE,
                         "%s names no supervisor of this version in the environment",
                         ADP_SUPERVISE_ENV);
}

static int map_block(struct adp_worker *w, struct adp_error *err)
{
    size_t bytes = adp_block_bytes(&w->welcome.shape);
    if (!bytes)
        return adp_error_set(err, ADP_EINVAL,
                             "the supervisor's region has no sound shape");
    void *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->welcome.region, 0);
    if (at == MAP_FAILED)
        return adp_error_set(err, ADP_ENOMEM, "cannot map the supervisor's region: %s",
                             strerror(errno));
    close(w->welcome.region);
    adp_block_view(&w->block, &w->welcome.shape, at);
    madvise(at, bytes, MADV_DONTDUMP);
    size_t region = adp_region_bytes(&w->welcome.shape.region);
#ifdef MADV_POPULATE_WRITE
    madvise(at, region, MADV_POPULATE_WRITE); /* else faulted in one by one */
#endif
    return adp_region_attach(&w->region, at, region, &w->welcome.shape.region,
                             w->welcome.instance, err);
}

static void take_descriptor(int fd)
{
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* The kernel ends us with the thread that started us; it may have gone before we asked. */
static int tie_life(const struct adp_worker *w, struct adp_error *err)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == w->welcome.supervisor)
        return 0;
    return adp_error_set(err, ADP_ESTATE, "the supervisor has gone");
}

static int make_tables(struct adp_worker *w, struct adp_error *err)
{
    w->mine = calloc(w->welcome.shape.connections, sizeof *w->mine);
    w->adopted = calloc(w->welcome.n_left ? w->welcome.n_left : 1, sizeof *w->adopted);
    if (!w->mine || !w->adopted)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < w->welcome.shape.connections; i++)
        w->mine[i].fd = -1;
    return 0;
}

int adp_worker_attach(struct adp_worker **ret, struct adp_error *err)
{
    int control = control_of_environment();
    if (control < 0)
        return adp_error_set(err, ADP_ESTATE, "not started by a supervisor");
    struct adp_worker *w = calloc(1, sizeof *w);
    if (!w)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    w->control = control;
    int code = read_welcome(w, err);
    if (code == 0)
        code = tie_life(w, err);
    if (code == 0)
        code = map_block(w, err);
    if (code == 0)
        code = make_tables(w, err);
    if (code < 0) {
        adp_worker_destroy(w);
        return code;
    }
    unsetenv(ADP_SUPERVISE_ENV);
    take_descriptor(control);
    for (uint32_t i = 0; i < w->welcome.n_listeners; i++)
        take_descriptor(w->welcome.listener[i]);
    for (uint32_t i = 0; i < w->welcome.n_left; i++)
        take_descriptor(w->block.left[i].fd);
    adp_state_clear_ordered(w);
    *ret = w;
    return 0;
}

void adp_worker_destroy(struct adp_worker *worker)
{
    if (!worker)
        return;
    adp_region_destroy(worker->region);
    if (worker->block.at)
        munmap(worker->block.at, worker->block.bytes);
    if (worker->control >= 0)
        close(worker->control);
    free(worker->mine);
    free(worker->adopted);
    free(worker);
}

struct adp_region *adp_worker_region(const struct adp_worker *worker)
{
    return worker->region;
}

bool adp_worker_records(const struct adp_worker *worker)
{
    return worker->welcome.records;
}

uint32_t adp_worker_listeners(const struct adp_worker *worker)
{
    return worker->welcome.n_listeners;
}

int adp_worker_listener(const struct adp_worker *worker, uint32_t i)
{
    return i < worker->welcome.n_listeners ? worker->welcome.listener[i] : -1;
}

uint64_t adp_worker_restarts(const struct adp_worker *worker)
{
    return worker->welcome.restarts;
}

struct adp_supervised adp_worker_counts(const struct adp_worker *worker)
{
    uint64_t word[sizeof(struct adp_supervised) / sizeof(uint64_t)];
    struct adp_supervised counts;
    for (size_t i = 0; i < sizeof word / sizeof word[0]; i++)
        word[i] = atomic_load_explicit(&worker->block.head->counts.word[i],
                                       memory_order_relaxed);
    memcpy(&counts, word, sizeof counts);
    return counts;
}

/* --- messages --- */

/* False: the queue is full, or the supervisor gone. */
static bool say(const struct adp_worker *w, const void *message, size_t len, int fd)
{
    struct iovec io = { (void *)message, len };
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
    if (fd >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    ssize_t n;
    do
        n = sendmsg(w->control, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)len;
}

/* A millisecond, also where signals come, as many as may: those who wait count them. Until a
 * moment, since a rest of the time becomes longer by the timer's slack with each of them. */
static void rest(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* What must not be lost, from the control thread: waits for room, a little. */
static void insist(const struct adp_worker *w, const void *message, size_t len)
{
    for (int i = 0; i < 1000 && !say(w, message, len, -1); i++) {
        if (errno != EAGAIN)
            return;
        rest();
    }
}

/* --- policies --- */

enum adp_order adp_worker_order(const struct adp_worker *worker, const char *name)
{
    if (atomic_load_explicit(&worker->reloaded, memory_order_relaxed))
        return ADP_ORDER_RESTORE;
    for (uint32_t i = 0; i < worker->welcome.n_orders; i++)
        if (strncmp(worker->welcome.order[i].name, name, ADP_POLICY_NAME) == 0)
            return (enum adp_order)worker->welcome.order[i].order;
    return ADP_ORDER_RESTORE;
}

void adp_worker_policies(struct adp_worker *worker, uint32_t generation,
                         const char *const *names, uint32_t n)
{
    struct adp_policies_message m = {
        .head = { .kind = ADP_MESSAGE_POLICIES, .number = generation },
        .n = n < ADP_MAX_POLICIES ? n : ADP_MAX_POLICIES,
    };
    for (uint32_t i = 0; i < m.n; i++)
        memcpy(m.name[i], names[i], strnlen(names[i], ADP_POLICY_NAME - 1));
    insist(worker, &m, sizeof m);
}

void adp_worker_within(struct adp_worker *worker, const char *name, uint64_t now_ns)
{
    struct adp_block_head *head = worker->block.head;
    if (!name) {
        atomic_store_explicit(&head->within_ns, 0, memory_order_release);
        return;
    }
    memset(head->within, 0, sizeof head->within);
    memcpy(head->within, name, strnlen(name, ADP_POLICY_NAME - 1));
    /* Release: whoever sees the time sees the name. */
    atomic_store_explicit(&head->within_ns, now_ns, memory_order_release);
}

static void insist_on(struct adp_worker *worker, enum adp_message_kind kind)
{
    struct adp_message m = { .kind = kind };
    insist(worker, &m, sizeof m);
}

void adp_worker_reloading(struct adp_worker *worker)
{
    insist_on(worker, ADP_MESSAGE_RELOADING);
}

void adp_worker_reloaded(struct adp_worker *worker)
{
    atomic_store_explicit(&worker->reloaded, true, memory_order_relaxed);
    insist_on(worker, ADP_MESSAGE_RELOADED);
}

void adp_worker_unreloaded(struct adp_worker *worker)
{
    insist_on(worker, ADP_MESSAGE_UNRELOADED);
}

bool adp_worker_suspected(const struct adp_worker *worker, uint32_t i,
                          struct adp_suspected *ret)
{
    if (i >= worker->welcome.n_orders)
        return false;
    const char *name = worker->welcome.order[i].name;
    *ret = (struct adp_suspected) {
        .name = name,
        .deaths = worker->welcome.order[i].deaths,
        .quarantined = adp_worker_order(worker, name) == ADP_ORDER_QUARANTINE,
    };
    return true;
}

/* --- the log --- */

int adp_worker_log(struct adp_worker *worker, const struct adp_log_options *log,
                   bool only_try, struct adp_error *err)
{
    enum { ANSWER_MS = 5000 };
    struct adp_block_head *head = worker->block.head;
    struct adp_log_message m = {
        .head = { .kind = ADP_MESSAGE_LOG, .number = log->keep },
        .rotate_bytes = log->rotate_bytes,
        .only_try = only_try,
    };
    size_t len = strlen(log->path);
    if (len >= sizeof m.path)
        return adp_error_set(err, ADP_EINVAL, "the path of the log is too long");
    memcpy(m.path, log->path, len);
    /* Acquire, here and below: the answer is there with its number. Numbers go on where the
     * worker before left them. */
    m.head.use = 1 + atomic_load_explicit(&head->log_answered, memory_order_acquire);
    insist(worker, &m, sizeof m);
    for (int ms = 0; ms < ANSWER_MS; ms++) {
        if (atomic_load_explicit(&head->log_answered, memory_order_acquire) ==
            m.head.use) {
            size_t n = strnlen(head->log_why, sizeof head->log_why);
            return n ? adp_error_set(err, ADP_EIO, "%.*s", (int)n, head->log_why) : 0;
        }
        rest();
    }
    return adp_error_set(err, ADP_EIO,
                         "no answer from the supervisor, which writes the log");
}

/* --- connections --- */

static uint64_t word_of(const struct adp_standing *s, uint32_t first)
{
    uint32_t owed = s->owed < ADP_OWED_MAX ? s->owed : ADP_OWED_MAX;
    return ADP_PLACE_HELD | (s->last ? ADP_PLACE_LAST : 0u) |
           (s->partly_read ? ADP_PLACE_READING : 0u) |
           (s->partly_written ? ADP_PLACE_WRITING : 0u) | owed << 8 |
           (uint64_t)first << 32;
}

/* The last `len` of `end` bytes, as block.h has them. */
static uint64_t unread_of(uint32_t end, uint32_t len)
{
    return (uint64_t)end << 32 | (end - (len < end ? len : end));
}

uint32_t adp_worker_inherited(const struct adp_worker *worker)
{
    return worker->welcome.n_left;
}

bool adp_worker_adopt(struct adp_worker *worker, uint32_t i, struct adp_held *ret)
{
    if (i >= worker->welcome.n_left || worker->adopted[i] != ADP_NOT_ADOPTED)
        return false;
    const struct adp_place *p = &worker->block.left[i];
    uint64_t word = atomic_load_explicit(&p->word, memory_order_relaxed);
    worker->adopted[i] = ADP_ADOPTED;
    worker->n_adopted++;
    *ret = (struct adp_held) {
        .standing = { .fd = p->fd,
                      .owed = (uint32_t)(word >> 8) & 0xff,
                      .last = word & ADP_PLACE_LAST,
                      .note = p->note },
    };
    if (ret->standing.owed > ADP_OWED_MAX)
        ret->standing.owed = ADP_OWED_MAX;
    /* The supervisor's, which has put it to the front. */
    ret->standing.unread =
        (uint32_t)(atomic_load_explicit(&p->unread, memory_order_relaxed) >> 32);
    ret->unread = adp_block_left_unread(&worker->block, i);
    for (uint32_t k = 0; k < ret->standing.owed; k++)
        ret->owed[k] = p->owed[((word >> 32) + k) % ADP_OWED_MAX];
    return true;
}

/* Index in `left` + 1 of an adopted connection that has no place yet; 0: it is a new one. */
static uint32_t find_adopted(struct adp_worker *w, int fd)
{
    for (uint32_t i = 0; w->n_adopted && i < w->welcome.n_left; i++)
        if (w->adopted[i] == ADP_ADOPTED && w->block.left[i].fd == fd) {
            w->adopted[i] = ADP_PLACED;
            w->n_adopted--;
            return i + 1;
        }
    return 0;
}

static void begin_place(struct adp_worker *w, struct adp_own_place *mine,
                        struct adp_place *p, const struct adp_standing *now)
{
    uint64_t use = atomic_load_explicit(&p->use, memory_order_relaxed) + 1;
    mine->fd = now->fd;
    mine->said = false;
    mine->from = find_adopted(w, now->fd);
    mine->first = 0;
    mine->owed = now->owed;
    mine->known = 0;
    mine->kept = 0;
    atomic_store_explicit(&p->unread, 0, memory_order_relaxed);
    memset(p->owed, 0, sizeof p->owed);
    if (mine->from) {
        const struct adp_place *left = &w->block.left[mine->from - 1];
        uint64_t word = atomic_load_explicit(&left->word, memory_order_relaxed);
        mine->first = (uint32_t)(word >> 32);
        mine->known = mine->first + ((uint32_t)(word >> 8) & 0xff);
        memcpy(p->owed, left->owed, sizeof p->owed);
    }
    p->note = now->note;
    atomic_store_explicit(&p->word, word_of(now, mine->first), memory_order_relaxed);
    /* Release: what stands there is this connection's. */
    atomic_store_explicit(&p->use, use, memory_order_release);
}

static void end_place(struct adp_worker *w, uint32_t slot)
{
    struct adp_own_place *mine = &w->mine[slot];
    struct adp_place *p = &w->block.places[slot];
    atomic_store_explicit(&p->word, 0, memory_order_release);
    if (mine->fd >= 0 && mine->said) {
        struct adp_message m = { .kind = ADP_MESSAGE_DROP,
                                 .slot = slot,
                                 .use = atomic_load_explicit(&p->use,
                                                             memory_order_relaxed) };
        /* Not taken: it will look for itself, a little later. */
        say(w, &m, sizeof m, -1);
    }
    mine->fd = -1;
}

static void update_place(struct adp_own_place *mine, struct adp_place *p,
                         const struct adp_standing *now)
{
    if (now->owed < mine->owed)
        mine->first += mine->owed - now->owed;
    for (uint32_t k = mine->owed; k < now->owed && k < ADP_OWED_MAX; k++)
        if ((int32_t)(mine->first + k - mine->known) >= 0 || !mine->from)
            p->owed[(mine->first + k) % ADP_OWED_MAX].kind = 0;
    mine->owed = now->owed;
    p->note = now->note;
    uint64_t unread = now->unread ? unread_of(mine->kept, now->unread) : 0;
    uint64_t word = word_of(now, mine->first);
    if (unread != atomic_load_explicit(&p->unread, memory_order_relaxed)) {
        /* Both at once, or neither: a request is owed, or still to be read. */
        atomic_store_explicit(&p->word, word | ADP_PLACE_READING, memory_order_release);
        atomic_store_explicit(&p->unread, unread, memory_order_release);
    }
    atomic_store_explicit(&p->word, word, memory_order_release);
}

bool adp_worker_hold(struct adp_worker *worker, uint32_t slot, const void *bytes,
                     size_t len, bool more)
{
    if (slot >= worker->block.shape.connections || worker->mine[slot].fd < 0)
        return false;
    struct adp_own_place *mine = &worker->mine[slot];
    uint8_t *to = adp_block_unread(&worker->block, slot);
    uint64_t unread =
        atomic_load_explicit(&worker->block.places[slot].unread, memory_order_relaxed);
    uint32_t begin = (uint32_t)unread, end = more ? mine->kept : 0;
    if (more && begin <= end && len > ADP_UNREAD_MAX - end) {
        memmove(to, to + begin, end - begin);
        end -= begin;
    }
    if (len > ADP_UNREAD_MAX - end)
        return false;
    memcpy(to + end, bytes, len);
    mine->kept = end + (uint32_t)len;
    return true;
}

void adp_worker_stand(struct adp_worker *worker, uint32_t slot,
                      const struct adp_standing *now)
{
    if (slot >= worker->block.shape.connections)
        return;
    struct adp_own_place *mine = &worker->mine[slot];
    struct adp_place *p = &worker->block.places[slot];
    if (now->fd < 0) {
        end_place(worker, slot);
        return;
    }
    if (mine->fd != now->fd)
        begin_place(worker, mine, p, now);
    else
        update_place(mine, p, now);
    if (mine->said)
        return;
    struct adp_message m = { .kind = ADP_MESSAGE_KEEP,
                             .slot = slot,
                             .use = atomic_load_explicit(&p->use, memory_order_relaxed),
                             .number = mine->from };
    mine->said = say(worker, &m, sizeof m, now->fd);
}

void adp_worker_owe(struct adp_worker *worker, uint32_t slot, uint32_t kind,
                    const uint64_t note[3])
{
    if (slot >= worker->block.shape.connections)
        return;
    const struct adp_own_place *mine = &worker->mine[slot];
    if (mine->fd < 0 || !mine->owed)
        return;
    struct adp_owed *o =
        &worker->block.places[slot].owed[(mine->first + mine->owed - 1) % ADP_OWED_MAX];
    memcpy(o->note, note, sizeof o->note);
    /* The kind says that the note is there: not before it. The reader comes after our death. */
    atomic_signal_fence(memory_order_release);
    o->kind = kind;
}

/* --- life --- */

void adp_worker_ready(struct adp_worker *worker)
{
    struct adp_message m = { .kind = ADP_MESSAGE_READY };
    insist(worker, &m, sizeof m);
    for (uint32_t i = 0; i < worker->welcome.n_left; i++)
        if (worker->adopted[i] == ADP_NOT_ADOPTED)
            close(worker->block.left[i].fd);
    worker->welcome.n_left = worker->n_adopted = 0;
}

void adp_worker_beat(struct adp_worker *worker, uint32_t thread, uint64_t now_ns)
{
    if (thread < ADP_WORKER_THREADS)
        atomic_store_explicit(&worker->block.head->beat[thread].ns, now_ns,
                              memory_order_relaxed);
}

int adp_worker_fd(const struct adp_worker *worker)
{
    return worker->control;
}

enum adp_tell adp_worker_told(struct adp_worker *worker, uint32_t *ret_within_ms)
{
    struct adp_message m;
    ssize_t n = recv(worker->control, &m, sizeof m, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? ADP_TELL_NOTHING : ADP_TELL_GONE;
    if (n == 0)
        return ADP_TELL_GONE;
    if (n != (ssize_t)sizeof m)
        return ADP_TELL_NOTHING;
    switch (m.kind) {
    case ADP_MESSAGE_DRAIN:
        *ret_within_ms = m.number;
        return ADP_TELL_DRAIN;
    case ADP_MESSAGE_STEP_DOWN:
        *ret_within_ms = m.number;
        return ADP_TELL_STEP_DOWN;
    case ADP_MESSAGE_RELOAD:
        return ADP_TELL_RELOAD;
    default:
        return ADP_TELL_NOTHING;
    }
}
