/* SPDX-License-Identifier: BSD-3-Clause */
/* A small run of a structure with parts, and the states of its instants, for tests of checks in parts. */
#ifndef TESTS_CRASHTEST_PARTS_RIG_H
#define TESTS_CRASHTEST_PARTS_RIG_H

#include "common/test.h"

#include <check/check.h>
#include <config/config.h>
#include <crashtest/requests/modes.h>
#include <crashtest/judge/oracle.h>
#include <crashtest/parts/parts.h>
#include <crashtest/states/states.h>
#include <emu.h>
#include <nvw/random.h>

struct small {
	const struct nvw_workload *workload;
	const char *options; /* "name=value name=value" */
};

/* A logged run, and a medium that goes through it. */
struct rig {
	struct ct_logged logged;
	struct emu_config config;
	struct nvw_options *options;
	struct ct_subject subject;
	struct ct_medium medium;
	struct ct_oracle oracle;
	unsigned *levels;
	struct nvw_random random;
	unsigned failed; /* states */
};

/*
 * setting is one of the machine's, or NULL. False: the run ends with an error, which only one with a seeded
 * bug may.
 */
bool rig_create(struct rig *rig, const struct small *small, int mutation, uint64_t seed, const char *setting);
void rig_destroy(struct rig *rig);

/* Begins to go through the run's instants under a model; goes to the next, false if there is none; ends. */
void rig_begin(struct rig *rig, enum ct_model model);
bool rig_next(struct rig *rig);
void rig_end(struct rig *rig);

/* Chooses a state: the first has nothing that need not be durable, the second all; the others are samples. */
void rig_choose(struct rig *rig, unsigned number);
/* Does recovery or the whole check fail in the state of rig->levels? */
bool rig_fails(struct rig *rig, struct nvw_findings *findings);

/* Explores its states as the command would, by one job unless options say otherwise; the last result alone is
 * kept, without what it has allocated. */
const struct ct_result *rig_explore(struct rig *rig, struct ct_options options);

/* States of an instant, and what all parts say of them, tried with all their combinations. */
struct rig_states {
	const struct rig *rig;
	struct ct_parts *parts;
	unsigned *levels; /* [state * cells + cell] */
	unsigned count;
	bool *part_fails;  /* of each state */
	uint8_t *tried;    /* by the current part */
	uint64_t part;     /* the current one + 1, 0: its only evaluation has all states */
	uint64_t wide;     /* evaluations that cannot tell */
	uint64_t uneven;   /* states that a part does not try exactly once */
	uint64_t baseless; /* evaluations in which a part fails, and which none of the states has */
};
void rig_states_create(
	const struct rig *rig, struct ct_parts *parts, unsigned count, struct rig_states *ret_states);
void rig_states_free(struct rig_states *states);
/* State number i has rig->levels. */
void rig_states_set(struct rig_states *states, unsigned i);
/* Fills in part_fails and the counts. */
void rig_states_try(struct rig_states *states);

/* What comparisons of parts with a whole check have met; both see the same if different is 0. */
enum { RIG_STATES_MAX = 8192 };
struct rig_sum {
	uint64_t instants, left_out, states, failing, different;
	uint64_t wide; /* evaluations that cannot tell */
};
/* Compares them in every state of this instant, of which there are count. */
void rig_compare(struct rig *rig, struct ct_parts *parts, unsigned count,
	bool (*check_fails)(struct rig *rig), struct rig_sum *sum);

#endif
