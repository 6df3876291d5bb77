/* SPDX-License-Identifier: BSD-3-Clause */
/* Which steps wait for which, and what a program's numbers may be. */

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "torture_program.h"

static void widen(const struct torture_program *p, struct torture_sync *sync)
{
	if (p->promises.scopes) {
		sync->scope = (uint8_t)nvw_max(sync->scope, NVW_SCOPE_AGENT);
	}
}

/* b follows a in a set whose steps take turns: the first step of the next work-item waits for a word written
 * by the last. */
static void link_turn(struct torture_program *p, struct torture_step *a, struct torture_step *b)
{
	const unsigned slot = p->sets[b->set].slot, group = torture_group_of(p, a->work_item);
	const bool local = group == torture_group_of(p, b->work_item);

	NVW_INVARIANT(a < b && a->set == b->set);
	if (a->work_item == b->work_item) {
		return;
	}
	a->release.variable = b->acquire.variable = local ? p->local_turn[slot][group] : p->turn[slot];
	a->release.tag = b->acquire.tag = (uint16_t)(a - p->steps + 1);
	if (!local) {
		widen(p, &a->release);
		widen(p, &b->acquire);
	}
}

static bool step_is_valid(const struct torture_program *p, const struct torture_step *s)
{
	return s->first_op + s->op_count <= p->op_count && s->set < (int)p->set_count &&
	       s->work_item < p->groups * p->group_size;
}

static bool variable_is_valid(const struct torture_program *p, const struct torture_variable *v)
{
	return v->line < p->line_count && v->offset + v->size <= 64 && v->offset % v->size == 0;
}

bool torture_program_is_valid(const struct torture_program *p)
{
	bool is_valid = p->groups <= TORTURE_GROUPS_MAX && p->group_size <= TORTURE_GROUP_SIZE_MAX;

	NVW_EACH(step, p->steps, p->step_count) {
		is_valid &= step_is_valid(p, step);
	}
	NVW_EACH(op, p->ops, p->op_count) {
		is_valid &= op->variable < p->variable_count;
	}
	NVW_EACH(v, p->variables, p->variable_count) {
		is_valid &= variable_is_valid(p, v);
	}
	return is_valid;
}

/* The steps of the program before the one that is linked. */
struct links {
	struct torture_step *last[TORTURE_PHASES_MAX * TORTURE_SLOTS]; /* of each set that takes turns */
	uint32_t tickets[TORTURE_SLOTS];
	unsigned sets; /* sets with a step so far; they are in the order of their phases */
};

static void begin_sets(struct torture_program *p, struct links *links, int until)
{
	for (; (int)links->sets <= until; links->sets++) {
		struct torture_set *const s = &p->sets[links->sets];

		s->tickets_before = links->tickets[s->slot];
	}
}

static void link_ticket(struct torture_program *p, const struct torture_set *s, struct torture_step *step)
{
	step->acquire.variable = p->ticket[s->slot];
	if (s->group < 0) {
		widen(p, &step->acquire);
	}
}

static void link_step(struct torture_program *p, struct links *links, struct torture_step *step)
{
	NVW_INVARIANT(step->set >= 0 && !step->removed);

	const struct torture_set *const s = &p->sets[step->set];
	struct torture_step **const last = &links->last[step->set];

	if (s->style == TORTURE_TICKET) {
		link_ticket(p, s, step);
		links->tickets[s->slot]++;
	} else if (s->style == TORTURE_TURN) {
		step->acquire.variable = step->release.variable = TORTURE_NONE;
		if (*last) {
			link_turn(p, *last, step);
		}
		*last = step;
	}
}

void torture_link(struct torture_program *p)
{
	struct links links = {0};

	NVW_EACH(step, p->steps, p->step_count) {
		begin_sets(p, &links, step->set);
		if (step->set >= 0 && !step->removed) {
			link_step(p, &links, step);
		}
	}
}
