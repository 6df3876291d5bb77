/* SPDX-License-Identifier: BSD-3-Clause */
/* Every point is checked as its command would check it, before anything runs. */
#include <stdlib.h>
#include <string.h>

#include "../examine.h"
#include "sweep.h"

static int examine(const char *command, struct sweep_words *w, struct emu_config *config, bool *ret_machine)
{
	*ret_machine = !strcmp(command, "run") || !strcmp(command, "crash");
	return !strcmp(command, "run")    ? cli_examine_run(w->count, w->word, config) :
	       !strcmp(command, "crash")  ? cli_examine_crash(w->count, w->word, config) :
	       !strcmp(command, "litmus") ? cli_examine_litmus(w->count, w->word) :
					    cli_examine_torture(w->count, w->word);
}

static int check_point(struct sweep_keys *c, const struct sweep *s, struct sweep_point *p)
{
	struct sweep_words words;
	struct emu_config config;
	bool has_machine;
	int r = sweep_words(s, p, &words);
	char *const text = r ? NULL : sweep_point_text(s, p);

	if (r == 0) {
		r = examine(s->command, &words, &config, &has_machine);
		r = r ? nvw_fail(r, "%s: point %s: %s", s->where, text ? text : "", nvw_error_message()) : 0;
	}
	r = r ? r : sweep_key(c, &words, has_machine ? &config : NULL, p->key);
	free(text);
	sweep_words_end(&words);
	return r;
}

/* An axis, or what a value of one stands for. */
static bool has_setting(const struct sweep *s, const char *name)
{
	bool found = sweep_axis_named(s, name) >= 0;

	for (unsigned i = 0; i < s->bundle_count; i++) {
		for (unsigned k = 0; k < s->bundle[i].count; k++) {
			found = found || !strcmp(s->bundle[i].name[k], name);
		}
	}
	return found;
}

static int check_command(const struct sweep *s)
{
	if (strcmp(s->command, "run") && strcmp(s->command, "crash") && strcmp(s->command, "litmus") &&
		strcmp(s->command, "torture")) {
		return nvw_fail(NVW_E_USAGE,
			"%s: command: expected run, crash, litmus or torture, found \"%s\"", s->where,
			s->command);
	}
	if ((!strcmp(s->command, "run") || !strcmp(s->command, "crash")) && !has_setting(s, "workload")) {
		return nvw_fail(
			NVW_E_USAGE, "%s: expected an axis workload (see nvwave list workloads)", s->where);
	}
	if (!strcmp(s->command, "litmus") && !has_setting(s, "tests")) {
		return nvw_fail(NVW_E_USAGE, "%s: expected an axis tests: .litmus files or folders of them",
			s->where);
	}
	return 0;
}

int sweep_check(struct sweep *s)
{
	int r = check_command(s);
	struct sweep_keys *const keys = r ? NULL : sweep_keys_begin();

	r = r || keys ? r : NVW_E_SYSTEM; /* it said why */
	for (unsigned i = 0; i < s->count && r == 0; i++) {
		r = check_point(keys, s, &s->point[i]);
	}
	sweep_keys_end(keys);
	return r;
}
