/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs many programs in a process that may die; shrinks a failing one. See torture.h. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/stop.h"
#include "torture.h"
#include "torture_program.h"

enum { HEAP_BYTES = 64 << 10, HANGS_AFTER_SECONDS = 20, SHRINK_TRIALS = 400 };

/* A process's report to its parent, readable also after its death. */
struct progress {
	uint64_t programs;
	struct torture_work work;
	double cpu_seconds;
	uint64_t seed; /* of the running program */
	int outcome;   /* result of torture_run_program(), or an error */
	char text[TORTURE_TEXT];
};

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int create_pool(struct nvw_pool **ret_pool)
{
	const struct nvw_pool_params params = {.heap_bytes = HEAP_BYTES, .layout = "torture"};

	return nvw__pool_create_unnamed("torture", &params, 1, ret_pool);
}

/* ---- In the process ------------------------------------------------------------------------ */

static void begin_process(bool quiet)
{
	const struct rlimit no_core = {0, 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	nvw_stop_leave_to_parent();
	setrlimit(RLIMIT_CORE, &no_core);
	signal(SIGALRM, SIG_DFL);
	if (quiet && !freopen("/dev/null", "w", stderr)) {
		_exit(1);
	}
}

static void add_up(struct torture_work *to, const struct torture_work *one)
{
	to->operations += one->operations;
	to->l1_hits += one->l1_hits;
	to->l1_misses += one->l1_misses;
	to->l2_hits += one->l2_hits;
	to->l2_misses += one->l2_misses;
}

/* Runs one program that has been generated. */
static void run_one(const struct torture_program *program, const char *fault, struct nvw_pool *pool,
	struct progress *progress)
{
	struct torture_work work = {0};
	const double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

	alarm(HANGS_AFTER_SECONDS);
	progress->outcome =
		torture_run_program(program, pool, fault, progress->text, sizeof progress->text, &work);
	if (progress->outcome < 0) {
		NVW_PRINT(progress->text, "%s", nvw_error_message());
	}
	progress->cpu_seconds += seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin;
	add_up(&progress->work, &work);
	progress->programs++;
}

static void run_many(const struct torture_options *o, struct nvw_pool *pool, struct progress *progress)
{
	const double end = o->seconds > 0 ? seconds_of(CLOCK_MONOTONIC) + o->seconds : 0;
	struct torture_program *const program = malloc(sizeof *program);

	NVW_INVARIANT(progress->outcome == 0);
	for (uint64_t i = 0; program && progress->outcome == 0 && (!o->programs || i < o->programs); i++) {
		if (i && end > 0 && seconds_of(CLOCK_MONOTONIC) >= end) {
			break;
		}
		progress->seed = o->seed + i;
		progress->outcome = torture_generate(program, o->protocol, progress->seed, o->settings);
		if (progress->outcome < 0) {
			NVW_PRINT(progress->text, "%s", nvw_error_message());
		} else {
			run_one(program, o->fault, pool, progress);
		}
	}
	free(program);
}

/* ---- Around it ----------------------------------------------------------------------------- */

static void describe_death(int status, struct progress *progress)
{
	progress->outcome = 1;
	progress->programs++;
	if (WIFEXITED(status)) {
		NVW_PRINT(progress->text, "the machine ended with status %d", WEXITSTATUS(status));
	} else if (WTERMSIG(status) == SIGALRM) {
		NVW_PRINT(progress->text, "the machine does not come back (%d s)", HANGS_AFTER_SECONDS);
	} else {
		NVW_PRINT(progress->text, "the machine died: %s", strsignal(WTERMSIG(status)));
	}
}

struct shown {
	const struct torture_options *options;
	const struct progress *progress;
};

static void show(void *context)
{
	const struct shown *const s = context;

	s->options->show(s->options->context, *(const volatile uint64_t *)&s->progress->programs);
}

/* Runs program, or (NULL) many, in a process of its own. If quiet, its dying output is suppressed. */
static int in_process(const struct torture_options *o, const struct torture_program *program, bool quiet,
	struct progress *progress)
{
	struct nvw_pool *pool = NULL;
	int status = 0, r;
	pid_t pid;

	*progress = (struct progress){.seed = o->seed};
	NVW_TRY(create_pool(&pool));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		begin_process(quiet);
		if (program) {
			run_one(program, o->fault, pool, progress);
		} else {
			run_many(o, pool, progress);
		}
		_exit(0);
	}
	if (pid < 0) {
		r = nvw_fail_errno("torture: cannot start a process");
	} else {
		struct shown shown = {.options = o, .progress = progress};

		r = nvw_stop_wait_showing(pid, &status, program || !o->show ? NULL : show, &shown);
	}
	nvw_pool_close(pool);
	if (r < 0) {
		return r;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		describe_death(status, progress);
	}
	NVW_FAIL_IF(progress->outcome < 0, progress->outcome, "%s", progress->text);
	return 0;
}

/* ---- Shrinking ----------------------------------------------------------------------------- */

static unsigned steps_of(const struct torture_program *p)
{
	unsigned count = 0;

	NVW_EACH(step, p->steps, p->step_count) {
		count += !step->removed;
	}
	return count;
}

/* Barriers and launches prevent races; all other steps can be removed. */
static bool can_go(const struct torture_step *step)
{
	return step->kind == TORTURE_ACCESS || step->kind == TORTURE_HOST ||
	       (step->kind == TORTURE_MEET && step->persist);
}

/* Removes count steps from first on; false if there is none. */
static bool remove_steps(struct torture_program *p, unsigned first, unsigned count)
{
	bool changed = false;

	NVW_EACH(step, p->steps + first, nvw_min(count, p->step_count - first)) {
		changed |= can_go(step) && !step->removed;
		step->removed |= can_go(step);
	}
	torture_link(p);
	return changed;
}

/* Removes count steps from first on, if the program then still fails. */
static int try_without(const struct torture_options *o, struct torture_program *p, unsigned first,
	unsigned count, struct progress *progress)
{
	struct torture_step before[TORTURE_STEPS_MAX];

	memcpy(before, p->steps, sizeof before);
	if (!remove_steps(p, first, count)) {
		return 0;
	}
	const int r = in_process(o, p, true, progress);

	if (r == 0 && progress->outcome == 0) {
		memcpy(p->steps, before, sizeof before);
		torture_link(p);
	}
	return r;
}

/* Goes through the steps once, count at a time. */
static int shrink_by(const struct torture_options *o, struct torture_program *p, unsigned count,
	unsigned *trials, struct progress *progress, char *text)
{
	NVW_INVARIANT(count > 0);
	for (unsigned first = 0; first < p->step_count && *trials < SHRINK_TRIALS; first += count) {
		++*trials;
		NVW_TRY(try_without(o, p, first, count, progress));
		if (progress->outcome == 1) {
			snprintf(text, TORTURE_TEXT, "%s", progress->text);
		}
	}
	return 0;
}

static int shrink(
	const struct torture_options *o, struct torture_program *p, struct progress *progress, char *text)
{
	unsigned trials = 0;

	for (unsigned count = p->step_count / 2; count; count /= 2) {
		NVW_TRY(shrink_by(o, p, count, &trials, progress, text));
	}
	return 0;
}

static void list(const struct torture_program *p, struct torture_result *result)
{
	FILE *const to = fmemopen(result->listing, sizeof result->listing, "w");

	if (to) {
		torture_print(p, to);
		fclose(to);
		result->listing[sizeof result->listing - 1] = 0;
	}
}

static int look_closer(
	const struct torture_options *o, struct progress *progress, struct torture_result *result)
{
	struct torture_program *const p = malloc(sizeof *p);
	int r;

	NVW_ALLOCATED(p, "no memory for a program");
	r = torture_generate(p, o->protocol, result->seed, o->settings);
	result->steps = steps_of(p);
	if (r == 0) {
		r = shrink(o, p, progress, result->text);
	}
	result->steps_left = steps_of(p);
	list(p, result);
	free(p);
	return r;
}

int torture_run(const struct torture_options *o, struct torture_result *result)
{
	struct progress *const progress =
		mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r;

	memset(result, 0, sizeof *result);
	NVW_FAIL_ERRNO_IF(progress == MAP_FAILED, "torture: no shared memory");
	r = in_process(o, NULL, o->fault != NULL, progress);
	result->programs = progress->programs;
	result->work = progress->work;
	result->cpu_seconds = progress->cpu_seconds;
	if (r == 0 && progress->outcome) {
		result->failed = true;
		result->seed = progress->seed;
		memcpy(result->text, progress->text, sizeof result->text);
		if (o->shrink) {
			r = look_closer(o, progress, result);
		}
	}
	munmap(progress, sizeof *progress);
	return r;
}

const char *torture_unnoticed(const char *protocol, const char *action)
{
	static const char forgotten[] = "lines are only forgotten to be given to another, which empties them";
	static const char released[] =
		"lines are forgotten to be given to another, which empties them, or when the "
		"host releases their memory";
	static const struct {
		const char *protocol; /* NULL: of any */
		const char *action, *why;
	} known[] = {
		{"vi", "flush L2",
			"nobody looks below the L2 but the device, which persist barriers reach in their "
			"own way"},
		{"vi", "recall the line from the L1s",
			"an L1 needs no copy in the L2 to write back and to invalidate; debug builds miss "
			"the inclusion"},
		{NULL, "wait for the acknowledgements of stores",
			"the L2 has a store's bytes at once: the wait is time"},
		{"quickrelease", "write marker into the S-FIFO",
			"the bytes of an atomic wait nowhere: its place in the S-FIFO is time"},
		{"denovo-b", "forget the line", forgotten},
		{"dd", "forget the line", forgotten},
		{"dd+ro", "forget the line", forgotten},
		{"dh", "forget the line", forgotten},
		{"mttop-wb", "give up the right to write",
			"the directory asks an owner that is gone, and reads the L2; debug builds see the "
			"wrong name"},
		{"tcs", "lease the line to the L1 that reads it",
			"a line without a lease is read again: the lease saves time"},
		{"tcs", "take the lease that comes with the line",
			"a line without a lease is read again: the lease saves time"},
		{"tcs", "remember the lease of the line that leaves",
			"a small L1 replaces a line before the L2 does; debug builds see a lease that the L2 "
			"does not know"},
		{"stc-nv", "forget the line", released},
		{"stc-es", "forget the line", released},
		{"stc-ab", "forget the line", released},
		{"stc-mb", "forget the line", released},
	};

	NVW_EACH_IN(one, known) {
		if (!strcmp(one->action, action) && (!one->protocol || !strcmp(one->protocol, protocol))) {
			return one->why;
		}
	}
	return NULL;
}
