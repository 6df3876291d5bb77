/* SPDX-License-Identifier: BSD-3-Clause */
/* A heat map, with its values written into it. See script.h. */
#include "core/invariant.h"

#include "script.h"

#include <math.h>

/* Four digits, which are enough for a reader and leave room. */
static int value_text(double value, char text[32])
{
	return snprintf(text, 32, fabs(value) >= 1000 ? "%.0f" : "%.3g", value);
}

/* Whether every cell has room for its value. */
static bool has_room(const struct script *s)
{
	const struct plot *const p = s->p;
	char text[32];

	return !NVW_ANY(cell, p->cell, plot_cell_count(p),
		       cell->count && (unsigned)value_text(cell->middle / s->y_scale, text) >=
					      s->wide / p->at.count) &&
	       p->of.count <= s->p->paper.high / 2 && s->wide >= p->at.count;
}

/* The values are written into their cells, light on dark and dark on light. */
static void print_values(const struct script *s, double middle)
{
	const struct plot *const p = s->p;
	char text[32];

	NVW_FOR(i, plot_cell_count(p)) {
		const double value = p->cell[i].middle / s->y_scale;

		if (p->cell[i].count) {
			value_text(value, text);
			fprintf(s->to, "set label '%s' at first %u, first %u center front tc rgb '%s'\n",
				text, i % p->at.count, i / p->at.count,
				value < middle ? "#ffffff" : "#000000");
		}
	}
}

/* The middle of all values, which decides on the colour of their texts. */
static double print_range(const struct script *s)
{
	const struct plot *const p = s->p;
	double least = INFINITY, most = -INFINITY;

	NVW_EACH(cell, p->cell, plot_cell_count(p)) {
		if (cell->count) {
			least = fmin(least, cell->middle / s->y_scale);
			most = fmax(most, cell->middle / s->y_scale);
		}
	}
	if (least == most) {
		fprintf(s->to, "set cbrange [%.9g:%.9g]\n", least - 1, most + 1);
		return least + 1;
	}
	return least + 0.5 * (most - least);
}

static void print_cells(const struct script *s, const struct plot *p)
{
	fputs("$cells << EOD\n", s->to);
	NVW_FOR(i, plot_cell_count(p)) {
		if (p->cell[i].count) {
			fprintf(s->to, "%u %u %.9g\n", i % p->at.count, i / p->at.count,
				p->cell[i].middle / s->y_scale);
		}
	}
	fputs("EOD\nplot $cells using 1:2:(0.5):(0.5):3 with boxxyerror fc palette fs solid noborder\n",
		s->to);
}

void script_heat(const struct script *s)
{
	const struct plot *const p = s->p;
	char label[PLOT_LABEL_BYTES];
	double ignored;

	NVW_INVARIANT(p->kind == PLOT_HEAT);
	script_heat_axes(s);
	plot_label(p->series, p->series_is_axis, plot_series_name(p), 0, s->p->paper.high, label, &ignored);
	script_set(s, "ylabel", label, "\n");
	fprintf(s->to,
		"set xrange [-0.5:%.1f]\nset yrange [-0.5:%.1f]\nunset key\nunset grid\n"
		"set palette defined (0 '#00204c', 1 '#31446b', 2 '#666970', 3 '#958f78', 4 '#cbba69', "
		"5 '#ffe945')\n",
		p->at.count - 0.5, p->of.count - 0.5);
	const double middle = print_range(s);

	script_failures(s);
	if (has_room(s)) {
		print_values(s, middle);
	}
	print_cells(s, p);
}
