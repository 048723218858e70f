/* SPDX-License-Identifier: MIT */
/* Copies of the policy's file that the loader takes for other files. */
#ifndef ADP_RUNTIME_CHECK_COPIES_H
#define ADP_RUNTIME_CHECK_COPIES_H

#include "runtime/check/trial.h"

/* A folder for one run, and what is left in it taken away at its end. False: errno. */
bool adp_copies_folder(char *to, size_t cap);
void adp_copies_remove(const char *folder);

/* Writes copy `number` into the trial's folder: the same code, other bytes (something
 * behind the end, where no segment reaches). Ends the process when that fails. */
void adp_copies_write(struct adp_trial *trial, uint32_t number, char *ret_path,
                      size_t cap);

#endif
