/* SPDX-License-Identifier: MIT */
#include "runtime/dashboard/reply.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *accepts; /* NULL: not sent */
    bool packs;
} rows[] = {
    { NULL, false },
    { "", false },
    { "gzip", true },
    { "GZip", true },
    { "gzip, deflate, br", true },
    { "deflate,gzip;q=1.0, *;q=0.5", true },
    { "br ,\tgzip ; q=0.001", true },
    { "identity", false },
    { "deflate, br", false },
    { "xgzip, gzipped", false },
    { "gzip;q=0", false },
    { "gzip; q=0.000, br", false },
    { ", ,gzip", true },
};

START_TEST(gzip_is_sent_to_who_takes_it)
{
    struct adp_http_text text = { rows[_i].accepts,
                                  rows[_i].accepts ? strlen(rows[_i].accepts) : 0 };
    ck_assert_msg(adp_reply_may_pack(rows[_i].accepts ? &text : NULL) == rows[_i].packs,
                  "%s", rows[_i].accepts ? rows[_i].accepts : "(none)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply");
    TCase *tests = tcase_create("reply");
    tcase_add_loop_test(tests, gzip_is_sent_to_who_takes_it, 0,
                        sizeof rows / sizeof *rows);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
