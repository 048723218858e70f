/* SPDX-License-Identifier: MIT */
/* Datagrams (datagram.h). */
#include "runtime/sidecar/datagram.h"

#include "core/error.h"
#include "runtime/sidecar/outcome.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* What a burst may bring before we come to it: 16,000 small lines or so. */
enum { RECEIVE_BYTES = 8 << 20, AT_ONCE = 256 };

static int fail(adp_error *err, const char *address, const char *what)
{
    return adp_error_set(err, ADP_EIO, "%s: %s: %s", address, what, strerror(errno));
}

/* --- unix --- */

/* Nobody reads there any more: a send says so. */
static bool is_left_over(const struct sockaddr_un *at)
{
    struct stat st;
    if (stat(at->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool dead = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof *at) < 0 &&
                errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return dead;
}

static int own(const struct adp_listen_setting *listen, const char *path, adp_error *err)
{
    char room[4096];
    struct group group, *found = NULL;
    if (listen->group) {
        if (getgrnam_r(listen->group, &group, room, sizeof room, &found) || !found)
            return adp_error_set(err, ADP_EIO, "%s: no group \"%s\"", listen->address,
                                 listen->group);
        if (chown(path, (uid_t)-1, group.gr_gid) < 0)
            return fail(err, listen->address, "its group cannot be set");
    }
    return chmod(path, listen->mode ? listen->mode : 0660) < 0
               ? fail(err, listen->address, "its mode cannot be set")
               : 0;
}

static int open_unix(const struct adp_listen_setting *listen, int fd, adp_error *err)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const char *path = listen->address + strlen("unix:");
    memcpy(at.sun_path, path, strlen(path)); /* at most 107 bytes: config/serve.c */
    if (is_left_over(&at))
        unlink(path);
    mode_t mask = umask(0177); /* closed until it has its mode */
    int code = bind(fd, (struct sockaddr *)&at, sizeof at);
    umask(mask);
    return code < 0 ? fail(err, listen->address, "cannot listen")
                    : own(listen, path, err);
}

/* --- UDP --- */

static int open_udp(const struct adp_listen_setting *listen, int *ret_fd, adp_error *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *found;
    const char *colon = strrchr(listen->address, ':');
    const char *host = listen->address;
    size_t n = (size_t)(colon - host);
    char name[256];
    if (*host == '[') {
        host++;
        n -= 2;
    }
    snprintf(name, sizeof name, "%.*s", (int)n, host);
    int code = getaddrinfo(name, colon + 1, &hints, &found);
    if (code)
        return adp_error_set(err, ADP_EIO, "%s: %s", listen->address, gai_strerror(code));
    int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool bound = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    freeaddrinfo(found);
    if (!bound) {
        fail(err, listen->address, "cannot listen");
        if (fd >= 0)
            close(fd);
        return ADP_EIO;
    }
    *ret_fd = fd;
    return 0;
}

int adp_datagram_open(const struct adp_listen_setting *listen, int *ret_fd,
                      adp_error *err)
{
    int fd, bytes = RECEIVE_BYTES, code;
    if (strncmp(listen->address, "unix:", 5) == 0) {
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            return fail(err, listen->address, "no socket");
        code = open_unix(listen, fd, err);
        if (code < 0)
            close(fd);
    } else
        code = open_udp(listen, &fd, err);
    if (code < 0)
        return code;
    /* Beyond the system's limit it is cut to that. */
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    *ret_fd = fd;
    return 0;
}

bool adp_datagram_take(struct adp_desk *desk, int fd, char *buffer)
{
    for (int i = 0; i < AT_ONCE; i++) {
        ssize_t n = recv(fd, buffer, ADP_DATAGRAM_MAX, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n > 0)
            adp_outcome_datagram(desk, buffer, (size_t)n);
    }
    return true;
}

void adp_datagram_close(int fd, bool opened)
{
    struct sockaddr_un at;
    socklen_t len = sizeof at;
    if (opened && getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
        at.sun_family == AF_UNIX && len > sizeof(sa_family_t))
        unlink(at.sun_path);
    close(fd);
}

bool adp_datagram_address(int fd, char *to, size_t cap)
{
    struct sockaddr_storage at = { 0 };
    socklen_t len = sizeof at;
    char host[128], port[16];
    if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return false;
    if (at.ss_family == AF_UNIX) {
        snprintf(to, cap, "unixgram:%s", ((const struct sockaddr_un *)&at)->sun_path);
        return true;
    }
    if (getnameinfo((struct sockaddr *)&at, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV))
        return false;
    bool v6 = at.ss_family == AF_INET6;
    snprintf(to, cap, "udp:%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
    return true;
}
