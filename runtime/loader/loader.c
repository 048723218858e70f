/* SPDX-License-Identifier: MIT */
/* adp_loader_load: from a file's bytes to a checked policy. */
#include "runtime/loader/loader.h"

#include "runtime/loader/copy.h"
#include "runtime/loader/entry.h"
#include "runtime/loader/file.h"
#include "runtime/loader/image.h"
#include "runtime/loader/table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is mapped, for the life of the process. This is the process's own state and not a
 * runtime's: the dynamic linker has one list of mapped objects per process and never
 * forgets a name in it, so two runtimes in one process must share this one too. A file
 * that was mapped and then refused stays here, so that trying it again maps nothing. */
struct mapping {
    char sha256[65];
    void *handle;
    const struct adp_policy *entry; /* in the mapped code; NULL: it has none after all */
    /* What it points to has been found to lie in mapped memory, which it goes on to do. Relaxed:
     * whoever does not see it looks again. */
    _Atomic bool sound;
};

static struct {
    _Atomic uint32_t n; /* release: behind the place it counts */
    struct mapping list[ADP_LOADER_MAX];
} process;

/* Guards both; no other lock is taken under it. A child of fork has the list, but not the
 * thread that may have held the lock, so that lies in a page which the kernel empties there:
 * zeros are a mutex that nobody has. A file that was being mapped at that moment is not in
 * the list yet, and is mapped again, as another copy; glibc makes the lock under which the
 * linker maps anew in a child. Where the kernel does not know such pages, or has none, it is inherited. */
static pthread_mutex_t *process_lock(void)
{
    static pthread_mutex_t inherited = PTHREAD_MUTEX_INITIALIZER;
    static _Atomic(pthread_mutex_t *) lock;
    pthread_mutex_t *there = atomic_load_explicit(&lock, memory_order_acquire);
    if (there)
        return there;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *made =
        mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_t *ours = made == MAP_FAILED ? &inherited : made;
    if (made != MAP_FAILED)
        madvise(made, page, MADV_WIPEONFORK);
    if (atomic_compare_exchange_strong_explicit(&lock, &there, ours, memory_order_acq_rel,
                                                memory_order_acquire))
        return ours;
    if (made != MAP_FAILED)
        munmap(made, page);
    return there;
}

/* dlerror begins with the copy's name, which says nothing to the operator. */
static const char *linker_says(const struct adp_copy *copy)
{
    const char *text = dlerror();
    size_t n = strlen(copy->path);
    if (!text)
        return "no reason given";
    if (strncmp(text, copy->path, n) == 0 && strncmp(text + n, ": ", 2) == 0)
        return text + n + 2;
    return text;
}

/* RTLD_NOW: a missing function is found here, not in the request path. RTLD_LOCAL: two
 * policies never see each other. No RTLD_DEEPBIND: a library that then binds past the
 * host's malloc crashes in free (falcosecurity/falco#3704), and sanitizers refuse it. */
static int map_copy(void **ret_handle, const struct adp_copy *copy, const char *path,
                    struct adp_error *err)
{
    void *handle = dlopen(copy->path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return adp_error_at(err, ADP_EABI, path, 0, 0, "cannot be linked: %s",
                            linker_says(copy));
    /* A host that closes descriptors it does not know, or a policy, frees a copy's number for
     * the next one, and the linker goes by the name. */
    for (uint32_t i = 0; i < process.n; i++)
        if (process.list[i].handle == handle)
            return adp_error_at(err, ADP_EIO, path, 0, 0,
                                "the dynamic linker has mapped another file as %s before",
                                copy->path);
    *ret_handle = handle;
    return 0;
}

static int map_in(void **ret_handle, enum adp_copy_place place,
                  const struct adp_file *file, const char *path, struct adp_error *err)
{
    struct adp_copy copy;
    int r = adp_copy_create(&copy, place, file->bytes, file->len, path, err);
    if (r < 0)
        return r;
    r = map_copy(ret_handle, &copy, path, err);
    /* Where its name was another's: while it has that number the next one gets another. */
    bool is_taken = r == ADP_EIO && place == ADP_COPY_MEMORY;
    if (is_taken)
        r = map_in(ret_handle, place, file, path, err);
    if (r < 0 || is_taken)
        adp_copy_discard(&copy);
    else
        adp_copy_settle(&copy);
    return r;
}

/* In memory, or, where that does not serve (ADP_EIO), in a folder. */
static int map_bytes(void **ret_handle, const struct adp_file *file, const char *path,
                     struct adp_error *err)
{
    struct adp_error memory = { 0 }, folder = { 0 };
    int r = map_in(ret_handle, ADP_COPY_MEMORY, file, path, &memory);
    if (r == 0)
        return 0;
    if (r != ADP_EIO)
        return adp_error_at(err, r, path, 0, 0, "%s", memory.text);
    r = map_in(ret_handle, ADP_COPY_FOLDER, file, path, &folder);
    if (r == 0)
        return 0;
    return adp_error_at(err, r, path, 0, 0, "%s%s%s", folder.text,
                        r == ADP_EABI ? "" : "; ", r == ADP_EABI ? "" : memory.text);
}

/* The mapping of these bytes: the one there is, or a new one. Under the lock. */
static int find_or_map(struct mapping **ret, const struct adp_file *file,
                       const char *path, struct adp_error *err)
{
    for (uint32_t i = 0; i < process.n; i++)
        if (strcmp(process.list[i].sha256, file->sha256) == 0) {
            *ret = &process.list[i];
            return 0;
        }
    if (process.n == ADP_LOADER_MAX)
        return adp_error_at(err, ADP_EFULL, path, 0, 0,
                            "is one file more than the %u that a process may load in its "
                            "life, since code is never unmapped; restart it",
                            ADP_LOADER_MAX);
    void *handle = NULL;
    int r = map_bytes(&handle, file, path, err);
    if (r < 0)
        return r;
    struct mapping *next = &process.list[process.n];
    memcpy(next->sha256, file->sha256, sizeof next->sha256);
    next->handle = handle;
    next->entry = dlsym(handle, ADP_POLICY_SYMBOL);
    *ret = next;
    /* Last, for a child that is forked here: a place is counted when it is whole. */
    atomic_store_explicit(&process.n, process.n + 1, memory_order_release);
    return 0;
}

static int map_once(struct mapping **ret, const struct adp_file *file, const char *path,
                    struct adp_error *err)
{
    struct mapping *mapping = NULL;
    pthread_mutex_t *lock = process_lock();
    pthread_mutex_lock(lock);
    int r = find_or_map(&mapping, file, path, err);
    pthread_mutex_unlock(lock);
    if (r < 0)
        return r;
    if (!mapping->entry) /* written once, before the lock was let go */
        return adp_error_at(err, ADP_EABI, path, 0, 0,
                            "has %s for tools, but not for the dynamic linker",
                            ADP_POLICY_SYMBOL);
    *ret = mapping;
    return 0;
}

static int check_sha256(const struct adp_file *file, const char *expected,
                        const char *path, struct adp_error *err)
{
    if (!expected || strcmp(file->sha256, expected) == 0)
        return 0;
    return adp_error_at(err, ADP_EABI, path, 0, 0, "has sha256 %s, expected %s",
                        file->sha256, expected);
}

/* Copies what both sides know of the head; the rest of ours is "not there". */
static void copy_head(struct adp_policy *to, const struct adp_policy *from)
{
    memset(to, 0, sizeof *to);
    memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
}

/* A file's bytes, mapped, with an entry whose head is sound. */
static int map_entry(struct mapping **ret, const struct adp_file *file, const char *path,
                     const char *sha256, struct adp_error *err)
{
    struct mapping *mapping = NULL;
    uint64_t room = 0;
    int r;
    if ((r = check_sha256(file, sha256, path, err)) < 0 ||
        (r = adp_entry_examine(file->bytes, file->len, path, &room, err)) < 0 ||
        (r = map_once(&mapping, file, path, err)) < 0 ||
        (r = adp_entry_check_head(mapping->entry, room, path, err)) < 0)
        return r;
    *ret = mapping;
    return 0;
}

/* Once for a mapping: the linker is asked what is mapped, under its lock, which in a child of
 * fork may be nobody's to let go. */
static int check_image(struct mapping *mapping, const struct adp_policy *policy,
                       const char *path, struct adp_error *err)
{
    if (atomic_load_explicit(&mapping->sound, memory_order_relaxed))
        return 0;
    int r = adp_image_check(mapping->entry, policy, path, err);
    if (r == 0)
        atomic_store_explicit(&mapping->sound, true, memory_order_relaxed);
    return r;
}

static int load_file(struct adp_loaded *loaded, const struct adp_file *file,
                     const char *sha256, struct adp_error *err)
{
    const char *path = loaded->path;
    struct mapping *mapping = NULL;
    int r = map_entry(&mapping, file, path, sha256, err);
    if (r < 0)
        return r;
    copy_head(&loaded->policy, mapping->entry);
    if ((r = check_image(mapping, &loaded->policy, path, err)) < 0 ||
        (r = adp_loader_check(&loaded->policy, path, err)) < 0)
        return r;
    memcpy(loaded->sha256, file->sha256, sizeof loaded->sha256);
    loaded->baseline = adp_table_card(&loaded->policy).flags & ADP_BASELINE;
    return 0;
}

int adp_loader_map(const struct adp_policy **ret, const char *path, const char *sha256,
                   struct adp_error *err)
{
    struct adp_file file = { 0 };
    struct mapping *mapping = NULL;
    int r = adp_file_read(&file, path, ADP_LOADER_MAX_BYTES, err);
    if (r == 0)
        r = map_entry(&mapping, &file, path, sha256, err);
    if (r == 0)
        *ret = mapping->entry;
    adp_file_finish(&file);
    return r;
}

int adp_loader_load(struct adp_loaded **ret, const char *path, const char *sha256,
                    struct adp_error *err)
{
    struct adp_file file = { 0 };
    struct adp_loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return adp_error_at(err, ADP_ENOMEM, path, 0, 0, "out of memory");
    size_t n = strlen(path);
    int r = n < sizeof loaded->path
                ? adp_file_read(&file, path, ADP_LOADER_MAX_BYTES, err)
                : adp_error_at(err, ADP_EINVAL, path, 0, 0,
                               "the path has %zu bytes, expected at most %zu", n,
                               sizeof loaded->path - 1);
    if (r == 0) {
        memcpy(loaded->path, path, n + 1);
        r = load_file(loaded, &file, sha256, err);
    }
    adp_file_finish(&file);
    if (r < 0)
        free(loaded);
    else
        *ret = loaded;
    return r;
}

void adp_loaded_destroy(struct adp_loaded *loaded)
{
    free(loaded);
}

struct adp_signal adp_loaded_signal(const struct adp_loaded *loaded, uint32_t i)
{
    return adp_table_signal(&loaded->policy, i);
}

struct adp_param adp_loaded_param(const struct adp_loaded *loaded, uint32_t i)
{
    return adp_table_param(&loaded->policy, i);
}

struct adp_gate adp_loaded_gate(const struct adp_loaded *loaded, uint32_t i)
{
    return adp_table_gate(&loaded->policy, i);
}

struct adp_card adp_loaded_card(const struct adp_loaded *loaded)
{
    return adp_table_card(&loaded->policy);
}
