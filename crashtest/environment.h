/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a checker command is told of the operations of the program (nvw/ack.h), in its environment:
 *
 *	NVWAVE_ACKNOWLEDGED   "0-16,18"   numbers of the acknowledged operations
 *	NVWAVE_IN_FLIGHT      "17"        of those that had begun, and were not
 *	NVWAVE_OPERATIONS     a file: a line with number and name for each operation of the run
 *
 * Of a log without operations, none of the three is set.
 */
#ifndef CRASHTEST_ENVIRONMENT_H
#define CRASHTEST_ENVIRONMENT_H

#include "operations.h"

#define CT_ACKNOWLEDGED_VARIABLE "NVWAVE_ACKNOWLEDGED"
#define CT_IN_FLIGHT_VARIABLE    "NVWAVE_IN_FLIGHT"
#define CT_OPERATIONS_VARIABLE   "NVWAVE_OPERATIONS"

/* Writes the file of NVWAVE_OPERATIONS. */
NVW_CHECKED int ct_environment_write(const char *path, const struct ct_operations *operations);

enum { CT_TOLD_BYTES = 60000 };

/* The first two variables as "NAME=value", of a state. NVW_E_USAGE if they are too long. */
struct ct_told_state {
	char acknowledged[CT_TOLD_BYTES], in_flight[CT_TOLD_BYTES];
};
NVW_CHECKED int ct_environment_tell(const struct nvw_acks *acks, struct ct_told_state *ret_told);

/* Ours, with assignments ("NAME=value", NULL at the end), the state's variables and the path; told NULL: without them. Valid until
 * the next call, in the process that calls. */
char *const *ct_environment_of(char *const assigned[], struct ct_told_state *told, const char *path);

#endif
