/* SPDX-License-Identifier: BSD-3-Clause */
/* See unbalanced.h. */
#include "unbalanced.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { BRANCHES = 4, TABLE_PARENTS = 63, TOLERANCE = 32, ROOTS_MAX = 1 << 20 };

/* Counts the nodes below a root and adds their hashes, sequentially; stops above most. */
static uint64_t traverse(
	const struct unbalanced *t, uint64_t root, uint64_t most, uint64_t *stack, uint64_t *ret_sum)
{
	uint64_t visited = 0, held = 1;

	assert(t->root_children > 0);
	*ret_sum = 0;
	stack[0] = root;
	while (held != 0 && visited <= most) {
		const uint64_t node = stack[--held];
		const uint32_t children = node == root ? t->root_children : t->table[node >> 56];

		visited++;
		*ret_sum += node;
		NVW_FOR(i, children) {
			stack[held++] = unbalanced_child(node, i);
		}
	}
	return visited;
}

int unbalanced_find(struct unbalanced *t, uint64_t wanted, uint64_t seed)
{
	const uint64_t most = wanted + wanted / TOLERANCE, least = wanted - wanted / TOLERANCE;
	struct nvw_random random = {seed};
	uint64_t *stack;

	assert(wanted >= UNBALANCED_SUBTREE);
	*t = (struct unbalanced){.root_children = (uint32_t)(wanted / UNBALANCED_SUBTREE)};
	NVW_FOR(i, UNBALANCED_TABLE) {
		t->table[i] = i < TABLE_PARENTS ? BRANCHES : 0;
	}
	/* A visited node leaves at most its children. */
	stack = calloc(BRANCHES * (most + 1) + t->root_children, sizeof(*stack));
	NVW_ALLOCATED(stack, "no memory for a tree of %" PRIu64 " nodes", wanted);
	for (unsigned i = 0; i < ROOTS_MAX && (t->nodes < least || t->nodes > most); i++) {
		t->root = nvw_random_u64(&random);
		t->nodes = traverse(t, t->root, most, stack, &t->sum);
	}
	free(stack);
	if (t->nodes >= least && t->nodes <= most) {
		return 0;
	}
	return nvw_fail(NVW_E_USAGE, "--nodes: none of %d trees has %" PRIu64 " nodes", ROOTS_MAX, wanted);
}
