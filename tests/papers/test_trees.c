/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Task programs (workloads/trees) on the emulated machine: they compute what the host computes under every
 * protocol, at any size of work-groups, and by the same tasks and epochs as on the formal machine.
 */
#include "dense_test.h"

#include "common/skip.h"
#include "papers/kernels/trees/trees.h"

/* Each with sizes that are multiples of nothing, and with its smallest ones. */
#define PROGRAMS(X)                                            \
	X(trees_fib, "n=11 group-size=48", "n=1")              \
	X(trees_nqueens, "n=6", "n=1")                         \
	X(trees_msort, "size=301", "size=1")                   \
	X(trees_msort_map, "size=113 group-size=24", "size=1") \
	X(trees_bitonic, "size=1301 group-size=48", "size=1")  \
	X(trees_fft, "log2=6", "log2=1")                       \
	X(trees_matmul, "size=13", "size=1")                   \
	X(trees_tsp, "cities=6", "cities=1")                   \
	X(trees_uts, "nodes=800", "nodes=64")                  \
	X(trees_bfs, "graph=rmat:7:4", "graph=grid:1x1")       \
	X(trees_sssp, "graph=road:90", "graph=grid:1x1")

/* What they are compared with: dense kernels, without tasks. */
#define RIVALS(X)                                       \
	X(list_bfs, "graph=rmat:7:4", "graph=grid:1x1") \
	X(list_sssp, "graph=road:90", "graph=grid:1x1") \
	X(bitonic, "size=301", "size=1")

#define X(name, sizes, smallest) extern const struct nvw_workload nvw_workload_##name;
PROGRAMS(X)
RIVALS(X)
#undef X

static const struct subject {
	const struct nvw_workload *workload;
	const char *sizes, *smallest;
} programs[] =
	{
#define X(name, sizes, smallest) {&nvw_workload_##name, sizes, smallest},
		PROGRAMS(X)},
  rivals[] = {RIVALS(X)
#undef X
};

enum { DEPTH = 9 };
enum { PROGRAMS = NVW_COUNT(programs), RIVALS = NVW_COUNT(rivals) };

static struct nvw_task_totals run_with(
	const struct nvw_workload *w, const char *sizes, const char *more, const char *protocol)
{
	RUN(t) = begin(w, formatted("%s%s", sizes, more), protocol);

	run_and_verify(&t);
	struct nvw_task_totals totals = t.plan->more ? *trees_totals(t.plan) : (struct nvw_task_totals){0};
	assert_true(totals.atomics <= totals.forks + totals.maps);
	totals.atomics = 0; /* as many as the wavefronts make of them */
	memset(totals.result, 0,
		sizeof totals.result); /* where nothing is emitted: an argument, or an entry */
	return totals;
}

TEST(programs_compute_under_every_protocol_what_the_host_computes)
{
	for_each_protocol_name(at, NEXT_PROTOCOL) {
		NVW_EACH(program, programs, PROGRAMS) {
			run_with(program->workload, program->sizes, "", at.name);
		}
		NVW_EACH(rival, rivals, RIVALS) {
			run_with(rival->workload, rival->sizes, "", at.name);
			run_with(rival->workload, rival->smallest, "", at.name);
		}
	}
}

TEST(results_depend_neither_on_work_groups_nor_on_room)
{
	NVW_EACH(program, programs, PROGRAMS) {
		run_with(program->workload, program->sizes, " group-size=1", "gd");
		run_with(program->workload, program->sizes, " group-size=7 entries=1777", "gd");
		run_with(program->workload, program->sizes, " group-size=1024", "gd");
		run_with(program->workload, program->smallest, "", "gd");
	}
}

/* These read in passing what others lower: how many tasks they take depends on the schedule. */
static bool depends_on_the_schedule(const struct nvw_workload *w)
{
	return strcmp(w->name, "trees-tsp") == 0 || strcmp(w->name, "trees-bfs") == 0 ||
	       strcmp(w->name, "trees-sssp") == 0;
}

/* Otherwise the tasks, and the epochs that they run in, depend on nothing but the program. */
TEST(programs_run_the_same_epochs_on_the_formal_machine)
{
	NVW_EACH(program, programs, PROGRAMS) {
		const struct nvw_workload *const w = program->workload;
		const struct nvw_task_totals trees = run_with(w, program->sizes, "", "vi"),
					     tvm = run_with(w, program->sizes, " runtime=tvm", "vi");

		if (!depends_on_the_schedule(w)) {
			assert_memory_equal(&trees, &tvm, sizeof trees);
			assert_true(trees.tasks > 50 && trees.epochs > 4);
		}
	}
}

/* As tasks and with work lists: each is compared with the host's distances. */
TEST(searches_are_right_on_a_real_graph)
{
	const char *const file = shared_data("graphs/bips98_606.mtx");

	if (!file) {
		skip_test("graphs/bips98_606.mtx: not in $SHARED_DATA");
	}
	const char *const sizes = formatted("graph=%s", file);

	run_with(&nvw_workload_trees_bfs, sizes, "", "vi");
	run_with(&nvw_workload_trees_sssp, sizes, "", "dd");
	run_with(&nvw_workload_list_bfs, sizes, "", "dd");
	run_with(&nvw_workload_list_sssp, sizes, "", "vi");
}

/* hechtman14 5.4.2: with joins every task has its entry; without, entries are used again. */
TEST(space_is_bounded_by_the_work_and_without_joins_by_the_parallelism)
{
	const struct nvw_task_totals fib = run_with(&nvw_workload_trees_fib, "n=14", "", "vi"),
				     nqueens = run_with(
					     &nvw_workload_trees_nqueens, "n=8", " entries=1900", "vi");

	assert_true(fib.entries_most <= fib.tasks);
	assert_int_equal(nqueens.joins, 0);
	assert_true(nqueens.tasks > 1900);
}

/* ---- Forks of a wavefront -------------------------------------------------------------------------- */

/* A complete binary tree; the entries of a wavefront's forks lie side by side. */
static void branch(struct nvw_task *t)
{
	const uint32_t left = nvw_task_word(t, 0);

	if (left > 0) {
		const uint32_t a = nvw_fork(t, branch, left - 1), b = nvw_fork(t, branch, left - 1);

		(void)nvw_atomic_add(
			(uint64_t *)nvw_task_data(t), (uint64_t)a + b, NVW_RELAXED, NVW_SCOPE_AGENT);
	}
}

static const struct nvw_task_program branching = {
	.name = "branching",
	.functions = (const struct nvw_task_function[]){{"branch", branch, false}, {NULL, NULL, false}},
	.words = 1,
};

static struct nvw_task_totals run_branching(unsigned width, const char *protocol, uint64_t *ret_sum)
{
	struct nvw_task_options options = {.entries = 1 << 12, .group_size = 128};
	struct nvw_task_totals totals;
	struct nvw_machine *machine;
	uint64_t *sum;

	assert_ok(rig_alone(NULL,
		SETTINGS("seed=1", formatted("protocol=%s", protocol),
			formatted("gpu.wavefront_width=%u", width)),
		&machine));
	sum = nvw_alloc(machine, sizeof *sum);
	options.data = sum;
	if (nvw_trees_run(machine, &branching, &options, branch, (const uint32_t[]){DEPTH}, 1, &totals) !=
			0 ||
		nvw_read(machine, ret_sum, sum, sizeof *sum) != 0) {
		fail_msg("%s", nvw_error_message());
	}
	emu_destroy(machine);
	return totals;
}

/*
 * hechtman14 5.5.4. Each task of an epoch forks twice, so a wavefront makes two atomics, and every fork gets
 * an entry of its own.
 */
TEST(a_wavefront_takes_the_entries_of_a_fork_by_one_atomic)
{
	for_each_protocol_name(at, 1) {
		for (unsigned width = 16; width <= 64; width += 48) {
			const uint64_t forks = (2 << DEPTH) - 2; /* into entries 1, 2 ... */
			uint64_t sum, atomics = 0;
			const struct nvw_task_totals t = run_branching(width, at.name, &sum);

			NVW_FOR(k, DEPTH) {
				atomics += 2 * (((1u << k) + width - 1) / width);
			}
			assert_int_equal(t.tasks, forks + 1);
			assert_int_equal(t.atomics, atomics);
			assert_int_equal(sum, forks * (forks + 1) / 2);
		}
	}
}
