/* SPDX-License-Identifier: BSD-3-Clause */
/* A task of a job array, and the files of its folder. See slurm_task.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nvw/input.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "report/words.h"
#include "slurm_task.h"

int slurm_write(const char *folder, const char *name, int mode, const char *text)
{
	char *const path = text_made("%s/%s", folder, name);

	NVW_INVARIANT(!strchr(name, '/'));
	NVW_ALLOCATED(path, "no memory for a job array");
	const int r = sweep_write_text(path, mode, text);

	free(path);
	return r;
}

/* ---- Outcomes ------------------------------------------------------------------------------------ */

static int write_outcome(const char *folder, const char *key, const struct sweep_outcome *o)
{
	json_t *const all = json_pack(
		"{s:i, s:b, s:f}", "exit", o->exit_status, "timed_out", o->timed_out, "seconds", o->seconds);
	char name[SWEEP_KEY_BYTES + 8];

	json_object_set_new(all, "out", json_stringn_nocheck(o->out, strlen(o->out)));
	json_object_set_new(all, "err", json_stringn_nocheck(o->err, strlen(o->err)));
	char *const text = json_dumps(all, JSON_COMPACT);

	json_decref(all);
	NVW_ALLOCATED(text, "no memory for a job array");
	NVW_PRINT(name, "%s.json", key);
	const int r = slurm_write(folder, name, 0666, text);

	free(text);
	return r;
}

static char *copy_of(const json_t *o, const char *name)
{
	const char *const text = member_string(o, name);

	return text ? strdup(text) : NULL;
}

bool slurm_read_outcome(const char *folder, const char *key, struct sweep_outcome *o)
{
	char *const path = text_made("%s/%s.json", folder, key);
	json_t *const all = path ? json_load_file(path, 0, NULL) : NULL;

	*o = (struct sweep_outcome){.exit_status = (int)member_number(all, "exit"),
		.timed_out = member_flag(all, "timed_out"),
		.seconds = member_real(all, "seconds"),
		.out = copy_of(all, "out"),
		.err = copy_of(all, "err")};
	json_decref(all);
	free(path);
	return o->out && o->err;
}

/* ---- A task -------------------------------------------------------------------------------------- */

/* Copies the line's words; false if they are no command line. */
static bool words_of(const json_t *line, struct sweep_words *words)
{
	NVW_INVARIANT(words->count == 0);
	JSON_EACH(word, json_object_get(line, "words")) {
		if (!json_is_string(word) || words->count == SWEEP_WORDS_MAX ||
			!(words->word[words->count] = strdup(json_string_value(word)))) {
			return false;
		}
		words->count++;
	}
	return words->count;
}

static int run_words(
	const char *folder, const char *key, const struct sweep_words *words, uint64_t timeout_ms)
{
	struct sweep_outcome o;
	int r = 0;

	if (!slurm_read_outcome(folder, key, &o)) {
		sweep_outcome_end(&o);
		r = sweep_run_words(words, timeout_ms, &o);
		r = NVW_OR(r, write_outcome(folder, key, &o));
	}
	sweep_outcome_end(&o);
	return r;
}

static int run_line(const char *folder, const json_t *line, uint64_t timeout_ms)
{
	const char *const key = member_string(line, "key");
	struct sweep_words words = {0};
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
			tasks = (unsigned long)member_number(o, "tasks");
			if (at < 1 || at > tasks) {
				r = nvw_fail(NVW_E_INPUT,
					"%s: expected the list of a job array with this task", path);
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

	NVW_ALLOCATED(folder, "no memory for a job array");
	const int r = NVW_OR(nvw_input_read(path, SLURM_LIST_BYTES_MAX, &text, &bytes),
		run_list(path, folder, text, timeout_ms));
	free(text);
	free(folder);
	return r;
}
