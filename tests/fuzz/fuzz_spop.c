/* SPDX-License-Identifier: MIT */
/* Bytes of HAProxy, split at random, through a connection; its answers are taken now and then.
 * What goes out is whole frames, and no frame comes in unanswered. */
#include "runtime/sidecar/spop.h"

#include "tests/fuzz/seat.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_out(const struct adp_spop *spop)
{
    size_t len, at = 0;
    const uint8_t *out = (const uint8_t *)adp_spop_out(spop, &len);
    while (at < len) {
        if (len - at < 4 + 7)
            abort();
        size_t n = (size_t)out[at + 2] << 8 | out[at + 3];
        if (out[at] || out[at + 1] || n > ADP_SPOP_FRAME || n > len - at - 4 ||
            out[at + 4] < 101 || out[at + 4] > 103)
            abort();
        at += 4 + n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adp_spop *spop;
    enum adp_spop_next next = ADP_SPOP_READ;
    seat_open(NULL);
    if (size < 1 || adp_spop_create(&spop, &seat_desk) < 0)
        return 0;
    uint32_t dice = data[0] * 2654435761u;
    for (size_t at = 1; at < size && next == ADP_SPOP_READ;) {
        size_t cap, n;
        char *room = adp_spop_room(spop, &cap);
        if (!cap)
            abort();
        dice = dice * 1664525u + 1013904223u;
        n = 1 + (dice >> 16) % (data[0] & 1 ? 7 : 4096);
        n = n < size - at ? n : size - at;
        n = n < cap ? n : cap;
        memcpy(room, data + at, n);
        next = adp_spop_feed(spop, n);
        at += n;
        check_out(spop);
        while (next == ADP_SPOP_WAIT || (dice >> 8 & 1)) {
            size_t len;
            adp_spop_out(spop, &len);
            adp_spop_sent(spop, len);
            dice &= ~(1u << 8);
            if (next == ADP_SPOP_WAIT)
                next = adp_spop_feed(spop, 0);
        }
    }
    adp_spop_destroy(spop);
    return 0;
}
