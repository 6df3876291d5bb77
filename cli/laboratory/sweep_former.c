/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a sweep may replace the table in its place (former.h). Its columns say of which command it is. */
#include "core/bounds.h"
#include "core/invariant.h"
#include "../report/numbers.h"
#include "former.h"
#include "sweep.h"

static int plan_point(const struct sweep *s, const struct sweep_point *point, struct table_plan *plan)
{
	const char *values[SWEEP_AXES_MAX];

	NVW_INVARIANT(plan->axes == s->axis_count);
	NVW_FOR(i, s->axis_count) {
		values[i] = sweep_value(s, point, i);
	}
	return table_plan_add(plan, values);
}

static void plan_axes(const struct sweep *s, struct table_plan *plan)
{
	plan->axes = s->axis_count;
	NVW_FOR(i, s->axis_count) {
		plan->axis[i] = s->axis[i].name;
	}
}

static int plan_points(const struct sweep *s, struct table_plan *plan)
{
	plan_axes(s, plan);
	NVW_EACH(point, s->point, s->count) {
		NVW_TRY(plan_point(s, point, plan));
	}
	return 0;
}

/* Whether the table has the numbers of another command's reports, and none of this one's. */
static bool has_other_command(const struct former *f, const char *command)
{
	static const char *const commands[] = {"run", "crash", "torture", "litmus"};
	bool has_other = false;

	NVW_INVARIANT(f->axes <= f->table.columns);
	for (unsigned i = f->axes; i < f->table.columns; i++) {
		const char *const name = sweep_behind_protocol(f->table.field[i]);

		if (cli_number_is_of("any", name)) {
			continue;
		}
		if (cli_number_is_of(command, name)) {
			return false;
		}
		has_other = has_other ||
			    NVW_ANY(one, commands, NVW_COUNT(commands), cli_number_is_of(*one, name));
	}
	return has_other;
}

static int check_table(const struct sweep *s, const struct former *f)
{
	if (f->table.rows == 0) {
		return 0;
	}
	if (has_other_command(f, s->command)) {
		return former_refuse(f, "this is the table of another command than ", s->command);
	}
	return former_check_points(f);
}

int sweep_check_former(const struct sweep *s, const char *table)
{
	struct table_plan plan = {.kind = "sweep"};
	struct former f = {.plan = &plan};
	int error = plan_points(s, &plan);

	error = NVW_OR(error, former_open(&plan, table, &f));
	error = NVW_OR(error, check_table(s, &f));
	former_end(&f);
	table_plan_end(&plan);
	return error;
}
