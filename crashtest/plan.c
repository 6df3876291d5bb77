/* SPDX-License-Identifier: BSD-3-Clause */
/* Which states of a run are tested. See plan.h. */
#include <math.h>
#include <stdlib.h>

#include <nvw/random.h>

#include "plan.h"

/* ---- Sharing out ---------------------------------------------------------------------------------------- */

static uint32_t fresh_states(const struct ct_states *s)
{
	/* A few states too many would only lengthen an exhaustive walk: beyond 2^40 rounding is no matter. */
	if (s->possible_log2 > 40) {
		return CT_PLAN_CAP;
	}
	const double n = round(exp2(s->possible_log2)) - (s->old_log2 < 0 ? 0 : round(exp2(s->old_log2)));

	return n > CT_PLAN_CAP ? CT_PLAN_CAP : (uint32_t)n;
}

/* log2 of the number of new states, for the sum over instants. */
static double fresh_log2(const struct ct_states *s)
{
	if (s->old_log2 < 0) {
		return s->possible_log2;
	}
	const double gap = s->old_log2 - s->possible_log2;

	return gap >= 0 ? -INFINITY : s->possible_log2 + log2(1 - exp2(gap));
}

static double log2_sum(double a, double b)
{
	const double high = fmax(a, b), low = fmin(a, b);

	return low == -INFINITY ? high : high + log2(1 + exp2(low - high));
}

static int by_size(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a & CT_PLAN_CAP, y = *(const uint32_t *)b & CT_PLAN_CAP;

	return (x > y) - (x < y);
}

/* The largest share with which the instants together stay within the budget. */
static int share_out(struct ct_plan *plan)
{
	uint32_t *sorted = malloc((plan->instants + 1) * sizeof *sorted);
	uint64_t left = plan->budget;

	if (sorted == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for a plan of %llu instants",
			(unsigned long long)plan->instants);
	}
	for (uint64_t i = 0; i < plan->instants; i++) {
		sorted[i] = plan->fresh[i];
	}
	qsort(sorted, plan->instants, sizeof *sorted, by_size);
	plan->share = CT_PLAN_CAP;
	for (uint64_t i = 0; i < plan->instants; i++) {
		const uint64_t fair = left / (plan->instants - i);
		const uint64_t wants = sorted[i] & CT_PLAN_CAP;

		if (wants > fair) {
			plan->share = fair;
			break;
		}
		left -= wants;
	}
	free(sorted);
	return 0;
}

static void count_record(void *context, const struct ct_medium *medium, const struct nvw_log_record *r)
{
	struct ct_result *result = context;

	result->stores += r->kind == NVW_LOG_STORE;
	result->barriers += r->kind == NVW_LOG_BARRIER;
	result->writes += r->kind == NVW_LOG_ISSUE;
	result->sim_time_ps = r->time_ps;
}

static int add_instant(struct ct_plan *plan, uint64_t *capacity, const struct ct_medium *m)
{
	const struct ct_states s = ct_medium_states(m);

	if (plan->instants == *capacity) {
		const uint64_t n = *capacity ? 2 * *capacity : 1024;
		uint32_t *fresh = realloc(plan->fresh, n * sizeof *fresh);

		if (fresh == NULL) {
			return nvw_fail(NVW_E_MEMORY, "no memory for a plan of %llu instants",
				(unsigned long long)n);
		}
		plan->fresh = fresh;
		*capacity = n;
	}
	plan->fresh[plan->instants++] = fresh_states(&s) | (m->obliged_by_ack ? CT_PLAN_ACK : 0);
	plan->possible_log2 = log2_sum(plan->possible_log2, fresh_log2(&s));
	plan->possible += exp2(fresh_log2(&s));
	return 0;
}

int ct_plan_create(struct ct_medium *m, uint64_t budget, uint64_t seed, struct ct_result *result,
	struct ct_plan *ret_plan)
{
	struct ct_plan plan = {.seed = seed, .budget = budget, .possible_log2 = -INFINITY};
	uint64_t capacity = 0;
	int error;

	m->seen = count_record;
	m->context = result;
	while ((error = ct_medium_next(m)) == 1) {
		error = add_instant(&plan, &capacity, m);
		if (error) {
			break;
		}
	}
	if (!error) {
		error = share_out(&plan);
	}
	if (error) {
		ct_plan_destroy(&plan);
		return error;
	}
	for (uint64_t i = 1; i <= plan.instants; i++) {
		plan.exhausted += ct_plan_exhausts(&plan, i);
		plan.draws += ct_plan_share(&plan, i);
	}
	result->acks = nvw_acked_count(&m->acks);
	*ret_plan = plan;
	return 0;
}

void ct_plan_destroy(struct ct_plan *plan)
{
	free(plan->fresh);
	*plan = (struct ct_plan){0};
}

/* With fewer states than instants, every so-manieth instant gets one, from a seeded start. */
static bool chosen(const struct ct_plan *plan, uint64_t instant)
{
	const uint64_t start = nvw_mix64(plan->seed + 0x517cc1b727220a95u) % plan->instants;
	const unsigned __int128 a = (unsigned __int128)(instant - 1) * plan->budget + start;

	return (uint64_t)((a + plan->budget) / plan->instants) != (uint64_t)(a / plan->instants);
}

uint64_t ct_plan_share(const struct ct_plan *plan, uint64_t instant)
{
	const uint64_t fresh = plan->fresh[instant - 1] & CT_PLAN_CAP;
	const uint64_t share = plan->share ? plan->share : chosen(plan, instant);

	return fresh < share ? fresh : share;
}

bool ct_plan_exhausts(const struct ct_plan *plan, uint64_t instant)
{
	const uint64_t fresh = plan->fresh[instant - 1] & CT_PLAN_CAP;

	return fresh < CT_PLAN_CAP && ct_plan_share(plan, instant) == fresh;
}

/* ---- States by number ------------------------------------------------------------------------------------- */

uint64_t ct_plan_draws(const struct ct_plan *plan, const struct ct_medium *m)
{
	const uint64_t share = ct_plan_share(plan, m->instant);

	if (share == 0 || !ct_plan_exhausts(plan, m->instant)) {
		return share;
	}
	return (uint64_t)round(exp2(ct_medium_states(m).possible_log2));
}

static bool draw_by_number(const struct ct_medium *m, uint64_t draw, unsigned *levels)
{
	bool fresh = m->obliged;

	for (unsigned i = 0; i < m->cell_count; i++) {
		const unsigned radix = m->cell[i].count + 1;

		levels[i] = (unsigned)(draw % radix);
		draw /= radix;
		fresh |= levels[i] > m->cell[i].old_count;
	}
	return fresh;
}

static void draw_uniform(const struct ct_medium *m, struct nvw_random *r, unsigned *levels)
{
	for (unsigned i = 0; i < m->cell_count; i++) {
		levels[i] = (unsigned)nvw_random_below(r, m->cell[i].count + 1);
	}
}

/* Each further version is durable with the same, drawn probability. */
static void draw_with_density(const struct ct_medium *m, struct nvw_random *r, unsigned *levels)
{
	const uint64_t density = nvw_random_u64(r);

	for (unsigned i = 0; i < m->cell_count; i++) {
		levels[i] = 0;
		while (levels[i] < m->cell[i].count && nvw_random_u64(r) < density) {
			levels[i]++;
		}
	}
}

bool ct_plan_draw(const struct ct_plan *plan, const struct ct_medium *m, uint64_t draw, unsigned *levels)
{
	struct nvw_random r = {nvw_mix64(plan->seed ^ nvw_mix64(m->instant)) + draw * 0xa0761d6478bd642fu};

	if (ct_plan_exhausts(plan, m->instant)) {
		return draw_by_number(m, draw, levels);
	}
	if (nvw_random_u64(&r) & 1) {
		draw_uniform(m, &r, levels);
	} else {
		draw_with_density(m, &r, levels);
	}
	return true;
}
