/* SPDX-License-Identifier: MIT */
/* The region as the drain sees it: rings whose bytes and positions are anybody's. Input: for
 * two lanes and the control lane, a tail (4 bytes), a length (2 bytes), that many ring bytes. */
#include "core/drain.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static const struct adp_shape shape = {
    .lanes = 2, .ring_bytes = 1 << 16, .control_bytes = 1 << 16, .tickets = 16
};

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    size_t bytes = (adp_region_bytes(&shape) + 63) & ~(size_t)63;
    void *memory = aligned_alloc(ADP_LINE_BYTES, bytes);
    struct adp_region *region = NULL;
    struct adp_drain *drain = NULL;
    struct adp_line lines;
    if (!memory)
        return 0;
    memset(memory, 0, bytes);
    adp_line_init(&lines);
    if (adp_region_create(&region, memory, bytes, &shape, 1, NULL) < 0 ||
        adp_drain_create(&drain, region, len & 1, NULL) < 0)
        goto out;
    for (uint32_t lane = 0; lane < 3 && len >= 6; lane++) {
        uint32_t tail;
        uint16_t n;
        memcpy(&tail, input, 4);
        memcpy(&n, input + 4, 2);
        input += 6;
        len -= 6;
        if (n > len)
            n = (uint16_t)len;
        if (n)
            memcpy(adp_region_bytes_of(region, lane), input, n);
        input += n;
        len -= n;
        adp_region_ring(region, lane)->tail = tail;
        adp_region_ring(region, lane)->next_seq = tail;
    }
    while (adp_drain_run(drain, &lines, 1 << 16))
        adp_line_clear(&lines);
    adp_drain_end(drain, &lines, 1);
out:
    adp_drain_destroy(drain);
    adp_region_destroy(region);
    adp_line_finish(&lines);
    free(memory);
    return 0;
}
