/* SPDX-License-Identifier: MIT */
/* The crash set behind the HTTP server, with clients that keep their connections. */
#include "tests/runtime/supervise/field.h"

#include <pthread.h>

enum { CLIENTS = 8, REQUESTS = 60, EVERY = 20 };

static const char *const ways[] = { "crash_segv", "crash_abort", "crash_exit",
                                    "crash_overflow", "crash_hang" };

struct client {
    pthread_t id;
    const struct field *field;
    uint32_t n, by_policy, by_fault, failed;
};

/* The one byte of the next answer's body; 0: there is none. */
static char next_answer(int fd)
{
    char text[1024];
    size_t have = 0;
    while (have < sizeof text - 1) {
        if (recv(fd, text + have, 1, 0) != 1)
            return 0;
        text[++have] = '\0';
        if (have > 5 && memcmp(text + have - 5, "\r\n\r\n", 4) == 0)
            return strncmp(text, "HTTP/1.1 200 ", 13) == 0 ? text[have - 1] : 0;
    }
    return 0;
}

static bool send_get(int fd, uint32_t n, uint32_t i, bool crash)
{
    char text[128];
    int len = snprintf(text, sizeof text, "GET /?c%u-%u%s HTTP/1.1\r\nHost: x\r\n\r\n", n,
                       i, crash ? "&crash" : "");
    return send(fd, text, (size_t)len, MSG_NOSIGNAL) == len;
}

static void *play(void *arg)
{
    struct client *c = arg;
    int fd = client_open(c->field);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        bool crash = (i + c->n * 3) % EVERY == EVERY / 2;
        char got = send_get(fd, c->n, i, crash) ? next_answer(fd) : 0;
        c->by_policy += got == 'A';
        c->by_fault += got == 'F';
        c->failed += !got;
    }
    close(fd);
    return NULL;
}

static void field_http(struct field *f, const char *policy)
{
    f->program = HTTP_WORKER;
    f->options.window_ms = 1;
    field_open(f, NULL, NULL, policy, NULL);
}

START_TEST(no_http_request_fails_and_each_has_its_line)
{
    bool hangs = strcmp(ways[_i], "crash_hang") == 0;
    struct field f = { .host = true, .options = { .hang_ms = hangs ? 60 : 5000 } };
    struct client c[CLIENTS] = { 0 };
    uint32_t by_policy = 0, by_fault = 0, lost = 0;
    field_http(&f, ways[_i]);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        c[i].field = &f;
        c[i].n = i;
        ck_assert_int_eq(pthread_create(&c[i].id, NULL, play, &c[i]), 0);
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        pthread_join(c[i].id, NULL);
        ck_assert_uint_eq(c[i].failed, 0);
        by_policy += c[i].by_policy;
        by_fault += c[i].by_fault;
    }
    struct adp_supervised s = field_end(&f);
    json_t *all = field_lines(&f);
    for (uint32_t n = 0; n < CLIENTS; n++)
        for (uint32_t k = 0; k < REQUESTS; k++) {
            char id[24];
            snprintf(id, sizeof id, "c%u-%u", n, k);
            lost += field_decisions(all, id, NULL, NULL) != 1;
        }
    json_decref(all);
    ck_assert_uint_eq(by_policy + by_fault, CLIENTS * REQUESTS);
    ck_assert_uint_eq(by_fault, s.fault_records);
    ck_assert_uint_eq(lost, 0);
    ck_assert_uint_eq(s.partly_read + s.partly_written + s.unheld, 0);
    printf("%s: %u by the policy, %u by fault, restart worst %.1f ms\n", ways[_i],
           by_policy, by_fault, (double)s.restart_worst_ns / 1e6);
    field_close(&f);
}
END_TEST

START_TEST(what_was_decided_before_the_death_is_answered_as_decided)
{
    struct field f = { .host = true, .options = { .hang_ms = 5000 } };
    field_http(&f, "crash_abort");
    int fd = client_open(&f);
    /* In one packet, so in one batch: two are decided when the third kills. */
    char text[512];
    int n =
        snprintf(text, sizeof text,
                 "GET /?a HTTP/1.1\r\nHost: x\r\n\r\nGET /?b HTTP/1.1\r\nHost: x\r\n\r\n"
                 "GET /?c&crash HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert_int_eq(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
    ck_assert_int_eq(next_answer(fd), 'A');
    ck_assert_int_eq(next_answer(fd), 'A');
    ck_assert_int_eq(next_answer(fd), 'F');
    ck_assert(send_get(fd, 9, 9, false));
    ck_assert_int_eq(next_answer(fd), 'A');
    close(fd);
    struct adp_supervised s = field_end(&f);
    ck_assert_uint_eq(s.restarts, 1);
    ck_assert_uint_eq(s.inherited, 1);
    field_close(&f);
}
END_TEST

/* By when it was sent in whole or in part: `many` bytes behind it, in a second request. */
START_TEST(what_is_read_behind_the_request_that_kills_is_answered_too)
{
    static const uint32_t many[] = { 0, 100, 60000 };
    struct field f = { .host = true, .options = { .hang_ms = 5000 } };
    char text[65536];
    field_http(&f, "crash_abort");
    int fd = client_open(&f), other = client_open(&f);
    const char *half = "GET /?o HTTP/1.1\r\nHost:";
    ck_assert_int_eq(send(other, half, strlen(half), MSG_NOSIGNAL),
                     (ssize_t)strlen(half));
    int n = snprintf(text, sizeof text,
                     "GET /?a HTTP/1.1\r\nHost: x\r\n\r\n"
                     "GET /?b&crash HTTP/1.1\r\nHost: x\r\n\r\n"
                     "POST /?c&crash HTTP/1.1\r\nHost: x\r\nContent-Length: %u\r\n\r\n",
                     many[_i]);
    memset(text + n, 'x', many[_i]);
    n += (int)many[_i];
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "GET /?d HTTP/1.1\r\nHost: x\r\n\r\nGET /?e HT");
    ck_assert_int_eq(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
    ck_assert_int_eq(next_answer(fd), 'A');
    ck_assert_int_eq(next_answer(fd), 'F');
    ck_assert_int_eq(next_answer(fd), 'F');
    ck_assert_int_eq(next_answer(fd), 'A');
    const char *rest = "TP/1.1\r\nHost: x\r\n\r\n", *more = " x\r\n\r\n";
    ck_assert_int_eq(send(fd, rest, strlen(rest), MSG_NOSIGNAL), (ssize_t)strlen(rest));
    ck_assert_int_eq(next_answer(fd), 'A');
    ck_assert_int_eq(send(other, more, strlen(more), MSG_NOSIGNAL),
                     (ssize_t)strlen(more));
    ck_assert_int_eq(next_answer(other), 'A');
    close(fd);
    close(other);
    struct adp_supervised s = field_end(&f);
    ck_assert_uint_eq(s.restarts, 2);
    ck_assert_uint_eq(s.inherited, 4);
    ck_assert_uint_eq(s.partly_read + s.partly_written + s.unheld, 0);
    field_close(&f);
}
END_TEST

int main(void)
{
    const char *options = "handle_segv=0:handle_abort=0:handle_sigbus=0:detect_leaks=0:"
                          "use_sigaltstack=0";
    setenv("ASAN_OPTIONS", options, 1);
    setenv("TSAN_OPTIONS", options, 1);
    Suite *suite = suite_create("http worker");
    TCase *t = tcase_create("http");
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, no_http_request_fails_and_each_has_its_line, 0,
                        (int)(sizeof ways / sizeof ways[0]));
    tcase_add_test(t, what_was_decided_before_the_death_is_answered_as_decided);
    tcase_add_loop_test(t, what_is_read_behind_the_request_that_kills_is_answered_too, 0,
                        3);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
