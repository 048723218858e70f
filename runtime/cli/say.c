/* SPDX-License-Identifier: MIT */
/* What goes to stderr, words for a shell, and whether a terminal is there to see it in colour. */
#include "runtime/cli/say.h"

#include "core/error.h"
#include "core/veil.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *name, const char *format, va_list args)
{
    struct adp_error e = { .code = ADP_EINVAL };
    char text[sizeof e.text * 8], line[sizeof e.text * 4];
    vsnprintf(text, sizeof text, format, args); /* cut only when veiled */
    adp_veil_words(text, e.text, sizeof e.text);
    adp_error_format(&e, line, sizeof line);
    fprintf(stderr, "%s%s\n", name, line);
}

void adp_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("admitperf: ", format, args);
    va_end(args);
}

void adp_say_plain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
}

void adp_say_error(const struct adp_error *err)
{
    struct adp_error shown = *err;
    char line[(sizeof err->file + sizeof err->text) * 4];
    adp_veil(err->file, shown.file, sizeof shown.file);
    adp_veil_words(err->text, shown.text, sizeof shown.text);
    adp_error_format(&shown, line, sizeof line);
    fprintf(stderr, "admitperf: %s\n", line);
}

void adp_say_errors(const struct adp_errors *errors)
{
    for (uint32_t i = 0; i < errors->n; i++)
        adp_say_error(&errors->list[i]);
}

void adp_say_word(FILE *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./-+,@%";
    if (*word && !word[strspn(word, plain)]) {
        fputs(word, to);
        return;
    }
    putc('\'', to);
    for (; *word; word++)
        *word == '\'' ? fputs("'\\''", to) : putc(*word, to);
    putc('\'', to);
}

void adp_say_path(FILE *to, const char *path)
{
    if (path[0] == '-')
        fputs("./", to);
    adp_say_word(to, path);
}

bool adp_say_colour(FILE *stream)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if ((no && no[0]) || (term && strcmp(term, "dumb") == 0))
        return false;
    return isatty(fileno(stream)) == 1;
}
