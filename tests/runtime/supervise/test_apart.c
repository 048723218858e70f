/* SPDX-License-Identifier: MIT */
/* Work in a process of its own. */
#include "runtime/supervise/apart.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int says_and_ends(void *ctx, int to)
{
    const char *text = "an answer";
    return write(to, text, strlen(text)) == (ssize_t)strlen(text) ? *(int *)ctx : 99;
}

static int dies(void *ctx, int to)
{
    (void)to;
    raise(*(int *)ctx);
    return 0;
}

static int never_returns(void *ctx, int to)
{
    (void)ctx;
    (void)to;
    pause();
    return 0;
}

static const struct {
    const char *name;
    int (*work)(void *ctx, int to);
    int argument, code;
    size_t cap;
    const char *answer, *error;
} rows[] = {
    { "an answer", says_and_ends, 0, 0, 64, "an answer", "" },
    { "a status", says_and_ends, 2, 2, 64, "an answer", "" },
    { "an answer that is cut", says_and_ends, 0, 0, 4, "an ", "" },
    { "a signal", dies, SIGKILL, ADP_EIO, 64, "", "died of SIGKILL" },
    { "no return", never_returns, 0, ADP_EIO, 64, "", "did not return within 0.05 s" },
};

START_TEST(what_became_of_it_is_told)
{
    char answer[64];
    struct adp_error err = { 0 };
    int argument = rows[_i].argument;
    int code =
        adp_apart(rows[_i].work, &argument, rows[_i].work == never_returns ? 50 : 20000,
                  answer, rows[_i].cap, &err);
    ck_assert_msg(code == rows[_i].code, "%s: %d", rows[_i].name, code);
    ck_assert_str_eq(answer, rows[_i].answer);
    ck_assert_str_eq(err.text, rows[_i].error);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("apart");
    TCase *t = tcase_create("ends");
    tcase_set_timeout(t, 30);
    tcase_add_loop_test(t, what_became_of_it_is_told, 0,
                        (int)(sizeof rows / sizeof rows[0]));
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
