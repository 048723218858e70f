/* SPDX-License-Identifier: MIT */
/* admitperf: the program.
 *
 * Finds the command, runs it, and looks at the end whether its answer could be written.
 * What a command does is in cmd_NAME.c and below it; signals are taken only by those that
 * need them (stop.h).
 *
 *  1. Answers go to stdout, everything else to stderr.
 *  2. An answer that could not be written is an error: exit 2. A reader that went away
 *     (`| head`) is not: the command ends as it would have, without a word. */
#include "config.h"

#include "core/error.h"
#include "runtime/cli/args.h"
#include "runtime/cli/help.h"
#include "runtime/cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One a line. clang-format would set them in columns. */
/* clang-format off */
const struct adp_command *const adp_commands[] = {
    &adp_cmd_demo,
    &adp_cmd_decide,
    &adp_cmd_policies,
    &adp_cmd_check,
    &adp_cmd_new,
    &adp_cmd_signals,
    &adp_cmd_watch,
    &adp_cmd_serve,
    &adp_cmd_report,
    &adp_cmd_compare,
    &adp_cmd_experiments,
    &adp_cmd_dashboard,
    &adp_cmd_replay,
    &adp_cmd_terms,
    &adp_cmd_manual,
    &adp_cmd_completion,
    NULL,
};
/* clang-format on */

enum { N_COMMANDS = sizeof adp_commands / sizeof adp_commands[0] - 1 };

const struct adp_command *adp_command_find(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(adp_commands[i]->name, name) == 0)
            return adp_commands[i];
    }
    return NULL;
}

static int unknown(const char *word)
{
    const char *names[N_COMMANDS + 3] = { "help", "version" };
    for (int i = 0; i < N_COMMANDS; i++)
        names[i + 2] = adp_commands[i]->name;
    const char *near = adp_error_nearest(word + strspn(word, "-"), names);
    const char *what = word[0] == '-' ? "option" : "command";
    if (near)
        adp_say("unknown %s \"%s\", did you mean \"admitperf %s%s\"?", what, word,
                strcmp(near, "version") == 0 ? "--" : "", near);
    else
        adp_say("unknown %s \"%s\"", what, word);
    adp_say_plain("`admitperf --help` lists the commands");
    return ADP_EXIT_BAD;
}

static int run(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "--version") == 0) {
        printf("admitperf %s\n", PACKAGE_VERSION);
        return ADP_EXIT_DONE;
    }
    bool help = strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
                strcmp(word, "-h") == 0;
    if (help && (argc < 3 || strcmp(argv[2], "help") == 0)) {
        adp_help_program(adp_commands);
        return ADP_EXIT_DONE;
    }
    const char *name = help ? argv[2] : word;
    const struct adp_command *command = adp_command_find(name);
    if (!command)
        return unknown(name);
    if (help) {
        adp_help_command(command);
        return ADP_EXIT_DONE;
    }
    struct adp_args args = adp_args_of(command, argc, argv, 2);
    return command->run(&args);
}

/* A closed descriptor 0, 1 or 2 would be handed to the first file that is opened, and
 * answers written into it. What takes its place refuses what the stream is for. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd ? O_RDONLY : O_WRONLY);
    }
}

static bool reader_left(void)
{
    struct pollfd out = { .fd = STDOUT_FILENO };
    return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP));
}

static int finish(int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    int why = errno;
    if (reader_left())
        return code;
    adp_say("cannot write to standard output%s%s", why ? ": " : "",
            why ? strerror(why) : "");
    return ADP_EXIT_BAD;
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    /* A pipe that closes must not end a demo in the middle of its logs. */
    signal(SIGPIPE, SIG_IGN);
    /* Nor a limit on the size of files: what reaches it is an error, and cleaned up after. */
    signal(SIGXFSZ, SIG_IGN);
    return finish(run(argc, argv));
}
