/* SPDX-License-Identifier: MIT */
/* The worker of these tests: lab.h over a unix socket, decided by core alone, or by a host.
 *   lab_worker THREADS SAVE_MS POLICY.so...
 *   lab_worker THREADS SAVE_MS CONFIG.yaml
 * LAB_FAIL in the environment: exits with that status instead of serving.
 * LAB_DRAIN: the path of a file; drains for as long as it is there. */
#include "core/decide.h"
#include "core/recover.h"
#include "core/ticket.h"
#include "core/write.h"
#include "runtime/host/host.h"
#include "runtime/loader/loader.h"
#include "runtime/supervise/worker.h"
#include "tests/runtime/supervise/lab.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PLACES = 128, THREADS_MOST = 8, POLICIES_MOST = 4 };

/* Where a connection is; a pointer in epoll. */
struct conn {
    int fd;
    uint32_t slot;
    size_t have;
    union {
        char bytes[64];
        struct lab_request request;
    } in;
};

struct thread {
    pthread_t id;
    uint32_t n;
    int epoll;
    struct adp_lane *lane;
    struct conn conn[PLACES];
};

struct lab {
    struct adp_worker *worker;
    struct adp_region *region;
    struct adp_publisher *publisher;
    struct adp_signals *signals;
    struct adp_generation *generation;
    struct adp_generations generations;
    struct adp_loaded *loaded[POLICIES_MOST];
    adp_runtime *rt; /* NULL: core alone */
    uint32_t n_threads;
    struct thread thread[THREADS_MOST];
    _Atomic int stop;
    _Atomic uint32_t saves, reloads; /* that are done */
};
static struct lab lab;

static uint64_t clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static uint64_t mono(void *ctx)
{
    (void)ctx;
    return clock_of(CLOCK_MONOTONIC);
}
static uint64_t wall(void *ctx)
{
    (void)ctx;
    return clock_of(CLOCK_REALTIME);
}
static const struct adp_clock machine = { NULL, wall, mono, mono };

static _Noreturn void fail(const char *what, const struct adp_error *err)
{
    fprintf(stderr, "lab_worker: %s: %s\n", what, err ? err->text : strerror(errno));
    _exit(9);
}

/* --- policies --- */

static void words(uint32_t number)
{
    struct adp_line packed;
    char text[160];
    adp_line_init(&packed);
    const char *const shared[] = { "\"experiment\":\"lab\"", "\"v\":1" };
    for (int i = 0; i < 2; i++)
        adp_words_add(&packed, shared[i], strlen(shared[i]));
    for (uint32_t i = 0; i < lab.generation->n_members; i++) {
        int n =
            snprintf(text, sizeof text, "\"policy\":\"%s\"", lab.loaded[i]->policy.name);
        adp_words_add(&packed, text, (size_t)n);
        adp_words_add(&packed, "\"params\":{}", 11);
    }
    for (uint32_t i = 0; i < adp_signals_count(lab.signals); i++) {
        int n = snprintf(text, sizeof text, "\"%s\":", adp_signals_name(lab.signals, i));
        adp_words_add(&packed, text, (size_t)n);
        adp_words_add_count(&packed, 0);
    }
    adp_publisher_generation(lab.publisher, number, lab.generation->n_members,
                             adp_signals_count(lab.signals), packed.text,
                             (uint32_t)packed.len, wall(NULL));
    adp_line_finish(&packed);
}

static void make_member(uint32_t i, const char *path, uint64_t *ret_saved_ns)
{
    struct adp_error err = { 0 };
    struct adp_member *m = &lab.generation->member[i];
    if (adp_loader_load(&lab.loaded[i], path, NULL, &err) < 0 ||
        adp_loader_bind(lab.loaded[i], lab.signals, m->slot_of, &err) < 0)
        fail(path, &err);
    m->policy = &lab.loaded[i]->policy;
    m->quarantined =
        adp_worker_order(lab.worker, m->policy->name) == ADP_ORDER_QUARANTINE;
    if (m->quarantined || !m->policy->create)
        return;
    size_t len = 0;
    const void *saved = adp_worker_saved(lab.worker, m->policy->name, &len, ret_saved_ns);
    char text[256] = "";
    struct adp_setup setup = { .size = sizeof setup,
                               .n_instances = 1,
                               .saved = saved,
                               .saved_len = len,
                               .error = text,
                               .error_cap = sizeof text };
    adp_worker_within(lab.worker, m->policy->name, mono(NULL));
    m->self = m->policy->create(&setup);
    adp_worker_within(lab.worker, NULL, 0);
}

static void make_generation(char **paths, uint32_t n)
{
    struct adp_error err = { 0 };
    const char *names[POLICIES_MOST];
    uint64_t saved_ns[ADP_MAX_POLICIES] = { 0 };
    uint64_t before = atomic_load(adp_region_newest(lab.region));
    size_t bytes = (sizeof *lab.generation + 63) & ~(size_t)63;
    lab.generation = aligned_alloc(ADP_LINE_BYTES, bytes);
    if (!lab.generation || adp_signals_create(&lab.signals, &err) < 0 ||
        adp_publisher_create(&lab.publisher, lab.region, true, &err) < 0)
        fail("generation", &err);
    struct adp_generation *g = lab.generation;
    memset(g, 0, bytes);
    g->number = (uint32_t)before + 1;
    g->enforce = 1.0;
    g->salt = "lab";
    g->salt_len = 3;
    g->ticket_ns = 60000000000u;
    g->signals = lab.signals;
    g->n_signals = adp_signals_count(lab.signals);
    for (; g->n_members < n; g->n_members++) {
        make_member(g->n_members, paths[g->n_members], &saved_ns[g->n_members]);
        names[g->n_members] = g->member[g->n_members].policy->name;
    }
    words(g->number);
    adp_worker_policies(lab.worker, g->number, names, n);
    if (!adp_recover_snapshot(lab.region, g, before)) {
        struct adp_metrics *m = adp_publisher_next(lab.publisher);
        const char *queue = "vllm:num_requests_waiting";
        adp_metrics_add(m, (struct adp_str) { queue, strlen(queue) }, NULL, 0, 7, false,
                        0, NULL);
        adp_publisher_publish(lab.publisher, lab.signals, g->number, mono(NULL),
                              wall(NULL), NULL);
    }
    adp_recover_tickets(lab.region, g, before, saved_ns);
    adp_generation_add(&lab.generations, g);
    adp_generation_switch(&lab.generations, g->number);
}

/* --- the same by a host --- */

static void make_host(const char *path)
{
    static struct adp_beyond beyond;
    adp_worker_beyond(lab.worker, &beyond);
    const struct adp_host_options options = { .beyond = &beyond };
    const char *page = "vllm:num_requests_waiting 7\n";
    struct adp_errors errors = { 0 };
    struct adp_error err = { 0 };
    if (adp_host_open(&lab.rt, path, &options, &errors) < 0)
        fail(path, errors.n ? &errors.list[0] : NULL);
    if (adp_runtime_start(lab.rt, &err) < 0 ||
        (!adp_worker_restarts(lab.worker) &&
         adp_runtime_publish_text(lab.rt, page, strlen(page), &err) < 0))
        fail(path, &err);
    adp_errors_free(&errors);
}

static void save_all(void)
{
    if (lab.rt) {
        adp_host_save(lab.rt, NULL);
        return;
    }
    for (uint32_t i = 0; i < lab.generation->n_members; i++) {
        struct adp_member *m = &lab.generation->member[i];
        if (!m->policy->save || m->quarantined)
            continue;
        uint64_t now = mono(NULL); /* what comes later is not in it */
        void *to =
            adp_worker_save_begin(lab.worker, m->policy->name, m->policy->max_saved);
        if (!to)
            continue;
        adp_worker_within(lab.worker, m->policy->name, now);
        uint64_t n = adp_member_save(m, to, m->policy->max_saved);
        adp_worker_within(lab.worker, NULL, 0);
        adp_worker_save_end(lab.worker, n, now);
    }
}

/* --- connections --- */

static void stand(const struct conn *c, uint32_t owed, bool reading, bool writing)
{
    struct adp_standing s = {
        .fd = c->fd, .owed = owed, .partly_read = reading, .partly_written = writing
    };
    adp_worker_stand(lab.worker, c->slot, &s);
}

static void hang_up(struct conn *c)
{
    int fd = c->fd;
    c->fd = -1;
    stand(c, 0, false, false);
    close(fd);
}

static struct conn *open_conn(struct thread *t, int fd)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        struct conn *c = &t->conn[i];
        if (c->fd >= 0)
            continue;
        c->fd = fd;
        c->have = 0;
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
        epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e);
        return c;
    }
    close(fd);
    return NULL;
}

static void answer(struct conn *c, const struct lab_answer *a)
{
    stand(c, 1, false, true);
    if (send(c->fd, a, sizeof *a, MSG_NOSIGNAL) != (ssize_t)sizeof *a) {
        hang_up(c);
        return;
    }
    stand(c, 0, false, false);
}

static void adopt_all(void)
{
    struct adp_held held;
    for (uint32_t i = 0; i < adp_worker_inherited(lab.worker); i++) {
        struct conn *c;
        if (!adp_worker_adopt(lab.worker, i, &held) ||
            !(c = open_conn(&lab.thread[i % lab.n_threads], held.standing.fd)))
            continue;
        stand(c, held.standing.owed, false, false);
        if (!held.standing.owed)
            continue;
        struct lab_answer a = { .what = held.owed[0].note[0] ? (char)held.owed[0].note[0]
                                                             : 'F',
                                .kind = held.owed[0].kind,
                                .pid = (uint32_t)getpid() };
        answer(c, &a);
    }
}

/* --- requests --- */

static void scribble(void)
{
    size_t bytes = adp_region_bytes(adp_region_shape(lab.region));
    uint8_t *at = adp_region_bytes_of(lab.region, 1);
    uint64_t x = 88172645463325252u;
    /* From lane 1 to the end, and the ring heads of all lanes. */
    const uint8_t *begin = (const uint8_t *)adp_region_ring(lab.region, 0);
    size_t left = bytes - (size_t)(at - begin) - 65536;
    for (size_t i = 0; i + 8 <= left; i += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(at + i, &x, 8);
    }
    for (uint32_t lane = 0; lane <= adp_region_shape(lab.region)->lanes; lane++) {
        memset(adp_region_ring(lab.region, lane), 0x5b, sizeof(struct adp_ring));
        memset(adp_region_call(lab.region, lane), 0xa7, sizeof(struct adp_call));
    }
    abort();
}

static void decide(struct thread *t, struct conn *c, struct lab_answer *a)
{
    const struct lab_request *r = &c->in.request;
    struct adp_facts facts = { .size = sizeof facts,
                               .request_id = *r->id ? r->id : NULL,
                               .slo_class = *r->class ? r->class : NULL,
                               .tenant = *r->tenant ? r->tenant : NULL };
    struct adp_decision d;
    uint64_t note[3] = { 0 };
    adp_worker_owe(lab.worker, c->slot, r->kind, note);
    if (lab.rt)
        adp_lane_decide(t->lane, &facts, &d);
    else
        adp_decide(t->lane, &lab.generations, &facts, NULL, &d, NULL);
    a->what = d.action == ADP_ADMIT ? 'A' : d.action == ADP_DEFER ? 'D' : 'R';
    a->fault = d.fault != NULL;
    a->retry_ms = d.retry_after_ms;
    note[0] = (uint64_t)a->what;
    adp_worker_owe(lab.worker, c->slot, r->kind, note);
}

static void settle(struct thread *t, struct conn *c, struct lab_answer *a)
{
    struct adp_name name, kept;
    uint64_t handle = 0;
    struct adp_outcome o = { .size = sizeof o, .kind = ADP_DONE, .now_ns = mono(NULL) };
    struct adp_result result = { .size = sizeof result, .ok = -1 };
    if (lab.rt) {
        a->code = adp_lane_outcome(t->lane, 0, c->in.request.id, &result);
        return;
    }
    adp_name_set(&name, c->in.request.id);
    a->code = adp_ticket_settle(t->lane, &lab.generations, 0, &name, &o, &handle, &kept);
    adp_lane_put_outcome(t->lane, handle, &name, &result);
}

/* The kernel writes them: what a sanitizer keeps beside each written byte would be four times as
 * much, and beyond twice the limit and 256 MiB a worker is killed without its 500 ms. */
static void grow(void)
{
    enum { BYTES = 150 << 20 };
    void *piece = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (piece == MAP_FAILED)
        exit(8);
}

static void serve(struct thread *t, struct conn *c)
{
    struct lab_answer a = { .kind = c->in.request.kind,
                            .pid = (uint32_t)getpid(),
                            .restarts = adp_worker_restarts(lab.worker) };
    switch (c->in.request.ask) {
    case LAB_DECIDE:
        decide(t, c, &a);
        break;
    case LAB_OUTCOME:
        settle(t, c, &a);
        break;
    case LAB_RELOADED:
        adp_worker_reloaded(lab.worker);
        break;
    case LAB_SEEN:
        a.code = lab.saves;
        a.retry_ms = lab.reloads;
        break;
    case LAB_HALF:
        stand(c, 1, false, true);
        send(c->fd, &a, sizeof a / 2, MSG_NOSIGNAL);
        abort();
    case LAB_SCRIBBLE:
        scribble();
        break;
    case LAB_GROW:
        grow();
        /* fall through */
    case LAB_STALL:
        for (;;)
            pause();
    case LAB_QUIT:
        exit(7);
    default:
        break;
    }
    answer(c, &a);
}

static void input(struct thread *t, struct conn *c)
{
    /* From here on until it is said what was read, nobody else can know. */
    stand(c, 0, true, false);
    ssize_t n = recv(c->fd, c->in.bytes + c->have, sizeof c->in - c->have, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        hang_up(c);
        return;
    }
    c->have += n > 0 ? (size_t)n : 0;
    if (c->have < sizeof c->in) {
        stand(c, 0, c->have > 0, false);
        return;
    }
    c->have = 0;
    stand(c, 1, false, false);
    serve(t, c);
}

static void accept_one(struct thread *t)
{
    int fd = accept4(adp_worker_listener(lab.worker, 0), NULL, NULL,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct conn *c = fd < 0 ? NULL : open_conn(t, fd);
    if (c)
        stand(c, 0, false, false);
}

static void *run(void *arg)
{
    struct thread *t = arg;
    struct epoll_event e[16];
    while (!lab.stop) {
        int n = epoll_wait(t->epoll, e, 16, 50);
        adp_worker_beat(lab.worker, t->n, mono(NULL));
        for (int i = 0; i < n; i++)
            if (e[i].data.ptr)
                input(t, e[i].data.ptr);
            else
                accept_one(t);
    }
    return NULL;
}

/* --- life --- */

static void make_threads(void)
{
    struct adp_error err = { 0 };
    for (uint32_t i = 0; i < lab.n_threads; i++) {
        struct thread *t = &lab.thread[i];
        t->n = i;
        t->epoll = epoll_create1(EPOLL_CLOEXEC);
        if ((lab.rt ? adp_lane_open(&t->lane, lab.rt, &err)
                    : adp_lane_create(&t->lane, lab.region, i + 1, &machine,
                                      adp_worker_records(lab.worker), &err)) < 0)
            fail("lane", &err);
        for (uint32_t k = 0; k < PLACES; k++)
            t->conn[k] = (struct conn) { .fd = -1, .slot = i * PLACES + k };
    }
}

static void start_threads(void)
{
    for (uint32_t i = 0; i < lab.n_threads; i++) {
        struct thread *t = &lab.thread[i];
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = NULL };
        if (adp_worker_listeners(lab.worker))
            epoll_ctl(t->epoll, EPOLL_CTL_ADD, adp_worker_listener(lab.worker, 0), &e);
        pthread_create(&t->id, NULL, run, t);
    }
}

/* Requests come whole here: between two events nothing is half done. */
static _Noreturn void end_threads(void)
{
    lab.stop = 1;
    for (uint32_t i = 0; i < lab.n_threads; i++)
        pthread_join(lab.thread[i].id, NULL);
    _exit(0);
}

/* What has begun here is answered at once; what is still in sockets within a tenth of a
 * second, or while the file that LAB_DRAIN names is there. */
static void drain(void)
{
    for (uint32_t i = 0; i < adp_worker_listeners(lab.worker); i++)
        close(adp_worker_listener(lab.worker, i));
    const char *gate = getenv("LAB_DRAIN");
    if (!gate)
        usleep(100000);
    while (gate && access(gate, F_OK) == 0)
        usleep(1000);
    end_threads();
}

int main(int argc, char **argv)
{
    struct adp_error err = { 0 };
    if (getenv("LAB_FAIL"))
        return (int)strtol(getenv("LAB_FAIL"), NULL, 10);
    if (argc < 4 || adp_worker_attach(&lab.worker, &err) < 0)
        fail("attach", &err);
    lab.n_threads = (uint32_t)strtol(argv[1], NULL, 10);
    int save_ms = (int)strtol(argv[2], NULL, 10);
    lab.region = adp_worker_region(lab.worker);
    if (strstr(argv[3], ".yaml"))
        make_host(argv[3]);
    else
        make_generation(argv + 3, (uint32_t)argc - 3);
    make_threads();
    adopt_all();
    adp_worker_ready(lab.worker);
    start_threads();
    for (;;) {
        uint32_t within;
        struct pollfd p = { adp_worker_fd(lab.worker), POLLIN, 0 };
        if (poll(&p, 1, save_ms) == 0) {
            save_all();
            lab.saves++;
        }
        switch (adp_worker_told(lab.worker, &within)) {
        case ADP_TELL_DRAIN:
            drain();
            break;
        case ADP_TELL_STEP_DOWN:
            end_threads();
            break;
        case ADP_TELL_RELOAD:
            adp_worker_reloaded(lab.worker);
            lab.reloads++;
            break;
        case ADP_TELL_GONE:
            _exit(0);
        default:
            break;
        }
    }
}
