/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of "nvwave crash" as text. See crash_report.h. */
#include <math.h>
#include <stdio.h>

#include "core/invariant.h"

#include "../provenance.h"
#include "../words.h"
#include "corpus_report.h"
#include "crash_report.h"
#include "crash_text.h"
#include "cure_report.h"
#include "schedule_report.h"
#include "statements.h"
#include "unlogged.h"

enum { USUAL_ATOMICITY = 8 };

bool crash_names_machine(const struct crash_heading *h, const struct ct_result *r)
{
	return h->verbose || h->names_machine || crash_atomicity(h, r) != USUAL_ATOMICITY ||
	       !cli_is_usual_machine(h->made_by);
}

const char *crash_model_name(const struct crash_heading *h, const struct ct_result *r)
{
	return r->mode == CT_PERMITTED ? ct_model_info(r->model)->name : h->model;
}

/* The result is that of a program on the host, or of a store log. */
static void print_program(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	fprintf(to, "%s under %s%s: %s store%s, %s fence%s%s", h->workload, ct_model_info(r->model)->name,
		words_if(r->kernels && !ct_model_keeps_caches(r->model), " (kernels) and x86 (host code)"),
		GROUPED(r->stores), plural(r->stores), GROUPED(r->barriers), plural(r->barriers),
		words_if(r->kernels, " and persist barriers"));
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
	fprintf(to, ", seed %llu, %s mode%s%s", (ull)h->seed, ct_mode_name(r->mode),
		words_if(*h->mutation, ", mutation "), h->mutation);
	if (r->mode != CT_KILL) {
		fprintf(to, ": %s NVRAM store%s, %s barrier%s, %s acknowledged", GROUPED(r->stores),
			plural(r->stores), GROUPED(r->barriers), plural(r->barriers), GROUPED(r->acks));
	}
	fputs(" in ", to);
	fputs(ROUNDED_TIME(r->sim_time_ps), to);
	fputc('\n', to);
}

static void print_possible(const struct ct_interval *k, FILE *to)
{
	if (k->possible_log2 < 40) {
		fprintf(to, "%14.0f", exp2(k->possible_log2)); /* 0 of minus infinity */
	} else {
		fprintf(to, "%8s2^%-4.0f", words_if(!k->exact, "<= "), k->possible_log2);
	}
}

static void print_interval(const struct ct_interval *k, FILE *to)
{
	fprintf(to, "%11.1f ns ", (double)k->time_ps / 1000);
	print_possible(k, to);
	fprintf(to, " %9u %9u %9u  %s\n", k->distinct, k->equal, k->unread,
		k->exhausted ? "exhausted" : "sampled");
}

/* One line per interval: the number of its new states, and how they were covered. */
static void print_intervals(const struct ct_result *r, FILE *to)
{
	fprintf(to, "\n%14s %14s %9s %9s %9s\n", "until", "states", "distinct", "duplicate", "unread");
	NVW_EACH(interval, r->interval, r->interval_count) {
		print_interval(interval, to);
	}
}

static void print_repetition(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	if (!r->consistent || r->unlogged.count > 0) {
		fputc('\n', to);
		if (r->fewest_operations > 0) {
			fprintf(to, "smallest failing --count: %llu\n", (ull)r->fewest_operations);
		}
		fprintf(to, "repeat: %s\n", h->command);
	}
}

void crash_report_text(const struct crash_heading *h, const struct ct_result *r, FILE *to)
{
	NVW_INVARIANT(h->command);
	crash_verdict_text(r, to);
	print_subject(h, r, to);
	crash_coverage_text(h, r, to);
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
	NVW_FOR(i, r->finding_count) {
		crash_finding_text(h, r, i, to);
	}
	cli_unlogged_text(&r->unlogged, true, to);
	crash_lacking_lines_text(r, to);
	cli_cure_report_all(r, to);
	if (r->findings_unlisted > 0) {
		fprintf(to, "\n and %s states that fail in other ways\n", GROUPED(r->findings_unlisted));
	}
	print_repetition(h, r, to);
}
