/* SPDX-License-Identifier: MIT */
/* What a check says (runtime/check/trial.h). */
#include "runtime/check/trial.h"

#include "runtime/check/child.h"

#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

void adp_trial_at(struct adp_trial *trial, enum adp_called call)
{
    atomic_store_explicit(&trial->slate->call, call, memory_order_relaxed);
}

void adp_trial_doing(struct adp_trial *trial, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(trial->slate->doing, sizeof trial->slate->doing, format, args);
    va_end(args);
}

void adp_trial_plain(struct adp_trial *trial)
{
    trial->slate->doing[0] = '\0';
}

static void say(struct adp_trial *trial, enum adp_check_status status, const char *format,
                va_list args)
{
    vsnprintf(trial->slate->seen, sizeof trial->slate->seen, format, args);
    trial->slate->status = (uint32_t)status + 1;
}

void adp_trial_note(struct adp_trial *trial, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(trial->slate->seen, sizeof trial->slate->seen, format, args);
    va_end(args);
}

void adp_trial_fail(struct adp_trial *trial, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(trial, ADP_CHECK_FAIL, format, args);
    va_end(args);
    adp_child_exit(0);
}

void adp_trial_skip(struct adp_trial *trial, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(trial, ADP_CHECK_SKIP, format, args);
    va_end(args);
    adp_child_exit(0);
}

void adp_trial_lack(struct adp_trial *trial, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    trial->slate->lacks = 1;
    say(trial, ADP_CHECK_SKIP, format, args);
    va_end(args);
    adp_child_exit(0);
}

void adp_trial_spoils(struct adp_trial *trial)
{
    trial->slate->spoils = 1;
}

void adp_trial_mend(struct adp_trial *trial, enum adp_mend mend)
{
    trial->slate->mend = mend;
}

uint32_t adp_trial_share(const struct adp_trial *trial, uint32_t n)
{
    uint64_t share = (uint64_t)n * trial->options->percent / 100;
    return share ? (uint32_t)share : 1;
}

uint32_t adp_trial_lives(const struct adp_trial *trial, uint32_t n)
{
    enum { ENOUGH_MS = 5000, LEAST = 40 }; /* of creating; instances */
    uint32_t lives = adp_trial_share(trial, n);
    double enough_ms = adp_trial_share(trial, ENOUGH_MS);
    double most = trial->create_ms > 0.0 ? enough_ms / trial->create_ms : lives;
    if (most >= lives || lives <= LEAST)
        return lives;
    return most > LEAST ? (uint32_t)most : LEAST;
}

void adp_trial_where(const struct adp_slate *slate, char *to, size_t cap)
{
    static const char *const calls[] = {
        [ADP_CALL_NONE] = "",
        [ADP_CALL_LOAD] = "while it was loaded",
        [ADP_CALL_EXIT] = "in a handler that runs at exit",
        [ADP_CALL_UNLOAD] = "in a destructor",
        [ADP_CALL_TABLES] = "while its tables were read",
        [ADP_CALL_CREATE] = "in create",
        [ADP_CALL_DECIDE] = "in decide",
        [ADP_CALL_OUTCOME] = "in outcome",
        [ADP_CALL_SAVE] = "in save",
        [ADP_CALL_DESTROY] = "in destroy",
        [ADP_CALL_EXTENSION] = "in extension",
    };
    uint32_t call = slate->call;
    const char *word = call < sizeof calls / sizeof calls[0] ? calls[call] : "";
    char view[32] = "";
    if (*word && slate->view && call >= ADP_CALL_DECIDE)
        snprintf(view, sizeof view, ", request %u", slate->view);
    snprintf(to, cap, "%s%s%s%.*s", word, view, *word && slate->doing[0] ? ", " : "",
             (int)sizeof slate->doing - 1, *word ? slate->doing : "");
}

static enum adp_mend mend_of_signal(int number)
{
    switch (number) {
    case SIGSEGV:
    case SIGBUS:
        return ADP_MEND_MEMORY;
    case SIGABRT:
        return ADP_MEND_ABORT;
    case SIGFPE:
        return ADP_MEND_DIVISION;
    case SIGSYS:
        return ADP_MEND_REACHES_OUT;
    default:
        return ADP_MEND_USUAL;
    }
}

enum adp_mend adp_trial_mend_of(const struct adp_child *child)
{
    switch (child->end) {
    case ADP_CHILD_HUNG:
        return child->hung == ADP_HUNG_WAITING ? ADP_MEND_WAITS : ADP_MEND_COMPUTES;
    case ADP_CHILD_EXITED:
    case ADP_CHILD_RETURNED:
        return ADP_MEND_EXIT;
    case ADP_CHILD_KILLED:
        return mend_of_signal(child->number);
    default:
        return ADP_MEND_USUAL;
    }
}

void adp_trial_take_child(struct adp_trial *trial, const struct adp_child *child,
                          uint32_t limit_ms, const char *lead)
{
    char words[200], where[200];
    if (trial->slate->status)
        adp_child_exit(0);
    if (child->finished)
        return;
    adp_child_words(child, limit_ms, words, sizeof words);
    adp_trial_where(trial->slate, where, sizeof where);
    trial->slate->starved = child->hung == ADP_HUNG_STARVING;
    if (child->end == ADP_CHILD_NONE)
        adp_trial_lack(trial, "%s%s", lead, words);
    if (adp_child_hindered(child))
        adp_trial_skip(trial, "%s%s", lead, words);
    adp_trial_mend(trial, adp_trial_mend_of(child));
    adp_trial_fail(trial, "%s%s %s", lead, words, where);
}

void *adp_trial_shared(struct adp_trial *trial, size_t bytes)
{
    void *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        adp_trial_lack(trial, "no memory for it: %zu bytes", bytes);
    return at;
}
