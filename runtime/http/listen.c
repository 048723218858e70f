/* SPDX-License-Identifier: MIT */
/* Sockets that are listened on. */
#include "runtime/http/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

static const uint32_t usual_mode = 0660;

/* --- unix */

static int read_group(const char *group, gid_t *ret)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(group, &end, 10);
    if (group[0] >= '0' && group[0] <= '9' && !*end && !errno && number < UINT32_MAX) {
        *ret = (gid_t)number;
        return 0;
    }
    char memory[16384];
    struct group entry, *found = NULL;
    int r = getgrnam_r(group, &entry, memory, sizeof memory, &found);
    if (!found)
        return r ? -r : UV_ESRCH;
    *ret = found->gr_gid;
    return 0;
}

/* Takes away what a process that died left there: a socket of this type that refuses. */
static int remove_stale(const struct sockaddr_un *address, int type)
{
    struct stat st;
    if (lstat(address->sun_path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(st.st_mode))
        return UV_EADDRINUSE;
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    bool refused = connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
                   errno == ECONNREFUSED;
    close(fd);
    if (!refused)
        return UV_EADDRINUSE;
    return unlink(address->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

/* The path is ours alone from bind on, unless others may write to its folder. */
static int own_path(const char *path, const struct adp_http_listen_options *options)
{
    gid_t group = (gid_t)-1;
    int r = options->group ? read_group(options->group, &group) : 0;
    if (r < 0)
        return r;
    if (options->group && lchown(path, (uid_t)-1, group) < 0)
        return -errno;
    return chmod(path, options->mode ? options->mode : usual_mode) < 0 ? -errno : 0;
}

/* Streams are refused until somebody listens, but datagrams come from bind on: so the path is
 * made for us alone, which on Linux is the mode that the socket has by then. */
static int bind_path(int fd, const struct sockaddr_un *address)
{
    return fchmod(fd, S_IRUSR | S_IWUSR) < 0 ||
                   bind(fd, (const struct sockaddr *)address, sizeof *address) < 0
               ? -errno
               : 0;
}

static int listen_unix(const char *path, const struct adp_http_listen_options *options,
                       int type, int *ret_fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t len = strlen(path);
    if (!len)
        return UV_EINVAL;
    if (len >= sizeof address.sun_path)
        return UV_ENAMETOOLONG;
    memcpy(address.sun_path, path, len + 1);
    int r = remove_stale(&address, type);
    if (r < 0)
        return r;
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    r = bind_path(fd, &address);
    if (r < 0) {
        close(fd);
        return r;
    }
    r = own_path(path, options);
    if (r == 0 && type == SOCK_STREAM)
        r = listen(fd, SOMAXCONN) < 0 ? -errno : 0;
    if (r < 0) {
        unlink(path);
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

/* --- TCP, UDP */

/* Splits "HOST:PORT" or "[ADDRESS]:PORT". */
static int split(const char *address, char host[256], char port[6])
{
    bool bracketed = address[0] == '[';
    const char *from = address + bracketed;
    const char *colon = strrchr(address, ':');
    const char *end = colon && bracketed ? colon - 1 : colon;
    if (!colon || end <= from || (bracketed && *end != ']'))
        return UV_EINVAL;
    size_t host_len = (size_t)(end - from), port_len = strlen(colon + 1);
    if (host_len > 255 || !port_len || port_len > 5 ||
        strspn(colon + 1, "0123456789") != port_len ||
        (!bracketed && memchr(from, ':', host_len)))
        return UV_EINVAL;
    memcpy(host, from, host_len);
    host[host_len] = '\0';
    memcpy(port, colon + 1, port_len + 1);
    return strtoul(port, NULL, 10) <= 65535 ? 0 : UV_EINVAL;
}

static int eai_code(int r)
{
    switch (r) {
    case EAI_SYSTEM:
        return -errno;
    case EAI_MEMORY:
        return UV_ENOMEM;
    case EAI_AGAIN:
        return UV_EAI_AGAIN;
    case EAI_FAIL:
        return UV_EAI_FAIL;
    default:
        return UV_EAI_NONAME;
    }
}

static int open_ip(const struct addrinfo *info, int *ret_fd)
{
    bool stream = info->ai_socktype == SOCK_STREAM;
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    const int on = 1;
    int r = 0;
    if (stream) /* of datagrams it would let two read from one port */
        r = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (r == 0 && info->ai_family == AF_INET6)
        r = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (r == 0)
        r = bind(fd, info->ai_addr, info->ai_addrlen);
    if (r == 0 && stream)
        r = listen(fd, SOMAXCONN);
    if (r < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static int listen_ip(const char *address, int type, int *ret_fd)
{
    char host[256], port[6];
    int r = split(address, host, port);
    if (r < 0)
        return r;
    struct addrinfo hints = { .ai_family = address[0] == '[' ? AF_INET6 : AF_UNSPEC,
                              .ai_socktype = type,
                              .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    r = getaddrinfo(host, port, &hints, &found);
    if (r != 0)
        return eai_code(r);
    r = open_ip(found, ret_fd);
    freeaddrinfo(found);
    return r;
}

int adp_http_listen(const char *address, const struct adp_http_listen_options *options,
                    int *ret_fd)
{
    static const struct adp_http_listen_options none = { 0 };
    const struct adp_http_listen_options *o = options ? options : &none;
    int type = o->datagrams ? SOCK_DGRAM : SOCK_STREAM;
    if (strncmp(address, "unix:", 5) == 0)
        return listen_unix(address + 5, o, type, ret_fd);
    return listen_ip(address, type, ret_fd);
}

/* --- what is there */

static int option_of(int fd, int name, int *ret)
{
    socklen_t len = sizeof *ret;
    return getsockopt(fd, SOL_SOCKET, name, ret, &len) < 0 ? -errno : 0;
}

int adp_http_listen_inherited(int fd)
{
    int type = 0, domain = 0, accepting = 0;
    if (option_of(fd, SO_TYPE, &type) < 0 || option_of(fd, SO_DOMAIN, &domain) < 0 ||
        option_of(fd, SO_ACCEPTCONN, &accepting) < 0 || type != SOCK_STREAM ||
        !accepting || (domain != AF_UNIX && domain != AF_INET && domain != AF_INET6))
        return UV_EINVAL;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;
    return 0;
}

/* The bound path, "" if there is none (unnamed, abstract, or no unix socket). */
static void path_of(int fd, char path[sizeof(struct sockaddr_un)])
{
    struct sockaddr_un address = { 0 };
    socklen_t len = sizeof address;
    path[0] = '\0';
    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
        address.sun_family != AF_UNIX)
        return;
    size_t n = strnlen(address.sun_path, sizeof address.sun_path);
    memcpy(path, address.sun_path, n);
    path[n] = '\0';
}

int adp_http_listen_address(int fd, char *to, size_t cap)
{
    struct sockaddr_storage address = { 0 };
    socklen_t len = sizeof address;
    char path[sizeof(struct sockaddr_un)], host[INET6_ADDRSTRLEN + 32], port[8];
    int n;
    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return -errno;
    if (address.ss_family == AF_UNIX) {
        path_of(fd, path);
        n = snprintf(to, cap, "unix:%s", path);
    } else {
        if (getnameinfo((struct sockaddr *)&address, len, host, sizeof host, port,
                        sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
            return UV_EINVAL;
        n = snprintf(to, cap, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
                     port);
    }
    return n < 0 || (size_t)n >= cap ? UV_ENOBUFS : 0;
}

static void remove_path(const char *path, int type)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t len = strlen(path);
    if (!len || len >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, len + 1);
    /* Which inode the path was is not told by a socket. But ours refuses now, and if somebody
     * answers there, it is another's, or a duplicate of ours still in use. */
    remove_stale(&address, type);
}

void adp_http_listen_close(int fd)
{
    char path[sizeof(struct sockaddr_un)];
    int type = SOCK_STREAM;
    path_of(fd, path);
    option_of(fd, SO_TYPE, &type);
    close(fd);
    remove_path(path, type);
}

void adp_http_listen_remove(const char *address, bool datagrams)
{
    if (strncmp(address, "unix:", 5) == 0)
        remove_path(address + 5, datagrams ? SOCK_DGRAM : SOCK_STREAM);
}
