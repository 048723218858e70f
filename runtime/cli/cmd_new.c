/* SPDX-License-Identifier: MIT */
/* admitperf new: a folder with a policy, what builds it, tests it and runs it.
 *
 * The texts are in runtime/cli/templates; here is what they are filled with and where
 * they go.
 *
 *  1. Nothing that is there already is touched: the folder is made, or nothing is.
 *  2. A folder that could not be filled whole is removed again.
 *  3. Whatever the umask, its owner may do all with it, and not everybody may write to it:
 *     otherwise no policy could be built there, or none be loaded from there. */
#include "core/error.h"
#include "runtime/cli/args.h"
#include "runtime/cli/say.h"
#include "runtime/cli/stop.h"
#include "runtime/cli/templates.h"
#include "runtime/loader/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPT_LANG = 256, OPT_STRUCTURE };

enum { LONGEST_NAME = 63 };

static const struct adp_option options[] = {
    { OPT_LANG, "lang", "LANGUAGE", "c, c++ or rust (default c)" },
    { OPT_STRUCTURE, "structure", "RULE",
      "scalar: one threshold (default); dual-gate: two\n"
      "that must both hold" },
    { 'o', "output", "DIR", "the folder to make (default NAME)" },
    { 0 },
};

static int run(struct adp_args *args);

const struct adp_command adp_cmd_new = {
    .name = "new",
    .does = "start a policy of your own: source, build file, test, configuration",
    .synopsis = "NAME [--lang LANGUAGE] [--structure RULE] [-o DIR]",
    .about =
        "Makes a folder in which `make test` builds NAME.so against the installed SDK\n"
        "and holds what it answers against rows.txt, a table of metrics and verdicts.\n"
        "NAME.yaml runs it. What is made is yours, under a licence of yours.\n"
        "\n"
        "NAME is [a-z][a-z0-9_]*, at most 63, and no policy's that is found by name.",
    .options = options,
    .example = "admitperf new kv_guard --structure dual-gate",
    .exits =
        "0    made\n"
        "2    bad usage, the folder is there already or cannot be made: nothing is; or\n"
        "     what it made could not be listed on standard output\n"
        "129  stopped by SIGHUP, 130 by SIGINT, 143 by SIGTERM: nothing is made",
    .run = run,
};

static const struct language {
    const char *name, *ext;
} languages[] = { { "c", "c" }, { "c++", "cc" }, { "rust", "rs" } };

enum { N_LANGUAGES = sizeof languages / sizeof languages[0] };

static const char *const structures[] = { "scalar", "dual-gate", NULL };

/* What is made of which template. Names are filled in as texts are. */
static const struct {
    const char *template, *as, *what;
} files[] = {
    { "policy-@STRUCTURE@.@EXT@", "@NAME@.@EXT@", "the policy" },
    { "Makefile-@EXT@", "Makefile", "builds it against the installed SDK" },
    { "rows-@STRUCTURE@.txt", "rows.txt", "what it must answer" },
    { "test.sh", "test.sh", "asks it" },
    { "policy.yaml", "@NAME@.yaml", "the configuration that runs it" },
    { "README.md", "README.md", "how to go on" },
};

enum { N_FILES = sizeof files / sizeof files[0] };

struct asked {
    const char *name, *ext, *structure, *folder;
};

struct file {
    char *name, *text; /* owned */
};

/* --- what was asked --- */

static int unknown_word(struct adp_args *args, const char *expected,
                        const char *const *words)
{
    const char *near = adp_error_nearest(args->value, words);
    return near ? adp_args_wrong(args, "--%s takes %s, found \"%s\", did you mean %s?",
                                 args->option->name, expected, args->value, near)
                : adp_args_wrong(args, "--%s takes %s, found \"%s\"", args->option->name,
                                 expected, args->value);
}

static int take_language(struct adp_args *args, struct asked *ret)
{
    const char *names[N_LANGUAGES + 1] = { 0 };
    for (int i = 0; i < N_LANGUAGES; i++) {
        names[i] = languages[i].name;
        if (strcmp(languages[i].name, args->value) == 0) {
            ret->ext = languages[i].ext;
            return -1;
        }
    }
    return unknown_word(args, "c, c++ or rust", names);
}

static int take_structure(struct adp_args *args, struct asked *ret)
{
    for (const char *const *s = structures; *s; s++) {
        if (strcmp(*s, args->value) == 0) {
            ret->structure = *s;
            return -1;
        }
    }
    return unknown_word(args, "scalar or dual-gate", structures);
}

static bool is_name(const char *text)
{
    static const char alnum[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    return text[0] >= 'a' && text[0] <= 'z' && !text[strspn(text, alnum)] &&
           strlen(text) <= LONGEST_NAME;
}

/* `use: NAME` must go on meaning what it means. */
static int check(struct adp_args *args, struct asked *asked)
{
    char path[PATH_MAX];
    if (!args->n_operands)
        return adp_args_wrong(args, "no name given: NAME");
    if (args->n_operands > 1)
        return adp_args_wrong(args, "takes one name, found \"%s\" too",
                              args->operands[1]);
    asked->name = args->operands[0];
    if (!is_name(asked->name))
        return adp_args_wrong(args,
                              "\"%s\" is not a policy's name, expected [a-z][a-z0-9_]* "
                              "of at most %d",
                              asked->name, LONGEST_NAME);
    if (adp_loader_find(asked->name, NULL, path, sizeof path, NULL) == 0)
        return adp_args_wrong(args, "the name %s is taken by %s", asked->name, path);
    if (!asked->folder)
        asked->folder = asked->name;
    if (!asked->folder[0])
        return adp_args_wrong(args, "-o needs the name of a folder");
    return -1;
}

/* -1: go on; else what to exit with. */
static int parse(struct adp_args *args, struct asked *ret)
{
    int wrong = -1;
    for (int o; wrong < 0 && (o = adp_args_next(args)) != ADP_ARGS_END;) {
        switch (o) {
        case OPT_LANG:
            wrong = take_language(args, ret);
            break;
        case OPT_STRUCTURE:
            wrong = take_structure(args, ret);
            break;
        case 'o':
            ret->folder = args->value;
            break;
        case ADP_ARGS_OPERAND:
            break;
        default:
            return args->exit;
        }
    }
    return wrong < 0 ? check(args, ret) : wrong;
}

/* --- filling --- */

/* `text` with each @WORD@ replaced; freed by the caller. NULL: out of memory. */
static char *fill(const char *text, const struct asked *asked)
{
    const struct {
        const char *mark, *value;
    } marks[] = {
        { "@NAME@", asked->name },
        { "@EXT@", asked->ext },
        { "@STRUCTURE@", asked->structure },
    };
    enum { N_MARKS = sizeof marks / sizeof marks[0] };
    char *filled = NULL;
    size_t len;
    FILE *to = open_memstream(&filled, &len);
    while (to && *text) {
        size_t i = 0, plain = strcspn(text + 1, "@") + 1;
        while (i < N_MARKS && strncmp(text, marks[i].mark, strlen(marks[i].mark)) != 0)
            i++;
        if (i < N_MARKS)
            fputs(marks[i].value, to);
        else
            fwrite(text, 1, plain, to);
        text += i < N_MARKS ? strlen(marks[i].mark) : plain;
    }
    if (to && fclose(to) == 0)
        return filled;
    free(filled);
    return NULL;
}

static const char *text_of(const char *template)
{
    const struct adp_template *t = adp_templates;
    while (t->name && strcmp(t->name, template) != 0)
        t++;
    return t->text;
}

static void release(struct file list[N_FILES])
{
    for (int i = 0; i < N_FILES; i++) {
        free(list[i].name);
        free(list[i].text);
    }
}

/* The files as they will be, before the disk is touched. */
static int compose(const struct asked *asked, struct file ret_list[N_FILES],
                   struct adp_error *err)
{
    struct file list[N_FILES] = { 0 };
    for (int i = 0; i < N_FILES; i++) {
        char *template = fill(files[i].template, asked);
        const char *text = template ? text_of(template) : NULL;
        list[i].name = fill(files[i].as, asked);
        list[i].text = text ? fill(text, asked) : NULL;
        free(template);
        if (!list[i].name || !list[i].text) {
            release(list);
            return adp_error_set(err, ADP_ENOMEM, "out of memory");
        }
    }
    memcpy(ret_list, list, sizeof list);
    return 0;
}

/* --- making --- */

enum { MADE = 0, STOPPED = 1 };

static int refuse(struct adp_error *err, const char *path, const char *what)
{
    return adp_error_at(err, ADP_EIO, path, 0, 0, "%s: %s", what, strerror(errno));
}

/* A file that could not be written whole is removed again. */
static int write_file(int folder, const struct file *file, struct adp_error *err)
{
    mode_t mode = strncmp(file->text, "#!", 2) == 0 ? 0775 : 0664;
    int fd = openat(folder, file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return refuse(err, file->name, "cannot make");
    size_t len = strlen(file->text), done = 0;
    ssize_t n;
    while (done < len && (n = write(fd, file->text + done, len - done)) > 0)
        done += (size_t)n;
    int code = done == len ? 0 : refuse(err, file->name, "cannot write");
    if (close(fd) != 0 && code == 0)
        code = refuse(err, file->name, "cannot write");
    if (code < 0)
        unlinkat(folder, file->name, 0);
    return code;
}

/* All of it or nothing. MADE, STOPPED or a negative code. */
static int make(const char *path, const struct file list[N_FILES],
                const volatile sig_atomic_t *stop, struct adp_error *err)
{
    if (mkdir(path, 0775) != 0)
        return errno == EEXIST ? adp_error_at(err, ADP_EIO, path, 0, 0,
                                              "is there already, and is left as it is")
                               : refuse(err, path, "cannot make the folder");
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
    int code = folder < 0 ? refuse(err, path, "cannot open the folder") : 0;
    while (code == MADE && !*stop && n < N_FILES) {
        code = write_file(folder, &list[n], err);
        n += code == 0;
    }
    if (code == MADE && *stop)
        code = STOPPED;
    if (code != MADE) {
        while (n > 0)
            unlinkat(folder, list[--n].name, 0);
        rmdir(path);
    }
    if (folder >= 0)
        close(folder);
    return code;
}

static void teach(const struct asked *asked, const struct file list[N_FILES])
{
    printf("Made in ");
    adp_say_word(stdout, asked->folder);
    printf(":\n");
    for (int i = 0; i < N_FILES; i++)
        printf("  %-20s  %s\n", list[i].name, files[i].what);
    printf("\nNext:\n  cd ");
    adp_say_path(stdout, asked->folder);
    printf("\n  make test\n  admitperf demo -c %s.yaml\n", asked->name);
}

static int run(struct adp_args *args)
{
    struct asked asked = { .ext = languages[0].ext, .structure = structures[0] };
    struct file list[N_FILES] = { 0 };
    struct adp_error err = { 0 };
    int wrong = parse(args, &asked);
    if (wrong >= 0)
        return wrong;
    const volatile sig_atomic_t *stop = adp_stop_watch();
    umask(umask(0) & ~(mode_t)S_IRWXU);
    int code = compose(&asked, list, &err);
    if (code == 0)
        code = make(asked.folder, list, stop, &err);
    if (code < 0)
        adp_say_error(&err);
    else if (code == MADE)
        teach(&asked, list);
    release(list);
    return code < 0 ? ADP_EXIT_BAD : code == STOPPED ? 128 + (int)*stop : ADP_EXIT_DONE;
}
