/* SPDX-License-Identifier: MIT */
/* What the pages' cases cannot show: merging, order, memory. */
#include "runtime/analysis/logs.h"
#include "runtime/analysis/report.h"
#include "runtime/analysis/report_json.h"
#include "runtime/analysis/requests.h"
#include "runtime/analysis/tally.h"
#include "tests/core/failing.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct adp_reader *reader;

static void setup(void)
{
    reader = adp_reader_create();
    ck_assert_ptr_nonnull(reader);
}

static void teardown(void)
{
    adp_reader_destroy(reader);
}

static const char *const log_lines[] = {
    "{\"at\":1,\"policy\":\"p\",\"run\":\"r1\",\"params\":{\"t\":0.9},\"card\":{"
    "\"gates\":[{"
    "\"rule\":0,\"signal\":\"kv\",\"op\":\">=\",\"param\":\"t\"}]},\"request_id\":\"a\","
    "\"signals\":{\"kv\":0.5,\"q\":1},\"verdict\":\"admit\",\"instance\":\"1\",\"lane\":"
    "0,"
    "\"seq\":0}",
    "{\"at\":2,\"policy\":\"p\",\"run\":\"r1\",\"params\":{\"t\":0.9},\"card\":{"
    "\"gates\":[{"
    "\"rule\":0,\"signal\":\"kv\",\"op\":\">=\",\"param\":\"t\"}]},\"request_id\":\"b\","
    "\"signals\":{\"q\":7,\"kv\":0.95},\"verdict\":\"reject\",\"reason\":\"kv_pressure\","
    "\"instance\":\"1\",\"lane\":0,\"seq\":1}",
    "broken",
    "{\"at\":2.5,\"policy\":\"q\",\"run\":\"r1\",\"request_id\":\"b\",\"signals\":{},"
    "\"verdict\":\"admit\",\"margin\":-1,\"role\":\"shadow\"}",
    "{\"at\":3,\"request_id\":\"a\",\"outcome\":{\"ok\":true,\"ttft_ms\":10},"
    "\"instance\":"
    "\"1\",\"lane\":0,\"seq\":4}",
    "{\"at\":4,\"request_id\":\"zz\",\"outcome\":{\"ok\":true}}",
    "{\"at\":5,\"scrape_error\":\"x\"}",
    "also broken",
    "{\"at\":6,\"policy\":\"p\",\"run\":\"r1\",\"params\":{\"t\":0.9},\"card\":{"
    "\"gates\":[{"
    "\"rule\":0,\"signal\":\"kv\",\"op\":\">=\",\"param\":\"t\"}]},\"request_id\":\"b\","
    "\"signals\":{\"kv\":null,\"q\":3},\"verdict\":\"admit\",\"instance\":\"1\",\"lane\":"
    "0,"
    "\"seq\":2}",
};
enum { LINES = sizeof log_lines / sizeof *log_lines };

static void add(struct adp_tally *tally, const char *path, size_t from, size_t past)
{
    uint32_t file;
    ck_assert_int_eq(adp_tally_file(tally, path, &file), 0);
    for (size_t i = from; i < past; i++) {
        char line[1024] = { 0 };
        struct adp_entry entry;
        enum adp_corrupt corrupt;
        size_t len = strlen(log_lines[i]);
        memcpy(line, log_lines[i], len);
        adp_tally_line(tally, file);
        if (adp_reader_line(reader, line, len, &entry, &corrupt))
            ck_assert_int_eq(adp_tally_add(tally, file, i * 1000, &entry), 0);
        else
            adp_tally_corrupt(tally, file, corrupt);
    }
}

static char *json_of(struct adp_tally *tally)
{
    char *text;
    size_t len;
    ck_assert_int_eq(adp_tally_finish(tally), 0);
    FILE *to = open_memstream(&text, &len);
    ck_assert_int_eq(adp_report_write_json(tally, to), 0);
    fclose(to);
    return text;
}

/* Cut after every line in turn: two halves, each tallied alone, are the whole. */
START_TEST(two_halves_merged_are_the_whole)
{
    struct adp_tally *whole = adp_tally_create();
    add(whole, "log", 0, LINES);
    char *expected = json_of(whole);
    struct adp_tally *a = adp_tally_create(), *b = adp_tally_create();
    add(a, "log", 0, (size_t)_i);
    add(b, "log", (size_t)_i, LINES);
    ck_assert_int_eq(adp_tally_merge_take(a, b), 0);
    char *merged = json_of(a);
    ck_assert_str_eq(merged, expected);
    size_t n, m;
    const struct adp_log_file *f = adp_tally_files(whole, &n),
                              *g = adp_tally_files(a, &m);
    ck_assert_uint_eq(m, 1);
    ck_assert_uint_eq(g->lines, LINES);
    ck_assert_uint_eq(f->corrupt[ADP_CORRUPT_NOT_JSON].first, 3);
    ck_assert_uint_eq(g->corrupt[ADP_CORRUPT_NOT_JSON].first, 3);
    ck_assert_uint_eq(g->corrupt[ADP_CORRUPT_NOT_JSON].n, 2);
    free(expected);
    free(merged);
    adp_tally_destroy(whole);
    adp_tally_destroy(a);
}
END_TEST

/* seq 0 1 2 and 4: the lines of the log above, in which 3 is missing. */
START_TEST(the_figures_of_the_whole_are_these)
{
    struct adp_tally *tally = adp_tally_create();
    size_t n;
    add(tally, "log", 0, LINES);
    ck_assert_int_eq(adp_tally_finish(tally), 0);
    const struct adp_run *runs = adp_tally_runs(tally, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(runs[0].part->policy, "p");
    ck_assert_uint_eq(runs[0].offered, 2); /* b was admitted in the end */
    ck_assert_uint_eq(runs[0].refused, 0);
    ck_assert_int_eq(runs[0].finding, ADP_LIVE);
    ck_assert_uint_eq(runs[0].loss.unrecorded, 1);
    ck_assert_double_eq(runs[0].goodput, 0.5);
    ck_assert_double_eq(runs[0].rate, 1); /* arrivals at 1 and 2 */
    ck_assert_str_eq(runs[0].most_moved->name, "q");
    ck_assert_str_eq(runs[1].part->policy, "q");
    ck_assert_int_eq(runs[1].finding, ADP_INERT);
    ck_assert_uint_eq(runs[1].orphans, 1);
    adp_tally_destroy(tally);
}
END_TEST

/* One id for everything, and handles for all: what would be quadratic if it were joined
 * pair by pair. */
START_TEST(one_id_for_all_requests_is_no_trap)
{
    enum { N = 100000 };
    struct adp_tally *tally = adp_tally_create();
    uint32_t file;
    size_t n;
    ck_assert_int_eq(adp_tally_file(tally, "log", &file), 0);
    struct adp_entry entry = { .lane = -1, .seq = -1, .enforced = true, .ok = 1 };
    entry.request_id = (struct adp_text) { "same", 4 };
    entry.verdict = ADP_ADMIT;
    for (uint64_t i = 0; i < 2 * N; i++) {
        char handle[17];
        snprintf(handle, sizeof handle, "%016llx", (unsigned long long)(i % N));
        entry.kind = i < N ? ADP_ENTRY_DECISION : ADP_ENTRY_OUTCOME;
        entry.at = (double)i;
        entry.shadow = i % 2;
        entry.policy = (struct adp_text) { i % 2 ? "a" : "b", 1 };
        entry.handle = (struct adp_text) { handle, 16 };
        if (adp_tally_add(tally, file, i, &entry))
            ck_abort();
    }
    ck_assert_int_eq(adp_tally_finish(tally), 0);
    const struct adp_run *runs = adp_tally_runs(tally, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(runs[0].offered, 1);
    ck_assert_uint_eq(runs[0].outcomes, N / 2);
    ck_assert_uint_eq(runs[0].duplicates, 0);
    adp_tally_destroy(tally);
}
END_TEST

/* More requests than are loaded at once, all in one pile: ids whose hash begins with four
 * zeros. Each is decided twice, refused and then admitted, and has an outcome, which of every
 * other one names its handle only. */
START_TEST(a_pile_too_large_to_load_is_cut)
{
    enum { N = 40000 };
    struct adp_tally *tally = adp_tally_create();
    uint32_t file;
    uint64_t place = 0;
    ck_assert_int_eq(adp_tally_file(tally, "log", &file), 0);
    for (uint64_t id = 0, found = 0; found < N; id++) {
        char text[24], handle[17];
        snprintf(text, sizeof text, "%llu", (unsigned long long)id);
        snprintf(handle, sizeof handle, "%016llx", (unsigned long long)id + 1);
        struct adp_entry entry = { .kind = ADP_ENTRY_DECISION,
                                   .lane = -1,
                                   .seq = -1,
                                   .enforced = true,
                                   .ok = found % 4 != 0,
                                   .verdict = ADP_REJECT,
                                   .at = (double)found,
                                   .ttft_ms = (double)found,
                                   .margin = NAN,
                                   .request_id = { text, strlen(text) } };
        entry.facts.priority = entry.facts.prompt_tokens = NAN;
        if (adp_event_of(&entry, file, 0).key.high >> 60)
            continue;
        found++;
        bool failed = adp_tally_add(tally, file, place++, &entry);
        entry.verdict = ADP_ADMIT;
        entry.handle = (struct adp_text) { handle, 16 };
        failed |= adp_tally_add(tally, file, place++, &entry) != 0;
        entry.kind = ADP_ENTRY_OUTCOME;
        if (found % 2)
            entry.request_id.text = NULL;
        failed |= adp_tally_add(tally, file, place++, &entry) != 0;
        if (failed)
            ck_abort();
    }
    ck_assert_int_eq(adp_tally_finish(tally), 0);
    size_t n;
    const struct adp_run *run = adp_tally_runs(tally, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(run->offered, N);
    ck_assert_uint_eq(run->admitted, N);
    ck_assert_uint_eq(run->outcomes, N);
    ck_assert_uint_eq(run->orphans, 0);
    ck_assert_uint_eq(run->met, N / 4 * 3);
    /* TTFT 0 … N - 1: the ceil(0.5 N)-th is N / 2 - 1. */
    ck_assert_double_eq(run->ttft_p50, N / 2 - 1);
    adp_tally_destroy(tally);
}
END_TEST

START_TEST(a_signal_too_many_is_left_out_and_said)
{
    struct adp_tally *tally = adp_tally_create();
    uint32_t file;
    size_t n;
    char names[ADP_PART_MAX_SIGNALS + 5][16];
    struct adp_log_reading readings[ADP_PART_MAX_SIGNALS + 5];
    for (size_t i = 0; i < ADP_PART_MAX_SIGNALS + 5; i++) {
        snprintf(names[i], sizeof names[i], "s%zu", i);
        readings[i] = (struct adp_log_reading) { { names[i], strlen(names[i]) }, 1 };
    }
    struct adp_entry entry = { .kind = ADP_ENTRY_DECISION,
                               .verdict = ADP_ADMIT,
                               .lane = -1,
                               .seq = -1,
                               .signals = readings,
                               .n_signals = ADP_PART_MAX_SIGNALS + 5 };
    ck_assert_int_eq(adp_tally_file(tally, "log", &file), 0);
    ck_assert_int_eq(adp_tally_add(tally, file, 0, &entry), 0);
    ck_assert_int_eq(adp_tally_finish(tally), 0);
    const struct adp_run *runs = adp_tally_runs(tally, &n);
    ck_assert_uint_eq(runs[0].n_signals, ADP_PART_MAX_SIGNALS);
    ck_assert_uint_eq(runs[0].part->ignored, 5);
    adp_tally_destroy(tally);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------
 */

static char folder[] = "/tmp/adp-tally-XXXXXX";
static char log_a[64], log_b[64];

static void write_logs(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(log_a, sizeof log_a, "%s/a.jsonl", folder);
    snprintf(log_b, sizeof log_b, "%s/b.jsonl", folder);
    for (int k = 0; k < 2; k++) {
        FILE *f = fopen(k ? log_b : log_a, "w");
        for (size_t i = 0; i < LINES; i++)
            fprintf(f, "%s\n", log_lines[i]);
        fclose(f);
    }
}

static void remove_logs(void)
{
    unlink(log_a);
    unlink(log_b);
    rmdir(folder);
}

/* Every allocation of reading and finishing fails once: an error, nothing lost or freed
 * twice (ASan watches). */
START_TEST(any_allocation_may_fail)
{
    setup();
    write_logs();
    const char *paths[] = { folder };
    bool whole = false;
    for (uint64_t nth = 1; !whole; nth++) {
        struct adp_report *report = NULL;
        struct adp_error err = { 0 };
        fail_allocation(nth);
        int e = adp_report_read(paths, 1, &report, &err);
        whole = allocations < nth;
        fail_allocation(0);
        if (e)
            ck_assert_int_eq(err.code, e);
        if (whole)
            ck_assert_int_eq(e, 0);
        adp_report_destroy(report);
    }
    remove_logs();
    teardown();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tally");
    TCase *t = tcase_create("tally");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, two_halves_merged_are_the_whole, 0, LINES + 1);
    tcase_add_test(t, the_figures_of_the_whole_are_these);
    tcase_add_test(t, one_id_for_all_requests_is_no_trap);
    tcase_add_test(t, a_pile_too_large_to_load_is_cut);
    tcase_add_test(t, a_signal_too_many_is_left_out_and_said);
    suite_add_tcase(suite, t);
    t = tcase_create("memory");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, any_allocation_may_fail);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
