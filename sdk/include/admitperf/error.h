/* SPDX-License-Identifier: MIT */
/* Errors: a code for programs, one sentence for people, and the place in the input. */
#ifndef ADMITPERF_ERROR_H
#define ADMITPERF_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return on failure. 0 is success. */
enum adp_code {
    ADP_NOTE = 1,     /* nothing failed, but it is worth saying */
    ADP_ENOMEM = -1,  /* out of memory */
    ADP_EINVAL = -2,  /* an argument or a value breaks its contract */
    ADP_ESYNTAX = -3, /* input that cannot be read */
    ADP_ENOENT = -4,  /* something named is not there */
    ADP_EIO = -5,     /* the operating system said no */
    ADP_EFULL = -6,   /* a stated bound is reached */
    ADP_ESTATE = -7,  /* called at the wrong time */
    ADP_EABI = -8     /* a policy that this host cannot run */
};

/* The caller's storage. Nothing to free. Zero-initialise it before the first use;
 * functions that take one write it only when they fail, or return ADP_NOTE, and only if
 * `code` is still 0: the first error wins. One that holds a note is overwritten by an
 * error, and by no other note. `line` and `column` are 1-based, 0 when there is no place. `text`
 * is one sentence in lower case without a full stop. */
typedef struct adp_error {
    int32_t code; /* enum adp_code */
    uint32_t line, column;
    char file[256];
    char text[512];
} adp_error;

#ifdef __cplusplus
}
#endif
#endif
