/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the commands on pools: their argument, and the check of a pool without its plan. */
#ifndef CLI_POOL_COMMAND_H
#define CLI_POOL_COMMAND_H

#include <jansson.h>

#include <nvw/workload.h>

#include "../options.h"

/* NVW_E_USAGE unless there is one argument: a pool's file, or a folder of pools. */
NVW_CHECKED int pool_command_named(const struct cli_options *given);

/*
 * Checks the invariants of a structure that nvwave recognises by its layout. Adds "structure" to report:
 * "consistent", "inconsistent" with "findings", or "unknown layout". 0, NVW_E_INCONSISTENT, or an error.
 */
NVW_CHECKED int pool_command_check(struct nvw_pool *pool, json_t *report);

/* Adds the values of a description as members of an object. */
struct nvw_description;
void pool_command_describe(json_t *object, const struct nvw_description *description);

/* A line for each finding of a report, which may be NULL. */
void pool_command_print_findings(const json_t *report);

/* Prints report as JSON, or as lines "name value". */
NVW_CHECKED int pool_command_print(const json_t *report, bool json);

#endif
