/* SPDX-License-Identifier: BSD-3-Clause */
/* The HTML page of a crash test. See html_report.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html_report.h"

typedef unsigned long long ull;

enum {
	SOURCE_AROUND = 4,
	CHART_WIDTH = 960,
	CHART_HEIGHT = 120,
	COLUMNS_MIN = 32,
	COLUMNS_MAX = 320,
	LANE = 22
};

static const char style[] =
	":root{--ink:#1d2330;--soft:#5b6475;--line:#dfe3ea;--bg:#f6f7f9;--card:#fff;--bad:#b3261e;--badbg:#fdeceb;--good:#146c43;"
	"--goodbg:#e8f5ee;--lost:#c2410c;--kept:#1d4ed8;--bar:#94a3b8}"
	"@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#9aa4b5;--line:#2d3442;--bg:#12151b;--card:#1a1f28;--bad:#ff8a80;"
	"--badbg:#3a1d1b;--good:#6fdc9f;--goodbg:#14301f;--lost:#fb923c;--kept:#7aa2ff;--bar:#56627a}}"
	"*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}"
	"main{max-width:1040px;margin:0 auto;padding:28px 20px 60px}h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:34px 0 10px}"
	"h3{font-size:16px;margin:0 0 6px}p{margin:6px 0}.soft{color:var(--soft)}code,pre,td.n,.mono{font-family:ui-monospace,monospace;"
	"font-size:13px}.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:16px 18px;margin:14px 0}"
	".verdict{display:inline-block;font-weight:700;padding:3px 12px;border-radius:6px;letter-spacing:.03em}.bad{background:var(--badbg);"
	"color:var(--bad)}.good{background:var(--goodbg);color:var(--good)}table{border-collapse:collapse;width:100%;margin:8px 0}"
	"th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid var(--line);vertical-align:top;font-size:14px}"
	"th{color:var(--soft);font-weight:600}td.n{text-align:right;white-space:nowrap}.figures{display:grid;grid-template-columns:"
	"repeat(auto-fit,minmax(150px,1fr));gap:10px}.figures div{background:var(--card);border:1px solid var(--line);border-radius:8px;"
	"padding:10px 14px}.figures b{display:block;font-size:20px}.cause{border-left:4px solid var(--bad);padding:6px 12px;margin:10px 0;"
	"background:var(--badbg);border-radius:0 6px 6px 0}.lost{color:var(--lost)}.kept{color:var(--kept)}pre{margin:6px 0 12px;"
	"background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:8px 0;overflow-x:auto}pre span{display:block;padding:0 12px}"
	"pre{tab-size:4}pre span.hit{background:var(--badbg);font-weight:600}svg{display:block;width:100%;height:auto}svg text{font:11px ui-monospace,"
	"monospace;fill:var(--soft)}details summary{cursor:pointer;color:var(--soft)}footer{margin-top:40px;color:var(--soft);font-size:13px}";

/* ---- Text ------------------------------------------------------------------------------------------------------ */

static void escape(FILE *f, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", f);
			break;
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			fputc(*text, f);
		}
	}
}

/* 1234567 with thin spaces. */
static void figure(FILE *f, uint64_t n)
{
	char digits[24];
	const int count = snprintf(digits, sizeof digits, "%llu", (ull)n);

	for (int i = 0; i < count; i++) {
		if (i > 0 && (count - i) % 3 == 0) {
			fputs("&#8239;", f);
		}
		fputc(digits[i], f);
	}
}

static void print_time(FILE *f, uint64_t ps)
{
	fprintf(f, ps < 1000000 ? "%.4g ns" : "%.6g us", ps < 1000000 ? (double)ps / 1e3 : (double)ps / 1e6);
}

/* Of a store log, whose clock counts operations: which one. */
static void print_moment(FILE *f, const struct ct_result *r, uint64_t ps)
{
	if (r->model >= CT_MODEL_X86) {
		fprintf(f, "operation %llu", (ull)(ps / 1000));
	} else {
		print_time(f, ps);
	}
}

static void print_possible(FILE *f, const struct ct_result *r)
{
	if (r->states_possible_log2 < 53) {
		figure(f, (uint64_t)r->states_possible);
	} else {
		fprintf(f, "%s2<sup>%.0f</sup>", r->states_possible_exact ? "" : "&le; ",
			r->states_possible_log2);
	}
}

/* ---- Head ------------------------------------------------------------------------------------------------------ */

static void head(FILE *f, const struct crash_heading *h, const struct ct_result *r)
{
	const char *const verdict = !r->consistent ? "INCONSISTENT" :
				    r->interrupted ? "UNDECIDED" :
						     "CONSISTENT";

	fputs("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
	      "<title>",
		f);
	escape(f, h->workload);
	fprintf(f, ": %s</title><style>%s</style></head><body><main><h1>", verdict, style);
	escape(f, h->workload);
	fprintf(f, " <span class=\"verdict %s\">%s</span></h1><p class=\"soft\">",
		r->consistent ? "good" : "bad", verdict);
	if (*h->machine) {
		fprintf(f, "machine %s, protocol %s, ", h->machine, h->protocol);
	}
	if (r->mode == CT_KILL) {
		fprintf(f, "killed at seeded instants");
	} else if (r->mode == CT_OBSERVED) {
		fprintf(f, "states that this run's timing could leave");
	} else {
		fprintf(f, "states that the model <b>%s</b> permits", ct_model_info(r->model)->name);
	}
	fprintf(f, ", %u-byte atomicity, seed %llu%s", h->atomicity, (ull)h->seed,
		*h->mutation ? ", mutation " : "");
	escape(f, h->mutation);
	fputs("</p><p><code>", f);
	escape(f, h->command);
	fputs("</code></p>", f);
}

static void tile(FILE *f, const char *name, uint64_t n)
{
	fputs("<div><b>", f);
	figure(f, n);
	fprintf(f, "</b>%s</div>", name);
}

static void coverage(FILE *f, const struct ct_result *r)
{
	fputs("<h2>Coverage</h2><div class=\"figures\">", f);
	if (r->mode != CT_KILL) {
		fputs("<div><b>", f);
		print_possible(f, r);
		fputs("</b>states possible</div>", f);
	}
	tile(f, r->mode == CT_KILL ? "kills" : "distinct states tested",
		r->mode == CT_KILL ? r->states_tested : r->states_distinct);
	tile(f, "drawn again, equal", r->states_equal);
	if (r->mode != CT_KILL) {
		tile(f, "differ where nobody looks", r->states_unread);
		fputs("<div><b>", f);
		figure(f, r->instants_exhausted);
		fputs(" of ", f);
		figure(f, r->instants);
		fputs("</b>intervals fully accounted for</div>", f);
	}
	tile(f, "states that fail", r->states_failing);
	fputs("</div>", f);
	if (r->mode != CT_KILL) {
		fprintf(f, "<p class=\"soft\">%llu stores, %llu %s", (ull)r->stores, (ull)r->barriers,
			r->model >= CT_MODEL_X86 ? "fences" : "barriers");
		if (r->model < CT_MODEL_X86) {
			fprintf(f, ", %llu acknowledged operations in ", (ull)r->acks);
			print_time(f, r->sim_time_ps);
			fputs(" of simulated time", f);
		}
		fprintf(f, "; explored in %.1f s.</p>", r->explore_seconds);
	}
	if (r->interrupted || r->gave_up) {
		fputs("<p class=\"lost\">The exploration did not come to its end: there is no verdict on the rest.</p>",
			f);
	}
}

/* ---- Intervals --------------------------------------------------------------------------------------------------- */

static bool has_finding(const struct ct_result *r, uint64_t first, uint64_t end)
{
	for (unsigned i = 0; i < r->finding_count; i++) {
		if (r->finding[i].instant > first && r->finding[i].instant <= end) {
			return true;
		}
	}
	return false;
}

/* One bar an interval, or one for several: how many states it has, whether all are accounted for. */
static void intervals(FILE *f, const struct ct_result *r)
{
	const uint64_t n = r->interval_count, columns = n < COLUMNS_MAX ? n : COLUMNS_MAX;
	double most = 1;

	if (n == 0) {
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		most = fmax(most, r->interval[i].possible_log2);
	}
	fprintf(f,
		"<h2>Intervals</h2><div class=\"card\"><svg viewBox=\"0 0 %d %d\" role=\"img\"><title>states per interval</title>",
		CHART_WIDTH, CHART_HEIGHT + 24);
	for (uint64_t c = 0; c < columns; c++) {
		const uint64_t first = c * n / columns, end = (c + 1) * n / columns;
		const double width = CHART_WIDTH / fmax((double)columns, COLUMNS_MIN);
		double log2_states = 0;
		bool whole = true;

		for (uint64_t i = first; i < end; i++) {
			log2_states = fmax(log2_states, r->interval[i].possible_log2);
			whole = whole && r->interval[i].exhausted;
		}
		const double height = 3 + (CHART_HEIGHT - 3) * log2_states / most;

		fprintf(f,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"var(--%s)\"><title>interval %llu, until %.1f "
			"ns: 2^%.1f states, %s</title></rect>",
			(double)c * width, CHART_HEIGHT - height, fmax(width - 0.6, 0.6), height,
			has_finding(r, first, end) ? "bad" :
			whole                      ? "good" :
						     "bar",
			(ull)first + 1, (double)r->interval[end - 1].time_ps / 1e3, log2_states,
			whole ? "all accounted for" : "sampled");
	}
	fprintf(f, "<text x=\"0\" y=\"%d\">", CHART_HEIGHT + 18);
	print_moment(f, r, r->interval[0].time_ps);
	fprintf(f, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">", CHART_WIDTH, CHART_HEIGHT + 18);
	print_moment(f, r, r->interval[n - 1].time_ps);
	fputs("</text></svg>", f);
	fprintf(f,
		"<p class=\"soft\">Height: states that are new in the interval, as a power of two (up to 2<sup>%.0f</sup>). "
		"<span style=\"color:var(--good)\">&#9632;</span> all accounted for &nbsp; <span style=\"color:var(--bar)\">&#9632;</span> "
		"sampled &nbsp; <span style=\"color:var(--bad)\">&#9632;</span> a finding begins here</p></div>",
		most);
}

static void axioms(FILE *f, const struct ct_result *r)
{
	const char *name, *text;

	if (r->mode == CT_KILL) {
		return;
	}
	fprintf(f, "<details><summary>What %s means: its axioms</summary><table>",
		ct_model_info(r->model)->name);
	for (unsigned i = 0; (text = ct_axiom_text(i, &name)) != NULL; i++) {
		if (ct_model_info(r->model)->axioms >> i & 1) {
			fprintf(f, "<tr><th>%s</th><td>%s</td></tr>", name, text);
		}
	}
	fprintf(f, "</table><p class=\"soft\">%s</p></details>", ct_model_info(r->model)->who);
}

/* ---- Source ------------------------------------------------------------------------------------------------------- */

static FILE *open_source(const char *file)
{
	static const char *const roots[] = {"", NVWAVE_SOURCE_ROOT "/"};
	char path[1024];
	FILE *f = NULL;

	for (unsigned i = 0; i < sizeof roots / sizeof roots[0] && f == NULL; i++) {
		snprintf(path, sizeof path, "%s%s", roots[i], file);
		f = fopen(path, "re");
	}
	return f;
}

static void source(FILE *to, const char *file, uint32_t line, const char *what)
{
	FILE *const f = *file ? open_source(file) : NULL;
	char text[512];

	if (f == NULL) {
		return;
	}
	fprintf(to, "<p class=\"soft\">%s <span class=\"mono\">", what);
	escape(to, file);
	fprintf(to, ":%u</span></p><pre>", line);
	for (uint32_t i = 1; fgets(text, sizeof text, f) != NULL && i <= line + SOURCE_AROUND; i++) {
		text[strcspn(text, "\n")] = '\0';
		if (i + SOURCE_AROUND >= line) {
			fprintf(to, "<span%s>%5u  ", i == line ? " class=\"hit\"" : "", i);
			escape(to, text);
			fputs("</span>", to);
		}
	}
	fputs("</pre>", to);
	fclose(f);
}

/* The lines of both stores and of the barrier, each once. */
static void sources(FILE *f, const struct ct_finding *d)
{
	char shown[CT_PLACES_MAX + 1][192];
	unsigned count = 0;

	fputs("<details open><summary>Source</summary>", f);
	if (d->cause.line != 0) {
		source(f, d->cause.file, d->cause.line, "the barrier,");
	}
	for (unsigned i = 0; i < d->place_count; i++) {
		char name[192];
		bool again = false;

		snprintf(name, sizeof name, "%s:%u", d->place[i].file, d->place[i].line);
		for (unsigned k = 0; k < count; k++) {
			again = again || strcmp(shown[k], name) == 0;
		}
		if (!again) {
			memcpy(shown[count++], name, sizeof name);
			source(f, d->place[i].file, d->place[i].line,
				d->place[i].fate == CT_FATE_DURABLE ?
					"durable, although it relies on what is lost:" :
					"lost:");
		}
	}
	fputs("</details>", f);
}

/* ---- Timeline ------------------------------------------------------------------------------------------------------ */

struct lanes {
	unsigned count;
	struct {
		enum { LANE_ITEM, LANE_GROUP, LANE_KERNEL } kind;
		uint64_t number;
	} lane[24];
};

static unsigned lane_of(struct lanes *l, const struct ct_moment *m)
{
	const bool wide = m->kind == CT_MOMENT_BARRIER && m->scope != NVW_WORKITEM;
	const int kind = !wide ? LANE_ITEM : m->scope == NVW_WORKGROUP ? LANE_GROUP : LANE_KERNEL;
	const uint64_t number = kind == LANE_ITEM ? m->work_item : kind == LANE_GROUP ? m->group : 0;
	unsigned i = 0;

	while (i < l->count && ((int)l->lane[i].kind != kind || l->lane[i].number != number)) {
		i++;
	}
	if (i == l->count && i < 24) {
		l->lane[i].kind = kind;
		l->lane[i].number = number;
		l->count++;
	}
	return i < 24 ? i : 23;
}

static void draw_moment(FILE *f, const struct ct_moment *m, double x, double end, unsigned lane)
{
	static const char *const scopes[] = {"work-item", "work-group", "kernel"};
	const int y = 14 + (int)lane * LANE;

	switch (m->kind) {
	case CT_MOMENT_STORE:
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%d\" r=\"5\" fill=\"var(--%s)\"%s><title>", x, y,
			m->durable ? "kept" : "lost",
			m->durable ? "" :
				     " fill-opacity=\"0.35\" stroke=\"var(--lost)\" stroke-width=\"1.5\"");
		escape(f, m->place);
		fprintf(f, "  0x%llx = 0x%llx  %s, %.1f ns</title></circle>", (ull)m->off, (ull)m->value,
			m->durable ? "durable" : "lost", (double)m->time_ps / 1e3);
		break;
	case CT_MOMENT_BARRIER:
		fprintf(f,
			"<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"10\" rx=\"3\" fill=\"var(--bar)\"%s><title>",
			x, y - 5, fmax(end - x, 3), m->end_ps == UINT64_MAX ? " fill-opacity=\"0.4\"" : "");
		escape(f, m->place);
		fprintf(f, "  persist barrier, %s scope%s</title></rect>", scopes[m->scope],
			m->end_ps == UINT64_MAX ? ", not completed" : "");
		break;
	case CT_MOMENT_ACK:
		fprintf(f,
			"<path d=\"M%.1f %d l6 6 l-6 6 l-6 -6 z\" fill=\"var(--good)\"><title>operation %llu acknowledged, %.1f "
			"ns</title></path>",
			x, y - 6, (ull)m->value, (double)m->time_ps / 1e3);
		break;
	case CT_MOMENT_FLUSH:
	case CT_MOMENT_FENCE:
		fprintf(f,
			"<rect x=\"%.1f\" y=\"%d\" width=\"4\" height=\"12\" fill=\"var(--%s)\"><title>%s ",
			x - 2, y - 6, m->kind == CT_MOMENT_FLUSH ? "bar" : "ink",
			m->kind == CT_MOMENT_FLUSH ? "flush" : "fence");
		escape(f, m->place);
		fputs("</title></rect>", f);
		break;
	}
}

static void draw_lanes(FILE *f, const struct lanes *l)
{
	for (unsigned i = 0; i < l->count; i++) {
		const int y = 14 + (int)i * LANE;
		char name[48];

		if (l->lane[i].kind == LANE_KERNEL) {
			snprintf(name, sizeof name, "kernel");
		} else {
			snprintf(name, sizeof name, "%s %llu",
				l->lane[i].kind == LANE_GROUP ? "group" : "work-item",
				(ull)l->lane[i].number);
		}
		fprintf(f,
			"<text x=\"0\" y=\"%d\">%s</text><line x1=\"120\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"var(--line)\"/>",
			y + 4, name, CHART_WIDTH, y, y);
	}
}

/* Moments are spread evenly: their order matters, and most of them lie close together. */
static void timeline(FILE *f, const struct ct_result *r, const struct ct_finding *d)
{
	struct lanes lanes = {0};
	double step;

	if (d->moment_count == 0) {
		return;
	}
	for (unsigned i = 0; i < d->moment_count; i++) {
		lane_of(&lanes, &d->moment[i]);
	}
	step = (CHART_WIDTH - 150.0) / d->moment_count;
	fprintf(f, "<h3>Before the crash</h3><svg viewBox=\"0 0 %d %u\">", CHART_WIDTH,
		34 + lanes.count * LANE);
	draw_lanes(f, &lanes);
	for (unsigned i = 0; i < d->moment_count; i++) {
		const struct ct_moment *const m = &d->moment[i];
		unsigned end = i + 1;

		while (end < d->moment_count && d->moment[end].time_ps < m->end_ps) {
			end++;
		}
		draw_moment(f, m, 130 + i * step, 130 + end * step, lane_of(&lanes, m));
	}
	fprintf(f,
		"<line x1=\"%d\" x2=\"%d\" y1=\"0\" y2=\"%u\" stroke=\"var(--bad)\" stroke-width=\"2\"/><text x=\"%d\" y=\"%u\" "
		"text-anchor=\"end\">crash at ",
		CHART_WIDTH - 12, CHART_WIDTH - 12, 16 + lanes.count * LANE, CHART_WIDTH,
		30 + lanes.count * LANE);
	print_moment(f, r, d->first_time_ps);
	fprintf(f, "</text><text x=\"120\" y=\"%u\">", 30 + lanes.count * LANE);
	print_moment(f, r, d->moment[0].time_ps);
	fputs("</text></svg>", f);
	fputs("<p class=\"soft\"><span class=\"kept\">&#9679;</span> store that is durable &nbsp; <span class=\"lost\">&#9675;</span> store "
	      "that is lost &nbsp; <span style=\"color:var(--bar)\">&#9644;</span> persist barrier, from arrival to completion &nbsp; "
	      "<span style=\"color:var(--good)\">&#9670;</span> acknowledgement. In order, not to scale; what the work-items behind the "
	      "finding did.</p>",
		f);
}

/* ---- Findings ------------------------------------------------------------------------------------------------------ */

static void places(FILE *f, const struct ct_finding *d)
{
	if (d->place_count == 0) {
		return;
	}
	const bool on_device = d->place[0].kernel[0] != '\0';

	fprintf(f, "<table><tr><th>store</th>%s<th>offset</th><th></th></tr>",
		on_device ? "<th>kernel</th><th>work-item</th><th>group</th><th>epoch wi / wg / kr</th>" :
			    "");
	for (unsigned i = 0; i < d->place_count; i++) {
		const struct ct_place *const p = &d->place[i];

		fputs("<tr><td class=\"mono\">", f);
		escape(f, p->file);
		fprintf(f, ":%u (", p->line);
		escape(f, p->function);
		fputs(")</td>", f);
		if (on_device) {
			fputs("<td>", f);
			escape(f, p->kernel);
			fprintf(f, "</td><td>%llu</td><td>%llu</td><td>%u / %u / %u</td>", (ull)p->work_item,
				(ull)p->group, p->epoch_wi, p->epoch_wg, p->epoch_kr);
		}
		fprintf(f, "<td class=\"mono\">0x%llx</td><td class=\"%s\">%s</td></tr>", (ull)p->off,
			p->fate == CT_FATE_DURABLE ? "kept" : "lost", ct_fate_name(p->fate));
	}
	fputs("</table>", f);
}

static void words(FILE *f, const struct ct_finding *d)
{
	if (d->unit_count == 0) {
		return;
	}
	fputs("<h3>Words that matter</h3><table><tr><th>offset</th><th>as the crash leaves it</th><th>with nothing lost</th><th></th></tr>",
		f);
	for (unsigned i = 0; i < d->unit_count; i++) {
		const struct ct_unit *const u = &d->unit[i];

		fprintf(f,
			"<tr><td class=\"mono\">0x%llx</td><td class=\"mono\">%016llx</td><td class=\"mono\">%016llx</td><td class=\"%s\">%s"
			"</td></tr>",
			(ull)u->off, (ull)u->now, (ull)u->newest, u->lost ? "lost" : "kept",
			u->lost ? "lost" : "durable too early");
	}
	fputs("</table>", f);
}

static void finding(FILE *f, const struct ct_result *r, unsigned i)
{
	const struct ct_finding *const d = &r->finding[i];

	fprintf(f, "<div class=\"card\" id=\"finding-%u\"><h3>%u. ", i + 1, i + 1);
	escape(f, d->text);
	fputs("</h3><p class=\"soft\">", f);
	figure(f, d->states);
	fprintf(f, " %s%s, first at ", r->mode == CT_KILL ? "kill" : "state", d->states == 1 ? "" : "s");
	print_moment(f, r, d->first_time_ps);
	if (d->off != 0) {
		fprintf(f, ", pool offset <span class=\"mono\">0x%llx</span>", (ull)d->off);
	}
	if (d->minimised) {
		fprintf(f, "; smallest case: %llu of %llu uncertain words lost",
			(ull)(d->units - d->units_durable), (ull)d->units);
	}
	fputs("</p>", f);
	if (d->where[0] != '\0') {
		fputs("<p>in <span class=\"mono\">", f);
		escape(f, d->where);
		fputs("</span></p>", f);
	}
	if (d->cause.kind != CT_CAUSE_NONE) {
		fputs("<div class=\"cause\">", f);
		escape(f, d->cause.text);
		fputs("</div>", f);
	}
	places(f, d);
	for (unsigned k = 0; k < d->also_count; k++) {
		fputs("<p class=\"soft\">also: ", f);
		escape(f, d->also[k].text);
		fprintf(f, " (%llu states)</p>", (ull)d->also[k].states);
	}
	timeline(f, r, d);
	words(f, d);
	sources(f, d);
	if (d->saved[0] != '\0') {
		fputs("<p>Again: <code>nvwave replay ", f);
		escape(f, d->saved);
		fputs("</code></p>", f);
	}
	fputs("</div>", f);
}

int crash_report_html(const struct crash_heading *h, const struct ct_result *r, const char *path)
{
	FILE *const f = fopen(path, "we");

	if (f == NULL) {
		return nvw_fail_errno("%s", path);
	}
	head(f, h, r);
	coverage(f, r);
	intervals(f, r);
	axioms(f, r);
	if (r->finding_count > 0) {
		fputs("<h2>Findings</h2>", f);
	}
	if (r->fewest_operations > 0) {
		fprintf(f,
			"<p class=\"soft\">Fewest operations that fail as well: <code>--count=%llu</code></p>",
			(ull)r->fewest_operations);
	}
	for (unsigned i = 0; i < r->finding_count; i++) {
		finding(f, r, i);
	}
	fputs("<footer>nvwave " NVWAVE_VERSION "</footer></main></body></html>\n", f);
	const bool failed = ferror(f) != 0;

	return fclose(f) == 0 && !failed ? 0 : nvw_fail_errno("%s", path);
}
