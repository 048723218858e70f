/* SPDX-License-Identifier: MIT */
/* Pages over real connections, from pages.py: each path is one way to be good or bad. */
#include "runtime/scrape/scrape.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000ull

#ifdef ADP_SANITIZED
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* For what is bound to come: a busy machine takes long, and so does a resolver whose question was
 * lost. */
enum { PATIENCE_MS = 60000 };

static char folder[] = "/tmp/admitperf-fetch-XXXXXX";
static int port, tls_port;

static void address(char *to, size_t cap, const char *path)
{
    snprintf(to, cap, "http://127.0.0.1:%d%s", port, path);
}

struct got {
    enum adp_scrape_why why;
    char text[400];
    char page[4096];
    size_t len;
    enum adp_promtext_format format;
};

/* One asking of `target`. */
static struct got fetch_target(const struct adp_scrape_target *target)
{
    struct adp_scraper *s;
    struct adp_scrape_round round;
    struct adp_error err = { 0 };
    struct got got = { 0 };
    ck_assert_msg(adp_scraper_create(&s, target, 1, NULL, &err) == 0, "%s", err.text);
    while (!adp_scraper_step(s, 1000 * MS, &round))
        continue;
    if (round.page) {
        ck_assert_uint_lt(round.len, sizeof got.page);
        memcpy(got.page, round.page, round.len);
        got.len = round.len;
        got.format = round.format;
    } else {
        ck_assert_uint_eq(round.n_failures, 1);
        got.why = round.failures[0].why;
        snprintf(got.text, sizeof got.text, "%s", round.failures[0].text);
    }
    adp_scraper_destroy(s);
    return got;
}

static struct got fetch(const char *path, uint64_t timeout_ms)
{
    char url[256];
    address(url, sizeof url, path);
    struct adp_scrape_target t = { .name = "engine",
                                   .url = url,
                                   .interval_ns = 3600000 * MS,
                                   .timeout_ns = timeout_ms * MS };
    return fetch_target(&t);
}

static const char *const good[] = {
    "/metrics",    "/redirect",    "/chunked",  "/close",
    "/no-newline", "/openmetrics", "/comments",
};

START_TEST(a_whole_page_is_had)
{
    struct got got = fetch(good[_i], PATIENCE_MS);
    ck_assert_msg(got.why == ADP_SCRAPE_FINE, "%s", got.text);
    ck_assert_uint_gt(got.len, 0);
}
END_TEST

START_TEST(a_last_line_without_its_newline_is_not_read)
{
    static const char *const paths[] = { "/no-newline", "/chunk-in-number" };
    struct got got = fetch(paths[_i], PATIENCE_MS);
    ck_assert_msg(got.why == ADP_SCRAPE_FINE, "%s", got.text);
    ck_assert_int_eq(got.page[got.len - 1], '\n');
    got.page[got.len] = '\0';
    ck_assert_ptr_nonnull(strstr(got.page, "vllm:generation_tokens_total"));
    ck_assert_ptr_null(strstr(got.page, "acme_temperature"));
}
END_TEST

static const struct {
    const char *path;
    enum adp_promtext_format format;
} said[] = {
    { "/stamped", ADP_PROMTEXT_TEXT },
    { "/stamped-openmetrics", ADP_PROMTEXT_OPENMETRICS },
    { "/stamped-unsaid", ADP_PROMTEXT_UNSAID },
};

START_TEST(a_page_is_what_its_server_says_it_is)
{
    struct got got = fetch(said[_i].path, PATIENCE_MS);
    ck_assert_msg(got.why == ADP_SCRAPE_FINE, "%s", got.text);
    ck_assert_int_eq(got.format, said[_i].format);
}
END_TEST

static const struct {
    const char *path;
    enum adp_scrape_why why;
    const char *text;
} bad[] = {
    { "/401", ADP_SCRAPE_UNAUTHORIZED,
      "engine: unauthorized: status 401, a token is asked for" },
    { "/403", ADP_SCRAPE_UNAUTHORIZED, "status 403" },
    { "/404", ADP_SCRAPE_NOT_FOUND, "engine: not_found: status 404" },
    { "/501", ADP_SCRAPE_NOT_IMPLEMENTED, "engine: not_implemented: status 501" },
    { "/503", ADP_SCRAPE_STATUS, "engine: status: status 503, expected 200" },
    { "/204", ADP_SCRAPE_STATUS, "status 204" },
    { "/json", ADP_SCRAPE_NOT_METRICS, "engine: not_metrics: " },
    { "/json-list", ADP_SCRAPE_NOT_METRICS, "the page is JSON" },
    { "/html", ADP_SCRAPE_NOT_METRICS, "the page is HTML" },
    { "/empty", ADP_SCRAPE_NOT_METRICS, "the page is empty" },
    { "/binary", ADP_SCRAPE_NOT_METRICS, "engine: not_metrics: line 1" },
    { "/gzip", ADP_SCRAPE_NOT_METRICS, "compressed" },
    { "/words", ADP_SCRAPE_NOT_METRICS, "engine: not_metrics: line 1" },
    { "/redirect-twice", ADP_SCRAPE_REDIRECT, "a second time" },
    { "/redirect-away", ADP_SCRAPE_REDIRECT, "to another scheme, host or port" },
    { "/redirect-scheme", ADP_SCRAPE_REDIRECT, "to another scheme, host or port" },
    { "/short", ADP_SCRAPE_CUT, "engine: cut: the connection was lost after" },
    { "/long", ADP_SCRAPE_CUT, "are announced and more came" },
    { "/long-line", ADP_SCRAPE_CUT, "more came" },
    { "/long-line-close", ADP_SCRAPE_CUT, "more came" },
    { "/chunk-more", ADP_SCRAPE_CUT, "more came behind the end of the page" },
    { "/one-cut", ADP_SCRAPE_CUT, "no metric in front of it is sure to be whole" },
    { "/chunk-cut", ADP_SCRAPE_CUT, "the connection was lost after" },
    { "/chunk-cut-within", ADP_SCRAPE_CUT, "the connection was lost after" },
    { "/chunk-bad", ADP_SCRAPE_CUT, "the connection was lost after" },
    { "/close-cut", ADP_SCRAPE_CUT, "in the middle of a line" },
    { "/nothing", ADP_SCRAPE_CUT, "closed without an answer" },
    { "/openmetrics-cut", ADP_SCRAPE_CUT, "without its # EOF" },
    { "/not-http", ADP_SCRAPE_NOT_HTTP, "does not speak HTTP" },
    { "/endless-head", ADP_SCRAPE_NOT_HTTP, "a head of more than" },
    { "/big", ADP_SCRAPE_TOO_BIG, "engine: too_big: more than 16777216 bytes" },
    { "/big-announced", ADP_SCRAPE_TOO_BIG, "16777216 bytes are announced" },
    { "/endless", ADP_SCRAPE_TOO_BIG, "more than 16777216 bytes" },
};

START_TEST(every_other_answer_has_its_reason)
{
    struct got got = fetch(bad[_i].path, PATIENCE_MS);
    ck_assert_msg(got.why == bad[_i].why && strstr(got.text, bad[_i].text), "%s: %s",
                  bad[_i].path, got.text);
    ck_assert(!strstr(got.text, "secret"));
}
END_TEST

static const struct {
    const char *path;
    uint64_t timeout_ms; /* of what begins to come, as long as its beginning may take */
    const char *text;
} slow[] = {
    { "/stall", 200, "engine: timeout: no answer within 200 ms" },
    { "/drip", 5000, "engine: timeout: the page was not whole within 5 s, " },
};

START_TEST(a_page_that_takes_too_long_is_a_timeout)
{
    struct got got = fetch(slow[_i].path, slow[_i].timeout_ms);
    ck_assert_int_eq(got.why, ADP_SCRAPE_TIMEOUT);
    ck_assert_msg(strncmp(got.text, slow[_i].text, strlen(slow[_i].text)) == 0, "%s",
                  got.text);
}
END_TEST

static const struct {
    const char *url;
    enum adp_scrape_why why;
} nowhere[] = {
    { "http://127.0.0.1:1/metrics", ADP_SCRAPE_CONNECTION_REFUSED },
    { "unix:/tmp/admitperf-no-such.sock", ADP_SCRAPE_CONNECTION_REFUSED },
    { "http://engine.invalid/metrics", ADP_SCRAPE_DNS },
};

START_TEST(where_nobody_is_has_its_reason)
{
    struct adp_scrape_target t = { .url = nowhere[_i].url,
                                   .interval_ns = 60000 * MS,
                                   .timeout_ns = PATIENCE_MS * MS };
    struct got got = fetch_target(&t);
    ck_assert_msg(got.why == nowhere[_i].why, "%s", got.text);
}
END_TEST

START_TEST(a_unix_socket_is_spoken_to)
{
    char url[256];
    snprintf(url, sizeof url, "unix:%s/sock", folder);
    struct adp_scrape_target t = { .url = url,
                                   .interval_ns = 60000 * MS,
                                   .timeout_ns = PATIENCE_MS * MS };
    struct got got = fetch_target(&t);
    ck_assert_msg(got.why == ADP_SCRAPE_FINE, "%s", got.text);
}
END_TEST

static const struct {
    const char *ca;
    bool insecure;
    enum adp_scrape_why why;
} certificates[] = {
    { NULL, false, ADP_SCRAPE_TLS },
    { PAGES "/tls/cert.pem", false, ADP_SCRAPE_FINE },
    { NULL, true, ADP_SCRAPE_FINE },
    { "/nowhere/ca.pem", false, ADP_SCRAPE_TLS },
};

START_TEST(a_certificate_is_checked_unless_told_otherwise)
{
    char url[256];
    snprintf(url, sizeof url, "https://127.0.0.1:%d/metrics", tls_port);
    struct adp_scrape_target t = { .url = url,
                                   .interval_ns = 60000 * MS,
                                   .timeout_ns = PATIENCE_MS * MS,
                                   .ca_file = certificates[_i].ca,
                                   .insecure = certificates[_i].insecure };
    struct got got = fetch_target(&t);
    ck_assert_msg(got.why == certificates[_i].why, "%s", got.text);
}
END_TEST

static const struct {
    const char *path, *file; /* what it holds; NULL: there is none */
    enum adp_scrape_why why;
    const char *text;
} tokens[] = {
    { "/token", "token-of-the-tests", ADP_SCRAPE_FINE, "" },
    { "/token", "\n  token-of-the-tests \n", ADP_SCRAPE_FINE, "" },
    { "/redirect-token", "token-of-the-tests\n", ADP_SCRAPE_FINE, "" },
    { "/token", "token-of-others\n", ADP_SCRAPE_UNAUTHORIZED, "the token is not taken" },
    { "/redirect-away", "token-of-others\n", ADP_SCRAPE_REDIRECT,
      "another scheme, host" },
    { "/token", "tok\303\251n", ADP_SCRAPE_CREDENTIALS, "a byte that no token has" },
    { "/token", "", ADP_SCRAPE_CREDENTIALS, "holds no token" },
    { "/token", "\n\n", ADP_SCRAPE_CREDENTIALS, "holds no token" },
    { "/token", "token-of\r\nX-Other: y", ADP_SCRAPE_CREDENTIALS, "more than one word" },
    { "/token", NULL, ADP_SCRAPE_CREDENTIALS, "cannot read the bearer file" },
};

START_TEST(a_token_is_sent_from_its_file_and_never_shown)
{
    char url[256], file[256];
    address(url, sizeof url, tokens[_i].path);
    snprintf(file, sizeof file, "%s/token-%d", folder, _i);
    if (tokens[_i].file) {
        FILE *f = fopen(file, "we");
        ck_assert_ptr_nonnull(f);
        fputs(tokens[_i].file, f);
        ck_assert_int_eq(fclose(f), 0);
    }
    struct adp_scrape_target t = { .name = "engine",
                                   .url = url,
                                   .interval_ns = 60000 * MS,
                                   .timeout_ns = PATIENCE_MS * MS,
                                   .bearer_file = file };
    struct got got = fetch_target(&t);
    unlink(file);
    ck_assert_msg(got.why == tokens[_i].why && strstr(got.text, tokens[_i].text), "%s",
                  got.text);
    ck_assert(!strstr(got.text, "token-of"));
}
END_TEST

/* Peak resident memory, in KiB. */
static long peak_kb(void)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "re");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld kB", &kb) == 1)
            break;
    fclose(f);
    return kb;
}

START_TEST(memory_stays_bounded_whatever_comes)
{
    static const char *const paths[] = { "/big", "/endless", "/endless-head", "/binary" };
    long before = peak_kb();
    for (size_t i = 0; i < 2 * sizeof paths / sizeof paths[0]; i++)
        fetch(paths[i / 2], PATIENCE_MS);
    /* A page of 16 MiB and, while it grew, its half; libcurl's own beside it. */
    ck_assert_int_lt(peak_kb() - before, 40 << 10);
}
END_TEST

START_TEST(a_connection_is_kept)
{
    char url[256];
    address(url, sizeof url, "/metrics");
    struct adp_scrape_target t = { .url = url,
                                   .interval_ns = 50 * MS,
                                   .timeout_ns = PATIENCE_MS * MS };
    struct adp_scraper *s;
    struct adp_scrape_round round;
    ck_assert_int_eq(adp_scraper_create(&s, &t, 1, NULL, NULL), 0);
    for (int rounds = 0; rounds < 3;)
        if (adp_scraper_step(s, 1000 * MS, &round)) {
            ck_assert_ptr_nonnull(round.page);
            rounds++;
        }
    adp_scraper_destroy(s);
}
END_TEST

static Suite *fetching(void)
{
    Suite *suite = suite_create("fetch");
    TCase *tc = tcase_create("fetch");
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, a_whole_page_is_had, 0, sizeof good / sizeof good[0]);
    tcase_add_loop_test(tc, a_last_line_without_its_newline_is_not_read, 0, 2);
    tcase_add_loop_test(tc, a_page_is_what_its_server_says_it_is, 0,
                        sizeof said / sizeof said[0]);
    tcase_add_loop_test(tc, every_other_answer_has_its_reason, 0,
                        sizeof bad / sizeof bad[0]);
    tcase_add_loop_test(tc, a_page_that_takes_too_long_is_a_timeout, 0,
                        sizeof slow / sizeof slow[0]);
    tcase_add_loop_test(tc, where_nobody_is_has_its_reason, 0,
                        sizeof nowhere / sizeof nowhere[0]);
    tcase_add_test(tc, a_unix_socket_is_spoken_to);
    tcase_add_loop_test(tc, a_certificate_is_checked_unless_told_otherwise, 0,
                        sizeof certificates / sizeof certificates[0]);
    tcase_add_loop_test(tc, a_token_is_sent_from_its_file_and_never_shown, 0,
                        sizeof tokens / sizeof tokens[0]);
    if (!SANITIZED) /* its memory would be judged, not ours */
        tcase_add_test(tc, memory_stays_bounded_whatever_comes);
    tcase_add_test(tc, a_connection_is_kept);
    suite_add_tcase(suite, tc);
    return suite;
}

/* Outside of a test, where nothing may be claimed. */
static void end_server(void)
{
    char url[256];
    struct adp_scraper *s;
    struct adp_scrape_round round;
    address(url, sizeof url, "/quit");
    struct adp_scrape_target t = { .url = url,
                                   .interval_ns = 60000 * MS,
                                   .timeout_ns = PATIENCE_MS * MS };
    if (adp_scraper_create(&s, &t, 1, NULL, NULL) < 0)
        return;
    adp_scraper_step(s, PATIENCE_MS * MS, &round);
    adp_scraper_destroy(s);
}

int main(void)
{
    if (system("command -v python3 >/dev/null") != 0) {
        puts("SKIP: no python3 to serve pages with");
        return 77;
    }
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    char command[1024];
    snprintf(command, sizeof command,
             "exec python3 " PAGES "/pages.py " PAGES "/tls/cert.pem " PAGES
             "/tls/key.pem %s/sock",
             folder);
    FILE *server = popen(command, "re");
    if (!server || fscanf(server, "%d %d", &port, &tls_port) != 2)
        return EXIT_FAILURE;
    SRunner *runner = srunner_create(fetching());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    end_server();
    pclose(server);
    snprintf(command, sizeof command, "%s/sock", folder);
    unlink(command);
    rmdir(folder);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
