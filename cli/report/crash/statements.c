/* SPDX-License-Identifier: BSD-3-Clause */
/* See statements.h. */
#include "statements.h"
#include "core/invariant.h"
#include "core/member.h"

#include <string.h>

#include <nvw/errors.h>

#include "../source_lines.h"
#include "../words.h"

enum { PLACES_SHOWN = 6 };

static bool in_one_function(const struct ct_statement *a, const struct ct_statement *b)
{
	return strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0;
}

/* Behind the last statement of the function in which statement i is. */
static unsigned end_of_function(const struct ct_coverage *c, unsigned i)
{
	NVW_INVARIANT(i < c->count);

	unsigned end = i + 1;

	while (end < c->count && in_one_function(&c->statement[i], &c->statement[end])) {
		end++;
	}
	return end;
}

static bool flushes_in(const struct ct_coverage *c, unsigned begin, unsigned end)
{
	NVW_INVARIANT(begin <= end && end <= c->count);
	while (begin < end && !c->statement[begin].flushes) {
		begin++;
	}
	return begin < end;
}

static unsigned executed_in(const struct ct_coverage *c, unsigned begin, unsigned end)
{
	unsigned executed = 0;

	NVW_INVARIANT(begin <= end && end <= c->count);
	for (unsigned i = begin; i < end; i++) {
		executed += c->statement[i].executed;
	}
	return executed;
}

/* ---- Text ---------------------------------------------------------------------------------------- */

/* "all of split_root (insert.c:410)", or "merge_pair (insert.c:230, 235)". */
static void print_function(const struct ct_coverage *c, unsigned begin, unsigned end, FILE *to)
{
	const struct ct_statement *const first = &c->statement[begin];
	const char *before = ":";

	NVW_INVARIANT(begin < end && end <= c->count);
	if (executed_in(c, begin, end) == 0) {
		fprintf(to, "all of %s (%s:%u)", first->function, basename(first->file), first->line);
		fputs(words_if(flushes_in(c, begin, end), ", which flushes"), to);
		return;
	}
	fprintf(to, "%s (%s", first->function, basename(first->file));
	for (unsigned i = begin; i < end; i++) {
		if (!c->statement[i].executed) {
			fprintf(to, "%s%u", before, c->statement[i].line);
			before = ", ";
		}
	}
	fputc(')', to);
}

/* What a function is worth to a reader: 2 if it flushes, and so handles persistent memory, and none of it was
 * executed; 1 if some of it was not; 0 if all of it was. */
static unsigned worth(const struct ct_coverage *c, unsigned begin, unsigned end)
{
	const unsigned executed = executed_in(c, begin, end);

	if (executed == end - begin) {
		return 0;
	}
	return executed == 0 && flushes_in(c, begin, end) ? 2 : 1;
}

static unsigned print_worth(const struct ct_coverage *c, unsigned wanted, unsigned functions, FILE *to)
{
	unsigned end;

	for (unsigned i = 0; i < c->count; i = end) {
		end = end_of_function(c, i);
		if (worth(c, i, end) != wanted) {
			continue;
		}
		functions++;
		if (functions <= PLACES_SHOWN) {
			fputs(words_if(functions > 1, "; "), to);
			print_function(c, i, end, to);
		}
	}
	return functions;
}

static void print_more(unsigned functions, FILE *to)
{
	if (functions > PLACES_SHOWN) {
		fprintf(to, "; and in %u more function%s", functions - PLACES_SHOWN,
			plural(functions - PLACES_SHOWN));
	}
	fputc('\n', to);
}

static void print_missed(const struct ct_coverage *c, FILE *to)
{
	fputs("not executed: ", to);
	print_more(print_worth(c, 1, print_worth(c, 2, 0, to), to), to);
}

static void print_program(const struct ct_coverage *c, FILE *to)
{
	fprintf(to,
		"executed: %u of the %u instrumented statements that store, flush or fence, in %u of "
		"%u function%s; %u of them, in %u function%s, reached a mapped file\n",
		c->executed, c->count, c->functions_executed, c->functions, plural(c->functions), c->reached,
		c->functions_reached, plural(c->functions_reached));
}

/* ---- Branches ------------------------------------------------------------------------------------ */

static bool went_one_way(const struct ct_statement *b)
{
	return b->executed != b->reached;
}

/* Of the function in which a branch is. */
static bool left_statements_out(const struct ct_coverage *c, const struct ct_statement *branch)
{
	return NVW_ANY(statement, c->statement, c->count,
		!statement->executed && in_one_function(statement, branch));
}

/* Behind the branches of the function in which branch i is. */
static unsigned end_of_branches(const struct ct_coverage *c, unsigned i)
{
	unsigned end = i + 1;

	NVW_INVARIANT(i < c->branches);
	while (end < c->branches && in_one_function(&c->branch[i], &c->branch[end])) {
		end++;
	}
	return end;
}

/* "put (kv.c:20, 34)": each line once. */
static void print_one_way(const struct ct_coverage *c, unsigned begin, unsigned end, FILE *to)
{
	const struct ct_statement *const first = &c->branch[begin];
	const char *before = ":";
	unsigned line = 0;

	NVW_INVARIANT(begin < end && end <= c->branches);
	fprintf(to, "%s (%s", first->function, basename(first->file));
	for (const struct ct_statement *b = first; b < &c->branch[end]; b++) {
		if (went_one_way(b) && b->line != line) {
			fprintf(to, "%s%u", before, b->line);
			line = b->line;
			before = ", ";
		}
	}
	fputc(')', to);
}

static bool has_one_way(const struct ct_coverage *c, unsigned begin, unsigned end)
{
	NVW_INVARIANT(end <= c->branches);
	while (begin < end && !went_one_way(&c->branch[begin])) {
		begin++;
	}
	return begin < end;
}

/* First those of functions of which statements were left out, behind such a branch perhaps. */
static unsigned print_functions_one_way(
	const struct ct_coverage *c, bool left_out, unsigned functions, FILE *to)
{
	unsigned end;

	for (unsigned i = 0; i < c->branches; i = end) {
		end = end_of_branches(c, i);
		if (!has_one_way(c, i, end) || left_statements_out(c, &c->branch[i]) != left_out) {
			continue;
		}
		functions++;
		if (functions <= PLACES_SHOWN) {
			fputs(words_if(functions > 1, "; "), to);
			print_one_way(c, i, end, to);
		}
	}
	return functions;
}

static void print_all_one_way(const struct ct_coverage *c, FILE *to)
{
	fputs("one way: ", to);
	print_more(print_functions_one_way(c, false, print_functions_one_way(c, true, 0, to), to), to);
}

static void print_branches(const struct ct_coverage *c, FILE *to)
{
	if (c->branches == 0) {
		return;
	}
	fprintf(to, "branches there, as compiled: %u of %u went both ways, %u one way, %u never met\n",
		c->branches_both, c->branches, c->branches_one,
		c->branches - c->branches_both - c->branches_one);
	if (c->branches_one > 0) {
		print_all_one_way(c, to);
	}
}

void cli_print_statements(const struct ct_coverage *c, FILE *to)
{
	NVW_INVARIANT(c->executed <= c->count && c->functions_executed <= c->functions);
	if (c->count == 0) {
		return;
	}
	if (c->of_program) {
		print_program(c, to);
	} else {
		fprintf(to,
			"this run executed %u of the %u statements of the workload that store, persist or "
			"acknowledge, in %u of %u functions\n",
			c->executed, c->count, c->functions_executed, c->functions);
	}
	if (c->executed < c->count) {
		print_missed(c, to);
	}
	print_branches(c, to);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static json_t *statement_json(const struct ct_coverage *c, const struct ct_statement *s)
{
	json_t *const o =
		json_pack("{s:s, s:i, s:s}", "file", s->file, "line", (int)s->line, "function", s->function);

	if (c->of_program) {
		member_set_flag(o, "flushes", s->flushes);
	}
	return o;
}

static json_t *branches_json(const struct ct_coverage *c)
{
	json_t *const places = json_array();

	NVW_EACH(b, c->branch, c->branches) {
		if (!b->executed || !b->reached) {
			json_array_append_new(places, json_pack("{s:s, s:i, s:s, s:b, s:b}", "file", b->file,
							      "line", (int)b->line, "function", b->function,
							      "jumped", b->executed, "went_on", b->reached));
		}
	}
	return json_pack("{s:i, s:i, s:i, s:o}", "count", (int)c->branches, "both_ways",
		(int)c->branches_both, "one_way", (int)c->branches_one, "not_both_ways", places);
}

json_t *cli_statements_json(const struct ct_coverage *c)
{
	json_t *const missed = json_array();

	if (c->count == 0) {
		json_decref(missed);
		return NULL;
	}
	NVW_EACH(statement, c->statement, c->count) {
		if (!statement->executed) {
			json_array_append_new(missed, statement_json(c, statement));
		}
	}
	json_t *const o = json_pack("{s:i, s:i, s:i, s:i, s:o}", "statements", (int)c->count, "executed",
		(int)c->executed, "functions", (int)c->functions, "functions_executed",
		(int)c->functions_executed, "not_executed", missed);

	if (c->of_program) {
		member_set_number(o, "reached", c->reached);
		member_set_number(o, "functions_reached", c->functions_reached);
		json_object_set_new(o, "branches", branches_json(c));
	}
	return o;
}

/* ---- lcov ---------------------------------------------------------------------------------------- */

static unsigned end_of_file(const struct ct_coverage *c, unsigned i)
{
	NVW_INVARIANT(i < c->count);

	unsigned end = i + 1;

	while (end < c->count && strcmp(c->statement[i].file, c->statement[end].file) == 0) {
		end++;
	}
	return end;
}

static void write_functions(const struct ct_coverage *c, unsigned begin, unsigned file_end, FILE *to)
{
	unsigned functions = 0, executed = 0, end;

	NVW_INVARIANT(begin < file_end && file_end <= c->count);
	for (unsigned i = begin; i < file_end; i = end) {
		const struct ct_statement *const s = &c->statement[i];

		end = end_of_function(c, i);
		const bool was_executed = executed_in(c, i, end) > 0;

		fprintf(to, "FN:%u,%s\nFNDA:%d,%s\n", s->line, s->function, was_executed, s->function);
		functions++;
		executed += was_executed;
	}
	fprintf(to, "FNF:%u\nFNH:%u\n", functions, executed);
}

static unsigned ways(const struct ct_statement *b)
{
	return b->executed + b->reached;
}

/* A jump is a block, with its two ways; "-": it was never met. */
static void write_branches(const struct ct_coverage *c, const char *file, FILE *to)
{
	unsigned found = 0, hit = 0;

	NVW_FOR(i, c->branches) {
		const struct ct_statement *const b = &c->branch[i];

		if (strcmp(b->file, file) != 0) {
			continue;
		}
		if (ways(b) == 0) {
			fprintf(to, "BRDA:%u,%u,0,-\nBRDA:%u,%u,1,-\n", b->line, i, b->line, i);
		} else {
			fprintf(to, "BRDA:%u,%u,0,%d\nBRDA:%u,%u,1,%d\n", b->line, i, b->executed, b->line, i,
				b->reached);
		}
		found += 2;
		hit += ways(b);
	}
	if (found > 0) {
		fprintf(to, "BRF:%u\nBRH:%u\n", found, hit);
	}
}

static void write_file(const struct ct_coverage *c, unsigned begin, unsigned end, FILE *to)
{
	NVW_INVARIANT(begin < end && end <= c->count);
	fprintf(to, "TN:nvwave\nSF:%s\n", cli_source_path(c->statement[begin].file));
	write_functions(c, begin, end, to);
	write_branches(c, c->statement[begin].file, to);
	for (unsigned i = begin; i < end; i++) {
		fprintf(to, "DA:%u,%d\n", c->statement[i].line, c->statement[i].executed);
	}
	fprintf(to, "LF:%u\nLH:%u\nend_of_record\n", end - begin, executed_in(c, begin, end));
}

int cli_write_statements(const struct ct_coverage *c, const char *path)
{
	NVW_FAIL_IF(c->count == 0, NVW_E_INPUT,
		"--coverage: no statements of the program are known: build it with nvwave-cc, and do "
		"not strip it");
	FILE *const to = fopen(path, "w");
	unsigned end;

	NVW_FAIL_ERRNO_IF(!to, "%s", path);
	for (unsigned i = 0; i < c->count; i = end) {
		end = end_of_file(c, i);
		write_file(c, i, end, to);
	}
	const bool failed = ferror(to);

	NVW_FAIL_ERRNO_IF(fclose(to) != 0 || failed, "%s", path);
	return 0;
}
