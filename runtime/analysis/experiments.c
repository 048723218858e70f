/* SPDX-License-Identifier: MIT */
/* Which experiments there are. */
#include "runtime/analysis/experiments.h"

#include "runtime/analysis/finding.h"
#include "runtime/analysis/grow.h"
#include "runtime/analysis/page.h"
#include "runtime/analysis/report_json.h"
#include "runtime/analysis/versus.h"

#include <inttypes.h>
#include <string.h>

/* One experiment, or the unnamed runs of one folder. */
struct experiment {
    char *name; /* owned; NULL: its lines name none */
    char *folder;
    const char *notes; /* borrowed: the first there are */
    bool has_baseline;
    struct adp_side *sides; /* policy and parameters, each with its runs */
    size_t n, cap;
};

struct adp_experiments {
    struct adp_tally *tally;
    struct adp_log_list logs;
    struct experiment *all;
    size_t n, cap;
    uint32_t *runs_in; /* owned; by file */
};

void adp_experiments_destroy(struct adp_experiments *experiments)
{
    if (!experiments)
        return;
    for (size_t i = 0; i < experiments->n; i++) {
        struct experiment *one = &experiments->all[i];
        for (size_t k = 0; k < one->n; k++)
            adp_side_finish(&one->sides[k]);
        free(one->sides);
        free(one->name);
        free(one->folder);
    }
    free(experiments->all);
    free(experiments->runs_in);
    adp_tally_destroy(experiments->tally);
    adp_logs_finish(&experiments->logs);
    free(experiments);
}

/* "a/b" of "a/b/c.jsonl"; "." of "c.jsonl". */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path))
                 : strdup(".");
}

static bool is(const struct experiment *one, const char *name, const char *folder)
{
    if (one->name || name)
        return one->name && name && strcmp(one->name, name) == 0;
    return strcmp(one->folder, folder) == 0;
}

static struct experiment *experiment_of(struct adp_experiments *experiments,
                                        const struct adp_run *run)
{
    size_t n;
    const struct adp_log_file *files = adp_tally_files(experiments->tally, &n);
    const char *name = run->part->experiment;
    char *folder = folder_of(files[run->files[0]].path);
    struct experiment *all =
        adp_grow(experiments->all, &experiments->cap, experiments->n + 1, sizeof *all);
    if (all)
        experiments->all = all;
    if (!all || !folder) {
        free(folder);
        return NULL;
    }
    for (size_t i = 0; i < experiments->n; i++)
        if (is(&all[i], name, folder)) {
            free(folder);
            return &all[i];
        }
    char *kept = name ? strdup(name) : NULL;
    if (name && !kept) {
        free(folder);
        return NULL;
    }
    all[experiments->n] = (struct experiment) { .name = kept, .folder = folder };
    return &all[experiments->n++];
}

static int add_run(struct adp_experiments *experiments, const struct adp_run *run)
{
    struct experiment *one = experiment_of(experiments, run);
    if (!one)
        return ADP_ENOMEM;
    if (!one->notes)
        one->notes = run->part->notes;
    one->has_baseline |= run->decided && run->part->baseline;
    for (size_t i = 0; i < one->n; i++)
        if (one->sides[i].part->candidate == run->part->candidate &&
            one->sides[i].runs[0]->decided == run->decided)
            return adp_side_add(&one->sides[i], run);
    struct adp_side *sides = adp_grow(one->sides, &one->cap, one->n + 1, sizeof *sides);
    if (!sides)
        return ADP_ENOMEM;
    one->sides = sides;
    sides[one->n] = (struct adp_side) { 0 };
    return adp_side_add(&sides[one->n++], run);
}

static int group(struct adp_experiments *experiments)
{
    size_t n;
    const struct adp_run *runs = adp_tally_runs(experiments->tally, &n);
    for (size_t i = 0; i < n; i++)
        if (add_run(experiments, &runs[i]))
            return ADP_ENOMEM;
    for (size_t i = 0; i < experiments->n; i++)
        for (size_t k = 0; k < experiments->all[i].n; k++)
            if (adp_side_settle(&experiments->all[i].sides[k]))
                return ADP_ENOMEM;
    return 0;
}

/* ---- mixtures --------------------------------------------------------------------------
 */

/* How many runs stand in each file, shadows apart, which belong to the run they stand by. */
static int count_runs(struct adp_experiments *experiments)
{
    size_t n;
    adp_tally_files(experiments->tally, &n);
    experiments->runs_in = calloc(n + 1, sizeof *experiments->runs_in);
    if (!experiments->runs_in)
        return ADP_ENOMEM;
    const struct adp_run *runs = adp_tally_runs(experiments->tally, &n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < runs[i].n_files; k++)
            experiments->runs_in[runs[i].files[k]] +=
                runs[i].decided && !adp_part_is_shadow(runs[i].part);
    return 0;
}

int adp_experiments_read(const char *const *paths, size_t n, struct adp_experiments **ret,
                         struct adp_error *err)
{
    struct adp_experiments *experiments = calloc(1, sizeof *experiments);
    if (!experiments)
        return adp_error_set(err, ADP_ENOMEM, "out of memory");
    experiments->tally = adp_tally_create();
    int e = experiments->tally ? 0 : ADP_ENOMEM;
    if (!e)
        e = adp_logs_gather(&experiments->logs, paths, n, experiments->tally, NULL, NULL,
                            err);
    if (!e)
        e = adp_tally_settle(experiments->tally, err);
    if (!e)
        e = count_runs(experiments);
    if (!e)
        e = group(experiments);
    if (e) {
        adp_experiments_destroy(experiments);
        return adp_error_set(err, e, "out of memory");
    }
    *ret = experiments;
    return 0;
}

/* ---- text -----------------------------------------------------------------------------
 */

static void print_side(FILE *to, const struct adp_side *side)
{
    const struct adp_part *part = side->part;
    char label[160], params[256];
    bool decided = side->runs[0]->decided;
    adp_part_params(part, params, sizeof params);
    snprintf(label, sizeof label, "  %s",
             part->policy ? part->policy
             : decided    ? "(no policy named)"
                          : "(no decisions)");
    adp_page_field(to, 30, label, "%zu %s%s%s%s", side->n,
                   adp_page_plural(side->n, "run", "runs"), *params ? "  " : "", params,
                   part->baseline && decided ? "  (baseline)" : "");
}

static void print_copies(FILE *to, const struct adp_experiments *experiments,
                         const struct adp_side *side)
{
    size_t n;
    const struct adp_log_file *files = adp_tally_files(experiments->tally, &n);
    const struct adp_run *runs = adp_tally_runs(experiments->tally, &n);
    for (size_t i = 0; i < side->n; i++)
        if (side->runs[i]->copy_of != ADP_NO_RUN)
            adp_page_wrap(to, 4, 6, "! %s is a copy of %s, not a repeat.",
                          files[side->runs[i]->files[0]].path,
                          files[runs[side->runs[i]->copy_of].files[0]].path);
}

static void print_experiment(FILE *to, const struct adp_experiments *experiments,
                             const struct experiment *one)
{
    size_t runs = 0;
    bool decided = false;
    for (size_t i = 0; i < one->n; i++) {
        runs += one->sides[i].n;
        decided |= one->sides[i].runs[0]->decided;
    }
    adp_page_put(to, "%s%s (%zu %s)\n", one->name ? one->name : "unnamed, in ",
                 one->name ? "" : one->folder, runs,
                 adp_page_plural(runs, "run", "runs"));
    if (one->notes)
        adp_page_wrap(to, 2, 2, "%s", one->notes);
    for (size_t i = 0; i < one->n; i++) {
        print_side(to, &one->sides[i]);
        print_copies(to, experiments, &one->sides[i]);
    }
    if (decided && !one->has_baseline)
        adp_page_wrap(to, 4, 6, "! no baseline: nothing here can be compared.");
}

/* Was the file, which holds several runs again, told before? */
static bool is_told(const struct adp_again *again, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (again[k].file == again[i].file && again[k].copy == again[i].copy)
            return true;
    return false;
}

static void print_again(FILE *to, const struct adp_experiments *experiments)
{
    size_t n, n_files;
    const struct adp_log_file *files = adp_tally_files(experiments->tally, &n_files);
    const struct adp_again *again = adp_tally_again(experiments->tally, &n);
    for (size_t i = 0; i < n; i++)
        if (!is_told(again, i))
            adp_page_wrap(
                to, 0, 2, "! %s %s: not counted.", files[again[i].file].path,
                again[i].copy && again[i].left_out
                    ? "holds some of what another file holds, and cannot be read twice"
                : again[i].copy
                    ? "holds again what another file holds"
                    : "is another recording under the name of a run there is already");
}

int adp_experiments_print(const struct adp_experiments *experiments, FILE *to)
{
    size_t n;
    const struct adp_log_file *files = adp_tally_files(experiments->tally, &n);
    const struct adp_log_list *logs = &experiments->logs;
    for (size_t i = 0; i < logs->n_unread; i++)
        adp_page_wrap(to, 0, 2, "! not read: %s: %s.", logs->unread[i].path,
                      logs->unread[i].why);
    if (logs->n_unread)
        fputc('\n', to);
    for (size_t i = 0; i < experiments->n; i++) {
        if (i)
            fputc('\n', to);
        print_experiment(to, experiments, &experiments->all[i]);
    }
    if (!experiments->n)
        fputs("No logs of decisions here.\n", to);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t in = experiments->runs_in[i];
        if (in > 1)
            adp_page_wrap(to, 0, 2,
                          "! %s is a mixture: it holds %" PRIu32
                          " runs, told apart by their lines.",
                          files[i].path, in);
    }
    print_again(to, experiments);
    return adp_page_end(to);
}

void adp_experiments_unread(const struct adp_experiments *experiments, FILE *to)
{
    adp_logs_unread(&experiments->logs, to);
}

/* ---- JSON -----------------------------------------------------------------------------
 */

static json_t *run_of(const struct adp_experiments *experiments,
                      const struct adp_run *run)
{
    size_t n;
    const struct adp_log_file *files = adp_tally_files(experiments->tally, &n);
    const struct adp_run *runs = adp_tally_runs(experiments->tally, &n);
    json_t *logs = json_array();
    for (size_t i = 0; i < run->n_files; i++)
        if (json_array_append_new(logs, adp_json_text(files[run->files[i]].path))) {
            json_decref(logs);
            return NULL;
        }
    bool copy = run->copy_of != ADP_NO_RUN;
    return json_pack(
        "{s:o, s:s, s:I, s:o, s:o}", "run", adp_json_text(run->part->run), "verdict",
        adp_finding_word(run->finding), "offered", (json_int_t)run->offered, "logs", logs,
        "copy_of", adp_json_text(copy ? files[runs[run->copy_of].files[0]].path : NULL));
}

/* Is it of a run that stands in the side before, under another configuration? */
static bool is_piece(const struct adp_side *side, size_t i)
{
    const char *name = side->runs[i]->part->run;
    for (size_t k = 0; k < i && name; k++)
        if (side->runs[k]->part->run && strcmp(side->runs[k]->part->run, name) == 0 &&
            side->runs[k]->copy_of == ADP_NO_RUN)
            return true;
    return false;
}

/* Copies are no repeats, nor are pieces of one run. */
static size_t repeats_of(const struct adp_side *side)
{
    size_t n = 0;
    for (size_t i = 0; i < side->n; i++)
        n += side->runs[i]->decided && side->runs[i]->copy_of == ADP_NO_RUN &&
             !is_piece(side, i);
    return n;
}

static json_t *side_of(const struct adp_experiments *experiments,
                       const struct adp_side *side)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < side->n; i++)
        if (json_array_append_new(runs, run_of(experiments, side->runs[i]))) {
            json_decref(runs);
            return NULL;
        }
    return json_pack("{s:o, s:o, s:b, s:I, s:o}", "policy",
                     adp_json_text(side->part->policy), "params",
                     adp_json_params(side->part), "baseline", (int)side->part->baseline,
                     "repeats", (json_int_t)repeats_of(side), "runs", runs);
}

static json_t *experiment_json(const struct adp_experiments *experiments,
                               const struct experiment *one)
{
    json_t *policies = json_array();
    for (size_t i = 0; i < one->n; i++)
        if (json_array_append_new(policies, side_of(experiments, &one->sides[i]))) {
            json_decref(policies);
            return NULL;
        }
    return json_pack("{s:o, s:o, s:b, s:o}", "experiment", adp_json_text(one->name),
                     "notes", adp_json_text(one->notes), "has_baseline",
                     (int)one->has_baseline, "policies", policies);
}

int adp_experiments_json(const struct adp_experiments *experiments, FILE *to)
{
    size_t n, n_again;
    const struct adp_log_file *files = adp_tally_files(experiments->tally, &n);
    const struct adp_again *again = adp_tally_again(experiments->tally, &n_again);
    json_t *list = json_array(), *left = json_array(), *mixed = json_array();
    int e = 0;
    for (uint32_t i = 0; i < n && !e; i++)
        if (experiments->runs_in[i] > 1)
            e = json_array_append_new(mixed, adp_json_text(files[i].path));
    for (size_t i = 0; i < experiments->n && !e; i++)
        e = json_array_append_new(list,
                                  experiment_json(experiments, &experiments->all[i]));
    for (size_t i = 0; i < n_again && !e; i++)
        e = !is_told(again, i) &&
            json_array_append_new(left, adp_json_text(files[again[i].file].path));
    if (e) {
        json_decref(list);
        json_decref(left);
        json_decref(mixed);
        return ADP_ENOMEM;
    }
    return adp_json_write_take(json_pack("{s:o, s:o, s:o}", "experiments", list,
                                         "not_counted", left, "mixtures", mixed),
                               to);
}
