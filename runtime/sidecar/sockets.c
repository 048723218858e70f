/* SPDX-License-Identifier: MIT */
/* Sockets that are listened on (sockets.h). */
#include "runtime/sidecar/sockets.h"

#include "core/error.h"
#include "runtime/http/http.h"
#include "runtime/http/listen.h"
#include "runtime/sidecar/datagram.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int adp_sockets_add_take(struct adp_sockets *sockets, struct adp_socket socket,
                         bool opened, adp_error *err)
{
    if (sockets->n == ADP_MAX_SOCKETS) {
        close(socket.fd);
        return adp_error_set(err, ADP_EFULL, "more than %u sockets", ADP_MAX_SOCKETS);
    }
    sockets->opened[sockets->n] = opened;
    sockets->list[sockets->n++] = socket;
    return 0;
}

/* --- given --- */

static bool is_given(const struct adp_socket *given, uint32_t n,
                     enum adp_socket_kind kind)
{
    for (uint32_t i = 0; i < n; i++)
        if (given[i].kind == kind)
            return true;
    return false;
}

/* Whether an inherited socket can be reached from this machine only. */
static bool is_local(int fd)
{
    struct sockaddr_storage at = { 0 };
    socklen_t len = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return false;
    if (at.ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)&at)->sin_addr.s_addr) >> 24 == 127;
    if (at.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&at)->sin6_addr);
    return at.ss_family == AF_UNIX;
}

static int take_given(struct adp_sockets *sockets, const struct adp_serve_setting *serve,
                      const struct adp_socket *given, uint32_t n, adp_error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool closed = given[i].kind != ADP_SOCKET_HTTP || !serve->token_file;
        bool local = is_local(given[i].fd);
        int added = adp_sockets_add_take(sockets, given[i], false, err);
        if (code == 0 && added == 0 && closed && !local)
            code =
                adp_error_set(err, ADP_EINVAL,
                              "a socket that was handed over can be reached from other "
                              "machines, which needs serve.token_file (and never for "
                              "SPOP and outcomes)");
        if (code == 0)
            code = added;
    }
    return code;
}

/* --- opened --- */

static int open_one(struct adp_sockets *sockets, const struct adp_listen_setting *listen,
                    enum adp_socket_kind kind, adp_error *err)
{
    const struct adp_http_listen_options options = {
        .mode = listen->mode,
        .group = listen->group,
        .datagrams = kind == ADP_SOCKET_OUTCOMES,
    };
    int fd, code = adp_http_listen(listen->address, &options, &fd);
    if (code < 0)
        return adp_error_set(err, ADP_EIO, "%s: cannot listen: %s", listen->address,
                             adp_http_error_text(code));
    if (options.datagrams)
        adp_datagram_widen(fd);
    return adp_sockets_add_take(sockets, (struct adp_socket) { fd, kind }, true, err);
}

static int open_all(struct adp_sockets *sockets, const struct adp_listen_settings *listen,
                    enum adp_socket_kind kind, adp_error *err)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < listen->n; i++)
        code = open_one(sockets, &listen->list[i], kind, err);
    return code;
}

int adp_sockets_open(struct adp_sockets *sockets, const struct adp_serve_setting *serve,
                     const struct adp_socket *given, uint32_t n_given, adp_error *err)
{
    struct adp_listen_setting own = { .address = ADP_DEFAULT_LISTEN, .local = true };
    const struct adp_listen_settings ours = { &own, 1 };
    const struct adp_listen_settings *named[] = {
        [ADP_SOCKET_HTTP] = serve->listen.n ? &serve->listen : &ours,
        [ADP_SOCKET_SPOP] = &serve->spop,
        [ADP_SOCKET_OUTCOMES] = &serve->outcomes,
    };
    int code = take_given(sockets, serve, given, n_given, err);
    for (int kind = 0; code == 0 && kind < ADP_SOCKET_KINDS; kind++)
        if (!is_given(given, n_given, (enum adp_socket_kind)kind))
            code = open_all(sockets, named[kind], (enum adp_socket_kind)kind, err);
    return code;
}

void adp_sockets_close(struct adp_sockets *sockets)
{
    for (uint32_t i = 0; i < sockets->n; i++) {
        if (sockets->opened[i])
            adp_http_listen_close(sockets->list[i].fd);
        else
            close(sockets->list[i].fd);
    }
    sockets->n = 0;
}

void adp_sockets_refuse(const struct adp_sockets *sockets)
{
    for (uint32_t i = 0; i < sockets->n; i++)
        if (sockets->opened[i] && sockets->list[i].kind != ADP_SOCKET_OUTCOMES)
            shutdown(sockets->list[i].fd, SHUT_RDWR);
}

/* --- descriptors --- */

bool adp_sockets_are_scarce(uint64_t connections, char *to, size_t cap)
{
    enum { OTHERS = 100 }; /* listeners, each thread's own, pages, the log, policies */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= connections + OTHERS)
        return false;
    snprintf(to, cap,
             "limits.connections of all threads need %llu descriptors with all else, and "
             "RLIMIT_NOFILE is %llu: beyond that clients are not accepted",
             (unsigned long long)connections + OTHERS,
             (unsigned long long)limit.rlim_cur);
    return true;
}

/* --- in words --- */

bool adp_sockets_address(const struct adp_sockets *sockets, enum adp_socket_kind kind,
                         uint32_t i, char *to, size_t cap)
{
    for (uint32_t k = 0; k < sockets->n; k++) {
        if (sockets->list[k].kind != kind || i--)
            continue;
        return kind == ADP_SOCKET_OUTCOMES
                   ? adp_datagram_address(sockets->list[k].fd, to, cap)
                   : adp_http_listen_address(sockets->list[k].fd, to, cap) == 0;
    }
    return false;
}

void adp_sockets_say(const struct adp_sockets *sockets,
                     const struct adp_sidecar_options *options)
{
    static const char *const what[ADP_SOCKET_KINDS] = { [ADP_SOCKET_HTTP] = "http",
                                                        [ADP_SOCKET_SPOP] = "spop",
                                                        [ADP_SOCKET_OUTCOMES] =
                                                            "outcomes" };
    char address[160], text[192];
    for (int kind = 0; options->say && kind < ADP_SOCKET_KINDS; kind++)
        for (uint32_t i = 0; adp_sockets_address(sockets, (enum adp_socket_kind)kind, i,
                                                 address, sizeof address);
             i++) {
            snprintf(text, sizeof text, "%s on %s", what[kind], address);
            options->say(options->ctx, text);
        }
}
