/* SPDX-License-Identifier: MIT */
/* Drives one connection without a socket: bytes in, a transcript out, time by hand.
 * Included by one file of a program. */
#ifndef ADP_TESTS_HTTP_DRIVER_H
#define ADP_TESTS_HTTP_DRIVER_H

#include "runtime/http/conn.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

enum { MAX_KEPT = 128, TRANSCRIPT = 1 << 20 };

struct driver {
    struct adp_http_env env;
    struct adp_http_conn conn;
    uint64_t now_ns;
    size_t takes; /* what the client takes of a write; SIZE_MAX: all */

    /* what the test's server does */
    bool later;              /* answers nothing by itself */
    uint64_t kept[MAX_KEPT]; /* exchanges, in the order of requests */
    unsigned n_kept, n_gone;
    uint64_t gone[MAX_KEPT];
    struct adp_http_standing standing;
    struct adp_http_standing in_request; /* as told before the last request */
    char held[256]; /* what was given to be kept; `holds`: at most so many bytes are */
    size_t held_len, holds;

    char out[TRANSCRIPT]; /* what the client got, NUL-terminated */
    size_t out_len;
    char seen[TRANSCRIPT]; /* "METHOD path?query [body]\n" of each request */
    size_t seen_len;
    enum adp_http_next next;
};

/* An assertion that allocates nothing, as those of Check do. */
static void must(bool holds)
{
    if (!holds)
        abort();
}

static void driver_answer(struct driver *d, uint64_t exchange, const char *body)
{
    struct adp_http_answer answer = { .status = 200,
                                      .body = body,
                                      .body_len = strlen(body) };
    must(adp_http_conn_answer(&d->conn, exchange, &answer, false) == 0);
}

static void on_request(void *ctx, const struct adp_http_request *request)
{
    static const char *const methods[] = { "?",   "GET",    "HEAD",   "POST",
                                           "PUT", "DELETE", "OPTIONS" };
    struct driver *d = ctx;
    d->seen_len += (size_t)snprintf(
        d->seen + d->seen_len, sizeof d->seen - d->seen_len, "%s %.*s%s%.*s [%.*s]\n",
        methods[request->method], (int)request->path.len, request->path.at,
        request->query.at ? "?" : "", (int)request->query.len,
        request->query.at ? request->query.at : "", (int)request->body.len,
        request->body.len ? request->body.at : "");
    d->in_request = d->standing;
    d->kept[d->n_kept++ % MAX_KEPT] = request->exchange;
    if (!d->later)
        driver_answer(d, request->exchange, "ok");
}

static void on_gone(void *ctx, uint64_t exchange)
{
    struct driver *d = ctx;
    d->gone[d->n_gone++ % MAX_KEPT] = exchange;
}

static void on_standing(void *ctx, uint32_t slot,
                        const struct adp_http_standing *standing)
{
    struct driver *d = ctx;
    (void)slot;
    d->standing = *standing;
}

static bool on_hold(void *ctx, uint32_t slot, const void *bytes, size_t len, bool more)
{
    struct driver *d = ctx;
    size_t at = more ? d->held_len : 0;
    (void)slot;
    if (at + len > d->holds)
        return false;
    memcpy(d->held + at, bytes, len);
    d->held_len = at + len;
    return true;
}

/* A connection that was just accepted, under these limits. */
static struct driver *driver_create(struct adp_http_limits limits)
{
    struct driver *d = calloc(1, sizeof *d);
    ck_assert_ptr_nonnull(d);
    ck_assert_int_eq(adp_http_limits_settle(&limits), 0);
    d->env.limits = limits;
    d->env.calls = (struct adp_http_calls) { .ctx = d,
                                             .request = on_request,
                                             .gone = on_gone,
                                             .standing = on_standing,
                                             .hold = on_hold };
    d->takes = SIZE_MAX;
    d->now_ns = SECOND;
    ck_assert_int_eq(adp_http_conn_init(&d->conn, &d->env, 7), 0);
    adp_http_conn_open(&d->conn, 42, d->now_ns);
    d->next = ADP_HTTP_READ;
    return d;
}

static void driver_destroy(struct driver *d)
{
    adp_http_conn_finish(&d->conn);
    adp_http_pool_finish(&d->env.pool);
    free(d);
}

/* Lets the client take what it takes; returns whether it took anything. */
static bool driver_flush(struct driver *d)
{
    char *bytes;
    size_t len = adp_http_conn_output(&d->conn, d->now_ns, &bytes);
    size_t n = len < d->takes ? len : d->takes;
    if (!n || d->conn.failed)
        return false;
    must(d->out_len + n < sizeof d->out);
    memcpy(d->out + d->out_len, bytes, n);
    d->out_len += n;
    d->out[d->out_len] = '\0';
    if (d->takes != SIZE_MAX)
        d->takes -= n;
    adp_http_conn_wrote(&d->conn, n, d->now_ns);
    return true;
}

/* As the server does after each step. */
static void driver_settle(struct driver *d)
{
    while (driver_flush(d)) {
    }
    while (adp_http_conn_may_resume(&d->conn)) {
        adp_http_conn_resume(&d->conn, d->now_ns);
        while (driver_flush(d)) {
        }
    }
    d->next = adp_http_conn_next(&d->conn);
    if (d->next == ADP_HTTP_CLOSE)
        adp_http_conn_close(&d->conn);
}

static void driver_send_bytes(struct driver *d, const char *bytes, size_t len)
{
    /* An exact copy, so that a read one past the end is seen by ASan. */
    char *copy = malloc(len ? len : 1);
    ck_assert_ptr_nonnull(copy);
    if (len)
        memcpy(copy, bytes, len);
    adp_http_conn_input(&d->conn, copy, len, d->now_ns);
    free(copy);
    driver_settle(d);
}

static void driver_send(struct driver *d, const char *text)
{
    driver_send_bytes(d, text, strlen(text));
}

static void driver_tick(struct driver *d, uint64_t later_ns)
{
    d->now_ns += later_ns;
    adp_http_conn_tick(&d->conn, d->now_ns);
    driver_settle(d);
}

#endif
