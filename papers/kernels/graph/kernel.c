/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graph kernels on task queues with stealing (alsop16 IV.A): one launch visits all nodes. An iteration is two
 * launches as in Pannotia, where the first gathers values from the neighbours and the second applies the
 * result to the node; or one launch that does both.
 *
 * Shared data
 *   - head, between owner and thieves: every change is a compare-exchange, acquire-release, at the scenario's
 *     scope; a thief's first load is an acquire. A stale value does no harm because head only grows: the
 *     compare-exchange fails and returns the current value.
 *   - task, within the group: two words used alternately, with a work-group barrier between store and loads.
 *     A word is written again two turns later, when all have passed the barrier in between.
 *   - next, and now of the second launch: a node belongs to one task, a task is taken once; readers read it
 *     in the next launch.
 *   - row, column, weight, priority and tail are not written while a kernel runs.
 */
#include "kernel.h"

/* ---- Tasks ----------------------------------------------------------------------------------------- */

/* Registers of a group's first work-item. */
struct taker {
	uint64_t own;            /* the group's own queue */
	uint64_t away;           /* distance of the current queue from its own */
	uint64_t head, tail;     /* of that queue, as last seen */
	uint64_t held, held_end; /* tasks of that queue already taken */
	struct graph_counts counts;
};

static uint64_t queue_number(const struct graph_args *a, const struct taker *t)
{
	return (t->own + t->away) % a->queue_count;
}

/* Task number i of queue q as first node << 32 | end; never 0. */
static uint64_t task_word(const struct graph_args *a, uint64_t q, uint64_t i)
{
	const uint64_t tasks = graph_tasks(a->nodes, a->queue_count, a->chunk, q);
	const uint64_t first = graph_first(a->nodes, a->queue_count, q) + i % tasks * a->chunk;
	const uint64_t end = graph_first(a->nodes, a->queue_count, q + 1);

	return first << 32 | (end - first < a->chunk ? end : first + a->chunk);
}

/* Switches to a queue. The group's own queue is still as the host left it, or a compare-exchange fails. */
static void turn_to(const struct graph_args *a, struct taker *t)
{
	const uint64_t q = queue_number(a, t);

	t->tail = nvw_load_read_only(&a->queues[q].tail);
	t->head = t->away ? nvw_atomic_load(&a->queues[q].head, NVW_ACQUIRE, a->steal) :
			    t->tail - graph_tasks(a->nodes, a->queue_count, a->chunk, q);
}

/* The next task of t's current queue, 0 if there is none. Lock-free: a compare-exchange fails only because
 * another one succeeded. */
static uint64_t take_task(const struct graph_args *a, struct taker *t)
{
	const uint64_t q = queue_number(a, t);

	if (t->held < t->held_end) {
		return task_word(a, q, t->held++);
	}
	while (t->head < t->tail) {
		const uint64_t count = t->away && a->steals_half ? (t->tail - t->head + 1) / 2 : 1;
		const uint64_t head = nvw_atomic_compare_exchange(&a->queues[q].head, t->head,
			t->head + count, NVW_ACQ_REL, t->away ? a->steal : a->own);

		if (head == t->head) {
			t->head += count;
			t->held = head + 1;
			t->held_end = head + count;
			return task_word(a, q, head);
		}
		t->head = head;
	}
	return 0;
}

/* From the own queue, then from the others in turn. No task is added during a launch, so an empty queue stays
 * empty. */
static uint64_t next_task(const struct graph_args *a, struct taker *t)
{
	while (t->away < a->reach) {
		const bool is_held = t->held < t->held_end;
		const uint64_t task = take_task(a, t);

		t->counts.attempts += t->away != 0 && !is_held;
		if (task) {
			t->counts.popped += t->away == 0;
			t->counts.stolen += t->away != 0;
			return task;
		}
		if (++t->away < a->reach) {
			turn_to(a, t);
		}
	}
	return 0;
}

/* ---- An iteration ---------------------------------------------------------------------------------- */

/* Reports that there is more to do, if a work-item of the group found so: at most one atomic per group. */
static void tell(const struct graph_args *a, const struct taker *t, bool is_left)
{
	uint8_t *const left = a->left + nvw_group_id() * a->left_stride;
	bool is_any = false;

	nvw_store(&left[nvw_local_id()], is_left);
	nvw_barrier(NVW_WORKGROUP);
	if (nvw_local_id() != 0) {
		return;
	}
	for (uint64_t i = 0; i < a->left_stride && !is_any; i += 8) {
		is_any = nvw_load((uint64_t *)(left + i)) != 0;
	}
	if (is_any) {
		nvw_atomic_store(a->changed, a->iteration, NVW_RELAXED, NVW_SCOPE_AGENT);
	}

	struct graph_counts *const counts = &a->queues[t->own].counts;

	nvw_store(&counts->popped, t->counts.popped);
	nvw_store(&counts->stolen, t->counts.stolen);
	nvw_store(&counts->attempts, t->counts.attempts);
}

/* Processes task after task; visit() computes the next value of a node, and returns whether there is more to
 * do. */
static inline __attribute__((always_inline)) void for_each_task(
	const struct graph_args *a, bool (*visit)(const struct graph_args *a, uint64_t v))
{
	struct taker t = {.own = nvw_group_id()};
	const unsigned id = nvw_local_id(), size = nvw_group_size();
	bool is_left = false;

	if (id == 0) {
		turn_to(a, &t);
	}
	for (unsigned turn = 0;; turn ^= 1) {
		uint64_t *const word = &a->queues[t.own].task[turn];

		if (id == 0) {
			nvw_store(word, next_task(a, &t));
		}
		nvw_barrier(NVW_WORKGROUP);

		const uint64_t task = nvw_load(word), end = task & UINT32_MAX;

		if (task == 0) {
			break;
		}
		for (uint64_t v = (task >> 32) + id; v < end; v += size) {
			is_left |= visit(a, v);
		}
	}
	tell(a, &t, is_left);
}

/* ---- Nodes ----------------------------------------------------------------------------------------- */

/* The shortest distance through a neighbour, or the node's own. */
static inline uint32_t shortest(const struct graph_args *a, uint64_t v, uint32_t was)
{
	const uint32_t end = nvw_load_read_only(&a->row[v + 1]);
	uint32_t best = was;

	for (uint32_t i = nvw_load_read_only(&a->row[v]); i < end; i++) {
		const uint32_t u = nvw_load_read_only(&a->column[i]);
		const uint32_t before = nvw_load(&a->now[u]);

		if (before != GRAPH_FAR) {
			const uint32_t over_u = before + nvw_load_read_only(&a->weight[i]);

			best = over_u < best ? over_u : best;
		}
	}
	return best;
}

static inline bool visit_sssp(const struct graph_args *a, uint64_t v)
{
	const uint32_t was = nvw_load(&a->now[v]), best = shortest(a, v, was);

	nvw_store(&a->next[v], best);
	return best != was;
}

static inline bool gather_sssp(const struct graph_args *a, uint64_t v)
{
	nvw_store(&a->next[v], shortest(a, v, nvw_load(&a->now[v])));
	return false;
}

static inline bool apply_sssp(const struct graph_args *a, uint64_t v)
{
	const uint32_t best = nvw_load(&a->next[v]), was = nvw_load(&a->now[v]);

	nvw_store(&a->now[v], best);
	return best != was;
}

/* Whether v comes before its neighbour number i, or the neighbour has a colour. */
static inline bool is_before(const struct graph_args *a, uint64_t v, uint32_t own, uint32_t i)
{
	const uint32_t u = nvw_load_read_only(&a->column[i]);

	return nvw_load(&a->now[u]) != 0 ||
	       !graph_goes_first(nvw_load_read_only(&a->priority[u]), u, own, (uint32_t)v);
}

/* Whether v comes before all of its uncoloured neighbours. */
static inline bool is_first(const struct graph_args *a, uint64_t v)
{
	const uint32_t end = nvw_load_read_only(&a->row[v + 1]), own = nvw_load_read_only(&a->priority[v]);

	for (uint32_t i = nvw_load_read_only(&a->row[v]); i < end; i++) {
		if (!is_before(a, v, own, i)) {
			return false;
		}
	}
	return true;
}

static inline bool visit_color(const struct graph_args *a, uint64_t v)
{
	uint32_t color = nvw_load(&a->now[v]);

	if (color == 0 && is_first(a, v)) {
		color = (uint32_t)a->iteration;
	}
	nvw_store(&a->next[v], color);
	return color == 0;
}

/* As in Pannotia, which examines all neighbours of an uncoloured node: next tells whether it is the first of
 * them. */
static inline bool gather_color(const struct graph_args *a, uint64_t v)
{
	uint32_t end, own, first = 1;

	if (nvw_load(&a->now[v])) {
		return false;
	}
	end = nvw_load_read_only(&a->row[v + 1]);
	own = nvw_load_read_only(&a->priority[v]);
	for (uint32_t i = nvw_load_read_only(&a->row[v]); i < end; i++) {
		first &= is_before(a, v, own, i);
	}
	nvw_store(&a->next[v], first);
	return false;
}

static inline bool apply_color(const struct graph_args *a, uint64_t v)
{
	if (nvw_load(&a->now[v])) {
		return false;
	}
	if (nvw_load(&a->next[v]) == 0) {
		return true;
	}
	nvw_store(&a->now[v], (uint32_t)a->iteration);
	return false;
}

static inline uint64_t sum_of_shares(const struct graph_args *a, uint32_t begin, uint32_t end)
{
	uint64_t sum = 0;

	for (uint32_t i = begin; i < end; i++) {
		sum += nvw_load(&a->shares[nvw_load_read_only(&a->column[i])]);
	}
	return sum;
}

/* Computes the node's new rank and its share for each neighbour; returns whether the rank changed. */
static inline bool set_rank(
	const struct graph_args *a, uint64_t v, uint64_t sum, uint32_t degree, uint64_t *shares)
{
	const uint64_t rank = graph_rank(sum), was = nvw_load(&a->rank[v]);

	nvw_store(&a->rank[v], rank);
	nvw_store(&shares[v], graph_share(rank, degree));
	return graph_distance(rank, was) > a->epsilon;
}

static inline bool visit_pagerank(const struct graph_args *a, uint64_t v)
{
	const uint32_t begin = nvw_load_read_only(&a->row[v]), end = nvw_load_read_only(&a->row[v + 1]);

	return set_rank(a, v, sum_of_shares(a, begin, end), end - begin, a->next_shares);
}

static inline bool gather_pagerank(const struct graph_args *a, uint64_t v)
{
	const uint32_t begin = nvw_load_read_only(&a->row[v]), end = nvw_load_read_only(&a->row[v + 1]);

	nvw_store(&a->next_shares[v], sum_of_shares(a, begin, end));
	return false;
}

static inline bool apply_pagerank(const struct graph_args *a, uint64_t v)
{
	const uint32_t begin = nvw_load_read_only(&a->row[v]), end = nvw_load_read_only(&a->row[v + 1]);

	return set_rank(a, v, nvw_load(&a->next_shares[v]), end - begin, a->shares);
}

#define GRAPH_KERNEL(name, visit)           \
	void graph_##name(const void *args) \
	{                                   \
		for_each_task(args, visit); \
	}

GRAPH_KERNEL(sssp, visit_sssp)
GRAPH_KERNEL(sssp_gather, gather_sssp)
GRAPH_KERNEL(sssp_apply, apply_sssp)
GRAPH_KERNEL(color, visit_color)
GRAPH_KERNEL(color_gather, gather_color)
GRAPH_KERNEL(color_apply, apply_color)
GRAPH_KERNEL(pagerank, visit_pagerank)
GRAPH_KERNEL(pagerank_gather, gather_pagerank)
GRAPH_KERNEL(pagerank_apply, apply_pagerank)
