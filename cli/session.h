/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by "nvwave run" and "nvwave crash": the workload, its options, and the machine. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <config/config.h>
#include <nvw/workload.h>

#include "options.h"

struct sweep_manner;

struct cli_session {
	struct cli_options given;
	const struct nvw_workload *workload; /* NULL: none was named */
	char *reference;                     /* its name, or the absolute path of its object */
	struct nvw_options *options;
	char *options_text; /* "count=10 ..." as given */
	struct emu_config config;
	int mutation; /* -1: none */
	bool json, help;
	bool protocol_named; /* by the user: neither the workload's options nor the machine choose one */
	bool protocol_moved; /* the workload's options have chosen it */
	bool each_protocol;  /* --protocol=each: one after another (nvwave crash) */
};

/* The arguments that a command takes. */
enum cli_subject {
	CLI_NO_WORKLOAD,  /* the command parses its arguments itself */
	CLI_WORKLOAD,     /* one */
	CLI_MAY_WORKLOAD, /* one or none */
};

/*
 * Parses the command line, loads the workload and describes the machine. With --help, it only looks up the
 * workload. NVW_E_USAGE, NVW_E_CONFIG with a message. Release by cli_session_end(), also after an error.
 */
NVW_CHECKED int cli_session_begin(
	struct cli_session *session, enum cli_subject subject, int argc, char **argv);
void cli_session_end(struct cli_session *session);

/* The name of a coherence protocol, from 0; NULL behind the last. */
const char *cli_protocol_name(unsigned i);
/* NVW_E_USAGE if there is no coherence protocol of that name. */
NVW_CHECKED int cli_find_protocol(const char *name);
/* Whether the workload with these options is correct under the protocol; if not, the message names suitable
 * ones. */
NVW_CHECKED int cli_session_keeps(const struct cli_session *session, const char *protocol);

/* Whether the workload can be prepared with these options: prepares and disposes of it. */
NVW_CHECKED int cli_session_try(const struct cli_session *session);

/* Frees what the workload's prepare() has made; NULL: nothing. */
void cli_dispose(const struct nvw_workload *workload, void *plan);

/* Where the result comes from, with the options whose defaults other options have moved. The workload is
 * prepared already. command NULL: that of this process. NULL without memory. */
struct json_t *cli_session_provenance(const struct cli_session *session, const char *command);

/* Prints --help of a command that takes a workload (NULL: only the command's options). */
void cli_session_help(const char *command, const struct nvw_workload *workload);

/* Names of the mutation ("": none), of the persistency model and of the persistence domain. */
const char *cli_mutation_name(const struct cli_session *session);
const char *cli_model_name(const struct emu_config *config);
const char *cli_domain_name(const struct emu_config *config);

/* Prints this thread's message as "nvwave: ..." and returns the exit status of a bad input. */
int cli_fail(void);

/* The exit status of a result: 0, NVW_E_INCONSISTENT, or an error, whose message it prints. */
int cli_status(int result);

/* The exit status of a process that has ended, as a shell says it: a signal is 128 and its number. */
int cli_exit_status(int wait_status);

/* Makes a folder that an option names. NVW_E_USAGE if it exists. */
NVW_CHECKED int cli_new_folder(const char *option, const char *folder);

/* NVW_E_SYSTEM if standard output has not taken everything. */
NVW_CHECKED int cli_flush(void);

/* How the points of a sweep are run, by the options that all such commands have. */
struct sweep_manner cli_manner(const struct cli_options *given);

/* A command without a workload (commands.h). */
struct cli_command;
int cli_run_command(const struct cli_command *command, int argc, char **argv);
/* The same; -o is --output. */
int cli_run_with_output(const struct cli_command *command, int argc, char **argv);

#endif
