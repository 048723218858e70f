/* SPDX-License-Identifier: MIT */
/* Bodies of /v1/decide: whatever is read as plain, the general parser reads alike. */
#include "tests/runtime/sidecar/general.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adp_plain plain;
    char *copy = malloc(size ? size : 1); /* exactly so long */
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (adp_plain_read(&plain, copy, size) && !general_agrees(&plain, copy, size))
        abort();
    free(copy);
    return 0;
}
