/* SPDX-License-Identifier: MIT */
/* A page of metrics from a file (page_file.h). */
#include "runtime/cli/page_file.h"

#include "core/error.h"
#include "core/promtext.h"
#include "runtime/cli/say.h"
#include "runtime/scrape/ending.h"
#include "runtime/scrape/left.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 16 << 20 };

/* Nothing is left of it: it was cut, or it is no page at all. */
static int refuse(const char *name, const char *page, size_t len, struct adp_error *err)
{
    struct adp_metrics *metrics;
    int code = adp_metrics_create(&metrics);
    if (code < 0)
        return adp_error_set(err, code, "out of memory");
    code = adp_promtext_read(metrics, page, adp_page_ended(page, len), NULL, err);
    adp_metrics_destroy(metrics);
    if (code < 0 && err && !err->file[0])
        snprintf(err->file, sizeof err->file, "%s", name);
    return code < 0 ? code : adp_error_at(err, ADP_ESYNTAX, name, 0, 0, ADP_LEFT_NOTHING);
}

/* A number that was cut off is a shorter number. */
static int take_ending(const char *name, char *page, size_t *len, uint32_t *ret_cut,
                       struct adp_error *err)
{
    size_t blank = 0;
    while (blank < *len && strchr(" \t\r\n", page[blank]) && page[blank])
        blank++;
    if (blank == *len) {
        *len = 0;
        return 0;
    }
    size_t read = adp_page_ending(page, *len, ret_cut);
    if (!read)
        return refuse(name, page, *len, err);
    *len = read;
    if (*ret_cut)
        adp_say("%s: " ADP_LEFT_CUT, name, *ret_cut);
    return 0;
}

int adp_page_file_read(const char *name, char **ret, size_t *ret_len, uint32_t *ret_cut,
                       struct adp_error *err)
{
    bool in = strcmp(name, "-") == 0;
    if (strstr(name, "://"))
        return adp_error_at(err, ADP_EINVAL, name, 0, 0,
                            "is an address, and here a page is read from a file or - for "
                            "stdin: curl -s ADDRESS | admitperf ... -");
    if (!*name)
        return adp_error_set(err, ADP_EINVAL,
                             "the page's name is empty, expected a file or - for stdin");
    FILE *f = in ? stdin : fopen(name, "re");
    if (!f)
        return adp_error_at(err, ADP_EIO, name, 0, 0, "cannot open: %s%s",
                            strerror(errno),
                            errno == ENOENT && strchr(name, ':')
                                ? "; an address begins with http://, https:// or unix:/"
                                : "");
    int code = 0;
    *ret = malloc(MOST_BYTES + 1);
    if (!*ret)
        code = adp_error_set(err, ADP_ENOMEM, "out of memory");
    else
        *ret_len = fread(*ret, 1, MOST_BYTES + 1, f);
    if (code == 0 && ferror(f))
        code = adp_error_at(err, ADP_EIO, name, 0, 0, "cannot read: %s", strerror(errno));
    if (code == 0 && *ret_len > MOST_BYTES)
        code = adp_error_at(err, ADP_EFULL, name, 0, 0, "more than %d bytes", MOST_BYTES);
    if (!in)
        fclose(f);
    if (code == 0)
        code = take_ending(name, *ret, ret_len, ret_cut, err);
    return code;
}
