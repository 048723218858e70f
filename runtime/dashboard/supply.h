/* SPDX-License-Identifier: MIT */
/* What a page of metrics supplies: the account of `admitperf signals`, of a file, or of pages
 * that follow one another. */
#ifndef ADP_DASHBOARD_SUPPLY_H
#define ADP_DASHBOARD_SUPPLY_H

#include "core/promtext.h"
#include "runtime/analysis/account.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct adp_supply; /* opaque; one thread */

/* Of the shipped signals. ADP_ENOMEM. */
int adp_supply_create(struct adp_supply **ret, struct adp_error *err);
void adp_supply_destroy(struct adp_supply *supply);

/* Reads the page that came at these times; growth is since one about ten seconds before.
 * `wall_s`, which timestamps are held against, may be 0: the newest of them. As
 * adp_promtext_read_as. */
int adp_supply_read(struct adp_supply *supply, const char *text, size_t len,
                    enum adp_promtext_format format, uint64_t now_ns, double wall_s,
                    struct adp_error *err);
/* Of the page read last; `name` is the caller's to set. Borrowed until the next. */
struct adp_account *adp_supply_account(struct adp_supply *supply);

/* The account of a file, as `signals --json FILE` has it. ADP_ENOENT, ADP_EIO, ADP_EFULL: above
 * 16 MiB; ADP_ESYNTAX: it is no page of metrics; ADP_ENOMEM. [any] */
int adp_supply_file_json(const char *path, FILE *to, struct adp_error *err);

#endif
