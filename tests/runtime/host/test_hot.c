/* SPDX-License-Identifier: MIT */
/* The hot path through libadmitperf.so, as a gateway links it: deciding and settling
 * allocate nothing and make no system call, whatever is loaded. Allocations are counted by
 * a malloc in front of the C library's; a system call ends the child that makes one. The
 * clock is read without (vDSO): where it is not, the claim is skipped.
 *
 * One thread: what a thread does that meets another in a policy is in runtime.h. */
#include <admitperf/runtime.h>

#include <check.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- counting --- */

static _Thread_local unsigned long allocations;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *at);

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    allocations++;
    return __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
    allocations++;
    return __libc_realloc(at, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    allocations++;
    return __libc_memalign(align, size);
}

void free(void *at)
{
    allocations += at != NULL;
    __libc_free(at);
}

/* --- what is loaded, and what is asked --- */

static const char *const shapes[] = {
    "policy: { use: no_admission }\n",
    "policy: { use: kv_threshold, params: { threshold: 0.5 } }\n",
    "policy: { use: kv_threshold, params: { threshold: 0.99 }, enforce: 0.5 }\n"
    "shadow: [ { use: queue_depth, params: { max_waiting: 1 } }, { use: dual_gate, "
    "params: "
    "{ threshold: 0.5, min_hit_rate: 0.5 } }, { use: kv_threshold, params: { threshold: "
    "0.1 } } ]\n",
    "policy: { use: ./ticket_echo.so }\nshadow: [ { use: ./counter.so } ]\n",
    "policy: { use: ./undecided.so, on_error: reject }\n",
};
enum { ROUNDS = 300, SHAPES = sizeof shapes / sizeof shapes[0] };

static char folder[64];
static adp_runtime *rt;
static adp_lane *lane;

static void start(const char *body, const char *log)
{
    char text[2048];
    adp_errors errors = { 0 };
    adp_error err = { 0 };
    snprintf(text, sizeof text, "version: 1\nexperiment: e\nlog: { path: \"%s/%s\" }\n%s",
             folder, log, body);
    ck_assert_int_eq(chdir(TEST_POLICIES), 0); /* ./NAME.so starts there */
    int code = adp_runtime_open_text(&rt, text, "t", &errors);
    ck_assert_msg(code == 0, "%s", errors.n ? errors.list[0].text : "");
    code = adp_runtime_start(rt, &err);
    ck_assert_msg(code == 0, "%s", err.text);
    ck_assert_int_eq(adp_lane_open(&lane, rt, NULL), 0);
    static const char page[] =
        "vllm:kv_cache_usage_perc 0.75\nvllm:num_requests_waiting 3\n";
    ck_assert_int_eq(adp_runtime_publish_text(rt, page, strlen(page), NULL), 0);
}

static void setup(void)
{
    setenv("ADMITPERF_PLUGIN_PATH", PLUGINS, 1);
    strcpy(folder, "/tmp/adp-hot-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* One request each way: with and without id, facts, metrics of its own; its outcome by
 * handle, by id, of nobody, with extra keys. */
static void one_of_each(unsigned i)
{
    static const char *const zero[] = { "engine", "0", NULL };
    static const char *const classes[] = { NULL, "count", "asked" };
    static const adp_extra extra[] = { { "model", "qwen", 0 }, { "turns", NULL, 3 } };
    const adp_metric metrics[] = { { "vllm:kv_cache_usage_perc", zero, 0.75 },
                                   { "vllm:num_requests_waiting", zero, 1.0 * i },
                                   { "vllm:prefix_cache_hits_total", zero, 3.0 * i },
                                   { "DCGM_FI_DEV_GPU_UTIL", NULL, 40 } };
    char id[] = "request-0000", tenant[101];
    memset(tenant, 't', 100); /* longer than what is kept as it is */
    tenant[100] = '\0';
    for (int k = 11; k > 7; k--, i /= 10)
        id[k] = (char)('0' + i % 10);
    adp_facts facts = { .size = sizeof facts,
                        .present = ADP_PROMPT | ADP_OUTPUT | ADP_PRIORITY | ADP_DEADLINE,
                        .request_id = id,
                        .tenant = tenant,
                        .session = "s",
                        .slo_class = classes[(unsigned char)id[11] % 3],
                        .prompt_tokens = 100,
                        .ttft_deadline_ms = 500 };
    adp_result done = { .size = sizeof done,
                        .end = ADP_DONE,
                        .present = ADP_O_TTFT | ADP_O_STATUS,
                        .ok = 1,
                        .status = 200,
                        .ttft_ms = 418,
                        .n_extra = 2,
                        .extra = extra };
    adp_decision a, b, c;
    adp_lane_decide(lane, &facts, &a);
    adp_lane_decide(lane, NULL, &b);
    adp_lane_decide_with(lane, metrics, 4, &facts, &c);
    adp_lane_outcome(lane, a.id, NULL, &done);
    adp_lane_outcome(lane, b.id, NULL, &done);
    adp_lane_outcome(lane, 0, id, &done);
    adp_lane_outcome(lane, 0, "nobody", &done);
}

START_TEST(deciding_and_settling_allocate_nothing)
{
    start(shapes[_i], "log");
    unsigned long before = allocations;
    for (unsigned i = 0; i < ROUNDS; i++)
        one_of_each(i);
    unsigned long hot = allocations - before;
    uint32_t id;
    ck_assert_int_eq(adp_runtime_intern(rt, "something", NULL, &id, NULL), 0);
    unsigned long counted = allocations - before - hot;
    ck_assert_uint_eq(hot, 0);
    ck_assert_uint_gt(counted, 0); /* the counter sees what the library allocates */
    adp_lane_close(lane);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
}
END_TEST

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* From now on this thread may do nothing but end the process. */
static int forbid_system_calls(void)
{
#ifdef MACHINE
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#else
    return -1;
#endif
}

/* In a child, behind the filter: 0, the signal that ended it, or -1 without a filter. */
static int signal_behind_filter(void (*what)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        what(); /* once before: it starts what it needs, and pages are there */
        if (forbid_system_calls() < 0)
            _exit(77);
        what();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) ? -1 : 0;
}

static void read_clocks(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    clock_gettime(CLOCK_MONOTONIC, &t);
}

static void ask_the_kernel(void)
{
    syscall(SYS_getppid);
}

static const char *shape;

static void decide_and_settle(void)
{
    if (!rt)
        start(shape, "child"); /* in the child: a runtime of its own */
    for (unsigned i = 0; i < ROUNDS; i++)
        one_of_each(i);
}

START_TEST(deciding_and_settling_make_no_system_call)
{
    if (signal_behind_filter(read_clocks) != 0) {
        printf("skipped: no filter here, or the clock needs a system call\n");
        return;
    }
    ck_assert_int_eq(signal_behind_filter(ask_the_kernel), SIGSYS); /* the filter works */
    shape = shapes[_i];
    ck_assert_int_eq(signal_behind_filter(decide_and_settle), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hot");
    TCase *t = tcase_create("hot");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, deciding_and_settling_allocate_nothing, 0, SHAPES);
    tcase_add_loop_test(t, deciding_and_settling_make_no_system_call, 0, SHAPES);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
