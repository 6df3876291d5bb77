/* SPDX-License-Identifier: BSD-3-Clause */
/* See program_coverage.h. */
#include "core/array.h"
#include "core/bounds.h"
#include "core/invariant.h"

#include "program_coverage.h"

#include <stdlib.h>

struct statements {
	struct ct_statement *at;
	unsigned count, room;
};

static int meet_statement(void *context, const struct host_statement *s)
{
	struct statements *const all = context;

	NVW_INVARIANT(all->count <= all->room);
	NVW_GROWN(all->at, all->room, all->count + 1, "no memory for the coverage of a program");
	all->at[all->count++] = (struct ct_statement){.file = s->file,
		.function = s->function,
		.line = s->line,
		.executed = s->executed,
		.flushes = s->flushes,
		.reached = s->reached,
		.is_branch = s->is_branch};
	return 0;
}

int program_coverage_take(const struct host_coverage *coverage, struct ct_result *result)
{
	struct statements all = {0};
	int error = host_coverage_each(coverage, meet_statement, &all);

	if (!error && all.count > 0) {
		error = ct_coverage_of_program(all.at, all.count, &result->coverage);
	}
	free(all.at);
	return error;
}
