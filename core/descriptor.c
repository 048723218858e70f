/* SPDX-License-Identifier: MIT */
/* Descriptors that are kept (core/descriptor.h). */
#include "core/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int adp_descriptor_keep_take(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int kept = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int error = errno;
    close(fd);
    errno = error;
    return kept;
}
