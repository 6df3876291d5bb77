/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a sweep may replace the table in its place (former.h). */
#include "core/bounds.h"
#include "core/invariant.h"
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

int sweep_check_former(const struct sweep *s, const char *table)
{
	struct table_plan plan = {.kind = "sweep", .command = s->command};
	const int error = NVW_OR(plan_points(s, &plan), former_check(&plan, table));

	table_plan_end(&plan);
	return error;
}
