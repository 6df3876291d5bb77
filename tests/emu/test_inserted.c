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

static int run(void (*of)(const void *), const struct emu_inserted *inserted, unsigned count,
	uint64_t *ret_met, uint64_t *ret_wi, uint64_t *ret_wg)
{
	static const char *const settings[] = {NULL};
	RIG(rig);

	rig_begin(&rig, 0, settings);
	emu_insert_barriers(rig.machine, inserted, count);

	const int error = nvw_launch(rig.machine, "lines", of, &rig.nvram, ITEMS, GROUP);

	*ret_met = emu_inserted_met(rig.machine);
	*ret_wi = emu_statistics(rig.machine)->p_barriers_wi;
	*ret_wg = emu_statistics(rig.machine)->p_barriers_wg;
	return error;
}

static void learn_lines(void)
{
	uint64_t met, wi, wg;

	rig_ok(run(kernel, NULL, 0, &met, &wi, &wg));
	assert_int_equal(met + wi + wg, 0);
}

/* As often as a line of the source there would be. */
TEST(a_barrier_is_met_once_an_execution_of_its_statement)
{
	uint64_t met, wi, wg;

	learn_lines();

	const struct emu_inserted in_loop[] = {{__FILE__, first_line, EMU_INSERT_AFTER, NVW_WORKITEM},
		{__FILE__, first_line, EMU_INSERT_BEFORE, NVW_WORKITEM}};
	const struct emu_inserted behind[] = {{__FILE__, second_line, EMU_INSERT_BEFORE, NVW_WORKITEM},
		{__FILE__, second_line, EMU_INSERT_AFTER, NVW_WORKITEM}};

	NVW_FOR(i, 2) {
		rig_ok(run(kernel, &in_loop[i], 1, &met, &wi, &wg));
		assert_int_equal(met, ITEMS * TIMES * 2);
		assert_true(wi > 0 && wg == 0);
		rig_ok(run(kernel, &behind[i], 1, &met, &wi, &wg));
		assert_int_equal(
			met, ITEMS * TIMES); /* the last one of the last before the work-item returns */
		assert_true(wi > 0 && wg == 0);
	}
}

TEST(a_wide_barrier_is_met_by_all)
{
	uint64_t met, wi, wg;

	learn_lines();

	const struct emu_inserted before = {__FILE__, second_line, EMU_INSERT_BEFORE, NVW_WORKGROUP};

	rig_ok(run(kernel, &before, 1, &met, &wi, &wg));
	assert_int_equal(met, ITEMS * TIMES);
	assert_int_equal(wg, ITEMS / GROUP * TIMES);
	assert_int_equal(wi, 0);
}

TEST(a_barrier_to_which_only_some_come_fails_the_run)
{
	uint64_t met, wi, wg;

	learn_lines();

	const struct emu_inserted after = {__FILE__, first_line, EMU_INSERT_AFTER, NVW_WORKGROUP};

	assert_int_equal(run(kernel_of_some, &after, 1, &met, &wi, &wg), NVW_E_DEADLOCK);
}
