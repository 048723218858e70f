/* SPDX-License-Identifier: MIT */
/* Outcomes as nginx, HAProxy, Caddy and hosts of their own write them. */
#include "runtime/sidecar/outcome.h"

#include "tests/runtime/sidecar/seat.h"

static struct adp_outcome_line line;
static const char *why;

static enum adp_outcome_fate read_line(const char *text)
{
    adp_outcome_finish(&line);
    return adp_outcome_read(&line, text, strlen(text), seat_serve.field, &why);
}

static void setup(void)
{
    memset(&line, 0, sizeof line);
    seat_setup();
}

static void teardown(void)
{
    adp_outcome_finish(&line);
    seat_teardown();
}

#define ALL (ADP_O_STATUS | ADP_O_TTFT | ADP_O_TOTAL)

START_TEST(nginx_writes_numbers_as_text)
{
    ck_assert_int_eq(
        read_line("{\"id\":\"0100000000000aBc\",\"request_id\":\"r\",\"verdict\":"
                  "\"admit\",\"status\":200,\"ttft_ms\":\"512\",\"total_s\":1.25,"
                  "\"end\":\"done\"}"),
        ADP_FATE_SETTLED);
    ck_assert_uint_eq(line.id, 0x0100000000000abc);
    ck_assert_str_eq(line.request_id, "r");
    ck_assert_uint_eq(line.result.present, ALL);
    ck_assert_uint_eq(line.result.status, 200);
    ck_assert_double_eq(line.result.ttft_ms, 512.0);
    ck_assert_double_eq(line.result.total_ms, 1250.0);
    ck_assert_uint_eq(line.result.end, ADP_DONE);
    ck_assert_int_eq(line.result.ok, -1);
}
END_TEST

START_TEST(what_is_no_time_or_status_is_left_out)
{
    ck_assert_int_eq(read_line("{\"request_id\":17,\"status\":200.7,\"ttft_s\":1e306,"
                               "\"total_ms\":1e306}"),
                     ADP_FATE_SETTLED);
    ck_assert_str_eq(line.request_id, "17"); /* as /v1/decide takes it */
    ck_assert_uint_eq(line.result.present, ADP_O_TOTAL);
}
END_TEST

START_TEST(haproxy_writes_microseconds_and_how_it_ended)
{
    ck_assert_int_eq(
        read_line("{\"id\":\"1\",\"request_id\":\"r\",\"verdict\":\"admit\",\"status\":"
                  "200,\"ttft_us\":\"308500\",\"total_ms\":908,\"end\":\"--\"}"),
        ADP_FATE_SETTLED);
    ck_assert_uint_eq(line.result.present, ALL);
    ck_assert_double_eq(line.result.ttft_ms, 308.5);
    ck_assert_double_eq(line.result.total_ms, 908.0);
    ck_assert_uint_eq(line.result.end, ADP_DONE);
}
END_TEST

START_TEST(caddy_has_headers_as_lists_and_says_no_ttft)
{
    ck_assert_int_eq(
        read_line(
            "{\"level\":\"info\",\"ts\":1.5,\"logger\":\"http.log.access\",\"msg\":"
            "\"handled "
            "request\",\"request\":{\"method\":\"POST\",\"headers\":{\"X-Request-Id\":["
            "\"no\"]}},"
            "\"duration\":0.5,\"size\":9,\"status\":200,\"resp_headers\":{\"X-Admit-Id\":"
            "[\"ff\"],\"X-Request-Id\":[\"r\"],\"X-Admit-Verdict\":[\"admit\"]}}"),
        ADP_FATE_SETTLED);
    ck_assert_uint_eq(line.id, 255);
    ck_assert_str_eq(line.request_id, "r");
    ck_assert_uint_eq(line.result.present, ADP_O_STATUS | ADP_O_TOTAL);
    ck_assert_double_eq(line.result.total_ms, 500.0);
    ck_assert_uint_eq(line.result.n_extra, 0);
}
END_TEST

START_TEST(a_host_may_say_it_as_the_log_does_with_facts_of_its_own)
{
    ck_assert_int_eq(
        read_line("{\"request_id\":\"r\",\"outcome\":{\"ttft_ms\":7,\"ok\":true,"
                  "\"output_tokens\":12,\"model\":\"m\",\"n\":3.5,\"hot\":false,"
                  "\"x\":{\"y\":1}}}"),
        ADP_FATE_SETTLED);
    ck_assert_uint_eq(line.result.present, ADP_O_TTFT | ADP_O_OUTPUT);
    ck_assert_uint_eq(line.result.output_tokens, 12);
    ck_assert_int_eq(line.result.ok, 1);
    ck_assert_uint_eq(line.result.n_extra, 3);
    ck_assert_str_eq(line.extra[0].name, "model");
    ck_assert_str_eq(line.extra[0].text, "m");
    ck_assert_double_eq(line.extra[1].number, 3.5);
    ck_assert_str_eq(line.extra[2].text, "false");
}
END_TEST

static const struct end_row {
    const char *fields;
    uint32_t end;
} ends[] = {
    { "\"status\":200", 0 },
    { "\"status\":499", ADP_CANCELLED },
    { "\"status\":502", ADP_FAILED },
    { "\"status\":502,\"end\":\"done\"", ADP_DONE },
    { "\"end\":\"canceled\"", ADP_CANCELLED },
    { "\"end\":\"CD\"", ADP_CANCELLED },
    { "\"end\":\"cD\"", ADP_CANCELLED },
    { "\"end\":\"SD--\"", ADP_FAILED },
    { "\"end\":\"----\"", ADP_DONE },
    { "\"end\":\"\",\"status\":200", 0 },
    { "\"end\":\"who knows\",\"status\":500", ADP_FAILED },
};

START_TEST(how_it_ended_is_read_or_follows_from_the_status)
{
    char text[256];
    snprintf(text, sizeof text, "{\"id\":\"1\",%s}", ends[_i].fields);
    ck_assert_int_eq(read_line(text), ADP_FATE_SETTLED);
    ck_assert_msg(line.result.end == ends[_i].end, "%s: %u", text, line.result.end);
}
END_TEST

static const struct nothing_row {
    const char *ttft;
} nothings[] = { { "\"\"" },      { "\"-\"" },    { "null" },    { "-1" },
                 { "\"-1\"" },    { "\"1, 2\"" }, { "\"NaN\"" }, { "[]" },
                 { "\"1e999\"" }, { "true" },     { "\"12ms\"" } };

START_TEST(what_is_no_time_is_absent_and_never_zero)
{
    char text[256];
    snprintf(text, sizeof text, "{\"id\":\"1\",\"ttft_ms\":%s}", nothings[_i].ttft);
    ck_assert_int_eq(read_line(text), ADP_FATE_SETTLED);
    ck_assert_msg(!(line.result.present & ADP_O_TTFT), "%s", text);
}
END_TEST

static const struct fate_row {
    const char *text;
    enum adp_outcome_fate fate;
} fates[] = {
    { "{\"id\":\"1\",\"verdict\":\"reject\",\"status\":503}", ADP_FATE_REFUSED },
    { "{\"id\":\"1\",\"verdict\":\"defer\"}", ADP_FATE_REFUSED },
    { "{\"request_id\":\"r\",\"verdict\":\"bypass\"}", ADP_FATE_BYPASS },
    /* What a log format has in place of an answer that never came. */
    { "{\"id\":\"\",\"request_id\":\"r\",\"verdict\":\"\",\"status\":200}",
      ADP_FATE_BYPASS },
    { "{\"id\":\"-\",\"request_id\":\"r\",\"verdict\":\"-\",\"status\":200}",
      ADP_FATE_BYPASS },
    { "{\"request_id\":\"r\"}", ADP_FATE_SETTLED },
    { "{\"id\":\"xyz\",\"request_id\":\"r\"}", ADP_FATE_SETTLED },
    { "{\"id\":\"xyz\"}", ADP_FATE_BAD },
    { "{\"id\":\"00112233445566778\"}", ADP_FATE_BAD },
    { "{\"status\":200}", ADP_FATE_BAD },
    { "{}", ADP_FATE_BAD },
    { "[]", ADP_FATE_BAD },
    { "{\"id\":\"1\"", ADP_FATE_BAD },
    { "", ADP_FATE_BAD },
};

START_TEST(who_refused_or_did_not_ask_has_no_outcome)
{
    enum adp_outcome_fate fate = read_line(fates[_i].text);
    ck_assert_msg(fate == fates[_i].fate, "%s: %d", fates[_i].text, (int)fate);
}
END_TEST

START_TEST(an_operators_fields_stand_in_for_ours)
{
    seat_serve.field[ADP_FIELD_TTFT_S] =
        (struct adp_names_setting) { { "timing.first", "first" }, 2 };
    seat_serve.field[ADP_FIELD_EXTRA] =
        (struct adp_names_setting) { { "labels.model", "gone" }, 2 };
    ck_assert_int_eq(
        read_line("{\"id\":\"1\",\"timing\":{\"first\":\"0.25\"},\"labels\":{\"model\":"
                  "\"m\"}}"),
        ADP_FATE_SETTLED);
    ck_assert_double_eq(line.result.ttft_ms, 250.0);
    ck_assert_uint_eq(line.result.n_extra, 1);
    ck_assert_str_eq(line.extra[0].name, "model");
}
END_TEST

START_TEST(a_datagram_settles_each_of_its_lines_once)
{
    adp_facts facts = { .size = sizeof facts, .request_id = "r7" };
    adp_decision d;
    char text[512];
    adp_desk_decide(&seat_desk, &facts, NULL, 0, &d);
    snprintf(
        text, sizeof text,
        "<190>Nov 30 08:00:00 n: {\"id\":\"%016llx\",\"status\":200}\n"
        "{\"id\":\"%016llx\",\"status\":200}\r\n \n{\"verdict\":\"reject\"}\n{oops\n",
        (unsigned long long)d.id, (unsigned long long)d.id);
    adp_outcome_datagram(&seat_desk, text, strlen(text));
    ck_assert_uint_eq(seat_fates(ADP_FATE_SETTLED), 1);
    ck_assert_uint_eq(seat_fates(ADP_FATE_UNKNOWN), 1);
    ck_assert_uint_eq(seat_fates(ADP_FATE_REFUSED), 1);
    ck_assert_uint_eq(seat_fates(ADP_FATE_BAD), 1);
    adp_outcome_datagram(&seat_desk, "hello", 5);
    ck_assert_uint_eq(seat_fates(ADP_FATE_BAD), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outcome");
    TCase *t = tcase_create("outcome");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, nginx_writes_numbers_as_text);
    tcase_add_test(t, haproxy_writes_microseconds_and_how_it_ended);
    tcase_add_test(t, caddy_has_headers_as_lists_and_says_no_ttft);
    tcase_add_test(t, a_host_may_say_it_as_the_log_does_with_facts_of_its_own);
    tcase_add_test(t, what_is_no_time_or_status_is_left_out);
    tcase_add_loop_test(t, how_it_ended_is_read_or_follows_from_the_status, 0,
                        sizeof ends / sizeof ends[0]);
    tcase_add_loop_test(t, what_is_no_time_is_absent_and_never_zero, 0,
                        sizeof nothings / sizeof nothings[0]);
    tcase_add_loop_test(t, who_refused_or_did_not_ask_has_no_outcome, 0,
                        sizeof fates / sizeof fates[0]);
    tcase_add_test(t, an_operators_fields_stand_in_for_ours);
    tcase_add_test(t, a_datagram_settles_each_of_its_lines_once);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
