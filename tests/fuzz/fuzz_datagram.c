/* SPDX-License-Identifier: MIT */
/* Datagrams of outcomes: syslog's header, lines, JSON, fields. Nothing is settled that was not
 * waiting, and each datagram that holds something is counted. */
#include "runtime/sidecar/outcome.h"

#include "tests/fuzz/seat.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void map_extra(struct adp_serve_setting *serve)
{
    serve->field[ADP_FIELD_EXTRA] = (struct adp_names_setting) { { "model", "a.b" }, 2 };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    seat_open(map_extra);
    char *copy = malloc(size ? size : 1); /* exactly so long */
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    adp_outcome_datagram(&seat_desk, copy, size);
    if (atomic_load(&seat_desk.counts.fates[ADP_FATE_SETTLED]))
        abort();
    free(copy);
    return 0;
}
