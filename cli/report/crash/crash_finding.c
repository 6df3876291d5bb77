/* SPDX-License-Identifier: BSD-3-Clause */
/* A finding of a crash test: its words, its places, its cause. See crash_text.h. */
#include <stdio.h>
#include <string.h>

#include "core/disk_image.h"
#include "core/invariant.h"

#include "../provenance.h"
#include "../words.h"
#include "crash_report.h"
#include "crash_text.h"
#include "cure_report.h"
#include "field_words.h"

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
static void print_other(const struct ct_finding *f, const char *text, uint64_t states, FILE *to)
{
	fprintf(to, "    also: %s", text);
	if (states > 0) { /* else met behind a cure, and not counted */
		fprintf(to, " (%s state%s%s)", GROUPED(states), plural(states),
			words_if(!f->by_cure, " failing in these words"));
	}
	fputc('\n', to);
}

static void print_also(const struct ct_finding *f, FILE *to)
{
	NVW_EACH(also, f->also, f->also_count) {
		print_other(f, also->text, also->states, to);
	}
	if (f->also_more > 0) {
		fprintf(to, "    and %u more failures with the same cause\n", f->also_more);
	}
}

static void print_explanation(
	const struct crash_heading *h, const struct ct_result *r, const struct ct_finding *f, FILE *to)
{
	NVW_EACH(place, f->place, f->place_count) {
		print_place(h, place, to);
	}
	if (f->cause.kind != CT_CAUSE_NONE) {
		fprintf(to, "    %s\n", f->cause.text);
	}
	cli_cure_report(r, f, "    ", to);
	if (f->minimised) {
		fprintf(to, "    smallest case: %llu of %llu writes in flight lost\n", (ull)f->units_lost,
			(ull)f->units);
	}
	if (f->bounded) {
		fputs("    the explanation ended at its bound of tested states: the cause may be another\n",
			to);
	}
}

static void print_thread_schedule(FILE *to, const struct ct_finding *f)
{
	if (f->thread_schedule == 0) {
		return;
	}
	fprintf(to, "    under schedule %llu (%s), here with %u switch%s; ", (ull)f->thread_schedule,
		f->policy, f->switches, words_if(f->switches != 1, "es"));
	if (f->shorten_runs == 0) {
		fputs("no shorter one was looked for\n", to);
		return;
	}
	fprintf(to, "%u run%s and %s states were tried to shorten it\n", f->shorten_runs,
		plural(f->shorten_runs), GROUPED(f->shorten_states));
}

static void print_saved(FILE *to, const struct ct_finding *f)
{
	if (f->saved[0] != '\0') {
		fputs("    replay with: nvwave replay ", to);
		cli_print_quoted(f->saved, to);
		fputc('\n', to);
	}
}

void crash_finding_text(const struct crash_heading *h, const struct ct_result *r, unsigned i, FILE *to)
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
	print_thread_schedule(to, f);
	print_saved(to, f);
}

/* An address in a file takes the place of a line. */
static bool lacks_line(const struct ct_finding *f)
{
	return NVW_ANY(place, f->place, f->place_count, place->line == 0 && strstr(place->file, "+0x"));
}

void crash_lacking_lines_text(const struct ct_result *r, FILE *to)
{
	NVW_EACH(finding, r->finding, r->finding_count) {
		if (lacks_line(finding)) {
			fputs("\nnote: a place has no source line: compile with -g\n", to);
			return;
		}
	}
}
