/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave list: tables of what nvwave has, as text or JSON. Every list is rows of named texts. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <crashtest/states/model.h>
#include <emu.h>

#include "commands.h"
#include "core/units.h"
#include "report/numbers.h"
#include "options.h"
#include "report/protocol_tables.h"
#include "registry.h"
#include "session.h"

enum { COLUMNS = 4 };

struct table {
	const char *columns[COLUMNS]; /* NULL ends */
	json_t *rows;
	const char *section; /* of keys; NULL: all */
};

static void add(struct table *t, const char *a, const char *b, const char *c, const char *d)
{
	const char *const texts[COLUMNS] = {a, b, c, d};
	json_t *const row = json_object();

	for (unsigned i = 0; i < COLUMNS && t->columns[i]; i++) {
		json_object_set_new(row, t->columns[i], json_string(texts[i]));
	}
	json_array_append_new(t->rows, row);
}

static void list_workloads(struct table *t)
{
	t->columns[0] = "name";
	t->columns[1] = "from";
	t->columns[2] = "summary";
	for (const struct cli_workload *w = cli_workloads(); w->workload; w++) {
		const char *const slash = strrchr(w->from, '/');

		add(t, w->workload->name, slash ? slash + 1 : w->from, w->workload->summary, NULL);
	}
}

static void list_machines(struct table *t)
{
	t->columns[0] = "name";
	for (const char *const *name = emu_machine_names(); *name; name++) {
		add(t, *name, NULL, NULL, NULL);
	}
}

static bool is_in_section(const char *key, const char *section)
{
	const size_t n = section ? strlen(section) : 0;

	return section == NULL || (strncmp(key, section, n) == 0 && key[n] == '.');
}

static void list_keys(struct table *t)
{
	struct emu_key key;

	t->columns[0] = "key";
	t->columns[1] = "default";
	t->columns[2] = "meaning";
	for (unsigned i = 0; emu_config_key(i, &key); i++) {
		if (is_in_section(key.name, t->section)) {
			add(t, key.name, key.value, key.meaning, NULL);
		}
	}
}

static void list_protocols(struct table *t)
{
	const char *name, *citation, *summary;

	t->columns[0] = "name";
	t->columns[1] = "source";
	t->columns[2] = "summary";
	for (unsigned i = 0; emu_protocol_info(i, &name, &citation, &summary); i++) {
		add(t, name, citation, summary, NULL);
	}
}

/* What a reader of JSON gets besides: the runs in which a mutation shows, and the cure that a report must ask for. */
static void add_cure(const struct table *t, const struct nvw_workload *w, const struct nvw_mutation *m)
{
	json_t *const row = json_array_get(t->rows, json_array_size(t->rows) - 1);
	const char *lacks = "";

	for (const struct nvw_lack *l = w->lacks; l && l->mutation; l++) {
		lacks = strcmp(l->mutation, m->name) == 0 ? l->lacks : lacks;
	}
	json_object_set_new(row, "options", json_string(m->options ? m->options : w->trial ? w->trial : ""));
	json_object_set_new(row, "lacks", json_string(lacks));
}

static void list_mutations(struct table *t)
{
	t->columns[0] = "workload";
	t->columns[1] = "name";
	t->columns[2] = "found_by";
	t->columns[3] = "breaks";
	for (const struct cli_workload *w = cli_workloads(); w->workload; w++) {
		for (const struct nvw_mutation *m = w->workload->mutations; m && m->name; m++) {
			add(t, w->workload->name, m->name, m->found_by, m->breaks);
			add_cure(t, w->workload, m);
		}
	}
}

/* The axioms by name; crashtest/states/model.h and the HTML report explain them. */
static void list_models(struct table *t)
{
	t->columns[0] = "name";
	t->columns[1] = "source";
	t->columns[2] = "axioms";
	for (enum ct_model i = 0; i < CT_MODEL_COUNT; i++) {
		const struct ct_model_info *const model = ct_model_info(i);
		const char *name;
		char axioms[256] = "";

		if (model->replays) {
			continue; /* mode observed */
		}

		for (unsigned k = 0; ct_axiom_text(k, &name); k++) {
			if (model->axioms >> k & 1) {
				snprintf(axioms + strlen(axioms), sizeof axioms - strlen(axioms), "%s%s",
					*axioms ? ", " : "", name);
			}
		}
		add(t, model->name, model->who, axioms, NULL);
	}
}

/* Printed for machines with more than two devices. */
static void list_device_stats(struct table *t)
{
	unsigned count;
	const struct emu_stat_info *const stats = emu_device_stat_table(&count);

	for (unsigned i = 0; i < count; i++) {
		char name[64];

		snprintf(name, sizeof name, "device.NAME.%s", stats[i].name);
		add(t, name, stats[i].unit, stats[i].meaning, NULL);
	}
}

/* Of other reports and tables than nvwave run's. */
static void list_numbers(struct table *t)
{
	unsigned count;
	const struct cli_number *const numbers = cli_number_table(&count);

	for (unsigned i = 0; i < count; i++) {
		add(t, numbers[i].name, numbers[i].unit, numbers[i].meaning, NULL);
	}
}

static void list_stats(struct table *t)
{
	unsigned count;
	const struct emu_stat_info *const stats = emu_stat_table(&count);

	t->columns[0] = "name";
	t->columns[1] = "unit";
	t->columns[2] = "meaning";
	for (unsigned i = 0; i < count; i++) {
		add(t, stats[i].name, stats[i].unit, stats[i].meaning, NULL);
	}
	list_device_stats(t);
	list_numbers(t);
}

static void list_options(struct table *t)
{
	t->columns[0] = "workload";
	t->columns[1] = "name";
	t->columns[2] = "default";
	t->columns[3] = "meaning";
	for (const struct cli_workload *w = cli_workloads(); w->workload; w++) {
		for (const struct nvw_option *o = w->workload->options; o && o->name; o++) {
			add(t, w->workload->name, o->name, o->value, o->help);
		}
	}
}

static void list_command_options(struct table *t)
{
	t->columns[0] = "command";
	t->columns[1] = "name";
	t->columns[2] = "default";
	t->columns[3] = "help";
	json_decref(t->rows);
	t->rows = cli_options_json();
}

static const struct {
	const char *name;
	void (*fill)(struct table *table);
} lists[] = {
	{"workloads", list_workloads},
	{"machines", list_machines},
	{"keys", list_keys},
	{"protocols", list_protocols},
	{"mutations", list_mutations},
	{"models", list_models},
	{"stats", list_stats},
	{"options", list_options},
	{"command-options", list_command_options},
};

enum { LISTS = sizeof lists / sizeof *lists };

static const char *cell(const json_t *row, const char *column)
{
	return json_string_value(json_object_get(row, column));
}

static void print(const struct table *t)
{
	int width[COLUMNS] = {0};
	size_t i;
	json_t *row;

	json_array_foreach(t->rows, i, row)
	{
		for (unsigned c = 0; c < COLUMNS && t->columns[c]; c++) {
			const int n = (int)strlen(cell(row, t->columns[c]));

			width[c] = n > width[c] ? n : width[c];
		}
	}
	json_array_foreach(t->rows, i, row)
	{
		for (unsigned c = 0; c < COLUMNS && t->columns[c]; c++) {
			const bool last = c + 1 == COLUMNS || !t->columns[c + 1];

			printf("%-*s%s", last ? 0 : width[c], cell(row, t->columns[c]), last ? "\n" : "  ");
		}
	}
}

/* section: of keys, or NULL. */
static int list(const char *what, const char *section, bool json)
{
	const char *names[LISTS + 1] = {NULL}, *near;

	for (unsigned i = 0; i < LISTS; i++) {
		struct table t = {.rows = json_array(), .section = section};

		names[i] = lists[i].name;
		if (strcmp(what, lists[i].name)) {
			json_decref(t.rows);
			continue;
		}
		lists[i].fill(&t);
		if (json_array_size(t.rows) == 0 && section) {
			json_decref(t.rows);
			return nvw_fail(NVW_E_USAGE,
				"machine files have no section \"%s\"; see nvwave list keys", section);
		}
		if (json) {
			json_dumpf(t.rows, stdout, JSON_INDENT(2));
			putchar('\n');
		} else {
			print(&t);
		}
		json_decref(t.rows);
		return fflush(stdout) == 0 ? 0 : nvw_fail_errno("cannot write the list");
	}
	near = nvw_nearest(what, names);
	return nvw_fail(NVW_E_USAGE, "there is no list \"%s\"%s%s%s", what, near ? "; did you mean " : "",
		near ? near : "", near ? "?" : "");
}

int cmd_list(int argc, char **argv)
{
	struct cli_options o;
	int r = cli_options_parse(&o, false, argc, argv);

	if (r == 0 && cli_given(&o, CLI_help)) {
		puts("nvwave list workloads|machines|keys|protocols|mutations|models|stats|options|command-options [options]\n"
		     "nvwave list keys SECTION [options]\n"
		     "nvwave list protocols NAME [options]\n\n"
		     "Lists what there is: keys are those of machine files, by section; options are those of workloads, command-options those of the commands.\n"
		     "With the name of a protocol, prints its tables: instructions, and the states of lines in L1s and L2.\n");
		cli_options_help("list");
	} else if (r == 0 && o.argument_count == 2 && !strcmp(o.argument[0], "protocols")) {
		r = protocol_tables_print(o.argument[1], cli_json(&o));
	} else if (r == 0 && o.argument_count == 2 && !strcmp(o.argument[0], "keys")) {
		r = list("keys", o.argument[1], cli_json(&o));
	} else if (r == 0 && o.argument_count != 1) {
		r = o.argument_count ?
			    cli_options_surplus(&o, o.argument[1]) :
			    nvw_fail(NVW_E_USAGE,
				    "list: expected one of workloads, machines, keys, protocols, mutations, models, stats, options, command-options");
	} else if (r == 0) {
		r = list(o.argument[0], NULL, cli_json(&o));
	}
	cli_options_end(&o);
	return r < 0 ? cli_fail() : STATUS_CLEAN;
}
