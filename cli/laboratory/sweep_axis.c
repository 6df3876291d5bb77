/* SPDX-License-Identifier: BSD-3-Clause */
/* Axes and the values of points on them. See sweep.h. */
#include <string.h>

#include "sweep.h"

int sweep_axis_named(const struct sweep *s, const char *name)
{
	for (unsigned i = 0; i < s->axis_count; i++) {
		if (!strcmp(s->axis[i].name, name)) {
			return (int)i;
		}
	}
	return -1;
}

const char *sweep_value(const struct sweep *s, const struct sweep_point *p, unsigned axis)
{
	return s->axis[axis].value[p->choice[axis]];
}

char *sweep_point_text(const struct sweep *s, const struct sweep_point *p)
{
	char *text = NULL;
	size_t bytes;
	FILE *const f = open_memstream(&text, &bytes);
	unsigned varying = 0;

	for (unsigned i = 0; f && i < s->axis_count; i++) {
		if (s->axis[i].count > 1) {
			fprintf(f, "%s%s=%s", varying++ ? " " : "", s->axis[i].name, sweep_value(s, p, i));
		}
	}
	for (unsigned i = 0; f && !varying && i < s->axis_count; i++) {
		fprintf(f, "%s%s=%s", i ? " " : "", s->axis[i].name, sweep_value(s, p, i));
	}
	return f && fclose(f) == 0 ? text : NULL;
}
