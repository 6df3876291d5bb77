/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Treiber's stacks, pushed onto and taken from by every work-item at once. A compare-exchange of the head
 * makes a node visible; persist barriers make what it leads to durable first. To push:
 *
 *	payload, digest					(a)
 *	with --scope=workgroup: the work-group meets;
 *	persist barrier, work-group			(b)  keeps (1): a node's pusher has not written all of
 *							it
 *	node's link := the head that was seen		(c)
 *	persist barrier, work-item			(d)  keeps (1): a node is complete before a stack
 *							leads to it
 *	compare-exchange of the head, else from (c)	(e)
 *	persist barrier, work-item			(f)
 *	acknowledge the push				(g)  keeps (2)
 *
 * To take:
 *
 *	read the head, and the link of its node		(h)
 *	announce the node				(i)
 *	persist barrier, work-item			(j)  keeps (2): no node disappears without an
 *							announcement
 *	compare-exchange of the head, else from (h)	(k)
 *	persist barrier, work-item			(l)
 *	acknowledge the taking				(m)  keeps (3)
 *
 * No barrier orders the stores of one work-item before those of another (equations 1 and 2 of gope18); the
 * head does, because stores to one word persist in the order in which they become visible. Whatever persists
 * (e) or (k) of a work-item has persisted every earlier (e) and (k) on this stack, and with them what their
 * barriers (d) and (j) put before.
 *
 * STEP() marks what a seeded bug may replace (mutations.c).
 */
#include "steps.h"

enum { RETRIES_MAX = 1 << 16 };

/* ---- Push ----------------------------------------------------------------------------------------- */

static bool does(const struct stack_args *a, uint64_t node, unsigned what)
{
	return node < a->plan->count && (!a->does || (a->does[node] & what) != 0);
}

static void fill_word(const struct stack_args *a, uint64_t node, uint64_t i)
{
	const struct stack_plan *const p = a->plan;

	if (does(a, node, STACK_DOES_PUSH)) {
		nvw_store(nvw_at(&a->pmem, uint64_t, stack_node(&a->layout, node) + 8 * (1 + i)),
			stack_word(p->seed, node, i, p->payload));
	}
}

void stack_fill_node(const struct stack_args *a, const struct stack_push *push)
{
	for (uint64_t i = 0; i <= a->plan->payload; i++) {
		fill_word(a, push->node, i);
	}
}

/* Distributes the words of the group's nodes over its work-items, so that neighbours write neighbouring
 * words. */
static void fill_together(const struct stack_args *a, const struct stack_push *push)
{
	const uint64_t words = a->plan->payload + 1, first = push->node - nvw_local_id();

	NVW_FOR(i, words) {
		const uint64_t w = i * nvw_group_size() + nvw_local_id();

		fill_word(a, first + w / words, w % words);
	}
}

static void fill(const struct stack_args *a, const struct stack_push *push)
{
	stack_fill_node(a, push);
}

/* The work-group meets, because a persist barrier may only order: a fast work-item must not continue to (e)
 * before all have stored. */
static void order_group(void)
{
	nvw_barrier(NVW_WORKGROUP);
	nvw_p_barrier_wg();
}

static void link(const struct stack_args *a, const struct stack_push *push, uint64_t first)
{
	(void)a;
	nvw_store(&push->words[0], first); /* (c) */
	nvw_p_barrier_wi();                /* (d) */
}

static uint64_t publish(const struct stack_args *a, const struct stack_push *push, uint64_t first)
{
	return STACK_COMPARE_EXCHANGE(push->head, first, stack_node(&a->layout, push->node), NVW_SCOPE_AGENT);
}

static void complete_push(const struct stack_push *push)
{
	nvw_p_barrier_wi();  /* (f) */
	nvw_ack(push->node); /* (g) */
}

static void push_node(const struct stack_args *a, const struct stack_push *push)
{
	struct stack_plan *const p = a->plan;
	uint64_t first, seen = nvw_atomic_load(push->head, NVW_RELAXED, NVW_SCOPE_AGENT);
	unsigned tries = 0;

	do {
		first = seen;
		STEP(a->replaced, link, a, push, first);           /* (c), (d) */
		seen = STEP(a->replaced, publish, a, push, first); /* (e) */
	} while (seen != first && ++tries < RETRIES_MAX);
	p->retries += tries;
	if (seen != first) {
		p->stuck++;
		return;
	}
	p->pushed++;
	STEP(a->replaced, complete_push, push); /* (f), (g) */
}

static void push(const struct stack_args *a, uint64_t node)
{
	const bool exists = does(a, node, STACK_DOES_PUSH);
	struct stack_push push = {.node = node};

	if (exists) {
		push.head = nvw_at(&a->pmem, uint64_t, stack_head(&a->layout, stack_of(&a->layout, node)));
		push.words = nvw_at(&a->pmem, uint64_t, stack_node(&a->layout, node));
	}
	if (a->plan->scope == STACK_SCOPE_WORKGROUP) {
		fill_together(a, &push);        /* (a) */
		STEP(a->replaced, order_group); /* (b) */
	} else {
		STEP(a->replaced, fill, a, &push); /* (a) */
	}
	if (exists) {
		push_node(a, &push);
	}
}

/* ---- Take ----------------------------------------------------------------------------------------- */

static void announce(const struct stack_take *take)
{
	nvw_store(take->announcement, stack_announcement_word(take->node, take->stack)); /* (i) */
	nvw_p_barrier_wi();                                                              /* (j) */
}

static uint64_t unlink(const struct stack_take *take)
{
	return STACK_COMPARE_EXCHANGE(take->head, take->first, take->next, NVW_SCOPE_AGENT);
}

static void complete_take(const struct stack_args *a, const struct stack_take *take)
{
	nvw_p_barrier_wi();                   /* (l) */
	nvw_ack(a->plan->count + take->node); /* (m) */
}

/* False if the head had changed; take->first is its previous value. */
static bool take_first(const struct stack_args *a, struct stack_take *take)
{
	take->node = stack_node_number(&a->layout, take->first);
	if (take->node == UINT64_MAX) { /* a seeded bug has corrupted the stack */
		take->first = 0;
		return false;
	}
	take->next = nvw_load(nvw_at(&a->pmem, uint64_t, take->first)); /* (h) */
	STEP(a->replaced, announce, take);                              /* (i), (j) */

	const uint64_t seen = STEP(a->replaced, unlink, take); /* (k) */
	const bool taken = seen == take->first;

	if (taken) {
		STEP(a->replaced, complete_take, a, take); /* (l), (m) */
	}
	take->first = seen;
	return taken;
}

static void take(const struct stack_args *a, uint64_t stack)
{
	struct stack_plan *const p = a->plan;
	struct stack_take take = {
		.stack = stack,
		.head = nvw_at(&a->pmem, uint64_t, stack_head(&a->layout, stack)),
		.announcement = nvw_at(&a->pmem, uint64_t, stack_announcement(&a->layout, nvw_global_id())),
	};
	bool taken = false;

	take.first = nvw_atomic_load(take.head, NVW_ACQUIRE, NVW_SCOPE_AGENT); /* (h) */
	for (unsigned tries = 0; take.first != 0 && !taken; tries++) {
		if (tries == RETRIES_MAX) {
			p->stuck++;
			return;
		}
		p->retries += tries > 0;
		taken = take_first(a, &take);
	}
	p->taken += taken;
	p->empty += !taken;
}

/* ---- The kernel ----------------------------------------------------------------------------------- */

bool stack_takes_after(const struct stack_plan *p, uint64_t node, uint64_t *ret_stack)
{
	const uint64_t draw = nvw_mix64(p->seed ^ nvw_mix64(node + 1));

	*ret_stack = (draw >> 32) % p->stacks;
	return node < p->count && (draw & UINT32_MAX) % 100 < p->take;
}

void stack_kernel(const void *args)
{
	const struct stack_args *const a = args;
	const uint64_t work_items = nvw_group_count() * nvw_group_size();
	uint64_t stack;

	/* The work-group continues as long as its first work-item has a node: all meet in (b). */
	for (uint64_t node = nvw_global_id(); node - nvw_local_id() < a->plan->count; node += work_items) {
		uint64_t begun = nvw_operation_begin();

		push(a, node);
		if (does(a, node, STACK_DOES_PUSH)) {
			nvw_operation_end(STACK_OPERATION_PUSH, begun);
		}
		if (does(a, node, STACK_DOES_TAKE) && stack_takes_after(a->plan, node, &stack)) {
			begun = nvw_operation_begin();
			take(a, stack);
			nvw_operation_end(STACK_OPERATION_TAKE, begun);
		}
	}
}
