/* SPDX-License-Identifier: BSD-3-Clause */
/* Verified cures as a unified diff of the sources, as far as they are lines to insert. */
#ifndef CLI_PATCH_H
#define CLI_PATCH_H

#include <stdio.h>

#include <jansson.h>

#include <crashtest/crash.h>

/*
 * Writes the cures that are verified, of host programs on their log, and ranges that were verified by
 * running, to path, for patch -p1: persist barriers and, in host programs, flushes and fences
 * (patch_flush.h). Names are relative to the working directory, those of files elsewhere to the root. Says on
 * stderr for which findings there is none, and why; without any, path is not written. NVW_E_FULL or
 * NVW_E_SYSTEM if path cannot be written.
 */
NVW_CHECKED int cli_patch_write(const struct ct_result *result, const char *path);

/*
 * Writes the same, and all ranges, into a copy of a folder, whose own files it does not touch. ret_why: for
 * each finding NULL if the copy has its cure or it needs none, else why not; likewise, from CT_FINDINGS_MAX
 * on, for each unlogged store. Returns the number of lines inserted, or an error.
 */
NVW_CHECKED int cli_patch_apply(const struct ct_result *result, const char *folder, const char *copy,
	const char *ret_why[CT_FINDINGS_MAX + CT_UNLOGGED_MAX]);

/* The statement that adds what is stored to to the undo log, or why there is none. */
const char *cli_patch_range(const struct ct_unlogged *store, char *ret_text, size_t bytes);

/* Prints the cure of one finding as such a diff. NULL, or why there is none. */
const char *cli_patch_print(const struct ct_finding *finding, FILE *to);

/* The lines that a finding's cure inserts, [{"file", "line": in front of which, "text"}], in their order;
 * NULL if it is not verified, or is more than lines to insert. */
json_t *cli_patch_insertions(const struct ct_finding *finding);

#endif
