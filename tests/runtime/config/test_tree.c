/* SPDX-License-Identifier: MIT */
#include "runtime/config/tree.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct adp_arena arena;
static struct adp_errors errors;
static struct adp_doc doc;

static void set_up(void)
{
    arena = (struct adp_arena) { 0 };
    errors = (struct adp_errors) { 0 };
    doc = (struct adp_doc) {
        .file = "t", .folder = "/", .arena = &arena, .errors = &errors
    };
}

static void tear_down(void)
{
    adp_arena_finish(&arena);
    adp_errors_free(&errors);
}

/* The tree, or NULL when there is none; the test says which. */
static const struct adp_node *parse_n(const char *text, size_t len)
{
    const struct adp_node *root = NULL;
    if (!adp_tree_read(&root, text, len, &doc))
        return NULL;
    return root;
}

static const struct adp_node *parse(const char *text)
{
    return parse_n(text, strlen(text));
}

/* What stands at `key`, which is there. */
static const struct adp_node *at(const struct adp_node *mapping, const char *key)
{
    ck_assert_ptr_nonnull(mapping);
    const struct adp_node *value = adp_node_find(mapping, key);
    ck_assert_ptr_nonnull(value);
    return value;
}

static void assert_place(struct adp_place place, uint32_t line, uint32_t column)
{
    ck_assert_uint_eq(place.line, line);
    ck_assert_uint_eq(place.column, column);
}

static void assert_only_error(int code, uint32_t line, uint32_t column, const char *text)
{
    ck_assert_uint_eq(errors.n, 1);
    ck_assert_str_eq(errors.list[0].text, text);
    ck_assert_int_eq(errors.list[0].code, code);
    assert_place((struct adp_place) { errors.list[0].line, errors.list[0].column }, line,
                 column);
    ck_assert(doc.failed);
}

START_TEST(everything_knows_its_place)
{
    const struct adp_node *root = parse("a: 1\n"
                                        "b:\n"
                                        "  - x\n"
                                        "  - {c: \"d\"}\n"
                                        "é: f\n"
                                        "g:\n");
    ck_assert_uint_eq(errors.n, 0);
    assert_place(root->at, 1, 1);
    assert_place(at(root, "a")->at, 1, 4);
    const struct adp_node *list = at(root, "b");
    ck_assert_int_eq(list->kind, ADP_NODE_LIST);
    assert_place(list->at, 3, 3);
    assert_place(list->items->value->at, 3, 5);
    const struct adp_node *inner = list->items->next->value;
    ck_assert_int_eq(inner->kind, ADP_NODE_MAPPING);
    assert_place(inner->at, 4, 5);
    assert_place(inner->items->key->at, 4, 6);
    assert_place(at(inner, "c")->at, 4, 9);
    assert_place(at(root, "é")->at, 5, 4); /* columns count characters */
    ck_assert(adp_node_is_nothing(at(root, "g")));
    assert_place(at(root, "g")->at, 6, 3);
}
END_TEST

static const struct {
    const char *yaml;
    size_t offset;
    uint32_t line, column;
} inside[] = {
    { "k: abcdef\n", 2, 1, 6 },
    { "k: 'abcdef'\n", 2, 1, 7 },
    { "k: \"abcdef\"\n", 2, 1, 7 },
    { "k: \"aécdef\"\n", 3, 1, 7 },   /* é takes two bytes and one column */
    { "k: 'ab''ef'\n", 3, 1, 4 },     /* escaped: only the scalar's place is known */
    { "k: \"a\\x62cd\"\n", 2, 1, 4 }, /* likewise */
    { "k: ab\n  cd\n", 3, 1, 4 },     /* two lines: likewise */
    { "k: |\n  abcdef\n", 2, 1, 4 },  /* a block: likewise */
    { "k:\n  abcdef\n", 2, 2, 5 },
};

START_TEST(a_place_inside_a_text_is_exact_when_it_stands_as_it_is)
{
    const struct adp_node *value = at(parse(inside[_i].yaml), "k");
    assert_place(adp_node_place_in(value, inside[_i].offset), inside[_i].line,
                 inside[_i].column);
}
END_TEST

START_TEST(an_alias_stands_for_its_anchor)
{
    const struct adp_node *root = parse("a: &x { b: 1 }\nc: *x\nd: &x 2\ne: *x\n");
    ck_assert_uint_eq(errors.n, 0);
    ck_assert_ptr_eq(at(root, "c"), at(root, "a"));
    ck_assert_str_eq(at(root, "e")->text, "2"); /* the last anchor of that name */
}
END_TEST

START_TEST(a_byte_order_mark_is_no_part_of_the_text)
{
    const struct adp_node *root = parse("\xef\xbb\xbf"
                                        "a: 1\n");
    ck_assert_uint_eq(errors.n, 0);
    ck_assert_str_eq(at(root, "a")->text, "1");
    assert_place(at(root, "a")->at, 1, 4);
}
END_TEST

START_TEST(sixteen_levels_are_read)
{
    const struct adp_node *node = parse("[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]");
    ck_assert_uint_eq(errors.n, 0);
    ck_assert_uint_eq(node->height, 16);
}
END_TEST

START_TEST(a_key_is_looked_for_in_mappings_alone)
{
    const struct adp_node *root = parse("list: [a, b]\nword: a\nbroken: *a\nempty: {}\n");
    ck_assert_ptr_nonnull(adp_node_item(root, "word"));
    ck_assert_ptr_null(adp_node_item(root, "a"));
    static const char *const others[] = { "list", "word", "broken", "empty" };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_ptr_null(adp_node_item(at(root, others[i]), "a"));
        ck_assert_ptr_null(adp_node_find(at(root, others[i]), "a"));
    }
}
END_TEST

/* libyaml alone takes minutes for it, for which no test is left running. */
START_TEST(a_file_of_nothing_but_brackets_is_refused_at_once)
{
    enum { BRACKETS = 200000 };
    static char text[BRACKETS];
    memset(text, '[', sizeof text);
    parse_n(text, sizeof text);
    assert_only_error(ADP_EFULL, 1, 17, "nested too deep, expected at most 16 levels");
}
END_TEST

START_TEST(a_file_of_nothing_but_directives_is_refused_at_once)
{
    enum { LINES = 60000, BYTES = 16 };
    static char text[LINES * BYTES];
    for (int i = 0; i < LINES; i++) {
        char line[BYTES + 1];
        snprintf(line, sizeof line, "%%TAG !%06d! x\n", i);
        memcpy(text + i * BYTES, line, BYTES);
    }
    ck_assert_ptr_null(parse_n(text, sizeof text));
    assert_only_error(ADP_EINVAL, 1, 1,
                      "directives are not supported, found \"%\" at the beginning of a "
                      "line");
}
END_TEST

START_TEST(a_percent_inside_a_line_is_no_directive)
{
    const struct adp_node *root = parse("a: 90%\nb: 占用率%\n");
    ck_assert_uint_eq(errors.n, 0);
    ck_assert_str_eq(at(root, "a")->text, "90%");
}
END_TEST

START_TEST(aliases_of_aliases_count_as_all_they_stand_for)
{
    /* 10^5 values in 6 lines; the bound is met at the line that passes it. */
    parse("a: &a [x,x,x,x,x,x,x,x,x,x]\n"
          "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
          "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
          "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
          "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n");
    /* a: 11 values; b: 111; c: 1,111; d: 11,111. With the keys and the root, 12,349 are
     * there before e, whose list is one more and whose first *d would be 11,111 more. */
    assert_only_error(ADP_EFULL, 5, 8,
                      "too many values, found 11111 more behind \"*d\", expected at most "
                      "16384 in one file");
}
END_TEST

START_TEST(values_are_bounded)
{
    /* The list and 16,383 values fit. */
    enum { VALUES = 16384 };
    static char text[2 * VALUES + 1];
    text[0] = '[';
    for (int i = 0; i < VALUES; i++)
        memcpy(text + 1 + 2 * i, "1,", 2);
    const struct adp_node *root = parse_n(text, sizeof text);
    assert_only_error(ADP_EFULL, 1, 2 * VALUES,
                      "too many values, expected at most 16384 in one file");
    ck_assert_uint_eq(root->n_items, VALUES - 1);
    ck_assert(root->open);
}
END_TEST

START_TEST(anchors_are_bounded)
{
    char text[4096];
    size_t len = 0;
    for (int i = 0; i < 65; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "- &a%d 1\n", i);
    parse_n(text, len);
    assert_only_error(ADP_EFULL, 65, 3,
                      "too many anchors, expected at most 64 in one file");
}
END_TEST

START_TEST(what_stands_before_a_syntax_error_is_kept_and_marked_open)
{
    const struct adp_node *root = parse("a: 1\nb: { c: 2, d: [3, 4\n");
    ck_assert_uint_eq(errors.n, 1);
    ck_assert_int_eq(errors.list[0].code, ADP_ESYNTAX);
    ck_assert(root->open);
    ck_assert_str_eq(at(root, "a")->text, "1");
    ck_assert(at(root, "b")->open);
    ck_assert_str_eq(at(at(root, "b"), "c")->text, "2");
    ck_assert_uint_eq(at(at(root, "b"), "d")->n_items, 2);
}
END_TEST

START_TEST(nothing_is_empty_null_or_a_tilde_without_quotes)
{
    const struct adp_node *root = parse("a: ~\nb: null\nc: NULL\nd: Null\ne:\n"
                                        "f: '~'\ng: \"\"\nh: nULL\ni: []\n");
    for (const char *key = "abcde"; *key; key++)
        ck_assert(adp_node_is_nothing(at(root, (char[]) { *key, '\0' })));
    for (const char *key = "fghi"; *key; key++)
        ck_assert(!adp_node_is_nothing(at(root, (char[]) { *key, '\0' })));
}
END_TEST

START_TEST(a_mapping_of_as_many_keys_as_fit_is_read)
{
    enum { KEYS = 8191, BYTES = 9 };
    static char text[KEYS * BYTES];
    for (int i = 0; i < KEYS; i++) {
        char line[BYTES + 1];
        snprintf(line, sizeof line, "k%04d: 1\n", i);
        memcpy(text + i * BYTES, line, BYTES);
    }
    const struct adp_node *root = parse_n(text, sizeof text);
    ck_assert_uint_eq(errors.n, 0);
    ck_assert_uint_eq(root->n_items, KEYS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tree");
    TCase *t = tcase_create("tree");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, everything_knows_its_place);
    tcase_add_loop_test(t, a_place_inside_a_text_is_exact_when_it_stands_as_it_is, 0,
                        sizeof inside / sizeof inside[0]);
    tcase_add_test(t, an_alias_stands_for_its_anchor);
    tcase_add_test(t, a_byte_order_mark_is_no_part_of_the_text);
    tcase_add_test(t, sixteen_levels_are_read);
    tcase_add_test(t, a_key_is_looked_for_in_mappings_alone);
    tcase_add_test(t, a_file_of_nothing_but_brackets_is_refused_at_once);
    tcase_add_test(t, a_file_of_nothing_but_directives_is_refused_at_once);
    tcase_add_test(t, a_percent_inside_a_line_is_no_directive);
    tcase_add_test(t, aliases_of_aliases_count_as_all_they_stand_for);
    tcase_add_test(t, values_are_bounded);
    tcase_add_test(t, anchors_are_bounded);
    tcase_add_test(t, what_stands_before_a_syntax_error_is_kept_and_marked_open);
    tcase_add_test(t, nothing_is_empty_null_or_a_tilde_without_quotes);
    tcase_add_test(t, a_mapping_of_as_many_keys_as_fit_is_read);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
