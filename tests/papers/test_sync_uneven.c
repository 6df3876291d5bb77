/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sinclair15's synchronization benchmarks on the ideal machine (ideal.h): in any interleaving of single
 * work-items, and with work-groups spread unevenly over CUs, some of which get none.
 */
#include "common/test.h"

#include "common/options.h"

#include "../workloads/ideal.h"

extern const struct nvw_workload nvw_workload_mutex, nvw_workload_semaphore, nvw_workload_tree_barrier,
	nvw_workload_uts;

static int run(const struct nvw_workload *w, const char *given, uint64_t seed, int mutation)
{
	struct nvw_machine *const m = ideal_create(1 << 20, seed);
	void *plan = NULL;
	int error = prepare_with(w, formatted("%s group-size=8", given), seed, mutation, &plan);

	error = error ? error : w->run(plan, m);
	error = error ? error : w->verify(plan, m, ideal_findings());
	w->dispose(plan);
	ideal_destroy();
	return error;
}

static void expect_right(const struct nvw_workload *w, const char *given)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		if (run(w, given, seed, -1) != 0) {
			const char *why;

			fail_msg("%s, seed %u: %s", w->name, (unsigned)seed,
				ideal_violations(&why) ? why : nvw_error_message());
		}
	}
}

TEST(critical_sections_of_every_mutex_exclude_each_other)
{
	static const char *const kinds[] = {"fetch-add", "sleep", "spin", "spin-backoff"};

	for_each(kind, kinds) {
		const char *const common =
			formatted("kind=%s accesses=2 backoff=exponential backoff-max=4", *kind);

		expect_right(&nvw_workload_mutex, formatted("%s iterations=5", common));
		expect_right(&nvw_workload_mutex, formatted("%s iterations=10 sharing=local", common));
	}
}

TEST(readers_see_whole_turns_of_the_writer_and_the_last_one)
{
	expect_right(&nvw_workload_semaphore, "iterations=12 accesses=3");
	expect_right(&nvw_workload_semaphore, "iterations=12 accesses=3 kind=spin-backoff");
}

TEST(data_go_round_from_barrier_to_barrier)
{
	expect_right(&nvw_workload_tree_barrier, "iterations=12 accesses=2");
	expect_right(&nvw_workload_tree_barrier, "iterations=12 accesses=2 exchange=local");
}

TEST(every_node_of_a_tree_is_visited_once)
{
	expect_right(&nvw_workload_uts, "nodes=500 queue=20");
}

TEST(missing_exclusion_is_noticed)
{
	const struct nvw_workload *const w[] = {
		&nvw_workload_mutex, &nvw_workload_semaphore, &nvw_workload_tree_barrier};
	static const char *const bugs[] = {"no-lock", "no-lock", "no-barrier"};

	NVW_FOR(i, NVW_COUNT(w)) {
		const char *why;
		assert_int_equal(run(w[i], "iterations=10 accesses=2", 1, mutation_of(w[i], bugs[i])),
			NVW_E_INCONSISTENT);
		assert_true(ideal_violations(&why) > 0);
	}
}
