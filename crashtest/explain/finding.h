/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A finding in a file: the bytes of the pool as the crash leaves them, what had been acknowledged, and a JSON
 * object that says which check to run on them and what it found. docs/crash-testing.md describes the file.
 */
#ifndef CRASHTEST_FINDING_H
#define CRASHTEST_FINDING_H

#include <jansson.h>

#include <check/check.h>

#include "../crash.h"
#include "../members.h"

/* The object of a finding of a subject: everything that a replay needs but bytes and acknowledgements. NULL
 * without memory. */
json_t *ct_finding_subject(
	const struct ct_subject *subject, const struct ct_options *options, const char *command);

/* Where finding number i (from 0) will be saved, if options ask for it: under a name that is still free. */
void ct_finding_name(const struct ct_options *options, unsigned i, struct ct_finding *finding);

/* Members (members.h) of what a store goes to; the same as JSON, NULL: it is not known. */
extern const struct member ct_field_members[];
json_t *ct_field_json(const struct nvw__field *field);

/* The finding itself as JSON, as reports have it. */
json_t *ct_finding_json(const struct ct_finding *finding);
/* What ct_finding_json() has written, but for what cures it, its schedule and the acknowledgement. */
void ct_finding_read(const json_t *o, struct ct_finding *ret_finding);

/* Writes path, which is refused if it exists. head stays the caller's. */
NVW_CHECKED int ct_finding_save(const char *path, const json_t *head, const struct ct_finding *finding,
	const void *image, uint64_t bytes, const struct nvw_acks *acks);

/* The machine of a head that has one, under its name and seed; else NVW_E_DAMAGED. */
NVW_CHECKED int ct_finding_machine(const json_t *head, struct emu_config *ret_config);

struct ct_saved {
	json_t *head;            /* what ct_finding_subject() made, with the finding under "finding" */
	uint8_t *image, *filled; /* filled: its map (core/filled.h); NULL: not known */
	uint64_t bytes;
	struct nvw_acks acks;
};

/* NVW_E_DAMAGED names path and offset of what is wrong. Freed by ct_saved_free(). */
NVW_CHECKED int ct_saved_load(const char *path, struct ct_saved *ret_saved);
void ct_saved_free(struct ct_saved *saved);

/*
 * Recovers and checks the saved state (without a head: an image), in a process of its own. *ret_finding has
 * the text (empty if it is consistent now), the signal or the hang. CT_NO_ANSWER with a message if the
 * process was killed from outside or ended as if all were well. An error only if it cannot be tried.
 */
NVW_CHECKED int ct_saved_judge(const struct ct_saved *saved, ct_judge judge, void *context,
	unsigned timeout_ms, struct ct_finding *ret_finding);

#endif
