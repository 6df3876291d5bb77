/* SPDX-License-Identifier: BSD-3-Clause */
/* The host side of a tiered run: extents in both pools, one launch, figures. */
#include "common/figures.h"
#include "common/roots.h"
#include "steps.h"

/* The table's extent, as an offset of the run's range. */
static int alloc_table(
	const struct tiered_plan *p, struct nvw_machine *machine, struct nvw_pmem *log, nvw_off *ret_table)
{
	struct nvw_pmem far;
	nvw_off extent;

	if (!*p->table_device) {
		return nvw_heap_alloc_extent(machine, log, tiered_table_bytes(&p->shape), ret_table);
	}
	NVW_TRY(nvw_pmem_attach_to(machine, 1, &far));
	NVW_TRY(nvw_heap_alloc_extent(machine, &far, tiered_table_bytes(&p->shape), &extent));
	*ret_table = nvw_pool_begin(nvw_pool_number(nvw_machine_pool(machine), 1)) + extent;
	return 0;
}

int tiered_setup(void *plan, struct nvw_machine *machine)
{
	const struct tiered_plan *const p = plan;
	const struct tiered_layout *const l = &p->shape;
	uint64_t words[TIERED_ROOTS] = {
		[TIERED_SHAPE] = l->items | l->keys << 32,
		[TIERED_SIZES] = l->records | l->words << 32,
		[TIERED_COUNT] = l->count,
	};
	struct nvw_pmem log;

	NVW_TRY(nvw_pmem_attach(machine, &log));
	NVW_TRY(nvw_heap_alloc_extent(machine, &log, l->items * tiered_log_bytes(l), &words[TIERED_LOG]));
	NVW_TRY(alloc_table(p, machine, &log, &words[TIERED_TABLE]));
	return roots_write(machine, &log, words, TIERED_ROOTS);
}

int tiered_run(void *plan, struct nvw_machine *machine)
{
	struct tiered_plan *const p = plan;
	struct tiered_args a = {.plan = p, .replaced = tiered_replaced(p->mutation), .layout = p->shape};
	uint64_t words[TIERED_TABLE + 1];
	p->truncations = 0;
	NVW_TRY(nvw_pmem_attach(machine, &a.pmem));
	NVW_TRY(roots_read(machine, &a.pmem, words, TIERED_TABLE + 1));
	a.layout.log = words[TIERED_LOG];
	a.layout.table = words[TIERED_TABLE];
	NVW_TRY(nvw_launch(machine, "tiered", tiered_kernel, &a, p->groups * p->group_size, p->group_size));
	return nvw_persist(machine);
}

int tiered_report(void *plan, struct nvw_machine *machine, struct nvw_description *d)
{
	const struct tiered_plan *const p = plan;
	const struct figure rows[] = {
		{"tiered.puts", p->shape.count, "count", "puts"},
		{"tiered.truncations", p->truncations, "count",
			"times that a log was full and was truncated"},
	};

	(void)machine;
	return FIGURES_DESCRIBE(d, rows);
}
