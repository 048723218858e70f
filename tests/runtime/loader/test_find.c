/* SPDX-License-Identifier: MIT */
/* Finding policy files: the order of the folders, and what is said when there is none. */
#include "runtime/loader/loader.h"

#include "tests/runtime/loader/scratch.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char both[4096], one[1024], two[1024];

/* Two folders: one/{alpha,beta}.so, two/{beta,gamma}.so, and files that are no policies.
 */
static void set_up(void)
{
    scratch_create();
    snprintf(one, sizeof one, "%s", scratch_path("one"));
    snprintf(two, sizeof two, "%s", scratch_path("two"));
    ck_assert_int_eq(mkdir(one, 0755), 0);
    ck_assert_int_eq(mkdir(two, 0755), 0);
    const char *const files[] = { "one/beta.so",   "one/alpha.so", "two/gamma.so",
                                  "two/beta.so",   "one/alpha.la", "one/Upper.so",
                                  "one/.hidden.so" };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        scratch_write(files[i], "", 0, 0644);
    snprintf(both, sizeof both, "%s:relative::%s", one, two);
    setenv("ADMITPERF_PLUGIN_PATH", both, 1);
}

static void found_at(const char *name, const char *folder)
{
    char path[1024], expected[2048];
    ck_assert_int_eq(adp_loader_find(name, NULL, path, sizeof path, NULL), 0);
    snprintf(expected, sizeof expected, "%s/%s.so", folder, name);
    ck_assert_str_eq(path, expected);
}

START_TEST(the_first_folder_that_has_the_name_wins)
{
    found_at("alpha", one);
    found_at("beta", one);
    found_at("gamma", two);
}
END_TEST

START_TEST(a_missing_name_is_answered_with_the_places_and_the_nearest)
{
    char path[1024] = "untouched", expected[4096];
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_loader_find("gama", NULL, path, sizeof path, &err), ADP_ENOENT);
    snprintf(expected, sizeof expected,
             "there is no policy \"gama\", nearest is \"gamma\"; looked for gama.so in "
             "%s, relative (passed over: relative), %s, %s",
             one, two, POLICY_DIR);
    ck_assert_str_eq(err.text, expected);
    ck_assert_str_eq(path, "untouched");
}
END_TEST

START_TEST(a_relative_folder_is_never_searched)
{
    char path[1024];
    ck_assert_int_eq(chdir(scratch_path("")), 0);
    setenv("ADMITPERF_PLUGIN_PATH", "one:./two", 1);
    ck_assert_int_eq(adp_loader_find("alpha", NULL, path, sizeof path, NULL), ADP_ENOENT);
}
END_TEST

static const char *const no_names[] = { "kv_wall.so", "Beta", "", "be-ta", "1st" };

START_TEST(a_name_that_is_none_is_refused)
{
    char path[1024], expected[256];
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_loader_find(no_names[_i], NULL, path, sizeof path, &err),
                     ADP_EINVAL);
    snprintf(expected, sizeof expected,
             "\"%s\" is not a policy's name, expected [a-z][a-z0-9_]* of at most 63; a "
             "file is written with a '/', as ./NAME.so",
             no_names[_i]);
    ck_assert_str_eq(err.text, expected);
}
END_TEST

START_TEST(a_path_is_taken_as_it_is)
{
    char path[1024], wanted[2048];
    snprintf(wanted, sizeof wanted, "%s/gamma.so", two);
    ck_assert_int_eq(adp_loader_find("alpha", wanted, path, sizeof path, NULL), 0);
    ck_assert_str_eq(path, wanted);
}
END_TEST

START_TEST(a_missing_path_is_answered_with_the_nearest_beside_it)
{
    char path[1024], wanted[2048];
    struct adp_error err = { 0 };
    snprintf(wanted, sizeof wanted, "%s/gama.so", two);
    ck_assert_int_eq(adp_loader_find("x", wanted, path, sizeof path, &err), ADP_ENOENT);
    ck_assert_str_eq(err.file, wanted);
    ck_assert_str_eq(err.text, "there is no such file, nearest beside it is gamma.so");
}
END_TEST

START_TEST(a_missing_path_whose_source_is_there_says_how_to_build_it)
{
    char path[1024], wanted[2048];
    struct adp_error err = { 0 };
    scratch_write("two/delta.c", "", 0, 0644);
    snprintf(wanted, sizeof wanted, "%s/delta.so", two);
    ck_assert_int_eq(adp_loader_find("x", wanted, path, sizeof path, &err), ADP_ENOENT);
    ck_assert_str_eq(err.text,
                     "there is no such file; delta.c beside it is its source: cc "
                     "-O2 -o NAME.so NAME.c $(pkg-config --cflags --libs "
                     "admitperf-policy)");
    scratch_write("two/Makefile", "", 0, 0644);
    err = (struct adp_error) { 0 };
    ck_assert_int_eq(adp_loader_find("x", wanted, path, sizeof path, &err), ADP_ENOENT);
    ck_assert_str_eq(err.text, "there is no such file; delta.c beside it is its source: "
                               "make builds it");
}
END_TEST

START_TEST(a_link_that_leads_nowhere_says_where_it_leads)
{
    char path[1024], link[2048];
    struct adp_error err = { 0 };
    snprintf(link, sizeof link, "%s/dangling.so", two);
    ck_assert_int_eq(symlink("nowhere.so", link), 0);
    ck_assert_int_eq(adp_loader_find("x", link, path, sizeof path, &err), ADP_ENOENT);
    ck_assert_str_eq(err.text, "it is a link to nowhere.so, which is not there");
    snprintf(link, sizeof link, "%s/circle.so", two);
    ck_assert_int_eq(symlink("circle.so", link), 0);
    err = (struct adp_error) { 0 };
    ck_assert_int_eq(adp_loader_find("x", link, path, sizeof path, &err), ADP_ENOENT);
    ck_assert_str_eq(err.text, "it is a link to circle.so, and links go in a circle");
}
END_TEST

START_TEST(a_relative_path_is_refused)
{
    char path[1024];
    ck_assert_int_eq(adp_loader_find("x", "one/alpha.so", path, sizeof path, NULL),
                     ADP_EINVAL);
}
END_TEST

START_TEST(a_path_that_does_not_fit_is_refused)
{
    char path[8] = "before";
    ck_assert_int_eq(adp_loader_find("alpha", NULL, path, sizeof path, NULL), ADP_EINVAL);
    ck_assert_str_eq(path, "before");
}
END_TEST

static void append(void *ctx, const char *path)
{
    char *list = ctx;
    const char *at = strstr(path, "/adp-test-");
    at = at ? strchr(at + 1, '/') : path; /* what follows the scratch folder */
    size_t n = strlen(list);
    snprintf(list + n, 1024 - n, "%s ", at);
}

START_TEST(the_list_has_each_name_once_where_find_would_find_it)
{
    char list[1024] = "";
    ck_assert_int_eq(adp_loader_list(append, list, NULL), 0);
    ck_assert_msg(strncmp(list, "/one/alpha.so /one/beta.so /two/gamma.so ", 41) == 0,
                  "%s", list);
    ck_assert_ptr_null(strstr(list, "Upper"));
    ck_assert_ptr_null(strstr(list, "hidden"));
}
END_TEST

START_TEST(the_list_passes_over_folders_that_are_not_there)
{
    char list[1024] = "", path[2048];
    snprintf(path, sizeof path, "/nowhere:%s", two);
    setenv("ADMITPERF_PLUGIN_PATH", path, 1);
    ck_assert_int_eq(adp_loader_list(append, list, NULL), 0);
    ck_assert_msg(strncmp(list, "/two/beta.so /two/gamma.so ", 27) == 0, "%s", list);
}
END_TEST

START_TEST(without_the_variable_the_installed_folder_is_named)
{
    char path[1024];
    struct adp_error err = { 0 };
    unsetenv("ADMITPERF_PLUGIN_PATH");
    ck_assert_int_eq(
        adp_loader_find("no_such_policy_at_all", NULL, path, sizeof path, &err),
        ADP_ENOENT);
    ck_assert_str_eq(err.text, "there is no policy \"no_such_policy_at_all\"; looked for "
                               "no_such_policy_at_all.so in " POLICY_DIR
                               "; ADMITPERF_PLUGIN_PATH, which is not set, may name "
                               "other folders");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("find");
    TCase *t = tcase_create("find");
    tcase_add_checked_fixture(t, set_up, scratch_destroy);
    tcase_add_test(t, the_first_folder_that_has_the_name_wins);
    tcase_add_test(t, a_missing_name_is_answered_with_the_places_and_the_nearest);
    tcase_add_test(t, a_relative_folder_is_never_searched);
    tcase_add_loop_test(t, a_name_that_is_none_is_refused, 0,
                        sizeof no_names / sizeof no_names[0]);
    tcase_add_test(t, a_path_is_taken_as_it_is);
    tcase_add_test(t, a_missing_path_is_answered_with_the_nearest_beside_it);
    tcase_add_test(t, a_missing_path_whose_source_is_there_says_how_to_build_it);
    tcase_add_test(t, a_link_that_leads_nowhere_says_where_it_leads);
    tcase_add_test(t, a_relative_path_is_refused);
    tcase_add_test(t, a_path_that_does_not_fit_is_refused);
    tcase_add_test(t, the_list_has_each_name_once_where_find_would_find_it);
    tcase_add_test(t, the_list_passes_over_folders_that_are_not_there);
    tcase_add_test(t, without_the_variable_the_installed_folder_is_named);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
