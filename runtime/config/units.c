/* SPDX-License-Identifier: MIT */
/* Durations and sizes: a number and a unit, with nothing between them. */
#include "core/number.h"
#include "runtime/config/config.h"

#include <string.h>

struct unit {
    const char *word;
    double times;
};

static const struct unit durations[] = {
    { "ns", 1.0 }, { "us", 1e3 },   { "ms", 1e6 },    { "s", 1e9 },
    { "m", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 }, { NULL, 0.0 },
};

static const struct unit sizes[] = {
    { "", 1.0 },
    { "B", 1.0 },
    { "KiB", 1024.0 },
    { "MiB", 1048576.0 },
    { "GiB", 1073741824.0 },
    { "kB", 1e3 },
    { "MB", 1e6 },
    { "GB", 1e9 },
    { NULL, 0.0 },
};

static bool read_unit(const char *text, const struct unit *units, uint64_t *ret)
{
    size_t len = strlen(text), digits = strspn(text, "0123456789.");
    double number;
    if (digits == 0 || !adp_number_parse(text, digits, &number))
        return false;
    for (; units->word; units++) {
        if (strlen(units->word) != len - digits ||
            memcmp(units->word, text + digits, len - digits) != 0)
            continue;
        double whole = number * units->times;
        /* 2^63: above it a double no longer fits what callers add to it. */
        if (!(whole < 9223372036854775808.0))
            return false;
        *ret = (uint64_t)(whole + 0.5);
        return true;
    }
    return false;
}

bool adp_config_duration(const char *text, uint64_t *ret_ns)
{
    return read_unit(text, durations, ret_ns);
}

bool adp_config_size(const char *text, uint64_t *ret_bytes)
{
    return read_unit(text, sizes, ret_bytes);
}
