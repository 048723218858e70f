/* SPDX-License-Identifier: MIT */
/* The configuration: one YAML file into checked settings (docs/config.md, DESIGN
 * "Configuration").
 *
 * Everything wrong with a file is reported together, each with file, line, column and the
 * nearest known word. Settings are plain data in one arena, freed whole. What needs a
 * policy's schema (parameter names and ranges, unknown signals a policy reads) is checked
 * by the host once the policy is loaded, against the places kept here. */
#ifndef ADP_RUNTIME_CONFIG_H
#define ADP_RUNTIME_CONFIG_H

#include "core/reason.h"
#include "core/reach.h"
#include "core/signal.h"

#include <admitperf/runtime.h>
#include <stdbool.h>

#define ADP_CONFIG_MAX_BYTES    (1u << 20)
#define ADP_CONFIG_MAX_DEPTH    16u
#define ADP_CONFIG_MAX_POLICIES 8u    /* governing and shadow together */
#define ADP_CONFIG_MAX_SCRAPE   64u   /* pages */
#define ADP_CONFIG_MAX_PATH     1023u /* bytes of a plugin's and of the log's path */
#define ADP_CONFIG_MAX_NAME     128u /* bytes of an experiment's, a run's, a page's name */
#define ADP_CONFIG_MAX_ERRORS   100u /* after that, one more says "too many errors" */

struct adp_place {
    uint32_t line, column; /* 1-based; 0: not written in the file */
};

enum adp_provenance { ADP_PROV_DEFAULT, ADP_PROV_FITTED, ADP_PROV_INHERITED };
const char *adp_provenance_word(enum adp_provenance provenance);

enum adp_param_type { ADP_PARAM_NUMBER, ADP_PARAM_BOOL, ADP_PARAM_OTHER };

/* One `params:` entry as written. */
struct adp_param_setting {
    const char *name;
    enum adp_param_type
        type; /* OTHER: a word or a structure; the host names it as a wrong type */
    const char *written; /* what stands there, as messages say it behind "found ":
                            "0.9", "0.9" in quotes, a mapping */
    double value;        /* NUMBER; BOOL: 0 or 1 */
    bool integral;       /* written without point and exponent */
    bool stated;         /* a provenance was written */
    enum adp_provenance provenance;
    struct adp_place place, value_place, provenance_place; /* place: of the name */
};

enum adp_on_error { ADP_ON_ERROR_ADMIT, ADP_ON_ERROR_REJECT };

struct adp_policy_setting {
    const char *use;    /* a shipped name, or a path (holds a '/'); NULL in a draft: what
                           was written is no use */
    const char *path;   /* `use` made absolute against the file's folder; NULL: a name */
    const char *sha256; /* 64 lower-case hex digits, or NULL */
    const char *config_json; /* `config:` as JSON, or NULL */
    struct adp_param_setting *params;
    uint32_t n_params;
    double enforce; /* [0, 1]; shadow: 0 */
    enum adp_on_error on_error;
    struct adp_place place, use_place, sha256_place, config_place;
};

struct adp_scrape_setting {
    const char *name, *url; /* http://, https:// or unix:/SOCKET[:/PATH] */
    uint64_t interval_ns, timeout_ns;
    const char *bearer_file, *ca_file, *cert_file, *key_file; /* absolute; NULL: none */
    bool insecure;
    struct adp_place place;
};

/* --- `serve:` --- */

#define ADP_CONFIG_MAX_LISTEN 16u /* addresses of one kind */
#define ADP_CONFIG_MAX_NAMES  8u  /* headers or fields that may hold one thing */

struct adp_listen_setting {
    const char *address; /* "HOST:PORT", "[ADDRESS]:PORT", "unix:PATH" (absolute) */
    const char *group;   /* of a unix socket; NULL: the process's */
    uint32_t mode;       /* of a unix socket; 0: 0660 */
    bool local;          /* a unix socket, 127.0.0.0/8, [::1], localhost */
    struct adp_place place;
};

struct adp_listen_settings {
    struct adp_listen_setting *list;
    uint32_t n;
};

/* Where something stands: the first of these that is there. n 0: the sidecar's own. */
struct adp_names_setting {
    const char *name[ADP_CONFIG_MAX_NAMES];
    uint32_t n;
};

/* What a header of /v1/auth may tell. */
enum adp_header {
    ADP_HEADER_REQUEST_ID,
    ADP_HEADER_TENANT,
    ADP_HEADER_SESSION,
    ADP_HEADER_SLO_CLASS,
    ADP_HEADER_PRIORITY,
    ADP_HEADER_PROMPT_TOKENS,
    ADP_HEADER_PROMPT_BYTES,
    ADP_HEADER_MAX_OUTPUT_TOKENS,
    ADP_HEADER_TTFT_DEADLINE_MS
};
#define ADP_HEADERS 9u

/* What a field of an outcome's line may tell. */
enum adp_field {
    ADP_FIELD_ID,
    ADP_FIELD_REQUEST_ID,
    ADP_FIELD_VERDICT,
    ADP_FIELD_STATUS,
    ADP_FIELD_OK,
    ADP_FIELD_END,
    ADP_FIELD_TTFT_MS,
    ADP_FIELD_TTFT_US,
    ADP_FIELD_TTFT_S,
    ADP_FIELD_TOTAL_MS,
    ADP_FIELD_TOTAL_US,
    ADP_FIELD_TOTAL_S,
    ADP_FIELD_PROMPT_TOKENS,
    ADP_FIELD_OUTPUT_TOKENS,
    ADP_FIELD_EXTRA /* kept under its own name; all of them, not the first */
};
#define ADP_FIELDS 15u

/* Numbers are 0 where nothing is stated. */
struct adp_serve_setting {
    struct adp_listen_settings listen; /* n 0: 127.0.0.1:9400 */
    struct adp_listen_settings outcomes, spop;
    const char *token_file; /* absolute; NULL: none is asked for */
    bool alone;             /* one process, with nobody to go on when a policy ends it */
    uint64_t policy_ns, memory_bytes; /* that a policy may take; that the worker may */
    uint32_t threads;
    double bytes_per_token; /* what prompt_bytes are divided by */
    uint64_t head_bytes, body_bytes;
    uint32_t connections;
    uint64_t head_ns, body_ns, idle_ns, write_ns, drain_ns;
    struct adp_names_setting header[ADP_HEADERS]; /* lower case */
    struct adp_names_setting field[ADP_FIELDS];   /* keys, '.' between them */
};

struct adp_config {
    const char *file;                     /* as given, for messages */
    const char *experiment, *run, *notes; /* NULL: not stated; the first two are fit to be
                                             part of a file's path */
    const char *disclosure_json;          /* compact, ASCII, as written; NULL: none */
    bool has_slo_ttft;
    double slo_ttft_ms;          /* disclosure.slo.ttft_ms */
    struct adp_reach reach;      /* as disclosed; 0 where it is not */
    const char *split_salt;      /* NULL: the experiment */
    struct adp_signals *signals; /* dictionary, the file's signals, sources, aliases */
    struct adp_scrape_setting *scrape;
    uint32_t n_scrape;
    struct adp_policy_setting *policies; /* [0] governs, the rest are shadows; n >= 1 */
    uint32_t n_policies;
    enum adp_profile status_profile;
    bool log_none;
    const char *log_path;  /* template with {experiment} {policy} {run}, as written or
                              the default; relative to the current directory */
    bool log_inline;       /* log.metrics: inline */
    uint64_t rotate_bytes; /* 0: never */
    uint32_t keep;
    struct adp_serve_setting serve;
    bool has_serve, has_scrape; /* present: an in-process host reports them as unused */
    uint64_t instance_count; /* processes that share one quota; 1, no key sets it yet */
};

/* Adds an error at a place of `file`, behind those of an earlier or the same place; one
 * that is there already is not added twice. Keeps at most ADP_CONFIG_MAX_ERRORS, and
 * forgets the error when memory is out. [control] */
void adp_errors_add(struct adp_errors *errors, int code, const char *file,
                    struct adp_place at, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Reads and checks. `folder`: what relative plugin paths start from, NULL: the current
 * directory; of a file, its own folder. `errors` is empty and receives everything that is
 * wrong, sorted by place. 0: nothing was, and *ret is the caller's, to be destroyed. Else
 * the code of the first error (ADP_ENOMEM when memory ran out); *ret untouched. A file
 * without `policy:` is an error. [control] */
int adp_config_read_file(struct adp_config **ret, const char *path,
                         struct adp_errors *errors);
int adp_config_read_text(struct adp_config **ret, const char *text, size_t len,
                         const char *name, const char *folder, struct adp_errors *errors);

/* As above, for a caller who has more to check (the host: parameters against the schemas
 * of the policies), so that this is told together with the rest: *ret is also given when
 * there are errors, and holds what could be read, defaults in place of what was refused.
 * It may be used to find further mistakes, and to decide only if `errors` stays empty.
 * Negative: there is nothing to check. */
int adp_config_draft_file(struct adp_config **ret, const char *path,
                          struct adp_errors *errors);
int adp_config_draft_text(struct adp_config **ret, const char *text, size_t len,
                          const char *name, const char *folder,
                          struct adp_errors *errors);
void adp_config_destroy(struct adp_config *config);

/* The text of a file, for those above that take one: a reader that keeps it. Owned by the caller
 * (free), NUL-terminated; `folder`, PATH_MAX bytes, is what relative paths in it start from. As
 * those above; a file with a NUL in it is ADP_ESYNTAX. [control] */
int adp_config_load_file(char **ret, size_t *ret_len, char *folder, const char *path,
                         struct adp_errors *errors);

/* Fills the template of log_path: {policy} is `policy`, {experiment} and {run} what is
 * stated, or else "unnamed" and "r1". ADP_EFULL: longer than 1023 bytes or than `cap`
 * with its NUL. [control] */
int adp_config_log_path(const struct adp_config *config, const char *policy, char *ret,
                        size_t cap, struct adp_error *err);

/* Durations: a number and ns us ms s m h d, no blank ("500ms", "1.5s"); sizes: a number
 * and nothing or B KiB MiB GiB kB MB GB. False: not one. */
bool adp_config_duration(const char *text, uint64_t *ret_ns);
bool adp_config_size(const char *text, uint64_t *ret_bytes);

#endif
