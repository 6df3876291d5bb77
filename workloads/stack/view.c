/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The durable stacks: finding them, recovery, inspection.
 *
 * Recovery withdraws the announcements of nodes that are still on a stack. It changes one word each, so it
 * may stop after any.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/extent.h"
#include "common/figures.h"
#include "plan.h"

int stack_view_open(struct nvw_pool *pool, struct stack_view *ret_view)
{
	const uint64_t shape = extent_root(pool, STACK_SHAPE), sizes = extent_root(pool, STACK_SIZES);
	const struct stack_layout l = {
		.extent = extent_root(pool, STACK_EXTENT),
		.stacks = shape & UINT32_MAX,
		.payload = shape >> 32,
		.nodes = sizes & UINT32_MAX,
		.work_items = sizes >> 32,
	};

	*ret_view = (struct stack_view){.pool = pool, .layout = l};
	if (l.extent == 0) {
		return 0;
	}
	NVW_FAIL_IF(l.stacks == 0 || l.stacks > STACK_STACKS_MAX || l.payload > STACK_PAYLOAD_MAX ||
			    l.nodes > STACK_NODES_MAX || l.work_items > STACK_WORK_ITEMS_MAX ||
			    !extent_is_allocated(pool, l.extent, stack_extent_bytes(&l)),
		NVW_E_DAMAGED,
		"%s: root words 0 to 2: expected an allocated extent for the stacks, found %" PRIu64
		" stacks, %" PRIu64 " nodes of %" PRIu64 " words and %" PRIu64
		" work-items at offset %" PRIu64,
		nvw_pool_path(pool), l.stacks, l.nodes, l.payload, l.work_items, l.extent);
	return 0;
}

void stack_walk(const struct stack_view *v, uint64_t stack, stack_on_node *on_node, void *context)
{
	assert(stack < v->layout.stacks);
	nvw_off off = nvw_pool_word(v->pool, stack_head(&v->layout, stack));

	for (uint64_t i = 0; off != 0 && i <= v->layout.nodes; i++) {
		const uint64_t node = stack_node_number(&v->layout, off);

		if (!on_node(context, stack, off, node) || node == UINT64_MAX) {
			return;
		}
		off = nvw_pool_word(v->pool, off);
	}
}

/* ---- Recovery ------------------------------------------------------------------------------------- */

static bool mark(void *context, uint64_t stack, nvw_off off, uint64_t node)
{
	bool *const is_there = context;

	if (node == UINT64_MAX || is_there[node]) {
		return false;
	}
	return is_there[node] = true;
}

static int withdraw(const struct stack_view *v, const bool *is_there, struct nvw_recovery *report)
{
	NVW_FOR(i, v->layout.work_items) {
		const nvw_off off = stack_announcement(&v->layout, i);
		const uint64_t node = (nvw_pool_word(v->pool, off) & UINT32_MAX) - 1;

		if (node < v->layout.nodes && is_there[node]) {
			report->structure_repairs++;
			NVW_TRY(nvw_pool_write_word(v->pool, off, 0));
		}
	}
	return 0;
}

int stack_recover(struct nvw_pool *pool, struct nvw_recovery *report)
{
	struct stack_view v;
	int error = stack_view_open(pool, &v);

	if (error != 0 || v.layout.extent == 0) {
		return error;
	}

	bool *const is_there = calloc(v.layout.nodes + 1, sizeof *is_there);

	NVW_ALLOCATED(is_there, "stack: no memory to recover %" PRIu64 " nodes", v.layout.nodes);
	NVW_FOR(s, v.layout.stacks) {
		stack_walk(&v, s, mark, is_there);
	}
	error = withdraw(&v, is_there, report);
	free(is_there);
	return error;
}

/* ---- Inspection ----------------------------------------------------------------------------------- */

static bool count(void *context, uint64_t stack, nvw_off off, uint64_t node)
{
	uint64_t *const nodes = context;

	*nodes += node != UINT64_MAX;
	return true;
}

int stack_inspect(struct nvw_pool *pool, struct nvw_description *d)
{
	uint64_t nodes = 0, empty = 0, announced = 0;
	struct stack_view v;
	int error = stack_view_open(pool, &v);

	if (error != 0 || v.layout.extent == 0) {
		return error;
	}
	NVW_FOR(s, v.layout.stacks) {
		stack_walk(&v, s, count, &nodes);
		empty += nvw_pool_word(pool, stack_head(&v.layout, s)) == 0;
	}
	NVW_FOR(i, v.layout.work_items) {
		announced += nvw_pool_word(pool, stack_announcement(&v.layout, i)) != 0;
	}

	const struct figure rows[] = {
		{"stack.nodes", nodes, "count", "nodes on all stacks"},
		{"stack.stacks_empty", empty, "count", "stacks without a node"},
		{"stack.announcements", announced, "count", "work-items that have announced a node"},
	};

	return FIGURES_DESCRIBE(d, rows);
}
