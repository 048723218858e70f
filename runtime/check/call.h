/* SPDX-License-Identifier: MIT */
/* The names of system calls. */
#ifndef ADP_RUNTIME_CHECK_CALL_H
#define ADP_RUNTIME_CHECK_CALL_H

/* A constant; NULL: this number has no name here. Safe in a signal's handler. [any] */
const char *adp_call_name(int number);

#endif
