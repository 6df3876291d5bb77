/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules in reports. See schedule_report.h. */
#include <string.h>

#include "core/invariant.h"
#include "core/member.h"

#include "schedule_report.h"
#include "../provenance.h"
#include "../words.h"

static void print_every(const struct ct_schedules *s, FILE *to)
{
	NVW_INVARIANT(s->every && s->asked > 0);
	fprintf(to,
		"schedules: one for each order of conflicting accesses, %s run; %s others ended early, as "
		"they repeated one; at most %s steps in one; %.1f s\n",
		GROUPED(s->run), GROUPED(s->redundant), GROUPED(s->choices), s->seconds);
	if (s->cut > 0) {
		fprintf(to, "%s were cut off, because they were too long\n", GROUPED(s->cut));
	}
	if (s->exhausted) {
		fprintf(to,
			"all interleavings of conflicting accesses were run: %s; a step is a memory "
			"instruction of a wavefront, and loads return what this machine's protocol gives\n",
			GROUPED(s->run));
	} else {
		fputs("nothing is said of other orders\n", to);
	}
}

void cli_schedules_text(const struct ct_schedules *s, FILE *to)
{
	if (s->asked == 0) {
		return;
	}
	if (s->every) {
		print_every(s, to);
		return;
	}
	fprintf(to,
		"schedules: %s run, %s different in the order of conflicting accesses; by PCT of depth %u "
		"and "
		"at random, seed %llu; at most %s choices in one; %.1f s\n",
		GROUPED(s->run), GROUPED(s->different), s->depth, (ull)s->seed, GROUPED(s->choices),
		s->seconds);
	fputs("nothing is said of other schedules\n", to);
}

static void print_replay(const char *saved, FILE *to)
{
	fputs("    replay with: nvwave replay ", to);
	cli_print_quoted(saved, to);
	fputc('\n', to);
}

static void print_finding(const struct ct_schedule_finding *f, unsigned number, bool every, FILE *to)
{
	fprintf(to, "\n S%u  %s: %s\n", number, ct_schedule_kind_name(f->kind), f->text);
	fprintf(to, "    without a crash, under %s different schedule%s, the first is number %s (%s)\n",
		GROUPED(f->schedules), plural(f->schedules), GROUPED(f->first),
		ct_schedule_way(f->first, every));
	if (*f->saved) {
		print_replay(f->saved, to);
	}
}

void cli_schedule_findings_text(const struct ct_schedules *s, FILE *to)
{
	unsigned number = 0;

	NVW_EACH(finding, s->finding, s->finding_count) {
		print_finding(finding, ++number, s->every, to);
	}
	if (s->unlisted > 0) {
		fprintf(to, "\n and %s more that are not listed\n", GROUPED(s->unlisted));
	}
}

static json_t *finding_json(const struct ct_schedule_finding *f, bool every)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s}", "kind", ct_schedule_kind_name(f->kind), "text",
		f->text, "schedules", (json_int_t)f->schedules, "first", (json_int_t)f->first, "way",
		ct_schedule_way(f->first, every), "saved", f->saved);
}

json_t *cli_schedules_json(const struct ct_schedules *s)
{
	if (s->asked == 0) {
		return json_null();
	}
	json_t *const findings =
		JSON_LIST(finding, s->finding, s->finding_count, finding_json(finding, s->every));

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:I, s:i, s:I, s:f, s:I, s:o}", "asked",
		(json_int_t)s->asked, "run", (json_int_t)s->run, "different", (json_int_t)s->different,
		"failing", (json_int_t)s->failing, "choices", (json_int_t)s->choices, "every_order", s->every,
		"exhausted", s->exhausted, "redundant", (json_int_t)s->redundant, "cut", (json_int_t)s->cut,
		"depth", (int)s->depth, "seed", (json_int_t)s->seed, "seconds", s->seconds, "unlisted",
		(json_int_t)s->unlisted, "findings", findings);
}

/* ---- Persistency races of a program's threads ------------------------------------------------------ */

static void print_race(const struct ct_race *r, FILE *to)
{
	if (r->load[0] == '\0') {
		fprintf(to, "        %s: without a load, its flush is late or missing; ",
			ct_race_fate_words(r->fate));
	} else {
		fprintf(to, "        %s: load %s; ", ct_race_fate_words(r->fate), r->load);
	}
	if (r->schedule == 0) {
		fprintf(to, "it did not happen, with the store held %s time%s", GROUPED(r->held),
			plural(r->held));
	} else {
		fprintf(to, "schedule %s", GROUPED(r->schedule));
	}
	if (r->text[0] != '\0') {
		fprintf(to, ": %s", r->text);
	}
	fputc('\n', to);
}

static bool has_store_of_one_before(const struct ct_races *r, unsigned i)
{
	NVW_INVARIANT(i < r->count);
	return i > 0 && strcmp(r->race[i - 1].store, r->race[i].store) == 0;
}

/* Races of that fate, and stores. */
static void count_fate(
	const struct ct_races *r, enum ct_race_fate fate, unsigned *ret_races, unsigned *ret_stores)
{
	*ret_races = *ret_stores = 0;
	NVW_FOR(i, r->count) {
		*ret_races += r->race[i].fate == fate;
		*ret_stores += r->race[i].fate_of_store == fate && !has_store_of_one_before(r, i);
	}
}

static bool is_finding(enum ct_race_fate fate)
{
	return fate == CT_RACE_LOST || fate == CT_RACE_OPEN;
}

/* Those of a store that lost nothing are in JSON, one by one. */
static void print_store(const struct ct_races *r, unsigned i, FILE *to)
{
	const struct ct_race *const x = &r->race[i];
	const char *const store = x->store;
	unsigned others = 0;

	NVW_INVARIANT(!has_store_of_one_before(r, i));
	fprintf(to, "    %s: store %s\n", ct_race_fate_words(x->fate_of_store), store);
	for (; i < r->count && strcmp(r->race[i].store, store) == 0; i++) {
		if (r->race[i].fate == r->race[i].fate_of_store) {
			print_race(&r->race[i], to);
		}
		others += r->race[i].fate != r->race[i].fate_of_store;
	}
	if (others > 0) {
		fprintf(to, "        of %u other load%s no loss is known\n", others, plural(others));
	}
}

void cli_crash_races_text(const struct ct_races *r, FILE *to)
{
	static const struct {
		enum ct_race_fate fate;
		const char *before;
	} counts[] = {{CT_RACE_LOST, "persistency races: "}, {CT_RACE_OPEN, ", "},
		{CT_RACE_SHARED, "; not counted among them: "}, {CT_RACE_TRIED, ", "},
		{CT_RACE_ABSENT, ", "}};
	unsigned races, stores;

	if (!r->looked) {
		return;
	}
	NVW_EACH_IN(one, counts) {
		count_fate(r, one->fate, &races, &stores);
		fprintf(to, "%s%u store%s %s (%u load%s)", one->before, stores, plural(stores),
			ct_race_fate_words(one->fate), races, plural(races));
	}
	fputs("; what is lost is the store alone\n", to);
	if (r->no_load) {
		fputs("    no load of a mapped file was seen: build the program with nvwave-cc --loads\n",
			to);
	}
	NVW_FOR(i, r->count) {
		if (!has_store_of_one_before(r, i) && is_finding(r->race[i].fate_of_store)) {
			print_store(r, i, to);
		} else if (!has_store_of_one_before(r, i)) {
			fprintf(to, "    %s: store %s%s%s\n", ct_race_fate_words(r->race[i].fate_of_store),
				r->race[i].store, words_if(r->race[i].fate_of_store == CT_RACE_SHARED, ", "),
				words_if(r->race[i].fate_of_store == CT_RACE_SHARED, r->race[i].text));
		}
	}
}

json_t *cli_crash_races_json(const struct ct_races *r)
{
	if (!r->looked) {
		return NULL;
	}
	return JSON_LIST(x, r->race, r->count,
		json_pack("{s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:s}", "store", x->store, "load", x->load,
			"fate", ct_race_fate_name(x->fate), "fate_of_store",
			ct_race_fate_name(x->fate_of_store), "predicted", x->predicted, "schedule",
			(json_int_t)x->schedule, "cuts", (json_int_t)x->cuts, "held", (json_int_t)x->held,
			"text", x->text));
}
