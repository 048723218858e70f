/* SPDX-License-Identifier: MIT */
/* admitperf policies: what can be loaded here, and what it reads, takes and refuses. */
#include "core/line.h"
#include "runtime/analysis/page.h"
#include "runtime/check/call.h"
#include "runtime/check/child.h"
#include "runtime/check/sandbox.h"
#include "runtime/cli/args.h"
#include "runtime/cli/named.h"
#include "runtime/cli/say.h"
#include "runtime/loader/declared.h"
#include "runtime/loader/file.h"
#include "runtime/loader/loader.h"
#include "runtime/loader/table.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct adp_option options[] = {
    { 'j', "json", NULL, "for machines: one array of those that are listed" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_policies = {
    .name = "policies",
    .does = "list the policies that can be loaded here, or describe some",
    .synopsis = "[--json] [NAME | FILE.so]...",
    .about =
        "Without a name: every policy in the folders of $ADMITPERF_PLUGIN_PATH "
        "(absolute,\n"
        "colon-separated), in the build tree of a program that was not installed, and "
        "in the\n"
        "installed folder. NAME is the file's name without .so; of two with one name "
        "the\n"
        "first is what `use: NAME` loads, and is listed. Where a policy calls itself\n"
        "otherwise, both are said. A word with a slash, or .so at its end, is a file.\n"
        "\n"
        "Each policy is really loaded, in a process of its own, which may read, compute\n"
        "and print (to nowhere), and nothing else. A file that makes another system\n"
        "call (to write a file, to make a process, a thread or a connection, to signal\n"
        "whoever started it), that crashes, or does not end within 5 s, is not listed:\n"
        "that is said instead, and the others are.",
    .options = options,
    .example = "admitperf policies queue_depth",
    .exits = "0  all of them are listed\n"
             "2  bad usage, nothing found, or one of them cannot be loaded",
    .run = run,
};

static const char *op_sign(uint32_t op)
{
    static const char *const signs[] = {
        [ADP_GE] = ">=", [ADP_GT] = ">", [ADP_LE] = "<=", [ADP_LT] = "<"
    };
    return op < sizeof signs / sizeof signs[0] && signs[op] ? signs[op] : "?";
}

/* Texts may be NULL or "" where there is nothing to say. */
static bool is_said(const char *text)
{
    return text && text[0];
}

static const char *kind_word(uint32_t kind)
{
    return kind == ADP_I64 ? "integer" : kind == ADP_BOOL ? "boolean" : "number";
}

/* Columns of the longest name of a signal or parameter, 16 at least. */
static int name_width(const struct adp_loaded *loaded)
{
    size_t width = 16;
    for (uint32_t i = 0; i < loaded->policy.n_signals; i++) {
        size_t n = strlen(adp_loaded_signal(loaded, i).name);
        width = n > width ? n : width;
    }
    for (uint32_t i = 0; i < loaded->policy.n_params; i++) {
        size_t n = strlen(adp_loaded_param(loaded, i).name);
        width = n > width ? n : width;
    }
    return (int)width;
}

static const char *truth_word(double value)
{
    return value != 0.0 ? "true" : "false";
}

/* What may be written for it: a boolean is no number in a configuration. */
static void print_range(const struct adp_param *p)
{
    if (is_said(p->unit))
        printf("%s, ", p->unit);
    else if (p->kind != ADP_BOOL)
        printf("%s, ", kind_word(p->kind));
    if (p->kind != ADP_BOOL)
        printf("%s to %s", adp_page_exact(p->lo).text, adp_page_exact(p->hi).text);
    else if (p->lo < p->hi)
        printf("true or false");
    else
        printf("%s", truth_word(p->lo));
}

static void print_param(const struct adp_param *p, const char *lead, int width,
                        bool whole)
{
    printf("  %-8s  %-*s  ", lead, width, p->name);
    print_range(p);
    if (p->flags & ADP_REQUIRED)
        printf(", required\n");
    else if (p->kind == ADP_BOOL)
        printf(", default %s\n", truth_word(p->dflt));
    else
        printf(", default %s\n", adp_page_exact(p->dflt).text);
    if (whole && is_said(p->doc))
        printf("  %-8s  %-*s  %s\n", "", width, "", p->doc);
}

static void print_gates(const struct adp_loaded *loaded)
{
    uint32_t n = loaded->policy.n_gates;
    for (uint32_t i = 0; i < n; i++) {
        struct adp_gate g = adp_loaded_gate(loaded, i);
        bool same_rule = i > 0 && adp_loaded_gate(loaded, i - 1).rule == g.rule;
        struct adp_signal s = adp_loaded_signal(loaded, g.signal);
        const char *word = i == 0 ? "  refuses   " : same_rule ? " and " : " or ";
        printf("%s%s %s ", word, s.name, op_sign(g.op));
        if (g.param == ADP_NONE)
            printf("its own threshold");
        else
            printf("%s", adp_loaded_param(loaded, g.param).name);
    }
    if (n)
        printf("\n");
}

static void print_card(const struct adp_loaded *loaded)
{
    struct adp_card c = adp_loaded_card(loaded);
    const struct {
        const char *name, *value;
    } rows[] = {
        { "unit", c.unit },
        { "setting", c.setting },
        { "slo", c.slo_awareness },
        { "quantity", c.signal_quantity },
        { "structure", c.signal_structure },
        { "assumes", c.metadata_assumed },
        { "portable", c.portability },
        { "source", c.source },
        { "file", loaded->path },
        { "sha256", loaded->sha256 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_said(rows[i].value)) /* the path may have anything in it */
            adp_page_put(stdout, "  %-9s %s\n", rows[i].name, rows[i].value);
    }
}

/* `use`: what it is found by, or "" for who was named by a path. */
static void print_policy(const struct adp_loaded *loaded, const char *use, bool whole)
{
    const struct adp_policy *p = &loaded->policy;
    printf("%s", p->name);
    if (*use && strcmp(use, p->name) != 0)
        printf(" (use: %s)", use);
    if (is_said(p->version))
        printf(" %s", p->version);
    if (loaded->baseline)
        printf(" (baseline)");
    if (is_said(p->doc))
        printf(": %s", p->doc);
    printf("\n");
    int width = name_width(loaded);
    for (uint32_t i = 0; i < p->n_signals; i++) {
        struct adp_signal s = adp_loaded_signal(loaded, i);
        printf("  %-8s  %-*s  %s%s\n", i ? "" : "reads", width, s.name, s.unit,
               s.flags & ADP_REPLICAS ? ", per replica too" : "");
    }
    for (uint32_t i = 0; i < p->n_params; i++) {
        struct adp_param param = adp_loaded_param(loaded, i);
        print_param(&param, i ? "" : "takes", width, whole);
    }
    if (p->flags & ADP_TAKES_CONFIG)
        printf("  %-8s  %s\n", p->n_params ? "" : "takes", "a config of its own");
    print_gates(loaded);
    if (whole)
        print_card(loaded);
    printf("\n");
}

static void write_tables(struct adp_line *out, const struct adp_loaded *loaded)
{
    const struct adp_policy *p = &loaded->policy;
    adp_line_key(out, "signals");
    adp_line_puts(out, "[");
    for (uint32_t i = 0; i < p->n_signals; i++) {
        struct adp_signal s = adp_loaded_signal(loaded, i);
        adp_line_puts(out, i ? ",{" : "{");
        adp_line_key_text(out, "name", s.name);
        adp_line_key_text(out, "unit", s.unit);
        adp_line_key_bool(out, "per_replica", s.flags & ADP_REPLICAS);
        adp_line_puts(out, "}");
    }
    adp_line_puts(out, "]");
    adp_line_key(out, "params");
    adp_line_puts(out, "[");
    for (uint32_t i = 0; i < p->n_params; i++) {
        struct adp_param q = adp_loaded_param(loaded, i);
        bool required = q.flags & ADP_REQUIRED;
        adp_line_puts(out, i ? ",{" : "{");
        adp_line_key_text(out, "name", q.name);
        adp_line_key_text(out, "unit", q.unit);
        adp_line_key_text(out, "doc", q.doc);
        adp_line_key_text(out, "kind", kind_word(q.kind));
        adp_line_key_number(out, "min", q.lo);
        adp_line_key_number(out, "max", q.hi);
        adp_line_key_bool(out, "required", required);
        adp_line_key(out, "default");
        if (required)
            adp_line_puts(out, "null");
        else if (q.kind == ADP_BOOL) /* as it is written in a configuration */
            adp_line_puts(out, truth_word(q.dflt));
        else
            adp_line_number(out, q.dflt);
        adp_line_puts(out, "}");
    }
    adp_line_puts(out, "]");
    adp_line_key(out, "gates");
    adp_line_puts(out, "[");
    for (uint32_t i = 0; i < p->n_gates; i++) {
        struct adp_gate g = adp_loaded_gate(loaded, i);
        adp_line_puts(out, i ? ",{" : "{");
        adp_line_key_u64(out, "rule", g.rule);
        adp_line_key_text(out, "signal", adp_loaded_signal(loaded, g.signal).name);
        adp_line_key_text(out, "op", op_sign(g.op));
        adp_line_key_text(out, "param",
                          g.param == ADP_NONE ? NULL
                                              : adp_loaded_param(loaded, g.param).name);
        adp_line_puts(out, "}");
    }
    adp_line_puts(out, "]");
}

static void write_card(struct adp_line *out, const struct adp_loaded *loaded)
{
    struct adp_card card = adp_loaded_card(loaded);
    struct adp_card_text rows[ADP_CARD_TEXTS];
    adp_card_texts(&card, rows);
    adp_line_key(out, "card");
    adp_line_puts(out, "{");
    for (size_t i = 0; i < ADP_CARD_TEXTS; i++)
        adp_line_key_text(out, rows[i].key, rows[i].text);
    adp_line_puts(out, "}");
}

static void write_policy(struct adp_line *out, const struct adp_loaded *loaded,
                         const char *use)
{
    const struct adp_policy *p = &loaded->policy;
    const struct {
        const char *name, *value;
    } rows[] = {
        { "name", p->name },      { "version", p->version },    { "doc", p->doc },
        { "file", loaded->path }, { "sha256", loaded->sha256 },
    };
    adp_line_puts(out, "{");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        adp_line_key_text(out, rows[i].name, rows[i].value);
    adp_line_key_text(out, "use", use);
    adp_line_key_bool(out, "baseline", loaded->baseline);
    adp_line_key_text(out, "threading",
                      p->threading == ADP_CONCURRENT ? "concurrent" : "serial");
    adp_line_key_bool(out, "takes_config", p->flags & ADP_TAKES_CONFIG);
    adp_line_key_u64(out, "max_saved", p->save ? p->max_saved : 0);
    write_tables(out, loaded);
    write_card(out, loaded);
    adp_line_puts(out, "}");
}

/* --- looking, in a process of its own ---
 *
 * The file's constructors run in a child. What it found comes back in shared memory as a
 * record (runtime/loader/declared.h), and it is this process that judges, words and prints it:
 * no descriptor leads from the child to the page, so what a constructor closes, or writes to
 * whatever is open, changes neither the page nor the exit code.
 *
 * What is promised: a file speaks of itself alone. A constructor that writes into the record
 * can declare other tables there than the file has, as it could have changed its own tables;
 * they pass the loader's rules here, so they are a lawful declaration, under the path and
 * sha256 that this process read. A child that leaves no record is an error. */

enum { LOOK_MS = 5000 };

struct listing {
    bool json, whole;
    bool by_name; /* the one at hand is what `use:` finds by its file's name */
    unsigned found, failed;
    struct adp_line out; /* JSON */
};

enum { NOTHING_FOUND, FOUND, REFUSED };

/* What the child leaves; anything may stand there. */
struct leaving {
    uint32_t found;
    uint32_t refused; /* 1 + the system call that ended it; 0: none did */
    char refusal[sizeof((struct adp_error *)0)->text];
    struct adp_declared declared;
};

struct look {
    const char *path, *sha256;
    struct leaving *leaving; /* shared memory */
};

static struct leaving *left; /* the child's: a signal's handler is told nothing else */

static void leave_refused(int number)
{
    left->refused = (uint32_t)number + 1;
    adp_child_exit(1);
}

static void look_at(void *ctx)
{
    struct look *look = ctx;
    struct adp_loaded *loaded;
    struct adp_error err = { 0 };
    left = look->leaving;
    /* where there is no fence, there is still the process */
    adp_sandbox_enter(LOOK_MS / 1000, leave_refused);
    if (adp_loader_load(&loaded, look->path, look->sha256, &err) < 0) {
        memcpy(look->leaving->refusal, err.text, sizeof err.text);
        look->leaving->found = REFUSED;
    } else if (adp_declared_write(&look->leaving->declared, &loaded->policy)) {
        look->leaving->found = FOUND;
    }
}

/* A number that nobody has is one that somebody wrote there. */
static int refuse_call(const struct look *look, struct adp_error *err)
{
    int number = (int)(look->leaving->refused - 1);
    const char *name = adp_call_name(number);
    if (name)
        return adp_error_at(err, ADP_EABI, look->path, 0, 0,
                            "when it was loaded, it made the system call %s, which no "
                            "policy may make there",
                            name);
    return adp_error_at(err, ADP_EABI, look->path, 0, 0,
                        "when it was loaded, it made system call %d, which no policy "
                        "may make there",
                        number);
}

static int run_child(struct look *look, struct adp_error *err)
{
    struct adp_child child;
    char words[160];
    adp_child_run(&child, (struct adp_child_limit) { .ms = LOOK_MS }, look_at, look);
    if (child.finished)
        return 0;
    if (look->leaving->refused)
        return refuse_call(look, err);
    adp_child_words(&child, LOOK_MS, words, sizeof words);
    return adp_error_at(err, ADP_EABI, look->path, 0, 0, "when it was loaded, %s%s%s",
                        words, child.said[0] ? ": " : "", child.said);
}

/* From our own copy of what the child left: without a filter something that it started may
 * still be writing to the other. */
static int judge(struct adp_loaded *ret, struct leaving *leaving, const struct look *look,
                 struct adp_error *err)
{
    leaving->refusal[sizeof leaving->refusal - 1] = '\0';
    if (leaving->found == REFUSED)
        return adp_error_at(err, ADP_EABI, look->path, 0, 0, "%s", leaving->refusal);
    if (leaving->found != FOUND)
        return adp_error_at(err, ADP_EABI, look->path, 0, 0,
                            "when it was loaded, it left nothing to be read");
    int r = adp_declared_read(&leaving->declared, look->path, err);
    if (r < 0)
        return r;
    ret->policy = leaving->declared.policy;
    ret->baseline = leaving->declared.card.flags & ADP_BASELINE;
    snprintf(ret->path, sizeof ret->path, "%s", look->path);
    snprintf(ret->sha256, sizeof ret->sha256, "%s", look->sha256);
    return 0;
}

/* NAME of FOLDER/NAME.so. */
static void copy_stem(const char *path, char *to, size_t cap)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    snprintf(to, cap, "%.*s", (int)strcspn(base, "."), base);
}

static void put_policy(struct listing *list, const struct adp_loaded *loaded)
{
    char use[NAME_MAX + 1] = "";
    if (list->by_name)
        copy_stem(loaded->path, use, sizeof use);
    if (!list->json) {
        print_policy(loaded, use, list->whole);
        return;
    }
    if (list->out.len > 1)
        adp_line_puts(&list->out, ",");
    write_policy(&list->out, loaded, *use ? use : NULL);
}

static int look(struct listing *list, const char *path, const char *sha256,
                struct adp_error *err)
{
    int r;
    struct look l = { path, sha256, NULL };
    struct adp_loaded loaded = { 0 };
    struct leaving *ours = malloc(sizeof *ours);
    l.leaving = mmap(NULL, sizeof *l.leaving, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!ours || l.leaving == MAP_FAILED) {
        r = adp_error_at(err, ADP_ENOMEM, path, 0, 0, "out of memory");
        goto out;
    }
    fflush(stdout);
    if ((r = run_child(&l, err)) < 0)
        goto out;
    memcpy(ours, l.leaving, sizeof *ours);
    if ((r = judge(&loaded, ours, &l, err)) == 0)
        put_policy(list, &loaded);
out:
    if (l.leaving != MAP_FAILED)
        munmap(l.leaving, sizeof *l.leaving);
    free(ours);
    return r;
}

static void show(void *ctx, const char *path)
{
    struct listing *list = ctx;
    struct adp_error err = { 0 };
    struct adp_file file = { 0 };
    list->found++;
    if (adp_file_read(&file, path, ADP_LOADER_MAX_BYTES, &err) < 0 ||
        look(list, path, file.sha256, &err) < 0) {
        adp_say_error(&err);
        list->failed++;
    }
    adp_file_finish(&file);
}

/* The policy a word on the command line means; what cannot be found is said. */
static void show_named(struct listing *list, const char *word)
{
    char path[PATH_MAX];
    struct adp_error err = { 0 };
    list->by_name = !adp_named_is_path(word);
    if (adp_named_file(word, path, sizeof path, &err) < 0) {
        adp_say_error(&err);
        list->failed++;
        return;
    }
    show(list, path);
}

static int list_all(struct listing *list)
{
    struct adp_error err = { 0 };
    list->by_name = true;
    if (adp_loader_list(show, list, &err) < 0) {
        adp_say_error(&err);
        return ADP_EXIT_BAD;
    }
    if (!list->found) {
        adp_say("no policy found: neither in $ADMITPERF_PLUGIN_PATH%s nor in the "
                "installed folder",
                getenv("ADMITPERF_PLUGIN_PATH") ? "" : ", which is not set,");
        return ADP_EXIT_BAD;
    }
    return ADP_EXIT_DONE;
}

/* The line feed by itself: it waits in stdio's buffer for the end of the program, which so
 * learns why the rest could not be written, if it could not. */
static void put_page(const struct adp_line *out)
{
    fwrite(out->text, 1, out->len - 1, stdout);
    putchar(out->text[out->len - 1]);
}

static int run(struct adp_args *args)
{
    struct listing list = { 0 };
    for (int o; (o = adp_args_next(args)) != ADP_ARGS_END;) {
        if (o == 'j')
            list.json = true;
        else if (o != ADP_ARGS_OPERAND)
            return args->exit;
    }
    list.whole = args->n_operands > 0;
    adp_line_init(&list.out);
    adp_line_puts(&list.out, "[");
    for (size_t i = 0; i < args->n_operands; i++)
        show_named(&list, args->operands[i]);
    int code = list.whole ? ADP_EXIT_DONE : list_all(&list);
    adp_line_puts(&list.out, "]\n");
    if (list.json && !list.out.broken)
        put_page(&list.out);
    if (list.out.broken)
        adp_say("out of memory");
    bool bad = list.failed || list.out.broken;
    adp_line_finish(&list.out);
    return bad ? ADP_EXIT_BAD : code;
}
