/* SPDX-License-Identifier: MIT */
/* The pages that teach. */
#include "runtime/cli/help.h"

#include "runtime/cli/say.h"

#include <stdio.h>
#include <string.h>

static void heading(const char *text)
{
    bool bold = adp_say_colour(stdout);
    printf("\n%s%s%s\n", bold ? "\033[1m" : "", text, bold ? "\033[0m" : "");
}

/* Each line of `text` after `lead`. */
static void lines(const char *lead, const char *text)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");
        printf("%s%.*s\n", n ? lead : "", n, text);
        text += n;
        text += *text == '\n';
    }
}

/* "  -o, --output DIR     help", the help's further lines below its first. */
static void option(const struct adp_option *o)
{
    char left[64];
    char letter[8] = "    ";
    if (o->id < 256)
        snprintf(letter, sizeof letter, "-%c, ", o->id);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->value ? " " : "",
             o->value ? o->value : "");
    const char *text = o->help;
    for (int first = 1; first || *text; first = 0) {
        int n = (int)strcspn(text, "\n");
        printf("  %-24s  %.*s\n", first ? left : "", n, text);
        text += n;
        text += *text == '\n';
    }
}

void adp_help_command(const struct adp_command *command)
{
    static const struct adp_option help = { 'h', "help", NULL, "this page" };
    char lead[64];
    printf("admitperf %s: %s\n", command->name, command->does);
    heading("Usage");
    snprintf(lead, sizeof lead, "  admitperf %s ", command->name);
    lines(lead, command->synopsis);
    printf("\n");
    lines("", command->about);
    heading("Options");
    for (const struct adp_option *o = command->options; o->name; o++)
        option(o);
    option(&help);
    heading("Example");
    lines("  ", command->example);
    heading("Exit codes");
    lines("  ", command->exits);
}

void adp_help_program(const struct adp_command *const *commands)
{
    printf(
        "admitperf: admission control for LLM inference\n\n"
        "A policy answers each request with admit, defer or reject. AdmitPerf runs it,\n"
        "records every decision with all that was known, and says what it bought, and\n"
        "first of all whether it could have fired.\n");
    heading("Usage");
    printf("  admitperf COMMAND [OPTION]...\n"
           "  admitperf help COMMAND      what a command does, with an example\n"
           "  admitperf --version\n");
    heading("Commands");
    for (; *commands; commands++)
        printf("  %-12s  %s\n", (*commands)->name, (*commands)->does);
    heading("Start here");
    printf("  admitperf demo              three policies, no GPU, under a second\n"
           "  admitperf watch URL         could a policy have fired on your engine?\n");
    heading("Exit codes");
    printf("  0  done (a decision to reject is done, too)\n"
           "  1  the answer is no: what --check asks for does not hold\n"
           "  2  usage or bad input; stderr says what and the way out\n");
}
