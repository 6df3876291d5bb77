/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points of a sweep, or parts of another command, as tasks of a job array of Slurm. The front end writes a
 * list of the points that are missing, submits an array whose tasks run it in turns, and takes outcomes as
 * they appear. An outcome is a file named after its point's key, written beside and renamed: a task that
 * runs twice writes the same. One that was lost leaves none, and its points are submitted again, but not if a
 * person has cancelled it, or if it had all of its job's time. All is in a folder, which every node must see
 * by the same name:
 *
 *	list.N     KEY and words of each point, as JSON lines      job         the last job and its list
 *	task.sh    what the array runs                             task-I.log  what it prints
 *	KEY.json   outcomes
 */
#include <dirent.h>
#include <limits.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <crashtest/judge/process.h>
#include <nvw/input.h>

#include "core/bounds.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "core/stop.h"
#include "core/text_stream.h"
#include "../report/provenance.h"
#include "report/words.h"
#include "slurm_job.h"
#include "slurm_task.h"
#include "sweep.h"

enum { TRIES = 3, TASKS = 100, POLL_MS = 250, ASK_EVERY = 8, END_ROUNDS = 8 };

static const char not_needed[] = "nothing of it is needed any more";

struct front {
	const struct slurm_work *work;
	const struct sweep_manner *manner;
	struct slurm_job job;
	json_t *lines; /* of the job's list: key -> place, from 0 */
	unsigned tries;
	double waits_since; /* when a task ran last */
	struct sweep_progress progress;
};

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for a job array");
}

/* ---- Outcomes ------------------------------------------------------------------------------------ */

/* Takes what there is; ret_missing: how many points are left. */
static int collect(struct front *f, unsigned *ret_missing)
{
	const struct slurm_work *const w = f->work;
	int r = 0;

	*ret_missing = 0;
	for (unsigned i = 0; i < w->count && r == 0; i++) {
		struct sweep_outcome o = {0};

		if (w->is_done(w->of, i)) {
			continue;
		}
		if (!slurm_read_outcome(w->folder, w->key(w->of, i), &o)) {
			++*ret_missing;
		} else {
			r = w->take(w->of, i, &o);
			f->progress.ended++;
		}
		sweep_outcome_end(&o);
	}
	NVW_INVARIANT(f->progress.ended + *ret_missing <= w->count);
	return r;
}

/* ---- Submitting ---------------------------------------------------------------------------------- */

static int add_to_list(struct front *f, unsigned i, FILE *to)
{
	const struct slurm_work *const w = f->work;
	struct sweep_words words;
	json_t *const line = json_pack("{s:s, s:[]}", "key", w->key(w->of, i), "words");
	const int r = w->words(w->of, i, &words);

	NVW_EACH(word, words.word, words.count) {
		json_array_append_new(json_object_get(line, "words"), json_string(*word));
	}
	json_dumpf(line, to, JSON_COMPACT);
	fputc('\n', to);
	json_decref(line);
	sweep_words_end(&words);
	return r;
}

/* The points without an outcome. */
static char *list_text(struct front *f, unsigned tasks)
{
	const struct slurm_work *const w = f->work;
	struct text_stream t;
	int r = 0;

	NVW_INVARIANT(tasks > 0);
	if (!text_begin(&t)) {
		return NULL;
	}
	fprintf(t.to, "{\"tasks\":%u}\n", tasks);
	for (unsigned i = 0; i < w->count && r == 0; i++) {
		if (!w->is_done(w->of, i)) {
			r = add_to_list(f, i, t.to);
		}
	}
	if (!text_end(&t) || r) {
		free(t.text);
		return NULL;
	}
	return t.text;
}

/* The program by its own name, and where this process is. */
static char *script_text(const struct front *f, const char *list)
{
	char self[4096];
	struct text_stream t;

	nvw_own_path(self, sizeof self);
	if (!text_begin(&t)) {
		return NULL;
	}
	fputs("#!/bin/sh\nexec ", t.to);
	cli_print_quoted(self, t.to);
	fputs(" sweep --task=", t.to);
	cli_print_quoted(f->work->folder, t.to);
	fprintf(t.to, "/%s", list);
	if (f->manner->timeout_ms) {
		fprintf(t.to, " --timeout=%llums", (ull)f->manner->timeout_ms);
	}
	fputc('\n', t.to);
	return text_end(&t);
}

static void print_submit_command(const struct front *f, unsigned tasks, FILE *to)
{
	const char *const folder = f->work->folder;

	fprintf(to, "sbatch --parsable --requeue --open-mode=append --job-name=nvwave --array=1-%u --output=",
		tasks);
	cli_print_quoted(folder, to);
	fprintf(to, "/task-%%a.log %s ", words_or(f->manner->sbatch, ""));
	cli_print_quoted(folder, to);
	fputs("/task.sh 2>&1", to);
}

static char *submit_command(const struct front *f, unsigned tasks)
{
	struct text_stream t;

	if (!text_begin(&t)) {
		return NULL;
	}
	print_submit_command(f, tasks, t.to);
	return text_end(&t);
}

/* Where each point is in a list. ret_tasks: 0 if it is none. */
static void read_places(struct front *f, char *text, unsigned *ret_tasks)
{
	char *rest = text, *line;
	json_int_t n = 0;

	*ret_tasks = 0;
	json_decref(f->lines);
	f->lines = json_object();
	while ((line = strsep(&rest, "\n"))) {
		json_t *const o = json_loads(line, 0, NULL);
		const char *const key = member_string(o, "key");

		if (key) {
			member_set_number(f->lines, key, n++);
		} else if (o) {
			*ret_tasks = (unsigned)member_number(o, "tasks");
		}
		json_decref(o);
	}
}

static int submit_texts(struct front *f, const char *list, char *points, const char *script, unsigned tasks)
{
	char *const command = submit_command(f, tasks);
	char note[128];

	if (!points || !script || !command) {
		free(command);
		return no_memory();
	}
	int r = slurm_write(f->work->folder, list, 0666, points);

	r = NVW_OR(r, slurm_write(f->work->folder, "task.sh", 0777, script));
	r = NVW_OR(r, slurm_submit(&f->job, command, tasks));
	free(command);
	NVW_TRY(r);
	read_places(f, points, &tasks);
	NVW_PRINT(note, "%llu %s\n", f->job.number, list);
	return slurm_write(f->work->folder, "job", 0666, note);
}

static int submit(struct front *f, unsigned missing)
{
	const unsigned tasks = (unsigned)nvw_min(missing, NVW_OR(f->manner->tasks, TASKS));
	char list[64];

	NVW_INVARIANT(missing > 0);
	NVW_PRINT(list, "list.%lld.%u", (long long)time(NULL), ++f->tries);

	char *const points = list_text(f, tasks), *const script = script_text(f, list);
	const int r = submit_texts(f, list, points, script, tasks);

	free(points);
	free(script);
	f->waits_since = ct_wall_seconds();
	return r;
}

void slurm_remove(const char *folder)
{
	DIR *const d = opendir(folder);

	for (struct dirent *e; d && (e = readdir(d));) {
		unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d) {
		closedir(d);
	}
	rmdir(folder);
}

/* ---- The job of an earlier front end ------------------------------------------------------------- */

static char *text_in(const char *folder, const char *name)
{
	char path[PATH_MAX], *text;
	uint64_t bytes;

	NVW_PRINT(path, "%s/%s", folder, name);
	if (access(path, R_OK) || nvw_input_read(path, SLURM_LIST_BYTES_MAX, &text, &bytes)) {
		return NULL;
	}
	return text;
}

/* Its number, and the points of its list; 0: there is none. */
static unsigned long long earlier_job(struct front *f, unsigned *ret_tasks)
{
	char *const note = text_in(f->work->folder, "job");
	unsigned long long number = 0;
	char name[64];

	*ret_tasks = 0;
	if (note && sscanf(note, "%llu %63s", &number, name) == 2) {
		char *const list = text_in(f->work->folder, name);

		if (list) {
			read_places(f, list, ret_tasks);
		}
		free(list);
	}
	free(note);
	return *ret_tasks ? number : 0;
}

/* Where the point is in the job's list, if it has no result yet. */
static const json_t *missing(const struct front *f, unsigned i)
{
	const struct slurm_work *const w = f->work;

	NVW_INVARIANT(i < w->count);
	return w->is_done(w->of, i) ? NULL : json_object_get(f->lines, w->key(w->of, i));
}

static bool has_missing_point(const struct front *f)
{
	return NVW_ANY_BELOW(i, f->work->count, missing(f, i));
}

/* No front end follows it any more. */
static void cancel(struct front *f, const char *why)
{
	char *const path = text_made("%s/job", f->work->folder);

	slurm_cancel(&f->job, why);
	if (path) {
		unlink(path);
	}
	free(path);
}

/* It goes on if it has points that are missing here. */
static int follow_earlier(struct front *f)
{
	unsigned tasks;
	const unsigned long long number = earlier_job(f, &tasks);

	NVW_INVARIANT(f->job.number == 0);
	if (!number) {
		return 0;
	}
	NVW_TRY(slurm_follow(&f->job, number, tasks));
	NVW_TRY(slurm_ask(&f->job));
	if (slurm_is_active(&f->job) && has_missing_point(f) && !f->manner->fresh) {
		slurm_say(&f->job);
		return 0;
	}
	if (slurm_is_active(&f->job)) {
		cancel(f, not_needed);
	}
	slurm_job_end(&f->job);
	return 0;
}

/* A folder without outcomes, where all points are to run. */
static int begin_folder(struct front *f)
{
	const char *const folder = f->work->folder;

	if (f->manner->fresh) {
		NVW_TRY(follow_earlier(f));
		slurm_remove(folder);
	}
	NVW_FAIL_ERRNO_IF(mkdir(folder, 0777) && errno != EEXIST, "%s", folder);
	return 0;
}

/* ---- Following ----------------------------------------------------------------------------------- */

static void pause_ms(unsigned ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
}

/* "; see FOLDER/task-3.log", if the task has printed something. Freed by the caller; NULL without memory. */
static char *log_words(const struct front *f, unsigned task)
{
	char *const words = text_made("; see %s/task-%u.log", f->work->folder, task);

	if (words && access(words + strlen("; see "), R_OK)) {
		*words = 0;
	}
	return words;
}

/* "job 12, task 3: TIMEOUT: over its time limit". */
static int give_up(struct front *f, unsigned i, unsigned task, const struct slurm_ending *ending)
{
	const struct slurm_work *const w = f->work;
	char *const log = log_words(f, task);
	char times[64] = "", *reason = NULL;
	int r;

	NVW_INVARIANT(task >= 1 && task <= f->job.count);
	if (ending->retry == SLURM_RETRY) {
		NVW_PRINT(times, "no result in %u jobs, the last of them ", f->tries);
	}
	if (!log || asprintf(&reason, "%sjob %llu, task %u: %s: %s%s", times, f->job.number, task,
			    words_or(ending->state, "ended"), ending->words, log) < 0) {
		r = no_memory();
	} else {
		f->progress.failed++;
		r = w->give_up(w->of, i, ending->status, reason);
	}
	free(reason);
	free(log);
	return r;
}

/* Tasks take the list's points in turns, so that the first of each are at the list's beginning. */
static bool is_final(const struct front *f, const struct slurm_ending *ending, json_int_t place)
{
	NVW_INVARIANT(place >= 0);
	switch (ending->retry) {
	case SLURM_NO_RETRY:
		return true;
	case SLURM_RETRY_OTHERS:
		return f->tries >= TRIES || place < f->job.count;
	default:
		return f->tries >= TRIES;
	}
}

/* The job has ended: of the points without a result, those that no other job is to try. */
static int judge(struct front *f)
{
	NVW_INVARIANT(f->job.count > 0);
	NVW_FOR(i, f->work->count) {
		const json_t *const place = missing(f, i);

		if (!place) {
			continue;
		}
		const json_int_t at = json_integer_value(place);
		const unsigned task = (unsigned)(at % f->job.count) + 1;
		const struct slurm_ending *const ending = slurm_ending(&f->job, task);

		if (is_final(f, ending, at)) {
			NVW_TRY(give_up(f, i, task, ending));
		}
	}
	return 0;
}

static int next_job(struct front *f, unsigned *missing)
{
	if (f->job.number) {
		NVW_TRY(judge(f));
		NVW_TRY(collect(f, missing));
	}
	if (*missing) {
		NVW_TRY(submit(f, *missing));
	}
	return 0;
}

/* Ctrl-C is a person's, who wants an end. A connection that is lost ends nothing. */
static int stopped(struct front *f)
{
	const int r = nvw_stop_error();

	if (!slurm_is_active(&f->job)) {
		return r;
	}
	if (nvw__stop_signal == SIGINT) {
		nvw_stop_reporting();
		cancel(f, "Ctrl-C");
		return nvw_stop_error();
	}
	return nvw_fail(r, "%s; job %llu goes on (scancel %llu ends it)", nvw_error_message(), f->job.number,
		f->job.number);
}

/* Whether nothing of the job has run for as long as the user waits. */
static int check_queue(struct front *f)
{
	const double now = ct_wall_seconds();

	if (!slurm_waits(&f->job)) {
		f->waits_since = now;
	}
	if (!f->manner->queue_limit_ms || (now - f->waits_since) * 1000 < (double)f->manner->queue_limit_ms) {
		return 0;
	}
	char *const states = slurm_states(&f->job);

	cancel(f, "--queue-limit");
	const int r = nvw_fail(NVW_E_STOPPED, "UNDECIDED: nothing of job %llu ran within --queue-limit: %s",
		f->job.number, words_or(states, "it waits"));

	free(states);
	return r;
}

static int ask_now(struct front *f)
{
	NVW_TRY(slurm_ask(&f->job));
	slurm_say(&f->job);
	return check_queue(f);
}

/* A task that has written its last result is about to end by itself. */
static int end_job(struct front *f)
{
	for (unsigned round = 0; round < END_ROUNDS && slurm_is_active(&f->job) && !nvw_stopping(); round++) {
		pause_ms(POLL_MS);
		NVW_TRY(slurm_ask(&f->job));
	}
	if (slurm_is_active(&f->job)) {
		cancel(f, not_needed);
	}
	return 0;
}

/* Asks after 1, 2, 4 and 8 rounds, then after 8 more each time. */
static bool is_time_to_ask(unsigned round)
{
	return round % ASK_EVERY == 0 || (round < ASK_EVERY && (round & (round - 1)) == 0);
}

static int follow(struct front *f)
{
	unsigned missing, round = 0;

	NVW_INVARIANT(f->tries == 0);
	NVW_TRY(collect(f, &missing));
	NVW_TRY(follow_earlier(f));
	NVW_TRY(collect(f, &missing));
	f->progress.ended = 0;
	f->progress.to_run = missing;
	f->waits_since = ct_wall_seconds();
	while (missing) {
		if (nvw_stopping()) {
			return stopped(f);
		}
		if (!slurm_is_active(&f->job)) {
			NVW_TRY(next_job(f, &missing));
			round = 0;
		}
		pause_ms(POLL_MS);
		if (missing && is_time_to_ask(++round)) {
			NVW_TRY(ask_now(f));
		}
		NVW_TRY(collect(f, &missing));
		sweep_show(f->manner, &f->progress, !missing);
	}
	return end_job(f);
}

int slurm_run(const struct slurm_work *work, const struct sweep_manner *manner)
{
	struct front f = {.work = work, .manner = manner, .progress.what = work->what};
	int r;

	NVW_INVARIANT(work->count > 0);
	NVW_INVARIANT(work->folder && *work->folder == '/');
	NVW_TRY(sweep_slurm_find());
	r = begin_folder(&f);
	r = NVW_OR(r, follow(&f));
	if (r < 0 && f.progress.shown > 0) {
		sweep_show(manner, &f.progress, true);
	}
	if (r < 0 && f.job.number == 0) {
		slurm_remove(work->folder);
	}
	slurm_job_end(&f.job);
	json_decref(f.lines);
	return r;
}

char *slurm_folder(const char *name, int bytes)
{
	char *const here = *name == '/' ? strdup("") : getcwd(NULL, 0);
	char *const folder =
		here ? text_made("%s%s%.*s.slurm", here, words_if(*here, "/"), bytes, name) : NULL;

	free(here);
	return folder;
}
