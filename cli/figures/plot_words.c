/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an axis of a sweep is called in a figure. The words are those of its description: of an option of the
 * table's workload, of a key of machine files, of an option of the command. Of the description counts what is
 * before its first stop, and only if the axis has numbers, or if the words go on from the name: "scope", "of
 * the persist barriers". See plot.h.
 */
#include <string.h>

#include <config/config.h>

#include "../options.h"
#include "../registry.h"
#include "plot.h"

enum { WORDS_MAX = 60 };

/* ---- Where axes are described -------------------------------------------------------------------- */

/* The only value of a column; NULL: there are several, or no such column. */
static const char *only_value(const struct plot_table *t, const char *column)
{
	const unsigned at = plot_column_named(t, column);

	if (at == t->columns ||
		NVW_ANY_BELOW(row, t->rows, strcmp(plot_field(t, row, at), plot_field(t, 0, at)) != 0)) {
		return NULL;
	}
	return plot_field(t, 0, at);
}

static const char *help_of_workload(const struct plot_table *t, const char *name)
{
	const char *const workload = only_value(t, "workload");
	const struct nvw_option *const o =
		workload ? nvw_workload_option(nvw_workload_find(workload), name) : NULL;

	return o ? o->help : NULL;
}

static const char *meaning_of_key(const char *name)
{
	struct emu_key key;

	for (unsigned i = 0; emu_config_key(i, &key); i++) {
		if (!strcmp(key.name, name)) {
			return key.meaning;
		}
	}
	return NULL;
}

/* Reports of crash tests have states. */
static const char *help_of_command(const struct plot_table *t, const char *name)
{
	const char *command = "run";

	NVW_EACH(field, t->field, t->columns) {
		if (!strcmp(*field, "states_tested")) {
			command = "crash";
		}
	}
	return cli_option_words(command, name);
}

/* ---- Words --------------------------------------------------------------------------------------- */

/* They go on from the name. */
static bool goes_on(const char *words)
{
	return !strncmp(words, "of ", 3) || !strncmp(words, "within ", 7);
}

/* Up to the first stop. 0: there are no words that could stand alone. */
static size_t words_of(const char *help, bool numbers)
{
	const size_t n = strcspn(help, ",;:([");

	if (n > WORDS_MAX || !n || (!numbers && !goes_on(help)) || !strncmp(help, "which ", 6)) {
		return 0;
	}
	return n - (help[n - 1] == ' ');
}

bool plot_words(const struct plot_table *t, const char *column, bool numbers, char text[PLOT_LABEL_BYTES])
{
	const char *help = help_of_workload(t, column);
	const char *between = " ";

	if (!help) {
		help = meaning_of_key(column);
		between = ": ";
	}
	if (!help) {
		help = help_of_command(t, column);
	}
	const size_t n = help ? words_of(help, numbers) : 0;

	if (!n) {
		return false;
	}
	if (goes_on(help)) {
		between = " ";
	}
	if (goes_on(help) || strchr(column, '.')) {
		snprintf(text, PLOT_LABEL_BYTES, "%s%s%.*s", column, between, (int)n, help);
	} else {
		snprintf(text, PLOT_LABEL_BYTES, "%.*s", (int)n, help);
	}
	return true;
}
