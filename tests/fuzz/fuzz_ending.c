/* SPDX-License-Identifier: MIT */
/* Input: a page of metrics that may end anywhere. What is read of it is a beginning of it, in
 * which only samples became blanks: lines keep their numbers; one of which nothing is read is as it
 * was; and what was read once is read whole. */
#include "runtime/scrape/ending.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    uint32_t lines = 0, more = 0;
    char *page = malloc(len + 1);
    must(page != NULL);
    memcpy(page, input, len);
    page[len] = 'x'; /* nobody's */
    size_t read = adp_page_ending(page, len, &lines);
    must(read <= len && page[len] == 'x');
    must(read || memcmp(page, input, len) == 0);
    for (size_t i = 0; i < read; i++)
        must(page[i] == (char)input[i] || (page[i] == ' ' && input[i] != '\n'));
    if (read && read < len) {
        must(page[read - 1] == '\n');
        must(adp_page_ending(page, read, &more) == read && !more);
    }
    free(page);
    return 0;
}
