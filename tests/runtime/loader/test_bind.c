/* SPDX-License-Identifier: MIT */
/* A policy's signals against the set that the configuration built. */
#include "runtime/loader/loader.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct adp_signals *set;

static void set_up(void)
{
    ck_assert_int_eq(adp_signals_create(&set, NULL), 0);
}

static void tear_down(void)
{
    adp_signals_destroy(set);
}

static struct adp_loaded *load(const char *path)
{
    struct adp_loaded *loaded = NULL;
    struct adp_error err = { 0 };
    int r = adp_loader_load(&loaded, path, NULL, &err);
    ck_assert_msg(r == 0, "%s: %s", err.file, err.text);
    return loaded;
}

/* Binds what must not bind; no slot is touched. */
static void refused_as(const char *path, const char *text)
{
    struct adp_loaded *loaded = load(path);
    struct adp_error err = { 0 };
    uint32_t slot_of[ADP_MAX_SIGNALS];
    memset(slot_of, 0xee, sizeof slot_of);
    ck_assert_int_eq(adp_loader_bind(loaded, set, slot_of, &err), ADP_EABI);
    ck_assert_str_eq(err.file, path);
    ck_assert_str_eq(err.text, text);
    ck_assert_uint_eq(slot_of[0], 0xeeeeeeee);
    adp_loaded_destroy(loaded);
}

START_TEST(the_policys_order_is_the_slot)
{
    struct adp_loaded *loaded = load(PLUGINS "/dual_gate.so");
    uint32_t slot_of[ADP_MAX_SIGNALS];
    ck_assert_int_eq(adp_loader_bind(loaded, set, slot_of, NULL), 0);
    ck_assert_int_eq((int)slot_of[0], adp_signals_find(set, "kv_pressure"));
    ck_assert_int_eq((int)slot_of[1], adp_signals_find(set, "prefix_hit_rate"));
    adp_loaded_destroy(loaded);
}
END_TEST

START_TEST(a_policy_without_signals_binds_to_anything)
{
    struct adp_loaded *loaded = load(PLUGINS "/no_admission.so");
    uint32_t slot_of[ADP_MAX_SIGNALS];
    ck_assert_int_eq(adp_loader_bind(loaded, set, slot_of, NULL), 0);
    adp_loaded_destroy(loaded);
}
END_TEST

START_TEST(an_unknown_signal_is_named_with_the_nearest)
{
    refused_as(BAD "/unknown_signal.so",
               "reads signal \"kv_presure\", which is neither shipped nor declared; "
               "nearest is \"kv_pressure\"");
}
END_TEST

START_TEST(a_unit_that_differs_is_named_with_both)
{
    refused_as(
        BAD "/unit_mismatch.so",
        "reads signal \"kv_pressure\" in \"percent\", it is declared in \"ratio\"");
}
END_TEST

START_TEST(a_signal_of_the_operators_is_known_once_declared)
{
    struct adp_loaded *loaded = load(POLICIES "/declared_only.so");
    uint32_t slot_of[ADP_MAX_SIGNALS], index;
    ck_assert_int_eq(adp_loader_bind(loaded, set, slot_of, NULL), ADP_EABI);
    ck_assert_int_eq(adp_signals_add(set, "gpu_temp", "celsius", 0.0, 120.0,
                                     UINT64_C(5000000000), &index, NULL),
                     0);
    ck_assert_int_eq(adp_loader_bind(loaded, set, slot_of, NULL), 0);
    ck_assert_uint_eq(slot_of[0], index);
    adp_loaded_destroy(loaded);
}
END_TEST

START_TEST(a_signal_declared_in_another_unit_is_not_it)
{
    uint32_t index;
    ck_assert_int_eq(adp_signals_add(set, "gpu_temp", "kelvin", 0.0, 400.0,
                                     UINT64_C(5000000000), &index, NULL),
                     0);
    refused_as(POLICIES "/declared_only.so",
               "reads signal \"gpu_temp\" in \"celsius\", it is declared in \"kelvin\"");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bind");
    TCase *t = tcase_create("bind");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, the_policys_order_is_the_slot);
    tcase_add_test(t, a_policy_without_signals_binds_to_anything);
    tcase_add_test(t, an_unknown_signal_is_named_with_the_nearest);
    tcase_add_test(t, a_unit_that_differs_is_named_with_both);
    tcase_add_test(t, a_signal_of_the_operators_is_known_once_declared);
    tcase_add_test(t, a_signal_declared_in_another_unit_is_not_it);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
