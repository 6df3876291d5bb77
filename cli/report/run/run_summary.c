/* SPDX-License-Identifier: BSD-3-Clause */
/* The first lines of a run's report: what a reader asks of every run. See output.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/describe.h"
#include "core/each.h"
#include "output.h"
#include "run_summary.h"
#include "value_line.h"
#include "../words.h"

__attribute__((format(printf, 3, 4))) static void row(FILE *to, const char *name, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(to, "%-20s ", name);
	vfprintf(to, format, arguments);
	fputc('\n', to);
	va_end(arguments);
}

static void work(const struct emu_stats *s, FILE *to)
{
	row(to, "simulated time", "%s", ROUNDED_TIME(s->sim_time_ps));
	row(to, "kernels", "%s of %s work-items", GROUPED(s->kernels), GROUPED(s->work_items));
	row(to, "memory accesses", "%s of work-items, in %s requests of lines", GROUPED(s->work_item_ops),
		GROUPED(s->line_requests));
}

static void misses(const char *cache, uint64_t hits, uint64_t misses, FILE *to)
{
	if (hits + misses > 0) {
		row(to, cache, "%s of %s loads%s", GROUPED(misses), GROUPED(hits + misses),
			SHARE(misses, hits + misses));
	}
}

static void device(const char *name, uint64_t reads, uint64_t writes, FILE *to)
{
	if (reads + writes > 0) {
		row(to, name, "%s lines read, %s written", GROUPED(reads), GROUPED(writes));
	}
}

static void persistence(const struct emu_stats *s, FILE *to)
{
	const uint64_t barriers = s->p_barriers_wi + s->p_barriers_wg + s->p_barriers_kr;

	if (s->nv_stores == 0) {
		return;
	}
	row(to, "persistent stores", "%s", GROUPED(s->nv_stores));
	row(to, "persist barriers", "%s of work-items, %s of work-groups, %s of kernels%s%s",
		GROUPED(s->p_barriers_wi), GROUPED(s->p_barriers_wg), GROUPED(s->p_barriers_kr),
		words_if(barriers > 0, "; they waited "),
		words_if(barriers > 0, ROUNDED_TIME(s->p_barrier_stall_ps)));
}

static void energy(const struct emu_stats *s, FILE *to)
{
	const uint64_t picojoules = s->energy_core + s->energy_l1 + s->energy_l2 + s->energy_network +
				    s->energy_dram + s->energy_nvram + s->energy_nvw_fifo;

	row(to, "energy", "%.4g uJ", (double)picojoules / 1e6);
}

void cli_run_summary(const struct cli_run_result *r, FILE *to)
{
	const struct emu_stats *const s = r->stats;

	work(s, to);
	misses("L1 misses", s->l1_load_hits, s->l1_load_misses, to);
	misses("L2 misses", s->l2_load_hits, s->l2_load_misses, to);
	device("DRAM", s->dram_reads, s->dram_writes, to);
	device("NVRAM", s->nvram_reads, s->nvram_writes, to);
	persistence(s, to);
	energy(s, to);
	row(to, "time of the host", "%s", ROUNDED_TIME((uint64_t)(r->host_seconds * 1e12)));
}

/* A figure that says that something did not happen. */
static bool is_nothing(const struct nvw__value *v)
{
	return v->type == NVW__VALUE_U64 && v->u64 == 0;
}

/* Picoseconds; 0: the figure is no time. */
static uint64_t unit_of_time(const struct nvw__value *v)
{
	if (v->type != NVW__VALUE_U64) {
		return 0;
	}
	return strcmp(v->unit, "ns") == 0 ? 1000 : strcmp(v->unit, "ps") == 0;
}

static void own_figure(const struct nvw__value *v, FILE *to)
{
	const uint64_t unit = unit_of_time(v);

	if (unit > 0) {
		fprintf(to, "%-28s %20s  # %s\n", v->name, ROUNDED_TIME(v->u64 * unit), v->meaning);
	} else {
		cli_print_value(v, to);
	}
}

void cli_run_own_figures(const struct cli_run_result *r, FILE *to)
{
	NVW_EACH(value, r->report->values, r->report->count) {
		if (!is_nothing(value)) {
			own_figure(value, to);
		}
	}
}
