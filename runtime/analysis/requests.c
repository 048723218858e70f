/* SPDX-License-Identifier: MIT */
/* Requests out of lines. Several workers each take piles and settle into runs of their
 * own, which are added up at the end: nothing is shared but the store. Within a pile events
 * find their request by a table, in a request they are in order of place. A log in which
 * all requests bear one id costs no more time than any other, but the memory its events
 * take. */
#include "runtime/analysis/requests.h"

#include "runtime/analysis/grow.h"
#include "runtime/analysis/workers.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
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
    struct adp_event event;
    memset(&event, 0, sizeof event);
    event.file = file;
    event.offset = offset;
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

/* ---- piles -----------------------------------------------------------------------------
 */

static int add_to(struct adp_store *store, struct adp_pile *piles, unsigned shift,
                  const struct adp_event *event)
{
    return adp_pile_add(store, &piles[event->key.high >> shift & (ADP_EVENT_PILES - 1)],
                        sizeof *event, event);
}

enum { TOP = 60, STEP = 4 }; /* the bits that tell piles apart: 63…60, then the next */

int adp_events_add(struct adp_store *store, struct adp_events *events,
                   const struct adp_event *event)
{
    events->n++;
    events->by_handle += event->by_handle;
    return add_to(store, events->piles, TOP, event);
}

static void finish_piles(struct adp_store *store, struct adp_pile *piles)
{
    for (size_t i = 0; i < ADP_EVENT_PILES; i++)
        adp_pile_finish(store, &piles[i], sizeof(struct adp_event));
}

void adp_events_finish(struct adp_store *store, struct adp_events *events)
{
    finish_piles(store, events->piles);
    *events = (struct adp_events) { 0 };
}

/* The event as the numbers of the tally have it. */
static struct adp_event moved(const struct adp_join *join, const struct adp_event *event,
                              uint32_t origin)
{
    struct adp_event e = *event;
    if (!origin)
        return e;
    const struct adp_origin *moves = &join->origins[origin - 1];
    e.file = moves->files[e.file];
    if (e.verdict) {
        e.owner = moves->parts[e.owner];
        e.reason = moves->reasons[e.reason];
        e.tenant = moves->tenants[e.tenant];
        e.priority = moves->priorities[e.priority];
    }
    return e;
}

/* Does something with each event of a pile. 0, or what `each` returned first. */
typedef int each_event(void *context, const struct adp_event *event);

static int walk_pile(const struct adp_join *join, const struct adp_pile *pile,
                     each_event *each, void *context)
{
    struct adp_walk walk = adp_walk_of(join->store, pile, sizeof(struct adp_event));
    int e;
    while ((e = adp_walk_next(&walk)) > 0) {
        const struct adp_event *events = walk.items;
        e = 0;
        for (uint32_t i = 0; i < walk.n && !e; i++) {
            struct adp_event event = moved(join, &events[i], walk.origin);
            e = each(context, &event);
        }
        if (e)
            break;
    }
    adp_walk_finish(&walk);
    return e;
}

/* ---- outcomes that name only a handle -----------------------------------------------
 *
 * Such an outcome lies in the pile of its handle's hash, its decision in that of its
 * request's. Where there are any, decisions with handles and such outcomes are piled up by
 * handle, and each outcome gets the key of its decision. */

struct named {
    uint64_t handle;
    struct adp_key key;
};

#define COMPARE(a, b) ((a) > (b)) - ((a) < (b))

static int by_handle(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return COMPARE(x->handle, y->handle);
}

struct rehoming {
    const struct adp_join *join;
    struct adp_pile by_handle[ADP_EVENT_PILES]; /* events */
    struct adp_pile home[ADP_EVENT_PILES];      /* the outcomes, with their keys */
    struct named *named;
    size_t n, cap;
};

static int gather(void *context, const struct adp_event *event)
{
    struct rehoming *r = context;
    if (!event->handle || (!event->verdict && !event->by_handle))
        return 0;
    return adp_pile_add(r->join->store, &r->by_handle[event->handle % ADP_EVENT_PILES],
                        sizeof *event, event);
}

static int name(void *context, const struct adp_event *event)
{
    struct rehoming *r = context;
    if (!event->verdict)
        return 0;
    struct named *named = adp_grow(r->named, &r->cap, r->n + 1, sizeof *named);
    if (!named)
        return ADP_ENOMEM;
    r->named = named;
    named[r->n++] = (struct named) { event->handle, event->key };
    return 0;
}

static int rehome(void *context, const struct adp_event *event)
{
    struct rehoming *r = context;
    struct named wanted = { event->handle, { 0, 0 } };
    if (event->verdict)
        return 0;
    struct adp_event outcome = *event;
    const struct named *found =
        r->n ? bsearch(&wanted, r->named, r->n, sizeof *r->named, by_handle) : NULL;
    if (found)
        outcome.key = found->key;
    outcome.by_handle = false;
    return add_to(r->join->store, r->home, TOP, &outcome);
}

static void finish_rehoming(struct rehoming *r)
{
    finish_piles(r->join->store, r->by_handle);
    finish_piles(r->join->store, r->home);
    free(r->named);
}

static int find_requests(struct rehoming *r)
{
    int e = 0;
    if (!r->join->events->by_handle)
        return 0;
    for (size_t i = 0; i < ADP_EVENT_PILES && !e; i++)
        e = walk_pile(r->join, &r->join->events->piles[i], gather, r);
    for (size_t i = 0; i < ADP_EVENT_PILES && !e; i++) {
        r->n = 0;
        e = walk_pile(r->join, &r->by_handle[i], name, r);
        if (!e && r->n)
            qsort(r->named, r->n, sizeof *r->named, by_handle);
        if (!e)
            e = walk_pile(r->join, &r->by_handle[i], rehome, r);
        adp_pile_finish(r->join->store, &r->by_handle[i], sizeof(struct adp_event));
    }
    return e;
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

static int judge(struct adp_store *store, struct adp_requests *requests,
                 const struct adp_event *last, const struct adp_event *outcome)
{
    struct adp_run *run = requests->run;
    struct adp_arm_count *arm = &run->arms[last->enforced];
    bool comparable = !isnan(outcome->number) && !isnan(requests->slo_ttft_ms);
    int by_slo = comparable ? outcome->number <= requests->slo_ttft_ms : -1;
    int met = outcome->ok >= 0 ? outcome->ok : by_slo;
    run->answered++;
    run->disagreed += outcome->ok >= 0 && by_slo >= 0 && outcome->ok != by_slo;
    run->unjudged += met < 0;
    run->met += met > 0;
    arm->answered++;
    arm->met += met > 0;
    requests->tenants[last->tenant].met += met > 0;
    requests->priorities[last->priority].met += met > 0;
    run->cancelled += outcome->end == ADP_CANCELLED;
    run->failed += outcome->end == ADP_FAILED;
    if (isnan(outcome->number))
        return 0;
    int e = adp_numbers_add(store, &requests->ttft, outcome->number);
    return e ? e
             : adp_numbers_add(store, &requests->ttft_by_arm[last->enforced],
                               outcome->number);
}

/* Was it refused where it was decided: by itself, or by the policy beside which it was a shadow? */
static bool turned_away(const struct adp_event *decision)
{
    return told_to_refuse(decision) || decision->refused;
}

/* A decision without a number or a handle that says the same of the same time as the one before:
 * its line was copied. */
static bool is_twin(const struct adp_event *before, const struct adp_event *decision)
{
    return !before->handle && !decision->handle && before->number == decision->number &&
           before->owner == decision->owner && before->verdict == decision->verdict &&
           before->reason == decision->reason;
}

/* How often the request was let through. A record that stands twice is one attempt. */
static size_t attempts_of(const struct adp_event *const *decisions, size_t n)
{
    size_t attempts = 0;
    for (size_t i = 0; i < n; i++) {
        bool again =
            i &&
            ((decisions[i]->handle && decisions[i]->handle == decisions[i - 1]->handle) ||
             is_twin(decisions[i - 1], decisions[i]));
        attempts += !turned_away(decisions[i]) && !again;
    }
    return attempts;
}

/* What an outcome of a request says of whose it is. */
enum whose {
    SERVED,  /* an attempt's that was let through */
    REFUSED, /* a refused one's */
    LIKELY,  /* by its place alone a refused one's, though it reads like a served one's */
    BARELY   /* by its place alone a served one's, though it reads like a refused one's */
};

static enum whose whose(const struct adp_event *outcome)
{
    bool like_served = !isnan(outcome->number) || outcome->ok == 1;
    if (!outcome->placed)
        return outcome->refused ? REFUSED : SERVED;
    if (outcome->refused)
        return like_served ? LIKELY : REFUSED;
    return like_served ? SERVED : BARELY;
}

/* Of more outcomes than attempts, told by place: those that are the refused ones' after all. */
struct surplus {
    size_t barely, likely;
};

static struct surplus surplus_of(const struct adp_event *const *outcomes, size_t n,
                                 size_t attempts)
{
    struct surplus have = { 0, 0 };
    size_t own = 0;
    for (size_t i = 0; i < n; i++) {
        enum whose of = whose(outcomes[i]);
        own += of != REFUSED;
        have.barely += of == BARELY;
        have.likely += of == LIKELY;
    }
    size_t most = own > attempts ? own - attempts : 0;
    if (have.barely > most)
        have.barely = most;
    if (have.likely > most - have.barely)
        have.likely = most - have.barely;
    return have;
}

/* Is it a refused attempt's? Only where there is one is it asked. */
static bool is_refused_ones(const struct adp_event *outcome, struct surplus *left)
{
    enum whose of = whose(outcome);
    size_t *spare = of == BARELY ? &left->barely : of == LIKELY ? &left->likely : NULL;
    if (!spare || !*spare)
        return of == REFUSED;
    --*spare;
    return true;
}

/* An admitted request may have been admitted more than once (retries); each attempt has
 * at most one outcome, and the last attempt's is the request's. */
static int serve(struct adp_store *store, struct adp_requests *requests,
                 const struct adp_event *const *decisions, size_t n_decisions,
                 const struct adp_event *const *outcomes, size_t n_outcomes)
{
    size_t attempts = attempts_of(decisions, n_decisions), kept = 0;
    struct surplus left = { 0, 0 };
    bool refusals = false;
    const struct adp_event *final = decisions[n_decisions - 1];
    uint64_t last = final->handle;
    const struct adp_event *used = NULL, *before = NULL;
    for (size_t i = 0; i < n_decisions; i++)
        refusals |= turned_away(decisions[i]);
    if (refusals)
        left = surplus_of(outcomes, n_outcomes, attempts);
    for (size_t i = 0; i < n_outcomes; i++) {
        const struct adp_event *outcome = outcomes[i];
        if (refusals && is_refused_ones(outcome, &left)) {
            requests->run->refused_outcomes++;
            continue;
        }
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
    requests->run->withheld += !used && final->refused;
    return used ? judge(store, requests, final, used) : 0;
}

static void count_group(struct adp_group_count *group, const struct adp_event *last,
                        bool own)
{
    group->offered++;
    group->refused += own && last->enforced;
    group->unheeded += own && !last->enforced;
}

static int settle(struct adp_store *store, struct adp_requests *requests,
                  const struct adp_event *const *decisions, size_t n_decisions,
                  const struct adp_event *const *outcomes, size_t n_outcomes)
{
    struct adp_run *run = requests->run;
    const struct adp_event *last = decisions[n_decisions - 1];
    bool own = last->verdict != ADP_ADMIT && !last->fault;
    for (size_t i = 1; i < n_decisions; i++)
        run->twins += is_twin(decisions[i - 1], decisions[i]);
    run->offered++;
    run->arms[last->enforced].offered++;
    run->arms[last->enforced].refusals += own;
    count_group(&requests->tenants[last->tenant], last, own);
    count_group(&requests->priorities[last->priority], last, own);
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
    return serve(store, requests, decisions, n_decisions, outcomes, n_outcomes);
}

/* ---- one request, several decisions -------------------------------------------------
 */

/* An event as one run sees it. */
struct seen {
    const struct adp_event *event;
    uint32_t run;
    size_t order;
};

/* What a worker settles into, and what it works with. */
struct worker {
    const struct adp_join *join;
    const struct rehoming *homes;
    atomic_uint *next;             /* pile to be taken; shared */
    struct adp_run *runs;          /* what requests[i].run is */
    struct adp_requests *requests; /* by run */
    uint64_t *orphans;             /* by file */
    int error;

    struct adp_event *events; /* of one pile */
    size_t n, cap;
    struct link {
        uint32_t first, next; /* of a table's place; of an event: number + 1, 0: none */
    } * links;
    size_t cap_links;
    struct adp_event *group; /* of one request */
    size_t cap_group;

    struct seen *decisions, *outcomes;
    size_t n_decisions, cap_decisions, n_outcomes, cap_outcomes;
    size_t *calls; /* by decision in order of place: which call it belongs to */
    size_t cap_calls;
    struct named *handles; /* of decisions; key.low is the decision */
    size_t cap_handles;
    const struct adp_event **list;
    size_t cap_list;
};

static void free_lists(struct worker *s)
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
static bool same_call(const struct seen *before, const struct seen *decision)
{
    if (decision->event->handle && before->event->handle)
        return decision->event->handle == before->event->handle;
    return decision->event->shadow && before->run != decision->run;
}

/* Lists the decisions of the group in order of place, with their calls and handles. */
static int list_decisions(struct worker *s, const struct adp_event *group, size_t n)
{
    s->n_decisions = 0;
    for (size_t i = 0; i < n; i++) {
        if (!group[i].verdict)
            continue;
        struct seen seen = { &group[i], s->join->run_of_part[group[i].owner],
                             s->n_decisions };
        if (see(&s->decisions, &s->n_decisions, &s->cap_decisions, seen))
            return ADP_ENOMEM;
    }
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
                    same_call(&s->decisions[i - 1], &s->decisions[i]);
        calls[i] = same ? calls[i - 1] : i; /* named by its first decision */
        handles[i] = (struct named) { s->decisions[i].event->handle, { 0, i } };
    }
    qsort(handles, s->n_decisions, sizeof *handles, by_handle);
    return 0;
}

static bool call_refused(const struct worker *s, size_t call)
{
    for (size_t k = call; k < s->n_decisions && s->calls[k] == call; k++)
        if (told_to_refuse(s->decisions[k].event))
            return true;
    return false;
}

/* The call an outcome belongs to; `passed` decisions stand before it. */
static size_t call_of(const struct worker *s, struct adp_event *outcome, size_t passed)
{
    struct named wanted = { outcome->handle, { 0, 0 } };
    const struct named *found =
        outcome->handle
            ? bsearch(&wanted, s->handles, s->n_decisions, sizeof wanted, by_handle)
            : NULL;
    outcome->placed = !found;
    return s->calls[found ? found->key.low : passed ? passed - 1 : 0];
}

/* Shows each outcome to every run of its call, and says of all whether that was refused. */
static int list_outcomes(struct worker *s, struct adp_event *group, size_t n)
{
    size_t passed = 0;
    s->n_outcomes = 0;
    for (size_t i = 0; i < n; i++) {
        if (group[i].verdict) {
            group[i].refused = call_refused(s, s->calls[passed++]);
            continue;
        }
        size_t call = call_of(s, &group[i], passed);
        group[i].refused = call_refused(s, call);
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
static int settle_run(struct worker *s, size_t from, size_t past, size_t *at)
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
    return settle(s->join->store, &s->requests[run], list, decisions, list + decisions,
                  n - decisions);
}

/* A request that was decided once, as nearly all are: the outcomes are that decision's. */
static int settle_one(struct worker *s, const struct adp_event *group, size_t n,
                      size_t decision)
{
    uint32_t run = s->join->run_of_part[group[decision].owner];
    const struct adp_event **list = adp_grow(s->list, &s->cap_list, n, sizeof *list);
    size_t k = 1;
    if (!list)
        return ADP_ENOMEM;
    s->list = list;
    if (run == ADP_NO_RUN)
        return 0;
    list[0] = &group[decision];
    for (size_t i = 0; i < n; i++)
        if (i != decision)
            list[k++] = &group[i];
    return settle(s->join->store, &s->requests[run], list, 1, list + 1, n - 1);
}

/* Events of one request of one log, in order of place. */
static int settle_group(struct worker *s, struct adp_event *group, size_t n)
{
    size_t decisions = 0, decision = 0;
    for (size_t i = 0; i < n; i++)
        if (group[i].verdict) {
            decisions++;
            decision = i;
        }
    if (decisions == 1)
        return settle_one(s, group, n, decision);
    if (!decisions) {
        for (size_t i = 0; i < n; i++)
            s->orphans[group[i].file]++;
        return 0;
    }
    if (list_decisions(s, group, n) || list_outcomes(s, group, n))
        return ADP_ENOMEM;
    qsort(s->decisions, s->n_decisions, sizeof *s->decisions, by_run_and_time);
    if (s->n_outcomes)
        qsort(s->outcomes, s->n_outcomes, sizeof *s->outcomes, by_run_and_place);
    size_t at = 0;
    for (size_t from = 0, past; from < s->n_decisions; from = past) {
        past = from + 1;
        while (past < s->n_decisions && s->decisions[past].run == s->decisions[from].run)
            past++;
        int e = settle_run(s, from, past, &at);
        if (e)
            return e;
    }
    return 0;
}

/* ---- a pile -----------------------------------------------------------------------------
 */

static uint32_t log_of(const struct worker *w, const struct adp_event *event)
{
    return w->join->logs[event->file];
}

static bool same_request(const struct worker *w, const struct adp_event *a,
                         const struct adp_event *b)
{
    return a->key.high == b->key.high && a->key.low == b->key.low &&
           log_of(w, a) == log_of(w, b);
}

/* Chains events of one request, each before those behind it. */
static int link_events(struct worker *w, size_t *ret_places)
{
    size_t places = 16;
    while (places < 2 * w->n)
        places *= 2;
    struct link *links = adp_grow(w->links, &w->cap_links, places + w->n, sizeof *links);
    if (!links)
        return ADP_ENOMEM;
    w->links = links;
    memset(links, 0, (places + w->n) * sizeof *links);
    for (size_t i = w->n; i-- > 0;) {
        const struct adp_event *event = &w->events[i];
        size_t at = (event->key.low + log_of(w, event)) & (places - 1);
        while (links[at].first &&
               !same_request(w, &w->events[links[at].first - 1], event))
            at = (at + 1) & (places - 1);
        links[places + i].next = links[at].first;
        links[at].first = (uint32_t)i + 1;
    }
    *ret_places = places;
    return 0;
}

static int by_place(const void *a, const void *b, void *context)
{
    const struct worker *w = context;
    const struct adp_event *x = a, *y = b;
    int c = COMPARE(w->join->ranks[x->file], w->join->ranks[y->file]);
    return c ? c : COMPARE(x->offset, y->offset);
}

static int settle_chain(struct worker *w, const struct link *chained, uint32_t first)
{
    size_t n = 0;
    bool sorted = true;
    for (uint32_t i = first; i; i = chained[i - 1].next) {
        struct adp_event *group = adp_grow(w->group, &w->cap_group, n + 1, sizeof *group);
        if (!group)
            return ADP_ENOMEM;
        w->group = group;
        group[n] = w->events[i - 1];
        sorted &= !n || by_place(&group[n - 1], &group[n], w) <= 0;
        n++;
    }
    if (!sorted)
        qsort_r(w->group, n, sizeof *w->group, by_place, w);
    return settle_group(w, w->group, n);
}

static int settle_events(struct worker *w)
{
    size_t places = 0;
    int e = w->n ? link_events(w, &places) : 0;
    for (size_t at = 0; at < places && !e; at++)
        if (w->links[at].first)
            e = settle_chain(w, w->links + places, w->links[at].first);
    return e;
}

static int load_event(void *context, const struct adp_event *event)
{
    struct worker *w = context;
    if (event->by_handle)
        return 0; /* it stands in its request's pile, rehomed */
    struct adp_event *events = adp_grow(w->events, &w->cap, w->n + 1, sizeof *events);
    if (!events)
        return ADP_ENOMEM;
    w->events = events;
    events[w->n++] = *event;
    return 0;
}

struct splitting {
    struct adp_store *store;
    struct adp_pile piles[ADP_EVENT_PILES];
    unsigned shift;
};

static int split_event(void *context, const struct adp_event *event)
{
    struct splitting *s = context;
    return event->by_handle ? 0 : add_to(s->store, s->piles, s->shift, event);
}

/* Events of one load: 56 bytes, and a table. */
enum { MOST_LOADED = 64 << 10 };

static int settle_pile(struct worker *w, const struct adp_pile *pile,
                       const struct adp_pile *more, unsigned shift);

/* The same pile in pieces, by the next bits of the keys. Where they are all in one piece,
 * they are one request's, or might as well be: no cutting helps. */
static int settle_pieces(struct worker *w, const struct adp_pile *pile,
                         const struct adp_pile *more, unsigned shift)
{
    static const struct adp_pile none;
    struct splitting s = { .store = w->join->store, .shift = shift };
    int e = walk_pile(w->join, pile, split_event, &s);
    if (!e)
        e = walk_pile(w->join, more, split_event, &s);
    for (size_t i = 0; i < ADP_EVENT_PILES && !e; i++) {
        bool whole = s.piles[i].n == pile->n + more->n;
        e = settle_pile(w, &s.piles[i], &none, whole || shift < STEP ? 0 : shift - STEP);
        adp_pile_finish(s.store, &s.piles[i], sizeof(struct adp_event));
    }
    finish_piles(s.store, s.piles);
    return e;
}

/* `shift` 0: load it, whatever its size. */
static int settle_pile(struct worker *w, const struct adp_pile *pile,
                       const struct adp_pile *more, unsigned shift)
{
    if (pile->n + more->n > MOST_LOADED && shift)
        return settle_pieces(w, pile, more, shift);
    w->n = 0;
    int e = walk_pile(w->join, pile, load_event, w);
    if (!e)
        e = walk_pile(w->join, more, load_event, w);
    return e ? e : settle_events(w);
}

static void settle_piles(void *context, unsigned i)
{
    struct worker *w = (struct worker *)context + i;
    while (!w->error) {
        unsigned pile = atomic_fetch_add(w->next, 1);
        if (pile >= ADP_EVENT_PILES)
            return;
        w->error = settle_pile(w, &w->join->events->piles[pile], &w->homes->home[pile],
                               TOP - STEP);
    }
}

/* ---- workers ---------------------------------------------------------------------------
 */

static int begin_requests(const struct adp_join *join, struct adp_requests *requests)
{
    requests->reasons = calloc(join->n_reasons + 1, sizeof *requests->reasons);
    requests->tenants = calloc(join->n_tenants + 1, sizeof *requests->tenants);
    requests->priorities = calloc(join->n_priorities + 1, sizeof *requests->priorities);
    return requests->reasons && requests->tenants && requests->priorities ? 0
                                                                          : ADP_ENOMEM;
}

void adp_requests_finish(struct adp_store *store, struct adp_requests *requests)
{
    adp_numbers_finish(store, &requests->ttft);
    for (int arm = 0; arm < ADP_ARMS; arm++)
        adp_numbers_finish(store, &requests->ttft_by_arm[arm]);
    free(requests->reasons);
    free(requests->tenants);
    free(requests->priorities);
}

static int begin(struct worker *w, const struct adp_join *join)
{
    w->runs = calloc(join->n_runs + 1, sizeof *w->runs);
    w->requests = calloc(join->n_runs + 1, sizeof *w->requests);
    w->orphans = calloc(join->n_files + 1, sizeof *w->orphans);
    if (!w->runs || !w->requests || !w->orphans)
        return ADP_ENOMEM;
    for (size_t i = 0; i < join->n_runs; i++) {
        w->runs[i].first_arrival = w->runs[i].last_arrival = NAN;
        w->requests[i].run = &w->runs[i];
        w->requests[i].slo_ttft_ms = join->requests[i].slo_ttft_ms;
        if (begin_requests(join, &w->requests[i]))
            return ADP_ENOMEM;
    }
    return 0;
}

static void end(struct worker *w)
{
    for (size_t i = 0; w->requests && i < w->join->n_runs; i++)
        adp_requests_finish(w->join->store, &w->requests[i]);
    free(w->runs);
    free(w->requests);
    free(w->orphans);
    free(w->events);
    free(w->links);
    free(w->group);
    free_lists(w);
}

static void absorb_counts(struct adp_run *into, const struct adp_run *from)
{
    into->offered += from->offered;
    into->admitted += from->admitted;
    into->refused += from->refused;
    into->deferred += from->deferred;
    into->refused_by_fault += from->refused_by_fault;
    into->unheeded += from->unheeded;
    into->outcomes += from->outcomes;
    into->answered += from->answered;
    into->met += from->met;
    into->unjudged += from->unjudged;
    into->cancelled += from->cancelled;
    into->failed += from->failed;
    into->ttft_off += from->ttft_off;
    into->disagreed += from->disagreed;
    into->duplicates += from->duplicates;
    into->refused_outcomes += from->refused_outcomes;
    into->withheld += from->withheld;
    into->twins += from->twins;
    for (int arm = 0; arm < ADP_ARMS; arm++) {
        into->arms[arm].offered += from->arms[arm].offered;
        into->arms[arm].refusals += from->arms[arm].refusals;
        into->arms[arm].answered += from->arms[arm].answered;
        into->arms[arm].met += from->arms[arm].met;
    }
    arrive(into, from->first_arrival);
    arrive(into, from->last_arrival);
}

static void absorb_groups(struct adp_group_count *into,
                          const struct adp_group_count *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        into[i].offered += from[i].offered;
        into[i].refused += from[i].refused;
        into[i].unheeded += from[i].unheeded;
        into[i].met += from[i].met;
    }
}

static int absorb(const struct adp_join *join, struct worker *w)
{
    struct adp_store *store = join->store;
    for (size_t i = 0; i < join->n_files; i++)
        join->files[i].orphans += w->orphans[i];
    for (size_t i = 0; i < join->n_runs; i++) {
        struct adp_requests *into = &join->requests[i], *from = &w->requests[i];
        absorb_counts(into->run, from->run);
        into->outcome_print += from->outcome_print;
        for (size_t k = 0; k < join->n_reasons; k++) {
            into->reasons[k].n += from->reasons[k].n;
            into->reasons[k].unheeded += from->reasons[k].unheeded;
        }
        absorb_groups(into->tenants, from->tenants, join->n_tenants);
        absorb_groups(into->priorities, from->priorities, join->n_priorities);
        int e = adp_numbers_merge(store, &into->ttft, store, &from->ttft);
        for (int arm = 0; arm < ADP_ARMS && !e; arm++)
            e = adp_numbers_merge(store, &into->ttft_by_arm[arm], store,
                                  &from->ttft_by_arm[arm]);
        if (e)
            return e;
    }
    return 0;
}

/* Fewer are not worth a thread. */
enum { EVENTS_PER_WORKER = 32 << 10 };

int adp_requests_join(struct adp_join *join)
{
    struct worker workers[ADP_WORKERS] = { 0 };
    struct rehoming homes = { .join = join };
    atomic_uint next = 0;
    unsigned n = adp_workers_count();
    if (join->events->n / EVENTS_PER_WORKER + 1 < n)
        n = (unsigned)(join->events->n / EVENTS_PER_WORKER) + 1;
    int e = find_requests(&homes);
    for (size_t i = 0; i < join->n_runs && !e; i++)
        e = begin_requests(join, &join->requests[i]);
    for (unsigned i = 0; i < n; i++) {
        workers[i].join = join;
        workers[i].homes = &homes;
        workers[i].next = &next;
        if (!e)
            e = begin(&workers[i], join);
    }
    if (!e)
        adp_workers_run(n, settle_piles, workers);
    for (unsigned i = 0; i < n && !e; i++)
        e = workers[i].error;
    for (unsigned i = 0; i < n && !e; i++)
        e = absorb(join, &workers[i]);
    for (unsigned i = 0; i < n; i++)
        end(&workers[i]);
    finish_rehoming(&homes);
    return e;
}
