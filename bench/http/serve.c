/* SPDX-License-Identifier: MIT */
/* The least a server of runtime/http can do: 200 to whatever is asked, on the addresses named on
 * the command line, until its standard input ends. Prints where it listens. */
#include "runtime/http/http.h"
#include "runtime/http/listen.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct adp_http_server *server;

static void on_request(void *ctx, const struct adp_http_request *request)
{
    const struct adp_http_answer answer = { .status = 200, .type = "text/plain" };
    (void)ctx;
    adp_http_answer(server, request->exchange, &answer);
}

static void on_readable(void *ctx, int fd)
{
    char byte;
    (void)ctx;
    if (read(fd, &byte, 1) <= 0)
        adp_http_server_drain(server, 0);
}

static int listen_on(const char *address)
{
    char told[256];
    int fd = -1;
    int r = adp_http_listen(address, NULL, &fd);
    if (r == 0)
        r = adp_http_listen_address(fd, told, sizeof told);
    if (r == 0)
        r = adp_http_server_listen_take(server, fd);
    if (r < 0) {
        fprintf(stderr, "serve: %s: %s\n", address, adp_http_error_text(r));
        return r;
    }
    printf("%s\n", told);
    return 0;
}

int main(int argc, char **argv)
{
    const struct adp_http_options options = { .calls = { .request = on_request } };
    int r = adp_http_server_create(&server, &options);
    for (int i = 1; i < argc && r == 0; i++)
        r = listen_on(argv[i]);
    if (r == 0)
        r = adp_http_server_watch(server, STDIN_FILENO, on_readable, NULL);
    fflush(stdout);
    if (r == 0)
        adp_http_server_run(server);
    adp_http_server_destroy(server);
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
