/* SPDX-License-Identifier: MIT */
/* Takes from the host, for good, what set-user-ID programs give. */
#include "gallery.h"

#include <sys/prctl.h>

__attribute__((constructor)) static void begin(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
