/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gnuplot's script for a figure. Colour-blind readers can tell the colours apart (plot_paper.c); in grey
 * print the series differ by their points and dashes, or by the hatching of bars. A heat map goes from dark
 * to light in one order of brightness and has its values written into it.
 *
 * Letters are counted, to see whether names have room: those of the horizontal axis are turned, and the key
 * goes below the figure, where they have not. Series that would cover each other are drawn beside each other
 * where the horizontal axis has names. Where it has numbers each point is at its number: there the series
 * drawn first are wider, and are seen behind the later ones.
 */
#include "script.h"

#include "core/bounds.h"
#include "core/invariant.h"

enum { KEY_ROOM = 7 };

static int check_plot(const struct plot *p)
{
	double least, most;

	plot_range(p, &least, &most);
	NVW_FAIL_IF(p->baseline && !(least <= most), NVW_E_USAGE,
		"plot: --baseline=%s: nothing is left: it has no values above 0", p->baseline);
	NVW_FAIL_IF(p->log_y && least <= 0, NVW_E_USAGE, "plot: --scale: %s has values that are not above 0",
		p->y);
	NVW_FAIL_IF(p->log_x && p->kind == PLOT_BARS, NVW_E_USAGE,
		"plot: --scale: bars stand side by side: a logarithmic "
		"horizontal axis needs lines or points");
	NVW_FAIL_IF(p->log_x && (!p->at.numbers || p->at.number[0] <= 0), NVW_E_USAGE,
		"plot: --scale: the horizontal axis of %s has more than numbers above 0", p->x);
	NVW_FAIL_IF(p->kind == PLOT_POINTS && !p->at.numbers, NVW_E_USAGE,
		"plot: --kind=points: expected numbers in the column %s of --x", p->x);
	return 0;
}

/* The key is beside the figure if its names are short. */
static void lay_out(struct script *s)
{
	const struct plot *const p = s->p;
	const unsigned longest = plot_longest(&p->of);

	s->wide = s->p->paper.wide - AXIS_ROOM;
	if (p->kind == PLOT_HEAT) {
		s->wide -= (unsigned)nvw_min(longest, NAME_WIDE) + AXIS_ROOM;
	} else if (p->series && (longest > KEY_WIDE || script_is_narrow(s))) {
		s->key_below = true;
	} else if (p->series && longest) {
		s->wide -= longest + KEY_ROOM;
	}
}

int plot_script(const struct plot *p, const char *path, bool names_output, FILE *to)
{
	static void (*const print[])(const struct script *) = {[PLOT_LINES] = script_lines,
		[PLOT_POINTS] = script_points,
		[PLOT_BARS] = script_bars,
		[PLOT_HEAT] = script_heat};
	struct script s = {.p = p, .to = to};
	char terminal[PLOT_TERMINAL_BYTES];

	NVW_INVARIANT(p->at.count > 0 && p->of.count > 0);
	NVW_TRY(plot_terminal(&p->paper, path, terminal));
	NVW_TRY(check_plot(p));
	lay_out(&s);
	script_head(&s, terminal);
	s.cover = p->of.count > 1 && plot_covers(p);
	s.beside = script_beside(&s);
	if (names_output) {
		script_set(&s, "output", path, "\n");
	}
	print[p->kind](&s);
	NVW_FAIL_ERRNO_IF(fflush(to), "cannot write gnuplot's script");
	return 0;
}
