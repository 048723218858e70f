/* SPDX-License-Identifier: MIT */
/* What the worker of these tests and its clients say to each other: a request of 64 bytes, an
 * answer of 32, over a unix socket, in order. */
#ifndef ADP_TESTS_SUPERVISE_LAB_H
#define ADP_TESTS_SUPERVISE_LAB_H

#include <stdint.h>

enum lab_ask {
    LAB_DECIDE = 1,
    LAB_OUTCOME,  /* of request `id` */
    LAB_RELOADED, /* the worker says that it was reloaded */
    LAB_HALF,     /* answers half, then aborts */
    LAB_SCRIBBLE, /* writes over the whole region, then aborts */
    LAB_STALL,    /* its thread stops */
    LAB_GROW,     /* takes 150 MiB; its thread stops */
    LAB_QUIT,     /* the worker exits with 7 */
    LAB_SEEN      /* how often it has saved, and was told to reload */
};

struct lab_request {
    uint32_t ask;
    uint32_t kind; /* comes back in the answer, from the next worker too */
    char id[24], class[16], tenant[16];
};

struct lab_answer {
    char what; /* 'A' admit, 'D' defer, 'R' reject; 'F': by who found it unanswered */
    char fault;
    uint16_t reserved;
    uint32_t retry_ms, kind, pid; /* retry_ms of LAB_SEEN: reloads */
    int64_t code;                 /* LAB_OUTCOME; of LAB_SEEN: saves */
    uint64_t restarts;
};

_Static_assert(sizeof(struct lab_request) == 64, "");
_Static_assert(sizeof(struct lab_answer) == 32, "");

#endif
