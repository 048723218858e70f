/* SPDX-License-Identifier: MIT */
/* The words after "admitperf NAME", one by one. */
#include "runtime/cli/args.h"

#include "core/error.h"
#include "runtime/cli/help.h"
#include "runtime/cli/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPTIONS = 32 };

static const struct adp_option help = { 'h', "help", NULL, NULL };

int adp_args_wrong(const struct adp_args *args, const char *format, ...)
{
    char text[4096]; /* a long word too: it is veiled before it is cut */
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    adp_say("%s: %s", args->command->name, text);
    adp_say_plain("`admitperf %s --help` shows how it is called", args->command->name);
    return ADP_EXIT_BAD;
}

static int stop(struct adp_args *args, int exit)
{
    args->exit = exit;
    return ADP_ARGS_STOP;
}

/* The option of this name or letter, or NULL. */
static const struct adp_option *find(const struct adp_args *args, const char *name,
                                     size_t len, int letter)
{
    for (const struct adp_option *o = args->command->options; o->name; o++) {
        if (name ? strlen(o->name) == len && memcmp(o->name, name, len) == 0
                 : o->id == letter)
            return o;
    }
    bool asked = name ? len == 4 && memcmp(name, "help", 4) == 0 : letter == help.id;
    return asked ? &help : NULL;
}

/* `word` as typed, of which `name` is what should have named an option. */
static int unknown(struct adp_args *args, const char *word, const char *name, size_t len)
{
    const char *names[MOST_OPTIONS + 2] = { "help" };
    char typed[64];
    size_t n = 1;
    for (const struct adp_option *o = args->command->options; o->name; o++) {
        if (n <= MOST_OPTIONS)
            names[n++] = o->name;
    }
    snprintf(typed, sizeof typed, "%.*s", (int)len, name);
    const char *near = adp_error_nearest(typed, names);
    if (near)
        return stop(args, adp_args_wrong(args, "unknown option %s, did you mean --%s?",
                                         word, near));
    return stop(args, adp_args_wrong(args, "unknown option %s", word));
}

/* Takes the value of the option at hand: `joined` when it was typed in the same word. */
static int take(struct adp_args *args, const char *joined)
{
    const struct adp_option *option = args->option;
    if (!option->value && joined)
        return stop(args, adp_args_wrong(args, "--%s takes no value, found \"%s\"",
                                         option->name, joined));
    if (option == &help) {
        adp_help_command(args->command);
        return stop(args, ADP_EXIT_DONE);
    }
    if (option->value && !joined && args->at == args->argc)
        return stop(args, adp_args_wrong(args, "--%s needs a value: --%s %s",
                                         option->name, option->name, option->value));
    args->value = option->value && !joined ? args->argv[args->at++] : joined;
    return option->id;
}

int adp_args_next(struct adp_args *args)
{
    if (args->at == args->argc)
        return ADP_ARGS_END;
    const char *word = args->argv[args->at++];
    if (!args->operands_only && strcmp(word, "--") == 0) {
        args->operands_only = true;
        return adp_args_next(args);
    }
    if (args->operands_only || word[0] != '-' || !word[1]) {
        args->operands[args->n_operands++] = args->argv[args->at - 1];
        args->value = word;
        return ADP_ARGS_OPERAND;
    }
    if (word[1] != '-') {
        args->option = find(args, NULL, 0, word[1]);
        return args->option ? take(args, word[2] ? word + 2 : NULL)
                            : unknown(args, word, word + 1, strlen(word + 1));
    }
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    args->option = find(args, name, len, 0);
    return args->option ? take(args, equals ? equals + 1 : NULL)
                        : unknown(args, word, name, len);
}

struct adp_args adp_args_of(const struct adp_command *command, int argc, char **argv,
                            int at)
{
    return (struct adp_args) {
        .command = command, .argc = argc, .argv = argv, .at = at, .operands = argv + at
    };
}

const char *adp_args_program(const struct adp_args *args)
{
    return args->argc && args->argv[0][0] ? args->argv[0] : "admitperf";
}

bool adp_args_take_operands(struct adp_args *args)
{
    int word;
    while ((word = adp_args_next(args)) == ADP_ARGS_OPERAND)
        ;
    return word == ADP_ARGS_END;
}

const char *const *adp_args_operands(const struct adp_args *args)
{
    return (const char *const *)args->operands;
}

bool adp_args_count(struct adp_args *args, uint64_t lo, uint64_t hi, uint64_t *ret)
{
    uint64_t value = 0;
    const char *p = args->value;
    bool fits = *p != '\0';
    for (; fits && *p; p++) {
        unsigned digit = (unsigned)(unsigned char)*p - '0';
        fits = digit <= 9 && digit <= hi && value <= (hi - digit) / 10;
        value = value * 10 + digit;
    }
    if (fits && value >= lo) {
        *ret = value;
        return true;
    }
    args->exit = adp_args_wrong(
        args, "--%s takes a whole number from %llu to %llu, found \"%s\"",
        args->option->name, (unsigned long long)lo, (unsigned long long)hi, args->value);
    return false;
}
