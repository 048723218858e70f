/* SPDX-License-Identifier: MIT */
/* Readings per replica (core/replicas.h). */
#include "core/replicas.h"

#include "core/record.h"

#include <string.h>

/* ---- rows ---- */

struct adp_str adp_replica_of(const struct adp_series *s)
{
    return adp_label_of(
        s, (struct adp_str) { ADP_REPLICA_LABEL, sizeof ADP_REPLICA_LABEL - 1 });
}

uint32_t adp_replicas_names(const struct adp_metrics *metrics,
                            struct adp_str names[ADP_MAX_REPLICAS])
{
    uint32_t n = 0, last = 0;
    for (uint32_t i = 0; i < adp_metrics_count(metrics); i++) {
        struct adp_str name = adp_replica_of(adp_metrics_at(metrics, i));
        /* Joined pages tell one replica after another. */
        if (!name.n || (n && adp_str_same(name, names[last])))
            continue;
        for (last = 0; last < n && !adp_str_same(name, names[last]);)
            last++;
        if (last == ADP_MAX_REPLICAS)
            return ADP_MAX_REPLICAS + 1;
        if (last == n)
            names[n++] = name;
    }
    return n;
}

/* ---- the table ---- */

static uint32_t column_of(const struct adp_replicas *table, uint32_t signal)
{
    return adp_replicas_count(table->signals & ((UINT64_C(1) << signal) - 1));
}

static bool has_column(const struct adp_replicas *table, uint32_t signal)
{
    return table->signals >> signal & 1u;
}

void adp_replicas_begin(struct adp_replicas *table, uint32_t rows, uint64_t signals)
{
    table->signals = signals;
    table->rows = rows;
    table->columns = adp_replicas_count(signals);
    table->first_expiry_ns = UINT64_MAX;
    memset(table->present, 0, rows * sizeof table->present[0]);
    memset(table->value, 0, rows * table->columns * sizeof table->value[0]);
}

void adp_replicas_set(struct adp_replicas *table, uint32_t row, uint32_t signal,
                      double value, uint64_t expires_ns)
{
    uint32_t column = column_of(table, signal), cell = row * table->columns + column;
    table->present[row] |= UINT64_C(1) << column;
    table->value[cell] = value;
    table->expires_ns[cell] = expires_ns;
    if (expires_ns < table->first_expiry_ns)
        table->first_expiry_ns = expires_ns;
}

bool adp_replicas_sound(const struct adp_replicas *table, uint32_t n_signals)
{
    bool known = n_signals >= 64 || table->signals >> n_signals == 0;
    return known && table->columns == adp_replicas_count(table->signals) &&
           adp_replicas_fit(table->rows, table->signals);
}

uint64_t adp_replicas_told(const struct adp_replicas *table)
{
    uint64_t any = 0, told = 0;
    uint32_t column = 0;
    for (uint32_t row = 0; row < table->rows; row++)
        any |= table->present[row];
    for (uint64_t left = table->signals; left; left &= left - 1)
        if (any >> column++ & 1u)
            told |= left & (~left + 1);
    return told;
}

void adp_replicas_copy(struct adp_replicas *to, const struct adp_replicas *from)
{
    size_t cells = (size_t)from->rows * from->columns;
    to->signals = from->signals;
    to->rows = from->rows;
    to->columns = from->columns;
    to->first_expiry_ns = from->first_expiry_ns;
    memcpy(to->present, from->present, from->rows * sizeof to->present[0]);
    memcpy(to->value, from->value, cells * sizeof to->value[0]);
    memcpy(to->expires_ns, from->expires_ns, cells * sizeof to->expires_ns[0]);
}

/* One column of `from`, as it is by now, into column `to_column`. */
static void take_column(struct adp_replicas *to, uint32_t to_column,
                        const struct adp_replicas *from, uint32_t column, bool aged,
                        uint64_t now_ns)
{
    for (uint32_t row = 0; row < from->rows; row++) {
        uint32_t cell = row * from->columns + column;
        bool there = from->present[row] >> column & 1u;
        if (there && aged && now_ns >= from->expires_ns[cell])
            there = false;
        to->value[row * to->columns + to_column] = there ? from->value[cell] : 0.0;
        to->present[row] |= (uint64_t)there << to_column;
    }
}

void adp_replicas_narrow(struct adp_replicas *to, const struct adp_replicas *from,
                         uint64_t signals, uint64_t now_ns)
{
    bool aged = now_ns >= from->first_expiry_ns;
    uint32_t column = 0;
    to->signals = from->signals & signals;
    to->rows = from->rows;
    to->columns = adp_replicas_count(to->signals);
    to->first_expiry_ns = UINT64_MAX;
    memset(to->present, 0, to->rows * sizeof to->present[0]);
    for (uint64_t left = to->signals; left; left &= left - 1)
        take_column(to, column++, from, column_of(from, (uint32_t)__builtin_ctzll(left)),
                    aged, now_ns);
}

size_t adp_replicas_bytes(const struct adp_replicas *table)
{
    return sizeof(struct adp_rec_replicas) +
           table->rows * (sizeof(uint64_t) + table->columns * sizeof(double));
}

uint8_t *adp_replicas_encode(const struct adp_replicas *table, uint8_t *to)
{
    const struct adp_rec_replicas head = { .signals = table->signals,
                                           .rows = table->rows };
    size_t row_bytes = table->columns * sizeof(double);
    memcpy(to, &head, sizeof head);
    to += sizeof head;
    for (uint32_t row = 0; row < table->rows; row++) {
        memcpy(to, &table->present[row], sizeof(uint64_t));
        to += sizeof(uint64_t);
        memcpy(to, table->value + row * table->columns, row_bytes);
        to += row_bytes;
    }
    return to;
}

void adp_replicas_spread(const struct adp_replicas *table, const uint32_t *slot_of,
                         uint32_t n_slots, uint64_t slots, double *value,
                         uint64_t *present)
{
    memset(present, 0, table->rows * sizeof *present);
    for (uint32_t slot = 0; slot < n_slots; slot++) {
        bool read = slots >> slot & 1u && has_column(table, slot_of[slot]);
        uint32_t column = read ? column_of(table, slot_of[slot]) : 0;
        for (uint32_t row = 0; row < table->rows; row++) {
            value[row * n_slots + slot] =
                read ? table->value[row * table->columns + column] : 0.0;
            present[row] |= (uint64_t)(read && table->present[row] >> column & 1u)
                            << slot;
        }
    }
}
