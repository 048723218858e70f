/* SPDX-License-Identifier: MIT */
#include "core/logfile.h"

#include "tests/core/faulty_write.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>

static char folder[64], path[128];
static struct adp_logfile file, other;
static struct adp_line lines, opening;
static size_t written;

/* 2026-11-30T15:45:12.001Z, in which the first file is rotated; each rotation that a write
 * makes beside it is a millisecond later. */
static const uint64_t MS = 1000000u, FIRST_MS = 1796053512001u;
static uint64_t now_ms;
enum { WRITER = 0x7f3a, OTHER = 0x00b1 };

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
    file.writer = WRITER;
    other.writer = OTHER;
    now_ms = FIRST_MS;
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
    int code = adp_logfile_write(to, &lines, &written, &opening, now_ms * MS);
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
    int code = adp_logfile_write(&other, &own, &done, &none, now_ms * MS);
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

/* The n-th, of as many rotations at FIRST_MS. */
static const char *rotated_by(unsigned writer, unsigned n)
{
    static char name[64];
    snprintf(name, sizeof name, "r1.20261130T1545%02u.%03uZ-%04x.jsonl", 12 + n / 1000,
             n % 1000, writer);
    return name;
}

static const char *rotated(unsigned n)
{
    return rotated_by(WRITER, n);
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
    ck_assert_str_eq(content_of(rotated(1)), "one\ntwo\nthree\n");
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
    ck_assert_str_eq(content_of(rotated_by(OTHER, 1)), "opening\none\n");
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
    ck_assert_str_eq(content_of(rotated(1)), "first\naaaa\nbbbb\n"); /* 16 + 5 > 20 */
    ck_assert_str_eq(content_of(rotated(2)), "opening\ncccc\ndddd\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "opening\neeee\nffff\n");
}
END_TEST

/* Of 16 bytes, which is more than half of 20. */
START_TEST(a_file_with_a_long_opening_takes_as_much_of_lines)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 20, 5, NULL), 0);
    adp_line_puts(&opening, "a long opening.\n");
    ck_assert_int_eq(put(&file, "aaaa\nbbbb\n"), 0);
    ck_assert_int_eq(put(&file, "cccc\ndddd\n"), 0); /* 16 + 15, and 5 more */
    ck_assert_int_eq(put(&file, "eeee\nffff\ngggg\n"), 0);
    ck_assert_str_eq(content_of(rotated(1)), "a long opening.\naaaa\nbbbb\ncccc\n");
    ck_assert_str_eq(content_of(rotated(2)), "a long opening.\ndddd\neeee\nffff\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "a long opening.\ngggg\n");
}
END_TEST

/* Opened anew for each, by the same writer or by one that follows it: the first line makes a
 * file of 21 bytes, which is full. */
START_TEST(who_opens_it_anew_has_it_take_no_more)
{
    static const char *const put_in[] = { "aaaa\n", "bbbb\n", "cccc\n" };
    adp_line_puts(&opening, "a long opening.\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 20, 5, NULL), 0);
    for (int i = 0; i < 3; i++) {
        if (_i == 0)
            file.reopen = true;
        else if (i) {
            adp_logfile_close(&file);
            ck_assert_int_eq(adp_logfile_init(&file, path, 20, 5, NULL), 0);
            file.writer = WRITER;
        }
        ck_assert_int_eq(put(&file, put_in[i]), 0);
    }
    ck_assert_str_eq(content_of(rotated(1)), "a long opening.\naaaa\n");
    ck_assert_str_eq(content_of(rotated(2)), "a long opening.\nbbbb\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "a long opening.\ncccc\n");
}
END_TEST

START_TEST(a_line_longer_than_a_file_is_whole_all_the_same)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 10, 5, NULL), 0);
    adp_line_puts(&opening, "opening\n");
    ck_assert_int_eq(put(&file, "a line of more\nthan ten bytes\n"), 0);
    ck_assert_str_eq(content_of(rotated(1)), "opening\na line of more\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "opening\nthan ten bytes\n");
}
END_TEST

START_TEST(keep_removes_the_oldest_and_no_other)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 2, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n4th\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "4th\n");
    ck_assert_str_eq(content_of(rotated(3)), "3rd\n");
    ck_assert_str_eq(content_of(rotated(2)), "2nd\n");
    ck_assert_str_eq(content_of(rotated(1)), "(none)");
    ck_assert_str_eq(content_of(rotated(4)), "(none)");
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
    ck_assert_str_eq(content_of(rotated(1)), "1st\n");
    ck_assert_str_eq(content_of(rotated(299)), "1st\n");
}
END_TEST

static unsigned n_files(void)
{
    unsigned n = 0;
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* --- names --- */

static const struct {
    uint64_t ms;
    const char *name;
} times[] = {
    { 50,
      "r1.19700101T000000.050Z-7f3a.jsonl" }, /* of a simulation that has just begun */
    { 951782400000, "r1.20000229T000000.000Z-7f3a.jsonl" },
    { 1709251199999, "r1.20240229T235959.999Z-7f3a.jsonl" },
    { 1796053512042, "r1.20261130T154512.042Z-7f3a.jsonl" },
    { 1798761599000, "r1.20261231T235959.000Z-7f3a.jsonl" },
    { 4107501296000, "r1.21000228T123456.000Z-7f3a.jsonl" },
    { 4107542400000, "r1.21000301T000000.000Z-7f3a.jsonl" },
    { 18446744073709, "r1.25540721T233433.709Z-7f3a.jsonl" }, /* the end of 64 bits */
};

START_TEST(a_rotated_file_is_named_by_its_time_and_who_rotated_it)
{
    now_ms = times[_i].ms;
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of(times[_i].name), "1st\n");
}
END_TEST

START_TEST(of_a_path_without_the_ending_the_time_comes_last)
{
    char bare[128];
    snprintf(bare, sizeof bare, "%s/log", folder);
    make("log.20261130T154512.003Z-0001", "before\n");
    ck_assert_int_eq(adp_logfile_move(&file, bare, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of("log.20261130T154512.004Z-7f3a"), "1st\n");
}
END_TEST

/* Of this path, whoever rotated it: behind the newest. */
static const struct {
    const char *there, *next;
} newest[] = {
    { "r1.20261130T154512.000Z-ffff.jsonl", "r1.20261130T154512.001Z-7f3a.jsonl" },
    { "r1.20261130T154512.001Z-0000.jsonl", "r1.20261130T154512.002Z-7f3a.jsonl" },
    { "r1.20261130T154512.001Z-7f3a.jsonl", "r1.20261130T154512.002Z-7f3a.jsonl" },
    { "r1.20261130T154512.001Z-ffff.jsonl", "r1.20261130T154512.002Z-7f3a.jsonl" },
    { "r1.20261130T235959.999Z-00b1.jsonl", "r1.20261201T000000.000Z-7f3a.jsonl" },
    { "r1.20261201T154512.001Z-00b1.jsonl", "r1.20261201T154512.002Z-7f3a.jsonl" },
};

START_TEST(a_stamp_is_later_than_the_newest_that_is_there)
{
    make(newest[_i].there, "other\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of(newest[_i].next), "1st\n");
    ck_assert_str_eq(content_of(newest[_i].there), "other\n");
}
END_TEST

/* None is ours: it is not the newest, not one of those that are kept, and it stays. */
static const char *const foreign[] = {
    "r1.5.jsonl",                           /* the log of run r1.5 */
    "r1.5.20261130T154512.003Z-7f3a.jsonl", /* a rotated one of that */
    "r12.20261130T154512.003Z-7f3a.jsonl",  /* of r12 */
    "r.20261130T154512.003Z-7f3a.jsonl",    /* of r */
    "r1.20261130.jsonl",                    /* named by a date */
    "r1.20261130T154512Z.jsonl",            /* by a time */
    "r1.20261130T154512.003Z.jsonl",        /* in milliseconds */
    "r1.20261130T154512.003Z-7f3.jsonl",
    "r1.20261130T154512.003Z-7f3aa.jsonl",
    "r1.20261130T154512.003Z-7F3A.jsonl",
    "r1.20261130T154512.003z-7f3a.jsonl",
    "r1.20261130t154512.003Z-7f3a.jsonl",
    "r1.20261130T154512,003Z-7f3a.jsonl",
    "r1.20261130T154512.003Z-7f3a",
    "r1.20261130T154512.003Z-7f3a.jsonl.gz", /* packed by who looks after old ones */
    "r1.20261130T154512.003Z-7f3a.copy.jsonl",
    "r1-20261130T154512.003Z-7f3a.jsonl",
    "r1.jsonl.20261130T154512.003Z-7f3a",
    "r1.20261130T154512.003Z-7f3a.20261130T154512.003Z-7f3a.jsonl",
    "r1.20261131T154512.003Z-7f3a.jsonl", /* no such day */
    "r1.20260229T154512.003Z-7f3a.jsonl",
    "r1.20261130T240000.003Z-7f3a.jsonl",
    "r1.20261130T156012.003Z-7f3a.jsonl",
    "r1.20261130T154560.003Z-7f3a.jsonl",
    "r1.20260030T154512.003Z-7f3a.jsonl",
    "r1.20261100T154512.003Z-7f3a.jsonl",
    "r1.20261330T154512.003Z-7f3a.jsonl",
    "r1.19700100T154512.003Z-7f3a.jsonl",
    "r1.19691231T235959.999Z-7f3a.jsonl",
    "r1.20261201T154512.002Z-7f3a.jsonl", /* more than a day ahead */
    "r1.99991231T235959.999Z-ffff.jsonl",
    "r1..jsonl",
    "r1.jsonl.1",
};

START_TEST(what_is_named_otherwise_is_neither_counted_nor_removed)
{
    make(foreign[_i], "theirs\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 1, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n4th\n"), 0);
    ck_assert_str_eq(content_of(foreign[_i]), "theirs\n");
    ck_assert_str_eq(content_of(rotated(3)), "3rd\n");
    ck_assert_uint_eq(n_files(), 3);
}
END_TEST

/* One more for each 16 kept and each that writes: so seldom is the folder listed. */
START_TEST(the_newest_stay_and_at_most_a_sixteenth_more)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 32, NULL), 0);
    ck_assert_int_eq(put(&file, "old\n"), 0);
    for (unsigned i = 1; i < 100; i++) {
        ck_assert_int_eq(put(&file, "new\n"), 0);
        ck_assert_uint_le(n_files(), 1 + 34);
    }
    ck_assert_uint_eq(n_files(), 1 + 34); /* 99 rotations: listed at 1, 4, … 97 */
    ck_assert_int_eq(put(&file, "new\n"), 0);
    ck_assert_uint_eq(n_files(), 1 + 32);
    for (unsigned i = 1; i <= 100; i++)
        ck_assert_str_eq(content_of(rotated(i)), i <= 68 ? "(none)" : "new\n");
}
END_TEST

START_TEST(what_is_older_than_a_keep_that_was_lowered_goes)
{
    for (unsigned i = 1; i <= 200; i++)
        make(rotated_by(i, 1), "old\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 3, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0); /* 64 at each */
    ck_assert_uint_eq(n_files(), 200 - 64 + 2);
    ck_assert_str_eq(content_of(rotated_by(64, 1)), "(none)");
    ck_assert_str_eq(content_of(rotated_by(65, 1)), "old\n");
    ck_assert_int_eq(put(&file, "3rd\n4th\n5th\n"), 0);
    ck_assert_uint_eq(n_files(), 1 + 3);
    ck_assert_str_eq(content_of(rotated(2)), "(none)"); /* .001 were the old ones */
    ck_assert_str_eq(content_of(rotated(3)), "2nd\n");
    ck_assert_str_eq(content_of(rotated(5)), "4th\n");
}
END_TEST

/* With 32 kept the folder is listed at each third rotation; not so while there is too much. */
START_TEST(what_is_much_too_old_goes_at_rotations_that_would_not_list)
{
    for (unsigned i = 1; i <= 200; i++)
        make(rotated_by(i, 1), "old\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 32, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n4th\n"), 0);
    ck_assert_uint_eq(n_files(), 1 + 32); /* 200 + 3 - 64 - 64 - 43 */
    ck_assert_str_eq(content_of(rotated(2)), "1st\n");
    ck_assert_str_eq(content_of(rotated(4)), "3rd\n");
}
END_TEST

START_TEST(a_keep_that_is_lowered_while_it_writes_holds_at_the_next_rotation)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 1000, NULL), 0);
    for (unsigned i = 0; i <= 20; i++)
        ck_assert_int_eq(put(&file, "old\n"), 0);
    ck_assert_uint_eq(n_files(), 1 + 20);
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 2, NULL), 0);
    ck_assert_int_eq(put(&file, "new\n"), 0);
    ck_assert_uint_eq(n_files(), 1 + 2);
    ck_assert_str_eq(content_of(rotated(21)), "old\n");
    ck_assert_str_eq(content_of(rotated(20)), "old\n");
}
END_TEST

START_TEST(what_lies_there_is_found_by_who_comes_later)
{
    ck_assert_int_eq(adp_logfile_move(&other, path, 4, 2, NULL), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(put_other("1st\n"), 0);
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 2, NULL), 0);
    ck_assert_int_eq(put(&file, "2nd\n"), 0);
    ck_assert_str_eq(content_of(rotated(4)), "1st\n");
    ck_assert_str_eq(content_of(rotated_by(OTHER, 3)), "1st\n");
    ck_assert_uint_eq(n_files(), 1 + 2);
}
END_TEST

/* Somebody ships what is rotated: one that rotated a hundred times, and one that has just
 * begun, are alike. */
START_TEST(what_a_newcomer_rotates_is_not_too_old_for_who_rotated_much)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 10, NULL), 0);
    ck_assert_int_eq(adp_logfile_move(&other, path, 4, 10, NULL), 0);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(put_other("1st\n"), 0);
    for (unsigned i = 90; i < 100; i++)
        take(rotated_by(OTHER, i));
    now_ms += 500;
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(put(&file, "2nd\n"), 0);
    ck_assert_int_eq(put_other("3rd\n"), 0);
    ck_assert_uint_eq(n_files(), 1 + 6);
    ck_assert_str_eq(content_of(rotated(501)), "1st\n");
    for (unsigned i = 502; i <= 505; i++)
        ck_assert_str_eq(content_of(rotated(i)), "2nd\n");
}
END_TEST

/* How the clock of both goes on from round to round. */
static const int64_t paces_ms[] = { 0, 1, 1000, -1, -3600000 };

/* Two write in turn, and rotate before each line; somebody takes all files that are
 * rotated, into a folder that has each name once. */
START_TEST(of_what_is_taken_away_each_line_is_there_once_and_no_name_is_used_twice)
{
    enum { ROUNDS = 20 };
    static unsigned seen[2][10 * ROUNDS];
    char command[400], from[256], to[288];
    unsigned n[2] = { 0 }, files = 0;
    memset(seen, 0, sizeof seen);
    snprintf(command, sizeof command, "mkdir '%s/.taken'", folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(adp_logfile_move(&file, path, 5, 10, NULL), 0);
    ck_assert_int_eq(adp_logfile_move(&other, path, 5, 10, NULL), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        char line[16];
        for (unsigned i = 0; i < 4; i++) {
            unsigned who = (round + i) % 3 == 0;
            snprintf(line, sizeof line, "%c%03u\n", 'a' + who, n[who]++);
            ck_assert_int_eq(who ? put_other(line) : put(&file, line), 0);
        }
        now_ms = (uint64_t)((int64_t)now_ms + paces_ms[_i]);
        DIR *dir = opendir(folder);
        for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
            if (e->d_name[0] == '.' || strcmp(e->d_name, "r1.jsonl") == 0)
                continue;
            snprintf(from, sizeof from, "%s/%.100s", folder, e->d_name);
            snprintf(to, sizeof to, "%s/.taken/%.100s", folder, e->d_name);
            ck_assert_msg(access(to, F_OK) < 0, "%s again", e->d_name);
            ck_assert_int_eq(rename(from, to), 0);
            files++;
        }
        closedir(dir);
    }
    ck_assert_uint_eq(files, 4 * ROUNDS - 1);
    snprintf(command, sizeof command, "cat '%s'/.taken/* '%s' >'%s/all'", folder, path,
             folder);
    ck_assert_int_eq(system(command), 0);
    snprintf(from, sizeof from, "%s/all", folder);
    FILE *f = fopen(from, "r");
    ck_assert_ptr_nonnull(f);
    for (char who; fscanf(f, "%c%3u\n", &who, &files) == 2;)
        seen[who == 'b'][files]++;
    fclose(f);
    for (unsigned who = 0; who < 2; who++)
        for (unsigned i = 0; i < n[who]; i++)
            ck_assert_uint_eq(seen[who][i], 1);
}
END_TEST

/* --- a clock that is set back --- */

START_TEST(behind_a_clock_that_was_set_back_stamps_go_on)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 2, NULL), 0);
    ck_assert_int_eq(adp_logfile_move(&other, path, 4, 2, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    now_ms -= 3600000;
    ck_assert_int_eq(put(&file, "3rd\n"), 0);
    ck_assert_int_eq(put_other("4th\n"), 0); /* learns it from the names */
    ck_assert_str_eq(content_of(rotated(2)), "2nd\n");
    ck_assert_str_eq(content_of(rotated_by(OTHER, 3)), "3rd\n");
    ck_assert_uint_eq(n_files(), 1 + 2);
}
END_TEST

/* What is a day or more ahead nobody knows who starts now; so nobody reckons with it. */
START_TEST(behind_one_set_back_by_more_than_a_day_all_begin_anew)
{
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 2, NULL), 0);
    ck_assert_int_eq(adp_logfile_move(&other, path, 4, 2, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n"), 0); /* .001 and .002 */
    now_ms -= 86400000 + 2;
    ck_assert_int_eq(put_other("4th\n5th\n"), 0);
    ck_assert_int_eq(put(&file, "6th\n"), 0);
    ck_assert_str_eq(content_of("r1.20261129T154511.999Z-00b1.jsonl"), "(none)");
    ck_assert_str_eq(content_of("r1.20261129T154512.000Z-00b1.jsonl"), "4th\n");
    ck_assert_str_eq(content_of("r1.20261129T154512.001Z-7f3a.jsonl"), "5th\n");
    ck_assert_str_eq(content_of(rotated(2)), "2nd\n"); /* until their time comes */
}
END_TEST

static void somebody_has_the_name(const char *from)
{
    ck_assert_str_eq(from, path);
    make(rotated(1), "theirs\n");
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
    renames.before = somebody_has_the_name;
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of(rotated(1)), "theirs\n");
    ck_assert_str_eq(content_of(rotated(2)), "1st\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "2nd\n");
    ck_assert_uint_eq(file.troubles, 0);
}
END_TEST

static void somebody_has_a_thousand(const char *from)
{
    ck_assert_str_eq(from, path);
    for (unsigned i = 1; i <= 1000; i++)
        make(rotated(i), "theirs\n");
}

START_TEST(of_many_taken_names_the_next_behind_all_is_used)
{
    renames.before = somebody_has_a_thousand;
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 10000, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_str_eq(content_of(rotated(1000)), "theirs\n");
    ck_assert_str_eq(content_of(rotated(1001)), "1st\n");
    ck_assert_uint_eq(renames.made, 2);
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
    make(rotated(1), "old\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 1, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n"), 0);
    ck_assert_str_eq(content_of("r1.jsonl"), "1st\n2nd\n3rd\n");
    ck_assert_str_eq(content_of(rotated(1)), "old\n");
    ck_assert_uint_eq(file.troubles, 1);
}
END_TEST

/* It is passed by, and stays. */
START_TEST(a_folder_in_the_way_costs_no_line)
{
    char command[192];
    snprintf(command, sizeof command, "mkdir -p '%s/%s/x'", folder, rotated(1));
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 1, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n"), 0);
    ck_assert_str_eq(content_of(rotated(3)), "2nd\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "3rd\n");
    ck_assert_uint_eq(n_files(), 3);
    ck_assert_uint_eq(file.troubles, 0);
}
END_TEST

/* --- what becomes of the path --- */

START_TEST(a_moved_file_is_complete_and_what_follows_waits_for_the_path)
{
    char moved[160];
    ck_assert_int_eq(adp_logfile_move(&file, path, 4 * (uint64_t)_i, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "one\n"), 0);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0); /* as good as a folder one may not write to */
    ck_assert_int_eq(put(&file, "two\n"), -EISDIR);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(put(&file, ""), 0);
    ck_assert_str_eq(content_of("moved"), "one\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "two\n");
    ck_assert_str_eq(content_of(rotated(1)), "(none)");
}
END_TEST

START_TEST(
    a_file_that_another_has_rotated_is_complete_also_when_the_new_one_cannot_be_opened)
{
    struct rlimit before, none;
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 5, NULL), 0);
    ck_assert_int_eq(adp_logfile_move(&other, path, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n"), 0);
    renames.error = renaming[_i];
    ck_assert_int_eq(put_other("2nd\n"), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(put(&file, "3rd\n"), -EMFILE);
    ck_assert_int_eq(put(&file, ""), -EMFILE);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_str_eq(content_of(rotated_by(OTHER, 1)), "1st\n");
    ck_assert_int_eq(put(&file, ""), 0);
    ck_assert_str_eq(content_of(rotated_by(OTHER, 1)), "1st\n");
    ck_assert_str_eq(content_of(rotated_by(WRITER, 2)), "2nd\n");
    ck_assert_str_eq(content_of("r1.jsonl"), "3rd\n");
}
END_TEST

/* Root is somebody else for that; whoever runs this else has no right to the own folder. */
static void look(bool may)
{
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(may ? 0 : 65534), 0);
    else
        ck_assert_int_eq(chmod(folder, may ? 0700 : 0), 0);
}

static const struct {
    bool rotates, named, moved;
    int code;
} unseen[] = {
    { false, true, false, 0 },      { true, true, false, 0 },
    { false, true, true, -EACCES }, { true, true, true, -EACCES },
    { false, false, false, 0 },     { true, false, false, -EACCES },
};

START_TEST(who_may_not_look_at_the_path_any_more_writes_to_the_file_while_it_has_its_name)
{
    char moved[160];
    snprintf(moved, sizeof moved, "%s/moved", folder);
    ck_assert_int_eq(adp_logfile_move(&file, path, unseen[_i].rotates ? 100 : 0, 5, NULL),
                     0);
    ck_assert_int_eq(put(&file, "one\n"), 0);
    if (!unseen[_i].named)
        file.name[0] = '\0'; /* there was no /proc */
    if (unseen[_i].moved)
        ck_assert_int_eq(rename(path, moved), 0);
    look(false);
    int code = put(&file, "two\n");
    look(true);
    ck_assert_int_eq(code, unseen[_i].code);
    ck_assert_str_eq(content_of(unseen[_i].moved ? "moved" : "r1.jsonl"),
                     code == 0 ? "one\ntwo\n" : "one\n");
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

/* --- a link at the path --- */

/* To a file beside others of its own: `there` is it, before the first line. */
static void make_link(const char *there)
{
    char command[400];
    snprintf(command, sizeof command, "mkdir '%s/data' && ln -s data/%s '%s'", folder,
             there, path);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(a_link_stays_and_what_it_leads_to_is_rotated_where_it_lies)
{
    struct stat st;
    make_link("real.jsonl");
    if (_i)
        make("data/real.jsonl", "old\n");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 2, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n3rd\n4th\n"), 0);
    ck_assert_int_eq(lstat(path, &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    ck_assert_uint_eq(n_files(), 2); /* the folder beside it */
    ck_assert_str_eq(content_of("data/real.jsonl"), "4th\n");
    ck_assert_str_eq(content_of(_i ? "data/real.20261130T154512.004Z-7f3a.jsonl"
                                   : "data/real.20261130T154512.003Z-7f3a.jsonl"),
                     "3rd\n");
    ck_assert_str_eq(content_of("data/real.20261130T154512.001Z-7f3a.jsonl"), "(none)");
}
END_TEST

START_TEST(a_link_that_leads_elsewhere_is_followed)
{
    make_link("a.jsonl");
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 2, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n"), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("data/b.jsonl", path), 0);
    ck_assert_int_eq(put(&file, "2nd\n3rd\n"), 0);
    ck_assert_str_eq(content_of("data/a.jsonl"), "1st\n");
    ck_assert_str_eq(content_of("data/b.20261130T154512.001Z-7f3a.jsonl"), "2nd\n");
    ck_assert_str_eq(content_of("data/b.jsonl"), "3rd\n");
}
END_TEST

/* One by the link, one by the file's own name: it is one file. */
START_TEST(who_comes_by_a_link_shares_the_file_with_who_does_not)
{
    char real[160];
    make_link("real.jsonl");
    snprintf(real, sizeof real, "%s/data/real.jsonl", folder);
    ck_assert_int_eq(adp_logfile_move(&file, path, 4, 5, NULL), 0);
    ck_assert_int_eq(adp_logfile_move(&other, real, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n"), 0);
    ck_assert_int_eq(put_other("2nd\n"), 0);
    ck_assert_int_eq(put(&file, "3rd\n"), 0);
    ck_assert_str_eq(content_of("data/real.20261130T154512.001Z-00b1.jsonl"), "1st\n");
    ck_assert_str_eq(content_of("data/real.20261130T154512.002Z-7f3a.jsonl"), "2nd\n");
    ck_assert_str_eq(content_of("data/real.jsonl"), "3rd\n");
}
END_TEST

START_TEST(a_name_that_leaves_no_room_for_the_time_is_refused_where_it_is_rotated)
{
    char name[300];
    struct adp_error err = { 0 };
    snprintf(name, sizeof name, "%s/%0229d", folder, 0); /* 229 + 26 are 255 */
    ck_assert_int_eq(adp_logfile_move(&file, name, 4, 5, NULL), 0);
    ck_assert_int_eq(put(&file, "1st\n2nd\n"), 0);
    ck_assert_uint_eq(n_files(), 2);
    snprintf(name, sizeof name, "%s/%0230d", folder, 0);
    ck_assert_int_eq(adp_logfile_move(&file, name, 0, 5, NULL), 0);
    ck_assert_int_eq(adp_logfile_move(&file, name, 4, 5, &err), ADP_EINVAL);
    ck_assert_str_eq(err.text, "the log's name is too long for rotated files, which have "
                               "26 characters more: at most 255 in all");
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
    ck_assert_str_eq(content_of(rotated(1)), "(none)");
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
    tcase_add_test(t, a_file_with_a_long_opening_takes_as_much_of_lines);
    tcase_add_loop_test(t, who_opens_it_anew_has_it_take_no_more, 0, 2);
    tcase_add_test(t, a_line_longer_than_a_file_is_whole_all_the_same);
    tcase_add_test(t, keep_removes_the_oldest_and_no_other);
    tcase_add_test(t, a_rotation_is_one_rename_however_many_files_are_kept);
    tcase_add_loop_test(t, a_rotated_file_is_named_by_its_time_and_who_rotated_it, 0,
                        sizeof times / sizeof times[0]);
    tcase_add_test(t, of_a_path_without_the_ending_the_time_comes_last);
    tcase_add_loop_test(t, a_stamp_is_later_than_the_newest_that_is_there, 0,
                        sizeof newest / sizeof newest[0]);
    tcase_add_loop_test(t, what_is_named_otherwise_is_neither_counted_nor_removed, 0,
                        sizeof foreign / sizeof foreign[0]);
    tcase_add_test(t, the_newest_stay_and_at_most_a_sixteenth_more);
    tcase_add_test(t, what_is_older_than_a_keep_that_was_lowered_goes);
    tcase_add_test(t, what_is_much_too_old_goes_at_rotations_that_would_not_list);
    tcase_add_test(t, a_keep_that_is_lowered_while_it_writes_holds_at_the_next_rotation);
    tcase_add_test(t, what_lies_there_is_found_by_who_comes_later);
    tcase_add_test(t, what_a_newcomer_rotates_is_not_too_old_for_who_rotated_much);
    tcase_add_loop_test(
        t, of_what_is_taken_away_each_line_is_there_once_and_no_name_is_used_twice, 0,
        sizeof paces_ms / sizeof paces_ms[0]);
    tcase_add_test(t, behind_a_clock_that_was_set_back_stamps_go_on);
    tcase_add_test(t, behind_one_set_back_by_more_than_a_day_all_begin_anew);
    tcase_add_loop_test(t, no_file_is_renamed_over_another, 0,
                        sizeof renaming / sizeof renaming[0]);
    tcase_add_test(t, of_many_taken_names_the_next_behind_all_is_used);
    tcase_add_test(t, a_file_that_somebody_takes_just_then_costs_no_rotation);
    tcase_add_test(t, a_rotation_that_fails_loses_nothing_and_goes_on_in_the_file);
    tcase_add_test(t, a_folder_in_the_way_costs_no_line);
    tcase_add_loop_test(t, a_moved_file_is_complete_and_what_follows_waits_for_the_path,
                        0, 2);
    tcase_add_loop_test(
        t,
        a_file_that_another_has_rotated_is_complete_also_when_the_new_one_cannot_be_opened,
        0, sizeof renaming / sizeof renaming[0]);
    tcase_add_loop_test(
        t, who_may_not_look_at_the_path_any_more_writes_to_the_file_while_it_has_its_name,
        0, sizeof unseen / sizeof unseen[0]);
    tcase_add_test(t, a_removed_file_keeps_its_lines_until_its_path_can_be_opened);
    tcase_add_test(t, what_waits_does_not_grow_however_often_the_file_goes);
    tcase_add_test(t, a_line_begun_in_a_file_that_went_is_begun_again_in_the_next);
    tcase_add_loop_test(t, a_link_stays_and_what_it_leads_to_is_rotated_where_it_lies, 0,
                        2);
    tcase_add_test(t, a_link_that_leads_elsewhere_is_followed);
    tcase_add_test(t, who_comes_by_a_link_shares_the_file_with_who_does_not);
    tcase_add_test(
        t, a_name_that_leaves_no_room_for_the_time_is_refused_where_it_is_rotated);
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
