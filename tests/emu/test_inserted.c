/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persist barriers that the source does not have are met where they are inserted, by whoever comes there,
 * once a time.
 */
#include <common/rig.h>

enum { ITEMS = 8, GROUP = 4, TIMES = 3 };

static uint32_t first_line, second_line;

/* Three times: two stores at one line, with a load between, then one at another line. */
static void kernel(const void *args)
{
	uint64_t *const word = *(uint64_t *const *)args + 8 * nvw_global_id();

	NVW_FOR(t, TIMES) {
		NVW_FOR(i, 2) {
			first_line = __LINE__ + 1;
			nvw_store(&word[i], nvw_load(&word[i]) + 1);
		}
		second_line = __LINE__ + 1;
		nvw_store(&word[2], t);
	}
}

/* A part of the work-items stays away. */
static void kernel_of_some(const void *args)
{
	if (nvw_local_id() != 0) {
		kernel(args);
	}
}

struct outcome {
	int error;
	uint64_t met, wi, wg; /* barriers: inserted ones that were met; those of work-items, of work-groups */
};

static struct outcome run(nvw_kernel of, const struct emu_inserted *inserted, unsigned count)
{
	RIG_BEGUN(rig, 0);
	emu_insert_barriers(rig.machine, inserted, count);

	const int error = nvw_launch(rig.machine, "lines", of, &rig.nvram, ITEMS, GROUP);

	return (struct outcome){error, emu_inserted_met(rig.machine),
		emu_statistics(rig.machine)->p_barriers_wi, emu_statistics(rig.machine)->p_barriers_wg};
}

static void learn_lines(void)
{
	const struct outcome o = run(kernel, NULL, 0);

	rig_ok(o.error);
	assert_int_equal(o.met + o.wi + o.wg, 0);
}

/* As often as a line of the source there would be. */
TEST(a_barrier_is_met_once_an_execution_of_its_statement)
{
	learn_lines();
	NVW_FOR(i, 4) {
		const bool in_loop = i < 2;
		const struct emu_inserted one = {__FILE__, in_loop ? first_line : second_line,
			i % 2 ? EMU_INSERT_BEFORE : EMU_INSERT_AFTER, NVW_WORKITEM};
		const struct outcome o = run(kernel, &one, 1);

		rig_ok(o.error);
		/* Behind the second line, the last one is met before a work-item returns. */
		assert_int_equal(o.met, ITEMS * TIMES * (1 + in_loop));
		assert_true(o.wi > 0 && o.wg == 0);
	}
}

TEST(a_wide_barrier_is_met_by_all)
{
	learn_lines();

	const struct emu_inserted before = {__FILE__, second_line, EMU_INSERT_BEFORE, NVW_WORKGROUP};
	const struct outcome o = run(kernel, &before, 1);

	rig_ok(o.error);
	assert_int_equal(o.met, ITEMS * TIMES);
	assert_int_equal(o.wg, ITEMS / GROUP * TIMES);
	assert_int_equal(o.wi, 0);
}

TEST(a_barrier_to_which_only_some_come_fails_the_run)
{
	learn_lines();

	const struct emu_inserted after = {__FILE__, first_line, EMU_INSERT_AFTER, NVW_WORKGROUP};

	assert_int_equal(run(kernel_of_some, &after, 1).error, NVW_E_DEADLOCK);
}
