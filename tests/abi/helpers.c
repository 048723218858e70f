/* SPDX-License-Identifier: MIT */
/* What a policy header's inline functions answer, held against values derived by hand from what the
 * header says of them; and their types. C and C++. Says each that differs.
 *
 * A body may be written anew; what it means may not: a policy compiled again must decide as
 * before. What a minor adds stands here inside `#if WITNESS_MINOR >= k`; header.test finds what
 * is missing. */
#include POLICY_HEADER

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Their types. */
static int (*const has)(const adp_view *, uint32_t) = adp_has;
static int (*const ge)(const adp_view *, uint32_t, uint32_t) = adp_ge;
static int (*const gt)(const adp_view *, uint32_t, uint32_t) = adp_gt;
static int (*const le)(const adp_view *, uint32_t, uint32_t) = adp_le;
static int (*const lt)(const adp_view *, uint32_t, uint32_t) = adp_lt;
static void (*const admit)(adp_verdict *) = adp_admit;
static void (*const reject)(adp_verdict *, uint32_t, uint32_t) = adp_reject;
static void (*const defer)(adp_verdict *, uint32_t, uint32_t, double) = adp_defer;
static void (*const margin)(adp_verdict *, double) = adp_margin;
static void (*const margin_above)(adp_verdict *, double) = adp_margin_above;
static void *(*const cannot)(const adp_setup *, const char *) = adp_cannot;

static int n_bad;

static void same(const char *what, double at, double found, double expected)
{
    if (found == expected)
        return;
    printf("%s (%g): %.17g, expected %.17g\n", what, at, found, expected);
    n_bad++;
}

/* Slots 0, 1, 3 and 63 are there; 3 is NaN. Slot 2's garbage is above every parameter, slot 4's
 * below. */
static void ask_gates(void)
{
    static const struct {
        uint32_t slot, param;
        int has, ge, gt, le, lt;
    } rows[] = {
        { 0, 0, 1, 1, 0, 1, 0 },                           /* 0.9 and 0.9 */
        { 1, 1, 1, 1, 1, 0, 0 },                           /* 32 and 31 */
        { 1, 2, 1, 0, 0, 1, 1 },                           /* 32 and 33 */
        { 2, 1, 0, 0, 0, 0, 0 },                           /* absent */
        { 4, 1, 0, 0, 0, 0, 0 },  { 3, 1, 1, 0, 0, 0, 0 }, /* NaN: no comparison holds */
        { 63, 1, 1, 0, 0, 1, 1 },                          /* 0 and 31 */
    };
    const double param[3] = { 0.9, 31, 33 };
    double signal[64];
    adp_view v;
    memset(signal, 0, sizeof signal);
    memset(&v, 0, sizeof v);
    signal[0] = 0.9;
    signal[1] = 32;
    signal[2] = 1e9;
    signal[3] = (double)NAN;
    signal[4] = -1e9;
    v.size = sizeof v;
    v.present = UINT64_C(0x800000000000000b);
    v.signal = signal;
    v.param = param;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t s = rows[i].slot, p = rows[i].param;
        same("adp_has", (double)i, has(&v, s), rows[i].has);
        same("adp_ge", (double)i, ge(&v, s, p), rows[i].ge);
        same("adp_gt", (double)i, gt(&v, s, p), rows[i].gt);
        same("adp_le", (double)i, le(&v, s, p), rows[i].le);
        same("adp_lt", (double)i, lt(&v, s, p), rows[i].lt);
    }
}

/* Nothing but what is expected changed. */
static void same_verdict(const char *what, double at, adp_verdict found,
                         adp_verdict expected)
{
    same(what, at, found.action, expected.action);
    same(what, at, found.reason, expected.reason);
    same(what, at, found.retry_after_ms, expected.retry_after_ms);
    same(what, at, found.set, expected.set);
    same(what, at, found.binding, expected.binding);
    same(what, at, found.margin, expected.margin);
    if (memcmp(&found, &expected, sizeof found) != 0) {
        printf("%s (%g): other fields changed\n", what, at);
        n_bad++;
    }
}

/* A verdict with something in every field. */
static adp_verdict some(void)
{
    adp_verdict w;
    memset(&w, 0, sizeof w);
    w.size = sizeof w;
    w.action = 70;
    w.reason = 71;
    w.retry_after_ms = 72;
    w.set = 128;
    w.binding = 73;
    w.ticket = 74;
    w.margin = 75;
    w.p = 76;
    return w;
}

static void ask_answers(void)
{
    adp_verdict w = some(), x = some();
    admit(&w);
    x.action = 1;
    same_verdict("adp_admit", 0, w, x);
    w = x = some();
    reject(&w, 3, 5);
    x.action = 2;
    x.reason = 3;
    x.binding = 5;
    same_verdict("adp_reject", 0, w, x);
}

static void ask_defer(void)
{
    static const struct {
        double ms;
        uint32_t retry;
    } rows[] = {
        { 0.25, 1 },
        { 1, 1 },
        { 1000, 1000 },
        { 1000.5, 1001 },
        { 4294967294.0, 4294967294u },
        { 4294967294.5, 4294967295u },
        { 4294967295.0, 4294967295u },
        { 4294967296.0, 4294967295u },
        { 1e300, 4294967295u },
        { (double)INFINITY, 4294967295u },
    };
    const double none[] = { 0.0, -1.0, (double)NAN, -(double)INFINITY };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] + sizeof none / sizeof none[0];
         i++) {
        size_t n = sizeof rows / sizeof rows[0];
        double ms = i < n ? rows[i].ms : none[i - n];
        adp_verdict w = some(), x = some();
        defer(&w, 2, ADP_NONE, ms);
        x.action = 3;
        x.reason = 2;
        x.binding = 0xffffffffu;
        if (i < n) {
            x.retry_after_ms = rows[i].retry;
            x.set = 128 | 4;
        }
        same_verdict("adp_defer", ms, w, x);
    }
}

static void ask_margins(void)
{
    /* 2^-53, made by halving */
    double hair = 1;
    for (int i = 0; i < 53; i++)
        hair /= 2;
    const struct {
        double margin, plain, above;
    } rows[] = {
        { 0.1, 0.1, 0.1 },   { 1e-300, 1e-300, 1e-300 }, { -0.25, -0.25, -0.25 },
        { 0.0, 0.0, -hair }, { 1e300, 1e300, 1e300 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        adp_verdict w = some(), x = some();
        margin(&w, rows[i].margin);
        x.margin = rows[i].plain;
        x.set = 128 | 1;
        same_verdict("adp_margin", rows[i].margin, w, x);
        w = some();
        margin_above(&w, rows[i].margin);
        x.margin = rows[i].above;
        same_verdict("adp_margin_above", rows[i].margin, w, x);
    }
}

static void ask_cannot(void)
{
    static const struct {
        uint64_t cap;
        char text[8];
    } rows[] = {
        { 8, { 'w', 'h', 'y', 0, '#', '#', '#', '#' } },
        { 4, { 'w', 'h', 'y', 0, '#', '#', '#', '#' } },
        { 3, { 'w', 'h', 0, '#', '#', '#', '#', '#' } },
        { 1, { 0, '#', '#', '#', '#', '#', '#', '#' } },
        { 0, { '#', '#', '#', '#', '#', '#', '#', '#' } },
    };
    adp_setup setup;
    memset(&setup, 0, sizeof setup);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char error[8];
        memset(error, '#', sizeof error);
        setup.error = error;
        setup.error_cap = rows[i].cap;
        same("adp_cannot is NULL", (double)rows[i].cap, cannot(&setup, "why") == NULL, 1);
        same("adp_cannot", (double)rows[i].cap, memcmp(error, rows[i].text, sizeof error),
             0);
    }
    setup.error = NULL;
    setup.error_cap = 8;
    same("adp_cannot without error", 8, cannot(&setup, "why") == NULL, 1);
}

int main(void)
{
    ask_gates();
    ask_answers();
    ask_defer();
    ask_margins();
    ask_cannot();
    return n_bad != 0;
}
