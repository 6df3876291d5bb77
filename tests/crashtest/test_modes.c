/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kill and observed mode on a whole workload: a list of entries (value, then flag) on a machine without GPU,
 * with planted faults.
 */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/test.h"

#include <crashtest/crash.h>
#include <emu.h>

#include "common/options.h"
#include "common/shell.h"
#include "fake_machine.h"

enum { OPS = 30, POOL_BYTES = 8192, VALUES = 4096 };
enum {
	CORRECT = -1,
	NO_BARRIER,
	EARLY_ACK,
	BAD_RECOVERY,
	CRASHING_CHECK,
	COUNTING_RECOVERY,
	SILENT_CHECK,
	MARKING_RECOVERY,
};

struct plan {
	int mutation;
};
static int mutation_now; /* recover() is given no plan */

static int prepare(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct plan *plan = calloc(1, sizeof *plan);

	plan->mutation = mutation_now = mutation;
	*ret_plan = plan;
	return 0;
}

static int pool(const void *plan, struct nvw_pool_params *ret_params)
{
	*ret_params = (struct nvw_pool_params){.bytes = POOL_BYTES};
	return 0;
}

/* Half an entry, which would be an inconsistency: a crash in set-up must not be tested. */
static int setup(void *plan, struct nvw_machine *machine)
{
	fake_store(machine, 3, 0, 8 * OPS, 1);
	fake_complete(machine);
	fake_store(machine, 4, 0, VALUES + 8 * OPS, 1000 + OPS);
	return 0;
}

static int run_list(void *context, struct nvw_machine *machine)
{
	const struct plan *plan = context;

	NVW_FOR(op, OPS) {
		fake_store(machine, 1, op, VALUES + 8 * op, 1000 + op);
		if (plan->mutation != NO_BARRIER) {
			fake_complete(machine);
		}
		fake_store(machine, 2, op, 8 * op, 1);
		if (plan->mutation == EARLY_ACK && nvw_acknowledge(machine, op, 1)) {
			return NVW_E_KERNEL;
		}
		while (plan->mutation == NO_BARRIER && op % 4 != 3) {
			fake_complete(machine);
			break;
		}
		if (nvw_persist(machine) || nvw_acknowledge(machine, op, 1)) {
			return NVW_E_KERNEL;
		}
	}
	return 0;
}

static uint64_t word(struct nvw_pool *pool, nvw_off off)
{
	uint64_t w;

	memcpy(&w, (const char *)nvw_pool_base(pool) + off, 8);
	return w;
}

static bool is_half(struct nvw_pool *pool, unsigned op)
{
	return !word(pool, 8 * op) && word(pool, VALUES + 8 * op);
}

/* The planted fault says that the work is done before it is. */
static int recover_marking(struct nvw_pool *pool)
{
	const uint64_t zero = 0, mark = 1;
	unsigned op = 0;

	while (op <= OPS && !is_half(pool, op)) {
		op++;
	}
	if (op > OPS || word(pool, POOL_BYTES - 8)) {
		return 0;
	}
	return nvw_pool_write(pool, POOL_BYTES - 8, &mark, 8) ||
			       nvw_pool_write(pool, VALUES + 8 * op, &zero, 8) ||
			       nvw_pool_write(pool, POOL_BYTES - 8, &zero, 8) ?
		       NVW_E_STOPPED :
		       0;
}

/* Takes back values without a flag; the planted fault writes something else each time. */
static int recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	const uint64_t zero = 0, again = word(pool, POOL_BYTES - 8) + 1;
	unsigned counted = 0;

	if (mutation_now == MARKING_RECOVERY) {
		return recover_marking(pool);
	}
	for (unsigned op = 0; op <= OPS; op++) {
		if (!is_half(pool, op)) {
			continue;
		}
		if (mutation_now == COUNTING_RECOVERY && !counted++ &&
			nvw_pool_write(pool, POOL_BYTES - 8, &again, 8)) {
			return NVW_E_STOPPED;
		}
		if (nvw_pool_write(pool, VALUES + 8 * op, &zero, 8)) {
			return NVW_E_STOPPED;
		}
	}
	return mutation_now == BAD_RECOVERY ? nvw_pool_write(pool, POOL_BYTES - 8, &again, 8) : 0;
}

static int check(
	void *context, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	const struct plan *plan = context;
	int verdict = 0;

	for (unsigned op = 0; op <= OPS; op++) {
		const bool there = word(pool, 8 * op);

		if (there && word(pool, VALUES + 8 * op) != 1000 + op) {
			verdict = nvw_violation(findings, 8 * op, "entry %u has no value", op);
		}
		if (!there && nvw_acked(acks, op)) {
			verdict = nvw_violation(findings, 8 * op, "acknowledged entry %u is missing", op);
		}
		if (plan->mutation == MARKING_RECOVERY && is_half(pool, op)) {
			verdict = nvw_violation(findings, 8 * op, "entry %u is half there", op);
		}
	}
	if (plan->mutation == CRASHING_CHECK && word(pool, 8 * 10)) {
		raise(SIGBUS);
	}
	if (plan->mutation == SILENT_CHECK && word(pool, 8 * 10)) {
		return NVW_E_INCONSISTENT;
	}
	return verdict;
}

static const struct nvw_mutation mutations[] = {
	{"no-barrier", "value and flag are in flight together", "observed", NULL},
	{"early-ack", "acknowledged before it is durable", "kill", NULL},
	{"bad-recovery", "recovery writes again", "observed", NULL},
	{"crashing-check", "check dies", "kill", NULL},
	{"counting-recovery", "recovery counts its runs before it does its work", "observed", NULL},
	{"silent-check", "check says that something is wrong and not what", "observed", NULL},
	{"marking-recovery", "recovery says that it is done before it is", "observed", NULL},
	{NULL, NULL, NULL, NULL},
};

static const struct nvw_workload workload = {
	.name = "list",
	.mutations = mutations,
	.prepare = prepare,
	.dispose = free,
	.pool = pool,
	.setup = setup,
	.run = run_list,
	.recover = recover,
	.check = check,
};

static const struct emu_config config = {.name = "fake", .protocol = "none", .nvram.atomicity = 8};

static struct ct_result crashed_by(const struct ct_options *options, int mutation)
{
	const struct ct_subject subject = {.workload = &workload, .config = &config, .mutation = mutation};
	static struct ct_result r;

	assert_ok(ct_run(&subject, options, &r));
	ct_result_free(&r);
	return r;
}

static struct ct_result crashed(enum ct_mode mode, int mutation, uint64_t states, unsigned jobs)
{
	return crashed_by(
		&(struct ct_options){.mode = mode, .states = states, .seed = 1, .jobs = jobs}, mutation);
}

TEST(a_correct_structure_is_consistent_in_both_modes)
{
	const struct ct_result observed = crashed(CT_OBSERVED, CORRECT, 0, 1);
	const struct ct_result killed = crashed(CT_KILL, CORRECT, 60, 2);

	assert_true(observed.consistent);
	/* Each entry has three states, nothing, value, flag; one more has the last one acknowledged. */
	assert_int_equal(observed.states_distinct, 3 * OPS + 1);
	assert_true(killed.consistent);
	assert_int_equal(killed.states_tested, 60);
	assert_in_range(killed.states_distinct, 30, 60);
}

static void assert_places(const struct ct_finding *f)
{
	assert_int_equal(f->place_count, 2);
	assert_string_equal(f->place[0].file, "fake.c");
	assert_int_equal(f->place[0].line, 2);
	assert_int_equal(f->place[0].fate, CT_FATE_DURABLE);
	assert_int_equal(f->place[1].line, 1);
	assert_int_equal(f->place[1].fate, CT_FATE_LOST);
}

TEST(a_missing_barrier_is_found_in_both_modes_with_its_places)
{
	const struct ct_result observed = crashed(CT_OBSERVED, NO_BARRIER, 0, 1);
	const struct ct_result killed = crashed(CT_KILL, NO_BARRIER, 100, 2);

	assert_false(observed.consistent);
	assert_int_equal(observed.finding_count, 1);
	assert_has(observed.finding[0].text, "has no value");
	assert_places(&observed.finding[0]);
	assert_false(killed.consistent);
	assert_int_equal(killed.finding_count, 1);
	assert_places(&killed.finding[0]);
}

TEST(an_early_acknowledgement_is_found_in_both_modes)
{
	const struct ct_result observed = crashed(CT_OBSERVED, EARLY_ACK, 0, 1);
	const struct ct_result killed = crashed(CT_KILL, EARLY_ACK, 100, 1);

	assert_false(observed.consistent);
	assert_has(observed.finding[0].text, "is missing");
	assert_false(killed.consistent);
	assert_has(killed.finding[0].text, "is missing");
}

TEST(a_recovery_that_writes_again_is_found)
{
	const struct ct_result r = crashed(CT_OBSERVED, BAD_RECOVERY, 0, 1);

	assert_false(r.consistent);
	assert_string_equal(
		r.finding[0].text, "recovery is not idempotent: run on a recovered pool, it writes 1 words");
}

/* Run again it writes nothing, and what it leaves passes the check: only a crash in its middle shows it. */
TEST(a_recovery_that_a_crash_makes_different_is_found_by_nested_crashes)
{
	const struct ct_options nested = {.mode = CT_OBSERVED, .seed = 1, .jobs = 1, .nested = true};
	static struct ct_result r;

	r = crashed(CT_OBSERVED, COUNTING_RECOVERY, 0, 1);
	assert_true(r.consistent);
	r = crashed_by(&nested, COUNTING_RECOVERY);
	assert_false(r.consistent);
	assert_string_equal(r.finding[0].text,
		"recovery that crashed before its write 2 and ran again leaves a different pool than "
		"recovery without a crash");
}

TEST(a_check_that_does_not_say_what_is_wrong_is_a_finding)
{
	const struct ct_result observed = crashed(CT_OBSERVED, SILENT_CHECK, 0, 1);
	const struct ct_result killed = crashed(CT_KILL, SILENT_CHECK, 60, 2);

	assert_false(observed.consistent);
	assert_string_equal(
		observed.finding[0].text, "the check found an inconsistency but gave no description");
	assert_false(killed.consistent);
}

/* What it leaves passes, and it writes nothing when it is repeated. */
TEST(a_recovery_that_does_not_survive_its_own_interruption_is_found_without_nested_crashes)
{
	const struct ct_result r = crashed(CT_OBSERVED, MARKING_RECOVERY, 0, 1);
	bool told = false;

	assert_false(r.consistent);
	NVW_EACH(finding, r.finding, r.finding_count) {
		told = told || strstr(finding->text, "half there") ||
		       strstr(finding->text, "after a second crash, at write 2 of recovery");
		assert_lacks(finding->text, "has no value");
	}
	assert_true(told);
}

TEST(a_check_that_dies_is_a_finding_in_kill_mode)
{
	const struct ct_result r = crashed(CT_KILL, CRASHING_CHECK, 20, 1);

	assert_int_equal(r.finding_count, 1);
	assert_int_equal(r.finding[0].signal, SIGBUS);
	assert_has(r.finding[0].where, "test_modes.c:");
	assert_has(r.finding[0].where, "(check)");
	assert_in_range(r.states_failing, 1, 19);
	assert_int_equal(r.states_tested, 20);
}

/* Without the times of this computer; intervals are compared apart. */
static struct ct_interval *take_intervals(struct ct_result *r)
{
	struct ct_interval *const intervals = r->interval;

	r->interval = NULL;
	ct_coverage_free(&r->coverage);
	r->host_seconds = r->explore_seconds = 0;
	return intervals;
}

static void assert_findings_equal(const struct ct_result *a, const struct ct_result *b)
{
	assert_int_equal(a->finding_count, b->finding_count);
	NVW_FOR(i, a->finding_count) {
		const struct ct_finding *const one = &a->finding[i], *const other = &b->finding[i];

		assert_string_equal(one->text, other->text);
		assert_string_equal(one->cause.text, other->cause.text);
		assert_true(one->states == other->states && one->instant == other->instant &&
			    one->draw == other->draw);
		assert_int_equal(one->place_count, other->place_count);
		assert_true(one->units == other->units && one->units_lost == other->units_lost);
	}
}

TEST(slices_that_other_processes_explored_give_the_result_of_as_many_jobs)
{
	static struct ct_result whole, slice, taken;

	for (int mutation = CORRECT; mutation <= NO_BARRIER; mutation++) {
		const struct ct_subject subject = {
			.workload = &workload, .config = &config, .mutation = mutation};
		struct ct_options options = {.mode = CT_OBSERVED, .seed = 1, .jobs = 3, .settle_after = 1024};

		assert_ok(ct_run(&subject, &options, &whole));
		struct ct_interval *const expected = take_intervals(&whole);

		options.slices = dir;
		for (options.slice = 3; options.slice > 0; options.slice--) {
			struct ct_options alone = options;

			alone.unexplained = true;
			assert_ok(ct_run(&subject, &alone, &slice));
			assert_in_range(slice.states_tested, 1, whole.states_tested - 1);
			ct_result_free(&slice);
		}
		assert_ok(ct_run(&subject, &options, &taken));
		struct ct_interval *const found = take_intervals(&taken);

		assert_findings_equal(&whole, &taken);
		assert_memory_equal(&whole, &taken, offsetof(struct ct_result, finding));
		assert_memory_equal(expected, found, whole.interval_count * sizeof *found);
		free(found);
		free(expected);
		options.seed = 2;
		assert_int_equal(ct_run(&subject, &options, &taken), NVW_E_INPUT);
		for (unsigned i = 1; i <= 3; i++) {
			unlink(in_dir(formatted("slice-%u", i)));
		}
		options.seed = 1;
		assert_int_equal(ct_run(&subject, &options, &taken), NVW_E_INPUT);
	}
}

TEST(kill_mode_gives_one_result_for_a_seed_whatever_the_jobs)
{
	const struct ct_result one = crashed(CT_KILL, NO_BARRIER, 40, 1);
	const struct ct_result three = crashed(CT_KILL, NO_BARRIER, 40, 3);

	assert_int_equal(one.states_failing, three.states_failing);
	assert_int_equal(one.states_distinct, three.states_distinct);
	assert_int_equal(one.finding_count, three.finding_count);
	assert_int_equal(one.finding[0].draw, three.finding[0].draw);
	assert_string_equal(one.finding[0].text, three.finding[0].text);
}

TEST(no_file_is_left_behind)
{
	setenv("TMPDIR", dir, 1);
	crashed(CT_KILL, CORRECT, 4, 2);
	crashed(CT_OBSERVED, CORRECT, 100, 2);
	unsetenv("TMPDIR");
	succeeds("! ls -A | grep .");
}

/*
 * ---- The smallest failing --count ------------------------------------------------------------------------
 */

/* Entry number "from" is the first whose flag may be there without its value. */
static const struct nvw_option counted_options[] = {
	{"count", NVW_OPTION_COUNT, "1", NULL, "entries"},
	{"from", NVW_OPTION_COUNT, "1", NULL, "the first with the fault"},
	{NULL, NVW_OPTION_COUNT, NULL, NULL, NULL},
};

struct counted {
	struct plan plan; /* first: check() takes it */
	uint64_t count, from;
};

static uint64_t most_counted; /* the largest count that was asked for */

static int prepare_counted(const struct nvw_options *options, uint64_t seed, int mutation, void **ret_plan)
{
	struct counted *const c = calloc(1, sizeof *c);

	c->plan.mutation = mutation_now = CORRECT;
	c->count = nvw_option_u64(options, "count");
	c->from = nvw_option_u64(options, "from");
	most_counted = c->count > most_counted ? c->count : most_counted;
	*ret_plan = c;
	return 0;
}

static int run_counted(void *context, struct nvw_machine *machine)
{
	const struct counted *const c = context;
	int r = 0;

	for (unsigned op = 0; op < c->count && r == 0; op++) {
		fake_store(machine, 1, op, VALUES + 8 * op, 1000 + op);
		if (op + 1 < c->from) {
			fake_complete(machine);
		}
		fake_store(machine, 2, op, 8 * op, 1);
		r = nvw_persist(machine);
	}
	return r;
}

static uint64_t fewest(uint64_t from, uint64_t count)
{
	static const struct nvw_workload counted = {.name = "counted",
		.options = counted_options,
		.prepare = prepare_counted,
		.dispose = free,
		.pool = pool,
		.setup = setup,
		.run = run_counted,
		.recover = recover,
		.check = check};
	const struct ct_options options = {.mode = CT_OBSERVED, .seed = 1, .jobs = 1};
	static struct ct_result r;
	struct nvw_options *const values =
		options_of(counted_options, formatted("from=%u count=%u", (unsigned)from, (unsigned)count));

	r = (struct ct_result){.finding_count = 1};
	most_counted = 0;
	ct_find_fewest(
		&(struct ct_subject){
			.workload = &counted, .config = &config, .mutation = CORRECT, .options = values},
		&options, &r);
	nvw__options_free(values);
	return r.fewest_operations;
}

/* Where a sixteenth is less than 1, it is exact. */
TEST(the_smallest_failing_count_is_found_from_below_to_a_sixteenth)
{
	static const uint64_t runs[][2] = {{1, 1}, {1, 9}, {2, 2}, {3, 3}, {3, 30}, {5, 6}, {9, 15}, {12, 15},
		{15, 15}, {19, 30}, {30, 30}};

	for_each(given, runs) {
		const uint64_t from = (*given)[0], count = (*given)[1], found = fewest(from, count);

		assert_in_range(found, from, from + from / 16);
		assert_in_range(found, 1, count);
		assert_in_range(most_counted, 0, count < 2 * from ? count : 2 * from - 1); /* from below */
	}
}

GROUP(folder_begin, shell_end, .each = clean_folder);
