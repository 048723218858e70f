/* SPDX-License-Identifier: MIT */
/* Why a page could not be had. Each has a word of its own, which begins what the log's
 * scrape_error says: what to do about a wrong key is not what to do about a dead engine. */
#ifndef ADP_SCRAPE_WHY_H
#define ADP_SCRAPE_WHY_H

enum adp_scrape_why {
    ADP_SCRAPE_FINE = 0,
    ADP_SCRAPE_CONNECTION_REFUSED, /* nobody listens there */
    ADP_SCRAPE_UNREACHABLE,        /* no way there */
    ADP_SCRAPE_DNS,                /* no such name */
    ADP_SCRAPE_TLS,                /* not the peer that was expected, or no encryption */
    ADP_SCRAPE_TIMEOUT,            /* not whole in time */
    ADP_SCRAPE_CREDENTIALS,        /* ours cannot be read; nothing was asked */
    ADP_SCRAPE_UNAUTHORIZED,       /* 401, 403 */
    ADP_SCRAPE_NOT_FOUND,          /* 404 */
    ADP_SCRAPE_NOT_IMPLEMENTED,    /* 501: the engine was started without metrics */
    ADP_SCRAPE_STATUS,             /* any other but 200 */
    ADP_SCRAPE_REDIRECT,           /* to another origin, or a second time */
    ADP_SCRAPE_NOT_HTTP,
    ADP_SCRAPE_NOT_METRICS, /* 200, and JSON, HTML, bytes, nothing */
    ADP_SCRAPE_CUT,         /* the page ended before its end */
    ADP_SCRAPE_TOO_BIG,
    ADP_SCRAPE_NO_MEMORY,
    ADP_SCRAPE_UNFINISHED /* it had not come when nobody waited for it any longer */
};
#define ADP_SCRAPE_WHYS (ADP_SCRAPE_UNFINISHED + 1)

/* "connection_refused", …; "fine" for 0. Static. [any] */
const char *adp_scrape_why_word(enum adp_scrape_why why);

#endif
