/* SPDX-License-Identifier: MIT */
#include "runtime/lab/traffic.h"

#include "tests/core/failing.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned differences(const struct adp_traffic *a, const struct adp_traffic *b)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < a->n; i++)
        n += strcmp(a->arrivals[i].id, b->arrivals[i].id) != 0 ||
             a->arrivals[i].tick != b->arrivals[i].tick ||
             a->arrivals[i].service_ticks != b->arrivals[i].service_ticks;
    return n;
}

START_TEST(drawn_traffic_keeps_its_bounds_and_order)
{
    struct adp_traffic t;
    ck_assert_int_eq(adp_traffic_draw(&t, 1, 1, NULL), 0);
    ck_assert_uint_eq(t.n, 400);
    ck_assert_str_eq(t.arrivals[0].id, "r0");
    ck_assert_str_eq(t.arrivals[399].id, "r399");
    uint32_t before = 1;
    for (uint32_t i = 0; i < t.n; i++) {
        ck_assert_uint_ge(t.arrivals[i].tick, before);
        ck_assert(t.arrivals[i].service_ticks >= 7 && t.arrivals[i].service_ticks <= 16);
        before = t.arrivals[i].tick;
    }
    /* 400 arrivals at 10 per tick: 40 ticks, standard deviation sqrt(400) / 10 = 2. */
    ck_assert(before > 30 && before < 50);
    adp_traffic_finish(&t);
}
END_TEST

START_TEST(the_same_seed_and_repeat_draw_the_same_traffic)
{
    struct adp_traffic a, b;
    ck_assert_int_eq(adp_traffic_draw(&a, 42, 3, NULL), 0);
    ck_assert_int_eq(adp_traffic_draw(&b, 42, 3, NULL), 0);
    ck_assert_uint_eq(differences(&a, &b), 0);
    adp_traffic_finish(&a);
    adp_traffic_finish(&b);
}
END_TEST

static const struct {
    uint64_t seed;
    uint32_t repeat;
} others[] = { { 1, 2 }, { 1, 3 }, { 1, 4 }, { 1, 5 }, { 2, 1 } };

START_TEST(repeats_and_seeds_differ)
{
    struct adp_traffic a, b;
    ck_assert_int_eq(adp_traffic_draw(&a, 1, 1, NULL), 0);
    ck_assert_int_eq(adp_traffic_draw(&b, others[_i].seed, others[_i].repeat, NULL), 0);
    /* One in ten services agrees by chance, and fewer arrivals do. */
    ck_assert_uint_gt(differences(&a, &b), 300);
    adp_traffic_finish(&a);
    adp_traffic_finish(&b);
}
END_TEST

#define HEAD "request,arrival_tick,service_ticks\n"

START_TEST(a_file_reads_as_written_and_an_empty_service_is_none_drawn)
{
    static const char text[] = HEAD "r0,1,13\nr1,1,\nx-7/é,20,1000000\n";
    struct adp_traffic t;
    struct adp_error e = { 0 };
    /* Bytes above 0x7e are not printable ASCII; the same without them reads. */
    ck_assert_int_eq(adp_traffic_read_text(&t, text, sizeof text - 1, "t.csv", &e),
                     ADP_ESYNTAX);
    static const char plain[] = HEAD "r0,1,13\nr1,1,\nx-7/e,20,1000000\n";
    ck_assert_int_eq(adp_traffic_read_text(&t, plain, sizeof plain - 1, "t.csv", NULL),
                     0);
    ck_assert_uint_eq(t.n, 3);
    ck_assert_str_eq(t.file, "t.csv");
    ck_assert_str_eq(t.arrivals[0].id, "r0");
    ck_assert_uint_eq(t.arrivals[0].tick, 1);
    ck_assert_uint_eq(t.arrivals[0].service_ticks, 13);
    ck_assert_uint_eq(t.arrivals[1].service_ticks, 0);
    ck_assert_uint_eq(t.arrivals[1].line, 3);
    ck_assert_uint_eq(t.arrivals[1].column, 6);
    ck_assert_str_eq(t.arrivals[2].id, "x-7/e");
    ck_assert_uint_eq(t.arrivals[2].tick, 20);
    ck_assert_uint_eq(t.arrivals[2].service_ticks, 1000000);
    adp_traffic_finish(&t);
}
END_TEST

#define ID64 "0123456789012345678901234567890123456789012345678901234567890123"

static const struct {
    const char *text, *error;
} bad[] = {
    { "", "t.csv:1:1: file ends inside a line, expected a line feed" },
    { "request,arrival_tick\n",
      "t.csv:1:1: this is no traffic, expected \"request,arrival_tick,service_ticks\" in "
      "the first line" },
    { HEAD, "t.csv:2:1: no request" },
    { HEAD "r0,1,13", "t.csv:2:8: file ends inside a line, expected a line feed" },
    { HEAD "r0,1,13\r\n", "t.csv:2:8: carriage return, expected a line feed alone" },
    { HEAD "r0,1,13\n\n",
      "t.csv:3:1: no request id, found \"\", expected 1 to 64 printable characters "
      "without blank, quote and comma" },
    { HEAD ID64 "x,1,13\n",
      "t.csv:2:1: request id is too long, found \"01234567890123456789012345678901\", "
      "expected 1 to 64 printable characters without blank, quote and comma" },
    { HEAD "\"r0\",1,13\n",
      "t.csv:2:1: no request id, found \"\"r0\"\", expected 1 to 64 printable characters "
      "without blank, quote and comma" },
    { HEAD "r 0,1,13\n",
      "t.csv:2:2: field does not end here, found \" 0\", expected a comma" },
    { HEAD "r0\n", "t.csv:2:3: field does not end here, found \"\", expected a comma" },
    { HEAD "r0,1\n", "t.csv:2:5: field does not end here, found \"\", expected a comma" },
    { HEAD "r0,0,13\n", "t.csv:2:4: bad arrival tick, found \"0\", expected a whole "
                        "number from 1 to 1000000000" },
    { HEAD "r0,,13\n", "t.csv:2:4: bad arrival tick, found \"\", expected a whole number "
                       "from 1 to 1000000000" },
    { HEAD "r0,+1,13\n", "t.csv:2:4: bad arrival tick, found \"+1\", expected a whole "
                         "number from 1 to 1000000000" },
    { HEAD "r0,1.0,13\n", "t.csv:2:4: bad arrival tick, found \"1.0\", expected a whole "
                          "number from 1 to 1000000000" },
    { HEAD "r0,1000000001,13\n",
      "t.csv:2:4: bad arrival tick, found \"1000000001\", expected a whole number from 1 "
      "to 1000000000" },
    { HEAD "r0,18446744073709551617,13\n",
      "t.csv:2:4: bad arrival tick, found \"18446744073709551617\", expected a whole "
      "number from 1 to 1000000000" },
    { HEAD "r0,1,0\n",
      "t.csv:2:6: bad service time, found \"0\", expected a whole number "
      "from 1 to 1000000" },
    { HEAD "r0,1,-\n",
      "t.csv:2:6: bad service time, found \"-\", expected a whole number "
      "from 1 to 1000000" },
    { HEAD "r0,1,13,\n",
      "t.csv:2:8: a field too many, found \"\", expected the end of the line" },
    { HEAD "r0,5,13\nr1,4,13\n",
      "t.csv:3:4: r1 arrives in tick 4, before the request above it (tick 5)" },
    { HEAD "a,1,9\nb,1,9\nb,2,9\na,3,9\nb,4,9\n",
      "t.csv:4:1: request b is there twice, first in line 3" },
};

START_TEST(a_bad_file_is_refused_with_its_place)
{
    struct adp_traffic t = { 0 };
    struct adp_error e = { 0 };
    char text[512];
    ck_assert_int_eq(
        adp_traffic_read_text(&t, bad[_i].text, strlen(bad[_i].text), "t.csv", &e),
        ADP_ESYNTAX);
    adp_error_format(&e, text, sizeof text);
    ck_assert_str_eq(text, bad[_i].error);
    ck_assert_ptr_null(t.arrivals);
}
END_TEST

START_TEST(one_request_more_than_the_bound_is_refused)
{
    size_t cap = sizeof HEAD + (ADP_TRAFFIC_MAX_REQUESTS + 1) * 16, len = 0;
    char *text = malloc(cap);
    struct adp_traffic t = { 0 };
    struct adp_error e = { 0 };
    ck_assert_ptr_nonnull(text);
    len += (size_t)snprintf(text, cap, "%s", HEAD);
    for (uint32_t i = 0; i < ADP_TRAFFIC_MAX_REQUESTS; i++)
        len += (size_t)snprintf(text + len, cap - len, "r%u,1,1\n", i);
    ck_assert_int_eq(adp_traffic_read_text(&t, text, len, "t.csv", &e), 0);
    ck_assert_uint_eq(t.n, ADP_TRAFFIC_MAX_REQUESTS);
    adp_traffic_finish(&t);
    len += (size_t)snprintf(text + len, cap - len, "last,1,1\n");
    ck_assert_int_eq(adp_traffic_read_text(&t, text, len, "t.csv", &e), ADP_EFULL);
    ck_assert_uint_eq(e.line, ADP_TRAFFIC_MAX_REQUESTS + 2);
    free(text);
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    struct adp_traffic t = { 0 };
    struct adp_error e = { 0 };
    ck_assert_int_eq(adp_traffic_read_file(&t, "/nonexistent/r1.csv", &e), ADP_ENOENT);
    ck_assert_str_eq(e.file, "/nonexistent/r1.csv");
    ck_assert_str_eq(e.text, "cannot open: No such file or directory");
}
END_TEST

/* Draws (first) or reads, with the nth allocation failing. */
static int make(struct adp_traffic *ret, bool draw, uint64_t n, struct adp_error *err)
{
    static const char text[] = HEAD "r0,1,13\nr1,1,\n";
    fail_allocation(n);
    int code = draw ? adp_traffic_draw(ret, 1, 1, err)
                    : adp_traffic_read_text(ret, text, sizeof text - 1, "t.csv", err);
    fail_allocation(0);
    return code;
}

START_TEST(every_allocation_that_fails_is_out_of_memory_and_leaves_nothing)
{
    uint64_t failed = 0;
    for (;;) {
        struct adp_traffic t = { 0 };
        struct adp_error e = { 0 };
        int code = make(&t, _i == 0, failed + 1, &e);
        if (code == 0) {
            adp_traffic_finish(&t);
            break;
        }
        ck_assert_int_eq(code, ADP_ENOMEM);
        ck_assert_str_eq(e.text, "out of memory");
        ck_assert_ptr_null(t.arrivals);
        failed++;
    }
    /* Drawing takes one, reading one more to find ids that are there twice. */
    ck_assert_uint_eq(failed, _i == 0 ? 1 : 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("traffic");
    TCase *t = tcase_create("traffic");
    tcase_add_test(t, drawn_traffic_keeps_its_bounds_and_order);
    tcase_add_test(t, the_same_seed_and_repeat_draw_the_same_traffic);
    tcase_add_loop_test(t, repeats_and_seeds_differ, 0, sizeof others / sizeof others[0]);
    tcase_add_test(t, a_file_reads_as_written_and_an_empty_service_is_none_drawn);
    tcase_add_loop_test(t, a_bad_file_is_refused_with_its_place, 0,
                        sizeof bad / sizeof bad[0]);
    tcase_add_test(t, one_request_more_than_the_bound_is_refused);
    tcase_add_test(t, a_missing_file_is_named);
    tcase_add_loop_test(
        t, every_allocation_that_fails_is_out_of_memory_and_leaves_nothing, 0, 2);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
