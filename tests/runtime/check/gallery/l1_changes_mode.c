/* SPDX-License-Identifier: MIT */
/* Changes the mode of a file that it has opened to be read. (To what it is, if it could.) */
#include "gallery.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0)
        fchmod(fd, st.st_mode & 07777);
    close(fd);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
