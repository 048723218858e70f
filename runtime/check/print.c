/* SPDX-License-Identifier: MIT */
/* The report, for people and for machines. */
#include "runtime/check/check.h"

#include "core/glyph.h"
#include "core/pen.h"

#include <jansson.h>
#include <string.h>

static const char *const words[] = { "pass", "FAIL", "skip" };

/* What comes from a policy, and a path: letters of any language, and nothing that drives a
 * terminal or hides in a name. */
static void put_plain(FILE *to, const char *text, size_t n)
{
    int bytes;
    for (size_t i = 0; i < n; i += (size_t)bytes) {
        uint32_t point = adp_glyph_at(text + i, &bytes);
        if (adp_pen_keeps(text + i, (size_t)bytes) && !adp_glyph_hidden(point))
            fwrite(text + i, 1, (size_t)bytes, to);
        else
            fputc('?', to);
    }
}

/* `text` in lines of at most WIDTH bytes, the first behind `lead`, the others behind
 * `rest`. */
static void put_wrapped(FILE *to, const char *lead, const char *rest, const char *text)
{
    enum { WIDTH = 74 };
    size_t at = 0;
    fputs(lead, to);
    for (const char *gap = ""; *text; gap = " ") {
        size_t n = strcspn(text, " ");
        if (at && at + 1 + n > WIDTH) {
            fprintf(to, "\n%s", rest);
            gap = "";
            at = 0;
        }
        fputs(gap, to);
        put_plain(to, text, n);
        at += strlen(gap) + n;
        text += n + strspn(text + n, " ");
    }
    fputc('\n', to);
}

static void print_result(FILE *to, const struct adp_check_result *r)
{
    fprintf(to, "%-4s %s  %s\n", r->id, words[r->status], r->title);
    if (r->status == ADP_CHECK_FAIL) {
        put_wrapped(to, "           seen  ", "                 ", r->seen);
        put_wrapped(to, "           mend  ", "                 ", r->mend);
        fprintf(to, "           rule  %u of docs/abi.md\n", r->rule);
    } else if (r->seen[0]) {
        put_wrapped(to, "           ", "           ", r->seen);
    }
}

void adp_check_print(FILE *to, const struct adp_check_report *report)
{
    put_plain(to, report->policy, strlen(report->policy));
    fputs(report->policy[0] ? "  " : "", to);
    put_plain(to, report->path, strlen(report->path));
    fputc('\n', to);
    for (uint32_t i = 0; i < report->n; i++)
        print_result(to, &report->results[i]);
    fprintf(to, "%u passed, %u failed, %u skipped; seed %u\n", report->passed,
            report->failed, report->skipped, report->seed);
}

/* Text from a policy, and a path, may be no UTF-8, which jansson refuses. */
static json_t *text(const char *from)
{
    enum { LONGEST = sizeof((struct adp_check_report *)0)->path }; /* of them, the path */
    char repaired[LONGEST * ADP_PEN_REPAIR];
    char *end = adp_pen_repaired(repaired, from, strnlen(from, LONGEST));
    return json_stringn(repaired, (size_t)(end - repaired));
}

static json_t *result_object(const struct adp_check_result *r)
{
    static const char *const status[] = { "pass", "fail", "skip" };
    json_t *o = json_object();
    int bad = !o;
    bad |= json_object_set_new(o, "id", json_string(r->id));
    bad |= json_object_set_new(o, "title", json_string(r->title));
    bad |= json_object_set_new(o, "rule", json_integer(r->rule));
    bad |= json_object_set_new(o, "status", json_string(status[r->status]));
    bad |= json_object_set_new(o, "seen", r->seen[0] ? text(r->seen) : json_null());
    bad |= json_object_set_new(o, "mend", r->mend ? json_string(r->mend) : json_null());
    bad |= json_object_set_new(o, "ms", json_real(r->ms));
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *report_object(const struct adp_check_report *report)
{
    json_t *o = json_object(), *list = json_array();
    int bad = !o || !list;
    for (uint32_t i = 0; i < report->n; i++)
        bad |= json_array_append_new(list, result_object(&report->results[i]));
    bad |= json_object_set_new(o, "policy",
                               report->policy[0] ? text(report->policy) : json_null());
    bad |= json_object_set_new(o, "file", text(report->path));
    bad |= json_object_set_new(o, "sha256", json_string(report->sha256));
    bad |= json_object_set_new(o, "seed", json_integer(report->seed));
    bad |= json_object_set_new(o, "passed", json_integer(report->passed));
    bad |= json_object_set_new(o, "failed", json_integer(report->failed));
    bad |= json_object_set_new(o, "skipped", json_integer(report->skipped));
    bad |= json_object_set_new(o, "checks", list);
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

int adp_check_print_json(FILE *to, const struct adp_check_report *report,
                         struct adp_error *err)
{
    json_t *o = report_object(report);
    if (!o)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    int bad =
        json_dumpf(o, to, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));
    json_decref(o);
    if (bad || fputc('\n', to) == EOF)
        return adp_error_set(err, ADP_EIO, "the report cannot be written");
    return 0;
}
