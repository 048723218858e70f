/* SPDX-License-Identifier: MIT */
/* The file that --html names. */
#include "runtime/cli/html_file.h"

#include "core/error.h"
#include "runtime/cli/say.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool adp_html_file_write(const char *name, int (*write)(const void *what, FILE *to),
                         const void *what)
{
    FILE *to = fopen(name, "we");
    struct stat st = { 0 };
    int e = to ? write(what, to) : ADP_EIO;
    int why = errno;
    /* A device or a pipe is not ours to take away. */
    bool ours = to && !fstat(fileno(to), &st) && S_ISREG(st.st_mode);
    if (to && fclose(to) && !e) {
        e = ADP_EIO;
        why = errno;
    }
    if (!e)
        return true;
    if (e == ADP_ENOMEM)
        adp_say("out of memory");
    else
        adp_say("%s: cannot be written: %s", name, strerror(why));
    if (ours)
        unlink(name);
    return false;
}
