/* SPDX-License-Identifier: MIT */
/* A subcommand: what the program knows of it, so that its options are parsed and taught
 * from one place.
 *
 * To add one: write runtime/cli/cmd_NAME.c that defines `const struct adp_command
 * adp_cmd_NAME`, declare it below, add a line to the table in main.c. */
#ifndef ADP_RUNTIME_CLI_COMMAND_H
#define ADP_RUNTIME_CLI_COMMAND_H

struct adp_args;

/* What the program ends with. A run stopped by a signal ends with 128 + its number. */
enum adp_exit {
    ADP_EXIT_DONE = 0,
    ADP_EXIT_NO = 1, /* done, and the answer to what was asked (--check) is no */
    ADP_EXIT_BAD =
        2 /* usage, bad input, or the system said no; stderr says the way out */
};

/* An option. Tables end with a NULL name. */
struct adp_option {
    int id;            /* its letter ('o' for -o), or from 256 on when it has none */
    const char *name;  /* without the dashes */
    const char *value; /* the word for its value in the help; NULL: it takes none */
    const char *help;  /* lines of at most 50 columns */
};

struct adp_command {
    const char *name;
    const char *does;     /* one line for the list of commands */
    const char *synopsis; /* what follows "admitperf NAME", one line per form */
    const char *about;    /* whole paragraphs, lines of at most 78 columns */
    const struct adp_option *options;
    const char *example; /* lines as typed */
    const char *exits;   /* what its exit codes mean, one line each */
    /* Does it: returns enum adp_exit or 128 + a signal's number. Answers to stdout, what
     * went wrong to stderr. Whether stdout could be written is looked at by the caller.
     */
    int (*run)(struct adp_args *args);
};

extern const struct adp_command adp_cmd_check;
extern const struct adp_command adp_cmd_compare;
extern const struct adp_command adp_cmd_completion;
extern const struct adp_command adp_cmd_dashboard;
extern const struct adp_command adp_cmd_decide;
extern const struct adp_command adp_cmd_demo;
extern const struct adp_command adp_cmd_experiments;
extern const struct adp_command adp_cmd_manual;
extern const struct adp_command adp_cmd_new;
extern const struct adp_command adp_cmd_policies;
extern const struct adp_command adp_cmd_replay;
extern const struct adp_command adp_cmd_report;
extern const struct adp_command adp_cmd_serve;
extern const struct adp_command adp_cmd_signals;
extern const struct adp_command adp_cmd_terms;
extern const struct adp_command adp_cmd_watch;

/* All of them, NULL-terminated, in the order of the help; and the one of a name, or NULL. */
extern const struct adp_command *const adp_commands[];
const struct adp_command *adp_command_find(const char *name);

#endif
