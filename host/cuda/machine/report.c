/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels by name: launches, simulated time, and all statistics of the machine. Races, with their lines. */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvw/kernel.h>

#include "../statistics.h"
#include "core/array.h"
#include "core/bounds.h"

struct kernel {
	char *name;
	uint64_t launches, work_items, ps;
	struct emu_stats stats;
};

static struct kernel *kernels;
static size_t kernel_count, kernel_capacity;
static json_t *races;

static struct {
	struct kernel *kernel;
	uint64_t began;
	struct emu_stats stats;
} now;

static struct kernel *kernel_of(const char *name)
{
	NVW_EACH(k, kernels, kernel_count) {
		if (!strcmp(k->name, name)) {
			return k;
		}
	}
	if (!NVW_ROOM(kernels, kernel_capacity, kernel_count + 1)) {
		return NULL;
	}
	kernels[kernel_count] = (struct kernel){.name = strdup(name)};
	return &kernels[kernel_count++];
}

void report_kernel_begins(struct nvw_machine *machine, const struct nvw_cuda_job *job)
{
	NVW_INVARIANT(!now.kernel); /* one at a time */
	now.kernel = kernel_of(job->name);
	now.began = nvw_time_ps(machine);
	now.stats = *emu_statistics(machine);
	if (now.kernel) {
		now.kernel->launches++;
		now.kernel->work_items += job->groups * job->group_size;
	}
}

void report_kernel_ends(struct nvw_machine *machine)
{
	const struct emu_stats *const after = emu_statistics(machine);
	unsigned count;
	const struct emu_stat_info *const table = emu_stat_table(&count);

	NVW_INVARIANT(nvw_time_ps(machine) >= now.began);
	if (!now.kernel) {
		return;
	}
	NVW_EACH(one, table, count) {
		uint64_t *const sum = (void *)((char *)&now.kernel->stats + one->offset);
		const uint64_t from = statistic(&now.stats, one), to = statistic(after, one);

		*sum += nvw_max(to, from) - from;
	}
	now.kernel->ps += nvw_time_ps(machine) - now.began;
	now.kernel = NULL;
}

/* ---- Races -------------------------------------------------------------------------------------- */

static json_t *access_json(const struct emu_race_access *a)
{
	static const struct nvw_site nowhere = {.file = ""};
	const struct nvw_site *const site = NVW_OR(a->site, &nowhere);

	return json_pack("{s:s, s:i, s:s, s:I, s:I}", "file", site->file, "line", (int)site->line, "kind",
		a->kind, "work_item", (json_int_t)a->work_item, "block", (json_int_t)a->group);
}

void report_machine_ends(struct nvw_machine *machine)
{
	const struct emu_race_report *const r = emu_races(machine);

	if (!r) {
		return;
	}
	races = NVW_OR(races, json_array());
	NVW_EACH(race, r->race, r->count) {
		json_array_append_new(
			races, json_pack("{s:s, s:I, s:b, s:o, s:o}", "kernel", race->kernel, "times",
				       (json_int_t)race->count, "scope_mismatch",
				       race->scopes_to_blame || race->kind == EMU_RACE_SCOPES, "first",
				       access_json(&race->first), "second", access_json(&race->second)));
	}
}

/* ---- Writing ------------------------------------------------------------------------------------ */

static json_t *all_json(const struct emu_config *config)
{
	json_t *const list = json_array();

	NVW_EACH(k, kernels, kernel_count) {
		json_array_append_new(list,
			json_pack("{s:s, s:I, s:I, s:I, s:o}", "kernel", k->name, "launches",
				(json_int_t)k->launches, "work_items", (json_int_t)k->work_items,
				"sim_time_ps", (json_int_t)k->ps, "statistics", statistics_json(&k->stats)));
	}
	json_t *const all = json_pack(
		"{s:s, s:s, s:o}", "machine", config->name, "protocol", config->protocol, "kernels", list);

	if (races) {
		json_object_set(all, "races", races);
	}
	return all;
}

void report_write(const struct emu_config *config)
{
	const char *const path = getenv(NVW_CUDA_REPORT_VARIABLE);

	if (!path || !kernel_count) {
		return;
	}
	json_t *const all = all_json(config);

	if (all && json_dump_file(all, path, JSON_INDENT(2))) {
		fprintf(stderr, "nvwave: %s: the report on the kernels cannot be written\n", path);
	}
	json_decref(all);
}
