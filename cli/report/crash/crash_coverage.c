/* SPDX-License-Identifier: BSD-3-Clause */
/* How much a crash test has tested, and the limits of its verdict. See crash_text.h. */
#include <stdio.h>
#include <string.h>

#include "core/invariant.h"

#include "../words.h"
#include "crash_report.h"
#include "crash_text.h"
#include "schedule_report.h"

static const char *together(const struct ct_result *r)
{
	return crash_is_on_disk(r) ? " with the stores of a sector together," :
				     " with the stores of a line together,";
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
		crash_interleaving_text(r, to);
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

bool crash_assumed_idle(const struct ct_result *r, unsigned i)
{
	NVW_INVARIANT(i < r->assumed_count && r->assumed_count <= 8 * sizeof r->assumed_idle);
	return r->assumed_idle >> i & 1;
}

/* What the options assumed of the program. */
static void print_assumed(const struct ct_result *r, FILE *to)
{
	const char *before = "with";

	for (unsigned i = 0; i < r->assumed_count; i++, before = "and") {
		char text[512];

		ct_edit_text(&r->assumed[i], text, sizeof text);
		fprintf(to, "%s %s%s\n", before, text,
			words_if(
				crash_assumed_idle(r, i), ", which changes nothing: no state is without it"));
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
			"the program was ended by signal %d (%s): what it would have done then is not "
			"tested\n",
			r->ended_by, strsignal(r->ended_by));
	}
	if (r->gave_up) {
		fputs("recovery or check crashed or hung too often: some states were not tested\n", to);
	}
}

/* Prints which schedules the program's threads had. */
static void print_schedules(const struct ct_result *r, FILE *to)
{
	if (r->thread_schedules.run == 0) {
		return;
	}
	if (r->thread_schedules.only > 1) {
		fprintf(to,
			"schedules 1 and %s of the threads run, and the states of the second tested; others "
			"may leave other states\n",
			GROUPED(r->thread_schedules.only));
	} else {
		fprintf(to, "%s schedule%s of the threads run, %s different; others may leave other states\n",
			GROUPED(r->thread_schedules.run), plural(r->thread_schedules.run),
			GROUPED(r->thread_schedules.different));
	}
	if (r->thread_schedules.stuck > 0) {
		fprintf(to, "%s of them did not get to the end; %s\n", GROUPED(r->thread_schedules.stuck),
			r->thread_schedules.first_stuck);
	}
	if (r->thread_schedules.outside) {
		fprintf(to, "%s\n", OUTSIDE_WORDS);
	}
	cli_crash_races_text(&r->races, to);
}

/* What the verdict rests on. */
static void print_trusted(const struct ct_result *r, FILE *to)
{
	const __auto_type t = &r->trusted;

	if (r->trusts) {
		fprintf(to,
			"transactions trusted: %s store%s of %s byte%s to %s added range%s, which recovery "
			"by libpmemobj takes back, were not uncertain; --trust=none tests them\n",
			GROUPED(t->stores), plural(t->stores), GROUPED(t->bytes), plural(t->bytes),
			GROUPED(t->ranges), plural(t->ranges));
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
			"%s states, %s of which differ from tested ones only in bytes that the checker did "
			"not read\n",
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
static void print_covered(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	fprintf(to, "possible: ");
	crash_possible_text(r, to);
	fprintf(to, " states%s at %s instant%s; ", words_if(r->grouped, together(r)), GROUPED(r->instants),
		plural(r->instants));
	print_exhausted(h, r, to);
	print_sampled(h, r, to);
}

void crash_coverage_text(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	if (r->without_crash) {
		fprintf(to, "the image as the program leaves it %s%s: no crash state was tested\n",
			r->consistent ? "no verdict, " : "fails the check", r->undecided);
		return;
	}
	if (r->mode != CT_KILL) {
		print_covered(h, r, to);
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
		fprintf(to, "worked on after recovery, by up to %s operations: %s states, judged again%s\n",
			GROUPED(r->go_on), GROUPED(r->recoveries.worked_on),
			r->crashes_again ? ", also after a crash on the way" : "");
	}
	if (r->shards > 0) {
		fprintf(to, "shard %u of %u: the states and instants above are those of this shard\n",
			r->shard, r->shards);
	}
	print_limits(r, to);
}
