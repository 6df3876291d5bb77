/* SPDX-License-Identifier: BSD-3-Clause */
/* Where values stand in a figure, and whether they cover each other. See script.h. */
#include "script.h"
#include "core/invariant.h"

#include <math.h>

enum { BESIDE_MAX = 24 }; /* places on an axis on which series stand beside each other */

/* ---- Values -------------------------------------------------------------------------------------- */

/* The least and the most of all values. */
void plot_range(const struct plot *p, double *ret_least, double *ret_most)
{
	*ret_least = INFINITY;
	*ret_most = -INFINITY;
	NVW_EACH(cell, p->cell, plot_cell_count(p)) {
		if (cell->count) {
			*ret_least = fmin(*ret_least, cell->low);
			*ret_most = fmax(*ret_most, cell->high);
		}
	}
}

double plot_largest(const struct plot *p)
{
	double least, most;

	plot_range(p, &least, &most);
	return fmax(fabs(least), fabs(most));
}

/* ---- Places on the horizontal axis --------------------------------------------------------------- */

/* Whether the horizontal axis has numbers at their places, not names side by side. */
bool plot_is_scaled(const struct plot *p)
{
	return p->at.numbers && (p->kind == PLOT_LINES || p->kind == PLOT_POINTS);
}

double script_number(const struct script *s, unsigned at)
{
	NVW_INVARIANT(at < s->p->at.count);
	if (!plot_is_scaled(s->p)) {
		return at;
	}
	return s->p->at.number[at] / s->x_scale;
}

/* A place along the axis: its logarithm if the axis is logarithmic. */
double script_place(const struct script *s, unsigned at)
{
	const double number = script_number(s, at);

	return s->p->log_x ? log(number) : number;
}

/* Where a series has its value: beside the others', if so decided; bars always. */
double script_position(const struct script *s, unsigned of, unsigned at)
{
	NVW_INVARIANT(of < s->p->of.count && at < s->p->at.count);
	return script_number(s, at) + (of - (s->p->of.count - 1) / 2.0) * s->beside;
}

/* Where a value stands between the least and the most: 0 to 1. */
static double place_between(double value, double least, double most)
{
	return most > least ? (value - least) / (most - least) : 0;
}

static double height(const struct plot *p, double value, double least, double most)
{
	if (p->log_y) {
		return place_between(log(value), log(least), log(most));
	}
	return place_between(value, fmin(least, 0), most);
}

/* Whether the first one is at most a point above the second. */
static bool is_near(const struct plot *p, double low, double high, double least, double most)
{
	const double point = 0.022; /* the height of one */

	return height(p, low, least, most) < height(p, high, least, most) + point;
}

static bool cover(
	const struct plot *p, const struct plot_cell *a, const struct plot_cell *b, double least, double most)
{
	return a->count && b->count && is_near(p, a->low, b->high, least, most) &&
	       is_near(p, b->low, a->high, least, most);
}

static bool covers_earlier(const struct plot *p, unsigned of, unsigned at, double least, double most)
{
	NVW_INVARIANT(of < p->of.count);
	return NVW_ANY_BELOW(i, of, cover(p, plot_cell(p, of, at), plot_cell(p, i, at), least, most));
}

static bool cover_at(const struct plot *p, unsigned at, double least, double most)
{
	NVW_INVARIANT(at < p->at.count);
	for (unsigned a = 1; a < p->of.count; a++) {
		if (covers_earlier(p, a, at, least, most)) {
			return true;
		}
	}
	return false;
}

bool plot_covers(const struct plot *p)
{
	double least, most;

	plot_range(p, &least, &most);
	return NVW_ANY_BELOW(at, p->at.count, cover_at(p, at, least, most));
}

/* Lines over names, of several series of which some cover each other: far enough apart for their points, and
 * nearer than their places. */
double script_beside(const struct script *s)
{
	const struct plot *const p = s->p;
	const double of_axis = 0.014;

	NVW_INVARIANT(p->of.count > 0);
	if (p->kind == PLOT_BARS) {
		return 0.8 / p->of.count;
	}
	if (p->kind != PLOT_LINES || !s->cover || p->at.count > BESIDE_MAX || plot_is_scaled(p)) {
		return 0;
	}
	if (p->at.count < 2) {
		return 0.03; /* of an axis of the width 2 */
	}
	return fmin(of_axis * (p->at.count - 1), 0.6 / p->of.count);
}
