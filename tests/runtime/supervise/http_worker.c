/* SPDX-License-Identifier: MIT */
/* A worker as a sidecar would be one: runtime/http in front of a host, one loop.
 *   http_worker CONFIG.yaml
 * GET /?ID or /?ID&crash: "A" decided, "F" by the worker that found it owed, and that one's
 * decided answer again where it was decided before. */
#include "runtime/host/host.h"
#include "runtime/http/http.h"
#include "runtime/supervise/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct adp_worker *worker;
static adp_runtime *rt;
static adp_lane *lane;
static struct adp_http_server *server;
static bool steps_down;
static uint32_t slot; /* of the request at hand: told of just before it is delivered */

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "http_worker: %s: %s\n", what, why);
    _exit(9);
}

/* --- the server's functions --- */

static void standing(void *ctx, uint32_t at, const struct adp_http_standing *s)
{
    (void)ctx;
    const struct adp_standing now = { .fd = s->fd,
                                      .owed = s->owed,
                                      .note = s->heads,
                                      .last = s->last,
                                      .unread = s->unread,
                                      .partly_read = s->partly_read,
                                      .partly_written = s->partly_written };
    slot = at;
    adp_worker_stand(worker, at, &now);
}

static bool hold(void *ctx, uint32_t at, const void *bytes, size_t len, bool more)
{
    (void)ctx;
    return adp_worker_hold(worker, at, bytes, len, more);
}

static void answer(uint64_t exchange, const char *text)
{
    const struct adp_http_answer a = {
        .status = 200, .type = "text/plain", .body = text, .body_len = 1
    };
    adp_http_answer(server, exchange, &a);
}

static void request(void *ctx, const struct adp_http_request *r)
{
    (void)ctx;
    char id[64];
    uint64_t note[3] = { 0 };
    struct adp_http_text query = r->query;
    size_t n = query.at ? query.len : 0;
    const char *amp = n ? memchr(query.at, '&', n) : NULL;
    size_t len = amp ? (size_t)(amp - query.at) : n;
    snprintf(id, sizeof id, "%.*s", (int)len, n ? query.at : "");
    adp_worker_owe(worker, slot, 1, note);
    adp_facts facts = { .size = sizeof facts,
                        .request_id = id,
                        .tenant = amp ? "crash" : NULL };
    adp_decision d = { .size = sizeof d };
    adp_lane_decide(lane, &facts, &d);
    note[0] = (uint64_t)(d.admitted ? 'A' : 'R');
    adp_worker_owe(worker, slot, 1, note);
    answer(r->exchange, d.admitted ? "A" : "R");
}

static void tick(void *ctx, uint64_t now_ns)
{
    (void)ctx;
    adp_worker_beat(worker, 0, now_ns);
    adp_host_save(rt, NULL);
}

static void told(void *ctx, int fd)
{
    (void)ctx;
    (void)fd;
    uint32_t within_ms = 0;
    switch (adp_worker_told(worker, &within_ms)) {
    case ADP_TELL_DRAIN:
        adp_http_server_drain(server, within_ms);
        break;
    case ADP_TELL_STEP_DOWN:
        steps_down = true;
        adp_http_server_leave(server, within_ms);
        break;
    case ADP_TELL_GONE:
        _exit(0);
    default:
        break;
    }
}

static void adopt_all(void)
{
    struct adp_held held;
    uint64_t exchange[ADP_OWED_MAX];
    for (uint32_t i = 0; i < adp_worker_inherited(worker); i++) {
        if (!adp_worker_adopt(worker, i, &held))
            continue;
        const struct adp_http_standing s = { .fd = held.standing.fd,
                                             .owed = held.standing.owed,
                                             .heads = held.standing.note,
                                             .last = held.standing.last,
                                             .unread = held.standing.unread };
        if (adp_http_server_adopt_take(server, &s, held.unread, exchange) < 0)
            continue;
        for (uint32_t k = 0; k < s.owed; k++)
            answer(exchange[k], held.owed[k].note[0] == 'A'   ? "A"
                                : held.owed[k].note[0] == 'R' ? "R"
                                                              : "F");
    }
}

int main(int argc, char **argv)
{
    static struct adp_beyond beyond;
    const struct adp_host_options options = { .beyond = &beyond };
    const struct adp_http_options http = {
        .calls = { .request = request, .standing = standing, .hold = hold, .tick = tick }
    };
    struct adp_error err = { 0 };
    if (argc != 2 || adp_worker_attach(&worker, &err) < 0)
        fail("attach", err.text);
    adp_worker_beyond(worker, &beyond);
    if (adp_host_open(&rt, argv[1], &options, NULL) < 0 ||
        adp_runtime_start(rt, &err) < 0 || adp_lane_open(&lane, rt, &err) < 0)
        fail(argv[1], err.text);
    if (adp_http_server_create(&server, &http) < 0)
        fail("server", "cannot be created");
    adopt_all();
    if (adp_worker_listeners(worker))
        adp_http_server_listen_take(server, adp_worker_listener(worker, 0));
    adp_http_server_watch(server, adp_worker_fd(worker), told, NULL);
    adp_worker_ready(worker);
    adp_http_server_run(server);
    if (steps_down)
        _exit(0);
    adp_http_server_destroy(server);
    adp_runtime_close(rt, NULL);
    adp_worker_destroy(worker);
    return 0;
}
