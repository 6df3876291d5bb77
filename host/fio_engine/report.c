/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of a device. See report.h. */
#include "report.h"

#include "../cuda/statistics.h"
#include "core/units.h"

static const char *const kind_names[] = {
	[BLOCK_READ] = "read", [BLOCK_WRITE] = "write", [BLOCK_SYNC] = "sync"};

static double ns(uint64_t ps)
{
	return (double)ps / 1000;
}

static double bytes_a_second(const struct block_figures *f)
{
	return f->busy_ps ? (double)f->bytes * 1e12 / (double)f->busy_ps : 0;
}

void block_report_text(struct block_device *d, const char *job, FILE *to)
{
	const struct emu_stats *const s = block_device_statistics(d);
	const struct emu_config *const c = block_device_config(d);
	char time[NVW_UNIT_TEXT];

	fprintf(to, "nvwave: %s: %s on %s, %s simulated in %llu kernels and syncs\n", job, c->protocol,
		c->name, nvw_format_time(block_device_time_ps(d), time),
		(unsigned long long)block_device_operations(d));
	for (enum block_kind kind = 0; kind < BLOCK_KINDS; kind++) {
		struct block_figures f;

		block_device_figures(d, kind, &f);
		if (f.count == 0) {
			continue;
		}
		fprintf(to, "  %-5s %8llu", kind_names[kind], (unsigned long long)f.count);
		if (f.bytes) {
			fprintf(to, ", %.1f MiB/s", bytes_a_second(&f) / (1 << 20));
		}
		fprintf(to, ", latency p50 %.1f ns, p99 %.1f ns, max %.1f ns\n", ns(f.p50_ps), ns(f.p99_ps),
			ns(f.max_ps));
	}
	fprintf(to,
		"  NVRAM: %llu lines written, %llu read; persist barriers: %llu work-item, %llu "
		"work-group, %llu kernel\n",
		(unsigned long long)s->nvram_writes, (unsigned long long)s->nvram_reads,
		(unsigned long long)s->p_barriers_wi, (unsigned long long)s->p_barriers_wg,
		(unsigned long long)s->p_barriers_kr);
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

static json_t *kind_json(struct block_device *d, enum block_kind kind)
{
	struct block_figures f;

	block_device_figures(d, kind, &f);
	return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)f.count, "bytes",
		(json_int_t)f.bytes, "busy_ns", ns(f.busy_ps), "bytes_per_second", bytes_a_second(&f),
		"p50_ns", ns(f.p50_ps), "p99_ns", ns(f.p99_ps), "max_ns", ns(f.max_ps));
}

int block_report_json(struct block_device *d, const char *job, const char *path)
{
	const struct emu_config *const c = block_device_config(d);
	json_t *const o = json_pack("{s:s, s:s, s:s, s:f, s:o, s:o, s:o, s:o}", "job", job, "machine",
		c->name, "protocol", c->protocol, "simulated_ns", ns(block_device_time_ps(d)), "read",
		kind_json(d, BLOCK_READ), "write", kind_json(d, BLOCK_WRITE), "sync",
		kind_json(d, BLOCK_SYNC), "statistics", statistics_json(block_device_statistics(d)));
	int error = 0;

	NVW_ALLOCATED(o, "no memory for the report");
	if (json_dump_file(o, path, JSON_INDENT(2))) {
		error = nvw_fail_errno("%s", path);
	}
	json_decref(o);
	return error;
}
