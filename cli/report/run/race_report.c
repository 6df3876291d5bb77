/* SPDX-License-Identifier: BSD-3-Clause */
/* Printing races. See race_report.h. */
#include "core/each.h"
#include "core/invariant.h"
#include "core/member.h"

#include "race_report.h"
#include "../words.h"

#include <inttypes.h>

#include <nvw/kernel.h>

/* "atomic store of order release and work-group scope" */
static void print_kind(const struct emu_race_access *a, FILE *to)
{
	fputs(a->kind, to);
	if (a->order) {
		fprintf(to, ", %s, %s scope,", a->order, a->scope);
	}
}

static void print_access(const char *when, const struct emu_race_access *a, FILE *to)
{
	fprintf(to, "    %s  %s:%u (%s)  ", when, a->site->file, a->site->line, a->site->function);
	print_kind(a, to);
	fprintf(to, " by work-item %" PRIu64 " of group %" PRIu64 "\n", a->work_item, a->group);
}

static const char *headline(const struct emu_race *race)
{
	switch (race->kind) {
	case EMU_RACE_DATA:
		return race->scopes_to_blame ? "data race: scope mismatch" : "data race";
	case EMU_RACE_SCOPES:
		return "atomics whose scopes do not include each other";
	default:
		return "read-only load of data written in the same kernel";
	}
}

static void print_remedy(const struct emu_race *race, FILE *to)
{
	if (race->kind == EMU_RACE_READ_ONLY) {
		fputs("    use nvw_load(), not nvw_load_read_only(), for this data\n", to);
	} else if (race->kind == EMU_RACE_SCOPES) {
		fputs("    use a scope in both accesses that includes both work-items\n", to);
	} else if (race->release.site) {
		fprintf(to,
			"    scope mismatch: release of %s scope at %s:%u, acquire of %s scope at %s:%u; use "
			"a scope that includes both\n",
			race->release.scope, race->release.site->file, race->release.site->line,
			race->acquire.scope, race->acquire.site->file, race->acquire.site->line);
	} else if (race->scopes_to_blame) {
		fputs("    scope mismatch: use scopes that include both work-items; then releases and "
		      "acquires order the accesses\n",
			to);
	}
}

static void print_race(unsigned number, const struct emu_race *race, FILE *to)
{
	NVW_INVARIANT(race->kind < EMU_RACE_KINDS && race->count > 0);
	fprintf(to, " %u  %s, %u byte%s at %s offset 0x%" PRIx64 ", kernel \"%s\", %" PRIu64 " time%s%s\n",
		number, headline(race), race->bytes, plural(race->bytes), race->in_nvram ? "pool" : "DRAM",
		race->offset, race->kernel, race->count, plural(race->count),
		words_if(race->same_value, ", always the same value"));
	print_access("first", &race->first, to);
	print_access("then ", &race->second, to);
	print_remedy(race, to);
}

void cli_print_races(const struct emu_race_report *report, FILE *to)
{
	NVW_INVARIANT(report->count <= report->races);
	if (!report->races) {
		fprintf(to, "races: none under %s\n", report->model);
		return;
	}
	fprintf(to, "races: %" PRIu64 " under %s, between %s%u pair%s of source lines\n", report->races,
		report->model, words_if(report->unlisted, "more than "), report->count,
		plural(report->count));
	NVW_FOR(i, report->count) {
		print_race(i + 1, &report->race[i], to);
	}
	if (report->unlisted) {
		fprintf(to, " and %" PRIu64 " races of further pairs\n", report->unlisted);
	}
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static json_t *place_json(const struct emu_race_access *a)
{
	return json_pack("{s:s, s:i, s:s, s:s, s:s?, s:s?}", "file", a->site->file, "line",
		(int)a->site->line, "function", a->site->function, "kind", a->kind, "order", a->order,
		"scope", a->scope);
}

static json_t *access_json(const struct emu_race_access *a)
{
	json_t *const json = place_json(a);

	member_set_count(json, "work_item", a->work_item);
	member_set_count(json, "group", a->group);
	return json;
}

static json_t *race_json(const struct emu_race *race)
{
	static const char *const kinds[EMU_RACE_KINDS] = {"data", "scopes", "read-only"};
	json_t *const json = json_pack("{s:s, s:o, s:o, s:s, s:s, s:I, s:i, s:I, s:b, s:b}", "kind",
		kinds[race->kind], "first", access_json(&race->first), "then", access_json(&race->second),
		"kernel", race->kernel, "memory", race->in_nvram ? "pool" : "dram", "offset",
		(json_int_t)race->offset, "bytes", (int)race->bytes, "count", (json_int_t)race->count,
		"same_value", race->same_value, "scope_mismatch", race->scopes_to_blame);

	if (race->release.site) {
		json_object_set_new(json, "release", place_json(&race->release));
		json_object_set_new(json, "acquire", place_json(&race->acquire));
	}
	return json;
}

json_t *cli_races_json(const struct emu_race_report *report)
{
	json_t *const pairs = JSON_LIST(race, report->race, report->count, race_json(race));

	return json_pack("{s:s, s:I, s:I, s:o}", "model", report->model, "count", (json_int_t)report->races,
		"unlisted", (json_int_t)report->unlisted, "pairs", pairs);
}
