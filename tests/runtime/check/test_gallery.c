/* SPDX-License-Identifier: MIT */
/* The gallery: each policy fails the check it is named after and no other, so each check
 * can fail, and fails alone. What it saw is looked at too: it must be that defect. */
#include "runtime/check/check.h"

#include <check.h>
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { PERCENT = 10, SOON_MS = 6000, BUDGET_NS = 2000 };

static const struct {
    const char *file;
    const char *seen; /* part of it */
    struct adp_check_options options;
} rows[] = {
    { "in_order", NULL, { 0 } },
    { "atomic_in_order", NULL, { 0 } },
    { "counts_in_order", NULL, { 0 } },
    { "deep_in_order", NULL, { 0 } },
    { "chances_in_order", NULL, { 0 } },
    { "untold_in_order", NULL, { 0 } },
    { "ends_in_order", NULL, { 0 } },
    { "keeps_in_order", NULL, { 0 } },
    { "latched_in_order", NULL, { 0 } },
    { "learns_in_order", NULL, { 0 } },
    { "limited_in_order", NULL, { 0 } },
    { "lives_in_order", NULL, { 0 } },
    { "locked_in_order", NULL, { 0 } },
    { "looks_in_order", NULL, { 0 } },
    { "many_in_order", NULL, { 0 } },
    { "margin_in_order", NULL, { 0 } },
    { "probes_in_order", NULL, { 0 } },
    { "rows_in_order", NULL, { 0 } },
    { "slow_in_order", NULL, { .limit_ms = SOON_MS } },
    { "lines_in_order", NULL, { .percent = 100 } },
    { "padded_in_order", NULL, { .percent = 100 } },
    { "text_in_order", NULL, { .percent = 100 } }, /* every bit is turned over */
    { "wide_in_order", NULL, { 0 } },
    { "e2_newer_host", "needs a newer host: one of minor 99", { 0 } },
    { "e3_second_name", "exported beside the entry: clamp_rate", { 0 } },
    { "e3_unique", "gallery_count", { 0 } },
    { "e4_calls_host", "adp_version", { 0 } },
    { "e5_relative_path", "RUNPATH has \"lib\"", { 0 } },
    { "e5_writable_path", "RUNPATH has \"/tmp\"", { 0 } },
    { "e6_executable_stack", "executable", { 0 } },
    { "e6_text_relocation", "text relocations", { 0 } },
    { "e7_static_tls", "DF_STATIC_TLS", { 0 } },
    { "l1_changes_mode", "it makes the system call fchmod while it was loaded", { 0 } },
    { "l1_kills_parent", "it makes the system call kill while it was loaded", { 0 } },
    { "l1_makes_processes", "it makes a process (the system call clone) while", { 0 } },
    { "l1_missing_function", "undefined symbol: gallery_nowhere", { 0 } },
    { "l1_sleeps", "expected at most 1000", { 0 } },
    { "l2_asks_locale", "the locale", { 0 } },
    { "l2_blocks_window", "loading it blocks signal 28 (SIGWINCH)", { 0 } },
    { "l2_closes_all", "loading it closed descriptor 3, a file of the host's", { 0 } },
    { "l2_descriptor", "/dev/null", { 0 } },
    { "l2_environment", "environment", { 0 } },
    { "l2_floating_point", "floating-point mode", { 0 } },
    { "l2_folder", "/usr after", { 0 } },
    { "l2_ignores_signal", "SIGPIPE", { 0 } },
    { "l2_locale", "C.UTF-8", { 0 } },
    { "l2_locks", "loading it locked memory: 0 kB before", { 0 } },
    { "l2_signal", "SIGUSR1", { 0 } },
    { "l2_socket", "system call socket", { 0 } },
    { "l2_thread", "thread", { 0 } },
    { "l2_thread_locale", "loading it changed the locale of its thread", { 0 } },
    { "l2_umask", "000 after", { 0 } },
    { "l2_usual_locale", "the locale", { 0 } },
    { "l2_usual_umask", "022 after", { 0 } },
    { "l2_alarm", "system call alarm while it was loaded", { 0 } },
    { "l2_timer", "the number of timers (timer_create): 0 before, 1 after", { 0 } },
    { "l2_limit", "system call prlimit64 while it was loaded", { 0 } },
    { "l2_prints", "bytes to descriptor 1, standard output", { 0 } },
    { "l2_one_output", "another file in the place of descriptor 2", { 0 } },
    { "l2_nonblocking", "the flags of descriptor 1", { 0 } },
    { "l2_no_new_privs", "system call prctl", { 0 } },
    { "l3_one_of_a_kind", "a copy of its file that is loaded beside it defers", { 0 } },
    { "l4_crashes", "in create", { 0 } },
    { "l4_makes_process", "it makes a process (the system call clone) in create", { 0 } },
    { "l4_sleeps", "0 ms of it computing, expected at most 250", { 0 } },
    { "l4_thinks", "of it computing, expected at most 250", { 0 } },
    { "l5_aborts", "killed by SIGABRT in a handler that runs at exit", { 0 } },
    { "l5_ends", "it ended the process, with status 0 in a destructor", { 0 } },
    { "l5_exits", "with status 0 in a handler that runs at exit", { 0 } },
    { "l5_ignores_signal", "a destructor changed what happens on signal 15", { 0 } },
    { "l5_waits", "s of waiting in a destructor", { .limit_ms = SOON_MS } },
    { "s1_no_decide", "has no decide", { 0 } },
    { "s1_unknown_word", "nearest is \"request\"", { 0 } },
    { "s1_wild_pointer", "outside of the file's memory", { 0 } },
    { "s2_percent", "\"percent\"", { 0 } },
    { "s2_too_many", "more than 64 signals", { 0 } },
    { "s3_any_extension", "is not NULL", { 0 } },
    { "b1_abort", "Assertion", { 0 } },
    { "b1_crash", "in decide", { 0 } },
    { "b1_exit", "ended the process, with status 0 in decide", { 0 } },
    { "b1_few_replicas", "in decide", { 0 } },
    { "b1_late_deadline", "in decide", { 0 } },
    { "b1_short_name", "in decide", { 0 } },
    { "b1_wants_pair", "within their bounds: low is not below threshold", { 0 } },
    { "b1_whole_quota", "in create", { 0 } },
    { "b1_hang",
      "did not come back within 6 s of computing in decide",
      { .limit_ms = SOON_MS } },
    { "b1_no_margin", "nan, expected a finite number", { 0 } },
    { "b1_no_such_slot", "binding is slot 7 of 1", { 0 } },
    { "b1_probability", "expected a probability", { 0 } },
    { "b1_removes_file", "it makes the system call unlink in decide", { 0 } },
    { "b1_undecided", "it sets no action", { 0 } },
    { "b1_unknown_reason", "reason 99", { 0 } },
    { "b1_waits", "6 s of waiting in decide", { .limit_ms = SOON_MS } },
    { "b1_wants_config", "a config with classes is needed; what `config:`", { 0 } },
    { "b2_auxval", "it calls getauxval(AT_RANDOM) in create", { 0 } },
    { "b2_canary", "in another process", { 0 } },
    { "b2_host_name", "it calls uname in create", { 0 } },
    { "b2_thread", "in another process", { 0 } },
    { "b2_clock", "it calls clock_gettime in decide", { 0 } },
    { "b2_environment", "it calls getenv in create", { 0 } },
    { "b2_random", "it calls rand in decide", { 0 } },
    { "b2_uninitialised", "in another process", { 0 } },
    { "b3_static", "an instance that was created after it", { 0 } },
    { "b4_fact", "unknown facts", { 0 } },
    { "b4_outcome", "unmeasured outcomes", { 0 } },
    { "b4_short_prompt", "numbers that could be true in unknown facts", { 0 } },
    { "b4_signal", "absent slots", { 0 } },
    { "b4_slow_outcome", "numbers that could be true in unmeasured outcomes", { 0 } },
    { "b4_tenant_key", "unknown facts", { 0 } },
    { "b4_within_reason", "numbers that could be true in absent slots", { 0 } },
    { "b5_beyond_signals", "goes beyond view->signal: byte 8 of 8", { 0 } },
    { "b5_keeps_param", "it looks at setup->param after the call", { 0 } },
    { "b5_keeps_saved", "it looks at setup->saved after the call", { 0 } },
    { "b5_keeps_tenant", "it looks at request->tenant after the call", { 0 } },
    { "b5_new_bits", "64 bytes longer and with bits that are new", { 0 } },
    { "b5_newer_field", "goes beyond adp_view: byte 72 of 72", { 0 } },
    { "b5_verdict_tail", "writes byte 48 of a verdict", { 0 } },
    { "b5_writes_view", "writes into view->signal", { 0 } },
    { "b6_catches_up",
      "did not come back within 6 s of computing in decide",
      { .limit_ms = SOON_MS } },
    { "b6_divides", "time that stands still", { 0 } },
    { "b7_divides", "with window at its lowest", { 0 } },
    { "b7_silent", "with threshold at its highest without saying why", { 0 } },
    { "b8_keeps_done", "it admits 0 of 300 requests, a new instance 20", { 0 } },
    { "b8_keeps_busy", "3650 days later", { 0 } },
    { "b8_keeps_late", "3650 days later", { 0 } },
    { "b8_keeps_lost", "when all its tickets are lost, 3650 days later", { 0 } },
    { "b8_lost", "in outcome", { 0 } },
    { "b8_many", "thousands of outcomes that wait", { 0 } },
    { "b8_new_end", "with outcomes of kind 9", { 0 } },
    { "b8_no_outcome", "has no outcome to take it back", { 0 } },
    { "b8_twice", "64 tickets come back as not run", { 0 } },
    { "b8_stranger", "tickets that it never set", { 0 } },
    { "b9_descriptor", "left descriptors open", { 0 } },
    { "b9_maps", "100 lives of an instance left 409600 bytes mapped", { 0 } },
    { "b9_no_destroy", "100 blocks of memory behind, 6400 bytes", { 0 } },
    { "b9_keys", "left 100 keys", { 0 } },
    { "b9_keeps_text", "100 blocks of memory behind", { 0 } },
    { "b10_leaves_half", "left 1 blocks of memory behind, 8 bytes", { 0 } },
    { "b10_keeps_refused", "100 bytes, with threshold at its lowest", { 0 } },
    { "b10_no_room", "create writes byte 2 of an error for which there are 1,", { 0 } },
    { "b10_garbles", "what create says is not UTF-8", { 0 } },
    { "b10_half_a_word", "in create, whose allocation 1 fails", { 0 } },
    { "b10_removes_file", "system call unlink in create, whose allocation 1", { 0 } },
    { "b10_shouts", "has control characters in it", { 0 } },
    { "b10_silent", "does not say why", { 0 } },
    { "b10_turns", "has control characters in it", { 0 } },
    { "b10_unchecked", "in create, whose allocation 1 fails", { 0 } },
    { "b11_believes", "bytes at random", { 0 } },
    { "b11_changes", "one that was saved", { 0 } },
    { "b11_cut_short", "of 24 saved bytes", { 0 } },
    { "b11_believes_time", "a clock that has begun again, 1 days later", { 0 } },
    { "b11_forgets", "one that was restored", { 0 } },
    { "b11_overruns", "in save", { 0 } },
    { "b11_no_sum", "turned over, for its state", { 0 } },
    { "b11_other_layout", "another version's (another layout)", { 0 } },
    { "b11_same_tickets", "which its forerunner set after the save", { 0 } },
    { "b11_when_strict", "one that was restored with strict at 1", { 0 } },
    { "b12_at_zero", "margin 0, an admission whose margin is not below 0", { 0 } },
    { "b12_baseline", "baseline", { 0 } },
    { "b12_dice", "draw", { 0 } },
    { "b12_draw_of_rows", "refused is whose draw is below p", { 0 } },
    { "b12_gates_of_all", "hold for no rule", { 0 } },
    { "b12_low_draw", "but its draw is 0: refused is whose draw is below p", { 0 } },
    { "b12_low_untold", "at a draw of 0 and at no other", { 0 } },
    { "b12_margin", "margin", { 0 } },
    { "b12_margin_of_all", "whose margin is", { 0 } },
    { "b12_memory", "hold for no rule", { 0 } },
    { "b12_operator", "(kv_pressure 0.5)", { 0 } },
    { "b12_stale", "but every signal that it declares is there", { 0 } },
    { "b12_undeclared", "hold for no rule", { 0 } },
    { "b13_blocks_urgent", "create blocks signal 23 (SIGURG)", { 0 } },
    { "b13_ignores_sigpipe", "create changed what happens on signal 13", { 0 } },
    { "b13_ignores_signal", "create changed what happens on signal 15", { 0 } },
    { "b13_rounds_up", "decide changed the floating-point mode", { 0 } },
    { "b13_thread_locale", "decide changed the locale of its thread", { 0 } },
    { "b13_unblocks", "create lets through signal 15 (SIGTERM)", { 0 } },
    { "b13_usual_locale", "create changed the locale of its thread", { 0 } },
    { "b13_umask", "destroy changed the umask", { 0 } },
    { "b13_prints", "create wrote 17 bytes to descriptor 2", { 0 } },
    { "b13_closes_input", "system call close in create", { 0 } },
    { "b13_keeps_mmx", "decide changed the floating-point mode of its thread", { 0 } },
    { "b13_swaps_output", "create changed the streams stdin, stdout, stderr", { 0 } },
    { "b13_renames", "create changed the name of its thread", { 0 } },
    { "b13_no_cancel", "can be cancelled", { 0 } },
    { "b13_signal_stack", "sigaltstack", { 0 } },
    { "b13_limit", "system call prlimit64 in create", { 0 } },
    { "b13_parent_death", "PR_SET_PDEATHSIG", { 0 } },
    { "b13_locks_all", "mlockall in create", { 0 } },
    { "b13_batch", "it makes the system call sched_setscheduler in create", { 0 } },
    { "b13_getopt", "optind", { 0 } },
    { "b14_caches", "threshold is not ADP_FIXED, but when it changes from 0.5", { 0 } },
    { "b14_when_steady", "with steady at 1", { 0 } },
    { "c1_gives_twice",
      "requests out at a time; one thread never has more than 8",
      { 0 } },
    { "c1_looks_first",
      "requests out at a time; one thread never has more than 8",
      { 0 } },
    { "c1_overshoots",
      "requests out at a time; one thread never has more than 64",
      { 0 } },
    { "c1_plain_count", "all their tickets came back as not run", { 0 } },
    { "c1_scratch", "among 4 threads", { 0 } },
    { "c1_takes_space",
      "no thread can be made; without the policy it can be had here",
      { .only = "C1" } },                              /* R4 cannot start a host either */
    { "c1_undoes", "4 threads have asked it", { 0 } }, /* too many, or too few */
    { "c1_when_done", "all their tickets came back as done", { 0 } },
    { "c1_when_failed", "4 threads have asked it, with readings and a tenant", { 0 } },
    { "c1_with_tenant", "with readings and a tenant, all their tickets", { 0 } },
    { "c2_atfork", "in a process that was forked before", { 0 } },
    { "r1_allocates", "allocates memory in decide, on request 1", { 0 } },
    { "r1_deep", "it needs more than 128 KiB of stack in decide", { 0 } },
    { "r1_one_tenant", "allocates memory in decide, on request", { 0 } },
    { "r1_prints_number", "allocates memory in decide, on request 1", { 0 } },
    { "r1_whole_page", "allocates memory in decide, on request 1", { 0 } },
    { "r1_table_grows", "allocates memory in decide, on request", { 0 } },
    { "r1_when_failed", "allocates memory in outcome, on request", { 0 } },
    { "r2_asks_system", "getppid", { 0 } },
    { "r2_prints", "write", { 0 } },
    { "r2_reads_clock", "system call clock_gettime in decide", { 0 } },
    { "r3_slow", "the budget is 2000", { .budget_ns = BUDGET_NS } },
    { "r4_after_another", "the same in a host of its own action 2", { 0 } },
    { "r4_keeps_running", "ten years later, it admits 0 of 300 requests", { 0 } },
    { "r4_takes_space", "the host cannot start: no memory for the region of", { 0 } },
    { "r4_same_threshold", "SIGABRT in create, with generation 2 of 6", { 0 } },
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* How to mend it goes by what was seen: a part of the text. */
static const struct {
    const char *file, *mend;
    uint32_t rule; /* 0: the check's */
} mends[] = {
    { "b1_exit", "ends the host", 0 },
    { "b1_hang", "bound every loop", 0 },
    { "b1_waits", "waits for a lock", 0 },
    { "b1_undecided", "end every path of decide", 0 },
    { "b1_wants_config", "with --config", 0 },
    { "b1_wants_pair", "give parameters that create takes", 0 },
    { "b1_removes_file", "leave files", 8 },
    { "b10_removes_file", "leave files", 8 },
    { "b6_catches_up", "compare before subtracting", 0 },
    { "b11_believes", "with its layout", 0 },
    { "b11_believes_time", "lose its hold with time", 0 },
    { "c1_takes_space", "no more memory, addresses", 8 },
    { "l4_crashes", "touches memory", 0 },
    { "l4_makes_process", "leave files", 8 },
    { "l4_sleeps", "take out what sleeps", 0 },
    { "l4_thinks", "compute tables when", 0 },
    { "r2_prints", "no printing", 0 },
    { "r4_takes_space", "no more memory, addresses", 8 },
    { "s2_too_many", "no more than 52", 0 },
};

/* Under ASan malloc fills what it gives alike in every process, mlockall does nothing, and
 * without addresses ASan itself ends. */
static bool is_sanitized(void)
{
#if defined __SANITIZE_ADDRESS__
    return true;
#elif defined __has_feature
#if __has_feature(address_sanitizer)
    return true;
#endif
#endif
    return false;
}

/* A sanitizer ends whoever crashes in its own way. */
static bool is_mended_as_it_should(const char *file, const char *mend)
{
    for (size_t i = 0; i < sizeof mends / sizeof mends[0]; i++)
        if (strcmp(mends[i].file, file) == 0 && !strstr(mend, mends[i].mend))
            return is_sanitized() && strcmp(file, "l4_crashes") == 0;
    return true;
}

static uint32_t rule_of(const struct adp_check_result *result, const char *file)
{
    struct adp_check_result listed;
    for (size_t i = 0; i < sizeof mends / sizeof mends[0]; i++)
        if (strcmp(mends[i].file, file) == 0 && mends[i].rule)
            return mends[i].rule;
    for (uint32_t i = 0; adp_check_listed(&listed, i); i++)
        if (strcmp(listed.id, result->id) == 0)
            return listed.rule;
    return 0;
}

/* "B10" of "b10_silent"; "" when it is named after no check. */
static const char *id_of(const char *file)
{
    static char id[8];
    size_t n = strcspn(file, "_");
    id[0] = '\0';
    if (n < sizeof id && n > 1 && isdigit((unsigned char)file[1])) {
        memcpy(id, file, n);
        id[0] = (char)toupper((unsigned char)id[0]);
        id[n] = '\0';
    }
    return id;
}

/* "B1 B4": what failed. */
static void failures(const struct adp_check_report *report, char *to, size_t cap)
{
    size_t at = 0;
    to[0] = '\0';
    for (uint32_t i = 0; i < report->n && at < cap; i++)
        if (report->results[i].status == ADP_CHECK_FAIL) {
            int n =
                snprintf(to + at, cap - at, "%s%s", at ? " " : "", report->results[i].id);
            at += n > 0 ? (size_t)n : 0;
        }
}

START_TEST(a_policy_fails_the_check_it_is_named_after_and_no_other)
{
    static struct adp_check_report report;
    struct adp_check_options options = rows[_i].options;
    char path[600], failed[120];
    if (is_sanitized() && (strcmp(rows[_i].file, "b2_uninitialised") == 0 ||
                           strcmp(rows[_i].file, "l2_locks") == 0 ||
                           strcmp(rows[_i].file, "b13_locks_all") == 0 ||
                           strstr(rows[_i].file, "_takes_space")))
        return;
    if (!options.percent)
        options.percent = PERCENT;
    snprintf(path, sizeof path, "%s/%s.so", GALLERY, rows[_i].file);
    ck_assert_int_eq(adp_check_run(&report, path, &options, NULL), 0);
    failures(&report, failed, sizeof failed);
    ck_assert_msg(strcmp(failed, id_of(rows[_i].file)) == 0, "%s fails \"%s\"",
                  rows[_i].file, failed);
    for (uint32_t i = 0; i < report.n; i++) {
        const struct adp_check_result *r = &report.results[i];
        if (r->status != ADP_CHECK_FAIL)
            continue;
        ck_assert_msg(strstr(r->seen, rows[_i].seen), "%s was seen: %s", rows[_i].file,
                      r->seen);
        ck_assert_ptr_nonnull(r->mend);
        ck_assert_msg(is_mended_as_it_should(rows[_i].file, r->mend),
                      "%s is to be mended: %s", rows[_i].file, r->mend);
        ck_assert_uint_eq(r->rule, rule_of(r, rows[_i].file));
    }
}
END_TEST

/* E1 is about files that no compiler for this machine makes: test_check.c. */
START_TEST(every_check_has_a_policy_that_fails_it)
{
    struct adp_check_result listed;
    ck_assert(adp_check_listed(&listed, (uint32_t)_i));
    bool found = strcmp(listed.id, "E1") == 0;
    for (int i = 0; i < N_ROWS; i++)
        found |= strcmp(id_of(rows[i].file), listed.id) == 0;
    ck_assert_msg(found, "no policy fails %s", listed.id);
}
END_TEST

START_TEST(every_policy_of_the_gallery_is_tried)
{
    struct dirent *e;
    DIR *d = opendir(GALLERY);
    int seen = 0;
    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d))) {
        size_t n = strlen(e->d_name);
        bool found = false;
        if (n < 4 || strcmp(e->d_name + n - 3, ".so") != 0)
            continue;
        for (int i = 0; i < N_ROWS && !found; i++)
            found = strlen(rows[i].file) == n - 3 &&
                    memcmp(rows[i].file, e->d_name, n - 3) == 0;
        ck_assert_msg(found, "%s is not in the table", e->d_name);
        seen++;
    }
    closedir(d);
    ck_assert_int_eq(seen, N_ROWS);
}
END_TEST

static int count_listed(void)
{
    struct adp_check_result listed;
    int n = 0;
    while (adp_check_listed(&listed, (uint32_t)n))
        n++;
    return n;
}

int main(void)
{
    Suite *s = suite_create("gallery");
    TCase *t = tcase_create("gallery");
    tcase_set_timeout(t, 120.0); /* on a busy machine */
    tcase_add_loop_test(t, a_policy_fails_the_check_it_is_named_after_and_no_other, 0,
                        N_ROWS);
    tcase_add_loop_test(t, every_check_has_a_policy_that_fails_it, 0, count_listed());
    tcase_add_test(t, every_policy_of_the_gallery_is_tried);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
