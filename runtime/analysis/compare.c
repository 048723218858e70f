/* SPDX-License-Identifier: MIT */
/* The comparison: choosing what is compared, and its text. */
#include "runtime/analysis/compare.h"

#include "runtime/analysis/compare_json.h"
#include "runtime/analysis/compare_words.h"
#include "runtime/analysis/grow.h"
#include "runtime/analysis/page.h"
#include "runtime/analysis/versus.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void adp_compare_destroy(struct adp_compare *compare)
{
    if (!compare)
        return;
    adp_side_finish(&compare->baseline);
    for (size_t i = 0; i < compare->n; i++)
        adp_side_finish(&compare->candidates[i].side);
    free(compare->candidates);
    adp_caveats_finish(&compare->caveats);
    adp_tally_destroy(compare->tally);
    adp_logs_finish(&compare->logs);
    free(compare);
}

static struct adp_compare *create(void)
{
    struct adp_compare *compare = calloc(1, sizeof *compare);
    if (!compare)
        return NULL;
    compare->tally = adp_tally_create();
    if (!compare->tally) {
        adp_compare_destroy(compare);
        return NULL;
    }
    return compare;
}

/* ---- who is compared -----------------------------------------------------------------
 */

static int new_candidate(struct adp_compare *compare, const struct adp_run *run)
{
    struct adp_candidate *all =
        adp_grow(compare->candidates, &compare->cap, compare->n + 1, sizeof *all);
    if (!all)
        return ADP_ENOMEM;
    compare->candidates = all;
    all[compare->n] = (struct adp_candidate) { 0 };
    return adp_side_add(&all[compare->n++].side, run);
}

/* Adds the run to its side, unless a run of that name is there already: pieces of one run
 * under several configurations are no repeats. */
static int add_repeat(struct adp_compare *compare, struct adp_side *side,
                      const struct adp_run *run)
{
    for (size_t i = 0; i < side->n; i++) {
        const char *name = side->runs[i]->part->run;
        if (!name || !run->part->run || strcmp(name, run->part->run) != 0)
            continue;
        adp_caveats_add(&compare->caveats,
                        "%s: run %s was recorded under more than one configuration; only "
                        "the first is counted",
                        adp_side_policy(run->part), name);
        return 0;
    }
    return adp_side_add(side, run);
}

/* Puts the run with the repeats of its policy and parameters, or begins a new candidate.
 */
static int add_candidate(struct adp_compare *compare, const struct adp_run *run)
{
    for (size_t i = 0; i < compare->n; i++)
        if (compare->candidates[i].side.part->candidate == run->part->candidate)
            return add_repeat(compare, &compare->candidates[i].side, run);
    return new_candidate(compare, run);
}

/* Is the run one that can be compared at all? Says why not. */
static bool counts(struct adp_compare *compare, const struct adp_run *run)
{
    size_t n;
    const struct adp_log_file *files = adp_tally_files(compare->tally, &n);
    const struct adp_run *runs = adp_tally_runs(compare->tally, &n);
    if (!run->decided)
        return false;
    if (run->copy_of == ADP_NO_RUN)
        return true;
    const struct adp_run *first = &runs[run->copy_of];
    adp_caveats_add(
        &compare->caveats,
        "%s: run %s holds the same decisions and outcomes as run %s (%s): a copy is not "
        "a "
        "repeat, and it is not counted",
        files[run->files[0]].path, run->part->run ? run->part->run : "(unnamed)",
        first->part->run ? first->part->run : "(unnamed)", files[first->files[0]].path);
    return false;
}

/* Which runs are meant. */
struct choice {
    const bool *files;      /* by number; NULL: of any */
    const char *experiment; /* NULL: any */
    enum { BASELINES, OTHERS, ALL } which;
    const struct adp_tally *tally; /* where there are `files` */
};

/* Does one of the files hold the run, be it again? */
static bool stands_in(const struct adp_run *run, const struct choice *choice)
{
    size_t n, n_runs;
    const struct adp_run *runs = adp_tally_runs(choice->tally, &n_runs);
    const struct adp_again *again = adp_tally_again(choice->tally, &n);
    for (size_t i = 0; i < run->n_files; i++)
        if (choice->files[run->files[i]])
            return true;
    for (size_t i = 0; i < n; i++)
        if (&runs[again[i].run] == run && again[i].copy && choice->files[again[i].file])
            return true;
    return false;
}

static bool chosen(const struct adp_run *run, const struct choice *choice)
{
    const char *experiment = run->part->experiment;
    if (!run->decided || (choice->files && !stands_in(run, choice)))
        return false;
    if (choice->experiment &&
        (!experiment || strcmp(experiment, choice->experiment) != 0))
        return false;
    /* A shadow governs nothing: what became of its requests says nothing about it. */
    if (adp_part_is_shadow(run->part))
        return false;
    return choice->which == ALL || run->part->baseline == (choice->which == BASELINES);
}

/* Fills the baseline side with the runs of the first candidate chosen. */
static int take_baseline(struct adp_compare *compare, const struct choice *choice)
{
    size_t n;
    const struct adp_run *runs = adp_tally_runs(compare->tally, &n);
    const struct adp_part *other = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct adp_part *first = compare->baseline.part;
        if (!chosen(&runs[i], choice))
            continue;
        if (first && first->candidate != runs[i].part->candidate)
            other = runs[i].part;
        else if (counts(compare, &runs[i]) &&
                 add_repeat(compare, &compare->baseline, &runs[i]))
            return ADP_ENOMEM;
    }
    if (other)
        adp_caveats_add(&compare->caveats,
                        "more than one baseline is flagged: %s is used, %s is not",
                        adp_side_policy(compare->baseline.part), adp_side_policy(other));
    return 0;
}

/* Two paths may lead to the same files: no run stands on both sides. */
static bool is_baselines(const struct adp_compare *compare, const struct adp_run *run)
{
    for (size_t i = 0; i < compare->baseline.n; i++)
        if (compare->baseline.runs[i] == run)
            return true;
    return false;
}

static int take_candidates(struct adp_compare *compare, const struct choice *choice)
{
    size_t n;
    const struct adp_run *runs = adp_tally_runs(compare->tally, &n);
    for (size_t i = 0; i < n; i++)
        if (chosen(&runs[i], choice) && !is_baselines(compare, &runs[i]) &&
            counts(compare, &runs[i]) && add_candidate(compare, &runs[i]))
            return ADP_ENOMEM;
    return 0;
}

/* Names the policies of the chosen runs, for an error: "a, b", up to ten. Returns how
 * many candidates they are. */
static size_t list_policies(const struct adp_compare *compare,
                            const struct choice *choice, char *to, size_t cap)
{
    size_t n, named = 0, candidates = 0, used = 0;
    const struct adp_run *runs = adp_tally_runs(compare->tally, &n);
    to[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const struct adp_part *part = runs[i].part;
        bool name = chosen(&runs[i], choice), candidate = name;
        for (size_t k = 0; k < i && candidate; k++) {
            if (!chosen(&runs[k], choice))
                continue;
            candidate &= runs[k].part->candidate != part->candidate;
            name &= strcmp(adp_side_policy(runs[k].part), adp_side_policy(part)) != 0;
        }
        candidates += candidate;
        if (candidate && name && named < 10 && used < cap)
            used += (size_t)snprintf(to + used, cap - used, "%s%s", named++ ? ", " : "",
                                     adp_side_policy(part));
    }
    return candidates;
}

/* ---- what weakens the comparison ------------------------------------------------------
 */

static void caution_run(struct adp_compare *compare, const struct adp_run *run)
{
    struct adp_caveats own = { 0 };
    char name[160];
    snprintf(name, sizeof name, "%s %s", adp_side_policy(run->part),
             run->part->run ? run->part->run : "(unnamed)");
    adp_caveats_of_instrument(&own, compare->tally, run);
    adp_caveats_of_cost(&own, run);
    if (run->part->unenforced && !compare->arms)
        adp_caveats_add(
            &own, "%" PRIu64 " of %" PRIu64 " %s not enforced", run->part->unenforced,
            run->part->lines,
            adp_page_plural(run->part->lines, "verdict was", "verdicts were"));
    for (size_t i = 0; i < own.n; i++)
        adp_caveats_add(&compare->caveats, "%s: %s", name, own.sentences[i]);
    compare->caveats.broken |= own.broken;
    adp_caveats_finish(&own);
}

static bool differ(double a, double b)
{
    return isnan(a) != isnan(b) || (!isnan(a) && a != b);
}

static bool differ_in_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) != 0 : a != b;
}

static void caution_text(struct adp_compare *compare, const struct adp_side *side,
                         const char *what, const char *a, const char *b)
{
    if (differ_in_text(a, b))
        adp_caveats_add(&compare->caveats, "%s differs: %s for %s, %s for %s", what,
                        a ? a : "(not said)", adp_side_policy(compare->baseline.part),
                        b ? b : "(not said)", adp_side_policy(side->part));
}

/* What is disclosed of the two sides, and should be one thing. */
static void caution_disclosure(struct adp_compare *compare, const struct adp_side *side)
{
    const struct adp_part_disclosure *a = &compare->baseline.part->disclosure;
    const struct adp_part_disclosure *b = &side->part->disclosure;
    caution_text(compare, side, "notes", compare->baseline.part->notes,
                 side->part->notes);
    caution_text(compare, side, "the model", a->model, b->model);
    caution_text(compare, side, "the engine", a->engine, b->engine);
    caution_text(compare, side, "the hardware", a->hardware, b->hardware);
    caution_text(compare, side, "the workload", a->workload, b->workload);
    if (differ(a->capacity_rps, b->capacity_rps))
        adp_caveats_add(
            &compare->caveats, "capacity_rps differs: %s for %s, %s for %s",
            adp_page_exact(a->capacity_rps).text, adp_side_policy(compare->baseline.part),
            adp_page_exact(b->capacity_rps).text, adp_side_policy(side->part));
}

/* Configurations of two policies differ, for they name the policy; those of the repeats of
 * one should not. */
static void caution_config(struct adp_compare *compare, const struct adp_side *side)
{
    for (size_t i = 1; i < side->n; i++) {
        const char *a = side->runs[0]->part->config, *b = side->runs[i]->part->config;
        if (!differ_in_text(a, b))
            continue;
        adp_caveats_add(&compare->caveats,
                        "%s: its repeats ran under different configurations (%s and %s)",
                        adp_side_policy(side->part), a ? a : "not said",
                        b ? b : "not said");
        return;
    }
}

static void caution_side(struct adp_compare *compare, const struct adp_side *side)
{
    const struct adp_side *base = &compare->baseline;
    const char *a = base->part->experiment, *b = side->part->experiment;
    if ((a || b) && (!a || !b || strcmp(a, b) != 0))
        adp_caveats_add(
            &compare->caveats,
            "%s was recorded in experiment %s, %s in %s: nothing says they faced "
            "the same conditions",
            adp_side_policy(base->part), a ? a : "(none)", adp_side_policy(side->part),
            b ? b : "(none)");
    if (differ(base->part->slo_ttft_ms, side->part->slo_ttft_ms))
        adp_caveats_add(
            &compare->caveats, "the SLOs differ: TTFT within %s ms for %s, %s ms for %s",
            adp_page_exact(base->part->slo_ttft_ms).text, adp_side_policy(base->part),
            adp_page_exact(side->part->slo_ttft_ms).text, adp_side_policy(side->part));
    if (base->n != side->n)
        adp_caveats_add(&compare->caveats, "%s has %zu %s, %s has %zu",
                        adp_side_policy(base->part), base->n,
                        adp_page_plural(base->n, "repeat", "repeats"),
                        adp_side_policy(side->part), side->n);
    if (side != base)
        caution_disclosure(compare, side);
    caution_config(compare, side);
    if (side != base && side->part->baseline)
        adp_caveats_add(&compare->caveats, "%s calls itself a baseline",
                        adp_side_policy(side->part));
    for (size_t i = 0; i < side->n; i++)
        caution_run(compare, side->runs[i]);
}

static void caution(struct adp_compare *compare)
{
    if (compare->arms)
        adp_caveats_add(
            &compare->caveats,
            "both arms share one engine: what is refused in the governed arm frees "
            "capacity for the other, and what the ungoverned arm is let through fills "
            "the "
            "queue for both. The difference is not what governing all would make");
    if (!compare->arms && !compare->baseline.part->baseline)
        adp_caveats_add(&compare->caveats, "%s does not call itself a baseline",
                        adp_side_policy(compare->baseline.part));
    size_t n_runs;
    const struct adp_run *runs = adp_tally_runs(compare->tally, &n_runs);
    for (size_t i = 0; i < n_runs; i++)
        if (adp_part_is_shadow(runs[i].part))
            adp_caveats_add(&compare->caveats,
                            "%s ran as a shadow and is not compared: it governed nothing",
                            adp_side_policy(runs[i].part));
    caution_side(compare, &compare->baseline);
    for (size_t i = 0; i < compare->n; i++)
        caution_side(compare, &compare->candidates[i].side);
    for (size_t i = 0; i < compare->logs.n_unread; i++)
        adp_caveats_add(&compare->caveats, "not read: %s: %s",
                        compare->logs.unread[i].path, compare->logs.unread[i].why);
    for (size_t i = 0; i < compare->logs.n; i++)
        if (compare->logs.paths[i].foreign)
            adp_caveats_add(&compare->caveats,
                            "%s was not read: no line of it is one of ours",
                            compare->logs.paths[i].path);
}

/* ---- making one -----------------------------------------------------------------------
 */

/* Both sides are chosen: orders, computes, checks. */
static int settle(struct adp_compare *compare)
{
    compare->experiment = compare->baseline.part->experiment;
    if (adp_side_settle(&compare->baseline))
        return ADP_ENOMEM;
    for (size_t i = 0; i < compare->n; i++) {
        if (adp_side_settle(&compare->candidates[i].side))
            return ADP_ENOMEM;
        int e =
            adp_versus_check(&compare->candidates[i], &compare->baseline, compare->arms);
        if (e)
            return e;
    }
    caution(compare);
    return compare->caveats.broken ? ADP_ENOMEM : 0;
}

/* The end of each way to compare: settled and handed out, or, with an error `e` from before,
 * destroyed. */
static int finish_take(struct adp_compare *compare, int e, struct adp_compare **ret,
                       struct adp_error *err)
{
    if (!e)
        e = settle(compare);
    if (e) {
        adp_compare_destroy(compare);
        return adp_error_set(err, e, "out of memory");
    }
    *ret = compare;
    return 0;
}

/* On the baseline's side: the flagged one, or the only one there is. */
static int choose_baseline(struct adp_compare *compare, const char *path,
                           const bool *files, struct adp_error *err)
{
    struct choice choice = { files, NULL, BASELINES, compare->tally };
    char policies[256];
    int e = take_baseline(compare, &choice);
    if (e || compare->baseline.n)
        return e;
    choice.which = ALL;
    size_t n = list_policies(compare, &choice, policies, sizeof policies);
    if (!n)
        return adp_error_at(err, ADP_EINVAL, path, 0, 0,
                            "holds no decisions: nothing to compare with");
    if (n > 1)
        return adp_error_at(err, ADP_EINVAL, path, 0, 0,
                            "holds several candidates and none is flagged as a baseline "
                            "(%s): give the log of the one to compare with",
                            policies);
    return take_baseline(compare, &choice);
}

static int choose_candidates(struct adp_compare *compare, const char *path,
                             const bool *files, struct adp_error *err)
{
    struct choice choice = { files, NULL, OTHERS, compare->tally };
    char policies[256];
    int e = take_candidates(compare, &choice);
    choice.which = ALL;
    if (!e && !compare->n)
        e = take_candidates(compare, &choice);
    if (!e && !compare->n)
        return adp_error_at(
            err, ADP_EINVAL, path, 0, 0,
            list_policies(compare, &choice, policies, sizeof policies)
                ? "holds no decisions but the baseline's: nothing to compare"
                : "holds no decisions of a policy that governs: nothing to compare");
    return e;
}

/* Chooses both sides: what the first `n_first` paths hold, and what the second find came
 * upon, be it read for the first already. */
static int choose_sides(struct adp_compare *compare, const char *const paths[2],
                        size_t n_first, struct adp_error *err)
{
    size_t n;
    adp_tally_files(compare->tally, &n);
    bool *first = calloc(n + 1, sizeof *first), *second = calloc(n + 1, sizeof *second);
    int e = first && second ? 0 : ADP_ENOMEM;
    for (size_t i = 0; i < compare->logs.n && !e; i++) {
        const struct adp_log_path *path = &compare->logs.paths[i];
        if (path->file >= n)
            continue;
        first[path->file] |= i < n_first;
        second[path->file] |= path->given == 2;
    }
    if (!e)
        e = choose_baseline(compare, paths[0], first, err);
    if (!e)
        e = choose_candidates(compare, paths[1], second, err);
    free(first);
    free(second);
    return e;
}

/* Finds and reads what the next path stands for. */
static int read_path(struct adp_compare *compare, const char *path, struct adp_error *err)
{
    size_t from = compare->logs.n;
    int e = adp_logs_find(&compare->logs, path, err);
    if (!e)
        e = adp_logs_read(&compare->logs, from, compare->tally, NULL, NULL, err);
    return e ? e : adp_logs_any(&compare->logs, compare->logs.finds, err);
}

int adp_compare_paths(const char *baseline, const char *policy, struct adp_compare **ret,
                      struct adp_error *err)
{
    struct adp_compare *compare = create();
    const char *const paths[2] = { baseline, policy };
    int e = compare ? read_path(compare, baseline, err) : ADP_ENOMEM;
    size_t n_first = compare ? compare->logs.n : 0;
    if (!e)
        e = read_path(compare, policy, err);
    if (!e)
        e = adp_tally_settle(compare->tally, err);
    if (!e)
        e = choose_sides(compare, paths, n_first, err);
    return finish_take(compare, e, ret, err);
}

void adp_compare_unread(const struct adp_compare *compare, FILE *to)
{
    adp_logs_unread(&compare->logs, to);
}

/* ---- arms ------------------------------------------------------------------------------
 */

/* The runs of the arm, of one candidate, onto the side. */
static int take_arm(struct adp_compare *compare, struct adp_side *side, int arm,
                    struct adp_error *err)
{
    size_t n;
    const struct adp_run *runs = adp_tally_runs(compare->tally, &n);
    const struct adp_part *first = compare->baseline.part;
    for (size_t i = 0; i < n; i++) {
        const struct adp_part *part = runs[i].part;
        if (!runs[i].decided || part->arm != arm || adp_part_is_shadow(part))
            continue;
        if (first && first->candidate != part->candidate)
            return adp_error_set(
                err, ADP_EINVAL,
                "the arms of %s and of %s are not one split: give the logs of one policy "
                "with one set of parameters",
                first->policy ? first->policy : "(no policy named)",
                part->policy ? part->policy : "(no policy named)");
        if (counts(compare, &runs[i]) && add_repeat(compare, side, &runs[i]))
            return ADP_ENOMEM;
        first = first ? first : side->part;
    }
    return 0;
}

static int take_arms(struct adp_compare *compare, struct adp_error *err)
{
    int e = take_arm(compare, &compare->baseline, ADP_ARM_UNGOVERNED, err);
    compare->candidates = e ? NULL : calloc(1, sizeof *compare->candidates);
    if (!compare->candidates)
        return e ? e : ADP_ENOMEM;
    compare->n = compare->cap = 1;
    e = take_arm(compare, &compare->candidates[0].side, ADP_ARM_GOVERNED, err);
    if (e)
        return e;
    if (!compare->baseline.n)
        return adp_error_set(err, ADP_EINVAL,
                             "%s: there is no second arm; `enforce:` below 1 makes one",
                             compare->candidates[0].side.n ? "every decision was governed"
                                                           : "there are no decisions");
    if (!compare->candidates[0].side.n)
        return adp_error_set(err, ADP_EINVAL,
                             "no decision was governed: there is no second arm; "
                             "`enforce:` above 0 makes one");
    return 0;
}

int adp_compare_arms(const char *const *paths, size_t n, struct adp_compare **ret,
                     struct adp_error *err)
{
    struct adp_compare *compare = create();
    int e = compare ? 0 : ADP_ENOMEM;
    if (compare) {
        compare->arms = true;
        adp_tally_keep_arms_apart(compare->tally);
    }
    if (!e)
        e = adp_logs_gather(&compare->logs, paths, n, compare->tally, NULL, NULL, err);
    if (!e)
        e = adp_tally_settle(compare->tally, err);
    if (!e)
        e = take_arms(compare, err);
    return finish_take(compare, e, ret, err);
}

/* Which experiments there are, while looking for one. */
enum { MOST_KNOWN = 10 };

struct wanted {
    const char *experiment;
    char *known[MOST_KNOWN]; /* owned */
    size_t n;
    bool found, broken;
};

static void know(struct wanted *wanted, const char *experiment)
{
    for (size_t i = 0; i < wanted->n; i++)
        if (strcmp(wanted->known[i], experiment) == 0)
            return;
    if (wanted->n == MOST_KNOWN)
        return;
    wanted->known[wanted->n] = strdup(experiment);
    wanted->broken |= !wanted->known[wanted->n];
    wanted->n += wanted->known[wanted->n] != NULL;
}

static bool holds_experiment(const struct adp_tally *file, void *context)
{
    struct wanted *wanted = context;
    size_t n;
    const struct adp_part *const *parts = adp_tally_parts(file, &n);
    bool holds = false;
    for (size_t i = 0; i < n; i++) {
        if (!parts[i]->experiment)
            continue;
        know(wanted, parts[i]->experiment);
        holds |= strcmp(parts[i]->experiment, wanted->experiment) == 0;
    }
    wanted->found |= holds;
    return holds;
}

static int not_found(const struct wanted *wanted, struct adp_error *err)
{
    char known[384];
    size_t used = 0;
    known[0] = '\0';
    for (size_t i = 0; i < wanted->n && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                 wanted->known[i]);
    return adp_error_set(err, ADP_ENOENT, "no log here names experiment \"%s\"; %s%s",
                         wanted->experiment, wanted->n ? "there are: " : "none is named",
                         known);
}

/* Files that hold the experiment may hold others too. */
static int take_experiment(struct adp_compare *compare, const char *experiment,
                           struct adp_error *err)
{
    struct choice choice = { NULL, experiment, BASELINES, compare->tally };
    char policies[256];
    int e = take_baseline(compare, &choice);
    choice.which = OTHERS;
    if (!e)
        e = take_candidates(compare, &choice);
    if (e)
        return e;
    choice.which = ALL;
    list_policies(compare, &choice, policies, sizeof policies);
    if (!compare->baseline.n)
        return adp_error_set(err, ADP_EINVAL,
                             "experiment \"%s\" has no baseline: none of its policies is "
                             "flagged as one (%s)",
                             experiment, policies);
    if (!compare->n)
        return adp_error_set(err, ADP_EINVAL,
                             "experiment \"%s\" holds only its baseline, %s: nothing to "
                             "compare",
                             experiment, policies);
    return 0;
}

int adp_compare_experiment(const char *experiment, const char *const *roots, size_t n,
                           struct adp_compare **ret, struct adp_error *err)
{
    struct adp_compare *compare = create();
    struct wanted wanted = { .experiment = experiment };
    int e = compare ? 0 : ADP_ENOMEM;
    if (!e)
        e = adp_logs_gather(&compare->logs, roots, n, compare->tally, holds_experiment,
                            &wanted, err);
    if (!e && wanted.broken)
        e = ADP_ENOMEM;
    if (!e && !wanted.found)
        e = not_found(&wanted, err);
    for (size_t i = 0; i < wanted.n; i++)
        free(wanted.known[i]);
    if (!e)
        e = adp_tally_settle(compare->tally, err);
    if (!e)
        e = take_experiment(compare, experiment, err);
    return finish_take(compare, e, ret, err);
}

/* ---- check ----------------------------------------------------------------------------
 */

bool adp_compare_check(const struct adp_compare *compare, FILE *why)
{
    bool good = true;
    for (size_t i = 0; i < compare->n; i++) {
        const struct adp_candidate *candidate = &compare->candidates[i];
        good &= adp_versus_holds(candidate);
        for (int k = 0; why && k < ADP_CHECKS; k++)
            if (candidate->checks[k].answer != ADP_YES)
                adp_page_put(
                    why, "%s: %s: %s (%s)\n", adp_side_policy(candidate->side.part),
                    adp_check_title((enum adp_check_name)k),
                    candidate->checks[k].answer == ADP_NO ? "no" : "cannot be asked",
                    candidate->checks[k].why);
    }
    return good;
}

/* ---- the page -------------------------------------------------------------------------
 */

static void print_side(FILE *to, const char *title, const struct adp_side *side)
{
    char params[256];
    adp_part_params(side->part, params, sizeof params);
    adp_page_wrap(to, 0, 2, "%s%s%s%s%s, %zu %s", title, adp_side_policy(side->part),
                  *params ? " (" : "", params, *params ? ")" : "", side->n,
                  adp_page_plural(side->n, "repeat", "repeats"));
}

static void print_checks(FILE *to, const struct adp_candidate *candidate)
{
    static const char *const marks[] = { "NO", "ok", "--" };
    for (int i = 0; i < ADP_CHECKS; i++) {
        const struct adp_check *check = &candidate->checks[i];
        char label[64];
        snprintf(label, sizeof label, "%-3s %s", marks[check->answer],
                 adp_check_title((enum adp_check_name)i));
        adp_page_field(to, 38, label, "%s", check->why);
    }
}

static void print_candidate(FILE *to, const struct adp_compare *compare,
                            const struct adp_candidate *candidate)
{
    print_side(to, "", &candidate->side);
    for (unsigned i = 0; i < adp_compare_n_words(); i++)
        adp_compare_words_print(to, compare, candidate, i);
}

/* ---- tables ---------------------------------------------------------------------------
 */

enum { NAME = 22, COLUMNS = 3, COLUMN = 18 };

static const struct adp_side *side_of(const struct adp_compare *compare, size_t column)
{
    return column ? &compare->candidates[column - 1].side : &compare->baseline;
}

/* "no_admission", then "1 kv_threshold", …: numbered, since one policy may be there with
 * several parameters. */
struct side_name {
    char text[96];
};

static struct side_name name_of(const struct adp_compare *compare, size_t column)
{
    struct side_name name;
    const char *policy = adp_side_policy(side_of(compare, column)->part);
    if (column)
        snprintf(name.text, sizeof name.text, "%zu %.64s", column, policy);
    else
        snprintf(name.text, sizeof name.text, "%.64s", policy);
    return name;
}

static void print_row(FILE *to, const struct adp_compare *compare, size_t column)
{
    const struct adp_side *side = side_of(compare, column);
    adp_page_name(to, name_of(compare, column).text, NAME);
    adp_page_put(to, "%6zu%9s%9s%9s%9s%9s\n", side->n,
                 adp_page_number(side->offered.median).text,
                 adp_page_percent(side->refused_share.median).text,
                 adp_page_number(side->ttft_p50.median).text,
                 adp_page_number(side->ttft_p95.median).text,
                 adp_page_share(side->goodput.median).text);
}

static void print_medians(FILE *to, const struct adp_compare *compare)
{
    adp_page_heading(to, "MEDIANS OVER REPEATS");
    adp_page_name(to, "policy", NAME);
    fprintf(to, "%6s%9s%9s%9s%9s%9s\n", "runs", "offered", "refused", "p50 ms", "p95 ms",
            "goodput");
    for (size_t column = 0; column <= compare->n; column++)
        print_row(to, compare, column);
}

static void print_maxima_of(FILE *to, const struct adp_compare *compare,
                            const char *signal, size_t from, size_t past)
{
    adp_page_name(to, signal, NAME);
    for (size_t c = from; c < past; c++)
        fprintf(to, "%*s", COLUMN,
                adp_page_number(adp_side_greatest(side_of(compare, c), signal)).text);
    fputc('\n', to);
}

/* The signals are those of the baseline's first run and of each candidate's, each once.
 */
static void print_maxima_block(FILE *to, const struct adp_compare *compare, size_t from,
                               size_t past)
{
    adp_page_name(to, "signal", NAME);
    for (size_t c = from; c < past; c++)
        adp_page_put(to, " %*.*s", COLUMN - 1, COLUMN - 1, name_of(compare, c).text);
    fputc('\n', to);
    for (size_t c = 0; c <= compare->n; c++) {
        const struct adp_run *run = side_of(compare, c)->runs[0];
        for (size_t i = 0; i < run->n_signals; i++) {
            bool again = false;
            for (size_t b = 0; b < c && !again; b++)
                for (size_t k = 0; k < side_of(compare, b)->runs[0]->n_signals; k++)
                    again |= strcmp(side_of(compare, b)->runs[0]->signals[k].name,
                                    run->signals[i].name) == 0;
            if (!again)
                print_maxima_of(to, compare, run->signals[i].name, from, past);
        }
    }
}

static void print_maxima(FILE *to, const struct adp_compare *compare)
{
    size_t columns = compare->n + 1;
    adp_page_heading(to, "HOW HIGH EACH SIGNAL WENT");
    for (size_t from = 0; from < columns; from += COLUMNS) {
        if (from)
            fputc('\n', to);
        print_maxima_block(to, compare, from,
                           columns < from + COLUMNS ? columns : from + COLUMNS);
    }
}

int adp_compare_print(const struct adp_compare *compare, FILE *to)
{
    if (compare->experiment)
        adp_page_wrap(to, 0, 2, "Experiment %s", compare->experiment);
    if (compare->arms)
        adp_page_wrap(to, 0, 2, "The two arms of %s",
                      compare->baseline.part->policy ? compare->baseline.part->policy
                                                     : "(no policy named)");
    print_side(to, "Baseline: ", &compare->baseline);
    adp_page_heading(to, "CAN IT BE COMPARED");
    for (size_t i = 0; i < compare->n; i++) {
        if (i)
            fputc('\n', to);
        print_side(to, "", &compare->candidates[i].side);
        print_checks(to, &compare->candidates[i]);
    }
    if (compare->caveats.n)
        adp_page_heading(to, "WHAT WEAKENS THIS PAGE");
    for (size_t i = 0; i < compare->caveats.n; i++)
        adp_page_wrap(to, 2, 4, "! %s.", compare->caveats.sentences[i]);
    adp_page_heading(to, "WHAT IT BOUGHT");
    for (size_t i = 0; i < compare->n; i++) {
        if (i)
            fputc('\n', to);
        print_candidate(to, compare, &compare->candidates[i]);
    }
    print_medians(to, compare);
    print_maxima(to, compare);
    return adp_page_end(to);
}

int adp_compare_json(const struct adp_compare *compare, FILE *to)
{
    return adp_compare_write_json(compare, to);
}
