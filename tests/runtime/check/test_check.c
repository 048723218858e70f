/* SPDX-License-Identifier: MIT */
/* Running the checks: the shipped policies pass, what is not asked is said, and the
 * report is the same in text and JSON. */
#include "runtime/check/check.h"
#include "runtime/config/config.h"

#include <check.h>
#include <dirent.h>
#include <elf.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct adp_check_report report; /* large */

static const struct adp_check_result *find(const char *id)
{
    for (uint32_t i = 0; i < report.n; i++)
        if (strcmp(report.results[i].id, id) == 0)
            return &report.results[i];
    return NULL;
}

static void run(const char *folder, const char *name, const struct adp_check_options *o)
{
    char path[600];
    struct adp_error err = { 0 };
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    ck_assert_msg(adp_check_run(&report, path, o, &err) == 0, "%s", err.text);
}

/* --- the shipped policies --- */

enum { MOST_SHIPPED = 64 };
static char shipped[MOST_SHIPPED][64];

static int list_shipped(void)
{
    struct dirent *e;
    DIR *d = opendir(PLUGINS);
    int n = 0;
    while (d && (e = readdir(d)) && n < MOST_SHIPPED) {
        size_t len = strlen(e->d_name);
        if (len > 3 && len < 64 && strcmp(e->d_name + len - 3, ".so") == 0)
            snprintf(shipped[n++], 64, "%.*s", (int)len - 3, e->d_name);
    }
    if (d)
        closedir(d);
    return n;
}

START_TEST(a_shipped_policy_passes_every_check)
{
    struct adp_check_result listed;
    run(PLUGINS, shipped[_i], NULL);
    for (uint32_t i = 0; i < report.n; i++)
        ck_assert_msg(report.results[i].status != ADP_CHECK_FAIL, "%s fails %s: %s",
                      shipped[_i], report.results[i].id, report.results[i].seen);
    ck_assert_str_eq(report.policy, shipped[_i]);
    ck_assert_uint_eq(report.failed, 0);
    ck_assert_uint_eq(report.passed + report.skipped, report.n);
    ck_assert(!adp_check_listed(&listed, report.n));
    ck_assert(adp_check_listed(&listed, report.n - 1));
}
END_TEST

START_TEST(the_shipped_policies_are_there_to_be_tried)
{
    ck_assert_int_ge(list_shipped(), 4);
}
END_TEST

/* --- what is asked --- */

START_TEST(one_check_is_run_alone)
{
    struct adp_check_options only = { .only = "B4", .percent = 10 };
    run(GALLERY, "b4_signal", &only);
    ck_assert_uint_eq(report.n, 1);
    ck_assert_str_eq(report.results[0].id, "B4");
    ck_assert_uint_eq(report.failed, 1);
    only.only = "B7";
    run(GALLERY, "b4_signal", &only);
    ck_assert_uint_eq(report.n, 1);
    ck_assert_uint_eq(report.passed, 1);
}
END_TEST

/* What a check stands on is shown when it fails, even if not asked for. */
START_TEST(one_check_that_cannot_be_asked_says_what_keeps_it)
{
    struct adp_check_options only = { .only = "B4", .percent = 10 };
    run(GALLERY, "b3_static", &only);
    ck_assert_uint_eq(report.n, 2);
    ck_assert_int_eq(find("B3")->status, ADP_CHECK_FAIL);
    ck_assert_int_eq(find("B4")->status, ADP_CHECK_SKIP);
    ck_assert_str_eq(find("B4")->seen, "not asked: B3 failed");
    ck_assert_ptr_null(find("B4")->mend);
}
END_TEST

START_TEST(a_check_that_is_not_there_is_refused_with_the_nearest)
{
    struct adp_check_options only = { .only = "B44" };
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_check_run(&report, GALLERY "/in_order.so", &only, &err),
                     ADP_EINVAL);
    ck_assert_str_eq(err.text, "no check is called \"B44\"; nearest is \"B4\"; "
                               "docs/checks.md lists them, from E1 to R4, and one can be "
                               "named");
}
END_TEST

START_TEST(a_check_is_named_in_small_letters_too)
{
    struct adp_check_options only = { .only = "b4", .percent = 10 };
    run(GALLERY, "in_order", &only);
    ck_assert_str_eq(report.results[0].id, "B4");
}
END_TEST

/* threshold and low as they may be given, one number each. */
static struct adp_param_setting given[2];
static struct adp_policy_setting setting = { .params = given };

static void give(const char *name, double threshold, double low)
{
    given[0] = (struct adp_param_setting) {
        .name = name, .type = ADP_PARAM_NUMBER, .written = "0.8", .value = threshold
    };
    given[1] = given[0];
    given[1].name = "low";
    given[1].value = low;
    setting.n_params = 2;
}

START_TEST(parameters_that_create_takes_can_be_given)
{
    struct adp_check_options options = { .given = &setting, .percent = 10 };
    give("threshold", 0.8, 0.2);
    run(GALLERY, "b1_wants_pair", &options);
    ck_assert_uint_eq(report.failed, 0);
    ck_assert_int_eq(find("B1")->status, ADP_CHECK_PASS);
    ck_assert_int_eq(find("R4")->status, ADP_CHECK_PASS);
}
END_TEST

START_TEST(parameters_that_create_refuses_are_a_failure)
{
    struct adp_check_options options = { .given = &setting, .only = "B1" };
    give("threshold", 0.2, 0.8);
    run(GALLERY, "b1_wants_pair", &options);
    ck_assert_int_eq(find("B1")->status, ADP_CHECK_FAIL);
}
END_TEST

START_TEST(parameters_that_the_policy_does_not_have_are_refused)
{
    struct adp_check_options options = { .given = &setting };
    struct adp_error err = { 0 };
    give("treshold", 0.8, 0.2);
    ck_assert_int_eq(adp_check_run(&report, GALLERY "/b1_wants_pair.so", &options, &err),
                     ADP_EINVAL);
    ck_assert_str_eq(err.text, "policy gallery has no parameter \"treshold\"; nearest is "
                               "\"threshold\"");
    give("threshold", 1.5, 0.2);
    err = (struct adp_error) { 0 };
    ck_assert_int_eq(adp_check_run(&report, GALLERY "/b1_wants_pair.so", &options, &err),
                     ADP_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "expected 0 to 1 ratio"));
}
END_TEST

START_TEST(a_config_that_is_no_object_is_refused)
{
    static const char *const configs[] = { "{", "[1]", "3", "{\"a\":1,\"a\":2}" };
    struct adp_error err = { 0 };
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        struct adp_check_options options = { .config = configs[i] };
        ck_assert_int_eq(adp_check_run(&report, GALLERY "/in_order.so", &options, &err),
                         ADP_EINVAL);
    }
}
END_TEST

START_TEST(a_config_for_a_policy_that_takes_none_is_a_failure)
{
    struct adp_check_options options = { .config = "{}", .percent = 10 };
    run(GALLERY, "in_order", &options);
    ck_assert_int_eq(find("S1")->status, ADP_CHECK_FAIL);
    ck_assert_uint_eq(report.failed, 1);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_an_error)
{
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_check_run(&report, GALLERY "/nothing.so", NULL, &err),
                     ADP_ENOENT);
    ck_assert_str_ne(err.text, "");
}
END_TEST

START_TEST(the_same_file_is_asked_the_same)
{
    struct adp_check_options only = { .only = "B12", .percent = 10 };
    char seen[ADP_CHECK_SEEN];
    run(GALLERY, "b12_undeclared", &only);
    uint32_t seed = report.seed;
    snprintf(seen, sizeof seen, "%s", find("B12")->seen);
    run(GALLERY, "b12_undeclared", &only);
    ck_assert_uint_eq(report.seed, seed);
    ck_assert_str_eq(find("B12")->seen, seen);
    only.seed = 7;
    run(GALLERY, "b12_undeclared", &only);
    ck_assert_uint_eq(report.seed, 7);
    ck_assert_str_ne(find("B12")->seen, seen);
}
END_TEST

START_TEST(a_run_that_is_stopped_says_so_and_leaves_nothing)
{
    static volatile sig_atomic_t stop = SIGINT;
    struct adp_check_options options = { .stop = &stop };
    struct adp_error err = { 0 };
    char folder[] = "/tmp/check.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(setenv("TMPDIR", folder, 1), 0);
    ck_assert_int_eq(adp_check_run(&report, GALLERY "/in_order.so", &options, &err),
                     ADP_ESTATE);
    ck_assert_uint_eq(report.n, 0);
    ck_assert_int_eq(rmdir(folder), 0); /* nothing is in it */
}
END_TEST

START_TEST(a_crash_keeps_the_others_from_being_asked_and_us_alive)
{
    struct adp_check_options quick = { .percent = 10 };
    run(GALLERY, "b1_crash", &quick);
    ck_assert_uint_eq(report.failed, 1);
    ck_assert_int_eq(find("B1")->status, ADP_CHECK_FAIL);
    ck_assert_str_eq(find("B2")->seen, "not asked: B1 failed");
    ck_assert_str_eq(find("B3")->seen, "not asked: B2 was not");
}
END_TEST

/* --- files that no compiler of ours makes --- */

static uint8_t *read_file(const char *path, size_t *ret_len)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fstat(fileno(f), &st), 0);
    uint8_t *bytes = malloc((size_t)st.st_size);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, (size_t)st.st_size, f), (size_t)st.st_size);
    fclose(f);
    *ret_len = (size_t)st.st_size;
    return bytes;
}

static void set_machine(Elf64_Ehdr *head)
{
    head->e_machine = EM_S390;
}

static void set_type(Elf64_Ehdr *head)
{
    head->e_type = ET_EXEC;
}

static void set_magic(Elf64_Ehdr *head)
{
    head->e_ident[0] = '#';
}

static const struct {
    void (*change)(Elf64_Ehdr *head);
    const char *seen;
} heads[] = {
    { set_machine, "is built for s390" },
    { set_type, "is an ELF file of type 2, expected a shared object" },
    { set_magic, "is not an ELF file" },
};

START_TEST(a_file_for_another_machine_fails_the_first_check_alone)
{
    char folder[] = "/tmp/check.XXXXXX", path[64];
    size_t len;
    uint8_t *bytes = read_file(GALLERY "/in_order.so", &len);
    Elf64_Ehdr head;
    memcpy(&head, bytes, sizeof head);
    heads[_i].change(&head);
    memcpy(bytes, &head, sizeof head);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/other.so", folder);
    FILE *f = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
    fclose(f);
    free(bytes);
    int r = adp_check_run(&report, path, NULL, NULL);
    unlink(path);
    rmdir(folder);
    ck_assert_int_eq(r, 0);
    ck_assert_uint_eq(report.failed, 1);
    ck_assert_uint_eq(report.skipped, report.n - 1);
    ck_assert_ptr_nonnull(strstr(find("E1")->seen, heads[_i].seen));
    ck_assert_str_eq(report.policy, "");
}
END_TEST

/* --- the report --- */

static char *print(int (*how)(FILE *to))
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(to);
    ck_assert_int_eq(how(to), 0);
    fclose(to);
    return text;
}

static int as_json(FILE *to)
{
    return adp_check_print_json(to, &report, NULL);
}

static int as_text(FILE *to)
{
    adp_check_print(to, &report);
    return 0;
}

static struct adp_check_result made_up(const char *id, enum adp_check_status status)
{
    return (struct adp_check_result) { .id = id,
                                       .title = "a title",
                                       .rule = 4,
                                       .status = status,
                                       .mend = status == ADP_CHECK_FAIL ? "a way" : NULL,
                                       .ms = 1.5 };
}

static void make_up_a_report(void)
{
    memset(&report, 0, sizeof report);
    snprintf(report.path, sizeof report.path, "/p.so");
    snprintf(report.policy, sizeof report.policy, "p");
    snprintf(report.sha256, sizeof report.sha256, "abc");
    report.seed = 4000000000u;
    report.n = 3;
    report.passed = report.failed = report.skipped = 1;
    report.results[0] = made_up("A1", ADP_CHECK_PASS);
    report.results[1] = made_up("A2", ADP_CHECK_FAIL);
    snprintf(report.results[1].seen, ADP_CHECK_SEEN, "a \x1b thing\xff");
    report.results[2] = made_up("A3", ADP_CHECK_SKIP);
    snprintf(report.results[2].seen, ADP_CHECK_SEEN, "a reason");
}

START_TEST(the_report_as_text_says_what_was_seen_and_how_to_mend_it)
{
    make_up_a_report();
    char *text = print(as_text);
    ck_assert_str_eq(text, "p  /p.so\n"
                           "A1   pass  a title\n"
                           "A2   FAIL  a title\n"
                           "           seen  a ? thing?\n"
                           "           mend  a way\n"
                           "           rule  4 of docs/abi.md\n"
                           "A3   skip  a title\n"
                           "           a reason\n"
                           "1 passed, 1 failed, 1 skipped; seed 4000000000\n");
    free(text);
}
END_TEST

/* Each row: a text, and what a terminal may get of it. */
static const struct {
    const char *text, *printed;
} shown[] = {
    { "gr\xc3\xb6\xc3\x9f"
      "er",
      "gr\xc3\xb6\xc3\x9f"
      "er" },
    { "\x1b[31m", "?[31m" },
    { "\xc2\x9b"
      "31m",
      "?31m" }, /* CSI, of C1 */
    { "\x9b"
      "31m",
      "?31m" }, /* the same, for a terminal of bytes */
    { "p\xe2\x80\xae"
      "os.",
      "p?os." },                     /* what follows reads from the right */
    { "p\xe2\x80\x8b.so", "p?.so" }, /* a blank of no width */
    { "p\xff.so", "p?.so" },
    { "p\xed\xa0\x80.so", "p?.so" }, /* U+D800, which UTF-8 has not */
};

START_TEST(nothing_in_the_report_drives_a_terminal_or_hides)
{
    char expected[200];
    memset(&report, 0, sizeof report);
    snprintf(report.path, sizeof report.path, "%s", shown[_i].text);
    snprintf(report.policy, sizeof report.policy, "%s", shown[_i].text);
    report.n = report.skipped = 1;
    report.results[0] = made_up("A1", ADP_CHECK_SKIP);
    snprintf(report.results[0].seen, ADP_CHECK_SEEN, "%s", shown[_i].text);
    const char *as = shown[_i].printed;
    snprintf(expected, sizeof expected,
             "%s  %s\nA1   skip  a title\n           %s\n"
             "0 passed, 0 failed, 1 skipped; seed 0\n",
             as, as, as);
    char *text = print(as_text);
    ck_assert_str_eq(text, expected);
    free(text);
}
END_TEST

START_TEST(the_report_as_json_holds_the_same)
{
    make_up_a_report();
    char *text = print(as_json);
    json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(o);
    const char *seen, *mend, *status, *id;
    int rule, passed, failed, skipped;
    json_int_t seed;
    json_t *checks, *none;
    ck_assert_int_eq(json_unpack(o, "{s:i,s:i,s:i,s:I,s:o}", "passed", &passed, "failed",
                                 &failed, "skipped", &skipped, "seed", &seed, "checks",
                                 &checks),
                     0);
    ck_assert_int_eq(passed * 100 + failed * 10 + skipped, 111);
    ck_assert_int_eq(seed, 4000000000);
    ck_assert_uint_eq(json_array_size(checks), 3);
    ck_assert_int_eq(json_unpack(json_array_get(checks, 1), "{s:s,s:i,s:s,s:s,s:s}", "id",
                                 &id, "rule", &rule, "status", &status, "seen", &seen,
                                 "mend", &mend),
                     0);
    ck_assert_str_eq(id, "A2");
    ck_assert_int_eq(rule, 4);
    ck_assert_str_eq(status, "fail");
    ck_assert_str_eq(
        seen, "a \x1b thing\xef\xbf\xbd"); /* escaped in the text, 0xff is no UTF-8 */
    ck_assert_str_eq(mend, "a way");
    none = json_object_get(json_array_get(checks, 0), "seen");
    ck_assert(json_is_null(none));
    json_decref(o);
    free(text);
}
END_TEST

/* --- docs/checks.md --- */

START_TEST(the_page_lists_every_check_in_order_with_its_rule)
{
    struct adp_check_result listed;
    FILE *page = fopen(DOCS "/checks.md", "r");
    char line[1000], expected[200];
    uint32_t n = 0;
    ck_assert_ptr_nonnull(page);
    while (fgets(line, sizeof line, page)) {
        if (line[0] != '|' || line[1] != ' ' || !strchr("ELSBCR", line[2]) ||
            !strchr("123456789", line[3]))
            continue;
        ck_assert_msg(adp_check_listed(&listed, n++), "not in the list: %s", line);
        snprintf(expected, sizeof expected, "| %s | %s | %u |", listed.id, listed.title,
                 listed.rule);
        ck_assert_msg(strncmp(line, expected, strlen(expected)) == 0, "%s is not %s",
                      line, expected);
    }
    fclose(page);
    ck_assert_msg(!adp_check_listed(&listed, n), "not on the page: %s", listed.id);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("check");
    TCase *t = tcase_create("check");
    tcase_set_timeout(t, 30.0);
    tcase_add_test(t, the_shipped_policies_are_there_to_be_tried);
    tcase_add_loop_test(t, a_shipped_policy_passes_every_check, 0, list_shipped());
    tcase_add_test(t, one_check_is_run_alone);
    tcase_add_test(t, one_check_that_cannot_be_asked_says_what_keeps_it);
    tcase_add_test(t, a_check_that_is_not_there_is_refused_with_the_nearest);
    tcase_add_test(t, a_check_is_named_in_small_letters_too);
    tcase_add_test(t, a_config_that_is_no_object_is_refused);
    tcase_add_test(t, parameters_that_create_takes_can_be_given);
    tcase_add_test(t, parameters_that_create_refuses_are_a_failure);
    tcase_add_test(t, parameters_that_the_policy_does_not_have_are_refused);
    tcase_add_test(t, a_config_for_a_policy_that_takes_none_is_a_failure);
    tcase_add_test(t, a_file_that_is_not_there_is_an_error);
    tcase_add_test(t, the_same_file_is_asked_the_same);
    tcase_add_test(t, a_run_that_is_stopped_says_so_and_leaves_nothing);
    tcase_add_test(t, a_crash_keeps_the_others_from_being_asked_and_us_alive);
    tcase_add_loop_test(t, a_file_for_another_machine_fails_the_first_check_alone, 0,
                        sizeof heads / sizeof heads[0]);
    tcase_add_test(t, the_report_as_text_says_what_was_seen_and_how_to_mend_it);
    tcase_add_loop_test(t, nothing_in_the_report_drives_a_terminal_or_hides, 0,
                        sizeof shown / sizeof shown[0]);
    tcase_add_test(t, the_report_as_json_holds_the_same);
    tcase_add_test(t, the_page_lists_every_check_in_order_with_its_rule);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
