/* SPDX-License-Identifier: MIT */
#include "runtime/http/http.h"
#include "runtime/http/listen.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/adp-listen-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/s", folder);
    unlink(path);
    rmdir(folder);
}

/* "unix:FOLDER/s" */
static const char *address(void)
{
    static char text[128];
    snprintf(text, sizeof text, "unix:%s/s", folder);
    return text;
}

static int connect_to(const char *path, bool datagrams)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    int fd = socket(AF_UNIX, datagrams ? SOCK_DGRAM : SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Each of the tests below that takes a socket from here is made with both kinds. */
static struct adp_http_listen_options kind(int i)
{
    return (struct adp_http_listen_options) { .datagrams = i == 1 };
}

START_TEST(an_address_is_listened_on_and_told)
{
    const struct adp_http_listen_options options = kind(_i);
    char told[128];
    int fd = -1;
    ck_assert_int_eq(adp_http_listen("127.0.0.1:0", &options, &fd), 0);
    ck_assert_int_eq(adp_http_listen_inherited(fd), options.datagrams ? UV_EINVAL : 0);
    ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
    ck_assert_int_eq(adp_http_listen_address(fd, told, sizeof told), 0);
    ck_assert_msg(strncmp(told, "127.0.0.1:", 10) == 0 &&
                      strcmp(told, "127.0.0.1:0") != 0,
                  "%s", told);
    ck_assert_int_eq(adp_http_listen_address(fd, told, 5), UV_ENOBUFS);
    /* Somebody listens there. */
    int second = -7;
    ck_assert_int_eq(adp_http_listen_address(fd, told, sizeof told), 0);
    ck_assert_int_eq(adp_http_listen(told, &options, &second), UV_EADDRINUSE);
    ck_assert_int_eq(second, -7);
    adp_http_listen_close(fd);
}
END_TEST

static const char *const not_addresses[] = {
    "",
    "127.0.0.1",
    ":80",
    "127.0.0.1:",
    "127.0.0.1:http",
    "127.0.0.1:65536",
    "::1:80",
    "[::1]",
    "[::1:80",
    "[]:80",
    "127.0.0.1:-1",
    "127.0.0.1: 80",
    "unix:",
    "127.0.0.1:8 ",
    "a:b:80",
    "127.0.0.1:000080",
};

START_TEST(what_is_no_address_is_refused)
{
    int fd = -7;
    ck_assert_msg(adp_http_listen(not_addresses[_i], NULL, &fd) == UV_EINVAL, "%s",
                  not_addresses[_i]);
    ck_assert_int_eq(fd, -7);
}
END_TEST

START_TEST(a_unix_socket_has_the_mode_and_group_asked_for)
{
    char group[16];
    struct stat st;
    int fd = -1;
    snprintf(group, sizeof group, "%u", (unsigned)getgid());
    struct adp_http_listen_options options = kind(_i);
    options.mode = 0620;
    options.group = group;
    make_folder();
    mode_t mask = umask(077); /* the umask has no say in it */
    ck_assert_int_eq(adp_http_listen(address(), &options, &fd), 0);
    umask(mask);
    ck_assert_int_eq(stat(address() + 5, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0620);
    ck_assert_uint_eq(st.st_gid, getgid());
    char told[128];
    ck_assert_int_eq(adp_http_listen_address(fd, told, sizeof told), 0);
    ck_assert_str_eq(told, address());
    adp_http_listen_close(fd);
    ck_assert_int_ne(stat(address() + 5, &st), 0); /* the path is gone with it */
    remove_folder();
}
END_TEST

START_TEST(an_unknown_group_leaves_no_socket_behind)
{
    struct adp_http_listen_options options = kind(_i);
    options.group = "no-such-group-here";
    struct stat st;
    int fd = -7;
    make_folder();
    ck_assert_int_eq(adp_http_listen(address(), &options, &fd), UV_ESRCH);
    ck_assert_str_eq(adp_http_error_text(UV_ESRCH), "no such group");
    ck_assert_int_eq(fd, -7);
    ck_assert_int_ne(stat(address() + 5, &st), 0);
    remove_folder();
}
END_TEST

START_TEST(a_path_is_taken_over_from_the_dead_only)
{
    const struct adp_http_listen_options options = kind(_i);
    int first = -1, second = -7;
    make_folder();
    ck_assert_int_eq(adp_http_listen(address(), &options, &first), 0);
    ck_assert_int_eq(adp_http_listen(address(), &options, &second), UV_EADDRINUSE);
    ck_assert_int_eq(second, -7);
    close(first); /* dies: the path stays, and refuses */
    ck_assert_int_eq(connect_to(address() + 5, options.datagrams), -1);
    ck_assert_int_eq(adp_http_listen(address(), &options, &second), 0);
    int client = connect_to(address() + 5, options.datagrams);
    ck_assert_int_ge(client, 0);
    close(client);
    adp_http_listen_close(second);
    remove_folder();
}
END_TEST

START_TEST(another_kind_of_file_is_left_alone)
{
    const struct adp_http_listen_options options = kind(_i);
    int fd = -7;
    make_folder();
    int file = open(address() + 5, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_ge(file, 0);
    close(file);
    ck_assert_int_eq(adp_http_listen(address(), &options, &fd), UV_EADDRINUSE);
    ck_assert_int_eq(access(address() + 5, F_OK), 0);
    remove_folder();
}
END_TEST

START_TEST(closing_leaves_a_path_that_another_has_taken)
{
    const struct adp_http_listen_options options = kind(_i);
    int first = -1, second = -1;
    make_folder();
    ck_assert_int_eq(adp_http_listen(address(), &options, &first), 0);
    ck_assert_int_eq(unlink(address() + 5), 0);
    ck_assert_int_eq(adp_http_listen(address(), &options, &second), 0);
    adp_http_listen_close(first);
    int client = connect_to(address() + 5, options.datagrams);
    ck_assert_int_ge(client, 0);
    close(client);
    adp_http_listen_close(second);
    remove_folder();
}
END_TEST

START_TEST(what_is_sent_to_a_socket_of_datagrams_arrives)
{
    const struct adp_http_listen_options options = { .datagrams = true };
    char got[8];
    int fd = -1;
    make_folder();
    ck_assert_int_eq(adp_http_listen(address(), &options, &fd), 0);
    int client = connect_to(address() + 5, true);
    ck_assert_int_eq(send(client, "hello", 5, 0), 5);
    ck_assert_int_eq(recv(fd, got, sizeof got, 0), 5);
    ck_assert_mem_eq(got, "hello", 5);
    close(client);
    adp_http_listen_close(fd);
    remove_folder();
}
END_TEST

START_TEST(a_path_too_long_is_refused_not_cut)
{
    char text[200] = "unix:/";
    int fd = -7;
    memset(text + 6, 'a', 108);
    ck_assert_int_eq(adp_http_listen(text, NULL, &fd), UV_ENAMETOOLONG);
}
END_TEST

START_TEST(only_listening_stream_sockets_are_inherited)
{
    int pair[2], pipes[2];
    int datagram = socket(AF_INET, SOCK_DGRAM, 0), idle = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(pipe(pipes), 0);
    const int fds[] = { datagram, idle, pair[0], pipes[0], -1, 9999 };
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        ck_assert_int_eq(adp_http_listen_inherited(fds[i]), UV_EINVAL);
    ck_assert_int_eq(listen(idle, 1), 0);
    ck_assert_int_eq(adp_http_listen_inherited(idle), 0);
    close(datagram);
    close(idle);
    close(pair[0]);
    close(pair[1]);
    close(pipes[0]);
    close(pipes[1]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("listen");
    TCase *t = tcase_create("listen");
    tcase_add_loop_test(t, an_address_is_listened_on_and_told, 0, 2);
    tcase_add_loop_test(t, what_is_no_address_is_refused, 0,
                        sizeof not_addresses / sizeof not_addresses[0]);
    tcase_add_loop_test(t, a_unix_socket_has_the_mode_and_group_asked_for, 0, 2);
    tcase_add_loop_test(t, an_unknown_group_leaves_no_socket_behind, 0, 2);
    tcase_add_loop_test(t, a_path_is_taken_over_from_the_dead_only, 0, 2);
    tcase_add_loop_test(t, another_kind_of_file_is_left_alone, 0, 2);
    tcase_add_loop_test(t, closing_leaves_a_path_that_another_has_taken, 0, 2);
    tcase_add_test(t, what_is_sent_to_a_socket_of_datagrams_arrives);
    tcase_add_test(t, a_path_too_long_is_refused_not_cut);
    tcase_add_test(t, only_listening_stream_sockets_are_inherited);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
