/* SPDX-License-Identifier: BSD-3-Clause */
/* A command's work as a job array. See spread.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../report/words.h"
#include "core/array.h"
#include "core/invariant.h"
#include "core/print.h"
#include "spread.h"

enum { FOLDER_KEY_BYTES = 12 };

/* ---- Words --------------------------------------------------------------------------------------- */

static bool is_left_out(const char *word, const char *const *names)
{
	const size_t n = strcspn(word, "=");

	NVW_INVARIANT(n >= 2);
	return text_is_one_of(word + 2, n - 2, names);
}

int spread_words(int argc, char **argv, const char *const *left_out, struct sweep_words *w)
{
	int r = 0;

	*w = (struct sweep_words){0};
	for (int i = 0; i < argc && r == 0; i++) {
		if (i == 0 || strncmp(argv[i], "--", 2) || !is_left_out(argv[i], left_out)) {
			r = sweep_words_add(w, "%s", argv[i]);
		} else if (!strchr(argv[i], '=') && !cli_is_flag(argv[0], argv[i] + 2)) {
			i++; /* its value */
		}
	}
	return r;
}

/* ---- Parts --------------------------------------------------------------------------------------- */

static int key_of(
	const struct sweep_words *command, const struct emu_config *machine, char key[SWEEP_KEY_BYTES])
{
	struct sweep_keys *const keys = sweep_keys_begin();

	if (!keys) {
		return NVW_E_SYSTEM; /* it said why */
	}
	const int r = sweep_key(keys, command, machine, key);

	sweep_keys_end(keys);
	return r;
}

int spread_begin(struct spread *s, const struct sweep_words *command, const struct emu_config *machine)
{
	NVW_INVARIANT(command->count > 0);

	char key[SWEEP_KEY_BYTES], name[64];

	*s = (struct spread){0};
	NVW_TRY(sweep_slurm_find());
	NVW_TRY(key_of(command, machine, key));
	const int n = NVW_PRINT(name, "%s-%.*s", command->word[0], FOLDER_KEY_BYTES, key);

	s->folder = slurm_folder(name, n);
	NVW_ALLOCATED(s->folder, "no memory for the parts of a job array");
	return 0;
}

int spread_add(struct spread *s, struct sweep_words *words)
{
	NVW_INVARIANT(words->count > 0);
	if (!NVW_ROOM(s->part, s->room, s->count + 1)) {
		sweep_words_end(words);
		return nvw_fail(NVW_E_MEMORY, "no memory for the parts of a job array");
	}
	struct spread_part *const p = &s->part[s->count++];

	*p = (struct spread_part){.words = *words};
	NVW_PRINT(p->key, "part-%u", s->count);
	return 0;
}

static bool part_is_done(const void *of, unsigned i)
{
	NVW_INVARIANT(i < ((const struct spread *)of)->count);
	return ((const struct spread *)of)->part[i].is_done;
}

static const char *part_key(const void *of, unsigned i)
{
	NVW_INVARIANT(i < ((const struct spread *)of)->count);
	return ((const struct spread *)of)->part[i].key;
}

static int part_words(const void *of, unsigned i, struct sweep_words *ret_words)
{
	const struct spread *const s = of;

	*ret_words = (struct sweep_words){0};
	NVW_EACH(word, s->part[i].words.word, s->part[i].words.count) {
		NVW_TRY(sweep_words_add(ret_words, "%s", *word));
	}
	return 0;
}

static int take_part(void *of, unsigned i, const struct sweep_outcome *o)
{
	struct spread_part *const p = &((struct spread *)of)->part[i];

	p->outcome = *o;
	p->outcome.out = strdup(o->out);
	p->outcome.err = strdup(o->err);
	p->is_done = true;
	NVW_FAIL_IF(
		!p->outcome.out || !p->outcome.err, NVW_E_MEMORY, "no memory for the parts of a job array");
	return 0;
}

static int give_up_part(void *of, unsigned i, const char *status, const char *reason)
{
	NVW_INVARIANT(i < ((const struct spread *)of)->count);
	return nvw_fail(NVW_E_SYSTEM, "--engine=slurm: part %u of %u: %s", i + 1,
		((struct spread *)of)->count, reason);
}

/* ---- All of them --------------------------------------------------------------------------------- */

/* The first line of its message, without "nvwave: ". */
static int check_part(const struct spread *s, unsigned i)
{
	const struct sweep_outcome *const o = &s->part[i].outcome;
	const char *const text = strncmp(o->err, "nvwave: ", 8) ? o->err : o->err + 8;

	NVW_INVARIANT(i < s->count);
	NVW_FAIL_IF(WIFSIGNALED(o->exit_status), NVW_E_SYSTEM, "--engine=slurm: part %u of %u: %s", i + 1,
		s->count, strsignal(WTERMSIG(o->exit_status)));
	if (WEXITSTATUS(o->exit_status) < 2) {
		return 0;
	}
	return nvw_fail(NVW_E_SYSTEM, "--engine=slurm: part %u of %u: %.*s", i + 1, s->count,
		(int)strcspn(text, "\n"), text);
}

int spread_run(struct spread *s, const struct cli_options *given, unsigned tasks)
{
	const struct sweep_manner manner = {.progress = isatty(STDERR_FILENO),
		.sbatch = cli_text(given, CLI_sbatch),
		.tasks = tasks,
		.queue_limit_ms = cli_number(given, CLI_queue_limit)};
	const struct slurm_work work = {.count = s->count,
		.folder = s->folder,
		.what = "parts",
		.of = s,
		.is_done = part_is_done,
		.key = part_key,
		.words = part_words,
		.take = take_part,
		.give_up = give_up_part};
	int r = slurm_run(&work, &manner);

	NVW_INVARIANT(tasks > 0);
	s->keeps_folder = r < 0; /* for the same command, or its messages */
	NVW_FAIL_IF(r == NVW_E_STOPPED, r, "%s; the same command goes on from there", nvw_error_message());
	for (unsigned i = 0; i < s->count && r == 0; i++) {
		r = check_part(s, i);
	}
	return r;
}

static void part_end(struct spread_part *part)
{
	sweep_words_end(&part->words);
	sweep_outcome_end(&part->outcome);
}

void spread_end(struct spread *s)
{
	if (s->folder && !s->keeps_folder) {
		slurm_remove(s->folder);
	}
	NVW_EACH(part, s->part, s->count) {
		part_end(part);
	}
	free(s->part);
	free(s->folder);
	*s = (struct spread){0};
}
