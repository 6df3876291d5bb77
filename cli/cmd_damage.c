/* SPDX-License-Identifier: BSD-3-Clause */
/* nvwave damage POOL: damaged copies, kept in a folder, or each recovered and judged. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/words.h"
#include "commands.h"
#include "exported.h"
#include "core/invariant.h"
#include "core/member.h"
#include "core/print.h"
#include "pools/pool_command.h"
#include "pools/campaign.h"
#include "report/json_report.h"
#include "laboratory/sweep.h"
#include "report/provenance.h"
#include "session.h"

/* ---- Lists of names ------------------------------------------------------------------------------ */

static int bit_of(const char *option, const char *word, size_t n, const char *const *names, unsigned count,
	unsigned *set)
{
	NVW_FOR(i, count) {
		if (text_is(word, n, names[i])) {
			*set |= 1u << i;
			return 0;
		}
	}
	return nvw_fail(NVW_E_USAGE, "--%s: expected words of the list that --help displays, found \"%.*s\"",
		option, (int)n, word);
}

/* All names if the option is not given. */
static int set_of(const struct cli_options *o, enum cli_option_id id, const char *option,
	const char *const *names, unsigned count, unsigned *ret_set)
{
	const char *at = cli_text(o, id);

	NVW_INVARIANT(count < 8 * sizeof *ret_set);
	*ret_set = 0;
	if (!at) {
		*ret_set = (1u << count) - 1;
	}
	for (; at; at = sweep_behind(at, ",")) {
		NVW_TRY(bit_of(option, at, strcspn(at, ","), names, count, ret_set));
	}
	return 0;
}

/* ---- The campaign -------------------------------------------------------------------------------- */

static bool has_bad(const struct campaign *c)
{
	NVW_INVARIANT(c->bad_count <= CAMPAIGN_KEPT);
	return c->bad_count != 0;
}

static const char *verdict_of(const struct campaign *c)
{
	if (has_bad(c)) {
		return "NOT ALL NOTICED";
	}
	return c->total[CAMPAIGN_UNREAD] + c->total[CAMPAIGN_UNGUARDED] != 0 ?
		       "ALL NOTICED THAT THE STRUCTURE GUARDS" :
		       "ALL NOTICED OR HARMLESS";
}

static uint64_t row_sum(const uint64_t row[CAMPAIGN_COUNT])
{
	uint64_t sum = 0;

	NVW_EACH(one, row, CAMPAIGN_COUNT) {
		sum += *one;
	}
	return sum;
}

static void print_row(const char *what, const char *how, const uint64_t row[CAMPAIGN_COUNT])
{
	printf("%-8s %-12s %8" PRIu64, what, how, row_sum(row));
	NVW_EACH(one, row, CAMPAIGN_COUNT) {
		printf(" %9" PRIu64, *one);
	}
	putchar('\n');
}

static void print_bad(const struct campaign_bad *bad)
{
	const struct damage *const d = &bad->damage;

	NVW_INVARIANT(bad->verdict < CAMPAIGN_COUNT && d->how < DAMAGE_HOWS);
	printf("  %s: %s %s at 0x%" PRIx64 " of pool %u: 0x%" PRIx64 " became 0x%" PRIx64 " %s\n",
		campaign_names[bad->verdict], damage_what_names[d->what], damage_how_names[d->how], d->off,
		d->pool, d->before, d->after, bad->message);
}

static void print_reasons(const struct campaign *c)
{
	for (unsigned i = 0; i < CAMPAIGN_REASONS && c->reason[i].text; i++) {
		printf("  not noticeable: %s (%" PRIu64 ")\n", c->reason[i].text, c->reason[i].count);
	}
}

static void print_campaign(const struct campaign *c, const char *path)
{
	NVW_INVARIANT(c->bad_count <= CAMPAIGN_KEPT);
	printf("%s   %" PRIu64 " damaged copies of %s, seed %" PRIu64 "\n", verdict_of(c), c->drawn, path,
		c->seed);
	printf("%-8s %-12s %8s", "what", "how", "copies");
	NVW_EACH(campaign_name, campaign_names, CAMPAIGN_COUNT) {
		printf(" %9s", *campaign_name);
	}
	putchar('\n');
	NVW_FOR(what, REC_LIVE_KINDS) {
		NVW_FOR(how, DAMAGE_HOWS) {
			if (row_sum(c->count[what][how]) != 0) {
				print_row(
					damage_what_names[what], damage_how_names[how], c->count[what][how]);
			}
		}
	}
	print_row("all", "", c->total);
	print_reasons(c);
	NVW_EACH(bad, c->bad, c->bad_count) {
		print_bad(bad);
	}
}

static json_t *row_json(const uint64_t row[CAMPAIGN_COUNT])
{
	json_t *const object = json_object();

	NVW_FOR(v, CAMPAIGN_COUNT) {
		member_set_count(object, campaign_names[v], row[v]);
	}
	return object;
}

static json_t *reasons_json(const struct campaign *c)
{
	json_t *const object = json_object();

	for (const struct campaign_reason *r = c->reason; r < c->reason + CAMPAIGN_REASONS && r->text; r++) {
		member_set_count(object, r->text, r->count);
	}
	return object;
}

/* A row for each kind of damage that was done. */
static json_t *kind_json(unsigned what, unsigned how, const uint64_t *counts)
{
	NVW_INVARIANT(what < REC_LIVE_KINDS && how < DAMAGE_HOWS);
	return json_pack("{s:s, s:s, s:o}", "what", damage_what_names[what], "how", damage_how_names[how],
		"copies", row_json(counts));
}

static json_t *rows_json(const struct campaign *c)
{
	json_t *const rows = json_array();

	NVW_FOR(what, REC_LIVE_KINDS) {
		NVW_FOR(how, DAMAGE_HOWS) {
			if (row_sum(c->count[what][how])) {
				json_array_append_new(rows, kind_json(what, how, c->count[what][how]));
			}
		}
	}
	return rows;
}

static json_t *one_bad_json(const struct campaign_bad *bad)
{
	json_t *const one = damage_json(&bad->damage);

	member_set_text(one, "verdict", campaign_names[bad->verdict]);
	member_set_text(one, "message", bad->message);
	return one;
}

static json_t *bad_json(const struct campaign *c)
{
	return JSON_LIST(bad, c->bad, c->bad_count, one_bad_json(bad));
}

static json_t *campaign_json(const struct campaign *c, const char *path)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "pool", path, "verdict",
		verdict_of(c), "copies", (json_int_t)c->drawn, "seed", (json_int_t)c->seed, "all",
		row_json(c->total), "rows", rows_json(c), "not_noticeable", reasons_json(c), "bad",
		bad_json(c), "made_by", cli_provenance(NULL, NULL));
}

static int report_campaign(const struct cli_options *o, const struct campaign *c)
{
	if (cli_json(o)) {
		return cli_print_json(campaign_json(c, o->argument[0]), stdout);
	}
	print_campaign(c, o->argument[0]);
	return 0;
}

static int run_campaign(const struct cli_options *o, struct campaign *c, const struct nvw_pool *first)
{
	const int error = campaign_run(c, first);

	if (!error || error == NVW_E_STOPPED) {
		NVW_TRY(report_campaign(o, c));
	}
	NVW_TRY(error);
	return has_bad(c) ? NVW_E_INCONSISTENT : 0;
}

/* ---- Copies that are kept ------------------------------------------------------------------------ */

static int keep_copy(const struct campaign *c, const struct nvw_pool *first,
	const struct damage_places *places, uint64_t i, const char *folder, json_t *list)
{
	struct damage d;
	char path[4096];

	NVW_INVARIANT(i < c->copies);
	NVW_TRY(campaign_draw(c, first, places, i, &d));
	NVW_PRINT(path, "%s/%06" PRIu64 "-%s-%s", folder, i + 1, damage_what_names[d.what],
		damage_how_names[d.how]);
	NVW_TRY(damage_copy(first, &d, path));
	json_t *const one = damage_json(&d);

	member_set_text(one, "file", strrchr(path, '/') + 1);
	json_array_append_new(list, one);
	return 0;
}

static int keep_copies(const struct campaign *c, const struct nvw_pool *first, const char *folder)
{
	struct damage_places places;
	json_t *const list = json_array();
	int error = damage_places_of(first, &places);

	for (uint64_t i = 0; i < c->copies && error == 0; i++) {
		error = keep_copy(c, first, &places, i, folder, list);
	}
	if (error == 0) {
		error = exported_manifest(folder,
			json_pack("{s:s, s:I, s:O, s:o}", "pool", nvw_pool_path(first), "seed",
				(json_int_t)c->seed, "copies", list, "made_by", cli_provenance(NULL, NULL)));
	}
	json_decref(list);
	damage_places_end(&places);
	return error;
}

static int keep_in(const struct cli_options *o, const struct campaign *c, const struct nvw_pool *first)
{
	const char *const folder = cli_text(o, CLI_damage_output);

	NVW_TRY(cli_new_folder("--output", folder));
	NVW_TRY(keep_copies(c, first, folder));
	printf("%s: %" PRIu64 " damaged copies; manifest.json says where\n", folder, c->copies);
	return 0;
}

static int damage(struct cli_options *o)
{
	struct campaign c = {.copies = cli_number(o, CLI_copies), .seed = cli_number(o, CLI_seed)};
	struct nvw_pool *first;

	NVW_TRY(pool_command_named(o));
	NVW_TRY(set_of(o, CLI_what, "what", damage_what_names, REC_LIVE_KINDS, &c.whats));
	NVW_TRY(set_of(o, CLI_how, "how", damage_how_names, DAMAGE_HOWS, &c.hows));
	NVW_TRY(nvw_pool_open(o->argument[0], NVW_POOL_READ, &first));
	const int error =
		cli_given(o, CLI_damage_output) ? keep_in(o, &c, first) : run_campaign(o, &c, first);

	nvw_pool_close(first);
	return error;
}

const struct cli_command cmd_damage = {.main = cli_run_command,
	.help = "nvwave damage POOL [options]\n\n"
		"Damages copies of a pool, one place each, recovers each copy and judges it: all bytes are "
		"as without damage\n"
		"(repaired), or all that holds something means the same (harmless); recovery refused it and "
		"wrote nothing; the\n"
		"check reports a finding; or nobody can tell: it differs in words that the check does not "
		"read (unread), or\n"
		"the structure keeps nothing that could contradict the damage (unguarded).\n"
		"Exit status 1: a copy was accepted although the check could have compared the damaged word "
		"(silent), was\n"
		"refused after a write (touched), or its recovery crashed.\n",
	.run = damage};
