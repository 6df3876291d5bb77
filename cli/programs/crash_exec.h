/* SPDX-License-Identifier: BSD-3-Clause */
/* Crash tests of programs (crash_exec() is in crash_command.h). */
#ifndef CLI_CRASH_EXEC_H
#define CLI_CRASH_EXEC_H

#include "../crash_command.h"

/* As crash_exec(), but the result is the caller's (ct_result_free()), and nothing is reported. */
NVW_CHECKED int crash_exec_result(
	const struct emu_config *machine, const struct crash_request *request, struct ct_result *ret_result);

/* Runs the program of a saved finding again, under the switches of its schedule. *ret_same: the log is that
 * of the finding. NVW_E_INPUT if the image is no longer what it was. */
NVW_CHECKED int crash_exec_replay(
	const struct emu_config *machine, const json_t *schedule, bool *ret_same, char ret_end[2048]);

#endif
