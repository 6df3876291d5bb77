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

/* How many of a list, from its first on, are of one function. */
static unsigned in_function(const struct ct_statement *first, unsigned count)
{
	NVW_INVARIANT(count > 0);
	return NVW_INDEX(i, count, !in_one_function(first, first + i));
}

static unsigned executed_of(const struct ct_statement *first, unsigned count)
{
	unsigned executed = 0;

	NVW_EACH(s, first, count) {
		executed += s->executed;
	}
	NVW_INVARIANT(executed <= count);
	return executed;
}

/* ---- Text ---------------------------------------------------------------------------------------- */

/* The count statements, or branches, of a function: what it is worth to a reader, 0 to 2, and its words. */
struct told {
	unsigned (*worth)(const struct ct_coverage *c, const struct ct_statement *first, unsigned count);
	void (*print)(const struct ct_statement *first, unsigned count, FILE *to);
};

/* "all of split_root (insert.c:410)", or "merge_pair (insert.c:230, 235)". */
static void print_function(const struct ct_statement *first, unsigned count, FILE *to)
{
	const char *before = ":";

	if (executed_of(first, count) == 0) {
		fprintf(to, "all of %s (%s:%u)", first->function, basename(first->file), first->line);
		fputs(words_if(NVW_ANY(s, first, count, s->flushes), ", which flushes"), to);
		return;
	}
	fprintf(to, "%s (%s", first->function, basename(first->file));
	NVW_EACH(s, first, count) {
		if (!s->executed) {
			fprintf(to, "%s%u", before, s->line);
			before = ", ";
		}
	}
	fputc(')', to);
}

/* 2 if it flushes, and so handles persistent memory, and none of it was executed; 1 if some of it was not; 0
 * if all of it was. */
static unsigned worth(const struct ct_coverage *c, const struct ct_statement *first, unsigned count)
{
	const unsigned executed = executed_of(first, count);

	if (executed == count) {
		return 0;
	}
	return 1 + (executed == 0 && NVW_ANY(s, first, count, s->flushes));
}

/* The functions of a list, those first that are worth most. */
static void print_functions(const struct ct_coverage *c, const struct ct_statement *list, unsigned count,
	const struct told *told, FILE *to)
{
	unsigned functions = 0, n;

	for (unsigned wanted = 2; wanted > 0; wanted--) {
		for (unsigned i = 0; i < count; i += n) {
			n = in_function(list + i, count - i);
			if (told->worth(c, list + i, n) != wanted || functions++ >= PLACES_SHOWN) {
				continue;
			}
			fputs(words_if(functions > 1, "; "), to);
			told->print(list + i, n, to);
		}
	}
	if (functions > PLACES_SHOWN) {
		fprintf(to, "; and in %u more function%s", functions - PLACES_SHOWN,
			plural(functions - PLACES_SHOWN));
	}
	fputc('\n', to);
}

static void print_missed(const struct ct_coverage *c, FILE *to)
{
	fputs("not executed: ", to);
	print_functions(c, c->statement, c->count, &(struct told){worth, print_function}, to);
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

/* "put (kv.c:20, 34)": each line once. */
static void print_one_way(const struct ct_statement *first, unsigned count, FILE *to)
{
	const char *before = ":";
	unsigned line = 0;

	fprintf(to, "%s (%s", first->function, basename(first->file));
	NVW_EACH(b, first, count) {
		if (went_one_way(b) && b->line != line) {
			fprintf(to, "%s%u", before, b->line);
			line = b->line;
			before = ", ";
		}
	}
	fputc(')', to);
}

/* 2 of functions of which statements were left out, behind such a branch perhaps; 0: all branches went both
 * ways or none. */
static unsigned worth_of_branches(
	const struct ct_coverage *c, const struct ct_statement *first, unsigned count)
{
	if (!NVW_ANY(b, first, count, went_one_way(b))) {
		return 0;
	}
	return 1 + left_statements_out(c, first);
}

static void print_all_one_way(const struct ct_coverage *c, FILE *to)
{
	fputs("one way: ", to);
	print_functions(c, c->branch, c->branches, &(struct told){worth_of_branches, print_one_way}, to);
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
	if (c->count == 0) {
		return NULL;
	}
	json_t *const missed = json_array();

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

static void write_functions(const struct ct_statement *first, unsigned count, FILE *to)
{
	unsigned functions = 0, executed = 0;

	NVW_INVARIANT(count > 0);
	for (unsigned i = 0, n; i < count; i += n) {
		const struct ct_statement *const s = &first[i];

		n = in_function(s, count - i);
		const bool was_executed = executed_of(s, n) > 0;

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

/* count: its statements. */
static void write_file(
	const struct ct_coverage *c, const struct ct_statement *first, unsigned count, FILE *to)
{
	fprintf(to, "TN:nvwave\nSF:%s\n", cli_source_path(first->file));
	write_functions(first, count, to);
	write_branches(c, first->file, to);
	NVW_EACH(s, first, count) {
		fprintf(to, "DA:%u,%d\n", s->line, s->executed);
	}
	fprintf(to, "LF:%u\nLH:%u\nend_of_record\n", count, executed_of(first, count));
}

int cli_write_statements(const struct ct_coverage *c, const char *path)
{
	NVW_FAIL_IF(c->count == 0, NVW_E_INPUT,
		"--coverage: no statements of the program are known: build it with nvwave-cc, and do "
		"not strip it");
	FILE *const to = fopen(path, "w");

	NVW_FAIL_ERRNO_IF(!to, "%s", path);
	for (unsigned i = 0, n; i < c->count; i += n) {
		const struct ct_statement *const first = &c->statement[i];

		n = NVW_INDEX(k, c->count - i, strcmp(first[k].file, first->file) != 0);
		write_file(c, first, n, to);
	}
	const bool failed = ferror(to);

	NVW_FAIL_ERRNO_IF(fclose(to) != 0 || failed, "%s", path);
	return 0;
}
