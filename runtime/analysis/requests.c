/* SPDX-License-Identifier: MIT */
/* Requests out of lines. Everything is sorting and walking: a log in which all requests
 * bear one id costs no more than any other. */
#include "runtime/analysis/requests.h"

#include "runtime/analysis/grow.h"

#include <math.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Keys of ids, of handles and of nothing at all must not meet. */
enum { SEED_ID = 1, SEED_HANDLE = 2, SEED_NOTHING = 3 };

static struct adp_key key_of(const void *bytes, size_t len, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, len, seed);
    return (struct adp_key) { hash.high64, hash.low64 };
}

/* All zeros is what is written when a decision got no handle. */
static uint64_t handle_of(const struct adp_entry *entry)
{
    size_t zeros = 0;
    while (zeros < entry->handle.len && entry->handle.text[zeros] == '0')
        zeros++;
    if (zeros == entry->handle.len)
        return 0;
    uint64_t instance = adp_text_hash(entry->instance);
    uint64_t hash = XXH3_64bits_withSeed(entry->handle.text, entry->handle.len, instance);
    return hash ? hash : 1;
}

struct adp_event adp_event_of(const struct adp_entry *entry, uint32_t file,
                              uint64_t offset)
{
    struct adp_event event = { .file = file, .offset = offset };
    event.handle = handle_of(entry);
    event.shadow = entry->shadow;
    if (entry->kind == ADP_ENTRY_DECISION) {
        event.verdict = (uint8_t)entry->verdict;
        event.enforced = entry->enforced;
        event.fault = entry->fault;
        event.number = entry->at;
    } else {
        /* Below 0, or one of the numbers that JSON lacks: no time there is. */
        event.off = entry->ttft_ms < 0 ||
                    (entry->ttft_given && entry->not_finite && isnan(entry->ttft_ms));
        event.number = event.off ? NAN : entry->ttft_ms;
        event.end = (uint8_t)entry->end;
        event.ok = (int8_t)entry->ok;
        event.by_handle = !entry->request_id.text && event.handle;
    }
    uint64_t place[2] = { file, offset };
    if (entry->request_id.text)
        event.key = key_of(entry->request_id.text, entry->request_id.len, SEED_ID);
    else if (event.handle)
        event.key = key_of(&event.handle, sizeof event.handle, SEED_HANDLE);
    else
        event.key = key_of(place, sizeof place, SEED_NOTHING);
    return event;
}

uint64_t adp_event_print(const struct adp_event *outcome)
{
    uint64_t said[3] = { outcome->key.high, outcome->key.low, (uint64_t)outcome->ok };
    uint64_t seed = XXH3_64bits(said, sizeof said);
    return XXH3_64bits_withSeed(&outcome->number, sizeof outcome->number, seed);
}

/* ---- order --------------------------------------------------------------------------
 */

#define COMPARE(a, b) ((a) > (b)) - ((a) < (b))

static int by_request(const void *a, const void *b)
{
    const struct adp_event *x = a, *y = b;
    int c = COMPARE(x->place >> 32, y->place >> 32);
    if (!c)
        c = COMPARE(x->key.high, y->key.high);
    if (!c)
        c = COMPARE(x->key.low, y->key.low);
    if (!c)
        c = COMPARE(x->place, y->place);
    return c ? c : COMPARE(x->offset, y->offset);
}

static bool same_request(const struct adp_event *a, const struct adp_event *b)
{
    return a->place >> 32 == b->place >> 32 && a->key.high == b->key.high &&
           a->key.low == b->key.low;
}

/* ---- outcomes that name only a handle -----------------------------------------------
 */

struct named {
    uint64_t handle;
    struct adp_key key;
};

static int by_handle(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return COMPARE(x->handle, y->handle);
}

/* Gives such outcomes the key of the decision that bears the handle. */
static int find_requests(struct adp_join *join)
{
    size_t outcomes = 0, n = 0;
    for (size_t i = 0; i < join->n; i++)
        outcomes += join->events[i].by_handle;
    if (!outcomes)
        return 0;
    struct named *named = calloc(join->n, sizeof *named);
    if (!named)
        return ADP_ENOMEM;
    for (size_t i = 0; i < join->n; i++)
        if (join->events[i].verdict && join->events[i].handle)
            named[n++] = (struct named) { join->events[i].handle, join->events[i].key };
    if (n)
        qsort(named, n, sizeof *named, by_handle);
    for (size_t i = 0; n && i < join->n; i++) {
        struct adp_event *event = &join->events[i];
        struct named wanted = { event->handle, { 0, 0 } };
        const struct named *found =
            event->by_handle ? bsearch(&wanted, named, n, sizeof *named, by_handle)
                             : NULL;
        if (found)
            event->key = found->key;
    }
    free(named);
    return 0;
}

/* ---- one request, one run -----------------------------------------------------------
 */

/* What the host was told. */
static bool told_to_refuse(const struct adp_event *decision)
{
    return decision->verdict != ADP_ADMIT && decision->enforced;
}

static void arrive(struct adp_run *run, double at)
{
    if (isnan(at))
        return;
    if (isnan(run->first_arrival) || at < run->first_arrival)
        run->first_arrival = at;
    if (isnan(run->last_arrival) || at > run->last_arrival)
        run->last_arrival = at;
}

static int judge(struct adp_requests *requests, const struct adp_event *outcome)
{
    struct adp_run *run = requests->run;
    bool comparable = !isnan(outcome->number) && !isnan(requests->slo_ttft_ms);
    int by_slo = comparable ? outcome->number <= requests->slo_ttft_ms : -1;
    int met = outcome->ok >= 0 ? outcome->ok : by_slo;
    run->answered++;
    run->disagreed += outcome->ok >= 0 && by_slo >= 0 && outcome->ok != by_slo;
    run->unjudged += met < 0;
    run->met += met > 0;
    run->cancelled += outcome->end == ADP_CANCELLED;
    run->failed += outcome->end == ADP_FAILED;
    return isnan(outcome->number) ? 0 : adp_sample_add(&requests->ttft, outcome->number);
}

/* How often the request was let through. A record that stands twice is one attempt. */
static size_t attempts_of(const struct adp_event *const *decisions, size_t n)
{
    size_t attempts = 0;
    for (size_t i = 0; i < n; i++) {
        bool again =
            i && decisions[i]->handle && decisions[i]->handle == decisions[i - 1]->handle;
        attempts += !told_to_refuse(decisions[i]) && !again;
    }
    return attempts;
}

/* An admitted request may have been admitted more than once (retries); each attempt has
 * at most one outcome, and the last attempt's is the request's. */
static int serve(struct adp_requests *requests, const struct adp_event *const *decisions,
                 size_t n_decisions, const struct adp_event *const *outcomes,
                 size_t n_outcomes)
{
    size_t attempts = attempts_of(decisions, n_decisions), kept = 0;
    uint64_t last = decisions[n_decisions - 1]->handle;
    const struct adp_event *used = NULL, *before = NULL;
    for (size_t i = 0; i < n_outcomes; i++) {
        const struct adp_event *outcome = outcomes[i];
        bool again = before && outcome->handle && outcome->handle == before->handle;
        if (again || kept == attempts) {
            requests->run->duplicates++;
            continue;
        }
        kept++;
        before = outcome;
        if (!used || !last || used->handle != last)
            used = outcome;
    }
    return used ? judge(requests, used) : 0;
}

static int settle(struct adp_requests *requests, const struct adp_event *const *decisions,
                  size_t n_decisions, const struct adp_event *const *outcomes,
                  size_t n_outcomes)
{
    struct adp_run *run = requests->run;
    const struct adp_event *last = decisions[n_decisions - 1];
    bool own = last->verdict != ADP_ADMIT && !last->fault;
    run->offered++;
    run->outcomes += n_outcomes;
    for (size_t i = 0; i < n_outcomes; i++) {
        requests->outcome_print += adp_event_print(outcomes[i]);
        run->ttft_off += outcomes[i]->off;
    }
    arrive(run, decisions[0]->number);
    if (told_to_refuse(last)) {
        run->refused_outcomes += n_outcomes;
        run->refused += own;
        run->refused_by_fault += !own;
        run->deferred += own && last->verdict == ADP_DEFER;
        requests->reasons[last->reason].n += own;
        return 0;
    }
    run->admitted++;
    run->unheeded += own;
    requests->reasons[last->reason].unheeded += own;
    return serve(requests, decisions, n_decisions, outcomes, n_outcomes);
}

/* ---- one request, several decisions -------------------------------------------------
 */

/* An event as one run sees it. */
struct seen {
    const struct adp_event *event;
    uint32_t run;
    size_t order;
};

struct scratch {
    struct seen *decisions, *outcomes;
    size_t n_decisions, cap_decisions, n_outcomes, cap_outcomes;
    size_t *calls; /* by decision in order of place: which call it belongs to */
    size_t cap_calls;
    struct named *handles; /* of decisions; key.low is the decision */
    size_t cap_handles;
    const struct adp_event **list;
    size_t cap_list;
};

static void free_scratch(struct scratch *s)
{
    free(s->decisions);
    free(s->outcomes);
    free(s->calls);
    free(s->handles);
    free(s->list);
}

static int see(struct seen **all, size_t *n, size_t *cap, struct seen one)
{
    struct seen *more = adp_grow(*all, cap, *n + 1, sizeof **all);
    if (!more)
        return ADP_ENOMEM;
    *all = more;
    more[(*n)++] = one;
    return 0;
}

/* Decisions of one call at most: far more than policies run on one request; a bound on
 * what a hostile log can make us do for each outcome. */
enum { LONGEST_CALL = 64 };

/* A shadow is asked in the call of the decision before it; so is a decision of the same
 * handle. */
static bool same_call(const struct adp_event *before, const struct adp_event *decision)
{
    if (decision->handle && before->handle)
        return decision->handle == before->handle;
    return decision->shadow && before->owner != decision->owner;
}

/* Lists the decisions of the group in order of place, with their calls and handles. */
static int list_decisions(struct scratch *s, const struct adp_event *group, size_t n)
{
    s->n_decisions = 0;
    for (size_t i = 0; i < n; i++)
        if (group[i].verdict &&
            see(&s->decisions, &s->n_decisions, &s->cap_decisions,
                (struct seen) { &group[i], group[i].owner, s->n_decisions }))
            return ADP_ENOMEM;
    if (!s->n_decisions)
        return 0;
    size_t *calls = adp_grow(s->calls, &s->cap_calls, s->n_decisions, sizeof *calls);
    if (!calls)
        return ADP_ENOMEM;
    s->calls = calls;
    struct named *handles =
        adp_grow(s->handles, &s->cap_handles, s->n_decisions, sizeof *handles);
    if (!handles)
        return ADP_ENOMEM;
    s->handles = handles;
    for (size_t i = 0; i < s->n_decisions; i++) {
        bool same = i && i - calls[i - 1] < LONGEST_CALL &&
                    same_call(s->decisions[i - 1].event, s->decisions[i].event);
        calls[i] = same ? calls[i - 1] : i; /* named by its first decision */
        handles[i] = (struct named) { s->decisions[i].event->handle, { 0, i } };
    }
    qsort(handles, s->n_decisions, sizeof *handles, by_handle);
    return 0;
}

/* The call an outcome belongs to; `passed` decisions stand before it. */
static size_t call_of(const struct scratch *s, const struct adp_event *outcome,
                      size_t passed)
{
    struct named wanted = { outcome->handle, { 0, 0 } };
    const struct named *found =
        outcome->handle
            ? bsearch(&wanted, s->handles, s->n_decisions, sizeof wanted, by_handle)
            : NULL;
    if (found)
        return s->calls[found->key.low];
    return s->calls[passed ? passed - 1 : 0];
}

/* Shows each outcome to every run of its call. */
static int list_outcomes(struct scratch *s, const struct adp_event *group, size_t n)
{
    size_t passed = 0;
    s->n_outcomes = 0;
    for (size_t i = 0; i < n; i++) {
        if (group[i].verdict) {
            passed++;
            continue;
        }
        size_t call = call_of(s, &group[i], passed);
        for (size_t k = call; k < s->n_decisions && s->calls[k] == call; k++)
            if (see(&s->outcomes, &s->n_outcomes, &s->cap_outcomes,
                    (struct seen) { &group[i], s->decisions[k].run, i }))
                return ADP_ENOMEM;
    }
    return 0;
}

/* By run, then by time: the last verdict is the latest, whichever lane was written first.
 */
static int by_run_and_time(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    int c = COMPARE(x->run, y->run);
    double s = isnan(x->event->number) ? -INFINITY : x->event->number;
    double t = isnan(y->event->number) ? -INFINITY : y->event->number;
    if (!c)
        c = COMPARE(s, t);
    return c ? c : COMPARE(x->order, y->order);
}

static int by_run_and_place(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    int c = COMPARE(x->run, y->run);
    return c ? c : COMPARE(x->order, y->order);
}

/* Settles one run's share: decisions [from, past), outcomes [*at, …) of the same run. */
static int settle_run(struct scratch *s, struct adp_join *join, size_t from, size_t past,
                      size_t *at)
{
    uint32_t run = s->decisions[from].run;
    size_t n = 0, decisions = past - from;
    const struct adp_event **list =
        adp_grow(s->list, &s->cap_list, decisions + s->n_outcomes, sizeof *list);
    if (!list)
        return ADP_ENOMEM;
    s->list = list;
    for (size_t i = from; i < past; i++)
        list[n++] = s->decisions[i].event;
    while (*at < s->n_outcomes && s->outcomes[*at].run < run)
        ++*at;
    for (; *at < s->n_outcomes && s->outcomes[*at].run == run; ++*at)
        if (n == decisions || list[n - 1] != s->outcomes[*at].event)
            list[n++] = s->outcomes[*at].event;
    if (run == ADP_NO_RUN)
        return 0;
    return settle(&join->requests[run], list, decisions, list + decisions, n - decisions);
}

static int settle_group(struct scratch *s, struct adp_join *join,
                        const struct adp_event *group, size_t n)
{
    if (list_decisions(s, group, n))
        return ADP_ENOMEM;
    if (!s->n_decisions) {
        for (size_t i = 0; i < n; i++)
            join->files[group[i].file].orphans++;
        return 0;
    }
    if (list_outcomes(s, group, n))
        return ADP_ENOMEM;
    qsort(s->decisions, s->n_decisions, sizeof *s->decisions, by_run_and_time);
    if (s->n_outcomes)
        qsort(s->outcomes, s->n_outcomes, sizeof *s->outcomes, by_run_and_place);
    size_t at = 0;
    for (size_t from = 0, past; from < s->n_decisions; from = past) {
        past = from + 1;
        while (past < s->n_decisions && s->decisions[past].run == s->decisions[from].run)
            past++;
        int e = settle_run(s, join, from, past, &at);
        if (e)
            return e;
    }
    return 0;
}

int adp_requests_join(struct adp_join *join)
{
    if (find_requests(join))
        return ADP_ENOMEM;
    for (size_t i = 0; i < join->n; i++) {
        struct adp_event *event = &join->events[i];
        event->place = (uint64_t)join->logs[event->file] << 32 | join->ranks[event->file];
        if (event->verdict)
            event->owner = join->run_of_part[event->owner];
    }
    if (join->n)
        qsort(join->events, join->n, sizeof *join->events, by_request);
    struct scratch s = { 0 };
    int e = 0;
    for (size_t from = 0, past; from < join->n && !e; from = past) {
        past = from + 1;
        while (past < join->n && same_request(&join->events[from], &join->events[past]))
            past++;
        e = settle_group(&s, join, &join->events[from], past - from);
    }
    free_scratch(&s);
    return e;
}
