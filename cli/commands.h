/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

struct cli_options;

/* Exit status of every command. */
enum { STATUS_CLEAN = 0, STATUS_INCONSISTENT = 1, STATUS_INPUT = 2 };

struct cli_command {
	/* Parses the command line, prints the help or does the work; argv[0] is the command's name. Returns
	 * the exit status. */
	int (*main)(const struct cli_command *command, int argc, char **argv);
	const char *help, *after_help; /* around the options; after_help may be NULL */
	/* With main cli_run_command: returns the exit status, NVW_E_INCONSISTENT, or an error. */
	int (*run)(struct cli_options *given);
};

#define COMMAND(name, arguments, summary) extern const struct cli_command cmd_##name;
#include "commands.def"
#undef COMMAND

#endif
