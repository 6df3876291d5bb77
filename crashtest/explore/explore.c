/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exploration: the plan, parallel workers, and the parent that replaces dead ones. The plan is divided into
 * ranges at instants just after an acknowledgement: no state on one side equals one on the other, so the set
 * of distinct states does not depend on the number of jobs (crash.h, guarantee 7). Models without such places
 * are divided anywhere; then a worker records the states of all instants before its range, without testing
 * them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/bounds.h"

#include "core/stop.h"
#include "core/zeroed.h"

#include "checkpoint.h"
#include "../explain/explain.h"
#include "../explain/finding.h"
#include "../parts/parts.h"
#include "../judge/process.h"
#include "result.h"
#include "worker.h"

enum {
	DEATHS_MAX = 100, /* per range: each costs a fork, and most are due to the same bug */
	JOBS_MAX = 64,
	CHECKPOINT_SECONDS = 30,
	STOP_SECONDS_100 = 40, /* of a second, for a worker to finish its state */
	SEEN_MAX = 1 << 22,    /* hashes of 8 bytes per worker */
};

struct exploration {
	const struct ct_exploration *e;
	struct ct_plan plan;
	unsigned jobs;
	struct ct_worker worker[JOBS_MAX];
	uint64_t draws; /* of the shard */
	uint64_t identity;
	double began, written;
	struct ct_hangs own, *hangs; /* hangs: the caller's, or own */
	bool stopping, torn;         /* torn: a worker was killed during a state */
	struct ct_result *result;
};

static void tell(const struct exploration *x, const char *what, uint64_t done, uint64_t total)
{
	ct_tell(&x->e->options, what, done, total, ct_wall_seconds() - x->began);
}

/* ---- Ranges -------------------------------------------------------------------------------------------- */

/* The last instant of the range that begins at first and has about share draws; *ret_draws is their
 * number. */
static uint64_t range_end(const struct ct_plan *plan, uint64_t first, uint64_t share, uint64_t *ret_draws)
{
	uint64_t i = first, draws = 0;

	NVW_INVARIANT(first >= 1 && first <= plan->instants);
	for (;; i++) {
		draws += ct_plan_share(plan, i);
		if (i == plan->instants || (draws >= share && plan->fresh[i] & CT_PLAN_CUT)) {
			break;
		}
	}
	*ret_draws = draws;
	return i;
}

static int make_shared(struct ct_worker *w, uint64_t draws)
{
	uint64_t capacity = 1024;

	while (capacity < 4 * draws &&
		capacity < SEEN_MAX) { /* states, and with --symmetric their patterns */
		capacity *= 2;
	}
	w->shared_bytes = sizeof *w->shared + capacity * sizeof w->shared->seen[0];
	w->shared = ct_shared_memory(w->shared_bytes);
	NVW_FAIL_ERRNO_IF(!w->shared, "no memory for %llu crash states", (ull)draws);
	w->shared->seen_capacity = capacity;
	return 0;
}

static int make_failing(struct ct_worker *w)
{
	w->failing = ct_shared_memory(sizeof *w->failing);
	NVW_FAIL_ERRNO_IF(!w->failing, "no memory for the states that fail");
	return 0;
}

/* Advances the parent's medium for this worker to an instant. */
static int forward(struct ct_medium *m, uint64_t instant)
{
	int error = 1;

	NVW_INVARIANT(m->instant <= instant || instant == 0);
	while (m->instant < instant && error == 1) {
		error = ct_medium_next(m);
	}
	return MIN(error, 0);
}

/* The instants of this shard: a part of the plan with an equal share of draws. */
static void shard_range(struct exploration *x, uint64_t *ret_first, uint64_t *ret_last)
{
	const struct ct_options *const o = &x->e->options;
	uint64_t first = 1, last = x->plan.instants, draws = x->plan.draws;

	for (unsigned i = 1; i <= o->shard && first <= x->plan.instants; i++) {
		first = i == 1 ? 1 : last + 1;
		if (first <= x->plan.instants) {
			const uint64_t share = i == o->shards ? UINT64_MAX : x->plan.draws / o->shards + 1;

			last = range_end(&x->plan, first, share, &draws);
		}
	}
	x->draws = draws;
	if (first > x->plan.instants) {
		x->draws = 0;
	}
	*ret_first = first;
	*ret_last = last;
}

static int make_worker(struct exploration *x, struct ct_worker *w, uint64_t first, uint64_t draws,
	const struct ct_image *last)
{
	const struct ct_exploration *e = x->e;
	const bool notes = !ct_plan_cuts_apart(&e->rules); /* as many as a single worker would have */
	int error = make_shared(w, notes ? x->plan.draws : draws);

	if (!error && e->options.keeps_failing) {
		error = make_failing(w);
	}
	if (!error) {
		error = ct_medium_create(
			e->log_fd, e->initial, e->bytes, e->first_record, &e->rules, &w->medium);
	}
	if (!error) {
		ct_image_foresee(&w->medium.image, last);
		w->first = first;
		w->shared->instant = notes ? 1 : first;
	}
	return error;
}

/* last: the image at the end of the log. */
static int make_ranges(struct exploration *x, const struct ct_image *last)
{
	uint64_t first, end;
	unsigned n = 0;

	NVW_INVARIANT(x->jobs >= 1 && x->jobs <= JOBS_MAX);
	shard_range(x, &first, &end);
	const uint64_t share = (x->draws + x->jobs - 1) / x->jobs;

	for (; first <= end && n < x->jobs; n++) {
		struct ct_worker *w = &x->worker[n];
		uint64_t draws;

		w->last = range_end(&x->plan, first, n + 1 == x->jobs ? UINT64_MAX : share, &draws);
		w->last = MIN(w->last, end);
		NVW_TRY(make_worker(x, w, first, draws, last));
		first = w->last + 1;
	}
	x->jobs = n;
	return 0;
}

/* One slice: the other workers have nothing to do. All of them: they have done it. */
static int take_slices(struct exploration *x)
{
	const struct ct_options *const o = &x->e->options;
	int error = 0;

	for (unsigned i = 0; i < x->jobs && error == 0; i++) {
		if (o->slice == 0) {
			error = ct_slice_read(o->slices, i + 1, x->identity, &x->plan, &x->worker[i]);
		} else {
			x->worker[i].shared->finished = i + 1 != o->slice;
		}
	}
	return error;
}

/* Continues where an earlier run, or others, stopped. Then every worker's image is advanced to the beginning
 * of its range. */
static int resume(struct exploration *x)
{
	const struct ct_options *const o = &x->e->options;
	int error = 0;

	if (o->resume || o->slices) {
		error = ct_checkpoint_identity(x->e->log_fd, x->e, &x->plan, x->jobs, &x->identity);
	}
	if (o->resume && error == 0) {
		error = ct_checkpoint_read(o->resume, x->identity, &x->plan, x->worker, x->jobs);
	} else if (o->slices && error == 0) {
		error = take_slices(x);
	}
	for (unsigned i = 0; i < x->jobs && error >= 0; i++) {
		struct ct_worker *const w = &x->worker[i];

		w->shared->stop = w->shared->hold = w->shared->held = 0;
		w->next_draw = w->shared->next;
		if (!w->shared->finished) {
			error = forward(&w->medium, w->shared->instant);
		}
	}
	return MIN(error, 0);
}

/* ---- Workers ------------------------------------------------------------------------------------------- */

static int start(struct exploration *x, struct ct_worker *w)
{
	NVW_INVARIANT(w->pid == 0);
	w->hung = false;
	w->sequence = w->shared->sequence;
	w->sequence_cpu = w->used = 0;
	w->look = (struct ct_hang_look){0};
	w->sequence_wall = ct_wall_seconds();
	NVW_TRY(ct_fork(&w->shared->frames, &w->pid));
	if (w->pid == 0) {
		ct_worker_run(x->e, &x->plan, w);
	}
	return 0;
}

/* A new worker continues according to the shared memory. */
static int replace(struct exploration *x, struct ct_worker *w)
{
	NVW_INVARIANT(w->pid == 0);
	w->next_draw = w->shared->next;
	if (++w->deaths >= DEATHS_MAX) {
		w->shared->gave_up = 1;
		return 0;
	}
	NVW_TRY(forward(&w->medium, w->shared->instant));
	return start(x, w);
}

/* The next worker continues after the state in which the last one died. */
static void skip_state(struct ct_shared *s)
{
	if (s->draw >= CT_DRAW_PART) {
		s->no_confirmation = s->instant;
	} else if (s->draw >= CT_DRAW_LEAF) {
		/* The rest of the tree cannot be covered: the instant is restarted without it. */
		s->no_tree = s->instant;
		s->next = 0;
	} else {
		s->next = s->draw + 1;
	}
}

static int pass_by(struct exploration *x, struct ct_worker *w)
{
	w->shared->phase = CT_PHASE_IDLE;
	w->shared->judged = 0;
	skip_state(w->shared);
	return replace(x, w);
}

/* SIGKILL never comes from the code under test, nor do other signals that end nvwave, when they do. */
static bool is_kill(int status)
{
	return WIFSIGNALED(status) &&
	       (WTERMSIG(status) == SIGKILL || (nvw_stopping() && ct_is_from_outside(WTERMSIG(status))));
}

/* The next worker judges the state again. */
static int note_kill(struct exploration *x, struct ct_worker *w)
{
	struct ct_shared *s = w->shared;

	if (s->judged != w->killed) {
		w->kills = 0;
	}
	w->kills++;
	w->killed = s->judged;
	if (s->judged != 0 && w->kills >= CT_KILLS_MAX) {
		ct_worker_note_undecided(
			s, &x->plan, "its process was killed by SIGKILL again and again (was memory short?)");
		return pass_by(x, w);
	}
	if (s->judged != 0 && s->draw >= CT_DRAW_LEAF) {
		s->next = 0; /* the tree is restarted; judged states are recognised */
	}
	s->retried = s->judged;
	s->judged = 0;
	s->phase = CT_PHASE_IDLE;
	return replace(x, w);
}

static void count_death(
	struct exploration *x, struct ct_worker *w, int status, struct ct_shared *s, struct ct_finding *f)
{
	if (!w->hung && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		strncat(f->text, ", which is no verdict", sizeof f->text - strlen(f->text) - 1);
		ct_worker_note_undecided(s, &x->plan, f->text);
	} else {
		s->failing++;
		ct_groups_add(&s->groups, f);
		ct_failing_add(w->failing, s->judged, f->text);
	}
}

/* The state in which the worker died is a finding, unless the worker was killed from outside or exited with
 * status 0. */
static int note_death(struct exploration *x, struct ct_worker *w, int status)
{
	struct ct_shared *s = w->shared;
	struct ct_finding f = {
		.states = 1, .first_time_ps = s->time_ps, .instant = s->instant, .draw = s->draw};

	if (!w->hung && is_kill(status)) {
		return note_kill(x, w);
	}
	if (s->in_part) {
		s->in_part = 0;
		s->no_parts = 1;
		s->parts.died++;
		s->phase = CT_PHASE_IDLE;
		return replace(x, w);
	}
	NVW_FAIL_IF(s->phase == CT_PHASE_IDLE, NVW_E_SYSTEM, "a worker exited between two states (status %d)",
		status);
	ct_describe_death(s->phase, w->hung, status, &s->frames, &f);
	if (w->hung) {
		ct_hang_remember(x->hangs, f.where);
	}
	count_death(x, w, status, s, &f);
	return pass_by(x, w);
}

static bool hangs_alike(const struct exploration *x, struct ct_worker *w)
{
	const struct ct_hang_state state = {
		.pid = w->pid, .cpu = w->used, .slowest = w->slowest, .timeout_ms = x->e->options.timeout_ms};

	return ct_hang_is_alike(x->hangs, &state, &w->look);
}

/* Kills a worker whose state exceeds its time limit, or hangs like one that did. */
static void watch(const struct exploration *x, struct ct_worker *w)
{
	NVW_INVARIANT(w->pid > 0);
	const double cpu = ct_cpu_seconds(w->pid);

	if (w->shared->sequence != w->sequence || w->shared->phase == CT_PHASE_IDLE) {
		w->slowest = MAX(w->slowest, w->used);
		w->sequence = w->shared->sequence;
		w->sequence_cpu = cpu;
		w->sequence_wall = ct_wall_seconds();
		w->used = 0;
		w->look = (struct ct_hang_look){0};
		return;
	}
	w->used = cpu - w->sequence_cpu;
	if (ct_over_limit(w->pid, w->sequence_cpu, w->sequence_wall, x->e->options.timeout_ms) ||
		hangs_alike(x, w)) {
		w->hung = true;
		ct_end_hanging(w->pid, &w->shared->frames);
	}
}

static int look_after(struct exploration *x, struct ct_worker *w)
{
	int status;

	if (w->pid == 0) {
		return 0;
	}
	const pid_t pid = waitpid(w->pid, &status, WNOHANG);

	if (pid == 0) {
		watch(x, w);
		return 0;
	}
	NVW_FAIL_ERRNO_IF(pid < 0, "a worker process was lost");
	w->pid = 0;
	NVW_TRY(ct_left_by(&w->shared->left));
	if (w->shared->finished || (w->shared->stop && w->shared->phase == CT_PHASE_IDLE)) {
		return 0;
	}
	return note_death(x, w, status);
}

static bool all_done(const struct exploration *x)
{
	return !NVW_ANY(worker, x->worker, x->jobs, worker->pid != 0);
}

static uint64_t tested(const struct exploration *x)
{
	uint64_t n = 0;

	NVW_EACH(worker, x->worker, x->jobs) {
		const struct ct_shared *const s = worker->shared;

		n += s->distinct + s->equal + s->unread + s->symmetric;
	}
	return n;
}

static void tell_progress(const struct exploration *x)
{
	uint64_t behind = 0, all = 0;
	bool by_parts = false;

	NVW_EACH(w, x->worker, x->jobs) {
		const uint64_t instant = w->shared->instant;

		by_parts |= w->shared->parts.parts > 0;
		all += w->last - w->first + 1;
		if (w->shared->finished) {
			behind += w->last - w->first + 1;
		} else if (instant > w->first) {
			behind += instant - w->first;
		}
	}
	if (by_parts) {
		tell(x, "exploring instants", behind, all);
	} else {
		tell(x, "exploring", tested(x), x->draws);
	}
}

static bool all_held(const struct exploration *x)
{
	return !NVW_ANY(worker, x->worker, x->jobs, worker->pid != 0 && !worker->shared->held);
}

/* Saves the exploration periodically, when all workers are between two states. If a worker is busy for long,
 * saving is postponed. */
static int write_down(struct exploration *x)
{
	int error = 0;

	NVW_EACH(worker, x->worker, x->jobs) {
		worker->shared->hold = 1;
	}
	for (unsigned i = 0; i < 500 && !all_held(x); i++) {
		usleep(1000);
	}
	if (all_held(x)) {
		error = ct_checkpoint_write(x->e->options.resume, x->identity, &x->plan, x->worker, x->jobs);
	}
	NVW_EACH(worker, x->worker, x->jobs) {
		worker->shared->hold = 0;
	}
	x->written = ct_wall_seconds();
	return error;
}

static void stop_workers(struct exploration *x)
{
	x->stopping = true;
	x->result->interrupted = true;
	NVW_EACH(worker, x->worker, x->jobs) {
		worker->shared->stop = 1;
	}
}

static void kill_worker(struct exploration *x, struct ct_worker *w)
{
	ct_end_process(&w->pid);
	if (!w->shared->in_part) {
		w->shared->distinct -= w->shared->phase != CT_PHASE_IDLE;
		x->torn = true;
	}
	w->shared->in_part = 0;
	w->shared->phase = CT_PHASE_IDLE;
}

/* Kills workers whose state exceeds the time limit. The state counts as not tested, and the exploration
 * cannot be resumed from there. What parts were tried is tried again. */
static void kill_late(struct exploration *x)
{
	for (unsigned i = 0; i < x->jobs && 100 * nvw_stop_seconds() > STOP_SECONDS_100; i++) {
		struct ct_worker *const w = &x->worker[i];

		if (w->pid > 0) {
			kill_worker(x, w);
		}
	}
}

static int run_workers(struct exploration *x)
{
	const struct ct_options *const o = &x->e->options;
	unsigned pause_us = 200;
	int error = 0;

	x->written = ct_wall_seconds();
	for (unsigned i = 0; i < x->jobs && !error; i++) {
		if (!x->worker[i].shared->finished) {
			error = start(x, &x->worker[i]);
		}
	}
	while (!error && !all_done(x)) {
		usleep(pause_us);
		if (pause_us < 20000) {
			pause_us *= 2;
		}
		if (x->stopping) {
			kill_late(x);
		} else if (nvw_stopping()) {
			stop_workers(x);
		}
		for (unsigned i = 0; i < x->jobs && !error; i++) {
			error = look_after(x, &x->worker[i]);
		}
		if (!error && o->resume && !x->stopping &&
			ct_wall_seconds() - x->written > CHECKPOINT_SECONDS) {
			error = write_down(x);
		}
		tell_progress(x);
	}
	if (!error && o->resume && x->torn) {
		fprintf(stderr, "nvwave: note: %s stays as it was: a state took too long to wait for\n",
			o->resume);
	} else if (!error && o->resume && x->stopping) {
		error = ct_checkpoint_write(o->resume, x->identity, &x->plan, x->worker, x->jobs);
	} else if (!error && o->resume) {
		unlink(o->resume);
	}
	return error;
}

/* What a worker that died too often has left is not tested by others either. */
static int write_slice(struct exploration *x, uint64_t alike)
{
	const struct ct_options *const o = &x->e->options;
	struct ct_worker *const w = &x->worker[o->slice - 1];

	if (o->slice > x->jobs || x->stopping) {
		return 0;
	}
	w->shared->finished = 1;
	w->shared->hangs_alike = alike;
	return ct_slice_write(o->slices, o->slice, x->identity, &x->plan, w);
}

/* ---- The whole ----------------------------------------------------------------------------------------- */

static void end_worker(struct ct_worker *w)
{
	ct_end_process(&w->pid);
	if (w->medium.reader) {
		ct_medium_destroy(&w->medium);
	}
	nvw__unmap(w->shared, w->shared_bytes);
	nvw__unmap(w->failing, sizeof *w->failing);
}

static void end_workers(struct exploration *x)
{
	NVW_EACH(worker, x->worker, JOBS_MAX) {
		end_worker(worker);
	}
}

static int make_plan_and_ranges(struct exploration *x, void *final)
{
	const struct ct_exploration *e = x->e;
	struct ct_medium m;

	NVW_TRY(ct_medium_create(e->log_fd, e->initial, e->bytes, e->first_record, &e->rules, &m));
	x->result->atomicity = ct_medium_atomicity(&m);
	tell(x, "planning", 0, 0);
	int error = ct_plan_create(&m, e->options.states, e->options.seed, x->result, &x->plan);
	if (!error && final) {
		memcpy(final, m.image.rw, e->bytes);
	}
	x->began = ct_wall_seconds();
	if (!error) {
		error = make_ranges(x, &m.image);
	}
	ct_medium_destroy(&m);
	return error;
}

static int explain(struct exploration *x)
{
	const struct ct_exploration *const e = x->e;
	struct ct_result *const r = x->result;
	int error = 0;

	for (unsigned i = 0; i < r->finding_count && !error && !e->options.unexplained; i++) {
		if (nvw_stopping()) {
			r->interrupted = true;
			break;
		}
		tell(x, "explaining", i, r->finding_count);
		if (e->head) {
			ct_finding_name(&e->options, i, &r->finding[i]);
		}
		error = ct_explain(e, &x->plan, &r->finding[i]);
	}
	return error;
}

int ct_explore(const struct ct_exploration *e, void *final, struct ct_result *ret_result)
{
	struct exploration *x = calloc(1, sizeof *x);
	const double began = ct_wall_seconds();

	NVW_ALLOCATED(x, "no memory for an exploration");
	ct_result_clear(ret_result);
	ret_result->mode = ct_model_info(e->rules.model)->replays ? CT_OBSERVED : CT_PERMITTED;
	ret_result->model = e->rules.model;
	ret_result->grouped = e->grouped;
	x->e = e;
	x->hangs = NVW_OR(e->hangs, &x->own);
	x->result = ret_result;
	x->began = began;
	x->jobs = MIN(e->options.jobs, JOBS_MAX);
	int error = make_plan_and_ranges(x, final);

	if (!error) {
		error = resume(x);
	}
	const uint32_t alike = x->hangs->alike;

	if (!error) {
		error = run_workers(x);
	}
	if (!error && e->options.slice > 0) {
		error = write_slice(x, x->hangs->alike - alike);
	} else {
		ret_result->hangs_alike = x->hangs->alike - alike;
	}
	if (!error) {
		ret_result->states_planned = x->draws;
		ret_result->states_asked = e->options.states;
		error = ct_result_gather(&x->plan, &e->options, x->worker, x->jobs, ret_result);
		ret_result->explore_seconds = ct_wall_seconds() - x->began;
		x->began = ct_wall_seconds();
		if (!error) {
			error = explain(x);
		}
		ct_merge_causes(ret_result->finding, &ret_result->finding_count);
	}
	end_workers(x);
	ct_plan_destroy(&x->plan);
	free(x);
	ret_result->host_seconds = ct_wall_seconds() - began;
	return error;
}
