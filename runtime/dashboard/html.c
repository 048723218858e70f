/* SPDX-License-Identifier: MIT */
/* One file for a browser.
 *
 *  1. What comes from a log stands in one JSON element, with every '<' written \u003c: it can
 *     end no element and begin none. Scripts make text of it, never markup.
 *  2. The policy in its head lets nothing be fetched. */
#include "runtime/dashboard/html.h"

#include "runtime/analysis/compare.h"
#include "runtime/analysis/report.h"
#include "runtime/analysis/terms.h"
#include "runtime/dashboard/asset.h"

#include "config.h"

#include <stdlib.h>
#include <string.h>

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n";
static const char body[] =
    "</style>\n</head>\n<body>\n<main id=\"main\" tabindex=\"-1\"></main>\n"
    "<noscript><p>The figures are drawn by a script; without it, the program admitperf "
    "prints them.</p></noscript>\n<script type=\"application/json\" id=\"held\">";

/* JSON, so that it can stand in an element. */
static void put_json(FILE *to, const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == '<')
            fputs("\\u003c", to);
        else
            fputc(*c, to);
}

static void put_asset(FILE *to, const struct adp_asset *asset)
{
    fwrite(asset->text, 1, asset->len, to);
}

/* The text that `write` makes; the caller frees it. */
static int text_of(int (*write)(const void *what, FILE *to), const void *what, char **ret)
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    int e = to ? write(what, to) : ADP_ENOMEM;
    if (to && fclose(to) && !e)
        e = ADP_ENOMEM;
    if (e) {
        free(text);
        return e;
    }
    *ret = text;
    return 0;
}

static int write_terms(const void *what, FILE *to)
{
    (void)what;
    return adp_terms_json(to);
}

static int page(const char *kind, int (*write)(const void *what, FILE *to),
                const void *what, FILE *to)
{
    char *terms = NULL, *figures = NULL;
    int e = text_of(write_terms, NULL, &terms);
    if (!e)
        e = text_of(write, what, &figures);
    if (!e) {
        fputs(head, to);
        fprintf(to, "<title>AdmitPerf %s</title>\n<style>\n", kind);
        put_asset(to, &adp_asset_style);
        fputs(body, to);
        fprintf(to, "{\"kind\":\"%s\",\"version\":\"%s\",\"terms\":", kind,
                PACKAGE_VERSION);
        put_json(to, terms);
        fputs(",\"data\":", to);
        put_json(to, figures);
        fputs("}</script>\n<script>\n", to);
        put_asset(to, &adp_asset_uplot);
        fputs("</script>\n<script type=\"module\">\n", to);
        put_asset(to, &adp_asset_script);
        fputs("</script>\n</body>\n</html>\n", to);
        e = fflush(to) || ferror(to) ? ADP_EIO : 0;
    }
    free(terms);
    free(figures);
    return e;
}

static int write_report(const void *what, FILE *to)
{
    return adp_report_json(what, to);
}

static int write_compare(const void *what, FILE *to)
{
    return adp_compare_json(what, to);
}

int adp_html_report(const struct adp_report *report, FILE *to)
{
    return page("report", write_report, report, to);
}

int adp_html_compare(const struct adp_compare *compare, FILE *to)
{
    return page("compare", write_compare, compare, to);
}
