/* SPDX-License-Identifier: MIT */
/* What whole pages read as: each file of expectations (tests/core/pages/) is held against
 * the shipped signals, as a publisher would read the page. */
#include "core/history.h"
#include "core/promtext.h"
#include "core/signal.h"

#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull

enum { LINE = 1024, MOST_PAGE = 1 << 20 };

static struct adp_signals *set;
static struct adp_scratch *scratch;

static void setup(void)
{
    ck_assert_int_eq(adp_signals_create(&set, NULL), 0);
    ck_assert_int_eq(adp_scratch_create(&scratch, 4096), 0);
}

static void teardown(void)
{
    adp_signals_destroy(set);
    adp_scratch_destroy(scratch);
}

/* A file of expectations being read, and what its page read as. */
struct reading {
    FILE *file;
    const char *folder; /* of the pages */
    char line[LINE];
    int number;
    bool listed[ADP_MAX_KNOWN];
    struct adp_reading readings[ADP_MAX_KNOWN];
};

static FILE *open_under(const char *folder, const char *name)
{
    char path[LINE];
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/%s/%s", source ? source : ".", folder, name);
    return fopen(path, "rb");
}

static void fill(struct reading *r, struct adp_metrics *metrics, const char *name)
{
    FILE *f = open_under(r->folder, name);
    ck_assert_msg(f != NULL, "line %d: no page %s", r->number, name);
    char *text = malloc(MOST_PAGE);
    ck_assert_ptr_nonnull(text);
    size_t n = fread(text, 1, MOST_PAGE, f);
    fclose(f);
    struct adp_error err = { 0 };
    int code = adp_promtext_read(metrics, text, n, NULL, &err);
    ck_assert_msg(code == 0, "%s:%u: %s", name, err.line, err.text);
    free(text);
}

/* Reads all signals from the page `name`, `at_s` on the clock, and keeps it. */
static void read_page(struct reading *r, struct adp_history *history, const char *name,
                      double at_s)
{
    struct adp_metrics *now = adp_history_next(history);
    struct adp_moment moment;
    double wall_s = at_s;
    uint64_t at_ns = (uint64_t)(at_s * (double)SECOND);
    fill(r, now, name);
    adp_metrics_newest(now, &wall_s); /* the now of a page from a file */
    adp_history_look(history, now, at_ns, &moment);
    adp_signals_read(set, &moment, at_ns, wall_s, scratch, r->readings);
    adp_history_keep(history, at_ns);
}

/* "page NAME", or "page NAME BEFORE SECONDS". */
static void begin_page(struct reading *r)
{
    char name[LINE], before[LINE];
    double seconds = 0;
    struct adp_history *history = NULL;
    int n = sscanf(r->line, "page %1023s %1023s %lf", name, before, &seconds);
    ck_assert_msg(n == 1 || n == 3, "line %d", r->number);
    ck_assert_int_eq(adp_history_create(&history, ADP_WINDOW_NS), 0);
    if (n == 3)
        read_page(r, history, before, 1000);
    read_page(r, history, name, 1000 + seconds);
    adp_history_destroy(history);
    memset(r->listed, 0, sizeof r->listed);
}

static void expect_never_supplied(const struct reading *r)
{
    for (uint32_t i = 0; i < adp_signals_count(set); i++) {
        if (r->listed[i])
            continue;
        ck_assert_msg(r->readings[i].why == ADP_WHY_NEVER_SUPPLIED,
                      "before line %d: %s is %s, but not listed", r->number,
                      adp_signals_name(set, i), adp_why_word(r->readings[i].why));
        ck_assert_int_eq(r->readings[i].source, -1);
    }
}

static void expect_source(const struct reading *r, uint32_t signal, const char *text)
{
    const struct adp_reading *is = &r->readings[signal];
    ck_assert_int_ge(is->source, 0);
    const char *source =
        adp_expr_text(adp_signals_source(set, signal, (uint32_t)is->source, NULL));
    ck_assert_msg(strcmp(source, text) == 0, "line %d: the source is %s", r->number,
                  source);
}

static void expect_signal(struct reading *r)
{
    char name[64], how, value[64], skipped[16];
    unsigned taken = 0;
    int at = 0;
    ck_assert_msg(sscanf(r->line, "%63s %c %63s", name, &how, value) == 3, "line %d",
                  r->number);
    int n = how == '=' ? sscanf(r->line, "%*s = %*s %u %15s %n", &taken, skipped, &at)
                       : sscanf(r->line, "%*s ! %*s %15s %n", skipped, &at);
    ck_assert_msg(n == (how == '=' ? 2 : 1) && at, "line %d", r->number);
    int found = adp_signals_find(set, name);
    ck_assert_msg(found >= 0, "line %d: no signal %s", r->number, name);
    const struct adp_reading *is = &r->readings[found];
    r->listed[found] = true;
    const char *why = how == '=' ? "present" : value;
    ck_assert_msg(strcmp(adp_why_word(is->why), why) == 0, "line %d: it is %s", r->number,
                  adp_why_word(is->why));
    expect_source(r, (uint32_t)found, r->line + at);
    if (skipped[0] != '-')
        ck_assert_msg(is->skipped == strtoul(skipped, NULL, 10), "line %d: %u skipped",
                      r->number, is->skipped);
    if (how != '=')
        return;
    double expected = strtod(value, NULL);
    ck_assert_msg(is->taken == taken, "line %d: %u taken", r->number, is->taken);
    ck_assert_msg(fabs(is->value - expected) <= 1e-9 * fabs(expected),
                  "line %d: the value is %.17g", r->number, is->value);
}

static void hold_against(const char *expectations, const char *folder)
{
    struct reading r = { .folder = folder };
    bool any = false;
    r.file = open_under("tests/core/pages", expectations);
    ck_assert_ptr_nonnull(r.file);
    while (fgets(r.line, sizeof r.line, r.file)) {
        r.number++;
        r.line[strcspn(r.line, "\n")] = '\0';
        if (!r.line[0] || r.line[0] == '#')
            continue;
        if (strncmp(r.line, "page ", 5) != 0) {
            ck_assert_msg(any, "line %d: no page yet", r.number);
            expect_signal(&r);
            continue;
        }
        if (any)
            expect_never_supplied(&r);
        begin_page(&r);
        any = true;
    }
    ck_assert(any);
    expect_never_supplied(&r);
    fclose(r.file);
}

static const char ours[] = "tests/core/pages";
static const char theirs[] = "../shared/data/metrics";

START_TEST(our_pages_of_every_engine_read_as_expected)
{
    hold_against("own.expected", ours);
}
END_TEST

START_TEST(pages_of_real_engines_read_as_expected)
{
    FILE *f = open_under(theirs, "README.md");
    if (!f) {
        printf("skipped: real pages: no ../shared/data/metrics beside the source\n");
        return;
    }
    fclose(f);
    hold_against("real.expected", theirs);
}
END_TEST

static bool has_expectation(const char *expectations, const char *page)
{
    char line[LINE], name[LINE];
    bool found = false;
    FILE *f = open_under("tests/core/pages", expectations);
    ck_assert_ptr_nonnull(f);
    while (!found && fgets(line, sizeof line, f))
        found = sscanf(line, "page %1023s", name) == 1 && strcmp(name, page) == 0;
    fclose(f);
    return found;
}

static void expect_all_expected(const char *expectations, const char *folder)
{
    char path[LINE];
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/%s", source ? source : ".", folder);
    DIR *d = opendir(path);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        const char *ends = strrchr(e->d_name, '.');
        bool is_page = ends && (!strcmp(ends, ".prom") || !strcmp(ends, ".om") ||
                                !strcmp(ends, ".txt"));
        ck_assert_msg(!is_page || has_expectation(expectations, e->d_name),
                      "nothing is expected of %s", e->d_name);
    }
    if (d)
        closedir(d);
}

START_TEST(something_is_expected_of_every_page)
{
    expect_all_expected("own.expected", ours);
    expect_all_expected("real.expected", theirs);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pages");
    TCase *t = tcase_create("pages");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, our_pages_of_every_engine_read_as_expected);
    tcase_add_test(t, pages_of_real_engines_read_as_expected);
    tcase_add_test(t, something_is_expected_of_every_page);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
