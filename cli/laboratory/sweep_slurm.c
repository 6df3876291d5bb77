/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points of a sweep, or parts of another command, as tasks of a job array of Slurm. The front end writes a list of the points that
 * are missing, submits an array whose tasks run it in turns, and takes outcomes as they appear. An outcome is a file named after its
 * point's key, written beside and renamed: a task that runs twice writes the same, one that was lost leaves none, and its points
 * are submitted again. All is in a folder, which every node must see by the same name:
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

#include "core/newfile.h"
#include "core/stop.h"
#include "../report/provenance.h"
#include "sweep.h"

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
	int r = asprintf(&path, "%s/%s", folder, name) < 0 ? no_memory() :
							     nvw_new_file_begin(path, false, &f);

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
	while (f && n + 1 < room && (more = fread(answer + n, 1, room - 1 - n, f)) > 0) {
		n += more;
	}
	answer[n] = 0;
	return f ? pclose(f) : -1;
}

int sweep_slurm_find(void)
{
	char answer[64];

	return ask("command -v sbatch squeue 2>&1", answer, sizeof answer) ?
		       nvw_fail(NVW_E_USAGE,
			       "--engine=slurm: there is no sbatch: install Slurm's commands (on Debian, the package slurm-client)") :
		       0;
}

/* ---- Outcomes ------------------------------------------------------------------------------ */

static char *outcome_path(const char *folder, const char *key)
{
	char *path;

	return asprintf(&path, "%s/%s.json", folder, key) < 0 ? NULL : path;
}

static int write_outcome(const char *folder, const char *key, const struct sweep_outcome *o)
{
	json_t *const all = json_pack(
		"{s:i, s:b, s:f}", "exit", o->exit_status, "timed_out", o->timed_out, "seconds", o->seconds);
	char name[SWEEP_KEY_BYTES + 8];
	char *text;
	int r;

	json_object_set_new(all, "out", json_stringn_nocheck(o->out, strlen(o->out)));
	json_object_set_new(all, "err", json_stringn_nocheck(o->err, strlen(o->err)));
	text = json_dumps(all, JSON_COMPACT);
	snprintf(name, sizeof name, "%s.json", key);
	r = text ? write_text(folder, name, 0666, text) : no_memory();
	free(text);
	json_decref(all);
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

/* ---- A task -------------------------------------------------------------------------------- */

static int run_line(const char *folder, const json_t *line, uint64_t timeout_ms)
{
	const json_t *const list = json_object_get(line, "words");
	const char *const key = json_string_value(json_object_get(line, "key"));
	struct sweep_words words = {.count = 0};
	struct sweep_outcome o = {.out = NULL};
	const json_t *word;
	size_t i;
	int r = 0;

	json_array_foreach(list, i, word)
	{
		if (json_string_value(word) && words.count < SWEEP_WORDS_MAX &&
			(words.word[words.count] = strdup(json_string_value(word)))) {
			words.count++;
		}
	}
	if (!key || words.count == 0 || (size_t)words.count != json_array_size(list)) {
		r = nvw_fail(NVW_E_INPUT, "--task: expected a list of points");
	} else if (!read_outcome(folder, key, &o)) {
		sweep_outcome_end(&o);
		r = sweep_run_words(&words, timeout_ms, &o);
		r = r ? r : write_outcome(folder, key, &o);
	}
	sweep_outcome_end(&o);
	sweep_words_end(&words);
	return r;
}

int sweep_slurm_task(const char *path, uint64_t timeout_ms)
{
	const char *const task = getenv("SLURM_ARRAY_TASK_ID"), *const slash = strrchr(path, '/');
	const unsigned long at = task ? strtoul(task, NULL, 10) : 0;
	char *const folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	char *text = NULL, *rest, *line;
	unsigned long tasks = 0, n = 0;
	uint64_t bytes;
	int r = folder ? nvw_input_read(path, LIST_BYTES_MAX, &text, &bytes) : no_memory();

	rest = text;
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		if (!*line) {
			continue;
		}
		json_t *const o = json_loads(line, 0, NULL);

		if (!tasks) {
			tasks = (unsigned long)json_integer_value(json_object_get(o, "tasks"));
			r = tasks && at >= 1 && at <= tasks ?
				    0 :
				    nvw_fail(NVW_E_INPUT,
					    "%s: this is no list of a job array, or this no task of it",
					    path);
		} else if (n++ % tasks == at - 1) {
			r = run_line(folder, o, timeout_ms);
		}
		json_decref(o);
	}
	free(text);
	free(folder);
	return r;
}

/* ---- Submitting ---------------------------------------------------------------------------- */

/* The points without an outcome. */
static char *list_text(const struct slurm_work *w, unsigned tasks)
{
	char *text = NULL;
	size_t bytes;
	FILE *const to = open_memstream(&text, &bytes);
	int r = to ? 0 : -1;

	if (to) {
		fprintf(to, "{\"tasks\":%u}\n", tasks);
	}
	for (unsigned i = 0; i < w->count && r == 0; i++) {
		struct sweep_words words;

		if (w->is_done(w->of, i)) {
			continue;
		}
		json_t *const line = json_pack("{s:s, s:[]}", "key", w->key(w->of, i), "words");

		r = w->words(w->of, i, &words);
		for (int k = 0; k < words.count; k++) {
			json_array_append_new(json_object_get(line, "words"), json_string(words.word[k]));
		}
		json_dumpf(line, to, JSON_COMPACT);
		fputc('\n', to);
		json_decref(line);
		sweep_words_end(&words);
	}
	if (to && (fclose(to) || r)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The program by its own name, and where this process is. */
static char *script_text(const struct front *f, const char *list)
{
	char self[4096], *text = NULL;
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	size_t bytes;
	FILE *const to = open_memstream(&text, &bytes);

	self[n > 0 ? n : 0] = 0;
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
			"sbatch --parsable --requeue --open-mode=append --job-name=nvwave --array=1-%u --output=",
			tasks);
		cli_print_quoted(f->work->folder, to);
		fprintf(to, "/task-%%a.log %s ", f->manner->sbatch ? f->manner->sbatch : "");
		cli_print_quoted(f->work->folder, to);
		fputs("/task.sh 2>&1", to);
		fclose(to);
	}
	return text;
}

static int submit(struct front *f, unsigned missing)
{
	const unsigned most = f->manner->tasks ? f->manner->tasks : TASKS;
	const unsigned tasks = missing < most ? missing : most;
	char list[64], answer[512], note[128];

	snprintf(list, sizeof list, "list.%lld.%u", (long long)time(NULL), ++f->tries);

	char *const points = list_text(f->work, tasks), *const script = script_text(f, list),
		    *const command = submit_command(f, tasks);
	int r = points && script && command ? 0 : no_memory();

	r = r ? r : write_text(f->work->folder, list, 0666, points);
	r = r ? r : write_text(f->work->folder, "task.sh", 0777, script);
	if (r == 0 && (ask(command, answer, sizeof answer) != 0 || sscanf(answer, "%llu", &f->job) != 1)) {
		answer[strcspn(answer, "\n")] = 0;
		r = nvw_fail(NVW_E_USAGE, "--engine=slurm: %s", *answer ? answer : "sbatch says nothing");
	}
	if (r == 0) {
		snprintf(note, sizeof note, "%llu %s\n", f->job, list);
		r = write_text(f->work->folder, "job", 0666, note);
	}
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
	FILE *const from = asprintf(&path, "%s/job", f->work->folder) < 0 ? NULL : fopen(path, "re");

	if (from) {
		job = fscanf(from, "%llu", &job) == 1 ? job : 0;
		fclose(from);
	}
	free(path);
	return job;
}

/* Whether it still waits or runs. A controller that does not answer says nothing. */
static bool is_active(const struct front *f)
{
	char command[96], *const answer = malloc(ANSWER_BYTES);
	bool active = true;

	snprintf(command, sizeof command, "squeue -h -j %llu -o %%T 2>&1", f->job);
	if (answer) {
		const int status = ask(command, answer, ANSWER_BYTES);

		active = status ? !strstr(answer, "Invalid job id") : *answer != 0;
	}
	free(answer);
	return active;
}

/* ---- Following ----------------------------------------------------------------------------- */

static void pause_ms(unsigned ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
}

/* Points that no try brought a result for. */
static int give_up(struct front *f)
{
	const struct slurm_work *const w = f->work;
	char reason[64];
	int r = 0;

	snprintf(reason, sizeof reason, "its task ended %u times without a result", f->tries);
	for (unsigned i = 0; i < w->count && r == 0; i++) {
		if (!w->is_done(w->of, i)) {
			r = w->give_up(w->of, i, reason);
			f->progress.failed++;
		}
	}
	return r;
}

static int follow(struct front *f)
{
	unsigned missing, round = 0;
	int r = collect(f, &missing);

	f->progress.ended = 0;
	f->progress.to_run = missing;
	f->job = earlier_job(f);
	for (bool active = f->job && missing && is_active(f); r == 0 && missing; round++) {
		if (nvw_stopping()) {
			const int stopped = nvw_stop_error();

			return nvw_fail(stopped, "%s; job %llu goes on (scancel %llu ends it)",
				nvw_error_message(), f->job, f->job);
		}
		if (!active && f->tries == TRIES) {
			return give_up(f);
		}
		r = active ? 0 : submit(f, missing);
		pause_ms(POLL_MS);
		active = r == 0 && (round % ASK_EVERY != ASK_EVERY - 1 || is_active(f));
		r = r ? r : collect(f, &missing);
		sweep_show(f->manner, &f->progress, r || !missing);
	}
	return r;
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
	int r = sweep_slurm_find();

	if (r == 0 && mkdir(work->folder, 0777) && errno != EEXIST) {
		r = nvw_fail_errno("%s", work->folder);
	}
	r = r ? r : follow(&f);
	if (r < 0 && f.job == 0) {
		slurm_remove(work->folder);
	}
	return r;
}

char *slurm_folder(const char *name, int bytes)
{
	char *const here = *name == '/' ? strdup("") : getcwd(NULL, 0), *folder = NULL;

	if (here && asprintf(&folder, "%s%s%.*s.slurm", here, *here ? "/" : "", bytes, name) < 0) {
		folder = NULL;
	}
	free(here);
	return folder;
}
