/* SPDX-License-Identifier: MIT */
/* Sockets from systemd: sd_listen_fds(3), in its few lines. */
#include "core/error.h"
#include "runtime/sidecar/sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST = 3 };

/* Of an environment variable: a whole number, or 0. */
static long number_of(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    long value = text && *text ? strtol(text, &end, 10) : 0;
    return end && !*end ? value : 0;
}

static int kind_of(int fd, const char *name, size_t len, enum adp_socket_kind *ret,
                   adp_error *err)
{
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
        return adp_error_set(err, ADP_EINVAL, "descriptor %d of LISTEN_FDS: %s", fd,
                             strerror(errno));
    if (type == SOCK_STREAM)
        *ret =
            len == 4 && memcmp(name, "spop", 4) == 0 ? ADP_SOCKET_SPOP : ADP_SOCKET_HTTP;
    else if (type == SOCK_DGRAM)
        *ret = ADP_SOCKET_OUTCOMES;
    else
        return adp_error_set(err, ADP_EINVAL,
                             "descriptor %d of LISTEN_FDS is neither a stream socket nor "
                             "one of datagrams",
                             fd);
    return 0;
}

int adp_sidecar_inherit(struct adp_socket *ret, uint32_t *ret_n, adp_error *err)
{
    long n = number_of("LISTEN_PID") == getpid() ? number_of("LISTEN_FDS") : 0;
    const char *names = getenv("LISTEN_FDNAMES");
    int code = 0;
    *ret_n = 0;
    if (n < 0 || n > (long)ADP_MAX_SOCKETS)
        code = adp_error_set(err, ADP_EINVAL, "LISTEN_FDS is %ld, expected at most %u", n,
                             ADP_MAX_SOCKETS);
    for (int i = 0; code == 0 && i < n; i++) {
        size_t len = names ? strcspn(names, ":") : 0;
        ret[i].fd = FIRST + i;
        code = kind_of(ret[i].fd, names, len, &ret[i].kind, err);
        fcntl(ret[i].fd, F_SETFD, FD_CLOEXEC);
        fcntl(ret[i].fd, F_SETFL, O_NONBLOCK);
        if (names)
            names += len + (names[len] == ':');
        ++*ret_n;
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return code;
}
