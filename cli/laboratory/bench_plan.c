/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structures, their mixes, and the rows of a benchmark. See bench.h. Both sweeps have the same axes:
 *
 *	case | what the command line fixes | --against | memory: "-", or the latencies of DRAM | seed
 *
 * A row is checked as its run and its crash test would check it, so that what a structure cannot do is known
 * before anything runs.
 */
#include <stdlib.h>
#include <string.h>

#include "../report/words.h"
#include "../examine.h"
#include "../registry.h"
#include "bench.h"
#include "core/array.h"
#include "core/bounds.h"
#include "core/invariant.h"
#include "core/print.h"
#include "core/units.h"

enum { TEXT_BYTES = 256 };

static const struct mix {
	const char *workload, *name, *options;
} mixes[] = {
#define MIX(workload, name, options) {workload, name, options},
#include "bench_mixes.def"
#undef MIX
	{NULL, "own", ""},
};

enum { MIXES = NVW_COUNT(mixes) };

/* The position of a mix in the table; MIXES: there is none of that name. */
static unsigned rank_of(const char *name)
{
	if (!strcmp(name, "own")) {
		return MIXES - 1; /* the last, whoever has it first */
	}
	return NVW_INDEX(i, MIXES, !strcmp(mixes[i].name, name));
}

/* ---- Cases --------------------------------------------------------------------------------- */

/* Whether the list, separated by commas, has the name; NULL has all. */
static bool lists(const char *list, const char *name)
{
	for (const char *at = list; at; at = sweep_behind(at, ",")) {
		if (text_is(at, strcspn(at, ","), name)) {
			return true;
		}
	}
	return !list;
}

static int check_mixes(const char *list)
{
	for (const char *at = list; at; at = sweep_behind(at, ",")) {
		char name[TEXT_BYTES];

		NVW_PRINT(name, "%.*s", (int)strcspn(at, ","), at);
		NVW_FAIL_IF(rank_of(name) == MIXES, NVW_E_USAGE,
			"bench: --mix=%s: expected load, a, b, c, d, e, f or own, found \"%s\"", list, name);
	}
	return 0;
}

static int add_case(struct bench *b, const struct nvw_workload *w, const char *reference, const char *name,
	const char *mix)
{
	NVW_INVARIANT(b->case_count <= BENCH_CASES_MAX);
	if (!lists(cli_text(b->given, CLI_bench_mix), mix)) {
		return 0;
	}
	NVW_FAIL_IF(b->case_count == BENCH_CASES_MAX, NVW_E_USAGE,
		"bench: there are more than %d structures and mixes", BENCH_CASES_MAX);
	NVW_EACH(of, b->of, b->case_count) {
		NVW_FAIL_IF(!strcmp(of->reference, reference) && !strcmp(of->mix, mix), NVW_E_USAGE,
			"bench: %s is named twice", reference);
	}
	struct bench_case *const c = &b->of[b->case_count++];

	*c = (struct bench_case){.workload = w, .reference = reference, .mix = mix, .rank = rank_of(mix)};
	NVW_PRINT(c->name, "%s", name);
	return 0;
}

/* An index for PiBench has the mixes of btree. */
static int add_pibench(struct bench *b, const char *reference, const char *name)
{
	NVW_EACH(mix, mixes, MIXES - 1) {
		if (!strcmp(mix->workload, "btree")) {
			NVW_TRY(add_case(b, NULL, reference, name, mix->name));
		}
	}
	return 0;
}

static int add_host(struct bench *b, const char *reference)
{
	char name[TEXT_BYTES];

	b->has_host = true;
	bench_host_name(reference, name, sizeof name);
	return *reference == 'p' ? add_pibench(b, reference, name) :
				   add_case(b, NULL, reference, name, "own");
}

static int add_mixes(struct bench *b, const char *reference, const struct nvw_workload *w)
{
	bool has_mixes = false;

	NVW_EACH(mix, mixes, MIXES - 1) {
		if (!strcmp(mix->workload, w->name)) {
			has_mixes = true;
			NVW_TRY(add_case(b, w, reference, w->name, mix->name));
		}
	}
	return has_mixes ? 0 : add_case(b, w, reference, w->name, "own");
}

static int add_workload(struct bench *b, const char *reference)
{
	const struct nvw_workload *w;

	if (bench_is_host(reference)) {
		return add_host(b, reference);
	}
	NVW_TRY(nvw_workload_load(reference, &w));
	return add_mixes(b, reference, w);
}

static int add_workloads(struct bench *b)
{
	static const char *const standard[] = {"kv", "btree", "queue", "stack", "tiered", "steal-log"};
	const unsigned given = b->given->argument_count;

	NVW_TRY(check_mixes(cli_text(b->given, CLI_bench_mix)));
	NVW_FOR(i, given) {
		NVW_TRY(add_workload(b, b->given->argument[i]));
	}
	for (unsigned i = 0; given == 0 && i < NVW_COUNT(standard); i++) {
		NVW_TRY(add_workload(b, standard[i]));
	}
	NVW_FAIL_IF(b->case_count == 0, NVW_E_USAGE, "bench: --mix=%s: these structures have no such mix",
		cli_text(b->given, CLI_bench_mix));
	return 0;
}

static const char *options_of(const struct bench_case *c)
{
	NVW_EACH(mix, mixes, MIXES - 1) {
		if (!strcmp(mix->workload, c->workload->name) && !strcmp(mix->name, c->mix)) {
			return mix->options;
		}
	}
	return "";
}

/* ---- Axes ---------------------------------------------------------------------------------- */

/* A model is a key of the machine, for crash tests as well. */
static const char *axis_name(const char *name)
{
	return strcmp(name, "model") != 0 ? name : "persist.model";
}

static bool has_option(const struct nvw_workload *w, const char *name)
{
	if (!w) {
		return bench_host_has(name);
	}
	return strchr(name, '.') || cli_has_option("run", name) || nvw_workload_option(w, name);
}

/* "NAME=VALUES", of --against or of --set. */
static int add_pair(struct sweep *s, const char *what, const char *pair)
{
	const size_t n = strcspn(pair, "=");
	char name[TEXT_BYTES];

	NVW_FAIL_IF(pair[n] == 0 || n == 0 || n >= sizeof name, NVW_E_USAGE,
		"bench: --%s=%s: expected NAME=VALUE", what, pair);
	NVW_PRINT(name, "%.*s", (int)n, pair);
	NVW_FAIL_IF(
		sweep_axis_named(s, axis_name(name)) >= 0 || !strcmp(name, "memory") || !strcmp(name, "seed"),
		NVW_E_USAGE, "bench: --%s=%s: %s is fixed already", what, pair, name);
	return sweep_add_axis(s, axis_name(name), pair + n + 1);
}

/* Options that every run has. */
static int add_fixed(const struct bench *b, struct sweep *s)
{
	static const enum cli_option_id passed[] = {CLI_machine, CLI_protocol, CLI_mutate};

	NVW_EACH_IN(id, passed) {
		if (cli_given(b->given, *id)) {
			NVW_TRY(sweep_add_axis(s, cli_option_name(*id), cli_text(b->given, *id)));
		}
	}
	NVW_EACH(setting, b->given->setting, b->given->setting_count) {
		NVW_TRY(add_pair(s, "set", *setting));
	}
	return 0;
}

static bool has_value(const struct sweep_axis *a, const char *value)
{
	return NVW_ANY(one, a->value, a->count, !strcmp(*one, value));
}

/* A structure without the option has "-". */
static int complete_axis(const struct bench *b, struct sweep *s, const char *name)
{
	unsigned having = 0;

	NVW_EACH(of, b->of, b->case_count) {
		having += has_option(of->workload, name);
	}
	NVW_FAIL_IF(having == 0, NVW_E_USAGE,
		"bench: --against: none of these structures has an option %s, nor has nvwave run", name);
	if (having == b->case_count || has_value(&s->axis[sweep_axis_named(s, name)], "-")) {
		return 0;
	}
	return sweep_add_axis(s, name, "-");
}

static int complete_axes(const struct bench *b, struct sweep *s)
{
	NVW_INVARIANT(b->first_axis + b->axis_count <= s->axis_count);
	NVW_FOR(i, b->axis_count) {
		NVW_TRY(complete_axis(b, s, s->axis[b->first_axis + i].name));
	}
	return 0;
}

static int add_against(struct bench *b, struct sweep *s)
{
	NVW_INVARIANT(b->axis_count == 0 || b->first_axis == s->axis_count);
	b->first_axis = s->axis_count;
	NVW_EACH(against, b->given->against, b->given->against_count) {
		NVW_TRY(add_pair(s, "against", *against));
	}
	b->axis_count = s->axis_count - b->first_axis;
	NVW_FAIL_IF(b->axis_count > BENCH_AXES_MAX, NVW_E_USAGE, "bench: there are more than %d axes",
		BENCH_AXES_MAX);
	return complete_axes(b, s);
}

/* "{records}" and "{operations}" stand for numbers. */
static void number_text(const struct bench *b, const char *value, char text[TEXT_BYTES])
{
	const uint64_t n = strcmp(value, "{records}") == 0 ? b->records : b->operations;

	snprintf(text, TEXT_BYTES, "%s", value);
	if (*value == '{') {
		snprintf(text, TEXT_BYTES, "%llu", (ull)n);
	}
}

/* One "name=value" of a mix; --against replaces it. */
static int add_setting(const struct bench *b, struct sweep *s, const char *section, char *pair)
{
	char text[TEXT_BYTES], *value = pair;

	strsep(&value, "=");
	NVW_INVARIANT(value);
	if (sweep_axis_named(s, pair) >= 0) {
		return 0;
	}
	number_text(b, value, text);
	return sweep_bundle_add(s, section, pair, text);
}

static int add_settings(const struct bench *b, struct sweep *s, unsigned i)
{
	NVW_INVARIANT(i < b->case_count);

	char section[TEXT_BYTES], *const copy = strdup(options_of(&b->of[i])), *rest = copy, *pair;
	int r;

	NVW_ALLOCATED(copy, SWEEP_NO_MEMORY);
	NVW_PRINT(section, "case %u", i);
	r = sweep_bundle_add(s, section, "workload", b->of[i].reference);
	while (r == 0 && (pair = strtok_r(rest, " ", &rest))) {
		r = add_setting(b, s, section, pair);
	}
	free(copy);
	return r;
}

/* Value i of the axis "case" is case i. */
static int add_cases(const struct bench *b, struct sweep *s)
{
	char name[24];

	NVW_FOR(i, b->case_count) {
		NVW_PRINT(name, "%u", i);
		NVW_TRY(sweep_add_axis(s, "case", name));
	}
	NVW_INVARIANT(s->axis[0].count == b->case_count);
	return 0;
}

static int add_seeds(const struct bench *b, struct sweep *s)
{
	char seeds[24];

	NVW_PRINT(seeds, "1..%u", b->seeds);
	return sweep_add_axis(s, "seed", seeds);
}

static int begin(struct bench *b, struct sweep *s, const char *command)
{
	*s = (struct sweep){.where = "bench", .command = strdup(command)};
	NVW_ALLOCATED(s->command, SWEEP_NO_MEMORY);
	NVW_TRY(add_cases(b, s));
	NVW_TRY(add_fixed(b, s));
	NVW_TRY(add_against(b, s));
	NVW_FOR(i, b->case_count) {
		if (b->of[i].workload) {
			NVW_TRY(add_settings(b, s, i));
		}
	}
	NVW_TRY(sweep_add_axis(s, "memory", "-"));
	return add_seeds(b, s);
}

static int begin_runs(struct bench *b)
{
	NVW_TRY(begin(b, &b->runs, "run"));
	return sweep_add_axis(&b->runs, "latencies", "on");
}

/* A sample: the first kind of failure is enough. */
static int begin_crashes(struct bench *b)
{
	char states[24];

	NVW_PRINT(states, "%llu", (ull)b->states);
	NVW_TRY(begin(b, &b->crashes, "crash"));
	NVW_TRY(sweep_add_axis(&b->crashes, "states", states));
	NVW_TRY(sweep_add_axis(&b->crashes, "stop-after", "1"));
	return sweep_add_axis(&b->crashes, "cures", "off");
}

/* ---- Points -------------------------------------------------------------------------------- */

/* A point of the row, in either sweep. memory: a value of the axis. */
static struct sweep_point point_of(const struct bench *b, const struct sweep *s, const struct bench_row *row,
	uint32_t memory, uint32_t seed)
{
	NVW_INVARIANT(row->of < b->case_count && b->axis_count <= BENCH_AXES_MAX);

	struct sweep_point p = {.choice = {row->of}};

	NVW_FOR(i, b->axis_count) {
		p.choice[b->first_axis + i] = row->choice[i];
	}
	p.choice[sweep_axis_named(s, "memory")] = memory;
	p.choice[sweep_axis_named(s, "seed")] = seed;
	return p;
}

/* Its key, if the command takes it. */
static int examine_words(const char *command, struct sweep_words *words, struct emu_config *config)
{
	if (!strcmp(command, "run")) {
		return cli_examine_run(words->count, words->word, config);
	}
	return cli_examine_crash(words->count, words->word, config);
}

static int examine(
	struct sweep_keys *keys, const struct sweep *s, struct sweep_point *p, struct emu_config *config)
{
	struct sweep_words words;
	int r = sweep_words(s, p, &words);

	r = NVW_OR(r, examine_words(s->command, &words, config));
	r = NVW_OR(r, sweep_key(keys, &words, config, p->key));
	sweep_words_end(&words);
	return r;
}

static int add_point(struct sweep *s, unsigned *room, const struct sweep_point *p)
{
	NVW_GROWN(s->point, *room, s->count + 1, SWEEP_NO_MEMORY);
	s->point[s->count++] = *p;
	return 0;
}

/* The value of the axis "memory" that gives NVRAM the latencies of the machine's DRAM; it is added if it is
 * new. */
static int memory_of(struct sweep *s, const struct emu_config *config, uint32_t *ret)
{
	char read[NVW_UNIT_TEXT], write[NVW_UNIT_TEXT], name[TEXT_BYTES], section[2 * TEXT_BYTES];
	const struct sweep_axis *const a = &s->axis[sweep_axis_named(s, "memory")];

	NVW_PRINT(name, "%s/%s", nvw_format_time(config->dram.read, read),
		nvw_format_time(config->dram.write, write));
	*ret = NVW_INDEX(i, a->count, !strcmp(a->value[i], name));
	if (*ret < a->count) {
		return 0;
	}
	NVW_PRINT(section, "memory %s", name);
	NVW_TRY(sweep_bundle_add(s, section, "nvram.read", read));
	NVW_TRY(sweep_bundle_add(s, section, "nvram.write", write));
	return sweep_add_axis(s, "memory", name);
}

struct planner {
	struct bench *b;
	struct sweep_keys *keys;
	unsigned rooms[3];
};

static int refuse(struct bench_row *row, enum bench_status status)
{
	NVW_INVARIANT(!row->reason);
	row->status = status;
	row->reason = strdup(nvw_error_message());
	NVW_ALLOCATED(row->reason, SWEEP_NO_MEMORY);
	return 0;
}

static int add_runs(struct planner *of, struct bench_row *row, const struct emu_config *config)
{
	struct bench *const b = of->b;
	uint32_t dram;

	NVW_TRY(memory_of(&b->runs, config, &dram));
	row->first = b->runs.count;
	NVW_FOR(i, 2 * b->seeds) {
		struct emu_config own;
		struct sweep_point p = point_of(b, &b->runs, row, i < b->seeds ? 0 : dram, i % b->seeds);

		NVW_TRY(examine(of->keys, &b->runs, &p, &own));
		NVW_TRY(add_point(&b->runs, &of->rooms[0], &p));
	}
	NVW_INVARIANT(row->first + 2 * b->seeds == b->runs.count);
	return 0;
}

static int add_crash(struct planner *of, struct bench_row *row)
{
	struct bench *const b = of->b;
	struct emu_config config;

	row->crash = -1;
	if (b->states == 0) {
		return 0;
	}
	struct sweep_point p = point_of(b, &b->crashes, row, 0, 0);

	if (examine(of->keys, &b->crashes, &p, &config)) {
		return refuse(row, BENCH_UNCHECKED);
	}
	row->crash = (int)b->crashes.count;
	return add_point(&b->crashes, &of->rooms[1], &p);
}

static int add_row(struct planner *of, struct bench_row row)
{
	struct bench *const b = of->b;
	struct sweep_point first = point_of(b, &b->runs, &row, 0, 0);
	struct emu_config config;

	NVW_GROWN(b->row, of->rooms[2], b->row_count + 1, SWEEP_NO_MEMORY);
	struct bench_row *const new = &b->row[b->row_count++];

	*new = row;
	new->crash = -1;
	if (!b->of[row.of].workload) {
		return 0;
	}
	if (examine(of->keys, &b->runs, &first, &config)) {
		return refuse(new, BENCH_REFUSED);
	}
	NVW_TRY(add_runs(of, new, &config));
	return add_crash(of, new);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* "-" is for structures without the option, where the command line does not name it. */
static bool is_apt(const struct bench *b, const struct bench_row *row, unsigned axis)
{
	NVW_INVARIANT(axis < b->axis_count);

	const struct sweep_axis *const a = &b->runs.axis[b->first_axis + axis];
	const bool is_dash = strcmp(a->value[row->choice[axis]], "-") == 0;

	if (!has_option(b->of[row->of].workload, a->name)) {
		return is_dash;
	}
	return !is_dash || strstr(b->given->against[axis], "=-") || strstr(b->given->against[axis], ",-");
}

static bool is_wanted(const struct bench *b, const struct bench_row *row)
{
	return !NVW_ANY_BELOW(i, b->axis_count, !is_apt(b, row, i));
}

static bool advance(const struct bench *b, struct bench_row *row)
{
	for (unsigned i = b->axis_count; i-- > 0; row->choice[i] = 0) {
		if (++row->choice[i] < b->runs.axis[b->first_axis + i].count) {
			return true;
		}
	}
	return false;
}

static int add_rows_of(struct planner *of, struct bench_row row)
{
	do {
		if (is_wanted(of->b, &row)) {
			NVW_TRY(add_row(of, row));
		}
	} while (advance(of->b, &row));
	return 0;
}

static int add_rows(struct planner *of)
{
	NVW_FOR(i, of->b->case_count) {
		NVW_TRY(add_rows_of(of, (struct bench_row){.of = i}));
	}
	return 0;
}

/* A table of refused rows says nothing: the first reason ends the command. */
static int expect_runs(const struct bench *b)
{
	NVW_INVARIANT(b->row_count > 0);
	NVW_FAIL_IF(b->runs.count == 0 && !b->has_host, NVW_E_USAGE, "bench: %s", b->row[0].reason);
	return 0;
}

int bench_plan(struct bench *b, const struct cli_options *given)
{
	struct planner of = {.b = b};

	*b = (struct bench){.given = given,
		.of = calloc(BENCH_CASES_MAX, sizeof *b->of),
		.seeds = (unsigned)cli_number(given, CLI_seeds),
		.records = cli_number(given, CLI_records),
		.operations = cli_number(given, CLI_operations),
		.states = cli_given(given, CLI_unchecked) ? 0 : cli_number(given, CLI_bench_states)};
	NVW_ALLOCATED(b->of, SWEEP_NO_MEMORY);
	NVW_TRY(add_workloads(b));
	NVW_TRY(begin_runs(b));
	NVW_TRY(begin_crashes(b));
	of.keys = sweep_keys_begin();
	if (!of.keys) {
		return NVW_E_SYSTEM; /* it said why */
	}
	const int r = add_rows(&of);

	sweep_keys_end(of.keys);
	NVW_TRY(r);
	return expect_runs(b);
}

static void row_end(struct bench_row *row)
{
	free(row->reason);
	free(row->states);
	free(row->of_seed);
}

void bench_end(struct bench *b)
{
	NVW_EACH(row, b->row, b->row_count) {
		row_end(row);
	}
	sweep_end(&b->runs);
	sweep_end(&b->crashes);
	free(b->row);
	free(b->of);
}
