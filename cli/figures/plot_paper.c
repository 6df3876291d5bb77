/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a figure looks on its page: its size, its letters, its colours. With --size the letters have the size
 * in print that --font names, 8 points by default, and lines and points are as thick as the letters want
 * them. Without it a figure is for a screen. See plot.h.
 */
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"

#include "plot.h"

/* A figure for a screen has 800 by 500 pixels, and letters 15 pixels high. */
enum { SCREEN_WIDE = 74, SCREEN_HIGH = 42, PNG_DOTS = 300 };
static const double screen_pt = 11.25, paper_pt = 8, mm_of_inch = 25.4, pt_of_inch = 72, px_of_inch = 96;
static const double narrow_mm = 120; /* there the key takes height */
static const char standard_font[] = "DejaVu Sans";

static const char *const palettes[][PLOT_COLOURS] = {
	/* Okabe and Ito */
	{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"},
	/* Paul Tol, bright; black for its grey, which is too light for lines */
	{"#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#000000"},
	/* for print without colours */
	{"#000000", "#666666", "#999999", "#333333", "#808080", "#B3B3B3", "#4D4D4D"},
};

const char *plot_colour(const struct plot_paper *paper, unsigned i)
{
	NVW_INVARIANT(paper->palette < NVW_COUNT(palettes));
	return palettes[paper->palette][i % PLOT_COLOURS];
}

/* ---- Sizes --------------------------------------------------------------------------------------- */

/* "85mm" -> 85; moves behind it. 0: it is no length. */
static double read_length(const char **text)
{
	static const struct {
		const char *unit;
		double mm;
	} units[] = {{"mm", 1}, {"cm", 10}, {"in", 25.4}, {"pt", 25.4 / 72}};
	char *end;
	const double number = strtod(*text, &end);

	NVW_EACH_IN(unit, units) {
		const size_t n = strlen(unit->unit);

		if (end > *text && !strncmp(end, unit->unit, n)) {
			*text = end + n;
			return number * unit->mm;
		}
	}
	return 0;
}

static bool is_length(double mm)
{
	return mm >= 20 && mm <= 2000;
}

static int read_size(const char *size, struct plot_paper *p)
{
	const char *at = size;

	p->wide_mm = read_length(&at);
	p->high_mm = p->wide_mm * (p->wide_mm < narrow_mm ? 0.75 : 0.625);
	if (*at == 'x') {
		at++;
		p->high_mm = read_length(&at);
	}
	NVW_FAIL_IF(*at || !is_length(p->wide_mm) || !is_length(p->high_mm), NVW_E_USAGE,
		"plot: --size: expected a width such as 85mm, or 85mmx60mm, from 20mm to 2000mm, "
		"found \"%s\"",
		size);
	return 0;
}

/* "NAME", "NAME,SIZE"; in a script it stands in quotes. */
static int read_font(const char *font, struct plot_paper *p)
{
	const char *const comma = strrchr(font, ',');
	char *end = NULL;

	if (comma) {
		p->letters_pt = strtod(comma + 1, &end);
	}
	p->font = strndup(font, comma ? (size_t)(comma - font) : strlen(font));
	NVW_ALLOCATED(p->font, "no memory for a font's name");
	NVW_FAIL_IF(!*p->font || strpbrk(p->font, "'\"\\\n,") || (comma && (end == comma + 1 || *end)) ||
			    !(p->letters_pt >= 4 && p->letters_pt <= 72),
		NVW_E_USAGE,
		"plot: --font: expected a name such as Times, or Times,8 with a size from 4 to 72 "
		"points, found \"%s\"",
		font);
	return 0;
}

int plot_paper(const char *size, const char *font, unsigned palette, struct plot_paper *p)
{
	*p = (struct plot_paper){.letters_pt = size ? paper_pt : screen_pt,
		.palette = palette,
		.wide = SCREEN_WIDE,
		.high = SCREEN_HIGH};
	if (size) {
		NVW_TRY(read_size(size, p));
	}
	if (font) {
		NVW_TRY(read_font(font, p));
	}
	/* as many letters fit as in the figure for a screen, which is 600 by 375 points */
	const double wide_pt = size ? p->wide_mm / mm_of_inch * pt_of_inch : 600;
	const double high_pt = size ? p->high_mm / mm_of_inch * pt_of_inch : 375;

	p->wide = (unsigned)(SCREEN_WIDE * wide_pt / 600 * screen_pt / p->letters_pt);
	p->high = (unsigned)(SCREEN_HIGH * high_pt / 375 * screen_pt / p->letters_pt);
	NVW_FAIL_IF(p->wide < 24 || p->high < 14, NVW_E_USAGE,
		"plot: --size and --font: the figure has room for %u letters side by side and %u "
		"lines: it needs 24 and 14",
		p->wide, p->high / 2);
	return 0;
}

void plot_paper_end(struct plot_paper *p)
{
	free(p->font);
}

double plot_thickness(const struct plot_paper *p)
{
	return p->letters_pt / screen_pt;
}

/* ---- Formats ------------------------------------------------------------------------------------- */

static const char *font_of(const struct plot_paper *p)
{
	return p->font ? p->font : standard_font;
}

static void svg(const struct plot_paper *p, char text[PLOT_TERMINAL_BYTES])
{
	const double px = px_of_inch / mm_of_inch;
	const double letters = p->letters_pt * px_of_inch / pt_of_inch;

	if (!p->wide_mm) {
		snprintf(text, PLOT_TERMINAL_BYTES, "svg size 800,500 font '%s,%.4g' background '#ffffff'",
			font_of(p), letters);
		return;
	}
	snprintf(text, PLOT_TERMINAL_BYTES,
		"svg size %.0f,%.0f font '%s,%.4g' linewidth %.3g background '#ffffff'", p->wide_mm * px,
		p->high_mm * px, font_of(p), letters, plot_thickness(p));
}

/* A point of a font is a pixel and a third. */
static void png(const struct plot_paper *p, char text[PLOT_TERMINAL_BYTES])
{
	const double dots = PNG_DOTS / px_of_inch;

	if (!p->wide_mm) {
		snprintf(text, PLOT_TERMINAL_BYTES,
			"pngcairo size 1600,1000 font '%s,%.4g' linewidth 2 pointscale 2 background "
			"'#ffffff'",
			font_of(p), p->letters_pt * 25 / screen_pt);
		return;
	}
	snprintf(text, PLOT_TERMINAL_BYTES,
		"pngcairo size %.0f,%.0f font '%s,%.4g' linewidth %.3g pointscale %.3g background '#ffffff'",
		p->wide_mm / mm_of_inch * PNG_DOTS, p->high_mm / mm_of_inch * PNG_DOTS, font_of(p),
		p->letters_pt * dots, dots * plot_thickness(p), dots);
}

static void pdf(const struct plot_paper *p, char text[PLOT_TERMINAL_BYTES])
{
	if (!p->wide_mm) {
		snprintf(text, PLOT_TERMINAL_BYTES, "pdfcairo size 16cm,10cm font '%s,%.4g'", font_of(p),
			p->letters_pt * 11 / screen_pt);
		return;
	}
	snprintf(text, PLOT_TERMINAL_BYTES,
		"pdfcairo size %.4gcm,%.4gcm font '%s,%.4g' linewidth %.3g pointscale 0.75", p->wide_mm / 10,
		p->high_mm / 10, font_of(p), p->letters_pt, plot_thickness(p));
}

int plot_terminal(const struct plot_paper *p, const char *path, char text[PLOT_TERMINAL_BYTES])
{
	static const struct {
		const char *end;
		void (*write)(const struct plot_paper *, char text[PLOT_TERMINAL_BYTES]);
	} formats[] = {{".svg", svg}, {".png", png}, {".pdf", pdf}};
	const char *const dot = strrchr(path, '.');

	for (unsigned i = 0; dot && i < NVW_COUNT(formats); i++) {
		if (!strcmp(dot, formats[i].end)) {
			formats[i].write(p, text);
			return 0;
		}
	}
	return nvw_fail(NVW_E_USAGE, "plot: %s: expected a name that ends in .svg, .png or .pdf", path);
}
