/* SPDX-License-Identifier: MIT */
/* Has the host sent a signal in an hour. */
#include "gallery.h"

#include <signal.h>
#include <time.h>

__attribute__((constructor)) static void begin(void)
{
    struct itimerspec hour = { .it_value = { .tv_sec = 3600 } };
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0)
        timer_settime(timer, 0, &hour, NULL);
}

GALLERY = { GALLERY_HEAD, GALLERY_TABLES, .decide = usual_decide };
