/* SPDX-License-Identifier: BSD-3-Clause */
/* See coverage.h. */
#include "coverage.h"

#include <stdlib.h>
#include <string.h>

#include <nvw/errors.h>

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

	return slash == NULL ? 0 : (size_t)(slash - file);
}

static bool in_one_folder(const char *a, const char *b)
{
	const size_t n = folder_length(a);

	return n == folder_length(b) && strncmp(a, b, n) == 0;
}

/* Has the run executed an access in this file's folder? */
static bool is_of_the_run(const char *file, const uint8_t *executed, unsigned sites)
{
	for (unsigned i = 0; i < sites; i++) {
		if (executed[i] && in_one_folder(nvw__site(i)->file, file)) {
			return true;
		}
	}
	return false;
}

static int by_place(const void *a, const void *b)
{
	const struct ct_statement *const x = a, *const y = b;
	const int files = strcmp(x->file, y->file);

	if (files != 0) {
		return files;
	}
	if (x->line != y->line) {
		return x->line < y->line ? -1 : 1;
	}
	return strcmp(x->function, y->function);
}

/* A line may have several accesses, and a header's are in each file that includes it. */
static void join_equal(struct ct_coverage *c)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < c->count; i++) {
		const bool again = kept > 0 && by_place(&c->statement[kept - 1], &c->statement[i]) == 0;

		if (again) {
			c->statement[kept - 1].executed |= c->statement[i].executed;
		} else {
			c->statement[kept++] = c->statement[i];
		}
	}
	c->count = kept;
}

static bool in_one_function(const struct ct_statement *a, const struct ct_statement *b)
{
	return strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0;
}

/* Statements of a function are neighbours. */
static void count(struct ct_coverage *c)
{
	bool counted = false;

	for (unsigned i = 0; i < c->count; i++) {
		if (i == 0 || !in_one_function(&c->statement[i - 1], &c->statement[i])) {
			c->functions++;
			counted = false;
		}
		if (!c->statement[i].executed) {
			continue;
		}
		c->executed++;
		c->functions_executed += !counted;
		counted = true;
	}
}

int ct_coverage_of(const uint8_t *executed, struct ct_coverage *ret_coverage)
{
	const unsigned sites = nvw__site_count();
	struct ct_coverage c = {.statement = calloc(sites + 1, sizeof *c.statement)};

	if (c.statement == NULL) {
		return nvw_fail(NVW_E_MEMORY, "no memory for the statements of the workload");
	}
	for (unsigned i = 0; i < sites; i++) {
		const struct nvw_site *const s = nvw__site(i);

		if (persists(s) && is_of_the_run(s->file, executed, sites)) {
			c.statement[c.count++] =
				(struct ct_statement){s->file, s->function, s->line, executed[i]};
		}
	}
	qsort(c.statement, c.count, sizeof *c.statement, by_place);
	join_equal(&c);
	count(&c);
	*ret_coverage = c;
	return 0;
}

void ct_coverage_free(struct ct_coverage *c)
{
	free(c->statement);
	*c = (struct ct_coverage){0};
}
