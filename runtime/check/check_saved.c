/* SPDX-License-Identifier: MIT */
/* Whether saved state is the whole state, and whether bytes that no save has written are
 * believed. */
#include "runtime/check/checks.h"

#include "runtime/check/traffic.h"

#include <admitperf/state.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A prime number before the save: a count that is forgotten is not where it would be by
 * chance. */
enum { REQUESTS = 1511, AFTERWARDS = 400, USUAL_PENDING = 32 };

/* Memory that ends at a page which nobody may touch. */
struct room {
    unsigned char *end;
};

static struct room make_room(struct adp_trial *trial, size_t most)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (most + page - 1) & ~(page - 1);
    unsigned char *at = adp_trial_shared(trial, bytes + page);
    if (mprotect(at + bytes, page, PROT_NONE) != 0)
        adp_trial_lack(trial, "no memory with guard pages is to be had");
    return (struct room) { at + bytes };
}

/* What save writes of `cap` bytes; *ret_at is where they are. */
static uint64_t save(const struct adp_play *play, struct room room, uint64_t cap,
                     unsigned char **ret_at)
{
    unsigned char *to = room.end - cap;
    uint64_t len = adp_subject_save(play->subject, &play->instance, to, cap);
    if (len > cap)
        adp_trial_fail(play->subject->trial, "save says it wrote %llu bytes of %llu",
                       (unsigned long long)len, (unsigned long long)cap);
    *ret_at = to;
    return len;
}

/* What a new instance starts from, in `room`: these parameters, and what `play` saves. */
static struct adp_start start_from(const struct adp_play *play, const double *param,
                                   struct room room)
{
    unsigned char *saved;
    uint64_t len = save(play, room, play->subject->policy->max_saved, &saved);
    return (struct adp_start) { .param = param,
                                .saved = len ? saved : NULL,
                                .saved_len = len };
}

static void must_be_same(struct adp_trial *trial, uint32_t i, struct adp_said a,
                         struct adp_said b, const char *how)
{
    char first[200], second[200];
    if (!adp_verdict_same(&a, &b))
        adp_trial_fail(trial, "on request %u afterwards it %s, %s %s", i + 1,
                       adp_verdict_words(&a, first, sizeof first), how,
                       adp_verdict_words(&b, second, sizeof second));
}

/* Saves what `play` has become, with enough room and with a byte too little. *ret: owned
 * by the caller. */
static uint64_t save_whole(struct adp_play *play, struct room room, unsigned char **ret)
{
    const struct adp_subject *subject = play->subject;
    unsigned char *at, *copy;
    uint64_t len = save(play, room, subject->policy->max_saved, &at);
    copy = malloc(len + 1);
    if (!copy)
        adp_trial_lack(subject->trial, "out of memory");
    memcpy(copy, at, len);
    if (len) {
        adp_trial_doing(subject->trial, "with room for %llu bytes, one less than before",
                        (unsigned long long)len - 1);
        uint64_t less = save(play, room, len - 1, &at);
        adp_trial_plain(subject->trial);
        if (less)
            adp_trial_fail(subject->trial,
                           "with room for %llu of %llu bytes save wrote %llu, expected "
                           "none",
                           (unsigned long long)len - 1, (unsigned long long)len,
                           (unsigned long long)less);
    }
    *ret = copy;
    return len;
}

/* An instance in the middle of its life, no ticket out. */
static void grow_up(struct adp_play *play, const struct adp_subject *subject,
                    const double *param, uint64_t seed)
{
    struct adp_plan plan = { .seed = seed, .rough = true };
    struct adp_start start = { .param = param };
    adp_play_open(play, subject, &plan, &start);
    for (uint32_t i = 0; i < REQUESTS; i++)
        adp_play_step(play);
    adp_traffic_settle(&play->traffic, &play->instance, ADP_DONE);
}

/* Three of the same past: one left alone, one that was saved and one made of what was
 * saved go on alike. `with`: what is special about the parameters, or "". */
static uint64_t check_whole(const struct adp_subject *subject, const double *param,
                            uint64_t seed, struct room room, const char *with,
                            unsigned char **ret)
{
    struct adp_play alone, saved, restored;
    char but_saved[160], but_restored[160];
    snprintf(but_saved, sizeof but_saved, "but one that was saved%s", with);
    snprintf(but_restored, sizeof but_restored, "but one that was restored%s", with);
    grow_up(&alone, subject, param, seed);
    grow_up(&saved, subject, param, seed);
    uint64_t len = save_whole(&saved, room, ret);
    struct adp_start from = { .param = param, .saved = *ret, .saved_len = len };
    restored = saved; /* the same traffic, */
    adp_subject_must_create(&restored.instance, subject, &from);
    for (uint32_t i = 0; i < AFTERWARDS; i++) {
        struct adp_said here = adp_play_step(&alone);
        must_be_same(subject->trial, i, here, adp_play_step(&saved), but_saved);
        must_be_same(subject->trial, i, here, adp_play_step(&restored), but_restored);
    }
    adp_play_close(&alone);
    adp_play_close(&saved);
    adp_play_close(&restored);
    return len;
}

/* Answers `n` requests that must be sound. */
static void go_on(struct adp_play *p, uint32_t n)
{
    struct adp_answer answer;
    char fault[200];
    for (uint32_t i = 0; i < n; i++) {
        const struct adp_view *view = adp_traffic_next(&p->traffic);
        adp_subject_decide(p->subject, &p->instance, view, &answer);
        if (adp_verdict_fault(p->subject->policy, &answer.verdict, fault, sizeof fault))
            adp_trial_fail(p->subject->trial, "%s (request %u, %s)", fault, i + 1,
                           p->subject->trial->slate->doing);
        adp_traffic_answered(&p->traffic, &p->instance, &answer.verdict);
    }
}

/* As in a reload: saved, some requests more, and the new instance takes over with the
 * outcomes of all that is under way, also of what came after the save. */
static void check_forerunner(const struct adp_subject *subject, const double *param,
                             uint64_t seed, struct room room)
{
    struct adp_plan plan = {
        .seed = seed, .every_end = true, .rough = true, .pending = 200
    };
    struct adp_start start = { .param = param };
    struct adp_play play;
    adp_trial_doing(subject->trial, "with outcomes of its forerunner's tickets");
    adp_play_open(&play, subject, &plan, &start);
    go_on(&play, REQUESTS);
    start = start_from(&play, param, room);
    go_on(&play, AFTERWARDS);
    adp_subject_destroy(subject, &play.instance);
    adp_subject_must_create(&play.instance, subject, &start);
    go_on(&play, REQUESTS);
    adp_play_close(&play);
    adp_trial_plain(subject->trial);
}

/* Tickets of a forerunner that were set after the save are nobody's the new instance knows: not
 * run, or lost, they are ignored. One that gets such outcomes goes on as one that gets none,
 * also right after it has set tickets itself: they are others. */
struct late {
    uint64_t ticket[AFTERWARDS];
    uint32_t n, next; /* which one comes back next */
};

static void give_late(struct late *late, struct adp_play *play)
{
    uint32_t end = late->next % 2 ? ADP_LOST : ADP_NOT_RUN;
    adp_subject_settle(play->subject, &play->instance, late->ticket[late->next++], end,
                       play->traffic.now_ns);
}

/* What the forerunner sets and does not see again. */
static void set_late(struct late *late, struct adp_play *play)
{
    const uint64_t day_ns = UINT64_C(86400) * 1000000000u;
    play->traffic.now_ns += day_ns;  /* with all that a new one would have, */
    play->traffic.plan.still = true; /* and nothing that comes back by itself */
    play->traffic.plan.pending = ADP_TRAFFIC_PENDING;
    go_on(play, AFTERWARDS);
    late->n = play->traffic.n_pending < AFTERWARDS ? play->traffic.n_pending : AFTERWARDS;
    memcpy(late->ticket, play->traffic.ticket, late->n * sizeof late->ticket[0]);
    late->next = 0;
    play->traffic.n_pending = 0;
    play->traffic.plan.pending = USUAL_PENDING;
    adp_subject_destroy(play->subject, &play->instance);
}

static void check_late(const struct adp_subject *subject, const double *param,
                       uint64_t seed, struct room room)
{
    struct adp_play quiet, told;
    struct late late;
    grow_up(&quiet, subject, param, seed);
    struct adp_start start = start_from(&quiet, param, room);
    adp_trial_doing(subject->trial, "with outcomes of tickets set after the save");
    set_late(&late, &quiet);
    told = quiet; /* the same traffic */
    adp_subject_must_create(&quiet.instance, subject, &start);
    adp_subject_must_create(&told.instance, subject, &start);
    for (uint32_t i = 0; late.next < late.n && i < 4 * AFTERWARDS; i++) {
        struct adp_said here = adp_play_step(&quiet), there = adp_play_step(&told);
        must_be_same(subject->trial, i, here, there,
                     "but one that is told that tickets which its forerunner set after "
                     "the save did not run, or are lost,");
        if (there.ticket)
            give_late(&late, &told);
    }
    adp_play_close(&quiet);
    adp_play_close(&told);
    adp_trial_plain(subject->trial);
}

/* The machine's clock has begun again, after years: nothing may wait for the time that was
 * saved, at the latest a day later. */
static void check_other_clock(const struct adp_subject *subject, const double *param,
                              struct room room)
{
    const uint64_t years_ns = UINT64_C(3) * 365 * 86400 * 1000000000u;
    struct adp_plan plan = { .seed = subject->trial->seed,
                             .rough = true,
                             .start_ns = years_ns };
    struct adp_start nothing = { .param = param };
    struct adp_play play;
    adp_play_open(&play, subject, &plan, &nothing);
    go_on(&play, REQUESTS);
    adp_traffic_settle(&play.traffic, &play.instance, ADP_DONE);
    struct adp_start start = start_from(&play, param, room);
    adp_play_close(&play);
    adp_trial_doing(subject->trial, "restored under a clock that has begun again");
    adp_trial_mend(subject->trial, ADP_MEND_LET_GO);
    /* Where nothing is read, nothing that comes later puts it right. */
    for (int calm = 0; calm < 2; calm++) {
        plan.presence = calm ? ADP_PRESENCE_NONE : ADP_PRESENCE_MIXED;
        plan.start_ns = 1000000;
        adp_play_open(&play, subject, &plan, &start);
        if (!calm)
            go_on(&play, AFTERWARDS);
        adp_traffic_settle(&play.traffic, &play.instance, ADP_DONE);
        adp_play_must_recover(&play, &nothing, 1, AFTERWARDS,
                              "restored under a clock that has begun again");
        adp_play_close(&play);
    }
    adp_trial_mend(subject->trial, ADP_MEND_USUAL);
    adp_trial_plain(subject->trial);
}

/* --- bytes that no save has written ---
 *
 * Believed whole or not at all (the header, of setup.saved): whatever is not what was saved,
 * byte for byte, makes an instance that starts afresh, or none and a reason. But damage that
 * leaves the meaning as it was (the case of a digit in text, a byte that nobody reads, the line
 * feed at the end) may be read: an instance that at once saves what one does that was given the
 * bytes whole, and answers as that one, has guessed nothing. (What it saves at once alone says
 * little: it may be written with the first request only.) Where some of the bytes are enough
 * in this way, they are held to the same: a part of them that is turned over shows. */

/* What a new instance answers; those that are given something else are held against it. */
struct afresh {
    const struct adp_subject *subject;
    const double *param;
    struct adp_said said[AFTERWARDS];
    /* What an instance saves at once that was made of what was saved, whole, which may be
     * something else; where it saves to, and what it answers. NULL: none is held against that. */
    struct adp_said said_intact[AFTERWARDS];
    unsigned char *intact;
    uint64_t intact_len;
    struct room room;
};

static void start_afresh(struct afresh *ret, const struct adp_subject *subject,
                         const double *param)
{
    struct adp_plan plan = { .seed = subject->trial->seed };
    struct adp_start nothing = { .param = param };
    ret->subject = subject;
    ret->param = param;
    ret->intact = NULL;
    adp_play_all(subject, &plan, &nothing, ret->said, AFTERWARDS);
}

/* What an instance of all that was saved saves. Freed by the caller, as fresh->intact. */
static void learn_intact(struct afresh *fresh, const unsigned char *saved, uint64_t len,
                         struct room room)
{
    struct adp_start start = { .param = fresh->param, .saved = saved, .saved_len = len };
    struct adp_plan plan = { .seed = fresh->subject->trial->seed };
    struct adp_play whole;
    unsigned char *at;
    adp_play_open(&whole, fresh->subject, &plan, &start);
    fresh->room = room;
    fresh->intact_len = save(&whole, room, fresh->subject->policy->max_saved, &at);
    fresh->intact = fresh->intact_len ? malloc(fresh->intact_len) : NULL;
    if (fresh->intact_len && !fresh->intact)
        adp_trial_lack(fresh->subject->trial, "out of memory");
    if (fresh->intact)
        memcpy(fresh->intact, at, fresh->intact_len);
    for (uint32_t i = 0; i < AFTERWARDS; i++)
        fresh->said_intact[i] = adp_play_step(&whole);
    adp_play_close(&whole);
}

static bool is_intact(const struct afresh *fresh, const struct adp_play *play)
{
    unsigned char *at;
    if (!fresh->intact || !play->instance.made)
        return false;
    uint64_t len = save(play, fresh->room, fresh->subject->policy->max_saved, &at);
    return len == fresh->intact_len && memcmp(at, fresh->intact, len) == 0;
}

/* True: it did not, and is as one that was given what was saved, whole. */
static bool must_start_afresh(const struct afresh *fresh, const void *bytes, uint64_t len,
                              uint32_t n, const char *what)
{
    struct adp_trial *trial = fresh->subject->trial;
    struct adp_plan plan = { .seed = trial->seed };
    struct adp_start start = { .param = fresh->param, .saved = bytes, .saved_len = len };
    struct adp_play fooled = { .subject = fresh->subject };
    char how[160];
    adp_trial_doing(trial, "with %s for its state", what);
    adp_traffic_init(&fooled.traffic, fresh->subject, &plan, fresh->param);
    adp_subject_create(&fooled.instance, fresh->subject, &start);
    if (!fooled.instance.made && !fooled.instance.error[0])
        adp_trial_fail(trial, "create refuses %s without saying why", what);
    snprintf(how, sizeof how, "but one that was given %s for its state", what);
    bool as_whole = is_intact(fresh, &fooled), as_new = true;
    for (uint32_t i = 0; fooled.instance.made && i < n; i++) {
        const struct adp_said *wanted = as_whole ? fresh->said_intact : fresh->said;
        struct adp_said said = adp_play_step(&fooled);
        as_whole = as_whole && adp_verdict_same(&fresh->said_intact[i], &said);
        as_new = as_new && adp_verdict_same(&fresh->said[i], &said);
        if (!as_whole && !as_new)
            must_be_same(trial, i, wanted[i], said, how);
    }
    if (fooled.instance.made)
        adp_play_close(&fooled);
    adp_trial_plain(trial);
    return as_whole;
}

/* One bit of what lies there (`whose`) turned over: each, or a sample of which half is in the
 * first bytes, where lengths and numbers of layouts are. */
static void check_damaged(const struct afresh *fresh, unsigned char *blob, uint64_t len,
                          const char *whose, uint32_t most, uint64_t *seed)
{
    enum { HEAD = 64, ASKED = 100, BITS = 8 };
    uint64_t bits = len * BITS, head = len < HEAD ? len : HEAD;
    uint32_t n = bits < most ? (uint32_t)bits : most;
    char what[120];
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = i, dice = adp_subject_next(seed);
        if (bits > most)
            at = i % 2 ? dice % bits : i / 2 % head * BITS + dice % BITS;
        unsigned char *byte = &blob[at / BITS], bit = (unsigned char)(1u << at % BITS);
        snprintf(what, sizeof what, "%s, bit %llu of byte %llu turned over,", whose,
                 (unsigned long long)(at % BITS), (unsigned long long)(at / BITS) + 1);
        *byte ^= bit;
        must_start_afresh(fresh, blob, len, ASKED, what);
        *byte ^= bit;
    }
}

/* At each length, or at so many of them. */
static void check_cut(const struct afresh *fresh, unsigned char *blob, uint64_t len,
                      uint32_t most, uint32_t flips, uint64_t *seed)
{
    /* Next to the end, where a length that was not looked at is short. */
    enum { ENDS = 8, HELD = 8 };
    char what[80];
    uint32_t n = len < most ? (uint32_t)len : most, held = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = i * len / n;
        if (len > n && i + ENDS >= n)
            at = len - (n - i);
        snprintf(what, sizeof what, "the first %llu of %llu saved bytes",
                 (unsigned long long)at, (unsigned long long)len);
        if (must_start_afresh(fresh, blob, at, AFTERWARDS, what) && held++ < HELD)
            check_damaged(fresh, blob, at, what, flips, seed);
    }
}

/* Whose bytes begin with a part of the SDK's: sealed anew as of another version, whose layout
 * has a number that is far from theirs. */
static void check_other_version(const struct afresh *fresh, unsigned char *blob,
                                uint64_t len)
{
    const uint32_t FAR = UINT32_C(0x5a5a0000);
    struct adp_saved head;
    uint64_t body;
    if (len < sizeof head)
        return;
    memcpy(&head, blob, sizeof head);
    if (!adp_saved_open(blob, len, head.layout, &body))
        return;
    adp_saved_seal(blob, head.layout ^ FAR, body);
    must_start_afresh(fresh, blob, len, AFTERWARDS,
                      "what was saved, as if another version's (another layout),");
    memcpy(blob, &head, sizeof head);
}

static void check_foreign(const struct adp_subject *subject, const double *param,
                          const unsigned char *saved, uint64_t len, struct room room)
{
    enum { BLOBS = 6, LONGEST = 1 << 16, FLIPS = 256, CUTS = 48 };
    struct adp_trial *trial = subject->trial;
    uint64_t seed = trial->seed;
    unsigned char *blob = malloc(len < LONGEST ? LONGEST : len);
    struct afresh *fresh = adp_trial_shared(trial, sizeof *fresh);
    char what[80];
    if (!blob)
        adp_trial_lack(trial, "out of memory");
    start_afresh(fresh, subject, param);
    must_start_afresh(fresh, blob, 0, AFTERWARDS, "no bytes at all");
    for (uint32_t i = 0; i < BLOBS; i++) {
        uint64_t size =
            i < BLOBS / 2 && len ? len : 1 + adp_subject_next(&seed) % LONGEST;
        for (uint64_t k = 0; k < size; k++)
            blob[k] = (unsigned char)adp_subject_next(&seed);
        snprintf(what, sizeof what, "%llu bytes at random", (unsigned long long)size);
        must_start_afresh(fresh, blob, size, AFTERWARDS, what);
    }
    memset(blob, 0, LONGEST);
    if (len)
        must_start_afresh(fresh, blob, len < LONGEST ? len : LONGEST, AFTERWARDS,
                          "zeroes");
    memcpy(blob, saved, len);
    check_other_version(fresh, blob, len);
    learn_intact(fresh, saved, len, room);
    uint32_t flips = adp_trial_lives(trial, FLIPS);
    check_cut(fresh, blob, len, adp_trial_lives(trial, CUTS), flips, &seed);
    check_damaged(fresh, blob, len, "what was saved", flips, &seed);
    free(fresh->intact);
    free(blob);
}

/* With every parameter another, one at a time: there may be state that matters there alone.
 * Of many, some. */
static void check_each_set(const struct adp_subject *subject, uint64_t *seed,
                           struct room room)
{
    enum { MOST = 40 };
    double param[ADP_MAX_PARAMS];
    char with[120];
    struct adp_start start = { .param = param };
    uint32_t sets = adp_subject_sets(subject);
    uint32_t most = adp_trial_share(subject->trial, MOST), done = 0;
    uint32_t from = (uint32_t)(adp_subject_next(seed) % sets);
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < sets && done < most; k++) {
            uint32_t which = (from + k) % sets;
            struct adp_param p = { 0 };
            unsigned char *saved;
            if (which)
                p = adp_loaded_param(subject->loaded, (which - 1) / 2);
            if (!which || (p.kind == ADP_BOOL) != !pass ||
                !adp_subject_set(subject, which, param) ||
                !adp_subject_takes(subject, &start))
                continue;
            snprintf(with, sizeof with, " with %s at %.9g", p.name,
                     param[(which - 1) / 2]);
            check_whole(subject, param, adp_subject_next(seed), room, with, &saved);
            free(saved);
            done++;
        }
}

void adp_check_saves_and_restores(struct adp_trial *trial)
{
    enum { ROUNDS = 4 };
    struct adp_subject subject;
    double param[ADP_MAX_PARAMS];
    uint64_t seed = trial->seed, len = 0;
    adp_subject_load(&subject, trial, trial->path);
    if (!subject.policy->save)
        adp_trial_skip(trial, "it saves nothing");
    struct room room = make_room(trial, subject.policy->max_saved);
    adp_subject_params(&subject, ADP_VALUES_TYPICAL, &seed, param);
    for (uint32_t round = 0; round < adp_trial_share(trial, ROUNDS); round++) {
        unsigned char *saved;
        len = check_whole(&subject, param, adp_subject_next(&seed), room, "", &saved);
        check_other_clock(&subject, param, room);
        if (subject.policy->outcome) {
            check_forerunner(&subject, param, adp_subject_next(&seed), room);
            check_late(&subject, param, adp_subject_next(&seed), room);
        }
        if (!round)
            check_foreign(&subject, param, saved, len, room);
        free(saved);
    }
    check_each_set(&subject, &seed, room);
    adp_trial_note(trial, "%llu bytes of at most %u", (unsigned long long)len,
                   subject.policy->max_saved);
}
