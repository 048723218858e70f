/* SPDX-License-Identifier: MIT */
/* adp_loader_check: what a policy declares, held against the contract of policy.h.
 *
 * The words and bounds are here; what they mean is in policy.h and docs/abi.md. Nothing
 * of the policy is called. Its pointers are followed: image.c has seen to it before that
 * they lead somewhere.
 *
 * Every message names the row, what was found and what was expected. */
#include "runtime/loader/loader.h"

#include "core/glyph.h"
#include "core/pen.h"
#include "runtime/loader/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_NAME 63u
#define LONGEST_TEXT 1023u             /* of version, doc, source, unit */
#define LARGEST_INT  9007199254740992. /* 2^53: every integer below is a double */

/* What is being checked, for messages. */
struct check {
    const struct adp_policy *policy;
    const char *path;
    struct adp_error *err;
    char row[96]; /* "parameter 2 \"threshold\": ", or "" */
};

static int refuse(const struct check *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse(const struct check *c, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return adp_error_at(c->err, ADP_EABI, c->path, 0, 0, "%s%s", c->row, text);
}

static bool is_name(const char *s)
{
    size_t n = strnlen(s, LONGEST_NAME + 1);
    return n >= 1 && n <= LONGEST_NAME && s[0] >= 'a' && s[0] <= 'z' &&
           strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

/* One line of UTF-8 in which nothing steers a terminal or the order of reading; NULL is "not
 * stated". */
static int check_text(const struct check *c, const char *field, const char *s)
{
    if (!s)
        return 0;
    size_t n = strnlen(s, LONGEST_TEXT + 1);
    int bytes;
    if (n > LONGEST_TEXT)
        return refuse(c, "%s is longer than %u bytes", field, LONGEST_TEXT);
    for (size_t i = 0; i < n; i += (size_t)bytes) {
        uint32_t point = adp_glyph_at(s + i, &bytes);
        if (!adp_pen_keeps(s + i, (size_t)bytes) || point < 0x20 || point == 0x7f)
            return refuse(c, "%s is not one line of UTF-8: byte %zu is 0x%02x", field, i,
                          (unsigned char)s[i]);
        if (adp_glyph_steers(point))
            return refuse(
                c,
                "%s is not one line of plain text: byte %zu begins U+%04X, which "
                "controls a terminal or the direction of writing",
                field, i, point);
    }
    return 0;
}

static int check_name(const struct check *c, const char *what, const char *name)
{
    if (!name)
        return refuse(c, "%s has no name", what);
    if (!is_name(name))
        return refuse(c, "%s is named \"%.64s\", expected [a-z][a-z0-9_]* of at most %u",
                      what, name, LONGEST_NAME);
    return 0;
}

static int check_tables(const struct check *c)
{
    const struct adp_policy *p = c->policy;
    const struct {
        const char *what;
        uint32_t n, most;
        const void *table;
    } tables[] = {
        { "signals", p->n_signals, ADP_MAX_SIGNALS, p->signals },
        { "params", p->n_params, ADP_MAX_PARAMS, p->params },
        { "gates", p->n_gates, ADP_MAX_GATES, p->gates },
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (tables[i].n > tables[i].most)
            return refuse(c, "declares %u %s, expected at most %u", tables[i].n,
                          tables[i].what, tables[i].most);
        if (tables[i].n && !tables[i].table)
            return refuse(c, "declares %u %s and no table of them", tables[i].n,
                          tables[i].what);
    }
    return 0;
}

static int check_signals(struct check *c)
{
    for (uint32_t i = 0; i < c->policy->n_signals; i++) {
        struct adp_signal s = adp_table_signal(c->policy, i);
        snprintf(c->row, sizeof c->row, "signal %u: ", i);
        int r = check_name(c, "it", s.name);
        if (r < 0)
            return r;
        snprintf(c->row, sizeof c->row, "signal %u \"%s\": ", i, s.name);
        if (!s.unit)
            return refuse(c, "has no unit");
        if ((r = check_text(c, "unit", s.unit)) < 0)
            return r;
        if (s.flags & ~(uint32_t)ADP_REPLICAS || s.reserved)
            return refuse(c, "flags 0x%x, reserved 0x%x are not all known to this host",
                          s.flags, s.reserved);
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(adp_table_signal(c->policy, j).name, s.name) == 0)
                return refuse(c, "is declared twice, as signal %u before", j);
    }
    c->row[0] = '\0';
    return 0;
}

static bool is_integer(double x)
{
    return x >= -LARGEST_INT && x <= LARGEST_INT && (double)(int64_t)x == x;
}

/* Bounds and default of one parameter. */
static int check_bounds(const struct check *c, const struct adp_param *p)
{
    bool required = p->flags & ADP_REQUIRED;
    if (!isfinite(p->lo) || !isfinite(p->hi) || !isfinite(p->dflt))
        return refuse(c, "lo %g, hi %g, dflt %g: expected finite numbers", p->lo, p->hi,
                      p->dflt);
    if (p->lo > p->hi)
        return refuse(c, "lo %g is above hi %g", p->lo, p->hi);
    if (!required && (p->dflt < p->lo || p->dflt > p->hi))
        return refuse(c, "dflt %g is outside [%g, %g]", p->dflt, p->lo, p->hi);
    if (p->kind != ADP_F64 &&
        (!is_integer(p->lo) || !is_integer(p->hi) || !is_integer(p->dflt)))
        return refuse(c, "lo %g, hi %g, dflt %g: expected integers within 2^53", p->lo,
                      p->hi, p->dflt);
    if (p->kind == ADP_BOOL && (p->lo < 0.0 || p->hi > 1.0))
        return refuse(c, "lo %g, hi %g: expected 0 and 1 of a bool", p->lo, p->hi);
    return 0;
}

static int check_params(struct check *c)
{
    for (uint32_t i = 0; i < c->policy->n_params; i++) {
        struct adp_param p = adp_table_param(c->policy, i);
        snprintf(c->row, sizeof c->row, "parameter %u: ", i);
        int r = check_name(c, "it", p.name);
        if (r < 0)
            return r;
        snprintf(c->row, sizeof c->row, "parameter %u \"%s\": ", i, p.name);
        if (!p.unit)
            return refuse(c, "has no unit, expected \"\" where there is none");
        if ((r = check_text(c, "unit", p.unit)) < 0 ||
            (r = check_text(c, "doc", p.doc)) < 0)
            return r;
        if (p.kind < ADP_F64 || p.kind > ADP_BOOL)
            return refuse(c, "kind is %u, expected %d to %d", p.kind, ADP_F64, ADP_BOOL);
        if (p.flags & ~(uint32_t)(ADP_REQUIRED | ADP_FIXED))
            return refuse(c, "flags 0x%x are not all known to this host", p.flags);
        if ((r = check_bounds(c, &p)) < 0)
            return r;
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(adp_table_param(c->policy, j).name, p.name) == 0)
                return refuse(c, "is declared twice, as parameter %u before", j);
    }
    c->row[0] = '\0';
    return 0;
}

static int check_gates(struct check *c)
{
    const struct adp_policy *p = c->policy;
    uint64_t rules = 0; /* bit r: some gate is of rule r */
    for (uint32_t i = 0; i < p->n_gates; i++) {
        struct adp_gate g = adp_table_gate(p, i);
        snprintf(c->row, sizeof c->row, "gate %u: ", i);
        if (g.rule >= ADP_MAX_GATES)
            return refuse(c, "rule is %u, expected below %u", g.rule, ADP_MAX_GATES);
        if (g.signal >= p->n_signals)
            return refuse(c, "signal is slot %u of %u declared", g.signal, p->n_signals);
        if (g.op < ADP_GE || g.op > ADP_LT)
            return refuse(c, "op is %u, expected %d to %d", g.op, ADP_GE, ADP_LT);
        if (g.param != ADP_NONE && g.param >= p->n_params)
            return refuse(c, "param is place %u of %u declared", g.param, p->n_params);
        rules |= UINT64_C(1) << g.rule;
    }
    c->row[0] = '\0';
    if (rules & (rules + 1)) /* not of the form 0…01…1 */
        return refuse(c, "the gates leave out rule %d",
                      __builtin_ctzll(~(unsigned long long)rules));
    return 0;
}

static const char *const units[] = { "request", "agent-session", "tenant", NULL };
static const char *const settings[] = { "online", "offline", "hybrid", NULL };
static const char *const awareness[] = { "deadline", "throughput", "fairness",
                                         "cost",     "stability",  NULL };
static const char *const quantities[] = {
    "kv_pressure",   "queue_depth",      "deadline_slack",
    "wait_estimate", "predicted_length", "batch_state",
    "rate",          "analytic",         NULL
};
static const char *const structures[] = { "scalar", "dual-gate", "lp-composite",
                                          "formal-bound", NULL };
static const char *const metadata[] = { "none",       "SLO class",
                                        "deadlines",  "per-stage deadlines",
                                        "session id", "priority class",
                                        NULL };
static const char *const portabilities[] = { "A", "B", NULL };

static int check_word(const struct check *c, const char *field, const char *word,
                      const char *const *words)
{
    char known[256] = "";
    if (!word)
        return 0;
    for (const char *const *w = words; *w; w++) {
        if (strcmp(*w, word) == 0)
            return 0;
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", n ? " | " : "", *w);
    }
    const char *nearest = adp_error_nearest(word, words);
    return refuse(c, "%s is \"%.64s\", expected %s%s%s%s", field, word, known,
                  nearest ? "; nearest is \"" : "", nearest ? nearest : "",
                  nearest ? "\"" : "");
}

static int check_card(struct check *c)
{
    struct adp_card card = adp_table_card(c->policy);
    const struct {
        const char *field, *word;
        const char *const *words;
    } rows[] = {
        { "unit", card.unit, units },
        { "setting", card.setting, settings },
        { "slo_awareness", card.slo_awareness, awareness },
        { "signal_quantity", card.signal_quantity, quantities },
        { "signal_structure", card.signal_structure, structures },
        { "metadata_assumed", card.metadata_assumed, metadata },
        { "portability", card.portability, portabilities },
    };
    int r = 0;
    snprintf(c->row, sizeof c->row, "card: ");
    for (size_t i = 0; r == 0 && i < sizeof rows / sizeof rows[0]; i++)
        r = check_word(c, rows[i].field, rows[i].word, rows[i].words);
    if (r < 0 || (r = check_text(c, "source", card.source)) < 0 ||
        (r = check_text(c, "margin_unit", card.margin_unit)) < 0)
        return r;
    if (card.flags & ~(uint32_t)ADP_BASELINE || card.reserved)
        return refuse(c, "flags 0x%x, reserved 0x%x are not all known to this host",
                      card.flags, card.reserved);
    if (card.flags & ADP_BASELINE && c->policy->n_gates)
        return refuse(c, "it is a baseline, which refuses nothing, and declares %u gates",
                      c->policy->n_gates);
    c->row[0] = '\0';
    return 0;
}

static int check_functions(const struct check *c)
{
    const struct adp_policy *p = c->policy;
    if (p->threading > ADP_CONCURRENT)
        return refuse(c, "threading is %u, expected %d (serial) or %d (concurrent)",
                      p->threading, ADP_SERIAL, ADP_CONCURRENT);
    if (!p->decide)
        return refuse(c, "has no decide");
    if (p->save && !p->max_saved)
        return refuse(c, "has save but max_saved is 0: it could never write");
    if (p->max_saved > ADP_MAX_SAVED)
        return refuse(c, "max_saved is %u, expected at most %u", p->max_saved,
                      ADP_MAX_SAVED);
    if (p->flags & ~(uint32_t)ADP_TAKES_CONFIG || p->reserved)
        return refuse(c, "flags 0x%x, reserved 0x%x are not all known to this host",
                      p->flags, p->reserved);
    if (!p->create && (p->save || p->flags & ADP_TAKES_CONFIG))
        return refuse(c, "has no create, and so no instance to %s",
                      p->save ? "save" : "configure");
    return 0;
}

int adp_loader_check(const struct adp_policy *policy, const char *path,
                     struct adp_error *err)
{
    struct check c = { .policy = policy, .path = path, .err = err };
    int r;
    if ((r = check_name(&c, "the policy", policy->name)) < 0 ||
        (r = check_text(&c, "version", policy->version)) < 0 ||
        (r = check_text(&c, "doc", policy->doc)) < 0 || (r = check_tables(&c)) < 0 ||
        (r = check_signals(&c)) < 0 || (r = check_params(&c)) < 0 ||
        (r = check_gates(&c)) < 0 || (r = check_card(&c)) < 0 ||
        (r = check_functions(&c)) < 0)
        return r;
    return 0;
}
