/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave list: tables of what nvwave has, as text or JSON. Every list is rows of named texts. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <crashtest/states/model.h>
#include <emu.h>

#include "commands.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "core/units.h"
#include "laboratory/sweep.h"
#include "report/numbers.h"
#include "options.h"
#include "report/run/protocol_tables.h"
#include "registry.h"
#include "session.h"
#include "report/words.h"

enum { COLUMNS = 4 };

struct table {
	const char *const *columns; /* NULL ends, unless there are COLUMNS */
	json_t *rows;
	const char *section; /* of keys; NULL: all */
};

static void add(struct table *t, const char *a, const char *b, const char *c, const char *d)
{
	const char *const texts[COLUMNS] = {a, b, c, d};
	json_t *const row = json_object();

	for (unsigned i = 0; i < COLUMNS && t->columns[i]; i++) {
		member_set_text(row, t->columns[i], texts[i]);
	}
	json_array_append_new(t->rows, row);
}

static void list_workloads(struct table *t)
{
	for (const struct cli_workload *w = cli_workloads(); w->workload; w++) {
		add(t, w->workload->name, basename(w->from), w->workload->summary, NULL);
	}
}

static void list_machines(struct table *t)
{
	for (const char *const *name = emu_machine_names(); *name; name++) {
		add(t, *name, NULL, NULL, NULL);
	}
}

static bool is_in_section(const char *key, const char *section)
{
	const size_t n = section ? strlen(section) : 0;

	return !section || (strncmp(key, section, n) == 0 && key[n] == '.');
}

static void list_keys(struct table *t)
{
	struct emu_key key;

	for (unsigned i = 0; emu_config_key(i, &key); i++) {
		if (is_in_section(key.name, t->section)) {
			add(t, key.name, key.value, key.meaning, NULL);
		}
	}
}

static void list_protocols(struct table *t)
{
	const char *name, *citation, *summary;

	for (unsigned i = 0; emu_protocol_info(i, &name, &citation, &summary); i++) {
		add(t, name, citation, summary, NULL);
	}
}

static json_t *last_row(const struct table *t)
{
	const size_t rows = json_array_size(t->rows);

	NVW_INVARIANT(rows > 0);
	return json_array_get(t->rows, rows - 1);
}

/* What a reader of JSON gets besides: the runs in which a mutation shows, and the cure that a report must ask
 * for. */
static void add_cure(const struct table *t, const struct nvw_workload *w, const struct nvw_mutation *m)
{
	json_t *const row = last_row(t);
	const char *lacks = "";

	for (const struct nvw_lack *l = w->lacks; l && l->mutation; l++) {
		if (strcmp(l->mutation, m->name) == 0) {
			lacks = l->lacks;
		}
	}
	member_set_text(row, "options", m->options ? m->options : words_or(w->trial, ""));
	member_set_text(row, "lacks", lacks);
}

static void list_mutations(struct table *t)
{
	for (const struct cli_workload *w = cli_workloads(); w->workload; w++) {
		for (const struct nvw_mutation *m = w->workload->mutations; m && m->name; m++) {
			add(t, w->workload->name, m->name, m->found_by, m->breaks);
			add_cure(t, w->workload, m);
		}
	}
}

/* The axioms by name; crashtest/states/model.h and the HTML report explain them. */
static void list_axioms(const struct ct_model_info *model, char *text, size_t bytes)
{
	const char *name;

	*text = 0;
	for (unsigned k = 0; ct_axiom_text(k, &name); k++) {
		if (model->axioms >> k & 1) {
			words_add(text, bytes, ", ", name);
		}
	}
}

static void list_models(struct table *t)
{
	NVW_FOR(i, CT_MODEL_COUNT) {
		const struct ct_model_info *const model = ct_model_info(i);
		char axioms[256];

		if (!model->replays) { /* which is mode observed */
			list_axioms(model, axioms, sizeof axioms);
			add(t, model->name, model->who, axioms, NULL);
		}
	}
}

static void add_stats(struct table *t, const char *before, const struct emu_stat_info *stats, unsigned count)
{
	NVW_EACH(stat, stats, count) {
		char name[64];

		NVW_PRINT(name, "%s%s", before, stat->name);
		add(t, name, stat->unit, stat->meaning, NULL);
	}
}

/* Lists the numbers of other reports and tables than nvwave run's. */
static void list_numbers(struct table *t)
{
	unsigned count;
	const struct cli_number *const numbers = cli_number_table(&count);

	NVW_EACH(number, numbers, count) {
		add(t, number->name, number->unit, number->meaning, NULL);
	}
}

static void list_stats(struct table *t)
{
	unsigned count, devices;
	const struct emu_stat_info *const stats = emu_stat_table(&count);
	const struct emu_stat_info *const of_devices = emu_device_stat_table(&devices);

	add_stats(t, "", stats, count);
	add_stats(t, "device.NAME.", of_devices, devices); /* of machines with more than two */
	list_numbers(t);
}

/* "workitem|workgroup|kernel", for readers of JSON. */
static void add_choices(const struct table *t, const struct nvw_option *o)
{
	char text[512] = "";

	for (unsigned i = 0; o->choices[i]; i++) {
		words_add(text, sizeof text, "|", o->choices[i]);
	}
	member_set_text(last_row(t), "choices", text);
}

static void list_options(struct table *t)
{
	for (const struct cli_workload *w = cli_workloads(); w->workload; w++) {
		for (const struct nvw_option *o = w->workload->options; o && o->name; o++) {
			add(t, w->workload->name, o->name, o->value, o->help);
			if (o->type == NVW_OPTION_CHOICE) {
				add_choices(t, o);
			}
		}
	}
}

/* Options of the commands that sweeps run. */
static void list_option_axes(struct table *t)
{
	static const char *const commands[] = {"run", "crash", "litmus", "torture"};
	json_t *const options = cli_options_json();

	JSON_EACH(option, options) {
		const char *const name = member_string(option, "name"), *const command = member_string(
										option, "command");

		NVW_EACH_IN(one, commands) {
			if (strcmp(command, *one) == 0 && sweep_can_vary(name)) {
				add(t, name, command, member_string(option, "help"), NULL);
			}
		}
	}
	json_decref(options);
}

static void list_axes(struct table *t)
{
	struct emu_key key;

	add(t, "workload", "run", "a workload (nvwave list workloads)", NULL);
	add(t, "workload", "crash", "a workload (nvwave list workloads)", NULL);
	add(t, "tests", "litmus", "litmus tests: a file or a folder", NULL);
	add(t, "model", "run", "persistency model of the machine", NULL);
	list_option_axes(t);
	for (const struct cli_workload *w = cli_workloads(); w->workload; w++) {
		for (const struct nvw_option *o = w->workload->options; o && o->name; o++) {
			add(t, o->name, w->workload->name, o->help, NULL);
		}
	}
	for (unsigned i = 0; emu_config_key(i, &key); i++) {
		add(t, key.name, "machine", key.meaning, NULL);
	}
}

static void list_command_options(struct table *t)
{
	json_decref(t->rows);
	t->rows = cli_options_json();
}

static const struct list {
	const char *name;
	void (*fill)(struct table *table);
	const char *columns[COLUMNS];
} lists[] = {
	{"workloads", list_workloads, {"name", "from", "summary"}},
	{"machines", list_machines, {"name"}},
	{"keys", list_keys, {"key", "default", "meaning"}},
	{"protocols", list_protocols, {"name", "source", "summary"}},
	{"mutations", list_mutations, {"workload", "name", "found_by", "breaks"}},
	{"models", list_models, {"name", "source", "axioms"}},
	{"stats", list_stats, {"name", "unit", "meaning"}},
	{"options", list_options, {"workload", "name", "default", "meaning"}},
	{"axes", list_axes, {"axis", "of", "meaning"}},
	{"command-options", list_command_options, {"command", "name", "default", "help"}},
};

enum { LISTS = NVW_COUNT(lists) };

static unsigned columns_of(const struct table *t)
{
	unsigned n = 0;

	while (n < COLUMNS && t->columns[n]) {
		n++;
	}
	return n;
}

static int widest(const struct table *t, const char *column)
{
	int width = 0;

	JSON_EACH(row, t->rows) {
		width = (int)nvw_max((uint64_t)width, strlen(member_string(row, column)));
	}
	return width;
}

static void print_table(const struct table *t)
{
	const unsigned last = columns_of(t) - 1;
	int width[COLUMNS];

	NVW_INVARIANT(last < COLUMNS);
	NVW_FOR(c, last) {
		width[c] = widest(t, t->columns[c]);
	}
	JSON_EACH(row, t->rows) {
		NVW_FOR(c, last) {
			printf("%-*s  ", width[c], member_string(row, t->columns[c]));
		}
		puts(member_string(row, t->columns[last]));
	}
}

/* section: of keys, or NULL. */
static void print_rows(const struct table *t, bool json)
{
	if (json) {
		json_dumpf(t->rows, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		print_table(t);
	}
}

static int print_list(const struct list *list, const char *section, bool json)
{
	struct table t = {.columns = list->columns, .rows = json_array(), .section = section};

	list->fill(&t);
	const bool is_empty = json_array_size(t.rows) == 0 && section;

	if (!is_empty) {
		print_rows(&t, json);
	}
	json_decref(t.rows);
	NVW_FAIL_IF(
		is_empty, NVW_E_USAGE, "machine files have no section \"%s\"; see nvwave list keys", section);
	return cli_flush();
}

static int find_list(const char *what, const struct list **ret_list)
{
	const char *names[LISTS + 1] = {NULL};

	NVW_FOR(i, LISTS) {
		names[i] = lists[i].name;
		if (strcmp(what, names[i]) == 0) {
			*ret_list = &lists[i];
			return 0;
		}
	}
	return nvw_fail(
		NVW_E_USAGE, "there is no list \"%s\"%s", what, DID_YOU_MEAN(nvw_nearest(what, names), ""));
}

static int list(struct cli_options *o)
{
	const struct list *list;

	if (o->argument_count == 2 && !strcmp(o->argument[0], "protocols")) {
		return protocol_tables_print(o->argument[1], cli_json(o));
	}
	NVW_FAIL_IF(o->argument_count == 0, NVW_E_USAGE,
		"list: expected one of workloads, machines, keys, protocols, "
		"mutations, models, stats, options, axes, command-options");
	const bool of_section = o->argument_count == 2 && !strcmp(o->argument[0], "keys");

	NVW_TRY(cli_options_at_most(o, of_section ? 2 : 1));
	NVW_TRY(find_list(o->argument[0], &list));
	return print_list(list, of_section ? o->argument[1] : NULL, cli_json(o));
}

const struct cli_command cmd_list = {.main = cli_run_command,
	.help = "nvwave list "
		"workloads|machines|keys|protocols|mutations|models|stats|options|axes|"
		"command-options "
		"[options]\n"
		"nvwave list keys SECTION [options]\n"
		"nvwave list protocols NAME [options]\n\n"
		"Lists what there is: keys are those of machine files, by section; options are those "
		"of workloads, axes what a sweep can vary, command-options those of the commands.\n"
		"With the name of a protocol, prints its tables: instructions, and the states of "
		"lines in L1s and L2.\n",
	.run = list};
