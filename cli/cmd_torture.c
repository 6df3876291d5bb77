/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave torture: random programs without data races under coherence protocols, and faults planted in the protocols. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <litmus/torture.h>

#include "commands.h"
#include "core/stop.h"
#include "core/units.h"
#include "examine.h"
#include "report/provenance.h"
#include "session.h"
#include "laboratory/spread.h"

enum { PROGRAMS = 200, FAULT_PROGRAMS = 100, TASKS = 100 };

struct torture_command {
	struct torture_options options;
	unsigned setting_count;
	bool json, faults, each;
	json_t *report; /* one row per run */
	bool failed, stopped;
	/* On a cluster: the runs are gone through twice, first to list their parts, then with what the parts found. */
	enum { HERE, LIST, COLLECT } on;
	struct spread spread;
	unsigned parts; /* of each run */
	unsigned next;  /* part to collect */
};

static void print_help(void)
{
	puts("nvwave torture [options]\n\n"
	     "Runs random programs without data races and compares every load with the one right value.\n");
	cli_options_help("torture");
}

/* ---- The command line ---------------------------------------------------------------------- */

static int take_protocol(struct torture_command *c, const char *value)
{
	const char *name, *citation, *summary;

	c->each = !strcmp(value, "each");
	c->options.protocol = value;
	for (unsigned i = 0; emu_protocol_info(i, &name, &citation, &summary); i++) {
		if (c->each || !strcmp(name, value)) {
			return 0;
		}
	}
	return nvw_fail(NVW_E_USAGE,
		"--protocol: there is no coherence protocol \"%s\"; see nvwave list protocols", value);
}

static int parse(struct torture_command *c, const struct cli_options *o)
{
	const char *const protocol = cli_text(o, CLI_torture_protocol);
	int r = take_protocol(c, protocol ? protocol : "each");

	c->json = cli_json(o);
	c->faults = cli_given(o, CLI_faults);
	c->options.seed = cli_number(o, CLI_seed);
	c->options.seconds = o->value[CLI_seconds].real;
	c->options.fault = cli_text(o, CLI_fault);
	c->options.shrink = !c->faults && cli_number(o, CLI_shrink) == 0;
	c->options.settings = o->setting; /* NULL-terminated */
	c->setting_count = o->setting_count;
	c->options.programs = cli_given(o, CLI_programs) ? cli_number(o, CLI_programs) :
			      c->faults                  ? FAULT_PROGRAMS :
			      c->options.seconds > 0     ? 0 :
							   PROGRAMS;
	if (r == 0 && o->argument_count) {
		r = cli_options_surplus(o, o->argument[0]);
	}
	const bool is_local = cli_number(o, CLI_engine) == SWEEP_LOCAL;

	r = r ? r :
		cli_options_check_use(o, (c->faults ? UINT64_C(1) << CLI_AT_FAULTS : 0) |
						 UINT64_C(1) << (is_local ? CLI_AT_LOCAL : CLI_AT_SLURM));
	return r || is_local || c->options.programs ?
		       r :
		       nvw_fail(NVW_E_USAGE,
			       "--programs: with --engine=slurm expected a number from 1, found 0");
}

/* ---- Programs ------------------------------------------------------------------------------ */

static void print_repetition(const struct torture_command *c, const struct torture_result *result)
{
	printf("  repeat: nvwave torture --protocol=%s --seed=%llu --programs=1", c->options.protocol,
		(unsigned long long)result->seed);
	for (unsigned i = 0; i < c->setting_count; i++) {
		fputs(" --set=", stdout);
		cli_print_quoted(c->options.settings[i], stdout);
	}
	if (c->options.fault) {
		fputs(" --fault=", stdout);
		cli_print_quoted(c->options.fault, stdout);
	}
	putchar('\n');
}

static void print_result(const struct torture_command *c, const struct torture_result *result)
{
	printf("%-11s  %llu programs, %llu operations: %s\n", c->options.protocol,
		(unsigned long long)result->programs, (unsigned long long)result->work.operations,
		result->failed ? "FAILED" :
		c->stopped     ? "UNDECIDED, interrupted; every load so far was right" :
				 "every load was right");
	if (result->failed) {
		printf("  seed %llu: %s\n", (unsigned long long)result->seed, result->text);
		print_repetition(c, result);
	}
	if (result->failed && *result->listing) {
		printf("  of its %u steps %u are enough:\n%s", result->steps, result->steps_left,
			result->listing);
	}
	fflush(stdout);
}

/* Of loads, by line; null if there was none. */
static void set_hit_rate(json_t *row, const char *name, uint64_t hits, uint64_t misses)
{
	const double all = (double)hits + (double)misses;

	json_object_set_new(row, name, all > 0 ? json_real((double)hits / all) : json_null());
}

static json_t *describe(const struct torture_command *c, const struct torture_result *result)
{
	json_t *const row = json_pack("{s:s, s:I, s:I, s:b, s:b}", "protocol", c->options.protocol,
		"programs", (json_int_t)result->programs, "operations", (json_int_t)result->work.operations,
		"failed", result->failed, "interrupted", c->stopped);

	json_object_set_new(row, "cpu_seconds", json_real(result->cpu_seconds));
	json_object_set_new(row, "l1_hits", json_integer((json_int_t)result->work.l1_hits));
	json_object_set_new(row, "l1_misses", json_integer((json_int_t)result->work.l1_misses));
	json_object_set_new(row, "l2_hits", json_integer((json_int_t)result->work.l2_hits));
	json_object_set_new(row, "l2_misses", json_integer((json_int_t)result->work.l2_misses));
	set_hit_rate(row, "l1_hit_rate", result->work.l1_hits, result->work.l1_misses);
	set_hit_rate(row, "l2_hit_rate", result->work.l2_hits, result->work.l2_misses);
	json_object_set_new(row, "made_by", cli_provenance(NULL, NULL));
	if (c->options.fault) {
		json_object_set_new(row, "fault", json_string(c->options.fault));
	}
	if (result->failed) {
		json_object_set_new(row, "seed", json_integer((json_int_t)result->seed));
		json_object_set_new(row, "what", json_string(result->text));
	}
	if (result->failed && *result->listing) {
		json_object_set_new(row, "steps", json_integer(result->steps));
		json_object_set_new(row, "steps_left", json_integer(result->steps_left));
		json_object_set_new(row, "program", json_string(result->listing));
	}
	return row;
}

/* ---- On a cluster -------------------------------------------------------------------------- */

/* Program i of a run is that of seed + i: a part is a run of some of them. */
static uint64_t first_of(uint64_t programs, unsigned part, unsigned parts)
{
	return programs / parts * part + programs % parts * part / parts;
}

static unsigned parts_of_run(const struct torture_command *c)
{
	return c->faults ? 1 : c->options.programs < c->parts ? (unsigned)c->options.programs : c->parts;
}

static int add_part(struct torture_command *c, uint64_t first, uint64_t programs)
{
	struct sweep_words w = {.count = 0};
	int r = spread_add_word(&w, "torture");

	r = r ? r : spread_add_word(&w, "--output-format=json");
	r = r ? r : spread_add_word(&w, "--protocol=%s", c->options.protocol);
	r = r ? r : spread_add_word(&w, "--seed=%llu", (unsigned long long)(c->options.seed + first));
	r = r ? r : spread_add_word(&w, "--programs=%llu", (unsigned long long)programs);
	for (unsigned i = 0; i < c->setting_count && r == 0; i++) {
		r = spread_add_word(&w, "--set=%s", c->options.settings[i]);
	}
	r = r || !c->options.fault ? r : spread_add_word(&w, "--fault=%s", c->options.fault);
	r = r || c->options.shrink ? r : spread_add_word(&w, "--shrink=off");
	if (r) {
		sweep_words_end(&w);
	}
	return r ? r : spread_add(&c->spread, &w);
}

static int list_parts(struct torture_command *c)
{
	const unsigned parts = parts_of_run(c);
	int r = 0;

	for (unsigned i = 0; i < parts && r == 0; i++) {
		const uint64_t first = first_of(c->options.programs, i, parts);

		r = add_part(c, first, first_of(c->options.programs, i + 1, parts) - first);
	}
	return r;
}

static uint64_t count_of(const json_t *row, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(row, name));
}

static void copy_text(const json_t *row, const char *name, char *ret_text, size_t bytes)
{
	const char *const text = json_string_value(json_object_get(row, name));

	snprintf(ret_text, bytes, "%s", text ? text : "");
}

/* As torture_run() would have gone on with the programs of this row. */
static void add_row(struct torture_result *to, const json_t *row)
{
	to->programs += count_of(row, "programs");
	to->work.operations += count_of(row, "operations");
	to->work.l1_hits += count_of(row, "l1_hits");
	to->work.l1_misses += count_of(row, "l1_misses");
	to->work.l2_hits += count_of(row, "l2_hits");
	to->work.l2_misses += count_of(row, "l2_misses");
	to->cpu_seconds += json_real_value(json_object_get(row, "cpu_seconds"));
	to->failed = json_is_true(json_object_get(row, "failed"));
	to->seed = count_of(row, "seed");
	to->steps = (unsigned)count_of(row, "steps");
	to->steps_left = (unsigned)count_of(row, "steps_left");
	copy_text(row, "what", to->text, sizeof to->text);
	copy_text(row, "program", to->listing, sizeof to->listing);
}

/* The programs end with the first that fails: what later parts did does not count. */
static int collect_parts(struct torture_command *c, struct torture_result *ret_result)
{
	const unsigned parts = parts_of_run(c);
	int r = 0;

	*ret_result = (struct torture_result){.programs = 0};
	for (unsigned i = 0; i < parts && r == 0; i++) {
		const unsigned at = c->next++;
		json_t *const report = json_loads(c->spread.part[at].outcome.out, 0, NULL);
		const json_t *const row = json_array_get(report, 0);

		if (!row) {
			r = nvw_fail(NVW_E_SYSTEM, "--engine=slurm: part %u of %u has no report", at + 1,
				c->spread.count);
		} else if (!ret_result->failed) {
			add_row(ret_result, row);
		}
		json_decref(report);
	}
	return r;
}

static int make_result(struct torture_command *c, struct torture_result *ret_result)
{
	return c->on == LIST    ? list_parts(c) :
	       c->on == COLLECT ? collect_parts(c, ret_result) :
				  torture_run(&c->options, ret_result);
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static int run_programs(struct torture_command *c)
{
	static struct torture_result result;
	int r;

	r = make_result(c, &result);
	c->stopped = r == NVW_E_STOPPED;
	if (c->on == LIST || (r < 0 && !c->stopped)) {
		return r;
	}
	c->failed = c->failed || result.failed;
	if (c->json) {
		json_array_append_new(c->report, describe(c, &result));
	} else {
		print_result(c, &result);
	}
	return r;
}

/* ---- Faults -------------------------------------------------------------------------------- */

static void print_fault(
	const struct torture_command *c, const struct torture_result *result, const char *unnoticed)
{
	printf("%-11s  %-48s  ", c->options.protocol, c->options.fault);
	if (result->failed) {
		printf("found after %llu: %s\n", (unsigned long long)result->programs, result->text);
	} else {
		printf("survived %llu%s%s\n", (unsigned long long)result->programs,
			unnoticed ? ": " : ", WHICH IT SHOULD NOT", unnoticed ? unnoticed : "");
	}
	fflush(stdout);
}

/* Leaves out every action of the protocol's tables. A fault that is not found must be in the list of
 * undetectable ones. */
static int run_faults(struct torture_command *c)
{
	static struct torture_result result;
	unsigned found = 0;
	int r = 0;

	for (unsigned i = 0; r == 0 && (c->options.fault = emu_protocol_action(c->options.protocol, i));
		i++) {
		const char *const unnoticed = torture_unnoticed(c->options.protocol, c->options.fault);

		r = make_result(c, &result);
		if (r < 0) {
			break;
		}
		if (c->on == LIST) {
			continue;
		}
		found += result.failed;
		c->failed = c->failed || (!result.failed && !unnoticed);
		if (c->json) {
			json_t *const row = describe(c, &result);

			json_object_set_new(
				row, "unnoticed", unnoticed ? json_string(unnoticed) : json_null());
			json_array_append_new(c->report, row);
		} else {
			print_fault(c, &result, unnoticed);
		}
	}
	c->options.fault = NULL;
	if (c->on == LIST) {
		return r;
	}
	c->stopped = r == NVW_E_STOPPED;
	c->failed = c->failed || (!found && !c->stopped);
	if (c->stopped && !c->json) {
		printf("%-11s  UNDECIDED, interrupted\n", c->options.protocol);
	}
	return r;
}

/* ---- The command --------------------------------------------------------------------------- */

static int run(struct torture_command *c)
{
	int (*const of_protocol)(struct torture_command *) = c->faults ? run_faults : run_programs;
	const char *name, *citation, *summary;
	int r = 0;

	if (!c->each) {
		return of_protocol(c);
	}
	for (unsigned i = 0; r == 0 && emu_protocol_info(i, &name, &citation, &summary); i++) {
		c->options.protocol = name;
		r = of_protocol(c);
	}
	return r;
}

static unsigned protocols(const struct torture_command *c)
{
	const char *name, *citation, *summary;
	unsigned n = 0;

	while (c->each && emu_protocol_info(n, &name, &citation, &summary)) {
		n++;
	}
	return c->each ? n : 1;
}

static int run_on_cluster(struct torture_command *c, const struct cli_options *o, int argc, char **argv)
{
	static const char *const left_out[] = {
		"engine", "sbatch", "output-format", NULL}; /* --array divides */
	const unsigned tasks = cli_given(o, CLI_array) ? (unsigned)cli_number(o, CLI_array) : TASKS;
	struct sweep_words words;
	int r = sweep_slurm_find();

	r = r ? r : spread_words(argc, argv, left_out, &words);
	if (r) {
		return r;
	}
	c->parts = (tasks + protocols(c) - 1) / protocols(c);
	r = spread_begin(&c->spread, &words, NULL);
	sweep_words_end(&words);
	c->on = LIST;
	r = r ? r : run(c);
	c->on = COLLECT;
	r = r ? r : spread_run(&c->spread, o, tasks);
	return r ? r : run(c);
}

int cli_examine_torture(int argc, char **argv)
{
	struct torture_command c = {0};
	struct cli_options given;
	int r = cli_options_parse(&given, false, argc, argv);

	r = r ? r : parse(&c, &given);
	cli_options_end(&given);
	return r;
}

int cmd_torture(int argc, char **argv)
{
	struct torture_command c = {0};
	struct cli_options given;
	int r = cli_options_parse(&given, false, argc, argv);

	if (r == 0 && cli_given(&given, CLI_help)) {
		print_help();
		cli_options_end(&given);
		return STATUS_CLEAN;
	}
	r = r ? r : parse(&c, &given);
	c.report = json_array();
	r = r                                             ? r :
	    cli_number(&given, CLI_engine) == SWEEP_SLURM ? run_on_cluster(&c, &given, argc, argv) :
							    run(&c);
	spread_end(&c.spread);
	nvw_stop_reporting();
	r = c.stopped ? 0 : r;
	json_t *const made_by = cli_provenance(NULL, NULL);

	if (r == 0 && !c.json) {
		cli_print_provenance(made_by, stdout);
	}
	json_decref(made_by);
	if (r == 0 && c.json) {
		json_dumpf(c.report, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(c.report);
	cli_options_end(&given);
	if (r == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
		r = nvw_fail_errno("cannot write the report");
	}
	return r < 0 ? cli_fail() : c.failed ? STATUS_INCONSISTENT : c.stopped ? STATUS_INPUT : STATUS_CLEAN;
}
