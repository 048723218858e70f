/* SPDX-License-Identifier: MIT */
/* A stage for tests of the host: a folder of its own, configuration text with its log in
 * there, lines read back with jansson. Included by one file of a program. */
#ifndef ADP_TESTS_HOST_STAGE_H
#define ADP_TESTS_HOST_STAGE_H

#include "runtime/host/host.h"
#include "tests/runtime/host/flush.h"

#include <check.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static adp_errors errors;

static void setup(void)
{
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS, 1);
    strcpy(folder, "/tmp/adp-host-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    errors = (adp_errors) { 0 };
}

static void teardown(void)
{
    char command[128];
    adp_errors_free(&errors);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static inline const char *in_folder(const char *name)
{
    static char path[4][160];
    static unsigned n;
    snprintf(path[n % 4], sizeof path[0], "%s/%s", folder, name);
    return path[n++ % 4];
}

/* `body` behind version, experiment, run, and a log in our folder. */
static inline const char *yaml(const char *log, const char *body)
{
    static char text[8192];
    snprintf(text, sizeof text,
             "version: 1\nexperiment: e\nrun: r1\nlog: { path: \"%s/%s\" }\n%s", folder,
             log, body);
    return text;
}

static inline const char *all_errors(void)
{
    static char all[8192];
    all[0] = '\0';
    for (uint32_t i = 0; i < errors.n; i++) {
        char one[1024];
        adp_error_print(&errors.list[i], one, sizeof one);
        strncat(all, one, sizeof all - strlen(all) - 2);
        strcat(all, "\n");
    }
    return all;
}

static inline bool error_has(const char *text)
{
    return strstr(all_errors(), text) != NULL;
}

/* Opened, not started. */
static inline adp_runtime *opened(const char *text,
                                  const struct adp_host_options *options)
{
    adp_runtime *rt = NULL;
    int code = adp_host_open_text(&rt, text, "t.yaml", TEST_POLICIES, options, &errors);
    ck_assert_msg(code == 0, "%s", all_errors());
    return rt;
}

static inline adp_runtime *started(const char *text,
                                   const struct adp_host_options *options)
{
    adp_error err = { 0 };
    adp_runtime *rt = opened(text, options);
    int code = adp_runtime_start(rt, &err);
    ck_assert_msg(code == 0, "%s", err.text);
    return rt;
}

static inline int reload(adp_runtime *rt, const char *text)
{
    return adp_host_reload_text(rt, text, "t.yaml", TEST_POLICIES, &errors);
}

static inline void reloads(adp_runtime *rt, const char *text)
{
    int code = reload(rt, text);
    ck_assert_msg(code == 0, "%s", all_errors());
}

static inline adp_lane *lane_of(adp_runtime *rt)
{
    adp_lane *lane = NULL;
    ck_assert_int_eq(adp_lane_open(&lane, rt, NULL), 0);
    return lane;
}

static inline adp_decision decide(adp_lane *lane, const char *id)
{
    adp_facts facts = { .size = sizeof facts, .request_id = id };
    adp_decision d;
    ck_assert_int_eq(adp_lane_decide(lane, &facts, &d), 0);
    return d;
}

/* A count that a policy of tests/policies tells a request of this class. */
static inline uint32_t ask(adp_lane *lane, const char *class)
{
    adp_facts facts = { .size = sizeof facts, .slo_class = class };
    adp_decision d;
    ck_assert_int_eq(adp_lane_decide(lane, &facts, &d), 0);
    return d.retry_after_ms;
}

static inline int settle(adp_lane *lane, uint64_t id)
{
    adp_result done = { .size = sizeof done, .end = ADP_DONE, .ok = -1 };
    return adp_lane_outcome(lane, id, NULL, &done);
}

static inline void publish(adp_runtime *rt, const char *page)
{
    adp_error err = { 0 };
    int code = adp_runtime_publish_text(rt, page, strlen(page), &err);
    ck_assert_msg(code == 0, "%s", err.text);
}

static inline adp_stats stats(adp_runtime *rt)
{
    adp_stats s = { .size = sizeof s };
    ck_assert_int_eq(adp_runtime_stats(rt, &s), 0);
    return s;
}

/* The lines of a file that have `key`; NULL: all. */
static inline json_t *lines(const char *file, const char *key)
{
    static char line[1 << 16];
    json_t *all = json_array();
    FILE *f = fopen(in_folder(file), "r");
    ck_assert_msg(f != NULL, "%s", in_folder(file));
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_msg(j != NULL, "%s", line);
        if (!key || json_object_get(j, key))
            json_array_append(all, j);
        json_decref(j);
    }
    fclose(f);
    return all;
}

static inline const char *word(json_t *line, const char *key)
{
    return json_string_value(json_object_get(line, key));
}

static inline double number(json_t *line, const char *object, const char *key)
{
    return json_number_value(json_object_get(json_object_get(line, object), key));
}

static inline int run_suite(Suite *s, enum fork_status forks)
{
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, forks);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
