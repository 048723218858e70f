/* SPDX-License-Identifier: MIT */
#include "core/promtext.h"
#include "core/signal.h"
#include "runtime/scrape/ending.h"

#include <check.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* B: a blanked line of so many bytes. */
#define B3  "   \n"
#define B9  "         \n"
#define B10 "          \n"

static const struct {
    const char *page, *read;
    uint32_t lines;
} pages[] = {
    { "", "", 0 },
    { "a 1\n", "a 1\n", 0 },
    { "a 1\n# EOF", "a 1\n# EOF", 0 },
    { "a 1\n# EOF\r", "a 1\n# EOF\r", 0 },
    { "a 1\nb 12", "a 1\n", 1 },
    { "a 1\nb\t12", "a 1\n", 1 },
    { "a 1\nb {c=\"d\"} 12", "a 1\n", 1 },
    { "a 1\nb{c=d}12", "a 1\n", 1 },
    { "a 1\nb{c=\"\\\"}\"} 12", "a 1\n", 1 },
    { "a 1\n{\"b\",c=\"d\"} 12", "a 1\n", 1 },
    { "a 1", "", 0 },
    { "# TYPE a gauge\na 1", "", 0 },
    /* a line that is no whole sample was cut */
    { "a 1\nb", "", 0 },
    { "a 1\nb ", "", 0 },
    { "a 1\nb{", "", 0 },
    { "a 1\nb{c=\"d", "", 0 },
    { "a 1\nb{c=\"d} 12", "", 0 },
    { "a 1\nb{c=\"\\\"} 12", "", 0 },
    { "a 1\nb{c=\"d\\", "", 0 },
    { "a 1\nb{c=\"d\"", "", 0 },
    { "a 1\nb{c=\"d\"}", "", 0 },
    { "a 1\nb{c=\"d\"} ", "", 0 },
    { "a 1\n{\"b", "", 0 },
    { "a 1\n{\"b\\", "", 0 },
    { "a 1\n{\"b\"}\r", "", 0 },
    /* so was a comment: it says nothing of what would have come */
    { "a 1\n#", "", 0 },
    { "a 1\n# EO", "", 0 },
    { "a 1\n# HE", "", 0 },
    { "a 1\n# HELP ", "", 0 },
    { "a 1\n# HELP b of", "", 0 },
    { "a 1\n# TYPE b gauge", "", 0 },
    { "a 1\n# b 6", "", 0 },
    /* blanks are the end of an indented text, where nothing speaks against it */
    { "  ", "  ", 0 },
    { "  a 1\n  ", "  a 1\n  ", 0 },
    { "a{e=\"0\"} 1\na{e=\"1\"} 1\nb 1\n\t\r", "a{e=\"0\"} 1\na{e=\"1\"} 1\nb 1\n\t\r",
      0 },
    { "a 1\nb 1\na 1\n ", "", 0 },
    /* the rest of a family says as little as its last line */
    { "a 1\nb{e=\"0\"} 5\nb{e=\"1\"} 1", "a 1\n" B10, 2 },
    { "a 1\nb{e=\"0\"} 5\n\nb{e=\"1\"} 1", "a 1\n" B10 "\n", 2 },
    { "a 1\nb_bucket 2\nb_sum 4\nb_count 3", "a 1\n" B10 "       \n", 3 },
    { "a 1\nb_total 2\nb_created 1", "a 1\n         \n", 2 },
    { "a 1\n{\"b_sum\"} 5\n{\"b_count\"} 5", "a 1\n           \n", 2 },
    { "a 1\nx.b{} 5\n{\"x.b\",e=\"1\"} 1", "a 1\n       \n", 2 },
    { "a 1\n{e=\"0\",\"b\"} 5\nb 1", "a 1\n             \n", 2 },
    { "a 1\n{\"l\"=\"a\",\"b\"} 5\nb 1", "a 1\n               \n", 2 },
    { "a 1\n{\"b,}\"} 5\n{\"b,}\"} 1", "a 1\n" B9, 2 },
    { "a 1\n{\"b\\\"\"} 5\n{\"b\\\"\"} 1", "a 1\n" B9, 2 },
    /* a name is no start of another */
    { "a 1\nbc 5\nb 1", "a 1\nbc 5\n", 1 },
    /* engine by engine: of r, and of k, the second engine's are missing or in doubt */
    { "w 5\nr 3\nk 1\nw 5\nr 3", "w 5\n" B3 B3 "w 5\n", 3 },
    { "w 5\r\nr 3\r\nw 5\r\nr 3", "w 5\r\n    \nw 5\r\n", 2 },
    { "w 5\n{\"r\"} 3\nw 5\nr 3", "w 5\n       \nw 5\n", 2 },
    { "# TYPE r histogram\nr_count 3\nk 1\nw 5\n# TYPE r histogram\nr_count 3", "", 0 },
    { "w 5\nr_total 3\nk 1\nw 5\nr_total 3", "w 5\n         \n" B3 "w 5\n", 3 },
    /* cut in the first of the second engine: of all others there is no line yet */
    { "w 5\nr 3\nk 1\nw 5", "", 0 },
    /* what stands in front of them all is of no engine */
    { "g 7\nw 5\nr 3\nw 5", "g 7\n" B3 B3, 3 },
    /* the second engine has one that the first has not: k is still to come */
    { "w 5\nk 1\nw 5\nr 3", "w 5\n" B3 "w 5\n", 2 },
    /* all of both came */
    { "w 5\nr 3\nw 5\nr 3\nz 1", "w 5\nr 3\nw 5\nr 3\n", 1 },
    /* and relatives of a name that stand apart look no different */
    { "r_total 3\nk 1\nr_created 3", "", 0 },
    /* a byte order mark is no part of a name */
    { "\xef\xbb\xbfw 5\nr 2\nw 4", "", 0 },
    { "\xef\xbb\xbfg 5\nr 2\nr 4", "\xef\xbb\xbfg 5\n" B3, 2 },
    { "\xef\xbb\xbfw 5", "", 0 },
    /* no page at all: whoever reads it says what it is */
    { "{\"a\":1}", "{\"a\":1}", 0 },
    { "[]", "[]", 0 },
    { " <p>\n<p>", " <p>\n<p>", 0 },
    { "\x1f\x8b\n\x1f", "\x1f\x8b\n\x1f", 0 },
};

static size_t ending_of(const char *page, size_t len, char *to, uint32_t *ret_lines)
{
    memcpy(to, page, len);
    return adp_page_ending(to, len, ret_lines);
}

START_TEST(what_the_last_line_is_about_is_left_out_unless_it_is_ended)
{
    uint32_t lines = 77;
    char read[128] = "";
    size_t size = strlen(pages[_i].page);
    size_t len = ending_of(pages[_i].page, size, read, &lines);
    if (!len)
        ck_assert_mem_eq(read, pages[_i].page, size); /* as it was */
    read[len] = '\0';
    ck_assert_str_eq(read, pages[_i].read);
    ck_assert_uint_eq(lines, pages[_i].lines);
}
END_TEST

/* --- what signals say of a page, wherever it is cut --- */

enum { MOST = 1 << 20 };

static struct adp_signals *set;
static struct adp_scratch *scratch;
static struct adp_metrics *before, *now;
static char *buffer;

static void open_set(void)
{
    ck_assert_int_eq(adp_signals_create(&set, NULL), 0);
    ck_assert_int_eq(adp_scratch_create(&scratch, ADP_PAGE_SERIES), 0);
    ck_assert_int_eq(adp_metrics_create(&before), 0);
    ck_assert_int_eq(adp_metrics_create(&now), 0);
    buffer = malloc(MOST);
    ck_assert_ptr_nonnull(buffer);
}

static void close_set(void)
{
    adp_signals_destroy(set);
    adp_scratch_destroy(scratch);
    adp_metrics_destroy(before);
    adp_metrics_destroy(now);
    free(buffer);
}

/* 10 s after the page in `before`. False: nobody can read it. */
static bool read_page(const char *page, size_t len, struct adp_reading *ret)
{
    struct adp_moment moment = { .now = now, .before = before, .elapsed_s = 10 };
    if (adp_promtext_read(now, page, len, NULL, NULL) < 0)
        return false;
    double wall_s = 0;
    adp_metrics_newest(now, &wall_s);
    adp_signals_read(set, &moment, UINT64_C(1000000000), wall_s, scratch, ret);
    return true;
}

/* Cuts the page behind each byte in front of which none was a newline, and holds what each
 * signal says against the whole. Returns how many signals had a value, in all. */
static unsigned expect_whole_or_absent(const char *page, size_t from, size_t len,
                                       const struct adp_reading *whole, const char *what)
{
    struct adp_reading part[ADP_MAX_KNOWN];
    unsigned present = 0;
    size_t read = 0; /* the line was, with another end of its value */
    memcpy(buffer, page, len);
    for (size_t n = from; n <= len; n++) {
        uint32_t lines;
        if (page[n - 1] == '\n') {
            read = 0;
            continue;
        }
        size_t left = adp_page_ending(buffer, n, &lines);
        bool changed = lines > 0;
        ck_assert(left <= n && (left || !changed));
        if (left && left != read && read_page(buffer, left, part))
            for (uint32_t i = 0; i < adp_signals_count(set); i++) {
                if (part[i].why != ADP_WHY_PRESENT)
                    continue;
                present++;
                ck_assert_msg(whole[i].why == ADP_WHY_PRESENT &&
                                  part[i].value == whole[i].value,
                              "%s, %zu: %s is %g, not %g, behind %.40s", what, n,
                              adp_signals_name(set, i), part[i].value, whole[i].value,
                              page + (n > 40 ? n - 40 : 0));
            }
        read = left;
        if (changed)
            memcpy(buffer, page, len);
    }
    return present;
}

/* Two engines, each with its own numbers, and a name that begins like another. */
static const struct row {
    const char *name, *type, *suffix, *labels;
    int value, more, grows; /* of engine 0, what engine 1 has more, what both grow by */
} rows[] = {
    { "vllm:num_requests_running", "gauge", "", "", 12, 1, 0 },
    { "vllm:num_requests_waiting", "gauge", "", "", 34, 11, 0 },
    { "vllm:num_requests_waiting_by_reason", "gauge", "", ",reason=\"\\\"} 7\"", 30, 0,
      0 },
    { "vllm:kv_cache_usage_perc", "gauge", "", "", 0, 1, 0 },
    { "vllm:prefix_cache_queries", "counter", "_total", "", 1000, 1000, 100 },
    { "vllm:prefix_cache_hits", "counter", "_total", "", 500, 20, 40 },
    { "vllm:prompt_tokens", "counter", "_total", "", 1234, 5, 777 },
    { "vllm:prompt_tokens", "counter", "_created", "", 1780000000, 0, 0 },
    { "vllm:generation_tokens", "counter", "_total", "", 4321, 50, 77 },
    { "vllm:cache_config_info", "gauge", "", ",num_gpu_blocks=\"10\",block_size=\"16\"",
      1, 0, 0 },
    { "vllm:time_to_first_token_seconds", "histogram", "_bucket", ",le=\"0.5\"", 10, 3,
      5 },
    { "vllm:time_to_first_token_seconds", "histogram", "_bucket", ",le=\"1.0\"", 20, 9,
      20 },
    { "vllm:time_to_first_token_seconds", "histogram", "_bucket", ",le=\"+Inf\"", 20, 9,
      21 },
    { "vllm:time_to_first_token_seconds", "histogram", "_count", "", 20, 9, 21 },
    { "vllm:time_to_first_token_seconds", "histogram", "_sum", "", 5, 9, 17 },
};
enum { ROWS = sizeof rows / sizeof rows[0], ROW = 256 };

static char *put_row(char *p, const struct row *r, int engine, int later, bool quoted)
{
    int value = r->value + engine * r->more + later * (1 + engine) * r->grows;
    const char *begin = quoted ? "{\"" : "", *behind = quoted ? "\"," : "{";
    return p + snprintf(p, ROW, "%s%s%s%sengine=\"%d\"%s} %d\n", begin, r->name,
                        r->suffix, behind, engine, r->labels, value);
}

/* Engine by engine, or the engines of each family together. Returns where the second engine
 * begins, or 0. */
static size_t write_page(char *page, int later, bool apart, bool headers, bool quoted)
{
    char *p = page;
    size_t second = 0;
    for (int outer = 0; outer < (apart ? 2 : 1); outer++) {
        second = outer ? (size_t)(p - page) : 0;
        for (int i = 0, n; i < ROWS; i += n) {
            for (n = 1; i + n < ROWS && strcmp(rows[i].name, rows[i + n].name) == 0;)
                n++;
            if (headers)
                p += snprintf(p, ROW, "# HELP %s Some words.\n# TYPE %s %s\n",
                              rows[i].name, rows[i].name, rows[i].type);
            for (int engine = outer; engine < (apart ? outer + 1 : 2); engine++)
                for (int k = i; k < i + n; k++)
                    p = put_row(p, &rows[k], engine, later, quoted);
        }
    }
    return second;
}

/* With headers and without, bare names and quoted. */
START_TEST(wherever_a_page_of_two_engines_is_cut_a_signal_is_the_whole_pages_or_absent)
{
    bool apart = _i & 1, headers = _i & 2, quoted = _i & 4;
    static char first[16384], page[16384];
    struct adp_reading whole[ADP_MAX_KNOWN];
    open_set();
    write_page(first, 0, apart, headers, quoted);
    size_t second = write_page(page, 1, apart, headers, quoted), len = strlen(page);
    ck_assert_int_eq(adp_promtext_read(before, first, strlen(first), NULL, NULL), 0);
    if (apart) { /* in front of the second engine it is a page of one */
        ck_assert(read_page(page, second, whole));
        ck_assert_uint_gt(expect_whole_or_absent(page, 1, second, whole, "one"), 50);
    }
    ck_assert(read_page(page, len, whole));
    int queue = adp_signals_find(set, "queue_depth");
    ck_assert(whole[queue].value == 34 + 45); /* it is both that are asked */
    ck_assert_uint_gt(expect_whole_or_absent(page, second + 1, len, whole, "two"), 50);
    close_set();
}
END_TEST

static bool expect_of_file(const char *folder, const char *name)
{
    char path[1024];
    struct adp_reading whole[ADP_MAX_KNOWN];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    char *page = malloc(MOST);
    ck_assert(f && page);
    size_t len = fread(page, 1, MOST, f);
    fclose(f);
    bool is_page = adp_promtext_read(before, page, len, NULL, NULL) == 0 &&
                   adp_metrics_count(before) > 0;
    if (is_page) {
        ck_assert(read_page(page, len, whole));
        expect_whole_or_absent(page, 1, len, whole, name);
    }
    free(page);
    return is_page;
}

START_TEST(so_it_is_of_a_real_page)
{
    const char *source = getenv("srcdir");
    char folder[512];
    unsigned pages_read = 0;
    snprintf(folder, sizeof folder, "%s/../shared/data/metrics", source ? source : ".");
    DIR *d = opendir(folder);
    if (!d) {
        printf("skipped: real pages: no ../shared/data/metrics beside the source\n");
        return;
    }
    open_set();
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (e->d_name[0] != '.' && strcmp(e->d_name, "README.md") != 0)
            pages_read += expect_of_file(folder, e->d_name);
    ck_assert_uint_gt(pages_read, 20);
    close_set();
    closedir(d);
}
END_TEST

/* 200,000 lines of 50,000 families, each four times: nothing is done a line times a family. */
START_TEST(a_large_page_of_many_families_is_read_whole_but_for_the_last)
{
    enum { FAMILIES = 50000, AGAIN = 4, LINE = 12 };
    char *page = malloc(FAMILIES * AGAIN * LINE + 1), *p = page;
    uint32_t lines;
    ck_assert_ptr_nonnull(page);
    for (int i = 0; i < FAMILIES * AGAIN; i++)
        p += snprintf(p, LINE + 1, "f%06d 123\n", i % FAMILIES);
    size_t len = (size_t)(p - page) - 1;
    ck_assert_uint_eq(adp_page_ending(page, len, &lines), len - LINE + 1);
    ck_assert_uint_eq(lines, AGAIN);
    free(page);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ending");
    TCase *tc = tcase_create("ending");
    tcase_add_loop_test(tc, what_the_last_line_is_about_is_left_out_unless_it_is_ended, 0,
                        sizeof pages / sizeof pages[0]);
    tcase_add_loop_test(
        tc, wherever_a_page_of_two_engines_is_cut_a_signal_is_the_whole_pages_or_absent,
        0, 8);
    tcase_add_test(tc, so_it_is_of_a_real_page);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_large_page_of_many_families_is_read_whole_but_for_the_last);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
