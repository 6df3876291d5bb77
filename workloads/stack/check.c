/* SPDX-License-Identifier: BSD-3-Clause */
/* The oracle of the stacks: guarantees (1) to (4) of layout.h, on a recovered pool. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/roots.h"
#include "plan.h"

enum { ON_STACK = 1, ANNOUNCED = 2 };

struct check {
	struct stack_view v;
	const struct stack_plan *plan; /* NULL: structure only */
	const struct nvw_acks *acks;   /* NULL if plan is NULL */
	struct nvw_findings *findings;
	uint8_t *state; /* of a node */
	int error;
};

#define VIOLATION(c, off, ...) ((c)->error = nvw_violation((c)->findings, off, __VA_ARGS__))

/* ---- Stacks: (1) ---------------------------------------------------------------------------------- */

static bool is_whole(const struct check *c, nvw_off off, uint64_t node)
{
	const uint64_t payload = c->v.layout.payload;
	uint64_t digest = stack_digest_begin(node);

	for (uint64_t i = 1; i <= payload; i++) {
		digest = stack_digest_add(digest, nvw_pool_word(c->v.pool, off + 8 * i));
	}
	return nvw_pool_word(c->v.pool, off + 8 * (1 + payload)) == digest &&
	       (!c->plan || stack_word(c->plan->seed, node, payload, payload) == digest);
}

static bool check_node(void *context, uint64_t stack, nvw_off off, uint64_t node)
{
	struct check *const c = context;

	if (node == UINT64_MAX) {
		VIOLATION(c, off, "stack %" PRIu64 " leads to offset %" PRIu64 ", where no node begins",
			stack, off);
		return false;
	}
	assert(node < c->v.layout.nodes);
	if (c->state[node] & ON_STACK) {
		VIOLATION(c, off, "stack %" PRIu64 " leads to node %" PRIu64 " a second time", stack, node);
		return false;
	}
	c->state[node] |= ON_STACK;
	if (stack_of(&c->v.layout, node) != stack) {
		VIOLATION(c, off, "node %" PRIu64 " is on stack %" PRIu64 ", expected stack %" PRIu64, node,
			stack, stack_of(&c->v.layout, node));
	}
	if (!is_whole(c, off, node)) {
		VIOLATION(c, off, "node %" PRIu64 " is on its stack, but its payload is not durable, or torn",
			node);
	}
	return true;
}

/* ---- Announcements: (4) --------------------------------------------------------------------------- */

static void check_announcement(struct check *c, uint64_t work_item)
{
	const nvw_off off = stack_announcement(&c->v.layout, work_item);
	const uint64_t word = nvw_pool_word(c->v.pool, off), node = (word & UINT32_MAX) - 1;

	assert(work_item < c->v.layout.work_items);
	if (word == 0) {
		return;
	}
	if (node >= c->v.layout.nodes || word >> 32 != stack_of(&c->v.layout, node)) {
		VIOLATION(c, off,
			"the announcement of work-item %" PRIu64 " is 0x%016" PRIx64
			", which names no node of its stack",
			work_item, word);
	} else if (c->state[node] & ON_STACK) {
		VIOLATION(c, off,
			"recovery has left the announcement of node %" PRIu64 ", which is on its stack",
			node);
	} else {
		c->state[node] |= ANNOUNCED;
	}
}

/* ---- Acknowledgements: (2), (3) ------------------------------------------------------------------ */

static void check_acknowledged(struct check *c, uint64_t node)
{
	const nvw_off off = stack_node(&c->v.layout, node);
	const bool taken = nvw_acked(c->acks, c->v.layout.nodes + node);

	assert(node < c->v.layout.nodes);
	if (nvw_acked(c->acks, node) && !taken && c->state[node] == 0) {
		VIOLATION(c, off,
			"node %" PRIu64 " is lost: its push was acknowledged, and nobody has announced it",
			node);
	}
	if (taken && c->state[node] & ON_STACK) {
		VIOLATION(c, off, "node %" PRIu64 " is back on its stack: its taking was acknowledged", node);
	}
}

/* ---- The whole ------------------------------------------------------------------------------------ */

static void check_all(struct check *c)
{
	NVW_FOR(s, c->v.layout.stacks) {
		stack_walk(&c->v, s, check_node, c);
	}
	NVW_FOR(i, c->v.layout.work_items) {
		check_announcement(c, i);
	}
	for (uint64_t t = 0; c->acks && t < c->v.layout.nodes; t++) {
		check_acknowledged(c, t);
	}
}

int stack_check(void *plan, struct nvw_pool *pool, const struct nvw_acks *acks, struct nvw_findings *findings)
{
	struct check c = {.plan = acks ? plan : NULL, .acks = acks, .findings = findings};

	if (stack_view_open(pool, &c.v) != 0) {
		return roots_broken(pool, findings);
	}
	if (c.v.layout.extent == 0) {
		if (acks && nvw_acked_count(acks) != 0) {
			return nvw_violation(
				findings, 0, "the stacks are lost: operations were acknowledged");
		}
		return 0;
	}
	c.state = calloc(c.v.layout.nodes + 1, sizeof *c.state);
	NVW_ALLOCATED(c.state, "stack: no memory to check %" PRIu64 " nodes", c.v.layout.nodes);
	check_all(&c);
	free(c.state);
	return c.error;
}

/* A stack that ends early is one that never had more: nobody counts its nodes. */
const char *stack_unguarded(struct nvw_pool *pool, nvw_off off, uint64_t found)
{
	struct stack_view v;

	if (found != 0 || stack_view_open(pool, &v) != 0 || v.layout.extent == 0) {
		return NULL;
	}
	if (off == nvw_pool_root_off(nvw_pool_geometry(pool), STACK_EXTENT)) {
		return "that the pool is set up";
	}
	if (off < v.layout.extent || off >= v.layout.extent + stack_extent_bytes(&v.layout)) {
		return NULL;
	}
	if (off < stack_head(&v.layout, v.layout.stacks)) {
		return "a head";
	}
	if (off < stack_first_node(&v.layout)) {
		return "an announcement";
	}
	return stack_node_number(&v.layout, off) != UINT64_MAX ? "a link" : NULL;
}
