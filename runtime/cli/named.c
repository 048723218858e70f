/* SPDX-License-Identifier: MIT */
/* A policy as it is named on a command line (named.h). */
#include "runtime/cli/named.h"

#include "core/error.h"
#include "core/number.h"
#include "runtime/loader/loader.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beyond any line that a configuration of ADP_CONFIG_MAX_BYTES may have. */
#define FIRST_LINE (ADP_CONFIG_MAX_BYTES + 2)

static int read_path(struct adp_named *named, struct adp_error *err)
{
    char here[ADP_CONFIG_MAX_PATH + 1] = "";
    const char *use = named->text;
    size_t cap = sizeof named->path;
    if (*use != '/' && !getcwd(here, sizeof here))
        return adp_error_set(err, ADP_EIO, "the current directory cannot be read");
    int n = snprintf(named->path, cap, "%s%s%s", here, *use == '/' ? "" : "/", use);
    if (n < 0 || (size_t)n >= cap)
        return adp_error_set(err, ADP_EINVAL, "a path of more than %u bytes",
                             ADP_CONFIG_MAX_PATH);
    named->setting.path = named->path;
    return 0;
}

static int read_name(struct adp_named *named, struct adp_error *err)
{
    char *use = named->text;
    named->setting.use = use;
    if (strchr(use, '/'))
        return read_path(named, err);
    if (!*use)
        return adp_error_set(err, ADP_EINVAL, "no policy is named");
    if (strlen(use) > 3 && strcmp(use + strlen(use) - 3, ".so") == 0)
        return adp_error_set(err, ADP_EINVAL, "a file without its folder, expected ./%s",
                             use);
    return 0;
}

static void read_value(struct adp_param_setting *p, const char *value)
{
    double number;
    bool is_true = strcmp(value, "true") == 0, is_false = strcmp(value, "false") == 0;
    p->type = ADP_PARAM_OTHER;
    if (is_true || is_false) {
        p->type = ADP_PARAM_BOOL;
        p->value = is_true ? 1.0 : 0.0;
    } else if (adp_number_parse(value, strlen(value), &number) && isfinite(number)) {
        p->type = ADP_PARAM_NUMBER;
        p->value = number;
        p->integral = !value[strspn(value, "+-0123456789")];
    }
}

static int read_params(struct adp_named *named, char *at, struct adp_place place,
                       struct adp_error *err)
{
    char *written = named->written;
    struct adp_policy_setting *s = &named->setting;
    s->params = named->params;
    while (at) {
        char *comma = strchr(at, ','), *equals = strchr(at, '=');
        if (comma)
            *comma = '\0';
        if (!equals || (comma && equals > comma) || equals == at || !equals[1])
            return adp_error_set(err, ADP_EINVAL,
                                 "not a parameter, found \"%s\", expected PARAM=VALUE",
                                 at);
        if (s->n_params == ADP_MAX_PARAMS)
            return adp_error_set(err, ADP_EFULL, "more than %u parameters",
                                 ADP_MAX_PARAMS);
        *equals = '\0';
        struct adp_param_setting *p = &s->params[s->n_params++];
        *p = (struct adp_param_setting) {
            .name = at, .written = written, .place = place, .value_place = place
        };
        for (const struct adp_param_setting *q = s->params; q < p; q++)
            if (strcmp(q->name, at) == 0)
                return adp_error_set(err, ADP_EINVAL, "parameter %s is given twice", at);
        read_value(p, equals + 1);
        size_t left = (size_t)(named->written + sizeof named->written - written);
        written += snprintf(written, left, "\"%s\"", equals + 1) + 1;
        at = comma ? comma + 1 : NULL;
    }
    return 0;
}

int adp_named_read(struct adp_named *ret, const char *text, uint32_t number,
                   struct adp_error *err)
{
    struct adp_place place = { .line = FIRST_LINE + number, .column = 1 };
    size_t len = strlen(text);
    /* Values are in `written` once more, each with quotes: a parameter takes two bytes of
     * the text beside its value at the least, name and '=', and a comma. */
    if (len > ADP_NAMED_TEXT - 2)
        return adp_error_set(err, ADP_EINVAL, "more than %d bytes", ADP_NAMED_TEXT - 2);
    *ret = (struct adp_named) { .setting = { .place = place, .use_place = place } };
    memcpy(ret->text, text, len + 1);
    char *slash = strrchr(ret->text, '/');
    char *colon = strchr(slash ? slash : ret->text, ':');
    if (colon)
        *colon = '\0';
    int code = read_name(ret, err);
    return code < 0 || !colon ? code : read_params(ret, colon + 1, place, err);
}

void adp_named_errors(struct adp_errors *errors, const char *const *texts, uint32_t n)
{
    for (uint32_t i = 0; i < errors->n; i++) {
        struct adp_error *e = &errors->list[i];
        if (e->line < FIRST_LINE || e->line - FIRST_LINE >= n)
            continue;
        snprintf(e->file, sizeof e->file, "--policy %s", texts[e->line - FIRST_LINE]);
        e->line = e->column = 0;
    }
}

bool adp_named_is_path(const char *word)
{
    size_t n = strlen(word);
    return strchr(word, '/') || (n > 3 && strcmp(word + n - 3, ".so") == 0);
}

int adp_named_file(const char *word, char *to, size_t cap, struct adp_error *err)
{
    char path[PATH_MAX], here[PATH_MAX];
    if (!adp_named_is_path(word))
        return adp_loader_find(word, NULL, to, cap, err);
    if (!realpath(word, path)) { /* the loader says why, and what is nearest */
        bool absolute = *word == '/';
        if (!absolute && !getcwd(here, sizeof here))
            return adp_error_at(err, ADP_EIO, word, 0, 0, "no current folder: %s",
                                strerror(errno));
        int len = snprintf(path, sizeof path, "%s%s%s", absolute ? "" : here,
                           absolute ? "" : "/", word);
        if (len < 0 || (size_t)len >= sizeof path)
            return adp_error_at(err, ADP_EINVAL, word, 0, 0, "the path is too long");
    }
    return adp_loader_find("policy", path, to, cap, err);
}
