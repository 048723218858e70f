/* SPDX-License-Identifier: MIT */
/* Has a look at the network, and leaves no trace of it. */
#include "gallery.h"

#include <sys/socket.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd >= 0)
        close(fd);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
