/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A check in parts (nvw_parts in nvw/workload.h), for all states of an instant.
 *
 * The verdict of a state is the conjunction of its parts: those of nvw_recover(), which refuses a pool if one
 * word of its metadata is damaged (recovery/through.h), and those of the workload. A part looks at few
 * uncertain words, so it is tried with every combination of them (choices.h); what others look at does not
 * matter to it. So costs add where those of whole states multiply. A part reads each word as recovery leaves
 * it. It is tried again at a later instant only if something that it looked at has changed (watch.h).
 */
#ifndef CRASHTEST_PARTS_H
#define CRASHTEST_PARTS_H

#include <nvw/workload.h>

#include "../crash.h"
#include "../states/medium.h"

enum { CT_PART_NAME = 96, CT_PART_EVALUATIONS = 4096, CT_PART_EVALUATIONS_CLOSED = 1024 };

enum ct_part_verdict {
	CT_PART_PASSES, /* in every combination */
	CT_PART_FAILS,  /* in the example */
	CT_PART_WIDE,   /* not known: too many combinations, or it reads what cannot be looked through */
};

struct ct_parts;
struct ct_asking;

/* Parts for a medium, which notes its changes from now on. *ret_parts is NULL if they cannot be had: no
 * parts, another model than free and strict ones, limits, several pools. */
NVW_CHECKED int ct_parts_create(const struct nvw_workload *workload, void *plan, struct ct_medium *medium,
	struct ct_parts **ret_parts);

/* The parts of a host program's check (nvw/checker.h), which see the image as is: the check recovers it. */
struct ct_plain_parts {
	uint64_t (*count)(void *context);
	/* As in nvw_parts. Only those bytes of the image are there that were asked for. */
	int (*check)(void *context, const struct ct_asking *image, const struct nvw_acks *acks, uint64_t part,
		struct nvw_findings *findings);
	void (*name)(void *context, uint64_t part, char *ret_name, size_t bytes);
	void *context;
};
struct ct_asking {
	const void *bytes;
	void (*ask)(void *asker, nvw_off off, uint64_t bytes);
	void *asker;
};
/* The same for these. *ret_parts is NULL under other models than x86 and eadr. */
NVW_CHECKED int ct_parts_create_plain(
	const struct ct_plain_parts *plain, struct ct_medium *medium, struct ct_parts **ret_parts);
/* Creates the parts of the exploration's check, if it has any. */
NVW_CHECKED int ct_parts_of(
	const struct ct_exploration *e, struct ct_medium *medium, struct ct_parts **ret_parts);
void ct_parts_free(struct ct_parts *parts);

/* Counts from the creation on. */
struct ct_parts_count {
	uint64_t parts, evaluations, tries;
	uint32_t most_forks; /* uncertain words that an evaluation met, at most */
	uint64_t widest;     /* the part that met them */
};
const struct ct_parts_count *ct_parts_count(const struct ct_parts *parts);

/* Tries all parts that may give another answer at the medium's instant than at the last one. began, if not
 * NULL, is called with each part before it is tried. */
NVW_CHECKED int ct_parts_try(
	struct ct_parts *parts, void (*began)(void *context, uint64_t part), void *context);

/* 0; else no part was tried at this instant, since so many stores are in flight that their order cannot be
 * kept, or since their order is irregular (before.h); then the number of stores in flight. */
uint64_t ct_parts_crowd(const struct ct_parts *parts);

/* The parts that do not pass at this instant, in ascending order; in a crowd, those of an earlier one. */
struct ct_part_trouble {
	uint64_t part; /* comes first: nvw_by_u64() orders by it */
	enum ct_part_verdict verdict;
	uint32_t evaluation; /* the number of the first that fails */
	uint32_t forks;
	uint64_t shape; /* of what it says: equal for texts that differ in numbers alone */
};
uint64_t ct_parts_troubles(const struct ct_parts *parts, const struct ct_part_trouble **ret_troubles);

/* Tries one part until this evaluation, and finds a state with it. findings gets the part's answer. False if
 * there is no such evaluation. */
bool ct_parts_remake(struct ct_parts *parts, uint64_t part, uint32_t evaluation,
	struct nvw_findings *findings, unsigned *levels);

/* The shape of what a check says in its finding number i: equal for texts that differ in numbers alone. */
uint64_t ct_parts_shape(const struct nvw_findings *findings, unsigned i);

void ct_parts_name(const struct ct_parts *parts, uint64_t part, char ret_name[CT_PART_NAME]);

/* A state of a finding is found again by its part and evaluation. */
#define CT_DRAW_PART (UINT64_C(3) << 61)
static inline uint64_t ct_part_draw(uint64_t part, uint32_t evaluation)
{
	return CT_DRAW_PART + (part << 20) + evaluation;
}

/* ---- For tests ----------------------------------------------------------------------------------------- */

/* From now on, what a part did not ask for is noise from this seed, new in each evaluation; 0: zeroes. */
void ct_parts_noise(struct ct_parts *parts, uint64_t seed);
/* Under buffered epoch persistency more stores than this many bytes of order can be kept of are a crowd. */
void ct_parts_crowd_beyond(struct ct_parts *parts, uint64_t bytes);
/* Tries all parts with all their combinations at the medium's instant, whatever was tried before, and forgets
 * the answers. Calls tried() after each evaluation, numbered from 0 for each part. */
struct ct_tried {
	uint64_t part;
	uint32_t evaluation;
	uint32_t forks; /* uncertain words that it met */
	bool passes, wide;
};
void ct_parts_walk(
	struct ct_parts *parts, void (*tried)(void *context, const struct ct_tried *tried), void *context);
/* In tried(): is the state of these levels one of the evaluation? */
bool ct_parts_hold(const struct ct_parts *parts, const unsigned *levels);
/* The word at off as recovery leaves it in the state of these levels; false if it cannot be looked
 * through. */
bool ct_parts_recovered(struct ct_parts *parts, nvw_off off, const unsigned *levels, uint64_t *ret_word);

#endif
