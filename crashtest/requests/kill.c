/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kill mode: each trial is a process that emulates and dies by SIGKILL at a simulated instant, followed by
 * another one that opens the remaining file, recovers and checks.
 *
 *	slot:  idle -> emulating -> judging -> idle
 *
 * Trials are numbered; instant and torn writes of trial i depend only on the seed and i, so a trial can be
 * repeated with a log to explain its finding.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xxhash.h>

#include <check/check.h>
#include <nvw/random.h>

#include "core/order.h"
#include "core/print.h"

#include "core/stop.h"
#include "core/zeroed.h"

#include "../explain/explain.h"
#include "../explain/finding.h"
#include "../explore/result.h"
#include "../group.h"
#include "modes.h"
#include "../judge/oracle.h"
#include "../judge/process.h"
#include "../run.h"

/* Written by the judging process. */
struct verdict {
	volatile uint32_t phase;
	struct ct_left left; /* such as failure to open the pool */
	uint64_t hash;       /* of the crash state */
	struct nvw_findings findings;
	struct ct_frames frames;
};

struct slot {
	enum { IDLE, EMULATING, JUDGING } stage;
	unsigned number;
	pid_t pid;
	bool hung;
	unsigned kills;   /* kills of its judging process from outside */
	double cpu, wall; /* at the start of judging */
	uint64_t trial;
	struct ct_cut cut;
	struct ct_run_shared *run;
	struct verdict *verdict;
};

struct killing {
	const struct ct_bench *bench;
	const struct ct_options *options;
	struct ct_result *result;
	struct slot slot[64];
	uint64_t begin_ps, end_ps, next, done;
	uint64_t *seen; /* hashes of crash states, in order of appearance */
	struct ct_groups groups;
	double began;
};

static struct ct_cut cut_of(const struct killing *k, uint64_t trial)
{
	struct nvw_random r = {nvw_mix64(k->options->seed + 0x632be59bd9b4e019u) ^ nvw_mix64(trial + 1)};

	NVW_INVARIANT(k->begin_ps <= k->end_ps);
	return (struct ct_cut){
		.time_ps = k->begin_ps + nvw_random_below(&r, k->end_ps - k->begin_ps + 1),
		.seed = nvw_random_u64(&r),
	};
}

/* ---- Judging, in a process of its own ------------------------------------------------------------------ */

static int judge(const struct killing *k, struct slot *s)
{
	const struct ct_oracle oracle = {.workload = k->bench->subject->workload, .plan = k->bench->plan};
	struct verdict *v = s->verdict;
	struct nvw_acks acks = {0};
	struct nvw_pool *pool;
	char path[512];

	NVW_TRY(ct_run_acks(s->run, &acks));
	ct_bench_pool_path(k->bench, s->number, path, sizeof path);
	v->phase = CT_PHASE_OPEN;
	if (nvw_pool_open(path, NVW_POOL_WRITE, &pool)) {
		nvw_violation(&v->findings, 0, "the pool cannot be opened: %s", nvw_error_message());
		v->phase = CT_PHASE_IDLE;
		return 0;
	}
	v->hash = nvw_acked_count(&acks);
	NVW_FOR(i, k->bench->pool_count) {
		v->hash = XXH64(nvw_pool_base(nvw_pool_number(pool, i)), k->bench->pool_bytes[i], v->hash);
	}
	ct_oracle_judge_pool(&oracle, pool, &acks, &v->findings, &v->phase);
	v->phase = CT_PHASE_IDLE;
	nvw_pool_close(pool);
	return 0;
}

static int start_judging(const struct killing *k, struct slot *s)
{
	NVW_INVARIANT(s->stage == EMULATING || s->stage == JUDGING);
	memset(s->verdict, 0, sizeof *s->verdict);
	NVW_TRY(ct_fork(&s->verdict->frames, &s->pid));
	if (s->pid == 0) {
		ct_leave(&s->verdict->left, judge(k, s));
		_exit(0);
	}
	s->stage = JUDGING;
	s->hung = false;
	s->cpu = 0;
	s->wall = ct_wall_seconds();
	return 0;
}

/* ---- Trials -------------------------------------------------------------------------------------------- */

static int start_trial(struct killing *k, struct slot *s)
{
	s->trial = k->next++;
	s->cut = cut_of(k, s->trial);
	s->stage = EMULATING;
	s->kills = 0;
	return ct_run_start(k->bench, s->number, -1, &s->cut, s->run, &s->pid);
}

/* True if it was killed from outside: nvwave itself kills only hanging processes. */
static bool was_killed(const struct slot *s, int status)
{
	return !s->hung && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Each kind counts once per state. */
static void note_findings(struct killing *k, const struct nvw_findings *found, struct ct_finding *f)
{
	NVW_INVARIANT(found->kept <= NVW__FINDINGS_MAX);
	NVW_EACH(one, found->finding, found->kept) {
		if (ct_find_alike(found, one->text) == one) {
			f->off = one->off;
			NVW_PRINT(f->text, "%s", one->text);
			ct_groups_add(&k->groups, f);
		}
	}
}

static void note(struct killing *k, const struct slot *s, int status)
{
	const struct verdict *v = s->verdict;
	struct ct_finding f = {.states = 1, .first_time_ps = s->cut.time_ps - k->begin_ps, .draw = s->trial};

	if (was_killed(s, status)) {
		NVW_PRINT(k->result->undecided,
			"its process was killed by SIGKILL again and again (was memory short?)");
		k->result->states_undecided++;
		return;
	}
	if (!s->hung && WIFEXITED(status) && WEXITSTATUS(status) == 0 && v->phase != CT_PHASE_IDLE) {
		ct_describe_death(v->phase, false, status, &v->frames, &f);
		NVW_PRINT(k->result->undecided, "%s", f.text);
		k->result->states_undecided++;
		return;
	}
	if (s->hung || WIFSIGNALED(status) || v->phase != CT_PHASE_IDLE) {
		ct_describe_death(v->phase, s->hung, status, &v->frames, &f);
		ct_groups_add(&k->groups, &f);
		k->result->states_failing++;
		return;
	}
	k->result->states_failing += v->findings.kept > 0;
	note_findings(k, &v->findings, &f);
}

static int end_trial(struct killing *k, struct slot *s, int status)
{
	NVW_INVARIANT(s->stage == JUDGING && k->done < k->options->states);
	NVW_TRY(ct_left_by(&s->verdict->left));
	if (was_killed(s, status) && ++s->kills < CT_KILLS_MAX) {
		return start_judging(k, s); /* another crash, in recovery */
	}
	note(k, s, status);
	k->seen[k->done++] = s->verdict->hash;
	s->stage = IDLE;
	return 0;
}

static int end_emulation(const struct killing *k, struct slot *s, int status)
{
	NVW_INVARIANT(s->stage == EMULATING);
	NVW_TRY(ct_left_by(&s->run->left));
	NVW_FAIL_IF(WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL, NVW_E_KERNEL,
		"the emulated run was killed by signal %d (%s)", WTERMSIG(status),
		strsignal(WTERMSIG(status)));
	return start_judging(k, s);
}

static int look_after(struct killing *k, struct slot *s)
{
	int status;

	if (s->stage == IDLE) {
		return k->next < k->options->states ? start_trial(k, s) : 0;
	}
	const pid_t pid = waitpid(s->pid, &status, WNOHANG);

	if (pid == 0) {
		if (s->stage == JUDGING && ct_over_limit(s->pid, s->cpu, s->wall, k->options->timeout_ms)) {
			s->hung = true;
			ct_end_hanging(s->pid, &s->verdict->frames);
		}
		return 0;
	}
	s->pid = 0;
	NVW_FAIL_ERRNO_IF(pid < 0, "a trial's process was lost");
	if (s->stage == EMULATING) {
		return end_emulation(k, s, status);
	}
	return end_trial(k, s, status);
}

static int look_after_all(struct killing *k)
{
	NVW_FOR(i, k->options->jobs) {
		NVW_TRY(look_after(k, &k->slot[i]));
	}
	return 0;
}

static int run_trials(struct killing *k)
{
	int error = 0;

	while (!error && k->done < k->options->states && !nvw_stopping()) {
		error = look_after_all(k);
		ct_tell(k->options, "killing", k->done, k->options->states, ct_wall_seconds() - k->began);
		usleep(500);
	}
	return error;
}

/* ---- Explaining ---------------------------------------------------------------------------------------- */

static int explain_pools(const struct ct_exploration *e, const struct nvw_pool *pool, struct ct_finding *f)
{
	uint8_t *const image = malloc(e->bytes);
	int error;

	NVW_ALLOCATED(image, "no memory for a pool of %llu bytes", (ull)e->bytes);
	nvw_pool_copy_run(pool, image);
	error = ct_explain_image(e, image, f);
	free(image);
	return error;
}

/* Repeats the trial with a log; the remaining pool tells which writes in flight were lost. */
static int explain(const struct killing *k, struct ct_finding *f)
{
	struct ct_oracle oracle = {.workload = k->bench->subject->workload, .plan = k->bench->plan};
	const struct slot *s = &k->slot[0];
	const struct ct_cut cut = cut_of(k, f->draw);
	json_t *const head = ct_finding_subject(k->bench->subject, k->options, k->bench->subject->command);
	struct ct_exploration e = {
		.rules = {.begin_ps = k->begin_ps},
		.initial = k->bench->initial,
		.bytes = k->bench->bytes,
		.judge = ct_oracle_judge,
		.context = &oracle,
		.options = *k->options,
		.head = head,
	};
	struct nvw_pool *pool;
	char path[512];
	int error = ct_log_file(&e.log_fd);

	if (!error) {
		error = ct_run_whole(k->bench, e.log_fd, &cut, s->run);
	}
	ct_bench_pool_path(k->bench, 0, path, sizeof path);
	if (!error && nvw_pool_open(path, NVW_POOL_PRIVATE, &pool) == 0) {
		error = explain_pools(&e, pool, f);
		nvw_pool_close(pool);
	}
	if (e.log_fd >= 0) {
		close(e.log_fd);
	}
	json_decref(head);
	return error;
}

/* ---- Beginning and end --------------------------------------------------------------------------------- */

static void gather(struct killing *k)
{
	struct ct_result *r = k->result;

	qsort(k->seen, k->done, sizeof *k->seen, nvw_by_u64);
	r->states_tested = k->done;
	NVW_FOR(i, k->done) {
		r->states_distinct += i == 0 || k->seen[i] != k->seen[i - 1];
	}
	r->states_equal = r->states_tested - r->states_distinct;
	r->consistent = r->states_failing == 0;
	r->sim_time_ps = k->end_ps - k->begin_ps;
	r->findings_unlisted = k->groups.unlisted;
	ct_groups_list(&k->groups, r);
	qsort(r->finding, r->finding_count, sizeof r->finding[0], ct_by_first);
}

/* The uncut run: its duration and its acknowledgements. */
static int pilot(struct killing *k, uint64_t *ret_ack_ranges)
{
	struct ct_run_shared *run;

	NVW_TRY(ct_run_shared_create(CT_ACK_RANGES_MAX, &run));
	ct_tell(k->options, "emulating", 0, 0, 0);
	int error = ct_run_whole(k->bench, -1, NULL, run);

	if (!error) {
		error = ct_coverage_of(ct_run_executed(run), &k->result->coverage);
	}
	ct_unlogged_of_run(&run->undo, &k->result->unlogged);
	k->begin_ps = run->begin_ps;
	k->end_ps = run->end_ps;
	*ret_ack_ranges = run->ack_count;
	NVW_EACH(ack, run->ack, run->ack_count) {
		k->result->acks += ack->count;
	}
	ct_run_shared_destroy(run);
	return error;
}

static int make_slots(struct killing *k, uint64_t ack_ranges)
{
	NVW_INVARIANT(k->options->jobs > 0);
	k->seen = malloc(k->options->states * sizeof *k->seen);
	NVW_FOR(i, k->options->jobs) {
		struct slot *s = &k->slot[i];

		s->number = i;
		s->verdict = ct_shared_memory(sizeof *s->verdict);
		NVW_FAIL_IF(!s->verdict || !k->seen, NVW_E_MEMORY, "no memory for the trials");
		NVW_TRY(ct_run_shared_create(ack_ranges + 1, &s->run));
	}
	return 0;
}

static void end_slots(struct killing *k)
{
	NVW_EACH(s, k->slot, 64) {
		ct_end_process(&s->pid);
		nvw__unmap(s->verdict, sizeof *s->verdict);
		ct_run_shared_destroy(s->run);
	}
	free(k->seen);
}

static int kill_all(struct killing *k)
{
	uint64_t ack_ranges = 0;
	int error = pilot(k, &ack_ranges);

	if (!error) {
		error = make_slots(k, ack_ranges);
	}
	k->began = ct_wall_seconds();
	if (!error) {
		error = run_trials(k);
	}
	if (error) {
		return error;
	}
	gather(k);
	k->result->interrupted = nvw_stopping();
	k->result->states_planned = k->result->states_asked = k->options->states;
	k->result->explore_seconds = ct_wall_seconds() - k->began;
	for (unsigned i = 0; i < k->result->finding_count && !error && !nvw_stopping(); i++) {
		ct_finding_name(k->options, i, &k->result->finding[i]);
		error = explain(k, &k->result->finding[i]);
	}
	ct_merge_causes(k->result->finding, &k->result->finding_count);
	return error;
}

int ct_run_kill(
	const struct ct_subject *subject, const struct ct_options *options, struct ct_result *ret_result)
{
	struct killing *k = calloc(1, sizeof *k);
	struct ct_bench bench;

	NVW_ALLOCATED(k, "no memory for a crash test");
	ct_result_clear(ret_result);
	ret_result->mode = CT_KILL;
	int error = ct_bench_create(subject, true, &bench);

	if (!error) {
		k->bench = &bench;
		k->options = options;
		k->result = ret_result;
		error = kill_all(k);
		end_slots(k);
		ct_bench_destroy(&bench);
	}
	free(k);
	return error;
}
