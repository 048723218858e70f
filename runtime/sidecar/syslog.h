/* SPDX-License-Identifier: MIT */
/* The header that syslog senders put before a message. */
#ifndef ADP_SIDECAR_SYSLOG_H
#define ADP_SIDECAR_SYSLOG_H

#include <stdbool.h>
#include <stddef.h>

/* Moves past the header of RFC 5424, or of RFC 3164 as nginx and HAProxy write it, to the
 * object that the message is; a text without a header stays. False: there is no object. */
bool adp_syslog_body(const char **text, size_t *len);

#endif
