/* SPDX-License-Identifier: BSD-3-Clause */
/* The host side of a tiered run: extents in both pools, one launch, figures. After a crash each work-item
 * goes on with its first put that the table lacks: recovery has left nothing in the logs. */
#include <assert.h>
#include <stdlib.h>

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

	assert((l->items | l->records) <= UINT32_MAX);
	NVW_TRY(nvw_pmem_attach(machine, &log));
	NVW_TRY(nvw_heap_alloc_extent(machine, &log, l->items * tiered_log_bytes(l), &words[TIERED_LOG]));
	NVW_TRY(alloc_table(p, machine, &log, &words[TIERED_TABLE]));
	return roots_write(machine, &log, words, TIERED_ROOTS);
}

/* ---- The run -------------------------------------------------------------------------------------- */

static int make_shares(const struct tiered_plan *p, struct tiered_share **ret_shares)
{
	struct tiered_share *const shares = calloc(p->shape.items, sizeof *shares);

	assert(p->shape.items > 0);
	NVW_ALLOCATED(shares, "tiered: no memory for the work-items' shares");
	NVW_FOR(item, p->shape.items) {
		shares[item].end = tiered_puts(&p->shape, item);
	}
	*ret_shares = shares;
	return 0;
}

static int launch(struct tiered_plan *p, struct nvw_machine *machine, const struct tiered_share *shares)
{
	struct tiered_args a = {
		.plan = p, .replaced = tiered_replaced(p->mutation), .layout = p->shape, .shares = shares};
	uint64_t words[TIERED_TABLE + 1];

	assert(p->shape.items == p->groups * p->group_size);
	NVW_TRY(nvw_pmem_attach(machine, &a.pmem));
	NVW_TRY(roots_read(machine, &a.pmem, words, TIERED_TABLE + 1));
	a.layout.log = words[TIERED_LOG];
	a.layout.table = words[TIERED_TABLE];
	return nvw_launch(machine, "tiered", tiered_kernel, &a, p->groups * p->group_size, p->group_size);
}

int tiered_run(void *plan, struct nvw_machine *machine)
{
	struct tiered_plan *const p = plan;
	struct tiered_share *shares;

	p->truncations = 0;
	NVW_TRY(make_shares(p, &shares));
	int error = launch(p, machine, shares);

	if (error == 0) {
		error = nvw_persist(machine);
	}
	free(shares);
	return error;
}

/* ---- After a crash -------------------------------------------------------------------------------- */

static uint64_t first_put(const struct tiered_view *v, uint64_t item)
{
	return tiered_log_word(v, tiered_applied(&v->layout, item));
}

/* What recovery has found is durable. */
static int acknowledge_found(const struct tiered_plan *p, struct nvw_machine *machine,
	const struct nvw_acks *acks, const struct tiered_share *shares)
{
	NVW_FOR(put, p->shape.count) {
		const bool is_there = put / p->shape.items < shares[put % p->shape.items].first;

		if (is_there && !nvw_acked(acks, put)) {
			NVW_TRY(nvw_acknowledge(machine, put, 1));
		}
	}
	return 0;
}

/* The puts that the table lacks, the earliest first, at most so many. */
static void choose(const struct tiered_plan *p, const struct tiered_view *v, uint64_t operations,
	struct tiered_share *shares)
{
	const struct tiered_steps *const replaced = tiered_replaced(p->mutation);
	uint64_t put = 0;

	NVW_FOR(item, p->shape.items) {
		shares[item].first = shares[item].end = STEP(replaced, first_put, v, item);
	}
	for (; put < p->shape.count && operations > 0; put++) {
		struct tiered_share *const s = &shares[put % p->shape.items];
		const bool is_lacking = put / p->shape.items == s->end;

		s->end += is_lacking;
		operations -= is_lacking;
	}
}

int tiered_go_on(void *plan, struct nvw_machine *machine, const struct nvw_acks *acks, uint64_t operations)
{
	struct tiered_plan *const p = plan;
	struct tiered_share *shares;
	struct tiered_view v;

	NVW_TRY(tiered_view_open(nvw_machine_pool(machine), &v));
	NVW_TRY(make_shares(p, &shares));
	choose(p, &v, operations, shares);
	int error = acknowledge_found(p, machine, acks, shares);

	if (error == 0) {
		error = launch(p, machine, shares);
	}
	free(shares);
	return error;
}

/* ---- Figures -------------------------------------------------------------------------------------- */

int tiered_report(void *plan, struct nvw_machine *machine, struct nvw_description *d)
{
	const struct tiered_plan *const p = plan;
	const struct figure rows[] = {
		{"tiered.puts", p->shape.count, "count", "puts"},
		{"tiered.truncations", p->truncations, "count",
			"times that a log was full and was truncated"},
	};

	return FIGURES_DESCRIBE(d, rows);
}
