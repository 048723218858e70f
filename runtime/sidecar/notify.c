/* SPDX-License-Identifier: MIT */
/* sd_notify (notify.h). */
#include "runtime/sidecar/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static void notify(const char *text, int flags)
{
    const struct timeval patience = { 1, 0 };
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path ? strlen(path) : 0;
    if (!len || len >= sizeof at.sun_path || (*path != '/' && *path != '@'))
        return;
    memcpy(at.sun_path, path, len);
    if (*path == '@') /* an abstract name, whose length is part of it */
        at.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    (void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL | flags, (struct sockaddr *)&at,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}

void adp_notify(const char *text)
{
    notify(text, 0);
}

void adp_notify_watchdog(void)
{
    notify("WATCHDOG=1", MSG_DONTWAIT);
}

/* Of an environment variable: a whole number, or 0. */
static uint64_t number_of(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    unsigned long long value =
        text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    return end && !*end ? value : 0;
}

uint64_t adp_notify_period_ns(void)
{
    uint64_t us = number_of("WATCHDOG_USEC"), pid = number_of("WATCHDOG_PID");
    if ((pid && pid != (uint64_t)getpid()) || us > UINT64_MAX / 1000)
        return 0;
    return us * 1000 / 2;
}
