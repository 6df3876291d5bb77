/* SPDX-License-Identifier: BSD-3-Clause */
/* Every point is checked as its command would check it, before anything runs. */
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"

#include "../examine.h"
#include "sweep.h"
#include "report/words.h"

static const struct kind {
	const char *command;
	int (*with_machine)(int argc, char **argv, struct emu_config *config);
	int (*without)(int argc, char **argv);
	const char *argument, *expected; /* an axis that it needs; NULL: none */
} kinds[] = {
	{"run", cli_examine_run, NULL, "workload", "workload (see nvwave list workloads)"},
	{"crash", cli_examine_crash, NULL, "workload", "workload (see nvwave list workloads)"},
	{"litmus", NULL, cli_examine_litmus, "tests", "tests: .litmus files or folders of them"},
	{"torture", NULL, cli_examine_torture, NULL, NULL},
};

/* NULL: points cannot be of this command. */
static const struct kind *kind_of(const char *command)
{
	return NVW_FIND(kind, kinds, NVW_COUNT(kinds), !strcmp(command, kind->command));
}

static int examine(const struct kind *k, struct sweep_words *w, struct emu_config *config)
{
	NVW_INVARIANT(k->with_machine || k->without);
	if (k->with_machine) {
		return k->with_machine(w->count, w->word, config);
	}
	return k->without(w->count, w->word);
}

static int check_words(
	struct sweep_keys *c, const struct sweep *s, struct sweep_point *p, struct sweep_words *words)
{
	const struct kind *const kind = kind_of(s->command);
	struct emu_config config;
	const int r = examine(kind, words, &config);

	if (r) {
		char *const text = sweep_point_text(s, p);

		nvw_fail(r, "%s: point %s: %s", s->where, words_or(text, ""), nvw_error_message());
		free(text);
		return r;
	}
	return sweep_key(c, words, kind->with_machine ? &config : NULL, p->key);
}

static int check_point(struct sweep_keys *c, const struct sweep *s, struct sweep_point *p)
{
	struct sweep_words words;
	int r = sweep_words(s, p, &words);

	if (r == 0) {
		r = check_words(c, s, p, &words);
	}
	sweep_words_end(&words);
	return r;
}

/* An axis, or what a value of one stands for. */
static bool has_setting(const struct sweep *s, const char *name)
{
	NVW_EACH(bundle, s->bundle, s->bundle_count) {
		NVW_EACH(one, bundle->name, bundle->count) {
			if (!strcmp(*one, name)) {
				return true;
			}
		}
	}
	return sweep_axis_named(s, name) >= 0;
}

static int check_command(const struct sweep *s)
{
	const struct kind *const kind = kind_of(s->command);

	NVW_FAIL_IF(!kind, NVW_E_USAGE, "%s: command: expected run, crash, litmus or torture, found \"%s\"",
		s->where, s->command);
	NVW_FAIL_IF(kind->argument && !has_setting(s, kind->argument), NVW_E_USAGE, "%s: expected an axis %s",
		s->where, kind->expected);
	return 0;
}

static int check_points(struct sweep_keys *keys, struct sweep *s)
{
	NVW_EACH(point, s->point, s->count) {
		NVW_TRY(check_point(keys, s, point));
	}
	return 0;
}

int sweep_check(struct sweep *s)
{
	NVW_TRY(check_command(s));
	NVW_TRY(sweep_check_metrics(s));
	struct sweep_keys *const keys = sweep_keys_begin();

	if (!keys) {
		return NVW_E_SYSTEM; /* it said why */
	}
	const int r = check_points(keys, s);

	sweep_keys_end(keys);
	return r;
}
