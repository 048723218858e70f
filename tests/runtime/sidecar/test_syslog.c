/* SPDX-License-Identifier: MIT */
/* Headers of syslog, as they really arrive. */
#include "runtime/sidecar/syslog.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *text;
    const char *body; /* NULL: there is none */
} rows[] = {
    /* As it is: Caddy, HAProxy's "raw". */
    { "{\"a\":1}\n", "{\"a\":1}\n" },
    { " \n{\"a\":1}", "{\"a\":1}" },
    /* nginx, with nohostname and without; HAProxy's "local", "rfc3164", "short". */
    { "<190>Nov 30 08:00:00 admitperf: {\"a\":1}", "{\"a\":1}" },
    { "<190>Nov 30 08:00:00 host nginx: {\"a\":1}", "{\"a\":1}" },
    { "<134>Nov  3 08:00:00 host haproxy[12]: {\"a\":1}", "{\"a\":1}" },
    { "<134>{\"a\":1}", "{\"a\":1}" },
    /* RFC 5424; its own structured data may hold braces, brackets and quotes. */
    { "<134>1 2026-11-30T08:00:00Z host haproxy 12 - - {\"a\":1}", "{\"a\":1}" },
    { "<134>1 2026-11-30T08:00:00Z h a 12 - [x y=\"{\"] {\"a\":1}", "{\"a\":1}" },
    { "<134>1 - - - - - [x y=\"a\\\"]{\"][z] {\"a\":1}", "{\"a\":1}" },
    { "<134>1 - - - - - - \xef\xbb\xbf{\"a\":1}", "{\"a\":1}" },
    /* None. */
    { "", NULL },
    { " ", NULL },
    { "<134>", NULL },
    { "<134>Nov 30 08:00:00 host sshd: hello", NULL },
    { "<134>1 - - - - - [x y=\"{}", NULL },
    { "<134>1 - - - - - x {\"a\":1}", NULL },
    { "<134>1 - - - {\"a\":1}", NULL },
    { "hello {\"a\":1}", NULL },
    { "<1340>{\"a\":1}", NULL },
    { "<>{\"a\":1}", NULL },
    { "[{\"a\":1}]", NULL },
};

START_TEST(the_message_is_found_behind_any_header)
{
    const struct row *row = &rows[_i];
    size_t len = strlen(row->text);
    /* Exactly as long as it is, so that reading on is seen. */
    char *copy = malloc(len ? len : 1);
    memcpy(copy, row->text, len);
    const char *at = copy;
    bool found = adp_syslog_body(&at, &len);
    ck_assert_msg(found == (row->body != NULL), "%s", row->text);
    if (found) {
        ck_assert_uint_eq(len, strlen(row->body));
        ck_assert_int_eq(memcmp(at, row->body, len), 0);
    }
    free(copy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("syslog");
    TCase *t = tcase_create("syslog");
    tcase_add_loop_test(t, the_message_is_found_behind_any_header, 0,
                        sizeof rows / sizeof rows[0]);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
