/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What recovery points of a task program cost, against the work that power cuts lose: simulated time until
 * fib(18) is done, all attempts together, when the power fails at random (exponential) intervals. After a
 * cut, recovery opens the pool, and the run resumes from the last recovery point, or begins again where there
 * is none. Host time of recovery does not count; it has no simulated time. tasks_cost [n [us]]: another
 * Fibonacci number, and only this mean between two cuts (0: none). Then, of a million tasks: the run that
 * resumes after a cut near the end.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <emu.h>
#include <nvw/random.h>
#include <nvw/recovery.h>

#include "core/print.h"
#include "part.h"
#include "workloads/tasks/saved_tasks.h"
#include "core/each.h"

extern const struct nvw_workload nvw_workload_saved_tasks;

enum { SEEDS = 3, TRIALS = 8, ATTEMPTS_MAX = 400, CUT = 77, NOTHING_SAVED = 78 };

static char path[64];
static uint64_t *time_ps; /* of the attempt, written by its process */

static const struct mode {
	const char *name;
	enum saved_recovery recovery;
	uint32_t every;
} modes[] = {{"none", SAVED_NONE, 1}, {"undo", SAVED_UNDO, 1}, {"N=1", SAVED_COPY, 1}, {"N=2", SAVED_COPY, 2},
	{"N=4", SAVED_COPY, 4}, {"N=8", SAVED_COPY, 8}, {"N=16", SAVED_COPY, 16}};

static const unsigned means_us[] = {0, 200, 50, 25, 12, 8}; /* between two cuts; 0: none */

static void die(void *context)
{
	(void)context;
	_exit(CUT);
}

static int open_pool(const struct saved_plan *plan, bool resumes, struct nvw_pool **ret_pool)
{
	struct nvw_recovery report = {0};
	struct nvw_pool_params params;

	if (!resumes) {
		unlink(path);
		NVW_TRY(nvw_workload_saved_tasks.pool(plan, &params));
		return nvw_pool_create(path, &params, ret_pool);
	}
	NVW_TRY(nvw_pool_open(path, NVW_POOL_WRITE, ret_pool));
	return nvw_recover(*ret_pool, &report);
}

static int run_until_cut(
	struct saved_plan *plan, bool resumes, struct nvw_machine *machine, const struct emu_power_cut *cut)
{
	if (!resumes) {
		NVW_TRY(nvw_workload_saved_tasks.setup(plan, machine));
	}
	NVW_TRY(nvw_persist(machine));
	emu_set_power_cut(machine, cut);
	return saved_run(plan, machine, resumes);
}

/* An attempt, in a process of its own. */
static void attempt(struct saved_plan *plan, bool resumes, uint64_t seed, uint64_t cut_ps)
{
	const struct emu_power_cut cut = {.time_ps = cut_ps, .seed = seed, .die = die};
	struct nvw_machine *machine = NULL;
	struct nvw_pool *pool = NULL;
	struct emu_config config;
	int error = open_pool(plan, resumes, &pool);

	emu_config_default(&config);
	config.seed = seed;
	*time_ps = cut_ps;
	if (error == 0) {
		error = emu_create(&config, pool, NULL, &machine);
	}
	if (error == 0) {
		error = run_until_cut(plan, resumes, machine, &cut);
	}
	if (error == NVW_E_USAGE && resumes) {
		_exit(NOTHING_SAVED);
	}
	if (error != 0 || plan->result != saved_expected(plan)) {
		fprintf(stderr, "tasks_cost: %s\n", error ? nvw_error_message() : "the result is wrong");
		_exit(1);
	}
	*time_ps = emu_statistics(machine)->sim_time_ps;
	_exit(0);
}

static int wait_for(pid_t pid)
{
	int status;

	if (pid <= 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
		return 1;
	}
	return WEXITSTATUS(status);
}

static struct saved_plan plan_of(const struct mode *mode, uint32_t n)
{
	return (struct saved_plan){.program = SAVED_FIB,
		.n = n,
		.every = mode->every,
		.entries = n > 20 ? 1 << 21 : 1 << 16,
		.group_size = 64,
		.recovery = mode->recovery,
		.mutation = SAVED_UNMUTATED};
}

/* Ends as the attempt's process does. */
static int attempt_apart(const struct mode *mode, uint32_t n, bool resumes, uint64_t seed, uint64_t cut_ps)
{
	struct saved_plan plan = plan_of(mode, n);
	const pid_t pid = fork();

	if (pid == 0) {
		attempt(&plan, resumes, seed, cut_ps);
	}
	return wait_for(pid);
}

/* Simulated time of all attempts until the program has ended, in us; a negative number after an error. */
static double until_done(const struct mode *mode, uint32_t n, unsigned mean_us, struct nvw_random *random)
{
	bool resumes = false;
	double total = 0;

	NVW_FOR(i, ATTEMPTS_MAX) {
		const double u = (1 + (double)nvw_random_below(random, 1 << 30)) / (1 << 30);
		const uint64_t cut_ps = mean_us ? (uint64_t)(-log(u) * 1e6 * mean_us) + 1 : UINT64_MAX;

		switch (attempt_apart(mode, n, resumes, nvw_random_u64(random), cut_ps)) {
		case 0:
			return total + (double)*time_ps / 1e6;
		case CUT:
			total += (double)cut_ps / 1e6;
			resumes = mode->recovery != SAVED_NONE;
			break;
		case NOTHING_SAVED:
			resumes = false;
			break;
		default:
			return -1;
		}
	}
	return INFINITY;
}

/* The mean of a seed's trials; negative after an error. */
static double measure_seed(
	const struct mode *mode, uint32_t n, unsigned mean_us, unsigned trials, uint64_t seed)
{
	struct nvw_random random = {seed};
	double mean = 0;

	NVW_FOR(trial, trials) {
		const double us = until_done(mode, n, mean_us, &random);

		if (us < 0) {
			return us;
		}
		mean += us / trials;
	}
	return mean;
}

/* Measures a mode over all trials, a seed's mean each; false after an error. */
static bool measure_mode(const struct mode *mode, uint32_t n, unsigned mean_us, unsigned trials)
{
	double least = INFINITY, most = 0, sum = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const double of_seed = measure_seed(mode, n, mean_us, trials, seed);

		if (of_seed < 0) {
			return false;
		}
		sum += of_seed / SEEDS;
		least = fmin(of_seed, least);
		most = fmax(of_seed, most);
	}
	if (most < INFINITY) {
		printf(" %7.0f (%5.0f %5.0f)", sum, least, most);
	} else {
		printf(" %21s", "not done");
	}
	fflush(stdout);
	return true;
}

/* A run without a cut, one that is cut when a fiftieth is left, and one that resumes. */
static int near_end(const struct mode *mode, uint32_t n)
{
	if (attempt_apart(mode, n, false, 1, UINT64_MAX) != 0) {
		return 1;
	}
	const uint64_t whole_ps = *time_ps, cut_ps = whole_ps / 50 * 49;

	if (attempt_apart(mode, n, false, 1, cut_ps) != CUT ||
		attempt_apart(mode, n, true, 1, UINT64_MAX) != 0) {
		return 1;
	}
	printf("fib(%u), %s: %.3f ms in all; after a cut at %.3f ms, the run that resumes takes %.3f ms\n", n,
		mode->name, (double)whole_ps / 1e9, (double)cut_ps / 1e9, (double)*time_ps / 1e9);
	return 0;
}

/* A row of the table. */
static bool measure_mean(uint32_t n, unsigned mean_us, unsigned trials)
{
	if (mean_us) {
		printf("\n%11u us", mean_us);
	} else {
		printf("\n%-14s", "no cuts");
	}
	NVW_EACH(mode, modes, NVW_COUNT(modes)) {
		if (!measure_mode(mode, n, mean_us, mean_us ? trials : 1)) {
			return false;
		}
	}
	return true;
}

static bool print_table(uint32_t n, unsigned trials, const char *chosen)
{
	const unsigned rates = trials > 1 ? NVW_COUNT(means_us) : 2;

	printf("us of simulated time until fib(%u) is done: mean of %d seeds with %u trials each "
	       "(lowest, highest seed)\n",
		n, SEEDS, trials);
	printf("%-14s", "between cuts");
	NVW_EACH(mode, modes, NVW_COUNT(modes)) {
		printf(" %21s", mode->name);
	}
	NVW_EACH(mean_us, means_us, rates) {
		if ((!chosen || *mean_us == strtoul(chosen, NULL, 10)) &&
			!measure_mean(n, *mean_us, trials)) {
			return false;
		}
	}
	printf("\n");
	return true;
}

static bool print_near_end(uint32_t n)
{
	NVW_EACH(mode, modes + 1, NVW_COUNT(modes) - 1) {
		if (near_end(mode, n) != 0) {
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	const unsigned trials = part_of(TRIALS);
	uint32_t n = getenv("PART") ? 9 : 18;

	if (argc > 1) {
		n = (uint32_t)strtoul(argv[1], NULL, 10);
	}
	NVW_PRINT(path, "/tmp/nvwave-tasks-cost-%ld.pool", (long)getpid());
	time_ps = mmap(NULL, sizeof *time_ps, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (time_ps == MAP_FAILED) {
		return 1;
	}
	const char *const mean = argc > 2 ? argv[2] : NULL;
	const bool done = print_table(n, trials, mean) && print_near_end(trials > 1 ? 28 : n);

	unlink(path);
	return !done;
}
