/* SPDX-License-Identifier: MIT */
/* A page of metrics from a file (page_file.h). */
#include "runtime/cli/page_file.h"

#include "core/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 16 << 20 };

int adp_page_file_read(const char *name, char **ret, size_t *ret_len,
                       struct adp_error *err)
{
    bool in = strcmp(name, "-") == 0;
    if (strstr(name, "://"))
        return adp_error_at(err, ADP_EINVAL, name, 0, 0,
                            "is an address, and here a page is read from a file or - for "
                            "stdin: curl -s ADDRESS | admitperf ... -");
    FILE *f = in ? stdin : fopen(name, "re");
    if (!f)
        return adp_error_at(
            err, ADP_EIO, name, 0, 0, "cannot open: %s%s", strerror(errno),
            errno == ENOENT && strchr(name, ':') ? "; an address begins with http://"
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
    return code;
}
