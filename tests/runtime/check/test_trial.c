/* SPDX-License-Identifier: MIT */
/* What a check makes of a process that it had made. */
#include "runtime/check/child.h"
#include "runtime/check/trial.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LIMIT_MS = 20000 };

static const struct {
    struct adp_child child;
    uint32_t status; /* enum adp_check_status + 1; 0: the check goes on */
    uint32_t mend;
    const char *seen;
    uint32_t starved; /* and nothing more is asked */
    uint32_t lacks;   /* whose doing it is shows without the policy */
} rows[] = {
    { { .end = ADP_CHILD_RETURNED, .finished = true }, 0, ADP_MEND_USUAL, "", 0, 0 },
    { { .end = ADP_CHILD_RETURNED },
      ADP_CHECK_FAIL + 1,
      ADP_MEND_EXIT,
      "elsewhere it ended the process, with status 0",
      0,
      0 },
    { { .end = ADP_CHILD_KILLED, .number = SIGSEGV },
      ADP_CHECK_FAIL + 1,
      ADP_MEND_MEMORY,
      "elsewhere the process was killed by SIGSEGV",
      0,
      0 },
    { { .end = ADP_CHILD_HUNG, .hung = ADP_HUNG_WAITING, .number = SIGKILL },
      ADP_CHECK_FAIL + 1,
      ADP_MEND_WAITS,
      "elsewhere it did not come back within 20 s of waiting",
      0,
      0 },
    /* These two are the machine's doing. EAGAIN is 11, as SIGSEGV is. */
    { { .end = ADP_CHILD_HUNG, .hung = ADP_HUNG_STARVING, .number = SIGKILL },
      ADP_CHECK_SKIP + 1,
      ADP_MEND_USUAL,
      "elsewhere it did not come back within 400 s",
      1,
      0 },
    { { .end = ADP_CHILD_NONE, .number = EAGAIN },
      ADP_CHECK_SKIP + 1,
      ADP_MEND_USUAL,
      "elsewhere no process could be made: Resource temporarily unavailable",
      0,
      1 },
};

struct taking {
    struct adp_trial trial;
    const struct adp_child *child;
};

static void take(void *ctx)
{
    struct taking *t = ctx;
    adp_trial_take_child(&t->trial, t->child, LIMIT_MS, "elsewhere ");
}

START_TEST(a_process_that_ended_badly_fails_the_check_unless_the_machine_is_at_fault)
{
    struct adp_slate *slate = mmap(NULL, sizeof *slate, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(slate, MAP_FAILED);
    struct taking t = { .trial = { .slate = slate }, .child = &rows[_i].child };
    struct adp_child taker;
    struct adp_child_limit limit = { LIMIT_MS, NULL, false };
    adp_child_run(&taker, limit, take, &t);
    ck_assert_int_eq(taker.end, ADP_CHILD_RETURNED);
    ck_assert_uint_eq(slate->status, rows[_i].status);
    ck_assert_uint_eq(slate->mend, rows[_i].mend);
    ck_assert_uint_eq(slate->starved, rows[_i].starved);
    ck_assert_uint_eq(slate->lacks, rows[_i].lacks);
    ck_assert_msg(strncmp(slate->seen, rows[_i].seen, strlen(rows[_i].seen)) == 0, "%s",
                  slate->seen);
    munmap(slate, sizeof *slate);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("trial");
    TCase *t = tcase_create("trial");
    tcase_add_loop_test(
        t, a_process_that_ended_badly_fails_the_check_unless_the_machine_is_at_fault, 0,
        sizeof rows / sizeof rows[0]);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
