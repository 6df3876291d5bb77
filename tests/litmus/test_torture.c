/* SPDX-License-Identifier: BSD-3-Clause */
/* The random tester: it is silent under the protocols as they are, and not when they are broken. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/skip.h"
#include "common/test.h"

#include <litmus/torture_program.h>

#include "litmus_rig.h"

enum { FAULT_PROGRAMS = 60, TINY_PROGRAMS = 12 };

static struct torture_result result;

static void run(const struct torture_options *options)
{
	if (torture_run(options, &result) < 0) {
		fail_msg("%s: %s", options->protocol, nvw_error_message());
	}
}

TEST(every_load_is_right_under_every_protocol)
{
	const uint64_t programs = 60 / one_in(2);

	for_each_protocol_name(at, 1) {
		const struct torture_options options = {
			.protocol = at.name, .seed = 1000, .programs = programs, .shrink = true};

		assert_true(expect_right(&options).work.operations > 100 * programs);
	}
}

/* Caches of a few lines: lines are recalled and replaced while others of their program are on their way. */
TEST(every_load_is_right_in_tiny_caches)
{
	static const char *const machines[][8] = {
		{"persist.model=buffered-epoch", "l2.size=512B", "l2.ways=2", "l2.banks=1", NULL},
		{"persist.model=buffered-epoch", "l2.size=256B", "l2.ways=4", "l2.banks=1", "l1.size=128B",
			"l1.ways=1", NULL},
		{"persist.model=epoch", "l2.size=256B", "l2.ways=1", "l2.banks=1", "l1.size=64B", "l1.ways=1",
			NULL},
		{"nvram.domain=eadr", "l2.size=256B", "l2.ways=2", "l2.banks=1", "l1.size=64B", "l1.ways=1",
			NULL},
	};

	for_each_protocol_name(at, 1) {
		for (unsigned k = at.number % one_in(2); k < NVW_COUNT(machines); k += one_in(2)) {
			expect_right(&(struct torture_options){.protocol = at.name,
				.seed = 30,
				.programs = TINY_PROGRAMS,
				.settings = machines[k],
				.shrink = true});
		}
	}
}

/* What a failing program ran on is told in whole. */
TEST(the_listing_has_the_settings_that_replace_drawn_ones)
{
	static const char *const settings[] = {"l2.size=512B", "l2.ways=2", NULL};

	run(&(struct torture_options){.protocol = "vi",
		.seed = 1,
		.programs = FAULT_PROGRAMS,
		.fault = "invalidate local L1",
		.settings = settings,
		.shrink = true});
	assert_true(result.failed);
	assert_has(result.listing, "\n  but: l2.size=512B l2.ways=2\n");
}

/* The actions without which a protocol would not be one, of each of them; debug builds may notice more. */
TEST(a_protocol_without_one_of_its_actions_is_found)
{
	static const char *const of[][2] = {
		{"vi", "flush local L1"},
		{"vi", "invalidate local L1"},
		{"vi", "append to the S-FIFO"},
		{"gd", "flush local L1"},
		{"gd", "invalidate local L1"},
		{"gh", "flush local L1"},
		{"gh", "invalidate local L1"},
		{"rsp", "invalidate local L1"},
		{"rsp", "flush all L1s (broadcast)"},
		{"rsp", "invalidate all L1s (broadcast)"},
		{"denovo-b", "register all dirty stores of the local L1"},
		{"denovo-b", "invalidate local L1 (non-registered)"},
		{"denovo-b", "give the registered bytes back to the L2"},
		{"dd", "register all dirty stores of the local L1"},
		{"dd", "registration and data to the requesting L1"},
		{"dd", "write the dirty bytes to memory and keep them"},
		{"dd+ro", "invalidate local L1 (non-registered)"},
		{"dd+ro", "recall the line from the L1s"},
		{"dh", "register all dirty stores of the local L1"},
		{"dh", "invalidate local L1 (non-registered)"},
		{"hlrc", "invalidate local L1"},
		{"hlrc", "registration and data to the requesting L1"},
		{"hlrc-scoped", "flush local L1"},
		{"hlrc-scoped", "flush the L1"},
		{"rfo", "let the owner answer"},
		{"rfo", "invalidate sharers elsewhere"},
		{"rfo", "read the line for ownership"},
		{"mttop-wb", "downgrade the owner"},
		{"mttop-wb", "obtain the right to write"},
		{"no-l1", "write x through"},
		{"wt", "write x through"},
		{"wt", "invalidate local L1"},
		{"quickrelease", "marker through the S-FIFOs"},
		{"quickrelease", "flush of the S-FIFOs that nobody waits for"},
		{"quickrelease", "forget the read cache's copy"},
		{"quickrelease", "invalidate the copies in all L1s (broadcast)"},
		{"stc-nv", "wait for the band's epoch"},
		{"stc-es", "forget the line if its band has had an epoch"},
		{"stc-ab", "wait for the band's epoch"},
		{"stc-mb", "forget the line if its band has had an epoch"},
		{"tcs", "wait for the end of the line's leases"},
		{"tcs", "forget the clean bytes"},
	};

	for_each(row, of) {
		run(&(struct torture_options){
			.protocol = (*row)[0], .seed = 1, .programs = FAULT_PROGRAMS, .fault = (*row)[1]});
		if (!result.failed) {
			fail_msg("%s without \"%s\" passes for %s", (*row)[0], (*row)[1], (*row)[0]);
		}
	}
}

TEST(every_protocol_has_a_fault_that_is_found)
{
	for_each_protocol_name(at, 1) {
		run(&(struct torture_options){.protocol = at.name,
			.seed = 1,
			.programs = FAULT_PROGRAMS,
			.fault = emu_protocol_action(at.name, 0)});
		assert_true(result.failed);
	}
}

TEST(a_failing_program_fails_again_by_itself_and_shrinks)
{
	struct torture_options options = {.protocol = "vi",
		.seed = 1,
		.programs = FAULT_PROGRAMS,
		.fault = "invalidate local L1",
		.shrink = true};
	struct torture_result first;

	run(&options);
	first = result;
	assert_true(first.failed);
	assert_true(first.steps_left < first.steps);
	options.seed = first.seed;
	options.programs = 1;
	run(&options);
	assert_true(result.failed);
	assert_int_equal(result.seed, first.seed);
	assert_string_equal(result.text, first.text);
	assert_string_equal(result.listing, first.listing);
}

TEST(a_seed_is_one_program)
{
	struct torture_program *const a = malloc(sizeof *a), *const b = malloc(sizeof *b);

	assert_true(a && b);
	assert_ok(torture_generate(a, "rsp", 7, NULL));
	assert_ok(torture_generate(b, "rsp", 7, NULL));
	assert_memory_equal(a, b, sizeof *a);
	assert_ok(torture_generate(b, "rsp", 8, NULL));
	assert_memory_not_equal(a, b, sizeof *a);
	free(a);
	free(b);
}

/* In this process, so that leaks of generation and run are noticed. */
TEST(a_program_runs_in_the_process_that_asks)
{
	const struct nvw_pool_params params = {.heap_bytes = 64 << 10, .layout = "torture"};
	struct torture_program *const program = malloc(sizeof *program);
	struct nvw_pool *pool = NULL;
	struct torture_work work = {0};
	const char *const path = test_pool();
	char text[TORTURE_TEXT];

	assert_non_null(program);
	assert_ok(nvw_pool_create(path, &params, &pool));
	unlink(path);
	assert_ok(torture_generate(program, "dd", 3, NULL));
	assert_ok(torture_run_program(program, pool, NULL, text, sizeof text, &work));
	assert_true(work.operations > 0);
	assert_true(work.l1_hits > 0 && work.l1_misses > 0);
	assert_true(work.l2_hits + work.l2_misses > 0);
	nvw_pool_close(pool);
	free(program);
}

/* Many programs together synchronize in every way. */
TEST(programs_contain_every_style)
{
	struct torture_program *const p = malloc(sizeof *p);
	unsigned steps[TORTURE_STYLE_COUNT] = {0}, local = 0, far = 0, meetings = 0, persist = 0;

	assert_non_null(p);
	NVW_FOR(seed, 50) {
		assert_ok(torture_generate(p, "rsp", seed, NULL));
		NVW_EACH(step, p->steps, p->step_count) {
			meetings += step->kind == TORTURE_MEET && !step->persist;
			persist += step->kind == TORTURE_MEET && step->persist;
			if (step->kind != TORTURE_ACCESS) {
				continue;
			}
			steps[p->sets[step->set].style]++;
			local += step->acquire.variable >= 0 && step->acquire.scope == NVW_SCOPE_WORKGROUP;
			far += step->acquire.variable >= 0 && step->acquire.scope == NVW_SCOPE_REMOTE_AGENT;
		}
	}
	NVW_EACH(step, steps, TORTURE_STYLE_COUNT) {
		assert_true(*step > 50);
	}
	assert_true(local > 50 && far > 50 && meetings > 50 && persist > 50);
	free(p);
}

/* Buffered epochs would be refused there, so they are not drawn. */
TEST(a_direct_mapped_l2_is_tortured_under_epochs_that_wait)
{
	const char *const settings[] = {"l2.ways=1", NULL}, *const buffered[] = {
								    "persist.model=buffered-epoch",
								    "l2.ways=1", NULL};

	expect_right(
		&(struct torture_options){.protocol = "vi", .seed = 1, .programs = 12, .settings = settings});
	assert_true(
		torture_run(&(struct torture_options){.protocol = "vi", .programs = 1, .settings = buffered},
			&result) < 0);
}

/* Nobody waits for the turn of a work-item that waits for room. */
TEST(programs_end_where_settings_leave_room_for_few_work_groups)
{
	const char *const settings[] = {
		"gpu.wavefronts_per_cu=6", "gpu.wavefront_width=1", "gpu.cus=1", NULL};
	unsigned crowded = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct torture_program *const p = malloc(sizeof *p);

		assert_ok(torture_generate(p, "vi", seed, settings));
		crowded += p->crowded;
		free(p);
	}
	assert_true(crowded >= 8);
	expect_right(
		&(struct torture_options){.protocol = "vi", .seed = 1, .programs = 40, .settings = settings});
}

/* Fast NVRAM: work-items that poll do not poll for long. */
TEST(strict_persistency_loads_right_values_under_every_protocol)
{
	const char *const settings[] = {"persist.model=strict", "nvram.write=1ns", NULL};

	for_each_protocol_name(at, 1) {
		expect_right(&(struct torture_options){
			.protocol = at.name, .seed = 1 + at.number, .programs = 4, .settings = settings});
	}
}

/*
 * A second line has to find room while the first is on its way out. Debug builds check that the two do not
 * meet.
 */
TEST(two_ways_of_the_l2_are_enough_under_every_protocol)
{
	const char *const settings[] = {"l2.ways=2", NULL};
	const uint64_t programs = 20 / one_in(2);

	for_each_protocol_name(at, 1) {
		expect_right(&(struct torture_options){
			.protocol = at.name, .seed = 1, .programs = programs, .settings = settings});
	}
	/* In this program a recall that sent lines ahead would take the room that is made. */
	expect_right(
		&(struct torture_options){.protocol = "dh", .seed = 60, .programs = 1, .settings = settings});
}

TEST(a_wrong_setting_is_said)
{
	const char *const settings[] = {"l1.ways=0", NULL};

	assert_int_equal(
		torture_run(&(struct torture_options){.protocol = "vi", .programs = 1, .settings = settings},
			&result),
		NVW_E_CONFIG);
	assert_error_has("l1.ways");
}
