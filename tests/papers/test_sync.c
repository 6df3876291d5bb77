/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sinclair15's synchronization benchmarks on the emulated machine: they are right under every protocol, and
 * what they verify notices every seeded bug.
 */
#include "common/test.h"

#include <stdio.h>
#include <string.h>

#include <nvw/workload.h>

#include "check/check.h"
#include "common/options.h"
#include "common/rig.h"
#include "common/skip.h"
#include "papers/kernels/sync/rows.h"

extern const struct nvw_workload nvw_workload_mutex, nvw_workload_semaphore, nvw_workload_tree_barrier,
	nvw_workload_uts;

static const struct nvw_workload *const workloads[] = {
	&nvw_workload_mutex, &nvw_workload_semaphore, &nvw_workload_tree_barrier, &nvw_workload_uts};

static const char *const protocols[] = {"vi", "gd", "gh"};

struct setting {
	const char *protocol;
	uint64_t cus, seed;
	int mutation;
};

static struct nvw_machine *make_machine(const struct setting *s)
{
	struct nvw_machine *machine;

	assert_ok(rig_alone("sinclair15",
		SETTINGS(formatted("gpu.cus=%u", (unsigned)s->cus), formatted("protocol=%s", s->protocol),
			formatted("seed=%u", (unsigned)s->seed)),
		&machine));
	return machine;
}

static struct emu_stats last_stats;

static int run_on(
	const struct nvw_workload *w, void *plan, const struct setting *s, struct nvw_findings *findings)
{
	struct nvw_machine *const machine = make_machine(s);
	int error = w->run(plan, machine);

	error = error ? error : w->verify(plan, machine, findings);
	last_stats = *emu_statistics(machine);
	emu_destroy(machine);
	return error;
}

/* What prepare, run or verify said. */
static int run(const struct nvw_workload *w, const char *text, const struct setting *s,
	struct nvw_findings *ret_findings)
{
	void *plan = NULL;
	int error = prepare_with(w, text, s->seed, s->mutation, &plan);

	*ret_findings = (struct nvw_findings){0};
	if (error == 0) {
		error = run_on(w, plan, s, ret_findings);
		w->dispose(plan);
	}
	return error;
}

static void expect_right(const struct nvw_workload *w, const char *text)
{
	for_each(protocol, protocols) {
		NVW_FOR(seed, 3) {
			const struct setting s = {*protocol, 3 + seed, seed, -1};
			struct nvw_findings findings;

			if (run(w, text, &s, &findings) != 0) {
				fail_msg("%s %s, %s, seed %u: %s", w->name, text, s.protocol, (unsigned)seed,
					findings.kept ? findings.finding[0].text : nvw_error_message());
			}
		}
	}
}

/* ---- They are right --------------------------------------------------------------------------------- */

TEST(critical_sections_of_every_mutex_exclude_each_other)
{
	static const char *const kinds[] = {"fetch-add", "sleep", "spin", "spin-backoff"};

	for_each(kind, kinds) {
		static const char *const sharings[] = {"global", "local", "local scope=global",
			"global layout=flat polls=alone",
			"local layout=flat poll-gap=20 backoff=exponential"};

		for_each(sharing, sharings) {
			expect_right(&nvw_workload_mutex,
				formatted("iterations=15 accesses=3 kind=%s sharing=%s", *kind, *sharing));
		}
	}
}

TEST(readers_see_whole_turns_of_the_writer_and_the_last_one)
{
	expect_right(&nvw_workload_semaphore, "iterations=40 accesses=3 group-size=40");
	expect_right(&nvw_workload_semaphore, "iterations=40 accesses=3 kind=spin-backoff");
	expect_right(&nvw_workload_semaphore,
		"iterations=40 accesses=3 layout=flat polls=alone kind=spin-backoff backoff=exponential "
		"backoff-max=100");
	expect_right(&nvw_workload_semaphore, "iterations=20 groups-per-cu=5 scope=global");
	expect_right(&nvw_workload_semaphore, "iterations=20 accesses=1 layout=flat groups-per-cu=1");
}

TEST(data_go_round_from_barrier_to_barrier)
{
	expect_right(&nvw_workload_tree_barrier, "iterations=30 accesses=2");
	expect_right(&nvw_workload_tree_barrier, "iterations=30 accesses=2 exchange=local");
	expect_right(&nvw_workload_tree_barrier,
		"iterations=30 accesses=2 exchange=local scope=global group-size=7");
	expect_right(&nvw_workload_tree_barrier, "iterations=10 exchange=local groups-per-cu=1");
}

TEST(every_node_of_a_tree_is_visited_once)
{
	expect_right(&nvw_workload_uts, "nodes=2000");
	expect_right(&nvw_workload_uts, "nodes=2000 queue=1 group-size=33");
	expect_right(&nvw_workload_uts, "nodes=64 queue=1000 scope=global groups-per-cu=5");
}

/* ---- What is wrong is noticed ------------------------------------------------------------------------ */

/* Options for a small run; with EVERY_CASE none: a run of the default size. */
static const char *small_run(const struct nvw_workload *w)
{
	if (one_in(2) == 1) {
		return "";
	}
	return w == &nvw_workload_uts ? "nodes=4000" : "iterations=30";
}

TEST(every_seeded_bug_is_noticed)
{
	skip_if_sanitized();
	for_each(workload, workloads) {
		const struct nvw_workload *const w = *workload;

		for (int m = 0; w->mutations[m].name != NULL; m++) {
			const struct setting s = {"gh", 15, 1, m};
			const char *const text = w->mutations[m].options;
			struct nvw_findings findings;

			if (run(w, text ? text : small_run(w), &s, &findings) != NVW_E_INCONSISTENT ||
				findings.kept == 0) {
				fail_msg("%s: %s was not noticed", w->name, w->mutations[m].name);
			}
		}
	}
}

TEST(every_seeded_bug_is_noticed_in_the_flat_layout_too)
{
	skip_if_sanitized();

	const struct nvw_workload *const laid_out[] = {&nvw_workload_mutex, &nvw_workload_semaphore};

	for_each(one, laid_out) {
		for (int m = 0; (*one)->mutations[m].name != NULL; m++) {
			const struct setting s = {"gh", 15, 1, m};
			struct nvw_findings findings;

			assert_int_equal(
				run(*one, "layout=flat iterations=10", &s, &findings), NVW_E_INCONSISTENT);
		}
	}
}

TEST(without_scopes_a_narrow_one_does_no_harm)
{
	const struct setting s = {"gd", 4, 1, 3};
	struct nvw_findings findings;

	assert_string_equal(nvw_workload_mutex.mutations[3].name, "narrow-scope");
	assert_int_equal(run(&nvw_workload_mutex, "iterations=20", &s, &findings), 0);
	assert_string_equal(nvw_workload_uts.mutations[3].name, "narrow-scope");
	assert_int_equal(run(&nvw_workload_uts, "nodes=1000", &s, &findings), 0);
}

/* ---- The authors' layout, polls and back-off --------------------------------------------------------- */

static struct emu_stats measure(const struct nvw_workload *w, const char *text, const char *protocol)
{
	const struct setting s = {protocol, 4, 1, -1};
	struct nvw_findings findings;

	assert_int_equal(run(w, text, &s, &findings), 0);
	return last_stats;
}

TEST(the_first_row_is_read_only_data_and_no_datum_of_the_flat_layout_is)
{
	assert_true(
		measure(&nvw_workload_mutex, "sharing=local iterations=20", "dd+ro").l1_read_only_hits > 0);
	assert_true(measure(&nvw_workload_semaphore, "iterations=20", "dd+ro").l1_read_only_hits > 0);
	assert_int_equal(measure(&nvw_workload_mutex, "sharing=local iterations=20 layout=flat", "dd+ro")
				 .l1_read_only_hits,
		0);
}

TEST(a_group_that_polls_together_meets_before_and_after_each_poll)
{
	const struct emu_stats together = measure(&nvw_workload_mutex, "iterations=10", "gd"),
			       alone = measure(&nvw_workload_mutex, "iterations=10 polls=alone", "gd");

	/* Two barriers a poll; a section has two more, and a release is no poll. */
	assert_true(together.barriers >= 2 * (together.sync_ops - 4 * 3 * 10));
	assert_true(alone.barriers < alone.sync_ops);
}

TEST(a_gap_between_polls_makes_fewer_polls)
{
	assert_true(measure(&nvw_workload_mutex, "iterations=10 poll-gap=200", "gd").sync_ops <
		    measure(&nvw_workload_mutex, "iterations=10", "gd").sync_ops / 2);
}

/* alsop16 Figure 8 has acquires, releases and accesses apart. */
TEST(the_time_of_acquires_and_releases_is_part_of_that_of_atomics)
{
	const struct emu_stats gd = measure(&nvw_workload_mutex, "iterations=10", "gd"),
			       hlrc = measure(&nvw_workload_mutex, "iterations=10", "hlrc");

	assert_true(gd.acquire_ps > 0);
	assert_true(gd.release_ps > 0);
	assert_true(gd.acquire_ps + gd.release_ps < gd.atomic_ps);
	assert_true(gd.kernel_begin_ps > 0);
	assert_true(gd.kernel_end_ps > 0);
	assert_int_equal(hlrc.acquire_ps + hlrc.release_ps, 0);
	assert_true(hlrc.kernel_begin_ps > 0);
}

/* What a work-item has waited, in steps of three instructions. */
struct waits {
	struct nvw_machine *machine;
	struct sync_polls polls;
	uint64_t last_ps;
	uint64_t steps[40], count;
};

static bool note_wait(void *context)
{
	struct waits *const w = context;

	enum { STEP_PS = 3 * 4 * 1000000 / 700 }; /* of sinclair15's clock, in MHz */
	const uint64_t now = nvw_time_ps(w->machine);

	w->steps[w->count++] = (now - w->last_ps + STEP_PS / 2) / STEP_PS;
	w->last_ps = now;
	return w->count == sizeof(w->steps) / sizeof(*w->steps);
}

static struct waits *const waits = &(struct waits){.count = 0};

static void wait_kernel(const void *args)
{
	sync_wait_alone(&waits->polls, note_wait, waits);
}

static void wait_with(enum sync_backoff backoff)
{
	const struct setting s = {"gd", 1, 1, -1};
	struct nvw_machine *const machine = make_machine(&s);

	*waits = (struct waits){
		.machine = machine, .polls = {.backs_off = true, .backoff = backoff, .backoff_max = 100}};
	assert_ok(nvw_launch(machine, "wait", wait_kernel, NULL, 1, 1));
	emu_destroy(machine);
}

TEST(a_linear_back_off_grows_by_five_steps_and_begins_anew_after_twenty_six)
{
	wait_with(SYNC_LINEAR);
	for (unsigned i = 1; i < 40; i++) {
		assert_int_equal(waits->steps[i], i <= 26 ? 10 + 5 * (i - 1) : 1 + 5 * (i - 27));
	}
}

TEST(an_exponential_back_off_doubles_up_to_its_limit)
{
	wait_with(SYNC_EXPONENTIAL);
	for (unsigned i = 1; i < 40; i++) {
		assert_int_equal(waits->steps[i], i <= 7 ? 1u << (i - 1) : 100);
	}
}

/* ---- Options ---------------------------------------------------------------------------------------- */

TEST(bad_options_are_refused)
{
	static const struct {
		const struct nvw_workload *workload;
		const char *text, *part;
		int mutation;
	} bad[] = {
		{&nvw_workload_mutex, "iterations=0", "--iterations: expected 1 to", -1},
		{&nvw_workload_mutex, "accesses=65", "--accesses: expected 1 to 64, found 65", -1},
		{&nvw_workload_mutex, "group-size=4294967297", "--group-size: expected 1 to 1024", -1},
		{&nvw_workload_mutex, "groups-per-cu=0", "--groups-per-cu: expected 1", -1},
		{&nvw_workload_mutex, "groups-per-cu=41", "has room for 40", -1},
		{&nvw_workload_mutex, "accesses=1", "--layout=rows needs 2 or more", -1},
		{&nvw_workload_mutex, "backoff-max=9", "--backoff=exponential", -1},
		{&nvw_workload_mutex, "poll-gap=2000000", "--poll-gap: expected 0 to", -1},
		{&nvw_workload_mutex, "sharing=local", "has an effect only with --sharing=global", 0},
		{&nvw_workload_semaphore, "group-size=512", "has room for 2", -1},
		{&nvw_workload_tree_barrier, "iterations=65536", "--iterations: expected 1 to 65535", -1},
		{&nvw_workload_uts, "nodes=63", "--nodes: expected 64", -1},
		{&nvw_workload_semaphore, "backoff-max=0", "--backoff-max: expected 1", -1},
		{&nvw_workload_uts, "queue=0", "--queue: expected 1", -1},
	};

	for_each(one, bad) {
		const struct setting s = {"gh", 4, 1, one->mutation};
		struct nvw_findings findings;

		if (run(one->workload, one->text, &s, &findings) != NVW_E_USAGE ||
			strstr(nvw_error_message(), one->part) == NULL) {
			fail_msg("%s: expected \"%s\" in \"%s\"", one->text, one->part, nvw_error_message());
		}
	}
}
