/* SPDX-License-Identifier: BSD-3-Clause */
/* The other kernels: update, delete, lookup, scan; and the allocation of nodes for the bulk load. */
#include "search.h"
#include "steps.h"

static bool find_slot(
	const struct btree_args *a, nvw_off leaf, uint64_t key, unsigned *ret_rank, unsigned *ret_slot)
{
	const struct btree_node *const node = btree_node_at(a->pmem, leaf);
	const uint64_t order = nvw_load(&node->order);
	const unsigned rank = btree_rank(node, order, key, false);

	*ret_rank = rank;
	*ret_slot = btree_slot(order, rank < a->slots ? rank : 0);
	return rank < btree_count(order) && nvw_load(BTREE_KEY(node, *ret_slot)) == key;
}

static void end_operation(const struct btree_plan *p, uint64_t op, uint64_t begun)
{
	const enum btree_op kind = btree_op_of(p, op);

	nvw_operation_end(kind, kind == BTREE_READ_MODIFY_WRITE ? p->begun[op] : begun);
}

void btree_end_change(const struct btree_args *a, uint64_t op, uint64_t begun)
{
	const struct btree_plan *const p = a->plan;

	end_operation(p, op, begun);
	if (a->combined_from == UINT64_MAX) {
		return;
	}
	for (uint64_t at = btree_first_of(p, p->keys[op], a->combined_from); p->by_key[at] != op; at++) {
		end_operation(p, p->by_key[at], begun);
	}
}

static void persist_change(const struct btree_args *a)
{
	if (a->persist) {
		nvw_p_barrier_wi();
	}
}

/* One 8-byte store per key; keys are distinct, so work-items are independent. */
void btree_update_kernel(const void *args)
{
	const struct btree_args *const a = args;
	const uint64_t begun = nvw_operation_begin(), k = nvw_global_id();
	unsigned rank, slot;
	nvw_off leaf;

	if (k >= a->n) {
		return;
	}
	leaf = btree_find_leaf(a, nvw_load(&a->keys[k]));
	btree_serve_note(a->plan, &a->host_ops[k], 1, leaf);
	if (find_slot(a, leaf, nvw_load(&a->keys[k]), &rank, &slot)) {
		a->plan->writes[0]++;
		a->plan->found++;
		nvw_store(BTREE_VALUE(btree_node_at(a->pmem, leaf), a->slots, slot), nvw_load(&a->values[k]));
	} else {
		a->plan->absent++;
	}
	STEP(a->replaced, persist_change, a);
	nvw_ack(nvw_load(&a->ops[k]));
	btree_end_change(a, a->host_ops[k], begun);
}

/* The work-item of the first key in a run of keys of one leaf deletes all of them: one store of the order
 * word. Leaves may become empty; they are kept. */
void btree_delete_kernel(const void *args)
{
	const struct btree_args *const a = args;
	const uint64_t begun = nvw_operation_begin(), k = nvw_global_id();
	uint64_t end = k, order;
	struct btree_node *node;
	nvw_off leaf;

	if (k < a->n) {
		nvw_store(&a->path[k], btree_find_leaf(a, nvw_load(&a->keys[k])));
	}
	nvw_barrier(NVW_KERNEL);
	if (k >= a->n) {
		return;
	}
	leaf = nvw_load(&a->path[k]);
	if (k && nvw_load(&a->path[k - 1]) == leaf) {
		return;
	}
	node = btree_node_at(a->pmem, leaf);
	order = nvw_load(&node->order);
	for (; end < a->n && nvw_load(&a->path[end]) == leaf; end++) {
		const uint64_t key = nvw_load(&a->keys[end]);
		const unsigned rank = btree_rank(node, order, key, false);

		if (rank < btree_count(order) && nvw_load(BTREE_KEY(node, btree_slot(order, rank))) == key) {
			order = btree_order_remove(order, rank);
			a->plan->found++;
		} else {
			a->plan->absent++;
		}
	}
	btree_serve_note(a->plan, &a->host_ops[k], end - k, leaf);
	a->plan->writes[0]++;
	nvw_store(&node->order, order);
	STEP(a->replaced, persist_change, a);
	for (uint64_t i = k; i < end; i++) {
		nvw_ack(nvw_load(&a->ops[i]));
		btree_end_change(a, a->host_ops[i], begun);
	}
}

void btree_lookup_kernel(const void *args)
{
	const struct btree_args *const a = args;
	const uint64_t begun = nvw_operation_begin(), k = nvw_global_id();
	unsigned rank, slot;
	nvw_off leaf;

	if (k >= a->n) {
		return;
	}
	leaf = btree_find_leaf(a, nvw_load(&a->keys[k]));
	nvw_store(&a->result[k], find_slot(a, leaf, nvw_load(&a->keys[k]), &rank, &slot) ?
					 nvw_load(BTREE_VALUE(btree_node_at(a->pmem, leaf), a->slots, slot)) :
					 0);
	if (btree_op_of(a->plan, a->host_ops[k]) == BTREE_READ_MODIFY_WRITE) {
		a->plan->begun[a->host_ops[k]] = begun;
		return;
	}
	nvw_ack(nvw_load(&a->ops[k]));
	nvw_operation_end(BTREE_LOOKUP, begun);
}

/* Reads up to scan_length pairs, or as many as the mix asks for, from the key on, along the leaves; the
 * result is the sum of their values. */
void btree_scan_kernel(const void *args)
{
	const struct btree_args *const a = args;
	const uint64_t begun = nvw_operation_begin(), k = nvw_global_id();
	uint64_t sum = 0, length = a->scan_length, left, key;
	nvw_off leaf;

	if (k >= a->n) {
		return;
	}
	if (a->plan->kinds) {
		length = nvw_load(&a->values[k]);
	}
	left = length;
	key = nvw_load(&a->keys[k]);
	for (leaf = btree_find_leaf(a, key); leaf && left;
		leaf = nvw_load(&btree_node_at(a->pmem, leaf)->next)) {
		const struct btree_node *const node = btree_node_at(a->pmem, leaf);
		const uint64_t order = nvw_load(&node->order);

		for (unsigned i = btree_rank(node, order, key, false); i < btree_count(order) && left;
			i++, left--) {
			sum += nvw_load(BTREE_VALUE(node, a->slots, btree_slot(order, i)));
		}
	}
	a->plan->scanned += length - left;
	nvw_store(&a->result[k], sum);
	nvw_ack(nvw_load(&a->ops[k]));
	nvw_operation_end(BTREE_SCAN, begun);
}

void btree_allocate_kernel(const void *args)
{
	const struct btree_allocate_args *const a = args;

	if (nvw_global_id() < a->count) {
		nvw_store(&a->nodes[nvw_global_id()], nvw_pmalloc(a->pmem, a->bytes, NULL));
	}
}
