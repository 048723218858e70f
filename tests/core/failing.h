/* SPDX-License-Identifier: MIT */
/* An allocator that fails when told to. Included by one file of a program that is linked
 * with $(FAILING_MALLOC). Check is linked statically and allocates too: assert only after
 * fail_allocation(0). */
#ifndef ADP_TESTS_CORE_FAILING_H
#define ADP_TESTS_CORE_FAILING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static uint64_t allocations; /* so far */
static uint64_t failing_one; /* the one that fails, from 1; 0: none */

static bool fails_now(void)
{
    return ++allocations == failing_one;
}

/* Lets the nth allocation from now fail, and no other; 0 lets all succeed. */
static void fail_allocation(uint64_t n)
{
    allocations = 0;
    failing_one = n;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : __real_realloc(old, size);
}

#endif
