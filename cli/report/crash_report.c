/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of "nvwave crash". See crash_report.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <crashtest/explain/finding.h>

#include "core/disk_image.h"
#include "core/invariant.h"
#include "core/units.h"

#include "crash_report.h"
#include "cure_report.h"
#include "field_words.h"
#include "json_report.h"
#include "provenance.h"
#include "schedule_report.h"
#include "corpus_report.h"
#include "statements.h"
#include "unlogged.h"
#include "words.h"

typedef unsigned long long ull;

enum { USUAL_ATOMICITY = 8 };

static const char *mode_name(enum ct_mode mode)
{
	static const char *const names[] = {
		[CT_KILL] = "kill", [CT_OBSERVED] = "observed", [CT_PERMITTED] = "permitted"};

	NVW_INVARIANT(mode < sizeof names / sizeof *names);
	return names[mode];
}

/* ---- Text ---------------------------------------------------------------------------------------- */

/* Only one interleaving of the program's threads was recorded. */
static void print_interleaving(const struct ct_result *r, FILE *to)
{
	if (r->corpus.count > 0) {
		const unsigned tested = cli_corpus_count(&r->corpus, CT_INPUT_TESTED);

		fprintf(to, " of %u tested input%s", tested, plural(tested));
	}
	if (r->thread_schedules.run > 0) {
		fprintf(to, " of %s different schedule%s of %s threads",
			GROUPED(r->thread_schedules.different), plural(r->thread_schedules.different),
			GROUPED(r->threads));
	} else if (r->threads > 1) {
		fprintf(to, " of this recorded interleaving of %s threads", GROUPED(r->threads));
	} else if (r->kernels > 0) {
		fputs(" of this interleaving of work-items", to);
	} else if (r->schedules.asked > 0) {
		fprintf(to, " of %s different schedules", GROUPED(r->schedules.different));
	}
}

/* A count that may be far beyond 2^64, as a power of two. */
static void print_possible(const struct ct_result *r, FILE *to)
{
	const double log2_states = r->states_possible_log2, whole = round(log2_states);

	if (!r->states_possible_exact) {
		fputs("at most ", to);
	}
	if (log2_states < 53) {
		fprintf(to, "%s", GROUPED((uint64_t)(r->states_possible + 0.5)));
	} else {
		fprintf(to, "2^%.*f", fabs(log2_states - whole) < 0.05 ? 0 : 1, log2_states);
	}
}

static void print_states(const struct ct_result *r, FILE *to)
{
	if (r->mode == CT_KILL) {
		fprintf(to, "%s kills (%s different states)", GROUPED(r->states_tested),
			GROUPED(r->states_distinct));
		return;
	}
	fputs(GROUPED(r->states_distinct), to);
	if (ct_verdict_of(r) == CT_VERDICT_UNREFUTED &&
		!r->grouped) { /* else there are more than are known */
		fputs(" of ", to);
		print_possible(r, to);
		fputs(" states", to);
	} else {
		fputs(words_if(r->schedules.asked == 0, " distinct"), to); /* else: in one schedule */
		fputs(" states", to);
	}
	print_interleaving(r, to);
	fprintf(to, " (plus %s duplicates", GROUPED(r->states_equal));
	if (r->states_unread > 0) {
		fprintf(to, ", %s that differ only in words never read", GROUPED(r->states_unread));
	}
	if (r->states_symmetric > 0) {
		fprintf(to, ", %s symmetric states skipped", GROUPED(r->states_symmetric));
	}
	fputc(')', to);
}

const char *crash_state_name(const struct ct_result *r)
{
	return r->mode == CT_KILL ? "kill" : "state";
}

bool crash_names_machine(const struct crash_heading *h, const struct ct_result *r)
{
	return h->verbose || h->names_machine || crash_atomicity(h, r) != USUAL_ATOMICITY ||
	       !cli_is_usual_machine(h->made_by);
}

const char *crash_model_name(const struct crash_heading *h, const struct ct_result *r)
{
	return r->mode == CT_PERMITTED ? ct_model_info(r->model)->name : h->model;
}

static bool is_on_disk(const struct ct_result *r)
{
	return ct_model_info(r->model)->use == CT_USE_FILES;
}

const char *crash_caution(const struct ct_result *r)
{
	if (is_on_disk(r)) {
		return words_if(r->grouped, "stores within a sector were not ordered: build with nvwave-cc");
	}
	return words_if(r->grouped, "stores within a line were not ordered: build with nvwave-cc");
}

static const char *together(const struct ct_result *r)
{
	return is_on_disk(r) ? " with the stores of a sector together," :
			       " with the stores of a line together,";
}

/* All of them, by parts. */
static void print_all_states(const struct ct_result *r, FILE *to)
{
	fputs("all ", to);
	if (r->states_possible_exact) {
		print_possible(r, to);
		fputc(' ', to);
	}
	fprintf(to, "states at all %s instant%s", GROUPED(r->instants), plural(r->instants));
	print_interleaving(r, to);
	if (!r->states_possible_exact) {
		fputs(", ", to);
		print_possible(r, to);
	}
}

static bool is_by_parts(const struct ct_result *r)
{
	return r->instants_by_parts > 0 && ct_verdict_of(r) == CT_VERDICT_CONSISTENT;
}

void crash_report_headline(const struct ct_result *r, FILE *to)
{
	const enum ct_verdict verdict = ct_verdict_of(r);

	fprintf(to, "%s%s", ct_verdict_words(verdict), verdict == CT_VERDICT_UNREFUTED ? " in " : "   ");
	if (r->without_crash) {
		fputs("WITHOUT ANY CRASH", to);
		return;
	}
	if (is_by_parts(r)) {
		print_all_states(r, to);
		return;
	}
	if (r->schedules.finding_count > 0) {
		fprintf(to, "%u finding%s without a crash; ", r->schedules.finding_count,
			plural(r->schedules.finding_count));
	}
	if (r->consistent && r->unlogged.count > 0) {
		fprintf(to, "%u place%s; no failure in ", r->unlogged.count, plural(r->unlogged.count));
	}
	if (!r->consistent) {
		fprintf(to, "%u finding%s in %s of ", r->finding_count, plural(r->finding_count),
			GROUPED(r->states_failing));
	}
	print_states(r, to);
	fputs(words_if(r->trusts, ", transactions trusted"), to);
	fprintf(to, "%s%s", words_if(r->grouped, "; "), crash_caution(r));
}

static void print_verdict(const struct ct_result *r, FILE *to)
{
	crash_report_headline(r, to);
	fprintf(to, "   %.1f s", r->host_seconds);
	if (r->explore_seconds > 0 && !is_by_parts(r)) {
		fprintf(to, ", %s/s", GROUPED((uint64_t)((double)r->states_distinct / r->explore_seconds)));
	}
	fputc('\n', to);
}

/* How instants were exhausted, other than by testing their states. */
static void print_ways(const struct ct_result *r, FILE *to)
{
	if (r->instants_by_parts > 0) {
		fprintf(to, ", %s by parts", GROUPED(r->instants_by_parts));
	}
	if (r->instants_by_reads > 0) {
		fprintf(to, ", %s by read-based pruning", GROUPED(r->instants_by_reads));
	}
}

static void print_exhausted(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	if (r->instants == 0) {
		fputs("no power cut was tried", to);
	} else if (ct_covers_all(r)) {
		fputs("100 %", to);
		print_interleaving(r, to);
		fputs(": all instants exhausted", to);
	} else {
		const bool in_part = r->instants_exhausted < r->instants;

		fprintf(to, "%s of them exhausted%s", GROUPED(r->instants_exhausted),
			words_if(in_part, SHARE(r->instants_exhausted, r->instants)));
	}
	if (h->verbose) {
		print_ways(r, to);
	}
	fputc('\n', to);
}

/* Limits of the tester, which a reader can do nothing about. */
static unsigned sampled_by_limits(
	const struct ct_by_parts *p, char ret_line[CRASH_SAMPLED_MAX][CRASH_SAMPLED_BYTES])
{
	unsigned n = 0;

	if (p->wide > 0) {
		snprintf(ret_line[n++], CRASH_SAMPLED_BYTES,
			"a part looks at too much %s time%s, the first with %u uncertain words (%s)",
			GROUPED(p->wide), plural(p->wide), p->wide_forks, p->first_wide);
	}
	if (p->crowded > 0) {
		snprintf(ret_line[n++], CRASH_SAMPLED_BYTES,
			"%s instant%s with more stores in flight than their order can be kept of, the first "
			"with %s",
			GROUPED(p->crowded), plural(p->crowded), GROUPED(p->crowd));
	}
	return n;
}

unsigned crash_report_sampled(
	const struct ct_result *r, bool limits, char ret_line[CRASH_SAMPLED_MAX][CRASH_SAMPLED_BYTES])
{
	const struct ct_by_parts *const p = &r->by_parts;
	unsigned n = limits ? sampled_by_limits(p, ret_line) : 0;

	if (p->denied > 0) {
		snprintf(ret_line[n++], CRASH_SAMPLED_BYTES,
			"a part fails in %s state%s that the whole check passes: %s", GROUPED(p->denied),
			plural(p->denied), p->first_denied);
	}
	if (p->missed > 0) {
		snprintf(ret_line[n++], CRASH_SAMPLED_BYTES,
			"at %s instant%s all parts passed, but the whole check fails", GROUPED(p->missed),
			plural(p->missed));
	}
	if (p->died > 0) {
		snprintf(ret_line[n++], CRASH_SAMPLED_BYTES,
			"a part crashed or hung, after which the check ran on whole states alone");
	}
	NVW_INVARIANT(n <= CRASH_SAMPLED_MAX);
	return n;
}

/* What the check in parts did. */
static void print_parts(const struct ct_result *r, FILE *to)
{
	const struct ct_by_parts *const p = &r->by_parts;

	if (p->parts == 0) {
		return;
	}
	fprintf(to, "by parts: %s evaluations of %s parts", GROUPED(p->evaluations), GROUPED(p->parts));
	if (p->most_forks > 0) {
		fprintf(to, ", the widest with %u uncertain word%s (%s)", p->most_forks,
			plural(p->most_forks), p->widest);
	}
	fprintf(to, "; %s whole states besides", GROUPED(r->states_distinct));
	if (p->confirmations > 0) {
		fprintf(to, ", of which %s, outside of the budget, to confirm parts that fail",
			GROUPED(p->confirmations));
	}
	fputc('\n', to);
}

/* Why some instants were sampled although the check has parts. */
static void print_sampled(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	char line[CRASH_SAMPLED_MAX][CRASH_SAMPLED_BYTES];

	for (unsigned i = 0, lines = crash_report_sampled(r, h->verbose, line); i < lines; i++) {
		fprintf(to, "sampled: %s\n", line[i]);
	}
}

/* What the options assumed of the program. */
static void print_assumed(const struct ct_result *r, FILE *to)
{
	const char *before = "with";

	for (unsigned i = 0; i < r->assumed_count; i++, before = "and") {
		const bool idle = r->assumed_idle >> i & 1;
		char text[512];

		ct_edit_text(&r->assumed[i], text, sizeof text);
		fprintf(to, "%s %s%s\n", before, text,
			words_if(idle, ", which changes nothing: no state is without it"));
	}
}

static void print_untested(const struct ct_result *r, FILE *to)
{
	if (r->interrupted) {
		fprintf(to, "INTERRUPTED after %s of %s planned states: no verdict on the rest\n",
			GROUPED(r->states_tested), GROUPED(r->states_planned));
	}
	if (r->states_undecided > 0) {
		fprintf(to, "%s state%s without an answer: %s\n", GROUPED(r->states_undecided),
			plural(r->states_undecided), r->undecided);
	}
	if (r->ended_by != 0) {
		fprintf(to,
			"the program was ended by signal %d (%s): what it would have done then is not tested\n",
			r->ended_by, strsignal(r->ended_by));
	}
	if (r->gave_up) {
		fputs("recovery or check crashed or hung too often: some states were not tested\n", to);
	}
}

/* Of the program's threads. */
static void print_schedules(const struct ct_result *r, FILE *to)
{
	if (r->thread_schedules.run == 0) {
		return;
	}
	fprintf(to, "%s schedule%s of the threads run, %s different; others may leave other states\n",
		GROUPED(r->thread_schedules.run), plural(r->thread_schedules.run),
		GROUPED(r->thread_schedules.different));
	if (r->thread_schedules.stuck > 0) {
		fprintf(to, "%s of them did not get to the end; %s\n", GROUPED(r->thread_schedules.stuck),
			r->thread_schedules.first_stuck);
	}
}

/* What the verdict rests on. */
static void print_trusted(const struct ct_result *r, FILE *to)
{
	if (r->trusts) {
		fprintf(to,
			"transactions trusted: %s store%s of %s byte%s to %s added range%s, which recovery by "
			"libpmemobj takes back, were not uncertain; --trust=none tests them\n",
			GROUPED(r->trusted.stores), plural(r->trusted.stores), GROUPED(r->trusted.bytes),
			plural(r->trusted.bytes), GROUPED(r->trusted.ranges), plural(r->trusted.ranges));
	}
}

/* Limits of the verdict. */
static void print_limits(const struct ct_result *r, FILE *to)
{
	print_untested(r, to);
	print_trusted(r, to);
	print_schedules(r, to);
	if (r->threads > 1 && r->thread_schedules.run == 0) {
		fputs("other interleavings of the threads may leave other states: record the program more "
		      "than once\n",
			to);
	}
	if (r->kernels > 0) {
		fputs("other interleavings of the kernels' work-items may leave other states: test on "
		      "another machine, or under another protocol, too\n",
			to);
	}
	if (r->states_alike > 0) {
		fprintf(to,
			"%s states, %s of which differ from tested ones only in bytes that the checker did not "
			"read\n",
			GROUPED(r->states_distinct), GROUPED(r->states_alike));
	}
	if (r->hangs_alike > 0) {
		fprintf(to,
			"note: %s checks were cut early, in a function in which another one did not "
			"terminate\n",
			GROUPED(r->hangs_alike));
	}
	if (r->states_settled > 0) {
		fprintf(to,
			"%s states were not tested: at their instants all states kept failing in ways that "
			"are known\n",
			GROUPED(r->states_settled));
	}
	print_assumed(r, to);
	if (r->why_executed[0] != '\0') {
		fprintf(to, "note: the checker was executed anew for every state, because %s\n",
			r->why_executed);
	}
}

static void print_recoveries(const struct ct_recoveries *c, FILE *to)
{
	fprintf(to,
		"recovery, at most in a whole state: open epochs %s, log entries read %s, words restored %s, "
		"words written %s\n",
		GROUPED(c->epochs_open), GROUPED(c->entries_read), GROUPED(c->words_restored),
		GROUPED(c->words_written));
}

/* The number of possible states, and how many of them were covered. */
static void print_coverage(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	if (r->without_crash) {
		fprintf(to, "the image as the program leaves it %s%s: no crash state was tested\n",
			r->consistent ? "no verdict, " : "fails the check", r->undecided);
		return;
	}
	if (r->mode != CT_KILL) {
		fprintf(to, "possible: ");
		print_possible(r, to);
		fprintf(to, " states%s at %s instant%s; ", words_if(r->grouped, together(r)),
			GROUPED(r->instants), plural(r->instants));
		print_exhausted(h, r, to);
		print_sampled(h, r, to);
	}
	if (h->verbose) {
		print_parts(r, to);
	}
	if (h->verbose && r->has_recoveries && r->recoveries.epochs_open > 0) {
		print_recoveries(&r->recoveries, to);
	}
	if (r->robust) {
		fputs("judged by what was read, not by the check: a finding may be benign, and the structure "
		      "wrong without one\n",
			to);
	}
	if (r->recoveries.worked_on > 0) {
		fprintf(to, "worked on after recovery: %s states, and judged again\n",
			GROUPED(r->recoveries.worked_on));
	}
	if (r->shards > 0) {
		fprintf(to, "shard %u of %u: the states and instants above are those of this shard\n",
			r->shard, r->shards);
	}
	print_limits(r, to);
}

/* What a name becomes by the store of a word (core/disk_image.h). */
static const char *name_becomes(uint64_t word)
{
	if (word == 0) {
		return "is removed";
	}
	if (word >= NVW__DISK_LINK) {
		return "becomes a link's";
	}
	return word == NVW__DISK_FOLDER ? "becomes a folder's" : "becomes a file's";
}

static void print_place_in_files(const struct ct_place *p, FILE *to)
{
	fprintf(to, "    %s:%u (%s)  ", p->file, p->line, p->function);
	if (p->is_name) {
		fprintf(to, "the name %s %s", p->of, name_becomes(p->value));
	} else if (p->is_size) {
		fprintf(to, "the %s%s becomes %llu", *p->of ? "size of " : "file's size", p->of,
			(ull)NVW__DISK_SIZE(p->value));
	} else {
		fprintf(to, "store of %u bytes at 0x%llx of %s", p->bytes, (ull)p->off, p->of);
	}
	fprintf(to, "   %s\n", ct_fate_name(p->fate));
}

static void print_field(const struct ct_place *p, FILE *to)
{
	char words[CLI_FIELD_BYTES];

	fprintf(to, "    %s:%u (%s)  stores %s   %s\n", p->file, p->line, p->function,
		cli_field_words(&p->field, words), ct_fate_name(p->fate));
	fprintf(to, "        %s\n", cli_field_place(p, words));
}

static void print_place(const struct crash_heading *h, const struct ct_place *p, FILE *to)
{
	if (p->is_size || p->is_name || *p->of != '\0') {
		print_place_in_files(p, to);
		return;
	}
	if (*p->kernel == '\0' && cli_field_is_known(&p->field)) {
		print_field(p, to);
		return;
	}
	if (*p->kernel == '\0') {
		fprintf(to, "    %s:%u (%s)  store of %u bytes at 0x%llx   %s\n", p->file, p->line,
			p->function, p->bytes, (ull)p->off, ct_fate_name(p->fate));
		return;
	}
	fprintf(to, "    %s:%u (%s)  store of %u bytes at 0x%llx, kernel \"%s\" work-item %llu", p->file,
		p->line, p->function, p->bytes, (ull)p->off, p->kernel, (ull)p->work_item);
	if (h->verbose) {
		fprintf(to, ", group %llu, epoch wi %u wg %u kr %u", (ull)p->group, p->epoch_wi, p->epoch_wg,
			p->epoch_kr);
	}
	fprintf(to, "   %s\n", ct_fate_name(p->fate));
}

/* How many states fail, and where the first of them was. */
static void print_first(const struct ct_result *r, const struct ct_finding *f, FILE *to)
{
	fputs("    ", to);
	if (f->states > 0) { /* else met behind a cure, and not counted */
		fprintf(to, "%s %s%s%s, ", GROUPED(f->states), crash_state_name(r), plural(f->states),
			words_if(!f->by_cure, " failing in these words"));
	}
	fputs("first at ", to);
	if (ct_model_has_threads(r->model) || r->kernels) {
		fprintf(to, "operation %llu of the log", (ull)(f->first_time_ps / 1000));
	} else {
		fputs(ROUNDED_TIME(f->first_time_ps), to);
	}
	if (f->off != 0) {
		fprintf(to, ", pool offset 0x%llx", (ull)f->off);
	}
	fputc('\n', to);
}

static void print_text(const char *before, const char *text, const char *behind, FILE *to)
{
	if (*text != '\0') {
		fprintf(to, "    %s%s%s\n", before, text, behind);
	}
}

/* Failures in other words that have the same cause. */
static void print_also(const struct ct_finding *f, FILE *to)
{
	for (unsigned k = 0; k < f->also_count; k++) {
		fprintf(to, "    also: %s", f->also[k].text);
		if (f->also[k].states > 0) { /* else met behind a cure, and not counted */
			fprintf(to, " (%s state%s%s)", GROUPED(f->also[k].states), plural(f->also[k].states),
				words_if(!f->by_cure, " failing in these words"));
		}
		fputc('\n', to);
	}
	if (f->also_more > 0) {
		fprintf(to, "    and %u more failures with the same cause\n", f->also_more);
	}
}

static void print_explanation(
	const struct crash_heading *h, const struct ct_result *r, const struct ct_finding *f, FILE *to)
{
	for (unsigned k = 0; k < f->place_count; k++) {
		print_place(h, &f->place[k], to);
	}
	if (f->cause.kind != CT_CAUSE_NONE) {
		fprintf(to, "    %s\n", f->cause.text);
	}
	cli_cure_report(r, f, "    ", to);
	if (f->minimised) {
		fprintf(to, "    smallest case: %llu of %llu writes in flight lost\n",
			(ull)(f->units - f->units_durable), (ull)f->units);
	}
	if (f->bounded) {
		fputs("    the explanation ended at its bound of tested states: the cause may be another\n",
			to);
	}
}

static void print_finding(const struct crash_heading *h, const struct ct_result *r, unsigned i, FILE *to)
{
	NVW_INVARIANT(i < r->finding_count);

	const struct ct_finding *f = &r->finding[i];

	fprintf(to, "\n %u  %s\n", i + 1, f->text);
	if (r->without_crash) {
		return;
	}
	print_first(r, f, to);
	if (r->schedules.asked > 0) {
		fprintf(to, "    under schedule %s (%s)\n", GROUPED(f->schedule),
			ct_schedule_way(f->schedule, r->schedules.every));
	}
	if (f->sample) {
		fputs("    another cause of states that fail in the same words as those of an earlier "
		      "finding\n",
			to);
	}
	print_text("in ", f->where, "", to);
	print_text("operation ", f->operation, " was acknowledged", to);
	print_text("in flight: operation ", f->in_flight, "", to);
	print_also(f, to);
	print_explanation(h, r, f, to);
	print_text("with the input ", f->input, "", to);
	if (f->thread_schedule > 0) {
		fprintf(to, "    under schedule %llu (%s), here with %u switch%s\n", (ull)f->thread_schedule,
			f->policy, f->switches, words_if(f->switches != 1, "es"));
	}
	if (f->saved[0] != '\0') {
		fputs("    replay with: nvwave replay ", to);
		cli_print_quoted(f->saved, to);
		fputc('\n', to);
	}
}

/* Of a program on the host, or a store log. */
static void print_program(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	fprintf(to, "%s under %s%s: %s stores, %s fences%s", h->workload, ct_model_info(r->model)->name,
		words_if(r->kernels && !ct_model_keeps_caches(r->model), " (kernels) and x86 (host code)"),
		GROUPED(r->stores), GROUPED(r->barriers), words_if(r->kernels, " and persist barriers"));
	if (r->stores_elsewhere > 0) {
		fprintf(to, "; %s stores to other files ignored", GROUPED(r->stores_elsewhere));
	}
	if (r->threads == 0) {
		fputs(", in one recorded order (the log names no threads)", to);
	}
	fputc('\n', to);
}

/* The subject of the test. */
static void print_subject(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	if (*h->machine == '\0') {
		print_program(h, r, to);
		return;
	}
	fputs(h->workload, to);
	if (crash_names_machine(h, r)) {
		fprintf(to, " on %s, protocol %s, %s persistency, %u-byte atomicity", h->machine, h->protocol,
			crash_model_name(h, r), crash_atomicity(h, r));
	} else {
		fprintf(to, " under %s persistency", crash_model_name(h, r));
	}
	fprintf(to, ", seed %llu, %s mode%s%s", (ull)h->seed, mode_name(r->mode),
		words_if(*h->mutation, ", mutation "), h->mutation);
	if (r->mode != CT_KILL) {
		fprintf(to, ": %s NVRAM stores, %s barriers, %s acknowledged", GROUPED(r->stores),
			GROUPED(r->barriers), GROUPED(r->acks));
	}
	fputs(" in ", to);
	fputs(ROUNDED_TIME(r->sim_time_ps), to);
	fputc('\n', to);
}

static void print_interval(const struct ct_interval *k, FILE *to)
{
	fprintf(to, "%11.1f ns ", (double)k->time_ps / 1000);
	if (k->possible_log2 < 40) {
		fprintf(to, "%14.0f", exp2(k->possible_log2)); /* 0 of minus infinity */
	} else {
		fprintf(to, "%8s2^%-4.0f", words_if(!k->exact, "<= "), k->possible_log2);
	}
	fprintf(to, " %9u %9u %9u  %s\n", k->distinct, k->equal, k->unread,
		k->exhausted ? "exhausted" : "sampled");
}

/* One line per interval: the number of its new states, and how they were covered. */
static void print_intervals(const struct ct_result *r, FILE *to)
{
	fprintf(to, "\n%14s %14s %9s %9s %9s\n", "until", "states", "distinct", "duplicate", "unread");
	for (uint64_t i = 0; i < r->interval_count; i++) {
		print_interval(&r->interval[i], to);
	}
}

/* An address in a file takes the place of a line. */
static bool lacks_line(const struct ct_finding *f)
{
	for (unsigned k = 0; k < f->place_count; k++) {
		if (f->place[k].line == 0 && strstr(f->place[k].file, "+0x") != NULL) {
			return true;
		}
	}
	return false;
}

static void print_lacking_lines(const struct ct_result *r, FILE *to)
{
	for (unsigned i = 0; i < r->finding_count; i++) {
		if (lacks_line(&r->finding[i])) {
			fputs("\nnote: a place has no source line: compile with -g\n", to);
			return;
		}
	}
}

void crash_report_text(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	NVW_INVARIANT(h->command != NULL);
	print_verdict(r, to);
	print_subject(h, r, to);
	print_coverage(h, r, to);
	cli_schedules_text(&r->schedules, to);
	cli_corpus_text(r, to);
	cli_print_statements(&r->coverage, to);
	cli_print_origin(h->made_by, crash_names_machine(h, r), to);
	if (h->intervals) {
		print_intervals(r, to);
	}
	cli_schedule_findings_text(&r->schedules, to);
	if (r->finding_count > 1) {
		fputs("\nfindings, in the order in which to mend them:\n", to);
	}
	for (unsigned i = 0; i < r->finding_count; i++) {
		print_finding(h, r, i, to);
	}
	cli_unlogged_text(&r->unlogged, true, to);
	print_lacking_lines(r, to);
	cli_cure_report_all(r, to);
	if (r->findings_unlisted > 0) {
		fprintf(to, "\n and %s states that fail in other ways\n", GROUPED(r->findings_unlisted));
	}
	if (!r->consistent || r->unlogged.count > 0) {
		fputc('\n', to);
		if (r->fewest_operations > 0) {
			fprintf(to, "smallest failing --count: %llu\n", (ull)r->fewest_operations);
		}
		fprintf(to, "repeat: %s\n", h->command);
	}
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

/* JSON has no -inf: nothing was possible. */
static double finite_or_0(double log2_states)
{
	return isfinite(log2_states) ? log2_states : 0.0;
}

static json_t *json_intervals(const struct ct_result *r)
{
	json_t *const all = json_array();

	for (uint64_t i = 0; i < r->interval_count; i++) {
		const struct ct_interval *const k = &r->interval[i];
		const double log2_states = finite_or_0(k->possible_log2);

		json_array_append_new(
			all, json_pack("{s:f, s:f, s:b, s:i, s:i, s:i, s:b}", "until_ns",
				     (double)k->time_ps / 1000, "possible_log2", log2_states, "exact",
				     k->exact, "distinct", (int)k->distinct, "equal", (int)k->equal, "unread",
				     (int)k->unread, "all_accounted_for", k->exhausted));
	}
	return all;
}

static json_t *json_parts(const struct ct_result *r)
{
	const struct ct_by_parts *const p = &r->by_parts;

	return json_pack("{s:I, s:I, s:I, s:i, s:s, s:I, s:i, s:s, s:I, s:s, s:I, s:I, s:I, s:I, s:I}",
		"parts", (json_int_t)p->parts, "evaluations", (json_int_t)p->evaluations, "instants",
		(json_int_t)r->instants_by_parts, "widest_words", (int)p->most_forks, "widest", p->widest,
		"too_wide", (json_int_t)p->wide, "too_wide_words", (int)p->wide_forks, "first_too_wide",
		p->first_wide, "denied", (json_int_t)p->denied, "first_denied", p->first_denied, "missed",
		(json_int_t)p->missed, "died", (json_int_t)p->died, "crowded", (json_int_t)p->crowded,
		"crowd_stores", (json_int_t)p->crowd, "confirmations", (json_int_t)p->confirmations);
}

static json_t *json_assumed(const struct ct_result *r)
{
	json_t *const all = json_array();

	for (unsigned i = 0; i < r->assumed_count; i++) {
		char text[512];

		ct_edit_text(&r->assumed[i], text, sizeof text);
		json_array_append_new(all,
			json_pack("{s:s, s:b}", "text", text, "changes_states", !(r->assumed_idle >> i & 1)));
	}
	return all;
}

static json_t *json_recoveries(const struct ct_result *r)
{
	const struct ct_recoveries *const c = &r->recoveries;

	if (!r->has_recoveries) {
		return json_null();
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "epochs_open", (json_int_t)c->epochs_open,
		"entries_read", (json_int_t)c->entries_read, "words_restored", (json_int_t)c->words_restored,
		"words_written", (json_int_t)c->words_written, "worked_on", (json_int_t)c->worked_on);
}

/* Of the search for cures, if there was one. */
static json_t *json_cure_search(const struct ct_result *r)
{
	if (!r->proved) {
		return json_null();
	}
	return json_pack("{s:I, s:I, s:b, s:I, s:I}", "states", (json_int_t)r->cure_states, "states_most",
		(json_int_t)r->cure_states_most, "ended_by_budget", r->cure_search_ended, "states_in_none",
		(json_int_t)r->states_in_none, "states_of_several", (json_int_t)r->states_of_several);
}

/* Of a program's threads. */
static json_t *json_threads(const struct ct_result *r)
{
	if (r->thread_schedules.run == 0) {
		return NULL;
	}
	return json_pack("{s:I, s:I, s:I, s:s}", "run", (json_int_t)r->thread_schedules.run, "different",
		(json_int_t)r->thread_schedules.different, "stuck", (json_int_t)r->thread_schedules.stuck,
		"first_stuck", r->thread_schedules.first_stuck);
}

/* NULL: they are not trusted. */
static json_t *json_trusted(const struct ct_result *r)
{
	if (!r->trusts) {
		return NULL;
	}
	return json_pack("{s:I, s:I, s:I}", "ranges", (json_int_t)r->trusted.ranges, "stores",
		(json_int_t)r->trusted.stores, "bytes", (json_int_t)r->trusted.bytes);
}

static json_t *json_result(const struct crash_heading *h, const struct ct_result *r)
{
	json_t *findings = json_array();

	for (unsigned i = 0; i < r->finding_count; i++) {
		json_array_append_new(findings, ct_finding_json(&r->finding[i]));
	}
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:b, "
		"s:I, s:I, s:I, s:f, s:f, s:f, s:I, s:s, s:o, s:b, s:b, s:I, s:i, s:i, s:I, s:I, s:I, s:I, "
		"s:o, s:I, s:s, s:b, s:I, s:b, s:s, s:I, s:I, s:I, s:o, s:O*, s:o, s:o, s:o, s:o*, s:o, s:o*, "
		"s:o*, s:o*, s:o*}",
		"verdict", ct_verdict_name(ct_verdict_of(r)), "mode", mode_name(r->mode), "workload",
		h->workload, "machine", h->machine, "protocol", h->protocol, "model", crash_model_name(h, r),
		"seed", (json_int_t)h->seed, "mutation", h->mutation, "caution", crash_caution(r),
		"atomicity", (int)crash_atomicity(h, r), "states_tested", (json_int_t)r->states_tested,
		"states_distinct", (json_int_t)r->states_distinct, "states_equal",
		(json_int_t)r->states_equal, "states_failing", (json_int_t)r->states_failing,
		"states_possible_log2", finite_or_0(r->states_possible_log2), "instants",
		(json_int_t)r->instants, "instants_exhausted", (json_int_t)r->instants_exhausted, "gave_up",
		r->gave_up, "stores", (json_int_t)r->stores, "barriers", (json_int_t)r->barriers,
		"acknowledged", (json_int_t)r->acks, "sim_time_ns", (double)r->sim_time_ps / 1000,
		"host_seconds", r->host_seconds, "explore_seconds", r->explore_seconds, "findings_unlisted",
		(json_int_t)r->findings_unlisted, "repeat", h->command, "findings", findings,
		"states_possible_exact", r->states_possible_exact, "interrupted", r->interrupted,
		"states_planned", (json_int_t)r->states_planned, "shard", (int)r->shard, "shards",
		(int)r->shards, "states_unread", (json_int_t)r->states_unread, "states_symmetric",
		(json_int_t)r->states_symmetric, "instants_by_reads", (json_int_t)r->instants_by_reads,
		"fewest_operations", (json_int_t)r->fewest_operations, "intervals", json_intervals(r),
		"states_undecided", (json_int_t)r->states_undecided, "undecided", r->undecided,
		"without_crash", r->without_crash, "threads", (json_int_t)r->threads, "checker_executed",
		r->executed, "why_executed", r->why_executed, "hangs_alike", (json_int_t)r->hangs_alike,
		"states_alike", (json_int_t)r->states_alike, "states_settled", (json_int_t)r->states_settled,
		"by_parts", json_parts(r), "made_by", h->made_by, "recovery", json_recoveries(r),
		"cure_search", json_cure_search(r), "assumed", json_assumed(r), "source",
		cli_statements_json(&r->coverage), "schedules", cli_schedules_json(&r->schedules),
		"thread_schedules", json_threads(r), "unlogged", cli_unlogged_json(&r->unlogged), "corpus",
		cli_corpus_json(r), "trusted", json_trusted(r));
}

/* The members of these names. */
static json_t *some_of(const json_t *o, const char *const *names)
{
	json_t *const some = json_object();

	for (; *names != NULL; names++) {
		json_object_set(some, *names, json_object_get(o, *names));
	}
	return some;
}

static json_t *brief_finding(const json_t *finding)
{
	static const char *const names[] = {"kind", "lost", "early", "lost_function", "early_function", NULL};

	return json_pack("{s:O, s:o}", "text", json_object_get(finding, "text"), "cause",
		some_of(json_object_get(finding, "cause"), names));
}

json_t *crash_report_brief(const struct crash_heading *h, const struct ct_result *r)
{
	static const char *const names[] = {"verdict", "mode", "workload", "machine", "protocol", "model",
		"seed", "mutation", "states_distinct", "states_failing", "instants", "instants_exhausted",
		"repeat", NULL};
	static const char *const of_source[] = {"statements", "executed", NULL};
	json_t *const whole = json_result(h, r), *const brief = some_of(whole, names),
		      *const findings = json_array(), *const source = json_object_get(whole, "source");
	json_t *finding;
	size_t i;

	json_array_foreach(json_object_get(whole, "findings"), i, finding)
	{
		json_array_append_new(findings, brief_finding(finding));
	}
	json_object_set_new(brief, "findings", findings);
	if (source != NULL) {
		json_object_set_new(brief, "source", some_of(source, of_source));
	}
	json_decref(whole);
	return brief;
}

int crash_report_json(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	NVW_INVARIANT(h->command != NULL);
	return cli_print_json(json_result(h, r), to);
}
