/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave: finds the command and calls it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "core/invariant.h"
#include "core/stop.h"
#include "core/units.h"
#include "report/words.h"
#include "report/provenance.h"
#include "session.h"

static const struct {
	const char *name, *arguments, *summary;
	const struct cli_command *is;
} commands[] = {
#define COMMAND(name, arguments, summary) {#name, arguments, summary, &cmd_##name},
#include "commands.def"
#undef COMMAND
};

enum { COMMANDS = NVW_COUNT(commands) };

static int usage(FILE *to, int status)
{
	fputs("nvwave: an emulated GPU with persistent memory, and a crash tester for its programs\n\n", to);
	NVW_EACH(command, commands, COMMANDS) {
		fprintf(to, "  nvwave %s %s\n      %s\n", command->name, command->arguments,
			command->summary);
	}
	fputs("\nnvwave help COMMAND explains a command, nvwave help run WORKLOAD also the workload's "
	      "options.\n"
	      "Every command takes --help, -h and --output-format=normal|json; nvwave --version, -V says "
	      "which "
	      "this is.\n"
	      "Exit status: 0 clean, 1 an inconsistency or a race was found, 2 bad usage or input.\n",
		to);
	return status;
}

static int unknown(const char *name)
{
	const char *names[COMMANDS + 1] = {NULL};

	NVW_FOR(i, COMMANDS) {
		names[i] = commands[i].name;
	}
	fprintf(stderr, "nvwave: there is no command %s%s\n", name,
		DID_YOU_MEAN(nvw_nearest(name, names), ""));
	return STATUS_INPUT;
}

static int run_command(int argc, char **argv)
{
	NVW_INVARIANT(argc > 0);
	NVW_EACH(command, commands, COMMANDS) {
		if (!strcmp(argv[0], command->name)) {
			return command->is->main(command->is, argc, argv);
		}
	}
	return unknown(argv[0]);
}

/* "help run kv" is "run kv --help". */
static int help(int argc, char **argv)
{
	static char option[] = "--help"; /* not const, as argv is not */

	if (argc < 2) {
		return usage(stdout, STATUS_CLEAN);
	}
	memmove(argv, argv + 1, (size_t)(argc - 1) * sizeof *argv);
	argv[argc - 1] = option;
	return run_command(argc, argv);
}

/* A closed standard descriptor must not become one of nvwave's files, into which messages would be written;
 * reading or writing it remains an error. */
static void occupy_standard_files(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) {
			return;
		}
	}
}

/* If the output could not be written, the end is not clean, whatever the command returned. */
static int check_output(int status)
{
	if (status != STATUS_INPUT && cli_flush() != 0) {
		return cli_fail();
	}
	return status;
}

static void nothing(int number)
{
}

/* A file beyond the limit of its size is an error of what writes it. Programs that are executed get the
 * default action. */
static void outlive_full_files(void)
{
	const struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};

	sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
	static const char *const versions[] = {"--version", "-V", NULL}, *const helps[] = {"help", "--help",
										 "-h", NULL};

	occupy_standard_files();
	outlive_full_files();
	cli_command_line(argc, argv);
	nvw_stop_catch();
	if (argc < 2) {
		return usage(stderr, STATUS_INPUT);
	}
	if (is_among(argv[1], versions)) {
		printf("nvwave %s\n", cli_version);
		return check_output(STATUS_CLEAN);
	}
	if (is_among(argv[1], helps)) {
		return check_output(help(argc - 1, argv + 1));
	}
	return check_output(run_command(argc - 1, argv + 1));
}
