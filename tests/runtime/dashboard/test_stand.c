/* SPDX-License-Identifier: MIT */
#include "runtime/dashboard/stand.h"

#include "runtime/dashboard/supply.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static struct adp_supply *supply;
static struct adp_stand stand;

static void create(void)
{
    ck_assert_int_eq(adp_supply_create(&supply, NULL), 0);
}

static void destroy(void)
{
    adp_supply_destroy(supply);
}

static struct adp_account *read_page(const char *page)
{
    ck_assert_int_eq(adp_supply_read(supply, page, strlen(page), ADP_PROMTEXT_UNSAID,
                                     1000000000, 1.0, NULL),
                     0);
    adp_stand_read(adp_supply_account(supply), &stand);
    return adp_supply_account(supply);
}

/* What is written of it; the caller decrefs it. */
static json_t *written(const char *page)
{
    struct adp_line line;
    const struct adp_account *account = read_page(page);
    adp_line_init(&line);
    adp_line_puts(&line, "{");
    adp_stand_write(account, &stand, &line);
    adp_line_puts(&line, "}");
    ck_assert(!line.broken);
    json_t *doc = json_loadb(line.text, line.len, 0, NULL);
    ck_assert_msg(doc, "not JSON: %.*s", (int)line.len, line.text);
    adp_line_finish(&line);
    return doc;
}

#define BUILD "admitperf_build_info{version=\"1.2\"} 1\n"
#define VERDICT(ROLE, WORD, ENFORCED)                                                    \
    "admitperf_decisions_total{policy=\"p\",role=\"" ROLE "\",verdict=\"" WORD           \
    "\",reason=\"\",enforced=\"" ENFORCED "\"}"

#define FAULTS(ROLE) "admitperf_policy_faults_total{policy=\"p\",role=\"" ROLE "\"}"

START_TEST(governing_decisions_are_counted_and_enforced_refusals_of_them)
{
    static const char page[] = BUILD /* clang-format off */
        VERDICT("governing", "admit", "true") " 10\n"
        VERDICT("governing", "reject", "true") " 4\n"
        VERDICT("governing", "defer", "true") " 2\n"
        VERDICT("governing", "reject", "false") " 3\n"
        VERDICT("governing", "fault", "true") " 1\n"
        VERDICT("shadow", "reject", "false") " 90\n"
        FAULTS("governing") " 1\n"
        FAULTS("shadow") " 7\n"; /* clang-format on */
    read_page(page);
    ck_assert(stand.sidecar);
    ck_assert_double_eq(stand.decisions, 20); /* 10 + 4 + 2 + 3 + 1 */
    ck_assert_double_eq(stand.refused, 6);    /* 4 + 2 */
    ck_assert_double_eq(stand.faults, 1);
}
END_TEST

START_TEST(a_sidecar_that_decided_nothing_decided_nothing)
{
    read_page(BUILD);
    ck_assert(stand.sidecar);
    ck_assert_double_eq(stand.decisions, 0);
}
END_TEST

START_TEST(of_an_engine_decisions_are_not_known_and_signals_are_read)
{
    json_t *doc = written("vllm:kv_cache_usage_perc 0.5\n");
    ck_assert(!stand.sidecar);
    ck_assert(isnan(stand.decisions));
    ck_assert(json_is_null(json_object_get(doc, "decisions")));
    ck_assert(json_is_false(json_object_get(doc, "sidecar")));
    size_t i, n = 0;
    json_t *signal, *value;
    json_array_foreach(json_object_get(doc, "signals"), i, signal)
    {
        const char *name;
        name = json_string_value(json_object_get(signal, "name"));
        value = json_object_get(signal, "value");
        if (strcmp(name, "kv_pressure") == 0) {
            ck_assert_double_eq(json_real_value(value), 0.5);
            ck_assert(json_is_null(json_object_get(signal, "why")));
        } else {
            ck_assert(json_is_null(value));
            ck_assert_str_eq(json_string_value(json_object_get(signal, "why")),
                             "never_supplied");
        }
        n++;
    }
    ck_assert_uint_eq(n, 12); /* the dictionary's */
    json_decref(doc);
}
END_TEST

START_TEST(signals_of_a_sidecar_are_those_its_policies_see)
{
    read_page(BUILD "admitperf_signal_value{signal=\"kv_pressure\",unit=\"ratio\"} 0.25\n"
                    "admitperf_signal_age_seconds{signal=\"kv_pressure\"} 1.5\n"
                    "admitperf_signal_absent{signal=\"gpu_temp\",why=\"stale\"} 1\n");
    ck_assert_uint_eq(stand.n_signals, 2);
    ck_assert_double_eq(stand.signal[0].value, 0.25);
    ck_assert_double_eq(stand.signal[0].age_s, 1.5);
    ck_assert(adp_str_is(stand.signal[0].unit, "ratio"));
    ck_assert_uint_eq(stand.signal[0].why.n, 0);
    ck_assert(isnan(stand.signal[1].value));
    ck_assert(adp_str_is(stand.signal[1].why, "stale"));
}
END_TEST

START_TEST(a_page_is_somebody_elses_and_its_words_stay_words)
{
    json_t *doc = written(
        BUILD "admitperf_scrape_up{target=\"a\\\"},\\n{\",\"x y\"=\"</script>\"} 1\n");
    json_t *row = json_array_get(json_object_get(doc, "scrape_up"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(row, "target")), "a\"},\n{");
    ck_assert_str_eq(json_string_value(json_object_get(row, "x y")), "</script>");
    ck_assert_str_eq(json_string_value(json_object_get(doc, "version")), "1.2");
    json_decref(doc);
}
END_TEST

START_TEST(tables_and_signals_are_bounded)
{
    char *page = NULL;
    size_t len;
    FILE *to = open_memstream(&page, &len);
    fputs(BUILD, to);
    for (int i = 0; i < 500; i++)
        fprintf(to,
                "admitperf_scrape_up{target=\"%d\"} 1\n"
                "admitperf_signal_value{signal=\"s%d\"} 1\n",
                i, i);
    fclose(to);
    json_t *doc = written(page);
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "scrape_up")), 128);
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "signals")), ADP_MAX_KNOWN);
    json_decref(doc);
    free(page);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stand");
    TCase *tests = tcase_create("stand");
    tcase_add_checked_fixture(tests, create, destroy);
    tcase_add_test(tests, governing_decisions_are_counted_and_enforced_refusals_of_them);
    tcase_add_test(tests, a_sidecar_that_decided_nothing_decided_nothing);
    tcase_add_test(tests, of_an_engine_decisions_are_not_known_and_signals_are_read);
    tcase_add_test(tests, signals_of_a_sidecar_are_those_its_policies_see);
    tcase_add_test(tests, a_page_is_somebody_elses_and_its_words_stay_words);
    tcase_add_test(tests, tables_and_signals_are_bounded);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
