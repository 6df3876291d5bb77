/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery points of task programs (tasks/tasks.h): after a power cut at any instant the program resumes
 * under another machine and another protocol, and comes to the same result by the same tasks.
 */
#include "common/test.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvw/recovery.h>

#include "check/check.h"
#include "common/rig.h"
#include "common/skip.h"
#include "core/describe.h"
#include "workloads/tasks/saved_tasks.h"

extern const struct nvw_workload nvw_workload_saved_tasks;

static const char *path;

static struct nvw_machine *machine_of(struct nvw_pool *pool, const char *const *settings)
{
	struct nvw_machine *machine;
	struct emu_config config;

	emu_config_default(&config);
	config.seed = 1;
	rig_set(&config, settings);
	assert_ok(emu_create(&config, pool, NULL, &machine));
	return machine;
}

static void die(void *context)
{
	_exit(77);
}

/* A pool as it is created, or as recovery leaves it. */
static int open_pool(struct saved_plan *plan, bool resumes, struct nvw_pool **ret_pool)
{
	struct nvw_recovery report = {0};
	struct nvw_pool_params params;
	int error;

	if (!resumes) {
		unlink(path);
		error = nvw_workload_saved_tasks.pool(plan, &params);
		return error ? error : nvw_pool_create(path, &params, ret_pool);
	}
	error = nvw_pool_open(path, NVW_POOL_WRITE, ret_pool);
	return error ? error : nvw_recover(*ret_pool, &report);
}

/* The process whose power is cut: no failure of a test leaves it. */
static void run_and_exit(
	struct saved_plan *plan, bool resumes, const struct emu_power_cut *cut, const char *const *settings)
{
	struct nvw_pool *pool = NULL;
	struct nvw_machine *machine = NULL;
	int error = open_pool(plan, resumes, &pool);

	if (error == 0) {
		machine = machine_of(pool, settings);
		error = resumes ? 0 : nvw_workload_saved_tasks.setup(plan, machine);
		error = error ? error : nvw_persist(machine);
		emu_set_power_cut(machine, cut);
		error = error ? error : saved_run(plan, machine, resumes);
	}
	if (error != 0) {
		fprintf(stderr, "# %s\n", nvw_error_message());
		_exit(resumes && error == NVW_E_USAGE ? 78 : 1);
	}
	emu_destroy(machine);
	nvw_pool_close(pool);
	_exit(0);
}

/*
 * Runs or resumes the plan in a process of its own, whose power is cut at an instant. True if the run had
 * ended before.
 */
static bool run_until(struct saved_plan *plan, bool resumes, uint64_t time_ps, const char *const *settings)
{
	const struct emu_power_cut cut = {.time_ps = time_ps, .seed = time_ps, .die = die};
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		run_and_exit(plan, resumes, &cut, settings);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 0 ||
		    (resumes && WEXITSTATUS(status) == 78));
	return WEXITSTATUS(status) == 0;
}

/* Recovers the pool and resumes. False if there was no recovery point yet. */
static bool resume(struct saved_plan *plan, const char *const *settings)
{
	struct nvw_machine *machine;
	struct nvw_pool *pool;
	int error;

	assert_ok(open_pool(plan, true, &pool));
	machine = machine_of(pool, settings);
	error = saved_run(plan, machine, true);
	emu_destroy(machine);
	nvw_pool_close(pool);
	if (error == NVW_E_USAGE) {
		assert_error_has("has no recovery point");
		return false;
	}
	assert_ok(error);
	return true;
}

/*
 * Cuts the power every so often; again in the resumed run, after a time that differs. The third run comes to
 * the end.
 */
static void cut_everywhere(
	struct saved_plan *plan, uint64_t step_ps, const char *const *before, const char *const *after)
{
	struct saved_plan whole = *plan;
	unsigned resumed = 0;
	bool ended = false;

	/* What a run without a power cut comes to. */
	run_until(&whole, false, UINT64_MAX, before);
	assert_true(resume(&whole, before));
	assert_int_equal(whole.result, saved_expected(plan));
	for (uint64_t t = step_ps; !ended; t += step_ps) {
		struct saved_plan p = *plan;

		ended = run_until(&p, false, t, before);
		p.every = plan->recovery == SAVED_UNDO ? 1 : plan->every + 1;
		p.group_size = 48;
		run_until(&p, true, 1000 + t * 7 % (9 * step_ps), after);
		run_until(&p, true, 1000 + t * 5 % (4 * step_ps), before);
		if (resume(&p, after)) {
			resumed++;
			assert_int_equal(p.result, saved_expected(plan));
			assert_int_equal(p.totals.tasks, whole.totals.tasks);
			assert_int_equal(p.totals.epochs, whole.totals.epochs);
		}
	}
	assert_true(resumed > 6);
}

/* A plan with a recovery point after each epoch. */
static struct saved_plan plan_of(
	enum saved_program program, enum saved_recovery recovery, unsigned n, unsigned entries)
{
	return (struct saved_plan){.program = program,
		.recovery = recovery,
		.n = n,
		.every = 1,
		.entries = entries,
		.group_size = 16,
		.mutation = SAVED_UNMUTATED};
}

static const char *const small[] = {"gpu.cus=2", "protocol=vi", NULL},
			 *const other[] = {"gpu.cus=7", "protocol=hlrc", "l1.size=8KiB", NULL},
			 *const buffered[] = {"persist.model=buffered-epoch", "protocol=dd", NULL};

TEST(fibonacci_resumes_from_any_instant_under_another_machine)
{
	struct saved_plan plan = plan_of(SAVED_FIB, SAVED_COPY, 9, 512);

	cut_everywhere(&plan, 1300000, small, other);
	plan.every = 3;
	cut_everywhere(&plan, 900000, buffered, small);
}

TEST(maps_are_carried_out_once_after_any_cut)
{
	struct saved_plan plan = plan_of(SAVED_MARKS, SAVED_COPY, 30, 128);

	cut_everywhere(&plan, 900000, small, other);
	plan.recovery = SAVED_UNDO;
	cut_everywhere(&plan, 1700000, buffered, other);
}

TEST(an_epoch_that_the_undo_log_rolled_back_runs_again)
{
	skip_if_sanitized();
	/* Neither the vector nor the log has more room than an epoch may need. */
	struct saved_plan plan = plan_of(SAVED_FIB, SAVED_UNDO, 8, 80);

	cut_everywhere(&plan, 1900000, small, other);
	cut_everywhere(&plan, 2300000, buffered, small);
	plan.program = SAVED_NQUEENS;
	plan.n = 5;
	cut_everywhere(&plan, 1100000, small, other);
	cut_everywhere(&plan, 1300000, buffered, other);
}

/* ---- Mistakes ------------------------------------------------------------------------------------- */

/* A run that ends with an error leaves the last recovery point: the same checks as after a power cut. */
TEST(a_mistake_of_a_task_loses_no_recovery_point)
{
	for (enum saved_recovery recovery = SAVED_COPY; recovery <= SAVED_UNDO; recovery++) {
		/* The vector has 64 of the 109 entries that it takes. */
		struct saved_plan plan = plan_of(SAVED_FIB, recovery, 9, 64);
		struct nvw_findings findings = {0};
		struct nvw_description d = {0};
		struct nvw_machine *machine;
		struct nvw_pool *pool;

		assert_ok(open_pool(&plan, false, &pool));
		machine = machine_of(pool, small);
		assert_ok(nvw_workload_saved_tasks.setup(&plan, machine));
		assert_int_equal(saved_run(&plan, machine, false), NVW_E_FULL);
		assert_error_has("programs.c:");
		assert_error_has("task fib in entry");
		emu_destroy(machine);
		nvw_pool_close(pool);
		assert_ok(open_pool(&plan, true, &pool));
		assert_int_equal(nvw_workload_saved_tasks.check(&plan, pool, NULL, &findings), 0);
		assert_ok(nvw_workload_saved_tasks.inspect(pool, &d));
		assert_string_equal(d.values[0].name, "tasks.recovery_point");
		assert_true(d.values[0].u64 > 3);
		nvw__description_clear(&d);
		nvw_pool_close(pool);
	}
}

TEST(queens_are_counted_once_after_any_cut)
{
	skip_if_sanitized();
	struct saved_plan plan = plan_of(SAVED_NQUEENS, SAVED_COPY, 6, 512);

	cut_everywhere(&plan, 700000, small, other);
	cut_everywhere(&plan, 700000, buffered, other);
}

static int begin(void **state)
{
	path = test_pool();
	return 0;
}

static int end(void **state)
{
	unlink(path);
	return 0;
}

GROUP(begin, end);
