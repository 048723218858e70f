/* SPDX-License-Identifier: MIT */
/* How a page is got at: the options that commands with a URL have in common. */
#ifndef ADP_RUNTIME_CLI_ACCESS_H
#define ADP_RUNTIME_CLI_ACCESS_H

#include "runtime/scrape/scrape.h"

enum {
    ADP_ACCESS_BEARER = 512,
    ADP_ACCESS_CA,
    ADP_ACCESS_CERT,
    ADP_ACCESS_KEY,
    ADP_ACCESS_INSECURE
};

/* In a command's table of options. */
#define ADP_ACCESS_OPTIONS                                                               \
    { ADP_ACCESS_BEARER, "bearer-file", "FILE", "send the token in FILE" },              \
        { ADP_ACCESS_CA, "ca-file", "FILE", "trust these certificates" },                \
        { ADP_ACCESS_CERT, "cert-file", "FILE",                                          \
          "show this certificate, with --key-file" },                                    \
        { ADP_ACCESS_KEY, "key-file", "FILE", "its key" },                               \
    {                                                                                    \
        ADP_ACCESS_INSECURE, "insecure", NULL, "take any certificate"                    \
    }

/* Takes one of them into `into`; false: it is none. */
bool adp_access_take(struct adp_scrape_target *into, int option, const char *value);
bool adp_access_is_given(const struct adp_scrape_target *target);

#endif
