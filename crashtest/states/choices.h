/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree over words looked at, for one part of a check (parts.h): a walk through all combinations of the
 * words that the part looks at, and of no others.
 *
 * A walk is a sequence of evaluations. In each, the part asks for words; a word whose cell has several
 * permitted contents is a fork, at which the evaluation takes one branch. The next evaluation takes the next
 * branch of the last fork that has one. A fork divides the levels of a cell by what the part wants to know of
 * the word, so contents that are equal, or of which it asks the same, are one branch. The remaining levels
 * are narrowed further when it asks again.
 *
 * For free models any branch of one cell goes with any of another. Under strict persistency a state is a
 * number of stores, and a branch an interval of it. Under buffered epoch persistency a branch is an interval
 * of the levels of a cell, or whether an operation is acknowledged; only those that a state can still have
 * are taken (closed.h).
 */
#ifndef CRASHTEST_CHOICES_H
#define CRASHTEST_CHOICES_H

#include "closed.h"

enum { CT_CHOICE_LEVELS = 256 }; /* a cell with more has too many */

typedef uint64_t (*ct_of)(const void *from, uint64_t word);

struct ct_choices {
	const struct ct_medium *medium;
	struct ct_array fork;    /* struct ct_fork: of the evaluation, in order */
	unsigned depth;          /* forks met so far in this evaluation */
	struct ct_array cell;    /* struct ct_narrowed, by number of the cell */
	struct ct_array met;     /* uint32_t: cells that are narrowed */
	uint64_t evaluation;     /* number of all evaluations, so that narrowed cells need not be cleared */
	struct ct_closed closed; /* buffered epoch persistency */
	uint64_t least, beyond;  /* strict persistency: the stores up to one of [least, beyond) are durable */
	bool too_many; /* a cell has too many versions, or memory is short: the walk does not cover all */
};

void ct_choices_free(struct ct_choices *choices);

/* The medium is at another instant. */
NVW_CHECKED int ct_choices_changed(struct ct_choices *choices, const struct ct_medium *medium);

/* Begins a walk at the medium's instant, with its first evaluation. */
void ct_choices_begin(struct ct_choices *choices, const struct ct_medium *medium);
/* Begins the next evaluation; false if there is none. */
bool ct_choices_next(struct ct_choices *choices);

/* The aligned word at off; of(from, word) of it. */
uint64_t ct_choices_word(struct ct_choices *choices, nvw_off off);
uint64_t ct_choices_ask(struct ct_choices *choices, nvw_off off, ct_of of, const void *from);

/* Is the operation, which the medium has as acknowledged, acknowledged in this evaluation? */
bool ct_choices_acked(struct ct_choices *choices, uint64_t op);

/* Number of forks of this evaluation. */
unsigned ct_choices_forks(const struct ct_choices *choices);

/* A state of this evaluation: levels has one element per cell; what was not asked for is durable
 * only if it must be. */
void ct_choices_state(const struct ct_choices *choices, unsigned *levels);

/* Is the permitted state of these levels one of this evaluation? */
bool ct_choices_hold(const struct ct_choices *choices, const unsigned *levels);

#endif
