/* SPDX-License-Identifier: MIT */
/* What a process has (runtime/check/process.h). */
#include "runtime/check/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rounding, traps, whether small numbers are flushed to 0, and which x87 registers are in use:
 * none is between calls, unless MMX was used without emms. Not the flags that any operation
 * raises. */
uint64_t adp_process_fpu(void)
{
#if defined __x86_64__
    enum { CONTROL, TAGS = 4, WORDS = 14 };
    uint32_t mxcsr;
    uint16_t x87[WORDS];
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    /* Storing them masks all traps: put back at once. */
    __asm__ volatile("fnstenv %0\n\tfldenv %0" : "=m"(x87));
    return (mxcsr & ~UINT32_C(0x3f)) | (uint64_t)x87[CONTROL] << 32 |
           (uint64_t)x87[TAGS] << 48;
#elif defined __aarch64__
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
#endif
}

uint32_t adp_process_entries(const char *folder)
{
    uint32_t n = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void read_fd(struct adp_descriptor *d, int fd)
{
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, d->path, sizeof d->path - 1);
    d->path[n > 0 ? n : 0] = '\0';
    if (n <= 0 || fstat(fd, &st) != 0)
        return;
    d->dev = st.st_dev;
    d->ino = st.st_ino;
    d->bytes = S_ISREG(st.st_mode) ? st.st_size : 0;
    d->file_flags = fcntl(fd, F_GETFL);
    d->flags = fcntl(fd, F_GETFD);
}

/* But for the one by which they are listed. */
static void read_fds(struct adp_process *p)
{
    struct dirent *e;
    memset(p->fds, 0, p->n_fds * sizeof p->fds[0]);
    p->n_fds = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && (e = readdir(d))) {
        char *end;
        long fd = strtol(e->d_name, &end, 10);
        if (end == e->d_name || fd >= ADP_PROCESS_FDS || fd == dirfd(d))
            continue;
        read_fd(&p->fds[fd], (int)fd);
        if (fd >= p->n_fds)
            p->n_fds = (uint32_t)fd + 1;
    }
    if (d)
        closedir(d);
}

static void read_environment(struct adp_process *p)
{
    size_t at = 0;
    for (char **e = environ; e && *e; e++) {
        size_t n = strlen(*e) + 1;
        if (at + n > sizeof p->environment)
            break;
        memcpy(p->environment + at, *e, n);
        at += n;
    }
    p->environment_bytes = at;
}

/* What stays at its default, with flags that nobody else sets: to ignore the signal, and to
 * put the default back, are changes then. Handlers are this program's own. */
static void set_odd_signals(void)
{
    for (int s = 1; s < NSIG; s++) {
        struct sigaction action;
        if (sigaction(s, NULL, &action) != 0 ||
            (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN))
            continue;
        action = (struct sigaction) { .sa_flags = SA_ONSTACK | SA_NODEFER };
        action.sa_handler = SIG_DFL;
        sigaction(s, &action, NULL);
    }
}

/* Faults, and the filter's own signal: blocked, they would end the process unheard. */
static bool is_needed(int s)
{
    static const int needed[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                  SIGTRAP, SIGABRT, SIGSYS };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (needed[i] == s)
            return true;
    return false;
}

/* Two that nobody misses, or all the others. What a policy blocks, or lets through, is a
 * change under one of the two. */
static void block(bool others)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int s = 1; s < NSIG; s++)
        if (!is_needed(s) && (s == SIGWINCH || s == SIGURG) != others)
            sigaddset(&blocked, s);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
}

void adp_process_block_others(void)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    block(sigismember(&now, SIGWINCH) == 1);
}

/* One that asks the environment for its locale gets "C" from there, and is seen by it. Where
 * the system has no C.UTF-8 the locale stays "C", as the program has it. */
static void set_odd_locale(void)
{
    setlocale(LC_ALL, "C.uTf8"); /* C.UTF-8, by a name that nobody writes */
    setenv("LC_ALL", "POSIX", 1);
    /* This thread's own: to give it the process's is a change too. An object that nobody else
     * gets, which "C" is not. */
    locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    if (own != (locale_t)0)
        uselocale(own);
}

void adp_process_set_odd(const char *folder)
{
    enum { ODD_UMASK = 0056 }; /* the owner's bits are needed: the loader makes folders */
    set_odd_signals();
    block(false);
    set_odd_locale();
    adp_settings_set_odd();
    umask(ODD_UMASK);
    if (chdir(folder) != 0)
        return; /* where it is will do, unless that is just where the policy goes */
}

void adp_process_open_odd(void)
{
    static const int from[] = { 0, 0, 0, 0, 0, 0, 0, 30, 100, 1000 };
    int fd = memfd_create("host", MFD_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < sizeof from / sizeof from[0]; i++)
        fcntl(fd, F_DUPFD_CLOEXEC, from[i]); /* one that the limit forbids is not there */
}

void adp_process_read(struct adp_process *p)
{
    const char *locale = setlocale(LC_ALL, NULL);
    p->fpu = adp_process_fpu();
    p->rounding = fegetround();
    for (int s = 1; s < NSIG; s++) {
        memset(&p->signals[s], 0, sizeof p->signals[s]);
        sigaction(s, NULL, &p->signals[s]);
    }
    sigemptyset(&p->blocked);
    pthread_sigmask(SIG_BLOCK, NULL, &p->blocked);
    p->thread_locale = uselocale((locale_t)0);
    snprintf(p->locale, sizeof p->locale, "%s", locale ? locale : "");
    if (!getcwd(p->folder, sizeof p->folder))
        p->folder[0] = '\0';
    p->umask = umask(0);
    umask(p->umask);
    read_environment(p);
    p->threads = adp_process_entries("/proc/self/task");
    fflush(stdout); /* what was printed shows in the size of the file */
    read_fds(p);
    adp_settings_read(&p->settings);
}

static bool is_same_set(const sigset_t *a, const sigset_t *b)
{
    for (int s = 1; s < NSIG; s++)
        if (sigismember(a, s) != sigismember(b, s))
            return false;
    return true;
}

static void compare_signals(struct adp_trial *trial, const char *what,
                            const struct adp_process *a, const struct adp_process *b)
{
    for (int s = 1; s < NSIG; s++) {
        const char *name = sigabbrev_np(s);
        if (a->signals[s].sa_handler != b->signals[s].sa_handler ||
            a->signals[s].sa_flags != b->signals[s].sa_flags ||
            !is_same_set(&a->signals[s].sa_mask, &b->signals[s].sa_mask))
            adp_trial_fail(trial, "%s changed what happens on signal %d (%s%s)", what, s,
                           name ? "SIG" : "", name ? name : "unnamed");
    }
}

static const char *name_of(int fd)
{
    static const char *const names[] = { "standard input", "standard output",
                                         "standard error", "a file of the host's" };
    return names[fd < 3 ? fd : 3];
}

/* Those that were there before are as they were. */
static void compare_inherited(struct adp_trial *trial, const char *what,
                              const struct adp_process *before,
                              const struct adp_process *after)
{
    for (int fd = 0; fd < (int)before->n_fds; fd++) {
        const struct adp_descriptor *a = &before->fds[fd], *b = &after->fds[fd];
        if (!a->path[0])
            continue;
        if (!b->path[0])
            adp_trial_fail(trial, "%s closed descriptor %d, %s: %s", what, fd,
                           name_of(fd), a->path);
        if (a->dev != b->dev || a->ino != b->ino)
            adp_trial_fail(trial,
                           "%s put another file in the place of descriptor %d, %s: %s "
                           "before, %s after",
                           what, fd, name_of(fd), a->path, b->path);
        if (a->file_flags != b->file_flags || a->flags != b->flags)
            adp_trial_fail(trial,
                           "%s changed the flags of descriptor %d, %s: 0%o before, "
                           "0%o after%s",
                           what, fd, name_of(fd), (unsigned)a->file_flags,
                           (unsigned)b->file_flags,
                           a->flags != b->flags ? ", and FD_CLOEXEC" : "");
        if (a->bytes != b->bytes)
            adp_trial_fail(trial, "%s wrote %lld bytes to descriptor %d, %s", what,
                           (long long)(b->bytes - a->bytes), fd, name_of(fd));
    }
}

/* One file in memory may be new: the loader's own copy stays open, under the policy's name. */
static void compare_opened(struct adp_trial *trial, const char *what,
                           const struct adp_process *a, const struct adp_process *b)
{
    bool own = false;
    for (uint32_t fd = 0; fd < b->n_fds; fd++) {
        const char *path = b->fds[fd].path;
        if (a->fds[fd].path[0] || !path[0])
            continue;
        if (own || strncmp(path, "/memfd:", 7) != 0)
            adp_trial_fail(trial, "%s opened descriptor %u: %s", what, fd, path);
        own = true;
    }
}

void adp_process_compare(struct adp_trial *trial, const char *what,
                         const struct adp_process *a, const struct adp_process *b)
{
    if (a->fpu != b->fpu || a->rounding != b->rounding)
        adp_trial_fail(trial,
                       "%s changed the floating-point mode of its "
                       "thread: 0x%llx before, 0x%llx after",
                       what, (unsigned long long)a->fpu, (unsigned long long)b->fpu);
    compare_signals(trial, what, a, b);
    for (int s = 1; s < NSIG; s++)
        if (sigismember(&a->blocked, s) != sigismember(&b->blocked, s))
            adp_trial_fail(trial, "%s %s signal %d (SIG%s)", what,
                           sigismember(&b->blocked, s) == 1 ? "blocks" : "lets through",
                           s, sigabbrev_np(s) ? sigabbrev_np(s) : "unnamed");
    if (strcmp(a->locale, b->locale) != 0)
        adp_trial_fail(trial, "%s changed the locale: %.100s before, %.100s after", what,
                       a->locale, b->locale);
    if (a->thread_locale != b->thread_locale)
        adp_trial_fail(trial, "%s changed the locale of its thread, by uselocale", what);
    if (strcmp(a->folder, b->folder) != 0)
        adp_trial_fail(trial,
                       "%s changed the current directory: %.100s before, %.100s "
                       "after",
                       what, a->folder, b->folder);
    if (a->umask != b->umask)
        adp_trial_fail(trial, "%s changed the umask: %03o before, %03o after", what,
                       a->umask, b->umask);
    if (a->environment_bytes != b->environment_bytes ||
        memcmp(a->environment, b->environment, a->environment_bytes) != 0)
        adp_trial_fail(trial, "%s changed the environment", what);
    compare_inherited(trial, what, a, b);
    adp_settings_compare(trial, what, &a->settings, &b->settings);
}

void adp_process_compare_made(struct adp_trial *trial, const char *what,
                              const struct adp_process *a, const struct adp_process *b)
{
    if (a->threads != b->threads)
        adp_trial_fail(trial,
                       "%s changed the number of threads: %u before, %u "
                       "after",
                       what, a->threads - 2, b->threads - 2); /* "." and ".." */
    if (strcmp(a->settings.locked, b->settings.locked) != 0)
        adp_trial_fail(trial, "%s locked memory: %s before, %s after", what,
                       a->settings.locked, b->settings.locked);
    compare_opened(trial, what, a, b);
}
