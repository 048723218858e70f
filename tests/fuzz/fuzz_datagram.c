/* SPDX-License-Identifier: MIT */
/* Datagrams of outcomes: syslog's header, lines, JSON, fields. Nothing is settled that was not
 * waiting, and each datagram that holds something is counted. */
#include "runtime/sidecar/outcome.h"

#include "runtime/host/host.h"
#include "runtime/sidecar/facts.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct adp_desk desk;
static struct adp_serve_setting serve;

static void open_desk(void)
{
    static adp_runtime *rt;
    if (rt)
        return;
    if (adp_host_open_text(&rt, "version: 1\nlog: none\npolicy: { use: no_admission }\n",
                           "fuzz.yaml", NULL, NULL, NULL) < 0 ||
        adp_runtime_start(rt, NULL) < 0)
        exit(77);
    serve.field[ADP_FIELD_EXTRA] = (struct adp_names_setting) { { "model", "a.b" }, 2 };
    adp_facts_settle(&serve);
    if (adp_desk_init(&desk, rt, &serve, 65536, NULL) < 0)
        exit(77);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_desk();
    char *copy = malloc(size ? size : 1); /* exactly so long */
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    adp_outcome_datagram(&desk, copy, size);
    if (atomic_load(&desk.counts.fates[ADP_FATE_SETTLED]))
        abort();
    free(copy);
    return 0;
}
