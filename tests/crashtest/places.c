/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A structure whose look-ups are right in every crash state, and whose allocator hands out a place twice once
 * it is used again: its places are a row of words, and the mark that says which is next is not durable in
 * time. A twin makes it so. Another bug is in what it does after a crash, and shows in a second one.
 */
#include "words.h"

enum { OPS = 8, MARK = 0, PLACES = 8, OWNERS = 8 + 2 * OPS };
enum { RIGHT = -1, LATE_MARK, STUCK, HASTY };

/* ---- The program ------------------------------------------------------------------------------------- */

struct args {
	uint64_t *words, op;
	bool is_late, is_hasty; /* the mark is; the acknowledgement is */
};

/* Operation op takes the next place. */
static void take_place(const void *args)
{
	const struct args *const a = args;
	const uint64_t mark = nvw_load(&a->words[MARK]);

	if (!a->is_late) {
		nvw_store(&a->words[MARK], mark + 1);
		nvw_p_barrier_wi();
	}
	if (a->is_hasty) {
		nvw_ack(a->op);
	}
	nvw_store(&a->words[PLACES + mark], a->op + 1);
	nvw_p_barrier_wi();
	nvw_store(&a->words[OWNERS + a->op], mark + 1);
	nvw_p_barrier_wi();
	if (!a->is_hasty) {
		nvw_ack(a->op);
	}
	if (a->is_late) {
		nvw_store(&a->words[MARK], mark + 1);
	}
}

static int operate(const struct plan *p, struct nvw_machine *machine, uint64_t op, bool after_crash)
{
	struct args a = {.op = op,
		.is_late = p->mutation == LATE_MARK,
		.is_hasty = after_crash && p->mutation == HASTY};

	NVW_TRY(words_in(machine, &a.words));
	return nvw_launch(machine, "take", take_place, &a, 1, 1);
}

static int run(void *plan, struct nvw_machine *machine)
{
	for (uint64_t op = 0; op < OPS; op++) {
		NVW_TRY(operate(plan, machine, op, false));
	}
	return 0;
}

static int go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations)
{
	const struct plan *const p = plan;

	if (p->mutation == STUCK) {
		return nvw_fail(NVW_E_FULL, "no place is left");
	}
	for (uint64_t op = 0; op < OPS && operations > 0; op++) {
		if (!nvw_acked(acks, op)) {
			NVW_TRY(operate(p, machine, op, true));
			operations--;
		}
	}
	return 0;
}

/* Look-ups alone: the place of an acknowledged operation has its number. */
static int check(void *plan, struct nvw_pool *its, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	const nvw_off words = words_of(its);
	int verdict = 0;

	for (uint64_t op = 0; op < OPS; op++) {
		const uint64_t place = nvw_pool_word(its, words + 8 * (OWNERS + op));

		if (nvw_acked(acks, op) &&
			(place == 0 || nvw_pool_word(its, words + 8 * (PLACES + place - 1)) != op + 1)) {
			verdict = nvw_violation(findings, words, "operation %d has lost its place", (int)op);
		}
	}
	return verdict;
}

static const struct nvw_mutation mutations[] = {
	{"late-mark", "the mark is not durable when the operation is acknowledged", "permitted", NULL},
	{"stuck", "nothing can be done after a crash", "permitted", NULL},
	{"hasty", "after a crash an operation is acknowledged before it is durable", "permitted", NULL},
	{NULL, NULL, NULL, NULL},
};

extern const struct nvw_workload nvw_workload;

const struct nvw_workload nvw_workload = {
	.name = "places",
	.mutations = mutations,
	.prepare = prepare,
	.dispose = free,
	.pool = pool,
	.setup = setup,
	.run = run,
	.check = check,
	.go_on = go_on,
};
