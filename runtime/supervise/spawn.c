/* SPDX-License-Identifier: MIT */
/* Starting a worker: its welcome lies in the control socket before it runs, so it waits for
 * nothing. Descriptors it is to have are inherited under their own numbers. */
#include "runtime/supervise/inner.h"

#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

bool adp_supervise_say(const struct adp_supervisor *s, enum adp_message_kind kind,
                       uint32_t number)
{
    struct adp_message m = { .kind = kind, .number = number };
    return s->control >= 0 && send(s->control, &m, sizeof m,
                                   MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof m;
}

static void fill_welcome(const struct adp_supervisor *s, struct adp_welcome_message *w)
{
    memset(w, 0, sizeof *w);
    w->head.kind = ADP_MESSAGE_WELCOME;
    w->shape = s->block.shape;
    w->instance = s->options.instance;
    w->restarts = s->counts.restarts;
    w->supervisor = getpid();
    w->region = s->region_fd;
    w->n_listeners = s->draining ? 0 : s->options.n_listeners;
    for (uint32_t i = 0; i < w->n_listeners; i++)
        w->listener[i] = s->listener[i];
    w->n_left = s->n_left;
    w->records = s->log != NULL;
    for (uint32_t i = 0; i < ADP_SUSPECTS; i++) {
        const struct adp_suspect *p = &s->suspect[i];
        if (!p->name[0])
            continue;
        memcpy(w->order[w->n_orders].name, p->name, sizeof p->name);
        w->order[w->n_orders].deaths = p->deaths;
        w->order[w->n_orders++].order = p->order;
    }
}

/* The caller's environment and our variable, in one array; freed as a whole. */
static char **make_environment(int control)
{
    size_t n = 0, at = 0;
    while (environ && environ[n])
        n++;
    size_t room = sizeof ADP_SUPERVISE_ENV + 16;
    char **env = malloc((n + 2) * sizeof *env + room);
    if (!env)
        return NULL;
    char *ours = (char *)(env + n + 2);
    snprintf(ours, room, "%s=%d", ADP_SUPERVISE_ENV, control);
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], ADP_SUPERVISE_ENV "=", sizeof ADP_SUPERVISE_ENV) != 0)
            env[at++] = environ[i];
    env[at++] = ours;
    env[at] = NULL;
    return env;
}

/* No signal blocked, none ignored: as after a login. */
static int execute(const struct adp_supervisor *s, int control, pid_t *ret)
{
    posix_spawnattr_t attr;
    sigset_t none, all;
    char **env = make_environment(control);
    if (!env)
        return ENOMEM;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int code = posix_spawn(ret, s->program, NULL, &attr, s->argv, env);
    posix_spawnattr_destroy(&attr);
    free(env);
    return code;
}

static void set_limits(const struct adp_supervisor *s)
{
    /* 1 and not 0: with 0 a core_pattern that is a pipe gets one all the same. */
    const struct rlimit no_core = { 1, 1 };
    const struct rlimit address = { s->options.address_bytes, s->options.address_bytes };
    if (!s->options.core_dumps)
        prlimit(s->pid, RLIMIT_CORE, &no_core, NULL);
    if (s->options.address_bytes)
        prlimit(s->pid, RLIMIT_AS, &address, NULL);
}

static void note_started(struct adp_supervisor *s)
{
    s->ready = false;
    s->sentence = (struct adp_sentence) { 0 };
    s->spawned_ns = adp_supervise_now();
    s->spawn_at_ns = 0;
    adp_supervise_tell(s,
                       &(struct adp_news) { .what = ADP_WORKER_STARTED, .pid = s->pid });
}

int adp_supervise_spawn(struct adp_supervisor *s, struct adp_error *err)
{
    struct adp_welcome_message welcome;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
        return adp_error_set(err, ADP_EIO, "cannot make the control socket: %s",
                             strerror(errno));
    /* Ours is not the worker's to have: it must see the end of it when we die. */
    fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    fill_welcome(s, &welcome);
    pid_t pid = 0;
    int code = send(pair[0], &welcome, sizeof welcome, MSG_NOSIGNAL) < 0
                   ? errno
                   : execute(s, pair[1], &pid);
    close(pair[1]);
    if (code) {
        close(pair[0]);
        return adp_error_set(err, ADP_EIO, "cannot start %s: %s", s->program,
                             strerror(code));
    }
    s->pid = pid;
    s->control = pair[0];
    set_limits(s);
    note_started(s);
    return 0;
}
