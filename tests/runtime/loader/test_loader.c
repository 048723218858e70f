/* SPDX-License-Identifier: MIT */
/* Loading: what is refused and how it is said, and that what is loaded cannot be touched
 * from outside any more. PLUGINS, POLICIES and BAD are folders of the build tree. */
#include "runtime/loader/loader.h"

#include "tests/runtime/loader/scratch.h"

#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#if defined __x86_64__
#define HERE      "x86_64 (62)"
#define ELSEWHERE EM_AARCH64
#define THERE     "aarch64 (machine 183)"
#else
#define HERE      "aarch64 (183)"
#define ELSEWHERE EM_X86_64
#define THERE     "x86_64 (machine 62)"
#endif

static const char kv_threshold[] = PLUGINS "/kv_threshold.so";
static const char queue_depth[] = PLUGINS "/queue_depth.so";

/* Loads what must not load; the error names the file and says `text`. */
static void refused_as(const char *path, const char *sha256, int code, const char *text)
{
    struct adp_loaded *loaded = NULL;
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_loader_load(&loaded, path, sha256, &err), code);
    ck_assert_ptr_null(loaded);
    ck_assert_int_eq(err.code, code);
    ck_assert_str_eq(err.file, path);
    ck_assert_str_eq(err.text, text);
    ck_assert_int_eq(adp_loader_load(&loaded, path, sha256, NULL), code);
}

static struct adp_loaded *load(const char *path)
{
    struct adp_loaded *loaded = NULL;
    struct adp_error err = { 0 };
    int r = adp_loader_load(&loaded, path, NULL, &err);
    ck_assert_msg(r == 0, "%s: %s", err.file, err.text);
    return loaded;
}

static const struct {
    const char *file, *text;
} bad[] = {
    { "wrong_magic", "has the wrong magic 0x32504441, expected 0x31504441 (\"ADP1\")" },
    { "wrong_size", "has the wrong size: adp_policy is 96 bytes, expected at least 152 "
                    "and a multiple of 8" },
    { "row_size", "has the wrong size: adp_param is 48 bytes, expected at least 56 and a "
                  "multiple of 8" },
    { "newer_host",
      "needs a newer host: one of minor 3 of major 1 or later, this host speaks minor 0; "
      "compile it with -DADP_ABI_MINOR=0 to run here" },
    { "card_word",
      "card: slo_awareness is \"troughput\", expected deadline | throughput | fairness | "
      "cost | stability; nearest is \"throughput\"" },
    { "no_end", "the doc is not ended by a NUL" },
    { "no_entry", "exports no object admitperf_policy_v1; nearest is admitperf_policy" },
    { "stranger",
      "exports no object admitperf_policy_v1, nor a name like it among its 1" },
    { "function_entry", "exports admitperf_policy_v1 as a function, expected a constant "
                        "object of type adp_policy" },
    { "zeroed_entry",
      "has no initial value for admitperf_policy_v1, expected a constant object" },
    { "missing_function", "cannot be linked: undefined symbol: nobody_defines_this" },
};

START_TEST(a_policy_with_one_defect_is_refused_for_it)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.so", BAD, bad[_i].file);
    refused_as(path, NULL, ADP_EABI, bad[_i].text);
}
END_TEST

START_TEST(a_head_that_claims_more_than_its_object_is_refused)
{
    struct adp_loaded *loaded = NULL;
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_loader_load(&loaded, BAD "/size_beyond.so", NULL, &err),
                     ADP_EABI);
    /* 152, or what clang's ASan puts behind it as well. */
    const char *expected =
        "has the wrong size: adp_policy says 400 bytes, its symbol holds 1";
    ck_assert_msg(strncmp(err.text, expected, strlen(expected)) == 0, "%s", err.text);
}
END_TEST

START_TEST(other_majors_are_named_beside_ours)
{
    /* The linker chooses the order of the two. */
    struct adp_loaded *loaded = NULL;
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_loader_load(&loaded, BAD "/other_major.so", NULL, &err),
                     ADP_EABI);
    const char *tail = " of the policy ABI, this host speaks major 1";
    char one[128], two[128];
    snprintf(one, sizeof one, "is written for major 0, 2%s", tail);
    snprintf(two, sizeof two, "is written for major 2, 0%s", tail);
    ck_assert_msg(!strcmp(err.text, one) || !strcmp(err.text, two), "%s", err.text);
}
END_TEST

/* A sound policy with some bytes of its ELF head changed. */
static const struct {
    const char *name;
    size_t at;
    uint16_t to;
    size_t width;
    const char *text;
} patched[] = {
    { "machine", offsetof(Elf64_Ehdr, e_machine), ELSEWHERE, 2,
      "is built for " THERE ", this host is " HERE },
    { "unknown machine", offsetof(Elf64_Ehdr, e_machine), 65000, 2,
      "is built for unknown (machine 65000), this host is " HERE },
    { "class", EI_CLASS, ELFCLASS32, 1,
      "is a 32-bit little-endian object, expected 64-bit little-endian" },
    { "byte order", EI_DATA, ELFDATA2MSB, 1,
      "is a 64-bit big-endian object, expected 64-bit little-endian" },
    { "program", offsetof(Elf64_Ehdr, e_type), ET_EXEC, 2,
      "is an ELF file of type 2, expected a shared object (3)" },
    { "magic", EI_MAG3, 'G', 1, "is not an ELF file, expected a shared object" },
    { "no segments", offsetof(Elf64_Ehdr, e_phnum), 0, 2,
      "has 0 program headers of 56 bytes, expected 1 to 256 of 56" },
};

START_TEST(a_file_for_another_loader_is_refused_for_it)
{
    size_t len;
    unsigned char *bytes = scratch_read(kv_threshold, &len);
    memcpy(bytes + patched[_i].at, &patched[_i].to, patched[_i].width);
    const char *path = scratch_write("p.so", bytes, len, 0644);
    refused_as(path, NULL, ADP_EABI, patched[_i].text);
    free(bytes);
}
END_TEST

START_TEST(a_text_file_is_not_elf)
{
    refused_as(scratch_write("p.so", "hello, world\n", 13, 0644), NULL, ADP_EABI,
               "is not an ELF file, expected a shared object");
}
END_TEST

START_TEST(an_empty_file_is_not_elf)
{
    refused_as(scratch_write("p.so", "", 0, 0644), NULL, ADP_EABI,
               "is not an ELF file, expected a shared object");
}
END_TEST

START_TEST(a_truncated_file_is_refused_by_what_is_missing)
{
    size_t len;
    char text[128];
    unsigned char *bytes = scratch_read(kv_threshold, &len);
    refused_as(scratch_write("a.so", bytes, 20, 0644), NULL, ADP_EABI,
               "is cut short: 20 bytes, an ELF head has 64");
    refused_as(scratch_write("b.so", bytes, 100, 0644), NULL, ADP_EABI,
               "is cut short: its program headers end past its 100 bytes");

    /* One byte less than the last loaded segment needs. */
    Elf64_Ehdr head;
    Elf64_Phdr p;
    size_t last = 0;
    unsigned which = 0;
    memcpy(&head, bytes, sizeof head);
    for (unsigned i = 0; i < head.e_phnum; i++) {
        memcpy(&p, bytes + head.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_LOAD && p.p_offset + p.p_filesz > last) {
            last = (size_t)(p.p_offset + p.p_filesz);
            which = i;
        }
    }
    snprintf(text, sizeof text, "is cut short: segment %u ends past its %zu bytes", which,
             last - 1);
    refused_as(scratch_write("c.so", bytes, last - 1, 0644), NULL, ADP_EABI, text);
    free(bytes);
}
END_TEST

START_TEST(a_missing_file_is_said_to_be_missing)
{
    refused_as(scratch_path("none.so"), NULL, ADP_ENOENT, "there is no such file");
}
END_TEST

START_TEST(a_relative_path_is_never_tried)
{
    refused_as("kv_wall.so", NULL, ADP_EINVAL,
               "the path is relative, expected an absolute one");
    refused_as("./kv_wall.so", NULL, ADP_EINVAL,
               "the path is relative, expected an absolute one");
}
END_TEST

START_TEST(a_folder_is_refused)
{
    ck_assert_int_eq(mkdir(scratch_path("d.so"), 0755), 0);
    refused_as(scratch_path("d.so"), NULL, ADP_EABI,
               "is a folder, expected a shared object");
}
END_TEST

START_TEST(a_fifo_is_refused_without_waiting_for_a_writer)
{
    ck_assert_int_eq(mkfifo(scratch_path("p.so"), 0644), 0);
    refused_as(scratch_path("p.so"), NULL, ADP_EABI,
               "is a FIFO, expected a shared object");
}
END_TEST

START_TEST(a_socket_is_refused)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", scratch_path("p.so"));
    ck_assert_int_eq(bind(s, (struct sockaddr *)&at, sizeof at), 0);
    refused_as(scratch_path("p.so"), NULL, ADP_EABI,
               "is a socket, expected a shared object");
    close(s);
}
END_TEST

START_TEST(a_device_is_refused)
{
    refused_as("/dev/null", NULL, ADP_EABI,
               "is a character device, expected a shared object");
}
END_TEST

START_TEST(a_file_past_the_bound_is_refused_unread)
{
    const char *path = scratch_write("p.so", "", 0, 0644);
    char text[128];
    ck_assert_int_eq(truncate(path, ADP_LOADER_MAX_BYTES + 1), 0);
    snprintf(text, sizeof text, "has %u bytes, expected at most %u",
             ADP_LOADER_MAX_BYTES + 1, ADP_LOADER_MAX_BYTES);
    refused_as(path, NULL, ADP_EFULL, text);
}
END_TEST

START_TEST(a_file_everybody_may_write_is_refused)
{
    const char *path = scratch_copy(kv_threshold, "p.so");
    chmod(path, 0666);
    refused_as(path, NULL, ADP_EABI,
               "is writable by everybody (mode 0666), expected 0775 or less");
    chmod(path, 0664);
    adp_loaded_destroy(load(path));
}
END_TEST

START_TEST(a_folder_everybody_may_write_is_refused_unless_sticky)
{
    char text[4096];
    const char *folder = scratch_path("d");
    ck_assert_int_eq(mkdir(folder, 0755), 0);
    const char *path = scratch_copy(kv_threshold, "d/p.so");
    snprintf(text, sizeof text,
             "lies in %s, which everybody may write to (mode 0777), expected a folder of "
             "its owner's",
             folder);
    chmod(folder, 0777);
    refused_as(path, NULL, ADP_EABI, text);
    chmod(folder, 01777);
    adp_loaded_destroy(load(path));
    chmod(folder, 0775);
    adp_loaded_destroy(load(path));
}
END_TEST

START_TEST(a_link_into_a_folder_everybody_may_write_is_refused)
{
    const char *folder = scratch_path("d"), *link = scratch_path("link.so");
    struct adp_loaded *loaded = NULL;
    ck_assert_int_eq(mkdir(folder, 0755), 0);
    ck_assert_int_eq(symlink(scratch_copy(kv_threshold, "d/p.so"), link), 0);
    adp_loaded_destroy(load(link));
    chmod(folder, 0777);
    ck_assert_int_eq(adp_loader_load(&loaded, link, NULL, NULL), ADP_EABI);
}
END_TEST

/* FIPS 180-4's own example through a file, so that the digest is not held against
 * itself. */
START_TEST(another_sha256_than_expected_is_refused)
{
    const char *path = scratch_write("p.so", "abc", 3, 0644);
    char zeros[65], text[256];
    memset(zeros, '0', 64);
    zeros[64] = '\0';
    snprintf(text, sizeof text,
             "has sha256 "
             "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, "
             "expected %s",
             zeros);
    refused_as(path, zeros, ADP_EABI, text);
    refused_as(path, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
               ADP_EABI, "is not an ELF file, expected a shared object");
}
END_TEST

START_TEST(the_expected_sha256_loads)
{
    struct adp_loaded *first = load(kv_threshold), *second = NULL;
    ck_assert_uint_eq(strlen(first->sha256), 64);
    ck_assert_int_eq(adp_loader_load(&second, kv_threshold, first->sha256, NULL), 0);
    ck_assert_str_eq(second->sha256, first->sha256);
    adp_loaded_destroy(first);
    adp_loaded_destroy(second);
}
END_TEST

START_TEST(a_loaded_policy_shows_its_tables)
{
    struct adp_loaded *l = load(kv_threshold);
    ck_assert_str_eq(l->path, kv_threshold);
    ck_assert_str_eq(l->policy.name, "kv_threshold");
    ck_assert(!l->baseline);
    ck_assert_uint_eq(l->policy.n_signals, 1);
    ck_assert_str_eq(adp_loaded_signal(l, 0).name, "kv_pressure");
    ck_assert_str_eq(adp_loaded_param(l, 0).name, "threshold");
    ck_assert_uint_eq(adp_loaded_param(l, 0).flags, ADP_REQUIRED);
    ck_assert_uint_eq(adp_loaded_gate(l, 0).op, ADP_GE);
    ck_assert_str_eq(adp_loaded_card(l).signal_structure, "scalar");
    adp_loaded_destroy(l);

    l = load(PLUGINS "/no_admission.so");
    ck_assert(l->baseline);
    adp_loaded_destroy(l);
    l = load(POLICIES "/undecided.so");
    ck_assert_ptr_null(adp_loaded_card(l).unit);
    adp_loaded_destroy(l);
    adp_loaded_destroy(NULL);
}
END_TEST

START_TEST(a_policy_of_a_later_minor_loads_and_its_rows_keep_their_stride)
{
    struct adp_loaded *l = load(POLICIES "/later_minor.so");
    ck_assert_uint_eq(l->policy.size, 152 + 2048);
    ck_assert_uint_eq(l->policy.signal_size, 32);
    ck_assert_uint_eq(l->policy.n_signals, 2);
    ck_assert_str_eq(adp_loaded_signal(l, 1).name, "queue_depth");
    ck_assert_str_eq(adp_loaded_signal(l, 1).unit, "requests");
    adp_loaded_destroy(l);
}
END_TEST

/* An answer of kv_threshold 0.5 to a cache at 0.6: a refusal. */
static uint32_t ask(const struct adp_loaded *loaded)
{
    const double signal[] = { 0.6 }, param[] = { 0.5 };
    const adp_request request = { .size = sizeof request };
    const adp_view view = { .size = sizeof view,
                            .present = 1,
                            .signal = signal,
                            .param = param,
                            .request = &request };
    adp_verdict verdict = { .size = sizeof verdict, .binding = ADP_NONE };
    loaded->policy.decide(NULL, &view, &verdict);
    return verdict.action;
}

START_TEST(the_file_can_be_destroyed_under_a_running_policy)
{
    const char *path = scratch_copy(kv_threshold, "p.so");
    struct adp_loaded *loaded = load(path);
    int fd = open(path, O_WRONLY);
    for (size_t i = 0; i < 4096; i++)
        ck_assert_int_eq(write(fd, "\xcc\xcc\xcc\xcc", 4), 4);
    ck_assert_uint_eq(ask(loaded), ADP_REJECT);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    close(fd);
    ck_assert_uint_eq(ask(loaded), ADP_REJECT);
    unlink(path);
    ck_assert_uint_eq(ask(loaded), ADP_REJECT);
    ck_assert_str_eq(adp_loaded_param(loaded, 0).name, "threshold");
    adp_loaded_destroy(loaded);
}
END_TEST

START_TEST(a_file_replaced_under_its_name_brings_the_new_code)
{
    const char *path = scratch_copy(kv_threshold, "p.so");
    struct adp_loaded *before = load(path);
    scratch_copy(queue_depth, "p.so");
    struct adp_loaded *after = load(path);
    ck_assert_str_eq(before->policy.name, "kv_threshold");
    ck_assert_str_eq(after->policy.name, "queue_depth");
    ck_assert_str_ne(before->sha256, after->sha256);
    ck_assert_uint_eq(ask(before), ADP_REJECT);
    adp_loaded_destroy(before);
    adp_loaded_destroy(after);
}
END_TEST

START_TEST(the_same_bytes_are_mapped_once_wherever_they_lie)
{
    struct adp_loaded *a = load(kv_threshold);
    struct adp_loaded *b = load(scratch_copy(kv_threshold, "other_name.so"));
    ck_assert_ptr_eq(a->policy.signals, b->policy.signals);
    ck_assert_str_ne(a->path, b->path);
    adp_loaded_destroy(a);
    ck_assert_uint_eq(ask(b), ADP_REJECT);
    adp_loaded_destroy(b);
}
END_TEST

START_TEST(nothing_is_left_in_the_temporary_folder)
{
    const char *folder = scratch_path("tmp");
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    setenv("TMPDIR", folder, 1);
    adp_loaded_destroy(load(kv_threshold));
    ck_assert_int_eq(adp_loader_load(NULL, BAD "/missing_function.so", NULL, NULL),
                     ADP_EABI);
    ck_assert_int_eq(rmdir(folder), 0); /* succeeds on an empty one only */
}
END_TEST

/* What a host does that becomes a daemon after it has loaded: closes all it does not
 * know. The number is taken again, and no folder is needed for that: there is none.
 */
START_TEST(a_closed_descriptor_never_brings_the_old_code)
{
    setenv("TMPDIR", "/nowhere", 1);
    struct adp_loaded *before = load(kv_threshold);
    int probe = open("/dev/null", O_RDONLY); /* the copy's is the number below */
    close(probe);
    ck_assert_int_eq(close(probe - 1), 0);
    struct adp_loaded *after = load(queue_depth);
    ck_assert_str_eq(after->policy.name, "queue_depth");
    ck_assert_str_eq(before->policy.name, "kv_threshold");
    ck_assert_uint_eq(ask(before), ADP_REJECT);
    adp_loaded_destroy(before);
    adp_loaded_destroy(after);
}
END_TEST

START_TEST(no_more_files_than_the_bound_are_mapped)
{
    size_t len;
    unsigned char *bytes = scratch_read(kv_threshold, &len);
    bytes = realloc(bytes, len + 1);
    ck_assert_ptr_nonnull(bytes);
    for (unsigned i = 0; i < ADP_LOADER_MAX; i++) {
        bytes[len] = (unsigned char)i; /* behind the object: other bytes, same code */
        struct adp_loaded *loaded = load(scratch_write("p.so", bytes, len + 1, 0644));
        ck_assert_uint_eq(ask(loaded), ADP_REJECT);
        adp_loaded_destroy(loaded);
    }
    bytes[len] = 0xff;
    refused_as(scratch_write("p.so", bytes, len + 1, 0644), NULL, ADP_EFULL,
               "is one file more than the 64 that a process may load in its life, since "
               "code is never unmapped; restart it");
    bytes[len] = 0; /* one of those mapped is still to be had */
    adp_loaded_destroy(load(scratch_write("p.so", bytes, len + 1, 0644)));
    free(bytes);
}
END_TEST

START_TEST(a_file_refused_after_mapping_is_not_mapped_again)
{
    for (unsigned i = 0; i < 2 * ADP_LOADER_MAX; i++)
        ck_assert_int_eq(adp_loader_load(NULL, BAD "/card_word.so", NULL, NULL),
                         ADP_EABI);
    adp_loaded_destroy(load(kv_threshold));
}
END_TEST

static void *load_both(void *ret)
{
    struct adp_loaded **loaded = ret;
    loaded[0] = load(kv_threshold);
    loaded[1] = load(queue_depth);
    return NULL;
}

START_TEST(threads_that_load_at_once_share_one_mapping)
{
    pthread_t threads[4];
    struct adp_loaded *loaded[4][2];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, load_both, loaded[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_eq(loaded[i][0]->policy.signals, loaded[0][0]->policy.signals);
        ck_assert_ptr_eq(loaded[i][1]->policy.signals, loaded[0][1]->policy.signals);
    }
    for (int i = 0; i < 4; i++) {
        adp_loaded_destroy(loaded[i][0]);
        adp_loaded_destroy(loaded[i][1]);
    }
}
END_TEST

static void set_up(void)
{
    scratch_create();
}

int main(void)
{
    Suite *s = suite_create("loader");
    TCase *t = tcase_create("loader");
    tcase_add_checked_fixture(t, set_up, scratch_destroy);
    tcase_add_loop_test(t, a_policy_with_one_defect_is_refused_for_it, 0,
                        sizeof bad / sizeof bad[0]);
    tcase_add_test(t, a_head_that_claims_more_than_its_object_is_refused);
    tcase_add_test(t, other_majors_are_named_beside_ours);
    tcase_add_loop_test(t, a_file_for_another_loader_is_refused_for_it, 0,
                        sizeof patched / sizeof patched[0]);
    tcase_add_test(t, a_text_file_is_not_elf);
    tcase_add_test(t, an_empty_file_is_not_elf);
    tcase_add_test(t, a_truncated_file_is_refused_by_what_is_missing);
    tcase_add_test(t, a_missing_file_is_said_to_be_missing);
    tcase_add_test(t, a_relative_path_is_never_tried);
    tcase_add_test(t, a_folder_is_refused);
    tcase_add_test(t, a_fifo_is_refused_without_waiting_for_a_writer);
    tcase_add_test(t, a_socket_is_refused);
    tcase_add_test(t, a_device_is_refused);
    tcase_add_test(t, a_file_past_the_bound_is_refused_unread);
    tcase_add_test(t, a_file_everybody_may_write_is_refused);
    tcase_add_test(t, a_folder_everybody_may_write_is_refused_unless_sticky);
    tcase_add_test(t, a_link_into_a_folder_everybody_may_write_is_refused);
    tcase_add_test(t, another_sha256_than_expected_is_refused);
    tcase_add_test(t, the_expected_sha256_loads);
    tcase_add_test(t, a_loaded_policy_shows_its_tables);
    tcase_add_test(t, a_policy_of_a_later_minor_loads_and_its_rows_keep_their_stride);
    tcase_add_test(t, the_file_can_be_destroyed_under_a_running_policy);
    tcase_add_test(t, a_file_replaced_under_its_name_brings_the_new_code);
    tcase_add_test(t, the_same_bytes_are_mapped_once_wherever_they_lie);
    tcase_add_test(t, nothing_is_left_in_the_temporary_folder);
    tcase_add_test(t, a_closed_descriptor_never_brings_the_old_code);
    tcase_add_test(t, no_more_files_than_the_bound_are_mapped);
    tcase_add_test(t, a_file_refused_after_mapping_is_not_mapped_again);
    tcase_add_test(t, threads_that_load_at_once_share_one_mapping);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
