/* SPDX-License-Identifier: MIT */
/* Why a page could not be had (why.h). */
#include "runtime/scrape/why.h"

static const char *const words[ADP_SCRAPE_WHYS] = {
    [ADP_SCRAPE_FINE] = "fine",
    [ADP_SCRAPE_CONNECTION_REFUSED] = "connection_refused",
    [ADP_SCRAPE_UNREACHABLE] = "unreachable",
    [ADP_SCRAPE_DNS] = "dns",
    [ADP_SCRAPE_TLS] = "tls",
    [ADP_SCRAPE_TIMEOUT] = "timeout",
    [ADP_SCRAPE_CREDENTIALS] = "credentials",
    [ADP_SCRAPE_UNAUTHORIZED] = "unauthorized",
    [ADP_SCRAPE_NOT_FOUND] = "not_found",
    [ADP_SCRAPE_NOT_IMPLEMENTED] = "not_implemented",
    [ADP_SCRAPE_STATUS] = "status",
    [ADP_SCRAPE_REDIRECT] = "redirect",
    [ADP_SCRAPE_NOT_HTTP] = "not_http",
    [ADP_SCRAPE_NOT_METRICS] = "not_metrics",
    [ADP_SCRAPE_CUT] = "cut",
    [ADP_SCRAPE_TOO_BIG] = "too_big",
    [ADP_SCRAPE_NO_MEMORY] = "no_memory",
    [ADP_SCRAPE_UNFINISHED] = "unfinished",
};

const char *adp_scrape_why_word(enum adp_scrape_why why)
{
    return (unsigned)why < ADP_SCRAPE_WHYS ? words[why] : "unknown";
}
