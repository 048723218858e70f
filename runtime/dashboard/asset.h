/* SPDX-License-Identifier: MIT */
/* What the browser gets, in the program: made of page/ by join.awk and embed.sh. */
#ifndef ADP_DASHBOARD_ASSET_H
#define ADP_DASHBOARD_ASSET_H

#include <stddef.h>

struct adp_asset {
    const char *text;
    size_t len;
    const char *packed; /* the same, by gzip */
    size_t packed_len;
};

extern const struct adp_asset adp_asset_shell;  /* the dashboard's HTML */
extern const struct adp_asset adp_asset_style;  /* ours, and uPlot's */
extern const struct adp_asset adp_asset_script; /* a module */
extern const struct adp_asset adp_asset_uplot;  /* empty: this build has no charts */

#endif
