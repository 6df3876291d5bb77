/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Situations: conditions besides the order of operations that affect a test's outcome. Lines absent from the
 * L1s or already there, or only one of them there; work-groups on their own CUs or on one; two variables per
 * line; store buffers that hold nothing back; small caches with accesses to other lines in between.
 */
#include <string.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/invariant.h"
#include "core/print.h"
#include "internal.h"

enum { EVICTING_SITUATIONS = 6 };

static uint32_t every_variable(const struct litmus_test *test)
{
	NVW_INVARIANT(test->variable_count < 32);
	return (UINT32_C(1) << test->variable_count) - 1;
}

/* Small caches: the lines that they hold initially, and all else, come from the seed. */
static void evicting(const struct litmus_test *test, unsigned i, uint64_t seed, struct litmus_situation *s)
{
	s->evicting = nvw_mix64(seed * EVICTING_SITUATIONS + i + 1) | 1;
	s->warm = (uint32_t)(s->evicting >> 32) & every_variable(test);
	s->shares_lines = i % 3 == 2;
	NVW_PRINT(s->name, "evictions %u", i + 1);
}

/* Initial content of the L1s: nothing, everything, or one variable. */
static void set_warm(const struct litmus_test *test, unsigned i, struct litmus_situation *s)
{
	NVW_INVARIANT(i < 2 + test->variable_count);
	if (i < 2) {
		s->warm = i * every_variable(test);
		NVW_PRINT(s->name, i ? "lines in the L1s" : "lines absent");
	} else {
		s->warm = UINT32_C(1) << (i - 2);
		NVW_PRINT(s->name, "%s alone in the L1s", test->variable[i - 2].name);
	}
}

bool litmus_situation(const struct litmus_test *test, unsigned i, uint64_t seed, struct litmus_situation *ret)
{
	const uint32_t all = every_variable(test);
	const struct litmus_situation fixed[] = {
		{.name = "two variables a line", .shares_lines = true},
		{.name = "two variables a line, lines in the L1s", .shares_lines = true, .warm = all},
		{.name = "one CU", .is_one_cu = true},
		{.name = "one CU, lines in the L1", .is_one_cu = true, .warm = all},
	};
	const unsigned fixed_count = NVW_COUNT(fixed);
	unsigned sets = 2;

	NVW_INVARIANT(test->variable_count <= LITMUS_VARIABLES);
	*ret = (struct litmus_situation){0};
	if (test->variable_count > 1) {
		sets += test->variable_count;
	}
	if (i < 2 * sets) {
		set_warm(test, i % sets, ret);
		if (i >= sets) {
			ret->drains = true;
			strcat(ret->name, ", store buffers of one line");
		}
		return true;
	}
	i -= 2 * sets;
	if (i < fixed_count) {
		*ret = fixed[i];
		return true;
	}
	i -= fixed_count;
	if (i < EVICTING_SITUATIONS) {
		evicting(test, i, seed, ret);
		return true;
	}
	return false;
}

int litmus_machine(const struct litmus_test *test, const struct litmus_situation *s,
	const struct litmus_options *options, struct emu_config *ret)
{
	struct litmus_geometry g;

	litmus_geometry(test, &g);
	emu_config_default(ret);
	NVW_PRINT(ret->name, "litmus");
	NVW_PRINT(ret->protocol, "%s", options->protocol);
	ret->seed = 0; /* work-group g is on CU g */
	ret->cus = g.groups;
	ret->wavefront_width = 1; /* every thread is scheduled separately */
	ret->wavefronts_per_cu = g.group_size;
	if (s->is_one_cu) {
		ret->cus = 1;
		ret->wavefronts_per_cu = g.groups * g.group_size;
	}
	ret->l1.ways = 32;
	ret->l2.ways = 64;
	if (s->evicting) {
		ret->l1.ways = 2;
		ret->l2.ways = 4;
	}
	ret->l1.size = ret->l1.ways * 64;
	ret->l2.size = ret->l2.ways * 64;
	ret->l2_banks = 1;
	if (s->drains || (s->evicting >> 3 & 1)) {
		ret->l1.sfifo = ret->l1.nvw_fifo = ret->l2.sfifo = ret->l2.nvw_fifo = 1;
	}
	ret->dram.size = 64 << 10;
	for (unsigned i = 0; options->settings && options->settings[i]; i++) {
		NVW_TRY(emu_config_set(ret, options->settings[i]));
	}
	return 0;
}

static bool share_a_group(const struct litmus_thread *a, const struct litmus_thread *b)
{
	return a->work_group == b->work_group && a->device == b->device;
}

/* The group of thread t, which the first thread with its work-group and device has begun. */
static unsigned join(const struct litmus_test *test, unsigned t, unsigned *group_of, unsigned *groups)
{
	unsigned other = 0;

	while (!share_a_group(&test->thread[other], &test->thread[t])) {
		other++;
	}
	group_of[t] = other < t ? group_of[other] : (*groups)++;
	return group_of[t];
}

/* Work-groups are numbered in order of appearance. */
void litmus_geometry(const struct litmus_test *test, struct litmus_geometry *ret)
{
	unsigned group_of[LITMUS_THREADS], members[LITMUS_THREADS] = {0};

	*ret = (struct litmus_geometry){0};
	memset(ret->thread, -1, sizeof ret->thread);
	NVW_FOR(t, test->thread_count) {
		const unsigned size = ++members[join(test, t, group_of, &ret->groups)];

		ret->group_size = (unsigned)nvw_max(ret->group_size, size);
	}
	memset(members, 0, sizeof members);
	NVW_FOR(t, test->thread_count) {
		ret->thread[group_of[t] * ret->group_size + members[group_of[t]]++] = (int)t;
	}
	NVW_INVARIANT(ret->groups <= test->thread_count && ret->group_size <= test->thread_count);
}

/* ---- Runs of a test --------------------------------------------------------------------------------- */

void litmus_runner_begin(
	struct litmus_runner *r, const struct litmus_test *test, const struct litmus_options *options)
{
	r->options = options;
	r->execution.test = test;
	r->execution.search = &r->search;
	litmus_geometry(test, &r->execution.geometry);
	litmus_report_begin(&r->report, test, options);
}

int litmus_runner_prepare(struct litmus_runner *r, struct nvw_machine *machine)
{
	if (r->options->fault) {
		NVW_TRY(emu_plant_fault(machine, r->options->fault));
	}
	return litmus_execution_prepare(&r->execution, machine);
}

bool litmus_has_enough(const struct litmus_runner *r)
{
	return r->options->stop_when_seen && r->report.seen;
}

int litmus_run_schedules(struct litmus_runner *r, uint64_t budget,
	int (*execute)(struct litmus_runner *r, const struct emu_config *config))
{
	const uint64_t schedules = r->options->schedules;
	struct emu_config config;
	int error;

	NVW_TRY(litmus_machine(r->report.test, &r->execution.situation, r->options, &config));
	r->execution.is_anonymous = emu_config_consistent(&config).store_buffer.entries;
	r->report.situations++;
	litmus_search_start(&r->search, NVW_OR(schedules, budget), r->options->seed);
	do {
		error = execute(r, &config);
	} while (!error && !litmus_has_enough(r) && litmus_search_next(&r->search));
	r->report.is_exhaustive &= r->search.is_complete;
	return error;
}
