/* SPDX-License-Identifier: MIT */
/* Descriptors that are kept. */
#ifndef ADP_CORE_DESCRIPTOR_H
#define ADP_CORE_DESCRIPTOR_H

/* Takes what a call that opens something returned, and gives back one above 2: a host whose
 * standard streams are closed may write to them all the same, and would write into our file.
 * -1 with errno, of that call too; then nothing is open. [any] */
int adp_descriptor_keep_take(int fd);

#endif
