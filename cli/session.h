/* SPDX-License-Identifier: BSD-3-Clause */
/* What "nvwave run" and "nvwave crash" share: which workload, on which machine, with which options. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <config.h>
#include <nvw/workload.h>

struct cli_session {
	const struct nvw_workload *workload;
	char *reference; /* its name, or the absolute path of its object */
	struct nvw_options *options;
	char *options_text; /* "count=10 ..." as given */
	struct emu_config config;
	int mutation;                                 /* -1: none */
	const char *pool_path, *log_path, *dump_path; /* NULL: not asked for */
	bool json, help;
	bool each_protocol;    /* --protocol=each: one after the other (nvwave crash) */
	bool without_workload; /* --self-test: of all; --store-log, exec: of none */
	char **words;          /* the command line, as --name=value */
	unsigned word_count;
};

/*
 * Parses the command line. own() takes the command's own options: 1 if arg ("--name=value") is one of them, 0
 * if not, an error; NULL if it has none. NVW_E_USAGE, NVW_E_CONFIG with a message. Ended by
 * cli_session_end(), also after an error.
 */
NVW_CHECKED int cli_session_begin(struct cli_session *session, int argc, char **argv,
	int (*own)(const char *arg, void *context), void *context);
void cli_session_end(struct cli_session *session);

/* The options of a workload (NULL: only the shared ones), for --help. */
void cli_session_help(const char *command, const struct nvw_workload *workload, const char *own);

/* Name of the persistency model, of the persistence domain. */
const char *cli_model_name(const struct emu_config *config);
const char *cli_domain_name(const struct emu_config *config);

/* "--output-format=normal|json": 1 and *ret_json if arg is it, 0 if it is something else, or an error. */
NVW_CHECKED int cli_output_format(const char *arg, bool *ret_json);

/* Prints this thread's message as "nvwave: ..." and returns the exit status of a bad input. */
int cli_fail(void);

#endif
