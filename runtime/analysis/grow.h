/* SPDX-License-Identifier: MIT */
/* Room in an array for one more. */
#ifndef ADP_ANALYSIS_GROW_H
#define ADP_ANALYSIS_GROW_H

#include <stdint.h>
#include <stdlib.h>

/* Makes room for `need` items of `size` bytes in `items`, doubling. Returns where they
 * lie now and sets *cap, or NULL when memory is out: `items` is then as it was. */
static inline void *adp_grow(void *items, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return items;
    size_t room = *cap ? *cap : 8;
    while (room < need) {
        if (room > SIZE_MAX / 2 / size)
            return NULL;
        room *= 2;
    }
    void *bigger = realloc(items, room * size);
    if (bigger)
        *cap = room;
    return bigger;
}

#endif
