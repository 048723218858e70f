/* SPDX-License-Identifier: MIT */
/* Manual pages, in mdoc(7): https://man.openbsd.org/mdoc.7, in the order of sections it asks
 * for. Paragraphs of the help are filled here; what is indented there stays as it is. */
#include "runtime/cli/manual.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* n bytes that mean nothing but themselves. */
static void put(FILE *to, const char *text, size_t n)
{
    if (n && (*text == '.' || *text == '\''))
        fputs("\\&", to);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\')
            fputs("\\e", to);
        else if (text[i] == '-')
            fputs("\\-", to);
        else
            fputc(text[i], to);
    }
}

/* The next line of *text, without its end; false: there is none. */
static bool next_line(const char **text, const char **ret_line, size_t *ret_len)
{
    if (!**text)
        return false;
    *ret_line = *text;
    *ret_len = strcspn(*text, "\n");
    *text += *ret_len + ((*text)[*ret_len] == '\n');
    return true;
}

static void put_line(FILE *to, const char *line, size_t len)
{
    put(to, line, len);
    fputc('\n', to);
}

/* To be filled: each sentence begins a line, so that what is between them can be seen to. */
static void put_text(FILE *to, const char *line, size_t len)
{
    for (size_t i = 0; i + 2 < len; i++)
        if ((line[i] == '.' || line[i] == '?') && line[i + 1] == ' ') {
            put_line(to, line, i + 1);
            line += i + 2;
            len -= i + 2;
            i = 0;
        }
    put_line(to, line, len);
}

static void put_literal(FILE *to, const char *text)
{
    const char *line;
    size_t len;
    fputs(".Bd -literal -offset indent\n", to);
    while (next_line(&text, &line, &len))
        put_line(to, line, len);
    fputs(".Ed\n", to);
}

static void put_paragraphs(FILE *to, const char *text)
{
    const char *line;
    size_t len;
    bool literal = false, parted = false;
    while (next_line(&text, &line, &len)) {
        bool indented = len > 1 && line[0] == ' ' && line[1] == ' ';
        if (len && indented != literal) {
            fputs(indented ? ".Bd -literal -offset indent\n" : ".Ed\n", to);
            literal = indented;
            parted = parted && !indented;
        }
        if (len && parted)
            fputs(literal ? "\n" : ".Pp\n", to);
        if (len && literal) /* the display is indented itself */
            put_line(to, line + 2, len - 2);
        else if (len)
            put_text(to, line, len);
        parted = !len;
    }
    if (literal)
        fputs(".Ed\n", to);
}

static void put_option(FILE *to, const struct adp_option *o)
{
    const char *text = o->help, *line;
    size_t len;
    fputs(".It ", to);
    if (o->id < 256)
        fprintf(to, "Fl %c , ", o->id);
    fputs("Fl \\-", to);
    put(to, o->name, strlen(o->name));
    if (o->value) {
        fputs(" Ar ", to);
        put(to, o->value, strlen(o->value));
    }
    fputc('\n', to);
    while (next_line(&text, &line, &len))
        put_text(to, line, len);
}

/* "0  text", with further lines that begin with blanks. */
static void put_exits(FILE *to, const char *text)
{
    const char *line;
    size_t len;
    fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n", to);
    while (next_line(&text, &line, &len)) {
        size_t code = strspn(line, "0123456789"), blank;
        if (code)
            fprintf(to, ".It %.*s\n", (int)code, line);
        for (blank = code; blank < len && line[blank] == ' ';)
            blank++;
        put_text(to, line + blank, len - blank);
    }
    fputs(".El\n", to);
}

static void put_head(FILE *to, const char *title, const char *date)
{
    fprintf(to, ".Dd %s\n.Dt ", date);
    for (; *title; title++)
        fputc(toupper((unsigned char)*title), to);
    fputs(" 1\n.Os\n", to);
}

void adp_manual_command(FILE *to, const struct adp_command *command, const char *date)
{
    static const struct adp_option help = { 'h', "help", NULL, "this page, in short" };
    const char *forms = command->synopsis, *line;
    size_t len;
    char title[64];
    snprintf(title, sizeof title, "admitperf-%s", command->name);
    put_head(to, title, date);
    fprintf(to, ".Sh NAME\n.Nm %s\n.Nd ", title);
    put_line(to, command->does, strlen(command->does));
    fputs(".Sh SYNOPSIS\n", to);
    while (next_line(&forms, &line, &len)) {
        fprintf(to, ".Nm admitperf %s\n", command->name);
        put_line(to, line, len);
    }
    fputs(".Sh DESCRIPTION\n", to);
    put_paragraphs(to, command->about);
    fputs(".Pp\nThe options are:\n.Bl -tag -width Ds\n", to);
    for (const struct adp_option *o = command->options; o->name; o++)
        put_option(to, o);
    put_option(to, &help);
    fputs(".El\n", to);
    put_exits(to, command->exits);
    fputs(".Sh EXAMPLES\n", to);
    put_literal(to, command->example);
    fputs(".Sh SEE ALSO\n.Xr admitperf 1 ,\n.Xr admitperf-log 5 ,\n"
          ".Xr admitperf.yaml 5\n",
          to);
}

void adp_manual_program(FILE *to, const struct adp_command *const *commands,
                        const char *date)
{
    put_head(to, "admitperf", date);
    fputs(".Sh NAME\n.Nm admitperf\n.Nd admission control for LLM inference\n"
          ".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar option ...\n.Nm\n.Cm help\n"
          ".Op Ar command\n.Nm\n.Fl \\-version\n"
          ".Sh DESCRIPTION\n"
          "A policy answers each request with admit, defer or reject.\n.Nm\n"
          "runs it, records every decision with all that was known, and says what it\n"
          "bought, and first of all whether it could have fired.\n.Pp\n"
          "The commands are:\n.Bl -tag -width Ds\n",
          to);
    for (; *commands; commands++) {
        fprintf(to, ".It Xr admitperf-%s 1\n", (*commands)->name);
        put_line(to, (*commands)->does, strlen((*commands)->does));
    }
    fputs(".El\n"
          ".Sh EXIT STATUS\n.Bl -tag -width Ds\n"
          ".It 0\ndone (a decision to reject is done, too)\n"
          ".It 1\nthe answer is no: what\n.Fl \\-check\nasks for does not hold\n"
          ".It 2\nusage or bad input; standard error says what and the way out\n.El\n"
          ".Sh SEE ALSO\n.Xr admitperf-log 5 ,\n.Xr admitperf.yaml 5\n",
          to);
}
