/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave torture: random programs without data races under coherence protocols, and faults planted in the
 * protocols. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <litmus/torture.h>

#include "commands.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/stop.h"
#include "examine.h"
#include "report/json_report.h"
#include "report/provenance.h"
#include "session.h"
#include "laboratory/spread.h"
#include "report/words.h"

enum { PROGRAMS = 200, FAULT_PROGRAMS = 100, TASKS = 100 };

struct torture_command {
	struct torture_options options;
	unsigned setting_count;
	bool json, faults, each, programs_given;
	json_t *report; /* one row per run */
	bool failed, stopped;
	/* On a cluster: the runs are gone through twice, first to list their parts, then with what the parts
	 * found. */
	enum { HERE, LIST, COLLECT } on;
	struct spread spread;
	unsigned parts; /* of each run */
	unsigned next;  /* part to collect */
};

/* ---- The command line ---------------------------------------------------------------------------- */

static int take_protocol(struct torture_command *c, const char *value)
{
	c->each = !strcmp(value, "each");
	c->options.protocol = value;
	NVW_FAIL_IF(!c->each && cli_find_protocol(value), NVW_E_USAGE,
		"--protocol: there is no coherence protocol \"%s\"; see nvwave list protocols", value);
	return 0;
}

static uint64_t programs_of(const struct cli_options *o)
{
	if (cli_given(o, CLI_programs)) {
		return cli_number(o, CLI_programs);
	}
	if (cli_given(o, CLI_faults)) {
		return FAULT_PROGRAMS;
	}
	return o->value[CLI_seconds].real > 0 ? 0 : PROGRAMS;
}

static void take_values(struct torture_command *c, const struct cli_options *o)
{
	c->json = cli_json(o);
	c->faults = cli_given(o, CLI_faults);
	c->options.seed = cli_number(o, CLI_seed);
	c->options.seconds = o->value[CLI_seconds].real;
	c->options.fault = cli_text(o, CLI_fault);
	c->options.shrink = !c->faults && cli_number(o, CLI_shrink) == 0;
	c->options.settings = o->setting; /* NULL-terminated */
	c->setting_count = o->setting_count;
	c->options.programs = programs_of(o);
	c->programs_given = cli_given(o, CLI_programs);
}

static int take_torture(struct torture_command *c, const struct cli_options *o)
{
	const bool is_local = cli_number(o, CLI_engine) == SWEEP_LOCAL;

	take_values(c, o);
	NVW_TRY(take_protocol(c, words_or(cli_text(o, CLI_torture_protocol), "each")));
	NVW_TRY(cli_options_at_most(o, 0));
	NVW_TRY(cli_options_check_use(
		o, cli_at(CLI_AT_FAULTS, c->faults) | cli_at(is_local ? CLI_AT_LOCAL : CLI_AT_SLURM, true)));
	NVW_FAIL_IF(!is_local && c->options.programs == 0, NVW_E_USAGE,
		"--programs: with --engine=slurm expected a number from 1, found 0");
	return 0;
}

/* ---- Programs ------------------------------------------------------------------------------------ */

static void print_option(const char *name, const char *value)
{
	printf(" --%s=", name);
	cli_print_quoted(value, stdout);
}

static void print_repetition(const struct torture_command *c, const struct torture_result *result)
{
	printf("  repeat: nvwave torture --protocol=%s --seed=%llu --programs=1", c->options.protocol,
		(ull)result->seed);
	NVW_EACH(setting, c->options.settings, c->setting_count) {
		print_option("set", *setting);
	}
	if (c->options.fault) {
		print_option("fault", c->options.fault);
	}
	putchar('\n');
}

static const char *said_of(const struct torture_command *c, const struct torture_result *result)
{
	if (result->failed) {
		return "FAILED";
	}
	return c->stopped ? "UNDECIDED, interrupted; every load so far was right" : "every load was right";
}

static void print_failed(const struct torture_command *c, const struct torture_result *result)
{
	NVW_INVARIANT(result->failed);
	printf("  seed %llu: %s\n", (ull)result->seed, result->text);
	print_repetition(c, result);
	if (*result->listing) {
		printf("  of its %u steps %u are enough:\n%s", result->steps, result->steps_left,
			result->listing);
	}
}

static void print_result(const struct torture_command *c, const struct torture_result *result)
{
	printf("%-11s  %llu programs, %llu operations: %s\n", c->options.protocol, (ull)result->programs,
		(ull)result->work.operations, said_of(c, result));
	if (result->failed) {
		print_failed(c, result);
	}
	fflush(stdout);
}

/* The rate counts loads by line; it is null if there was none. */
static void set_hit_rate(json_t *row, const char *name, uint64_t hits, uint64_t misses)
{
	const double all = (double)hits + (double)misses;

	json_object_set_new(row, name, all > 0 ? json_real((double)hits / all) : json_null());
}

static void describe_failure(json_t *row, const struct torture_result *result)
{
	member_set_count(row, "seed", result->seed);
	member_set_text(row, "what", result->text);
	if (!*result->listing) {
		return;
	}
	member_set_count(row, "steps", result->steps);
	member_set_count(row, "steps_left", result->steps_left);
	member_set_text(row, "program", result->listing);
}

/* --faults and --seconds move the number of programs. */
static json_t *torture_provenance(const struct torture_command *c)
{
	json_t *const made_by = cli_provenance(NULL, NULL);

	if (!c->programs_given && c->options.programs != PROGRAMS) {
		cli_provenance_moved(made_by, "programs", "%llu", (ull)c->options.programs);
	}
	return made_by;
}

static json_t *describe(const struct torture_command *c, const struct torture_result *result)
{
	json_t *const row = json_pack("{s:s, s:I, s:I, s:b, s:b}", "protocol", c->options.protocol,
		"programs", (json_int_t)result->programs, "operations", (json_int_t)result->work.operations,
		"failed", result->failed, "interrupted", c->stopped);

	member_set_real(row, "cpu_seconds", result->cpu_seconds);
	member_set_count(row, "l1_hits", result->work.l1_hits);
	member_set_count(row, "l1_misses", result->work.l1_misses);
	member_set_count(row, "l2_hits", result->work.l2_hits);
	member_set_count(row, "l2_misses", result->work.l2_misses);
	set_hit_rate(row, "l1_hit_rate", result->work.l1_hits, result->work.l1_misses);
	set_hit_rate(row, "l2_hit_rate", result->work.l2_hits, result->work.l2_misses);
	json_object_set_new(row, "made_by", torture_provenance(c));
	if (c->options.fault) {
		member_set_text(row, "fault", c->options.fault);
	}
	if (result->failed) {
		describe_failure(row, result);
	}
	return row;
}

/* ---- On a cluster -------------------------------------------------------------------------------- */

/* Program i of a run is that of seed + i: a part is a run of some of them. */
static uint64_t first_of(uint64_t programs, unsigned part, unsigned parts)
{
	NVW_INVARIANT(part <= parts && parts > 0);
	return programs / parts * part + programs % parts * part / parts;
}

static unsigned parts_of_run(const struct torture_command *c)
{
	if (c->faults) {
		return 1;
	}
	return (unsigned)nvw_min(c->options.programs, c->parts);
}

static int make_words(
	const struct torture_command *c, uint64_t first, uint64_t programs, struct sweep_words *w)
{
	NVW_TRY(sweep_words_add(w, "torture"));
	NVW_TRY(sweep_words_add(w, "--output-format=json"));
	NVW_TRY(sweep_words_add(w, "--protocol=%s", c->options.protocol));
	NVW_TRY(sweep_words_add(w, "--seed=%llu", (ull)(c->options.seed + first)));
	NVW_TRY(sweep_words_add(w, "--programs=%llu", (ull)programs));
	NVW_EACH(setting, c->options.settings, c->setting_count) {
		NVW_TRY(sweep_words_add(w, "--set=%s", *setting));
	}
	if (c->options.fault) {
		NVW_TRY(sweep_words_add(w, "--fault=%s", c->options.fault));
	}
	if (c->options.shrink) {
		return 0;
	}
	return sweep_words_add(w, "--shrink=off");
}

static int add_part(struct torture_command *c, uint64_t first, uint64_t programs)
{
	struct sweep_words w = {0};
	const int r = make_words(c, first, programs, &w);

	if (r) {
		sweep_words_end(&w);
		return r;
	}
	return spread_add(&c->spread, &w);
}

static int list_parts(struct torture_command *c)
{
	const unsigned parts = parts_of_run(c);
	uint64_t first = 0;

	NVW_INVARIANT(c->on == LIST);
	for (unsigned i = 1; i <= parts; i++) {
		const uint64_t behind = first_of(c->options.programs, i, parts);

		NVW_TRY(add_part(c, first, behind - first));
		first = behind;
	}
	return 0;
}

static void copy_text(const json_t *row, const char *name, char *ret_text, size_t bytes)
{
	snprintf(ret_text, bytes, "%s", member_text(row, name));
}

/* As torture_run() would have gone on with the programs of this row. */
static void add_row(struct torture_result *to, const json_t *row)
{
	NVW_INVARIANT(!to->failed);
	to->programs += member_count(row, "programs");
	to->work.operations += member_count(row, "operations");
	to->work.l1_hits += member_count(row, "l1_hits");
	to->work.l1_misses += member_count(row, "l1_misses");
	to->work.l2_hits += member_count(row, "l2_hits");
	to->work.l2_misses += member_count(row, "l2_misses");
	to->cpu_seconds += member_real(row, "cpu_seconds");
	to->failed = member_flag(row, "failed");
	to->seed = member_count(row, "seed");
	to->steps = (unsigned)member_count(row, "steps");
	to->steps_left = (unsigned)member_count(row, "steps_left");
	copy_text(row, "what", to->text, sizeof to->text);
	copy_text(row, "program", to->listing, sizeof to->listing);
}

/* The programs end with the first that fails: what later parts did does not count. */
static int collect_part(struct torture_command *c, struct torture_result *result)
{
	const unsigned at = c->next++;

	NVW_INVARIANT(at < c->spread.count);
	json_t *const report = json_loads(c->spread.part[at].outcome.out, 0, NULL);
	const json_t *const row = json_array_get(report, 0);
	int r = 0;

	if (!row) {
		r = nvw_fail(
			NVW_E_SYSTEM, "--engine=slurm: part %u of %u has no report", at + 1, c->spread.count);
	} else if (!result->failed) {
		add_row(result, row);
	}
	json_decref(report);
	return r;
}

static int collect_parts(struct torture_command *c, struct torture_result *ret_result)
{
	const unsigned parts = parts_of_run(c);

	NVW_INVARIANT(c->on == COLLECT);
	*ret_result = (struct torture_result){0};
	NVW_FOR(i, parts) {
		NVW_TRY(collect_part(c, ret_result));
	}
	return 0;
}

static void show_programs(void *context, uint64_t programs)
{
	const struct sweep_manner manner = {.progress = true};
	struct sweep_progress *const progress = context;

	progress->ended = (unsigned)programs;
	sweep_show(&manner, progress, false);
}

/* With progress on a terminal. */
static int run_here(struct torture_command *c, struct torture_result *ret_result)
{
	const struct sweep_manner manner = {.progress = isatty(STDERR_FILENO)};
	struct sweep_progress progress = {.what = "programs", .to_run = (unsigned)c->options.programs};

	if (manner.progress && !c->faults) {
		c->options.show = show_programs;
		c->options.context = &progress;
	}
	const int r = torture_run(&c->options, ret_result);

	c->options.show = NULL;
	sweep_show(&manner, &progress, true);
	return r;
}

static int make_result(struct torture_command *c, struct torture_result *ret_result)
{
	switch (c->on) {
	case LIST:
		return list_parts(c);
	case COLLECT:
		return collect_parts(c, ret_result);
	default:
		return run_here(c, ret_result);
	}
}

/* ---- Runs ---------------------------------------------------------------------------------------- */

static void report_result(const struct torture_command *c, const struct torture_result *result)
{
	NVW_INVARIANT(c->on != LIST);
	if (c->json) {
		json_array_append_new(c->report, describe(c, result));
	} else {
		print_result(c, result);
	}
}

static int run_programs(struct torture_command *c, struct torture_result *result)
{
	const int r = make_result(c, result);

	c->stopped = r == NVW_E_STOPPED;
	if (c->on != LIST && (r >= 0 || c->stopped)) {
		c->failed |= result->failed;
		report_result(c, result);
	}
	return r;
}

/* ---- Faults -------------------------------------------------------------------------------------- */

static void print_fault(
	const struct torture_command *c, const struct torture_result *result, const char *unnoticed)
{
	printf("%-11s  %-48s  ", c->options.protocol, c->options.fault);
	if (result->failed) {
		printf("found after %llu: %s\n", (ull)result->programs, result->text);
	} else if (unnoticed) {
		printf("survived %llu: %s\n", (ull)result->programs, unnoticed);
	} else {
		printf("survived %llu, WHICH IT SHOULD NOT\n", (ull)result->programs);
	}
	fflush(stdout);
}

static void report_fault(
	struct torture_command *c, const struct torture_result *result, const char *unnoticed)
{
	NVW_INVARIANT(c->on != LIST);
	if (!c->json) {
		print_fault(c, result, unnoticed);
		return;
	}
	json_t *const row = describe(c, result);

	json_object_set_new(row, "unnoticed", unnoticed ? json_string(unnoticed) : json_null());
	json_array_append_new(c->report, row);
}

/* Leaves out every action of the protocol's tables. A fault that is not found must be in the list of
 * undetectable ones. */
static int run_fault(struct torture_command *c, struct torture_result *result, unsigned *found)
{
	const char *const unnoticed = torture_unnoticed(c->options.protocol, c->options.fault);

	NVW_TRY(make_result(c, result));
	if (c->on != LIST) {
		*found += result->failed;
		c->failed = c->failed || (!result->failed && !unnoticed);
		report_fault(c, result, unnoticed);
	}
	return 0;
}

/* Leaves out every action of the protocol's tables. A fault that is not found must be in the list of
 * undetectable ones. */
static int run_faults(struct torture_command *c, struct torture_result *result)
{
	unsigned found = 0;
	int r = 0;

	for (unsigned i = 0; r == 0 && (c->options.fault = emu_protocol_action(c->options.protocol, i));
		i++) {
		r = run_fault(c, result, &found);
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

/* ---- The command --------------------------------------------------------------------------------- */

static int run_protocol(struct torture_command *c, const char *protocol)
{
	struct torture_result *const result = calloc(1, sizeof *result);

	NVW_ALLOCATED(result, "no memory for a result");
	c->options.protocol = protocol;
	const int r = (c->faults ? run_faults : run_programs)(c, result);

	free(result);
	return r;
}

/* NULL: behind the last one. */
static const char *protocol_of(const struct torture_command *c, unsigned i)
{
	if (c->each) {
		return cli_protocol_name(i);
	}
	return i == 0 ? c->options.protocol : NULL;
}

static int run_protocols(struct torture_command *c)
{
	const char *name;

	for (unsigned i = 0; (name = protocol_of(c, i)); i++) {
		NVW_TRY(run_protocol(c, name));
	}
	return 0;
}

static unsigned count_protocols(const struct torture_command *c)
{
	unsigned n = 0;

	while (protocol_of(c, n)) {
		n++;
	}
	return n;
}

static int run_on_cluster(struct torture_command *c, const struct cli_options *o)
{
	static const char *const left_out[] = {
		"engine", "sbatch", "output-format", NULL}; /* --array divides */

	NVW_INVARIANT(c->on == HERE);
	const unsigned tasks = cli_given(o, CLI_array) ? (unsigned)cli_number(o, CLI_array) : TASKS;
	struct sweep_words words;

	NVW_TRY(sweep_slurm_find());
	NVW_TRY(spread_words(o->argc, o->argv, left_out, &words));
	c->parts = (tasks + count_protocols(c) - 1) / count_protocols(c);
	const int r = spread_begin(&c->spread, &words, NULL);

	sweep_words_end(&words);
	NVW_TRY(r);
	c->on = LIST;
	NVW_TRY(run_protocols(c));
	c->on = COLLECT;
	NVW_TRY(spread_run(&c->spread, o, tasks));
	return run_protocols(c);
}

int cli_examine_torture(int argc, char **argv)
{
	struct torture_command c = {0};
	struct cli_options given;
	const int r = NVW_OR(cli_options_parse(&given, false, argc, argv), take_torture(&c, &given));
	cli_options_end(&given);
	return r;
}

static int print_report(const struct torture_command *c)
{
	if (c->json) {
		return cli_print_json(json_incref(c->report), stdout);
	}
	json_t *const made_by = torture_provenance(c);

	cli_print_provenance(made_by, stdout);
	json_decref(made_by);
	return 0;
}

static int print_end(const struct torture_command *c)
{
	NVW_TRY(print_report(c));
	NVW_TRY(cli_flush());
	if (c->failed) {
		return NVW_E_INCONSISTENT;
	}
	return c->stopped ? STATUS_INPUT : STATUS_CLEAN;
}

static int torture(struct cli_options *o)
{
	struct torture_command c = {.report = json_array()};
	int r = take_torture(&c, o);

	if (r == 0) {
		r = cli_number(o, CLI_engine) == SWEEP_SLURM ? run_on_cluster(&c, o) : run_protocols(&c);
	}
	spread_end(&c.spread);
	nvw_stop_reporting();
	if (r == 0 || c.stopped) {
		r = print_end(&c);
	}
	json_decref(c.report);
	return r;
}

const struct cli_command cmd_torture = {.main = cli_run_command,
	.help = "nvwave torture [options]\n\n"
		"Runs random programs without data races and "
		"compares every load with the one right value.\n",
	.run = torture};
