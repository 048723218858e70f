/* SPDX-License-Identifier: MIT */
/* The worker's own side of it all; private to the room. */
#ifndef ADP_SUPERVISE_OWN_H
#define ADP_SUPERVISE_OWN_H

#include "runtime/supervise/block.h"

enum adp_adoption { ADP_NOT_ADOPTED, ADP_ADOPTED, ADP_PLACED };

/* What the worker knows of a place, out of reach of whoever scribbles over the block. */
struct adp_own_place {
    int fd;        /* -1: none */
    bool said;     /* the supervisor has its duplicate */
    uint32_t from; /* index in `left` + 1; 0: new */
    uint32_t first, owed;
    uint32_t kept;  /* bytes of what was read, behind each other */
    uint32_t known; /* answers below this number were told of by the worker before */
};

struct adp_worker {
    int control;
    struct adp_welcome_message welcome;
    _Atomic bool reloaded; /* the welcome's orders are over; read by any thread */
    struct adp_block block;
    struct adp_region *region;
    struct adp_own_place *mine; /* by place */
    uint8_t *adopted;           /* enum adp_adoption, by index in `left` */
    uint32_t n_adopted;         /* that have no place yet */
    /* Between save_begin and save_end. */
    uint32_t saving, saving_copy;
    bool is_saving;
};

/* Takes away the saved state of those that are not to be restored, and what is no state. */
void adp_state_clear_ordered(struct adp_worker *worker);

#endif
