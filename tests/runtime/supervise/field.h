/* SPDX-License-Identifier: MIT */
/* A supervisor in a process of its own, and clients of its worker. Included by one file of a
 * program. */
#ifndef ADP_TESTS_SUPERVISE_FIELD_H
#define ADP_TESTS_SUPERVISE_FIELD_H

#include "core/clock.h"
#include "runtime/supervise/supervise.h"
#include "tests/runtime/supervise/lab.h"

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the supervisor tells, in memory that both processes have. */
struct field_news {
    _Atomic uint32_t happened[ADP_LOG_FAILED + 1];
    _Atomic int worker;
    int cause, detail;
    uint32_t too_slow; /* too large, and not down in time: killed wherever they were */
    char policy[64], id[80], quarantined[64];
    uint64_t delays_ms;
    struct adp_supervised counts; /* at the end */
    int code;
};

struct field {
    const char *program; /* takes a configuration alone; NULL: lab_worker */
    bool host; /* the worker has one, with a configuration that names the policies */
    char folder[64], socket[96], log[96], config[96];
    struct field_news *news;
    pid_t supervisor;
    struct adp_supervisor_options options;
    const char *argv[8];
};

static uint64_t field_wall(void *ctx)
{
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t field_mono(void *ctx)
{
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const struct adp_clock field_clock = { NULL, field_wall, field_mono, field_mono };

static void field_told(void *ctx, const struct adp_news *n)
{
    struct field_news *to = ctx;
    if (n->what == ADP_WORKER_DIED) {
        to->cause = (int)n->cause;
        to->detail = n->detail;
        to->too_slow += n->cause == ADP_CAUSE_MEMORY && n->detail == SIGKILL;
        snprintf(to->policy, sizeof to->policy, "%s", n->policy);
        snprintf(to->id, sizeof to->id, "%s", n->id);
    }
    if (n->what == ADP_WORKER_STARTED)
        to->worker = n->pid;
    if (n->what == ADP_POLICY_QUARANTINED)
        snprintf(to->quarantined, sizeof to->quarantined, "%s", n->policy);
    if (n->what == ADP_RESTART_DELAYED)
        to->delays_ms += n->ms;
    to->happened[n->what]++;
}

/* The worker's number. It may answer before we are told of it. */
static inline int field_worker(const struct field *f)
{
    while (!f->news->worker)
        usleep(1000);
    return f->news->worker;
}

static int field_listen(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(a.sun_path, path, strlen(path));
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(fd, 128), 0);
    return fd;
}

static _Noreturn void field_supervise(struct field *f, int listener)
{
    struct adp_log_options log = { .path = f->log, .clock = &field_clock };
    struct adp_supervisor *s;
    struct adp_error err = { 0 };
    f->options.argv = f->argv;
    f->options.listeners = &listener;
    f->options.n_listeners = 1;
    f->options.log = &log;
    f->options.told = field_told;
    f->options.ctx = f->news;
    if (!f->options.shape.lanes)
        f->options.shape = (struct adp_shape) { 8, 1 << 18, 1 << 18, 256 };
    f->options.connections = 1040;
    f->options.state_bytes = 65536;
    f->news->code = adp_supervisor_create(&s, &f->options, &err);
    if (f->news->code == 0) {
        f->news->code = adp_supervisor_run(s, &err);
        f->news->counts = adp_supervisor_counts(s);
        adp_supervisor_destroy(s);
    }
    if (f->news->code < 0)
        fprintf(stderr, "supervisor: %s\n", err.text);
    _exit(f->news->code ? 1 : 0);
}

static void field_configure(const struct field *f, const char *policy, const char *shadow)
{
    FILE *file = fopen(f->config, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "version: 1\nexperiment: lab\npolicy: { use: %s }\n", policy);
    if (shadow)
        fprintf(file, "shadow: [ { use: %s } ]\n", shadow);
    fprintf(file, "log: { path: %s }\n", f->log);
    ck_assert_int_eq(fclose(file), 0);
}

/* `policy`: names of test policies, one or two. Options are set before. */
static void field_open(struct field *f, const char *threads, const char *save_ms,
                       const char *policy, const char *shadow)
{
    static char paths[2][512];
    const char *const names[2] = { policy, shadow };
    snprintf(f->folder, sizeof f->folder, "/tmp/adp-supervise-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    snprintf(f->socket, sizeof f->socket, "%s/s", f->folder);
    snprintf(f->log, sizeof f->log, "%s/log.jsonl", f->folder);
    f->argv[0] = LAB_WORKER;
    f->argv[1] = threads;
    f->argv[2] = save_ms;
    for (int i = 0; i < 2 && names[i]; i++) {
        bool crash = strncmp(names[i], "crash_", 6) == 0;
        snprintf(paths[i], sizeof paths[i], "%s/%s.libs/%s.so", POLICIES,
                 crash ? "crash/" : "", names[i]);
        f->argv[3 + i] = paths[i];
    }
    snprintf(f->config, sizeof f->config, "%s/config.yaml", f->folder);
    if (f->host) {
        field_configure(f, paths[0], shadow ? paths[1] : NULL);
        f->argv[3] = f->config;
        f->argv[4] = NULL;
    }
    if (f->program) {
        f->argv[0] = f->program;
        f->argv[1] = f->config;
        f->argv[2] = NULL;
    }
    f->news = mmap(NULL, sizeof *f->news, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int listener = field_listen(f->socket);
    f->supervisor = fork();
    if (!f->supervisor)
        field_supervise(f, listener);
    close(listener);
}

/* Waits, bounded, until something has happened so often. */
static inline void field_await(struct field *f, enum adp_happening what, uint32_t times)
{
    for (int i = 0; i < 20000 && f->news->happened[what] < times; i++)
        usleep(1000);
    ck_assert_uint_ge(f->news->happened[what], times);
}

/* SIGTERM; what it says at the end. */
static struct adp_supervised field_end(struct field *f)
{
    int status = -1;
    kill(f->supervisor, SIGTERM);
    ck_assert_int_eq(waitpid(f->supervisor, &status, 0), f->supervisor);
    ck_assert_int_eq(status, 0);
    return f->news->counts;
}

static void field_close(struct field *f)
{
    unlink(f->log);
    unlink(f->config);
    unlink(f->socket);
    rmdir(f->folder);
    munmap(f->news, sizeof *f->news);
}

/* --- clients --- */

static int client_open(const struct field *f)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct timeval patience = { 20, 0 };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(a.sun_path, f->socket, strlen(f->socket));
    if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

/* False: the connection ended, or nothing came. */
static inline bool client_ask(int fd, const struct lab_request *r, struct lab_answer *ret)
{
    return send(fd, r, sizeof *r, MSG_NOSIGNAL) == (ssize_t)sizeof *r &&
           recv(fd, ret, sizeof *ret, MSG_WAITALL) == (ssize_t)sizeof *ret;
}

static inline struct lab_answer client_say(int fd, enum lab_ask ask, const char *id,
                                           const char *class, const char *tenant)
{
    struct lab_request r = { .ask = ask, .kind = 42 };
    struct lab_answer a = { 0 };
    snprintf(r.id, sizeof r.id, "%s", id);
    snprintf(r.class, sizeof r.class, "%s", class);
    snprintf(r.tenant, sizeof r.tenant, "%s", tenant);
    ck_assert_msg(client_ask(fd, &r, &a), "%s was not answered", id);
    return a;
}

/* --- the log --- */

static json_t *field_lines(const struct field *f)
{
    json_t *all = json_array();
    char *text = NULL;
    size_t cap = 0;
    ssize_t n;
    FILE *file = fopen(f->log, "r");
    ck_assert_ptr_nonnull(file);
    while ((n = getline(&text, &cap, file)) > 0) {
        json_error_t error;
        json_t *line = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, &error);
        ck_assert_msg(line != NULL, "%s: %s", error.text, text);
        json_array_append_new(all, line);
    }
    free(text);
    fclose(file);
    return all;
}

static const char *field_text(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    return text ? text : "";
}

/* Decision lines of a request; *ret_line the last one (borrowed) whose policy it is, if one
 * is named. */
static inline uint32_t field_decisions(const json_t *all, const char *id,
                                       const char *policy, const json_t **ret_line)
{
    size_t i;
    json_t *line;
    uint32_t n = 0;
    json_array_foreach(all, i, line)
    {
        if (!json_object_get(line, "verdict") ||
            strcmp(field_text(line, "request_id"), id) != 0 ||
            (policy && strcmp(field_text(line, "policy"), policy) != 0))
            continue;
        n++;
        if (ret_line)
            *ret_line = line;
    }
    return n;
}

#endif
