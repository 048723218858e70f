/* SPDX-License-Identifier: MIT */
/* The checks, each a function that runs in a process of its own and has passed when it
 * comes back. Their ids, titles and what they stand on are in check.c. */
#ifndef ADP_RUNTIME_CHECK_CHECKS_H
#define ADP_RUNTIME_CHECK_CHECKS_H

#include "runtime/check/trial.h"

/* check_file.c: from the bytes alone. */
void adp_check_is_shared_object(struct adp_trial *trial);
void adp_check_declares_entry(struct adp_trial *trial);
void adp_check_exports_one_name(struct adp_trial *trial);
void adp_check_asks_nothing_of_host(struct adp_trial *trial);
void adp_check_has_no_search_path(struct adp_trial *trial);
void adp_check_keeps_memory_protected(struct adp_trial *trial);
void adp_check_has_no_static_tls(struct adp_trial *trial);

/* check_load.c */
void adp_check_loads(struct adp_trial *trial);
void adp_check_load_changes_nothing(struct adp_trial *trial);
void adp_check_copy_is_apart(struct adp_trial *trial);

/* check_surface.c */
void adp_check_tables_are_sound(struct adp_trial *trial);
void adp_check_signals_are_known(struct adp_trial *trial);
void adp_check_unknown_extension(struct adp_trial *trial);

/* check_verdict.c */
void adp_check_verdicts_are_usable(struct adp_trial *trial);
void adp_check_parameters_at_bounds(struct adp_trial *trial);
void adp_check_time_leaps(struct adp_trial *trial);

/* check_same.c */
void adp_check_is_deterministic(struct adp_trial *trial);
void adp_check_instances_share_nothing(struct adp_trial *trial);
void adp_check_absent_is_not_read(struct adp_trial *trial);

/* check_sizes.c */
void adp_check_stays_within_structs(struct adp_trial *trial);

/* check_ticket.c */
void adp_check_takes_tickets_back(struct adp_trial *trial);

/* What one create may take, of computing. Requests wait for it when a reload carries state. */
enum { ADP_CREATE_MOST_MS = 250 };

/* Bytes of stack that one call in the request path may use. */
enum { ADP_HOT_STACK = 128 << 10 };

/* check_life.c */
void adp_check_is_made_soon(struct adp_trial *trial);
void adp_check_leaves_nothing(struct adp_trial *trial);
void adp_check_survives_failing_create(struct adp_trial *trial);

/* check_saved.c */
void adp_check_saves_and_restores(struct adp_trial *trial);

/* check_gates.c */
void adp_check_gates_agree(struct adp_trial *trial);

/* check_params.c */
void adp_check_takes_changed_parameters(struct adp_trial *trial);

/* check_process.c */
void adp_check_calls_change_nothing(struct adp_trial *trial);

/* check_end.c */
void adp_check_ends_quietly(struct adp_trial *trial);

/* check_threads.c */
void adp_check_is_concurrent(struct adp_trial *trial);
void adp_check_survives_fork(struct adp_trial *trial);

/* check_hot.c */
void adp_check_allocates_nothing(struct adp_trial *trial);
void adp_check_makes_no_system_call(struct adp_trial *trial);
void adp_check_keeps_to_budget(struct adp_trial *trial);

/* check_reload.c */
void adp_check_reloads_under_traffic(struct adp_trial *trial);

#endif
