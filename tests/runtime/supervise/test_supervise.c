/* SPDX-License-Identifier: MIT */
/* A supervisor with a worker that is taken down in every way we know. */
#include "tests/runtime/supervise/field.h"

#include <poll.h>
#include <pthread.h>
#include <sys/pidfd.h>

/* --- the crash set under load --- */

static const struct {
    const char *policy, *fault;
    uint64_t memory_bytes;
} ways[] = {
    { "crash_segv", "the policy died of SIGSEGV", 0 },
    { "crash_overflow", "the policy died of SIGSEGV", 0 },
    { "crash_abort", "the policy died of SIGABRT", 0 },
    { "crash_exit", "the policy ended the process", 0 },
    { "crash_hang", "the policy did not return", 0 },
    { "crash_leak", NULL, 100 << 20 }, /* it steps down: in no request */
};

enum { CLIENTS = 8, REQUESTS = 60, EVERY = 20 };

struct client {
    pthread_t id;
    const struct field *field;
    uint32_t n, by_policy, by_fault, again, failed, wrong_kind, no_kind;
    uint64_t worst_ns;
};

static void *play(void *arg)
{
    struct client *c = arg;
    int fd = client_open(c->field);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        struct lab_request r = { .ask = LAB_DECIDE, .kind = 1 + c->n * 1000 + i };
        struct lab_answer a;
        snprintf(r.id, sizeof r.id, "c%u-%u", c->n, i);
        if ((i + c->n * 3) % EVERY == EVERY / 2)
            memcpy(r.tenant, "crash", 6);
        uint64_t begin = field_mono(NULL);
        bool answered = client_ask(fd, &r, &a);
        /* As any gateway does whose kept connection turns out to be closed. */
        for (int try = 0; !answered && try < 5; try++) {
            c->again++;
            close(fd);
            fd = client_open(c->field);
            answered = client_ask(fd, &r, &a);
        }
        if (!answered) {
            c->failed++;
            continue;
        }
        uint64_t took = field_mono(NULL) - begin;
        c->worst_ns = took > c->worst_ns ? took : c->worst_ns;
        c->by_policy += a.what == 'A';
        c->by_fault += a.what == 'F';
        c->no_kind += a.what == 'F' && !a.kind;
        c->wrong_kind += a.kind != r.kind && (a.what != 'F' || a.kind);
    }
    close(fd);
    return NULL;
}

/* Each request has its line, those that were answered for the policy one with a fault. `strict`:
 * only one thread, which dies in the policy. Of others one may have just begun with a request, or
 * just recorded it. */
static void account(const struct field *f, int way, uint32_t by_fault, bool strict)
{
    json_t *all = field_lines(f);
    size_t i;
    json_t *line;
    uint32_t faults = 0, drops = 0, lost = 0;
    json_array_foreach(all, i, line)
    {
        drops += json_object_get(line, "dropped") != NULL;
        if (!json_is_string(json_object_get(line, "fault")))
            continue;
        faults++;
        ck_assert_str_eq(field_text(line, "policy"), ways[way].policy);
        if (strict)
            ck_assert_str_eq(field_text(line, "fault"), ways[way].fault);
    }
    for (uint32_t n = 0; n < CLIENTS; n++)
        for (uint32_t k = 0; k < REQUESTS; k++) {
            char id[24];
            snprintf(id, sizeof id, "c%u-%u", n, k);
            lost += field_decisions(all, id, NULL, NULL) == 0;
        }
    json_decref(all);
    if (strict) {
        ck_assert_uint_eq(faults, by_fault);
        ck_assert_uint_eq(lost + drops, 0);
    } else if (lost) {
        ck_assert_uint_le(lost + faults, by_fault);
    }
}

static void load(const char *threads, int way)
{
    bool hangs = strcmp(ways[way].policy, "crash_hang") == 0;
    bool leaks = ways[way].memory_bytes;
    struct field f = { .options = { .hang_ms = hangs ? 60 : 5000,
                                    .window_ms = 1,
                                    .memory_bytes = ways[way].memory_bytes } };
    struct client c[CLIENTS] = { 0 };
    uint32_t by_policy = 0, by_fault = 0, again = 0, no_kind = 0;
    uint64_t worst_ns = 0;
    field_open(&f, threads, "50", ways[way].policy, NULL);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        c[i].field = &f;
        c[i].n = i;
        ck_assert_int_eq(pthread_create(&c[i].id, NULL, play, &c[i]), 0);
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        pthread_join(c[i].id, NULL);
        ck_assert_uint_eq(c[i].failed, 0);
        ck_assert_uint_eq(c[i].wrong_kind, 0);
        no_kind += c[i].no_kind;
        again += c[i].again;
        by_policy += c[i].by_policy;
        by_fault += c[i].by_fault;
        worst_ns = c[i].worst_ns > worst_ns ? c[i].worst_ns : worst_ns;
    }
    struct adp_supervised s = field_end(&f);
    ck_assert_uint_eq(by_policy + by_fault, CLIENTS * REQUESTS);
    uint64_t deaths = 0;
    for (int i = 1; i < ADP_CAUSE_COUNT; i++)
        deaths += s.deaths[i];
    ck_assert_uint_ge(deaths,
                      leaks ? 1 : 2); /* how far it grows between two looks varies */
    /* One thread cannot be within a read or a write when it dies in a policy; of several, the
     * others can, and only these connections are closed, and those that were being accepted.
     * Who steps down is in none of them, but who had grown far beyond its limit before anybody
     * looked, or got no processor for half a second, is killed wherever it is. */
    bool strict = leaks ? !f.news->too_slow : *threads == '1';
    uint64_t closed = s.partly_read + s.partly_written;
    ck_assert_uint_eq(s.unheld, 0);
    ck_assert_uint_le(again, closed + (strict ? 0 : deaths));
    if (strict)
        ck_assert_uint_eq(closed, 0);
    if (strict) {
        ck_assert_uint_eq(by_fault, leaks ? 0 : deaths);
        /* Who steps down while all is drained is followed by nobody. */
        ck_assert_uint_ge(s.restarts + leaks, deaths);
        ck_assert_uint_le(s.restarts, deaths);
        ck_assert_uint_eq(no_kind, 0); /* it died before it could say */
    } else if (leaks) {
        ck_assert_uint_le(by_fault, f.news->too_slow * (uint32_t)(*threads - '0'));
    }
    account(&f, way, by_fault, strict);
    printf(
        "%s, %s thread(s): %u by the policy, %u by fault, %u asked again, %llu deaths, "
        "restart worst %.1f ms, last %.1f ms, slowest answer %.1f ms\n",
        ways[way].policy, threads, by_policy, by_fault, again, (unsigned long long)deaths,
        (double)s.restart_worst_ns / 1e6, (double)s.restart_ns / 1e6,
        (double)worst_ns / 1e6);
    field_close(&f);
}

START_TEST(no_request_fails_and_no_record_is_lost)
{
    load("1", _i);
}
END_TEST

START_TEST(nor_with_four_threads_in_the_policy)
{
    load("4", _i);
}
END_TEST

/* --- one death at a time --- */

START_TEST(the_line_of_the_fault_says_which_request_and_policy)
{
    struct field f = { .host = _i == 1, .options = { .hang_ms = 5000 } };
    const json_t *line = NULL;
    field_open(&f, "1", "20", "crash_segv", NULL);
    int fd = client_open(&f);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "before", "", "").what, 'A');
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "the-one", "", "crash").what, 'F');
    struct lab_answer a = client_say(fd, LAB_DECIDE, "after", "", "");
    ck_assert_int_eq(a.what, 'A');
    ck_assert_uint_eq(a.restarts, 1);
    ck_assert_int_eq(f.news->cause, ADP_CAUSE_SIGNAL);
    ck_assert_int_eq(f.news->detail, SIGSEGV);
    ck_assert_str_eq(f.news->policy, "crash_segv");
    ck_assert_str_eq(f.news->id, "the-one");
    close(fd);
    struct adp_supervised s = field_end(&f);
    ck_assert_uint_eq(s.fault_records, 1);
    ck_assert_uint_eq(s.inherited, 1);
    json_t *all = field_lines(&f);
    ck_assert_uint_eq(field_decisions(all, "the-one", "crash_segv", &line), 1);
    ck_assert_str_eq(field_text(line, "fault"), "the policy died of SIGSEGV");
    ck_assert_str_eq(field_text(line, "verdict"), "admit");
    ck_assert_str_eq(field_text(line, "experiment"), "lab");
    /* What it saw: the queue that was published, by the snapshot it names. */
    ck_assert_double_eq(json_number_value(json_object_get(
                            json_object_get(line, "signals"), "queue_depth")),
                        7.0);
    ck_assert_uint_eq(field_decisions(all, "before", NULL, &line), 1);
    ck_assert_uint_eq(field_decisions(all, "after", NULL, &line), 1);
    /* On the snapshot of the worker before. */
    ck_assert_int_eq(json_integer_value(json_object_get(line, "snapshot")), 1);
    json_decref(all);
    field_close(&f);
}
END_TEST

START_TEST(a_shadow_that_dies_is_named_and_the_governing_one_keeps_its_word)
{
    struct field f = { .host = _i == 1, .options = { .hang_ms = 5000 } };
    const json_t *line = NULL;
    field_open(&f, "1", "20", "ticket_echo", "crash_abort");
    int fd = client_open(&f);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "one", "", "crash").what, 'F');
    ck_assert_str_eq(f.news->policy, "crash_abort");
    close(fd);
    field_end(&f);
    json_t *all = field_lines(&f);
    ck_assert_uint_eq(field_decisions(all, "one", "crash_abort", &line), 1);
    ck_assert_str_eq(field_text(line, "fault"), "the policy died of SIGABRT");
    ck_assert_str_eq(field_text(line, "role"), "shadow");
    ck_assert_uint_eq(field_decisions(all, "one", "ticket_echo", &line), 1);
    ck_assert_str_eq(field_text(line, "fault"), "");
    ck_assert_str_eq(field_text(line, "verdict"), "admit");
    json_decref(all);
    field_close(&f);
}
END_TEST

/* From outside, once the answer before is written and said to be: a death in between would
 * close its connection, as one whose answer may be incomplete. The worker's one thread has
 * said so when it answers another client. Returns when it is dead. */
static void kill_worker(const struct field *f)
{
    int fd = client_open(f);
    int worker = pidfd_open((pid_t)client_say(fd, LAB_SEEN, "", "", "").pid, 0);
    ck_assert_int_ge(worker, 0);
    ck_assert_int_eq(pidfd_send_signal(worker, SIGKILL, NULL, 0), 0);
    struct pollfd end = { .fd = worker, .events = POLLIN };
    ck_assert_int_eq(poll(&end, 1, 20000), 1);
    close(worker);
    close(fd);
}

/* Until all that was answered so far is in a saved state: the save that is under way may have
 * begun before, the one after it has not. */
static void await_saved(int fd)
{
    int64_t from = client_say(fd, LAB_SEEN, "", "", "").code, saves = from;
    for (int i = 0; i < 20000 && saves < from + 2; i++) {
        usleep(1000);
        saves = client_say(fd, LAB_SEEN, "", "", "").code;
    }
    ck_assert_int_ge(saves, from + 2);
}

START_TEST(the_first_death_restores_the_second_starts_afresh_the_third_quarantines)
{
    struct field f = { .host = _i == 1, .options = { .hang_ms = 5000 } };
    field_open(&f, "1", "20", "crash_abort", NULL);
    int fd = client_open(&f);
    for (int i = 0; i < 5; i++)
        client_say(fd, LAB_DECIDE, "r", "", "");
    ck_assert_uint_eq(client_say(fd, LAB_DECIDE, "q", "asked", "").retry_ms, 1 + 5);
    await_saved(fd);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "x1", "", "crash").what, 'F');
    ck_assert_uint_eq(client_say(fd, LAB_DECIDE, "q", "asked", "").retry_ms, 1 + 5);
    ck_assert_uint_eq(client_say(fd, LAB_DECIDE, "q", "made", "").retry_ms, 1 + 2);
    await_saved(fd);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "x2", "", "crash").what, 'F');
    ck_assert_uint_eq(client_say(fd, LAB_DECIDE, "q", "asked", "").retry_ms, 1 + 0);
    ck_assert_uint_eq(client_say(fd, LAB_DECIDE, "q", "made", "").retry_ms, 1 + 1);
    await_saved(fd);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "x3", "", "crash").what, 'F');
    ck_assert_str_eq(f.news->quarantined, "crash_abort");
    /* Not asked any more: even this one is admitted, and lives. */
    struct lab_answer a = client_say(fd, LAB_DECIDE, "x4", "", "crash");
    ck_assert_int_eq(a.what, 'A');
    ck_assert_int_eq(a.fault, 1);
    ck_assert_uint_eq(a.restarts, 3);
    /* A death from outside changes nothing of that; a reload does. */
    kill_worker(&f);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "x5", "", "crash").fault, 1);
    client_say(fd, LAB_RELOADED, "", "", "");
    kill_worker(&f);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "ok", "", "").fault, 0);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "x6", "", "crash").what, 'F');
    close(fd);
    struct adp_supervised s = field_end(&f);
    ck_assert_uint_eq(s.quarantined, 0);
    ck_assert_uint_eq(s.deaths[ADP_CAUSE_SIGNAL], 6);
    json_t *all = field_lines(&f);
    const json_t *line = NULL;
    ck_assert_uint_eq(field_decisions(all, "x4", NULL, &line), 1);
    ck_assert_str_eq(field_text(line, "fault"), "the policy is in quarantine");
    json_decref(all);
    field_close(&f);
}
END_TEST

START_TEST(tickets_survive_and_their_outcome_reaches_the_restored_policy)
{
    struct field f = { .host = _i == 1, .options = { .hang_ms = 5000 } };
    field_open(&f, "1", "20", "crash_exit", NULL);
    int fd = client_open(&f);
    client_say(fd, LAB_DECIDE, "early", "", "");
    await_saved(fd); /* with that ticket in it */
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "x", "", "crash").what, 'F');
    ck_assert_int_eq(client_say(fd, LAB_OUTCOME, "early", "", "").code, 0);
    ck_assert_uint_eq(client_say(fd, LAB_DECIDE, "q", "back", "").retry_ms, 1 + 1);
    ck_assert_int_lt(client_say(fd, LAB_OUTCOME, "early", "", "").code, 0);
    close(fd);
    field_end(&f);
    field_close(&f);
}
END_TEST

START_TEST(a_policy_started_afresh_gets_no_outcome_of_the_one_before)
{
    struct field f = { .host = _i == 1, .options = { .hang_ms = 5000 } };
    field_open(&f, "1", "3600000", "crash_abort", NULL); /* nothing is saved in time */
    int fd = client_open(&f);
    client_say(fd, LAB_DECIDE, "early", "", "");
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "x", "", "crash").what, 'F');
    ck_assert_int_eq(client_say(fd, LAB_OUTCOME, "early", "", "").code, 0);
    ck_assert_uint_eq(client_say(fd, LAB_DECIDE, "q", "back", "").retry_ms, 1 + 0);
    close(fd);
    field_end(&f);
    field_close(&f);
}
END_TEST

START_TEST(a_state_that_kills_in_create_is_left_out_the_next_time)
{
    struct field f = { .host = _i == 1, .options = { .hang_ms = 5000 } };
    field_open(&f, "1", "20", "crash_abort", NULL);
    int fd = client_open(&f);
    client_say(fd, LAB_DECIDE, "arm", "", "create");
    await_saved(fd); /* the poison too */
    kill_worker(&f);
    /* The first worker dies of it in create, the second starts afresh. */
    struct lab_answer a = client_say(fd, LAB_DECIDE, "q", "made", "");
    ck_assert_uint_eq(a.retry_ms, 1 + 1);
    ck_assert_str_eq(f.news->policy, "crash_abort");
    close(fd);
    struct adp_supervised s = field_end(&f);
    ck_assert_uint_le(s.restarts, 3);
    field_close(&f);
}
END_TEST

/* --- connections --- */

START_TEST(what_was_partly_read_or_written_is_closed_and_counted)
{
    struct field f = { .options = { .hang_ms = 5000 } };
    char byte;
    field_open(&f, "1", "20", "crash_abort", NULL);
    int half = client_open(&f), writing = client_open(&f), idle = client_open(&f);
    client_say(idle, LAB_DECIDE, "a", "", "");
    ck_assert_int_eq(send(half, "1234", 4, MSG_NOSIGNAL), 4);
    client_say(idle, LAB_DECIDE, "b", "", "");
    client_say(idle, LAB_DECIDE, "c", "", ""); /* by now those four bytes are read */
    struct lab_request r = { .ask = LAB_HALF };
    struct lab_answer a;
    bool whole = client_ask(writing, &r, &a);
    ck_assert(!whole);
    ck_assert_int_eq(recv(half, &byte, 1, 0), 0);
    ck_assert_uint_eq(client_say(idle, LAB_DECIDE, "d", "", "").restarts, 1u);
    close(half);
    close(writing);
    close(idle);
    struct adp_supervised s = field_end(&f);
    ck_assert_uint_eq(s.partly_read, 1);
    ck_assert_uint_eq(s.partly_written, 1);
    ck_assert_uint_eq(s.inherited, 1);
    field_close(&f);
}
END_TEST

START_TEST(clients_see_the_end_of_a_connection_that_the_worker_closes)
{
    struct field f = { 0 };
    char byte;
    field_open(&f, "1", "20", "crash_abort", NULL);
    int fd = client_open(&f);
    client_say(fd, LAB_DECIDE, "a", "", "");
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
    close(fd);
    field_end(&f);
    field_close(&f);
}
END_TEST

/* --- life and death of the processes --- */

START_TEST(a_worker_that_cannot_start_does_not_spin)
{
    struct field f = { 0 };
    setenv("LAB_FAIL", "4", 1);
    uint64_t begin = field_mono(NULL);
    field_open(&f, "1", "20", "crash_abort", NULL);
    unsetenv("LAB_FAIL");
    /* At once, again at once, then after 50, 100, 200, 400 ms. */
    field_await(&f, ADP_WORKER_STARTED, 6);
    ck_assert_uint_ge(field_mono(NULL) - begin, 750000000);
    field_end(&f);
    uint64_t delays_ms = 0;
    for (uint32_t i = 0; i < f.news->happened[ADP_RESTART_DELAYED]; i++)
        delays_ms += i < 7 ? 50u << i : 5000;
    ck_assert_uint_ge(delays_ms, 750);
    ck_assert_uint_eq(f.news->delays_ms, delays_ms);
    ck_assert_int_eq(f.news->cause, ADP_CAUSE_EXIT);
    ck_assert_int_eq(f.news->detail, 4);
    ck_assert_str_eq(f.news->policy, "");
    field_close(&f);
}
END_TEST

START_TEST(a_program_that_is_not_there_is_an_error)
{
    struct field f = { 0 };
    int status = 0;
    /* field_open names it; the child has its own copy. */
    field_open(&f, "1", "20", "crash_abort", NULL);
    field_await(&f, ADP_WORKER_READY, 1);
    field_end(&f);
    f.argv[0] = "/nonexistent/worker";
    f.supervisor = fork();
    if (!f.supervisor)
        field_supervise(&f, dup(2));
    ck_assert_int_eq(waitpid(f.supervisor, &status, 0), f.supervisor);
    ck_assert_int_eq(f.news->code, ADP_EIO);
    field_close(&f);
}
END_TEST

START_TEST(sigterm_writes_everything)
{
    struct field f = { 0 };
    field_open(&f, "2", "20", "crash_abort", NULL);
    int fd = client_open(&f);
    for (int i = 0; i < 200; i++) {
        char id[24];
        snprintf(id, sizeof id, "r%d", i);
        client_say(fd, LAB_DECIDE, id, "", "");
    }
    struct adp_supervised s = field_end(&f);
    close(fd);
    ck_assert_uint_eq(s.restarts, 0);
    json_t *all = field_lines(&f);
    for (int i = 0; i < 200; i++) {
        char id[24];
        snprintf(id, sizeof id, "r%d", i);
        ck_assert_uint_eq(field_decisions(all, id, NULL, NULL), 1);
    }
    json_decref(all);
    field_close(&f);
}
END_TEST

START_TEST(sighup_reopens_the_log_and_a_reload_ends_a_quarantine)
{
    struct field f = { .options = { .hang_ms = 5000 } };
    char moved[128];
    field_open(&f, "1", "20", "crash_abort", NULL);
    int fd = client_open(&f);
    for (int i = 0; i < 3; i++)
        client_say(fd, LAB_DECIDE, "x", "", "crash");
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "q1", "", "").fault, 1);
    snprintf(moved, sizeof moved, "%s.1", f.log);
    ck_assert_int_eq(rename(f.log, moved), 0);
    kill(f.supervisor, SIGHUP);
    while (client_say(fd, LAB_SEEN, "", "", "").retry_ms == 0)
        usleep(1000);
    kill_worker(&f);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "q2", "", "").fault, 0);
    close(fd);
    field_end(&f);
    json_t *all = field_lines(&f);
    ck_assert_uint_eq(field_decisions(all, "q2", NULL, NULL), 1);
    json_decref(all);
    unlink(moved);
    field_close(&f);
}
END_TEST

START_TEST(a_death_while_draining_leaves_no_answer_owed)
{
    struct field f = { .options = { .hang_ms = 5000, .drain_ms = 120000 } };
    char gate[] = "/tmp/adp-supervise-gate-XXXXXX"; /* it drains while this is there */
    close(mkstemp(gate));
    setenv("LAB_DRAIN", gate, 1);
    field_open(&f, "1", "20", "crash_abort", NULL);
    unsetenv("LAB_DRAIN");
    int fd = client_open(&f);
    client_say(fd, LAB_DECIDE, "a", "", "");
    kill(f.supervisor, SIGTERM);
    field_await(&f, ADP_DRAINING, 1);
    int late = 0; /* soon nobody listens any more */
    for (int i = 0; i < 20000 && (late = client_open(&f)) >= 0; i++) {
        close(late);
        usleep(1000);
    }
    ck_assert_int_eq(late, -1);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "x", "", "crash").what, 'F');
    unlink(gate);
    close(fd);
    int status = -1;
    ck_assert_int_eq(waitpid(f.supervisor, &status, 0), f.supervisor);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(f.news->counts.restarts, 1);
    json_t *all = field_lines(&f);
    ck_assert_uint_eq(field_decisions(all, "x", NULL, NULL), 1);
    json_decref(all);
    field_close(&f);
}
END_TEST

START_TEST(the_worker_ends_with_its_supervisor)
{
    struct field f = { 0 };
    int status;
    field_open(&f, "1", "20", "crash_abort", NULL);
    int fd = client_open(&f);
    client_say(fd, LAB_DECIDE, "a", "", "");
    /* By a descriptor: its number may be another's before it is looked at. */
    int worker = pidfd_open(field_worker(&f), 0);
    ck_assert_int_ge(worker, 0);
    kill(f.supervisor, SIGKILL);
    ck_assert_int_eq(waitpid(f.supervisor, &status, 0), f.supervisor);
    char byte;
    ck_assert_int_le(recv(fd, &byte, 1, 0), 0); /* nobody has the connection any more */
    struct pollfd end = { .fd = worker, .events = POLLIN };
    ck_assert_int_eq(poll(&end, 1, 20000), 1);
    close(worker);
    close(fd);
    field_close(&f);
}
END_TEST

START_TEST(a_thread_without_a_beat_ends_its_worker)
{
    struct field f = { .options = { .stall_ms = 3000 } }; /* a busy machine is no stall */
    field_open(&f, "2", "20", "crash_abort", NULL);
    int fd = client_open(&f), other = client_open(&f);
    client_say(other, LAB_DECIDE, "a", "", "");
    struct lab_request r = { .ask = LAB_STALL, .kind = 5 };
    struct lab_answer a;
    bool answered = client_ask(fd, &r, &a);
    ck_assert(answered);
    ck_assert_int_eq(a.what, 'F');
    ck_assert_int_eq(f.news->cause, ADP_CAUSE_STALL);
    ck_assert_int_eq(client_say(other, LAB_DECIDE, "b", "", "").what, 'A');
    close(fd);
    close(other);
    field_end(&f);
    field_close(&f);
}
END_TEST

START_TEST(who_is_too_large_and_does_not_step_down_is_killed)
{
    struct field f = { .options = { .memory_bytes = 100 << 20 } };
    /* Two threads: the one that asks for it never comes back. */
    field_open(&f, "2", "20", "crash_abort", NULL);
    int fd = client_open(&f), other = client_open(&f);
    client_say(other, LAB_DECIDE, "a", "", "");
    struct lab_request r = { .ask = LAB_GROW, .kind = 5 };
    struct lab_answer a;
    uint64_t begin = field_mono(NULL);
    bool answered = client_ask(fd, &r, &a);
    ck_assert(answered);
    ck_assert_int_eq(a.what, 'F');
    ck_assert_uint_ge(field_mono(NULL) - begin, 500000000);
    ck_assert_int_eq(f.news->cause, ADP_CAUSE_MEMORY);
    ck_assert_int_eq(f.news->detail, SIGKILL);
    ck_assert_int_eq(client_say(other, LAB_DECIDE, "b", "", "").what, 'A');
    close(fd);
    close(other);
    struct adp_supervised s = field_end(&f);
    ck_assert_uint_eq(s.deaths[ADP_CAUSE_MEMORY], 1);
    ck_assert_uint_eq(s.partly_read + s.partly_written, 0);
    field_close(&f);
}
END_TEST

START_TEST(a_region_full_of_garbage_harms_nobody_but_its_writer)
{
    struct field f = { .options = { .hang_ms = 2000 } };
    /* One thread: of two, the other may still be noting that its answer is out, and then that
     * connection is closed at the death (supervise.h, 2). */
    field_open(&f, "1", "20", "crash_abort", NULL);
    int fd = client_open(&f), other = client_open(&f);
    client_say(other, LAB_DECIDE, "a", "", "");
    struct lab_request r = { .ask = LAB_SCRIBBLE };
    struct lab_answer a;
    client_ask(fd, &r, &a);
    close(fd);
    fd = client_open(&f);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(client_say(fd, LAB_DECIDE, "b", "", "").what, 'A');
    ck_assert_int_eq(client_say(other, LAB_DECIDE, "c", "", "").what, 'A');
    close(fd);
    close(other);
    field_end(&f);
    ck_assert_uint_gt(f.news->counts.rings_damaged, 0);
    json_t *all = field_lines(&f); /* every line parses */
    ck_assert_uint_eq(field_decisions(all, "b", NULL, NULL), 1);
    ck_assert_uint_eq(field_decisions(all, "c", NULL, NULL), 1);
    json_decref(all);
    field_close(&f);
}
END_TEST

int main(void)
{
    /* For the worker, where it is built with sanitizers: it is to die of what it dies of. */
    const char *options = "handle_segv=0:handle_abort=0:handle_sigbus=0:detect_leaks=0:"
                          "use_sigaltstack=0";
    setenv("ASAN_OPTIONS", options, 1);
    setenv("TSAN_OPTIONS", options, 1);
    Suite *suite = suite_create("supervise");
    TCase *t = tcase_create("crash set");
    tcase_set_timeout(t, 30);
    const int n = (int)(sizeof ways / sizeof ways[0]);
    tcase_add_loop_test(t, no_request_fails_and_no_record_is_lost, 0, n);
    tcase_add_loop_test(t, nor_with_four_threads_in_the_policy, 0, n);
    suite_add_tcase(suite, t);
    t = tcase_create("one");
    tcase_set_timeout(t, 30);
    /* Each with core alone, and with a host. */
    tcase_add_loop_test(t, the_line_of_the_fault_says_which_request_and_policy, 0, 2);
    tcase_add_loop_test(
        t, a_shadow_that_dies_is_named_and_the_governing_one_keeps_its_word, 0, 2);
    tcase_add_loop_test(
        t, the_first_death_restores_the_second_starts_afresh_the_third_quarantines, 0, 2);
    tcase_add_loop_test(t, tickets_survive_and_their_outcome_reaches_the_restored_policy,
                        0, 2);
    tcase_add_loop_test(t, a_policy_started_afresh_gets_no_outcome_of_the_one_before, 0,
                        2);
    tcase_add_loop_test(t, a_state_that_kills_in_create_is_left_out_the_next_time, 0, 2);
    tcase_add_test(t, what_was_partly_read_or_written_is_closed_and_counted);
    tcase_add_test(t, clients_see_the_end_of_a_connection_that_the_worker_closes);
    tcase_add_test(t, a_worker_that_cannot_start_does_not_spin);
    tcase_add_test(t, a_program_that_is_not_there_is_an_error);
    tcase_add_test(t, sigterm_writes_everything);
    tcase_add_test(t, sighup_reopens_the_log_and_a_reload_ends_a_quarantine);
    tcase_add_test(t, a_death_while_draining_leaves_no_answer_owed);
    tcase_add_test(t, the_worker_ends_with_its_supervisor);
    tcase_add_test(t, a_thread_without_a_beat_ends_its_worker);
    tcase_add_test(t, who_is_too_large_and_does_not_step_down_is_killed);
    tcase_add_test(t, a_region_full_of_garbage_harms_nobody_but_its_writer);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
