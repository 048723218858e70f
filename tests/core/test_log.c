/* SPDX-License-Identifier: MIT */
#include "tests/core/stage.h"

#include "core/log.h"

#include "tests/core/faulty_write.h"
#include "tests/core/no_calls.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static struct stage stage;
static char folder[64];
static char path[128];

static void admits(void *self, const struct adp_view *v, struct adp_verdict *w)
{
    (void)self;
    (void)v;
    adp_admit(w);
}

static const struct adp_policy policy = { ADP_HEAD, .name = "admits",
                                          .threading = ADP_CONCURRENT, .decide = admits };

static void setup(void)
{
    const struct adp_policy *policies[] = { &policy, NULL };
    stage_open(&stage, policies, 1 << 20, 16);
    strcpy(folder, "/tmp/adp-log-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/e/p/r1.jsonl", folder);
}

static void teardown(void)
{
    char command[128];
    stage_close(&stage);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static struct adp_log *open_log(const char *file, uint64_t rotate, uint32_t keep)
{
    struct adp_log *log = NULL;
    struct adp_log_options options = {
        .path = file, .rotate_bytes = rotate, .keep = keep, .clock = &stage.clock
    };
    struct adp_error err = { 0 };
    int code = adp_log_open_take(&log, &options, stage.drain, &err);
    ck_assert_msg(code == 0, "%s", err.text);
    stage.drain = NULL;
    return log;
}

/* Lines with `key` in a file; every line must parse. */
static size_t count(const char *file, const char *key, json_t **ret_first)
{
    static char line[1 << 20];
    size_t n = 0, all = 0;
    FILE *f = fopen(file, "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        ck_assert_ptr_nonnull(j);
        n += json_object_get(j, key) != NULL;
        if (ret_first && all++ == 0)
            *ret_first = json_incref(j);
        json_decref(j);
    }
    fclose(f);
    return n;
}

/* The rotated files, the oldest first: of r1, by the wall clock of the stage, which is at 1005
 * seconds, and by `writer`. For globfree. */
static glob_t rotated_by(const char *writer)
{
    char pattern[160];
    glob_t found;
    snprintf(pattern, sizeof pattern,
             "%s/e/p/r1.19700101T001645.[0-9][0-9][0-9]Z-%s.jsonl", folder, writer);
    int code = glob(pattern, 0, NULL, &found);
    ck_assert(code == 0 || code == GLOB_NOMATCH);
    return found;
}

START_TEST(closing_writes_everything)
{
    struct adp_log *log = open_log(path, 0, 0);
    for (int i = 0; i < 500; i++)
        stage_decide(&stage, "r");
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    ck_assert_uint_eq(count(path, "verdict", NULL), 500);
}
END_TEST

START_TEST(the_thread_writes_while_we_decide_and_nothing_is_lost)
{
    struct adp_log *log = open_log(path, 0, 0);
    ck_assert_int_eq(adp_log_start(log, NULL), 0);
    for (int i = 0; i < 20000; i++) {
        stage_decide(&stage, "r");
        if (i % 500 == 0)
            ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    }
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    ck_assert_uint_eq(count(path, "verdict", NULL), 20000);
    ck_assert_uint_eq(adp_region_ring(stage.region, 1)->dropped, 0);
}
END_TEST

START_TEST(rotation_keeps_every_line_and_starts_each_file_with_the_snapshot_in_force)
{
    struct adp_log *log = open_log(path, 20000, 100);
    stage_publish(&stage, 0.5, 3);
    for (int i = 0; i < 600; i++) {
        stage_decide(&stage, "r");
        if (i % 20 == 0)
            ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    }
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    size_t lines = count(path, "verdict", NULL);
    glob_t rotated = rotated_by("0abc");
    for (size_t i = 0; i < rotated.gl_pathc; i++) {
        json_t *first = NULL;
        lines += count(rotated.gl_pathv[i], "verdict", &first);
        ck_assert_ptr_null(json_object_get(first, "verdict"));
        ck_assert_int_eq(json_integer_value(json_object_get(first, "snapshot")), 1);
        json_decref(first);
    }
    ck_assert_uint_gt(rotated.gl_pathc, 2);
    ck_assert_uint_eq(lines, 600);
    globfree(&rotated);
}
END_TEST

START_TEST(keep_bounds_the_rotated_files)
{
    struct adp_log *log = open_log(path, 5000, 2);
    for (int i = 0; i < 400; i++) {
        stage_decide(&stage, "r");
        if (i % 10 == 0)
            ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    }
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    glob_t rotated = rotated_by("0abc");
    ck_assert_uint_eq(rotated.gl_pathc, 2);
    size_t lines = count(path, "verdict", NULL);
    for (size_t i = 0; i < 2; i++)
        lines += count(rotated.gl_pathv[i], "verdict", NULL);
    ck_assert_uint_lt(lines, 100); /* three files of at most 5000 bytes */
    globfree(&rotated);
}
END_TEST

/* Without ck_ calls: Check's own messages go through a file that the limit would hit. */
static unsigned decide_admitted(unsigned n)
{
    struct adp_facts facts = { .size = sizeof facts, .request_id = "r" };
    struct adp_decision d;
    unsigned admitted = 0;
    for (unsigned i = 0; i < n; i++) {
        __atomic_store_n(&stage.now_ns, stage.now_ns + 1000, __ATOMIC_RELAXED);
        adp_decide(stage.lane[0], &stage.generations, &facts, NULL, &d, NULL);
        admitted += d.admitted;
    }
    return admitted;
}

/* A host that closed its standard streams, and writes to them. */
START_TEST(no_descriptor_of_ours_is_one_of_the_standard_streams)
{
    int away[3], among = 0;
    fflush(NULL);
    for (int fd = 0; fd < 3; fd++) {
        away[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        close(fd);
    }
    struct adp_log_options options = { .path = path, .clock = &stage.clock };
    struct adp_log *log = NULL;
    int opened = adp_log_open_take(&log, &options, stage.drain, NULL);
    stage.drain = NULL;
    for (int i = 0; opened == 0 && i < 2; i++) {
        decide_admitted(1);
        adp_log_flush(log, NULL);
        for (int fd = 0; fd < 3; fd++)
            among += fcntl(fd, F_GETFD) >= 0;
        adp_log_reopen(log);
    }
    adp_log_close(log, NULL);
    for (int fd = 0; fd < 3; fd++) {
        dup2(away[fd], fd);
        close(away[fd]);
    }
    ck_assert_int_eq(opened, 0);
    ck_assert_int_eq(among, 0);
    ck_assert_uint_eq(count(path, "verdict", NULL), 2);
}
END_TEST

/* What becomes of the file between two lines, and where the lines that follow must be. */
static void move_file(void)
{
    char moved[160];
    snprintf(moved, sizeof moved, "%s/moved", folder);
    ck_assert_int_eq(rename(path, moved), 0);
}

static void remove_file(void)
{
    ck_assert_int_eq(unlink(path), 0);
}

static void remove_folder(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s/e'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void replace_file(void)
{
    move_file();
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fclose(f);
}

static void (*const happens[])(void) = { move_file, remove_file, remove_folder,
                                         replace_file };

START_TEST(a_file_that_is_moved_removed_or_replaced_is_followed)
{
    struct adp_log *log = open_log(path, 0, 0);
    stage_publish(&stage, 0.5, 3);
    stage_decide(&stage, "a");
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    happens[_i]();
    stage_decide(&stage, "b");
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    stage_decide(&stage, "c");
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    json_t *first = NULL;
    ck_assert_uint_eq(count(path, "verdict", &first), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(first, "snapshot")), 1);
    ck_assert_ptr_null(json_object_get(first, "verdict"));
    json_decref(first);
}
END_TEST

START_TEST(reopen_starts_the_file_at_the_path_anew)
{
    struct adp_log *log = open_log(path, 0, 0);
    stage_publish(&stage, 0.5, 3);
    stage_decide(&stage, "a");
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    adp_log_reopen(log);
    stage_decide(&stage, "b");
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    /* The snapshot's own line, and once more where the file was opened again. */
    ck_assert_uint_eq(count(path, "mono_ns", NULL), 4);
}
END_TEST

/* What a log says of n decisions: lines, and the records it says were dropped. Every line
 * is one of JSON, and the numbers of lane 1 go on from line to line with what is said of
 * losses, so nothing is missing and nothing is there twice. */
struct said {
    uint64_t verdicts, dropped, losses, next;
};

static struct said read_log(const char *file)
{
    static char line[1 << 20];
    struct said said = { 0 };
    FILE *f = fopen(file, "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        ck_assert_msg(j != NULL, "%s", line);
        json_t *loss = json_object_get(j, "dropped");
        uint64_t n = (uint64_t)json_integer_value(json_object_get(loss, "count"));
        if (json_integer_value(json_object_get(j, "lane")) == 1) {
            ck_assert_uint_eq((uint64_t)json_integer_value(json_object_get(j, "seq")),
                              said.next);
            said.next += loss ? n : 1;
        }
        said.verdicts += json_object_get(j, "verdict") != NULL;
        said.dropped += n;
        said.losses += loss != NULL;
        json_decref(j);
    }
    fclose(f);
    return said;
}

static uint64_t dropped(void)
{
    return adp_region_ring(stage.region, 1)->dropped;
}

static struct adp_log_count settled_with_errors(struct adp_log *log, uint64_t errors)
{
    struct adp_log_count c;
    do {
        sched_yield();
        c = adp_log_counts(log);
    } while (c.write_errors < errors);
    return c;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* How long this thread was ready and had no processor, since it began. */
static uint64_t waited_ms(void)
{
    unsigned long long ran, waited = 0;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (f && fscanf(f, "%llu %llu", &ran, &waited) != 2)
        waited = 0;
    if (f)
        fclose(f);
    return waited / 1000000;
}

struct moment {
    uint64_t ms, waited_ms;
};

static struct moment this_moment(void)
{
    return (struct moment) { now_ms(), waited_ms() };
}

/* That no more has passed, where the machine had time for us: a twentieth of the time without a
 * processor is a machine that others use, and the log's thread had to wait as well. */
static void passed_at_most(struct moment from, uint64_t most_ms)
{
    uint64_t took = now_ms() - from.ms, waited = waited_ms() - from.waited_ms;
    if (took > most_ms && waited > took / 20)
        printf("not measured: took %llu ms, but had to wait %llu ms for a processor\n",
               (unsigned long long)took, (unsigned long long)waited);
    else
        ck_assert_uint_le(took, most_ms);
}

/* --- a disk that fails for a while: ten rings' worth of decisions meanwhile --- */

enum {
    MADE = 50000, /* 216 bytes each in a ring of 1 MiB: more than ten of them */
    MEMORY = 2 * (256 * 1024 + 4096) /* a batch and a line, allocated by doubling */
};

/* In a child whose deciding thread may make no system call; the log's thread and the
 * child's other one may. Shared with the parent. */
struct shared {
    _Atomic unsigned admitted; /* set when all is decided */
    uint64_t dropped, memory;
    int closed;
};
static struct shared *shared;
static struct adp_log *log_of_child;

static void *decide_without_calls(void *arg)
{
    (void)arg;
    if (!no_calls_from_here())
        _exit(4);
    shared->admitted = decide_admitted(MADE);
    no_calls_rest();
    return NULL;
}

static void run_child(void (*repair)(void), rlim_t limit)
{
    pthread_t thread;
    struct rlimit files = { limit, RLIM_INFINITY };
    if (limit)
        setrlimit(RLIMIT_FSIZE, &files);
    if (adp_log_start(log_of_child, NULL) < 0 ||
        pthread_create(&thread, NULL, decide_without_calls, NULL) != 0)
        _exit(2);
    while (!shared->admitted || adp_log_counts(log_of_child).write_errors < 2)
        sched_yield();
    shared->memory = adp_log_counts(log_of_child).memory;
    shared->dropped = dropped();
    repair();
    files.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &files);
    shared->closed = adp_log_close(log_of_child, NULL);
    _exit(0);
}

static void run_in_child(void (*repair)(void), rlim_t limit)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    shared->closed = 1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_child(repair, limit);
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "the child ended with %#x", status);
    ck_assert_uint_eq(shared->admitted, MADE);
    ck_assert_uint_gt(shared->dropped, MADE / 2);
    ck_assert_uint_le(shared->memory, MEMORY);
    ck_assert_int_eq(shared->closed, 0);
}

static void disk_works(void)
{
    disk.error = 0;
}

static const int errors[] = { ENOSPC, EIO, EDQUOT, EROFS, ESTALE };

START_TEST(
    while_the_disk_fails_decisions_go_on_without_a_system_call_and_losses_are_exact)
{
    log_of_child = open_log(path, 0, 0);
    disk.takes = 100000;
    disk.error = errors[_i];
    run_in_child(disk_works, 0);
    struct said said = read_log(path);
    ck_assert_uint_eq(said.verdicts + said.dropped, MADE);
    ck_assert_uint_eq(said.dropped, shared->dropped);
}
END_TEST

static void nothing(void)
{
}

/* The default disposition of SIGXFSZ ends the process: it must not even arrive. */
START_TEST(a_file_size_limit_is_a_failing_disk_and_no_signal)
{
    struct sigaction action;
    log_of_child = open_log(path, 0, 0);
    run_in_child(nothing, 100000);
    struct said said = read_log(path);
    ck_assert_uint_eq(said.verdicts + said.dropped, MADE);
    ck_assert_uint_eq(said.dropped, shared->dropped);
    ck_assert_int_eq(sigaction(SIGXFSZ, NULL, &action), 0);
    ck_assert_ptr_eq(action.sa_handler, SIG_DFL);
}
END_TEST

static int reader = -1;
static char *read_to;
static size_t n_read, cap_read;

static void *read_fifo(void *arg)
{
    ssize_t n;
    while ((n = read(reader, read_to + n_read, cap_read - n_read)) > 0)
        n_read += (size_t)n;
    return arg;
}

static void read_at_last(void)
{
    pthread_t thread;
    fcntl(reader, F_SETFL, 0);
    pthread_create(&thread, NULL, read_fifo, NULL);
}

/* A reader that stands still, as a stopped cat would; then it goes on. */
START_TEST(a_fifo_nobody_empties_is_a_failing_disk)
{
    char fifo[160];
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    reader = open(fifo, O_RDONLY | O_NONBLOCK);
    cap_read = (size_t)MADE * 1000;
    read_to =
        mmap(NULL, cap_read, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    log_of_child = open_log(fifo, 0, 0);
    run_in_child(read_at_last, 0);
    char copy[160];
    snprintf(copy, sizeof copy, "%s/copy", folder);
    FILE *f = fopen(copy, "w");
    ck_assert_ptr_nonnull(f);
    size_t len = strnlen(read_to, cap_read);
    ck_assert_uint_eq(fwrite(read_to, 1, len, f), len);
    fclose(f);
    struct said said = read_log(copy);
    ck_assert_uint_eq(said.verdicts + said.dropped, MADE);
    ck_assert_uint_eq(said.dropped, shared->dropped);
    munmap(read_to, cap_read);
}
END_TEST

/* A real one of 64 kB, in namespaces of this process. */
static bool is_put(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY);
    bool put = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return put;
}

static bool become_root(void)
{
    char map[64];
    if (geteuid() == 0)
        return true;
    snprintf(map, sizeof map, "0 %u 1", (unsigned)geteuid());
    return unshare(CLONE_NEWUSER) == 0 && is_put("/proc/self/uid_map", map);
}

static bool mount_small_disk(const char *at)
{
    return become_root() && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", at, "tmpfs", 0, "size=64k") == 0;
}

static bool can_mount(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(mount_small_disk("/tmp") ? 0 : 1);
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void make_room(void)
{
    if (mount("none", folder, "tmpfs", MS_REMOUNT, "size=64m") < 0)
        _exit(3);
}

START_TEST(a_full_disk_of_64_kb_loses_what_the_ring_could_not_hold_and_says_so)
{
    ck_assert(mount_small_disk(folder));
    log_of_child = open_log(path, 0, 0);
    run_in_child(make_room, 0);
    struct said said = read_log(path);
    ck_assert_uint_eq(said.verdicts + said.dropped, MADE);
    ck_assert_uint_eq(said.dropped, shared->dropped);
    ck_assert_int_eq(umount2(folder, MNT_DETACH), 0);
}
END_TEST

/* --- one that recovers in time --- */

START_TEST(a_disk_that_was_full_loses_nothing_that_the_ring_could_hold)
{
    struct adp_log *log = open_log(path, 0, 0);
    disk.takes = 10000;
    disk.error = ENOSPC;
    ck_assert_int_eq(adp_log_start(log, NULL), 0);
    ck_assert_uint_eq(decide_admitted(200), 200);
    settled_with_errors(log, 3);
    disk.error = 0;
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    struct said said = read_log(path);
    ck_assert_uint_eq(said.verdicts, 200);
    ck_assert_uint_eq(said.dropped, 0);
}
END_TEST

START_TEST(a_loss_in_the_middle_says_how_many_and_between_which_times)
{
    struct adp_log *log = open_log(path, 0, 0);
    disk.error = ENOSPC;
    ck_assert_int_eq(adp_log_start(log, NULL), 0);
    uint64_t start_ns = stage.now_ns, made = decide_admitted(1);
    settled_with_errors(log, 1); /* it has what it keeps, and takes no more */
    while (dropped() < 500)
        made += decide_admitted(1);
    uint64_t lost = dropped();
    disk.error = 0;
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    ck_assert_uint_eq(decide_admitted(1), 1);
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    struct said said = read_log(path);
    ck_assert_uint_eq(said.verdicts, made + 1 - lost);
    ck_assert_uint_eq(said.dropped, lost);
    ck_assert_uint_eq(said.losses, 1);
    /* A microsecond each: the last kept is number made - lost, the next is made + 1. */
    json_t *line = NULL;
    FILE *f = fopen(path, "r");
    while ((line = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)) &&
           !json_object_get(line, "dropped"))
        json_decref(line);
    fclose(f);
    json_t *loss = json_object_get(line, "dropped");
    double wall_s = 1000.0 + (double)start_ns * 1e-9;
    ck_assert_double_eq_tol(json_real_value(json_object_get(loss, "since")),
                            wall_s + (double)(made - lost) * 1e-6, 1e-7);
    ck_assert_double_eq_tol(json_real_value(json_object_get(loss, "until")),
                            wall_s + (double)(made + 1) * 1e-6, 1e-7);
    json_decref(line);
}
END_TEST

START_TEST(who_cannot_open_what_follows_a_rotation_keeps_its_lines_and_says_what_is_lost)
{
    char rotated[160];
    struct stat st;
    struct adp_log *log = open_log(path, 1 << 30, 5);
    ck_assert_int_eq(adp_log_start(log, NULL), 0);
    snprintf(rotated, sizeof rotated, "%s/e/p/r1.19700101T001645.000Z-00b1.jsonl",
             folder);
    ck_assert_int_eq(rename(path, rotated), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    uint64_t made = 0;
    while (dropped() < 100)
        made += decide_admitted(1);
    settled_with_errors(log, 1);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    struct said said = read_log(path);
    ck_assert_uint_eq(said.verdicts + said.dropped, made);
    ck_assert_uint_eq(said.dropped, dropped());
    ck_assert_int_eq(stat(rotated, &st), 0);
    ck_assert_int_eq(st.st_size, 0);
}
END_TEST

/* --- one that never comes back --- */

/* Lines and queued records, by close's error. */
static uint64_t lost_by(const struct adp_error *err)
{
    unsigned long long lines, records;
    const char *counts = strstr(err->text, "is not whole, ");
    ck_assert_ptr_nonnull(counts);
    ck_assert_int_eq(sscanf(counts,
                            "is not whole, %llu lines and %llu queued records are",
                            &lines, &records),
                     2);
    return lines + records;
}

START_TEST(a_disk_that_stays_full_is_an_error_at_close_within_its_bound)
{
    struct adp_error err = { 0 };
    struct adp_log *log = open_log(path, 0, 0);
    if (_i == 0)
        ck_assert_int_eq(adp_log_start(log, NULL), 0);
    disk.error = ENOSPC;
    ck_assert_uint_eq(decide_admitted(10), 10);
    struct moment from = this_moment();
    ck_assert_int_eq(adp_log_close(log, &err), ADP_EIO);
    ck_assert_uint_ge(now_ms() - from.ms, 1800); /* it did try */
    passed_at_most(from, 2000 + 1500);
    /* Drained before the disk failed to take them, or still in the ring. */
    ck_assert_uint_eq(lost_by(&err), 10);
    ck_assert_ptr_nonnull(strstr(err.text, "r1.jsonl"));
    ck_assert_ptr_nonnull(strstr(err.text, "No space left on device"));
    disk.error = 0;
    ck_assert_uint_eq(read_log(path).verdicts, 0);
}
END_TEST

/* The opening of the file that is begun anew waits in front of them. */
START_TEST(what_close_counts_as_lost_is_what_was_recorded_and_no_opening)
{
    struct adp_error err = { 0 };
    struct adp_log *log = open_log(path, 0, 0);
    stage_publish(&stage, 0.5, 3);
    stage_decide(&stage, "a");
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    remove_file();
    disk.error = ENOSPC;
    disk.takes = 0;
    for (int i = 0; i < 3; i++)
        stage_decide(&stage, "b");
    ck_assert_int_eq(adp_log_close(log, &err), ADP_EIO);
    disk.error = 0;
    ck_assert_uint_eq(lost_by(&err), 3);
}
END_TEST

/* They share the control lane with what becomes lines: here nothing is drained before close
 * gives up, and the snapshot is the one line among them. */
START_TEST(what_close_counts_as_lost_are_lines_and_no_words)
{
    struct adp_error err = { 0 };
    struct adp_log *log = open_log(path, 0, 0);
    stage_decide(&stage, "a");
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    disk.error = ENOSPC;
    disk.takes = 0;
    stage_decide(&stage, "b");
    ck_assert_int_eq(adp_log_flush(log, NULL), ADP_EIO); /* keeps b, and drains no more */
    for (uint32_t number = 2; number < 6; number++)
        ck_assert_int_eq(
            adp_publisher_generation(stage.publisher, number, 0, 0, "", 0, 1), 0);
    stage_publish(&stage, 0.5, 3);
    ck_assert_int_eq(adp_log_close(log, &err), ADP_EIO);
    disk.error = 0;
    ck_assert_uint_eq(lost_by(&err), 2);
}
END_TEST

/* The snapshot's line is one, and the opening of a file that is begun anew is none. */
START_TEST(lines_are_counted_as_they_are_written_also_of_a_batch_that_is_cut)
{
    struct adp_log *log = open_log(path, 0, 0);
    stage_publish(&stage, 0.5, 3);
    stage_decide(&stage, "a");
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    ck_assert_uint_eq(adp_log_counts(log).lines, 2);
    remove_file();
    disk.error = ENOSPC;
    disk.takes = 3000;
    for (int i = 0; i < 20; i++)
        stage_decide(&stage, "b");
    ck_assert_int_eq(adp_log_flush(log, NULL), ADP_EIO);
    disk.error = 0;
    size_t verdicts = count(path, "verdict", NULL);
    ck_assert_uint_gt(verdicts, 0);
    ck_assert_uint_lt(verdicts, 20);
    ck_assert_uint_eq(adp_log_counts(log).lines, 2 + verdicts);
    ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    ck_assert_uint_eq(adp_log_counts(log).lines, 22);
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
}
END_TEST

START_TEST(a_disk_that_is_only_slow_gets_everything_however_long_it_takes)
{
    struct adp_log *log = open_log(path, 0, 0);
    if (_i == 0)
        ck_assert_int_eq(adp_log_start(log, NULL), 0);
    disk.slow_ms = 500;
    uint64_t made = 0, from = now_ms(); /* the thread writes while we still decide */
    while (made < 3000) /* about 1.5 MB of lines: six batches of 256 KiB, three seconds */
        made += decide_admitted(1);
    ck_assert_uint_eq(dropped(), 0);
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    ck_assert_uint_gt(now_ms() - from, 2000);
    ck_assert_uint_eq(read_log(path).verdicts, made);
}
END_TEST

START_TEST(a_write_that_never_returns_does_not_keep_flush_or_close)
{
    struct adp_error err = { 0 };
    struct adp_log *log = open_log(path, 0, 0);
    disk.hang = eventfd(0, 0);
    ck_assert_int_eq(adp_log_start(log, NULL), 0);
    ck_assert_uint_eq(decide_admitted(10), 10);
    while (!disk.hanging)
        sched_yield();
    ck_assert_uint_eq(decide_admitted(20), 20);
    ck_assert_uint_eq(adp_log_counts(log).lines, 0); /* answers, too */
    struct moment from = this_moment();
    ck_assert_int_eq(adp_log_flush(log, NULL), ADP_EIO);
    passed_at_most(from, 3500);
    from = this_moment();
    ck_assert_int_eq(adp_log_close(log, &err), ADP_EIO);
    passed_at_most(from, 3500);
    unsigned long long lines, records;
    const char *counts = strstr(err.text, "is not whole, ");
    ck_assert_ptr_nonnull(counts);
    ck_assert_int_eq(sscanf(counts,
                            "is not whole, %llu lines and %llu queued records are",
                            &lines, &records),
                     2);
    ck_assert_uint_eq(lines + records, 30);
    ck_assert_ptr_nonnull(strstr(err.text, "the write does not return"));
    /* The region goes; then the disk comes back, and the thread ends by itself. */
    stage_close(&stage);
    memset(&stage, 0, sizeof stage);
    uint64_t one = 1;
    ck_assert_int_eq(write(disk.hang, &one, sizeof one), sizeof one);
    while (disk.hanging)
        sched_yield();
}
END_TEST

/* --- waits that are interrupted, or refused --- */

static _Atomic bool calm;

/* Also for the threads that are made later. False: this system allows no filter. */
static bool refuse_ppoll(void)
{
    static const struct sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ppoll, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof refuse / sizeof refuse[0],
                                  (struct sock_filter *)refuse };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* glibc sends each other thread a signal for it. */
static void *interrupt_all(void *arg)
{
    (void)arg;
    while (!calm)
        ck_assert_int_eq(seteuid(geteuid()), 0);
    return NULL;
}

/* The disk is well again after a while of the kernel's. */
static void *mend_later(void *arg)
{
    static const uint64_t one = 1;
    struct moment from = this_moment();
    (void)arg;
    while (now_ms() - from.ms < 500)
        sched_yield();
    disk.error = 0;
    if (disk.hang)
        ck_assert_int_eq(write(disk.hang, &one, sizeof one), sizeof one);
    return NULL;
}

static uint64_t machine_ns(void *ctx)
{
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* With the log's thread, whose write hangs, or without, with a disk that is full. */
static void ends_when_the_disk_is_well(bool thread)
{
    pthread_t mending;
    struct adp_error err = { 0 };
    stage.clock.meter_ns = machine_ns;
    struct adp_log *log = open_log(path, 0, 0);
    if (thread)
        disk.hang = eventfd(0, EFD_SEMAPHORE);
    else
        disk.error = ENOSPC;
    if (thread)
        ck_assert_int_eq(adp_log_start(log, NULL), 0);
    decide_admitted(10);
    ck_assert_int_eq(pthread_create(&mending, NULL, mend_later, NULL), 0);
    ck_assert_msg(adp_log_flush(log, &err) == 0, "%s", err.text);
    pthread_join(mending, NULL);
    disk.hang = 0;
    ck_assert_msg(adp_log_close(log, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(read_log(path).verdicts, 10);
}

START_TEST(a_wait_that_is_interrupted_all_the_time_is_not_shorter)
{
    pthread_t storm;
    calm = false;
    ck_assert_int_eq(pthread_create(&storm, NULL, interrupt_all, NULL), 0);
    ends_when_the_disk_is_well(_i == 0);
    calm = true;
    pthread_join(storm, NULL);
}
END_TEST

/* A clock that goes on while a handler runs, and not else: ten milliseconds each time. */
static _Atomic uint64_t handled;

static uint64_t handlers_ns(void *ctx)
{
    (void)ctx;
    return handled * 10000000u;
}

static void take_time(int signal_number)
{
    (void)signal_number;
    handled++;
}

static pthread_t waiting;

/* The next one when the one before has been handled; of the few that a wait does not block. */
static void *interrupt_it(void *arg)
{
    (void)arg;
    for (uint64_t sent = 0; !calm;) {
        if (handled == sent && pthread_kill(waiting, SIGTRAP) == 0)
            sent++;
        sched_yield();
    }
    return NULL;
}

/* Two seconds are 200 of them. Some of those that come come while it does not wait. */
START_TEST(nor_longer_by_the_time_of_the_handlers)
{
#ifdef __SANITIZE_THREAD__
    printf("skipped: TSan runs a handler when it likes, not when the signal comes\n");
    return;
#endif
    struct sigaction take = { .sa_handler = take_time };
    pthread_t storm;
    calm = false;
    stage.clock.meter_ns = handlers_ns;
    struct adp_log *log = open_log(path, 0, 0);
    disk.hang = eventfd(0, EFD_SEMAPHORE);
    ck_assert_int_eq(adp_log_start(log, NULL), 0);
    decide_admitted(10);
    while (!disk.hanging)
        sched_yield();
    waiting = pthread_self();
    sigaction(SIGTRAP, &take, NULL);
    ck_assert_int_eq(pthread_create(&storm, NULL, interrupt_it, NULL), 0);
    int flushed = adp_log_flush(log, NULL);
    uint64_t for_flush = handled;
    int closed = adp_log_close(log, NULL);
    uint64_t for_close = handled - for_flush;
    calm = true;
    pthread_join(storm, NULL);
    ck_assert_int_eq(flushed, ADP_EIO);
    ck_assert_int_eq(closed, ADP_EIO);
    ck_assert_uint_le(for_flush, 2000);
    ck_assert_uint_le(for_close, 2000);
    uint64_t one = 1;
    ck_assert_int_eq(write(disk.hang, &one, sizeof one), sizeof one);
    while (disk.hanging)
        sched_yield();
}
END_TEST

START_TEST(where_ppoll_is_refused_a_wait_is_as_long)
{
    if (!refuse_ppoll())
        return; /* this system allows no filter */
    ends_when_the_disk_is_well(_i == 0);
}
END_TEST

/* --- signals of the caller's thread --- */

static volatile sig_atomic_t arrived;

static void note_arrival(int signal_number)
{
    (void)signal_number;
    arrived++;
}

START_TEST(without_the_thread_the_signals_of_a_write_are_held_back_as_well)
{
    struct sigaction note = { .sa_handler = note_arrival }, now;
    struct rlimit limit = { 1500, RLIM_INFINITY };
    char fifo[160];
    sigset_t before, after;
    /* A FIFO whose reader goes is SIGPIPE, a file beyond its limit SIGXFSZ. */
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    int raised = _i == 0 ? SIGXFSZ : SIGPIPE;
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    int end = open(fifo, O_RDONLY | O_NONBLOCK);
    struct adp_log *log = open_log(_i == 0 ? path : fifo, 0, 0);
    close(end);
    sigaction(raised, &note, NULL);
    sigprocmask(SIG_SETMASK, NULL, &before);
    if (_i == 0)
        setrlimit(RLIMIT_FSIZE, &limit);
    unsigned admitted = decide_admitted(10);
    int closed = adp_log_close(log, NULL);
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    sigprocmask(SIG_SETMASK, NULL, &after);
    sigaction(raised, NULL, &now);
    ck_assert_uint_eq(admitted, 10);
    ck_assert_int_eq(closed, ADP_EIO);
    ck_assert_int_eq(arrived, 0);
    ck_assert(now.sa_handler == note_arrival);
    for (int i = 1; i < SIGRTMAX; i++)
        ck_assert_int_eq(sigismember(&before, i), sigismember(&after, i));
}
END_TEST

static const int endings[] = { SIGTERM, SIGINT, SIGQUIT, SIGHUP };

/* What a host does around pselect, or what its handler reads; it had not when it started the
 * log. The thread has come by, and slept, when a flush is done. */
START_TEST(a_signal_that_the_host_blocks_later_waits_for_the_host)
{
    struct sigaction note = { .sa_handler = note_arrival };
    sigset_t one, pending;
    struct adp_log *log = open_log(path, 0, 0);
    sigemptyset(&one);
    sigaddset(&one, endings[_i]);
    sigaction(endings[_i], &note, NULL);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    ck_assert_int_eq(adp_log_start(log, NULL), 0);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    ck_assert_int_eq(kill(getpid(), endings[_i]), 0);
    for (int i = 0; i < 3; i++) {
        decide_admitted(1);
        ck_assert_int_eq(adp_log_flush(log, NULL), 0);
    }
    ck_assert_int_eq(arrived, 0);
    sigpending(&pending);
    ck_assert(sigismember(&pending, endings[_i]));
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    ck_assert_int_eq(arrived, 1);
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
}
END_TEST

/* --- paths --- */

START_TEST(a_fifo_nobody_reads_is_refused_not_waited_for)
{
    char fifo[160];
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    struct adp_log *log = NULL;
    struct adp_log_options options = { .path = fifo, .clock = &stage.clock };
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_log_open_take(&log, &options, stage.drain, &err), ADP_EIO);
    stage.drain = NULL;
    ck_assert_ptr_nonnull(strstr(err.text, fifo));
    ck_assert_ptr_nonnull(strstr(err.text, "it is a FIFO, and nobody reads it"));
}
END_TEST

static const struct {
    bool pipe;
    int error; /* of writes to the disk */
    const char *reason;
} reasons[] = {
    { true, 0, ": nobody empties the pipe" },
    { false, ENOSPC, ": No space left on device" },
};

START_TEST(what_close_gives_up_for_is_named)
{
    char to[160];
    struct adp_error err = { 0 };
    snprintf(to, sizeof to, "%s/to", folder);
    ck_assert(!reasons[_i].pipe || mkfifo(to, 0600) == 0);
    int end = reasons[_i].pipe ? open(to, O_RDONLY | O_NONBLOCK) : -1;
    struct adp_log *log = open_log(to, 0, 0);
    disk.error = reasons[_i].error;
    for (int i = 0; i < 400; i++) /* more than a pipe holds */
        stage_decide(&stage, "r");
    ck_assert_int_eq(adp_log_close(log, &err), ADP_EIO);
    disk.error = 0;
    ck_assert_msg(strstr(err.text, reasons[_i].reason) != NULL, "%s", err.text);
    if (end >= 0)
        close(end);
}
END_TEST

START_TEST(a_folder_is_refused_with_its_name)
{
    struct adp_log *log = NULL;
    struct adp_log_options options = { .path = folder, .clock = &stage.clock };
    struct adp_error err = { 0 };
    ck_assert_int_eq(adp_log_open_take(&log, &options, stage.drain, &err), ADP_EIO);
    stage.drain = NULL;
    ck_assert_ptr_nonnull(strstr(err.text, folder));
    ck_assert_ptr_nonnull(strstr(err.text, "Is a directory"));
}
END_TEST

START_TEST(a_log_that_moves_leaves_what_was_before_and_starts_with_the_snapshot)
{
    char next[160];
    json_t *first = NULL;
    struct adp_log *log = open_log(path, 0, 0);
    if (_i == 0)
        ck_assert_int_eq(adp_log_start(log, NULL), 0);
    stage_publish(&stage, 0.5, 3);
    stage_decide(&stage, "a");
    snprintf(next, sizeof next, "%s/next/r2.jsonl", folder);
    struct adp_log_options options = { .path = next, .rotate_bytes = 0 };
    ck_assert_int_eq(adp_log_move(log, &options, NULL), 0);
    stage_decide(&stage, "b");
    options.path = folder;
    ck_assert_int_eq(adp_log_move(log, &options, NULL), ADP_EIO); /* stays where it is */
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
    ck_assert_uint_eq(count(path, "verdict", NULL), 1);
    ck_assert_uint_eq(count(next, "verdict", &first), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(first, "snapshot")), 1);
    ck_assert_ptr_null(json_object_get(first, "verdict"));
    json_decref(first);
}
END_TEST

START_TEST(lines_come_without_flush_or_close)
{
    struct adp_log *log = open_log(path, 0, 0);
    ck_assert_int_eq(adp_log_start(log, NULL), 0);
    ck_assert_uint_eq(decide_admitted(100), 100);
    while (adp_log_counts(log).lines < 100)
        sched_yield();
    ck_assert_uint_eq(read_log(path).verdicts, 100);
    ck_assert_int_eq(adp_log_close(log, NULL), 0);
}
END_TEST

/* --- several processes on one file --- */

enum { WRITERS = 4, EACH = 2000, FILES = 10000 };

/* Without ck_ calls: the child must not speak on Check's pipe. A writer of its own, with its
 * own region, as after fork. */
static int write_shared(unsigned writer, uint64_t rotate)
{
    const struct adp_policy *policies[] = { &policy, NULL };
    struct adp_log *log;
    struct adp_log_options options = {
        .path = path, .rotate_bytes = rotate, .keep = FILES, .clock = &stage.clock
    };
    stage_instance = writer + 1;
    stage_open(&stage, policies, 1 << 20, 16);
    stage_publish(&stage, 0.5, 3);
    if (adp_log_open_take(&log, &options, stage.drain, NULL) < 0 ||
        adp_log_start(log, NULL) < 0)
        return -1;
    for (unsigned i = 0; i < EACH; i++) {
        char id[32];
        struct adp_facts facts = { .size = sizeof facts, .request_id = id };
        struct adp_decision d;
        snprintf(id, sizeof id, "%u-%u", writer, i);
        adp_decide(stage.lane[0], &stage.generations, &facts, NULL, &d, NULL);
        if (i % 100 == 99 && adp_log_flush(log, NULL) < 0)
            return -1;
    }
    return adp_log_close(log, NULL);
}

/* The times each request of each writer is in a file, and the snapshots files begin with. */
static uint8_t there[WRITERS][EACH];

static void read_shared(const char *name)
{
    static char line[1 << 16];
    bool snapshot_of[WRITERS + 1] = { false }, first = true;
    FILE *f = fopen(name, "r");
    ck_assert_ptr_nonnull(f);
    for (; fgets(line, sizeof line, f); first = false) {
        unsigned writer, i;
        json_t *j = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_msg(j != NULL, "%s: %s", name, line);
        unsigned long instance = strtoul(stage_text(j, "instance"), NULL, 16);
        ck_assert_uint_ge(instance, 1);
        ck_assert_uint_le(instance, WRITERS);
        ck_assert_ptr_null(json_object_get(j, "dropped"));
        if (json_object_get(j, "verdict")) {
            ck_assert(!first && snapshot_of[instance]);
            ck_assert_int_eq(sscanf(stage_text(j, "request_id"), "%u-%u", &writer, &i),
                             2);
            there[writer][i]++;
        } else {
            snapshot_of[instance] = true;
        }
        json_decref(j);
    }
    fclose(f);
}

/* Of whichever writer; how many there are. */
static size_t read_rotated(const char *where)
{
    char pattern[160];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s/r1.*.jsonl", folder, where);
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    size_t files = found.gl_pathc;
    for (size_t i = 0; i < files; i++)
        read_shared(found.gl_pathv[i]);
    globfree(&found);
    return files;
}

/* Takes all rotated files away, into a folder that has none of that name yet. */
static void ship(void)
{
    char pattern[160], to[320];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/e/p/r1.*.jsonl", folder);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        snprintf(to, sizeof to, "%s/taken/%s", folder, name);
        ck_assert_msg(access(to, F_OK) < 0, "%s again", name);
        ck_assert_int_eq(rename(found.gl_pathv[i], to), 0);
    }
    globfree(&found);
}

/* Sizes at which the files are rotated: never, after one or two lines, a few, many. */
static const uint64_t rotations[] = { 0, 4000, 30000, 100000 };
enum { N_ROTATIONS = sizeof rotations / sizeof rotations[0] };

START_TEST(of_four_processes_on_one_path_every_line_is_in_one_file_once)
{
    const unsigned size = (unsigned)_i % N_ROTATIONS;
    const bool shipped = _i >= N_ROTATIONS;
    pid_t child[WRITERS];
    char taken[160];
    snprintf(taken, sizeof taken, "%s/taken", folder);
    ck_assert_int_eq(mkdir(taken, 0700), 0);
    fflush(NULL);
    for (unsigned w = 0; w < WRITERS; w++) {
        child[w] = fork();
        if (child[w] == 0)
            _exit(write_shared(w, rotations[size]) == 0 ? 0 : 1);
    }
    for (unsigned w = 0; w < WRITERS; w++) {
        int status = 1;
        pid_t ended = 0;
        while (ended == 0) {
            if (shipped)
                ship();
            ended = waitpid(child[w], &status, shipped ? WNOHANG : 0);
        }
        ck_assert_int_eq(ended, child[w]);
        ck_assert_int_eq(status, 0);
    }
    read_shared(path);
    /* On the stage's clock they are all rotated in one millisecond, and go on from there. */
    size_t files = read_rotated("e/p") + read_rotated("taken");
    for (unsigned w = 0; w < WRITERS; w++)
        for (unsigned i = 0; i < EACH; i++)
            ck_assert_msg(there[w][i] == 1, "%u-%u is there %u times", w, i, there[w][i]);
    ck_assert(size == 0 ? files == 0 : files > 20);
}
END_TEST

/* --- death --- */

struct progress {
    _Atomic uint64_t made, flushed;
};

/* Flushes now and then, and says so only afterwards. */
static void write_until_killed(struct progress *progress)
{
    const struct adp_policy *policies[] = { &policy, NULL };
    struct adp_log *log;
    struct adp_log_options options = { .path = path, .clock = &stage.clock };
    stage_open(&stage, policies, 1 << 20, 16);
    if (adp_log_open_take(&log, &options, stage.drain, NULL) < 0 ||
        adp_log_start(log, NULL) < 0)
        _exit(1);
    for (;;) {
        progress->made += decide_admitted(1);
        if (progress->made % 1000 != 0)
            continue;
        if (adp_log_flush(log, NULL) < 0)
            _exit(1);
        progress->flushed = progress->made;
    }
}

/* Lines of one writer, from 0 on without a gap; others that are cut. */
static uint64_t read_killed(unsigned long instance, unsigned *ret_cut)
{
    static char line[1 << 16];
    uint64_t next = 0;
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    *ret_cut = 0;
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        *ret_cut += j == NULL;
        if (j && strtoul(stage_text(j, "instance"), NULL, 16) == instance) {
            json_t *loss = json_object_get(j, "dropped");
            ck_assert_int_eq(json_integer_value(json_object_get(j, "seq")), (int)next);
            next +=
                loss ? (uint64_t)json_integer_value(json_object_get(loss, "count")) : 1;
        }
        json_decref(j);
    }
    fclose(f);
    return next;
}

START_TEST(kill_loses_nothing_flushed_and_tears_no_line_but_the_last)
{
    enum { KILLS = 4 };
    uint64_t flushed[KILLS], made[KILLS];
    struct progress *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(progress, MAP_FAILED);
    fflush(NULL);
    for (unsigned i = 0; i < KILLS; i++) {
        int status = 0;
        progress->made = progress->flushed = 0;
        stage_instance = i + 1;
        pid_t child = fork();
        if (child == 0)
            write_until_killed(progress);
        while (progress->made < 3000 + 777 * i && waitpid(child, &status, WNOHANG) == 0)
            sched_yield();
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFSIGNALED(status));
        flushed[i] = progress->flushed;
        made[i] = progress->made;
    }
    for (unsigned i = 0; i < KILLS; i++) {
        unsigned cut;
        uint64_t found = read_killed(i + 1, &cut);
        ck_assert_uint_ge(found, flushed[i]);
        ck_assert_uint_le(found, made[i] + 1); /* killed before it could count the last */
        ck_assert_uint_le(cut, KILLS);
    }
    munmap(progress, sizeof *progress);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("log");
    TCase *t = tcase_create("log");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, closing_writes_everything);
    tcase_add_test(t, the_thread_writes_while_we_decide_and_nothing_is_lost);
    tcase_add_test(
        t, rotation_keeps_every_line_and_starts_each_file_with_the_snapshot_in_force);
    tcase_add_test(t, keep_bounds_the_rotated_files);
    tcase_add_test(t, no_descriptor_of_ours_is_one_of_the_standard_streams);
    tcase_add_loop_test(t, a_file_that_is_moved_removed_or_replaced_is_followed, 0,
                        sizeof happens / sizeof happens[0]);
    tcase_add_test(t, reopen_starts_the_file_at_the_path_anew);
    tcase_add_loop_test(
        t,
        while_the_disk_fails_decisions_go_on_without_a_system_call_and_losses_are_exact,
        0, sizeof errors / sizeof errors[0]);
    tcase_add_test(t, a_file_size_limit_is_a_failing_disk_and_no_signal);
    tcase_add_test(t, a_fifo_nobody_empties_is_a_failing_disk);
    if (can_mount())
        tcase_add_test(
            t, a_full_disk_of_64_kb_loses_what_the_ring_could_not_hold_and_says_so);
    else
        puts("ok - a full disk of 64 kB # SKIP mounting is not allowed here");
    tcase_add_test(t, a_disk_that_was_full_loses_nothing_that_the_ring_could_hold);
    tcase_add_test(t, a_loss_in_the_middle_says_how_many_and_between_which_times);
    tcase_add_test(
        t, who_cannot_open_what_follows_a_rotation_keeps_its_lines_and_says_what_is_lost);
    tcase_add_loop_test(t, a_disk_that_stays_full_is_an_error_at_close_within_its_bound,
                        0, 2);
    tcase_add_test(t, what_close_counts_as_lost_is_what_was_recorded_and_no_opening);
    tcase_add_test(t, what_close_counts_as_lost_are_lines_and_no_words);
    tcase_add_test(t, lines_are_counted_as_they_are_written_also_of_a_batch_that_is_cut);
    tcase_add_loop_test(t, a_disk_that_is_only_slow_gets_everything_however_long_it_takes,
                        0, 2);
    tcase_add_test(t, a_write_that_never_returns_does_not_keep_flush_or_close);
    tcase_add_loop_test(
        t, without_the_thread_the_signals_of_a_write_are_held_back_as_well, 0, 2);
    tcase_add_loop_test(t, a_wait_that_is_interrupted_all_the_time_is_not_shorter, 0, 2);
    tcase_add_test(t, nor_longer_by_the_time_of_the_handlers);
    tcase_add_loop_test(t, where_ppoll_is_refused_a_wait_is_as_long, 0, 2);
    tcase_add_loop_test(t, a_signal_that_the_host_blocks_later_waits_for_the_host, 0,
                        sizeof endings / sizeof endings[0]);
    tcase_add_test(t, a_fifo_nobody_reads_is_refused_not_waited_for);
    tcase_add_loop_test(t, what_close_gives_up_for_is_named, 0,
                        sizeof reasons / sizeof reasons[0]);
    tcase_add_test(t, a_folder_is_refused_with_its_name);
    tcase_add_loop_test(
        t, a_log_that_moves_leaves_what_was_before_and_starts_with_the_snapshot, 0, 2);
    tcase_add_test(t, lines_come_without_flush_or_close);
    tcase_add_loop_test(t, of_four_processes_on_one_path_every_line_is_in_one_file_once,
                        0, 2 * N_ROTATIONS); /* then with somebody who takes them away */
    tcase_add_test(t, kill_loses_nothing_flushed_and_tears_no_line_but_the_last);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
