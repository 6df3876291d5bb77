/* SPDX-License-Identifier: BSD-3-Clause */
/* Damaged copies of a pool, each recovered and judged against the recovered pool without damage. */
#ifndef CLI_POOLS_CAMPAIGN_H
#define CLI_POOLS_CAMPAIGN_H

#include "damage.h"

/* X(name, text): what became of a copy. */
#define CAMPAIGN_VERDICTS(X)                                                                                 \
	X(REPAIRED, "repaired") /* all bytes are as without damage */                                        \
	X(HARMLESS, "harmless") /* all that holds something means the same */                                \
	X(REFUSED, "refused")   /* with the place, and nothing was written */                                \
	X(REPORTED, "reported") /* the check has a finding */                                                \
	X(UNREAD,                                                                                            \
		"unread") /* accepted, and differs in words that the check does not read: nobody can tell */ \
	X(UNGUARDED, "unguarded") /* accepted; the structure keeps nothing that could contradict it */       \
	X(SILENT, "silent")   /* accepted, and differs in words that the check reads and could compare */    \
	X(CRASHED, "crashed") /* a signal, or no end */                                                      \
	X(TOUCHED, "touched") /* refused, after a write */

enum campaign_verdict {
#define X(name, text) CAMPAIGN_##name,
	CAMPAIGN_VERDICTS(X)
#undef X
		CAMPAIGN_COUNT
};
extern const char *const campaign_names[CAMPAIGN_COUNT];

enum { CAMPAIGN_KEPT = 8, CAMPAIGN_REASONS = 16 };

struct campaign {
	unsigned whats, hows; /* sets of bits: what to damage, and how */
	uint64_t copies, seed;
	/* Results. */
	uint64_t count[REC_LIVE_KINDS][DAMAGE_HOWS][CAMPAIGN_COUNT];
	uint64_t total[CAMPAIGN_COUNT], drawn;
	struct campaign_bad { /* the first that no recovery may leave */
		struct damage damage;
		enum campaign_verdict verdict;
		char message[1024];
	} bad[CAMPAIGN_KEPT];
	unsigned bad_count;
	struct campaign_reason { /* what the structure says of unguarded words */
		const char *text;
		uint64_t count;
	} reason[CAMPAIGN_REASONS];
};

/* Draws copy number i, which is a function of the seed and i. NVW_E_USAGE if the pool has nothing that
 * could be damaged so. */
NVW_CHECKED int campaign_draw(const struct campaign *c, const struct nvw_pool *first,
	const struct damage_places *places, uint64_t i, struct damage *ret);

/*
 * Damages, recovers and judges all copies, in a temporary folder. first is open for reading.
 * NVW_E_INPUT if the pool itself does not pass recovery and check; NVW_E_USAGE if it has no bytes to
 * damage, or more than 1 GiB; NVW_E_STOPPED with the results so far.
 */
NVW_CHECKED int campaign_run(struct campaign *campaign, const struct nvw_pool *first);

#endif
