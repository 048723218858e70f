/* SPDX-License-Identifier: MIT */
/* What gateways tell in headers, what they are answered, and tokens. */
#include "runtime/sidecar/answer.h"
#include "runtime/sidecar/token.h"

#include "tests/runtime/sidecar/seat.h"

#include <sys/stat.h>
#include <unistd.h>

static struct adp_http_field fields[16];
static struct adp_http_request request;

static struct adp_http_text text(const char *word)
{
    return (struct adp_http_text) { word, strlen(word) };
}

static void header(const char *name, const char *value)
{
    fields[request.n_fields++] = (struct adp_http_field) { text(name), text(value) };
}

static void setup(void)
{
    seat_setup();
    request = (struct adp_http_request) { .fields = fields };
    adp_desk_clear(&seat_desk);
}

/* --- facts --- */

START_TEST(headers_tell_facts)
{
    header("X-Request-ID", "r1");
    header("x-tenant", "acme");
    header("X-Priority", "-3");
    header("X-Prompt-Tokens", "512");
    header("X-Max-Output-Tokens", "64");
    header("X-TTFT-Deadline-Ms", "1500.5");
    adp_facts f = adp_facts_of_headers(&seat_desk, &request);
    ck_assert_str_eq(f.request_id, "r1");
    ck_assert_str_eq(f.tenant, "acme");
    ck_assert_uint_eq(f.present, ADP_PROMPT | ADP_OUTPUT | ADP_PRIORITY | ADP_DEADLINE);
    ck_assert_int_eq(f.priority, -3);
    ck_assert_uint_eq(f.prompt_tokens, 512);
    ck_assert_uint_eq(f.max_output_tokens, 64);
    ck_assert_double_eq(f.ttft_deadline_ms, 1500.5);
}
END_TEST

START_TEST(llm_d_s_headers_are_known)
{
    header("x-llm-d-inference-fairness-id", "team");
    header("x-gateway-inference-objective", "batch");
    header("x-llm-d-slo-ttft-ms", "200");
    adp_facts f = adp_facts_of_headers(&seat_desk, &request);
    ck_assert_str_eq(f.tenant, "team");
    ck_assert_str_eq(f.slo_class, "batch");
    ck_assert_double_eq(f.ttft_deadline_ms, 200.0);
}
END_TEST

START_TEST(bytes_are_tokens_only_by_a_stated_measure_and_never_before_them)
{
    header("X-Body-Bytes", "2049");
    ck_assert_uint_eq(adp_facts_of_headers(&seat_desk, &request).prompt_tokens, 512);
    header("X-Prompt-Tokens", "7");
    ck_assert_uint_eq(adp_facts_of_headers(&seat_desk, &request).prompt_tokens, 7);
    request.n_fields = 1;
    seat_serve.bytes_per_token = 0.0;
    ck_assert_uint_eq(adp_facts_of_headers(&seat_desk, &request).present, 0);
}
END_TEST

static const char *const no_numbers[] = {
    "-1", "1.5", "x", "1 ", "0x10", "1e3", "1234567890123456"
};

START_TEST(a_number_that_is_none_is_not_known_and_counted)
{
    header("X-Prompt-Tokens", no_numbers[_i]);
    ck_assert_uint_eq(adp_facts_of_headers(&seat_desk, &request).present, 0);
    ck_assert_uint_eq(atomic_load(&seat_desk.counts.bad_facts), 1);
}
END_TEST

START_TEST(an_empty_header_tells_nothing)
{
    header("X-Request-Id", "");
    header("X-Tenant", "");
    header("X-Body-Bytes", "");
    adp_facts f = adp_facts_of_headers(&seat_desk, &request);
    ck_assert_ptr_null(f.request_id);
    ck_assert_ptr_null(f.tenant);
    ck_assert_uint_eq(f.present, 0);
    ck_assert_uint_eq(atomic_load(&seat_desk.counts.bad_facts), 0);
}
END_TEST

/* --- answers --- */

static const char *field_of(const struct adp_answer_fields *f, const char *name)
{
    static char value[64];
    for (size_t i = 0; i < f->n; i++)
        if (adp_http_text_is(f->field[i].name, name)) {
            snprintf(value, sizeof value, "%.*s", (int)f->field[i].value.len,
                     f->field[i].value.at);
            return value;
        }
    return "";
}

START_TEST(a_refusal_is_said_in_statuses_the_gateway_understands)
{
    static const struct {
        uint32_t status, native, nginx, envoy;
    } rows[] = { { 503, 503, 403, 429 },
                 { 429, 429, 403, 429 },
                 { 413, 413, 403, 413 },
                 { 529, 529, 403, 429 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        adp_decision d = { .status = rows[i].status, .action = ADP_REJECT };
        ck_assert_uint_eq(adp_answer_status(&d, ADP_GATEWAY_NATIVE), rows[i].native);
        ck_assert_uint_eq(adp_answer_status(&d, ADP_GATEWAY_NGINX), rows[i].nginx);
        ck_assert_uint_eq(adp_answer_status(&d, ADP_GATEWAY_ENVOY), rows[i].envoy);
        d.admitted = 1;
        ck_assert_uint_eq(adp_answer_status(&d, (enum adp_gateway)(i % 3)), 200);
    }
}
END_TEST

START_TEST(a_refusals_headers)
{
    adp_decision d = { .status = 503,
                       .action = ADP_DEFER,
                       .policy_action = ADP_DEFER,
                       .reason = "queue_depth",
                       .retry_after_ms = 1001,
                       .id = 0xab };
    struct adp_answer_fields f;
    adp_answer_fields(&f, &d);
    ck_assert_str_eq(field_of(&f, "X-Admit-Verdict"), "defer");
    ck_assert_str_eq(field_of(&f, "X-Admit-Status"), "503");
    ck_assert_str_eq(field_of(&f, "X-Admit-Id"), "00000000000000ab");
    ck_assert_str_eq(field_of(&f, "X-Admit-Reason"), "queue_depth");
    ck_assert_str_eq(field_of(&f, "Retry-After"), "2");
    ck_assert_str_eq(field_of(&f, "X-Admit-Policy"), "");
}
END_TEST

START_TEST(a_refusal_that_is_not_enforced_lets_pass_and_stands_apart)
{
    adp_decision d = { .admitted = 1,
                       .status = 200,
                       .action = ADP_ADMIT,
                       .policy_action = ADP_REJECT,
                       .reason = "kv_pressure" };
    struct adp_answer_fields f;
    adp_answer_fields(&f, &d);
    ck_assert_str_eq(field_of(&f, "X-Admit-Verdict"), "admit");
    ck_assert_str_eq(field_of(&f, "X-Admit-Status"), "200");
    ck_assert_str_eq(field_of(&f, "X-Admit-Policy"), "reject");
    ck_assert_str_eq(field_of(&f, "X-Admit-Reason"), "");
    ck_assert_str_eq(field_of(&f, "Retry-After"), "");
}
END_TEST

START_TEST(the_longest_answer_fits)
{
    adp_decision d = { .status = UINT32_MAX,
                       .action = ADP_DEFER,
                       .policy_action = ADP_REJECT,
                       .retry_after_ms = UINT32_MAX,
                       .id = UINT64_MAX };
    struct adp_answer_fields f;
    adp_answer_fields(&f, &d);
    ck_assert_uint_le(f.n, ADP_ANSWER_FIELDS);
    ck_assert_str_eq(field_of(&f, "Retry-After"), "4294968");
    ck_assert_str_eq(field_of(&f, "X-Admit-Retry-After-Ms"), "4294967295");
}
END_TEST

/* --- tokens --- */

static struct adp_token token;
static char path[64];

static int token_of(const char *line, adp_error *err)
{
    strcpy(path, "/tmp/adp-token-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, line, strlen(line)), (int)strlen(line));
    close(fd);
    int code = adp_token_read(&token, path, err);
    unlink(path);
    return code;
}

START_TEST(without_a_token_everybody_is_let_in)
{
    ck_assert_int_eq(adp_token_read(&token, NULL, NULL), 0);
    ck_assert(adp_token_allows(&token, &request));
}
END_TEST

START_TEST(a_token_lets_in_who_has_it)
{
    static const struct {
        const char *name, *value;
        bool allowed;
    } rows[] = {
        { "Authorization", "Bearer secret-1", true },
        { "Authorization", "bearer secret-1", true },
        { "Authorization", "Bearer secret-2", false },
        { "Authorization", "Bearer secret-", false },
        { "Authorization", "Bearer secret-1secret-1", false },
        { "Authorization", "Bearer ", false },
        { "Authorization", "secret-1", false },
        { "Authorization", "Basic secret-1", false },
        { "X-Admit-Token", "secret-1", true },
        { "X-Admit-Token", "secret-1 ", false },
        { "X-Admit-Token", "", false },
        { "X-Other", "secret-1", false },
    };
    ck_assert_int_eq(token_of("secret-1\n", NULL), 0);
    ck_assert(!adp_token_allows(&token, &request));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        request.n_fields = 0;
        header(rows[i].name, rows[i].value);
        ck_assert_msg(adp_token_allows(&token, &request) == rows[i].allowed, "%s: %s",
                      rows[i].name, rows[i].value);
    }
    /* The client's own key stands beside ours. */
    request.n_fields = 0;
    header("Authorization", "Bearer sk-client");
    header("X-Admit-Token", "secret-1");
    ck_assert(adp_token_allows(&token, &request));
    adp_token_finish(&token);
}
END_TEST

START_TEST(a_token_that_is_none_is_refused_and_the_one_before_stays)
{
    static const char *const bad[] = { "", "\n", "short\n", "with a blank\n",
                                       "caf\xc3\xa9-au-lait\n" };
    ck_assert_int_eq(token_of("secret-1\n", NULL), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(token_of(bad[i], NULL), ADP_EINVAL);
    ck_assert_int_eq(adp_token_read(&token, "/nowhere/token", NULL), ADP_EIO);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* where the last one was; nobody writes */
    int code = adp_token_read(&token, path, NULL);
    unlink(path);
    ck_assert_int_eq(code, ADP_EINVAL);
    header("X-Admit-Token", "secret-1");
    ck_assert(adp_token_allows(&token, &request));
    ck_assert_int_eq(token_of("secret-2\n", NULL), 0);
    ck_assert(!adp_token_allows(&token, &request));
    adp_token_finish(&token);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("words");
    TCase *t = tcase_create("words");
    tcase_add_checked_fixture(t, setup, seat_teardown);
    tcase_add_test(t, headers_tell_facts);
    tcase_add_test(t, llm_d_s_headers_are_known);
    tcase_add_test(t, bytes_are_tokens_only_by_a_stated_measure_and_never_before_them);
    tcase_add_loop_test(t, a_number_that_is_none_is_not_known_and_counted, 0,
                        sizeof no_numbers / sizeof no_numbers[0]);
    tcase_add_test(t, an_empty_header_tells_nothing);
    tcase_add_test(t, a_refusal_is_said_in_statuses_the_gateway_understands);
    tcase_add_test(t, a_refusals_headers);
    tcase_add_test(t, a_refusal_that_is_not_enforced_lets_pass_and_stands_apart);
    tcase_add_test(t, the_longest_answer_fits);
    tcase_add_test(t, without_a_token_everybody_is_let_in);
    tcase_add_test(t, a_token_lets_in_who_has_it);
    tcase_add_test(t, a_token_that_is_none_is_refused_and_the_one_before_stays);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
