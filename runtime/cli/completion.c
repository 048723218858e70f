/* SPDX-License-Identifier: MIT */
/* Completion for shells. The first word is a command; after it come its options, and for
 * anything else the shell's own: names of files, which is what commands take. */
#include "runtime/cli/completion.h"

#include <stdbool.h>
#include <string.h>

/* The commands whose operand is no file. */
static const char *const shells_of = "completion";
static const char *const commands_of = "manual";

static const struct adp_option help = { 'h', "help", NULL, "what the command does" };

/* The first line of `text` within single quotes; of a shell that knows no way out of them the
 * quote is ended for a moment. */
static void put_quoted(FILE *to, const char *text, const char *quote, const char *escaped)
{
    for (size_t i = 0; text[i] && text[i] != '\n'; i++) {
        if (text[i] == '\'')
            fputs(quote, to);
        else if (strchr(escaped, text[i]))
            fprintf(to, "\\%c", text[i]);
        else
            fputc(text[i], to);
    }
}

static void put_shells(FILE *to)
{
    for (int i = 0; adp_completion_shells[i]; i++)
        fprintf(to, "%s%s", i ? " " : "", adp_completion_shells[i]);
}

static void put_names(FILE *to, const struct adp_command *const *commands)
{
    for (int i = 0; commands[i]; i++)
        fprintf(to, "%s%s", i ? " " : "", commands[i]->name);
}

/* The option, and behind the last --help; NULL: there are no more. */
static const struct adp_option *option_of(const struct adp_command *command, int i)
{
    for (int k = 0; k < i; k++)
        if (!command->options[k].name)
            return NULL;
    return command->options[i].name ? &command->options[i] : &help;
}

/* --- bash: programmable completion, as in its manual --- */

static void put_bash_options(FILE *to, const struct adp_command *command, bool with_value)
{
    const struct adp_option *o;
    const char *between = "";
    for (int i = 0; (o = option_of(command, i)); i++) {
        if (with_value && !o->value)
            continue;
        if (with_value && o->id < 256)
            fprintf(to, "%s%s:-%c", between, command->name, o->id);
        if (with_value && o->id < 256)
            between = "|";
        if (with_value)
            fprintf(to, "%s%s:--%s", between, command->name, o->name);
        else
            fprintf(to, "%s--%s", between, o->name);
        between = with_value ? "|" : " ";
    }
}

static bool has_value(const struct adp_command *command)
{
    for (const struct adp_option *o = command->options; o->name; o++)
        if (o->value)
            return true;
    return false;
}

static void print_bash(FILE *to, const struct adp_command *const *commands)
{
    fputs("# bash completion for admitperf\n"
          "_admitperf()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} "
          "words=\n"
          "    COMPREPLY=()\n"
          "    # --name=VALUE comes in three words.\n"
          "    test \"$cur\" != = || return 0\n"
          "    test \"$prev\" != = || return 0\n"
          "    if test \"$COMP_CWORD\" -eq 1; then\n"
          "        words='help ",
          to);
    put_names(to, commands);
    fputs(" --help --version'\n    else\n"
          "        case ${COMP_WORDS[1]}:$prev in\n",
          to);
    for (int i = 0; commands[i]; i++)
        if (has_value(commands[i])) {
            fputs("        ", to);
            put_bash_options(to, commands[i], true);
            fputs(") return 0 ;;\n", to);
        }
    fprintf(to,
            "        esac\n"
            "        case ${COMP_WORDS[1]}:$cur in\n"
            "        help:*|%s:[!-]*|%s:) words='",
            commands_of, commands_of);
    put_names(to, commands);
    fprintf(to, "' ;;\n        %s:[!-]*|%s:) words='", shells_of, shells_of);
    put_shells(to);
    fputs("' ;;\n", to);
    for (int i = 0; commands[i]; i++) {
        fprintf(to, "        %s:-*) words='", commands[i]->name);
        put_bash_options(to, commands[i], false);
        fputs("' ;;\n", to);
    }
    fputs("        esac\n    fi\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\n"
          "complete -o bashdefault -o default -F _admitperf admitperf\n",
          to);
}

/* --- zsh: _arguments and _describe, zshcompsys(1) --- */

static void put_zsh_option(FILE *to, const struct adp_option *o)
{
    if (o->id < 256)
        fprintf(to, " \\\n        '(-%c --%s)'{-%c,--%s%s}'[", o->id, o->name, o->id,
                o->name, o->value ? "=" : "");
    else
        fprintf(to, " \\\n        '*--%s%s[", o->name, o->value ? "=" : "");
    put_quoted(to, o->help, "'\\''", "[]:\\");
    fputs("]", to);
    if (o->value) {
        fputc(':', to);
        put_quoted(to, o->value, "'\\''", "[]:\\");
        fputs(":_files", to);
    }
    fputc('\'', to);
}

static void put_zsh_operands(FILE *to, const struct adp_command *command,
                             const struct adp_command *const *commands)
{
    fputs(" \\\n        '", to);
    if (strcmp(command->name, shells_of) == 0) {
        fputs("1:shell:(", to);
        put_shells(to);
        fputs(")'", to);
    } else if (strcmp(command->name, commands_of) == 0) {
        fputs("1:command:(", to);
        put_names(to, commands);
        fputs(")'", to);
    } else {
        fputs("*:file:_files'", to);
    }
}

static void print_zsh(FILE *to, const struct adp_command *const *commands)
{
    const struct adp_option *o;
    fputs("#compdef admitperf\n"
          "local -a names\n"
          "names=(\n"
          "    'help:what the program or a command does'\n",
          to);
    for (int i = 0; commands[i]; i++) {
        fprintf(to, "    '%s:", commands[i]->name);
        put_quoted(to, commands[i]->does, "'\\''", ":\\");
        fputs("'\n", to);
    }
    fputs(")\n"
          "if (( CURRENT == 2 )); then\n"
          "    _describe command names\n"
          "    return\n"
          "fi\n"
          "shift words\n"
          "(( CURRENT-- ))\n"
          "case $words[1] in\n"
          "help)\n    _describe command names\n    ;;\n",
          to);
    for (int i = 0; commands[i]; i++) {
        fprintf(to, "%s)\n    _arguments", commands[i]->name);
        for (int k = 0; (o = option_of(commands[i], k)); k++)
            put_zsh_option(to, o);
        put_zsh_operands(to, commands[i], commands);
        fputs("\n    ;;\n", to);
    }
    fputs("esac\n", to);
}

/* --- fish: complete(1) --- */

static void put_fish_option(FILE *to, const char *command, const struct adp_option *o)
{
    fprintf(to, "complete -c admitperf -n '__fish_seen_subcommand_from %s'", command);
    if (o->id < 256)
        fprintf(to, " -s %c", o->id);
    fprintf(to, " -l %s%s -d '", o->name, o->value ? " -r" : "");
    put_quoted(to, o->help, "\\'", "\\");
    fputs("'\n", to);
}

static void print_fish(FILE *to, const struct adp_command *const *commands)
{
    const struct adp_option *o;
    fputs("# fish completion for admitperf\n"
          "complete -c admitperf -n __fish_use_subcommand -f -a help "
          "-d 'what the program or a command does'\n",
          to);
    for (int i = 0; commands[i]; i++) {
        fprintf(to, "complete -c admitperf -n __fish_use_subcommand -f -a %s -d '",
                commands[i]->name);
        put_quoted(to, commands[i]->does, "\\'", "\\");
        fputs("'\n", to);
    }
    fprintf(to, "complete -c admitperf -n '__fish_seen_subcommand_from help %s' -f -a '",
            commands_of);
    put_names(to, commands);
    fprintf(to, "'\ncomplete -c admitperf -n '__fish_seen_subcommand_from %s' -f -a '",
            shells_of);
    put_shells(to);
    fputs("'\n", to);
    for (int i = 0; commands[i]; i++)
        for (int k = 0; (o = option_of(commands[i], k)); k++)
            put_fish_option(to, commands[i]->name, o);
}

const char *const adp_completion_shells[] = { "bash", "zsh", "fish", NULL };

void adp_completion_print(FILE *to, int shell, const struct adp_command *const *commands)
{
    static void (*const print[])(FILE * to, const struct adp_command *const *commands) = {
        print_bash, print_zsh, print_fish
    };
    print[shell](to, commands);
}
