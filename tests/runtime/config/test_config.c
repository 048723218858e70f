/* SPDX-License-Identifier: MIT */
/* Good files, field by field; bad ones are in bad/ (test_bad.c). */
#include "core/error.h"
#include "runtime/config/config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLICY "policy: { use: no_admission }\n"

static struct adp_config *config;
static struct adp_errors errors;

static void set_up(void)
{
    config = NULL;
    errors = (struct adp_errors) { 0 };
}

static void tear_down(void)
{
    adp_config_destroy(config);
    adp_errors_free(&errors);
}

static void assert_no_errors(void)
{
    char text[1024] = "";
    if (errors.n > 0)
        adp_error_format(&errors.list[0], text, sizeof text);
    ck_assert_str_eq(text, "");
}

static void assert_only_error(const char *expected)
{
    char text[1024] = "";
    ck_assert_uint_eq(errors.n, 1);
    adp_error_format(&errors.list[0], text, sizeof text);
    ck_assert_str_eq(text, expected);
}

/* Reads a good text into `config`. */
static void read_good(const char *text)
{
    int code =
        adp_config_read_text(&config, text, strlen(text), "t.yaml", "/etc/adp", &errors);
    assert_no_errors();
    ck_assert_int_eq(code, 0);
    ck_assert_ptr_nonnull(config);
}

/* Where a file of the source tree is. */
static void path_of(char *to, size_t cap, const char *name)
{
    const char *source = getenv("srcdir");
    snprintf(to, cap, "%s/%s", source ? source : ".", name);
}

/* ---- defaults ---- */

START_TEST(two_lines_are_a_configuration)
{
    read_good("version: 1\n" POLICY);
    ck_assert_str_eq(config->file, "t.yaml");
    ck_assert_ptr_null(config->experiment);
    ck_assert_ptr_null(config->run);
    ck_assert_ptr_null(config->notes);
    ck_assert_ptr_null(config->disclosure_json);
    ck_assert_ptr_null(config->split_salt);
    ck_assert(!config->has_slo_ttft);
    ck_assert_uint_eq(config->n_scrape, 0);
    ck_assert_uint_eq(config->n_policies, 1);
    ck_assert_str_eq(config->policies[0].use, "no_admission");
    ck_assert_ptr_null(config->policies[0].path);
    ck_assert_ptr_null(config->policies[0].sha256);
    ck_assert_ptr_null(config->policies[0].config_json);
    ck_assert_uint_eq(config->policies[0].n_params, 0);
    ck_assert_double_eq(config->policies[0].enforce, 1.0);
    ck_assert_int_eq(config->policies[0].on_error, ADP_ON_ERROR_ADMIT);
    ck_assert_int_eq(config->status_profile, ADP_PROFILE_STANDARD);
    ck_assert(!config->log_none);
    ck_assert(!config->log_inline);
    ck_assert_str_eq(config->log_path, "experiments/{experiment}/{policy}/{run}.jsonl");
    ck_assert_uint_eq(config->rotate_bytes, 0);
    ck_assert_uint_eq(config->keep, 10);
    ck_assert(!config->has_serve);
    ck_assert(!config->has_scrape);
    ck_assert_uint_eq(config->instance_count, 1);
    ck_assert_int_ge(adp_signals_find(config->signals, "kv_pressure"), 0);
}
END_TEST

/* ---- the sample ---- */

static void read_sample(void)
{
    char path[4096];
    path_of(path, sizeof path, "tests/runtime/config/good/sample.yaml");
    int code = adp_config_read_file(&config, path, &errors);
    assert_no_errors();
    ck_assert_int_eq(code, 0);
}

START_TEST(the_samples_identity_and_log)
{
    read_sample();
    ck_assert_str_eq(config->experiment, "kv-wall-8k");
    ck_assert_str_eq(config->run, "r1");
    ck_assert_str_eq(config->notes, "1xA100-40, 8k prompts");
    ck_assert_str_eq(config->disclosure_json,
                     "{\"model\":\"\\u2026\",\"engine\":\"\\u2026\",\"hardware\":"
                     "\"\\u2026\",\"workload\":\"\\u2026\",\"slo\":{\"ttft_ms\":1500},"
                     "\"capacity_rps\":4,\"unloaded_ttft_ms\":180}");
    ck_assert(config->has_slo_ttft);
    ck_assert_double_eq(config->slo_ttft_ms, 1500.0);
    ck_assert_str_eq(config->log_path, "experiments/{experiment}/{policy}/{run}.jsonl");
    ck_assert_uint_eq(config->rotate_bytes, 1073741824);
    ck_assert_uint_eq(config->keep, 10);
    ck_assert(config->has_serve);
}
END_TEST

START_TEST(the_samples_signals)
{
    read_sample();
    const struct adp_signals *set = config->signals;
    int kv = adp_signals_find(set, "kv_pressure");
    ck_assert_int_ge(kv, 0);
    ck_assert_int_eq(adp_signals_find(set, "cache_pressure"), kv);
    ck_assert_uint_eq(adp_signals_age_limit(set, (uint32_t)kv), 5000000000);
    ck_assert_str_eq(adp_signals_unit(set, (uint32_t)kv), "ratio");

    enum adp_aggregate aggregate;
    const struct adp_expr *source = adp_signals_source(set, (uint32_t)kv, 0, &aggregate);
    ck_assert_str_eq(adp_expr_text(source), "acme.cache.used_frac");
    ck_assert_int_eq(aggregate, ADP_AGG_NONE);
    source = adp_signals_source(set, (uint32_t)kv, 1, &aggregate);
    ck_assert_str_eq(adp_expr_text(source), "blocks_used / blocks_total");
    source = adp_signals_source(set, (uint32_t)kv, 2, &aggregate);
    ck_assert_str_eq(
        adp_expr_text(source), /* the first of those shipped */
        "vllm:gpu_cache_usage_perc + 0 * max(vllm:kv_cache_usage_perc{pid!=\"\"})");

    int temperature = adp_signals_find(set, "gpu_temp");
    ck_assert_int_ge(temperature, 0);
    double lo, hi;
    adp_signals_range(set, (uint32_t)temperature, &lo, &hi);
    ck_assert_double_eq(lo, 0.0);
    ck_assert_double_eq(hi, 120.0);
    ck_assert_str_eq(adp_signals_unit(set, (uint32_t)temperature), "celsius");
    ck_assert_uint_eq(adp_signals_sources(set, (uint32_t)temperature), 1);
    source = adp_signals_source(set, (uint32_t)temperature, 0, &aggregate);
    ck_assert_str_eq(adp_expr_text(source), "DCGM_FI_DEV_GPU_TEMP");
    ck_assert_int_eq(aggregate, ADP_AGG_MAX);
}
END_TEST

START_TEST(the_samples_scrape)
{
    read_sample();
    ck_assert(config->has_scrape);
    ck_assert_uint_eq(config->n_scrape, 1);
    ck_assert_str_eq(config->scrape[0].name, "vllm-0");
    ck_assert_str_eq(config->scrape[0].url, "http://127.0.0.1:8000/metrics");
    ck_assert_uint_eq(config->scrape[0].interval_ns, 1000000000);
    ck_assert_uint_eq(config->scrape[0].timeout_ns, 500000000);
    ck_assert_uint_eq(config->scrape[0].place.line, 14);
    ck_assert_uint_eq(config->scrape[0].place.column, 11);
}
END_TEST

/* Of secrets only the files' names are in the configuration. */
START_TEST(a_page_may_need_a_token_and_certificates)
{
    read_good("version: 1\npolicy: { use: no_admission }\n"
              "scrape:\n"
              "  - { name: a, url: 'unix:/run/v.sock', bearer_file: /run/token }\n"
              "  - { name: b, url: 'https://h', ca_file: ./ca.pem, cert_file: c.pem,\n"
              "      key_file: tls/k.pem, insecure: true }\n");
    ck_assert_uint_eq(config->n_scrape, 2);
    ck_assert_str_eq(config->scrape[0].url, "unix:/run/v.sock");
    ck_assert_str_eq(config->scrape[0].bearer_file, "/run/token");
    ck_assert_ptr_null(config->scrape[0].ca_file);
    ck_assert(!config->scrape[0].insecure);
    ck_assert_str_eq(config->scrape[1].ca_file, "/etc/adp/ca.pem");
    ck_assert_str_eq(config->scrape[1].cert_file, "/etc/adp/c.pem");
    ck_assert_str_eq(config->scrape[1].key_file, "/etc/adp/tls/k.pem");
    ck_assert(config->scrape[1].insecure);
}
END_TEST

START_TEST(the_samples_policies)
{
    read_sample();
    ck_assert_uint_eq(config->n_policies, 2);
    const struct adp_policy_setting *policy = &config->policies[0];
    ck_assert_str_eq(policy->use, "kv_threshold");
    ck_assert_ptr_null(policy->path);
    ck_assert_uint_eq(policy->n_params, 1);
    ck_assert_str_eq(policy->params[0].name, "threshold");
    ck_assert_int_eq(policy->params[0].type, ADP_PARAM_NUMBER);
    ck_assert_double_eq(policy->params[0].value, 0.9);
    ck_assert(!policy->params[0].integral);
    ck_assert(policy->params[0].stated);
    ck_assert_int_eq(policy->params[0].provenance, ADP_PROV_FITTED);
    ck_assert_double_eq(policy->enforce, 1.0);

    const struct adp_policy_setting *shadow = &config->policies[1];
    ck_assert_str_eq(shadow->use, "./kv_wall.so");
    ck_assert_str_eq(shadow->sha256, "0123456789abcdef0123456789abcdef0123456789abcdef"
                                     "0123456789abcdef");
    ck_assert_uint_eq(shadow->n_params, 2);
    ck_assert_str_eq(shadow->params[1].name, "max_waiting");
    ck_assert_double_eq(shadow->params[1].value, 32.0);
    ck_assert(shadow->params[1].integral);
    ck_assert(!shadow->params[1].stated);
    ck_assert_int_eq(shadow->params[1].provenance, ADP_PROV_DEFAULT);
    ck_assert_double_eq(shadow->enforce, 0.0);
}
END_TEST

START_TEST(a_plugins_path_starts_from_the_files_folder)
{
    char folder[4096], expected[8192];
    read_sample();
    path_of(folder, sizeof folder, "tests/runtime/config/good");
    if (folder[0] == '/')
        snprintf(expected, sizeof expected, "%s/kv_wall.so", folder);
    else {
        char here[4000];
        ck_assert_ptr_nonnull(getcwd(here, sizeof here));
        snprintf(expected, sizeof expected, "%s/%s/kv_wall.so", here, folder);
    }
    ck_assert_str_eq(config->policies[1].path, expected);
}
END_TEST

/* ---- policies ---- */

static const struct {
    const char *use, *path;
} uses[] = {
    { "kv_threshold", NULL },
    { "./a.so", "/etc/adp/a.so" },
    { "sub/a.so", "/etc/adp/sub/a.so" },
    { "../a.so", "/etc/adp/../a.so" },
    { "/opt/a.so", "/opt/a.so" },
    { "./no_suffix", "/etc/adp/no_suffix" },
};

START_TEST(a_use_with_a_slash_is_a_path)
{
    char text[256];
    snprintf(text, sizeof text, "version: 1\npolicy: { use: %s }\n", uses[_i].use);
    read_good(text);
    ck_assert_str_eq(config->policies[0].use, uses[_i].use);
    ck_assert_pstr_eq(config->policies[0].path, uses[_i].path);
}
END_TEST

START_TEST(without_a_folder_paths_start_from_the_current_directory)
{
    const char *text = "version: 1\npolicy: { use: ./a.so }\n";
    char here[4000], expected[4096];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_int_eq(
        adp_config_read_text(&config, text, strlen(text), "t.yaml", NULL, &errors), 0);
    snprintf(expected, sizeof expected, "%s/a.so", here);
    ck_assert_str_eq(config->policies[0].path, expected);
}
END_TEST

START_TEST(parameters_are_told_apart_and_know_their_places)
{
    read_good("version: 1\n"
              "policy:\n"
              "  provenance: { c: default, a: inherited }\n"
              "  use: queue_depth\n"
              "  params: { a: 3, b: 3.0, c: 3e0, d: true, e: False,\n"
              "            f: \"3\", g: high, h: [3], i: , j: .inf, k: -0.5 }\n");
    const struct adp_param_setting *p = config->policies[0].params;
    static const struct {
        enum adp_param_type type;
        double value;
        bool integral;
        const char *written;
    } expected[] = {
        { ADP_PARAM_NUMBER, 3.0, true, "\"3\"" },
        { ADP_PARAM_NUMBER, 3.0, false, "\"3.0\"" },
        { ADP_PARAM_NUMBER, 3.0, false, "\"3e0\"" },
        { ADP_PARAM_BOOL, 1.0, false, "\"true\"" },
        { ADP_PARAM_BOOL, 0.0, false, "\"False\"" },
        { ADP_PARAM_OTHER, 0.0, false, "\"3\" in quotes" },
        { ADP_PARAM_OTHER, 0.0, false, "\"high\"" },
        { ADP_PARAM_OTHER, 0.0, false, "a list" },
        { ADP_PARAM_OTHER, 0.0, false, "nothing" },
        { ADP_PARAM_OTHER, 0.0, false, "\".inf\"" },
        { ADP_PARAM_NUMBER, -0.5, false, "\"-0.5\"" },
    };
    ck_assert_uint_eq(config->policies[0].n_params, 11);
    for (uint32_t i = 0; i < 11; i++) {
        ck_assert_str_eq(p[i].name, ((char[]) { (char)('a' + (int)i), '\0' }));
        ck_assert_int_eq(p[i].type, expected[i].type);
        if (p[i].type != ADP_PARAM_OTHER)
            ck_assert_double_eq(p[i].value, expected[i].value);
        ck_assert_int_eq(p[i].integral, expected[i].integral);
        ck_assert_str_eq(p[i].written, expected[i].written);
    }
    ck_assert(p[0].stated);
    ck_assert_int_eq(p[0].provenance, ADP_PROV_INHERITED);
    ck_assert_uint_eq(p[0].provenance_place.line, 3);
    ck_assert_uint_eq(p[0].provenance_place.column, 32);
    ck_assert(p[2].stated);
    ck_assert_int_eq(p[2].provenance, ADP_PROV_DEFAULT);
    ck_assert(!p[1].stated);
    ck_assert_uint_eq(p[1].provenance_place.line, 0);
    ck_assert_uint_eq(p[1].place.line, 5);
    ck_assert_uint_eq(p[1].place.column, 19);
    ck_assert_uint_eq(p[1].value_place.column, 22);
    ck_assert_uint_eq(config->policies[0].place.line, 3);
    ck_assert_uint_eq(config->policies[0].use_place.line, 4);
    ck_assert_uint_eq(config->policies[0].use_place.column, 8);
}
END_TEST

START_TEST(a_policys_config_reaches_it_as_json)
{
    read_good("version: 1\npolicy:\n  use: no_admission\n"
              "  config:\n    tenants:\n      gold: { rps: 2.5, burst: 10 }\n"
              "      \"b\\u00e9ta\": ~\n");
    ck_assert_str_eq(config->policies[0].config_json,
                     "{\"tenants\":{\"gold\":{\"rps\":2.5,\"burst\":10},"
                     "\"b\\u00e9ta\":null}}");
}
END_TEST

START_TEST(a_policy_is_enforced_as_written)
{
    read_good(
        "version: 1\npolicy: { use: no_admission, enforce: .25, on_error: reject }\n");
    ck_assert_double_eq(config->policies[0].enforce, 0.25);
    ck_assert_int_eq(config->policies[0].on_error, ADP_ON_ERROR_REJECT);
}
END_TEST

START_TEST(seven_shadows_stand_in_their_order)
{
    read_good("version: 1\n" POLICY
              "shadow: [ { use: a }, { use: b }, { use: c }, { use: d }, { use: e }, "
              "{ use: f }, { use: g } ]\n");
    ck_assert_uint_eq(config->n_policies, 8);
    for (uint32_t i = 1; i < 8; i++) {
        ck_assert_int_eq(config->policies[i].use[0], 'a' + (int)i - 1);
        ck_assert_double_eq(config->policies[i].enforce, 0.0);
    }
}
END_TEST

START_TEST(provenance_words_read_back)
{
    ck_assert_str_eq(adp_provenance_word(ADP_PROV_DEFAULT), "default");
    ck_assert_str_eq(adp_provenance_word(ADP_PROV_FITTED), "fitted");
    ck_assert_str_eq(adp_provenance_word(ADP_PROV_INHERITED), "inherited");
}
END_TEST

/* ---- signals ---- */

START_TEST(a_new_signal_is_known_like_a_shipped_one)
{
    read_good("version: 1\n" POLICY "signals:\n"
              "  power:\n"
              "    unit: watt\n"
              "    range: [-.inf, .inf]\n"
              "    aggregate: sum\n"
              "    sources: [ { metric: p }, { expr: a * b, aggregate: mean } ]\n"
              "aliases: { signals: { watts: power } }\n");
    int power = adp_signals_find(config->signals, "power");
    ck_assert_int_ge(power, 0);
    ck_assert_int_eq(adp_signals_find(config->signals, "watts"), power);
    double lo, hi;
    adp_signals_range(config->signals, (uint32_t)power, &lo, &hi);
    ck_assert(isinf(lo) && lo < 0.0);
    ck_assert(isinf(hi) && hi > 0.0);
    ck_assert_uint_eq(adp_signals_age_limit(config->signals, (uint32_t)power),
                      5000000000);
    ck_assert_uint_eq(adp_signals_sources(config->signals, (uint32_t)power), 2);
    enum adp_aggregate aggregate;
    adp_signals_source(config->signals, (uint32_t)power, 0, &aggregate);
    ck_assert_int_eq(aggregate, ADP_AGG_SUM); /* the entry's, for sources without one */
    adp_signals_source(config->signals, (uint32_t)power, 1, &aggregate);
    ck_assert_int_eq(aggregate, ADP_AGG_MEAN);
}
END_TEST

START_TEST(a_max_age_may_be_the_scrape_interval)
{
    read_good("version: 1\n" POLICY
              "signals: { running: { max_age: 2s }, queue_depth: { max_age: 90s } }\n"
              "scrape: [ { name: a, url: \"https://a/\", interval: 2s } ]\n");
    int running = adp_signals_find(config->signals, "running");
    ck_assert_uint_eq(adp_signals_age_limit(config->signals, (uint32_t)running),
                      2000000000);
    ck_assert_uint_eq(config->scrape[0].timeout_ns, 2000000000); /* the interval */
}
END_TEST

/* ---- log ---- */

START_TEST(the_log_can_be_left_out)
{
    read_good("version: 1\n" POLICY "log: none\n");
    ck_assert(config->log_none);
}
END_TEST

START_TEST(the_log_is_set_key_by_key)
{
    read_good(
        "version: 1\n" POLICY
        "log: { path: \"{run}-{run}.jsonl\", rotate: 64MiB, keep: 3, metrics: inline "
        "}\n");
    ck_assert(!config->log_none);
    ck_assert(config->log_inline);
    ck_assert_uint_eq(config->rotate_bytes, 67108864);
    ck_assert_uint_eq(config->keep, 3);
    ck_assert_str_eq(config->log_path, "{run}-{run}.jsonl");
}
END_TEST

static const struct {
    const char *settings, *path;
} paths[] = {
    { "", "experiments/unnamed/kv/r1.jsonl" },
    { "experiment: e\nrun: r7\n", "experiments/e/kv/r7.jsonl" },
    { "experiment: \"{run}\"\n", "experiments/{run}/kv/r1.jsonl" }, /* filled once */
    { "log: { path: /var/log/x.jsonl }\n", "/var/log/x.jsonl" },
    { "log: { path: \"{policy}{policy}\" }\n", "kvkv" },
    { "run: 2\nlog: { path: \"a{run}b\" }\n", "a2b" },
};

START_TEST(the_logs_template_is_filled)
{
    char text[256], path[64];
    snprintf(text, sizeof text, "version: 1\n" POLICY "%s", paths[_i].settings);
    read_good(text);
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_config_log_path(config, "kv", path, sizeof path, &err), 0);
    ck_assert_str_eq(path, paths[_i].path);
}
END_TEST

START_TEST(a_path_that_does_not_fit_is_refused)
{
    read_good("version: 1\n" POLICY "log: { path: \"12345{policy}\" }\n");
    struct adp_error err = { 0 };
    char path[] = "untouched";
    ck_assert_int_eq(adp_config_log_path(config, "678", path, 9, &err), 0);
    ck_assert_str_eq(path, "12345678");
    ck_assert_int_eq(adp_config_log_path(config, "678", path, 8, &err), ADP_EFULL);
    ck_assert_str_eq(path, "12345678");
    char name[1200] = "", big[2048];
    memset(name, 'a', 1018);
    err = (struct adp_error) { 0 };
    ck_assert_int_eq(adp_config_log_path(config, name, big, sizeof big, &err), 0);
    ck_assert_uint_eq(strlen(big), 1023);
    memset(name, 'a', 1019);
    ck_assert_int_eq(adp_config_log_path(config, name, big, sizeof big, &err), ADP_EFULL);
    ck_assert_str_eq(err.text,
                     "the path of the log is too long, expected at most 1023 bytes");
}
END_TEST

/* ---- the rest ---- */

static const struct {
    const char *word;
    enum adp_profile profile;
} profiles[] = { { "standard", ADP_PROFILE_STANDARD },
                 { "llm-d", ADP_PROFILE_LLM_D },
                 { "dynamo", ADP_PROFILE_DYNAMO } };

START_TEST(status_profiles_are_words)
{
    char text[128];
    snprintf(text, sizeof text, "version: 1\n" POLICY "status_profile: %s\n",
             profiles[_i].word);
    read_good(text);
    ck_assert_int_eq(config->status_profile, profiles[_i].profile);
}
END_TEST

START_TEST(text_is_taken_as_written)
{
    read_good("version: 1\n" POLICY
              "run: 1\nexperiment: 007\nnotes: no\nsplit_salt: 'a b'\n");
    ck_assert_str_eq(config->run, "1");
    ck_assert_str_eq(config->experiment, "007");
    ck_assert_str_eq(config->notes, "no");
    ck_assert_str_eq(config->split_salt, "a b");
}
END_TEST

START_TEST(the_longest_name_has_128_bytes)
{
    char text[256], name[129] = "";
    memset(name, 'n', 128);
    snprintf(text, sizeof text, "version: 1\n" POLICY "run: %s\n", name);
    read_good(text);
    ck_assert_str_eq(config->run, name);
}
END_TEST

START_TEST(serve_without_a_word_states_nothing)
{
    read_good("version: 1\n" POLICY "serve: {}\n");
    ck_assert(config->has_serve);
    ck_assert_uint_eq(config->serve.listen.n, 0);
    ck_assert_ptr_null(config->serve.token_file);
    ck_assert_uint_eq(config->serve.body_bytes, 0);
    ck_assert_uint_eq(config->serve.header[ADP_HEADER_TENANT].n, 0);
}
END_TEST

START_TEST(serve_knows_what_stays_on_this_machine)
{
    static const struct {
        const char *address;
        bool local;
    } rows[] = {
        { "127.0.0.1:9400", true },      { "127.1.2.3:1", true },
        { "[::1]:9400", true },          { "LocalHost:0", true },
        { "unix:/run/a.sock", true },    { "0.0.0.0:9400", false },
        { "[::]:9400", false },          { "127.0.0.1.example.org:9400", false },
        { "127.0.0:9400", false },       { "localhost.example.org:1", false },
        { "[::ffff:1.2.3.4]:1", false },
    };
    const struct adp_serve_setting *serve;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "version: 1\n" POLICY "serve: { token_file: /t, listen: \"%s\" }\n",
                 rows[i].address);
        read_good(text);
        serve = &config->serve;
        ck_assert_uint_eq(serve->listen.n, 1);
        ck_assert_str_eq(serve->listen.list[0].address, rows[i].address);
        ck_assert_msg(serve->listen.list[0].local == rows[i].local, "%s",
                      rows[i].address);
        adp_config_destroy(config);
        config = NULL;
    }
}
END_TEST

START_TEST(serve_as_an_operator_writes_it)
{
    read_good(
        "version: 1\n" POLICY "serve:\n"
        "  listen: [ { unix: /run/a.sock, mode: 0666, group: web } ]\n"
        "  token_file: ./token\n"
        "  threads: 2\n"
        "  supervise: false\n"
        "  limits: { head: 8KiB, idle: 2m, drain: 3s, policy: 200ms, memory: 64MiB }\n"
        "  headers: { tenant: [ X-Org, X-Team ] }\n"
        "  bytes_per_token: 4\n"
        "  outcomes: { listen: unix:/run/o.sock, fields: { ttft_s: a.B } }\n"
        "  spop: 127.0.0.1:9402\n");
    const struct adp_serve_setting *s = &config->serve;
    ck_assert_str_eq(s->listen.list[0].address, "unix:/run/a.sock");
    ck_assert_uint_eq(s->listen.list[0].mode, 0666);
    ck_assert_str_eq(s->listen.list[0].group, "web");
    ck_assert_str_eq(s->token_file, "/etc/adp/token");
    ck_assert_uint_eq(s->threads, 2);
    ck_assert(s->alone);
    ck_assert_uint_eq(s->policy_ns, 200000000u);
    ck_assert_uint_eq(s->memory_bytes, 67108864u);
    ck_assert_uint_eq(s->head_bytes, 8192);
    ck_assert_uint_eq(s->idle_ns, 120000000000u);
    ck_assert_uint_eq(s->drain_ns, 3000000000u);
    ck_assert_uint_eq(s->header[ADP_HEADER_TENANT].n, 2);
    ck_assert_str_eq(s->header[ADP_HEADER_TENANT].name[1], "x-team");
    ck_assert_double_eq(s->bytes_per_token, 4.0);
    ck_assert_uint_eq(s->outcomes.n, 1);
    ck_assert_str_eq(s->field[ADP_FIELD_TTFT_S].name[0], "a.B");
    ck_assert_str_eq(s->spop.list[0].address, "127.0.0.1:9402");
}
END_TEST

/* ---- drafts ---- */

START_TEST(a_draft_holds_what_could_be_read)
{
    const char *text =
        "version: 1\n"
        "policy: { use: queue_depth, params: { a: 1, b: x }, enforce: 7 }\n"
        "shadow: [ { use: kv_wall.so } ]\n"
        "bogus: 1\n";
    ck_assert_int_eq(
        adp_config_draft_text(&config, text, strlen(text), "t.yaml", "/etc/adp", &errors),
        0);
    ck_assert_uint_eq(errors.n, 3);
    ck_assert_uint_eq(config->n_policies, 2);
    ck_assert_str_eq(config->policies[0].use, "queue_depth");
    ck_assert_uint_eq(config->policies[0].n_params, 2);
    ck_assert_double_eq(config->policies[0].enforce, 1.0); /* what was refused: default */
    ck_assert_ptr_null(config->policies[1].use);
}
END_TEST

START_TEST(what_the_host_finds_stands_among_the_rest)
{
    const char *text = "version: 1\n"
                       "policy: { use: queue_depth, params: { a: 1 }, enforce: 7 }\n";
    ck_assert_int_eq(
        adp_config_draft_text(&config, text, strlen(text), "t.yaml", "/etc/adp", &errors),
        0);
    adp_errors_add(&errors, ADP_EINVAL, config->file, config->policies[0].params[0].place,
                   "unknown parameter");
    ck_assert_uint_eq(errors.n, 2);
    ck_assert_str_eq(errors.list[0].text, "unknown parameter");
    ck_assert_uint_eq(errors.list[0].column, 39);
    ck_assert_uint_eq(errors.list[1].column, 56);
}
END_TEST

/* Of each it is asked whether one of the words is meant: until no answer would be kept. */
START_TEST(of_nothing_but_unknown_keys_as_many_are_told_as_are_kept)
{
    enum { KEYS = 2000, BYTES = 69 };
    static char text[KEYS * BYTES + 128];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "version: 1\n" POLICY "serve:\n outcomes:\n  fields:\n");
    for (int i = 0; i < KEYS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "   %060d: x\n", i);
    ck_assert_int_eq(
        adp_config_read_text(&config, text, at, "t.yaml", "/etc/adp", &errors),
        ADP_EINVAL);
    ck_assert_uint_eq(errors.n, ADP_CONFIG_MAX_ERRORS + 1);
}
END_TEST

/* ---- files ---- */

START_TEST(a_file_that_is_not_there_is_said_to_be_missing)
{
    ck_assert_int_eq(adp_config_read_file(&config, "/nowhere/a.yaml", &errors),
                     ADP_ENOENT);
    assert_only_error("/nowhere/a.yaml: no such file");
    ck_assert_ptr_null(config);
}
END_TEST

START_TEST(a_folder_is_no_file)
{
    ck_assert_int_eq(adp_config_read_file(&config, "/", &errors), ADP_EIO);
    assert_only_error("/: it is a folder, expected a file");
}
END_TEST

START_TEST(a_pipe_that_nobody_writes_to_is_refused_and_not_waited_for)
{
    char path[] = "/tmp/adp-config-XXXXXX", says[64];
    ck_assert_ptr_nonnull(mkdtemp(path));
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    int code = adp_config_read_file(&config, path, &errors);
    unlink(path);
    ck_assert_int_eq(code, ADP_EIO);
    snprintf(says, sizeof says, "%s: it is a pipe, expected a file", path);
    assert_only_error(says);
}
END_TEST

START_TEST(a_device_is_no_file)
{
    ck_assert_int_eq(adp_config_read_file(&config, "/dev/null", &errors), ADP_EIO);
    assert_only_error("/dev/null: it is a device, expected a file");
}
END_TEST

START_TEST(a_file_is_at_most_a_mebibyte)
{
    char path[] = "/tmp/adp-config-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    static char text[ADP_CONFIG_MAX_BYTES + 1];
    static const char begin[] = "version: 1\n" POLICY "# ";
    memset(text, 'x', sizeof text);
    memcpy(text, begin, sizeof begin - 1);
    ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
    ck_assert_int_eq(adp_config_read_file(&config, path, &errors), 0);
    ck_assert_int_eq(write(fd, "x", 1), 1);
    adp_config_destroy(config);
    config = NULL;
    int code = adp_config_read_file(&config, path, &errors);
    close(fd);
    unlink(path);
    ck_assert_int_eq(code, ADP_EFULL);
    ck_assert_str_eq(errors.list[0].text,
                     "the file is too large, found 1048577 bytes, expected at most "
                     "1048576");
}
END_TEST

START_TEST(a_relative_files_folder_is_made_absolute)
{
    char folder[] = "/tmp/adp-config-XXXXXX", here[4000];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(mkdir("sub", 0700), 0);
    FILE *f = fopen("sub/a.yaml", "w");
    ck_assert_ptr_nonnull(f);
    fputs("version: 1\npolicy: { use: ./a.so }\n", f);
    fclose(f);
    int code = adp_config_read_file(&config, "sub/a.yaml", &errors);
    unlink("sub/a.yaml");
    rmdir("sub");
    ck_assert_int_eq(chdir(here), 0);
    rmdir(folder);
    ck_assert_int_eq(code, 0);
    char expected[4096];
    snprintf(expected, sizeof expected, "%s/sub/a.so", folder);
    ck_assert_str_eq(config->policies[0].path, expected);
}
END_TEST

/* ---- the manual ---- */

START_TEST(every_configuration_in_the_manual_is_one)
{
    char path[4096], *line = NULL;
    size_t cap = 0;
    static char block[16384];
    path_of(path, sizeof path, "docs/config.md");
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    size_t len = 0;
    bool inside = false;
    int blocks = 0;
    for (ssize_t n = getline(&line, &cap, f); n >= 0; n = getline(&line, &cap, f)) {
        if (!inside && strcmp(line, "```yaml\n") == 0) {
            inside = true;
            len = 0;
        } else if (inside && strcmp(line, "```\n") == 0) {
            inside = false;
            block[len] = '\0';
            if (strncmp(block, "version:", 8) != 0)
                continue;
            read_good(block);
            adp_config_destroy(config);
            config = NULL;
            blocks++;
        } else if (inside) {
            ck_assert_uint_lt(len + (size_t)n, sizeof block);
            memcpy(block + len, line, (size_t)n);
            len += (size_t)n;
        }
    }
    free(line);
    fclose(f);
    ck_assert_int_ge(blocks, 2);
}
END_TEST

static TCase *fields(void)
{
    TCase *t = tcase_create("fields");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, two_lines_are_a_configuration);
    tcase_add_test(t, the_samples_identity_and_log);
    tcase_add_test(t, the_samples_signals);
    tcase_add_test(t, the_samples_scrape);
    tcase_add_test(t, a_page_may_need_a_token_and_certificates);
    tcase_add_test(t, the_samples_policies);
    tcase_add_loop_test(t, a_use_with_a_slash_is_a_path, 0, sizeof uses / sizeof uses[0]);
    tcase_add_test(t, parameters_are_told_apart_and_know_their_places);
    tcase_add_test(t, a_policys_config_reaches_it_as_json);
    tcase_add_test(t, a_policy_is_enforced_as_written);
    tcase_add_test(t, seven_shadows_stand_in_their_order);
    tcase_add_test(t, provenance_words_read_back);
    tcase_add_test(t, a_new_signal_is_known_like_a_shipped_one);
    tcase_add_test(t, a_max_age_may_be_the_scrape_interval);
    tcase_add_test(t, the_log_can_be_left_out);
    tcase_add_test(t, the_log_is_set_key_by_key);
    tcase_add_loop_test(t, the_logs_template_is_filled, 0,
                        sizeof paths / sizeof paths[0]);
    tcase_add_test(t, a_path_that_does_not_fit_is_refused);
    tcase_add_loop_test(t, status_profiles_are_words, 0,
                        sizeof profiles / sizeof profiles[0]);
    tcase_add_test(t, text_is_taken_as_written);
    tcase_add_test(t, the_longest_name_has_128_bytes);
    tcase_add_test(t, serve_without_a_word_states_nothing);
    tcase_add_test(t, serve_knows_what_stays_on_this_machine);
    tcase_add_test(t, serve_as_an_operator_writes_it);
    tcase_add_test(t, a_draft_holds_what_could_be_read);
    tcase_add_test(t, what_the_host_finds_stands_among_the_rest);
    tcase_add_test(t, of_nothing_but_unknown_keys_as_many_are_told_as_are_kept);
    return t;
}

static TCase *files(void)
{
    TCase *t = tcase_create("files");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_plugins_path_starts_from_the_files_folder);
    tcase_add_test(t, without_a_folder_paths_start_from_the_current_directory);
    tcase_add_test(t, a_file_that_is_not_there_is_said_to_be_missing);
    tcase_add_test(t, a_folder_is_no_file);
    tcase_add_test(t, a_pipe_that_nobody_writes_to_is_refused_and_not_waited_for);
    tcase_add_test(t, a_device_is_no_file);
    tcase_add_test(t, a_file_is_at_most_a_mebibyte);
    tcase_add_test(t, a_relative_files_folder_is_made_absolute);
    tcase_add_test(t, every_configuration_in_the_manual_is_one);
    return t;
}

int main(void)
{
    Suite *s = suite_create("config");
    suite_add_tcase(s, fields());
    suite_add_tcase(s, files());
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
