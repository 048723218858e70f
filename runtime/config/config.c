/* SPDX-License-Identifier: MIT */
/* The configuration: the file as a whole.
 *
 * Text → tree (tree.h) → one pass over a table of its keys (read.h; the larger ones have
 * a file each, sections.h) → settings. The tree's strings are the settings' strings, so
 * all of it lies in one arena, which goes with the configuration. */
#include "runtime/config/config.h"

#include "core/error.h"
#include "core/region.h"
#include "runtime/config/sections.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is allocated for a configuration: `config` first, so that destroy finds the rest.
 */
struct draft {
    struct adp_config config;
    struct adp_arena arena;
    struct adp_policy_setting policies[ADP_CONFIG_MAX_POLICIES];
};

_Static_assert(ADP_CONFIG_MAX_POLICIES == ADP_MAX_POLICIES, "as many as may run");

/* ---- the keys of the file ---- */

static void read_version(struct adp_doc *doc, const struct adp_key *key,
                         const struct adp_node *value, void *into)
{
    (void)into;
    struct adp_scalar version = adp_node_scalar(value);
    if (version.kind != ADP_SCALAR_INTEGER || version.value != 1.0)
        adp_read_wrong(doc, key, value, "not one this program reads");
}

static const char *const status_words[] = { [ADP_PROFILE_STANDARD] = "standard",
                                            [ADP_PROFILE_LLM_D] = "llm-d",
                                            [ADP_PROFILE_DYNAMO] = "dynamo",
                                            NULL };

#define NAME "a name of at most 128 bytes without '/' or a leading '.'"

/* Read in this order: `signals` is held against the intervals of `scrape`, and `aliases`
 * names signals. */
static const struct adp_key file_keys[] = {
    { .word = "version",
      .read = read_version,
      .expected = "version: 1",
      .required = true },
    { .word = "experiment",
      .read = adp_read_name,
      .at = offsetof(struct adp_config, experiment),
      .expected = NAME },
    { .word = "run",
      .read = adp_read_name,
      .at = offsetof(struct adp_config, run),
      .expected = NAME },
    { .word = "notes",
      .read = adp_read_text,
      .at = offsetof(struct adp_config, notes),
      .hi = 1024,
      .expected = "text of at most 1024 bytes" },
    { .word = "disclosure",
      .read = adp_section_disclosure,
      .expected = "a mapping such as { model: NAME, slo: { ttft_ms: 1500 } }" },
    { .word = "scrape",
      .read = adp_section_scrape,
      .expected = "a list such as [{ name: NAME, url: ADDRESS }]" },
    { .word = "signals",
      .read = adp_section_signals,
      .expected = "a mapping of signals to their sources" },
    { .word = "aliases",
      .read = adp_section_aliases,
      .expected = "a mapping with signals or metrics" },
    { .word = "policy",
      .read = adp_section_policy,
      .expected = "a mapping such as { use: kv_threshold, params: { threshold: 0.9 } }",
      .required = true },
    { .word = "shadow",
      .read = adp_section_shadow,
      .expected = "a list such as [{ use: kv_threshold }]" },
    { .word = "status_profile",
      .read = adp_read_word,
      .at = offsetof(struct adp_config, status_profile),
      .words = status_words },
    { .word = "log",
      .read = adp_section_log,
      .expected = "a mapping such as { path: decisions.jsonl }, or none" },
    { .word = "serve",
      .read = adp_section_serve,
      .expected = "a mapping such as { listen: [ADDRESS] }" },
    { .word = "split_salt",
      .read = adp_read_text,
      .at = offsetof(struct adp_config, split_salt),
      .hi = 128,
      .expected = "text of at most 128 bytes" },
    { 0 },
};

/* ---- reading ---- */

/* True when the file says it is of a later version: nothing else in it can be judged. */
static bool is_newer(struct adp_doc *doc, const struct adp_node *root)
{
    const struct adp_node *version = adp_node_find(root, "version");
    if (!version)
        return false;
    struct adp_scalar scalar = adp_node_scalar(version);
    if (scalar.kind != ADP_SCALAR_INTEGER || !(scalar.value > 1.0))
        return false;
    read_version(doc, &file_keys[0], version, NULL);
    return true;
}

static void read_root(struct adp_doc *doc, const struct adp_node *root,
                      struct adp_config *config)
{
    static const struct adp_key file = { .word = "the file",
                                         .keys = file_keys,
                                         .expected = "version: 1 and a policy" };
    static const struct adp_place top = { 1, 1 };
    if (!root || adp_node_is_nothing(root))
        adp_doc_error(doc, ADP_EINVAL, top,
                      "the file is empty, expected version: 1 and a policy");
    else if (root->kind != ADP_NODE_MAPPING || !is_newer(doc, root))
        adp_read_mapping(doc, &file, root, config);
}

static void set_defaults(struct draft *draft)
{
    struct adp_config *config = &draft->config;
    config->policies = draft->policies;
    config->n_policies = 1;
    config->policies[0].enforce = 1.0;
    config->log_path = "experiments/{experiment}/{policy}/{run}.jsonl";
    config->keep = 10;
    config->instance_count = 1;
}

/* The file's folder made absolute, in the arena; NULL: told. */
static const char *absolute(struct adp_doc *doc, const char *folder)
{
    char here[PATH_MAX];
    if (folder && *folder == '/')
        return adp_doc_copy(doc, folder, strlen(folder));
    if (!getcwd(here, sizeof here)) {
        adp_doc_error(doc, ADP_EIO, (struct adp_place) { 0 },
                      "the current directory has no path");
        return NULL;
    }
    if (!folder || !*folder || strcmp(folder, ".") == 0)
        return adp_doc_copy(doc, here, strlen(here));
    return adp_doc_print(doc, "%s/%s", strcmp(here, "/") == 0 ? "" : here, folder);
}

static bool fill(struct adp_doc *doc, struct draft *draft, const char *text, size_t len,
                 const char *folder)
{
    const struct adp_node *root = NULL;
    struct adp_error err = { 0 };
    set_defaults(draft);
    draft->config.file = doc->file = adp_doc_copy(doc, doc->file, strlen(doc->file));
    doc->folder = absolute(doc, folder);
    if (!doc->file || !doc->folder)
        return false;
    if (len > ADP_CONFIG_MAX_BYTES) {
        adp_doc_error(doc, ADP_EFULL, (struct adp_place) { 0 },
                      "the file is too large, found %zu bytes, expected at most %u", len,
                      ADP_CONFIG_MAX_BYTES);
        return false;
    }
    if (!adp_doc_passes(doc, adp_signals_create(&draft->config.signals, &err),
                        (struct adp_place) { 0 }, &err))
        return false;
    if (!adp_tree_read(&root, text, len, doc))
        return false;
    read_root(doc, root, &draft->config);
    return true;
}

/* The code of what went wrong. */
static int verdict(const struct adp_doc *doc)
{
    if (doc->out_of_memory || doc->errors->n == 0)
        return ADP_ENOMEM;
    return doc->errors->list[0].code;
}

int adp_config_draft_text(struct adp_config **ret, const char *text, size_t len,
                          const char *name, const char *folder, struct adp_errors *errors)
{
    struct draft *draft = calloc(1, sizeof *draft);
    struct adp_doc doc = { .file = name, .errors = errors };
    bool read = false;
    if (draft) {
        doc.arena = &draft->arena;
        read = fill(&doc, draft, text, len, folder);
    }
    if (!draft || doc.out_of_memory) {
        doc.out_of_memory = true;
        adp_errors_add(errors, ADP_ENOMEM, name, (struct adp_place) { 0 },
                       "out of memory");
    }
    if (!read || doc.out_of_memory || (doc.failed && errors->n == 0)) {
        adp_config_destroy(draft ? &draft->config : NULL);
        return verdict(&doc);
    }
    *ret = &draft->config;
    return 0;
}

void adp_config_destroy(struct adp_config *config)
{
    struct draft *draft = (struct draft *)config;
    if (!draft)
        return;
    adp_signals_destroy(config->signals);
    adp_arena_finish(&draft->arena);
    free(draft);
}

/* ---- files ---- */

/* Reads at most `cap` bytes. Returns how many, or -1 with errno set. */
static ssize_t read_bytes(int fd, char *to, size_t cap)
{
    size_t len = 0;
    while (len < cap) {
        ssize_t n = read(fd, to + len, cap - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    return (ssize_t)len;
}

static int tell_errno(const char *path, int number, struct adp_errors *errors)
{
    int code = number == ENOENT ? ADP_ENOENT : number == ENOMEM ? ADP_ENOMEM : ADP_EIO;
    const char *why = number == ENOENT   ? "no such file"
                      : number == EACCES ? "it may not be read (permission denied)"
                      : number == EISDIR ? "it is a folder, expected a file"
                                         : NULL;
    if (why)
        adp_errors_add(errors, code, path, (struct adp_place) { 0 }, "%s", why);
    else
        adp_errors_add(errors, code, path, (struct adp_place) { 0 },
                       "it cannot be read (%s)", strerrordesc_np(number));
    return code;
}

static int load(char **ret, size_t *ret_len, char *folder, const char *path,
                struct adp_errors *errors)
{
    /* One byte more than allowed, so that a file too large is seen to be; and a NUL. */
    size_t cap = ADP_CONFIG_MAX_BYTES + 1, folder_len;
    const char *slash = strrchr(path, '/');
    folder_len = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (folder_len >= PATH_MAX)
        return tell_errno(path, ENAMETOOLONG, errors);
    memcpy(folder, path, folder_len);
    folder[folder_len] = '\0';

    /* O_NONBLOCK: a FIFO that nobody writes to is refused, and not waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return tell_errno(path, errno, errors);
    struct stat st;
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        close(fd);
        adp_errors_add(errors, ADP_EIO, path, (struct adp_place) { 0 },
                       "it is a %s, expected a file",
                       S_ISFIFO(st.st_mode) ? "pipe" : "device");
        return ADP_EIO;
    }
    char *text = malloc(cap + 1);
    ssize_t len = text ? read_bytes(fd, text, cap) : -1;
    int number = errno;
    close(fd);
    if (len < 0) {
        int code = tell_errno(path, text ? number : ENOMEM, errors);
        free(text);
        return code;
    }
    text[len] = '\0';
    *ret = text;
    *ret_len = (size_t)len;
    return 0;
}

int adp_config_load_file(char **ret, size_t *ret_len, char *folder, const char *path,
                         struct adp_errors *errors)
{
    char *text;
    size_t len;
    int code = load(&text, &len, folder, path, errors);
    if (code < 0)
        return code;
    if (memchr(text, '\0', len)) {
        adp_errors_add(errors, ADP_ESYNTAX, path, (struct adp_place) { 0 },
                       "it is no text: there is a NUL in it");
        free(text);
        return ADP_ESYNTAX;
    }
    *ret = text;
    *ret_len = len;
    return 0;
}

int adp_config_draft_file(struct adp_config **ret, const char *path,
                          struct adp_errors *errors)
{
    char folder[PATH_MAX], *text;
    size_t len;
    int code = load(&text, &len, folder, path, errors);
    if (code < 0)
        return code;
    code = adp_config_draft_text(ret, text, len, path, folder, errors);
    free(text);
    return code;
}

/* ---- all or nothing ---- */

/* Takes a draft: gives it back when it is good. */
static int judge_take(struct adp_config **ret, struct adp_config *draft, int code,
                      const struct adp_errors *errors)
{
    if (code < 0)
        return code;
    if (errors->n > 0) {
        adp_config_destroy(draft);
        return errors->list[0].code;
    }
    *ret = draft;
    return 0;
}

int adp_config_read_file(struct adp_config **ret, const char *path,
                         struct adp_errors *errors)
{
    struct adp_config *draft = NULL;
    int code = adp_config_draft_file(&draft, path, errors);
    return judge_take(ret, draft, code, errors);
}

int adp_config_read_text(struct adp_config **ret, const char *text, size_t len,
                         const char *name, const char *folder, struct adp_errors *errors)
{
    struct adp_config *draft = NULL;
    int code = adp_config_draft_text(&draft, text, len, name, folder, errors);
    return judge_take(ret, draft, code, errors);
}
