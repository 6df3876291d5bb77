/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment variables that tell a checker command about the program's operations (nvw/ack.h):
 *
 *	NVWAVE_ACKNOWLEDGED   "0-16,18"   numbers of the acknowledged operations
 *	NVWAVE_IN_FLIGHT      "17"        numbers of those that have begun but are not acknowledged
 *	NVWAVE_OPERATIONS     a file: one line with number and name per operation of the run
 *
 * For a log without operations, none of the three is set.
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

/* The first two variables of a state as "NAME=value". NVW_E_USAGE if they are too long. */
struct ct_told_state {
	char acknowledged[CT_TOLD_BYTES], in_flight[CT_TOLD_BYTES];
};
NVW_CHECKED int ct_environment_tell(const struct nvw_acks *acks, struct ct_told_state *ret_told);

/* This process's environment with assignments ("NAME=value", NULL at the end), the state's variables and the
 * path; told NULL: without them. Valid until the next call in the same process. */
char *const *ct_environment_of(char *const assigned[], struct ct_told_state *told, const char *path);

#endif
