/* SPDX-License-Identifier: MIT */
/* The sidecar's own page of metrics: text 0.0.4, or OpenMetrics 1.0 for who asks for it. */
#ifndef ADP_SIDECAR_EXPOSE_H
#define ADP_SIDECAR_EXPOSE_H

#include "core/line.h"
#include "runtime/http/http.h"
#include "runtime/sidecar/board.h"
#include "runtime/sidecar/desk.h"
#include "runtime/supervise/worker.h"

#define ADP_EXPOSE_DESKS 16u

struct adp_expose {
    const adp_runtime *rt;
    const struct adp_board_copy *board;
    const struct adp_desk_counts *desk[ADP_EXPOSE_DESKS];
    uint32_t n_desks;
    struct adp_http_counts http; /* of all loops together */
    uint64_t spop_frames, spop_connections;
    const struct adp_worker *worker; /* NULL: nobody supervises us */
    bool open;                       /* OpenMetrics */
};

/* The page of these, appended. */
void adp_expose_write(struct adp_line *to, const struct adp_expose *from);
const char *adp_expose_type(bool open);
/* Whether an Accept header asks for OpenMetrics. NULL: none was sent. */
bool adp_expose_is_open(const struct adp_http_text *accept);

#endif
