/* SPDX-License-Identifier: MIT */
/* The folder bad/: each NAME.yaml is refused with exactly the messages of NAME.error. */
#include "core/error.h"
#include "runtime/config/config.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 512, MAX_TEXT = 64 * 1024 };

static char *inputs[MAX_INPUTS]; /* file names, sorted */
static int n_inputs;

static void path_of(char *to, size_t cap, const char *name)
{
    const char *source = getenv("srcdir");
    snprintf(to, cap, "%s/tests/runtime/config/bad/%s", source ? source : ".", name);
}

/* The whole file, NUL-terminated. */
static size_t load(const char *name, char *to)
{
    char path[4096];
    path_of(path, sizeof path, name);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s: cannot be opened", path);
    size_t len = fread(to, 1, MAX_TEXT - 1, f);
    ck_assert_msg(len < MAX_TEXT - 1, "%s: too long for this test", path);
    fclose(f);
    to[len] = '\0';
    return len;
}

static void print_errors(const struct adp_errors *errors, char *to, size_t cap)
{
    size_t at = 0;
    to[0] = '\0';
    for (uint32_t i = 0; i < errors->n; i++) {
        at += adp_error_format(&errors->list[i], to + at, cap - at - 1);
        to[at++] = '\n';
        to[at] = '\0';
    }
}

START_TEST(every_mistake_is_told_in_its_place)
{
    const char *name = inputs[_i];
    static char text[MAX_TEXT], expected[MAX_TEXT], found[MAX_TEXT];
    char error_name[256];
    snprintf(error_name, sizeof error_name, "%.*s.error", (int)strlen(name) - 5, name);
    size_t len = load(name, text);
    load(error_name, expected);

    struct adp_errors errors = { 0 };
    struct adp_config untouched, *config = &untouched;
    int code = adp_config_read_text(&config, text, len, name, "/etc/admitperf", &errors);
    print_errors(&errors, found, sizeof found);
    if (strcmp(found, expected) != 0) { /* too long for a message of Check's */
        fprintf(stderr, "%s: found\n%s", name, found);
        ck_abort_msg("%s: not what %s says", name, error_name);
    }
    ck_assert_int_lt(code, 0);
    ck_assert_int_eq(code, errors.list[0].code);
    ck_assert_ptr_eq(config, &untouched);
    adp_errors_free(&errors);
}
END_TEST

static int is_input(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 5 && strcmp(entry->d_name + len - 5, ".yaml") == 0;
}

static void find_inputs(void)
{
    char folder[4096];
    struct dirent **found = NULL;
    path_of(folder, sizeof folder, "");
    int n = scandir(folder, &found, is_input, alphasort);
    for (int i = 0; i < n; i++) {
        if (n_inputs < MAX_INPUTS)
            inputs[n_inputs++] = strdup(found[i]->d_name);
        free(found[i]);
    }
    free(found);
}

int main(void)
{
    find_inputs();
    Suite *s = suite_create("bad");
    TCase *t = tcase_create("bad");
    tcase_add_loop_test(t, every_mistake_is_told_in_its_place, 0, n_inputs);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    for (int i = 0; i < n_inputs; i++)
        free(inputs[i]);
    return failed || n_inputs < 50 ? EXIT_FAILURE : EXIT_SUCCESS;
}
