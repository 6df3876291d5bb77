/* SPDX-License-Identifier: BSD-3-Clause */
/* The report on a finding's cure. See cure_report.h. */
#include <math.h>
#include <stdio.h>

#include <crashtest/explain/cure.h>

#include "core/bounds.h"
#include "core/invariant.h"

#include "cure_report.h"
#include "../words.h"

/* The test of the cure. */
static void print_proof(const struct ct_cure *c, FILE *to)
{
	if (c->exhaustive && c->possible_log2 >= 53) {
		fprintf(to, "all 2^%.1f possible states", c->possible_log2);
		return;
	}
	if (c->exhaustive) {
		fprintf(to, "all %s possible states", GROUPED((uint64_t)(exp2(c->possible_log2) + 0.5)));
		return;
	}
	fprintf(to, "%s tested of %s", GROUPED(c->states), words_if(!c->possible_exact, "at most "));
	if (c->possible_log2 < 53) {
		fprintf(to, "%.0f possible", exp2(c->possible_log2));
	} else {
		fprintf(to, "2^%.1f possible", c->possible_log2);
	}
}

/* Prints the cost of the run with all cures. */
static void print_cost(const struct ct_cure *c, FILE *to)
{
	if (!c->costed) {
		return;
	}
	fprintf(to, "; %s ", c->others ? "together they cost" : "it costs");
	if (c->cost_ps < 0) { /* what a barrier delays may then meet less contention */
		fputs("no simulated time in this run", to);
		return;
	}
	fprintf(to, "%s of simulated time%s", ROUNDED_TIME((uint64_t)c->cost_ps),
		SHARE(c->cost_ps, c->cost_of_ps));
}

static const char *with_others(const struct ct_cure *c)
{
	static const char *const words[] = {"", ", and the other cure,", ", and the other cures,"};

	return words[nvw_min(c->others, 2)];
}

/* A barrier for which work-items wait for each other. */
static bool is_wide(const struct ct_cure *c)
{
	return NVW_ANY(e, c->edit, c->count,
		(e->kind == CT_EDIT_BARRIER || e->kind == CT_EDIT_WIDEN) && e->scope != NVW_WORKITEM);
}

/* What held in the log, and not in a run of the program, so that others were tried. */
static void print_none(const struct ct_cure *c, const char *indent, FILE *to)
{
	fprintf(to, "%sno cure: %s: %s", indent, c->refuted_edit, c->refuted_why);
	if (c->refuted > 1) {
		fprintf(to, "; likewise %u more", c->refuted - 1);
	}
	fputc('\n', to);
}

/* Fewer states fail with it, but some do. */
static void print_part(const struct ct_result *r, const struct ct_cure *c, const char *indent, FILE *to)
{
	char text[1024];

	NVW_INVARIANT(c->count > 0 && !c->verified);
	ct_cure_text(c, text, sizeof text);
	if (c->run == CT_CURE_REFUTED) {
		fprintf(to, "%snot verified: %s: %s\n", indent, text, c->run_text);
		return;
	}
	fprintf(to, "%snot verified: with %s%s %s of %s tested states still fail\n", indent, text,
		with_others(c), GROUPED(r->states_uncured), GROUPED(c->states));
}

/* No state of the log failed with it, and a run of the program with it ended otherwise. */
static void print_refuted(const struct ct_cure *c, const char *indent, FILE *to)
{
	char text[1024];

	ct_cure_text(c, text, sizeof text);
	fprintf(to, "%srefuted by running: with %s%s %s, though no tested state of this log fails (", indent,
		text, with_others(c), c->run_text);
	print_proof(c, to);
	fputs(")\n", to);
}

/* Whose cures were tested together with it, and what they leave. */
static void print_context(const struct ct_cure *c, const char *indent, FILE *to)
{
	NVW_INVARIANT(c->verified);
	if (c->run == CT_CURE_NOT_RUN && *c->run_text) {
		fprintf(to, "%snot verified by running: %s\n", indent, c->run_text);
	}
	if (c->others) {
		fprintf(to, "%swith all other cures but not this one, %s of %s states fail\n", indent,
			GROUPED(c->only), GROUPED(c->only_of));
	}
}

static void print_verified(const struct ct_result *r, const struct ct_cure *c, const char *indent, FILE *to)
{
	NVW_INVARIANT(c->verified && c->run != CT_CURE_REFUTED);

	static const char *const words[] = {
		[CT_CURE_NOT_RUN] = "verified on this log", [CT_CURE_HOLDS] = "verified by running"};
	char text[1024];

	ct_cure_text(c, text, sizeof text);
	fprintf(to, "%s%s: with %s%s no tested state fails", indent, words[c->run], text, with_others(c));
	if (r->mode == CT_OBSERVED) {
		fprintf(to, " under %s", ct_model_info(r->proved_under)->name);
	}
	fputs(" (", to);
	print_proof(c, to);
	if (c->assumed > 0) {
		fprintf(to, "; %u finding%s without a cure assumed away", c->assumed, plural(c->assumed));
	}
	fputc(')', to);
	if (is_wide(c)) {
		fprintf(to, "; all work-items of its scope come to it in this run");
	}
	print_cost(c, to);
	fputc('\n', to);
	print_context(c, indent, to);
}

/* In a run in which only the cure of another finding was applied; otherwise in one with all of them. */
static void print_gone(const struct ct_result *r, const struct ct_cure *c, const char *indent, FILE *to)
{
	char text[1024];

	NVW_INVARIANT(c->gone && c->cured_by <= r->finding_count);
	if (c->cured_by == 0) {
		fprintf(to, "%sno longer occurs with the cures of the other findings together\n", indent);
		return;
	}
	const struct ct_cure *const by = &r->finding[c->cured_by - 1].cure;

	if (by->masked) {
		ct_edit_text(&by->mask, text, sizeof text);
		fprintf(to, "%sno longer occurs with %s alone, as for finding %u", indent, text, c->cured_by);
	} else {
		fprintf(to, "%sno longer occurs with the cure of finding %u alone", indent, c->cured_by);
	}
	fprintf(to, " (%s states tested)\n", GROUPED(c->cured_in));
}

/* No cure that was tried helps. */
static void print_unknown(const struct ct_cure *c, const char *indent, FILE *to)
{
	char text[1024];

	fprintf(to, "%sno cure is known: these states fail with every cure that was tried (%u)%s\n", indent,
		c->tried, words_if(c->left, ", and not all were"));
	if (c->masked) {
		ct_edit_text(&c->mask, text, sizeof text);
		fprintf(to, "%sthe test continued with %s\n", indent, text);
	}
}

/* How the cure was tested, or why there is none. */
static void print_outcome(const struct ct_result *r, const struct ct_cure *c, const char *indent, FILE *to)
{
	if (c->gone) {
		print_gone(r, c, indent, to);
	} else if (c->verified && c->run == CT_CURE_REFUTED) {
		print_refuted(c, indent, to);
	} else if (c->verified) {
		print_verified(r, c, indent, to);
	} else if (c->count > 0 && c->states > 0) {
		print_part(r, c, indent, to);
	} else if (!c->searched && c->left > 0) {
		fprintf(to, "%sno cure was looked for: the search had used up its budget\n", indent);
	} else if (c->count == 0 && c->tried > 0) {
		print_unknown(c, indent, to);
	}
}

static const char *words_of_log(enum ct_log_kind log)
{
	return log == CT_LOG_EPOCH ? "epochs" : "transactions";
}

void cli_cure_report(const struct ct_result *r, const struct ct_finding *f, const char *indent, FILE *to)
{
	NVW_INVARIANT(f->unlogged <= r->unlogged.count);

	const struct ct_cure *const c = &f->cure;

	if (c->behind > 0) {
		fprintf(to, "%sfound after curing %u cause%s, which hid it\n", indent, c->behind,
			plural(c->behind));
	}
	if (c->refuted > 0) {
		print_none(c, indent, to);
	}
	if (f->unlogged > 0) {
		const struct ct_unlogged *const u = &r->unlogged.at[f->unlogged - 1];

		fprintf(to, "%sthe store at %s:%u breaks a rule of %s, below: mend that first\n", indent,
			u->file, u->line, words_of_log(u->log));
	}
	print_outcome(r, c, indent, to);
}

/* Which findings, and how many sets of edits. */
static void print_left(const struct ct_result *r, FILE *to)
{
	const char *before = "";

	NVW_FOR(i, r->finding_count) {
		const struct ct_cure *const c = &r->finding[i].cure;

		if (c->left > 0) {
			fprintf(to, "%sof finding %u %u candidate%s", before, i + 1, c->left,
				plural(c->left));
			before = ", ";
		}
	}
	fputs(words_if(*before == '\0', "what is behind the cures so far"), to);
}

void cli_cure_report_all(const struct ct_result *r, FILE *to)
{
	if (r->cures_unshown) {
		fprintf(to, "\nno cure was tried: of the states that %s permits none of those tested fails\n",
			ct_model_info(r->proved_under)->name);
	}
	if (r->states_of_several > 0) {
		fprintf(to, "\n%s of the failing states pass only with several of these cures together\n",
			GROUPED(r->states_of_several));
	}
	if (r->states_in_none > 0) {
		static const char *const ends[] = {"s fail", " fails"}, *const verbs[] = {"are", "is"};
		const bool one = r->states_in_none == 1;

		fprintf(to,
			"\n%s tested state%s with all of these cures and assumptions, and %s in none of the "
			"findings\n",
			GROUPED(r->states_in_none), ends[one], verbs[one]);
	}
	if (r->cure_search_ended) {
		fprintf(to,
			"\nthe search for cures ended at its budget of %s states (--cure-states); not "
			"searched: ",
			GROUPED(r->cure_states_most));
		print_left(r, to);
		fputc('\n', to);
	}
}
