/* SPDX-License-Identifier: BSD-3-Clause */
/* See plot_measure.h. */
#include "plot_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "core/order.h"

#include "../laboratory/confidence.h"
#include "plot_rows.h"

/* From the least row to the most. */
static bool draws_all(const struct plot *p)
{
	return p->kind == PLOT_POINTS || p->shows == PLOT_MEDIAN;
}

static void measure_median(struct plot_cell *c)
{
	const unsigned last = c->count - 1;

	c->middle = (c->value[last / 2] + c->value[c->count / 2]) / 2;
	c->low = *c->value;
	c->high = c->value[last];
}

/* What cannot be below 0 is not drawn there, nor what has no logarithm. */
static double cut_low(const struct plot *p, const struct plot_cell *c, double low)
{
	if (p->log_y && low <= 0) {
		return c->middle / 10;
	}
	return c->value[0] >= 0 ? fmax(low, 0) : low;
}

/* Nor has a part more than the whole. */
static double cut_high(const struct plot *p, const struct plot_cell *c, double high)
{
	return p->of_column && c->value[c->count - 1] <= 100 ? fmin(high, 100) : high;
}

static void measure_mean(const struct plot *p, struct plot_cell *c)
{
	const struct confidence mean = confidence_of(c->value, c->count);

	c->middle = c->low = c->high = mean.mean;
	if (mean.half > 0) {
		c->low = cut_low(p, c, mean.mean - mean.half);
		c->high = cut_high(p, c, mean.mean + mean.half);
		c->half = mean.half;
	}
}

static void measure_cell(const struct plot *p, struct plot_cell *c)
{
	NVW_INVARIANT(c->count > 0);
	qsort(c->value, c->count, sizeof *c->value, nvw_by_double);
	if (draws_all(p)) {
		measure_median(c);
	} else {
		measure_mean(p, c);
	}
}

void plot_measure_cells(struct plot *p)
{
	NVW_EACH(cell, p->cell, plot_cell_count(p)) {
		if (cell->count) {
			measure_cell(p, cell);
		}
	}
}

/* ---- Baseline ------------------------------------------------------------------------------------ */

static bool is_value_of(const char *text, const char *column)
{
	const size_t n = strlen(column);

	return !strncmp(text, column, n) && text[n] == '=';
}

/* The place that the baseline names, in the series or on the horizontal axis. */
static int find_baseline(const struct plot *p, bool *ret_series, unsigned *ret_place)
{
	const struct plot_names *names = &p->at;

	*ret_series = p->series && is_value_of(p->baseline, p->series);
	if (*ret_series) {
		names = &p->of;
	} else if (!is_value_of(p->baseline, p->x)) {
		return nvw_fail(NVW_E_USAGE,
			"plot: --baseline: expected a value of the columns of --x or --series, found \"%s\"",
			p->baseline);
	}
	*ret_place = plot_place_of(names, strchr(p->baseline, '=') + 1);
	NVW_FAIL_IF(*ret_place == names->count, NVW_E_USAGE, "plot: --baseline: no row has %s", p->baseline);
	return 0;
}

/* The interval of a mean is that of the relative errors of both. */
static void divide_cell(const struct plot *p, struct plot_cell *c, const struct plot_cell *by, bool is_base)
{
	const struct confidence ratio = confidence_ratio((struct confidence){c->middle, c->half},
		(struct confidence){by->middle, is_base ? 0 : by->half});

	if (!(by->middle > 0) || !by->count) {
		c->count = 0;
		return;
	}
	c->low /= by->middle;
	c->high /= by->middle;
	c->middle = ratio.mean;
	if (p->shows == PLOT_MEAN) {
		const double half = is_base ? 0 : ratio.half;

		c->low = cut_low(p, c, c->middle - half);
		c->high = c->middle + half;
	}
}

static struct plot_cell *base_of(struct plot *p, unsigned cell, bool is_series, unsigned place)
{
	const unsigned at = cell % p->at.count, of = cell / p->at.count;

	NVW_INVARIANT(is_series || place < p->at.count);
	return is_series ? &p->cell[place * p->at.count + at] : &p->cell[of * p->at.count + place];
}

/* The baseline's own cells come last. */
int plot_divide(struct plot *p)
{
	const unsigned cells = plot_cell_count(p);
	bool is_series;
	unsigned place;

	NVW_INVARIANT(cells > 0);
	NVW_TRY(find_baseline(p, &is_series, &place));
	NVW_FOR(turn, 2) {
		NVW_FOR(i, cells) {
			struct plot_cell *const base = base_of(p, i, is_series, place);
			const bool is_base = base == &p->cell[i];

			if (is_base == (turn == 1)) {
				divide_cell(p, &p->cell[i],
					&(struct plot_cell){.count = base->count,
						.middle = base->middle,
						.half = base->half},
					is_base);
			}
		}
	}
	return 0;
}
