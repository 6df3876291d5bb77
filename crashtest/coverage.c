/* SPDX-License-Identifier: BSD-3-Clause */
/* See coverage.h. */
#include "coverage.h"

#include <stdlib.h>
#include <string.h>

#include <nvw/errors.h>

#include "core/bounds.h"
#include "core/each.h"
#include "core/order.h"
#include "device/sites.h"

static bool persists(const struct nvw_site *site)
{
	switch (site->kind) {
	case NVW__LOAD:
	case NVW__LOAD_READ_ONLY:
	case NVW__ATOMIC_LOAD:
	case NVW__BARRIER:
	case NVW__USE:
	case NVW__WORK:
		return false;
	default:
		return true;
	}
}

static size_t folder_length(const char *file)
{
	const char *const slash = strrchr(file, '/');

	return !slash ? 0 : (size_t)(slash - file);
}

static bool in_one_folder(const char *a, const char *b)
{
	const size_t n = folder_length(a);

	return n == folder_length(b) && !strncmp(a, b, n);
}

/* Has the run executed an access in this file's folder? */
static bool is_of_the_run(const char *file, const uint8_t *executed, unsigned sites)
{
	return NVW_ANY_BELOW(i, sites, executed[i] && in_one_folder(nvw__site(i)->file, file));
}

/* Functions of a program may be within others: lambdas. */
static int by_function(const void *a, const void *b)
{
	const struct ct_statement *const x = a, *const y = b;
	const int files = strcmp(x->file, y->file), first = NVW_ORDER(x->first_line, y->first_line),
		  names = strcmp(x->function, y->function);

	return NVW_OR(NVW_OR(files, first), NVW_OR(names, NVW_ORDER(x->line, y->line)));
}

static int by_place(const void *a, const void *b)
{
	const struct ct_statement *const x = a, *const y = b;

	return NVW_OR(strcmp(x->file, y->file),
		NVW_OR(NVW_ORDER(x->line, y->line), strcmp(x->function, y->function)));
}

/* A line may have several accesses, and a header's are in each file that includes it. */
static void join_equal(struct ct_coverage *c)
{
	unsigned kept = 0;

	NVW_EACH(statement, c->statement, c->count) {
		const bool again = kept > 0 && by_place(&c->statement[kept - 1], statement) == 0;

		if (again) {
			c->statement[kept - 1].executed |= statement->executed;
			c->statement[kept - 1].flushes |= statement->flushes;
			c->statement[kept - 1].reached |= statement->reached;
		} else {
			c->statement[kept++] = *statement;
		}
	}
	c->count = kept;
}

static bool in_one_function(const struct ct_statement *a, const struct ct_statement *b)
{
	return !strcmp(a->function, b->function) && !strcmp(a->file, b->file);
}

/* Statements of a function are neighbours. */
static void count_all(struct ct_coverage *c)
{
	bool executed = false, reached = false;

	NVW_FOR(i, c->count) {
		const struct ct_statement *const s = &c->statement[i];

		if (i == 0 || !in_one_function(s - 1, s)) {
			c->functions++;
			executed = reached = false;
		}
		c->executed += s->executed;
		c->functions_executed += s->executed && !executed;
		executed |= s->executed;
		c->reached += s->reached;
		c->functions_reached += s->reached && !reached;
		reached |= s->reached;
	}
}

/* They are in the order of their functions' names, and come into that of the functions' places. */
static void note_first_lines(struct ct_coverage *c)
{
	NVW_FOR(i, c->count) {
		struct ct_statement *const s = &c->statement[i];

		s->first_line = i > 0 && in_one_function(s - 1, s) ? s[-1].first_line : s->line;
	}
}

int ct_coverage_of(const uint8_t *executed, struct ct_coverage *ret_coverage)
{
	const unsigned sites = nvw__site_count();
	struct ct_coverage c = {.statement = calloc(sites + 1, sizeof *c.statement)};

	NVW_ALLOCATED(c.statement, "no memory for the statements of the workload");
	NVW_FOR(i, sites) {
		const struct nvw_site *const s = nvw__site(i);

		if (persists(s) && is_of_the_run(s->file, executed, sites)) {
			c.statement[c.count++] = (struct ct_statement){.file = s->file,
				.function = s->function,
				.line = s->line,
				.executed = executed[i]};
		}
	}
	qsort(c.statement, c.count, sizeof *c.statement, by_place);
	join_equal(&c);
	count_all(&c);
	*ret_coverage = c;
	return 0;
}

/* ---- Programs ------------------------------------------------------------------------------------ */

static const char *keep_text(char **to, const char *text)
{
	char *const kept = *to;

	*to = stpcpy(kept, text) + 1;
	return kept;
}

static int by_names(const void *a, const void *b)
{
	const struct ct_statement *const x = a, *const y = b;

	return NVW_OR(strcmp(x->file, y->file), strcmp(x->function, y->function));
}

/* Those of functions that have statements, which are in the order of their names. */
static void keep_branches(struct ct_coverage *c)
{
	unsigned kept = 0;

	NVW_EACH(branch, c->branch, c->branches) {
		const struct ct_statement b = *branch;

		if (bsearch(&b, c->statement, c->count, sizeof b, by_names)) {
			c->branch[kept++] = b;
			c->branches_both += b.executed && b.reached;
			c->branches_one += b.executed != b.reached;
		}
	}
	c->branches = kept;
	qsort(c->branch, kept, sizeof *c->branch, by_function);
}

static struct ct_statement *room_for(struct ct_coverage *c, bool is_branch)
{
	return is_branch ? &c->branch[c->branches++] : &c->statement[c->count++];
}

static void sort_statements(struct ct_coverage *c)
{
	NVW_INVARIANT(c->count > 0);
	qsort(c->statement, c->count, sizeof *c->statement, by_function);
}

static void order_statements(struct ct_coverage *c)
{
	if (c->count > 0) {
		sort_statements(c);
		join_equal(c);
		keep_branches(c);
		note_first_lines(c);
		sort_statements(c);
	}
}

int ct_coverage_of_program(
	const struct ct_statement *statement, unsigned count, struct ct_coverage *ret_coverage)
{
	size_t bytes = 1;

	NVW_EACH(one, statement, count) {
		bytes += strlen(one->file) + strlen(one->function) + 2;
	}
	struct ct_coverage c = {.statement = calloc(count + 1, sizeof *c.statement),
		.branch = calloc(count + 1, sizeof *c.branch),
		.of_program = true,
		.texts = malloc(bytes)};
	char *at = c.texts;

	if (!c.statement || !c.branch || !c.texts) {
		ct_coverage_free(&c);
		return nvw_fail(NVW_E_MEMORY, "no memory for the statements of the program");
	}
	NVW_EACH(one, statement, count) {
		struct ct_statement *const s = room_for(&c, one->is_branch);

		*s = *one;
		s->file = keep_text(&at, one->file);
		s->function = keep_text(&at, one->function);
		s->first_line = 0;
	}
	order_statements(&c);
	count_all(&c);
	*ret_coverage = c;
	return 0;
}

void ct_coverage_free(struct ct_coverage *c)
{
	free(c->statement);
	free(c->branch);
	free(c->texts);
	*c = (struct ct_coverage){0};
}
