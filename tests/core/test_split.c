/* SPDX-License-Identifier: MIT */
/* Run with one argument it prints the split of that id, for the test of two processes. */
#include "core/split.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SALT "kv-wall-8k"

static struct adp_split split(const char *salt, const char *id)
{
    return adp_split_of(salt, strlen(salt), id, strlen(id));
}

/* `printf 'kv-wall-8k\0req-1' | xxhsum -H2` prints ed859856c86379b7 e980024f932d34b1;
 * `printf '\0a' | xxhsum -H2` prints 83b1ddefe9ce23de 892b8dfd07cb7c54: high half, low
 * half. */
static const struct {
    const char *salt, *id;
    uint64_t high, low;
} known[] = {
    { SALT, "req-1", 0xed859856c86379b7, 0xe980024f932d34b1 },
    { "", "a", 0x83b1ddefe9ce23de, 0x892b8dfd07cb7c54 },
};

START_TEST(high_half_is_the_arm_and_low_half_the_draw)
{
    struct adp_split s = split(known[_i].salt, known[_i].id);
    ck_assert(s.arm == (double)(known[_i].high >> 11) / 9007199254740992.0);
    ck_assert(s.draw == (double)(known[_i].low >> 11) / 9007199254740992.0);
}
END_TEST

START_TEST(units_reach_from_zero_to_below_one)
{
    ck_assert(adp_split_unit(0) == 0.0);
    ck_assert(adp_split_unit(UINT64_MAX) < 1.0);
    ck_assert(adp_split_unit(1ull << 63) == 0.5);
}
END_TEST

START_TEST(the_hash_is_of_the_bytes_joined_whatever_their_length)
{
    char joined[2000], id[1000];
    size_t salt_len = strlen(SALT);
    memset(id, 'x', sizeof id);
    memcpy(joined, SALT, salt_len + 1);
    for (size_t n = 0; n < sizeof id; n++) {
        memcpy(joined + salt_len + 1, id, n);
        XXH128_hash_t h = XXH3_128bits(joined, salt_len + 1 + n);
        struct adp_split s = adp_split_of(SALT, salt_len, id, n);
        ck_assert(s.arm == adp_split_unit(h.high64) && s.draw == adp_split_unit(h.low64));
    }
}
END_TEST

START_TEST(salt_and_id_do_not_run_into_each_other)
{
    ck_assert(split("ab", "c").arm != split("a", "bc").arm);
}
END_TEST

START_TEST(another_process_splits_alike)
{
    char command[4200], line[256];
    const char *self = getenv("ADP_TEST_SELF");
    ck_assert_ptr_nonnull(self);
    snprintf(command, sizeof command, "'%s' req-77", self);
    FILE *p = popen(command, "r");
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, p));
    ck_assert_int_eq(pclose(p), 0);
    char here[256];
    struct adp_split s = split(SALT, "req-77");
    snprintf(here, sizeof here, "%a %a\n", s.arm, s.draw);
    ck_assert_str_eq(line, here);
}
END_TEST

/* Pearson's chi-square over a 10 × 10 table of (arm, draw) for 100,000 ids: 99 degrees of
 * freedom against the uniform independent expectation; the 99.9 % point is 148.2. */
START_TEST(arm_and_draw_are_uniform_and_independent)
{
    enum { IDS = 100000, CELLS = 10 };
    unsigned cell[CELLS][CELLS] = { 0 };
    for (int i = 0; i < IDS; i++) {
        char id[32];
        snprintf(id, sizeof id, "r%d", i);
        struct adp_split s = split(SALT, id);
        cell[(int)(s.arm * CELLS)][(int)(s.draw * CELLS)]++;
    }
    double expected = (double)IDS / (CELLS * CELLS), chi2 = 0;
    for (int a = 0; a < CELLS; a++)
        for (int d = 0; d < CELLS; d++)
            chi2 += pow(cell[a][d] - expected, 2) / expected;
    ck_assert_msg(chi2 < 148.2, "chi-square %.1f", chi2);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 2) {
        struct adp_split s = split(SALT, argv[1]);
        printf("%a %a\n", s.arm, s.draw);
        return EXIT_SUCCESS;
    }
    setenv("ADP_TEST_SELF", argv[0], 1);
    Suite *s = suite_create("split");
    TCase *t = tcase_create("split");
    tcase_add_loop_test(t, high_half_is_the_arm_and_low_half_the_draw, 0,
                        sizeof known / sizeof known[0]);
    tcase_add_test(t, units_reach_from_zero_to_below_one);
    tcase_add_test(t, the_hash_is_of_the_bytes_joined_whatever_their_length);
    tcase_add_test(t, salt_and_id_do_not_run_into_each_other);
    tcase_add_test(t, another_process_splits_alike);
    tcase_add_test(t, arm_and_draw_are_uniform_and_independent);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
