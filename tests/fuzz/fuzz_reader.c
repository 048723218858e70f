/* SPDX-License-Identifier: MIT */
/* A log of any bytes: each line through the reader, what it reads through the tally, and
 * the figures to both forms of the page. Beside not crashing: what is counted adds up. */
#include "runtime/analysis/report_json.h"
#include "runtime/analysis/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void insist(bool so)
{
    if (!so)
        abort();
}

static void check_entry(const struct adp_entry *entry)
{
    insist(entry->kind >= ADP_ENTRY_DECISION && entry->kind <= ADP_ENTRY_STATE);
    insist(isnan(entry->at) || isfinite(entry->at));
    insist(entry->lane >= -1 && entry->seq >= -1);
    for (size_t i = 0; i < entry->n_signals; i++)
        insist(entry->signals[i].name.text && !isinf(entry->signals[i].value));
    if (entry->kind == ADP_ENTRY_DECISION)
        insist(entry->verdict >= ADP_ADMIT && entry->verdict <= ADP_DEFER);
}

static void check_run(const struct adp_run *run)
{
    insist(run->offered == run->admitted + run->refused + run->refused_by_fault);
    insist(run->offered <= run->part->lines || !run->decided);
    insist(run->answered <= run->admitted && run->met <= run->answered);
    insist(run->unjudged <= run->answered && run->ttft_n <= run->answered);
    insist(isnan(run->goodput) || (run->goodput >= 0 && run->goodput <= 1));
    insist(run->decided || run->finding == ADP_UNKNOWN);
    uint64_t reasons = 0;
    for (size_t i = 0; i < run->n_reasons; i++)
        reasons += run->reasons[i].n;
    insist(reasons == run->refused);
    for (size_t i = 0; i < run->n_signals; i++) {
        const struct adp_run_signal *signal = &run->signals[i];
        insist(signal->absent >= 0 && signal->absent <= 1);
        insist(!signal->n || (signal->min <= signal->p50 && signal->p50 <= signal->p95 &&
                              signal->p95 <= signal->max));
    }
}

/* Exactly the padding that is asked for, so that a byte more is seen. */
static void add_line(struct adp_reader *reader, struct adp_tally *tally, uint32_t file,
                     const uint8_t *line, size_t len, uint64_t offset)
{
    struct adp_entry entry;
    enum adp_corrupt corrupt;
    char *padded = malloc(len + ADP_READER_PADDING);
    insist(padded != NULL);
    memcpy(padded, line, len);
    memset(padded + len, '"', ADP_READER_PADDING);
    adp_tally_line(tally, file);
    if (adp_reader_line(reader, padded, len, &entry, &corrupt)) {
        check_entry(&entry);
        insist(!adp_tally_add(tally, file, offset, &entry));
    } else {
        insist(corrupt < ADP_CORRUPT_TOO_LONG);
        adp_tally_corrupt(tally, file, corrupt);
    }
    free(padded);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
    struct adp_reader *reader = adp_reader_create();
    struct adp_tally *tally = adp_tally_create();
    uint32_t file;
    insist(reader && tally && !adp_tally_file(tally, "log", &file));
    for (size_t from = 0, past; from < len; from = past + 1) {
        const uint8_t *newline = memchr(input + from, '\n', len - from);
        past = newline ? (size_t)(newline - input) : len;
        add_line(reader, tally, file, input + from, past - from, from);
    }
    insist(!adp_tally_finish(tally));
    size_t n;
    const struct adp_run *runs = adp_tally_runs(tally, &n);
    for (size_t i = 0; i < n; i++)
        check_run(&runs[i]);
    FILE *to = fopen("/dev/null", "w");
    insist(to && !adp_report_write_json(tally, NULL, to));
    fclose(to);
    adp_tally_destroy(tally);
    adp_reader_destroy(reader);
    return 0;
}
