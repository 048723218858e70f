/* SPDX-License-Identifier: MIT */
/* SPOP, byte by byte: frames are put together here by hand from HAProxy's doc/SPOE.txt. */
#include "runtime/sidecar/spop.h"

#include "tests/runtime/sidecar/seat.h"

static struct adp_spop *spop;
static uint8_t sent[65536];
static size_t n_sent;

static void setup(void)
{
    seat_setup();
    n_sent = 0;
    ck_assert_int_eq(adp_spop_create(&spop, &seat_desk), 0);
}

static void teardown(void)
{
    adp_spop_destroy(spop);
    seat_teardown();
}

/* --- putting frames together --- */

static void byte(unsigned value)
{
    sent[n_sent++] = (uint8_t)value;
}

static void bytes(const char *text, size_t n)
{
    memcpy(sent + n_sent, text, n);
    n_sent += n;
}

static void text(const char *word)
{
    ck_assert_uint_lt(strlen(word), 240);
    byte((unsigned)strlen(word));
    bytes(word, strlen(word));
}

static size_t begin(unsigned type, unsigned flags, unsigned stream, unsigned frame)
{
    size_t at = n_sent;
    n_sent += 4;
    byte(type);
    bytes("\0\0\0", 3);
    byte(flags);
    byte(stream);
    byte(frame);
    return at;
}

static void end(size_t at)
{
    size_t n = n_sent - at - 4;
    sent[at] = sent[at + 1] = 0;
    sent[at + 2] = (uint8_t)(n >> 8);
    sent[at + 3] = (uint8_t)n;
}

static void hello(const char *versions, bool healthcheck)
{
    size_t at = begin(1, 1, 0, 0);
    text("supported-versions");
    byte(8);
    text(versions);
    text("max-frame-size");
    byte(3);
    bytes("\xfc\xf0\x06", 3); /* 16380 = 252 + (240 << 4) + (6 << 11) */
    text("capabilities");
    byte(8);
    text("pipelining,async");
    if (healthcheck) {
        text("healthcheck");
        byte(0x11);
    }
    end(at);
}

static void notify(unsigned stream, unsigned frame, const char *id)
{
    size_t at = begin(3, 1, stream, frame);
    text("admit");
    byte(3);
    text("request_id");
    byte(8);
    text(id);
    text("prompt_bytes");
    byte(3);
    byte(200);
    text("model");
    byte(0);
    end(at);
}

/* What was put together goes in, `most` bytes at a time. */
static enum adp_spop_next feed(size_t most)
{
    enum adp_spop_next next = ADP_SPOP_READ;
    for (size_t at = 0; at < n_sent && next == ADP_SPOP_READ;) {
        size_t cap, n = n_sent - at < most ? n_sent - at : most;
        char *room = adp_spop_room(spop, &cap);
        n = n < cap ? n : cap;
        ck_assert_uint_gt(n, 0);
        memcpy(room, sent + at, n);
        next = adp_spop_feed(spop, n);
        at += n;
    }
    n_sent = 0;
    return next;
}

/* --- looking at answers --- */

static bool says(const char *word)
{
    size_t len;
    const char *out = adp_spop_out(spop, &len);
    return memmem(out, len, word, strlen(word)) != NULL;
}

/* Types of the frames that are to be written, in order. */
static const char *types(void)
{
    static char list[256];
    size_t len;
    const uint8_t *out = (const uint8_t *)adp_spop_out(spop, &len);
    list[0] = '\0';
    for (size_t at = 0; at < len;) {
        size_t n = (size_t)out[at + 2] << 8 | out[at + 3];
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%u", at ? " " : "",
                 out[at + 4]);
        at += 4 + n;
        ck_assert_uint_le(at, len);
    }
    return list;
}

static void take_out(void)
{
    size_t len;
    adp_spop_out(spop, &len);
    adp_spop_sent(spop, len);
}

START_TEST(a_hello_is_answered_with_2_0_pipelining_and_the_smaller_frame)
{
    hello("2.0", false);
    ck_assert_int_eq(feed(65536), ADP_SPOP_READ);
    ck_assert_str_eq(types(), "101");
    ck_assert(says("\x07version\x08\x03"
                   "2.0"));
    ck_assert(says("\x0emax-frame-size\x03\xfc\xf0\x06"));
    ck_assert(says("\x0c"
                   "capabilities\x08\x0apipelining"));
}
END_TEST

START_TEST(a_health_check_is_answered_and_over)
{
    hello("2.0", true);
    ck_assert_int_eq(feed(65536), ADP_SPOP_OVER);
    ck_assert_str_eq(types(), "101");
}
END_TEST

START_TEST(an_admitted_request_gets_its_variables)
{
    hello("1.0, 2.0", false);
    notify(5, 6, "r1");
    ck_assert_int_eq(feed(65536), ADP_SPOP_READ);
    ck_assert_str_eq(types(), "101 103");
    /* ACK, flags, stream, frame, then SET-VAR of three arguments in the transaction. */
    ck_assert(says("\x67"));
    ck_assert(says("\x05\x06\x01\x03\x02\x07verdict\x08\x05"
                   "admit"));
    ck_assert(says("\x06status\x03\xc8")); /* 200 */
    ck_assert(!says("reason"));
    ck_assert(!says("retry"));
}
END_TEST

START_TEST(a_refused_request_is_told_why_and_for_how_long)
{
    seat_waiting("9");
    hello("2.0", false);
    notify(1, 1, "r1");
    ck_assert_int_eq(feed(65536), ADP_SPOP_READ);
    ck_assert(says("\x07verdict\x08\x05"
                   "defer"));
    ck_assert(says("\x06status\x03\xf7\x10")); /* 503 = 247 + (16 << 4) */
    ck_assert(says("\x06reason\x08\x0bqueue_depth"));
    ck_assert(says("\x05retry\x03\x02")); /* 1500 ms, in whole seconds */
}
END_TEST

START_TEST(pipelined_frames_are_answered_one_each_however_they_are_cut)
{
    for (size_t most = 1; most <= 64; most = most * 2 + 1) {
        adp_spop_destroy(spop);
        ck_assert_int_eq(adp_spop_create(&spop, &seat_desk), 0);
        hello("2.0", false);
        for (unsigned i = 0; i < 20; i++)
            notify(i, i, "r");
        ck_assert_int_eq(feed(most), ADP_SPOP_READ);
        ck_assert_str_eq(types(),
                         "101 103 103 103 103 103 103 103 103 103 103 103 103 103 "
                         "103 103 103 103 103 103 103");
        take_out();
    }
}
END_TEST

START_TEST(who_takes_no_answers_is_not_read_and_loses_none)
{
    unsigned answered = 0, asked = 0;
    hello("2.0", false);
    feed(65536);
    take_out();
    enum adp_spop_next next = ADP_SPOP_READ;
    while (next == ADP_SPOP_READ) {
        ck_assert_uint_lt(asked, 100000);
        notify(1, 1, "r");
        next = feed(65536);
        asked++;
    }
    ck_assert_int_eq(next, ADP_SPOP_WAIT);
    while (next == ADP_SPOP_WAIT) {
        for (const char *p = types(); *p; p++)
            answered += *p == '3'; /* of 103 */
        take_out();
        next = adp_spop_feed(spop, 0);
    }
    for (uint32_t i = 0; i <= ADP_DESK_BOUNDS; i++)
        asked -= (unsigned)atomic_load(&seat_desk.counts.decided[i]);
    ck_assert_uint_eq(asked, 0);
    ck_assert_int_eq(next, ADP_SPOP_READ);
    ck_assert_uint_gt(answered, 0);
}
END_TEST

START_TEST(a_goodbye_is_answered_with_one)
{
    hello("2.0", false);
    size_t at = begin(2, 1, 0, 0);
    text("status-code");
    byte(3);
    byte(0);
    end(at);
    ck_assert_int_eq(feed(65536), ADP_SPOP_OVER);
    ck_assert_str_eq(types(), "101 102");
}
END_TEST

START_TEST(ours_is_said_once)
{
    hello("2.0", false);
    feed(65536);
    adp_spop_end(spop);
    adp_spop_end(spop);
    ck_assert_str_eq(types(), "101 102");
}
END_TEST

enum breach {
    NO_HELLO,
    TOO_BIG,
    NOT_2_0,
    FRAGMENT,
    UNKNOWN_TYPE,
    CUT_MESSAGE,
    CUT_HELLO,
    TWICE,
    EMPTY_FRAME,
    LONG_VARINT,
    BREACHES
};

static void breach(enum breach which)
{
    size_t at;
    if (which != NO_HELLO && which != NOT_2_0 && which != CUT_HELLO)
        hello("2.0", false);
    switch (which) {
    case NO_HELLO:
        notify(1, 1, "r");
        break;
    case TOO_BIG:
        bytes("\0\0\x40\x01", 4); /* 16385 */
        break;
    case NOT_2_0:
        hello("1.0, 3.2.0", false);
        break;
    case FRAGMENT:
        end(begin(3, 0, 1, 1));
        break;
    case UNKNOWN_TYPE:
        end(begin(99, 1, 1, 1));
        break;
    case CUT_MESSAGE:
        at = begin(3, 1, 1, 1);
        text("admit");
        byte(1);
        text("request_id");
        byte(8);
        byte(100);
        end(at);
        break;
    case CUT_HELLO:
        at = begin(1, 1, 0, 0);
        byte(100);
        end(at);
        break;
    case TWICE:
        hello("2.0", false);
        break;
    case EMPTY_FRAME:
        bytes("\0\0\0\0", 4);
        break;
    default:
        at = begin(3, 1, 1, 1);
        for (int i = 0; i < 16; i++)
            byte(255);
        end(at);
    }
}

START_TEST(what_breaks_the_protocol_ends_it_with_a_reason)
{
    breach((enum breach)_i);
    ck_assert_int_eq(feed(65536), ADP_SPOP_OVER);
    const char *list = types();
    ck_assert_msg(strcmp(list + strlen(list) - 3, "102") == 0, "%d: %s", _i, list);
    ck_assert(says("\x0bstatus-code\x03"));
    ck_assert(says("\x07message\x08"));
}
END_TEST

/* As the process does that goes on with another's connection. */
START_TEST(a_connection_goes_on_without_its_hello)
{
    const adp_decision d = { .action = ADP_DEFER,
                             .status = 503,
                             .reason = "queue_depth" };
    ck_assert_uint_eq(adp_spop_agreed(spop), 0);
    ck_assert(!adp_spop_resume(spop, 255));
    ck_assert(!adp_spop_resume(spop, 16385));
    ck_assert(adp_spop_resume(spop, 16380));
    ck_assert_uint_eq(adp_spop_agreed(spop), 16380);
    ck_assert(adp_spop_answer(spop, 7, 9, &d));
    notify(5, 6, "r1");
    ck_assert_int_eq(feed(65536), ADP_SPOP_READ);
    ck_assert_str_eq(types(), "103 103");
    ck_assert(says("\x07\x09\x01\x03\x02\x07verdict\x08\x05"
                   "defer"));
    ck_assert(says("\x05\x06\x01\x03\x02\x07verdict\x08\x05"
                   "admit"));
}
END_TEST

START_TEST(a_frame_is_known_before_it_is_taken)
{
    uint64_t stream = 0, frame = 0;
    notify(5, 6, "r1");
    ck_assert_uint_eq(adp_spop_frame((char *)sent, 3), 0);
    ck_assert_uint_eq(adp_spop_frame((char *)sent, 4), n_sent);
    ck_assert(adp_spop_asks((char *)sent, n_sent, &stream, &frame));
    ck_assert_uint_eq(stream, 5);
    ck_assert_uint_eq(frame, 6);
    ck_assert(!adp_spop_asks((char *)sent, 10, &stream, &frame)); /* cut in its head */
    n_sent = 0;
    hello("2.0", false);
    ck_assert(!adp_spop_asks((char *)sent, n_sent, &stream, &frame));
    n_sent = 0;
    end(begin(3, 3, 1, 1)); /* aborted */
    ck_assert(!adp_spop_asks((char *)sent, n_sent, &stream, &frame));
}
END_TEST

START_TEST(facts_come_in_any_type)
{
    hello("2.0", false);
    size_t at = begin(3, 1, 1, 1);
    text("m");
    byte(4);
    text("priority");
    byte(4); /* int64 -1 as its ten bytes */
    bytes("\xff\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x0e", 10);
    text("tenant");
    byte(9);
    text("t");
    text("prompt_tokens");
    byte(8);
    text("many");
    text("ip");
    byte(6);
    bytes("\x7f\0\0\1", 4);
    end(at);
    ck_assert_int_eq(feed(65536), ADP_SPOP_READ);
    ck_assert_str_eq(types(), "101 103");
    ck_assert_uint_eq(atomic_load(&seat_desk.counts.bad_facts), 1); /* "many" */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spop");
    TCase *t = tcase_create("spop");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_hello_is_answered_with_2_0_pipelining_and_the_smaller_frame);
    tcase_add_test(t, a_health_check_is_answered_and_over);
    tcase_add_test(t, an_admitted_request_gets_its_variables);
    tcase_add_test(t, a_refused_request_is_told_why_and_for_how_long);
    tcase_add_test(t, pipelined_frames_are_answered_one_each_however_they_are_cut);
    tcase_add_test(t, who_takes_no_answers_is_not_read_and_loses_none);
    tcase_add_test(t, a_goodbye_is_answered_with_one);
    tcase_add_test(t, ours_is_said_once);
    tcase_add_loop_test(t, what_breaks_the_protocol_ends_it_with_a_reason, 0, BREACHES);
    tcase_add_test(t, facts_come_in_any_type);
    tcase_add_test(t, a_connection_goes_on_without_its_hello);
    tcase_add_test(t, a_frame_is_known_before_it_is_taken);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
