/* SPDX-License-Identifier: MIT */
/* /metrics (expose.h).
 *
 * The two formats differ in three things: a counter's HELP and TYPE name it without
 * "_total" in OpenMetrics, units of its own are not stated in either, and OpenMetrics ends
 * with # EOF. */
#include "runtime/sidecar/expose.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct page {
    struct adp_line *to;
    const struct adp_expose *from;
};

static void put(struct page *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(struct page *p, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        adp_line_put(p->to, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void head(struct page *p, const char *name, const char *type, const char *help)
{
    bool counter = strcmp(type, "counter") == 0 && p->from->open;
    size_t n = strlen(name) - (counter ? strlen("_total") : 0);
    put(p, "# HELP %.*s %s\n# TYPE %.*s %s\n", (int)n, name, help, (int)n, name, type);
}

/* A label whose value is the operator's, and may be anything: a target's name, a unit. */
static void put_label(struct page *p, const char *name, const char *value)
{
    put(p, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            adp_line_put(p->to, "\\", 1);
        if (*value == '\n')
            adp_line_put(p->to, "\\n", 2);
        else
            adp_line_put(p->to, value, 1);
    }
    adp_line_put(p->to, "\"", 1);
}

static void one(struct page *p, const char *name, const char *type, const char *help,
                uint64_t value)
{
    head(p, name, type, help);
    put(p, "%s %" PRIu64 "\n", name, value);
}

/* --- decisions --- */

static void put_verdicts(void *ctx, const struct adp_host_verdicts *v)
{
    put(ctx,
        "admitperf_decisions_total{policy=\"%s\",role=\"%s\",verdict=\"%s\",reason=\"%"
        "s\","
        "enforced=\"%s\"} %" PRIu64 "\n",
        v->policy, v->shadow ? "shadow" : "governing", v->verdict, v->reason,
        v->enforced ? "true" : "false", v->n);
}

static void put_faults(void *ctx, const struct adp_host_verdicts *v)
{
    if (strcmp(v->verdict, "fault") == 0)
        put(ctx,
            "admitperf_policy_faults_total{policy=\"%s\",role=\"%s\",enforced=\"%s\"} "
            "%" PRIu64 "\n",
            v->policy, v->shadow ? "shadow" : "governing", v->enforced ? "true" : "false",
            v->n);
}

static uint64_t sum(const struct page *p, size_t at)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->from->n_desks; i++)
        n += atomic_load_explicit(
            (const _Atomic uint64_t *)(const void *)((const char *)p->from->desk[i] + at),
            memory_order_relaxed);
    return n;
}

static void put_seconds(struct page *p)
{
    static const char name[] = "admitperf_decide_seconds";
    uint64_t n = 0;
    head(p, name, "histogram",
         "Time to decide a request, everything between in and out "
         "of the runtime.");
    for (uint32_t i = 0; i <= ADP_DESK_BOUNDS; i++) {
        n += sum(p, offsetof(struct adp_desk_counts, decided) + i * sizeof(uint64_t));
        if (i < ADP_DESK_BOUNDS)
            put(p, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                (double)adp_desk_bound_ns[i] * 1e-9, n);
    }
    put(p, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, n);
    put(p, "%s_sum %.9g\n%s_count %" PRIu64 "\n", name,
        (double)sum(p, offsetof(struct adp_desk_counts, decide_ns)) * 1e-9, name, n);
}

static void put_decisions(struct page *p)
{
    head(p, "admitperf_decisions_total", "counter",
         "Verdicts of policies, by what was said; fault: on_error answered.");
    adp_host_each_verdicts(p->from->rt, put_verdicts, p);
    head(p, "admitperf_policy_faults_total", "counter",
         "Answers of policies that could not be used.");
    adp_host_each_verdicts(p->from->rt, put_faults, p);
    put_seconds(p);
    one(p, "admitperf_bad_facts_total", "counter",
        "Numbers of requests that could not be read, taken as not known.",
        sum(p, offsetof(struct adp_desk_counts, bad_facts)));
}

static void put_outcomes(struct page *p)
{
    head(p, "admitperf_outcomes_total", "counter",
         "Outcomes that came in, by what became of them: settled a decision, no decision "
         "was waiting, the gateway refused it, or did not ask, not to be read.");
    for (uint32_t i = 0; i < ADP_FATES; i++)
        put(p, "admitperf_outcomes_total{fate=\"%s\"} %" PRIu64 "\n",
            adp_outcome_fate_word((enum adp_outcome_fate)i),
            sum(p, offsetof(struct adp_desk_counts, fates) + i * sizeof(uint64_t)));
}

/* --- signals and pages --- */

static bool is_there(const struct adp_board_signal *s, uint64_t now_ns)
{
    return s->why == ADP_WHY_PRESENT && now_ns < s->expires_ns;
}

static void put_signals(struct page *p)
{
    const struct adp_board_copy *b = p->from->board;
    uint64_t now_ns = adp_board_now_ns();
    head(p, "admitperf_signal_value", "gauge",
         "Signals as policies see them now; one that is absent is not here.");
    for (uint32_t i = 0; i < b->n_signals; i++)
        if (is_there(&b->signal[i], now_ns)) {
            put(p, "admitperf_signal_value{signal=\"%s\",", b->signal[i].name);
            put_label(p, "unit", b->signal[i].unit);
            put(p, "} %.17g\n", b->signal[i].value);
        }
    head(p, "admitperf_signal_age_seconds", "gauge",
         "Since the signal's value was measured.");
    for (uint32_t i = 0; i < b->n_signals; i++)
        if (is_there(&b->signal[i], now_ns))
            put(p, "admitperf_signal_age_seconds{signal=\"%s\"} %.3f\n",
                b->signal[i].name,
                b->signal[i].age_s + (double)(now_ns - b->read_ns) * 1e-9);
    head(p, "admitperf_signal_absent", "gauge",
         "1 for each signal that is absent, and why.");
    for (uint32_t i = 0; i < b->n_signals; i++)
        if (!is_there(&b->signal[i], now_ns))
            put(p, "admitperf_signal_absent{signal=\"%s\",why=\"%s\"} 1\n",
                b->signal[i].name,
                adp_why_word(b->signal[i].why == ADP_WHY_PRESENT ? ADP_WHY_STALE
                                                                 : b->signal[i].why));
}

static void put_target(struct page *p, const char *name,
                       const struct adp_board_target *target)
{
    put(p, "%s{", name);
    put_label(p, "target", target->name);
}

static void put_scrapes(struct page *p)
{
    const struct adp_board_copy *b = p->from->board;
    uint64_t now_ns = adp_board_now_ns();
    head(p, "admitperf_scrape_up", "gauge", "Whether the target's last page came whole.");
    for (uint32_t i = 0; i < b->n_targets; i++) {
        put_target(p, "admitperf_scrape_up", &b->target[i]);
        put(p, "} %d\n", b->target[i].up);
    }
    head(p, "admitperf_scrape_pages_total", "counter", "Pages that came whole.");
    for (uint32_t i = 0; i < b->n_targets; i++) {
        put_target(p, "admitperf_scrape_pages_total", &b->target[i]);
        put(p, "} %" PRIu64 "\n", b->target[i].came);
    }
    head(p, "admitperf_scrape_failures_total", "counter",
         "Pages that did not, by reason.");
    for (uint32_t i = 0; i < b->n_targets; i++)
        for (uint32_t why = 0; why < ADP_SCRAPE_WHYS; why++) {
            if (!b->target[i].failures[why])
                continue;
            put_target(p, "admitperf_scrape_failures_total", &b->target[i]);
            put(p, ",why=\"%s\"} %" PRIu64 "\n",
                adp_scrape_why_word((enum adp_scrape_why)why),
                b->target[i].failures[why]);
        }
    head(p, "admitperf_scrape_age_seconds", "gauge",
         "Since the target's last page came.");
    for (uint32_t i = 0; i < b->n_targets; i++)
        if (b->target[i].came_ns) {
            put_target(p, "admitperf_scrape_age_seconds", &b->target[i]);
            put(p, "} %.3f\n", (double)(now_ns - b->target[i].came_ns) * 1e-9);
        }
}

/* --- the rest --- */

/* The log is the supervisor's, if there is one. */
static void read_log(const struct page *p, adp_stats *s, struct adp_host_queue *q)
{
    *q = adp_host_log_queue(p->from->rt);
    adp_runtime_stats(p->from->rt, s);
    if (!p->from->worker)
        return;
    struct adp_supervised c = adp_worker_counts(p->from->worker);
    s->lines = c.log_lines;
    s->bytes = c.log_bytes;
    s->write_errors = c.log_write_errors;
    q->lines_bytes = c.log_pending;
}

static void put_log(struct page *p)
{
    adp_stats s = { .size = sizeof s };
    struct adp_host_queue q;
    read_log(p, &s, &q);
    one(p, "admitperf_log_queue_bytes", "gauge",
        "Recorded, and not yet read for the log.", q.bytes);
    one(p, "admitperf_log_queue_limit_bytes", "gauge",
        "Room for it; beyond, the newest records are dropped.", q.cap);
    one(p, "admitperf_log_unwritten_bytes", "gauge", "Lines that wait to be written.",
        q.lines_bytes);
    one(p, "admitperf_log_dropped_total", "counter", "Records lost for want of room.",
        s.dropped);
    one(p, "admitperf_log_lines_total", "counter", "Lines written.", s.lines);
    one(p, "admitperf_log_bytes_total", "counter", "Bytes written.", s.bytes);
    one(p, "admitperf_log_write_errors_total", "counter",
        "Writes, openings and rotations that failed; they are tried again.",
        s.write_errors);
    one(p, "admitperf_tickets_lost_total", "counter",
        "Requests without an outcome in time.", s.lost_tickets);
    one(p, "admitperf_config_generation", "gauge", "Configurations put in force so far.",
        s.generation);
    head(p, "admitperf_config_info", "gauge", "The hash of the configuration in force.");
    put(p, "admitperf_config_info{hash=\"%016" PRIx64 "\"} 1\n", s.config);
    head(p, "admitperf_build_info", "gauge", "This program's version.");
    put(p, "admitperf_build_info{version=\"%s\"} 1\n", adp_version());
}

/* --- the supervisor --- */

static void put_policies(struct page *p)
{
    struct adp_suspected of;
    head(p, "admitperf_policy_deaths_total", "counter",
         "Times the worker ended in this policy, or when it was among those in force.");
    for (uint32_t i = 0; adp_worker_suspected(p->from->worker, i, &of); i++)
        put(p, "admitperf_policy_deaths_total{policy=\"%s\"} %" PRIu64 "\n", of.name,
            of.deaths);
    head(p, "admitperf_policy_quarantined", "gauge",
         "1: the policy is not asked until a reload, and every request admitted.");
    for (uint32_t i = 0; adp_worker_suspected(p->from->worker, i, &of); i++)
        put(p, "admitperf_policy_quarantined{policy=\"%s\"} %d\n", of.name,
            of.quarantined);
}

static void put_supervised(struct page *p)
{
    static const char *const causes[ADP_CAUSE_COUNT] = {
        [ADP_CAUSE_SIGNAL] = "signal", [ADP_CAUSE_EXIT] = "exit",
        [ADP_CAUSE_HANG] = "hang",     [ADP_CAUSE_STALL] = "stall",
        [ADP_CAUSE_MEMORY] = "memory",
    };
    struct adp_supervised c = adp_worker_counts(p->from->worker);
    one(p, "admitperf_worker_restarts_total", "counter",
        "Workers started in place of one that ended; other counters then begin anew.",
        c.restarts);
    head(p, "admitperf_worker_deaths_total", "counter", "Ends of workers, by cause.");
    for (uint32_t i = 1; i < ADP_CAUSE_COUNT; i++)
        put(p, "admitperf_worker_deaths_total{cause=\"%s\"} %" PRIu64 "\n", causes[i],
            c.deaths[i]);
    head(
        p, "admitperf_worker_restart_seconds", "gauge",
        "From a worker's end until the next one served: the last time, and the longest.");
    put(p,
        "admitperf_worker_restart_seconds{which=\"last\"} %.6f\n"
        "admitperf_worker_restart_seconds{which=\"longest\"} %.6f\n",
        (double)c.restart_ns * 1e-9, (double)c.restart_worst_ns * 1e-9);
    one(p, "admitperf_worker_faults_total", "counter",
        "Decisions that a worker ended in, recorded with the fault.", c.fault_records);
    one(p, "admitperf_connections_inherited_total", "counter",
        "Connections that the next worker went on with.", c.inherited);
    head(p, "admitperf_connections_cut_total", "counter",
         "Connections that nobody could go on with at a worker's end.");
    put(p,
        "admitperf_connections_cut_total{why=\"partly_read\"} %" PRIu64 "\n"
        "admitperf_connections_cut_total{why=\"partly_written\"} %" PRIu64 "\n"
        "admitperf_connections_cut_total{why=\"no_room\"} %" PRIu64 "\n",
        c.partly_read, c.partly_written, c.unheld);
    put_policies(p);
}

static void put_http(struct page *p)
{
    const struct adp_http_counts *h = &p->from->http;
    one(p, "admitperf_http_requests_total", "counter", "Requests read whole.",
        h->requests);
    one(p, "admitperf_http_connections_total", "counter", "Connections accepted.",
        h->connections);
    one(p, "admitperf_http_connections_open", "gauge", "Connections now.", h->open);
    head(p, "admitperf_http_turned_away_total", "counter",
         "Clients that were not served, by reason.");
    const struct {
        const char *word;
        uint64_t n;
    } rows[] = { { "refused", h->refused },     { "timeout", h->timeouts },
                 { "idle", h->idle_closed },    { "stalled", h->stalled },
                 { "made_room", h->evicted },   { "full", h->turned_away },
                 { "left_unanswered", h->gone } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        put(p, "admitperf_http_turned_away_total{why=\"%s\"} %" PRIu64 "\n", rows[i].word,
            rows[i].n);
    one(p, "admitperf_spop_frames_total", "counter", "NOTIFY frames answered.",
        p->from->spop_frames);
    one(p, "admitperf_spop_connections_total", "counter", "Connections of HAProxy.",
        p->from->spop_connections);
}

void adp_expose_write(struct adp_line *to, const struct adp_expose *from)
{
    struct page p = { to, from };
    const struct adp_board_copy *b = from->board;
    put_decisions(&p);
    put_outcomes(&p);
    put_signals(&p);
    put_scrapes(&p);
    one(&p, "admitperf_publishes_total", "counter", "Pages put in force.", b->publishes);
    one(&p, "admitperf_publish_errors_total", "counter", "Pages that could not be.",
        b->publish_errors);
    one(&p, "admitperf_reloads_total", "counter", "Configurations read anew.",
        b->reloads);
    one(&p, "admitperf_reload_errors_total", "counter",
        "Configurations that were refused; the one before stayed.", b->reload_errors);
    put_log(&p);
    put_http(&p);
    if (from->worker)
        put_supervised(&p);
    if (from->open)
        put(&p, "# EOF\n");
}

const char *adp_expose_type(bool open)
{
    return open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                : "text/plain; version=0.0.4; charset=utf-8";
}

/* Whether what stands behind a media type says "not this": q=0, q=0.000. */
static bool is_refused(const char *at, size_t len)
{
    for (const char *end = at + len; at < end; at++) {
        if (*at != ';')
            continue;
        for (at++; at < end && (*at == ' ' || *at == '\t'); at++)
            ;
        if (end - at >= 3 && (*at == 'q' || *at == 'Q') && at[1] == '=') {
            size_t n = strspn(at + 2, "0."), most = (size_t)(end - at) - 2;
            return n && (n >= most || !strchr("123456789", at[2 + n]));
        }
        at--;
    }
    return false;
}

bool adp_expose_is_open(const struct adp_http_text *accept)
{
    static const char word[] = "application/openmetrics-text";
    const size_t n = sizeof word - 1;
    char text[1024]; /* of a longer one the begin */
    if (!accept)
        return false;
    size_t len = accept->len < sizeof text - 1 ? accept->len : sizeof text - 1;
    memcpy(text, accept->at, len);
    text[len] = '\0';
    for (char *at = text; *at; at += strcspn(at, ","), at += *at == ',') {
        at += strspn(at, " \t");
        size_t part = strcspn(at, ",");
        if (part >= n && strncasecmp(at, word, n) == 0 && strchr(",; \t", at[n]) &&
            !is_refused(at + n, part - n))
            return true;
    }
    return false;
}
