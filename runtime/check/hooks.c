/* SPDX-License-Identifier: MIT */
/* Calls of a policy into libc, led past us (runtime/check/hooks.h). */
#include "runtime/check/hooks.h"

#include "runtime/check/dynamic.h"

#include <elf.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#if defined __x86_64__
enum { SLOT = R_X86_64_JUMP_SLOT, DATA = R_X86_64_GLOB_DAT, WORD = R_X86_64_64 };
#elif defined __aarch64__
enum { SLOT = R_AARCH64_JUMP_SLOT, DATA = R_AARCH64_GLOB_DAT, WORD = R_AARCH64_ABS64 };
#endif

enum { MAX_OBJECTS = 256, LIVE_BITS = 16, MAX_LIVE = 1 << LIVE_BITS };

struct live {
    uintptr_t at; /* 0: free place */
    size_t bytes;
};

/* The process's own: what it hooks are the process's slots. */
static struct {
    struct adp_trial *trial;
    uint32_t n_before;
    uint64_t before[MAX_OBJECTS]; /* base addresses of objects mapped before */
    struct live *live;            /* a hash table, MAX_LIVE places, half of them used */
    struct adp_memory memory;
    uint64_t fail_in; /* 0: never */
    bool failed;
} hooks;

/* --- memory --- */

static struct live *place_of(uintptr_t at)
{
    uint64_t h = at * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t i = (uint32_t)(h >> (64 - LIVE_BITS));
    while (hooks.live[i].at && hooks.live[i].at != at)
        i = (i + 1) % MAX_LIVE;
    return &hooks.live[i];
}

static void note_block(uintptr_t at, size_t bytes)
{
    if (!at || hooks.memory.blocks >= MAX_LIVE / 2)
        return;
    *place_of(at) = (struct live) { at, bytes };
    hooks.memory.blocks++;
    hooks.memory.bytes += bytes;
}

/* Takes it out, and moves those up that were put behind it for want of their place. */
static void forget_block(uintptr_t at)
{
    struct live *place = at ? place_of(at) : NULL;
    if (!place || !place->at)
        return; /* libc's own allocation, or from before */
    hooks.memory.blocks--;
    hooks.memory.bytes -= place->bytes;
    place->at = 0;
    uint32_t i = (uint32_t)(place - hooks.live);
    for (i = (i + 1) % MAX_LIVE; hooks.live[i].at; i = (i + 1) % MAX_LIVE) {
        struct live moved = hooks.live[i];
        hooks.live[i].at = 0;
        *place_of(moved.at) = moved;
    }
}

static bool may_allocate(void)
{
    hooks.memory.calls++;
    if (!hooks.fail_in || --hooks.fail_in)
        return true;
    hooks.failed = true;
    errno = ENOMEM;
    return false;
}

static void *hook_malloc(size_t n)
{
    void *at = may_allocate() ? malloc(n) : NULL;
    note_block((uintptr_t)at, n);
    return at;
}

static void *hook_calloc(size_t n, size_t size)
{
    void *at = may_allocate() ? calloc(n, size) : NULL;
    note_block((uintptr_t)at, n * size);
    return at;
}

static void *hook_realloc(void *old, size_t n)
{
    if (!may_allocate())
        return NULL;
    uint64_t blocks = hooks.memory.blocks, bytes = hooks.memory.bytes;
    uintptr_t was = (uintptr_t)old;
    forget_block(was);
    size_t old_bytes = (size_t)(bytes - hooks.memory.bytes);
    bool known = hooks.memory.blocks != blocks;
    void *at = realloc(old, n);
    if (at)
        note_block((uintptr_t)at, n);
    else if (n && known)
        note_block(was, old_bytes); /* it failed: the old one stays */
    return at;
}

static void *hook_reallocarray(void *old, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return hook_realloc(old, bytes);
}

static void *hook_aligned_alloc(size_t alignment, size_t n)
{
    void *at = may_allocate() ? aligned_alloc(alignment, n) : NULL;
    note_block((uintptr_t)at, n);
    return at;
}

static int hook_posix_memalign(void **ret, size_t alignment, size_t n)
{
    if (!may_allocate())
        return ENOMEM;
    int r = posix_memalign(ret, alignment, n);
    if (r == 0)
        note_block((uintptr_t)*ret, n);
    return r;
}

static void *hook_memalign(size_t alignment, size_t n)
{
    void *at = may_allocate() ? memalign(alignment, n) : NULL;
    note_block((uintptr_t)at, n);
    return at;
}

static void *hook_valloc(size_t n)
{
    return hook_memalign((size_t)sysconf(_SC_PAGESIZE), n);
}

static void *hook_pvalloc(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return hook_memalign(page, n > SIZE_MAX - page ? n : (n + page - 1) & ~(page - 1));
}

static char *hook_strndup(const char *text, size_t most)
{
    size_t n = strnlen(text, most);
    char *at = hook_malloc(n + 1);
    if (at) {
        memcpy(at, text, n);
        at[n] = '\0';
    }
    return at;
}

static char *hook_strdup(const char *text)
{
    return hook_strndup(text, SIZE_MAX - 1);
}

static void hook_free(void *at)
{
    forget_block((uintptr_t)at);
    free(at);
}

/* --- what libc allocates for the policy ---
 *
 * libc reaches malloc through slots of its own. While the policy is called what goes through
 * these is counted, and may fail; that it is given back is held against the policy only of
 * what asprintf, getline and their kin hand out to be freed: the rest libc may keep for
 * itself. */

static bool is_in_call(void)
{
    return atomic_load_explicit(&hooks.trial->slate->call, memory_order_relaxed) >=
           ADP_CALL_CREATE;
}

static bool may_allocate_inside(void)
{
    return !is_in_call() || may_allocate();
}

static void *inner_malloc(size_t n)
{
    return may_allocate_inside() ? malloc(n) : NULL;
}

static void *inner_calloc(size_t n, size_t size)
{
    return may_allocate_inside() ? calloc(n, size) : NULL;
}

static bool is_noted(const void *at)
{
    return at && place_of((uintptr_t)at)->at;
}

static void *inner_realloc(void *old, size_t n)
{
    if (is_noted(old))
        return hook_realloc(old, n);
    return may_allocate_inside() ? realloc(old, n) : NULL;
}

static __attribute__((format(printf, 2, 0))) int
hook_vasprintf(char **ret, const char *format, va_list args)
{
    int n = vasprintf(ret, format, args);
    if (n >= 0)
        note_block((uintptr_t)*ret, (size_t)n + 1);
    return n;
}

static __attribute__((format(printf, 2, 3))) int hook_asprintf(char **ret,
                                                               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = hook_vasprintf(ret, format, args);
    va_end(args);
    return n;
}

/* As the compiler has it with _FORTIFY_SOURCE. */
static __attribute__((format(printf, 3, 0))) int
hook_vasprintf_chk(char **ret, int flag, const char *format, va_list args)
{
    (void)flag;
    return hook_vasprintf(ret, format, args);
}

static __attribute__((format(printf, 3, 4))) int
hook_asprintf_chk(char **ret, int flag, const char *format, ...)
{
    va_list args;
    (void)flag;
    va_start(args, format);
    int n = hook_vasprintf(ret, format, args);
    va_end(args);
    return n;
}

static ssize_t hook_getdelim(char **line, size_t *cap, int end, FILE *from)
{
    ssize_t n = getdelim(line, cap, end, from);
    if (*line && !is_noted(*line))
        note_block((uintptr_t)*line, *cap);
    return n;
}

static ssize_t hook_getline(char **line, size_t *cap, FILE *from)
{
    return hook_getdelim(line, cap, '\n', from);
}

static wchar_t *hook_wcsdup(const wchar_t *text)
{
    size_t bytes = (wcslen(text) + 1) * sizeof *text;
    wchar_t *at = hook_malloc(bytes);
    if (at)
        memcpy(at, text, bytes);
    return at;
}

static void *hook_mmap(void *at, size_t n, int protection, int flags, int fd, off_t from)
{
    void *map = mmap(at, n, protection, flags, fd, from);
    if (map != MAP_FAILED)
        hooks.memory.mapped += n;
    return map;
}

static int hook_munmap(void *at, size_t n)
{
    int r = munmap(at, n);
    if (r == 0)
        hooks.memory.mapped -= n < hooks.memory.mapped ? n : hooks.memory.mapped;
    return r;
}

/* --- what is outside of (state, view) --- */

static _Noreturn void forbidden(const char *name)
{
    char where[256];
    adp_trial_where(hooks.trial->slate, where, sizeof where);
    adp_trial_fail(hooks.trial, "it calls %s %s", name, where);
}

/* --- clocks that stand still --- */

static int still_clock(int clock, struct timespec *to)
{
    (void)clock;
    *to = (struct timespec) { 1, 0 };
    return 0;
}

static int still_base(struct timespec *to, int base)
{
    *to = (struct timespec) { 1, 0 };
    return base;
}

static int still_day(struct timeval *to, void *zone)
{
    (void)zone;
    if (to)
        *to = (struct timeval) { 1, 0 };
    return 0;
}

static time_t still_time(time_t *to)
{
    if (to)
        *to = 1;
    return 1;
}

static clock_t still_work(void)
{
    return 1;
}

/* --- what is asked by name --- */

#define OUTSIDE(X)                                                                       \
    X(clock_gettime)                                                                     \
    X(gettimeofday)                                                                      \
    X(time)                                                                              \
    X(times)                                                                             \
    X(clock)                                                                             \
    X(timespec_get)                                                                      \
    X(ftime)                                                                             \
    X(rand)                                                                              \
    X(srand)                                                                             \
    X(random)                                                                            \
    X(srandom)                                                                           \
    X(drand48)                                                                           \
    X(lrand48)                                                                           \
    X(mrand48)                                                                           \
    X(getrandom)                                                                         \
    X(getentropy)                                                                        \
    X(arc4random)                                                                        \
    X(arc4random_buf)                                                                    \
    X(arc4random_uniform)                                                                \
    X(getenv)                                                                            \
    X(secure_getenv)                                                                     \
    X(setenv)                                                                            \
    X(putenv)                                                                            \
    X(uname)                                                                             \
    X(gethostname)                                                                       \
    X(gethostid)                                                                         \
    X(sysinfo)                                                                           \
    X(getloadavg)                                                                        \
    X(get_nprocs)                                                                        \
    X(sched_getcpu)                                                                      \
    X(setlocale)                                                                         \
    X(open)                                                                              \
    X(open64)                                                                            \
    X(openat)                                                                            \
    X(openat64)                                                                          \
    X(__open_2)                                                                          \
    X(__open64_2)                                                                        \
    X(creat)                                                                             \
    X(fopen)                                                                             \
    X(fopen64)                                                                           \
    X(opendir)                                                                           \
    X(shm_open)                                                                          \
    X(socket)                                                                            \
    X(pthread_create)                                                                    \
    X(thrd_create)                                                                       \
    X(fork)                                                                              \
    X(vfork)                                                                             \
    X(posix_spawn)                                                                       \
    X(posix_spawnp)                                                                      \
    X(system)                                                                            \
    X(popen)                                                                             \
    X(dlopen)                                                                            \
    X(syscall)

/* They never return, so that what they would have been called with does not matter. */
#define STUB(name)                                                                       \
    static void outside_##name(void)                                                     \
    {                                                                                    \
        forbidden(#name);                                                                \
    }
OUTSIDE(STUB)

struct hook {
    const char *name;
    void (*to)(void);
};

/* What this processor can do may be asked. */
static unsigned long tell_auxval(unsigned long type)
{
    if (type == AT_RANDOM)
        forbidden("getauxval(AT_RANDOM)");
    return getauxval(type);
}

#define ROW(name) { #name, outside_##name },
static const struct hook outside_hooks[] = {
    OUTSIDE(ROW) { "getauxval", (void (*)(void))tell_auxval }, { NULL, NULL }
};

#define MEMORY_AS(word, name)                                                            \
    {                                                                                    \
        word, (void (*)(void))hook_##name                                                \
    }
#define MEMORY(name) MEMORY_AS(#name, name)
static const struct hook memory_hooks[] = {
    MEMORY(malloc),
    MEMORY(calloc),
    MEMORY(realloc),
    MEMORY(reallocarray),
    MEMORY(aligned_alloc),
    MEMORY(posix_memalign),
    MEMORY(strdup),
    MEMORY(strndup),
    MEMORY(free),
    MEMORY(munmap),
    MEMORY(mmap),
    MEMORY_AS("mmap64", mmap),
    MEMORY(memalign),
    MEMORY(valloc),
    MEMORY(pvalloc),
    MEMORY(asprintf),
    MEMORY(vasprintf),
    MEMORY_AS("__asprintf", asprintf),
    MEMORY(getline),
    MEMORY(getdelim),
    MEMORY_AS("__getdelim", getdelim),
    MEMORY(wcsdup),
    MEMORY_AS("__strdup", strdup),
    MEMORY_AS("__strndup", strndup),
    MEMORY_AS("__asprintf_chk", asprintf_chk),
    MEMORY_AS("__vasprintf_chk", vasprintf_chk),
    { NULL, NULL },
};

/* In libc itself. */
static const struct hook inner_hooks[] = {
    { "malloc", (void (*)(void))inner_malloc },
    { "calloc", (void (*)(void))inner_calloc },
    { "realloc", (void (*)(void))inner_realloc },
    MEMORY(free),
    { NULL, NULL },
};

static const struct hook clock_hooks[] = {
    { "clock_gettime", (void (*)(void))still_clock },
    { "clock_getres", (void (*)(void))still_clock },
    { "timespec_get", (void (*)(void))still_base },
    { "gettimeofday", (void (*)(void))still_day },
    { "time", (void (*)(void))still_time },
    { "clock", (void (*)(void))still_work },
    { NULL, NULL },
};

/* --- slots --- */

struct object {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * slots[2]; /* of functions called; of data and the rest */
    size_t bytes[2];
};

static void read_object(struct object *o, uintptr_t base, const ElfW(Dyn) * d)
{
    *o = (struct object) { .base = base };
    for (; d->d_tag != DT_NULL; d++) {
        uintptr_t at = adp_dynamic_address(base, d);
        switch (d->d_tag) {
        case DT_SYMTAB:
            o->symbols = (const ElfW(Sym) *)at;
            break;
        case DT_STRTAB:
            o->names = (const char *)at;
            break;
        case DT_JMPREL:
            o->slots[0] = (const ElfW(Rela) *)at;
            break;
        case DT_PLTRELSZ:
            o->bytes[0] = d->d_un.d_val;
            break;
        case DT_RELA:
            o->slots[1] = (const ElfW(Rela) *)at;
            break;
        case DT_RELASZ:
            o->bytes[1] = d->d_un.d_val;
            break;
        }
    }
}

static void point(uintptr_t slot, void (*to)(void))
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = slot & ~(page - 1);
    if (mprotect((void *)from, slot + sizeof to - from, PROT_READ | PROT_WRITE) == 0)
        memcpy((void *)slot, &to, sizeof to);
}

static void hook_object(const struct object *o, const struct hook *table)
{
    for (int k = 0; k < 2 && o->symbols && o->names; k++)
        for (size_t i = 0; o->slots[k] && i < o->bytes[k] / sizeof(ElfW(Rela)); i++) {
            const ElfW(Rela) *r = &o->slots[k][i];
            uint64_t type = ELF64_R_TYPE(r->r_info);
            if (type != SLOT && type != DATA && type != WORD)
                continue;
            const char *name = o->names + o->symbols[ELF64_R_SYM(r->r_info)].st_name;
            for (const struct hook *h = table; h->name; h++)
                if (strcmp(h->name, name) == 0)
                    point(o->base + r->r_offset, h->to);
        }
}

static const char *base_of(const struct dl_phdr_info *info)
{
    const char *base = strrchr(info->dlpi_name, '/');
    return base ? base + 1 : info->dlpi_name;
}

static bool is_libc(const struct dl_phdr_info *info)
{
    return strncmp(base_of(info), "libc.so.", 8) == 0;
}

static bool is_the_policys(const struct dl_phdr_info *info)
{
    const char *base = base_of(info);
    if (strncmp(base, "libstdc++.", 10) == 0 || strncmp(base, "libgcc_s.", 9) == 0)
        return true;
    for (uint32_t i = 0; i < hooks.n_before; i++)
        if (hooks.before[i] == info->dlpi_addr)
            return false;
    return true;
}

static int hook_one(struct dl_phdr_info *info, size_t size, void *table)
{
    struct object o;
    (void)size;
    if (table == memory_hooks && is_libc(info))
        table = (void *)inner_hooks;
    else if (!is_the_policys(info))
        return 0;
    const ElfW(Dyn) *dynamic = adp_dynamic_of(info);
    if (dynamic) {
        read_object(&o, info->dlpi_addr, dynamic);
        hook_object(&o, table);
    }
    return 0;
}

static void hook_all(const struct hook *table)
{
    dl_iterate_phdr(hook_one, (void *)table);
}

static int note_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    if (hooks.n_before < MAX_OBJECTS)
        hooks.before[hooks.n_before++] = info->dlpi_addr;
    return 0;
}

void adp_hooks_prepare(struct adp_trial *trial)
{
    hooks.trial = trial;
    hooks.live = adp_trial_shared(trial, MAX_LIVE * sizeof *hooks.live);
    dl_iterate_phdr(note_object, NULL);
}

void adp_hooks_watch_memory(void)
{
    hook_all(memory_hooks);
}

struct adp_memory adp_hooks_memory(void)
{
    return hooks.memory;
}

void adp_hooks_fail_nth(uint64_t nth)
{
    hooks.fail_in = nth;
    hooks.failed = hooks.failed && !nth;
}

bool adp_hooks_has_failed(void)
{
    return hooks.failed;
}

void adp_hooks_forbid_outside(void)
{
    hook_all(outside_hooks);
}

void adp_hooks_stop_clock(void)
{
    hook_all(clock_hooks);
}
