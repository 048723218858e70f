/* SPDX-License-Identifier: MIT */
#include "runtime/scrape/address.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *url, *socket, *shown;
} good[] = {
    { "http://h:8000/metrics", "http://h:8000/metrics", "", "http://h:8000/metrics" },
    { "HTTP://h/m", "HTTP://h/m", "", "HTTP://h/m" },
    { "http://[::1]", "http://[::1]/metrics", "", "http://[::1]/metrics" },
    { "http://h:65535", "http://h:65535/metrics", "", "http://h:65535/metrics" },
    { "http://h:8000", "http://h:8000/metrics", "", "http://h:8000/metrics" },
    { "https://h/", "https://h/", "", "https://h/" },
    { "http://h?x=1", "http://h/metrics?x=1", "", "http://h/metrics?..." },
    { "http://[::1]:80/m", "http://[::1]:80/m", "", "http://[::1]:80/m" },
    { "https://me:pass@h/m?key=secret", "https://me:pass@h/m?key=secret", "",
      "https://h/m?..." },
    { "http://a@b@h/m", "http://a@b@h/m", "", "http://h/m" },
    { "unix:/run/v.sock", "http://localhost/metrics", "/run/v.sock",
      "unix:/run/v.sock:/metrics" },
    { "unix:/run/v.sock:/m?k=s", "http://localhost/m?k=s", "/run/v.sock",
      "unix:/run/v.sock:/m?..." },
    { "unix:/run/v?key=s", "http://localhost/metrics", "/run/v?key=s",
      "unix:/run/v?..." },
    { "unix:/run/v#key:/m?k=s", "http://localhost/m?k=s", "/run/v#key",
      "unix:/run/v#..." },
    { "unix:/run/me@v.sock", "http://localhost/metrics", "/run/me@v.sock",
      "unix:/...@v.sock:/metrics" },
};

START_TEST(an_address_is_taken_apart_and_its_secrets_are_not_shown)
{
    struct adp_address at;
    struct adp_error err = { 0 };
    ck_assert_msg(adp_address_read(good[_i].text, &at, &err) == 0, "%s", err.text);
    ck_assert_str_eq(at.url, good[_i].url);
    ck_assert_str_eq(at.socket, good[_i].socket);
    ck_assert_str_eq(at.shown, good[_i].shown);
    ck_assert(adp_address_is(good[_i].text));
}
END_TEST

static const struct {
    const char *text, *says;
} bad[] = {
    { "", "not an address" },
    { "127.0.0.1:8000/metrics", "not an address, expected http://HOST:PORT/metrics" },
    { "ftp://h/metrics", "not an address" },
    { "http:///metrics", "without a host" },
    { "http://h:99999/", "a port that is none, expected 1 to 65535" },
    { "http://h:0/", "a port that is none" },
    { "http://h:/m", "a port that is none" },
    { "http://me:pass", "a port that is no number" },
    { "http://[::1", "brackets that are not closed" },
    { "http://[::1]8000/", "brackets that is none" },
    { "http://[]/m", "brackets that is none" },
    { "http://", "without a host" },
    { "http://:8000/metrics", "without a host" },
    { "http://me:pass@/metrics", "without a host" },
    { "http://h/a b", "with a blank" },
    { "http://h/a\r\nX: y", "with a blank" },
    { "http://h/\xc3\xa9", "not ASCII" },
    { "unix:run/v.sock", "not a unix socket's path" },
    { "unix:/", "not a unix socket's path" },
    { "unix:/run/v.sock:metrics", "not a path" },
};

START_TEST(what_is_no_address_is_refused_in_words_without_its_secrets)
{
    struct adp_address at = { .url = "untouched" };
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_address_read(bad[_i].text, &at, &err), ADP_EINVAL);
    ck_assert_msg(strstr(err.text, bad[_i].says) != NULL, "%s", err.text);
    ck_assert(strstr(err.text, "pass") == NULL);
    ck_assert_str_eq(at.url, "untouched");
}
END_TEST

START_TEST(lengths_are_bounded)
{
    struct adp_address at;
    char text[4096] = "http://h/";
    memset(text + 9, 'a', ADP_ADDRESS_MAX - 9);
    text[ADP_ADDRESS_MAX] = '\0';
    ck_assert_int_eq(adp_address_read(text, &at, NULL), 0);
    ck_assert_uint_eq(strlen(at.url), ADP_ADDRESS_MAX);
    text[ADP_ADDRESS_MAX] = 'a';
    text[ADP_ADDRESS_MAX + 1] = '\0';
    ck_assert_int_eq(adp_address_read(text, &at, NULL), ADP_EINVAL);

    memcpy(text, "unix:/", 7);
    memset(text + 6, 's', ADP_SOCKET_MAX - 1);
    text[5 + ADP_SOCKET_MAX] = '\0';
    ck_assert_int_eq(adp_address_read(text, &at, NULL), 0);
    ck_assert_uint_eq(strlen(at.socket), ADP_SOCKET_MAX);
    text[5 + ADP_SOCKET_MAX] = 's';
    text[6 + ADP_SOCKET_MAX] = '\0';
    ck_assert_int_eq(adp_address_read(text, &at, NULL), ADP_EINVAL);
}
END_TEST

START_TEST(a_file_name_is_no_address)
{
    ck_assert(!adp_address_is("page.prom"));
    ck_assert(!adp_address_is("-"));
    ck_assert(!adp_address_is("/tmp/a:b"));
    ck_assert(adp_address_is("ftp://h")); /* meant as one */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("address");
    TCase *tc = tcase_create("address");
    tcase_add_loop_test(tc, an_address_is_taken_apart_and_its_secrets_are_not_shown, 0,
                        sizeof good / sizeof good[0]);
    tcase_add_loop_test(tc, what_is_no_address_is_refused_in_words_without_its_secrets, 0,
                        sizeof bad / sizeof bad[0]);
    tcase_add_test(tc, lengths_are_bounded);
    tcase_add_test(tc, a_file_name_is_no_address);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
