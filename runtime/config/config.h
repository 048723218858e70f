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

#include "core/signal.h"

#include <admitperf/runtime.h>
#include <stdbool.h>

#define ADP_CONFIG_MAX_BYTES    (1u << 20)
#define ADP_CONFIG_MAX_DEPTH    16u
#define ADP_CONFIG_MAX_POLICIES 8u   /* governing and shadow together */
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
    const char *written; /* the scalar as written, for messages */
    double value;        /* NUMBER; BOOL: 0 or 1 */
    bool integral;       /* written without point and exponent */
    bool stated;         /* a provenance was written */
    enum adp_provenance provenance;
    struct adp_place place, provenance_place;
};

enum adp_on_error { ADP_ON_ERROR_ADMIT, ADP_ON_ERROR_REJECT };

struct adp_policy_setting {
    const char *use;    /* a shipped name, or a path (holds a '/') */
    const char *path;   /* `use` made absolute against the file's folder; NULL: a name */
    const char *sha256; /* 64 lower-case hex digits, or NULL */
    const char *config_json; /* `config:` as JSON, or NULL */
    struct adp_param_setting *params;
    uint32_t n_params;
    double enforce; /* [0, 1]; shadow: 0 */
    enum adp_on_error on_error;
    struct adp_place place, use_place, sha256_place;
};

enum adp_status_profile { ADP_STATUS_STANDARD, ADP_STATUS_LLM_D, ADP_STATUS_DYNAMO };

struct adp_scrape_setting {
    const char *name, *url;
    uint64_t interval_ns, timeout_ns;
    struct adp_place place;
};

struct adp_config {
    const char *file;                     /* as given, for messages */
    const char *experiment, *run, *notes; /* NULL: not stated */
    const char *disclosure_json;          /* NULL: none */
    bool has_slo_ttft;
    double slo_ttft_ms;          /* disclosure.slo.ttft_ms */
    const char *split_salt;      /* NULL: the experiment */
    struct adp_signals *signals; /* dictionary, the file's signals, sources, aliases */
    struct adp_scrape_setting *scrape;
    uint32_t n_scrape;
    struct adp_policy_setting *policies; /* [0] governs, the rest are shadows; n >= 1 */
    uint32_t n_policies;
    enum adp_status_profile status_profile;
    bool log_none;
    const char *log_path;  /* template with {experiment} {policy} {run}, as written or
                              the default; relative to the current directory */
    bool log_inline;       /* log.metrics: inline */
    uint64_t rotate_bytes; /* 0: never */
    uint32_t keep;
    bool has_serve, has_scrape; /* present: an in-process host reports them as unused */
    uint64_t instance_count;    /* processes that share one quota; 1 */
    uint64_t hash;              /* XXH3-64 of the file's bytes */
};

/* Appends an error at a place of `file`; keeps at most ADP_CONFIG_MAX_ERRORS. */
void adp_errors_add(struct adp_errors *errors, int code, const char *file,
                    struct adp_place at, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Reads and checks. `folder`: what relative plugin paths start from. 0, or the code of
 * the first error with all of them in `errors`, sorted by place; *ret untouched. A file
 * without `policy:` is an error. [control] */
int adp_config_read_file(struct adp_config **ret, const char *path,
                         struct adp_errors *errors);
int adp_config_read_text(struct adp_config **ret, const char *text, size_t len,
                         const char *name, const char *folder, struct adp_errors *errors);
void adp_config_destroy(struct adp_config *config);

/* Durations: a number and ns us ms s m h d, no blank ("500ms", "1.5s"); sizes: a number
 * and nothing or B KiB MiB GiB kB MB GB. False: not one. */
bool adp_config_duration(const char *text, uint64_t *ret_ns);
bool adp_config_size(const char *text, uint64_t *ret_bytes);

#endif
