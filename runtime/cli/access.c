/* SPDX-License-Identifier: MIT */
/* How a page is got at (access.h). */
#include "runtime/cli/access.h"

bool adp_access_take(struct adp_scrape_target *into, int option, const char *value)
{
    switch (option) {
    case ADP_ACCESS_BEARER:
        into->bearer_file = value;
        return true;
    case ADP_ACCESS_CA:
        into->ca_file = value;
        return true;
    case ADP_ACCESS_CERT:
        into->cert_file = value;
        return true;
    case ADP_ACCESS_KEY:
        into->key_file = value;
        return true;
    case ADP_ACCESS_INSECURE:
        into->insecure = true;
        return true;
    default:
        return false;
    }
}

bool adp_access_is_given(const struct adp_scrape_target *t)
{
    return t->bearer_file || t->ca_file || t->cert_file || t->key_file || t->insecure;
}
