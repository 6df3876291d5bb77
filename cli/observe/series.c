/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of statistics. See series.h.
 *
 * Intervals and launches have the differences of the machine's statistics between two moments, so that rows
 * add up to the report. CUs and work-groups have what sights say of them (emu/observe/watch.h): the machine's
 * statistics are sums over all of it.
 */
#include "series.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/each.h"
#include "core/invariant.h"
#include "core/newfile.h"
#include "core/units.h"

enum { INTERVALS_MAX = 100000 };

/* What a wavefront does, by the begin of the instruction's name. */
enum { KINDS = 6, OTHER = KINDS - 1 };
static const struct {
	const char *begin, *column;
} kinds[KINDS] = {
	{"load", "load"},
	{"store", "store"},
	{"atomic", "atomic"},
	{"barrier", "barrier"},
	{"persist barrier", "persist_barrier"},
	{"", "other"},
};

/* The sums of a CU, or of a wavefront context since its work-group came. */
struct account {
	uint64_t groups, resident_ps;
	uint64_t stalls[KINDS], stall_ps[KINDS];
	uint64_t waits[EMU_CAUSE_COUNT], wait_ps[EMU_CAUSE_COUNT];
	uint64_t flushes, flush_ps, invalidations;
};

struct cli_series {
	struct nvw_new_file file;
	enum cli_per per;
	uint64_t interval_ps, next_ps, origin_ps, from_ps;
	struct nvw_machine *machine;
	struct emu_stats before;
	unsigned intervals;
	struct account *accounts; /* by CU, or by wavefront */
	uint64_t account_count, wavefronts_per_cu, launches;
};

/* ---- Creation ------------------------------------------------------------------------------------ */

int cli_series_create(const char *path, enum cli_per per, uint64_t interval_ps, struct cli_series **ret)
{
	NVW_INVARIANT(per != CLI_PER_INTERVAL || interval_ps > 0);

	struct cli_series *const s = calloc(1, sizeof *s);

	NVW_ALLOCATED(s, "no memory for a table of statistics");
	*ret = s;
	s->per = per;
	s->interval_ps = interval_ps;
	return nvw_new_file_begin(path, false, &s->file);
}

void cli_series_free(struct cli_series *s)
{
	if (s && s->file.file) {
		(void)!nvw_new_file_end(&s->file, NVW_E_STOPPED);
	}
	if (s) {
		free(s->accounts);
		free(s);
	}
}

/* ---- Columns ------------------------------------------------------------------------------------- */

static void put(struct cli_series *s, const char *text)
{
	fputs(text, s->file.file);
}

static void put_number(struct cli_series *s, uint64_t number)
{
	fprintf(s->file.file, ",%" PRIu64, number);
}

static void name_statistics(struct cli_series *s)
{
	unsigned count;
	const struct emu_stat_info *const table = emu_stat_table(&count);

	put(s, "from,to");
	NVW_EACH(one, table, count) {
		put(s, ",");
		put(s, one->name);
	}
	put(s, "\n");
}

static void name_pair(struct cli_series *s, const char *group, const char *name)
{
	fprintf(s->file.file, ",%s.%s,%s.%s_time", group, name, group, name);
}

static void name_account(struct cli_series *s)
{
	NVW_EACH(kind, kinds, KINDS) {
		name_pair(s, "stall", kind->column);
	}
	NVW_FOR(i, EMU_CAUSE_COUNT) {
		name_pair(s, "wait", emu_cause_name((enum emu_cause)i));
	}
}

static void name_columns(struct cli_series *s)
{
	switch (s->per) {
	case CLI_PER_CU:
		put(s, "cu,work_groups,resident_time");
		name_account(s);
		put(s, ",flushes,flush_time,invalidations\n");
		break;
	case CLI_PER_GROUP:
		put(s, "launch,kernel,work_group,cu,from,to");
		name_account(s);
		put(s, "\n");
		break;
	case CLI_PER_KERNEL:
		put(s, "launch,kernel,");
		name_statistics(s);
		break;
	case CLI_PER_INTERVAL:
		name_statistics(s);
	}
}

int cli_series_start(struct cli_series *s, struct nvw_machine *machine)
{
	const struct emu_config *const config = emu_machine_config(machine);

	NVW_INVARIANT(!s->machine);
	s->machine = machine;
	s->origin_ps = nvw_time_ps(machine);
	s->next_ps = s->per == CLI_PER_INTERVAL ? s->origin_ps + s->interval_ps : UINT64_MAX;
	s->before = *emu_statistics(machine);
	s->wavefronts_per_cu = config->wavefronts_per_cu;
	s->account_count = config->cus;
	if (s->per == CLI_PER_GROUP) {
		s->account_count *= config->wavefronts_per_cu;
	}
	s->accounts = calloc(s->account_count, sizeof *s->accounts);
	NVW_ALLOCATED(s->accounts, "no memory for a table of statistics");
	name_columns(s);
	return 0;
}

/* ---- Rows of statistics -------------------------------------------------------------------------- */

/* Writes what has happened since the last row. */
static void write_difference(struct cli_series *s, uint64_t to_ps)
{
	const struct emu_stats now = *emu_statistics(s->machine);
	unsigned count;
	const struct emu_stat_info *const table = emu_stat_table(&count);

	NVW_INVARIANT(s->from_ps <= to_ps);
	fprintf(s->file.file, "%" PRIu64 ",%" PRIu64, s->from_ps, to_ps);
	NVW_EACH(one, table, count) {
		if (one->offset == offsetof(struct emu_stats, sim_time_ps)) {
			put_number(s, to_ps - s->from_ps);
			continue;
		}
		uint64_t a, b;

		memcpy(&a, (const char *)&s->before + one->offset, sizeof a);
		memcpy(&b, (const char *)&now + one->offset, sizeof b);
		put_number(s, b - a);
	}
	put(s, "\n");
	s->before = now;
	s->from_ps = to_ps;
}

/* Kernel names are C's, or a user's: quotes are doubled. */
static void put_text(struct cli_series *s, const char *text)
{
	put(s, "\"");
	for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
		fprintf(s->file.file, "%.*s\"\"", (int)(quote - text), text);
	}
	put(s, text);
	put(s, "\"");
}

static void write_launch(struct cli_series *s, const char *name, uint64_t number, uint64_t to_ps)
{
	fprintf(s->file.file, "%" PRIu64 ",", number);
	put_text(s, name);
	put(s, ",");
	write_difference(s, to_ps);
}

uint64_t cli_series_next(const struct cli_series *s)
{
	return s->next_ps;
}

int cli_series_ring(struct cli_series *s)
{
	NVW_INVARIANT(s->next_ps - s->origin_ps > s->from_ps);

	char interval[NVW_UNIT_TEXT], filled[NVW_UNIT_TEXT];

	NVW_FAIL_IF(s->intervals++ == INTERVALS_MAX, NVW_E_USAGE,
		"--interval=%s: a table has at most %d intervals, and the run is longer than %s: "
		"choose a longer interval",
		nvw_format_time(s->interval_ps, interval), INTERVALS_MAX,
		nvw_format_time(s->next_ps - s->interval_ps - s->origin_ps, filled));
	write_difference(s, s->next_ps - s->origin_ps);
	s->next_ps += s->interval_ps;
	return 0;
}

/* ---- Accounts ------------------------------------------------------------------------------------ */

/* The names of atomics and persist barriers contain those of others. */
static unsigned kind_of(const char *what)
{
	if (!strncmp(what, "atomic", 6)) {
		return 2;
	}
	if (!strncmp(what, "persist", 7)) {
		return 4;
	}
	return NVW_INDEX(i, OTHER, strstr(what, kinds[i].begin));
}

static void put_both(struct cli_series *s, uint64_t a, uint64_t b)
{
	put_number(s, a);
	put_number(s, b);
}

static void put_account(struct cli_series *s, const struct account *a)
{
	NVW_FOR(i, KINDS) {
		put_both(s, a->stalls[i], a->stall_ps[i]);
	}
	NVW_FOR(i, EMU_CAUSE_COUNT) {
		put_both(s, a->waits[i], a->wait_ps[i]);
	}
}

static void add_stall(struct account *a, const struct emu_sight *sight)
{
	const unsigned kind = kind_of(sight->what);

	NVW_INVARIANT(sight->from <= sight->to);
	a->stalls[kind]++;
	a->stall_ps[kind] += sight->to - sight->from;
}

static void add_wait(struct account *a, const struct emu_sight *sight)
{
	NVW_FOR(i, EMU_CAUSE_COUNT) {
		if (sight->what == emu_cause_name((enum emu_cause)i)) {
			a->waits[i]++;
			a->wait_ps[i] += sight->to - sight->from;
		}
	}
}

/* The sum of its wavefronts' accounts, which begin again. */
static struct account take_accounts(struct cli_series *s, uint32_t first, uint32_t count)
{
	struct account sum = {0};

	NVW_INVARIANT((uint64_t)first + count <= s->account_count);
	for (uint32_t k = first; k < first + count; k++) {
		struct account *const a = &s->accounts[k];

		NVW_FOR(i, KINDS) {
			sum.stalls[i] += a->stalls[i];
			sum.stall_ps[i] += a->stall_ps[i];
		}
		NVW_FOR(i, EMU_CAUSE_COUNT) {
			sum.waits[i] += a->waits[i];
			sum.wait_ps[i] += a->wait_ps[i];
		}
		*a = (struct account){0};
	}
	return sum;
}

static void write_group(struct cli_series *s, const struct emu_sight *sight)
{
	const struct account sum = take_accounts(s, sight->unit, sight->units);

	fprintf(s->file.file, "%" PRIu64 ",", s->launches + 1);
	put_text(s, sight->what);
	put_both(s, sight->number, sight->unit / s->wavefronts_per_cu);
	put_both(s, sight->from - s->origin_ps, sight->to - s->origin_ps);
	put_account(s, &sum);
	put(s, "\n");
}

static uint64_t cu_of(const struct cli_series *s, const struct emu_sight *sight, bool is_cu)
{
	return is_cu ? sight->unit : sight->unit / s->wavefronts_per_cu;
}

static struct account *account_of(struct cli_series *s, const struct emu_sight *sight)
{
	const bool is_cu = sight->kind == EMU_SIGHT_FLUSH || sight->kind == EMU_SIGHT_INVALIDATION;

	if (s->per != CLI_PER_GROUP) {
		return &s->accounts[cu_of(s, sight, is_cu)];
	}
	return is_cu ? NULL : &s->accounts[sight->unit];
}

static void add_to_account(struct cli_series *s, const struct emu_sight *sight)
{
	struct account *const a = account_of(s, sight);

	if (!a) {
		return;
	}
	switch (sight->kind) {
	case EMU_SIGHT_STALL:
		add_stall(a, sight);
		break;
	case EMU_SIGHT_WAIT:
		add_wait(a, sight);
		break;
	case EMU_SIGHT_FLUSH:
		a->flushes++;
		a->flush_ps += sight->to - sight->from;
		break;
	case EMU_SIGHT_INVALIDATION:
		a->invalidations++;
		break;
	default:
		a->groups++;
		a->resident_ps += sight->to - sight->from;
	}
}

static bool is_of_a_cu(const struct emu_sight *sight)
{
	return sight->kind == EMU_SIGHT_GROUP || sight->kind == EMU_SIGHT_STALL ||
	       sight->kind == EMU_SIGHT_WAIT || sight->kind == EMU_SIGHT_FLUSH ||
	       sight->kind == EMU_SIGHT_INVALIDATION;
}

void cli_series_see(struct cli_series *s, const struct emu_sight *sight)
{
	if (sight->kind == EMU_SIGHT_KERNEL) {
		s->launches++;
		if (s->per == CLI_PER_KERNEL) {
			write_launch(s, sight->what, s->launches, sight->to - s->origin_ps);
		}
	} else if (s->per >= CLI_PER_CU && is_of_a_cu(sight)) {
		add_to_account(s, sight);
		if (s->per == CLI_PER_GROUP && sight->kind == EMU_SIGHT_GROUP) {
			write_group(s, sight);
		}
	}
}

/* ---- The end ------------------------------------------------------------------------------------- */

static void write_cus(struct cli_series *s)
{
	NVW_INVARIANT(s->per == CLI_PER_CU);
	NVW_FOR(i, s->account_count) {
		const struct account *const a = &s->accounts[i];

		fprintf(s->file.file, "%" PRIu64, i);
		put_both(s, a->groups, a->resident_ps);
		put_account(s, a);
		put_both(s, a->flushes, a->flush_ps);
		put_number(s, a->invalidations);
		put(s, "\n");
	}
}

int cli_series_end(struct cli_series *s, uint64_t now_ps)
{
	while (s->next_ps < now_ps) {
		NVW_TRY(cli_series_ring(s));
	}
	if (s->per == CLI_PER_CU) {
		write_cus(s);
	} else if (s->per == CLI_PER_KERNEL) {
		write_launch(s, "", 0, now_ps - s->origin_ps);
	} else if (s->per == CLI_PER_INTERVAL &&
		   now_ps - s->origin_ps > s->from_ps) { /* an interval has begun */
		write_difference(s, now_ps - s->origin_ps);
	}
	const int r = ferror(s->file.file) ? nvw_fail_errno("%s", s->file.path) : 0;

	return nvw_new_file_end(&s->file, r);
}
