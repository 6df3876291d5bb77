/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points of a sweep, or parts of another command, as tasks of a job array of Slurm. The front end writes a
 * list of the points that are missing, submits an array whose tasks run it in turns, and takes outcomes as
 * they appear. An outcome is a file named after its point's key, written beside and renamed: a task that
 * runs twice writes the same, one that was lost leaves none, and its points are submitted again. All is in a
 * folder, which every node must see by the same name:
 *
 *	list.N     KEY and words of each point, as JSON lines      job         the last job and its list
 *	task.sh    what the array runs                             task-I.log  what it prints
 *	KEY.json   outcomes
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <nvw/input.h>

#include "core/bounds.h"
#include "core/folder.h"
#include "core/invariant.h"
#include "core/newfile.h"
#include "core/stop.h"
#include "../report/provenance.h"
#include "sweep.h"
#include "report/words.h"

enum {
	TRIES = 3,
	TASKS = 100,
	POLL_MS = 250,
	ASK_EVERY = 8,
	ANSWER_BYTES = 1 << 16,
	LIST_BYTES_MAX = 1 << 30
};

struct front {
	const struct slurm_work *work;
	const struct sweep_manner *manner;
	unsigned long long job; /* 0: none */
	unsigned tries;
	struct sweep_progress progress;
};

static int no_memory(void)
{
	return nvw_fail(NVW_E_MEMORY, "no memory for a job array");
}

static int write_text(const char *folder, const char *name, int mode, const char *text)
{
	struct nvw_new_file f;
	char *path = NULL;

	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		return no_memory();
	}
	int r = nvw_new_file_begin(path, false, &f);

	if (r == 0) {
		fputs(text, f.file);
		fchmod(fileno(f.file), (mode_t)mode);
		r = nvw_new_file_end(&f, 0);
	}
	free(path);
	return r;
}

/* A command's whole answer, errors included; its exit status. */
static int ask(const char *command, char *answer, size_t room)
{
	FILE *const f = popen(command, "re");
	size_t n = 0, more;

	*answer = 0;
	if (!f) {
		return -1;
	}
	while (n + 1 < room && (more = fread(answer + n, 1, room - 1 - n, f)) > 0) {
		n += more;
	}
	answer[n] = 0;
	return pclose(f);
}

int sweep_slurm_find(void)
{
	char answer[64];

	if (ask("command -v sbatch squeue 2>&1", answer, sizeof answer)) {
		return nvw_fail(NVW_E_USAGE, "--engine=slurm: there is no sbatch: install Slurm's commands "
					     "(on Debian, the package slurm-client)");
	}
	return 0;
}

/* ---- Outcomes ------------------------------------------------------------------------------------ */

static char *outcome_path(const char *folder, const char *key)
{
	char *path;

	if (asprintf(&path, "%s/%s.json", folder, key) < 0) {
		return NULL;
	}
	return path;
}

static int write_outcome(const char *folder, const char *key, const struct sweep_outcome *o)
{
	json_t *const all = json_pack(
		"{s:i, s:b, s:f}", "exit", o->exit_status, "timed_out", o->timed_out, "seconds", o->seconds);
	char name[SWEEP_KEY_BYTES + 8];

	json_object_set_new(all, "out", json_stringn_nocheck(o->out, strlen(o->out)));
	json_object_set_new(all, "err", json_stringn_nocheck(o->err, strlen(o->err)));
	char *const text = json_dumps(all, JSON_COMPACT);

	json_decref(all);
	if (!text) {
		return no_memory();
	}
	snprintf(name, sizeof name, "%s.json", key);
	const int r = write_text(folder, name, 0666, text);

	free(text);
	return r;
}

static char *copy_of(const json_t *o, const char *name)
{
	const char *const text = json_string_value(json_object_get(o, name));

	return text ? strdup(text) : NULL;
}

/* 1 if there is one and it is whole. */
static int read_outcome(const char *folder, const char *key, struct sweep_outcome *o)
{
	char *const path = outcome_path(folder, key);
	json_t *const all = path ? json_load_file(path, 0, NULL) : NULL;

	*o = (struct sweep_outcome){.exit_status = (int)json_integer_value(json_object_get(all, "exit")),
		.timed_out = json_is_true(json_object_get(all, "timed_out")),
		.seconds = json_real_value(json_object_get(all, "seconds")),
		.out = copy_of(all, "out"),
		.err = copy_of(all, "err")};
	json_decref(all);
	free(path);
	return o->out && o->err;
}

/* Takes what there is; ret_missing: how many points are left. */
static int collect(struct front *f, unsigned *ret_missing)
{
	const struct slurm_work *const w = f->work;
	int r = 0;

	*ret_missing = 0;
	for (unsigned i = 0; i < w->count && r == 0; i++) {
		struct sweep_outcome o = {.out = NULL};

		if (w->is_done(w->of, i)) {
			continue;
		}
		if (!read_outcome(w->folder, w->key(w->of, i), &o)) {
			++*ret_missing;
		} else {
			r = w->take(w->of, i, &o);
			f->progress.ended++;
		}
		sweep_outcome_end(&o);
	}
	return r;
}

/* ---- A task -------------------------------------------------------------------------------------- */

/* Copies the line's words; false if they are no command line. */
static bool words_of(const json_t *line, struct sweep_words *words)
{
	const json_t *const list = json_object_get(line, "words"), *word;
	size_t i;

	json_array_foreach(list, i, word)
	{
		if (!json_string_value(word) || words->count == SWEEP_WORDS_MAX ||
			!(words->word[words->count] = strdup(json_string_value(word)))) {
			return false;
		}
		words->count++;
	}
	return words->count > 0;
}

static int run_words(
	const char *folder, const char *key, const struct sweep_words *words, uint64_t timeout_ms)
{
	struct sweep_outcome o;
	int r = 0;

	if (!read_outcome(folder, key, &o)) {
		sweep_outcome_end(&o);
		r = sweep_run_words(words, timeout_ms, &o);
		if (r == 0) {
			r = write_outcome(folder, key, &o);
		}
	}
	sweep_outcome_end(&o);
	return r;
}

static int run_line(const char *folder, const json_t *line, uint64_t timeout_ms)
{
	const char *const key = json_string_value(json_object_get(line, "key"));
	struct sweep_words words = {.count = 0};
	int r;

	if (words_of(line, &words) && key) {
		r = run_words(folder, key, &words, timeout_ms);
	} else {
		r = nvw_fail(NVW_E_INPUT, "--task: expected a list of points");
	}
	sweep_words_end(&words);
	return r;
}

/* The first line says how many tasks there are; of the others every task has each so many-th. */
static int run_list(const char *path, const char *folder, char *text, uint64_t timeout_ms)
{
	const char *const task = getenv("SLURM_ARRAY_TASK_ID");
	const unsigned long at = strtoul(words_or(task, "0"), NULL, 10);
	unsigned long tasks = 0, n = 0;
	char *rest = text, *line;
	int r = 0;

	while (r == 0 && (line = strsep(&rest, "\n"))) {
		json_t *const o = json_loads(line, 0, NULL);

		if (*line && !tasks) {
			tasks = (unsigned long)json_integer_value(json_object_get(o, "tasks"));
			if (at < 1 || at > tasks) {
				r = nvw_fail(NVW_E_INPUT,
					"%s: this is no list of a job array, or this no task of it", path);
			}
		} else if (*line && n++ % tasks == at - 1) {
			r = run_line(folder, o, timeout_ms);
		}
		json_decref(o);
	}
	return r;
}

int sweep_slurm_task(const char *path, uint64_t timeout_ms)
{
	const char *const slash = strrchr(path, '/');
	char *const folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	char *text = NULL;
	uint64_t bytes;

	if (!folder) {
		return no_memory();
	}
	int r = nvw_input_read(path, LIST_BYTES_MAX, &text, &bytes);

	if (r == 0) {
		r = run_list(path, folder, text, timeout_ms);
	}
	free(text);
	free(folder);
	return r;
}

/* ---- Submitting ---------------------------------------------------------------------------------- */

static int add_to_list(const struct slurm_work *w, unsigned i, FILE *to)
{
	struct sweep_words words;
	json_t *const line = json_pack("{s:s, s:[]}", "key", w->key(w->of, i), "words");
	const int r = w->words(w->of, i, &words);

	for (int k = 0; k < words.count; k++) {
		json_array_append_new(json_object_get(line, "words"), json_string(words.word[k]));
	}
	json_dumpf(line, to, JSON_COMPACT);
	fputc('\n', to);
	json_decref(line);
	sweep_words_end(&words);
	return r;
}

/* The points without an outcome. */
static char *list_text(const struct slurm_work *w, unsigned tasks)
{
	char *text = NULL;
	size_t bytes;
	FILE *const to = open_memstream(&text, &bytes);
	int r = 0;

	if (!to) {
		return NULL;
	}
	fprintf(to, "{\"tasks\":%u}\n", tasks);
	for (unsigned i = 0; i < w->count && r == 0; i++) {
		if (!w->is_done(w->of, i)) {
			r = add_to_list(w, i, to);
		}
	}
	if (fclose(to) || r) {
		free(text);
		return NULL;
	}
	return text;
}

/* The program by its own name, and where this process is. */
static char *script_text(const struct front *f, const char *list)
{
	char self[4096], *text = NULL;
	size_t bytes;
	FILE *const to = open_memstream(&text, &bytes);

	nvw_own_path(self, sizeof self);
	if (to) {
		fputs("#!/bin/sh\nexec ", to);
		cli_print_quoted(self, to);
		fputs(" sweep --task=", to);
		cli_print_quoted(f->work->folder, to);
		fprintf(to, "/%s", list);
		if (f->manner->timeout_ms) {
			fprintf(to, " --timeout=%llums", (unsigned long long)f->manner->timeout_ms);
		}
		fputc('\n', to);
		fclose(to);
	}
	return text;
}

static char *submit_command(const struct front *f, unsigned tasks)
{
	char *text = NULL;
	size_t bytes;
	FILE *const to = open_memstream(&text, &bytes);

	if (to) {
		fprintf(to,
			"sbatch --parsable --requeue --open-mode=append --job-name=nvwave --array=1-%u "
			"--output=",
			tasks);
		cli_print_quoted(f->work->folder, to);
		fprintf(to, "/task-%%a.log %s ", words_or(f->manner->sbatch, ""));
		cli_print_quoted(f->work->folder, to);
		fputs("/task.sh 2>&1", to);
		fclose(to);
	}
	return text;
}

static int submit_texts(
	struct front *f, const char *list, const char *points, const char *script, const char *command)
{
	char answer[512], note[128];

	if (!points || !script || !command) {
		return no_memory();
	}
	NVW_TRY(write_text(f->work->folder, list, 0666, points));
	NVW_TRY(write_text(f->work->folder, "task.sh", 0777, script));
	if (ask(command, answer, sizeof answer) != 0 || sscanf(answer, "%llu", &f->job) != 1) {
		answer[strcspn(answer, "\n")] = 0;
		return nvw_fail(NVW_E_USAGE, "--engine=slurm: %s", words_or(answer, "sbatch says nothing"));
	}
	snprintf(note, sizeof note, "%llu %s\n", f->job, list);
	return write_text(f->work->folder, "job", 0666, note);
}

static int submit(struct front *f, unsigned missing)
{
	const unsigned tasks = (unsigned)nvw_min(missing, NVW_OR(f->manner->tasks, TASKS));
	char list[64];

	snprintf(list, sizeof list, "list.%lld.%u", (long long)time(NULL), ++f->tries);

	char *const points = list_text(f->work, tasks), *const script = script_text(f, list),
		    *const command = submit_command(f, tasks);
	const int r = submit_texts(f, list, points, script, command);

	free(points);
	free(script);
	free(command);
	return r;
}

/* The job that an earlier front end submitted, 0 if there is none. */
static unsigned long long earlier_job(const struct front *f)
{
	unsigned long long job = 0;
	char *path = NULL;

	if (asprintf(&path, "%s/job", f->work->folder) < 0) {
		return 0;
	}
	FILE *const from = fopen(path, "re");

	free(path);
	if (!from) {
		return 0;
	}
	if (fscanf(from, "%llu", &job) != 1) {
		job = 0;
	}
	fclose(from);
	return job;
}

/* Whether it still waits or runs. A controller that does not answer says nothing. */
static bool is_active(const struct front *f)
{
	char command[96], *const answer = malloc(ANSWER_BYTES);

	if (!answer) {
		return true;
	}
	snprintf(command, sizeof command, "squeue -h -j %llu -o %%T 2>&1", f->job);
	const bool failed = ask(command, answer, ANSWER_BYTES) != 0;
	const bool active = failed ? !strstr(answer, "Invalid job id") : *answer != 0;

	free(answer);
	return active;
}

/* ---- Following ----------------------------------------------------------------------------------- */

static void pause_ms(unsigned ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
}

/* Points that no try brought a result for. */
static int give_up_missing(struct front *f)
{
	const struct slurm_work *const w = f->work;
	char reason[64];

	snprintf(reason, sizeof reason, "its task ended %u times without a result", f->tries);
	for (unsigned i = 0; i < w->count; i++) {
		if (!w->is_done(w->of, i)) {
			f->progress.failed++;
			NVW_TRY(w->give_up(w->of, i, reason));
		}
	}
	return 0;
}

static int follow(struct front *f)
{
	unsigned missing;

	NVW_TRY(collect(f, &missing));
	f->progress.ended = 0;
	f->progress.to_run = missing;
	f->job = earlier_job(f);
	bool active = f->job && missing && is_active(f);

	for (unsigned round = 0; missing; round++) {
		if (nvw_stopping()) {
			const int stopped = nvw_stop_error();

			return nvw_fail(stopped, "%s; job %llu goes on (scancel %llu ends it)",
				nvw_error_message(), f->job, f->job);
		}
		if (!active && f->tries == TRIES) {
			return give_up_missing(f);
		}
		if (!active) {
			NVW_TRY(submit(f, missing));
		}
		pause_ms(POLL_MS);
		active = round % ASK_EVERY != ASK_EVERY - 1 || is_active(f);
		NVW_TRY(collect(f, &missing));
		sweep_show(f->manner, &f->progress, !missing);
	}
	return 0;
}

void slurm_remove(const char *folder)
{
	DIR *const d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d) {
		closedir(d);
	}
	rmdir(folder);
}

int slurm_run(const struct slurm_work *work, const struct sweep_manner *manner)
{
	struct front f = {.work = work, .manner = manner, .progress.what = work->what};
	int r;

	NVW_INVARIANT(work->folder && *work->folder == '/');
	NVW_TRY(sweep_slurm_find());
	if (mkdir(work->folder, 0777) && errno != EEXIST) {
		return nvw_fail_errno("%s", work->folder);
	}
	r = follow(&f);
	if (r < 0 && f.progress.shown > 0) {
		sweep_show(manner, &f.progress, true);
	}
	if (r < 0 && f.job == 0) {
		slurm_remove(work->folder);
	}
	return r;
}

char *slurm_folder(const char *name, int bytes)
{
	char *const here = *name == '/' ? strdup("") : getcwd(NULL, 0), *folder = NULL;

	if (here && asprintf(&folder, "%s%s%.*s.slurm", here, words_if(*here, "/"), bytes, name) < 0) {
		folder = NULL;
	}
	free(here);
	return folder;
}
