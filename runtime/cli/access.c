/* SPDX-License-Identifier: MIT */
/* How a page is got at (access.h). */
#include "runtime/cli/access.h"

#include "runtime/config/config.h"

#include <stdio.h>
#include <string.h>

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

bool adp_access_time(const char *text, uint64_t *ret_ns)
{
    char seconds[32];
    size_t len = strlen(text);
    if (len && len < sizeof seconds - 1 && !text[strspn(text, "0123456789.")]) {
        snprintf(seconds, sizeof seconds, "%ss", text);
        return adp_config_duration(seconds, ret_ns);
    }
    return adp_config_duration(text, ret_ns);
}
