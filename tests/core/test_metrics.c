/* SPDX-License-Identifier: MIT */
#include "core/metrics.h"

#include "core/promtext.h"
#include "tests/core/failing.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

static struct adp_str str(const char *text)
{
    return (struct adp_str) { text, strlen(text) };
}

static bool is(struct adp_str a, const char *text)
{
    return a.n == strlen(text) && !memcmp(a.p, text, a.n);
}

static struct adp_metrics *create(void)
{
    struct adp_metrics *m = NULL;
    ck_assert_int_eq(adp_metrics_create(&m), 0);
    return m;
}

/* Adds `name` with labels written as "a=1,b=2"; no label value here holds , or =. The
 * caller's bytes are wiped afterwards: whatever is read later is a copy. */
static int try_add(struct adp_metrics *m, const char *name, const char *labels,
                   double value, struct adp_error *err)
{
    char text[4096], own_name[256];
    struct adp_label given[128];
    uint32_t n = 0;
    snprintf(text, sizeof text, "%s", labels);
    snprintf(own_name, sizeof own_name, "%s", name);
    for (char *p = text; *p; n++) {
        size_t name_len = strcspn(p, "="), value_len = strcspn(p + name_len + 1, ",");
        given[n] =
            (struct adp_label) { { p, name_len }, { p + name_len + 1, value_len } };
        p += name_len + 1 + value_len;
        p += *p == ',';
    }
    int code = adp_metrics_add(m, str(own_name), given, n, value, false, 0.0, err);
    memset(text, '?', sizeof text);
    memset(given, '?', sizeof given);
    memset(own_name, '?', sizeof own_name);
    return code;
}

static void add(struct adp_metrics *m, const char *name, const char *labels, double value)
{
    struct adp_error err = { 0 };
    int code = try_add(m, name, labels, value, &err);
    if (code)
        ck_abort_msg("%s{%s}: %s", name, labels, err.text);
}

static void labels_are(const struct adp_series *s, const char *labels)
{
    char text[4096];
    int n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < s->n_labels; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%.*s=%.*s", i ? "," : "",
                      (int)s->labels[i].name.n, s->labels[i].name.p,
                      (int)s->labels[i].value.n, s->labels[i].value.p);
    ck_assert_str_eq(text, labels);
}

START_TEST(a_series_comes_back_as_given_with_its_labels_sorted)
{
    struct adp_metrics *m = create();
    add(m, "vllm:kv_cache_usage_perc", "model_name=m,engine=0,pid=,eng=7", -0.3875);
    add(m, "up", "", NAN);
    ck_assert_int_eq(adp_metrics_add(m, str("t"), NULL, 0, HUGE_VAL, true, 12.5, NULL),
                     0);
    ck_assert_uint_eq(adp_metrics_count(m), 3);
    const struct adp_series *s = adp_metrics_at(m, 0);
    ck_assert(is(s->name, "vllm:kv_cache_usage_perc"));
    labels_are(s, "eng=7,engine=0,model_name=m,pid=");
    ck_assert(s->value == -0.3875);
    ck_assert(!s->has_time);
    s = adp_metrics_at(m, 1);
    ck_assert(is(s->name, "up"));
    ck_assert_uint_eq(s->n_labels, 0);
    ck_assert(isnan(s->value));
    s = adp_metrics_at(m, 2);
    ck_assert(isinf(s->value));
    ck_assert(s->has_time);
    ck_assert(s->time_s == 12.5);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(the_same_labels_in_any_order_are_one_series_and_the_last_value_stays)
{
    struct adp_metrics *m = create();
    add(m, "q", "engine=0,model=a", 1.0);
    add(m, "r", "", 2.0);
    add(m, "q", "model=a,engine=0", 3.0);
    add(m, "r", "", 4.0);
    add(m, "q", "engine=0,model=b", 5.0);
    ck_assert_uint_eq(adp_metrics_count(m), 3);
    ck_assert_uint_eq(adp_metrics_duplicates(m), 2);
    ck_assert(adp_metrics_at(m, 0)->value == 3.0);
    ck_assert(adp_metrics_at(m, 1)->value == 4.0);
    ck_assert(adp_metrics_at(m, 2)->value == 5.0);
    ck_assert_int_eq(adp_metrics_add(m, str("r"), NULL, 0, 6.0, true, 9.0, NULL), 0);
    ck_assert(adp_metrics_at(m, 1)->has_time);
    add(m, "r", "", 7.0);
    ck_assert(!adp_metrics_at(m, 1)->has_time);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_label_without_a_value_makes_no_other_series)
{
    struct adp_metrics *m = create();
    add(m, "x", "a=", 1.0);
    add(m, "x", "", 2.0);
    add(m, "x", "b=1", 3.0);
    add(m, "x", "c=,b=1,a=", 4.0);
    add(m, "x", "b=1,z=", 5.0);
    ck_assert_uint_eq(adp_metrics_count(m), 2);
    ck_assert_uint_eq(adp_metrics_duplicates(m), 3);
    ck_assert(adp_metrics_at(m, 0)->value == 2.0);
    ck_assert(adp_metrics_at(m, 1)->value == 5.0);
    labels_are(adp_metrics_at(m, 0), "a="); /* as it was given first */
    struct adp_metrics *other = create();
    add(other, "x", "", 6.0);
    add(other, "x", "b=1,c=", 7.0);
    ck_assert_ptr_eq(adp_metrics_same(m, adp_metrics_at(other, 0)), adp_metrics_at(m, 0));
    ck_assert_ptr_eq(adp_metrics_same(m, adp_metrics_at(other, 1)), adp_metrics_at(m, 1));
    ck_assert_ptr_eq(adp_metrics_same(other, adp_metrics_at(m, 0)),
                     adp_metrics_at(other, 0));
    adp_metrics_destroy(other);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(bytes_that_move_between_name_label_and_value_make_another_series)
{
    struct adp_metrics *m = create();
    static const char *const labels[] = {
        "", "ab=c", "a=bc", "a=b", "a=b,c=d", "ab=b,c=d"
    };
    for (int i = 0; i < COUNT(labels); i++)
        add(m, "x", labels[i], i);
    add(m, "xa", "b=c", 100.0);
    ck_assert_uint_eq(adp_metrics_duplicates(m), 0);
    ck_assert_uint_eq(adp_metrics_count(m), COUNT(labels) + 1);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(series_of_a_name_are_chained_in_the_order_of_the_page)
{
    struct adp_metrics *m = create();
    add(m, "a", "e=2", 0.0);
    add(m, "b", "", 1.0);
    add(m, "a", "e=1", 2.0);
    add(m, "a", "e=2", 3.0); /* a duplicate keeps its place */
    add(m, "c", "", 4.0);
    add(m, "a", "e=0", 5.0);
    uint32_t i = adp_metrics_find(m, "a", 1);
    labels_are(adp_metrics_at(m, i), "e=2");
    i = adp_metrics_at(m, i)->next;
    labels_are(adp_metrics_at(m, i), "e=1");
    i = adp_metrics_at(m, i)->next;
    labels_are(adp_metrics_at(m, i), "e=0");
    ck_assert_uint_eq(adp_metrics_at(m, i)->next, ADP_NO_SERIES);
    i = adp_metrics_find(m, "b", 1);
    ck_assert_uint_eq(adp_metrics_at(m, i)->next, ADP_NO_SERIES);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_name_is_found_whole_or_not_at_all)
{
    struct adp_metrics *m = create();
    ck_assert_uint_eq(adp_metrics_find(m, "waiting", 7), ADP_NO_SERIES);
    add(m, "waiting_by_reason", "", 1.0);
    ck_assert_uint_eq(adp_metrics_find(m, "waiting", 7), ADP_NO_SERIES);
    ck_assert_uint_eq(adp_metrics_find(m, "", 0), ADP_NO_SERIES);
    ck_assert_uint_eq(adp_metrics_find(m, "Waiting_by_reason", 17), ADP_NO_SERIES);
    ck_assert_uint_eq(adp_metrics_find(m, "waiting_by_reason", 17), 0);
    adp_metrics_clear(m);
    ck_assert_uint_eq(adp_metrics_find(m, "waiting_by_reason", 17), ADP_NO_SERIES);
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(the_same_series_is_found_in_another_moment)
{
    struct adp_metrics *before = create(), *now = create();
    add(before, "filler", "", 0.0);
    add(before, "hits", "engine=0,model=m", 10.0);
    add(before, "hits", "engine=1,model=m", 20.0);
    add(before, "total", "", 30.0);
    add(now, "hits", "model=m,engine=1", 21.0);
    add(now, "hits", "engine=2,model=m", 1.0);
    add(now, "total", "", 31.0);
    add(now, "new", "", 1.0);
    const struct adp_series *s = adp_metrics_same(before, adp_metrics_at(now, 0));
    ck_assert_ptr_nonnull(s);
    ck_assert(s->value == 20.0);
    ck_assert_ptr_null(adp_metrics_same(before, adp_metrics_at(now, 1)));
    s = adp_metrics_same(before, adp_metrics_at(now, 2));
    ck_assert_ptr_nonnull(s);
    ck_assert(s->value == 30.0);
    ck_assert_ptr_null(adp_metrics_same(before, adp_metrics_at(now, 3)));

    /* one that belongs to no object: another name with borrowed labels */
    struct adp_series wanted = *adp_metrics_at(now, 0);
    wanted.name = str("total");
    ck_assert_ptr_null(adp_metrics_same(before, &wanted));
    wanted.name = str("hits");
    ck_assert_ptr_nonnull(adp_metrics_same(before, &wanted));
    adp_metrics_destroy(before);
    adp_metrics_destroy(now);
}
END_TEST

START_TEST(long_labels_are_found_too)
{
    char labels[2000]; /* longer than any hash takes in one block */
    for (int n = 200; n <= 1800; n += 200) {
        struct adp_metrics *before = create(), *now = create();
        snprintf(labels, sizeof labels, "long=%0*d,other=x", n, 7);
        add(before, "m", labels, 1.0);
        add(now, "m", labels, 2.0);
        ck_assert_ptr_nonnull(adp_metrics_same(before, adp_metrics_at(now, 0)));
        adp_metrics_destroy(before);
        adp_metrics_destroy(now);
    }
}
END_TEST

static const struct {
    const char *name, *labels;
    int code;
    const char *text;
} refused[] = {
    { "", "a=b", ADP_EINVAL, "metric name is empty" },
    { "m", "a=1,b=2,a=3", ADP_EINVAL, "label given twice: \"a\"" },
    { "m", "a=1,a=1", ADP_EINVAL, "label given twice: \"a\"" },
    { "m", "=1", ADP_EINVAL, "label name is empty" },
    { "m", "a=1,=", ADP_EINVAL, "label name is empty" },
};

/* Labels with the text they are in, and as they then are. */
static const struct {
    const char *text, *sorted;
} texts[] = {
    { "a=\"1\"", "a=1" },
    { "a=\"1\",b=\"2\"", "a=1,b=2" },
    { "a=\"12\",ab=\"3\",b=\"4\"", "a=12,ab=3,b=4" },
    { "b=\"1\",a=\"2\"", "a=2,b=1" },
    { "ab=\"1\",a=\"2\"", "a=2,ab=1" },
    { "a=\"\"", "a=" },
    { "a=\"\",b=\"2\"", "a=,b=2" },
    { "a=\"1\",b=\"2\",", "a=1,b=2" },
    { " a = \"1\" , b=\"2\"", "a=1,b=2" },
};

/* Labels as they lie in `text`; no value there has a quote in it. */
static uint32_t labels_in(const char *text, struct adp_label *to)
{
    uint32_t n = 0;
    for (const char *p = text + strspn(text, " ,"); *p; p += strspn(p, " ,"), n++) {
        const char *quote = strchr(p, '"') + 1;
        to[n].name = (struct adp_str) { p, strcspn(p, " =") };
        to[n].value = (struct adp_str) { quote, strcspn(quote, "\"") };
        p = quote + to[n].value.n + 1;
    }
    return n;
}

START_TEST(labels_of_one_text_are_those_given_apart)
{
    struct adp_metrics *m = create();
    struct adp_label labels[4];
    char *text = strdup(texts[_i].text);
    ck_assert_ptr_nonnull(text);
    uint32_t n = labels_in(text, labels);
    ck_assert_int_eq(
        adp_metrics_add_read(m, str("m"), str(text), labels, n, 1.0, false, 0.0, NULL),
        0);
    memset(text, '?', strlen(text));
    free(text);
    labels_are(adp_metrics_at(m, 0), texts[_i].sorted);
    add(m, "m", texts[_i].sorted, 2.0);
    ck_assert_uint_eq(adp_metrics_count(m), 1);
    ck_assert_uint_eq(adp_metrics_duplicates(m), 1);
    ck_assert(adp_metrics_same(m, adp_metrics_at(m, 0)) == adp_metrics_at(m, 0));
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_label_given_twice_in_one_text_is_refused_too)
{
    struct adp_metrics *m = create();
    struct adp_label labels[4];
    const char *text = "a=\"1\",a=\"1\"";
    uint32_t n = labels_in(text, labels);
    ck_assert_int_eq(
        adp_metrics_add_read(m, str("m"), str(text), labels, n, 1.0, false, 0.0, NULL),
        ADP_EINVAL);
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(what_is_no_series_is_refused_and_leaves_nothing)
{
    struct adp_metrics *m = create();
    struct adp_error err = { 0 };
    ck_assert_int_eq(try_add(m, refused[_i].name, refused[_i].labels, 1.0, &err),
                     refused[_i].code);
    ck_assert_str_eq(err.text, refused[_i].text);
    ck_assert_int_eq(err.code, refused[_i].code);
    ck_assert_int_eq(try_add(m, refused[_i].name, refused[_i].labels, 1.0, NULL),
                     refused[_i].code);
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    ck_assert_uint_eq(adp_metrics_find(m, "m", 1), ADP_NO_SERIES);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_series_that_is_alone_with_its_name_still_tells_its_target)
{
    struct adp_metrics *m = create();
    struct adp_line line;
    adp_line_init(&line);
    add(m, "a", "e=0", 1.0);
    add(m, "b", "target=x", 2.0);
    adp_metrics_write(m, &line);
    ck_assert_int_eq((int)line.len, 27);
    ck_assert_int_eq(memcmp(line.text, "{\"a\":1,\"b{target=\\\"x\\\"}\":2}", 27), 0);
    adp_line_finish(&line);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_series_holds_as_many_labels_as_stated_and_no_more)
{
    struct adp_metrics *m = create();
    char labels[2000];
    int n = 0;
    for (uint32_t i = 0; i < ADP_METRICS_MAX_LABELS; i++)
        n += snprintf(labels + n, sizeof labels - (size_t)n, "%sl%02u=%u", i ? "," : "",
                      ADP_METRICS_MAX_LABELS - i, i);
    add(m, "m", labels, 1.0);
    ck_assert_uint_eq(adp_metrics_at(m, 0)->n_labels, ADP_METRICS_MAX_LABELS);
    ck_assert(is(adp_metrics_at(m, 0)->labels[0].name, "l01"));
    ck_assert(is(adp_metrics_at(m, 0)->labels[63].name, "l64"));
    snprintf(labels + n, sizeof labels - (size_t)n, ",z=");
    struct adp_error err = { 0 };
    ck_assert_int_eq(try_add(m, "m", labels, 1.0, &err), ADP_EFULL);
    ck_assert_str_eq(err.text, "more than 64 labels on one series");
    /* past that they are not looked at: who gives them may have had no room for more */
    struct adp_label none;
    ck_assert_int_eq(adp_metrics_add(m, str("m"), &none, ADP_METRICS_MOST_LABELS + 1, 1.0,
                                     false, 0.0, NULL),
                     ADP_EFULL);
    ck_assert_uint_eq(adp_metrics_count(m), 1);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(an_object_holds_as_many_series_as_stated_and_no_more)
{
    struct adp_metrics *m = create();
    char label[32];
    for (uint32_t i = 0; i < ADP_METRICS_MAX_SERIES; i++) {
        snprintf(label, sizeof label, "i=%u", i);
        add(m, i % 2 ? "odd" : "even", label, i);
    }
    ck_assert_uint_eq(adp_metrics_count(m), ADP_METRICS_MAX_SERIES);
    struct adp_error err = { 0 };
    ck_assert_int_eq(try_add(m, "odd", "i=0", 1.0, &err), ADP_EFULL);
    ck_assert_str_eq(err.text, "more than 65536 series");
    ck_assert_int_eq(try_add(m, "new", "", 1.0, NULL), ADP_EFULL);
    add(m, "odd", "i=77", -1.0); /* not one more */
    ck_assert_uint_eq(adp_metrics_count(m), ADP_METRICS_MAX_SERIES);
    ck_assert(adp_metrics_at(m, 77)->value == -1.0);
    uint32_t n = 0, expected = 1;
    for (uint32_t i = adp_metrics_find(m, "odd", 3); i != ADP_NO_SERIES;
         i = adp_metrics_at(m, i)->next, expected += 2, n++)
        if (i != expected)
            ck_abort_msg("%u follows where %u should", i, expected);
    ck_assert_uint_eq(n, ADP_METRICS_MAX_SERIES / 2);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(an_object_holds_as_much_text_as_stated_and_no_more)
{
    struct adp_metrics *m = create();
    char *text = malloc(ADP_METRICS_MAX_TEXT);
    ck_assert_ptr_nonnull(text);
    memset(text, 'v', ADP_METRICS_MAX_TEXT);
    struct adp_label label = { { "l", 1 }, { text, ADP_METRICS_MAX_TEXT - 1 } };
    struct adp_error err = { 0 };
    /* a name of 1, a label name of 1: one byte too many, then just enough */
    ck_assert_int_eq(adp_metrics_add(m, str("m"), &label, 1, 1.0, false, 0.0, &err),
                     ADP_EFULL);
    ck_assert_str_eq(err.text, "more than 16777216 bytes of names and labels");
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    label.value.n--;
    ck_assert_int_eq(adp_metrics_add(m, str("m"), &label, 1, 1.0, false, 0.0, NULL), 0);
    ck_assert_int_eq(adp_metrics_add(m, str("n"), NULL, 0, 1.0, false, 0.0, NULL),
                     ADP_EFULL);
    /* no more text: the name is there, and this series too */
    ck_assert_int_eq(adp_metrics_add(m, str("m"), NULL, 0, 2.0, false, 0.0, NULL), 0);
    ck_assert_int_eq(adp_metrics_add(m, str("m"), &label, 1, 3.0, false, 0.0, NULL), 0);
    ck_assert_uint_eq(adp_metrics_count(m), 2);
    ck_assert(adp_metrics_at(m, 0)->value == 3.0);
    struct adp_str too_long = { text, (size_t)ADP_METRICS_MAX_TEXT + 1 };
    ck_assert_int_eq(adp_metrics_add(m, too_long, NULL, 0, 1.0, false, 0.0, NULL),
                     ADP_EFULL);
    struct adp_label huge = { { "l", 1 }, { text, SIZE_MAX } };
    ck_assert_int_eq(adp_metrics_add(m, str("m"), &huge, 1, 1.0, false, 0.0, NULL),
                     ADP_EFULL);
    adp_metrics_clear(m);
    ck_assert_int_eq(adp_metrics_add(m, str("m"), &label, 1, 1.0, false, 0.0, NULL), 0);
    adp_metrics_destroy(m);
    free(text);
}
END_TEST

/* A page of some 3,000 series in 300 families; what is asserted is asserted later. */
static int fill(struct adp_metrics *m, uint32_t families)
{
    char name[64], labels[256];
    for (uint32_t f = 0; f < families; f++)
        for (uint32_t i = 0; i < 10; i++) {
            snprintf(name, sizeof name, "vllm:family_%u_seconds_bucket", f);
            snprintf(labels, sizeof labels,
                     "model_name=meta-llama/some-model,le=%u.0,e=%u", i, f % 3);
            int code = try_add(m, name, labels, f + i / 10.0, NULL);
            if (code)
                return code;
        }
    return 0;
}

static void is_filled(const struct adp_metrics *m, uint32_t families)
{
    ck_assert_uint_eq(adp_metrics_count(m), families * 10);
    ck_assert_uint_eq(adp_metrics_duplicates(m), 0);
    char name[64];
    for (uint32_t f = 0; f < families; f++) {
        int n = snprintf(name, sizeof name, "vllm:family_%u_seconds_bucket", f);
        uint32_t at = adp_metrics_find(m, name, (size_t)n), i = 0;
        for (; at != ADP_NO_SERIES; at = adp_metrics_at(m, at)->next, i++)
            if (at != f * 10 + i || adp_metrics_at(m, at)->value != f + i / 10.0)
                ck_abort_msg("%s: series %u is wrong", name, at);
        if (i != 10)
            ck_abort_msg("%s has %u series", name, i);
    }
}

START_TEST(a_page_of_a_known_shape_is_held_without_allocating)
{
    struct adp_metrics *m = create();
    ck_assert_int_eq(fill(m, 300), 0);
    is_filled(m, 300);
    adp_metrics_clear(m);
    for (int again = 0; again < 3; again++) {
        fail_allocation(1);
        int code = fill(m, 300);
        uint64_t needed = allocations;
        fail_allocation(0);
        ck_assert_int_eq(code, 0);
        ck_assert_uint_eq(needed, 0);
        is_filled(m, 300);
        fail_allocation(1);
        adp_metrics_clear(m);
        needed = allocations;
        fail_allocation(0);
        ck_assert_uint_eq(needed, 0);
    }
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_series_given_again_and_again_takes_no_more_memory)
{
    struct adp_metrics *m = create();
    add(m, "m", "model_name=meta-llama/some-model,engine=0", 0.0);
    fail_allocation(1);
    for (int i = 1; i <= 10000; i++)
        add(m, "m", "engine=0,model_name=meta-llama/some-model", i);
    uint64_t needed = allocations;
    fail_allocation(0);
    ck_assert_uint_eq(needed, 0);
    ck_assert_uint_eq(adp_metrics_duplicates(m), 10000);
    ck_assert(adp_metrics_at(m, 0)->value == 10000.0);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(what_is_borrowed_stays_while_series_are_added)
{
    struct adp_metrics *m = create();
    add(m, "first", "a=b", 1.5);
    const struct adp_series *s = adp_metrics_at(m, 0);
    const struct adp_label *labels = s->labels;
    ck_assert_int_eq(fill(m, 300), 0);
    ck_assert_ptr_eq(adp_metrics_at(m, 0), s);
    ck_assert_ptr_eq(s->labels, labels);
    ck_assert(is(s->name, "first"));
    labels_are(s, "a=b");
    ck_assert(s->value == 1.5);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(without_memory_there_is_no_object)
{
    uint64_t failed = 0;
    for (uint64_t n = 1;; n++, failed++) {
        struct adp_metrics *m = NULL;
        fail_allocation(n);
        int code = adp_metrics_create(&m);
        fail_allocation(0);
        if (!code) {
            adp_metrics_destroy(m);
            break;
        }
        ck_assert_int_eq(code, ADP_ENOMEM);
        ck_assert_ptr_null(m);
    }
    ck_assert_uint_ge(failed, 3);
    adp_metrics_destroy(NULL);
}
END_TEST

START_TEST(a_failed_add_leaves_what_was_there_and_can_be_tried_again)
{
    uint64_t failed = 0;
    for (uint64_t n = 1;; n++, failed++) {
        struct adp_metrics *m = create();
        fail_allocation(n);
        int code = fill(m, 300);
        fail_allocation(0);
        if (!code) {
            adp_metrics_destroy(m);
            break;
        }
        ck_assert_int_eq(code, ADP_ENOMEM);
        uint32_t count = adp_metrics_count(m);
        ck_assert_uint_lt(count, 3000);
        if (count)
            ck_assert_ptr_nonnull(adp_metrics_same(m, adp_metrics_at(m, count - 1)));
        /* The name of the failed series may be new: it must not be known. */
        uint32_t linked = 0;
        for (uint32_t i = 0; i < count; i++)
            linked += adp_metrics_at(m, i)->next != ADP_NO_SERIES;
        ck_assert_uint_eq(linked, count - (count + 9) / 10); /* families of ten */
        ck_assert_int_eq(fill(m, 300), 0);
        ck_assert_uint_eq(adp_metrics_duplicates(m), count);
        adp_metrics_clear(m);
        ck_assert_int_eq(fill(m, 300), 0);
        is_filled(m, 300);
        adp_metrics_destroy(m);
    }
    ck_assert_uint_ge(failed, 10);
}
END_TEST

START_TEST(clearing_without_memory_still_clears)
{
    struct adp_metrics *m = create();
    ck_assert_int_eq(fill(m, 300), 0);
    fail_allocation(1); /* for the one chunk in place of many */
    adp_metrics_clear(m);
    uint64_t needed = allocations;
    fail_allocation(0);
    ck_assert_uint_eq(needed, 1);
    ck_assert_uint_eq(adp_metrics_count(m), 0);
    ck_assert_int_eq(fill(m, 300), 0);
    is_filled(m, 300);
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(the_newest_time_is_that_of_any_series)
{
    struct adp_metrics *m = create();
    double newest = 7.0;
    add(m, "a", "", 1.0);
    ck_assert(!adp_metrics_newest(m, &newest));
    ck_assert(newest == 7.0);
    adp_metrics_add(m, str("b"), NULL, 0, 1.0, true, -3.0, NULL);
    ck_assert(adp_metrics_newest(m, &newest));
    ck_assert(newest == -3.0);
    adp_metrics_add(m, str("c"), NULL, 0, 1.0, true, 1700000000.25, NULL);
    adp_metrics_add(m, str("d"), NULL, 0, 1.0, true, 5.0, NULL);
    ck_assert(adp_metrics_newest(m, &newest));
    ck_assert(newest == 1700000000.25);
    adp_metrics_add(m, str("c"), NULL, 0, 1.0, true, 4.0, NULL);
    ck_assert(adp_metrics_newest(m, &newest));
    ck_assert(newest == 5.0);
    adp_metrics_destroy(m);
}
END_TEST

static void written_is(const struct adp_metrics *m, const char *text)
{
    struct adp_line line;
    adp_line_init(&line);
    adp_metrics_write(m, &line);
    ck_assert(!line.broken);
    ck_assert_msg(line.len == strlen(text) && !memcmp(line.text, text, line.len),
                  "%.*s is not %s", (int)line.len, line.text, text);
    adp_line_finish(&line);
}

START_TEST(a_series_is_written_under_its_bare_name_when_it_is_the_only_one)
{
    struct adp_metrics *m = create();
    written_is(m, "{}");
    add(m, "kv", "engine=0,model=x", 0.5);
    written_is(m, "{\"kv\":0.5}");
    add(m, "up", "", 1.0);
    add(m, "kv", "model=x,engine=1", NAN);
    add(m, "kv", "", -HUGE_VAL);
    written_is(m, "{\"kv{engine=\\\"0\\\",model=\\\"x\\\"}\":0.5,\"up\":1,"
                  "\"kv{engine=\\\"1\\\",model=\\\"x\\\"}\":null,\"kv\":null}");
    adp_metrics_destroy(m);
}
END_TEST

START_TEST(a_key_is_escaped_for_its_quotes_and_for_json)
{
    struct adp_metrics *m = create();
    add(m, "my \"name\"", "", 1.0);
    add(m, "kv", "a=q\"b\\n\nz", 2.0);
    add(m, "kv", "a=\xc3\xbc\x01,b=\\", 3.0);
    /* The label value q"b\n<newline>z is spelled q\"b\\n\nz between label quotes, and
     * each of those bytes that JSON escapes is escaped once more. */
    written_is(m, "{\"my \\\"name\\\"\":1,"
                  "\"kv{a=\\\"q\\\\\\\"b\\\\\\\\n\\\\nz\\\"}\":2,"
                  "\"kv{a=\\\"\\u00fc\\u0001\\\",b=\\\"\\\\\\\\\\\"}\":3}");
    adp_metrics_destroy(m);
}
END_TEST

/* ---- against a list that is searched from end to end ---- */

struct naive {
    char name[8], labels[64];
    double value;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

START_TEST(series_are_what_a_searched_list_says)
{
    static struct naive list[4096];
    uint32_t n = 0, duplicates = 0;
    uint64_t state = 17;
    struct adp_metrics *m = create();
    for (int i = 0; i < 4096; i++) {
        struct naive one;
        uint64_t r = next_random(&state);
        snprintf(one.name, sizeof one.name, "m%u", (unsigned)(r % 40));
        unsigned a = (unsigned)(r >> 8) % 5, b = (unsigned)(r >> 16) % 5;
        snprintf(one.labels, sizeof one.labels, "a=%u,b=%u", a, b);
        one.value = i;
        char other_order[64];
        snprintf(other_order, sizeof other_order, "b=%u,a=%u", b, a);
        add(m, one.name, r >> 32 & 1 ? one.labels : other_order, i);
        uint32_t at = 0;
        while (at < n &&
               (strcmp(list[at].name, one.name) || strcmp(list[at].labels, one.labels)))
            at++;
        duplicates += at < n;
        n += at == n;
        list[at] = one;
    }
    ck_assert_uint_eq(adp_metrics_count(m), n);
    ck_assert_uint_eq(adp_metrics_duplicates(m), duplicates);
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_series *s = adp_metrics_at(m, i);
        ck_assert(is(s->name, list[i].name));
        labels_are(s, list[i].labels);
        ck_assert(s->value == list[i].value);
        ck_assert_ptr_eq(adp_metrics_same(m, s), s);
    }
    adp_metrics_destroy(m);
}
END_TEST

/* Read again and again into one object: what is known of a page is of that page. */
START_TEST(a_page_is_known_to_have_timestamps_and_times_of_making)
{
    static const struct {
        const char *page;
        bool timed, created;
    } pages[] = { { "a 1\n", false, false },
                  { "a 1 5\n", true, false },
                  { "a 2 6\n", true, false },
                  { "a 1\n", false, false },
                  { "a 1\nb_created 5\n", false, true },
                  { "a 2\nb_created 5\n", false, true },
                  { "a 2\n_created 5\nb_created_at 7\n", false, false },
                  { "a 1\na 2 0\n", true, false } };
    struct adp_metrics *m = NULL;
    ck_assert_int_eq(adp_metrics_create(&m), 0);
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        const char *page = pages[i].page;
        adp_metrics_clear(m);
        ck_assert(!adp_metrics_timed(m));
        ck_assert_int_eq(adp_promtext_read(m, page, strlen(page), NULL, NULL), 0);
        ck_assert_msg(adp_metrics_timed(m) == pages[i].timed, "%s", page);
        ck_assert_msg(adp_metrics_tells_created(m) == pages[i].created, "%s", page);
    }
    adp_metrics_destroy(m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("metrics");
    TCase *t = tcase_create("metrics");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_page_is_known_to_have_timestamps_and_times_of_making);
    tcase_add_test(t, a_series_comes_back_as_given_with_its_labels_sorted);
    tcase_add_test(t,
                   the_same_labels_in_any_order_are_one_series_and_the_last_value_stays);
    tcase_add_test(t, a_label_without_a_value_makes_no_other_series);
    tcase_add_test(t, bytes_that_move_between_name_label_and_value_make_another_series);
    tcase_add_test(t, series_of_a_name_are_chained_in_the_order_of_the_page);
    tcase_add_test(t, a_name_is_found_whole_or_not_at_all);
    tcase_add_test(t, the_same_series_is_found_in_another_moment);
    tcase_add_test(t, long_labels_are_found_too);
    tcase_add_loop_test(t, labels_of_one_text_are_those_given_apart, 0, COUNT(texts));
    tcase_add_test(t, a_label_given_twice_in_one_text_is_refused_too);
    tcase_add_loop_test(t, what_is_no_series_is_refused_and_leaves_nothing, 0,
                        COUNT(refused));
    tcase_add_test(t, a_series_holds_as_many_labels_as_stated_and_no_more);
    tcase_add_test(t, a_series_that_is_alone_with_its_name_still_tells_its_target);
    tcase_add_test(t, an_object_holds_as_many_series_as_stated_and_no_more);
    tcase_add_test(t, an_object_holds_as_much_text_as_stated_and_no_more);
    tcase_add_test(t, a_page_of_a_known_shape_is_held_without_allocating);
    tcase_add_test(t, a_series_given_again_and_again_takes_no_more_memory);
    tcase_add_test(t, what_is_borrowed_stays_while_series_are_added);
    tcase_add_test(t, without_memory_there_is_no_object);
    tcase_add_test(t, a_failed_add_leaves_what_was_there_and_can_be_tried_again);
    tcase_add_test(t, clearing_without_memory_still_clears);
    tcase_add_test(t, the_newest_time_is_that_of_any_series);
    tcase_add_test(t, a_series_is_written_under_its_bare_name_when_it_is_the_only_one);
    tcase_add_test(t, a_key_is_escaped_for_its_quotes_and_for_json);
    tcase_add_test(t, series_are_what_a_searched_list_says);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
