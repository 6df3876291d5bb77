/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool that one part of a check sees (parts.h): each word as recovery leaves it, made when the part asks
 * for it, in one combination of what is uncertain (choices.h). What a part asks for is noted (watch.h), so
 * that a change wakes it.
 *
 * A word after recovery is a function of few words before it (recovery/through.h): of the word itself, of the
 * undo log entries that can name it (restores.h), and of the status of their epochs.
 */
#ifndef CRASHTEST_PART_VIEW_H
#define CRASHTEST_PART_VIEW_H

#include <nvw/workload.h>

#include "../../recovery/through.h"
#include "../states/choices.h"
#include "holders.h"
#include "restores.h"
#include "watch.h"

/* An image that is made word by word, and the pool handle on it. */
struct ct_made {
	uint64_t *words;
	uint32_t *made_in; /* the evaluation in which the word was made */
	struct nvw_pool *pool;
};

struct ct_part_view {
	struct ct_medium *medium;
	struct nvw_pool_geometry geometry;
	uint64_t bytes;
	struct ct_made before, after; /* recovery */
	struct rec_through through;
	struct ct_choices choices;
	struct ct_restores restores;
	struct ct_holders holders;
	struct ct_watch watch;
	uint64_t key_things; /* a power of two: keys are watched by their hash */
	uint32_t evaluation;
	uint64_t seed;  /* of noise in what was not asked for; 0: zeroes */
	bool is_wide;   /* this evaluation reads what cannot be looked through */
	bool unwatched; /* what is looked at wakes nobody */
	bool is_plain;  /* there is no recovery: before is all there is, and no pool */
	int error;
	const unsigned *levels; /* of the state to look at, instead of the choices; NULL: the choices */
	struct nvw_acks acks;   /* the medium's, which tell what is asked for */
};

/* A view of the medium, which notes its changes from now on. key and plan are those of struct nvw_parts. */
NVW_CHECKED int ct_part_view_create(struct ct_medium *medium,
	uint64_t (*key)(const void *plan, uint64_t word), const void *plan, struct ct_part_view *view);
/* The same of an image that is no pool. */
NVW_CHECKED int ct_part_view_create_plain(struct ct_medium *medium, struct ct_part_view *view);
/* Everything is awake; parts is their number. */
NVW_CHECKED int ct_part_view_watch(struct ct_part_view *view, uint64_t parts);
void ct_part_view_free(struct ct_part_view *view);

/* Takes note of what has changed in the medium since the last call: wakes the parts that looked at it. */
NVW_CHECKED int ct_part_view_changed(struct ct_part_view *view);

/* The next evaluation begins: nothing has been asked for. */
void ct_part_view_begin(struct ct_part_view *view);

/* Bytes before recovery are asked for. */
void ct_part_view_fetch_before(void *view, nvw_off off, uint64_t bytes);

#endif
