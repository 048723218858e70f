/* SPDX-License-Identifier: MIT */
#include "core/logfile.h"

#include "tests/core/faulty_write.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

static char folder[64], path[128];
static struct adp_logfile file, other;
static struct adp_line lines, opening;
static size_t written;

static void setup(void)
{
    strcpy(folder, "/tmp/adp-logfile-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/r1.jsonl", folder);
    adp_line_init(&lines);
    adp_line_init(&opening);
    written = 0;
    ck_assert_int_eq(adp_logfile_init(&file, path, 0, 0, NULL), 0);
    ck_assert_int_eq(adp_logfile_init(&other, path, 0, 0, NULL), 0);
}

static void teardown(void)
{
    char command[96];
    adp_logfile_close(&file);
    adp_logfile_close(&other);
    adp_line_finish(&lines);
    adp_line_finish(&opening);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Writes `text` beside what waits; clears when all is written, as the contract says. */
static int put(struct adp_logfile *to, const char *text)
{
    adp_line_puts(&lines, text);
    int code = adp_logfile_write(to, &lines, &written, &opening);
    if (code == 0) {
        adp_line_clear(&lines);
        written = 0;
    }
    return code;
}

static int put_other(const char *text)
{
    struct adp_line own;
    struct adp_line none = { 0 };
    size_t done = 0;
    adp_line_init(&own);
    adp_line_puts(&own, text);
    int code = adp_logfile_write(&other, &own, &done, &none);
    adp_line_finish(&own);
    return code;
}

static const char *content_of(const char *name)
{
    static char text[4096];
    char full[160];
    snprintf(full, sizeof full, "%s/%s", folder, name);
    FILE *f = fopen(full, "r");
    if (!f)
        return "(none)";
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

static void make(const char *name, const char *text)
{
    char full[160];
    snprintf(full, sizeof full, "%s/%s", folder, name);
    FILE *f = fopen(full, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

/* --- whole lines --- */

START_TEST(lines_are_appended_to_what_is_there)
{
    make("r1.jsonl", "before\n");
    ck_assert_int_eq(put(&file, "one\ntwo\n"), 0);
    ck_assert_int_eq(put(&file, "three\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "before\none\ntwo\nthree\n");
    ck_assert_uint_eq(file.bytes, 14);
}
END_TEST

START_TEST(folders_are_made_again_and_again)
{
    char deep[160], command[192];
    snprintf(deep, sizeof deep, "%s/a/b/r1.jsonl", folder);
    ck_assert_int_eq(adp_logfile_move(&file, deep, 0, 0, NULL), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "rm -rf '%s/a'", folder);
        ck_assert_int_eq(system(command), 0);
        ck_assert_int_eq(put(&file, "one\n"), 0);
        ck_assert_str_eq(content_of("a/b/r1.jsonl"), "one\n");
    }
}
END_TEST

START_TEST(a_file_that_ends_within_a_line_gets_its_newline_first)
{
    make("r1.jsonl", "whole\ntor");
    ck_assert_int_eq(put(&file, "one\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "whole\ntor\none\n");
}
END_TEST

/* As by a process that was killed within its write. */
START_TEST(also_when_somebody_tears_a_line_later)
{
    ck_assert_int_eq(put(&file, "one\n"), 0);
    int fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, "{\"at\":1", 7), 7);
    close(fd);
    ck_assert_int_eq(put(&file, "two\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "one\n{\"at\":1\ntwo\n");
}
END_TEST

/* The disk is full after so many bytes of "one\ntwo\nthree\n"; what is then in the file. */
static const struct {
    long takes;
    const char *there;
} fills[] = {
    { 0, "" },      { 2, "" },           { 4, "one\n" },      { 5, "one\n" },
    { 7, "one\n" }, { 8, "one\ntwo\n" }, { 9, "one\ntwo\n" }, { 13, "one\ntwo\n" },
};

START_TEST(what_a_full_disk_left_of_a_line_is_taken_back_and_written_when_there_is_room)
{
    disk.takes = fills[_i].takes;
    disk.error = ENOSPC;
    ck_assert_int_eq(put(&file, "one\ntwo\nthree\n"), -ENOSPC);
    ck_assert_str_eq(content_of("r1.jsonl"), fills[_i].there);
    ck_assert_uint_eq(file.bytes, strlen(fills[_i].there));
    ck_assert(!file.locked);
    ck_assert_int_eq(put_other(""), 0);
    disk.error = 0;
    ck_assert_int_eq(put_other("other\n"), 0);
    ck_assert_int_eq(put(&file, "four\n"), 0);
    char want[64];
    snprintf(want, sizeof want, "%sother\n%sfour\n", fills[_i].there,
             &"one\ntwo\nthree\n"[strlen(fills[_i].there)]);
    ck_assert_str_eq(content_of("r1.jsonl"), want);
}
END_TEST

START_TEST(what_cannot_be_taken_back_is_continued)
{
    disk.takes = 5;
    disk.error = ENOSPC;
    disk.no_truncate = true;
    ck_assert_int_eq(put(&file, "one\ntwo\n"), -ENOSPC);
    ck_assert_str_eq(content_of("r1.jsonl"), "one\nt");
    ck_assert(file.locked); /* nobody who asks may write behind it */
    disk.error = 0;
    ck_assert_int_eq(put(&file, "three\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "one\ntwo\nthree\n");
    ck_assert(!file.locked);
}
END_TEST

START_TEST(what_cannot_be_continued_either_is_begun_again)
{
    disk.takes = 5;
    disk.error = ENOSPC;
    disk.no_truncate = true;
    ck_assert_int_eq(put(&file, "one\ntwo\n"), -ENOSPC);
    disk.error = 0;
    int tries = 0;
    while (put_other("other\n") == -EWOULDBLOCK)
        tries++;
    ck_assert_int_eq(tries, ADP_LOGFILE_MISSES + 1); /* it looked twice at the cut line */
    ck_assert_str_eq(content_of("r1.jsonl"), "one\nt\nother\n");
    ck_assert_int_eq(put(&file, "three\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "one\nt\nother\ntwo\nthree\n");
}
END_TEST

/* --- several at a path --- */

START_TEST(a_lock_that_is_never_given_back_is_not_waited_for_but_rotation_is)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 8, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "one\n"), 0);
    int holder = open(path, O_RDWR);
    ck_assert_int_eq(flock(holder, LOCK_EX), 0);
    int tries = 0, code = put(&file, "two\nthree\n");
    for (; code == -EWOULDBLOCK; tries++)
        code = put(&file, "");
    ck_assert_int_eq(code, 0);
    ck_assert_int_eq(tries, ADP_LOGFILE_MISSES);
    ck_assert_str_eq(content_of("r1.jsonl"), "one\ntwo\nthree\n");
    close(holder);
    file.rotate_at = 0;
    ck_assert_int_eq(put(&file, "four\n"), 0);
    ck_assert_str_eq(content_of("r1.1.jsonl"), "one\ntwo\nthree\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "four\n");
}
END_TEST

START_TEST(a_file_that_another_has_rotated_is_left_for_the_new_one)
{
    ck_assert_int_eq(adp_logfile_move(&other, path, 4, 5, NULL), 0);
    adp_line_puts(&opening, "opening\n");
    ck_assert_int_eq(put(&file, "one\n"), 0);
    ck_assert_int_eq(put_other("two\n"), 0);
    ck_assert_int_eq(put(&file, "three\n"), 0);
    ck_assert_str_eq(content_of("r1.1.jsonl"), "opening\none\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "two\nopening\nthree\n");
}
END_TEST

/* --- rotation --- */

START_TEST(no_file_exceeds_its_size_and_each_starts_with_the_opening)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 20, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "first\n"), 0); /* there is no opening yet */
    adp_line_puts(&opening, "opening\n");
    ck_assert_int_eq(put(&file, "aaaa\nbbbb\ncccc\ndddd\neeee\nffff\n"), 0);
    ck_assert_str_eq(content_of("r1.1.jsonl"), "first\naaaa\nbbbb\n"); /* 16 + 5 > 20 */
    ck_assert_str_eq(content_of("r1.2.jsonl"), "opening\ncccc\ndddd\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "opening\neeee\nffff\n");
}
END_TEST

START_TEST(a_line_longer_than_a_file_is_whole_all_the_same)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 10, 5, NULL), 0);
    adp_line_puts(&opening, "opening\n");
    ck_assert_int_eq(put(&file, "a line of more\nthan ten bytes\n"), 0);
    ck_assert_str_eq(content_of("r1.1.jsonl"), "opening\na line of more\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "opening\nthan ten bytes\n");
}
END_TEST

START_TEST(keep_removes_the_oldest_and_no_other)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 2, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n4th\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "4th\n");
    ck_assert_str_eq(content_of("r1.3.jsonl"), "3rd\n");
    ck_assert_str_eq(content_of("r1.2.jsonl"), "2nd\n");
    ck_assert_str_eq(content_of("r1.1.jsonl"), "(none)");
    ck_assert_str_eq(content_of("r1.4.jsonl"), "(none)");
}
END_TEST

static void take(const char *name)
{
    char gone[160];
    snprintf(gone, sizeof gone, "%s/%s", folder, name);
    ck_assert_int_eq(unlink(gone), 0);
}

START_TEST(a_rotation_is_one_rename_however_many_files_are_kept)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 1000, NULL), 0);
    for (unsigned i = 0; i < 300; i++)
        ck_assert_int_eq(put(&file, "1st\n"), 0);
    ck_assert_uint_eq(renames.made, 299);
    ck_assert_str_eq(content_of("r1.1.jsonl"), "1st\n");
    ck_assert_str_eq(content_of("r1.299.jsonl"), "1st\n");
}
END_TEST

/* Whatever else is there: the number is above all of this path's own. */
static const struct {
    const char *there, *next;
} numbers[] = {
    { "r1.41.jsonl", "r1.42.jsonl" },
    { "r1.041.jsonl", "r1.1.jsonl" },
    { "r1.0.jsonl", "r1.1.jsonl" },
    { "r1.41.jsonl.gz", "r1.1.jsonl" },
    { "r1.41x.jsonl", "r1.1.jsonl" },
    { "r12.41.jsonl", "r1.1.jsonl" },
    { "r1..jsonl", "r1.1.jsonl" },
    { "r1.jsonl.7", "r1.1.jsonl" },
    { "r1.-41.jsonl", "r1.1.jsonl" },
    { "r1.9999998.jsonl", "r1.9999999.jsonl" },
    { "r1.9.1.jsonl", "r1.1.jsonl" },
    { "r1.20261130.jsonl", "r1.1.jsonl" },
    { "r1.10000000.jsonl", "r1.1.jsonl" },
    { "r1.4294967296.jsonl", "r1.1.jsonl" },
    { "r1.18446744073709551617.jsonl", "r1.1.jsonl" },
};

START_TEST(a_rotated_file_has_the_number_behind_the_highest_that_is_there)
{
    make(numbers[_i].there, "other\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of(numbers[_i].next), "1st\n");
    ck_assert_str_eq(content_of(numbers[_i].there), "other\n");
}
END_TEST

/* One is kept, and a date is neither the newest nor too old. */
START_TEST(a_file_that_is_named_by_a_date_stays)
{
    make("r1.20261130.jsonl", "theirs\n");
    make("r1.00000001.jsonl", "theirs\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 1, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n4th\n"), 0);
    ck_assert_str_eq(content_of("r1.3.jsonl"), "3rd\n");
    ck_assert_str_eq(content_of("r1.2.jsonl"), "(none)");
    ck_assert_str_eq(content_of("r1.20261130.jsonl"), "theirs\n");
    ck_assert_str_eq(content_of("r1.00000001.jsonl"), "theirs\n");
}
END_TEST

START_TEST(behind_the_last_number_lines_go_on_in_the_file)
{
    make("r1.9999999.jsonl", "other\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 1, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "1st\n2nd\n");
    ck_assert_str_eq(content_of("r1.9999999.jsonl"), "other\n");
    ck_assert_str_eq(content_of("r1.10000000.jsonl"), "(none)");
    ck_assert_uint_eq(file.troubles, 1);
}
END_TEST

START_TEST(numbers_of_a_path_without_the_ending_come_last)
{
    char bare[128];
    snprintf(bare, sizeof bare, "%s/log", folder);
    make("log.7", "old\n");
    ck_assert_int_eq(adp_logfile_move(&file, bare, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of("log.7"), "old\n");
    ck_assert_str_eq(content_of("log.8"), "1st\n");
}
END_TEST

START_TEST(a_number_that_became_free_is_not_given_again)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 3, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n4th\n"), 0);
    take(_i ? "r1.3.jsonl" : "r1.2.jsonl");
    ck_assert_int_eq(put(&file, "5th\n"), 0);
    ck_assert_str_eq(content_of("r1.4.jsonl"), "4th\n");
    ck_assert_str_eq(content_of("r1.3.jsonl"), _i ? "(none)" : "3rd\n");
    ck_assert_str_eq(content_of("r1.2.jsonl"), _i ? "2nd\n" : "(none)");
    ck_assert_str_eq(content_of("r1.1.jsonl"), "(none)"); /* 4 - 3 */
}
END_TEST

START_TEST(what_is_older_than_a_keep_that_was_lowered_goes)
{
    char name[32];
    for (int i = 1; i <= 200; i++) {
        snprintf(name, sizeof name, "r1.%d.jsonl", i);
        if (i % 7) /* of some somebody else took care */
            make(name, "old\n");
    }
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 3, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n4th\n"), 0); /* 64 at each */
    for (int i = 1; i <= 200; i++) {
        snprintf(name, sizeof name, "r1.%d.jsonl", i);
        ck_assert_str_eq(content_of(name), "(none)");
    }
    ck_assert_str_eq(content_of("r1.201.jsonl"), "1st\n");
    ck_assert_str_eq(content_of("r1.203.jsonl"), "3rd\n");
}
END_TEST

/* Of two that rotate one path in turn, one much more often than there are files kept. */
START_TEST(numbers_ascend_whoever_rotates)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 2, NULL), 0);
    ck_assert_int_eq(adp_logfile_move(&other, path, 4, 2, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_int_eq(put_other("3rd\n"), 0);
    ck_assert_int_eq(put(&file, "4th\n"), 0);
    ck_assert_str_eq(content_of("r1.2.jsonl"), "2nd\n");
    ck_assert_str_eq(content_of("r1.3.jsonl"), "3rd\n");
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(put_other("5th\n"), 0); /* 4th is number 4, then four of these */
    ck_assert_int_eq(put(&file, "6th\n7th\n"), 0);
    ck_assert_str_eq(content_of("r1.8.jsonl"), "(none)");
    ck_assert_str_eq(content_of("r1.9.jsonl"), "5th\n");
    ck_assert_str_eq(content_of("r1.10.jsonl"), "6th\n");
    ck_assert_str_eq(content_of("r1.11.jsonl"), "(none)");
}
END_TEST

static void somebody_has_the_number(const char *from)
{
    ck_assert_str_eq(from, path);
    make("r1.1.jsonl", "theirs\n");
}

static void somebody_takes_it(const char *from)
{
    ck_assert_int_eq(unlink(from), 0);
}

/* Where a rename may not promise it, a second name does. */
static const int renaming[] = { 0, ENOSYS, EINVAL, EPERM };

START_TEST(no_file_is_renamed_over_another)
{
    renames.error = renaming[_i];
    renames.before = somebody_has_the_number;
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of("r1.1.jsonl"), "theirs\n");
    ck_assert_str_eq(content_of("r1.2.jsonl"), "1st\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "2nd\n");
    ck_assert_uint_eq(file.troubles, 0);
}
END_TEST

START_TEST(a_file_that_somebody_takes_just_then_costs_no_rotation)
{
    renames.before = somebody_takes_it;
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "2nd\n");
    ck_assert_uint_eq(file.troubles, 0);
}
END_TEST

START_TEST(a_rotation_that_fails_loses_nothing_and_goes_on_in_the_file)
{
    renames.error = EROFS;
    make("r1.1.jsonl", "old\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 1, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "1st\n2nd\n3rd\n");
    ck_assert_str_eq(content_of("r1.1.jsonl"), "old\n");
    ck_assert_uint_eq(file.troubles, 1);
}
END_TEST

/* A folder with a number is passed by, and stays when it is due. */
START_TEST(a_folder_in_the_way_costs_no_line)
{
    char command[192];
    snprintf(command, sizeof command, "mkdir -p '%s/r1.1.jsonl/x'", folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 1, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of("r1.2.jsonl"), "1st\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "2nd\n");
    ck_assert_uint_eq(file.troubles, 1);
}
END_TEST

/* --- what becomes of the path --- */

START_TEST(a_moved_file_is_written_to_while_its_path_cannot_be_opened)
{
    char moved[160];
    ck_assert_int_eq(put(&file, "one\n"), 0);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0); /* as good as a folder one may not write to */
    ck_assert_int_eq(put(&file, "two\n"), 0);
    ck_assert_uint_gt(file.troubles, 0);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(put(&file, "three\n"), 0);
    ck_assert_str_eq(content_of("moved"), "one\ntwo\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "three\n");
}
END_TEST

START_TEST(a_moved_file_is_not_rotated_over_what_is_at_the_path_now)
{
    char moved[160];
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "one\n"), 0);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(put(&file, "two\n"), 0);
    ck_assert_str_eq(content_of("moved"), "one\ntwo\n");
    ck_assert_str_eq(content_of("r1.1.jsonl"), "(none)");
}
END_TEST

START_TEST(a_removed_file_keeps_its_lines_until_its_path_can_be_opened)
{
    ck_assert_int_eq(put(&file, "one\n"), 0);
    adp_line_puts(&opening, "opening\n");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(put(&file, "two\n"), -EISDIR);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(put(&file, "three\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "opening\ntwo\nthree\n");
}
END_TEST

START_TEST(what_waits_does_not_grow_however_often_the_file_goes)
{
    adp_line_puts(&opening, "opening\n");
    ck_assert_int_eq(put(&file, "one\n"), 0);
    disk.error = ENOSPC;
    for (int i = 0; i < 100; i++) {
        unlink(path);
        ck_assert_int_eq(put(&file, i ? "" : "two\n"), -ENOSPC);
    }
    ck_assert_uint_eq(lines.len - written, strlen("opening\ntwo\n"));
    disk.error = 0;
    ck_assert_int_eq(put(&file, ""), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "opening\ntwo\n");
}
END_TEST

START_TEST(a_line_begun_in_a_file_that_went_is_begun_again_in_the_next)
{
    char moved[160];
    disk.takes = 5;
    disk.error = ENOSPC;
    disk.no_truncate = true;
    ck_assert_int_eq(put(&file, "one\ntwo\n"), -ENOSPC);
    disk.error = 0;
    snprintf(moved, sizeof moved, "%s/moved", folder);
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert_int_eq(put(&file, ""), 0);
    ck_assert_str_eq(content_of("moved"), "one\nt");
    ck_assert_str_eq(content_of("r1.jsonl"), "two\n");
}
END_TEST

/* --- no regular file --- */

START_TEST(a_fifo_takes_what_it_takes_and_is_never_waited_for)
{
    static char line[4096];
    char got[4096];
    size_t sent = 0, received = 0;
    memset(line, 'x', sizeof line - 2);
    line[sizeof line - 2] = '\n';
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(put(&file, ""), 0); /* nothing to write: nothing is opened */
    ck_assert_int_eq(adp_logfile_open(&file), -ENXIO);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    int code = 0;
    for (; code == 0; sent += strlen(line))
        code = put(&file, line);
    ck_assert_int_eq(code, -EAGAIN);
    ck_assert_uint_eq(file.misses, 0);
    for (ssize_t n; received < sent && (n = read(reader, got, sizeof got)) > 0;) {
        received += (size_t)n;
        put(&file, "");
    }
    ck_assert_uint_eq(received, sent);
    close(reader);
}
END_TEST

START_TEST(a_device_that_is_full_is_an_error_and_is_not_rotated)
{
    ck_assert_int_eq(symlink("/dev/full", path), 0);
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "a line\nand another\n"), -ENOSPC);
    ck_assert_int_eq(access(path, F_OK), 0);
    ck_assert_str_eq(content_of("r1.1.jsonl"), "(none)");
}
END_TEST

START_TEST(a_folder_at_the_path_is_refused)
{
    ck_assert_int_eq(adp_logfile_move(&file, folder, 0, 0, NULL), 0);
    ck_assert_int_eq(adp_logfile_open(&file), -EISDIR);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("logfile");
    TCase *t = tcase_create("logfile");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, lines_are_appended_to_what_is_there);
    tcase_add_test(t, folders_are_made_again_and_again);
    tcase_add_test(t, a_file_that_ends_within_a_line_gets_its_newline_first);
    tcase_add_test(t, also_when_somebody_tears_a_line_later);
    tcase_add_loop_test(
        t, what_a_full_disk_left_of_a_line_is_taken_back_and_written_when_there_is_room,
        0, sizeof fills / sizeof fills[0]);
    tcase_add_test(t, what_cannot_be_taken_back_is_continued);
    tcase_add_test(t, what_cannot_be_continued_either_is_begun_again);
    tcase_add_test(t, a_lock_that_is_never_given_back_is_not_waited_for_but_rotation_is);
    tcase_add_test(t, a_file_that_another_has_rotated_is_left_for_the_new_one);
    tcase_add_test(t, no_file_exceeds_its_size_and_each_starts_with_the_opening);
    tcase_add_test(t, a_line_longer_than_a_file_is_whole_all_the_same);
    tcase_add_test(t, keep_removes_the_oldest_and_no_other);
    tcase_add_test(t, a_rotation_is_one_rename_however_many_files_are_kept);
    tcase_add_loop_test(t, a_rotated_file_has_the_number_behind_the_highest_that_is_there,
                        0, sizeof numbers / sizeof numbers[0]);
    tcase_add_test(t, a_file_that_is_named_by_a_date_stays);
    tcase_add_test(t, behind_the_last_number_lines_go_on_in_the_file);
    tcase_add_test(t, numbers_of_a_path_without_the_ending_come_last);
    tcase_add_loop_test(t, a_number_that_became_free_is_not_given_again, 0, 2);
    tcase_add_test(t, what_is_older_than_a_keep_that_was_lowered_goes);
    tcase_add_test(t, numbers_ascend_whoever_rotates);
    tcase_add_loop_test(t, no_file_is_renamed_over_another, 0,
                        sizeof renaming / sizeof renaming[0]);
    tcase_add_test(t, a_file_that_somebody_takes_just_then_costs_no_rotation);
    tcase_add_test(t, a_rotation_that_fails_loses_nothing_and_goes_on_in_the_file);
    tcase_add_test(t, a_folder_in_the_way_costs_no_line);
    tcase_add_test(t, a_moved_file_is_written_to_while_its_path_cannot_be_opened);
    tcase_add_test(t, a_moved_file_is_not_rotated_over_what_is_at_the_path_now);
    tcase_add_test(t, a_removed_file_keeps_its_lines_until_its_path_can_be_opened);
    tcase_add_test(t, what_waits_does_not_grow_however_often_the_file_goes);
    tcase_add_test(t, a_line_begun_in_a_file_that_went_is_begun_again_in_the_next);
    tcase_add_test(t, a_fifo_takes_what_it_takes_and_is_never_waited_for);
    tcase_add_test(t, a_device_that_is_full_is_an_error_and_is_not_rotated);
    tcase_add_test(t, a_folder_at_the_path_is_refused);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
