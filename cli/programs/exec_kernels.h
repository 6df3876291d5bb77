/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of a CUDA program in the report of "nvwave exec". */
#ifndef CLI_EXEC_KERNELS_H
#define CLI_EXEC_KERNELS_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "../../host/exec.h"

/* After the run, if its kernels were to run on the machine: *ret_report, owned by the caller. NVW_E_USAGE if
 * the program ran none; option is what the user asked by. NULL, with a note, if a signal has ended the
 * program before it could report. */
NVW_CHECKED int exec_kernels_load(
	const struct host_session *session, const char *option, json_t **ret_report);

/* A table, then the races. NULL: nothing. */
void exec_kernels_text(const json_t *report, FILE *to);
bool exec_kernels_race(const json_t *report);

#endif
