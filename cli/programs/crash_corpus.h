/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --exec --corpus: the crash states of a program that runs with each of many inputs. */
#ifndef CLI_CRASH_CORPUS_H
#define CLI_CRASH_CORPUS_H

#include "crash_exec.h"

/* A program, and how it is run and judged (crash_exec.c). */
struct crash_tested;
struct crash_inputs {
	struct crash_tested *tested;
	const struct crash_request *request;
	/* Runs the program on a new copy of the image, with the content of the file as its input. The
	 * recording of the run is its result: 1: there is a log; 0: it was ended by its limit. */
	int (*run)(
		struct crash_tested *tested, const char *path, const struct crash_recording **ret_recording);
	/* Whether what the last run has executed was tested. */
	void (*settle)(struct crash_tested *tested, bool kept);
	/* Continues the hash with the log of the last run. */
	int (*hash)(const struct crash_tested *tested, uint64_t *hash);
	/* Explores it. */
	int (*explore)(const struct crash_tested *tested, const struct ct_options *options,
		struct ct_result *ret_result);
};

/* Each file of the request's folder, by name. Runs that reach nothing new, or leave a log that was tested,
 * are counted only; states that an earlier run left are not tested again. */
NVW_CHECKED int crash_corpus_run(
	const struct crash_inputs *inputs, const struct ct_options *options, struct ct_result *ret_result);

#endif
