/* SPDX-License-Identifier: MIT */
/* Finding policy files by name: $ADMITPERF_PLUGIN_PATH, then the build tree of a program that
 * was not installed, then the installed folder. */
#include "runtime/loader/loader.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST_NAME 63u
#define MAX_NEAR     256u /* names that are compared for "nearest" */

/* Whose turn it is. */
enum place { VARIABLE, BUILD, INSTALLED, OVER };

/* The folders in order, one at a time. */
struct search {
    const char *rest; /* of the variable; NULL: it is not set */
    enum place place; /* where the next comes from */
    unsigned n;       /* folders until now */
    char folder[PATH_MAX];
};

static void search_begin(struct search *s)
{
    /* Not for a program that runs with more rights than who started it. */
    s->rest = secure_getenv("ADMITPERF_PLUGIN_PATH");
    s->place = VARIABLE;
    s->n = 0;
}

static bool cut_end(char *path, const char *end)
{
    size_t n = strlen(path), len = strlen(end);
    if (n < len || strcmp(path + n - len, end) != 0)
        return false;
    path[n - len] = '\0';
    return true;
}

/* The policies built with the program that runs, if that lies in its build tree. Nobody may
 * lead there a program that runs with more rights than who started it: a hard link to it
 * can be made in a folder of one's own. */
static bool build_folder(char *to, size_t cap)
{
    struct stat st;
    ssize_t n = getauxval(AT_SECURE) ? -1 : readlink("/proc/self/exe", to, cap - 1);
    if (n < 0)
        return false;
    to[n] = '\0';
    char *slash = strrchr(to, '/');
    if (!slash)
        return false;
    *slash = '\0';
    cut_end(to, "/.libs"); /* where libtool puts what its script starts */
    static const char policies[] = "/plugins/.libs";
    if (!cut_end(to, "/runtime/cli") || strlen(to) + sizeof policies > cap)
        return false;
    memcpy(to + strlen(to), policies, sizeof policies);
    return stat(to, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The variable's next; empty parts are passed over. */
static bool next_of_variable(struct search *s)
{
    while (s->rest && *s->rest) {
        size_t n = strcspn(s->rest, ":");
        const char *part = s->rest;
        s->rest += n + (part[n] == ':');
        if (n == 0 || n >= sizeof s->folder)
            continue;
        memcpy(s->folder, part, n);
        s->folder[n] = '\0';
        return true;
    }
    return false;
}

/* False after the last. */
static bool search_next(struct search *s)
{
    bool found = false;
    while (!found && s->place != OVER) {
        if (s->place == VARIABLE) {
            found = next_of_variable(s);
        } else if (s->place == BUILD) {
            found = build_folder(s->folder, sizeof s->folder);
        } else {
            snprintf(s->folder, sizeof s->folder, "%s", ADP_POLICY_DIR);
            found = true;
        }
        if (!found || s->place != VARIABLE)
            s->place++;
    }
    s->n += found;
    return found;
}

static bool is_policy_name(const char *s, size_t n)
{
    return n >= 1 && n <= LONGEST_NAME && s[0] >= 'a' && s[0] <= 'z' &&
           strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") >= n;
}

static bool join(char *to, size_t cap, const char *folder, const char *name)
{
    int n = snprintf(to, cap, "%s/%s.so", folder, name);
    return n > 0 && (size_t)n < cap;
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* Whether a folder before the one `s` stands at has this name already. */
static bool hidden(const struct search *s, const char *name)
{
    struct search before;
    char path[PATH_MAX];
    search_begin(&before);
    while (search_next(&before) && before.n < s->n)
        if (before.folder[0] == '/' && join(path, sizeof path, before.folder, name) &&
            exists(path))
            return true;
    return false;
}

static int is_policy_file(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 3 && strcmp(entry->d_name + n - 3, ".so") == 0 &&
           is_policy_name(entry->d_name, n - 3);
}

/* Policy files of one folder, by name. That it cannot be read is not an error: it has
 * nothing to offer. */
static int scan(const char *folder,
                void (*each)(void *ctx, const char *folder, const char *name), void *ctx)
{
    struct dirent **entries;
    errno = 0;
    int n = scandir(folder, &entries, is_policy_file, alphasort);
    if (n < 0)
        return errno == ENOMEM ? ADP_ENOMEM : 0;
    for (int i = 0; i < n; i++) {
        char *name = entries[i]->d_name;
        name[strlen(name) - 3] = '\0';
        each(ctx, folder, name);
        free(entries[i]);
    }
    free(entries);
    return 0;
}

struct listing {
    const struct search *at;
    void (*each)(void *ctx, const char *path);
    void *ctx;
};

static void list_one(void *ctx, const char *folder, const char *name)
{
    struct listing *listing = ctx;
    char path[PATH_MAX];
    if (join(path, sizeof path, folder, name) && !hidden(listing->at, name))
        listing->each(listing->ctx, path);
}

int adp_loader_list(void (*each)(void *ctx, const char *path), void *ctx,
                    struct adp_error *err)
{
    struct search s;
    struct listing listing = { .at = &s, .each = each, .ctx = ctx };
    search_begin(&s);
    while (search_next(&s))
        if (s.folder[0] == '/' && scan(s.folder, list_one, &listing) < 0)
            return adp_error_set(err, ADP_ENOMEM, "out of memory");
    return 0;
}

/* Names for adp_error_nearest, cut at MAX_NEAR: only a message depends on them. */
struct names {
    char text[MAX_NEAR][LONGEST_NAME + 1];
    const char *list[MAX_NEAR + 1];
    size_t n;
};

static void take_name(void *ctx, const char *folder, const char *name)
{
    struct names *names = ctx;
    (void)folder;
    if (names->n == MAX_NEAR)
        return;
    memcpy(names->text[names->n], name, strlen(name) + 1);
    names->list[names->n] = names->text[names->n];
    names->n++;
}

/* The folders, in words. */
static void describe_places(char *to, size_t cap)
{
    struct search s;
    size_t n = 0;
    search_begin(&s);
    to[0] = '\0';
    while (search_next(&s) && n < cap) {
        int wrote = snprintf(to + n, cap - n, "%s%s%s", n ? ", " : "", s.folder,
                             s.folder[0] == '/' ? "" : " (passed over: relative)");
        n += wrote > 0 ? (size_t)wrote : 0;
    }
}

static int refuse_name(const char *name, struct adp_error *err)
{
    char places[400];
    struct search s;
    struct names *names = calloc(1, sizeof *names);
    const char *nearest = NULL;
    if (names) {
        search_begin(&s);
        while (search_next(&s))
            if (s.folder[0] == '/')
                scan(s.folder, take_name, names);
        nearest = adp_error_nearest(name, names->list);
    }
    describe_places(places, sizeof places);
    int r = adp_error_set(err, ADP_ENOENT,
                          "there is no policy \"%s\"%s%s%s; looked for %s.so in %s%s",
                          name, nearest ? ", nearest is \"" : "", nearest ? nearest : "",
                          nearest ? "\"" : "", name, places,
                          secure_getenv("ADMITPERF_PLUGIN_PATH")
                              ? ""
                              : "; ADMITPERF_PLUGIN_PATH, which is not set, may name "
                                "other folders");
    free(names);
    return r;
}

/* The name nearest to that of a file which is not there, among those beside it. */
static const char *nearest_beside(const char *path, struct names *names)
{
    char folder[PATH_MAX], stem[LONGEST_NAME + 1];
    const char *base = strrchr(path, '/') + 1;
    size_t folder_len = (size_t)(base - path), stem_len = strcspn(base, ".");
    if (folder_len >= sizeof folder || stem_len >= sizeof stem)
        return NULL;
    memcpy(folder, path, folder_len);
    folder[folder_len] = '\0';
    memcpy(stem, base, stem_len);
    stem[stem_len] = '\0';
    scan(folder, take_name, names);
    return adp_error_nearest(stem, names->list);
}

/* A link that leads nowhere is there, and its name is no mistake. */
static int refuse_link(const char *path, struct adp_error *err)
{
    char to[256];
    ssize_t n = readlink(path, to, sizeof to - 1);
    if (n < 0)
        return 0;
    to[n] = '\0';
    struct stat st;
    bool circle = stat(path, &st) < 0 && errno == ELOOP;
    return adp_error_at(err, ADP_ENOENT, path, 0, 0,
                        circle ? "it is a link to %s, and links go in a circle"
                               : "it is a link to %s, which is not there",
                        to);
}

/* How to build NAME.so from the source that lies beside it, whose name goes to `to`; NULL:
 * none does. */
static const char *source_beside(const char *path, char *to, size_t cap)
{
    static const struct {
        const char *ext, *how;
    } sources[] = {
        { "c",
          "cc -O2 -o NAME.so NAME.c $(pkg-config --cflags --libs admitperf-policy)" },
        { "cc", "docs/writing-a-policy-cpp-rust.md has how to build it" },
        { "rs", "docs/writing-a-policy-cpp-rust.md has how to build it" },
    };
    size_t n = strlen(path);
    int folder = (int)(strrchr(path, '/') + 1 - path);
    if (n < 4 || strcmp(path + n - 3, ".so") != 0)
        return NULL;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        int len = snprintf(to, cap, "%.*sMakefile", folder, path);
        bool makes = len > 0 && (size_t)len < cap && exists(to);
        len = snprintf(to, cap, "%.*s.%s", (int)(n - 3), path, sources[i].ext);
        if (len < 0 || (size_t)len >= cap || !exists(to))
            continue;
        memmove(to, to + folder, strlen(to + folder) + 1);
        return makes ? "make builds it" : sources[i].how;
    }
    return NULL;
}

static int refuse_path(const char *path, struct adp_error *err)
{
    if (refuse_link(path, err) < 0)
        return ADP_ENOENT;
    char source[PATH_MAX];
    const char *how = source_beside(path, source, sizeof source);
    if (how)
        return adp_error_at(err, ADP_ENOENT, path, 0, 0,
                            "there is no such file; %s beside it is its source: %s",
                            source, how);
    struct names *names = calloc(1, sizeof *names);
    const char *nearest = names ? nearest_beside(path, names) : NULL;
    int r = adp_error_at(err, ADP_ENOENT, path, 0, 0, "there is no such file%s%s%s",
                         nearest ? ", nearest beside it is " : "", nearest ? nearest : "",
                         nearest ? ".so" : "");
    free(names);
    return r;
}

static int put(const char *found, char *ret, size_t cap, struct adp_error *err)
{
    size_t n = strlen(found);
    if (n >= cap)
        return adp_error_at(err, ADP_EINVAL, found, 0, 0,
                            "the path has %zu bytes, expected at most %zu", n, cap - 1);
    memcpy(ret, found, n + 1);
    return 0;
}

static int find_path(const char *path, char *ret, size_t cap, struct adp_error *err)
{
    if (path[0] != '/')
        return adp_error_at(err, ADP_EINVAL, path, 0, 0,
                            "the path is relative, expected an absolute one");
    if (exists(path))
        return put(path, ret, cap, err);
    if (errno == EACCES)
        return adp_error_at(err, ADP_EIO, path, 0, 0, "cannot be reached: %s",
                            strerror(errno));
    return refuse_path(path, err);
}

int adp_loader_find(const char *name, const char *path, char *ret, size_t cap,
                    struct adp_error *err)
{
    if (path)
        return find_path(path, ret, cap, err);
    if (!is_policy_name(name, strlen(name)))
        return adp_error_set(err, ADP_EINVAL,
                             "\"%.64s\" is not a policy's name, expected [a-z][a-z0-9_]* "
                             "of at most %u; a file is written with a '/', as ./NAME.so",
                             name, LONGEST_NAME);
    struct search s;
    char found[PATH_MAX];
    search_begin(&s);
    while (search_next(&s))
        if (s.folder[0] == '/' && join(found, sizeof found, s.folder, name) &&
            exists(found))
            return put(found, ret, cap, err);
    return refuse_name(name, err);
}
