/* SPDX-License-Identifier: MIT */
/* Many decisions: two threads decide while metrics are published every 10 ms and the
 * configuration is reloaded every second (more often in a short run). Lines and recorded
 * losses are the decisions made, exactly, also when the disk is full for a while; every file
 * starts with the snapshot in force. At a steady rate, on a disk that works, nothing is lost.
 *
 * The threads that keep a rate wake up each millisecond and decide what is due, as a server's
 * event loop does: spinning until the next is due would take the processors that the log
 * needs.
 *
 * make check runs a short form, make check-long the long one:
 *   ADP_VOLUME_DECISIONS  of both threads together, as fast as they can
 *   ADP_VOLUME_RATE       decisions a second that are kept up
 *   ADP_VOLUME_SECONDS    for so long
 *   ADP_VOLUME_RELOAD_MS  between reloads
 *   TMPDIR                where the log is written */
#include "tests/runtime/host/stage.h"

#include "bench/measure.h"
#include "tests/runtime/host/count.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <time.h>

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { DECISIONS = 40000, RATE = 20000 };
#else
enum { DECISIONS = 1000000, RATE = 900000 };
#endif
enum { THREADS = 2, PUBLISH_MS = 10, RELOAD_MS = 100, SLICE_NS = 1000000 };
static const double most_wait = 0.05; /* of a quiet machine: bench/measure.h */

static unsigned long wish(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoul(text, NULL, 10) : otherwise;
}

static void setup_volume(void)
{
    const char *where = getenv("TMPDIR");
    setup();
    if (!where || !*where)
        return;
    ck_assert_int_eq(rmdir(folder), 0);
    ck_assert_uint_lt(
        (unsigned)snprintf(folder, sizeof folder, "%s/adp-host-XXXXXX", where),
        sizeof folder);
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

/* --- disks that are full for a while --- */

static bool always_works(void)
{
    return true;
}

static bool mount_small(void)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, "size=64k") == 0;
}

static void make_room(void)
{
    ck_assert_int_eq(mount("none", folder, "tmpfs", MS_REMOUNT, "size=4g"), 0);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static bool limit_to_64_kb(void)
{
    limit_files(65536);
    return true;
}

static void lift_limit(void)
{
    limit_files(RLIM_INFINITY);
}

static void unmount(void)
{
    ck_assert_int_eq(umount2(folder, MNT_DETACH), 0);
}

static const struct disk {
    const char *what;
    bool (*begin)(void); /* false: not here */
    void (*mend)(void);  /* when half of it is decided; NULL: it works */
    void (*end)(void);
} disks[] = {
    { "a disk that works", always_works, NULL, NULL },
    { "a tmpfs of 64 kB that gets room", mount_small, make_room, unmount },
    { "a file size limit of 64 kB that is lifted", limit_to_64_kb, lift_limit, NULL },
};

/* --- deciding --- */

static struct crew {
    pthread_barrier_t start, end;
    unsigned long each; /* decisions of each thread */
    double every_ns;    /* of each thread; 0: as fast as it can */
    _Atomic uint64_t decided;
    _Atomic unsigned deciding; /* threads that are not done */
    uint64_t start_ns;         /* set before `start` is passed */
} crew;

/* Check's own assertions are for one thread, and each writes to a file of its own, which a
 * limit of file sizes would hit. */
static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n%s", what, all_errors());
    abort();
}

/* How many are due by now, of those not yet decided; it sleeps until some are. */
static unsigned long due(unsigned long decided)
{
    unsigned long left = crew.each - decided;
    if (crew.every_ns <= 0)
        return left < 1000 ? left : 1000;
    struct timespec slice = { 0, SLICE_NS };
    nanosleep(&slice, NULL);
    double since_ns = (double)(bench_now_ns() - crew.start_ns);
    unsigned long by_now = (unsigned long)(since_ns / crew.every_ns);
    by_now = by_now > decided ? by_now - decided : 0;
    return by_now < left ? by_now : left;
}

static void *decide_all(void *arg)
{
    char id[40];
    adp_facts facts = { .size = sizeof facts,
                        .present = ADP_PROMPT | ADP_OUTPUT,
                        .request_id = id,
                        .prompt_tokens = 2168,
                        .max_output_tokens = 256 };
    snprintf(id, sizeof id, "%08lx-cafe-4000-8000-0123456789ab", (unsigned long)arg);
    pthread_barrier_wait(&crew.start);
    for (unsigned long i = 0; i < crew.each;) {
        unsigned long many = due(i);
        for (unsigned long k = 0; k < many; k++) {
            adp_decision d;
            must(adp_lane_decide(arg, &facts, &d) == 0, "not decided");
        }
        i += many;
        atomic_fetch_add(&crew.decided, many);
    }
    atomic_fetch_sub(&crew.deciding, 1);
    pthread_barrier_wait(&crew.end);
    return NULL;
}

/* Two configurations that take turns: the pages published below are admitted by the one and
 * refused by the other. */
static const char *turn(unsigned i)
{
    static char body[256];
    snprintf(body, sizeof body,
             "policy: { use: kv_threshold, params: { threshold: %s } }\n",
             i % 2 ? "0.75" : "0.875");
    return body;
}

static const char *configuration(unsigned i, unsigned long rotate_kb)
{
    static char text[1024];
    snprintf(text, sizeof text,
             "version: 1\nexperiment: volume\nrun: r1\n"
             "log: { path: \"%s/log.jsonl\", rotate: %luKiB, keep: 10000 }\n%s",
             folder, rotate_kb, turn(i));
    return text;
}

static void publish_next(adp_runtime *rt, unsigned i)
{
    char page[160];
    snprintf(page, sizeof page,
             "vllm:kv_cache_usage_perc 0.%03u\nvllm:num_requests_waiting %u\n"
             "vllm:num_requests_running 61\nvllm:prefix_cache_hits_total %u\n",
             i * 7 % 1000, i % 40, 3 * i);
    must(adp_runtime_publish_text(rt, page, strlen(page), NULL) == 0, "not published");
}

static uint64_t write_errors(const adp_runtime *rt)
{
    adp_stats s = { .size = sizeof s };
    must(adp_runtime_stats(rt, &s) == 0, "no counts");
    return s.write_errors;
}

/* What goes on beside, until all is decided and the disk works. */
struct beside {
    unsigned published, reloads, refused;
    bool mended, caught_up; /* caught up: the log was written since it was mended */
};

static struct beside run_beside(adp_runtime *rt, const struct disk *disk,
                                unsigned long rotate_kb)
{
    struct beside b = { .published = 1, .mended = !disk->mend, .caught_up = !disk->mend };
    unsigned long reload_ms = wish("ADP_VOLUME_RELOAD_MS", RELOAD_MS);
    uint64_t reload_ns = crew.start_ns;
    while (atomic_load(&crew.deciding) || !b.mended) {
        const struct timespec pause = { 0, PUBLISH_MS * 1000000 };
        publish_next(rt, b.published++);
        if (bench_now_ns() >= reload_ns) {
            int code = reload(rt, configuration(b.reloads + 1, rotate_kb));
            /* Sixteen of them wait for a log that cannot be written, or has not been yet. */
            must(code == 0 || (code == ADP_EFULL && !b.caught_up), "not reloaded");
            b.caught_up |= code == 0 && b.mended;
            b.reloads += code == 0;
            b.refused += code != 0;
            reload_ns += (uint64_t)reload_ms * 1000000;
        }
        if (!b.mended && write_errors(rt) >= 2 &&
            atomic_load(&crew.decided) >= crew.each * THREADS / 2) {
            disk->mend();
            b.mended = true;
        }
        nanosleep(&pause, NULL);
    }
    return b;
}

/* --- a run, and what is seen of it --- */

struct seen {
    struct beside beside;
    struct count count;
    adp_stats stats;
    double took_s,
        waited; /* waited: share of the time that our threads had no processor */
};

static struct seen run(const struct disk *disk, unsigned long decisions, double rate)
{
    const unsigned long rotate_kb = decisions > 4000000 ? 65536 : 4096;
    struct seen seen = { 0 };
    pthread_t deciding[THREADS];
    uint64_t before = 0, after = 0;
    const struct adp_host_options small_rings = { .ring_kb = 1024 };
    /* Where a rate is to be kept the counter takes what the log leaves. */
    struct counter counter = count_begin(folder, rate > 0 ? 19 : 0);
    adp_runtime *rt =
        started(configuration(0, rotate_kb), disk->mend ? &small_rings : NULL);
    publish_next(rt, 0);
    crew.each = decisions / THREADS;
    crew.every_ns = rate > 0 ? 1e9 * THREADS / rate : 0;
    atomic_store(&crew.decided, 0);
    atomic_store(&crew.deciding, THREADS);
    pthread_barrier_init(&crew.start, NULL, THREADS + 1);
    pthread_barrier_init(&crew.end, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&deciding[i], NULL, decide_all, lane_of(rt)), 0);
    bool known = bench_waited_ns(&before);
    crew.start_ns = bench_now_ns();
    pthread_barrier_wait(&crew.start);
    seen.beside = run_beside(rt, disk, rotate_kb);
    double took_ns = (double)(bench_now_ns() - crew.start_ns);
    known &= bench_waited_ns(&after);
    pthread_barrier_wait(&crew.end);
    for (int i = 0; i < THREADS; i++)
        pthread_join(deciding[i], NULL);
    pthread_barrier_destroy(&crew.start);
    pthread_barrier_destroy(&crew.end);
    seen.took_s = took_ns * 1e-9;
    seen.waited = known && after > before ? (double)(after - before) / took_ns : 0;
    ck_assert_int_eq(flush_all(rt), 0);
    must(reload(rt, configuration(++seen.beside.reloads, rotate_kb)) == 0,
         "not reloaded though all is written");
    seen.stats = stats(rt);
    ck_assert_int_eq(adp_runtime_close(rt, NULL), 0);
    ck_assert_int_eq(count_end(&counter, &seen.count), 0);
    return seen;
}

static void say(const char *what, const struct seen *s)
{
    printf(
        "%s: %llu decisions in %.1f s, %llu lines of them in %llu files (%.1f GB), "
        "%llu said to be dropped in %llu lines; %u published, %u reloads and %u refused, "
        "%llu failed writes; waited for a processor %.0f %% of the time\n",
        what, (unsigned long long)crew.decided, s->took_s,
        (unsigned long long)s->count.decisions, (unsigned long long)s->count.files,
        (double)s->count.bytes * 1e-9, (unsigned long long)s->count.dropped,
        (unsigned long long)s->count.losses, s->beside.published, s->beside.reloads,
        s->beside.refused, (unsigned long long)s->stats.write_errors, 100 * s->waited);
    fflush(stdout);
}

static void holds_exactly(const struct seen *s)
{
    const struct count *c = &s->count;
    ck_assert_uint_eq(crew.decided, crew.each * THREADS);
    ck_assert_msg(c->odd == 0, "%llu lines, the first: %s", (unsigned long long)c->odd,
                  c->odd_line);
    ck_assert_uint_eq(c->decisions + c->dropped, crew.decided);
    ck_assert_uint_eq(c->gaps, 0);
    ck_assert_uint_eq(c->twice, 0);
    ck_assert_uint_eq(c->unopened, 0);
    ck_assert_uint_eq(s->stats.decisions, crew.decided);
    ck_assert_uint_ge(s->stats.dropped, c->dropped);
    ck_assert_uint_eq(s->stats.generation, s->beside.reloads + 1);
    ck_assert_uint_gt(s->beside.reloads, 0);
}

/* As much of a line as is counted by. */
static void put_line(FILE *f, const char *kind, unsigned lane, unsigned seq)
{
    fprintf(f,
            "{\"at\":1796036876.101628,%s,\"instance\":\"bada6a4b1685046a\",\"lane\":%u,"
            "\"seq\":%u}\n",
            kind, lane, seq);
}

static FILE *made(const char *name)
{
    FILE *f = fopen(in_folder(name), "w");
    ck_assert_ptr_nonnull(f);
    return f;
}

START_TEST(what_is_missing_or_there_twice_is_seen_by_whoever_counts)
{
    static const char decision[] = "\"verdict\":\"admit\"", opening[] = "\"snapshot\":1";
    struct count c;
    struct counter counter;
    FILE *f = made("log.20261130T154512.042Z-046e.jsonl"); /* the later one */
    put_line(f, opening, 0, 0);
    put_line(f, decision, 1, 0);
    put_line(f, "\"dropped\":{\"what\":\"record\",\"count\":5}", 1, 1); /* 1 to 5 */
    fclose(f);
    f = made("log.20261130T154511.999Z-046e.jsonl");
    put_line(f, opening, 0, 0); /* again: no number of its own */
    put_line(f, decision, 1, 6);
    fclose(f);
    f = made("log.jsonl"); /* without its opening, without 7, with 8 twice, and torn */
    put_line(f, decision, 2, 0);
    put_line(f, decision, 1, 8);
    put_line(f, decision, 1, 8);
    fputs("{\"at\":1", f);
    fclose(f);
    counter = count_begin(folder, 0);
    ck_assert_int_eq(count_end(&counter, &c), 0);
    ck_assert_uint_eq(c.files, 3);
    ck_assert_uint_eq(c.decisions, 5);
    ck_assert_uint_eq(c.dropped, 5);
    ck_assert_uint_eq(c.unopened, 1);
    ck_assert_uint_eq(c.gaps, 1);
    ck_assert_uint_eq(c.twice, 1);
    ck_assert_uint_eq(c.odd, 1);
}
END_TEST

START_TEST(lines_and_recorded_losses_are_the_decisions_exactly)
{
    const struct disk *disk = &disks[_i];
    if (!disk->begin()) {
        printf("skipped: %s: no mounting here\n", disk->what);
        return;
    }
    struct seen s = run(disk, wish("ADP_VOLUME_DECISIONS", DECISIONS), 0);
    say(disk->what, &s);
    holds_exactly(&s);
    if (disk->mend) {
        ck_assert_uint_ge(s.stats.write_errors, 2);
        ck_assert_uint_gt(s.count.dropped, 0);
    } else {
        ck_assert_uint_eq(s.stats.write_errors, 0);
        ck_assert_uint_gt(s.count.files, 1);
    }
    if (disk->end)
        disk->end();
}
END_TEST

START_TEST(at_a_steady_rate_nothing_is_lost)
{
    unsigned long rate = wish("ADP_VOLUME_RATE", RATE);
    double seconds = (double)wish("ADP_VOLUME_SECONDS", 0);
    char what[64];
    if (seconds <= 0)
        seconds = 0.3;
    struct seen s = run(&disks[0], (unsigned long)(seconds * (double)rate), (double)rate);
    snprintf(what, sizeof what, "at %lu a second", rate);
    say(what, &s);
    holds_exactly(&s);
    /* Lost on a machine that others use, it says nothing; not lost, it says enough. */
    if (s.stats.dropped && s.waited > most_wait)
        printf("not measured: the machine was busy\n");
    else
        ck_assert_uint_eq(s.stats.dropped, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("volume");
    TCase *t = tcase_create("volume");
    tcase_set_timeout(t, 0);
    tcase_add_checked_fixture(t, setup_volume, teardown);
    tcase_add_test(t, what_is_missing_or_there_twice_is_seen_by_whoever_counts);
    tcase_add_loop_test(t, lines_and_recorded_losses_are_the_decisions_exactly, 0,
                        sizeof disks / sizeof disks[0]);
    tcase_add_test(t, at_a_steady_rate_nothing_is_lost);
    suite_add_tcase(s, t);
    return run_suite(s, CK_NOFORK); /* TSan and fork do not go together */
}
