/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of states to test. See plan.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <nvw/random.h>

#include "core/array.h"
#include "core/bounds.h"
#include "core/order.h"
#include "core/zeroed.h"

#include "../judge/process.h"
#include "../states/distinct.h"
#include "../states/limits.h"
#include "plan.h"

/* ---- Budget -------------------------------------------------------------------------------------------- */

/* log2 of the number of new states, for the sum over instants. */
static double fresh_log2(const struct ct_count *n)
{
	if (n->old_log2 < 0) {
		return n->log2;
	}
	const double gap = n->old_log2 - n->log2;

	if (gap >= 0) {
		return -INFINITY;
	}
	return n->log2 + log2(1 - exp2(gap));
}

/* Each instant has an interval, and some have all of their states tested. */
__attribute__((unused)) static bool is_valid(const struct ct_plan *plan)
{
	return plan->instants <= plan->interval_room && (plan->fresh || plan->instants == 0) &&
	       plan->exhausted <= plan->instants && plan->draws <= plan->budget && plan->share <= CT_PLAN_CAP;
}

/* The largest share for which all instants together stay within the budget. */
static int share_out(struct ct_plan *plan)
{
	uint32_t *sorted = malloc((plan->instants + 1) * sizeof *sorted);
	uint64_t left = plan->budget;

	NVW_ALLOCATED(sorted, "no memory for a plan of %llu instants", (ull)plan->instants);
	NVW_FOR(i, plan->instants) {
		sorted[i] = plan->fresh[i] & CT_PLAN_CAP;
	}
	qsort(sorted, plan->instants, sizeof *sorted, nvw_by_u32);
	plan->share = CT_PLAN_CAP;
	NVW_FOR(i, plan->instants) {
		const uint64_t fair = left / (plan->instants - i);
		const uint64_t wants = sorted[i];

		if (wants > fair) {
			plan->share = fair;
			break;
		}
		NVW_INVARIANT(wants <= left);
		left -= wants;
	}
	free(sorted);
	return 0;
}

struct pass {
	struct ct_result *result;
	struct ct_distinct distinct;
	int error;
};

static void add_to_counts(struct ct_result *r, const struct nvw_log_record *record)
{
	r->stores += record->kind == NVW_LOG_STORE;
	r->barriers += record->kind == NVW_LOG_BARRIER;
	r->writes += record->kind == NVW_LOG_ISSUE;
	r->sim_time_ps = record->time_ps;
}

static void count_record(void *context, const struct ct_medium *medium, const struct nvw_log_record *r)
{
	struct pass *const pass = context;

	if (r->kind == NVW_LOG_HOST && !pass->error) {
		pass->error = ct_distinct_host(&pass->distinct, medium, r);
	}
	add_to_counts(pass->result, r);
}

/* Grows by doubling; the memory is shared so that workers can count in it. */
static int note_interval(struct ct_plan *plan, const struct ct_medium *m, const struct ct_count *n)
{
	const uint64_t i = plan->instants - 1;

	NVW_INVARIANT(plan->instants > 0 && plan->instants - 1 <= plan->interval_room);
	if (i == plan->interval_room) {
		const uint64_t room = i ? 2 * i : 1024;
		struct ct_interval *const grown = ct_shared_memory(room * sizeof *grown);

		NVW_ALLOCATED(grown, "no memory for a plan of %llu instants", (ull)room);
		if (plan->interval) {
			memcpy(grown, plan->interval, i * sizeof *grown);
			munmap(plan->interval, plan->interval_room * sizeof *grown);
		}
		plan->interval = grown;
		plan->interval_room = room;
	}
	plan->interval[i] = (struct ct_interval){
		.time_ps = m->time_ps, .possible_log2 = fresh_log2(n), .exact = n->exact};
	return 0;
}

/* Under buffered epoch persistency a state may undo acknowledgements; logs of the host have none. */
bool ct_plan_cuts_apart(const struct ct_rules *rules)
{
	return ct_model_info(rules->model)->cuts_apart;
}

/* Where work may be divided: where an acknowledgement makes all states new, so that no state is on both
 * sides. Models without such places are divided anywhere. */
static bool may_cut(const struct ct_medium *m)
{
	return m->obliged_by_ack || !ct_plan_cuts_apart(&m->rules);
}

static int add_instant(
	struct ct_plan *plan, uint64_t *capacity, struct ct_distinct *distinct, struct ct_medium *m)
{
	struct ct_count n;

	NVW_TRY(ct_states_count(m, &n));
	NVW_TRY(ct_limits_look(m));
	plan->known &= n.exact;
	NVW_TRY(ct_distinct_count(distinct, m, &n));
	NVW_GROWN(plan->fresh, *capacity, plan->instants + 1,
		"no memory for a plan of more than %llu instants", (ull)plan->instants);
	plan->fresh[plan->instants++] = (uint32_t)n.fresh | (may_cut(m) ? CT_PLAN_CUT : 0);
	plan->possible_log2 = ct_log2_sum(plan->possible_log2, fresh_log2(&n));
	plan->possible += exp2(fresh_log2(&n));
	plan->exact &= n.exact;
	return note_interval(plan, m, &n);
}

static void add_shares(struct ct_plan *plan)
{
	for (uint64_t i = 1; i <= plan->instants; i++) {
		plan->exhausted += ct_plan_exhausts(plan, i);
		plan->draws += ct_plan_share(plan, i);
	}
}

int ct_plan_create(struct ct_medium *m, uint64_t budget, uint64_t seed, struct ct_result *result,
	struct ct_plan *ret_plan)
{
	struct ct_plan plan = {
		.seed = seed, .budget = budget, .possible_log2 = -INFINITY, .exact = true, .known = true};
	struct pass pass = {.result = result};
	uint64_t capacity = 0;
	int error;

	m->seen = count_record;
	m->context = &pass;
	while ((error = ct_medium_next(m)) == 1) {
		error = NVW_OR(pass.error, add_instant(&plan, &capacity, &pass.distinct, m));
		if (error) {
			break;
		}
	}
	m->seen = NULL;
	ct_distinct_free(&pass.distinct);
	if (!error) {
		error = share_out(&plan);
	}
	if (error) {
		ct_plan_destroy(&plan);
		return error;
	}
	add_shares(&plan);
	NVW_INVARIANT(is_valid(&plan));
	result->acks = nvw_acked_count(&m->acks);
	result->trusts = m->rules.trusts;
	result->trusted = m->trust.counts;
	*ret_plan = plan;
	return 0;
}

void ct_plan_destroy(struct ct_plan *plan)
{
	free(plan->fresh);
	nvw__unmap(plan->interval, plan->interval_room * sizeof *plan->interval);
	*plan = (struct ct_plan){0};
}

/* With fewer states than instants, equally spaced instants get one each, from a seeded start. */
static bool chosen(const struct ct_plan *plan, uint64_t instant)
{
	NVW_INVARIANT(plan->budget < plan->instants); /* else all have a share */
	const uint64_t start = nvw_mix64(plan->seed + 0x517cc1b727220a95u) % plan->instants;
	const unsigned __int128 a = (unsigned __int128)(instant - 1) * plan->budget + start;

	return (uint64_t)((a + plan->budget) / plan->instants) != (uint64_t)(a / plan->instants);
}

uint64_t ct_plan_share(const struct ct_plan *plan, uint64_t instant)
{
	NVW_INVARIANT(instant >= 1 && instant <= plan->instants);
	const uint64_t fresh = plan->fresh[instant - 1] & CT_PLAN_CAP;
	const uint64_t share = NVW_OR(plan->share, chosen(plan, instant));

	return MIN(fresh, share);
}

bool ct_plan_exhausts(const struct ct_plan *plan, uint64_t instant)
{
	NVW_INVARIANT(instant >= 1 && instant <= plan->instants);
	const uint64_t fresh = plan->fresh[instant - 1] & CT_PLAN_CAP;

	return fresh < CT_PLAN_CAP && ct_plan_share(plan, instant) == fresh;
}

/* ---- States by number ---------------------------------------------------------------------------------- */

uint64_t ct_plan_draws(const struct ct_plan *plan, const struct ct_medium *m)
{
	NVW_DEEP_INVARIANT(is_valid(plan));
	if (ct_plan_exhausts(plan, m->instant)) {
		return ct_states_numbers(m);
	}
	return ct_plan_share(plan, m->instant);
}

bool ct_plan_draw(const struct ct_plan *plan, const struct ct_medium *m, uint64_t draw, struct ct_walk *walk,
	unsigned *levels)
{
	struct nvw_random r = {nvw_mix64(plan->seed ^ nvw_mix64(m->instant)) + draw * 0xa0761d6478bd642fu};

	NVW_INVARIANT(is_valid(plan));
	const bool by_number = ct_plan_exhausts(plan, m->instant);
	const bool is_state = !by_number || ct_states_by_number(m, walk, draw, levels);

	if (!by_number) {
		ct_states_sample(m, &r, levels);
	}
	if (is_state) {
		ct_limits_keep(m, levels);
	}
	return is_state;
}
