/* SPDX-License-Identifier: BSD-3-Clause */
/* The HTML page of a crash test. See html_report.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include <crashtest/explain/cure.h>

#include "core/bounds.h"
#include "core/invariant.h"
#include "core/newfile.h"
#include "core/print.h"
#include "core/text_stream.h"
#include "html_finding.h"
#include "html_source.h"
#include "html_report.h"
#include "../provenance.h"
#include "report_index.h"
#include "../crash/statements.h"
#include "html_text.h"
#include "config/machines.h"
#include "../crash/unlogged.h"
#include "../words.h"

enum {
	COLUMNS_MAX = 320,
	BAR_PX = 31, /* a bar of few is no wider, and the last time stands below the last bar */
};

extern const struct emu_text report_style[]; /* report.css */

static void print_possible(FILE *f, const struct ct_result *r)
{
	if (r->states_possible_log2 < 53) {
		html_figure(f, (uint64_t)r->states_possible);
	} else {
		fprintf(f, "%s2<sup>%.0f</sup>", words_if(!r->states_possible_exact, "&le; "),
			r->states_possible_log2);
	}
}

/* ---- Head ---------------------------------------------------------------------------------------- */

/* Version and machine; the command line is above. */
static void say_machine(FILE *f, const struct crash_heading *h, const struct ct_result *r)
{
	struct text_stream t;

	if (!text_begin(&t)) {
		return;
	}
	cli_print_origin(h->made_by, crash_names_machine(h, r), t.to);
	const char *const machine = text_end(&t) ? strchr(t.text, '\n') : NULL;

	if (machine && machine[1]) {
		html_print(f, "; %s", machine + 1);
	}
	free(t.text);
}

static void made_by(FILE *f, const struct crash_heading *h, const struct ct_result *r)
{
	fprintf(f, "<p class=\"soft\">made by nvwave %s", cli_version);
	say_machine(f, h, r);
	fputs("</p>", f);
}

/* For nvwave report. */
static void data(FILE *f, const struct crash_heading *h, const struct ct_result *r)
{
	json_t *const brief = crash_report_brief(h, r);
	char *const text = json_dumps(brief, JSON_COMPACT);

	if (text) {
		html_print(f, REPORT_PAGE_MARK "%s\">", text);
	}
	free(text);
	json_decref(brief);
}

static void title(FILE *f, const struct crash_heading *h, const struct ct_result *r)
{
	char verdict[64];

	NVW_PRINT(verdict, "%s%s", ct_verdict_words(ct_verdict_of(r)),
		words_if(r->without_crash && !r->consistent, " WITHOUT ANY CRASH"));

	fputs("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
	      "content=\"width=device-width\">",
		f);
	data(f, h, r);
	html_print(f, "<title>%s: %s</title><style>", h->workload, verdict);
	fputs(report_style[0].text, f);
	html_print(f, "</style></head><body><main><h1>%s <span class=\"verdict %s\">%s</span></h1>",
		h->workload, html_look(ct_verdict_of(r)), verdict);
}

/* What relies on the lost store is a store, or an acknowledgement. */
static void lead_order(FILE *f, const struct ct_cause *c)
{
	NVW_INVARIANT(*c->lost != '\0' && *c->early != '\0');
	html_print(f, " What is stored at %s can be lost ", c->lost);
	if (!strchr(c->early, ':')) {
		fputs("although the operation that needs it was acknowledged.", f);
	} else {
		html_print(f, "when %s, which relies on it, is durable already.", c->early);
	}
}

/* What is wrong first, why, and what mends it. */
static void lead_finding(FILE *f, const struct ct_result *r, const struct ct_finding *first)
{
	const struct ct_cause *const c = &first->cause;
	char cure[1024];

	html_print(f, "%s power cut: %s.", r->without_crash ? "Without any" : "After a", first->text);
	if (*c->lost != '\0' && *c->early != '\0') {
		lead_order(f, c);
	}
	if (first->cure.verified) {
		ct_cure_text(&first->cure, cure, sizeof cure);
		html_print(f, " With %s it does not happen in any tested state.", cure);
	}
	if (r->finding_count > 1) {
		fprintf(f, " %u more finding%s below, in the order in which to mend them.",
			r->finding_count - 1, r->finding_count > 2 ? "s are" : " is");
	}
}

/* The result in a sentence for who has not read such a page before. */
static void lead(FILE *f, const struct ct_result *r)
{
	static const char *const sentences[] = {
		[CT_VERDICT_UNDECIDED] =
			"It is not known whether a power cut can do harm: some states have no verdict.",
		[CT_VERDICT_CONSISTENT] =
			"A power cut at any tested instant of this run does no harm: every state that it "
			"can leave passes recovery and check.",
		[CT_VERDICT_UNREFUTED] =
			"No tested state fails. Only a sample of the states that a power cut can leave "
			"was tested: others may fail.",
		[CT_VERDICT_INCONSISTENT] = "",
		[CT_VERDICT_UNLOGGED] =
			"No tested state fails. But a store within a transaction goes to what was not "
			"added to its undo log: a power cut, or an abort, does not take it back.",
		[CT_VERDICT_ROBUST] =
			"What recovery and check read in every state comes from a prefix of the run. "
			"Whether it is right was not checked.",
		[CT_VERDICT_NOT_ROBUST] = ""};
	const enum ct_verdict verdict = ct_verdict_of(r);

	fputs("<p class=\"lead\">", f);
	if (r->finding_count > 0) {
		lead_finding(f, r, &r->finding[0]);
	} else {
		fputs(sentences[verdict], f);
	}
	fputs("</p>", f);
}

static void circumstances(FILE *f, const struct crash_heading *h, const struct ct_result *r)
{
	fputs("<p class=\"soft\">", f);
	if (*h->machine && crash_names_machine(h, r)) {
		fprintf(f, "machine %s, protocol %s, %u-byte atomicity, ", h->machine, h->protocol,
			crash_atomicity(h, r));
	}
	if (r->mode == CT_KILL) {
		fprintf(f, "killed at seeded instants, under <b>%s</b> persistency", h->model);
	} else if (r->mode == CT_OBSERVED) {
		fprintf(f, "states that this run's timing could leave under <b>%s</b> persistency", h->model);
	} else {
		fprintf(f, "states that the model <b>%s</b> permits", ct_model_info(r->model)->name);
	}
}

static void head(FILE *f, const struct crash_heading *h, const struct ct_result *r)
{
	title(f, h, r);
	lead(f, r);
	fputs("<p>", f); /* never without what it is said of */
	crash_report_headline(r, f);
	fputs("</p>", f);
	circumstances(f, h, r);
	html_print(f, ", seed %llu%s%s</p><p><code>%s</code></p>", (ull)h->seed,
		words_if(*h->mutation, ", mutation "), h->mutation, h->command);
	made_by(f, h, r);
}

static void tile(FILE *f, const char *name, uint64_t n)
{
	fputs("<div><b>", f);
	html_figure(f, n);
	fprintf(f, "</b>%s</div>", name);
}

static void figures_of_instants(FILE *f, const struct ct_result *r)
{
	if (r->instants == 0) {
		return;
	}
	fputs("<div><b>", f);
	html_figure(f, r->instants_exhausted);
	fputs(" of ", f);
	html_figure(f, r->instants);
	fputs("</b>intervals exhausted</div>", f);
}

static void figures_of_states(FILE *f, const struct ct_result *r)
{
	fputs("<div class=\"figures\">", f);
	if (r->mode == CT_KILL) {
		tile(f, "kills", r->states_tested);
		tile(f, "duplicates", r->states_equal);
	} else {
		fputs("<div><b>", f);
		print_possible(f, r);
		fputs("</b>states possible</div>", f);
		tile(f, "distinct states tested", r->states_distinct);
		tile(f, "duplicates", r->states_equal);
		figures_of_instants(f, r);
	}
	tile(f, "states that fail", r->states_failing);
	fputs("</div>", f);
}

static void figures_by_parts(FILE *f, const struct ct_result *r)
{
	NVW_INVARIANT(r->instants_by_parts > 0);
	tile(f, "intervals exhausted by parts of the check", r->instants_by_parts);
	tile(f, "evaluations of parts", r->by_parts.evaluations);
	tile(f, "uncertain words of the widest part", r->by_parts.most_forks);
}

static void figures_of_parts(FILE *f, const struct ct_result *r)
{
	tile(f, "differ only in unread words", r->states_unread);
	tile(f, "intervals exhausted by read-based pruning", r->instants_by_reads);
	if (r->instants_by_parts > 0) {
		figures_by_parts(f, r);
	}
	if (r->by_parts.confirmations > 0) {
		tile(f, "of the tested outside of the budget, to confirm parts that fail",
			r->by_parts.confirmations);
	}
}

/* The most that recovery had to do: each figure for itself, over the whole states that were tested. */
static void recoveries(FILE *f, const struct ct_result *r)
{
	const struct ct_recoveries *const c = &r->recoveries;

	if (!r->has_recoveries) {
		return;
	}
	fputs("<h3>Recovery, at most in a whole state</h3><div class=\"figures\">", f);
	tile(f, "open epochs", c->epochs_open);
	tile(f, "log entries read", c->entries_read);
	tile(f, "words restored", c->words_restored);
	tile(f, "words written", c->words_written);
	fputs("</div>", f);
}

static void recorded_stores(FILE *f, const struct ct_result *r)
{
	fprintf(f, "<p class=\"soft\">%llu stores, %llu ", (ull)r->stores, (ull)r->barriers);
	if (ct_model_has_threads(r->model)) {
		fputs("fences", f);
	} else if (r->kernels) {
		fputs("fences and persist barriers", f);
	} else {
		fprintf(f, "barriers, %llu acknowledged operations in ", (ull)r->acks);
		html_time(f, r->sim_time_ps);
		fputs(" of simulated time (times count from the end of the set-up)", f);
	}
	fprintf(f, "; explored in %.1f s.</p>", r->explore_seconds);
}

static void recorded_run(FILE *f, const struct ct_result *r)
{
	if (r->mode != CT_KILL) {
		recorded_stores(f, r);
	}
	if (r->threads > 1) {
		fprintf(f,
			"<p class=\"soft\">All of this holds for the recorded interleaving of %llu threads: "
			"others may leave other states.</p>",
			(ull)r->threads);
	}
}

static void paragraph(FILE *f, const char *style, const char *before, const char *text, const char *behind)
{
	html_print(f, "<p class=\"%s\">%s%s%s</p>", style, before, text, behind);
}

static void assumptions(FILE *f, const struct ct_result *r)
{
	NVW_FOR(i, r->assumed_count) {
		char text[512];

		ct_edit_text(&r->assumed[i], text, sizeof text);
		paragraph(f, "soft", "With ", text,
			crash_assumed_idle(r, i) ? ", which changes nothing: no state is without it." : ".");
	}
}

static void tell_left_out(FILE *f, const struct ct_result *r)
{
	if (r->trusts) {
		fprintf(f,
			"<p class=\"soft\">Transactions trusted: %llu stores of %llu bytes to %llu added "
			"ranges, which recovery by libpmemobj takes back, were not uncertain.</p>",
			(ull)r->trusted.stores, (ull)r->trusted.bytes, (ull)r->trusted.ranges);
	}
	if (r->states_alike > 0) {
		fprintf(f,
			"<p class=\"soft\">%llu states, %llu of which differ from tested ones only in bytes "
			"that the checker did not read.</p>",
			(ull)r->states_distinct, (ull)r->states_alike);
	}
	if (r->hangs_alike > 0) {
		fprintf(f,
			"<p class=\"soft\">%llu checks were cut early, in a function in which another one "
			"did not terminate.</p>",
			(ull)r->hangs_alike);
	}
	if (r->states_settled > 0) {
		fprintf(f,
			"<p class=\"soft\">%llu states were not tested: at their instants all states kept "
			"failing in ways that are known.</p>",
			(ull)r->states_settled);
	}
}

/* What the figures leave out, and how states were tested otherwise than a reader expects. */
static void reservations(FILE *f, const struct ct_result *r)
{
	char line[CRASH_SAMPLED_MAX][CRASH_SAMPLED_BYTES];

	for (unsigned i = 0, lines = crash_report_sampled(r, false, line); i < lines; i++) {
		paragraph(f, "lost", "Sampled: ", line[i], "");
	}
	if (r->states_undecided > 0) {
		html_print(f, "<p class=\"lost\">%llu states without an answer: %s</p>",
			(ull)r->states_undecided, r->undecided);
	}
	tell_left_out(f, r);
	assumptions(f, r);
	if (r->why_executed[0] != '\0') {
		paragraph(f, "soft", "The checker was executed anew for every state, because ",
			r->why_executed, ".");
	}
	if (r->interrupted || r->gave_up) {
		fputs("<p class=\"lost\">The exploration stopped early: there is no verdict on the rest.</p>",
			f);
	}
}

/* What the run executed of the source, in the words of the text. */
static void statements(FILE *f, const struct ct_coverage *c)
{
	struct text_stream t;

	if (!text_begin(&t)) {
		return;
	}
	cli_print_statements(c, t.to);
	for (char *rest = text_end(&t), *line; rest && (line = strsep(&rest, "\n")) && *line != '\0';) {
		paragraph(f, "soft", "", line, "");
	}
	free(t.text);
	html_source(f, c);
}

/* How the tester came to its verdict: for who asks. */
static void ways(FILE *f, const struct ct_result *r)
{
	char line[CRASH_SAMPLED_MAX][CRASH_SAMPLED_BYTES];

	if (r->mode == CT_KILL) {
		return;
	}
	fputs("<details><summary>How the states were accounted for</summary><div class=\"figures\">", f);
	figures_of_parts(f, r);
	fputs("</div>", f);
	for (unsigned i = 0, lines = crash_report_sampled(r, true, line); i < lines; i++) {
		paragraph(f, "soft", "Sampled: ", line[i], "");
	}
	recoveries(f, r);
	fputs("</details>", f);
}

static void say_without_crash(FILE *f, const struct ct_result *r)
{
	NVW_INVARIANT(r->without_crash);
	html_print(f,
		"<p class=\"lost\">The image as the program leaves it, without any crash, %s%s no crash "
		"state was tested.</p>",
		r->consistent ? "no verdict: " : "fails the check; ", r->undecided);
}

static void coverage(FILE *f, const struct ct_result *r)
{
	if (r->without_crash) {
		say_without_crash(f, r);
		return;
	}
	fputs("<h2>Coverage</h2>", f);
	figures_of_states(f, r);
	recorded_run(f, r);
	reservations(f, r);
	statements(f, &r->coverage);
	ways(f, r);
}

/* ---- Intervals ----------------------------------------------------------------------------------- */

static bool has_finding(const struct ct_result *r, uint64_t first, uint64_t end)
{
	NVW_INVARIANT(first <= end);
	return NVW_ANY(
		finding, r->finding, r->finding_count, finding->instant > first && finding->instant <= end);
}

/* One bar per interval, or per several: its number of states, and whether it is exhausted. */
static void bar(FILE *f, const struct ct_result *r, uint64_t first, uint64_t end, double most)
{
	double log2_states = 0;
	bool all = true;

	NVW_INVARIANT(first < end && end <= r->interval_count);
	for (uint64_t i = first; i < end; i++) {
		log2_states = fmax(log2_states, r->interval[i].possible_log2);
		all = all && r->interval[i].exhausted;
	}
	const bool fails = has_finding(r, first, end);

	fprintf(f, "<span%s%s style=\"height:%.1f%%\" title=\"interval %llu, until ",
		words_if(fails, " class=\"finding\""), words_if(!fails && all, " class=\"all\""),
		3 + 97 * log2_states / most, (ull)first + 1);
	html_moment(f, r, (int64_t)r->interval[end - 1].time_ps);
	fprintf(f, ": 2^%.1f states, %s\"></span>", log2_states, all ? "exhausted" : "sampled");
}

static void intervals(FILE *f, const struct ct_result *r)
{
	const uint64_t n = r->interval_count, columns = nvw_min(n, COLUMNS_MAX);
	double most = 1;

	if (n == 0) {
		return;
	}
	NVW_EACH(interval, r->interval, n) {
		most = fmax(most, interval->possible_log2);
	}
	fprintf(f,
		"<h2>Intervals</h2><div class=\"card\"><div style=\"max-width:%llupx\"><div "
		"class=\"intervals\" role=\"img\" aria-label=\"possible states per interval: %llu intervals, "
		"%llu of them exhausted\">",
		(ull)(columns * BAR_PX), (ull)n, (ull)r->instants_exhausted);
	NVW_FOR(c, columns) {
		bar(f, r, c * n / columns, (c + 1) * n / columns, most);
	}
	fputs("</div><p class=\"soft ends\"><span>", f);
	html_moment(f, r, (int64_t)r->interval[0].time_ps);
	fputs("</span><span>", f);
	html_moment(f, r, (int64_t)r->interval[n - 1].time_ps);
	fprintf(f,
		"</span></p></div><p class=\"soft\">Height: states that are new in the interval, as a power "
		"of two (up to 2<sup>%.0f</sup>). <span style=\"color:var(--good)\">&#9632;</span> exhausted "
		"&nbsp; <span style=\"color:var(--bar)\">&#9632;</span> sampled &nbsp; <span "
		"style=\"color:var(--bad)\">&#9632;</span> a finding begins here</p></div>",
		most);
}

static void axioms(FILE *f, const struct ct_result *r)
{
	const char *name, *text;

	if (r->mode == CT_KILL) {
		return;
	}
	fprintf(f, "<details><summary>The axioms of %s</summary><table>", ct_model_info(r->model)->name);
	for (unsigned i = 0; (text = ct_axiom_text(i, &name)); i++) {
		if (ct_model_info(r->model)->axioms >> i & 1) {
			fprintf(f, "<tr><th>%s</th><td>%s</td></tr>", name, text);
		}
	}
	fprintf(f, "</table><p class=\"soft\">%s</p></details>", ct_model_info(r->model)->who);
}

int crash_report_html(const struct crash_heading *h, const struct ct_result *r, const char *path)
{
	struct nvw_new_file page;

	NVW_TRY(nvw_new_file_begin(path, false, &page));
	FILE *const f = page.file;

	head(f, h, r);
	NVW_FOR(i, r->finding_count) {
		html_finding(f, r, i);
	}
	html_all_cures(f, r);
	html_unlogged(f, &r->unlogged);
	if (r->fewest_operations > 0) {
		fprintf(f, "<p class=\"soft\">Smallest failing run: <code>--count=%llu</code></p>",
			(ull)r->fewest_operations);
	}
	coverage(f, r);
	intervals(f, r);
	axioms(f, r);
	fprintf(f, "<footer>nvwave %s</footer></main></body></html>\n", cli_version);
	return nvw_new_file_end(&page, 0);
}
