/* SPDX-License-Identifier: MIT */
/* How somebody stands (stand.h). */
#include "runtime/dashboard/stand.h"

#include "runtime/analysis/account.h"

#include <math.h>

enum { MOST_ROWS = 128 }; /* of a table: a page is somebody else's */

static const struct adp_series *first_of(const struct adp_metrics *page, const char *name)
{
    uint32_t i = adp_metrics_find(page, name, strlen(name));
    return i == ADP_NO_SERIES ? NULL : adp_metrics_at(page, i);
}

static const struct adp_series *next_of(const struct adp_metrics *page,
                                        const struct adp_series *series)
{
    return series->next == ADP_NO_SERIES ? NULL : adp_metrics_at(page, series->next);
}

static struct adp_str label_of(const struct adp_series *series, const char *name)
{
    return adp_label_of(series, (struct adp_str) { name, strlen(name) });
}

static bool has(const struct adp_series *series, const char *name, const char *value)
{
    return adp_str_is(label_of(series, name), value);
}

/* ---- reading --------------------------------------------------------------------------
 */

static void read_counts(const struct adp_metrics *page, struct adp_stand *ret)
{
    ret->decisions = ret->refused = ret->faults = 0;
    const struct adp_series *s = first_of(page, "admitperf_decisions_total");
    for (; s; s = next_of(page, s)) {
        if (!has(s, "role", "governing"))
            continue;
        ret->decisions += s->value;
        if (has(s, "enforced", "true") &&
            (has(s, "verdict", "reject") || has(s, "verdict", "defer")))
            ret->refused += s->value;
    }
    s = first_of(page, "admitperf_policy_faults_total");
    for (; s; s = next_of(page, s))
        if (has(s, "role", "governing"))
            ret->faults += s->value;
}

static struct adp_stand_signal *signal_of(struct adp_stand *stand, struct adp_str name)
{
    for (uint32_t i = 0; i < stand->n_signals; i++)
        if (adp_str_same(stand->signal[i].name, name))
            return &stand->signal[i];
    if (stand->n_signals == ADP_MAX_KNOWN || !name.n || name.n > ADP_SIGNAL_NAME)
        return NULL;
    struct adp_stand_signal *new = &stand->signal[stand->n_signals++];
    *new = (struct adp_stand_signal) { .name = name, .value = NAN, .age_s = NAN };
    return new;
}

/* What policies see there. */
static void read_theirs(const struct adp_metrics *page, struct adp_stand *ret)
{
    struct adp_stand_signal *signal;
    const struct adp_series *s = first_of(page, "admitperf_signal_value");
    for (; s; s = next_of(page, s))
        if ((signal = signal_of(ret, label_of(s, "signal")))) {
            signal->value = s->value;
            signal->unit = label_of(s, "unit");
        }
    s = first_of(page, "admitperf_signal_age_seconds");
    for (; s; s = next_of(page, s))
        if ((signal = signal_of(ret, label_of(s, "signal"))))
            signal->age_s = s->value;
    s = first_of(page, "admitperf_signal_absent");
    for (; s; s = next_of(page, s))
        if ((signal = signal_of(ret, label_of(s, "signal"))))
            signal->why = label_of(s, "why");
}

static struct adp_str str_of(const char *text)
{
    return (struct adp_str) { text, strlen(text) };
}

/* What this page would give to a policy. */
static void read_ours(const struct adp_account *account, struct adp_stand *ret)
{
    for (uint32_t i = 0; i < adp_signals_count(account->set); i++) {
        const struct adp_reading *r = &account->reading[i];
        struct adp_stand_signal *signal =
            signal_of(ret, str_of(adp_signals_name(account->set, i)));
        if (!signal)
            continue;
        signal->unit = str_of(adp_signals_unit(account->set, i));
        if (r->why == ADP_WHY_PRESENT) {
            signal->value = r->value;
            signal->age_s = r->age_s;
        } else {
            signal->why = str_of(adp_why_word(r->why));
        }
    }
}

void adp_stand_read(const struct adp_account *account, struct adp_stand *ret)
{
    ret->sidecar = first_of(account->page, "admitperf_build_info");
    ret->decisions = ret->refused = ret->faults = NAN;
    ret->n_signals = 0;
    if (ret->sidecar) {
        read_counts(account->page, ret);
        read_theirs(account->page, ret);
    } else {
        read_ours(account, ret);
    }
}

/* ---- writing --------------------------------------------------------------------------
 */

/* A key that is somebody else's. */
static void put_key(struct adp_line *to, struct adp_str name)
{
    if (to->len && to->text[to->len - 1] != '{')
        adp_line_puts(to, ",");
    adp_line_string(to, name.p, name.n);
    adp_line_puts(to, ":");
}

static void put_text(struct adp_line *to, const char *key, struct adp_str text)
{
    adp_line_key(to, key);
    if (text.n)
        adp_line_string(to, text.p, text.n);
    else
        adp_line_puts(to, "null");
}

/* Each series of that name: its labels, and its value as "n". */
static void put_rows(struct adp_line *to, const char *key, const struct adp_metrics *page,
                     const char *name)
{
    const struct adp_series *s = first_of(page, name);
    uint32_t n = 0;
    adp_line_key(to, key);
    adp_line_puts(to, "[");
    for (; s && n < MOST_ROWS; s = next_of(page, s), n++) {
        adp_line_puts(to, n ? ",{" : "{");
        for (uint32_t i = 0; i < s->n_labels; i++) {
            put_key(to, s->labels[i].name);
            adp_line_string(to, s->labels[i].value.p, s->labels[i].value.n);
        }
        adp_line_key_number(to, "n", s->value);
        adp_line_puts(to, "}");
    }
    adp_line_puts(to, "]");
}

static void put_one(struct adp_line *to, const char *key, const struct adp_metrics *page,
                    const char *name)
{
    const struct adp_series *s = first_of(page, name);
    adp_line_key_number(to, key, s ? s->value : (double)NAN);
}

static void put_label(struct adp_line *to, const char *key,
                      const struct adp_metrics *page, const char *name, const char *label)
{
    const struct adp_series *s = first_of(page, name);
    put_text(to, key, s ? label_of(s, label) : (struct adp_str) { "", 0 });
}

static void put_signals(struct adp_line *to, const struct adp_stand *stand)
{
    adp_line_key(to, "signals");
    adp_line_puts(to, "[");
    for (uint32_t i = 0; i < stand->n_signals; i++) {
        const struct adp_stand_signal *s = &stand->signal[i];
        adp_line_puts(to, i ? ",{" : "{");
        put_text(to, "name", s->name);
        adp_line_key_number(to, "value", s->value);
        put_text(to, "unit", s->unit);
        adp_line_key_number(to, "age_s", s->age_s);
        put_text(to, "why", s->why);
        adp_line_puts(to, "}");
    }
    adp_line_puts(to, "]");
}

static void put_sidecar(struct adp_line *to, const struct adp_metrics *page)
{
    put_label(to, "version", page, "admitperf_build_info", "version");
    put_label(to, "config", page, "admitperf_config_info", "hash");
    put_one(to, "generation", page, "admitperf_config_generation");
    put_rows(to, "verdicts", page, "admitperf_decisions_total");
    put_rows(to, "policy_faults", page, "admitperf_policy_faults_total");
    put_rows(to, "outcomes", page, "admitperf_outcomes_total");
    put_rows(to, "scrape_up", page, "admitperf_scrape_up");
    put_rows(to, "scrape_age_s", page, "admitperf_scrape_age_seconds");
    put_rows(to, "scrape_pages", page, "admitperf_scrape_pages_total");
    put_rows(to, "scrape_failures", page, "admitperf_scrape_failures_total");
    put_rows(to, "turned_away", page, "admitperf_http_turned_away_total");
    put_one(to, "decide_s", page, "admitperf_decide_seconds_sum");
    put_one(to, "decided", page, "admitperf_decide_seconds_count");
    put_one(to, "bad_facts", page, "admitperf_bad_facts_total");
    put_one(to, "publish_errors", page, "admitperf_publish_errors_total");
    put_one(to, "reload_errors", page, "admitperf_reload_errors_total");
    put_one(to, "log_lines", page, "admitperf_log_lines_total");
    put_one(to, "log_dropped", page, "admitperf_log_dropped_total");
    put_one(to, "log_write_errors", page, "admitperf_log_write_errors_total");
    put_one(to, "log_queue_bytes", page, "admitperf_log_queue_bytes");
    put_one(to, "log_queue_limit_bytes", page, "admitperf_log_queue_limit_bytes");
    put_one(to, "tickets_lost", page, "admitperf_tickets_lost_total");
    put_one(to, "connections", page, "admitperf_http_connections_open");
}

void adp_stand_write(const struct adp_account *account, const struct adp_stand *stand,
                     struct adp_line *to)
{
    adp_line_key_bool(to, "sidecar", stand->sidecar);
    adp_line_key_u64(to, "series", adp_metrics_count(account->page));
    adp_line_key_number(to, "decisions", stand->decisions);
    adp_line_key_number(to, "refused", stand->refused);
    adp_line_key_number(to, "faults", stand->faults);
    put_signals(to, stand);
    if (stand->sidecar)
        put_sidecar(to, account->page);
}
