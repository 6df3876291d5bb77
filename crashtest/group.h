/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings in groups: violations whose texts are equal but for the numbers in them. Fixed size, so that it
 * can lie in memory that outlives the worker that fills it.
 */
#ifndef CRASHTEST_GROUP_H
#define CRASHTEST_GROUP_H

#include "crash.h"

enum { CT_SAMPLES = 4 };

struct ct_groups {
	unsigned count;
	uint64_t unlisted; /* states of groups beyond the last */
	struct ct_group {
		char shape[CT_TEXT_BYTES];
		struct ct_finding finding;
		/*
		 * Failing states that differ: each is the first that was met after a store of its source
		 * place.
		 */
		struct ct_sample {
			bool used;
			char text[CT_TEXT_BYTES];
			nvw_off off;
			uint64_t first_time_ps, instant, draw;
		} sample[CT_SAMPLES];
	} group[CT_FINDINGS_MAX];
};

/* Makes the shape of a text, which has '#' for every number. */
void ct_shape(const char *text, char ret_shape[CT_TEXT_BYTES]);
bool ct_have_one_shape(const char *a, const char *b);
/* The first finding with these words, but for numbers; NULL: there is none. */
const struct nvw__finding *ct_find_alike(const struct nvw_findings *findings, const char *text);
uint64_t ct_shape_hash(const char *text);

/* Leaves no groups; the memory of later ones is not touched. */
void ct_groups_clear(struct ct_groups *groups);
/* Adds finding->states states that fail so; the earlier (instant, draw) stays as the example. */
void ct_groups_add(struct ct_groups *groups, const struct ct_finding *finding);
/* The same for a state whose newest store is of this site, which is also kept as a sample. */
void ct_groups_add_sample(struct ct_groups *groups, const struct ct_finding *finding, uint32_t site);
/* Has a state failed in these words, but for numbers? */
bool ct_groups_has(const struct ct_groups *groups, const char *text);
/* Adds the groups of another worker. */
void ct_groups_join(struct ct_groups *groups, const struct ct_groups *others);
/*
 * Writes the samples that are not the example itself, at most room, as findings that are marked so. Returns
 * how many.
 */
unsigned ct_groups_samples(const struct ct_groups *groups, struct ct_finding *ret_findings, unsigned room);

/* The examples become the result's findings. */
void ct_groups_list(const struct ct_groups *groups, struct ct_result *ret_result);

/* Makes one finding of those with the same root cause. Samples stay only if their cause is another. */
void ct_merge_causes(struct ct_finding *findings, unsigned *count);

/* Does one cure do for both? */
bool ct_causes_alike(const struct ct_cause *a, const struct ct_cause *b);
/* Is it, but for numbers, the finding's text, or another one that has its cause? */
bool ct_finding_has_text(const struct ct_finding *finding, const char *text);

/* True if both are stores that must be atomic, and one place is in both groups. */
bool ct_groups_meet(const struct ct_cause *a, const struct ct_cause *b);

/* Takes in a finding with the same cause: its text, and its file, which goes. */
void ct_finding_absorb(struct ct_finding *to, const struct ct_finding *from);

#endif
