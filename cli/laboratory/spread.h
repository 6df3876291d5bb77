/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command whose work is spread over a job array: its parts are command lines of this program, which say
 * what they found on standard output or in the folder. The same command continues where a front end was
 * killed: the folder is named after the command's key.
 */
#ifndef CLI_SPREAD_H
#define CLI_SPREAD_H

#include "sweep.h"

struct spread {
	char *folder; /* "/here/COMMAND-KEY.slurm", which is there while parts run */
	unsigned count, room;
	struct spread_part {
		char key[SWEEP_KEY_BYTES];
		struct sweep_words words;
		bool is_done;
		struct sweep_outcome outcome;
	} * part;
	bool keeps_folder; /* the job goes on */
};

/* The words of a command line (argv[0] is the command) without some of its options: names, NULL behind the
 * last. */
NVW_CHECKED int spread_words(
	int argc, char **argv, const char *const *left_out, struct sweep_words *ret_words);

/* For a command line and its machine (NULL: none). Release by spread_end(), also after an error. */
NVW_CHECKED int spread_begin(
	struct spread *spread, const struct sweep_words *command, const struct emu_config *machine);
/* A part; its words become the spread's, also after an error. */
NVW_CHECKED int spread_add(struct spread *spread, struct sweep_words *words);
/* Runs all parts in so many tasks, with --sbatch. A part that ended other than with status 0 or 1 is an error
 * with its message. */
NVW_CHECKED int spread_run(struct spread *spread, const struct cli_options *given, unsigned tasks);
/* Removes the folder, unless the job goes on. */
void spread_end(struct spread *spread);

#endif
