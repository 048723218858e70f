/* SPDX-License-Identifier: MIT */
#include "runtime/analysis/excerpt.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ten lines: a snapshot, four decisions (one refused, one shadow's refusal, one fault), an
 * outcome, a loss, a failed scrape, and two that cannot be read, one of them hostile. Line 7 is
 * of an earlier time than those before it: another process wrote it. */
#define WHO "\"experiment\":\"e\",\"run\":\"r1\",\"policy\":\"p\",\"params\":{}"
static const char log_text[] =
    "{\"at\":100,\"metrics\":{\"m\":1},\"signals\":{\"kv_pressure\":0.5}}\n"
    "{\"at\":101," WHO ",\"request_id\":\"a\",\"verdict\":\"admit\",\"enforced\":true}\n"
    "{\"at\":102," WHO ",\"request_id\":\"b\",\"verdict\":\"reject\",\"reason\":"
    "\"kv_pressure\",\"enforced\":true}\n"
    "{\"at\":103,\"request_id\":\"a\",\"outcome\":{\"ttft_ms\":5,\"ok\":true}}\n"
    "{\"at\":104," WHO ",\"request_id\":\"c\",\"verdict\":\"reject\",\"reason\":"
    "\"policy_error\",\"enforced\":true,\"fault\":true}\n"
    "{\"at\":105,\"run\":\"r1\",\"policy\":\"q\",\"role\":\"shadow\",\"request_id\":"
    "\"c\","
    "\"verdict\":\"reject\",\"reason\":\"queue_depth\",\"enforced\":false}\n"
    "{\"at\":101.25,\"dropped\":{\"what\":\"records\",\"count\":3}}\n"
    "{\"at\":106,\"scrape_error\":\"e: timeout: too slow\"}\n"
    "{\"at\":107, </script>\n"
    "\"\xff\"\n";

static char path[] = "excerpt.XXXXXX";
static char packed[] = "excerpt.XXXXXX";

static void make_logs(void)
{
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, log_text, sizeof log_text - 1), sizeof log_text - 1);
    close(fd);
    char command[128];
    close(mkstemp(packed));
    snprintf(command, sizeof command, "gzip -c %s >%s", path, packed);
    ck_assert_int_eq(system(command), 0);
}

static void remove_logs(void)
{
    unlink(path);
    unlink(packed);
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    memcpy(packed + strlen(packed) - 6, "XXXXXX", 6);
}

/* What is answered; the caller decrefs it. */
static json_t *answer(const struct adp_excerpt *asked)
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    ck_assert_int_eq(adp_excerpt_json(asked, to, NULL), 0);
    fclose(to);
    json_t *doc = json_loads(text, 0, NULL);
    ck_assert_msg(doc, "not JSON: %s", text);
    free(text);
    return doc;
}

/* "3 4 5": the numbers of its lines. */
static void numbers(const json_t *doc, char *to, size_t cap)
{
    size_t i, at = 0;
    json_t *line;
    to[0] = '\0';
    json_array_foreach(json_object_get(doc, "lines"), i, line)
    {
        at += (size_t)snprintf(to + at, cap - at, i ? " %lld" : "%lld",
                               json_integer_value(json_object_get(line, "line")));
    }
}

static const struct {
    const char *name;
    double at;
    uint64_t line;
    uint32_t most;
    long long here; /* 0: null */
    const char *lines;
} arounds[] = {
    { "the nearest in time stands in the middle", 103.9, 0, 3, 5, "4 5 6" },
    { "also where another process wrote", 101.3, 0, 3, 7, "6 7 8" },
    { "of equally near ones it is the first", 100.5, 0, 1, 1, "1" },
    { "before the first there is nothing", 0, 0, 4, 1, "1 2 3 4" },
    { "behind the last time comes what has none", 1e9, 0, 5, 8, "6 7 8 9 10" },
    { "a line is found by its number", NAN, 9, 3, 9, "8 9 10" },
    { "the first too", NAN, 1, 3, 1, "1 2 3" },
    { "one that is not there is none", NAN, 11, 3, 0, "" },
    { "all of a short log", 104, 0, 200, 5, "1 2 3 4 5 6 7 8 9 10" },
};

START_TEST(lines_around_a_moment_are_found)
{
    struct adp_excerpt asked = { .around = true,
                                 .at = arounds[_i].at,
                                 .line = arounds[_i].line,
                                 .most = arounds[_i].most };
    char found[64];
    for (int pack = 0; pack < 2; pack++) {
        asked.path = pack ? packed : path;
        json_t *doc = answer(&asked);
        numbers(doc, found, sizeof found);
        ck_assert_msg(strcmp(found, arounds[_i].lines) == 0, "%s: lines %s",
                      arounds[_i].name, found);
        ck_assert_int_eq(json_integer_value(json_object_get(doc, "here")),
                         arounds[_i].here);
        json_decref(doc);
    }
}
END_TEST

static const struct {
    enum adp_excerpt_of of;
    const char *policy, *reason;
    uint64_t from;
    uint32_t most;
    long long n, next;
    const char *lines;
} kinds[] = {
    { ADP_EXCERPT_ANY, NULL, NULL, 0, 3, 10, 4, "1 2 3" },
    { ADP_EXCERPT_DECISIONS, NULL, NULL, 0, 9, 4, 0, "2 3 5 6" },
    { ADP_EXCERPT_DECISIONS, "p", NULL, 0, 9, 3, 0, "2 3 5" },
    { ADP_EXCERPT_DECISIONS, NULL, NULL, 3, 1, 4, 5, "3" },
    { ADP_EXCERPT_ADMITTED, NULL, NULL, 0, 9, 2, 0, "2 6" },
    { ADP_EXCERPT_ADMITTED, "p", NULL, 0, 9, 1, 0, "2" },
    { ADP_EXCERPT_REFUSED, NULL, NULL, 0, 9, 1, 0, "3" },
    { ADP_EXCERPT_REFUSED, NULL, "kv_pressure", 0, 9, 1, 0, "3" },
    { ADP_EXCERPT_REFUSED, NULL, "", 0, 9, 0, 0, "" },
    { ADP_EXCERPT_NOT_ENFORCED, NULL, NULL, 0, 9, 1, 0, "6" },
    { ADP_EXCERPT_FAULTS, NULL, NULL, 0, 9, 1, 0, "5" },
    { ADP_EXCERPT_OUTCOMES, NULL, NULL, 0, 9, 1, 0, "4" },
    { ADP_EXCERPT_STATES, NULL, NULL, 0, 9, 1, 0, "1" },
    { ADP_EXCERPT_LOSSES, NULL, NULL, 0, 9, 1, 0, "7" },
    { ADP_EXCERPT_SCRAPE_ERRORS, NULL, NULL, 0, 9, 1, 0, "8" },
    { ADP_EXCERPT_CORRUPT, NULL, NULL, 0, 9, 2, 0, "9 10" },
};

START_TEST(lines_of_a_kind_are_listed_and_counted)
{
    struct adp_excerpt asked = { .path = path,
                                 .at = NAN,
                                 .of = kinds[_i].of,
                                 .policy = kinds[_i].policy,
                                 .reason = kinds[_i].reason,
                                 .line = kinds[_i].from,
                                 .most = kinds[_i].most };
    char found[64];
    json_t *doc = answer(&asked);
    numbers(doc, found, sizeof found);
    ck_assert_str_eq(found, kinds[_i].lines);
    ck_assert_int_eq(json_integer_value(json_object_get(doc, "n")), kinds[_i].n);
    ck_assert_int_eq(json_integer_value(json_object_get(doc, "next")), kinds[_i].next);
    json_decref(doc);
}
END_TEST

START_TEST(a_line_stands_as_it_is_with_why_it_cannot_be_read)
{
    struct adp_excerpt asked = {
        .path = path, .at = NAN, .of = ADP_EXCERPT_CORRUPT, .most = 2
    };
    json_t *doc = answer(&asked), *lines = json_object_get(doc, "lines");
    const char *text, *why;
    ck_assert_int_eq(
        json_unpack(json_array_get(lines, 0), "{s:s, s:s}", "text", &text, "why", &why),
        0);
    ck_assert_str_eq(text, "{\"at\":107, </script>");
    ck_assert_str_eq(why, "not JSON");
    ck_assert_int_eq(
        json_unpack(json_array_get(lines, 1), "{s:s, s:s}", "text", &text, "why", &why),
        0);
    ck_assert_str_eq(text, "\"\xef\xbf\xbd\"");
    ck_assert_str_eq(why, "not UTF-8");
    json_decref(doc);
}
END_TEST

START_TEST(a_long_line_is_cut_and_says_so)
{
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 2 * ADP_EXCERPT_TEXT; i++)
        fputc('x', file);
    fputs("\nlast", file);
    fclose(file);
    json_t *doc = answer(&(struct adp_excerpt) { .path = path, .at = NAN, .most = 2 });
    json_t *lines = json_object_get(doc, "lines"), *first = json_array_get(lines, 0);
    ck_assert_uint_eq(json_string_length(json_object_get(first, "text")),
                      ADP_EXCERPT_TEXT);
    ck_assert(json_is_true(json_object_get(first, "cut")));
    ck_assert(json_is_false(json_object_get(json_array_get(lines, 1), "cut")));
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(lines, 1), "why")),
                     "without an end");
    json_decref(doc);
}
END_TEST

START_TEST(what_is_no_file_is_not_there)
{
    struct adp_error err = { 0 };
    struct adp_excerpt asked = { .path = "nowhere", .at = NAN, .most = 1 };
    FILE *to = tmpfile();
    ck_assert_int_eq(adp_excerpt_json(&asked, to, &err), ADP_ENOENT);
    asked.path = ".";
    err.code = 0;
    ck_assert_int_eq(adp_excerpt_json(&asked, to, &err), ADP_ENOENT);
    ck_assert_str_eq(err.text, ".: not a file");
    fclose(to);
}
END_TEST

START_TEST(every_kind_has_a_word_that_finds_it)
{
    for (int i = 0; i < ADP_EXCERPT_OFS; i++) {
        enum adp_excerpt_of of = ADP_EXCERPT_OFS;
        ck_assert(adp_excerpt_find(adp_excerpt_word((enum adp_excerpt_of)i), &of));
        ck_assert_int_eq(of, i);
    }
    ck_assert(!adp_excerpt_find("nonsense", &(enum adp_excerpt_of) { 0 }));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("excerpt");
    TCase *t = tcase_create("excerpt");
    tcase_add_checked_fixture(t, make_logs, remove_logs);
    tcase_add_loop_test(t, lines_around_a_moment_are_found, 0,
                        sizeof arounds / sizeof *arounds);
    tcase_add_loop_test(t, lines_of_a_kind_are_listed_and_counted, 0,
                        sizeof kinds / sizeof *kinds);
    tcase_add_test(t, a_line_stands_as_it_is_with_why_it_cannot_be_read);
    tcase_add_test(t, a_long_line_is_cut_and_says_so);
    tcase_add_test(t, what_is_no_file_is_not_there);
    tcase_add_test(t, every_kind_has_a_word_that_finds_it);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
