/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave crash --export-states: the folder of crash states, its manifest, and a tool of somebody else that is
 * run over them. */
#ifndef CLI_EXPORTED_H
#define CLI_EXPORTED_H

#include <jansson.h>

#include <nvw/pool.h>

/* Makes the folder, which must not exist yet. */
NVW_CHECKED int exported_begin(const char *folder);

/*
 * Makes manifest.json of what the exploration wrote, with made_by (borrowed). With a tool (a command; {} or
 * its last argument is the path) each state is copied and the tool runs on the copy, which it may change; its
 * exit status and time are added. Prints a summary unless quiet. *ret_failed: how many runs did not exit with
 * 0.
 */
NVW_CHECKED int exported_end(
	const char *folder, const char *tool, const json_t *made_by, bool quiet, unsigned *ret_failed);

/* Writes manifest.json into the folder; the manifest is released. */
NVW_CHECKED int exported_manifest(const char *folder, json_t *manifest);

#endif
