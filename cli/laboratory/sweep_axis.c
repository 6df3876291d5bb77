/* SPDX-License-Identifier: BSD-3-Clause */
/* Axes and the values of points on them. See sweep.h. */
#include <string.h>

#include "core/invariant.h"
#include "core/text_stream.h"
#include "sweep.h"

int sweep_axis_named(const struct sweep *s, const char *name)
{
	NVW_FOR(i, s->axis_count) {
		if (!strcmp(s->axis[i].name, name)) {
			return (int)i;
		}
	}
	return -1;
}

const char *sweep_behind(const char *text, const char *separators)
{
	const char *const at = strpbrk(text, separators);

	return at ? at + 1 : NULL;
}

const char *sweep_value(const struct sweep *s, const struct sweep_point *p, unsigned axis)
{
	NVW_INVARIANT(axis < s->axis_count && p->choice[axis] < s->axis[axis].count);
	return s->axis[axis].value[p->choice[axis]];
}

/* Axes with one value are left out if others vary. */
char *sweep_point_text(const struct sweep *s, const struct sweep_point *p)
{
	struct text_stream t;
	const char *separator = "";
	const bool varies = NVW_ANY(axis, s->axis, s->axis_count, axis->count > 1);

	if (!text_begin(&t)) {
		return NULL;
	}
	NVW_FOR(i, s->axis_count) {
		if (!varies || s->axis[i].count > 1) {
			fprintf(t.to, "%s%s=%s", separator, s->axis[i].name, sweep_value(s, p, i));
			separator = " ";
		}
	}
	return text_end(&t);
}
