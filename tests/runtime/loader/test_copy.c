/* SPDX-License-Identifier: MIT */
/* The private copy, in each place: it can be mapped, and nothing can change it or is left
 * of it. */
#include "runtime/loader/copy.h"

#include "tests/runtime/loader/scratch.h"

#include <admitperf/policy.h>
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char *bytes;
static size_t len;

static void set_up(void)
{
    scratch_create();
    setenv("TMPDIR", scratch_path("tmp"), 1);
    ck_assert_int_eq(mkdir(scratch_path("tmp"), 0700), 0);
    bytes = scratch_read(PLUGINS "/kv_threshold.so", &len);
}

static void tear_down(void)
{
    free(bytes);
    scratch_destroy();
}

static struct adp_copy create(enum adp_copy_place place)
{
    struct adp_copy copy;
    struct adp_error err = { 0 };
    int r = adp_copy_create(&copy, place, bytes, len, "/etc/kv_threshold.so", &err);
    ck_assert_msg(r == 0, "%s: %s", err.file, err.text);
    return copy;
}

/* Maps the copy; the policy must outlive its name. */
static void map_and_settle(struct adp_copy *copy)
{
    void *handle = dlopen(copy->path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(handle != NULL, "%s", dlerror());
    adp_copy_settle(copy);
    const adp_policy *policy = dlsym(handle, ADP_POLICY_SYMBOL);
    ck_assert_str_eq(policy->name, "kv_threshold");
}

START_TEST(a_copy_in_memory_can_be_mapped)
{
    struct adp_copy copy = create(ADP_COPY_MEMORY);
    map_and_settle(&copy);
    ck_assert_int_eq(fcntl(copy.fd, F_GETFD), FD_CLOEXEC); /* open, and only here */
}
END_TEST

START_TEST(a_copy_in_memory_cannot_be_changed_by_anybody)
{
    struct adp_copy copy = create(ADP_COPY_MEMORY);
    ck_assert_int_eq(pwrite(copy.fd, "x", 1, 0), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(ftruncate(copy.fd, 0), -1);
    ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, copy.fd, 0),
                     MAP_FAILED);
    int again = open(copy.path, O_WRONLY | O_TRUNC);
    ck_assert(again < 0 || pwrite(again, "x", 1, 0) < 0);
    ck_assert_int_eq(lseek(copy.fd, 0, SEEK_END), (off_t)len);
    adp_copy_discard(&copy);
}
END_TEST

/* A host that closed its standard input. */
START_TEST(a_copy_in_memory_is_none_of_the_standard_streams)
{
    int away = fcntl(0, F_DUPFD_CLOEXEC, 10);
    close(0);
    struct adp_copy copy = create(ADP_COPY_MEMORY);
    bool taken = fcntl(0, F_GETFD) >= 0;
    dup2(away, 0);
    close(away);
    ck_assert(!taken);
    ck_assert_int_gt(copy.fd, 2);
    map_and_settle(&copy);
}
END_TEST

START_TEST(copies_in_memory_have_names_of_their_own)
{
    struct adp_copy one = create(ADP_COPY_MEMORY), two = create(ADP_COPY_MEMORY);
    ck_assert_str_ne(one.path, two.path);
    adp_copy_discard(&one);
    adp_copy_discard(&two);
    ck_assert_int_eq(one.fd, -1);
}
END_TEST

START_TEST(a_copy_in_a_folder_can_be_mapped_and_leaves_nothing)
{
    struct stat st;
    struct adp_copy copy = create(ADP_COPY_FOLDER);
    ck_assert_int_eq(
        strncmp(copy.folder, scratch_path("tmp"), strlen(scratch_path("tmp"))), 0);
    ck_assert_int_eq(stat(copy.folder, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert_int_eq(stat(copy.path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0500);
    map_and_settle(&copy);
    ck_assert_int_eq(rmdir(scratch_path("tmp")), 0);
}
END_TEST

START_TEST(a_discarded_copy_leaves_nothing)
{
    struct adp_copy copy = create(ADP_COPY_FOLDER);
    adp_copy_discard(&copy);
    ck_assert_int_eq(rmdir(scratch_path("tmp")), 0);
}
END_TEST

START_TEST(a_folder_everybody_may_write_holds_no_copy)
{
    struct adp_copy copy;
    struct adp_error err = { 0 };
    chmod(scratch_path("tmp"), 0777);
    ck_assert_int_eq(
        adp_copy_create(&copy, ADP_COPY_FOLDER, bytes, len, "/etc/p.so", &err), ADP_EABI);
    ck_assert_str_eq(err.file, "/etc/p.so");
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_named)
{
    struct adp_copy copy;
    struct adp_error err = { 0 };
    setenv("TMPDIR", "/nowhere", 1);
    ck_assert_int_eq(
        adp_copy_create(&copy, ADP_COPY_FOLDER, bytes, len, "/etc/p.so", &err),
        ADP_ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "/nowhere"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("copy");
    TCase *t = tcase_create("copy");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_copy_in_memory_can_be_mapped);
    tcase_add_test(t, a_copy_in_memory_is_none_of_the_standard_streams);
    tcase_add_test(t, a_copy_in_memory_cannot_be_changed_by_anybody);
    tcase_add_test(t, copies_in_memory_have_names_of_their_own);
    tcase_add_test(t, a_copy_in_a_folder_can_be_mapped_and_leaves_nothing);
    tcase_add_test(t, a_discarded_copy_leaves_nothing);
    tcase_add_test(t, a_folder_everybody_may_write_holds_no_copy);
    tcase_add_test(t, a_folder_that_is_not_there_is_named);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
