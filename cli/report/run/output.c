/* SPDX-License-Identifier: BSD-3-Clause */
/* Printing a run. See output.h. */
#include "../json_report.h"
#include "output.h"

#include <inttypes.h>
#include <sys/resource.h>

#include <jansson.h>

#include "core/invariant.h"
#include "core/describe.h"
#include "core/member.h"
#include "core/print.h"
#include "../provenance.h"
#include "race_report.h"
#include "../crash/unlogged.h"
#include "run_summary.h"
#include "value_line.h"
#include "../../session.h"
#include "../words.h"

static uint64_t memory_bytes(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

static double rate(const struct cli_run_result *r)
{
	if (r->host_seconds <= 0) {
		return 0;
	}
	return (double)r->stats->work_item_ops / r->host_seconds;
}

static uint64_t stat_value(const struct emu_stats *stats, const struct emu_stat_info *info)
{
	return *(const uint64_t *)(const void *)((const char *)stats + info->offset);
}

/* Calls each() for every statistic of every device of the machine; not for a machine with one DRAM and one
 * NVRAM device, because dram.* and nvram.* are the devices' statistics. */
static void each_device_stat(const struct cli_run_result *r,
	void (*each)(void *context, const char *name, uint64_t value, const struct emu_stat_info *info),
	void *context)
{
	unsigned count, devices = 0;
	const struct emu_stat_info *const table = emu_device_stat_table(&count);
	struct emu_device_stats stats;
	const char *device;

	NVW_FOR(i, r->config->device_count) {
		devices += emu_config_has_device(r->config, i);
	}
	for (unsigned i = 0; devices > 2 && (device = emu_device_statistics(r->machine, i, &stats)); i++) {
		for (unsigned k = 0; emu_config_has_device(r->config, i) && k < count; k++) {
			char name[64];

			NVW_PRINT(name, "device.%s.%s", device, table[k].name);
			each(context, name,
				*(const uint64_t *)(const void *)((const char *)&stats + table[k].offset),
				&table[k]);
		}
	}
}

/* ---- Text ---------------------------------------------------------------------------------------- */

static void print_waits(const struct cli_waits *w, FILE *to)
{
	fprintf(to, w->count ? "requests that waited, by source line and cause:\n" :
			       "requests that waited: none\n");
	NVW_EACH(row, w->rows, w->count) {
		fprintf(to, "  %12s  %8" PRIu64 " times  %-8s %s:%u (%s), for %s\n", ROUNDED_TIME(row->ps),
			row->times, emu_cause_name(row->cause), row->site->file, row->site->line,
			row->site->function, emu_cause_waker(row->cause));
	}
}

static void print_device_stat(
	void *context, const char *name, uint64_t value, const struct emu_stat_info *info)
{
	cli_line_u64(context, name, value, info->meaning, info->unit);
}

static void print_statistics(const struct cli_run_result *r, FILE *to)
{
	unsigned count;
	const struct emu_stat_info *const table = emu_stat_table(&count);

	fputs("---------- Begin Simulation Statistics ----------\n", to);
	NVW_EACH(one, table, count) {
		cli_line_u64(to, one->name, stat_value(r->stats, one), one->meaning, one->unit);
	}
	each_device_stat(r, print_device_stat, to);
	NVW_EACH(value, r->report->values, r->report->count) {
		cli_print_value(value, to);
	}
	cli_line_real(to, "host_seconds", r->host_seconds, "real time of the measured part", "s");
	cli_line_real(
		to, "host_op_rate", rate(r), "work-item memory operations a second of real time", "1/s");
	cli_line_u64(
		to, "host_mem_usage", memory_bytes(), "largest resident memory of this process", "bytes");
	fputs("---------- End Simulation Statistics   ----------\n", to);
}

void cli_print_run(const struct cli_run_result *r, FILE *to)
{
	NVW_INVARIANT(r->verdict);

	fprintf(to, "%s on %s, protocol %s, %s persistency, seed %" PRIu64 "%s%s%s%s: %s\n", r->workload,
		r->config->name, r->config->protocol, cli_model_name(r->config), r->config->seed,
		words_if(*r->options, ", "), r->options, words_if(*r->mutation, ", mutation "), r->mutation,
		r->verdict);
	if (r->every_statistic) {
		cli_print_provenance(r->made_by, to);
		print_statistics(r, to);
	} else {
		cli_run_summary(r, to);
		cli_run_own_figures(r, to);
		cli_print_provenance(r->made_by, to);
		fputs("every statistic: --statistics\n", to);
	}
	if (r->races) {
		cli_print_races(r->races, to);
	}
	if (r->undo) {
		cli_print_undo(r->undo, to);
	}
	if (r->waits.wanted) {
		print_waits(&r->waits, to);
	}
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void add_device_stat(void *context, const char *name, uint64_t value, const struct emu_stat_info *info)
{
	member_set_count(context, name, value);
}

static json_t *stats_json(const struct cli_run_result *r)
{
	json_t *const stats = json_object();
	unsigned count;
	const struct emu_stat_info *const table = emu_stat_table(&count);

	NVW_EACH(one, table, count) {
		member_set_count(stats, one->name, stat_value(r->stats, one));
	}
	each_device_stat(r, add_device_stat, stats);
	NVW_EACH(value, r->report->values, r->report->count) {
		json_object_set_new(stats, value->name, cli_value_json(value));
	}
	member_set_real(stats, "host_op_rate", rate(r));
	member_set_count(stats, "host_mem_usage", memory_bytes());
	return stats;
}

static json_t *wait_json(const struct emu_waited *w)
{
	return json_pack("{s:s, s:s, s:i, s:s, s:I, s:I}", "cause", emu_cause_name(w->cause), "file",
		w->site->file, "line", (int)w->site->line, "function", w->site->function, "times",
		(json_int_t)w->times, "ps", (json_int_t)w->ps);
}

static json_t *waits_json(const struct cli_waits *w)
{
	return JSON_LIST(row, w->rows, w->count, wait_json(row));
}

int cli_print_run_json(const struct cli_run_result *r, FILE *to)
{
	NVW_INVARIANT(r->verdict);

	json_t *const root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:f, s:I, s:f, s:s, s:o}",
		"workload", r->workload, "options", r->options, "mutation", r->mutation, "machine",
		r->config->name, "protocol", r->config->protocol, "model", cli_model_name(r->config),
		"domain", cli_domain_name(r->config), "seed", (json_int_t)r->config->seed, "sim_time_ns",
		(double)r->stats->sim_time_ps / 1000, "work_item_ops", (json_int_t)r->stats->work_item_ops,
		"host_seconds", r->host_seconds, "verdict", r->verdict, "stats", stats_json(r));

	json_object_set(root, "made_by", r->made_by);
	if (r->races) {
		json_object_set_new(root, "races", cli_races_json(r->races));
	}
	if (r->undo) {
		json_object_set_new(root, "undo", cli_undo_json(r->undo));
	}
	if (r->waits.wanted) {
		json_object_set_new(root, "waits", waits_json(&r->waits));
	}
	return cli_print_json(root, to);
}
