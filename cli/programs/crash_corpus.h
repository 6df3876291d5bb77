/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --exec --corpus: the crash states of a program that runs with each of many inputs. */
#ifndef CLI_CRASH_CORPUS_H
#define CLI_CRASH_CORPUS_H

#include "tested.h"

/* Each file of the request's folder, by name, after AFL++ has added to it if the request says so. Runs
 * that reach nothing new, or leave a log that was tested, are counted only; states that an earlier run
 * left are not tested again. */
NVW_CHECKED int crash_corpus_run(
	struct crash_tested *tested, const struct ct_options *options, struct ct_result *ret_result);

#endif
