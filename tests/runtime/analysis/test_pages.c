/* SPDX-License-Identifier: MIT */
/* Whole pages, from logs made by hand with answers worked out by hand.
 *
 * Each folder of cases/ holds log/ and what is expected of it:
 *   why                 how the figures were worked out
 *   report.json         what the report's JSON must hold: every key here, equal there;
 *                       arrays whole, numbers to 1e-12
 *   report.says         lines that the report's text must hold, blanks apart
 *   report.check        0 or 1: what `--check` exits with
 *   compare.experiment  what is compared: an experiment in log/, or
 *   compare.paths       two paths below log/, or
 *   compare.arms        the arms of what is in log/
 *   compare.json, .says, .check as above; compare.error: the error's text, from its end
 * The report is of log/ as a folder, or of its only file. */
#include "runtime/analysis/compare.h"
#include "runtime/analysis/experiments.h"
#include "runtime/analysis/report.h"

#include <check.h>
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[1024];
static struct dirent **cases;
static int n_cases;

static int is_case(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void find_cases(void)
{
    const char *source = getenv("srcdir");
    snprintf(root, sizeof root, "%s/tests/runtime/analysis/cases", source ? source : ".");
    n_cases = scandir(root, &cases, is_case, alphasort);
}

/* The text of a file of the case, without its last newline; NULL: there is none. */
static char *file_of(const char *name, const char *file)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s/%s", root, name, file);
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    char *text = calloc(1, 1 << 16);
    ck_assert_ptr_nonnull(text);
    size_t n = fread(text, 1, (1 << 16) - 1, f);
    if (n && text[n - 1] == '\n')
        text[n - 1] = '\0';
    fclose(f);
    return text;
}

/* ---- comparing ------------------------------------------------------------------------
 */

static void check_holds(const char *where, json_t *expected, json_t *actual);

static void check_object(const char *where, json_t *expected, json_t *actual)
{
    const char *key;
    json_t *value;
    ck_assert_msg(json_is_object(actual), "%s: not an object", where);
    /* {} means empty, not anything. */
    if (!json_object_size(expected))
        ck_assert_msg(!json_object_size(actual), "%s: not empty", where);
    json_object_foreach(expected, key, value)
    {
        char path[512];
        snprintf(path, sizeof path, "%s.%s", where, key);
        ck_assert_msg(json_object_get(actual, key) != NULL, "%s: missing", path);
        check_holds(path, value, json_object_get(actual, key));
    }
}

static void check_array(const char *where, json_t *expected, json_t *actual)
{
    size_t i;
    json_t *value;
    ck_assert_msg(json_is_array(actual), "%s: not an array", where);
    ck_assert_msg(json_array_size(expected) == json_array_size(actual),
                  "%s: %zu items, expected %zu", where, json_array_size(actual),
                  json_array_size(expected));
    json_array_foreach(expected, i, value)
    {
        char path[512];
        snprintf(path, sizeof path, "%s[%zu]", where, i);
        check_holds(path, value, json_array_get(actual, i));
    }
}

static void check_holds(const char *where, json_t *expected, json_t *actual)
{
    if (json_is_object(expected)) {
        check_object(where, expected, actual);
    } else if (json_is_array(expected)) {
        check_array(where, expected, actual);
    } else if (json_is_number(expected)) {
        ck_assert_msg(json_is_number(actual), "%s: not a number", where);
        double a = json_number_value(expected), b = json_number_value(actual);
        ck_assert_msg(fabs(a - b) <= 1e-12 * fmax(1, fabs(a)),
                      "%s: %.17g, expected %.17g", where, b, a);
    } else {
        char *got = json_dumps(actual, JSON_ENCODE_ANY);
        ck_assert_msg(json_equal(expected, actual), "%s: %s", where, got);
        free(got);
    }
}

static void check_json(const char *name, const char *file, const char *text)
{
    char *expected = file_of(name, file);
    if (!expected)
        return;
    json_error_t e;
    json_t *want = json_loads(expected, 0, &e);
    ck_assert_msg(want != NULL, "%s/%s: %s", name, file, e.text);
    json_t *got = json_loads(text, JSON_REJECT_DUPLICATES, &e);
    ck_assert_msg(got != NULL, "%s: the page is not JSON: %s\n%s", name, e.text, text);
    check_holds(name, want, got);
    json_decref(want);
    json_decref(got);
    free(expected);
}

/* Runs of blanks and newlines become one blank. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *s = text; *s; s++) {
        bool blank = *s == ' ' || *s == '\n';
        if (!blank)
            *to++ = *s;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    }
    *to = '\0';
}

/* A page is at most 80 columns wide, in code points. Paths apart: they depend on where the
 * sources lie. */
static void check_width(const char *name, const char *page)
{
    for (const char *s = page; *s; s++) {
        size_t n = strcspn(s, "\n");
        char line[4096];
        snprintf(line, sizeof line, "%.*s", (int)n, s);
        size_t wide = 0;
        for (size_t i = 0; i < n; i++)
            wide += (s[i] & 0xc0) != 0x80;
        ck_assert_msg(wide <= 80 || strstr(line, "/cases/"), "%s: too wide: %s", name,
                      line);
        s += n;
        if (!*s)
            return;
    }
}

static void check_says(const char *name, const char *file, char *page)
{
    check_width(name, page);
    char *expected = file_of(name, file);
    squeeze(page);
    for (char *rest = expected, *line; rest && (line = strsep(&rest, "\n"));)
        ck_assert_msg(strstr(page, line) != NULL, "%s: nowhere on the page: %s\n%s", name,
                      line, page);
    free(expected);
}

static void check_exit(const char *name, const char *file, bool good)
{
    char *expected = file_of(name, file);
    if (expected)
        ck_assert_msg((*expected == '0') == good, "%s: check says %d", name, good);
    free(expected);
}

/* ---- the pages ------------------------------------------------------------------------
 */

/* Prints with `print` into memory, which the caller frees. */
#define PAGE(print, object)                                                              \
    __extension__({                                                                      \
        char *page_;                                                                     \
        size_t len_;                                                                     \
        FILE *to_ = open_memstream(&page_, &len_);                                       \
        ck_assert_int_eq(print(object, to_), 0);                                         \
        fclose(to_);                                                                     \
        page_;                                                                           \
    })

/* log/, or the only file in it: then the file is given by name, as by a user. */
static void log_path(const char *name, char *to, size_t cap)
{
    struct dirent **files;
    snprintf(to, cap, "%s/%s/log", root, name);
    int n = scandir(to, &files, is_case, alphasort);
    ck_assert_int_ge(n, 1);
    if (n == 1 && strstr(files[0]->d_name, ".jsonl"))
        snprintf(to, cap, "%s/%s/log/%s", root, name, files[0]->d_name);
    for (int i = 0; i < n; i++)
        free(files[i]);
    free(files);
}

START_TEST(a_report_says_what_was_worked_out_by_hand)
{
    const char *name = cases[_i]->d_name;
    char path[2048];
    struct adp_report *report;
    struct adp_error err = { 0 };
    log_path(name, path, sizeof path);
    const char *paths[] = { path };
    int e = adp_report_read(paths, 1, &report, &err);
    ck_assert_msg(e == 0, "%s: %s", name, err.text);
    char *json = PAGE(adp_report_json, report);
    check_json(name, "report.json", json);
    char *page = PAGE(adp_report_print, report);
    check_says(name, "report.says", page);
    check_exit(name, "report.check", adp_report_check(report, NULL));
    free(json);
    free(page);
    adp_report_destroy(report);
}
END_TEST

static int compare(const char *name, struct adp_compare **ret, struct adp_error *err)
{
    char *experiment = file_of(name, "compare.experiment");
    char *paths = file_of(name, "compare.paths");
    char *arms = file_of(name, "compare.arms");
    char a[2048], b[2048];
    const char *roots[] = { a };
    int e = 1;
    if (experiment) {
        snprintf(a, sizeof a, "%s/%s/log", root, name);
        e = adp_compare_experiment(experiment, roots, 1, ret, err);
    } else if (paths) {
        char *second = strchr(paths, '\n');
        ck_assert_ptr_nonnull(second);
        *second = '\0';
        snprintf(a, sizeof a, "%s/%s/log/%s", root, name, paths);
        snprintf(b, sizeof b, "%s/%s/log/%s", root, name, second + 1);
        e = adp_compare_paths(a, b, ret, err);
    }
    if (arms) {
        snprintf(a, sizeof a, "%s/%s/log", root, name);
        e = adp_compare_arms(roots, 1, ret, err);
    }
    free(arms);
    free(experiment);
    free(paths);
    return e;
}

START_TEST(a_comparison_says_what_was_worked_out_by_hand)
{
    const char *name = cases[_i]->d_name;
    struct adp_compare *made;
    struct adp_error err = { 0 };
    char *error = file_of(name, "compare.error");
    int e = compare(name, &made, &err);
    if (error)
        ck_assert_msg(e < 0 && strcmp(err.text, error) == 0, "%s: %d %s", name, e,
                      err.text);
    else
        ck_assert_msg(e >= 0, "%s: %s", name, err.text);
    if (e == 0) {
        char *json = PAGE(adp_compare_json, made);
        check_json(name, "compare.json", json);
        char *page = PAGE(adp_compare_print, made);
        check_says(name, "compare.says", page);
        check_exit(name, "compare.check", adp_compare_check(made, NULL));
        free(json);
        free(page);
        adp_compare_destroy(made);
    }
    free(error);
}
END_TEST

/* ---- shapes ---------------------------------------------------------------------------
 */

static void check_keys(json_t *object, const char *const *keys)
{
    size_t n = 0;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        ck_assert_ptr_nonnull(keys[n]);
        ck_assert_str_eq(key, keys[n++]);
    }
    ck_assert_ptr_null(keys[n]);
}

static json_t *page_of(const char *name, bool comparison)
{
    char path[2048];
    struct adp_error err = { 0 };
    char *text;
    if (comparison) {
        struct adp_compare *made;
        ck_assert_int_eq(compare(name, &made, &err), 0);
        text = PAGE(adp_compare_json, made);
        adp_compare_destroy(made);
    } else {
        struct adp_report *report;
        log_path(name, path, sizeof path);
        const char *paths[] = { path };
        ck_assert_int_eq(adp_report_read(paths, 1, &report, &err), 0);
        text = PAGE(adp_report_json, report);
        adp_report_destroy(report);
    }
    json_t *doc = json_loads(text, 0, NULL);
    free(text);
    return doc;
}

START_TEST(the_report_has_exactly_its_keys)
{
    static const char *const run[] = { "verdict",
                                       "baseline",
                                       "policy",
                                       "experiment",
                                       "run",
                                       "offered",
                                       "admitted",
                                       "refused",
                                       "by_reason",
                                       "signals",
                                       "gates",
                                       "ttft_ms",
                                       "goodput",
                                       "instrument",
                                       "items",
                                       "reach",
                                       "samples",
                                       "params",
                                       "rules",
                                       "margin",
                                       "rate",
                                       "not_enforced",
                                       "tenants",
                                       "priorities",
                                       "arms",
                                       "over_time",
                                       "finding",
                                       "notes",
                                       "logs",
                                       "shadow",
                                       "watched",
                                       "provenance",
                                       "caveats",
                                       "decisions",
                                       "most_moved",
                                       "absent",
                                       "cost",
                                       "deferred",
                                       "refused_by_fault",
                                       "by_reason_not_enforced",
                                       "not_read",
                                       NULL };
    static const char *const signal[] = { "min", "p50",    "p95",   "max",
                                          "n",   "absent", "moved", NULL };
    static const char *const gate[] = { "rule",
                                        "signal",
                                        "op",
                                        "threshold",
                                        "closest",
                                        "held",
                                        "read",
                                        "distance",
                                        "would",
                                        "out_of_reach",
                                        "reachable_at_tokens",
                                        NULL };
    static const char *const ttft[] = { "p50", "p95", "n", "within", NULL };
    static const char *const instrument[] = { "dropped",
                                              "corrupt_lines",
                                              "faults",
                                              "scrape_errors",
                                              "orphan_outcomes",
                                              "duplicate_outcomes",
                                              "dropped_unrecorded",
                                              "decisions",
                                              "outcomes",
                                              "states",
                                              "writers",
                                              "refused_outcomes",
                                              "ttft_out_of_range",
                                              "metrics_omitted",
                                              NULL };
    json_t *doc = page_of("counting_requests", false);
    check_keys(doc, run);
    check_keys(json_object_get(json_object_get(doc, "signals"), "kv_pressure"), signal);
    check_keys(json_array_get(json_object_get(doc, "gates"), 0), gate);
    check_keys(json_object_get(doc, "ttft_ms"), ttft);
    check_keys(json_object_get(doc, "instrument"), instrument);
    json_decref(doc);
}
END_TEST

START_TEST(the_comparison_has_exactly_its_keys)
{
    static const char *const top[] = { "experiment", "baseline", "candidates",
                                       "arms",       "caveats",  NULL };
    static const char *const base[] = { "policy",        "runs",        "p95_ttft_ms",
                                        "goodput",       "repeats",     "params",
                                        "refused_share", "offered",     "p50_ttft_ms",
                                        "greatest",      "slo_ttft_ms", NULL };
    static const char *const side[] = {
        "policy",      "params", "runs",       "refused_share",        "p95_ttft_ms",
        "goodput",     "checks", "difference", "equal_volume_goodput", "repeats",
        "grounds",     "words",  "offered",    "p50_ttft_ms",          "greatest",
        "slo_ttft_ms", NULL
    };
    static const char *const spread[] = { "median", "min", "max", NULL };
    static const char *const checks[] = { "fired", "same_load", "outcomes", "separated",
                                          NULL };
    json_t *doc = page_of("compare_up_and_apart", true);
    json_t *candidate = json_array_get(json_object_get(doc, "candidates"), 0);
    check_keys(doc, top);
    check_keys(json_object_get(doc, "baseline"), base);
    check_keys(candidate, side);
    check_keys(json_object_get(candidate, "p95_ttft_ms"), spread);
    check_keys(json_object_get(candidate, "goodput"), spread);
    check_keys(json_object_get(candidate, "checks"), checks);
    json_decref(doc);
}
END_TEST

/* Where each of the words stands on the page of the comparison; all must be there. */
static void check_order(char *page, const char *const *words)
{
    const char *at = page;
    for (; *words; words++) {
        const char *found = strstr(at, *words);
        ck_assert_msg(found != NULL, "not there, or too early: %s\n%s", *words, page);
        at = found;
    }
}

START_TEST(what_weakens_a_page_stands_before_its_numbers)
{
    static const char *const report_order[] = { "LIVE:",
                                                "WHAT WEAKENS THIS PAGE",
                                                "the policy failed",
                                                "COULD IT HAVE FIRED",
                                                "WHICH SIGNALS MOVED",
                                                "WHAT IT DID",
                                                "WHAT IT COST",
                                                "have no outcome",
                                                "goodput",
                                                "OVER TIME",
                                                "THE SEVEN ITEMS",
                                                "THE INSTRUMENT",
                                                NULL };
    static const char *const compare_order[] = { "fired in every repeat",
                                                 "NO  goodput ranges do not overlap",
                                                 "NOT A RESULT",
                                                 "p95 TTFT",
                                                 "goodput",
                                                 "MEDIANS",
                                                 "HOW HIGH",
                                                 NULL };
    char path[2048];
    struct adp_report *report;
    struct adp_compare *made;
    log_path("counting_requests", path, sizeof path);
    const char *paths[] = { path };
    ck_assert_int_eq(adp_report_read(paths, 1, &report, NULL), 0);
    char *page = PAGE(adp_report_print, report);
    check_order(page, report_order);
    free(page);
    adp_report_destroy(report);
    ck_assert_int_eq(compare("compare_overlap", &made, NULL), 0);
    page = PAGE(adp_compare_print, made);
    check_order(page, compare_order);
    free(page);
    adp_compare_destroy(made);
}
END_TEST

START_TEST(what_is_not_there_is_an_error_that_names_it)
{
    struct adp_report *report;
    struct adp_error err = { 0 };
    const char *paths[] = { "/nonexistent/a.jsonl" };
    ck_assert_int_eq(adp_report_read(paths, 1, &report, &err), ADP_ENOENT);
    ck_assert_str_eq(err.file, "/nonexistent/a.jsonl");
}
END_TEST

START_TEST(experiments_are_listed_with_what_is_wrong_with_them)
{
    char a[2048], b[2048];
    struct adp_experiments *experiments;
    snprintf(a, sizeof a, "%s/compare_copied_repeat/log", root);
    snprintf(b, sizeof b, "%s/two_runs_in_one_file/log", root);
    const char *paths[] = { a, b };
    ck_assert_int_eq(adp_experiments_read(paths, 2, &experiments, NULL), 0);
    char *page = PAGE(adp_experiments_print, experiments);
    squeeze(page);
    ck_assert_ptr_nonnull(strstr(page, "cmp (4 runs)"));
    ck_assert_ptr_nonnull(strstr(page, "base 2 runs (baseline)"));
    ck_assert_ptr_nonnull(strstr(page, "kv 2 runs threshold=0.9"));
    ck_assert_ptr_nonnull(strstr(page, "k1.jsonl, not a repeat."));
    ck_assert_ptr_nonnull(strstr(page, "e (2 runs) kv_threshold 2 runs threshold=0.9"));
    ck_assert_ptr_nonnull(strstr(page, "no baseline: nothing here can be compared."));
    ck_assert_ptr_nonnull(strstr(page, "k3.jsonl holds again what another file holds"));
    ck_assert_ptr_nonnull(strstr(page, "is a mixture: it holds 2 runs"));
    free(page);
    char *text = PAGE(adp_experiments_json, experiments);
    json_t *doc = json_loads(text, 0, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "experiments")), 2);
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "not_counted")), 1);
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "mixtures")), 1);
    json_decref(doc);
    free(text);
    adp_experiments_destroy(experiments);
}
END_TEST

/* The whole log through a pipe, which gives it once: behind a file that holds its beginning it
 * cannot be told apart, and what it has beyond that (records 2 to 4) is said to be left out. */
START_TEST(what_cannot_be_read_twice_is_left_out_and_said)
{
    char part[2048], pipe_path[32];
    int ends[2];
    struct adp_report *report;
    snprintf(part, sizeof part, "%s/part_of_a_log_beside_the_whole/log/a.jsonl", root);
    char *whole = file_of("part_of_a_log_beside_the_whole/log", "b.jsonl");
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(pipe_path, sizeof pipe_path, "/dev/fd/%d", ends[0]);
    ck_assert_int_eq(write(ends[1], whole, strlen(whole)), (int)strlen(whole));
    close(ends[1]);
    const char *paths[] = { part, pipe_path };
    ck_assert_int_eq(adp_report_read(paths, 2, &report, NULL), 0);
    char *page = PAGE(adp_report_print, report);
    squeeze(page);
    ck_assert_ptr_nonnull(strstr(page, "1 of 2 requests"));
    ck_assert_ptr_nonnull(strstr(page, "and 3 that no other file has"));
    ck_assert(!adp_report_check(report, NULL));
    close(ends[0]);
    free(whole);
    free(page);
    adp_report_destroy(report);
}
END_TEST

static int times(const char *text, const char *word)
{
    int n = 0;
    while ((text = strstr(text, word))) {
        text += strlen(word);
        n++;
    }
    return n;
}

/* Five runs, told by their lines; the copy holds all five again, and is named once. Of the three
 * of e1 with t=3, one is a piece of another. */
START_TEST(a_file_of_several_runs_given_twice_is_named_once)
{
    char folder[2048];
    struct adp_experiments *experiments;
    snprintf(folder, sizeof folder, "%s/several_of_everything_in_one_file/log", root);
    const char *paths[] = { folder };
    ck_assert_int_eq(adp_experiments_read(paths, 1, &experiments, NULL), 0);
    char *page = PAGE(adp_experiments_print, experiments);
    squeeze(page);
    ck_assert_ptr_nonnull(strstr(page, "zz-copy.jsonl holds again what another file"));
    ck_assert_int_eq(times(page, "holds again"), 1);
    ck_assert_ptr_nonnull(strstr(page, "mix.jsonl is a mixture: it holds 5 runs"));
    free(page);
    char *text = PAGE(adp_experiments_json, experiments);
    json_t *doc = json_loads(text, 0, NULL);
    json_t *e1 = json_array_get(json_object_get(doc, "experiments"), 0);
    json_t *p3 = json_array_get(json_object_get(e1, "policies"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(p3, "repeats")), 2);
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "not_counted")), 1);
    json_decref(doc);
    free(text);
    adp_experiments_destroy(experiments);
}
END_TEST

int main(void)
{
    find_cases();
    if (n_cases < 50) {
        fprintf(stderr, "the cases are not at %s\n", root);
        return EXIT_FAILURE;
    }
    Suite *suite = suite_create("pages");
    TCase *t = tcase_create("cases");
    tcase_add_loop_test(t, a_report_says_what_was_worked_out_by_hand, 0, n_cases);
    tcase_add_loop_test(t, a_comparison_says_what_was_worked_out_by_hand, 0, n_cases);
    suite_add_tcase(suite, t);
    t = tcase_create("pages");
    tcase_add_test(t, the_report_has_exactly_its_keys);
    tcase_add_test(t, the_comparison_has_exactly_its_keys);
    tcase_add_test(t, what_weakens_a_page_stands_before_its_numbers);
    tcase_add_test(t, what_is_not_there_is_an_error_that_names_it);
    tcase_add_test(t, experiments_are_listed_with_what_is_wrong_with_them);
    tcase_add_test(t, what_cannot_be_read_twice_is_left_out_and_said);
    tcase_add_test(t, a_file_of_several_runs_given_twice_is_named_once);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    for (int i = 0; i < n_cases; i++)
        free(cases[i]);
    free(cases);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
