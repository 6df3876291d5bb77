/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gnuplot's script for a figure, and the process that draws it. Colours are those of Okabe and Ito, which colour-blind
 * readers can tell apart; in grey print the series differ by their points and dashes, or by the patterns of bars. A heat
 * map goes from dark to light in one order of brightness and has its values written into it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <emu.h>

#include "core/newfile.h"
#include "core/stop.h"
#include "plot.h"

enum { LABEL_MAX = 62, LABEL_BYTES = 256, COLOURS = 7, MESSAGE_BYTES = 400 };

static const char *const colours[COLOURS] = {
	"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};
static const unsigned points[COLOURS] = {7, 5, 9, 11, 13, 4, 6};
static const char *const dashes[] = {"1", "(14,5)", "(5,3)", "(14,4,3,4)", "(2,3)"};

static unsigned cells_of(const struct plot *p)
{
	return p->at.count * p->of.count;
}

static const struct plot_cell *cell(const struct plot *p, unsigned of, unsigned at)
{
	return &p->cell[of * p->at.count + at];
}

/* As gnuplot reads a text in single quotes, which hide everything but the quote itself. */
static void quote(const char *text, FILE *to)
{
	fputc('\'', to);
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("'.\"\\n\".'", to);
			continue;
		}
		if (*text == '\'') {
			fputc('\'', to);
		}
		fputc(*text, to);
	}
	fputc('\'', to);
}

/* ---- Labels -------------------------------------------------------------------------------- */

static const struct emu_stat_info *statistic(const char *name)
{
	unsigned count;
	const struct emu_stat_info *const table = emu_stat_table(&count);

	for (unsigned i = 0; i < count; i++) {
		if (!strcmp(table[i].name, name)) {
			return &table[i];
		}
	}
	return NULL;
}

static double largest(const struct plot *p)
{
	double most = 0;

	for (unsigned i = 0; i < cells_of(p); i++) {
		most = p->cell[i].count ? fmax(most, fabs(p->cell[i].most)) : most;
	}
	return most;
}

/* A time or an energy in the unit that leaves few digits; other units as they are. */
static const char *scaled_unit(const char *unit, double most, double *ret_scale)
{
	static const struct {
		const char *unit, *larger;
		double scale;
	} scales[] = {{"ps", "s", 1e12}, {"ps", "ms", 1e9}, {"ps", "µs", 1e6}, {"ps", "ns", 1e3},
		{"pJ", "mJ", 1e9}, {"pJ", "µJ", 1e6}, {"pJ", "nJ", 1e3}};

	*ret_scale = 1;
	for (unsigned i = 0; i < sizeof scales / sizeof *scales; i++) {
		if (!strcmp(unit, scales[i].unit) && most >= scales[i].scale) {
			*ret_scale = scales[i].scale;
			return scales[i].larger;
		}
	}
	return unit;
}

/* A meaning stands for itself unless it goes on from the statistic before it, or is too long. */
static bool is_label(const char *meaning)
{
	return strlen(meaning) <= LABEL_MAX && strncmp(meaning, "of ", 3) && strncmp(meaning, "by ", 3) &&
	       strncmp(meaning, "because", 7) && !strstr(meaning, "these");
}

static void label_of(const struct plot *p, char text[LABEL_BYTES], double *ret_scale)
{
	const struct emu_stat_info *const info = statistic(p->y);
	const char *const name = info && is_label(info->meaning) ? info->meaning : p->y;
	const char *unit = info && strcmp(info->unit, "count") ? info->unit : "";

	*ret_scale = 1;
	if (p->baseline) {
		snprintf(text, LABEL_BYTES, "%s,\nrelative to %s", name, p->baseline);
		return;
	}
	unit = scaled_unit(unit, largest(p), ret_scale);
	snprintf(text, LABEL_BYTES, *unit ? "%s (%s)" : "%s", name, unit);
}

/* ---- The script ---------------------------------------------------------------------------- */

int plot_format(const char *path, const char **ret_terminal)
{
	static const struct {
		const char *end, *terminal;
	} formats[] = {
		{".svg", "svg size 800,500 font 'DejaVu Sans,15' background '#ffffff'"},
		{".png", "pngcairo size 1600,1000 font 'DejaVu Sans,27' linewidth 2 background '#ffffff'"},
		{".pdf", "pdfcairo size 16cm,10cm font 'DejaVu Sans,11'"},
	};
	const char *const dot = strrchr(path, '.');

	for (unsigned i = 0; dot && i < sizeof formats / sizeof *formats; i++) {
		if (!strcmp(dot, formats[i].end)) {
			*ret_terminal = formats[i].terminal;
			return 0;
		}
	}
	return nvw_fail(NVW_E_USAGE, "plot: %s: expected a name that ends in .svg, .png or .pdf", path);
}

/* Where a name of the horizontal axis stands: at its number, or at 0, 1, 2 ... */
static double position(const struct plot *p, unsigned at)
{
	return p->kind == PLOT_LINES && p->at.numbers ? strtod(p->at.name[at], NULL) : at;
}

/* At 0, 1, 2 ... */
static void print_tics(const char *axis, const struct plot_names *n, FILE *to)
{
	fprintf(to, "set %stics (", axis);
	for (unsigned i = 0; i < n->count; i++) {
		fputs(i ? ", " : "", to);
		quote(n->name[i], to);
		fprintf(to, " %u", i);
	}
	fputs(")\n", to);
}

/* At the values, which rise. One too near to the last one that has its number on the axis has none. */
static void print_log_tics(const struct plot_names *n, double width, FILE *to)
{
	const double apart = 0.05; /* of the axis */
	double numbered = 0;

	fputs("set xtics (", to);
	for (unsigned i = 0; i < n->count; i++) {
		const double at = strtod(n->name[i], NULL);
		const bool near = i > 0 && log(at / numbered) < apart * width;

		fputs(i ? ", " : "", to);
		quote(near ? "" : n->name[i], to);
		fprintf(to, " %.15g", at);
		numbered = near ? numbered : at;
	}
	fputs(")\n", to);
}

static void print_head(const struct plot *p, const char *terminal, const char *label, FILE *to)
{
	fprintf(to, "# made by nvwave " NVWAVE_VERSION " from %s\nset encoding utf8\nset terminal %s\n",
		p->path, terminal);
	fputs("set termoption noenhanced\nset border 3 linewidth 1\nset tics out nomirror\nset grid ytics lc rgb '#dddddd'\n"
	      "set key outside right top vertical Left reverse samplen 3\n",
		to);
	if (p->series) {
		fputs("set key title ", to);
		quote(p->series, to);
		fputs(" left\n", to);
	}
	if (p->title) {
		fputs("set title ", to);
		quote(p->title, to);
		fputc('\n', to);
	}
	fputs("set xlabel ", to);
	quote(p->x, to);
	fprintf(to, "\nset %s ", p->kind == PLOT_HEAT ? "cblabel" : "ylabel");
	quote(label, to);
	fputc('\n', to);
}

/* One block of data per series: place, median, least, most. shift: of bars beside each other. */
static void print_data(const struct plot *p, unsigned of, double scale, double shift, FILE *to)
{
	fprintf(to, "$data%u << EOD\n", of);
	for (unsigned i = 0; i < p->at.count; i++) {
		const struct plot_cell *const c = cell(p, of, i);

		if (c->count) {
			fprintf(to, "%.15g %.9g %.9g %.9g\n", position(p, i) + shift, c->median / scale,
				c->least / scale, c->most / scale);
		}
	}
	fputs("EOD\n", to);
}

static void print_title(const struct plot *p, unsigned of, FILE *to)
{
	if (p->series) {
		fputs(" title ", to);
		quote(p->of.name[of], to);
	} else {
		fputs(" notitle", to);
	}
}

static bool has_spread(const struct plot *p)
{
	for (unsigned i = 0; i < cells_of(p); i++) {
		if (p->cell[i].count > 1) {
			return true;
		}
	}
	return false;
}

static bool is_above_zero(const struct plot *p)
{
	for (unsigned i = 0; i < cells_of(p); i++) {
		if (p->cell[i].count && p->cell[i].least <= 0) {
			return false;
		}
	}
	return true;
}

static bool is_negative(const struct plot *p)
{
	for (unsigned i = 0; i < cells_of(p); i++) {
		if (p->cell[i].count && p->cell[i].least < 0) {
			return true;
		}
	}
	return false;
}

/* A horizontal axis of numbers, with a margin; in logarithms, with tics at the values. */
static void print_numbers(const struct plot *p, FILE *to)
{
	const double least = position(p, 0), most = position(p, p->at.count - 1);
	const double margin = most > least ? 0.03 * (most - least) : 1;

	if (p->log_x) {
		fprintf(to, "set logscale x\nset xrange [%.15g:%.15g]\n", least / 1.15, most * 1.15);
		print_log_tics(&p->at, log(most / least), to);
	} else {
		fprintf(to, "set xrange [%.15g:%.15g]\n", least - margin, most + margin);
	}
}

/* From the least to the most value of every place. */
static void print_spread(const struct plot *p, const char *const *colour, FILE *to)
{
	for (unsigned i = 0; has_spread(p) && i < p->of.count; i++) {
		fprintf(to,
			", \\\n  $data%u using 1:3:(0):($4-$3) with vectors nohead lw 1.5 dt 1 lc rgb '%s' notitle",
			i, colour ? colour[i % COLOURS] : "#000000");
	}
	fputc('\n', to);
}

static void print_axes(const struct plot *p, FILE *to)
{
	if (p->kind == PLOT_BARS || !p->at.numbers) {
		print_tics("x", &p->at, to);
		fprintf(to, "set xrange [-0.6:%.1f]\n", p->at.count - 0.4);
	} else {
		print_numbers(p, to);
	}
	fputs(p->log_y ? "set logscale y\n" : is_negative(p) ? "" : "set yrange [0:*]\n", to);
	if (p->baseline) {
		fputs("set arrow from graph 0, first 1 to graph 1, first 1 nohead lc rgb '#888888' dt 3 back\n",
			to);
	}
}

static void print_lines(const struct plot *p, double scale, FILE *to)
{
	print_axes(p, to);
	for (unsigned i = 0; i < p->of.count; i++) {
		print_data(p, i, scale, 0, to);
	}
	for (unsigned i = 0; i < p->of.count; i++) {
		const unsigned k = i % COLOURS;

		fprintf(to, "%s$data%u using 1:2 with linespoints lc rgb '%s' lw 2.5 dt %s pt %u ps 1",
			i ? ", \\\n  " : "plot ", i, colours[k], dashes[(k + i / COLOURS) % 5], points[k]);
		print_title(p, i, to);
	}
	print_spread(p, colours, to);
}

static void print_bars(const struct plot *p, double scale, FILE *to)
{
	static const unsigned patterns[COLOURS] = {3, 1, 2, 4, 5, 6, 7};
	const double width = 0.8 / p->of.count;

	print_axes(p, to);
	fprintf(to, "set boxwidth %.6f\n", width * 0.92);
	for (unsigned i = 0; i < p->of.count; i++) {
		print_data(p, i, scale, (i - (p->of.count - 1) / 2.0) * width, to);
	}
	for (unsigned i = 0; i < p->of.count; i++) {
		const unsigned k = i % COLOURS;

		fprintf(to, "%s$data%u using 1:2 with boxes fill pattern %u border lt -1 lc rgb '%s'",
			i ? ", \\\n  " : "plot ", i, patterns[(k + i / COLOURS) % COLOURS], colours[k]);
		print_title(p, i, to);
	}
	print_spread(p, NULL, to);
}

/* The values are written into their cells, light on dark and dark on light. */
static void print_heat(const struct plot *p, double scale, FILE *to)
{
	double least = INFINITY, most = -INFINITY;

	for (unsigned i = 0; i < cells_of(p); i++) {
		least = p->cell[i].count ? fmin(least, p->cell[i].median / scale) : least;
		most = p->cell[i].count ? fmax(most, p->cell[i].median / scale) : most;
	}
	print_tics("x", &p->at, to);
	print_tics("y", &p->of, to);
	fprintf(to, "set ylabel ");
	quote(p->series ? p->series : "", to);
	fprintf(to,
		"\nset xrange [-0.5:%.1f]\nset yrange [-0.5:%.1f]\nunset key\nunset grid\n"
		"set palette defined (0 '#00204c', 1 '#31446b', 2 '#666970', 3 '#958f78', 4 '#cbba69', 5 '#ffe945')\n"
		"$cells << EOD\n",
		p->at.count - 0.5, p->of.count - 0.5);
	for (unsigned i = 0; i < cells_of(p); i++) {
		if (p->cell[i].count) {
			fprintf(to, "%u %u %.9g\n", i % p->at.count, i / p->at.count,
				p->cell[i].median / scale);
		}
	}
	fprintf(to,
		"EOD\nplot $cells using 1:2:(0.5):(0.5):3 with boxxyerror fc palette fs solid noborder, \\\n"
		"  $cells using 1:2:($3 < %.9g ? sprintf('%%.3g', $3) : '') with labels tc rgb '#ffffff', \\\n"
		"  $cells using 1:2:($3 < %.9g ? '' : sprintf('%%.3g', $3)) with labels tc rgb '#000000'\n",
		least + 0.5 * (most - least), least + 0.5 * (most - least));
}

static int check(const struct plot *p)
{
	if (largest(p) == 0 && p->baseline) {
		return nvw_fail(NVW_E_USAGE, "plot: --baseline=%s: nothing is left: it has no values above 0",
			p->baseline);
	}
	if (p->log_y && !is_above_zero(p)) {
		return nvw_fail(NVW_E_USAGE, "plot: --scale: %s has values that are not above 0", p->y);
	}
	if (p->log_x && (!p->at.numbers || p->kind != PLOT_LINES || strtod(p->at.name[0], NULL) <= 0)) {
		return nvw_fail(NVW_E_USAGE,
			"plot: --scale: the horizontal axis of %s has more than numbers above 0", p->x);
	}
	return 0;
}

/* output NULL: to standard output. */
static int write_script(const struct plot *p, const char *path, bool names_output, FILE *to)
{
	const char *terminal;
	char label[LABEL_BYTES];
	double scale;
	int r = plot_format(path, &terminal);

	r = r ? r : check(p);
	if (r < 0) {
		return r;
	}
	label_of(p, label, &scale);
	print_head(p, terminal, label, to);
	if (names_output) {
		fputs("set output ", to);
		quote(path, to);
		fputc('\n', to);
	}
	(p->kind == PLOT_HEAT ? print_heat : p->kind == PLOT_BARS ? print_bars : print_lines)(p, scale, to);
	return fflush(to) ? nvw_fail_errno("cannot write gnuplot's script") : 0;
}

/* ---- gnuplot ------------------------------------------------------------------------------- */

int plot_find_gnuplot(void)
{
	char *const path = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin"), *rest = path, *folder;
	bool found = false;

	while (!found && (folder = strsep(&rest, ":"))) {
		char *name;

		if (asprintf(&name, "%s/gnuplot", folder) >= 0) {
			found = access(name, X_OK) == 0;
			free(name);
		}
	}
	free(path);
	return found ? 0 :
		       nvw_fail(NVW_E_USAGE,
			       "plot: there is no gnuplot: install it (on Debian, the package gnuplot-nox)");
}

static int complain(int status, int messages)
{
	char text[MESSAGE_BYTES + 1];
	const ssize_t n = pread(messages, text, MESSAGE_BYTES, 0);

	text[n > 0 ? n : 0] = 0;
	for (char *c = text; *c; c++) {
		*c = *c == '\n' ? ' ' : *c;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ?
		       0 :
		       nvw_fail(NVW_E_SYSTEM, "plot: gnuplot failed: %s", *text ? text : "it said nothing");
}

static int run_gnuplot(int script, int output)
{
	const int messages = memfd_create("gnuplot", MFD_CLOEXEC);
	int status, r;
	pid_t pid;

	if (messages < 0 || lseek(script, 0, SEEK_SET) < 0) {
		return nvw_fail_errno("cannot start gnuplot");
	}
	pid = fork();
	if (pid == 0) {
		nvw_stop_leave_to_parent();
		if (dup2(script, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
			dup2(messages, STDERR_FILENO) >= 0) {
			execlp("gnuplot", "gnuplot", "-d", "-", NULL);
		}
		_exit(127);
	}
	r = pid < 0 ? nvw_fail_errno("cannot start gnuplot") : nvw_stop_wait(pid, &status);
	r = r ? r : complain(status, messages);
	close(messages);
	return r;
}

static int keep(const struct plot *p, const char *path, const char *script)
{
	struct nvw_new_file f;
	const int r = nvw_new_file_begin(script, false, &f);

	return r ? r : nvw_new_file_end(&f, write_script(p, path, true, f.file));
}

int plot_draw(const struct plot *p, const char *path, const char *script)
{
	FILE *const commands = tmpfile();
	struct nvw_new_file f;
	int r = commands ? write_script(p, path, false, commands) :
			   nvw_fail_errno("cannot write gnuplot's script");

	r = r || !script ? r : keep(p, path, script);
	if (r == 0) {
		r = nvw_new_file_begin(path, false, &f);
		r = r ? r : nvw_new_file_end(&f, run_gnuplot(fileno(commands), fileno(f.file)));
	}
	if (commands) {
		fclose(commands);
	}
	return r;
}
