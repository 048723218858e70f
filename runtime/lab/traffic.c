/* SPDX-License-Identifier: MIT */
/* Traffic: who arrives when and how long each takes to serve. */
#include "runtime/lab/traffic.h"

#include "runtime/lab/random.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char header[] = "request,arrival_tick,service_ticks";

enum stream { STREAM_ARRIVALS = 1, STREAM_SERVICES = 2 };

int adp_traffic_draw(struct adp_traffic *ret, uint64_t seed, uint32_t repeat,
                     struct adp_error *err)
{
    struct adp_traffic traffic = { .n = ADP_TRAFFIC_REQUESTS };
    traffic.arrivals = calloc(traffic.n, sizeof *traffic.arrivals);
    if (!traffic.arrivals)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");

    struct adp_random arrivals, services;
    adp_random_init(&arrivals, seed, repeat, STREAM_ARRIVALS);
    adp_random_init(&services, seed, repeat, STREAM_SERVICES);
    uint32_t tick = 0, left_in_tick = 0;
    for (uint32_t i = 0; i < traffic.n; i++) {
        while (!left_in_tick) {
            tick++;
            left_in_tick = adp_random_poisson_10(&arrivals);
        }
        left_in_tick--;
        struct adp_arrival *a = &traffic.arrivals[i];
        snprintf(a->id, sizeof a->id, "r%u", i);
        a->tick = tick;
        a->service_ticks = adp_random_between(&services, ADP_TRAFFIC_SERVICE_MIN,
                                              ADP_TRAFFIC_SERVICE_MAX);
    }
    *ret = traffic;
    return 0;
}

/* One line under the reader's finger. */
struct cursor {
    const char *file;
    const char *at, *end; /* end: of the line, at its line feed */
    const char *begin;
    uint32_t line;
};

static int wrong(const struct cursor *c, const char *where, struct adp_error *err,
                 const char *what, const char *expected)
{
    size_t n = 0;
    while (where + n < c->end && where[n] != ',' && n < 32)
        n++;
    return adp_error_at(err, ADP_ESYNTAX, c->file, c->line,
                        (uint32_t)(where - c->begin) + 1,
                        "%s, found \"%.*s\", expected %s", what, (int)n, where, expected);
}

static bool id_byte(char c)
{
    return c > ' ' && c < 0x7f && c != ',' && c != '"';
}

static int read_id(struct cursor *c, char *ret, struct adp_error *err)
{
    size_t n = 0;
    while (c->at + n < c->end && id_byte(c->at[n]))
        n++;
    if (n == 0 || n > ADP_TRAFFIC_MAX_ID)
        return wrong(c, c->at, err, n ? "request id is too long" : "no request id",
                     "1 to 64 printable characters without blank, quote and comma");
    memcpy(ret, c->at, n);
    ret[n] = '\0';
    c->at += n;
    return 0;
}

static int read_comma(struct cursor *c, struct adp_error *err)
{
    if (c->at == c->end || *c->at != ',')
        return wrong(c, c->at, err, "field does not end here", "a comma");
    c->at++;
    return 0;
}

/* Plain digits, 1..max. */
static int read_count(struct cursor *c, uint32_t max, const char *what, uint32_t *ret,
                      struct adp_error *err)
{
    const char *from = c->at;
    char expected[64];
    uint64_t value = 0;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9' && value <= max)
        value = value * 10 + (uint64_t)(*c->at++ - '0');
    bool whole = c->at > from && (c->at == c->end || *c->at == ',');
    if (!whole || value < 1 || value > max) {
        snprintf(expected, sizeof expected, "a whole number from 1 to %u", max);
        return wrong(c, from, err, what, expected);
    }
    *ret = (uint32_t)value;
    return 0;
}

static int read_line(struct cursor *c, struct adp_arrival *ret, struct adp_error *err)
{
    int failed = read_id(c, ret->id, err);
    if (!failed)
        failed = read_comma(c, err);
    if (!failed)
        failed = read_count(c, ADP_TRAFFIC_MAX_TICK, "bad arrival tick", &ret->tick, err);
    if (!failed)
        failed = read_comma(c, err);
    if (failed)
        return failed;
    ret->line = c->line;
    ret->column = (uint32_t)(c->at - c->begin) + 1;
    if (c->at < c->end)
        failed = read_count(c, ADP_TRAFFIC_MAX_SERVICE, "bad service time",
                            &ret->service_ticks, err);
    if (!failed && c->at < c->end)
        failed = wrong(c, c->at, err, "a field too many", "the end of the line");
    return failed;
}

/* Ids in order, and among equal ones the later line last. */
static int by_id(const void *a, const void *b)
{
    const struct adp_arrival *x = *(const struct adp_arrival *const *)a;
    const struct adp_arrival *y = *(const struct adp_arrival *const *)b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x > y) - (x < y);
}

static int check_distinct(const struct adp_traffic *traffic, struct adp_error *err)
{
    const struct adp_arrival **sorted = malloc(traffic->n * sizeof *sorted);
    const struct adp_arrival *twice = NULL, *first = NULL;
    if (!sorted)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < traffic->n; i++)
        sorted[i] = &traffic->arrivals[i];
    qsort(sorted, traffic->n, sizeof *sorted, by_id);
    for (uint32_t i = 1; i < traffic->n; i++) {
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) != 0)
            continue;
        if (!twice || sorted[i] < twice) {
            first = sorted[i - 1];
            twice = sorted[i];
        }
    }
    free(sorted);
    if (!twice)
        return 0;
    return adp_error_at(err, ADP_ESYNTAX, traffic->file, twice->line, 1,
                        "request %s is there twice, first in line %u", twice->id,
                        first->line);
}

static bool is_header(const struct cursor *c)
{
    return (size_t)(c->end - c->at) == sizeof header - 1 &&
           memcmp(c->at, header, sizeof header - 1) == 0;
}

/* Puts the cursor on the line that starts at `from`. */
static int take_line(struct cursor *c, const char *from, const char *end,
                     struct adp_error *err)
{
    const char *feed = memchr(from, '\n', (size_t)(end - from));
    c->begin = c->at = from;
    c->end = feed ? feed : end;
    c->line++;
    if (!feed)
        return adp_error_at(err, ADP_ESYNTAX, c->file, c->line,
                            (uint32_t)(end - from) + 1,
                            "file ends inside a line, expected a line feed");
    if (feed > from && feed[-1] == '\r')
        return adp_error_at(err, ADP_ESYNTAX, c->file, c->line, (uint32_t)(feed - from),
                            "carriage return, expected a line feed alone");
    return 0;
}

static int read_arrivals(struct adp_traffic *traffic, struct cursor *c, const char *text,
                         const char *end, struct adp_error *err)
{
    int failed = take_line(c, text, end, err);
    if (!failed && !is_header(c))
        failed =
            adp_error_at(err, ADP_ESYNTAX, c->file, 1, 1,
                         "this is no traffic, expected \"%s\" in the first line", header);
    while (!failed && c->end + 1 < end) {
        failed = take_line(c, c->end + 1, end, err);
        if (!failed && traffic->n == ADP_TRAFFIC_MAX_REQUESTS)
            failed = adp_error_at(err, ADP_EFULL, c->file, c->line, 1,
                                  "more than %u requests", ADP_TRAFFIC_MAX_REQUESTS);
        struct adp_arrival *a = &traffic->arrivals[traffic->n];
        if (!failed)
            failed = read_line(c, a, err);
        if (!failed && traffic->n && a->tick < a[-1].tick)
            failed = adp_error_at(
                err, ADP_ESYNTAX, c->file, c->line, (uint32_t)strlen(a->id) + 2,
                "%s arrives in tick %u, before the request above it (tick %u)", a->id,
                a->tick, a[-1].tick);
        if (!failed)
            traffic->n++;
    }
    if (!failed && !traffic->n)
        failed = adp_error_at(err, ADP_ESYNTAX, c->file, 2, 1, "no request");
    return failed;
}

static uint32_t count_lines(const char *text, size_t len)
{
    uint32_t n = 0;
    for (size_t i = 0; i < len && n <= ADP_TRAFFIC_MAX_REQUESTS; i++)
        n += text[i] == '\n';
    return n;
}

int adp_traffic_read_text(struct adp_traffic *ret, const char *text, size_t len,
                          const char *name, struct adp_error *err)
{
    struct adp_traffic traffic = { 0 };
    struct cursor c = { .file = name };
    snprintf(traffic.file, sizeof traffic.file, "%s", name);
    if (len > ADP_TRAFFIC_MAX_BYTES)
        return adp_error_at(err, ADP_EFULL, name, 0, 0, "more than %u bytes",
                            ADP_TRAFFIC_MAX_BYTES);
    traffic.arrivals =
        calloc((size_t)count_lines(text, len) + 1, sizeof *traffic.arrivals);
    if (!traffic.arrivals)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    const char *from = len ? text : "";
    int failed = read_arrivals(&traffic, &c, from, from + len, err);
    if (!failed)
        failed = check_distinct(&traffic, err);
    if (failed) {
        adp_traffic_finish(&traffic);
        return failed;
    }
    *ret = traffic;
    return 0;
}

int adp_traffic_read_file(struct adp_traffic *ret, const char *path,
                          struct adp_error *err)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return adp_error_at(err, errno == ENOENT ? ADP_ENOENT : ADP_EIO, path, 0, 0,
                            "cannot open: %s", strerror(errno));
    int failed = 0;
    char *text = malloc(ADP_TRAFFIC_MAX_BYTES + 1);
    if (!text) {
        failed = adp_error_set(err, ADP_ENOMEM, "out of memory");
    } else {
        size_t len = fread(text, 1, ADP_TRAFFIC_MAX_BYTES + 1, f);
        if (ferror(f))
            failed = adp_error_at(err, ADP_EIO, path, 0, 0, "cannot read: %s",
                                  strerror(errno));
        else
            failed = adp_traffic_read_text(ret, text, len, path, err);
    }
    free(text);
    fclose(f);
    return failed;
}

void adp_traffic_finish(struct adp_traffic *traffic)
{
    free(traffic->arrivals);
    *traffic = (struct adp_traffic) { 0 };
}
