/* SPDX-License-Identifier: MIT */
/* The sidecar in this process: what is asked of it again and again allocates nothing of ours,
 * over HTTP and over SPOP. (libuv's and libc's own allocations are not counted.) */
#include "runtime/sidecar/sidecar.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- counting: linked with --wrap --- */

static _Atomic uint64_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_realloc(p, size);
}

/* --- the sidecar --- */

static struct adp_sidecar *sidecar;
static pthread_t thread;
static int result;
static char folder[64], config[96];

static void *run(void *unused)
{
    (void)unused;
    result = adp_sidecar_run(sidecar, NULL);
    return NULL;
}

static void setup(void)
{
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS, 1);
    strcpy(folder, "/tmp/adp-sidecar-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(config, sizeof config, "%s/a.yaml", folder);
    FILE *f = fopen(config, "w");
    /* Without a log, whose thread's buffers grow now and then. */
    fputs("version: 1\nlog: none\n"
          "policy: { use: queue_depth, params: { max_waiting: 4 } }\n"
          "serve: { listen: 127.0.0.1:0, spop: 127.0.0.1:0 }\n",
          f);
    fclose(f);
    const struct adp_sidecar_options options = { .config = config };
    int code = adp_sidecar_create(&sidecar, &options, &errors, &err);
    ck_assert_msg(code == 0, "%s %s", errors.n ? errors.list[0].text : "", err.text);
    ck_assert_int_eq(pthread_create(&thread, NULL, run, NULL), 0);
}

static void teardown(void)
{
    char command[128];
    adp_sidecar_stop(sidecar);
    pthread_join(thread, NULL);
    ck_assert_int_eq(result, 0);
    adp_sidecar_destroy(sidecar);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static int connect_to(enum adp_socket_kind kind)
{
    char address[64];
    struct sockaddr_in at = { .sin_family = AF_INET };
    ck_assert(adp_sidecar_address(sidecar, kind, 0, address, sizeof address));
    at.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* Sends it and reads until as many bytes came as the first time. (Check's own macros
 * allocate, so they are not asked here.) */
static bool exchange(int fd, const char *what, size_t len, size_t expected)
{
    static char answer[4096];
    size_t got = 0;
    bool fine = send(fd, what, len, MSG_NOSIGNAL) == (ssize_t)len;
    while (fine && got < expected) {
        ssize_t n = recv(fd, answer, sizeof answer, 0);
        fine = n > 0;
        got += fine ? (size_t)n : 0;
    }
    return fine && got == expected;
}

static size_t first(int fd, const char *what, size_t len)
{
    char answer[4096];
    ck_assert_int_eq(send(fd, what, len, MSG_NOSIGNAL), (ssize_t)len);
    ssize_t n = recv(fd, answer, sizeof answer, 0);
    ck_assert_int_gt(n, 0);
    return (size_t)n;
}

/* Allocations while it is asked 1000 times. */
static uint64_t counted(int fd, const char *what, size_t len, size_t expected)
{
    bool fine = true;
    for (int i = 0; i < 100; i++) /* pools and buffers have their size then */
        fine &= exchange(fd, what, len, expected);
    uint64_t before = atomic_load(&allocations);
    for (int i = 0; i < 1000; i++)
        fine &= exchange(fd, what, len, expected);
    uint64_t more = atomic_load(&allocations) - before;
    ck_assert(fine);
    return more;
}

START_TEST(a_request_with_facts_in_headers_allocates_nothing)
{
    static const char request[] =
        "POST /v1/auth?profile=nginx HTTP/1.1\r\nHost: a\r\nX-Request-Id: r\r\n"
        "X-Tenant: acme\r\nX-Prompt-Tokens: 512\r\nX-Priority: 1\r\nContent-Length: "
        "0\r\n\r\n";
    int fd = connect_to(ADP_SOCKET_HTTP);
    size_t n = first(fd, request, sizeof request - 1);
    ck_assert_uint_eq(counted(fd, request, sizeof request - 1, n), 0);
    close(fd);
}
END_TEST

START_TEST(a_notify_of_haproxys_allocates_nothing)
{
    static const char hello[] = "\0\0\0\x41\1\0\0\0\1\0\0"
                                "\x12supported-versions\x08\x03"
                                "2.0"
                                "\x0emax-frame-size\x03\xfc\xf0\x06"
                                "\x0c"
                                "capabilities\x08\x00";
    static const char notify[] = "\0\0\0\x1c\3\0\0\0\1\1\1"
                                 "\x05"
                                 "admit\x01\x0arequest_id\x08\x01r";
    _Static_assert(sizeof hello - 1 == 4 + 0x41, "its length");
    _Static_assert(sizeof notify - 1 == 4 + 0x1c, "its length");
    int fd = connect_to(ADP_SOCKET_SPOP);
    first(fd, hello, sizeof hello - 1);
    size_t n = first(fd, notify, sizeof notify - 1);
    ck_assert_uint_eq(counted(fd, notify, sizeof notify - 1, n), 0);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hot");
    TCase *t = tcase_create("hot");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_request_with_facts_in_headers_allocates_nothing);
    tcase_add_test(t, a_notify_of_haproxys_allocates_nothing);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
