/* SPDX-License-Identifier: MIT */
/* How long a metrics page takes to read: bench_promtext ROUNDS PAGE...
 *
 * The pages given are of one shape, as scrapes of one engine are; each round reads them in
 * turn, as a publisher does, into two metrics objects that take turns too. Two times are
 * printed, nanoseconds per page, the fastest round of each:
 *   repeated  the shape is known
 *   new       it is not: a series of the page is called otherwise than on the page before
 * bench/promtext.py holds them against Python's prometheus_client in the same run. */
#include "bench/measure.h"
#include "core/promtext.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_PAGES = 64 };

struct page {
    char *text;
    size_t len;
};

static void fail(const char *what)
{
    fprintf(stderr, "bench_promtext: %s\n", what);
    exit(1);
}

static struct page load(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct page page = { .text = malloc(1 << 20) };
    if (!f || !page.text)
        fail(path);
    page.len = fread(page.text, 1, 1 << 20, f);
    fclose(f);
    return page;
}

/* Reads every page once; true when each was read the way it was meant to be. */
static bool read_all(struct adp_metrics *metrics[2], const struct page *pages, int n,
                     bool repeated)
{
    bool as_meant = true;
    for (int i = 0; i < n; i++) {
        struct adp_promtext_found found;
        if (adp_promtext_read(metrics[i % 2], pages[i].text, pages[i].len, &found, NULL))
            fail("a page is none");
        as_meant = as_meant && found.repeated == repeated;
    }
    return as_meant;
}

/* Gives every page another first name than the pages before and after it have. */
static void rename_first(struct page *pages, int n)
{
    for (int i = 0; i < n; i++)
        for (char *p = pages[i].text, *end = p + pages[i].len; p < end; p++)
            if (*p != '#' && (p == pages[i].text || p[-1] == '\n')) {
                *p = (char)('A' + i / 2 % 26);
                break;
            }
}

static double fastest(struct adp_metrics *metrics[2], const struct page *pages, int n,
                      bool repeated, int rounds)
{
    uint64_t least = UINT64_MAX;
    read_all(metrics, pages, n, repeated);
    for (int r = 0; r < rounds; r++) {
        uint64_t from = bench_now_ns();
        if (!read_all(metrics, pages, n, repeated))
            fail("a page was not read the way that is measured");
        uint64_t took = bench_now_ns() - from;
        least = took < least ? took : least;
    }
    return (double)least / n;
}

int main(int argc, char **argv)
{
    struct page pages[MOST_PAGES];
    struct adp_metrics *metrics[2];
    int n = argc - 2;
    if (n < 4 || n % 2 || n > MOST_PAGES)
        fail("bench_promtext ROUNDS PAGE..., 4 to 64 pages, an even number");
    int rounds = (int)strtol(argv[1], NULL, 10);
    if (adp_metrics_create(&metrics[0]) || adp_metrics_create(&metrics[1]))
        fail("out of memory");
    for (int i = 0; i < n; i++)
        pages[i] = load(argv[2 + i]);
    double repeated = fastest(metrics, pages, n, true, rounds);
    uint32_t series = adp_metrics_count(metrics[0]);
    rename_first(pages, n);
    double fresh = fastest(metrics, pages, n, false, rounds);
    printf("{\"series\": %u, \"bytes\": %zu, \"repeated_ns\": %.0f, \"new_ns\": %.0f}\n",
           series, pages[0].len, repeated, fresh);
    for (int i = 0; i < n; i++)
        free(pages[i].text);
    adp_metrics_destroy(metrics[0]);
    adp_metrics_destroy(metrics[1]);
    return 0;
}
